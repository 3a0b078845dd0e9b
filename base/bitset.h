/* Dense bit sets for data-flow analyses. `nbits` is fixed at creation; sets of one analysis have equal
 * size. Words past the end do not exist, so all operations take the word count from the set.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_BITSET_H
#define HEDDLE_BASE_BITSET_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t *w;
    uint32_t nbits;
} Bitset;

static inline uint32_t bs_words(const Bitset *bitset) { return (bitset->nbits + 63) / 64; }
Bitset bs_new(Arena *arena, uint32_t nbits);
static inline bool bs_has(const Bitset *bitset, uint32_t i) { return bitset->w[i / 64] >> (i % 64) & 1; }
static inline void bs_add(Bitset *bitset, uint32_t i) { bitset->w[i / 64] |= (uint64_t)1 << (i % 64); }
static inline void bs_del(Bitset *bitset, uint32_t i) { bitset->w[i / 64] &= ~((uint64_t)1 << (i % 64)); }
void bs_clear(Bitset *bitset);
void bs_copy(Bitset *dst, const Bitset *src);
/* dst |= src, dst &= src, dst &= ~src; each says whether dst changed */
bool bs_or(Bitset *dst, const Bitset *src);
bool bs_and(Bitset *dst, const Bitset *src);
bool bs_andnot(Bitset *dst, const Bitset *src);
bool bs_equal(const Bitset *bitset, const Bitset *b);
bool bs_empty(const Bitset *bitset);
uint32_t bs_count(const Bitset *bitset);
/* First member >= from, or UINT32_MAX. */
uint32_t bs_next(const Bitset *bitset, uint32_t from);
#define BS_EACH(i, s) for (uint32_t i = bs_next((s), 0); i != UINT32_MAX; i = bs_next((s), i + 1))
#endif
