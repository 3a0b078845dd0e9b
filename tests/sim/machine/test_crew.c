/* Blocks over threads: what a launch does with one thread and with several.
 * SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "prog.h"
#include "tests/part.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 48, THREADS = 64, WORDS = BLOCKS * THREADS };
enum { WAITING = 11 }; /* blocks of a chain that ends: its time grows with their square */
static const uint32_t jobs[] = {1, 2, 3, 8, BLOCKS + 5};
#define EACH_JOBS(j) for (unsigned j = 0; j < sizeof jobs / sizeof *jobs; j += test_part())

/* R0 = tid, R1 = index of the thread in the grid, R[2:3] = &out[R1], R4 = ctaid, R[6:7] = &shared memory of
 * all */
static Prog *fresh(void) {
    Prog *p = calloc(1, sizeof *p);
    s2r(p, 0, "tid.x");
    s2r(p, 4, "ctaid.x");
    emit(p, OT_IMAD, MSET(IMAD, sign, ISign_U32), D(R(1)), S(R(4), C0(0), R(0), NPT_));
    element(p, 2, 0, 1);
    mov(p, 6, PARAM(1));
    mov(p, 7, op_cmem(0, PARAM_BASE + 12));
    return p;
}
static void atom(Prog *p, uint32_t op, unsigned rd, unsigned ra, unsigned rb) {
    emit(p, OT_ATOMG, MSET(ATOMG, e, 1) | MSET(ATOMG, op, op), D(R(rd), PT_),
         S(op_with(R2(ra), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(0), R(rb)));
}
/* `count` turns of a loop, R10 */
static void delay(Prog *p, Operand count, int l) {
    mov(p, 10, IMM(0));
    label(p, l);
    add(p, 10, R(10), IMM(1));
    isetp(p, 6, ICmp_LT, R(10), count);
    branch(p, P(6), l);
}

typedef struct {
    Ran ran;
    SimMemory *mem;
    uint64_t params[2]; /* a word for each thread; 64 words */
} Done;
static MachineJit *engine;      /* NULL: the interpreter */
static MachineThreads *threads; /* NULL: each launch has its own */
static Done run_blocks(const Prog *prog, unsigned blocks, const MachineOptions *given) {
    Prog p = *prog; /* prog_run sets the targets of branches */
    MachineOptions options = given ? *given : (MachineOptions){0}, *opt = &options;
    options.jit = engine;
    options.threads = threads;
    Done done = {.mem = simmem_create()};
    done.params[0] = buffer(done.mem, WORDS);
    done.params[1] = buffer(done.mem, 64);
    done.ran = prog_run(&p, blocks, THREADS, done.mem, done.params, 2, opt);
    for (uint32_t i = 0; i < done.ran.res.nfindings; i++)
        done.ran.res.findings[i].func = NULL; /* p's */
    return done;
}
static Done run(const Prog *prog, const MachineOptions *opt) { return run_blocks(prog, BLOCKS, opt); }
static void end(Done *done) {
    machine_result_free(&done->ran.res);
    simmem_free(done->mem);
}
static void assert_same(const Done *a, const Done *b, bool statistics) {
    MachineStats x = a->ran.res.stats, y = b->ran.res.stats;
    x.max_resident = y.max_resident = 0; /* of a thread */
    assert_int_equal(a->ran.ok, b->ran.ok);
    assert_memory_equal(&a->ran.res.trap, &b->ran.res.trap, sizeof(SimTrap));
    if (!statistics)
        return;
    assert_memory_equal(&x, &y, sizeof x);
    assert_int_equal(a->ran.res.nfindings, b->ran.res.nfindings);
    for (uint32_t i = 0; i < a->ran.res.nfindings; i++)
        assert_memory_equal(&a->ran.res.findings[i], &b->ran.res.findings[i], sizeof(MachineFinding));
    for (uint32_t i = 0; i < a->mem->nallocs; i++) {
        const SimAlloc *m = &a->mem->allocs[i], *n = &b->mem->allocs[i];
        assert_memory_equal(m->data, n->data, (size_t)m->size_bytes);
        assert_memory_equal(m->written, n->written, (size_t)(m->size_bytes / 8));
    }
}
static void same_with_all_jobs(Prog *p, MachineOptions opt, bool statistics) {
    opt.max_issues = opt.max_issues ? opt.max_issues : 50000000;
    Done one = run(p, &opt);
    EACH_JOBS(j) {
        opt.jobs = jobs[j];
        Done many = run(p, &opt);
        assert_same(&one, &many, statistics);
        end(&many);
    }
    end(&one);
    free(p);
}

/* Blocks of different lengths with a barrier of a part of a warp, which is a finding of every second block.
 */
static void counts_and_findings(void **state) {
    (void)state;
    Prog *p = fresh();
    emit(p, OT_LOP3, MSET(LOP3, lut, 0xc0), D(R(5), PT_), S(R(4), IMM(1), RZ_, NPT_));
    isetp(p, 0, ICmp_NE, R(5), RZ_);
    isetp(p, 1, ICmp_LT, R(0), IMM(3));
    add(p, 9, R(4), RZ_);
    delay(p, R(9), 0);
    bssy(p, 0, 2);
    branch(p, NP(0), 1);
    branch(p, P(1), 1);
    emit(p, OT_SHFL, MSET(SHFL, mode, ShflMode_IDX), D(R(8), P(2)), S(R(1), IMM(0), IMM(0x1f)));
    label(p, 1);
    bsync(p, 0);
    label(p, 2);
    stg(p, 2, 10);
    exit_(p, PT_);
    MachineOptions opt = {.jobs = 1};
    Done one = run(p, &opt);
    assert_int_equal(one.ran.res.nfindings, 1);
    assert_int_equal(one.ran.res.findings[0].block[0], 1);
    assert_int_equal(one.ran.res.findings[0].count, BLOCKS / 2);
    end(&one);
    same_with_all_jobs(p, opt, true);
}

/* Sums, largest value, and a counter that a lock of compare-and-swap protects: all by one word each. */
static void atomics(void **state) {
    (void)state;
    const unsigned turns = 100 / test_part();
    EACH_JOBS(j) {
        Prog *p = fresh();
        mov(p, 5, IMM(1));
        atom(p, AtomOp_ADD, 8, 6, 5);
        add(p, 6, R(6), IMM(4));
        atom(p, AtomOp_MAX, 8, 6, 1);
        add(p, 6, R(6), IMM(4)); /* the lock, and behind it the counter */
        add(p, 12, R(6), IMM(4));
        mov(p, 13, R(7));
        isetp(p, 0, ICmp_NE, R(0), RZ_);
        exit_(p, P(0));
        mov(p, 14, IMM(0)); /* compared and, in R15, stored */
        mov(p, 15, IMM(1));
        mov(p, 20, IMM(0));
        label(p, 0);
        label(p, 1);
        emit(p, OT_ATOMG_CAS, MSET(ATOMG_CAS, e, 1), D(R(8), PT_),
             S(op_with(R2(6), OPM_WIDE64), NONE, IMM(0), R(14), R(15)));
        isetp(p, 1, ICmp_NE, R(8), RZ_);
        branch(p, P(1), 1);
        emit(p, OT_MEMBAR, 0, EMPTY, EMPTY);
        ldg(p, 9, 12);
        add(p, 9, R(9), IMM(1));
        stg(p, 12, 9);
        emit(p, OT_MEMBAR, 0, EMPTY, EMPTY);
        atom(p, AtomOp_EXCH, 8, 6, 14);
        add(p, 20, R(20), IMM(1));
        isetp(p, 2, ICmp_LT, R(20), IMM(turns));
        branch(p, P(2), 0);
        exit_(p, PT_);
        Done done = run(p, &(MachineOptions){.jobs = jobs[j], .max_issues = 100000000});
        assert_int_equal(done.ran.res.trap.kind, TRAP_NONE);
        assert_int_equal(word(done.mem, done.params[1], 0), WORDS);
        assert_int_equal(word(done.mem, done.params[1], 1), WORDS - 1);
        assert_int_equal(word(done.mem, done.params[1], 2), 0);
        assert_int_equal(word(done.mem, done.params[1], 3), turns * BLOCKS);
        end(&done);
        free(p);
    }
}

/* Where two lanes of a warp would write, had they not ended, another block writes the whole time. */
static void words_of_others(void **state) {
    (void)state;
    enum { TURNS = 1000, OWN = 30 };
    EACH_JOBS(j) {
        Prog *p = fresh();
        s2r(p, 5, "laneid");
        isetp(p, 0, ICmp_GE, R(5), IMM(OWN));
        emit(p, OT_IADD3, 0, D(R(8), PT_, PT_), S(R(1), op_with(R(5), OPM_NEG), RZ_, NPT_, NPT_));
        emit(p, OT_SHF, MSET(SHF, dir, ShfDir_R) | MSET(SHF, type, ShfType_U32), D(R(8)),
             S(R(8), IMM(4), RZ_));
        emit(p, OT_IADD3, 0, D(R(8), PT_, PT_), S(R(1), op_with(R(8), OPM_NEG), RZ_, NPT_, NPT_));
        element(p, 2, 0, 8);
        exit_(p, P(0)); /* their addresses are those that are next */
        mov(p, 10, IMM(0));
        mov(p, 20, IMM(0));
        label(p, 0);
        add(p, 10, R(10), IMM(1));
        stg(p, 2, 10);
        ldg(p, 21, 2);
        emit(p, OT_LOP3, MSET(LOP3, lut, 0xf6), D(R(20), PT_),
             S(R(20), R(21), R(10), NPT_)); /* a | (b ^ c) */
        isetp(p, 6, ICmp_LT, R(10), IMM(TURNS));
        branch(p, P(6), 0);
        add(p, 10, R(10), R(20));
        stg(p, 2, 10);
        exit_(p, PT_);
        Done done = run(p, &(MachineOptions){.jobs = jobs[j], .max_issues = 100000000});
        assert_int_equal(done.ran.res.trap.kind, TRAP_NONE);
        for (uint32_t i = 0; i < WORDS / 32 * OWN; i++)
            assert_int_equal(word(done.mem, done.params[0], i), TURNS);
        end(&done);
        free(p);
    }
}

/* Each block but `first`, which makes so many turns of a loop, waits for a word of another one; of the next,
 * all must be resident before the first can end. By atomics, or by plain loads and stores, which is a race
 * that ThreadSanitizer reports. */
static Prog *chain(unsigned first, unsigned turns, int to, bool plain) {
    Prog *p = fresh();
    element(p, 12, 1, 4); /* &flag[ctaid] */
    mov(p, 5, IMM(1));
    isetp(p, 0, ICmp_EQ, R(4), IMM(first));
    mov(p, 8, IMM(turns));
    emit(p, OT_SEL, 0, D(R(9)), S(R(8), IMM(1), P(0)));
    delay(p, R(9), 2);
    branch(p, P(0), 1);
    add(p, 14, R(12), IMM((uint32_t)(4 * to)));
    mov(p, 15, R(13));
    mov(p, 16, IMM(0));
    label(p, 0);
    if (plain)
        ldg(p, 8, 14);
    else
        atom(p, AtomOp_ADD, 8, 14, 16);
    isetp(p, 1, ICmp_EQ, R(8), RZ_);
    branch(p, P(1), 0);
    label(p, 1);
    emit(p, OT_MEMBAR, 0, EMPTY, EMPTY);
    if (plain)
        stg(p, 12, 5);
    else
        atom(p, AtomOp_MAX, 8, 12, 5);
    stg(p, 2, 4);
    exit_(p, PT_);
    return p;
}
static void blocks_that_wait(void **state) {
    (void)state;
    const unsigned step = test_part() > 1 ? 3 : 1; /* odd: both kinds */
    for (unsigned j = 0; j < 2 * sizeof jobs / sizeof *jobs; j += step) {
        Prog *p = chain(WAITING - 1, 1, 1, j & 1);
        Done done = run_blocks(p, WAITING, &(MachineOptions){.jobs = jobs[j / 2]});
        assert_int_equal(done.ran.res.trap.kind, TRAP_NONE);
        for (uint32_t i = 0; i < WAITING * THREADS; i++)
            assert_int_equal(word(done.mem, done.params[0], i), i / THREADS);
        end(&done);
        free(p);
    }
}
static void blocks_that_wait_for_ever(void **state) {
    (void)state;
    EACH_JOBS(j) {
        Prog *p = chain(BLOCKS, 1, 1, true);
        Done done = run(p, &(MachineOptions){.jobs = jobs[j]});
        assert_int_equal(done.ran.res.trap.kind, TRAP_LIVELOCK);
        assert_int_equal(done.ran.res.trap.block[0], 0);
        end(&done);
        free(p);
    }
}

/* More blocks wait than may be resident: no thread takes others for those that it gave away, and the last one
 * has no more than a single one would. */
static void more_than_resident(void **state) {
    (void)state;
    EACH_JOBS(j) {
        Prog *p = chain(BLOCKS, 1, 1, true);
        Done done = run(p, &(MachineOptions){.jobs = jobs[j], .max_resident = 2});
        assert_int_equal(done.ran.res.trap.kind, TRAP_LIVELOCK);
        assert_int_equal(done.ran.res.trap.block[0], 0);
        assert_non_null(strstr(done.ran.res.trap.text, " 2 of 48 blocks"));
        assert_int_equal(done.ran.res.stats.max_resident, 2);
        end(&done);
        done = run(p, &(MachineOptions){.jobs = jobs[j], .max_resident = 1, .max_issues = 1000});
        assert_int_equal(done.ran.res.trap.kind, TRAP_BUDGET);
        assert_int_equal(done.ran.res.stats.issues, 1000);
        assert_int_equal(done.ran.res.stats.max_resident, 1);
        end(&done);
        free(p);
    }
}

/* Of a share whose first block waits for another thread's the others are left to the end. */
static void shares_left(void **state) {
    (void)state;
    EACH_JOBS(j) {
        Prog *p = chain(0, 100000, -1, false);
        Done done = run(p, &(MachineOptions){.jobs = jobs[j], .max_resident = 1});
        assert_int_equal(done.ran.res.trap.kind, TRAP_NONE);
        for (uint32_t i = 0; i < WORDS; i++)
            assert_int_equal(word(done.mem, done.params[0], i), i / THREADS);
        end(&done);
        free(p);
    }
}

/* Blocks 7, 11, ... store out of range, the sooner the higher they are. */
static void lowest_trap(void **state) {
    (void)state;
    for (unsigned round = 0; round < 10; round += test_part()) {
        Prog *p = fresh();
        emit(p, OT_LOP3, MSET(LOP3, lut, 0xc0), D(R(5), PT_), S(R(4), IMM(3), RZ_, NPT_));
        emit(p, OT_IADD3, 0, D(R(9), PT_, PT_), S(op_with(R(4), OPM_NEG), IMM(4000), RZ_, NPT_, NPT_));
        delay(p, R(9), 0);
        isetp(p, 0, ICmp_EQ, R(5), IMM(3));
        isetp(p, 1, ICmp_LT, R(4), IMM(4));
        branch(p, P(1), 1);
        mov(p, 8, IMM(0));
        emit(p, OT_SEL, 0, D(R(3)), S(R(8), R(3), P(0)));
        label(p, 1);
        stg(p, 2, 4);
        exit_(p, PT_);
        Done one = run(p, NULL);
        assert_int_equal(one.ran.res.trap.kind, TRAP_OUT_OF_RANGE);
        assert_int_equal(one.ran.res.trap.block[0], 7);
        end(&one);
        same_with_all_jobs(p, (MachineOptions){0}, false);
    }
}

/* The budget is one for all, to the instruction. */
static void budget(void **state) {
    (void)state;
    Prog *p = fresh();
    delay(p, IMM(5000), 0);
    stg(p, 2, 10);
    exit_(p, PT_);
    Done one = run(p, NULL);
    uint64_t issues = one.ran.res.stats.issues;
    end(&one);
    EACH_JOBS(j) {
        for (unsigned less = 0; less < 2; less++) {
            Done done = run(p, &(MachineOptions){.jobs = jobs[j], .max_issues = issues - less});
            assert_int_equal(done.ran.res.trap.kind, less ? TRAP_BUDGET : TRAP_NONE);
            assert_int_equal(done.ran.res.stats.issues, issues - less);
            end(&done);
        }
    }
    free(p);
}

static bool cancel(void *user) { return ++*(unsigned *)user > 3; }
static void endless(void *user) {
    Done done = run(user, &(MachineOptions){.jobs = 3, .no_deadlock_proof = true});
    end(&done);
}
static void given_up(void **state) {
    (void)state;
    Prog *p = fresh();
    label(p, 0);
    add(p, 5, R(5), IMM(1));
    branch(p, PT_, 0);
    unsigned polls = 0;
    ScopeResult cancelled = scope_run(endless, p, &(ScopeLimits){.cancel = cancel, .cancel_user = &polls});
    assert_int_equal(cancelled.end, SCOPE_CANCELLED);
    ScopeResult late = scope_run(endless, p, &(ScopeLimits){.seconds = 0.05});
    assert_int_equal(late.end, SCOPE_TIME);
    ScopeResult big = scope_run(endless, p, &(ScopeLimits){.bytes = 700000});
    assert_int_equal(big.end, SCOPE_MEMORY);
    free(p);
}

/* A register that no instruction of a launch has written is 0, whatever an earlier launch of the binary left
 * in its blocks' memory. */
static void rows_of_earlier_launches(void **state) {
    (void)state;
    Prog *p = fresh();
    mov(p, 5, PARAM(2));
    isetp(p, 0, ICmp_EQ, R(5), RZ_);
    branch(p, P(0), 0);
    mov(p, 20, IMM(7));
    label(p, 0);
    stg(p, 2, 20);
    exit_(p, PT_);
    SimMemory *mem = simmem_create();
    uint64_t params[] = {buffer(mem, WORDS), 0, 0};
    Ran built = prog_run(p, BLOCKS, THREADS, mem, params, 3, NULL);
    machine_result_free(&built.res);
    Binary *binary = calloc(1, sizeof *binary);
    *binary = p->bin;
    binary_keep_decoded(binary);
    Launch launch = {.grid = {BLOCKS, 1, 1},
                     .block = {THREADS, 1, 1},
                     .params = (const uint8_t *)params,
                     .param_bytes = sizeof params};
    for (unsigned i = 0; i < 6; i++) {
        params[2] = i % 2 == 0;
        MachineResult result;
        MachineOptions opt = {.jobs = 1 + i / 2, .jit = engine, .threads = threads};
        assert_true(machine_run(binary, "test", &launch, mem, &opt, &result, &(Diags){0}));
        machine_result_free(&result);
        for (unsigned k = 0; k < WORDS; k++)
            assert_int_equal(word(mem, params[0], k), params[2] ? 7 : 0);
    }
    binary_free(binary);
    simmem_free(mem);
    free(p);
}

/* A process that was forked has none of the threads. */
static void forked(void **state) {
    (void)state;
#ifndef __SANITIZE_THREAD__ /* which lets no such process start one */
    Prog *p = fresh();
    stg(p, 2, 1);
    exit_(p, PT_);
    Done one = run(p, &(MachineOptions){.jobs = 3});
    pid_t child = fork();
    if (child == 0) {
        Done many = run(p, &(MachineOptions){.jobs = 3});
        _exit(many.ran.ok && word(many.mem, many.params[0], WORDS - 1) == WORDS - 1 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    end(&one);
    free(p);
#endif
}

/* The same with compiled code for all that is executed, and threads that each launch finds. */
static int copy_all(void **state) {
    (void)state;
    threads = machine_threads_open();
    engine = machine_jit_open(&(MachineJitOptions){.after = 1, .stencils = MACHINE_STENCILS_ONLY});
    return 0;
}
static int compile_all(void **state) {
    (void)state;
    threads = machine_threads_open();
    engine = machine_jit_open(&(MachineJitOptions){.after = 1, .quick = true});
    return 0;
}
static int has_compiled(void **state) {
    (void)state;
    const MachineJitStats *stats = machine_jit_stats(engine);
    bool good = stats->failed[0] || /* this host may have no code, or no libLLVM */
                ((stats->copied || stats->regions) && stats->executed);
    machine_jit_close(engine);
    machine_threads_close(threads);
    engine = NULL;
    threads = NULL;
    return good ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_and_findings),
                                       cmocka_unit_test(atomics),
                                       cmocka_unit_test(words_of_others),
                                       cmocka_unit_test(blocks_that_wait),
                                       cmocka_unit_test(blocks_that_wait_for_ever),
                                       cmocka_unit_test(more_than_resident),
                                       cmocka_unit_test(shares_left),
                                       cmocka_unit_test(lowest_trap),
                                       cmocka_unit_test(budget),
                                       cmocka_unit_test(given_up),
                                       cmocka_unit_test(rows_of_earlier_launches),
                                       cmocka_unit_test(forked)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += cmocka_run_group_tests_name("stencils", tests, copy_all, has_compiled);
    return failed + cmocka_run_group_tests_name("compiled", tests, compile_all, has_compiled);
}
