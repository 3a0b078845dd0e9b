/* Texts by hash: see names.h. Open addressing in an arena; a table that fills up is made anew, twice as
 * large. SPDX-License-Identifier: MIT */
#include "emit/elf/names.h"
#include <stdlib.h>
#include <string.h>

struct ElfNames {
    ElfHash sections;
    uint32_t n; /* sections that were looked at */
};

/* FNV-1a */
static uint64_t text_hash(const char *text, size_t size_bytes) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size_bytes; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    return hash ? hash : 1;
}

static void hash_put(ElfHash *table, uint64_t hash, uint32_t number) {
    uint32_t slot = (uint32_t)hash & (table->nslots - 1);
    while (table->numbers[slot])
        slot = (slot + 1) & (table->nslots - 1);
    table->hashes[slot] = hash;
    table->numbers[slot] = number;
    table->count++;
}

static void hash_add(Arena *arena, ElfHash *table, uint64_t hash, uint32_t number) {
    if (table->count * 2 >= table->nslots) {
        ElfHash larger = {.nslots = table->nslots ? table->nslots * 2 : 64};
        larger.hashes = ARENA_ARRAY(arena, uint64_t, larger.nslots);
        larger.numbers = ARENA_ARRAY(arena, uint32_t, larger.nslots);
        for (uint32_t i = 0; i < table->nslots; i++)
            if (table->numbers[i])
                hash_put(&larger, table->hashes[i], table->numbers[i]);
        *table = larger;
    }
    hash_put(table, hash, number + 1);
}

/* The next number under the hash from *slot on, plus 1; 0 at the end. Begins at the hash itself. */
static uint32_t hash_next(const ElfHash *table, uint64_t hash, uint32_t *slot) {
    for (; table->nslots; ++*slot) {
        *slot &= table->nslots - 1;
        if (!table->numbers[*slot])
            return 0;
        if (table->hashes[*slot] == hash)
            return table->numbers[(*slot)++];
    }
    return 0;
}

/* ---- string tables ---- */
static uint32_t string_at(const ElfStrings *strings, uint64_t hash, const char *text, size_t size_bytes) {
    uint32_t slot = (uint32_t)hash, found;
    while ((found = hash_next(&strings->starts, hash, &slot))) /* texts in the table end in a NUL, as this */
        if (memcmp(strings->data + found - 1, text, size_bytes) == 0)
            return found - 1;
    return ELF_NO_STRING;
}

uint32_t elf_strings_find(Arena *arena, ElfStrings *strings, const uint8_t *data, uint64_t size_bytes,
                          const char *text) {
    strings->data = data;
    while (data && strings->next < size_bytes && strings->next < ELF_NO_STRING) {
        const char *start = (const char *)data + strings->next;
        const char *end = memchr(start, 0, size_bytes - strings->next);
        if (!end)
            break;
        size_t n = (size_t)(end - start) + 1;
        uint64_t hash = text_hash(start, n);
        if (string_at(strings, hash, start, n) == ELF_NO_STRING)
            hash_add(arena, &strings->starts, hash, (uint32_t)strings->next);
        strings->next += n;
    }
    size_t n = strlen(text) + 1;
    return string_at(strings, text_hash(text, n), text, n);
}

/* ---- sections ---- */
void elf_image_index(Arena *arena, ElfImage *image) {
    ElfNames *names = ARENA_NEW(arena, ElfNames);
    for (uint32_t i = 1; i < image->sections.n; i++) {
        const char *name = image->sections.at[i].name;
        names->n = i; /* those before, of which the first of the name is wanted */
        if (!elf_names_find(names, image, name))
            hash_add(arena, &names->sections, text_hash(name, strlen(name)), i);
    }
    names->n = image->sections.n;
    image->names = names;
}

uint32_t elf_names_find(const ElfNames *names, const ElfImage *image, const char *name) {
    uint64_t hash = text_hash(name, strlen(name));
    uint32_t slot = (uint32_t)hash, found;
    while ((found = hash_next(&names->sections, hash, &slot)))
        if (strcmp(image->sections.at[found - 1].name, name) == 0)
            return found - 1;
    return 0;
}

uint32_t elf_names_count(const ElfNames *names) { return names->n; }

static int by_name(const void *a, const void *b) {
    BinFunc *const *x = a, *const *y = b;
    int order = strcmp((*x)->name, (*y)->name);
    return order ? order : (*x > *y) - (*x < *y);
}

void elf_names_apart(Binary *binary) {
    BinFunc **sorted = ARENA_ARRAY(&binary->arena, BinFunc *, binary->nfuncs);
    for (uint32_t i = 0; i < binary->nfuncs; i++)
        sorted[i] = &binary->funcs[i];
    qsort(sorted, binary->nfuncs, sizeof *sorted, by_name);
    const char *name = "";
    for (uint32_t i = 0, n = 0; i < binary->nfuncs; i++) {
        n = i && strcmp(sorted[i]->name, name) == 0 ? n + 1 : 0;
        name = n ? name : sorted[i]->name;
        if (n)
            sorted[i]->name = arena_printf(&binary->arena, "%s#%u", name, n);
    }
}
