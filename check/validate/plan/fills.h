/* Contents of buffers that launch files describe by a word, "random:SEED" and the like, and those that are
 * wanted again: a search for launches runs each launch several times.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_FILLS_H
#define HEDDLE_CHECK_VALIDATE_FILLS_H
#include "check/validate/plan/scalar.h"

typedef struct {
    const Scalar *type;
    char *init;
    uint64_t count, used; /* elements; when it was wanted last, 0 never */
    uint8_t *bytes;
} Fill;
enum { FILLS = 16 };
typedef struct {
    Fill kept[FILLS];
    uint64_t uses; /* so far */
} Fills;

void plan_fills_free(Fills *fills);
/* `count` elements of `type` as `init` says, in `out`, which holds zeros. fills: NULL, or what is kept.
 *   returns false if `init` is none of zero, ones, iota, value, random, whole and edges
 * (docs/launch-files.md) */
bool plan_fill(Fills *fills, const Scalar *type, const char *init, uint64_t count, uint8_t *out);
#endif
