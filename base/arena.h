/* Chunked bump allocator. Everything a module or a function owns lives in one arena and is released
 * at once; nothing is freed singly. Memory is zeroed and 16-byte aligned. Where there is none, the scope
 * around the work ends (base/scope.h). SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_ARENA_H
#define HEDDLE_BASE_ARENA_H
#include <stddef.h>

typedef struct ArenaChunk ArenaChunk;
typedef struct {
    ArenaChunk *chunk;  /* newest chunk, or NULL */
    size_t total_bytes; /* sum of all chunk sizes */
} Arena;

/* Position to which `arena_release` goes back. */
typedef struct {
    ArenaChunk *chunk;
    size_t used_bytes;
} ArenaMark;

void *arena_alloc(Arena *arena, size_t size_bytes);
void *arena_copy(Arena *arena, const void *data, size_t size_bytes);
/* Grow an array of `old_bytes` to `new_bytes`; in place when it is the arena's last allocation. */
void *arena_grow(Arena *arena, void *old, size_t old_bytes, size_t new_bytes);
char *arena_printf(Arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_join(Arena *arena, const char *first, const char *second);
ArenaMark arena_mark(const Arena *arena);
void arena_release(Arena *arena, ArenaMark m);
void arena_free(Arena *arena); /* the arena may be used again afterwards */

#define ARENA_NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/* Growable array in an arena: VEC(T) declares {T *at; uint32_t n, cap;}. VEC_PUSH yields a pointer to
 * the new, zeroed element. Pointers into a VEC are invalid after a push (use a POOL for those). */
#define VEC(T)                                                                                               \
    struct {                                                                                                 \
        T *at;                                                                                               \
        unsigned n, cap;                                                                                     \
    }
void vec_grow(Arena *arena, void *vec, size_t elem_bytes); /* makes room for one more at least */
#define VEC_PUSH(a, v)                                                                                       \
    __extension__({                                                                                          \
        __typeof__(v) vec_ = (v);                                                                            \
        if (vec_->n == vec_->cap)                                                                            \
            vec_grow((a), vec_, sizeof *vec_->at);                                                           \
        (__typeof__(vec_->at))__builtin_memset(vec_->at + vec_->n++, 0, sizeof *vec_->at);                   \
    })
#define VEC_ADD(a, v, x) ((void)(*VEC_PUSH(a, v) = (x)))
#endif
