/* The pass that joins accesses to adjacent words, on hand-written functions: what becomes one access, at
 * which alignments, and what keeps accesses apart. SPDX-License-Identifier: MIT */
#include "opt_text.h"

static void joins(const char *body, const char *has, const char *has_not) {
    Loaded l;
    load(&l, body);
    assert_true(pass_join(l.f, &l.d));
    expect(&l, has, has_not);
    unload(&l);
}

#define BEGIN "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n"
#define USES                                                                                                 \
    "  STG _, _, 0x0, %r3\n  STG _, _, 0x4, %r4\n  STG _, _, 0x8, %r5\n  STG _, _, 0xc, %r6\n  EXIT _\n"
#define FOUR                                                                                                 \
    "  %r3 = LDS %r2, _, 0x20\n  %r4 = LDS %r2, _, 0x24\n  %r5 = LDS %r2, _, 0x28\n  %r6 = LDS %r2, _, "     \
    "0x2c\n" USES

/* What the base is a multiple of says how wide the access becomes. */
static void test_alignment(void **state) {
    (void)state;
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n" FOUR, "[%r3 %r4 %r5 %r6] = LDS(sz=0x6) %r2, _, 0x20",
          "= LDS %r2");
    joins(BEGIN "  %r2 = SHF %r1, 0x3, RZ\n" FOUR, "[%r5 %r6] = LDS(sz=0x5) %r2, _, 0x28", "LDS(sz=0x6)");
    joins(BEGIN "  %r2 = SHF %r1, 0x2, RZ\n" FOUR, NULL, "LDS(");
    joins(BEGIN "  %r2 = IMAD %r1, 0x30, RZ, _\n" FOUR, "LDS(sz=0x6)", NULL);
    joins(BEGIN "  %r2, _ = LOP3(lut=0xc0) %r1, 0xfffffff0, RZ, !PT\n" FOUR, "LDS(sz=0x6)", NULL);
    joins(BEGIN "  %r2, _ = LOP3(lut=0xc0) %r1, 0xfffffff4, RZ, !PT\n" FOUR, NULL, "LDS(");
    joins(BEGIN "  %r7 = SHF %r1, 0x4, RZ\n  %r2, _, _ = IADD3 %r7, 0x8, RZ, !PT, !PT\n" FOUR,
          "[%r3 %r4] = LDS(sz=0x5) %r2, _, 0x20", "LDS(sz=0x6)");
    joins(BEGIN "  %r7 = SHF %r1, 0x4, RZ\n  %r2, _, _ = IADD3 0x10, -%r7, RZ, !PT, !PT\n" FOUR,
          "LDS(sz=0x6)", NULL);
    joins(BEGIN "  %r2 = frame_addr 0x10\n  %r3 = LDL %r2, _, 0x0\n  %r7 = frame_addr 0x14\n"
                "  %r4 = LDL %r7, _, 0x0\n  %r5 = LDL %r2, _, 0x8\n  %r6 = LDL %r7, _, 0x8\n" USES,
          "[%r3 %r4 %r5 %r6] = LDL(sz=0x6) %r2, _, 0x0", "= LDL %r");
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  %r3 = LDC %r2, c[0x3][0x8]\n  %r4 = LDC %r2, c[0x3][0xc]\n"
                "  %r5 = LDC %r2, c[0x3][0x10]\n  %r6 = LDC %r2, c[0x3][0x14]\n" USES,
          "[%r5 %r6] = LDC(sz=0x5) %r2, c[0x3][0x10]", "= LDC %r2");
}

#define LOOP(step)                                                                                           \
    "bb1: preds() succs(bb2)\n  %r1 = S2R SR[tid.x]\n  %r7 = SHF %r1, 0x4, RZ\n  BRA _, _, bb2\n"            \
    "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r2 = phi %r7, %r8\n"                                             \
    "  %r3 = LDS %r2, _, 0x0\n  %r4 = LDS %r2, _, 0x4\n  %r5 = LDS %r2, _, 0x8\n"                            \
    "  %r6 = LDS %r2, _, 0xc\n  %r8, _, _ = IADD3 %r2, " step ", RZ, !PT, !PT\n"                             \
    "  %p9, _ = ISETP(cmp=LT) %r8, 0x400, PT, PT\n  @%p9 BRA _, _, bb2\n  BRA _, _, bb3\n"                   \
    "bb3: preds(bb2) succs()\n" USES

/* Around a loop: a base that moves on by 16 stays what it was, one that moves on by 8 is a multiple of 8. */
static void test_loop(void **state) {
    (void)state;
    joins(LOOP("0x10"), "[%r3 %r4 %r5 %r6] = LDS(sz=0x6)", NULL);
    joins(LOOP("0x8"), "[%r5 %r6] = LDS(sz=0x5)", "LDS(sz=0x6)");
    joins(LOOP("0x4"), NULL, "LDS(");
}

#define TWO(between)                                                                                         \
    BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  %r3 = LDS %r2, _, 0x0\n" between "  %r4 = LDS %r2, _, 0x4\n"          \
          "  STG _, _, 0x0, %r3\n  STG _, _, 0x4, %r4\n  EXIT _\n"

/* What may lie between two loads, and what may not. */
static void test_between(void **state) {
    (void)state;
    const char *joined = "[%r3 %r4] = LDS(sz=0x5) %r2, _, 0x0", *apart = "%r4 = LDS %r2, _, 0x4";
    joins(TWO(""), joined, NULL);
    joins(TWO("  STG _, _, 0x10, %r1\n"), joined, NULL);
    joins(TWO("  STL _, _, 0x10, %r1\n"), joined, NULL);
    joins(TWO("  %r5 = LDS %r1, _, 0x0\n"), joined, NULL);
    joins(TWO("  STS _, _, 0x10, %r1\n"), apart, joined);
    joins(TWO("  STS %r2, _, 0x10, %r1\n"), apart, joined);
    joins(TWO("  ST _, _, 0x10, %r1\n"), apart, joined);
    joins(TWO("  BAR 0x0, _, _, !PT\n"), apart, joined);
    joins(TWO("  MEMBAR\n"), apart, joined);
    joins(TWO("  %p6, _ = ISETP %r1, 0x4, PT, PT\n  @%p6 EXIT PT\n"), apart, joined);
    joins(TWO("  %r5 = LDS %r1, _, 0x0 flags[memory observing side alone]\n"), apart, joined);
}

/* Volatile accesses, narrow ones, guarded ones, and pieces of unlike kinds stay as they are. */
static void test_kept(void **state) {
    (void)state;
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  %r3 = LDS %r2, _, 0x0\n  %r4 = LDS %r2, _, 0x4\n"
                "  STS %r2, _, 0x8, %r3 flags[memory side alone]\n  STG _, _, 0x0, %r4\n  EXIT _\n",
          NULL, "sz=0x5");
    joins(BEGIN "  %r2 = frame_addr 0x0\n  %r3 = LDL %r2, _, 0x0\n  %r4 = LDL %r2, _, 0x4\n"
                "  STS %r1, _, 0x8, %r3 flags[memory side alone]\n  STG _, _, 0x0, %r4\n  EXIT _\n",
          "LDL(sz=0x5)", NULL);
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  %r3 = LDS %r2, _, 0x0 flags[memory alone]\n"
                "  %r4 = LDS %r2, _, 0x4 flags[memory alone]\n  STG _, _, 0x0, %r3\n  STG _, _, 0x4, %r4\n"
                "  EXIT _\n",
          NULL, "sz=0x5");
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  %r3 = LDS(sz=0x2) %r2, _, 0x0\n"
                "  %r4 = LDS(sz=0x2) %r2, _, 0x2\n  STG _, _, 0x0, %r3\n  STG _, _, 0x4, %r4\n  EXIT _\n",
          NULL, "sz=0x5");
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  %p5, _ = ISETP %r1, 0x4, PT, PT\n"
                "  @%p5 STS %r2, _, 0x0, %r1\n  @%p5 STS %r2, _, 0x4, %r2\n  EXIT _\n",
          NULL, "sz=0x5");
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  %r7 = SHF %r1, 0x5, RZ\n  %r3 = LDS %r2, _, 0x0\n"
                "  %r4 = LDS %r7, _, 0x4\n  STG _, _, 0x0, %r3\n  STG _, _, 0x4, %r4\n  EXIT _\n",
          NULL, "sz=0x5");
}

#define STORES(a, b, between)                                                                                \
    BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  %r3 = S2R SR[tid.y]\n  STS %r2, _, 0x0, " a "\n" between              \
          "  STS %r2, _, 0x4, " b "\n  EXIT _\n"

/* Stores: where the last one is, in any order of addresses, unless registers would have to be filled. */
static void test_stores(void **state) {
    (void)state;
    joins(STORES("%r1", "%r3", ""), "STS(sz=0x5) %r2, _, 0x0, [%r1 %r3]", "STS %r2");
    joins(STORES("%r1", "%r3", "  STG _, _, 0x0, %r1\n"), "STS(sz=0x5) %r2, _, 0x0, [%r1 %r3]", "STS %r2");
    joins(STORES("%r1", "%r3", "  %r5 = LDS %r1, _, 0x0\n"), "STS %r2, _, 0x4, %r3", "sz=0x5");
    joins(STORES("%r1", "%r3", "  STS %r1, _, 0x40, %r1\n"), "STS %r2, _, 0x4, %r3", "sz=0x5");
    joins(STORES("%r1", "%r1", ""), "STS %r2, _, 0x4, %r1", "sz=0x5");
    joins(STORES("RZ", "%r1", ""), "STS %r2, _, 0x4, %r1", "sz=0x5");
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  %r3 = S2R SR[tid.y]\n  %r4 = S2R SR[tid.z]\n"
                "  STS %r2, _, 0xc, %r1\n  STS %r2, _, 0x8, RZ\n  STS %r2, _, 0x4, %r3\n"
                "  STS %r2, _, 0x0, %r4\n  EXIT _\n",
          "STS(sz=0x6) %r2, _, 0x0, [%r4 %r3 %r", "RZ\n  STS");
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  %r3 = S2R SR[tid.y]\n  STS %r2, _, 0x0, %r1\n"
                "  STS %r2, _, 0x10, %r2\n  STS %r2, _, 0x4, %r3\n  EXIT _\n",
          "STS %r2, _, 0x4, %r3", "sz=0x5"); /* the stores of one place and the next stay in their order */
}

/* Loads whose words lie `words` values apart: those of the last come up to the first, above all that are
 * live. */
static void with_live(unsigned words, const char *has, const char *has_not) {
    char body[16384];
    int n = snprintf(body, sizeof body, "%s", BEGIN "  %r2 = SHF %r1, 0x4, RZ\n");
    for (unsigned k = 0; k < words; k++)
        n += snprintf(body + n, sizeof body - (size_t)n, "  %%r%u = S2R SR[tid.y]\n", 100 + k);
    n += snprintf(body + n, sizeof body - (size_t)n,
                  "  %%r3 = LDS %%r2, _, 0x0\n  STG _, _, 0x0, %%r3\n  %%r4 = LDS %%r2, _, 0x4\n"
                  "  STG _, _, 0x4, %%r4\n  %%r5 = LDS %%r2, _, 0x8\n  STG _, _, 0x8, %%r5\n"
                  "  %%r6 = LDS %%r2, _, 0xc\n  STG _, _, 0xc, %%r6\n");
    for (unsigned k = 0; k < words; k++)
        n += snprintf(body + n, sizeof body - (size_t)n, "  STG _, _, 0x%x, %%r%u\n", 0x100 + 4 * k, 100 + k);
    snprintf(body + n, sizeof body - (size_t)n, "  EXIT _\n");
    joins(body, has, has_not);
}

/* With 32 registers a thread a multiprocessor is full: three of them are not the function's, seven are spare.
 */
static void test_room(void **state) {
    (void)state;
    const char *four = "LDS(sz=0x6)", *two = "LDS(sz=0x5)";
    with_live(10, four, two);
    with_live(16, four, two);
    with_live(19, two, four);
    with_live(24, NULL, "LDS(sz");
    with_live(28, four, two); /* it is not full, and as it was up to 40, of which three are spare */
}

/* Zeros alone are RZ, however wide; beside other words they take a register each, if that pays. */
static void test_zeros(void **state) {
    (void)state;
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  STS %r2, _, 0x0, RZ\n  STS %r2, _, 0x4, RZ\n"
                "  STS %r2, _, 0x8, RZ\n  STS %r2, _, 0xc, RZ\n  EXIT _\n",
          "STS(sz=0x6) %r2, _, 0x0, RZ", "MOV");
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  STS(sz=0x5) %r2, _, 0x0, RZ\n"
                "  STS(sz=0x5) %r2, _, 0x8, RZ\n  EXIT _\n",
          "STS(sz=0x6) %r2, _, 0x0, RZ", "MOV");
    joins(BEGIN "  %r2 = SHF %r1, 0x4, RZ\n  STS(sz=0x5) %r2, _, 0x0, RZ\n"
                "  STS(sz=0x5) %r2, _, 0x8, [%r1 %r2]\n  EXIT _\n",
          NULL, "STS(sz=0x6)");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_zeros), cmocka_unit_test(test_alignment),
                                       cmocka_unit_test(test_loop),  cmocka_unit_test(test_between),
                                       cmocka_unit_test(test_kept),  cmocka_unit_test(test_stores),
                                       cmocka_unit_test(test_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
