/* The pass driver: runs a table of passes over a module, checks that what a pass needs was given by an
 * earlier one, verifies the IR after each, dumps, times. The table itself is passes.def (pass_table.c).
 * SPDX-License-Identifier: MIT */
#include "ir/pass.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ms(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static bool run_one(const PassDesc *p, IrModule *m, Diags *d) {
    if (p->module)
        return p->module(m, d);
    for (unsigned i = 0; i < m->funcs.n; i++)
        if (!p->func(m->funcs.at[i], d))
            return false;
    return true;
}

static bool verify_all(const IrModule *m, Diags *d, const char *after) {
    bool ok = true;
    for (unsigned i = 0; i < m->funcs.n; i++)
        ok &= ir_verify(m->funcs.at[i], d, after);
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
    free(text);
}

static void report_time(const PassDesc *p, double ms, Diags *d) {
    char line[96];
    snprintf(line, sizeof line, "pass %-12s %9.3f ms", p->name, ms);
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

bool ir_run_pass_table(IrModule *m, const PassDesc *table, unsigned n, const PassOptions *opt, Diags *d) {
    if (!known_pass(table, n, opt->dump))
        return diag(d, (SrcLoc){0}, DIAG_E0690, opt->dump);
    if (!known_pass(table, n, opt->stop_after))
        return diag(d, (SrcLoc){0}, DIAG_E0690, opt->stop_after);
    uint32_t facts = IRS_SSA;
    m->verify = opt->verify;
    if (opt->verify && !verify_all(m, d, "isel"))
        return false;
    if (is_named(opt->dump, "isel"))
        dump(m, opt, "isel");
    if (opt->stop_after && strcmp(opt->stop_after, "isel") == 0)
        return true;
    for (unsigned i = 0; i < n; i++) {
        const PassDesc *p = &table[i];
        if (m->opt_level >= p->min_opt_level) {
            if (p->needs & ~facts)
                return diag(d, (SrcLoc){0}, DIAG_E0691, p->name, p->needs & ~facts);
            double start = now_ms();
            bool ok = run_one(p, m, d);
            if (opt->time_passes)
                report_time(p, now_ms() - start, d);
            if (!ok)
                return false;
            if (opt->on_pass)
                opt->on_pass(opt->user, m, p->name);
            facts = (facts & ~(uint32_t)(p->gives >> 32)) | (uint32_t)p->gives;
            if (opt->verify && !verify_all(m, d, p->name))
                return false;
            if (is_named(opt->dump, p->name))
                dump(m, opt, p->name);
        }
        if (opt->stop_after && strcmp(opt->stop_after, p->name) == 0)
            return true;
    }
    return true;
}
