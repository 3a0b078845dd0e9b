/* The fuzzer: its programs are legal and follow from the seed; it finds and reduces a difference that is planted;
 * programs that once failed pass under every level, limit and policy.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/fuzz.h"
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

/* ---- what fuzz_check sees ---- */
#define HEAD "// fuzz block=32,1,1 grid=1,1,1 in=256 out=128 data=1\n.version 8.6\n.target sm_90\n.address_size 64\n" \
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
    static const char text[] = HEAD "ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nadd.u32 %r1, %r0, 5;\n"
                                    "setp.lt.u32 %p0, %r0, 16;\n@%p0 bra L1;\nst.global.u32 [%d0], %r0;\nbra L2;\nL1:\n"
                                    "st.global.u32 [%d0], %r1;\nL2:\nmul.lo.u32 %r2, %r1, %r0;\nxor.b32 %r3, %r2, %r1;\n"
                                    "st.global.u32 [%d0+4], 7;\nret;\n}\n";
    GenProgram p = {0};
    p.text = malloc(sizeof text + 32);
    assert_non_null(p.text);
    const char *at = strstr(text, "ld.param");
    p.size_bytes = (size_t)snprintf(p.text, sizeof text + 32, "%.*s.reg .pred %%p<2>;\n%s", (int)(at - text), text, at);
    assert_true(gen_read_header(&p));
    FuzzConfig c = {0};
    FuzzVerdict v = {0};
    for (unsigned k = 0; k < FUZZ_NPOLICIES && v.cls == FUZZ_EQUAL; k++) {
        fuzz_policy(k, &c.machine);
        v = fuzz_check(&p, &c, 1, NULL);
    }
    assert_int_equal(v.cls, FUZZ_MEMORY);
    size_t before = p.size_bytes;
    fuzz_reduce(&p, &c, &v, 10);
    assert_true(p.size_bytes < before);
    assert_null(strstr(p.text, "xor.b32"));
    assert_non_null(strstr(p.text, "st.global.u32"));
    FuzzVerdict again = fuzz_check(&p, &c, 1, NULL);
    assert_int_equal(again.cls, FUZZ_MEMORY);
    gen_program_free(&p);
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
        FuzzVerdict v = fuzz_check_everywhere(&p, NULL);
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
static void failed(void *user, const FuzzFailure *f) {
    (void)user;
    print_error("%s %llu: %s %s with %s\n%s\n", gen_kind_name(f->kind), (unsigned long long)f->index,
                fuzz_class_name(f->verdict.cls), f->verdict.detail, f->verdict.config, f->verdict.text);
}

static void test_smoke(void **state) {
    (void)state;
    FuzzOptions o = {.count = 40, .seed = 20, .opt_level = FUZZ_ALL_LEVELS, .reduce_seconds = 1, .on_failure = failed};
    FuzzReport r;
    Diags d = {.sink = diag_print_sink, .user = stderr};
    for (unsigned k = 0; k < GEN_KINDS; k++)
        o.kinds[k] = true;
    assert_true(fuzz_campaign(&o, &r, &d));
    assert_int_equal(r.failures, 0);
    for (unsigned k = 0; k < GEN_KINDS; k++) {
        assert_int_equal(r.kind[k].programs, 40);
        assert_true(r.kind[k].unsupported < 10);
        assert_true(r.kind[k].runs >= 90);
    }
}

static void test_state(void **state) {
    (void)state;
    char path[] = "fuzz-state.tmp";
    FuzzOptions o = {.count = 8, .seed = 21, .opt_level = 1, .policies = FUZZ_POLICIES_DEFAULT, .state_file = path};
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_same_program), cmocka_unit_test(test_header), cmocka_unit_test(test_classes),
        cmocka_unit_test(test_reduction),              cmocka_unit_test(test_regress), cmocka_unit_test(test_smoke),
        cmocka_unit_test(test_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
