/* What the reader finds in a hand-written file, and that disassembly and assembly are inverse. Expected
 * values are read off the text in common.h and the format description, not taken from the writer.
 * SPDX-License-Identifier: MIT */
#include "common.h"
#include "emit/elf/image.h"
#include "emit/elf/nvinfo.h"
#include <stdio.h>

static Binary *load(void) {
    size_t size;
    void *image = add_image(&size);
    Messages m = {0};
    Diags d = {.sink = collect, .user = &m};
    Binary *b = binary_read("add.cubin", image, size, &d);
    free(image);
    if (!b)
        fail_msg("%s", m.text);
    return b;
}

static void test_functions(void **state) {
    (void)state;
    Binary *binary = load();
    assert_string_equal(isa_target_name(binary->target), "bru1");
    assert_int_equal(binary->nfuncs, 2);
    const BinFunc *add = binary_find(binary, "add"), *twice = binary_find(binary, "twice");
    assert_non_null(add);
    assert_non_null(twice);
    assert_true(add->is_entry);
    assert_false(twice->is_entry);
    assert_int_equal(add->ninsts, 12);
    assert_int_equal(twice->ninsts, 2);
    assert_int_equal(add->nregs, 31 + 2);   /* R30 */
    assert_int_equal(twice->nregs, 22 + 2); /* R20:R21 */
    assert_int_equal(add->nbarriers, 3);
    assert_int_equal(add->shared_bytes, 32);
    assert_int_equal(add->param_base, 0x160);
    assert_int_equal(add->param_bytes, 12);
    assert_int_equal(add->const_bank0_bytes, 0x160 + 12);
    assert_int_equal(add->nparams, 2);
    assert_int_equal(add->params[0].offset_bytes, 0);
    assert_int_equal(add->params[0].size_bytes, 8);
    assert_int_equal(add->params[1].offset_bytes, 8);
    assert_int_equal(add->params[1].size_bytes, 4);
    assert_ptr_equal(binary_func_at(binary, add->address), add);
    assert_ptr_equal(binary_func_at(binary, twice->address + 16), twice);
    assert_null(binary_func_at(binary, twice->address + 32));
    assert_null(binary_find(binary, "none"));
    binary_free(binary);
}

static void test_variable(void **state) {
    (void)state;
    Binary *binary = load();
    assert_int_equal(binary->nvars, 1);
    assert_string_equal(binary->vars[0].name, "seen");
    assert_int_equal(binary->vars[0].size_bytes, 64);
    assert_int_equal(binary->vars[0].space, 0);
    assert_null(binary->vars[0].init);
    binary_free(binary);
}

/* After loading, the call's distance leads to the function, whatever was in the file. */
static void test_call_is_linked(void **state) {
    (void)state;
    Binary *binary = load();
    const BinFunc *add = binary_find(binary, "add"), *twice = binary_find(binary, "twice");
    uint64_t pc = add->address + 0x60;
    MachInst in;
    char error[ISA_ERROR_BYTES];
    assert_true(isa_decode(binary->target, binary->code[(pc - binary->code_base) / 16], &in, error));
    assert_int_equal(in.optype, OT_CALL);
    assert_int_equal(pc + 16 + (uint64_t)in.wide, twice->address);
    binary_free(binary);
}

static const NvAttr *find_attr(const ElfImage *image, const char *section, unsigned code, NvAttr *attr) {
    const ElfSection *elf_section = &image->sections.at[elf_image_find(image, section)];
    size_t pos = 0;
    while (elf_nvinfo_next(elf_section->data, elf_section->h.sh_size, &pos, attr))
        if (attr->code == code)
            return attr;
    return NULL;
}

static void test_attributes(void **state) {
    (void)state;
    size_t size;
    void *image = add_image(&size);
    Arena a = {0};
    Diags d = {0};
    ElfImage *e = elf_image_read(&a, image, size, &d);
    NvAttr n;
    assert_non_null(e);
    assert_non_null(find_attr(e, ".nv.info.add", NV_EXIT_INSTR_OFFSETS, &n));
    assert_int_equal(n.size_bytes, 8); /* @P0 EXIT counts */
    assert_int_equal(get_u32(n.data), 0x30);
    assert_int_equal(get_u32(n.data + 4), 0xb0);
    assert_non_null(find_attr(e, ".nv.info.add", NV_CRS_STACK_SIZE, &n));
    assert_non_null(find_attr(e, ".nv.info.add", NV_CTAIDZ_USED, &n));
    assert_null(find_attr(e, ".nv.info.twice", NV_CTAIDZ_USED, &n));
    assert_non_null(find_attr(e, ".nv.info.add", NV_KPARAM_INFO, &n));
    assert_int_equal(get_u32(n.data + 8), 0x0011f000); /* last parameter first: 4 bytes */
    assert_non_null(find_attr(e, ".nv.info.add", NV_NUM_BARRIERS, &n));
    assert_int_equal(n.value, 3);
    arena_free(&a);
    free(image);
}

static void test_round_trip(void **state) {
    (void)state;
    size_t size, text_size, again_size;
    void *image = add_image(&size), *again;
    char *text;
    Messages m = {0};
    Diags d = {.sink = collect, .user = &m};
    assert_true(disasm_image("add.cubin", image, size, false, &text, &text_size, &d));
    assert_int_equal(m.n, 0); /* no W0420: every word has text that assembles to it */
    assert_non_null(strstr(text, "BSSY B0, `(.L_9_0070)"));
    assert_non_null(strstr(text, "[B0-----:R-:W-:-:S13]"));
    Source s = {"add.sass", text, text_size};
    assert_true(asm_assemble(&s, &again, &again_size, &d));
    assert_int_equal(again_size, size);
    assert_memory_equal(again, image, size);
    free(text);
    free(again);
    free(image);
}

/* Headers that make no sense but hurt nobody keep their bytes: a program header whose end lies before its
 * start, an entry size that does not divide the section. */
static void test_odd_headers(void **state) {
    (void)state;
    size_t size, text_size, again_size;
    uint8_t *image = add_image(&size);
    void *again;
    char *text;
    Messages m = {0};
    Diags d = {.sink = collect, .user = &m};
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    assert_true(header.e_phnum > 0);
    memset(image + header.e_phoff + (header.e_phnum - 1u) * sizeof(Elf64_Phdr), 0xff, sizeof(Elf64_Phdr));
    image[header.e_shoff + 1 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_entsize) + 4] = 8;
    if (!disasm_image("odd.cubin", image, size, false, &text, &text_size, &d))
        fail_msg("%s", m.text);
    Source s = {"odd.sass", text, text_size};
    if (!asm_assemble(&s, &again, &again_size, &d))
        fail_msg("%s", m.text);
    assert_int_equal(again_size, size);
    assert_memory_equal(again, image, size);
    free(text);
    free(again);
    free(image);
}

/* The text with `from` replaced by `to`, assembled; NULL with messages where it is refused. */
static Binary *edited(const char *text, const char *from, const char *to, Messages *messages) {
    const char *place = strstr(text, from);
    assert_non_null(place);
    size_t size, head = (size_t)(place - text);
    char *changed = malloc(strlen(text) + strlen(to) + 1);
    memcpy(changed, text, head);
    strcpy(changed + head, to);
    strcat(changed, place + strlen(from));
    Source source = {"add.sass", changed, strlen(changed)};
    Diags diags = {.source = &source, .sink = collect, .user = messages};
    void *image = NULL;
    Binary *binary =
        asm_assemble(&source, &image, &size, &diags) ? binary_read("edited", image, size, &diags) : NULL;
    free(image);
    free(changed);
    return binary;
}

/* Another instruction in the place of one is taken; code that moves is refused, with relocations, records,
 * symbols and the map naming places in it; data that grows moves the rest of the file. */
static void test_edited_text(void **state) {
    (void)state;
    size_t size, text_size;
    void *image = add_image(&size);
    char *text;
    Messages messages = {0};
    Diags d = {.sink = collect, .user = &messages};
    assert_true(disasm_image("add.cubin", image, size, false, &text, &text_size, &d));
    const char *pad = "      NOP ;\n", *nop = "    [B------:R-:W-:-:S01] NOP ;\n";
    char *line = strstr(text, "    [B------:R-:W"), inserted[200], removed[200];
    int n = (int)(strchr(line, '\n') + 1 - line);
    snprintf(removed, sizeof removed, "%.*s", n, line);
    snprintf(inserted, sizeof inserted, "%s%.*s", nop, n, line);
    Binary *binary = edited(text, pad, "      EXIT ;\n", &messages);
    if (!binary)
        fail_msg("%s", messages.text);
    assert_int_equal(binary->vars[0].size_bytes, 64);
    binary_free(binary);
    assert_null(edited(text, removed, inserted, &messages)); /* what follows is not where it says */
    assert_non_null(strstr(messages.text, "E0358"));
    assert_non_null(strstr(messages.text, "is at 0x10 now"));
    messages = (Messages){0};
    assert_null(edited(text, removed, "", &messages));
    assert_non_null(strstr(messages.text, "E0358"));
    messages = (Messages){0};
    char *section = strstr(text, ".text.twice\""), *end = strstr(section, "\n\n"), whole[200];
    while (end[-1] != '\n')
        end--;
    snprintf(whole, sizeof whole, "%.*s", (int)(strchr(end, '\n') + 1 - end), end);
    char *last = malloc(strlen(whole) + strlen(nop) + 1);
    sprintf(last, "%s%s", whole, nop);
    assert_null(
        edited(text, whole, last, &messages)); /* nothing moved, but the section is longer than it says */
    assert_non_null(strstr(messages.text, "E0358"));
    messages = (Messages){0};
    free(last);
    const char *next = "\n//\t--------------------- section 2";
    binary =
        edited(text, next, "\t.string \"a name more\"\n\n//\t--------------------- section 2", &messages);
    if (!binary)
        fail_msg("%s", messages.text);
    assert_int_equal(binary->vars[0].size_bytes, 64);
    assert_int_equal(binary_find(binary, "twice")->ninsts, 2);
    binary_free(binary);
    free(text);
    free(image);
}

static void test_json(void **state) {
    (void)state;
    size_t size, text_size;
    void *image = add_image(&size);
    char *text;
    Diags d = {0};
    assert_true(disasm_image("add.cubin", image, size, true, &text, &text_size, &d));
    assert_non_null(strstr(text, "\"target\":\t\"bru1\""));
    assert_non_null(strstr(text, "EIATTR_EXIT_INSTR_OFFSETS"));
    assert_non_null(strstr(text, "EXIT"));
    free(text);
    free(image);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),      cmocka_unit_test(test_variable),
        cmocka_unit_test(test_call_is_linked), cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_odd_headers),
        cmocka_unit_test(test_edited_text),    cmocka_unit_test(test_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
