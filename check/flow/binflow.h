/* Control flow of a decoded binary: blocks, edges and calls of every function, read from the encoded words
 * and nothing else, so that it serves binaries of any compiler. The static checker, the model checker, the
 * prover and the mutator stand on it.
 *
 * Instructions are numbered through the whole code (index = offset / 16, as in Binary.code), blocks through
 * the whole binary. A word that does not decode, a target outside its function, an indirect branch without
 * known targets and code that falls off the end are facts of the graph (see BinBlock.ends), no errors: the
 * checker reports them.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FLOW_BINFLOW_H
#define HEDDLE_CHECK_FLOW_BINFLOW_H
#include "emit/elf/binary.h"
#include "isa/machine/system.h"

#define BINFLOW_NONE UINT32_MAX

typedef enum {
    BE_NEXT,  /* goes on at the next instruction: falls through, or the guard of its last one is false */
    BE_TAKEN, /* branch taken */
    BE_TABLE  /* one target of an indirect branch */
} BinEdgeKind;
typedef struct {
    uint32_t block; /* where it leads, or where it comes from in preds */
    uint8_t kind;   /* BinEdgeKind */
} BinEdge;

typedef enum { /* how the control of a block ends; bits, EXIT under a guard is BX_EXIT with an edge BE_NEXT */
               BX_EXIT = 1,
               BX_RET = 2,     /* also a branch to another function's entry, if that function returns */
               BX_TRAP = 4,    /* TRAP, BPT.TRAP, RTT */
               BX_OFF_END = 8, /* runs over the end of the function, or into a word that does not decode */
               BX_BAD_TARGET = 16, /* branch target outside the function or misaligned */
               BX_UNKNOWN = 32,    /* indirect branch whose targets the file does not tell */
               BX_NORETURN = 64    /* call that does not come back */
} BinEnds;

/* A block ends behind every instruction that can change the PC other than to the next one: branches, EXIT and
 * RET with or without guard. A CALL ends no block unless it does not return; one to a place inside its own
 * function from which no way returns is a branch (BE_TAKEN), and no call. BSYNC, WARPSYNC, YIELD and the like
 * end none: for one lane they lead to the next instruction. */
typedef struct {
    uint32_t first, ninsts;       /* instructions */
    uint32_t func;                /* index in Binary.funcs */
    uint8_t ends;                 /* BinEnds */
    bool reachable;               /* from the function's entry, calls of its subroutines included */
    const BinEdge *succs, *preds; /* preds: unreachable blocks among them */
    uint32_t nsuccs, npreds;
} BinBlock;

typedef struct {
    uint32_t inst;     /* the CALL, or a branch to another function's entry */
    uint32_t callee;   /* index in Binary.funcs, BINFLOW_NONE if indirect or outside the code */
    uint32_t target;   /* first instruction of the callee: its function's entry, or a subroutine inside a
                          function's section as ptxas makes them; BINFLOW_NONE as above */
    SystemFunc system; /* of an indirect one: the driver's function, where that is known; else SYSTEM_COUNT */
} BinCall;

typedef struct {
    uint32_t first_inst, ninsts;
    uint32_t first_block, nblocks; /* consecutive, in address order; the first is the entry */
    const BinCall *calls;
    uint32_t ncalls;
    const uint32_t *rpo; /* the reachable blocks in reverse post-order; subroutines behind the rest */
    uint32_t nrpo;
    const uint32_t *entries; /* blocks where called subroutines of this function's section start, ascending */
    uint32_t nentries;
} BinFuncFlow;

typedef struct {
    Arena arena;
    const Binary *bin;
    MachInst *insts;    /* [bin->ncode] */
    bool *decoded;      /* [bin->ncode] false: the word is no instruction of the target */
    uint32_t *block_of; /* [bin->ncode] block of each instruction; BINFLOW_NONE outside all functions */
    BinBlock *blocks;
    uint32_t nblocks;
    BinFuncFlow *funcs; /* [bin->nfuncs] */
} BinFlow;

/* Index i of each instruction of a block (const BinBlock *), in order. */
#define FOR_BIN_INSTS(block, i) for (uint32_t i = (block)->first; i < (block)->first + (block)->ninsts; i++)

/* The graph of all functions; lives as long as `b`. Never fails but for want of memory (NULL). */
BinFlow *bin_flow_new(const Binary *b);
void bin_flow_free(BinFlow *flow);
/* Append to order[*n ..] what block `root` leads to inside its function, itself included, in reverse
 * post-order; without what `seen` ([nblocks of the function]) has already. The one such walk of all checkers,
 * which take none of the compiler (ir/graph.h): they share nothing with what they judge. */
void bin_order(const BinFlow *flow, Arena *scratch, uint32_t root, bool *seen, uint32_t *order, uint32_t *n);

/* What an instruction does to control, the same for all targets. */
// clang-format off
typedef enum {
    BK_PLAIN, /* data */
    BK_BRANCH, BK_BRANCH_INDIRECT, BK_CALL, BK_RET, BK_EXIT, BK_TRAP,
    BK_BSSY, BK_BSYNC, BK_BREAK, BK_BMOV_TO_B, BK_BMOV_FROM_B,
    BK_YIELD, BK_NANOSLEEP, BK_WARPSYNC,
    BK_BAR,        /* CTA barrier: BAR, BAR.RED */
    BK_COLLECTIVE, /* SHFL VOTE MATCH REDUX ELECT: reads other lanes of the warp */
    BK_NOP
} BinKind;
// clang-format on
BinKind bin_kind(const MachInst *i);
unsigned bin_barrier(const MachInst *i); /* B register of BSSY, BSYNC, BREAK, BMOV */
/* Guard and, where there is one, the second guard pp: true for no lane, for some, for every lane that is
 * there. */
typedef enum { BG_NEVER, BG_MAYBE, BG_ALWAYS } BinGuard;
BinGuard bin_guard(const MachInst *i);
/* Is the register one that the instruction writes, also where several go to one operand? */
bool bin_writes_reg(const Target *target, const MachInst *inst, RegFile file, uint32_t reg);
/* Instruction that the encoded offset of BRA, CALL, BSSY at `index` names; BINFLOW_NONE if outside the code
 * or misaligned. */
uint32_t bin_target(const BinFlow *flow, uint32_t index);
/* The driver's function that a call by register comes to; SYSTEM_COUNT: another one, or it is not known.
 * `landed`, by instruction: a branch leads there; `first`: of the function. */
SystemFunc bin_system_callee(const BinFlow *flow, const bool *landed, uint32_t first, uint32_t call);
/* The same where the loader puts the address into the code, as two words that are moved. The graph goes on
 * behind such a call, whether it returns or not: our own code has nothing there, or what PTX has. */
SystemFunc bin_moved_callee(const BinFlow *flow, const bool *landed, uint32_t first, uint32_t call);
/* Address in the function, "name+0x40", for messages; into `out`, which is returned. */
const char *bin_where(const BinFlow *flow, uint32_t index, char out[160]);
static inline uint64_t bin_address(const BinFlow *flow, uint32_t index) {
    return flow->bin->code_base + 16ull * index;
}
#endif
