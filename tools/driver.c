/* PTX module to ELF image: see driver.h.
 * SPDX-License-Identifier: MIT */
#include "tools/driver.h"
#include "lower/lower.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ms(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* Times of the steps that are no passes, in the form of the pass driver's. */
static double step(const DriverOptions *opt, const char *name, double start, Diags *d) {
    double now = now_ms();
    char line[96];
    snprintf(line, sizeof line, "step %-12s %9.3f ms", name, now - start);
    if (opt->passes.time_passes)
        diag(d, (SrcLoc){0}, DIAG_N0010, line);
    return now;
}

bool driver_compile(Compilation *c, const PtxModule *ptx, const DriverOptions *opt, Diags *d) {
    *c = (Compilation){0};
    const Source *old = d->source;
    d->source = &ptx->source;
    double t = now_ms();
    c->ir = lower_module(ptx, &c->strings, opt->target ? opt->target : isa_targets[0], opt->opt_level, d);
    t = step(opt, "isel", t, d);
    if (c->ir) {
        c->ir->reconverge = opt->reconverge;
        c->ir->predicate = opt->predicate;
        c->ir->yield_breaks = opt->yield_breaks;
    }
    bool good = c->ir && ir_run_passes(c->ir, &opt->passes, d);
    t = step(opt, "passes", t, d);
    if (good && !opt->passes.stop_after) {
        c->code = code_encode(c->ir, d);
        t = step(opt, "encode", t, d);
        good = c->code && elf_write_with(c->code, &opt->elf, &c->image, &c->image_bytes, d);
        step(opt, "elf", t, d);
    }
    d->source = old;
    return good;
}

void driver_free(Compilation *c) {
    if (c->code)
        code_free(c->code);
    if (c->ir)
        ir_module_free(c->ir);
    str_free(&c->strings);
    free(c->image);
    *c = (Compilation){0};
}
