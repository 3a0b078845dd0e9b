/* Progress litmus: programs in which threads wait for each other. Every one ends under a fair scheduler, so
 * each must end with the right memory on the PTX reference interpreter, and after lowering on the machine
 * under every policy, with its roles dealt to threads in every order. Expected memory comes from formulas
 * here.
 *
 * A thread finds its role in a table in memory, so one program serves all orders. Layouts: neighbouring lanes
 * of a warp, lanes far apart, one warp each, two warps, one block each. Memory: words 0..63, see the .ptx
 * files.
 *
 * With YIELD and NANOSLEEP made no-operations, a run must still end well or be proved endless; the
 * instruction budget is never the judge.
 *
 * The policy bsync-nb=literal hangs on locks inside an if. Compiled so that lanes leave all convergence
 * barriers before they yield (compile --yield=break), they must not hang under it either.
 *
 * usage: litmus DIRECTORY [plain|break|mute|max [EVERY [NAME]]]
 *   EVERY  each order of roles meets every so many-th policy, the next order the next ones (1: all)
 * SPDX-License-Identifier: MIT */
#include "check/validate/compare/diff.h"
#include "emit/code.h"
#include "lower/lower.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64, RESULT = 32, OWN = 8, MAX_ROLES = 4, NOBODY = 255, MAX_THREADS = 160 };
enum { PTX_BUDGET = 4000000, MACHINE_BUDGET = 1000000 };

/* ---- programs ---- */
enum { ONE_BLOCK = 1, NEEDS_YIELD = 2 };
typedef void ExpectFn(uint32_t *m,
                      uint32_t n); /* m is zeroed; words that may hold anything are not compared */

static uint32_t triangle(uint32_t n) { return n * (n + 1) / 2; }
static void results(uint32_t *m, uint32_t n) {
    for (uint32_t r = 0; r < n; r++)
        m[RESULT + r] = r + 1;
}
static void expect_all(uint32_t *m, uint32_t n) { /* everybody was in the critical section once */
    m[1] = triangle(n), m[3] = n;
    results(m, n);
}
static void expect_but_first(uint32_t *m, uint32_t n) {
    m[1] = triangle(n) - 1, m[3] = n - 1;
    results(m, n);
}
static void expect_even(uint32_t *m, uint32_t n) {
    for (uint32_t r = 0; r < n; r += 2)
        m[1] += r + 1, m[3]++;
    results(m, n);
}
static void expect_ticket(uint32_t *m, uint32_t n) {
    expect_all(m, n);
    m[0] = m[2] = n;
}
static void expect_ring(uint32_t *m, uint32_t n) {
    for (uint32_t turn = 0; turn < 3 * n; turn++)
        m[1] = m[1] * 3 + turn % n + 1;
    m[2] = 3 * n;
    results(m, n);
}
static void expect_producer(uint32_t *m, uint32_t n) {
    m[1] = 3, m[2] = 3 * (n - 1), m[3] = 30;
    for (uint32_t r = 1; r < n; r++)
        m[RESULT + r] = 10 + 20 + 30;
}
static void expect_consumer(uint32_t *m, uint32_t n) {
    for (uint32_t r = 1; r < n; r++)
        m[OWN + r] = 100 * (r + 1), m[1] += 100 * (r + 1);
    for (uint32_t r = 0; r < n; r++)
        m[RESULT + r] = m[1];
}
static void expect_barrier(uint32_t *m, uint32_t n) {
    m[0] = 2 * n;
    for (uint32_t r = 0; r < n; r++) {
        uint32_t right = (r + 1) % n;
        m[OWN + r] = 16 + r, m[16 + r] = 32 + r;
        m[RESULT + r] = (16 + right) * 256 + 32 + right;
    }
}
static void expect_flag(uint32_t *m, uint32_t n) {
    m[1] = 9;
    for (uint32_t r = 0; r < n; r++)
        m[RESULT + r] = 9 + r;
}
static void expect_exit(uint32_t *m, uint32_t n) {
    m[1] = 5;
    for (uint32_t r = 1; r < n; r++)
        m[RESULT + r] = 5 + r;
}
static void expect_chain(uint32_t *m, uint32_t n) {
    uint32_t a = 1;
    for (uint32_t r = 0; r < n; r++) {
        a = 2 * a + r;
        m[OWN + r] = m[RESULT + r] = a;
    }
}
static void expect_two_rounds(uint32_t *m, uint32_t n) {
    m[1] = 2 * triangle(n), m[3] = 2 * n;
    results(m, n);
}
static void expect_peterson(uint32_t *m, uint32_t n) {
    m[1] = 3 * (1 + 2), m[3] = 6;
    results(m, n);
}
static void expect_rounds(uint32_t *m, uint32_t n) {
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t r = 0; r < n; r++)
            if (!((i ^ r) & 1))
                m[1] += r + 1, m[3]++;
    results(m, n);
}
static void expect_sequence(uint32_t *m, uint32_t n) {
    m[0] = 2, m[1] = 21, m[3] = 42;
    for (uint32_t r = 0; r < n; r++)
        m[RESULT + r] = 63;
}
static void expect_shared(uint32_t *m, uint32_t n) {
    m[1] = triangle(n);
    results(m, n);
}

typedef struct {
    const char *name;
    ExpectFn *expect;
    unsigned flags; /* NEEDS_YIELD: without it some run is proved endless */
} Program;
static const Program programs[] = {
    {"lock_outside", expect_all, NEEDS_YIELD},
    {"lock_inside", expect_but_first, NEEDS_YIELD},
    {"lock_rejoin", expect_even, NEEDS_YIELD},
    {"try_lock", expect_all, 0},
    {"ticket", expect_ticket, NEEDS_YIELD},
    {"ring", expect_ring, NEEDS_YIELD},
    {"producer", expect_producer, NEEDS_YIELD},
    {"consumer", expect_consumer, NEEDS_YIELD},
    {"barrier_atomic", expect_barrier, 0},
    {"backoff", expect_but_first, NEEDS_YIELD},
    {"flag_volatile", expect_flag, NEEDS_YIELD},
    {"flag_swapped", expect_flag, NEEDS_YIELD},
    {"flag_exit", expect_exit, 0},
    {"chain", expect_chain, NEEDS_YIELD},
    {"two_locks", expect_two_rounds, NEEDS_YIELD},
    {"peterson", expect_peterson, NEEDS_YIELD},
    {"lock_call", expect_but_first, NEEDS_YIELD},
    {"lock_rounds", expect_rounds, NEEDS_YIELD},
    {"reader_writer", expect_sequence, NEEDS_YIELD},
    {"lock_shared", expect_shared, NEEDS_YIELD | ONE_BLOCK},
};
enum { NPROGRAMS = sizeof programs / sizeof *programs };

/* ---- layouts ---- */
typedef struct {
    const char *name;
    uint32_t blocks, threads;
    uint32_t place[MAX_ROLES]; /* global thread numbers */
    unsigned max_roles;        /* how many are dealt in all orders */
} Layout;
static const Layout layouts[] = {
    {"lanes", 1, 4, {0, 1, 2, 3}, 4},      {"far lanes", 1, 32, {3, 9, 17, 31}, 4},
    {"warps", 1, 128, {0, 32, 64, 96}, 3}, {"two warps", 1, 40, {4, 34, 7, 39}, 3},
    {"blocks", 4, 1, {0, 1, 2, 3}, 3},     {"two blocks", 2, 4, {1, 6, 2, 4}, 3},
};
enum { NLAYOUTS = sizeof layouts / sizeof *layouts };

/* ---- policies ---- */
enum { NPOLICIES = 64 };
static MachineOptions policy(unsigned i, bool literal) {
    return (MachineOptions){.bsync_nb = literal ? MACHINE_NB_LITERAL
                                        : i & 1 ? MACHINE_NB_BLOCKED
                                                : MACHINE_NB_RELEASE,
                            .branch_order = (MachineBranchOrder)(i >> 1 & 1),
                            .join_scope = (MachineJoinScope)(i >> 2 & 1),
                            .lane_choice = (MachineLaneChoice)(i >> 3 & 3),
                            .bssy = i >> 5 ? MACHINE_BSSY_ASSIGN : MACHINE_BSSY_OR,
                            .seed = i,
                            .max_issues = MACHINE_BUDGET};
}
static const char *policy_text(unsigned i, bool literal, char out[80]) {
    static const char *const lanes[] = {"lowest", "highest", "rotate", "random"};
    snprintf(out, 80, "%s, %s first, join %s, %s lane, BSSY %s",
             literal ? "literal"
             : i & 1 ? "blocked"
                     : "release",
             i >> 1 & 1 ? "taken" : "fall-through", i >> 2 & 1 ? "candidates" : "all", lanes[i >> 3 & 3],
             i >> 5 ? "assigns" : "adds");
    return out;
}

/* ---- one program ---- */
typedef struct {
    const Program *program;
    char *text;
    PtxModule *m;
    StrTab strings;
    IrModule *ir;
    CodeModule *code;
    void *image;
    Binary *binary; /* as compiled */
    Binary mute;    /* the same without YIELD and NANOSLEEP */
    uint64_t (*mute_code)[2];
    unsigned level;
    bool yield_break;
} Case;
typedef struct {
    uint64_t interp_runs, runs, failures, mute_runs, mute_ended, mute_proved, literal_runs, literal_hangs;
} Counts;

static void sink(void *user, Severity severity, const char *line) {
    (void)user;
    if (severity == SEV_ERROR && !strstr(line, "E0551"))
        fprintf(stderr, "%s\n", line);
}
static Diags diags(void) { return (Diags){.sink = sink}; }

static char *read_file(const char *dir, const char *name, size_t *size) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.ptx", dir, name);
    FILE *f = fopen(path, "rb");
    char *text = malloc(1 << 16);
    if (!f || !text) {
        fprintf(stderr, "%s: cannot read\n", path);
        exit(1);
    }
    *size = fread(text, 1, (1 << 16) - 1, f);
    text[*size] = 0;
    fclose(f);
    return text;
}

static bool make_mute(Case *c) {
    const Binary *b = c->binary;
    MachInst nop = {.optype = OT_NOP, .guard = op_pt(), .ctrl = CONTROL_DEFAULT};
    uint64_t word[2];
    char error[ISA_ERROR_BYTES];
    nop.ctrl.stall_cycles = 15;
    if (!isa_encode(b->target, &nop, word, error)) {
        fprintf(stderr, "NOP: %s\n", error);
        return false;
    }
    c->mute_code = malloc((size_t)b->ncode * sizeof *c->mute_code);
    if (!c->mute_code)
        return false;
    memcpy(c->mute_code, b->code, (size_t)b->ncode * sizeof *c->mute_code);
    for (uint32_t i = 0; i < b->ncode; i++) {
        MachInst in;
        if (isa_decode(b->target, c->mute_code[i], &in, error) &&
            (in.optype == OT_YIELD || in.optype == OT_NANOSLEEP))
            memcpy(c->mute_code[i], word, sizeof word);
    }
    c->mute = *b;
    c->mute.code = c->mute_code;
    return true;
}

static void case_free(Case *c) {
    binary_free(c->binary);
    free(c->mute_code);
    free(c->image);
    if (c->code)
        code_free(c->code);
    if (c->ir)
        ir_module_free(c->ir);
    if (c->m)
        ptx_free(c->m);
    str_free(&c->strings);
    free(c->text);
}

static bool case_make(Case *c, const char *dir, const Program *p, unsigned level, bool yield_break,
                      PredicateMode predicate) {
    Diags d = diags();
    size_t size, bytes;
    *c = (Case){.program = p, .level = level, .yield_break = yield_break};
    c->text = read_file(dir, p->name, &size);
    c->m = ptx_parse(p->name, c->text, size, &d);
    c->ir = c->m ? lower_module(c->m, &c->strings, isa_targets[0], level, &d) : NULL;
    PassOptions passes = {.verify = true};
    if (c->ir) {
        c->ir->yield_breaks = yield_break;
        c->ir->predicate = predicate;
    }
    if (!c->ir || !ir_run_passes(c->ir, &passes, &d))
        return false;
    c->code = code_encode(c->ir, &d);
    if (!c->code || !elf_write(c->code, &c->image, &bytes, &d))
        return false;
    c->binary = binary_read(p->name, c->image, bytes, &d);
    return c->binary && make_mute(c);
}

/* ---- one run ---- */
typedef struct {
    const Layout *layout;
    uint32_t n, role_of[MAX_ROLES]; /* role of the i-th place */
    uint32_t expected[WORDS];
    SimMemory *start;
    uint64_t words;
    uint8_t params[24];
    Launch launch;
} Setting;

static void setting_make(Setting *setting, const Program *program, const Layout *l, uint32_t n,
                         const uint32_t *role_of) {
    uint32_t roles[MAX_THREADS];
    *setting = (Setting){.layout = l, .n = n};
    memcpy(setting->role_of, role_of, n * sizeof *role_of);
    for (uint32_t i = 0; i < MAX_THREADS; i++)
        roles[i] = NOBODY;
    for (uint32_t i = 0; i < n; i++)
        roles[l->place[i]] = role_of[i];
    program->expect(setting->expected, n);
    setting->start = simmem_create();
    if (!setting->start)
        abort();
    static const uint32_t zero[WORDS];
    setting->words = simmem_alloc(setting->start, "words", sizeof zero);
    uint64_t table = simmem_alloc(setting->start, "roles", sizeof roles);
    simmem_write(setting->start, setting->words, zero, sizeof zero);
    simmem_write(setting->start, table, roles, sizeof roles);
    memcpy(setting->params, &setting->words, 8);
    memcpy(setting->params + 8, &table, 8);
    memcpy(setting->params + 16, &n, 4);
    setting->launch = (Launch){
        .grid = {l->blocks, 1, 1}, .block = {l->threads, 1, 1}, .params = setting->params, .param_bytes = 20};
}

static bool right_memory(const Setting *setting, const SimMemory *mem, uint32_t *at) {
    uint32_t words[WORDS];
    if (!simmem_read(mem, setting->words, words, sizeof words))
        abort();
    for (*at = 0; *at < WORDS; ++*at)
        if (words[*at] != setting->expected[*at])
            return false;
    return true;
}

static void complain(const Case *c, const Setting *setting, const char *how, const SimTrap *trap,
                     uint32_t at) {
    char line[400] = "";
    if (trap->kind != TRAP_NONE)
        sim_trap_print(trap, line, sizeof line);
    else
        snprintf(line, sizeof line, "word %u is wrong, %u expected", at, setting->expected[at]);
    printf("FAIL %s -O%u%s, %s, roles", c->program->name, c->level, c->yield_break ? " --yield=break" : "",
           setting->layout->name);
    for (uint32_t i = 0; i < setting->n; i++)
        printf(" %u", setting->role_of[i]);
    printf(", %s: %s\n", how, line);
}

static void run_interp(const Case *c, const Setting *setting, Counts *counts) {
    for (uint64_t seed = 0; seed < 3; seed++) {
        Diags d = diags();
        PtxRunOptions o = {.seed = seed, .budget = PTX_BUDGET};
        PtxRunResult r = {0};
        SimMemory *mem = simmem_clone(setting->start);
        uint32_t at = 0;
        if (!mem || !interp_place_variables(c->m, mem, &d))
            abort();
        bool good = interp_run(c->m, "litmus", &setting->launch, mem, &o, &r, &d) && r.trap.kind == TRAP_NONE;
        if (!good || !right_memory(setting, mem, &at)) {
            complain(c, setting, "interpreter", &r.trap, at);
            counts->failures++;
        }
        counts->interp_runs++;
        simmem_free(mem);
    }
}

/* One setting on one binary, for all policies. */
typedef struct {
    const Setting *setting;
    SimMemory *mem;
    MachineSession *session;
} Runs;

static Runs runs_open(const Binary *binary, const Setting *setting) {
    Diags d = diags();
    Runs runs = {.setting = setting, .mem = simmem_clone(setting->start)};
    if (runs.mem)
        runs.session = machine_open(binary, "litmus", &setting->launch, runs.mem, NULL, &d);
    if (!runs.session)
        abort();
    return runs;
}

static void runs_close(Runs *runs) {
    machine_close(runs->session);
    simmem_free(runs->mem);
}

/* True if it ended with the right memory. Programs only read the table of roles. */
static bool run_machine(const Runs *runs, const MachineOptions *o, SimTrap *trap, uint32_t *at) {
    static const uint32_t zero[WORDS];
    Diags d = diags();
    MachineResult r;
    *at = 0;
    if (!simmem_write(runs->mem, runs->setting->words, zero, sizeof zero))
        abort();
    bool good = machine_session_run(runs->session, o, &r, &d);
    *trap = r.trap;
    good = good && right_memory(runs->setting, runs->mem, at);
    machine_result_free(&r);
    return good;
}

static void run_plain(const Case *c, const Setting *setting, unsigned first, unsigned step, Counts *counts) {
    char text[80];
    SimTrap t;
    uint32_t at;
    Runs runs = runs_open(c->binary, setting);
    for (unsigned i = first; i < NPOLICIES; i += step) {
        MachineOptions o = policy(i, false);
        counts->runs++;
        if (!run_machine(&runs, &o, &t, &at)) {
            complain(c, setting, policy_text(i, false, text), &t, at);
            counts->failures++;
        }
    }
    for (unsigned i = 2 * first; i < NPOLICIES; i += 2 * step) {
        MachineOptions o = policy(i, true);
        if (!c->yield_break && (o.lane_choice == MACHINE_LANE_RANDOM || setting->layout != layouts))
            continue; /* some hang: enough to count them in one layout */
        counts->literal_runs++;
        if (run_machine(&runs, &o, &t, &at))
            continue;
        bool proved = t.kind == TRAP_LIVELOCK || t.kind == TRAP_DEADLOCK;
        counts->literal_hangs += proved;
        if (c->yield_break || !proved) {
            complain(c, setting, policy_text(i, true, text), &t, at);
            counts->failures++;
        }
    }
    runs_close(&runs);
}

static void run_mute(const Case *c, const Setting *s, unsigned first, unsigned step, Counts *counts) {
    char text[80];
    SimTrap t;
    uint32_t at;
    Runs runs = runs_open(&c->mute, s);
    for (unsigned i = first; i < NPOLICIES; i += step) {
        MachineOptions o = policy(i, false);
        counts->mute_runs++;
        if (run_machine(&runs, &o, &t, &at))
            counts->mute_ended++;
        else if (t.kind == TRAP_LIVELOCK || t.kind == TRAP_DEADLOCK)
            counts->mute_proved++;
        else {
            complain(c, s, policy_text(i, false, text), &t, at);
            counts->failures++;
        }
    }
    runs_close(&runs);
}

/* ---- all of it ---- */
typedef enum { PLAIN, BREAK, MUTE } Mode;

/* The next order of 0..n-1, in lexicographic order. */
static bool next_order(uint32_t *a, uint32_t n) {
    uint32_t i = n - 1, j = n - 1;
    while (i && a[i - 1] >= a[i])
        i--;
    if (!i)
        return false;
    while (a[j] <= a[i - 1])
        j--;
    uint32_t x = a[i - 1];
    a[i - 1] = a[j], a[j] = x;
    for (j = n - 1; i < j; i++, j--)
        x = a[i], a[i] = a[j], a[j] = x;
    return true;
}

/* Each order of roles with every so many-th policy, the next order with the next ones. */
static void run_case(const Case *c, Mode mode, unsigned every, Counts *k) {
    unsigned first = 0;
    for (unsigned l = 0; l < NLAYOUTS; l++) {
        if (c->program->flags & ONE_BLOCK && layouts[l].blocks > 1)
            continue;
        for (uint32_t n = 2; n <= layouts[l].max_roles && (mode != MUTE || n < 4); n++) {
            uint32_t order[MAX_ROLES] = {0, 1, 2, 3};
            do {
                Setting s;
                setting_make(&s, c->program, &layouts[l], n, order);
                if (mode != MUTE) {
                    if (mode == PLAIN && c->level == 0)
                        run_interp(c, &s, k);
                    run_plain(c, &s, first, every, k);
                } else
                    run_mute(c, &s, first, every, k);
                first = (first + 1) % every;
                simmem_free(s.start);
            } while (next_order(order, n));
        }
    }
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    Mode mode = argc < 3                       ? PLAIN
                : strcmp(argv[2], "mute") == 0 ? MUTE
                : strcmp(argv[2], "break") == 0
                    ? BREAK
                    : PLAIN; /* max: the same, with every legal region predicated */
    PredicateMode predicate = argc >= 3 && strcmp(argv[2], "max") == 0 ? PREDICATE_MAX : PREDICATE_AUTO;
    unsigned every = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1;
    if (every == 0 || every > NPOLICIES / 2)
        return 2;
    Counts total = {0};
    unsigned run = 0;
    for (unsigned i = 0; i < NPROGRAMS; i++) {
        if (argc > 4 && strcmp(argv[4], programs[i].name) != 0)
            continue;
        Counts k = {0};
        for (unsigned level = 0; level <= 2; level += 2) {
            Case c;
            if (!case_make(&c, argv[1], &programs[i], level, mode == BREAK, predicate)) {
                printf("FAIL %s -O%u: does not compile\n", programs[i].name, level);
                k.failures++;
            } else
                run_case(&c, mode, every, &k);
            case_free(&c);
        }
        if (mode == MUTE && programs[i].flags & NEEDS_YIELD && !k.mute_proved) {
            printf("FAIL %s: ends without YIELD too, so it tests nothing\n", programs[i].name);
            k.failures++;
        }
        printf(
            "%-16s interpreter %llu, machine %llu, literal %llu (%llu hang), without YIELD %llu (%llu proved "
            "endless), failures %llu\n",
            programs[i].name, (unsigned long long)k.interp_runs, (unsigned long long)k.runs,
            (unsigned long long)k.literal_runs, (unsigned long long)k.literal_hangs,
            (unsigned long long)k.mute_runs, (unsigned long long)k.mute_proved,
            (unsigned long long)k.failures);
        fflush(stdout);
        run++;
        for (unsigned j = 0; j < sizeof k / sizeof(uint64_t); j++)
            ((uint64_t *)&total)[j] += ((uint64_t *)&k)[j];
    }
    printf("%u programs: interpreter %llu, machine %llu, literal %llu (%llu hang), without YIELD %llu (%llu "
           "proved "
           "endless, %llu end), failures %llu\n",
           run, (unsigned long long)total.interp_runs, (unsigned long long)total.runs,
           (unsigned long long)total.literal_runs, (unsigned long long)total.literal_hangs,
           (unsigned long long)total.mute_runs, (unsigned long long)total.mute_proved,
           (unsigned long long)total.mute_ended, (unsigned long long)total.failures);
    return run == 0 || total.failures ? 1 : 0;
}
