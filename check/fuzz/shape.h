/* What a PTX module looks like: how large its blocks are and how they hang together. Counted on the typed
 * module, so that it says what a generator made, not what it meant to make.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FUZZ_SHAPE_H
#define HEDDLE_CHECK_FUZZ_SHAPE_H
#include "frontend/ast.h"

typedef struct {
    uint32_t blocks;      /* basic blocks of all functions, but for those that only jump */
    uint32_t data_insns;  /* statements but branches, calls, ret and exit */
    uint32_t branches;    /* blocks with several successors */
    uint32_t early_exits; /* ret and exit before the last one of each function, guarded ones too */
    uint32_t calls;
    bool has_loop, irreducible;
} PtxShape;

PtxShape fuzz_shape(const PtxModule *module);
#endif
