/* From a region to an LLVM function. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_EMIT_H
#define HEDDLE_SIM_JIT_EMIT_H
#include "sim/machine/jit.h"
#include "sim/jit/jit_api.h"
#include "sim/jit/region.h"

/* Types of one lane or of 32. */
typedef struct {
    LLVMTypeRef lane[2][LT_F64 + 1]; /* [0] one value, [1] vectors of 32 */
    LLVMTypeRef byte, word, quad, pointer;
} EmitTypes;

typedef struct {
    const JitApi *api;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    EmitTypes types;
} Emit;

/* Arguments of a lane function: value[i] or, where it is NULL, the constant bits[i]. */
typedef struct {
    LLVMValueRef value[LANE_PARAM_COUNT];
    uint64_t bits[LANE_PARAM_COUNT];
    LLVMValueRef
        raw[3]; /* f32 vectors that are sources 0 to 2 before their NaNs were made canonical, or NULL */
} EmitArgs;

/* Build the table's function of vectors, or of single values. *raw: NULL, or becomes the f32 vector of which
 * the result is the canonical form, NULL if it is of none. */
LLVMValueRef emit_lane(Emit *emit, LaneFn fn, bool vector, const EmitArgs *args, LLVMValueRef *raw);
LLVMValueRef emit_constant(Emit *emit, LaneType type, bool vector, uint64_t bits);

typedef struct {
    LLVMModuleRef module;
    const Run *run; /* region_known */
    const Region *region;
    unsigned kind; /* JIT_FULL, JIT_MASKED */
    const char *cpu, *features;
} EmitRegion;
/* Is the handler called for this data instruction, wherever its addresses are? */
bool emit_calls_handler(const Run *run, const Region *region, uint32_t pc);
/* Define `name`, a JitCode, in the module. */
void emit_region(const JitApi *api, LLVMContextRef context, const EmitRegion *what, const char *name);
#endif
