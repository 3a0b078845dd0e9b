/* isagen's tokens. `//` starts a comment; a block of prose of the specification (__Description and so on, or
 * behind the statements of __OperandInfo) is one token up to the next line that begins with a `__` word.
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

const char *ig_prose_heading(const char *word) {
    static const char *const names[][2] = {{"__Description", "Description"}, {"__Semantics", "Semantics"},
                                           {"__Examples", "Examples"},       {"__Syntax", "Syntax"},
                                           {"__ModifierInfo", "Modifiers"},  {"__OperandInfo", "Operands"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(word, names[i][0]))
            return names[i][1];
    return NULL;
}

static bool line_begins(const char *line, const char *with) {
    while (*line == ' ' || *line == '\t')
        line++;
    return !strncmp(line, with, strlen(with));
}

/* The lines from here to the next that begins with "__". Between two lines of ``` everything is text;
 * elsewhere a line that begins with a comment sign is a comment. The cursor stands at the start of a line. */
static bool lex_prose(Ig *ig, Cursor *cursor, IgTok *tok) {
    IgLoc fence = {0};
    tok->kind = TK_PROSE;
    tok->text = "";
    while (*cursor->p && (fence.file || !line_begins(cursor->p, "__"))) {
        const char *line = cursor->p;
        size_t n = strcspn(line, "\n");
        bool mark = line_begins(line, "```");
        if (mark)
            fence = fence.file ? (IgLoc){0} : (IgLoc){cursor->loc.file, cursor->loc.line, 1};
        if (fence.file || mark || !line_begins(line, "//"))
            tok->text = arena_printf(&ig->arena, "%s%.*s\n", tok->text, (int)n, line);
        cursor->p += n;
        if (*cursor->p)
            next_line(cursor);
    }
    return !fence.file || ig_error(ig, fence, "``` is not closed");
}

/* A line of __OperandInfo is a statement if it reads as one, NAME< or NAME "text", or ends in a semicolon. */
static bool is_statement(const char *line) {
    size_t n = strcspn(line, "\n");
    const char *p = line;
    while (isalnum((unsigned char)*p) || *p == '_')
        p++;
    if (p == line)
        return false;
    while (*p == ' ')
        p++;
    while (n && isspace((unsigned char)line[n - 1]))
        n--;
    return *p == '<' || *p == '"' || (n && line[n - 1] == ';');
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

/* The token at the cursor, which stands at no blank. */
static bool lex_one(Ig *ig, Cursor *cursor, IgTok *tok) {
    return *cursor->p == '"'                    ? lex_string(ig, cursor, tok)
           : is_word((unsigned char)*cursor->p) ? lex_word(ig, cursor, tok)
                                                : lex_punct(ig, cursor, tok);
}

static bool at_line_start(const Cursor *cursor) {
    for (const char *p = cursor->line_start; p < cursor->p; p++)
        if (*p != ' ' && *p != '\t')
            return false;
    return true;
}

/* The rest of the file's tokens but its end. Prose follows its heading, and the statements of __OperandInfo.
 */
static bool lex_tokens(Ig *ig, Cursor *cursor, IgToks *out) {
    bool operand_info = false, boundary = false; /* a statement of __OperandInfo may begin here */
    for (skip_space(cursor); *cursor->p; skip_space(cursor)) {
        cursor->loc.col = (unsigned)(cursor->p - cursor->line_start) + 1;
        IgTok tok = {.loc = cursor->loc};
        bool prose =
            boundary && at_line_start(cursor) && !line_begins(cursor->p, "__") && !is_statement(cursor->p);
        if (prose)
            cursor->p = cursor->line_start;
        if (!(prose ? lex_prose(ig, cursor, &tok) : lex_one(ig, cursor, &tok)))
            return false;
        VEC_ADD(&ig->arena, out, tok);
        bool heading = tok.kind == TK_IDENT && !strncmp(tok.text, "__", 2);
        if (heading)
            operand_info = !strcmp(tok.text, "__OperandInfo");
        boundary = operand_info && (heading || (tok.kind == TK_PUNCT && !strcmp(tok.text, ";")));
        if (!heading || operand_info || !ig_prose_heading(tok.text))
            continue;
        cursor->p += strcspn(cursor->p, "\n");
        if (*cursor->p)
            next_line(cursor);
        IgTok body = {.loc = cursor->loc};
        if (!lex_prose(ig, cursor, &body))
            return false;
        VEC_ADD(&ig->arena, out, body);
    }
    return true;
}

bool ig_lex(Ig *ig, const char *file, const char *text, IgToks *out) {
    Cursor cursor = {text, text, {file, 1, 1}};
    if (!lex_tokens(ig, &cursor, out))
        return false;
    cursor.loc.col = (unsigned)(cursor.p - cursor.line_start) + 1;
    VEC_ADD(&ig->arena, out, ((IgTok){.loc = cursor.loc, .text = "end of file"}));
    return true;
}
