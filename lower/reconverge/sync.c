/* Collectives: an operation with IF_SYNC, and BAR, run with exactly the lanes of their mask because a
 * WARPSYNC stands before them, but for those of all lanes where the warp is together anyway
 * (lower/reconverge/together.c). Where a partner may be parked at a BSYNC that waits for these lanes, YIELD
 * before it lets that BSYNC pass. In yield=break mode lanes leave all barriers of their function before a
 * YIELD and join them again behind it, which works even where BSYNC does not let lanes pass because of YIELD.
 * SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"
#include <string.h>

typedef struct {
    Reconv *reconv;
    BlockId block;
    bool yield;
    uint16_t pending; /* registers to leave at a YIELD */
    uint16_t left;    /* registers to join again */
    Operand have;     /* mask on which the active lanes are known to be together */
    Operand active;   /* mask that names the active lanes, whichever these are */
    bool together;    /* the whole warp is */
    Diags *diags;
} Cover;

static void insert(Cover *cover, unsigned *p, InstId i, LocId loc) {
    ir_inst(cover->reconv->f, i)->loc = loc;
    ir_insert(cover->reconv->f, cover->block, (*p)++, i);
}

static InstId plain_inst(Function *f, unsigned op) {
    return ir_inst_new(f, op, isa_num_dst(op), isa_num_src(op));
}

/* Where lanes meet that are pending in register reg in this block; 0 if they will not come there any more. */
static uint32_t join_block(const Cover *cover, unsigned reg) {
    const uint32_t *region = cover->reconv->pd.region;
    for (uint32_t k = 0; k < cover->reconv->joins.n; k++) {
        const Join *join = &cover->reconv->joins.at[k];
        for (unsigned n = 0; join_is_live(join) && join->reg == reg && n < join->in.n; n++) {
            if (join->in.at[n] != cover->block.i)
                continue;
            if (join->scoped) {
                uint32_t round = reconv_mark_reaching(cover->reconv, join);
                return cover->reconv->mark[cover->block.i] == round ? join->meet : 0;
            }
            return join->early.n || region[join->block] == region[cover->block.i] ? join->meet : 0;
        }
    }
    return 0;
}

static void leave_barriers(Cover *cover, unsigned *p, LocId loc) {
    for (unsigned k = 0; k < NUM_B; k++) {
        if (!(cover->pending >> k & 1))
            continue;
        InstId b = plain_inst(cover->reconv->f, OT_BREAK);
        ir_set_src(cover->reconv->f, b, BREAK_breg, op_reg(RF_B, k, 1));
        ir_set_src(cover->reconv->f, b, BREAK_pp, op_pt());
        insert(cover, p, b, loc);
    }
    cover->left = cover->pending;
}

static void join_again(Cover *cover, unsigned *p, LocId loc) {
    for (unsigned k = 0; k < NUM_B; k++) {
        uint32_t to = cover->left >> k & 1 ? join_block(cover, k) : 0;
        if (!to)
            continue;
        InstId b = plain_inst(cover->reconv->f, OT_BSSY);
        ir_set_src(cover->reconv->f, b, BSSY_breg, op_reg(RF_B, k, 1));
        ir_set_src(cover->reconv->f, b, BSSY_syncpoint, ir_target((BlockId){to}));
        insert(cover, p, b, loc);
    }
    cover->left = 0;
}

static void insert_yield(Cover *cover, unsigned *p) {
    LocId loc = ir_inst(cover->reconv->f, ir_block(cover->reconv->f, cover->block)->insts.at[*p])->loc;
    if (!cover->left)
        leave_barriers(cover, p, loc);
    insert(cover, p, plain_inst(cover->reconv->f, OT_YIELD), loc);
}

static void insert_warpsync(Cover *cover, unsigned *p, Operand mask) {
    Function *f = cover->reconv->f;
    LocId loc = ir_inst(f, ir_block(f, cover->block)->insts.at[*p])->loc;
    if (cover->yield)
        insert_yield(cover, p);
    InstId w = plain_inst(f, OT_WARPSYNC);
    ir_set_src(f, w, WARPSYNC_rb, mask);
    insert(cover, p, w, loc);
}

bool reconv_changes_active(const Inst *i) {
    const uint32_t leaves = ISA_EFFECT_SWITCH | ISA_EFFECT_CALL | ISA_EFFECT_EXIT | ISA_EFFECT_RETURN;
    return isa_has_effect(i->op, leaves);
}

static bool is_bar(const Inst *i) { return isa_has_effect(i->op, ISA_EFFECT_CTA_BARRIER); }

/* of_active: its lanes are those that are active, so it needs nothing. */
static bool cover_collective(Cover *cover, unsigned *p, bool of_active) {
    Function *f = cover->reconv->f;
    InstId id = ir_block(f, cover->block)->insts.at[*p];
    const Inst *i = ir_inst(f, id);
    unsigned n = isa_num_src(i->op);
    if (!op_is_always(i->guard))
        return diag(cover->diags, f->locs.at[i->loc.i].src, DIAG_E0770, ir_op_name(i->op));
    if (i->op == OT_WARPSYNC) {
        if (cover->yield)
            insert_yield(cover, p);
        cover->have = *ir_src(f, ir_inst(f, id), WARPSYNC_rb);
        return true;
    }
    Operand mask = op_imm(UINT32_MAX);
    if (!is_bar(i) && i->nsrc <= n)
        return diag(cover->diags, f->locs.at[i->loc.i].src, DIAG_E0771, ir_op_name(i->op));
    if (!is_bar(i))
        mask = *ir_src(f, i, n);
    if (i->nsrc > n)
        ir_remove_src(f, id, n);
    if (of_active)
        return true;
    bool all = mask.kind == OPK_IMM && mask.value == UINT32_MAX;
    if ((is_bar(i) || memcmp(&cover->have, &mask, sizeof mask) != 0) && !(all && cover->together))
        insert_warpsync(cover, p, mask);
    cover->have = mask;
    return true;
}

/* The lanes have left their barriers for this collective: are they to join again behind instruction p? */
static bool rejoin_here(const Cover *cover, const Inst *i, const Inst *next) {
    if (!cover->left)
        return false;
    if (i->op == OT_YIELD) /* of a retry edge: nothing but the branch follows */
        return ir_is_terminator(cover->reconv->f, next);
    return i->op == OT_CALL || i->op == OT_NANOSLEEP || is_bar(i) || i->op == OT_WARPSYNC ||
           i->flags & IF_SYNC;
}

static bool cover_block(Cover *cover) {
    Function *f = cover->reconv->f;
    for (unsigned p = 0; p < ir_block(f, cover->block)->insts.n; p++) {
        const Inst *i = ir_inst(f, ir_block(f, cover->block)->insts.at[p]);
        bool together = reconv_step_together(f, i, cover->together);
        bool of_active = reconv_step_active(f, i, &cover->active);
        if (is_bar(i) || i->op == OT_WARPSYNC || (i->flags & IF_SYNC)) {
            if (!cover_collective(cover, &p, of_active))
                return false;
        } else {
            if (reconv_changes_active(i))
                cover->have = (Operand){0};
            if (i->op == OT_YIELD || (i->op == OT_NANOSLEEP && op_is_always(i->guard)))
                leave_barriers(cover, &p, i->loc);
        }
        const Block *b = ir_block(f, cover->block);
        i = ir_inst(f, b->insts.at[p]);
        cover->together = together;
        if (p + 1 < b->insts.n && rejoin_here(cover, i, ir_inst(f, b->insts.at[p + 1]))) {
            p++;
            join_again(cover, &p, i->loc);
            p--;
        }
    }
    return true;
}

bool reconv_cover(Reconv *reconv, unsigned base, Diags *diags) {
    Function *f = reconv->f;
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        Cover c = {.reconv = reconv, .block = {reconv->order.order[k]}, .diags = diags};
        if (!c.block.i)
            continue;
        c.together = !reconv->apart[c.block.i];
        uint16_t pending = pending_inside(reconv, c.block.i);
        c.yield = base > 0 || pending || !ir_block(f, c.block)->uniform_flow;
        c.pending = reconv->yield_breaks ? pending : 0;
        if (!cover_block(&c))
            return false;
    }
    return true;
}
