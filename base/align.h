/* Addresses and sizes in multiples of an alignment.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_ALIGN_H
#define HEDDLE_BASE_ALIGN_H
#include <stdint.h>

/* The lowest multiple of align, a power of two, that is not below v. Alignment 0 means none. */
static inline uint64_t align_up(uint64_t v, uint64_t align) {
    return align > 1 ? (v + align - 1) & ~(align - 1) : v;
}
#endif
