/* Lowering of a module: variables placed, functions selected on demand of their callers, the built-in library
 * pulled in, everything ordered so that callees come first.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"
#include "frontend/texture.h"
#include "frontend/const_layout.h"
#include "frontend/gates.h"
#include "frontend/named.h"
#include <stdio.h>
#include <string.h>

enum { CONST_LIMIT = 1 << 16 };

StrId lower_name(Lower *lower, const PtxModule *mod, StrId id) {
    return str_intern(lower->strings, str_text(&mod->strings, id), str_size(&mod->strings, id));
}

/* ---- functions ---- */

bool lower_is_open(const Lower *lower, const PtxModule *mod, const PtxFunc *func) {
    return lower->m->relocatable && mod == lower->user && !func->is_entry &&
           (func->linkage != LINK_NONE || !func->has_body || lower->address_taken[func - mod->funcs]);
}

LowerTables *lower_tables(Lower *lower, const PtxModule *mod) {
    unsigned n = 0;
    while (mod != lower->user && lower->lib[n++] != mod)
        ;
    LowerTables *tables = &lower->tables[n];
    if (!tables->fn)
        *tables = (LowerTables){ARENA_ARRAY(&lower->scratch, uint32_t, mod->nfuncs + 1),
                                ARENA_ARRAY(&lower->scratch, uint32_t, mod->nvars + 1),
                                ARENA_ARRAY(&lower->scratch, uint32_t, mod->nvars + 1)};
    return tables;
}

uint32_t lower_function(Lower *lower, const PtxModule *mod, uint32_t index, bool builtin) {
    uint32_t *number = &lower_tables(lower, mod)->fn[index];
    if (*number)
        return *number - 1;
    const PtxFunc *pf = &mod->funcs[index];
    Function *f = ir_function_new(lower->m, lower_name(lower, mod, pf->name), pf->is_entry);
    f->is_open = lower_is_open(lower, mod, pf);
    *VEC_PUSH(&lower->scratch, &lower->fns) =
        (LowerFn){.mod = mod, .index = index, .f = f, .builtin = builtin};
    *number = lower->fns.n;
    return *number - 1;
}

static void drop_sink(void *user, Severity severity, const char *line) {
    if (severity == SEV_ERROR)
        diag(user, (SrcLoc){0}, DIAG_E0706, line);
}

/* Library file number n, parsed; NULL if it is wrong, which is an internal error and reported as such. */
static PtxModule *library(Lower *lower, unsigned n) {
    if (n >= sizeof lower->lib / sizeof lower->lib[0])
        return NULL;
    if (!lower->lib[n]) {
        size_t size;
        const char *text = lower_builtin_text(n, &size);
        Diags inner = {.sink = drop_sink, .user = lower->d};
        lower->lib[n] = ptx_parse(lower_builtin_file(n), text, size, &inner);
    }
    return lower->lib[n];
}

/* The file that defines a function, by its text, so that only what is needed is parsed. */
static bool file_defines(const char *text, size_t size, const char *name) {
    char pattern[96];
    int n = snprintf(pattern, sizeof pattern, " %s\n(", name);
    return n > 0 && memmem(text, size, pattern, (size_t)n) != NULL;
}

uint32_t lower_builtin(Lower *l, const char *name) {
    size_t size;
    const char *text;
    for (unsigned n = 0; (text = lower_builtin_text(n, &size)); n++) {
        if (!file_defines(text, size, name))
            continue;
        PtxModule *lib = library(l, n);
        uint32_t f = lib ? ptx_find_func(lib, name) : 0;
        if (f)
            return lower_function(l, lib, f - 1, true);
    }
    return UINT32_MAX;
}

/* ---- variables ---- */

static StrId var_name(Lower *lower, const PtxVar *var) {
    if (!var->func)
        return lower_name(lower, lower->user, var->name);
    const char *text = ptx_var_symbol(lower->user, var, &lower->scratch);
    return str_intern_z(lower->strings, text);
}

static bool placed_space(const PtxVar *var) {
    return (var->space == SP_GLOBAL || var->space == SP_CONST || var->space == SP_SHARED) &&
           !ptx_is_texture(var);
}

static bool too_large(Lower *lower, const PtxVar *var, const char *space, uint64_t limit) {
    if (var->func)
        lower->d->place.function = str_text(&lower->user->strings, lower->user->funcs[var->func - 1].name);
    diag_in(lower->d, &lower->user->source, var->loc, DIAG_E0704, str_text(&lower->user->strings, var->name),
            space, (unsigned long long)limit);
    lower->d->place = (DiagPlace){0};
    return false;
}

/* What a whole program names and nobody defines is defined here, without an initial value, as by ptxas. */
static PtxLinkage linkage_of(Lower *lower, const PtxVar *var, bool named) {
    if (lower->m->relocatable || var->linkage != LINK_EXTERN || !named || !var->size_bytes ||
        ptx_is_dynamic_shared(var))
        return (PtxLinkage)var->linkage;
    diag_in(lower->d, &lower->user->source, var->loc, DIAG_W0709, str_text(&lower->user->strings, var->name));
    return LINK_VISIBLE;
}

/* Variables in shared memory lie elsewhere in each kernel: lower->shared. */
static bool place_var(Lower *lower, uint32_t index, uint64_t const_offset, bool named) {
    const PtxVar *var = &lower->user->vars[index];
    IrVar iv = {.name = var_name(lower, var),
                .linkage = (uint8_t)linkage_of(lower, var, named),
                .space = (uint8_t)var->space,
                .align_bytes = var->align_bytes ? var->align_bytes : 1,
                .size_bytes = var->size_bytes,
                .ptx = var,
                .is_extern_shared = ptx_is_dynamic_shared(var)};
    if (var->space == SP_SHARED) {
        /* (one that nobody names takes no room) */
        if ((named || var->func) && var->size_bytes > lower->ti->max_shared_bytes)
            return too_large(lower, var, "shared memory", lower->ti->max_shared_bytes);
    } else if (var->space == SP_CONST) {
        iv.offset_bytes = const_offset;
        if (const_offset + var->size_bytes > CONST_LIMIT || var->size_bytes > CONST_LIMIT)
            return too_large(lower, var, "constant memory", CONST_LIMIT);
    }
    lower->places[index] = (VarPlace){iv.name, iv.offset_bytes};
    *VEC_PUSH(&lower->m->arena, &lower->m->vars) = iv;
    return true;
}

static bool place_vars(Lower *lower) {
    uint64_t *constants = ARENA_ARRAY(&lower->scratch, uint64_t, lower->user->nvars + 1);
    bool ok = true;
    lower->places = ARENA_ARRAY(&lower->scratch, VarPlace, lower->user->nvars + 1);
    lower->shared = ptx_shared_layout(lower->user, &lower->scratch);
    lower->address_taken = ptx_address_taken(lower->user, &lower->scratch);
    bool *named = ARENA_ARRAY(&lower->scratch, bool, lower->user->nvars + 1),
         *funcs = ARENA_ARRAY(&lower->scratch, bool, lower->user->nfuncs + 1);
    for (uint32_t k = 0; k < lower->user->nfuncs; k++)
        ptx_mark_named(lower->user, k, named, funcs);
    lower->m->const_bytes = (uint32_t)ptx_const_layout(lower->user, CONST_LIMIT, constants);
    for (uint32_t k = 0; k < lower->user->nvars; k++)
        if (placed_space(&lower->user->vars[k]))
            ok &= place_var(lower, k, constants[k], named[k]);
    return ok;
}

/* ---- order ---- */

/* Callees before callers by depth-first search with an explicit stack; cycles are cut where they are met. */
static void order_functions(Lower *lower) {
    uint32_t n = lower->fns.n, out = 0;
    uint32_t *stack = ARENA_ARRAY(&lower->scratch, uint32_t, n + 1),
             *next = ARENA_ARRAY(&lower->scratch, uint32_t, n + 1);
    Function **order = ARENA_ARRAY(&lower->scratch, Function *, n + 1);
    for (uint32_t root = 0; root < n; root++) {
        uint32_t depth = 0;
        if (lower->fns.at[root].mark)
            continue;
        lower->fns.at[root].mark = 1;
        stack[depth++] = root;
        while (depth) {
            LowerFn *fn = &lower->fns.at[stack[depth - 1]];
            if (next[stack[depth - 1]] < fn->callees.n) {
                uint32_t callee = fn->callees.at[next[stack[depth - 1]]++];
                if (!lower->fns.at[callee].mark) {
                    lower->fns.at[callee].mark = 1;
                    stack[depth++] = callee;
                }
            } else {
                order[out++] = fn->f;
                depth--;
            }
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        lower->m->funcs.at[k] = order[k];
        order[k]->index = k;
    }
}

/* Collectives below a call count as its caller's. One round for each function suffices in callee-first order,
 * cycles need more. */
static void spread_sync(Lower *lower) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < lower->fns.n; k++) {
            LowerFn *fn = &lower->fns.at[k];
            for (uint32_t c = 0; fn->calls_unknown && c < lower->fns.n && !fn->f->uses_sync; c++)
                if (!lower->fns.at[c].f->is_entry && lower->fns.at[c].f->uses_sync)
                    fn->f->uses_sync = changed = true;
            for (uint32_t c = 0; c < fn->callees.n && !fn->f->uses_sync; c++)
                if (lower->fns.at[fn->callees.at[c]].f->uses_sync)
                    fn->f->uses_sync = changed = true;
        }
    }
}

/* As with ptxas, variables that no kernel reaches do not count. */
static bool kernels_fit(Lower *lower) {
    uint32_t most = lower->ti->max_static_shared_bytes;
    bool ok = true;
    for (uint32_t k = 0; k < lower->fns.n; k++) {
        const LowerFn *fn = &lower->fns.at[k];
        uint64_t bytes =
            fn->f->is_entry && !lower->m->relocatable ? lower->shared.funcs[fn->index].static_bytes : 0;
        fn->f->shared_bytes = (uint32_t)bytes;
        if (bytes <= most)
            continue;
        lower->d->place.function = str_text(lower->strings, fn->f->name);
        ok = diag_in(lower->d, &lower->user->source, lower->user->funcs[fn->index].loc, DIAG_E0707,
                     str_text(lower->strings, fn->f->name), (unsigned long long)bytes,
                     isa_target_name(lower->t), most);
        lower->d->place = (DiagPlace){0};
    }
    return ok;
}

static bool select_functions(Lower *lower) {
    bool ok = true;
    for (uint32_t k = 0; k < lower->user->nfuncs; k++)
        if (lower->user->funcs[k].has_body)
            lower_function(lower, lower->user, k, false);
    for (uint32_t k = 0; k < lower->fns.n; k++) /* the list grows by built-ins */
        ok &= isel_function(lower, k);
    return ok;
}

static IrModule *lower_for(const PtxModule *ptx, StrTab *strings, const Target *t, unsigned opt_level,
                           bool relocatable, Diags *d) {
    Lower l = {.user = ptx, .strings = strings, .t = t, .ti = isa_target_info(t), .d = d};
    l.m = ir_module_new(t, strings);
    l.m->ptx = ptx;
    l.m->opt_level = opt_level;
    l.m->relocatable = relocatable;
    bool ok =
        gate_machine(ptx, isa_target_name(t), d) && place_vars(&l) && select_functions(&l) && kernels_fit(&l);
    if (ok) {
        order_functions(&l);
        spread_sync(&l);
    }
    for (unsigned n = 0; n < sizeof l.lib / sizeof l.lib[0]; n++)
        ptx_free(l.lib[n]);
    IrModule *m = l.m;
    arena_free(&l.scratch);
    if (!ok) {
        ir_module_free(m);
        return NULL;
    }
    return m;
}

IrModule *lower_module(const PtxModule *ptx, StrTab *strings, const Target *t, unsigned opt_level, Diags *d) {
    return lower_for(ptx, strings, t, opt_level, false, d);
}

IrModule *lower_object(const PtxModule *ptx, StrTab *strings, const Target *t, unsigned opt_level, Diags *d) {
    return lower_for(ptx, strings, t, opt_level, true, d);
}
