/* MUFU: the approximate functions, each an exact composition of correctly rounded double operations fixed in
 * docs/numerics.md section 6. Nothing of the host's libm is used but floor and sqrt, which are exact.
 * SPDX-License-Identifier: MIT */
#include "sim/ops/fp.h"

/* The functions of f32 have no branches, and their loops are unrolled: handlers of all lanes are loops of
 * vectors. */
#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 16")

INLINE double pow2(int k) { return as_f64((uint64_t)(k + 1023) << 52); }

INLINE double exp2_core(double x) {
    static const double c[12] = {0x1.0000000000000p+0,  0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58fp-3,
                                 0x1.c6b08d704a0c0p-5,  0x1.3b2ab6fba4e77p-7,  0x1.5d87fe78a6731p-10,
                                 0x1.430912f86c787p-13, 0x1.ffcbfc588b0c7p-17, 0x1.62c0223a5c824p-20,
                                 0x1.b5253d395e7c4p-24, 0x1.e4cf5158b8ecap-28, 0x1.e8cac7351bb25p-32};
    double k = __builtin_floor(x + 0.5), r = x - k, p = c[11];
    UNROLLED
    for (int i = 10; i >= 0; i--)
        p = p * r + c[i];
    return p * pow2((int)k);
}

INLINE double log2_core(double x) {
    static const double g[9] = {0x1.71547652b82fep+1, 0x1.ec709dc3a03fdp-1, 0x1.2776c50ef9bfep-1,
                                0x1.a61762a7aded9p-2, 0x1.484b13d7c02a9p-2, 0x1.0c9a84994022dp-2,
                                0x1.c68f568d31760p-3, 0x1.89f3b1694cffep-3, 0x1.5b9ac9b743f0dp-3};
    uint64_t bits = f64_bits(x);
    double e = (double)((int)(bits >> 52 & 0x7ff) - 1023);
    double m = as_f64((bits & 0xfffffffffffff) | (uint64_t)1023 << 52);
    bool above = m >= 0x1.6a09e667f3bcdp+0;
    m *= above ? 0.5 : 1.0;
    e += above ? 1.0 : 0.0;
    double s = (m - 1.0) / (m + 1.0), z = s * s, p = g[8];
    UNROLLED
    for (int i = 7; i >= 0; i--)
        p = p * z + g[i];
    return e + s * p;
}

INLINE double sine_cosine(double x, bool cosine) {
    static const double s[7] = {0x1.0000000000000p+0,   -0x1.5555555555555p-3, 0x1.1111111111111p-7,
                                -0x1.a01a01a01a01ap-13, 0x1.71de3a556c734p-19, -0x1.ae64567f544e4p-26,
                                0x1.6124613a86d09p-33};
    static const double k[8] = {0x1.0000000000000p+0,   -0x1.0000000000000p-1, 0x1.5555555555555p-5,
                                -0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-16, -0x1.27e4fb7789f5cp-22,
                                0x1.1eed8eff8d898p-29,  -0x1.93974a8c07c9dp-37};
    double n = __builtin_floor(x * 4.0 + 0.5), r = x - n * 0.25, q = n - 4.0 * __builtin_floor(n * 0.25);
    double y = r * 0x1.921fb54442d18p+2, z = y * y, u = s[6], v = k[7];
    UNROLLED
    for (int i = 5; i >= 0; i--)
        u = u * z + s[i];
    UNROLLED
    for (int i = 6; i >= 0; i--)
        v = v * z + k[i];
    double sn = y * u;
    uint64_t even = f64_bits(cosine ? v : sn), odd = f64_bits(cosine ? sn : v);
    uint64_t is_odd = 0 - (uint64_t)((q == 1.0) | (q == 3.0)), top = (uint64_t)1 << 63;
    uint64_t minus = (q >= 2.0 ? top : 0) ^ (cosine ? is_odd & top : 0);
    return as_f64(((odd & is_odd) | (even & ~is_odd)) ^ minus);
}

INLINE double tanh_core(double x) {
    double a = x < 0 ? -x : x, e = exp2_core((a < 10.0 ? a : 10.0) * 0x1.71547652b82fep+1);
    double small = a * (1.0 - (a * a) * 0x1.5555555555555p-2), t = (e - 1.0) / (e + 1.0);
    t = a > 10.0 ? 1.0 : t;
    t = a < 0x1p-10 ? small : t;
    return as_f64(f64_bits(t) | (f64_bits(x) & 0x8000000000000000u));
}

/* High words of doubles. */
static uint32_t mufu64(uint32_t func, uint32_t h) {
    double x = as_f64((uint64_t)h << 32), r;
    if (x != x)
        return F32_NAN;
    if ((h & 0x7ff00000u) == 0)
        x = as_f64((uint64_t)(h & 0x80000000u) << 32);
    if (func == Mufu_RSQ64H && x < 0)
        return F32_NAN;
    if (func == Mufu_RSQ64H)
        r = x == 0 ? as_f64(0x7ff0000000000000u | (f64_bits(x) & 0x8000000000000000u))
                   : 1.0 / __builtin_sqrt(x);
    else
        r = 1.0 / x;
    uint32_t high = (uint32_t)(f64_bits(r) >> 32);
    return (high & 0x7ff00000u) == 0 ? high & 0x80000000u : high;
}

/* Of an f32. Where a function has no value of its own it is taken of a number that does no harm. */
INLINE uint32_t mufu_f32(uint32_t func, uint32_t bits) {
    float x = as_f32(bits);
    double v = (double)x;
    bool inf = (bits & 0x7fffffffu) == 0x7f800000u, nan = x != x;
    switch (func) {
    case Mufu_RCP: return f32_canon(1.0f / x);
    case Mufu_SQRT: return f32_canon(__builtin_sqrtf(x));
    case Mufu_RSQ: return f32_canon((float)(1.0 / __builtin_sqrt(v))); /* of a zero an infinity */
    case Mufu_EX2: {
        double y = x > -150.0f ? v : -150.0; /* of a NaN, too */
        return blend(0u - (uint32_t)nan, F32_NAN, f32_bits((float)exp2_core(y < 128.0 ? y : 128.0)));
    }
    case Mufu_LG2: {
        uint32_t is = 0u - (uint32_t)(x > 0), other = x == 0 ? 0xff800000u : F32_NAN;
        uint32_t log = f32_bits((float)log2_core(x > 0 ? v : 1.0));
        return blend(is, blend(0u - (uint32_t)inf, 0x7f800000u, log), other);
    }
    case Mufu_SIN:
    case Mufu_COS:
        return blend(0u - (uint32_t)(inf | nan), F32_NAN,
                     f32_bits((float)sine_cosine((inf | nan) ? 0.0 : v, func == Mufu_COS)));
    default: return blend(0u - (uint32_t)nan, F32_NAN, f32_bits((float)tanh_core(nan ? 0.0 : v)));
    }
}
static uint32_t mufu_one(uint32_t func, uint32_t bits) {
    return func == Mufu_RCP64H || func == Mufu_RSQ64H ? mufu64(func, bits) : mufu_f32(func, bits);
}

/* Without subnormal numbers, unless `keep` is not 0. */
static inline uint32_t flushed(uint32_t bits, uint32_t keep) {
    return bits & ((bits & 0x7f800000u) | keep ? ~0u : 0x80000000u);
}
/* Away from zero by so many units, but not to an infinity or to zero. The high word of a double (`wide`)
 * counts in units of its own last place. */
static uint32_t moved(const Warp *warp, bool wide, uint32_t bits) {
    static const int32_t units[] = {[MACHINE_MUFU_1_MORE] = 1,
                                    [MACHINE_MUFU_1_LESS] = -1,
                                    [MACHINE_MUFU_2_MORE] = 2,
                                    [MACHINE_MUFU_2_LESS] = -2};
    uint32_t magnitude = bits & 0x7fffffffu, to = magnitude + (uint32_t)units[warp->run->opt.mufu_ulp],
             infinite = wide ? 0x7ff00000u : 0x7f800000u;
    return magnitude && to - 1 < infinite - 1 && magnitude < infinite ? (bits & 0x80000000u) | to : bits;
}
static uint32_t mufu_here(const Warp *warp, uint32_t func, uint32_t bits) {
    bool wide = func == Mufu_RCP64H || func == Mufu_RSQ64H;
    if (wide) { /* subnormal numbers are flushed anyway */
        uint32_t high = moved(warp, true, mufu_one(func, bits));
        return high & 0x7ff00000u ? high : high & 0x80000000u;
    }
    uint32_t keep = !warp->run->mufu_flushes || func == Mufu_TANH;
    return flushed(moved(warp, false, mufu_one(func, flushed(bits, keep))), keep);
}

static int mufu(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    EACH_LANE(i, g)
        r[i] = mufu_here(warp, dec->mufu.func, (a[i] & dec->am[0]) ^ dec->xm[0]);
    return NEXT;
}
/* Half precision: exactly to f32, the function, rounded back into the lower half. */
static int mufu_half(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    Fmt f = dec->mufu.bf16 ? fmt_bf16 : fmt_f16;
    EACH_LANE(i, g) {
        uint32_t x = f32_bits((float)fp_widen(a[i] >> dec->mufu.shift & 0xffff, f));
        uint32_t y = mufu_one(dec->mufu.func, (x & dec->am[0]) ^ dec->xm[0]);
        r[i] = fp_narrow((double)as_f32(y), f, Rnd_RN);
    }
    return NEXT;
}
#define MUFU_SETUP                                                                                           \
    if (warp->run->opt.mufu_ulp != MACHINE_MUFU_EXACT)                                                       \
        return mufu(warp, dec, g);                                                                           \
    uint32_t m0 = dec->am[0], x0 = dec->xm[0];
#define MUFU_ROW(name, func, keeps)                                                                          \
    OP32(name, MUFU_SETUP uint32_t keep = (keeps);                                                           \
         , flushed(mufu_f32(func, flushed((a[i] & m0) ^ x0, keep)), keep))
#define BY_TARGET !warp->run->mufu_flushes
MUFU_ROW(mufu_rcp, Mufu_RCP, BY_TARGET)
MUFU_ROW(mufu_sqrt, Mufu_SQRT, BY_TARGET)
MUFU_ROW(mufu_rsq, Mufu_RSQ, BY_TARGET)
MUFU_ROW(mufu_ex2, Mufu_EX2, BY_TARGET)
MUFU_ROW(mufu_lg2, Mufu_LG2, BY_TARGET)
MUFU_ROW(mufu_sin, Mufu_SIN, BY_TARGET)
MUFU_ROW(mufu_cos, Mufu_COS, BY_TARGET)
MUFU_ROW(mufu_tanh, Mufu_TANH, 1)

bool LV(bind_MUFU)(Bind *bind) {
    bind_operands(bind);
    bind->d->xm[0] &= 0x80000000u;
    bind->d->mufu.func = MGET(MUFU, func, bind->in->mods);
    if (bind->d->mufu.func > Mufu_TANH)
        return bind_fail(bind, "undefined MUFU function");
    bind_chained(bind, mufu, mufu);
    if (MGET(MUFU, fmt, bind->in->mods) != MufuFmt_F32) {
        bind->d->mufu.shift = MGET(MUFU, half, bind->in->mods) == HalfSel_H1 ? 16 : 0;
        bind->d->mufu.bf16 = MGET(MUFU, fmt, bind->in->mods) == MufuFmt_BF16;
        bind_chained(bind, mufu_half, mufu_half);
        return !bind->failed;
    }
    switch (bind->d->mufu.func) {
    case Mufu_RCP: USE(bind, mufu_rcp); break;
    case Mufu_SQRT: USE(bind, mufu_sqrt); break;
    case Mufu_RSQ: USE(bind, mufu_rsq); break;
    case Mufu_EX2: USE(bind, mufu_ex2); break;
    case Mufu_LG2: USE(bind, mufu_lg2); break;
    case Mufu_SIN: USE(bind, mufu_sin); break;
    case Mufu_COS: USE(bind, mufu_cos); break;
    case Mufu_TANH: USE(bind, mufu_tanh); break;
    default: break;
    }
    return !bind->failed;
}
