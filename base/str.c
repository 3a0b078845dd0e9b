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

static void grow_slots(StrTab *t) {
    uint32_t n = t->nslots ? t->nslots * 2 : 256;
    t->slots = arena_alloc(&t->arena, n * sizeof *t->slots);
    t->nslots = n;
    for (uint32_t id = 1; id < t->count; id++) {
        uint32_t s = t->entries[id].hash & (n - 1);
        while (t->slots[s])
            s = (s + 1) & (n - 1);
        t->slots[s] = id;
    }
}

/* Slot that holds the text, or the empty slot where it belongs. */
static uint32_t find_slot(const StrTab *t, const char *text, size_t n, uint32_t hash) {
    uint32_t s = hash & (t->nslots - 1);
    for (; t->slots[s]; s = (s + 1) & (t->nslots - 1)) {
        const struct StrEntry *e = &t->entries[t->slots[s]];
        if (e->hash == hash && e->size_bytes == n && memcmp(e->text, text, n) == 0)
            break;
    }
    return s;
}

StrId str_intern(StrTab *t, const char *text, size_t size_bytes) {
    if (size_bytes == 0)
        return (StrId){0};
    if (t->count * 2 >= t->nslots)
        grow_slots(t);
    uint32_t hash = hash_bytes(text, size_bytes), s = find_slot(t, text, size_bytes, hash);
    if (t->slots[s])
        return (StrId){t->slots[s]};
    if (t->count >= t->cap) {
        uint32_t cap = t->cap ? t->cap * 2 : 128;
        t->entries = arena_grow(&t->arena, t->entries, t->cap * sizeof *t->entries, cap * sizeof *t->entries);
        t->cap = cap;
    }
    if (t->count == 0)
        t->count = 1; /* id 0 is none */
    char *copy = arena_alloc(&t->arena, size_bytes + 1);
    memcpy(copy, text, size_bytes);
    uint32_t id = t->count++;
    t->entries[id] = (struct StrEntry){copy, (uint32_t)size_bytes, hash};
    t->slots[s] = id;
    return (StrId){id};
}

StrId str_intern_z(StrTab *t, const char *text) { return str_intern(t, text, strlen(text)); }

StrId str_find(const StrTab *t, const char *text, size_t size_bytes) {
    if (size_bytes == 0 || t->nslots == 0)
        return (StrId){0};
    return (StrId){t->slots[find_slot(t, text, size_bytes, hash_bytes(text, size_bytes))]};
}

const char *str_text(const StrTab *t, StrId id) {
    return id.i && id.i < t->count ? t->entries[id.i].text : "";
}

size_t str_size(const StrTab *t, StrId id) {
    return id.i && id.i < t->count ? t->entries[id.i].size_bytes : 0;
}

void str_free(StrTab *t) {
    arena_free(&t->arena);
    *t = (StrTab){0};
}

static uint32_t map_slot(const StrMap *m, uint32_t key) {
    uint32_t s = (key * 2654435761u) & (m->nslots - 1);
    while (m->keys[s] && m->keys[s] != key)
        s = (s + 1) & (m->nslots - 1);
    return s;
}

void strmap_put(StrMap *m, Arena *a, StrId key, uint32_t value) {
    if (m->count * 2 >= m->nslots) {
        StrMap bigger = {.nslots = m->nslots ? m->nslots * 2 : 32};
        bigger.keys = ARENA_ARRAY(a, uint32_t, bigger.nslots);
        bigger.values = ARENA_ARRAY(a, uint32_t, bigger.nslots);
        for (uint32_t s = 0; s < m->nslots; s++)
            if (m->keys[s])
                strmap_put(&bigger, a, (StrId){m->keys[s]}, m->values[s]);
        *m = bigger;
    }
    uint32_t s = map_slot(m, key.i);
    m->count += m->keys[s] == 0;
    m->keys[s] = key.i;
    m->values[s] = value;
}

uint32_t strmap_get(const StrMap *m, StrId key) {
    return m->nslots && key.i ? m->values[map_slot(m, key.i)] : 0;
}
