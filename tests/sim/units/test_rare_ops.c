/* Operations of sim/machine/rare.c on the native targets, and FCHK, from assembly text, against plain C on
 * the host; and operations that are not simulated, which say so.
 * SPDX-License-Identifier: MIT */
#include "asm_run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* R0 = lane, R1 = thread, R[2:3] = address of the thread's two output words; base is where parameters begin.
 */
#define START_AT(base, base4)                                                                                \
    "S2R R0, SR_LANEID;\nS2R R1, SR_TID.X;\nMOV R4, c[0x0][" base "];\nMOV R5, c[0x0][" base4                \
    "];\nIMAD.WIDE.U32 R2, R1, 0x8, R4;\n"
#define START80 START_AT("0x160", "0x164")
#define START90 START_AT("0x210", "0x214")
/* R8, R9, R10: three words that differ in every lane, from the first three inputs */
#define WORDS(a, b, c)                                                                                       \
    "IMAD R8, R0, 0x9e3779b1, RZ;\nIADD3 R8, R8, c[0x0][" a                                                  \
    "], RZ;\nIMAD R9, R0, 0x85ebca77, RZ;\nIADD3 R9, R9, c[0x0][" b "], RZ;\n"                               \
    "IMAD R10, R0, 0xc2b2ae3d, RZ;\nIADD3 R10, R10, c[0x0][" c "], RZ;\n"
#define WORDS80 WORDS("0x168", "0x16c", "0x170")
#define WORDS90 WORDS("0x218", "0x21c", "0x220")
static const uint32_t factor[3] = {0x9e3779b1, 0x85ebca77, 0xc2b2ae3d};
static uint32_t word_of(const AsmLaunch *launch, unsigned k, uint32_t lane) {
    return lane * factor[k] + launch->in[k];
}
static void random_words(AsmLaunch *launch) {
    static const uint32_t edges[] = {0,          ~0u,        0x80000000, 0x7fffffff,
                                     0x80808080, 0x7f7f7f7f, 0x00ff00ff, 0x8000ffff};
    for (unsigned k = 0; k < 3; k++)
        launch->in[k] =
            asm_random() % 3 ? asm_random() << 16 | asm_random() % 65536 : edges[asm_random() % 8];
}
#define STORE "STG.E.64 [R2.64], R6;\nEXIT;\n"

/* ---- host models ---- */
static uint32_t host_absdiff(uint32_t a, uint32_t b, uint32_t c, bool sign, bool acc) {
    uint8_t x[4], y[4], out[4];
    uint32_t sum = c, packed;
    memcpy(x, &a, 4);
    memcpy(y, &b, 4);
    for (int k = 0; k < 4; k++) {
        int v = sign ? abs((int8_t)x[k] - (int8_t)y[k]) : abs(x[k] - y[k]);
        out[k] = (uint8_t)v;
        sum += (uint32_t)v;
    }
    memcpy(&packed, out, 4);
    return acc ? sum : packed;
}
static void vabsdiff4(void **state) {
    (void)state;
    static const char *const forms[] = {"U8", "S8", "U8.ACC", "S8.ACC"};
    for (unsigned n = 0; n < 40; n++) {
        AsmLaunch l = {.target = "sm_80", .threads = 32};
        random_words(&l);
        AsmResult r =
            asm_run(&l,
                    START80 WORDS80
                    "VABSDIFF4.%s R6, R8, R9, R10;\nMOV R7, RZ;\n@P0 VABSDIFF4.U8 R7, R8, R9, R10;\n" STORE,
                    forms[n % 4]);
        for (uint32_t i = 0; i < 32; i++)
            assert_int_equal(r.out[2 * i], host_absdiff(word_of(&l, 0, i), word_of(&l, 1, i),
                                                        word_of(&l, 2, i), n & 1, n & 2));
    }
}

/* Minimum or maximum of words, halves or bytes, each as the C type. */
static uint32_t host_min_max(unsigned type, uint32_t a, uint32_t b, bool min) {
    uint32_t out = 0;
    if (type == 0)
        return (a < b) == min ? a : b;
    if (type == 1)
        return ((int32_t)a < (int32_t)b) == min ? a : b;
    if (type == 4) {
        for (int k = 0; k < 32; k += 8) {
            uint8_t x = (uint8_t)(a >> k), y = (uint8_t)(b >> k);
            out |= (uint32_t)((x < y) == min ? x : y) << k;
        }
        return out;
    }
    for (int k = 0; k < 32; k += 16) {
        uint16_t x = (uint16_t)(a >> k), y = (uint16_t)(b >> k);
        bool less = type == 2 ? x < y : (int16_t)x < (int16_t)y;
        out |= (uint32_t)(less == min ? x : y) << k;
    }
    return out;
}
static uint32_t host_sum(unsigned type, uint32_t a, uint32_t b) {
    if (type < 2)
        return a + b;
    if (type == 4)
        return ((a & 0xff) + (b & 0xff)) % 0x100 | ((a & 0xff00) + (b & 0xff00)) % 0x10000 |
               ((a & 0xff0000) + (b & 0xff0000)) % 0x1000000 | ((a >> 24) + (b >> 24)) << 24;
    return ((a & 0xffff) + (b & 0xffff)) % 0x10000 | ((a >> 16) + (b >> 16)) << 16;
}
static void minima(void **state) {
    (void)state;
    static const char *const types[] = {".U32", "", ".U16x2", ".S16x2", ".U8x4"};
    for (unsigned n = 0; n < 120; n++) {
        AsmLaunch l = {.target = "sm_90", .threads = 32};
        unsigned type = n % 5, op = n / 5 % 3;
        bool min = n / 15 % 2, relu = n / 30 % 2 && (type == 1 || type == 3);
        random_words(&l);
        static const char *const texts[] = {"VIMNMX%s%s R6, R8, R9, %s", "VIMNMX3%s%s R6, R8, R9, R10, %s",
                                            "VIADDMNMX%s%s R6, R8, R9, R10, %s"};
        char line[80];
        snprintf(line, sizeof line, texts[op], types[type], relu ? ".RELU" : "", min ? "PT" : "!PT");
        AsmResult r = asm_run(&l, START90 WORDS90 "%s;\nMOV R7, RZ;\n" STORE, line);
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t a = word_of(&l, 0, i), b = word_of(&l, 1, i), c = word_of(&l, 2, i);
            uint32_t want = op == 2 ? host_sum(type, a, b) : host_min_max(type, a, b, min);
            want = op ? host_min_max(type, want, c, min) : want;
            want = relu ? host_min_max(type, want, 0, false) : want;
            if (r.out[2 * i] != want)
                fail_msg("%s: 0x%x 0x%x 0x%x: 0x%x, expected 0x%x", line, a, b, c, r.out[2 * i], want);
        }
    }
}

/* ---- VHMNMX: what it means is HMNMX2 of two, then of the third; signs are those of all three ---- */
static void minima_of_halves(void **state) {
    (void)state;
    for (unsigned n = 0; n < 64; n++) {
        AsmLaunch l = {.target = "sm_90", .threads = 32};
        const char *nan = n & 1 ? ".NAN" : "", *ftz = n & 2 ? ".FTZ" : "", *bf16 = n & 4 ? ".BF16_V2" : "",
                   *which = n & 8 ? "PT" : "!PT", *sign = n & 16 ? ".XORSIGN" : "",
                   *half = n & 32 ? ".H1_H1" : "";
        random_words(&l);
        char line[400];
        snprintf(line, sizeof line,
                 "VHMNMX%s%s%s%s R6, R8, -R9%s, R10, %s;\n"
                 "HMNMX2%s%s%s%s R7, R8, -R9%s, %s;\nHMNMX2%s%s%s%s R7, R7, R10, %s",
                 bf16, ftz, nan, sign, half, which, bf16, ftz, nan, sign, half, which, bf16, ftz, nan, sign,
                 which);
        AsmResult r = asm_run(&l, START90 WORDS90 "%s;\n" STORE, line);
        for (uint32_t i = 0; i < 32; i++)
            if (r.out[2 * i] != r.out[2 * i + 1])
                fail_msg("%s: 0x%x 0x%x 0x%x: 0x%x, expected 0x%x", line, word_of(&l, 0, i),
                         word_of(&l, 1, i), word_of(&l, 2, i), r.out[2 * i], r.out[2 * i + 1]);
    }
}

/* ---- copies: the inputs' words go to global memory, from there to shared memory, and are read back ---- */
static void copies(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned words;
        bool zero;
    } forms[] = {{"LDGSTS.E [R11+0x40], [R4.64+%s]", 1, false},
                 {"LDGSTS.E.64 [R11+0x40], [R4.64+%s]", 2, false},
                 {"LDGSTS.E.BYPASS.128 [R11+0x40], [R4.64+%s]", 4, false},
                 {"LDGSTS.E.ZFILL [R11+0x40], [R4.64+%s], P0", 1, true},
                 {"LDGSTS.E.64.ZFILL [R11+0x40], [R4.64+%s], P0", 2, true},
                 {"LDGSTS.E.128 [R11+0x40], [R4.64+%s], P0", 4, true}};
    for (unsigned n = 0; n < 36; n++) {
        unsigned f = n % 6, words = forms[f].words;
        AsmLaunch l = {.target = "sm_80", .threads = 32, .nout = 512};
        random_words(&l);
        char line[100];
        snprintf(line, sizeof line, forms[f].text, "0x10");
        /* thread i: out[4 + 4 i ..] = four words; after all that, shared [16 i + 0x40] = those; out[256 + 4 i
         * ..] = shared */
        AsmResult r = asm_run(
            &l,
            ".shared 1024\n" START80 WORDS80
            "SHF.L.U32 R11, R0, 0x4, RZ;\nIADD3 R4, P1, R4, R11, RZ;\nIADD3.X R5, RZ, R5, RZ, P1, !PT;\n"
            "STG.E [R4.64+0x10], R8;\nSTG.E [R4.64+0x14], R9;\nSTG.E [R4.64+0x18], R10;\nSTG.E [R4.64+0x1c], "
            "R0;\n"
            "MOV R12, 0x77;\nSTS [R11+0x40], R12;\nSTS [R11+0x44], R12;\nSTS [R11+0x48], R12;\nSTS "
            "[R11+0x4c], R12;\n"
            "LOP3.LUT R13, R0, 0x1, RZ, 0xc0, !PT;\nISETP.EQ.U32.AND P0, PT, R13, RZ, PT;\n"
            "%s;\nLDGDEPBAR;\nDEPBAR.LE SB0, 0x0;\n"
            "LDS R14, [R11+0x40];\nLDS R15, [R11+0x44];\nLDS R16, [R11+0x48];\nLDS R17, [R11+0x4c];\n"
            "STG.E [R4.64+0x400], R14;\nSTG.E [R4.64+0x404], R15;\nSTG.E [R4.64+0x408], R16;\nSTG.E "
            "[R4.64+0x40c], R17;\nEXIT;\n",
            line);
        for (uint32_t i = 0; i < 32; i++)
            for (unsigned k = 0; k < 4; k++) {
                uint32_t source = k < 3 ? word_of(&l, k, i) : i;
                uint32_t want = k >= words ? 0x77 : forms[f].zero && i % 2 ? 0 : source;
                assert_int_equal(r.out[256 + 4 * i + k], want);
            }
    }
    /* as many bytes are missing at the end as the address is past a multiple of the size */
    for (unsigned missing = 0; missing < 16; missing++) {
        AsmLaunch l = {.target = "sm_80", .threads = 32, .nout = 8};
        random_words(&l);
        AsmResult r =
            asm_run(&l,
                    ".shared 16\n" START80 WORDS80 "ISETP.NE.U32.AND P0, PT, R0, RZ, PT;\n@P0 EXIT;\n"
                    "STG.E [R4.64], R8;\nSTG.E [R4.64+0x4], R9;\nSTG.E [R4.64+0x8], R10;\nSTG.E "
                    "[R4.64+0xc], R8;\nLDGSTS.E.BYPASS.128.ZFILL [RZ], [R4.64+0x%x];\nLDGDEPBAR;\n"
                    "DEPBAR.LE SB0, 0x0;\nLDS.128 R12, [RZ];\nSTG.E.128 [R4.64+0x10], R12;\nEXIT;\n",
                    missing);
        uint8_t want[16] = {0};
        memcpy(want, r.out, 16 - missing);
        assert_memory_equal(r.out + 4, want, 16);
        assert_int_equal(r.out[0], word_of(&l, 0, 0));
    }
    /* both ends are checked */
    AsmLaunch l = {.target = "sm_80", .threads = 32, .trap = TRAP_OUT_OF_RANGE};
    asm_run(&l, ".shared 16\n" START80 "SHF.L.U32 R11, R0, 0x2, RZ;\nLDGSTS.E [R11], [R4.64];\nEXIT;\n");
    asm_run(&l, ".shared 128\n" START80
                "SHF.L.U32 R11, R0, 0x2, RZ;\nMOV R5, RZ;\nLDGSTS.E [R11], [R4.64];\nEXIT;\n");
    l.trap = TRAP_MISALIGNED;
    asm_run(&l, ".shared 128\n" START80 "SHF.L.U32 R11, R0, 0x1, RZ;\nLDGSTS.E [R11], [R4.64];\nEXIT;\n");
}

/* Counting executing lanes: old value plus rank, address by address. */
static void popc_inc(void **state) {
    (void)state;
    for (unsigned n = 0; n < 20; n++) {
        AsmLaunch l = {.target = n & 1 ? "sm_80" : "sm_86", .threads = 32};
        random_words(&l);
        AsmResult r = asm_run(
            &l, ".shared 64\n" START80
                "SHF.R.U32.HI R8, RZ, R0, c[0x0][0x168];\nLOP3.LUT R8, R8, 0x1, RZ, 0xc0, !PT;\n"
                "ISETP.NE.U32.AND P0, PT, R8, RZ, PT;\nLOP3.LUT R9, R0, 0x3, RZ, 0xc0, !PT;\nMOV R10, 0x64;\n"
                "STS [R9.X4+0x10], R10;\nMOV R6, 0x7;\n@P0 ATOMS.POPC.INC.32 R6, [R9.X4+URZ+0x10];\nLDS R7, "
                "[R9.X4+0x10];\n" STORE);
        uint32_t count[4] = {100, 100, 100, 100};
        for (uint32_t i = 0; i < 32; i++)
            assert_int_equal(r.out[2 * i], l.in[0] >> i & 1 ? count[i % 4]++ : 7);
        for (uint32_t i = 0; i < 32; i++)
            assert_int_equal(r.out[2 * i + 1], count[i % 4]);
    }
}

/* Vector atomics of sm_90: each element for itself, of which the next thread's are neighbours in memory. */
static double half_number(uint32_t half, bool bf16) {
    unsigned mantissa = bf16 ? 7 : 10, top = bf16 ? 0xff : 0x1f, bias = bf16 ? 127 : 15;
    unsigned e = half >> mantissa & top, m = half & ((1u << mantissa) - 1);
    double x = e == top
                   ? (m ? (double)NAN : (double)INFINITY)
                   : ldexp(m + (e ? (double)(1u << mantissa) : 0), (int)(e ? e : 1) - (int)(bias + mantissa));
    return half & 0x8000 ? -x : x;
}
static uint32_t host_least(uint32_t a, uint32_t b, bool bf16, bool max) {
    uint32_t out = 0;
    for (unsigned at = 0; at < 32; at += 16) {
        uint32_t p = a >> at & 0xffff, q = b >> at & 0xffff;
        double x = half_number(p, bf16), y = half_number(q, bf16);
        bool first = isnan(y) || (x == y ? !!signbit(x) != max : (x < y) != max);
        out |= (isnan(x) && isnan(y) ? 0x7fff : isnan(x) || !first ? q : p) << at;
    }
    return out;
}
static uint32_t host_flushed_sum(uint32_t a, uint32_t b) {
    float x, y;
    memcpy(&x, &a, 4);
    memcpy(&y, &b, 4);
    x = fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
    y = fpclassify(y) == FP_SUBNORMAL ? copysignf(0, y) : y;
    volatile float sum = x + y;
    x = isnan(sum) ? NAN : fpclassify(sum) == FP_SUBNORMAL ? copysignf(0, sum) : sum;
    memcpy(&a, &x, 4);
    return isnan(x) ? 0x7fffffff : a;
}
static void vector_atomics(void **state) {
    (void)state;
    enum { SUM, LEAST, GREATEST, OPS };
    static const char *const ops[OPS] = {"ADD", "MIN", "MAX"};
    static const struct {
        const char *type;
        unsigned words, op0, op1;
        bool bf16;
    } forms[] = {{"F16x2.RN", 1, LEAST, OPS, false},     {"F16x4.RN", 2, LEAST, OPS, false},
                 {"F16x8.RN", 4, LEAST, OPS, false},     {"BF16x2.RN", 1, LEAST, OPS, true},
                 {"BF16x4.RN", 2, LEAST, OPS, true},     {"BF16x8.RN", 4, LEAST, OPS, true},
                 {"F32x2.FTZ.RN", 2, SUM, LEAST, false}, {"F32x4.FTZ.RN", 4, SUM, LEAST, false}};
    static const char *const kinds[] = {"ATOMG.E.%s.%s.STRONG.GPU PT, R16, [R2.64+0x10], R12",
                                        "ATOM.E.%s.%s.STRONG.GPU P1, R16, [R2.64+0x10], R12",
                                        "REDG.E.%s.%s.STRONG.GPU [R2.64+0x10], R12"};
    static const uint32_t special[] = {0x80000000, 0x00008000, 0x7fff0000, 0xfe017c00,
                                       0x7f80ff80, 0x7f81fc01, 0x00018001, 0x7c0083ff,
                                       0x00800001, 0x3f8000ff, 0xc000bf80, 0x80ff00ff};
    for (unsigned n = 0; n < 3 * 16 * sizeof forms / sizeof *forms; n++) {
        unsigned f = n % (sizeof forms / sizeof *forms), kind = n / (sizeof forms / sizeof *forms) % 3;
        AsmLaunch l = {.target = "sm_90", .threads = 32, .nout = 32 * 8};
        random_words(&l);
        for (unsigned k = 0; k < 3; k++)
            l.in[k] = asm_random() % 4 ? special[asm_random() % 12] : l.in[k];
        for (unsigned op = forms[f].op0; op < forms[f].op1; op++) {
            char atom[128];
            snprintf(atom, sizeof atom, kinds[kind], ops[op], forms[f].type);
            AsmResult r = asm_run(
                &l,
                START90 WORDS90
                "MOV R11, R9;\nMOV R12, R9;\nMOV R13, R10;\nMOV R14, R8;\nMOV R15, R10;\nMOV R16, 0x1;\n"
                "MOV R17, 0x2;\nMOV R18, 0x3;\nMOV R19, 0x4;\nIMAD.WIDE.U32 R2, R1, 0x20, R4;\n"
                "STG.E.128 [R2.64+0x10], R8;\n%s;\nSTG.E.128 [R2.64], R16;\nEXIT;\n",
                atom);
            for (uint32_t i = 0; i < 32; i++) {
                uint32_t x[3], *out = &r.out[8 * i];
                for (unsigned k = 0; k < 3; k++)
                    x[k] = word_of(&l, k, i);
                const uint32_t old[4] = {x[0], x[1], x[2], x[1]}, operand[4] = {x[1], x[2], x[0], x[2]};
                for (unsigned w = 0; w < 4; w++) {
                    bool touched = w < forms[f].words;
                    uint32_t now = !touched ? old[w]
                                   : op == SUM
                                       ? host_flushed_sum(old[w], operand[w])
                                       : host_least(old[w], operand[w], forms[f].bf16, op == GREATEST);
                    assert_int_equal(out[4 + w], now);
                    assert_int_equal(out[w], touched && kind < 2 ? old[w] : w + 1);
                }
            }
        }
    }
    AsmLaunch odd = {.target = "sm_90", .threads = 1, .nout = 8, .trap = TRAP_MISALIGNED};
    asm_run(&odd, START90 "MOV R12, RZ;\nMOV R13, RZ;\nREDG.E.ADD.F32x2.FTZ.RN.STRONG.GPU [R2.64+0x4], R12;\n"
                          "EXIT;\n");
}

/* ---- matrices ---- */
static void matrices(void **state) {
    (void)state;
    static const char *const nums[] = {"", ".2", ".4"};
    for (unsigned n = 0; n < 6; n++) {
        unsigned num = 1u << n % 3;
        bool trans = n >= 3;
        AsmLaunch l = {.target = "sm_80", .threads = 32, .nout = 128};
        /* shared halves i = 0..511 hold 3 i + 1; lane's row address: 16 * (lane ^ 5) */
        AsmResult r = asm_run(
            &l,
            ".shared 1024\n" START80 "SHF.L.U32 R8, R0, 0x5, RZ;\nMOV R9, RZ;\nIMAD R10, R0, 0x30, RZ;\n"
            "fill:\nIMAD R11, R9, 0x3, R10;\nIADD3 R11, R11, 0x1, RZ;\nSTS.U16 [R8], R11;\nIADD3 R8, R8, "
            "0x2, RZ;\n"
            "IADD3 R9, R9, 0x1, RZ;\nISETP.LT.U32.AND P0, PT, R9, 0x10, PT;\n@P0 BRA `(fill);\n"
            "LOP3.LUT R8, R0, 0x5, RZ, 0x3c, !PT;\nSHF.L.U32 R8, R8, 0x4, RZ;\n"
            "MOV R12, RZ;\nMOV R13, RZ;\nMOV R14, RZ;\nMOV R15, RZ;\nLDSM.16.%s%s R12, [R8+0x20];\n"
            "IMAD.WIDE.U32 R2, R0, 0x10, R4;\nSTG.E.128 [R2.64], R12;\nEXIT;\n",
            trans ? "MT88" : "M88", nums[n % 3]);
        for (uint32_t i = 0; i < 32; i++)
            for (unsigned m = 0; m < 4; m++) {
                uint32_t want = 0;
                for (unsigned h = 0; h < 2 && m < num; h++) {
                    unsigned row = i / 4, col = i % 4 * 2 + h;
                    if (trans) {
                        unsigned t = row;
                        row = col;
                        col = t;
                    }
                    uint32_t half = 8 * ((8 * m + row) ^ 5) + 16 + col;
                    want |= ((3 * half + 1) & 0xffff) << 16 * h;
                }
                assert_int_equal(r.out[4 * i + m], want);
            }
    }
    /* stored and loaded again: the same; stored and loaded transposed: MOVM's result */
    AsmLaunch l = {.target = "sm_90", .threads = 32};
    AsmResult r =
        asm_run(&l, ".shared 1024\n" START90
                    "IMAD R8, R0, 0x20002, RZ;\nIADD3 R8, R8, 0x10000, RZ;\nSHF.L.U32 R9, R0, 0x4, RZ;\n"
                    "IADD3 R9, R9, 0x400, RZ;\n" /* the system's part is before */
                    "STSM.16.M88 [R9], R8;\nLDSM.16.M88 R6, [R9];\nMOVM.16.MT88 R7, R8;\n" STORE);
    for (uint32_t i = 0; i < 32; i++) { /* element (row, col) is 2 * lane + half = 8 row + col */
        assert_int_equal(r.out[2 * i], i * 0x20002 + 0x10000);
        uint32_t row = i / 4, col = i % 4 * 2;
        assert_int_equal(r.out[2 * i + 1], (8 * col + row) | (8 * (col + 1) + row) << 16);
    }
    l.trap = TRAP_COLLECTIVE;
    l.threads = 31;
    asm_run(&l, ".shared 1024\n" START90 "MOVM.16.MT88 R7, R0;\nEXIT;\n");
}

/* Shared memory of sm_90 begins with 1024 bytes that are the system's; the program's own end is where its
 * size says. */
static void system_shared(void **state) {
    (void)state;
    static const struct {
        const char *text;
        SimTrapKind trap;
    } cases[] = {{"LDS R6, [RZ+0x3fc];\n", TRAP_OUT_OF_RANGE},
                 {"LDS R6, [RZ+0x400];\n", TRAP_NONE},
                 {"LDS R6, [RZ+0x47c];\n", TRAP_NONE},
                 {"LDS R6, [RZ+0x480];\n", TRAP_OUT_OF_RANGE},
                 {"S2R R6, SR_LANEID;\nLDS R6, [R6.X4+0x3f0];\n", TRAP_OUT_OF_RANGE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AsmLaunch l = {.target = "sm_90", .threads = 32, .trap = cases[i].trap};
        asm_run(&l, ".shared 128\n" START90 "%sEXIT;\n", cases[i].text);
    }
}

/* All lanes go the way of the warp's predicate. */
static void uniform_branch(void **state) {
    (void)state;
    for (unsigned n = 0; n < 8; n++) {
        AsmLaunch l = {.target = "sm_90", .threads = 32, .in = {n & 1}};
        AsmResult r = asm_run(&l,
                              START90 "MOV R7, RZ;\nMOV R6, 0x1;\nULDC UR4, c[0x0][0x218];\n"
                                      "ULOP3.LUT UP0, URZ, UR4, 0x1, URZ, 0xc0, !UPT;\n"
                                      "%s BRA.U %sUP0, `(there);\n"
                                      "MOV R6, 0x2;\nthere:\n" STORE,
                              n & 4 ? "@!PT" : "", n & 2 ? "!" : "");
        bool taken = !(n & 4) && (n & 1) != (n >> 1 & 1);
        for (unsigned i = 0; i < 32; i++)
            assert_int_equal(r.out[2 * i], taken ? 1 : 2);
    }
}

static void elect(void **state) {
    (void)state;
    for (unsigned n = 0; n < 20; n++) {
        AsmLaunch l = {.target = "sm_90", .threads = 32, .in = {asm_random() | 1u << asm_random() % 32}};
        AsmResult r = asm_run(
            &l, START90 "SHF.R.U32.HI R8, RZ, R0, c[0x0][0x218];\nLOP3.LUT R8, R8, 0x1, RZ, 0xc0, !PT;\n"
                        "ISETP.NE.U32.AND P0, PT, R8, RZ, PT;\n@!P0 EXIT;\nELECT P1, UR4, PT;\nMOV R9, "
                        "0x1;\nSEL R6, R9, RZ, P1;\nMOV R7, UR4;\n" STORE);
        uint32_t leader = (uint32_t)__builtin_ctz(l.in[0]);
        for (uint32_t i = 0; i < 32; i++)
            if (l.in[0] >> i & 1) {
                assert_int_equal(r.out[2 * i], i == leader);
                assert_int_equal(r.out[2 * i + 1], leader);
            }
    }
}

/* FCHK says when a / b cannot be computed the fast way: always where an operand, the quotient or the
 * reciprocal is no normal number, never where all of them are far from the ends of the range. In between it
 * may say either. */
static float as_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
static void fchk(void **state) {
    (void)state;
    unsigned slow = 0, fast = 0;
    for (unsigned n = 0; n < 300; n++) {
        AsmLaunch l = {.threads = 32};
        random_words(&l);
        bool near = n & 1; /* exponents near 1 as well as any */
        AsmResult r = asm_run(
            &l, START80 WORDS80 "%sFCHK P1, R8, |R9|;\nMOV R7, 0x1;\nSEL R6, R7, RZ, P1;\n" STORE,
            near
                ? "LOP3.LUT R8, R8, 0x83ffffff, RZ, 0xc0, !PT;\nLOP3.LUT R8, R8, 0x3c000000, RZ, 0xfc, !PT;\n"
                  "LOP3.LUT R9, R9, 0x83ffffff, RZ, 0xc0, !PT;\nLOP3.LUT R9, R9, 0x3c000000, RZ, 0xfc, !PT;\n"
                : "");
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t x = word_of(&l, 0, i), y = word_of(&l, 1, i);
            if (near) {
                x = (x & 0x83ffffff) | 0x3c000000;
                y = (y & 0x83ffffff) | 0x3c000000;
            }
            float a = as_float(x), b = fabsf(as_float(y)), q = a / b, inverse = 1 / b;
            bool must = !isnormal(a) || !isnormal(b) || !isnormal(q) || !isnormal(inverse);
            bool may = must || fabsf(a) < 0x1p-90f || fabsf(a) > 0x1p90f || b < 0x1p-90f || b > 0x1p90f ||
                       fabsf(q) < 0x1p-100f || fabsf(q) > 0x1p100f;
            if (must != may)
                continue;
            if (r.out[2 * i] != must)
                fail_msg("FCHK %a, %a: %u", (double)a, (double)b, r.out[2 * i]);
            slow += must;
            fast += !must;
        }
    }
    assert_true(slow > 500 && fast > 2000);
}

static void without_effect(void **state) {
    (void)state;
    AsmLaunch l = {.target = "sm_90", .threads = 32};
    AsmResult r = asm_run(&l, START90 "MOV R6, 0x5;\nMOV R7, RZ;\nCGAERRBAR;\nFENCE.VIEW.ASYNC.S;\nPMTRIG "
                                      "0x3;\nACQBULK;\nPREEXIT;\n" STORE);
    assert_int_equal(r.out[62], 5);
}

/* A generic address of shared memory begins where SR_SWINLO and SR_SWINHI say: ptxas before 12.5 takes both
 * for sm_90. */
static void shared_window(void **state) {
    (void)state;
    AsmLaunch l = {.target = "sm_90", .threads = 32};
    AsmResult r =
        asm_run(&l, ".shared 128\n" START90 "IMAD R8, R0, 0x4, RZ;\nIADD3 R8, R8, 0x400, RZ;\nSTS [R8], R1;\n"
                    "S2R R9, SR_SWINLO;\nS2UR UR5, SR_SWINHI;\nS2UR UR4, SR_SWINLO;\n"
                    "IADD3 R8, R8, UR4, RZ;\nMOV R9, UR5;\nLD.E R6, [R8.64];\nS2R R7, SR_SWINHI;\n"
                    "IADD3 R7, R7, -UR5, RZ;\n" STORE);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(r.out[2 * t], t);
        assert_int_equal(r.out[2 * t + 1], 0);
    }
}

/* What is absent names itself, and only when a lane executes it. */
/* A factor's halves exchanged, the lower one then negated: the same product of halves exchanged and negated
 * before. */
static void negated_half(void **state) {
    (void)state;
    static const char *const kinds[] = {"", ".RELU", ".BF16_V2", ".SAT", ".FTZ"}, *const signs[] = {"", "-"};
    for (unsigned n = 0; n < 40; n++) {
        AsmLaunch l = {.target = n & 1 ? "sm_86" : "sm_90", .threads = 32};
        random_words(&l);
        const char *kind = kinds[n / 2 % 5], *sign = signs[n / 10 % 2];
        char lines[300], magnitude[60] = "", factor_text[12];
        snprintf(factor_text, sizeof factor_text, n / 20 ? "%s|R9|" : "%sR9", sign);
        if (n / 20)
            snprintf(magnitude, sizeof magnitude, "LOP3.LUT R11, R9, 0x7fff7fff, RZ, 0xc0, !PT;\n");
        snprintf(lines, sizeof lines,
                 "HFMA2%s R6, R8, %s.H0_NH1, R10;\nMOV R11, R9;\n%sPRMT R11, R11, 0x1032, RZ;\n"
                 "LOP3.LUT R11, R11, 0x8000, RZ, 0x3c, !PT;\nHFMA2%s R7, R8, %sR11, R10;\n",
                 kind, factor_text, magnitude, kind, sign);
        AsmResult r = n & 1 ? asm_run(&l, START80 WORDS80 "%s" STORE, lines)
                            : asm_run(&l, START90 WORDS90 "%s" STORE, lines);
        for (uint32_t i = 0; i < 32; i++)
            assert_int_equal(r.out[2 * i], r.out[2 * i + 1]);
    }
}

/* The upper word of a number's and a register's, shifted, and another register. */
static void upper_words(void **state) {
    (void)state;
    for (unsigned n = 0; n < 20; n++) {
        AsmLaunch l = {.target = n & 1 ? "sm_80" : "sm_90", .threads = 32};
        random_words(&l);
        uint32_t high = asm_random() << 16 | asm_random() % 65536, shift = 1 + asm_random() % 31;
        char lines[200];
        snprintf(lines, sizeof lines,
                 "LEA.HI R6, R8, R9, 0x%x, 0x%x;\nULDC UR4, c[0x0][0x%x];\nULDC UR5, c[0x0][0x%x];\n"
                 "ULEA.HI UR6, UR4, UR5, 0x%x, 0x%x;\nMOV R7, UR6;\n",
                 high, shift, n & 1 ? 0x168 : 0x218, n & 1 ? 0x16c : 0x21c, high, shift);
        AsmResult r = n & 1 ? asm_run(&l, START80 WORDS80 "%s" STORE, lines)
                            : asm_run(&l, START90 WORDS90 "%s" STORE, lines);
        for (uint32_t i = 0; i < 32; i++)
            for (unsigned k = 0; k < 2; k++) {
                uint64_t both = (uint64_t)high << 32 | (k ? l.in[0] : word_of(&l, 0, i));
                uint32_t other = k ? l.in[1] : word_of(&l, 1, i);
                assert_int_equal(r.out[2 * i + k], (uint32_t)(both << shift >> 32) + other);
            }
    }
}

static void not_simulated(void **state) {
    (void)state;
    static const struct {
        const char *target, *off, *text, *name;
    } rows[] = {{"sm_80", "@!PT", "HMMA.1684.F32 R8, R8, R10, R12", "HMMA is not simulated"}, /* of f16 */
                {"sm_90", "@!PT", "ARRIVES.LDGSTSBAR.64 [UR4]", "ARRIVES is not simulated"},
                {"sm_90", "@!PT", "VIMNMX.S16x2 R8, P0, P0, R9, R10, PT", "VIMNMX_P is not simulated"},
                {"sm_80", "@!PT", "FSWZADD.NDV R8, R9, R10, ZPPPZPPP", "FSWZADD is not simulated"},
                {"sm_86", "@!PT", "F2IP.U8.F32.NTZ R8, R9, R10, RZ", "F2IP is not simulated"}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        AsmLaunch l = {
            .target = rows[i].target, .threads = 32, .trap = TRAP_UNSUPPORTED, .text = rows[i].name};
        asm_run(&l, "%s;\nEXIT;\n", rows[i].text);
        l.trap = TRAP_NONE;
        l.text = NULL;
        asm_run(&l, "%s %s;\nEXIT;\n", rows[i].off, rows[i].text);
        asm_run(&l, "EXIT;\n%s;\nEXIT;\n", rows[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vabsdiff4),      cmocka_unit_test(minima),        cmocka_unit_test(minima_of_halves),
        cmocka_unit_test(copies),         cmocka_unit_test(popc_inc),      cmocka_unit_test(vector_atomics),
        cmocka_unit_test(matrices),       cmocka_unit_test(elect),         cmocka_unit_test(fchk),
        cmocka_unit_test(without_effect), cmocka_unit_test(not_simulated), cmocka_unit_test(system_shared),
        cmocka_unit_test(uniform_branch), cmocka_unit_test(shared_window), cmocka_unit_test(negated_half),
        cmocka_unit_test(upper_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
