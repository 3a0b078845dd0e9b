/* Puts BSSY, BSYNC and BREAK of the joins into the function: BSSY before the branch, BSYNC first in the
 * join's block behind the phis, BREAK in a block of its own on the edge unless the target has no other
 * predecessor.
 * SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"
#include <stdlib.h>

static InstId barrier_inst(Function *f, unsigned op, unsigned reg, LocId loc) {
    InstId i = ir_inst_new(f, op, isa_num_dst(op), isa_num_src(op));
    ir_set_src(f, i, 0, op_reg(RF_B, reg, 1));
    if (op == OT_BREAK)
        ir_set_src(f, i, BREAK_pp, op_pt());
    ir_inst(f, i)->loc = loc;
    return i;
}

static unsigned first_branch(const Function *f, const Block *b) {
    unsigned p = b->insts.n;
    while (p > 0 && ir_is_terminator(f, &f->insts.at[b->insts.at[p - 1].i]))
        p--;
    return p;
}

static unsigned behind_phis(Function *f, const Block *b) {
    unsigned p = 0;
    while (ir_inst(f, b->insts.at[p])->op == IR_PHI)
        p++;
    return p;
}

/* must[n]: on every path to block n the lanes are pending already. Only blocks of j->in can have it. */
static void solve_must(const Reconv *reconv, const Join *join, uint8_t *must, uint8_t *gen) {
    for (unsigned k = 0; k < join->places.n; k++)
        gen[join->places.at[k]] = 1;
    for (unsigned k = 0; k < join->early.n; k++)
        gen[join->early.at[k]] = 1;
    for (unsigned k = 0; k < join->in.n; k++)
        must[join->in.at[k]] = 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned k = 0; k < join->in.n; k++) {
            uint32_t n = join->in.at[k];
            reconv->f->module->steps++;
            uint8_t all = n != reconv->f->entry.i;
            GRAPH_PREDS(&reconv->g, n, p)
                if (reconv->order.index[*p] != NO_NODE && !gen[*p] && (*p == join->block || !must[*p]))
                    all = 0;
            if (all != must[n])
                must[n] = all, changed = true;
        }
    }
}

void reconv_mark_needed(const Reconv *reconv, const Join *join, uint8_t *must, uint8_t *needed) {
    solve_must(reconv, join, must, needed);
    for (unsigned k = 0; k < join->places.n + join->early.n; k++) {
        uint32_t b = k < join->places.n ? join->places.at[k] : join->early.at[k - join->places.n];
        needed[b] = !must[b] || b == join->block;
    }
    for (unsigned k = 0; k < join->in.n; k++)
        must[join->in.at[k]] = 0;
}

static void insert_bssy(Reconv *reconv, const Join *join, uint8_t *must, uint8_t *needed) {
    Function *f = reconv->f;
    reconv_mark_needed(reconv, join, must, needed);
    for (unsigned k = 0; k < join->places.n + join->early.n; k++) {
        uint32_t b = k < join->places.n ? join->places.at[k] : join->early.at[k - join->places.n];
        const Block *blk = ir_block(f, (BlockId){b});
        if (!needed[b])
            continue;
        needed[b] = 0;
        InstId i = barrier_inst(f, OT_BSSY, join->reg, reconv_branch(f, blk)->loc);
        ir_set_src(f, i, BSSY_syncpoint, ir_target((BlockId){join->block}));
        ir_insert(f, (BlockId){b}, first_branch(f, blk), i);
    }
}

static int edge_order(const void *a, const void *b) {
    const GraphEdge *edge = a, *graph_edge = b;
    if (edge->from != graph_edge->from)
        return edge->from < graph_edge->from ? -1 : 1;
    return edge->to < graph_edge->to ? -1 : edge->to > graph_edge->to;
}

typedef struct {
    GraphEdge edge;
    uint32_t join;
} Break;

static int break_order(const void *a, const void *b) {
    return edge_order(&((const Break *)a)->edge, &((const Break *)b)->edge);
}

static unsigned count_edges(Function *f, GraphEdge e) {
    const Block *b = ir_block(f, (BlockId){e.from});
    unsigned n = 0;
    for (unsigned k = 0; k < b->succs.n; k++)
        n += b->succs.at[k].i == e.to;
    return n;
}

static void insert_break_group(Reconv *reconv, BlockId b, const Break *breaks, unsigned n) {
    unsigned p = behind_phis(reconv->f, ir_block(reconv->f, b));
    LocId loc = ir_inst(reconv->f, ir_block(reconv->f, b)->insts.at[p])->loc;
    for (unsigned k = 0; k < n; k++)
        ir_insert(reconv->f, b, p + k,
                  barrier_inst(reconv->f, OT_BREAK, reconv->joins.at[breaks[k].join].reg, loc));
}

static void insert_breaks(Reconv *reconv) {
    Function *f = reconv->f;
    VEC(Break) all = {0};
    for (uint32_t k = 0; k < reconv->joins.n; k++) {
        const Join *join = &reconv->joins.at[k];
        for (unsigned n = 0; join_is_live(join) && n < join->breaks.n; n++)
            *VEC_PUSH(&reconv->a, &all) = (Break){join->breaks.at[n], k};
    }
    if (!all.n)
        return;
    qsort(all.at, all.n, sizeof *all.at, break_order);
    for (unsigned k = 0, n = 1; k < all.n; k += n) {
        GraphEdge e = all.at[k].edge;
        for (n = 1; k + n < all.n && edge_order(&all.at[k + n].edge, &e) == 0;)
            n++;
        if (ir_block(f, (BlockId){e.to})->preds.n == 1 && !live_join(reconv, e.to)) {
            insert_break_group(reconv, (BlockId){e.to}, &all.at[k], n);
            continue;
        }
        for (unsigned edges = count_edges(f, e); edges > 0; edges--)
            insert_break_group(reconv, ir_split_edge(f, (BlockId){e.from}, (BlockId){e.to}), &all.at[k], n);
    }
    ir_renumber(f);
}

/* The lanes of a join at the header of a loop in which each lane gets through alone (retry.c) meet before it:
 * a BSYNC in it would be passed in every round, and could hold up a lane there. */
static bool meets_before_retries(const Reconv *reconv, const Retries *retries, const Join *join) {
    const LoopForest *loops = &reconv->loops;
    uint32_t loop = loops->innermost[join->block];
    if (!join_is_live(join) || !reconv_waits_outside(reconv, join))
        return false;
    for (uint32_t b = 0; b < reconv->g.n && retries->alone; b++)
        if (retries->alone[b] && loop_contains(loops, loop, b) &&
            retries->loops.at[retries->alone[b] - 1].header == join->block)
            return true;
    return false;
}

static void move_before_loop(Reconv *reconv, Join *join) {
    Function *f = reconv->f;
    BlockId header = {join->block}, before = reconv_part_entry(reconv, join->block);
    unsigned p = behind_phis(f, ir_block(f, header));
    InstId bsync = ir_block(f, header)->insts.at[p];
    ir_remove_at(f, header, p);
    ir_insert(f, before, behind_phis(f, ir_block(f, before)), bsync);
    join->meet = before.i;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i)
            if (i->op == OT_BSSY && ir_src(f, i, BSSY_syncpoint)->value == header.i &&
                ir_src(f, i, 0)->value == join->reg)
                *ir_src(f, i, BSSY_syncpoint) = ir_target(before);
}

void reconv_insert(Reconv *reconv) {
    Function *f = reconv->f;
    uint8_t *must = ARENA_ARRAY(&reconv->a, uint8_t, reconv->g.n),
            *needed = ARENA_ARRAY(&reconv->a, uint8_t, reconv->g.n);
    Retries retries = reconv_find_retries(&reconv->a, f, &reconv->g);
    for (uint32_t k = 0; k < reconv->joins.n; k++) {
        Join *join = &reconv->joins.at[k];
        if (!join_is_live(join))
            continue;
        join->meet = join->block;
        insert_bssy(reconv, join, must, needed);
        const Block *blk = ir_block(f, (BlockId){join->block});
        unsigned p = behind_phis(f, blk);
        ir_insert(f, (BlockId){join->block}, p,
                  barrier_inst(f, OT_BSYNC, join->reg, ir_inst(f, blk->insts.at[p])->loc));
    }
    insert_breaks(reconv);
    bool any = false;
    for (uint32_t k = 0; k < reconv->joins.n; k++)
        if (meets_before_retries(reconv, &retries, &reconv->joins.at[k]))
            move_before_loop(reconv, &reconv->joins.at[k]), any = true;
    if (any)
        ir_renumber(f);
}
