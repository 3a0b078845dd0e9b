/* Predication: what becomes of each shape, and why a branch stays. The expected code is written from the
 * rules of docs/predication.md; that programs keep their meaning is shown by test_opt (random programs, an
 * evaluator) and by the programs of tests/lower/predicate.
 * SPDX-License-Identifier: MIT */
#include "lower/passes.h"
#include "lower/profile.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct {
    const char *name, *body;
    PredicateMode mode;
    PredicateShape shape; /* of the first report */
    PredicateReason reason;
    const char *has[5], *has_not[3];
} Case;

/* r1, r2 differ between lanes; p3 too */
#define HEAD(succs)                                                                                          \
    "bb1: preds() succs(" succs                                                                              \
    ")\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n  %p3, _ = ISETP(cmp=LT) %r1, %r2, PT, PT\n"
#define TWO(yes, no) "  @%p3 BRA _, _, " yes "\n  BRA _, _, " no "\n"
#define NEXT(value) "  %p6, _ = ISETP(cmp=LT) " value ", %r2, PT, PT\n  @%p6 BRA _, _, bb2\n  BRA _, _, bb3\n"
/* nine instructions, their sum in %r10, for lanes with `test` and not for the others */
#define NINE(test, guard, last)                                                                              \
    "bb1: preds() succs(bb2 bb3)\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n  %p3, _ = ISETP(cmp=" test \
    ") %r1, %r2, PT, PT\n  @" guard "%p3 BRA _, _, bb2\n  BRA _, _, bb3\n"                                   \
    "bb2: preds(bb1) succs(bb3)\n  %r4 = LDS %r1, _, 0x0\n  %r5 = LDS %r1, _, 0x4\n"                         \
    "  %r6 = LDS %r1, _, 0x8\n  %r7, _, _ = IADD3 %r4, %r5, %r6, !PT, !PT\n"                                 \
    "  %r8 = IMAD %r7, %r1, %r4, _\n  %r9 = IMAD %r8, %r7, %r5, _\n"                                         \
    "  %r12 = IMAD %r9, %r7, %r6, _\n  %r13 = IMAD %r12, %r8, %r4, _\n" last                                 \
    "  BRA _, _, bb3\nbb3: preds(bb1 bb2) succs()\n  %r11 = phi %r2, %r10\n  STG _, _, 0x0, %r11\n  EXIT "   \
    "_\n"
#define SUM "  %r10 = IMAD %r13, %r8, %r7, _\n"
#define BACK(preds) ": preds(" preds ") succs()\n"

// clang-format off
static const Case cases[] = {
    {"triangle: the definition keeps the old value",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  %r4, _, _ = IADD3 %r2, 0x5, RZ, !PT, !PT\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2") "  %r5 = phi %r2, %r4\n  STG _, _, 0x0, %r5\n  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED,
     {"@%p3 %r4, _, _ = IADD3 %r2, 0x5, RZ, !PT, !PT tied(%r2, _, _)", "  STG _, _, 0x0, %r4"}, {"BRA", "SEL", "phi"}},
    {"triangle at the other side: the guard is negated",
     HEAD("bb3 bb2") TWO("bb3", "bb2")
     "bb2: preds(bb1) succs(bb3)\n  STG _, _, 0x4, %r1\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2") "  STG _, _, 0x0, %r2\n  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED, {"@!%p3 STG _, _, 0x4, %r1", "  STG _, _, 0x0, %r2"}, {"BRA"}},
    {"diamond: one side for all lanes, the other over it",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n  %r4, _, _ = IADD3 %r2, 0x5, RZ, !PT, !PT\n  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n  %r5 = IMAD %r2, %r1, RZ, _\n  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  %r6 = phi %r4, %r5\n  STG _, _, 0x0, %r6\n  EXIT _\n",
     PREDICATE_AUTO, PD_DIAMOND, PR_CONVERTED,
     {"  %r4, _, _ = IADD3 %r2, 0x5", "@!%p3 %r5 = IMAD %r2, %r1, RZ, _ tied(%r4)", "  STG _, _, 0x0, %r5"}, {"BRA", "SEL"}},
    {"loads and stores of both sides only under their guards",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n  %r4 = LDS %r1, _, 0x0\n  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n  %r5 = LDS %r2, _, 0x0\n  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  %r6 = phi %r4, %r5\n  STG _, _, 0x0, %r6\n  EXIT _\n",
     PREDICATE_AUTO, PD_DIAMOND, PR_CONVERTED,
     {"@%p3 %r4 = LDS %r1, _, 0x0 tied(_)", "@!%p3 %r5 = LDS %r2, _, 0x0 tied(%r4)"}, {"BRA", "SEL"}},
    {"arithmetic on what a guarded load gave is guarded too",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  %r4 = LDS %r1, _, 0x0\n  %r5, _, _ = IADD3 %r4, 0x1, RZ, !PT, !PT\n  STS %r1, _, 0x0, %r5\n"
     "  BRA _, _, bb3\nbb3" BACK("bb1 bb2") "  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED,
     {"@%p3 %r4 = LDS", "@%p3 %r5, _, _ = IADD3", "@%p3 STS"}, {"BRA"}},
    {"select where neither value is made in a side, a constant in place",
     HEAD("bb2 bb3") "  %r4 = MOV 0x7\n" TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  STG _, _, 0x4, %r1\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2") "  %r5 = phi %r2, %r4\n  STG _, _, 0x0, %r5\n  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED, {"= SEL %r2, 0x7, !%p3"}, {"BRA", "MOV"}},
    {"two phis of one value: a tie and a select",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  %r4, _, _ = IADD3 %r2, 0x5, RZ, !PT, !PT\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2") "  %r5 = phi %r2, %r4\n  %r6 = phi %r1, %r4\n  STG _, _, 0x0, %r5\n  STG _, _, 0x4, %r6\n  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED,
     {"tied(%r2, _, _)", "= SEL %r4, %r1, %p3", "  STG _, _, 0x0, %r4"}, {"BRA"}},
    {"a predicate phi becomes a table",
     HEAD("bb2 bb3") "  %p4, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n  %p5, _ = ISETP(cmp=EQ) %r1, 0x4, PT, PT\n" TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  STG _, _, 0x4, %r1\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2") "  %p6 = phi %p4, %p5\n  @%p6 STG _, _, 0x0, %r2\n  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED, {"= PLOP3(lut=0xca) %p3, %p5, %p4"}, {"BRA"}},
    {"an instruction with a guard: the comparison is combined with the side's guard",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  %p4, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n  @%p4 STG _, _, 0x4, %r1\n"
     "  @!%p4 STG _, _, 0x8, %r1\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2") "  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED,
     {"%p4, %p", "ISETP(cmp=EQ) %r1, 0x3, %p3, PT", "@%p4 STG _, _, 0x4", "@%p5 STG _, _, 0x8"}, {"BRA", "PLOP3"}},
    {"float comparisons: the complement is the comparison's own second result, so that NaN goes to it",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  %p4, _ = FSETP(cmp=LT) %r1, %r2, PT\n  @!%p4 STG _, _, 0x8, %r1\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2") "  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED, {"_, %p5 = FSETP(cmp=LT) %r1, %r2, %p3", "@%p5 STG _, _, 0x8"},
     {"BRA", "cmp=GE"}},
    {"a guard from outside needs an instruction",
     HEAD("bb2 bb3") "  %p4, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n" TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  @%p4 STG _, _, 0x4, %r1\n  @%p4 STG _, _, 0x8, %r1\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2") "  @%p4 STG _, _, 0x0, %r2\n  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED,
     {"%p5, _ = PLOP3(lut=0xc0) %p3, %p4, PT", "@%p5 STG _, _, 0x4", "@%p5 STG _, _, 0x8", "@%p4 STG _, _, 0x0"}, {"BRA"}},
    {"nested: from the inside out",
     HEAD("bb2 bb4") TWO("bb2", "bb4")
     "bb2: preds(bb1) succs(bb3 bb5)\n  %p4, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n  @%p4 BRA _, _, bb3\n  BRA _, _, bb5\n"
     "bb3: preds(bb2) succs(bb5)\n  STG _, _, 0x4, %r1\n  BRA _, _, bb5\n"
     "bb5: preds(bb2 bb3) succs(bb4)\n  STG _, _, 0x8, %r1\n  BRA _, _, bb4\n"
     "bb4" BACK("bb1 bb5") "  STG _, _, 0x0, %r2\n  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED,
     {"ISETP(cmp=EQ) %r1, 0x3, %p3, PT", "@%p4 STG _, _, 0x4", "@%p3 STG _, _, 0x8", "  STG _, _, 0x0"}, {"BRA", "PLOP3"}},
    {"a side that exits",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs()\n  STG _, _, 0x4, %r1\n  EXIT _\n"
     "bb3" BACK("bb1") "  STG _, _, 0x0, %r2\n  EXIT _\n",
     PREDICATE_AUTO, PD_EXIT, PR_CONVERTED, {"@%p3 STG _, _, 0x4, %r1", "@%p3 EXIT", "  STG _, _, 0x0", "  EXIT"}, {"BRA"}},
    {"an EXIT that several blocks lead to",
     HEAD("bb3 bb2") TWO("bb3", "bb2")
     "bb2: preds(bb1) succs(bb4 bb3)\n  STG _, _, 0x4, %r1\n  %p4, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n"
     "  @%p4 BRA _, _, bb4\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2 bb4") "  EXIT _\n"
     "bb4: preds(bb2) succs(bb3)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb3\n",
     PREDICATE_AUTO, PD_EXIT, PR_CONVERTED, {"@%p3 EXIT", "@!%p4 EXIT", "  BAR"}, {"BRA"}},
    {"EXIT under a guard inside a side",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  %p4, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n  @%p4 EXIT _\n  STG _, _, 0x4, %r1\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2") "  STG _, _, 0x0, %r2\n  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED,
     {"ISETP(cmp=EQ) %r1, 0x3, %p3, PT", "@%p4 EXIT", "@%p3 STG _, _, 0x4"}, {"BRA"}},
    {"a further branch: both conditions in one",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4 bb3)\n  %r4 = LDS %r1, _, 0x0\n  %p5, _ = ISETP(cmp=EQ) %r4, 0x3, PT, PT\n"
     "  @%p5 BRA _, _, bb4\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2 bb4") "  STG _, _, 0x0, %r2\n  EXIT _\n"
     "bb4: preds(bb2) succs(bb3)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb3\n",
     PREDICATE_AUTO, PD_BRANCH, PR_CONVERTED,
     {"@%p3 %r4 = LDS", "  %p5, _ = ISETP(cmp=EQ) %r4, 0x3, %p3, PT", "@%p5 BRA _, _, bb4 flags[side rewritten]\n  BRA _, _, bb3"}, {0}},
    {"a further branch: each test of bits, and what joins them, becomes one LOP3",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3 bb4)\n  %r4, _ = LOP3(lut=0xc0) %r1, 0x10, RZ, !PT\n  %p5, _ = ISETP(cmp=NE) %r4, RZ, PT, PT\n"
     "  %r6, _ = LOP3(lut=0xc0) %r1, 0x24, RZ, !PT\n  %p7, _ = ISETP(cmp=EQ) %r6, RZ, PT, PT\n"
     "  %p8, _ = PLOP3(lut=0xc0) %p5, %p7, PT, _\n  @%p8 BRA _, _, bb3\n  BRA _, _, bb4\n"
     "bb3" BACK("bb1 bb2 bb4") "  STG _, _, 0x0, %r2\n  EXIT _\n"
     "bb4: preds(bb2) succs(bb3)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb3\n",
     PREDICATE_AUTO, PD_BRANCH, PR_CONVERTED, {"BRA _, _, bb4 flags[side rewritten]\n  BRA _, _, bb3"}, {"@%p3 BRA"}},
    {"a further branch behind three instructions: a place to meet is saved",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3 bb4)\n  %r4 = IMAD %r1, %r1, 0x7, _\n  %r5 = IMAD %r4, %r4, 0x7, _\n  %r6 = IMAD %r5, %r5, 0x7, _\n"
     "  %p7, _ = ISETP(cmp=LT) %r6, %r2, PT, PT\n  @%p7 BRA _, _, bb3\n  BRA _, _, bb4\n"
     "bb3" BACK("bb1 bb2 bb4") "  STG _, _, 0x0, %r2\n  EXIT _\n"
     "bb4: preds(bb2) succs(bb3)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb3\n",
     PREDICATE_AUTO, PD_BRANCH, PR_CONVERTED, {"BRA _, _, bb4 flags[side rewritten]\n  BRA _, _, bb3"}, {"@%p3 BRA"}},
    {"in a loop that the conditions leave, nothing is saved by that",
     HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb3) succs(bb3 bb4)\n  STG _, _, 0x0, %r1\n" TWO("bb3", "bb4")
     "bb3: preds(bb2) succs(bb4 bb2)\n  %r4 = IMAD %r1, %r1, 0x7, _\n  %r5 = IMAD %r4, %r4, 0x7, _\n  %r6 = IMAD %r5, %r5, 0x7, _\n"
     "  %r8 = IMAD %r6, %r6, 0x7, _\n  %r9 = IMAD %r8, %r8, 0x7, _\n  %r10 = IMAD %r9, %r9, 0x7, _\n"
     "  %p7, _ = ISETP(cmp=LT) %r10, %r2, PT, PT\n  @%p7 BRA _, _, bb4\n  BRA _, _, bb2\n"
     "bb4" BACK("bb2 bb3") "  STG _, _, 0x8, %r1\n  EXIT _\n",
     PREDICATE_AUTO, PD_BRANCH, PR_NO_PROFIT, {"@%p3 BRA", "@%p7 BRA"}, {0}},
    {"a further branch the other way: the complement of the comparison",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3 bb4)\n  %p5, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n  @%p5 BRA _, _, bb3\n  BRA _, _, bb4\n"
     "bb3" BACK("bb1 bb2 bb4") "  STG _, _, 0x0, %r2\n  EXIT _\n"
     "bb4: preds(bb2) succs(bb3)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb3\n",
     PREDICATE_AUTO, PD_BRANCH, PR_CONVERTED,
     {"  _, %p6 = ISETP(cmp=EQ) %r1, 0x3, %p3, PT", "@%p6 BRA _, _, bb4 flags[side rewritten]\n  BRA _, _, bb3"}, {0}},
    {"a side that leaves for where all meet",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n  STG _, _, 0x4, %r1\n  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb5 bb6)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n"
     "  %p4, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n  @%p4 BRA _, _, bb5\n  BRA _, _, bb6\n"
     "bb5: preds(bb3) succs(bb4)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb4\n"
     "bb6: preds(bb3) succs(bb4)\n  BAR 0x1, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb5 bb6") "  %r5 = phi %r1, %r2, %r2\n  STG _, _, 0x0, %r5\n  EXIT _\n",
     PREDICATE_AUTO, PD_LEAVE, PR_CONVERTED,
     {"@%p3 STG _, _, 0x4, %r1", "@%p3 BRA _, _, bb4\n  BRA _, _, bb3", "= phi %r1, %r2, %r2"}, {"bb2"}},
    {"a side that goes back to the head of the loop", HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb3 bb4) succs(bb3 bb4)\n  STG _, _, 0x0, %r1\n" TWO("bb3", "bb4")
     "bb3: preds(bb2) succs(bb2)\n  STG _, _, 0x4, %r1\n  BRA _, _, bb2\n"
     "bb4: preds(bb2) succs(bb2 bb5)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n"
     "  %p4, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n  @%p4 BRA _, _, bb2\n  BRA _, _, bb5\n"
     "bb5" BACK("bb4") "  EXIT _\n",
     PREDICATE_AUTO, PD_LEAVE, PR_CONVERTED,
     {"  STG _, _, 0x0, %r1\n  @%p3 STG _, _, 0x4, %r1\n  @%p3 BRA _, _, bb2\n  BRA _, _, bb4"}, {"bb3"}},
    {"a barrier on the other side of a diamond",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n  STG _, _, 0x4, %r1\n  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  STG _, _, 0x0, %r2\n  EXIT _\n",
     PREDICATE_MAX, PD_DIAMOND, PR_SYNC, {"BRA _, _, bb2"}, {"@%p3 STG"}},
    {"atomics keep their order, a result nobody has elsewhere is undefined there",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  %r4, _ = ATOMG(order=STRONG_GPU e=E op=EXCH) [%r1 %r2].64, _, 0x8, %r1\n"
     "  RED(order=STRONG_GPU e=E) [%r1 %r2].64, _, 0x8, %r4\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2") "  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED, {"@%p3 %r4, _ = ATOMG", "tied(_, _)\n  @%p3 RED"}, {"BRA"}},
    /* ---- updates under the condition of the way that wants them ---- */
    {"the next value for the next round, the last one behind the loop",
     HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r4 = phi %r1, %r5\n  %r5 = SHF(dir=R hi=0x1) RZ, 0x1, %r4\n" NEXT("%r4")
     "bb3" BACK("bb2") "  STG _, _, 0x4, %r4\n  EXIT _\n",
     PREDICATE_AUTO, PD_NONE, PR_LOOP,
     {"@%p6 %r5 = SHF(dir=R hi=0x1) RZ, 0x1, %r4 tied(%r4)\n  @%p6 BRA", "STG _, _, 0x4, %r5"}, {0}},
    {"the other way of the branch leads back",
     HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb2) succs(bb3 bb2)\n  %r4 = phi %r1, %r5\n  %r5 = SHF(dir=R hi=0x1) RZ, 0x1, %r4\n"
     "  %p6, _ = ISETP(cmp=LT) %r4, %r2, PT, PT\n  @%p6 BRA _, _, bb3\n  BRA _, _, bb2\n"
     "bb3" BACK("bb2") "  STG _, _, 0x4, %r4\n  EXIT _\n",
     PREDICATE_AUTO, PD_NONE, PR_LOOP, {"@!%p6 %r5 = SHF", "tied(%r4)\n  @%p6 BRA", "STG _, _, 0x4, %r5"}, {0}},
    {"the condition reads the next value",
     HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r4 = phi %r1, %r5\n  %r5 = SHF(dir=R hi=0x1) RZ, 0x1, %r4\n" NEXT("%r5")
     "bb3" BACK("bb2") "  STG _, _, 0x4, %r4\n  EXIT _\n",
     PREDICATE_AUTO, PD_NONE, PR_LOOP, {"  %r5 = SHF", "STG _, _, 0x4, %r4"}, {"tied"}},
    {"nobody reads the last value behind the loop",
     HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r4 = phi %r1, %r5\n  %r5 = SHF(dir=R hi=0x1) RZ, 0x1, %r4\n" NEXT("%r4")
     "bb3" BACK("bb2") "  STG _, _, 0x4, %r2\n  EXIT _\n",
     PREDICATE_AUTO, PD_NONE, PR_LOOP, {"  %r5 = SHF"}, {"tied"}},
    {"the next round wants the last value, too",
     HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r4 = phi %r1, %r5\n  %r7 = phi %r1, %r4\n  STG _, _, 0x8, %r7\n"
     "  %r5 = SHF(dir=R hi=0x1) RZ, 0x1, %r4\n" NEXT("%r4")
     "bb3" BACK("bb2") "  STG _, _, 0x4, %r4\n  EXIT _\n",
     PREDICATE_AUTO, PD_NONE, PR_LOOP, {"  %r5 = SHF", "STG _, _, 0x4, %r4"}, {"tied"}},
    {"what reads the last value has another way in",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r4 = phi %r1, %r5\n  %r5 = SHF(dir=R hi=0x1) RZ, 0x1, %r4\n  STG _, _, 0x8, %r1\n"
     NEXT("%r4")
     "bb3" BACK("bb1 bb2") "  %r8 = phi %r2, %r4\n  STG _, _, 0x4, %r8\n  STG _, _, 0x8, %r1\n  EXIT _\n",
     PREDICATE_AUTO, PD_NONE, PR_SHARED, {"@%p6 %r5 = SHF", "%r8 = phi %r2, %r5"}, {0}},
    {"a number that comes along one way of a branch, the other reads what the register held",
     HEAD("bb3 bb2") "  %r4 = MOV 0x7\n  STG _, _, 0x8, %r1\n" TWO("bb3", "bb2")
     "bb2: preds(bb1) succs(bb3)\n  STG _, _, 0x4, %r2\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n"
     "  BRA _, _, bb3\nbb3" BACK("bb1 bb2") "  %r5 = phi %r4, %r2\n  STG _, _, 0x0, %r5\n  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_SYNC,
     {"  @%p3 %r4 = MOV 0x7 tied(%r2)\n  @%p3 BRA", "STG _, _, 0x4, %r4", "STG _, _, 0x0, %r4"}, {"phi"}},
    {"half of a pair",
     HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r4 = phi %r1, %r5\n  [%r5 %r7], _ = IMAD_WIDE %r4, 0x3, RZ, !PT\n" NEXT("%r4")
     "bb3" BACK("bb2") "  STG _, _, 0x4, %r4\n  EXIT _\n",
     PREDICATE_AUTO, PD_NONE, PR_LOOP, {"  [%r5 %r7], _ = IMAD", "STG _, _, 0x4, %r4"}, {"tied"}},
    /* ---- what stays ---- */
    {"off", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  STG _, _, 0x4, %r1\n  BRA _, _, bb3\nbb3" BACK("bb1 bb2") "  EXIT _\n",
     PREDICATE_OFF, PD_COUNT, PR_COUNT, {"@%p3 BRA"}, {"@%p3 STG"}},
    {"barrier inside", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb3\nbb3"
     BACK("bb1 bb2") "  STG _, _, 0x40, %r2\n  EXIT _\n",
     PREDICATE_MAX, PD_TRIANGLE, PR_SYNC, {"@%p3 BRA"}, {0}},
    {"shuffle inside", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  %r4, _ = SHFL %r1, 0x1, 0x1f, 0xffffffff flags[sync convergent]\n  STG _, _, 0x0, %r4\n  BRA _, _, bb3\nbb3"
     BACK("bb1 bb2") "  STG _, _, 0x40, %r2\n  EXIT _\n",
     PREDICATE_MAX, PD_TRIANGLE, PR_SYNC, {"@%p3 BRA"}, {0}},
    {"activemask inside", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  %r4, _ = VOTE PT\n  STG _, _, 0x0, %r4\n  BRA _, _, bb3\nbb3"
     BACK("bb1 bb2") "  STG _, _, 0x40, %r2\n  EXIT _\n",
     PREDICATE_MAX, PD_TRIANGLE, PR_SYNC, {"@%p3 BRA"}, {0}},
    {"nanosleep inside", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  NANOSLEEP 0x10, _\n  BRA _, _, bb3\nbb3" BACK("bb1 bb2") "  STG _, _, 0x40, %r2\n  EXIT _\n",
     PREDICATE_MAX, PD_TRIANGLE, PR_SYNC, {"@%p3 BRA"}, {0}},
    {"call inside", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  %r4{fixed=4} = parcopy %r1\n  [%r5{fixed=20} %r6{fixed=21}] = LEPC _\n"
     "  CALL PT, R[255:256], call_rel(@k), %r4, [%r5 %r6]\n  BRA _, _, bb3\nbb3" BACK("bb1 bb2") "  STG _, _, 0x40, %r2\n  EXIT _\n",
     PREDICATE_MAX, PD_TRIANGLE, PR_CALL, {"@%p3 BRA"}, {0}},
    {"too long for auto", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  STG _, _, 0x0, %r1\n  STG _, _, 0x4, %r1\n  STG _, _, 0x8, %r1\n  STG _, _, 0xc, %r1\n"
     "  STG _, _, 0x10, %r1\n  STG _, _, 0x14, %r1\n  STG _, _, 0x18, %r1\n  STG _, _, 0x1c, %r1\n  STG _, _, 0x20, %r1\n"
     "  STG _, _, 0x24, %r1\n  STG _, _, 0x28, %r1\n  STG _, _, 0x2c, %r1\n  STG _, _, 0x30, %r1\n  BRA _, _, bb3\nbb3"
     BACK("bb1 bb2") "  STG _, _, 0x34, %r2\n  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_LONG, {"@%p3 BRA"}, {0}},
    {"does not pay: a uniform branch over three stores",
     "bb1: preds() succs(bb2 bb3)\n  %r1 = S2R SR[ctaid.x]\n  %p3, _ = ISETP(cmp=LT) %r1, 0x3, PT, PT\n" TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  STG _, _, 0x0, %r1\n  STG _, _, 0x4, %r1\n  STG _, _, 0x8, %r1\n  BRA _, _, bb3\nbb3"
     BACK("bb1 bb2") "  STG _, _, 0x34, %r1\n  EXIT _\n",
     PREDICATE_AUTO, PD_TRIANGLE, PR_NO_PROFIT, {"@%p3 BRA"}, {0}},
    {"pays: nine instructions, and values seldom are equal", NINE("NE", "", SUM),
     PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED, {"tied(%r2)"}, {"BRA"}},
    {"the same, by the negation", NINE("EQ", "!", SUM), PREDICATE_AUTO, PD_TRIANGLE, PR_CONVERTED, {"tied(%r2)"}, {"BRA"}},
    {"does not pay: nine that few lanes need", NINE("EQ", "", SUM), PREDICATE_AUTO, PD_TRIANGLE, PR_NO_PROFIT, {"@%p3 BRA"}, {0}},
    {"does not pay: nine with even odds", NINE("LT", "", SUM), PREDICATE_AUTO, PD_TRIANGLE, PR_NO_PROFIT, {"@%p3 BRA"}, {0}},
    {"does not pay: nine with a store", NINE("NE", "", "  %r10 = MOV %r13\n  STS %r1, _, 0x0, %r13\n"),
     PREDICATE_AUTO, PD_TRIANGLE, PR_NO_PROFIT, {"@%p3 BRA"}, {0}},
    {"out of a loop, at its end: the branch that leads back is as long",
     HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  STG _, _, 0x0, %r1\n" TWO("bb2", "bb3") "bb3" BACK("bb2") "  EXIT _\n",
     PREDICATE_AUTO, PD_EXIT, PR_NO_PROFIT, {"@%p3 BRA _, _, bb2"}, {"@!%p3 EXIT"}},
    {"out of a loop, at its head",
     HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb4) succs(bb3 bb4)\n  STG _, _, 0x0, %r1\n" TWO("bb3", "bb4") "bb3" BACK("bb2") "  EXIT _\n"
     "bb4: preds(bb2) succs(bb2)\n  STG _, _, 0x4, %r1\n  BRA _, _, bb2\n",
     PREDICATE_AUTO, PD_EXIT, PR_CONVERTED, {"@%p3 EXIT"}, {"@%p3 BRA"}},
    {"a loop", HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  STG _, _, 0x0, %r1\n" TWO("bb2", "bb3")
     "bb3" BACK("bb2") "  STG _, _, 0x4, %r1\n  EXIT _\n",
     PREDICATE_MAX, PD_NONE, PR_LOOP, {"@%p3 BRA"}, {0}},
    {"a loop that waits for another thread",
     HEAD("bb2") "  BRA _, _, bb2\n"
     "bb2: preds(bb1 bb3) succs(bb3 bb4)\n  STG _, _, 0x0, %r1\n" TWO("bb3", "bb4")
     "bb3: preds(bb2) succs(bb2 bb4)\n  %r4, _ = LDG RZ, _, 0x4, _ flags[observing memory]\n  %p5, _ = ISETP(cmp=EQ) %r4, RZ, PT, PT\n"
     "  @%p5 BRA _, _, bb2\n  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  STG _, _, 0x8, %r1\n  EXIT _\n",
     PREDICATE_MAX, PD_BRANCH, PR_OBSERVING, {"@%p3 BRA", "@%p5 BRA"}, {0}},
    {"entered from elsewhere", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1 bb4) succs()\n  STG _, _, 0x4, %r1\n  EXIT _\n"
     "bb3: preds(bb1 bb5) succs(bb4 bb5)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n"
     "  @%p3 BRA _, _, bb4\n  BRA _, _, bb5\n"
     "bb4: preds(bb3) succs(bb2)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb2\n"
     "bb5: preds(bb3) succs(bb3)\n  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb3\n",
     PREDICATE_MAX, PD_NONE, PR_SHARED, {"@%p3 BRA"}, {0}},
    {"predicates run out",
     HEAD("bb2 bb3") "  %p4, _ = ISETP %r1, 0x1, PT, PT\n  %p5, _ = ISETP %r1, 0x2, PT, PT\n  %p6, _ = ISETP %r1, 0x3, PT, PT\n"
     "  %p7, _ = ISETP %r1, 0x4, PT, PT\n  %p8, _ = ISETP %r1, 0x5, PT, PT\n  %p9, _ = ISETP %r1, 0x6, PT, PT\n" TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb3)\n  STG _, _, 0x0, %r1\n  BRA _, _, bb3\n"
     "bb3" BACK("bb1 bb2") "  @%p4 STG _, _, 0x4, %r1\n  @%p5 STG _, _, 0x4, %r1\n  @%p6 STG _, _, 0x4, %r1\n"
     "  @%p7 STG _, _, 0x4, %r1\n  @%p8 STG _, _, 0x4, %r1\n  @%p9 STG _, _, 0x4, %r1\n  EXIT _\n",
     PREDICATE_MAX, PD_TRIANGLE, PR_PRESSURE, {"@%p3 BRA"}, {0}},
};
// clang-format on

static bool find(const char *text, const char *what) { return strstr(text, what) != NULL; }

static void run_case(const Case *c) {
    char text[8192];
    StrTab strings = {0};
    Diags d = {.sink = diag_print_sink, .user = stderr};
    snprintf(text, sizeof text,
             "module bru1 opt=2 const=0\nfunc @k entry ssa uniform_entry var=0 spill=0 barriers=0 "
             "bbase=0 start=bb1 {\n%s}\n",
             c->body);
    Source s = {"t.mir", text, strlen(text)};
    IrModule *module = ir_load(&s, &strings, &d);
    if (!module)
        fail_msg("%s: does not load", c->name);
    Function *f = module->funcs.at[0];
    module->predicate = c->mode;
    assert_true(ir_verify(f, &d, "load") && pass_uniformity(module, &d) && pass_predicate(module, &d) &&
                ir_verify(f, &d, "predicate"));
    char *now = ir_print_function(f, NULL);
    bool good = true;
    if (c->mode == PREDICATE_OFF)
        good = module->predicated.n == 0;
    else
        good = module->predicated.n && module->predicated.at[0].shape == c->shape &&
               module->predicated.at[0].reason == c->reason;
    for (unsigned k = 0; k < sizeof c->has / sizeof *c->has && c->has[k]; k++)
        good &= find(now, c->has[k]);
    for (unsigned k = 0; k < sizeof c->has_not / sizeof *c->has_not && c->has_not[k]; k++)
        good &= !find(now, c->has_not[k]);
    if (!good) {
        for (unsigned k = 0; k < module->predicated.n; k++)
            printf("%s: %s\n", ir_predicate_shape(module->predicated.at[k].shape),
                   ir_predicate_reason(module->predicated.at[k].reason));
        printf("%s\n", now);
        fail_msg("%s", c->name);
    }
    free(now);
    ir_module_free(module);
    str_free(&strings);
}

static void test_cases(void **state) {
    (void)state;
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++)
        run_case(&cases[k]);
}

/* Every reason and shape has a text of its own. */
static void test_texts(void **state) {
    (void)state;
    for (unsigned a = 0; a < PR_COUNT; a++)
        for (unsigned b = 0; b <= a; b++)
            assert_true((strcmp(ir_predicate_reason(a), ir_predicate_reason(b)) == 0) == (a == b));
    for (unsigned a = 0; a < PD_COUNT; a++)
        for (unsigned b = 0; b <= a; b++)
            assert_true((strcmp(ir_predicate_shape(a), ir_predicate_shape(b)) == 0) == (a == b));
    PredicateMode m;
    for (unsigned a = 0; a < 3; a++)
        assert_true(ir_predicate_mode(ir_predicate_mode_name(a), &m) && m == a);
    assert_false(ir_predicate_mode("often", &m));
}

/* `if (a && b)`: of ten warps four part at a, five go past b together; one goes on, and of those five and the
 * lanes of the four that come to b two parts of five go back together. */
static void test_joined_odds(void **state) {
    (void)state;
    Arena arena = {0};
    Function f = {.arena = &arena};
    PtxWay at_a[2] = {{.lanes = 60, .together = 1, .apart = 40}, {.lanes = 240, .together = 5, .apart = 90}},
           at_b[2] = {{.lanes = 44, .together = 2, .apart = 4}, {.lanes = 16, .together = 1, .apart = 6}};
    PtxBranch a = {.nways = 2, .ways = at_a, .warps = 10, .divergent = 4},
              b = {.nways = 2, .ways = at_b, .warps = 5, .divergent = 2};
    const PtxBranch *both = lower_joined_odds(&f, &a, 0, &b, 1);
    assert_int_equal(both->warps, 10);
    assert_int_equal(both->ways[0].lanes, 16);
    assert_int_equal(both->ways[1].lanes, 240 + 44);
    assert_int_equal(both->ways[0].together, 0);
    assert_int_equal(both->ways[1].together, 5 + (1 + 4) * 2 / 5);
    assert_int_equal(both->divergent, 10 - 7);
    assert_int_equal(both->ways[0].apart, 16);
    const PtxBranch *moved = lower_moved_odds(&f, &a, 1);
    assert_int_equal(moved->ways[0].lanes, 240);
    assert_int_equal(moved->divergent, 4);
    assert_null(lower_joined_odds(&f, &a, 0, NULL, 1)); /* lanes come there, and nothing was counted */
    at_a[0].lanes = 0;
    assert_int_equal(lower_joined_odds(&f, &a, 0, NULL, 1)->ways[1].lanes, 240);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_texts),
                                       cmocka_unit_test(test_joined_odds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
