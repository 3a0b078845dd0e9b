/* What follows from a divergent branch b. Let J be its immediate post-dominator (dead ends left aside:
 * ir/cfg.h), and R the blocks that its sides reach before J.
 *
 *   flow    Some lanes may not come to the blocks of R. R is what depends on b for control, directly or
 * through other blocks: of each block in it, and of b, the blocks on the way in the tree of post-dominators
 * from a successor up to the block's own post-dominator. Which branch swept over a block does not matter, so
 * the sweep skips what was swept over before (`sweep`): near linear for all branches together. joins   Phis
 * take different values at J, and in R where two sides come to: the inner part of b. It is closed: what its
 * blocks reach before J belongs to it. Hence a branch that stands in the inner part of another has nothing to
 * add, and a walk that comes to such a part goes on behind it (`beyond`). The sides are walked in turn, block
 * by block, and when all but one have come to their ends the last one goes on only while a block of the
 * others may still turn out to be inner: a short side makes for a short walk, however long the other. loops
 * If J lies outside a loop around b, lanes leave the loop in different iterations: what is defined inside and
 *           used outside is divergent there. A segment tree over the values that leave loops finds those of
 * one loop that are not marked yet. If J lies inside, lanes may still leave before J: to a dead end, or round
 * an outer loop that has no other way out than through this one again. Loops with such an exit are
 * `odd_exit`, with such an exit whose values are used there `odd_use`; only for them R is walked as a whole.
 *           Irreducible loops are given up as wholes.
 *
 * SPDX-License-Identifier: MIT */
#include "lower/uniform.h"
#include <string.h>

#define NO_LOOP(divergence) ((divergence)->loops.n) /* stands behind all loops in the arrays over them */
enum { MAX_SIDES = 4, COUNTED = 8 };

static void count_step(Divergence *divergence) { ++*divergence->steps; }
static bool many_preds(const Divergence *divergence, uint32_t block) {
    return divergence->f->blocks.at[block].preds.n > 1;
}

/* ---- what does not depend on what is divergent ---- */

/* Does a phi of the block have two different sources? Only then does it matter where lanes come from. */
static bool tells_apart(const Divergence *divergence, uint32_t block) {
    FOR_PHIS(divergence->f, (BlockId){block}, phi)
        if (uniform_phi_chooses(divergence->f, phi))
            return true;
    return false;
}

bool uniform_phi_chooses(Function *f, const Inst *phi) {
    for (unsigned k = 1; k < phi->nsrc; k++)
        if (memcmp(ir_src(f, phi, 0), ir_src(f, phi, k), sizeof(Operand)) != 0)
            return true;
    return false;
}

/* by_loop, loop_at */
static void sort_by_loop(Divergence *divergence) {
    uint32_t n = divergence->loops.n;
    divergence->loop_at = graph_numbers(divergence->a, n + 2, 0);
    for (uint32_t b = 1; b < divergence->g.n; b++)
        if (divergence->loops.innermost[b] != NO_NODE)
            divergence->loop_at[divergence->loops.at[divergence->loops.innermost[b]].in + 2]++;
    for (uint32_t k = 2; k < n + 2; k++)
        divergence->loop_at[k] += divergence->loop_at[k - 1];
    divergence->by_loop = graph_numbers(divergence->a, divergence->loop_at[n + 1], 0);
    for (uint32_t b = 1; b < divergence->g.n; b++)
        if (divergence->loops.innermost[b] != NO_NODE)
            divergence->by_loop[divergence->loop_at[divergence->loops.at[divergence->loops.innermost[b]].in +
                                                    1]++] = b;
}

/* The depth of the innermost loop that holds both; seen from `outside`, which mostly lies in few loops. */
static uint32_t common_depth(const Divergence *divergence, uint32_t outside, uint32_t inside) {
    uint32_t l = divergence->loops.innermost[outside];
    while (l != NO_NODE && !loop_contains(&divergence->loops, l, inside))
        l = divergence->loops.at[l].parent;
    return l == NO_NODE ? 0 : divergence->loops.at[l].depth;
}

/* Something leads from block `from` out of loops to `to`: note in which of them it is odd. path: [depth] the
 * loops around `from`. Only loops with the header on all ways on from `to` are odd for a `to` of the same
 * region; if an inner one is, so are the outer ones. */
static void note_odd(const Divergence *divergence, uint32_t from, uint32_t to, uint32_t depth,
                     const uint32_t *path, bool *round, uint32_t *dead_end) {
    uint32_t home = divergence->loops.innermost[from];
    if (divergence->pd.region[from] != divergence->pd.region[to]) {
        dead_end[home] = dead_end[home] < depth ? dead_end[home] : depth;
        return;
    }
    for (uint32_t d = depth + 1; d <= divergence->loops.at[home].depth &&
                                 postdom_contains(&divergence->pd, divergence->loops.at[path[d]].header, to);
         d++)
        round[path[d]] = true;
}

typedef struct {
    VEC(Leaving) leaving;
    uint32_t *path;
    uint32_t *dead_exit, *dead_use; /* [loop] the depth to which a dead end leads out of it, at least */
} Shape;

static void note_uses(Divergence *divergence, Shape *shape, uint32_t home, uint32_t value) {
    uint32_t own = divergence->loops.at[divergence->loops.innermost[home]].depth, lowest = own;
    for (uint32_t k = divergence->uses->user_at[value]; k < divergence->uses->user_at[value + 1]; k++) {
        uint32_t at = divergence->uses->inst_block[divergence->uses->users[k]];
        count_step(divergence);
        if (at == home || loop_contains(&divergence->loops, divergence->loops.innermost[home], at))
            continue;
        uint32_t depth = common_depth(divergence, at, home);
        lowest = lowest < depth ? lowest : depth;
        note_odd(divergence, home, at, depth, shape->path, divergence->odd_use, shape->dead_use);
    }
    if (lowest < own)
        VEC_ADD(divergence->a, &shape->leaving, ((Leaving){value, lowest}));
}

static void note_block(Divergence *divergence, Shape *shape, uint32_t block) {
    uint32_t own = divergence->loops.innermost[block];
    GRAPH_SUCCS(&divergence->g, block, s)
        if (*s && !loop_contains(&divergence->loops, own, *s))
            note_odd(divergence, block, *s, common_depth(divergence, *s, block), shape->path,
                     divergence->round_exit, shape->dead_exit);
    FOR_INSTS(divergence->f, (BlockId){block}, i)
        FOR_DSTS(divergence->f, i, dst)
            for (unsigned e = 0; dst->kind == OPK_VAL && e < dst->count; e++)
                if (ir_operand_value(divergence->f, *dst, e).i)
                    note_uses(divergence, shape, block, ir_operand_value(divergence->f, *dst, e).i);
}

static uint32_t build_tree(Divergence *divergence, uint32_t node, uint32_t from, uint32_t to) {
    if (to - from == 1)
        return divergence->lowest[node] = divergence->leaving[from].depth;
    uint32_t mid = from + (to - from) / 2, x = build_tree(divergence, 2 * node, from, mid),
             y = build_tree(divergence, 2 * node + 1, mid, to);
    return divergence->lowest[node] = x < y ? x : y;
}

static void find_leaving_values(Divergence *divergence) {
    uint32_t n = divergence->loops.n, nblocks = divergence->loop_at[n];
    Shape shape = {.path = graph_numbers(divergence->a, n + 2, 0)};
    shape.dead_exit = graph_numbers(divergence->a, n, NO_NODE);
    shape.dead_use = graph_numbers(divergence->a, n, NO_NODE);
    divergence->leaving_at = graph_numbers(divergence->a, nblocks + 1, 0);
    for (uint32_t k = 0; k < nblocks; k++) {
        uint32_t l = divergence->loops.innermost[divergence->by_loop[k]];
        for (uint32_t up = l; up != NO_NODE && shape.path[divergence->loops.at[up].depth] != up;
             up = divergence->loops.at[up].parent)
            shape.path[divergence->loops.at[up].depth] = up;
        note_block(divergence, &shape, divergence->by_loop[k]);
        divergence->leaving_at[k + 1] = shape.leaving.n;
    }
    for (uint32_t l = n; l-- > 0;) { /* inner loops stand behind outer ones */
        const Loop *loop = &divergence->loops.at[l];
        divergence->odd_exit[l] = divergence->round_exit[l] || shape.dead_exit[l] < loop->depth;
        divergence->odd_use[l] |= shape.dead_use[l] < loop->depth;
        if (loop->parent == NO_NODE)
            continue;
        uint32_t *exit = &shape.dead_exit[loop->parent], *use = &shape.dead_use[loop->parent];
        *exit = *exit < shape.dead_exit[l] ? *exit : shape.dead_exit[l];
        *use = *use < shape.dead_use[l] ? *use : shape.dead_use[l];
    }
    for (uint32_t l = 0; l < n; l++) {
        uint32_t up = divergence->loops.at[l].parent;
        divergence->outermost[l] = up == NO_NODE ? l : divergence->outermost[up];
        divergence->irreducible_above[l] =
            up != NO_NODE && (divergence->loops.at[up].irreducible || divergence->irreducible_above[up]);
        divergence->odd_use[l] |= up != NO_NODE && divergence->odd_use[up];
    }
    divergence->leaving = shape.leaving.at;
    divergence->nleaving = shape.leaving.n;
    divergence->lowest = graph_numbers(divergence->a, 4 * divergence->nleaving + 4, UINT32_MAX);
    if (divergence->nleaving)
        build_tree(divergence, 1, 0, divergence->nleaving);
}

/* Of all blocks that lead back to the header of each loop, the nearest block that dominates them. */
static void find_latches(Divergence *divergence) {
    DomTree t = dom_tree(divergence->a, &divergence->g, GRAPH_FORWARD, divergence->f->entry.i);
    divergence->latch_dom = graph_numbers(divergence->a, divergence->loops.n, NO_NODE);
    for (uint32_t l = 0; l < divergence->loops.n; l++)
        GRAPH_PREDS(&divergence->g, divergence->loops.at[l].header, p)
            if (loop_contains(&divergence->loops, l, *p))
                divergence->latch_dom[l] =
                    divergence->latch_dom[l] == NO_NODE ? *p : dom_common(&t, divergence->latch_dom[l], *p);
    divergence->dom = t;
}

static uint32_t *each_itself(Arena *a, uint32_t n) {
    uint32_t *parent = graph_numbers(a, n, 0);
    for (uint32_t k = 0; k < n; k++)
        parent[k] = k;
    return parent;
}

void uniform_control_start(Divergence *control, Arena *a, Function *f, const UniUses *uses, uint64_t *steps) {
    *control = (Divergence){.a = a, .f = f, .uses = uses, .steps = steps};
    Divergence *divergence = control;
    divergence->g = cfg_graph(a, f);
    divergence->pd = cfg_post_dominators(a, f, &divergence->g, f->entry.i);
    divergence->loops = loop_forest(a, &divergence->g, f->entry.i);
    uint32_t n = divergence->g.n, nloops = divergence->loops.n;
    bool **flags[] = {&divergence->branch_done, &divergence->joined, &divergence->flow,
                      &divergence->behind_return, &divergence->is_candidate};
    for (unsigned k = 0; k < sizeof flags / sizeof *flags; k++)
        *flags[k] = ARENA_ARRAY(a, bool, n);
    bool **of_loops[] = {&divergence->round_exit, &divergence->odd_exit, &divergence->odd_use,
                         &divergence->irreducible_above};
    for (unsigned k = 0; k < sizeof of_loops / sizeof *of_loops; k++)
        *of_loops[k] = ARENA_ARRAY(a, bool, nloops + 1);
    divergence->sweep = each_itself(a, n);
    divergence->beyond = graph_numbers(a, n, NO_NODE);
    divergence->owner = graph_numbers(a, n, 0);
    divergence->seen_in = graph_numbers(a, n, 0);
    divergence->todo = graph_numbers(a, (MAX_SIDES + 1) * n + divergence->g.succ_at[n], 0);
    divergence->walked = graph_numbers(a, n, 0);
    divergence->path = graph_numbers(a, nloops + 2, 0);
    divergence->unflagged = each_itself(a, nloops + 1);
    divergence->unspoilt = each_itself(a, nloops + 1);
    divergence->outermost = graph_numbers(a, nloops, NO_NODE);
    for (uint32_t b = 1; b < n; b++)
        divergence->is_candidate[b] = many_preds(divergence, b) && tells_apart(divergence, b);
    sort_by_loop(divergence);
    divergence->irreducible_next = each_itself(a, divergence->loop_at[nloops] + 1);
    find_leaving_values(divergence);
    find_latches(divergence);
}

/* ---- answers ---- */

static void add_join(Divergence *divergence, uint32_t block) {
    if (divergence->joined[block])
        return;
    divergence->joined[block] = true;
    VEC_ADD(divergence->a, &divergence->joins, block);
}

static void add_flow(Divergence *divergence, uint32_t block) {
    if (divergence->flow[block])
        return;
    divergence->flow[block] = true;
    VEC_ADD(divergence->a, &divergence->flows, block);
}

/* ---- flow ---- */

/* From s up to `stop` (0: to the end), which is not swept over. */
static void sweep_up(Divergence *divergence, uint32_t s, uint32_t stop, uint32_t *top) {
    const PostDom *pd = &divergence->pd;
    for (uint32_t n = graph_find(divergence->sweep, s); n; n = graph_find(divergence->sweep, n)) {
        if (stop && pd->region[n] == pd->region[stop] && pd->depth[n] <= pd->depth[stop])
            return;
        count_step(divergence);
        divergence->sweep[n] = pd->ipdom[n];
        add_flow(divergence, n);
        divergence->todo[(*top)++] = n;
    }
}

static void sweep(Divergence *divergence, uint32_t branch) {
    uint32_t top = 0;
    for (uint32_t n = branch;; n = divergence->todo[--top]) {
        GRAPH_SUCCS(&divergence->g, n, s) {
            count_step(divergence);
            if (*s)
                sweep_up(divergence, *s, divergence->pd.ipdom[n], &top);
        }
        if (!top)
            return;
    }
}

void uniform_return_early(Divergence *divergence, uint32_t block) {
    uint32_t top = 0;
    if (divergence->behind_return[block])
        return;
    divergence->behind_return[block] = true;
    divergence->todo[top++] = block;
    while (top) {
        uint32_t n = divergence->todo[--top];
        add_flow(divergence, n);
        GRAPH_SUCCS(&divergence->g, n, s) {
            count_step(divergence);
            if (!*s || divergence->behind_return[*s])
                continue;
            divergence->behind_return[*s] = true;
            divergence->todo[top++] = *s;
        }
    }
}

/* ---- joins ---- */

typedef struct {
    Divergence *divergence;
    uint32_t join;
    unsigned n;                  /* sides */
    uint32_t top[MAX_SIDES];     /* of their stacks in Divergence.todo */
    uint32_t waiting[MAX_SIDES]; /* candidates that only this side has come to */
} Sides;

/* Where a walk that is to end at `join` goes on when it comes to n: at n, or behind the inner part that it is
 * in; 0 if nothing is left. */
static uint32_t behind_inner(const Divergence *divergence, uint32_t n, uint32_t join) {
    const PostDom *pd = &divergence->pd;
    while (n && n != join && divergence->beyond[n] != NO_NODE) {
        uint32_t next = divergence->beyond[n];
        bool dead_end = !next || pd->region[next] != pd->region[n];
        bool above =
            !dead_end && join && pd->region[join] == pd->region[n] && pd->depth[next] <= pd->depth[join];
        n = dead_end || above ? 0 : next;
    }
    return n == join ? 0 : n;
}

/* Block n and all that it leads to before the join are inner. */
static void close_inner(Divergence *divergence, Sides *sides, uint32_t n) {
    uint32_t *stack = divergence->todo + MAX_SIDES * divergence->g.n, top = 0; /* behind those of the sides */
    for (stack[top++] = n; top;) {
        uint32_t from = stack[--top], at = behind_inner(divergence, from, sides->join);
        if (!at)
            continue;
        divergence->beyond[from] = divergence->beyond[at] = sides->join;
        if (many_preds(divergence, at))
            add_join(divergence, at);
        if (divergence->seen_in[at] == divergence->round && divergence->owner[at] & COUNTED)
            sides->waiting[divergence->owner[at] & ~(uint32_t)COUNTED]--;
        GRAPH_SUCCS(&divergence->g, at, s) {
            count_step(divergence);
            if (*s && *s != sides->join && divergence->beyond[*s] != sides->join)
                stack[top++] = *s;
        }
    }
}

static void come_to(Sides *sides, unsigned side, uint32_t block) {
    Divergence *divergence = sides->divergence;
    uint32_t n = behind_inner(divergence, block, sides->join);
    count_step(divergence);
    if (!n)
        return;
    if (divergence->seen_in[n] == divergence->round) {
        if ((divergence->owner[n] & ~(uint32_t)COUNTED) != side)
            close_inner(divergence, sides, n);
        return;
    }
    divergence->seen_in[n] = divergence->round;
    bool counts = divergence->is_candidate[n] && !divergence->joined[n];
    divergence->owner[n] = side | (counts ? COUNTED : 0);
    sides->waiting[side] += counts;
    divergence->todo[side * divergence->g.n + sides->top[side]++] = n;
}

static void walk_sides(Sides *sides) {
    Divergence *divergence = sides->divergence;
    for (;;) {
        unsigned running = 0, waiting = 0;
        for (unsigned k = 0; k < sides->n; k++) {
            running += sides->top[k] != 0;
            waiting += sides->top[k] == 0 ? sides->waiting[k] : 0;
        }
        if (!running || (running == 1 && !waiting))
            return;
        for (unsigned k = 0; k < sides->n; k++) {
            if (!sides->top[k])
                continue;
            uint32_t n = divergence->todo[k * divergence->g.n + --sides->top[k]];
            GRAPH_SUCCS(&divergence->g, n, s)
                if (*s)
                    come_to(sides, k, *s);
        }
    }
}

static void find_joins(Divergence *divergence, uint32_t branch) {
    const Block *b = &divergence->f->blocks.at[branch];
    Sides sides = {.divergence = divergence, .join = divergence->pd.ipdom[branch]};
    if (sides.join && many_preds(divergence, sides.join))
        add_join(divergence, sides.join);
    if (divergence->beyond[branch] != NO_NODE)
        return;
    divergence->round++;
    if (b->succs.n > MAX_SIDES) { /* then every meeting point inside counts */
        for (unsigned k = 0; k < b->succs.n; k++)
            close_inner(divergence, &sides, b->succs.at[k].i);
        return;
    }
    uint32_t first[MAX_SIDES];
    for (unsigned k = 0; k < b->succs.n; k++) {
        bool again = b->succs.at[k].i == sides.join;
        for (unsigned j = 0; j < sides.n; j++) /* parallel edges are one side */
            again |= first[j] == b->succs.at[k].i;
        if (!again)
            first[sides.n++] = b->succs.at[k].i;
    }
    if (sides.n < 2)
        return;
    for (unsigned k = 0; k < sides.n; k++)
        come_to(&sides, k, first[k]);
    walk_sides(&sides);
}

/* ---- loops ---- */

/* Values that the instruction in block `home` defines and that are used in other blocks; with outside_region
 * only those used outside the region that was walked last. */
static void leave_where(Divergence *divergence, const Inst *i, uint32_t home, bool outside_region) {
    FOR_DSTS(divergence->f, i, dst) {
        for (unsigned e = 0; dst->kind == OPK_VAL && e < dst->count; e++) {
            uint32_t v = ir_operand_value(divergence->f, *dst, e).i;
            bool leaves = false;
            for (uint32_t k = divergence->uses->user_at[v];
                 v && k < divergence->uses->user_at[v + 1] && !leaves; k++) {
                uint32_t at = divergence->uses->inst_block[divergence->uses->users[k]];
                count_step(divergence);
                leaves = at != home && !(outside_region && divergence->seen_in[at] == divergence->round);
            }
            if (leaves)
                VEC_ADD(divergence->a, &divergence->leaves, v);
        }
    }
}

/* What leaves the blocks of an irreducible loop, and its phis: nothing is known of iterations there. */
static void give_up_loop(Divergence *divergence, uint32_t loop) {
    const Loop *l = &divergence->loops.at[loop];
    uint32_t end = divergence->loop_at[l->out];
    for (uint32_t k = graph_find(divergence->irreducible_next, divergence->loop_at[l->in]); k < end;
         k = graph_find(divergence->irreducible_next, k)) {
        uint32_t n = divergence->by_loop[k];
        divergence->irreducible_next[k] = k + 1;
        add_join(divergence, n);
        FOR_INSTS(divergence->f, (BlockId){n}, i)
            leave_where(divergence, i, n, false);
    }
}

/* Take the values of leaving[first .. last - 1] that leave a loop of that depth out of the tree, whose part
 * for leaving[from .. to - 1] is `node`. */
static void take_out(Divergence *divergence, uint32_t node, uint32_t from, uint32_t to, uint32_t first,
                     uint32_t last, uint32_t depth) {
    if (from >= last || to <= first || divergence->lowest[node] >= depth)
        return;
    count_step(divergence);
    if (to - from == 1) {
        VEC_ADD(divergence->a, &divergence->leaves, divergence->leaving[from].value);
        divergence->lowest[node] = UINT32_MAX;
        return;
    }
    uint32_t mid = from + (to - from) / 2;
    take_out(divergence, 2 * node, from, mid, first, last, depth);
    take_out(divergence, 2 * node + 1, mid, to, first, last, depth);
    uint32_t x = divergence->lowest[2 * node], y = divergence->lowest[2 * node + 1];
    divergence->lowest[node] = x < y ? x : y;
}

/* Lanes leave the loop in different iterations. */
static void leave_loop(Divergence *divergence, uint32_t loop) {
    const Loop *l = &divergence->loops.at[loop];
    if (divergence->nleaving)
        take_out(divergence, 1, 0, divergence->nleaving, divergence->leaving_at[divergence->loop_at[l->in]],
                 divergence->leaving_at[divergence->loop_at[l->out]], l->depth);
}

/* All blocks of R: todo[0 .. that - 1]. */
static uint32_t walk_region(Divergence *divergence, uint32_t branch, uint32_t join) {
    uint32_t count = 0;
    divergence->round++;
    for (uint32_t k = NO_NODE; k == NO_NODE || k < count; k++) {
        uint32_t n = k == NO_NODE ? branch : divergence->todo[k];
        GRAPH_SUCCS(&divergence->g, n, s) {
            count_step(divergence);
            if (!*s || *s == join || divergence->seen_in[*s] == divergence->round)
                continue;
            divergence->seen_in[*s] = divergence->round;
            divergence->todo[count++] = *s;
        }
    }
    return count;
}

/* Values of the loop that are used in `block`, outside of it. */
static void leave_to(Divergence *divergence, uint32_t loop, uint32_t block) {
    FOR_INSTS(divergence->f, (BlockId){block}, i) {
        FOR_READS(divergence->f, i, read) {
            for (unsigned e = 0; read->kind == OPK_VAL && e < read->count; e++) {
                uint32_t v = ir_operand_value(divergence->f, *read, e).i;
                InstId def = ir_value(divergence->f, (ValId){v})->def;
                count_step(divergence);
                if (def.i && divergence->uses->inst_block[def.i] &&
                    loop_contains(&divergence->loops, loop, divergence->uses->inst_block[def.i]))
                    VEC_ADD(divergence->a, &divergence->leaves, v);
            }
        }
    }
}

/* What R has outside of `loop`, which holds branch and join. Returns the depth of the innermost loop around
 * all of R and `loop`. */
static uint32_t leave_region(Divergence *divergence, uint32_t loop, uint32_t count) {
    uint32_t own = divergence->loops.at[loop].depth, lowest = own,
             *path = graph_numbers(divergence->a, own + 1, 0);
    for (uint32_t l = loop; l != NO_NODE; l = divergence->loops.at[l].parent)
        path[divergence->loops.at[l].depth] = l;
    for (uint32_t k = 0; k < count; k++) {
        count_step(divergence);
        if (loop_contains(&divergence->loops, loop, divergence->todo[k]))
            continue;
        uint32_t depth = common_depth(divergence, divergence->todo[k], divergence->loops.at[loop].header);
        leave_to(divergence, path[depth + 1], divergence->todo[k]);
        lowest = lowest < depth ? lowest : depth;
    }
    return lowest;
}

/* The loops around `loop` and itself, in path[1 .. its depth]: what is right already stays. */
static void follow_loops(Divergence *divergence, uint32_t loop) {
    uint32_t own = divergence->loops.at[loop].depth;
    for (uint32_t l = loop; l != NO_NODE; l = divergence->loops.at[l].parent) {
        uint32_t depth = divergence->loops.at[l].depth;
        if (depth <= divergence->depth && divergence->path[depth] == l)
            break;
        count_step(divergence);
        divergence->path[depth] = l;
    }
    divergence->depth = own;
}

/* As walk_region and leave_region, where no loop around is irreducible: then only the values count. What an
 * earlier walk has come to need not be walked again if that was for a loop inside this one: all that it leads
 * to before that walk's join was looked at, and whatever of it lies outside of this loop left the other one
 * through the same loops. So the walk goes on at that join, as long as this one's own join cannot lie on the
 * way: it does not if no walk has come to it. Loops in loops take one walk together. */
static void walk_out(Divergence *divergence, uint32_t branch, uint32_t join, uint32_t loop) {
    uint32_t header = divergence->loops.at[loop].header, top = 0;
    bool may_skip = !divergence->walked[join];
    follow_loops(divergence, loop);
    VEC_ADD(divergence->a, &divergence->walks, ((UniWalk){join, loop}));
    divergence->round++;
    for (uint32_t n = branch;;) {
        GRAPH_SUCCS(&divergence->g, n, s) {
            uint32_t to = *s;
            count_step(divergence);
            while (to && to != join && divergence->seen_in[to] != divergence->round) {
                divergence->seen_in[to] = divergence->round;
                const UniWalk *before =
                    divergence->walked[to] ? &divergence->walks.at[divergence->walked[to] - 1] : NULL;
                if (before && may_skip &&
                    loop_contains(&divergence->loops, loop, divergence->loops.at[before->loop].header)) {
                    to = before->join;
                    continue;
                }
                divergence->walked[to] = divergence->walks.n;
                divergence->todo[top++] = to;
                if (!loop_contains(&divergence->loops, loop, to))
                    leave_to(divergence, divergence->path[common_depth(divergence, to, header) + 1], to);
                break;
            }
        }
        if (!top)
            return;
        n = divergence->todo[--top];
    }
}

/* Loops around both the branch and its join. */
static void leave_before_join(Divergence *divergence, uint32_t branch, uint32_t join, uint32_t loop) {
    uint32_t depth = NO_NODE; /* of what holds all of R, when known */
    for (uint32_t l = loop; l != NO_LOOP(divergence); l = graph_find(divergence->unspoilt, l)) {
        const Loop *at = &divergence->loops.at[l];
        uint32_t outer = at->parent == NO_NODE ? NO_LOOP(divergence) : at->parent;
        count_step(divergence);
        if (at->irreducible) {
            if (graph_find(divergence->unspoilt, l) == l) {
                divergence->unspoilt[l] = outer;
                give_up_loop(divergence, l);
            }
            l = outer;
            continue;
        }
        if (!divergence->odd_exit[l] || !(divergence->odd_use[l] || divergence->irreducible_above[l]))
            return;
        if (l == loop && !divergence->irreducible_above[l]) {
            walk_out(divergence, branch, join, loop);
            return;
        }
        if (depth == NO_NODE)
            depth = leave_region(divergence, loop, walk_region(divergence, branch, join));
        if (depth >= at->depth)
            return;
        l = outer;
    }
}

/* Lanes that go round the loop come to the join in another iteration than those that go there straight,
 * though none leaves the loop. Can that be, as far as the shape tells without a walk? Not if all ways back
 * pass the join. */
static bool may_go_round(const Divergence *divergence, uint32_t join, uint32_t loop) {
    const Loop *l = &divergence->loops.at[loop];
    if (l->irreducible)
        return false; /* given up as a whole */
    if (divergence->round_exit[loop])
        return true;
    return join != l->header && postdom_contains(&divergence->pd, join, l->header) &&
           !dom_contains(&divergence->dom, join, divergence->latch_dom[loop]);
}

/* Then what is defined before the join is another iteration's for some of them. */
static void go_round(Divergence *divergence, uint32_t branch, uint32_t join, uint32_t loop) {
    bool round = false;
    uint32_t count = walk_region(divergence, branch, join);
    for (uint32_t l = loop; l != NO_NODE && !round; l = divergence->loops.at[l].parent)
        round = divergence->seen_in[divergence->loops.at[l].header] == divergence->round;
    for (uint32_t k = 0; round && k < count; k++)
        FOR_INSTS(divergence->f, (BlockId){divergence->todo[k]}, i)
            leave_where(divergence, i, divergence->todo[k], true);
}

/* Was the outermost loop around this one given up? Then every value of it that is used in another block than
 * its own is marked, and what leaves the outermost loop does not come back: no walk has anything to add. */
static bool all_given_up(const Divergence *divergence, uint32_t loop) {
    uint32_t top = divergence->outermost[loop];
    return divergence->loops.at[top].irreducible && divergence->unspoilt[top] != top;
}

static void find_leaving(Divergence *divergence, uint32_t branch) {
    uint32_t join = divergence->pd.ipdom[branch], both = join ? divergence->loops.innermost[join] : NO_NODE;
    while (both != NO_NODE && !loop_contains(&divergence->loops, both, branch))
        both = divergence->loops.at[both].parent;
    uint32_t depth = both == NO_NODE ? 0 : divergence->loops.at[both].depth;
    uint32_t l = divergence->loops.innermost[branch] == NO_NODE ? NO_LOOP(divergence)
                                                                : divergence->loops.innermost[branch];
    for (l = graph_find(divergence->unflagged, l);
         l != NO_LOOP(divergence) && divergence->loops.at[l].depth > depth;
         l = graph_find(divergence->unflagged, l)) {
        uint32_t outer =
            divergence->loops.at[l].parent == NO_NODE ? NO_LOOP(divergence) : divergence->loops.at[l].parent;
        count_step(divergence);
        divergence->unflagged[l] = outer;
        leave_loop(divergence, l);
        if (divergence->loops.at[l].irreducible && graph_find(divergence->unspoilt, l) == l) {
            divergence->unspoilt[l] = outer;
            give_up_loop(divergence, l);
        }
    }
    if (both == NO_NODE || all_given_up(divergence, both))
        return;
    leave_before_join(divergence, branch, join, both);
    if (may_go_round(divergence, join, both))
        go_round(divergence, branch, join, both);
}

void uniform_diverge(Divergence *divergence, uint32_t block) {
    if (divergence->branch_done[block] || divergence->pd.region[block] == NO_NODE)
        return;
    divergence->branch_done[block] = true;
    sweep(divergence, block);
    find_joins(divergence, block);
    find_leaving(divergence, block);
}
