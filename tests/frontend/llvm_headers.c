/* Are the rows of llvm_api.def, written without LLVM's headers, what these headers declare? A wrong one does
 * not compile. SPDX-License-Identifier: MIT */
#define HEDDLE_LLVM_HEADERS
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include "frontend/llvm/llvm_api.h"

#define LLVM_API(result, name, params)                                                                       \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&LLVM##name), result(*) params), #name);
#if LLVM_VERSION_MAJOR >= 16
#define LLVM_API_SINCE(version, result, name, params) LLVM_API(result, name, params)
#else
#define LLVM_API_SINCE(version, result, name, params)
#endif
#include "frontend/llvm/llvm_api.def"

/* the values that llvm_api.h gives these names */
_Static_assert(LLVMDSError == 0 && LLVMDSWarning == 1 && LLVMDSRemark == 2 && LLVMDSNote == 3, "severities");
_Static_assert(LLVMReturnStatusAction == 2, "verifier");
_Static_assert(LLVMExternalLinkage == 0 && LLVMLinkOnceODRLinkage == 3 && LLVMInternalLinkage == 8,
               "linkage");
_Static_assert(LLVMCodeGenLevelNone == 0 && LLVMCodeGenLevelAggressive == 3, "levels");
_Static_assert(LLVMRelocDefault == 0 && LLVMCodeModelDefault == 0 && LLVMAssemblyFile == 0, "target machine");
_Static_assert((LLVMAttributeIndex)LLVMAttributeFunctionIndex == (LLVMAttributeIndex)-1, "attributes");
