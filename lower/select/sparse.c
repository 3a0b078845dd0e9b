/* Selection of products with 8-bit floating point, and of those with a sparse A: PTX ISA 9.7.14.5, 9.7.14.6.
 * The fragments are the machine's; where it lacks a product, which is on sm_90, it is made of others:
 *   8-bit floats    of f16, which has them all: the first two of each four elements and then the others, from
 *                   zero on, C added at last (as ptxas 13.0 does; docs/numerics.md)
 *   4-bit integers  of bytes, the lower and the upper halves; of a sparse A the places of pairs are then
 * those of elements SPDX-License-Identifier: MIT */
#include "lower/select/matrix.h"

enum { WORD_LOW = 0x5410, WORD_HIGH = 0x7632, LOW_TWICE = 0x1010, HIGH_TWICE = 0x3232, MOST_WORDS = 4 };

static unsigned float_words(const SelProduct *p) { return p->d == TY_F16 ? 2 : 4; }
static unsigned acc_of(const SelProduct *p) { return p->d == TY_F16 ? HmmaAcc_F16 : HmmaAcc_F32; }
static unsigned qmma_type(PtxType type) { return type == TY_E4M3 ? QmmaType_E4M3 : QmmaType_E5M2; }

static bool has_bytes(Sel *sel) {
    return isa_target_has(sel->t, OT_QMMA) || isa_target_has(sel->t, OT_F2FP_UNPACK) ||
           sel_error(sel, "8-bit floating point needs instructions of sm_89");
}

/* Two of the four numbers of a word, as f16. */
static Operand unpacked(Sel *sel, PtxType type, Operand word, bool high) {
    unsigned mods = MSET(F2FP_UNPACK, from, type == TY_E4M3 ? F2fpFrom_E4M3 : F2fpFrom_E5M2) |
                    MSET(F2FP_UNPACK, part, high ? F2fpHalf_H1 : F2fpHalf_H0);
    return EMIT_R(sel, OT_F2FP_UNPACK, mods, word);
}

static void add_c(Sel *sel, const SelProduct *product, const Operand *c, Operand *d) {
    for (unsigned k = 0; k < float_words(product); k++)
        d[k] = product->d == TY_F16 ? EMIT_R(sel, OT_HADD2, 0, d[k], c[k])
                                    : EMIT_R(sel, OT_FADD, MSET(FADD, rnd, Rnd_RN), d[k], c[k]);
}

bool sel_product_of_bytes(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b,
                          const Operand *c, Operand *d) {
    unsigned nb = product->k / 16, na = 2 * nb;
    SelProduct half = {.d = product->d, .a = TY_F16, .b = TY_F16, .rows = 16, .k = product->k / 2};
    Operand zero[MOST_WORDS] = {op_rz(), op_rz(), op_rz(), op_rz()};
    if (!has_bytes(sel))
        return false;
    if (isa_target_has(sel->t, OT_QMMA)) {
        unsigned mods = MSET(QMMA, shape, nb == 2 ? QmmaShape_M16832 : QmmaShape_M16816) |
                        MSET(QMMA, acc, acc_of(product)) | MSET(QMMA, atype, qmma_type(product->a)) |
                        MSET(QMMA, btype, qmma_type(product->b));
        sel_emit_product(sel, product, OT_QMMA, mods, a, na, b, nb, c, float_words(product), d);
        return true;
    }
    for (unsigned part = 0; part < 2; part++) {
        Operand x[MOST_WORDS], y[MOST_WORDS];
        for (unsigned k = 0; k < na; k++)
            x[k] = unpacked(sel, product->a, a[k], part);
        for (unsigned k = 0; k < nb; k++)
            y[k] = unpacked(sel, product->b, b[k], part);
        if (!sel_product(sel, &half, x, y, part ? d : zero, d))
            return false;
    }
    add_c(sel, product, c, d);
    return true;
}

/* ---- sparse ---- */

static void hmma_sp(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b, const Operand *c,
                    Operand *d) {
    bool tf32 = product->a == TY_TF32, small = product->k == (tf32 ? 8 : 16);
    unsigned n = small ? 2 : 4;
    unsigned mods = MSET(HMMA_SP, shape,
                         tf32 ? (small ? HmmaSpShape_M1688 : HmmaSpShape_M16816)
                              : (small ? HmmaSpShape_M16816 : HmmaSpShape_M16832)) |
                    MSET(HMMA_SP, acc, acc_of(product)) |
                    MSET(HMMA_SP, src,
                         tf32                    ? HmmaSrc_TF32
                         : product->a == TY_BF16 ? HmmaSrc_BF16
                                                 : HmmaSrc_F16);
    sel_emit_product(sel, product, OT_HMMA_SP, mods, a, n, b, n, c, float_words(product), d);
}

static void imma_sp(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b, const Operand *c,
                    Operand *d) {
    unsigned narrow = sel_element_bits(product->a) == 4, n = product->k == (narrow ? 64 : 32) ? 2 : 4;
    unsigned shape = product->k == 32   ? ImmaShape_M16832
                     : product->k == 64 ? ImmaShape_M16864
                                        : ImmaShape_M168128;
    unsigned mods = MSET(IMMA_SP, shape, shape) | MSET(IMMA_SP, atype, sel_imma_type(product->a)) |
                    MSET(IMMA_SP, btype, sel_imma_type(product->b)) | MSET(IMMA_SP, sat, product->saturate);
    sel_emit_product(sel, product, OT_IMMA_SP, mods, a, n, b, n, c, MOST_WORDS, d);
}

static void sparse_nibbles(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b,
                           const Operand *c, Operand *d) {
    SelProduct bytes = *product;
    Operand zero[MOST_WORDS] = {op_rz(), op_rz(), op_rz(), op_rz()};
    bytes.a = product->a == TY_U4 ? TY_U8 : TY_S8;
    bytes.b = product->b == TY_U4 ? TY_U8 : TY_S8;
    bytes.k = product->k / 2;
    bytes.saturate = false;
    for (unsigned upper = 0; upper < 2; upper++) {
        Operand x[MOST_WORDS], y[MOST_WORDS];
        for (unsigned k = 0; k < (bytes.k == 32 ? 2 : 4); k++) {
            x[k] = sel_nibbles(sel, product->a, a[k], upper);
            y[k] = sel_nibbles(sel, product->b, b[k], upper);
        }
        imma_sp(sel, &bytes, x, y, upper ? d : product->saturate ? zero : c, d);
    }
    for (unsigned k = 0; product->saturate && k < MOST_WORDS; k++)
        d[k] = sel_saturating_sum(sel, d[k], c[k]);
}

/* The even and the odd ones of the sixteen chunks of a row are the chunks of two products of f16. A lane's
 * word of places has those of eight chunks of row g or g + 8; a word of HMMA.SP has four of both rows. */
static Operand places_of_halves(Sel *sel, Operand lane, Operand word) {
    enum { EVEN = 0x0f0f0f0f, BYTES_0_2 = 0x6420 };
    Operand half[2];
    for (unsigned odd = 0; odd < 2; odd++) {
        Operand four = sel_and(sel, odd ? sel_shr(sel, false, word, op_imm(4)) : word, op_imm(EVEN));
        half[odd] = sel_or(sel, four, sel_shr(sel, false, four, op_imm(4)));
    }
    Operand both = sel_prmt(sel, half[0], op_imm(BYTES_0_2), half[1]);
    Operand pair = sel_shl(sel, sel_and(sel, lane, op_imm(1)), op_imm(1));
    Operand from = sel_or(sel, sel_and(sel, lane, op_imm(28)), pair);
    Operand upper_row = sel_shuffle(sel, ShflMode_IDX, both, from);
    from = sel_iadd(sel, from, op_imm(1));
    Operand lower_row = sel_shuffle(sel, ShflMode_IDX, both, from);
    Operand second = sel_isetp(sel, false, ICmp_NE, sel_and(sel, lane, op_imm(2)), op_imm(0));
    Operand how = sel_select(sel, second, op_imm(WORD_HIGH), sel_value(sel, op_imm(WORD_LOW)));
    return sel_prmt(sel, upper_row, how, lower_row);
}

/* Lane t has chunk t of 16 rows of B, but HMMA takes two numbers of a chunk from each of two lanes. */
static bool sparse_bytes(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b,
                         const Operand *c, Operand *d) {
    Operand lane = sel_lane(sel), zero[MOST_WORDS] = {op_rz(), op_rz(), op_rz(), op_rz()};
    Operand odd = sel_isetp(sel, false, ICmp_NE, sel_and(sel, lane, op_imm(1)), op_imm(0));
    Operand how = sel_select(sel, odd, op_imm(HIGH_TWICE), sel_value(sel, op_imm(LOW_TWICE)));
    Operand other[MOST_WORDS];
    SelProduct half = {.d = product->d, .a = TY_F16, .b = TY_F16, .rows = 16, .k = 32, .sparse = true};
    half.places = places_of_halves(sel, lane, product->places);
    for (unsigned k = 0; k < MOST_WORDS; k++)
        other[k] = sel_shuffle(sel, ShflMode_BFLY, b[k], op_imm(1));
    for (unsigned part = 0; part < 2; part++) {
        Operand x[MOST_WORDS], y[MOST_WORDS];
        for (unsigned k = 0; k < MOST_WORDS; k++) {
            x[k] = unpacked(sel, product->a, a[k], part);
            Operand word = part ? sel_select(sel, odd, b[k], other[k]) : sel_select(sel, odd, other[k], b[k]);
            y[k] = unpacked(sel, product->b, sel_prmt(sel, word, how, word), false);
        }
        half.lanes = part;
        hmma_sp(sel, &half, x, y, part ? d : zero, d);
    }
    add_c(sel, product, c, d);
    return true;
}

bool sel_sparse_product(Sel *sel, const SelProduct *product, const Operand *a, const Operand *b,
                        const Operand *c, Operand *d) {
    unsigned bits = sel_element_bits(product->a);
    bool is_float = ptx_type_class(product->a) == TC_FLOAT;
    if (!isa_target_has(sel->t, OT_HMMA_SP))
        return sel_error(sel, "products of sparse matrices need instructions of sm_80");
    if (bits == 8 && is_float) {
        if (!has_bytes(sel))
            return false;
        if (!isa_target_has(sel->t, OT_QMMA_SP))
            return sparse_bytes(sel, product, a, b, c, d);
        unsigned mods = MSET(QMMA_SP, shape, QmmaSpShape_M16864) | MSET(QMMA_SP, acc, acc_of(product)) |
                        MSET(QMMA_SP, atype, qmma_type(product->a)) |
                        MSET(QMMA_SP, btype, qmma_type(product->b));
        sel_emit_product(sel, product, OT_QMMA_SP, mods, a, MOST_WORDS, b, MOST_WORDS, c,
                         float_words(product), d);
    } else if (is_float) {
        hmma_sp(sel, product, a, b, c, d);
    } else if (bits == 4 && !sel->ti->has_narrow_products) {
        sparse_nibbles(sel, product, a, b, c, d);
    } else {
        imma_sp(sel, product, a, b, c, d);
    }
    return true;
}
