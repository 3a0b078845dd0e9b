/* PTX module to ELF image: see driver.h.
 * SPDX-License-Identifier: MIT */
#include "tools/jobs/driver.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/scope.h"
#include "frontend/profile.h"
#include "lower/lower.h"
#include <stdio.h>
#include <stdlib.h>

static double now_ms(void) { return clock_seconds() * 1e3; }

/* Times of the steps that are no passes, in the form of the pass driver's. */
static double step_done(const DriverOptions *opt, const char *name, double start, uint64_t steps, Diags *d) {
    char line[96];
    if (!opt->passes.time_passes)
        return 0;
    double now = now_ms();
    int n = snprintf(line, sizeof line, "step %-12s %9.3f ms", name, now - start);
    if (steps)
        snprintf(line + n, sizeof line - (size_t)n, " %12llu steps", (unsigned long long)steps);
    diag(d, (SrcLoc){0}, DIAG_N0010, line);
    return now;
}

static bool read_profiles(Compilation *compilation, const PtxModule *ptx, const DriverOptions *opt,
                          Diags *diags) {
    Arena texts = {0};
    bool good = true;
    if (opt->nprofiles)
        compilation->profile = ptx_profile_new(ptx);
    for (unsigned k = 0; good && k < opt->nprofiles; k++) {
        const ProfileInput *input = &opt->profiles[k];
        char *text = NULL;
        size_t size;
        good = input->text || file_read(&texts, input->name, diags, &text, &size);
        good = good && ptx_profile_read(compilation->profile, input->name, text ? text : input->text, diags);
    }
    arena_free(&texts);
    return good;
}

bool driver_compile(Compilation *compilation, const PtxModule *ptx, const DriverOptions *opt, Diags *diags) {
    *compilation = (Compilation){0};
    if (!read_profiles(compilation, ptx, opt, diags))
        return false;
    const Source *old = diags->source;
    diags->source = &ptx->source;
    double t = opt->passes.time_passes ? now_ms() : 0;
    compilation->ir = (opt->elf.relocatable ? lower_object : lower_module)(
        ptx, &compilation->strings, opt->target ? opt->target : isa_targets[0], opt->opt_level, diags);
    t = step_done(opt, "isel", t, compilation->ir ? compilation->ir->steps : 0, diags);
    if (compilation->ir) {
        compilation->ir->reconverge = opt->reconverge;
        compilation->ir->predicate = opt->predicate;
        compilation->ir->reconv_opts = opt->reconv_opts;
        compilation->ir->yield_breaks = opt->yield_breaks;
        compilation->ir->explain = opt->explain;
        compilation->ir->profile = compilation->profile;
    }
    bool good = compilation->ir && ir_run_passes(compilation->ir, &opt->passes, diags);
    t = step_done(opt, "passes", t, 0, diags);
    if (good && !opt->passes.stop_after) {
        compilation->code = code_encode(compilation->ir, diags);
        t = step_done(opt, "encode", t, 0, diags);
        good = compilation->code && elf_write_with(compilation->code, &opt->elf, &compilation->image,
                                                   &compilation->image_bytes, diags);
        step_done(opt, "elf", t, 0, diags);
    }
    diags->source = old;
    return good;
}

void driver_free(Compilation *compilation) {
    if (compilation->code)
        code_free(compilation->code);
    if (compilation->ir)
        ir_module_free(compilation->ir);
    ptx_profile_free(compilation->profile);
    str_free(&compilation->strings);
    mem_free(compilation->image);
    *compilation = (Compilation){0};
}
