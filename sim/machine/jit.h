/* Tier 2: regions of machine code that run often, compiled by LLVM (docs/engines.md). A region is what is
 * reached from a place without leaving the kernel's straight code and branches; compiled, it keeps registers
 * and predicates of a warp in values, builds the operations that have a lane function of that function's
 * table, and calls the interpreter's own handlers for all others. Where lanes part, the quantum ends in the
 * middle of a block, or something traps, it gives the warp back as the interpreter would have left it.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_MACHINE_JIT_H
#define HEDDLE_SIM_MACHINE_JIT_H
#include "sim/machine/internal.h"

/* What compiled code calls, of the run's host level. */
typedef struct {
    int (*data)(Warp *warp, uint32_t pc, uint32_t g);    /* one data instruction for the lanes of g, not 0 */
    int (*control)(Warp *warp, uint32_t pc, uint32_t g); /* any other, with its own guard; g is not used */
    SimAlloc nowhere;                                    /* no bytes: where an instruction has hit none yet */
    struct JitSlot *slots;                               /* of the run, by instruction */
    Dec **ahead; /* of the run: instructions decoded for compiled code, NULL where none was */
} JitHost;

/* Executes from warp->pc, an entry of the region; RunStatus. Of two kinds: for warps of 32 active lanes, and
 * for all. */
typedef int JitCode(Warp *warp, const JitHost *host);
enum { JIT_FULL, JIT_MASKED, JIT_KINDS };

typedef struct JitSlot { /* of an instruction */
    JitCode *code[JIT_KINDS];
    uint32_t heat[JIT_KINDS];    /* instructions of the loops that came here */
    uint32_t entries[JIT_KINDS]; /* of warps in code of stencils */
    uint32_t wanted[JIT_KINDS];  /* heat at which to think of compiling again; 0: the threshold */
    bool hopeless[JIT_KINDS];
    bool copied[JIT_KINDS];     /* the code is of stencils: LLVM's is better */
    uint16_t length[JIT_KINDS]; /* instructions of the region that is to be copied later; 0: not known */
    uint16_t block;             /* instructions of the longest compiled block that begins here */
    bool reads_bank;            /* compiled code reads its constant when it begins, from JitHost.ahead */
    bool known;                 /* a region has it: its word is kept */
    bool calls_handler;         /* copied code calls its handler, and goes on behind it itself */
} JitSlot;

/* Instructions of which something is ahead: as little is to be undone for the next run. */
typedef struct {
    uint32_t *at, n, room;
} JitPlaces;

/* Of a run: its code, by instruction. */
typedef struct Jit {
    MachineJit *engine;
    JitSlot *slots; /* ncode */
    JitPlaces *own;
    uint32_t threshold;
    uint64_t *executed; /* warp instructions by compiled code, of the engine */
    JitHost host;
} Jit;

/* A place is hot: compile what begins there, or find out that it cannot be. */
void jit_compile(Warp *warp, uint32_t pc, unsigned kind);
/* Decode the block at pc, which is executed now. */
void jit_bind_block(Run *run, uint32_t pc);
void jit_note_place(Jit *jit, uint32_t pc);
/* The slots of a run that is to use the engine; they are in its arena. */
Jit *jit_attach(Run *run, MachineJit *engine);
/* The engine of a thread of a crew, by its number: opened by the thread that has `engine`, used by the other
 * alone, closed with `engine`. LLVM compiles for all of them, one region at a time. */
MachineJit *jit_member(MachineJit *engine, uint32_t number);
#endif
