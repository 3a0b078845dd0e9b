/* A loaded binary: what the disassembler, the checkers and the simulator read. Made from ELF bytes only;
 * knows nothing of PTX or machine IR except through the file's own sections.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_BINARY_H
#define HEDDLE_EMIT_ELF_BINARY_H
#include "base/arena.h"
#include "base/diag.h"
#include "isa/isa.h"
#include <pthread.h>

typedef struct {       /* from .heddle.map or the line table: PTX position of one instruction */
    uint32_t ptx_insn; /* statement index + 1, 0 none */
    uint32_t ptx_line, ptx_column;
    uint32_t src_file, src_line; /* `.loc` of the source language, 0 none */
} BinLoc;

typedef struct {
    uint32_t ordinal, offset_bytes, size_bytes;
    const char *handle; /* the name of a .texref or .surfref that has no place in the block: the offset is
                           that of its word behind it, size 0 where no code reads it; else NULL */
} BinParam;

typedef struct { /* value -> PTX register, valid for pcs [lo, hi) of its function */
    uint32_t lo_bytes, hi_bytes;
    const char *ptx_name;
    uint8_t component, file;
    uint16_t reg;
} BinVarRow;

typedef struct {                 /* at this pc execution stands before the PTX statement */
    uint32_t pc_bytes, ptx_insn; /* statement index + 1 */
} BinPoint;

typedef struct {             /* an indirect branch and where it may lead */
    uint32_t pc_bytes;       /* of the BRX in its function */
    const uint32_t *targets; /* offsets in the function, in bytes; without repeats */
    uint32_t ntargets;
} BinBranchTable;

typedef struct {
    const char *name;
    bool is_entry;
    uint64_t address; /* in the binary's code address space, see Binary.code */
    uint32_t ninsts;
    const BinLoc *locs; /* ninsts entries, or NULL without a map */
    const BinVarRow *vars;
    uint32_t nvars;
    const BinPoint *points; /* from .heddle.map, ascending in layout order */
    uint32_t npoints;
    uint32_t nregs, frame_bytes, stack_bytes, nbarriers;
    uint32_t
        header_regs;   /* the same as nregs, in the header of the code's section; 0 where files have none */
    uint32_t max_regs; /* that a launch may give the function; 0: the file does not say */
    bool uses_ctaid_z; /* the file says so: before sm_90, %ctaid.z exists only then */
    const uint32_t *exits; /* offsets in the function of its EXITs, as the file lists them, in bytes */
    uint32_t nexits;
    uint32_t shared_bytes; /* static shared (kernels) */
    uint32_t param_base, param_bytes;
    const BinParam *params;
    uint32_t nparams;
    const uint8_t *const_bank0; /* template; driver values are filled in at launch */
    uint32_t const_bank0_bytes;
    const uint8_t *const_bank2; /* jump tables, compiler constants; relocated */
    uint32_t const_bank2_bytes;
    uint32_t maxntid[3], reqntid[3];
    uint32_t cluster[3];                        /* blocks of a cluster that it requires; 0 none */
    uint32_t most_cluster_blocks, says_cluster; /* EIATTR_MAX_CLUSTER_RANK, 0 none; EIATTR_EXPLICIT_CLUSTER */
    const BinBranchTable *tables;               /* ascending pc_bytes */
    const struct BinInner { /* functions inside a kernel, which ptxas names $KERNEL$NAME */
        const char *name;
        uint32_t offset_bytes;
    } * inner;
    uint32_t ninner;
    uint32_t ntables;
} BinFunc;

typedef struct {
    const char *name;
    uint64_t size_bytes, align_bytes, offset_bytes; /* in its section */
    uint8_t space;       /* PtxSpace numbering is not used here: 0 global, 1 constant bank 3, 2 shared */
    const uint8_t *init; /* size_bytes or NULL */
} BinVar;

/* Of a texture in the driver's table, which a loader says. Code takes a handle times that, on sm_90 with all
 * of its bits: so the sampler's, from 20 on, do not count. */
#define BIN_TEXTURE_BYTES 0x1000u

typedef enum { BIN_TO_VAR, BIN_TO_FUNC, BIN_TO_EXTERN, BIN_TO_ABSENT } BinTargetKind;
typedef struct {   /* an address that the loader knows: of a global variable, or the one that stands for a
                      function */
    bool in_code;  /* the imm32 field, bits 32-63, of an instruction (RELOC_ABS32_LO and _HI) */
    bool in_bank4; /* 8 bytes of Binary.const_bank4; neither: 8 bytes of variable `var` */
    uint32_t var;
    uint64_t offset_bytes; /* of the instruction from code[0], into the bank, or into the variable */
    uint8_t kind;          /* RelocKind of ir.h */
    uint8_t to;      /* BinTargetKind: of a function the address as a value, not where its code lies; of a
                        variable of another object, for a linker: with this it does not run */
    uint32_t target; /* in vars, funcs or externs */
    int64_t addend;
} BinFixup;

typedef struct {
    Arena arena;
    const Target *target;
    const char *path;
    const void *image; /* a copy of the file */
    size_t image_bytes;
    uint64_t (*code)[2]; /* all functions, calls relocated; index = address / 16 */
    uint64_t code_base;  /* address of code[0]; a multiple of 16 */
    uint32_t ncode;
    BinFunc *funcs;
    uint32_t nfuncs;
    BinVar *vars;
    uint32_t nvars;
    const char **externs; /* what the file only names: functions of the driver (isa/machine/system.h), and all
                             that objects leave to a linker */
    uint32_t nexterns;
    BinFixup *fixups; /* applied by the loader once variables have addresses */
    uint32_t nfixups;
    struct BinTexture { /* a word of a kernel's const_bank0 that becomes the handle of what has that name */
        uint32_t func, offset_bytes;
        const char *name;
        bool is_surface, is_param; /* a parameter's word, which the launch gives */
    } * textures;
    uint32_t ntextures;
    bool asks_textures; /* the code reads the driver's table of textures, each BIN_TEXTURE_BYTES in it */
    const uint8_t *const_bank3;
    uint32_t const_bank3_bytes;
    const uint8_t *const_bank4; /* address table of native binaries */
    uint32_t const_bank4_bytes;
    const char *const *files; /* BinLoc.src_file -> name, "" where undefined */
    uint32_t nfiles;
    bool is_object;       /* ET_REL: the linker says what a kernel needs with all that it reaches */
    bool has_map;         /* .heddle.map: Heddle made it */
    const char *ptx_name; /* name of the PTX file it was made from, or NULL */
    const char *ptx_text; /* text kept in the file, or NULL */
    size_t ptx_text_bytes;
    struct BinDecoded *decoded; /* what binary_inst keeps; NULL: nothing */
} Binary;
enum { BIN_DECODED_INSTS = 64 };
typedef struct BinKept { /* the head of a block of mem_*: of what else is made for the binary and used again
                          */
    struct BinKept *next;
    void (*release)(void *block);
} BinKept;
typedef struct BinDecoded { /* pieces of BIN_DECODED_INSTS instructions, NULL until somebody asks */
    uint32_t n;
    struct BinDecodedPiece **piece;
    pthread_mutex_t lock; /* of what follows */
    BinKept *kept;
} BinDecoded;

/* Read an ELF image. Every offset, size and index is checked: a damaged file is an E04xx diagnostic with
 * the position, never a crash. Returns NULL on error. */
Binary *binary_read(const char *path, const void *image, size_t size_bytes, Diags *diags);
/* The same, also of a machine that code is not made for (TargetInfo.is_made), which binary_read refuses: to
 * be shown, not run. */
Binary *binary_read_any(const char *path, const void *image, size_t size_bytes, Diags *diags);
void binary_free(Binary *binary);
const BinFunc *binary_find(const Binary *binary, const char *name);
const BinFunc *binary_func_at(const Binary *binary, uint64_t address);
/* "k.cu:12", where an instruction's `.loc` says so, else "". `loc` may be NULL. */
void binary_source(const Binary *binary, const BinLoc *loc, char *out, size_t out_bytes);
/* From now on binary_inst keeps what it decodes of the code, which has its length now. */
void binary_keep_decoded(Binary *binary);
/* The instruction code[index], decoded once for all who ask: from any thread, at any time.
 *   code  Binary.code, or a copy of it with addresses filled in
 *   room  takes it if its words are not those that were there when they were first asked for
 *   returns what is there as long as the binary, or room, or NULL and an error as isa_decode's */
const MachInst *binary_inst(const Binary *binary, const uint64_t (*code)[2], uint32_t index, MachInst *room,
                            char error[ISA_ERROR_BYTES]);
/* A block that costs what the whole binary costs (sim/machine/program.c), used by one launch after the other,
 * each of which leaves it as it was: give it to the binary, which frees it when it goes, and take it again;
 * NULL: there is none that nobody uses. From any thread. */
void binary_give(const Binary *binary, BinKept *block);
BinKept *binary_take(const Binary *binary);
#endif
