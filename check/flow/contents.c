/* The contents of a file against its PTX: see contents.h.
 *
 * Expected values come from the PTX's declarations (PTX ISA 5.2 to 5.4, 11.4), not from what our lowering
 * does with them. Other compilers may leave out what nothing can see: a variable without linkage that no
 * function names. SPDX-License-Identifier: MIT */
#include "check/flow/contents.h"
#include "frontend/texture.h"
#include "frontend/named.h"
#include "frontend/param_layout.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SPACE_GLOBAL, SPACE_CONST }; /* BinVar.space */

typedef struct {
    Contents *out;
    const PtxModule *module;
    const Binary *binary;
    const char *kernel;
    bool *named; /* by variable: a function names it, or an initialiser */
} Compare;

static void report(Compare *compare, const char *func, SrcLoc loc, bool definite, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    Arena *arena = &compare->out->arena;
    ContentsFinding finding = {.func = func ? arena_printf(arena, "%s", func) : NULL,
                               .text = arena_printf(arena, "%s", text),
                               .definite = definite};
    finding.ptx_line = loc.i ? ptx_loc_line(compare->module, loc) : 0;
    VEC_ADD(arena, &compare->out->findings, finding);
}

static const char *text_of(const Compare *compare, StrId id) {
    return str_text(&compare->module->strings, id);
}

/* ---- kernels ---- */

enum { LARGE_PARAMS_BYTES = 0x1100 };

static void compare_params(Compare *compare, const PtxFunc *f, const BinFunc *func) {
    const PtxModule *module = compare->module;
    uint32_t base = isa_target_info(compare->binary->target)->param_base_bytes, end = 0;
    if (func->nparams != f->nparams) {
        report(compare, func->name, f->loc, true, "%u parameters in the file, %u in the PTX", func->nparams,
               f->nparams);
        return;
    }
    for (uint32_t k = 0; k < f->nparams; k++) {
        const PtxVar *var = &module->vars[f->params[k]];
        const BinParam *param = &func->params[k];
        uint64_t offset = ptx_param_offset(module, f, var, base);
        if (param->ordinal == k && param->handle && ptx_is_behind(var))
            continue;
        if (offset + var->size_bytes > end)
            end = (uint32_t)(offset + var->size_bytes);
        if (param->ordinal != k || param->offset_bytes != offset || param->size_bytes != var->size_bytes)
            report(compare, func->name, var->loc, true,
                   "parameter %u lies at 0x%x with %u bytes in the file, at 0x%llx with %llu in the PTX", k,
                   param->offset_bytes, param->size_bytes, (unsigned long long)offset,
                   (unsigned long long)var->size_bytes);
    }
    if (func->param_bytes < end)
        report(compare, func->name, f->loc, true, "the parameter block has %u bytes, the parameters need %u",
               func->param_bytes, end);
    /* ptxas 13.0 has larger blocks at 0x1a80 for sm_75 to sm_89; the file says where its code looks for them
     */
    if (func->param_base != base && (end <= LARGE_PARAMS_BYTES || func->param_base < base))
        report(compare, func->name, f->loc, true,
               "the parameter block starts at 0x%x of constant bank 0, the target's at 0x%x",
               func->param_base, base);
}

typedef struct { /* what a launch must keep to: words of the PTX's directive and of the file's record, 0: none
                  */
    const char *record, *directive;
    const uint32_t *ptx, *file;
    unsigned n;
    bool product; /* only how much it is in all counts */
} Limit;

static uint64_t limit_word(const uint32_t *words, const Limit *limit, unsigned k) {
    uint64_t all = words[k] || !words[0] ? words[k] : 1;
    for (unsigned w = 1; limit->product && w < limit->n; w++)
        all *= words[w] ? words[w] : 1;
    return all;
}

static void compare_limits(Compare *compare, const PtxFunc *f, const BinFunc *func) {
    uint32_t explicit_cluster = f->explicit_cluster;
    const Limit limits[] = {
        {"EIATTR_MAX_THREADS", ".maxntid", f->maxntid, func->maxntid, 3, true},
        {"EIATTR_REQNTID", ".reqntid", f->reqntid, func->reqntid, 3, false},
        {"EIATTR_CTA_PER_CLUSTER", ".reqnctapercluster", f->reqnctapercluster, func->cluster, 3, false},
        {"EIATTR_MAX_CLUSTER_RANK", ".maxclusterrank", &f->maxclusterrank, &func->most_cluster_blocks, 1,
         false},
        {"EIATTR_EXPLICIT_CLUSTER", ".explicitcluster", &explicit_cluster, &func->says_cluster, 1, false},
    };
    for (size_t row = 0; row < sizeof limits / sizeof *limits; row++)
        for (unsigned k = 0; k < (limits[row].product ? 1 : limits[row].n); k++) {
            uint64_t ptx = limit_word(limits[row].ptx, &limits[row], k),
                     file = limit_word(limits[row].file, &limits[row], k);
            if (ptx == file)
                continue;
            report(compare, func->name, f->loc, true,
                   "%s is %llu in the file, %s %llu in the PTX (0: there is none)", limits[row].record,
                   (unsigned long long)file, limits[row].directive, (unsigned long long)ptx);
            break;
        }
}

/* The least shared memory that a kernel needs: of all variables that it or something below it names. */
static void compare_shared(Compare *compare, uint32_t index, const BinFunc *func) {
    const PtxModule *module = compare->module;
    Arena scratch = {0};
    bool *vars = ARENA_ARRAY(&scratch, bool, module->nvars + 1);
    uint64_t need = 0;
    ptx_mark_reached(module, index, false, vars, ARENA_ARRAY(&scratch, bool, module->nfuncs + 1));
    for (uint32_t k = 0; k < module->nvars; k++)
        if (vars[k] && module->vars[k].space == SP_SHARED && !module->vars[k].unsized)
            need += module->vars[k].size_bytes;
    if (func->shared_bytes < need)
        report(compare, func->name, module->funcs[index].loc, true,
               "%u bytes of static shared memory, the PTX's variables need %llu", func->shared_bytes,
               (unsigned long long)need);
    arena_free(&scratch);
}

static bool is_wanted(const Compare *compare, const char *name) {
    return !compare->kernel || strcmp(compare->kernel, name) == 0;
}

static void compare_kernels(Compare *compare) {
    const PtxModule *module = compare->module;
    for (uint32_t k = 0; k < module->nfuncs; k++) {
        const PtxFunc *f = &module->funcs[k];
        const char *name = text_of(compare, f->name);
        if (!f->is_entry || !f->has_body || !is_wanted(compare, name))
            continue;
        const BinFunc *func = binary_find(compare->binary, name);
        if (!func || !func->is_entry) {
            report(compare, name, f->loc, true,
                   func ? "is no kernel in the file" : "the file lacks this kernel");
            continue;
        }
        compare_params(compare, f, func);
        compare_limits(compare, f, func);
        compare_shared(compare, k, func);
    }
    for (uint32_t k = 0; k < compare->binary->nfuncs; k++) {
        const BinFunc *func = &compare->binary->funcs[k];
        uint32_t index = ptx_find_func(module, func->name);
        if (func->is_entry && is_wanted(compare, func->name) &&
            (!index || !module->funcs[index - 1].is_entry))
            report(compare, func->name, (SrcLoc){0}, false, "the PTX lacks this kernel");
    }
}

/* ---- variables ---- */
const BinVar *bin_contents_var(const PtxModule *module, const Binary *binary, uint32_t var) {
    const PtxVar *ptx = &module->vars[var];
    const char *name = str_text(&module->strings, ptx->name),
               *func = ptx->func ? str_text(&module->strings, module->funcs[ptx->func - 1].name) : "";
    size_t n = strlen(func);
    for (uint32_t k = 0; k < binary->nvars; k++) {
        const char *found = binary->vars[k].name;
        if (ptx->func ? strncmp(found, func, n) == 0 && found[n] == '$' && strcmp(found + n + 1, name) == 0
                      : strcmp(found, name) == 0)
            return &binary->vars[k];
    }
    return NULL;
}

static const BinFixup *fixup_at(const Binary *binary, uint32_t var, uint64_t offset) {
    for (uint32_t k = 0; k < binary->nfixups; k++) {
        const BinFixup *fixup = &binary->fixups[k];
        if (!fixup->in_code && !fixup->in_bank4 && fixup->var == var && fixup->offset_bytes == offset)
            return fixup;
    }
    return NULL;
}

/* An address among the initial bytes. */
static void compare_address(Compare *compare, const PtxVar *var, const PtxInit *init, uint32_t index) {
    const char *name = text_of(compare, var->name), *want;
    const BinFixup *fixup = fixup_at(compare->binary, index, init->offset_bytes);
    bool func = init->sym & PTX_SYM_FUNC;
    if (init->size_bytes != 8 || init->shift) {
        report(compare, NULL, var->loc, false, "a part of an address in %s is not compared", name);
        return;
    }
    uint32_t target = (init->sym & ~PTX_SYM_FUNC) - 1;
    if (func && compare->module->funcs[target].alias_of)
        target = compare->module->funcs[target].alias_of - 1;
    want = text_of(compare, func ? compare->module->funcs[target].name : compare->module->vars[target].name);
    const char *got = !fixup                     ? "a number"
                      : fixup->to == BIN_TO_FUNC ? compare->binary->funcs[fixup->target].name
                      : fixup->to == BIN_TO_VAR  ? compare->binary->vars[fixup->target].name
                                                 : compare->binary->externs[fixup->target];
    if (!fixup && func && !binary_find(compare->binary, want)) { /* check/validate/compare/handles.h */
        report(compare, NULL, var->loc, false,
               "%s at byte %u holds a number for %s, which the file does not define", name,
               init->offset_bytes, want);
        return;
    }
    if (!fixup || (fixup->to != BIN_TO_VAR) != func || strcmp(want, got) != 0 || fixup->addend != init->value)
        report(compare, NULL, var->loc, true, "%s at byte %u holds %s%+lld in the file, %s%+lld in the PTX",
               name, init->offset_bytes, got, fixup ? (long long)fixup->addend : 0, want,
               (long long)init->value);
}

/* The address of a .const variable in its space is a number: its offset in the file's bank. */
static bool is_const_offset(const Compare *compare, const PtxInit *init) {
    return init->sym && !(init->sym & PTX_SYM_FUNC) && !init->generic &&
           compare->module->vars[init->sym - 1].space == SP_CONST;
}

static uint64_t init_number(const Compare *compare, const PtxInit *init) {
    const BinVar *target =
        init->sym ? bin_contents_var(compare->module, compare->binary, init->sym - 1) : NULL;
    return ((uint64_t)init->value + (target ? target->offset_bytes : 0)) >> init->shift;
}

static void compare_bytes(Compare *compare, const PtxVar *var, const BinVar *bin, uint32_t index) {
    Arena scratch = {0};
    uint64_t size = var->size_bytes < bin->size_bytes ? var->size_bytes : bin->size_bytes;
    uint8_t *want = arena_alloc(&scratch, size + 8), *skip = arena_alloc(&scratch, size + 8);
    for (uint32_t k = 0; k < var->ninits; k++) {
        const PtxInit *init = &var->inits[k];
        if (init->offset_bytes > size || init->size_bytes > size - init->offset_bytes)
            continue;
        if (init->sym && !is_const_offset(compare, init)) {
            compare_address(compare, var, init, index);
            memset(skip + init->offset_bytes, 1, init->size_bytes);
        } else {
            uint64_t value = init_number(compare, init);
            for (unsigned b = 0; b < init->size_bytes; b++)
                want[init->offset_bytes + b] = (uint8_t)(value >> (b < 8 ? 8 * b : 63));
        }
    }
    for (uint64_t k = 0; k < size; k++) {
        uint8_t got = bin->init ? bin->init[k] : 0;
        if (!skip[k] && got != want[k]) {
            report(compare, NULL, var->loc, true, "byte %llu of %s is 0x%02x in the file, 0x%02x in the PTX",
                   (unsigned long long)k, text_of(compare, var->name), got, want[k]);
            break;
        }
    }
    for (uint32_t k = 0; k < compare->binary->nfixups; k++) {
        const BinFixup *fixup = &compare->binary->fixups[k];
        if (!fixup->in_code && !fixup->in_bank4 && fixup->var == index && fixup->offset_bytes < size &&
            !skip[fixup->offset_bytes])
            report(compare, NULL, var->loc, true,
                   "%s holds an address at byte %llu that the PTX does not put there",
                   text_of(compare, var->name), (unsigned long long)fixup->offset_bytes);
    }
    arena_free(&scratch);
}

static bool same_section(const BinVar *var, const BinVar *other) {
    return var->space == other->space && (var->space == SPACE_CONST || !var->init == !other->init);
}

static void compare_variable(Compare *compare, uint32_t index) {
    const PtxVar *var = &compare->module->vars[index];
    const char *name = text_of(compare, var->name);
    const BinVar *bin = bin_contents_var(compare->module, compare->binary, index);
    if (!bin) { /* of a texture nothing is there but the words that code reads its handle from */
        if (!ptx_is_texture(var) && var->linkage != LINK_EXTERN &&
            (var->linkage != LINK_NONE || compare->named[index]) && var->size_bytes)
            report(compare, NULL, var->loc, var->linkage != LINK_NONE, "the file lacks variable %s", name);
        return;
    }
    if (bin->space != (var->space == SP_CONST ? SPACE_CONST : SPACE_GLOBAL)) {
        report(compare, NULL, var->loc, true, "%s is in another state space", name);
        return;
    }
    if (bin->size_bytes < var->size_bytes)
        report(compare, NULL, var->loc, true, "%s has %llu bytes, the PTX declares %llu", name,
               (unsigned long long)bin->size_bytes, (unsigned long long)var->size_bytes);
    if (var->align_bytes > 1 && (bin->offset_bytes % var->align_bytes || bin->align_bytes % var->align_bytes))
        report(compare, NULL, var->loc, true, "%s is not aligned to %u bytes", name, var->align_bytes);
    for (uint32_t k = 0; k < compare->binary->nvars; k++) {
        const BinVar *other = &compare->binary->vars[k];
        if (other > bin && same_section(bin, other) && bin->size_bytes && other->size_bytes &&
            bin->offset_bytes < other->offset_bytes + other->size_bytes &&
            other->offset_bytes < bin->offset_bytes + bin->size_bytes)
            report(compare, NULL, var->loc, true, "%s and %s overlap", name, other->name);
    }
    if (var->linkage != LINK_EXTERN)
        compare_bytes(compare, var, bin, (uint32_t)(bin - compare->binary->vars));
}

static bool is_of_ptx(const Compare *compare, const BinVar *bin) {
    for (uint32_t k = 0; k < compare->module->nvars; k++) {
        const PtxVar *var = &compare->module->vars[k];
        if ((var->space == SP_GLOBAL || var->space == SP_CONST) &&
            bin_contents_var(compare->module, compare->binary, k) == bin)
            return true;
    }
    return false;
}

/* A loader finds variables by their names. */
static void compare_names(Compare *compare) {
    const Binary *binary = compare->binary;
    for (uint32_t k = 0; k < binary->nvars; k++)
        if (!is_of_ptx(compare, &binary->vars[k]))
            report(compare, NULL, (SrcLoc){0}, false,
                   "the file has a variable %s of its own, or a second one", binary->vars[k].name);
}

static void compare_variables(Compare *compare) {
    const PtxModule *module = compare->module;
    Arena scratch = {0};
    bool *funcs = ARENA_ARRAY(&scratch, bool, module->nfuncs + 1);
    compare->named = ARENA_ARRAY(&scratch, bool, module->nvars + 1);
    for (uint32_t k = 0; k < module->nfuncs; k++)
        ptx_mark_named(module, k, compare->named, funcs);
    for (uint32_t k = 0; k < module->nvars; k++)
        for (uint32_t i = 0; i < module->vars[k].ninits; i++)
            if (module->vars[k].inits[i].sym && !(module->vars[k].inits[i].sym & PTX_SYM_FUNC))
                compare->named[module->vars[k].inits[i].sym - 1] = true;
    for (uint32_t k = 0; k < module->nvars; k++)
        if (module->vars[k].space == SP_GLOBAL || module->vars[k].space == SP_CONST)
            compare_variable(compare, k);
    compare_names(compare);
    arena_free(&scratch);
}

void bin_contents_compare(const PtxModule *module, const Binary *binary, const char *kernel, Contents *out) {
    *out = (Contents){0};
    Compare compare = {.out = out, .module = module, .binary = binary, .kernel = kernel};
    compare_kernels(&compare);
    compare_variables(&compare);
}

void bin_contents_free(Contents *contents) {
    arena_free(&contents->arena);
    *contents = (Contents){0};
}

bool bin_contents_differ(const PtxModule *module, const Binary *binary, const char *kernel, char *out,
                         size_t out_bytes) {
    Contents found;
    bool differ = false;
    bin_contents_compare(module, binary, kernel, &found);
    for (uint32_t k = 0; k < found.findings.n && !differ; k++) {
        const ContentsFinding *finding = &found.findings.at[k];
        char line[40] = "";
        differ = finding->definite;
        if (!differ)
            continue;
        if (finding->ptx_line)
            snprintf(line, sizeof line, " (PTX line %u)", finding->ptx_line);
        snprintf(out, out_bytes, "%s%s%s%s", finding->func ? finding->func : "", finding->func ? ": " : "",
                 finding->text, line);
    }
    bin_contents_free(&found);
    return differ;
}
