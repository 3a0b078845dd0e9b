/* The pass `hoist` on hand-written IR: what leaves a loop, what stays, and where it goes.
 * SPDX-License-Identifier: MIT */
#include "pass_text.h"

static char *hoisted(const char *body) { return text_behind(pass_hoist, body); }

/* How often `what` stands in block `name`; the block's text ends where the next one begins. */
static unsigned in_block(const char *text, const char *name, const char *what) {
    char head[32];
    snprintf(head, sizeof head, "\n%s:", name);
    const char *at = strstr(text, head), *end = at ? strstr(at + 1, "\nbb") : NULL;
    unsigned n = 0;
    if (!at)
        fail_msg("no block %s in\n%s", name, text);
    while ((at = strstr(at, what)) && (!end || at < end)) {
        n++;
        at += strlen(what);
    }
    return n;
}

static void expect(const char *body, const char *what, unsigned before, unsigned within) {
    char *text = hoisted(body);
    if (in_block(text, "bb1", what) != before || in_block(text, "bb2", what) != within)
        fail_msg("%s: wanted %u in front and %u within\n%s", what, before, within, text);
    free(text);
}

#define ENTRY                                                                                                \
    "bb1: preds() succs(bb2)\n  %r1 = S2R SR[tid.x]\n  %r31 = S2R SR[tid.y]\n  %p90, _ = ISETP(cmp=GT) "     \
    "%r1, 0x7, PT, PT\n  BRA _, "                                                                            \
    "_, bb2\n"
#define HEAD "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r2 = phi %r1, %r3\n"
#define LATCH                                                                                                \
    "  %r3, _, _ = IADD3 %r2, -0x1, RZ, !PT, !PT\n  %p91, _ = ISETP(cmp=GT) %r3, RZ, PT, PT\n"               \
    "  @%p91 BRA _, _, bb2\n  BRA _, _, bb3\nbb3: preds(bb2) succs()\n  EXIT _\n"

static void literals(void **state) {
    (void)state;
    expect(ENTRY HEAD "  %r5 = MOV 0x1234\n  STG _, _, 0x0, %r5\n" LATCH, "MOV 0x1234", 1, 0);
    /* one serves both */
    expect(ENTRY HEAD
           "  %r5 = MOV 0x1234\n  STG _, _, 0x0, %r5\n  %r6 = MOV 0x1234\n  STG _, _, 0x4, %r6\n" LATCH,
           "MOV 0x1234", 1, 0);
    /* a pair of an f64 literal serves all that ask for this pair, not those that ask for another */
    const char *pairs =
        ENTRY HEAD "  %r5 = MOV 0x11\n  %r6 = MOV 0x22\n  [%r7 %r8] = DADD [%r1 %r31], [%r5 %r6]\n"
                   "  STG _, _, 0x0, %r7\n  STG _, _, 0x4, %r8\n"
                   "  %r15 = MOV 0x11\n  %r16 = MOV 0x22\n  [%r17 %r18] = DADD [%r7 %r8], [%r15 %r16]\n"
                   "  STG _, _, 0x0, %r17\n  STG _, _, 0x4, %r18\n"
                   "  %r25 = MOV 0x11\n  %r26 = MOV 0x33\n  [%r27 %r28] = DADD [%r7 %r8], [%r25 %r26]\n"
                   "  STG _, _, 0x0, %r27\n  STG _, _, 0x4, %r28\n" LATCH;
    expect(pairs, "MOV 0x11", 2, 0);
    expect(pairs, "MOV 0x22", 1, 0);
    expect(pairs, "MOV 0x33", 1, 0);
}

static void computations(void **state) {
    (void)state;
    expect(ENTRY HEAD "  %r5 = IMAD %r1, 0x7, %r1, _\n  %r6, _, _ = IADD3 %r5, 0x9, RZ, !PT, !PT\n"
                      "  STG _, _, 0x0, %r6\n" LATCH,
           "IMAD", 1, 0);
    expect(ENTRY HEAD "  %r5 = IMAD %r1, 0x7, %r1, _\n  %r6, _, _ = IADD3 %r5, 0x9, RZ, !PT, !PT\n"
                      "  STG _, _, 0x0, %r6\n" LATCH,
           "IADD3 %r5", 1, 0); /* after what it reads */
    expect(ENTRY HEAD "  %r5 = IMAD %r2, 0x7, %r1, _\n  STG _, _, 0x0, %r5\n" LATCH, "IMAD", 0, 1);
}

static void stay(void **state) {
    (void)state;
    /* loads, what has a guard, the condition of a branch */
    expect(ENTRY HEAD "  %r5 = LDS %r1, _, 0x0\n  STG _, _, 0x0, %r5\n" LATCH, "LDS", 0, 1);
    expect(ENTRY HEAD "  %r5 = MOV 0x1234\n  @%p90 %r6 = MOV 0x55 tied(%r5)\n  STG _, _, 0x0, %r6\n" LATCH,
           "MOV", 0, 2);
    /* what only some rounds execute */
    const char *some =
        ENTRY "bb2: preds(bb1 bb5) succs(bb5 bb4)\n  %r2 = phi %r1, %r3\n  @%p90 BRA _, _, bb5\n"
              "  BRA _, _, bb4\nbb4: preds(bb2) succs(bb5)\n  %r5 = MOV 0x1234\n  STG _, _, 0x0, %r5\n"
              "  BRA _, _, bb5\nbb5: preds(bb2 bb4) succs(bb2 bb3)\n"
              "  %r3, _, _ = IADD3 %r2, -0x1, RZ, !PT, !PT\n  %p91, _ = ISETP(cmp=GT) %r3, RZ, PT, PT\n"
              "  @%p91 BRA _, _, bb2\n  BRA _, _, bb3\nbb3: preds(bb5) succs()\n  EXIT _\n";
    char *text = hoisted(some);
    assert_int_equal(in_block(text, "bb4", "MOV 0x1234"), 1);
    free(text);
    /* %r5 is overwritten by the phi's copy in each round */
    const char *phi = ENTRY
        "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r2 = phi %r1, %r5\n  STG _, _, 0x0, %r2\n"
        "  %r5 = MOV 0x1234\n  @%p90 BRA _, _, bb2\n  BRA _, _, bb3\nbb3: preds(bb2) succs()\n  EXIT _\n";
    expect(phi, "MOV 0x1234", 0, 1);
    const char *branch =
        ENTRY "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r2 = phi %r1, %r1\n  STG _, _, 0x0, %r2\n"
              "  %p91, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n  @%p91 BRA _, _, bb2\n  BRA _, _, bb3\n"
              "bb3: preds(bb2) succs()\n  EXIT _\n";
    expect(branch, "ISETP(cmp=EQ)", 0, 1);
}

/* A call in the loop keeps everything in it, but where lanes hardly ever come to it. */
static void calls(void **state) {
    (void)state;
    for (unsigned rare = 0; rare < 2; rare++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "bb1: preds() succs(bb2)\n  %%r1 = S2R SR[tid.x]\n"
                 "  %%p90, _ = ISETP(cmp=GT) %%r1, 0x7, PT, PT\n  BRA _, _, bb2\n"
                 "bb2: preds(bb1 bb5) succs(bb4 bb5)\n  %%r5 = MOV 0x1234\n"
                 "  STG _, _, 0x0, %%r5\n  @%%p90 BRA _, _, bb4%s\n  BRA _, _, bb5\n"
                 "bb4: preds(bb2) succs(bb5)\n  CALL _, _, call_rel(@k)\n  BRA _, _, bb5\n"
                 "bb5: preds(bb2 bb4) succs(bb2 bb3)\n  @%%p90 BRA _, _, bb2\n"
                 "  BRA _, _, bb3\nbb3: preds(bb5) succs()\n  EXIT _\n",
                 rare ? " flags[rare]" : "");
        expect(body, "MOV 0x1234", rare, 1 - rare);
    }
}

/* As many literals as registers may be held: the rest stays. Each is stored at once, so nothing else is live.
 */
static void room(void **state) {
    (void)state;
    char body[8192] = ENTRY HEAD;
    for (unsigned k = 0; k < 40; k++)
        snprintf(body + strlen(body), sizeof body - strlen(body),
                 "  %%r%u = MOV 0x77%02x\n  STG _, _, 0x0, %%r%u\n", 100 + k, k, 100 + k);
    snprintf(body + strlen(body), sizeof body - strlen(body), "%s", LATCH);
    char *text = hoisted(body);
    unsigned before = in_block(text, "bb1", "MOV 0x77"), within = in_block(text, "bb2", "MOV 0x77");
    free(text);
    assert_int_equal(before + within, 40);
    assert_in_range(before, 12, 18);
}

/* A pair that two read behind the inner loop's turn: the outer loop's own may not stand for one of them only.
 */
static void pair_of_two_loops(void **state) {
    (void)state;
    char *text = hoisted("bb1: preds() succs(bb2)\n"
                         "  %r1 = S2R SR[tid.x]\n"
                         "  %r31 = S2R SR[tid.y]\n"
                         "  BRA _, _, bb2\n"
                         "bb2: preds(bb1 bb4) succs(bb3)\n"
                         "  %r2 = phi %r1, %r8\n"
                         "  %r35 = MOV 0x11\n"
                         "  %r36 = MOV 0x22\n"
                         "  [%r37 %r38] = DADD [%r2 %r31], [%r35 %r36]\n"
                         "  STG _, _, 0x0, %r37\n"
                         "  STG _, _, 0x0, %r38\n"
                         "  BRA _, _, bb3\n"
                         "bb3: preds(bb2 bb3) succs(bb3 bb4)\n"
                         "  %r3 = phi %r2, %r4\n"
                         "  %r5 = MOV 0x11\n"
                         "  %r6 = MOV 0x22\n"
                         "  [%r7 %r9] = DADD [%r3 %r31], [%r5 %r6]\n"
                         "  STG _, _, 0x0, %r7\n"
                         "  STG _, _, 0x4, %r9\n"
                         "  %r15 = MOV 0x11\n"
                         "  %r16 = MOV 0x22\n"
                         "  [%r17 %r18] = DADD [%r7 %r9], [%r15 %r16]\n"
                         "  STG _, _, 0x0, %r17\n"
                         "  STG _, _, 0x4, %r18\n"
                         "  %r4, _, _ = IADD3 %r3, -0x1, RZ, !PT, !PT\n"
                         "  %p91, _ = ISETP(cmp=GT) %r4, RZ, PT, PT\n"
                         "  @%p91 BRA _, _, bb3\n"
                         "  BRA _, _, bb4\n"
                         "bb4: preds(bb3) succs(bb2 bb5)\n"
                         "  %r8, _, _ = IADD3 %r2, 0x1, RZ, !PT, !PT\n"
                         "  %p92, _ = ISETP(cmp=GT) %r8, RZ, PT, PT\n"
                         "  @%p92 BRA _, _, bb2\n"
                         "  BRA _, _, bb5\n"
                         "bb5: preds(bb4) succs()\n"
                         "  EXIT _\n");
    assert_int_equal(in_block(text, "bb3", "MOV 0x11"), 0);
    free(text);
}

/* The edge into the inner loop is within the outer one: what is computed there changes nothing outside. */
static void edge_in_outer_loop(void **state) {
    (void)state;
    char *text = hoisted("bb1: preds() succs(bb2)\n"
                         "  %r1 = S2R SR[tid.x]\n"
                         "  BRA _, _, bb2\n"
                         "bb2: preds(bb1 bb4) succs(bb5 bb3)\n"
                         "  %r2 = phi %r1, %r8\n"
                         "  %p90, _ = ISETP(cmp=GT) %r2, 0x7, PT, PT\n"
                         "  @%p90 BRA _, _, bb5\n"
                         "  BRA _, _, bb3\n"
                         "bb3: preds(bb2 bb3) succs(bb3 bb4)\n"
                         "  %r3 = phi %r2, %r4\n"
                         "  %r5 = IMAD %r1, 0x7, %r1, _\n"
                         "  STG _, _, 0x0, %r5\n"
                         "  %r4, _, _ = IADD3 %r3, -0x1, RZ, !PT, !PT\n"
                         "  %p91, _ = ISETP(cmp=GT) %r4, RZ, PT, PT\n"
                         "  @%p91 BRA _, _, bb3\n"
                         "  BRA _, _, bb4\n"
                         "bb4: preds(bb3) succs(bb2)\n"
                         "  %r6, _, _ = IADD3 %r5, 0x9, RZ, !PT, !PT\n"
                         "  STG _, _, 0x0, %r6\n"
                         "  %r8, _, _ = IADD3 %r2, 0x1, RZ, !PT, !PT\n"
                         "  BRA _, _, bb2\n"
                         "bb5: preds(bb2) succs()\n"
                         "  EXIT _\n");
    assert_int_equal(in_block(text, "bb3", "IMAD"), 0);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals),
        cmocka_unit_test(computations),
        cmocka_unit_test(stay),
        cmocka_unit_test(calls),
        cmocka_unit_test(room),
        cmocka_unit_test(pair_of_two_loops),
        cmocka_unit_test(edge_in_outer_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
