/* The pass driver: runs a table of passes over a module, checks that what a pass needs was given by an
 * earlier one, verifies the IR after each, dumps, times. The table itself is passes.def (pass_table.c).
 * SPDX-License-Identifier: MIT */
#include "ir/pass.h"
#include "base/clock.h"
#include "base/scope.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double now_ms(void) { return clock_seconds() * 1e3; }

static bool run_one(const PassDesc *desc, IrModule *ir_module, Diags *d) {
    if (desc->module)
        return desc->module(ir_module, d);
    bool good = true;
    for (unsigned i = 0; i < ir_module->funcs.n && good; i++) {
        d->place.function = str_text(ir_module->strings, ir_module->funcs.at[i]->name);
        good = desc->func(ir_module->funcs.at[i], d);
    }
    d->place.function = NULL;
    return good;
}

static bool verify_all(const IrModule *module, Diags *d, const char *after) {
    bool ok = true;
    for (unsigned i = 0; i < module->funcs.n; i++)
        ok &= ir_verify(module->funcs.at[i], d, after);
    return ok;
}

static bool is_named(const char *option, const char *name) {
    return option && (strcmp(option, name) == 0 || strcmp(option, "all") == 0);
}

static void dump(const IrModule *m, const PassOptions *opt, const char *pass) {
    if (!opt->on_dump)
        return;
    char *text = ir_print(m, NULL);
    opt->on_dump(opt->user, pass, text);
    mem_free(text);
}

static void report_time(const PassDesc *desc, double ms, uint64_t steps, Diags *d) {
    char line[96];
    int n = snprintf(line, sizeof line, "pass %-12s %9.3f ms", desc->name, ms);
    if (steps)
        snprintf(line + n, sizeof line - (size_t)n, " %12llu steps", (unsigned long long)steps);
    diag(d, (SrcLoc){0}, DIAG_N0010, line);
}

static bool known_pass(const PassDesc *table, unsigned n, const char *name) {
    if (!name || strcmp(name, "all") == 0 || strcmp(name, "isel") == 0)
        return true;
    for (unsigned i = 0; i < n; i++)
        if (strcmp(table[i].name, name) == 0)
            return true;
    return false;
}

/* A pass that may be left out, or none. */
static bool may_do_without(const PassDesc *table, unsigned n, const char *name) {
    for (unsigned i = 0; i < n && name; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].min_opt_level > 0;
    return !name;
}

bool ir_run_pass_table(IrModule *module, const PassDesc *table, unsigned n, const PassOptions *opt,
                       Diags *d) {
    if (!known_pass(table, n, opt->dump))
        return diag(d, (SrcLoc){0}, DIAG_E0690, opt->dump);
    if (!known_pass(table, n, opt->stop_after))
        return diag(d, (SrcLoc){0}, DIAG_E0690, opt->stop_after);
    if (!may_do_without(table, n, opt->without))
        return diag(d, (SrcLoc){0}, DIAG_E0692, opt->without);
    uint32_t facts = IRS_SSA;
    module->verify = opt->verify;
    if (opt->verify && !verify_all(module, d, "isel"))
        return false;
    if (is_named(opt->dump, "isel"))
        dump(module, opt, "isel");
    if (opt->stop_after && strcmp(opt->stop_after, "isel") == 0)
        return true;
    for (unsigned i = 0; i < n; i++) {
        const PassDesc *desc = &table[i];
        if (module->opt_level >= desc->min_opt_level && !is_named(opt->without, desc->name)) {
            if (desc->needs & ~facts)
                return diag(d, (SrcLoc){0}, DIAG_E0691, desc->name, desc->needs & ~facts);
            scope_poll();
            double start = opt->time_passes ? now_ms() : 0;
            module->steps = 0;
            bool ok = run_one(desc, module, d);
            if (opt->time_passes)
                report_time(desc, now_ms() - start, module->steps, d);
            if (!ok)
                return false;
            if (opt->on_pass)
                opt->on_pass(opt->user, module, desc->name);
            facts = (facts & ~(uint32_t)(desc->gives >> 32)) | (uint32_t)desc->gives;
            if (opt->verify && !verify_all(module, d, desc->name))
                return false;
            if (is_named(opt->dump, desc->name))
                dump(module, opt, desc->name);
        }
        if (opt->stop_after && strcmp(opt->stop_after, desc->name) == 0)
            return true;
    }
    return true;
}
