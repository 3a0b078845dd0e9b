/* Code made of stencils: stencil_copy.c. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_STENCIL_COPY_H
#define HEDDLE_SIM_JIT_STENCIL_COPY_H
#include "base/arena.h"
#include "sim/jit/stencil.h"

typedef struct { /* what fills the holes of one copy */
    int64_t number[8];
    const uint32_t *words;  /* K0 to K8 */
    uint32_t go[2];         /* labels: T0, T1 */
    const uint8_t *vectors; /* of each register that it names, which one is meant; NULL: it names none */
} StencilFill;

typedef struct { /* the distance from `at` to a label or word is to be written there */
    uint32_t at, to;
    int32_t addend;
} StencilReference;

/* The level's constants, then the code, then the words that it uses. */
typedef struct {
    const StencilSet *set;
    Arena arena;
    uint8_t *bytes;
    uint32_t n, room;
    VEC(uint32_t) labels; /* where they are in the code */
    VEC(uint32_t) words;
    VEC(StencilReference) to_labels, to_words;
} StencilCode;

void stencil_begin(StencilCode *code, const StencilSet *set);
void stencil_copy(StencilCode *code, unsigned id, const StencilFill *fill);
/* Does it go on at T0? */
bool stencil_has_exit(const StencilSet *set, unsigned id);
uint32_t stencil_label(StencilCode *code);            /* a new one, not yet anywhere */
void stencil_here(StencilCode *code, uint32_t label); /* it is behind what has been copied */
void stencil_end(StencilCode *code, ImageBytes *out); /* entered at its beginning; frees the code */

#define COPY(code, id, ...) stencil_copy((code), (id), &(const StencilFill){__VA_ARGS__})
#endif
