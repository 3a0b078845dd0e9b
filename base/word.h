/* Words of 1, 2, 4 or 8 bytes in memory, little-endian as the guest's and the host's. A copy of a number of
 * bytes that is only known when it runs becomes `rep movs` where a compiler sees that there are few, which
 * takes some thirty cycles. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_WORD_H
#define HEDDLE_BASE_WORD_H
#include <stdint.h>
#include <string.h>

static inline uint64_t word_load(const void *from, unsigned bytes) {
    uint64_t word = 0;
    switch (bytes) {
    case 1: memcpy(&word, from, 1); break;
    case 2: memcpy(&word, from, 2); break;
    case 4: memcpy(&word, from, 4); break;
    default: memcpy(&word, from, 8);
    }
    return word;
}

static inline void word_store(void *to, uint64_t word, unsigned bytes) {
    switch (bytes) {
    case 1: memcpy(to, &word, 1); break;
    case 2: memcpy(to, &word, 2); break;
    case 4: memcpy(to, &word, 4); break;
    default: memcpy(to, &word, 8);
    }
}
#endif
