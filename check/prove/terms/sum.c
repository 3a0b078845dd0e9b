/* Terms: linear sums, shifts, register pairs. See check/prove/terms/term.h; bitwise.c has the bitwise
 * functions.
 *
 * Two computations are proved equal mostly without a solver: each is brought to a normal form as it is built,
 * equal terms are one node, so that equality is equality of pointers. Two normal forms do most of the work.
 *
 * Sums (Lin, TK_SUM): k + c1 * a1 + c2 * a2 + ..., modulo 2^32 or 2^64, entries in the order of their term's
 * number, no coefficient 0. Addition merges two lists; a shift left is a product with 2^n. In a sum of 64
 * bits an entry of 32 bits stands for its zero extension. IMAD and LEA, IADD3 and SHL come out the same:
 *     (x + 4 * y) + (8 - x)  =  8 + 4 * y
 * A pair of registers is a sum too: pair(lo, hi) = zext(lo) + 2^32 * hi. What the machine computes word by
 * word with a carry, PTX computes at once; both must become one sum of 64 bits:
 *     t_lo, t_hi    take a sum apart. The low word drops multiples of 2^32, the high word collects them; of
 *                   the rest it has the carry word HI(rest), an atom if nothing is known of it
 *     join_words    c * zext(lo(Y)) + c * 2^32 * hi(Y) is c * Y again
 *     join_carry    HI(S) + other entries, or their negative: the others may be high words whose low words
 *                   are in S
 * Example: R0:R1 + R2:R3 by IADD3 and IADD3.X. The low word is r0 + r2, the high word r1 + r3 + the carry,
 * HI(zext(r0) + zext(r2)). If r0 is lo(X), r1 hi(X), r2 lo(Y), r3 hi(Y), pair() of the two is X + Y.
 *
 * Where a list would grow beyond MAX_TERMS, ts->overflow says that terms are
 * no longer right, and what was to be proved counts as unknown.
 * SPDX-License-Identifier: MIT */
#include "check/prove/terms/rewrite.h"
#include "check/prove/terms/term_internal.h"
#include <string.h>

enum { MAX_TERMS = TERM_MOST_DECIDED };
#define LOW 0xffffffffull

/* ---- sums ---- */
typedef struct { /* k + sum of c * a; in 64-bit sums a 32-bit `a` is zero-extended */
    uint64_t k;
    unsigned n, width;
    TermPair t[MAX_TERMS];
} Lin;

static Term *lin_term(Terms *ts, Lin *lin);
static void lin_add(Terms *ts, Lin *lin, Term *term, uint64_t c);
static void lin_add_high(Terms *ts, Lin *lin, Term *term, uint64_t c);

/* Of a bitwise function what c leaves of it: 4 * (x & 0x3fffffff) is 4 * x, 4 * (x & 0xc0000000) is 0. */
static Term *unmasked(Terms *ts, Term *term, uint64_t c) {
    uint32_t kept = c & LOW ? (uint32_t)(LOW >> __builtin_ctzll(c)) : 0, masks = 0;
    if (term->kind != TK_XOR || term->k & kept)
        return term;
    for (uint32_t i = 0; i < term->n; i++)
        masks |= (uint32_t)term->c[i];
    if (!(masks & kept))
        return ts->zero;
    bool whole = term->n == 1 && term->a[0]->kind != TK_AND && !((masks ^ term_possible(term->a[0])) & kept);
    return whole ? term->a[0] : term;
}
static void lin_add_term(Terms *ts, Lin *lin, Term *a, uint64_t c) {
    c &= term_mask(lin->width);
    unsigned at = 0;
    while (at < lin->n && lin->t[at].t->id < a->id)
        at++;
    if (at < lin->n && lin->t[at].t == a) {
        c = (lin->t[at].c + c) & term_mask(lin->width);
        memmove(lin->t + at, lin->t + at + 1, (--lin->n - at) * sizeof *lin->t);
    }
    bool high = lin->width == 64 && a->width == 32 && !(c & LOW);
    if (!c)
        return;
    Term *seen = high ? unmasked(ts, a, c >> 32) : lin->width == 32 ? unmasked(ts, a, c) : a;
    if (seen != a) {
        if (high)
            lin_add_high(ts, lin, seen, c >> 32);
        else
            lin_add(ts, lin, seen, c);
        return;
    }
    if (lin->n == MAX_TERMS) {
        ts->overflow = true;
        return;
    }
    memmove(lin->t + at + 1, lin->t + at, (lin->n++ - at) * sizeof *lin->t);
    lin->t[at] = (TermPair){a, c};
}
bool term_is_inverse(const Term *term) {
    return term->kind == TK_SUM && term->width == 32 && term->c[0] >> 31 && term->c[0] != 0x80000000;
}
Term *term_complement(Terms *ts, Term *x) { return t_sub(ts, t_const(ts, 32, LOW), x); }

Term *term_extended(Terms *ts, const Term *shifted, unsigned *n) {
    if (shifted->kind != TK_APP || shifted->op != TO_ASHR || !t_is_const(shifted->a[1]) ||
        shifted->a[0]->kind != TK_SUM)
        return NULL;
    const Term *term = shifted->a[0];
    uint64_t low = (1ull << shifted->a[1]->k) - 1, bits = term->k;
    for (uint32_t i = 0; i < term->n; i++)
        bits |= term->c[i];
    if (bits & low)
        return NULL;
    *n = (unsigned)shifted->a[1]->k;
    Term *z = t_const(ts, 32, term->k >> *n);
    for (uint32_t i = 0; i < term->n; i++)
        z = t_add(ts, z, t_scale(ts, term->a[i], term->c[i] >> *n));
    return z;
}

/* Of a bitwise function and its complement only one is an entry: ~x is -x - 1. */
static bool complemented(const Term *term) { return term->kind == TK_XOR && term->k >> 31; }

/* l += c * x, x of the sum's width. */
/* x >> n, of which 2^n times is x without its low bits: that, or NULL. Of an atom, as what was loaded, alone:
 * of sums and mixtures the mask would go into each part. */
static Term *shifted_back(Terms *ts, Term *term, unsigned *n) {
    if (term->kind != TK_APP || term->op != TO_LSHR || !t_is_const(term->a[1]) || term->a[1]->k >= 32 ||
        (term->a[0]->kind != TK_APP && term->a[0]->kind != TK_VAR))
        return NULL;
    *n = (unsigned)term->a[1]->k;
    return t_land(ts, term->a[0], t_const(ts, 32, LOW << *n));
}
static void lin_add(Terms *ts, Lin *lin, Term *term, uint64_t c) {
    unsigned n;
    Term *z;
    if (lin->width == 32)
        term = unmasked(ts, term, c);
    if (term->kind == TK_CONST) {
        lin->k += c * term->k;
    } else if (term->kind == TK_SUM) {
        lin->k += c * term->k;
        for (uint32_t i = 0; i < term->n; i++)
            lin_add_term(ts, lin, term->a[i], c * term->c[i]);
    } else if (complemented(term) && lin->width == 32) {
        lin->k -= c;
        lin_add(ts, lin, t_inv(ts, term), 0 - c);
    } else if (lin->width == 32 && (z = term_extended(ts, term, &n)) && !(c & ((1ull << n) - 1))) {
        lin_add(ts, lin, z, c);
    } else if (lin->width == 32 && (z = shifted_back(ts, term, &n)) && !(c & ((1ull << n) - 1))) {
        lin_add(ts, lin, z, c >> n);
    } else {
        lin_add_term(ts, lin, term, c);
    }
}
/* A product, no bit of which the word loses. */
static bool fits_in_word(const Term *term) {
    return term->kind == TK_SUM && term->n == 1 && !term->k &&
           term->c[0] <= LOW / (term_possible(term->a[0]) | 1ull);
}
/* 64-bit l += c * zext(x) */
static void lin_add_low(Terms *ts, Lin *lin, Term *term, uint64_t c) {
    if (term->kind == TK_CONST) {
        lin->k += c * term->k;
        return;
    }
    if (term_is_inverse(term) || complemented(term)) {
        lin->k += c * LOW;
        term = term_is_inverse(term) ? term_complement(ts, term) : t_inv(ts, term);
        c = 0 - c;
    }
    if (fits_in_word(term))
        lin_add_term(ts, lin, term->a[0], c * term->c[0]);
    else
        lin_add_term(ts, lin, term, c);
}
/* 64-bit l += (c * x) << 32: carries between the parts of x fall off, so it is linear. */
static void lin_add_high(Terms *ts, Lin *lin, Term *term, uint64_t c) {
    term = unmasked(ts, term, c);
    if (term->kind == TK_SUM) {
        lin->k += (c * term->k) << 32;
        for (uint32_t i = 0; i < term->n; i++)
            lin_add_term(ts, lin, term->a[i], (c * term->c[i]) << 32);
    } else if (term->kind == TK_CONST) {
        lin->k += (c * term->k) << 32;
    } else if (complemented(term)) {
        lin->k -= c << 32;
        lin_add_high(ts, lin, t_inv(ts, term), 0 - c);
    } else {
        lin_add_term(ts, lin, term, c << 32);
    }
}

/* What `low`, a word or a multiple c * x of one, may be the low word of, with `high` as its high word, where
 * the shift that extends and the one that x has are one in `high`: sext(s >> m), c * sext(s >> m),
 * 2^j * zext((c / 2^j) * x), c * zext(x) where the shift of x has become one of what the highest bits of x
 * are; besides, a constant may stand in the bits that c leaves. NULL: nothing. */
static Term *shifted_whole(Terms *ts, Term *low, Term *high) {
    bool extends = high->kind == TK_APP && high->op == TO_ASHR;
    if (extends && low->kind == TK_APP && low->op == TO_ASHR && low->a[0] == high->a[0]) {
        Term *whole = t_sext(ts, low);
        return t_hi(ts, whole) == high ? whole : NULL;
    }
    if (low->kind != TK_SUM || low->width != 32 || low->n != 1 || !is_pow2(low->c[0]) || low->k >= low->c[0])
        return NULL;
    Term *x = low->a[0], *whole = NULL;
    bool same = extends && ((x->kind == TK_APP && x->op == TO_ASHR && x->a[0] == high->a[0]) ||
                            (x == high->a[0] && low->k));
    if (same)
        whole = t_scale(ts, t_sext(ts, x), low->c[0]);
    if (high->kind == TK_APP && high->op == TO_LSHR && t_is_const(high->a[1]) &&
        low->c[0] == 1ull << (32 - high->a[1]->k)) /* of x itself wholes_of knows it; x may be seen through */
        whole = t_scale(ts, t_zext(ts, x), low->c[0]);
    uint64_t j = high->kind == TK_XOR && high->n == 1 ? high->c[0] + 1 : 0; /* a mask of the lowest bits */
    if (is_pow2(j) && j <= low->c[0])
        whole = t_scale(ts, t_zext(ts, t_scale(ts, x, low->c[0] / j)), j);
    if (whole && low->k)
        whole = t_add(ts, whole, t_const(ts, 64, low->k));
    return whole && t_hi(ts, whole) == high ? whole : NULL;
}

enum { MOST_WHOLES = 3 };
/* The 64-bit terms that may have `high` as their high word; returns how many. */
static unsigned wholes_of(Terms *ts, const Lin *lin, Term *high, Term *out[MOST_WHOLES]) {
    unsigned n = 0;
    if (high->kind == TK_HI)
        out[n++] = high->a[0];
    if (high->kind == TK_APP && (high->op == TO_ASHR || high->op == TO_LSHR) && t_is_const(high->a[1])) {
        bool sign = high->op == TO_ASHR;
        if (sign && high->a[1]->k == 31)
            out[n++] = t_sext(ts, high->a[0]);
        out[n++] =
            t_scale(ts, sign ? t_sext(ts, high->a[0]) : t_zext(ts, high->a[0]), 1ull << (32 - high->a[1]->k));
    }
    for (unsigned j = 0; j < lin->n && n < MOST_WHOLES; j++) {
        Term *whole = shifted_whole(ts, lin->t[j].t, high);
        if (whole)
            out[n++] = whole;
    }
    return n;
}

/* c * zext(lo(Y)) + c * 2^32 * hi(Y) is c * Y: does entry i hold hi(Y), and another one lo(Y) or its
 * complement? */
static bool join_word(Terms *ts, Lin *lin, unsigned i) {
    Term *y[MOST_WHOLES], *high = lin->t[i].t;
    uint32_t high_coef = (uint32_t)(lin->t[i].c >> 32);
    unsigned n = high->width == 32 && high_coef ? wholes_of(ts, lin, high, y) : 0;
    for (unsigned k = 0; k < n; k++) {
        Term *low = t_lo(ts, y[k]), *entry = low;
        bool inverse =
            term_is_inverse(low) || complemented(low); /* its complement is the entry: lin_add_low */
        if (inverse)
            entry = term_is_inverse(low) ? term_complement(ts, low) : t_inv(ts, low);
        for (unsigned j = 0; j < lin->n; j++) {
            /* the part of the coefficient that multiplies the zero-extended word: signed 32 bits */
            uint64_t own = (uint64_t)(int64_t)(int32_t)(uint32_t)lin->t[j].c, part = inverse ? 0 - own : own;
            if (lin->t[j].t != entry || !part || (uint32_t)part != high_coef)
                continue;
            lin_add_term(ts, lin, high, 0 - (part << 32));
            lin_add_term(ts, lin, entry, 0 - own);
            if (inverse)
                lin->k -= part * LOW;
            lin_add(ts, lin, y[k], part);
            return true;
        }
    }
    return false;
}
static void join_words(Terms *ts, Lin *lin) {
    for (unsigned i = 0; i < lin->n; i++)
        if (join_word(ts, lin, i))
            i = (unsigned)-1;
}

/* A carry word HI(S) or its negative in a 32-bit sum: other entries may be high words of what S has the low
 * words of. */
static Term *join_carry(Terms *ts, const Lin *lin) {
    for (unsigned i = 0; i < lin->n; i++) {
        uint64_t sign = lin->t[i].c == 1 ? 1 : ~0ull;
        if (lin->t[i].t->kind != TK_HI || (lin->t[i].c != 1 && lin->t[i].c != LOW) ||
            lin->t[i].t->a[0]->kind != TK_SUM)
            continue;
        Lin w = {.width = 64}, before;
        lin_add(ts, &w, lin->t[i].t->a[0], 1);
        w.k += (sign * lin->k) << 32;
        for (unsigned j = 0; j < lin->n; j++)
            if (j != i)
                lin_add_term(ts, &w, lin->t[j].t, (sign * lin->t[j].c) << 32);
        before = w;
        join_words(ts, &w);
        if (w.n != before.n || memcmp(w.t, before.t, w.n * sizeof *w.t) != 0)
            return t_scale(ts, t_hi(ts, lin_term(ts, &w)), sign & LOW);
    }
    return NULL;
}

/* One form of the entries that are decisions between constants. */
static void fold_decided(Terms *ts, Lin *lin) {
    TermPair entries[2 * TERM_MOST_DECIDED];
    unsigned n = 0, kept = 0;
    for (unsigned i = 0; i < lin->n; i++)
        n += term_is_decided(lin->t[i].t);
    if (!n)
        return;
    n = 0;
    for (unsigned i = 0; i < lin->n; i++)
        if (term_is_decided(lin->t[i].t))
            entries[n++] = lin->t[i];
        else
            lin->t[kept++] = lin->t[i];
    lin->n = kept;
    n = term_fold_decided(ts, entries, n, lin->width, &lin->k);
    for (unsigned i = 0; i < n; i++)
        lin_add(ts, lin, entries[i].t, entries[i].c);
}

/* Of a pair a multiple of 2^32 leaves the low word. */
static void drop_high_words(Terms *ts, Lin *lin) {
    for (unsigned i = 0; i < lin->n;) {
        TermPair entry = lin->t[i];
        if (entry.t->width != 64 || entry.c & LOW) {
            i++;
            continue;
        }
        memmove(lin->t + i, lin->t + i + 1, (--lin->n - i) * sizeof *lin->t);
        lin_add_high(ts, lin, t_lo(ts, entry.t), entry.c >> 32);
        i = 0;
    }
}

static Term *lin_term(Terms *ts, Lin *lin) {
    if (lin->width == 64 || lin->n > 1)
        fold_decided(ts, lin);
    if (lin->width == 64) {
        drop_high_words(ts, lin);
        join_words(ts, lin);
    }
    if (lin->width == 32 && lin->n > 1) {
        Term *joined = join_carry(ts, lin);
        if (joined)
            return joined;
    }
    lin->k &= term_mask(lin->width);
    if (!lin->n)
        return t_const(ts, lin->width, lin->k);
    if (lin->n == 1 && lin->k == 0 && lin->t[0].c == 1 && lin->t[0].t->width == lin->width)
        return lin->t[0].t;
    if (lin->width == 32 && lin->n == 1 && lin->k == LOW && lin->t[0].c == LOW && lin->t[0].t->kind == TK_XOR)
        return t_inv(ts, lin->t[0].t);
    if (lin->width == 32 && lin->n == 1 &&
        lin->t[0].t->kind == TK_ITE) { /* decided constants stay constants */
        unsigned budget = 32;
        Term *term = lin->t[0].t;
        if (term_const_leaves(term, &budget)) {
            Term *atom = t_ite(ts, ts->truth, term, term)->a[0];
            Lin yes = {.k = lin->k, .width = 32}, no = yes;
            lin_add(ts, &yes, term->a[1], lin->t[0].c);
            lin_add(ts, &no, term->a[2], lin->t[0].c);
            Term *p = term_make(
                ts,
                (Term){.kind = TK_ITE, .width = 1, .n = 3, .a = (Term *[]){atom, ts->truth, ts->falsity}});
            return t_ite(ts, p, lin_term(ts, &yes), lin_term(ts, &no));
        }
    }
    if (lin->width == 32 && lin->n == 1 && lin->t[0].c == LOW && lin->k == LOW &&
        term_possible(lin->t[0].t) != LOW)
        return term_make(ts, (Term){.kind = TK_XOR,
                                    .width = 32,
                                    .k = LOW,
                                    .n = 1,
                                    .a = &lin->t[0].t,
                                    .c = (uint64_t[]){term_possible(lin->t[0].t)}});
    Term *a[MAX_TERMS];
    uint64_t c[MAX_TERMS];
    for (unsigned i = 0; i < lin->n; i++) {
        a[i] = lin->t[i].t;
        c[i] = lin->t[i].c;
    }
    return term_make(
        ts, (Term){.kind = TK_SUM, .width = (uint8_t)lin->width, .k = lin->k, .n = lin->n, .a = a, .c = c});
}

Term *t_add(Terms *ts, Term *term, Term *y) {
    Lin l = {.width = term->width};
    lin_add(ts, &l, term, 1);
    lin_add(ts, &l, y, 1);
    return lin_term(ts, &l);
}
Term *t_sub(Terms *ts, Term *term, Term *y) {
    Lin l = {.width = term->width};
    lin_add(ts, &l, term, 1);
    lin_add(ts, &l, y, ~0ull);
    return lin_term(ts, &l);
}
Term *t_scale(Terms *ts, Term *term, uint64_t c) {
    Lin l = {.width = term->width};
    lin_add(ts, &l, term, c);
    return lin_term(ts, &l);
}

/* ---- pairs ---- */
Term *t_zext(Terms *ts, Term *x) {
    Lin l = {.width = 64};
    lin_add_low(ts, &l, x, 1);
    return lin_term(ts, &l);
}
Term *t_pair(Terms *ts, Term *lo, Term *hi) {
    Lin l = {.width = 64};
    lin_add_low(ts, &l, lo, 1);
    lin_add_high(ts, &l, hi, 1);
    return lin_term(ts, &l);
}
Term *t_sext(Terms *ts, Term *term) {
    if (term->kind == TK_CONST)
        return t_const(ts, 64, (uint64_t)(int64_t)(int32_t)(uint32_t)term->k);
    unsigned budget = 32;
    if (term->kind == TK_ITE && term_const_leaves(term, &budget))
        return t_pair(ts, term, t_ashr(ts, term, t_const(ts, 32, 31)));
    Term *made = term_rewrite(ts, RW_SEXT, term, NULL);
    if (made)
        return made;
    return term_make(ts, (Term){.kind = TK_SEXT, .width = 64, .n = 1, .a = &term});
}

Term *t_lo(Terms *ts, Term *term) {
    if (term->kind == TK_CONST)
        return t_const(ts, 32, term->k);
    if (term->kind == TK_SUM) {
        Lin l = {.k = term->k, .width = 32};
        for (uint32_t i = 0; i < term->n; i++)
            lin_add(ts, &l, term->a[i]->width == 32 ? term->a[i] : t_lo(ts, term->a[i]), term->c[i]);
        return lin_term(ts, &l);
    }
    Term *made = term_rewrite(ts, RW_LO, term, NULL);
    if (made)
        return made;
    return term_make(ts, (Term){.kind = TK_LO, .width = 32, .n = 1, .a = &term});
}

/* The most that a word is taken to be where carries are asked for. x + 1 has no carry for an even sum x; but
 * as the carry of x + 1 the high word is known as that of the whole (join_words), as zero it is not. */
static uint32_t most_of(const Term *word) {
    bool product = word->kind == TK_SUM && word->n == 1 && !word->k && is_pow2(word->c[0]);
    return word->kind == TK_SUM && !product ? LOW : term_possible(word);
}

/* The high word of what is left when all multiples of 2^32 were taken out of a sum. */
static Term *carry_word(Terms *ts, Lin *lin) {
    if (!lin->n)
        return ts->zero;
    TermPair e = lin->t[0];
    if (lin->n == 1 && lin->k < e.c &&
        is_pow2(e.c)) { /* a constant in the bits that it leaves has no carry */
        if (e.t->width == 32)
            return e.c == 1 ? ts->zero : t_lshr(ts, e.t, t_const(ts, 32, 32 - log2_of(e.c)));
        if (e.t->kind == TK_SEXT)
            return t_ashr(ts, e.t->a[0], t_const(ts, 32, e.c == 1 ? 31 : 32 - log2_of(e.c)));
    }
    if (lin->n == 1 && !lin->k && e.t->width == 32 &&
        e.c == 0 - (1ull << 31)) /* 2^31 * x without x's own part */
        return t_sub(ts, t_lshr(ts, e.t, t_const(ts, 32, 1)), e.t);
    if (lin->n == 1 && e.t->width == 32 && lin->k + most_of(e.t) <= LOW && e.c == 1)
        return ts->zero;
    if (lin->n == 1 && e.t->width == 32 && lin->k == LOW && e.c == ~0ull)
        return ts->zero;
    uint64_t off = 0 - e.c; /* off * ~x, and a multiple of 2^32 */
    if (lin->n == 1 && e.t->width == 32 && is_pow2(off) && off > 1 && !((lin->k + off) & LOW))
        return t_add(ts, t_lshr(ts, t_inv(ts, e.t), t_const(ts, 32, 32 - log2_of(off))),
                     t_const(ts, 32, (lin->k + off - (off << 32)) >> 32));
    lin->k &= LOW;
    Term *low = lin_term(ts, lin);
    return term_make(ts, (Term){.kind = TK_HI, .width = 32, .n = 1, .a = &low});
}

Term *t_hi(Terms *ts, Term *term) {
    if (term->kind == TK_CONST)
        return t_const(ts, 32, term->k >> 32);
    Term *made = term->kind == TK_SUM ? NULL : term_rewrite(ts, RW_HI, term, NULL);
    if (made)
        return made;
    if (term->kind != TK_SUM)
        return term_make(ts, (Term){.kind = TK_HI, .width = 32, .n = 1, .a = &term});
    if (term->n == 1 && term->c[0] == ~0ull && term->k == ~0ull && term->a[0]->width == 64)
        return t_inv(ts, t_hi(ts, term->a[0]));
    Lin high = {.k = term->k >> 32, .width = 32}, rest = {.k = term->k & LOW, .width = 64};
    for (uint32_t i = 0; i < term->n; i++) {
        uint64_t part = (uint64_t)(int64_t)(int32_t)(uint32_t)term->c[i];
        uint64_t above = (term->c[i] - part) >> 32;
        lin_add_term(ts, &rest, term->a[i], part);
        if (above)
            lin_add(ts, &high, term->a[i]->width == 32 ? term->a[i] : t_lo(ts, term->a[i]), above);
    }
    lin_add(ts, &high, carry_word(ts, &rest), 1);
    return lin_term(ts, &high);
}

static bool is_word(const Term *term) { /* a zero-extended word */
    return term->kind == TK_SUM && term->n == 1 && !term->k && term->c[0] == 1 && term->a[0]->width == 32;
}

/* The product of two zero-extended words. Of sign-extended ones it is that and products with their signs in
 * the high word, as machines compute it that multiply words of either kind. */
static Term *mul_words(Terms *ts, Term *term, Term *other) {
    if (t_is_const(term) || t_is_const(other))
        return t_mul(ts, term, other);
    Term *arg[2] = {term->id < other->id ? term : other, term->id < other->id ? other : term};
    return t_app(ts, TO_MUL, 64, 0, NULL, arg, 2);
}

Term *t_mul(Terms *ts, Term *term, Term *other) {
    if (t_is_const(term))
        return t_scale(ts, other, term->k);
    if (t_is_const(other))
        return t_scale(ts, term, other->k);
    if (term->width == 64 && !(is_word(term) && is_word(other))) {
        Term *x0 = t_lo(ts, term), *x1 = t_hi(ts, term), *y0 = t_lo(ts, other), *y1 = t_hi(ts, other);
        Term *p = mul_words(ts, t_zext(ts, x0), t_zext(ts, y0));
        if (x1 == ts->zero && y1 == ts->zero)
            return p;
        Term *high = t_add(ts, t_hi(ts, p), t_add(ts, t_mul(ts, x0, y1), t_mul(ts, x1, y0)));
        return t_pair(ts, t_lo(ts, p), high);
    }
    uint64_t scale = 1;
    if (term->width == 32 && term->kind == TK_SUM && term->n == 1 && !term->k) {
        scale *= term->c[0];
        term = term->a[0];
    }
    if (other->width == 32 && other->kind == TK_SUM && other->n == 1 && !other->k) {
        scale *= other->c[0];
        other = other->a[0];
    }
    Term *arg[2] = {term->id < other->id ? term : other, term->id < other->id ? other : term};
    return t_scale(ts, t_app(ts, TO_MUL, term->width, 0, NULL, arg, 2), scale);
}

/* Bounds of a carry word: the high word of a sum of few extended words. */
static bool high_bounds(const Term *term, int64_t *min, int64_t *max) {
    if (term->kind != TK_HI || term->a[0]->kind != TK_SUM)
        return false;
    const Term *sum = term->a[0];
    int64_t lo = (int64_t)sum->k, hi = lo;
    for (uint32_t i = 0; i < sum->n; i++) {
        int64_t c = (int64_t)sum->c[i];
        if (sum->a[i]->width != 32 || c > 1 << 20 || c < -(1 << 20) || sum->n > 64)
            return false;
        *(c > 0 ? &hi : &lo) += c * (int64_t)most_of(sum->a[i]);
    }
    *min = lo >> 32;
    *max = hi >> 32;
    return true;
}
bool term_at_most(const Term *term, uint32_t most) {
    int64_t min, max, k = 0, c = 1;
    if (term->kind == TK_CONST)
        return term->k <= most;
    if (term->kind == TK_SUM && term->width == 32 && term->n == 1) {
        k = (int32_t)(uint32_t)term->k;
        c = (int32_t)(uint32_t)term->c[0];
        term = term->a[0];
    }
    if ((c != 1 && c != -1) || !high_bounds(term, &min, &max))
        return k == 0 && c == 1 && term_possible(term) <= 1 && most >= 1;
    int64_t lo = c > 0 ? min + k : k - max, hi = c > 0 ? max + k : k - min;
    return lo >= 0 && hi <= (int64_t)most;
}

/* ---- shifts: amounts are clamped ---- */
static Term *term_shift(Terms *ts, TermOp op, Term *x, Term *n) {
    return t_app(ts, op, 32, 0, NULL, (Term *[]){x, n}, 2);
}
Term *t_shl(Terms *ts, Term *x, Term *term) {
    return t_is_const(term) ? term_rewrite(ts, RW_SHL, x, term) : term_shift(ts, TO_SHL, x, term);
}
Term *t_lshr(Terms *ts, Term *word, Term *term) {
    if (!t_is_const(term))
        return term_shift(ts, TO_LSHR, word, term);
    Term *made = term_rewrite(ts, RW_LSHR, word, term);
    if (!made)
        made = term_lift(ts, t_lshr, word, term);
    if (made)
        return made;
    if (word->kind == TK_XOR) { /* works bit by bit */
        Term *r = t_const(ts, 32, word->k >> term->k);
        for (uint32_t i = 0; i < word->n; i++) {
            Term *p = word->a[i], *m = t_const(ts, 32, word->c[i] >> term->k);
            uint32_t nf = p->kind == TK_AND ? p->n : 1;
            for (uint32_t f = 0; f < nf; f++)
                m = t_land(ts, m, t_lshr(ts, p->kind == TK_AND ? p->a[f] : p, term));
            r = t_lxor(ts, r, m);
        }
        return r;
    }
    Term *rest = term_without_constant(ts, word);
    if (rest)
        return t_lxor(ts, t_lshr(ts, rest, term), t_const(ts, 32, word->k >> term->k));
    if (word->kind == TK_SUM && word->n == 1 && !word->k && is_pow2(word->c[0])) { /* (z << m) >> n */
        unsigned m = log2_of(word->c[0]), n = (unsigned)term->k;
        Term *z = t_land(ts, word->a[0], t_const(ts, 32, LOW >> m));
        return m >= n ? t_shl(ts, z, t_const(ts, 32, m - n)) : t_lshr(ts, z, t_const(ts, 32, n - m));
    }
    return term_shift(ts, TO_LSHR, word, term);
}
Term *t_ashr(Terms *ts, Term *x, Term *term) {
    if (!t_is_const(term))
        return term_shift(ts, TO_ASHR, x, term);
    Term *made = term_rewrite(ts, RW_ASHR, x, term);
    if (!made)
        made = term_lift(ts, t_ashr, x, term);
    return made ? made : term_shift(ts, TO_ASHR, x, term);
}

Term *t_shift64(Terms *ts, TermOp op, Term *x, Term *term) {
    if (!t_is_const(term))
        return t_app(ts, op, 64, 0, NULL, (Term *[]){x, term}, 2);
    unsigned s = term->k > 64 ? 64 : (unsigned)term->k;
    if (op == TO_SHL64)
        return s == 64 ? t_const(ts, 64, 0) : t_scale(ts, x, 1ull << s);
    Term *lo = t_lo(ts, x), *hi = t_hi(ts, x);
    Term *fill = op == TO_ASHR64 ? t_ashr(ts, hi, t_const(ts, 32, 31)) : ts->zero;
    if (s == 0)
        return x;
    if (s >= 32) {
        Term *by = t_const(ts, 32, s - 32);
        return t_pair(ts, op == TO_ASHR64 ? t_ashr(ts, hi, by) : t_lshr(ts, hi, by), fill);
    }
    Term *by = t_const(ts, 32, s);
    return t_pair(ts, t_hi(ts, t_scale(ts, t_pair(ts, lo, hi), 1ull << (32 - s))),
                  op == TO_ASHR64 ? t_ashr(ts, hi, by) : t_lshr(ts, hi, by));
}

Term *t_funnel(Terms *ts, bool left, Term *lo, Term *hi, Term *n) {
    if (t_is_const(n) && n->k > 0 && n->k < 32 && lo != hi) {
        uint64_t up = left ? n->k : 32 - n->k;
        return t_lor(ts, t_shl(ts, hi, t_const(ts, 32, up)), t_lshr(ts, lo, t_const(ts, 32, 32 - up)));
    }
    Term *both = t_shift64(ts, left ? TO_SHL64 : TO_LSHR64, t_pair(ts, lo, hi), n);
    return left ? t_hi(ts, both) : t_lo(ts, both);
}

/* Leaves of a decision tree; more than `most` count as most + 1. */
static unsigned leaves(const Term *x, unsigned most) {
    if (x->kind != TK_ITE)
        return 1;
    unsigned n = leaves(x->a[1], most);
    return n > most ? n : n + leaves(x->a[2], most);
}
Term *t_zext_from(Terms *ts, Term *x, unsigned bits) {
    enum { MOST_LEAVES = 8 };
    if (bits < 32 && x->kind == TK_ITE && leaves(x, MOST_LEAVES) <= MOST_LEAVES) /* of each by itself */
        return t_ite(ts, term_decision(ts, x->a[0]), t_zext_from(ts, x->a[1], bits),
                     t_zext_from(ts, x->a[2], bits));
    return bits >= 32 ? x : t_land(ts, x, t_const(ts, 32, (1ull << bits) - 1));
}
Term *t_sext_from(Terms *ts, Term *term, unsigned bits) {
    if (bits >= 32)
        return term;
    Term *s = t_const(ts, 32, 32 - bits);
    if (term->kind == TK_XOR && term->n == 1 && !term->k && term->a[0]->kind != TK_AND &&
        (term->c[0] & ((1u << bits) - 1)) == (1u << bits) - 1)
        term = term->a[0]; /* bits above do not matter */
    if (term_possible(term) < 1u << (bits - 1))
        return term;
    return t_ashr(ts, t_shl(ts, term, s), s);
}

Term *t_prmt(Terms *ts, Term *lo, Term *hi, Term *sel) {
    if (!t_is_const(sel))
        return t_app(ts, TO_PRMT, 32, 0, NULL, (Term *[]){lo, hi, sel}, 3);
    if ((sel->k & 0xffff) == 0x8880 || (sel->k & 0xffff) == 0x9910) /* sign extensions */
        return t_sext_from(ts, lo, (sel->k & 0xffff) == 0x8880 ? 8 : 16);
    Term *r = ts->zero;
    for (unsigned i = 0, n; i < 4; i += n) {
        unsigned s = (unsigned)(sel->k >> 4 * i) & 15;
        Term *from = s & 4 ? hi : lo, *part;
        n = 1;
        if (s & 8) { /* its sign, eight times */
            Term *b = t_lshr(ts, from, t_const(ts, 32, 8 * (s & 3)));
            part = t_zext_from(ts, t_ashr(ts, t_shl(ts, b, t_const(ts, 32, 24)), t_const(ts, 32, 31)), 8);
        } else { /* bytes that are neighbours on both sides move together */
            while (i + n < 4 && (s & 3) + n < 4 && ((sel->k >> 4 * (i + n)) & 15) == s + n)
                n++;
            if ((s & 3) == i) {
                r = t_lxor(ts, r, t_land(ts, from, t_const(ts, 32, (LOW >> (32 - 8 * n)) << 8 * i)));
                continue;
            }
            part = t_zext_from(ts, t_lshr(ts, from, t_const(ts, 32, 8 * (s & 3))), 8 * n);
        }
        r = t_lxor(ts, r, t_shl(ts, part, t_const(ts, 32, 8 * i)));
    }
    return r;
}

Term *t_ones(Terms *ts, Term *n) { return t_inv(ts, t_shl(ts, t_const(ts, 32, LOW), n)); }
Term *t_field(Terms *ts, bool sign, Term *x, Term *n) {
    if (t_is_const(n))
        return n->k == 0   ? ts->zero
               : n->k > 31 ? x
               : sign      ? t_sext_from(ts, x, (unsigned)n->k)
                           : t_zext_from(ts, x, (unsigned)n->k);
    if (!sign)
        return t_land(ts, x, t_ones(ts, n));
    Term *s =
        t_sub(ts, t_const(ts, 32, 32), t_ite(ts, t_ult(ts, n, t_const(ts, 32, 32)), n, t_const(ts, 32, 32)));
    return t_ite(ts, t_eq(ts, n, ts->zero), ts->zero, t_ashr(ts, t_shl(ts, x, s), s));
}
