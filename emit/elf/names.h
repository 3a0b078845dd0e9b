/* Texts by hash: a module of thousands of functions has four sections for each, and all are asked for by
 * name. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_NAMES_H
#define HEDDLE_EMIT_ELF_NAMES_H
#include "base/arena.h"
#include "emit/elf/binary.h"
#include "emit/elf/image.h"

/* Numbers under the hash of the texts that they stand for; who asks compares the text. */
typedef struct {
    uint64_t *hashes;
    uint32_t *numbers; /* plus 1; 0: the slot is empty */
    uint32_t nslots, count;
} ElfHash;

/* A string table: where a text stands first, behind a NUL or at the table's start. */
typedef struct {
    const uint8_t *data;
    uint64_t next; /* texts up to here are in the hash */
    ElfHash starts;
} ElfStrings;

#define ELF_NO_STRING UINT32_MAX
/* The first place of `text` in the table, ELF_NO_STRING if it stands nowhere. Looks at what was appended
 * since the last question; bytes that were looked at must stay as they were. */
uint32_t elf_strings_find(Arena *arena, ElfStrings *strings, const uint8_t *data, uint64_t size_bytes,
                          const char *text);

/* Let elf_image_find go by hash for the sections that there are now. Their names must stay. */
void elf_image_index(Arena *arena, ElfImage *image);
/* The section of that name among those; 0 if there is none. */
uint32_t elf_names_find(const ElfNames *names, const ElfImage *image, const char *name);
uint32_t elf_names_count(const ElfNames *names);
/* Local functions of joined objects may have one name: all but the first get a number behind it, `f#1`. */
void elf_names_apart(Binary *binary);
#endif
