/* Bit sets: see bitset.h.
 * SPDX-License-Identifier: MIT */
#include "base/bitset.h"
#include <string.h>

Bitset bs_new(Arena *a, uint32_t nbits) {
    Bitset s = {NULL, nbits};
    s.w = ARENA_ARRAY(a, uint64_t, bs_words(&s));
    return s;
}

void bs_clear(Bitset *bitset) { memset(bitset->w, 0, bs_words(bitset) * sizeof *bitset->w); }
void bs_copy(Bitset *dst, const Bitset *src) { memcpy(dst->w, src->w, bs_words(dst) * sizeof *dst->w); }

#define COMBINE(name, expr)                                                                                  \
    bool name(Bitset *dst, const Bitset *src) {                                                              \
        uint64_t changed = 0;                                                                                \
        for (uint32_t i = 0, n = bs_words(dst); i < n; i++) {                                                \
            uint64_t old = dst->w[i], in = src->w[i], now = (expr);                                          \
            changed |= old ^ now;                                                                            \
            dst->w[i] = now;                                                                                 \
        }                                                                                                    \
        return changed != 0;                                                                                 \
    }
COMBINE(bs_or, old | in)
COMBINE(bs_and, old &in)
COMBINE(bs_andnot, old & ~in)

bool bs_equal(const Bitset *bitset, const Bitset *b) {
    return memcmp(bitset->w, b->w, bs_words(bitset) * sizeof *bitset->w) == 0;
}

bool bs_empty(const Bitset *s) { return bs_next(s, 0) == UINT32_MAX; }

uint32_t bs_count(const Bitset *bitset) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < bs_words(bitset); i++)
        n += (uint32_t)__builtin_popcountll(bitset->w[i]);
    return n;
}

uint32_t bs_next(const Bitset *bitset, uint32_t from) {
    if (from >= bitset->nbits)
        return UINT32_MAX;
    uint32_t i = from / 64;
    uint64_t w = bitset->w[i] & ~(uint64_t)0 << (from % 64);
    while (!w)
        if (++i == bs_words(bitset))
            return UINT32_MAX;
        else
            w = bitset->w[i];
    return i * 64 + (uint32_t)__builtin_ctzll(w);
}
