/* Arena: see arena.h. Chunks double from 4 KiB to 1 MiB so that a small module stays small; of each
 * arena's first chunk all is touched soon, and the next arena's lies behind it. SPDX-License-Identifier: MIT
 */
#include "base/arena.h"
#include "base/scope.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ALIGN_BYTES 16u
#define FIRST_CHUNK_BYTES (4u << 10)
#define LAST_CHUNK_BYTES (1u << 20)

struct ArenaChunk {
    ArenaChunk *prev;
    size_t size_bytes, used_bytes;
    size_t pad; /* keeps data[] 16-byte aligned */
    unsigned char data[];
};

static inline size_t round_up(size_t n) { return (n + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1); }

/* Most of what is cleared is shorter than the call of a function that clears would take. size_bytes: rounded
 * up */
static inline void *clear(void *at, size_t size_bytes) {
    unsigned char *p = at;
    if (size_bytes > 4 * ALIGN_BYTES)
        return memset(p, 0, size_bytes);
    memset(p, 0, ALIGN_BYTES);
    memset(p + size_bytes - ALIGN_BYTES, 0, ALIGN_BYTES);
    if (size_bytes > 2 * ALIGN_BYTES) {
        memset(p + ALIGN_BYTES, 0, ALIGN_BYTES);
        memset(p + size_bytes - 2 * ALIGN_BYTES, 0, ALIGN_BYTES);
    }
    return p;
}

static __attribute__((noinline)) void add_chunk(Arena *arena, size_t need_bytes) {
    size_t size = arena->chunk ? arena->chunk->size_bytes * 2 : FIRST_CHUNK_BYTES;
    if (size > LAST_CHUNK_BYTES)
        size = LAST_CHUNK_BYTES;
    if (size < need_bytes)
        size = need_bytes;
    ArenaChunk *arena_chunk = mem_alloc(sizeof *arena_chunk + size);
    arena_chunk->prev = arena->chunk;
    arena_chunk->size_bytes = size;
    arena_chunk->used_bytes = 0;
    arena->chunk = arena_chunk;
    arena->total_bytes += size;
}

static inline void *alloc_raw(Arena *arena, size_t size_bytes) {
    if (size_bytes > SIZE_MAX / 2)
        scope_give_up(SCOPE_MEMORY, NULL);
    size_t n = round_up(size_bytes ? size_bytes : 1);
    ArenaChunk *chunk = arena->chunk;
    if (!chunk || chunk->size_bytes - chunk->used_bytes < n) {
        add_chunk(arena, n);
        chunk = arena->chunk;
    }
    void *p = chunk->data + chunk->used_bytes;
    chunk->used_bytes += n;
    return p;
}

void *arena_alloc(Arena *arena, size_t size_bytes) {
    void *p = alloc_raw(arena, size_bytes);
    return clear(p, round_up(size_bytes ? size_bytes : 1));
}

void *arena_copy(Arena *arena, const void *data, size_t size_bytes) {
    void *p = alloc_raw(arena, size_bytes);
    if (size_bytes)
        memcpy(p, data, size_bytes);
    return p;
}

/* What is behind the old bytes is not zeroed. */
static void *grow_raw(Arena *arena, void *old, size_t old_bytes, size_t new_bytes) {
    size_t have = round_up(old_bytes ? old_bytes : 1), want = round_up(new_bytes ? new_bytes : 1);
    ArenaChunk *arena_chunk = arena->chunk;
    if (old && arena_chunk && (unsigned char *)old + have == arena_chunk->data + arena_chunk->used_bytes &&
        want >= have && arena_chunk->size_bytes - arena_chunk->used_bytes >= want - have) {
        arena_chunk->used_bytes += want - have;
        return old;
    }
    size_t keep = !old ? 0 : old_bytes < new_bytes ? old_bytes : new_bytes;
    unsigned char *p = alloc_raw(arena, new_bytes);
    if (keep)
        memcpy(p, old, keep);
    return p;
}

void *arena_grow(Arena *arena, void *old, size_t old_bytes, size_t new_bytes) {
    unsigned char *p = grow_raw(arena, old, old_bytes, new_bytes);
    size_t keep = !old ? 0 : old_bytes < new_bytes ? old_bytes : new_bytes;
    memset(p + keep, 0, round_up(new_bytes ? new_bytes : 1) - keep);
    return p;
}

char *arena_printf(Arena *a, const char *fmt, ...) {
    char first[256], *s;
    va_list ap, ap2;
    va_start(ap, fmt);
    va_copy(ap2, ap);
    int n = vsnprintf(first, sizeof first, fmt, ap);
    va_end(ap);
    if ((size_t)n < sizeof first) {
        s = arena_copy(a, first, (size_t)n + 1);
    } else {
        s = arena_alloc(a, (size_t)n + 1);
        vsnprintf(s, (size_t)n + 1, fmt, ap2);
    }
    va_end(ap2);
    return s;
}

char *arena_join(Arena *a, const char *first, const char *second) {
    size_t n = strlen(first), m = strlen(second);
    char *s = arena_alloc(a, n + m + 1);
    memcpy(s, first, n);
    memcpy(s + n, second, m);
    return s;
}

ArenaMark arena_mark(const Arena *arena) {
    return (ArenaMark){arena->chunk, arena->chunk ? arena->chunk->used_bytes : 0};
}

void arena_release(Arena *arena, ArenaMark m) {
    while (arena->chunk != m.chunk) {
        ArenaChunk *dead = arena->chunk;
        arena->chunk = dead->prev;
        arena->total_bytes -= dead->size_bytes;
        mem_free(dead);
    }
    if (arena->chunk)
        arena->chunk->used_bytes = m.used_bytes;
}

void arena_free(Arena *arena) { arena_release(arena, (ArenaMark){NULL, 0}); }

void vec_grow(Arena *arena, void *vec, size_t elem_bytes) {
    VEC(unsigned char) *bytes = vec;
    unsigned cap = bytes->cap ? bytes->cap * 2 : 8;
    if (cap < bytes->cap)
        scope_give_up(SCOPE_MEMORY, NULL);
    bytes->at = grow_raw(arena, bytes->at, bytes->cap * elem_bytes, cap * elem_bytes);
    bytes->cap = cap;
}
