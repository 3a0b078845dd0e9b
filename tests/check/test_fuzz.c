/* The fuzzer: its programs are legal and follow from the seed; it finds and reduces a difference that is
 * planted; programs that once failed pass under every level, limit and policy.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/fuzz/internal.h"
#include "check/fuzz/shape.h"
#include "tests/part.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <cmocka.h>

static bool take_all(void *user, const char *module, size_t size_bytes) {
    (void)user, (void)module, (void)size_bytes;
    return true;
}

static void test_same_seed_same_program(void **state) {
    (void)state;
    GenForms forms = {.usable = take_all};
    GenProgram a = {0}, b = {0}, c = {0};
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        gen_program((GenKind)k, 5, 17, &forms, &a);
        gen_program((GenKind)k, 5, 17, &forms, &b);
        gen_program((GenKind)k, 5, 18, &forms, &c);
        assert_string_equal(a.text, b.text);
        assert_string_not_equal(a.text, c.text);
        assert_int_equal(a.data_seed, b.data_seed);
    }
    gen_program_free(&a);
    gen_program_free(&b);
    gen_program_free(&c);
    gen_forms_free(&forms);
}

static void test_header(void **state) {
    (void)state;
    GenForms forms = {.usable = take_all};
    GenProgram a = {0};
    gen_program(GEN_BARRIERS, 1, 2, &forms, &a);
    GenProgram b = {.text = a.text};
    assert_true(gen_read_header(&b));
    assert_memory_equal(a.block, b.block, sizeof a.block);
    assert_memory_equal(a.grid, b.grid, sizeof a.grid);
    assert_int_equal(a.in_bytes, b.in_bytes);
    assert_int_equal(a.out_bytes, b.out_bytes);
    assert_int_equal(a.data_seed, b.data_seed);
    b.text = (char[]){"// no such line\n"};
    assert_false(gen_read_header(&b));
    gen_program_free(&a);
    gen_forms_free(&forms);
}

/* What a report says of a failure is read again as it was; other comments are no settings. */
static void test_saved(void **state) {
    (void)state;
    static const char head[] = "// fuzz block=1,1,1 grid=1,1,1 in=8 out=8 data=1\n";
    char words[FUZZ_CONFIG_BYTES], again[FUZZ_CONFIG_BYTES], text[FUZZ_CONFIG_BYTES + 200];
    FuzzConfig read;
    for (unsigned k = 0; k < FUZZ_NPOLICIES + FUZZ_NLITERAL; k++) {
        FuzzConfig c = {.target = k % 3 ? isa_targets[k % 6] : NULL,
                        .opt_level = k % 4,
                        .reg_limit = k % 5 * 8,
                        .reconverge = (ReconvMode)(k % RECONV_COUNT),
                        .predicate = (PredicateMode)(k / 2 % 3),
                        .reconv_opts = k % 31,
                        .yield_breaks = k % 2,
                        .yield_percent = k % 7,
                        .verify = k / 2 % 2,
                        .text = k / 4 % 2,
                        .check = k / 8 % 2,
                        .check_only = k / 16 % 2,
                        .engine = (FuzzEngine)(k % (FUZZ_AUTO + 1)),
                        .jit_after = 1 + (k % (FUZZ_AUTO + 1) ? k : 0),
                        .jit_quick = k / 3 % 2,
                        .cut_budget = k % (FUZZ_AUTO + 1) ? k % 3 * 333 : 0,
                        .cut_memory = k % (FUZZ_AUTO + 1) ? k % 2 * 500 : 0,
                        .traces = k / 32 % 2,
                        .ptx_seed = k * 12345678901ull};
        fuzz_policy(k, &c.machine);
        c.machine.seed = k * 98765432109ull;
        c.machine.check_control = k / 5 % 2;
        fuzz_describe_config(&c, words, sizeof words);
        snprintf(text, sizeof text, "%s// crash signal 11 with %s\n// seen with luck\n", head, words);
        assert_int_equal(fuzz_saved_config(text, &read), FUZZ_SAVED_KNOWN);
        fuzz_describe_config(&read, again, sizeof again);
        assert_string_equal(words, again);
        assert_ptr_equal(c.target, read.target);
        assert_int_equal(c.ptx_seed, read.ptx_seed);
        assert_int_equal(c.jit_after, read.jit_after);
        assert_memory_equal(&c.machine.policies, &read.machine.policies, sizeof c.machine.policies);
        assert_true(c.opt_level == read.opt_level && c.reg_limit == read.reg_limit &&
                    c.reconverge == read.reconverge && c.predicate == read.predicate &&
                    c.reconv_opts == read.reconv_opts && c.yield_breaks == read.yield_breaks &&
                    c.yield_percent == read.yield_percent && c.verify == read.verify && c.text == read.text &&
                    c.check == read.check && c.check_only == read.check_only && c.engine == read.engine &&
                    c.jit_quick == read.jit_quick && c.cut_budget == read.cut_budget &&
                    c.cut_memory == read.cut_memory && c.traces == read.traces &&
                    c.machine.seed == read.machine.seed &&
                    c.machine.check_control == read.machine.check_control);
    }
    snprintf(text, sizeof text, "%s// Lanes wait with others.\n.version 8.6\n", head);
    assert_int_equal(fuzz_saved_config(text, &read), FUZZ_SAVED_NONE);
    assert_int_equal(fuzz_saved_config(head, &read), FUZZ_SAVED_NONE);
    snprintf(text, sizeof text, "%s// memory with -O2 another=1\n", head);
    assert_int_equal(fuzz_saved_config(text, &read), FUZZ_SAVED_UNKNOWN);
}

/* ---- what fuzz_check sees ---- */
#define HEAD                                                                                                 \
    "// fuzz block=32,1,1 grid=1,1,1 in=256 out=128 data=1\n.version 8.6\n.target sm_90\n.address_size 64\n" \
    ".visible .entry fuzz(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n"

static FuzzVerdict check(const char *text) {
    GenProgram p = {.text = strdup(text), .size_bytes = strlen(text)};
    FuzzConfig c = {.opt_level = 2, .text = true};
    assert_true(gen_read_header(&p));
    FuzzVerdict v = fuzz_check(&p, &c, 1, NULL);
    gen_program_free(&p);
    return v;
}

static void test_classes(void **state) {
    (void)state;
    assert_int_equal(check(HEAD "ret;\n}\n").cls, FUZZ_EQUAL);
    assert_int_equal(check(HEAD "nosuch.u32 %r0, 1;\n}\n").cls, FUZZ_REJECTED);
    assert_int_equal(check(HEAD "mov.u64 %d0, 0;\nst.global.u32 [%d0], 1;\nret;\n}\n").cls, FUZZ_PTX_TRAP);
    assert_int_equal(check(HEAD "add.u32 %r0, %r1, 1;\nret;\n}\n").cls, FUZZ_PTX_TRAP); /* never written */
}

/* A race shows as a difference: the engines order the threads' stores differently. */
static void test_reduction(void **state) {
    (void)state;
    static const char text[] =
        HEAD "ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nadd.u32 %r1, %r0, 5;\n"
             "setp.lt.u32 %p0, %r0, 16;\n@%p0 bra L1;\nst.global.u32 [%d0], %r0;\nbra L2;\nL1:\n"
             "st.global.u32 [%d0], %r1;\nL2:\nmul.lo.u32 %r2, %r1, %r0;\nxor.b32 %r3, %r2, %r1;\n"
             "st.global.u32 [%d0+4], 7;\nret;\n}\n";
    GenProgram p = {0};
    p.text = malloc(sizeof text + 32);
    assert_non_null(p.text);
    const char *at = strstr(text, "ld.param");
    p.size_bytes =
        (size_t)snprintf(p.text, sizeof text + 32, "%.*s.reg .pred %%p<2>;\n%s", (int)(at - text), text, at);
    assert_true(gen_read_header(&p));
    FuzzConfig c = {0};
    FuzzVerdict v = {0};
    for (unsigned k = 0; k < FUZZ_NPOLICIES && v.cls == FUZZ_EQUAL; k++) {
        fuzz_policy(k, &c.machine);
        v = fuzz_check(&p, &c, 1, NULL);
    }
    assert_int_equal(v.cls, FUZZ_MEMORY);
    size_t before = p.size_bytes;
    fuzz_reduce(&p, &c, &v, 1e6); /* it ends by itself */
    assert_true(p.size_bytes < before);
    assert_null(strstr(p.text, "xor.b32"));
    assert_non_null(strstr(p.text, "st.global.u32"));
    FuzzVerdict again = fuzz_check(&p, &c, 1, NULL);
    assert_int_equal(again.cls, FUZZ_MEMORY);
    gen_program_free(&p);
}

/* ---- what programs are like ---- */
static PtxModule *parse(const char *text) {
    Diags d = {.sink = diag_print_sink, .user = stderr};
    PtxModule *m = ptx_parse("t.ptx", text, strlen(text), &d);
    assert_non_null(m);
    return m;
}

static void test_shape(void **state) {
    (void)state;
    PtxModule *m =
        parse(HEAD ".reg .pred %p<2>;\nsetp.eq.u32 %p0, 1, 1;\n@%p0 bra A;\nmov.u32 %r0, 1;\nbra B;\nA:\n"
                   "mov.u32 %r0, 2;\nB:\nmov.u32 %r1, 3;\n@%p0 bra A;\n@%p0 ret;\nret;\n}\n");
    PtxShape s = fuzz_shape(m);
    assert_int_equal(s.blocks, 6); /* setp; mov; A; B; the guarded ret; the last ret */
    assert_int_equal(s.data_insns, 4);
    assert_int_equal(s.branches, 2); /* leaving is none */
    assert_int_equal(s.early_exits, 1);
    assert_true(s.has_loop);
    assert_true(s.irreducible); /* A and B are a loop that has two ways in */
    ptx_free(m);
    m = parse(
        HEAD
        "T: .branchtargets A, B, A;\nmov.u32 %r0, 1;\nbrx.idx %r0, T;\nA:\nmov.u32 %r0, 2;\nB:\nret;\n}\n");
    s = fuzz_shape(m);
    assert_int_equal(s.blocks, 3);
    assert_int_equal(s.branches, 1);
    assert_int_equal(s.early_exits, 0);
    assert_false(s.has_loop);
    assert_false(s.irreducible);
    ptx_free(m);
}

static void test_means(void **state) {
    (void)state;
    GenForms forms = {.usable = fuzz_usable};
    GenProgram p = {0};
    for (unsigned k = GEN_CFG; k < GEN_KINDS; k++) {
        double blocks = 0, data = 0;
        for (unsigned n = 0; n < 40; n++) {
            gen_program((GenKind)k, 77, n, &forms, &p);
            PtxModule *m = parse(p.text);
            PtxShape s = fuzz_shape(m);
            blocks += s.blocks, data += s.data_insns;
            ptx_free(m);
        }
        print_message("%s: %.1f blocks, %.1f data statements a block\n", gen_kind_name((GenKind)k),
                      blocks / 40, data / blocks);
        assert_true(blocks / 40 >= 25);
        assert_true(data / blocks >= 3);
    }
    gen_program_free(&p);
    gen_forms_free(&forms);
}

/* ---- traces ---- */
static LaneTraces trace(PtxModule *m) {
    static uint8_t params[16];
    static const Launch l = {
        .grid = {1, 1, 1}, .block = {2, 1, 1}, .params = params, .param_bytes = sizeof params};
    Diags d = {.sink = diag_print_sink, .user = stderr};
    LaneTraces t;
    SimMemory *mem = simmem_create();
    uint64_t in = simmem_alloc(mem, "in", 64), out = simmem_alloc(mem, "out", 64);
    memcpy(params, &in, 8);
    memcpy(params + 8, &out, 8);
    fuzz_traces_start(&t, m, &l, 0);
    PtxRunOptions o = {.on_event = fuzz_trace_ptx, .user = &t};
    PtxRunResult r;
    assert_true(interp_run(m, "fuzz", &l, mem, &o, &r, &d));
    assert_int_equal(r.trap.kind, TRAP_NONE);
    simmem_free(mem);
    return t;
}

/* The same memory at the end, by other stores or in another order: each is seen. */
static void test_lane_traces(void **state) {
    (void)state;
#define STORES(a, b, c) HEAD "ld.param.u64 %d0, [out];\nmov.u32 %r0, 1;\n" a b c "ret;\n}\n"
    static const char *const others[] = {
        STORES("st.global.u32 [%d0+4], 2;\n", "st.global.u32 [%d0], %r0;\n", "st.global.u32 [%d0+8], 3;\n"),
        STORES("st.global.u32 [%d0], %r0;\n", "st.global.u32 [%d0+4], 3;\n",
               "st.global.u32 [%d0+8], 3; st.global.u32 [%d0+4], 2;\n"),
        STORES("st.global.u32 [%d0], %r0;\n", "\n", "st.global.u32 [%d0+8], 3; st.global.u32 [%d0+4], 2;\n")};
    static const char same[] =
        STORES("st.global.u32 [%d0], %r0;\n", "st.global.u32 [%d0+4], 2;\n", "st.global.u32 [%d0+8], 3;\n");
    char text[200];
    PtxModule *m = parse(same);
    LaneTraces a = trace(m), b = trace(m);
    assert_int_equal(fuzz_traces_events(&a), 6); /* three of two threads */
    assert_true(fuzz_traces_equal(&a, &b, NULL, text, sizeof text));
    fuzz_traces_free(&b);
    for (unsigned k = 0; k < 3; k++) {
        PtxModule *n = parse(others[k]);
        b = trace(n);
        assert_false(fuzz_traces_equal(&a, &b, NULL, text, sizeof text));
        fuzz_traces_free(&b);
        ptx_free(n);
    }
    fuzz_traces_free(&a);
    ptx_free(m);
}

/* ---- the oracle ---- */
static uint64_t stack_issues(const GenGraph *g, const unsigned (*paths)[8], unsigned npaths) {
    uint8_t *out = calloc(32, GEN_OUT_BYTES);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned k = 0; k < 8; k++)
            memcpy(out + (size_t)lane * GEN_OUT_BYTES + GEN_LOG_OFFSET + 8 * (size_t)k,
                   &paths[lane % npaths][k], 4);
    uint64_t n = fuzz_stack_issues(g, out);
    free(out);
    return n;
}

static void test_stack(void **state) {
    (void)state;
    /* a diamond: 0, 1, 2, and 3 together */
    GenGraph diamond = {.n = 3, .nsucc = {2, 1, 1}, .succ = {{1, 2}, {3}, {3}}};
    assert_int_equal(stack_issues(&diamond, (const unsigned[][8]){{0, 1, 3}, {0, 2, 3}}, 2), 4);
    assert_int_equal(stack_issues(&diamond, (const unsigned[][8]){{0, 1, 3}}, 1), 3);
    /* 0 to 1 or 2, 1 to 3 or 2, 2 to 3: joined at 3 only, so 2 runs once for each side */
    GenGraph early = {.n = 3, .nsucc = {2, 2, 1}, .succ = {{1, 2}, {3, 2}, {3}}};
    assert_int_equal(stack_issues(&early, (const unsigned[][8]){{0, 1, 3}, {0, 1, 2, 3}, {0, 2, 3}}, 3), 5);
    /* lanes leave a loop after one, two and three rounds */
    GenGraph loop = {.n = 1, .nsucc = {2}, .succ = {{1, 0}}};
    assert_int_equal(stack_issues(&loop, (const unsigned[][8]){{0, 1}, {0, 0, 1}, {0, 0, 0, 1}}, 3), 4);
    /* some exit on the way, so that nothing comes after every way out of 0: 3 runs twice */
    GenGraph dead_end = {.n = 3, .nsucc = {2, 2, 1}, .succ = {{1, 2}, {3, 4}, {3}}};
    dead_end.n = 4;
    assert_int_equal(stack_issues(&dead_end, (const unsigned[][8]){{0, 1, 3}, {0, 1, 4}, {0, 2, 3}}, 3), 6);
}

/* ---- programs that once failed ---- */
static void test_regress(void **state) {
    (void)state;
    DIR *dir = opendir(REGRESS_DIR);
    unsigned n = 0;
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[512];
        Arena a = {0};
        Diags d = {.sink = diag_print_sink, .user = stderr};
        GenProgram p = {0};
        if (!strstr(e->d_name, ".ptx"))
            continue;
        snprintf(path, sizeof path, "%s/%s", REGRESS_DIR, e->d_name);
        assert_true(file_read(&a, path, &d, &p.text, &p.size_bytes));
        assert_true(gen_read_header(&p));
        FuzzVerdict v = fuzz_check_everywhere(&p, &(FuzzConfig){0});
        if (v.cls != FUZZ_EQUAL)
            print_error("%s: %s %s with %s\n%s\n", path, fuzz_class_name(v.cls), v.detail, v.config, v.text);
        assert_int_equal(v.cls, FUZZ_EQUAL);
        arena_free(&a);
        n++;
    }
    closedir(dir);
    assert_true(n >= 5);
}

/* ---- smoke ---- */
static void failed(void *user, const FuzzFailure *failure) {
    (void)user;
    print_error("%s %llu: %s %s with %s\n%s\n", gen_kind_name(failure->kind),
                (unsigned long long)failure->index, fuzz_class_name(failure->verdict.cls),
                failure->verdict.detail, failure->verdict.config, failure->verdict.text);
}

static void test_smoke(void **state) {
    (void)state;
    unsigned smoke = 40 / test_part();
    FuzzOptions o = {.count = smoke,
                     .seed = 20,
                     .opt_level = FUZZ_ALL_LEVELS,
                     .max_failures = 3,
                     .reduce_seconds = 1,
                     .on_failure = failed};
    FuzzReport r;
    Diags d = {.sink = diag_print_sink, .user = stderr};
    for (unsigned k = 0; k < GEN_KINDS; k++)
        o.kinds[k] = true;
    assert_true(fuzz_campaign(&o, &r, &d));
    assert_int_equal(r.failures, 0);
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        assert_int_equal(r.kind[k].programs, smoke);
        assert_true(r.kind[k].unsupported < smoke / 4);
        assert_true(r.kind[k].runs >= 2 * smoke);
    }
}

static void test_state(void **state) {
    (void)state;
    char path[] = "fuzz-state.tmp";
    FuzzOptions o = {
        .count = 8, .seed = 21, .opt_level = 1, .policies = FUZZ_POLICIES_DEFAULT, .state_file = path};
    FuzzReport first, second;
    Diags d = {0};
    o.kinds[GEN_ARITH] = true;
    remove(path);
    assert_true(fuzz_campaign(&o, &first, &d));
    assert_int_equal(first.kind[GEN_ARITH].programs, 8);
    assert_true(fuzz_campaign(&o, &second, &d)); /* nothing is left to do */
    assert_int_equal(second.kind[GEN_ARITH].programs, 8);
    assert_int_equal(second.kind[GEN_ARITH].runs, first.kind[GEN_ARITH].runs);
    o.seed = 22; /* another campaign */
    assert_false(fuzz_campaign(&o, &second, &d));
    assert_int_equal(d.nerrors, 1);
    remove(path);
}

/* Jobs only share the work. Under literal policies a hang is a number. Metrics cover both YIELD settings. */
static void test_jobs_and_metrics(void **state) {
    (void)state;
    FuzzOptions o = {.count = 128,
                     .seed = 23,
                     .opt_level = 1,
                     .policies = FUZZ_POLICIES_DEFAULT,
                     .max_failures = 3,
                     .jobs = 1};
    FuzzReport one, two;
    Diags d = {.sink = diag_print_sink, .user = stderr};
    o.kinds[GEN_PREDICATION] = true;
    assert_true(fuzz_campaign(&o, &one, &d));
    o.jobs = 2;
    assert_true(fuzz_campaign(&o, &two, &d));
    assert_int_equal(one.jobs, 1);
    assert_int_equal(two.jobs, 2);
    two.kind[GEN_PREDICATION].cpu_us = one.kind[GEN_PREDICATION].cpu_us;
    assert_memory_equal(&one.kind[GEN_PREDICATION], &two.kind[GEN_PREDICATION], sizeof one.kind[0]);
    /* none of these programs has a loop that observes memory: its YIELD would count as a B operation below */
    o = (FuzzOptions){.count = 96,
                      .seed = 34,
                      .opt_level = 2,
                      .policies = FUZZ_POLICIES_DEFAULT,
                      .max_failures = 3,
                      .metrics = true};
    o.kinds[GEN_CFG] = true;
    assert_true(fuzz_campaign(&o, &one, &d));
    const FuzzCounts *counts = &one.kind[GEN_CFG];
    assert_int_equal(counts->failures, 0);
    for (unsigned k = 0; k < FUZZ_METRICS; k++) {
        const FuzzMetric *fuzz_metric = &counts->metric[k];
        assert_true(fuzz_metric->programs > 4);
        assert_int_equal(fuzz_metric->stack_issues, counts->metric[0].stack_issues);
        assert_true(fuzz_metric->block_issues >= fuzz_metric->programs * 3);
        assert_true(fuzz_metric->lane_issues <= 32 * fuzz_metric->issues);
    }
    assert_true((double)counts->metric[RECONV_IPDOM].block_issues <=
                0.92 * (double)counts->metric[RECONV_IPDOM].stack_issues);
    assert_true((double)counts->metric[RECONV_FRONTIER].block_issues <=
                0.70 * (double)counts->metric[RECONV_FRONTIER].stack_issues);
    assert_true((double)counts->metric[RECONV_FRONTIER_ALL].block_issues <=
                0.70 * (double)counts->metric[RECONV_FRONTIER_ALL].stack_issues);
    assert_true(counts->metric[RECONV_IPDOM].block_issues < counts->metric[RECONV_NONE].block_issues);
    assert_int_equal(counts->metric[RECONV_NONE].b_issues, 0);
    o = (FuzzOptions){
        .count = 8, .seed = 25, .opt_level = 2, .policies = FUZZ_POLICIES_LITERAL, .max_failures = 3};
    o.kinds[GEN_STRUCTURED] = true;
    assert_true(fuzz_campaign(&o, &one, &d));
    assert_int_equal(one.failures, 0);
    assert_int_equal(one.kind[GEN_STRUCTURED].literal_runs + one.kind[GEN_STRUCTURED].break_runs,
                     8 * FUZZ_NLITERAL);
}

/* Every machine runs programs of every kind: PTX of a .target that it takes, and the addresses of its shared
 * memory are no difference. */
static void test_targets(void **state) {
    (void)state;
    Diags d = {.sink = diag_print_sink, .user = stderr};
    for (unsigned t = 0; isa_targets[t]; t++) {
        FuzzReport report;
        FuzzOptions o = {
            .target = isa_targets[t], .count = 6, .seed = 9, .opt_level = FUZZ_SAMPLED, .max_failures = 3};
        memset(o.kinds, true, sizeof o.kinds);
        assert_true(fuzz_campaign(&o, &report, &d));
        assert_int_equal(report.failures, 0);
        for (unsigned k = 0; k < GEN_KINDS; k++)
            assert_true(report.kind[k].runs >= report.kind[k].programs);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_same_program),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_reduction),
        cmocka_unit_test(test_regress),
        cmocka_unit_test(test_smoke),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_lane_traces),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_jobs_and_metrics),
        cmocka_unit_test(test_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
