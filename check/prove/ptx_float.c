/* Floating point and conversions of PTX: uninterpreted operations, named by what they do. The compositions
 * that stand for approximate functions are those of docs/numerics.md. PTX ISA 9.7.3, 9.7.9.21.
 * SPDX-License-Identifier: MIT */
#include "check/prove/ptx.h"

static PtxType ty(const Ptx *x) { return (PtxType)x->in->type[0]; }
static const PtxOperand *op(const Ptx *x, unsigned i) { return &x->in->operands[i]; }
static bool ftz(const Ptx *x) { return x->in->flags & PF_FTZ; }
static Term *k32(Ptx *x, uint64_t v) { return t_const(&x->p->ts, 32, v); }
static Term *k64(Ptx *x, uint64_t v) { return t_const(&x->p->ts, 64, v); }

static unsigned rnd(const Ptx *x) {
    return x->in->rnd == RND_RZ   ? Rnd_RZ
           : x->in->rnd == RND_RM ? Rnd_RM
           : x->in->rnd == RND_RP ? Rnd_RP
                                  : Rnd_RN;
}
static Term *uf1(Ptx *x, unsigned width, const char *name, Term *a) {
    return prove_uf(x->p, width, name, &a, 1);
}
static const char *suffixed(Ptx *x, const char *name, unsigned r, bool flush, bool sat) {
    return term_name(&x->p->ts, "%s.%u%s%s", name, r, flush ? ".ftz" : "", sat ? ".sat" : "");
}
static Term *negate(Ptx *x, Term *a) {
    Terms *ts = &x->p->ts;
    if (a->width == 32)
        return t_lxor(ts, a, k32(x, 0x80000000));
    return t_pair(ts, t_lo(ts, a), t_lxor(ts, t_hi(ts, a), k32(x, 0x80000000)));
}
static Term *magnitude(Ptx *x, Term *a) {
    Terms *ts = &x->p->ts;
    if (a->width == 32)
        return t_land(ts, a, k32(x, 0x7fffffff));
    return t_pair(ts, t_lo(ts, a), t_land(ts, t_hi(ts, a), k32(x, 0x7fffffff)));
}
static Term *add(Ptx *x, Term *a, Term *b, unsigned r, bool flush, bool sat) {
    return a->width == 64 ? prove_uf_sorted(x->p, 64, suffixed(x, "dadd", r, false, false), a, b)
                          : prove_uf_sorted(x->p, 32, suffixed(x, "fadd", r, flush, sat), a, b);
}
static Term *times(Ptx *x, Term *a, Term *b, bool flush) {
    return prove_uf_sorted(x->p, 32, suffixed(x, "fmul", Rnd_RN, flush, false), a, b);
}
/* x + -0: a NaN becomes the canonical one, a subnormal zero if it is flushed */
static Term *canonical(Ptx *x, Term *a, bool flush) {
    return add(x, a, a->width == 64 ? k64(x, 1ull << 63) : k32(x, 0x80000000), Rnd_RN, flush, false);
}
static Term *maybe_flush(Ptx *x, Term *a) {
    if (!ftz(x))
        return a;
    if (t_is_const(a) && !(a->k & 0x7f800000)) /* a literal flushes at once */
        return k32(x, a->k & 0x80000000);
    return canonical(x, a, true);
}
static Term *mufu(Ptx *x, unsigned f, Term *a) { return uf1(x, 32, term_name(&x->p->ts, "mufu.%u", f), a); }

static bool arithmetic(Ptx *x) {
    Prover *p = x->p;
    PtxType t = ty(x);
    bool sat = x->in->flags & PF_SAT, wide = t == TY_F64;
    Term *a = pv_src(x, op(x, 1), t), *b = x->in->noperands > 2 ? pv_src(x, op(x, 2), t) : NULL, *r;
    switch (x->in->op) {
    case PTX_ADD: r = add(x, a, b, rnd(x), ftz(x), sat); break;
    case PTX_SUB: r = add(x, a, negate(x, b), rnd(x), ftz(x), sat); break;
    case PTX_MUL:
        r = prove_uf_sorted(p, wide ? 64 : 32, suffixed(x, wide ? "dmul" : "fmul", rnd(x), ftz(x), sat), a,
                            b);
        break;
    case PTX_FMA:
    case PTX_MAD: {
        Term *arg[3] = {a, b, pv_src(x, op(x, 3), t)};
        if (a->id > b->id) {
            arg[0] = b;
            arg[1] = a;
        }
        r = prove_uf(p, wide ? 64 : 32, suffixed(x, wide ? "dfma" : "ffma", rnd(x), ftz(x), sat), arg, 3);
        break;
    }
    case PTX_NEG: r = canonical(x, negate(x, a), ftz(x)); break;
    case PTX_ABS: r = canonical(x, magnitude(x, a), ftz(x)); break;
    case PTX_MIN:
    case PTX_MAX:
        if (wide || x->in->noperands != 3 || (x->in->flags & (PF_XORSIGN_ABS | PF_RELU)))
            return false;
        r = prove_uf_sorted(p, 32,
                            term_name(&p->ts, "f%s%s%s", x->in->op == PTX_MIN ? "min" : "max",
                                      ftz(x) ? ".ftz" : "", x->in->flags & PF_NAN ? ".nan" : ""),
                            a, b);
        break;
    default: return false;
    }
    pv_dst(x, op(x, 0), t, r);
    return true;
}

/* ---- what the built-in library computes ---- */
static bool library(Ptx *x, const char *name, Term *const *arg, unsigned n, bool wide) {
    Terms *ts = &x->p->ts;
    Term *lo = t_app(ts, TO_UF, 32, 0, name, arg, n);
    Term *r = wide ? t_pair(ts, lo, t_app(ts, TO_UF, 32, 1 << 8, name, arg, n)) : maybe_flush(x, lo);
    pv_dst(x, op(x, 0), ty(x), r);
    return true;
}
static bool div64(Ptx *x, Term *a, Term *b) {
    Terms *ts = &x->p->ts;
    Term *arg[5] = {t_lo(ts, a), t_hi(ts, a), t_lo(ts, b), t_hi(ts, b), k32(x, rnd(x))};
    return library(x, term_name(ts, "__heddle_div_f64"), arg, 5, true);
}
static bool div_full(Ptx *x, Term *a, Term *b) {
    Terms *ts = &x->p->ts;
    Term *mag = magnitude(x, b);
    Term *small = t_fcmp(ts, 32, 1, mag, k32(x, 0x00800000)),
         *big = t_fcmp(ts, 32, 6, mag, k32(x, 0x7e800000));
    Term *k = t_ite(ts, big, k32(x, 0x3e800000), t_ite(ts, small, k32(x, 0x4b800000), k32(x, 0x3f800000)));
    Term *u = times(x, a, k, ftz(x)), *v = times(x, b, k, ftz(x));
    pv_dst(x, op(x, 0), TY_F32, times(x, u, maybe_flush(x, mufu(x, Mufu_RCP, maybe_flush(x, v))), ftz(x)));
    return true;
}
static bool division(Ptx *x) {
    Terms *ts = &x->p->ts;
    static const char *const r[] = {"rn", "rm", "rp", "rz"};
    bool root = x->in->op == PTX_SQRT, rcp = x->in->op == PTX_RCP;
    if (ty(x) != TY_F32 && ty(x) != TY_F64)
        return false;
    bool wide = ty(x) == TY_F64, approx = x->in->flags & PF_APPROX;
    Term *a = pv_src(x, op(x, 1), ty(x)), *b = x->in->noperands > 2 ? pv_src(x, op(x, 2), ty(x)) : a;
    if (rcp)
        a = wide ? k64(x, 0x3ffull << 52) : k32(x, 0x3f800000);
    if (wide && approx) {
        if (!rcp)
            return false;
        pv_dst(x, op(x, 0), TY_F64, t_pair(ts, ts->zero, mufu(x, Mufu_RCP64H, t_hi(ts, b))));
        return true;
    }
    if (wide && root) {
        Term *arg[3] = {t_lo(ts, a), t_hi(ts, a), k32(x, rnd(x))};
        return library(x, term_name(ts, "__heddle_sqrt_f64"), arg, 3, true);
    }
    if (wide)
        return div64(x, a, b);
    if (x->in->flags & PF_FULL)
        return div_full(x, a, b);
    if (approx && x->in->op == PTX_DIV) {
        Term *q = canonical(x, mufu(x, Mufu_RCP, maybe_flush(x, b)), true);
        pv_dst(x, op(x, 0), TY_F32, times(x, a, q, ftz(x)));
        return true;
    }
    if (approx) {
        pv_dst(x, op(x, 0), TY_F32, maybe_flush(x, mufu(x, root ? Mufu_SQRT : Mufu_RCP, maybe_flush(x, b))));
        return true;
    }
    Term *arg[2] = {root ? maybe_flush(x, a) : rcp ? a : maybe_flush(x, a), maybe_flush(x, b)};
    return library(x, term_name(ts, "__heddle_%s_%s_f32", root ? "sqrt" : "div", r[rnd(x)]), arg,
                   root ? 1 : 2, false);
}
static bool transcendental(Ptx *x) {
    if (ty(x) == TY_F64 && x->in->op == PTX_RSQRT && ftz(x)) { /* of the high words */
        Terms *ts = &x->p->ts;
        pv_dst(x, op(x, 0), TY_F64,
               t_pair(ts, ts->zero, mufu(x, Mufu_RSQ64H, t_hi(ts, pv_src(x, op(x, 1), TY_F64)))));
        return true;
    }
    if (ty(x) != TY_F32)
        return false;
    Term *a = pv_src(x, op(x, 1), TY_F32), *r;
    switch (x->in->op) {
    case PTX_SIN:
    case PTX_COS:
        r = mufu(x, x->in->op == PTX_SIN ? Mufu_SIN : Mufu_COS, times(x, a, k32(x, 0x3e22f983), ftz(x)));
        break;
    case PTX_LG2: r = mufu(x, Mufu_LG2, maybe_flush(x, a)); break;
    case PTX_EX2: r = mufu(x, Mufu_EX2, maybe_flush(x, a)); break;
    case PTX_TANH: r = mufu(x, Mufu_TANH, maybe_flush(x, a)); break;
    default: r = mufu(x, Mufu_RSQ, maybe_flush(x, a)); break;
    }
    pv_dst(x, op(x, 0), TY_F32, maybe_flush(x, r));
    return true;
}
static bool copy_sign(Ptx *x) {
    Terms *ts = &x->p->ts;
    Term *a = pv_src(x, op(x, 1), ty(x)), *b = pv_src(x, op(x, 2), ty(x));
    Term *ha = a->width == 64 ? t_hi(ts, a) : a, *m = magnitude(x, b),
         *sign = t_land(ts, ha, k32(x, 0x80000000));
    pv_dst(x, op(x, 0), ty(x),
           m->width == 64 ? t_pair(ts, t_lo(ts, m), t_lxor(ts, t_hi(ts, m), sign)) : t_lxor(ts, m, sign));
    return true;
}
static bool testp(Ptx *x) {
    Terms *ts = &x->p->ts;
    bool wide = ty(x) == TY_F64;
    Term *a = pv_src(x, op(x, 1), ty(x)), *lo = wide ? t_lo(ts, a) : NULL;
    Term *h = t_land(ts, wide ? t_hi(ts, a) : a, k32(x, 0x7fffffff));
    Term *inf = k32(x, wide ? 0x7ff00000 : 0x7f800000), *norm = k32(x, wide ? 0x00100000 : 0x00800000);
    Term *finite = t_ult(ts, h, inf), *infinite = t_eq(ts, h, inf), *any = h;
    if (wide) {
        infinite = t_and(ts, infinite, t_eq(ts, lo, ts->zero));
        any = t_lor(ts, h, lo);
    }
    Term *subnormal = t_and(ts, t_ult(ts, h, norm), t_not(ts, t_eq(ts, any, ts->zero))), *r;
    switch (x->in->sub) {
    case SUB_FINITE: r = finite; break;
    case SUB_INFINITE: r = infinite; break;
    case SUB_NUMBER: r = t_or(ts, finite, infinite); break;
    case SUB_NOTANUMBER: r = t_and(ts, t_not(ts, finite), t_not(ts, infinite)); break;
    case SUB_NORMAL: r = t_and(ts, finite, t_not(ts, subnormal)); break;
    default: r = subnormal; break;
    }
    pv_dst(x, op(x, 0), TY_PRED, r);
    return true;
}

/* ---- cvt ---- */
static bool is_float(PtxType t) { return t == TY_F16 || t == TY_BF16 || t == TY_F32 || t == TY_F64; }
static bool is_int(PtxType t) {
    PtxTypeClass c = ptx_type_class(t);
    return (c == TC_SIGNED || c == TC_UNSIGNED) && t != TY_U16X2 && t != TY_S16X2;
}
static unsigned fsize(PtxType t) { return t == TY_F16 ? FSize_F16 : t == TY_F64 ? FSize_F64 : FSize_F32; }
static unsigned isize(PtxType t) {
    switch (pv_bytes(t)) {
    case 1: return ISize_B8;
    case 2: return ISize_B16;
    case 4: return ISize_B32;
    default: return ISize_B64;
    }
}
static bool integral(const Ptx *x, unsigned *r) {
    switch (x->in->rnd) {
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

static Term *saturate(Ptx *x, Term *v, PtxType d, PtxType t) {
    Terms *ts = &x->p->ts;
    bool sg = pv_signed(t);
    if (sg && (!pv_signed(d) || pv_bytes(d) < pv_bytes(t))) {
        Term *m = t_const(ts, v->width, min_of(d));
        v = v->width == 32 ? t_max(ts, true, v, m) : t_ite(ts, t_slt(ts, m, v), v, m);
    }
    if (max_of(d) < max_of(t)) {
        Term *m = t_const(ts, v->width, max_of(d));
        v = v->width == 32 ? t_min(ts, sg, v, m) : t_ite(ts, sg ? t_slt(ts, v, m) : t_ult(ts, v, m), v, m);
    }
    return v;
}
static bool int_to_int(Ptx *x, PtxType d, PtxType t) {
    Terms *ts = &x->p->ts;
    Term *v = pv_src_ext(x, op(x, 1), t);
    if (x->in->flags & PF_SAT)
        v = saturate(x, v, d, t);
    if (pv_bytes(d) == 8 && v->width == 32)
        v = pv_signed(t) ? t_sext(ts, v) : t_zext(ts, v);
    else if (pv_bytes(d) < 8 && v->width == 64)
        v = t_lo(ts, v);
    pv_dst(x, op(x, 0), d, v);
    return true;
}
static Term *pack(Ptx *x, bool bf, Term *hi, Term *lo) {
    Terms *ts = &x->p->ts;
    Term *arg[3] = {hi, lo, ts->zero};
    bool relu = x->in->flags & PF_RELU;
    return prove_uf(x->p, 32, term_name(ts, "f2fp.%u.%u.%u", bf ? F2fpType_BF16 : F2fpType_F16, rnd(x), relu),
                    arg, 3);
}
static void finish(Ptx *x, PtxType d, Term *r, bool flush) {
    if ((x->in->flags & PF_SAT) && d == TY_F32)
        r = add(x, r, k32(x, 0x80000000), Rnd_RN, flush, true);
    else if (x->in->flags & PF_SAT)
        pv_fault(x, "this saturating conversion is not modelled");
    else if (flush && d == TY_F32)
        r = canonical(x, r, true);
    pv_dst(x, op(x, 0), d, r);
}
static bool float_to_float(Ptx *x, PtxType d, PtxType t) {
    Terms *ts = &x->p->ts;
    unsigned r, fs = fsize(t), fd = fsize(d);
    Term *a = pv_src(x, op(x, 1), t);
    if (t == TY_BF16 || (d == TY_BF16 && t != TY_F32))
        return false;
    if (integral(x, &r)) {
        if (d != t)
            return false;
        finish(x, d,
               uf1(x, d == TY_F64 ? 64 : 32, term_name(ts, "frnd.%u.%u%s", fd, r, ftz(x) ? ".ftz" : ""), a),
               false);
        return true;
    }
    if (d == t) {
        if (d == TY_F16)
            return false;
        if (d == TY_F32)
            pv_dst(x, op(x, 0), d, add(x, a, k32(x, 0x80000000), Rnd_RN, ftz(x), x->in->flags & PF_SAT));
        else
            finish(x, d, canonical(x, a, false), false);
        return true;
    }
    if (ftz(x) && t == TY_F32)
        a = canonical(x, a, true);
    if (t == TY_F32 && (d == TY_BF16 || (d == TY_F16 && isa_target_has(x->p->g->bin->target, OT_F2FP)))) {
        finish(x, d, pack(x, d == TY_BF16, ts->zero, a), false);
        return true;
    }
    if (x->in->flags & PF_RELU)
        return false;
    finish(x, d, uf1(x, d == TY_F64 ? 64 : 32, term_name(ts, "f2f.%u.%u.%u", fd, fs, rnd(x)), a),
           ftz(x) && d == TY_F32 && t == TY_F64);
    return true;
}
static bool cvt(Ptx *x) {
    Terms *ts = &x->p->ts;
    PtxType d = ty(x), t = (PtxType)x->in->type[1];
    unsigned r;
    if ((d == TY_F16X2 || d == TY_BF16X2) && t == TY_F32 && x->in->noperands == 3) {
        Term *hi = pv_src(x, op(x, 1), t), *lo = pv_src(x, op(x, 2), t);
        pv_dst(x, op(x, 0), d, pack(x, d == TY_BF16X2, hi, lo));
        return true;
    }
    if (is_int(d) && is_int(t))
        return int_to_int(x, d, t);
    if (is_float(d) && is_float(t))
        return float_to_float(x, d, t);
    if (is_int(d) && is_float(t) && t != TY_BF16 && integral(x, &r)) {
        const char *name = term_name(ts, "f2i.%u.%u.%u.%u%s", pv_signed(d) ? CvtSign_S : CvtSign_U, isize(d),
                                     fsize(t), r, ftz(x) ? ".ftz" : "");
        pv_dst(x, op(x, 0), d, uf1(x, pv_bytes(d) == 8 ? 64 : 32, name, pv_src(x, op(x, 1), t)));
        return true;
    }
    if (is_float(d) && d != TY_BF16 && is_int(t)) {
        Term *a = pv_src_ext(x, op(x, 1), t);
        const char *name = term_name(ts, "i2f.%u.%u.%u.%u", pv_signed(t) ? CvtSign_S : CvtSign_U,
                                     a->width == 64 ? ISize_B64 : ISize_B32, fsize(d), rnd(x));
        finish(x, d, uf1(x, d == TY_F64 ? 64 : 32, name, a), false);
        return true;
    }
    return false;
}

bool pv_float(Ptx *x) {
    PtxType t = ty(x);
    bool scalar = t == TY_F32 || t == TY_F64;
    switch (x->in->op) {
    case PTX_ADD:
    case PTX_SUB:
    case PTX_MUL:
    case PTX_FMA:
    case PTX_MAD:
    case PTX_NEG:
    case PTX_ABS:
    case PTX_MIN:
    case PTX_MAX: return scalar && arithmetic(x);
    case PTX_DIV:
    case PTX_RCP:
    case PTX_SQRT: return division(x);
    case PTX_RSQRT:
    case PTX_SIN:
    case PTX_COS:
    case PTX_LG2:
    case PTX_EX2:
    case PTX_TANH: return transcendental(x);
    case PTX_TESTP: return scalar && testp(x);
    case PTX_COPYSIGN: return scalar && copy_sign(x);
    case PTX_CVT: return cvt(x);
    default: return false;
    }
}
