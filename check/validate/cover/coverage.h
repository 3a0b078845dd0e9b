/* How many basic blocks of a kernel, and of what it calls, were executed, of the PTX and of the binary; and
 * how many of its statements saw operands that tell them from their neighbours (PtxValue).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_COVERAGE_H
#define HEDDLE_CHECK_VALIDATE_COVERAGE_H
#include "check/flow/binflow.h"
#include "frontend/ast.h"
#include "sim/interp/interp.h"

typedef struct {
    uint32_t reached, total;
} Covered;
typedef struct {
    uint8_t **ptx;         /* for PtxRunOptions.reached; all functions of the module */
    uint32_t **values;     /* for PtxRunOptions.values */
    uint8_t *machine;      /* for MachineOptions.reached; NULL without a binary */
    uint8_t *const *fixed; /* by function and statement: COVERAGE_*; NULL: not known */
    uint8_t **forced;      /* by function, when it is asked for: FORCED_* */
    Arena *arena;
} Coverage;
enum {                           /* what is known of a statement's operands */
       COVERAGE_FIXED = 1,       /* they are what the kernel makes of its threads, whatever the data are */
       COVERAGE_COUNTED = 2,     /* floating-point numbers that integers became, and arithmetic on those */
       COVERAGE_NO_NAN = 4,      /* data with NaNs led here, and to none here */
       COVERAGE_NO_SUBNORMAL = 8 /* the same of subnormal numbers */
};

/* A byte for each statement of each function, 0. */
uint8_t **coverage_bytes(Arena *arena, const PtxModule *module);
void coverage_new(Coverage *coverage, Arena *arena, const PtxModule *module,
                  const Binary *binary); /* b may be NULL */
/* Blocks of the PTX functions in `funcs` (by index: not 0) that can be reached from their entries. A block
 * ends behind a branch, a return or an exit, and before a label that is branched to. */
Covered coverage_ptx(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs);
/* The PTX lines of the first statements of those that were not executed: their number; lines may be NULL. */
uint32_t coverage_missed(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs,
                         uint32_t *lines);
/* The classes of operands that a launch might have shown and none did. */
uint32_t coverage_missing(const Coverage *coverage, const PtxModule *module, uint32_t func, uint32_t insn);
/* Classes of operands, of the statements of these functions that were reached; all is what was seen and what
 * is missing. */
Covered coverage_values(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs);
/* Was every statement of them executed, and every guard seen true and false? Then nothing is left that might
 * store. */
bool coverage_is_whole(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs);
/* Is there a statement that a launch might reach, and that may store to global memory, print or trap? */
bool coverage_may_show(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs);
/* Are the statements of the one function of them that has a body executed one behind the other, and is the
 * last one `trap`? Then that is all that the kernel does. */
bool coverage_only_traps(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs);
/* Blocks of the kernel and of all functions that it may call. */
Covered coverage_machine(const Coverage *coverage, const BinFlow *flow, const char *kernel);
static inline double covered_part(Covered c) { return c.total ? (double)c.reached / c.total : 1.0; }
#endif
