/* LLVM IR and bitcode as input: LLVM's NVPTX target makes PTX of it (docs/llvm.md), which then goes the way
 * of all PTX. LLVM runs in a process of its own: what it does not bear (a damaged file, an intrinsic that the
 * target lacks) ends that process, not ours. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_LLVM_IR_H
#define HEDDLE_FRONTEND_LLVM_IR_H
#include "base/arena.h"
#include "base/diag.h"

typedef struct {
    const char *name; /* what messages call it */
    const char *data; /* text, with a NUL behind it, or bitcode */
    size_t size_bytes;
} LlvmFile;

typedef struct {
    const char *library; /* path of libLLVM; NULL: the newest there is */
    const char *cpu;     /* "sm_80"; NULL: what the module's functions are compiled for, else sm_80 */
    unsigned opt_level;  /* 0..3, of LLVM's passes and of its code generation */
    const char *passes;  /* as `opt -passes`, "none"; NULL: default<O1> to default<O3>, at level 0 none */
    const LlvmFile *libraries; /* bitcode with functions that the module uses: libdevice, libclc */
    unsigned nlibraries;
    bool externals; /* functions may be defined elsewhere: nothing is said of them */
} LlvmOptions;

/* The file of the libLLVM that would be used; false: there is none. */
bool llvm_library(const char *wanted, char *path, size_t path_bytes);
/* Is this bitcode, or text of LLVM IR rather than of PTX? `data` has a NUL behind it. */
bool llvm_ir_is(const char *data, size_t size_bytes);
/* Make PTX of a module. *ptx lies in the arena, *ptx_bytes without its NUL. False: reported (E0005 where
 * there is no libLLVM, else what LLVM says, at its position in the file). */
bool llvm_to_ptx(Arena *arena, const LlvmFile *file, const LlvmOptions *options, Diags *diags, char **ptx,
                 size_t *ptx_bytes);
#endif
