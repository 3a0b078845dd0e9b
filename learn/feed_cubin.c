/* Cubins, decoded and printed by Heddle: a second source of texts, and the only one where no dump can be
 * made. SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "emit/elf/binary.h"
#include "learn/feed.h"

enum { FEED_TEXT_BYTES = 256 };

static bool feed_function(LearnFeed *feed, const Binary *binary, const BinFunc *function) {
    bool good = true;
    for (uint32_t i = 0; good && i < function->ninsts; i++) {
        uint64_t pc = (uint64_t)i * INST_BYTES;
        const uint64_t *word = binary->code[(function->address - binary->code_base) / INST_BYTES + i];
        char text[FEED_TEXT_BYTES], error[ISA_ERROR_BYTES];
        MachInst in;
        if (!isa_decode(binary->target, word, &in, error)) {
            feed->nunresolved++;
            continue;
        }
        int size = isa_print(binary->target, &in, pc, NULL, text, sizeof text);
        if (size < 0 || size >= FEED_TEXT_BYTES) {
            feed->nunresolved++;
            continue;
        }
        LearnFed fed = {.text = text,
                        .pc_bytes = pc,
                        .word = {word[0], word[1]},
                        .control = (uint32_t)(word[1] >> (LEARN_CONTROL_BIT - 64) & 0x1ffff),
                        .has_word = true,
                        .file = binary->path,
                        .arch = isa_target_name(binary->target)};
        good = feed->each(feed->user, &fed);
    }
    return good;
}

bool learn_feed_cubin(LearnFeed *feed, const char *path, Diags *diags) {
    Arena arena = {0};
    char *data;
    size_t size;
    bool good = file_read(&arena, path, diags, &data, &size);
    Binary *binary = good ? binary_read(path, data, size, diags) : NULL;
    good = binary != NULL;
    for (uint32_t i = 0; good && i < binary->nfuncs; i++)
        good = feed_function(feed, binary, &binary->funcs[i]);
    if (binary)
        binary_free(binary);
    arena_free(&arena);
    return good;
}
