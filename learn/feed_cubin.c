/* Cubins, and what holds them (emit/elf/container.h), decoded and printed by Heddle: a second source of
 * texts, and the only one where no dump can be made. SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "emit/elf/binary.h"
#include "emit/elf/container.h"
#include "learn/feed.h"
#include <string.h>

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

static bool feed_image(LearnFeed *feed, const char *path, const void *data, size_t size, Diags *diags) {
    Binary *binary = binary_read_any(path, data, size, diags);
    bool good = binary != NULL;
    for (uint32_t i = 0; good && i < binary->nfuncs; i++)
        good = feed_function(feed, binary, &binary->funcs[i]);
    if (binary)
        binary_free(binary);
    return good;
}

/* All programs of it whose machine has tables. */
static bool feed_container(LearnFeed *feed, Arena *arena, const char *path, const void *data, size_t size,
                           Diags *diags) {
    Container container;
    uint32_t nread = 0;
    bool good = elf_container_open(arena, path, data, size, &container, diags);
    for (uint32_t i = 0; good && i < container.items.n; i++) {
        const ContainerItem *item = &container.items.at[i];
        char arch[16];
        snprintf(arch, sizeof arch, "sm_%u", item->sm);
        if (item->is_ptx || !isa_any_target(arch) || !memmem(item->data, item->size_bytes, ".text.", 6))
            continue; /* nvcc adds files without code */
        nread++;
        good = feed_image(feed, item->name, item->data, item->size_bytes, diags);
    }
    Source source = {.name = path, .text = NULL};
    return good && (nread || diag_in(diags, &source, (SrcLoc){0}, DIAG_E0416,
                                     "no program of a machine with tables is in it: of others what nvdisasm "
                                     "-hex prints is read"));
}

bool learn_feed_cubin(LearnFeed *feed, const char *path, Diags *diags) {
    Arena arena = {0};
    char *data;
    size_t size;
    bool good = file_read(&arena, path, diags, &data, &size);
    if (good && elf_container_is(data, size))
        good = feed_container(feed, &arena, path, data, size, diags);
    else if (good)
        good = feed_image(feed, path, data, size, diags);
    arena_free(&arena);
    return good;
}
