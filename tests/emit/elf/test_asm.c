/* Assembly text: control prefix, statements, errors with their position.
 * SPDX-License-Identifier: MIT */
#include "common.h"

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
    expect_error(".target nothing\n", "test.sass:1:9: error E0357");
    expect_error(".entry k\n", "test.sass:1:8: error E0350");
    expect_error(".target bru1\n  EXIT ;\n", "test.sass:2:3: error E0350");
    expect_error(".target bru1\n.entry k\n  FROB R1 ;\n  EXIT ;\n", "test.sass:3:");
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
        "\t.string \"b\"\n",
        "not the place of its name");
    expect_error("\t.__elf_machine 1\n\t.section \"\"\n\t.section \"a\"\n\t.__attr4 EIATTR_WRONG, 1\n",
                 "attribute");
}

/* Comments and blank lines change nothing. */
static void test_comments(void **state) {
    (void)state;
    Messages m = {0};
    void *a, *b;
    size_t na, nb;
    assert_true(assemble_text(".target bru1\n.entry k\n EXIT ;\n", &a, &na, &m));
    assert_true(assemble_text(
        "/* x\n .entry z */ .target bru1 // y\n\n\t.entry k/**/\r\n /*00*/ EXIT /*;*/; // ;\n", &b, &nb, &m));
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    free(a);
    free(b);
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
        if (assemble(&s, &image, &image_size, &d))
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
    free(text);
    free(image);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_control), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_file_form_errors),
                                       cmocka_unit_test(test_comments), cmocka_unit_test(test_damaged_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
