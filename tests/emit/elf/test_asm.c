/* Assembly text: control prefix, statements, errors with their position.
 * SPDX-License-Identifier: MIT */
#include "common.h"
#include <stdio.h>

static void test_control(void **state) {
    (void)state;
    static const struct {
        const char *text;
        Control c;
    } rows[] = {{"[B------:R-:W-:-:S00]", {0, 0, 7, 7, 0}},
                {"[B0-----:R-:W1:Y:S04]", {4, 1, 1, 7, 1}},
                {"[B-1--45:R3:W-:-:S15]", {15, 0, 7, 3, 0x32}},
                {"[B012345:R5:W0:Y:S10]", {10, 1, 0, 5, 0x3f}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[ASM_CONTROL_BYTES];
        Control c;
        const char *p = rows[i].text;
        asm_print_control(rows[i].c, out);
        assert_string_equal(out, rows[i].text);
        assert_true(asm_parse_control(&p, &c));
        assert_int_equal(*p, 0);
        assert_int_equal(c.stall_cycles, rows[i].c.stall_cycles);
        assert_int_equal(c.yield, rows[i].c.yield);
        assert_int_equal(c.write_sb, rows[i].c.write_sb);
        assert_int_equal(c.read_sb, rows[i].c.read_sb);
        assert_int_equal(c.wait_mask, rows[i].c.wait_mask);
    }
    static const char *const bad[] = {"",
                                      "[",
                                      "[B-----:R-:W-:-:S01]",
                                      "[B1-----:R-:W-:-:S01]",
                                      "[B------:R6:W-:-:S01]",
                                      "[B------:R-:W-:-:S16]",
                                      "[B------:R-:W-:x:S01]",
                                      "[B------:R-:W-:-:S1]  "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Control c;
        const char *p = bad[i];
        assert_false(asm_parse_control(&p, &c));
        assert_ptr_equal(p, bad[i]);
    }
}

static void expect_error(const char *text, const char *wanted) {
    Messages m = {0};
    void *image = NULL;
    size_t size;
    if (assemble_text(text, &image, &size, &m)) {
        free(image);
        fail_msg("accepted: %s", text);
    }
    if (!strstr(m.text, wanted))
        fail_msg("expected '%s', got: %s", wanted, m.text);
}

static void test_errors(void **state) {
    (void)state;
    expect_error("", "E0413");
    expect_error(".target nothing\n",
                 "test.sass:1:9: error E0357: unknown target nothing, there are bru1, sm_75");
    expect_error(".entry k\n", "test.sass:1:8: error E0350");
    expect_error(".target bru1\n  EXIT ;\n", "test.sass:2:3: error E0350");
    expect_error(".target bru1\n.entry k\n  FROB R1 ;\n  EXIT ;\n", "test.sass:3:");
    expect_error(".target sm_80\n.entry k\nx:\n  BSSY.RELIABLE B0, `(x) ;\n  EXIT ;\n",
                 "this target has no such modifier");
    expect_error(".target bru1\n.entry k\n  EXIT ; EXIT ;\n", "error E0350: expected the end of the line");
    expect_error(".target bru1\n.entry k\n.nonsense 1\n", "test.sass:3:1: error E0351");
    expect_error(".target bru1\n.entry k\nx:\nx:\n EXIT ;\n", "test.sass:4:1: error E0353");
    expect_error(".target bru1\n.entry k\n EXIT ;\n.entry k\n EXIT ;\n", "error E0353");
    expect_error(".target bru1\n.entry k\n.shared 99999999\n EXIT ;\n", "error E0352");
    expect_error(".target bru1\n.entry k\n BRA `(nowhere) ;\n EXIT ;\n", "test.sass:3:");
    expect_error(".target bru1\n.entry k\n", "has no instruction");
    expect_error(".target bru1\n.entry k\n [B------:R9:W-:-:S01] EXIT ;\n", "test.sass:3:2: error E0350");
}

static void test_file_form_errors(void **state) {
    (void)state;
    expect_error("\t.__elf_ident 0\n", "expected a comma");
    expect_error("\t.__elf_machine 99999\n", "error E0352");
    expect_error("\t.__elf_machine 1\n\t.byte 1\n", "error E0351");
    expect_error("\t.__elf_machine 1\n\t.section \"\"\n\t.section \"a\"\n\t.string \"x\n", "a closing quote");
    expect_error("\t.__elf_machine 1\n\t.section \"\"\n\t.section \"a\"\n\t.byte 256\n", "error E0352");
    expect_error("\t.__elf_machine 1\n\t.section \"\"\n", "error E0356");
    expect_error(
        "\t.__elf_machine 1\n\t.__elf_shstrndx 1\n\t.section \"\"\n\t.section \"a\"\n\t.__section_type 3\n"
        "\t.__section_name 0\n\t.string \"b\"\n",
        "not the place of its name");
    expect_error(
        "\t.__elf_machine 1\n\t.section \"\"\n\t.section \"a\"\n\t.zero 0x3000000\n\t.zero 0x3000000\n",
        "64 MiB of .zero");
    static const char *const places[] = {".__elf_shoff 0xffffffffffffffc0", ".__elf_shoff 0x7fffffffffff",
                                         ".__section_offset 0x10000001"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "\t.__elf_machine 1\n\t.__elf_shstrndx 1\n\t.section \"\"\n\t.section \"a\"\n"
                 "\t.__section_name 1\n\t.__section_type 3\n\t.string \"\"\n\t.string \"a\"\n\t%s\n",
                 places[i]);
        expect_error(text, "an offset beyond 256 MiB");
    }
    expect_error("\t.__elf_machine 1\n\t.__elf_shstrndx 1\n\t.section \"\"\n\t.section \"a\"\n"
                 "\t.__section_name 1\n\t.__section_type 3\n\t.__section_size 16\n\t.__section_entsize 8\n"
                 "\t.string \"\"\n\t.string \"a\"\n\t.word 1\n\t.word 2\n",
                 "test.sass:4:10: error E0356: section a: 11 bytes are no whole number of entries of 8");
    expect_error("\t.__elf_machine 1\n\t.section \"\"\n\t.section \"a\"\n\t.__attr4 EIATTR_WRONG, 1\n",
                 "attribute");
}

/* Stall counts that nvdisasm 13.0 refuses a file for; our own machine has them. */
static void test_control_of_target(void **state) {
    (void)state;
    static const char *const none[] = {"[B------:R-:W-:-:S00] NOP", "[B------:R-:W-:-:S12] NOP",
                                       "[B------:R-:W-:-:S15] NOP",
                                       "[B------:R-:W-:Y:S00] IADD3 R0, R1.reuse, R2, R3"};
    static const char *const some[] = {"[B------:R-:W-:-:S01] NOP",
                                       "[B------:R-:W-:-:S11] NOP",
                                       "[B------:R-:W-:Y:S00] NOP",
                                       "[B------:R-:W-:Y:S15] NOP",
                                       "[B------:R-:W-:-:S01] IADD3 R0, R1.reuse, R2, R3",
                                       "NOP",
                                       "IADD3 R0, R1.reuse, R2, R3"};
    char text[200];
    for (size_t i = 0; i < sizeof none / sizeof *none + sizeof some / sizeof *some; i++) {
        bool good = i >= sizeof none / sizeof *none;
        const char *line = good ? some[i - sizeof none / sizeof *none] : none[i];
        snprintf(text, sizeof text, ".target sm_90\n.entry k\n %s ;\n EXIT ;\n", line);
        if (!good)
            expect_error(text, "test.sass:3:2: error E0354: without Y the stall count is 1 to 11");
        memcpy(text, good ? text : ".target bru1 ", 13);
        Messages m = {0};
        void *image = NULL;
        size_t size;
        if (!assemble_text(text, &image, &size, &m))
            fail_msg("%s: %s", text, m.text);
        free(image);
    }
}

/* Comments and blank lines change nothing, nor does it matter what shares a line with a label. */
static void test_comments(void **state) {
    (void)state;
    Messages m = {0};
    void *a, *b;
    size_t na, nb;
    assert_true(assemble_text(".target bru1\n.entry k\n EXIT ;\n", &a, &na, &m));
    assert_true(
        assemble_text("/* x\n .entry z */ .target bru1 // y\n\n\t.entry k/**/\r\n(* . *) /*00*/ x: y: EXIT "
                      "(*\"ELSE\"*)/*;*/; // ;\n",
                      &b, &nb, &m));
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    free(a);
    free(b);
}

/* ---- jump tables ---- */

static const char table_sass[] = ".target bru1\n"
                                 ".entry k\n"
                                 ".branchtable A, B, A\n"
                                 "  LDC R2, c[0x2][R1] ;\n"                         /* 00 */
                                 "  BRX R2, -0x20 (*\"BRANCH_TARGETS A,B,A\"*) ;\n" /* 10 */
                                 "B:\n"
                                 "  NOP ;\n" /* 20 */
                                 "A:\n"
                                 "  EXIT ;\n"                                  /* 30 */
                                 "  BRX R2, 0x0 (*\"BRANCH_TARGETS B\"*) ;\n"; /* 40 */

static void test_tables(void **state) {
    (void)state;
    Messages m = {0};
    Diags d = {.sink = collect, .user = &m};
    void *image;
    size_t size;
    assert_true(assemble_text(table_sass, &image, &size, &m));
    Binary *b = binary_read("t.cubin", image, size, &d);
    assert_non_null(b);
    const BinFunc *f = binary_find(b, "k");
    assert_int_equal(f->const_bank2_bytes, 12);
    static const uint8_t bank[12] = {0x30, 0, 0, 0, 0x20, 0, 0, 0, 0x30};
    assert_memory_equal(f->const_bank2, bank, sizeof bank);
    assert_int_equal(f->ntables, 2);
    assert_int_equal(f->tables[0].pc_bytes, 0x10);
    assert_int_equal(f->tables[0].ntargets, 2); /* without the repeat */
    assert_int_equal(f->tables[0].targets[0], 0x30);
    assert_int_equal(f->tables[0].targets[1], 0x20);
    assert_int_equal(f->tables[1].pc_bytes, 0x40);
    assert_int_equal(f->tables[1].targets[0], 0x20);
    binary_free(b);
    expect_error(".target bru1\n.entry k\n.branchtable X\n EXIT ;\n", "test.sass:3:14: error E0355");
    expect_error(".target bru1\n.entry k\n BRX R2, 0x0 (*\"BRANCH_TARGETS X\"*) ;\n",
                 "test.sass:3:14: error E0355");
    expect_error(".target bru1\n.entry k\n BRX R2, 0x0 (*\"BRANCH_TARGETS\" ;\n", "error E0350: expected *)");
    /* the record {0x10, 0, 3, 0x30, 0x20, 0x30} with one word after the other wrong */
    static const uint32_t record[] = {0x10, 0, 3, 0x30, 0x20, 0x30};
    uint8_t *at = memmem(image, size, record, sizeof record);
    assert_non_null(at);
    static const struct {
        unsigned word;
        uint32_t value;
        const char *message;
    } wrong[] = {{0, 0x18, "the indirect branch is outside"}, {0, 0x40, "two lists of targets"},
                 {0, 0xfffffff0, "outside the function"},     {2, 99, "longer than the record"},
                 {2, 0xffffffff, "longer than the record"},   {4, 0x10000, "target is outside the function"},
                 {4, 0x21, "target is outside the function"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        m = (Messages){0};
        memcpy(at + 4 * wrong[k].word, &wrong[k].value, 4);
        assert_null(binary_read("t.cubin", image, size, &d));
        if (!strstr(m.text, wrong[k].message) || !strstr(m.text, "E0408"))
            fail_msg("expected '%s', got: %s", wrong[k].message, m.text);
        memcpy(at, record, sizeof record);
    }
    free(image);
}

/* Any text is accepted or refused with a message. */
static void damage_text(const char *text, size_t size, int rounds) {
    char *copy = malloc(size + 1);
    static const char alphabet[] = "\"\\\n;,:[]()`.@/*-0x9RPUB{}\xff";
    uint32_t x = 99;
    for (int round = 0; round < rounds; round++) {
        memcpy(copy, text, size);
        copy[size] = 0;
        for (int k = 0; k < 1 + round % 5; k++) {
            x = x * 1664525 + 1013904223;
            copy[(x >> 8) % size] = alphabet[x % (sizeof alphabet - 1)];
        }
        size_t n = round % 7 == 0 ? (x >> 8) % size : size; /* some are cut short */
        copy[n] = 0;
        Messages m = {0};
        Diags d = {.sink = collect, .user = &m};
        Source s = {"damaged.sass", copy, n};
        void *image = NULL;
        size_t image_size;
        if (asm_assemble(&s, &image, &image_size, &d))
            free(image);
        else
            assert_int_not_equal(d.nerrors, 0);
    }
    free(copy);
}

static void test_damaged_text(void **state) {
    (void)state;
    size_t size, text_size;
    void *image = add_image(&size);
    char *text;
    Diags d = {0};
    damage_text(add_sass, sizeof add_sass - 1, 4000);
    assert_true(disasm_image("add.cubin", image, size, false, &text, &text_size, &d));
    damage_text(text, text_size, 1500);
    damage_text(table_sass, sizeof table_sass - 1, 2000);
    free(text);
    free(image);
}

/* What the disassembler prints of a word that is no instruction reads in the short form, too; the same words
 * as the instructions give the same file. */
static void test_words(void **state) {
    (void)state;
    Messages m = {0};
    Diags d = {.sink = collect, .user = &m};
    void *image, *twin;
    size_t size, twin_size;
    char text[256];
    assert_true(
        assemble_text(".target sm_80\n.entry k\n  MOV R7, 0x5 ;\nL:\n  BRA `(L) ;\n", &image, &size, &m));
    Binary *b = binary_read("t.cubin", image, size, &d);
    assert_non_null(b);
    snprintf(text, sizeof text,
             ".target sm_80\n.entry k\n  .dword 0x%016llx, 0x%016llx // MOV\nL:\n  BRA `(L) ;\n",
             (unsigned long long)b->code[0][0], (unsigned long long)b->code[0][1]);
    binary_free(b);
    assert_true(assemble_text(text, &twin, &twin_size, &m)); /* L lies behind the word */
    assert_int_equal(size, twin_size);
    assert_memory_equal(image, twin, size);
    free(image);
    free(twin);
    assert_true(
        assemble_text(".target bru1\n.entry k\n .dword 0xffffffffffffffff, 18446744073709551615\n EXIT ;\n",
                      &image, &size, &m));
    b = binary_read("t.cubin", image, size, &d);
    assert_non_null(b);
    assert_true(b->code[0][0] == UINT64_MAX && b->code[0][1] == UINT64_MAX);
    binary_free(b);
    free(image);
    expect_error(".target bru1\n.entry k\n .dword 1\n", "test.sass:3:10: error E0350");
    expect_error(".target bru1\n.entry k\n .dword 1, 2, 3\n", "error E0350");
    expect_error(".target bru1\n .dword 1, 2\n", "error E0351");
}

/* A float by its bits, as PTX writes them: the same word as the number. */
static void test_float_bits(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"FADD R1, R2, 1", "FADD R1, R2, 0F3f800000"},
                                           {"FADD R1, R2, 0x7fc12345", "FADD R1, R2, 0F7fc12345"},
                                           {"MOV R1, 0x3f800000", "MOV R1, 0F3f800000"},
                                           {"HADD2 R1, R2, 1, 2", "HADD2 R1, R2, 0F3c00, 0F4000"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        void *images[2];
        size_t sizes[2];
        for (unsigned k = 0; k < 2; k++) {
            char text[200];
            Messages m = {0};
            snprintf(text, sizeof text, ".target sm_80\n.entry k\n %s ;\n EXIT ;\n", pairs[i][k]);
            if (!assemble_text(text, &images[k], &sizes[k], &m))
                fail_msg("%s", m.text);
        }
        assert_int_equal(sizes[0], sizes[1]);
        assert_memory_equal(images[0], images[1], sizes[0]);
        free(images[0]);
        free(images[1]);
    }
    expect_error(".target sm_80\n.entry k\n FADD R1, R2, 0F3f8000 ;\n", "test.sass:3:");
}

/* Bits behind a NaN's name are those of such a NaN, in the operand's width. */
static void other_nans(void **state) {
    (void)state;
    static const char *const lines[] = {
        "FADD R0, R1, +QNAN(0x3f800000)",       "FADD R0, R1, +QNAN(0xffc00001)",
        "FADD R0, R1, +SNAN(0x7fc00001)",       "FADD R0, R1, +SNAN(0x7f800000)",
        "FADD R0, R1, +QNAN(0x1ffc00001)",      "FADD R0, R1, +QNAN(12)",
        "HADD2 R0, R1, +QNAN(0x12347e01), 1.0", "HADD2 R0, R1, -QNAN(0xfc01), 1.0"};
    char text[200];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(text, sizeof text, ".target sm_80\n.entry k\n %s ;\n EXIT ;\n", lines[i]);
        expect_error(text, "error E0354: expected the bits of such a NaN");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_nans),
                                       cmocka_unit_test(test_control),
                                       cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_file_form_errors),
                                       cmocka_unit_test(test_control_of_target),
                                       cmocka_unit_test(test_comments),
                                       cmocka_unit_test(test_tables),
                                       cmocka_unit_test(test_damaged_text),
                                       cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_float_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
