/* The lowest bits of values: what proves that an address is a multiple of something.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_OPT_LOWBITS_H
#define HEDDLE_LOWER_OPT_LOWBITS_H
#include "ir/ir.h"

/* LOW_BITS: those that are followed, of an address of 16 bytes. */
enum { LOW_BITS = 4, LOW_MASK = (1 << LOW_BITS) - 1 };
typedef struct {
    bool seen;           /* false while the analysis runs: nothing is said yet */
    uint8_t known, bits; /* which bits are known, and what they are */
} LowBits;

/* Of each value: an array in `a`, [Function.values.n]. */
LowBits *opt_low_bits(Arena *a, const Function *f);
/* How many bits from the lowest on are known. */
static inline unsigned low_run(LowBits low) {
    unsigned n = 0;
    while (n < LOW_BITS && low.known >> n & 1)
        n++;
    return n;
}
#endif
