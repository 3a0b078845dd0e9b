/* Selection of what a warp does with matrices in its registers: PTX ISA 9.7.14.5. The fragments of PTX are
 * those of the machine's operands, register by register, so each statement is one instruction. All lanes of a
 * full warp take part: reconvergence brings them together. SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

#define WHOLE_WARP UINT32_MAX /* the member mask */

/* The registers of a fragment, a vector or a single one, as one operand. */
static Operand fragment(Sel *sel, const PtxOperand *operand, unsigned bytes) {
    Wide all = {0};
    unsigned n = operand->kind == PO_VEC ? operand->nvec : 1;
    for (unsigned k = 0; k < n; k++) {
        Wide part = sel_src(sel, operand->kind == PO_VEC ? &operand->vec[k] : operand, bytes);
        for (unsigned c = 0; c < part.n; c++)
            all.w[all.n++] = sel_value(sel, part.w[c]);
    }
    return sel_wide_vec(sel, all);
}

static void write_fragment(Sel *sel, const PtxOperand *operand, PtxType type, Operand value) {
    unsigned n = operand->kind == PO_VEC ? operand->nvec : 1, words = ptx_type_bytes(type) / 4;
    for (unsigned k = 0; k < n; k++) {
        Wide part = {.n = words};
        for (unsigned c = 0; c < words; c++)
            part.w[c] = sel_part(sel, value, words * k + c);
        sel_write(sel, operand->kind == PO_VEC ? &operand->vec[k] : operand, type, part);
    }
}

/* ---- mma ---- */

static unsigned hmma_mods(const PtxInsn *in) {
    bool tf32 = in->type[1] == TY_TF32;
    unsigned shape = in->shape[2] == 16  ? HmmaShape_M16816
                     : in->shape[2] == 4 ? HmmaShape_M1684
                                         : HmmaShape_M1688;
    return MSET(HMMA, shape, shape) | MSET(HMMA, acc, in->type[0] == TY_F16 ? HmmaAcc_F16 : HmmaAcc_F32) |
           MSET(HMMA, src,
                tf32                     ? HmmaSrc_TF32
                : in->type[1] == TY_BF16 ? HmmaSrc_BF16
                                         : HmmaSrc_F16);
}

static unsigned imma_type(uint8_t type) {
    return type == TY_U8   ? ImmaType_U8
           : type == TY_S8 ? ImmaType_S8
           : type == TY_U4 ? ImmaType_U4
                           : ImmaType_S4;
}

static unsigned imma_mods(const PtxInsn *in) {
    unsigned shape = in->shape[0] == 8    ? (in->shape[2] == 16 ? ImmaShape_M8816 : ImmaShape_M8832)
                     : in->shape[2] == 16 ? ImmaShape_M16816
                     : in->shape[2] == 32 ? ImmaShape_M16832
                                          : ImmaShape_M16864;
    return MSET(IMMA, shape, shape) | MSET(IMMA, atype, imma_type(in->type[1])) |
           MSET(IMMA, btype, imma_type(in->type[2])) | MSET(IMMA, sat, (in->flags & PF_SATFINITE) != 0);
}

bool isel_mma(Sel *sel, const PtxInsn *in) {
    bool f64 = in->type[0] == TY_F64;
    unsigned op = f64 ? OT_DMMA : in->type[0] == TY_S32 ? OT_IMMA : OT_HMMA, rd = HMMA_rd;
    unsigned mods = f64 ? 0 : op == OT_IMMA ? imma_mods(in) : hmma_mods(in), bytes = f64 ? 8 : 4;
    _Static_assert((int)HMMA_rd == (int)IMMA_rd && (int)HMMA_rd == (int)DMMA_rd, "the only destination");
    if (!isa_target_has(sel->t, op))
        return sel_error(sel, "this product of matrices needs instructions of sm_80");
    Operand src[3];
    for (unsigned k = 0; k < 3; k++)
        src[k] = fragment(sel, &in->operands[1 + k], bytes);
    unsigned words = in->operands[0].nvec * bytes / 4;
    InstId id = sel_emit_sync(sel, op, mods, 3, src, op_imm(WHOLE_WARP));
    write_fragment(sel, &in->operands[0], f64 ? TY_F64 : TY_B32, sel_add_dsts(sel, id, rd, RF_R, words));
    return true;
}

/* ---- 8 by 8 matrices of 16-bit elements ---- */

static unsigned count_of(const PtxInsn *in) {
    return in->vec == 4 ? MatCount_X4 : in->vec == 2 ? MatCount_X2 : MatCount_X1;
}
static unsigned trans_of(const PtxInsn *in) { return in->flags & PF_TRANS ? MatTrans_MT88 : MatTrans_M88; }

bool isel_ldmatrix(Sel *sel, const PtxInsn *in) {
    Address a;
    if (!sel_shared_address(sel, in, &in->operands[1], &a))
        return false;
    Operand src[] = {a.base, op_none(), op_imm((uint32_t)a.offset)};
    InstId id = sel_emit_sync(sel, OT_LDSM, MSET(LDSM, num, count_of(in)) | MSET(LDSM, trans, trans_of(in)),
                              3, src, op_imm(WHOLE_WARP));
    write_fragment(sel, &in->operands[0], TY_B32, sel_add_dsts(sel, id, LDSM_rd, RF_R, in->vec));
    return true;
}

bool isel_stmatrix(Sel *sel, const PtxInsn *in) {
    Address a;
    if (!isa_target_has(sel->t, OT_STSM))
        return sel_error(sel, "stores of matrix rows need instructions of sm_90");
    if (!sel_shared_address(sel, in, &in->operands[0], &a))
        return false;
    Operand src[] = {a.base, op_imm((uint32_t)a.offset), fragment(sel, &in->operands[1], 4)};
    sel_emit_sync(sel, OT_STSM, MSET(STSM, num, count_of(in)) | MSET(STSM, trans, trans_of(in)), 3, src,
                  op_imm(WHOLE_WARP));
    return true;
}

bool isel_movmatrix(Sel *sel, const PtxInsn *in) {
    Operand src = sel_value(sel, sel_src32(sel, &in->operands[1]));
    InstId id = sel_emit_sync(sel, OT_MOVM, 0, 1, &src, op_imm(WHOLE_WARP));
    write_fragment(sel, &in->operands[0], TY_B32, sel_add_dsts(sel, id, MOVM_rd, RF_R, 1));
    return true;
}
