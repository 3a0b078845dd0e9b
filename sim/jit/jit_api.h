/* LLVM's C API as the compiling engine uses it, from a libLLVM of version 19 or later that is opened on
 * demand. Types and enumerators have the values of llvm-c/. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_JIT_API_H
#define HEDDLE_SIM_JIT_JIT_API_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef HEDDLE_LLVM_HEADERS /* the test includes LLVM's own */
typedef int LLVMBool;
typedef struct LLVMOpaqueContext *LLVMContextRef;
typedef struct LLVMOpaqueModule *LLVMModuleRef;
typedef struct LLVMOpaqueType *LLVMTypeRef;
typedef struct LLVMOpaqueValue *LLVMValueRef;
typedef struct LLVMOpaqueBasicBlock *LLVMBasicBlockRef;
typedef struct LLVMOpaqueBuilder *LLVMBuilderRef;
typedef struct LLVMOpaqueMemoryBuffer *LLVMMemoryBufferRef;
typedef struct LLVMOpaqueAttributeRef *LLVMAttributeRef;
typedef struct LLVMOpaquePassBuilderOptions *LLVMPassBuilderOptionsRef;
typedef struct LLVMOpaqueError *LLVMErrorRef;
typedef struct LLVMTarget *LLVMTargetRef;
typedef struct LLVMOpaqueTargetMachine *LLVMTargetMachineRef;
typedef struct LLVMOpaqueTargetData *LLVMTargetDataRef;
typedef unsigned LLVMAttributeIndex;
typedef enum { LLVMReturnStatusAction = 2 } LLVMVerifierFailureAction;
typedef enum { LLVMCodeGenLevelNone, LLVMCodeGenLevelLess } LLVMCodeGenOptLevel;
typedef enum { LLVMRelocPIC = 2 } LLVMRelocMode;
typedef enum { LLVMCodeModelSmall = 3 } LLVMCodeModel;
typedef enum { LLVMObjectFile = 1 } LLVMCodeGenFileType;
typedef enum {
    LLVMAdd = 8,
    LLVMFAdd = 9,
    LLVMSub = 10,
    LLVMFSub = 11,
    LLVMMul = 12,
    LLVMFMul = 13,
    LLVMShl = 20,
    LLVMLShr = 21,
    LLVMAShr = 22,
    LLVMAnd = 23,
    LLVMOr = 24,
    LLVMXor = 25,
    LLVMTrunc = 30,
    LLVMZExt = 31,
    LLVMSExt = 32,
    LLVMFPToSI = 34,
    LLVMUIToFP = 35,
    LLVMSIToFP = 36,
    LLVMFPTrunc = 37,
    LLVMFPExt = 38,
    LLVMBitCast = 41,
    LLVMICmp = 42,
    LLVMFCmp = 43,
    LLVMSelect = 46
} LLVMOpcode;
typedef enum { LLVMIntEQ = 32, LLVMIntNE, LLVMIntUGT, LLVMIntUGE, LLVMIntULT, LLVMIntULE } LLVMIntPredicate;
typedef enum { LLVMRealUNO = 8 } LLVMRealPredicate;
enum { LLVMAttributeFunctionIndex = -1 };
#endif

typedef struct {
#define JIT_API(result, name, params) result(*name) params;
#include "sim/jit/jit_api.def"
#undef JIT_API
} JitApi;

/* False: `why` says why not. The library stays loaded; *path is the file that it is in, NULL if that is not
 * known. */
bool jit_api_open(JitApi *api, const char **path, char *why, size_t why_bytes);
#endif
