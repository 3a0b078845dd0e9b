/* Terms: bitwise functions. See check/prove/terms/term.h, and sum.c for sums.
 *
 * Bitwise functions (Xor, TK_XOR): k ^ (c1 & p1) ^ (c2 & p2) ^ ..., where c are masks of 32 bits and p
 * products of terms (TK_AND): the algebraic normal form, all 32 bits at once. XOR merges lists, AND
 * multiplies out, x | y is x ^ y ^ xy, LOP3 is two Shannon expansions. ~x is also -x - 1: of a function and
 * its complement only one may be an entry of a sum (complemented, term_is_inverse), so that x + ~x is -1.
 *     (a & b) | (~a & c)  =  (a & b) ^ c ^ (a & c)
 * Masks are cut to the bits that a term can have (term_possible): 0xff & (read of a byte) is the read.
 *
 * Where a list would grow beyond MAX_TERMS or a product beyond MAX_FACTORS, ts->overflow says that terms are
 * no longer right, and what was to be proved counts as unknown.
 * SPDX-License-Identifier: MIT */
#include "check/prove/terms/rewrite.h"
#include "check/prove/terms/term_internal.h"
#include <string.h>

enum { MAX_TERMS = 160, MAX_FACTORS = 12 };
#define LOW 0xffffffffull

typedef struct {
    uint32_t k;
    unsigned n;
    TermPair t[MAX_TERMS];
} Xor;

static uint64_t lowest_one(uint64_t bits) { return bits & (0 - bits); }
/* All bits but the lowest that are zero in every entry of a sum: that many are zero in the sum. */
static uint32_t possible_of_sum(const Term *term) {
    uint64_t bits = term->k;
    for (uint32_t i = 0; i < term->n; i++)
        bits |= term->c[i] * lowest_one(term_possible(term->a[i]));
    return (uint32_t)(0 - lowest_one(bits));
}

uint32_t term_possible_of(const Term *term) {
    uint64_t m = 0;
    switch (term->kind) {
    case TK_CONST: return (uint32_t)term->k;
    case TK_ITE: return term_possible(term->a[1]) | term_possible(term->a[2]);
    case TK_AND:
        m = LOW;
        for (uint32_t i = 0; i < term->n; i++)
            m &= term_possible(term->a[i]);
        return (uint32_t)m;
    case TK_XOR:
        m = term->k;
        for (uint32_t i = 0; i < term->n; i++)
            m |= term->c[i];
        return (uint32_t)m;
    case TK_SUM:
        if (term->width == 32 && term->n == 1 && is_pow2(term->c[0]) &&
            !(term->k & (uint32_t)(term_possible(term->a[0]) * term->c[0])))
            return (uint32_t)(term_possible(term->a[0]) * term->c[0] | term->k);
        return term->width == 32 ? possible_of_sum(term) : UINT32_MAX;
    case TK_APP:
        if (term->op == TO_LSHR && t_is_const(term->a[1]) && term->a[1]->k < 32)
            return term_possible(term->a[0]) >> term->a[1]->k;
        if (term->op == TO_READ)
            return (term->k & 0xff) >= 4 ? UINT32_MAX : (1u << 8 * (term->k & 0xff)) - 1;
        if (term->op == TO_UF && term->k && term->k < 32 && term->width == 32 &&
            term->name[0] == '#') /* of k bits */
            return (1u << term->k) - 1;
        if (term->op == TO_POPC)
            return 63;
        return UINT32_MAX;
    case TK_VAR: return term->name[0] == '#' ? 0xffff : UINT32_MAX; /* of 16 bits */
    default: return UINT32_MAX;
    }
}

static bool is_shifted(const Term *term) { /* z << m, m from 1 on */
    return term->kind == TK_SUM && term->n == 1 && !term->k && term->c[0] > 1 && is_pow2(term->c[0]);
}
static bool has_product(const Term *term) {
    for (uint32_t i = 0; i < term->n; i++)
        if (term->a[i]->kind == TK_AND)
            return true;
    return false;
}

/* z << m with a constant in bits that it cannot have is a sum, whether added or ored: the word without the
 * constant, or NULL. (Of z << 31 a complement would not be told.) */
Term *term_without_constant(Terms *ts, const Term *term) {
    if (term->kind != TK_SUM || term->width != 32 || term->n != 1 || !term->k || term->c[0] < 2 ||
        term->c[0] > 1u << 30 || !is_pow2(term->c[0]) ||
        (term->a[0]->kind == TK_XOR && !has_product(term->a[0])) ||
        (term->k & (uint32_t)(term_possible(term->a[0]) * term->c[0])))
        return NULL;
    return t_scale(ts, term->a[0], term->c[0]);
}
/* Of a word that is whole among the entries of a bitwise function, with a constant k that it is exclusive
 * with: its sum. NULL: no such one. */
static Term *with_constant(Terms *ts, Term *word, uint32_t k) {
    Term *sum = is_shifted(word) && !(k & term_possible(word)) ? t_add(ts, word, t_const(ts, 32, k)) : NULL;
    return sum && term_without_constant(ts, sum) == word ? sum : NULL;
}

/* A word of which some bits are those of z: bit i is bit i - left of z where the mask has a one, else zero.
 */
typedef struct {
    Term *z;
    int left;
    uint32_t mask;
} Shifted;

/* What the term is a shift of: of a product with 2^n, of a shift to the right, or of one of the other. */
static Shifted shifted_of(Terms *ts, Term *term, unsigned depth) {
    if (depth && term->kind == TK_APP && term->op == TO_LSHR && t_is_const(term->a[1]) &&
        term->a[1]->k < 32) {
        Shifted inner = shifted_of(ts, term->a[0], depth - 1);
        return (Shifted){inner.z, inner.left - (int)term->a[1]->k, inner.mask >> term->a[1]->k};
    }
    uint64_t bits = term->k;
    for (uint32_t i = 0; term->kind == TK_SUM && i < term->n; i++)
        bits |= term->c[i];
    if (!depth || term->kind != TK_SUM || term->width != 32 || bits & 1)
        return (Shifted){term, 0, UINT32_MAX};
    unsigned n = log2_of(bits);
    Term *z = t_const(ts, 32, (uint64_t)(int64_t)((int32_t)(uint32_t)term->k >> n));
    for (uint32_t i = 0; i < term->n; i++)
        z = t_add(ts, z, t_scale(ts, term->a[i], (uint64_t)(int64_t)((int32_t)(uint32_t)term->c[i] >> n)));
    Shifted inner = shifted_of(ts, z, depth - 1);
    return (Shifted){inner.z, inner.left + (int)n, inner.mask << n};
}

static void xput(Terms *ts, Xor *poly, Term *term, uint32_t m);

/* A list that is full, by shifts of as few terms as there are: of what a generator of random numbers made of
 * a seed by shift and exclusive or no more than 63 remain. (Of multiples of
 * it the bits that are shifted out are lost, and more remain.) False: it does not get shorter. */
static bool shorten(Terms *ts, Xor *poly) {
    enum { DEPTH = 4, ENOUGH = 16 };
    Xor made = {.k = poly->k};
    for (unsigned i = 0; i < poly->n; i++) {
        Term *term = poly->t[i].t;
        Shifted shifted = shifted_of(ts, term, DEPTH);
        int left = shifted.left;
        Term *word = left >= 0 ? t_scale(ts, shifted.z, 1ull << left)
                               : t_lshr(ts, shifted.z, t_const(ts, 32, (uint64_t)-left));
        if (word->kind == TK_XOR || word->kind == TK_CONST || left > 31 || left < -31)
            xput(ts, &made, term, (uint32_t)poly->t[i].c);
        else
            xput(ts, &made, word, (uint32_t)poly->t[i].c & shifted.mask);
    }
    *poly = made;
    return made.n <= MAX_TERMS - ENOUGH;
}

static void xput(Terms *ts, Xor *poly, Term *term, uint32_t m) {
    m &= term_possible(term);
    if (!m)
        return;
    Term *word = term_without_constant(ts, term);
    if (word) {
        poly->k ^= (uint32_t)term->k & m;
        xput(ts, poly, word, m);
        return;
    }
    if (is_shifted(term) && term->a[0]->kind == TK_XOR && !has_product(term->a[0])) { /* bit by bit */
        const Term *inner = term->a[0];
        poly->k ^= (uint32_t)(inner->k * term->c[0]) & m;
        for (uint32_t i = 0; i < inner->n; i++)
            xput(ts, poly, t_scale(ts, inner->a[i], term->c[0]), (uint32_t)(inner->c[i] * term->c[0]) & m);
        return;
    }
    unsigned at = 0;
    while (at < poly->n && poly->t[at].t->id < term->id)
        at++;
    if (at < poly->n && poly->t[at].t == term) {
        poly->t[at].c ^= m;
        if (!poly->t[at].c)
            memmove(poly->t + at, poly->t + at + 1, (--poly->n - at) * sizeof *poly->t);
        return;
    }
    if (poly->n == MAX_TERMS) {
        if (shorten(ts, poly))
            xput(ts, poly, term, m);
        else
            ts->overflow = true;
        return;
    }
    memmove(poly->t + at + 1, poly->t + at, (poly->n++ - at) * sizeof *poly->t);
    poly->t[at] = (TermPair){term, m};
}

static void xor_of(Terms *ts, Xor *poly, Term *term) {
    *poly = (Xor){0};
    if (term->kind == TK_CONST) {
        poly->k = (uint32_t)term->k;
    } else if (term->kind == TK_XOR) {
        poly->k = (uint32_t)term->k;
        poly->n = term->n;
        for (uint32_t i = 0; i < term->n; i++)
            poly->t[i] = (TermPair){term->a[i], term->c[i]};
    } else if (term_is_inverse(term)) {
        poly->k = UINT32_MAX;
        xput(ts, poly, term_complement(ts, term), UINT32_MAX);
    } else {
        xput(ts, poly, term, UINT32_MAX);
    }
}

static Term *xor_term(Terms *ts, Xor *poly) {
    if (!poly->n)
        return t_const(ts, 32, poly->k);
    if (poly->n == 1 && poly->t[0].t->kind != TK_AND && poly->t[0].c == term_possible(poly->t[0].t)) {
        if (poly->k == 0)
            return poly->t[0].t;
        if (poly->k == UINT32_MAX && (poly->t[0].c == LOW || poly->t[0].t->kind == TK_SUM))
            return term_complement(ts, poly->t[0].t);
        Term *sum = with_constant(ts, poly->t[0].t, poly->k);
        if (sum || (sum = with_constant(ts, poly->t[0].t, ~poly->k)))
            return sum->k == poly->k ? sum : term_complement(ts, sum);
    }
    if (poly->n == 1 && !poly->k && is_shifted(poly->t[0].t)) { /* (z << m) & k is (z & k >> m) << m */
        const Term *shifted = poly->t[0].t;
        uint64_t mask = (uint64_t)((int64_t)(int32_t)(uint32_t)poly->t[0].c >> log2_of(shifted->c[0]));
        return t_scale(ts, t_land(ts, shifted->a[0], t_const(ts, 32, mask)), shifted->c[0]);
    }
    Term *a[MAX_TERMS];
    uint64_t c[MAX_TERMS];
    for (unsigned i = 0; i < poly->n; i++) {
        a[i] = poly->t[i].t;
        c[i] = poly->t[i].c;
    }
    return term_make(ts, (Term){.kind = TK_XOR, .width = 32, .k = poly->k, .n = poly->n, .a = a, .c = c});
}

static Term *product(Terms *ts, Term *term, Term *other) {
    Term *a[2 * MAX_FACTORS];
    uint32_t n = 0, i = 0, j = 0;
    Term *const *xa = term->kind == TK_AND ? term->a : &term, *const *ya =
                                                                  other->kind == TK_AND ? other->a : &other;
    uint32_t xn = term->kind == TK_AND ? term->n : 1, yn = other->kind == TK_AND ? other->n : 1;
    while (i < xn || j < yn) {
        if (j == yn || (i < xn && xa[i]->id < ya[j]->id))
            a[n++] = xa[i++];
        else if (i == xn || ya[j]->id < xa[i]->id)
            a[n++] = ya[j++];
        else {
            a[n++] = xa[i++];
            j++;
        }
    }
    if (n == 1)
        return a[0];
    if (n > MAX_FACTORS) {
        ts->overflow = true;
        return term;
    }
    return term_make(ts, (Term){.kind = TK_AND, .width = 32, .n = n, .a = a});
}
Term *term_product(Terms *ts, Term *term) {
    Term *r = term->a[0];
    for (uint32_t i = 1; i < term->n; i++)
        r = t_land(ts, r, term->a[i]);
    return r;
}

/* Bits that are one for certain: of a decision between constants. */
static uint32_t certain(const Term *term) {
    unsigned budget = 32;
    if (term->kind == TK_CONST)
        return (uint32_t)term->k;
    return term->kind == TK_ITE && term_const_leaves(term, &budget)
               ? certain(term->a[1]) & certain(term->a[2])
               : 0;
}

/* Of a decision between constants the one that it comes to when all its atoms are true; else zero. */
static uint32_t first_decided(const Term *term) {
    if (!term_is_decided(term))
        return 0;
    while (term->kind == TK_ITE)
        term = term->a[1];
    return (uint32_t)term->k;
}

/* poly ^= mask & x & y. Where a decision between constants is one whatever it decides, the product is the
 * other factor: x | (p ? 6 : 4) of an x whose low three bits are zero is x + (p ? 6 : 4). Of a decision and
 * its complement, x & ~y being x ^ x & y, the one that is zero where all its atoms are true is a factor. */
static void put_product(Terms *ts, Xor *poly, Term *x, Term *y, uint32_t mask) {
    Term *factor[2] = {x, y};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t ones = mask & certain(factor[i]), other = mask & ~ones & first_decided(factor[i]);
        xput(ts, poly, factor[1 - i], ones | other);
        if (other)
            put_product(ts, poly, t_inv(ts, factor[i]), factor[1 - i], other);
        mask &= ~(ones | other);
    }
    if (mask)
        xput(ts, poly, product(ts, x, y), mask);
}

static Term *lxor_plain(Terms *ts, Term *x, Term *y) {
    Xor f, g;
    xor_of(ts, &f, x);
    xor_of(ts, &g, y);
    f.k ^= g.k;
    for (unsigned i = 0; i < g.n; i++)
        xput(ts, &f, g.t[i].t, (uint32_t)g.t[i].c);
    return xor_term(ts, &f);
}
static Term *land_plain(Terms *ts, Term *x, Term *y) {
    Xor f, g, r = {0};
    xor_of(ts, &f, x);
    xor_of(ts, &g, y);
    r.k = f.k & g.k;
    for (unsigned i = 0; i < f.n; i++)
        xput(ts, &r, f.t[i].t, (uint32_t)f.t[i].c & g.k);
    for (unsigned j = 0; j < g.n; j++)
        xput(ts, &r, g.t[j].t, (uint32_t)g.t[j].c & f.k);
    for (unsigned i = 0; i < f.n; i++)
        for (unsigned j = 0; j < g.n; j++)
            put_product(ts, &r, f.t[i].t, g.t[j].t, (uint32_t)(f.t[i].c & g.t[j].c));
    return xor_term(ts, &r);
}
Term *t_lxor(Terms *ts, Term *x, Term *y) {
    Term *lifted = term_lift(ts, t_lxor, x, y);
    return lifted ? lifted : lxor_plain(ts, x, y);
}
Term *t_land(Terms *ts, Term *x, Term *term) {
    Term *lifted = term_lift(ts, t_land, x, term), *z;
    unsigned n;
    if (!lifted && t_is_const(term) && (z = term_extended(ts, x, &n)) && term->k < 1ull << (32 - n))
        return t_land(ts, z, term);
    if (!lifted && t_is_const(term) && is_pow2(term->k + 1))
        x = term_congruent(ts, x, log2_of(term->k + 1));
    return lifted ? lifted : land_plain(ts, x, term);
}
Term *t_inv(Terms *ts, Term *term) {
    if (term->width == 64)
        return t_sub(ts, t_const(ts, 64, ~0ull), term);
    return t_lxor(ts, term, t_const(ts, 32, LOW));
}
Term *t_lor(Terms *ts, Term *x, Term *y) { return t_lxor(ts, t_lxor(ts, x, y), t_land(ts, x, y)); }

Term *t_lop3(Terms *ts, unsigned lut, Term *x, Term *y, Term *z) {
    /* Shannon expansion: x & (row1 ^ row0) ^ row0, twice */
    Term *row[4];
    for (unsigned i = 0; i < 4; i++)
        switch (lut >> 2 * i & 3) { /* two bools compared: gcc 12.2 makes wrong code of that at -O2 */
        case 0: row[i] = ts->zero; break;
        case 1: row[i] = t_inv(ts, z); break;
        case 2: row[i] = z; break;
        default: row[i] = t_const(ts, 32, LOW); break;
        }
    Term *col[2];
    for (unsigned i = 0; i < 2; i++)
        col[i] = t_lxor(ts, t_land(ts, y, t_lxor(ts, row[2 * i + 1], row[2 * i])), row[2 * i]);
    return t_lxor(ts, t_land(ts, x, t_lxor(ts, col[1], col[0])), col[0]);
}
