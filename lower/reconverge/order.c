/* Auto mode: may these joins stand beside each other? Lanes that wait in one may be pending in another; that
 * order has a cycle in no set that is chosen (join.c), and no chain longer than there are registers.
 * SPDX-License-Identifier: MIT */
#include "lower/reconverge/place.h"
#include <string.h>

bool reconv_pends_at(const Candidate *one, const Candidate *other) {
    return one != other && bs_has(&one->in, other->join.block);
}

enum { MOST_SET = 192 };

/* behind: of each of the set, whose joins are in different blocks, a bit for those at whose joins its lanes
 * are pending; before: how many pend at its own. */
static void find_pending(const Places *places, const uint32_t *set, unsigned n,
                         uint64_t behind[][MOST_SET / 64], uint8_t *before) {
    Bitset joined = places->joined;
    for (unsigned k = 0; k < n; k++) {
        uint32_t block = places->all.at[set[k]].join.block;
        bs_add(&joined, block);
        places->number[block] = (uint8_t)k;
        before[k] = 0;
    }
    for (unsigned m = 0; m < n; m++) {
        const Bitset *in = &places->all.at[set[m]].in;
        memset(behind[m], 0, sizeof behind[m]);
        for (uint32_t word = 0; word < bs_words(in); word++)
            for (uint64_t left = in->w[word] & joined.w[word]; left; left &= left - 1) {
                unsigned k = places->number[64 * word + (unsigned)__builtin_ctzll(left)];
                if (k != m)
                    behind[m][k / 64] |= 1ull << (k & 63), before[k]++;
            }
    }
    for (unsigned k = 0; k < n; k++)
        bs_del(&joined, places->all.at[set[k]].join.block);
}

bool reconv_is_ordered(const Places *places, const uint32_t *set, unsigned n) {
    uint8_t height[MOST_SET], before[MOST_SET];
    uint64_t behind[MOST_SET][MOST_SET / 64];
    uint32_t ready[MOST_SET], nready = 0, done = 0;
    if (n > MOST_SET)
        return false;
    find_pending(places, set, n, behind, before);
    for (unsigned k = 0; k < n; k++) {
        height[k] = 1;
        if (!before[k])
            ready[nready++] = k;
    }
    while (done < nready) {
        uint32_t m = ready[done++];
        for (unsigned word = 0; word < (n + 63) / 64; word++)
            for (uint64_t left = behind[m][word]; left; left &= left - 1) {
                unsigned k = 64 * word + (unsigned)__builtin_ctzll(left);
                if (height[k] < height[m] + 1)
                    height[k] = (uint8_t)(height[m] + 1);
                if (height[k] + places->base > places->reconv->num_b)
                    return false;
                if (!--before[k])
                    ready[nready++] = k;
            }
    }
    return done == n;
}
