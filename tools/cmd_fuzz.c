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

static bool parse_kinds(const char *text, FuzzOptions *o) {
    while (text && *text) {
        size_t n = strcspn(text, ",");
        GenKind k;
        if (!gen_kind_find(text, n, &k))
            return false;
        o->kinds[k] = true;
        text += n + (text[n] == ',');
    }
    for (unsigned k = 0; !text && k < GEN_KINDS; k++)
        o->kinds[k] = true;
    return true;
}

static void on_progress(void *user, GenKind kind, uint64_t done, uint64_t total, double per_second,
                        uint64_t failures) {
    Fuzz *f = user;
    if (f->terminal)
        fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " programs, %.0f/s, %" PRIu64 " failures (%s)\033[K",
                done, total, per_second, failures, gen_kind_name(kind));
}

static void on_failure(void *user, const FuzzFailure *x) {
    Fuzz *f = user;
    const FuzzVerdict *v = &x->verdict;
    FILE *out = f->s->json ? stderr : stdout;
    size_t first = strcspn(v->text, "\n");
    fprintf(out, "%s%s %" PRIu64 ": %s %s with %s\n  %.*s\n", f->terminal ? "\r\033[K" : "",
            gen_kind_name(x->kind), x->index, fuzz_class_name(v->cls), v->detail, v->config, (int)first,
            v->text);
    if (x->reduced_path[0])
        fprintf(out, "  %s (%u statements)\n", x->reduced_path, x->statements);
    fflush(out);
}

static double ratio(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

static const char *const mode_names[FUZZ_MODES] = {"ipdom", "frontier", "frontier-all", "none"};

static void print_kind(GenKind k, const FuzzCounts *n) {
    printf("%-12s %8" PRIu64 " programs %8" PRIu64 " runs %6" PRIu64 " failures %6" PRIu64
           " unsupported %7.0f per CPU second\n",
           gen_kind_name(k), n->programs, n->runs, n->failures, n->unsupported,
           1e6 * ratio(n->programs, n->cpu_us));
    printf("             %.1f blocks, %.1f data statements a block, %.1f branches, %.1f calls; %.0f %% with "
           "loops, %.0f %% irreducible, "
           "%.0f %% early exits\n",
           ratio(n->blocks, n->programs), ratio(n->data_insns, n->blocks), ratio(n->branches, n->programs),
           ratio(n->calls, n->programs), 100 * ratio(n->with_loop, n->programs),
           100 * ratio(n->with_irreducible, n->programs), 100 * ratio(n->with_early_exit, n->programs));
    if (n->literal_runs + n->break_runs)
        printf("             literal policies: %" PRIu64 " of %" PRIu64
               " runs hang (%.3f %%); with --yield=break %" PRIu64 " of %" PRIu64 " (%.3f %%)\n",
               n->literal_hangs, n->literal_runs, 100 * ratio(n->literal_hangs, n->literal_runs),
               n->break_hangs, n->break_runs, 100 * ratio(n->break_hangs, n->break_runs));
}

static void print_metrics(const FuzzCounts *n) {
    if (!n->metric[0].programs)
        return;
    printf("\n%" PRIu64
           " programs of one warp, against a stack of masks that joins at immediate post-dominators:\n"
           "%-20s %11s %12s %12s %7s %10s %10s %9s\n",
           n->metric[0].programs, "", "block issues", "SIMT of all", "SIMT of data", "B ops", "switches",
           "hops", "releases");
    for (unsigned k = 0; k < FUZZ_METRICS; k++) {
        const FuzzMetric *m = &n->metric[k];
        printf("%-12s %-8s %11.3f %11.1f %% %11.1f %% %6.1f%% %10" PRIu64 " %10" PRIu64 " %9" PRIu64 "\n",
               mode_names[k % FUZZ_MODES], k < FUZZ_MODES ? "" : "20 % Y",
               ratio(m->block_issues, m->stack_issues), 100 * ratio(m->lane_issues, 32 * m->issues),
               100 * ratio(m->data_lane_issues, 32 * m->data_issues), 100 * ratio(m->b_issues, m->issues),
               m->switches, m->hops, m->releases);
    }
}

static void json_metrics(const FuzzCounts *n) {
    printf(", \"metrics\": [");
    for (unsigned k = 0; k < FUZZ_METRICS; k++) {
        const FuzzMetric *m = &n->metric[k];
        printf("%s{\"mode\": \"%s\", \"yield_percent\": %u", k ? ", " : "", mode_names[k % FUZZ_MODES],
               k < FUZZ_MODES ? 0 : 20);
#define JSON_FIELD(name) printf(", \"" #name "\": %" PRIu64, m->name);
        FUZZ_METRIC_FIELDS(JSON_FIELD)
#undef JSON_FIELD
        printf("}");
    }
    printf("]");
}

static void json_report(const FuzzReport *r) {
    const char *separator = "";
    printf("{\"failures\": %" PRIu64 ", \"seconds\": %.2f, \"jobs\": %u, \"kinds\": {", r->failures,
           r->seconds, r->jobs);
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        const FuzzCounts *n = &r->kind[k];
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

static void print_report(const FuzzReport *r) {
    uint64_t programs = 0;
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        programs += r->kind[k].programs;
        if (r->kind[k].programs)
            print_kind((GenKind)k, &r->kind[k]);
    }
    printf("%" PRIu64 " programs, %" PRIu64 " failures, %.1f s, %u jobs\n", programs, r->failures, r->seconds,
           r->jobs);
    for (unsigned k = 0; k < GEN_KINDS; k++)
        print_metrics(&r->kind[k]);
}

/* A saved program again, under everything. */
static int replay(Settings *s) {
    int status = STATUS_DONE;
    for (unsigned i = 0; i < s->ninputs; i++) {
        GenProgram p = {0};
        if (!file_read(&s->arena, s->inputs[i], &s->diags, &p.text, &p.size_bytes))
            return STATUS_INPUT;
        if (!gen_read_header(&p)) {
            diag(&s->diags, (SrcLoc){0}, DIAG_E0412, s->inputs[i], "it lacks the line '// fuzz block=...'");
            return STATUS_INPUT;
        }
        FuzzVerdict v = fuzz_check_everywhere(&p, s->target);
        printf("%s: %s %s%s%s\n", s->inputs[i], fuzz_class_name(v.cls), v.detail, v.config[0] ? " with " : "",
               v.config);
        if (v.text[0])
            printf("  %s\n", v.text);
        if (v.cls != FUZZ_EQUAL)
            status = STATUS_DIFFERS;
    }
    return status;
}

int cmd_fuzz(Settings *s) {
    Fuzz f = {.s = s, .terminal = isatty(STDERR_FILENO) == 1};
    FuzzOptions o = {.count = s->fuzz.count,
                     .seed = s->seed,
                     .first = s->fuzz.first,
                     .target = s->target,
                     .opt_level = s->has_opt_level ? (int)s->opt_level : FUZZ_ALL_LEVELS,
                     .policies = s->fuzz.policies,
                     .keep_dir = s->fuzz.keep_dir,
                     .state_file = s->fuzz.state_file,
                     .reduce_seconds = s->fuzz.reduce_seconds,
                     .max_failures = s->fuzz.max_failures,
                     .jobs = s->fuzz.jobs,
                     .metrics = s->fuzz.metrics,
                     .check_only = s->fuzz.check_only,
                     .on_progress = on_progress,
                     .on_failure = on_failure,
                     .user = &f};
    FuzzReport r;
    if (s->ninputs)
        return replay(s);
    if (!parse_kinds(s->fuzz.kinds, &o)) {
        fprintf(stderr,
                "heddle fuzz: --kind: '%s' is not a list of "
                "arith,cfg,structured,calls,collectives,barriers,predication\n",
                s->fuzz.kinds);
        return STATUS_USAGE;
    }
    if (o.keep_dir)
        mkdir(o.keep_dir, 0777);
    if (!fuzz_campaign(&o, &r, &s->diags))
        return STATUS_INPUT;
    if (f.terminal)
        fprintf(stderr, "\r\033[K");
    if (s->json)
        json_report(&r);
    else
        print_report(&r);
    return r.failures ? STATUS_DIFFERS : STATUS_DONE;
}
