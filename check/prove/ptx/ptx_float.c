/* Floating point and conversions of PTX: uninterpreted operations, named by what they do. The compositions
 * that stand for approximate functions are those of docs/numerics.md. PTX ISA 9.7.3, 9.7.9.21.
 * SPDX-License-Identifier: MIT */
#include "check/prove/ptx/ptx.h"

static bool ftz(const Ptx *ptx) { return ptx->in->flags & PF_FTZ; }
static Term *k64(Ptx *ptx, uint64_t v) { return t_const(&ptx->prover->ts, 64, v); }

static unsigned rnd(const Ptx *ptx) {
    return ptx->in->rnd == RND_RZ   ? Rnd_RZ
           : ptx->in->rnd == RND_RM ? Rnd_RM
           : ptx->in->rnd == RND_RP ? Rnd_RP
                                    : Rnd_RN;
}
static Term *uf1(Ptx *ptx, unsigned width, const char *name, Term *a) {
    return prove_uf(ptx->prover, width, name, &a, 1);
}
static const char *suffixed(Ptx *ptx, const char *name, unsigned r, bool flush, bool sat) {
    return term_name(&ptx->prover->ts, "%s.%u%s%s", name, r, flush ? ".ftz" : "", sat ? ".sat" : "");
}
static Term *negate(Ptx *ptx, Term *a) {
    Terms *ts = &ptx->prover->ts;
    if (a->width == 32)
        return t_lxor(ts, a, pv_k32(ptx, 0x80000000));
    return t_pair(ts, t_lo(ts, a), t_lxor(ts, t_hi(ts, a), pv_k32(ptx, 0x80000000)));
}
static Term *magnitude(Ptx *ptx, Term *a) {
    Terms *ts = &ptx->prover->ts;
    if (a->width == 32)
        return t_land(ts, a, pv_k32(ptx, 0x7fffffff));
    return t_pair(ts, t_lo(ts, a), t_land(ts, t_hi(ts, a), pv_k32(ptx, 0x7fffffff)));
}
static Term *fadd(Ptx *ptx, Term *a, Term *b, unsigned r, bool flush, bool sat) {
    return a->width == 64 ? prove_uf_sorted(ptx->prover, 64, suffixed(ptx, "dadd", r, false, false), a, b)
                          : prove_uf_sorted(ptx->prover, 32, suffixed(ptx, "fadd", r, flush, sat), a, b);
}
static Term *fmul(Ptx *ptx, Term *a, Term *b, bool flush) {
    return prove_uf_sorted(ptx->prover, 32, suffixed(ptx, "fmul", Rnd_RN, flush, false), a, b);
}
/* x + -0: a NaN becomes the canonical one, a subnormal zero if it is flushed */
static Term *canonical(Ptx *x, Term *a, bool flush) {
    return fadd(x, a, a->width == 64 ? k64(x, 1ull << 63) : pv_k32(x, 0x80000000), Rnd_RN, flush, false);
}
static Term *maybe_flush(Ptx *x, Term *a) {
    if (!ftz(x))
        return a;
    if (t_is_const(a) && !(a->k & 0x7f800000)) /* a literal flushes at once */
        return pv_k32(x, a->k & 0x80000000);
    return canonical(x, a, true);
}
static Term *mufu(Ptx *ptx, unsigned f, Term *a) {
    return uf1(ptx, 32, term_name(&ptx->prover->ts, "mufu.%u", f), a);
}

static bool is_sat(const Ptx *ptx) { return ptx->in->flags & PF_SAT; }
static Term *operand(Ptx *ptx, unsigned i) { return pv_src(ptx, pv_operand(ptx, i), pv_type(ptx)); }
static bool give(Ptx *ptx, Term *r) {
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), r);
    return true;
}
/* Rounded once with a product before it, if PTX allows it and the machine does it. */
static bool sum(Ptx *ptx, bool subtract) {
    Term *a = operand(ptx, 1), *b = operand(ptx, 2), *one = NULL;
    if (ptx->in->flags & PF_CONTRACT && !is_sat(ptx))
        one = prove_contracted(ptx->prover, a, b, subtract, ftz(ptx));
    return give(ptx,
                one ? one : fadd(ptx, a, subtract ? negate(ptx, b) : b, rnd(ptx), ftz(ptx), is_sat(ptx)));
}
bool prove_ptx_fadd(Ptx *ptx) { return sum(ptx, false); }
bool prove_ptx_fsub(Ptx *ptx) { return sum(ptx, true); }
bool prove_ptx_fmul(Ptx *ptx) {
    bool wide = pv_type(ptx) == TY_F64;
    const char *name = suffixed(ptx, wide ? "dmul" : "fmul", rnd(ptx), ftz(ptx), is_sat(ptx));
    Term *a = operand(ptx, 1), *b = operand(ptx, 2);
    Term *product = prove_uf_sorted(ptx->prover, wide ? 64 : 32, name, a, b);
    if (ptx->in->flags & PF_CONTRACT)
        prove_note(ptx->prover, &ptx->prover->products, product);
    return give(ptx, product);
}
bool prove_ptx_fma(Ptx *ptx) {
    bool wide = pv_type(ptx) == TY_F64;
    const char *name = suffixed(ptx, wide ? "dfma" : "ffma", rnd(ptx), ftz(ptx), is_sat(ptx));
    Term *a = operand(ptx, 1), *b = operand(ptx, 2), *c = operand(ptx, 3);
    Term *arg[3] = {a->id > b->id ? b : a, a->id > b->id ? a : b, c};
    return give(ptx, prove_uf(ptx->prover, wide ? 64 : 32, name, arg, 3));
}
/* Whether the NaN was canonical before does not show behind canonical(). */
bool prove_ptx_fneg(Ptx *ptx) {
    Term *a = t_plain(&ptx->prover->ts, operand(ptx, 1));
    return give(ptx, canonical(ptx, negate(ptx, a), ftz(ptx)));
}
bool prove_ptx_fabs(Ptx *ptx) {
    Term *a = t_plain(&ptx->prover->ts, operand(ptx, 1));
    return give(ptx, canonical(ptx, magnitude(ptx, a), ftz(ptx)));
}
static Term *min_max(Ptx *ptx, const char *name, Term *a, Term *b) {
    const char *full = term_name(&ptx->prover->ts, "%s%s%s", name, ftz(ptx) ? ".ftz" : "",
                                 ptx->in->flags & PF_NAN ? ".nan" : "");
    return prove_uf_sorted(ptx->prover, 32, full, a, b);
}
/* Of f64: a NaN only if both are, and the canonical one; -0 is below +0. PTX ISA 9.7.3.11, 9.7.3.12. */
static bool wide_min_max(Ptx *ptx, bool max) {
    enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8, BITS = 64 };
    Terms *ts = &ptx->prover->ts;
    Term *a = operand(ptx, 1), *b = operand(ptx, 2), *ha = t_hi(ts, a), *hb = t_hi(ts, b);
    Term *zero =
        t_pair(ts, t_lo(ts, b), max ? t_land(ts, ha, hb) : t_lor(ts, ha, hb)); /* of equal ones the signs */
    Term *v = t_ite(ts, t_fcmp(ts, BITS, max ? GREATER : LESS, a, b), a, b);
    v = t_ite(ts, t_fcmp(ts, BITS, EQUAL, a, b), zero, v);
    v = t_ite(ts, t_fcmp(ts, BITS, UNORDERED, b, b), a, v);
    return give(ptx, canonical(ptx, v, false));
}
bool prove_ptx_dmin(Ptx *ptx) { return wide_min_max(ptx, false); }
bool prove_ptx_dmax(Ptx *ptx) { return wide_min_max(ptx, true); }
bool prove_ptx_fmin(Ptx *ptx) { return give(ptx, min_max(ptx, "fmin", operand(ptx, 1), operand(ptx, 2))); }
bool prove_ptx_fmax(Ptx *ptx) { return give(ptx, min_max(ptx, "fmax", operand(ptx, 1), operand(ptx, 2))); }
static Term *is_nan(Ptx *ptx, Term *a) { return t_fcmp(&ptx->prover->ts, 32, 8, a, a); }
static bool xorsign(Ptx *ptx, const char *name) {
    Terms *ts = &ptx->prover->ts;
    Term *a = operand(ptx, 1), *b = operand(ptx, 2);
    Term *d = min_max(ptx, name, magnitude(ptx, a), magnitude(ptx, b));
    Term *sign = t_land(ts, t_lxor(ts, a, b), pv_k32(ptx, 0x80000000));
    return give(ptx, t_ite(ts, is_nan(ptx, d), d, t_lor(ts, d, sign)));
}
bool prove_ptx_fmin_xorsign(Ptx *ptx) { return xorsign(ptx, "fmin"); }
bool prove_ptx_fmax_xorsign(Ptx *ptx) { return xorsign(ptx, "fmax"); }

/* ---- what the built-in library computes ---- */
static bool library(Ptx *ptx, const char *name, Term *const *arg, unsigned n, bool wide) {
    Terms *ts = &ptx->prover->ts;
    prove_assume(ptx->prover, ptx->at, ASSUME_LIBRARY);
    Term *lo = t_app(ts, TO_UF, 32, 0, name, arg, n);
    Term *r = wide ? t_pair(ts, lo, t_app(ts, TO_UF, 32, 1 << 8, name, arg, n)) : maybe_flush(ptx, lo);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), r);
    return true;
}
static bool div64(Ptx *ptx, Term *a, Term *b) {
    Terms *ts = &ptx->prover->ts;
    Term *arg[5] = {t_lo(ts, a), t_hi(ts, a), t_lo(ts, b), t_hi(ts, b), pv_k32(ptx, rnd(ptx))};
    return library(ptx, term_name(ts, "__heddle_div_f64"), arg, 5, true);
}
/* Around MUFU: where the target's does not flush by itself. */
static bool mufu_flushes(const Ptx *ptx) {
    return isa_target_info(ptx->prover->flow->bin->target)->mufu_flushes;
}
static Term *mufu_flush(Ptx *ptx, Term *a) { return mufu_flushes(ptx) ? a : maybe_flush(ptx, a); }
static Term *is_small(Ptx *ptx, Term *a) {
    return t_fcmp(&ptx->prover->ts, 32, 1, magnitude(ptx, a), pv_k32(ptx, 0x00800000));
}
static Term *scale_small(Ptx *ptx, Term *b) {
    return t_ite(&ptx->prover->ts, is_small(ptx, b), pv_k32(ptx, 0x4b800000), pv_k32(ptx, 0x3f800000));
}
static Term *scale_both(Ptx *ptx, Term *b) {
    Term *big = t_fcmp(&ptx->prover->ts, 32, 4, magnitude(ptx, b), pv_k32(ptx, 0x7e800000));
    return t_ite(&ptx->prover->ts, big, pv_k32(ptx, 0x3e800000), scale_small(ptx, b));
}
static bool div_full(Ptx *ptx, Term *a, Term *b) {
    Term *k = scale_both(ptx, b), *u = fmul(ptx, a, k, ftz(ptx)), *v = fmul(ptx, b, k, ftz(ptx));
    pv_dst(ptx, pv_operand(ptx, 0), TY_F32, fmul(ptx, u, mufu(ptx, Mufu_RCP, v), ftz(ptx)));
    return true;
}
static bool div_approx(Ptx *ptx, Term *a, Term *b) {
    if (!ftz(ptx)) {
        Term *k = scale_small(ptx, b);
        a = fmul(ptx, a, k, false);
        b = fmul(ptx, b, k, false);
    }
    Term *r = mufu(ptx, Mufu_RCP, mufu_flush(ptx, b));
    return give(ptx, fmul(ptx, a, mufu_flushes(ptx) ? r : canonical(ptx, r, true), ftz(ptx)));
}
/* f32: correctly rounded, by the library's function for the rounding mode */
static bool rounded(Ptx *ptx, const char *name, Term *const *arg, unsigned n) {
    static const char *const modes[] = {"rn", "rm", "rp", "rz"};
    return library(ptx, term_name(&ptx->prover->ts, "__heddle_%s_%s_f32", name, modes[rnd(ptx)]), arg, n,
                   false);
}
/* The steps of docs/numerics.md section 6. */
static Term *scaled(Ptx *ptx, unsigned f, Term *a) {
    Terms *ts = &ptx->prover->ts;
    if (f == Mufu_TANH)
        return mufu(ptx, f, a);
    if (f == Mufu_RCP) {
        Term *k = scale_both(ptx, a);
        return fmul(ptx, mufu(ptx, f, fmul(ptx, a, k, false)), k, false);
    }
    Term *scale = is_small(ptx, a), *by = pv_k32(ptx, 0x4b800000);
    if (f == Mufu_EX2) {
        scale = t_fcmp(ts, 32, 1, a, pv_k32(ptx, 0xc2fc0000));
        by = pv_k32(ptx, 0x3f000000);
    }
    Term *r = mufu(ptx, f, t_ite(ts, scale, fmul(ptx, a, by, false), a)), *d;
    if (f == Mufu_LG2)
        d = fadd(ptx, r, pv_k32(ptx, 0xc1c00000), Rnd_RN, false, false);
    else
        d = fmul(ptx, r, f == Mufu_EX2 ? r : pv_k32(ptx, f == Mufu_RSQ ? 0x45800000 : 0x39800000), false);
    return t_ite(ts, scale, d, r);
}
static bool approximate(Ptx *ptx, unsigned f) {
    Term *a = operand(ptx, 1);
    return give(ptx, ftz(ptx) ? mufu_flush(ptx, mufu(ptx, f, mufu_flush(ptx, a))) : scaled(ptx, f, a));
}
/* of the high word, f64 */
static bool approximate_high(Ptx *ptx, unsigned f) {
    Terms *ts = &ptx->prover->ts;
    return give(ptx, t_pair(ts, ts->zero, mufu(ptx, f, t_hi(ts, operand(ptx, 1)))));
}
bool prove_ptx_fdiv(Ptx *ptx) {
    Term *a = operand(ptx, 1), *b = operand(ptx, 2);
    if (pv_type(ptx) == TY_F64)
        return div64(ptx, a, b);
    if (ptx->in->flags & PF_FULL)
        return div_full(ptx, a, b);
    if (ptx->in->flags & PF_APPROX)
        return div_approx(ptx, a, b);
    return rounded(ptx, "div", (Term *[]){maybe_flush(ptx, a), maybe_flush(ptx, b)}, 2);
}
bool prove_ptx_rcp(Ptx *ptx) {
    bool wide = pv_type(ptx) == TY_F64;
    if (ptx->in->flags & PF_APPROX)
        return wide ? approximate_high(ptx, Mufu_RCP64H) : approximate(ptx, Mufu_RCP);
    if (wide)
        return div64(ptx, k64(ptx, 0x3ffull << 52), operand(ptx, 1));
    return rounded(ptx, "div", (Term *[]){pv_k32(ptx, 0x3f800000), maybe_flush(ptx, operand(ptx, 1))}, 2);
}
bool prove_ptx_sqrt(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = operand(ptx, 1);
    if (pv_type(ptx) == TY_F64)
        return library(ptx, term_name(ts, "__heddle_sqrt_f64"),
                       (Term *[]){t_lo(ts, a), t_hi(ts, a), pv_k32(ptx, rnd(ptx))}, 3, true);
    if (ptx->in->flags & PF_APPROX)
        return approximate(ptx, Mufu_SQRT);
    return rounded(ptx, "sqrt", (Term *[]){maybe_flush(ptx, a)}, 1);
}
/* The quotient of 1 by the root, each to nearest: what docs/numerics.md has for rsqrt.approx.f64. */
static bool inverse_root(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = operand(ptx, 1), *mode = pv_k32(ptx, Rnd_RN);
    Term *arg[5] = {t_lo(ts, a), t_hi(ts, a), mode};
    const char *root = term_name(ts, "__heddle_sqrt_f64");
    Term *lo = t_app(ts, TO_UF, 32, 0, root, arg, 3), *hi = t_app(ts, TO_UF, 32, 1 << 8, root, arg, 3);
    arg[0] = ts->zero, arg[1] = pv_k32(ptx, 0x3ff00000), arg[2] = lo, arg[3] = hi, arg[4] = mode;
    return library(ptx, term_name(ts, "__heddle_div_f64"), arg, 5, true);
}
bool prove_ptx_rsqrt(Ptx *ptx) {
    if (pv_type(ptx) == TY_F64 && !ftz(ptx))
        return inverse_root(ptx);
    return pv_type(ptx) == TY_F64 ? approximate_high(ptx, Mufu_RSQ64H) : approximate(ptx, Mufu_RSQ);
}
bool prove_ptx_lg2(Ptx *ptx) { return approximate(ptx, Mufu_LG2); }
bool prove_ptx_ex2(Ptx *ptx) { return approximate(ptx, Mufu_EX2); }
bool prove_ptx_tanh(Ptx *ptx) { return approximate(ptx, Mufu_TANH); }
static bool of_turns(Ptx *ptx, unsigned f) {
    const char *name = suffixed(ptx, "fmul", Rnd_RZ, !mufu_flushes(ptx), false);
    Term *turns = prove_uf_sorted(ptx->prover, 32, name, operand(ptx, 1), pv_k32(ptx, 0x3e22f983));
    return give(ptx, mufu(ptx, f, turns));
}
bool prove_ptx_sin(Ptx *ptx) { return of_turns(ptx, Mufu_SIN); }
bool prove_ptx_cos(Ptx *ptx) { return of_turns(ptx, Mufu_COS); }
bool prove_ptx_copysign(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = pv_src(ptx, pv_operand(ptx, 1), pv_type(ptx)),
         *b = pv_src(ptx, pv_operand(ptx, 2), pv_type(ptx));
    Term *ha = a->width == 64 ? t_hi(ts, a) : a, *term = magnitude(ptx, b),
         *sign = t_land(ts, ha, pv_k32(ptx, 0x80000000));
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx),
           term->width == 64 ? t_pair(ts, t_lo(ts, term), t_lxor(ts, t_hi(ts, term), sign))
                             : t_lxor(ts, term, sign));
    return true;
}
bool prove_ptx_testp(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    bool wide = pv_type(ptx) == TY_F64;
    Term *a = pv_src(ptx, pv_operand(ptx, 1), pv_type(ptx)), *lo = wide ? t_lo(ts, a) : NULL;
    Term *h = t_land(ts, wide ? t_hi(ts, a) : a, pv_k32(ptx, 0x7fffffff));
    Term *inf = pv_k32(ptx, wide ? 0x7ff00000 : 0x7f800000),
         *norm = pv_k32(ptx, wide ? 0x00100000 : 0x00800000);
    Term *finite = t_ult(ts, h, inf), *infinite = t_eq(ts, h, inf), *any = h;
    if (wide) {
        infinite = t_and(ts, infinite, t_eq(ts, lo, ts->zero));
        any = t_lor(ts, h, lo);
    }
    Term *subnormal = t_and(ts, t_ult(ts, h, norm), t_not(ts, t_eq(ts, any, ts->zero))), *r;
    switch (ptx->in->sub) {
    case SUB_FINITE: r = finite; break;
    case SUB_INFINITE: r = infinite; break;
    case SUB_NUMBER: r = t_or(ts, finite, infinite); break;
    case SUB_NOTANUMBER: r = t_and(ts, t_not(ts, finite), t_not(ts, infinite)); break;
    case SUB_NORMAL: r = t_and(ts, finite, t_not(ts, subnormal)); break;
    default: r = subnormal; break;
    }
    pv_dst(ptx, pv_operand(ptx, 0), TY_PRED, r);
    return true;
}

/* ---- cvt ---- */
static bool is_float(PtxType t) { return t == TY_F16 || t == TY_BF16 || t == TY_F32 || t == TY_F64; }
static bool is_int(PtxType t) {
    PtxTypeClass c = ptx_type_class(t);
    return (c == TC_SIGNED || c == TC_UNSIGNED) && t != TY_U16X2 && t != TY_S16X2;
}
static unsigned fsize(PtxType t) {
    return t == TY_F16 ? FSize_F16 : t == TY_BF16 ? FSize_BF16 : t == TY_F64 ? FSize_F64 : FSize_F32;
}
static unsigned isize(PtxType t) {
    switch (pv_bytes(t)) {
    case 1: return ISize_B8;
    case 2: return ISize_B16;
    case 4: return ISize_B32;
    default: return ISize_B64;
    }
}
static bool integral(const Ptx *ptx, unsigned *r) {
    switch (ptx->in->rnd) {
    case RND_RNI: *r = IRnd_RN; return true;
    case RND_RZI: *r = IRnd_TRUNC; return true;
    case RND_RMI: *r = IRnd_FLOOR; return true;
    case RND_RPI: *r = IRnd_CEIL; return true;
    default: return false;
    }
}
static uint64_t max_of(PtxType t) {
    unsigned n = pv_bytes(t) * 8 - pv_signed(t);
    return n == 64 ? UINT64_MAX : (1ull << n) - 1;
}
static uint64_t min_of(PtxType t) { return pv_signed(t) ? ~max_of(t) : 0; }

static Term *saturate(Ptx *ptx, Term *term, PtxType d, PtxType t) {
    Terms *ts = &ptx->prover->ts;
    bool sg = pv_signed(t);
    if (sg && (!pv_signed(d) || pv_bytes(d) < pv_bytes(t))) {
        Term *m = t_const(ts, term->width, min_of(d));
        term = term->width == 32 ? t_max(ts, true, term, m) : t_ite(ts, t_slt(ts, m, term), term, m);
    }
    if (max_of(d) < max_of(t)) {
        Term *m = t_const(ts, term->width, max_of(d));
        term = term->width == 32 ? t_min(ts, sg, term, m)
                                 : t_ite(ts, sg ? t_slt(ts, term, m) : t_ult(ts, term, m), term, m);
    }
    return term;
}
static bool int_to_int(Ptx *ptx, PtxType d, PtxType t) {
    Terms *ts = &ptx->prover->ts;
    Term *term = pv_src_ext(ptx, pv_operand(ptx, 1), t);
    if (ptx->in->flags & PF_SAT)
        term = saturate(ptx, term, d, t);
    if (pv_bytes(d) == 8 && term->width == 32)
        term = pv_signed(t) ? t_sext(ts, term) : t_zext(ts, term);
    else if (pv_bytes(d) < 8 && term->width == 64)
        term = t_lo(ts, term);
    pv_dst(ptx, pv_operand(ptx, 0), d, term);
    return true;
}
static Term *pack_halves(Ptx *ptx, bool bf, Term *hi, Term *lo) {
    Terms *ts = &ptx->prover->ts;
    Term *arg[3] = {hi, lo, ts->zero};
    bool relu = ptx->in->flags & PF_RELU;
    return prove_uf(ptx->prover, 32,
                    term_name(ts, "f2fp.%u.%u.%u%s", bf ? F2fpType_BF16 : F2fpType_F16, rnd(ptx), relu,
                              ptx->in->flags & PF_SATFINITE ? ".satfinite" : ""),
                    arg, 3);
}
/* Between +0 and 1; a NaN is 0. */
static Term *saturated(Ptx *ptx, Term *r) {
    enum { LESS = 1, GREATER = 4, BITS = 64 };
    Terms *ts = &ptx->prover->ts;
    Term *one = k64(ptx, 0x3ffull << 52), *zero = k64(ptx, 0);
    Term *below = t_fcmp(ts, BITS, LESS, r, one), *above = t_fcmp(ts, BITS, GREATER, r, zero);
    return t_ite(ts, above, t_ite(ts, below, r, one), zero);
}
static void finish_conversion(Ptx *ptx, PtxType d, Term *r, bool flush) {
    if ((ptx->in->flags & PF_SAT) && d == TY_F32)
        r = fadd(ptx, r, pv_k32(ptx, 0x80000000), Rnd_RN, flush, true);
    else if ((ptx->in->flags & PF_SAT) && d == TY_F64)
        r = saturated(ptx, r);
    else if ((ptx->in->flags & PF_SAT) && d == TY_F16)
        r = pv_half_canonical(ptx, false, ".sat", r);
    else if (ptx->in->flags & PF_SAT)
        pv_fault(ptx, "this saturating conversion is not modelled");
    else if (flush && d == TY_F32)
        r = canonical(ptx, r, true);
    pv_dst(ptx, pv_operand(ptx, 0), d, r);
}
static const char *conversion(Ptx *ptx, PtxType d, PtxType t, unsigned r) {
    return term_name(&ptx->prover->ts, "f2f.%u.%u.%u", fsize(d), fsize(t), r);
}
static Term *wide_bf16(Ptx *ptx, Term *a) { return t_shl(&ptx->prover->ts, a, pv_k32(ptx, 16)); }
/* x, with an odd last bit where it is not exact: so that rounding it to bf16 is the only rounding. */
static Term *made_odd(Ptx *ptx, Term *x, Term *exact) {
    Terms *ts = &ptx->prover->ts;
    return t_ite(ts, exact, x, t_lor(ts, x, pv_k32(ptx, 1)));
}
/* What rounds to bf16 as the f64 does (docs/numerics.md). */
static Term *odd_f32(Ptx *ptx, Term *a) {
    enum { EQUAL = 2, LESS = 1, GREATER = 4, UNORDERED = 8 };
    Terms *ts = &ptx->prover->ts;
    Term *x = uf1(ptx, 32, conversion(ptx, TY_F32, TY_F64, Rnd_RZ), a);
    Term *back = uf1(ptx, 64, conversion(ptx, TY_F64, TY_F32, Rnd_RN), x);
    return made_odd(ptx, x, t_not(ts, t_fcmp(ts, 64, LESS | GREATER | UNORDERED, back, a)));
}
static bool float_to_float(Ptx *ptx, PtxType d, PtxType t) {
    Terms *ts = &ptx->prover->ts;
    unsigned r = 0, fs = fsize(t), fd = fsize(d);
    bool is_integral = integral(ptx, &r), flushes = ftz(ptx);
    Term *a = pv_src(ptx, pv_operand(ptx, 1), t);
    if (t == TY_BF16 && d == TY_F32 && !is_integral) { /* bits move, also of a NaN */
        finish_conversion(ptx, d, wide_bf16(ptx, a), ftz(ptx));
        return true;
    }
    if (d == t && d != TY_F32 && d != TY_F64 && !is_integral) { /* the value, a NaN made canonical */
        const char *mods = d == TY_F16 && (ptx->in->flags & PF_SAT) ? ".sat" : "";
        pv_dst(ptx, pv_operand(ptx, 0), d, pv_half_canonical(ptx, d == TY_BF16, mods, a));
        return true;
    }
    if (t == TY_BF16) {
        a = wide_bf16(ptx, a);
        if (is_integral && d == TY_BF16) { /* of a bf16 it is one */
            a = uf1(ptx, 32, term_name(ts, "frnd.%u.%u", FSize_F32, r), a);
            finish_conversion(ptx, d, pack_halves(ptx, true, ts->zero, a), false);
            return true;
        }
        if (is_integral)
            return false;
        t = TY_F32;
        fs = fsize(t);
    } else if (d == TY_BF16 && t != TY_F32) {
        a = t == TY_F64 ? odd_f32(ptx, a) : uf1(ptx, 32, conversion(ptx, TY_F32, TY_F16, Rnd_RN), a);
        t = TY_F32;
        fs = fsize(t);
        flushes = false;
    }
    if (is_integral) {
        if (d != t)
            return false;
        finish_conversion(
            ptx, d,
            uf1(ptx, d == TY_F64 ? 64 : 32, term_name(ts, "frnd.%u.%u%s", fd, r, ftz(ptx) ? ".ftz" : ""), a),
            false);
        return true;
    }
    if (d == t) {
        if (d == TY_F32)
            pv_dst(ptx, pv_operand(ptx, 0), d,
                   fadd(ptx, a, pv_k32(ptx, 0x80000000), Rnd_RN, ftz(ptx), ptx->in->flags & PF_SAT));
        else
            finish_conversion(ptx, d, canonical(ptx, a, false), false);
        return true;
    }
    if (flushes && t == TY_F32)
        a = canonical(ptx, a, true);
    bool packs = rnd(ptx) == Rnd_RN || rnd(ptx) == Rnd_RZ;
    if (packs && t == TY_F32 &&
        (d == TY_BF16 || (d == TY_F16 && isa_target_has(ptx->prover->flow->bin->target, OT_F2FP)))) {
        finish_conversion(ptx, d, pack_halves(ptx, d == TY_BF16, ts->zero, a), false);
        return true;
    }
    if (ptx->in->flags & (PF_RELU | PF_SATFINITE))
        return false;
    unsigned round = d == TY_F64 ? Rnd_RN : rnd(ptx); /* what is exact is the same for all */
    finish_conversion(ptx, d,
                      uf1(ptx, d == TY_F64 ? 64 : 32, term_name(ts, "f2f.%u.%u.%u", fd, fs, round), a),
                      ftz(ptx) && d == TY_F32 && t == TY_F64);
    return true;
}
/* Truncated to f32, what was lost kept as an odd last bit, rounded (docs/numerics.md). */
static bool int_to_bf16(Ptx *ptx, PtxType t) {
    Terms *ts = &ptx->prover->ts;
    unsigned sign = pv_signed(t) ? CvtSign_S : CvtSign_U;
    Term *a = pv_src_ext(ptx, pv_operand(ptx, 1), t);
    unsigned size = a->width == 64 ? ISize_B64 : ISize_B32;
    Term *x = uf1(ptx, 32, term_name(ts, "i2f.%u.%u.%u.%u", sign, size, FSize_F32, Rnd_RZ), a);
    Term *back = uf1(ptx, a->width, term_name(ts, "f2i.%u.%u.%u.%u", sign, size, FSize_F32, IRnd_TRUNC), x);
    x = made_odd(ptx, x, t_eq(ts, back, a));
    if (rnd(ptx) == Rnd_RN || rnd(ptx) == Rnd_RZ)
        x = pack_halves(ptx, true, ts->zero, x);
    else
        x = uf1(ptx, 32, term_name(ts, "f2f.%u.%u.%u", FSize_BF16, FSize_F32, rnd(ptx)), x);
    finish_conversion(ptx, TY_BF16, x, false);
    return true;
}
bool prove_ptx_cvt(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    PtxType d = pv_type(ptx), t = (PtxType)ptx->in->type[1];
    unsigned r;
    if ((d == TY_F16X2 || d == TY_BF16X2) && t == TY_F32 && ptx->in->noperands == 3) {
        Term *hi = pv_src(ptx, pv_operand(ptx, 1), t), *lo = pv_src(ptx, pv_operand(ptx, 2), t);
        pv_dst(ptx, pv_operand(ptx, 0), d, pack_halves(ptx, d == TY_BF16X2, hi, lo));
        return true;
    }
    if (is_int(d) && is_int(t))
        return int_to_int(ptx, d, t);
    if (is_float(d) && is_float(t))
        return float_to_float(ptx, d, t);
    if (is_int(d) && is_float(t) && integral(ptx, &r)) {
        Term *a = pv_src(ptx, pv_operand(ptx, 1), t);
        if (t == TY_BF16) {
            a = wide_bf16(ptx, a);
            t = TY_F32;
        }
        const char *name = term_name(ts, "f2i.%u.%u.%u.%u%s", pv_signed(d) ? CvtSign_S : CvtSign_U, isize(d),
                                     fsize(t), r, ftz(ptx) ? ".ftz" : "");
        pv_dst(ptx, pv_operand(ptx, 0), d, uf1(ptx, pv_bytes(d) == 8 ? 64 : 32, name, a));
        return true;
    }
    if (d == TY_BF16 && is_int(t))
        return int_to_bf16(ptx, t);
    if (is_float(d) && is_int(t)) {
        Term *a = pv_src_ext(ptx, pv_operand(ptx, 1), t);
        const char *name = term_name(ts, "i2f.%u.%u.%u.%u", pv_signed(t) ? CvtSign_S : CvtSign_U,
                                     a->width == 64 ? ISize_B64 : ISize_B32, fsize(d), rnd(ptx));
        finish_conversion(ptx, d, uf1(ptx, d == TY_F64 ? 64 : 32, name, a), false);
        return true;
    }
    return false;
}
