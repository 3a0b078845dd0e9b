/* Products of matrices by a warp: HMMA, IMMA, BMMA, DMMA. docs/numerics.md has the numbers that come out.
 *
 * Lane l is of group l / 4 and has place l % 4 in it. With E elements in a register (a pair of them for f64),
 * register r of A has row l / 4 + 8 (r % m8) and from column 4E (r / m8) + E (l % 4) on E elements, where m8
 * = m / 8; register r of B those rows of column l / 4; C and D have of rows l / 4 and l / 4 + 8 the columns 2
 * (l % 4) and the next. SPDX-License-Identifier: MIT */
#include "sim/ops/fp.h"
#include <math.h>
#include <string.h>

typedef enum { ELEM_F16, ELEM_BF16, ELEM_TF32, ELEM_F64, ELEM_U8, ELEM_S8, ELEM_U4, ELEM_S4 } Elem;

enum { MOST_K = 64 };

/* Column k of row `row` of A, row k of column `col` of B: their bits. */
typedef struct {
    uint64_t a[16][MOST_K], b[8][MOST_K];
} Factors;

static bool bind_fn(Bind *bind, OpFn *fn) {
    bind_operands(bind);
    bind_chained(bind, fn, fn);
    return !bind->failed;
}

static unsigned elem_bits(uint32_t elem) {
    switch ((Elem)elem) {
    case ELEM_F16:
    case ELEM_BF16: return 16;
    case ELEM_TF32: return 32;
    case ELEM_F64: return 64;
    case ELEM_U8:
    case ELEM_S8: return 8;
    case ELEM_U4:
    case ELEM_S4: return 4;
    }
    __builtin_unreachable();
}

/* One factor: `major` rows of A, or columns of B, of eight; `n` registers of each in a lane. */
static void spread(uint64_t (*out)[MOST_K], const uint32_t *rows, unsigned bits, unsigned major, unsigned n) {
    unsigned per = bits < 32 ? 32 / bits : 1, words = bits == 64 ? 2 : 1;
    for (unsigned r = 0; r < major * n; r++)
        for (unsigned lane = 0; lane < 32; lane++) {
            uint64_t v = rows[32 * words * r + lane];
            v |= words == 2 ? (uint64_t)rows[32 * (words * r + 1) + lane] << 32 : 0;
            uint64_t *at = &out[lane / 4 + 8 * (r % major)][4 * per * (r / major) + per * (lane % 4)];
            for (unsigned i = 0; i < per; i++)
                at[i] = per == 1 ? v : v >> (bits * i) & (((uint64_t)1 << bits) - 1);
        }
}

/* ---- floating point: see docs/numerics.md, "Products of matrices" ---- */

enum { FRACTION = 24 }; /* bits kept below the highest exponent of a block */

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

/* The sum of a block, each term cut off below the highest exponent. */
static Number sum_of(const Number *term, unsigned n) {
    Number sum = {0};
    bool plus = false, minus = false;
    int highest = INT32_MIN;
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
        int shift = term[i].exp - (highest - FRACTION);
        uint64_t cut = shift >= 0 ? term[i].mant << shift : shift > -64 ? term[i].mant >> -shift : 0;
        total += term[i].neg ? -(int64_t)cut : (int64_t)cut;
    }
    sum.neg = total < 0;
    sum.mant = (uint64_t)(total < 0 ? -total : total);
    sum.exp = highest - FRACTION;
    return sum;
}

/* Overflow is infinity whatever the rounding. */
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
    return top > (1 << (f.ebits - 1)) - 1 ? sign | infinity : bits;
}

static uint32_t dot_float(const Dec *dec, const uint64_t *a, const uint64_t *b, unsigned k, uint32_t c) {
    static const Fmt tf32 = {.ebits = 8, .mbits = 10};
    Fmt from = dec->mma.elem == ELEM_F16 ? fmt_f16 : dec->mma.elem == ELEM_BF16 ? fmt_bf16 : tf32;
    unsigned down = dec->mma.elem == ELEM_TF32 ? 13 : 0; /* what is below tf32 in its register is not read */
    unsigned block = dec->mma.elem == ELEM_TF32 ? 4 : 8;
    Number sum = number(c, dec->mma.wide ? fmt_f32 : fmt_f16);
    for (unsigned first = 0; first < k; first += block) {
        Number term[9] = {first ? number(packed(sum, fmt_f32, Rnd_RZ), fmt_f32) : sum};
        for (unsigned i = 0; i < block; i++)
            term[1 + i] = exact_product(number((uint32_t)a[first + i] >> down, from),
                                        number((uint32_t)b[first + i] >> down, from));
        sum = sum_of(term, 1 + block);
    }
    return dec->mma.wide ? packed(sum, fmt_f32, Rnd_RZ) : packed(sum, fmt_f16, Rnd_RN);
}

static int op_hmma(Warp *w, Dec *dec, uint32_t g) {
    static const unsigned columns = 8;
    const uint32_t *c = dec_src(w, dec, 2);
    uint32_t *r = dec_dst(w, dec, 0), out[4][32];
    unsigned bits = elem_bits(dec->mma.elem), n = dec->mma.n, k = 4 * n * (32 / bits);
    int status = RUN_OK;
    if (!machine_whole_warp(w, dec, g, &status))
        return next_if(w, dec, status);
    Factors f;
    spread(f.a, dec_src(w, dec, 0), bits, 2, n);
    spread(f.b, dec_src(w, dec, 1), bits, 1, n);
    for (unsigned row = 0; row < 16; row++)
        for (unsigned col = 0; col < columns; col++) {
            unsigned lane = 4 * (row % 8) + col / 2, at = dec->mma.wide ? 2 * (row / 8) + col % 2 : row / 8;
            unsigned half = dec->mma.wide ? 0 : 16 * (col % 2);
            uint32_t was = c[32 * at + lane] >> half & (dec->mma.wide ? ~0u : 0xffff);
            uint32_t v = dot_float(dec, f.a[row], f.b[col], k, was);
            out[at][lane] = half ? (out[at][lane] & 0xffff) | v << half : v;
        }
    memcpy(r, out, (dec->mma.wide ? 4 : 2) * sizeof out[0]);
    return machine_next(w, dec);
}
bool LV(bind_HMMA)(Bind *bind) {
    uint32_t m = bind->in->mods, shape = MGET(HMMA, shape, m), src = MGET(HMMA, src, m);
    bool tf32 = src == HmmaSrc_TF32;
    Dec *dec = bind->d;
    dec->mma.elem = tf32 ? ELEM_TF32 : src == HmmaSrc_BF16 ? ELEM_BF16 : ELEM_F16;
    dec->mma.n = shape == HmmaShape_M16816 || (tf32 && shape == HmmaShape_M1688) ? 2 : 1;
    dec->mma.wide = MGET(HMMA, acc, m) == HmmaAcc_F32;
    bool known = shape <= HmmaShape_M1684 && src <= HmmaSrc_TF32 && !(tf32 && shape == HmmaShape_M16816) &&
                 (tf32 || shape != HmmaShape_M1684) && (dec->mma.wide || src == HmmaSrc_F16);
    return known ? bind_fn(bind, op_hmma) : bind_not_simulated(bind);
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
    unsigned bits = elem_bits(dec->mma.elem), n = dec->mma.n, m8 = dec->mma.m8, k = 4 * n * (32 / bits);
    int status = RUN_OK;
    if (!machine_whole_warp(w, dec, g, &status))
        return next_if(w, dec, status);
    Factors f;
    spread(f.a, dec_src(w, dec, 0), bits, m8, n);
    spread(f.b, dec_src(w, dec, 1), bits, 1, n);
    for (unsigned row = 0; row < 8 * m8; row++)
        for (unsigned col = 0; col < 8; col++) {
            unsigned lane = 4 * (row % 8) + col / 2, at = 2 * (row / 8) + col % 2;
            int64_t sum = (int32_t)c[32 * at + lane];
            for (unsigned i = 0; i < k; i++)
                sum += integer(f.a[row][i], dec->mma.elem) * integer(f.b[col][i], dec->mma.elem_b);
            if (dec->mma.sat)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            out[at][lane] = (uint32_t)sum;
        }
    memcpy(r, out, 2 * m8 * sizeof out[0]);
    return machine_next(w, dec);
}
bool LV(bind_IMMA)(Bind *bind) {
    static const uint8_t elems[] = {
        [ImmaType_U8] = ELEM_U8, [ImmaType_S8] = ELEM_S8, [ImmaType_U4] = ELEM_U4, [ImmaType_S4] = ELEM_S4};
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
    unsigned bits = elem_bits(dec->mma.elem);
    if (shape >= sizeof shapes / sizeof *shapes || !shapes[shape].k || bits != elem_bits(dec->mma.elem_b))
        return bind_not_simulated(bind);
    dec->mma.m8 = shapes[shape].m8;
    dec->mma.n = shapes[shape].k * bits / 128u;
    bool known =
        dec->mma.n && (bits == 8 || shape != ImmaShape_M16816) && (bits == 4 || shape != ImmaShape_M8832);
    return known ? bind_fn(bind, op_imma) : bind_not_simulated(bind);
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
    uint32_t *r = dec_dst(w, dec, 0), out[4][32];
    int status = RUN_OK;
    if (!machine_whole_warp(w, dec, g, &status))
        return next_if(w, dec, status);
    Factors f;
    spread(f.a, dec_src(w, dec, 0), 64, 1, 1);
    spread(f.b, dec_src(w, dec, 1), 64, 1, 1);
    for (unsigned row = 0; row < 8; row++)
        for (unsigned col = 0; col < 8; col++) {
            unsigned lane = 4 * row + col / 2, at = 2 * (col % 2);
            double sum = as_f64(c[32 * at + lane] | (uint64_t)c[32 * (at + 1) + lane] << 32);
            for (unsigned i = 0; i < 4; i++)
                sum = fma(as_f64(f.a[row][i]), as_f64(f.b[col][i]), sum);
            uint64_t bits = isnan(sum) ? F64_NAN : f64_bits(sum);
            out[at][lane] = (uint32_t)bits;
            out[at + 1][lane] = (uint32_t)(bits >> 32);
        }
    memcpy(r, out, sizeof out);
    return machine_next(w, dec);
}
bool LV(bind_DMMA)(Bind *bind) {
    return bind_fn(bind, op_dmma) && LV(bind_rounding)(bind, MGET(DMMA, rnd, bind->in->mods));
}
