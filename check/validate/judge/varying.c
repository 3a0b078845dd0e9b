/* What orders of threads make of one allocation: see varying.h.
 *
 * A sum of floating-point numbers differs in its last bits as a whole element, and may do so by as much as
 * others of its buffer. What else orders change has a value that one of them gave it, or, since few orders
 * are tried and a queue has many, one that they gave to any element of the buffer; a floating-point number
 * may also lie between two of its own values, or as near to them as a few times what they are apart.
 * SPDX-License-Identifier: MIT */
#include "check/validate/judge/varying.h"
#include "base/scope.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
    MOST_ULPS = 64,
    SPREAD_FACTOR = 4,
    WORD_BYTES = 4,       /* where the type is not known */
    MOST_VALUES = 1 << 22 /* more are not kept: they count as never seen */
};
static const double FAR_AWAY = 0x1p-13; /* from a sum, by the sum: no rounding comes that far */

static bool has_floats(const Varying *varying) { return varying->type && varying->type->kind == 'f'; }

static uint32_t size_at(const Varying *varying, const SimAlloc *alloc, uint64_t at) {
    return alloc->size_bytes - at < varying->step_bytes ? (uint32_t)(alloc->size_bytes - at)
                                                        : varying->step_bytes;
}

static uint64_t value_at(const Varying *varying, const SimAlloc *alloc, uint64_t at) {
    uint64_t value = 0;
    memcpy(&value, alloc->data + at, size_at(varying, alloc, at));
    return value;
}

static uint64_t arranged(const Varying *varying, const SimAlloc *alloc) {
    uint64_t sum = 0;
    for (uint64_t at = 0; at < alloc->size_bytes; at += varying->step_bytes) {
        uint64_t value = value_at(varying, alloc, at);
        sum += XXH64(&value, sizeof value, 0);
    }
    return sum;
}

void judge_varying_begin(Varying *varying, const Scalar *type, const SimAlloc *first, bool open) {
    varying->type = type;
    varying->open = open;
    varying->step_bytes = type ? type->size_bytes : WORD_BYTES;
    varying->sums = varying->permutes = true;
    varying->arranged = arranged(varying, first);
}

/* ---- values that were seen ---- */

static int by_value(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void sort_values(Varying *varying) {
    uint32_t kept = 0;
    if (varying->nsorted == varying->values.n)
        return;
    qsort(varying->values.at, varying->values.n, sizeof *varying->values.at, by_value);
    for (uint32_t i = 0; i < varying->values.n; i++)
        if (i == 0 || varying->values.at[i] != varying->values.at[kept - 1])
            varying->values.at[kept++] = varying->values.at[i];
    varying->values.n = varying->nsorted = kept;
}

/* Most orders give the values of the ones before: the double ones go before the array grows. */
static void keep_value(Varying *varying, uint64_t value) {
    if (varying->values.n == varying->values.cap && varying->nsorted < varying->values.n / 2)
        sort_values(varying);
    if (varying->values.n < MOST_VALUES)
        VEC_ADD(&varying->arena, &varying->values, value);
}

static bool was_seen(Varying *varying, uint64_t value) {
    sort_values(varying);
    return varying->values.n > 0 &&
           bsearch(&value, varying->values.at, varying->values.n, sizeof value, by_value) != NULL;
}

/* ---- orders ---- */

static void widen(Varying *varying, uint64_t element, double value) {
    if (!isfinite(value))
        return;
    varying->low[element] = fmin(varying->low[element], value);
    varying->high[element] = fmax(varying->high[element], value);
}

static void first_change(Varying *varying, const SimAlloc *first) {
    uint64_t n = first->size_bytes / varying->step_bytes + 1;
    varying->changes = mem_zeroed(n, 1);
    if (!has_floats(varying)) {
        varying->sums = false;
        return;
    }
    varying->low = mem_zeroed(n, sizeof *varying->low);
    varying->high = mem_zeroed(n, sizeof *varying->high);
}

static void keep_change(Varying *varying, const SimAlloc *first, const SimAlloc *other, uint64_t at) {
    uint64_t element = at / varying->step_bytes;
    bool is_new = !varying->changes[element];
    varying->changes[element] = 1;
    if (is_new)
        keep_value(varying, value_at(varying, first, at));
    keep_value(varying, value_at(varying, other, at));
    if (!has_floats(varying) || size_at(varying, first, at) < varying->step_bytes)
        return;
    uint64_t ulps = scalar_ulps(varying->type, first->data + at, other->data + at);
    if (ulps <= MOST_ULPS && ulps > varying->ulps)
        varying->ulps = ulps;
    varying->sums &= ulps <= MOST_ULPS;
    if (is_new) {
        varying->low[element] = HUGE_VAL;
        varying->high[element] = -HUGE_VAL;
        widen(varying, element, scalar_value(varying->type, first->data + at));
    }
    widen(varying, element, scalar_value(varying->type, other->data + at));
}

bool judge_varying_add(Varying *varying, const SimAlloc *first, const SimAlloc *other) {
    if (memcmp(first->data, other->data, first->size_bytes) == 0)
        return false;
    if (!varying->changes)
        first_change(varying, first);
    varying->permutes &= arranged(varying, other) == varying->arranged;
    for (uint64_t at = 0; at < first->size_bytes; at += varying->step_bytes)
        if (memcmp(first->data + at, other->data + at, size_at(varying, first, at)) != 0)
            keep_change(varying, first, other, at);
    return true;
}

bool judge_varying_shuffles(const Varying *varying) { return varying->changes && !varying->sums; }

/* ---- what fits ---- */

/* Two sums that are both out of range, or no number: which of infinity and NaN they come to follows from when
 * the largest addends meet, which a few orders need not show. */
static bool overflows(double a, double b) { return !isfinite(a) && !isfinite(b); }

static bool in_range(const Varying *varying, uint64_t element, double value) {
    double apart = varying->high[element] - varying->low[element];
    return value >= varying->low[element] - (double)SPREAD_FACTOR * apart &&
           value <= varying->high[element] + (double)SPREAD_FACTOR * apart;
}

static VaryingFit float_fits(Varying *varying, const SimAlloc *first, const SimAlloc *other, uint64_t at) {
    uint64_t element = at / varying->step_bytes,
             ulps = scalar_ulps(varying->type, first->data + at, other->data + at);
    double want = scalar_value(varying->type, first->data + at),
           have = scalar_value(varying->type, other->data + at);
    bool changes = varying->changes && varying->changes[element];
    if (changes && varying->open)
        return VARYING_AS_ORDERS;
    if (changes ? in_range(varying, element, have) || ulps <= SPREAD_FACTOR * varying->ulps
                : varying->ulps && ulps <= varying->ulps)
        return VARYING_AS_ORDERS;
    if (changes && (!varying->sums || !isfinite(have)) && was_seen(varying, value_at(varying, other, at)))
        return VARYING_AS_ORDERS;
    if (varying->changes && overflows(want, have))
        return VARYING_OTHER;
    if (!changes)
        return VARYING_ELSEWHERE;
    return varying->sums && ulps > SPREAD_FACTOR * MOST_ULPS && !(fabs(want - have) <= FAR_AWAY * fabs(want))
               ? VARYING_FAR
               : VARYING_OTHER;
}

static VaryingFit element_fits(Varying *varying, const SimAlloc *first, const SimAlloc *other, uint64_t at) {
    if (has_floats(varying) && size_at(varying, first, at) == varying->step_bytes)
        return float_fits(varying, first, other, at);
    if (!varying->changes || !varying->changes[at / varying->step_bytes])
        return VARYING_ELSEWHERE;
    return varying->open || was_seen(varying, value_at(varying, other, at)) ? VARYING_AS_ORDERS
                                                                            : VARYING_OTHER;
}

VaryingFit judge_varying_fits(Varying *varying, const SimAlloc *first, const SimAlloc *other) {
    VaryingFit fit = VARYING_AS_ORDERS;
    for (uint64_t at = 0; at < first->size_bytes; at += varying->step_bytes)
        if (memcmp(first->data + at, other->data + at, size_at(varying, first, at)) != 0) {
            VaryingFit one = element_fits(varying, first, other, at);
            fit = one > fit ? one : fit;
        }
    return fit;
}

void judge_varying_free(Varying *varying) {
    mem_free(varying->changes);
    mem_free(varying->low);
    mem_free(varying->high);
    arena_free(&varying->arena);
}
