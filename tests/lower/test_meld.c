/* Melding: what becomes of each shape, and why sides stay apart. The expected code is written from the rules
 * of docs/predication.md; that programs keep their meaning is shown by test_opt (random programs, an
 * evaluator), by melded_kernels and by heddle fuzz. SPDX-License-Identifier: MIT */
#include "lower/passes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct {
    const char *name, *body;
    PredicateReason reason;          /* of the only report; PR_COUNT: there is none */
    unsigned melded, alone, selects; /* if melded */
    const char *has[6], *has_not[4];
} Case;

/* r1, r2 differ between lanes; p3 too */
#define HEAD(succs)                                                                                          \
    "bb1: preds() succs(" succs                                                                              \
    ")\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n  %p3, _ = ISETP(cmp=LT) %r1, %r2, PT, PT\n"
#define TWO(yes, no) "  @%p3 BRA _, _, " yes "\n  BRA _, _, " no "\n"
#define BACK(preds) ": preds(" preds ") succs()\n"
#define LOAD(to, from) "  %r" to " = LDS %r" from ", _, 0x0\n"
#define STORE(at, value) "  STS %r" at ", _, 0x4, %r" value "\n"
#define ADD(to, a, b) "  %r" to ", _, _ = IADD3 %r" a ", " b ", RZ, !PT, !PT\n"
#define TEST(to, from, and) "  %p" to ", _ = ISETP(cmp=LT) %r" from ", 0x7, " and ", PT\n"
#define MUL(to, a, b) "  %r" to " = IMAD %r" a ", %r" b ", RZ, _\n"

// clang-format off
static const Case cases[] = {
    {"one address is selected, all else is common",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" LOAD("4", "1") ADD("5", "4", "0x5") MUL("6", "5", "5") STORE("2", "6") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" LOAD("7", "2") ADD("8", "7", "0x5") MUL("9", "8", "8") STORE("2", "9") "  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  %r10 = phi %r5, %r8\n  STG _, _, 0x0, %r10\n  EXIT _\n",
     PR_CONVERTED, 4, 0, 1, {"= SEL %r1, %r2, %p3", "IMAD"}, {"BRA", "phi", "@%p3", "@!%p3"}},
    {"a constant is selected in place",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" LOAD("4", "1") ADD("5", "4", "%r2") MUL("6", "5", "5") STORE("2", "6") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" LOAD("7", "1") ADD("8", "7", "0x7") MUL("9", "8", "8") STORE("2", "9") "  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n",
     PR_CONVERTED, 4, 0, 1, {"= SEL %r2, 0x7, %p3"}, {"BRA"}},
    {"a load of one side is executed under its guard, and what reads it",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" LOAD("4", "1") LOAD("5", "4") ADD("6", "5", "0x1") STORE("1", "6") MUL("7", "4", "4") STORE("2", "7") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" LOAD("8", "2") STORE("1", "2") MUL("9", "8", "8") STORE("2", "9") "  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n",
     PR_CONVERTED, 4, 2, 2, {"@%p3 %r5 = LDS", "@%p3 %r6, _, _ = IADD3 %r5, 0x1"}, {"BRA", "@!%p3"}},
    {"a store of one side stays between its neighbours",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" LOAD("4", "1") MUL("5", "4", "4") STORE("1", "5") LOAD("6", "2") STORE("6", "5") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" LOAD("7", "1") MUL("8", "7", "7") "  STS %r1, _, 0x8, %r8\n" LOAD("9", "2") STORE("9", "8") "  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n",
     PR_CONVERTED, 4, 2, 0, {"@%p3 STS %r1, _, 0x4", "@!%p3 STS %r1, _, 0x8"}, {"BRA", "SEL"}},
    {"regions of one shape: the inner conditions are selected",
     HEAD("bb2 bb4") TWO("bb2", "bb4")
     "bb2: preds(bb1) succs(bb6 bb3)\n  %p4, _ = ISETP(cmp=LT) %r1, 0x7, PT, PT\n  @%p4 BRA _, _, bb6\n  BRA _, _, bb3\n"
     "bb3: preds(bb2) succs(bb6)\n" LOAD("5", "1") STORE("2", "5") "  BRA _, _, bb6\n"
     "bb4: preds(bb1) succs(bb6 bb5)\n  %p6, _ = ISETP(cmp=GT) %r1, 0x9, PT, PT\n  @%p6 BRA _, _, bb6\n  BRA _, _, bb5\n"
     "bb5: preds(bb4) succs(bb6)\n" LOAD("7", "1") STORE("2", "7") "  BRA _, _, bb6\n"
     "bb6" BACK("bb2 bb3 bb4 bb5") "  EXIT _\n",
     PR_CONVERTED, 2, 2, 0, {"= PLOP3(lut=0xca) %p3, %p4, %p6", "BRA _, _, bb6 flags[side rewritten]"}, {"@%p3", "SEL"}},
    {"the other side has its ways crossed",
     HEAD("bb2 bb4") TWO("bb2", "bb4")
     "bb2: preds(bb1) succs(bb6 bb3)\n  %p4, _ = ISETP(cmp=LT) %r1, 0x7, PT, PT\n  @%p4 BRA _, _, bb6\n  BRA _, _, bb3\n"
     "bb3: preds(bb2) succs(bb6)\n" LOAD("5", "1") STORE("2", "5") "  BRA _, _, bb6\n"
     "bb4: preds(bb1) succs(bb5 bb6)\n  %p6, _ = ISETP(cmp=GT) %r1, 0x9, PT, PT\n  @%p6 BRA _, _, bb5\n  BRA _, _, bb6\n"
     "bb5: preds(bb4) succs(bb6)\n" LOAD("7", "1") STORE("2", "7") "  BRA _, _, bb6\n"
     "bb6" BACK("bb2 bb3 bb4 bb5") "  EXIT _\n",
     PR_CONVERTED, 2, 2, 0, {"= PLOP3(lut=0xca) %p3, %p4, !%p6"}, {"@%p3"}},
    {"what only the join wants stays behind one branch",
     HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" LOAD("4", "1") MUL("5", "4", "4") STORE("2", "5") ADD("6", "5", "0x1") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" LOAD("7", "1") MUL("8", "7", "7") STORE("2", "8") "  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  %r9 = phi %r6, %r1\n  STG _, _, 0x0, %r9\n  EXIT _\n",
     PR_CONVERTED, 3, 1, 0, {"@%p3 BRA", "phi %r6, %r1"}, {"SEL"}},
    {"a store under a guard is not a plain one, on the first side", HEAD("bb2 bb3") "  %p11, _ = ISETP(cmp=LT) %r1, 0x9, PT, PT\n" TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" LOAD("4", "1") ADD("5", "4", "0x5") MUL("6", "5", "5") "  @%p11" STORE("2", "6") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" LOAD("7", "2") ADD("8", "7", "0x5") MUL("9", "8", "8") STORE("2", "9") "  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n",
     PR_CONVERTED, 3, 2, 1, {"@!%p3 STS", "PLOP3(lut=0xc0) %p3, %p11"}, {"  STS"}},
    {"a store under a guard is not a plain one, on the second", HEAD("bb2 bb3") "  %p11, _ = ISETP(cmp=LT) %r1, 0x9, PT, PT\n" TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" LOAD("4", "1") ADD("5", "4", "0x5") MUL("6", "5", "5") STORE("2", "6") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" LOAD("7", "2") ADD("8", "7", "0x5") MUL("9", "8", "8") "  @%p11" STORE("2", "9") "  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n",
     PR_CONVERTED, 3, 2, 1, {"@%p3 STS", "%p3, %p11"}, {"  STS"}},
    {"a predicate of one side and a constant of the other",
     HEAD("bb2 bb3") TEST("10", "2", "PT") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" LOAD("4", "1") TEST("5", "4", "%p10") MUL("6", "4", "4") "  @%p5" STORE("2", "6") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" LOAD("7", "2") TEST("8", "7", "PT") MUL("9", "7", "7") "  @%p8" STORE("2", "9") "  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n",
     PR_CONVERTED, 4, 0, 2, {"= PLOP3(lut=0xca) %p3, %p10, PT"}, {"BRA", "%r11, 0x7, PT"}},
    {"a constant of one side and a predicate of the other",
     HEAD("bb2 bb3") TEST("10", "2", "PT") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" LOAD("4", "1") TEST("5", "4", "!PT") MUL("6", "4", "4") "  @%p5" STORE("2", "6") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" LOAD("7", "2") TEST("8", "7", "!%p10") MUL("9", "7", "7") "  @%p8" STORE("2", "9") "  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n",
     PR_CONVERTED, 4, 0, 2, {"= PLOP3(lut=0xca) %p3, !PT, !%p10"}, {"BRA", "0x7, !PT", "0x7, !%p10"}},
    {"nothing in common", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" LOAD("4", "1") MUL("5", "4", "4") STORE("1", "5") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" ADD("6", "1", "%r2") "  %r7 = SHF %r6, 0x3, RZ\n  STG _, _, 0x8, %r7\n  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n", PR_NO_PROFIT, 0, 0, 0, {"@%p3 BRA"}, {0}},
    {"other offsets are no operands that can be selected", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" STORE("1", "2") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n  STS %r1, _, 0x8, %r2\n  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n", PR_NO_PROFIT, 0, 0, 0, {"@%p3 BRA"}, {0}},
    {"a barrier", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" STORE("1", "2") "  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" STORE("1", "2") "  BAR 0x0, 0x0, _, 0xffffffff flags[sync memory side convergent]\n  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n", PR_SYNC, 0, 0, 0, {"@%p3 BRA"}, {0}},
    {"a vote", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n  %r4, _ = VOTE %p3 flags[convergent]\n" STORE("1", "4") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n  %r5, _ = VOTE %p3 flags[convergent]\n" STORE("1", "5") "  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n", PR_SYNC, 0, 0, 0, {"@%p3 BRA"}, {0}},
    {"sides of other shapes", HEAD("bb2 bb4") TWO("bb2", "bb4")
     "bb2: preds(bb1) succs(bb6 bb3)\n  %p4, _ = ISETP(cmp=LT) %r1, 0x7, PT, PT\n  @%p4 BRA _, _, bb6\n  BRA _, _, bb3\n"
     "bb3: preds(bb2) succs(bb6)\n" LOAD("5", "1") STORE("2", "5") "  BRA _, _, bb6\n"
     "bb4: preds(bb1) succs(bb6)\n" LOAD("7", "1") STORE("2", "7") "  BRA _, _, bb6\n"
     "bb6" BACK("bb2 bb3 bb4") "  EXIT _\n", PR_UNLIKE, 0, 0, 0, {"@%p3 BRA"}, {0}},
    {"loops", HEAD("bb2 bb3") TWO("bb2", "bb3")
     "bb2: preds(bb1 bb2) succs(bb2 bb4)\n" LOAD("4", "1") STORE("2", "4") "  %p5, _ = ISETP(cmp=LT) %r4, 0x7, PT, PT\n  @%p5 BRA _, _, bb2\n  BRA _, _, bb4\n"
     "bb3: preds(bb1 bb3) succs(bb3 bb4)\n" LOAD("6", "1") STORE("2", "6") "  %p7, _ = ISETP(cmp=LT) %r6, 0x7, PT, PT\n  @%p7 BRA _, _, bb3\n  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n", PR_UNLIKE, 0, 0, 0, {"@%p3 BRA"}, {0}},
    {"a uniform branch", "bb1: preds() succs(bb2 bb3)\n  %r1 = MOV c[0x0][0x160]\n  %p3, _ = ISETP(cmp=LT) %r1, 0x5, PT, PT\n" TWO("bb2", "bb3")
     "bb2: preds(bb1) succs(bb4)\n" LOAD("4", "1") STORE("1", "4") "  BRA _, _, bb4\n"
     "bb3: preds(bb1) succs(bb4)\n" LOAD("5", "1") STORE("1", "5") "  BRA _, _, bb4\n"
     "bb4" BACK("bb2 bb3") "  EXIT _\n", PR_COUNT, 0, 0, 0, {"@%p3 BRA"}, {0}},
};
// clang-format on

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
    assert_true(ir_reconv_opts("meld", &module->reconv_opts));
    assert_true(ir_verify(f, &d, "load") && pass_uniformity(module, &d) && pass_meld(module, &d) &&
                ir_verify(f, &d, "meld"));
    char *now = ir_print_function(f, NULL);
    bool good = module->melded.n == (c->reason != PR_COUNT);
    if (good && module->melded.n) {
        const MeldReport *report = &module->melded.at[0];
        good = report->reason == c->reason;
        if (c->reason == PR_CONVERTED)
            good &= report->melded == c->melded && report->alone == c->alone && report->selects == c->selects;
    }
    for (unsigned k = 0; k < sizeof c->has / sizeof *c->has && c->has[k]; k++)
        good &= strstr(now, c->has[k]) != NULL;
    for (unsigned k = 0; k < sizeof c->has_not / sizeof *c->has_not && c->has_not[k]; k++)
        good &= strstr(now, c->has_not[k]) == NULL;
    if (!good) {
        for (unsigned k = 0; k < module->melded.n; k++)
            printf("%s: %u %u %u\n", ir_predicate_reason(module->melded.at[k].reason),
                   module->melded.at[k].melded, module->melded.at[k].alone, module->melded.at[k].selects);
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

static void test_names(void **state) {
    (void)state;
    unsigned opts;
    assert_true(ir_reconv_opts("speculate,meld", &opts));
    assert_true(ir_reconv_opt(opts, RO_MELD) && ir_reconv_opt(opts, RO_SPECULATE));
    assert_false(ir_reconv_opt(opts, RO_GATHER_ROUNDS));
    assert_true(ir_reconv_opts("all", &opts) && ir_reconv_opt(opts, RO_GATHER_ROUNDS) &&
                ir_reconv_opt(opts, RO_MELD) && ir_reconv_opt(opts, RO_MEASURED));
    assert_true(ir_reconv_opts("gather-rounds", &opts) && !ir_reconv_opt(opts, RO_MEASURED));
    assert_true(ir_reconv_opts("none", &opts));
    assert_false(ir_reconv_opt(opts, RO_MELD | RO_SPECULATE | RO_GATHER_ROUNDS));
    static const char *const wrong[] = {"", "melt", "meld,", ",meld", "meld speculate", "meldx"};
    for (unsigned k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_false(ir_reconv_opts(wrong[k], &opts));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
