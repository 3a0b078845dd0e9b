/* Guest memory as the threads of a crew share it. An access of 2 to 16 bytes, which lies at a multiple of its
 * size, is one access of the host: it never sees, or leaves, half of what another block writes, as programs
 * that poll a word with a value in it rely on. Of 16 bytes that holds on hosts with AVX, whose makers promise
 * it of aligned ones; vectors of many lanes' words fall apart between words at most. Nothing is ordered by
 * it.
 *
 * Compilers may split the load of a vector of which parts are used, unless it is volatile.
 *
 * ThreadSanitizer takes a vector for bytes that nobody else may write meanwhile: it gets word after word.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_MACHINE_WORDS_H
#define HEDDLE_SIM_MACHINE_WORDS_H
#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_THREAD__)
#define GUEST_WORD_BY_WORD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GUEST_WORD_BY_WORD 1
#endif
#endif
#ifndef GUEST_WORD_BY_WORD
#define GUEST_WORD_BY_WORD 0
#endif

typedef uint32_t GuestQuad __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint16_t GuestHalf __attribute__((may_alias));
typedef uint32_t GuestWord __attribute__((may_alias));
typedef uint64_t GuestPair __attribute__((may_alias));

static inline uint8_t guest_byte(const void *at) {
    return __atomic_load_n((const uint8_t *)at, __ATOMIC_RELAXED);
}
static inline uint16_t guest_half(const void *at) {
    return __atomic_load_n((const GuestHalf *)at, __ATOMIC_RELAXED);
}
static inline uint32_t guest_word(const void *at) {
    return __atomic_load_n((const GuestWord *)at, __ATOMIC_RELAXED);
}
static inline uint64_t guest_pair(const void *at) {
    return __atomic_load_n((const GuestPair *)at, __ATOMIC_RELAXED);
}

/* size_bytes of what the host has (to) from what the guest has. */
static inline void guest_read(void *to, const void *from, unsigned size_bytes) {
    uint16_t half;
    uint32_t word;
    uint64_t pair;
    switch (size_bytes) {
    case 1: *(uint8_t *)to = guest_byte(from); return;
    case 2:
        half = guest_half(from);
        memcpy(to, &half, sizeof half);
        return;
    case 4:
        word = guest_word(from);
        memcpy(to, &word, sizeof word);
        return;
    case 16:
        if (!GUEST_WORD_BY_WORD) {
            *(GuestQuad *)to = *(const volatile GuestQuad *)from;
            return;
        }
        pair = guest_pair((const uint8_t *)from + 8);
        memcpy((uint8_t *)to + 8, &pair, sizeof pair);
        __attribute__((fallthrough)); /* the first half */
    case 8:
        pair = guest_pair(from);
        memcpy(to, &pair, sizeof pair);
        return;
    default: memcpy(to, from, size_bytes); return;
    }
}

/* The other way round. */
static inline void guest_write(void *to, const void *from, unsigned size_bytes) {
    uint16_t half;
    uint32_t word;
    uint64_t pair;
    switch (size_bytes) {
    case 1: __atomic_store_n((uint8_t *)to, *(const uint8_t *)from, __ATOMIC_RELAXED); return;
    case 2:
        memcpy(&half, from, sizeof half);
        __atomic_store_n((GuestHalf *)to, half, __ATOMIC_RELAXED);
        return;
    case 4:
        memcpy(&word, from, sizeof word);
        __atomic_store_n((GuestWord *)to, word, __ATOMIC_RELAXED);
        return;
    case 16:
        if (!GUEST_WORD_BY_WORD) {
            *(volatile GuestQuad *)to = *(const GuestQuad *)from;
            return;
        }
        memcpy(&pair, (const uint8_t *)from + 8, sizeof pair);
        __atomic_store_n((GuestPair *)((uint8_t *)to + 8), pair, __ATOMIC_RELAXED);
        __attribute__((fallthrough));
    case 8:
        memcpy(&pair, from, sizeof pair);
        __atomic_store_n((GuestPair *)to, pair, __ATOMIC_RELAXED);
        return;
    default: memcpy(to, from, size_bytes); return;
    }
}
#endif
