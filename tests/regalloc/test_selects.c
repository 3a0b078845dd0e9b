/* The pass `selects` on hand-written IR: which side is made under the predicate, and what stays a select.
 * SPDX-License-Identifier: MIT */
#include "pass_text.h"

#define READS "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n  %p3, _ = ISETP(cmp=LT) %r1, %r2, PT, PT\n"
#define KEPT "  %r4, _, _ = IADD3 %r1, %r2, RZ, !PT, !PT\n"
#define MADE "  %r5 = IMAD %r1, 0x7, %r2, _\n"
#define STORED "  STG _, _, 0x0, %r6\n"

static const struct {
    const char *body, *there, *gone; /* `there` stands in the result, `gone` does not */
} cases[] = {
    {READS KEPT MADE "  %r6 = SEL %r5, %r4, %p3\n" STORED, "@%p3 %r6 = IMAD %r1, 0x7, %r2, _ tied(%r4)",
     "SEL"},
    {READS KEPT MADE "  %r6 = SEL %r5, %r4, !%p3\n" STORED, "@!%p3 %r6 = IMAD", "SEL"},
    /* both sides could be: the first one is */
    {READS KEPT MADE "  %r6 = SEL %r4, %r5, %p3\n" STORED, "@%p3 %r6, _, _ = IADD3 %r1, %r2", "SEL"},
    {READS KEPT MADE "  STG _, _, 0x8, %r4\n  %r6 = SEL %r4, %r5, %p3\n" STORED, "@!%p3 %r6 = IMAD", "SEL"},
    /* the predicate comes later than the value */
    {"  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n" KEPT MADE "  %p3, _ = ISETP(cmp=LT) %r1, %r2, PT, PT\n"
     "  %r6 = SEL %r5, %r4, %p3\n" STORED,
     "@%p3 %r6 = IMAD", "SEL"},
    /* the value is read elsewhere, by a store or by the select twice; what is kept lives on */
    {READS KEPT MADE "  %r6 = SEL %r5, %r4, %p3\n" STORED "  STG _, _, 0x8, %r4\n  STG _, _, 0x4, %r5\n",
     "SEL %r5, %r4", "@"},
    {READS KEPT MADE "  STG _, _, 0x4, %r4\n  %r6 = SEL %r5, %r5, %p3\n" STORED, "SEL", "@"},
    {READS "  %r4 = LDS %r1, _, 0x0\n" MADE "  %r6 = SEL %r5, %r4, %p3\n" STORED "  STG _, _, 0x8, %r4\n",
     "SEL %r5, %r4", "@"},
    /* no register is kept; memory, a result of variable latency, a lane's neighbour, a guard of its own */
    {READS MADE "  %r6 = SEL %r5, 0x5, %p3\n" STORED, "SEL %r5, 0x5", "@"},
    {READS "  %r5 = LDS %r1, _, 0x0\n  %r6 = SEL %r5, %r2, %p3\n" STORED, "SEL %r5", "@"},
    {READS "  %r5 = MUFU(func=0x4) %r1\n  %r6 = SEL %r5, %r2, %p3\n" STORED, "SEL %r5", "@"},
    {READS
     "  %r5, _ = SHFL %r1, 0x1, 0x1f, 0xffffffff flags[sync convergent]\n  %r6 = SEL %r5, %r2, %p3\n" STORED,
     "SEL %r5", "@"},
    {READS "  @%p3 %r5 = IMAD %r1, 0x7, %r2, _ tied(%r1)\n  %r6 = SEL %r5, %r2, %p3\n" STORED, "SEL %r5",
     "@!"},
    /* the carry is wanted, too */
    {READS "  %r5, %p7, _ = IADD3 %r1, %r2, RZ, !PT, !PT\n  %r6 = SEL %r5, %r2, %p3\n" STORED
           "  @%p7 STG _, _, 0x4, %r1\n",
     "SEL %r5", "@%p3"},
    /* both registers of a pair, in either order; not by two predicates, nor one register of them */
    {READS "  [%r5 %r7], _ = IMAD_WIDE %r1, %r2, RZ, !PT\n  %r6 = SEL %r5, %r1, %p3\n  %r8 = SEL %r7, %r2, "
           "%p3\n" STORED "  STG _, _, 0x4, %r8\n",
     "@%p3 [%r6 %r8], _ = IMAD_WIDE %r1, %r2, RZ, !PT tied([%r1 %r2], _)", "SEL"},
    {READS "  [%r5 %r7], _ = IMAD_WIDE %r1, %r2, RZ, !PT\n  %r8 = SEL %r7, %r2, %p3\n  %r6 = SEL %r5, %r1, "
           "%p3\n" STORED "  STG _, _, 0x4, %r8\n",
     "@%p3 [%r6 %r8], _ = IMAD_WIDE %r1, %r2, RZ, !PT tied([%r1 %r2], _)", "SEL"},
    {READS "  [%r5 %r7], _ = IMAD_WIDE %r1, %r2, RZ, !PT\n  %r6 = SEL %r5, %r1, %p3\n  %r8 = SEL %r7, %r2, "
           "!%p3\n" STORED "  STG _, _, 0x4, %r8\n",
     "SEL %r7", "@"},
    {READS "  [%r5 %r7], _ = IMAD_WIDE %r1, %r2, RZ, !PT\n  %r6 = SEL %r5, %r1, %p3\n" STORED
           "  STG _, _, 0x4, %r7\n",
     "SEL %r5", "@"},
    /* the first select's result is read before the last one */
    {READS "  [%r5 %r7], _ = IMAD_WIDE %r1, %r2, RZ, !PT\n  %r6 = SEL %r5, %r1, %p3\n" STORED
           "  %r8 = SEL %r7, %r2, %p3\n  STG _, _, 0x4, %r8\n",
     "SEL %r5", "@"},
};

static char *after(const char *body) {
    char blocks[4096];
    snprintf(blocks, sizeof blocks, "bb1: preds() succs()\n%s  EXIT _\n", body);
    return text_behind(pass_selects, blocks);
}

static void sides(void **state) {
    (void)state;
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *text = after(cases[k].body);
        if (!strstr(text, cases[k].there) || strstr(strstr(text, "bb1"), cases[k].gone))
            fail_msg("case %u: wanted %s, not %s\n%s", k, cases[k].there, cases[k].gone, text);
        free(text);
    }
}

/* What the loop's next round reads is no register to give up; what it replaces is. */
static void loops(void **state) {
    (void)state;
    static const char text[] =
        "module sm_80 opt=2 const=0\nfunc @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
        "bb1: preds() succs(bb2)\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n  BRA _, _, bb2\n"
        "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r3 = phi %r1, %r4\n  %r5 = phi %r1, %r6\n"
        "  %p7, _ = ISETP(cmp=LT) %r3, %r2, PT, PT\n"
        "  %r8, _, _ = IADD3 %r3, 0x1, RZ, !PT, !PT\n  %r4 = SEL %r8, %r3, %p7\n"
        "  %r9 = IMAD %r5, 0x7, %r2, _\n  %r6 = SEL %r9, %r1, %p7\n"
        "  @%p7 BRA _, _, bb2\n  BRA _, _, bb3\nbb3: preds(bb2) succs()\n  STG _, _, 0x0, %r4\n"
        "  STG _, _, 0x4, %r6\n  EXIT _\n}\n";
    StrTab strings = {0};
    Diags d = {.sink = diag_print_sink, .user = stderr};
    Source source = {"t.mir", text, sizeof text - 1};
    IrModule *module = ir_load(&source, &strings, &d);
    assert_non_null(module);
    assert_true(pass_selects(module->funcs.at[0], &d));
    char *now = ir_print_function(module->funcs.at[0], NULL);
    if (!strstr(now, "@%p7 %r4, _, _ = IADD3 %r3, 0x1, RZ, !PT, !PT tied(%r3, _, _)") ||
        !strstr(now, "%r6 = SEL %r9, %r1, %p7"))
        fail_msg("%s", now);
    free(now);
    ir_module_free(module);
    str_free(&strings);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sides), cmocka_unit_test(loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
