/* Selection of cvt: PTX ISA 9.7.9.21. Every pair of integer, f16, bf16, f32 and f64 types that has a
 * conversion with one rounding; the others are errors.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

typedef struct {
    Sel *s;
    const PtxInsn *in;
    PtxType d, t; /* destination and source type */
} Cvt;

static bool is_float(PtxType t) { return t == TY_F16 || t == TY_BF16 || t == TY_F32 || t == TY_F64; }
static bool is_int(PtxType t) {
    PtxTypeClass c = ptx_type_class(t);
    return (c == TC_SIGNED || c == TC_UNSIGNED) && t != TY_U16X2 && t != TY_S16X2;
}
static bool flag(const Cvt *cvt, unsigned f) { return (cvt->in->flags & f) != 0; }

static unsigned rnd_float(const Cvt *cvt) {
    switch (cvt->in->rnd) {
    case RND_RZ: return Rnd_RZ;
    case RND_RM: return Rnd_RM;
    case RND_RP: return Rnd_RP;
    default: return Rnd_RN;
    }
}

static bool rnd_int(unsigned rnd, unsigned *out) {
    switch (rnd) {
    case RND_RNI: *out = IRnd_RN; return true;
    case RND_RZI: *out = IRnd_TRUNC; return true;
    case RND_RMI: *out = IRnd_FLOOR; return true;
    case RND_RPI: *out = IRnd_CEIL; return true;
    default: return false;
    }
}

static unsigned fsize(PtxType t) {
    return t == TY_F16 ? FSize_F16 : t == TY_BF16 ? FSize_BF16 : t == TY_F64 ? FSize_F64 : FSize_F32;
}
static unsigned isize(PtxType t) {
    switch (ptx_type_bytes(t)) {
    case 1: return ISize_B8;
    case 2: return ISize_B16;
    case 4: return ISize_B32;
    default: return ISize_B64;
    }
}

/* ---- integer to integer ---- */

static uint64_t max_of(PtxType t) {
    unsigned bits = ptx_type_bytes(t) * 8 - type_signed(t);
    return bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}
static uint64_t min_of(PtxType t) { return type_signed(t) ? ~max_of(t) : 0; } /* two's complement */

/* Clamp a value of source type t (64 bits wide if it is) to the range of d. */
static Wide saturate(Sel *s, Wide v, PtxType d, PtxType t) {
    bool sg = type_signed(t);
    bool low = sg && (!type_signed(d) || ptx_type_bytes(d) < ptx_type_bytes(t));
    bool high = max_of(d) < max_of(t);
    if (v.n == 1) {
        if (low)
            v.w[0] = sel_minmax(s, true, true, v.w[0], op_imm((uint32_t)min_of(d)));
        if (high)
            v.w[0] = sel_minmax(s, sg, false, v.w[0], op_imm((uint32_t)max_of(d)));
        return v;
    }
    if (low) {
        Wide m = sel_imm64(min_of(d));
        v = sel_select64(s, sel_isetp64(s, true, ICmp_GT, v, m), v, m);
    }
    if (high) {
        Wide m = sel_imm64(max_of(d));
        v = sel_select64(s, sel_isetp64(s, sg, ICmp_LT, v, m), v, m);
    }
    return v;
}

/* Value of the source operand: narrow types extended to 32 bits. */
static Wide source(const Cvt *cvt) {
    unsigned bytes = ptx_type_bytes(cvt->t);
    if (bytes < 4)
        return wide1(sel_src_ext(cvt->s, &cvt->in->operands[1], cvt->t));
    return sel_src(cvt->s, &cvt->in->operands[1], bytes);
}

static bool int_to_int(const Cvt *cvt) {
    Sel *s = cvt->s;
    Wide v = source(cvt);
    if (flag(cvt, PF_SAT))
        v = saturate(s, v, cvt->d, cvt->t);
    unsigned n = ptx_type_bytes(cvt->d) == 8 ? 2 : 1;
    if (v.n < n)
        v = wide2(v.w[0],
                  type_signed(cvt->t) ? sel_shr(s, true, sel_value(s, v.w[0]), op_imm(31)) : op_imm(0));
    v.n = n;
    sel_write(s, &cvt->in->operands[0], cvt->d, v);
    return true;
}

/* ---- between float and integer ---- */

static Operand bf16_to_f32(Sel *s, Operand a) { return sel_shl(s, sel_value(s, a), op_imm(16)); }

/* The source as an operand of the conversion instructions; *t is its machine type. */
static Operand float_source(const Cvt *cvt, PtxType *t) {
    Sel *s = cvt->s;
    *t = cvt->t;
    if (cvt->t == TY_F64)
        return sel_wide_vec(s, sel_src(s, &cvt->in->operands[1], 8));
    Operand a = sel_value(s, sel_src32(s, &cvt->in->operands[1]));
    if (cvt->t == TY_BF16) {
        *t = TY_F32;
        return bf16_to_f32(s, a);
    }
    return a; /* conversions read the lower half by default */
}

static bool float_to_int(const Cvt *cvt) {
    Sel *s = cvt->s;
    unsigned rnd;
    PtxType t;
    if (!rnd_int(cvt->in->rnd, &rnd))
        return false;
    Operand a = float_source(cvt, &t);
    uint32_t mods = MSET(F2I, sign, type_signed(cvt->d) ? CvtSign_S : CvtSign_U) |
                    MSET(F2I, dst, isize(cvt->d)) | MSET(F2I, rnd, rnd) | MSET(F2I, ftz, flag(cvt, PF_FTZ)) |
                    MSET(F2I, src, fsize(t)) | MSET(F2I, ntz, t != TY_F64 && ptx_type_bytes(cvt->d) < 8);
    if (ptx_type_bytes(cvt->d) == 8)
        sel_write(s, &cvt->in->operands[0], cvt->d, sel_wide_pair(s, EMIT_R2(s, OT_F2I, mods, a)));
    else
        sel_write32(s, &cvt->in->operands[0], cvt->d, EMIT_R(s, OT_F2I, mods, a));
    return true;
}

static Operand emit_i2f(Sel *s, bool sg, unsigned src, unsigned dst, unsigned rnd, Operand a) {
    uint32_t mods = MSET(I2F, sign, sg ? CvtSign_S : CvtSign_U) | MSET(I2F, dst, dst) | MSET(I2F, rnd, rnd) |
                    MSET(I2F, src, src);
    return dst == FSize_F64 ? EMIT_R2(s, OT_I2F, mods, a) : EMIT_R(s, OT_I2F, mods, a);
}

/* flags: of the statement, PF_RELU and PF_SATFINITE */
static Operand pack_half(Sel *s, bool bf, unsigned rnd, unsigned flags, Operand hi, Operand lo) {
    return EMIT_R(s, OT_F2FP,
                  MSET(F2FP, type, bf ? F2fpType_BF16 : F2fpType_F16) | MSET(F2FP, rnd, rnd) |
                      MSET(F2FP, relu, (flags & PF_RELU) != 0) |
                      MSET(F2FP, satfinite, (flags & PF_SATFINITE) != 0),
                  hi, lo, op_rz());
}

static Wide saturate_f64(Sel *s, Wide v) { /* r > 0 ? (r < 1 ? r : 1) : +0 */
    Operand x = sel_wide_vec(s, v);
    uint32_t mods = MSET(DSETP, bop, BoolOp_AND);
    Operand below = EMIT_P(s, OT_DSETP, mods | MSET(DSETP, cmp, DCmp_LT), x, op_imm(0x3ff00000), op_pt());
    Operand above = EMIT_P(s, OT_DSETP, mods | MSET(DSETP, cmp, DCmp_GT), x, op_imm(0), op_pt());
    v = sel_wide_pair(s, x);
    v = sel_select64(s, below, v, wide2(op_imm(0), op_imm(0x3ff00000)));
    return sel_select64(s, above, v, wide2(op_imm(0), op_imm(0)));
}

/* r is the converted value of type d, flush is for f32 results. */
static bool finish_float(const Cvt *cvt, Wide r, bool flush) {
    Sel *s = cvt->s;
    if (flag(cvt, PF_SAT)) {
        if (cvt->d == TY_F64)
            r = saturate_f64(s, r);
        else if (cvt->d == TY_F32)
            r = wide1(EMIT_R(s, OT_FADD,
                             MSET(FADD, sat, 1) | MSET(FADD, ftz, flush) | MSET(FADD, rnd, Rnd_RN), r.w[0],
                             op_imm(0x80000000u)));
        else
            r = wide1(EMIT_R(s, OT_HADD2, MSET(HADD2, sat, 1), r.w[0], op_imm(0x80008000u)));
    } else if (flush && cvt->d == TY_F32)
        r = wide1(sel_flush(s, r.w[0]));
    sel_write(s, &cvt->in->operands[0], cvt->d, r);
    return true;
}

/* An f32 to bf16: F2FP has two roundings, the others are F2F's. */
static Operand f32_to_bf16(Sel *s, unsigned rnd, Operand x) {
    if (rnd == Rnd_RN || rnd == Rnd_RZ)
        return pack_half(s, true, rnd, 0, op_rz(), x);
    return EMIT_R(s, OT_F2F, MSET(F2F, dst, FSize_BF16) | MSET(F2F, src, FSize_F32) | MSET(F2F, rnd, rnd), x);
}

/* Integer to bf16 with one rounding: truncate to f32, keep what was lost as an odd last bit, round. */
static bool int_to_bf16(const Cvt *cvt) {
    Sel *s = cvt->s;
    bool sg = type_signed(cvt->t);
    Wide v = source(cvt), again;
    unsigned size = v.n == 2 ? ISize_B64 : ISize_B32;
    for (unsigned k = 0; k < v.n; k++)
        v.w[k] = sel_value(s, v.w[k]);
    Operand x = emit_i2f(s, sg, size, FSize_F32, Rnd_RZ, v.n == 2 ? sel_wide_vec(s, v) : v.w[0]);
    uint32_t back = MSET(F2I, sign, sg ? CvtSign_S : CvtSign_U) | MSET(F2I, dst, size) |
                    MSET(F2I, rnd, IRnd_TRUNC) | MSET(F2I, src, FSize_F32) | MSET(F2I, ntz, v.n == 1);
    again = v.n == 2 ? sel_wide_pair(s, EMIT_R2(s, OT_F2I, back, x)) : wide1(EMIT_R(s, OT_F2I, back, x));
    Operand lost = sel_isetp64(s, false, ICmp_NE, again, v);
    x = sel_select(s, op_not(lost), x, sel_or(s, x, op_imm(1)));
    return finish_float(cvt, wide1(f32_to_bf16(s, rnd_float(cvt), x)), false);
}

static bool int_to_float(const Cvt *cvt) {
    Sel *s = cvt->s;
    if (cvt->d == TY_BF16)
        return int_to_bf16(cvt);
    Wide v = source(cvt);
    Operand a = v.n == 2 ? sel_wide_vec(s, v) : v.w[0];
    Operand r =
        emit_i2f(s, type_signed(cvt->t), v.n == 2 ? ISize_B64 : ISize_B32, fsize(cvt->d), rnd_float(cvt), a);
    return finish_float(cvt, cvt->d == TY_F64 ? sel_wide_pair(s, r) : wide1(r), false);
}

/* ---- float to float ---- */

static bool round_to_integral(const Cvt *cvt, unsigned rnd) {
    Sel *s = cvt->s;
    PtxType t;
    Operand a = float_source(cvt, &t);
    uint32_t mods = MSET(FRND, dst, fsize(t)) | MSET(FRND, src, fsize(t)) | MSET(FRND, rnd, rnd) |
                    MSET(FRND, ftz, flag(cvt, PF_FTZ));
    if (t == TY_F64)
        return finish_float(cvt, sel_wide_pair(s, EMIT_R2(s, OT_FRND, mods, a)), false);
    if (cvt->d == TY_BF16) /* what is integral is exact in bf16, too */
        return finish_float(cvt, wide1(f32_to_bf16(s, Rnd_RN, EMIT_R(s, OT_FRND, mods, a))), false);
    return finish_float(cvt, wide1(EMIT_R(s, OT_FRND, mods, a)), false);
}

/* The value itself, NaN made canonical. */
static bool same_type(const Cvt *cvt) {
    Sel *s = cvt->s;
    bool ftz = flag(cvt, PF_FTZ);
    if (cvt->d == TY_F64) {
        Operand a = sel_wide_vec(s, sel_src(s, &cvt->in->operands[1], 8));
        return finish_float(
            cvt, sel_wide_pair(s, EMIT_R2(s, OT_DADD, MSET(DADD, rnd, Rnd_RN), a, op_imm(0x80000000u))),
            false);
    }
    Operand a = sel_value(s, sel_src32(s, &cvt->in->operands[1]));
    if (cvt->d == TY_F32) {
        uint32_t mods = MSET(FADD, rnd, Rnd_RN) | MSET(FADD, ftz, ftz) | MSET(FADD, sat, flag(cvt, PF_SAT));
        sel_write32(s, &cvt->in->operands[0], TY_F32, EMIT_R(s, OT_FADD, mods, a, op_imm(0x80000000u)));
        return true;
    }
    Operand zero = op_imm(0x80008000u);
    sel_write32(s, &cvt->in->operands[0], cvt->d,
                cvt->d == TY_BF16 ? sel_bf16_add(s, false, a, zero)
                                  : EMIT_R(s, OT_HADD2, MSET(HADD2, sat, flag(cvt, PF_SAT)), a, zero));
    return true;
}

/* f64 as an f32 from which bf16 is got with one rounding: truncated, what was lost kept as an odd last bit.
 */
static Operand f64_to_odd_f32(Sel *s, Operand a) {
    uint32_t narrow = MSET(F2F, dst, FSize_F32) | MSET(F2F, src, FSize_F64) | MSET(F2F, rnd, Rnd_RZ);
    uint32_t widen = MSET(F2F, dst, FSize_F64) | MSET(F2F, src, FSize_F32) | MSET(F2F, rnd, Rnd_RN);
    uint32_t differ = MSET(DSETP, cmp, DCmp_NEU) | MSET(DSETP, bop, BoolOp_AND);
    Operand x = EMIT_R(s, OT_F2F, narrow, a);
    Operand back = EMIT_R2(s, OT_F2F, widen, x);
    Operand lost = EMIT_P(s, OT_DSETP, differ, back, a, op_pt());
    return sel_select(s, op_not(lost), x, sel_or(s, x, op_imm(1)));
}

static bool float_to_float(const Cvt *cvt) {
    Sel *sel = cvt->s;
    unsigned rnd;
    PtxType t;
    if (rnd_int(cvt->in->rnd, &rnd))
        return round_to_integral(cvt, rnd);
    if (cvt->d == cvt->t)
        return same_type(cvt);
    bool ftz = flag(cvt, PF_FTZ);
    if (cvt->t == TY_BF16 && cvt->d == TY_F32) /* bits move, also of a NaN */
        return finish_float(cvt, wide1(bf16_to_f32(sel, sel_src32(sel, &cvt->in->operands[1]))), ftz);
    Operand a = float_source(cvt, &t);
    if (cvt->d == TY_BF16 && cvt->t == TY_F64) {
        a = f64_to_odd_f32(sel, a);
        t = TY_F32;
    }
    bool packs = rnd_float(cvt) == Rnd_RN || rnd_float(cvt) == Rnd_RZ; /* the roundings that F2FP has */
    if (cvt->d == TY_BF16 && t == TY_F16) {
        a = EMIT_R(sel, OT_F2F,
                   MSET(F2F, dst, FSize_F32) | MSET(F2F, src, FSize_F16) | MSET(F2F, rnd, Rnd_RN), a);
        t = TY_F32;
    }
    if (packs &&
        (cvt->d == TY_BF16 || (cvt->d == TY_F16 && t == TY_F32 && isa_target_has(sel->t, OT_F2FP)))) {
        if (ftz && cvt->t == TY_F32)
            a = sel_flush(sel, a);
        return finish_float(
            cvt, wide1(pack_half(sel, cvt->d == TY_BF16, rnd_float(cvt), cvt->in->flags, op_rz(), a)), false);
    }
    if (flag(cvt, PF_RELU | PF_SATFINITE))
        return sel_error(sel, ".relu and .satfinite need instructions of sm_80");
    if (ftz && t == TY_F32)
        a = sel_flush(sel, a);
    unsigned round = cvt->d == TY_F64 ? Rnd_RN : rnd_float(cvt); /* what is exact needs none */
    uint32_t mods = MSET(F2F, dst, fsize(cvt->d)) | MSET(F2F, src, fsize(t)) | MSET(F2F, rnd, round);
    if (cvt->d == TY_F64)
        return finish_float(cvt, sel_wide_pair(sel, EMIT_R2(sel, OT_F2F, mods, a)), false);
    bool may_be_subnormal = cvt->d == TY_F32 && t == TY_F64; /* no half is one of f32 */
    return finish_float(cvt, wide1(EMIT_R(sel, OT_F2F, mods, a)), ftz && may_be_subnormal);
}

/* cvt.rn.f16x2.f32 d, a, b: a in the upper half */
static bool pack_pair(const Cvt *cvt) {
    Sel *sel = cvt->s;
    if (!isa_target_has(sel->t, OT_F2FP))
        return sel_error(sel, "packed conversions need instructions of sm_80");
    Operand a = sel_value(sel, sel_src32(sel, &cvt->in->operands[1])),
            b = sel_value(sel, sel_src32(sel, &cvt->in->operands[2]));
    sel_write32(sel, &cvt->in->operands[0], cvt->d,
                pack_half(sel, cvt->d == TY_BF16X2, rnd_float(cvt), cvt->in->flags, a, b));
    return true;
}

bool isel_cvt(Sel *s, const PtxInsn *in) {
    Cvt c = {s, in, sel_type(in), (PtxType)in->type[1]};
    if ((c.d == TY_BF16 || c.d == TY_BF16X2) && !sel_has_bf16(s))
        return sel_error(s, "bf16 needs instructions of sm_80");
    if (c.d == TY_F16X2 || c.d == TY_BF16X2)
        return pack_pair(&c);
    if (is_int(c.d) && is_int(c.t))
        return int_to_int(&c);
    if (is_int(c.d) && is_float(c.t))
        return float_to_int(&c);
    if (is_float(c.d) && is_int(c.t))
        return int_to_float(&c);
    return is_float(c.d) && is_float(c.t) && float_to_float(&c);
}
