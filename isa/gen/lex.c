/* isagen's tokens. `//` starts a comment; prose blocks of the specification (__Description and so on) are
 * skipped up to the next line that begins with a `__` word.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/isagen.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool ig_error(Ig *g, IgLoc loc, const char *fmt, ...) {
    bool again = g->nerrors++ && g->last_error.file == loc.file && g->last_error.line == loc.line &&
                 g->last_error.col == loc.col;
    g->last_error = loc;
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

static void next_line(Cursor *c) {
    c->p++;
    c->loc.line++;
    c->line_start = c->p;
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
static void skip_prose(Cursor *c) {
    while (*c->p) {
        while (*c->p && *c->p != '\n')
            c->p++;
        if (!*c->p)
            return;
        next_line(c);
        const char *q = c->p;
        while (*q == ' ' || *q == '\t')
            q++;
        if (q[0] == '_' && q[1] == '_')
            return;
    }
}

static bool is_word(int ch) { return isalnum(ch) || ch == '_'; }

static void skip_space(Cursor *c) {
    for (;;) {
        if (*c->p == '\n') {
            next_line(c);
        } else if (isspace((unsigned char)*c->p)) {
            c->p++;
        } else if (c->p[0] == '/' && c->p[1] == '/') {
            while (*c->p && *c->p != '\n')
                c->p++;
        } else {
            return;
        }
    }
}

static bool lex_string(Ig *g, Cursor *c, IgTok *t) {
    const char *start = ++c->p;
    while (*c->p && *c->p != '"' && *c->p != '\n')
        c->p++;
    if (*c->p != '"')
        return ig_error(g, t->loc, "string is not closed");
    t->kind = TK_STRING;
    t->text = arena_printf(&g->arena, "%.*s", (int)(c->p - start), start);
    c->p++;
    return true;
}

static bool lex_word(Ig *g, Cursor *c, IgTok *t) {
    const char *start = c->p;
    while (is_word((unsigned char)*c->p))
        c->p++;
    t->text = arena_printf(&g->arena, "%.*s", (int)(c->p - start), start);
    t->kind = TK_IDENT;
    if (isdigit((unsigned char)*start)) {
        char *end;
        t->number = strtoll(t->text, &end, 0);
        t->kind = *end ? TK_IDENT : TK_NUMBER;
    }
    return true;
}

static bool lex_punct(Ig *g, Cursor *c, IgTok *t) {
    static const char *const two[] = {"==", "!="};
    size_t n = 1;
    for (size_t i = 0; i < 2; i++)
        if (!strncmp(c->p, two[i], 2))
            n = 2;
    if (n == 1 && !strchr("<>{}[]():;,.=!?+-", *c->p))
        return ig_error(g, t->loc, "unexpected character 0x%02x", (unsigned)(unsigned char)*c->p);
    t->kind = TK_PUNCT;
    t->text = arena_printf(&g->arena, "%.*s", (int)n, c->p);
    c->p += n;
    return true;
}

bool ig_lex(Ig *g, const char *file, const char *text, IgToks *out) {
    Cursor c = {text, text, {file, 1, 1}};
    for (;;) {
        skip_space(&c);
        c.loc.col = (unsigned)(c.p - c.line_start) + 1;
        IgTok t = {.loc = c.loc, .text = "end of file"};
        if (!*c.p) {
            VEC_ADD(&g->arena, out, t);
            return true;
        }
        bool ok = *c.p == '"'                    ? lex_string(g, &c, &t)
                  : is_word((unsigned char)*c.p) ? lex_word(g, &c, &t)
                                                 : lex_punct(g, &c, &t);
        if (!ok)
            return false;
        if (t.kind == TK_IDENT && is_prose(t.text))
            skip_prose(&c);
        else
            VEC_ADD(&g->arena, out, t);
    }
}
