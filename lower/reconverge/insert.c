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
static void solve_must(const Reconv *r, const Join *j, uint8_t *must, uint8_t *gen) {
    for (unsigned k = 0; k < j->places.n; k++)
        gen[j->places.at[k]] = 1;
    for (unsigned k = 0; k < j->early.n; k++)
        gen[j->early.at[k]] = 1;
    for (unsigned k = 0; k < j->in.n; k++)
        must[j->in.at[k]] = 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned k = 0; k < j->in.n; k++) {
            uint32_t n = j->in.at[k];
            uint8_t all = n != r->f->entry.i;
            GRAPH_PREDS(&r->g, n, p)
            if (r->order.index[*p] != NO_NODE && !gen[*p] && (*p == j->block || !must[*p]))
                all = 0;
            if (all != must[n])
                must[n] = all, changed = true;
        }
    }
}

static void insert_bssy(Reconv *r, const Join *j, uint32_t b) {
    Function *f = r->f;
    const Block *blk = ir_block(f, (BlockId){b});
    InstId i = barrier_inst(f, OT_BSSY, j->reg, reconv_branch(f, blk)->loc);
    ir_set_src(f, i, BSSY_syncpoint, ir_target((BlockId){j->block}));
    ir_insert(f, (BlockId){b}, first_branch(f, blk), i);
}

static void insert_joins_bssy(Reconv *r, const Join *j, uint8_t *must, uint8_t *gen) {
    unsigned n = j->places.n + j->early.n;
    bool several = n > 1;
    if (several)
        solve_must(r, j, must, gen);
    for (unsigned k = 0; k < n; k++) {
        uint32_t b = k < j->places.n ? j->places.at[k] : j->early.at[k - j->places.n];
        bool done = several && must[b] && b != j->block; /* a second BSSY would do nothing */
        if (!done && (!several || gen[b]))
            insert_bssy(r, j, b);
        gen[b] = 0;
    }
    for (unsigned k = 0; several && k < j->in.n; k++)
        must[j->in.at[k]] = 0;
}

static int edge_order(const void *a, const void *b) {
    const GraphEdge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
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

static void insert_break_group(Reconv *r, BlockId b, const Break *breaks, unsigned n) {
    unsigned p = behind_phis(r->f, ir_block(r->f, b));
    LocId loc = ir_inst(r->f, ir_block(r->f, b)->insts.at[p])->loc;
    for (unsigned k = 0; k < n; k++)
        ir_insert(r->f, b, p + k, barrier_inst(r->f, OT_BREAK, r->joins.at[breaks[k].join].reg, loc));
}

static void insert_breaks(Reconv *r) {
    Function *f = r->f;
    VEC(Break) all = {0};
    for (uint32_t k = 0; k < r->joins.n; k++) {
        const Join *j = &r->joins.at[k];
        for (unsigned n = 0; join_is_live(j) && n < j->breaks.n; n++)
            *VEC_PUSH(&r->a, &all) = (Break){j->breaks.at[n], k};
    }
    if (!all.n)
        return;
    qsort(all.at, all.n, sizeof *all.at, break_order);
    for (unsigned k = 0, n = 1; k < all.n; k += n) {
        GraphEdge e = all.at[k].edge;
        for (n = 1; k + n < all.n && edge_order(&all.at[k + n].edge, &e) == 0;)
            n++;
        if (ir_block(f, (BlockId){e.to})->preds.n == 1 && !live_join(r, e.to)) {
            insert_break_group(r, (BlockId){e.to}, &all.at[k], n);
            continue;
        }
        for (unsigned edges = count_edges(f, e); edges > 0; edges--)
            insert_break_group(r, ir_split_edge(f, (BlockId){e.from}, (BlockId){e.to}), &all.at[k], n);
    }
    ir_renumber(f);
}

void reconv_insert(Reconv *r) {
    Function *f = r->f;
    uint8_t *must = ARENA_ARRAY(&r->a, uint8_t, r->g.n), *gen = ARENA_ARRAY(&r->a, uint8_t, r->g.n);
    for (uint32_t k = 0; k < r->joins.n; k++) {
        const Join *j = &r->joins.at[k];
        if (!join_is_live(j))
            continue;
        insert_joins_bssy(r, j, must, gen);
        const Block *blk = ir_block(f, (BlockId){j->block});
        unsigned p = behind_phis(f, blk);
        ir_insert(f, (BlockId){j->block}, p,
                  barrier_inst(f, OT_BSYNC, j->reg, ir_inst(f, blk->insts.at[p])->loc));
    }
    insert_breaks(r);
}
