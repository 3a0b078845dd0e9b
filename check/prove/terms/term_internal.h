/* What the files of the term module share.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_TERM_INTERNAL_H
#define HEDDLE_CHECK_PROVE_TERM_INTERNAL_H
#include "check/prove/terms/term.h"

typedef struct TermMemo { /* of an operation of up to three terms */
    const Term *f, *g, *h;
    Term *result;
} TermMemo;
TermMemo *term_under_memo(Terms *ts, const Term *term, const Term *cond);
bool term_spent(Terms *ts); /* one more step of diagrams; true if these are all */
/* f ? g : h with g and h as they are, not as they are where f holds, or does not. */
Term *term_choice(Terms *ts, Term *f, Term *g, Term *h);
/* The generalised cofactor: equal for any two functions that agree wherever `c` holds. */
Term *term_cofactor(Terms *ts, Term *term, Term *c);
typedef Term *TermFn2(Terms *ts, Term *x, Term *y);
Term *term_make(Terms *ts, Term key);
uint64_t term_mask(unsigned width);
bool term_const_leaves(const Term *term, unsigned *budget);
Term *term_lift(Terms *ts, TermFn2 *fn2, Term *term, Term *y);
Term *term_product(Terms *ts, Term *product); /* a TK_AND as a term that may stand alone */
uint32_t term_possible_of(const Term *term);  /* for term_make alone: from its operands */
static inline uint32_t term_possible(const Term *term) { return term->possible; }
bool term_at_most(const Term *term, uint32_t max); /* width 32: known to be 0 .. max */
static inline unsigned log2_of(uint64_t c) { return (unsigned)__builtin_ctzll(c); }
static inline bool is_pow2(uint64_t c) { return c && !(c & (c - 1)); }
/* Of a sum and its complement, -x - 1, only the one whose first coefficient is positive is an atom elsewhere.
 */
bool term_is_inverse(const Term *term);
/* x of a x << n | c that is a sum, c in the bits that the shift leaves; else NULL. */
Term *term_without_constant(Terms *ts, const Term *term);
Term *term_complement(Terms *ts, Term *x); /* ~x as a sum */
/* The z of sign extension (z << n) >> n, NULL; *n is set. */
Term *term_extended(Terms *ts, const Term *shifted, unsigned *n);
/* What an operation of floats that rounds to nearest computes; false: it is another one. */
bool term_float_op(const char *name, unsigned width, const uint64_t v[3], uint64_t *out);
/* A decision between few constants. */
bool term_is_decided(const Term *term);
enum { TERM_MOST_DECIDED = 160 }; /* as many as a sum has entries */
/* The entries of a sum that are such, n, in one form: their number then. There is room for twice as many.
 * What all of their constants have in common is added to *constant. */
unsigned term_fold_decided(Terms *ts, TermPair *entries, unsigned n, unsigned width, uint64_t *constant);
/* A term of width 32 that is equal modulo 2^bits, the same for all that are, as far as sums, products and
 * masks tell; any other term as it is. */
Term *term_congruent(Terms *ts, Term *term, unsigned bits);
#endif
