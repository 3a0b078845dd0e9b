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
