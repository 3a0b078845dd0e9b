/* Half precision: f16 and bf16, single and packed. An operation on one half is uninterpreted, of 16 bits; a
 * register holds two. Written again here by name, as in mach_ops.c. PTX ISA 9.7.4, 9.7.7.
 * SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"
#include "check/prove/ptx/ptx.h"
#include <string.h>

enum { F16_ONE = 0x3c00, BF16_ONE = 0x3f80, MINUS_ZERO = 0x8000, MAGNITUDE = 0x7fff };

/* A result of 16 bits: the name's first character says so. The first two operands commute. */
static Term *half_op(Prover *prover, const char *name, bool bf16, const char *mods, Term *const *a,
                     uint32_t n) {
    Terms *ts = &prover->ts;
    Term *arg[3];
    for (uint32_t i = 0; i < n; i++)
        arg[i] = a[i];
    if (arg[0]->id > arg[1]->id) {
        Term *swap = arg[0];
        arg[0] = arg[1];
        arg[1] = swap;
    }
    if (strcmp(name, "hfma") == 0 && !bf16 && !strstr(mods, "relu") &&
        !strstr(mods, "oob")) { /* 1 * b + c, a * b - 0 */
        for (unsigned i = 0; i < 2; i++)
            if (arg[i] == t_const(ts, 32, F16_ONE))
                return half_op(prover, "hadd", false, mods, (Term *[]){arg[1 - i], arg[2]}, 2);
        if (arg[2] == t_const(ts, 32, MINUS_ZERO))
            return half_op(prover, "hmul", false, mods, arg, 2);
    }
    prover->nuf++;
    return t_app(ts, TO_UF, 32, 16, term_name(ts, "#%s.%s%s", name, bf16 ? "bf16" : "f16", mods), arg, n);
}
/* .oob: nothing is said of which operands it looks at; the operation is another. */
static const char *outside(Terms *ts, const char *mods, bool oob) {
    return oob ? term_name(ts, "%s.oob", mods) : mods;
}
static const char *modifiers(Terms *ts, bool ftz, bool sat, bool relu, bool nan) {
    return term_name(ts, "%s%s%s%s", ftz ? ".ftz" : "", sat ? ".sat" : "", relu ? ".relu" : "",
                     nan ? ".nan" : "");
}
static Term *half_of(Terms *ts, Term *word, unsigned h) {
    return h ? t_lshr(ts, word, t_const(ts, 32, 16)) : t_zext_from(ts, word, 16);
}
static Term *both_halves(Terms *ts, Term *low, Term *high) {
    return t_lxor(ts, low, t_shl(ts, high, t_const(ts, 32, 16)));
}

/* ---- machine ---- */
/* Half h of source i, with its selection and sign. */
static Term *mach_half(Mach *mach, unsigned i, unsigned h) {
    enum { BOTH, F32, LOW, HIGH };
    Terms *ts = &mach->prover->ts;
    uint8_t mods = mach->in->src[i].mods;
    unsigned pick = mods >> OPM_HALF_SHIFT & 3;
    bool turned =
        mach->in->optype == OT_HFMA2_NH1 && i == HFMA2_NH1_rb; /* exchanged, the lower one negated */
    Term *word = mach_plain(mach, i, 0, OPM_NEG | OPM_ABS | 3u << OPM_HALF_SHIFT);
    if (pick == F32)
        mach_fault(mach, "an operand of 32 bits among halves is not modelled");
    Term *v = half_of(ts, word, pick == BOTH ? h ^ turned : pick == HIGH);
    if (mods & OPM_ABS)
        v = t_land(ts, v, t_const(ts, 32, MAGNITUDE));
    if (!(mods & OPM_NEG) != !(turned && !h))
        v = t_lxor(ts, v, t_const(ts, 32, MINUS_ZERO));
    return v;
}

/* -0 * 0 + c is c: how ptxas makes a constant of two halves. NULL: it is not that. */
static Term *loaded_constant(Terms *ts, bool bf16, const char *mods, Term *const *a) {
    uint64_t infinity = bf16 ? 0x7f80 : 0x7c00;
    bool zero = t_is_const(a[0]) && t_is_const(a[1]) && !(a[0]->k & MAGNITUDE) && !(a[1]->k & MAGNITUDE) &&
                (a[0]->k ^ a[1]->k) == MINUS_ZERO;
    return zero && !*mods && t_is_const(a[2]) && (a[2]->k & MAGNITUDE) <= infinity ? t_const(ts, 32, a[2]->k)
                                                                                   : NULL;
}

/* -0 + h to 32 bits: how ptxas converts a half; the sum of two has no term. */
static bool widened_half(Mach *mach) {
    Terms *ts = &mach->prover->ts;
    Term *a = mach_half(mach, 0, 0), *b = mach_half(mach, 1, 0), *minus_zero = t_const(ts, 32, MINUS_ZERO);
    Term *half = a == minus_zero ? b : b == minus_zero ? a : NULL;
    if (!half || MOD(HADD2, bf16) || MOD(HADD2, ftz) || MOD(HADD2, sat))
        return false;
    mach_put(
        mach, 0, 0,
        prove_uf(mach->prover, 32, term_name(ts, "f2f.%u.%u.%u", FSize_F32, FSize_F16, Rnd_RN), &half, 1));
    return true;
}

static void mach_packed(Mach *mach, const char *name, bool bf16, const char *mods, unsigned n) {
    Term *result[2];
    for (unsigned h = 0; h < 2; h++) {
        Term *arg[3];
        for (unsigned i = 0; i < n; i++)
            arg[i] = mach_half(mach, i, h);
        Term *constant = n == 3 ? loaded_constant(&mach->prover->ts, bf16, mods, arg) : NULL;
        result[h] = constant ? constant : half_op(mach->prover, name, bf16, mods, arg, n);
    }
    mach_put(mach, 0, 0, both_halves(&mach->prover->ts, result[0], result[1]));
}

bool mach_halves(Mach *mach) {
    Terms *ts = &mach->prover->ts;
    switch (mach->in->optype) {
    case OT_HADD2:
        if (MOD(HADD2, f32))
            return widened_half(mach);
        mach_packed(mach, "hadd", MOD(HADD2, bf16),
                    modifiers(ts, MOD(HADD2, ftz), MOD(HADD2, sat), false, false), 2);
        return true;
    case OT_HMUL2:
        mach_packed(mach, "hmul", MOD(HMUL2, bf16),
                    modifiers(ts, MOD(HMUL2, ftz), MOD(HMUL2, sat), false, false), 2);
        return true;
    case OT_HFMA2:
        if (MOD(HFMA2, flush) == HalfFlush90_FMZ)
            return false;
        mach_packed(mach, "hfma", MOD(HFMA2, bf16),
                    outside(ts,
                            modifiers(ts, MOD(HFMA2, flush) == HalfFlush90_FTZ, MOD(HFMA2, sat),
                                      MOD(HFMA2, relu), false),
                            MOD(HFMA2, flush) == HalfFlush90_OOB),
                    3);
        return true;
    case OT_HFMA2_NH1:
        if (MOD(HFMA2_NH1, flush) == HalfFlush90_FMZ || MOD(HFMA2_NH1, flush) == HalfFlush90_OOB)
            return false;
        mach_packed(mach, "hfma", MOD(HFMA2_NH1, bf16),
                    modifiers(ts, MOD(HFMA2_NH1, flush) != HalfFlush90_NONE, MOD(HFMA2_NH1, sat),
                              MOD(HFMA2_NH1, relu), false),
                    3);
        return true;
    case OT_HFMA2_MMA:
        mach_packed(mach, "hfma", MOD(HFMA2_MMA, bf16),
                    modifiers(ts, MOD(HFMA2_MMA, ftz), MOD(HFMA2_MMA, sat), MOD(HFMA2_MMA, relu), false), 3);
        return true;
    case OT_HMNMX2: {
        bool bf16 = MOD(HMNMX2, bf16);
        const char *mods = modifiers(ts, MOD(HMNMX2, ftz), false, false, MOD(HMNMX2, nan));
        Term *min = mach_pred_at(mach, 2), *result[2];
        for (unsigned h = 0; h < 2; h++) {
            Term *arg[2] = {mach_half(mach, 0, h), mach_half(mach, 1, h)};
            result[h] = t_ite(ts, min, half_op(mach->prover, "hmin", bf16, mods, arg, 2),
                              half_op(mach->prover, "hmax", bf16, mods, arg, 2));
        }
        mach_put(mach, 0, 0, both_halves(ts, result[0], result[1]));
        return true;
    }
    case OT_HSET2: {
        bool bf16 = MOD(HSET2, bf16), ftz = MOD(HSET2, ftz);
        unsigned cmp = MOD(HSET2, cmp), bop = MOD(HSET2, bop), kind = bf16 ? 32 : 16 | (ftz ? 256u : 0);
        uint32_t one = !MOD(HSET2, bf) ? 0xffff : bf16 ? 0x3f80 : 0x3c00;
        mach_cares(mach, bop);
        Term *with = mach_pred_at(mach, 2), *result = ts->zero;
        for (unsigned h = 0; h < 2; h++) {
            Term *a = mach_half(mach, 0, h), *b = mach_half(mach, 1, h), *by = t_const(ts, 32, bf16 ? 16 : 0);
            Term *holds = t_fcmp(ts, kind, cmp, t_shl(ts, a, by), t_shl(ts, b, by));
            result = t_lxor(
                ts, result,
                t_ite(ts, mach_bool_op(mach, bop, holds, with), mach_k32(mach, one << (16 * h)), ts->zero));
        }
        if (bf16 && ftz)
            mach_fault(mach, "flushing of bf16 is not modelled");
        mach_put(mach, 0, 0, result);
        return true;
    }
    case OT_HSETP2: {
        unsigned cmp = MOD(HSETP2, cmp), kind = 16 | (MOD(HSETP2, ftz) ? 256u : 0);
        unsigned bop = MOD(HSETP2, bop);
        mach_cares(mach, bop);
        Term *with = mach_pred_at(mach, 2), *r[2];
        for (unsigned h = 0; h < 2; h++)
            r[h] = mach_bool_op(mach, bop,
                                t_fcmp(ts, kind, cmp, mach_half(mach, 0, h), mach_half(mach, 1, h)), with);
        for (unsigned h = 0; h < 2; h++) /* both are made of what was there */
            mach_put_pred(mach, h, r[h]);
        return true;
    }
    default: return false;
    }
}

/* ---- PTX ---- */
static bool is_bf16(PtxType t) { return t == TY_BF16 || t == TY_BF16X2; }
static bool is_packed(PtxType t) { return t == TY_F16X2 || t == TY_BF16X2; }
static const char *flags_of(Ptx *ptx) {
    uint32_t flags = ptx->in->flags;
    Terms *ts = &ptx->prover->ts;
    return outside(ts, modifiers(ts, flags & PF_FTZ, flags & PF_SAT, flags & PF_RELU, flags & PF_NAN),
                   flags & PF_OOB);
}

typedef Term *HalfFn(Ptx *ptx, Term *const *a); /* of one half */

static bool each_half(Ptx *ptx, unsigned n, HalfFn *fn) {
    Terms *ts = &ptx->prover->ts;
    PtxType t = pv_type(ptx);
    Term *word[3], *result[2] = {ts->zero, ts->zero};
    for (unsigned i = 0; i < n; i++)
        word[i] = pv_src(ptx, pv_operand(ptx, 1 + i), is_packed(t) ? TY_B32 : TY_B16);
    for (unsigned h = 0; h < (is_packed(t) ? 2u : 1u); h++) {
        Term *arg[3];
        for (unsigned i = 0; i < n; i++)
            arg[i] = half_of(ts, word[i], h);
        result[h] = fn(ptx, arg);
    }
    pv_dst(ptx, pv_operand(ptx, 0), is_packed(t) ? TY_B32 : TY_B16, both_halves(ts, result[0], result[1]));
    return true;
}

static Term *fused(Ptx *ptx, Term *a, Term *b, Term *c) {
    return half_op(ptx->prover, "hfma", is_bf16(pv_type(ptx)), flags_of(ptx), (Term *[]){a, b, c}, 3);
}
/* bf16 has the fused operation alone: a + b is a * 1 + b, a * b is a * b + -0 (docs/numerics.md). */
static Term *half_sum(Ptx *ptx, Term *a, Term *b) {
    return is_bf16(pv_type(ptx)) ? fused(ptx, a, pv_k32(ptx, BF16_ONE), b)
                                 : half_op(ptx->prover, "hadd", false, flags_of(ptx), (Term *[]){a, b}, 2);
}
static Term *half_add(Ptx *ptx, Term *const *a) {
    bool sub = ptx->in->op == PTX_SUB;
    return half_sum(ptx, a[0], sub ? t_lxor(&ptx->prover->ts, a[1], pv_k32(ptx, MINUS_ZERO)) : a[1]);
}
static Term *half_mul(Ptx *ptx, Term *const *a) {
    return is_bf16(pv_type(ptx)) ? fused(ptx, a[0], a[1], pv_k32(ptx, MINUS_ZERO))
                                 : half_op(ptx->prover, "hmul", false, flags_of(ptx), a, 2);
}
static Term *half_fma(Ptx *ptx, Term *const *a) { return fused(ptx, a[0], a[1], a[2]); }
/* x + -0: a NaN becomes the canonical one */
static Term *half_sign(Ptx *ptx, Term *const *a) {
    Terms *ts = &ptx->prover->ts;
    Term *v = ptx->in->op == PTX_ABS ? t_land(ts, a[0], pv_k32(ptx, MAGNITUDE))
                                     : t_lxor(ts, a[0], pv_k32(ptx, MINUS_ZERO));
    return half_sum(ptx, v, pv_k32(ptx, MINUS_ZERO));
}
static Term *half_minmax(Ptx *ptx, Term *const *a) {
    return half_op(ptx->prover, ptx->in->op == PTX_MIN ? "hmin" : "hmax", is_bf16(pv_type(ptx)),
                   flags_of(ptx), a, 2);
}

/* Half h of bf16 as the f32 that it is the upper half of. */
static Term *wide_half(Ptx *ptx, Term *word, unsigned h) {
    Terms *ts = &ptx->prover->ts;
    return h ? t_land(ts, word, pv_k32(ptx, 0xffff0000)) : t_shl(ts, word, pv_k32(ptx, 16));
}
/* Exactly to f32, the function, rounded back: what docs/numerics.md has for ex2 and tanh. */
static Term *of_wide_half(Ptx *ptx, Term *word, unsigned h, unsigned func) {
    Terms *ts = &ptx->prover->ts;
    bool flush = ptx->in->flags & PF_FTZ && !isa_target_info(ptx->prover->flow->bin->target)->mufu_flushes;
    Term *zero = pv_k32(ptx, 0x80000000), *half = half_of(ts, word, h), *wide;
    if (is_bf16(pv_type(ptx)))
        wide = t_shl(ts, half, pv_k32(ptx, 16));
    else
        wide =
            prove_uf(ptx->prover, 32, term_name(ts, "f2f.%u.%u.%u", FSize_F32, FSize_F16, Rnd_RN), &half, 1);
    if (flush)
        wide = prove_uf_sorted(ptx->prover, 32, "fadd.0.ftz", wide, zero);
    Term *r = prove_uf(ptx->prover, 32, term_name(ts, "mufu.%u", func), &wide, 1);
    return flush ? prove_uf_sorted(ptx->prover, 32, "fadd.0.ftz", r, zero) : r;
}
static bool by_f32(Ptx *ptx, unsigned func) {
    Terms *ts = &ptx->prover->ts;
    PtxType t = pv_type(ptx);
    Term *a = pv_src(ptx, pv_operand(ptx, 1), is_packed(t) ? TY_B32 : TY_B16);
    Term *arg[3] = {is_packed(t) ? of_wide_half(ptx, a, 1, func) : ts->zero, of_wide_half(ptx, a, 0, func),
                    ts->zero};
    if (!isa_target_has(ptx->prover->flow->bin->target, OT_F2FP)) { /* rounded one by one */
        const char *round = term_name(ts, "f2f.%u.%u.%u", FSize_F16, FSize_F32, Rnd_RN);
        Term *low = prove_uf(ptx->prover, 32, round, &arg[1], 1),
             *high = is_packed(t) ? prove_uf(ptx->prover, 32, round, &arg[0], 1) : ts->zero;
        pv_dst(ptx, pv_operand(ptx, 0), is_packed(t) ? TY_B32 : TY_B16,
               both_halves(ts, half_of(ts, low, 0), half_of(ts, high, 0)));
        return true;
    }
    const char *name = term_name(ts, "f2fp.%u.%u.0", is_bf16(t) ? F2fpType_BF16 : F2fpType_F16, Rnd_RN);
    pv_dst(ptx, pv_operand(ptx, 0), is_packed(t) ? TY_B32 : TY_B16, prove_uf(ptx->prover, 32, name, arg, 3));
    return true;
}
bool prove_ptx_hex2(Ptx *ptx) { return by_f32(ptx, Mufu_EX2); }
bool prove_ptx_htanh(Ptx *ptx) { return by_f32(ptx, Mufu_TANH); }

/* The sum of the halves of two words: of f16, rounded, nothing flushed. */
Term *pv_half_sums(Ptx *ptx, bool bf16, Term *a, Term *b) {
    Terms *ts = &ptx->prover->ts;
    Term *r[2];
    for (unsigned h = 0; h < 2; h++) {
        Term *x = half_of(ts, a, h), *y = half_of(ts, b, h);
        r[h] = bf16 ? half_op(ptx->prover, "hfma", true, "", (Term *[]){x, pv_k32(ptx, BF16_ONE), y}, 3)
                    : half_op(ptx->prover, "hadd", false, "", (Term *[]){x, y}, 2);
    }
    return both_halves(ts, r[0], r[1]);
}

Term *pv_half_canonical(Ptx *ptx, bool bf16, const char *mods, Term *half) {
    Term *zero = pv_k32(ptx, MINUS_ZERO), *a = half_of(&ptx->prover->ts, half, 0);
    return bf16 ? half_op(ptx->prover, "hfma", true, mods, (Term *[]){a, pv_k32(ptx, BF16_ONE), zero}, 3)
                : half_op(ptx->prover, "hadd", false, mods, (Term *[]){a, zero}, 2);
}

bool prove_ptx_hadd(Ptx *ptx) { return each_half(ptx, 2, half_add); }
bool prove_ptx_hmul(Ptx *ptx) { return each_half(ptx, 2, half_mul); }
bool prove_ptx_hfma(Ptx *ptx) { return each_half(ptx, 3, half_fma); }
bool prove_ptx_hsign(Ptx *ptx) { return each_half(ptx, 1, half_sign); }
bool prove_ptx_hminmax(Ptx *ptx) {
    return ptx->in->noperands == 3 && !(ptx->in->flags & (PF_XORSIGN_ABS | PF_RELU)) &&
           each_half(ptx, 2, half_minmax);
}

/* f16 as it is, bf16 as the f32 that it is the upper half of. */
Term *pv_half_compare(Ptx *ptx, unsigned outcomes, PtxType t, const PtxOperand *a, const PtxOperand *b,
                      unsigned h) {
    Terms *ts = &ptx->prover->ts;
    PtxType words = is_packed(t) ? TY_B32 : TY_B16;
    Term *x = pv_src(ptx, a, words), *y = pv_src(ptx, b, words);
    return is_bf16(t) ? t_fcmp(ts, 32, outcomes, wide_half(ptx, x, h), wide_half(ptx, y, h))
                      : t_fcmp(ts, 16 | (ptx->in->flags & PF_FTZ ? 256u : 0), outcomes, half_of(ts, x, h),
                               half_of(ts, y, h));
}
