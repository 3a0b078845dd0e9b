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
    bool sparse;      /* A has half of its elements; where they stand ... */
    Operand places;   /* ... is in this register ... */
    unsigned lanes;   /* ... of those lanes, as PTX counts them */
} SelProduct;

/* Words of the fragments as mma has them: of A for each row and each 128 bits of k one (rows alternate), of B
 * for each 128 bits of k, of C and D two for each row; f64: pairs of them for each 4 of k; f16 of C and D:
 * one. A sparse A has half of its words. */
bool sel_product(Sel *sel, const SelProduct *p, const Operand *a, const Operand *b, const Operand *c,
                 Operand *d);

/* One instruction; c may be NULL: zero. */
void sel_emit_product(Sel *sel, const SelProduct *p, unsigned op, unsigned mods, const Operand *a,
                      unsigned na, const Operand *b, unsigned nb, const Operand *c, unsigned nc, Operand *d);
unsigned sel_element_bits(PtxType type);
unsigned sel_imma_type(PtxType type);
/* Products of factors in another form; none saturates but as the last thing. */
bool sel_product_of_bytes(Sel *sel, const SelProduct *p, const Operand *a, const Operand *b, const Operand *c,
                          Operand *d); /* 8-bit floating point: sparse.c */
bool sel_sparse_product(Sel *sel, const SelProduct *p, const Operand *a, const Operand *b, const Operand *c,
                        Operand *d); /* sparse.c */
/* The lower (upper) halves of the bytes of x, as bytes. */
Operand sel_nibbles(Sel *sel, PtxType type, Operand x, bool upper);
Operand sel_saturating_sum(Sel *sel, Operand s, Operand c); /* s + c, or what is nearest to it */
bool sel_quads(Sel *sel, const PtxInsn *in);                /* m8n8k4 of f16: quad.c */

Operand sel_lane(Sel *sel); /* the number of the lane */
/* SHFL among all lanes of a warp. */
Operand sel_shuffle(Sel *sel, unsigned mode, Operand a, Operand b);
Operand sel_widen_half(Sel *sel, Operand low); /* f16 to f32 */
#endif
