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

enum { MOST_KEPT_BYTES = 1 << 28 }; /* of all together */

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
static uint64_t value_in_range(const Scalar *scalar, Random *random, uint64_t i) {
    double unit = random->rises ? 0 : (double)(rng_next(&random->state) >> 40) * 0x1p-24,
           v = random->rises ? random->lo + (double)i * random->hi
                             : random->lo + unit * (random->hi - random->lo);
    if (scalar->kind == 'f')
        return scalar_bits(scalar, random->whole ? floor(v) : v);
    return (uint64_t)(int64_t)floor(v);
}

/* Bits, of which the type's count. */
static uint64_t bits_of_element(const Scalar *scalar, const char *init, uint64_t i, Random *random) {
    if (random->has_edges)
        return edges_value(&random->edges, scalar, i);
    if (random->has_range)
        return value_in_range(scalar, random, i);
    if (*init == 'o')
        return scalar_bits(scalar, 1);
    if (*init == 'n')
        return scalar_bits(scalar, (double)NAN);
    if (*init == 'i')
        return scalar->kind == 'f' ? scalar_bits(scalar, (double)i) : i;
    uint64_t r = rng_next(&random->state);
    return scalar->kind == 'f' ? scalar_bits(scalar, (double)(r >> 40) * 0x1p-24) : r; /* uniform in [0, 1) */
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
    for (uint64_t i = 0; !zero && i < count; i++)
        word_store(out + i * scalar->size_bytes, bits_of_element(scalar, init, i, &random),
                   scalar->size_bytes);
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

static uint64_t kept_bytes(const Fill *kept) {
    return kept->bytes ? kept->count * kept->type->size_bytes : 0;
}

/* What nobody has wanted for longest; with `free` places that hold nothing go first. */
static Fill *oldest(Fills *fills, bool free) {
    Fill *found = NULL;
    for (unsigned k = 0; k < FILLS; k++)
        if ((free || fills->kept[k].bytes) && (!found || fills->kept[k].used < found->used))
            found = &fills->kept[k];
    return found;
}

static void keep_fill(Fills *fills, const Scalar *type, const char *init, uint64_t count,
                      const uint8_t *bytes) {
    uint64_t size = count * type->size_bytes, all = size;
    if (size > MOST_KEPT_BYTES)
        return;
    for (unsigned k = 0; k < FILLS; k++)
        all += kept_bytes(&fills->kept[k]);
    while (all > MOST_KEPT_BYTES) {
        Fill *old = oldest(fills, false);
        all -= kept_bytes(old);
        forget(old);
    }
    Fill *place = oldest(fills, true);
    forget(place);
    *place = (Fill){type, mem_text(init), count, ++fills->uses, mem_alloc(size + 1)};
    memcpy(place->bytes, bytes, size);
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
