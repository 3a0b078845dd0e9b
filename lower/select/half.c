/* Selection of f16 and bf16 arithmetic, single and packed: PTX ISA 9.7.4. One value sits in the low half of a
 * register, the upper half is arbitrary and is computed along.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

static bool is_bf(PtxType t) { return t == TY_BF16 || t == TY_BF16X2; }
static bool flag(const PtxInsn *in, unsigned f) { return (in->flags & f) != 0; }
static Operand src(Sel *s, const PtxInsn *in, unsigned n) {
    return sel_value(s, sel_src32(s, &in->operands[n]));
}

static void write(Sel *s, const PtxInsn *in, Operand d) { sel_write32(s, &in->operands[0], sel_type(in), d); }

/* bf16 has only the fused instruction: a + b = a * 1 + b, a * b = a * b + -0, both exact but for the one
 * rounding. */
enum { BF_ONE = 0x3f803f80, MINUS_ZERO = (int)0x80008000u };

Operand sel_bf16_fma(Sel *s, bool sat, Operand a, Operand b, Operand c) {
    return EMIT_R(s, OT_HFMA2, MSET(HFMA2, bf16, 1) | MSET(HFMA2, sat, sat), a, b, c);
}
Operand sel_bf16_add(Sel *s, bool sat, Operand a, Operand b) {
    return sel_bf16_fma(s, sat, a, sel_value(s, op_imm(BF_ONE)), b);
}
bool sel_has_bf16(const Sel *sel) { return isa_target_has(sel->t, OT_F2FP); }

bool isel_hadd(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    Operand a = src(s, in, 1), b = src(s, in, 2);
    if (in->op == PTX_SUB)
        b = op_neg(b);
    if (is_bf(t)) {
        if (!sel_has_bf16(s))
            return sel_error(s, "bf16 needs instructions of sm_80");
        write(s, in, sel_bf16_add(s, flag(in, PF_SAT), a, b));
        return true;
    }
    uint32_t mods = MSET(HADD2, sat, flag(in, PF_SAT)) | MSET(HADD2, ftz, flag(in, PF_FTZ));
    write(s, in, EMIT_R(s, OT_HADD2, mods, a, b));
    return true;
}

bool isel_hmul(Sel *s, const PtxInsn *in) {
    Operand a = src(s, in, 1), b = src(s, in, 2);
    if (is_bf(sel_type(in))) {
        if (!sel_has_bf16(s))
            return sel_error(s, "bf16 needs instructions of sm_80");
        write(s, in, sel_bf16_fma(s, flag(in, PF_SAT), a, b, op_imm((uint32_t)MINUS_ZERO)));
        return true;
    }
    uint32_t mods = MSET(HMUL2, sat, flag(in, PF_SAT)) | MSET(HMUL2, ftz, flag(in, PF_FTZ));
    write(s, in, EMIT_R(s, OT_HMUL2, mods, a, b));
    return true;
}

bool isel_hfma(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    if ((is_bf(t) || flag(in, PF_RELU)) && !sel_has_bf16(s))
        return sel_error(s, "bf16 and .relu need instructions of sm_80");
    if (flag(in, PF_OOB) && !isa_target_has(s->t, OT_UTMALDG))
        return sel_error(s, ".oob needs instructions of sm_90");
    uint32_t flush = flag(in, PF_OOB)   ? HalfFlush90_OOB
                     : flag(in, PF_FTZ) ? HalfFlush90_FTZ
                                        : HalfFlush90_NONE;
    uint32_t mods = MSET(HFMA2, sat, flag(in, PF_SAT)) | MSET(HFMA2, flush, flush) |
                    MSET(HFMA2, bf16, is_bf(t)) | MSET(HFMA2, relu, flag(in, PF_RELU));
    Operand a = src(s, in, 1), b = src(s, in, 2), c = src(s, in, 3);
    write(s, in, EMIT_R(s, OT_HFMA2, mods, a, b, c));
    return true;
}

/* adding -0 makes a NaN canonical */
bool isel_habsneg(Sel *s, const PtxInsn *in) {
    Operand a = op_with(src(s, in, 1), in->op == PTX_ABS ? OPM_ABS : OPM_NEG);
    if (is_bf(sel_type(in)) && !sel_has_bf16(s))
        return sel_error(s, "bf16 needs instructions of sm_80");
    if (is_bf(sel_type(in)))
        write(s, in, sel_bf16_add(s, false, a, op_imm((uint32_t)MINUS_ZERO)));
    else
        write(s, in,
              EMIT_R(s, OT_HADD2, MSET(HADD2, ftz, flag(in, PF_FTZ)), a, op_imm((uint32_t)MINUS_ZERO)));
    return true;
}

static Operand emit_hmnmx(Sel *sel, const PtxInsn *in, Operand a, Operand b) {
    uint32_t mods = MSET(HMNMX2, ftz, flag(in, PF_FTZ)) | MSET(HMNMX2, nan, flag(in, PF_NAN)) |
                    MSET(HMNMX2, bf16, is_bf(sel_type(in)));
    return EMIT_R(sel, OT_HMNMX2, mods, a, b, in->op == PTX_MAX ? op_pf() : op_pt());
}
static bool hmnmx_missing(Sel *sel) {
    return !isa_target_has(sel->t, OT_HMNMX2) &&
           !sel_error(sel, "minima of half precision need instructions of sm_80");
}
bool isel_hminmax(Sel *sel, const PtxInsn *in) {
    if (hmnmx_missing(sel))
        return false;
    Operand a = src(sel, in, 1), b = src(sel, in, 2);
    write(sel, in, emit_hmnmx(sel, in, a, b));
    return true;
}

/* .xorsign.abs: of the magnitudes, with the sign of the product. A half that is a NaN is the canonical
 * 0x7fff, the only one from which adding one reaches the sign bit, and stays it. */
bool isel_hminmax_xorsign(Sel *sel, const PtxInsn *in) {
    enum {
        LUT_A_XOR_B_AND_NOT_C = (LUT_A ^ LUT_B) & ~LUT_C,
        LUT_A_AND_B_OR_C = (LUT_A & LUT_B) | LUT_C,
        ONES = 0x00010001
    };
    if (hmnmx_missing(sel))
        return false;
    Operand a = sel_value(sel, src(sel, in, 1)), b = sel_value(sel, src(sel, in, 2));
    Operand d = emit_hmnmx(sel, in, op_with(a, OPM_ABS), op_with(b, OPM_ABS));
    Operand sign = sel_lop(sel, LUT_A_XOR_B_AND_NOT_C, a, b, sel_iadd(sel, d, op_imm(ONES)));
    write(sel, in, sel_lop(sel, LUT_A_AND_B_OR_C, sign, op_imm(0x80008000u), d));
    return true;
}

/* Comparison: f16 by HSETP2, bf16 exactly as f32. q is the upper half's result of the packed forms. */
bool isel_hsetp_pred(Sel *s, const PtxInsn *in, PtxType t, const PtxOperand *a, const PtxOperand *b,
                     Operand *p, Operand *q) {
    static const uint8_t code[] = {
        [CMP_EQ] = FCmp_EQ,   [CMP_NE] = FCmp_NE,   [CMP_LT] = FCmp_LT,   [CMP_LE] = FCmp_LE,
        [CMP_GT] = FCmp_GT,   [CMP_GE] = FCmp_GE,   [CMP_EQU] = FCmp_EQU, [CMP_NEU] = FCmp_NEU,
        [CMP_LTU] = FCmp_LTU, [CMP_LEU] = FCmp_LEU, [CMP_GTU] = FCmp_GTU, [CMP_GEU] = FCmp_GEU,
        [CMP_NUM] = FCmp_NUM, [CMP_NAN] = FCmp_NAN};
    if (!code[in->cmp])
        return sel_error(s, "this comparison is not of half precision");
    Operand x = sel_value(s, sel_src32(s, a)), y = sel_value(s, sel_src32(s, b));
    if (is_bf(t)) {
        uint32_t mods = MSET(FSETP, cmp, code[in->cmp]) | MSET(FSETP, bop, BoolOp_AND);
        Operand low[2] = {x, y}, high[2] = {x, y};
        for (unsigned k = 0; k < 2; k++)
            low[k] = sel_shl(s, low[k], op_imm(16));
        *p = EMIT_P(s, OT_FSETP, mods, low[0], low[1], op_pt());
        for (unsigned k = 0; q && k < 2; k++)
            high[k] = sel_and(s, high[k], op_imm(0xffff0000));
        if (q)
            *q = EMIT_P(s, OT_FSETP, mods, high[0], high[1], op_pt());
        return true;
    }
    uint32_t mods = MSET(HSETP2, cmp, code[in->cmp]) | MSET(HSETP2, bop, BoolOp_AND) |
                    MSET(HSETP2, ftz, flag(in, PF_FTZ));
    *p = EMIT_P(s, OT_HSETP2, mods, x, y, op_pt());
    if (q)
        *q = sel_add_dst(s, sel_last(s), HSETP2_pv, RF_P);
    return true;
}
