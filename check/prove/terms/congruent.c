/* Terms of whose value only the lowest bits matter: a 16-bit sum is made of registers whose upper halves may
 * hold anything, and PTX cuts each step where the machine cuts the last one. What is left is one form of all
 * terms that are equal modulo 2^bits. SPDX-License-Identifier: MIT */
#include "check/prove/terms/term_internal.h"

enum { DEPTH = 6 }; /* of sums in products in sums; below, a term stands for itself */

/* The number of the least magnitude that is equal to k: -1, not mask. */
static uint32_t congruent_least(uint64_t k, uint32_t mask) {
    uint32_t sign = mask ^ mask >> 1;
    return (((uint32_t)k & mask) ^ sign) - sign;
}

static Term *congruent(Terms *ts, Term *term, uint32_t mask, unsigned depth);

static Term *congruent_sum(Terms *ts, const Term *sum, uint32_t mask, unsigned depth) {
    Term *result = t_const(ts, 32, sum->k);
    for (uint32_t i = 0; i < sum->n; i++) {
        Term *entry = congruent(ts, sum->a[i], mask, depth);
        result = t_add(ts, result, t_scale(ts, entry, congruent_least(sum->c[i], mask)));
    }
    return result;
}

/* The entry of which the term is the complement, ~x or -1 - x; else NULL. */
static Term *inverted(const Term *poly, uint32_t mask) {
    bool whole = poly->n == 1 && ((uint32_t)poly->k & mask) == mask && poly->a[0]->kind != TK_AND;
    return whole && ((uint32_t)poly->c[0] & mask) == (term_possible(poly->a[0]) & mask) ? poly->a[0] : NULL;
}

/* Masks that keep all the bits that matter go; entries of none do. */
static Term *congruent_xor(Terms *ts, const Term *poly, uint32_t mask, unsigned depth) {
    Term *result = t_const(ts, 32, poly->k & mask), *inner = inverted(poly, mask);
    if (inner)
        return t_sub(ts, t_const(ts, 32, mask), congruent(ts, inner, mask, depth));
    for (uint32_t i = 0; i < poly->n; i++) {
        Term *entry = poly->a[i];
        uint32_t kept = (uint32_t)poly->c[i] & mask;
        if (!kept)
            continue;
        if (entry->kind == TK_AND)
            entry = t_land(ts, term_product(ts, entry), t_const(ts, 32, kept));
        else if (kept == (term_possible(entry) & mask))
            entry = congruent(ts, entry, mask, depth);
        else
            entry = t_land(ts, entry, t_const(ts, 32, kept));
        result = t_lxor(ts, result, entry);
    }
    return result;
}

static Term *congruent(Terms *ts, Term *term, uint32_t mask, unsigned depth) {
    if (depth == 0 || term->width != 32)
        return term;
    switch (term->kind) {
    case TK_SUM: return congruent_sum(ts, term, mask, depth - 1);
    case TK_XOR: return congruent_xor(ts, term, mask, depth - 1);
    case TK_APP:
        if (term->op == TO_MUL) {
            Term *first = congruent(ts, term->a[0], mask, depth - 1);
            return t_mul(ts, first, congruent(ts, term->a[1], mask, depth - 1));
        }
        return term;
    default: return term;
    }
}

Term *term_congruent(Terms *ts, Term *term, unsigned bits) {
    bool composed = term->kind == TK_SUM || (term->kind == TK_APP && term->op == TO_MUL);
    if (!composed ||
        (bits != 8 && bits != 16)) /* other masks are parts of words: their bits are looked for */
        return term;
    uint32_t mask = (1u << bits) - 1;
    term = congruent(ts, term, mask, DEPTH);
    return term->kind == TK_SUM ? t_sub(ts, term, t_const(ts, 32, term->k - congruent_least(term->k, mask)))
                                : term;
}
