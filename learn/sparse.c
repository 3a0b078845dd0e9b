/* A key may have thousands of unknowns: each word that is an operand of its own is one (LEPC, special
 * registers, names of shapes). Nearly all stand in few rows and weigh 1 there, so that they go without a
 * dense matrix:
 *
 *     1 a + r5 + 2 r7  = c       pivot a:  rows that have a lose it by subtracting this one;
 *     1 a + r5 + 3 r8  = d       what is left of the second: 3 r8 - 2 r7 = d - c
 *
 * Rare unknowns go first, and of their rows the shortest is the pivot. Pivots are 1 or -1, so that all
 * numbers stay integers. What is left, a few dozen unknowns in all the keys seen, is solved by FLINT
 * (solve.c). A row is in the span if, without the pivots, it is in the span of the rest: nothing is ever
 * substituted back. SPDX-License-Identifier: MIT */
#include "learn/sparse.h"
#include "base/scope.h"
#include <stdlib.h>
#include <string.h>

enum { FEW = 64, LONG_ROW = 256 }; /* features that the dense solver takes soon; entries of a pivot's row */

typedef struct {
    uint32_t *rows; /* that had the feature once */
    uint32_t n, cap, count;
    bool tried; /* no row of it is a pivot, or numbers got too large */
} Column;

typedef struct {
    LearnPivots *out;
    SparseRow *rows;
    uint32_t nrows, nactive; /* features with rows and without a pivot */
    Column *columns;
    bool *taken; /* rows that are pivots */
} Elimination;

/* ---- rows ---- */
static uint32_t entry_at(const SparseRow *row, uint32_t feature) {
    uint32_t lo = 0, hi = row->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (row->entries[mid].feature < feature)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int64_t row_value_of(const SparseRow *row, uint32_t feature) {
    uint32_t at = entry_at(row, feature);
    return at < row->n && row->entries[at].feature == feature ? row->entries[at].value : 0;
}

void learn_sparse_row_free(SparseRow *row) {
    mem_free(row->entries);
    fmpz_clear(&row->word);
    *row = (SparseRow){0};
}

/* a - factor b, into out[]; false: a number is too large. */
static bool subtract(const SparseRow *a, const SparseRow *b, int64_t factor, LearnEntry *out,
                     uint32_t *nout) {
    uint32_t i = 0, k = 0, n = 0;
    while (i < a->n || k < b->n) {
        bool has_a = i < a->n && (k == b->n || a->entries[i].feature <= b->entries[k].feature);
        bool has_b = k < b->n && (i == a->n || b->entries[k].feature <= a->entries[i].feature);
        LearnEntry sum = has_a ? a->entries[i] : (LearnEntry){b->entries[k].feature, 0};
        int64_t part = 0;
        if (has_b && (__builtin_mul_overflow(factor, b->entries[k].value, &part) ||
                      __builtin_sub_overflow(sum.value, part, &sum.value)))
            return false;
        if (sum.value)
            out[n++] = sum;
        i += has_a;
        k += has_b;
    }
    *nout = n;
    return true;
}

/* ---- columns ---- */
static void column_add(Elimination *e, uint32_t feature, uint32_t row) {
    Column *column = &e->columns[feature];
    if (column->n == column->cap) {
        column->cap = column->cap ? column->cap * 2 : 4;
        column->rows = mem_resize(column->rows, sizeof(uint32_t) * column->cap);
    }
    column->rows[column->n++] = row;
}

static void count_entries(Elimination *e, const SparseRow *row, bool more) {
    for (uint32_t i = 0; i < row->n; i++) {
        Column *column = &e->columns[row->entries[i].feature];
        uint32_t before = column->count;
        column->count = more ? before + 1 : before - 1;
        e->nactive += before == 0;
        e->nactive -= column->count == 0;
    }
}

static void set_row(Elimination *e, uint32_t row, const LearnEntry *entries, uint32_t n) {
    SparseRow *to = &e->rows[row];
    count_entries(e, to, false);
    for (uint32_t i = 0; i < n; i++)
        if (!row_value_of(to, entries[i].feature))
            column_add(e, entries[i].feature, row);
    if (n > to->cap) {
        to->cap = n;
        to->entries = mem_resize(to->entries, sizeof(LearnEntry) * n);
    }
    if (n)
        memcpy(to->entries, entries, sizeof(LearnEntry) * n);
    to->n = n;
    count_entries(e, to, true);
}

/* The shortest row in which the feature weighs 1 or -1; false if there is none. */
static bool find_pivot(const Elimination *e, uint32_t feature, uint32_t *pivot) {
    const Column *column = &e->columns[feature];
    bool found = false;
    for (uint32_t i = 0; i < column->n; i++) {
        const SparseRow *row = &e->rows[column->rows[i]];
        int64_t value = e->taken[column->rows[i]] ? 0 : row_value_of(row, feature);
        if ((value == 1 || value == -1) && row->n < LONG_ROW && (!found || row->n < e->rows[*pivot].n)) {
            *pivot = column->rows[i];
            found = true;
        }
    }
    return found;
}

static void take_pivot(Elimination *e, uint32_t feature, uint32_t row) {
    LearnPivots *out = e->out;
    uint32_t k = out->n++;
    count_entries(e, &e->rows[row], false);
    out->features[k] = feature;
    out->signs[k] = (int8_t)row_value_of(&e->rows[row], feature);
    out->rows[k] = e->rows[row];
    out->order[feature] = k + 1;
    e->rows[row] = (SparseRow){0};
    e->taken[row] = true;
}

/* Out of all rows but the pivot's. False: a row is empty and its word is not 0. */
static bool eliminate(Elimination *e, uint32_t feature, uint32_t pivot, uint32_t *bad) {
    Column *column = &e->columns[feature];
    const SparseRow *row = &e->rows[pivot];
    int64_t sign = row_value_of(row, feature);
    for (uint32_t i = 0; i < column->n; i++) {
        uint32_t other = column->rows[i], n;
        int64_t value = other == pivot || e->taken[other] ? 0 : row_value_of(&e->rows[other], feature);
        if (!value)
            continue;
        LearnEntry *out = mem_alloc(sizeof *out * (row->n + e->rows[other].n));
        bool fits = value != INT64_MIN && subtract(&e->rows[other], row, value * sign, out, &n);
        if (fits) {
            fmpz_t part;
            fmpz_init(part);
            fmpz_mul_si(part, &row->word, value * sign);
            fmpz_sub(&e->rows[other].word, &e->rows[other].word, part);
            fmpz_clear(part);
            set_row(e, other, out, n);
        }
        mem_free(out);
        if (fits && !n && !fmpz_is_zero(&e->rows[other].word)) {
            *bad = other;
            return false;
        }
        column->tried |= !fits;
    }
    if (!column->tried) /* else it stays in some rows, and so in the rest */
        take_pivot(e, feature, pivot);
    return true;
}

static bool eliminate_rare(Elimination *e, uint32_t most, uint32_t *bad) {
    for (uint32_t feature = 0; feature < e->out->nfeatures && e->nactive > FEW; feature++) {
        Column *column = &e->columns[feature];
        uint32_t pivot = 0;
        if (!column->count || column->count > most || column->tried || e->out->order[feature])
            continue;
        if (!find_pivot(e, feature, &pivot))
            column->tried = column->count <= most / 2; /* rows get shorter: it is asked once more */
        else if (!eliminate(e, feature, pivot, bad))
            return false;
    }
    return true;
}

static void number_rest(Elimination *e) {
    LearnPivots *out = e->out;
    for (uint32_t feature = 0; feature < out->nfeatures; feature++)
        if (e->columns[feature].count && !out->order[feature])
            out->rest[feature] = ++out->nrest;
    for (uint32_t r = 0; r < e->nrows; r++)
        for (uint32_t i = 0; i < e->rows[r].n; i++)
            e->rows[r].entries[i].feature = out->rest[e->rows[r].entries[i].feature] - 1;
}

bool learn_sparse_eliminate(LearnPivots *pivots, SparseRow *rows, uint32_t nrows, uint32_t nfeatures,
                            uint32_t *bad) {
    Elimination e = {.out = pivots, .rows = rows, .nrows = nrows};
    e.columns = mem_zeroed(nfeatures + 1, sizeof *e.columns);
    e.taken = mem_zeroed(nrows + 1, sizeof *e.taken);
    *pivots = (LearnPivots){.nfeatures = nfeatures};
    pivots->rows = mem_zeroed(nfeatures + 1, sizeof *pivots->rows);
    pivots->features = mem_zeroed(nfeatures + 1, sizeof *pivots->features);
    pivots->signs = mem_zeroed(nfeatures + 1, sizeof *pivots->signs);
    pivots->order = mem_zeroed(nfeatures + 1, sizeof *pivots->order);
    pivots->rest = mem_zeroed(nfeatures + 1, sizeof *pivots->rest);
    for (uint32_t r = 0; r < nrows; r++) {
        count_entries(&e, &rows[r], true);
        for (uint32_t i = 0; i < rows[r].n; i++)
            column_add(&e, rows[r].entries[i].feature, r);
    }
    bool good = true;
    for (uint32_t most = 1; good && e.nactive > FEW && most / 2 <= nrows; most *= 2)
        good = eliminate_rare(&e, most, bad);
    if (good)
        number_rest(&e);
    for (uint32_t feature = 0; feature < nfeatures; feature++)
        mem_free(e.columns[feature].rows);
    mem_free(e.columns);
    mem_free(e.taken);
    return good;
}

/* ---- questions ---- */
bool learn_sparse_reduce(const LearnPivots *pivots, const LearnEntry *entries, uint32_t nentries,
                         LearnEntry *out, uint32_t *nout, fmpz_t word) {
    SparseRow row = {.n = nentries}, pivot;
    uint32_t room = nentries + 1;
    row.entries = mem_alloc(sizeof *row.entries * room);
    memcpy(row.entries, entries, sizeof *entries * nentries);
    qsort(row.entries, row.n, sizeof *row.entries, learn_entry_order);
    fmpz_zero(word);
    bool good = true;
    for (;;) {
        uint32_t first = UINT32_MAX;
        for (uint32_t i = 0; i < row.n; i++) {
            uint32_t order = pivots->order[row.entries[i].feature];
            first = order && order < first ? order : first;
        }
        if (first == UINT32_MAX)
            break;
        pivot = pivots->rows[first - 1];
        int64_t factor = row_value_of(&row, pivots->features[first - 1]);
        good = factor != INT64_MIN;
        factor = good ? factor * pivots->signs[first - 1] : 0;
        LearnEntry *next = mem_alloc(sizeof *next * (row.n + pivot.n + 1));
        good = good && subtract(&row, &pivot, factor, next, &row.n);
        mem_free(row.entries);
        row.entries = next;
        if (!good)
            break;
        fmpz_t part;
        fmpz_init(part);
        fmpz_mul_si(part, &pivot.word, factor);
        fmpz_add(word, word, part);
        fmpz_clear(part);
    }
    *nout = 0;
    for (uint32_t i = 0; good && i < row.n; i++) {
        uint32_t feature = pivots->rest[row.entries[i].feature];
        good = feature != 0;
        if (good)
            out[(*nout)++] = (LearnEntry){feature - 1, row.entries[i].value};
    }
    mem_free(row.entries);
    return good;
}

void learn_sparse_free(LearnPivots *pivots) {
    for (uint32_t k = 0; k < pivots->n; k++)
        learn_sparse_row_free(&pivots->rows[k]);
    mem_free(pivots->rows);
    mem_free(pivots->features);
    mem_free(pivots->signs);
    mem_free(pivots->order);
    mem_free(pivots->rest);
    *pivots = (LearnPivots){0};
}
