/* A diagnostic in ptxas's words, by the rows of messages.def. Rows for whole codes are formats for the
 * diagnostic's own arguments, so that the diagnostic is written in them at once; the others choose by the
 * text that Heddle has for it, and their parts are taken from that text and from the input.
 * SPDX-License-Identifier: MIT */
#include "tools/ptxas/words.h"
#include "frontend/forms.h"
#include "frontend/modifiers.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Of whole codes. */
static const struct {
    MessageClass class;
    const char *format;
} rows[DIAG_COUNT] = {
#define PTXAS(code, class, format) [DIAG_##code] = {MSG_##class, format},
#include "tools/ptxas/messages.def"
};

/* Of one code, by what its own text says. */
static const struct {
    DiagCode code;
    const char *words;
    MessageClass class;
    const char *format;
} where_rows[] = {
#define PTXAS_WHERE(code, words, class, format) {DIAG_##code, words, MSG_##class, format},
#include "tools/ptxas/messages.def"
};

/* Of a modifier that the opcode does not take, by its class. */
typedef enum { ANY, AGAIN, TAKEN, UNTYPED } Which;
static const struct {
    char letter;
    Which which;
    MessageClass class;
    const char *format;
} modifier_rows[] = {
#define PTXAS_MODIFIER(letter, which, class, format) {letter, which, MSG_##class, format},
#include "tools/ptxas/messages.def"
};

/* Of the operations of atom and red, by their types. */
static const struct {
    const char *operation;
    MessageClass class;
    const char *format;
} operation_rows[] = {
#define PTXAS_OPERATION(operation, class, format) {operation, MSG_##class, format},
#include "tools/ptxas/messages.def"
};

static const char *const unnamed[] = {
#define PTXAS_UNNAMED(word) word,
#include "tools/ptxas/messages.def"
};

/* ---- names ---- */

const char *ptxas_opcode(Arena *arena, const DiagPlace *place) {
    if (!place->opcode)
        return NULL;
    char *name = arena_printf(arena, "%s", place->opcode);
    const char *modifiers = place->modifiers;
    if (!modifiers)
        return name;
    const char *end = modifiers + form_name_bytes(place->opcode, modifiers);
    for (const char *at = modifiers; at < end;) {
        size_t size = 1 + strcspn(at + 1, ".");
        bool left_out = false;
        for (unsigned k = 0; k < sizeof unnamed / sizeof *unnamed; k++)
            left_out |= strlen(unnamed[k]) == size - 1 && memcmp(unnamed[k], at + 1, size - 1) == 0;
        if (!left_out)
            name = arena_printf(arena, "%s%.*s", name, (int)size, at);
        at += size;
    }
    return name;
}

/* "9.0" */
static const char *newest_version(Arena *arena) {
    unsigned major = 1;
    while (ptx_last_minor(major + 1) >= 0)
        major++;
    return arena_printf(arena, "%u.%d", major, ptx_last_minor(major));
}

const char *ptxas_format(Arena *arena, DiagCode code, const DiagRecord *record) {
    static const char or_argument[] = "o%.0s";
    const char *format = rows[code].format, *at = format;
    while (at && (at = strchr(at, '%')) && !strchr("ovf", at[1]))
        at++;
    if (!at)
        return format;
    const char *opcode = ptxas_opcode(arena, &record->place);
    if (!opcode && strncmp(at + 1, or_argument, strlen(or_argument)) == 0)
        return arena_printf(arena, "%.*s%%s%s", (int)(at - format), format, at + 1 + strlen(or_argument));
    const char *word = at[1] == 'v'     ? newest_version(arena)
                       : at[1] == 'o'   ? opcode
                       : record->source ? record->source->name
                                        : NULL;
    return arena_printf(arena, "%.*s%.*s%s", (int)(at - format), format, word ? (int)strcspn(word, "%") : 0,
                        word ? word : "", at + 2);
}

/* ---- parts of the own text and of the input ---- */

static bool is_name_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%'; }

/* What the place points at: a name, behind the bracket or dot before it, or one character. */
static const char *token_at(Arena *arena, const DiagRecord *record) {
    const Source *source = record->source;
    if (!source || !source->text || !record->loc.i || record->loc.i > source->size_bytes)
        return "";
    const char *at = source->text + record->loc.i - 1;
    at += *at == '[' || *at == '.';
    int size = 0;
    while (is_name_char(at[size]))
        size++;
    return arena_printf(arena, "%.*s", size ? size : *at != 0, at);
}

/* What stands between the last two quotation marks. */
static const char *last_quoted(Arena *arena, const char *text) {
    const char *end = strrchr(text, '\''), *begin = end;
    while (begin && begin > text && *--begin != '\'')
        ;
    return begin && begin < end ? arena_printf(arena, "%.*s", (int)(end - begin - 1), begin + 1) : "";
}

/* Behind the longest number that the text begins with: "9" of "09", "abc" of "12abc". */
static const char *behind_number(const char *text) {
    if (text[0] == '0' && (text[1] == 'b' || text[1] == 'B') && (text[2] == '0' || text[2] == '1'))
        return text + 2 + strspn(text + 2, "01");
    text += strspn(text, text[0] == '0' ? "01234567" : "0123456789");
    return text[0] == '.' ? text + 1 + strspn(text + 1, "0123456789") : text;
}

static const char *end_word(Arena *arena, const char *text, bool last) {
    const char *space = last ? strrchr(text, ' ') : NULL;
    return arena_printf(arena, "%.*s", (int)strcspn(space ? space + 1 : text, " "), space ? space + 1 : text);
}

/* Elements of the first vector operand behind the place; 0: there is none in the statement. */
static unsigned vector_elements(const DiagRecord *record) {
    const Source *source = record->source;
    if (!source || !source->text || !record->loc.i || record->loc.i > source->size_bytes)
        return 0;
    const char *at = source->text + record->loc.i - 1;
    at += strcspn(at, "{;");
    unsigned n = *at == '{';
    for (; n && *at && !strchr("};", *at); at++)
        n += *at == ',';
    return n;
}

/* Does the text have the words in their order? '*' between them is anything. */
static bool has_words(const char *text, const char *words) {
    for (;;) {
        size_t size = strcspn(words, "*");
        const char *at = text;
        while (strncmp(at, words, size) != 0)
            if (!*at++)
                return false;
        if (!words[size])
            return true;
        text = at + size;
        words += size + 1;
    }
}

/* The row's %o, %t, %q, %l, %s, %m ... filled in. */
static const char *fill_parts(Arena *arena, const DiagRecord *record, const char *format,
                              const char *modifier) {
    const char *opcode, *text = "", *at;
    for (; (at = strchr(format, '%')) != NULL; format = at + 2) {
        const char *part = "";
        switch (at[1]) {
        case 'o': opcode = ptxas_opcode(arena, &record->place), part = opcode ? opcode : ""; break;
        case 't': part = token_at(arena, record); break;
        case 'q': part = last_quoted(arena, record->text); break;
        case 'z': part = behind_number(last_quoted(arena, record->text)); break;
        case 'l': part = end_word(arena, record->text, true); break;
        case 's': part = end_word(arena, record->text, false); break;
        case '2':
            part = strchr(record->text, ' '), part = part ? end_word(arena, part + 1, false) : "";
            break;
        case 'a':
            part = strchr(record->text, ' ');
            part = part ? arena_printf(arena, "%d", atoi(part) - 1) : "";
            break;
        case 'n': part = arena_printf(arena, "%u", vector_elements(record)); break;
        case 'd': part = strrchr(record->text, '.'), part = part ? part + 1 : ""; break;
        case 'f': part = record->source && record->source->name ? record->source->name : ""; break;
        case 'k': part = record->place.function ? record->place.function : ""; break;
        case 'w': part = record->place.opcode ? record->place.opcode : ""; break;
        case 'e':
            part = record->place.modifiers ? strrchr(record->place.modifiers, '.') : NULL;
            part = part ? part + 1 : "";
            break;
        case 'm': part = modifier; break;
        case 'p':
            part = strstr(record->text, " parameter ");
            part = part ? arena_printf(arena, "%.*s", (int)strcspn(part + 11, ":"), part + 11) : "";
            break;
        default: break;
        }
        text = arena_printf(arena, "%s%.*s%s", text, (int)(at - format), format, part);
    }
    return arena_printf(arena, "%s%s", text, format);
}

/* ---- modifiers ---- */

static bool in_class(char letter, const char *word, size_t size) {
    return letter == 't' ? ptx_type_by_name(word, size) != TY_NONE
                         : ptx_modifier_find(letter, word, size) != NULL;
}

static bool is_known(const char *word, size_t size) {
    bool known = in_class('t', word, size);
    for (unsigned k = 0; k < ptx_class_count(); k++)
        known |= in_class(ptx_class_row(k)->letter, word, size);
    return known;
}

/* Has the statement another one of that class before? */
static bool is_again(const DiagRecord *record, char letter, const char *word) {
    const char *at = record->place.modifiers;
    for (; at && *at; at += 1 + strcspn(at + 1, ".")) {
        size_t size = strcspn(at + 1, ".");
        if (in_class(letter, at + 1, size) &&
            (size != strlen(word) || memcmp(at + 1, word, size) != 0 || strstr(at + 1 + size, word)))
            return true;
    }
    return false;
}

/* ptxas tells first that an atomic operation of such a type must say .noftz; NULL: it does, or need not. */
static const char *lacks_noftz(Arena *arena, const DiagRecord *record, const char *type) {
    const char *of_half = strstr(type, "f16");
    if (!of_half || of_half > type + 1 || strstr(record->place.modifiers, ".noftz"))
        return NULL;
    for (unsigned k = 0; k < sizeof where_rows / sizeof *where_rows; k++)
        if (where_rows[k].code == DIAG_E0107 && strcmp(where_rows[k].words, "one of .noftz") == 0)
            return fill_parts(arena, record, where_rows[k].format, "");
    return NULL;
}

/* An atomic operation that the statement's type has not. */
static bool of_operation(Arena *arena, const DiagRecord *record, const char *word, PtxasWords *out) {
    const char *opcode = record->place.opcode, *modifiers = record->place.modifiers;
    const char *dot = modifiers ? strrchr(modifiers, '.') : NULL;
    if (!opcode || !dot || (strcmp(opcode, "atom") != 0 && strcmp(opcode, "red") != 0))
        return false;
    size_t size = strlen(dot + 1);
    if (!in_class('t', dot + 1, size))
        return false;
    for (unsigned k = 0; k < sizeof operation_rows / sizeof *operation_rows; k++) {
        const char *format = operation_rows[k].format;
        if (strcmp(operation_rows[k].operation, word) != 0 ||
            strstr(format, arena_printf(arena, "%s ", dot)) ||
            strstr(format, arena_printf(arena, " %s ", dot + 1)))
            continue;
        const char *first = lacks_noftz(arena, record, dot + 1);
        const char *told = fill_parts(arena, record, format, word);
        *out =
            (PtxasWords){operation_rows[k].class, first ? arena_printf(arena, "%s\n%s", first, told) : told};
        return true;
    }
    return false;
}

/* A modifier in no form of the opcode, or in none with the others. */
static void of_modifier(Arena *arena, const DiagRecord *record, PtxasWords *out) {
    const char *quoted = strchr(record->text, '\'');
    size_t size = quoted ? strcspn(quoted + 2, "'") : 0;
    const char *word = arena_printf(arena, "%.*s", (int)size, quoted ? quoted + 2 : "");
    const char *opcode = record->place.opcode ? record->place.opcode : "";
    const char *modifiers = record->place.modifiers ? record->place.modifiers : "";
    const char *of_name = strstr(modifiers, word);
    if (of_operation(arena, record, word, out))
        return;
    bool known = is_known(word, size);
    bool in_name = of_name && (size_t)(of_name - modifiers) + size <= form_name_bytes(opcode, modifiers);
    unsigned elements = vector_elements(record);
    bool of_vector = !known && size == 2 && word[0] == 'v' && isdigit((unsigned char)word[1]) && elements;
    for (unsigned k = 0; k < sizeof modifier_rows / sizeof *modifier_rows; k++) {
        char letter = modifier_rows[k].letter;
        Which which = modifier_rows[k].which;
        bool fits = letter == '?'   ? !known
                    : letter == 'V' ? of_vector
                    : letter == 'W'
                        ? of_vector && elements != 1 && elements != 2 && elements != 4 && elements != 8
                    : letter == '!' ? in_name
                    : letter == '*' ? known
                                    : in_class(letter, word, size);
        fits &= which != AGAIN || is_again(record, letter, word);
        fits &= which != TAKEN || form_takes_class(opcode, letter);
        fits &= which != UNTYPED || (form_takes_class(opcode, 't') && !is_again(record, 't', word));
        if (!fits)
            continue;
        *out = (PtxasWords){modifier_rows[k].class, fill_parts(arena, record, modifier_rows[k].format, word)};
        return;
    }
}

PtxasWords ptxas_words(Arena *arena, const DiagRecord *record) {
    PtxasWords words = {rows[record->code].class, arena_printf(arena, "%s", record->text)};
    bool lacks = record->code == DIAG_E0145 || record->code == DIAG_E0146;
    const char *told = lacks ? ptxas_features(arena, record) : NULL;
    if (told)
        words.text = told;
    if (words.class != MSG_OWN)
        return words;
    for (unsigned k = 0; k < sizeof where_rows / sizeof *where_rows; k++)
        if (where_rows[k].code == record->code && has_words(record->text, where_rows[k].words))
            return (PtxasWords){where_rows[k].class, fill_parts(arena, record, where_rows[k].format, "")};
    if (record->code == DIAG_E0106)
        of_modifier(arena, record, &words);
    if (words.class == MSG_OWN) /* in our words, whatever they are about */
        words.text = arena_printf(arena, "%s (%s)", record->text, diag_code_name(record->code));
    return words;
}
