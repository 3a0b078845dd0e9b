/* How many instructions a warp is expected to issue with a set of joins: a run of the machine's rules for
 * groups of lanes (docs/spec-resolutions.md) over the function's graph, with drawn decisions in place of
 * data.
 *
 * Each lane's way is drawn once and does not depend on the joins, so two sets are compared on the same ways,
 * and their difference is what the joins do. A divergent branch is drawn for each lane, any other for all
 * lanes that come to it as often; how likely a lane is to leave a loop follows from the rounds that loops are
 * taken to have, or all of this from a profile (lower/profile.h). Half of the warps have evenly split
 * branches, half lopsided ones: a set that is good for one ratio alone does not win. The run is in
 * expect_run.c. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "lower/reconverge/expect.h"
#include <string.h>

enum {
    RARELY = 64,            /* one of so many times */
    MOST_LANES = 8 * LANES, /* of a kind of warps */
    MOST_VAIN = 2 * LANES   /* the same, one after the other, that take no fresh way */
};
static const double rounds_at_depth[] = {1, 7, 5, 4, 3, 2};

/* ---- ways ---- */

static bool ends_here(const Expect *expect, uint32_t b) {
    const Graph *graph = &expect->reconv->g;
    return !slots_of(graph, b) || (slots_of(graph, b) == 1 && graph->succ[graph->succ_at[b]] == 0) ||
           expect->out[b] == NO_NODE;
}

/* Marks what leads to the `tail` blocks on the stack; `out` becomes the slot of a shortest way there. */
static void find_ways_to(Expect *expect, uint32_t tail, uint32_t round) {
    Reconv *reconv = expect->reconv;
    uint32_t head = 0;
    while (head < tail) {
        uint32_t b = reconv->stack[head++];
        GRAPH_PREDS(&reconv->g, b, p) {
            if (reconv->order.index[*p] == NO_NODE || reconv->mark[*p] == round)
                continue;
            reconv->mark[*p] = round;
            reconv->stack[tail++] = *p;
            for (uint32_t s = 0; s < slots_of(&reconv->g, *p); s++)
                if (reconv->g.succ[reconv->g.succ_at[*p] + s] == b)
                    expect->out[*p] = s;
        }
    }
}

/* The slot of the shortest way to a block that ends; NO_NODE in loops without a branch, which count as ends.
 */
static void find_shortest(Expect *expect) {
    Reconv *reconv = expect->reconv;
    uint32_t n = 0, round = ++reconv->round;
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k], slots = b ? slots_of(&reconv->g, b) : 1;
        bool ends = !slots;
        for (uint32_t s = 0; b && s < slots; s++)
            if (reconv->g.succ[reconv->g.succ_at[b] + s] == 0)
                ends = true, expect->out[b] = s;
        if (ends)
            reconv->mark[b] = round, reconv->stack[n++] = b;
    }
    find_ways_to(expect, n, round);
    n = 0;
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k];
        if (b && reconv->mark[b] != round && slots_of(&reconv->g, b) > 1)
            reconv->mark[b] = round, reconv->stack[n++] = b;
    }
    find_ways_to(expect, n, round);
    for (uint32_t k = 0; k < reconv->order.count; k++)
        if (reconv->order.order[k] && reconv->mark[reconv->order.order[k]] != round)
            expect->out[reconv->order.order[k]] = NO_NODE;
}

static void find_leaving(Expect *expect) {
    const Reconv *reconv = expect->reconv;
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k], l = b ? expect->loops.innermost[b] : NO_NODE;
        GRAPH_SUCCS(&reconv->g, b, s)
            expect->leaves[s - reconv->g.succ] =
                *s == 0 || (l != NO_NODE && !loop_contains(&expect->loops, l, *s));
    }
}

static double expected_rounds(const Expect *expect, uint32_t block) {
    uint32_t l = expect->loops.innermost[block], depth = l == NO_NODE ? 0 : expect->loops.at[l].depth;
    return rounds_at_depth[depth < 5 ? depth : 5];
}

/* The slot of two that lanes hardly ever take; NO_NODE if there is none. */
static uint32_t rare_slot(const Expect *expect, uint32_t b) {
    const Reconv *reconv = expect->reconv;
    const Inst *branch = reconv_branch(reconv->f, &reconv->f->blocks.at[b]);
    if (!(branch->flags & (IF_RARE | IF_ASKS)) || branch->op != OT_BRA || slots_of(&reconv->g, b) != 2)
        return NO_NODE;
    bool first = reconv->g.succ[reconv->g.succ_at[b]] == ir_src(reconv->f, branch, BRA_offset)->value;
    return first == ((branch->flags & IF_RARE) != 0) ? 0 : 1;
}

/* Some ways of the branch leave a loop, others do not: how many rounds it has decides. */
static bool may_end_loop(const Expect *expect, uint32_t b) {
    uint32_t n = slots_of(&expect->reconv->g, b), leaving = 0;
    for (uint32_t s = 0; s < n; s++)
        leaving += expect->leaves[expect->reconv->g.succ_at[b] + s];
    return leaving && leaving < n;
}

static uint32_t slots_drawn(const Graph *graph, uint32_t b) {
    return slots_of(graph, b) < MOST_DRAWN ? slots_of(graph, b) : MOST_DRAWN;
}

/* The likelihood of each slot, of so many at most. Lopsided warps are spread over the ways that lead on: of a
 * chain of tests each ends it for as many lanes, so that code behind many of them is not forgotten. */
static void find_likely(Expect *expect, uint32_t b, bool lopsided, const Exits *exits) {
    const Reconv *reconv = expect->reconv;
    uint32_t n = slots_drawn(&reconv->g, b), at = reconv->g.succ_at[b], leaving = 0,
             l = expect->loops.innermost[b];
    const bool *leaves = &expect->leaves[at];
    double *p = &expect->likely[lopsided][at], leave = 0, stay = 0;
    for (uint32_t s = 0; s < n; s++)
        leaving += leaves[s];
    bool may_stay = leaving < n;
    for (uint32_t s = 0; s < n; s++) {
        p[s] = lopsided ? expect->ends[at + s] : 1;
        if (may_stay && leaves[s]) {
            p[s] *=
                l == NO_NODE ? 0 : 1 / ((lopsided ? exits[l].ends : exits[l].n) * expected_rounds(expect, b));
            leave += p[s];
        } else {
            stay += p[s];
        }
    }
    for (uint32_t s = 0; s < n; s++)
        if (!may_stay || !leaves[s])
            p[s] *= (1 - leave) / stay;
}

/* All lanes go one way: round a loop as often as it is taken to have rounds, else three times of four where
 * more is done, in one of the warps everywhere at first: a guard around the whole function must not hide it.
 */
static uint32_t common_slot(const Expect *expect, uint32_t b, unsigned warp, const uint32_t *visits) {
    const Reconv *reconv = expect->reconv;
    uint32_t n = slots_of(&reconv->g, b), stays = NO_NODE, leaves = NO_NODE, visit = visits[b] - 1,
             rare = expect->rare[b];
    if (rare != NO_NODE)
        return 1 - rare;
    for (uint32_t s = 0; s < n; s++) {
        if (expect->leaves[reconv->g.succ_at[b] + s])
            leaves = s;
        else if (stays == NO_NODE ||
                 expect->below[reconv->g.succ_at[b] + s] > expect->below[reconv->g.succ_at[b] + stays])
            stays = s;
    }
    if (leaves != NO_NODE)
        return stays == NO_NODE || round_of(expect, b, visits) % (uint32_t)expected_rounds(expect, b) == 0
                   ? leaves
                   : stays;
    if (((warp + visit + (uint32_t)(rng_mix(b) % 3)) & 3) != 3)
        return stays;
    return (stays + 1 + (warp + visit / 4) % (n - 1)) % n;
}

/* What is rare is counted and not drawn: by chance no lane would go there, and a join that holds the others
 * together where one does would seem to save nothing. */
static uint32_t counted_slot(const Expect *expect, uint32_t b) {
    uint32_t rare = expect->rare[b];
    if (expect->until_rare[b]--)
        return 1 - rare;
    expect->until_rare[b] = RARELY - 1;
    return rare;
}

/* Lanes beyond the warp's are those of other warps of its kind. */
static uint64_t number_of_lane(const Expect *expect, unsigned warp, uint32_t lane) {
    return (lane / LANES * expect->nwarps + warp) * LANES + lane % LANES;
}

static uint32_t draw_slot(Expect *expect, uint32_t b, unsigned warp, uint32_t lane, const uint32_t *visits,
                          const Exits *exits) {
    uint32_t visit = visits[b] - 1;
    const PtxBranch *counts = expect->counts[b];
    const double *p = &expect->likely[warp & 1][expect->reconv->g.succ_at[b]];
    uint32_t recorded = expect->nrecorded ? reconv_recorded_slot(expect, b, warp, lane) : NO_NODE;
    if (recorded != NO_NODE)
        return recorded;
    uint32_t decided = expect->divergent[b] ? reconv_compared_slot(expect->compared, expect->reconv, b,
                                                                   number_of_lane(expect, warp, lane), visits,
                                                                   !counts && !may_end_loop(expect, b))
                                            : NO_NODE;
    if (counts && decided == NO_NODE)
        return reconv_measured_slot(expect, b, warp, lane, visits, exits);
    if (!expect->divergent[b])
        return common_slot(expect, b, warp, visits);
    if (decided != NO_NODE)
        return decided;
    if (expect->rare[b] != NO_NODE)
        return counted_slot(expect, b);
    uint32_t n = slots_drawn(&expect->reconv->g, b);
    double u = unit_of(rng_mix(rng_mix(((uint64_t)b << 32 | visit) + RNG_STEP) +
                               (lane * expect->nwarps + warp + 1) * RNG_STEP));
    for (uint32_t s = 0; s + 1 < n; s++) {
        if (u < p[s])
            return s;
        u -= p[s];
    }
    return n - 1;
}

static Way draw_way(Expect *expect, Arena *a, unsigned warp, uint32_t lane, uint32_t *visits,
                    const Exits *exits) {
    Reconv *reconv = expect->reconv;
    uint32_t b = reconv->f->entry.i, n = 0, decisions = 0, most = expect->longest_way,
             longest = most + reconv->g.n;
    uint32_t *edges = expect->drawn;
    const uint32_t *succ_at = reconv->g.succ_at, *succ = reconv->g.succ, *innermost = expect->loops.innermost;
    const bool *ends_way = expect->ends_way;
    const uint32_t *decides = reconv_compared_blocks(expect->compared);
    memset(visits, 0, reconv->g.n * sizeof *visits);
    memset(expect->entered, 0, reconv->g.n * sizeof *expect->entered);
    if (expect->nrecorded)
        memset(expect->replayed, 0, reconv->g.n * sizeof *expect->replayed);
    reconv_compared_start(expect->compared);
    while (!ends_way[b] && n < longest) {
        uint32_t slot = 0, slots = succ_at[b + 1] - succ_at[b];
        visits[b]++;
        if (slots > 1)
            slot = n < most ? draw_slot(expect, b, warp, lane, visits, exits) : expect->out[b];
        uint32_t edge = succ_at[b] + slot;
        n++;
        if (slots > 1)
            edges[decisions++] = edge;
        uint32_t to = succ[edge];
        if (!to)
            break;
        if (decides[to])
            reconv_compared_edge(expect->compared, b, to, number_of_lane(expect, warp, lane), visits);
        uint32_t loop = innermost[to];
        uint32_t header = loop == NO_NODE ? 0 : expect->loops.at[loop].header;
        if (header && (header == to || reconv_parted_header(reconv, to)) &&
            !loop_contains(&expect->loops, loop, b))
            expect->entered[header] = visits[header];
        b = to;
    }
    edges[decisions] = succ_at[reconv->g.n]; /* where there is no way out */
    expect->longest_drawn = n > expect->longest_drawn ? n : expect->longest_drawn;
    return (Way){arena_copy(a, edges, (decisions + 1) * sizeof *edges)};
}

/* Lanes that take each edge of the way, one more or one less; does the way have an edge that none takes? */
static bool count_way(Expect *expect, Way way, uint32_t more) {
    uint32_t end = expect->reconv->g.succ_at[expect->reconv->g.n];
    bool any = false;
    for (const uint32_t *edge = way.edges; *edge != end; edge++) {
        expect->taken[*edge] += more;
        any |= !expect->taken[*edge];
    }
    return any;
}

static bool any_missing(const Expect *expect) {
    const Graph *graph = &expect->reconv->g;
    for (uint32_t k = 0; k < expect->reconv->order.count; k++) {
        uint32_t b = expect->reconv->order.order[k], come = 0, missing = 0;
        for (uint32_t s = 0; b && expect->divergent[b] && s < slots_of(graph, b); s++)
            come += expect->taken[graph->succ_at[b] + s], missing += !expect->taken[graph->succ_at[b] + s];
        if (come && missing)
            return true;
    }
    return false;
}

/* Where a branch has a way that by chance no lane takes, a join that holds the others together when one does
 * would seem to save nothing. So of more lanes those that go such a way come in the place of some whose ways
 * others take, too. */
static void draw_ways(Expect *expect, Arena *a, uint32_t *visits, const Exits *exits) {
    for (unsigned warp = 0; warp < expect->nwarps; warp++)
        for (uint32_t lane = 0; lane < LANES; lane++) {
            expect->way[warp][lane] = draw_way(expect, a, warp, lane, visits, exits);
            count_way(expect, expect->way[warp][lane], 1);
        }
    for (uint32_t lane = LANES, fresh_at = lane;
         lane < MOST_LANES && lane < fresh_at + MOST_VAIN && any_missing(expect); lane++)
        for (unsigned warp = 0; warp < expect->nwarps; warp++) {
            ArenaMark mark = arena_mark(a);
            Way way = draw_way(expect, a, warp, lane, visits, exits);
            bool fresh = count_way(expect, way, 0), placed = false;
            for (uint32_t k = 0; k < LANES && fresh && !placed; k++) {
                Way *old = &expect->way[warp][(lane + k) % LANES];
                placed = !count_way(expect, *old, UINT32_MAX);
                count_way(expect, placed ? way : *old, 1);
                *old = placed ? way : *old;
            }
            if (placed)
                fresh_at = lane;
            else
                arena_release(a, mark);
        }
}

/* Marks where the ways lead. */
static void find_where_lanes_come(Expect *expect, Arena *a) {
    Reconv *reconv = expect->reconv;
    const Graph *graph = &reconv->g;
    uint32_t top = 0;
    expect->comes = ARENA_ARRAY(a, bool, graph->n + graph->succ_at[graph->n]);
    expect->comes[reconv->f->entry.i] = true;
    reconv->stack[top++] = reconv->f->entry.i;
    while (top) {
        uint32_t b = reconv->stack[--top];
        for (uint32_t s = graph->succ_at[b]; s < graph->succ_at[b + 1]; s++) {
            uint32_t to = graph->succ[s];
            if (slots_of(graph, b) > 1 && !expect->taken[s])
                continue;
            expect->comes[graph->n + s] = true;
            if (to && !expect->comes[to])
                expect->comes[to] = true, reconv->stack[top++] = to;
        }
    }
}

static bool comes_along(const Expect *expect, GraphEdge edge) {
    const Graph *graph = &expect->reconv->g;
    bool comes = false;
    for (uint32_t s = graph->succ_at[edge.from]; s < graph->succ_at[edge.from + 1]; s++)
        comes |= graph->succ[s] == edge.to && expect->comes[graph->n + s];
    return comes;
}

bool reconv_expect_meets(const Expect *expect, const Join *join) {
    bool meets = expect->comes[join->block];
    for (unsigned k = 0; k < join->places.n && !meets; k++)
        meets = expect->comes[join->places.at[k]];
    for (unsigned k = 0; k < join->breaks.n && !meets; k++)
        meets = comes_along(expect, join->breaks.at[k]);
    return meets;
}

/* Of each warp the lanes whose ways, slots by now, lead by a block. */
static void count_lanes(Expect *expect) {
    Reconv *reconv = expect->reconv;
    const Graph *graph = &reconv->g;
    uint8_t *lanes = ARENA_ARRAY(&reconv->a, uint8_t, graph->n);
    expect->most_lanes = ARENA_ARRAY(&reconv->a, uint8_t, graph->n);
    for (unsigned warp = 0; warp < expect->nwarps; warp++) {
        memset(lanes, 0, graph->n * sizeof *lanes);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            const uint32_t *next = expect->way[warp][lane].edges;
            uint32_t b = reconv->f->entry.i, slot = 0, round = ++reconv->round;
            while (b && slot != NOWHERE) {
                if (reconv->mark[b] != round) {
                    reconv->mark[b] = round;
                    lanes[b]++;
                    if (lanes[b] > expect->most_lanes[b])
                        expect->most_lanes[b] = lanes[b];
                }
                if (expect->ends_way[b])
                    break;
                slot = slots_of(graph, b) > 1 ? *next++ : 0;
                b = slot == NOWHERE ? 0 : graph->succ[graph->succ_at[b] + slot];
            }
        }
    }
}

unsigned reconv_expect_lanes(Expect *expect, const Join *join) {
    unsigned most = 0;
    if (!expect->most_lanes)
        count_lanes(expect);
    for (unsigned k = 0; k < join->places.n; k++)
        if (expect->most_lanes[join->places.at[k]] > most)
            most = expect->most_lanes[join->places.at[k]];
    return most;
}

/* The next place of the join that lanes come by; its number of places if there is none. */
static unsigned next_place(const Expect *expect, const Join *join, unsigned k) {
    while (k < join->places.n && !expect->comes[join->places.at[k]])
        k++;
    return k;
}

static unsigned next_break(const Expect *expect, const Join *join, unsigned k) {
    while (k < join->breaks.n && !comes_along(expect, join->breaks.at[k]))
        k++;
    return k;
}

bool reconv_expect_alike(const Expect *expect, const Join *one, const Join *other) {
    unsigned k = next_place(expect, one, 0), m = next_place(expect, other, 0);
    while (k < one->places.n && m < other->places.n && one->places.at[k] == other->places.at[m])
        k = next_place(expect, one, k + 1), m = next_place(expect, other, m + 1);
    if (k < one->places.n || m < other->places.n)
        return false;
    k = next_break(expect, one, 0), m = next_break(expect, other, 0);
    while (k < one->breaks.n && m < other->breaks.n && one->breaks.at[k].from == other->breaks.at[m].from &&
           one->breaks.at[k].to == other->breaks.at[m].to)
        k = next_break(expect, one, k + 1), m = next_break(expect, other, m + 1);
    return k == one->breaks.n && m == other->breaks.n;
}

static void take_slots(Expect *expect, Arena *a) {
    const Graph *graph = &expect->reconv->g;
    uint32_t end = graph->succ_at[graph->n], *slot = ARENA_ARRAY(a, uint32_t, end + 1);
    for (uint32_t b = 0; b < graph->n; b++)
        for (uint32_t s = 0; s < slots_of(graph, b); s++)
            slot[graph->succ_at[b] + s] = s;
    slot[end] = NOWHERE;
    for (unsigned k = 0; k < expect->nwarps * LANES; k++) {
        uint32_t *at = expect->way[k / LANES][k % LANES].edges;
        do
            *at = slot[*at];
        while (*at++ != NOWHERE);
    }
}

/* A block that only jumps on: it goes, and what leads there leads on (emit/schedule/layout.c). */
static bool only_jumps(const Expect *expect, uint32_t b) {
    const Reconv *reconv = expect->reconv;
    return b && b != reconv->f->entry.i && slots_of(&reconv->g, b) == 1 &&
           ir_block(reconv->f, (BlockId){b})->insts.n == 1 &&
           expect->copies[reconv->g.succ_at[b]] < COPY_IN_BLOCK;
}

/* Where lanes come that go to b. */
static uint32_t led_to(const Expect *expect, uint32_t b) {
    for (unsigned hops = 0; hops < 64 && only_jumps(expect, b); hops++)
        b = expect->reconv->g.succ[expect->reconv->g.succ_at[b]];
    return b;
}

static void weigh_blocks(Expect *expect) {
    Reconv *reconv = expect->reconv;
    uint32_t next = 0; /* in the text */
    for (uint32_t k = reconv->order.count; k-- > 0;) {
        uint32_t b = reconv->order.order[k];
        if (!b || only_jumps(expect, b))
            continue;
        const Block *blk = ir_block(reconv->f, (BlockId){b});
        FOR_INSTS(reconv->f, (BlockId){b}, i)
            expect->cost[b] += i->op == IR_PHI ? 0 : i->op == OT_CALL ? CALL_COST * INST_WEIGHT : INST_WEIGHT;
        uint32_t n = slots_of(&reconv->g, b);
        expect->first[b] = n ? n - 1 : 0;
        for (uint32_t s = 0; s < n; s++)
            if (n <= 2 && next && led_to(expect, reconv->g.succ[reconv->g.succ_at[b] + s]) == next &&
                reconv_branch(reconv->f, blk)->op == OT_BRA) {
                expect->first[b] = s;
                expect->cost[b] -= expect->cost[b] ? INST_WEIGHT : 0; /* its BRA goes */
                break;
            }
        next = b;
    }
}

/* Where blocks have one or two instructions, what lanes do together saves mostly branches and what lies
 * between them, which issues do not show; the larger the blocks, the more a join costs beside what it saves.
 * Where a profile says what lanes do, each is an instruction.
 */
static uint32_t weight_of_joins(const Expect *expect) {
    const GraphOrder *order = &expect->reconv->order;
    uint64_t sum = 0, n = 0;
    if (expect->nwarps > WARPS)
        return INST_WEIGHT;
    for (uint32_t k = 0; k < order->count; k++) {
        uint32_t b = order->order[k];
        sum += expect->cost[b];
        n += b && !only_jumps(expect, b);
    }
    uint64_t weight = n ? 7 * sum / (INST_WEIGHT * n) : 0;
    weight = weight > 12 ? weight - 12 : 0;
    return weight < LEAST_B_WEIGHT  ? LEAST_B_WEIGHT
           : weight > MOST_B_WEIGHT ? MOST_B_WEIGHT
                                    : (uint32_t)weight;
}

/* Copies for phis at the end of a block, or in one of its own on the edge, which ends in a BRA where the
 * edge's end does not follow in the text. */
static void weigh_copies(Expect *expect) {
    const Graph *graph = &expect->reconv->g;
    for (uint32_t k = 0; k < expect->reconv->order.count; k++) {
        uint32_t b = expect->reconv->order.order[k], n = b ? slots_of(graph, b) : 0;
        for (uint32_t s = 0; s < n; s++) {
            uint32_t edge = graph->succ_at[b] + s, copies = expect->copies[edge];
            if (n == 1)
                expect->cost[b] += copies * INST_WEIGHT / 32;
            else if (copies >= COPY_IN_BLOCK)
                expect->edge_cost[edge] = copies * INST_WEIGHT / 32;
        }
    }
}

static void weigh_edges(Expect *expect, Arena *a, const DomTree *dom) {
    const Reconv *reconv = expect->reconv;
    double *inside = ARENA_ARRAY(a, double, reconv->g.n); /* [block] what it dominates */
    for (uint32_t k = reconv->order.count; k-- > 0;) {
        uint32_t b = reconv->order.order[k], l = b ? expect->loops.innermost[b] : NO_NODE;
        double often = 1;
        for (uint32_t m = 0; l != NO_NODE && m < 4; l = expect->loops.at[l].parent, m++)
            often *= 4;
        inside[b] += expect->cost[b] * often;
        if (dom->idom[b] != NO_NODE)
            inside[dom->idom[b]] += inside[b];
        GRAPH_SUCCS(&reconv->g, b, s)
            if (dom->idom[*s] == b)
                expect->below[s - reconv->g.succ] = inside[*s];
    }
}

/* How many ways lead from a branch along each edge to where all its ways meet, those of a branch inside that
 * meets earlier counted once, and the way back of a loop as an end: in a chain of tests that all lead to one
 * place, the first edge has one and the other as many as there are tests behind it. */
static void count_ends(Expect *expect, Arena *a) {
    const Reconv *reconv = expect->reconv;
    const PostDom *pd = &reconv->pd;
    double *of_block = ARENA_ARRAY(a, double, reconv->g.n);
    for (uint32_t k = reconv->order.count; k-- > 0;) {
        uint32_t b = reconv->order.order[k];
        GRAPH_SUCCS(&reconv->g, b, s) {
            uint32_t at = *s, meet = pd->ipdom[b];
            double ends = 1;
            if (at && reconv->order.index[at] > k && pd->region[at] == pd->region[b]) {
                while (at && at != meet && pd->ipdom[at] != meet)
                    at = pd->ipdom[at], reconv->f->module->steps++;
                ends = at && at != meet && of_block[at] > 0 ? of_block[at] : 1;
            }
            expect->ends[s - reconv->g.succ] = ends;
            of_block[b] += ends;
        }
    }
}

/* Does the block begin with a collective of all lanes that a WARPSYNC will stand before? */
static bool begins_gathered(const Reconv *reconv, uint32_t b) {
    if (!b || !reconv->apart[b])
        return false;
    FOR_INSTS(reconv->f, (BlockId){b}, i)
        if (i->op != IR_PHI)
            return reconv_of_all_lanes(reconv->f, i);
    return false;
}

static void find_positions(Expect *expect, Arena *a) {
    const Graph *graph = &expect->reconv->g;
    uint32_t nedges = graph->succ_at[graph->n], npos = graph->n + nedges;
    expect->bare = ARENA_ARRAY(a, Place, npos);
    expect->places = ARENA_ARRAY(a, Place, npos);
    expect->bare_to = ARENA_ARRAY(a, uint32_t, nedges);
    expect->to = ARENA_ARRAY(a, uint32_t, nedges);
    expect->standing = ARENA_ARRAY(a, uint32_t, npos);
    for (uint32_t edge = 0; edge < nedges; edge++) {
        uint32_t to = graph->succ[edge];
        expect->bare[graph->n + edge] =
            (Place){.kind = PLACE_EDGE, .cost = expect->edge_cost[edge], .to = to};
        expect->bare_to[edge] = !to ? NOWHERE : expect->edge_cost[edge] ? graph->n + edge : to;
    }
    for (uint32_t b = 0; b < graph->n; b++) {
        bool gathers = begins_gathered(expect->reconv, b);
        expect->bare[b] = (Place){.kind = expect->ends_way[b]       ? PLACE_ENDS
                                          : slots_of(graph, b) == 1 ? PLACE_GOES_ON
                                                                    : PLACE_BRANCHES,
                                  .cost = expect->cost[b],
                                  .forks = slots_of(graph, b) == 2,
                                  .gathers = gathers,
                                  .plain = !gathers,
                                  .slot = expect->first[b],
                                  .to = graph->succ_at[b]};
    }
}

/* Loops as they were before headers were parted: lanes go the same ways, whatever joins they are offered. */
static LoopForest loops_as_one(Reconv *reconv) {
    VEC(GraphEdge) edges = {0};
    bool any = false;
    for (uint32_t b = 0; b < reconv->g.n; b++)
        GRAPH_SUCCS(&reconv->g, b, s) {
            uint32_t to = *s, header;
            while ((header = reconv_parted_header(reconv, to)) != 0 &&
                   loop_contains(&reconv->loops, reconv->loops.innermost[to], b))
                to = header, any = true;
            VEC_ADD(&reconv->a, &edges, ((GraphEdge){b, to}));
        }
    if (!any)
        return reconv->loops;
    Graph graph = graph_new(&reconv->a, reconv->g.n, edges.at, edges.n);
    LoopForest loops = loop_forest(&reconv->a, &graph, reconv->f->entry.i);
    for (uint32_t k = reconv->order.count; k-- > 0;) {
        uint32_t b = reconv->order.order[k], header = b ? reconv_parted_header(reconv, b) : 0;
        if (header)
            loops.innermost[b] = loops.innermost[header];
    }
    return loops;
}

static bool is_measured(const Expect *expect) {
    const GraphOrder *order = &expect->reconv->order;
    for (uint32_t k = 0; k < order->count; k++)
        if (order->order[k] && expect->counts[order->order[k]])
            return true;
    return false;
}

/* So many lanes take the edge out of a branch in a profile. */
static uint64_t lanes_along(const Expect *expect, uint32_t b, const uint32_t *edge) {
    const PtxBranch *counts = expect->counts[b];
    uint32_t slot = (uint32_t)(edge - expect->reconv->g.succ) - expect->reconv->g.succ_at[b];
    return counts && slot < counts->nways ? counts->ways[slot].lanes : 0;
}

/* Of a branch with another condition than its statement's is known how often lanes leave a loop by it, not
 * how they part round by round. */
static const PtxBranch *counts_of(const Expect *expect, uint32_t b) {
    const Function *f = expect->reconv->f;
    const PtxBranch *odds = lower_branch_odds(f, (BlockId){b}),
                    *counts = may_end_loop(expect, b) || (odds && odds->records)
                                  ? odds
                                  : lower_branch_counts(f, (BlockId){b});
    return counts && counts->warps && counts->nways == slots_of(&expect->reconv->g, b) ? counts : NULL;
}

Expect *reconv_expect(Reconv *reconv, const DomTree *dom, const bool *divergent) {
    Arena *a = &reconv->a;
    Expect *expect = ARENA_NEW(a, Expect);
    uint32_t n = reconv->g.n, nedges = reconv->g.succ_at[n];
    *expect = (Expect){.reconv = reconv, .loops = loops_as_one(reconv), .divergent = divergent};
    expect->assigns = isa_target_info(reconv->f->module->target)->bssy_assigns;
    expect->cost = ARENA_ARRAY(a, uint32_t, n);
    expect->first = ARENA_ARRAY(a, uint32_t, n);
    expect->out = ARENA_ARRAY(a, uint32_t, n);
    expect->below = ARENA_ARRAY(a, double, nedges);
    expect->leaves = ARENA_ARRAY(a, bool, nedges);
    find_leaving(expect);
    expect->counts = ARENA_ARRAY(a, const PtxBranch *, n);
    for (uint32_t k = 0; k < reconv->order.count; k++)
        if (reconv->order.order[k])
            expect->counts[reconv->order.order[k]] = counts_of(expect, reconv->order.order[k]);
    bool measured = is_measured(expect);
    if (measured)
        reconv_find_records(expect, a);
    expect->nwarps = measured ? MEASURED_WARPS : WARPS;
    expect->longest_way = measured ? LONGEST_MEASURED_WAY : LONGEST_WAY;
    expect->compared = reconv_find_compared(reconv, divergent, measured);
    expect->copies = reconv_expected_copies(reconv, dom);
    weigh_blocks(expect);
    expect->b_weight = weight_of_joins(expect);
    expect->edge_cost = ARENA_ARRAY(a, uint32_t, nedges);
    weigh_copies(expect);
    weigh_edges(expect, a, dom);
    expect->ends = ARENA_ARRAY(a, double, nedges);
    count_ends(expect, a);
    expect->likely[0] = ARENA_ARRAY(a, double, nedges);
    expect->likely[1] = ARENA_ARRAY(a, double, nedges);
    find_shortest(expect);
    expect->ends_way = ARENA_ARRAY(a, bool, n);
    expect->rare = ARENA_ARRAY(a, uint32_t, n);
    for (uint32_t b = 0; b < n; b++) {
        expect->ends_way[b] = ends_here(expect, b);
        expect->rare[b] = slots_of(&reconv->g, b) == 2 ? rare_slot(expect, b) : NO_NODE;
    }
    find_positions(expect, a);
    uint32_t *visits = ARENA_ARRAY(a, uint32_t, n);
    expect->drawn = ARENA_ARRAY(a, uint32_t, expect->longest_way + n + 1);
    expect->entered = ARENA_ARRAY(a, uint32_t, n);
    expect->until_rare = ARENA_ARRAY(a, uint32_t, n);
    Exits *exits = ARENA_ARRAY(a, Exits, expect->loops.n + 1);
    for (uint32_t k = 0; k < reconv->order.count; k++)
        GRAPH_SUCCS(&reconv->g, reconv->order.order[k], s)
            for (uint32_t l = reconv->order.order[k] ? expect->loops.innermost[reconv->order.order[k]]
                                                     : NO_NODE;
                 l != NO_NODE && !loop_contains(&expect->loops, l, *s); l = expect->loops.at[l].parent)
                exits[l].n++, exits[l].ends += expect->ends[s - reconv->g.succ],
                    exits[l].lanes += lanes_along(expect, reconv->order.order[k], s);
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k];
        expect->until_rare[b] = (uint32_t)(rng_mix(b) % LANES);
        for (unsigned lopsided = 0; lopsided < 2 && b && divergent[b]; lopsided++)
            find_likely(expect, b, lopsided, exits);
    }
    expect->taken = ARENA_ARRAY(a, uint32_t, nedges);
    draw_ways(expect, a, visits, exits);
    find_where_lanes_come(expect, a);
    take_slots(expect, a);
    reconv_expect_parts(expect);
    return expect;
}

uint64_t reconv_expect_spare(const Expect *expect, const uint32_t *issued, uint32_t block) {
    return (uint64_t)(issued[block] - expect->least[block]) * expect->bare[block].cost;
}

double reconv_expected_instructions(int64_t units) { return (double)units / (WARPS * INST_WEIGHT); }

unsigned reconv_expect_times(const Expect *expect) { return expect->nwarps / WARPS; }

unsigned reconv_expect_length(const Expect *expect) {
    return expect->nwarps > WARPS ? expect->nwarps / WARPS * (1 + expect->longest_drawn / LONGEST_WAY) : 1;
}

uint64_t reconv_expect_steps(const Expect *expect) { return expect->steps; }

uint64_t reconv_expect_ran(const Expect *expect) { return expect->ran; }

void reconv_expect_repeat(Expect *expect, uint64_t steps) { expect->steps += steps; }
