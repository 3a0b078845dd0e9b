/* See fills.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan/fills.h"
#include "base/rng.h"
#include "base/scope.h"
#include "base/word.h"
#include "check/validate/plan/edges.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT_BYTES = 1 << 24 };

/* "value:V": each element has these bits. */
static bool parse_value(const char *init, uint64_t *value) {
    char *end;
    if (strncmp(init, "value:", 6) != 0)
        return false;
    *value = strtoull(init + 6, &end, 0);
    return end > init + 6 && !*end;
}

/* "random:SEED", "random:SEED:LO:HI", "whole:SEED:LO:HI", "iota:START:STEP", or edges (edges.h). */
typedef struct {
    uint64_t state;
    bool has_range, has_edges, whole, rises;
    double lo, hi; /* rises: the first element, and from one to the next */
    Edges edges;
} Random;

static bool parse_random(const char *init, Random *random) {
    random->has_edges = edges_parse(init, &random->edges);
    random->whole = strncmp(init, "whole:", 6) == 0;
    random->rises = strncmp(init, "iota:", 5) == 0;
    if (random->has_edges || !(random->whole || random->rises || strncmp(init, "random:", 7) == 0))
        return random->has_edges;
    const char *s = strchr(init, ':') + 1;
    char *end;
    if (!random->rises) {
        random->state = strtoull(s, &end, 0);
        if (end == s || !*end)
            return end > s && !*end && !random->whole;
        if (*end != ':')
            return false;
        s = end + 1;
    }
    random->has_range = true;
    random->lo = strtod(s, &end);
    if (end == s || *end != ':')
        return false;
    s = end + 1;
    random->hi = strtod(s, &end);
    return end > s && !*end &&
           (random->rises || (random->hi > random->lo && random->hi - random->lo < 0x1p53));
}

/* Integers LO to HI - 1, floating-point values of [LO, HI) or such integers, multiples. */
static void value_in_range(const Scalar *scalar, Random *random, uint64_t i, uint8_t out[8]) {
    double unit = random->rises ? 0 : (double)(rng_next(&random->state) >> 40) * 0x1p-24,
           v = random->rises ? random->lo + (double)i * random->hi
                             : random->lo + unit * (random->hi - random->lo);
    int64_t whole = (int64_t)floor(v);
    if (scalar->kind == 'f')
        scalar_store(scalar, random->whole ? floor(v) : v, out);
    else
        word_store(out, (uint64_t)whole, scalar->size_bytes);
}

static void fill_element(const Scalar *scalar, const char *init, uint64_t i, Random *random, uint8_t out[8]) {
    if (random->has_edges) {
        edges_value(&random->edges, scalar, i, out);
        return;
    }
    if (random->has_range) {
        value_in_range(scalar, random, i, out);
        return;
    }
    uint64_t *state = &random->state;
    if (*init == 'o')
        scalar_store(scalar, 1, out);
    else if (*init == 'n')
        scalar_store(scalar, (double)NAN, out);
    else if (*init == 'i') {
        if (scalar->kind == 'f')
            scalar_store(scalar, (double)i, out);
        else
            word_store(out, i, scalar->size_bytes);
    } else {
        uint64_t r = rng_next(state);
        if (scalar->kind == 'f') /* uniform in [0, 1) */
            scalar_store(scalar, (double)(r >> 40) * 0x1p-24, out);
        else
            word_store(out, r, scalar->size_bytes);
    }
}

static bool fill_all(const Scalar *scalar, const char *init, uint64_t count, uint8_t *out) {
    Random random = {0};
    uint64_t bits;
    if (parse_value(init, &bits)) {
        for (uint64_t i = 0; i < count; i++)
            word_store(out + i * scalar->size_bytes, bits, scalar->size_bytes);
        return true;
    }
    bool zero = strcmp(init, "zero") == 0 || strcmp(init, "zeros") == 0;
    bool known = zero || strcmp(init, "ones") == 0 || strcmp(init, "iota") == 0 ||
                 (strcmp(init, "nan") == 0 && scalar->kind == 'f');
    if (!known && !parse_random(init, &random))
        return false;
    for (uint64_t i = 0; !zero && i < count; i++) {
        uint8_t value[8] = {0};
        fill_element(scalar, init, i, &random, value);
        word_store(out + i * scalar->size_bytes, word_load(value, 8), scalar->size_bytes);
    }
    return true;
}

/* ---- what is wanted again ---- */

static void forget(Fill *kept) {
    mem_free(kept->init);
    mem_free(kept->bytes);
    *kept = (Fill){0};
}

void plan_fills_free(Fills *fills) {
    for (unsigned k = 0; k < FILLS; k++)
        forget(&fills->kept[k]);
}

/* In the place of what nobody has wanted for longest. */
static void keep_fill(Fills *fills, const Scalar *type, const char *init, uint64_t count,
                      const uint8_t *bytes) {
    Fill *oldest = fills->kept;
    for (unsigned k = 1; k < FILLS; k++)
        oldest = fills->kept[k].used < oldest->used ? &fills->kept[k] : oldest;
    uint64_t size = count * type->size_bytes;
    if (size > MOST_KEPT_BYTES)
        return;
    forget(oldest);
    *oldest = (Fill){type, mem_text(init), count, ++fills->uses, mem_alloc(size + 1)};
    memcpy(oldest->bytes, bytes, size);
}

bool plan_fill(Fills *fills, const Scalar *type, const char *init, uint64_t count, uint8_t *out) {
    for (unsigned k = 0; fills && k < FILLS; k++)
        if (fills->kept[k].bytes && fills->kept[k].type == type && fills->kept[k].count >= count &&
            strcmp(fills->kept[k].init, init) == 0) {
            fills->kept[k].used = ++fills->uses;
            memcpy(out, fills->kept[k].bytes, count * type->size_bytes);
            return true;
        }
    if (!fill_all(type, init, count, out))
        return false;
    if (fills && strcmp(init, "zero") != 0)
        keep_fill(fills, type, init, count, out);
    return true;
}
