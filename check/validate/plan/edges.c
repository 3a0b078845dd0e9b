/* See edges.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan/edges.h"
#include "base/rng.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With the bits of some floating-point numbers: a buffer of integers may be one of those, too. */
static const uint64_t whole[] = {0,          1,          ~0ull,      2,          31,
                                 32,         33,         0x7f,       0x80,       0xff,
                                 0x7fff,     0x8000,     0xffff,     0x7fffffff, 0x80000000,
                                 0x80000001, 0xffffffff, 0x7fc00000, 0x3f800000, 0x7fffffffffffffff,
                                 1ull << 63};
static const double real[] = {0,        -0.0,           1,         -1,        0.5,     1.5,   2.5,    -2.5,
                              0x1p-126, 0x1p-149,       -0x1p-140, 0x1p-14,   0x1p-24, 65504, 0x1p31, -0x1p31,
                              0x1p63,   0x1.fffffep127, INFINITY,  -INFINITY, NAN};
enum { FINITE = 17 }; /* of both, from the front */
enum { WHOLE = sizeof whole / sizeof *whole, REAL = sizeof real / sizeof *real };
_Static_assert(WHOLE == REAL, "one number chooses from either");

bool edges_parse(const char *init, Edges *out) {
    *out = (Edges){0};
    if (strncmp(init, "edges:", 6) != 0)
        return false;
    const char *from = init + 6;
    char *end;
    out->seed = strtoull(from, &end, 0);
    if (end == from || (*end && *end != ':'))
        return false;
    if (!*end)
        return true;
    out->together = true;
    out->member = (uint32_t)strtoul(from = end + 1, &end, 0);
    if (end == from || (*end && *end != ':'))
        return false;
    if (!*end)
        return true;
    out->one_in = (uint32_t)strtoul(from = end + 1, &end, 0);
    return end > from && !*end && out->one_in;
}

static uint64_t listed(const Scalar *scalar, unsigned pick) {
    return scalar->kind == 'f' ? scalar_bits(scalar, real[pick % REAL]) : whole[pick % WHOLE];
}

static uint64_t small(const Scalar *scalar, uint64_t random) {
    return scalar->kind == 'f' ? scalar_bits(scalar, (double)(int64_t)(random % 2001) / 8 - 125)
                               : random % 256 - 64;
}

/* A value on its own; of floating-point numbers most are ordinary, since NaN and infinity spread. */
static uint64_t alone(const Scalar *scalar, uint64_t random) {
    uint64_t pick = random >> 32;
    if (scalar->kind == 'f' ? (random & 3) != 0 : (random & 3) == 1)
        return small(scalar, pick);
    if (scalar->kind == 'f' || (random & 3) == 0)
        return listed(scalar, (unsigned)(pick % WHOLE));
    return (random & 3) == 2 ? (uint64_t)1 << pick % 64 : random;
}

/* The same number in all buffers; in every second one negated, or the next one. */
static uint64_t related(const Edges *edges, const Scalar *scalar, uint64_t random) {
    uint64_t bits = alone(scalar, random), sign = 1ull << (8 * scalar->size_bytes - 1);
    bool negate = random >> 8 & 1;
    if (edges->member % 2 == 0)
        return bits;
    return !negate ? bits + (random >> 9 & 1 ? 1 : ~0ull) : scalar->kind == 'f' ? bits ^ sign : 0 - bits;
}

uint64_t edges_value(const Edges *edges, const Scalar *scalar, uint64_t index) {
    uint64_t shared = edges->seed ^ rng_mix(index + 1), own;
    shared = rng_next(&shared);
    own = shared ^ rng_mix(edges->member + 1u);
    own = rng_next(&own);
    if (edges->one_in > 1 && (shared >> 40) % edges->one_in) /* as data are without edges: what compares
                                                                 distances and the like goes every way */
        return scalar->kind == 'f' ? scalar_bits(scalar, (double)(own >> 40) * 0x1p-23 - 1)
                                   : small(scalar, own);
    if (edges->one_in > 1) /* no NaN and no infinity: one of them in every sum would hide all else */
        return listed(scalar, (unsigned)(own >> 32) % FINITE);
    unsigned pair = (unsigned)(shared >> 16) % (WHOLE * WHOLE);
    switch (edges->together ? shared & 7 : 7) {
    case 0:
    case 1:
    case 2: /* all pairs of the list */
        return listed(scalar, edges->member == 0   ? pair % WHOLE
                              : edges->member == 1 ? pair / WHOLE
                                                   : (unsigned)(own >> 32));
    case 3: return alone(scalar, shared); /* equal ones */
    case 4: return related(edges, scalar, shared);
    default: return alone(scalar, own);
    }
}
