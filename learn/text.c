/* An instruction's text as key, values and modifiers. An operand is a register, a predicate ... with a number
 * ("indexed"), an address in brackets, a constant (c[bank][address]), a number, a set of scoreboards, or a
 * word of its own, and what stands around it is a modifier of its position: "2_Neg", "2_H0_H0". Example:
 *
 *     @!P0 FADD.FTZ R13, -R14, |c[0x0][0x160]|
 *     key FADD_R_R_cAI   values 0 13 14 0 352   modifiers 0_Not 0_FADD 0_FTZ 2_Neg 3_Abs
 *
 * Numbers below zero stay so, with a modifier that says it: how many bits they take follows from the words.
 * SPDX-License-Identifier: MIT */
#include "learn/learn.h"
#include "learn/number.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NONE, TO, BY };
enum { LEARN_PLACED = 1, LEARN_WIDE = 2, LEARN_LUT = 4, LEARN_HALVES = 8 };

typedef struct {
    const char *opcode;
    uint8_t target, immediate, traits;
} Treatment;
static const Treatment treatments[] = {
#define LEARN_TREATMENT(opcode, target, immediate, traits) {opcode, target, LEARN_##immediate, traits},
#include "learn/treatments.def"
};

typedef struct {
    LearnInsn *out;
    const char *start, *at, *why;
    uint64_t pc;
    unsigned urz, operand, mods_size, key_size;
    const Treatment *treatment;
    LearnNumber immediate; /* what a number with a point is */
    bool wants_target;     /* the last operand, if it is a number */
    int64_t *target;       /* where the last number is, or NULL */
    size_t target_key;     /* where its kind stands in the key */
} Reader;

/* ---- what is put together ---- */

static bool reader_miss(Reader *reader, const char *at, const char *why) {
    if (!reader->why) {
        reader->at = at;
        reader->why = why;
    }
    return false;
}

static bool add_mod(Reader *reader, const char *name, size_t size) {
    LearnInsn *out = reader->out;
    char *to = out->mods + reader->mods_size;
    size_t left = sizeof out->mods - reader->mods_size;
    int n = snprintf(to, left, "%u_%.*s", reader->operand, (int)size, name);
    if (n < 0 || (size_t)n + 3 >= left || out->nmods == LEARN_MODS)
        return reader_miss(reader, reader->start, "it has too many modifiers");
    /* the same once more is another one: S8.S8 */
    for (unsigned i = 0; i < out->nmods; i++)
        if (strncmp(out->mod[i], to, (size_t)n) == 0 && out->mod[i][n] == '\n') {
            to[n++] = '+';
            i = UINT32_MAX;
            if ((size_t)n + 3 >= left)
                return reader_miss(reader, reader->start, "it has too many modifiers");
        }
    to[n] = '\n';
    to[n + 1] = 0;
    out->mod[out->nmods++] = to;
    reader->mods_size += (unsigned)n + 1;
    return true;
}

static bool add_mod_z(Reader *reader, const char *name) { return add_mod(reader, name, strlen(name)); }

/* kind: a letter, of registers and the like that of their prefix (indexed_kind) */
static bool add_value(Reader *reader, char kind, int64_t value) {
    LearnInsn *out = reader->out;
    LearnPlace place = {.operand = (uint8_t)reader->operand, .kind = kind};
    if (out->nvalues == LEARN_VALUES)
        return reader_miss(reader, reader->start, "it has too many operands");
    for (unsigned i = 0; i < out->nvalues; i++)
        if (out->places[i].operand == place.operand && out->places[i].kind == kind)
            place.nth++;
    out->places[out->nvalues] = place;
    out->values[out->nvalues++] = value;
    return true;
}

static bool add_kind(Reader *reader, const char *kind, size_t size) {
    if (reader->key_size + size + 1 >= LEARN_KEY_BYTES)
        return reader_miss(reader, reader->start, "it has too many operands");
    memcpy(reader->out->key + reader->key_size, kind, size);
    reader->key_size += (unsigned)size;
    reader->out->key[reader->key_size] = 0;
    return true;
}

static bool add_kind_z(Reader *reader, const char *kind) { return add_kind(reader, kind, strlen(kind)); }

/* ---- operands ---- */

static bool is_name_char(int c) { return isalnum(c) || c == '_' || c == '$'; }

static const char *skip_blanks(const char *p) {
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

/* "R12", "URZ", "PT", "B3", "SB0": the size of its prefix, 0 if it is no such; *end behind it. */
static size_t indexed(const Reader *reader, const char *p, int64_t *value, const char **end) {
    static const struct {
        const char *prefix;
        char constant; /* the letter of its last number, which has a meaning of its own */
        int number;
    } files[] = {{"UR", 'Z', -1}, {"UP", 'T', 7}, {"SB", 0, 0}, {"R", 'Z', 255}, {"P", 'T', 7}, {"B", 0, 0}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size = strlen(files[i].prefix);
        if (strncmp(p, files[i].prefix, size) != 0)
            continue;
        if (files[i].constant && p[size] == files[i].constant && !is_name_char((unsigned char)p[size + 1])) {
            *value = files[i].number < 0 ? (int64_t)reader->urz : files[i].number;
            *end = p + size + 1;
            return size;
        }
        char *behind;
        if (isdigit((unsigned char)p[size]) && (*value = strtol(p + size, &behind, 10)) < 1000 &&
            behind - p < 8 && !is_name_char((unsigned char)*behind)) {
            *end = behind;
            return size;
        }
    }
    return 0;
}

/* R, P and B; r, p and b for UR, UP and SB. */
static char indexed_kind(const char *prefix, size_t size) {
    return (char)(size == 2 ? tolower((unsigned char)prefix[1]) : prefix[0]);
}

/* ".64.reuse" behind an operand; `before` is put in front of each, with a dot. */
static bool read_suffixes(Reader *reader, const char **p, const char *before, size_t before_size) {
    while (**p == '.') {
        const char *start = *p + 1;
        size_t size = 0;
        while (is_name_char((unsigned char)start[size]))
            size++;
        if (!size)
            return reader_miss(reader, start, "a modifier is missing");
        char name[64];
        int n = snprintf(name, sizeof name, "%.*s%s%.*s", (int)before_size, before, before_size ? "." : "",
                         (int)size, start);
        if (n < 0 || (size_t)n >= sizeof name || !add_mod(reader, name, (size_t)n))
            return reader_miss(reader, start, "the modifier is too long");
        *p = start + size;
    }
    return true;
}

/* One group of an address behind '[': registers and a number; its kinds go to kinds[]. */
static bool read_address(Reader *reader, const char **at, char kinds[40], bool wants_offset, bool constant) {
    const char *p = *at;
    int64_t offset = 0;
    bool below = false, any = false;
    kinds[0] = 0;
    for (;;) {
        p = skip_blanks(p);
        int64_t value;
        const char *end;
        size_t size = indexed(reader, p, &value, &end);
        if (size) {
            if (strlen(kinds) + size + 2 > 40 || !add_value(reader, size == 1 ? 'A' : 'a', value))
                return reader_miss(reader, p, "the address is too long");
            strncat(kinds, p, size);
            const char *name = p;
            p = end;
            if (!read_suffixes(reader, &p, name, size))
                return false;
        } else {
            bool minus = *p == '-';
            uint64_t number;
            p += minus;
            if (any || p[0] != '0' || p[1] != 'x' || !(end = learn_hex(p + 2, &number)) || number >> 62)
                return reader_miss(reader, p, "a register or a number was expected in an address");
            offset = minus ? -(int64_t)number : (int64_t)number;
            below = minus;
            any = true;
            p = end;
        }
        p = skip_blanks(p);
        if (*p == ']')
            break;
        if (*p != '+' && *p != '-')
            return reader_miss(reader, p, "'+' or ']' was expected in an address");
        p += *p == '+';
    }
    *at = p + 1;
    if (!any && !wants_offset)
        return true;
    strcat(kinds, "I");
    return add_value(reader, constant ? 'C' : 'O', offset) && (!below || add_mod_z(reader, "NegAddrOffset"));
}

/* Operands in brackets: [..], c[..][..], desc[..][..]. `name` stands before the first one. */
static bool read_bracketed(Reader *reader, const char **at, const char *name, size_t name_size) {
    char kinds[40];
    const char *p = *at;
    bool constant = name_size == 1 && *name == 'c';
    if (!add_kind(reader, name, name_size))
        return false;
    for (unsigned group = 0; *p == '['; group++) {
        p++;
        if (!read_address(reader, &p, kinds, *(strchr(p, ']') ? strchr(p, ']') + 1 : p) != '[', constant))
            return false;
        if (constant && group == 0 && strcmp(kinds, "I") == 0 && *p == '[')
            continue; /* the bank */
        if (!add_kind_z(reader, "A") || !add_kind_z(reader, kinds))
            return false;
    }
    *at = p;
    return read_suffixes(reader, at, "", 0);
}

/* A number in the parts that its opcode keeps it in. */
static bool add_integer(Reader *reader, uint64_t number, bool minus) {
    uint8_t traits = reader->treatment ? reader->treatment->traits : 0;
    if (traits & LEARN_LUT)
        return add_value(reader, 'I', (int64_t)(number & 7)) &&
               add_value(reader, 'I', (int64_t)(number >> 3));
    if (traits & LEARN_HALVES && !minus)
        return add_value(reader, 'I', (int64_t)(number >> 32)) &&
               add_value(reader, 'I', (int64_t)(number & UINT32_MAX));
    if (traits & LEARN_HALVES && !add_value(reader, 'I', 0))
        return false;
    return add_value(reader, 'I', minus ? -(int64_t)number : (int64_t)number);
}

/* 0x.. or -0x.. */
static bool read_integer(Reader *reader, const char **at, bool minus) {
    uint64_t number;
    uint8_t traits = reader->treatment ? reader->treatment->traits : 0;
    const char *start = *at, *end = learn_hex(start + 2, &number);
    if (!end || is_name_char((unsigned char)*end) || (number >> 62 && (minus || !(traits & LEARN_HALVES))))
        return reader_miss(reader, start, "this is no number of 62 bits");
    if (minus && traits & LEARN_LUT)
        return reader_miss(reader, start, "a table of three inputs is not negative");
    *at = end;
    reader->target_key = reader->key_size;
    if (!add_kind_z(reader, "II") || !add_integer(reader, number, minus))
        return false;
    reader->target = &reader->out->values[reader->out->nvalues - 1];
    return !minus || add_mod_z(reader, "NegIntImme");
}

static bool read_set(Reader *reader, const char **at) {
    int64_t set = 0;
    const char *p = *at + 1;
    while (*p != '}') {
        if (*p >= '0' && *p <= '5')
            set |= 1 << (*p - '0');
        else if (*p != ',' && *p != ' ')
            return reader_miss(reader, p, "a scoreboard from 0 to 5 was expected");
        p++;
    }
    *at = p + 1;
    return add_kind_z(reader, "SBSET") && add_value(reader, '{', set);
}

/* A float, with its sign: false if none is there (nothing is reported). */
static bool read_float(Reader *reader, const char **at, bool *good) {
    uint32_t bits;
    bool nan;
    const char *end = learn_float(*at, reader->immediate, &bits, &nan);
    if (!end)
        return false;
    char name[8];
    snprintf(name, sizeof name, "%cNAN", **at == '-' ? '-' : '+');
    *good = add_kind_z(reader, "FI") && add_value(reader, 'F', nan ? 0 : bits) &&
            (!nan || add_mod_z(reader, name));
    *at = end;
    return true;
}

/* A word of its own: SR_TID.X, 2D, ARRAY_2D. */
static bool read_label(Reader *reader, const char **at) {
    size_t size = 0;
    while ((*at)[size] && !strchr(",; \t", (*at)[size]))
        size++;
    if (!size || !isalnum((unsigned char)**at))
        return reader_miss(reader, *at, "an operand was expected");
    const char *start = *at;
    *at += size;
    return add_kind_z(reader, "L") && add_mod(reader, start, size);
}

static bool read_plain(Reader *reader, const char **at) {
    const char *p = *at, *end;
    int64_t value;
    size_t size = indexed(reader, p, &value, &end);
    if (size) {
        *at = end;
        return add_kind(reader, p, size) && add_value(reader, indexed_kind(p, size), value) &&
               read_suffixes(reader, at, "", 0);
    }
    for (end = p; isalpha((unsigned char)*end);)
        end++;
    if (*end == '[') {
        *at = end;
        return read_bracketed(reader, at, p, (size_t)(end - p));
    }
    return read_label(reader, at);
}

/* What stands behind a number: 1.H1, 0x7fcea0e5.H1, "+QNAN .H1". */
static bool read_number_suffixes(Reader *reader, const char **at) {
    const char *p = skip_blanks(*at);
    if (*p != '.')
        return true;
    *at = p;
    return read_suffixes(reader, at, "", 0);
}

static bool read_operand(Reader *reader, const char **at) {
    bool good = true;
    const char *p = *at;
    if (read_float(reader, at, &good))
        return good && read_number_suffixes(reader, at);
    bool minus = p[0] == '-' && p[1] == '0' && p[2] == 'x';
    if (minus || (p[0] == '0' && p[1] == 'x')) {
        *at = p + minus;
        return read_integer(reader, at, minus) && read_number_suffixes(reader, at);
    }
    if (*p == '{')
        return read_set(reader, at);
    for (;; p++) {
        const char *name = *p == '-' ? "Neg" : *p == '!' ? "Not" : *p == '~' ? "Inv" : NULL;
        if (!name)
            break;
        if (!add_mod_z(reader, name))
            return false;
    }
    bool absolute = *p == '|';
    p += absolute;
    *at = p;
    if ((absolute && !add_mod_z(reader, "Abs")) || !read_plain(reader, at))
        return false;
    if (!absolute)
        return true;
    if (**at != '|')
        return reader_miss(reader, *at, "'|' was expected");
    ++*at;
    return read_suffixes(reader, at, "", 0);
}

/* ---- the whole ---- */

static bool read_guard(Reader *reader, const char **at) {
    const char *p = *at;
    int64_t value = 7;
    if (*p == '@') {
        bool negated = p[1] == '!';
        const char *start = p + 1 + negated, *end;
        size_t size = indexed(reader, start, &value, &end);
        if (!size || start[size - 1] != 'P')
            return reader_miss(reader, start, "a predicate was expected");
        if ((negated && !add_mod_z(reader, "PNot")) || (size == 2 && !add_mod_z(reader, "UP")))
            return false;
        p = skip_blanks(end);
    }
    *at = p;
    return add_value(reader, 'P', value);
}

static bool has_mod(const LearnInsn *insn, const char *name) {
    size_t size = strlen(name);
    for (unsigned i = 0; i < insn->nmods; i++) {
        const char *mod = insn->mod[i] + 2;
        if (strncmp(mod, name, size) == 0 && (mod[size] == '\n' || mod[size] == '@'))
            return true;
    }
    return false;
}

static const Treatment *treatment_of(const char *name, size_t size) {
    for (size_t i = 0; i < sizeof treatments / sizeof *treatments; i++)
        if (strlen(treatments[i].opcode) == size && strncmp(treatments[i].opcode, name, size) == 0)
            return &treatments[i];
    return NULL;
}

/* The last of the opcode's modifiers that is a floating-point type is that of its source. */
static void read_source_type(Reader *reader) {
    static const struct {
        const char *name;
        LearnNumber number;
    } types[] = {{"F32", LEARN_F32}, {"F64", LEARN_F64}, {"F16", LEARN_F16}, {"BF16", LEARN_BF16}};
    const LearnInsn *out = reader->out;
    for (unsigned i = 0; i < out->nmods; i++)
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            if (strncmp(out->mod[i] + 2, types[k].name, strcspn(out->mod[i] + 2, "@\n")) == 0 &&
                strcspn(out->mod[i] + 2, "@\n") == strlen(types[k].name))
                reader->immediate = types[k].number;
}

/* Types of 64 bits among the opcode's modifiers, and what a number with a point is under these. */
static bool read_types(Reader *reader) {
    const Treatment *treatment = reader->treatment;
    LearnInsn *out = reader->out;
    reader->immediate = treatment ? (LearnNumber)treatment->immediate : LEARN_F32;
    if (has_mod(out, "RCP64H") || has_mod(out, "RSQ64H"))
        reader->immediate = LEARN_F64;
    if (reader->immediate == LEARN_F16 && (has_mod(out, "BF16_V2") || has_mod(out, "BF16")))
        reader->immediate = LEARN_BF16;
    if (!treatment || !(treatment->traits & LEARN_WIDE))
        return true;
    read_source_type(reader);
    return !(has_mod(out, "F64") || has_mod(out, "S64") || has_mod(out, "U64")) || add_mod_z(reader, "CVT64");
}

static size_t name_size(const char *p) {
    size_t size = 0;
    while (is_name_char((unsigned char)p[size]))
        size++;
    return size;
}

static bool is_order(const char *name, size_t size) {
    return (size == 6 && strncmp(name, "STRONG", 6) == 0) || (size == 4 && strncmp(name, "MMIO", 4) == 0);
}

/* Is it one of those of which several kinds stand behind each other: a type, a shape, a letter for a space?
 * Other modifiers, as FTZ, stand among them or not, which is no reason for F16 to be another one. */
static bool has_place(const char *name, size_t size) {
    for (size_t k = 0; k < size; k++)
        if (isdigit((unsigned char)name[k]))
            return true;
    return size == 1;
}

static bool read_opcode(Reader *reader, const char **at) {
    const char *p = *at;
    size_t size = name_size(p);
    if (!size || !isalpha((unsigned char)*p))
        return reader_miss(reader, p, "an opcode was expected");
    reader->treatment = treatment_of(p, size);
    bool placed = reader->treatment && reader->treatment->traits & LEARN_PLACED;
    if (!add_kind(reader, p, size) || !add_mod(reader, p, size))
        return false;
    p += size;
    for (unsigned place = 1; *p == '.';) {
        const char *start = p + 1;
        char name[80];
        size = name_size(start);
        if (is_order(start, size)) /* it and its scope are one field */
            size += start[size] == '.' ? 1 + name_size(start + size + 1) : 0;
        bool counts = placed && has_place(start, size);
        int n = snprintf(name, sizeof name, counts ? "%.*s@%u" : "%.*s", (int)size, start, place);
        place += counts;
        if (!size || n < 0 || (size_t)n >= sizeof name)
            return reader_miss(reader, start, "a modifier was expected");
        if (!add_mod(reader, name, (size_t)n))
            return false;
        p = start + size;
    }
    if (*p && *p != ' ' && *p != '\t')
        return reader_miss(reader, p, "a blank was expected behind the opcode");
    *at = p;
    return read_types(reader);
}

/* Does the last number say where to go? */
static bool is_target(const Reader *reader) {
    const Treatment *treatment = reader->treatment;
    if (!treatment || treatment->target == NONE || !reader->target)
        return false;
    return reader->target == &reader->out->values[reader->out->nvalues - 1] &&
           (strcmp(treatment->opcode, "WARPSYNC") != 0 || has_mod(reader->out, "COLLECTIVE"));
}

/* The address becomes the distance, in two parts. */
static bool split_target(Reader *reader) {
    LearnInsn *out = reader->out;
    int64_t to = *reader->target;
    if (reader->treatment->target == TO && !has_mod(out, "ABS")) {
        to = (int64_t)((uint64_t)to - reader->pc - 16);
    } else if (to < 0) { /* its modifier is that of a distance */
        out->nmods--;
        reader->mods_size = (unsigned)(out->mod[out->nmods] - out->mods);
        out->mods[reader->mods_size] = 0;
    }
    *reader->target = to & 0x3ff;
    memcpy(out->key + reader->target_key, "T", 2);
    reader->key_size = (unsigned)reader->target_key + 1;
    return add_value(reader, 'I', (to - (to & 0x3ff)) / 0x400) && (to >= 0 || add_mod_z(reader, "NegTarget"));
}

static bool read_insn(Reader *reader) {
    const char *p = skip_blanks(reader->start);
    if (!read_guard(reader, &p) || !read_opcode(reader, &p))
        return false;
    reader->out->nopcode_mods = reader->out->nmods;
    for (p = skip_blanks(p); *p; p = skip_blanks(p)) {
        reader->operand++;
        if (!add_kind_z(reader, "_") || !read_operand(reader, &p))
            return false;
        p = skip_blanks(p);
        if (*p == ',') {
            p = skip_blanks(p + 1);
            if (!*p)
                return reader_miss(reader, p, "an operand is missing");
        }
    }
    reader->out->has_target = is_target(reader);
    return !reader->out->has_target || split_target(reader);
}

bool learn_parse(const char *text, uint64_t pc_bytes, unsigned urz, LearnInsn *out, const char **at,
                 char why[LEARN_WHY_BYTES]) {
    Reader reader = {.out = out, .start = text, .at = text, .pc = pc_bytes, .urz = urz};
    out->nvalues = out->nmods = out->nopcode_mods = 0;
    out->key[0] = out->mods[0] = 0;
    if (read_insn(&reader))
        return true;
    *at = reader.at;
    snprintf(why, LEARN_WHY_BYTES, "%s", reader.why ? reader.why : "this is no instruction");
    return false;
}

unsigned learn_arch_size(const char *text) {
    unsigned digits = 0;
    if (strncmp(text, "sm_", 3) != 0)
        return 0;
    while (isdigit((unsigned char)text[3 + digits]))
        digits++;
    unsigned size = 3 + digits;
    size += digits >= 2 && (text[size] == 'a' || text[size] == 'f');
    return digits >= 2 && digits <= 3 && !is_name_char((unsigned char)text[size]) ? size : 0;
}

/* The file of uniform registers has 64 numbers until sm_90 and 256 since sm_100. */
unsigned learn_urz(const char *arch) { return strtoul(arch + 3, NULL, 10) >= 100 ? 255 : 63; }

bool learn_same_text(const char *text, const char *other) {
    for (;; text++, other++) {
        text = skip_blanks(text);
        other = skip_blanks(other);
        if (*text != *other)
            return false;
        if (!*text)
            return true;
    }
}
