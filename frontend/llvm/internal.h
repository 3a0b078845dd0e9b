/* What the process in which LLVM runs tells the other one: records of a kind, a length and so many bytes.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_LLVM_INTERNAL_H
#define HEDDLE_FRONTEND_LLVM_INTERNAL_H
#include "frontend/llvm/llvm_api.h"
#include "frontend/llvm/llvm_ir.h"
#include <stdint.h>

typedef enum { LLVM_SAYS_ERROR, LLVM_SAYS_WARNING, LLVM_SAYS_UNDEFINED, LLVM_SAYS_PTX } LlvmSays;
typedef struct {
    uint32_t kind; /* LlvmSays */
    uint32_t size_bytes;
} LlvmRecord;

/* Read, link, optimise and print the module, telling `out` what there is to tell; ends the process. */
_Noreturn void llvm_work(const LlvmApi *api, const LlvmFile *file, const LlvmOptions *options, int out);
#endif
