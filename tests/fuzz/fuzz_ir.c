/* Machine IR text: what loads prints, and what was printed loads and prints the same.
 * SPDX-License-Identifier: MIT */
#include "ir/ir.h"
#include "tests/fuzz/fuzz.h"

/* The text of the module that `text` describes, or NULL; malloc'ed. */
static char *load_and_print(const char *name, const char *text, size_t size, size_t *printed_bytes) {
    StrTab strings = {0};
    Source source = {name, text, size};
    Diags diags = {
        .source = &source, .sink = getenv("FUZZ_VERBOSE") ? diag_print_sink : NULL, .user = stderr};
    IrModule *module = ir_load(&source, &strings, &diags);
    char *printed = NULL;
    if (module) {
        printed = ir_print(module, printed_bytes);
        ir_module_free(module);
    }
    str_free(&strings);
    return printed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    size_t first_bytes, second_bytes;
    char *first = load_and_print("fuzz.mir", text, size, &first_bytes);
    if (first) {
        char *second = load_and_print("again.mir", first, first_bytes, &second_bytes);
        if (!second)
            fuzz_broken("what was printed loads", first);
        if (first_bytes != second_bytes || memcmp(first, second, first_bytes) != 0)
            fuzz_broken("what was loaded prints the same", first);
        free(second);
    }
    free(first);
    free(text);
    return 0;
}
