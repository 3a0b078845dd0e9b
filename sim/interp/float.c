/* Floating-point arithmetic of the PTX interpreter (PTX ISA 9.7.3, 9.7.4): pure functions of values. The
 * meaning of each is docs/numerics.md; the primitives are in sim/interp/math.c.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <math.h>

typedef uint64_t U64;
#define F32_SIGN 0x80000000u

/* ---- f32 ---- */

static uint32_t in32(U64 v, const PtxCode *code) { return code->ftz ? f32_flush((uint32_t)v) : (uint32_t)v; }
static uint32_t out32(uint32_t v, const PtxCode *code) {
    if (code->ftz)
        v = f32_flush(v);
    if (code->sat) {
        float f = f32_of(v);
        v = f > 0 ? (f < 1 ? v : 0x3f800000u) : 0;
    }
    return v;
}
static uint32_t canon(float f) { return f != f ? F32_NAN : f32_bits(f); }
static bool nearest(const PtxCode *code) { return code->rnd == RND_NONE || code->rnd == RND_RN; }

static U64 add32(U64 a, U64 b, U64 c, const PtxCode *code) {
    uint32_t x = in32(a, code), y = in32(b, code);
    (void)c;
    return out32(nearest(code) ? canon(f32_of(x) + f32_of(y)) : interp_f32_op(MATH_ADD, x, y, 0, code->rnd),
                 code);
}
static U64 sub32(U64 a, U64 b, U64 c, const PtxCode *k) { return add32(a, b ^ F32_SIGN, c, k); }
static U64 mul32(U64 a, U64 b, U64 c, const PtxCode *code) {
    uint32_t x = in32(a, code), y = in32(b, code);
    (void)c;
    return out32(nearest(code) ? canon(f32_of(x) * f32_of(y)) : interp_f32_op(MATH_MUL, x, y, 0, code->rnd),
                 code);
}
static U64 fma32(U64 a, U64 b, U64 c, const PtxCode *code) {
    return out32(interp_f32_op(MATH_FMA, in32(a, code), in32(b, code), in32(c, code), code->rnd), code);
}

static uint32_t scale32(uint32_t v, uint32_t s, const PtxCode *k) {
    return out32(interp_f32_op(MATH_MUL, v, s, 0, RND_RN), k);
}
static uint32_t scale_small(uint32_t v) { return f32_bits(fabsf(f32_of(v)) < 0x1p-126f ? 0x1p24f : 1.0f); }

/* Of a quotient of .approx or .full (PTX ISA 9.7.3.8): a dividend and a reciprocal, whose product it is. */
void interp_quotient(bool full, uint64_t *a, uint64_t *b, const PtxCode *code) {
    uint32_t x = in32(*a, code), y = in32(*b, code);
    uint32_t s = full && fabsf(f32_of(y)) > 0x1p126f ? 0x3e800000u : scale_small(y);
    uint32_t reciprocal = interp_rcp(scale32(y, s, code));
    *a = scale32(x, s, code);
    *b = full ? out32(reciprocal, code) : f32_flush(reciprocal);
}

static U64 div32(U64 a, U64 b, U64 c, const PtxCode *code) {
    (void)c;
    if (code->insn->flags & (PF_APPROX | PF_FULL)) {
        interp_quotient((code->insn->flags & PF_FULL) != 0, &a, &b, code);
        return scale32((uint32_t)a, (uint32_t)b, code);
    }
    return out32(interp_f32_op(MATH_DIV, in32(a, code), in32(b, code), 0, code->rnd), code);
}
static U64 rcp32(U64 a, U64 b, U64 c, const PtxCode *code) {
    uint32_t x = in32(a, code);
    (void)b, (void)c;
    if (code->insn->flags & PF_APPROX) {
        uint32_t s = fabsf(f32_of(x)) > 0x1p126f ? 0x3e800000u : scale_small(x);
        return scale32(interp_rcp(scale32(x, s, code)), s, code);
    }
    return out32(interp_f32_op(MATH_DIV, 0x3f800000u, x, 0, code->rnd), code);
}
static U64 sqrt32(U64 a, U64 b, U64 c, const PtxCode *code) {
    uint32_t x = in32(a, code);
    (void)b, (void)c;
    if (code->insn->flags & PF_APPROX)
        return out32(interp_sqrt(x), code);
    return out32(interp_f32_op(MATH_SQRT, x, 0, 0, code->rnd), code);
}
/* one-argument approximations: F of the flushed input, flushed */
#define APPROX32(name, expr)                                                                                 \
    static U64 name(U64 a, U64 b, U64 c, const PtxCode *k) {                                                 \
        uint32_t x = in32(a, k);                                                                             \
        (void)b, (void)c, (void)x;                                                                           \
        return out32(expr, k);                                                                               \
    }
#define TURNS f32_flush(interp_f32_op(MATH_MUL, x, 0x3e22f983u, 0, RND_RZ))
APPROX32(rsqrt32, interp_rsqrt(x))
APPROX32(ex2_32, interp_ex2(x))
APPROX32(lg2_32, interp_lg2(x))
APPROX32(sin32, interp_sin_turn(TURNS))
APPROX32(cos32, interp_cos_turn(TURNS))
APPROX32(tanh32, interp_tanh(x))
APPROX32(neg32, (x & ~F32_SIGN) > 0x7f800000u ? F32_NAN : x ^ F32_SIGN)
APPROX32(abs32, (x & ~F32_SIGN) > 0x7f800000u ? F32_NAN : x & ~F32_SIGN)
APPROX32(copysign32, ((uint32_t)a & F32_SIGN) | ((uint32_t)b & ~F32_SIGN))

/* ---- min, max of every type ---- */

static bool is_nan(unsigned type, U64 v) {
    switch (type) {
    case TY_F32: return (v & 0x7fffffff) > 0x7f800000;
    case TY_F64: return (v & ~(1ull << 63)) > 0x7ff0000000000000ull;
    case TY_F16: return (v & 0x7fff) > 0x7c00;
    default: return (v & 0x7fff) > 0x7f80;
    }
}
static unsigned sign_bit(unsigned type) { return type == TY_F64 ? 63 : type == TY_F32 ? 31 : 15; }
static U64 canonical_nan(unsigned type) {
    return type == TY_F64 ? F64_NAN : type == TY_F32 ? F32_NAN : F16_NAN;
}
/* Order-preserving image of a number: -0 comes just below +0. */
static int64_t ordered(unsigned type, U64 v) {
    unsigned s = sign_bit(type);
    int64_t magnitude = (int64_t)(v & ((1ull << s) - 1));
    return v >> s & 1 ? -1 - magnitude : magnitude;
}

static U64 half_flush(PtxFormat f, U64 v) {
    unsigned exp_mask = ((1u << f.exp_bits) - 1) << f.man_bits;
    return v & exp_mask ? v & 0xffff : v & 0x8000;
}

uint64_t interp_float_minmax(unsigned type, bool max, uint64_t a, uint64_t b, bool nan, bool ftz) {
    if (ftz && type == TY_F32)
        a = f32_flush((uint32_t)a), b = f32_flush((uint32_t)b);
    if (ftz && type == TY_F16)
        a = half_flush(FMT_F16, a), b = half_flush(FMT_F16, b);
    bool na = is_nan(type, a), nb = is_nan(type, b);
    if ((na && nb) || (nan && (na || nb)))
        return canonical_nan(type);
    if (na || nb)
        return na ? b : a;
    return (ordered(type, a) < ordered(type, b)) != max ? a : b;
}

static U64 minmax_one(unsigned type, bool max, U64 a, U64 b, const PtxCode *code) {
    bool nan = (code->insn->flags & PF_NAN) != 0;
    if (!(code->insn->flags & PF_XORSIGN_ABS))
        return interp_float_minmax(type, max, a, b, nan, code->ftz);
    U64 sign = 1ull << sign_bit(type), s = (a ^ b) & sign;
    U64 d = interp_float_minmax(type, max, a & ~sign, b & ~sign, nan, code->ftz);
    return is_nan(type, d) ? d : (d & ~sign) | s;
}
static U64 min_scalar(U64 a, U64 b, U64 c, const PtxCode *code) {
    U64 mask = width_mask(code->size_bytes);
    (void)c;
    return minmax_one(code->type, false, a & mask, b & mask, code);
}
static U64 max_scalar(U64 a, U64 b, U64 c, const PtxCode *code) {
    U64 mask = width_mask(code->size_bytes);
    (void)c;
    return minmax_one(code->type, true, a & mask, b & mask, code);
}

/* ---- f64 ---- */

static U64 add64(U64 a, U64 b, U64 c, const PtxCode *code) {
    return interp_f64_op(MATH_ADD, a, b, c, code->rnd);
}
static U64 sub64(U64 a, U64 b, U64 c, const PtxCode *code) {
    return interp_f64_op(MATH_ADD, a, b ^ 1ull << 63, c, code->rnd);
}
static U64 mul64(U64 a, U64 b, U64 c, const PtxCode *code) {
    return interp_f64_op(MATH_MUL, a, b, c, code->rnd);
}
static U64 fma64(U64 a, U64 b, U64 c, const PtxCode *code) {
    return interp_f64_op(MATH_FMA, a, b, c, code->rnd);
}
static U64 div64(U64 a, U64 b, U64 c, const PtxCode *code) {
    return interp_f64_op(MATH_DIV, a, b, c, code->rnd);
}
static U64 sqrt64(U64 a, U64 b, U64 c, const PtxCode *code) {
    return interp_f64_op(MATH_SQRT, a, b, c, code->rnd);
}
static U64 rcp64(U64 a, U64 b, U64 c, const PtxCode *code) {
    (void)b;
    if (code->insn->flags & PF_APPROX)
        return interp_rcp64h(a);
    return interp_f64_op(MATH_DIV, f64_bits(1.0), a, c, code->rnd);
}
static U64 rsqrt64(U64 a, U64 b, U64 c, const PtxCode *code) {
    if (code->ftz)
        return interp_rsqrt64h(a);
    return interp_f64_op(MATH_DIV, f64_bits(1.0), interp_f64_op(MATH_SQRT, a, b, c, RND_RN), c, RND_RN);
}
static U64 neg64(U64 a, U64 b, U64 c, const PtxCode *k) {
    (void)b, (void)c, (void)k;
    return is_nan(TY_F64, a) ? F64_NAN : a ^ 1ull << 63;
}
static U64 abs64(U64 a, U64 b, U64 c, const PtxCode *k) {
    (void)b, (void)c, (void)k;
    return is_nan(TY_F64, a) ? F64_NAN : a & ~(1ull << 63);
}
static U64 copysign64(U64 a, U64 b, U64 c, const PtxCode *k) {
    (void)c, (void)k;
    return (a & 1ull << 63) | (b & ~(1ull << 63));
}

/* ---- f16 and bf16, single and packed ---- */

static bool is_bf16(unsigned type) { return type == TY_BF16 || type == TY_BF16X2; }

static uint16_t half_finish(PtxFormat f, uint16_t v, const PtxCode *code) {
    unsigned exp_mask = ((1u << f.exp_bits) - 1) << f.man_bits;
    bool nan = (v & 0x7fffu) > exp_mask;
    if (code->ftz && f.exp_bits == 5)
        v = (uint16_t)half_flush(f, v);
    if (code->sat) {
        uint16_t one = f.exp_bits == 5 ? 0x3c00 : 0x3f80;
        v = nan || (v & 0x8000) ? 0 : v < one ? v : one;
    }
    if (code->insn->flags & PF_RELU)
        v = nan ? (uint16_t)F16_NAN : v & 0x8000 ? 0 : v;
    return v;
}

/* ex2, tanh: through f32 */
static uint16_t half_ex2_value(PtxFormat f, uint16_t a, const PtxCode *code) {
    uint32_t x = interp_ex2(in32(f32_bits((float)interp_half_value(f, a)), code));
    return (uint16_t)interp_round_double(f, (double)f32_of(in32(x, code)), RND_RN);
}
static uint16_t half_tanh_value(PtxFormat f, uint16_t a) {
    uint32_t x = f32_bits((float)interp_half_value(f, a));
    return (uint16_t)interp_round_double(f, (double)f32_of(interp_tanh(x)), RND_RN);
}

/* fma.oob: an operand that a copy of a tensor made of what lies outside of it. PTX ISA 5.5 does not say which
 * NaN that is: the one with which an H100 fills (docs/launch-files.md). */
static bool is_outside(const PtxCode *code, uint16_t a, uint16_t b, uint16_t c) {
    enum { FILLED = 0x7ff7 };
    return code->insn->flags & PF_OOB && (a == FILLED || b == FILLED || c == FILLED);
}

/* half_NAME of one value and half_NAME_x2 of both halves: EXPR in f (the format), type, a, b, c, code */
#define HALF(name, expr)                                                                                     \
    static U64 half_##name(U64 a_, U64 b_, U64 c_, const PtxCode *code) {                                    \
        bool bf = is_bf16(code->type);                                                                       \
        PtxFormat f = bf ? FMT_BF16 : FMT_F16;                                                               \
        unsigned type = bf ? TY_BF16 : TY_F16;                                                               \
        bool flush = code->ftz && !bf;                                                                       \
        uint16_t a = (uint16_t)(flush ? half_flush(f, a_) : a_),                                             \
                 b = (uint16_t)(flush ? half_flush(f, b_) : b_),                                             \
                 c = (uint16_t)(flush ? half_flush(f, c_) : c_);                                             \
        (void)type, (void)a, (void)b, (void)c;                                                               \
        return (uint16_t)(expr);                                                                             \
    }                                                                                                        \
    static U64 half_##name##_x2(U64 a, U64 b, U64 c, const PtxCode *code) {                                  \
        return half_##name(a, b, c, code) | half_##name(a >> 16, b >> 16, c >> 16, code) << 16;              \
    }
HALF(add, half_finish(f, interp_half_op(f, MATH_ADD, a, b, 0), code))
HALF(sub, half_finish(f, interp_half_op(f, MATH_ADD, a, b ^ 0x8000, 0), code))
HALF(mul, half_finish(f, interp_half_op(f, MATH_MUL, a, b, 0), code))
HALF(fma, is_outside(code, a, b, c) ? 0 : half_finish(f, interp_half_op(f, MATH_FMA, a, b, c), code))
HALF(neg, is_nan(type, a) ? F16_NAN : a ^ 0x8000)
HALF(abs, is_nan(type, a) ? F16_NAN : a & 0x7fff)
HALF(min, half_finish(f, (uint16_t)minmax_one(type, false, a, b, code), code))
HALF(max, half_finish(f, (uint16_t)minmax_one(type, true, a, b, code), code))
HALF(ex2, is_nan(type, a) ? F16_NAN : half_ex2_value(f, a, code))
HALF(tanh, is_nan(type, a) ? F16_NAN : half_tanh_value(f, a))

/* ---- testp ---- */

static U64 testp(U64 v, U64 b, U64 c, const PtxCode *code) {
    bool f64 = code->type == TY_F64;
    U64 man = f64 ? v & 0xfffffffffffffull : v & 0x7fffff;
    unsigned exp = (unsigned)(f64 ? v >> 52 & 0x7ff : v >> 23 & 0xff), top = f64 ? 0x7ff : 0xff;
    (void)b, (void)c;
    switch (code->sub) {
    case SUB_FINITE: return exp != top;
    case SUB_INFINITE: return exp == top && man == 0;
    case SUB_NUMBER: return exp != top || man == 0;
    case SUB_NOTANUMBER: return exp == top && man != 0;
    case SUB_NORMAL: return exp != top && (exp != 0 || man == 0); /* zero counts as normal */
    default: return exp == 0 && man != 0;
    }
}

/* ---- binding ---- */

#define BY_WIDTH(name, f32, f64) BIND_PURE(name, code->type == TY_F64 ? f64 : f32)
#define BY_HALVES(name)                                                                                      \
    BIND_PURE(h##name, code->type == TY_F16X2 || code->type == TY_BF16X2 ? half_##name##_x2 : half_##name)

BY_WIDTH(fadd, add32, add64)
BY_WIDTH(fsub, sub32, sub64)
BY_WIDTH(fmul, mul32, mul64)
BY_WIDTH(fma, fma32, fma64)
BY_WIDTH(fdiv, div32, div64)
BY_WIDTH(rcp, rcp32, rcp64)
BY_WIDTH(sqrt, sqrt32, sqrt64)
BY_WIDTH(rsqrt, rsqrt32, rsqrt64)
BY_WIDTH(fneg, neg32, neg64)
BY_WIDTH(fabs, abs32, abs64)
BY_WIDTH(copysign, copysign32, copysign64)
BIND_PURE(fmin, min_scalar)
BIND_PURE(fmax, max_scalar)
BIND_PURE(testp, testp)
BIND_PURE(sin, sin32)
BIND_PURE(cos, cos32)
BIND_PURE(lg2, lg2_32)
BIND_PURE(ex2, ex2_32)
BIND_PURE(tanh, tanh32)
BY_HALVES(add)
BY_HALVES(sub)
BY_HALVES(mul)
BY_HALVES(fma)
BY_HALVES(neg)
BY_HALVES(abs)
BY_HALVES(min)
BY_HALVES(max)
BY_HALVES(ex2)
BY_HALVES(tanh)
