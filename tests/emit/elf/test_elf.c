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

static Binary *read_with(const char *text, const char *from, const char *to, Messages *messages) {
    *messages = (Messages){0};
    Binary *binary = edited(text, from, to, messages);
    if (!binary)
        fail_msg("%s", messages->text);
    return binary;
}

static char *line_with(const char *text, const char *what, char *line, size_t size) {
    const char *at = strstr(text, what);
    assert_non_null(at);
    while (at > text && at[-1] != '\n')
        at--;
    snprintf(line, size, "%.*s", (int)(strchr(at, '\n') + 1 - at), at);
    return line;
}

/* add is 0x00 to 0xb0: MOV, S2R, ISETP, @P0 EXIT, BSSY, LEPC, CALL, BSYNC, BRA, NOP, S2R, EXIT. An
 * instruction more in front moves everything that names a place: labels, exits, the relocation of the call,
 * the symbol's size. */
static void test_inserted(void **state) {
    (void)state;
    size_t size, text_size;
    void *image = add_image(&size);
    char *text, line[200], more[300];
    Messages messages;
    Diags d = {.sink = collect, .user = &messages};
    assert_true(disasm_image("add.cubin", image, size, false, &text, &text_size, &d));
    line_with(text, "MOV R1, c[0x0][0x28]", line, sizeof line);
    snprintf(more, sizeof more, "%s    [B------:R-:W-:-:S01] NOP ;\n", line);
    Binary *binary = read_with(text, line, more, &messages);
    const BinFunc *f = binary_find(binary, "add");
    const uint64_t(*code)[2] =
        (const uint64_t(*)[2])binary->code + (f->address - binary->code_base) / INST_BYTES;
    assert_int_equal(f->ninsts, 13);
    assert_int_equal(f->nexits, 2);
    assert_int_equal(f->exits[0], 0x40);
    assert_int_equal(f->exits[1], 0xc0);
    static const struct {
        unsigned at;
        uint64_t to;
    } jumps[] = {{5, 0x80}, {6, 0x90}, {9, 0xb0}}; /* BSSY, LEPC (which counts from itself), BRA */
    for (unsigned i = 0; i < 3; i++) {
        MachInst in;
        char error[ISA_ERROR_BYTES];
        assert_true(isa_decode(binary->target, code[jumps[i].at], &in, error));
        assert_int_equal(jumps[i].at * INST_BYTES + INST_BYTES + (uint64_t)in.wide, jumps[i].to);
    }
    MachInst call;
    char error[ISA_ERROR_BYTES];
    assert_true(isa_decode(binary->target, code[7], &call, error));
    assert_int_equal(call.optype, OT_CALL);
    assert_int_equal(f->address + 0x80 + (uint64_t)call.wide, binary_find(binary, "twice")->address);
    binary_free(binary);
    free(text);
    free(image);
}

/* Registers, named barriers and %ctaid.z that only the edited code uses are in the records. */
static void test_needs_more(void **state) {
    (void)state;
    size_t size, text_size;
    void *image = add_image(&size);
    char *text, line[200];
    Messages messages = {0};
    Diags d = {.sink = collect, .user = &messages};
    assert_true(disasm_image("add.cubin", image, size, false, &text, &text_size, &d));
    line_with(text, "      NOP ;", line, sizeof line);
    uint32_t reserved = isa_target_info(isa_target("bru1"))->reserved_regs;
    Binary *binary = read_with(text, line, "    [B------:R-:W-:-:S01] MOV R100, 0x1 ;\n", &messages);
    assert_int_equal(binary_find(binary, "add")->nregs, 101 + reserved);
    binary_free(binary);
    binary = read_with(text, line, "    [B------:R-:W-:-:S01] BAR.SYNC 0x6 ;\n", &messages);
    assert_int_equal(binary_find(binary, "add")->nbarriers, 7);
    binary_free(binary);
    /* the kernel, too, when it is the function that it calls */
    line_with(text, "IADD3 R4, R4, R4, RZ", line, sizeof line);
    binary = read_with(text, line, "    [B------:R-:W0:-:S01] S2R R60, SR_CTAID.Z ;\n", &messages);
    assert_int_equal(binary_find(binary, "twice")->nregs, 61 + reserved);
    assert_int_equal(binary_find(binary, "add")->nregs, 61 + reserved);
    assert_true(binary_find(binary, "twice")->uses_ctaid_z);
    binary_free(binary);
    free(text);
    free(image);
}

/* What cannot follow is said at its line. */
static void test_refused(void **state) {
    (void)state;
    size_t size, text_size;
    void *image = add_image(&size);
    char *text, line[200], changed[300];
    Messages messages = {0};
    Diags d = {.sink = collect, .user = &messages};
    assert_true(disasm_image("add.cubin", image, size, false, &text, &text_size, &d));
    line_with(text, "CALL.REL", line, sizeof line); /* its relocation names it */
    assert_null(edited(text, line, "", &messages));
    assert_non_null(strstr(messages.text, "error E0355: unknown label or function .I_"));
    messages = (Messages){0};
    line_with(text, "      NOP ;", line, sizeof line);
    assert_null(edited(text, line, "    [B------:R-:W-:-:S01] MOV R254, 0x1 ;\n", &messages));
    assert_non_null(strstr(messages.text, "registers"));
    messages = (Messages){0};
    assert_null(edited(text, line, "    MOV R2, 0x1 ;\n", &messages));
    assert_non_null(strstr(messages.text, "a control field before the instruction"));
    messages = (Messages){0};
    line_with(text, "EIATTR_EXIT_INSTR_OFFSETS", line, sizeof line);
    Binary *binary = read_with(text, line, "\t.__attr4\tEIATTR_EXIT_INSTR_OFFSETS, 0x30, 0xb0\n", &messages);
    binary_free(binary); /* numbers are right as long as nothing moves */
    char *with_nop = malloc(text_size + 300);
    line_with(text, "MOV R1, c[0x0][0x28]", changed, sizeof changed);
    const char *at = strstr(text, changed);
    sprintf(with_nop, "%.*s%s    [B------:R-:W-:-:S01] NOP ;\n%s", (int)(at - text), text, changed,
            at + strlen(changed));
    assert_null(edited(with_nop, line, "\t.__attr4\tEIATTR_EXIT_INSTR_OFFSETS, 0x30, 0xb0\n", &messages));
    assert_non_null(strstr(messages.text, "error E0358: the number 0x30 is a place in .text.add"));
    free(with_nop);
    messages = (Messages){0};
    line_with(text, "EIATTR_REGCOUNT, index@(add)", line, sizeof line);
    assert_null(edited(text, line, "\t.__attr4\tEIATTR_REGCOUNT, index@(nobody), 0x1\n", &messages));
    assert_non_null(strstr(messages.text, "error E0359: no symbol nobody"));
    free(text);
    free(image);
}

/* Data that grows moves the rest of the file. */
static void test_grown(void **state) {
    (void)state;
    size_t size, text_size;
    void *image = add_image(&size);
    char *text;
    Messages messages = {0};
    Diags d = {.sink = collect, .user = &messages};
    assert_true(disasm_image("add.cubin", image, size, false, &text, &text_size, &d));
    const char *next = "\n//\t--------------------- section 2";
    Binary *binary =
        read_with(text, next, "\t.string \"a name more\"\n\n//\t--------------------- section 2", &messages);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions),
                                       cmocka_unit_test(test_variable),
                                       cmocka_unit_test(test_call_is_linked),
                                       cmocka_unit_test(test_attributes),
                                       cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_odd_headers),
                                       cmocka_unit_test(test_inserted),
                                       cmocka_unit_test(test_needs_more),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_grown),
                                       cmocka_unit_test(test_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
