/* Lane functions: what an operation does in one lane, as a pure function of values. lanes.def has a row for
 * each; from it come the interpreter's handlers (sim/ops/ops.h), the folder's (compute.c), the compact table
 * of its LLVM IR (jit/lane_table.inc), from which jit/ builds vectors, and the table's own evaluator, with
 * which a test compares these functions.
 *
 * Parameters: the sources a, b, c in their width; the bits p, q of the first two predicate sources, 0 or 1;
 * k0 to k8, what the binder made of the modifiers (the row says from where in Dec: K(field)). No memory, no
 * loop over lanes, no table that is read by a variable, no rounding mode but nearest.
 *
 *   LANE(name, result bits, bits of a, b, c, (constants), value)
 *   LANE_FLOAT(name, (constants), value)                 an f32, whose NaNs become the canonical one
 *   LANE_CARRY(name, bits of a, b, c, (constants), value, carries)
 *                       a 32-bit value; the first destination predicate: carries > 0, the second: > 1
 *   LANE_LOGIC(name, (constants), value)                 and the predicate: value is not 0, with the
 * predicate source LANE_SETP(name, (constants), condition)              the predicate: condition, with the
 * predicate source; the second: its contrary, with the predicate source
 *
 * This header is compiled by itself, too, to make the compact table: nothing of the machine's state is known
 * here. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_LANE_LANE_H
#define HEDDLE_ISA_LANE_LANE_H
#include <stdbool.h>
#include <stdint.h>

#define UNUSED __attribute__((unused))
#define F32_NAN 0x7fffffffu
#define F64_NAN 0xfff8000000000000u
#define LANE_MAX_KS 9

static inline UNUSED uint32_t lane_mask(uint32_t g, unsigned i) { return 0u - (g >> i & 1u); }
static inline UNUSED uint32_t blend(uint32_t m, uint32_t x, uint32_t old) { return (x & m) | (old & ~m); }
static inline UNUSED float as_f32(uint32_t x) {
    union {
        uint32_t u;
        float f;
    } v = {x};
    return v.f;
}
static inline UNUSED uint32_t f32_bits(float x) {
    union {
        float f;
        uint32_t u;
    } v = {x};
    return v.u;
}
static inline UNUSED double as_f64(uint64_t x) {
    union {
        uint64_t u;
        double f;
    } v = {x};
    return v.f;
}
static inline UNUSED uint64_t f64_bits(double x) {
    union {
        double f;
        uint64_t u;
    } v = {x};
    return v.u;
}
static inline UNUSED uint64_t pair(uint32_t lo, uint32_t hi) { return (uint64_t)hi << 32 | lo; }

/* ---- integers ---- */
/* How often s + y + z + n passes 2^32. */
static inline UNUSED uint32_t sum_carries(uint32_t s, uint32_t y, uint32_t z, uint32_t n) {
    uint32_t carries;
    s += y;
    carries = s < y;
    s += z;
    carries += s < z;
    s += n;
    return carries + (s < n);
}
/* A table of three bits in algebraic normal form. */
#define ANF(x, y, z)                                                                                         \
    (k0 ^ ((x)&k1) ^ ((y)&k2) ^ ((z)&k3) ^ ((x) & (y)&k4) ^ ((x) & (z)&k5) ^ ((y) & (z)&k6) ^                \
     ((x) & (y) & (z)&k7))
static inline UNUSED uint32_t extend(uint32_t x, uint32_t bits, uint32_t sign) {
    return ((x & bits) ^ sign) - sign;
}
/* v from bit n on filled with its bit n - 1, or with zeros. */
static inline UNUSED uint32_t sgxt_one(uint32_t v, uint32_t n, bool wrap, bool sign) {
    n = wrap ? n & 31 : n < 32 ? n : 32;
    uint32_t above = n > 31 ? 0 : ~0u << (n & 31), top = n ? 1u << ((n - 1) & 31) : 0;
    return (v & ~above) | (sign && v & top ? above : 0);
}
static inline UNUSED uint32_t bmsk_one(uint32_t pos, uint32_t n, bool wrap) {
    if (wrap) {
        pos &= 31;
        n &= 31;
    }
    uint32_t ones = n > 31 ? ~0u : (1u << (n & 31)) - 1u;
    return pos > 31 ? 0 : ones << (pos & 31);
}
static inline UNUSED uint32_t brev_one(uint32_t v) {
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}
static inline UNUSED uint32_t popc_one(uint32_t v) {
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return ((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

/* bop of a predicate operation, over lane masks: BoolOp */
static inline UNUSED uint32_t bool_op(uint32_t op, uint32_t x, uint32_t y) {
    return op == 0 ? x & y : op == 1 ? x | y : x ^ y;
}

/* ---- floats: masks instead of branches ---- */
static inline UNUSED uint32_t f32_flush(uint32_t v, uint32_t ftz) {
    uint32_t tiny = (v & 0x7f800000u) == 0 ? ftz : 0;
    return v & ~(tiny & 0x7fffffffu);
}
static inline UNUSED uint32_t f32_canon(float x) { return x != x ? F32_NAN : f32_bits(x); }
static inline UNUSED uint64_t f64_canon(double x) { return x != x ? F64_NAN : f64_bits(x); }
/* Saturate where sat is ~0. */
static inline UNUSED uint32_t f32_sat(uint32_t bits, uint32_t sat) {
    float x = as_f32(bits);
    uint32_t s = x > 0.0f ? (x < 1.0f ? bits : 0x3f800000u) : 0;
    return blend(sat, s, bits);
}
/* Integers that order as the floats do, -0 below +0. */
static inline UNUSED int32_t order_key(uint32_t v) {
    return (int32_t)(v ^ ((uint32_t)((int32_t)v >> 31) & 0x7fffffffu));
}
/* sign: of both operands as the registers have them, which is what .XORSIGN takes, |.| or not. */
static inline UNUSED uint32_t fmnmx_one(uint32_t x, uint32_t y, uint32_t is_min, bool nan, bool xorsign,
                                        uint32_t sign) {
    if (xorsign) {
        x &= 0x7fffffffu;
        y &= 0x7fffffffu;
    }
    bool nx = (x & 0x7fffffffu) > 0x7f800000u, ny = (y & 0x7fffffffu) > 0x7f800000u;
    uint32_t res = (order_key(x) < order_key(y)) == (is_min != 0) ? x : y;
    res = nx ? y : ny ? x : res;
    if (xorsign)
        res = (res & 0x7fffffffu) | sign;
    return (nx && ny) || (nan && (nx || ny)) ? F32_NAN : res;
}
/* True unless both are normal and neither the quotient nor the reciprocal comes near the ends of the range:
 * so near that MUFU's reciprocal might be subnormal, or the remainder of the division not be exact. */
static inline UNUSED uint32_t needs_slow_division(uint32_t x, uint32_t y) {
    int ex = (int)(x >> 23 & 0xff), ey = (int)(y >> 23 & 0xff);
    return ex == 0xff || ey == 0xff || ex < 25 || ey < 2 || ey > 251 || ex - ey > 125 || ex - ey < -125;
}
static inline UNUSED uint32_t f32_to_s32(float x) {
    float y = x < -2147483648.0f ? -2147483648.0f : x > 2147483520.0f ? 2147483520.0f : x;
    y = y == y ? y : 0.0f;
    uint32_t v = (uint32_t)(int32_t)y;
    return x >= 2147483648.0f ? 0x7fffffffu : v;
}
static inline UNUSED uint32_t f32_to_u32(float x) {
    float y = x > 0.0f ? x < 4294967040.0f ? x : 4294967040.0f : 0.0f; /* a NaN is 0 */
    uint32_t top = y >= 2147483648.0f ? 0x80000000u : 0;
    uint32_t v = (uint32_t)(int32_t)(y - (top ? 2147483648.0f : 0.0f)) ^ top;
    return x >= 4294967296.0f ? ~0u : v;
}
/* Rounded to an integral value; whole: IRnd. From 2^23 on all are. */
static inline UNUSED float f32_whole(float x, uint32_t whole) {
    bool small = f32_bits(x) << 1 < 0x4b000000u << 1;
    float y = small ? x : 0.0f, first = y < 0.0f ? -8388608.0f : 8388608.0f;
    float cut = (float)(int32_t)y, nearest = (y + first) - first;
    float down = cut - (cut > y ? 1.0f : 0.0f), up = cut + (cut < y ? 1.0f : 0.0f);
    uint32_t r = blend(0u - (uint32_t)(whole == 0), f32_bits(nearest), f32_bits(cut));
    r = blend(0u - (uint32_t)(whole == 1), f32_bits(down), r);
    r = blend(0u - (uint32_t)(whole == 2), f32_bits(up), r) | (f32_bits(x) & 0x80000000u);
    return as_f32(blend(0u - (uint32_t)small, r, f32_bits(x)));
}
static inline UNUSED uint32_t f32_directed(uint32_t a, uint32_t away, uint32_t toward, uint32_t top) {
    uint32_t sign = a & top, m = sign ? 0u - a : a;
    float nearest = (float)m;
    double is = (double)nearest, was = (double)m; /* exact */
    uint32_t more = (sign ? away >> 1 : away) & 1, less = (sign ? toward >> 1 : toward) & 1;
    uint32_t bits = f32_bits(nearest) + (is < was ? more : 0) - (is > was ? less : 0);
    return bits | sign;
}

/* The constants of f32 and f64 rows, and their operands. */
#define F32_KS K(am[0]), K(xm[0]), K(am[1]), K(xm[1]), K(flt.ftz), K(flt.sat)
#define F32_A as_f32(f32_flush((a & k0) ^ k1, k4))
#define F32_B as_f32(f32_flush((b & k2) ^ k3, k4))
#define F32_C as_f32(f32_flush((c & k6) ^ k7, k4))
#define F32_NO_FACTOR ((uint32_t)(F32_A == 0.0f) | (uint32_t)(F32_B == 0.0f))
#define F32_OUT(x) f32_sat(f32_flush(f32_canon(x), k4), k5)
#define CVT_KS K(am[0]), K(xm[0]) & 0x80000000u, K(cvt.ftz)
#define CVT_F32 as_f32((f32_flush(a, k2) & k0) ^ k1)
#define F64_KS K(am[0]), K(xm[0]) & 0x80000000u, K(am[1]), K(xm[1]) & 0x80000000u
#define F64_A as_f64((a & pair(~0u, k0)) ^ pair(0, k1))
#define F64_B as_f64((b & pair(~0u, k2)) ^ pair(0, k3))

/* ---- the functions ---- */
#define LANE_PARAMS(aw, bw, cw)                                                                              \
    UNUSED uint##aw##_t a, UNUSED uint##bw##_t b, UNUSED uint##cw##_t c, UNUSED uint32_t p,                  \
        UNUSED uint32_t q, UNUSED uint32_t k0, UNUSED uint32_t k1, UNUSED uint32_t k2, UNUSED uint32_t k3,   \
        UNUSED uint32_t k4, UNUSED uint32_t k5, UNUSED uint32_t k6, UNUSED uint32_t k7, UNUSED uint32_t k8
#define LANE_FN(type, name, aw, bw, cw, expr)                                                                \
    static inline UNUSED __attribute__((always_inline)) type name(LANE_PARAMS(aw, bw, cw)) {                 \
        return (type)(expr);                                                                                 \
    }
#define LANE(name, rw, aw, bw, cw, ks, expr) LANE_FN(uint##rw##_t, lane_##name, aw, bw, cw, expr)
#define LANE_FLOAT(name, ks, expr)                                                                           \
    LANE_FN(float, lane_raw_##name, 32, 32, 32, expr)                                                        \
    LANE_FN(uint32_t, lane_##name, 32, 32, 32,                                                               \
            f32_canon(lane_raw_##name(a, b, c, p, q, k0, k1, k2, k3, k4, k5, k6, k7, k8)))
#define LANE_CARRY(name, aw, bw, cw, ks, expr, carries)                                                      \
    LANE_FN(uint32_t, lane_##name, aw, bw, cw, expr)                                                         \
    LANE_FN(uint32_t, lane_##name##_carries, aw, bw, cw, carries)
#define LANE_LOGIC(name, ks, expr) LANE_FN(uint32_t, lane_##name, 32, 32, 32, expr)
#define LANE_SETP(name, ks, cond) LANE_FN(uint32_t, lane_##name, 32, 32, 32, (cond) ? 1 : 0)
#include "isa/lane/lanes.def"
#undef LANE
#undef LANE_FLOAT
#undef LANE_CARRY
#undef LANE_LOGIC
#undef LANE_SETP
#endif
