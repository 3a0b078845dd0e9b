/* Selection of f32 and f64 arithmetic: PTX ISA 9.7.3. What each operation means, NaNs, subnormals and the
 * compositions of the approximate functions, is fixed by docs/numerics.md.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

static bool ftz(const PtxInsn *in) { return in->flags & PF_FTZ; }

static unsigned rnd_of(const PtxInsn *in) {
    switch (in->rnd) {
    case RND_RZ: return Rnd_RZ;
    case RND_RM: return Rnd_RM;
    case RND_RP: return Rnd_RP;
    default: return Rnd_RN;
    }
}

static Operand neg_f32(Operand o) { return o.kind == OPK_IMM ? op_imm(o.value ^ 0x80000000u) : op_neg(o); }

static Operand src64(Sel *s, const PtxOperand *o) { return sel_wide_vec(s, sel_src(s, o, 8)); }

static void write64(Sel *s, const PtxInsn *in, Operand pair) {
    sel_write(s, &in->operands[0], TY_F64, sel_wide_pair(s, pair));
}

bool isel_fadd(Sel *s, const PtxInsn *in) {
    bool sub = in->op == PTX_SUB;
    const PtxOperand *a = &in->operands[1], *b = &in->operands[2];
    if (sel_type(in) == TY_F64) {
        Operand x = src64(s, a), y = src64(s, b);
        write64(s, in, EMIT_R2(s, OT_DADD, MSET(DADD, rnd, rnd_of(in)), x, sub ? op_neg(y) : y));
        return true;
    }
    uint32_t mods =
        MSET(FADD, rnd, rnd_of(in)) | MSET(FADD, ftz, ftz(in)) | MSET(FADD, sat, (in->flags & PF_SAT) != 0);
    Operand x = sel_src32(s, a), y = sel_src32(s, b);
    if (sub)
        y = neg_f32(y);
    sel_write32(s, &in->operands[0], TY_F32,
                x.kind == OPK_IMM && y.kind == OPK_VAL ? EMIT_R(s, OT_FADD, mods, y, x)
                                                       : EMIT_R(s, OT_FADD, mods, x, y));
    return true;
}

static uint32_t fmul_mods(const PtxInsn *in) {
    return MSET(FMUL, rnd, rnd_of(in)) | MSET(FMUL, ftz, ftz(in)) |
           MSET(FMUL, sat, (in->flags & PF_SAT) != 0) | MSET(FMUL, scale, FmulScale_NONE);
}

static Operand emit_fmul(Sel *s, bool flush, Operand a, Operand b) {
    return EMIT_R(s, OT_FMUL,
                  MSET(FMUL, rnd, Rnd_RN) | MSET(FMUL, ftz, flush) | MSET(FMUL, scale, FmulScale_NONE), a, b);
}

bool isel_fmul(Sel *s, const PtxInsn *in) {
    if (sel_type(in) == TY_F64) {
        Operand x = src64(s, &in->operands[1]), y = src64(s, &in->operands[2]);
        write64(s, in, EMIT_R2(s, OT_DMUL, MSET(DMUL, rnd, rnd_of(in)), x, y));
        return true;
    }
    Operand x = sel_src32(s, &in->operands[1]), y = sel_src32(s, &in->operands[2]);
    sel_write32(s, &in->operands[0], TY_F32,
                x.kind == OPK_IMM ? EMIT_R(s, OT_FMUL, fmul_mods(in), y, x)
                                  : EMIT_R(s, OT_FMUL, fmul_mods(in), x, y));
    return true;
}

bool isel_fma(Sel *s, const PtxInsn *in) {
    if (sel_type(in) == TY_F64) {
        Operand a = src64(s, &in->operands[1]), b = src64(s, &in->operands[2]),
                c = src64(s, &in->operands[3]);
        write64(s, in, EMIT_R2(s, OT_DFMA, MSET(DFMA, rnd, rnd_of(in)), a, b, c));
        return true;
    }
    uint32_t mods =
        MSET(FFMA, rnd, rnd_of(in)) | MSET(FFMA, ftz, ftz(in)) | MSET(FFMA, sat, (in->flags & PF_SAT) != 0);
    Operand a = sel_src32(s, &in->operands[1]), b = sel_src32(s, &in->operands[2]),
            c = sel_src32(s, &in->operands[3]);
    if (a.kind == OPK_IMM && b.kind == OPK_VAL) {
        Operand x = a;
        a = b;
        b = x;
    }
    sel_write32(s, &in->operands[0], TY_F32, EMIT_R(s, OT_FFMA, mods, a, b, c));
    return true;
}

/* sign change as an addition of -0, which makes a NaN canonical */
bool isel_fabsneg(Sel *s, const PtxInsn *in) {
    unsigned mod = in->op == PTX_ABS ? OPM_ABS : OPM_NEG;
    if (sel_type(in) == TY_F64) {
        Operand a = src64(s, &in->operands[1]);
        write64(s, in, EMIT_R2(s, OT_DADD, MSET(DADD, rnd, Rnd_RN), op_with(a, mod), op_imm(0x80000000u)));
        return true;
    }
    Operand a = sel_value(s, sel_src32(s, &in->operands[1]));
    sel_write32(s, &in->operands[0], TY_F32,
                EMIT_R(s, OT_FADD, MSET(FADD, rnd, Rnd_RN) | MSET(FADD, ftz, ftz(in)), op_with(a, mod),
                       op_imm(0x80000000u)));
    return true;
}

/* ---- min, max ---- */

static Operand emit_dsetp(Sel *s, unsigned cmp, Operand a, Operand b) {
    return EMIT_P(s, OT_DSETP, MSET(DSETP, cmp, cmp) | MSET(DSETP, bop, BoolOp_AND), a, b, op_pt());
}

/* Equal operands differ at most in the sign of zero: or of the bits is the smaller, and the larger. A NaN a
 * loses the comparison, a NaN b is looked for; adding -0 makes a remaining NaN canonical. */
static bool minmax_f64(Sel *s, const PtxInsn *in, bool is_max) {
    Wide a = sel_src(s, &in->operands[1], 8), b = sel_src(s, &in->operands[2], 8);
    Operand x = sel_wide_vec(s, a), y = sel_wide_vec(s, b);
    a = sel_wide_pair(s, x), b = sel_wide_pair(s, y);
    Wide r = sel_select64(s, emit_dsetp(s, is_max ? DCmp_GT : DCmp_LT, x, y), a, b);
    Operand both = is_max ? sel_and(s, a.w[1], b.w[1]) : sel_or(s, a.w[1], b.w[1]);
    r.w[1] = sel_select(s, emit_dsetp(s, DCmp_EQ, x, y), both, r.w[1]);
    r = sel_select64(s, emit_dsetp(s, DCmp_NAN, y, y), a, r);
    Operand sum = EMIT_R2(s, OT_DADD, MSET(DADD, rnd, Rnd_RN), sel_wide_vec(s, r), op_imm(0x80000000u));
    write64(s, in, sum);
    return true;
}

static Operand emit_fsetp(Sel *s, unsigned cmp, Operand a, Operand b) {
    return EMIT_P(s, OT_FSETP, MSET(FSETP, cmp, cmp) | MSET(FSETP, bop, BoolOp_AND), a, b, op_pt());
}

/* f32: operands may be negated or absolute; a literal goes second. */
static Operand emit_fmnmx(Sel *s, const PtxInsn *in, Operand a, Operand b) {
    uint32_t mods = MSET(FMNMX, ftz, ftz(in)) | MSET(FMNMX, nan, (in->flags & PF_NAN) != 0);
    Operand is_min = in->op == PTX_MAX ? op_pf() : op_pt();
    return a.kind == OPK_IMM && b.kind == OPK_VAL ? EMIT_R(s, OT_FMNMX, mods, b, a, is_min)
                                                  : EMIT_R(s, OT_FMNMX, mods, a, b, is_min);
}

static bool nan_form_missing(const Sel *s, const PtxInsn *in) { /* came with bf16, in sm_80 */
    return (in->flags & PF_NAN) && !sel_has_bf16(s);
}

bool isel_fminmax(Sel *s, const PtxInsn *in) {
    if (sel_type(in) == TY_F64)
        return minmax_f64(s, in, in->op == PTX_MAX);
    if (nan_form_missing(s, in))
        return sel_error(s, ".NaN needs instructions of sm_80");
    Operand a = sel_src32(s, &in->operands[1]), b = sel_src32(s, &in->operands[2]);
    sel_write32(s, &in->operands[0], TY_F32, emit_fmnmx(s, in, a, b));
    return true;
}

/* .xorsign.abs: of the magnitudes, with the sign of the product; a NaN stays the canonical one. */
bool isel_fminmax_xorsign(Sel *s, const PtxInsn *in) {
    enum { LUT_XOR_A_C_AND_B = (LUT_A ^ LUT_C) & LUT_B };
    if (nan_form_missing(s, in))
        return sel_error(s, ".NaN needs instructions of sm_80");
    Operand a = sel_value(s, sel_src32(s, &in->operands[1])),
            b = sel_value(s, sel_src32(s, &in->operands[2]));
    Operand d = emit_fmnmx(s, in, op_with(a, OPM_ABS), op_with(b, OPM_ABS));
    Operand sign = sel_lop(s, LUT_XOR_A_C_AND_B, a, op_imm(0x80000000u), b);
    Operand is_nan = emit_fsetp(s, FCmp_NAN, d, d);
    sel_write32(s, &in->operands[0], TY_F32, sel_select(s, is_nan, d, sel_or(s, d, sign)));
    return true;
}

/* ---- division, roots ---- */

/* Around MUFU: of an operation with .ftz, where the machine's does not flush by itself. */
static Operand mufu_flush(Sel *s, const PtxInsn *in, Operand a) {
    return ftz(in) && !s->ti->mufu_flushes ? sel_flush(s, a) : a;
}

enum {
    LEAST_NORMAL = 0x00800000,
    LAST_NORMAL_RCP = 0x7e800000 /* 2^126 */,
    TWO_24 = 0x4b800000,
    ONE = 0x3f800000
};
static Operand is_small(Sel *s, Operand a) {
    return emit_fsetp(s, FCmp_LT, op_with(a, OPM_ABS), op_imm(LEAST_NORMAL));
}
static Operand scale_small(Sel *s, Operand b) {
    Operand scale = sel_value(s, op_imm(TWO_24));
    return sel_select(s, is_small(s, b), scale, op_imm(ONE));
}
/* ... so that the reciprocal is normal too */
static Operand scale_both(Sel *s, Operand b) {
    Operand big = emit_fsetp(s, FCmp_GT, op_with(b, OPM_ABS), op_imm(LAST_NORMAL_RCP));
    return sel_select(s, op_not(big), scale_small(s, b), op_imm(0x3e800000));
}

static bool div_approx(Sel *s, const PtxInsn *in) {
    Operand a = sel_value(s, sel_src32(s, &in->operands[1])),
            b = sel_value(s, sel_src32(s, &in->operands[2]));
    if (!ftz(in)) {
        Operand k = scale_small(s, b);
        a = emit_fmul(s, false, a, k);
        b = emit_fmul(s, false, b, k);
    }
    Operand r = sel_mufu(s, Mufu_RCP, mufu_flush(s, in, b));
    if (!s->ti->mufu_flushes)
        r = sel_flush(s, r);
    sel_write32(s, &in->operands[0], TY_F32, emit_fmul(s, ftz(in), a, r));
    return true;
}

static bool div_full(Sel *s, const PtxInsn *in) {
    Operand a = sel_value(s, sel_src32(s, &in->operands[1])),
            b = sel_value(s, sel_src32(s, &in->operands[2]));
    Operand k = scale_both(s, b), x = emit_fmul(s, ftz(in), a, k), y = emit_fmul(s, ftz(in), b, k);
    sel_write32(s, &in->operands[0], TY_F32, emit_fmul(s, ftz(in), x, sel_mufu(s, Mufu_RCP, y)));
    return true;
}

static bool give_f64(Sel *s, const PtxInsn *in, Wide d) {
    sel_write(s, &in->operands[0], TY_F64, d);
    return true;
}

static bool give_f32(Sel *s, const PtxInsn *in, Operand d) {
    sel_write32(s, &in->operands[0], TY_F32, d);
    return true;
}

/* An immediate operand is flushed here: the built-ins take what they get. */
static Operand src_f32(Sel *s, const PtxInsn *in, const PtxOperand *o) {
    Operand a = sel_src32(s, o);
    if (a.kind == OPK_IMM && ftz(in) && !(a.value & 0x7f800000u))
        a.value &= 0x80000000u;
    return a;
}

bool isel_fdiv(Sel *s, const PtxInsn *in) {
    if (sel_type(in) == TY_F64) {
        Wide q, v[2] = {sel_src(s, &in->operands[1], 8), sel_src(s, &in->operands[2], 8)};
        return sel_div_rounded_wide(s, rnd_of(in), v, &q) && give_f64(s, in, q);
    }
    if (in->flags & PF_FULL)
        return div_full(s, in);
    if (in->flags & PF_APPROX)
        return div_approx(s, in);
    Operand d, v[2] = {src_f32(s, in, &in->operands[1]), src_f32(s, in, &in->operands[2])};
    return sel_div_rounded(s, rnd_of(in), ftz(in), v, &d) && give_f32(s, in, d);
}

/* MUFU of what it takes on every machine, normal numbers, so that the result is normal too: the steps of
 * docs/numerics.md section 6, which are those of ptxas 13.0. */
static Operand approx_scaled(Sel *s, unsigned func, Operand a) {
    enum { TWO_12 = 0x45800000, TWO_MINUS_12 = 0x39800000, HALF = 0x3f000000 };
    if (func == Mufu_TANH)
        return sel_mufu(s, func, a);
    a = sel_value(s, a);
    if (func == Mufu_RCP) {
        Operand k = scale_both(s, a);
        return emit_fmul(s, false, sel_mufu(s, func, emit_fmul(s, false, a, k)), k);
    }
    bool power = func == Mufu_EX2;
    Operand scale = power ? emit_fsetp(s, FCmp_LT, a, op_imm(0xc2fc0000)) /* -126 */ : is_small(s, a);
    Operand x = emit_fmul(s, false, a, op_imm(power ? HALF : TWO_24));
    Operand r = sel_mufu(s, func, sel_select(s, scale, x, a)), d;
    if (func == Mufu_LG2)
        d = EMIT_R(s, OT_FADD, MSET(FADD, rnd, Rnd_RN), r, op_imm(0xc1c00000) /* -24 */);
    else
        d = emit_fmul(s, false, r, power ? r : op_imm(func == Mufu_RSQ ? TWO_12 : TWO_MINUS_12));
    return sel_select(s, scale, d, r);
}

static bool approx(Sel *s, const PtxInsn *in, unsigned func) {
    Operand a = sel_src32(s, &in->operands[1]);
    Operand d =
        ftz(in) ? mufu_flush(s, in, sel_mufu(s, func, mufu_flush(s, in, a))) : approx_scaled(s, func, a);
    sel_write32(s, &in->operands[0], TY_F32, d);
    return true;
}

/* The operand's high word only; the result's low word is zero. */
static bool approx64(Sel *s, const PtxInsn *in, unsigned func) {
    Operand h = sel_mufu(s, func, sel_src(s, &in->operands[1], 8).w[1]);
    sel_write(s, &in->operands[0], TY_F64, wide2(op_imm(0), h));
    return true;
}

bool isel_rcp(Sel *s, const PtxInsn *in) {
    if (sel_type(in) == TY_F64) {
        if (in->flags & PF_APPROX)
            return approx64(s, in, Mufu_RCP64H);
        Wide q, v[2] = {wide2(op_imm(0), op_imm(0x3ff00000)), sel_src(s, &in->operands[1], 8)};
        return sel_div_rounded_wide(s, rnd_of(in), v, &q) && give_f64(s, in, q);
    }
    if (in->flags & PF_APPROX)
        return approx(s, in, Mufu_RCP);
    Operand d, v[2] = {op_imm(0x3f800000), src_f32(s, in, &in->operands[1])};
    return sel_div_rounded(s, rnd_of(in), ftz(in), v, &d) && give_f32(s, in, d);
}

bool isel_sqrt(Sel *s, const PtxInsn *in) {
    if (sel_type(in) == TY_F64) {
        Wide g;
        return sel_sqrt_rounded_wide(s, rnd_of(in), sel_src(s, &in->operands[1], 8), &g) &&
               give_f64(s, in, g);
    }
    if (in->flags & PF_APPROX)
        return approx(s, in, Mufu_SQRT);
    Operand d;
    return sel_sqrt_rounded(s, rnd_of(in), ftz(in), src_f32(s, in, &in->operands[1]), &d) &&
           give_f32(s, in, d);
}

bool isel_rsqrt(Sel *s, const PtxInsn *in) {
    if (sel_type(in) == TY_F32)
        return approx(s, in, Mufu_RSQ);
    if (ftz(in))
        return approx64(s, in, Mufu_RSQ64H);
    Wide d, v[2] = {wide2(op_imm(0), op_imm(0x3ff00000))};
    return sel_sqrt_rounded_wide(s, Rnd_RN, sel_src(s, &in->operands[1], 8), &v[1]) &&
           sel_div_rounded_wide(s, Rnd_RN, v, &d) && give_f64(s, in, d);
}

/* ---- transcendental functions ---- */

/* Turns that are no normal number count as none. */
bool isel_sincos(Sel *s, const PtxInsn *in) {
    Operand a = sel_value(s, sel_src32(s, &in->operands[1]));
    uint32_t mods =
        MSET(FMUL, rnd, Rnd_RZ) | MSET(FMUL, ftz, !s->ti->mufu_flushes) | MSET(FMUL, scale, FmulScale_NONE);
    Operand t = EMIT_R(s, OT_FMUL, mods, a, op_imm(0x3e22f983)); /* radians to turns */
    sel_write32(s, &in->operands[0], TY_F32, sel_mufu(s, in->op == PTX_SIN ? Mufu_SIN : Mufu_COS, t));
    return true;
}

bool isel_lg2(Sel *s, const PtxInsn *in) { return approx(s, in, Mufu_LG2); }

/* Half-precision forms: exactly to f32, the function, rounded back. */
static Operand approx_half(Sel *s, const PtxInsn *in, bool bf, unsigned func, Operand a) {
    Operand x =
        bf ? sel_shl(s, a, op_imm(16))
           : EMIT_R(s, OT_F2F, MSET(F2F, dst, FSize_F32) | MSET(F2F, src, FSize_F16) | MSET(F2F, rnd, Rnd_RN),
                    a);
    return mufu_flush(s, in, sel_mufu(s, func, mufu_flush(s, in, x)));
}

/* Two f32 rounded to halves; before sm_80, which has no bf16, one after the other. */
static Operand packed_halves(Sel *sel, bool bf, bool two, Operand hi, Operand lo) {
    if (isa_target_has(sel->t, OT_F2FP))
        return EMIT_R(sel, OT_F2FP,
                      MSET(F2FP, type, bf ? F2fpType_BF16 : F2fpType_F16) | MSET(F2FP, rnd, Rnd_RN), hi, lo,
                      op_rz());
    uint32_t mods = MSET(F2F, dst, FSize_F16) | MSET(F2F, src, FSize_F32) | MSET(F2F, rnd, Rnd_RN);
    Operand low = EMIT_R(sel, OT_F2F, mods, lo);
    return two ? sel_prmt(sel, low, op_imm(0x5410), EMIT_R(sel, OT_F2F, mods, hi)) : low;
}

static bool approx_any(Sel *sel, const PtxInsn *in, unsigned func) {
    PtxType t = sel_type(in);
    bool bf = t == TY_BF16 || t == TY_BF16X2, two = t == TY_F16X2 || t == TY_BF16X2;
    if (t == TY_F32)
        return approx(sel, in, func);
    Operand a = sel_value(sel, sel_src32(sel, &in->operands[1])), hi = op_rz(),
            lo = approx_half(sel, in, bf, func, a);
    if (two)
        hi = approx_half(sel, in, bf, func, sel_shr(sel, false, a, op_imm(16)));
    sel_write32(sel, &in->operands[0], t, packed_halves(sel, bf, two, hi, lo));
    return true;
}

bool isel_ex2(Sel *s, const PtxInsn *in) { return approx_any(s, in, Mufu_EX2); }
bool isel_tanh(Sel *s, const PtxInsn *in) { return approx_any(s, in, Mufu_TANH); }

/* ---- testp, copysign ---- */

/* Zero counts as normal. `lo` is zero for f32. */
static Operand classify(Sel *s, unsigned what, uint32_t inf, uint32_t min_normal, Operand h, Operand lo) {
    Operand finite = sel_isetp(s, false, ICmp_LT, h, op_imm(inf));
    Operand infinite = sel_isetp(s, false, ICmp_EQ, h, op_imm(inf));
    Operand any = h;
    if (lo.kind != OPK_NONE) {
        infinite = sel_pand(s, infinite, sel_isetp(s, false, ICmp_EQ, lo, op_imm(0)));
        any = sel_or(s, h, lo);
    }
    Operand nonzero = sel_isetp(s, false, ICmp_NE, any, op_imm(0));
    Operand subnormal = sel_pand(s, sel_isetp(s, false, ICmp_LT, h, op_imm(min_normal)), nonzero);
    switch (what) {
    case SUB_FINITE: return finite;
    case SUB_INFINITE: return infinite;
    case SUB_NUMBER: return sel_por(s, finite, infinite);
    case SUB_NOTANUMBER: return sel_pand(s, op_not(finite), op_not(infinite));
    case SUB_NORMAL: return sel_pand(s, finite, op_not(subnormal));
    default: return subnormal;
    }
}

bool isel_testp(Sel *s, const PtxInsn *in) {
    bool wide = sel_type(in) == TY_F64;
    Wide a = sel_src(s, &in->operands[1], wide ? 8 : 4);
    Operand h = sel_and(s, a.w[a.n - 1], op_imm(0x7fffffff));
    Operand p = wide ? classify(s, in->sub, 0x7ff00000, 0x00100000, h, a.w[0])
                     : classify(s, in->sub, 0x7f800000, 0x00800000, h, op_none());
    sel_write_pred(s, &in->operands[0], p);
    return true;
}

bool isel_copysign(Sel *s, const PtxInsn *in) { /* sign of the first, magnitude of the second */
    unsigned bytes = ptx_type_bytes(sel_type(in));
    Wide a = sel_src(s, &in->operands[1], bytes), b = sel_src(s, &in->operands[2], bytes);
    enum { LUT_B_C_A = (LUT_B & LUT_C) | (~LUT_B & LUT_A) };
    Operand sign = sel_value(s, a.w[a.n - 1]), magnitude = sel_value(s, b.w[b.n - 1]);
    b.w[b.n - 1] = sel_lop(s, LUT_B_C_A, sign, op_imm(0x7fffffff), magnitude);
    sel_write(s, &in->operands[0], sel_type(in), b);
    return true;
}
