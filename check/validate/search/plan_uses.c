/* What kernels do with the textures among their arguments: fetch from them, or load and store as of surfaces.
 * A statement whose handle is not the value of a parameter as it stands, or that is in a function, may have
 * the handle of any. SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_search.h"
#include "check/validate/compare/diff.h"
#include "frontend/texture.h"

static void no_sink(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

/* A query reads what both have. */
static uint32_t use_of(const PtxInsn *insn) {
    switch (insn->op) {
    case PTX_TEX:
    case PTX_TLD4: return SIM_USE_FETCH;
    case PTX_TXQ:
    case PTX_SUQ: return 0;
    default: return SIM_USE_SURFACE;
    }
}

/* Of the statements of `f`; what it does with handles that are no parameter's is the result. */
static uint32_t note_statements(const PtxFunc *f, PlanLaunch *launch) {
    uint32_t others = 0;
    for (uint32_t i = 0; i < f->ninsns; i++) {
        const PtxInsn *insn = &f->insns[i];
        const PtxOperand *place = ptx_asks_texture(insn) ? ptx_texture(insn).place : NULL;
        if (!place || place->sym)
            continue;
        uint32_t param = launch ? auto_param_in(f, place->reg) : 0;
        if (param && param <= launch->args.n)
            launch->args.at[param - 1].uses |= use_of(insn);
        else
            others |= use_of(insn);
    }
    return others;
}

void plan_note_uses(Plan *plan, const PtxModule *module) {
    Diags quiet = {.sink = no_sink};
    uint32_t any = 0;
    for (uint32_t i = 0; plan->textures.n && i < module->nfuncs; i++)
        any |= module->funcs[i].is_entry ? 0 : note_statements(&module->funcs[i], NULL);
    for (uint32_t i = 0; plan->textures.n && i < plan->launches.n; i++) {
        PlanLaunch *launch = &plan->launches.at[i];
        const char *kernel = diff_ptx_kernel(plan, module, launch, &quiet);
        uint32_t index = kernel ? ptx_find_func(module, kernel) : 0;
        uint32_t others = index ? any | note_statements(&module->funcs[index - 1], launch) : 0;
        for (uint32_t k = 0; index && k < launch->args.n; k++) {
            uint32_t *uses = &launch->args.at[k].uses;
            *uses = *uses | others ? *uses | others : SIM_USE_FETCH;
        }
    }
}
