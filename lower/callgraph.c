/* What is known of functions from outside: whose address is taken, who may observe other threads.
 * SPDX-License-Identifier: MIT */
#include "frontend/ast.h"
#include "lower/passes.h"

/* Does a variable's initialiser hold an address? Then functions may be called through it. */
static bool has_address_tables(const IrModule *module) {
    for (unsigned k = 0; k < module->vars.n; k++) {
        const PtxVar *var = module->vars.at[k].ptx;
        for (unsigned n = 0; var && n < var->ninits; n++)
            if (var->inits[n].sym)
                return true;
    }
    return false;
}

bool *ir_open_functions(Arena *a, const IrModule *module) {
    bool *open = ARENA_ARRAY(a, bool, module->funcs.n), *called = ARENA_ARRAY(a, bool, module->funcs.n);
    for (unsigned n = 0; n < module->funcs.n; n++) {
        const Function *f = module->funcs.at[n];
        for (unsigned b = 0; b < f->layout.n; b++) {
            const Block *blk = &f->blocks.at[f->layout.at[b].i];
            for (unsigned p = 0; p < blk->insts.n; p++) {
                const Inst *i = &f->insts.at[blk->insts.at[p].i];
                for (unsigned k = i->ndst; k < ir_num_operands(i); k++) {
                    Operand o = f->operands.at[i->operand + k];
                    const Function *function =
                        o.kind == OPK_SYM ? ir_find_function(module, f->symrefs.at[o.value].symbol) : NULL;
                    if (function && i->op == OT_CALL)
                        called[function->index] = true;
                    else if (function)
                        open[function->index] = true;
                }
            }
        }
    }
    bool tables = has_address_tables(module);
    for (unsigned n = 0; n < module->funcs.n; n++)
        open[n] |= tables || !called[n]; /* a kernel, or called from another module or through a table */
    return open;
}

static bool inst_observes(const Function *f, const Inst *i, const bool *observes) {
    if (i->flags & IF_OBSERVING)
        return true;
    if (i->op != OT_CALL)
        return false;
    const Function *callee = ir_callee(f, i);
    return !callee || callee->blocks.n <= 1 || observes[callee->index];
}

bool *ir_observing_functions(Arena *a, const IrModule *module) {
    bool *observes = ARENA_ARRAY(a, bool, module->funcs.n);
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned n = 0; n < module->funcs.n; n++) {
            const Function *f = module->funcs.at[n];
            for (unsigned b = 0; !observes[n] && b < f->layout.n; b++) {
                const Block *blk = &f->blocks.at[f->layout.at[b].i];
                for (unsigned p = 0; p < blk->insts.n && !observes[n]; p++)
                    if (inst_observes(f, &f->insts.at[blk->insts.at[p].i], observes))
                        observes[n] = changed = true;
            }
        }
    }
    return observes;
}
