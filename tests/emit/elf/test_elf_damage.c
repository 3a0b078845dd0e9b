/* Damaged files: every byte changed, every truncation, random combinations. The reader and the disassembler
 * must give a binary or an error with a position, never crash (the sanitizer build shows more), never hang.
 * SPDX-License-Identifier: MIT */
#include "common.h"
#include "emit/elf/image.h"

static bool read_one(const void *image, size_t size, Messages *m) {
    Diags d = {.sink = collect, .user = m};
    Binary *b = binary_read("damaged", image, size, &d);
    if (!b) {
        assert_int_not_equal(d.nerrors, 0);
        return false;
    }
    assert_int_equal(d.nerrors, 0);
    binary_free(b);
    return true;
}

static void test_truncated(void **state) {
    (void)state;
    size_t size;
    uint8_t *image = add_image(&size);
    for (size_t n = 0; n < size; n++) {
        uint8_t *part = malloc(n ? n : 1); /* its own block, so that reading past it is seen */
        Messages m = {0};
        memcpy(part, image, n);
        assert_false(read_one(part, n, &m));
        assert_non_null(strstr(m.text, "error E04"));
        free(part);
    }
    free(image);
}

static void test_every_byte(void **state) {
    (void)state;
    static const uint8_t change[] = {0x01, 0x80, 0xff};
    size_t size, refused = 0;
    uint8_t *image = add_image(&size);
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < sizeof change; k++) {
            Messages m = {0};
            image[i] ^= change[k];
            if (!read_one(image, size, &m)) {
                refused++;
                assert_non_null(strstr(m.text, "damaged:0x")); /* says where */
            }
            image[i] ^= change[k];
        }
    assert_true(refused > 500);
    free(image);
}

static void test_random(void **state) {
    (void)state;
    size_t size;
    uint8_t *image = add_image(&size), *copy = malloc(size);
    uint32_t x = 1;
    for (int round = 0; round < 3000; round++) {
        memcpy(copy, image, size);
        for (int k = 0; k < 1 + round % 8; k++) {
            x = x * 1664525 + 1013904223;
            copy[x % size] = (uint8_t)(x >> 24);
        }
        Messages m = {0};
        Diags d = {.sink = collect, .user = &m};
        char *text = NULL;
        size_t text_size;
        read_one(copy, size, &m);
        if (disasm_image("damaged", copy, size, false, &text, &text_size, &d)) {
            Source s = {"damaged.sass", text, text_size};
            void *again;
            size_t again_size;
            if (asm_assemble(&s, &again, &again_size,
                             &d)) { /* a file that can be shown comes back as it was */
                assert_int_equal(again_size, size);
                assert_memory_equal(again, copy, size);
                free(again);
            }
            free(text);
        }
    }
    free(copy);
    free(image);
}

typedef struct {
    const char *name;
    size_t offset, size_bytes; /* of the header field */
    uint64_t value;
    const char *code;
} Damage;

static void test_header_fields(void **state) {
    (void)state;
    static const Damage damages[] = {
        {"class", EI_CLASS, 1, 1, "E0401"},
        {"byte order", EI_DATA, 1, 2, "E0401"},
        {"machine", offsetof(Elf64_Ehdr, e_machine), 2, 62, "E0403"},
        {"flags", offsetof(Elf64_Ehdr, e_flags), 4, 77, "E0403"},
        {"section headers", offsetof(Elf64_Ehdr, e_shoff), 8, 1u << 30, "E0402"},
        {"section headers", offsetof(Elf64_Ehdr, e_shoff), 8, UINT64_MAX - 63, "E0402"},
        {"number of sections", offsetof(Elf64_Ehdr, e_shnum), 2, 0xfe00, "E0402"},
        {"name table", offsetof(Elf64_Ehdr, e_shstrndx), 2, 200, "E0401"},
        {"program headers", offsetof(Elf64_Ehdr, e_phoff), 8, 64, "E0404"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        size_t size;
        uint8_t *image = add_image(&size);
        for (size_t k = 0; k < damages[i].size_bytes; k++)
            image[damages[i].offset + k] = (uint8_t)(damages[i].value >> (8 * k));
        Messages m = {0};
        assert_false(read_one(image, size, &m));
        if (!strstr(m.text, damages[i].code))
            fail_msg("%s: expected %s, got %s", damages[i].name, damages[i].code, m.text);
        free(image);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_truncated), cmocka_unit_test(test_every_byte),
                                       cmocka_unit_test(test_random), cmocka_unit_test(test_header_fields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
