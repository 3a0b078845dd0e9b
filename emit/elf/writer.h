/* The state of writing a file, for the parts of the writer: write.c (sections, symbols, relocations,
 * contents), records.c (attribute records), lines.c (.debug_line). SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_WRITER_H
#define HEDDLE_EMIT_ELF_WRITER_H
#include "emit/code.h"
#include "emit/elf/image.h"
#include "emit/elf/texture.h"

enum { SHSTRTAB = 1, STRTAB, SYMTAB, NV_INFO, TOOLKIT_VERSION = 111, NEW_TOOLKIT_VERSION = 130 };
#define FILE_MAX_INIT ((uint64_t)1 << 30)

typedef VEC(uint32_t) ElfSyms;
typedef struct { /* sections and symbols of one function; 0 = has none */
    const char *name;
    uint32_t info, rela, const0, const2, text, shared;
    uint32_t sym, const0_sym;
    ElfTextures textures;
} ElfParts;

typedef struct {
    Arena *a;
    const CodeModule *code;
    const ElfOptions *opt;
    const TargetInfo *target;
    bool old_form; /* NVIDIA's header form before CUDA 12.8 */
    ElfImage *elf;
    Bytes shstrtab, strtab, symtab;
    uint32_t nsyms, first_extern; /* from there on: the driver's functions */
    ElfParts *parts;
    StrMap symbols;        /* name -> symbol index */
    uint64_t *var_offset;  /* for each IrVar */
    uint32_t *var_section; /* of shared ones, in objects */
    uint32_t const3, global_init, global;
    uint32_t frames, frames_sym; /* objects: .debug_frame, which a linker joins */
    uint32_t shared;             /* objects: of variables that are no kernel's */
    Bytes const3_data, init_data, const3_rela, init_rela;
    uint64_t global_bytes;
    uint64_t const3_align, init_align, global_align; /* at least that of each variable in it */
    Diags *d;
} ElfWriter;

/* NVIDIA's file, or bru1's; with the records and relocations of sm_90. */
static inline bool elf_is_native(const ElfWriter *writer) { return writer->target->elf_form != ElfForm_BRU1; }
static inline bool elf_since_sm_90(const ElfWriter *writer) {
    return writer->target->elf_form == ElfForm_SM90;
}
const char *elf_func_name(const ElfWriter *writer, uint32_t i);

/* A new section `prefix`name; its index. The header is valid until the next section is added. */
uint32_t elf_add_section(ElfWriter *writer, const char *prefix, const char *name, uint32_t type,
                         uint64_t flags, uint64_t align);
Elf64_Shdr *elf_section_header(ElfWriter *writer, uint32_t section);
uint32_t elf_add_symbol(ElfWriter *writer, const char *name, uint64_t value, uint64_t size, unsigned info,
                        unsigned other, uint32_t section); /* its index */
void elf_set_data(ElfWriter *writer, uint32_t section, Bytes bytes);
uint32_t elf_reloc_type(const ElfWriter *writer, RelocKind kind); /* of this target; 0: it has none */
/* The symbols of the driver's functions that a function names, each once. */
void elf_find_externs(const ElfWriter *writer, const CodeFunc *f, ElfSyms *out);

/* Contents of .nv.info and of every .nv.info.FUNCTION, whose sections are there. */
void elf_write_records(ElfWriter *writer);
/* A section for debuggers and its relocations, with addends or without. `section`: that one, or 0 for a new
 * one. */
void elf_add_debug_section(ElfWriter *writer, uint32_t section, const char *name, bool addends, Bytes data,
                           Bytes relocs);
/* .debug_frame and its relocations; symbols are there. */
void elf_write_frames(ElfWriter *writer);
/* .debug_line and its relocations, where the PTX has .loc; symbols are there. */
void elf_write_lines(ElfWriter *writer);
#endif
