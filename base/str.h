/* Interned strings: equal text has equal StrId, so names compare as integers.
 * Id 0 is "none" and its text is "". Texts are NUL-terminated and live as long as the table.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_STR_H
#define HEDDLE_BASE_STR_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t i;
} StrId;

typedef struct {
    Arena arena;
    struct StrEntry *entries; /* entries[id]; entries[0] is the empty string */
    uint32_t count, cap;
    uint32_t *slots; /* open addressing, power of two, 0 is empty */
    uint32_t nslots;
} StrTab;

StrId str_intern(StrTab *tab, const char *text, size_t size_bytes);
StrId str_intern_z(StrTab *tab, const char *text);
/* 0 if the text was never interned */
StrId str_find(const StrTab *tab, const char *text, size_t size_bytes);
const char *str_text(const StrTab *tab, StrId id);
size_t str_size(const StrTab *tab, StrId id);
void str_free(StrTab *tab);
static inline bool str_eq(StrId a, StrId b) { return a.i == b.i; }

/* Map from StrId to a non-zero 32-bit value, for symbol tables. Zero-initialise. */
typedef struct {
    uint32_t *keys, *values;
    uint32_t nslots, count;
} StrMap;
void strmap_put(StrMap *map, Arena *arena, StrId key, uint32_t value);
uint32_t strmap_get(const StrMap *map, StrId key); /* 0 if absent */
#endif
