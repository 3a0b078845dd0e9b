/* Layout of shared memory: reach of kernels, common variables, a layout for each kernel.
 * SPDX-License-Identifier: MIT */
#include "frontend/shared_layout.h"
#include "base/align.h"
#include "base/bitset.h"
#include "frontend/named.h"
#include <stdlib.h>
#include <string.h>

/* Sizes are cut off here, far above what any machine has, so that sums do not overflow. */
#define MOST_BYTES ((uint64_t)1 << 32)

typedef struct {
    uint64_t lo, hi;
} Extent;

typedef struct {
    VEC(uint32_t) vars;      /* shared variables named or declared */
    uint32_t *funcs, nfuncs; /* functions named */
    bool calls_unknown;
    uint32_t nkernels; /* that reach it */
} Names;

typedef struct {
    const PtxModule *module;
    Arena *arena, scratch;
    Names *names;           /* [func] */
    VEC(uint32_t) kernels;  /* their function indices */
    Bitset *named;          /* [kernel] variables that it and what it reaches name */
    Bitset *reached;        /* [kernel] functions, itself too */
    Bitset common;          /* variables */
    uint64_t *common_at;    /* [var] */
    uint64_t dynamic_align; /* most of all such variables */
    SharedLayout out;
} Layout;

bool ptx_is_dynamic_shared(const PtxVar *var) {
    return var->space == SP_SHARED && var->linkage == LINK_EXTERN && (var->unsized || !var->size_bytes);
}

static uint64_t size_of(const Layout *layout, uint32_t var) {
    uint64_t size = layout->module->vars[var].size_bytes;
    return size < MOST_BYTES ? size : MOST_BYTES;
}

static bool is_dynamic(const Layout *layout, uint32_t var) {
    return ptx_is_dynamic_shared(&layout->module->vars[var]);
}

static void collect_names(Layout *layout) {
    const PtxModule *module = layout->module;
    bool *vars = ARENA_ARRAY(&layout->scratch, bool, module->nvars + 1),
         *funcs = ARENA_ARRAY(&layout->scratch, bool, module->nfuncs + 1);
    layout->names = ARENA_ARRAY(&layout->scratch, Names, module->nfuncs + 1);
    for (uint32_t f = 0; f < module->nfuncs; f++) {
        Names *names = &layout->names[f];
        PtxNamed list = {0};
        names->calls_unknown = ptx_list_named(module, f, vars, funcs, &layout->scratch, &list);
        for (uint32_t k = 0; k < module->funcs[f].nvars; k++) /* used or not: ptxas 13.0 */
            if (!vars[module->funcs[f].vars[k]])
                VEC_ADD(&layout->scratch, &list.vars, module->funcs[f].vars[k]);
        for (uint32_t k = 0; k < list.vars.n; k++) {
            vars[list.vars.at[k]] = false; /* for the next function */
            if (module->vars[list.vars.at[k]].space == SP_SHARED)
                VEC_ADD(&layout->scratch, &names->vars, list.vars.at[k]);
        }
        for (uint32_t k = 0; k < list.funcs.n; k++)
            funcs[list.funcs.at[k]] = false;
        names->funcs = list.funcs.at;
        names->nfuncs = list.funcs.n;
    }
}

/* ---- what kernels reach ---- */
typedef struct {
    Bitset *seen;
    uint32_t *stack, depth;
} Walk;

static void visit(Walk *walk, uint32_t func) {
    if (bs_has(walk->seen, func))
        return;
    bs_add(walk->seen, func);
    walk->stack[walk->depth++] = func;
}

static void reach(Layout *layout, const bool *taken, uint32_t *stack, uint32_t number) {
    Walk walk = {.seen = &layout->reached[number], .stack = stack};
    bool unknown = false;
    visit(&walk, layout->kernels.at[number]);
    while (walk.depth) {
        Names *names = &layout->names[stack[--walk.depth]];
        names->nkernels++;
        for (uint32_t k = 0; k < names->vars.n; k++)
            bs_add(&layout->named[number], names->vars.at[k]);
        for (uint32_t k = 0; k < names->nfuncs; k++)
            visit(&walk, names->funcs[k]);
        for (uint32_t k = 0; k < layout->module->nfuncs && names->calls_unknown && !unknown; k++)
            if (taken[k] && !layout->module->funcs[k].is_entry)
                visit(&walk, k);
        unknown |= names->calls_unknown;
    }
}

static void reach_all(Layout *layout) {
    const PtxModule *module = layout->module;
    Arena *scratch = &layout->scratch;
    bool *taken = ptx_address_taken(module, scratch);
    uint32_t *stack = ARENA_ARRAY(scratch, uint32_t, module->nfuncs + 1);
    for (uint32_t f = 0; f < module->nfuncs; f++)
        if (module->funcs[f].is_entry)
            VEC_ADD(scratch, &layout->kernels, f);
    layout->named = ARENA_ARRAY(scratch, Bitset, layout->kernels.n + 1);
    layout->reached = ARENA_ARRAY(scratch, Bitset, layout->kernels.n + 1);
    for (uint32_t k = 0; k < layout->kernels.n; k++) {
        layout->named[k] = bs_new(scratch, module->nvars);
        layout->reached[k] = bs_new(scratch, module->nfuncs);
        reach(layout, taken, stack, k);
    }
}

/* ---- places ---- */
static int by_lo(const void *a, const void *b) {
    const Extent *x = a, *y = b;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

/* The lowest place from `from` on that meets none of the extents, which are sorted. */
static uint64_t free_place(const Extent *extents, uint32_t n, uint64_t from, uint64_t size, uint64_t align) {
    uint64_t at = align_up(from, align);
    for (uint32_t k = 0; k < n; k++)
        if (at < extents[k].hi && extents[k].lo < at + size)
            at = align_up(extents[k].hi, align);
    return at;
}

static void find_common(Layout *layout) {
    const PtxModule *module = layout->module;
    layout->common = bs_new(&layout->scratch, module->nvars);
    layout->common_at = ARENA_ARRAY(&layout->scratch, uint64_t, module->nvars + 1);
    for (uint32_t f = 0; f < module->nfuncs; f++)
        for (uint32_t k = 0; k < layout->names[f].vars.n && layout->names[f].nkernels > 1; k++) {
            uint32_t var = layout->names[f].vars.at[k];
            if (!is_dynamic(layout, var))
                bs_add(&layout->common, var);
        }
}

/* Around the variables placed before that some kernel has beside this one. */
static void place_common(Layout *layout) {
    Arena *scratch = &layout->scratch;
    Bitset beside = bs_new(scratch, layout->module->nvars);
    Extent *extents = ARENA_ARRAY(scratch, Extent, bs_count(&layout->common) + 1);
    BS_EACH(var, &layout->common) {
        uint32_t n = 0;
        bs_clear(&beside);
        for (uint32_t k = 0; k < layout->kernels.n; k++)
            if (bs_has(&layout->named[k], var))
                bs_or(&beside, &layout->named[k]);
        bs_and(&beside, &layout->common);
        BS_EACH(other, &beside) {
            if (other >= var)
                break;
            extents[n++] =
                (Extent){layout->common_at[other], layout->common_at[other] + size_of(layout, other)};
        }
        qsort(extents, n, sizeof *extents, by_lo);
        layout->common_at[var] =
            free_place(extents, n, 0, size_of(layout, var), layout->module->vars[var].align_bytes);
    }
}

/* The kernel's own first, then the module's, then those of functions. */
static unsigned rank_of(const Layout *layout, uint32_t var, uint32_t kernel) {
    uint32_t func = layout->module->vars[var].func;
    return func == kernel + 1 ? 0 : func == 0 ? 1 : 2;
}

/* Fills at[var] for all variables of a kernel but the dynamic ones; returns the end. */
static uint64_t place_kernel(Layout *layout, uint32_t number, uint64_t *at) {
    const Bitset *named = &layout->named[number];
    Extent *extents = ARENA_ARRAY(&layout->scratch, Extent, bs_count(named) + 1);
    uint32_t n = 0;
    uint64_t next = 0, end = 0;
    BS_EACH(var, named)
        if (bs_has(&layout->common, var)) {
            at[var] = layout->common_at[var];
            extents[n++] = (Extent){at[var], at[var] + size_of(layout, var)};
            end = extents[n - 1].hi > end ? extents[n - 1].hi : end;
        }
    qsort(extents, n, sizeof *extents, by_lo);
    for (unsigned rank = 0; rank < 3; rank++)
        BS_EACH(var, named) {
            if (bs_has(&layout->common, var) || is_dynamic(layout, var) ||
                rank_of(layout, var, layout->kernels.at[number]) != rank)
                continue;
            at[var] =
                free_place(extents, n, next, size_of(layout, var), layout->module->vars[var].align_bytes);
            next = at[var] + size_of(layout, var);
            end = next > end ? next : end;
        }
    return end;
}

static bool any_dynamic(const Layout *layout, const Bitset *vars) {
    BS_EACH(var, vars)
        if (is_dynamic(layout, var))
            return true;
    return false;
}

/* A function names dynamic shared memory that other kernels have, too. */
static bool shares_dynamic(const Layout *layout, uint32_t number) {
    BS_EACH(func, &layout->reached[number]) {
        const Names *names = &layout->names[func];
        for (uint32_t k = 0; k < names->vars.n && names->nkernels > 1; k++)
            if (is_dynamic(layout, names->vars.at[k]))
                return true;
    }
    return false;
}

/* Dynamic shared memory starts where the static ends: those that share it end at one place. */
static void place_dynamic(Layout *layout, uint64_t *end) {
    uint64_t common = 0;
    bool *shares = ARENA_ARRAY(&layout->scratch, bool, layout->kernels.n + 1);
    for (uint32_t k = 0; k < layout->kernels.n; k++) {
        if (any_dynamic(layout, &layout->named[k]))
            end[k] = align_up(end[k], layout->dynamic_align);
        shares[k] = shares_dynamic(layout, k);
        common = shares[k] && end[k] > common ? end[k] : common;
    }
    for (uint32_t k = 0; k < layout->kernels.n; k++)
        end[k] = shares[k] ? common : end[k];
    for (uint32_t v = 0; v < layout->module->nvars; v++)
        if (is_dynamic(layout, v))
            layout->common_at[v] = common;
}

static void set_places(Layout *layout, uint32_t func, const Bitset *vars, const uint64_t *at) {
    SharedFunc *out = &layout->out.funcs[func];
    out->places = ARENA_ARRAY(layout->arena, SharedPlace, bs_count(vars) + 1);
    BS_EACH(var, vars)
        out->places[out->nplaces++] = (SharedPlace){var, at[var]};
}

static void set_function(Layout *layout, uint32_t func, const uint64_t *at) {
    if (!layout->names[func].vars.n)
        return;
    Bitset own = bs_new(&layout->scratch, layout->module->nvars);
    for (uint32_t k = 0; k < layout->names[func].vars.n; k++)
        bs_add(&own, layout->names[func].vars.at[k]);
    set_places(layout, func, &own, at);
}

/* A function of one kernel has that kernel's places; one of several names common variables only, and what no
 * kernel reaches lies anywhere, for it does not run. */
static void set_all(Layout *layout, const uint64_t *end, uint64_t *at) {
    const PtxModule *module = layout->module;
    for (uint32_t k = 0; k < layout->kernels.n; k++) {
        uint32_t kernel = layout->kernels.at[k];
        place_kernel(layout, k, at);
        BS_EACH(var, &layout->named[k])
            if (is_dynamic(layout, var))
                at[var] = end[k];
        layout->out.funcs[kernel].static_bytes = end[k];
        set_places(layout, kernel, &layout->named[k], at);
        BS_EACH(func, &layout->reached[k])
            if (!module->funcs[func].is_entry && layout->names[func].nkernels == 1)
                set_function(layout, func, at);
    }
    for (uint32_t f = 0; f < module->nfuncs; f++)
        if (!module->funcs[f].is_entry && layout->names[f].nkernels != 1)
            set_function(layout, f, layout->common_at);
}

SharedLayout ptx_shared_layout(const PtxModule *module, Arena *arena) {
    enum { LEAST_DYNAMIC_ALIGN = 16 }; /* as ptxas 13.0 has it, whatever is declared */
    Layout layout = {.module = module, .arena = arena, .dynamic_align = LEAST_DYNAMIC_ALIGN};
    layout.out.funcs = ARENA_ARRAY(arena, SharedFunc, module->nfuncs + 1);
    for (uint32_t v = 0; v < module->nvars; v++)
        if (is_dynamic(&layout, v) && module->vars[v].align_bytes > layout.dynamic_align)
            layout.dynamic_align = module->vars[v].align_bytes;
    collect_names(&layout);
    reach_all(&layout);
    find_common(&layout);
    place_common(&layout);
    uint64_t *end = ARENA_ARRAY(&layout.scratch, uint64_t, layout.kernels.n + 1);
    uint64_t *at = ARENA_ARRAY(&layout.scratch, uint64_t, module->nvars + 1);
    for (uint32_t k = 0; k < layout.kernels.n; k++)
        end[k] = place_kernel(&layout, k, at);
    place_dynamic(&layout, end);
    set_all(&layout, end, at);
    arena_free(&layout.scratch);
    return layout.out;
}

uint64_t ptx_shared_offset(const SharedLayout *layout, uint32_t func, uint32_t var) {
    const SharedFunc *places = &layout->funcs[func];
    uint32_t lo = 0, hi = places->nplaces;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (places->places[mid].var < var)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < places->nplaces && places->places[lo].var == var ? places->places[lo].offset_bytes : 0;
}
