/* What a loop keeps of its last round: `previous = current; current = next(current)`,
 *     loop: k = phi(a, x)      x = phi(b, y)      ... k, x ...      y = x + 1      bra loop
 * is two copies at the loop's end, three exclusive ors where y has taken k's register, as x is alive until it
 * is copied. Copied in front of y, where nobody reads k any more,
 *     loop: k = phi(a, t)      x = phi(b, y)      ... k, x ...      t = MOV x      y = x + 1      bra loop
 * t is in k's register and y in x's (webs.c): one instruction. What reads x behind y reads t.
 * In: SSA form, before updates.c. SPDX-License-Identifier: MIT */
#include "regalloc/regalloc.h"

typedef struct {
    Function *f;
    Arena a;
    RaCfg g;
    RaLive live;
    bool has_live; /* once made it holds too much, never too little */
} Rotate;

static bool is_one_word(Operand o) { return o.kind == OPK_VAL && o.count == 1 && o.file == RF_R && !o.mods; }

static const RaSet *live_sets(Rotate *rotate, bool out) {
    if (!rotate->has_live) {
        ra_cfg(rotate->f, &rotate->a, &rotate->g);
        ra_live(rotate->f, &rotate->g, &rotate->a, &rotate->live);
        rotate->has_live = true;
    }
    return out ? rotate->live.out : rotate->live.in;
}

static bool reads_value(Function *f, const Inst *i, uint32_t value, bool alone) {
    FOR_READS(f, i, read) {
        ValId v[IR_MOST_VECTOR];
        for (unsigned m = 0, n = ra_values(f, *read, v); m < n; m++)
            if (v[m].i == value && (!alone || read->count != 1))
                return true;
    }
    return false;
}

/* The phi of the header that takes x from its source s, and whose own value is read neither at `at` or behind
 * it in b nor behind b. */
static bool keeps_last(Rotate *rotate, BlockId header, BlockId b, unsigned s, unsigned at, uint32_t x) {
    Function *f = rotate->f;
    FOR_PHIS(f, header, phi) {
        uint32_t k = ir_dst(f, phi, 0)->value;
        Operand from = *ir_src(f, phi, s);
        if (!is_one_word(*ir_dst(f, phi, 0)) || !is_one_word(from) || from.value != x || k == x)
            continue;
        f->module->steps++;
        bool dead = !ra_set_has(&live_sets(rotate, true)[b.i], k);
        for (unsigned p = at; dead && p < ir_num_insts(f, b); p++)
            dead = !reads_value(f, ir_inst(f, ir_inst_at(f, b, p)), k, false);
        if (dead)
            return true;
    }
    return false;
}

/* Is x, of the header, alive behind b for the header's phis alone, and nowhere part of a vector behind y? */
static bool is_handed_on(Rotate *rotate, BlockId header, BlockId b, unsigned at, uint32_t x) {
    Function *f = rotate->f;
    const Block *block = ir_block(f, b);
    for (unsigned k = 0; k < block->succs.n; k++)
        if (block->succs.at[k].i != header.i &&
            ra_set_has(&live_sets(rotate, false)[block->succs.at[k].i], x))
            return false;
    for (unsigned k = 0; k < block->succs.n; k++)
        FOR_PHIS(f, block->succs.at[k], phi)
            FOR_SRCS(f, phi, src)
                if (block->succs.at[k].i != header.i && src->kind == OPK_VAL && src->value == x)
                    return false;
    for (unsigned p = at + 1; p < ir_num_insts(f, b); p++)
        if (reads_value(f, ir_inst(f, ir_inst_at(f, b, p)), x, true))
            return false;
    return true;
}

static unsigned position_of(Function *f, BlockId b, InstId id) {
    unsigned p = 0;
    while (p < ir_num_insts(f, b) && ir_inst_at(f, b, p).i != id.i)
        p++;
    return p;
}

/* y, made by a plain instruction of b, is what x becomes in the next round. */
static void copy_before(Rotate *rotate, BlockId header, BlockId b, unsigned s, uint32_t x, uint32_t y) {
    Function *f = rotate->f;
    const Value *next = &f->values.at[y];
    if (!next->def.i || next->block.i != b.i)
        return;
    const Inst *i = ir_inst(f, next->def);
    if (ir_is_pseudo(i->op) || i->op == OT_CALL || !op_is_always(i->guard) || i->flags & IF_TIED)
        return;
    unsigned at = position_of(f, b, next->def);
    if (at == ir_num_insts(f, b) || !keeps_last(rotate, header, b, s, at, x) ||
        !is_handed_on(rotate, header, b, at, x))
        return;
    ValId t = ir_value_new(f, RF_R);
    Value *now = ir_value(f, t), *old = ir_value(f, (ValId){x});
    now->ptx_reg = old->ptx_reg, now->component = old->component, now->uniform = old->uniform;
    now->block = b;
    InstId id = ir_inst_new(f, OT_MOV, isa_num_dst(OT_MOV), isa_num_src(OT_MOV));
    ir_set_dst(f, id, 0, ir_val(f, t));
    ir_set_src(f, id, MOV_rb, ir_val(f, (ValId){x}));
    ir_inst(f, id)->loc = ir_inst(f, ir_inst_at(f, b, at))->loc;
    ir_insert(f, b, at, id);
    for (unsigned p = at + 2; p < ir_num_insts(f, b); p++)
        FOR_USES(f, ir_inst(f, ir_inst_at(f, b, p)), use)
            if (use->kind == OPK_VAL && use->count == 1 && use->value == x)
                use->value = t.i;
    FOR_PHIS(f, header, phi)
        if (is_one_word(*ir_src(f, phi, s)) && ir_src(f, phi, s)->value == x)
            *ir_src(f, phi, s) = ir_val(f, t);
}

void ra_rotate(Function *f) {
    Rotate rotate = {.f = f};
    FOR_BLOCKS(f, b)
        for (unsigned s = 0; s < ir_block(f, b)->preds.n; s++)
            FOR_PHIS(f, b, phi) {
                Operand x = *ir_dst(f, phi, 0), y = *ir_src(f, phi, s);
                if (is_one_word(x) && is_one_word(y) && x.value != y.value)
                    copy_before(&rotate, b, ir_block(f, b)->preds.at[s], s, x.value, y.value);
            }
    arena_free(&rotate.a);
}
