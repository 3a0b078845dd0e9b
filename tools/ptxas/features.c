/* What a statement lacks a .version or a .target for, feature by feature as ptxas tells it: features.def.
 * SPDX-License-Identifier: MIT */
#include "frontend/gates.h"
#include "tools/ptxas/words.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { V = 1, T = 2, VT = V | T, TV = V | T | 4, N = 8, EACH = 16 };

#define VERSION(major, minor) GATE_VERSION(major, minor)
#define TARGET(sm) #sm
static const struct {
    const char *opcodes, *words, *text;
    unsigned version;
    const char *target;
    int how;
} features[] = {
#define PTXAS_FEATURE(opcodes, words, text, version, target, how)                                            \
    {opcodes, words, text, version, target, how},
#include "tools/ptxas/features.def"
};

/* What the module says at its head. */
typedef struct {
    unsigned version;
    uint32_t sm;
    char variant, name[16]; /* "sm_90a" */
} Head;

/* Behind blanks and comments. */
static const char *next_token(const char *at) {
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else {
            return at;
        }
    }
}

static bool read_head(const char *text, Head *head) {
    static const char version[] = ".version", target[] = ".target";
    const char *at = next_token(text);
    if (strncmp(at, version, sizeof version - 1) != 0)
        return false;
    at = next_token(at + sizeof version - 1);
    char *end;
    unsigned major = (unsigned)strtoul(at, &end, 10), minor = 0;
    if (*end == '.')
        minor = (unsigned)strtoul(end + 1, &end, 10);
    head->version = GATE_VERSION(major, minor);
    at = next_token(end);
    if (strncmp(at, target, sizeof target - 1) != 0)
        return false;
    at = next_token(at + sizeof target - 1);
    size_t size = 0;
    while (size + 1 < sizeof head->name && (isalnum((unsigned char)at[size]) || at[size] == '_'))
        size++;
    memcpy(head->name, at, size);
    head->name[size] = 0;
    unsigned first;
    return gate_target(head->name, &head->sm, &head->variant, &first);
}

/* Is the name one of `list`, "a|b"? An empty list has all. */
static bool is_listed(const char *list, const char *name) {
    size_t size = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == size && memcmp(at, name, size) == 0)
            return true;
    return !*list;
}

/* How often the modifiers have one that begins and ends so. */
static unsigned count_modifier(const char *modifiers, const char *modifier, bool end_only) {
    size_t size = strlen(modifier);
    unsigned n = 0;
    for (const char *at = modifiers; (at = strstr(at, modifier)) != NULL; at += size)
        n += (at[size] == '.' || !at[size]) && (end_only || *at == '.');
    return n;
}

/* 0: the row is not about the statement; else how often it is told. */
static unsigned row_matches(unsigned row, const char *opcode, const char *modifiers, char *found,
                            size_t size) {
    const char *words = features[row].words;
    if (!is_listed(features[row].opcodes, opcode))
        return 0;
    if (*words == ':') { /* the end of a modifier */
        char end[24] = "::";
        size_t n = strcspn(words, " ");
        strncat(end, words + 1, n - 1);
        if (!count_modifier(modifiers, end, true))
            return 0;
        words += n + (words[n] == ' ');
    }
    if (!gate_words(words, modifiers, found, size))
        return 0;
    return features[row].how & EACH ? count_modifier(modifiers, found, false) : 1;
}

/* ".f16.bf16" */
static const char *last_two(const char *modifiers) {
    const char *last = strrchr(modifiers, '.'), *at = last;
    while (at && at > modifiers && *--at != '.')
        ;
    return at ? at : "";
}

static const char *lacking_name(Arena *arena, const char *text, const DiagPlace *place, const char *found) {
    const char *name = "", *at;
    for (; (at = strchr(text, '%')) != NULL; text = at + 2)
        name = arena_printf(arena, "%s%.*s%s", name, (int)(at - text), text,
                            at[1] == 'o'   ? ptxas_opcode(arena, place)
                            : at[1] == 'p' ? last_two(place->modifiers ? place->modifiers : "")
                                           : found);
    return arena_printf(arena, "%s%s", name, text);
}

/* The row's lines behind those of `before`. */
static const char *tell(Arena *arena, const char *before, unsigned row, const char *name, const Head *head) {
    int how = features[row].how;
    bool by_version = (how & V) && head->version < features[row].version;
    bool by_target = (how & T) && !gate_target_has(head->sm, head->variant, features[row].target);
    const char *of_version = by_version
                                 ? arena_printf(arena, "%s requires PTX ISA .version %u.%u or later\n", name,
                                                features[row].version / 10, features[row].version % 10)
                                 : "";
    const char *of_target =
        !by_target ? ""
        : how & N  ? arena_printf(arena, "%s not supported on .target '%s'\n", name, head->name)
                   : arena_printf(arena, "%s requires .target sm_%s or higher\n", name, features[row].target);
    bool version_first = (how & TV) != TV;
    return arena_printf(arena, "%s%s%s", before, version_first ? of_version : of_target,
                        version_first ? of_target : of_version);
}

const char *ptxas_features(Arena *arena, const DiagRecord *record) {
    Head head;
    const char *opcode = record->place.opcode, *modifiers = record->place.modifiers, *told = "";
    if (!opcode || !record->source || !record->source->text || !read_head(record->source->text, &head))
        return NULL;
    modifiers = modifiers ? modifiers : "";
    for (unsigned k = 0; k < sizeof features / sizeof *features; k++) {
        char found[64] = "";
        for (unsigned n = row_matches(k, opcode, modifiers, found, sizeof found); n; n--)
            told = tell(arena, told, k, lacking_name(arena, features[k].text, &record->place, found), &head);
    }
    return *told ? arena_printf(arena, "%.*s", (int)strlen(told) - 1, told) : NULL;
}
