/* An assembly document: the file form of assembly text while it is read. The text is a list of sections, each
 * a range of its lines. It is laid out once and only then filled:
 *   scan    sections and their lines; labels of code, whose statements have sizes that nothing else decides
 *   code    instructions; what they say of registers, barriers and exits (emit/elf/facts.h)
 *   place   labels of the other sections, whose sizes may depend on distances in code
 *   fill    string tables, then symbols, then the rest: every number may be an expression over labels
 * So what an edit moves follows by itself where the text names it by a label. What a text names by a number
 * of code that moved is E0358 at that line.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_TEXT_ASM_DOC_H
#define HEDDLE_EMIT_TEXT_ASM_DOC_H
#include "base/bitset.h"
#include "emit/elf/image.h"
#include "emit/elf/names.h"
#include "emit/text/asm_text.h"
#include "emit/elf/facts.h"

/* A short text cannot ask for much: bytes of a file, and of them those of .zero. */
enum { MOST_FILE_BYTES = 1 << 28, MOST_ZERO_BYTES = 1 << 26 };

typedef enum { DOC_SCAN, DOC_CODE, DOC_PLACE, DOC_FILL } DocStage;

typedef struct {
    StrId name;
    uint32_t section;
    uint64_t offset;
    SrcLoc loc;
} DocLabel;

typedef struct {
    const char *name;
    SrcLoc loc;
    uint32_t first_line, end_line;
    uint32_t type; /* of the text, 0 if it says none */
    bool is_code;
    bool moved;                      /* what the text has is not where the text says that it was */
    bool as_stated;                  /* .__as_stated: nothing of its records follows the code */
    bool has_control, lacks_control; /* instructions with a control field, and others than NOP without */
    bool has_name, has_size, has_info, has_offset, has_link;
    Elf64_Shdr stated;   /* as the text has it */
    uint64_t size_bytes; /* of code */
    CodeFacts facts;
    uint32_t registers, barriers; /* .sectioninfo, .sectionflags */
    bool named;                   /* index@ means it */
    uint32_t symbol;              /* of the section, in a table that is made; 0 none */
} DocSection;

/* .CUASM_OFFSET_LABEL.kernel.attribute.#: an entry of a record's list that stands at its instruction. */
typedef struct {
    const char *kernel;
    unsigned code;
    uint32_t value;
    bool used;
    SrcLoc loc;
} DocListed;

/* A symbol of a table that is made: directives tell of it (.global, .type, .size, .other), or it is only
 * named. */
typedef struct {
    StrId name;
    StrId shown; /* in the table, where the text has another one; 0 `name` */
    uint8_t bind, type, other;
    uint64_t align;   /* .size k, 32, 4: the value of a shared variable that a linker places; 0 none */
    const char *size; /* in the text: an expression, or NULL */
    uint32_t index;   /* in the table that is made, 0 none yet */
} DocSymbol;

typedef struct { /* a string table that texts are asked for and added to */
    uint32_t section;
    ElfStrings index;
    Bytes all;
} DocStrings;

/* What the symbol of a relocation must be: variables by their space. */
typedef enum { DOC_NEEDS_SYMBOL, DOC_NEEDS_SHARED, DOC_NEEDS_CONST, DOC_NEEDS_VARIABLE } DocNeeds;

/* A relocation that an operand or a data directive asks for. */
typedef struct {
    uint32_t section, type;
    uint64_t offset;
    int64_t addend;
    StrId symbol;
    SrcLoc loc;
    DocNeeds needs;
} DocReloc;

typedef struct {
    AsmText *text;
    Arena *a;
    ElfImage *image;
    const Target *target;
    const char *target_at; /* the name in .target; NULL: the command line has it */
    const char *elf_at;    /* the first .__elf_ directive, or NULL */
    DocStage stage;
    VEC(uint32_t) lines; /* offsets of the lines that are not blank */
    uint32_t line;       /* the one being read */
    VEC(DocSection) sections;
    StrMap section_of; /* name -> index of the first */
    VEC(DocLabel) labels;
    StrMap label_of; /* name -> label index + 1 */
    VEC(DocListed) listed;
    VEC(DocSymbol) symbols;
    StrMap symbol_of;
    VEC(DocReloc) relocs;
    uint32_t section;     /* being read */
    bool in_header;       /* before the first section */
    bool in_gap, is_open; /* data goes to a gap, to a section */
    bool old_form;        /* .headerflags: the files of older toolkits */
    bool is_relocatable;  /* .elftype of a text without tables: operands say what relocates them */
    bool has_tables;      /* the text is of a whole file; else symbols and headers are made */
    Bytes data;           /* of the section or gap being read */
    uint64_t zeros;
    StrId called; /* by the instruction being read: a symbol that is not in its section */
    const char *
        *entries; /* names of the text's symbol table; NULL: written as a number, found by number only */
    uint32_t nentries, nindexed;
    StrMap entry_of; /* of the first nindexed */
    uint32_t *next_entry;
    VEC(DocStrings) strings;
    uint32_t symtab, strtab;        /* sections of the text, or made; 0 none */
    Bytes names;                    /* of the symbol table that is made */
    uint32_t nsymbols;              /* of the table that is made, the null symbol among them */
    uint32_t first_section;         /* of the text: more than 0 where it does not show the null section */
    uint32_t virtual_sm;            /* .headerflags: the PTX was for; 0 not said */
    uint32_t note_strings, note_at; /* .tkinfo: texts so far, and where the first stands; 0 none */
    bool has_note_head;             /* that the text does not show: .sectionflags */
    uint32_t positions_of, positions_at; /* .__positions: code section, place in `data` */
    Bitset positioned;                   /* its instructions with a position of their own */
    const char *positions_start;
} AsmDoc;

/* The value of an expression (asm_expr.c). */
typedef struct {
    uint64_t value;
    bool is_number; /* no name in it */
    int addresses;  /* names of places that are added, less those that are subtracted */
    StrId symbol;   /* the last one added: what the value is an address of, if `addresses` is 1 */
    bool is_srel;   /* place in a section: no address, though a label */
} DocValue;

bool asm_doc_error(AsmDoc *doc, const char *p, DiagCode code, const char *what);
bool asm_doc_error_at(AsmDoc *doc, SrcLoc loc, DiagCode code, const char *what);
bool asm_doc_fills(const AsmDoc *doc); /* values count now, not only sizes */
bool asm_doc_expression(AsmDoc *doc, DocValue *out);
bool asm_doc_number(AsmDoc *doc, uint64_t max, uint64_t *out);
/* A place in code section `section` (0: not code): a number is E0358 once that has moved. */
bool asm_doc_place(AsmDoc *doc, uint32_t section, uint64_t max, uint64_t *out);
const DocLabel *asm_doc_label(const AsmDoc *doc, const char *name, size_t size_bytes);
/* Index of the symbol of that name in the table of the text or the one to be made; -1 if there is none. */
int64_t asm_doc_symbol_index(AsmDoc *doc, StrId name, uint64_t which);
uint32_t asm_doc_section_named(const AsmDoc *doc, const char *name);
DocSection *asm_doc_new_section(AsmDoc *doc, const char *name);
/* The code section of function `name`, 0 if there is none. */
uint32_t asm_doc_code_named(const AsmDoc *doc, const char *name);
DocSymbol *asm_doc_symbol(AsmDoc *doc, StrId name); /* made if need be */
/* A relocation means it, which may be a section: it gets a number in the table that is made. */
void asm_doc_mean_symbol(AsmDoc *doc, StrId name);

/* The parts of the file (asm_parts.c): what the sections are, after the scan; headers and all that follows
 * from the code, when everything is filled in; segments by where their sections went. */
bool asm_doc_end_scan(AsmDoc *doc);
bool asm_doc_finish(AsmDoc *doc);
bool asm_doc_check_places(AsmDoc *doc);
bool asm_doc_move_segments(AsmDoc *doc, const Elf64_Ehdr *header);

/* Data directives (asm_data.c). *known: it is one. */
bool asm_doc_data(AsmDoc *doc, const char *directive, bool *known);
/* Directives of nvdisasm and CuAssembler (asm_nv.c). */
bool asm_doc_nv(AsmDoc *doc, const char *directive, bool *known);
/* A section's type by the name that readelf, nvdisasm and CuAssembler give it. */
bool asm_doc_section_type(AsmDoc *doc, const char *start, const char *name, uint32_t *out);
/* Offset of `text` in string table `section`, to which it is added if need be. */
uint32_t asm_doc_string(AsmDoc *doc, uint32_t section, const char *text);
/* An operand of the line that a relocation fills in is made 0 (asm_operands.c). */
bool asm_doc_take_operand(AsmDoc *doc, char *line, DocReloc *reloc, bool *found);
/* Where the bank of a constant operand stands in the first word. */
#define ASM_BANK_SHIFT 54
#define ASM_BANK_BITS ((uint64_t)0x1f << ASM_BANK_SHIFT)
void asm_doc_put_bank(AsmDoc *doc, const DocReloc *reloc);
/* When all symbols are known; what the symbol should have been, or NULL. */
const char *asm_doc_fit_reloc(const AsmDoc *doc, DocReloc *reloc);
/* Code (asm_code.c). */
bool asm_doc_code_line(AsmDoc *doc);
bool asm_doc_is_instruction(const char *p);
/* Tables of a text that has none, as other disassemblers' (asm_tables.c). After the scan the sections for
 * them, before the text is filled in the numbers of the symbols, at last what is in the tables and in the
 * headers. */
void asm_doc_add_tables(AsmDoc *doc);
void asm_doc_number_symbols(AsmDoc *doc);
bool asm_doc_fill_tables(AsmDoc *doc);
bool asm_doc_add_relocs(AsmDoc *doc);   /* that operands and data ask for */
void asm_doc_make_records(AsmDoc *doc); /* where the text has none (asm_records.c) */
/* Notes of the toolkit (asm_nv.c), whose heads no text shows: before the first byte, before a text, at the
 * end. */
bool asm_doc_note_word(AsmDoc *doc, const char *words);
bool asm_doc_note_text(AsmDoc *doc, const char *start);
void asm_doc_note_end(AsmDoc *doc);
#endif
