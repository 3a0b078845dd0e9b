/* What the files of the term module share.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_TERM_INTERNAL_H
#define HEDDLE_CHECK_PROVE_TERM_INTERNAL_H
#include "check/prove/term.h"

typedef Term *TermFn2(Terms *ts, Term *x, Term *y);
Term *term_make(Terms *ts, Term key);
uint64_t term_mask(unsigned width);
bool term_const_leaves(const Term *term, unsigned *budget);
Term *term_lift(Terms *ts, TermFn2 *fn2, Term *term, Term *y);
Term *term_product(Terms *ts, Term *product);      /* a TK_AND as a term that may stand alone */
uint32_t term_possible(const Term *term);          /* width 32: bits that may be one */
bool term_at_most(const Term *term, uint32_t max); /* width 32: known to be 0 .. max */
static inline unsigned log2_of(uint64_t c) { return (unsigned)__builtin_ctzll(c); }
static inline bool is_pow2(uint64_t c) { return c && !(c & (c - 1)); }
/* Of a sum and its complement, -x - 1, only the one whose first coefficient is positive is an atom elsewhere.
 */
bool term_is_inverse(const Term *term);
Term *term_complement(Terms *ts, Term *x); /* ~x as a sum */
/* The z of sign extension (z << n) >> n, NULL; *n is set. */
Term *term_extended(Terms *ts, const Term *shifted, unsigned *n);
/* A term of width 32 that is equal modulo 2^bits, the same for all that are, as far as sums, products and
 * masks tell; any other term as it is. */
Term *term_congruent(Terms *ts, Term *term, unsigned bits);
#endif
