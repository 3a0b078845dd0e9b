/* A damaged ELF file: an error or a binary, never a crash.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/binary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Diags d = {0};
    Binary *b = binary_read("fuzz.cubin", data, size, &d);
    if (b)
        binary_free(b);
    return 0;
}
