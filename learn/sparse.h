/* Sparse elimination before the exact dense one: see sparse.c. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LEARN_SPARSE_H
#define HEDDLE_LEARN_SPARSE_H
#include "learn/solve.h"

typedef struct { /* of an integer system; entries ascend by feature, none is 0 */
    LearnEntry *entries;
    uint32_t n, cap;
    fmpz word;
} SparseRow;

/* Pivots in the order in which they were taken: `features[k]` stands with `signs[k]`, 1 or -1, in rows[k],
 * and in no row after it nor in the rest. */
typedef struct LearnPivots {
    SparseRow *rows;
    uint32_t *features;
    int8_t *signs;
    uint32_t n, nfeatures;
    uint32_t *order; /* of each feature: its pivot's index + 1; 0: it is of the rest, or in no row */
    uint32_t *rest;  /* of each feature: its number in the rest + 1; 0: none of its rows has it */
    uint32_t nrest;
} LearnPivots;

/* Eliminate what can be at little cost, with pivots 1 and -1. The rest are those of `rows` that keep entries,
 * numbered anew; the others are empty. False: row *bad contradicts others. */
bool learn_sparse_eliminate(LearnPivots *pivots, SparseRow *rows, uint32_t nrows, uint32_t nfeatures,
                            uint32_t *bad);
/* What is left of a row when the pivots are subtracted: entries of the rest, to `out` (nrest at most), and
 * what they add to the word. False: it has a feature that no row of the rest has, or numbers get too large.
 */
bool learn_sparse_reduce(const LearnPivots *pivots, const LearnEntry *entries, uint32_t nentries,
                         LearnEntry *out, uint32_t *nout, fmpz_t word);
void learn_sparse_free(LearnPivots *pivots);
void learn_sparse_row_free(SparseRow *row);
#endif
