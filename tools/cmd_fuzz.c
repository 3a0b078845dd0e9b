/* heddle fuzz: random programs through compiler, interpreter and machine.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/fuzz/fuzz.h"
#include "tools/cli.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static void json_metrics(const FuzzCounts *n) {
    printf(", \"metrics\": [");
    for (unsigned k = 0; k < FUZZ_METRICS; k++) {
        const FuzzMetric *m = &n->metric[k];
        printf("%s{\"mode\": \"%s\", \"yield_percent\": %u", k ? ", " : "",
               ir_reconv_mode_name((ReconvMode)(k % FUZZ_MODES)), k < FUZZ_MODES ? 0u : 20u);
#define JSON_FIELD(name) printf(", \"" #name "\": %" PRIu64, m->name);
        FUZZ_METRIC_FIELDS(JSON_FIELD)
#undef JSON_FIELD
        printf("}");
    }
    printf("]");
}

static void json_report(const FuzzReport *report) {
    const char *separator = "";
    printf("{\"failures\": %" PRIu64 ", \"seconds\": %.2f, \"jobs\": %u, \"kinds\": {", report->failures,
           report->seconds, report->jobs);
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        const FuzzCounts *n = &report->kind[k];
        const char *comma = "";
        if (!n->programs)
            continue;
        printf("%s\"%s\": {", separator, gen_kind_name((GenKind)k));
#define JSON_FIELD(name) printf("%s\"" #name "\": %" PRIu64, comma, n->name), comma = ", ";
        FUZZ_COUNT_FIELDS(JSON_FIELD)
#undef JSON_FIELD
        if (n->metric[0].programs)
            json_metrics(n);
        printf("}");
        separator = ", ";
    }
    printf("}}\n");
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

/* A saved program again, under everything. */
static int replay(Settings *settings) {
    Verdict worst = VERDICT_EQUAL;
    for (unsigned i = 0; i < settings->ninputs; i++) {
        GenProgram p = {0};
        if (!file_read(&settings->arena, settings->inputs[i], &settings->diags, &p.text, &p.size_bytes))
            return STATUS_INPUT;
        if (!gen_read_header(&p)) {
            diag(&settings->diags, (SrcLoc){0}, DIAG_E0412, settings->inputs[i],
                 "it lacks the line '// fuzz block=...'");
            return STATUS_INPUT;
        }
        FuzzVerdict v = fuzz_check_everywhere(&p, settings->target);
        printf("%s: %s %s%s%s\n", settings->inputs[i], fuzz_class_name(v.cls), v.detail,
               v.config[0] ? " with " : "", v.config);
        if (v.text[0])
            printf("  %s\n", v.text);
        worst = verdict_worse(worst, verdict_of(v.cls));
    }
    return (int)verdict_status(worst);
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
                     .jit_after = settings->jit_after,
                     .on_progress = on_progress,
                     .on_failure = on_failure,
                     .user = &f};
    FuzzReport r;
    if (settings->ninputs)
        return replay(settings);
    if (!parse_kinds(settings->fuzz.kinds, &o)) {
        fprintf(stderr,
                "heddle fuzz: --kind: '%s' is not a list of "
                "arith,cfg,structured,calls,collectives,barriers,predication\n",
                settings->fuzz.kinds);
        return STATUS_USAGE;
    }
    if (o.keep_dir)
        mkdir(o.keep_dir, 0777);
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
