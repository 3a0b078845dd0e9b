/* Parts that the two disassembly outputs, text and JSON, share.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_TEXT_DISASM_H
#define HEDDLE_EMIT_TEXT_DISASM_H
#include "base/bitset.h"
#include "emit/text/asm.h"
#include "emit/elf/binary.h"
#include "emit/elf/image.h"
#include <stdio.h>

#define ISA_TEXT_BYTES 256

/* One code section being printed; branch targets inside it have labels ".L_<section>_<offset>". */
typedef struct {
    const Target *target;
    const uint8_t *data;
    uint32_t section, ninsts;
    Bitset targets; /* instructions that are branched to */
    bool collecting;
    char label[40];
} CodeText;

void disasm_text_open(CodeText *text, Arena *arena, const Target *target, const ElfSection *section,
                      uint32_t index);
/* Text of instruction i. False if its text would not assemble to the same word; then `text` is a reason, or
 * what was printed. */
bool disasm_text_line(CodeText *code_text, uint32_t i, char text[ISA_TEXT_BYTES], Control *ctrl);

const char *disasm_section_type(uint32_t type);
bool disasm_is_code(const ElfSection *section);
/* Name of symbol `index` of the table in section `symtab`, a section's name for section symbols; or NULL. */
const char *disasm_symbol_name(const ElfImage *image, uint32_t symtab, uint64_t index);
/* malloc'ed; of section `only`, or of all if it is 0 */
char *disasm_json(const ElfImage *image, const Target *target, const char *path, uint32_t only,
                  size_t *size_bytes);

typedef struct {
    const char *file;
    uint32_t line;
} SourceLine;

typedef struct {
    FILE *out;
    Arena *a;
    const ElfImage *image;
    const Target *target;
    const char *path;
    const Binary *binary; /* positions and tables; NULL if the file cannot be loaded */
    uint32_t nwords, nraw;
    uint32_t *first_table, *next_table; /* of relocations, of each section */
    SourceLine **lines;                 /* of each section of code that .debug_line is of */
} Printer;

/* The whole file, so that it can be assembled again. */
void disasm_print_file(Printer *printer);
/* "line 48 (k.cu:4)": of the PTX, and of what it was made of, if that is known. */
void disasm_print_place(const Printer *printer, const BinLoc *loc);
/* The loaded function of a code section, or NULL. */
const BinFunc *disasm_section_func(const Printer *printer, const ElfSection *section);
/* Code for people; of section `only`, or of all if it is 0. */
void disasm_print_listing(Printer *printer, const DisasmOptions *options, uint32_t only);
/* The word as data, for what its text would not give back. */
void disasm_print_raw(Printer *printer, const uint8_t *word, uint32_t pc_bytes, const char *why);
void disasm_print_comment(FILE *out, const char *name);
#endif
