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

/* Zero-initialise; learn_system_free releases. */
typedef struct {
    uint32_t nfeatures, rank, nullity;
    fmpz *weights;    /* nfeatures, times `den`: one solution, 0 where any would do */
    fmpz *null_space; /* nfeatures rows of `nullity`: a row x is in the span if x times each column is 0 */
    bool *determined; /* nfeatures: this weight is the same in every solution */
    fmpz_t den;
} LearnSystem;

/* Weights of all rows. False: they do not agree, and *bad is a row that does not fit those before it; the
 * system is then empty. */
bool learn_system_solve(LearnSystem *system, const LearnRow *rows, uint32_t nrows, uint32_t nfeatures,
                        uint32_t *bad);
void learn_system_free(LearnSystem *system);

typedef enum {
    LEARN_SPAN_OUTSIDE,
    LEARN_SPAN_WORD,
    LEARN_SPAN_NO_WORD /* in the span, and what comes out is no word: not an integer of 128 bits */
} LearnSpan;
/* What the row's word is. */
LearnSpan learn_system_word(const LearnSystem *system, const LearnEntry *entries, uint32_t nentries,
                            uint64_t word[2]);
/* The weight of a feature that is determined; false if it is not, or no integer. */
bool learn_system_weight(const LearnSystem *system, uint32_t feature, uint64_t magnitude[2], bool *negative);
#endif
