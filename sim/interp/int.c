/* Integer arithmetic of the PTX interpreter (PTX ISA 9.7.1, 9.7.2): pure functions of values, chosen by type.
 * Arguments come as 64-bit slots and are cut to the instruction's type; results are cut by the destination.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"

__extension__ typedef unsigned __int128 U128;
__extension__ typedef __int128 S128;

/* u16 u32 u64 s16 s32 s64; .b types count as unsigned. -1: no integer type of these widths. */
static int type_index(unsigned type) {
    switch (type) {
    case TY_U16:
    case TY_B16: return 0;
    case TY_U32:
    case TY_B32: return 1;
    case TY_U64:
    case TY_B64: return 2;
    case TY_S16: return 3;
    case TY_S32: return 4;
    case TY_S64: return 5;
    default: return -1;
    }
}

/* One function: NAME(a, b, c of type T) = EXPR of type R, widened to 64 bits with R's sign. */
#define FN(name, T, R, expr)                                                                                 \
    static uint64_t name(uint64_t a_, uint64_t b_, uint64_t c_, const PtxCode *k) {                          \
        T a = (T)a_, b = (T)b_, c = (T)c_;                                                                   \
        (void)a, (void)b, (void)c, (void)k, (void)a_, (void)b_, (void)c_;                                    \
        return (uint64_t)(R)(expr);                                                                          \
    }
/* For the six types: T the type, U its unsigned and W its double-width counterpart. */
#define SIX(op, expr)                                                                                        \
    SIX_ONE(op, u16, uint16_t, uint16_t, uint32_t, 16, expr)                                                 \
    SIX_ONE(op, u32, uint32_t, uint32_t, uint64_t, 32, expr)                                                 \
    SIX_ONE(op, u64, uint64_t, uint64_t, U128, 64, expr)                                                     \
    SIX_ONE(op, s16, int16_t, uint16_t, int32_t, 16, expr)                                                   \
    SIX_ONE(op, s32, int32_t, uint32_t, int64_t, 32, expr)                                                   \
    SIX_ONE(op, s64, int64_t, uint64_t, S128, 64, expr)                                                      \
    static PtxPure *const op##_fns[6] = {op##_u16, op##_u32, op##_u64, op##_s16, op##_s32, op##_s64};
#define SIX_ONE(op, suffix, T_, U_, W_, BITS_, expr)                                                         \
    static uint64_t op##_##suffix(uint64_t a_, uint64_t b_, uint64_t c_, const PtxCode *k) {                 \
        typedef T_ T;                                                                                        \
        typedef U_ U;                                                                                        \
        typedef W_ W;                                                                                        \
        enum { BITS = BITS_, SIGNED = (T_)-1 < 1 };                                                          \
        T a = (T)a_, b = (T)b_, c = (T)c_;                                                                   \
        (void)a, (void)b, (void)c, (void)k, (void)a_, (void)b_, (void)c_, (void)sizeof(U), (void)sizeof(W),  \
            (void)(int)BITS, (void)(int)SIGNED;                                                              \
        return (uint64_t)(T)(expr);                                                                          \
    }

/* sums and products wrap: done in unsigned 64 bits */
SIX(add, a_ + b_)
SIX(sub, a_ - b_)
SIX(mul_lo, a_ *b_)
SIX(mul_hi, ((W)a * (W)b) >> BITS)
SIX(mad_lo, a_ *b_ + c_)
SIX(mad_hi, (uint64_t)(((W)a * (W)b) >> BITS) + c_)
SIX(min, a < b ? a : b)
SIX(max, a > b ? a : b)
SIX(sad, (uint64_t)(a < b ? b : a) - (uint64_t)(a < b ? a : b) + c_)
SIX(neg, 0 - a_)
SIX(abs, SIGNED && (a_ >> (BITS - 1) & 1) ? 0 - a_ : a_)
SIX(quot, b == 0 ? (T)-1 : SIGNED && b == (T)-1 ? (T)(0 - a_) : (T)(a / b))
SIX(rem, b == 0 ? (T)-1 : SIGNED && b == (T)-1 ? (T)0 : (T)(a % b))
FN(mul_wide_u16, uint16_t, uint32_t, (uint32_t)a *b)
FN(mul_wide_s16, int16_t, int32_t, (int32_t)a *b)
FN(mul_wide_u32, uint32_t, uint64_t, (uint64_t)a *b)
FN(mul_wide_s32, int32_t, int64_t, (int64_t)a *b)
FN(mad_wide_u16, uint16_t, uint32_t, (uint32_t)a *b + (uint32_t)c_)
FN(mad_wide_s16, int16_t, uint32_t, (uint32_t)((int32_t)a *b) + (uint32_t)c_)
FN(mad_wide_u32, uint32_t, uint64_t, (uint64_t)a *b + c_)
FN(mad_wide_s32, int32_t, uint64_t, (uint64_t)((int64_t)a *b) + c_)
static PtxPure *const mul_wide_fns[6] = {mul_wide_u16, mul_wide_u32, NULL, mul_wide_s16, mul_wide_s32, NULL};
static PtxPure *const mad_wide_fns[6] = {mad_wide_u16, mad_wide_u32, NULL, mad_wide_s16, mad_wide_s32, NULL};

static int64_t sat32(int64_t v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v; }
FN(add_sat, int32_t, int32_t, sat32((int64_t)a + b))
FN(sub_sat, int32_t, int32_t, sat32((int64_t)a - b))
FN(mad_hi_sat, int32_t, int32_t, sat32((((int64_t)a * b) >> 32) + c))

static int64_t sext24(uint64_t v) { return (int64_t)((v & 0xffffff) ^ 0x800000) - 0x800000; }
FN(mul24_lo_u, uint32_t, uint32_t, (a_ & 0xffffff) * (b_ & 0xffffff))
FN(mul24_hi_u, uint32_t, uint32_t, ((a_ & 0xffffff) * (b_ & 0xffffff)) >> 16)
FN(mul24_lo_s, int32_t, int32_t, sext24(a_) * sext24(b_))
FN(mul24_hi_s, int32_t, int32_t, (sext24(a_) * sext24(b_)) >> 16)
FN(mad24_lo_u, uint32_t, uint32_t, (a_ & 0xffffff) * (b_ & 0xffffff) + c_)
FN(mad24_hi_u, uint32_t, uint32_t, (((a_ & 0xffffff) * (b_ & 0xffffff)) >> 16) + c_)
FN(mad24_lo_s, int32_t, int32_t, sext24(a_) * sext24(b_) + c)
FN(mad24_hi_s, int32_t, int32_t, ((sext24(a_) * sext24(b_)) >> 16) + c)
FN(mad24_hi_sat, int32_t, int32_t, sat32((int64_t)(int32_t)((sext24(a_) * sext24(b_)) >> 16) + c))

/* bits */
static unsigned clz_bits(uint64_t v, unsigned bits) {
    return v ? (unsigned)__builtin_clzll(v) - (64 - bits) : bits;
}
FN(popc32, uint32_t, uint32_t, __builtin_popcount(a))
FN(popc64, uint64_t, uint32_t, __builtin_popcountll(a))
FN(clz32, uint32_t, uint32_t, clz_bits(a, 32))
FN(clz64, uint64_t, uint32_t, clz_bits(a, 64))

static uint32_t bfind(uint64_t a, unsigned bits, bool is_signed, bool shiftamt) {
    uint64_t mask = width_mask(bits / 8);
    if (is_signed && a >> (bits - 1) & 1)
        a = ~a;
    a &= mask;
    if (!a)
        return 0xffffffffu;
    unsigned top = 63 - (unsigned)__builtin_clzll(a);
    return shiftamt ? bits - 1 - top : top;
}
#define SHIFTAMT ((k->insn->flags & PF_SHIFTAMT) != 0)
FN(bfind_u32, uint32_t, uint32_t, bfind(a_, 32, false, SHIFTAMT))
FN(bfind_s32, uint32_t, uint32_t, bfind(a_, 32, true, SHIFTAMT))
FN(bfind_u64, uint64_t, uint32_t, bfind(a_, 64, false, SHIFTAMT))
FN(bfind_s64, uint64_t, uint32_t, bfind(a_, 64, true, SHIFTAMT))

static uint64_t brev(uint64_t v, unsigned bits) {
    uint64_t r = 0;
    for (unsigned i = 0; i < bits; i++)
        r |= (v >> i & 1) << (bits - 1 - i);
    return r;
}
FN(brev32, uint32_t, uint32_t, brev(a_, 32))
FN(brev64, uint64_t, uint64_t, brev(a_, 64))

/* fns d, mask, base, offset: the n-th set bit from base (9.7.1.17) */
static uint32_t fns(uint32_t mask, uint32_t base, int32_t offset) {
    if (offset == 0)
        return base < 32 && mask >> base & 1 ? base : 0xffffffffu;
    int64_t pos = (int64_t)base + (offset > 0 ? -1 : 1),
            count = offset > 0 ? offset - 1 : -(int64_t)offset - 1;
    int step = offset > 0 ? 1 : -1;
    for (pos += step; pos >= 0 && pos < 32; pos += step) {
        if ((mask >> pos & 1) && count-- == 0)
            return (uint32_t)pos;
    }
    return 0xffffffffu;
}
FN(fns_fn, uint32_t, uint32_t, fns(a, b, (int32_t)c))

/* bfe d, a, pos, len (9.7.1.19) */
static uint64_t bfe(uint64_t a, uint64_t b, uint64_t c, unsigned bits, bool is_signed) {
    unsigned pos = (unsigned)(b & 255), len = (unsigned)(c & 255), msb = bits - 1;
    uint64_t sign = 0;
    if (is_signed && len) {
        unsigned last = pos + len - 1;
        sign = a >> (last < msb ? last : msb) & 1;
    }
    uint64_t d = sign ? width_mask(bits / 8) : 0;
    for (unsigned i = 0; i <= msb && i < len && pos + i <= msb; i++)
        d = (d & ~(1ull << i)) | (a >> (pos + i) & 1) << i;
    return d;
}
FN(bfe_u32, uint32_t, uint32_t, bfe(a_, b_, c_, 32, false))
FN(bfe_s32, uint32_t, uint32_t, bfe(a_, b_, c_, 32, true))
FN(bfe_u64, uint64_t, uint64_t, bfe(a_, b_, c_, 64, false))
FN(bfe_s64, uint64_t, uint64_t, bfe(a_, b_, c_, 64, true))

/* bfi f, a, b, pos, len (9.7.1.20) */
static PtxStep exec_bfi(PtxRun *r, PtxThread *t, const PtxCode *code) {
    uint64_t a = interp_arg(r, t, &code->src[0]), b = interp_arg(r, t, &code->src[1]);
    unsigned pos = (unsigned)(interp_arg(r, t, &code->src[2]) & 255);
    unsigned len = (unsigned)(interp_arg(r, t, &code->src[3]) & 255);
    unsigned bits = code->type == TY_B64 ? 64 : 32;
    for (unsigned i = 0; i < len && pos + i < bits; i++)
        b = (b & ~(1ull << (pos + i))) | (i < 64 ? a >> i & 1 : 0) << (pos + i);
    interp_put(t, code->dst[0], b);
    return STEP_GO;
}

/* bmsk.clamp/.wrap d, pos, len (9.7.1.22); szext (9.7.1.21) */
static uint32_t bmsk(uint32_t a, uint32_t b, bool wrap) {
    if (wrap) {
        a &= 31;
        b &= 31;
    }
    if (a > 31 || b == 0)
        return 0;
    uint32_t ones = b > 31 ? 0xffffffffu : (1u << b) - 1;
    return ones << a;
}
static uint32_t szext(uint32_t a, uint32_t b, bool wrap, bool is_signed) {
    if (wrap)
        b &= 31;
    if (b == 0)
        return 0;
    if (b > 31)
        return a;
    uint32_t m = (1u << b) - 1, v = a & m;
    return is_signed && (a >> (b - 1) & 1) ? v | ~m : v;
}
#define WRAP (k->sub == SUB_WRAP || k->sub2 == SUB_WRAP)
FN(bmsk_fn, uint32_t, uint32_t, bmsk(a, b, WRAP))
FN(szext_u32, uint32_t, uint32_t, szext(a, b, WRAP, false))
FN(szext_s32, uint32_t, uint32_t, szext(a, b, WRAP, true))

/* dot products of bytes (9.7.1.23, 24); types of a and b differ independently */
static int32_t byte_of(uint64_t v, unsigned i, bool is_signed) {
    uint8_t x = (uint8_t)(v >> (8 * i));
    return is_signed ? (int8_t)x : x;
}
static int32_t half_of(uint64_t v, unsigned i, bool is_signed) {
    uint16_t x = (uint16_t)(v >> (16 * i));
    return is_signed ? (int16_t)x : x;
}
static uint64_t dp4a(uint64_t a, uint64_t b, uint64_t c, const PtxCode *code) {
    uint32_t d = (uint32_t)c;
    for (unsigned i = 0; i < 4; i++)
        d += (uint32_t)(byte_of(a, i, code->type == TY_S32) * byte_of(b, i, code->type2 == TY_S32));
    return d;
}
static uint64_t dp2a(uint64_t a, uint64_t b, uint64_t c, const PtxCode *code) {
    uint32_t d = (uint32_t)c;
    unsigned first = code->sub == SUB_HI ? 2 : 0;
    for (unsigned i = 0; i < 2; i++)
        d += (uint32_t)(half_of(a, i, code->type == TY_S32) * byte_of(b, first + i, code->type2 == TY_S32));
    return d;
}

/* packed 16-bit add min max */
#define PACKED(name, T, expr)                                                                                \
    static uint64_t name(uint64_t x, uint64_t y, uint64_t z, const PtxCode *k) {                             \
        uint64_t d = 0;                                                                                      \
        (void)z, (void)k;                                                                                    \
        for (unsigned i = 0; i < 32; i += 16) {                                                              \
            T a = (T)(x >> i), b = (T)(y >> i);                                                              \
            d |= (uint64_t)(uint16_t)(expr) << i;                                                            \
        }                                                                                                    \
        return d;                                                                                            \
    }
PACKED(add_x2, uint16_t, a + b)
PACKED(min_u16x2, uint16_t, a < b ? a : b)
PACKED(max_u16x2, uint16_t, a > b ? a : b)
#define RELU(v) (k->insn->flags & PF_RELU && (v) < 0 ? 0 : (v))
PACKED(min_s16x2, int16_t, RELU(a < b ? a : b))
PACKED(max_s16x2, int16_t, RELU(a > b ? a : b))
FN(min_relu, int32_t, int32_t, RELU(a < b ? a : b))
FN(max_relu, int32_t, int32_t, RELU(a > b ? a : b))

/* add.cc addc sub.cc subc mad.cc madc (9.7.2). A subtraction sets the flag where it does not borrow, and subc
 * borrows where the flag is clear. */
static PtxStep exec_carry(PtxRun *r, PtxThread *thread, const PtxCode *code) {
    uint64_t a = interp_arg(r, thread, &code->src[0]), b = interp_arg(r, thread, &code->src[1]);
    unsigned op = code->insn->op, bits = ptx_type_bytes((PtxType)code->type) * 8;
    uint64_t mask = width_mask(bits / 8);
    bool in = (op == PTX_ADDC || op == PTX_SUBC || op == PTX_MADC) && thread->cc;
    bool carry;
    U128 sum;
    if (op == PTX_SUB || op == PTX_SUBC) {
        U128 subtrahend = (U128)(b & mask) + (op == PTX_SUBC && !in);
        sum = (a & mask) - subtrahend;
        carry = (a & mask) >= subtrahend;
    } else {
        uint64_t addend = b;
        if (op == PTX_MAD || op == PTX_MADC) {
            int i = type_index(code->type);
            a = (code->sub == SUB_HI ? mul_hi_fns : mul_lo_fns)[i](a, b, 0, code);
            addend = interp_arg(r, thread, &code->src[2]);
        }
        sum = (U128)(a & mask) + (addend & mask) + in;
        carry = (sum >> bits & 1) != 0;
    }
    if (code->insn->flags & PF_CC)
        thread->cc = carry;
    interp_put(thread, code->dst[0], (uint64_t)sum);
    return STEP_GO;
}

/* ---- binding ---- */

static PtxPure *by_type(const PtxCode *code, PtxPure *const fns[6]) {
    int i = type_index(code->type);
    return i >= 0 ? fns[i] : NULL;
}
static PtxPure *by_width(const PtxCode *code, PtxPure *f32, PtxPure *f64) {
    unsigned n = ptx_type_bytes((PtxType)code->type);
    return n == 4 ? f32 : n == 8 ? f64 : NULL;
}
static bool is_signed(const PtxCode *code) { return ptx_type_class((PtxType)code->type) == TC_SIGNED; }
static PtxPure *mul_fn(const PtxCode *code) {
    switch (code->sub) {
    case SUB_LO: return by_type(code, mul_lo_fns);
    case SUB_HI: return by_type(code, mul_hi_fns);
    case SUB_WIDE: return by_type(code, mul_wide_fns);
    default: return NULL;
    }
}
static PtxPure *mad_fn(const PtxCode *code) {
    if (code->sat)
        return code->sub == SUB_HI && code->type == TY_S32 ? mad_hi_sat : NULL;
    switch (code->sub) {
    case SUB_LO: return by_type(code, mad_lo_fns);
    case SUB_HI: return by_type(code, mad_hi_fns);
    case SUB_WIDE: return by_type(code, mad_wide_fns);
    default: return NULL;
    }
}
static PtxPure *mul24_fn(const PtxCode *code) {
    bool hi = code->sub == SUB_HI;
    return is_signed(code) ? (hi ? mul24_hi_s : mul24_lo_s) : (hi ? mul24_hi_u : mul24_lo_u);
}
static PtxPure *mad24_fn(const PtxCode *code) {
    bool s = is_signed(code), hi = code->sub == SUB_HI;
    if (code->sat)
        return s && hi ? mad24_hi_sat : NULL;
    return s ? (hi ? mad24_hi_s : mad24_lo_s) : (hi ? mad24_hi_u : mad24_lo_u);
}
static PtxPure *add_fn(const PtxCode *code) {
    if (code->type == TY_U16X2 || code->type == TY_S16X2)
        return add_x2;
    return code->sat ? (code->type == TY_S32 ? add_sat : NULL) : by_type(code, add_fns);
}
static PtxPure *sub_fn(const PtxCode *code) {
    return code->sat ? (code->type == TY_S32 ? sub_sat : NULL) : by_type(code, sub_fns);
}
static PtxPure *minmax_fn(const PtxCode *code, PtxPure *const fns[6], PtxPure *u16x2, PtxPure *s16x2,
                          PtxPure *relu) {
    if (code->type == TY_U16X2 || code->type == TY_S16X2)
        return code->type == TY_S16X2 ? s16x2 : u16x2;
    return code->insn->flags & PF_RELU ? relu : by_type(code, fns);
}

BIND_PURE(add, add_fn(code))
BIND_PURE(sub, sub_fn(code))
BIND_PURE(mul, mul_fn(code))
BIND_PURE(mad, mad_fn(code))
BIND_PURE(mul24, mul24_fn(code))
BIND_PURE(mad24, mad24_fn(code))
BIND_PURE(sad, by_type(code, sad_fns))
BIND_PURE(div, by_type(code, quot_fns))
BIND_PURE(rem, by_type(code, rem_fns))
BIND_PURE(abs, by_type(code, abs_fns))
BIND_PURE(neg, by_type(code, neg_fns))
BIND_PURE(min, minmax_fn(code, min_fns, min_u16x2, min_s16x2, min_relu))
BIND_PURE(max, minmax_fn(code, max_fns, max_u16x2, max_s16x2, max_relu))
BIND_PURE(popc, by_width(code, popc32, popc64))
BIND_PURE(clz, by_width(code, clz32, clz64))
BIND_PURE(bfind,
          is_signed(code) ? by_width(code, bfind_s32, bfind_s64) : by_width(code, bfind_u32, bfind_u64))
BIND_PURE(brev, by_width(code, brev32, brev64))
BIND_PURE(fns, fns_fn)
BIND_PURE(bfe, is_signed(code) ? by_width(code, bfe_s32, bfe_s64) : by_width(code, bfe_u32, bfe_u64))
BIND_PURE(bmsk, bmsk_fn)
BIND_PURE(szext, is_signed(code) ? szext_s32 : szext_u32)
BIND_PURE(dp4a, dp4a)
BIND_PURE(dp2a, dp2a)

BIND_EXEC(bfi, exec_bfi)
bool interp_bind_carry(PtxCode *code) {
    code->exec = exec_carry;
    return type_index(code->type) >= 0 && code->sub != SUB_WIDE;
}
