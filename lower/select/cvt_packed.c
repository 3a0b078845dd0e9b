/* Selection of the conversions to what is packed or has fewer bits than its register: PTX ISA 9.7.9.21 cvt of
 * tf32 and of floats of eight bits, 9.7.9.22 cvt.pack. SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

/* .rna on the bits, as ptxas 13.0 does it: half of the last place is added to what is finite, a carry reaches
 * the exponent, and the low 13 bits go. The other roundings are F2FP's. */
bool isel_cvt_tf32(Sel *s, const PtxInsn *in) {
    Operand a = sel_value(s, sel_src32(s, &in->operands[1])), d, inf = op_imm(0x7f800000);
    uint32_t not_below = MSET(FSETP, cmp, FCmp_GEU) | MSET(FSETP, bop, BoolOp_AND);
    bool relu = (in->flags & PF_RELU) != 0, satfinite = (in->flags & PF_SATFINITE) != 0;
    if (in->rnd != RND_RNA) {
        if (!isa_target_has(s->t, OT_F2FP_TF32))
            return sel_error(s, "this rounding needs instructions of sm_89");
        d = EMIT_R(s, OT_F2FP_TF32,
                   MSET(F2FP_TF32, rnd, in->rnd == RND_RZ ? Rnd_RZ : Rnd_RN) | MSET(F2FP_TF32, relu, relu) |
                       MSET(F2FP_TF32, satfinite, satfinite),
                   a);
        sel_write32(s, &in->operands[0], TY_B32, d);
        return true;
    }
    Operand same = EMIT_P(s, OT_FSETP, not_below, op_with(a, OPM_ABS), inf, op_pt());
    Operand sum = sel_iadd(s, a, op_imm(0x1000));
    d = sel_and(s, sel_select(s, same, a, sum), op_imm(0xffffe000));
    if (satfinite) {
        Operand over = EMIT_P(s, OT_FSETP, not_below, op_with(d, OPM_ABS), inf, op_pt());
        Operand less = sel_iadd(s, d, op_imm((uint32_t)-0x2000));
        d = sel_select(s, over, less, d);
    }
    sel_write32(s, &in->operands[0], TY_B32, d);
    return true;
}

bool isel_cvt_fp8(Sel *s, const PtxInsn *in) {
    PtxType to = sel_type(in), from = (PtxType)in->type[1];
    bool relu = (in->flags & PF_RELU) != 0;
    if (!isa_target_has(s->t, OT_F2FP8))
        return sel_error(s, "floats of eight bits need instructions of sm_89");
    Operand a = sel_value(s, sel_src32(s, &in->operands[1])), d;
    if (to == TY_F16X2) {
        uint32_t mods = MSET(F2FP_UNPACK, relu, relu) |
                        MSET(F2FP_UNPACK, from, from == TY_E4M3X2 ? F2fpFrom_E4M3 : F2fpFrom_E5M2);
        d = EMIT_R(s, OT_F2FP_UNPACK, mods, a);
    } else if (from == TY_F16X2) {
        uint32_t mods = MSET(F2FP8_HALVES, relu, relu) |
                        MSET(F2FP8_HALVES, type, to == TY_E4M3X2 ? Fp8Type_E4M3 : Fp8Type_E5M2);
        d = EMIT_R(s, OT_F2FP8_HALVES, mods, a, op_rz());
    } else {
        Operand b = sel_value(s, sel_src32(s, &in->operands[2]));
        uint32_t mods =
            MSET(F2FP8, relu, relu) | MSET(F2FP8, type, to == TY_E4M3X2 ? Fp8Type_E4M3 : Fp8Type_E5M2);
        d = EMIT_R(s, OT_F2FP8, mods, a, b, op_rz());
    }
    sel_write32(s, &in->operands[0], to, d);
    return true;
}

static unsigned pack_bits(PtxType t) {
    return t == TY_U2 || t == TY_S2 ? 2 : t == TY_U4 || t == TY_S4 ? 4 : 8 * ptx_type_bytes(t);
}
/* cvt.pack.sat.T.s32 d, a, b (, c): b clamped to T in the lowest bits, a above it, above them c. */
bool isel_cvt_pack(Sel *s, const PtxInsn *in) {
    PtxType to = sel_type(in);
    unsigned bits = pack_bits(to);
    bool sg = type_signed(to);
    uint32_t ones = (1u << bits) - 1, most = sg ? ones >> 1 : ones, least = sg ? ~most : 0;
    Operand part[2];
    for (unsigned k = 0; k < 2; k++) {
        Operand v = sel_value(s, sel_src32(s, &in->operands[1 + k]));
        v = sel_minmax(s, true, true, v, op_imm(least));
        part[k] = sel_and(s, sel_minmax(s, true, false, v, op_imm(most)), op_imm(ones));
    }
    Operand d = sel_or(s, sel_shl(s, part[0], op_imm(bits)), part[1]);
    if (bits < 16) {
        Operand c = sel_value(s, sel_src32(s, &in->operands[3]));
        d = sel_or(s, d, sel_shl(s, c, op_imm(2 * bits)));
    }
    sel_write32(s, &in->operands[0], TY_B32, d);
    return true;
}
