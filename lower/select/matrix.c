/* Selection of what a warp does with matrices in its registers: PTX ISA 9.7.14.5. The fragments of PTX are
 * those of the machine's operands, register by register. All lanes of a full warp take part: reconvergence
 * brings them together.
 *
 * A product is cut into what one instruction of the target does (sel_product): sm_75 has HMMA and IMMA of a
 * register of B, sm_90 no products of 4-bit integers, and of bits only those by AND; of f64 all but sm_90
 * have 8 by 8 by 4 alone. SPDX-License-Identifier: MIT */
#include "lower/select/matrix.h"

#define WHOLE_WARP UINT32_MAX /* the member mask */

unsigned sel_read_fragment(Sel *sel, const PtxOperand *operand, unsigned bytes, Operand *words) {
    unsigned n = operand->kind == PO_VEC ? operand->nvec : 1, total = 0;
    for (unsigned k = 0; k < n; k++) {
        Wide part = sel_src(sel, operand->kind == PO_VEC ? &operand->vec[k] : operand, bytes);
        for (unsigned c = 0; c < part.n; c++)
            words[total++] = sel_value(sel, part.w[c]);
    }
    return total;
}

void sel_write_fragment(Sel *sel, const PtxOperand *operand, PtxType type, const Operand *words) {
    unsigned n = operand->kind == PO_VEC ? operand->nvec : 1, each = ptx_type_bytes(type) / 4;
    for (unsigned k = 0; k < n; k++) {
        Wide part = {.n = each};
        for (unsigned c = 0; c < each; c++)
            part.w[c] = words[each * k + c];
        sel_write(sel, operand->kind == PO_VEC ? &operand->vec[k] : operand, type, part);
    }
}

/* ---- products ---- */

static Operand words_operand(Sel *sel, const Operand *words, unsigned n) {
    return n == 1 ? sel_value(sel, words[0]) : sel_quad(sel, words, n);
}

void sel_emit_product(Sel *sel, const SelProduct *product, unsigned op, unsigned mods, const Operand *a,
                      unsigned na, const Operand *b, unsigned nb, const Operand *c, unsigned nc, Operand *d) {
    enum { DESTINATION = HMMA_rd };
    _Static_assert((int)HMMA_rd == (int)IMMA_rd && (int)HMMA_rd == (int)DMMA_rd &&
                       (int)HMMA_rd == (int)BMMA_rd && (int)HMMA_rd == (int)QMMA_rd &&
                       (int)HMMA_rd == (int)HMMA_SP_rd && (int)HMMA_rd == (int)IMMA_SP_rd &&
                       (int)HMMA_rd == (int)QMMA_SP_rd,
                   "the only destination");
    Operand src[5] = {words_operand(sel, a, na)};
    src[1] = words_operand(sel, b, nb);
    src[2] = c ? words_operand(sel, c, nc) : op_rz();
    if (product->sparse)
        src[3] = product->places, src[4] = op_imm(product->lanes);
    InstId id = sel_emit_sync(sel, op, mods, product->sparse ? 5 : 3, src, op_imm(WHOLE_WARP));
    Operand all = sel_add_dsts(sel, id, DESTINATION, RF_R, nc);
    for (unsigned k = 0; k < nc; k++)
        d[k] = sel_part(sel, all, k);
}

unsigned sel_element_bits(PtxType type) {
    return type == TY_B1 ? 1 : type == TY_U4 || type == TY_S4 ? 4 : 8 * ptx_type_bytes(type);
}

/* Registers that a lane has of a row of A, or a column of B; f64: pairs of them. */
static unsigned line_words(const SelProduct *product) {
    unsigned bits = sel_element_bits(product->a);
    return bits == 64 ? product->k / 4 : product->k * bits / 128;
}

static void hmma(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b, const Operand *c,
                 Operand *d) {
    unsigned words = line_words(product), most = sel->ti->factor_bytes / 16,
             step = words < most ? words : most;
    unsigned k = step * product->k / words, nd = product->d == TY_F16 ? 2 : 4;
    unsigned mods = MSET(HMMA, shape,
                         k == 16  ? HmmaShape_M16816
                         : k == 4 ? HmmaShape_M1684
                                  : HmmaShape_M1688) |
                    MSET(HMMA, acc, product->d == TY_F16 ? HmmaAcc_F16 : HmmaAcc_F32) |
                    MSET(HMMA, src,
                         product->a == TY_TF32   ? HmmaSrc_TF32
                         : product->a == TY_BF16 ? HmmaSrc_BF16
                                                 : HmmaSrc_F16);
    for (unsigned at = 0; at < words; at += step)
        sel_emit_product(sel, product, OT_HMMA, mods, a + 2 * at, 2 * step, b + at, step, at ? d : c, nd, d);
}

static void dmma(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b, const Operand *c,
                 Operand *d) {
    static const uint8_t modes[] = {
        [RND_RN] = Rnd_RN, [RND_RZ] = Rnd_RZ, [RND_RM] = Rnd_RM, [RND_RP] = Rnd_RP};
    unsigned eights = product->rows / 8, mods = MSET(DMMA, rnd, product->rnd ? modes[product->rnd] : Rnd_RN);
    unsigned fours = product->k / 4;
    if (product->rows == 16 && sel->ti->double_rows == 16) {
        mods |= MSET(DMMA, shape,
                     fours == 1   ? DmmaShape_M16X8X4
                     : fours == 2 ? DmmaShape_M16X8X8
                                  : DmmaShape_M16X8X16);
        sel_emit_product(sel, product, OT_DMMA, mods, a, 4 * fours, b, 2 * fours, c, 8, d);
        return;
    }
    for (unsigned h = 0; h < eights; h++)
        for (unsigned at = 0; at < fours; at++)
            sel_emit_product(sel, product, OT_DMMA, mods, a + 2 * (at * eights + h), 2, b + 2 * at, 2,
                             (at ? d : c) + 4 * h, 4, d + 4 * h);
}

/* s + c, or what is nearest to it. */
Operand sel_saturating_sum(Sel *sel, Operand s, Operand c) {
    enum { LUT_BOTH_DIFFER = (LUT_A ^ LUT_C) & (LUT_B ^ LUT_C) };
    Operand sum = sel_iadd(sel, s, c);
    Operand over = sel_isetp(sel, true, ICmp_LT, sel_lop(sel, LUT_BOTH_DIFFER, s, c, sum), op_imm(0));
    Operand most = sel_xor(sel, sel_shr(sel, true, c, op_imm(31)), op_imm(INT32_MAX));
    return sel_select(sel, over, most, sum);
}

unsigned sel_imma_type(PtxType type) {
    return type == TY_U8   ? ImmaType_U8
           : type == TY_S8 ? ImmaType_S8
           : type == TY_U4 ? ImmaType_U4
                           : ImmaType_S4;
}

/* The sum is exact and saturates once, at the end. */
static void imma(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b, const Operand *c,
                 Operand *d) {
    unsigned words = line_words(product), eights = product->rows / 8,
             high = sel->ti->factor_bytes == 32 ? eights : 1;
    unsigned step = high == 2 && words > 1 ? 2 : 1;
    bool later = product->saturate && words > step;
    unsigned shape = high == 1   ? (sel_element_bits(product->a) == 4 ? ImmaShape_M8832 : ImmaShape_M8816)
                     : step == 2 ? (sel_element_bits(product->a) == 4 ? ImmaShape_M16864 : ImmaShape_M16832)
                                 : (sel_element_bits(product->a) == 4 ? ImmaShape_M16832 : ImmaShape_M16816);
    unsigned mods = MSET(IMMA, shape, shape) | MSET(IMMA, atype, sel_imma_type(product->a)) |
                    MSET(IMMA, btype, sel_imma_type(product->b)) |
                    MSET(IMMA, sat, product->saturate && !later);
    for (unsigned h = 0; h < eights; h += high)
        for (unsigned at = 0; at < words; at += step) {
            Operand rows[4];
            for (unsigned k = 0; k < high * step; k++)
                rows[k] = a[(at + k / high) * eights + h + k % high];
            sel_emit_product(sel, product, OT_IMMA, mods, rows, high * step, b + at, step,
                             at      ? d + 2 * h
                             : later ? NULL
                                     : c + 2 * h,
                             2 * high, d + 2 * h);
        }
    for (unsigned k = 0; later && k < 2 * eights; k++)
        d[k] = sel_saturating_sum(sel, d[k], c[k]);
}

/* The lower (upper) halves of the bytes of x, as bytes. */
Operand sel_nibbles(Sel *sel, PtxType type, Operand x, bool upper) {
    Operand v = sel_and(sel, upper ? sel_shr(sel, false, x, op_imm(4)) : x, op_imm(0x0f0f0f0f));
    if (type == TY_U4)
        return v;
    return sel_imad(sel, sel_and(sel, v, op_imm(0x08080808)), op_imm(0xf0 / 8), v); /* signs */
}

/* As 8-bit integers: k in another order, for both factors the same. */
static void imma_of_nibbles(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b,
                            const Operand *c, Operand *d) {
    unsigned words = line_words(product), eights = product->rows / 8;
    SelProduct bytes = *product;
    Operand x[8], y[4];
    bytes.a = product->a == TY_U4 ? TY_U8 : TY_S8;
    bytes.b = product->b == TY_U4 ? TY_U8 : TY_S8;
    for (unsigned at = 0; at < words; at++)
        for (unsigned upper = 0; upper < 2; upper++) {
            y[2 * at + upper] = sel_nibbles(sel, product->b, b[at], upper);
            for (unsigned h = 0; h < eights; h++)
                x[(2 * at + upper) * eights + h] = sel_nibbles(sel, product->a, a[at * eights + h], upper);
        }
    imma(sel, &bytes, x, y, c, d);
}

/* Without XOR: the bits that A has and not B, and the others. */
static void bmma(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b, const Operand *c,
                 Operand *d) {
    unsigned nb = line_words(product), na = nb * product->rows / 8, nd = product->rows / 4;
    bool split = product->bop == BOP_XOR && !sel->ti->has_narrow_products;
    unsigned shape = product->rows == 8 ? BmmaShape_M88128 : nb == 1 ? BmmaShape_M168128 : BmmaShape_M168256;
    unsigned mods =
        MSET(BMMA, shape, shape) | MSET(BMMA, op, product->bop == BOP_AND || split ? BmmaOp_AND : BmmaOp_XOR);
    Operand not_a[4], not_b[2];
    if (!split) {
        sel_emit_product(sel, product, OT_BMMA, mods, a, na, b, nb, c, nd, d);
        return;
    }
    for (unsigned k = 0; k < na; k++)
        not_a[k] = sel_lop(sel, LUT_NOT_A, a[k], op_rz(), op_rz());
    for (unsigned k = 0; k < nb; k++)
        not_b[k] = sel_lop(sel, LUT_NOT_A, b[k], op_rz(), op_rz());
    sel_emit_product(sel, product, OT_BMMA, mods, a, na, not_b, nb, c, nd, d);
    sel_emit_product(sel, product, OT_BMMA, mods, not_a, na, b, nb, d, nd, d);
}

bool sel_product(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b, const Operand *c,
                 Operand *d) {
    unsigned bits = sel_element_bits(product->a);
    if (product->sparse)
        return sel_sparse_product(sel, product, a, b, c, d);
    if (bits == 64 && !isa_target_has(sel->t, OT_DMMA))
        return sel_error(sel, "this product of matrices needs instructions of sm_80");
    if (bits == 64)
        dmma(sel, product, a, b, c, d);
    else if (bits == 8 && ptx_type_class(product->a) == TC_FLOAT)
        return sel_product_of_bytes(sel, product, a, b, c, d);
    else if (ptx_type_class(product->a) == TC_FLOAT)
        hmma(sel, product, a, b, c, d);
    else if (bits == 1)
        bmma(sel, product, a, b, c, d);
    else if (bits == 4 && !sel->ti->has_narrow_products)
        imma_of_nibbles(sel, product, a, b, c, d);
    else
        imma(sel, product, a, b, c, d);
    return true;
}

bool isel_mma(Sel *sel, const PtxInsn *in) {
    bool f64 = in->type[0] == TY_F64;
    Operand a[16], b[8], c[8], d[8];
    SelProduct product = {.d = sel_type(in),
                          .a = (PtxType)in->type[1],
                          .b = (PtxType)in->type[2],
                          .rows = in->shape[0],
                          .k = in->shape[2],
                          .saturate = (in->flags & PF_SATFINITE) != 0,
                          .bop = in->bop,
                          .rnd = in->rnd,
                          .sparse = (in->flags & PF_SPARSE) != 0};
    if (product.a == TY_F16 && product.rows == 8)
        return sel_quads(sel, in);
    if (product.sparse) {
        product.places = sel_value(sel, sel_src32(sel, &in->operands[4]));
        product.lanes = (unsigned)in->operands[5].imm;
    }
    sel_read_fragment(sel, &in->operands[1], f64 ? 8 : 4, a);
    sel_read_fragment(sel, &in->operands[2], f64 ? 8 : 4, b);
    sel_read_fragment(sel, &in->operands[3], f64 ? 8 : 4, c);
    if (!sel_product(sel, &product, a, b, c, d))
        return false;
    sel_write_fragment(sel, &in->operands[0], f64 ? TY_F64 : TY_B32, d);
    return true;
}

/* ---- lanes ---- */

Operand sel_lane(Sel *sel) {
    int lane = isa_sreg_number(sel->t, "laneid");
    Operand sreg = {.kind = OPK_SREG, .value = (uint32_t)lane};
    return EMIT_R(sel, OT_S2R, 0, sreg);
}

Operand sel_shuffle(Sel *sel, unsigned mode, Operand a, Operand b) {
    enum { WARP_CLAMP = 31 };
    Operand src[3] = {sel_value(sel, a), b, op_imm(WARP_CLAMP)};
    InstId id = sel_emit_sync(sel, OT_SHFL, MSET(SHFL, mode, mode), 3, src, op_imm(WHOLE_WARP));
    return sel_add_dst(sel, id, SHFL_rd, RF_R);
}

Operand sel_widen_half(Sel *sel, Operand low) {
    uint32_t mods = MSET(F2F, dst, FSize_F32) | MSET(F2F, src, FSize_F16) | MSET(F2F, rnd, Rnd_RN);
    return EMIT_R(sel, OT_F2F, mods, low);
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
    Operand all = sel_add_dsts(sel, id, LDSM_rd, RF_R, in->vec), words[4];
    for (unsigned k = 0; k < in->vec; k++)
        words[k] = sel_part(sel, all, k);
    sel_write_fragment(sel, &in->operands[0], TY_B32, words);
    return true;
}

/* Element `column` of a row, or two of them, to the row whose address lane `from` has. */
static void store_in_row(Sel *sel, const PtxInsn *in, Operand rows, Operand from, Operand column,
                         unsigned bytes, Operand data) {
    Operand row = sel_shuffle(sel, ShflMode_IDX, rows, from);
    Address at = {.space = SP_SHARED, .base = sel_imad(sel, column, op_imm(2), row)};
    sel_store_words(sel, in, &at, bytes, data);
}

/* Where no instruction does it: each lane stores its two elements of each matrix, which are neighbours in a
 * row or, transposed, in a column. */
static void store_matrices(Sel *sel, const PtxInsn *in, const Address *a, const Operand *words, unsigned n) {
    Operand lane = sel_lane(sel), quarter = sel_shr(sel, false, lane, op_imm(2));
    Operand two = sel_shl(sel, sel_and(sel, lane, op_imm(3)), op_imm(1));
    Operand rows = a->base.kind == OPK_NONE ? sel_value(sel, op_imm((uint32_t)a->offset))
                                            : sel_iadd(sel, a->base, op_imm((uint32_t)a->offset));
    for (unsigned k = 0; k < n; k++) {
        Operand first = op_imm(8 * k), word = sel_value(sel, words[k]);
        if (!(in->flags & PF_TRANS)) {
            store_in_row(sel, in, rows, sel_iadd(sel, quarter, first), two, 4, word);
            continue;
        }
        Operand low = sel_iadd(sel, two, first), high = sel_iadd(sel, low, op_imm(1));
        store_in_row(sel, in, rows, low, quarter, 2, word);
        store_in_row(sel, in, rows, high, quarter, 2, sel_shr(sel, false, word, op_imm(16)));
    }
}

bool isel_stmatrix(Sel *sel, const PtxInsn *in) {
    Address a;
    if (!sel_shared_address(sel, in, &in->operands[0], &a))
        return false;
    Operand words[4];
    unsigned n = sel_read_fragment(sel, &in->operands[1], 4, words);
    if (!isa_target_has(sel->t, OT_STSM)) {
        store_matrices(sel, in, &a, words, n);
        return true;
    }
    Operand src[] = {a.base, op_imm((uint32_t)a.offset), words_operand(sel, words, n)};
    sel_emit_sync(sel, OT_STSM, MSET(STSM, num, count_of(in)) | MSET(STSM, trans, trans_of(in)), 3, src,
                  op_imm(WHOLE_WARP));
    return true;
}

bool isel_movmatrix(Sel *sel, const PtxInsn *in) {
    Operand src = sel_value(sel, sel_src32(sel, &in->operands[1]));
    InstId id = sel_emit_sync(sel, OT_MOVM, 0, 1, &src, op_imm(WHOLE_WARP));
    Operand word = sel_add_dsts(sel, id, MOVM_rd, RF_R, 1);
    sel_write_fragment(sel, &in->operands[0], TY_B32, &word);
    return true;
}
