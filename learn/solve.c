/* Exact systems V w = c. Large ones are made small first by sparse elimination (sparse.c); what follows is of
 * the rest. Rows that depend on those before them say nothing new, so first the independent ones are found,
 * by elimination modulo a prime: what is independent there is independent. FLINT brings these, r rows with
 * the words in a last column, into reduced echelon form over the integers,
 *
 *     [ d . . a | e ]      d w0 + a w3 = e     the weight of a feature without a pivot is free: 0 is taken
 *     [ . d . b | f ]      d w1 + b w3 = f
 *     [ . . d g | h ]      d w2 + g w3 = h     null space: one column (-a -b -g d) for each free feature
 *
 * Then every row is tested against that, exactly: x N = 0 says that it lies in the span, x w = d c that it
 * agrees. A row that was dependent modulo the prime alone fails the first test and joins the others. (Where
 * numbers of the sparse elimination get too large, all is done without it.)
 * SPDX-License-Identifier: MIT */
#include "learn/solve.h"
#include "base/scope.h"
#include "learn/sparse.h"
#include <flint/fmpz_mat.h>
#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 64 }; /* features of a system that is dense at once */

/* 2^61 - 1 */
#define PRIME (((uint64_t)1 << 61) - 1)

__extension__ typedef unsigned __int128 Product;

static uint64_t mod_multiply(uint64_t a, uint64_t b) { return (uint64_t)((Product)a * b % PRIME); }

static uint64_t mod_inverse(uint64_t a) {
    uint64_t power = a, result = 1;
    for (uint64_t e = PRIME - 2; e; e >>= 1, power = mod_multiply(power, power))
        if (e & 1)
            result = mod_multiply(result, power);
    return result;
}

static uint64_t mod_value(int64_t v) {
    int64_t rest = v % (int64_t)PRIME;
    return (uint64_t)(rest < 0 ? rest + (int64_t)PRIME : rest);
}

/* Rows in echelon form modulo the prime. */
typedef struct {
    uint64_t *rows; /* rank rows of n */
    uint32_t *pivots;
    uint32_t n, rank, cap;
} Echelon;

/* Is the row independent of those before? Then it is one of them. */
static bool echelon_add(Echelon *echelon, const SparseRow *row) {
    uint32_t n = echelon->n;
    if (echelon->rank == echelon->cap) {
        echelon->cap = echelon->cap ? echelon->cap * 2 : 8;
        echelon->rows = mem_resize(echelon->rows, sizeof(uint64_t) * n * echelon->cap);
        echelon->pivots = mem_resize(echelon->pivots, sizeof(uint32_t) * echelon->cap);
    }
    uint64_t *out = echelon->rows + (size_t)n * echelon->rank;
    memset(out, 0, sizeof(uint64_t) * n);
    for (uint32_t i = 0; i < row->n; i++)
        out[row->entries[i].feature] = mod_value(row->entries[i].value);
    for (uint32_t r = 0; r < echelon->rank; r++) {
        const uint64_t *other = echelon->rows + (size_t)n * r;
        uint64_t factor = out[echelon->pivots[r]];
        for (uint32_t i = echelon->pivots[r]; factor && i < n; i++)
            if (other[i])
                out[i] = (out[i] + PRIME - mod_multiply(factor, other[i])) % PRIME;
    }
    uint32_t pivot = 0;
    while (pivot < n && !out[pivot])
        pivot++;
    if (pivot == n)
        return false;
    uint64_t scale = mod_inverse(out[pivot]);
    for (uint32_t i = pivot; i < n; i++)
        out[i] = mod_multiply(out[i], scale);
    echelon->pivots[echelon->rank++] = pivot;
    return true;
}

static void word_to_fmpz(fmpz_t out, const uint64_t word[2]) {
    fmpz_set_ui(out, word[1]);
    fmpz_mul_2exp(out, out, 64);
    fmpz_add_ui(out, out, word[0]);
}

/* False: no number of 128 bits. */
static bool fmpz_to_word(const fmpz_t value, uint64_t word[2]) {
    if (fmpz_sgn(value) < 0 || fmpz_bits(value) > 128)
        return false;
    fmpz_t high;
    fmpz_init(high);
    fmpz_fdiv_q_2exp(high, value, 64);
    word[1] = fmpz_get_ui(high);
    fmpz_fdiv_r_2exp(high, value, 64);
    word[0] = fmpz_get_ui(high);
    fmpz_clear(high);
    return true;
}

/* The system of the chosen rows alone: weights and null space of their echelon form. */
static void system_of(LearnSystem *system, const SparseRow *rows, const uint32_t *chosen, uint32_t rank) {
    uint32_t nfeatures = system->ncore;
    fmpz_mat_t matrix;
    fmpz_mat_init(matrix, rank, nfeatures + 1);
    for (uint32_t r = 0; r < rank; r++) {
        const SparseRow *row = &rows[chosen[r]];
        for (uint32_t i = 0; i < row->n; i++)
            fmpz_set_si(fmpz_mat_entry(matrix, r, row->entries[i].feature), row->entries[i].value);
        fmpz_set(fmpz_mat_entry(matrix, r, nfeatures), &row->word);
    }
    fmpz_init(system->den);
    fmpz_one(system->den);
    if (rank)
        fmpz_mat_rref(matrix, system->den, matrix);
    system->ncolumns = nfeatures - rank;
    system->rank = rank + (system->pivots ? system->pivots->n : 0);
    system->nullity = system->nfeatures - system->rank;
    system->weights = _fmpz_vec_init(nfeatures);
    system->null_space = _fmpz_vec_init((slong)nfeatures * system->ncolumns);
    uint32_t *pivots = mem_zeroed(rank + 1, sizeof(uint32_t));
    for (uint32_t r = 0; r < rank; r++) {
        while (fmpz_is_zero(fmpz_mat_entry(matrix, r, pivots[r])))
            pivots[r]++;
        fmpz_set(&system->weights[pivots[r]], fmpz_mat_entry(matrix, r, nfeatures));
    }
    uint32_t column = 0;
    for (uint32_t feature = 0, r = 0; feature < nfeatures; feature++) {
        if (r < rank && pivots[r] == feature) {
            r++;
            continue;
        }
        for (uint32_t k = 0; k < rank; k++) {
            const fmpz *entry = fmpz_mat_entry(matrix, k, feature);
            fmpz_neg(&system->null_space[(size_t)pivots[k] * system->ncolumns + column], entry);
        }
        fmpz_set(&system->null_space[(size_t)feature * system->ncolumns + column++], system->den);
    }
    mem_free(pivots);
    fmpz_mat_clear(matrix);
}

static bool is_in_span(const LearnSystem *system, const LearnEntry *entries, uint32_t nentries) {
    if (!system->ncolumns)
        return true;
    fmpz_t sum;
    fmpz_init(sum);
    bool good = true;
    for (uint32_t column = 0; good && column < system->ncolumns; column++) {
        fmpz_zero(sum);
        for (uint32_t i = 0; i < nentries; i++) {
            const fmpz *at = &system->null_space[(size_t)entries[i].feature * system->ncolumns + column];
            if (entries[i].value >= 0)
                fmpz_addmul_ui(sum, at, (ulong)entries[i].value);
            else
                fmpz_submul_ui(sum, at, 0 - (ulong)entries[i].value);
        }
        good = fmpz_is_zero(sum);
    }
    fmpz_clear(sum);
    return good;
}

/* What a row of the core adds up to; *whole: it is an integer. False: it is outside the span. */
static bool core_value(const LearnSystem *system, const LearnEntry *entries, uint32_t nentries, fmpz_t sum,
                       bool *whole) {
    if (!is_in_span(system, entries, nentries))
        return false;
    fmpz_t product;
    fmpz_init(product);
    fmpz_zero(sum);
    for (uint32_t i = 0; i < nentries; i++) {
        fmpz_mul_si(product, &system->weights[entries[i].feature], entries[i].value);
        fmpz_add(sum, sum, product);
    }
    fmpz_clear(product);
    *whole = fmpz_divisible(sum, system->den);
    if (*whole)
        fmpz_divexact(sum, sum, system->den);
    return true;
}

/* Likewise of any row. */
static bool row_value(const LearnSystem *system, const LearnEntry *entries, uint32_t nentries, fmpz_t sum,
                      bool *whole) {
    if (!system->rank)
        return false;
    if (!system->pivots)
        return core_value(system, entries, nentries, sum, whole);
    LearnEntry *core = mem_alloc(sizeof *core * (system->ncore + 1));
    uint32_t ncore;
    fmpz_t word;
    fmpz_init(word);
    bool good = learn_sparse_reduce(system->pivots, entries, nentries, core, &ncore, word) &&
                core_value(system, core, ncore, sum, whole);
    fmpz_add(sum, sum, word);
    fmpz_clear(word);
    mem_free(core);
    return good;
}

LearnSpan learn_system_word(const LearnSystem *system, const LearnEntry *entries, uint32_t nentries,
                            uint64_t word[2]) {
    bool whole = false;
    fmpz_t sum;
    fmpz_init(sum);
    bool inside = row_value(system, entries, nentries, sum, &whole);
    whole = inside && whole && fmpz_to_word(sum, word);
    fmpz_clear(sum);
    return !inside ? LEARN_SPAN_OUTSIDE : whole ? LEARN_SPAN_WORD : LEARN_SPAN_NO_WORD;
}

bool learn_system_value(const LearnSystem *system, const LearnEntry *entries, uint32_t nentries,
                        uint64_t magnitude[2], bool *negative) {
    bool whole = false;
    fmpz_t value;
    fmpz_init(value);
    bool good = row_value(system, entries, nentries, value, &whole) && whole;
    *negative = good && fmpz_sgn(value) < 0;
    fmpz_abs(value, value);
    good = good && fmpz_to_word(value, magnitude);
    fmpz_clear(value);
    return good;
}

/* A weight is the same in every solution if the row that has it alone is in the span. */
bool learn_system_weight(const LearnSystem *system, uint32_t feature, uint64_t magnitude[2], bool *negative) {
    LearnEntry alone = {feature, 1};
    *negative = false;
    return feature < system->nfeatures && learn_system_value(system, &alone, 1, magnitude, negative);
}

/* The first row that the system does not give; nrows if there is none. */
static uint32_t first_misfit(const LearnSystem *system, const LearnRow *rows, uint32_t nrows,
                             LearnSpan *how) {
    for (uint32_t r = 0; r < nrows; r++) {
        uint64_t word[2];
        *how = learn_system_word(system, rows[r].entries, rows[r].nentries, word);
        if (*how != LEARN_SPAN_WORD || word[0] != rows[r].word[0] || word[1] != rows[r].word[1])
            return r;
    }
    return nrows;
}

int learn_entry_order(const void *x, const void *y) {
    const LearnEntry *a = x, *b = y;
    return a->feature < b->feature ? -1 : a->feature > b->feature;
}

static SparseRow *copy_rows(const LearnRow *rows, uint32_t nrows) {
    SparseRow *copy = mem_zeroed(nrows + 1, sizeof *copy);
    for (uint32_t r = 0; r < nrows; r++) {
        copy[r].n = copy[r].cap = rows[r].nentries;
        copy[r].entries = mem_alloc(sizeof(LearnEntry) * (rows[r].nentries + 1));
        memcpy(copy[r].entries, rows[r].entries, sizeof(LearnEntry) * rows[r].nentries);
        qsort(copy[r].entries, copy[r].n, sizeof(LearnEntry), learn_entry_order);
        word_to_fmpz(&copy[r].word, rows[r].word);
    }
    return copy;
}

/* The system of the rest's independent rows; which they are is found modulo the prime. */
static void solve_core(LearnSystem *system, const SparseRow *core, uint32_t nrows, uint32_t *chosen,
                       uint32_t *rank) {
    Echelon echelon = {.n = system->ncore};
    for (uint32_t r = 0; r < nrows && *rank < system->ncore; r++)
        if (core[r].n && echelon_add(&echelon, &core[r]))
            chosen[(*rank)++] = r;
    mem_free(echelon.rows);
    mem_free(echelon.pivots);
    system_of(system, core, chosen, *rank);
}

static void free_core(LearnSystem *system) {
    if (system->weights) {
        _fmpz_vec_clear(system->weights, system->ncore);
        _fmpz_vec_clear(system->null_space, (slong)system->ncore * system->ncolumns);
        fmpz_clear(system->den);
    }
    system->weights = system->null_space = NULL;
}

/* With sparse elimination or without. False: they do not agree, or with it *again: it cannot say. */
static bool solve_with(LearnSystem *system, bool sparse, const LearnRow *rows, uint32_t nrows, uint32_t *bad,
                       bool *again) {
    SparseRow *core = copy_rows(rows, nrows);
    uint32_t *chosen = mem_alloc(sizeof(uint32_t) * (nrows + 1)), rank = 0;
    bool good = true;
    *again = false;
    system->ncore = system->nfeatures;
    if (sparse) {
        system->pivots = mem_zeroed(1, sizeof *system->pivots);
        good = learn_sparse_eliminate(system->pivots, core, nrows, system->nfeatures, bad);
        system->ncore = system->pivots->nrest;
    }
    if (good)
        solve_core(system, core, nrows, chosen, &rank);
    while (good) {
        LearnSpan how;
        *bad = first_misfit(system, rows, nrows, &how);
        if (*bad == nrows)
            break;
        good = how == LEARN_SPAN_OUTSIDE;
        *again = good && (sparse && !core[*bad].n);
        if (!good || *again || rank == nrows)
            break;
        free_core(system); /* independent after all */
        chosen[rank++] = *bad;
        system_of(system, core, chosen, rank);
    }
    for (uint32_t r = 0; r < nrows; r++)
        learn_sparse_row_free(&core[r]);
    mem_free(core);
    mem_free(chosen);
    return good && *bad == nrows;
}

bool learn_system_solve(LearnSystem *system, const LearnRow *rows, uint32_t nrows, uint32_t nfeatures,
                        uint32_t *bad) {
    bool again = false;
    learn_system_free(system);
    system->nfeatures = nfeatures;
    bool good = solve_with(system, nfeatures > SMALL, rows, nrows, bad, &again);
    if (again) {
        learn_system_free(system);
        system->nfeatures = nfeatures;
        good = solve_with(system, false, rows, nrows, bad, &again);
    }
    if (!good)
        learn_system_free(system);
    return good;
}

void learn_system_free(LearnSystem *system) {
    free_core(system);
    if (system->pivots)
        learn_sparse_free(system->pivots);
    mem_free(system->pivots);
    *system = (LearnSystem){0};
}
