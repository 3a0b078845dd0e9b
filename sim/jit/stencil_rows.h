/* What the vectors hold while stencils are copied: stencil_rows.c. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_STENCIL_ROWS_H
#define HEDDLE_SIM_JIT_STENCIL_ROWS_H
#include "sim/jit/stencil_copy.h"

enum { MOST_VECTORS = 32 };

typedef struct {
    uint64_t what; /* part of a row, a word, or nothing */
    uint32_t pc;   /* of a bank's word: an instruction that reads it, as which source, which word of that */
    uint8_t source, word;
} Held;
/* The host's vectors. Rows are in memory, too, whenever an instruction ends. */
typedef struct {
    StencilCode *code;
    const Run *run;
    unsigned n;
    uint32_t busy;                      /* those that a piece names which is being put together */
    uint32_t pc, begin, end;            /* the instruction that is being copied, and its block */
    uint8_t words[REGION_MAX_INSTS][3]; /* of each source that an instruction of the block reads */
    uint64_t used[MOST_VECTORS], clock;
    uint32_t wanted[MOST_VECTORS]; /* the next instruction that reads what it holds, or UINT32_MAX */
    Held held[MOST_VECTORS];
} Vectors;
/* Of each register that a stencil names, the vector; which of them are given. */
typedef struct {
    uint8_t vector[MOST_VECTORS];
    uint32_t given;
} VectorMap;
enum { RESULT = 6 }; /* and the next: where lane functions and loads leave what they make */

void stencil_vectors_begin(Vectors *vectors, StencilCode *code, const Run *run);
/* They hold nothing; the instructions of a block are to come. */
void stencil_vectors_block(Vectors *vectors, uint32_t pc, uint32_t end);
void stencil_vectors_forget_all(Vectors *vectors);
/* Register `name` is lanes from `lane` on of word `word` of source i of the instruction. */
void stencil_vectors_source(Vectors *vectors, VectorMap *map, unsigned name, uint32_t pc, unsigned i,
                            unsigned word, unsigned lane);
void stencil_vectors_name(VectorMap *map, unsigned name, unsigned vector); /* or that vector, which is busy */
/* The other registers that the stencil names get vectors whose contents are lost. */
void stencil_vectors_take(Vectors *vectors, VectorMap *map, unsigned stencil);
/* From here on what was named may be used for other things, but the vectors of these names. */
void stencil_vectors_keep(Vectors *vectors, const VectorMap *map, uint32_t names);
void stencil_vectors_release(Vectors *vectors);
/* The vector becomes the part of a row at `at`: all of it, or the lanes of g (the upper ones of two vectors).
 */
typedef enum { STORE_ALL, STORE_SOME, STORE_SOME_UPPER } StoreKind;
void stencil_vectors_store(Vectors *vectors, unsigned from, uintptr_t at, StoreKind kind);
/* They hold nothing: let them hold this again. */
void stencil_vectors_load_again(Vectors *vectors, const Held held[MOST_VECTORS]);
#endif
