/* The pass `exits` on hand-written IR: what is copied once for several edges, and what stays as it is.
 * SPDX-License-Identifier: MIT */
#include "pass_text.h"

/* Three tests, each of which may lead to the end. %r4 is changed under a guard and read behind the first
 * test, so that it cannot share a register with %r3, which the phi holds else. */
#define CHAIN(branch, held, one, two)                                                                        \
    "bb1: preds() succs(bb2)\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n  BRA _, _, bb2\n"              \
    "bb2: preds(bb1) succs(bb5 bb3)\n  %r3, _, _ = IADD3 %r1, 0x1, RZ, !PT, !PT\n"                           \
    "  %r4 = IMAD %r1, %r2, %r3, _\n  %p5, _ = ISETP(cmp=LT) %r3, %r2, PT, PT\n"                             \
    "  @%p5 BRA _, _, bb5" branch "\n  BRA _, _, bb3\n"                                                      \
    "bb3: preds(bb2) succs(bb5 bb4)\n  %r6, _, _ = IADD3 %r4, 0x7, RZ, !PT, !PT\n"                           \
    "  %p7, _ = ISETP(cmp=LT) %r6, %r2, PT, PT\n  @%p7 BRA _, _, bb5\n  BRA _, _, bb4\n"                     \
    "bb4: preds(bb3) succs(bb5)\n  %r8 = IMAD %r6, 0x3, " held ", _\n  BRA _, _, bb5\n"                      \
    "bb5: preds(bb2 bb3 bb4) succs()\n  %r9 = phi " one ", " two ", %r8\n"

static bool exits_of_parted(Function *f, Diags *d) {
    return pass_uniformity(f->module, d) && pass_exits(f, d);
}

static char *after(const char *body) {
    char blocks[4096];
    snprintf(blocks, sizeof blocks, "%s  EXIT _\n", body);
    return text_behind(exits_of_parted, blocks);
}

static void expect(const char *body, const char *there, const char *gone) {
    char *text = after(body);
    if (!strstr(text, there) || strstr(strstr(text, "bb1"), gone))
        fail_msg("wanted %s, not %s\n%s", there, gone, text);
    free(text);
}

/* The value lives on beside the phi's: one copy in front of the first branch. */
static void copied_once(void **state) {
    (void)state;
    expect(CHAIN("", "%r4", "%r4", "%r4") "  STG _, _, 0x0, %r9\n  STG _, _, 0x4, %r4\n",
           " = phi %r10, %r10, %r8", "phi %r4");
    expect(CHAIN("", "%r4", "%r4", "%r4") "  STG _, _, 0x0, %r9\n  STG _, _, 0x4, %r4\n", "%r10 = copy %r4",
           "phi %r4");
    expect(CHAIN("", "%r4", "0x11", "0x11") "  STG _, _, 0x0, %r9\n", "%r10 = copy 0x11", "phi 0x11");
}

/* One register does for the value and the phi; another value on each edge; lanes stay together. */
static void left_alone(void **state) {
    (void)state;
    expect(CHAIN("", "%r4", "%r4", "%r4") "  STG _, _, 0x0, %r9\n", "phi %r4, %r4, %r8", "copy");
    expect(CHAIN("", "%r4", "0x11", "0x12") "  STG _, _, 0x0, %r9\n", "phi 0x11, 0x12, %r8", "copy");
    expect(CHAIN("", "%r4", "%r4", "%r3") "  STG _, _, 0x0, %r9\n  STG _, _, 0x4, %r4\n", "phi %r4, %r3, %r8",
           "copy");
    expect(CHAIN(" flags[uniform]", "%r4", "%r4", "%r4") "  STG _, _, 0x0, %r9\n  STG _, _, 0x4, %r4\n",
           "phi %r4, %r4, %r8", "copy");
}

/* Out of a loop the copies stay behind it: in it one would be made in every round. */
static void out_of_a_loop(void **state) {
    (void)state;
    expect("bb1: preds() succs(bb2)\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n  BRA _, _, bb2\n"
           "bb2: preds(bb1 bb4) succs(bb5 bb3)\n  %r3 = phi %r1, %r6\n"
           "  %p5, _ = ISETP(cmp=LT) %r3, %r2, PT, PT\n  @%p5 BRA _, _, bb5\n  BRA _, _, bb3\n"
           "bb3: preds(bb2) succs(bb5 bb4)\n  %r6, _, _ = IADD3 %r3, 0x7, RZ, !PT, !PT\n"
           "  %p7, _ = ISETP(cmp=LT) %r6, %r2, PT, PT\n  @%p7 BRA _, _, bb5\n  BRA _, _, bb4\n"
           "bb4: preds(bb3) succs(bb5 bb2)\n  %p10, _ = ISETP(cmp=EQ) %r6, %r1, PT, PT\n"
           "  @%p10 BRA _, _, bb5\n  BRA _, _, bb2\n"
           "bb5: preds(bb2 bb3 bb4) succs()\n  %r9 = phi 0x5, 0x5, 0x6\n  STG _, _, 0x0, %r9\n",
           "phi 0x5, 0x5, 0x6", "copy");
}

/* Stages of an unrolled loop make n + 1, n + 2, ... of its counter and leave with them. `more` reads beside
 * it. */
#define COUNTER(third, more)                                                                                 \
    "bb1: preds() succs(bb2)\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n  BRA _, _, bb2\n"              \
    "bb2: preds(bb1 bb6) succs(bb6 bb3)\n  %r3 = phi RZ, %r12\n"                                             \
    "  %r4, _, _ = IADD3 %r3, 0x1, RZ, !PT, !PT\n  %p5, _ = ISETP(cmp=LT) %r4, %r2, PT, PT\n"                \
    "  @%p5 BRA _, _, bb6\n  BRA _, _, bb3\n"                                                                \
    "bb3: preds(bb2) succs(bb6 bb4)\n  %r6, _, _ = IADD3 %r3, 0x2, RZ, !PT, !PT\n"                           \
    "  %p7, _ = ISETP(cmp=EQ) %r6, %r1, PT, PT\n  @%p7 BRA _, _, bb6\n  BRA _, _, bb4\n"                     \
    "bb4: preds(bb3) succs(bb6 bb5)\n  %r8, _, _ = IADD3 %r3, " third ", RZ, !PT, !PT\n"                     \
    "  %p9, _ = ISETP(cmp=GT) %r8, %r1, PT, PT\n  @%p9 BRA _, _, bb6\n  BRA _, _, bb5\n"                     \
    "bb5: preds(bb4) succs(bb6)\n  %r10, _, _ = IADD3 %r3, 0x4, RZ, !PT, !PT\n  BRA _, _, bb6\n"             \
    "bb6: preds(bb2 bb3 bb4 bb5) succs(bb2 bb7)\n  %r12 = phi %r4, %r6, %r8, %r10\n" more                    \
    "  %p13, _ = ISETP(cmp=LT) %r12, %r1, PT, PT\n  @%p13 BRA _, _, bb2\n  BRA _, _, bb7\n"                  \
    "bb7: preds(bb6) succs()\n  STG _, _, 0x0, %r12\n"

/* The counter makes room for what comes of it, and its readers behind read where it went; not where it is
 * wanted behind the exits as well. */
static void moved_away(void **state) {
    (void)state;
    expect(COUNTER("0x3", ""), "%r14 = MOV %r3", "IADD3 %r3");
    expect(COUNTER("0x3", ""), "%r8, _, _ = IADD3 %r14, 0x3", "copy");
    expect(COUNTER("0x3", "  STG _, _, 0x4, %r3\n"), "%r8, _, _ = IADD3 %r3, 0x3", "MOV %r3");
}

/* Sides of a branch hand on n + 1, two as they have it and two changed under a guard, which read n: n makes
 * room where n + 1 is made. Not where one of them keeps n, in n's register, and would copy it then. */
#define SIDES(kept)                                                                                          \
    "bb1: preds() succs(bb2)\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n"                               \
    "  %p5, _ = ISETP(cmp=LT) %r1, %r2, PT, PT\n  %p7, _ = ISETP(cmp=EQ) %r1, %r2, PT, PT\n"                 \
    "  %p13, _ = ISETP(cmp=EQ) %r1, 0x5, PT, PT\n  BRA _, _, bb2\n"                                          \
    "bb2: preds(bb1 bb6) succs(bb3 bb4)\n  %r3 = phi RZ, %r12\n"                                             \
    "  %r4, _, _ = IADD3 %r3, 0x1, RZ, !PT, !PT\n  @%p5 BRA _, _, bb3\n  BRA _, _, bb4\n"                    \
    "bb3: preds(bb2) succs(bb8 bb9)\n  @%p7 BRA _, _, bb8\n  BRA _, _, bb9\n"                                \
    "bb4: preds(bb2) succs(bb5 bb7)\n  @%p7 BRA _, _, bb5\n  BRA _, _, bb7\n"                                \
    "bb5: preds(bb4) succs(bb6)\n  STG _, _, 0x4, %r1\n  BRA _, _, bb6\n"                                    \
    "bb7: preds(bb4) succs(bb6)\n  STG _, _, 0x8, %r2\n  BRA _, _, bb6\n"                                    \
    "bb8: preds(bb3) succs(bb6)\n"                                                                           \
    "  @%p13 %r8, _, _ = IADD3 %r3, 0x2, RZ, !PT, !PT tied(%r4, _, _)\n  BRA _, _, bb6\n"                    \
    "bb9: preds(bb3) succs(bb6)\n"                                                                           \
    "  @%p13 %r9, _, _ = IADD3 %r3, 0x3, RZ, !PT, !PT tied(" kept ", _, _)\n  BRA _, _, bb6\n"               \
    "bb6: preds(bb5 bb7 bb8 bb9) succs(bb2 bb10)\n  %r12 = phi %r4, %r4, %r8, %r9\n"                         \
    "  %p11, _ = ISETP(cmp=LT) %r12, %r1, PT, PT\n  @%p11 BRA _, _, bb2\n  BRA _, _, bb10\n"                 \
    "bb10: preds(bb6) succs()\n  STG _, _, 0x0, %r12\n"

static void moved_for_sides(void **state) {
    (void)state;
    expect(SIDES("%r4"), "%r14 = MOV %r3", "IADD3 %r3");
    expect(SIDES("%r4"), "IADD3 %r14, 0x1", "copy");
    expect(SIDES("%r3"), "IADD3 %r3, 0x1", "MOV %r3");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(copied_once), cmocka_unit_test(left_alone),
                                       cmocka_unit_test(out_of_a_loop), cmocka_unit_test(moved_away),
                                       cmocka_unit_test(moved_for_sides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
