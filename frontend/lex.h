/* Lexer of PTX text: one token at a time from a NUL-terminated buffer, identifiers interned. The parser
 * asks for an opcode's modifiers with lex_opcode, since a dot starts a directive everywhere else.
 * Source: PTX ISA section 4.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_LEX_H
#define HEDDLE_FRONTEND_LEX_H
#include "base/diag.h"
#include "base/str.h"
#include <locale.h>

typedef enum { /* single-character punctuation is its own character code */
               TK_EOF = 0,
               TK_BAD = 1, /* reported by the lexer */
               TK_IDENT = 128,
               TK_DIR,    /* .word, `::` inside included */
               TK_INT,    /* value */
               TK_FLT,    /* 0f literal: value holds 32 bits */
               TK_DBL,    /* 0d literal or decimal fraction: value holds 64 bits */
               TK_STRING, /* str: the text between the quotes */
               TK_SHL,
               TK_SHR,
               TK_LE,
               TK_GE,
               TK_EQ,
               TK_NE,
               TK_ANDAND,
               TK_OROR
} TokenKind;

typedef struct {
    uint8_t kind;
    bool is_unsigned; /* TK_INT with suffix U, or too large for .s64 */
    uint32_t at;      /* byte offset */
    uint32_t size;    /* bytes */
    StrId str;        /* TK_IDENT, TK_DIR (dot included), TK_STRING */
    uint64_t value;
} Token;

typedef struct {
    const char *text; /* NUL behind the last byte */
    uint32_t at, size;
    StrTab *strings;
    Diags *d;
    locale_t c_locale; /* for decimal fractions; 0 takes the caller's locale */
} Lexer;

void lex_next(Lexer *lx, Token *tok);
/* After an opcode identifier `tok`: extend it by the modifiers that follow it directly (".rn.f32"). */
void lex_opcode(Lexer *lx, Token *tok);
/* Of a list of integers, behind a comma: takes a decimal one of at most 18 digits and the comma behind it.
 * False: something else follows, and nothing is consumed. */
bool lex_listed(Lexer *lx, uint64_t *value);
/* The next byte that is neither blank nor comment, without consuming anything; 0 at the end. */
char lex_peek(Lexer *lx);
static inline SrcLoc tok_loc(const Token *token) { return (SrcLoc){token->at + 1}; }
#endif
