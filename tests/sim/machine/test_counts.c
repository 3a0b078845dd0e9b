/* Instructions that are counted: the machine's sums against those of a host function that walks each thread's
 * way alone. What threads come to and what they execute does not depend on which of them go together, so the
 * sums are the same for every engine and every number of threads that execute blocks.
 * SPDX-License-Identifier: MIT */
#include "prog.h"
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 9, THREADS = 64, LEAVE = 50, SIDES = 7, ADDRESS = 3 };

typedef struct { /* of thread instructions */
    uint64_t all, all_true, data, data_true;
} Sums;
static void come(Sums *sums, bool data, bool guard) {
    sums->all++;
    sums->all_true += guard;
    sums->data += data;
    sums->data_true += data && guard;
}

static void guarded_add(Prog *p, Operand guard, unsigned rd, Operand by) {
    add(p, rd, R(rd), by);
    p->in[p->n - 1].guard = guard;
}

/* A loop of as many rounds as the thread's number, with two sides under guards, one instruction that nobody
 * executes, a store and an exit of some. */
static Prog *make_program(void) {
    Prog *p = calloc(1, sizeof *p);
    s2r(p, 0, "tid.x");
    mov(p, 1, IMM(0));
    mov(p, 4, IMM(0));
    isetp(p, 3, ICmp_GE, R(0), IMM(LEAVE));
    exit_(p, P(3));
    label(p, 0);
    isetp(p, 0, ICmp_LT, R(1), IMM(SIDES));
    guarded_add(p, P(0), 4, IMM(3));
    guarded_add(p, NP(0), 4, IMM(5));
    guarded_add(p, NPT_, 4, IMM(100));
    guarded_add(p, P(0), 4, R(1));
    add(p, 1, R(1), IMM(1));
    isetp(p, 2, ICmp_LT, R(1), R(0));
    branch(p, P(2), 0);
    isetp(p, 1, ICmp_GE, R(0), IMM(SIDES));
    element(p, 2, 0, 0);
    stg(p, 2, 4);
    p->in[p->n - 1].guard = P(1);
    exit_(p, PT_);
    return p;
}

/* The same thread by thread; what it stores. */
static uint32_t walk(uint32_t tid, Sums *sums) {
    uint32_t sum = 0, i = 0;
    for (unsigned k = 0; k < 4; k++)
        come(sums, true, true);
    come(sums, false, tid >= LEAVE);
    if (tid >= LEAVE)
        return 0;
    do {
        bool first = i < SIDES;
        come(sums, true, true);
        come(sums, true, first);
        come(sums, true, !first);
        come(sums, true, false);
        come(sums, true, first);
        sum += first ? 3 + i : 5;
        i++;
        come(sums, true, true);
        come(sums, true, true);
        come(sums, false, i < tid);
    } while (i < tid);
    for (unsigned k = 0; k < 1 + ADDRESS; k++)
        come(sums, true, true);
    come(sums, true, tid >= SIDES);
    come(sums, false, true);
    return tid >= SIDES ? sum : 0;
}

static void count_with(const MachineOptions *opt) {
    Prog *p = make_program();
    SimMemory *mem = simmem_create();
    uint64_t out = buffer(mem, THREADS), zero = 0;
    for (uint32_t i = 0; i < THREADS; i++)
        assert_true(simmem_write(mem, out + 4ull * i, &zero, 4));
    Ran ran = prog_run(p, BLOCKS, THREADS, mem, &out, 1, opt);
    Sums sums = {0};
    assert_true(ran.ok);
    for (uint32_t block = 0; block < BLOCKS; block++)
        for (uint32_t tid = 0; tid < THREADS; tid++)
            assert_int_equal(walk(tid, &sums), word(mem, out, tid));
    assert_int_equal(ran.res.stats.lane_issues, sums.all);
    assert_int_equal(ran.res.stats.true_lane_issues, sums.all_true);
    assert_int_equal(ran.res.stats.data_lane_issues, sums.data);
    assert_int_equal(ran.res.stats.data_true_lane_issues, sums.data_true);
    machine_result_free(&ran.res);
    simmem_free(mem);
    free(p);
}

static void test_interpreted(void **state) {
    (void)state;
    static const char *const levels[] = {"base", NULL};
    for (unsigned i = 0; i < 2; i++) {
        count_with(&(MachineOptions){.host_level = levels[i]});
        count_with(&(MachineOptions){.host_level = levels[i], .jobs = 3});
        count_with(&(MachineOptions){.host_level = levels[i], .quantum = 5}); /* in the middle of runs */
    }
    count_with(&(MachineOptions){.report_undefined = true});
    count_with(&(MachineOptions){.lane_choice = MACHINE_LANE_RANDOM, .seed = 3});
}

static void test_compiled(void **state) {
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        MachineJit *jit = machine_jit_open(&(MachineJitOptions){
            .after = 1 + 99 * (i / 2), .stencils = i % 2 ? MACHINE_STENCILS_ONLY : MACHINE_STENCILS_NEVER});
        count_with(&(MachineOptions){.jit = jit});
        const MachineJitStats *stats = machine_jit_stats(jit);
        if (stats->failed[0])
            print_message("nothing compiled: %s\n", stats->failed);
        else
            assert_true(stats->regions || stats->copied);
        machine_jit_close(jit);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interpreted), cmocka_unit_test(test_compiled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
