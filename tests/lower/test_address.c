/* The pass that makes addresses of 32 bits where they are accessed, on hand-written functions: what it takes
 * over, and what it must leave. SPDX-License-Identifier: MIT */
#include "opt_text.h"

static const char shared_code[] =
    "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %r40 = S2R SR[tid.z]\n"
    "  %r3 = SHF(type=U32 dir=L) %r1, 0x2, RZ\n  STS %r3, _, 0x0, %r2\n  %r4 = LDS %r3, _, 0x40\n"
    "  STG _, _, 0x0, %r4\n"
    "  %r5, _ = LEA %r1, 0x100, RZ, 0x3, !PT\n  %r6 = LDS %r5, _, 0x4\n  STG _, _, 0x4, %r6\n"
    "  %r7 = SHF(type=U32 dir=L) %r1, 0x5, RZ\n  STS %r7, _, 0x0, %r2\n"
    "  %r8 = SHF(type=U32 dir=L) %r40, 0x4, RZ\n  STS %r8, _, 0x0, %r2\n  STG _, _, 0x8, %r8\n"
    "  %r9, _, _ = IADD3 %r2, 0x8, RZ, !PT, !PT\n  %r10 = SHF(type=U32 dir=L) %r9, 0x2, RZ\n"
    "  STS %r10, _, 0x0, %r1\n"
    "  %r11 = MOV 0x200\n  %r12 = ATOMS(op=ADD) %r11, _, 0x0, %r1\n  STG _, _, 0xc, %r12\n"
    "  %r13, _, _ = IADD3 %r2, 0x800000, RZ, !PT, !PT\n  STS %r13, _, 0x0, %r1\n"
    "  %r14 = SHF(type=U32 dir=R hi=1) RZ, 0x2, %r1\n  STS %r14, _, 0x0, %r1\n  EXIT _\n";

static void test_shared(void **state) {
    (void)state;
    Loaded l;
    load(&l, shared_code);
    assert_true(pass_address(l.f, &l.d));
    expect(&l, "STS(stride=X4) %r1, _, 0x0, %r2", "%r3 = SHF");
    expect(&l, "%r4 = LDS(stride=X4) %r1, _, 0x40", NULL);
    expect(&l, "%r6 = LDS(stride=X8) %r1, _, 0x104", "%r5, _ = LEA");
    expect(&l, "STS %r7, _, 0x0, %r2", NULL); /* no factor of 32 */
    expect(&l, "STS %r8, _, 0x0, %r2", NULL); /* used otherwise */
    expect(&l, "STS(stride=X4) %r2, _, 0x20, %r1", "%r9, _, _ = IADD3");
    expect(&l, "%r12 = ATOMS RZ, _, 0x200, %r1", "%r11 = MOV");
    expect(&l, "STS %r13, _, 0x0, %r1", NULL); /* too far */
    expect(&l, "STS %r14, _, 0x0, %r1", NULL);
    unload(&l);
}

static const char local_code[] =
    "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %r3 = S2R SR[tid.z]\n"
    "  %r4, _, _ = IADD3 %r3, 0x30, RZ, !PT, !PT\n"
    "  [%r5 %r6], _ = IMAD_WIDE %r1, 0x4, [%r3 %r2], !PT\n  STL %r5, _, 0x0, %r2\n"
    "  [%r7 %r8], _ = IMAD_WIDE %r1, 0x4, [%r4 %r2], !PT\n  %r9 = LDL %r7, _, 0x4\n  STG _, _, 0x0, %r9\n"
    "  [%r10 %r11], _ = IMAD_WIDE %r1, 0x5, RZ, !PT\n  STG _, _, 0x4, %r10\n  STG _, _, 0x8, %r11\n"
    "  %r12 = SHF(type=U32 dir=L) %r1, 0x2, RZ\n  STL %r12, _, 0x0, %r2\n"
    "  %r13, _, _ = IADD3 %r2, 0x30, RZ, !PT, !PT\n  %r14 = IMAD %r1, 0x4, %r13, !PT\n"
    "  STL %r14, _, 0x0, %r2\n  STG _, _, 0xc, %r13\n  EXIT _\n";

/* Local memory has no factors; products of 64 bits become such of 32, and those of arrays side by side one.
 */
static void test_local(void **state) {
    (void)state;
    Loaded l;
    load(&l, local_code);
    assert_true(pass_address(l.f, &l.d));
    expect(&l, "%r5 = IMAD %r1, 0x4, %r3, !PT", "%r7 =");
    expect(&l, "%r9 = LDL %r5, _, 0x34", "%r4, _, _ = IADD3");
    expect(&l, "[%r10 %r11], _ = IMAD_WIDE", NULL);
    expect(&l, "STL %r12, _, 0x0, %r2", NULL);
    expect(&l, "%r14 = IMAD %r1, 0x4, %r13, !PT", NULL); /* %r13 would stay */
    unload(&l);
}

/* No IMAD has an addend in a constant bank beside a number: the product stays, and makes what it made. */
static void test_not_taken(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n"
             "  [%r2 %r3], _ = IMAD_WIDE %r1, 0x10, c[0x0][0x18], !PT\n  STS %r2, _, 0x0, %r1\n  EXIT _\n");
    assert_true(pass_address(l.f, &l.d));
    expect(&l, "[%r2 %r3], _ = IMAD_WIDE", NULL);
    unload(&l);
}

/* What only the high word of an addend was computed from goes with it, however long the chain. */
static void test_chain(void **state) {
    enum { LINKS = 200000, LINE = 64 };
    char *text = malloc(LINE * (LINKS + 8)), *end = text;
    (void)state;
    assert_non_null(text);
    end += sprintf(end, "bb1: preds() succs()\n  %%r1 = S2R SR[tid.x]\n  %%r2 = S2R SR[tid.y]\n");
    for (unsigned k = 0; k < LINKS; k++)
        end += sprintf(end, "  %%r%u, _, _ = IADD3 %%r%u, %%r1, RZ, !PT, !PT\n", k + 3, k + 2);
    sprintf(
        end,
        "  [%%r%u %%r%u], _ = IMAD_WIDE %%r1, 0x4, [%%r1 %%r%u], !PT\n  STS %%r%u, _, 0x0, %%r2\n  EXIT _\n",
        LINKS + 3, LINKS + 4, LINKS + 2, LINKS + 3);
    Loaded l;
    load(&l, text);
    free(text);
    assert_true(pass_address(l.f, &l.d));
    unsigned n = 0;
    FOR_BLOCKS(l.f, b)
        n += ir_num_insts(l.f, b);
    assert_int_equal(n, 5);
    unload(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shared), cmocka_unit_test(test_local),
                                       cmocka_unit_test(test_not_taken), cmocka_unit_test(test_chain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
