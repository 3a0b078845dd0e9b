/* How many instructions a warp is expected to issue with a set of joins: a run of the machine's rules for
 * groups of lanes (docs/spec-resolutions.md) over the function's graph, with drawn decisions in place of
 * data.
 *
 * Each lane's way is drawn once and does not depend on the joins, so two sets are compared on the same ways,
 * and their difference is what the joins do. A divergent branch is drawn for each lane, any other for all
 * lanes that come to it as often; how likely a lane is to leave a loop follows from the rounds that loops are
 * taken to have, or all of this from a profile (lower/profile.h). Half of the warps have evenly split
 * branches, half lopsided ones: a set that is good for one ratio alone does not win.
 *
 * A group runs until it comes to a BSYNC whose barrier other lanes are pending in, or ends; then the group of
 * the lowest lane waited for goes on, joined by all that stand at the same place. Of the sides of a branch
 * the one that follows in the text goes first. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "lower/profile.h"
#include "lower/reconverge/reconverge.h"
#include <string.h>

enum {
    LANES = 32,
    WARPS = 4,         /* the odd ones with lopsided branches */
    LONGEST_WAY = 320, /* blocks; then the shortest way out */
    CALL_COST = 24,    /* instructions of a callee */
    INST_WEIGHT = 32,
    LEAST_B_WEIGHT = 5,
    MOST_B_WEIGHT = 16
};
static const double rounds_at_depth[] = {1, 7, 5, 4, 3, 2}, rarely = 1.0 / 64;

typedef struct {
    uint32_t
        *edges; /* into graph.succ, of the blocks with several; last their number, should the way end there */
} Way;

typedef struct {
    uint32_t join, next; /* next + 1: place in the pool; 0: none */
} Listed;

/* A position that lanes go to: a block, or behind all blocks an edge whose BREAKs come first. */
#define NOWHERE UINT32_MAX /* lanes end */
typedef enum { PLACE_EDGE, PLACE_GOES_ON, PLACE_BRANCHES, PLACE_ENDS } PlaceKind;
typedef struct {
    uint32_t cost; /* without its BSYNC */
    uint32_t join; /* number in the set + 1 of the join that waits there */
    uint32_t
        list; /* head in `pool` + 1: of a block the joins whose BSSY stands there, of an edge their BREAKs */
    PlaceKind kind;
    uint32_t first; /* PLACE_BRANCHES: the edge that follows in the text */
    uint32_t to;    /* PLACE_EDGE, PLACE_GOES_ON: the next position */
} Place;

typedef struct { /* edges that leave a loop */
    uint32_t n;
    double ends;
} Exits;

struct Expect {
    Reconv *reconv;
    const bool *divergent;
    const PtxBranch **counts; /* [block] of a profile, or NULL */
    Compared *compared;
    uint32_t *entered; /* [header] visits before the lane whose way is drawn came into the loop last */
    uint32_t b_weight; /* BSSY, BSYNC, BREAK, the BRA of a BREAK's block */
    uint32_t *cost;    /* [block] */
    uint32_t *first;   /* [block] the successor slot that follows in the text */
    uint32_t *out;     /* [block] the slot on a shortest way to an end */
    bool assigns;      /* BSSY sets the barrier: each lane waits for those that it joined with, one set; else
                          it adds to the one set that all wait for */
    uint8_t *copies;   /* [edge] for phis */
    uint32_t *edge_cost; /* [edge] of the copies in a block of its own */
    double *below;       /* [edge] instructions that only it leads to, those in loops as often as they run */
    double *ends;        /* [edge] ways on to where all ways of its branch meet */
    Way way[WARPS][LANES];
    uint64_t steps;
    Place *bare; /* [position] with no join */
    uint32_t *bare_to;
    /* of one set */
    Place *places; /* [position] */
    uint32_t *to;  /* [edge] position behind it; of the one behind the last NOWHERE */
    VEC(Listed) pool;
    uint32_t *pending;         /* [join] lanes */
    uint32_t (*joined)[LANES]; /* [join] members: those that each lane waits for */
    uint32_t *standing;        /* [position] lanes, of the warp that runs */
};

/* ---- ways ---- */

static uint32_t slots_of(const Graph *graph, uint32_t b) { return graph->succ_at[b + 1] - graph->succ_at[b]; }

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

/* Of how many loops does the edge leave? */
static uint32_t loops_left(const Reconv *reconv, uint32_t from, uint32_t to) {
    uint32_t n = 0;
    for (uint32_t l = reconv->loops.innermost[from]; l != NO_NODE && !loop_contains(&reconv->loops, l, to);
         l = reconv->loops.at[l].parent)
        n++;
    return n;
}

static double expected_rounds(const Reconv *reconv, uint32_t block) {
    uint32_t l = reconv->loops.innermost[block], depth = l == NO_NODE ? 0 : reconv->loops.at[l].depth;
    return rounds_at_depth[depth < 5 ? depth : 5];
}

static double unit(uint64_t hash) { return (double)(hash >> 11) * 0x1p-53; }

/* The slot of two that lanes hardly ever take; NO_NODE if there is none. */
static uint32_t rare_slot(const Expect *expect, uint32_t b) {
    const Reconv *reconv = expect->reconv;
    const Inst *branch = reconv_branch(reconv->f, &reconv->f->blocks.at[b]);
    if (!(branch->flags & IF_RARE) || branch->op != OT_BRA || slots_of(&reconv->g, b) != 2)
        return NO_NODE;
    return reconv->g.succ[reconv->g.succ_at[b]] == ir_src(reconv->f, branch, BRA_offset)->value ? 0 : 1;
}

static bool leaves_loop(const Reconv *reconv, uint32_t from, uint32_t to) {
    return to == 0 || loops_left(reconv, from, to) > 0;
}

/* Some ways of the branch leave a loop, others do not: how many rounds it has decides. */
static bool may_end_loop(const Reconv *reconv, uint32_t b) {
    uint32_t n = slots_of(&reconv->g, b), leaving = 0;
    for (uint32_t s = 0; s < n; s++)
        leaving += leaves_loop(reconv, b, reconv->g.succ[reconv->g.succ_at[b] + s]);
    return leaving && leaving < n;
}

/* The likelihood of each slot; returns their number. Lopsided warps are spread over the ways that lead on: of
 * a chain of tests each ends it for as many lanes, so that code behind many of them is not forgotten. */
static uint32_t likelihoods(const Expect *expect, uint32_t b, unsigned warp, const Exits *exits, double *p,
                            uint32_t most) {
    const Reconv *reconv = expect->reconv;
    bool even = !(warp & 1);
    uint32_t n = slots_of(&reconv->g, b), at = reconv->g.succ_at[b], leaving = 0,
             l = reconv->loops.innermost[b];
    n = n < most ? n : most;
    for (uint32_t s = 0; s < n; s++)
        leaving += leaves_loop(reconv, b, reconv->g.succ[at + s]);
    bool may_stay = leaving < n;
    double leave = 0, stay = 0;
    for (uint32_t s = 0; s < n; s++) {
        p[s] = even ? 1 : expect->ends[at + s];
        if (may_stay && leaves_loop(reconv, b, reconv->g.succ[at + s])) {
            p[s] *= l == NO_NODE ? 0 : 1 / ((even ? exits[l].n : exits[l].ends) * expected_rounds(reconv, b));
            leave += p[s];
        } else {
            stay += p[s];
        }
    }
    uint32_t rare = rare_slot(expect, b);
    for (uint32_t s = 0; s < n; s++) {
        if (!may_stay || !leaves_loop(reconv, b, reconv->g.succ[at + s]))
            p[s] *= (1 - leave) / stay;
        if (rare != NO_NODE)
            p[s] = s == rare ? rarely : 1 - rarely;
    }
    return n;
}

/* In which round of its loop is the lane, that has come to b? Lanes that came into the loop together are in
 * the same, however often others were in it before. */
static uint32_t round_of(const Expect *expect, uint32_t b, const uint32_t *visits) {
    uint32_t l = expect->reconv->loops.innermost[b],
             header = l == NO_NODE ? b : expect->reconv->loops.at[l].header;
    return visits[header] - expect->entered[header];
}

/* All lanes go one way: round a loop as often as it is taken to have rounds, else three times of four where
 * more is done, in one of the warps everywhere at first: a guard around the whole function must not hide it.
 */
static uint32_t common_slot(const Expect *expect, uint32_t b, unsigned warp, const uint32_t *visits) {
    const Reconv *reconv = expect->reconv;
    uint32_t n = slots_of(&reconv->g, b), stays = NO_NODE, leaves = NO_NODE, visit = visits[b] - 1,
             rare = rare_slot(expect, b);
    if (rare != NO_NODE)
        return 1 - rare;
    for (uint32_t s = 0; s < n; s++) {
        uint32_t to = reconv->g.succ[reconv->g.succ_at[b] + s];
        if (to == 0 || loops_left(reconv, b, to) > 0)
            leaves = s;
        else if (stays == NO_NODE ||
                 expect->below[reconv->g.succ_at[b] + s] > expect->below[reconv->g.succ_at[b] + stays])
            stays = s;
    }
    if (leaves != NO_NODE)
        return stays == NO_NODE || round_of(expect, b, visits) % (uint32_t)expected_rounds(reconv, b) == 0
                   ? leaves
                   : stays;
    if (((warp + visit + (uint32_t)(rng_mix(b) % 3)) & 3) != 3)
        return stays;
    return (stays + 1 + (warp + visit / 4) % (n - 1)) % n;
}

/* As a profile has it: whether lanes part at this visit, then one way for all or each lane's own. */
static uint32_t measured_slot(const Expect *expect, uint32_t b, unsigned warp, uint32_t lane,
                              uint32_t visit) {
    const PtxBranch *counts = expect->counts[b];
    uint64_t common = rng_mix(rng_mix(((uint64_t)b << 32 | visit) + RNG_STEP) + warp * RNG_STEP);
    bool apart = expect->divergent[b] && unit(common) * (double)counts->warps < (double)counts->divergent,
         all =
             !apart && counts->divergent == counts->warps; /* lanes part where that was thought impossible */
    double share[64], sum = 0;
    uint32_t n = counts->nways < 64 ? counts->nways : 64;
    for (uint32_t s = 0; s < n; s++) {
        const PtxWay *way = &counts->ways[s];
        share[s] = (double)(all ? way->lanes : apart ? way->apart : way->together);
        sum += share[s];
    }
    double u = unit(rng_mix(common + (apart ? lane + 2 : 1) * RNG_STEP)) * sum;
    for (uint32_t s = 0; s + 1 < n; s++) {
        if (u < share[s])
            return s;
        u -= share[s];
    }
    return n - 1;
}

static uint64_t way_number(unsigned warp, uint32_t lane) { return (lane * WARPS + warp + 1) * RNG_STEP; }

static uint32_t draw_slot(const Expect *expect, uint32_t b, unsigned warp, uint32_t lane,
                          const uint32_t *visits, const Exits *exits) {
    uint32_t visit = visits[b] - 1;
    if (expect->counts[b])
        return measured_slot(expect, b, warp, lane, visit);
    double p[64], u;
    if (!expect->divergent[b])
        return common_slot(expect, b, warp, visits);
    uint64_t which = way_number(warp, lane);
    uint32_t decided = reconv_compared_slot(expect->compared, expect->reconv, b, which, visits,
                                            !may_end_loop(expect->reconv, b));
    if (decided != NO_NODE)
        return decided;
    uint32_t n = likelihoods(expect, b, warp, exits, p, 64);
    u = unit(rng_mix(rng_mix(((uint64_t)b << 32 | visit) + RNG_STEP) + which));
    for (uint32_t s = 0; s + 1 < n; s++) {
        if (u < p[s])
            return s;
        u -= p[s];
    }
    return n - 1;
}

static void draw_way(Expect *expect, Arena *a, unsigned warp, uint32_t lane, uint32_t *visits,
                     const Exits *exits) {
    Reconv *reconv = expect->reconv;
    uint32_t b = reconv->f->entry.i, n = 0, decisions = 0, longest = LONGEST_WAY + reconv->g.n;
    uint32_t *edges = ARENA_ARRAY(a, uint32_t, longest + 1);
    memset(visits, 0, reconv->g.n * sizeof *visits);
    memset(expect->entered, 0, reconv->g.n * sizeof *expect->entered);
    reconv_compared_start(expect->compared);
    while (!ends_here(expect, b) && n < longest) {
        uint32_t slot = 0;
        visits[b]++;
        if (slots_of(&reconv->g, b) > 1)
            slot = n < LONGEST_WAY ? draw_slot(expect, b, warp, lane, visits, exits) : expect->out[b];
        uint32_t edge = reconv->g.succ_at[b] + slot;
        n++;
        if (slots_of(&reconv->g, b) > 1)
            edges[decisions++] = edge;
        uint32_t to = reconv->g.succ[edge];
        if (!to)
            break;
        reconv_compared_edge(expect->compared, b, to, way_number(warp, lane), visits);
        uint32_t loop = reconv->loops.innermost[to];
        if (loop != NO_NODE && reconv->loops.at[loop].header == to && !loop_contains(&reconv->loops, loop, b))
            expect->entered[to] = visits[to];
        b = to;
    }
    edges[decisions] = reconv->g.succ_at[reconv->g.n]; /* where there is no way out */
    expect->way[warp][lane] = (Way){edges};
}

static void weigh_blocks(Expect *expect) {
    Reconv *reconv = expect->reconv;
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k],
                 next = k + 1 < reconv->order.count ? reconv->order.order[k + 1] : 0;
        if (!b)
            continue;
        const Block *blk = ir_block(reconv->f, (BlockId){b});
        FOR_INSTS(reconv->f, (BlockId){b}, i)
            expect->cost[b] += i->op == IR_PHI ? 0 : i->op == OT_CALL ? CALL_COST * INST_WEIGHT : INST_WEIGHT;
        uint32_t n = slots_of(&reconv->g, b);
        expect->first[b] = n ? n - 1 : 0;
        for (uint32_t s = 0; s < n; s++)
            if (n <= 2 && next && reconv->g.succ[reconv->g.succ_at[b] + s] == next &&
                reconv_branch(reconv->f, blk)->op == OT_BRA) {
                expect->first[b] = s;
                expect->cost[b] -= expect->cost[b] ? INST_WEIGHT : 0; /* its BRA goes */
                break;
            }
    }
}

/* Where blocks have one or two instructions, what lanes do together saves mostly branches and what lies
 * between them, which issues do not show; the larger the blocks, the more a join costs beside what it saves.
 */
static uint32_t weight_of_joins(const Expect *expect) {
    const GraphOrder *order = &expect->reconv->order;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < order->count; k++)
        sum += expect->cost[order->order[k]];
    uint64_t weight = 7 * sum / (INST_WEIGHT * (uint64_t)(order->count + !order->count));
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
            else if (copies >= 16)
                expect->edge_cost[edge] = copies * INST_WEIGHT / 32;
        }
    }
}

static void weigh_edges(Expect *expect, Arena *a, const DomTree *dom) {
    const Reconv *reconv = expect->reconv;
    double *inside = ARENA_ARRAY(a, double, reconv->g.n); /* [block] what it dominates */
    for (uint32_t k = reconv->order.count; k-- > 0;) {
        uint32_t b = reconv->order.order[k], l = b ? reconv->loops.innermost[b] : NO_NODE;
        double often = 1;
        for (uint32_t m = 0; l != NO_NODE && m < 4; l = reconv->loops.at[l].parent, m++)
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

static void find_positions(Expect *expect, Arena *a) {
    const Graph *graph = &expect->reconv->g;
    uint32_t nedges = graph->succ_at[graph->n], npos = graph->n + nedges;
    expect->bare = ARENA_ARRAY(a, Place, npos);
    expect->places = ARENA_ARRAY(a, Place, npos);
    expect->bare_to = ARENA_ARRAY(a, uint32_t, nedges + 1);
    expect->to = ARENA_ARRAY(a, uint32_t, nedges + 1);
    expect->standing = ARENA_ARRAY(a, uint32_t, npos);
    for (uint32_t edge = 0; edge < nedges; edge++) {
        uint32_t to = graph->succ[edge];
        expect->bare[graph->n + edge] =
            (Place){.kind = PLACE_EDGE, .cost = expect->edge_cost[edge], .to = to};
        expect->bare_to[edge] = !to ? NOWHERE : expect->edge_cost[edge] ? graph->n + edge : to;
    }
    expect->bare_to[nedges] = NOWHERE;
    for (uint32_t b = 0; b < graph->n; b++)
        expect->bare[b] = (Place){.kind = ends_here(expect, b)      ? PLACE_ENDS
                                          : slots_of(graph, b) == 1 ? PLACE_GOES_ON
                                                                    : PLACE_BRANCHES,
                                  .cost = expect->cost[b],
                                  .first = graph->succ_at[b] + expect->first[b]};
}

Expect *reconv_expect(Reconv *reconv, const DomTree *dom, const bool *divergent) {
    Arena *a = &reconv->a;
    Expect *expect = ARENA_NEW(a, Expect);
    uint32_t n = reconv->g.n, nedges = reconv->g.succ_at[n];
    *expect = (Expect){.reconv = reconv, .divergent = divergent};
    expect->assigns = isa_target_info(reconv->f->module->target)->bssy_assigns;
    expect->cost = ARENA_ARRAY(a, uint32_t, n);
    expect->first = ARENA_ARRAY(a, uint32_t, n);
    expect->out = ARENA_ARRAY(a, uint32_t, n);
    expect->below = ARENA_ARRAY(a, double, nedges);
    expect->counts = ARENA_ARRAY(a, const PtxBranch *, n);
    for (uint32_t k = 0; k < reconv->order.count; k++)
        if (reconv->order.order[k])
            expect->counts[reconv->order.order[k]] =
                lower_branch_counts(reconv->f, (BlockId){reconv->order.order[k]});
    expect->compared = reconv_find_compared(reconv, divergent);
    weigh_blocks(expect);
    expect->b_weight = weight_of_joins(expect);
    expect->copies = reconv_expected_copies(reconv, dom);
    expect->edge_cost = ARENA_ARRAY(a, uint32_t, nedges);
    weigh_copies(expect);
    weigh_edges(expect, a, dom);
    expect->ends = ARENA_ARRAY(a, double, nedges);
    count_ends(expect, a);
    find_shortest(expect);
    find_positions(expect, a);
    uint32_t *visits = ARENA_ARRAY(a, uint32_t, n);
    expect->entered = ARENA_ARRAY(a, uint32_t, n);
    Exits *exits = ARENA_ARRAY(a, Exits, reconv->loops.n + 1);
    for (uint32_t k = 0; k < reconv->order.count; k++)
        GRAPH_SUCCS(&reconv->g, reconv->order.order[k], s)
            for (uint32_t l = reconv->order.order[k] ? reconv->loops.innermost[reconv->order.order[k]]
                                                     : NO_NODE;
                 l != NO_NODE && !loop_contains(&reconv->loops, l, *s); l = reconv->loops.at[l].parent)
                exits[l].n++, exits[l].ends += expect->ends[s - reconv->g.succ];
    for (unsigned warp = 0; warp < WARPS; warp++)
        for (uint32_t lane = 0; lane < LANES; lane++)
            draw_way(expect, a, warp, lane, visits, exits);
    return expect;
}

double reconv_expected_instructions(int64_t units) { return (double)units / (WARPS * INST_WEIGHT); }

uint64_t reconv_expect_steps(const Expect *expect) { return expect->steps; }

void reconv_expect_repeat(Expect *expect, uint64_t steps) { expect->steps += steps; }

/* ---- one warp ---- */

typedef struct {
    Expect *expect;
    const uint32_t *next[LANES]; /* decision of each lane */
    uint32_t pos[LANES];         /* where it stands, if it is not active */
    uint32_t valid, active, current;
    uint64_t issues;
} Warp;

#define EACH_LANE(t, lanes)                                                                                  \
    for (uint32_t t, left_ = (lanes); left_ && (t = (uint32_t)__builtin_ctz(left_), 1); left_ &= left_ - 1)

/* The lowest of these lanes goes on, with all that stand at its place. */
static void resume(Warp *warp, uint32_t lanes) {
    uint32_t *standing = warp->expect->standing;
    warp->active = 0;
    if (!lanes)
        return;
    warp->current = warp->pos[__builtin_ctz(lanes)];
    warp->active = standing[warp->current];
    standing[warp->current] = 0;
}

static void park(Warp *warp, uint32_t lanes, uint32_t pos) {
    warp->expect->standing[pos] |= lanes;
    EACH_LANE(t, lanes)
        warp->pos[t] = pos;
}

/* All active lanes go on there, or end. */
static void go_to(Warp *warp, uint32_t to) {
    if (to == NOWHERE) {
        warp->valid &= ~warp->active;
        resume(warp, warp->valid);
    } else {
        warp->current = to;
    }
}

/* The lanes part, `apart` from those that take the lowest one's edge: the ones that take `first`, which
 * follows in the text, go on, else the lowest and all that go where it goes. */
static void part(Warp *warp, uint32_t first, uint32_t edge, uint32_t apart, const uint32_t edges[LANES]) {
    const uint32_t *to = warp->expect->to;
    uint32_t stay = 0, lowest = NOWHERE, with = 0, others = 0, together = warp->active & ~apart;
    if (edge == first)
        stay = together;
    else if (to[edge] == NOWHERE)
        warp->valid &= ~together;
    else
        lowest = to[edge], with = together;
    EACH_LANE(t, apart) {
        uint32_t at = to[edges[t]];
        if (edges[t] == first) {
            stay |= 1u << t;
        } else if (at == NOWHERE) {
            warp->valid &= ~(1u << t);
        } else {
            lowest = lowest == NOWHERE ? at : lowest;
            if (at == lowest)
                with |= 1u << t;
            else
                others |= 1u << t;
        }
    }
    EACH_LANE(t, others)
        park(warp, 1u << t, to[edges[t]]);
    if (stay && to[first] != NOWHERE) {
        if (with)
            park(warp, with, lowest);
        warp->active = stay;
        warp->current = to[first];
        return;
    }
    warp->valid &= ~stay;
    warp->active = with;
    warp->current = lowest;
    if (!with)
        resume(warp, warp->valid);
}

/* Each lane goes its way, mostly all the same, and mostly one is alone. */
static void run_branch(Warp *warp, uint32_t first) {
    uint32_t edges[LANES], lowest = (uint32_t)__builtin_ctz(warp->active), edge = *warp->next[lowest]++,
                           more = warp->active & (warp->active - 1), apart = 0;
    EACH_LANE(t, more) {
        edges[t] = *warp->next[t]++;
        apart |= (uint32_t)(edges[t] != edge) << t;
    }
    if (apart)
        part(warp, first, edge, apart, edges);
    else
        go_to(warp, warp->expect->to[edge]);
}

/* The lanes are no more among those that any lane waits for. pending: lanes that wait for any */
static void leave_members(uint32_t joined[LANES], uint32_t *pending, uint32_t lanes) {
    EACH_LANE(t, lanes & *pending) {
        for (uint32_t left = joined[t] & ~lanes; left; left &= left - 1)
            joined[__builtin_ctz(left)] &= ~(1u << t);
        joined[t] = 0;
    }
    *pending &= ~lanes;
}

static void join_members(uint32_t joined[LANES], uint32_t *pending, uint32_t lanes) {
    leave_members(joined, pending, lanes);
    *pending |= lanes;
    EACH_LANE(t, lanes)
        joined[t] = lanes;
}

/* Of the lanes at a BSYNC those that wait for nobody else; *missing: for whom the others do. */
static uint32_t complete_members(const Warp *warp, const uint32_t joined[LANES], uint32_t here,
                                 uint32_t *missing) {
    uint32_t complete = 0;
    *missing = 0;
    while (here) { /* one answer for all of a set */
        uint32_t first = (uint32_t)__builtin_ctz(here), set = joined[first], alike = here & -here, lacks = 0;
        EACH_LANE(t, here & set)
            alike |= (uint32_t)(joined[t] == set) << t;
        lacks = set >> first & 1 ? set & warp->valid & ~(warp->expect->standing[warp->current] | warp->active)
                                 : 0;
        complete |= lacks ? 0 : alike;
        *missing |= lacks;
        here &= ~alike;
    }
    return complete;
}

/* As in sim/machine/members.c, of lanes of one call. */
static bool arrive_members(Warp *warp, uint32_t joined[LANES], uint32_t *pending) {
    uint32_t *standing = &warp->expect->standing[warp->current], missing, here = *standing | warp->active,
             complete = complete_members(warp, joined, here, &missing);
    warp->issues += warp->expect->b_weight;
    if (!complete) {
        park(warp, warp->active, warp->current);
        resume(warp, missing);
        return false;
    }
    leave_members(joined, pending, complete);
    park(warp, warp->active & ~complete, warp->current);
    *standing &= ~complete;
    warp->active = complete;
    return true;
}

/* The active lanes come to the BSYNC of a block; false: they wait. */
static bool arrive(Warp *warp, uint32_t *pending) {
    uint32_t pos = warp->current, arrived = warp->expect->standing[pos] | warp->active,
             left = *pending & warp->valid & ~arrived;
    warp->issues += warp->expect->b_weight;
    *pending = left;
    if (left) {
        park(warp, warp->active, pos);
        resume(warp, left);
        return false;
    }
    warp->expect->standing[pos] = 0;
    warp->active = arrived;
    return true;
}

/* The lanes leave the join, or those at its BSSY join. */
static void leave_join(Expect *expect, uint32_t join, uint32_t lanes) {
    if (expect->assigns)
        leave_members(expect->joined[join], &expect->pending[join], lanes);
    else
        expect->pending[join] &= ~lanes;
}

static void enter_join(Expect *expect, uint32_t join, uint32_t lanes) {
    if (expect->assigns)
        join_members(expect->joined[join], &expect->pending[join], lanes);
    else
        expect->pending[join] |= lanes;
}

static bool arrive_at(Warp *warp, uint32_t join) {
    Expect *expect = warp->expect;
    return expect->assigns ? arrive_members(warp, expect->joined[join], &expect->pending[join])
                           : arrive(warp, &expect->pending[join]);
}

/* The active lanes run one block, or the BREAKs of an edge. */
static void run_place(Warp *warp) {
    Expect *expect = warp->expect;
    const Place *place = &expect->places[warp->current];
    if (place->kind == PLACE_EDGE) {
        warp->issues += place->cost;
        for (uint32_t k = place->list; k; k = expect->pool.at[k - 1].next)
            leave_join(expect, expect->pool.at[k - 1].join, warp->active);
        warp->current = place->to;
        return;
    }
    expect->steps++;
    if (place->join && !arrive_at(warp, place->join - 1))
        return;
    warp->issues += place->cost;
    for (uint32_t k = place->list; k; k = expect->pool.at[k - 1].next)
        enter_join(expect, expect->pool.at[k - 1].join, warp->active);
    if (place->kind == PLACE_BRANCHES)
        run_branch(warp, place->first);
    else
        go_to(warp, place->kind == PLACE_ENDS ? NOWHERE : place->to);
}

static void add_listed(Expect *expect, Place *place, uint32_t join) {
    VEC_ADD(&expect->reconv->a, &expect->pool, ((Listed){join, place->list}));
    place->list = expect->pool.n;
}

static void take_breaks(Expect *expect, const Join *join, uint32_t number) {
    const Graph *graph = &expect->reconv->g;
    for (unsigned b = 0; b < join->breaks.n; b++) {
        GraphEdge edge = join->breaks.at[b];
        bool own =
            graph->pred_at[edge.to + 1] - graph->pred_at[edge.to] == 1 && !expect->places[edge.to].join;
        for (uint32_t s = graph->succ_at[edge.from]; s < graph->succ_at[edge.from + 1]; s++)
            if (graph->succ[s] == edge.to) {
                Place *place = &expect->places[graph->n + s];
                place->cost += place->list || own ? expect->b_weight : 2 * expect->b_weight;
                if (edge.to)
                    expect->to[s] = graph->n + s;
                add_listed(expect, place, number);
            }
    }
}

static void take_set(Expect *expect, const Join *const *joins, unsigned n) {
    const Graph *graph = &expect->reconv->g;
    uint32_t nedges = graph->succ_at[graph->n];
    memcpy(expect->places, expect->bare, (graph->n + nedges) * sizeof *expect->places);
    memcpy(expect->to, expect->bare_to, (nedges + 1) * sizeof *expect->to);
    expect->pool.n = 0;
    for (uint32_t k = 0; k < n; k++)
        expect->places[joins[k]->block].join = k + 1;
    for (uint32_t k = 0; k < n; k++) {
        for (unsigned p = 0; p < joins[k]->places.n; p++) {
            Place *place = &expect->places[joins[k]->places.at[p]];
            place->cost += expect->b_weight;
            add_listed(expect, place, k);
        }
        take_breaks(expect, joins[k], k);
    }
    for (uint32_t b = 0; b < graph->n; b++)
        if (expect->places[b].kind == PLACE_GOES_ON)
            expect->places[b].to = expect->to[graph->succ_at[b]];
}

uint64_t reconv_expected_issues(Expect *expect, const Join *const *joins, unsigned n, uint64_t limit) {
    uint64_t issues = 0;
    ArenaMark mark = arena_mark(&expect->reconv->a);
    expect->pool.at = NULL, expect->pool.cap = 0;
    take_set(expect, joins, n);
    expect->pending = ARENA_ARRAY(&expect->reconv->a, uint32_t, n + 1);
    if (expect->assigns)
        expect->joined =
            (uint32_t(*)[LANES])(void *)ARENA_ARRAY(&expect->reconv->a, uint32_t, (n + 1) * LANES);
    const Graph *graph = &expect->reconv->g;
    uint32_t npos = graph->n + graph->succ_at[graph->n];
    for (unsigned k = 0; k < WARPS && issues <= limit; k++) {
        Warp warp = {.expect = expect,
                     .valid = UINT32_MAX,
                     .active = UINT32_MAX,
                     .current = expect->reconv->f->entry.i};
        for (uint32_t lane = 0; lane < LANES; lane++)
            warp.next[lane] = expect->way[k][lane].edges;
        memset(expect->standing, 0, npos * sizeof *expect->standing);
        memset(expect->pending, 0, n * sizeof *expect->pending);
        if (expect->assigns)
            memset(expect->joined, 0, n * sizeof *expect->joined);
        /* more than all ways together: nothing waits for ever with an order (join.c) */
        uint64_t most = expect->steps + 4 * LANES * (uint64_t)(LONGEST_WAY + graph->n);
        while (warp.active && expect->steps < most && issues + warp.issues <= limit)
            run_place(&warp);
        issues += warp.issues;
    }
    arena_release(&expect->reconv->a, mark);
    return issues;
}
