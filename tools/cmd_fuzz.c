/* heddle fuzz: random programs through compiler, interpreter and machine.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/fuzz.h"
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

static void on_progress(void *user, GenKind kind, uint64_t done, uint64_t total, double per_second, uint64_t failures) {
    Fuzz *f = user;
    if (f->terminal)
        fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " programs, %.0f/s, %" PRIu64 " failures (%s)\033[K", done, total,
                per_second, failures, gen_kind_name(kind));
}

static void on_failure(void *user, const FuzzFailure *x) {
    Fuzz *f = user;
    const FuzzVerdict *v = &x->verdict;
    FILE *out = f->s->json ? stderr : stdout;
    size_t first = strcspn(v->text, "\n");
    fprintf(out, "%s%s %" PRIu64 ": %s %s with %s\n  %.*s\n", f->terminal ? "\r\033[K" : "", gen_kind_name(x->kind), x->index,
            fuzz_class_name(v->cls), v->detail, v->config, (int)first, v->text);
    if (x->reduced_path[0])
        fprintf(out, "  %s (%u statements)\n", x->reduced_path, x->statements);
    fflush(out);
}

static void print_report(const Settings *s, const FuzzReport *r) {
    const char *separator = "";
    if (s->json)
        printf("{\"failures\": %" PRIu64 ", \"kinds\": {", r->failures);
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        const FuzzCounts *n = &r->kind[k];
        double rate = n->seconds > 0 ? (double)n->programs / n->seconds : 0;
        if (!n->programs)
            continue;
        if (s->json)
            printf("%s\"%s\": {\"programs\": %" PRIu64 ", \"runs\": %" PRIu64 ", \"failures\": %" PRIu64
                   ", \"unsupported\": %" PRIu64 ", \"ptx_insns\": %" PRIu64 ", \"machine_issues\": %" PRIu64
                   ", \"per_second\": %.1f}", separator, gen_kind_name((GenKind)k), n->programs, n->runs, n->failures,
                   n->unsupported, n->ptx_insns, n->machine_issues, rate);
        else
            printf("%-12s %8" PRIu64 " programs %8" PRIu64 " runs %6" PRIu64 " failures %6" PRIu64 " unsupported %8.0f/s\n",
                   gen_kind_name((GenKind)k), n->programs, n->runs, n->failures, n->unsupported, rate);
        separator = ", ";
    }
    if (s->json)
        printf("}}\n");
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
        printf("%s: %s %s%s%s\n", s->inputs[i], fuzz_class_name(v.cls), v.detail, v.config[0] ? " with " : "", v.config);
        if (v.text[0])
            printf("  %s\n", v.text);
        if (v.cls != FUZZ_EQUAL)
            status = STATUS_DIFFERS;
    }
    return status;
}

int cmd_fuzz(Settings *s) {
    Fuzz f = {.s = s, .terminal = isatty(STDERR_FILENO) == 1};
    FuzzOptions o = {.count = s->fuzz.count, .seed = s->seed, .first = s->fuzz.first, .target = s->target,
                     .opt_level = s->has_opt_level ? (int)s->opt_level : FUZZ_ALL_LEVELS, .policies = s->fuzz.policies,
                     .keep_dir = s->fuzz.keep_dir, .state_file = s->fuzz.state_file,
                     .reduce_seconds = s->fuzz.reduce_seconds, .max_failures = s->fuzz.max_failures,
                     .on_progress = on_progress, .on_failure = on_failure, .user = &f};
    FuzzReport r;
    if (s->ninputs)
        return replay(s);
    if (!parse_kinds(s->fuzz.kinds, &o)) {
        fprintf(stderr, "heddle fuzz: --kind: '%s' is not a list of arith,cfg,structured,calls,collectives,barriers\n",
                s->fuzz.kinds);
        return STATUS_USAGE;
    }
    if (o.keep_dir)
        mkdir(o.keep_dir, 0777);
    if (!fuzz_campaign(&o, &r, &s->diags))
        return STATUS_INPUT;
    if (f.terminal)
        fprintf(stderr, "\r\033[K");
    print_report(s, &r);
    return r.failures ? STATUS_DIFFERS : STATUS_DONE;
}
