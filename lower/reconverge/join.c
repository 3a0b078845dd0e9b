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
    MAX_ROUNDS = 256,        /* of numbering; then all early branches are given up */
    MAX_SEARCHES = 64,       /* in one round, for an early join to give up */
    IS_IN = 1,
    IS_OUT = 2
};

static Join *add_join(Reconv *r, uint32_t block) {
    if (r->join_at[block] == NO_JOIN) {
        r->join_at[block] = r->joins.n;
        *VEC_PUSH(&r->a, &r->joins) = (Join){.block = block, .reg = NUM_B};
    }
    return &r->joins.at[r->join_at[block]];
}

static void drop(Join *j, ReconvReason why) {
    j->dropped = true;
    j->why = why;
    j->reg = NUM_B;
    j->in.n = j->out.n = j->breaks.n = 0;
}

/* ---- branches that the join post-dominates ---- */

/* A block outside every loop that holds `block` but not its join, from which BSSY serves all iterations. */
static uint32_t hoisted(const Reconv *r, uint32_t block, uint32_t join) {
    uint32_t outer = NO_NODE, pre = 0;
    for (uint32_t l = r->loops.innermost[block]; l != NO_NODE && !loop_contains(&r->loops, l, join);
         l = r->loops.at[l].parent)
        outer = l;
    if (outer == NO_NODE || r->loops.at[outer].irreducible)
        return block;
    GRAPH_PREDS(&r->g, r->loops.at[outer].header, p) {
        if (loop_contains(&r->loops, outer, *p))
            continue;
        if (pre && pre != *p)
            return block;
        pre = *p;
    }
    if (!pre || pre == join || !postdom_contains(&r->pd, join, pre))
        return block;
    uint32_t l = r->loops.innermost[pre], depth = l == NO_NODE ? 0 : r->loops.at[l].depth;
    return depth < r->loops.at[outer].depth ? pre : block;
}

static void find_late(Reconv *r, const uint32_t *join_of) {
    for (uint32_t k = 0; k < r->order.count; k++) {
        uint32_t b = r->order.order[k];
        if (!join_of[b])
            continue;
        Join *j = add_join(r, join_of[b]);
        uint32_t h = hoisted(r, b, j->block);
        j->ipdom = true;
        if (h != b)
            VEC_ADD(&r->a, &j->places, h);
        VEC_ADD(&r->a, &j->places, b);
    }
}

/* ---- early joins ---- */

static bool is_forward(const Reconv *r, uint32_t from, uint32_t to) {
    return r->order.index[from] < r->order.index[to];
}

/* Blocks where paths from different successors of b meet for the first time: each block carries the label of
 * the successor, or of the meeting block, that all its labelled forward predecessors come from. */
static void find_meetings(Reconv *r, uint32_t b, uint32_t *label) {
    memset(label, 0, r->g.n * sizeof *label);
    uint32_t first = r->order.count;
    GRAPH_SUCCS(&r->g, b, s) {
        label[*s] = *s;
        first = r->order.index[*s] < first ? r->order.index[*s] : first;
    }
    for (uint32_t k = first; k < r->order.count; k++) {
        uint32_t n = r->order.order[k];
        if (!n)
            continue;
        bool meets = false;
        GRAPH_PREDS(&r->g, n, p) {
            if (r->order.index[*p] == NO_NODE || !is_forward(r, *p, n) || !label[*p] || label[*p] == label[n])
                continue;
            meets |= label[n] != 0;
            label[n] = meets ? n : label[*p];
        }
        if (meets && n != r->pd.ipdom[b] && r->g.pred_at[n + 1] - r->g.pred_at[n] > 1 &&
            !reconv_only_exits(r->f, n)) {
            Join *j = add_join(r, n);
            VEC_ADD(&r->a, &j->early, b);
        }
    }
}

static void find_early(Reconv *r, const bool *divergent) {
    if (r->no_early || r->g.n > MAX_EARLY_BLOCKS)
        return;
    uint32_t *label = ARENA_ARRAY(&r->a, uint32_t, r->g.n);
    for (uint32_t k = 0; k < r->order.count; k++)
        if (divergent[r->order.order[k]])
            find_meetings(r, r->order.order[k], label);
}

/* Instructions from the join up to its own post-dominator: what is issued once less often. */
static int64_t body_size(Reconv *r, uint32_t block) {
    uint32_t top = 0, end = r->pd.ipdom[block], round = ++r->round;
    int64_t size = 0;
    r->stack[top++] = block;
    r->mark[block] = round;
    while (top && size < 1 << 20) {
        uint32_t n = r->stack[--top];
        size += ir_block(r->f, (BlockId){n})->insts.n;
        GRAPH_SUCCS(&r->g, n, s)
        if (*s && *s != end && r->mark[*s] != round && is_forward(r, n, *s)) {
            r->mark[*s] = round;
            r->stack[top++] = *s;
        }
    }
    return size;
}

/* ---- where lanes are pending ---- */

/* Marks the blocks that reach the join: by any path if it is a post-dominator, else without retreating edges.
 */
static uint32_t mark_reaching(Reconv *r, const Join *j) {
    uint32_t top = 0, round = ++r->round;
    r->stack[top++] = j->block;
    r->mark[j->block] = round;
    while (top) {
        uint32_t n = r->stack[--top];
        GRAPH_PREDS(&r->g, n, p)
        if (r->order.index[*p] != NO_NODE && r->mark[*p] != round && (j->ipdom || is_forward(r, *p, n))) {
            r->mark[*p] = round;
            r->stack[top++] = *p;
        }
    }
    return round;
}

/* Lanes that go to `to` never pass the join. Where they only come to an EXIT, the EXIT takes them out of it.
 */
static bool needs_break(const Reconv *r, const Join *j, uint32_t to) {
    if (j->early.n)
        return true;
    uint32_t sink = r->pd.sink[r->pd.region[to]];
    return !sink || r->f->blocks.at[sink].succs.n > 0;
}

static void add_break(Reconv *r, Join *j, uint32_t from, uint32_t to) {
    for (unsigned k = j->breaks.n; k-- > 0 && j->breaks.at[k].from == from;)
        if (j->breaks.at[k].to == to)
            return;
    *VEC_PUSH(&r->a, &j->breaks) = (GraphEdge){from, to};
}

/* Fills in, out and breaks. False: a return could not be kept out. */
static bool walk_pending(Reconv *r, Join *j, uint8_t *state) {
    uint32_t round = mark_reaching(r, j), done = 0;
    bool good = true;
    j->in.n = j->out.n = j->breaks.n = 0;
    for (unsigned k = 0; k < j->places.n + j->early.n; k++) {
        uint32_t b = k < j->places.n ? j->places.at[k] : j->early.at[k - j->places.n];
        if (!(state[b] & IS_OUT))
            VEC_ADD(&r->a, &j->out, b);
        state[b] |= IS_OUT;
    }
    while (done < j->out.n && good) {
        uint32_t u = j->out.at[done++];
        GRAPH_SUCCS(&r->g, u, s) {
            uint32_t v = *s;
            if (v != j->block && r->mark[v] != round && needs_break(r, j, v)) {
                good &= v != 0;
                add_break(r, j, u, v);
                continue;
            }
            if (!(state[v] & IS_IN))
                VEC_ADD(&r->a, &j->in, v);
            if (v != j->block && !(state[v] & IS_OUT))
                VEC_ADD(&r->a, &j->out, v);
            state[v] |= v != j->block ? IS_IN | IS_OUT : IS_IN;
        }
        good &= r->entries + j->in.n + j->out.n < MAX_ENTRIES;
    }
    for (unsigned k = 0; k < j->out.n; k++)
        state[j->out.at[k]] = 0;
    for (unsigned k = 0; k < j->in.n; k++)
        state[j->in.at[k]] = 0;
    if (good)
        r->entries += j->in.n + j->out.n;
    return good;
}

/* Give up the branches that the join does not post-dominate, and the join if there are no others. */
static void strip_early(Reconv *r, Join *j, ReconvReason why, uint8_t *state) {
    j->early.n = 0;
    r->entries -= j->in.n + j->out.n;
    if (!j->ipdom)
        drop(j, why);
    else if (!walk_pending(r, j, state))
        drop(j, RJ_TOO_DEEP);
}

static void solve_join(Reconv *r, Join *j, uint8_t *state) {
    if (!walk_pending(r, j, state)) {
        if (!j->early.n) {
            drop(j, RJ_TOO_DEEP);
            return;
        }
        j->in.n = j->out.n = 0;
        strip_early(r, j, RJ_TOO_DEEP, state);
    }
    if (!j->early.n)
        return;
    int64_t cost = (int64_t)j->early.n + j->breaks.n + 1;
    j->profit = body_size(r, j->block) / 2 - cost;
    if (!r->all_early && j->profit <= 0)
        strip_early(r, j, RJ_NO_PROFIT, state);
}

/* ---- register numbers ---- */

typedef struct {
    Reconv *r;
    Graph graph; /* over joins: p -> k, a lane at the BSYNC of k may be pending in p */
    uint32_t *comp, *comp_size, ncomp;
    uint8_t *state;
    Arena a; /* of one round */
} Numbering;

static void build_order(Numbering *n) {
    Reconv *r = n->r;
    VEC(GraphEdge) edges = {0};
    arena_free(&n->a);
    for (uint32_t p = 0; p < r->joins.n; p++)
        for (unsigned k = 0; k < r->joins.at[p].in.n; k++) {
            uint32_t at = r->join_at[r->joins.at[p].in.at[k]];
            if (at != NO_JOIN && at != p && !r->joins.at[at].dropped)
                *VEC_PUSH(&n->a, &edges) = (GraphEdge){p, at};
        }
    n->graph = graph_new(&n->a, r->joins.n, edges.at, edges.n);
    n->comp = ARENA_ARRAY(&n->a, uint32_t, r->joins.n + 1);
    n->ncomp = graph_scc(&n->a, &n->graph, NULL, n->comp);
    n->comp_size = ARENA_ARRAY(&n->a, uint32_t, n->ncomp + 1);
    for (uint32_t k = 0; k < r->joins.n; k++)
        n->comp_size[n->comp[k]]++;
}

/* The join to give up among those of cycles, NO_JOIN if there are no cycles. */
static uint32_t worst_in_cycle(const Numbering *n) {
    const Reconv *r = n->r;
    uint32_t worst = NO_JOIN;
    for (uint32_t k = 0; k < r->joins.n; k++) {
        const Join *j = &r->joins.at[k];
        if (n->comp_size[n->comp[k]] < 2)
            continue;
        if (worst == NO_JOIN || (j->early.n && !r->joins.at[worst].early.n) ||
            (!j->early.n == !r->joins.at[worst].early.n && j->profit < r->joins.at[worst].profit))
            worst = k;
    }
    return worst;
}

/* Early join with the least profit among k and those before it in the order, NO_JOIN if there is none. */
static uint32_t worst_before(Numbering *n, uint32_t k) {
    const Reconv *r = n->r;
    ArenaMark mark = arena_mark(&n->a);
    uint8_t *seen = ARENA_ARRAY(&n->a, uint8_t, r->joins.n);
    uint32_t *stack = ARENA_ARRAY(&n->a, uint32_t, r->joins.n + 1), top = 0, worst = NO_JOIN;
    stack[top++] = k;
    seen[k] = 1;
    while (top) {
        uint32_t j = stack[--top];
        if (r->joins.at[j].early.n && (worst == NO_JOIN || r->joins.at[j].profit < r->joins.at[worst].profit))
            worst = j;
        GRAPH_PREDS(&n->graph, j, p)
        if (!seen[*p])
            seen[*p] = 1, stack[top++] = *p;
    }
    arena_release(&n->a, mark);
    return worst;
}

static void give_register(Reconv *r, Join *j, unsigned lowest) {
    uint32_t taken = (1u << lowest) - 1;
    for (unsigned k = 0; k < j->in.n; k++)
        taken |= r->used_in[j->in.at[k]];
    for (unsigned k = 0; k < j->out.n; k++)
        taken |= r->used_out[j->out.at[k]];
    unsigned reg = (unsigned)__builtin_ctz(~taken);
    j->reg = (uint8_t)(reg < NUM_B ? reg : NUM_B);
    for (unsigned k = 0; reg < NUM_B && k < j->in.n; k++)
        r->used_in[j->in.at[k]] |= (uint16_t)(1u << reg);
    for (unsigned k = 0; reg < NUM_B && k < j->out.n; k++)
        r->used_out[j->out.at[k]] |= (uint16_t)(1u << reg);
}

/* Joins sorted so that all before a join in the order come earlier. */
static uint32_t *sorted_joins(Numbering *n) {
    uint32_t *at = ARENA_ARRAY(&n->a, uint32_t, n->ncomp + 1);
    for (uint32_t k = 0; k < n->r->joins.n; k++)
        at[n->ncomp - 1 - n->comp[k]] = k; /* successors' components have smaller numbers */
    return at;
}

/* Returns a join to give up before the next round, NO_JOIN when all live ones have registers. */
static uint32_t assign(Numbering *n, unsigned base, bool may_retry) {
    Reconv *r = n->r;
    uint32_t *sorted = sorted_joins(n);
    memset(r->used_in, 0, r->g.n * sizeof *r->used_in);
    memset(r->used_out, 0, r->g.n * sizeof *r->used_out);
    unsigned searches = 0, early = 0;
    for (uint32_t k = 0; k < r->joins.n; k++)
        early += r->joins.at[k].early.n > 0;
    for (uint32_t k = 0; k < r->joins.n; k++) {
        Join *j = &r->joins.at[sorted[k]];
        unsigned lowest = base;
        if (j->dropped)
            continue;
        GRAPH_PREDS(&n->graph, sorted[k], p) {
            const Join *before = &r->joins.at[*p];
            if (!before->dropped && before->reg + 1u > lowest)
                lowest = before->reg + 1u;
        }
        j->reg = NUM_B;
        if (lowest < NUM_B)
            give_register(r, j, lowest);
        if (j->reg < NUM_B)
            continue;
        bool search = may_retry && early && searches++ < MAX_SEARCHES;
        uint32_t worst = search ? worst_before(n, sorted[k]) : NO_JOIN;
        if (worst != NO_JOIN)
            return worst;
        drop(j, RJ_TOO_DEEP);
    }
    return NO_JOIN;
}

static void number_joins(Reconv *r, unsigned base, uint8_t *state) {
    Numbering n = {.r = r, .state = state};
    for (unsigned round = 0;; round++) {
        for (uint32_t k = 0; round == MAX_ROUNDS && k < r->joins.n; k++)
            if (r->joins.at[k].early.n)
                strip_early(r, &r->joins.at[k], RJ_TOO_DEEP, state);
        build_order(&n);
        ReconvReason why = RJ_ORDER;
        uint32_t worst = worst_in_cycle(&n);
        if (worst == NO_JOIN) {
            why = RJ_TOO_DEEP;
            worst = assign(&n, base, round < MAX_ROUNDS);
        }
        if (worst == NO_JOIN)
            break;
        if (r->joins.at[worst].early.n)
            strip_early(r, &r->joins.at[worst], why, state);
        else
            drop(&r->joins.at[worst], why);
    }
    arena_free(&n.a);
}

/* Joins near the end of the function first: when the lists get too long, the inner ones go without. */
static uint32_t *by_depth(Reconv *r) {
    uint32_t deepest = 0, n = r->joins.n, *list = ARENA_ARRAY(&r->a, uint32_t, n + 1);
    for (uint32_t k = 0; k < n; k++)
        if (r->pd.depth[r->joins.at[k].block] > deepest)
            deepest = r->pd.depth[r->joins.at[k].block];
    uint32_t *start = ARENA_ARRAY(&r->a, uint32_t, deepest + 2);
    for (uint32_t k = 0; k < n; k++)
        start[r->pd.depth[r->joins.at[k].block] + 1]++;
    for (uint32_t k = 1; k <= deepest; k++)
        start[k] += start[k - 1];
    for (uint32_t k = 0; k < n; k++)
        list[start[r->pd.depth[r->joins.at[k].block]]++] = k;
    return list;
}

void reconv_find_joins(Reconv *r, const uint32_t *join_of, const bool *divergent, unsigned base) {
    for (uint32_t n = 0; n < r->g.n; n++)
        r->join_at[n] = NO_JOIN;
    find_late(r, join_of);
    find_early(r, divergent);
    uint8_t *state = ARENA_ARRAY(&r->a, uint8_t, r->g.n);
    uint32_t *list = by_depth(r);
    for (uint32_t k = 0; k < r->joins.n; k++)
        solve_join(r, &r->joins.at[list[k]], state);
    number_joins(r, base, state);
}
