/* Campaigns: many programs, in a child process, so that a crash or a hang costs one program. The child and its parent
 * share one page of counters. See fuzz.h.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/fuzz_int.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLICE = 64, RING = 32, PROGRAM_SECONDS = 20 };

/* Written by the child, read by the parent; the child runs alone while it lives. */
typedef struct {
    volatile uint64_t slot;      /* being run */
    volatile double deadline;    /* the child is hanging when this has passed */
    volatile unsigned nfailures; /* in the ring since the start; each entry is complete when counted */
    volatile unsigned nreported; /* by the parent */
    volatile bool reducing;
    FuzzCounts counts[GEN_KINDS];
    FuzzFailure ring[RING];
} Shared;

typedef struct {
    const FuzzOptions *opt;
    Shared *shared;
    GenForms forms;
    GenKind kinds[GEN_KINDS];
    unsigned nkinds;
    uint64_t nslots;
    GenProgram program;
} Campaign;

/* ---- which program and how ---- */
/* Kinds take turns, a slice each. False: this slot is empty. */
static bool slot_program(const Campaign *c, uint64_t slot, GenKind *kind, uint64_t *index) {
    uint64_t slice = slot / SLICE;
    *kind = c->kinds[slice % c->nkinds];
    *index = slice / c->nkinds * SLICE + slot % SLICE;
    bool used = *index < c->opt->count;
    *index += c->opt->first;
    return used;
}

static unsigned sample_configs(const Campaign *c, GenKind kind, uint64_t index, FuzzConfig *out) {
    static const unsigned limits[] = {0, 0, 0, 0, 0, 0, 24, 28, 32, 40};
    uint64_t h = gen_hash(gen_hash(c->opt->seed + 77) + index * GEN_KINDS + kind);
    FuzzConfig base = {.target = c->opt->target, .opt_level = c->opt->opt_level >= 0 ? (unsigned)c->opt->opt_level : (unsigned)(h & 3),
                       .reg_limit = limits[(h >> 2 & 0xff) % 10], .text = (h >> 10 & 15) == 0,
                       .ptx_seed = h >> 14 & 1 ? h >> 20 : 0};
    unsigned n = 0, policies = c->opt->policies == FUZZ_POLICIES_ALL       ? FUZZ_NPOLICIES
                               : c->opt->policies == FUZZ_POLICIES_SAMPLED ? 3
                                                                           : 1;
    for (; n < policies; n++) {
        out[n] = base;
        fuzz_policy(policies == 3 ? (unsigned)((3 * index + n) % FUZZ_NPOLICIES) : n, &out[n].machine);
        out[n].machine.seed = h >> 30;
    }
    if ((h >> 15 & 7) == 0) {
        out[n] = base;
        out[n++].machine.check_control = true;
    }
    return n;
}

/* ---- saving ---- */
static uint32_t count_statements(const GenProgram *p) {
    uint32_t n = 0;
    for (const char *s = p->text; s && *s; s++)
        n += *s == ';';
    return n;
}

static bool save(const Campaign *c, const GenProgram *p, const FuzzFailure *f, const char *ending, char path[200]) {
    GenProgram q = {0};
    Diags quiet = {0};
    int n = snprintf(path, 200, "%s/%s-%" PRIu64 "-%" PRIu64 "%s.ptx", c->opt->keep_dir, gen_kind_name(f->kind),
                     c->opt->seed, f->index, ending);
    const char *head = strchr(p->text, '\n');
    size_t line = head ? (size_t)(head - p->text) + 1 : 0;
    gen_text(&q, "%.*s// %s%s%s with %s\n", (int)line, p->text, fuzz_class_name(f->verdict.cls),
             f->verdict.detail[0] ? " " : "", f->verdict.detail, f->verdict.config);
    for (const char *t = f->verdict.text; *t;) {
        size_t len = strcspn(t, "\n");
        gen_text(&q, "// %.*s\n", (int)len, t);
        t += len + (t[len] == '\n');
    }
    gen_text(&q, "%s", p->text + line);
    bool good = n < 200 && file_write(path, q.text, q.size_bytes, &quiet);
    gen_program_free(&q);
    if (!good)
        path[0] = 0;
    return good;
}

static void report(Campaign *c, const FuzzFailure *f) {
    while (c->shared->nfailures - c->shared->nreported >= RING)
        usleep(10000);
    c->shared->ring[c->shared->nfailures % RING] = *f;
    c->shared->nfailures = c->shared->nfailures + 1;
}

/* Save, reduce, save again, report. `p` is reduced. */
static void keep_failure(Campaign *c, GenProgram *p, const FuzzConfig *config, FuzzFailure *f) {
    Shared *s = c->shared;
    s->counts[f->kind].failures++;
    if (c->opt->keep_dir)
        save(c, p, f, "", f->path);
    s->ring[s->nfailures % RING] = *f; /* for the parent, should reduction not survive */
    s->reducing = true;
    s->deadline = fuzz_now() + c->opt->reduce_seconds + 3 * PROGRAM_SECONDS;
    fuzz_reduce(p, config, &f->verdict, c->opt->reduce_seconds);
    f->statements = count_statements(p);
    if (c->opt->keep_dir)
        save(c, p, f, ".reduced", f->reduced_path);
    s->reducing = false;
    report(c, f);
}

/* ---- the child ---- */
static void one_program(Campaign *c, GenKind kind, uint64_t index) {
    FuzzConfig configs[FUZZ_NPOLICIES + 1];
    unsigned n = sample_configs(c, kind, index, configs), failed;
    FuzzCounts *counts = &c->shared->counts[kind];
    gen_program(kind, c->opt->seed, index, &c->forms, &c->program);
    FuzzVerdict v = fuzz_check_counted(&c->program, configs, n, &failed, counts);
    counts->programs++;
    counts->unsupported += v.cls == FUZZ_UNSUPPORTED;
    if (!fuzz_is_failure(v.cls))
        return;
    FuzzFailure f = {.kind = kind, .index = index, .verdict = v};
    FuzzConfig config = configs[failed];
    config.text = v.cls == FUZZ_TEXT;
    keep_failure(c, &c->program, &config, &f);
}

static void run_slots(Campaign *c, uint64_t first) {
    for (uint64_t slot = first; slot < c->nslots; slot++) {
        GenKind kind;
        uint64_t index;
        c->shared->slot = slot;
        c->shared->deadline = fuzz_now() + PROGRAM_SECONDS;
        double start = fuzz_now();
        if (slot_program(c, slot, &kind, &index))
            one_program(c, kind, index);
        c->shared->counts[kind].seconds += fuzz_now() - start;
        if (c->opt->max_failures && c->shared->nfailures >= c->opt->max_failures)
            break;
    }
}

static void become_child(void) {
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0) {
        dup2(null, STDERR_FILENO);
        close(null);
    }
    signal(SIGABRT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* not to outlive the parent */
}

/* ---- one program apart ---- */
static FuzzVerdict died(int status, bool hung, const char *config) {
    FuzzVerdict v = {.cls = hung ? FUZZ_HANG : FUZZ_CRASH};
    snprintf(v.config, sizeof v.config, "%s", config);
    if (hung)
        return v;
    if (WIFSIGNALED(status))
        snprintf(v.detail, sizeof v.detail, "signal %d", WTERMSIG(status));
    else
        snprintf(v.detail, sizeof v.detail, "status %d", WEXITSTATUS(status));
    snprintf(v.text, sizeof v.text, "the process ended with %s", v.detail);
    return v;
}

typedef struct {
    FuzzVerdict verdict;
    unsigned failed;
} Answer;

FuzzVerdict fuzz_check_apart(const GenProgram *p, const FuzzConfig *configs, unsigned n, unsigned *failed) {
    int fd[2], status = 0;
    Answer a = {.verdict = {.cls = FUZZ_HANG}};
    if (failed)
        *failed = 0;
    if (pipe(fd) != 0)
        return a.verdict;
    pid_t pid = fork();
    if (pid == 0) {
        become_child();
        a.verdict = fuzz_check(p, configs, n, &a.failed);
        _exit(write(fd[1], &a, sizeof a) == (ssize_t)sizeof a ? 0 : 1);
    }
    close(fd[1]);
    struct pollfd wait = {.fd = fd[0], .events = POLLIN};
    bool hung = pid > 0 && poll(&wait, 1, PROGRAM_SECONDS * 1000) == 0;
    if (hung)
        kill(pid, SIGKILL);
    bool got = !hung && read(fd[0], &a, sizeof a) == (ssize_t)sizeof a;
    close(fd[0]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    if (!got)
        return died(status, hung, "");
    if (failed)
        *failed = a.failed;
    return a.verdict;
}

/* ---- the parent ---- */
static void report_new(Campaign *c) {
    while (c->shared->nreported < c->shared->nfailures) {
        if (c->opt->on_failure)
            c->opt->on_failure(c->opt->user, &c->shared->ring[c->shared->nreported % RING]);
        c->shared->nreported = c->shared->nreported + 1;
    }
}

static bool write_state(const Campaign *c, uint64_t next, Diags *d) {
    GenProgram t = {0};
    if (!c->opt->state_file)
        return true;
    gen_text(&t, "heddle fuzz seed %" PRIu64 " first %" PRIu64 " kinds", c->opt->seed, c->opt->first);
    for (unsigned k = 0; k < c->nkinds; k++)
        gen_text(&t, " %s", gen_kind_name(c->kinds[k]));
    gen_text(&t, "\nnext %" PRIu64 "\n", next);
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        const FuzzCounts *n = &c->shared->counts[k];
        gen_text(&t, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %f\n", n->programs,
                 n->unsupported, n->failures, n->runs, n->ptx_insns, n->machine_issues, n->seconds);
    }
    bool good = file_write(c->opt->state_file, t.text, t.size_bytes, d);
    gen_program_free(&t);
    return good;
}

static bool read_state(Campaign *c, uint64_t *next, Diags *d) {
    Arena a = {0};
    char *text, expected[256];
    size_t size, at = 0;
    *next = 0;
    if (!c->opt->state_file || access(c->opt->state_file, F_OK) != 0)
        return true;
    if (!file_read(&a, c->opt->state_file, d, &text, &size))
        return false;
    at = (size_t)snprintf(expected, sizeof expected, "heddle fuzz seed %" PRIu64 " first %" PRIu64 " kinds", c->opt->seed,
                          c->opt->first);
    for (unsigned k = 0; k < c->nkinds; k++)
        at += (size_t)snprintf(expected + at, sizeof expected - at, " %s", gen_kind_name(c->kinds[k]));
    int used = 0;
    bool good = strncmp(text, expected, at) == 0 && sscanf(text + at, "\nnext %" SCNu64 "%n", next, &used) == 1;
    const char *p = text + at + used;
    for (unsigned k = 0; good && k < GEN_KINDS; k++, p += used) {
        FuzzCounts *n = &c->shared->counts[k];
        good = sscanf(p, "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%lf%n", &n->programs,
                      &n->unsupported, &n->failures, &n->runs, &n->ptx_insns, &n->machine_issues, &n->seconds, &used) == 7;
    }
    arena_free(&a);
    return good || diag(d, (SrcLoc){0}, DIAG_E0412, c->opt->state_file, "the state of another campaign, or none");
}

static void progress(const Campaign *c, double start, uint64_t first) {
    GenKind kind;
    uint64_t index, failures = 0;
    if (!c->opt->on_progress)
        return;
    slot_program(c, c->shared->slot, &kind, &index);
    for (unsigned k = 0; k < GEN_KINDS; k++)
        failures += c->shared->counts[k].failures;
    double seconds = fuzz_now() - start;
    c->opt->on_progress(c->opt->user, kind, c->shared->slot, c->nslots,
                        seconds > 0 ? (double)(c->shared->slot - first) / seconds : 0, failures);
}

/* The child died while it ran a program: that is a failure, found again and reduced here. */
static void after_death(Campaign *c, int status, bool hung) {
    FuzzConfig configs[FUZZ_NPOLICIES + 1];
    FuzzFailure f = {.verdict = died(status, hung, "")};
    Shared *s = c->shared;
    if (s->reducing) { /* saved, not reduced */
        s->reducing = false;
        s->nfailures = s->nfailures + 1;
        return;
    }
    if (!slot_program(c, s->slot, &f.kind, &f.index))
        return;
    s->counts[f.kind].programs++;
    unsigned n = sample_configs(c, f.kind, f.index, configs), k = 0;
    gen_program(f.kind, c->opt->seed, f.index, &c->forms, &c->program);
    for (; k < n; k++) { /* which of them? */
        FuzzVerdict v = fuzz_check_apart(&c->program, &configs[k], 1, NULL);
        if (v.cls == FUZZ_CRASH || v.cls == FUZZ_HANG) {
            f.verdict = v;
            break;
        }
    }
    k = k < n ? k : 0;
    snprintf(f.verdict.config, sizeof f.verdict.config, "-O%u reg-limit=%u, policy %u of %u", configs[k].opt_level,
             configs[k].reg_limit, k, n);
    keep_failure(c, &c->program, &configs[k], &f);
}

/* Fork a child for the slots from `first` on; the first slot that is not done. */
static uint64_t run_child(Campaign *c, uint64_t first, double start, uint64_t origin, Diags *d) {
    Shared *s = c->shared;
    int status = 0;
    s->slot = first;
    s->deadline = fuzz_now() + PROGRAM_SECONDS;
    pid_t pid = fork();
    if (pid == 0) {
        become_child();
        run_slots(c, first);
        _exit(0);
    }
    if (pid < 0)
        return c->nslots;
    double last = 0;
    bool hung = false;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        usleep(20000);
        report_new(c);
        if (fuzz_now() - last > 0.5) {
            progress(c, start, origin);
            write_state(c, s->slot, d);
            last = fuzz_now();
        }
        if (!hung && fuzz_now() > s->deadline) {
            hung = true;
            kill(pid, SIGKILL);
        }
    }
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!ended)
        after_death(c, status, hung);
    report_new(c);
    bool enough = c->opt->max_failures && s->nfailures >= c->opt->max_failures;
    return ended || enough ? c->nslots : s->slot + 1;
}

bool fuzz_campaign(const FuzzOptions *opt, FuzzReport *r, Diags *d) {
    Campaign c = {.opt = opt, .forms = {.usable = fuzz_usable, .user = (void *)(uintptr_t)opt->target}};
    *r = (FuzzReport){0};
    for (unsigned k = 0; k < GEN_KINDS; k++)
        if (opt->kinds[k])
            c.kinds[c.nkinds++] = (GenKind)k;
    if (!c.nkinds)
        return diag(d, (SrcLoc){0}, DIAG_E0502, "no kind of program was chosen");
    c.nslots = (opt->count + SLICE - 1) / SLICE * SLICE * c.nkinds;
    c.shared = mmap(NULL, sizeof *c.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c.shared == MAP_FAILED)
        return diag(d, (SrcLoc){0}, DIAG_E0502, strerror(errno));
    uint64_t next;
    bool good = read_state(&c, &next, d);
    double start = fuzz_now();
    for (uint64_t origin = next; good && next < c.nslots;)
        next = run_child(&c, next, start, origin, d);
    if (good)
        good = write_state(&c, c.nslots, d);
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        r->kind[k] = c.shared->counts[k];
        r->failures += r->kind[k].failures;
    }
    munmap(c.shared, sizeof *c.shared);
    gen_forms_free(&c.forms);
    gen_program_free(&c.program);
    return good;
}
