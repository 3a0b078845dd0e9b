/* Linking of parsed modules into one: names resolved by their linkage, everything renumbered. The result
 * refers to the parts' memory and owns them. PTX ISA 5.4, 10.4 (linking directives).
 *
 * A name with .extern, .visible, .weak or .common, and every kernel, means the same in all modules; others
 * are private and are renamed where they collide. One .visible definition wins over .weak ones, these over
 * .common ones, of which the largest is taken; a declaration is bound to what was found.
 * SPDX-License-Identifier: MIT */
#include "frontend/link.h"
#include <stdlib.h>
#include <string.h>

enum { RANK_PRIVATE = -1, RANK_REFERENCE, RANK_COMMON, RANK_WEAK, RANK_STRONG };

typedef struct {
    PtxModule *m;
    uint32_t base_bytes; /* of its text in the linked one */
    uint32_t file_base;
    uint32_t *owner;       /* variable -> function index + 1, 0 at module level */
    uint32_t *fmap, *vmap; /* new index + 1; 0 = dropped */
} Part;

typedef struct {
    StrId name;
    bool is_func, reported;
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

static StrId name_of(Linker *l, const Part *p, StrId id) {
    return id.i ? str_intern(&l->out->strings, str_text(&p->m->strings, id), str_size(&p->m->strings, id))
                : id;
}

static const char *file_of(const Linker *l, uint32_t part) { return l->parts[part].m->source.name; }

static int func_rank(const PtxFunc *f) {
    if (f->linkage == LINK_NONE && !f->is_entry)
        return RANK_PRIVATE;
    if (!f->has_body && !f->alias_of)
        return RANK_REFERENCE;
    return f->linkage == LINK_WEAK ? RANK_WEAK : RANK_STRONG;
}

static int var_rank(const PtxVar *v) {
    switch (v->linkage) {
    case LINK_EXTERN: return RANK_REFERENCE;
    case LINK_COMMON: return RANK_COMMON;
    case LINK_WEAK: return RANK_WEAK;
    case LINK_VISIBLE: return RANK_STRONG;
    default: return RANK_PRIVATE;
    }
}

/* ---- what the names mean ---- */

static void own(Part *p, const uint32_t *vars, uint32_t n, uint32_t func) {
    for (uint32_t k = 0; k < n; k++)
        p->owner[vars[k]] = func + 1;
}

static void find_owners(Linker *l, Part *p) {
    p->owner = ARENA_ARRAY(&l->tmp, uint32_t, p->m->nvars + 1);
    p->fmap = ARENA_ARRAY(&l->tmp, uint32_t, p->m->nfuncs + 1);
    p->vmap = ARENA_ARRAY(&l->tmp, uint32_t, p->m->nvars + 1);
    for (uint32_t i = 0; i < p->m->nvars; i++)
        p->owner[i] = p->m->vars[i].func;
    for (uint32_t i = 0; i < p->m->nfuncs; i++) {
        const PtxFunc *f = &p->m->funcs[i];
        own(p, f->rets, f->nrets, i);
        own(p, f->params, f->nparams, i);
        own(p, f->vars, f->nvars, i);
        for (uint32_t k = 0; k < f->ncall_tables; k++) {
            own(p, f->call_tables[k].rets, f->call_tables[k].nrets, i);
            own(p, f->call_tables[k].params, f->call_tables[k].nparams, i);
        }
    }
}

static void add_symbol(Linker *l, uint32_t part, bool is_func, uint32_t index, StrId name, int rank) {
    uint32_t at = strmap_get(&l->by_name, name);
    if (!at) {
        *VEC_PUSH(&l->tmp, &l->symbols) = (Symbol){name, is_func, false, part, index, rank};
        strmap_put(&l->by_name, &l->tmp, name, l->symbols.n);
        return;
    }
    Symbol *s = &l->symbols.at[at - 1];
    const char *text = str_text(&l->out->strings, name);
    if (s->is_func != is_func) {
        diag(l->d, (SrcLoc){0}, DIAG_E0142, text, file_of(l, s->part), file_of(l, part), "one is a function");
        return;
    }
    if (s->rank == RANK_STRONG && rank == RANK_STRONG) {
        diag(l->d, (SrcLoc){0}, DIAG_E0140, text, file_of(l, s->part), file_of(l, part));
        return;
    }
    bool larger = !is_func && rank == RANK_COMMON && s->rank == RANK_COMMON &&
                  l->parts[part].m->vars[index].size_bytes > l->parts[s->part].m->vars[s->index].size_bytes;
    if (rank > s->rank || larger) {
        s->rank = rank;
        s->part = part;
        s->index = index;
    }
}

static void find_symbols(Linker *l, uint32_t part) {
    Part *p = &l->parts[part];
    for (uint32_t i = 0; i < p->m->nfuncs; i++) {
        const PtxFunc *f = &p->m->funcs[i];
        if (func_rank(f) != RANK_PRIVATE)
            add_symbol(l, part, true, i, name_of(l, p, f->name), func_rank(f));
    }
    for (uint32_t i = 0; i < p->m->nvars; i++) {
        const PtxVar *v = &p->m->vars[i];
        if (!p->owner[i] && var_rank(v) != RANK_PRIVATE)
            add_symbol(l, part, false, i, name_of(l, p, v->name), var_rank(v));
    }
}

static const char *var_difference(const PtxVar *a, const PtxVar *b) {
    if (a->space != b->space)
        return "their state spaces differ";
    if (!a->unsized && !b->unsized && a->size_bytes && b->size_bytes && a->size_bytes != b->size_bytes)
        return "their sizes differ";
    return NULL;
}

static bool same_types(const PtxModule *x, const uint32_t *a, uint32_t na, const PtxModule *y,
                       const uint32_t *b, uint32_t nb) {
    if (na != nb)
        return false;
    for (uint32_t k = 0; k < na; k++) {
        const PtxVar *v = &x->vars[a[k]], *w = &y->vars[b[k]];
        if (v->size_bytes != w->size_bytes || (v->type == TY_PRED) != (w->type == TY_PRED))
            return false;
    }
    return true;
}

/* Every declaration and definition must agree with the one chosen. */
static void check_symbol(Linker *l, uint32_t part, const Symbol *s, uint32_t index) {
    const PtxModule *x = l->parts[s->part].m, *y = l->parts[part].m;
    const char *why = NULL;
    if (!s->is_func) {
        why = s->rank == RANK_COMMON ? NULL : var_difference(&x->vars[s->index], &y->vars[index]);
    } else {
        const PtxFunc *f = &x->funcs[s->index], *g = &y->funcs[index];
        if (f->is_entry != g->is_entry)
            why = "one is a kernel";
        else if (!same_types(x, f->rets, f->nrets, y, g->rets, g->nrets) ||
                 !same_types(x, f->params, f->nparams, y, g->params, g->nparams))
            why = "their parameters or results differ";
        else if (f->noreturn != g->noreturn)
            why = "one is .noreturn";
    }
    if (why)
        diag(l->d, (SrcLoc){0}, DIAG_E0142, str_text(&l->out->strings, s->name), file_of(l, s->part),
             file_of(l, part), why);
}

/* ---- numbering ---- */

static StrId private_name(Linker *l, uint32_t part, StrId id) {
    StrId name = name_of(l, &l->parts[part], id);
    while (strmap_get(&l->by_name, name))
        name = str_intern_z(&l->out->strings, arena_printf(&l->tmp, "%s$%u", str_text(&l->out->strings, name),
                                                           (unsigned)part + 1));
    strmap_put(&l->by_name, &l->tmp, name, UINT32_MAX);
    return name;
}

static const Symbol *symbol_of(Linker *l, uint32_t part, StrId id) {
    uint32_t at = strmap_get(&l->by_name, name_of(l, &l->parts[part], id));
    return at && at != UINT32_MAX ? &l->symbols.at[at - 1] : NULL;
}

static void number_funcs(Linker *l, uint32_t part) {
    Part *p = &l->parts[part];
    for (uint32_t i = 0; i < p->m->nfuncs; i++) {
        PtxFunc *f = &p->m->funcs[i];
        const Symbol *s = func_rank(f) == RANK_PRIVATE ? NULL : symbol_of(l, part, f->name);
        if (s)
            check_symbol(l, part, s, i);
        if (s && (s->part != part || s->index != i))
            continue;
        StrId name = s ? s->name : private_name(l, part, f->name);
        *VEC_PUSH(&l->tmp, &l->funcs) = *f;
        l->funcs.at[l->funcs.n - 1].name = name;
        p->fmap[i] = l->funcs.n;
    }
}

static void number_vars(Linker *l, uint32_t part) {
    Part *p = &l->parts[part];
    for (uint32_t i = 0; i < p->m->nvars; i++) {
        PtxVar *v = &p->m->vars[i];
        bool local = p->owner[i] != 0;
        if (local && !p->fmap[p->owner[i] - 1])
            continue; /* of a function that was dropped */
        const Symbol *s = local || var_rank(v) == RANK_PRIVATE ? NULL : symbol_of(l, part, v->name);
        if (s)
            check_symbol(l, part, s, i);
        if (s && (s->part != part || s->index != i))
            continue;
        StrId name = s ? s->name : local ? name_of(l, p, v->name) : private_name(l, part, v->name);
        *VEC_PUSH(&l->tmp, &l->vars) = *v;
        PtxVar *now = &l->vars.at[l->vars.n - 1];
        now->name = name;
        now->func = v->func ? p->fmap[v->func - 1] : 0;
        p->vmap[i] = l->vars.n;
    }
}

/* What was not kept is bound to the symbol chosen. */
static void bind_rest(Linker *l, uint32_t part) {
    Part *p = &l->parts[part];
    for (uint32_t i = 0; i < p->m->nfuncs; i++) {
        const Symbol *s = p->fmap[i] ? NULL : symbol_of(l, part, p->m->funcs[i].name);
        if (s && s->is_func)
            p->fmap[i] = l->parts[s->part].fmap[s->index];
    }
    for (uint32_t i = 0; i < p->m->nvars; i++) {
        const Symbol *s = p->vmap[i] || p->owner[i] ? NULL : symbol_of(l, part, p->m->vars[i].name);
        if (s && !s->is_func)
            p->vmap[i] = l->parts[s->part].vmap[s->index];
    }
}

/* ---- rewriting ---- */

static void need(Linker *l, uint32_t part, StrId name) {
    const Symbol *found = symbol_of(l, part, name);
    Symbol *s = found ? &l->symbols.at[found - l->symbols.at] : NULL;
    if (!s || s->rank != RANK_REFERENCE || s->reported)
        return;
    const PtxVar *v = s->is_func ? NULL : &l->parts[s->part].m->vars[s->index];
    if (v && v->space == SP_SHARED && (v->unsized || !v->size_bytes))
        return; /* dynamic shared memory */
    s->reported = true;
    diag(l->d, (SrcLoc){0}, DIAG_E0141, str_text(&l->out->strings, s->name), file_of(l, part));
}

static uint32_t map_func(Linker *l, uint32_t part, uint32_t index) {
    need(l, part, l->parts[part].m->funcs[index].name);
    return l->parts[part].fmap[index];
}

static uint32_t map_sym(Linker *l, uint32_t part, uint32_t sym) {
    if (!sym)
        return 0;
    uint32_t index = (sym & ~PTX_SYM_FUNC) - 1;
    if (sym & PTX_SYM_FUNC)
        return map_func(l, part, index) | PTX_SYM_FUNC;
    if (!l->parts[part].owner[index])
        need(l, part, l->parts[part].m->vars[index].name);
    return l->parts[part].vmap[index];
}

static void shift(const Part *p, SrcLoc *loc) {
    if (loc->i)
        loc->i += p->base_bytes;
}

static void rewrite_operand(Linker *l, uint32_t part, PtxOperand *o) {
    o->sym = map_sym(l, part, o->sym);
    shift(&l->parts[part], &o->loc);
    for (unsigned k = 0; o->vec && k < o->nvec; k++)
        rewrite_operand(l, part, &o->vec[k]);
}

static void rewrite_insn(Linker *l, uint32_t part, PtxInsn *i) {
    const Part *p = &l->parts[part];
    i->mods_text = name_of(l, p, i->mods_text);
    shift(p, &i->loc);
    if (i->callee)
        i->callee = map_func(l, part, i->callee - 1);
    for (unsigned k = 0; k < i->noperands; k++)
        rewrite_operand(l, part, &i->operands[k]);
    for (unsigned k = 0; k < i->nrets; k++)
        rewrite_operand(l, part, &i->rets[k]);
    for (unsigned k = 0; k < i->nargs; k++)
        rewrite_operand(l, part, &i->args[k]);
}

static void map_vars(const Part *p, uint32_t *vars, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        vars[k] = p->vmap[vars[k]] - 1;
}

static void rewrite_tables(Linker *l, uint32_t part, PtxFunc *f) {
    const Part *p = &l->parts[part];
    for (uint32_t k = 0; k < f->nbranch_tables; k++)
        f->branch_tables[k].name = name_of(l, p, f->branch_tables[k].name);
    for (uint32_t k = 0; k < f->ncall_tables; k++) {
        PtxCallTable *t = &f->call_tables[k];
        t->name = name_of(l, p, t->name);
        for (uint32_t n = 0; n < t->n; n++)
            t->funcs[n] = map_func(l, part, t->funcs[n]) - 1;
        map_vars(p, t->rets, t->nrets);
        map_vars(p, t->params, t->nparams);
    }
}

static void rewrite_func(Linker *l, uint32_t part, PtxFunc *f) {
    const Part *p = &l->parts[part];
    shift(p, &f->loc);
    map_vars(p, f->rets, f->nrets);
    map_vars(p, f->params, f->nparams);
    map_vars(p, f->vars, f->nvars);
    for (uint32_t k = 1; k < f->nregs; k++) {
        f->regs[k].name = name_of(l, p, f->regs[k].name);
        shift(p, &f->regs[k].loc);
    }
    for (uint32_t k = 0; k < f->nlabels; k++) {
        f->labels[k].name = name_of(l, p, f->labels[k].name);
        shift(p, &f->labels[k].loc);
    }
    for (uint32_t k = 0; k < f->nlines; k++) {
        f->lines[k].file += p->file_base;
        f->lines[k].function_name = name_of(l, p, f->lines[k].function_name);
    }
    for (uint32_t k = 0; k < f->npragmas; k++)
        f->pragmas[k] = name_of(l, p, f->pragmas[k]);
    if (f->alias_of)
        f->alias_of = map_func(l, part, f->alias_of - 1);
    rewrite_tables(l, part, f);
    for (uint32_t k = 0; k < f->ninsns; k++)
        rewrite_insn(l, part, &f->insns[k]);
}

static void rewrite_part(Linker *l, uint32_t part) {
    Part *p = &l->parts[part];
    for (uint32_t i = 0; i < p->m->nfuncs; i++) {
        const Symbol *s =
            func_rank(&p->m->funcs[i]) == RANK_PRIVATE ? NULL : symbol_of(l, part, p->m->funcs[i].name);
        if (!s || (s->part == part && s->index == i))
            rewrite_func(l, part, &l->funcs.at[p->fmap[i] - 1]);
    }
    for (uint32_t i = 0; i < p->m->nvars; i++) {
        const PtxVar *v = &p->m->vars[i];
        const Symbol *s = p->owner[i] || var_rank(v) == RANK_PRIVATE ? NULL : symbol_of(l, part, v->name);
        if (!p->vmap[i] || (s && (s->part != part || s->index != i)))
            continue;
        PtxVar *now = &l->vars.at[p->vmap[i] - 1];
        shift(p, &now->loc);
        for (uint32_t k = 0; k < now->ninits; k++)
            now->inits[k].sym = map_sym(l, part, now->inits[k].sym);
    }
}

/* ---- the whole ---- */

/* The texts one behind the other, so that every position has its line. */
static void join_texts(Linker *l) {
    PtxModule *out = l->out;
    size_t size = 0;
    uint32_t nlines = 1;
    for (uint32_t k = 0; k < l->nparts; k++) {
        l->parts[k].base_bytes = (uint32_t)size;
        size += l->parts[k].m->source.size_bytes + 1;
    }
    char *text = arena_alloc(&out->arena, size + 1);
    const char *name = "";
    for (uint32_t k = 0; k < l->nparts; k++) {
        const Source *s = &l->parts[k].m->source;
        if (s->size_bytes)
            memcpy(text + l->parts[k].base_bytes, s->text, s->size_bytes);
        text[l->parts[k].base_bytes + s->size_bytes] = '\n';
        name = arena_printf(&out->arena, "%s%s%s", name, k ? "+" : "", s->name);
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

static bool join_heads(Linker *l) {
    PtxModule *out = l->out;
    for (uint32_t k = 0; k < l->nparts; k++) {
        Part *p = &l->parts[k];
        const PtxModule *m = p->m;
        if (k && m->address_bits != out->address_bits)
            return diag(l->d, (SrcLoc){0}, DIAG_E0142, ".address_size", file_of(l, 0), file_of(l, k),
                        "both must agree");
        out->address_bits = m->address_bits;
        if (m->version_major * 1000 + m->version_minor > out->version_major * 1000 + out->version_minor) {
            out->version_major = m->version_major;
            out->version_minor = m->version_minor;
        }
        if (!k || m->sm > out->sm) {
            out->sm = m->sm;
            out->target_text = name_of(l, p, m->target_text);
        }
        p->file_base = l->files.n;
        for (uint32_t i = 0; i < m->nfiles; i++)
            VEC_ADD(&l->tmp, &l->files, name_of(l, p, m->files[i]));
    }
    return true;
}

static bool link_all(Linker *l) {
    uint32_t errors = l->d->nerrors;
    join_texts(l);
    if (!join_heads(l))
        return false;
    for (uint32_t k = 0; k < l->nparts; k++)
        find_owners(l, &l->parts[k]);
    for (uint32_t k = 0; k < l->nparts; k++)
        find_symbols(l, k);
    for (uint32_t k = 0; k < l->nparts; k++)
        number_funcs(l, k);
    for (uint32_t k = 0; k < l->nparts; k++)
        number_vars(l, k);
    if (l->d->nerrors != errors)
        return false;
    for (uint32_t k = 0; k < l->nparts; k++)
        bind_rest(l, k);
    for (uint32_t k = 0; k < l->nparts; k++)
        rewrite_part(l, k);
    PtxModule *out = l->out;
    out->nvars = l->vars.n;
    if (l->vars.n)
        out->vars = arena_copy(&out->arena, l->vars.at, l->vars.n * sizeof *out->vars);
    out->nfuncs = l->funcs.n;
    if (l->funcs.n)
        out->funcs = arena_copy(&out->arena, l->funcs.at, l->funcs.n * sizeof *out->funcs);
    out->nfiles = l->files.n;
    if (l->files.n)
        out->files = arena_copy(&out->arena, l->files.at, l->files.n * sizeof *out->files);
    return l->d->nerrors == errors;
}

PtxModule *ptx_link(PtxModule **modules, uint32_t n, Diags *d) {
    Linker l = {.nparts = n, .d = d};
    l.out = calloc(1, sizeof *l.out);
    bool good = l.out && n > 0;
    if (l.out) {
        l.out->parts = ARENA_ARRAY(&l.out->arena, PtxModule *, n + 1);
        l.out->nparts = n;
    }
    l.parts = ARENA_ARRAY(&l.tmp, Part, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        l.parts[k].m = modules[k];
        if (l.out)
            l.out->parts[k] = modules[k];
        else
            ptx_free(modules[k]);
    }
    const Source *old = d->source;
    d->source = NULL;
    good = good && link_all(&l);
    d->source = old;
    arena_free(&l.tmp);
    if (good)
        return l.out;
    ptx_free(l.out);
    return NULL;
}
