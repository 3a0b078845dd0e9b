/* Which barriers of a binary need the whole warp, as its PTX says (contents.h): the words of some machines do
 * not. SPDX-License-Identifier: MIT */
#include "check/flow/contents.h"
#include "isa/isa.h"

static bool needs_warp(const PtxInsn *in) {
    return in->op == PTX_BAR || (in->op == PTX_BARRIER && (in->flags & PF_ALIGNED));
}

uint8_t *bin_aligned_barriers(const PtxModule *module, const Binary *binary, Arena *arena) {
    uint8_t *aligned = ARENA_ARRAY(arena, uint8_t, binary->ncode + 1);
    for (uint32_t k = 0; k < binary->nfuncs; k++) {
        const BinFunc *func = &binary->funcs[k];
        uint32_t index = ptx_find_func(module, func->name);
        const PtxFunc *ptx = index ? &module->funcs[index - 1] : NULL;
        uint64_t first = (func->address - binary->code_base) / INST_BYTES;
        for (uint32_t i = 0; ptx && func->locs && i < func->ninsts; i++) {
            uint32_t statement = func->locs[i].ptx_insn;
            aligned[first + i] =
                statement && statement <= ptx->ninsns && needs_warp(&ptx->insns[statement - 1]);
        }
    }
    return aligned;
}
