/* Selection of comparison, selection, logic and shifts: PTX ISA 9.7.6 and 9.7.8, prmt of 9.7.9.7.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

/* ---- comparison ---- */

static bool int_compare(PtxCmp c, unsigned *icmp, bool *force_unsigned) {
    *force_unsigned = c == CMP_LO || c == CMP_LS || c == CMP_HI || c == CMP_HS;
    switch (c) {
    case CMP_EQ: *icmp = ICmp_EQ; return true;
    case CMP_NE: *icmp = ICmp_NE; return true;
    case CMP_LT:
    case CMP_LO: *icmp = ICmp_LT; return true;
    case CMP_LE:
    case CMP_LS: *icmp = ICmp_LE; return true;
    case CMP_GT:
    case CMP_HI: *icmp = ICmp_GT; return true;
    case CMP_GE:
    case CMP_HS: *icmp = ICmp_GE; return true;
    default: return false;
    }
}

/* The enumeration FCmp; DCmp has the same numbers except for its ends. */
static bool float_compare(PtxCmp c, unsigned *fcmp) {
    static const uint8_t code[] = {
        [CMP_EQ] = FCmp_EQ,   [CMP_NE] = FCmp_NE,   [CMP_LT] = FCmp_LT,   [CMP_LE] = FCmp_LE,
        [CMP_GT] = FCmp_GT,   [CMP_GE] = FCmp_GE,   [CMP_EQU] = FCmp_EQU, [CMP_NEU] = FCmp_NEU,
        [CMP_LTU] = FCmp_LTU, [CMP_LEU] = FCmp_LEU, [CMP_GTU] = FCmp_GTU, [CMP_GEU] = FCmp_GEU,
        [CMP_NUM] = FCmp_NUM, [CMP_NAN] = FCmp_NAN};
    if (c > CMP_NAN || !code[c])
        return false;
    *fcmp = code[c];
    return true;
}

static bool compare_float(Sel *s, const PtxInsn *in, PtxType t, const PtxOperand *a, const PtxOperand *b,
                          Operand *p) {
    unsigned cmp;
    if (!float_compare((PtxCmp)in->cmp, &cmp))
        return false;
    if (t == TY_F64) {
        Operand x = sel_wide_vec(s, sel_src(s, a, 8)), y = sel_wide_vec(s, sel_src(s, b, 8));
        *p = EMIT_P(s, OT_DSETP, MSET(DSETP, cmp, cmp) | MSET(DSETP, bop, BoolOp_AND), x, y, op_pt());
        return true;
    }
    Operand x = sel_src32(s, a), y = sel_src32(s, b);
    *p = EMIT_P(s, OT_FSETP,
                MSET(FSETP, cmp, cmp) | MSET(FSETP, bop, BoolOp_AND) |
                    MSET(FSETP, ftz, (in->flags & PF_FTZ) != 0),
                x, y, op_pt());
    return true;
}

bool sel_compare(Sel *s, const PtxInsn *in, PtxType t, const PtxOperand *a, const PtxOperand *b, Operand *p) {
    unsigned cmp;
    bool force_unsigned;
    if (t == TY_F32 || t == TY_F64)
        return compare_float(s, in, t, a, b, p);
    if (t == TY_F16 || t == TY_BF16)
        return isel_hsetp_pred(s, in, t, a, b, p, NULL);
    if (ptx_type_class(t) == TC_FLOAT || !int_compare((PtxCmp)in->cmp, &cmp, &force_unsigned))
        return false;
    bool sg = type_signed(t) && !force_unsigned;
    if (ptx_type_bytes(t) == 8) {
        Wide x = sel_src(s, a, 8), y = sel_src(s, b, 8);
        *p = sel_isetp64(s, sg, cmp, x, y);
    } else {
        PtxType ext = ptx_type_bytes(t) == 4 ? t : sg ? TY_S16 : TY_U16;
        Operand x = sel_src_ext(s, a, ext), y = sel_src_ext(s, b, ext);
        *p = sel_isetp(s, sg, cmp, x, y);
    }
    return true;
}

static Operand emit_bool_op(Sel *s, const PtxInsn *in, Operand p, Operand c) {
    switch (in->bop) {
    case BOP_OR: return sel_por(s, p, c);
    case BOP_XOR: return sel_pxor(s, p, c);
    default: return sel_pand(s, p, c);
    }
}

/* The compare instruction just made takes the combination itself, and gives its complement's too (q, unless
 * NULL). */
static bool fold_combine(Sel *sel, const PtxInsn *in, Operand p, Operand *q, Operand c) {
    InstId id = sel_last(sel);
    const Inst *i = ir_inst(sel->f, id);
    const OpTraits *traits = isa_traits(i->op);
    if (i->ndst == 0 || ir_dst(sel->f, i, 0)->value != p.value || i->loc.i != sel->loc.i || p.mods ||
        traits->combines_src == ISA_NO_SLOT || (q && traits->combines_dst == ISA_NO_SLOT) ||
        isa_combine_op(i->op, i->mods) != BoolOp_AND ||
        !op_is_always(*ir_src(sel->f, i, traits->combines_src)))
        return false;
    ir_inst(sel->f, id)->mods = isa_with_combine_op(i->op, i->mods,
                                                    in->bop == BOP_OR    ? BoolOp_OR
                                                    : in->bop == BOP_XOR ? BoolOp_XOR
                                                                         : BoolOp_AND);
    ir_set_src(sel->f, id, traits->combines_src, c);
    if (q) {
        *q = ir_val(sel->f, ir_value_new(sel->f, RF_P));
        ir_set_dst(sel->f, id, traits->combines_dst, *q);
    }
    return true;
}

bool isel_setp(Sel *s, const PtxInsn *in) {
    const PtxOperand *src = &in->operands[in->ndst];
    bool has_c = in->noperands - in->ndst > 2;
    Operand p, q = op_none(), c = has_c ? sel_src_pred(s, &src[2]) : op_pt();
    if (sel_type(in) == TY_F16X2 || sel_type(in) == TY_BF16X2) {
        if (!isel_hsetp_pred(s, in, sel_type(in), &src[0], &src[1], &p, in->ndst == 2 ? &q : NULL))
            return false;
        sel_write_pred(s, &in->operands[0], has_c ? emit_bool_op(s, in, p, c) : p);
        if (in->ndst == 2)
            sel_write_pred(s, &in->operands[1], has_c ? emit_bool_op(s, in, q, c) : q);
        return true;
    }
    if (!sel_compare(s, in, sel_type(in), &src[0], &src[1], &p))
        return false;
    bool two = in->ndst > 1 && in->operands[1].kind != PO_SINK;
    if ((two || has_c) && !fold_combine(s, in, p, two ? &q : NULL, c)) {
        if (two)
            q = has_c ? emit_bool_op(s, in, op_not(p), c) : sel_pmov(s, op_not(p));
        if (has_c)
            p = emit_bool_op(s, in, p, c);
    }
    sel_write_pred(s, &in->operands[0], p);
    if (two)
        sel_write_pred(s, &in->operands[1], q);
    return true;
}

/* What a comparison that holds gives, in a half where the types are halves (9.7.7.1). */
static uint32_t set_truth(PtxType d) {
    switch (d) {
    case TY_F32: return 0x3f800000;
    case TY_F16:
    case TY_F16X2: return 0x3c00;
    case TY_BF16:
    case TY_BF16X2: return 0x3f80;
    default: return 0xffffffff;
    }
}

/* Both halves of bf16x2: no instruction below sm_90 compares them. */
static bool set_bf16x2(Sel *s, const PtxInsn *in, Operand c) {
    Operand p[2], half[2];
    uint32_t truth = set_truth(sel_type(in)) & 0xffff;
    if (!isel_hsetp_pred(s, in, TY_BF16X2, &in->operands[1], &in->operands[2], &p[0], &p[1]))
        return false;
    for (unsigned h = 0; h < 2; h++) {
        if (in->noperands > 3)
            p[h] = emit_bool_op(s, in, p[h], c);
        half[h] = sel_select(s, op_not(p[h]), op_rz(), op_imm(truth << (16 * h)));
    }
    sel_write32(s, &in->operands[0], sel_type(in), sel_or(s, half[0], half[1]));
    return true;
}

/* Halves that are compared and filled by one instruction; of a scalar the upper one means nothing. */
static bool set_halves(Sel *s, const PtxInsn *in, Operand c) {
    PtxType d = sel_type(in);
    unsigned cmp, bop = in->bop == BOP_OR ? BoolOp_OR : in->bop == BOP_XOR ? BoolOp_XOR : BoolOp_AND;
    if (!float_compare((PtxCmp)in->cmp, &cmp))
        return false;
    Operand a = sel_value(s, sel_src32(s, &in->operands[1])),
            b = sel_value(s, sel_src32(s, &in->operands[2]));
    sel_write32(s, &in->operands[0], d,
                EMIT_R(s, OT_HSET2,
                       MSET(HSET2, cmp, cmp) | MSET(HSET2, bop, bop) |
                           MSET(HSET2, ftz, (in->flags & PF_FTZ) != 0) |
                           MSET(HSET2, bf, d == TY_F16 || d == TY_F16X2),
                       a, b, c));
    return true;
}

bool isel_set(Sel *s, const PtxInsn *in) {
    PtxType d = sel_type(in), t = (PtxType)in->type[1];
    Operand p;
    bool has_c = in->noperands > 3;
    Operand c = has_c ? sel_src_pred(s, &in->operands[3]) : op_pt();
    if (t == TY_BF16X2)
        return set_bf16x2(s, in, c);
    if (t == TY_F16X2 || (t == TY_F16 && ptx_type_bytes(d) == 2 && d != TY_BF16))
        return set_halves(s, in, c);
    if (!sel_compare(s, in, t, &in->operands[1], &in->operands[2], &p))
        return false;
    if (has_c)
        p = emit_bool_op(s, in, p, c);
    sel_write32(s, &in->operands[0], d, sel_select(s, op_not(p), op_rz(), op_imm(set_truth(d))));
    return true;
}

bool isel_selp(Sel *s, const PtxInsn *in) {
    unsigned bytes = ptx_type_bytes(sel_type(in));
    Wide a = sel_src(s, &in->operands[1], bytes), b = sel_src(s, &in->operands[2], bytes), d = {.n = a.n};
    Operand p = sel_src_pred(s, &in->operands[3]);
    for (unsigned c = 0; c < a.n; c++)
        d.w[c] = sel_select(s, p, a.w[c], b.w[c]);
    sel_write(s, &in->operands[0], sel_type(in), d);
    return true;
}

bool isel_slct(Sel *s, const PtxInsn *in) {
    unsigned bytes = ptx_type_bytes(sel_type(in));
    Wide a = sel_src(s, &in->operands[1], bytes), b = sel_src(s, &in->operands[2], bytes), d = {.n = a.n};
    Operand c = sel_src32(s, &in->operands[3]), p;
    if (in->type[1] == TY_F32)
        p = EMIT_P(s, OT_FSETP,
                   MSET(FSETP, cmp, FCmp_GE) | MSET(FSETP, bop, BoolOp_AND) |
                       MSET(FSETP, ftz, (in->flags & PF_FTZ) != 0),
                   c, op_rz(), op_pt());
    else
        p = sel_isetp(s, true, ICmp_GE, c, op_imm(0));
    for (unsigned k = 0; k < a.n; k++)
        d.w[k] = sel_select(s, p, a.w[k], b.w[k]);
    sel_write(s, &in->operands[0], sel_type(in), d);
    return true;
}

/* ---- logic ---- */

static unsigned lut_of(const PtxInsn *in) {
    return in->op == PTX_AND ? LUT_AND : in->op == PTX_OR ? LUT_OR : LUT_XOR;
}

bool isel_logic(Sel *s, const PtxInsn *in) {
    const PtxOperand *a = &in->operands[1], *b = &in->operands[2];
    if (sel_type(in) == TY_PRED) {
        Operand x = sel_src_pred(s, a), y = sel_src_pred(s, b);
        sel_write_pred(s, &in->operands[0], sel_plop(s, lut_of(in), x, y, op_pt()));
        return true;
    }
    unsigned bytes = ptx_type_bytes(sel_type(in));
    Wide x = sel_src(s, a, bytes), y = sel_src(s, b, bytes), d = {.n = x.n};
    for (unsigned c = 0; c < x.n; c++)
        d.w[c] = lut_of(in) == LUT_AND  ? sel_and(s, x.w[c], y.w[c])
                 : lut_of(in) == LUT_OR ? sel_or(s, x.w[c], y.w[c])
                                        : sel_xor(s, x.w[c], y.w[c]);
    sel_write(s, &in->operands[0], sel_type(in), d);
    return true;
}

bool isel_not(Sel *s, const PtxInsn *in) {
    if (sel_type(in) == TY_PRED) {
        sel_write_pred(s, &in->operands[0], sel_pmov(s, op_not(sel_src_pred(s, &in->operands[1]))));
        return true;
    }
    Wide a = sel_src(s, &in->operands[1], ptx_type_bytes(sel_type(in))), d = {.n = a.n};
    for (unsigned c = 0; c < a.n; c++)
        d.w[c] = sel_lop(s, LUT_NOT_A, sel_value(s, a.w[c]), op_rz(), op_rz());
    sel_write(s, &in->operands[0], sel_type(in), d);
    return true;
}

bool isel_cnot(Sel *s, const PtxInsn *in) {
    unsigned bytes = ptx_type_bytes(sel_type(in));
    Wide a = sel_src(s, &in->operands[1], bytes);
    Operand x = a.n == 2 ? sel_or(s, a.w[0], a.w[1]) : sel_extend(s, a.w[0], bytes, false);
    Operand d = sel_select(s, sel_isetp(s, false, ICmp_NE, x, op_imm(0)), op_rz(), op_imm(1));
    sel_write(s, &in->operands[0], sel_type(in), a.n == 2 ? wide2(d, op_imm(0)) : wide1(d));
    return true;
}

bool isel_lop3(Sel *s, const PtxInsn *in) {
    const PtxOperand *src = &in->operands[in->ndst];
    unsigned n = in->noperands - in->ndst;
    if ((n != 4 && n != 5) || src[3].kind != PO_IMM || (in->bop == BOP_NONE) != (n == 4))
        return false;
    Operand a = sel_value(s, sel_src32(s, &src[0])), b = sel_src32(s, &src[1]),
            c = sel_value(s, sel_src32(s, &src[2]));
    Operand q = n == 5 ? sel_src_pred(s, &src[4]) : op_pt();
    Operand d = sel_lop(s, (unsigned)src[3].imm & 0xff, a, b, c);
    if (n == 5) { /* p = (d != 0) op q */
        Operand p = sel_isetp(s, false, ICmp_NE, d, op_imm(0));
        p = in->bop == BOP_OR ? sel_por(s, p, q) : sel_pand(s, p, q);
        if (in->ndst > 1)
            sel_write_pred(s, &in->operands[1], p);
    }
    sel_write32(s, &in->operands[0], TY_B32, d);
    return true;
}

/* ---- shifts ---- */

bool isel_shf(Sel *s, const PtxInsn *in) {
    Operand a = sel_value(s, sel_src32(s, &in->operands[1])),
            b = sel_value(s, sel_src32(s, &in->operands[2])), n = sel_src32(s, &in->operands[3]);
    bool left = in->sub == SUB_L;
    uint32_t mods = MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, left ? ShfDir_L : ShfDir_R) |
                    MSET(SHF, hi, left) | MSET(SHF, wrap, in->sub2 == SUB_WRAP);
    sel_write32(s, &in->operands[0], TY_B32, EMIT_R(s, OT_SHF, mods, a, n, b));
    return true;
}

bool isel_shl(Sel *s, const PtxInsn *in) {
    Wide a = sel_src(s, &in->operands[1], ptx_type_bytes(sel_type(in)));
    Operand n = sel_src32(s, &in->operands[2]);
    for (unsigned c = 0; c < a.n; c++)
        a.w[c] = sel_value(s, a.w[c]);
    sel_write(s, &in->operands[0], sel_type(in),
              a.n == 2 ? sel_shl64(s, a, n) : wide1(sel_shl(s, a.w[0], n)));
    return true;
}

bool isel_shr(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    bool sg = type_signed(t);
    unsigned bytes = ptx_type_bytes(t);
    Wide a = sel_src(s, &in->operands[1], bytes);
    Operand n = sel_src32(s, &in->operands[2]);
    a.w[0] = sel_extend(s, a.w[0], bytes, sg);
    for (unsigned c = 0; c < a.n; c++)
        a.w[c] = sel_value(s, a.w[c]);
    sel_write(s, &in->operands[0], t, a.n == 2 ? sel_shr64(s, sg, a, n) : wide1(sel_shr(s, sg, a.w[0], n)));
    return true;
}

bool isel_prmt(Sel *s, const PtxInsn *in) {
    static const uint8_t mode[][2] = {
        {SUB_NONE, PrmtMode_IDX}, {SUB_F4E, PrmtMode_F4E}, {SUB_B4E, PrmtMode_B4E},  {SUB_RC8, PrmtMode_RC8},
        {SUB_ECL, PrmtMode_ECL},  {SUB_ECR, PrmtMode_ECR}, {SUB_RC16, PrmtMode_RC16}};
    for (unsigned k = 0; k < sizeof mode / sizeof mode[0]; k++)
        if (mode[k][0] == in->sub) {
            Operand a = sel_value(s, sel_src32(s, &in->operands[1])),
                    b = sel_value(s, sel_src32(s, &in->operands[2]));
            Operand c = sel_src32(s, &in->operands[3]);
            sel_write32(s, &in->operands[0], TY_B32,
                        EMIT_R(s, OT_PRMT, MSET(PRMT, mode, mode[k][1]), a, c, b));
            return true;
        }
    return false;
}
