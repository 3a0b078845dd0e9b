/* The pass that makes loops of known rounds straight code: how many rounds there are and with what numbers,
 * of every way to count; what stands against it; values that are read behind loops with several exits.
 * SPDX-License-Identifier: MIT */
#include "lower/lower.h"
#include "lower/passes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct {
    Diags d;
    PtxModule *ptx;
    StrTab strings;
    IrModule *ir;
    Function *f;
} Test;

/* `body` is a kernel's, with %r, %l and %p; %r1 is the thread's number and %l1 an address. */
static void unroll(Test *test, const char *pragma, const char *body) {
    char text[4096];
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_80\n.address_size 64\n%s\n"
             ".visible .entry k(.param .u64 p) {\n.reg .b32 %%r<9>; .reg .b64 %%l<9>; .reg .pred %%p<9>;\n"
             "mov.u32 %%r1, %%tid.x; ld.param.u64 %%l1, [p];\n%s\nret;\n}\n",
             pragma, body);
    *test = (Test){.d = {.sink = diag_print_sink, .user = stderr}};
    test->ptx = ptx_parse("test.ptx", text, strlen(text), &test->d);
    assert_non_null(test->ptx);
    test->d.source = &test->ptx->source;
    test->ir = lower_module(test->ptx, &test->strings, isa_target("sm_80"), 2, &test->d);
    assert_non_null(test->ir);
    test->f = test->ir->funcs.at[0];
    assert_true(pass_fold(test->f, &test->d) && pass_branches(test->f, &test->d) &&
                pass_unroll(test->f, &test->d));
    assert_true(ir_verify(test->f, &test->d, "unroll"));
}

static void done(Test *test) {
    ir_module_free(test->ir);
    ptx_free(test->ptx);
    str_free(&test->strings);
}

/* The numbers that the function stores, in the order of its text, as "1 2 3 "; "?" for what is none. */
static void stored(const Test *test, char *out, size_t size) {
    Function *f = test->f;
    size_t at = 0;
    out[0] = 0;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            if (i->op != OT_STG)
                continue;
            Operand o = *ir_src(f, i, STG_rb);
            InstId def = o.kind == OPK_VAL ? ir_value(f, ir_operand_value(f, o, 0))->def : (InstId){0};
            if (def.i && ir_inst(f, def)->op == OT_MOV)
                o = *ir_src(f, ir_inst(f, def), MOV_rb);
            bool zero = o.kind == OPK_REG && o.value == REG_RZ;
            at += (size_t)(o.kind == OPK_IMM || zero
                               ? snprintf(out + at, size - at, "%d ", zero ? 0 : (int)o.value)
                               : snprintf(out + at, size - at, "? "));
        }
}

static bool has_loop(const Test *test) {
    const Function *f = test->f;
    FOR_BLOCKS(f, b)
        for (unsigned s = 0; s < f->blocks.at[b.i].succs.n; s++)
            if (f->blocks.at[f->blocks.at[b.i].succs.at[s].i].order <= f->blocks.at[b.i].order)
                return true;
    return false;
}

static void expect(const char *body, const char *numbers) {
    Test t;
    char text[1024];
    unroll(&t, "", body);
    stored(&t, text, sizeof text);
    assert_string_equal(text, numbers);
    assert_false(has_loop(&t));
    done(&t);
}

static void expect_loop(const char *pragma, const char *body) {
    Test t;
    unroll(&t, pragma, body);
    assert_true(has_loop(&t));
    done(&t);
}

#define COUNT(type, start, step, test)                                                                       \
    "mov." type " %r2, " start "; L: st.global.u32 [%l1], %r2; add." type " %r2, %r2, " step "; setp." test  \
    "; @%p1 bra L;"

static void test_rounds(void **state) {
    (void)state;
    expect(COUNT("s32", "0", "1", "lt.s32 %p1, %r2, 4"), "0 1 2 3 ");
    expect(COUNT("s32", "0", "3", "lt.s32 %p1, %r2, 7"), "0 3 6 ");
    expect(COUNT("s32", "5", "-2", "ge.s32 %p1, %r2, 0"), "5 3 1 ");
    expect(COUNT("s32", "7", "1", "lt.s32 %p1, %r2, 3"), "7 ");                  /* once at least */
    expect(COUNT("u32", "0xfffffffe", "1", "ne.u32 %p1, %r2, 2"), "-2 -1 0 1 "); /* past zero */
    expect(COUNT("s32", "2147483645", "2", "gt.s32 %p1, %r2, 0"),
           "2147483645 2147483647 ");                                /* past the end */
    expect(COUNT("u32", "2", "-1", "lt.u32 %p1, %r2, 9"), "2 1 0 "); /* 0 - 1 is large */
    expect("mov.u32 %r2, 1; L: st.global.u32 [%l1], %r2; shl.b32 %r2, %r2, 2; setp.ne.u32 %p1, %r2, 64;"
           "@%p1 bra L;",
           "1 4 16 ");
    expect("mov.u64 %l2, 4294967295; L: cvt.u32.u64 %r2, %l2; st.global.u32 [%l1], %r2;"
           "add.s64 %l2, %l2, 1; setp.lt.s64 %p1, %l2, 4294967298; @%p1 bra L;",
           "-1 0 ? ");
    expect("mov.u32 %r2, 0; L: setp.ge.u32 %p1, %r2, 3; @%p1 bra E; st.global.u32 [%l1], %r2;"
           "add.u32 %r2, %r2, 1; bra L; E:",
           "0 1 2 ");
    expect("mov.u32 %r2, 0; L: mov.u32 %r3, 7; M: add.u32 %r4, %r2, %r3; st.global.u32 [%l1], %r4;"
           "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 9; @%p1 bra M; add.u32 %r2, %r2, 2;"
           "setp.lt.u32 %p2, %r2, 4; @%p2 bra L;",
           "7 8 9 10 "); /* first the inner loop, then the one around it */
}

/* A loop that is left in several places: what is read behind it is what the round had that was left. */
static void test_exits(void **state) {
    (void)state;
    const char *twice =
        "mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; shr.u32 %r3, %r1, %r2; setp.eq.u32 %p2, %r3, 5;"
        "@%p2 bra E; setp.lt.u32 %p1, %r2, 3; @%p1 bra L; st.global.u32 [%l1], %r2;"
        "E: st.global.u32 [%l1+4], %r2;";
    expect(twice, "3 ? ");
    Test t;
    unroll(&t, "", twice);
    unsigned exits = 0;
    Function *f = t.f;
    FOR_BLOCKS(f, b) /* three breaks, of rounds 1, 2 and 3, and the end of the last one */
        FOR_PHIS(f, b, phi)
            exits += phi->nsrc == 4;
    assert_int_equal(exits, 1);
    done(&t);
    expect("mov.u32 %r2, 0; L: setp.eq.u32 %p2, %r1, %r2; @%p2 bra C; st.global.u32 [%l1], %r2;"
           "C: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 3; @%p1 bra L; st.global.u32 [%l1], %r2;",
           "0 1 2 3 ");
    expect("mov.u32 %r2, 0; L: setp.eq.u32 %p2, %r1, %r2; @%p2 exit; st.global.u32 [%l1], %r2;"
           "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 2; @%p1 bra L;",
           "0 1 ");
}

static void test_kept(void **state) {
    (void)state;
    const char *few = COUNT("s32", "0", "1", "lt.s32 %p1, %r2, 4");
    expect_loop(".pragma \"nounroll\";", few);
    expect_loop("", "mov.u32 %r2, 0; L: .pragma \"nounroll\"; st.global.u32 [%l1], %r2; add.u32 %r2, %r2, 1;"
                    "setp.lt.u32 %p1, %r2, 4; @%p1 bra L;");
    expect_loop("", COUNT("s32", "0", "1", "lt.s32 %p1, %r2, 400"));
    expect_loop("", COUNT("s32", "0", "1", "lt.s32 %p1, %r2, %r1"));
    expect_loop("", COUNT("s32", "%r1", "1", "lt.s32 %p1, %r2, 4"));
    expect_loop("", COUNT("s32", "0", "2", "ne.s32 %p1, %r2, 7")); /* for ever */
    expect_loop("",
                "mov.u32 %r2, 0; L: bar.sync 0; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 4; @%p1 bra L;");
    expect_loop("", "mov.u32 %r2, 0; L: shfl.sync.idx.b32 %r1, %r1, 1, 31, -1; add.u32 %r2, %r2, 1;"
                    "setp.lt.u32 %p1, %r2, 4; @%p1 bra L; st.global.u32 [%l1], %r1;");
    /* a round is counted only in some of the rounds */
    expect_loop("", "mov.u32 %r2, 0; L: ld.global.u32 %r3, [%l1]; setp.eq.u32 %p2, %r3, 1; @%p2 bra C;"
                    "setp.ge.u32 %p1, %r2, 4; @%p1 bra E; C: add.u32 %r2, %r2, 1; bra L; E:");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounds), cmocka_unit_test(test_exits),
                                       cmocka_unit_test(test_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
