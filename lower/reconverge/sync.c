/* Collectives: an operation with IF_SYNC, and BAR, run with exactly the lanes of their mask because a
 * WARPSYNC stands before them. Where a partner may be parked at a BSYNC that waits for these lanes, YIELD
 * before it lets that BSYNC pass. In yield=break mode lanes leave all barriers of their function before a
 * YIELD and join them again behind it, which works even where BSYNC does not let lanes pass because of YIELD.
 * SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"
#include <string.h>

typedef struct {
    Reconv *r;
    BlockId block;
    bool yield;
    uint16_t pending; /* registers to leave at a YIELD */
    uint16_t left;    /* registers to join again */
    Operand have;     /* mask on which the active lanes are known to be together */
    Diags *d;
} Cover;

static void insert(Cover *c, unsigned *p, InstId i, LocId loc) {
    ir_inst(c->r->f, i)->loc = loc;
    ir_insert(c->r->f, c->block, (*p)++, i);
}

static InstId plain_inst(Function *f, unsigned op) {
    return ir_inst_new(f, op, isa_num_dst(op), isa_num_src(op));
}

/* The join in whose register reg lanes are pending in this block; 0 if they will not come to it any more. */
static uint32_t join_block(const Cover *c, unsigned reg) {
    const uint32_t *region = c->r->pd.region;
    for (uint32_t k = 0; k < c->r->joins.n; k++) {
        const Join *j = &c->r->joins.at[k];
        for (unsigned n = 0; join_is_live(j) && j->reg == reg && n < j->in.n; n++)
            if (j->in.at[n] == c->block.i)
                return j->early.n || region[j->block] == region[c->block.i] ? j->block : 0;
    }
    return 0;
}

static void leave_barriers(Cover *c, unsigned *p, LocId loc) {
    for (unsigned k = 0; k < NUM_B; k++) {
        if (!(c->pending >> k & 1))
            continue;
        InstId b = plain_inst(c->r->f, OT_BREAK);
        ir_set_src(c->r->f, b, BREAK_breg, op_reg(RF_B, k, 1));
        ir_set_src(c->r->f, b, BREAK_pp, op_pt());
        insert(c, p, b, loc);
    }
    c->left = c->pending;
}

static void join_again(Cover *c, unsigned *p, LocId loc) {
    for (unsigned k = 0; k < NUM_B; k++) {
        uint32_t to = c->left >> k & 1 ? join_block(c, k) : 0;
        if (!to)
            continue;
        InstId b = plain_inst(c->r->f, OT_BSSY);
        ir_set_src(c->r->f, b, BSSY_breg, op_reg(RF_B, k, 1));
        ir_set_src(c->r->f, b, BSSY_syncpoint, ir_target((BlockId){to}));
        insert(c, p, b, loc);
    }
    c->left = 0;
}

static void insert_yield(Cover *c, unsigned *p) {
    LocId loc = ir_inst(c->r->f, ir_block(c->r->f, c->block)->insts.at[*p])->loc;
    if (!c->left)
        leave_barriers(c, p, loc);
    insert(c, p, plain_inst(c->r->f, OT_YIELD), loc);
}

static void insert_warpsync(Cover *c, unsigned *p, Operand mask) {
    Function *f = c->r->f;
    LocId loc = ir_inst(f, ir_block(f, c->block)->insts.at[*p])->loc;
    if (c->yield)
        insert_yield(c, p);
    InstId w = plain_inst(f, OT_WARPSYNC);
    ir_set_src(f, w, WARPSYNC_rb, mask);
    insert(c, p, w, loc);
}

static bool changes_active(const Inst *i) {
    switch (i->op) {
    case OT_CALL:
    case OT_YIELD:
    case OT_NANOSLEEP:
    case OT_BSYNC:
    case OT_WARPSYNC:
    case OT_EXIT:
    case OT_KILL:
    case OT_RET:
    case OT_SYSCALL:
    case OT_RTT: return true;
    default: return false;
    }
}

static bool is_bar(const Inst *i) { return i->op == OT_BAR || i->op == OT_BAR_RED; }

static bool cover_collective(Cover *c, unsigned *p) {
    Function *f = c->r->f;
    InstId id = ir_block(f, c->block)->insts.at[*p];
    const Inst *i = ir_inst(f, id);
    unsigned n = isa_num_src(i->op);
    if (!op_is_always(i->guard))
        return diag(c->d, f->locs.at[i->loc.i].src, DIAG_E0770, ir_op_name(i->op));
    if (i->op == OT_WARPSYNC) {
        if (c->yield)
            insert_yield(c, p);
        c->have = *ir_src(f, ir_inst(f, id), WARPSYNC_rb);
        return true;
    }
    Operand mask = op_imm(UINT32_MAX);
    if (!is_bar(i) && i->nsrc <= n)
        return diag(c->d, f->locs.at[i->loc.i].src, DIAG_E0771, ir_op_name(i->op));
    if (!is_bar(i))
        mask = *ir_src(f, i, n);
    if (i->nsrc > n)
        ir_remove_src(f, id, n);
    if (is_bar(i) || memcmp(&c->have, &mask, sizeof mask) != 0)
        insert_warpsync(c, p, mask);
    c->have = mask;
    return true;
}

/* The lanes have left their barriers for this collective: are they to join again behind instruction p? */
static bool rejoin_here(const Cover *c, const Inst *i, const Inst *next) {
    if (!c->left)
        return false;
    if (i->op == OT_YIELD) /* of a retry edge: nothing but the branch follows */
        return ir_is_terminator(c->r->f, next);
    return i->op == OT_CALL || i->op == OT_NANOSLEEP || is_bar(i) || i->op == OT_WARPSYNC ||
           i->flags & IF_SYNC;
}

static bool cover_block(Cover *c) {
    Function *f = c->r->f;
    for (unsigned p = 0; p < ir_block(f, c->block)->insts.n; p++) {
        const Inst *i = ir_inst(f, ir_block(f, c->block)->insts.at[p]);
        if (is_bar(i) || i->op == OT_WARPSYNC || (i->flags & IF_SYNC)) {
            if (!cover_collective(c, &p))
                return false;
        } else {
            if (changes_active(i))
                c->have = (Operand){0};
            if (i->op == OT_YIELD || (i->op == OT_NANOSLEEP && op_is_always(i->guard)))
                leave_barriers(c, &p, i->loc);
        }
        const Block *b = ir_block(f, c->block);
        i = ir_inst(f, b->insts.at[p]);
        if (p + 1 < b->insts.n && rejoin_here(c, i, ir_inst(f, b->insts.at[p + 1]))) {
            p++;
            join_again(c, &p, i->loc);
            p--;
        }
    }
    return true;
}

bool reconv_cover(Reconv *r, unsigned base, Diags *d) {
    Function *f = r->f;
    for (uint32_t k = 0; k < r->order.count; k++) {
        Cover c = {.r = r, .block = {r->order.order[k]}, .d = d};
        if (!c.block.i)
            continue;
        uint16_t pending = pending_inside(r, c.block.i);
        c.yield = base > 0 || pending || !ir_block(f, c.block)->uniform_flow;
        c.pending = r->yield_breaks ? pending : 0;
        if (!cover_block(&c))
            return false;
    }
    return true;
}
