/* Instruction words, 16 bytes each, on every target: what decodes encodes to the same word; its text, where
 * it is read again, is that of the same word. SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

static void one_word(const Target *target, const uint64_t word[2]) {
    MachInst inst, parsed;
    uint64_t back[2];
    char error[ISA_ERROR_BYTES], text[256];
    const char *end;
    if (!isa_decode(target, word, &inst, error))
        return;
    if (!isa_encode(target, &inst, back, error))
        fuzz_broken("what decodes encodes", error);
    if (memcmp(word, back, 16) != 0)
        fuzz_broken("what decodes encodes to the same word", isa_opcode_name(inst.opcode));
    isa_print(target, &inst, 0x1000, NULL, text, sizeof text);
    if (!isa_parse(target, text, 0x1000, NULL, &parsed, &end, error))
        return; /* shown as data by the disassembler */
    parsed.ctrl = inst.ctrl;
    if (!isa_encode(target, &parsed, back, error))
        fuzz_broken("what was parsed encodes", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t word[2];
    for (size_t at = 0; at + 16 <= size; at += 16) {
        memcpy(word, data + at, 16);
        for (unsigned t = 0; isa_all_targets[t]; t++)
            one_word(isa_all_targets[t], word);
    }
    return 0;
}
