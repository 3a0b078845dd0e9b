/* Matrices of a warp, PTX ISA 9.7.14.5: functions of the registers of all lanes, of which nothing is known
 * but their names, so that both sides must apply the same one to the same fragments. Rows in memory are read
 * and written in order with all other accesses to shared memory. That all lanes are there is what the
 * checkers of convergence show. SPDX-License-Identifier: MIT */
#include "check/prove/ptx/ptx.h"
#include "isa/machine/windows.h"

enum { MOST_WORDS = 13 };

/* The words of a fragment behind those that are there; returns how many there are then. */
static unsigned fragment_words(Ptx *ptx, const PtxOperand *operand, PtxType type, Term **word, unsigned n) {
    Terms *ts = &ptx->prover->ts;
    unsigned count = operand->kind == PO_VEC ? operand->nvec : 1;
    for (unsigned i = 0; i < count && n + 2 <= MOST_WORDS; i++) {
        Term *v = pv_src(ptx, operand->kind == PO_VEC ? &operand->vec[i] : operand, type);
        word[n++] = v->width == 64 ? t_lo(ts, v) : v;
        if (v->width == 64)
            word[n++] = t_hi(ts, v);
    }
    return n;
}

static void write_words(Ptx *ptx, const PtxOperand *operand, PtxType type, Term *what) {
    Terms *ts = &ptx->prover->ts;
    unsigned count = operand->kind == PO_VEC ? operand->nvec : 1, each = type == TY_F64 ? 2 : 1;
    for (unsigned i = 0; i < count; i++) {
        Term *low = t_app(ts, TO_RESULT, 32, i * each, NULL, &what, 1);
        Term *v = each == 1 ? low : t_pair(ts, low, t_app(ts, TO_RESULT, 32, i * each + 1, NULL, &what, 1));
        pv_dst(ptx, operand->kind == PO_VEC ? &operand->vec[i] : operand, type, v);
    }
}

static unsigned acc_of(const PtxInsn *in) { return in->type[0] == TY_F32 ? HmmaAcc_F32 : HmmaAcc_F16; }
static unsigned f8_type(unsigned type) { return type == TY_E4M3 ? QmmaType_E4M3 : QmmaType_E5M2; }
static unsigned float_type(unsigned type) {
    return type == TY_TF32 ? HmmaSrc_TF32 : type == TY_BF16 ? HmmaSrc_BF16 : HmmaSrc_F16;
}
static unsigned int_type(unsigned type) {
    return type == TY_U8   ? ImmaType_U8
           : type == TY_S8 ? ImmaType_S8
           : type == TY_U4 ? ImmaType_U4
                           : ImmaType_S4;
}

static const char *sparse_name(Ptx *ptx) {
    const PtxInsn *in = ptx->in;
    Terms *ts = &ptx->prover->ts;
    unsigned k = in->shape[2], from = in->type[1], lanes = (unsigned)in->operands[5].imm;
    if (from == TY_E4M3 || from == TY_E5M2)
        return term_name(ts, "qmma.sp.%u.%u.%u.%u.%u", QmmaSpShape_M16864, acc_of(in), f8_type(from),
                         f8_type(in->type[2]), lanes);
    if (from == TY_F16 || from == TY_BF16 || from == TY_TF32)
        return term_name(ts, "hmma.sp.%u.%u.%u.%u",
                         k == 8    ? HmmaSpShape_M1688
                         : k == 16 ? HmmaSpShape_M16816
                                   : HmmaSpShape_M16832,
                         acc_of(in), float_type(from), lanes);
    return term_name(ts, "imma.sp.%u.%u.%u.%u.%u",
                     k == 32   ? ImmaShape_M16832
                     : k == 64 ? ImmaShape_M16864
                               : ImmaShape_M168128,
                     int_type(from), int_type(in->type[2]), (in->flags & PF_SATFINITE) != 0, lanes);
}

/* Which product of the machine a statement is: shapes and elements by their names in PTX. */
static const char *product_name(Ptx *ptx) {
    const PtxInsn *in = ptx->in;
    Terms *ts = &ptx->prover->ts;
    unsigned k = in->shape[2], from = in->type[1];
    if (in->flags & PF_SPARSE)
        return sparse_name(ptx);
    if (from == TY_E4M3 || from == TY_E5M2)
        return term_name(ts, "qmma.%u.%u.%u.%u", k == 32 ? QmmaShape_M16832 : QmmaShape_M16816, acc_of(in),
                         f8_type(from), f8_type(in->type[2]));
    if (from == TY_F64)
        return term_name(ts, "dmma.%u",
                         in->rnd == RND_RM   ? Rnd_RM
                         : in->rnd == RND_RP ? Rnd_RP
                         : in->rnd == RND_RZ ? Rnd_RZ
                                             : Rnd_RN);
    if (from == TY_B1)
        return term_name(ts, "bmma.%u.%u",
                         in->shape[0] == 8 ? BmmaShape_M88128
                         : k == 128        ? BmmaShape_M168128
                                           : BmmaShape_M168256,
                         in->bop == BOP_AND ? BmmaOp_AND : BmmaOp_XOR);
    if (from == TY_F16 || from == TY_BF16 || from == TY_TF32)
        return term_name(ts, "hmma.%u.%u.%u",
                         k == 4   ? HmmaShape_M1684
                         : k == 8 ? HmmaShape_M1688
                                  : HmmaShape_M16816,
                         acc_of(in), float_type(from));
    unsigned shape = in->shape[0] == 16 ? (k == 64   ? ImmaShape_M16864
                                           : k == 32 ? ImmaShape_M16832
                                                     : ImmaShape_M16816)
                     : k == 32          ? ImmaShape_M8832
                                        : ImmaShape_M8816;
    return term_name(ts, "imma.%u.%u.%u.%u", shape, int_type(in->type[1]), int_type(in->type[2]),
                     (in->flags & PF_SATFINITE) != 0);
}

/* Does the target make the product of several instructions? Those are other functions. */
static bool is_several(const Ptx *ptx) {
    const TargetInfo *info = isa_target_info(ptx->prover->flow->bin->target);
    const PtxInsn *in = ptx->in;
    unsigned from = in->type[1];
    bool narrow = from == TY_U4 || from == TY_S4 || (from == TY_B1 && in->bop == BOP_XOR);
    bool bytes = from == TY_E4M3 || from == TY_E5M2, quads = from == TY_F16 && in->shape[0] == 8;
    return quads || (bytes && !isa_target_has(ptx->prover->flow->bin->target, OT_QMMA)) ||
           (from == TY_F64 && in->shape[0] == 16) || (narrow && !info->has_narrow_products);
}

bool prove_ptx_mma(Ptx *ptx) {
    Term *word[MOST_WORDS];
    if (is_several(ptx)) {
        pv_fault(ptx, "a product of matrices that several instructions make is not modelled");
        return true;
    }
    PtxType type = ptx->in->type[0] == TY_F64 ? TY_F64 : TY_B32;
    unsigned n = 0;
    for (unsigned i = 1; i < (ptx->in->flags & PF_SPARSE ? 5 : 4); i++) {
        unsigned first = n;
        n = fragment_words(ptx, pv_operand(ptx, i), type, word, n);
        for (unsigned k = first; k < n && i < 3 && ptx->in->type[1] == TY_TF32; k++)
            word[k] = prove_tf32_factor(&ptx->prover->ts, word[k]);
    }
    write_words(ptx, pv_operand(ptx, 0), type, pv_event(ptx, 1u << MEM_WARP, product_name(ptx), word, n));
    return true;
}

static const char *rows_name(Ptx *ptx, const char *op) {
    return term_name(&ptx->prover->ts, "%s.%u.%u", op, (unsigned)ptx->in->vec,
                     (ptx->in->flags & PF_TRANS) != 0);
}

/* A generic one is one of shared memory. */
static Term *rows_at(Ptx *ptx, const PtxOperand *operand) {
    Terms *ts = &ptx->prover->ts;
    Term *at = pv_address(ptx, operand, 64);
    if (pv_space(ptx, operand) == SP_NONE)
        at = t_sub(ts, at, t_const(ts, 64, SIM_SHARED_WINDOW));
    return t_lo(ts, at);
}

bool prove_ptx_ldmatrix(Ptx *ptx) {
    Term *at = rows_at(ptx, pv_operand(ptx, 1));
    write_words(ptx, pv_operand(ptx, 0), TY_B32,
                pv_event(ptx, 1u << MEM_WARP | 1u << MEM_SHARED, rows_name(ptx, "ldsm"), &at, 1));
    return true;
}

bool prove_ptx_stmatrix(Ptx *ptx) {
    Term *word[MOST_WORDS];
    if (!isa_target_has(ptx->prover->flow->bin->target, OT_STSM)) {
        pv_fault(ptx, "a store of matrices that several instructions make is not modelled");
        return true;
    }
    word[0] = rows_at(ptx, pv_operand(ptx, 0));
    unsigned n = fragment_words(ptx, pv_operand(ptx, 1), TY_B32, word, 1);
    pv_event(ptx, 1u << MEM_WARP | 1u << MEM_SHARED, rows_name(ptx, "stsm"), word, n);
    return true;
}

bool prove_ptx_movmatrix(Ptx *ptx) {
    Term *word[MOST_WORDS];
    unsigned n = fragment_words(ptx, pv_operand(ptx, 1), TY_B32, word, 0);
    write_words(ptx, pv_operand(ptx, 0), TY_B32, pv_event(ptx, 1u << MEM_WARP, "movm", word, n));
    return true;
}
