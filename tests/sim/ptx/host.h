/* What value_cases.def writes its expected values with: host arithmetic, nothing of the interpreter.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TESTS_SIM_PTX_HOST_H
#define HEDDLE_TESTS_SIM_PTX_HOST_H
#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 U128;
__extension__ typedef __int128 S128;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

static inline float F(u64 b) {
    u32 v = (u32)b;
    float f;
    memcpy(&f, &v, 4);
    return f;
}
static inline double G(u64 b) {
    double f;
    memcpy(&f, &b, 8);
    return f;
}
static inline u64 fb(float f) { /* bits, NaN canonical */
    u32 v;
    memcpy(&v, &f, 4);
    return f != f ? 0x7fffffffu : v;
}
static inline u64 gb(double f) {
    u64 v;
    memcpy(&v, &f, 8);
    return f != f ? 0xfff8000000000000ull : v;
}
static inline float Z(float f) { return fabsf(f) < 0x1p-126f ? copysignf(0.0f, f) : f; } /* flush */
static inline float turns(float x) { /* of a circle, rounded to zero */
    double exact = (double)x * 0x1.45f306p-3;
    float t = (float)exact;
    return Z(fabs((double)t) > fabs(exact) ? nextafterf(t, 0) : t);
}
static inline u64 satf(float f) { return f > 0 ? (f < 1 ? fb(f) : 0x3f800000u) : 0; }
/* an f32 or f64 expression under a host rounding mode */
#define MODE_OP(name, T, expr)                                                                               \
    static inline T name(int mode, T x, T y, T z) {                                                          \
        volatile T a_ = x, b_ = y, c_ = z, r_;                                                               \
        (void)b_, (void)c_;                                                                                  \
        fesetround(mode);                                                                                    \
        r_ = (expr);                                                                                         \
        fesetround(FE_TONEAREST);                                                                            \
        return r_;                                                                                           \
    }
MODE_OP(addf, float, a_ + b_)
MODE_OP(mulf, float, a_ *b_)
MODE_OP(divf, float, a_ / b_)
MODE_OP(mfmaf, float, fmaf(a_, b_, c_))
MODE_OP(msqrtf, float, sqrtf(a_))
MODE_OP(addd, double, a_ + b_)
MODE_OP(divd, double, a_ / b_)
MODE_OP(mfmad, double, fma(a_, b_, c_))
static inline float minf(float a, float b) {
    if (a != a || b != b)
        return a != a ? b : a;
    return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}
static inline float maxf(float a, float b) {
    if (a != a || b != b)
        return a != a ? b : a;
    return a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}
static inline double mind(double a, double b) {
    return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

/* half formats: m mantissa bits, e exponent bits */
static inline double halfv(u64 h, int e, int m) {
    int bias = (1 << (e - 1)) - 1, x = (int)(h >> m) & ((1 << e) - 1), f = (int)h & ((1 << m) - 1);
    double v = x == (1 << e) - 1 ? (f ? (double)NAN : (double)INFINITY)
               : x               ? ldexp(f | 1 << m, x - bias - m)
                                 : ldexp(f, 1 - bias - m);
    return h & 0x8000 ? -v : v;
}
static inline double H(u64 h) { return halfv(h, 5, 10); }
static inline double B(u64 h) { return halfv(h, 8, 7); }
/* round a double to a half by searching: monotone in the bits */
static inline u64 tohalf(double v, int e, int m) {
    u64 inf = (u64)((1 << e) - 1) << m, lo = 0, hi = inf, sign = signbit(v) ? 0x8000 : 0;
    if (v != v)
        return 0x7fff;
    v = fabs(v);
    while (hi - lo > 1) {
        u64 mid = (lo + hi) / 2;
        if (halfv(mid, e, m) <= v)
            lo = mid;
        else
            hi = mid;
    }
    if (isinf(v))
        return sign | inf;
    double a = halfv(lo, e, m), b = hi == inf ? ldexp(1.0, (1 << (e - 1))) : halfv(hi, e, m);
    bool up = v - a > b - v || (v - a == b - v && (lo & 1));
    return sign | (up ? hi : lo);
}
static inline u64 h16(double v) { return tohalf(v, 5, 10); }
static inline u64 b16(double v) { return tohalf(v, 8, 7); }

static inline s64 clampi(double v, double lo, double hi, s64 lov, s64 hiv) {
    return v <= lo ? lov : v >= hi ? hiv : (s64)v;
}
static inline u32 f2s32(double v, bool from64) {
    return v != v ? (from64 ? 0x80000000u : 0) : (u32)(s32)clampi(v, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX);
}
static inline u32 f2u32(double v, bool from64) {
    return v != v ? (from64 ? 0x80000000u : 0) : v <= 0 ? 0 : v >= 0x1p32 ? UINT32_MAX : (u32)v;
}
static inline u64 f2s64(double v) {
    return v != v ? 1ull << 63 : (u64)clampi(v, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX);
}
static inline u64 f2u64(double v) {
    return v != v ? 1ull << 63 : v <= 0 ? 0 : v >= 0x1p64 ? UINT64_MAX : (u64)v;
}

static inline u64 field(u64 a, unsigned pos, unsigned len, unsigned bits, bool sign) { /* bfe by bit string */
    S128 v = sign ? (bits == 32 ? (S128)(s32)a : (S128)(s64)a) : bits == 32 ? (S128)(u32)a : (S128)a;
    if (len == 0)
        return 0;
    v >>= pos > 126 ? 126 : pos; /* beyond the top: sign bits or zeros */
    if (len < 64) {
        v &= ((S128)1 << len) - 1;
        unsigned top = pos + len - 1 < bits - 1 ? len - 1 : 127;
        if (sign && top != 127 && (v >> top & 1))
            v |= -((S128)1 << len);
        else if (sign && top == 127) { /* the field's sign bit is the value's */
            bool neg = bits == 32 ? (s32)a < 0 : (s64)a < 0;
            if (neg)
                v |= -((S128)1 << len);
        }
    }
    return (u64)v;
}
static inline u64 insert(u64 a, u64 b, unsigned pos, unsigned len, unsigned bits) {
    if (pos >= bits || len == 0)
        return b;
    if (len > bits - pos)
        len = bits - pos;
    u64 m = (len == 64 ? ~0ull : (1ull << len) - 1) << pos;
    return (b & ~m) | (a << pos & m);
}
static inline unsigned log2u(u64 v) {
    unsigned n = 0;
    while (v >>= 1)
        n++;
    return n;
}
#endif
