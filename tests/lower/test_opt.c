/* Optimisation passes on hand-written functions: each does its work, and leaves alone what it must (random
 * ones: test_opt_random.c). SPDX-License-Identifier: MIT */
#include "opt_text.h"

static void test_fold_and_branches(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2 bb3)\n"
             "  %r1 = MOV 0x4\n  %r2, _, _ = IADD3 %r1, 0x3, RZ, !PT, !PT\n"
             "  %p3, _ = ISETP(cmp=GT) %r2, 0x6, PT, _\n"
             "  @%p3 BRA _, _, bb2\n  BRA _, _, bb3\n"
             "bb2: preds(bb1) succs(bb4)\n  BRA _, _, bb4\n"
             "bb3: preds(bb1) succs(bb4)\n  STG _, _, 0x8, %r1\n  BRA _, _, bb4\n"
             "bb4: preds(bb2 bb3) succs()\n  STG _, _, 0x4, %r2\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_branches(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%r2 = MOV 0x7", "BRA"); /* 4 + 3 > 6 is true: one block remains */
    expect(&l, "STG _, _, 0x4, %r2", "0x8");
    unload(&l);
}

/* Operations of constants; what they are is said by host arithmetic. */
static void test_fold_operations(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = MOV 0x80000005\n  %r2 = MOV 0xfffffff3\n"
             "  %r3, %p4, _ = IADD3 %r1, 0x80000001, RZ, !PT, !PT\n"
             "  %r5, _, _ = IADD3(x=0x1) RZ, 0x7, RZ, %p4, !PT\n"
             "  %r6, _, _ = IADD3 %r1, -%r2, RZ, !PT, !PT\n"
             "  %r7 = POPC %r1\n  %r8 = BREV %r1\n"
             "  %r9 = SHF(dir=R hi=0x1 type=S32) RZ, 0x3, %r1\n"
             "  %r10 = IMAD %r1, %r2, %r2, _\n"
             "  %p11, %p12 = ISETP(cmp=LT sign=U32) %r1, 0x5, PT, _\n"
             "  %r13 = SEL %r1, %r2, %p11\n  %r14 = SEL %r1, %r2, %p12\n"
             "  STG _, _, 0x0, %r3\n  STG _, _, 0x4, %r5\n  STG _, _, 0x8, %r6\n  STG _, _, 0xc, %r7\n"
             "  STG _, _, 0x10, %r8\n  STG _, _, 0x14, %r9\n  STG _, _, 0x18, %r10\n"
             "  STG _, _, 0x1c, %r13\n  STG _, _, 0x20, %r14\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    const uint32_t x = 0x80000005, y = 0xfffffff3;
    uint64_t sum = (uint64_t)x + 0x80000001;
    uint32_t reversed = 0;
    for (unsigned b = 0; b < 32; b++)
        reversed |= (x >> b & 1) << (31 - b);
    const struct {
        const char *value;
        uint32_t is;
    } rows[] = {{"%r5", 7 + (uint32_t)(sum >> 32)},
                {"%r6", x - y},
                {"%r7", (uint32_t)__builtin_popcount(x)},
                {"%r8", reversed},
                {"%r9", 0xf0000000}, /* 0x80000005 / 8, downwards */
                {"%r10", x * y + y},
                {"%r13", x < 5 ? x : y},
                {"%r14", x < 5 ? y : x}};
    for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[64];
        snprintf(text, sizeof text, "%s = MOV 0x%x", rows[k].value, rows[k].is);
        expect(&l, text, NULL);
    }
    unload(&l);
}

static void test_address(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
             "  %r3, %p4, _ = IADD3 %r1, 0xfffffffc, RZ, !PT, !PT\n"
             "  %r5, _, _ = IADD3(x=0x1) %r2, 0xffffffff, RZ, %p4, !PT\n"
             "  %r6, _ = LDG(e=E) [%r3 %r5].64, _, 0x10, _\n"
             "  STG(e=E) [%r3 %r5].64, _, 0x0, %r6\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "[%r1 %r2].64, _, 0xc", "IADD3");
    expect(&l, "[%r1 %r2].64, _, 0xfffffffc", NULL);
    unload(&l);
}

static void test_constant_bank(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = MOV c[0x0][0x160]\n"
             "  %r3 = IMAD %r2, %r1, RZ, _\n  STG _, _, 0x0, %r3\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "IMAD %r1, c[0x0][0x160]", "MOV"); /* the factors change places */
    unload(&l);
}

/* A constant that a comparison has first comes second, where words of the constant bank may be; less is
 * greater then, in both words of a number of 64 bits. */
static void test_fold_comparisons(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = MOV c[0x0][0x160]\n  %r3 = MOV c[0x0][0x164]\n"
             "  %p4, _ = ISETP(cmp=EQ sign=U32) %r2, RZ, PT, _\n"
             "  %p5, _ = ISETP(cmp=LE sign=U32) %r2, %r1, PT, _\n"
             "  %p6, _ = ISETP(cmp=GT ex=0x1) %r3, %r1, PT, %p5\n"
             "  %p7, %p8 = FSETP(cmp=LTU) %r2, %r1, %p4\n  %p9, _ = FSETP(cmp=NAN) %r2, %r1, PT\n"
             "  %r10 = SEL %r1, RZ, %p6\n  STG _, _, 0x0, %r10\n  %r11 = SEL %r1, RZ, %p7\n"
             "  STG _, _, 0x4, %r11\n  %r12 = SEL %r1, RZ, %p8\n  STG _, _, 0x8, %r12\n"
             "  %r13 = SEL %r1, RZ, %p9\n  STG _, _, 0xc, %r13\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%p4, _ = ISETP(sign=U32 cmp=EQ) RZ, c[0x0][0x160], PT", "MOV");
    expect(&l, "%p5, _ = ISETP(sign=U32 cmp=GE) %r1, c[0x0][0x160], PT", NULL);
    expect(&l, "%p6, _ = ISETP(ex=0x1 cmp=LT) %r1, c[0x0][0x164], PT, %p5", NULL);
    expect(&l, "%p7, %p8 = FSETP(cmp=GTU) %r1, c[0x0][0x160], %p4", NULL);
    expect(&l, "%p9, _ = FSETP(cmp=NAN) %r1, c[0x0][0x160], PT", NULL);
    unload(&l);
}

static void test_cse(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2 bb3)\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[clock.lo]\n  %r3 = S2R SR[clock.lo]\n"
             "  %r4 = IMAD %r1, %r1, %r2, _\n  %p5, _ = ISETP %r1, %r2, PT, _\n"
             "  @%p5 BRA _, _, bb2\n  BRA _, _, bb3\n"
             "bb2: preds(bb1) succs(bb3)\n  %r6 = IMAD %r1, %r1, %r2, _\n  %r7 = IMAD %r1, %r1, %r3, _\n"
             "  STG _, _, 0x0, %r6\n  STG _, _, 0x4, %r7\n  BRA _, _, bb3\n"
             "bb3: preds(bb1 bb2) succs()\n  %r8 = IMAD %r1, %r1, %r3, _\n  STG _, _, 0x8, %r8\n"
             "  STG _, _, 0xc, %r4\n  EXIT _\n");
    assert_true(pass_cse(l.f, &l.d));
    expect(&l, "STG _, _, 0x0, %r4", "%r6");
    expect(&l, "%r7 = IMAD %r1, %r1, %r3", NULL); /* another clock value */
    expect(&l, "%r8 = IMAD %r1, %r1, %r3", NULL); /* bb2 does not dominate bb3 */
    unload(&l);
}

/* Phis of one block with the same sources are one; not with others, nor those of another block. */
static void test_cse_of_phis(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2 bb3)\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
             "  %p3, _ = ISETP %r1, %r2, PT, _\n  @%p3 BRA _, _, bb2\n  BRA _, _, bb3\n"
             "bb2: preds(bb1) succs(bb3)\n  BRA _, _, bb3\n"
             "bb3: preds(bb1 bb2) succs(bb4 bb5)\n  %r4 = phi %r1, %r2\n  %r5 = phi %r1, %r2\n"
             "  %r6 = phi %r2, %r1\n  STG _, _, 0x0, %r4\n  STG _, _, 0x4, %r5\n  STG _, _, 0x8, %r6\n"
             "  %p7, _ = ISETP %r5, %r6, PT, _\n  @%p7 BRA _, _, bb4\n  BRA _, _, bb5\n"
             "bb4: preds(bb3) succs(bb5)\n  BRA _, _, bb5\n"
             "bb5: preds(bb3 bb4) succs()\n  %r8 = phi %r1, %r2\n  STG _, _, 0xc, %r8\n  EXIT _\n");
    assert_true(pass_cse(l.f, &l.d));
    expect(&l, "STG _, _, 0x4, %r4", "%r5");
    expect(&l, "STG _, _, 0x8, %r6", NULL);
    expect(&l, "STG _, _, 0xc, %r8", NULL);
    unload(&l);
}

/* x ^ true, as compilers write "not" of a comparison; a table that is one of its inputs, or none. */
static void test_fold_predicates(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
             "  %p3, _ = PLOP3(lut=0xf0) !PT, PT, PT\n  %p4, _ = ISETP(cmp=EQ bop=XOR) %r1, %r2, %p3, _\n"
             "  %r5 = SEL %r1, %r2, %p4\n  STG _, _, 0x0, %r5\n"
             "  %p6, _ = PLOP3(lut=0xf) %p3, PT, PT\n  %p7, _ = ISETP(cmp=LT bop=XOR) %r1, %r2, %p6, _\n"
             "  %r8 = SEL %r1, %r2, %p7\n  STG _, _, 0x4, %r8\n"
             "  %p9, _ = PLOP3(lut=0xfc) %p4, %p3, PT\n  %r10 = SEL %r1, %r2, %p9\n  STG _, _, 0x8, %r10\n"
             "  %p11, _ = PLOP3(lut=0xc0) %p4, !%p4, PT\n  %r12 = SEL %r1, %r2, %p11\n  STG _, _, 0xc, %r12\n"
             "  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%p4, _ = ISETP(cmp=EQ) %r1, %r2, PT", "PLOP3");
    expect(&l, "_, %p7 = ISETP(cmp=LT) %r1, %r2, PT", NULL);
    expect(&l, "%r10 = SEL %r1, %r2, %p4", NULL);
    expect(&l, "%r12 = SEL %r1, %r2, !PT", NULL);
    unload(&l);
}

/* The member mask of a collective, which compilers put into a register first; one that is loaded stays. */
static void test_fold_members(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %r2 = MOV 0xffffffff\n"
             "  %r3, _ = SHFL(mode=BFLY) %r1, 0x1, 0x1f, %r2 flags[sync convergent]\n"
             "  STG _, _, 0x0, %r3\n  %r4 = LDS %r1, _, 0x0\n"
             "  %r5, _ = SHFL(mode=BFLY) %r1, 0x2, 0x1f, %r4 flags[sync convergent]\n"
             "  STG _, _, 0x4, %r5\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "SHFL(mode=BFLY) %r1, 0x1, 0x1f, 0xffffffff", "MOV");
    expect(&l, "SHFL(mode=BFLY) %r1, 0x2, 0x1f, %r4", NULL);
    unload(&l);
}

/* Masks of bits that are 0 anyway, masks of masks, tables that give one operand; what loads extend by sign,
 * or only some lanes write, stays masked, and so do bits that a wider shift or a smaller mask lets through.
 */
static void test_fold_masks(void **state) {
    (void)state;
    Loaded l;
    load(&l,
         "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %p2, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n"
         "  %r3 = LDS(sz=U8) %r1, _, 0x0\n  %r4, _ = LOP3(lut=0xc0) %r3, 0xffff, RZ, !PT\n"
         "  %r5, _ = LOP3(lut=0xc0) %r4, 0xff, RZ, !PT\n  STG _, _, 0x0, %r5\n"
         "  %r6 = LDS(sz=S8) %r1, _, 0x4\n  %r7, _ = LOP3(lut=0xc0) %r6, 0xffff, RZ, !PT\n"
         "  %r8, _ = LOP3(lut=0xc0) %r7, 0xff, RZ, !PT\n  STG _, _, 0x4, %r8\n"
         "  @%p2 %r9 = LDS(sz=U8) %r1, _, 0x8 tied(%r1)\n  %r10, _ = LOP3(lut=0xc0) %r9, 0xff, RZ, !PT\n"
         "  STG _, _, 0x8, %r10\n"
         "  %r11 = SHF(type=U32 dir=R hi=1) RZ, 0x18, %r1\n  %r12, _ = LOP3(lut=0xc0) %r11, 0xff, RZ, !PT\n"
         "  STG _, _, 0xc, %r12\n"
         "  %r13, _ = LOP3(lut=0xc0) %r11, 0x7f, RZ, !PT\n  STG _, _, 0x10, %r13\n"
         "  %r14 = SHF(type=S32 dir=R hi=1) RZ, 0x18, %r1\n  %r15, _ = LOP3(lut=0xc0) %r14, 0xff, RZ, !PT\n"
         "  STG _, _, 0x14, %r15\n"
         "  %r16, _ = LOP3(lut=0xc0) %r1, 0x0f, RZ, !PT\n  %r17, _ = LOP3(lut=0xc0) %r16, 0xff, RZ, !PT\n"
         "  STG _, _, 0x18, %r17\n"
         "  %r18, _ = LOP3(lut=0xfc) %r1, RZ, RZ, !PT\n  STG _, _, 0x1c, %r18\n"
         "  %r19, _ = LOP3(lut=0xfc) %r3, 0xff, RZ, !PT\n  STG _, _, 0x20, %r19\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "STG _, _, 0x0, %r3", "%r5");
    expect(&l, "%r8, _ = LOP3(lut=0xc0) %r6, 0xff", "%r7");
    expect(&l, "STG _, _, 0x8, %r10", NULL);
    expect(&l, "STG _, _, 0xc, %r11", NULL);
    expect(&l, "STG _, _, 0x10, %r13", NULL);
    expect(&l, "STG _, _, 0x14, %r15", NULL);
    expect(&l, "STG _, _, 0x18, %r16", NULL);
    expect(&l, "STG _, _, 0x1c, %r1\n", NULL);
    expect(&l, "STG _, _, 0x20, %r19", NULL);
    unload(&l);
}

/* Expected: bytes of the selector, PTX ISA, prmt (the default mode). */
static void test_fold_permutations(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2)\n  %r1 = S2R SR[tid.x]\n  %r2 = LDS(sz=U8) %r1, _, 0x0\n"
             "  %r3 = LDS(sz=S8) %r1, _, 0x0\n  %r4 = LDS(sz=U16) %r1, _, 0x0\n"
             "  %r5 = PRMT %r2, 0x9910, RZ\n  STG _, _, 0x0, %r5\n"
             "  %r6 = PRMT %r2, 0x8880, RZ\n  STG _, _, 0x4, %r6\n"
             "  %r7 = PRMT %r3, 0x9910, RZ\n  STG _, _, 0x8, %r7\n"
             "  %r8 = PRMT %r4, 0x9910, RZ\n  STG _, _, 0xc, %r8\n"
             "  %r9 = PRMT RZ, 0x7654, %r2\n  STG _, _, 0x10, %r9\n"
             "  %r10 = PRMT %r2, 0x3201, RZ\n  STG _, _, 0x14, %r10\n"
             "  %r11 = PRMT %r4, 0x7710, RZ\n  STG _, _, 0x18, %r11\n"
             "  %r12 = PRMT(mode=RC16) %r2, 0x3210, RZ\n  STG _, _, 0x1c, %r12\n"
             "  %r13 = PRMT %r1, 0x7740, RZ\n  %r14, _ = LOP3(lut=0xc0) %r13, 0xff, RZ, !PT\n"
             "  STG _, _, 0x20, %r14\n"
             "  %r15 = PRMT %r1, 0x8880, RZ\n  %r16, _ = LOP3(lut=0xc0) %r15, 0xff, RZ, !PT\n"
             "  STG _, _, 0x24, %r16\n  BRA _, _, bb2\n"
             "bb2: preds(bb1) succs()\n  %r17 = PRMT %r2, 0x9910, RZ\n  STG _, _, 0x28, %r17\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "STG _, _, 0x0, %r2", NULL);
    expect(&l, "STG _, _, 0x4, %r6", NULL);
    expect(&l, "STG _, _, 0x8, %r7", NULL);
    expect(&l, "STG _, _, 0xc, %r8", NULL);
    expect(&l, "STG _, _, 0x10, %r2", NULL);
    expect(&l, "STG _, _, 0x14, %r10", NULL);
    expect(&l, "STG _, _, 0x18, %r4", NULL);
    expect(&l, "STG _, _, 0x1c, %r12", NULL);
    expect(&l, "STG _, _, 0x20, %r13", NULL);
    expect(&l, "STG _, _, 0x24, %r16", NULL);
    expect(&l, "STG _, _, 0x28, %r2", NULL);
    unload(&l);
}

/* Signs: x + -0 with a sign is read by sums, products and comparisons of the same format from x. Not by what
 * takes the bits, nor where the sum flushes, saturates, rounds another way, adds +0 or has a guard. */
static void test_fold_signs(void **state) {
    (void)state;
    Loaded l;
    load(&l,
         "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %p3, _ = ISETP(cmp=LT) %r1, "
         "%r2, PT, _\n"
         "  %r4 = FADD -%r1, 0x80000000\n  %r5 = FADD %r4, %r2\n  STG _, _, 0x0, %r5\n"
         "  %r6 = FMUL -%r4, %r2\n  STG _, _, 0x4, %r6\n"
         "  %r7 = FADD |%r1|, 0x80000000\n  %r8 = FFMA %r2, %r2, -%r7\n  STG _, _, 0x8, %r8\n"
         "  %r9 = FADD |%r4|, 0x80000000\n  %r10 = FADD %r9, %r2\n  STG _, _, 0xc, %r10\n"
         "  %p11, _ = FSETP(cmp=LT) |%r4|, %r7, PT\n  %r12 = SEL %r1, %r2, %p11\n  STG _, _, 0x10, %r12\n"
         "  %r13 = FSEL %r4, %r2, %p3\n  STG _, _, 0x14, %r13\n"
         "  %r14 = FADD(ftz=1) -%r1, 0x80000000\n  %r15 = FADD %r14, %r2\n  STG _, _, 0x18, %r15\n"
         "  %r16 = FADD(sat=1) -%r1, 0x80000000\n  %r17 = FADD %r16, %r2\n  STG _, _, 0x1c, %r17\n"
         "  %r18 = FADD(rnd=RM) -%r1, 0x80000000\n  %r19 = FADD %r18, %r2\n  STG _, _, 0x20, %r19\n"
         "  %r20 = FADD -%r1, 0x0\n  %r21 = FADD %r20, %r2\n  STG _, _, 0x24, %r21\n"
         "  @%p3 %r22 = FADD -%r1, 0x80000000 tied(%r2)\n  %r23 = FADD %r22, %r2\n  STG _, _, 0x28, %r23\n"
         "  [%r24 %r25] = DADD -[%r1 %r2], 0x80000000\n  [%r26 %r27] = DMUL [%r24 %r25], [%r24 %r25]\n"
         "  STG _, _, 0x2c, %r26\n  %r28 = FADD %r25, %r2\n  STG _, _, 0x30, %r28\n"
         "  %r29, _ = LOP3(lut=0xc0) %r4, %r2, RZ, !PT\n  STG _, _, 0x34, %r29\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%r5 = FADD -%r1, %r2", NULL);
    expect(&l, "%r6 = FMUL %r1, %r2", NULL);
    expect(&l, "%r8 = FFMA %r2, %r2, -|%r1|", "%r7 =");
    expect(&l, "%r10 = FADD |%r1|, %r2", "%r9 =");
    expect(&l, "FSETP(cmp=LT) |%r1|, |%r1|", NULL);
    expect(&l, "%r13 = FSEL %r4, %r2", NULL);
    expect(&l, "%r15 = FADD %r14, %r2", NULL);
    expect(&l, "%r17 = FADD %r16, %r2", NULL);
    expect(&l, "%r19 = FADD %r18, %r2", NULL);
    expect(&l, "%r21 = FADD %r20, %r2", NULL);
    expect(&l, "%r23 = FADD %r22, %r2", NULL);
    expect(&l, "[%r26 %r27] = DMUL -[%r1 %r2], -[%r1 %r2]", NULL);
    expect(&l, "%r28 = FADD %r25, %r2", NULL);
    expect(&l, "LOP3(lut=0xc0) %r4, %r2", NULL);
    unload(&l);
}

/* What 64 bits leave: a mask that takes all, a product with zero, equal upper halves, a choice of equals. */
static void test_fold_halves(void **state) {
    (void)state;
    Loaded l;
    load(
        &l,
        "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
        "  %r3, _ = LOP3(lut=0xc0) %r1, 0x0, RZ, !PT\n"
        "  %p4, _ = ISETP(sign=U32 cmp=EQ) %r1, %r2, PT, _\n"
        "  %p5, _ = ISETP(ex=1 cmp=EQ) %r3, RZ, PT, %p4\n  %r6 = SEL %r1, %r2, %p5\n  STG _, _, 0x0, %r6\n"
        "  %p9, _ = ISETP(ex=1 cmp=GT) %r3, RZ, %p4, %p4\n  %r10 = SEL %r1, %r2, %p9\n  STG _, _, 0x8, %r10\n"
        "  %p11, _ = ISETP(ex=1 bop=OR cmp=GT) %r3, RZ, PT, %p4\n  %r12 = SEL %r1, %r2, %p11\n  STG _, _, "
        "0xc, %r12\n"
        "  %p13, _ = ISETP(ex=1 cmp=EQ) %r3, RZ, PT, !%p4\n  %r14 = SEL %r1, %r2, %p13\n  STG _, _, 0x10, "
        "%r14\n"
        "  %r15 = IMAD %r1, RZ, %r2, !PT\n  STG _, _, 0x14, %r15\n"
        "  %r16 = IMAD(x=1) %r1, RZ, %r2, %p4\n  STG _, _, 0x18, %r16\n"
        "  %r17 = SEL RZ, RZ, %p4\n  %r18, _, _ = IADD3 %r1, %r17, %r2, !PT, !PT\n  STG _, _, 0x1c, %r18\n"
        "  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%r6 = SEL %r1, %r2, %p4", "%p5");
    expect(&l, "%p9, _ = ISETP", NULL);
    expect(&l, "%r12 = SEL %r1, %r2, PT", "%p11, _"); /* ... OR PT */
    expect(&l, "%p13, _ = ISETP", NULL);
    expect(&l, "STG _, _, 0x14, %r2", "%r15 =");
    expect(&l, "%r16 = IMAD(x=0x1)", NULL);
    expect(&l, "%r18, _, _ = IADD3 %r1, RZ, %r2", "%r17 =");
    unload(&l);
}

/* A literal moved once serves again in its block. */
static void test_legalise_literals(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2)\n  %r1 = S2R SR[tid.x]\n"
             "  [%r2 %r3], _ = IMAD_WIDE %r1, 0x4, c[0x0][0x160], !PT\n  STG [%r2 %r3].64, _, 0x0, %r1\n"
             "  [%r4 %r5], _ = IMAD_WIDE %r1, 0x4, c[0x0][0x168], !PT\n  STG [%r4 %r5].64, _, 0x0, %r1\n"
             "  [%r6 %r7], _ = IMAD_WIDE %r1, 0x8, c[0x0][0x168], !PT\n  STG [%r6 %r7].64, _, 0x0, %r1\n"
             "  BRA _, _, bb2\n"
             "bb2: preds(bb1) succs()\n"
             "  [%r8 %r9], _ = IMAD_WIDE %r1, 0x4, c[0x0][0x160], !PT\n  STG [%r8 %r9].64, _, 0x0, %r1\n"
             "  EXIT _\n");
    assert_true(pass_legalise(l.f, &l.d));
    expect(&l, "%r10{u} = MOV 0x4\n", NULL);
    expect(&l, "[%r2 %r3], _ = IMAD_WIDE %r1, %r10, c[0x0][0x160], !PT", NULL);
    expect(&l, "[%r4 %r5], _ = IMAD_WIDE %r1, %r10, c[0x0][0x168], !PT", NULL);
    expect(&l, "%r11{u} = MOV 0x8\n", NULL);
    expect(&l, "[%r6 %r7], _ = IMAD_WIDE %r1, %r11, c[0x0][0x168], !PT", NULL);
    expect(&l, "%r12{u} = MOV 0x4\n", NULL);
    expect(&l, "[%r8 %r9], _ = IMAD_WIDE %r1, %r12, c[0x0][0x160], !PT", NULL);
    unload(&l);
}

static void test_conditions(void **state) {
    (void)state;
    Loaded l;
    load(
        &l,
        "bb1: preds() succs()\n"
        "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
        "  %r3, _ = LOP3(lut=0xc0) %r1, 0x1, RZ, !PT\n  %p4, _ = ISETP(cmp=NE) %r3, RZ, _, _\n"
        "  %r5 = SEL %r1, %r2, %p4\n  STG _, _, 0x0, %r5\n" /* not zero */
        "  %r6, _ = LOP3(lut=0xc0) %r1, 0x2, RZ, !PT\n  %p7, _ = ISETP(cmp=EQ) %r6, RZ, _, _\n"
        "  %r8 = SEL %r1, %r2, %p7\n  STG _, _, 0x4, %r8\n" /* zero: the use is negated */
        "  %r9, _ = LOP3(lut=0xc0) %r1, 0x4, RZ, !PT\n  %p10, _ = ISETP(cmp=EQ) %r9, RZ, _, _\n"
        "  %p11, _ = ISETP(cmp=LT) %r1, %r2, _, _\n"
        "  %p12, _ = PLOP3(lut=0xc0) %p10, %p11, PT\n" /* both: the comparison takes the other one */
        "  %r13 = SEL %r1, %r2, %p12\n  STG _, _, 0x8, %r13\n"
        "  %p14, _ = ISETP(cmp=LT) %r1, 0x7, _, _\n  %p15, _ = ISETP(cmp=LT) %r2, 0x7, _, _\n"
        "  %p16, _ = PLOP3(lut=0xfc) %p14, !%p15, PT\n" /* or not: the second result */
        "  %r17 = SEL %r1, %r2, %p16\n  STG _, _, 0xc, %r17\n"
        "  %r18, _ = LOP3(lut=0xc0) %r1, 0x8, RZ, !PT\n  %p19, _ = ISETP(cmp=NE) %r18, RZ, _, _\n"
        "  %r20 = SEL %r1, %r18, %p19\n  STG _, _, 0x10, %r20\n" /* the bits have a use of their own */
        "  %p21, _ = PLOP3(lut=0xf) %p19, PT, PT\n"
        "  %r22 = SEL %r1, %r2, %p21\n  STG _, _, 0x14, %r22\n"
        "  %r23, _ = LOP3(lut=0xc0) %r1, 0x10, RZ, !PT\n  %p24, _ = ISETP(cmp=EQ) %r23, 0x10, _, _\n"
        "  %r25 = SEL %r1, %r2, %p24\n  STG _, _, 0x18, %r25\n" /* one bit: it is there */
        "  %r26, _ = LOP3(lut=0xc0) %r1, 0x20, RZ, !PT\n  %p27, _ = ISETP(cmp=NE) %r26, 0x20, _, _\n"
        "  %r28 = SEL %r1, %r2, %p27\n  STG _, _, 0x1c, %r28\n" /* it is not */
        "  %r29, _ = LOP3(lut=0xc0) %r1, 0x3, RZ, !PT\n  %p30, _ = ISETP(cmp=EQ) %r29, 0x3, _, _\n"
        "  %r41 = SEL %r1, %r2, %p30\n  STG _, _, 0x20, %r41\n" /* two bits: stays */
        "  %p42, _ = ISETP(cmp=EQ) %r29, RZ, _, _\n"            /* nor is that the contrary of it */
        "  %r43 = SEL %r1, %r2, %p42\n  STG _, _, 0x24, %r43\n"
        "  %r44, _ = LOP3(lut=0xc0) %r1, 0x40, RZ, !PT\n  %p45, _ = ISETP(sign=U32 cmp=EQ) %r44, 0x40, _, _\n"
        "  %r46 = SEL %r1, %r2, %p45\n  STG _, _, 0x28, %r46\n"
        "  %p47, _ = ISETP(cmp=EQ) %r44, RZ, _, _\n" /* of one bit it is */
        "  %r48 = SEL %r1, %r2, %p47\n  STG _, _, 0x2c, %r48\n  EXIT _\n");
    assert_true(pass_conditions(l.f, &l.d));
    expect(&l, "_, %p24 = LOP3(lut=0xc0) %r1, 0x10, RZ, !PT", "%r23");
    expect(&l, "_, %p27 = LOP3(lut=0xc0) %r1, 0x20, RZ, !PT", "%r26");
    expect(&l, "%r28 = SEL %r1, %r2, !%p27", NULL);
    expect(&l, "%p30, _ = ISETP(cmp=EQ) %r29, 0x3", NULL);
    expect(&l, "%r43 = SEL %r1, %r2, !%p42", NULL);
    expect(&l, "%r44, %p45 = LOP3(lut=0xc0) %r1, 0x40, RZ, !PT", "%p47, _");
    expect(&l, "%r48 = SEL %r1, %r2, !%p45", NULL);
    expect(&l, "_, %p4 = LOP3(lut=0xc0) %r1, 0x1, RZ, !PT", "%r3");
    expect(&l, "_, %p7 = LOP3(lut=0xc0) %r1, 0x2, RZ, !PT", "%r6");
    expect(&l, "%r8 = SEL %r1, %r2, !%p7", NULL);
    expect(&l, "%p12, _ = ISETP(cmp=LT) %r1, %r2, !%p10", "%p11");
    expect(&l, "_, %p16 = ISETP(bop=OR cmp=LT) %r2, 0x7, %p14", "PLOP3(lut=0xfc)");
    expect(&l, "%r18, %p19 = LOP3(lut=0xc0) %r1, 0x8, RZ, !PT", "%p19, _");
    expect(&l, "%r22 = SEL %r1, %r2, !%p19", "PLOP3");
    unload(&l);
}

/* What must stay as it is: a predicate that a phi takes, a comparison with a guard, three inputs. */
static void test_conditions_keeps(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2 bb3)\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %p3, _ = ISETP(cmp=LT) %r1, %r2, _, _\n"
             "  %r4, _ = LOP3(lut=0xc0) %r1, 0x1, RZ, !PT\n  %p5, _ = ISETP(cmp=EQ) %r4, RZ, _, _\n"
             "  @%p3 BRA _, _, bb2\n  BRA _, _, bb3\n"
             "bb2: preds(bb1) succs(bb3)\n"
             "  %p6, _ = ISETP(cmp=LT) %r1, 0x5, _, _\n  %p7, _ = ISETP(cmp=LT) %r1, 0x6, _, _\n"
             "  %p8, _ = PLOP3(lut=0x80) %p6, %p7, %p3\n  %r9 = SEL %r1, %r2, %p8\n  STG _, _, 0x4, %r9\n"
             "  BRA _, _, bb3\n"
             "bb3: preds(bb1 bb2) succs()\n"
             "  %p10 = phi %p5, %p6\n  %r11 = SEL %r1, %r2, %p10\n  STG _, _, 0x0, %r11\n"
             "  EXIT _\n");
    assert_true(pass_conditions(l.f, &l.d));
    expect(&l, "%p5, _ = ISETP(cmp=EQ) %r4, RZ", NULL);
    expect(&l, "%p8, _ = PLOP3(lut=0x80) %p6, %p7, %p3", NULL);
    unload(&l);
}

static void test_dce_keeps(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1, _ = LDG RZ, _, 0x0, _\n  %r2, _ = LDG RZ, _, 0x4, _ flags[observing memory]\n"
             "  %r3, %p4, _ = IADD3 %r1, %r1, RZ, !PT, !PT\n  %r5, %p6, _ = IADD3 %r2, %r2, RZ, !PT, !PT\n"
             "  STG _, _, 0x0, %r5\n  EXIT _\n");
    assert_true(pass_dce(l.f, &l.d));
    expect(&l, "%r2, _ = LDG", "%r1");
    expect(&l, "%r5, _, _ = IADD3", "%p6"); /* nobody reads the carry */
    unload(&l);
}

/* Is an instruction of `op` still there when dead code is gone, though nobody reads a result of it? */
static bool survives(unsigned op) {
    Loaded l;
    load(&l, "bb1: preds() succs()\n  EXIT _\n");
    InstId id = ir_inst_new(l.f, op, isa_num_dst(op), isa_num_src(op));
    ir_insert(l.f, l.f->entry, 0, id);
    assert_true(pass_dce(l.f, &l.d));
    unsigned left = ir_block(l.f, l.f->entry)->insts.n;
    unload(&l);
    return left == 2;
}

/* Every operation of every target. One without a result is there for its effect; those that have a result and
 * an effect, or look at other lanes, are listed here, apart from the table that the pass reads. */
static void test_dce_keeps_effects(void **state) {
    (void)state;
    static const uint16_t both[] = {OT_ATOMG,        OT_ATOMG_CAS,   OT_ATOM,           OT_ATOM_CAS,
                                    OT_ATOMS,        OT_ATOMS_CAS,   OT_ATOMS_POPC_INC, OT_BMOV,
                                    OT_B2R,          OT_B2R_RESULT,  OT_LEPC,           OT_SHFL,
                                    OT_VOTE,         OT_VOTEU,       OT_MATCH,          OT_REDUX,
                                    OT_ELECT,        OT_LDSM,        OT_MOVM,           OT_HMMA,
                                    OT_IMMA,         OT_DMMA,        OT_BMMA,           OT_HMMA_SP,
                                    OT_IMMA_SP,      OT_QMMA,        OT_QMMA_SP,        OT_HMMA_884,
                                    OT_SULD, /* it may trap */
                                    OT_HGMMA,        OT_HGMMA_SP,    OT_QGMMA_SP,       OT_IGMMA_SP,
                                    OT_QGMMA,        OT_IGMMA,       OT_BGMMA,          OT_SYNCS_ARRIVE,
                                    OT_SYNCS_EXCH,   OT_CREDUX,      OT_RPCMOV_FROM,    OT_ATOMS_CAST,
                                    OT_ATOMS_ARRIVE, OT_ATOM_ARRIVE, OT_ATOM_POPC_INC,  OT_USETMAXREG_ALLOC,
                                    OT_MOVM_SHAPE};
    unsigned kept = 0;
    for (unsigned op = 1; op < OT_COUNT; op++) {
        bool stays = isa_num_dst(op) == 0 && op != OT_NOP;
        for (unsigned k = 0; k < sizeof both / sizeof *both; k++)
            stays |= both[k] == op;
        if (survives(op) != stays)
            fail_msg("%s %s", isa_optype_name(op), stays ? "was deleted" : "was kept");
        kept += stays;
    }
    assert_true(kept > 50 && kept < OT_COUNT - 60);
}

static void test_reduction(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
             "  %r3, _ = ATOMG(order=STRONG_GPU e=E op=MAX) [%r1 %r2].64, _, 0x8, %r1\n"
             "  %r4, _ = ATOMG(order=STRONG_GPU e=E op=EXCH) [%r1 %r2].64, _, 0x8, %r1\n"
             "  %r5, _ = ATOMG(order=STRONG_GPU e=E op=ADD) [%r1 %r2].64, _, 0x8, %r1\n"
             "  %r6 = ATOMS %r1, _, 0x8, %r2\n  %r7 = ATOMS %r1, _, 0xc, %r2\n"
             "  STG(e=E) [%r1 %r2].64, _, 0x0, %r5\n  STG(e=E) [%r1 %r2].64, _, 0x4, %r7\n  EXIT _\n");
    assert_true(pass_dce(l.f, &l.d));
    FOR_BLOCKS(l.f, b)
        FOR_INSTS(l.f, b, i)
            if (isa_has_effect(i->op, ISA_EFFECT_ATOMIC))
                assert_int_equal((i->flags & IF_OBSERVING) != 0,
                                 i->ndst && ir_dst(l.f, i, 0)->kind == OPK_VAL);
    expect(&l, "  RED(order=STRONG_GPU e=E op=MAX) [%r1 %r2].64, _, 0x8, %r1\n", "observing");
    expect(&l, "ATOMG(order=STRONG_GPU e=E op=EXCH)", "op=ADD"); /* ADD is the default */
    expect(&l, "%r5, _ = ATOMG(order=STRONG_GPU e=E)", NULL);
    unload(&l);
}

static void test_legalise(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = S2R SR[tid.x]\n  %r2, _, _ = IADD3 0x5, 0x6, %r1, !PT, !PT\n"
             "  %r3 = IMAD c[0x0][0x160], 0x7, %r1, _\n  STG _, _, 0x0, %r2\n  STG _, _, 0x0, %r3\n"
             "  STG _, _, 0x0, 0x9\n  EXIT _\n");
    assert_true(pass_legalise(l.f, &l.d));
    expect(&l, "MOV 0x9", "STG _, _, 0x0, 0x9");
    expect(&l, "= MOV", "IADD3 0x5, 0x6");
    unload(&l);
    /* a choice between a literal and a register: the register comes first, under the complement */
    load(&l, "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %p2, _ = ISETP(cmp=EQ) %r1, 0x3, PT, PT\n"
             "  %r3 = SEL 0x1, RZ, %p2\n  STG _, _, 0x0, %r3\n  %r4 = SEL 0x7, %r1, !%p2\n"
             "  STG _, _, 0x4, %r4\n  %r5 = SEL 0x7, 0x9, %p2\n  STG _, _, 0x8, %r5\n  EXIT _\n");
    assert_true(pass_legalise(l.f, &l.d));
    expect(&l, "%r3 = SEL RZ, 0x1, !%p2", "MOV 0x1");
    expect(&l, "%r4 = SEL %r1, 0x7, %p2", "SEL 0x7");
    expect(&l, "MOV 0x7", "SEL 0x7");
    unload(&l);
}

/* Two returns with results: one block returns, the results meet in a phi. */
static void test_returns(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2 bb3)\n"
             "  %r1{fixed=4}, %r2{fixed=20}, %r3{fixed=21} = entry\n  %r4, %r5, %r6 = parcopy %r1, %r2, %r3\n"
             "  %p7, _ = ISETP %r4, RZ, PT, _\n  @%p7 BRA _, _, bb2\n  BRA _, _, bb3\n"
             "bb2: preds(bb1) succs()\n  %r8{fixed=4} = parcopy %r4\n  RET PT, [%r5 %r6], 0x0, %r8\n"
             "bb3: preds(bb1) succs()\n  %r9{fixed=4} = parcopy RZ\n  RET PT, [%r5 %r6], 0x0, %r9\n");
    l.f->is_entry = false;
    assert_true(pass_returns(l.f, &l.d));
    expect(&l, "bb4: preds(bb2 bb3) succs()\n  %r11 = phi %r4, %r10\n",
           NULL); /* numbers as the pass makes them */
    char *text = ir_print_function(l.f, NULL), *one = strstr(text, "RET");
    assert_non_null(one);
    assert_null(strstr(one + 1, "RET"));
    assert_non_null(strstr(text, "fixed=4} = parcopy"));
    free(text);
    unload(&l);
}

/* Does `what` stand in block `name`, and nowhere else? */
static void expect_in(Loaded *loaded, const char *name, const char *what) {
    char head[16], *text = ir_print_function(loaded->f, NULL);
    snprintf(head, sizeof head, "\n%s:", name);
    const char *block = strstr(text, head), *end = block ? strstr(block + 1, "\nbb") : NULL;
    const char *at = strstr(text, what);
    if (!block || !at || at < block || (end && at > end) || strstr(at + 1, what)) {
        printf("%s is not in %s alone\n%s\n", what, name, text);
        fail();
    }
    free(text);
}

/* bb1 leads to bb2, a loop behind bb3 and the end bb4; what it computes, and what is done with it. */
static void sunk(Loaded *loaded, const char *first, const char *second, const char *loop, const char *last) {
    char body[2048];
    snprintf(body, sizeof body,
             "bb1: preds() succs(bb5 bb2)\n  %%r1 = S2R SR[tid.x]\n  %%r2 = MOV c[0x0][0x160]\n%s"
             "  %%p3, _ = ISETP(cmp=GE) %%r1, c[0x0][0x164], PT, PT\n"
             "  @%%p3 BRA _, _, bb5\n  BRA _, _, bb2\n"
             "bb2: preds(bb1) succs(bb3)\n%s  BRA _, _, bb3\n"
             "bb3: preds(bb2 bb3) succs(bb3 bb4)\n  %%r40 = phi %%r1, %%r41\n%s"
             "  %%r41, _, _ = IADD3 %%r40, -0x1, RZ, !PT, !PT\n"
             "  %%p42, _ = ISETP(cmp=NE) %%r41, 0x0, PT, PT\n"
             "  @%%p42 BRA _, _, bb3\n  BRA _, _, bb4\n"
             "bb4: preds(bb3) succs()\n%s  EXIT _\n"
             "bb5: preds(bb1) succs()\n  EXIT _\n",
             first, second, loop, last);
    load(loaded, body);
    assert_true(pass_sink(loaded->f, &loaded->d));
    assert_true(ir_verify(loaded->f, &loaded->d, "sink"));
}

static void test_sink(void **state) {
    (void)state;
    Loaded l;
    /* what bb2 needs goes there, and with it what that needs; the condition stays */
    sunk(&l, "  %r10 = IMAD %r2, %r1, %r1, _\n", "  STG _, _, 0x0, %r10\n", "", "");
    expect_in(&l, "bb2", "%r10 = IMAD");
    expect_in(&l, "bb2", "%r2 = MOV");
    expect_in(&l, "bb1", "%r1 = S2R");
    expect_in(&l, "bb1", "%p3, _ = ISETP");
    unload(&l);
    /* nothing enters a loop; what only the end needs leaves it */
    sunk(&l, "  %r10 = IMAD %r1, %r1, %r1, _\n", "", "  STG _, _, 0x0, %r10\n  %r11 = POPC %r40\n",
         "  STG _, _, 0x4, %r11\n");
    expect_in(&l, "bb2", "%r10 = IMAD");
    expect_in(&l, "bb4", "%r11 = POPC");
    unload(&l);
    /* a clock is read where it stands; what the end behind the loop needs does not enter the loop */
    sunk(&l, "  %r10 = S2R SR[clock.lo]\n  %r11 = POPC %r1\n", "  STG _, _, 0x0, %r10\n", "",
         "  STG _, _, 0x0, %r11\n");
    expect_in(&l, "bb1", "%r10 = S2R");
    expect_in(&l, "bb2", "%r11 = POPC");
    unload(&l);
    /* a load goes where the other side ends, and not behind a store */
    sunk(&l, "  %r10, _ = LDG %r1, _, 0x0, _\n", "  STG _, _, 0x0, %r10\n", "", "");
    expect_in(&l, "bb2", "%r10, _ = LDG");
    unload(&l);
    sunk(&l, "  %r10, _ = LDG %r1, _, 0x0, _\n  STG _, _, 0x8, RZ\n", "  STG _, _, 0x0, %r10\n", "", "");
    expect_in(&l, "bb1", "%r10, _ = LDG");
    unload(&l);
    sunk(&l, "", "", "  %r10, _ = LDG %r40, _, 0x0, _\n", "  STG _, _, 0x0, %r10\n");
    expect_in(&l, "bb3", "%r10, _ = LDG");
    unload(&l);
}

/* Two or four words that are zero are RZ where a store takes them; not where one of them is something else.
 */
static void test_zero_words(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n  %r1 = MOV 0x0\n  %r2 = S2R SR[tid.x]\n"
             "  STG(sz=0x6) _, _, 0x0, [%r1 %r1 %r1 %r1]\n  STG(sz=0x5) _, _, 0x10, [%r1 %r1]\n"
             "  STG(sz=0x6) _, _, 0x20, [%r1 %r1 %r1 %r2]\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d));
    expect(&l, "STG(sz=0x6) _, _, 0x0, RZ", NULL);
    expect(&l, "STG(sz=0x5) _, _, 0x10, RZ", NULL);
    expect(&l, "STG(sz=0x6) _, _, 0x20, [%r1 %r1 %r1 %r2]", NULL);
    unload(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zero_words),        cmocka_unit_test(test_fold_and_branches),
        cmocka_unit_test(test_fold_operations),   cmocka_unit_test(test_address),
        cmocka_unit_test(test_constant_bank),     cmocka_unit_test(test_cse),
        cmocka_unit_test(test_cse_of_phis),       cmocka_unit_test(test_fold_comparisons),
        cmocka_unit_test(test_fold_predicates),   cmocka_unit_test(test_fold_masks),
        cmocka_unit_test(test_fold_members),      cmocka_unit_test(test_fold_signs),
        cmocka_unit_test(test_fold_halves),       cmocka_unit_test(test_fold_permutations),
        cmocka_unit_test(test_legalise_literals), cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_conditions_keeps),  cmocka_unit_test(test_dce_keeps),
        cmocka_unit_test(test_legalise),          cmocka_unit_test(test_sink),
        cmocka_unit_test(test_returns),           cmocka_unit_test(test_reduction),
        cmocka_unit_test(test_dce_keeps_effects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
