/* Texts as keys, values and modifiers, exact systems, repositories. Expected: the specification's own
 * examples, and words and numbers worked out by hand. SPDX-License-Identifier: MIT */
#include "learn/learn.h"
#include "learn/number.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

/* "KEY | values | modifiers" of a text, or "- why". */
static const char *parsed(const char *text, uint64_t pc) {
    static char out[2000];
    LearnInsn insn;
    const char *at;
    char why[LEARN_WHY_BYTES];
    size_t n = 0;
    if (!learn_parse(text, pc, 63, &insn, &at, why)) {
        snprintf(out, sizeof out, "- %zu %s", (size_t)(at - text), why);
        return out;
    }
    n += (size_t)snprintf(out + n, sizeof out - n, "%s |", insn.key);
    for (unsigned i = 0; i < insn.nvalues; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, " %lld", (long long)insn.values[i]);
    n += (size_t)snprintf(out + n, sizeof out - n, " |");
    for (unsigned i = 0; i < insn.nmods; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, " %.*s", (int)strcspn(insn.mod[i], "\n"), insn.mod[i]);
    return out;
}

/* The examples of the specification's chapter on repositories, and its list of operands. */
static void texts(void **state) {
    (void)state;
    assert_string_equal(parsed("IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]", 0),
                        "IMAD_R_R_R_cAI | 7 1 255 255 0 40 | 0_IMAD 0_MOV 0_U32");
    assert_string_equal(parsed("ULDC.64 UR36, c[0x0][0x160]", 0), "ULDC_UR_cAI | 7 36 0 352 | 0_ULDC 0_64");
    assert_string_equal(parsed("IADD3 R1, R1, -0x28, RZ", 0),
                        "IADD3_R_R_II_R | 7 1 1 -40 255 | 0_IADD3 3_NegIntImme");
    assert_string_equal(parsed("LDG.E.SYS R5, [UR36]", 0), "LDG_R_AURI | 7 5 36 0 | 0_LDG 0_E 0_SYS");
    assert_string_equal(parsed("@!P0 FADD.FTZ R13, -R14, |c[0x0][0x160]|", 0),
                        "FADD_R_R_cAI | 0 13 14 0 352 | 0_PNot 0_FADD 0_FTZ 2_Neg 3_Abs");
    assert_string_equal(parsed("LDS R0, [UR5+R8.X16+0x10]", 0), "LDS_R_AURRI | 7 0 5 8 16 | 0_LDS 2_R.X16");
    assert_string_equal(parsed("LDG R0, desc[UR4][R8.64+-0x10]", 0),
                        "LDG_R_descAURARI | 7 0 4 8 -16 | 0_LDG 2_R.64 2_NegAddrOffset");
    assert_string_equal(parsed("DEPBAR.LE SB0, 0x1, {3,1}", 0),
                        "DEPBAR_SB_II_SBSET | 7 0 1 10 | 0_DEPBAR 0_LE");
    assert_string_equal(parsed("S2R R2, SR_TID.X", 0), "S2R_R_L | 7 2 | 0_S2R 2_SR_TID.X");
    assert_string_equal(parsed("PLOP3.LUT P2, PT, P3, P2, PT, 0x2a, 0x0", 0),
                        "PLOP3_P_P_P_P_P_II_II | 7 2 7 3 2 7 2 5 0 0 | 0_PLOP3 0_LUT");
    assert_string_equal(parsed("LD.E.STRONG.GPU R2, [R4]", 0), "LD_R_ARI | 7 2 4 0 | 0_LD 0_E 0_STRONG.GPU");
    assert_string_equal(parsed("F2F.F64.F32 R0, R2", 0), "F2F_R_R | 7 0 2 | 0_F2F 0_F64@1 0_F32@2 0_CVT64");
    assert_string_equal(parsed("F2F.FTZ.F16.F32 R0, R2", 0), "F2F_R_R | 7 0 2 | 0_F2F 0_FTZ 0_F16@1 0_F32@2");
    assert_string_equal(parsed("IMMA.16816.S8.S8 R0, R2, R4, R8", 0),
                        "IMMA_R_R_R_R | 7 0 2 4 8 | 0_IMMA 0_16816@1 0_S8@2 0_S8@3");
    assert_string_equal(parsed("UBLKRED.S.G.ADD.S32 [UR4], [UR8], UR10", 0),
                        "UBLKRED_AURI_AURI_UR | 7 4 0 8 0 10 | 0_UBLKRED 0_S@1 0_G@2 0_ADD 0_S32@3");
    assert_string_equal(parsed("UBLKCP.G.S [UR4], [UR8], UR10", 0),
                        "UBLKCP_AURI_AURI_UR | 7 4 0 8 0 10 | 0_UBLKCP 0_G@1 0_S@2");
    /* distances in two parts: 0x10 - 0x20, and 0x1000 - 0x20 */
    assert_string_equal(parsed("BRA 0x10", 0x10), "BRA_T | 7 1008 -1 | 0_BRA 1_NegTarget");
    assert_string_equal(parsed("BSSY B0, 0x1000", 0x10), "BSSY_B_T | 7 0 992 3 | 0_BSSY");
    assert_string_equal(parsed("BRX R4 -0x20", 0x10), "BRX_R_T | 7 4 992 -1 | 0_BRX 2_NegTarget");
    assert_string_equal(parsed("WARPSYNC 0xffffffff", 0x10), "WARPSYNC_II | 7 4294967295 | 0_WARPSYNC");
    /* what means nothing says where */
    assert_string_equal(parsed("FADD R1, , R2", 0), "- 9 an operand was expected");
    assert_string_equal(parsed("FADD R1, [R2*4]", 0), "- 12 '+' or ']' was expected in an address");
    assert_string_equal(parsed("@R1 FADD R1", 0), "- 1 a predicate was expected");
    assert_string_equal(parsed("FADD R1,", 0), "- 8 an operand is missing");
    assert_string_equal(parsed("", 0), "- 0 an opcode was expected");
}

static void numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        LearnNumber number;
        uint32_t bits;
    } rows[] = {{"1", LEARN_F32, 0x3f800000},
                {"-2.5", LEARN_F32, 0xc0200000},
                {"+INF", LEARN_F32, 0x7f800000},
                {"-INF", LEARN_F16, 0xfc00},
                {"1", LEARN_F64, 0x3ff00000},
                {"1", LEARN_F16, 0x3c00},
                {"1", LEARN_BF16, 0x3f80},
                {"65504", LEARN_F16, 0x7bff},
                {"-0", LEARN_F16, 0x8000},
                {"5.9604644775390625e-08", LEARN_F16, 1},
                {"0F3f800000", LEARN_F32, 0x3f800000},
                {"1.40129846432481707e-45", LEARN_F32, 1},
                {"0.5", LEARN_F16, 0x3800},
                {"0.00006103515625", LEARN_F16, 0x0400}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t bits;
        bool nan;
        const char *end = learn_float(rows[i].text, rows[i].number, &bits, &nan);
        assert_non_null(end);
        assert_int_equal(*end, 0);
        assert_int_equal(bits, rows[i].bits);
        assert_false(nan);
    }
    uint32_t bits;
    bool nan;
    assert_null(learn_float("0x1", LEARN_F32, &bits, &nan));
    assert_null(learn_float("2D", LEARN_F32, &bits, &nan));
    static const char *const modified[] = {"1.H1", "0.5.H1", "-2e-05.H1", "-0.0 .H1", "+QNAN .H1", "-INF.H1"};
    for (size_t i = 0; i < sizeof modified / sizeof *modified; i++) {
        const char *end = learn_float(modified[i], LEARN_F32, &bits, &nan);
        assert_non_null(end);
        assert_string_equal(end + strspn(end, " "), ".H1");
    }
    assert_non_null(learn_float("+QNAN", LEARN_F32, &bits, &nan));
    assert_true(nan);
}

static LearnAdded add(LearnRepository *repository, const char *text, uint64_t low, uint64_t high) {
    const char *at;
    char why[LEARN_WHY_BYTES];
    LearnSight sight = {.text = text, .word = {low, high}, .file = "hand.sass", .line = 1, .count = 1};
    return learn_add(repository, &sight, &at, why);
}

static LearnAssembled word_of(LearnRepository *repository, const char *text, uint64_t word[2], char *why) {
    const char *at;
    return learn_assemble(repository, text, 0, word, &at, why);
}

/* FADD's words by hand: opcode 0x221, guard at 12, rd 16, ra 24, rb 32, ra's sign 72, FTZ 80. */
static uint64_t fadd_low(unsigned guard, unsigned rd, unsigned ra, unsigned rb) {
    return 0x221 | (uint64_t)guard << 12 | (uint64_t)rd << 16 | (uint64_t)ra << 24 | (uint64_t)rb << 32;
}

static void spans(void **state) {
    (void)state;
    LearnRepository r;
    uint64_t word[2];
    char why[LEARN_WHY_BYTES] = "";
    learn_open(&r, "sm_75");
    assert_int_equal(word_of(&r, "FADD R1, R2, R3", word, why), LEARN_OUTSIDE);
    assert_int_equal(add(&r, "FADD R1, R2, R3", fadd_low(7, 1, 2, 3), 0x000fc80000000000), LEARN_NEW);
    assert_int_equal(add(&r, "FADD R1, R2, R3", fadd_low(7, 1, 2, 3), 0x000fe20000000000),
                     LEARN_KNOWN); /* scheduling */
    assert_int_equal(add(&r, "FADD R9, R2, R3", fadd_low(7, 9, 2, 3), 0), LEARN_NEW);
    /* rd is now known, and nothing else */
    assert_int_equal(word_of(&r, "FADD R200, R2, R3", word, why), LEARN_WORD);
    assert_int_equal(word[0], fadd_low(7, 200, 2, 3));
    assert_int_equal(word[1], 0);
    assert_int_equal(word_of(&r, "FADD R1, R4, R3", word, why), LEARN_OUTSIDE);
    assert_int_equal(word_of(&r, "@P0 FADD R1, R2, R3", word, why), LEARN_OUTSIDE);
    /* ra and rb by one instruction: only along that line */
    assert_int_equal(add(&r, "FADD R1, R3, R4", fadd_low(7, 1, 3, 4), 0), LEARN_NEW);
    assert_int_equal(word_of(&r, "FADD R1, R9, R10", word, why), LEARN_WORD);
    assert_int_equal(word[0], fadd_low(7, 1, 9, 10));
    assert_int_equal(word_of(&r, "FADD R1, R9, R9", word, why), LEARN_OUTSIDE);
    /* modifiers add up */
    assert_int_equal(add(&r, "FADD.FTZ R1, R2, R3", fadd_low(7, 1, 2, 3), 0x10000), LEARN_NEW);
    assert_int_equal(add(&r, "FADD R1, -R2, R3", fadd_low(7, 1, 2, 3), 0x100), LEARN_NEW);
    assert_int_equal(word_of(&r, "FADD.FTZ R5, -R2, R3", word, why), LEARN_WORD);
    assert_int_equal(word[0], fadd_low(7, 5, 2, 3));
    assert_int_equal(word[1], 0x10100);
    assert_int_equal(word_of(&r, "FADD.SAT R1, R2, R3", word, why), LEARN_OUTSIDE);
    assert_non_null(strstr(why, "0_SAT"));
    /* another word for what is known */
    assert_int_equal(add(&r, "FADD R5, R2, R3", fadd_low(7, 6, 2, 3), 0), LEARN_TOLD_TWICE);
    assert_int_equal(word_of(&r, "FADD R5, R2, R3", word, why), LEARN_WORD);
    assert_int_equal(word[0], fadd_low(7, 5, 2, 3));
    learn_free(&r);
}

/* A field that is no sum of modifiers: .A 1, .B 2, .A.B 7. The opcode's modifiers are then one unknown each.
 * Opcode 1, or 2 under .C, whose register lies elsewhere. */
static void levels(void **state) {
    (void)state;
    LearnRepository r;
    uint64_t word[2];
    char why[LEARN_WHY_BYTES];
    learn_open(&r, "sm_75");
    add(&r, "X R1", 0x017001, 0);
    add(&r, "X.A R1", 0x1017001, 0);
    add(&r, "X.B R1", 0x2017001, 0);
    assert_int_equal(word_of(&r, "X.A.B R1", word, why), LEARN_WORD);
    assert_int_equal(word[0], 0x3017001);
    add(&r, "X.A.B R1", 0x7017001, 0);
    assert_int_equal(word_of(&r, "X.A.B R1", word, why), LEARN_WORD);
    assert_int_equal(word[0], 0x7017001);
    assert_int_equal(r.keys.at[0].groups.at[0].level, LEARN_OPCODE);
    add(&r, "X R2", 0x027001, 0);
    assert_int_equal(word_of(&r, "X.B R3", word, why), LEARN_WORD);
    assert_int_equal(word[0], 0x2037001);
    assert_int_equal(word_of(&r, "X.B.A R3", word, why), LEARN_OUTSIDE);
    add(&r, "X.C R1", 0x17400000002, 0);
    assert_int_equal(word_of(&r, "X.C R9", word, why), LEARN_OUTSIDE);
    add(&r, "X.C R2", 0x27400000002, 0);
    assert_int_equal(word_of(&r, "X.C R9", word, why), LEARN_WORD);
    assert_int_equal(word[0], 0x97400000002);
    assert_int_equal(word_of(&r, "X R9", word, why), LEARN_WORD);
    assert_int_equal(word[0], 0x097001);
    assert_int_equal(word_of(&r, "X.A.C R9", word, why), LEARN_OUTSIDE);
    assert_int_equal(r.keys.at[0].groups.n, 2);
    learn_free(&r);
}

/* The guard weighs the same everywhere once two keys say so. */
static void guards(void **state) {
    (void)state;
    LearnRepository r;
    uint64_t word[2];
    char why[LEARN_WHY_BYTES];
    learn_open(&r, "sm_75");
    add(&r, "X R1", 0x7001, 0);
    add(&r, "@P0 X R1", 0x0001, 0);
    add(&r, "@!P0 X R1", 0x8001, 0);
    add(&r, "Z R1", 0x7100, 0);
    assert_int_equal(word_of(&r, "@!P3 Z R1", word, why), LEARN_OUTSIDE);
    add(&r, "Y R1", 0x7801, 0);
    add(&r, "@P1 Y R1", 0x1801, 0);
    add(&r, "@!P1 Y R1", 0x9801, 0);
    assert_int_equal(word_of(&r, "@!P3 Z R1", word, why), LEARN_WORD);
    assert_int_equal(word[0], 0xb100);
    assert_int_equal(word_of(&r, "@P2 Z R2", word, why), LEARN_OUTSIDE);
    assert_int_equal(word_of(&r, "@UP2 Z R1", word, why), LEARN_OUTSIDE);
    learn_free(&r);
}

static char *saved(const LearnRepository *r) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    learn_save(r, out);
    fclose(out);
    return text;
}

static bool loaded(LearnRepository *r, const char *text, size_t size) {
    FILE *in = fmemopen((void *)(uintptr_t)text, size, "r");
    Diags diags = {.sink = NULL};
    bool good = learn_load_stream(r, "r", in, &diags);
    assert_int_equal(good, diags.nerrors == 0);
    fclose(in);
    return good;
}

static void files(void **state) {
    (void)state;
    LearnRepository r, again = {0};
    learn_open(&r, "sm_90");
    add(&r, "FADD R1, R2, R3", fadd_low(7, 1, 2, 3), 0);
    add(&r, "FADD R9, R2, R3", fadd_low(7, 9, 2, 3), 0);
    add(&r, "BRA 0x40", 0x0000000000d07947, 0);
    char *text = saved(&r);
    assert_true(loaded(&again, text, strlen(text)));
    char *second = saved(&again);
    assert_string_equal(text, second);
    /* twice is once, and is counted */
    assert_true(loaded(&again, text, strlen(text)));
    assert_int_equal(again.ninsts, 6);
    learn_free(&again);
    /* cut anywhere but before the last line's end it is refused */
    for (size_t size = 1; size + 1 < strlen(text); size++) {
        LearnRepository part = {0};
        assert_false(loaded(&part, text, size));
        if (part.arch)
            learn_free(&part);
    }
    free(text);
    free(second);
    learn_free(&r);
}

/* Word k of an operand of its own weighs k << 40; the operands 1 << 16 and 3 << 24; `both` 2^30 more. Every
 * word is seen with two operands at least, some twice with the same. */
enum { WORDS = 4000, ROWS = 3 * WORDS };

static void make_row(uint32_t i, LearnEntry entries[5], LearnRow *row, uint64_t word[2]) {
    uint32_t k = i % WORDS, n = 0;
    int64_t one = (int64_t)(i * 7919 % 251), two = (int64_t)(i * 104729 % 241) - 120;
    bool both = (i + i / WORDS) % 5 == 0;
    entries[n++] = (LearnEntry){0, 1};
    if (one)
        entries[n++] = (LearnEntry){1, one};
    if (two)
        entries[n++] = (LearnEntry){2, two};
    entries[n++] = (LearnEntry){4 + k, 1};
    if (both)
        entries[n++] = (LearnEntry){3, 1};
    word[0] = 0x7000000221u + ((uint64_t)one << 16) + 3 * ((uint64_t)two << 24) + ((uint64_t)k << 40) +
              ((uint64_t)both << 30);
    word[1] = 0;
    *row = (LearnRow){entries, n, word};
}

/* Thousands of unknowns: what is in the span has the word that the rule above says, the rest is outside; and
 * one wrong word is found. */
static void many_words(void **state) {
    (void)state;
    LearnRow *rows = calloc(ROWS, sizeof *rows), asked;
    LearnEntry(*entries)[5] = calloc(ROWS, sizeof *entries), other[5];
    uint64_t(*words)[2] = calloc(ROWS, sizeof *words), word[2], expected[2];
    LearnSystem system = {0};
    uint32_t bad;
    bool negative;
    for (uint32_t i = 0; i < ROWS; i++)
        make_row(i, entries[i], &rows[i], words[i]);
    assert_true(learn_system_solve(&system, rows, ROWS, WORDS + 4, &bad));
    assert_int_equal(system.rank, WORDS + 3); /* what all rows have cannot be told from what words weigh */
    assert_int_equal(system.nullity, 1);
    for (uint32_t i = ROWS; i < ROWS + 500; i++) {
        make_row(i * 37, other, &asked, expected);
        assert_int_equal(learn_system_word(&system, asked.entries, asked.nentries, word), LEARN_SPAN_WORD);
        assert_int_equal(word[0], expected[0]);
    }
    assert_true(learn_system_weight(&system, 2, word, &negative));
    assert_int_equal(word[0], 3u << 24);
    assert_true(learn_system_weight(&system, 3, word, &negative));
    assert_int_equal(word[0], 1u << 30);
    assert_false(learn_system_weight(&system, 0, word, &negative));
    assert_false(learn_system_weight(&system, 4, word, &negative));
    LearnEntry two_words[] = {{0, 1}, {4, 1}, {5, 1}}, no_word[] = {{0, 1}, {1, 5}};
    assert_int_equal(learn_system_word(&system, two_words, 3, word), LEARN_SPAN_OUTSIDE);
    assert_int_equal(learn_system_word(&system, no_word, 2, word), LEARN_SPAN_OUTSIDE);
    words[ROWS - 1][0] ^= 1;
    assert_false(learn_system_solve(&system, rows, ROWS, WORDS + 4, &bad));
    assert_true(bad < ROWS);
    free(rows);
    free(entries);
    free(words);
}

static void transfers(void **state) {
    (void)state;
    LearnRepository old, new;
    uint64_t word[2];
    char why[LEARN_WHY_BYTES];
    learn_open(&old, "sm_80");
    learn_open(&new, "sm_86");
    for (unsigned i = 0; i < 3; i++) { /* the same, another, and one that says nothing */
        char text[40];
        uint64_t value = (uint64_t[]){1, 2, 9}[i];
        snprintf(text, sizeof text, "A R%u", (unsigned)value);
        add(&old, text, 0x7000 + value, 0);
        snprintf(text, sizeof text, "B R%u", (unsigned)value);
        add(&old, text, 0x7100 + value, 0);
        snprintf(text, sizeof text, "C R%u", (unsigned)value);
        add(&old, text, 0x7200 + value, 0);
        snprintf(text, sizeof text, "D.X R%u", (unsigned)value);
        add(&old, text, 0x7300 + value, 0);
    }
    add(&new, "A R5", 0x7005, 0);
    add(&new, "B R5", 0x57100, 0);
    add(&new, "D.Y R5", 0x7385, 0);
    LearnTransfer result = learn_transfer(&new, &old);
    assert_int_equal(result.taken, 1);
    assert_int_equal(result.different, 1);
    assert_int_equal(result.unseen, 1);
    assert_int_equal(result.untested, 1);
    assert_int_equal(word_of(&new, "A R77", word, why), LEARN_WORD);
    assert_int_equal(word[0], 0x704d);
    assert_int_equal(word_of(&new, "B R77", word, why), LEARN_OUTSIDE);
    assert_int_equal(word_of(&new, "C R77", word, why), LEARN_OUTSIDE);
    char *text = saved(&new);
    assert_non_null(strstr(text, "\nsm_80 0x0000"));
    free(text);
    learn_free(&old);
    learn_free(&new);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts),     cmocka_unit_test(numbers),
                                       cmocka_unit_test(spans),     cmocka_unit_test(levels),
                                       cmocka_unit_test(guards),    cmocka_unit_test(files),
                                       cmocka_unit_test(transfers), cmocka_unit_test(many_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
