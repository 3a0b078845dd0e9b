/* Rounding to small formats in software: exact for every mode, used where the host has no such conversion.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_OPS_FP_H
#define HEDDLE_SIM_OPS_FP_H
#include "sim/ops/ops.h"

#define F16_NAN 0x7fffu

/* A binder's last act for an instruction whose host operations round so (Rnd): op_float.c. */
bool LV(bind_rounding)(Bind *bind, uint32_t rnd);

typedef struct {
    uint8_t ebits, mbits;
} Fmt;
static const Fmt fmt_f16 UNUSED = {5, 10}, fmt_bf16 UNUSED = {8, 7}, fmt_f32 UNUSED = {8, 23},
                         fmt_f64 UNUSED = {11, 52};

/* (-1)^neg * mant * 2^exp, mant != 0, rounded to `f`. The lowest bit of mant may stand for a non-zero rest
 * below. */
static inline UNUSED uint64_t fp_pack(bool neg, uint64_t mant, int exp, Fmt f, uint32_t rnd) {
    int lz = __builtin_clzll(mant), bias = (1 << (f.ebits - 1)) - 1;
    mant <<= lz;
    int e = exp - lz + 63, drop = 63 - f.mbits;
    bool tiny = e < 1 - bias;
    if (tiny)
        drop += 1 - bias - e;
    uint64_t kept = 0, rest = 1, half = 2; /* far below half an ulp */
    if (drop <= 64) {
        kept = drop == 64 ? 0 : mant >> drop;
        rest = drop == 64 ? mant : mant & (((uint64_t)1 << drop) - 1);
        half = (uint64_t)1 << (drop - 1);
    }
    bool up =
        rnd == Rnd_RN ? rest > half || (rest == half && (kept & 1)) : rest && rnd == (neg ? Rnd_RM : Rnd_RP);
    kept += up;
    uint64_t infinity = (((uint64_t)1 << f.ebits) - 1) << f.mbits;
    uint64_t bits = tiny ? kept : ((uint64_t)(e + bias) << f.mbits) + kept - ((uint64_t)1 << f.mbits);
    if (bits >= infinity)
        bits = rnd == Rnd_RN || rnd == (neg ? Rnd_RM : Rnd_RP) ? infinity : infinity - 1;
    return bits | (uint64_t)neg << (f.ebits + f.mbits);
}

/* A double rounded to a narrower format; NaN gives the canonical one. */
static inline UNUSED uint32_t fp_narrow(double x, Fmt f, uint32_t rnd) {
    uint64_t b = f64_bits(x), mant = b & 0xfffffffffffff;
    bool neg = b >> 63;
    int e = (int)(b >> 52 & 0x7ff);
    uint32_t sign = (uint32_t)neg << (f.ebits + f.mbits);
    if (e == 0x7ff) {
        if (mant)
            return f.mbits == 23 ? F32_NAN : F16_NAN;
        return sign | ((1u << f.ebits) - 1) << f.mbits;
    }
    if (e == 0 && mant == 0)
        return sign;
    return (uint32_t)(e ? fp_pack(neg, mant | (uint64_t)1 << 52, e - 1075, f, rnd)
                        : fp_pack(neg, mant, -1074, f, rnd));
}

/* A narrower format's value, exactly. */
static inline UNUSED double fp_widen(uint32_t bits, Fmt f) {
    uint32_t mant = bits & ((1u << f.mbits) - 1), e = bits >> f.mbits & ((1u << f.ebits) - 1);
    bool neg = bits >> (f.ebits + f.mbits) & 1;
    int bias = (1 << (f.ebits - 1)) - 1;
    uint64_t sign = (uint64_t)neg << 63;
    if (e == (1u << f.ebits) - 1)
        return as_f64(sign | 0x7ff0000000000000u | (mant ? 0x8000000000000u : 0));
    if (!e && !mant)
        return as_f64(sign);
    if (!e) { /* subnormal: normalise */
        unsigned shift = (unsigned)__builtin_clz(mant) - (31u - f.mbits);
        mant = mant << shift & ((1u << f.mbits) - 1);
        return as_f64(sign | (uint64_t)(1023 - bias + 1 - (int)shift) << 52 |
                      (uint64_t)mant << (52 - f.mbits));
    }
    return as_f64(sign | (uint64_t)((int)e - bias + 1023) << 52 | (uint64_t)mant << (52 - f.mbits));
}

/* An 8-bit number as f16, which has all of them; the only NaNs of E4M3 are 0x7f and 0xff, and it has no
 * infinities. */
static inline UNUSED uint32_t fp_half_of_byte(uint32_t byte, bool e4m3) {
    uint32_t sign = (byte & 0x80) << 8, rest = byte & 0x7f, mant = byte & 7;
    if (e4m3 ? rest == 0x7f : rest > 0x7c)
        return F16_NAN;
    if (!e4m3)
        return byte << 8;
    if (rest >= 8)
        return sign | (rest + (8 << 3)) << 7;
    if (!mant)
        return sign;
    uint32_t top = 31 - (uint32_t)__builtin_clz(mant); /* 2^(top - 9) */
    return sign | (top + 6) << 10 | (mant << (10 - top) & 0x3ff);
}

/* x + y with the last bit sticky (round to odd), so that a second rounding to at most 50 bits is exact. */
static inline UNUSED double add_to_odd(double x, double y) {
    double s = x + y, bb = s - x, err = (x - (s - bb)) + (y - bb);
    uint64_t bits = f64_bits(s);
    if (err != 0.0 && err == err && !(bits & 1))
        bits = (err > 0) == (s > 0) ? bits + 1 : bits - 1;
    return as_f64(bits);
}

/* Set of the relations {LT 1, EQ 2, GT 4, unordered 8} of two values, to be tested against an FCmp number. */
static inline UNUSED uint32_t fp_relation(double x, double y) {
    return x != x || y != y ? 8 : x < y ? 1 : x == y ? 2 : 4;
}
#endif
