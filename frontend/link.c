/* Linking of parsed modules into one: names resolved by their linkage, everything renumbered. The result
 * refers to the parts' memory and owns them. PTX ISA 5.4, 10.4 (linking directives).
 *
 * A name with .extern, .visible, .weak or .common means the same in all modules, and that of a kernel that is
 * only declared; others are private and are renamed where they collide, as by nvlink. One .visible definition
 * wins over .weak ones, these over .common ones, of which the largest is taken; a declaration is bound to
 * what was found. SPDX-License-Identifier: MIT */
#include "frontend/link.h"
#include "base/scope.h"
#include "frontend/lex.h"
#include "frontend/system.h"
#include <stdlib.h>
#include <string.h>

enum { RANK_PRIVATE = -1, RANK_REFERENCE, RANK_COMMON, RANK_WEAK, RANK_STRONG };

typedef struct {
    PtxModule *module;
    uint32_t base_bytes; /* of its text in the linked one */
    uint32_t file_base;
    uint32_t *owner;       /* variable -> function index + 1, 0 at module level */
    uint32_t *fmap, *vmap; /* new index + 1; 0 = dropped */
} Part;

typedef struct {
    StrId name;
    bool is_func, is_drivers, reported; /* is_drivers: as first declared, before numbers change */
    uint32_t part, index;
    int rank;
} Symbol;

typedef struct {
    PtxModule *out;
    Part *parts;
    uint32_t nparts;
    Arena tmp;
    VEC(Symbol) symbols;
    StrMap by_name; /* symbol index + 1; UINT32_MAX: a private name */
    VEC(PtxVar) vars;
    VEC(PtxFunc) funcs;
    VEC(StrId) files;
    Diags *d;
} Linker;

static StrId name_of(Linker *linker, const Part *part, StrId id) {
    return id.i ? str_intern(&linker->out->strings, str_text(&part->module->strings, id),
                             str_size(&part->module->strings, id))
                : id;
}

static const char *file_of(const Linker *linker, uint32_t part) {
    return linker->parts[part].module->source.name;
}

static int func_rank(const PtxFunc *f) {
    if (f->linkage == LINK_NONE && (!f->is_entry || f->has_body))
        return RANK_PRIVATE;
    if (!f->has_body && !f->alias_of)
        return RANK_REFERENCE;
    return f->linkage == LINK_WEAK ? RANK_WEAK : RANK_STRONG;
}

static int var_rank(const PtxVar *var) {
    switch (var->linkage) {
    case LINK_EXTERN: return RANK_REFERENCE;
    case LINK_COMMON: return RANK_COMMON;
    case LINK_WEAK: return RANK_WEAK;
    case LINK_VISIBLE: return RANK_STRONG;
    default: return RANK_PRIVATE;
    }
}

/* ---- what the names mean ---- */

static void own(Part *part, const uint32_t *vars, uint32_t n, uint32_t func) {
    for (uint32_t k = 0; k < n; k++)
        part->owner[vars[k]] = func + 1;
}

static void find_owners(Linker *linker, Part *part) {
    part->owner = ARENA_ARRAY(&linker->tmp, uint32_t, part->module->nvars + 1);
    part->fmap = ARENA_ARRAY(&linker->tmp, uint32_t, part->module->nfuncs + 1);
    part->vmap = ARENA_ARRAY(&linker->tmp, uint32_t, part->module->nvars + 1);
    for (uint32_t i = 0; i < part->module->nvars; i++)
        part->owner[i] = part->module->vars[i].func;
    for (uint32_t i = 0; i < part->module->nfuncs; i++) {
        const PtxFunc *f = &part->module->funcs[i];
        own(part, f->rets, f->nrets, i);
        own(part, f->params, f->nparams, i);
        own(part, f->vars, f->nvars, i);
        for (uint32_t k = 0; k < f->ncall_tables; k++) {
            own(part, f->call_tables[k].rets, f->call_tables[k].nrets, i);
            own(part, f->call_tables[k].params, f->call_tables[k].nparams, i);
        }
    }
}

static void add_symbol(Linker *linker, uint32_t part, bool is_func, uint32_t index, StrId name, int rank) {
    uint32_t at = strmap_get(&linker->by_name, name);
    if (!at) {
        const PtxModule *module = linker->parts[part].module;
        bool drivers = is_func && ptx_system_func(module, &module->funcs[index]) != SYSTEM_COUNT;
        *VEC_PUSH(&linker->tmp, &linker->symbols) =
            (Symbol){name, is_func, drivers, false, part, index, rank};
        strmap_put(&linker->by_name, &linker->tmp, name, linker->symbols.n);
        return;
    }
    Symbol *symbol = &linker->symbols.at[at - 1];
    const char *text = str_text(&linker->out->strings, name);
    const PtxModule *module = linker->parts[part].module;
    SrcLoc loc = is_func ? module->funcs[index].loc : module->vars[index].loc;
    if (symbol->is_func != is_func) {
        diag_in(linker->d, &module->source, loc, DIAG_E0142, text, file_of(linker, symbol->part),
                file_of(linker, part), "one is a function");
        return;
    }
    if (symbol->rank == RANK_STRONG && rank == RANK_STRONG) {
        diag_in(linker->d, &module->source, loc, DIAG_E0140, is_func ? "function" : "variable", text,
                file_of(linker, symbol->part), file_of(linker, part));
        return;
    }
    bool larger =
        !is_func && rank == RANK_COMMON && symbol->rank == RANK_COMMON &&
        module->vars[index].size_bytes > linker->parts[symbol->part].module->vars[symbol->index].size_bytes;
    if (rank > symbol->rank || larger) {
        symbol->rank = rank;
        symbol->part = part;
        symbol->index = index;
    }
}

static void find_symbols(Linker *linker, uint32_t part) {
    Part *from = &linker->parts[part];
    for (uint32_t i = 0; i < from->module->nfuncs; i++) {
        const PtxFunc *f = &from->module->funcs[i];
        if (func_rank(f) != RANK_PRIVATE)
            add_symbol(linker, part, true, i, name_of(linker, from, f->name), func_rank(f));
    }
    for (uint32_t i = 0; i < from->module->nvars; i++) {
        const PtxVar *var = &from->module->vars[i];
        if (!from->owner[i] && var_rank(var) != RANK_PRIVATE)
            add_symbol(linker, part, false, i, name_of(linker, from, var->name), var_rank(var));
    }
}

static const char *var_difference(const PtxVar *var, const PtxVar *ptx_var) {
    if (var->space != ptx_var->space)
        return "their state spaces differ";
    if (!var->unsized && !ptx_var->unsized && var->size_bytes && ptx_var->size_bytes &&
        var->size_bytes != ptx_var->size_bytes)
        return "their sizes differ";
    return NULL;
}

static bool same_types(const PtxModule *module, const uint32_t *a, uint32_t na, const PtxModule *ptx_module,
                       const uint32_t *b, uint32_t nb) {
    if (na != nb)
        return false;
    for (uint32_t k = 0; k < na; k++) {
        const PtxVar *var = &module->vars[a[k]], *ptx_var = &ptx_module->vars[b[k]];
        if (var->size_bytes != ptx_var->size_bytes || var->component != ptx_var->component ||
            (var->type == TY_PRED) != (ptx_var->type == TY_PRED))
            return false;
    }
    return true;
}

/* Every declaration and definition must agree with the one chosen. */
static void check_symbol(Linker *linker, uint32_t part, const Symbol *symbol, uint32_t index) {
    const PtxModule *module = linker->parts[symbol->part].module, *ptx_module = linker->parts[part].module;
    const char *why = NULL;
    if (!symbol->is_func) {
        why = symbol->rank == RANK_COMMON
                  ? NULL
                  : var_difference(&module->vars[symbol->index], &ptx_module->vars[index]);
    } else {
        const PtxFunc *f = &module->funcs[symbol->index], *func = &ptx_module->funcs[index];
        if (f->is_entry != func->is_entry)
            why = "one is a kernel";
        else if (!same_types(module, f->rets, f->nrets, ptx_module, func->rets, func->nrets) ||
                 !same_types(module, f->params, f->nparams, ptx_module, func->params, func->nparams))
            why = "their parameters or results differ";
        else if (f->noreturn != func->noreturn)
            why = "one is .noreturn";
    }
    if (why)
        diag(linker->d, (SrcLoc){0}, DIAG_E0142, str_text(&linker->out->strings, symbol->name),
             file_of(linker, symbol->part), file_of(linker, part), why);
}

/* ---- numbering ---- */

static StrId private_name(Linker *linker, uint32_t part, StrId id) {
    StrId name = name_of(linker, &linker->parts[part], id);
    while (strmap_get(&linker->by_name, name))
        name = str_intern_z(
            &linker->out->strings,
            arena_printf(&linker->tmp, "%s$%u", str_text(&linker->out->strings, name), (unsigned)part + 1));
    strmap_put(&linker->by_name, &linker->tmp, name, UINT32_MAX);
    return name;
}

static const Symbol *symbol_of(Linker *linker, uint32_t part, StrId id) {
    uint32_t at = strmap_get(&linker->by_name, name_of(linker, &linker->parts[part], id));
    return at && at != UINT32_MAX ? &linker->symbols.at[at - 1] : NULL;
}

static void number_funcs(Linker *linker, uint32_t part) {
    Part *from = &linker->parts[part];
    for (uint32_t i = 0; i < from->module->nfuncs; i++) {
        PtxFunc *f = &from->module->funcs[i];
        const Symbol *symbol = func_rank(f) == RANK_PRIVATE ? NULL : symbol_of(linker, part, f->name);
        if (symbol)
            check_symbol(linker, part, symbol, i);
        if (symbol && (symbol->part != part || symbol->index != i))
            continue;
        StrId name = symbol ? symbol->name : private_name(linker, part, f->name);
        *VEC_PUSH(&linker->tmp, &linker->funcs) = *f;
        linker->funcs.at[linker->funcs.n - 1].name = name;
        from->fmap[i] = linker->funcs.n;
    }
}

static void number_vars(Linker *linker, uint32_t part) {
    Part *from = &linker->parts[part];
    for (uint32_t i = 0; i < from->module->nvars; i++) {
        PtxVar *var = &from->module->vars[i];
        bool local = from->owner[i] != 0;
        if (local && !from->fmap[from->owner[i] - 1])
            continue; /* of a function that was dropped */
        const Symbol *symbol =
            local || var_rank(var) == RANK_PRIVATE ? NULL : symbol_of(linker, part, var->name);
        if (symbol)
            check_symbol(linker, part, symbol, i);
        if (symbol && (symbol->part != part || symbol->index != i))
            continue;
        StrId name = symbol  ? symbol->name
                     : local ? name_of(linker, from, var->name)
                             : private_name(linker, part, var->name);
        *VEC_PUSH(&linker->tmp, &linker->vars) = *var;
        PtxVar *now = &linker->vars.at[linker->vars.n - 1];
        now->name = name;
        now->func = var->func ? from->fmap[var->func - 1] : 0;
        from->vmap[i] = linker->vars.n;
    }
}

/* What was not kept is bound to the symbol chosen. */
static void bind_rest(Linker *linker, uint32_t part) {
    Part *from = &linker->parts[part];
    for (uint32_t i = 0; i < from->module->nfuncs; i++) {
        const Symbol *symbol = from->fmap[i] ? NULL : symbol_of(linker, part, from->module->funcs[i].name);
        if (symbol && symbol->is_func)
            from->fmap[i] = linker->parts[symbol->part].fmap[symbol->index];
    }
    for (uint32_t i = 0; i < from->module->nvars; i++) {
        const Symbol *symbol =
            from->vmap[i] || from->owner[i] ? NULL : symbol_of(linker, part, from->module->vars[i].name);
        if (symbol && !symbol->is_func)
            from->vmap[i] = linker->parts[symbol->part].vmap[symbol->index];
    }
}

/* ---- rewriting ---- */

static void need(Linker *linker, uint32_t part, StrId name) {
    const Symbol *found = symbol_of(linker, part, name);
    Symbol *symbol = found ? &linker->symbols.at[found - linker->symbols.at] : NULL;
    if (!symbol || symbol->rank != RANK_REFERENCE || symbol->reported)
        return;
    const PtxVar *var = symbol->is_func ? NULL : &linker->parts[symbol->part].module->vars[symbol->index];
    if (var && var->space == SP_SHARED && (var->unsized || !var->size_bytes))
        return; /* dynamic shared memory */
    if (symbol->is_drivers)
        return;
    symbol->reported = true;
    diag(linker->d, (SrcLoc){0}, DIAG_E0141, str_text(&linker->out->strings, symbol->name),
         file_of(linker, part));
}

static uint32_t map_func(Linker *linker, uint32_t part, uint32_t index) {
    need(linker, part, linker->parts[part].module->funcs[index].name);
    return linker->parts[part].fmap[index];
}

static uint32_t map_sym(Linker *linker, uint32_t part, uint32_t sym) {
    if (!sym)
        return 0;
    uint32_t index = (sym & ~PTX_SYM_FUNC) - 1;
    if (sym & PTX_SYM_FUNC)
        return map_func(linker, part, index) | PTX_SYM_FUNC;
    if (!linker->parts[part].owner[index])
        need(linker, part, linker->parts[part].module->vars[index].name);
    return linker->parts[part].vmap[index];
}

static void shift_loc(const Part *part, SrcLoc *loc) {
    if (loc->i)
        loc->i += part->base_bytes;
}

static void rewrite_operand(Linker *linker, uint32_t part, PtxOperand *operand) {
    operand->sym = map_sym(linker, part, operand->sym);
    shift_loc(&linker->parts[part], &operand->loc);
    for (unsigned k = 0; operand->vec && k < operand->nvec; k++)
        rewrite_operand(linker, part, &operand->vec[k]);
}

static void rewrite_insn(Linker *linker, uint32_t part, PtxInsn *i) {
    const Part *from = &linker->parts[part];
    i->mods_text = name_of(linker, from, i->mods_text);
    shift_loc(from, &i->loc);
    if (i->callee)
        i->callee = map_func(linker, part, i->callee - 1);
    for (unsigned k = 0; k < i->noperands; k++)
        rewrite_operand(linker, part, &i->operands[k]);
    for (unsigned k = 0; k < i->nrets; k++)
        rewrite_operand(linker, part, &i->rets[k]);
    for (unsigned k = 0; k < i->nargs; k++)
        rewrite_operand(linker, part, &i->args[k]);
}

static void map_vars(const Part *part, uint32_t *vars, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        vars[k] = part->vmap[vars[k]] - 1;
}

static void rewrite_tables(Linker *linker, uint32_t part, PtxFunc *f) {
    const Part *from = &linker->parts[part];
    for (uint32_t k = 0; k < f->nbranch_tables; k++)
        f->branch_tables[k].name = name_of(linker, from, f->branch_tables[k].name);
    for (uint32_t k = 0; k < f->ncall_tables; k++) {
        PtxCallTable *table = &f->call_tables[k];
        table->name = name_of(linker, from, table->name);
        for (uint32_t n = 0; n < table->n; n++)
            table->funcs[n] = map_func(linker, part, table->funcs[n]) - 1;
        map_vars(from, table->rets, table->nrets);
        map_vars(from, table->params, table->nparams);
    }
}

static void rewrite_func(Linker *linker, uint32_t part, PtxFunc *f) {
    const Part *from = &linker->parts[part];
    shift_loc(from, &f->loc);
    map_vars(from, f->rets, f->nrets);
    map_vars(from, f->params, f->nparams);
    map_vars(from, f->vars, f->nvars);
    for (uint32_t k = 1; k < f->nregs; k++) {
        f->regs[k].name = name_of(linker, from, f->regs[k].name);
        shift_loc(from, &f->regs[k].loc);
    }
    for (uint32_t k = 0; k < f->nlabels; k++) {
        f->labels[k].name = name_of(linker, from, f->labels[k].name);
        shift_loc(from, &f->labels[k].loc);
    }
    for (uint32_t k = 0; k < f->nlines; k++) {
        f->lines[k].file += from->file_base;
        f->lines[k].function_name = name_of(linker, from, f->lines[k].function_name);
    }
    for (uint32_t k = 0; k < f->npragmas; k++)
        f->pragmas[k] = name_of(linker, from, f->pragmas[k]);
    if (f->alias_of)
        f->alias_of = map_func(linker, part, f->alias_of - 1);
    rewrite_tables(linker, part, f);
    for (uint32_t k = 0; k < f->ninsns; k++)
        rewrite_insn(linker, part, &f->insns[k]);
}

static void rewrite_part(Linker *linker, uint32_t part) {
    Part *from = &linker->parts[part];
    for (uint32_t i = 0; i < from->module->nfuncs; i++) {
        const Symbol *symbol = func_rank(&from->module->funcs[i]) == RANK_PRIVATE
                                   ? NULL
                                   : symbol_of(linker, part, from->module->funcs[i].name);
        if (!symbol || (symbol->part == part && symbol->index == i))
            rewrite_func(linker, part, &linker->funcs.at[from->fmap[i] - 1]);
    }
    for (uint32_t i = 0; i < from->module->nvars; i++) {
        const PtxVar *var = &from->module->vars[i];
        const Symbol *symbol =
            from->owner[i] || var_rank(var) == RANK_PRIVATE ? NULL : symbol_of(linker, part, var->name);
        if (!from->vmap[i] || (symbol && (symbol->part != part || symbol->index != i)))
            continue;
        PtxVar *now = &linker->vars.at[from->vmap[i] - 1];
        shift_loc(from, &now->loc);
        for (uint32_t k = 0; k < now->ninits; k++)
            now->inits[k].sym = map_sym(linker, part, now->inits[k].sym);
    }
}

/* ---- the whole ---- */

/* The texts one behind the other, so that every position has its line. */
static void join_texts(Linker *linker) {
    PtxModule *out = linker->out;
    size_t size = 0;
    uint32_t nlines = 1;
    for (uint32_t k = 0; k < linker->nparts; k++) {
        linker->parts[k].base_bytes = (uint32_t)size;
        size += linker->parts[k].module->source.size_bytes + 1;
    }
    char *text = arena_alloc(&out->arena, size + 1);
    const char *name = "";
    for (uint32_t k = 0; k < linker->nparts; k++) {
        const Source *source = &linker->parts[k].module->source;
        if (source->size_bytes)
            memcpy(text + linker->parts[k].base_bytes, source->text, source->size_bytes);
        text[linker->parts[k].base_bytes + source->size_bytes] = '\n';
        name = arena_printf(&out->arena, "%s%s%s", name, k ? "+" : "", source->name);
    }
    for (size_t k = 0; k < size; k++)
        nlines += text[k] == '\n';
    out->line_starts = ARENA_ARRAY(&out->arena, uint32_t, nlines + 1);
    out->nsource_lines = 1;
    for (size_t k = 0; k < size; k++)
        if (text[k] == '\n')
            out->line_starts[out->nsource_lines++] = (uint32_t)k + 1;
    out->source = (Source){name, text, size};
}

static bool join_heads(Linker *linker) {
    PtxModule *out = linker->out;
    for (uint32_t k = 0; k < linker->nparts; k++) {
        Part *part = &linker->parts[k];
        const PtxModule *module = part->module;
        if (k && module->address_bits != out->address_bits)
            return diag(linker->d, (SrcLoc){0}, DIAG_E0142, ".address_size", file_of(linker, 0),
                        file_of(linker, k), "both must agree");
        out->address_bits = module->address_bits;
        out->nounroll |= module->nounroll;
        if (module->version_major * 1000 + module->version_minor >
            out->version_major * 1000 + out->version_minor) {
            out->version_major = module->version_major;
            out->version_minor = module->version_minor;
        }
        if (!k || module->sm > out->sm) {
            out->sm = module->sm;
            out->target_text = name_of(linker, part, module->target_text);
        }
        part->file_base = linker->files.n;
        for (uint32_t i = 0; i < module->nfiles; i++)
            VEC_ADD(&linker->tmp, &linker->files, name_of(linker, part, module->files[i]));
    }
    return true;
}

static bool link_all(Linker *linker) {
    uint32_t errors = linker->d->nerrors;
    join_texts(linker);
    if (!join_heads(linker))
        return false;
    for (uint32_t k = 0; k < linker->nparts; k++)
        find_owners(linker, &linker->parts[k]);
    for (uint32_t k = 0; k < linker->nparts; k++)
        find_symbols(linker, k);
    for (uint32_t k = 0; k < linker->nparts; k++)
        number_funcs(linker, k);
    for (uint32_t k = 0; k < linker->nparts; k++)
        number_vars(linker, k);
    if (linker->d->nerrors != errors)
        return false;
    for (uint32_t k = 0; k < linker->nparts; k++)
        bind_rest(linker, k);
    for (uint32_t k = 0; k < linker->nparts; k++)
        rewrite_part(linker, k);
    PtxModule *out = linker->out;
    out->nvars = linker->vars.n;
    if (linker->vars.n)
        out->vars = arena_copy(&out->arena, linker->vars.at, linker->vars.n * sizeof *out->vars);
    out->nfuncs = linker->funcs.n;
    if (linker->funcs.n)
        out->funcs = arena_copy(&out->arena, linker->funcs.at, linker->funcs.n * sizeof *out->funcs);
    out->nfiles = linker->files.n;
    if (linker->files.n)
        out->files = arena_copy(&out->arena, linker->files.at, linker->files.n * sizeof *out->files);
    return linker->d->nerrors == errors;
}

PtxModule *ptx_link(PtxModule **modules, uint32_t n, Diags *diags) {
    Linker l = {.nparts = n, .d = diags};
    l.out = mem_zeroed(1, sizeof *l.out);
    l.out->parts = ARENA_ARRAY(&l.out->arena, PtxModule *, n + 1);
    l.out->nparts = n;
    bool good = n > 0;
    l.parts = ARENA_ARRAY(&l.tmp, Part, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        l.parts[k].module = l.out->parts[k] = modules[k];
    }
    const Source *old = diags->source;
    diags->source = NULL;
    good = good && link_all(&l);
    diags->source = old;
    arena_free(&l.tmp);
    if (good)
        return l.out;
    ptx_free(l.out);
    return NULL;
}

/* ---- texts that were linked ---- */
typedef VEC(size_t) Places;

/* Where .version begins another text. Nothing is reported: what is no token is the parser's. */
static void find_texts(Arena *arena, const char *text, size_t size_bytes, Places *begins) {
    Diags quiet = {0};
    StrTab strings = {0};
    static const char version[] = ".version";
    Lexer lexer = {.text = arena_printf(arena, "%.*s", (int)size_bytes, text),
                   .size = (uint32_t)size_bytes,
                   .strings = &strings,
                   .d = &quiet};
    unsigned depth = 0;
    Token token = {0};
    for (lex_next(&lexer, &token); token.kind != TK_EOF && token.kind != TK_BAD; lex_next(&lexer, &token)) {
        depth += token.kind == '{';
        depth -= token.kind == '}' && depth;
        if (token.kind == TK_DIR && !depth && token.size == sizeof version - 1 &&
            memcmp(lexer.text + token.at, version, token.size) == 0)
            VEC_ADD(arena, begins, token.at);
    }
    str_free(&strings);
}

PtxModule *ptx_parse_kept(const char *name, const char *text, size_t size_bytes, Diags *diags) {
    Arena arena = {0};
    Places begins = {0};
    PtxModule *linked = NULL;
    if (size_bytes < INT32_MAX && !memchr(text, 0, size_bytes))
        find_texts(&arena, text, size_bytes, &begins);
    uint32_t n = begins.n ? begins.n : 1, parsed = 0;
    PtxModule **all = ARENA_ARRAY(&arena, PtxModule *, n);
    for (size_t from = 0; parsed < n; parsed++) {
        size_t to = parsed + 1 < n ? begins.at[parsed + 1] : size_bytes;
        size_t joint = n > 1 && to > from && text[to - 1] == '\n'; /* ptx_link writes it */
        all[parsed] = ptx_parse(name, text + from, to - from - joint, diags);
        if (!all[parsed])
            break;
        from = to;
    }
    if (n == 1) {
        linked = all[0];
    } else if (parsed == n) {
        linked = ptx_link(all, n, diags);
        if (linked)
            linked->source.name = arena_printf(&linked->arena, "%s", name);
    } else {
        while (parsed)
            ptx_free(all[--parsed]);
    }
    arena_free(&arena);
    return linked;
}
