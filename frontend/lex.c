/* Lexer of PTX text: see lex.h.
 * SPDX-License-Identifier: MIT */
#include "frontend/lex.h"
#include <stdlib.h>
#include <string.h>

enum { CC_BLANK = 1, CC_DIGIT = 2, CC_START = 4, CC_WORD = 8, CC_HEX = 16, CC_MARK = 32 };

#define IS_LETTER(c) (((c) | 32) >= 'a' && ((c) | 32) <= 'z')
#define IS_OTHER(c)                                                                                          \
    ((c) == '!' || (c) == '[' || (c) == ']' || (c) == '^' || (c) == '{' || (c) == '|' || (c) == '}' ||       \
     (c) == '~')
#define CLASS(c)                                                                                             \
    (IS_LETTER(c)                            ? CC_START | CC_WORD | (((c) | 32) <= 'f' ? CC_HEX : 0)         \
     : (c) >= '0' && (c) <= '9'              ? CC_DIGIT | CC_WORD | CC_HEX                                   \
     : (c) == '_' || (c) == '$'              ? CC_START | CC_WORD                                            \
     : (c) == '%'                            ? CC_START | CC_MARK                                            \
     : (c) == ' ' || ((c) >= 9 && (c) <= 13) ? CC_BLANK                                                      \
     : (c) == '&' || ((c) >= '(' && (c) <= '-') || (c) == '/' || ((c) >= ':' && (c) <= '@') || IS_OTHER(c)   \
         ? CC_MARK                                                                                           \
         : 0)
#define CLASSES_4(c) CLASS(c), CLASS(c + 1), CLASS(c + 2), CLASS(c + 3)
#define CLASSES_16(c) CLASSES_4(c), CLASSES_4(c + 4), CLASSES_4(c + 8), CLASSES_4(c + 12)
#define CLASSES_64(c) CLASSES_16(c), CLASSES_16(c + 16), CLASSES_16(c + 32), CLASSES_16(c + 48)
static const uint8_t class_of[256] = {CLASSES_64(0), CLASSES_64(64), CLASSES_64(128), CLASSES_64(192)};
static bool is_a(char c, unsigned cls) { return class_of[(unsigned char)c] & cls; }

static void skip_line(Lexer *lx) {
    const char *end = memchr(lx->text + lx->at, '\n', lx->size - lx->at);
    lx->at = end ? (uint32_t)(end - lx->text) : lx->size;
}

/* Line markers of the C preprocessor and the `@@DWARF` lines of PTX 1.x carry no code. */
static bool at_ignored_line(const Lexer *lx) {
    const char *p = lx->text + lx->at;
    if (*p == '#')
        return lx->at == 0 || p[-1] == '\n';
    return *p == '@' && lx->size - lx->at >= 7 && !memcmp(p, "@@DWARF", 7);
}

/* Returns false when a comment runs to the end of the text. */
static bool skip_blank(Lexer *lx) {
    for (;;) {
        const char *p = lx->text + lx->at;
        while (is_a(*p, CC_BLANK))
            p++;
        lx->at = (uint32_t)(p - lx->text);
        if (is_a(*p, CC_WORD)) /* most often */
            return true;
        if ((*p == '/' && p[1] == '/') || at_ignored_line(lx)) {
            skip_line(lx);
        } else if (*p == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            if (!end)
                return false;
            lx->at = (uint32_t)(end + 2 - lx->text);
        } else {
            return true;
        }
    }
}

static uint64_t digit_value(char c) {
    if (c >= '0' && c <= '9')
        return (uint64_t)(c - '0');
    return (uint64_t)((c | 32) - 'a' + 10);
}

static bool bad_number(Lexer *lx, Token *token, const char *end) {
    while (is_a(*end, CC_WORD))
        end++;
    token->size = (uint32_t)(end - (lx->text + token->at));
    token->kind = TK_BAD;
    return diag(lx->d, tok_loc(token), DIAG_E0114, token->size > 60 ? 60 : (int)token->size,
                lx->text + token->at);
}

/* 0f3F800000 and 0d3FF0000000000000: exactly 8 and 16 hexadecimal digits. */
static bool lex_float_bits(Lexer *lx, Token *token, const char *p, unsigned digits) {
    for (unsigned i = 0; i < digits; i++, p++) {
        if (!is_a(*p, CC_HEX))
            return bad_number(lx, token, p);
        token->value = token->value << 4 | digit_value(*p);
    }
    token->kind = digits == 8 ? TK_FLT : TK_DBL;
    token->size = (uint32_t)(p - (lx->text + token->at));
    return is_a(*p, CC_WORD) ? bad_number(lx, token, p) : true;
}

static bool lex_decimal_fraction(Lexer *lx, Token *token, const char *start) {
    char *end;
    double v = lx->c_locale ? strtod_l(start, &end, lx->c_locale) : strtod(start, &end);
    memcpy(&token->value, &v, sizeof v);
    token->kind = TK_DBL;
    token->size = (uint32_t)(end - start);
    return is_a(*end, CC_WORD) ? bad_number(lx, token, end) : true;
}

static bool lex_integer(Lexer *lx, Token *token, const char *p, unsigned base) {
    const char *first = p;
    uint64_t v = 0;
    for (; is_a(*p, CC_HEX) && digit_value(*p) < base; p++) {
        if (__builtin_mul_overflow(v, (uint64_t)base, &v) || __builtin_add_overflow(v, digit_value(*p), &v))
            return bad_number(lx, token, p);
    }
    if (p == first)
        return bad_number(lx, token, p);
    token->is_unsigned = v > INT64_MAX;
    if (*p == 'U')
        token->is_unsigned = true, p++;
    token->kind = TK_INT;
    token->value = v;
    token->size = (uint32_t)(p - (lx->text + token->at));
    return is_a(*p, CC_WORD) ? bad_number(lx, token, p) : true;
}

static bool lex_number(Lexer *lx, Token *token) {
    const char *p = lx->text + token->at;
    if (*p == '0') {
        switch (p[1]) {
        case 'x':
        case 'X': return lex_integer(lx, token, p + 2, 16);
        case 'b':
        case 'B': return lex_integer(lx, token, p + 2, 2);
        case 'f':
        case 'F': return lex_float_bits(lx, token, p + 2, 8);
        case 'd':
        case 'D': return lex_float_bits(lx, token, p + 2, 16);
        default: break;
        }
    }
    const char *q = p;
    uint64_t value = 0;
    for (; is_a(*q, CC_DIGIT); q++)
        value = value * 10 + digit_value(*q);
    if (!is_a(*q, CC_WORD) && *q != '.' && q - p < 19 && (*p != '0' || q - p == 1)) {
        token->kind = TK_INT;
        token->value = value;
        token->size = (uint32_t)(q - p);
        return true;
    }
    if ((*q == '.' && !is_a(q[1], CC_START)) || (*q == '.' && (q[1] | 32) == 'e' && is_a(q[2], CC_DIGIT)) ||
        ((*q | 32) == 'e' &&
         (is_a(q[1], CC_DIGIT) || ((q[1] == '+' || q[1] == '-') && is_a(q[2], CC_DIGIT)))))
        return lex_decimal_fraction(lx, token, p);
    return *p == '0' && is_a(p[1], CC_DIGIT) ? lex_integer(lx, token, p + 1, 8)
                                             : lex_integer(lx, token, p, 10);
}

static void lex_word(Lexer *lx, Token *token, const char *p) {
    while (is_a(*p, CC_WORD))
        p++;
    token->size = (uint32_t)(p - (lx->text + token->at));
    token->str = str_intern(lx->strings, lx->text + token->at, token->size);
}

static void lex_string(Lexer *lx, Token *token) {
    const char *p = lx->text + token->at + 1, *end = lx->text + lx->size;
    while (p < end && *p != '"' && *p != '\n')
        p += *p == '\\' && p + 1 < end && p[1] != '\n' ? 2 : 1;
    token->size = (uint32_t)(p - (lx->text + token->at));
    if (p >= end || *p != '"') {
        token->kind = TK_BAD;
        diag(lx->d, tok_loc(token), DIAG_E0113, "a string");
        return;
    }
    token->kind = TK_STRING;
    token->str = str_intern(lx->strings, lx->text + token->at + 1, token->size - 1);
    token->size++;
}

static void lex_punctuation(Lexer *lx, Token *token) {
    static const struct {
        char text[3];
        uint8_t kind;
    } pairs[] = {{"<<", TK_SHL}, {">>", TK_SHR}, {"<=", TK_LE},     {">=", TK_GE},
                 {"==", TK_EQ},  {"!=", TK_NE},  {"&&", TK_ANDAND}, {"||", TK_OROR}};
    const char *p = lx->text + token->at;
    token->size = 1;
    token->kind = (uint8_t)*p;
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs && (p[1] == p[0] || p[1] == '='); i++)
        if (p[0] == pairs[i].text[0] && p[1] == pairs[i].text[1]) {
            token->kind = pairs[i].kind;
            token->size = 2;
            return;
        }
    if (!is_a(*p, CC_MARK)) {
        token->kind = TK_BAD;
        diag(lx->d, tok_loc(token), DIAG_E0101, (unsigned char)*p);
    }
}

void lex_next(Lexer *lx, Token *token) {
    bool closed = skip_blank(lx);
    *token = (Token){.at = lx->at};
    if (!closed) {
        diag(lx->d, (SrcLoc){lx->at + 1}, DIAG_E0113, "a comment");
        lx->at = lx->size;
        token->at = lx->size;
        return;
    }
    if (lx->at >= lx->size)
        return;
    const char *p = lx->text + lx->at;
    if (is_a(*p, CC_START) && (*p != '%' || is_a(p[1], CC_WORD))) {
        token->kind = TK_IDENT;
        lex_word(lx, token, p + 1);
    } else if (is_a(*p, CC_DIGIT)) {
        lex_number(lx, token);
    } else if (*p == '.' && is_a(p[1], CC_START) && p[1] != '%') {
        token->kind = TK_DIR;
        for (p++; is_a(*p, CC_WORD) || (*p == ':' && p[1] == ':' && is_a(p[2], CC_WORD)); p++)
            p += *p == ':';
        lex_word(lx, token, p);
    } else if (*p == '"') {
        lex_string(lx, token);
    } else {
        lex_punctuation(lx, token);
    }
    lx->at = token->at + (token->size ? token->size : 1);
    if (lx->at > lx->size)
        lx->at = lx->size;
}

bool lex_listed(Lexer *lx, uint64_t *value) {
    const char *p = lx->text + lx->at, *first;
    uint64_t read = 0;
    while (is_a(*p, CC_BLANK))
        p++;
    for (first = p; is_a(*p, CC_DIGIT); p++)
        read = read * 10 + digit_value(*p);
    if (*p != ',' || p == first || p - first > 18 || (*first == '0' && p - first > 1))
        return false;
    *value = read;
    lx->at = (uint32_t)(p + 1 - lx->text);
    return true;
}

void lex_opcode(Lexer *lx, Token *token) {
    const char *p = lx->text + lx->at;
    while (*p == '.' && is_a(p[1], CC_WORD))
        for (p++; is_a(*p, CC_WORD) || (*p == ':' && p[1] == ':' && is_a(p[2], CC_WORD)); p++)
            p += *p == ':';
    token->size = (uint32_t)(p - (lx->text + token->at));
    lx->at = token->at + token->size;
}

char lex_peek(Lexer *lx) {
    uint32_t at = lx->at;
    bool closed = skip_blank(lx);
    char c = closed && lx->at < lx->size ? lx->text[lx->at] : 0;
    lx->at = at;
    return c;
}
