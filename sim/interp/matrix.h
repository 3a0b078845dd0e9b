/* Matrices of a warp, in the reference interpreter. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_INTERP_MATRIX_H
#define HEDDLE_SIM_INTERP_MATRIX_H
#include "sim/interp/run.h"

/* All lanes of a full warp, or a trap. */
bool interp_is_whole(PtxWarp *warp, uint32_t lanes);
/* A statement that all lanes of a full warp execute together: `gather` does it for them. */
bool interp_bind_whole(PtxCode *code, PtxGather *gather);
unsigned interp_element_bits(PtxType type);

enum { MOST_M = 32, MOST_N = 32, MOST_K = 256 };
/* The element type of a factor, and how its elements lie in registers. */
typedef struct {
    PtxType type;
    unsigned bits, each; /* of an element; elements of a register */
} FactorKind;

FactorKind interp_factor_kind(PtxType type);

typedef union {
    int64_t i;
    double f;
} Element;

typedef struct {
    unsigned m, n, k;
    bool is_float, sparse;
    Element a[MOST_M][MOST_K], b[MOST_K][MOST_N];
    uint16_t place[MOST_M][MOST_K]; /* sparse: where in its row an element of A stands */
} Factors;

/* Where the elements of a sparse A stand: the last argument of the statement has it.
 *   selector  which lanes of each four
 *   f         f->k is that of the whole rows */
void interp_take_places(PtxWarp *warp, unsigned selector, Factors *f);
/* Element i of a register. */
Element interp_element(const Factors *f, FactorKind kind, uint64_t reg, unsigned i);
/* c and the products of a row of A and a column of B, as docs/numerics.md says. */
uint64_t interp_one_sum(const Factors *f, unsigned row, unsigned col, uint64_t c, const PtxInsn *insn,
                        PtxSums sums);
/* wmma: row and column of element i of `lane`, counted through its registers from the low bits on.
 *   matrix  SUB_A .. SUB_D
 *   bits    of an element */
void interp_wmma_place(const PtxInsn *insn, unsigned matrix, unsigned bits, unsigned lane, unsigned i,
                       unsigned *row, unsigned *col);
#endif
