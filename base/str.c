/* Interned strings and string maps: see str.h.
 * SPDX-License-Identifier: MIT */
#include "base/str.h"
#include <string.h>
#include <xxhash.h>

struct StrEntry {
    const char *text;
    uint32_t size_bytes;
    uint32_t hash;
};

static uint32_t hash_bytes(const char *text, size_t n) { return (uint32_t)XXH3_64bits(text, n); }

static void grow_slots(StrTab *tab) {
    uint32_t n = tab->nslots ? tab->nslots * 2 : 256;
    tab->slots = arena_alloc(&tab->arena, n * sizeof *tab->slots);
    tab->nslots = n;
    for (uint32_t id = 1; id < tab->count; id++) {
        uint32_t s = tab->entries[id].hash & (n - 1);
        while (tab->slots[s])
            s = (s + 1) & (n - 1);
        tab->slots[s] = id;
    }
}

/* Slot that holds the text, or the empty slot where it belongs. */
static uint32_t find_slot(const StrTab *tab, const char *text, size_t n, uint32_t hash) {
    uint32_t s = hash & (tab->nslots - 1);
    for (; tab->slots[s]; s = (s + 1) & (tab->nslots - 1)) {
        const struct StrEntry *entry = &tab->entries[tab->slots[s]];
        if (entry->hash == hash && entry->size_bytes == n && memcmp(entry->text, text, n) == 0)
            break;
    }
    return s;
}

StrId str_intern(StrTab *tab, const char *text, size_t size_bytes) {
    if (size_bytes == 0)
        return (StrId){0};
    if (tab->count * 2 >= tab->nslots)
        grow_slots(tab);
    uint32_t hash = hash_bytes(text, size_bytes), s = find_slot(tab, text, size_bytes, hash);
    if (tab->slots[s])
        return (StrId){tab->slots[s]};
    if (tab->count >= tab->cap) {
        uint32_t cap = tab->cap ? tab->cap * 2 : 128;
        tab->entries = arena_grow(&tab->arena, tab->entries, tab->cap * sizeof *tab->entries,
                                  cap * sizeof *tab->entries);
        tab->cap = cap;
    }
    if (tab->count == 0)
        tab->count = 1; /* id 0 is none */
    char *copy = arena_alloc(&tab->arena, size_bytes + 1);
    memcpy(copy, text, size_bytes);
    uint32_t id = tab->count++;
    tab->entries[id] = (struct StrEntry){copy, (uint32_t)size_bytes, hash};
    tab->slots[s] = id;
    return (StrId){id};
}

StrId str_intern_z(StrTab *t, const char *text) { return str_intern(t, text, strlen(text)); }

StrId str_find(const StrTab *tab, const char *text, size_t size_bytes) {
    if (size_bytes == 0 || tab->nslots == 0)
        return (StrId){0};
    return (StrId){tab->slots[find_slot(tab, text, size_bytes, hash_bytes(text, size_bytes))]};
}

const char *str_text(const StrTab *tab, StrId id) {
    return id.i && id.i < tab->count ? tab->entries[id.i].text : "";
}

size_t str_size(const StrTab *tab, StrId id) {
    return id.i && id.i < tab->count ? tab->entries[id.i].size_bytes : 0;
}

void str_free(StrTab *tab) {
    arena_free(&tab->arena);
    *tab = (StrTab){0};
}

static uint32_t map_slot(const StrMap *map, uint32_t key) {
    uint32_t s = (key * 2654435761u) & (map->nslots - 1);
    while (map->keys[s] && map->keys[s] != key)
        s = (s + 1) & (map->nslots - 1);
    return s;
}

void strmap_put(StrMap *map, Arena *a, StrId key, uint32_t value) {
    if (map->count * 2 >= map->nslots) {
        StrMap bigger = {.nslots = map->nslots ? map->nslots * 2 : 32};
        bigger.keys = ARENA_ARRAY(a, uint32_t, bigger.nslots);
        bigger.values = ARENA_ARRAY(a, uint32_t, bigger.nslots);
        for (uint32_t s = 0; s < map->nslots; s++)
            if (map->keys[s])
                strmap_put(&bigger, a, (StrId){map->keys[s]}, map->values[s]);
        *map = bigger;
    }
    uint32_t s = map_slot(map, key.i);
    map->count += map->keys[s] == 0;
    map->keys[s] = key.i;
    map->values[s] = value;
}

uint32_t strmap_get(const StrMap *map, StrId key) {
    return map->nslots && key.i ? map->values[map_slot(map, key.i)] : 0;
}
