/* Layout of constant memory. SPDX-License-Identifier: MIT */
#include "frontend/const_layout.h"
#include "base/align.h"

uint64_t ptx_const_layout(const PtxModule *module, uint64_t most, uint64_t *at) {
    uint64_t next = 0;
    for (unsigned local = 0; local < 2; local++)
        for (uint32_t k = 0; k < module->nvars; k++) {
            const PtxVar *var = &module->vars[k];
            if (var->space != SP_CONST || (var->linkage == LINK_NONE) != (local == 1))
                continue;
            at[k] = align_up(next, var->align_bytes);
            next = at[k] + (var->size_bytes > most ? most + 1 : var->size_bytes);
        }
    return next;
}
