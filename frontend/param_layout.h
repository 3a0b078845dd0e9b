/* Where the parameters of a kernel lie in its block. PTX has their alignment from the block's begin
 * (PtxVar.param_offset_bytes); a machine has it from the begin of its constant bank, as ptxas 13.0 does,
 * which differs where a parameter is aligned to more than the block. Handles of textures, surfaces and
 * samplers lie behind all others, which then have the places that ptxas gives them: its files keep a handle
 * in a word behind the block, which has no place for it. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_PARAM_LAYOUT_H
#define HEDDLE_FRONTEND_PARAM_LAYOUT_H
#include "frontend/ast.h"

/* A parameter .texref, .surfref or .samplerref. */
bool ptx_is_behind(const PtxVar *var);
/* Offset from the block's begin, which is at `base_bytes` of the bank; `var` is a parameter of the kernel. */
uint64_t ptx_param_offset(const PtxModule *module, const PtxFunc *kernel, const PtxVar *var,
                          uint32_t base_bytes);
/* What all of them need. */
uint64_t ptx_param_bytes(const PtxModule *module, const PtxFunc *kernel, uint32_t base_bytes);
#endif
