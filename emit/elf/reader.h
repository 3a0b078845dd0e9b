/* The state of reading a file, for the parts of the reader: read.c (functions, variables, banks, attribute
 * records), read_relocs.c (relocations). SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_READER_H
#define HEDDLE_EMIT_ELF_READER_H
#include "emit/elf/binary.h"
#include "emit/elf/image.h"
#include <string.h>

#define CODE_BASE 0x1000u /* so that address 0 is never code */
enum { SPACE_GLOBAL = 0, SPACE_CONST = 1 };

typedef struct {
    Binary *b;
    ElfImage *e;
    Arena scratch;
    uint32_t *func_of; /* text section -> function index + 1 */
    uint32_t *var_of;  /* symbol -> variable index + 1 */
    uint32_t symtab, nsyms;
    Diags *d;
} ElfReader;

typedef struct {
    const char *name;
    uint64_t value, size;
    uint8_t info, other;
    uint16_t section;
} ElfSymbol;

static inline SrcLoc elf_at(uint64_t offset) {
    return (SrcLoc){offset < UINT32_MAX ? (uint32_t)offset + 1 : 0};
}
static inline const ElfSection *elf_sec(const ElfReader *reader, uint32_t i) {
    return &reader->e->sections.at[i];
}
bool elf_bad_section(ElfReader *reader, uint32_t i, const char *what); /* false, and reported */
bool elf_read_symbol(ElfReader *reader, uint32_t i, ElfSymbol *out);
static inline bool elf_is_variable(const ElfSymbol *symbol) { /* files for a linker have NVIDIA's own type */
    return ELF64_ST_TYPE(symbol->info) == STT_OBJECT || ELF64_ST_TYPE(symbol->info) == STT_NV_OBJECT;
}
/* The function whose code the section is, or NULL. */
BinFunc *elf_func_of_section(ElfReader *reader, uint32_t section);
/* Of which function a section PREFIX.NAME is: of several with that name the one that its header names. */
BinFunc *elf_owner_of(ElfReader *reader, uint32_t section, const char *prefix);

/* Every relocation: what is known is put in place, addresses that a launch gives become fixups. */
bool elf_read_relocs(ElfReader *reader);
#endif
