/* Of a module whose functions do not all compile, the rest: cli_compile_most.
 * SPDX-License-Identifier: MIT */
#include "frontend/named.h"
#include "tools/cli/cli.h"
#include <stdio.h>
#include <string.h>

/* Only what function `root` needs keeps its body and initial values. False: it needs a value that is lost. */
static bool keep_needed(PtxModule *module, uint32_t root, const PtxContents *all, Arena *arena) {
    bool *vars = ARENA_ARRAY(arena, bool, module->nvars + 1),
         *funcs = ARENA_ARRAY(arena, bool, module->nfuncs + 1),
         *every = ARENA_ARRAY(arena, bool, module->nfuncs + 1);
    memset(every, true, module->nfuncs);
    ptx_keep(module, all, every);
    ptx_mark_reached(module, root, true, vars, funcs);
    ptx_keep(module, all, funcs);
    bool kept = true;
    for (uint32_t i = 0; i < module->nvars; i++)
        kept &= !vars[i] || module->vars[i].ninits == all->ninits[i];
    return kept;
}

static void say_nothing(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

/* Take the bodies of what does not compile, each kernel and visible function tried alone with what it needs.
 */
static void drop_bad(Settings *settings, PtxModule *module, const PtxContents *all) {
    bool *good = ARENA_ARRAY(&settings->arena, bool, module->nfuncs + 1);
    DriverOptions opt = cli_driver_options(settings);
    for (uint32_t root = 0; root < module->nfuncs; root++) {
        Diags quiet = {.sink = say_nothing};
        if (!all->bodies[root] || (!module->funcs[root].is_entry && module->funcs[root].linkage == LINK_NONE))
            continue;
        Compilation c = {0};
        bool compiles =
            keep_needed(module, root, all, &settings->arena) && driver_compile(&c, module, &opt, &quiet);
        driver_free(&c);
        for (uint32_t i = 0; compiles && i < module->nfuncs; i++)
            good[i] |= module->funcs[i].has_body;
    }
    ptx_keep(module, all, good);
}

/* The list outlives the module. */
static const char *add_name(Settings *settings, const PtxModule *module, uint32_t func, CliNames *names) {
    const char *name = str_text(&module->strings, module->funcs[func].name);
    VEC_ADD(&settings->arena, names, arena_printf(&settings->arena, "%s", name));
    return name;
}

void cli_name_broken(Settings *settings, const PtxModule *module, CliNames *names) {
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (module->funcs[i].broken)
            add_name(settings, module, i, names);
}

void cli_keep_names(CliNames *names, const char *wanted) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < names->n; i++)
        if (!wanted || strcmp(wanted, names->at[i]) == 0)
            names->at[n++] = names->at[i];
    names->n = n;
}

void cli_print_left_out(const CliNames *names) {
    for (uint32_t i = 0; i < names->n; i++)
        printf("%s: %s\n", names->at[i], verdict_name(VERDICT_NOT_COMPILED));
}

static bool is_lost(const PtxModule *module, const PtxContents *all, uint32_t var) {
    return module->vars[var].ninits < all->ninits[var];
}

/* Name what has lost its body or its initial values. */
static bool name_left_out(Settings *settings, PtxModule *module, const PtxContents *all, const bool *bodies,
                          CliNames *names) {
    bool any = false;
    for (uint32_t i = 0; i < module->nvars; i++)
        if (is_lost(module, all, i))
            diag(&settings->diags, module->vars[i].loc, DIAG_W0009,
                 arena_printf(&settings->arena, "the initial value of %s",
                              str_text(&module->strings, module->vars[i].name)));
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        any |= module->funcs[i].has_body;
        if (!bodies[i] || module->funcs[i].has_body)
            continue;
        module->funcs[i].broken = true;
        diag(&settings->diags, (SrcLoc){0}, DIAG_W0009, add_name(settings, module, i, names));
    }
    return any;
}

Binary *cli_compile_most(Settings *settings, PtxModule *module, const char *path, CliNames *left_out) {
    bool *bodies = ARENA_ARRAY(&settings->arena, bool, module->nfuncs + 1), lost = false, code = false,
         broken = false;
    PtxContents all = ptx_contents(module, &settings->arena);
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        bodies[i] = module->funcs[i].has_body || module->funcs[i].broken;
        code |= module->funcs[i].has_body;
        broken |= module->funcs[i].broken;
    }
    settings->no_ptx |= broken; /* a text that is no PTX cannot be read again */
    ptx_keep(module, &all, bodies);
    for (uint32_t i = 0; i < module->nvars; i++)
        lost |= is_lost(module, &all, i);
    Binary *whole = code || !broken ? cli_compile_to_binary(settings, module, path) : NULL;
    if (!whole && settings->diags.lacking)
        return NULL;
    if (!whole || lost)
        drop_bad(settings, module, &all);
    bool any = name_left_out(settings, module, &all, bodies, left_out);
    if (!left_out->n || (whole && !lost))
        return whole;
    binary_free(whole);
    settings->no_ptx = true; /* the file has not all the kernels of the text */
    return any ? cli_compile_to_binary(settings, module, path) : NULL;
}
