/* Contents of buffers that tell operations from their neighbours: signed from unsigned, LT from LE, wrap from
 * clamp, .ftz from none. Most of that takes two operands that fit together, equal ones, zeros of both signs,
 * neighbours; so buffers can be filled together.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_EDGES_H
#define HEDDLE_CHECK_VALIDATE_EDGES_H
#include "check/validate/plan/scalar.h"

typedef struct {
    uint64_t seed;
    bool together;   /* with other buffers of this seed: elements of one index fit together */
    uint32_t member; /* which of them this one is */
    uint32_t one_in; /* one element in so many is such a value, the others are small integers, or in [-1, 1);
                        0, 1: each */
} Edges;

/* "edges:SEED", "edges:SEED:MEMBER" or "edges:SEED:MEMBER:ONE_IN"; false: it is none of these. */
bool edges_parse(const char *init, Edges *out);
/* Element `index` of such a buffer: bits, of which the type's count. */
uint64_t edges_value(const Edges *edges, const Scalar *scalar, uint64_t index);
#endif
