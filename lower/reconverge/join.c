/* Which joins there are, where lanes may be pending in them, and which barrier register each gets.
 *
 * A join is a block that begins with BSYNC. In ipdom mode it is the exit-insensitive immediate post-dominator
 * of a divergent branch. In frontier mode a block where two sides of a divergent branch meet before that is
 * one too; lanes that then leave without passing it take a BREAK on the way.
 *
 * Order rule: with an edge p -> k wherever a lane at the BSYNC of k may be pending in p, the graph over joins
 * has no cycle, and registers grow along its edges. Then groups that wait for each other form chains that
 * end. A register is also different from that of every join that may be pending at the same place. Where this
 * cannot be had, the early branch with the least profit is given up, then whole joins: leaving a join out is
 * always safe.
 * SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"
#include <string.h>

enum {
    MAX_EARLY_BLOCKS = 4096, /* larger functions get no early joins: the search is quadratic */
    MAX_ENTRIES = 1 << 25,   /* of all lists of pending blocks together */
    FARTHEST_MEETING = 128,  /* blocks behind the branch, in auto mode */
    MOST_PENDING = 64,       /* joins around a branch; further in there is no register left for one */
    MAX_ROUNDS = 256,        /* of numbering; then all early branches are given up */
    MAX_SEARCHES = 64,       /* in one round, for an early join to give up */
    IS_IN = 1,
    IS_OUT = 2
};

Join *reconv_add_join(Reconv *reconv, uint32_t block) {
    if (reconv->join_at[block] == NO_JOIN) {
        reconv->join_at[block] = reconv->joins.n;
        *VEC_PUSH(&reconv->a, &reconv->joins) = (Join){.block = block, .reg = NUM_B};
    }
    return &reconv->joins.at[reconv->join_at[block]];
}

static void drop(Join *join, ReconvReason why) {
    join->dropped = true;
    join->why = why;
    join->reg = NUM_B;
    join->in.n = join->out.n = join->breaks.n = 0;
}

/* ---- branches that the join post-dominates ---- */

uint32_t reconv_hoisted(const Reconv *reconv, uint32_t block, uint32_t join) {
    uint32_t outer = NO_NODE, pre = 0;
    for (uint32_t l = reconv->loops.innermost[block]; l != NO_NODE && !loop_contains(&reconv->loops, l, join);
         l = reconv->loops.at[l].parent)
        outer = l;
    if (outer == NO_NODE || reconv->loops.at[outer].irreducible)
        return block;
    GRAPH_PREDS(&reconv->g, reconv->loops.at[outer].header, p) {
        if (loop_contains(&reconv->loops, outer, *p))
            continue;
        if (pre && pre != *p)
            return block;
        pre = *p;
    }
    if (!pre || pre == join || !postdom_contains(&reconv->pd, join, pre))
        return block;
    uint32_t l = reconv->loops.innermost[pre], depth = l == NO_NODE ? 0 : reconv->loops.at[l].depth;
    return depth < reconv->loops.at[outer].depth ? pre : block;
}

static void find_late(Reconv *reconv, const uint32_t *join_of) {
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k];
        if (!join_of[b])
            continue;
        Join *join = reconv_add_join(reconv, join_of[b]);
        uint32_t h = reconv_hoisted(reconv, b, join->block);
        join->ipdom = true;
        if (h != b)
            VEC_ADD(&reconv->a, &join->places, h);
        VEC_ADD(&reconv->a, &join->places, b);
    }
}

/* ---- early joins ---- */

static bool is_forward(const Reconv *reconv, uint32_t from, uint32_t to) {
    return reconv->order.index[from] < reconv->order.index[to];
}

/* Blocks where paths from different successors of b meet for the first time: each block carries the label of
 * the successor, or of the meeting block, that all its labelled forward predecessors come from. */
static void find_meetings(Reconv *reconv, uint32_t b, uint32_t *label) {
    memset(label, 0, reconv->g.n * sizeof *label);
    uint32_t first = reconv->order.count, end = first;
    GRAPH_SUCCS(&reconv->g, b, s) {
        label[*s] = *s;
        first = reconv->order.index[*s] < first ? reconv->order.index[*s] : first;
    }
    if (reconv->automatic && end - first > FARTHEST_MEETING)
        end = first + FARTHEST_MEETING;
    for (uint32_t k = first; k < end; k++) {
        uint32_t n = reconv->order.order[k];
        reconv->f->module->steps++;
        if (!n)
            continue;
        bool meets = false;
        GRAPH_PREDS(&reconv->g, n, p) {
            if (reconv->order.index[*p] == NO_NODE || !is_forward(reconv, *p, n) || !label[*p] ||
                label[*p] == label[n])
                continue;
            meets |= label[n] != 0;
            label[n] = meets ? n : label[*p];
        }
        if (meets && n != reconv->pd.ipdom[b] && reconv->g.pred_at[n + 1] - reconv->g.pred_at[n] > 1 &&
            !reconv_only_exits(reconv->f, n)) {
            Join *join = reconv_add_join(reconv, n);
            VEC_ADD(&reconv->a, &join->early, b);
        }
    }
}

void reconv_find_early(Reconv *reconv, const bool *divergent) {
    if ((reconv->no_early && !reconv->automatic) || reconv->g.n > MAX_EARLY_BLOCKS)
        return;
    uint32_t *label = ARENA_ARRAY(&reconv->a, uint32_t, reconv->g.n);
    for (uint32_t k = 0; k < reconv->order.count; k++)
        if (divergent[reconv->order.order[k]])
            find_meetings(reconv, reconv->order.order[k], label);
}

/* Instructions from the join up to its own post-dominator: what is issued once less often. */
static int64_t body_size(Reconv *reconv, uint32_t block) {
    uint32_t top = 0, end = reconv->pd.ipdom[block], round = ++reconv->round;
    int64_t size = 0;
    reconv->stack[top++] = block;
    reconv->mark[block] = round;
    while (top && size < 1 << 20) {
        uint32_t n = reconv->stack[--top];
        reconv->f->module->steps++;
        size += ir_block(reconv->f, (BlockId){n})->insts.n;
        GRAPH_SUCCS(&reconv->g, n, s)
            if (*s && *s != end && reconv->mark[*s] != round && is_forward(reconv, n, *s)) {
                reconv->mark[*s] = round;
                reconv->stack[top++] = *s;
            }
    }
    return size;
}

/* ---- where lanes are pending ---- */

/* Marks what the places of the join lead to before it. */
static uint32_t mark_reached(Reconv *reconv, const Join *join) {
    uint32_t top = 0, round = ++reconv->round;
    for (unsigned k = 0; k < join->places.n; k++) {
        reconv->mark[join->places.at[k]] = round;
        reconv->stack[top++] = join->places.at[k];
    }
    while (top) {
        uint32_t n = reconv->stack[--top];
        reconv->f->module->steps++;
        GRAPH_SUCCS(&reconv->g, n, s)
            if (*s != join->block && reconv->mark[*s] != round) {
                reconv->mark[*s] = round;
                reconv->stack[top++] = *s;
            }
    }
    return round;
}

/* The one place of the join, if lanes come there but once in a round of its loop: all that are pending are
 * behind it. NO_NODE: there are several, or they come again. */
static uint32_t only_place(const Reconv *reconv, const Join *join) {
    uint32_t place = join->places.n == 1 && !join->early.n ? join->places.at[0] : NO_NODE;
    return place != NO_NODE && reconv->loops.innermost[place] == join->loop ? place : NO_NODE;
}

/* Marks the blocks that come to the join within one round of its loop, all loops inside included: of those
 * where lanes may be pending. */
static uint32_t mark_round(Reconv *reconv, const Join *join) {
    uint32_t header = join->loop == NO_NODE ? 0 : reconv->loops.at[join->loop].header, top = 0,
             place = only_place(reconv, join), round = ++reconv->round;
    reconv->stack[top++] = join->block;
    while (top) {
        uint32_t n = reconv->stack[--top];
        reconv->f->module->steps++;
        if ((n == header || n == place) && n != join->block)
            continue; /* what leads here is another round, or before it */
        GRAPH_PREDS(&reconv->g, n, p)
            if (reconv->order.index[*p] != NO_NODE && reconv->mark[*p] != round && *p != join->block &&
                (!header || loop_contains(&reconv->loops, join->loop, *p))) {
                reconv->mark[*p] = round;
                reconv->stack[top++] = *p;
            }
    }
    return round;
}

/* By any path if the join is a post-dominator, else without retreating edges. Where the join post-dominates
 * all its branches, only those that its lanes come to. */
uint32_t reconv_mark_reaching(Reconv *reconv, const Join *join) {
    if (join->scoped)
        return mark_round(reconv, join);
    bool only_reached = join->ipdom && !join->early.n;
    uint32_t reached = only_reached ? mark_reached(reconv, join) : 0, top = 0, round = ++reconv->round;
    reconv->stack[top++] = join->block;
    reconv->mark[join->block] = round;
    while (top) {
        uint32_t n = reconv->stack[--top];
        reconv->f->module->steps++;
        GRAPH_PREDS(&reconv->g, n, p)
            if (reconv->order.index[*p] != NO_NODE && reconv->mark[*p] != round &&
                (!only_reached || reconv->mark[*p] == reached) &&
                (join->ipdom || is_forward(reconv, *p, n))) {
                reconv->mark[*p] = round;
                reconv->stack[top++] = *p;
            }
    }
    return round;
}

/* Lanes that come here run to an EXIT without a branch and without a join. */
static bool straight_to_exit(const Reconv *reconv, uint32_t block) {
    for (unsigned hops = 0; block && hops < 8; hops++) {
        const Block *b = &reconv->f->blocks.at[block];
        if (reconv->may_join[block] || b->succs.n > 1 ||
            reconv->g.succ_at[block + 1] - reconv->g.succ_at[block] != b->succs.n)
            return false;
        if (!b->succs.n)
            return reconv->f->insts.at[b->insts.at[b->insts.n - 1].i].op == OT_EXIT;
        block = b->succs.at[0].i;
    }
    return false;
}

/* Lanes that go to `to` never pass the join. Where they only come to an EXIT, the EXIT takes them out of it.
 */
static bool needs_break(const Reconv *reconv, const Join *join, uint32_t to) {
    if (join->scoped)
        return !straight_to_exit(reconv, to);
    if (join->early.n)
        return true;
    uint32_t sink = reconv->pd.sink[reconv->pd.region[to]];
    return !sink || reconv->f->blocks.at[sink].succs.n > 0;
}

static void add_break(Reconv *reconv, Join *join, uint32_t from, uint32_t to) {
    for (unsigned k = join->breaks.n; k-- > 0 && join->breaks.at[k].from == from;)
        if (join->breaks.at[k].to == to)
            return;
    *VEC_PUSH(&reconv->a, &join->breaks) = (GraphEdge){from, to};
}

bool reconv_solve_join(Reconv *reconv, Join *join, uint8_t *state) {
    uint32_t round = reconv_mark_reaching(reconv, join), done = 0;
    bool good = true;
    join->in.n = join->out.n = join->breaks.n = 0;
    for (unsigned k = 0; k < join->places.n + join->early.n; k++) {
        uint32_t b = k < join->places.n ? join->places.at[k] : join->early.at[k - join->places.n];
        if (!(state[b] & IS_OUT))
            VEC_ADD(&reconv->a, &join->out, b);
        state[b] |= IS_OUT;
    }
    while (done < join->out.n && good) {
        uint32_t u = join->out.at[done++];
        reconv->f->module->steps++;
        GRAPH_SUCCS(&reconv->g, u, s) {
            uint32_t v = *s;
            if (v != join->block && reconv->mark[v] != round && needs_break(reconv, join, v)) {
                good &= v != 0;
                add_break(reconv, join, u, v);
                continue;
            }
            if (!(state[v] & IS_IN))
                VEC_ADD(&reconv->a, &join->in, v);
            if (v != join->block && !(state[v] & IS_OUT))
                VEC_ADD(&reconv->a, &join->out, v);
            state[v] |= v != join->block ? IS_IN | IS_OUT : IS_IN;
        }
        good &= reconv->entries + join->in.n + join->out.n < MAX_ENTRIES;
    }
    for (unsigned k = 0; k < join->out.n; k++)
        state[join->out.at[k]] = 0;
    for (unsigned k = 0; k < join->in.n; k++)
        state[join->in.at[k]] = 0;
    if (good)
        reconv->entries += join->in.n + join->out.n;
    else
        join->in.n = join->out.n = join->breaks.n = 0;
    return good;
}

/* Give up the branches that the join does not post-dominate, and the join if there are no others. */
static void strip_early(Reconv *reconv, Join *join, ReconvReason why, uint8_t *state) {
    join->early.n = 0;
    reconv->entries -= join->in.n + join->out.n;
    if (!join->ipdom)
        drop(join, why);
    else if (!reconv_solve_join(reconv, join, state))
        drop(join, RJ_TOO_DEEP);
}

static bool too_deep(const Reconv *reconv, const uint32_t *blocks, unsigned n) {
    for (unsigned k = 0; k < n; k++)
        if (reconv->depth[blocks[k]] >= MOST_PENDING)
            return true;
    return false;
}

static void solve_join(Reconv *reconv, Join *join, uint8_t *state) {
    if (too_deep(reconv, join->early.at, join->early.n))
        join->early.n = 0;
    if ((!join->ipdom && !join->early.n) || too_deep(reconv, join->places.at, join->places.n)) {
        drop(join, RJ_TOO_DEEP);
        return;
    }
    if (!reconv_solve_join(reconv, join, state)) {
        if (!join->early.n) {
            drop(join, RJ_TOO_DEEP);
            return;
        }
        strip_early(reconv, join, RJ_TOO_DEEP, state);
    }
    if (!join->early.n)
        return;
    int64_t cost = (int64_t)join->early.n + join->breaks.n + 1;
    join->profit = body_size(reconv, join->block) / 2 - cost;
    if (!reconv->all_early && join->profit <= 0)
        strip_early(reconv, join, RJ_NO_PROFIT, state);
}

/* ---- register numbers ---- */

typedef struct {
    Reconv *r;
    Graph graph; /* over joins: p -> k, a lane at the BSYNC of k may be pending in p */
    uint32_t *comp, *comp_size, ncomp;
    uint8_t *state;
    const bool *exits; /* [block] lanes there just exit */
    Arena a;           /* of one round */
} Numbering;

static void build_order(Numbering *n) {
    Reconv *reconv = n->r;
    VEC(GraphEdge) edges = {0};
    arena_free(&n->a);
    for (uint32_t p = 0; p < reconv->joins.n; p++)
        for (unsigned k = 0; k < reconv->joins.at[p].in.n; k++) {
            reconv->f->module->steps++;
            uint32_t at = reconv->join_at[reconv->joins.at[p].in.at[k]];
            if (at != NO_JOIN && at != p && !reconv->joins.at[at].dropped)
                *VEC_PUSH(&n->a, &edges) = (GraphEdge){p, at};
        }
    n->graph = graph_new(&n->a, reconv->joins.n, edges.at, edges.n);
    n->comp = ARENA_ARRAY(&n->a, uint32_t, reconv->joins.n + 1);
    n->ncomp = graph_scc(&n->a, &n->graph, NULL, n->comp);
    n->comp_size = ARENA_ARRAY(&n->a, uint32_t, n->ncomp + 1);
    for (uint32_t k = 0; k < reconv->joins.n; k++)
        n->comp_size[n->comp[k]]++;
}

/* The join to give up among those of cycles, NO_JOIN if there are no cycles. */
static uint32_t worst_in_cycle(const Numbering *numbering) {
    Reconv *reconv = numbering->r;
    uint32_t worst = NO_JOIN;
    for (uint32_t k = 0; k < reconv->joins.n; k++) {
        const Join *join = &reconv->joins.at[k];
        if (numbering->comp_size[numbering->comp[k]] < 2)
            continue;
        reconv_find_profits(reconv);
        if (worst == NO_JOIN || (join->early.n && !reconv->joins.at[worst].early.n) ||
            (!join->early.n == !reconv->joins.at[worst].early.n &&
             join->profit < reconv->joins.at[worst].profit))
            worst = k;
    }
    return worst;
}

/* Instead of another that gets no register. */
static bool may_give_up(const Reconv *reconv, uint32_t k) {
    return reconv->joins.at[k].early.n || (reconv->automatic && !reconv->joins.at[k].dropped);
}

/* Early join, in auto mode any, with the least profit among k and those before it in the order, NO_JOIN if
 * there is none. */
static uint32_t worst_before(Numbering *numbering, uint32_t k) {
    Reconv *reconv = numbering->r;
    reconv_find_profits(reconv);
    ArenaMark mark = arena_mark(&numbering->a);
    uint8_t *seen = ARENA_ARRAY(&numbering->a, uint8_t, reconv->joins.n);
    uint32_t *stack = ARENA_ARRAY(&numbering->a, uint32_t, reconv->joins.n + 1), top = 0, worst = NO_JOIN;
    stack[top++] = k;
    seen[k] = 1;
    while (top) {
        uint32_t j = stack[--top];
        if (may_give_up(reconv, j) &&
            (worst == NO_JOIN || reconv->joins.at[j].profit < reconv->joins.at[worst].profit))
            worst = j;
        GRAPH_PREDS(&numbering->graph, j, p)
            if (!seen[*p])
                seen[*p] = 1, stack[top++] = *p;
    }
    arena_release(&numbering->a, mark);
    return worst;
}

/* Lanes there exit next, and wait for nobody before: who waits for them by the register of another join waits
 * no longer than that. */
static bool just_exits(const Reconv *reconv, uint32_t block) {
    if (!straight_to_exit(reconv, block))
        return false;
    for (; block; block = reconv->f->blocks.at[block].succs.n ? reconv->f->blocks.at[block].succs.at[0].i : 0)
        FOR_INSTS(reconv->f, (BlockId){block}, i)
            if (i->op != OT_EXIT &&
                (i->flags & (IF_SYNC | IF_CONVERGENT | IF_OBSERVING) || reconv_changes_active(i)))
                return false;
    return true;
}

static void give_register(const Numbering *numbering, Join *join, unsigned lowest) {
    Reconv *reconv = numbering->r;
    uint32_t taken = (1u << lowest) - 1;
    for (unsigned k = 0; k < join->in.n; k++)
        taken |= numbering->exits[join->in.at[k]] ? 0 : reconv->used_in[join->in.at[k]];
    for (unsigned k = 0; k < join->out.n; k++)
        taken |= numbering->exits[join->out.at[k]] ? 0 : reconv->used_out[join->out.at[k]];
    unsigned reg = (unsigned)__builtin_ctz(~taken);
    bool fits = reg < reconv->num_b;
    join->reg = (uint8_t)(fits ? reg : NUM_B);
    for (unsigned k = 0; fits && k < join->in.n; k++)
        reconv->used_in[join->in.at[k]] |= (uint16_t)(1u << reg);
    for (unsigned k = 0; fits && k < join->out.n; k++)
        reconv->used_out[join->out.at[k]] |= (uint16_t)(1u << reg);
}

/* Joins sorted so that all before a join in the order come earlier. */
static uint32_t *sorted_joins(Numbering *numbering) {
    uint32_t *at = ARENA_ARRAY(&numbering->a, uint32_t, numbering->ncomp + 1);
    for (uint32_t k = 0; k < numbering->r->joins.n; k++)
        at[numbering->ncomp - 1 - numbering->comp[k]] = k; /* successors' components have smaller numbers */
    return at;
}

/* Returns a join to give up before the next round, NO_JOIN when all live ones have registers. */
static uint32_t assign(Numbering *numbering, unsigned base, bool may_retry) {
    Reconv *reconv = numbering->r;
    uint32_t *sorted = sorted_joins(numbering);
    memset(reconv->used_in, 0, reconv->g.n * sizeof *reconv->used_in);
    memset(reconv->used_out, 0, reconv->g.n * sizeof *reconv->used_out);
    unsigned searches = 0, early = 0;
    for (uint32_t k = 0; k < reconv->joins.n; k++)
        early += may_give_up(reconv, k);
    for (uint32_t k = 0; k < reconv->joins.n; k++) {
        Join *join = &reconv->joins.at[sorted[k]];
        unsigned lowest = base;
        if (join->dropped)
            continue;
        GRAPH_PREDS(&numbering->graph, sorted[k], p) {
            const Join *before = &reconv->joins.at[*p];
            if (!before->dropped && before->reg + 1u > lowest)
                lowest = before->reg + 1u;
        }
        join->reg = NUM_B;
        if (lowest < reconv->num_b)
            give_register(numbering, join, lowest);
        if (join->reg < NUM_B)
            continue;
        bool search = may_retry && early && searches++ < MAX_SEARCHES;
        uint32_t worst = search ? worst_before(numbering, sorted[k]) : NO_JOIN;
        if (worst != NO_JOIN)
            return worst;
        drop(join, RJ_TOO_DEEP);
    }
    return NO_JOIN;
}

static void number_joins(Reconv *reconv, unsigned base, uint8_t *state) {
    bool *exits = ARENA_ARRAY(&reconv->a, bool, reconv->g.n);
    Numbering n = {.r = reconv, .state = state, .exits = exits};
    for (uint32_t k = 0; k < reconv->order.count && reconv->joins.n > 1; k++)
        exits[reconv->order.order[k]] = just_exits(reconv, reconv->order.order[k]);
    for (unsigned round = 0;; round++) {
        for (uint32_t k = 0; round == MAX_ROUNDS && k < reconv->joins.n; k++)
            if (reconv->joins.at[k].early.n)
                strip_early(reconv, &reconv->joins.at[k], RJ_TOO_DEEP, state);
        build_order(&n);
        ReconvReason why = RJ_ORDER;
        uint32_t worst = worst_in_cycle(&n);
        if (worst == NO_JOIN) {
            why = RJ_TOO_DEEP;
            worst = assign(&n, base, round < MAX_ROUNDS);
        }
        if (worst == NO_JOIN)
            break;
        if (reconv->joins.at[worst].early.n)
            strip_early(reconv, &reconv->joins.at[worst], why, state);
        else
            drop(&reconv->joins.at[worst], why);
    }
    arena_free(&n.a);
}

/* Joins near the end of the function first: when the lists get too long, the inner ones go without. */
static uint32_t *by_depth(Reconv *reconv) {
    uint32_t deepest = 0, n = reconv->joins.n, *list = ARENA_ARRAY(&reconv->a, uint32_t, n + 1);
    for (uint32_t k = 0; k < n; k++)
        if (reconv->pd.depth[reconv->joins.at[k].block] > deepest)
            deepest = reconv->pd.depth[reconv->joins.at[k].block];
    uint32_t *start = ARENA_ARRAY(&reconv->a, uint32_t, deepest + 2);
    for (uint32_t k = 0; k < n; k++)
        start[reconv->pd.depth[reconv->joins.at[k].block] + 1]++;
    for (uint32_t k = 1; k <= deepest; k++)
        start[k] += start[k - 1];
    for (uint32_t k = 0; k < n; k++)
        list[start[reconv->pd.depth[reconv->joins.at[k].block]]++] = k;
    return list;
}

void reconv_find_joins(Reconv *reconv, const uint32_t *join_of, const bool *divergent, unsigned base) {
    for (uint32_t n = 0; n < reconv->g.n; n++)
        reconv->join_at[n] = NO_JOIN;
    uint8_t *state = ARENA_ARRAY(&reconv->a, uint8_t, reconv->g.n);
    if (reconv->automatic) {
        reconv_place(reconv, join_of, divergent, base, state);
        number_joins(reconv, base, state);
        return;
    }
    find_late(reconv, join_of);
    reconv_find_early(reconv, divergent);
    uint32_t *list = by_depth(reconv);
    for (uint32_t k = 0; k < reconv->joins.n; k++) {
        const Join *join = &reconv->joins.at[list[k]];
        solve_join(reconv, &reconv->joins.at[list[k]], state);
        for (unsigned n = 0; n < join->out.n; n++) {
            uint8_t *depth = &reconv->depth[join->out.at[n]];
            *depth = (uint8_t)(*depth + (*depth < MOST_PENDING));
        }
    }
    number_joins(reconv, base, state);
}
