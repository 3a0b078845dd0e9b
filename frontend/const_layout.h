/* Where the .const variables of a module lie in their constant bank. It is part of the ABI of our binaries,
 * so the lowering and the prover both ask here; ptxas 13.0 has the same order: what other modules see first,
 * then the rest, each in the order of its declaration. An address in .const is the offset in the bank, its
 * generic address that plus where the constant window begins (isa/machine/windows.h).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_CONST_LAYOUT_H
#define HEDDLE_FRONTEND_CONST_LAYOUT_H
#include "frontend/ast.h"

/* at[var] (nvars entries): the offset of each .const variable, others are left alone. Returns the bytes of
 * the bank; sizes above `most` count as most + 1. */
uint64_t ptx_const_layout(const PtxModule *module, uint64_t most, uint64_t *at);
#endif
