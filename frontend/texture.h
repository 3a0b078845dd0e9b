/* What a statement of PTX ISA 9.7.10 and 9.7.11 (tex, txq, suld, sust, sured, suq) asks of which texture or
 * surface: its operands by meaning.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_TEXTURE_H
#define HEDDLE_FRONTEND_TEXTURE_H
#include "frontend/ast.h"
#include "isa/machine/tensormap.h"

typedef struct {
    const PtxOperand *result;     /* destination; of sust and sured what is written. A vector or a register */
    const PtxOperand *place;      /* PO_ADDR: register or name of the texture or surface */
    const PtxOperand *sampler;    /* register or name in an operand of its own, NULL: the texture's */
    const PtxOperand *coord[4];   /* of an array the layer first */
    unsigned ncoords;             /* 0: the header is asked */
    bool layered, cube;           /* array of layers; the place is a direction of three coordinates */
    const PtxOperand *resident;   /* destination predicate behind the bar; NULL: none */
    const PtxOperand *level;      /* of detail, NULL: none is said */
    const PtxOperand *compare;    /* a depth, NULL: none */
    const PtxOperand *offset[3];  /* in texels, NULL: none */
    const PtxOperand *grad[2][3]; /* derivatives of the coordinates, NULL: none */
    bool integer;                 /* coordinates are whole texels; of surfaces, the first one bytes */
} PtxTexture;

bool ptx_asks_texture(const PtxInsn *insn); /* is it one of these opcodes? */
/* Of a checked statement of one of these opcodes. */
PtxTexture ptx_texture(const PtxInsn *insn);
/* Coordinates of a geometry without its layer; of a cube 3. */
unsigned ptx_texture_dims(unsigned geometry);
/* Coordinates of a geometry (PtxSub SUB_1D to SUB_ACUBE), the layer included. */
unsigned ptx_texture_ncoords(unsigned geometry);
/* A variable of module scope that stands for a texture, a sampler or a surface: it has no memory, its value
 * is a handle. */
bool ptx_is_texture(const PtxVar *var);
/* What `mov.u64` of a texture's, sampler's or surface's name sets of a handle's upper word, and istypep asks
 * for: as in the code of ptxas 13.0 (which before sm_90 sets bit 31 of the lower word, too). A `.tex`
 * variable is a texture. */
uint32_t ptx_handle_kind(PtxType t);
/* Are samplers objects of their own, beside textures (.target texmode_independent)? */
bool ptx_own_samplers(const PtxModule *module);
/* A copy of a tensor: an operand is a place in one. */
bool ptx_copies_tensor(const PtxInsn *insn);
/* Of tensormap.replace; TENSOR_FIELDS of others. */
TensorField ptx_tensor_field(const PtxInsn *insn);
/* How many bytes more an mbarrier object is to wait for (.expect_tx); NULL: another statement. */
const PtxOperand *ptx_expected_bytes(const PtxModule *module, const PtxInsn *insn);
#endif
