/* Where the .shared variables of a module lie. It is part of the ABI of our binaries, so the lowering and the
 * prover both ask here; that no two variables of a kernel overlap is shown by the prover.
 *
 * Every kernel has a layout of its own, of what it and the functions below it name or declare:
 *   1. common variables, which a function names that several kernels reach. Code of functions is not copied
 *      for each kernel, so these have one place in all kernels. Two of them share bytes only if no kernel
 *      reaches both.
 *   2. the rest, around the common ones: the kernel's own declarations, variables of the module in their
 *      order, those of its functions. Without common variables this is ptxas 13.0's layout.
 *   3. dynamic shared memory (`extern .shared x[]`), behind everything that is static.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_SHARED_LAYOUT_H
#define HEDDLE_FRONTEND_SHARED_LAYOUT_H
#include "frontend/ast.h"

typedef struct {
    uint32_t var;          /* index in PtxModule.vars */
    uint64_t offset_bytes; /* from the first byte of the block's own shared memory */
} SharedPlace;

typedef struct { /* of one function */
    /* variables it names or declares, of kernels also those of functions below, dynamic ones too; by index */
    SharedPlace *places;
    uint32_t nplaces;
    uint64_t static_bytes; /* kernels: static shared memory; where there are dynamic variables, up to them */
} SharedFunc;

typedef struct {
    SharedFunc *funcs; /* [module->nfuncs] */
} SharedLayout;

/* extern .shared x[]: starts where the launch's dynamic shared memory does. */
bool ptx_is_dynamic_shared(const PtxVar *var);
SharedLayout ptx_shared_layout(const PtxModule *module, Arena *arena);
/* Offset of a variable that function `func` names, from the first byte of the block's own shared memory. */
uint64_t ptx_shared_offset(const SharedLayout *layout, uint32_t func, uint32_t var);
#endif
