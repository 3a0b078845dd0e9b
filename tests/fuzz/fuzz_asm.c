/* One instruction word: what decodes prints, parses and encodes to the same word, on every target.
 * SPDX-License-Identifier: MIT */
#include "isa/isa.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 16)
        return 0;
    uint64_t word[2], back[2];
    memcpy(word, data, 16);
    for (int t = 0; isa_targets[t]; t++) {
        MachInst in;
        char error[ISA_ERROR_BYTES];
        if (!isa_decode(isa_targets[t], word, &in, error))
            continue;
        if (!isa_encode(isa_targets[t], &in, back, error) || memcmp(word, back, 16) != 0)
            abort();
    }
    return 0;
}
