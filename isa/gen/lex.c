/* isagen's tokens. `//` starts a comment; prose blocks of the specification (__Description and so on) are
 * skipped up to the next line that begins with a `__` word.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/isagen.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool ig_error(Ig *ig, IgLoc loc, const char *fmt, ...) {
    bool again = ig->nerrors++ && ig->last_error.file == loc.file && ig->last_error.line == loc.line &&
                 ig->last_error.col == loc.col;
    ig->last_error = loc;
    if (again)
        return false;
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s:%u:%u: error: ", loc.file, loc.line, loc.col);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return false;
}

typedef struct {
    const char *p, *line_start;
    IgLoc loc;
} Cursor;

static void next_line(Cursor *cursor) {
    cursor->p++;
    cursor->loc.line++;
    cursor->line_start = cursor->p;
}

static bool is_prose(const char *word) {
    static const char *const names[] = {"__Semantics", "__Description", "__Examples", "__Syntax",
                                        "__ModifierInfo"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(word, names[i]))
            return true;
    return false;
}

/* Skip to the next line whose first word begins with "__". */
static void skip_prose(Cursor *cursor) {
    while (*cursor->p) {
        while (*cursor->p && *cursor->p != '\n')
            cursor->p++;
        if (!*cursor->p)
            return;
        next_line(cursor);
        const char *q = cursor->p;
        while (*q == ' ' || *q == '\t')
            q++;
        if (q[0] == '_' && q[1] == '_')
            return;
    }
}

static bool is_word(int ch) { return isalnum(ch) || ch == '_'; }

static void skip_space(Cursor *cursor) {
    for (;;) {
        if (*cursor->p == '\n') {
            next_line(cursor);
        } else if (isspace((unsigned char)*cursor->p)) {
            cursor->p++;
        } else if (cursor->p[0] == '/' && cursor->p[1] == '/') {
            while (*cursor->p && *cursor->p != '\n')
                cursor->p++;
        } else {
            return;
        }
    }
}

static bool lex_string(Ig *ig, Cursor *cursor, IgTok *tok) {
    const char *start = ++cursor->p;
    while (*cursor->p && *cursor->p != '"' && *cursor->p != '\n')
        cursor->p++;
    if (*cursor->p != '"')
        return ig_error(ig, tok->loc, "string is not closed");
    tok->kind = TK_STRING;
    tok->text = arena_printf(&ig->arena, "%.*s", (int)(cursor->p - start), start);
    cursor->p++;
    return true;
}

static bool lex_word(Ig *ig, Cursor *cursor, IgTok *tok) {
    const char *start = cursor->p;
    while (is_word((unsigned char)*cursor->p))
        cursor->p++;
    tok->text = arena_printf(&ig->arena, "%.*s", (int)(cursor->p - start), start);
    tok->kind = TK_IDENT;
    if (isdigit((unsigned char)*start)) {
        char *end;
        tok->number = strtoll(tok->text, &end, 0);
        tok->kind = *end ? TK_IDENT : TK_NUMBER;
    }
    return true;
}

static bool lex_punct(Ig *ig, Cursor *cursor, IgTok *tok) {
    static const char *const two[] = {"==", "!="};
    size_t n = 1;
    for (size_t i = 0; i < 2; i++)
        if (!strncmp(cursor->p, two[i], 2))
            n = 2;
    if (n == 1 && !strchr("<>{}[]():;,.=!?+-", *cursor->p))
        return ig_error(ig, tok->loc, "unexpected character 0x%02x", (unsigned)(unsigned char)*cursor->p);
    tok->kind = TK_PUNCT;
    tok->text = arena_printf(&ig->arena, "%.*s", (int)n, cursor->p);
    cursor->p += n;
    return true;
}

bool ig_lex(Ig *ig, const char *file, const char *text, IgToks *out) {
    Cursor c = {text, text, {file, 1, 1}};
    for (;;) {
        skip_space(&c);
        c.loc.col = (unsigned)(c.p - c.line_start) + 1;
        IgTok t = {.loc = c.loc, .text = "end of file"};
        if (!*c.p) {
            VEC_ADD(&ig->arena, out, t);
            return true;
        }
        bool ok = *c.p == '"'                    ? lex_string(ig, &c, &t)
                  : is_word((unsigned char)*c.p) ? lex_word(ig, &c, &t)
                                                 : lex_punct(ig, &c, &t);
        if (!ok)
            return false;
        if (t.kind == TK_IDENT && is_prose(t.text))
            skip_prose(&c);
        else
            VEC_ADD(&ig->arena, out, t);
    }
}
