/* Matrices of a warp, in the reference interpreter. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_INTERP_MATRIX_H
#define HEDDLE_SIM_INTERP_MATRIX_H
#include "sim/interp/run.h"

/* All lanes of a full warp, or a trap. */
bool interp_is_whole(PtxWarp *warp, uint32_t lanes);
/* A statement that all lanes of a full warp execute together: `gather` does it for them. */
bool interp_bind_whole(PtxCode *code, PtxGather *gather);
unsigned interp_element_bits(PtxType type);
/* wmma: row and column of element i of `lane`, counted through its registers from the low bits on.
 *   matrix  SUB_A .. SUB_D
 *   bits    of an element */
void interp_wmma_place(const PtxInsn *insn, unsigned matrix, unsigned bits, unsigned lane, unsigned i,
                       unsigned *row, unsigned *col);
#endif
