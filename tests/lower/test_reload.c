/* The pass that loads nothing again that a register holds, on hand-written functions: what is reused, and
 * what stands against it. SPDX-License-Identifier: MIT */
#include "opt_text.h"

static void reloads(const char *body, const char *has, const char *has_not) {
    Loaded l;
    load(&l, body);
    assert_true(pass_reload(l.f, &l.d));
    expect(&l, has, has_not);
    unload(&l);
}

#define BEGIN "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %r9 = S2R SR[tid.z]\n"
#define TWO(first, between, second)                                                                          \
    BEGIN "  %r3" first "\n" between "  %r4" second "\n  STG %r9, _, 0x4, %r3\n  STG %r9, _, 0x8, %r4\n"     \
          "  EXIT _\n"
#define SHARED(between) TWO(" = LDS %r1, _, 0x20", between, " = LDS %r1, _, 0x20")
#define ONCE "STG %r9, _, 0x8, %r3", "%r4"
#define TWICE "STG %r9, _, 0x8, %r4", NULL

static void test_loads(void **state) {
    (void)state;
    reloads(SHARED(""), ONCE);
    reloads(TWO(", _ = LDG %r1, _, 0x0, _", "", ", _ = LDG %r1, _, 0x0, _"), ONCE);
    reloads(TWO(" = LDS(sz=0x1) %r1, _, 0x3", "", " = LDS(sz=0x1) %r1, _, 0x3"), ONCE);
    reloads(TWO(" = LDS(sz=0x1) %r1, _, 0x3", "", " = LDS(sz=0x0) %r1, _, 0x3"), TWICE); /* a sign */
    reloads(TWO(" = LDS %r1, _, 0x20", "", " = LDS %r1, _, 0x24"), TWICE);
    reloads(TWO(" = LDS %r1, _, 0x20", "", " = LDS %r2, _, 0x20"), TWICE);
    reloads(TWO(" = LDS %r1, _, 0x20", "", " = LDL %r1, _, 0x20"), TWICE);
}

/* The address of the second pair is what the first pair loads: both are found at once. */
static void test_chains(void **state) {
    (void)state;
    reloads(BEGIN "  %r3 = LDS %r1, _, 0x0\n  %r4 = LDS %r1, _, 0x0\n  %r5 = LDS %r3, _, 0x0\n"
                  "  %r6 = LDS %r4, _, 0x0\n  STG %r9, _, 0x0, %r5\n  STG %r9, _, 0x4, %r6\n  EXIT _\n",
            "STG %r9, _, 0x4, %r5", "%r6");
}

static void test_stores_between(void **state) {
    (void)state;
    reloads(SHARED("  STS %r1, _, 0x24, %r2\n"), ONCE);
    reloads(SHARED("  STS %r1, _, 0x1c, %r2\n"), ONCE);
    reloads(SHARED("  STG %r1, _, 0x20, %r2\n"), ONCE); /* another space */
    reloads(SHARED("  STS(sz=0x5) %r1, _, 0x1c, [%r2 %r1]\n"), TWICE);
    reloads(SHARED("  STS(sz=0x0) %r1, _, 0x23, %r2\n"), TWICE);
    reloads(SHARED("  STS %r2, _, 0x24, %r2\n"), TWICE); /* it may be anywhere */
    reloads(SHARED("  ST %r2, _, 0x0, %r2\n"), TWICE);   /* in shared memory, too */
    reloads(SHARED("  %r5 = ATOMS %r2, _, 0x0, %r2, _\n"), TWICE);
    reloads(SHARED("  WARPSYNC 0xffffffff, _\n"), TWICE);
    reloads(SHARED("  MEMBAR\n"), TWICE);
    reloads(SHARED("  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n"),
            TWICE); /* other threads have stored */
}

static void test_stored(void **state) {
    (void)state;
    const char *stored = "STG %r9, _, 0x8, %r2";
    reloads(TWO(" = MOV 0x1", "  STS %r1, _, 0x0, %r2\n", " = LDS %r1, _, 0x0"), stored, "LDS");
    reloads(TWO(" = MOV 0x1", "  STS %r1, _, 0x0, %r2\n  STS %r1, _, 0x4, %r3\n", " = LDS %r1, _, 0x0"),
            stored, "LDS");
    reloads(TWO(" = MOV 0x1", "  STS %r1, _, 0x0, %r2\n  STS %r1, _, 0x0, %r3\n", " = LDS %r1, _, 0x0"),
            ONCE);
    reloads(TWO(" = MOV 0x1", "  STS(sz=0x0) %r1, _, 0x0, %r2\n", " = LDS(sz=0x0) %r1, _, 0x0"), TWICE);
    reloads(TWO(" = MOV 0x1", "  STS %r1, _, 0x0, %r2\n", " = LDS(sz=0x0) %r1, _, 0x0"), TWICE);
    reloads(TWO(" = MOV 0x1", "  %p7, _ = ISETP %r1, %r2, PT, _\n  @%p7 STS %r1, _, 0x0, %r2\n",
                " = LDS %r1, _, 0x0"),
            TWICE);
}

/* What no store reaches while the kernel runs is not loaded again behind one. */
static void test_read_only(void **state) {
    (void)state;
    reloads(TWO(", _ = LDG(order=0x4) %r1, _, 0x0, _", "  STG %r2, _, 0x0, %r2\n",
                ", _ = LDG(order=0x4) %r1, _, 0x0, _"),
            ONCE);
    reloads(TWO(", _ = LDG %r1, _, 0x0, _", "  STG %r2, _, 0x0, %r2\n", ", _ = LDG %r1, _, 0x0, _"), TWICE);
}

#define STRONG "  %r5 = LDS %r2, _, 0x0 flags[memory alone]\n  STG %r9, _, 0x10, %r5\n"
/* Strong accesses stay, and shared memory that has some is not known at all. */
static void test_strong(void **state) {
    (void)state;
    reloads(TWO(", _ = LDG %r1, _, 0x0, _", STRONG, ", _ = LDG %r1, _, 0x0, _"), TWICE);
    reloads(TWO(" = LDS %r1, _, 0x0", "", " = LDS %r1, _, 0x0\n" STRONG), TWICE);
}

/* Into blocks that follow one alone, not to where ways meet. */
static void test_blocks(void **state) {
    (void)state;
    const char *text = "bb1: preds() succs(bb2 bb3)\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
                       "  %r3 = LDS %r1, _, 0x0\n  %p5, _ = ISETP %r1, %r3, PT, _\n"
                       "  @%p5 BRA _, _, bb2\n  BRA _, _, bb3\n"
                       "bb2: preds(bb1) succs(bb3)\n  %r6 = LDS %r1, _, 0x0\n  STS %r2, _, 0x0, %r6\n"
                       "  BRA _, _, bb3\n"
                       "bb3: preds(bb1 bb2) succs()\n  %r8 = LDS %r1, _, 0x0\n  STG _, _, 0x8, %r8\n"
                       "  EXIT _\n";
    reloads(text, "STS %r2, _, 0x0, %r3", "%r6");
    reloads(text, "STG _, _, 0x8, %r8", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loads),          cmocka_unit_test(test_chains),
                                       cmocka_unit_test(test_stores_between), cmocka_unit_test(test_stored),
                                       cmocka_unit_test(test_read_only),      cmocka_unit_test(test_strong),
                                       cmocka_unit_test(test_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
