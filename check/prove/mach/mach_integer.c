/* Machine instructions that compute words and predicates from words: sums, products, shifts, comparisons,
 * bits; of the uniform data path too. Written again here by name, as in mach_ops.c. That a uniform register
 * gets one value for all lanes is another matter: check/prove/core/facts.c.
 * SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"

#define UMOD(OP, field) (uniform ? MOD(U##OP, field) : MOD(OP, field))

/* Carries of a sum of up to three words: how often 2^32 was reached. */
static Term *carried(Mach *mach, Term *sum, unsigned times) {
    Terms *ts = &mach->prover->ts;
    return t_not(ts, t_ult(ts, t_hi(ts, sum), mach_k32(mach, times)));
}

static void iadd3(Mach *mach, bool ext) {
    Terms *ts = &mach->prover->ts;
    Term *sum = t_const(ts, 64, 0);
    for (unsigned i = 0; i < 3; i++) {
        bool neg = mach->in->src[i].mods & OPM_NEG;
        Term *v = mach_plain(mach, i, 0, OPM_NEG);
        sum = t_add(ts, sum, t_zext(ts, neg ? t_inv(ts, v) : v));
        if (neg && !ext)
            sum = t_add(ts, sum, t_const(ts, 64, 1));
    }
    if (ext) {
        Term *p = mach_pred_at(mach, 3), *q = mach_pred_at(mach, 4);
        Term *carry = t_carry(ts, p, q);
        sum = t_add(ts, sum, t_zext(ts, carry));
        Term *r = carry; /* the word on its own: carries of the sum need not be known for it */
        for (unsigned i = 0; i < 3; i++) {
            Term *v = mach_plain(mach, i, 0, OPM_NEG);
            r = t_add(ts, r, mach->in->src[i].mods & OPM_NEG ? t_inv(ts, v) : v);
        }
        mach_put(mach, 0, 0, r);
    } else {
        mach_put(mach, 0, 0, t_lo(ts, sum));
    }
    mach_put_pred(mach, 1, carried(mach, sum, 1));
    mach_put_pred(mach, 2, carried(mach, sum, 2));
}

static void lea(Mach *mach, unsigned shift, bool hi, bool sx, bool ext) {
    Terms *ts = &mach->prover->ts;
    Term *a = mach_plain(mach, 0, 0, OPM_NEG), *b = mach_plain(mach, 1, 0, OPM_NEG),
         *s = t_scale(ts, a, 1ull << shift);
    if (hi)
        s = t_hi(ts, t_scale(ts, sx ? t_sext(ts, a) : t_pair(ts, a, mach_word(mach, 2, 0)), 1ull << shift));
    bool na = mach->in->src[0].mods & OPM_NEG, nb = mach->in->src[1].mods & OPM_NEG;
    if (na && nb) /* what its carry is, nobody says */
        mach_fault(mach, "LEA of two negated operands is not modelled");
    s = na ? t_inv(ts, s) : s;
    b = nb ? t_inv(ts, b) : b;
    Term *k = ext ? t_b2i(ts, mach_pred_at(mach, 4)) : mach_k32(mach, (na ? 1u : 0u) + (nb ? 1u : 0u));
    mach_put(mach, 0, 0, t_add(ts, t_add(ts, s, b), k));
    mach_put_pred(mach, 1,
                  carried(mach, t_add(ts, t_add(ts, t_zext(ts, s), t_zext(ts, b)), t_zext(ts, k)), 1));
}

static Term *wide(Mach *mach, unsigned i, bool sign) {
    Term *v = mach_int(mach, i, false);
    return sign ? t_sext(&mach->prover->ts, v) : t_zext(&mach->prover->ts, v);
}
static void imad(Mach *mach, bool ext) {
    Terms *ts = &mach->prover->ts;
    Term *sum =
        t_add(ts, t_mul(ts, mach_int(mach, 0, false), mach_int(mach, 1, false)), mach_int(mach, 2, ext));
    mach_put(mach, 0, 0, ext ? t_add(ts, sum, t_b2i(ts, mach_pred_at(mach, 3))) : sum);
}
/* Does x + y + carry, of 64 bits, reach 2^64? Word by word, as PTX adds them. */
static Term *carry_of_words(Mach *mach, Term *x, Term *y, Term *carry) {
    Terms *ts = &mach->prover->ts;
    Term *low = t_add(ts, t_zext(ts, t_lo(ts, x)), t_zext(ts, t_lo(ts, y))),
         *high = t_add(ts, t_zext(ts, t_hi(ts, x)), t_zext(ts, t_hi(ts, y)));
    Term *between = carried(mach, t_add(ts, low, t_zext(ts, carry)), 1);
    return carried(mach, t_add(ts, high, t_zext(ts, t_b2i(ts, between))), 1);
}
static void imad_wide(Mach *mach, bool sign, bool ext, bool high) {
    Terms *ts = &mach->prover->ts;
    bool negative = mach->in->src[2].mods & OPM_NEG;
    Term *c =
        mach->in->src[2].kind == OPK_IMM
            ? t_const(ts, 64,
                      sign ? (uint64_t)(int64_t)(int32_t)mach->in->src[2].value : mach->in->src[2].value)
            : mach_pair(mach, 2, OPM_NEG);
    mach->looked_src |= 1u << 2;
    Term *product = t_mul(ts, wide(mach, 0, sign), wide(mach, 1, sign));
    if (negative && ext) /* the complement */
        c = t_pair(ts, t_inv(ts, t_lo(ts, c)), t_inv(ts, t_hi(ts, c)));
    else if (negative)
        c = t_scale(ts, c, ~0ull);
    Term *r = t_add(ts, product, c), *in = ext ? t_b2i(ts, mach_pred_at(mach, 3)) : mach_k32(mach, 0);
    if (mach->in->ndst > 1 && mach->in->dst[1].kind == OPK_REG && mach->in->dst[1].value != REG_PT) {
        if (negative || sign)
            mach_fault(mach, "the carry of this product is not modelled");
        mach_put_pred(mach, 1, carry_of_words(mach, product, c, in));
    }
    r = t_add(ts, r, t_zext(ts, in));
    if (high)
        mach_put(mach, 0, 0, t_hi(ts, r));
    else
        mach_put64(mach, 0, r);
}

static void shf(Mach *mach, unsigned type, bool wrap, bool right, bool high) {
    Terms *ts = &mach->prover->ts;
    Term *lo = mach_word(mach, 0, 0), *n = mach_word(mach, 1, 0), *hi = mach_word(mach, 2, 0);
    bool words = type == ShfType_U32 || type == ShfType_S32,
         sign = type == ShfType_S32 || type == ShfType_S64;
    if (wrap)
        n = t_land(ts, n, mach_k32(mach, words ? 31 : 63));
    Term *r;
    if (words && !right && !high)
        r = t_shl(ts, lo, n);
    else if (words && right && high)
        r = sign ? t_ashr(ts, hi, n) : t_lshr(ts, hi, n);
    else {
        if (words && !wrap)
            n = t_ite(ts, t_ult(ts, n, mach_k32(mach, 32)), n, mach_k32(mach, 32));
        if (words && high != right) {
            mach_put(mach, 0, 0, t_funnel(ts, !right, lo, hi, n));
            return;
        }
        Term *v = t_shift64(ts, !right ? TO_SHL64 : sign ? TO_ASHR64 : TO_LSHR64, t_pair(ts, lo, hi), n);
        r = high ? t_hi(ts, v) : t_lo(ts, v);
    }
    mach_put(mach, 0, 0, r);
}

/* Of high words: `less` or, where they are equal, what was found of the low ones. GE and LE are what LT and
 * GT are not, as on the side of the PTX. */
static Term *with_low(Terms *ts, Term *less, Term *equal, Term *low) {
    return t_or(ts, less, t_and(ts, equal, low));
}

static void isetp(Mach *mach, unsigned cmp, bool sign, unsigned bop, bool ext) {
    Terms *ts = &mach->prover->ts;
    mach_cares(mach, bop);
    Term *a = mach_word(mach, 0, 0), *b = mach_word(mach, 1, 0), *low = ext ? mach_pred_at(mach, 3) : NULL;
    Term *eq = t_eq(ts, a, b), *lt = sign ? t_slt(ts, a, b) : t_ult(ts, a, b),
         *gt = sign ? t_slt(ts, b, a) : t_ult(ts, b, a);
    Term *le = t_not(ts, gt), *ge = t_not(ts, lt), *r = ts->falsity;
    switch (cmp) {
    case ICmp_LT: r = ext ? with_low(ts, lt, eq, low) : lt; break;
    case ICmp_LE: r = ext ? t_not(ts, with_low(ts, gt, eq, t_not(ts, low))) : le; break;
    case ICmp_GT: r = ext ? with_low(ts, gt, eq, low) : gt; break;
    case ICmp_GE: r = ext ? t_not(ts, with_low(ts, lt, eq, t_not(ts, low))) : ge; break;
    case ICmp_EQ: r = ext ? t_and(ts, eq, low) : eq; break;
    case ICmp_NE: r = ext ? t_or(ts, t_not(ts, eq), low) : t_not(ts, eq); break;
    case ICmp_T: r = ts->truth; break;
    default: break;
    }
    if (ext && (cmp == ICmp_T || cmp == ICmp_F))
        mach_fault(mach, "a comparison of high words that looks at none is not modelled");
    mach_put_compare(mach, bop, r, mach_pred_at(mach, 2));
}

static void minmax(Mach *mach, bool sign, Term *pp) {
    Terms *ts = &mach->prover->ts;
    Term *a = mach_word(mach, 0, 0), *b = mach_word(mach, 1, 0);
    mach_put(mach, 0, 0, t_ite(ts, pp, t_min(ts, sign, a, b), t_max(ts, sign, a, b)));
}

static void mach_lop3(Mach *mach, unsigned lut, bool pand) {
    Terms *ts = &mach->prover->ts;
    Term *r = t_lop3(ts, lut, mach_word(mach, 0, 0), mach_word(mach, 1, 0), mach_word(mach, 2, 0));
    mach_put(mach, 0, 0, r);
    Term *nz = t_not(ts, t_eq(ts, r, ts->zero)), *pp = mach_pred_at(mach, 3);
    mach_put_pred(mach, 1, pand ? t_and(ts, nz, pp) : t_or(ts, nz, pp));
}
static void plop3(Mach *mach, unsigned lut, unsigned lut2) {
    Terms *ts = &mach->prover->ts;
    Term *a = mach_pred_at(mach, 0), *b = mach_pred_at(mach, 1), *c = mach_pred_at(mach, 2);
    mach_put_pred(mach, 0, t_table3(ts, lut, a, b, c));
    mach_put_pred(mach, 1, t_table3(ts, lut2, a, b, c));
}

static void flo(Mach *mach, bool sign, bool sh) {
    Terms *ts = &mach->prover->ts;
    Term *v = mach_int(mach, 0, false);
    if (sign)
        v = t_lxor(ts, v, t_ashr(ts, v, mach_k32(mach, 31)));
    mach_put(mach, 0, 0, t_flo(ts, v, sh));
    mach_put_pred(mach, 1, t_not(ts, t_eq(ts, v, ts->zero)));
}

static void extend(Mach *mach, bool sign, bool wrap) {
    Terms *ts = &mach->prover->ts;
    Term *n = mach_word(mach, 1, 0), *a = mach_word(mach, 0, 0);
    if (wrap)
        n = t_land(ts, n, mach_k32(mach, 31));
    mach_put(mach, 0, 0, t_field(ts, sign, a, n));
}
static void bit_mask(Mach *mach, bool wrap) {
    Terms *ts = &mach->prover->ts;
    Term *a = mach_word(mach, 0, 0), *n = mach_word(mach, 1, 0);
    if (wrap) {
        a = t_land(ts, a, mach_k32(mach, 31));
        n = t_land(ts, n, mach_k32(mach, 31));
    }
    mach_put(mach, 0, 0, t_shl(ts, t_ones(ts, n), a));
}

static void i_abs(Mach *mach) {
    Terms *ts = &mach->prover->ts;
    Term *v = mach_int(mach, 0, false);
    mach_put(mach, 0, 0, t_ite(ts, t_slt(ts, v, ts->zero), t_scale(ts, v, ~0ull), v));
}

/* Predicates into bits of a byte of a word, and back. */
_Static_assert((int)P2R_mask == (int)UP2UR_mask && (int)R2P_mask == (int)UR2UP_mask,
               "of lanes or of the warp");
static uint32_t first_predicate(Mach *mach) {
    RegFile file;
    isa_named_predicates(mach->in, &file);
    mach->looked_src |= 1u << (mach->in->nsrc - 1);
    return file == RF_UP ? LOC_UP : LOC_P;
}
static void pack_predicates(Mach *mach, unsigned byte) {
    Terms *ts = &mach->prover->ts;
    uint32_t mask = mach->in->src[P2R_mask].value & 0xff, first = first_predicate(mach);
    Term *r = t_land(ts, mach_word(mach, 0, 0), mach_k32(mach, ~(mask << 8 * byte)));
    for (unsigned k = 0; k < 7; k++)
        if (mask >> k & 1)
            r = t_lxor(ts, r, t_shl(ts, t_b2i(ts, mach_get(mach, first + k)), mach_k32(mach, 8 * byte + k)));
    mach_put(mach, 0, 0, r);
}
static void unpack_predicates(Mach *mach, unsigned byte) {
    Terms *ts = &mach->prover->ts;
    uint32_t mask = mach->in->src[R2P_mask].value, first = first_predicate(mach);
    Term *word = mach_word(mach, 0, 0);
    for (unsigned k = 0; k < 7; k++)
        if (mask >> k & 1) {
            Term *bit = t_land(ts, word, mach_k32(mach, 1u << (8 * byte + k)));
            mach_set(mach, first + k, t_not(ts, t_eq(ts, bit, ts->zero)));
        }
}

bool mach_integer(Mach *mach) {
    const MachInst *in = mach->in;
    bool uniform = false;
    switch (in->optype) {
    case OT_UIADD3: uniform = true; /* fall through */
    case OT_IADD3: iadd3(mach, UMOD(IADD3, x)); return true;
    case OT_ULEA: uniform = true; /* fall through */
    case OT_LEA:
        mach->looked_src |= 1u << 3; /* the shift */
        lea(mach, in->src[3].value & 31, UMOD(LEA, hi), UMOD(LEA, sx32), UMOD(LEA, x));
        return true;
    case OT_ULOP3: uniform = true; /* fall through */
    case OT_LOP3: mach_lop3(mach, UMOD(LOP3, lut), UMOD(LOP3, pand)); return true;
    case OT_UPLOP3: uniform = true; /* fall through */
    case OT_PLOP3: plop3(mach, UMOD(PLOP3, lut), UMOD(PLOP3, lut2)); return true;
    case OT_UIMAD: uniform = true; /* fall through */
    case OT_IMAD:
        if (!uniform)
            (void)MOD(IMAD, sign); /* the low word has none */
        imad(mach, UMOD(IMAD, x));
        return true;
    case OT_IMAD_WIDE: imad_wide(mach, MOD(IMAD_WIDE, sign), MOD(IMAD_WIDE, x), false); return true;
    case OT_UIMAD_WIDE: imad_wide(mach, MOD(UIMAD_WIDE, sign), MOD(UIMAD_WIDE, x), false); return true;
    case OT_IMAD_HI: imad_wide(mach, MOD(IMAD_HI, sign), MOD(IMAD_HI, x), true); return true;
    case OT_USHF: uniform = true; /* fall through */
    case OT_SHF:
        shf(mach, UMOD(SHF, type), UMOD(SHF, wrap), UMOD(SHF, dir) == ShfDir_R, UMOD(SHF, hi));
        return true;
    case OT_ISETP:
        isetp(mach, MOD(ISETP, cmp), MOD(ISETP, sign) == ISign_S32, MOD(ISETP, bop), MOD(ISETP, ex));
        return true;
    case OT_UISETP:
        isetp(mach, MOD(UISETP, cmp), MOD(UISETP, sign) == ISign_S32, MOD(UISETP, bop), MOD(UISETP, ex));
        return true;
    case OT_IMNMX: minmax(mach, MOD(IMNMX, sign) == ISign_S32, mach_pred_at(mach, 2)); return true;
    case OT_VIMNMX:
        if (MOD(VIMNMX, type) > VimnmxType_S32 || MOD(VIMNMX, relu))
            return false;
        minmax(mach, MOD(VIMNMX, type) == VimnmxType_S32, mach_pred_at(mach, 2));
        return true;
    case OT_VIADD:
        if (MOD(VIADD, type) != ViaddType_S32)
            return false;
        mach_put(mach, 0, 0, t_add(&mach->prover->ts, mach_word(mach, 0, 0), mach_int(mach, 1, false)));
        return true;
    case OT_IABS: i_abs(mach); return true;
    case OT_FLO: flo(mach, MOD(FLO, sign) == ISign_S32, MOD(FLO, sh)); return true;
    case OT_UFLO: flo(mach, MOD(UFLO, sign) == ISign_S32, MOD(UFLO, sh)); return true;
    case OT_UBREV:
    case OT_BREV:
        mach_put(mach, 0, 0, t_app1(&mach->prover->ts, TO_BREV, 32, mach_word(mach, 0, 0)));
        return true;
    case OT_UPOPC:
    case OT_POPC:
        mach_put(mach, 0, 0, t_app1(&mach->prover->ts, TO_POPC, 32, mach_int(mach, 0, false)));
        return true;
    case OT_UPRMT:
        mach_put(
            mach, 0, 0,
            t_prmt(&mach->prover->ts, mach_word(mach, 0, 0), mach_word(mach, 2, 0), mach_word(mach, 1, 0)));
        return true;
    case OT_UP2UR: pack_predicates(mach, MOD(UP2UR, byte)); return true;
    case OT_UR2UP: unpack_predicates(mach, MOD(UR2UP, byte)); return true;
    case OT_P2R: pack_predicates(mach, MOD(P2R, byte)); return true;
    case OT_R2P: unpack_predicates(mach, MOD(R2P, byte)); return true;
    case OT_USGXT: extend(mach, MOD(USGXT, sign) == ISign_S32, MOD(USGXT, wrap)); return true;
    case OT_UBMSK: bit_mask(mach, MOD(UBMSK, wrap)); return true;
    case OT_SGXT: extend(mach, MOD(SGXT, sign) == ISign_S32, MOD(SGXT, wrap)); return true;
    case OT_BMSK: bit_mask(mach, MOD(BMSK, wrap)); return true;
    default: return false;
    }
}
