/* LLVM's C API, from a libLLVM that is looked for when it is needed (docs/llvm.md): linked to the program it
 * would cost every command 10 ms and 50 MB, and Heddle builds and does everything but read LLVM IR without
 * it. Types and enumerators have the values of llvm-c/, which are stable from version to version.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_LLVM_API_H
#define HEDDLE_FRONTEND_LLVM_API_H
#include <stdbool.h>
#include <stddef.h>

#ifndef HEDDLE_LLVM_HEADERS /* the test includes LLVM's own */
typedef int LLVMBool;
typedef struct LLVMOpaqueContext *LLVMContextRef;
typedef struct LLVMOpaqueModule *LLVMModuleRef;
typedef struct LLVMOpaqueValue *LLVMValueRef;
typedef struct LLVMOpaqueUse *LLVMUseRef;
typedef struct LLVMOpaqueMemoryBuffer *LLVMMemoryBufferRef;
typedef struct LLVMOpaqueAttributeRef *LLVMAttributeRef;
typedef struct LLVMOpaqueDiagnosticInfo *LLVMDiagnosticInfoRef;
typedef struct LLVMOpaquePassBuilderOptions *LLVMPassBuilderOptionsRef;
typedef struct LLVMOpaqueError *LLVMErrorRef;
typedef struct LLVMTarget *LLVMTargetRef;
typedef struct LLVMOpaqueTargetMachine *LLVMTargetMachineRef;
typedef struct LLVMOpaqueTargetData *LLVMTargetDataRef;
typedef unsigned LLVMAttributeIndex;
typedef void (*LLVMDiagnosticHandler)(LLVMDiagnosticInfoRef, void *);
typedef void (*LLVMFatalErrorHandler)(const char *reason);
typedef enum { LLVMDSError, LLVMDSWarning, LLVMDSRemark, LLVMDSNote } LLVMDiagnosticSeverity;
typedef enum {
    LLVMAbortProcessAction,
    LLVMPrintMessageAction,
    LLVMReturnStatusAction
} LLVMVerifierFailureAction;
typedef enum { LLVMExternalLinkage = 0, LLVMLinkOnceODRLinkage = 3, LLVMInternalLinkage = 8 } LLVMLinkage;
typedef enum {
    LLVMCodeGenLevelNone,
    LLVMCodeGenLevelLess,
    LLVMCodeGenLevelDefault,
    LLVMCodeGenLevelAggressive
} LLVMCodeGenOptLevel;
typedef enum { LLVMRelocDefault } LLVMRelocMode;
typedef enum { LLVMCodeModelDefault } LLVMCodeModel;
typedef enum { LLVMAssemblyFile, LLVMObjectFile } LLVMCodeGenFileType;
enum { LLVMAttributeFunctionIndex = -1 };
#endif

typedef struct {
    unsigned major; /* 0: older than 16, which does not tell */
#define LLVM_API(result, name, params) result(*name) params;
#define LLVM_API_SINCE(version, result, name, params) LLVM_API(result, name, params)
#include "frontend/llvm/llvm_api.def"
} LlvmApi;

/* Load `path`, or the newest libLLVM of version 14 or later that the system finds (NULL). The library stays
 * loaded: its threads' data and handlers do not bear to be unloaded. False: `why` says why. */
bool llvm_api_open(LlvmApi *api, const char *path, char *why, size_t why_bytes);
/* The file that it came from. */
bool llvm_api_path(const LlvmApi *api, char *path, size_t path_bytes);
#endif
