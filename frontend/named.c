/* Variables and functions that functions name. SPDX-License-Identifier: MIT */
#include "frontend/named.h"

typedef struct {
    const PtxModule *module;
    bool *vars, *funcs; /* vars NULL: only functions are asked for */
    PtxNamed *list;     /* gets what was not marked before; may be NULL */
    Arena *arena;       /* of the list */
} Marker;

static void mark_var(const Marker *marker, uint32_t index) {
    if (marker->list && !marker->vars[index])
        VEC_ADD(marker->arena, &marker->list->vars, index);
    marker->vars[index] = true;
}

static void mark_one_func(const Marker *marker, uint32_t index) {
    if (marker->list && !marker->funcs[index])
        VEC_ADD(marker->arena, &marker->list->funcs, index);
    marker->funcs[index] = true;
}

static void mark_func(const Marker *marker, uint32_t index) {
    uint32_t alias_of = marker->module->funcs[index].alias_of;
    mark_one_func(marker, index);
    if (alias_of)
        mark_one_func(marker, alias_of - 1);
}

static void mark_symbol(const Marker *marker, uint32_t sym) {
    if (sym & PTX_SYM_FUNC)
        mark_func(marker, (sym & ~PTX_SYM_FUNC) - 1);
    else if (sym && marker->vars)
        mark_var(marker, sym - 1);
}

static void mark_operand(const Marker *marker, const PtxOperand *operand) {
    if (operand->kind == PO_SYM || operand->kind == PO_ADDR)
        mark_symbol(marker, operand->sym);
    for (unsigned k = 0; k < operand->nvec && operand->vec; k++)
        mark_operand(marker, &operand->vec[k]);
}

static void mark_operands(const Marker *marker, const PtxInsn *insn) {
    for (unsigned k = 0; k < insn->noperands; k++)
        mark_operand(marker, &insn->operands[k]);
    for (unsigned k = 0; k < insn->nargs; k++)
        mark_operand(marker, &insn->args[k]);
}

static bool mark_named(const Marker *marker, uint32_t index) {
    const PtxFunc *f = &marker->module->funcs[index];
    bool unknown = false;
    for (uint32_t i = 0; i < f->ninsns; i++) {
        const PtxInsn *insn = &f->insns[i];
        mark_operands(marker, insn);
        if (insn->callee)
            mark_func(marker, insn->callee - 1);
        else if (insn->op == PTX_CALL)
            unknown |= !insn->table || f->call_tables[insn->table - 1].n == 0;
    }
    for (uint32_t t = 0; t < f->ncall_tables; t++)
        for (uint32_t k = 0; k < f->call_tables[t].n; k++)
            mark_func(marker, f->call_tables[t].funcs[k]);
    return unknown;
}

bool ptx_mark_named(const PtxModule *module, uint32_t index, bool *vars, bool *funcs) {
    return mark_named(&(Marker){module, vars, funcs, NULL, NULL}, index);
}

bool ptx_list_named(const PtxModule *module, uint32_t index, bool *vars, bool *funcs, Arena *arena,
                    PtxNamed *list) {
    return mark_named(&(Marker){module, vars, funcs, list, arena}, index);
}

bool *ptx_address_taken(const PtxModule *module, Arena *arena) {
    bool *taken = ARENA_ARRAY(arena, bool, module->nfuncs + 1);
    Marker marker = {.module = module, .funcs = taken};
    for (uint32_t i = 0; i < module->nfuncs; i++)
        for (uint32_t k = 0; k < module->funcs[i].ninsns; k++)
            if (module->funcs[i].insns[k].op != PTX_CALL)
                mark_operands(&marker, &module->funcs[i].insns[k]);
    for (uint32_t i = 0; i < module->nvars; i++)
        for (uint32_t k = 0; k < module->vars[i].ninits; k++)
            mark_symbol(&marker, module->vars[i].inits[k].sym);
    return taken;
}

void ptx_mark_reached(const PtxModule *module, uint32_t index, bool indirect, bool *vars, bool *funcs) {
    Arena scratch = {0};
    Marker marker = {.module = module, .vars = vars, .funcs = funcs};
    bool *done = ARENA_ARRAY(&scratch, bool, module->nfuncs + 1), unknown = false,
         *read = ARENA_ARRAY(&scratch, bool, module->nvars + 1);
    funcs[index] = true;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t k = 0; k < module->nfuncs; k++) {
            if (!funcs[k] || done[k])
                continue;
            done[k] = more = true;
            bool here = mark_named(&marker, k) && indirect && !unknown;
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
                mark_symbol(&marker, module->vars[v].inits[k].sym);
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
