/* Shared by the parts of the fuzzer.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FUZZ_INTERNAL_H
#define HEDDLE_CHECK_FUZZ_INTERNAL_H
#include "check/fuzz/fuzz.h"
#include "check/fuzz/gen_internal.h"
#include "check/fuzz/lane_trace.h"
#include "emit/code.h"
#include "sim/interp/interp.h"

/* One program on its way through compiler and engines (check.c). */
typedef struct {
    FuzzVerdict v;
    Diags d;
    const GenProgram *p;
    PtxModule *m;
    SimMemory *start, *ptx, *mem; /* before; after the interpreter; the machine's */
    uint8_t params[16];
    Launch launch;
    LaneTraces ptx_trace;
    StrTab strings;
    IrModule *ir;
    CodeModule *code;
    void *image;
    size_t image_bytes;
    Binary *binary;
    MachineSession *session;
    MachineJit *jit; /* of fuzz --jit */
    unsigned yield_percent;
} Check;
/* Steps; false leaves a verdict. fuzz_start: parse, memory, the interpreter's run. */
bool fuzz_start(Check *check, const GenProgram *program, uint64_t ptx_seed, bool traces, FuzzCounts *counts);
bool fuzz_compile(Check *check, const FuzzConfig *config); /* again, if it was compiled before */
/* The machine's run; `r` is the caller's to free, also after a trap. */
bool fuzz_run(Check *check, const MachineOptions *options, MachineResult *r);
bool fuzz_memory(Check *check); /* is the machine's memory the interpreter's? */
void fuzz_release(Check *check);

/* fuzz_check that adds to `counts`. */
FuzzVerdict fuzz_check_counted(const GenProgram *program, const FuzzConfig *configs, unsigned n,
                               unsigned *failed, FuzzCounts *counts);
/* Compile and run a measured program in every mode and add to counts->metric; a difference is a verdict. */
FuzzVerdict fuzz_measure(const GenProgram *program, const Target *target, FuzzCounts *counts);
/* Blocks that a warp with a stack of masks issues, joining at immediate post-dominators, where the threads of
 * a full warp logged the blocks that they visited. out: their output, GEN_OUT_BYTES each */
uint64_t fuzz_stack_issues(const GenGraph *graph, const uint8_t *out);
/* GenForms.usable: the front end, lowering and the interpreter take the module. */
bool fuzz_usable(void *user, const char *module, size_t size_bytes);
#endif
