/* Encoded module: what emission hands to the ELF writer. One CodeFunc for each function with a body.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_CODE_H
#define HEDDLE_EMIT_CODE_H
#include "ir/ir.h"

typedef struct {
    uint32_t offset_bytes; /* of the instruction in the function */
    RelocKind kind;
    StrId symbol;
    int64_t addend;
} CodeReloc;

typedef struct {             /* an indirect branch and its jump table */
    uint32_t pc_bytes;       /* of the BRX in the function */
    uint32_t bank_bytes;     /* of the table, in the bank of every kernel that reaches the function */
    const uint32_t *targets; /* offsets in the function, in bytes, one an entry */
    uint32_t n;
} CodeTable;

typedef struct {
    StrId name;
    const Function *ir;
    bool is_entry;
    uint64_t (*words)[2];
    uint32_t ninsts;    /* padding included */
    LocId *locs;        /* for each instruction */
    uint32_t *block_of; /* for each instruction: PTX label index + 1 when a block starts here, else 0 */
    VEC(CodeReloc) relocs;
    uint32_t nregs;                    /* highest R used + 1 + reserved */
    uint32_t frame_bytes, stack_bytes; /* stack of the whole call tree below it */
    uint32_t nbarriers;                /* named barriers */
    uint32_t shared_bytes;             /* static shared memory (kernels) */
    uint32_t param_bytes;
    bool uses_bssy, uses_ctaid_z;
    /* value -> PTX register map: rows {first pc, last pc, ptx reg, component, file, register} */
    struct CodeVarRow {
        uint32_t lo_bytes, hi_bytes, ptx_reg;
        uint8_t component, file;
        uint16_t reg;
    } * var_rows;
    uint32_t nvar_rows;
    struct CodePoint {
        uint32_t pc_bytes, ptx_insn;
    } * points; /* where execution stands before a PTX statement */
    uint32_t npoints;
    VEC(CodeTable) tables; /* ascending pc_bytes */
    uint8_t *const2;       /* constant bank 2 of a kernel: the jump tables of all it may run; or NULL */
    uint32_t const2_bytes;
    /* kernel parameters; only read where ir->ptx is NULL (assembly text) */
    struct CodeParam {
        uint32_t offset_bytes, size_bytes;
    } * params;
    uint32_t nparams;
} CodeFunc;

typedef struct {
    Arena arena;
    const IrModule *ir;
    CodeFunc *funcs;
    uint32_t nfuncs;
} CodeModule;

/* Encode physical, scheduled machine IR. Reports E03xx and returns NULL if a word cannot be encoded. */
CodeModule *code_encode(const IrModule *module, Diags *diags);
void code_free(CodeModule *module);

/* Write an ELF file image (malloc'ed). Sections, symbols, relocations, .nv.info as docs/elf.md describes;
 * .heddle.map. Reports E04xx. */
bool elf_write(const CodeModule *module, void **image, size_t *size_bytes, Diags *diags);
/* The same with choices. */
typedef struct {
    bool no_map;      /* leave .heddle.map out */
    bool no_ptx;      /* leave .heddle.ptx (the PTX text) out */
    bool old_form;    /* NVIDIA's form of files before CUDA 12.8 instead of CUDA 13's (native targets) */
    bool relocatable; /* an object for nvlink (emit/elf/relocatable.c), of a module lowered as such */
    bool lines;       /* .debug_line, where the PTX has .loc */
} ElfOptions;
bool elf_write_with(const CodeModule *module, const ElfOptions *opt, void **image, size_t *size_bytes,
                    Diags *diags);
#endif
