/* Expected values of conversions to tf32, to floats of eight bits and of cvt.pack: doubles, which hold every
 * value here exactly, divided by the place that is rounded to. Nothing of Heddle.
 * SPDX-License-Identifier: MIT */
#include "tests/values/host.h"
#include <math.h>
#include <string.h>

static double value_of(const Format *format, u64 bits) { /* NaN aside */
    unsigned exponent_ones = (1u << format->exponent_bits) - 1, bias = exponent_ones / 2;
    u64 fraction = bits & ((1ull << format->mantissa_bits) - 1);
    unsigned exponent = (unsigned)(bits >> format->mantissa_bits) & exponent_ones;
    double sign = bits >> (format->mantissa_bits + format->exponent_bits) & 1 ? -1 : 1;
    if (exponent == exponent_ones)
        return fraction ? NAN : sign * INFINITY;
    double f = ldexp((double)fraction, -format->mantissa_bits);
    return sign * (exponent ? ldexp(1 + f, (int)exponent - (int)bias) : ldexp(f, 1 - (int)bias));
}

/* The magnitude in units of the last of so many places of the fraction, not below those of the smallest
 * normal. */
static double in_places(double x, int places, int lowest, double *unit) {
    int exponent;
    frexp(x, &exponent);
    exponent = exponent - 1 < lowest ? lowest : exponent - 1;
    *unit = ldexp(1, exponent - places);
    return fabs(x) / *unit;
}

u64 float_to_tf32(char rounding, unsigned flags, u64 a) {
    double x = value_of(&f32_format, a), unit, n;
    if (rounding == 'a' &&
        (a & 0x7f800000) == 0x7f800000) /* as ptxas 13.0 does it: not even a NaN is special */
        return (a & 0xffffe000) - (flags & SATFINITE ? 0x2000 : 0);
    if (x != x)
        return 0x7fffffff;
    if (flags & RELU && signbit(x))
        return 0;
    if (!isinf(x)) {
        n = in_places(x, 10, -126, &unit);
        n = rounding == 'n' ? rint(n) : rounding == 'z' ? floor(n) : floor(n + 0.5);
        x = copysign(n * unit, x);
    }
    float result = (float)x; /* infinite from 2^128 on */
    uint32_t bits;
    memcpy(&bits, &result, sizeof bits);
    return isinf(result) && flags & SATFINITE ? bits - 0x2000 : bits;
}

u64 float_finite(const Format *format, u64 a) {
    u64 infinite = ((1ull << format->exponent_bits) - 1) << format->mantissa_bits;
    return (a & 0x7fff) == infinite ? a - 1 : a;
}

u64 float_to_fp8(bool e4m3, unsigned flags, const Format *from, u64 a) {
    double x = value_of(from, a), unit, n, largest = e4m3 ? 448 : 57344;
    u64 sign = signbit(x) ? 0x80 : 0;
    int exponent, places = e4m3 ? 3 : 2, lowest = e4m3 ? -6 : -14;
    if (x != x)
        return 0x7f;
    if (flags & RELU && sign)
        return 0;
    x = fabs(x) > largest ? largest : fabs(x);
    n = rint(in_places(x, places, lowest, &unit)) * unit; /* may be a power of two more */
    frexp(n, &exponent);
    exponent -= 1;
    if (n == 0 || exponent < lowest)
        return sign | (u64)(n / ldexp(1, lowest - places));
    return sign | (u64)(exponent - lowest + 1) << places |
           ((u64)(n / ldexp(1, exponent - places)) & ((1u << places) - 1));
}

u64 fp8_to_half(bool e4m3, unsigned flags, u64 a) {
    static const Format e4m3_format = {4, 3, 0x7f}, e5m2_format = {5, 2, 0x7f};
    double x = value_of(e4m3 ? &e4m3_format : &e5m2_format, a);
    if (e4m3 && (a & 0x78) == 0x78) /* no infinities: one NaN, and numbers */
        x = (a & 7) == 7 ? NAN : (a & 0x80 ? -256 : 256) * (1 + (double)(a & 7) / 8);
    if (x != x)
        return 0x7fff;
    if (flags & RELU && signbit(x))
        return 0;
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    return float_convert(&f16_format, &f64_format, 'n', 0, bits);
}

u64 clamp_to(long long least, long long most, unsigned bits, u64 a) {
    long long v = (int32_t)(uint32_t)a;
    v = v < least ? least : v > most ? most : v;
    return (u64)v & ((1ull << bits) - 1);
}
