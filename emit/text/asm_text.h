/* What both readers of assembly text share: comments removed, one statement a line, words, numbers, texts.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_TEXT_ASM_TEXT_H
#define HEDDLE_EMIT_TEXT_ASM_TEXT_H
#include "base/arena.h"
#include "base/str.h"
#include "emit/text/asm.h"

enum { DOC_POSITION_BYTES = 20 }; /* of an instruction in .heddle.map */

typedef struct {
    Arena *a;
    const Source *source;
    Diags *d;
    char *text;       /* copy with comments blanked: offsets are those of the source */
    const char *line; /* next line to read */
    const char *p;    /* in the current, NUL-terminated line */
    StrTab strings;
    VEC(uint32_t) targets; /* of the last instruction: offsets that a BRANCH_TARGETS note names */
} AsmText;

bool asm_open(AsmText *text, Arena *arena, const Source *source, Diags *diags);
void asm_close(AsmText *text);
void asm_rewind(AsmText *text);    /* to the first line */
bool asm_next_line(AsmText *text); /* the next line that is not blank; false at the end */
SrcLoc asm_loc(const AsmText *text, const char *p);
bool asm_at_end(AsmText *text);     /* skips blanks */
bool asm_expect_end(AsmText *text); /* reports E0350 */
bool asm_accept(AsmText *text, char c);
/* A name or directive, [A-Za-z0-9_.$@]+; NULL if there is none. Interned. */
const char *asm_word(AsmText *text);
/* "NAME, there are bru1, ..." for E0357; name may be NULL. */
const char *asm_unknown_target(const AsmText *text, const char *name);
bool asm_number(AsmText *text, uint64_t *out); /* decimal, 0x..., with optional minus; reports */
bool asm_number_max(AsmText *text, uint64_t max, uint64_t *out);
/* "..." with \n \t \" \\ \xHH. Reports E0350. */
bool asm_string(AsmText *t, char **out, size_t *size_bytes);
bool asm_name(AsmText *text, const char **out); /* a word or a quoted text without NULs */

/* Parse the instruction text up to ';' at *p of the line: its decoded form, before encoding. */
bool asm_parse_instruction(AsmText *text, const Target *target, uint64_t pc_bytes, const IsaParseOptions *opt,
                           MachInst *in);
/* The RelocKind of an instruction that names a function elsewhere; RELOC_NONE, and reported at `start`, of
 * one that takes a distance where loaders fill in addresses (docs/elf.md). */
unsigned asm_call_reloc(AsmText *text, const Target *target, const MachInst *in, const char *start);

/* The two forms. */
bool asm_read_file(AsmText *text, const Target *target, void **image, size_t *size_bytes);
bool asm_read_short(AsmText *text, void **image, size_t *size_bytes);
#endif
