/* Campaigns: many programs in child processes, so that a crash or a hang costs one program. Each child shares
 * a page of counters with the parent. See fuzz.h.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "base/file.h"
#include "base/clock.h"
#include "check/fuzz/internal.h"
#include <assert.h>
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

enum { FUZZ_NCOUNTERS = sizeof(FuzzCounts) / sizeof(uint64_t) };
enum {
    SLICE = 64,
    RING = 32,
    REDUCE_ALIKE = 4,
    PROGRAM_SECONDS = 30 /* of a processor */,
    POLL_MS = 200,
    MAX_JOBS = 64
};

/* Of one child: written by it, read by the parent. */
typedef struct {
    volatile uint64_t slot;      /* being run; the first that is not done, when the child has ended */
    volatile double deadline;    /* the child is hanging when it has used so many CPU seconds */
    volatile unsigned nfailures; /* in the ring since the start; each entry is complete when counted */
    volatile unsigned nreported; /* by the parent */
    volatile bool reducing;
    FuzzCounts counts[GEN_KINDS];
    FuzzFailure ring[RING];
} Shared;

typedef struct {
    pid_t pid; /* 0: has ended */
    bool hung;
} Worker;

typedef struct {
    const FuzzOptions *opt;
    Shared *all;    /* [njobs] */
    Shared *shared; /* in a child: its own */
    Worker workers[MAX_JOBS];
    unsigned njobs, job;
    GenForms forms;
    GenKind kinds[GEN_KINDS];
    unsigned nkinds;
    uint64_t nslots;
    GenProgram program;
} Campaign;

static uint64_t failures_so_far(const Campaign *campaign) {
    uint64_t n = 0;
    for (unsigned j = 0; j < campaign->njobs; j++)
        n += campaign->all[j].nfailures;
    return n;
}

static bool enough(const Campaign *campaign) {
    return campaign->opt->max_failures && failures_so_far(campaign) >= campaign->opt->max_failures;
}

/* ---- which program and how ---- */
/* Kinds take turns, a slice each, and jobs take slices in turn. False: this slot is empty, or another job's.
 */
static bool slot_program(const Campaign *campaign, uint64_t slot, GenKind *kind, uint64_t *index) {
    uint64_t slice = slot / SLICE;
    *kind = campaign->kinds[slice % campaign->nkinds];
    *index = slice / campaign->nkinds * SLICE + slot % SLICE;
    bool used = *index < campaign->opt->count && slice / campaign->nkinds % campaign->njobs == campaign->job;
    *index += campaign->opt->first;
    return used;
}

/* 1 in n of the programs, decided by other bits of the hash than before. */
static bool one_in(uint64_t *h, unsigned n) {
    *h = rng_mix(*h + 1);
    return *h % n == 0;
}

static FuzzConfig sample_config(const Campaign *campaign, uint64_t h) {
    static const unsigned limits[] = {24, 28, 32, 40};
    FuzzConfig f = {.target = campaign->opt->target,
                    .opt_level = campaign->opt->opt_level >= 0 ? (unsigned)campaign->opt->opt_level
                                                               : (unsigned)(h & 3)};
    if (one_in(&h, 3))
        f.reg_limit = limits[h >> 32 & 3];
    if (one_in(&h, 2))
        f.reconverge = (ReconvMode)((h >> 32) % RECONV_COUNT);
    f.predicate = one_in(&h, 2) ? PREDICATE_AUTO : h >> 32 & 1 ? PREDICATE_MAX : PREDICATE_OFF;
    if (!one_in(&h, 3))
        f.reconv_opts = RO_GIVEN | (unsigned)(h >> 32 & (RO_MELD | RO_SPECULATE | RO_GATHER_ROUNDS));
    f.yield_breaks = one_in(&h, 6);
    f.verify = one_in(&h, 16);
    f.text = one_in(&h, 64);
    f.ptx_seed = one_in(&h, 2) ? h >> 20 : 0;
    f.check = one_in(&h, 4);
    f.check_only = campaign->opt->check_only;
    f.engine = campaign->opt->engine;
    f.jit_after = campaign->opt->jit_after;
    f.jit_quick = !one_in(&h, 24);
    f.jit_cache = campaign->opt->jit_cache;
    if (f.engine && one_in(&h, 2))
        *(h >> 32 & 1 ? &f.cut_budget : &f.cut_memory) = 1 + (unsigned)(h >> 40) % 999;
    f.machine.host_level = campaign->opt->host_level;
    return f;
}

/* The n-th policy of a program; h: its hash. */
static unsigned policy_number(FuzzPolicies policies, uint64_t index, unsigned n, uint64_t h) {
    switch (policies) {
    case FUZZ_POLICIES_SAMPLED: return (unsigned)((FUZZ_SAMPLED * index + n) % FUZZ_NPOLICIES);
    case FUZZ_POLICIES_LITERAL: return FUZZ_NPOLICIES + n;
    case FUZZ_POLICIES_ONE: return (unsigned)(rng_mix(h) % FUZZ_NPOLICIES);
    default: return n;
    }
}

static unsigned sample_configs(const Campaign *campaign, GenKind kind, uint64_t index,
                               FuzzConfig out[FUZZ_MAX_CONFIGS]) {
    static const unsigned number[] = {[FUZZ_POLICIES_SAMPLED] = FUZZ_SAMPLED,
                                      [FUZZ_POLICIES_ALL] = FUZZ_NPOLICIES,
                                      [FUZZ_POLICIES_DEFAULT] = 1,
                                      [FUZZ_POLICIES_LITERAL] = FUZZ_NLITERAL,
                                      [FUZZ_POLICIES_ONE] = 1};
    uint64_t h = rng_mix(rng_mix(campaign->opt->seed + 77) + index * GEN_KINDS + kind);
    FuzzConfig base = sample_config(campaign, h);
    unsigned n = 0, policies = number[campaign->opt->policies];
    for (; n < policies; n++) {
        unsigned k = policy_number(campaign->opt->policies, index, n, h);
        out[n] = base;
        fuzz_policy(k, &out[n].machine);
        out[n].machine.seed = h >> 30;
    }
    if (one_in(&h, 8)) {
        out[n] = base;
        out[n++].machine.check_control = true;
    }
    if (one_in(&h, 8)) {
        out[n] = base;
        fuzz_policy((unsigned)(h >> 32) % FUZZ_NPOLICIES, &out[n].machine);
        out[n++].traces = true;
    }
    return n;
}

/* ---- saving ---- */
static uint32_t count_statements(const GenProgram *program) {
    uint32_t n = 0;
    for (const char *s = program->text; s && *s; s++)
        n += *s == ';';
    return n;
}

static bool save(const Campaign *campaign, const GenProgram *program, const FuzzFailure *failure,
                 const char *ending, char path[200]) {
    GenProgram q = {0};
    Diags quiet = {0};
    int n = snprintf(path, 200, "%s/%s-%" PRIu64 "-%" PRIu64 "%s.ptx", campaign->opt->keep_dir,
                     gen_kind_name(failure->kind), campaign->opt->seed, failure->index, ending);
    const char *head = strchr(program->text, '\n');
    size_t line = head ? (size_t)(head - program->text) + 1 : 0;
    gen_text(&q, "%.*s// %s%s%s with %s\n", (int)line, program->text, fuzz_class_name(failure->verdict.cls),
             failure->verdict.detail[0] ? " " : "", failure->verdict.detail, failure->verdict.config);
    for (const char *t = failure->verdict.text; *t;) {
        size_t len = strcspn(t, "\n");
        gen_text(&q, "// %.*s\n", (int)len, t);
        t += len + (t[len] == '\n');
    }
    gen_text(&q, "%s", program->text + line);
    bool good = n < 200 && file_write(path, q.text, q.size_bytes, &quiet);
    gen_program_free(&q);
    if (!good)
        path[0] = 0;
    return good;
}

static void tell_parent(Campaign *campaign, const FuzzFailure *f) {
    while (campaign->shared->nfailures - campaign->shared->nreported >= RING)
        usleep(10000);
    campaign->shared->ring[campaign->shared->nfailures % RING] = *f;
    campaign->shared->nfailures = campaign->shared->nfailures + 1;
}

/* Failures like it among the latest. */
static unsigned failed_before(const Shared *shared, const FuzzVerdict *fuzz_verdict) {
    unsigned n = 0;
    for (unsigned k = 0; k < shared->nfailures && k < RING; k++)
        n += shared->ring[k].verdict.cls == fuzz_verdict->cls &&
             strcmp(shared->ring[k].verdict.detail, fuzz_verdict->detail) == 0;
    return n;
}

/* Save, reduce unless there were several like it, save again, report; or only report. `p` is reduced. */
static void keep_failure(Campaign *campaign, GenProgram *p, const FuzzConfig *config, FuzzFailure *failure) {
    Shared *s = campaign->shared;
    s->counts[failure->kind].failures++;
    if (campaign->opt->keep_dir)
        save(campaign, p, failure, "", failure->path);
    if (!campaign->opt->keep_dir || failed_before(s, &failure->verdict) >= REDUCE_ALIKE) {
        tell_parent(campaign, failure);
        return;
    }
    s->ring[s->nfailures % RING] = *failure; /* for the parent, should reduction not survive */
    s->reducing = true;
    s->deadline = clock_cpu_seconds_of(0) + campaign->opt->reduce_seconds + 3 * PROGRAM_SECONDS;
    fuzz_reduce(p, config, &failure->verdict, campaign->opt->reduce_seconds);
    failure->statements = count_statements(p);
    save(campaign, p, failure, ".reduced", failure->reduced_path);
    s->reducing = false;
    tell_parent(campaign, failure);
}

/* ---- the child ---- */
static void one_program(Campaign *campaign, GenKind kind, uint64_t index) {
    FuzzConfig configs[FUZZ_MAX_CONFIGS];
    unsigned n = sample_configs(campaign, kind, index, configs), failed;
    FuzzCounts *counts = &campaign->shared->counts[kind];
    gen_program(kind, campaign->opt->seed, index, &campaign->forms, &campaign->program);
    FuzzVerdict v = fuzz_check_counted(&campaign->program, configs, n, &failed, counts);
    if (campaign->opt->metrics && campaign->program.graph.measured && v.cls == FUZZ_EQUAL) {
        v = fuzz_measure(&campaign->program, campaign->opt->target, counts);
        failed = 0;
    }
    counts->programs++;
    counts->unsupported += v.cls == FUZZ_UNSUPPORTED;
    if (!fuzz_is_failure(v.cls))
        return;
    FuzzFailure f = {.kind = kind, .index = index, .verdict = v};
    FuzzConfig config = configs[failed];
    config.text = v.cls == FUZZ_TEXT;
    config.check = v.cls == FUZZ_STATIC;
    keep_failure(campaign, &campaign->program, &config, &f);
}

static void run_slots(Campaign *campaign, uint64_t first) {
    for (uint64_t slot = first; slot < campaign->nslots && !enough(campaign); slot++) {
        GenKind kind;
        uint64_t index;
        campaign->shared->slot = slot;
        if (!slot_program(campaign, slot, &kind, &index))
            continue;
        double start = clock_cpu_seconds_of(0);
        campaign->shared->deadline = start + (double)PROGRAM_SECONDS;
        one_program(campaign, kind, index);
        campaign->shared->counts[kind].cpu_us += (uint64_t)(1e6 * (clock_cpu_seconds_of(0) - start));
        campaign->shared->slot = slot + 1;
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
    bool hung = false;
    while (pid > 0 && !hung && poll(&wait, 1, POLL_MS) == 0)
        hung = clock_cpu_seconds_of(pid) > (double)PROGRAM_SECONDS;
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

/* ---- the state of a campaign, to go on from ---- */

/* All that decides what the programs are and what is done with them. */
static void name_campaign(const Campaign *campaign, GenProgram *out) {
    const FuzzOptions *opt = campaign->opt;
    gen_text(out, "heddle fuzz 6 seed %" PRIu64 " first %" PRIu64 " target %s level %d policies %d",
             opt->seed, opt->first, opt->target ? isa_target_name(opt->target) : "default", opt->opt_level,
             (int)opt->policies);
    gen_text(out, " check-only %d engine %d jit-after %u on-disk %d metrics %d kinds", opt->check_only,
             (int)opt->engine, opt->jit_after, opt->jit_cache != NULL, opt->metrics);
    for (unsigned k = 0; k < campaign->nkinds; k++)
        gen_text(out, " %s", gen_kind_name(campaign->kinds[k]));
    gen_text(out, "\njobs");
}

static bool write_state(const Campaign *campaign, Diags *d) {
    GenProgram t = {0};
    if (!campaign->opt->state_file)
        return true;
    name_campaign(campaign, &t);
    gen_text(&t, " %u\n", campaign->njobs);
    for (unsigned j = 0; j < campaign->njobs; j++) {
        const uint64_t *n = (const uint64_t *)(const void *)campaign->all[j].counts;
        gen_text(&t, "%" PRIu64, campaign->all[j].slot);
        for (size_t i = 0; i < GEN_KINDS * FUZZ_NCOUNTERS; i++)
            gen_text(&t, " %" PRIu64, n[i]);
        gen_text(&t, "\n");
    }
    bool good = file_write(campaign->opt->state_file, t.text, t.size_bytes, d);
    gen_program_free(&t);
    return good;
}

static bool parse_state(Campaign *campaign, const char *text) {
    GenProgram expected = {0};
    name_campaign(campaign, &expected);
    size_t at = expected.size_bytes;
    bool same = strncmp(text, expected.text, at) == 0;
    gen_program_free(&expected);
    int used = 0;
    if (!same || sscanf(text + at, " %u%n", &campaign->njobs, &used) != 1 || !campaign->njobs ||
        campaign->njobs > MAX_JOBS)
        return false;
    char *p = (char *)(uintptr_t)text + at + used;
    for (unsigned j = 0; j < campaign->njobs; j++) {
        uint64_t *n = (uint64_t *)(void *)campaign->all[j].counts;
        campaign->all[j].slot = strtoull(p, &p, 10);
        for (size_t i = 0; i < GEN_KINDS * FUZZ_NCOUNTERS; i++) {
            char *end;
            n[i] = strtoull(p, &end, 10);
            if (end == p)
                return false;
            p = end;
        }
    }
    return true;
}

/* Jobs are those of the state, since they share the slices. */
static bool read_state(Campaign *campaign, Diags *d) {
    Arena a = {0};
    char *text;
    size_t size;
    if (!campaign->opt->state_file || access(campaign->opt->state_file, F_OK) != 0)
        return true;
    if (!file_read(&a, campaign->opt->state_file, d, &text, &size))
        return false;
    bool good = parse_state(campaign, text);
    arena_free(&a);
    return good || diag(d, (SrcLoc){0}, DIAG_E0412, campaign->opt->state_file,
                        "the state of another campaign, or none");
}

/* ---- the parent ---- */
static void report_new(Campaign *campaign, Shared *shared) {
    while (shared->nreported < shared->nfailures) {
        if (campaign->opt->on_failure)
            campaign->opt->on_failure(campaign->opt->user, &shared->ring[shared->nreported % RING]);
        shared->nreported = shared->nreported + 1;
    }
}

static uint64_t programs_done(const Campaign *campaign) {
    uint64_t n = 0;
    for (unsigned j = 0; j < campaign->njobs; j++)
        for (unsigned k = 0; k < GEN_KINDS; k++)
            n += campaign->all[j].counts[k].programs;
    return n;
}

static void progress(const Campaign *campaign, double start, uint64_t at_start) {
    uint64_t done = programs_done(campaign);
    double seconds = clock_seconds() - start;
    if (!campaign->opt->on_progress)
        return;
    GenKind kind = campaign->kinds[campaign->all[0].slot / SLICE % campaign->nkinds];
    campaign->opt->on_progress(campaign->opt->user, kind, done, campaign->opt->count * campaign->nkinds,
                               seconds > 0 ? (double)(done - at_start) / seconds : 0,
                               failures_so_far(campaign));
}

/* A child died while it ran a program: that is a failure, found again and reduced here. */
static void after_death(Campaign *campaign, unsigned job, int status) {
    FuzzConfig configs[FUZZ_MAX_CONFIGS];
    FuzzFailure f = {.verdict = died(status, campaign->workers[job].hung, "")};
    Shared *s = campaign->shared = &campaign->all[job];
    campaign->job = job;
    if (s->reducing) { /* saved, not reduced */
        s->reducing = false;
        s->nfailures = s->nfailures + 1;
        return;
    }
    if (!slot_program(campaign, s->slot, &f.kind, &f.index))
        return;
    s->counts[f.kind].programs++;
    unsigned n = sample_configs(campaign, f.kind, f.index, configs), k = 0;
    gen_program(f.kind, campaign->opt->seed, f.index, &campaign->forms, &campaign->program);
    for (; k < n; k++) { /* which of them? */
        FuzzVerdict v = fuzz_check_apart(&campaign->program, &configs[k], 1, NULL);
        if (v.cls == FUZZ_CRASH || v.cls == FUZZ_HANG) {
            f.verdict = v;
            break;
        }
    }
    k = k < n ? k : 0;
    fuzz_describe_config(&configs[k], f.verdict.config, sizeof f.verdict.config);
    keep_failure(campaign, &campaign->program, &configs[k], &f);
}

static bool start_worker(Campaign *campaign, unsigned job) {
    Worker *worker = &campaign->workers[job];
    worker->hung = false;
    campaign->all[job].deadline = PROGRAM_SECONDS; /* of the time that the new process uses */
    worker->pid = fork();
    if (worker->pid == 0) {
        become_child();
        campaign->job = job;
        campaign->shared = &campaign->all[job];
        run_slots(campaign, campaign->shared->slot);
        _exit(0);
    }
    if (worker->pid < 0)
        worker->pid = 0;
    return worker->pid != 0;
}

/* True while it runs. One that died goes on behind the program that it died of. */
static bool watch_worker(Campaign *campaign, unsigned job) {
    Worker *worker = &campaign->workers[job];
    Shared *shared = &campaign->all[job];
    int status = 0;
    report_new(campaign, shared);
    if (worker->pid && waitpid(worker->pid, &status, WNOHANG) == 0) {
        if (!worker->hung && clock_cpu_seconds_of(worker->pid) > shared->deadline) {
            worker->hung = true;
            kill(worker->pid, SIGKILL);
        }
        return true;
    }
    if (!worker->pid)
        return false;
    worker->pid = 0;
    if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
        after_death(campaign, job, status);
        shared->slot = shared->slot + 1;
        report_new(campaign, shared);
        return shared->slot < campaign->nslots && !enough(campaign) && start_worker(campaign, job);
    }
    report_new(campaign, shared);
    return false;
}

static bool run_jobs(Campaign *campaign, Diags *d) {
    double start = clock_seconds(), last = 0;
    uint64_t at_start = programs_done(campaign);
    bool running = true, good = true;
    fflush(NULL);
    for (unsigned j = 0; j < campaign->njobs; j++)
        if (campaign->all[j].slot < campaign->nslots && !start_worker(campaign, j))
            good = diag(d, (SrcLoc){0}, DIAG_E0502, strerror(errno));
    while (running) {
        running = false;
        for (unsigned j = 0; j < campaign->njobs; j++)
            running |= watch_worker(campaign, j);
        if (clock_seconds() - last > 0.5) {
            progress(campaign, start, at_start);
            write_state(campaign, d);
            last = clock_seconds();
        }
        if (running)
            usleep(10000);
    }
    return good && write_state(campaign, d);
}

static void add_counts(FuzzCounts *to, const FuzzCounts *from) {
    uint64_t *x = (uint64_t *)(void *)to;
    const uint64_t *y = (const uint64_t *)(const void *)from;
    for (size_t i = 0; i < FUZZ_NCOUNTERS; i++)
        x[i] += y[i];
}

static unsigned choose_jobs(const FuzzOptions *opt) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned n = opt->jobs ? opt->jobs : cores > 0 ? (unsigned)cores : 1;
    uint64_t slices = (opt->count + SLICE - 1) / SLICE; /* more jobs than slices have nothing to do */
    n = n < slices ? n : (unsigned)slices;
    return n < 1 ? 1 : n > MAX_JOBS ? MAX_JOBS : n;
}

/* PTX of a higher .target is not compiled for a machine (E0710). 0: the machine is none of NVIDIA's. */
static unsigned ptx_sm_of(const Target *target) {
    unsigned sm = 0;
    return target && sscanf(isa_target_name(target), "sm_%u", &sm) == 1 ? sm : 0;
}

bool fuzz_campaign(const FuzzOptions *opt, FuzzReport *report, Diags *d) {
    static_assert(sizeof(FuzzCounts) % sizeof(uint64_t) == 0, "counters only");
    Campaign c = {.opt = opt,
                  .njobs = choose_jobs(opt),
                  .forms = {.usable = fuzz_usable,
                            .user = (void *)(uintptr_t)opt->target,
                            .sm = ptx_sm_of(opt->target)}};
    double start = clock_seconds();
    *report = (FuzzReport){0};
    for (unsigned k = 0; k < GEN_KINDS; k++)
        if (opt->kinds[k])
            c.kinds[c.nkinds++] = (GenKind)k;
    if (!c.nkinds)
        return diag(d, (SrcLoc){0}, DIAG_E0502, "no kind of program was chosen");
    c.nslots = (opt->count + SLICE - 1) / SLICE * SLICE * c.nkinds;
    size_t bytes = MAX_JOBS * sizeof *c.all; /* of which the jobs that there are touch theirs */
    c.all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c.all == MAP_FAILED)
        return diag(d, (SrcLoc){0}, DIAG_E0502, strerror(errno));
    bool good = read_state(&c, d) && run_jobs(&c, d);
    for (unsigned j = 0; j < c.njobs; j++)
        for (unsigned k = 0; k < GEN_KINDS; k++) {
            add_counts(&report->kind[k], &c.all[j].counts[k]);
            report->failures += c.all[j].counts[k].failures;
        }
    report->jobs = c.njobs;
    report->seconds = clock_seconds() - start;
    munmap(c.all, bytes);
    gen_forms_free(&c.forms);
    gen_program_free(&c.program);
    return good;
}
