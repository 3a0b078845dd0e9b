/* Assembly text: an error, or a file; disassembled and assembled again it is the same file.
 * SPDX-License-Identifier: MIT */
#include "emit/text/asm.h"
#include "tests/fuzz/fuzz.h"

static bool assemble_text(const char *name, const char *text, size_t size, void **image,
                          size_t *image_bytes) {
    Source source = {name, text, size};
    Diags diags = {
        .source = &source, .sink = getenv("FUZZ_VERBOSE") ? diag_print_sink : NULL, .user = stderr};
    bool good = asm_assemble(&source, image, image_bytes, &diags);
    if (good == (diags.nerrors != 0))
        fuzz_broken("there is a file or an error", text);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size), *shown;
    void *image, *again;
    size_t image_bytes, shown_bytes, again_bytes;
    Diags diags = {0};
    if (assemble_text("fuzz.sass", text, size, &image, &image_bytes)) {
        if (disasm_image("fuzz", image, image_bytes, false, &shown, &shown_bytes, &diags)) {
            if (!assemble_text("again.sass", shown, shown_bytes, &again, &again_bytes))
                fuzz_broken("what was disassembled assembles", shown);
            if (again_bytes != image_bytes || memcmp(again, image, image_bytes) != 0)
                fuzz_broken("what was disassembled assembles to the same file", shown);
            free(again);
            free(shown);
        }
        free(image);
    }
    free(text);
    return 0;
}
