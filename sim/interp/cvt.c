/* cvt of the PTX interpreter (PTX ISA 9.7.9.21; values: docs/numerics.md section 5).
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <math.h>

typedef uint64_t U64;

static bool is_float(unsigned t) {
    return t == TY_F16 || t == TY_BF16 || t == TY_F32 || t == TY_F64 || t == TY_TF32;
}
static bool is_signed(unsigned t) { return ptx_type_class((PtxType)t) == TC_SIGNED; }
static unsigned bits_of(unsigned t) { return ptx_type_bytes((PtxType)t) * 8; }

static U64 extend(U64 v, unsigned type) {
    unsigned bits = bits_of(type);
    v &= width_mask(bits / 8);
    return is_signed(type) && v >> (bits - 1) & 1 ? v | ~width_mask(bits / 8) : v;
}

static U64 int_to_int(U64 v, const PtxCode *code) {
    v = extend(v, code->type2);
    if (!code->sat)
        return extend(v, code->type);
    unsigned bits = bits_of(code->type);
    bool negative = is_signed(code->type2) && (int64_t)v < 0;
    if (!is_signed(code->type))
        return negative ? 0 : v > width_mask(bits / 8) ? width_mask(bits / 8) : v;
    int64_t max = (int64_t)(width_mask(bits / 8) >> 1);
    if (negative)
        return (int64_t)v < -max - 1 ? (U64)(-max - 1) : v;
    return v > (U64)max ? (U64)max : v;
}

static PtxFormat format(unsigned type) {
    return type == TY_F16    ? FMT_F16
           : type == TY_BF16 ? FMT_BF16
           : type == TY_TF32 ? FMT_TF32
           : type == TY_F32  ? FMT_F32
                             : FMT_F64;
}
static U64 nan_of(unsigned type) {
    return type == TY_F64 ? F64_NAN : type == TY_F16 || type == TY_BF16 ? F16_NAN : F32_NAN;
}

static double float_value(U64 v, unsigned type, bool ftz) {
    switch (type) {
    case TY_F64: return f64_of(v);
    case TY_F32: return (double)f32_of(ftz ? f32_flush((uint32_t)v) : (uint32_t)v);
    case TY_BF16: return interp_half_value(FMT_BF16, (uint16_t)v);
    default: return interp_half_value(FMT_F16, (uint16_t)v);
    }
}

static U64 saturate_unit(U64 bits, unsigned type) {
    double d = float_value(bits, type, false);
    if (d > 0 && d < 1)
        return bits;
    return d >= 1 ? interp_round_double(format(type), 1.0, RND_RN) : 0;
}

/* Round a double to a float type, with the modifiers that apply to float results. */
static U64 to_float(double d, unsigned type, unsigned rnd, const PtxCode *code) {
    PtxFormat f = format(type);
    unsigned flags = code->insn->flags;
    U64 v;
    if (d != d) {
        v = nan_of(type);
    } else if ((flags & PF_RELU) && (d < 0 || signbit(d))) {
        v = 0;
    } else {
        v = interp_round_double(f, d, rnd);
        U64 inf = ((1ull << f.exp_bits) - 1) << f.man_bits,
            magnitude = (1ull << (f.exp_bits + f.man_bits)) - 1;
        if ((flags & PF_SATFINITE) && (v & magnitude) == inf)
            v--;
        if (type == TY_TF32)
            v <<= 13;
    }
    if (code->ftz && type == TY_F32)
        v = f32_flush((uint32_t)v);
    return code->sat ? (d != d ? 0 : saturate_unit(v, type)) : v;
}

static bool integral(unsigned rnd) { return rnd >= RND_RNI && rnd <= RND_RPI; }

static U64 cvt_fn(U64 a, U64 b, U64 c, const PtxCode *code) {
    unsigned d = code->type, s = code->type2, rnd = code->rnd ? code->rnd : RND_RN;
    (void)b, (void)c;
    if (!is_float(s) && !is_float(d))
        return int_to_int(a, code);
    if (!is_float(s)) {
        U64 v = interp_int_to_float(format(d), extend(a, s), is_signed(s), rnd);
        return code->sat ? saturate_unit(v, d) : v;
    }
    double v = float_value(a, s, code->ftz);
    if (!is_float(d))
        return extend(interp_float_to_int(v, s == TY_F64, bits_of(d), is_signed(d), rnd), d);
    if (d == TY_TF32 && rnd == RND_RNA && !(v - v == 0)) { /* infinite or NaN: the low bits go, no more */
        U64 kept = a & 0xffffe000;
        return code->insn->flags & PF_SATFINITE ? kept - 0x2000 : kept;
    }
    if (d == TY_F32 && s == TY_BF16 && !code->sat && !code->ftz)
        return (a & 0xffff) << 16;
    if (integral(rnd) && v == v)
        v = interp_round_integral(v, rnd), rnd = RND_RN;
    return to_float(v, d, rnd, code);
}

/* cvt.f16x2.f32 d, a, b: a goes to the upper half */
static U64 cvt_pack_fn(U64 a, U64 b, U64 c, const PtxCode *code) {
    unsigned half = code->type == TY_F16X2 ? TY_F16 : TY_BF16, rnd = code->rnd ? code->rnd : RND_RN;
    (void)c;
    return to_float(float_value(a, TY_F32, code->ftz), half, rnd, code) << 16 |
           to_float(float_value(b, TY_F32, code->ftz), half, rnd, code);
}

/* integer to integer without saturation, the common case */
static U64 cvt_int_fn(U64 a, U64 b, U64 c, const PtxCode *code) {
    (void)b, (void)c;
    return extend(extend(a, code->type2), code->type);
}

static bool plain(unsigned t) {
    return (ptx_type_class((PtxType)t) == TC_SIGNED || ptx_type_class((PtxType)t) == TC_UNSIGNED) &&
           t != TY_U16X2 && t != TY_S16X2;
}

bool interp_bind_cvt(PtxCode *code) {
    code->exec = interp_exec_pure;
    if ((code->type == TY_F16X2 || code->type == TY_BF16X2) && code->type2 == TY_F32) {
        code->pure = cvt_pack_fn;
        return code->nsrc == 2;
    }
    bool known = (is_float(code->type) || plain(code->type)) &&
                 ((is_float(code->type2) && code->type2 != TY_TF32) || plain(code->type2));
    if (code->type == TY_TF32 && code->type2 != TY_F32)
        return false;
    code->pure = plain(code->type) && plain(code->type2) && !code->sat ? cvt_int_fn : cvt_fn;
    return known && code->nsrc == 1;
}

/* ---- floats of eight bits: by search among the values that there are ---- */

static double fp8_value(bool e4m3, unsigned code) { /* code: without sign, finite */
    int fraction_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
    int exponent = (int)(code >> fraction_bits);
    double fraction = (double)(code & ((1u << fraction_bits) - 1)) / (1 << fraction_bits);
    return exponent ? ldexp(1 + fraction, exponent - bias) : ldexp(fraction, 1 - bias);
}
/* To nearest, of two as near the one with an even code; what is too large becomes the largest. */
static U64 fp8_code(bool e4m3, bool relu, double d) {
    unsigned largest = e4m3 ? 0x7e : 0x7b, low = 0, high = largest;
    U64 sign = signbit(d) ? 0x80 : 0;
    if (d != d)
        return 0x7f;
    if (relu && sign)
        return 0;
    d = fabs(d);
    if (d >= fp8_value(e4m3, largest))
        return sign | largest;
    while (high - low > 1) { /* value(low) <= d < value(high) */
        unsigned middle = (low + high) / 2;
        if (fp8_value(e4m3, middle) <= d)
            low = middle;
        else
            high = middle;
    }
    double below = d - fp8_value(e4m3, low), above = fp8_value(e4m3, high) - d;
    return sign | (below < above || (below == above && !(low & 1)) ? low : high);
}
static U64 from_fp8(U64 a, U64 b, U64 c, const PtxCode *code) {
    bool e4m3 = code->type2 == TY_E4M3X2, relu = code->insn->flags & PF_RELU;
    U64 result = 0;
    (void)b, (void)c;
    for (unsigned h = 0; h < 2; h++) {
        unsigned bits = a >> 8 * h & 0xff, magnitude = bits & 0x7f;
        U64 half;
        if (magnitude > (e4m3 ? 0x7eu : 0x7cu))
            half = F16_NAN;
        else if (relu && bits & 0x80)
            half = 0;
        else if (!e4m3 && magnitude == 0x7c)
            half = 0x7c00 | (bits & 0x80) << 8;
        else
            half = interp_round_double(FMT_F16, fp8_value(e4m3, magnitude), RND_RN) | (bits & 0x80) << 8;
        result |= half << 16 * h;
    }
    return result;
}
static U64 to_fp8(U64 a, U64 b, U64 c, const PtxCode *code) {
    bool e4m3 = code->type == TY_E4M3X2, relu = code->insn->flags & PF_RELU, halves = code->type2 == TY_F16X2;
    double high = halves ? float_value(a >> 16 & 0xffff, TY_F16, false) : float_value(a, TY_F32, false);
    double low = halves ? float_value(a & 0xffff, TY_F16, false) : float_value(b, TY_F32, false);
    (void)c;
    return fp8_code(e4m3, relu, high) << 8 | fp8_code(e4m3, relu, low);
}
bool interp_bind_cvt_fp8(PtxCode *code) {
    code->exec = interp_exec_pure;
    code->pure = code->type == TY_F16X2 ? from_fp8 : to_fp8;
    return true;
}

/* cvt.pack */
static U64 pack_integers(U64 a, U64 b, U64 c, const PtxCode *code) {
    int64_t from[2] = {(int32_t)b, (int32_t)a}, most, least;
    unsigned bits;
    switch (code->type) {
    case TY_U2: bits = 2, least = 0, most = 3; break;
    case TY_S2: bits = 2, least = -2, most = 1; break;
    case TY_U4: bits = 4, least = 0, most = 15; break;
    case TY_S4: bits = 4, least = -8, most = 7; break;
    case TY_U8: bits = 8, least = 0, most = 255; break;
    case TY_S8: bits = 8, least = -128, most = 127; break;
    case TY_U16: bits = 16, least = 0, most = 65535; break;
    default: bits = 16, least = -32768, most = 32767; break;
    }
    U64 result = bits < 16 ? c << 2 * bits & 0xffffffff : 0;
    for (unsigned k = 0; k < 2; k++) {
        int64_t v = from[k] < least ? least : from[k] > most ? most : from[k];
        result |= ((U64)v & (((U64)1 << bits) - 1)) << k * bits;
    }
    return result;
}
bool interp_bind_cvt_integers(PtxCode *code) {
    code->exec = interp_exec_pure;
    code->pure = pack_integers;
    return true;
}
