/* Matrices in the registers of a warp, for selection. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_SELECT_MATRIX_H
#define HEDDLE_LOWER_SELECT_MATRIX_H
#include "lower/select/isel.h"

/* The 32-bit words of a fragment, a vector of registers or one register of `bytes`; returns how many. */
unsigned sel_read_fragment(Sel *sel, const PtxOperand *operand, unsigned bytes, Operand *words);
void sel_write_fragment(Sel *sel, const PtxOperand *operand, PtxType type, const Operand *words);

/* D = A B + C with 8 columns, as mma has it. */
typedef struct {
    PtxType d, a, b; /* elements; C has D's */
    unsigned rows;   /* 8 or 16 */
    unsigned k;
    bool saturate;
    uint8_t bop, rnd; /* of bits, of f64 */
} SelProduct;

/* Words of the fragments as mma has them: of A for each row and each 128 bits of k one (rows alternate), of B
 * for each 128 bits of k, of C and D two for each row; f64: pairs of them for each 4 of k; f16 of C and D:
 * one. */
bool sel_product(Sel *sel, const SelProduct *p, const Operand *a, const Operand *b, const Operand *c,
                 Operand *d);
#endif
