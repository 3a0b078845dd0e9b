/* Variables and functions that functions name. SPDX-License-Identifier: MIT */
#include "frontend/named.h"

static void mark_func(const PtxModule *module, uint32_t index, bool *funcs) {
    funcs[index] = true;
    if (module->funcs[index].alias_of)
        funcs[module->funcs[index].alias_of - 1] = true;
}

/* vars NULL: only functions are asked for. */
static void mark_operand(const PtxModule *module, const PtxOperand *operand, bool *vars, bool *funcs) {
    if ((operand->kind == PO_SYM || operand->kind == PO_ADDR) && operand->sym) {
        if (operand->sym & PTX_SYM_FUNC)
            mark_func(module, (operand->sym & ~PTX_SYM_FUNC) - 1, funcs);
        else if (vars)
            vars[operand->sym - 1] = true;
    }
    for (unsigned k = 0; k < operand->nvec && operand->vec; k++)
        mark_operand(module, &operand->vec[k], vars, funcs);
}

static void mark_operands(const PtxModule *module, const PtxInsn *insn, bool *vars, bool *funcs) {
    for (unsigned k = 0; k < insn->noperands; k++)
        mark_operand(module, &insn->operands[k], vars, funcs);
    for (unsigned k = 0; k < insn->nargs; k++)
        mark_operand(module, &insn->args[k], vars, funcs);
}

bool ptx_mark_named(const PtxModule *module, uint32_t index, bool *vars, bool *funcs) {
    const PtxFunc *f = &module->funcs[index];
    bool unknown = false;
    for (uint32_t i = 0; i < f->ninsns; i++) {
        const PtxInsn *insn = &f->insns[i];
        mark_operands(module, insn, vars, funcs);
        if (insn->callee)
            mark_func(module, insn->callee - 1, funcs);
        else if (insn->op == PTX_CALL)
            unknown |= !insn->table || f->call_tables[insn->table - 1].n == 0;
    }
    for (uint32_t t = 0; t < f->ncall_tables; t++)
        for (uint32_t k = 0; k < f->call_tables[t].n; k++)
            mark_func(module, f->call_tables[t].funcs[k], funcs);
    return unknown;
}

static void mark_init(const PtxModule *module, const PtxInit *init, bool *vars, bool *funcs) {
    if (init->sym & PTX_SYM_FUNC)
        mark_func(module, (init->sym & ~PTX_SYM_FUNC) - 1, funcs);
    else if (init->sym && vars)
        vars[init->sym - 1] = true;
}

bool *ptx_address_taken(const PtxModule *module, Arena *arena) {
    bool *taken = ARENA_ARRAY(arena, bool, module->nfuncs + 1);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        for (uint32_t k = 0; k < module->funcs[i].ninsns; k++)
            if (module->funcs[i].insns[k].op != PTX_CALL)
                mark_operands(module, &module->funcs[i].insns[k], NULL, taken);
    for (uint32_t i = 0; i < module->nvars; i++)
        for (uint32_t k = 0; k < module->vars[i].ninits; k++)
            mark_init(module, &module->vars[i].inits[k], NULL, taken);
    return taken;
}

void ptx_mark_reached(const PtxModule *module, uint32_t index, bool indirect, bool *vars, bool *funcs) {
    Arena scratch = {0};
    bool *done = ARENA_ARRAY(&scratch, bool, module->nfuncs + 1), unknown = false,
         *read = ARENA_ARRAY(&scratch, bool, module->nvars + 1);
    funcs[index] = true;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t k = 0; k < module->nfuncs; k++) {
            if (!funcs[k] || done[k])
                continue;
            done[k] = more = true;
            bool here = ptx_mark_named(module, k, vars, funcs) && indirect && !unknown;
            const bool *taken = here ? ptx_address_taken(module, &scratch) : NULL;
            for (uint32_t t = 0; here && t < module->nfuncs; t++)
                funcs[t] |= taken[t] && !module->funcs[t].is_entry;
            unknown |= here;
        }
        for (uint32_t v = 0; indirect && v < module->nvars; v++) {
            if (!vars[v] || read[v])
                continue;
            read[v] = more = true;
            for (uint32_t k = 0; k < module->vars[v].ninits; k++)
                mark_init(module, &module->vars[v].inits[k], vars, funcs);
        }
    }
    arena_free(&scratch);
}

PtxContents ptx_contents(const PtxModule *module, Arena *arena) {
    PtxContents all = {ARENA_ARRAY(arena, bool, module->nfuncs + 1),
                       ARENA_ARRAY(arena, uint32_t, module->nvars + 1)};
    for (uint32_t i = 0; i < module->nfuncs; i++)
        all.bodies[i] = module->funcs[i].has_body;
    for (uint32_t i = 0; i < module->nvars; i++)
        all.ninits[i] = module->vars[i].ninits;
    return all;
}

void ptx_keep(PtxModule *module, const PtxContents *all, const bool *funcs) {
    for (uint32_t i = 0; i < module->nfuncs; i++)
        module->funcs[i].has_body = all->bodies[i] && funcs[i];
    for (uint32_t i = 0; i < module->nvars; i++) {
        PtxVar *var = &module->vars[i];
        var->ninits = all->ninits[i];
        for (uint32_t k = 0; k < var->ninits; k++) {
            uint32_t f = var->inits[k].sym & PTX_SYM_FUNC ? var->inits[k].sym & ~PTX_SYM_FUNC : 0;
            if (f && ((all->bodies[f - 1] && !funcs[f - 1]) || module->funcs[f - 1].broken))
                var->ninits = 0;
        }
    }
}
