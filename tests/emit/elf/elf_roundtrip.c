/* elf_roundtrip FILE...: load, disassemble, assemble; status 1 unless every file comes back byte for byte.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "emit/text/asm.h"
#include "emit/elf/binary.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool round_trip(const char *path, Diags *d) {
    Arena a = {0};
    char *data, *text = NULL;
    void *again = NULL;
    size_t size, text_size, again_size;
    bool good =
        file_read(&a, path, d, &data, &size) && disasm_image(path, data, size, false, &text, &text_size, d);
    Binary *b = good ? binary_read(path, data, size, d) : NULL;
    Source s = {path, text, good ? text_size : 0};
    good = b && asm_assemble(&s, &again, &again_size, d);
    if (good && (again_size != size || memcmp(again, data, size) != 0)) {
        fprintf(stderr, "%s: the assembled file differs\n", path);
        good = false;
    }
    binary_free(b);
    free(text);
    free(again);
    arena_free(&a);
    return good;
}

int main(int argc, char **argv) {
    Diags d = {.sink = diag_print_sink, .user = stderr};
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed += !round_trip(argv[i], &d);
    printf("%d files, %d failed\n", argc - 1, failed);
    return failed != 0;
}
