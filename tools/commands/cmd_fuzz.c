/* heddle fuzz: random programs through compiler, interpreter and machine.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "check/fuzz/fuzz.h"
#include "tools/cli/cli.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    Settings *s;
    bool terminal;
    unsigned nfailures;
} Fuzz;

static bool parse_kinds(const char *text, FuzzOptions *options) {
    while (text && *text) {
        size_t n = strcspn(text, ",");
        GenKind k;
        if (!gen_kind_find(text, n, &k))
            return false;
        options->kinds[k] = true;
        text += n + (text[n] == ',');
    }
    for (unsigned k = 0; !text && k < GEN_KINDS; k++)
        options->kinds[k] = true;
    return true;
}

static void on_progress(void *user, GenKind kind, uint64_t done, uint64_t total, double per_second,
                        uint64_t failures) {
    Fuzz *fuzz = user;
    if (fuzz->terminal)
        fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " programs, %.0f/s, %" PRIu64 " failures (%s)\033[K",
                done, total, per_second, failures, gen_kind_name(kind));
}

static void on_failure(void *user, const FuzzFailure *failure) {
    Fuzz *fuzz = user;
    const FuzzVerdict *fuzz_verdict = &failure->verdict;
    FILE *out = fuzz->s->json ? stderr : stdout;
    size_t first = strcspn(fuzz_verdict->text, "\n");
    fprintf(out, "%s%s %" PRIu64 ": %s %s with %s\n  %.*s\n", fuzz->terminal ? "\r\033[K" : "",
            gen_kind_name(failure->kind), failure->index, fuzz_class_name(fuzz_verdict->cls),
            fuzz_verdict->detail, fuzz_verdict->config, (int)first, fuzz_verdict->text);
    if (failure->reduced_path[0])
        fprintf(out, "  %s (%u statements)\n", failure->reduced_path, failure->statements);
    fflush(out);
}

static double ratio(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

static void print_kind(GenKind k, const FuzzCounts *counts) {
    printf("%-12s %8" PRIu64 " programs %8" PRIu64 " runs %6" PRIu64 " failures %6" PRIu64
           " unsupported %7.0f per CPU second\n",
           gen_kind_name(k), counts->programs, counts->runs, counts->failures, counts->unsupported,
           1e6 * ratio(counts->programs, counts->cpu_us));
    printf("             %.1f blocks, %.1f data statements a block, %.1f branches, %.1f calls; %.0f %% with "
           "loops, %.0f %% irreducible, "
           "%.0f %% early exits\n",
           ratio(counts->blocks, counts->programs), ratio(counts->data_insns, counts->blocks),
           ratio(counts->branches, counts->programs), ratio(counts->calls, counts->programs),
           100 * ratio(counts->with_loop, counts->programs),
           100 * ratio(counts->with_irreducible, counts->programs),
           100 * ratio(counts->with_early_exit, counts->programs));
    if (counts->compiled_runs)
        printf("             compiled code executed in %" PRIu64 " of %" PRIu64
               " runs, %.1f %% of their instructions\n",
               counts->compiled_some, counts->compiled_runs,
               100 * ratio(counts->compiled_own, counts->compiled_issues));
    if (counts->compiled_traps)
        printf("             %" PRIu64 " launches were cut short and trapped alike\n",
               counts->compiled_traps);
    if (counts->compiled_found)
        printf("             %" PRIu64 " regions were executed from disk\n", counts->compiled_found);
    if (counts->literal_runs + counts->break_runs)
        printf("             literal policies: %" PRIu64 " of %" PRIu64
               " runs hang (%.3f %%); with --yield=break %" PRIu64 " of %" PRIu64 " (%.3f %%)\n",
               counts->literal_hangs, counts->literal_runs,
               100 * ratio(counts->literal_hangs, counts->literal_runs), counts->break_hangs,
               counts->break_runs, 100 * ratio(counts->break_hangs, counts->break_runs));
}

static void print_metrics(const FuzzCounts *counts) {
    if (!counts->metric[0].programs)
        return;
    printf("\n%" PRIu64
           " programs of one warp, against a stack of masks that joins at immediate post-dominators:\n"
           "%-20s %11s %12s %12s %7s %10s %10s %9s\n",
           counts->metric[0].programs, "", "block issues", "SIMT of all", "SIMT of data", "B ops", "switches",
           "hops", "releases");
    for (unsigned k = 0; k < FUZZ_METRICS; k++) {
        const FuzzMetric *fuzz_metric = &counts->metric[k];
        printf("%-12s %-8s %11.3f %11.1f %% %11.1f %% %6.1f%% %10" PRIu64 " %10" PRIu64 " %9" PRIu64 "\n",
               ir_reconv_mode_name((ReconvMode)(k % FUZZ_MODES)), k < FUZZ_MODES ? "" : "20 % Y",
               ratio(fuzz_metric->block_issues, fuzz_metric->stack_issues),
               100 * ratio(fuzz_metric->lane_issues, 32 * fuzz_metric->issues),
               100 * ratio(fuzz_metric->data_lane_issues, 32 * fuzz_metric->data_issues),
               100 * ratio(fuzz_metric->b_issues, fuzz_metric->issues), fuzz_metric->switches,
               fuzz_metric->hops, fuzz_metric->releases);
    }
}

static void json_metrics(cJSON *kind, const FuzzCounts *n) {
    cJSON *list = json_add_list(kind, "metrics");
    for (unsigned k = 0; k < FUZZ_METRICS; k++) {
        const FuzzMetric *m = &n->metric[k];
        cJSON *mode = json_object();
        json_append(list, mode);
        json_add_text(mode, "mode", ir_reconv_mode_name((ReconvMode)(k % FUZZ_MODES)));
        json_add_number(mode, "yield_percent", k < FUZZ_MODES ? 0 : 20);
#define JSON_FIELD(name) json_add_number(mode, #name, (double)m->name);
        FUZZ_METRIC_FIELDS(JSON_FIELD)
#undef JSON_FIELD
    }
}

static void json_report(const FuzzReport *report) {
    cJSON *json = json_object();
    json_add_number(json, "failures", (double)report->failures);
    json_add_number(json, "seconds", report->seconds);
    json_add_number(json, "jobs", report->jobs);
    cJSON *kinds = json_add_object(json, "kinds");
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        const FuzzCounts *n = &report->kind[k];
        if (!n->programs)
            continue;
        cJSON *kind = json_add_object(kinds, gen_kind_name((GenKind)k));
#define JSON_FIELD(name) json_add_number(kind, #name, (double)n->name);
        FUZZ_COUNT_FIELDS(JSON_FIELD)
#undef JSON_FIELD
        if (n->metric[0].programs)
            json_metrics(kind, n);
    }
    cli_print_json(json);
}

static void print_report(const FuzzReport *report) {
    uint64_t programs = 0;
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        programs += report->kind[k].programs;
        if (report->kind[k].programs)
            print_kind((GenKind)k, &report->kind[k]);
    }
    printf("%" PRIu64 " programs, %" PRIu64 " failures, %.1f s, %u jobs\n", programs, report->failures,
           report->seconds, report->jobs);
    for (unsigned k = 0; k < GEN_KINDS; k++)
        print_metrics(&report->kind[k]);
}

static Verdict verdict_of(FuzzClass cls) {
    return cls == FUZZ_EQUAL         ? VERDICT_EQUAL
           : cls == FUZZ_UNSUPPORTED ? VERDICT_NOT_RUN
           : cls == FUZZ_REJECTED    ? VERDICT_NOT_COMPILED
                                     : VERDICT_DIFFERS;
}

static void print_verdict(const char *path, const FuzzVerdict *verdict) {
    printf("%s: %s %s%s%s\n", path, fuzz_class_name(verdict->cls), verdict->detail,
           verdict->config[0] ? " with " : "", verdict->config);
    if (verdict->text[0])
        printf("  %s\n", verdict->text);
}

static void json_verdict(cJSON *list, const char *path, const FuzzVerdict *verdict) {
    cJSON *program = json_object();
    json_append(list, program);
    json_add_text(program, "file", path);
    json_add_text(program, "class", fuzz_class_name(verdict->cls));
    json_add_text(program, "detail", verdict->detail);
    json_add_text(program, "with", verdict->config);
    json_add_text(program, "text", verdict->text);
}

static bool usage(const char *what) {
    fprintf(stderr, "heddle fuzz: %s\n", what);
    return false;
}

enum { ENGINES = FUZZ_AUTO + 1 };
static unsigned engine_number(const char *name) {
    static const char *const names[ENGINES] = {"interp", "stencil", "jit", "auto"};
    unsigned i = 0;
    while (i < ENGINES && strcmp(name, names[i]) != 0)
        i++;
    return i;
}

static FuzzEngine engine_of(const Settings *settings) {
    if (settings->engine)
        return (FuzzEngine)engine_number(settings->engine);
    return settings->jit_after ? FUZZ_JIT : FUZZ_INTERP;
}

static bool engine_fits(Settings *settings) {
    return !settings->engine || engine_number(settings->engine) < ENGINES ||
           usage(arena_printf(&settings->arena, "--engine: '%s' is none of interp, stencil, jit, auto",
                              settings->engine));
}

static bool engine_runs(FuzzEngine engine, const char *level) {
    return engine == FUZZ_INTERP || machine_level_compiles(level);
}

static bool level_fits(Settings *settings) {
    const char *level = settings->machine.host_level;
    FuzzEngine engine = engine_of(settings);
    if (level && !machine_has_level(level))
        return usage(
            arena_printf(&settings->arena, "--host-level: this host has no '%s' of base, v2, v3, v4", level));
    return engine_runs(engine, level) ||
           usage(arena_printf(&settings->arena, "--engine: compiled code needs the host's level v3 or v4%s%s",
                              level ? ", not " : "", level ? level : ""));
}

/* Options go before what the file of a saved program says. */
static void saved_overridden(const Settings *settings, FuzzConfig *saved) {
    if (settings->target)
        saved->target = settings->target;
    if (settings->engine || settings->jit_after)
        saved->engine = engine_of(settings);
    if (settings->jit_after)
        saved->jit_after = settings->jit_after;
    saved->machine.host_level = settings->machine.host_level;
}

/* A saved program: as it failed, then under everything. */
static FuzzVerdict check_saved(const GenProgram *program, const FuzzConfig *saved, bool has) {
    FuzzVerdict v = {.cls = FUZZ_EQUAL};
    if (has)
        v = fuzz_check(program, saved, 1, NULL);
    return v.cls == FUZZ_EQUAL ? fuzz_check_everywhere(program, saved) : v;
}

/* Saved programs again. */
static int replay(Settings *settings) {
    Verdict worst = VERDICT_EQUAL;
    cJSON *json = settings->json ? json_object() : NULL,
          *list = json ? json_add_list(json, "programs") : NULL;
    for (unsigned i = 0; i < settings->ninputs; i++) {
        GenProgram p = {0};
        const char *path = settings->inputs[i];
        if (!file_read(&settings->arena, path, &settings->diags, &p.text, &p.size_bytes))
            return STATUS_INPUT;
        if (!gen_read_header(&p)) {
            diag(&settings->diags, (SrcLoc){0}, DIAG_E0412, path, "it lacks the line '// fuzz block=...'");
            return STATUS_INPUT;
        }
        FuzzConfig saved;
        FuzzSaved has = fuzz_saved_config(p.text, &saved);
        if (has == FUZZ_SAVED_UNKNOWN)
            diag(&settings->diags, (SrcLoc){0}, DIAG_E0412, path,
                 "its second line names settings that there are not");
        if (has == FUZZ_SAVED_UNKNOWN)
            return STATUS_INPUT;
        saved_overridden(settings, &saved);
        if (!engine_runs(saved.engine, saved.machine.host_level)) {
            diag(&settings->diags, (SrcLoc){0}, DIAG_E0412, path,
                 "its engine compiles code, which needs the host's level v3 or v4");
            return STATUS_INPUT;
        }
        FuzzVerdict v = check_saved(&p, &saved, has == FUZZ_SAVED_KNOWN);
        if (list)
            json_verdict(list, path, &v);
        else
            print_verdict(path, &v);
        worst = verdict_worse(worst, verdict_of(v.cls));
    }
    if (json)
        cli_print_json(json);
    return (int)verdict_status(worst);
}

static bool options_fit(Settings *settings, FuzzOptions *options) {
    if (!parse_kinds(settings->fuzz.kinds, options))
        return usage(arena_printf(&settings->arena, "--kind: '%s' is not a list of some of%s",
                                  settings->fuzz.kinds, gen_kind_names));
    return !options->metrics || options->kinds[GEN_CFG] || usage("--metrics measures cfg programs");
}

int cmd_fuzz(Settings *settings) {
    cli_ticker_stop();
    Fuzz f = {.s = settings, .terminal = isatty(STDERR_FILENO) == 1};
    FuzzOptions o = {.count = settings->fuzz.count,
                     .seed = settings->seed,
                     .first = settings->fuzz.first,
                     .target = settings->target,
                     .opt_level = settings->has_opt_level ? (int)settings->opt_level : FUZZ_ALL_LEVELS,
                     .policies = settings->fuzz.policies,
                     .keep_dir = settings->fuzz.keep_dir,
                     .state_file = settings->fuzz.state_file,
                     .reduce_seconds = settings->fuzz.reduce_seconds,
                     .max_failures = settings->fuzz.max_failures,
                     .jobs = settings->fuzz.jobs,
                     .metrics = settings->fuzz.metrics,
                     .check_only = settings->fuzz.check_only,
                     .engine = engine_of(settings),
                     .jit_after = settings->jit_after ? settings->jit_after : 1,
                     .jit_cache = settings->jit_cache,
                     .host_level = settings->machine.host_level,
                     .on_progress = on_progress,
                     .on_failure = on_failure,
                     .user = &f};
    FuzzReport r;
    if (!engine_fits(settings) || !level_fits(settings))
        return STATUS_USAGE;
    if (settings->ninputs)
        return replay(settings);
    if (!options_fit(settings, &o))
        return STATUS_USAGE;
    /* what is to be kept needs a place before hours are spent on it */
    if (o.keep_dir && !file_make_folder(o.keep_dir, &settings->diags))
        return STATUS_INPUT;
    if (!fuzz_campaign(&o, &r, &settings->diags))
        return STATUS_INPUT;
    if (f.terminal)
        fprintf(stderr, "\r\033[K");
    if (settings->json)
        json_report(&r);
    else
        print_report(&r);
    return r.failures ? STATUS_DIFFERS : STATUS_DONE;
}
