/* Declarations of the driver's functions.
 * SPDX-License-Identifier: MIT */
#include "frontend/system.h"

static bool has_bytes(const PtxModule *module, uint32_t var, unsigned bytes) {
    const PtxVar *param = &module->vars[var];
    return !param->is_array && param->size_bytes == bytes;
}

SystemFunc ptx_system_func(const PtxModule *module, const PtxFunc *func) {
    SystemFunc system = system_find(str_text(&module->strings, func->name));
    if (func->has_body || func->is_entry || func->alias_of || system == SYSTEM_COUNT)
        return SYSTEM_COUNT;
    const SystemInfo *info = system_info(system);
    uint32_t n = 0;
    while (n < SYSTEM_MAX_PARAMS && info->param_bytes[n])
        n++;
    /* a result may be left out, as Taichi does with vprintf's */
    bool same = func->nparams == n && func->nrets <= (info->result_bytes != 0);
    for (uint32_t k = 0; same && k < n; k++)
        same = has_bytes(module, func->params[k], info->param_bytes[k]);
    return same && (!func->nrets || has_bytes(module, func->rets[0], info->result_bytes)) ? system
                                                                                          : SYSTEM_COUNT;
}

bool ptx_never_returns(const PtxModule *module, const PtxFunc *func) {
    SystemFunc system = func->noreturn ? SYSTEM_COUNT : ptx_system_func(module, func);
    return func->noreturn || (system != SYSTEM_COUNT && !system_info(system)->returns);
}
