/* One ELF file as data: header, sections in index order, segments, and the bytes that none of them covers.
 * Reading an image and writing it again gives the same bytes; the disassembler and the assembler depend
 * on that. Structure only: what a section means is the business of emit/elf/read.c and disasm.c.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_IMAGE_H
#define HEDDLE_EMIT_ELF_IMAGE_H
#include "base/arena.h"
#include "base/diag.h"
#include "isa/isa.h"
#include <gelf.h>

/* Section types, flags and numbers that <elf.h> does not have; docs/elf.md. */
enum {
    SHT_NV_INFO = 0x70000000,
    SHT_NV_CALLGRAPH = 0x70000001,
    SHT_NV_PROTOTYPE = 0x70000002,
    SHT_NV_GLOBAL = 0x70000007, /* of relocatable files; no bytes, as LOCAL and SHARED */
    SHT_NV_GLOBAL_INIT = 0x70000008,
    SHT_NV_LOCAL = 0x70000009,
    SHT_NV_SHARED = 0x7000000a,
    SHT_NV_RELOCINFO = 0x7000000b,
    SHT_NV_CONSTANT_B0 = 0x70000064, /* of relocatable files; the others follow */
    SHT_NV_COMPAT = 0x70000086,
    SHT_HD_MAP = 0x74000001,    /* .heddle.map */
    SHT_HD_PTX = 0x74000002,    /* .heddle.ptx */
    STO_NV_ENTRY = 0x10,        /* st_other of a kernel */
    STT_NV_OBJECT = 13,         /* a variable in a relocatable file */
    RELOC_NV_ABS32 = 1,         /* R_CUDA_32, of debugging sections of relocatable files */
    RELOC_NV_YIELD_OPCODE = 68, /* R_CUDA_YIELD_OPCODE9_0: a linker may make a NOP of a YIELD; */
    RELOC_NV_YIELD_PRED = 69,   /* R_CUDA_YIELD_CLEAR_PRED4_87; nvlink 13.0 leaves it */
    RELOC_NV_CLEAR64 = 73,      /* R_CUDA_UNUSED_CLEAR64, of frames of relocatable files */
    RELOC_NV_UNIFIED64 = 102,   /* the address in the table of functions that hosts share */
    EM_NV_CUDA = 190,
    ELF_OLD_OSABI = 0x33, /* the form before CUDA 12.8; e_version is the toolkit's, 121 of 12.1 */
    ELF_OWN_FORM = 0x800, /* EF_CUDA_ACCELERATORS of the old form: made for what only one architecture has */
    COMPAT_OWN_FORM = 9,  /* record of .nv.compat: the same, of the new form */
    NUM_BANKS = 18        /* of constants, with a section type of their own */
};

typedef struct {
    const char *name;    /* NUL-terminated */
    Elf64_Shdr h;        /* sh_name is the offset in .shstrtab */
    const uint8_t *data; /* h.sh_size bytes; NULL without bytes in the file */
    bool own;            /* the bytes are this image's alone and may be written (facts.c) */
} ElfSection;
typedef struct ElfNames ElfNames;

typedef struct {
    uint64_t offset, size_bytes;
    const uint8_t *data;
} ElfGap;

typedef struct {
    Elf64_Ehdr h;             /* e_shnum and e_phnum follow from the lists when written */
    VEC(ElfSection) sections; /* [0] is the null section */
    VEC(Elf64_Phdr) segments;
    VEC(ElfGap) gaps; /* bytes outside every part that are not zero */
    uint64_t file_bytes;
    ElfNames *names;      /* elf_image_index; NULL: there is none */
    const uint8_t *image; /* read images only: the private copy that `data` points into */
} ElfImage;

/* Read an image; everything lives in the arena (the image is copied). All offsets, sizes and names are
 * checked and parts must not overlap. Reports E04xx with the file offset (the current source should be
 * the binary) and returns NULL. */
ElfImage *elf_image_read(Arena *arena, const void *image, size_t size_bytes, Diags *diags);

/* Write with the offsets that header and sections carry (elf_image_layout sets them). malloc'ed result. */
bool elf_image_write(const ElfImage *elf_image, void **image, size_t *size_bytes, Diags *diags);

/* Give every section a file offset in index order, then the section and the program headers. With
 * `keep`, an offset already there is used when it is not below what precedes it. */
void elf_image_layout(ElfImage *image, bool keep);

/* The section that the header of a native file since CUDA 12.8 names in bits 24 to 31 of its flags: cuobjdump
 * calls files invalid in which it is not found there. */
#define ELF_LOADER_NOTE ".note.nv.cuinfo"
enum { ELF_NOTE_BYTE = 3 };                    /* of the flags */
bool elf_names_note(const Elf64_Ehdr *header); /* is it of such a file? */
/* The header of a new file for the target, in NVIDIA's form before CUDA 12.8 or since, of which `note` is the
 * section above; the file's type and the section of names are the caller's. */
void elf_image_header(ElfImage *image, const Target *target, bool old_form, uint32_t note);
/* Lay out the sections, and the segments that load them. */
void elf_image_segments(Arena *arena, ElfImage *image);

/* Sections of this type occupy no bytes of the file. */
static inline bool elf_image_is_nobits(uint32_t type) {
    return type == SHT_NOBITS || type == SHT_NV_GLOBAL || type == SHT_NV_LOCAL || type == SHT_NV_SHARED;
}
/* Index of the section of that name, 0 if there is none. */
uint32_t elf_image_find(const ElfImage *image, const char *name);
/* The section whose symbols a header with this sh_link means. The links of ptxas 12.0 to 12.2 are two too
 * high: they count sections that it then leaves out. */
uint32_t elf_image_symbols(const ElfImage *image, uint32_t link);
/* Text at `offset` of string table `section`, or NULL when it is out of range or unterminated. */
const char *elf_image_string(const ElfImage *image, uint32_t section, uint64_t offset);
/* The target of a file, or NULL. Both of NVIDIA's header forms are known. A header of the new form is the
 * same for sm_90 and sm_90a: a record in .nv.compat tells. */
const Target *elf_file_target(const void *image, size_t size_bytes);
/* The target that a header names; `own`: it is the one with what only its architecture has. */
const Target *elf_header_target(const Elf64_Ehdr *header, bool own);

/* The number of relocation `kind` (RelocKind of ir.h) in the target's files; 0 where they have none. */
uint32_t elf_reloc_number(const Target *target, unsigned kind);
/* The other way, RELOC_NONE if we have none; see docs/elf.md. */
unsigned elf_reloc_kind(const Target *target, uint32_t number);

static inline uint32_t get_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint16_t get_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint64_t get_u64(const uint8_t *p) { return get_u32(p) | (uint64_t)get_u32(p + 4) << 32; }
static inline void put_u16(uint8_t *p, uint16_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
static inline void put_u32(uint8_t *p, uint32_t v) {
    put_u16(p, (uint16_t)v);
    put_u16(p + 2, (uint16_t)(v >> 16));
}
static inline void put_u64(uint8_t *p, uint64_t v) {
    put_u32(p, (uint32_t)v);
    put_u32(p + 4, (uint32_t)(v >> 32));
}

/* Growing byte buffer for section contents. */
typedef VEC(uint8_t) Bytes;
uint8_t *elf_bytes_add(Arena *arena, Bytes *bytes, const void *data,
                       size_t size_bytes); /* data NULL: zeros */
void elf_bytes_u16(Arena *arena, Bytes *bytes, uint16_t v);
void elf_bytes_u32(Arena *arena, Bytes *bytes, uint32_t v);
void elf_bytes_u64(Arena *arena, Bytes *bytes, uint64_t v);
/* Append a NUL-terminated text; returns its offset. An empty text is offset 0 of a table that starts so. */
uint32_t elf_bytes_string(Arena *a, Bytes *bytes, const char *text);
/* What a section with a function's name says belongs to that function's code: does its header name that, too?
 */
bool elf_image_names_owner(const ElfImage *image, uint32_t section);
#endif
