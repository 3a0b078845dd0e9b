/* Products of matrices by a warp: HMMA, QMMA, IMMA, BMMA, DMMA. docs/numerics.md has the numbers that come
 * out.
 *
 * Lane l is of group l / 4 and has place l % 4 in it. With E elements in a register (a pair of them for f64),
 * register r of A has row l / 4 + 8 (r % m8) and from column 4E (r / m8) + E (l % 4) on E elements, where m8
 * = m / 8; register r of B those rows of column l / 4; C and D have of rows l / 4 and l / 4 + 8 the columns 2
 * (l % 4) and the next.
 *
 * Of a sparse A (.SP) only the kept elements are in registers, as if they were all; four bits for each chunk
 * of its dense row say where they stand: find_columns. SPDX-License-Identifier: MIT */
#include "sim/ops/fp.h"
#include <math.h>
#include <string.h>

typedef enum {
    ELEM_F16,
    ELEM_BF16,
    ELEM_TF32,
    ELEM_F64,
    ELEM_U8,
    ELEM_S8,
    ELEM_U4,
    ELEM_S4,
    ELEM_E4M3,
    ELEM_E5M2,
    ELEM_BITS /* 32 of them */
} Elem;
enum { MOST_ADDED = 16 };                          /* sum_bytes of 16-bit floats */
enum { NEGATED_PRODUCT = 1, NEGATED_SUMMAND = 2 }; /* dec->mma.how */

enum { MOST_K = 64, MOST_DENSE_K = 2 * MOST_K };

/* Column k of row `row` of A, row k of column `col` of B: their bits; of a sparse A its kept elements, and
 * the columns where they stand. */
typedef struct {
    uint64_t a[16][MOST_K], b[8][MOST_DENSE_K];
    uint8_t column[16][MOST_K];
    unsigned k; /* elements of a row of A */
} Factors;

/* The operands, and how the target adds. */
static void bind_product(Bind *bind) {
    const TargetInfo *target = isa_target_info(bind->run->bin->target);
    bind->d->mma.sum_bytes = (uint8_t)target->sum_bytes;
    bind->d->mma.sum_bits = (uint8_t)target->sum_bits;
    bind_operands(bind);
}

static bool bind_fn(Bind *bind, OpFn *fn) {
    bind_product(bind);
    bind_chained(bind, fn, fn);
    return !bind->failed;
}

/* A minus before one factor, not before both. */
static uint8_t negated(Operand a, Operand b) { return (a.mods ^ b.mods) & OPM_NEG ? NEGATED_PRODUCT : 0; }

static unsigned elem_bits(uint32_t elem) {
    switch ((Elem)elem) {
    case ELEM_F16:
    case ELEM_BF16: return 16;
    case ELEM_TF32:
    case ELEM_BITS: return 32;
    case ELEM_F64: return 64;
    case ELEM_E4M3:
    case ELEM_E5M2:
    case ELEM_U8:
    case ELEM_S8: return 8;
    case ELEM_U4:
    case ELEM_S4: return 4;
    }
    __builtin_unreachable();
}

/* One factor: `major` rows of A, or columns of B, of eight; `n` registers of each in a lane. A row of `out`
 * has `pitch` elements. */
static void spread(uint64_t *out, unsigned pitch, const uint32_t *rows, unsigned bits, unsigned major,
                   unsigned n) {
    unsigned per = bits < 32 ? 32 / bits : 1, words = bits == 64 ? 2 : 1;
    for (unsigned r = 0; r < major * n; r++)
        for (unsigned lane = 0; lane < 32; lane++) {
            uint64_t v = rows[32 * words * r + lane];
            v |= words == 2 ? (uint64_t)rows[32 * (words * r + 1) + lane] << 32 : 0;
            unsigned line = lane / 4 + 8 * (r % major), first = 4 * per * (r / major) + per * (lane % 4);
            uint64_t *at = &out[line * pitch + first];
            for (unsigned i = 0; i < per; i++)
                at[i] = per == 1 ? v : v >> (bits * i) & (((uint64_t)1 << bits) - 1);
        }
}

/* A chunk has four bits in a word of one of `words` lanes of each four: a word is of four chunks of rows l /
 * 4 and, in its upper half, l / 4 + 8; of elements of less than 16 bits it is of eight chunks of one of the
 * rows. They are two numbers of two bits: of 16 and 8 bits, the places in the four of a chunk of its two
 * elements; of 4 bits, of its two pairs in four of them; tf32 has one element in two, whose place is in bit
 * 1. */
static void find_columns(const Dec *dec, const uint32_t *words, Factors *f) {
    unsigned bits = elem_bits(dec->mma.elem), kept = dec->mma.kept;
    for (unsigned row = 0; row < 16; row++)
        for (unsigned e = 0; e < f->k; e++) {
            unsigned chunk = e / kept, half = row / 8;
            unsigned word = bits >= 16 ? chunk / 4 : half + 2 * (chunk / 8);
            unsigned low = bits >= 16 ? 16 * half + 4 * (chunk % 4) : 4 * (chunk % 8);
            uint32_t of = words[4 * (row % 8) + dec->mma.lanes * dec->mma.words + word] >> low;
            f->column[row][e] = (uint8_t)(bits == 32  ? 2 * chunk + (of >> 1 & 1)
                                          : bits == 4 ? 8 * chunk + 2 * (of >> 2 * (e % 4 / 2) & 3) + e % 2
                                                      : 4 * chunk + (of >> 2 * (e % 2) & 3));
        }
}

/* The factors of a product with `rows` rows of A; a dense one has no words of columns. */
static void take_factors(Warp *w, const Dec *dec, unsigned rows, Factors *f) {
    unsigned bits = elem_bits(dec->mma.elem), n = dec->mma.n;
    f->k = bits == 64 ? 4 * n : 4 * n * (32 / bits);
    spread(f->a[0], MOST_K, dec_src(w, dec, 0), bits, rows / 8, n);
    spread(f->b[0], MOST_DENSE_K, dec_src(w, dec, 1), bits, 1, dec->mma.kept ? 2 * n : n);
    if (dec->mma.kept)
        find_columns(dec, dec_src(w, dec, 3), f);
}

/* The same of floating-point numbers, those of A negated where the product is. */
static void take_numbers(Warp *w, const Dec *dec, unsigned rows, Factors *f) {
    uint64_t sign = (uint64_t)1 << (elem_bits(dec->mma.elem) - 1);
    take_factors(w, dec, rows, f);
    for (unsigned row = 0; row < rows && dec->mma.how & NEGATED_PRODUCT; row++)
        for (unsigned i = 0; i < f->k; i++)
            f->a[row][i] ^= sign;
}

/* Elements of a column of B, those that the elements of a row of A meet. */
static const uint64_t *facing(const Dec *dec, const Factors *f, unsigned row, unsigned col, uint64_t *room) {
    if (!dec->mma.kept)
        return f->b[col];
    for (unsigned e = 0; e < f->k; e++)
        room[e] = f->b[col][f->column[row][e]];
    return room;
}

/* ---- floating point: see docs/numerics.md, "Products of matrices" ---- */

typedef struct { /* (-1)^neg mant 2^exp; `scale` is the exponent that terms are aligned by; mant 0: zero */
    bool neg, nan, inf;
    uint64_t mant;
    int exp, scale;
} Number;

static Number number(uint32_t bits, Fmt f) {
    uint32_t mant = bits & ((1u << f.mbits) - 1), e = bits >> f.mbits & ((1u << f.ebits) - 1);
    int bias = (1 << (f.ebits - 1)) - 1, exp = (e ? (int)e : 1) - bias;
    bool special = e == (1u << f.ebits) - 1;
    return (Number){.neg = bits >> (f.ebits + f.mbits) & 1,
                    .nan = special && mant,
                    .inf = special && !mant,
                    .mant = e ? mant | 1u << f.mbits : mant,
                    .exp = exp - (int)f.mbits,
                    .scale = exp};
}

static Number exact_product(Number x, Number y) {
    bool zero = (!x.mant && !x.inf) || (!y.mant && !y.inf);
    return (Number){.neg = x.neg != y.neg,
                    .nan = x.nan || y.nan || ((x.inf || y.inf) && zero),
                    .inf = x.inf || y.inf,
                    .mant = x.mant * y.mant,
                    .exp = x.exp + y.exp,
                    .scale = x.scale + y.scale};
}

/* The sum of a block, each term cut off so many bits below the highest exponent. */
static Number sum_of(const Number *term, unsigned n, unsigned bits) {
    Number sum = {0};
    bool plus = false, minus = false;
    int highest = INT32_MIN, kept = (int)bits;
    for (unsigned i = 0; i < n; i++) {
        sum.nan |= term[i].nan;
        plus |= term[i].inf && !term[i].neg;
        minus |= term[i].inf && term[i].neg;
        if (term[i].mant && term[i].scale > highest)
            highest = term[i].scale;
    }
    sum.nan |= plus && minus;
    sum.inf = plus || minus;
    sum.neg = minus;
    if (sum.nan || sum.inf || highest == INT32_MIN)
        return sum;
    int64_t total = 0;
    for (unsigned i = 0; i < n; i++) {
        if (!term[i].mant) /* whose exponent says nothing */
            continue;
        int shift = term[i].exp - (highest - kept);
        uint64_t cut = shift >= 0 ? term[i].mant << shift : shift > -64 ? term[i].mant >> -shift : 0;
        total += term[i].neg ? -(int64_t)cut : (int64_t)cut;
    }
    sum.neg = total < 0;
    sum.mant = (uint64_t)(total < 0 ? -total : total);
    sum.exp = highest - kept;
    return sum;
}

/* Overflow is infinity whatever the rounding, and what is nearer to zero than all others is +0. */
static uint32_t packed(Number v, Fmt f, uint32_t rnd) {
    uint32_t infinity = ((1u << f.ebits) - 1) << f.mbits, sign = (uint32_t)v.neg << (f.ebits + f.mbits);
    if (v.nan)
        return f.mbits == 23 ? F32_NAN : F16_NAN;
    if (v.inf)
        return sign | infinity;
    if (!v.mant)
        return 0;
    uint32_t bits = (uint32_t)fp_pack(v.neg, v.mant, v.exp, f, rnd);
    int top = v.exp + 63 - __builtin_clzll(v.mant);
    if (bits == 1u << (f.ebits + f.mbits))
        return 0;
    return top > (1 << (f.ebits - 1)) - 1 ? sign | infinity : bits;
}

static uint32_t dot_float(const Dec *dec, const uint64_t *a, const uint64_t *b, unsigned k, uint32_t c) {
    static const Fmt tf32 = {.ebits = 8, .mbits = 10};
    Fmt from = dec->mma.elem == ELEM_F16 ? fmt_f16 : dec->mma.elem == ELEM_BF16 ? fmt_bf16 : tf32;
    unsigned down = dec->mma.elem == ELEM_TF32 ? 13 : 0; /* what is below tf32 in its register is not read */
    unsigned most = dec->mma.sum_bytes / (dec->mma.elem == ELEM_TF32 ? 4u : 2u), block = k < most ? k : most;
    Number sum = number(c, dec->mma.wide ? fmt_f32 : fmt_f16);
    for (unsigned first = 0; first < k; first += block) {
        Number term[1 + MOST_ADDED] = {first ? number(packed(sum, fmt_f32, Rnd_RZ), fmt_f32) : sum};
        for (unsigned i = 0; i < block; i++)
            term[1 + i] = exact_product(number((uint32_t)a[first + i] >> down, from),
                                        number((uint32_t)b[first + i] >> down, from));
        sum = sum_of(term, 1 + block, dec->mma.sum_bits);
    }
    return dec->mma.wide ? packed(sum, fmt_f32, Rnd_RZ) : packed(sum, fmt_f16, Rnd_RN);
}

/* Of 8 bits, which f16 has all: first the products of the first and second of each four elements, then of the
 * third and fourth, in blocks of so many as are added at once; f16 sums are rounded behind either. C is added
 * at the end. */
static uint32_t dot_float8(const Dec *dec, const uint64_t *a, const uint64_t *b, unsigned k, uint32_t c) {
    uint32_t sum = 0;
    Fmt form = dec->mma.wide ? fmt_f32 : fmt_f16;
    unsigned most = dec->mma.sum_bytes / 2u, block = k / 2 < most ? k / 2 : most;
    for (unsigned part = 0; part < 4; part += 2) {
        for (unsigned first = part; first < k; first += 2 * block) {
            Number term[1 + MOST_ADDED] = {number(sum, form)};
            for (unsigned i = 0; i < block; i++) {
                unsigned at = first + 4 * (i / 2) + i % 2;
                uint32_t x = fp_half_of_byte((uint32_t)a[at], dec->mma.elem == ELEM_E4M3);
                uint32_t y = fp_half_of_byte((uint32_t)b[at], dec->mma.elem_b == ELEM_E4M3);
                term[1 + i] = exact_product(number(x, fmt_f16), number(y, fmt_f16));
            }
            sum = packed(sum_of(term, 1 + block, dec->mma.sum_bits), fmt_f32, Rnd_RZ);
            form = fmt_f32;
        }
        if (!dec->mma.wide) {
            Number all = number(sum, fmt_f32);
            sum = packed(all, fmt_f16, Rnd_RN);
            form = fmt_f16;
        }
    }
    return fp_narrow(fp_widen(sum, form) + fp_widen(c, form), form, Rnd_RN);
}

/* Of 8 bits, by a warp group: C and all products at once. An f32 sum has no more bits than its terms kept. */
static uint32_t dot_group8(const Dec *dec, const uint64_t *a, const uint64_t *b, unsigned k, uint32_t c) {
    enum { KEPT = 13 };
    static const Fmt kept = {.ebits = 8, .mbits = KEPT};
    Number term[1 + MOST_K] = {number(c, dec->mma.wide ? fmt_f32 : fmt_f16)};
    for (unsigned i = 0; i < k; i++) {
        uint32_t x = fp_half_of_byte((uint32_t)a[i], dec->mma.elem == ELEM_E4M3);
        uint32_t y = fp_half_of_byte((uint32_t)b[i], dec->mma.elem_b == ELEM_E4M3);
        term[1 + i] = exact_product(number(x, fmt_f16), number(y, fmt_f16));
    }
    Number sum = sum_of(term, 1 + k, KEPT);
    if (!dec->mma.wide)
        return packed(sum, fmt_f16, Rnd_RN);
    return sum.nan ? F32_NAN : packed(sum, kept, Rnd_RZ) << (23 - KEPT);
}

static int op_hmma(Warp *w, Dec *dec, uint32_t g) {
    static const unsigned columns = 8;
    const uint32_t *c = dec_src(w, dec, 2);
    uint32_t *r = dec_dst(w, dec, 0), out[4][32];
    int status = RUN_OK;
    if (!machine_whole_warp(w, dec, g, &status))
        return next_if(w, dec, status);
    Factors f;
    uint64_t room[MOST_K];
    take_numbers(w, dec, 16, &f);
    for (unsigned row = 0; row < 16; row++)
        for (unsigned col = 0; col < columns; col++) {
            unsigned lane = 4 * (row % 8) + col / 2, at = dec->mma.wide ? 2 * (row / 8) + col % 2 : row / 8;
            unsigned half = dec->mma.wide ? 0 : 16 * (col % 2);
            uint32_t was = c[32 * at + lane] >> half & (dec->mma.wide ? ~0u : 0xffff);
            const uint64_t *b = facing(dec, &f, row, col, room);
            uint32_t v = elem_bits(dec->mma.elem) == 8 ? dot_float8(dec, f.a[row], b, f.k, was)
                                                       : dot_float(dec, f.a[row], b, f.k, was);
            out[at][lane] = half ? (out[at][lane] & 0xffff) | v << half : v;
        }
    memcpy(r, out, (dec->mma.wide ? 4 : 2) * sizeof out[0]);
    return machine_next(w, dec);
}

/* A has `kept` elements of a chunk, whose places are in `words` lanes of four. */
static bool bind_sparse(Bind *bind, unsigned kept, unsigned words, OpFn *fn) {
    Dec *dec = bind->d;
    bind_product(bind);
    dec->mma.kept = (uint8_t)kept;
    dec->mma.words = (uint8_t)words;
    dec->mma.lanes = (uint8_t)dec->imm[0];
    if ((dec->mma.lanes + 1) * words > 4) /* that is no number of lanes: ptxas 13.0 refuses it */
        return bind_not_simulated(bind);
    bind_chained(bind, fn, fn);
    return !bind->failed;
}

bool LV(bind_HMMA)(Bind *bind) {
    uint32_t m = bind->in->mods, shape = MGET(HMMA, shape, m), src = MGET(HMMA, src, m);
    bool tf32 = src == HmmaSrc_TF32;
    Dec *dec = bind->d;
    dec->mma.elem = tf32 ? ELEM_TF32 : src == HmmaSrc_BF16 ? ELEM_BF16 : ELEM_F16;
    dec->mma.n = shape == HmmaShape_M16816 || (tf32 && shape == HmmaShape_M1688) ? 2 : 1;
    dec->mma.wide = MGET(HMMA, acc, m) == HmmaAcc_F32;
    dec->mma.kept = 0;
    dec->mma.how = negated(bind->in->src[HMMA_ra], bind->in->src[HMMA_rb]);
    bool known = shape <= HmmaShape_M1684 && src <= HmmaSrc_TF32 && !(tf32 && shape == HmmaShape_M16816) &&
                 (tf32 || shape != HmmaShape_M1684) && (dec->mma.wide || src == HmmaSrc_F16);
    return known ? bind_fn(bind, op_hmma) : bind_not_simulated(bind);
}
bool LV(bind_HMMA_SP)(Bind *bind) {
    uint32_t m = bind->in->mods, shape = MGET(HMMA_SP, shape, m), src = MGET(HMMA_SP, src, m);
    bool tf32 = src == HmmaSrc_TF32;
    Dec *dec = bind->d;
    dec->mma.elem = tf32 ? ELEM_TF32 : src == HmmaSrc_BF16 ? ELEM_BF16 : ELEM_F16;
    dec->mma.n = shape == HmmaSpShape_M16832 || (tf32 && shape == HmmaSpShape_M16816) ? 2 : 1;
    dec->mma.wide = MGET(HMMA_SP, acc, m) == HmmaAcc_F32;
    dec->mma.how = negated(bind->in->src[HMMA_SP_ra], bind->in->src[HMMA_SP_rb]);
    bool known = src <= HmmaSrc_TF32 && shape != 2 &&
                 (tf32 ? shape != HmmaSpShape_M16832 : shape != HmmaSpShape_M1688) &&
                 (dec->mma.wide || src == HmmaSrc_F16);
    return known ? bind_sparse(bind, tf32 ? 1 : 2, dec->mma.n, op_hmma) : bind_not_simulated(bind);
}
bool LV(bind_QMMA)(Bind *bind) {
    uint32_t m = bind->in->mods;
    Dec *dec = bind->d;
    dec->mma.elem = MGET(QMMA, atype, m) == QmmaType_E4M3 ? ELEM_E4M3 : ELEM_E5M2;
    dec->mma.elem_b = MGET(QMMA, btype, m) == QmmaType_E4M3 ? ELEM_E4M3 : ELEM_E5M2;
    dec->mma.n = MGET(QMMA, shape, m) == QmmaShape_M16832 ? 2 : 1;
    dec->mma.wide = MGET(QMMA, acc, m) == HmmaAcc_F32;
    dec->mma.kept = 0;
    dec->mma.how = negated(bind->in->src[QMMA_ra], bind->in->src[QMMA_rb]);
    return bind_fn(bind, op_hmma);
}
bool LV(bind_QMMA_SP)(Bind *bind) {
    uint32_t m = bind->in->mods;
    Dec *dec = bind->d;
    dec->mma.elem = MGET(QMMA_SP, atype, m) == QmmaType_E4M3 ? ELEM_E4M3 : ELEM_E5M2;
    dec->mma.elem_b = MGET(QMMA_SP, btype, m) == QmmaType_E4M3 ? ELEM_E4M3 : ELEM_E5M2;
    dec->mma.n = 2;
    dec->mma.wide = MGET(QMMA_SP, acc, m) == HmmaAcc_F32;
    dec->mma.how = negated(bind->in->src[QMMA_SP_ra], bind->in->src[QMMA_SP_rb]);
    return MGET(QMMA_SP, shape, m) == QmmaSpShape_M16864 ? bind_sparse(bind, 2, 4, op_hmma)
                                                         : bind_not_simulated(bind);
}

/* ---- HMMA.884: four products of 8 by 4 and 4 by 8, each of the lanes 4p .. 4p + 3 and those 16 above ----
 */

enum { IN_ROWS = 1, IN_COLUMNS = 2 }; /* B, A, in dec->mma.elem */

/* Line `line` of a factor, four elements: either a lane has a line of it, or each of four lanes an element of
 * four lines. */
static void quad_line(const uint32_t *rows, bool by_lines, unsigned p, unsigned line, uint32_t *out) {
    unsigned lane = 4 * p + line / 4 * 16;
    for (unsigned k = 0; k < 4; k++) {
        unsigned from = lane + (by_lines ? line % 4 : k), i = by_lines ? k : line % 4;
        out[k] = rows[32 * (i / 2) + from] >> 16 * (i % 2) & 0xffff;
    }
}

/* Row and column of element i of those that the step computes in a lane. */
static void quad_place(const Dec *dec, unsigned lane, unsigned i, unsigned *row, unsigned *col) {
    unsigned step = dec->mma.n, at = 2 * step + i;
    *row = dec->mma.wide ? (lane & 1) + (at & 2) : lane & 3;
    *col = dec->mma.wide ? (at & 4) + (lane & 2) + (at & 1) : 4 * step + i;
    *row += lane / 16 * 4;
}

static int op_hmma_884(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *c = dec_src(w, dec, 2);
    uint32_t *r = dec_dst(w, dec, 0), out[2][32] = {{0}};
    int status = RUN_OK;
    if (!machine_whole_warp(w, dec, g, &status))
        return next_if(w, dec, status);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < (dec->mma.wide ? 2 : 4); i++) {
            unsigned row, col, p = lane / 4 % 4;
            uint32_t a[4], b[4];
            quad_place(dec, lane, i, &row, &col);
            quad_line(dec_src(w, dec, 0), !(dec->mma.elem & IN_COLUMNS), p, row, a);
            quad_line(dec_src(w, dec, 1), !(dec->mma.elem & IN_ROWS), p, col, b);
            unsigned home = 4 * p + row % 4 + row / 4 * 16; /* of C, if that is f16 */
            uint32_t was =
                dec->mma.sat ? c[32 * i + lane] : c[32 * (col % 4 / 2) + home] >> 16 * (col % 2) & 0xffff;
            Number term[5] = {number(was, dec->mma.sat ? fmt_f32 : fmt_f16)};
            for (unsigned k = 0; k < 4; k++)
                term[1 + k] = exact_product(number(a[k], fmt_f16), number(b[k], fmt_f16));
            uint32_t v = packed(sum_of(term, 5, dec->mma.sum_bits), dec->mma.wide ? fmt_f32 : fmt_f16,
                                dec->mma.wide ? Rnd_RZ : Rnd_RN);
            if (dec->mma.wide)
                out[i][lane] = v;
            else
                out[i / 2][lane] |= v << 16 * (i % 2);
        }
    memcpy(r, out, sizeof out);
    return machine_next(w, dec);
}
/* elem: IN_COLUMNS, IN_ROWS; sat: C is f32; n: the step */
bool LV(bind_HMMA_884)(Bind *bind) {
    uint32_t m = bind->in->mods;
    Dec *dec = bind->d;
    dec->mma.elem = (MGET(HMMA_884, alayout, m) == Layout_COL ? IN_COLUMNS : 0u) |
                    (MGET(HMMA_884, blayout, m) == Layout_ROW ? IN_ROWS : 0u);
    dec->mma.wide = MGET(HMMA_884, acc, m) == HmmaHalfAcc_F32;
    dec->mma.sat = MGET(HMMA_884, from, m) == HmmaHalfAcc_F32;
    dec->mma.n = MGET(HMMA_884, step, m);
    bool known = dec->mma.wide || (!dec->mma.sat && dec->mma.n < 2);
    return known ? bind_fn(bind, op_hmma_884) : bind_not_simulated(bind);
}

/* ---- integers ---- */

static int64_t integer(uint64_t bits, uint32_t elem) {
    switch ((Elem)elem) {
    case ELEM_S8: return (int8_t)bits;
    case ELEM_S4: return (int64_t)(bits << 60) >> 60;
    default: return (int64_t)bits;
    }
}

static int op_imma(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *c = dec_src(w, dec, 2);
    uint32_t *r = dec_dst(w, dec, 0), out[4][32];
    unsigned m8 = dec->mma.m8;
    int status = RUN_OK;
    if (!machine_whole_warp(w, dec, g, &status))
        return next_if(w, dec, status);
    Factors f;
    uint64_t room[MOST_K];
    take_factors(w, dec, 8 * m8, &f);
    for (unsigned row = 0; row < 8 * m8; row++)
        for (unsigned col = 0; col < 8; col++) {
            unsigned lane = 4 * (row % 8) + col / 2, at = 2 * (row / 8) + col % 2;
            int64_t sum = (int32_t)c[32 * at + lane];
            const uint64_t *b = facing(dec, &f, row, col, room);
            for (unsigned i = 0; i < f.k; i++)
                sum += integer(f.a[row][i], dec->mma.elem) * integer(b[i], dec->mma.elem_b);
            if (dec->mma.sat)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            out[at][lane] = (uint32_t)sum;
        }
    memcpy(r, out, 2 * m8 * sizeof out[0]);
    return machine_next(w, dec);
}
static const uint8_t elems[] = {
    [ImmaType_U8] = ELEM_U8, [ImmaType_S8] = ELEM_S8, [ImmaType_U4] = ELEM_U4, [ImmaType_S4] = ELEM_S4};
bool LV(bind_IMMA)(Bind *bind) {
    static const struct {
        uint8_t m8, k;
    } shapes[] = {[ImmaShape_M8816] = {1, 16},
                  [ImmaShape_M8832] = {1, 32},
                  [ImmaShape_M16816] = {2, 16},
                  [ImmaShape_M16832] = {2, 32},
                  [ImmaShape_M16864] = {2, 64}};
    uint32_t m = bind->in->mods, shape = MGET(IMMA, shape, m);
    Dec *dec = bind->d;
    dec->mma.elem = elems[MGET(IMMA, atype, m)];
    dec->mma.elem_b = elems[MGET(IMMA, btype, m)];
    dec->mma.sat = MGET(IMMA, sat, m);
    dec->mma.kept = 0;
    unsigned bits = elem_bits(dec->mma.elem);
    if (shape >= sizeof shapes / sizeof *shapes || !shapes[shape].k || bits != elem_bits(dec->mma.elem_b))
        return bind_not_simulated(bind);
    dec->mma.m8 = shapes[shape].m8;
    dec->mma.n = shapes[shape].k * bits / 128u;
    bool known =
        dec->mma.n && (bits == 8 || shape != ImmaShape_M16816) && (bits == 4 || shape != ImmaShape_M8832);
    return known ? bind_fn(bind, op_imma) : bind_not_simulated(bind);
}

bool LV(bind_IMMA_SP)(Bind *bind) {
    uint32_t m = bind->in->mods, shape = MGET(IMMA_SP, shape, m);
    Dec *dec = bind->d;
    dec->mma.elem = elems[MGET(IMMA_SP, atype, m)];
    dec->mma.elem_b = elems[MGET(IMMA_SP, btype, m)];
    dec->mma.sat = MGET(IMMA_SP, sat, m);
    dec->mma.m8 = 2;
    unsigned bits = elem_bits(dec->mma.elem), least = bits == 4 ? ImmaShape_M16864 : ImmaShape_M16832;
    if (bits != elem_bits(dec->mma.elem_b) || shape < least || shape > least + 1)
        return bind_not_simulated(bind);
    dec->mma.n = shape - least + 1;
    return bind_sparse(bind, bits == 4 ? 4 : 2, 2 * dec->mma.n, op_imma);
}

/* ---- bits: register by register, for all of A and B that one word of each has meet in one lane ---- */

static int op_bmma(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *a = dec_src(w, dec, 0), *b = dec_src(w, dec, 1), *c = dec_src(w, dec, 2);
    uint32_t *r = dec_dst(w, dec, 0), out[4][32];
    unsigned n = dec->mma.n, m8 = dec->mma.m8;
    int status = RUN_OK;
    if (!machine_whole_warp(w, dec, g, &status))
        return next_if(w, dec, status);
    for (unsigned row = 0; row < 8 * m8; row++)
        for (unsigned col = 0; col < 8; col++) {
            unsigned lane = 4 * (row % 8) + col / 2, at = 2 * (row / 8) + col % 2;
            uint32_t sum = c[32 * at + lane];
            for (unsigned i = 0; i < 4 * n; i++) {
                uint32_t x = a[32 * (m8 * (i / 4) + row / 8) + 4 * (row % 8) + i % 4];
                uint32_t y = b[32 * (i / 4) + 4 * col + i % 4];
                sum += (uint32_t)__builtin_popcount(dec->mma.elem == BmmaOp_AND ? x & y : x ^ y);
            }
            out[at][lane] = sum;
        }
    memcpy(r, out, 2 * m8 * sizeof out[0]);
    return machine_next(w, dec);
}
bool LV(bind_BMMA)(Bind *bind) {
    uint32_t m = bind->in->mods, shape = MGET(BMMA, shape, m);
    Dec *dec = bind->d;
    dec->mma.elem = MGET(BMMA, op, m);
    dec->mma.m8 = shape == BmmaShape_M88128 ? 1 : 2;
    dec->mma.n = shape == BmmaShape_M168256 ? 2 : 1;
    return shape <= BmmaShape_M168256 ? bind_fn(bind, op_bmma) : bind_not_simulated(bind);
}

/* ---- f64: one fused operation for each k, ascending ---- */

static int op_dmma(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *c = dec_src(w, dec, 2);
    uint32_t *r = dec_dst(w, dec, 0), out[8][32];
    unsigned m8 = dec->mma.m8;
    int status = RUN_OK;
    if (!machine_whole_warp(w, dec, g, &status))
        return next_if(w, dec, status);
    Factors f;
    take_numbers(w, dec, 8 * m8, &f);
    uint64_t sign_of_c = dec->mma.how & NEGATED_SUMMAND ? 1ull << 63 : 0;
    for (unsigned row = 0; row < 8 * m8; row++)
        for (unsigned col = 0; col < 8; col++) {
            unsigned lane = 4 * (row % 8) + col / 2, at = 4 * (row / 8) + 2 * (col % 2);
            double sum = as_f64((c[32 * at + lane] | (uint64_t)c[32 * (at + 1) + lane] << 32) ^ sign_of_c);
            for (unsigned i = 0; i < f.k; i++)
                sum = fma(as_f64(f.a[row][i]), as_f64(f.b[col][i]), sum);
            uint64_t bits = isnan(sum) ? F64_NAN : f64_bits(sum);
            out[at][lane] = (uint32_t)bits;
            out[at + 1][lane] = (uint32_t)(bits >> 32);
        }
    memcpy(r, out, 4 * m8 * sizeof out[0]);
    return machine_next(w, dec);
}
bool LV(bind_DMMA)(Bind *bind) {
    static const uint8_t steps[] = {
        [DmmaShape_M8X8X4] = 1, [DmmaShape_M16X8X4] = 1, [DmmaShape_M16X8X8] = 2, [DmmaShape_M16X8X16] = 4};
    uint32_t shape = MGET(DMMA, shape, bind->in->mods);
    Dec *dec = bind->d;
    dec->mma.elem = ELEM_F64;
    dec->mma.n = steps[shape];
    dec->mma.m8 = shape == DmmaShape_M8X8X4 ? 1 : 2;
    dec->mma.kept = 0;
    const Operand *src = bind->in->src;
    if ((src[DMMA_ra].mods | src[DMMA_rb].mods | src[DMMA_rc].mods) & OPM_ABS)
        return bind_not_simulated(bind);
    bool of_c = src[DMMA_rc].mods & OPM_NEG;
    dec->mma.how = (uint8_t)(negated(src[DMMA_ra], src[DMMA_rb]) | (of_c ? NEGATED_SUMMAND : 0));
    return bind_fn(bind, op_dmma) && LV(bind_rounding)(bind, MGET(DMMA, rnd, bind->in->mods));
}

/* ---- warp groups: see isa/gmma.isa. PTX ISA 9.7.15.5.1 says where elements are ---- */

enum { CHUNK_BYTES = 16, TRANSPOSED_A = 1, TRANSPOSED_B = 2, NEGATED_B = 4, NEGATED_A = 8, MOST_TILE = 128 };

/* The chunk of 16 bytes number i of line `line`; transposed: of the eight lines from 8 `line` on, at k = i.
 */
static int gmma_chunk(Warp *w, Dec *dec, uint64_t descriptor, bool transposed, unsigned line, unsigned i,
                      void *chunk) {
    static const uint32_t swizzled[] = {0, 7, 3,
                                        1}; /* bits of the row's number that are put over the chunk's */
    uint32_t mask = swizzled[descriptor >> 62], row = 16 * (mask + 1);
    uint32_t leading = (uint32_t)(descriptor >> 16 & 0x3fff) << 4,
             stride = (uint32_t)(descriptor >> 32 & 0x3fff) << 4;
    uint32_t at = (uint32_t)(descriptor & 0x3fff) << 4;
    if (transposed)
        at += (mask ? (line & mask) * 16 + line / (mask + 1) * leading : line * stride) + i % 8 * row +
              i / 8 * (mask ? stride : leading);
    else
        at += line % 8 * row + line / 8 * stride + i * (mask ? 16 : leading);
    at ^= (at >> 7 & mask) << 4;
    MemRef ref;
    int status = machine_mem_ref(w, dec, 0, MS_SHARED, at & 0x3ffff, 16, false, &ref);
    if (status == RUN_OK)
        machine_mem_load(w, 0, &ref, 16, chunk);
    return status;
}

/* `n` lines of k elements from `first` on, a multiple of eight; `flip`: the sign, or nothing. */
static int gmma_lines(Warp *w, Dec *dec, uint64_t descriptor, bool transposed, unsigned first, unsigned n,
                      unsigned k, uint64_t flip, uint64_t *out, unsigned pitch) {
    unsigned bits = elem_bits(dec->mma.elem), per = 8 * CHUNK_BYTES / bits;
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (unsigned line = 0; line < n; line += transposed ? 8 : 1)
        for (unsigned i = 0; i < (transposed ? k : k / per); i++) {
            uint32_t chunk[4];
            int status = gmma_chunk(w, dec, descriptor, transposed,
                                    transposed ? (first + line) / 8 : first + line, i, chunk);
            if (status != RUN_OK)
                return status;
            for (unsigned e = 0; e < per; e++) {
                uint64_t v = (chunk[e * bits / 32] >> e * bits % 32 & mask) ^ flip;
                out[transposed ? (line + e) * pitch + i : line * pitch + i * per + e] = v;
            }
        }
    return RUN_OK;
}

static uint32_t gmma_element(const Dec *dec, const uint64_t *a, const uint64_t *b, unsigned k, uint32_t c) {
    int64_t sum = (int32_t)c;
    switch ((Elem)dec->mma.elem) {
    case ELEM_E4M3:
    case ELEM_E5M2: return dot_group8(dec, a, b, k, c);
    case ELEM_S8:
    case ELEM_U8:
        for (unsigned i = 0; i < k; i++)
            sum += integer(a[i], dec->mma.elem) * integer(b[i], dec->mma.elem_b);
        if (dec->mma.sat)
            sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        return (uint32_t)sum;
    case ELEM_BITS:
        for (unsigned i = 0; i < k; i++)
            c += (uint32_t)__builtin_popcount((uint32_t)(a[i] & b[i]));
        return c;
    default: return dot_float(dec, a, b, k, c);
    }
}

static int op_gmma(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *u = dec_src(w, dec, 1), *c = dec_src(w, dec, 2);
    uint64_t of_a = (uint64_t)u[32] << 32 | u[0], of_b = (uint64_t)u[96] << 32 | u[64];
    bool adds = dec->mma.adds && (dec_pred(w, dec, 0) & 1), wide = dec->mma.wide;
    unsigned bits = elem_bits(dec->mma.elem), how = dec->mma.how, words = dec->mma.n * (wide ? 4 : 2);
    uint64_t sign = (uint64_t)1 << (bits - 1);
    uint32_t out[MOST_TILE][32];
    Factors f = {.k = 2 * 8 * CHUNK_BYTES / bits};
    uint64_t room[MOST_K];
    int status = RUN_OK;
    if (!machine_whole_warp(w, dec, g, &status))
        return next_if(w, dec, status);
    if (w->index / 4 * 4 + 4 > w->cta->nwarps)
        return machine_trap(w, dec, 0, TRAP_COLLECTIVE, "the block has no four warps for a warp group");
    if ((dec->mma.in_registers ? 0 : of_a >> 49 & 7) || (of_b >> 49 & 7))
        return machine_trap(w, dec, 0, TRAP_UNSUPPORTED, "%s",
                            "a base offset in the descriptor of a matrix is not modelled");
    if (dec->mma.in_registers)
        spread(f.a[0], MOST_K, dec_src(w, dec, 0), bits, 2, 2);
    else
        status = gmma_lines(w, dec, of_a, how & TRANSPOSED_A, w->index % 4 * 16, 16, f.k, 0, f.a[0], MOST_K);
    if (dec->mma.kept)
        find_columns(dec, dec_src(w, dec, 3), &f);
    for (unsigned i = 0; i < 16 * MOST_K && how & NEGATED_A; i++)
        f.a[i / MOST_K][i % MOST_K] ^= sign;
    for (unsigned j = 0; j < dec->mma.n && status == RUN_OK; j++) {
        status = gmma_lines(w, dec, of_b, how & TRANSPOSED_B, 8 * j, 8, dec->mma.kept ? 2 * f.k : f.k,
                            how & NEGATED_B ? sign : 0, f.b[0], MOST_DENSE_K);
        for (unsigned e = 0; e < 16 * 8 && status == RUN_OK; e++) {
            unsigned row = e / 8, col = e % 8, lane = 4 * (row % 8) + col / 2,
                     half = wide ? 0 : 16 * (col % 2);
            unsigned at = wide ? 4 * j + 2 * (row / 8) + col % 2 : 2 * j + row / 8;
            uint32_t was = adds ? c[32 * at + lane] >> half & (wide ? ~0u : 0xffff) : 0;
            uint32_t v = gmma_element(dec, f.a[row], facing(dec, &f, row, col, room), f.k, was);
            out[at][lane] = half ? (out[at][lane] & 0xffff) | v << half : v;
        }
    }
    if (status == RUN_OK)
        memcpy(dec_dst(w, dec, 0), out, words * sizeof out[0]);
    return next_if(w, dec, status);
}

/* `columns`: of D, `how`: GmmaDesc or its part that is about B. */
static bool bind_gmma(Bind *bind, unsigned elem, unsigned columns, bool wide, unsigned how) {
    Dec *dec = bind->d;
    const MachInst *in = bind->in;
    const Operand *rc = &in->src[HGMMA_rc];
    dec->mma.elem = elem;
    dec->mma.n = columns / 8;
    dec->mma.wide = wide;
    dec->mma.kept = 0;
    dec->mma.in_registers = in->src[HGMMA_ra].kind == OPK_REG;
    dec->mma.how = (uint8_t)(how | (in->src[HGMMA_ra].mods & OPM_NEG ? NEGATED_A : 0));
    dec->mma.adds = rc->kind == OPK_REG && rc->value != REG_RZ;
    bind_product(bind);
    bind_chained(bind, op_gmma, op_gmma);
    bool whole = in->dst[HGMMA_rd].kind == OPK_REG && in->dst[HGMMA_rd].value != REG_RZ && columns;
    return whole ? !bind->failed : bind_not_simulated(bind);
}

/* As bind_gmma; A as in bind_sparse. */
static bool bind_sparse_gmma(Bind *bind, unsigned elem, unsigned columns, bool wide, unsigned how) {
    Dec *dec = bind->d;
    unsigned bits = elem_bits(elem);
    if (!bind_gmma(bind, elem, columns, wide, how))
        return false;
    dec->mma.kept = bits == 32 ? 1 : 2;
    dec->mma.words = bits == 8 ? 4 : 2;
    dec->mma.lanes = (uint8_t)dec->imm[0];
    return (dec->mma.lanes + 1) * dec->mma.words <= 4 || bind_not_simulated(bind);
}
static unsigned gmma_float(uint32_t src) {
    return src == HmmaSrc_TF32 ? ELEM_TF32 : src == HmmaSrc_BF16 ? ELEM_BF16 : ELEM_F16;
}
/* Number of columns of the integer shape that is the `number`th. */
static unsigned gmma_int_columns(uint32_t number) { /* 8, 16, 24, 32, 48 ... */
    return number < 4 ? 8 * (number + 1) : 16 * (number - 1);
}

bool LV(bind_HGMMA)(Bind *bind) {
    uint32_t m = bind->in->mods, shape = MGET(HGMMA, shape, m), src = MGET(HGMMA, src, m);
    bool k8 = shape & 32, wide = shape & 64;
    unsigned how = MGET(HGMMA, how, m) | MGET(HGMMA, howb, m) << 1;
    unsigned elem = gmma_float(src);
    bool known = src <= HmmaSrc_TF32 && k8 == (elem == ELEM_TF32) && (wide || elem == ELEM_F16) &&
                 !(k8 && how & (TRANSPOSED_A | TRANSPOSED_B));
    return known ? bind_gmma(bind, elem, 8 * (shape % 32 + 1), wide, how) : bind_not_simulated(bind);
}
bool LV(bind_QGMMA)(Bind *bind) {
    uint32_t m = bind->in->mods, shape = MGET(QGMMA, shape, m), of_b = MGET(QGMMA, hown, m);
    bind->d->mma.elem_b = MGET(QGMMA, btype, m) == QmmaType_E4M3 ? ELEM_E4M3 : ELEM_E5M2;
    return bind_gmma(bind, MGET(QGMMA, atype, m) == QmmaType_E4M3 ? ELEM_E4M3 : ELEM_E5M2,
                     8 * (shape % 32 + 1), shape & 32, of_b << 2 | MGET(QGMMA, hownb, m) << 2);
}
bool LV(bind_IGMMA)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind->d->mma.elem_b = elems[MGET(IGMMA, btype, m)];
    bind->d->mma.sat = MGET(IGMMA, sat, m);
    return bind_gmma(bind, elems[MGET(IGMMA, atype, m)], gmma_int_columns(MGET(IGMMA, shape, m) / 3), true,
                     0);
}
bool LV(bind_BGMMA)(Bind *bind) {
    return bind_gmma(bind, ELEM_BITS, gmma_int_columns(MGET(BGMMA, shape, bind->in->mods)), true, 0);
}
bool LV(bind_HGMMA_SP)(Bind *bind) {
    uint32_t m = bind->in->mods, shape = MGET(HGMMA_SP, shape, m), src = MGET(HGMMA_SP, src, m);
    bool k32 = shape & 64, wide = shape & 128;
    unsigned how = MGET(HGMMA_SP, how, m) | MGET(HGMMA_SP, howb, m) << 1, elem = gmma_float(src);
    bool known = src <= HmmaSrc_TF32 && k32 == (elem != ELEM_TF32) && (wide || elem == ELEM_F16) &&
                 (k32 || !(how & (TRANSPOSED_A | TRANSPOSED_B)));
    return known ? bind_sparse_gmma(bind, elem, 8 * (shape % 32 + 1), wide, how) : bind_not_simulated(bind);
}
bool LV(bind_QGMMA_SP)(Bind *bind) {
    uint32_t m = bind->in->mods, shape = MGET(QGMMA_SP, shape, m), of_b = MGET(QGMMA_SP, hown, m);
    bind->d->mma.elem_b = MGET(QGMMA_SP, btype, m) == QmmaType_E4M3 ? ELEM_E4M3 : ELEM_E5M2;
    return bind_sparse_gmma(bind, MGET(QGMMA_SP, atype, m) == QmmaType_E4M3 ? ELEM_E4M3 : ELEM_E5M2,
                            8 * (shape % 32 + 1), shape & 64, of_b << 2 | MGET(QGMMA_SP, hownb, m) << 2);
}
bool LV(bind_IGMMA_SP)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind->d->mma.elem_b = elems[MGET(IGMMA_SP, btype, m)];
    bind->d->mma.sat = MGET(IGMMA_SP, sat, m);
    return bind_sparse_gmma(bind, elems[MGET(IGMMA_SP, atype, m)],
                            gmma_int_columns(MGET(IGMMA_SP, shape, m) / 3), true, 0);
}
