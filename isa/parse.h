/* Reading instructions: what parse.c (syntax programs) needs of parse_operand.c (numbers, operands,
 * modifiers). Every function takes the place where to read and returns the place behind, or NULL after
 * isa_parse_miss.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_PARSE_H
#define HEDDLE_ISA_PARSE_H
#include "isa/tables.h"
#include <ctype.h>
#include <string.h>

typedef struct {
    const Target *t;
    const IsaRow *r;
    const IsaParseOptions *opt;
    uint64_t pc;
    const char *far; /* farthest place where a match failed */
    const char *why;
    bool unknown_symbol;
    unsigned steps; /* bounds the backtracking */
} Parse;

static inline const char *isa_parse_blanks(const char *s) {
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}

static inline bool isa_parse_is_word_char(int c) { return isalnum(c) || c == '_' || c == '$'; }

static inline bool isa_parse_ends_word(const char *s) { return !isa_parse_is_word_char((unsigned char)*s); }

static inline const char *isa_parse_suffix(const char *s, const char *text) {
    size_t n = strlen(text);
    return !strncmp(s, text, n) && isa_parse_ends_word(s + n) ? s + n : NULL;
}

/* Remember the failure that got farthest, for the message; returns NULL. */
const char *isa_parse_miss(Parse *parse, const char *at, const char *why);
/* Signed literal, `(label), (expression) */
const char *isa_parse_number(Parse *parse, const char *s, int64_t *v);
const char *isa_parse_reg(Parse *parse, const char *s, RegFile file, uint32_t *number_out);
/* The operand of SY_OPERAND, SY_ADDRESS, SY_CMEM into its slot of `in` */
const char *isa_parse_operand(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in);
const char *isa_parse_address(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in);
const char *isa_parse_indexed_cmem(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in);
/* ".TEXT" of modifier `mod` by the texts of `enum_type` (index + 1); SY_MODPAIR */
const char *isa_parse_mod_text(Parse *parse, const char *s, unsigned mod, unsigned enum_type, MachInst *in);
const char *isa_parse_mod_word(Parse *parse, const char *s, const char *before, const IsaSyn *syn,
                               MachInst *in);
const char *isa_parse_mod_pair(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in);
#endif
