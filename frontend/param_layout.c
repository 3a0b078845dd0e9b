/* SPDX-License-Identifier: MIT */
#include "frontend/param_layout.h"
#include "base/align.h"

bool ptx_is_behind(const PtxVar *var) { return ptx_type_class(var->type) == TC_OPAQUE; }

/* The end of the parameters up to `last` or of all; *offset: of the last one. */
static uint64_t place(const PtxModule *module, const PtxFunc *kernel, const PtxVar *last, uint32_t base_bytes,
                      uint64_t *offset) {
    uint64_t end = 0;
    *offset = 0;
    for (uint32_t k = 0; k < 2 * kernel->nparams; k++) {
        const PtxVar *var = &module->vars[kernel->params[k % kernel->nparams]];
        if (ptx_is_behind(var) != (k >= kernel->nparams))
            continue;
        *offset = align_up(base_bytes + end, var->align_bytes ? var->align_bytes : 1) - base_bytes;
        end = *offset + var->size_bytes;
        if (var == last)
            break;
    }
    return end;
}

uint64_t ptx_param_offset(const PtxModule *module, const PtxFunc *kernel, const PtxVar *var,
                          uint32_t base_bytes) {
    uint64_t offset;
    place(module, kernel, var, base_bytes, &offset);
    return offset;
}

uint64_t ptx_param_bytes(const PtxModule *module, const PtxFunc *kernel, uint32_t base_bytes) {
    uint64_t offset;
    return place(module, kernel, NULL, base_bytes, &offset);
}
