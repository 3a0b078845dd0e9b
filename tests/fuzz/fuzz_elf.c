/* A damaged ELF file: an error or a binary, never a crash. What can be shown as text assembles to the same
 * file; what was read goes through the static checker. SPDX-License-Identifier: MIT */
#include "check/static/check.h"
#include "emit/elf/object.h"
#include "emit/text/asm.h"
#include "tests/fuzz/fuzz.h"

static void read_and_check(const uint8_t *data, size_t size) {
    BinCheckReport report;
    Diags diags = {0};
    Binary *binary = binary_read("fuzz.cubin", data, size, &diags);
    BinFlow *flow = binary ? bin_flow_new(binary) : NULL;
    if (!binary && !diags.nerrors)
        fuzz_broken("there is a binary or an error", "neither");
    if (flow) {
        check_binary(flow, &(BinCheckOptions){0}, &report);
        free(check_report_text(flow, &report));
        check_report_free(&report);
        bin_flow_free(flow);
    }
    binary_free(binary);
}

static void text_form(const uint8_t *data, size_t size) {
    char *text;
    void *again;
    size_t text_bytes, again_bytes;
    Diags diags = {0};
    if (disasm_image("fuzz.cubin", data, size, true, &text, &text_bytes, &diags))
        free(text);
    if (!disasm_image("fuzz.cubin", data, size, false, &text, &text_bytes, &diags))
        return;
    Source source = {"fuzz.sass", text, text_bytes};
    diags =
        (Diags){.source = &source, .sink = getenv("FUZZ_VERBOSE") ? diag_print_sink : NULL, .user = stderr};
    if (!asm_assemble(&source, &again, &again_bytes, &diags))
        fuzz_broken("what was disassembled assembles", text);
    if (again_bytes != size || memcmp(again, data, size) != 0)
        fuzz_broken("what was disassembled assembles to the same file", text);
    free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena arena = {0};
    Diags diags = {0};
    const char *name, *text;
    size_t text_bytes;
    read_and_check(data, size);
    text_form(data, size);
    if (elf_object_is(data, size)) {
        elf_object_target(data);
        elf_object_read(&arena, "fuzz.o", data, size, &name, &text, &text_bytes, &diags);
    }
    arena_free(&arena);
    return 0;
}
