/* Emitting machine instructions: one small function for each operation that selection needs, so that slots
 * and modifiers of the ISA description are named in one place. All append to the current block.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"
#include <string.h>

/* ---- instructions ---- */

InstId sel_emit(Sel *sel, unsigned op, uint32_t mods, unsigned nsrc, const Operand *src) {
    unsigned nd = ir_is_pseudo(op) ? 0 : isa_num_dst(op), ns = ir_is_pseudo(op) ? nsrc : isa_num_src(op);
    InstId id = ir_inst_new(sel->f, op, nd, ns > nsrc ? ns : nsrc);
    for (unsigned k = 0; k < nsrc; k++)
        ir_set_src(sel->f, id, k, src[k]);
    ir_inst(sel->f, id)->mods = mods;
    ir_inst(sel->f, id)->loc = sel->loc;
    if (sel->cur.i)
        ir_append(sel->f, sel->cur, id);
    return id;
}

InstId sel_last(Sel *sel) {
    const Block *b = ir_block(sel->f, sel->cur);
    return b->insts.n ? b->insts.at[b->insts.n - 1] : (InstId){0};
}

static Operand new_value(Sel *sel, RegFile file, unsigned count) {
    ValId v[IR_MOST_VECTOR];
    for (unsigned k = 0; k < count; k++)
        v[k] = ir_value_new(sel->f, file);
    return ir_vec(sel->f, v, count);
}

static void define_dst(Sel *sel, InstId id, unsigned n, Operand o) {
    ir_set_dst(sel->f, id, n, o);
    for (unsigned c = 0; c < o.count; c++)
        ir_value(sel->f, ir_operand_value(sel->f, o, c))->block = sel->cur;
}

Operand sel_emit_dst(Sel *sel, unsigned op, uint32_t mods, unsigned dst, RegFile file, unsigned count,
                     unsigned nsrc, const Operand *src) {
    InstId id;
    if (ir_is_pseudo(op)) {
        id = ir_inst_new(sel->f, op, 1, nsrc);
        for (unsigned k = 0; k < nsrc; k++)
            ir_set_src(sel->f, id, k, src[k]);
        ir_inst(sel->f, id)->loc = sel->loc;
        if (sel->cur.i)
            ir_append(sel->f, sel->cur, id);
    } else
        id = sel_emit(sel, op, mods, nsrc, src);
    Operand o = new_value(sel, file, count);
    define_dst(sel, id, dst, o);
    return o;
}

Operand sel_add_dsts(Sel *s, InstId i, unsigned dst, RegFile file, unsigned count) {
    Operand o = new_value(s, file, count);
    define_dst(s, i, dst, o);
    return o;
}
Operand sel_add_dst(Sel *s, InstId i, unsigned dst, RegFile file) { return sel_add_dsts(s, i, dst, file, 1); }

Operand sel_new_r(Sel *s) { return new_value(s, RF_R, 1); }

Operand sel_undef(Sel *s, RegFile file) { return sel_emit_dst(s, IR_UNDEF, 0, 0, file, 1, 0, NULL); }

Operand sel_part(Sel *sel, Operand o, unsigned c) {
    if (o.kind != OPK_VAL || o.count == 1)
        return o;
    return ir_val(sel->f, ir_operand_value(sel->f, o, c));
}

Operand sel_value(Sel *s, Operand o) {
    if (o.kind == OPK_VAL && o.count == 1 && !o.mods)
        return o;
    if (o.kind == OPK_VAL && o.file == RF_P)
        return sel_pmov(s, o);
    if (o.kind == OPK_REG && o.file == RF_P)
        return sel_pmov(s, o);
    return sel_mov(s, o);
}

Operand sel_pair(Sel *sel, Operand lo, Operand hi) {
    lo = sel_value(sel, lo);
    hi = sel_value(sel, hi);
    return ir_vec(sel->f, (ValId[]){{lo.value}, {hi.value}}, 2);
}

Operand sel_quad(Sel *sel, const Operand *w, unsigned n) {
    ValId v[IR_MOST_VECTOR];
    for (unsigned k = 0; k < n; k++)
        v[k].i = sel_value(sel, w[k]).value;
    return ir_vec(sel->f, v, n);
}

Wide sel_wide_pair(Sel *s, Operand pair) { return wide2(sel_part(s, pair, 0), sel_part(s, pair, 1)); }

Operand sel_wide_vec(Sel *s, Wide a) { return a.n == 1 ? sel_value(s, a.w[0]) : sel_quad(s, a.w, a.n); }

/* ---- integer ---- */

static Operand zero_is_rz(Operand o) { return op_is_imm(o, 0) ? op_rz() : o; }

static void swap_imm(Operand *operand, Operand *b) { /* immediates and constants go second */
    if (operand->kind != OPK_VAL && b->kind == OPK_VAL) {
        Operand t = *operand;
        *operand = *b;
        *b = t;
    }
}

Operand sel_mov(Sel *s, Operand a) { return EMIT_R(s, OT_MOV, 0, zero_is_rz(a)); }

Operand sel_iadd(Sel *s, Operand a, Operand b) {
    swap_imm(&a, &b);
    return EMIT_R(s, OT_IADD3, 0, zero_is_rz(a), zero_is_rz(b), op_rz(), op_pf(), op_pf());
}

Operand sel_isub(Sel *s, Operand a, Operand b) {
    if (b.kind == OPK_IMM)
        return sel_iadd(s, a, op_imm(0u - b.value));
    if (a.kind == OPK_IMM) /* the immediate's slot is rb */
        return EMIT_R(s, OT_IADD3, 0, op_neg(b), zero_is_rz(a), op_rz(), op_pf(), op_pf());
    return EMIT_R(s, OT_IADD3, 0, a, op_neg(b), op_rz(), op_pf(), op_pf());
}

Operand sel_iadd_cc(Sel *s, Operand a, Operand b, Operand *carry_out) {
    swap_imm(&a, &b);
    Operand d = EMIT_R(s, OT_IADD3, 0, zero_is_rz(a), zero_is_rz(b), op_rz(), op_pf(), op_pf());
    *carry_out = sel_add_dst(s, sel_last(s), IADD3_pu, RF_P);
    return d;
}

/* a + b + carry; in .X a negated operand is its complement */
Operand sel_iadd_x(Sel *s, Operand a, Operand b, Operand carry_in, Operand *carry_out) {
    swap_imm(&a, &b);
    Operand d =
        EMIT_R(s, OT_IADD3, MSET(IADD3, x, 1), zero_is_rz(a), zero_is_rz(b), op_rz(), carry_in, op_pf());
    if (carry_out)
        *carry_out = sel_add_dst(s, sel_last(s), IADD3_pu, RF_P);
    return d;
}

Wide sel_add64(Sel *s, Wide a, Wide b) {
    Operand c, lo = sel_iadd_cc(s, a.w[0], b.w[0], &c);
    return wide2(lo, sel_iadd_x(s, a.w[1], b.w[1], c, NULL));
}

Wide sel_sub64(Sel *s, Wide a, Wide b) {
    if (b.w[0].kind == OPK_IMM && b.w[1].kind == OPK_IMM) {
        uint64_t v = 0u - ((uint64_t)b.w[1].value << 32 | b.w[0].value);
        return sel_add64(s, a, wide2(op_imm((uint32_t)v), op_imm((uint32_t)(v >> 32))));
    }
    /* a + ~b + 1: the low half's negation carries, so that 0 is subtracted right too */
    for (unsigned k = 0; k < 2; k++)
        a.w[k] = sel_value(s, a.w[k]), b.w[k] = sel_value(s, b.w[k]);
    Operand lo = EMIT_R(s, OT_IADD3, 0, a.w[0], op_neg(b.w[0]), op_rz(), op_pf(), op_pf());
    Operand c = sel_add_dst(s, sel_last(s), IADD3_pu, RF_P);
    return wide2(lo, EMIT_R(s, OT_IADD3, MSET(IADD3, x, 1), a.w[1], op_neg(b.w[1]), op_rz(), c, op_pf()));
}

Wide sel_neg64(Sel *s, Wide a) {
    Operand c, lo, hi, a0 = sel_value(s, a.w[0]), a1 = sel_value(s, a.w[1]);
    lo = EMIT_R(s, OT_IADD3, 0, op_rz(), op_neg(a0), op_rz(), op_pf(), op_pf());
    c = sel_add_dst(s, sel_last(s), IADD3_pu, RF_P);
    hi = EMIT_R(s, OT_IADD3, MSET(IADD3, x, 1), op_rz(), op_neg(a1), op_rz(), c, op_pf());
    return wide2(lo, hi);
}

Operand sel_imad(Sel *s, Operand a, Operand b, Operand c) {
    swap_imm(&a, &b);
    return EMIT_R(s, OT_IMAD, MSET(IMAD, sign, ISign_U32), a, zero_is_rz(b), zero_is_rz(c), op_pf());
}

Wide sel_imad_wide(Sel *s, bool is_signed, Operand a, Operand b, Wide *wide) {
    swap_imm(&a, &b);
    Operand add = wide ? sel_pair(s, wide->w[0], wide->w[1]) : op_rz();
    return sel_wide_pair(s, EMIT_R2(s, OT_IMAD_WIDE, MSET(IMAD_WIDE, sign, is_signed ? ISign_S32 : ISign_U32),
                                    a, zero_is_rz(b), add, op_pf()));
}

Operand sel_imad_hi(Sel *s, bool is_signed, Operand a, Operand b) {
    swap_imm(&a, &b);
    return EMIT_R(s, OT_IMAD_HI, MSET(IMAD_HI, sign, is_signed ? ISign_S32 : ISign_U32), a, zero_is_rz(b),
                  op_rz(), op_pf());
}

Operand sel_lop(Sel *s, unsigned lut, Operand a, Operand b, Operand c) {
    return EMIT_R(s, OT_LOP3, MSET(LOP3, lut, lut), a, b, c, op_pf());
}

Operand sel_and(Sel *s, Operand a, Operand b) {
    swap_imm(&a, &b);
    return sel_lop(s, LUT_AND, a, b, op_rz());
}
Operand sel_or(Sel *s, Operand a, Operand b) {
    swap_imm(&a, &b);
    return sel_lop(s, LUT_OR, a, b, op_rz());
}
Operand sel_xor(Sel *s, Operand a, Operand b) {
    swap_imm(&a, &b);
    return sel_lop(s, LUT_XOR, a, b, op_rz());
}

Wide sel_both(Sel *s, Operand (*op)(Sel *, Operand, Operand), Wide a, Wide b) {
    Operand low = op(s, a.w[0], b.w[0]);
    return wide2(low, op(s, a.w[1], b.w[1]));
}

/* SHF moves {rc:ra}; without .HI the low word of the result is taken, with it the high word. */
Operand sel_shl(Sel *s, Operand a, Operand n) {
    return EMIT_R(s, OT_SHF, MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_L), a, n, op_rz());
}

Operand sel_shr(Sel *s, bool is_signed, Operand a, Operand n) {
    return EMIT_R(s, OT_SHF,
                  MSET(SHF, type, is_signed ? ShfType_S32 : ShfType_U32) | MSET(SHF, dir, ShfDir_R) |
                      MSET(SHF, hi, 1),
                  op_rz(), n, a);
}

/* Is it a 64-bit shift by a constant that moves one word into the other's place? */
static bool moves_words(Operand n) { return n.kind == OPK_IMM && n.value >= 32; }

Wide sel_shl64(Sel *s, Wide a, Operand n) {
    if (moves_words(n))
        return wide2(op_imm(0), n.value >= 64   ? op_imm(0)
                                : n.value == 32 ? a.w[0]
                                                : sel_shl(s, a.w[0], op_imm(n.value - 32)));
    Operand lo = sel_shl(s, a.w[0], n);
    Operand hi = EMIT_R(s, OT_SHF, MSET(SHF, type, ShfType_U64) | MSET(SHF, dir, ShfDir_L) | MSET(SHF, hi, 1),
                        a.w[0], n, a.w[1]);
    return wide2(lo, hi);
}

Wide sel_shr64(Sel *s, bool is_signed, Wide a, Operand n) {
    if (moves_words(n)) {
        Operand fill = is_signed ? sel_shr(s, true, a.w[1], op_imm(31)) : op_imm(0);
        return wide2(n.value >= 64   ? fill
                     : n.value == 32 ? a.w[1]
                                     : sel_shr(s, is_signed, a.w[1], op_imm(n.value - 32)),
                     fill);
    }
    Operand lo =
        EMIT_R(s, OT_SHF, MSET(SHF, type, is_signed ? ShfType_S64 : ShfType_U64) | MSET(SHF, dir, ShfDir_R),
               a.w[0], n, a.w[1]);
    return wide2(lo, sel_shr(s, is_signed, a.w[1], n));
}

Operand sel_prmt(Sel *s, Operand a, Operand sel, Operand b) {
    return EMIT_R(s, OT_PRMT, MSET(PRMT, mode, PrmtMode_IDX), zero_is_rz(a), sel, zero_is_rz(b));
}

Operand sel_select(Sel *s, Operand p, Operand a, Operand b) {
    if (a.kind != OPK_VAL && b.kind == OPK_VAL) { /* rb takes the immediate */
        Operand t = a;
        a = b;
        b = t;
        p = op_not(p);
    }
    return EMIT_R(s, OT_SEL, 0, zero_is_rz(a), zero_is_rz(b), p);
}

Wide sel_select64(Sel *s, Operand p, Wide a, Wide b) {
    Operand lo = sel_select(s, p, a.w[0], b.w[0]);
    return wide2(lo, sel_select(s, p, a.w[1], b.w[1]));
}

Operand sel_minmax(Sel *sel, bool is_signed, bool is_max, Operand a, Operand b) {
    swap_imm(&a, &b);
    if (!isa_target_has(sel->t, OT_IMNMX))
        return EMIT_R(sel, OT_VIMNMX, MSET(VIMNMX, type, is_signed ? VimnmxType_S32 : VimnmxType_U32), a,
                      zero_is_rz(b), is_max ? op_pf() : op_pt());
    return EMIT_R(sel, OT_IMNMX, MSET(IMNMX, sign, is_signed ? ISign_S32 : ISign_U32), a, zero_is_rz(b),
                  is_max ? op_pf() : op_pt());
}

Operand sel_isetp(Sel *s, bool is_signed, unsigned icmp, Operand a, Operand b) {
    return EMIT_P(s, OT_ISETP,
                  MSET(ISETP, sign, is_signed ? ISign_S32 : ISign_U32) | MSET(ISETP, cmp, icmp) |
                      MSET(ISETP, bop, BoolOp_AND),
                  zero_is_rz(a), zero_is_rz(b), op_pt(), op_pt());
}

Operand sel_isetp64(Sel *s, bool is_signed, unsigned icmp, Wide a, Wide b) {
    Operand low = sel_isetp(s, false, icmp, a.w[0], b.w[0]);
    return EMIT_P(s, OT_ISETP,
                  MSET(ISETP, sign, is_signed ? ISign_S32 : ISign_U32) | MSET(ISETP, cmp, icmp) |
                      MSET(ISETP, bop, BoolOp_AND) | MSET(ISETP, ex, 1),
                  zero_is_rz(a.w[1]), zero_is_rz(b.w[1]), op_pt(), low);
}

Operand sel_extend(Sel *s, Operand a, unsigned bytes, bool is_signed) {
    if (bytes >= 4)
        return a;
    unsigned bits = bytes * 8;
    if (a.kind == OPK_IMM) {
        uint32_t v = a.value << (32 - bits);
        return op_imm(is_signed ? (uint32_t)((int32_t)v >> (32 - bits)) : v >> (32 - bits));
    }
    if (!is_signed)
        return sel_and(s, a, op_imm(bytes == 1 ? 0xff : 0xffff));
    /* selector nibble + 8 replicates the byte's sign */
    return sel_prmt(s, a, op_imm(bytes == 1 ? 0x8880 : 0x9910), op_rz());
}

/* ---- predicates ---- */

Operand sel_plop(Sel *s, unsigned lut, Operand p, Operand q, Operand r) {
    return EMIT_P(s, OT_PLOP3, MSET(PLOP3, lut, lut) | MSET(PLOP3, lut2, 0), p, q, r);
}
Operand sel_pmov(Sel *s, Operand p) { return sel_plop(s, 0xf0, p, op_pt(), op_pt()); }
Operand sel_pand(Sel *s, Operand p, Operand q) { return sel_plop(s, LUT_AND, p, q, op_pt()); }
Operand sel_por(Sel *s, Operand p, Operand q) { return sel_plop(s, LUT_OR, p, q, op_pt()); }
Operand sel_pxor(Sel *s, Operand p, Operand q) { return sel_plop(s, LUT_XOR, p, q, op_pt()); }

Operand sel_pred(Sel *s, Operand p) { return p.kind == OPK_VAL && !p.mods ? p : sel_pmov(s, p); }

/* ---- float ---- */

/* x + (-0): exact, except that .FTZ flushes and a NaN becomes the canonical one */
Operand sel_flush(Sel *s, Operand a) {
    return EMIT_R(s, OT_FADD, MSET(FADD, ftz, 1) | MSET(FADD, rnd, Rnd_RN), a, op_imm(0x80000000u));
}

Operand sel_mufu(Sel *s, unsigned func, Operand a) { return EMIT_R(s, OT_MUFU, MSET(MUFU, func, func), a); }
