/* malloc without a C library: see bare.h. Blocks of a size are kept in a list once they are free, sixteen
 * sizes for each doubling, and given out again; all others come from the end of what is in use. Small
 * compilations do with what the program has of its own, larger ones take pieces of 32 MiB in large pages: to
 * clear one takes as long as to touch some seventy small ones. Nothing goes back to the system.
 *
 * Before each block stand 16 bytes: what it can hold. SPDX-License-Identifier: MIT */
#include "tools/bare/bare.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
    UNIT_BYTES = 16,
    OWN_BYTES = 512 << 10,
    LARGE_PAGE_BYTES = 2 << 20,
    PIECE_BYTES = 32 << 20,
    STEPS_LOG2 = 4,
    NSIZES = 44 << STEPS_LOG2
};

typedef struct Block {
    size_t can_hold_bytes;
    struct Block
        *next; /* of a free one; it lies in what stands before a block, so a free one is not touched */
} Block;
_Static_assert(sizeof(Block) == UNIT_BYTES, "blocks are aligned to 16 bytes");

static _Alignas(LARGE_PAGE_BYTES >> 9) char own[OWN_BYTES];
static char *unused = own, *unused_end = own + OWN_BYTES;
static Block *free_blocks[NSIZES];

void *bare_more(size_t size_bytes) {
    if (size_bytes > (size_t)(unused_end - unused)) {
        size_t large = LARGE_PAGE_BYTES, piece = size_bytes > PIECE_BYTES ? size_bytes : PIECE_BYTES;
        if (piece > SIZE_MAX / 2)
            return NULL;
        piece = (piece + large - 1) & ~(large - 1);
        char *mapped = mmap(NULL, piece + large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED)
            return NULL;
        unused = (char *)(((uintptr_t)mapped + large - 1) & ~(uintptr_t)(large - 1));
        unused_end = unused + piece;
        madvise(unused, piece, MADV_HUGEPAGE);
    }
    void *more = unused;
    unused += size_bytes;
    return more;
}

/* The list of blocks that hold `size_bytes`, a multiple of 16, and what they all hold: as much or more. */
static unsigned list_of(size_t *size_bytes) {
    size_t units = *size_bytes / UNIT_BYTES;
    if (units < 2u << STEPS_LOG2)
        return (unsigned)units;
    unsigned shift = 63 - (unsigned)__builtin_clzl(units) - STEPS_LOG2;
    units = (units + ((size_t)1 << shift) - 1) >>
            shift; /* 16 to 32: the last is the first of the next doubling */
    *size_bytes = (units << shift) * UNIT_BYTES;
    return (shift << STEPS_LOG2) + (unsigned)units;
}

/* *is_new: it holds nothing but zeros. */
static void *take(size_t size_bytes, int *is_new) {
    if (size_bytes > PTRDIFF_MAX / 2) {
        errno = ENOMEM;
        return NULL;
    }
    size_t size = (size_bytes + UNIT_BYTES - 1) & ~(size_t)(UNIT_BYTES - 1);
    unsigned list = list_of(&size);
    Block *block = free_blocks[list];
    *is_new = !block;
    if (block) {
        free_blocks[list] = block->next;
    } else {
        block = bare_more(sizeof *block + size);
        if (!block) {
            errno = ENOMEM;
            return NULL;
        }
        block->can_hold_bytes = size;
    }
    return block + 1;
}

void *malloc(size_t size_bytes) {
    int is_new;
    return take(size_bytes, &is_new);
}

void *calloc(size_t count, size_t elem_bytes) {
    size_t size_bytes;
    if (__builtin_mul_overflow(count, elem_bytes, &size_bytes))
        size_bytes = SIZE_MAX;
    int is_new;
    void *block = take(size_bytes, &is_new);
    return block && !is_new ? memset(block, 0, size_bytes) : block;
}

void free(void *data) {
    if (!data)
        return;
    Block *block = (Block *)data - 1;
    size_t size = block->can_hold_bytes;
    unsigned list = list_of(&size);
    block->next = free_blocks[list];
    free_blocks[list] = block;
}

void *realloc(void *data, size_t size_bytes) {
    if (!data)
        return malloc(size_bytes);
    size_t old_bytes = ((Block *)data - 1)->can_hold_bytes;
    if (size_bytes <= old_bytes)
        return data;
    void *bigger = malloc(size_bytes);
    if (!bigger)
        return NULL;
    memcpy(bigger, data, old_bytes);
    free(data);
    return bigger;
}

void *mmap(void *at, size_t size_bytes, int protection, int flags, int fd, off_t offset) {
    void *result;
    register long r10 __asm__("r10") = flags, r8 __asm__("r8") = fd, r9 __asm__("r9") = offset;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_mmap), "D"(at), "S"(size_bytes), "d"((long)protection), "r"(r10),
                       "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return (uintptr_t)result < (uintptr_t)-4095 ? result : MAP_FAILED;
}

int madvise(void *at, size_t size_bytes, int advice) {
    return (int)bare_call(SYS_madvise, at, size_bytes, (long)advice, 0L);
}

/* What the program asks of the C library's heap, this one does by itself. */
int mallopt(int parameter, int value) {
    (void)parameter;
    (void)value;
    return 1;
}
void *sbrk(intptr_t more) {
    (void)more;
    return (void *)-1;
}
