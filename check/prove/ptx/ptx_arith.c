/* What integer, logic, comparison and selection instructions of PTX compute. PTX
 * ISA 9.7.1, 9.7.2, 9.7.6, 9.7.8.
 * SPDX-License-Identifier: MIT */
#include "check/prove/ptx/ptx.h"

static bool is_int(PtxType t) {
    PtxTypeClass c = ptx_type_class(t);
    return (c == TC_BITS || c == TC_UNSIGNED || c == TC_SIGNED) && t != TY_B128 && t != TY_U16X2 &&
           t != TY_S16X2;
}
static Term *ext(Ptx *x, unsigned i) { return pv_src_ext(x, pv_operand(x, i), pv_type(x)); }
static Term *src(Ptx *x, unsigned i) { return pv_src(x, pv_operand(x, i), pv_type(x)); }

/* ---- carries ---- */

/* a + b (+ carry), or a + ~b + 1 (or + carry): a subtraction carries where it does not borrow. *carry, NULL:
 * none comes in, becomes what goes out. */
static Term *add_word(Ptx *ptx, Term *a, Term *b, bool sub, Term **carry) {
    Terms *ts = &ptx->prover->ts;
    Term *addend = sub ? t_inv(ts, b) : b;
    Term *sum = t_add(ts, t_zext(ts, a), t_zext(ts, addend)), *d;
    if (*carry) {
        Term *in = t_carry(ts, *carry, ts->falsity);
        sum = t_add(ts, sum, t_zext(ts, in));
        d = t_add(ts, t_add(ts, a, addend), in); /* the word by itself, whatever is known of the carry */
    } else {
        if (sub)
            sum = t_add(ts, sum, t_const(ts, 64, 1));
        d = t_lo(ts, sum);
    }
    *carry = t_not(ts, t_ult(ts, t_hi(ts, sum), pv_k32(ptx, 1)));
    return d;
}

static bool add_carry(Ptx *ptx, Term *a, Term *b, bool sub, bool use) {
    Terms *ts = &ptx->prover->ts;
    Term *carry = use ? pv_value(ptx, ptx->prover->carry) : NULL, *d;
    if (a->width == 64) {
        Term *lo = add_word(ptx, t_lo(ts, a), t_lo(ts, b), sub, &carry);
        d = t_pair(ts, lo, add_word(ptx, t_hi(ts, a), t_hi(ts, b), sub, &carry));
    } else
        d = add_word(ptx, a, b, sub, &carry);
    if (ptx->in->flags & PF_CC)
        pv_set(ptx, ptx->prover->carry, carry);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), d);
    return true;
}

static bool saturating(Ptx *ptx, Term *a, Term *b, bool sub) {
    Terms *ts = &ptx->prover->ts;
    Term *sum = sub ? t_sub(ts, a, b) : t_add(ts, a, b);
    Term *u = t_lxor(ts, a, sum), *v = sub ? t_lxor(ts, a, b) : t_lxor(ts, b, sum);
    Term *over = t_slt(ts, t_land(ts, u, v), ts->zero);
    Term *limit = t_lxor(ts, t_ashr(ts, a, pv_k32(ptx, 31)), pv_k32(ptx, 0x7fffffff));
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), t_ite(ts, over, limit, sum));
    return true;
}

/* Halves of 16 bits, each by itself. */
static bool is_packed(PtxType t) { return t == TY_U16X2 || t == TY_S16X2; }
static Term *packed_sum(Ptx *ptx, Term *a, Term *b, bool sub) {
    Terms *ts = &ptx->prover->ts;
    Term *low = pv_k32(ptx, 0xffff), *high = pv_k32(ptx, 0xffff0000);
    Term *ah = t_land(ts, a, high), *bh = t_land(ts, b, high);
    return t_lxor(ts, t_land(ts, sub ? t_sub(ts, a, b) : t_add(ts, a, b), low),
                  t_land(ts, sub ? t_sub(ts, ah, bh) : t_add(ts, ah, bh), high));
}
static Term *packed_pick(Ptx *ptx, bool sign, Term *(*pick)(Terms *, bool, Term *, Term *), Term *a,
                         Term *b) {
    Terms *ts = &ptx->prover->ts;
    Term *by = pv_k32(ptx, 16);
    Term *lo = pick(ts, sign, sign ? t_sext_from(ts, a, 16) : t_zext_from(ts, a, 16),
                    sign ? t_sext_from(ts, b, 16) : t_zext_from(ts, b, 16));
    Term *hi = pick(ts, sign, sign ? t_ashr(ts, a, by) : t_lshr(ts, a, by),
                    sign ? t_ashr(ts, b, by) : t_lshr(ts, b, by));
    return t_prmt(ts, lo, hi, pv_k32(ptx, 0x5410));
}

static bool add_sub(Ptx *ptx, bool sub) {
    Terms *ts = &ptx->prover->ts;
    if (is_packed(pv_type(ptx))) {
        Term *x = pv_src(ptx, pv_operand(ptx, 1), TY_B32), *y = pv_src(ptx, pv_operand(ptx, 2), TY_B32);
        pv_dst(ptx, pv_operand(ptx, 0), TY_B32, packed_sum(ptx, x, y, sub));
        return true;
    }
    if (!is_int(pv_type(ptx)))
        return false;
    Term *a = src(ptx, 1), *b = src(ptx, 2);
    if (ptx->in->flags & PF_CC)
        return add_carry(ptx, a, b, sub, false);
    if (ptx->in->flags & PF_SAT)
        return pv_type(ptx) == TY_S32 && saturating(ptx, a, b, sub);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), sub ? t_sub(ts, a, b) : t_add(ts, a, b));
    return true;
}

bool prove_ptx_add(Ptx *ptx) { return add_sub(ptx, false); }
bool prove_ptx_sub(Ptx *ptx) { return add_sub(ptx, true); }
bool prove_ptx_addc(Ptx *ptx) {
    Term *a = src(ptx, 1), *b = src(ptx, 2);
    return add_carry(ptx, a, b, false, true);
}
bool prove_ptx_subc(Ptx *ptx) {
    Term *a = src(ptx, 1), *b = src(ptx, 2);
    return add_carry(ptx, a, b, true, true);
}

/* ---- products ---- */
/* Bits 64 to 127, in 32-bit digits; no partial sum exceeds 64 bits. */
static Term *high_product(Ptx *ptx, bool sg, Term *a, Term *b) {
    Terms *ts = &ptx->prover->ts;
    Term *a0 = t_zext(ts, t_lo(ts, a)), *a1 = t_zext(ts, t_hi(ts, a)), *b0 = t_zext(ts, t_lo(ts, b)),
         *b1 = t_zext(ts, t_hi(ts, b));
    Term *p = t_mul(ts, a0, b0), *t = t_add(ts, t_mul(ts, a0, b1), t_zext(ts, t_hi(ts, p)));
    Term *u = t_add(ts, t_mul(ts, a1, b0), t_zext(ts, t_lo(ts, t)));
    Term *h = t_add(ts, t_add(ts, t_mul(ts, a1, b1), t_zext(ts, t_hi(ts, t))), t_zext(ts, t_hi(ts, u)));
    if (!sg)
        return h;
    Term *sa = t_ashr(ts, t_hi(ts, a), pv_k32(ptx, 31)), *sb = t_ashr(ts, t_hi(ts, b), pv_k32(ptx, 31));
    h = t_sub(ts, h, t_pair(ts, t_land(ts, t_lo(ts, b), sa), t_land(ts, t_hi(ts, b), sa)));
    return t_sub(ts, h, t_pair(ts, t_land(ts, t_lo(ts, a), sb), t_land(ts, t_hi(ts, a), sb)));
}

static Term *product(Ptx *ptx, PtxType *result) {
    Terms *ts = &ptx->prover->ts;
    PtxType t = pv_type(ptx);
    bool sg = pv_signed(t);
    *result = t;
    if (!is_int(t))
        return NULL;
    if (pv_bytes(t) == 2) {
        Term *p = t_mul(ts, ext(ptx, 1), ext(ptx, 2));
        if (ptx->in->sub == SUB_WIDE)
            *result = sg ? TY_S32 : TY_U32;
        return ptx->in->sub == SUB_HI ? t_lshr(ts, p, pv_k32(ptx, 16)) : p;
    }
    Term *a = src(ptx, 1), *b = src(ptx, 2);
    if (pv_bytes(t) == 8) {
        if (ptx->in->sub == SUB_LO)
            return t_mul(ts, a, b);
        return ptx->in->sub == SUB_HI ? high_product(ptx, sg, a, b) : NULL;
    }
    if (ptx->in->sub == SUB_LO)
        return t_mul(ts, a, b);
    Term *p = sg ? t_mul(ts, t_sext(ts, a), t_sext(ts, b)) : t_mul(ts, t_zext(ts, a), t_zext(ts, b));
    if (ptx->in->sub == SUB_HI)
        return t_hi(ts, p);
    *result = sg ? TY_S64 : TY_U64;
    return p;
}
bool prove_ptx_mul(Ptx *x) {
    PtxType t;
    Term *p = product(x, &t);
    if (p)
        pv_dst(x, pv_operand(x, 0), t, p);
    return p;
}
bool prove_ptx_mad(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    PtxType t;
    if (!is_int(pv_type(ptx)))
        return false;
    Term *p = product(ptx, &t);
    if (!p)
        return false;
    Term *c = pv_src(ptx, pv_operand(ptx, 3), t);
    if (ptx->in->op == PTX_MADC || (ptx->in->flags & PF_CC))
        return add_carry(ptx, p, c, false, ptx->in->op == PTX_MADC);
    if (ptx->in->flags & PF_SAT)
        return saturating(ptx, p, c, false);
    pv_dst(ptx, pv_operand(ptx, 0), t, t_add(ts, p, c));
    return true;
}
bool prove_ptx_mul24(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    bool sg = pv_signed(pv_type(ptx));
    Term *a = src(ptx, 1), *b = src(ptx, 2);
    a = sg ? t_sext_from(ts, a, 24) : t_zext_from(ts, a, 24);
    b = sg ? t_sext_from(ts, b, 24) : t_zext_from(ts, b, 24);
    Term *p = sg ? t_mul(ts, t_sext(ts, a), t_sext(ts, b)) : t_mul(ts, t_zext(ts, a), t_zext(ts, b));
    Term *d = ptx->in->sub == SUB_HI ? t_lo(ts, t_shift64(ts, TO_LSHR64, p, pv_k32(ptx, 16))) : t_lo(ts, p);
    if (ptx->in->op == PTX_MAD24) {
        if (ptx->in->flags & PF_SAT)
            return saturating(ptx, d, src(ptx, 3), false);
        d = t_add(ts, d, src(ptx, 3));
    }
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), d);
    return true;
}

bool prove_ptx_div(Ptx *ptx) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    PtxType t = pv_type(ptx);
    if (!is_int(t))
        return false;
    bool rem = ptx->in->op == PTX_REM, sg = pv_signed(t), wide = pv_bytes(t) == 8;
    Term *a = ext(ptx, 1), *b = ext(ptx, 2);
    Term *other = !wide ? prove_division(ptx->prover, rem, sg, a, b) : NULL;
    if (!sg && !other && t_is_const(b) && b->k && !(b->k & (b->k - 1))) { /* as a shift or a mask */
        Term *n = pv_k32(ptx, (uint64_t)__builtin_ctzll(b->k)), *d;
        if (wide && rem)
            d = t_pair(ts, t_land(ts, t_lo(ts, a), pv_k32(ptx, (b->k - 1) & 0xffffffff)),
                       t_land(ts, t_hi(ts, a), pv_k32(ptx, (b->k - 1) >> 32)));
        else if (wide)
            d = t_shift64(ts, TO_LSHR64, a, n);
        else
            d = rem ? t_land(ts, a, pv_k32(ptx, b->k - 1)) : t_lshr(ts, a, n);
        pv_dst(ptx, pv_operand(ptx, 0), t, d);
        return true;
    }
    const char *name = term_name(ts, "__heddle_%s_%c%u", rem ? "rem" : "div", sg ? 's' : 'u', wide ? 64 : 32);
    Term *arg[4];
    uint32_t n = 0;
    arg[n++] = wide ? t_lo(ts, a) : a;
    if (wide)
        arg[n++] = t_hi(ts, a);
    arg[n++] = wide ? t_lo(ts, b) : b;
    if (wide)
        arg[n++] = t_hi(ts, b);
    prove_assume(ptx->prover, ptx->at, ASSUME_LIBRARY);
    if (other) {
        pv_dst(ptx, pv_operand(ptx, 0), t, other);
        return true;
    }
    Term *lo = t_app(ts, TO_UF, 32, 0, name, arg, n);
    pv_dst(ptx, pv_operand(ptx, 0), t,
           wide ? t_pair(ts, lo, t_app(ts, TO_UF, 32, 1 << 8, name, arg, n)) : lo);
    return true;
}

/* ---- one operand, min, max, bits ---- */
bool prove_ptx_neg(Ptx *ptx) {
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), t_scale(&ptx->prover->ts, ext(ptx, 1), ~0ull));
    return true;
}
bool prove_ptx_abs(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = ext(ptx, 1), *minus = t_scale(ts, a, ~0ull);
    Term *negative = a->width == 64 ? t_slt(ts, t_hi(ts, a), ts->zero) : t_slt(ts, a, ts->zero);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), t_ite(ts, negative, minus, a));
    return true;
}
static bool min_max(Ptx *ptx, Term *(*pick)(Terms *, bool, Term *, Term *)) {
    Terms *ts = &ptx->prover->ts;
    bool relu = ptx->in->flags & PF_RELU, sign = pv_signed(pv_type(ptx));
    if (is_packed(pv_type(ptx))) {
        Term *x = pv_src(ptx, pv_operand(ptx, 1), TY_B32), *y = pv_src(ptx, pv_operand(ptx, 2), TY_B32);
        Term *r = packed_pick(ptx, sign, pick, x, y);
        pv_dst(ptx, pv_operand(ptx, 0), TY_B32, relu ? packed_pick(ptx, true, t_max, r, ts->zero) : r);
        return true;
    }
    if (!is_int(pv_type(ptx)) || (relu && pv_type(ptx) != TY_S32))
        return false;
    Term *a = ext(ptx, 1), *b = ext(ptx, 2), *r = pick(ts, sign, a, b);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), relu ? t_max(ts, true, r, ts->zero) : r);
    return true;
}
bool prove_ptx_min(Ptx *ptx) { return min_max(ptx, t_min); }
bool prove_ptx_max(Ptx *ptx) { return min_max(ptx, t_max); }
bool prove_ptx_sad(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    bool sg = pv_signed(pv_type(ptx));
    Term *a = ext(ptx, 1), *b = ext(ptx, 2);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx),
           t_add(ts, t_sub(ts, t_max(ts, sg, a, b), t_min(ts, sg, a, b)), src(ptx, 3)));
    return true;
}
static Term *popc(Ptx *ptx, Term *a) { return t_app1(&ptx->prover->ts, TO_POPC, 32, a); }
static Term *clz(Ptx *ptx, Term *a) {
    return t_min(&ptx->prover->ts, false, t_flo(&ptx->prover->ts, a, true), pv_k32(ptx, 32));
}
bool prove_ptx_popc(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = src(ptx, 1);
    pv_dst(ptx, pv_operand(ptx, 0), TY_U32,
           a->width == 64 ? t_add(ts, popc(ptx, t_lo(ts, a)), popc(ptx, t_hi(ts, a))) : popc(ptx, a));
    return true;
}
bool prove_ptx_clz(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = src(ptx, 1), *d;
    if (a->width == 64) {
        Term *hi = t_hi(ts, a), *high = t_not(ts, t_eq(ts, hi, ts->zero));
        d = t_ite(ts, high, t_flo(ts, hi, true), t_add(ts, clz(ptx, t_lo(ts, a)), pv_k32(ptx, 32)));
    } else
        d = clz(ptx, a);
    pv_dst(ptx, pv_operand(ptx, 0), TY_U32, d);
    return true;
}
bool prove_ptx_brev(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = src(ptx, 1);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx),
           a->width == 64
               ? t_pair(ts, t_app1(ts, TO_BREV, 32, t_hi(ts, a)), t_app1(ts, TO_BREV, 32, t_lo(ts, a)))
               : t_app1(ts, TO_BREV, 32, a));
    return true;
}
bool prove_ptx_bfind(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = src(ptx, 1);
    bool wide = a->width == 64, sh = ptx->in->flags & PF_SHIFTAMT;
    Term *lo = wide ? t_lo(ts, a) : a, *hi = wide ? t_hi(ts, a) : a;
    if (pv_signed(pv_type(ptx))) {
        Term *s = t_ashr(ts, hi, pv_k32(ptx, 31));
        lo = t_lxor(ts, lo, s);
        hi = t_lxor(ts, hi, s);
    }
    Term *d = t_flo(ts, lo, sh);
    if (wide) {
        if (sh)
            d = t_ite(ts, t_eq(ts, lo, ts->zero), pv_k32(ptx, ~0u), t_add(ts, d, pv_k32(ptx, 32)));
        d = t_ite(ts, t_not(ts, t_eq(ts, hi, ts->zero)),
                  sh ? t_flo(ts, hi, sh) : t_add(ts, t_flo(ts, hi, sh), pv_k32(ptx, 32)), d);
    }
    pv_dst(ptx, pv_operand(ptx, 0), TY_U32, d);
    return true;
}

static Term *low_byte(Ptx *ptx, unsigned i) {
    return t_zext_from(&ptx->prover->ts, pv_src(ptx, pv_operand(ptx, i), TY_U32), 8);
}
bool prove_ptx_bfe(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = src(ptx, 1), *pos = low_byte(ptx, 2), *len = low_byte(ptx, 3), *d;
    bool sg = pv_signed(pv_type(ptx));
    if (a->width == 32) {
        d = t_field(ts, sg, sg ? t_ashr(ts, a, pos) : t_lshr(ts, a, pos), len);
    } else {
        d = t_shift64(ts, sg ? TO_ASHR64 : TO_LSHR64, a, pos);
        if (sg) {
            Term *k = t_sub(ts, pv_k32(ptx, 64), t_min(ts, false, len, pv_k32(ptx, 64)));
            d = t_shift64(ts, TO_ASHR64, t_shift64(ts, TO_SHL64, d, k), k);
        } else {
            Term *m = t_add(ts, t_shift64(ts, TO_SHL64, t_const(ts, 64, 1), len), t_const(ts, 64, ~0ull));
            d = t_pair(ts, t_land(ts, t_lo(ts, d), t_lo(ts, m)), t_land(ts, t_hi(ts, d), t_hi(ts, m)));
        }
    }
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), d);
    return true;
}
static Term *merge_bits(Ptx *ptx, Term *mask, Term *a, Term *b) { /* mask ? a : b, bit by bit */
    Terms *ts = &ptx->prover->ts;
    return t_lxor(ts, b, t_land(ts, mask, t_lxor(ts, b, a)));
}
bool prove_ptx_bfi(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = src(ptx, 1), *b = src(ptx, 2), *pos = low_byte(ptx, 3), *len = low_byte(ptx, 4), *d;
    if (a->width == 32) {
        d = merge_bits(ptx, t_shl(ts, t_ones(ts, len), pos), t_shl(ts, a, pos), b);
    } else {
        Term *m = t_add(ts, t_shift64(ts, TO_SHL64, t_const(ts, 64, 1), len), t_const(ts, 64, ~0ull)),
             *v = t_shift64(ts, TO_SHL64, a, pos);
        m = t_shift64(ts, TO_SHL64, m, pos);
        d = t_pair(ts, merge_bits(ptx, t_lo(ts, m), t_lo(ts, v), t_lo(ts, b)),
                   merge_bits(ptx, t_hi(ts, m), t_hi(ts, v), t_hi(ts, b)));
    }
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), d);
    return true;
}

/* ---- comparison ---- */
static bool is_half(PtxType t) { return t == TY_F16 || t == TY_BF16 || t == TY_F16X2 || t == TY_BF16X2; }
static Term *compare_terms(Ptx *ptx, PtxType t, const PtxOperand *oa, const PtxOperand *ob, unsigned half) {
    Terms *ts = &ptx->prover->ts;
    PtxCmp c = (PtxCmp)ptx->in->cmp;
    if (t == TY_F32 || t == TY_F64 || is_half(t)) {
        static const uint8_t outcomes[] = {
            [CMP_EQ] = 2,   [CMP_NE] = 5,   [CMP_LT] = 1,   [CMP_LE] = 3,  [CMP_GT] = 4,
            [CMP_GE] = 6,   [CMP_EQU] = 10, [CMP_NEU] = 13, [CMP_LTU] = 9, [CMP_LEU] = 11,
            [CMP_GTU] = 12, [CMP_GEU] = 14, [CMP_NUM] = 7,  [CMP_NAN] = 8};
        if (c >= sizeof outcomes || !outcomes[c])
            return NULL;
        if (is_half(t))
            return pv_half_compare(ptx, outcomes[c], t, oa, ob, half);
        unsigned kind = t == TY_F64 ? 64 : 32 | (ptx->in->flags & PF_FTZ ? 256u : 0);
        return t_fcmp(ts, kind, outcomes[c], pv_src(ptx, oa, t), pv_src(ptx, ob, t));
    }
    if (t == TY_PRED || !is_int(t))
        return NULL;
    bool sg = pv_signed(t) && c != CMP_LO && c != CMP_LS && c != CMP_HI && c != CMP_HS;
    Term *a = pv_src_ext(ptx, oa, t), *b = pv_src_ext(ptx, ob, t);
    switch (c) {
    case CMP_EQ: return t_eq(ts, a, b);
    case CMP_NE: return t_not(ts, t_eq(ts, a, b));
    case CMP_LT:
    case CMP_LO: return sg ? t_slt(ts, a, b) : t_ult(ts, a, b);
    case CMP_LE:
    case CMP_LS: return t_not(ts, sg ? t_slt(ts, b, a) : t_ult(ts, b, a));
    case CMP_GT:
    case CMP_HI: return sg ? t_slt(ts, b, a) : t_ult(ts, b, a);
    case CMP_GE:
    case CMP_HS: return t_not(ts, sg ? t_slt(ts, a, b) : t_ult(ts, a, b));
    default: return NULL;
    }
}
static Term *bop(Ptx *ptx, Term *p, Term *c) {
    Terms *ts = &ptx->prover->ts;
    return ptx->in->bop == BOP_OR    ? t_or(ts, p, c)
           : ptx->in->bop == BOP_XOR ? t_xor1(ts, p, c)
                                     : t_and(ts, p, c);
}
bool prove_ptx_setp(Ptx *ptx) {
    const PtxInsn *in = ptx->in;
    unsigned first = in->ndst;
    const PtxOperand *a = pv_operand(ptx, first), *b = pv_operand(ptx, first + 1);
    PtxType t = pv_type(ptx);
    Term *r = compare_terms(ptx, t, a, b, 0);
    if (!r)
        return false;
    Term *c =
        in->noperands > first + 2 ? pv_src(ptx, pv_operand(ptx, first + 2), TY_PRED) : ptx->prover->ts.truth;
    bool has = in->noperands > first + 2;
    bool packed = t == TY_F16X2 || t == TY_BF16X2; /* then the second result is the upper half's */
    Term *q = packed ? compare_terms(ptx, t, a, b, 1) : t_not(&ptx->prover->ts, r);
    pv_dst(ptx, pv_operand(ptx, 0), TY_PRED, has ? bop(ptx, r, c) : r);
    if (in->ndst > 1)
        pv_dst(ptx, pv_operand(ptx, 1), TY_PRED, has ? bop(ptx, q, c) : q);
    return true;
}
/* 9.7.6.1 and 9.7.7.1: 1.0 or all ones of the destination's type, in each half of a packed comparison. */
bool prove_ptx_set(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    PtxType to = pv_type(ptx), of = (PtxType)ptx->in->type[1];
    bool packed = of == TY_F16X2 || of == TY_BF16X2, narrow = packed || ptx_type_bytes(to) == 2;
    uint32_t one = to == TY_F32                       ? 0x3f800000
                   : to == TY_F16 || to == TY_F16X2   ? 0x3c00
                   : to == TY_BF16 || to == TY_BF16X2 ? 0x3f80
                   : narrow                           ? 0xffff
                                                      : 0xffffffff;
    Term *result = ts->zero;
    for (unsigned h = 0; h < (packed ? 2u : 1u); h++) {
        Term *r = compare_terms(ptx, of, pv_operand(ptx, 1), pv_operand(ptx, 2), h);
        if (!r)
            return false;
        if (ptx->in->noperands > 3)
            r = bop(ptx, r, pv_src(ptx, pv_operand(ptx, 3), TY_PRED));
        result = t_lxor(ts, result, t_ite(ts, r, pv_k32(ptx, one << (16 * h)), ts->zero));
    }
    pv_dst(ptx, pv_operand(ptx, 0), packed ? TY_B32 : narrow ? TY_B16 : to, result);
    return true;
}
bool prove_ptx_selp(Ptx *ptx) {
    ptx->run->guarded = true;
    Term *c = pv_src(ptx, pv_operand(ptx, 3), TY_PRED);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), t_ite(&ptx->prover->ts, c, src(ptx, 1), src(ptx, 2)));
    return true;
}
bool prove_ptx_slct(Ptx *ptx) {
    ptx->run->guarded = true;
    Terms *ts = &ptx->prover->ts;
    PtxType ct = (PtxType)ptx->in->type[1];
    Term *c = pv_src(ptx, pv_operand(ptx, 3), ct), *p;
    if (ct == TY_F32)
        p = t_fcmp(ts, 32 | (ptx->in->flags & PF_FTZ ? 256u : 0), 6, c, ts->zero);
    else
        p = t_not(ts, t_slt(ts, c, ts->zero));
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), t_ite(ts, p, src(ptx, 1), src(ptx, 2)));
    return true;
}

/* ---- logic and shifts ---- */
static Term *words(Ptx *ptx, Term *(*f)(Terms *, Term *, Term *), Term *a, Term *b) {
    Terms *ts = &ptx->prover->ts;
    if (a->width == 32)
        return f(ts, a, b);
    return t_pair(ts, f(ts, t_lo(ts, a), t_lo(ts, b)), f(ts, t_hi(ts, a), t_hi(ts, b)));
}
typedef Term *Pick(Terms *, Term *, Term *);
static bool logic(Ptx *ptx, Pick *of_preds, Pick *of_words) {
    Term *a = src(ptx, 1), *b = src(ptx, 2);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx),
           pv_type(ptx) == TY_PRED ? of_preds(&ptx->prover->ts, a, b) : words(ptx, of_words, a, b));
    return true;
}
bool prove_ptx_and(Ptx *ptx) { return logic(ptx, t_and, t_land); }
bool prove_ptx_or(Ptx *ptx) { return logic(ptx, t_or, t_lor); }
bool prove_ptx_xor(Ptx *ptx) { return logic(ptx, t_xor1, t_lxor); }
bool prove_ptx_not(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = src(ptx, 1);
    if (pv_type(ptx) == TY_PRED)
        a = t_not(ts, a);
    else
        a = a->width == 64 ? t_pair(ts, t_inv(ts, t_lo(ts, a)), t_inv(ts, t_hi(ts, a))) : t_inv(ts, a);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), a);
    return true;
}
bool prove_ptx_cnot(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = src(ptx, 1);
    if (a->width == 64)
        a = t_lor(ts, t_lo(ts, a), t_hi(ts, a));
    pv_dst(ptx, pv_operand(ptx, 0), TY_U32, t_ite(ts, t_eq(ts, a, ts->zero), pv_k32(ptx, 1), ts->zero));
    return true;
}
bool prove_ptx_lop3(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    unsigned first = ptx->in->ndst, n = ptx->in->noperands - first;
    if (pv_operand(ptx, first + 3)->kind != PO_IMM)
        return false;
    Term *d = t_lop3(
        ts, (unsigned)pv_operand(ptx, first + 3)->imm & 255, pv_src(ptx, pv_operand(ptx, first), TY_B32),
        pv_src(ptx, pv_operand(ptx, first + 1), TY_B32), pv_src(ptx, pv_operand(ptx, first + 2), TY_B32));
    if (n == 5 && ptx->in->ndst > 1) {
        Term *nz = t_not(ts, t_eq(ts, d, ts->zero)), *q = pv_src(ptx, pv_operand(ptx, first + 4), TY_PRED);
        pv_dst(ptx, pv_operand(ptx, 1), TY_PRED, ptx->in->bop == BOP_OR ? t_or(ts, nz, q) : t_and(ts, nz, q));
    }
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32, d);
    return true;
}
bool prove_ptx_shl(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = src(ptx, 1), *n = pv_src(ptx, pv_operand(ptx, 2), TY_U32);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx),
           a->width == 64 ? t_shift64(ts, TO_SHL64, a, n) : t_shl(ts, a, n));
    return true;
}
bool prove_ptx_shr(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = ext(ptx, 1), *n = pv_src(ptx, pv_operand(ptx, 2), TY_U32);
    bool sg = pv_signed(pv_type(ptx));
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx),
           a->width == 64 ? t_shift64(ts, sg ? TO_ASHR64 : TO_LSHR64, a, n)
           : sg           ? t_ashr(ts, a, n)
                          : t_lshr(ts, a, n));
    return true;
}
bool prove_ptx_shf(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *lo = pv_src(ptx, pv_operand(ptx, 1), TY_B32), *hi = pv_src(ptx, pv_operand(ptx, 2), TY_B32),
         *n = pv_src(ptx, pv_operand(ptx, 3), TY_U32);
    n = ptx->in->sub2 == SUB_WRAP ? t_land(ts, n, pv_k32(ptx, 31))
                                  : t_ite(ts, t_ult(ts, n, pv_k32(ptx, 32)), n, pv_k32(ptx, 32));
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32, t_funnel(ts, ptx->in->sub == SUB_L, lo, hi, n));
    return true;
}
