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

#define NO_LOOP(c) ((c)->loops.n) /* stands behind all loops in the arrays over them */
enum { MAX_SIDES = 4, COUNTED = 8 };

static void count_step(Divergence *c) { ++*c->steps; }
static bool many_preds(const Divergence *c, uint32_t block) { return c->f->blocks.at[block].preds.n > 1; }

/* ---- what does not depend on what is divergent ---- */

/* Does a phi of the block have two different sources? Only then does it matter where lanes come from. */
static bool tells_apart(const Divergence *c, uint32_t block) {
    const Block *b = &c->f->blocks.at[block];
    for (unsigned p = 0; p < b->insts.n; p++) {
        const Inst *i = ir_inst(c->f, b->insts.at[p]);
        if (i->op != IR_PHI)
            return false;
        if (uniform_phi_chooses(c->f, i))
            return true;
    }
    return false;
}

bool uniform_phi_chooses(Function *f, const Inst *phi) {
    for (unsigned k = 1; k < phi->nsrc; k++)
        if (memcmp(ir_src(f, phi, 0), ir_src(f, phi, k), sizeof(Operand)) != 0)
            return true;
    return false;
}

/* by_loop, loop_at */
static void sort_by_loop(Divergence *c) {
    uint32_t n = c->loops.n;
    c->loop_at = graph_numbers(c->a, n + 2, 0);
    for (uint32_t b = 1; b < c->g.n; b++)
        if (c->loops.innermost[b] != NO_NODE)
            c->loop_at[c->loops.at[c->loops.innermost[b]].in + 2]++;
    for (uint32_t k = 2; k < n + 2; k++)
        c->loop_at[k] += c->loop_at[k - 1];
    c->by_loop = graph_numbers(c->a, c->loop_at[n + 1], 0);
    for (uint32_t b = 1; b < c->g.n; b++)
        if (c->loops.innermost[b] != NO_NODE)
            c->by_loop[c->loop_at[c->loops.at[c->loops.innermost[b]].in + 1]++] = b;
}

/* The depth of the innermost loop that holds both; seen from `outside`, which mostly lies in few loops. */
static uint32_t common_depth(const Divergence *c, uint32_t outside, uint32_t inside) {
    uint32_t l = c->loops.innermost[outside];
    while (l != NO_NODE && !loop_contains(&c->loops, l, inside))
        l = c->loops.at[l].parent;
    return l == NO_NODE ? 0 : c->loops.at[l].depth;
}

/* Something leads from block `from` out of loops to `to`: note in which of them it is odd. path: [depth] the
 * loops around `from`. Only loops with the header on all ways on from `to` are odd for a `to` of the same
 * region; if an inner one is, so are the outer ones. */
static void note_odd(const Divergence *c, uint32_t from, uint32_t to, uint32_t depth, const uint32_t *path,
                     bool *round, uint32_t *dead_end) {
    uint32_t home = c->loops.innermost[from];
    if (c->pd.region[from] != c->pd.region[to]) {
        dead_end[home] = dead_end[home] < depth ? dead_end[home] : depth;
        return;
    }
    for (uint32_t d = depth + 1;
         d <= c->loops.at[home].depth && postdom_contains(&c->pd, c->loops.at[path[d]].header, to); d++)
        round[path[d]] = true;
}

typedef struct {
    VEC(Leaving) leaving;
    uint32_t *path;
    uint32_t *dead_exit, *dead_use; /* [loop] the depth to which a dead end leads out of it, at least */
} Shape;

static void note_uses(Divergence *c, Shape *shape, uint32_t home, uint32_t value) {
    uint32_t own = c->loops.at[c->loops.innermost[home]].depth, lowest = own;
    for (uint32_t k = c->uses->user_at[value]; k < c->uses->user_at[value + 1]; k++) {
        uint32_t at = c->uses->inst_block[c->uses->users[k]];
        count_step(c);
        if (at == home || loop_contains(&c->loops, c->loops.innermost[home], at))
            continue;
        uint32_t depth = common_depth(c, at, home);
        lowest = lowest < depth ? lowest : depth;
        note_odd(c, home, at, depth, shape->path, c->odd_use, shape->dead_use);
    }
    if (lowest < own)
        VEC_ADD(c->a, &shape->leaving, ((Leaving){value, lowest}));
}

static void note_block(Divergence *c, Shape *shape, uint32_t block) {
    const Block *b = &c->f->blocks.at[block];
    uint32_t own = c->loops.innermost[block];
    GRAPH_SUCCS(&c->g, block, s)
        if (*s && !loop_contains(&c->loops, own, *s))
            note_odd(c, block, *s, common_depth(c, *s, block), shape->path, c->round_exit, shape->dead_exit);
    for (unsigned p = 0; p < b->insts.n; p++) {
        const Inst *i = ir_inst(c->f, b->insts.at[p]);
        for (unsigned d = 0; d < i->ndst; d++) {
            Operand o = *ir_dst(c->f, i, d);
            for (unsigned e = 0; o.kind == OPK_VAL && e < o.count; e++)
                if (ir_operand_value(c->f, o, e).i)
                    note_uses(c, shape, block, ir_operand_value(c->f, o, e).i);
        }
    }
}

static uint32_t build_tree(Divergence *c, uint32_t node, uint32_t from, uint32_t to) {
    if (to - from == 1)
        return c->lowest[node] = c->leaving[from].depth;
    uint32_t mid = from + (to - from) / 2, x = build_tree(c, 2 * node, from, mid),
             y = build_tree(c, 2 * node + 1, mid, to);
    return c->lowest[node] = x < y ? x : y;
}

static void find_leaving_values(Divergence *c) {
    uint32_t n = c->loops.n, nblocks = c->loop_at[n];
    Shape shape = {.path = graph_numbers(c->a, n + 2, 0)};
    shape.dead_exit = graph_numbers(c->a, n, NO_NODE);
    shape.dead_use = graph_numbers(c->a, n, NO_NODE);
    c->leaving_at = graph_numbers(c->a, nblocks + 1, 0);
    for (uint32_t k = 0; k < nblocks; k++) {
        uint32_t l = c->loops.innermost[c->by_loop[k]];
        for (uint32_t up = l; up != NO_NODE && shape.path[c->loops.at[up].depth] != up;
             up = c->loops.at[up].parent)
            shape.path[c->loops.at[up].depth] = up;
        note_block(c, &shape, c->by_loop[k]);
        c->leaving_at[k + 1] = shape.leaving.n;
    }
    for (uint32_t l = n; l-- > 0;) { /* inner loops stand behind outer ones */
        const Loop *loop = &c->loops.at[l];
        c->odd_exit[l] = c->round_exit[l] || shape.dead_exit[l] < loop->depth;
        c->odd_use[l] |= shape.dead_use[l] < loop->depth;
        if (loop->parent == NO_NODE)
            continue;
        uint32_t *exit = &shape.dead_exit[loop->parent], *use = &shape.dead_use[loop->parent];
        *exit = *exit < shape.dead_exit[l] ? *exit : shape.dead_exit[l];
        *use = *use < shape.dead_use[l] ? *use : shape.dead_use[l];
    }
    for (uint32_t l = 0; l < n; l++) {
        uint32_t up = c->loops.at[l].parent;
        c->irreducible_above[l] = up != NO_NODE && (c->loops.at[up].irreducible || c->irreducible_above[up]);
        c->odd_use[l] |= up != NO_NODE && c->odd_use[up];
    }
    c->leaving = shape.leaving.at;
    c->nleaving = shape.leaving.n;
    c->lowest = graph_numbers(c->a, 4 * c->nleaving + 4, UINT32_MAX);
    if (c->nleaving)
        build_tree(c, 1, 0, c->nleaving);
}

/* Of all blocks that lead back to the header of each loop, the nearest block that dominates them. */
static void find_latches(Divergence *c) {
    DomTree t = dom_tree(c->a, &c->g, GRAPH_FORWARD, c->f->entry.i);
    c->latch_dom = graph_numbers(c->a, c->loops.n, NO_NODE);
    for (uint32_t l = 0; l < c->loops.n; l++)
        GRAPH_PREDS(&c->g, c->loops.at[l].header, p)
            if (loop_contains(&c->loops, l, *p))
                c->latch_dom[l] = c->latch_dom[l] == NO_NODE ? *p : dom_common(&t, c->latch_dom[l], *p);
    c->dom = t;
}

static uint32_t *each_itself(Arena *a, uint32_t n) {
    uint32_t *parent = graph_numbers(a, n, 0);
    for (uint32_t k = 0; k < n; k++)
        parent[k] = k;
    return parent;
}

void uniform_control_start(Divergence *control, Arena *a, Function *f, const UniUses *uses, uint64_t *steps) {
    *control = (Divergence){.a = a, .f = f, .uses = uses, .steps = steps};
    Divergence *c = control;
    c->g = cfg_graph(a, f);
    c->pd = cfg_post_dominators(a, f, &c->g, f->entry.i);
    c->loops = loop_forest(a, &c->g, f->entry.i);
    uint32_t n = c->g.n, nloops = c->loops.n;
    bool **flags[] = {&c->branch_done, &c->joined, &c->flow, &c->behind_return, &c->is_candidate};
    for (unsigned k = 0; k < sizeof flags / sizeof *flags; k++)
        *flags[k] = ARENA_ARRAY(a, bool, n);
    bool **of_loops[] = {&c->round_exit, &c->odd_exit, &c->odd_use, &c->irreducible_above};
    for (unsigned k = 0; k < sizeof of_loops / sizeof *of_loops; k++)
        *of_loops[k] = ARENA_ARRAY(a, bool, nloops + 1);
    c->sweep = each_itself(a, n);
    c->beyond = graph_numbers(a, n, NO_NODE);
    c->owner = graph_numbers(a, n, 0);
    c->seen_in = graph_numbers(a, n, 0);
    c->todo = graph_numbers(a, (MAX_SIDES + 1) * n + c->g.succ_at[n], 0);
    c->unflagged = each_itself(a, nloops + 1);
    c->unspoilt = each_itself(a, nloops + 1);
    for (uint32_t b = 1; b < n; b++)
        c->is_candidate[b] = many_preds(c, b) && tells_apart(c, b);
    sort_by_loop(c);
    c->irreducible_next = each_itself(a, c->loop_at[nloops] + 1);
    find_leaving_values(c);
    find_latches(c);
}

/* ---- answers ---- */

static void add_join(Divergence *c, uint32_t block) {
    if (c->joined[block])
        return;
    c->joined[block] = true;
    VEC_ADD(c->a, &c->joins, block);
}

static void add_flow(Divergence *c, uint32_t block) {
    if (c->flow[block])
        return;
    c->flow[block] = true;
    VEC_ADD(c->a, &c->flows, block);
}

/* ---- flow ---- */

/* From s up to `stop` (0: to the end), which is not swept over. */
static void sweep_up(Divergence *c, uint32_t s, uint32_t stop, uint32_t *top) {
    const PostDom *pd = &c->pd;
    for (uint32_t n = graph_find(c->sweep, s); n; n = graph_find(c->sweep, n)) {
        if (stop && pd->region[n] == pd->region[stop] && pd->depth[n] <= pd->depth[stop])
            return;
        count_step(c);
        c->sweep[n] = pd->ipdom[n];
        add_flow(c, n);
        c->todo[(*top)++] = n;
    }
}

static void sweep(Divergence *c, uint32_t branch) {
    uint32_t top = 0;
    for (uint32_t n = branch;; n = c->todo[--top]) {
        GRAPH_SUCCS(&c->g, n, s) {
            count_step(c);
            if (*s)
                sweep_up(c, *s, c->pd.ipdom[n], &top);
        }
        if (!top)
            return;
    }
}

void uniform_return_early(Divergence *c, uint32_t block) {
    uint32_t top = 0;
    if (c->behind_return[block])
        return;
    c->behind_return[block] = true;
    c->todo[top++] = block;
    while (top) {
        uint32_t n = c->todo[--top];
        add_flow(c, n);
        GRAPH_SUCCS(&c->g, n, s) {
            count_step(c);
            if (!*s || c->behind_return[*s])
                continue;
            c->behind_return[*s] = true;
            c->todo[top++] = *s;
        }
    }
}

/* ---- joins ---- */

typedef struct {
    Divergence *c;
    uint32_t join;
    unsigned n;                  /* sides */
    uint32_t top[MAX_SIDES];     /* of their stacks in Divergence.todo */
    uint32_t waiting[MAX_SIDES]; /* candidates that only this side has come to */
} Sides;

/* Where a walk that is to end at `join` goes on when it comes to n: at n, or behind the inner part that it is
 * in; 0 if nothing is left. */
static uint32_t behind_inner(const Divergence *c, uint32_t n, uint32_t join) {
    const PostDom *pd = &c->pd;
    while (n && n != join && c->beyond[n] != NO_NODE) {
        uint32_t next = c->beyond[n];
        bool dead_end = !next || pd->region[next] != pd->region[n];
        bool above =
            !dead_end && join && pd->region[join] == pd->region[n] && pd->depth[next] <= pd->depth[join];
        n = dead_end || above ? 0 : next;
    }
    return n == join ? 0 : n;
}

/* Block n and all that it leads to before the join are inner. */
static void close_inner(Divergence *c, Sides *sides, uint32_t n) {
    uint32_t *stack = c->todo + MAX_SIDES * c->g.n, top = 0; /* behind those of the sides */
    for (stack[top++] = n; top;) {
        uint32_t from = stack[--top], at = behind_inner(c, from, sides->join);
        if (!at)
            continue;
        c->beyond[from] = c->beyond[at] = sides->join;
        if (many_preds(c, at))
            add_join(c, at);
        if (c->seen_in[at] == c->round && c->owner[at] & COUNTED)
            sides->waiting[c->owner[at] & ~(uint32_t)COUNTED]--;
        GRAPH_SUCCS(&c->g, at, s) {
            count_step(c);
            if (*s && *s != sides->join && c->beyond[*s] != sides->join)
                stack[top++] = *s;
        }
    }
}

static void come_to(Sides *sides, unsigned side, uint32_t block) {
    Divergence *c = sides->c;
    uint32_t n = behind_inner(c, block, sides->join);
    count_step(c);
    if (!n)
        return;
    if (c->seen_in[n] == c->round) {
        if ((c->owner[n] & ~(uint32_t)COUNTED) != side)
            close_inner(c, sides, n);
        return;
    }
    c->seen_in[n] = c->round;
    bool counts = c->is_candidate[n] && !c->joined[n];
    c->owner[n] = side | (counts ? COUNTED : 0);
    sides->waiting[side] += counts;
    c->todo[side * c->g.n + sides->top[side]++] = n;
}

static void walk_sides(Sides *sides) {
    Divergence *c = sides->c;
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
            uint32_t n = c->todo[k * c->g.n + --sides->top[k]];
            GRAPH_SUCCS(&c->g, n, s)
                if (*s)
                    come_to(sides, k, *s);
        }
    }
}

static void find_joins(Divergence *c, uint32_t branch) {
    const Block *b = &c->f->blocks.at[branch];
    Sides sides = {.c = c, .join = c->pd.ipdom[branch]};
    if (sides.join && many_preds(c, sides.join))
        add_join(c, sides.join);
    if (c->beyond[branch] != NO_NODE)
        return;
    c->round++;
    if (b->succs.n > MAX_SIDES) { /* then every meeting point inside counts */
        for (unsigned k = 0; k < b->succs.n; k++)
            close_inner(c, &sides, b->succs.at[k].i);
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
static void leave_where(Divergence *c, const Inst *i, uint32_t home, bool outside_region) {
    for (unsigned d = 0; d < i->ndst; d++) {
        Operand o = *ir_dst(c->f, i, d);
        for (unsigned e = 0; o.kind == OPK_VAL && e < o.count; e++) {
            uint32_t v = ir_operand_value(c->f, o, e).i;
            bool leaves = false;
            for (uint32_t k = c->uses->user_at[v]; v && k < c->uses->user_at[v + 1] && !leaves; k++) {
                uint32_t at = c->uses->inst_block[c->uses->users[k]];
                count_step(c);
                leaves = at != home && !(outside_region && c->seen_in[at] == c->round);
            }
            if (leaves)
                VEC_ADD(c->a, &c->leaves, v);
        }
    }
}

/* What leaves the blocks of an irreducible loop, and its phis: nothing is known of iterations there. */
static void give_up_loop(Divergence *c, uint32_t loop) {
    const Loop *l = &c->loops.at[loop];
    uint32_t end = c->loop_at[l->out];
    for (uint32_t k = graph_find(c->irreducible_next, c->loop_at[l->in]); k < end;
         k = graph_find(c->irreducible_next, k)) {
        uint32_t n = c->by_loop[k];
        const Block *b = &c->f->blocks.at[n];
        c->irreducible_next[k] = k + 1;
        add_join(c, n);
        for (unsigned p = 0; p < b->insts.n; p++)
            leave_where(c, ir_inst(c->f, b->insts.at[p]), n, false);
    }
}

/* Take the values of leaving[first .. last - 1] that leave a loop of that depth out of the tree, whose part
 * for leaving[from .. to - 1] is `node`. */
static void take_out(Divergence *c, uint32_t node, uint32_t from, uint32_t to, uint32_t first, uint32_t last,
                     uint32_t depth) {
    if (from >= last || to <= first || c->lowest[node] >= depth)
        return;
    count_step(c);
    if (to - from == 1) {
        VEC_ADD(c->a, &c->leaves, c->leaving[from].value);
        c->lowest[node] = UINT32_MAX;
        return;
    }
    uint32_t mid = from + (to - from) / 2;
    take_out(c, 2 * node, from, mid, first, last, depth);
    take_out(c, 2 * node + 1, mid, to, first, last, depth);
    uint32_t x = c->lowest[2 * node], y = c->lowest[2 * node + 1];
    c->lowest[node] = x < y ? x : y;
}

/* Lanes leave the loop in different iterations. */
static void leave_loop(Divergence *c, uint32_t loop) {
    const Loop *l = &c->loops.at[loop];
    if (c->nleaving)
        take_out(c, 1, 0, c->nleaving, c->leaving_at[c->loop_at[l->in]], c->leaving_at[c->loop_at[l->out]],
                 l->depth);
}

/* All blocks of R: todo[0 .. that - 1]. */
static uint32_t walk_region(Divergence *c, uint32_t branch, uint32_t join) {
    uint32_t count = 0;
    c->round++;
    for (uint32_t k = NO_NODE; k == NO_NODE || k < count; k++) {
        uint32_t n = k == NO_NODE ? branch : c->todo[k];
        GRAPH_SUCCS(&c->g, n, s) {
            count_step(c);
            if (!*s || *s == join || c->seen_in[*s] == c->round)
                continue;
            c->seen_in[*s] = c->round;
            c->todo[count++] = *s;
        }
    }
    return count;
}

/* Values of the loop that are used in `block`, outside of it. */
static void leave_to(Divergence *c, uint32_t loop, uint32_t block) {
    const Block *b = &c->f->blocks.at[block];
    for (unsigned p = 0; p < b->insts.n; p++) {
        const Inst *i = ir_inst(c->f, b->insts.at[p]);
        for (unsigned k = i->ndst; k <= ir_num_operands(i); k++) {
            Operand o = k == ir_num_operands(i) ? i->guard : c->f->operands.at[i->operand + k];
            for (unsigned e = 0; o.kind == OPK_VAL && e < o.count; e++) {
                uint32_t v = ir_operand_value(c->f, o, e).i;
                InstId def = ir_value(c->f, (ValId){v})->def;
                count_step(c);
                if (def.i && c->uses->inst_block[def.i] &&
                    loop_contains(&c->loops, loop, c->uses->inst_block[def.i]))
                    VEC_ADD(c->a, &c->leaves, v);
            }
        }
    }
}

/* What R has outside of `loop`, which holds branch and join. Returns the depth of the innermost loop around
 * all of R and `loop`. */
static uint32_t leave_region(Divergence *c, uint32_t loop, uint32_t count) {
    uint32_t own = c->loops.at[loop].depth, lowest = own, *path = graph_numbers(c->a, own + 1, 0);
    for (uint32_t l = loop; l != NO_NODE; l = c->loops.at[l].parent)
        path[c->loops.at[l].depth] = l;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t depth = common_depth(c, c->todo[k], c->loops.at[loop].header);
        count_step(c);
        if (depth >= own)
            continue;
        leave_to(c, path[depth + 1], c->todo[k]);
        lowest = lowest < depth ? lowest : depth;
    }
    return lowest;
}

/* Loops around both the branch and its join. */
static void leave_before_join(Divergence *c, uint32_t branch, uint32_t join, uint32_t loop) {
    uint32_t depth = NO_NODE; /* of what holds all of R, when known */
    for (uint32_t l = loop; l != NO_LOOP(c); l = graph_find(c->unspoilt, l)) {
        const Loop *at = &c->loops.at[l];
        uint32_t outer = at->parent == NO_NODE ? NO_LOOP(c) : at->parent;
        count_step(c);
        if (at->irreducible) {
            if (graph_find(c->unspoilt, l) == l) {
                c->unspoilt[l] = outer;
                give_up_loop(c, l);
            }
            l = outer;
            continue;
        }
        if (!c->odd_exit[l] || !(c->odd_use[l] || c->irreducible_above[l]))
            return;
        if (depth == NO_NODE)
            depth = leave_region(c, loop, walk_region(c, branch, join));
        if (depth >= at->depth)
            return;
        l = outer;
    }
}

/* Lanes that go round the loop come to the join in another iteration than those that go there straight,
 * though none leaves the loop. Can that be, as far as the shape tells without a walk? Not if all ways back
 * pass the join. */
static bool may_go_round(const Divergence *c, uint32_t join, uint32_t loop) {
    const Loop *l = &c->loops.at[loop];
    if (l->irreducible)
        return false; /* given up as a whole */
    if (c->round_exit[loop])
        return true;
    return join != l->header && postdom_contains(&c->pd, join, l->header) &&
           !dom_contains(&c->dom, join, c->latch_dom[loop]);
}

/* Then what is defined before the join is another iteration's for some of them. */
static void go_round(Divergence *c, uint32_t branch, uint32_t join, uint32_t loop) {
    bool round = false;
    uint32_t count = walk_region(c, branch, join);
    for (uint32_t l = loop; l != NO_NODE && !round; l = c->loops.at[l].parent)
        round = c->seen_in[c->loops.at[l].header] == c->round;
    for (uint32_t k = 0; round && k < count; k++) {
        const Block *b = &c->f->blocks.at[c->todo[k]];
        for (unsigned p = 0; p < b->insts.n; p++)
            leave_where(c, ir_inst(c->f, b->insts.at[p]), c->todo[k], true);
    }
}

static void find_leaving(Divergence *c, uint32_t branch) {
    uint32_t join = c->pd.ipdom[branch], both = join ? c->loops.innermost[join] : NO_NODE;
    while (both != NO_NODE && !loop_contains(&c->loops, both, branch))
        both = c->loops.at[both].parent;
    uint32_t depth = both == NO_NODE ? 0 : c->loops.at[both].depth;
    uint32_t l = c->loops.innermost[branch] == NO_NODE ? NO_LOOP(c) : c->loops.innermost[branch];
    for (l = graph_find(c->unflagged, l); l != NO_LOOP(c) && c->loops.at[l].depth > depth;
         l = graph_find(c->unflagged, l)) {
        uint32_t outer = c->loops.at[l].parent == NO_NODE ? NO_LOOP(c) : c->loops.at[l].parent;
        count_step(c);
        c->unflagged[l] = outer;
        leave_loop(c, l);
        if (c->loops.at[l].irreducible && graph_find(c->unspoilt, l) == l) {
            c->unspoilt[l] = outer;
            give_up_loop(c, l);
        }
    }
    if (both == NO_NODE)
        return;
    leave_before_join(c, branch, join, both);
    if (may_go_round(c, join, both))
        go_round(c, branch, join, both);
}

void uniform_diverge(Divergence *c, uint32_t block) {
    if (c->branch_done[block] || c->pd.region[block] == NO_NODE)
        return;
    c->branch_done[block] = true;
    sweep(c, block);
    find_joins(c, block);
    find_leaving(c, block);
}
