/* What was learned as rows of the instruction descriptions (docs/isa-language.md). An instruction's word is
 *
 *     rest + sum of values times weights
 *
 * so a value whose weight is a power of two is a field from that bit on, a modifier of an operand with one
 * bit as weight is that bit, and what is left is fixed. Modifiers of the opcode are part of the name: each
 * set of them is a row. What cannot be said so is a comment with the reason. Of an operand's width the words
 * say little: registers have that of their file, numbers end where negative ones say so, or before what else
 * there is, at 32 bits at most.
 *
 * A dump does not say what an instruction does: every operand is a source, and the row is not simulated.
 * SPDX-License-Identifier: MIT */
#include "learn/row.h"
#include "base/scope.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool row_refuse(LearnDraft *row, const char *why, const char *what) {
    snprintf(row->why, sizeof row->why, "%s%s%s", why, *what ? " " : "", what);
    return false;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *format, ...) {
    size_t n = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + n, size - n, format, list);
    va_end(list);
}
#define APPEND(text, ...) append(text, sizeof(text), __VA_ARGS__)

static const char *mod_text(const LearnDraft *row, StrId mod) {
    return str_text(&row->repository->strings, mod);
}

/* ---- weights ---- */

static unsigned bit_of(Wide weight) {
    unsigned bit = 0;
    while (bit < NO_BIT && !(weight >> bit & 1))
        bit++;
    return weight && weight == (Wide)1 << bit ? bit : NO_BIT;
}

static bool feature_weight(const LearnDraft *row, uint32_t feature, Wide *out) {
    uint64_t weight[2];
    bool negative;
    if (!learn_system_weight(&row->weights->system, feature, weight, &negative) || negative)
        return false;
    *out = (Wide)weight[1] << 64 | weight[0];
    return true;
}

/* The bit that a modifier of an operand is, NO_BIT if it is none or that is open. */
static unsigned mod_bit(const LearnDraft *row, unsigned operand, const char *name) {
    char full[40];
    Wide weight;
    snprintf(full, sizeof full, "%u_%s", operand, name);
    StrId id = str_find(&row->repository->strings, full, strlen(full));
    uint32_t feature = id.i ? strmap_get(&row->weights->features, id) : 0;
    return feature && feature_weight(row, feature - 1, &weight) ? bit_of(weight) : NO_BIT;
}

static const struct {
    const char *name, *field;
} attributes[] = {{"Neg", "SignModi %s.neg = False"},
                  {"Not", "PModi %s.not = False"},
                  {"Inv", "SignModi %s.bitnot = False"},
                  {"Abs", "SignModi %s.abs = False"}};
enum { NATTRIBUTES = sizeof attributes / sizeof *attributes };

/* Is the modifier a bit of its own, beside the row's name and syntax? Those of the guard, of negative numbers
 * and operands' signs. */
static bool is_field(const LearnDraft *row, const char *mod) {
    unsigned operand = (unsigned)strtoul(mod, NULL, 10);
    const char *name = strchr(mod, '_') + 1;
    if (!operand)
        return strcmp(name, "PNot") == 0 || strcmp(name, "UP") == 0;
    if (strcmp(name, "NegIntImme") == 0 || strcmp(name, "NegAddrOffset") == 0 ||
        strcmp(name, "NegTarget") == 0)
        return true;
    for (unsigned i = 0; i < NATTRIBUTES; i++)
        if (strcmp(attributes[i].name, name) == 0)
            return mod_bit(row, operand, name) != NO_BIT;
    return false;
}

/* Do two patterns belong to one row? */
bool learn_draft_same(const LearnDraft *row, const LearnPattern *pattern, const LearnPattern *other) {
    unsigned i = 0, k = 0;
    for (;;) {
        while (i < pattern->nmods && is_field(row, mod_text(row, pattern->mod[i])))
            i++;
        while (k < other->nmods && is_field(row, mod_text(row, other->mod[k])))
            k++;
        if (i == pattern->nmods || k == other->nmods)
            return i == pattern->nmods && k == other->nmods;
        if (pattern->mod[i++].i != other->mod[k++].i)
            return false;
    }
}

/* ---- fields ---- */

/* Without g: pg is the guard. */
static char slot_letter(const LearnDraft *row) { return "abcdefhijklmnopq"[row->nslots]; }

static bool claim(LearnDraft *row, unsigned lo, unsigned width, const char *name) {
    if (lo + width > 128)
        return row_refuse(row, "no place in the word for", name);
    Wide bits = (((Wide)1 << width) - 1) << lo;
    if (row->owned & bits)
        return row_refuse(row, "fields overlap at", name);
    row->owned |= bits;
    return true;
}

static Wide seen_value(const LearnDraft *row, unsigned value) {
    return (Wide)(__extension__(__int128) row->seen->values[value]);
}

static bool value_bit(LearnDraft *row, unsigned value, unsigned *bit) {
    Wide weight;
    *bit = feature_weight(row, value, &weight) ? bit_of(weight) : NO_BIT;
    if (*bit != NO_BIT)
        row->parts += seen_value(row, value) << *bit;
    return *bit != NO_BIT;
}

/* Is the value the same in all patterns of the row? */
static bool is_constant(const LearnDraft *row, unsigned value) {
    for (uint32_t p = 0; p < row->key->patterns.n; p++) {
        const LearnPattern *pattern = &row->repository->patterns.at[row->key->patterns.at[p]];
        if (pattern->number != row->group->number || !learn_draft_same(row, row->first, pattern))
            continue;
        for (uint32_t k = 0; k < pattern->seen.n; k++)
            if (pattern->seen.at[k].values[value] != row->seen->values[value])
                return false;
    }
    return true;
}

static bool has_field_mod(const LearnDraft *row, unsigned operand, const char *name) {
    char full[40];
    snprintf(full, sizeof full, "%u_%s", operand, name);
    for (unsigned i = 0; i < row->first->nmods; i++)
        if (strcmp(mod_text(row, row->first->mod[i]), full) == 0)
            return true;
    return false;
}

static bool add_attributes(LearnDraft *row, const char *slot) {
    for (unsigned i = 0; i < NATTRIBUTES; i++) {
        unsigned bit = mod_bit(row, row->operand, attributes[i].name);
        if (bit == NO_BIT)
            continue;
        if (!claim(row, bit, 1, attributes[i].name))
            return false;
        if (has_field_mod(row, row->operand, attributes[i].name))
            row->parts += (Wide)1 << bit;
        APPEND(row->fields, "    field<%u, 1> ", bit);
        APPEND(row->fields, attributes[i].field, slot);
        APPEND(row->fields, ";\n");
    }
    return true;
}

static void add_slot(LearnDraft *row, const char *name) {
    APPEND(row->slots, "%s%s", row->nslots++ ? ", " : "", name);
}

static const struct {
    const char *prefix, *zero, *type, *slot;
    uint8_t width;
} files[] = {{"UR", "URZ", "UReg", "u", 6},
             {"UP", "UPT", "UPred", "up", 3},
             {"R", "RZ", "Reg", "r", 8},
             {"P", "PT", "Pred", "p", 3},
             {"B", NULL, "BReg", "b", 4}};
enum { NFILES = sizeof files / sizeof *files };

/* The file of the register that the text begins with, and where that ends. */
static unsigned file_at(const char *text, const char **end) {
    for (unsigned i = 0; i < NFILES; i++) {
        size_t size = strlen(files[i].prefix), zero = files[i].zero ? strlen(files[i].zero) : 0;
        if (zero && strncmp(text, files[i].zero, zero) == 0 && !isalnum((unsigned char)text[zero])) {
            *end = text + zero;
            return i;
        }
        if (strncmp(text, files[i].prefix, size) == 0 && isdigit((unsigned char)text[size])) {
            for (*end = text + size; isdigit((unsigned char)**end);)
                ++*end;
            return i;
        }
    }
    return NFILES;
}

StrId learn_reuse_id(StrTab *strings, const char *opcode, unsigned bit) {
    char name[LEARN_KEY_BYTES + 8];
    int n = snprintf(name, sizeof name, "%s %u", opcode, bit);
    return str_intern(strings, name, (size_t)n);
}

/* Bits 122 to 124 keep a source at 24, 32 and 64 in the operand cache; they are taken out before learning. */
static bool add_reuse(LearnDraft *row, unsigned bit, const char *slot) {
    unsigned reuse = bit == 24 ? 122 : bit == 32 ? 123 : bit == 64 ? 124 : NO_BIT;
    const char *opcode = mod_text(row, row->key->opcode);
    if (reuse == NO_BIT || !strmap_get(&row->maker->reused, learn_reuse_id(row->strings, opcode, reuse)))
        return true;
    APPEND(row->fields, "    reuse<%u> %s;\n", reuse, slot);
    return claim(row, reuse, 1, slot);
}

/* Where a number of a predicate is that was PT alone: below its negation, as in all rows that there are. */
static unsigned below_negation(const LearnDraft *row, unsigned value) {
    unsigned bit = mod_bit(row, row->operand, "Not");
    Wide word = (Wide)row->seen->word[1] << 64 | row->seen->word[0];
    return bit == NO_BIT || bit < 3 || (word >> (bit - 3) & 7) != seen_value(row, value) ? NO_BIT : bit - 3;
}

/* A register: a field, or a word where it is always the same. */
static bool add_register(LearnDraft *row, unsigned file, const char *text, const char *end, char slot[16]) {
    unsigned bit, value = row->value++;
    snprintf(slot, 16, "%s%c", files[file].slot, slot_letter(row));
    bool found = value_bit(row, value, &bit);
    if (!found && files[file].width == 3 && (bit = below_negation(row, value)) != NO_BIT) {
        row->parts += seen_value(row, value) << bit;
        found = true;
    }
    if (!found) {
        if (!files[file].zero || strncmp(text, files[file].zero, strlen(files[file].zero)) != 0 ||
            !is_constant(row, value))
            return row_refuse(row, "what was seen does not say where the number stands of",
                              files[file].prefix);
        snprintf(slot, 16, "%.*s", (int)(end - text), text);
        return true;
    }
    unsigned width = files[file].width == 6 && row->repository->urz > 63 ? 8 : files[file].width;
    if (!claim(row, bit, width, slot))
        return false;
    APPEND(row->fields, "    field<%u, %u> %s %s%s%s;\n", bit, width == 8 && file == 0 ? 6 : width,
           files[file].type, slot, files[file].zero ? " = " : "", files[file].zero ? files[file].zero : "");
    add_slot(row, slot);
    return file != 2 || add_reuse(row, bit, slot);
}

/* Bits from `bit` on that neither fields have nor the word beside `part` has set, `most` at most. */
static unsigned free_bits(const LearnDraft *row, Wide part, unsigned bit, unsigned most) {
    Wide rest = ((Wide)row->seen->word[1] << 64 | row->seen->word[0]) - part;
    unsigned width = 0;
    while (width < most && bit + width < 102 && !((row->owned | rest) >> (bit + width) & 1))
        width++;
    return width;
}

/* How many bits from `bit` on a number has. */
static unsigned number_width(const LearnDraft *row, unsigned bit, const char *negative, bool *is_signed) {
    unsigned top = mod_bit(row, row->operand, negative);
    *is_signed = top != NO_BIT && top > bit;
    if (*is_signed)
        return top - bit;
    return free_bits(row, seen_value(row, row->value - 1) << bit, bit, 32);
}

/* Are this value and the next parts of one number? */
static bool in_parts(const LearnDraft *row) {
    const LearnPlace *place = &row->key->places[row->value];
    return row->value + 1 < row->key->nvalues && place[0].kind == 'I' && place[1].kind == 'I' &&
           place[0].operand == place[1].operand;
}

/* A number of 64 bits: its upper half is a value, then its lower half (treatments.def). */
static bool add_wide_number(LearnDraft *row, char slot[16]) {
    unsigned low, high;
    snprintf(slot, 16, "n%c", slot_letter(row));
    if (!value_bit(row, row->value, &high) || !value_bit(row, row->value + 1, &low))
        return row_refuse(row, "what was seen does not say where the halves stand of", slot);
    row->value += 2;
    if (high != low + 32)
        return row_refuse(row, "a number is kept in parts", "");
    APPEND(row->fields, "    field<%u, 64> UImm64 %s;\n", low, slot);
    add_slot(row, slot);
    return claim(row, low, 64, slot);
}

static bool add_number(LearnDraft *row, const char *prefix, const char *negative, char slot[16]) {
    unsigned bit;
    bool is_signed;
    snprintf(slot, 16, "%s%c", prefix, slot_letter(row));
    if (!value_bit(row, row->value++, &bit)) {
        int64_t always = row->seen->values[row->value - 1];
        if (!is_constant(row, row->value - 1) || always < INT32_MIN || always > INT32_MAX)
            return row_refuse(row, "what was seen does not say where it stands:", prefix);
        APPEND(row->fields, "    imm<SImm32> %s == %lld;\n", slot, (long long)always);
        add_slot(row, slot);
        return true;
    }
    unsigned width = number_width(row, bit, negative, &is_signed);
    if (is_signed && has_field_mod(row, row->operand, negative))
        row->parts += (Wide)1 << (bit + width);
    if (!width || !claim(row, bit, width, slot))
        return row_refuse(row, "no place in the word for", slot);
    APPEND(row->fields, "    field<%u, %u> %cImm%u %s%s;\n", bit, width, is_signed ? 'S' : 'U', width, slot,
           prefix[0] == 'o' ? " = 0" : "");
    add_slot(row, slot);
    return true;
}

static bool add_float(LearnDraft *row, char slot[16]) {
    unsigned bit;
    snprintf(slot, 16, "f%c", slot_letter(row));
    if (!value_bit(row, row->value++, &bit) || !claim(row, bit, 32, slot))
        return row_refuse(row, "what was seen does not say where the number with a point stands", "");
    APPEND(row->fields, "    field<%u, 32> F32Imm %s;\n", bit, slot);
    add_slot(row, slot);
    return true;
}

/* ---- operands ---- */

/* "[R2.64+UR4+0x10]", behind the bracket; what it is goes to `out`. */
static bool add_address(LearnDraft *row, const char *text, char out[64], bool described) {
    const char *end;
    bool any = false;
    if (described)
        APPEND(row->fields, "    mod<LearnedOn> desc == ON;\n");
    snprintf(out, 64, "[");
    for (; *text && *text != ']'; text += *text == '+') {
        char slot[16];
        unsigned file = file_at(text, &end);
        if (file == NFILES)
            break;
        if (!add_register(row, file, text, end, slot))
            return false;
        if (!islower((unsigned char)slot[0]))
            return row_refuse(row, "a register of an address is always", slot);
        if (strncmp(end, ".64", 3) == 0) {
            APPEND(row->fields, "    mod<LearnedOn> w%s == ON;\n    wide<%s> = w%s;\n", slot, slot, slot);
            end += 3;
        }
        if (*end == '.')
            return row_refuse(row, "an address with", end);
        append(out, 64, "%s%s", any ? "+" : "", slot);
        any = true;
        text = end;
    }
    char slot[16];
    if (!add_number(row, "offset", "NegAddrOffset", slot))
        return false;
    append(out, 64, "%s%s]", any ? "+" : "", slot);
    return true;
}

/* An offset below zero is printed of 16 bits, or of 17 with their sign. */
static unsigned bank_offset_width(const LearnDraft *row, unsigned at) {
    return mod_bit(row, row->operand, "NegAddrOffset") == at + 17 ? 17 : 16;
}

/* c[bank][offset], c[bank][UR4+offset] */
static bool add_constant(LearnDraft *row, const char *text, char out[64]) {
    unsigned bank, at;
    const char *end, *inside = strstr(text, "][");
    char slot[16] = "", index[16] = "";
    if (!inside)
        return row_refuse(row, "no constant:", text);
    unsigned bank_value = row->value++, file = file_at(inside + 2, &end);
    if (file < NFILES && !add_register(row, file, inside + 2, end, index))
        return false;
    if (isupper((unsigned char)index[0]))
        return row_refuse(row, "the index of a constant is always", index);
    unsigned offset_value = row->value++;
    if (!value_bit(row, offset_value, &at))
        return row_refuse(row, "what was seen does not say where the place in a bank stands", "");
    unsigned width = bank_offset_width(row, at);
    if (row->seen->values[offset_value] < 0)
        row->parts += (Wide)1 << (at + width);
    if (!value_bit(row, bank_value, &bank))
        return row_refuse(row, "what was seen does not say where the number of the bank stands", "");
    snprintf(slot, sizeof slot, "cb%c", slot_letter(row));
    if (!claim(row, at, width, slot) || !claim(row, bank, 5, slot))
        return false;
    APPEND(row->fields, "    field<{%u, 5}, {%u, %u}> CMem %s;\n", bank, at, width, slot);
    add_slot(row, slot);
    snprintf(out, 64, *index ? "%s[%s]" : "%s", slot, index);
    return true;
}

/* The distance to a place, in two parts of the bytes at bit 10. */
static bool add_target(LearnDraft *row, char out[64]) {
    unsigned low, high;
    if (!value_bit(row, row->value, &low) || !value_bit(row, row->value + 1, &high))
        return row_refuse(row, "what was seen does not say where the distance stands", "");
    row->value += 2;
    bool whole = high == low + 10;
    unsigned top = mod_bit(row, row->operand, "NegTarget"), width;
    Wide part = (seen_value(row, row->value - 2) << low) + (seen_value(row, row->value - 1) << high);
    width = free_bits(row, part, high, whole ? 40 : 48);
    if (top != NO_BIT && top > high)
        width = top - high;
    if (has_field_mod(row, row->operand, "NegTarget"))
        row->parts += (Wide)1 << (high + width);
    if (!claim(row, low + 2, 8, "distance") || !claim(row, high, width, "distance"))
        return false;
    if (whole)
        APPEND(row->fields, "    field<%u, %u> SImm%u distance;\n", low + 2, width + 8, width + 8);
    else
        APPEND(row->fields, "    field<{%u, 8}, {%u, %u}> SImm%u distance;\n", low + 2, high, width,
               width + 8);
    add_slot(row, "distance");
    snprintf(out, 64, "distance:target");
    return true;
}

static bool add_plain(LearnDraft *row, const char *text, char out[64]) {
    const char *end;
    char slot[16];
    unsigned file = file_at(text, &end);
    if (file < NFILES) {
        if (!add_register(row, file, text, end, slot) ||
            (islower((unsigned char)slot[0]) && !add_attributes(row, slot)))
            return false;
        if (*end && *end != '|')
            return row_refuse(row, "an operand with", end);
        snprintf(out, 64, "%s", slot);
        return true;
    }
    for (end = text; isupper((unsigned char)*end) || isdigit((unsigned char)*end) || *end == '_';)
        end++;
    if (*end || !isupper((unsigned char)*text))
        return row_refuse(row, "an operand as", text);
    snprintf(out, 64, "%s", text);
    return true;
}

/* Is each sign before an operand a bit? That of a number is part of it. */
static bool has_sign_bits(const LearnDraft *row, const char *text, const char *start) {
    static const struct {
        char sign;
        const char *name;
    } signs[] = {{'-', "Neg"}, {'!', "Not"}, {'~', "Inv"}, {'|', "Abs"}};
    bool number =
        isdigit((unsigned char)*start) || strncmp(start, "INF", 3) == 0 || strncmp(start, "QNAN", 4) == 0;
    for (; text < start; text++)
        for (size_t i = 0; !number && i < sizeof signs / sizeof *signs; i++)
            if (signs[i].sign == *text && mod_bit(row, row->operand, signs[i].name) == NO_BIT)
                return false;
    return true;
}

/* Is the operand, behind its sign, the register that is no register wherever the row was seen? Its sign is,
 * too: those that are no bit part rows. */
static bool is_always(const LearnDraft *row, const char *text) {
    const char *end;
    unsigned file = file_at(text, &end);
    return file < NFILES && !*end && files[file].zero && strcmp(text, files[file].zero) == 0 &&
           is_constant(row, row->value);
}

/* ".H1" behind an operand, or NULL. */
static const char *suffix_of(const char *text) {
    const char *dot = strrchr(text, '.');
    return dot && isalpha((unsigned char)dot[1]) && !strchr(dot, ']') ? dot : NULL;
}

static bool add_operand(LearnDraft *row, const char *text) {
    const char *start = text + strspn(text, "-!~|"), *kind = mod_text(row, row->key->name);
    char out[64] = "", slot[16];
    bool last_is_target = strcmp(kind + strlen(kind) - 2, "_T") == 0 && row->value + 2 == row->key->nvalues;
    bool good = true;
    row->operand++;
    if (suffix_of(text))
        return row_refuse(row, "an operand with", suffix_of(text));
    if (start != text && !has_sign_bits(row, text, start)) {
        if (!is_always(row, start))
            return row_refuse(row, "what was seen does not say which bit the sign is of", text);
        row->value++;
        APPEND(row->syntax, "%s%s", row->operand > 1 ? ", " : " ", text);
        return true;
    }
    if (last_is_target)
        good = add_target(row, out);
    else if (strncmp(start, "0x", 2) == 0 && in_parts(row) &&
             !(row->seen->values[row->value] == 0 && is_constant(row, row->value))) {
        good = add_wide_number(row, slot);
        snprintf(out, sizeof out, "%s:absolute", slot);
    } else if (strncmp(start, "0x", 2) == 0) {
        row->value += in_parts(row);
        good = add_number(row, "n", "NegIntImme", slot);
        snprintf(out, sizeof out, "%s", slot);
    } else if (strncmp(start, "c[", 2) == 0)
        good = add_constant(row, start, out) && add_attributes(row, "cb");
    else if (strncmp(start, "desc[", 5) == 0) {
        const char *second = strstr(start, "][");
        char descriptor[16];
        const char *end;
        unsigned file = file_at(start + 5, &end);
        if (!second || file == NFILES || !add_register(row, file, start + 5, end, descriptor))
            return false;
        good = add_address(row, second + 2, out, true);
        char *close = strrchr(out, ']');
        const char *offset = strstr(out, "offset");
        if (good && close && offset) { /* [ra+urb+offset] */
            char tail[32];
            snprintf(tail, sizeof tail, "%s", offset);
            snprintf(out + (offset - out), sizeof out - (size_t)(offset - out), "%s+%s", descriptor, tail);
        }
    } else if (*start == '[')
        good = add_address(row, start + 1, out, false);
    else if (isdigit((unsigned char)*start) || (*start == '+') || strncmp(start, "INF", 3) == 0 ||
             strncmp(start, "QNAN", 4) == 0) {
        good = add_float(row, slot);
        snprintf(out, sizeof out, "%s", slot);
    } else
        good = add_plain(row, start, out);
    APPEND(row->syntax, "%s%s", row->operand > 1 ? ", " : " ", out);
    return good;
}

static bool add_operands(LearnDraft *row, const char *text) {
    while (*text) {
        char operand[LEARN_TEXT_BYTES];
        size_t size = strcspn(text, ",");
        snprintf(operand, sizeof operand, "%.*s", (int)size, text);
        for (size_t n = strlen(operand); n && operand[n - 1] == ' ';)
            operand[--n] = 0;
        if (strchr(operand, '{'))
            return row_refuse(row, "a set of scoreboards", "");
        if (!add_operand(row, operand))
            return false;
        text += size;
        text += strspn(text, ", ");
    }
    return row->value == row->key->nvalues || row_refuse(row, "a number is kept in parts", "");
}

/* ---- the whole ---- */

/* What no field holds is fixed where it is one, and zero elsewhere. */
static bool add_fixed(LearnDraft *row) {
    const Wide control = ((Wide)0x1ffff) << LEARN_CONTROL_BIT, guard = (Wide)0xf << 12;
    Wide rest = ((Wide)row->seen->word[1] << 64 | row->seen->word[0]) - row->parts,
         always = (Wide)0xfff | guard | control;
    if (row->owned & always)
        return row_refuse(row, "an operand lies where the opcode, the guard or the scheduling is", "");
    if (rest & row->owned)
        return row_refuse(row, "an operand is no sum of its number and its bit", "");
    rest &= ~always;
    for (unsigned bit = 16, end; bit < 128; bit = end) {
        for (end = bit; end < 128 && rest >> end & 1;)
            end++;
        if (end == bit) {
            end++;
            continue;
        }
        unsigned width = end - bit > 32 ? 32 : end - bit;
        APPEND(row->fields, "    field<%u, %u> UImm%u fixed%u == 0x%llx;\n", bit, width, width, bit,
               (1ull << width) - 1);
        end = bit + width;
    }
    return true;
}

/* "@!P0 NAME.MODS operands": what stands before the operands is copied to `name`. */
static const char *split_name(const char *text, char name[80]) {
    if (*text == '@')
        text += strcspn(text, " ") + 1;
    text += strspn(text, " ");
    size_t size = strcspn(text, " ");
    snprintf(name, 80, "%.*s", (int)size, text);
    text += size;
    return text + strspn(text, " ");
}

bool learn_draft_is_uniform(const LearnDraft *row, const char *name) {
    for (uint32_t p = 0; p < row->key->patterns.n; p++) {
        const LearnPattern *pattern = &row->repository->patterns.at[row->key->patterns.at[p]];
        for (unsigned i = 0; i < pattern->nmods; i++)
            if (strcmp(mod_text(row, pattern->mod[i]), "0_UP") == 0)
                return true;
    }
    return name[0] == 'U';
}

bool learn_draft_make(LearnDraft *row, char name[ROW_NAME_BYTES]) {
    const char *operands = split_name(row->seen->text, name);
    uint32_t guard = (uint32_t)row->seen->values[0];
    bool negated = false;
    for (unsigned i = 0; i < row->first->nmods; i++)
        negated |= strcmp(mod_text(row, row->first->mod[i]), "0_PNot") == 0;
    row->parts = ((Wide)guard << 12) + (negated ? (Wide)1 << 15 : 0);
    row->value = 1;
    return row->group->level != LEARN_PATTERNS ? add_operands(row, operands) && add_fixed(row)
                                               : row_refuse(row, "no fields fit what was seen", "");
}
