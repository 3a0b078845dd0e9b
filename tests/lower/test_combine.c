/* The pass that makes one operation of two, on hand-written functions: what it takes over, and what it must
 * leave. SPDX-License-Identifier: MIT */
#include "opt_text.h"

static void test_combine(void **state) {
    (void)state;
    Loaded l;
    load(&l,
         "bb1: preds() succs()\n"
         "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %r3 = S2R SR[tid.z]\n"
         "  %r4, _, _ = IADD3 %r1, 0x5, RZ, !PT, !PT\n  %r5, _, _ = IADD3 %r4, %r2, 0x0, !PT, !PT\n"
         "  STG _, _, 0x0, %r5\n"
         "  %r6 = SHF(type=U32 dir=L) %r1, 0x3, RZ\n  %r7, _, _ = IADD3 %r2, %r6, RZ, !PT, !PT\n"
         "  STG _, _, 0x4, %r7\n"
         "  %r8 = IMAD %r1, 0x1f, RZ, _\n  %r9, _, _ = IADD3 %r8, %r3, RZ, !PT, !PT\n  STG _, _, 0x8, %r9\n"
         "  %r10, _ = LOP3(lut=0x3c) %r1, %r2, RZ, !PT\n  %r11, _ = LOP3(lut=0x3c) %r3, %r10, RZ, !PT\n"
         "  STG _, _, 0xc, %r11\n"
         "  %r12, _, _ = IADD3 %r2, %r3, RZ, !PT, !PT\n  %r13, _, _ = IADD3 %r12, %r1, RZ, !PT, !PT\n"
         "  STG _, _, 0x10, %r12\n  STG _, _, 0x14, %r13\n"
         "  %r14, %p15, _ = IADD3 %r2, %r3, RZ, !PT, !PT\n  %r16, _, _ = IADD3(x=0x1) %r14, %r1, RZ, %p15, "
         "!PT\n"
         "  STG _, _, 0x18, %r16\n"
         "  %r17, _, _ = IADD3 RZ, %r3, RZ, !PT, !PT\n  STG _, _, 0x1c, %r17\n  EXIT _\n");
    assert_true(pass_combine(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%r5, _, _ = IADD3 %r2, 0x5, %r1", "%r4");
    expect(&l, "%r7, _ = LEA %r1, %r2, RZ, 0x3", "%r6");
    expect(&l, "%r9 = IMAD %r1, 0x1f, %r3", "%r8");
    expect(&l, "%r11, _ = LOP3(lut=0x96)", "%r10");     /* parity of three */
    expect(&l, "%r13, _, _ = IADD3 %r12, %r1", NULL);   /* %r12 has another use */
    expect(&l, "%r16, _, _ = IADD3(x=0x1) %r14", NULL); /* carries are left alone */
    expect(&l, "STG _, _, 0x1c, %r3", "%r17");
    unload(&l);
}

/* A product or a shifted number taken away: IMAD of a number below zero. */
static void test_combine_taken_away(void **state) {
    (void)state;
    Loaded l;
    load(&l,
         "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %r3 = S2R SR[tid.z]\n"
         "  %r4 = IMAD %r1, 0x7, RZ, _\n  %r5, _, _ = IADD3 %r2, -%r4, RZ, !PT, !PT\n  STG _, _, 0x0, %r5\n"
         "  %r6 = SHF(type=U32 dir=L) %r1, 0x3, RZ\n  %r7, _, _ = IADD3 -%r6, %r2, RZ, !PT, !PT\n"
         "  STG _, _, 0x4, %r7\n"
         "  %r8 = IMAD %r1, %r3, RZ, _\n  %r9, _, _ = IADD3 %r2, -%r8, RZ, !PT, !PT\n  STG _, _, 0x8, %r9\n"
         "  %r10 = IMAD %r1, 0x7, RZ, _\n  %r11, _, _ = IADD3 0x64, -%r10, RZ, !PT, !PT\n"
         "  STG _, _, 0xc, %r11\n"
         "  %r12 = IMAD %r1, 0x7, %r3, _\n  %r13, _, _ = IADD3 %r2, -%r12, RZ, !PT, !PT\n"
         "  STG _, _, 0x10, %r13\n"
         "  %r14 = IMAD %r1, 0x7, RZ, _\n  %r15, _, _ = IADD3 -%r2, -%r14, RZ, !PT, !PT\n"
         "  STG _, _, 0x14, %r15\n"
         "  %r16 = SHF(type=U32 dir=R hi=1) RZ, 0x3, %r1\n  %r17, _, _ = IADD3 %r2, -%r16, RZ, !PT, !PT\n"
         "  STG _, _, 0x18, %r17\n  EXIT _\n");
    assert_true(pass_combine(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%r5 = IMAD %r1, 0xfffffff9, %r2", "%r4 = IMAD");
    expect(&l, "%r7 = IMAD %r1, 0xfffffff8, %r2", "%r6 = SHF");
    expect(&l, "%r9, _, _ = IADD3 %r2, -%r8", NULL);    /* no factor is a number */
    expect(&l, "%r11, _, _ = IADD3 0x64, -%r10", NULL); /* two numbers */
    expect(&l, "%r13, _, _ = IADD3 %r2, -%r12", NULL);  /* a third term */
    expect(&l, "%r15 = IMAD %r1, 0xfffffff9, -%r2", "%r14 = IMAD");
    expect(&l, "%r17, _, _ = IADD3 %r2, -%r16", NULL); /* to the right */
    unload(&l);
}

/* What a load has extended is not extended again; not over other bits, not in another block. */
static void test_combine_loads(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2)\n"
             "  %r1 = LDS(sz=S8) _, _, 0x0\n  %r2 = PRMT %r1, 0x9910, RZ\n  STG _, _, 0x0, %r2\n"
             "  %r3 = LDS(sz=S16) _, _, 0x8\n  %r4 = PRMT %r3, 0x9910, RZ\n  STG _, _, 0x4, %r4\n"
             "  %r5 = LDS _, _, 0x10\n  %r6 = PRMT %r5, 0x9910, RZ\n  STG _, _, 0x8, %r6\n"
             "  %r7 = PRMT %r3, 0x8880, RZ\n  STG _, _, 0xc, %r7\n  BRA _, _, bb2\n"
             "bb2: preds(bb1) succs()\n  %r8 = PRMT %r1, 0x9910, RZ\n  STG _, _, 0x10, %r8\n  EXIT _\n");
    assert_true(pass_combine(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "STG _, _, 0x0, %r1", "%r2 = PRMT");
    expect(&l, "STG _, _, 0x4, %r3", "%r4 = PRMT");
    expect(&l, "%r6 = PRMT %r5", NULL);
    expect(&l, "%r7 = PRMT %r3", NULL);
    expect(&l, "%r8 = PRMT %r1", NULL);
    unload(&l);
}

/* One byte of a word by PRMT, a sum with the high bits of a word by LEA.HI. */
static void test_combine_bytes(void **state) {
    (void)state;
    Loaded l;
    load(&l,
         "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n"
         "  %r2 = SHF(type=U32 dir=R hi=1) RZ, 0x8, %r1\n  %r3, _ = LOP3(lut=0xc0) %r2, 0xff, RZ, !PT\n"
         "  STG _, _, 0x0, %r3\n"
         "  %r4 = SHF(type=S32 dir=R hi=1) RZ, 0x10, %r1\n  %r5, _ = LOP3(lut=0xc0) %r4, 0xff, RZ, !PT\n"
         "  STG _, _, 0x4, %r5\n"
         "  %r6 = SHF(type=U32 dir=R hi=1) RZ, 0x9, %r1\n  %r7, _ = LOP3(lut=0xc0) %r6, 0xff, RZ, !PT\n"
         "  STG _, _, 0x8, %r7\n"
         "  %r8 = SHF(type=U32 dir=L) %r1, 0x8, RZ\n  %r9, _ = LOP3(lut=0xc0) %r8, 0xff, RZ, !PT\n"
         "  STG _, _, 0xc, %r9\n"
         "  %r10 = SHF(type=U32 dir=R hi=1) RZ, 0x1b, %r1\n  %r11, _, _ = IADD3 %r1, %r10, RZ, !PT, !PT\n"
         "  STG _, _, 0x10, %r11\n"
         "  %r12 = SHF(type=S32 dir=R hi=1) RZ, 0x1b, %r1\n  %r13, _, _ = IADD3 %r1, %r12, RZ, !PT, !PT\n"
         "  STG _, _, 0x14, %r13\n"
         "  %r14 = SHF(type=U32 dir=R hi=1) RZ, 0x1b, %r1\n  %r15, _, _ = IADD3 %r1, -%r14, RZ, !PT, !PT\n"
         "  STG _, _, 0x18, %r15\n  EXIT _\n");
    assert_true(pass_combine(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%r3 = PRMT %r1, 0x4441, RZ", "%r2 = SHF");
    expect(&l, "%r5 = PRMT %r1, 0x4442, RZ", "%r4 = SHF");
    expect(&l, "%r7, _ = LOP3", NULL);
    expect(&l, "%r9, _ = LOP3", NULL);
    expect(&l, "%r11, _ = LEA(hi=0x1) %r1, %r1, RZ, 0x5, !PT", "%r10 = SHF");
    expect(&l, "%r13, _, _ = IADD3", NULL);
    expect(&l, "%r15, _, _ = IADD3", NULL);
    unload(&l);
}

/* Words shifted as a pair, numbers modulo 32, masks of what does not count, two terms taken away; and what is
 * next to each of them. */
static void test_combine_shifts(void **state) {
    (void)state;
    Loaded l;
    load(&l,
         "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %r3 = S2R SR[tid.z]\n"
         "  %r4 = SHF(type=U32 dir=R hi=1) RZ, 0x1b, %r2\n  %r5 = SHF(type=U32 dir=L) %r1, 0x5, RZ\n"
         "  %r6, _ = LOP3(lut=0xfc) %r4, %r5, RZ, !PT\n  STG _, _, 0x0, %r6\n"
         "  %r7 = SHF(type=U32 dir=R hi=1) RZ, 0x1b, %r2\n  %r8 = SHF(type=U32 dir=L) %r1, 0x6, RZ\n"
         "  %r9, _ = LOP3(lut=0xfc) %r7, %r8, RZ, !PT\n  STG _, _, 0x4, %r9\n"
         "  %r10 = SHF(type=S32 dir=R hi=1) RZ, 0x1b, %r2\n  %r11 = SHF(type=U32 dir=L) %r1, 0x5, RZ\n"
         "  %r12, _ = LOP3(lut=0xfc) %r10, %r11, RZ, !PT\n  STG _, _, 0x8, %r12\n"
         "  %r13, _ = LOP3(lut=0xc0) %r2, 0x1f, RZ, !PT\n  %r14 = SHF(type=U32 dir=L) %r1, %r13, RZ\n"
         "  %r15 = SHF(type=U32 dir=R hi=1) RZ, %r13, %r1\n  STG _, _, 0xc, %r14\n  STG _, _, 0x10, %r15\n"
         "  %r16, _ = LOP3(lut=0xc0) %r2, 0x3f, RZ, !PT\n  %r17 = SHF(type=U32 dir=L) %r1, %r16, RZ\n"
         "  STG _, _, 0x14, %r17\n"
         "  %r18, _ = LOP3(lut=0xc0) %r2, 0x1, RZ, !PT\n  %r19, _ = LOP3(lut=0xe2) %r1, 0xfffffffe, %r18, "
         "!PT\n"
         "  STG _, _, 0x18, %r19\n"
         "  %r20, _ = LOP3(lut=0xc0) %r2, 0x1, RZ, !PT\n  %r21, _ = LOP3(lut=0xe2) %r1, 0xfffffffc, %r20, "
         "!PT\n"
         "  STG _, _, 0x1c, %r21\n"
         "  %r22, _ = LOP3(lut=0xc0) %r2, 0xff, RZ, !PT\n  %r23, _ = LOP3(lut=0xf8) %r3, 0xf0, %r22, !PT\n"
         "  STG _, _, 0x20, %r23\n"
         "  %r24, _, _ = IADD3 %r1, -%r2, RZ, !PT, !PT\n  %r25, _, _ = IADD3 %r24, -%r3, RZ, !PT, !PT\n"
         "  STG _, _, 0x24, %r25\n"
         "  %r26, _, _ = IADD3 -%r1, -%r2, RZ, !PT, !PT\n  %r27, _, _ = IADD3 %r26, -%r3, RZ, !PT, !PT\n"
         "  STG _, _, 0x28, %r27\n"
         "  %r28, _ = LOP3(lut=0xc0) %r2, 0xff, RZ, !PT\n  %r29, _ = LOP3(lut=0xfe) %r3, 0xf0, %r28, !PT\n"
         "  STG _, _, 0x2c, %r29\n  EXIT _\n");
    assert_true(pass_combine(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%r6 = SHF(hi=0x1) %r2, 0x5, %r1", "%r4 = SHF");
    expect(&l, "%r9, _ = LOP3(lut=0xfc)", NULL);  /* not 32 together */
    expect(&l, "%r12, _ = LOP3(lut=0xfc)", NULL); /* copies of the sign come in */
    expect(&l, "%r14 = SHF(wrap=0x1) %r1, %r2, RZ", "%r13, _ = LOP3");
    expect(&l, "%r15 = SHF(wrap=0x1 dir=R hi=0x1) RZ, %r2, %r1", NULL);
    expect(&l, "%r17 = SHF %r1, %r16, RZ", NULL);
    expect(&l, "%r19, _ = LOP3(lut=0xe2) %r1, 0xfffffffe, %r2", "%r18, _ = LOP3");
    expect(&l, "%r21, _ = LOP3(lut=0xe2) %r1, 0xfffffffc, %r20", NULL); /* bit 1 counts */
    expect(&l, "%r23, _ = LOP3(lut=0xf8) %r3, 0xf0, %r2", "%r22, _ = LOP3");
    expect(&l, "%r29, _ = LOP3(lut=0xfe) %r3, 0xf0, %r28", NULL); /* bits above the mask are seen */
    expect(&l, "%r25, _, _ = IADD3 -%r3, %r1, -%r2", "%r24, _, _ =");
    expect(&l, "%r27, _, _ = IADD3 %r26, -%r3", NULL); /* three */
    unload(&l);
}

/* Bytes and halves of a word as floating-point numbers; not what is no such part, or has another sign. */
static void test_combine_numbers(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n"
             "  %r2 = SHF(type=U32 dir=R hi=1) RZ, 0x8, %r1\n  %r3, _ = LOP3(lut=0xc0) %r2, 0xff, RZ, !PT\n"
             "  %r4 = I2F %r3\n  STG _, _, 0x0, %r4\n"
             "  %r5, _ = LOP3(lut=0xc0) %r1, 0xffff, RZ, !PT\n  %r6 = I2F(sign=U rnd=RZ) %r5\n"
             "  STG _, _, 0x4, %r6\n"
             "  %r7 = SHF(type=S32 dir=R hi=1) RZ, 0x18, %r1\n  %r8 = I2F %r7\n"
             "  STG _, _, 0x8, %r8\n"
             "  %r9 = SHF(type=U32 dir=R hi=1) RZ, 0x10, %r1\n  %r10 = I2F %r9\n"
             "  STG _, _, 0xc, %r10\n"
             "  %r11 = SHF(type=S32 dir=R hi=1) RZ, 0x10, %r1\n  %r12 = I2F(sign=U) %r11\n"
             "  STG _, _, 0x10, %r12\n"
             "  %r13, _ = LOP3(lut=0xc0) %r1, 0x7f, RZ, !PT\n  %r14 = I2F(sign=U) %r13\n"
             "  STG _, _, 0x14, %r14\n"
             "  %r15 = SHF(type=U32 dir=R hi=1) RZ, 0x14, %r1\n  %r16 = I2F(sign=U) %r15\n"
             "  STG _, _, 0x18, %r16\n  EXIT _\n");
    assert_true(pass_combine(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%r4 = I2F(sign=U src=B8 part=B1) %r1", "%r2 = SHF");
    expect(&l, "%r6 = I2F(sign=U rnd=RZ src=B16) %r1", "%r5, _");
    expect(&l, "%r8 = I2F(src=B8 part=B3) %r1", "%r7 =");
    expect(&l, "%r10 = I2F(sign=U src=B16 part=H1) %r1", "%r9 =");
    expect(&l, "%r12 = I2F(sign=U) %r11", NULL);
    expect(&l, "%r14 = I2F(sign=U) %r13", NULL);
    expect(&l, "%r16 = I2F(sign=U) %r15", NULL);
    unload(&l);
}

/* Addresses: a wide product takes the addend, signed or not, a shift of 32 bits is one; a shift of 64 bits is
 * LEA. A carry that somebody else reads stays, and so do a sum of which a part is negated and one whose high
 * word is not known yet where the low ones are added. */
static void test_combine_addresses(void **state) {
    (void)state;
    Loaded l;
    load(&l,
         "bb1: preds() succs()\n"
         "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
         "  [%r3 %r4], _ = IMAD_WIDE(sign=U32) %r1, 0x4, RZ, !PT\n"
         "  %r5, %p6, _ = IADD3 %r3, c[0x0][0x160], RZ, !PT, !PT\n"
         "  %r7, _, _ = IADD3(x=0x1) %r4, c[0x0][0x164], RZ, %p6, !PT\n  STG [%r5 %r7].64, _, 0x0, %r2\n"
         "  [%r8 %r9], _ = IMAD_WIDE %r1, 0x8, RZ, !PT\n"
         "  %r10, %p11, _ = IADD3 %r2, %r8, RZ, !PT, !PT\n"
         "  %r12, _, _ = IADD3(x=0x1) %r1, %r9, RZ, %p11, !PT\n  STG [%r10 %r12].64, _, 0x0, %r2\n"
         "  %r13 = SHF %r1, 0x3, RZ\n  %r14 = SHF(type=U64 hi=0x1) %r1, 0x3, %r2\n"
         "  %r15, %p16, _ = IADD3 %r13, c[0x0][0x168], RZ, !PT, !PT\n"
         "  %r17, _, _ = IADD3(x=0x1) %r14, c[0x0][0x16c], RZ, %p16, !PT\n  STG [%r15 %r17].64, _, 0x0, %r2\n"
         "  [%r18 %r19], _ = IMAD_WIDE(sign=U32) %r1, 0x3, RZ, !PT\n"
         "  %r20, %p21, _ = IADD3 %r18, c[0x0][0x160], RZ, !PT, !PT\n"
         "  %r22, _, _ = IADD3(x=0x1) %r19, c[0x0][0x164], RZ, %p21, !PT\n  STG [%r20 %r22].64, _, 0x0, %r2\n"
         "  %r23, %p24, _ = IADD3 %r3, c[0x0][0x170], RZ, !PT, !PT\n"
         "  %r25, _, _ = IADD3(x=0x1) %r4, c[0x0][0x174], RZ, %p24, !PT\n  STG [%r23 %r25].64, _, 0x0, %r2\n"
         "  %r26 = SEL %r1, %r2, %p24\n  STG _, _, 0x4, %r26\n"
         "  %r27, %p28, _ = IADD3 -%r3, c[0x0][0x178], RZ, !PT, !PT\n"
         "  %r29, _, _ = IADD3(x=0x1) %r4, c[0x0][0x17c], RZ, %p28, !PT\n  STG [%r27 %r29].64, _, 0x0, %r2\n"
         "  %r31 = SHF(type=S32 dir=R hi=0x1) RZ, 0x1f, %r1\n  %r32 = SHF %r1, 0x5, RZ\n"
         "  %r33 = SHF(type=U64 hi=0x1) %r1, 0x5, %r31\n  %r30, %p35, _ = IADD3 %r32, %r2, RZ, !PT, !PT\n"
         "  %r34, _, _ = IADD3(x=0x1) %r33, %r1, RZ, %p35, !PT\n  STG [%r30 %r34].64, _, 0x0, %r2\n"
         "  %r36 = SHF %r1, 0x1f, RZ\n  %r37 = SHF(type=U64 hi=0x1) %r1, 0x1f, %r31\n"
         "  %r39, %p40, _ = IADD3 %r36, %r2, RZ, !PT, !PT\n"
         "  %r41, _, _ = IADD3(x=0x1) %r37, %r1, RZ, %p40, !PT\n  STG [%r39 %r41].64, _, 0x0, %r2\n"
         "  %r44, %p45, _ = IADD3 %r18, %r2, RZ, !PT, !PT\n  %r46 = S2R SR[tid.z]\n"
         "  %r47, _, _ = IADD3(x=0x1) %r19, %r46, RZ, %p45, !PT\n  STG [%r44 %r47].64, _, 0x0, %r2\n"
         "  %r48, %p49, _ = IADD3 %r3, c[0x0][0x164], RZ, !PT, !PT\n"
         "  %r50, _, _ = IADD3(x=0x1) %r4, c[0x0][0x168], RZ, %p49, !PT\n  STG [%r48 %r50].64, _, 0x0, %r2\n"
         "  EXIT _\n");
    assert_true(pass_combine(l.f, &l.d));
    expect(&l, "[%r5 %r7], _ = IMAD_WIDE(sign=U32) %r1, 0x4, c[0x0][0x160], !PT", "%r5, %p6, _ = IADD3");
    expect(&l, "[%r10 %r12], _ = IMAD_WIDE %r1, 0x8, [%r2 %r1], !PT", "%r10, %p11");
    expect(&l, "%r15, %p16 = LEA %r1, c[0x0][0x168], RZ, 0x3, !PT", NULL);
    expect(&l, "%r17, _ = LEA(x=0x1 hi=0x1) %r1, c[0x0][0x16c], %r2, 0x3, %p16", NULL);
    expect(&l, "[%r20 %r22], _ = IMAD_WIDE(sign=U32) %r1, 0x3, c[0x0][0x160], !PT", "%r20, %p21");
    expect(&l, "%r23, %p24, _ = IADD3 %r3", NULL);
    expect(&l, "%r27, %p28, _ = IADD3 -%r3", NULL);
    expect(&l, "[%r30 %r34], _ = IMAD_WIDE %r1, 0x20, [%r2 %r1], !PT", "%r30, %p35");
    expect(&l, "%r39, %p40 = LEA %r1, %r2, RZ, 0x1f, !PT", NULL);
    expect(&l, "%r44, %p45, _ = IADD3", NULL);
    expect(&l, "%r48, %p49 = LEA %r1, c[0x0][0x164], RZ, 0x2, !PT", NULL);
    unload(&l);
}

/* Products in a chain of carries take their addends with the carry between and, of unsigned ones, from before
 * and to behind. The sums of a product with a sign keep theirs, as do those of which the carry between has a
 * second reader. */
static void test_combine_carries(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %r3 = S2R SR[tid.z]\n  %r4 = S2R SR[laneid]\n"
             "  [%r5 %r6], _ = IMAD_WIDE(sign=U32) %r1, %r2, RZ, !PT\n"
             "  [%r7 %r8], _ = IMAD_WIDE(sign=U32) %r3, %r2, RZ, !PT\n"
             "  [%r9 %r10], _ = IMAD_WIDE %r4, %r2, RZ, !PT\n"
             "  %r11, %p12, _ = IADD3 %r5, %r3, RZ, !PT, !PT\n"
             "  %r13, %p14, _ = IADD3(x=0x1) %r6, %r4, RZ, %p12, !PT\n"
             "  %r15, %p16, _ = IADD3(x=0x1) %r7, %r1, RZ, %p14, !PT\n"
             "  %r17, %p18, _ = IADD3(x=0x1) %r8, %r2, RZ, %p16, !PT\n"
             "  %r19, %p20, _ = IADD3(x=0x1) %r9, %r1, RZ, %p18, !PT\n"
             "  %r21, %p22, _ = IADD3(x=0x1) %r10, %r2, RZ, %p20, !PT\n"
             "  %r23, %p24, _ = IADD3(x=0x1) %r5, %r1, RZ, %p22, !PT\n"
             "  %r25, _, _ = IADD3(x=0x1) %r6, %r3, RZ, %p24, !PT\n  %r26 = SEL %r1, %r2, %p24\n"
             "  STG [%r11 %r13].64, _, 0x0, %r15\n  STG [%r17 %r19].64, _, 0x0, %r21\n"
             "  STG [%r23 %r25].64, _, 0x0, %r26\n"
             "  EXIT _\n");
    assert_true(pass_combine(l.f, &l.d));
    expect(&l, "[%r11 %r13], %p14 = IMAD_WIDE(sign=U32) %r1, %r2, [%r3 %r4], !PT", "%r11, %p12");
    expect(&l, "[%r15 %r17], %p18 = IMAD_WIDE(sign=U32 x=0x1) %r3, %r2, [%r1 %r2], %p14", "%r15, %p16");
    expect(&l, "%r19, %p20, _ = IADD3(x=0x1) %r9, %r1, RZ, %p18, !PT", NULL);
    expect(&l, "%r23, %p24, _ = IADD3(x=0x1) %r5, %r1, RZ, %p22, !PT", NULL);
    unload(&l);
}

/* Low and high word of a product of the same factors, in any order, are one product with the high word's
 * sign; not of other factors, with an addend or a carry, and where the low word has no use. */
static void test_combine_words(void **state) {
    (void)state;
    Loaded l;
    load(&l,
         "bb1: preds() succs()\n"
         "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %p3, _ = ISETP %r1, 0x5, _, _\n"
         "  %r4 = IMAD(sign=U32) %r1, 0xcd9e8d57, RZ, !PT\n"
         "  %r5, _ = IMAD_HI(sign=U32) %r1, 0xcd9e8d57, RZ, !PT\n  STG _, _, 0x0, %r4\n  STG _, _, 0x4, %r5\n"
         "  %r6, _ = IMAD_HI %r2, %r1, RZ, !PT\n  STG _, _, 0x0, %r6\n"
         "  %r7 = IMAD(sign=U32) %r1, %r2, RZ, !PT\n  STG _, _, 0x4, %r7\n"
         "  %r8 = IMAD(sign=U32) %r1, 0x3, RZ, !PT\n  %r9, _ = IMAD_HI(sign=U32) %r1, 0x5, RZ, !PT\n"
         "  STG _, _, 0x0, %r8\n  STG _, _, 0x4, %r9\n"
         "  %r10 = IMAD(sign=U32) %r2, 0x7, %r1, !PT\n  %r11, _ = IMAD_HI(sign=U32) %r2, 0x7, RZ, !PT\n"
         "  STG _, _, 0x0, %r10\n  STG _, _, 0x4, %r11\n"
         "  %r12 = IMAD(sign=U32 x=0x1) %r2, 0x9, RZ, %p3\n  %r13, _ = IMAD_HI(sign=U32) %r2, 0x9, RZ, !PT\n"
         "  STG _, _, 0x0, %r12\n  STG _, _, 0x4, %r13\n"
         "  %r14 = IMAD(sign=U32) %r2, 0xb, RZ, !PT\n  %r15, _ = IMAD_HI(sign=U32) %r2, 0xb, RZ, !PT\n"
         "  STG _, _, 0x4, %r15\n"
         "  EXIT _\n");
    assert_true(pass_combine(l.f, &l.d));
    expect(&l, "[%r4 %r5], _ = IMAD_WIDE(sign=U32) %r1, 0xcd9e8d57, RZ, !PT", "%r5, _ = IMAD_HI");
    expect(&l, "[%r7 %r6], _ = IMAD_WIDE %r2, %r1, RZ, !PT", "%r7 = IMAD");
    expect(&l, "%r8 = IMAD", "[%r8 %r9]");
    expect(&l, "%r11, _ = IMAD_HI", NULL);
    expect(&l, "%r13, _ = IMAD_HI", NULL);
    expect(&l, "%r15, _ = IMAD_HI", NULL);
    unload(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_combine),         cmocka_unit_test(test_combine_taken_away),
        cmocka_unit_test(test_combine_loads),   cmocka_unit_test(test_combine_bytes),
        cmocka_unit_test(test_combine_numbers), cmocka_unit_test(test_combine_addresses),
        cmocka_unit_test(test_combine_carries), cmocka_unit_test(test_combine_words),
        cmocka_unit_test(test_combine_shifts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
