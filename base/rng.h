/* splitmix64: pseudo-random numbers that follow from their state and are the same everywhere, for tests,
 * fuzzing and schedules; and its mixing step alone, as a hash. Not for secrets. The reference interpreter and
 * the machine both draw their schedules from it: a sequence of numbers is no semantics of PTX that they would
 * share. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_RNG_H
#define HEDDLE_BASE_RNG_H
#include <stdint.h>

/* 2^64 divided by the golden ratio: also a good multiplier for hashes. */
#define RNG_STEP 0x9e3779b97f4a7c15u

/* Every bit of the result depends on every bit of x; 0 stays 0. */
static inline uint64_t rng_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The next number; any state is a good one to begin with. */
static inline uint64_t rng_next(uint64_t *state) { return rng_mix(*state += RNG_STEP); }
#endif
