/* Words of a machine whose tables are whole, one a line: "0x.. 0x.. | text". Random registers and numbers of
 * each opcode that only the newest machines have, without modifiers of the opcode; decode.c reads them with
 * tables that lack these rows. words TARGET OPCODE...     SPDX-License-Identifier: MIT */
#include "isa/isa.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 400, PC = 0x1000 };

static bool is_asked(const char *name, int argc, char **argv) {
    for (int i = 2; i < argc; i++)
        if (strcmp(name, argv[i]) == 0)
            return true;
    return false;
}

int main(int argc, char **argv) {
    const Target *target = argc > 2 ? isa_any_target(argv[1]) : NULL;
    uint64_t seed = 7;
    if (!target)
        return 2;
    for (unsigned opcode = 1; opcode < OC_COUNT; opcode++)
        for (unsigned i = 0; is_asked(isa_opcode_name(opcode), argc, argv) && i < WORDS; i++) {
            MachInst in;
            char text[512], error[ISA_ERROR_BYTES];
            uint64_t word[2];
            isa_random(target, opcode, &seed, &in);
            in.mods = 0;
            in.ctrl = CONTROL_DEFAULT;
            if (in.opcode && isa_encode(target, &in, word, error) &&
                isa_print(target, &in, PC, NULL, text, sizeof text) > 0)
                printf("0x%016" PRIx64 " 0x%016" PRIx64 " | %s\n", word[0], word[1], text);
        }
    return 0;
}
