/* What the file form of a disassembly says by name instead of by number: places in code that anything names,
 * and fields of data that are such places, distances between them, or numbers of symbols. Found once for the
 * whole image; printing asks for what stands at an offset.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_TEXT_MARKS_H
#define HEDDLE_EMIT_TEXT_MARKS_H
#include "emit/elf/image.h"
#include "emit/elf/line_table.h"
#include "emit/elf/facts.h"
#include "emit/elf/names.h"
#include "base/bitset.h"

#include "emit/text/asm_text.h"

enum { FIELD_ULEB = 0, FIELD_SLEB = 3, FIELD_LINE = 5, MARK_LABEL_BYTES = 40 };

typedef struct {
    uint32_t section;
    uint64_t offset;
    bool instruction; /* what stands there, not the place: goes along when it moves */
} Mark;

typedef struct {
    uint32_t section;
    uint64_t offset;
    uint8_t size_bytes; /* of the field; FIELD_ULEB, FIELD_SLEB: `length` bytes of LEB128; FIELD_LINE: an
                           opcode */
    uint8_t length;
    const char *text; /* expression */
} Field;

/* Something names this place by a number that no directive of the text can make follow. */
typedef struct {
    uint32_t section; /* where the number is */
    uint32_t code;    /* of which section it is a place */
    uint64_t place;   /* UINT64_MAX: any */
} Stuck;

typedef struct { /* a block of .heddle.map: the position of each instruction of `code` */
    uint32_t section;
    uint64_t offset;
    uint32_t code;
} Positions;

/* Text for an operand of an instruction, instead of the number there: the place itself, or its distance from
 * behind the instruction or from the instruction. */
typedef enum { OPERAND_PLACE, OPERAND_FROM_NEXT, OPERAND_FROM_HERE } OperandFrom;
typedef struct {
    uint32_t section;
    uint64_t offset;
    uint32_t number; /* as it is printed */
    OperandFrom from;
    uint64_t place; /* in the section */
} Operands;

/* An entry of an attribute's list, which stands at its instruction. */
typedef struct {
    uint32_t section;
    uint64_t offset;
    const char *label; /* .CUASM_OFFSET_LABEL... */
} Listed;

/* An entry of a relocation table. */
typedef struct {
    uint32_t section; /* that it is about */
    uint64_t offset;  /* there */
    uint32_t table;
    uint64_t at; /* bytes into the table */
} Reloc;

typedef struct {
    Arena *a;
    const ElfImage *image;
    const Target *target;
    /* ascending by section and offset, once everything is found; relocations from the start on */
    VEC(Mark) marks;
    VEC(Field) fields;
    VEC(Stuck) stuck;
    VEC(Positions) positions;
    VEC(Operands) operands;
    VEC(Listed) listed;
    VEC(Mark) listed_records;
    VEC(Reloc) relocs; /* of tables whose symbols are those of `symtab` */
    bool *as_stated;   /* of each section: its records do not follow from its code */
    ElfImage trial;    /* the image, for asking what would change */
    FactsRecords records;
    uint32_t symtab, nsymbols;
    uint32_t *which_symbol;  /* the how-manieth of its name; 0 without a name */
    uint32_t *which_section; /* likewise */
    ElfStrings *strings;     /* of each section that is a string table */
} Marks;

typedef struct {
    uint64_t value, size;
    uint16_t section;
    uint8_t info;
} MarksSymbol;

/* Everything there is to know of the image. */
void disasm_marks_collect(Marks *marks, Arena *arena, const ElfImage *image, const Target *target);
/* Index of the first in the list that is of the section and at or behind `offset`, or of a later section; the
 * list's length if there is none. */
uint32_t disasm_marks_first(const Marks *marks, uint32_t section, uint64_t offset);
uint32_t disasm_fields_first(const Marks *marks, uint32_t section, uint64_t offset);
uint32_t disasm_positions_first(const Marks *marks, uint32_t section, uint64_t offset);
uint32_t disasm_listed_first(const Marks *marks, uint32_t section, uint64_t offset);
uint32_t disasm_stuck_first(const Marks *marks, uint32_t section);
bool disasm_marks_has(const Marks *marks, uint32_t section, uint64_t offset, bool instruction);
/* Does each number of the attribute record there stand at its instruction? */
bool disasm_marks_is_listed(const Marks *marks, uint32_t section, uint64_t offset);
/* ".L_9_0040" or, of an instruction, ".I_9_0040"; out[MARK_LABEL_BYTES]. */
const char *disasm_marks_label(uint32_t section, uint64_t offset, bool instruction, char *out);

/* ---- for those who find them (marks_*.c) ---- */
typedef struct {
    uint32_t entry;
    bool may_return;
    bool is_known; /* a RET was found: the return address is in one of `regs` */
    Bitset regs;
} Returns;

/* The code of one section, decoded; OT_NONE where a word is no instruction. */
typedef struct {
    Arena *a;
    MachInst *insts; /* [ninsts], of the caller's */
    uint32_t ninsts;
    VEC(Returns) known;
} CallCode;

bool disasm_marks_is_place(const Marks *marks, uint32_t section,
                           uint64_t offset); /* in code, or at its end */
void disasm_marks_add(Marks *marks, uint32_t section, uint64_t offset, bool instruction);
void disasm_marks_field(Marks *marks, uint32_t section, uint64_t offset, unsigned size_bytes, unsigned length,
                        const char *text);
void disasm_marks_stuck(Marks *marks, uint32_t section, uint32_t code, uint64_t place);
/* Labels in an expression, made: the place, and its distance from the start of `origin`'s place. */
const char *disasm_marks_place_text(Marks *marks, uint32_t section, uint64_t offset);
const char *disasm_marks_distance_text(Marks *marks, uint32_t section, uint64_t from, uint64_t to);
/* "index@(name)", or the number where no name says which. */
const char *disasm_marks_symbol_text(Marks *marks, uint32_t symtab, uint32_t index);
const char *disasm_marks_section_text(Marks *marks, uint32_t index); /* "section@(name)", or 0x.. */
MarksSymbol disasm_marks_symbol(const Marks *marks, uint32_t index); /* section 0: there is none */
bool disasm_marks_is_data(const ElfSection *section);
/* The place in code that a relocated field means, which holds `in_place`; false: it is none. */
bool disasm_marks_address_at(const Marks *marks, uint32_t section, uint64_t offset, uint64_t in_place,
                             uint32_t *code, uint64_t *place);
/* The operand of the instruction there that is a place; NULL if there is none. The instruction's text with it
 * instead of the number. */
const Operands *disasm_marks_operand(const Marks *marks, uint32_t section, uint64_t offset);
bool disasm_marks_operand_text(const Operands *operand, const char *text, char *out, size_t out_bytes);
/* Is this where the assembler finds the text in a string table: its first occurrence? */
bool disasm_marks_found_at(Marks *marks, uint32_t table, const char *text, uint64_t offset);
bool disasm_marks_is_word(const char *name); /* needs no quotes */
/* The code section whose attribute records a section holds; 0: none, or the records that count are those of
 * another section of that name. */
uint32_t disasm_marks_described(const Marks *marks, uint32_t section);
/* How the function at an instruction of this code returns (marks_return.c); of the arena, in `known` from
 * then on. */
const Returns *disasm_marks_returns(CallCode *code, uint32_t entry);
void disasm_marks_dwarf(Marks *marks);   /* line tables and frames */
void disasm_marks_records(Marks *marks); /* attribute records, jump tables, call graph */
void disasm_marks_map(Marks *marks);     /* .heddle.map */
void disasm_marks_code(Marks *marks);    /* instructions */
void disasm_marks_debug(Marks *marks);   /* where PTX registers are */
#endif
