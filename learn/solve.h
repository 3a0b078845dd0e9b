/* Exact systems V w = c: V small integers, c words of 128 bits, w rational. See solve.c.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LEARN_SOLVE_H
#define HEDDLE_LEARN_SOLVE_H
#include <flint/fmpz.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct { /* of a sparse row; each feature at most once */
    uint32_t feature;
    int64_t value;
} LearnEntry;

typedef struct {
    const LearnEntry *entries;
    uint32_t nentries;
    const uint64_t *word; /* [2] */
} LearnRow;

/* Zero-initialise; learn_system_free releases. Features that pivots do not take are of the core, all where
 * there are no pivots. */
typedef struct {
    uint32_t nfeatures, rank, nullity;
    struct LearnPivots *pivots; /* of large systems (sparse.h), else NULL */
    uint32_t ncore, ncolumns;
    fmpz *weights;    /* ncore, times `den`: one solution, 0 where any would do */
    fmpz *null_space; /* ncore rows of `ncolumns`: a row x is in the span if x times each column is 0 */
    fmpz_t den;
} LearnSystem;

/* Weights of all rows. False: they do not agree, and *bad is a row that does not fit those before it; the
 * system is then empty. */
bool learn_system_solve(LearnSystem *system, const LearnRow *rows, uint32_t nrows, uint32_t nfeatures,
                        uint32_t *bad);
void learn_system_free(LearnSystem *system);
int learn_entry_order(const void *x, const void *y); /* of entries, by feature: for qsort */

typedef enum {
    LEARN_SPAN_OUTSIDE,
    LEARN_SPAN_WORD,
    LEARN_SPAN_NO_WORD /* in the span, and what comes out is no word: not an integer of 128 bits */
} LearnSpan;
/* What the row's word is. */
LearnSpan learn_system_word(const LearnSystem *system, const LearnEntry *entries, uint32_t nentries,
                            uint64_t word[2]);
/* What a row adds up to; false if that is open, or no integer. */
bool learn_system_value(const LearnSystem *system, const LearnEntry *entries, uint32_t nentries,
                        uint64_t magnitude[2], bool *negative);
/* The weight of a feature that is determined; likewise. */
bool learn_system_weight(const LearnSystem *system, uint32_t feature, uint64_t magnitude[2], bool *negative);
#endif
