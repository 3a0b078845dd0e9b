/* Are the rows of jit_api.def, written without LLVM's headers, what these headers declare? A wrong one does
 * not compile. SPDX-License-Identifier: MIT */
#define HEDDLE_LLVM_HEADERS
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include "sim/jit/jit_api.h"

#define JIT_API(result, name, params)                                                                        \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&LLVM##name), result(*) params), #name);
#include "sim/jit/jit_api.def"

/* the values that jit_api.h gives these names */
_Static_assert(LLVMReturnStatusAction == 2 && LLVMCodeGenLevelNone == 0 && LLVMCodeGenLevelLess == 1 &&
                   LLVMRelocPIC == 2,
               "code");
_Static_assert(LLVMCodeModelSmall == 3 && LLVMObjectFile == 1, "objects");
_Static_assert(LLVMAdd == 8 && LLVMFAdd == 9 && LLVMSub == 10 && LLVMFSub == 11 && LLVMMul == 12, "sums");
_Static_assert(LLVMFMul == 13 && LLVMShl == 20 && LLVMLShr == 21 && LLVMAShr == 22, "shifts");
_Static_assert(LLVMAnd == 23 && LLVMOr == 24 && LLVMXor == 25 && LLVMTrunc == 30 && LLVMZExt == 31, "bits");
_Static_assert(LLVMSExt == 32 && LLVMFPToSI == 34 && LLVMUIToFP == 35 && LLVMSIToFP == 36, "conversions");
_Static_assert(LLVMFPTrunc == 37 && LLVMFPExt == 38 && LLVMBitCast == 41, "casts");
_Static_assert(LLVMICmp == 42 && LLVMFCmp == 43 && LLVMSelect == 46, "relations");
_Static_assert(LLVMIntEQ == 32 && LLVMIntULT == 36 && LLVMIntULE == 37 && LLVMRealUNO == 8, "predicates");
_Static_assert((LLVMAttributeIndex)LLVMAttributeFunctionIndex == (LLVMAttributeIndex)-1, "attributes");
