/* Sums in memory: floating-point numbers that threads add to the same places by atomics, in whatever order.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_SUMS_H
#define HEDDLE_CHECK_VALIDATE_SUMS_H
#include "frontend/ast.h"
#include "sim/interp/interp.h"
#include "sim/launch.h"
#include "sim/machine/machine.h"

/* What one run of a launch added to the words of memory. */
typedef struct JudgeSums JudgeSums;

/* May the module add .f32 or .f64 to memory by atomics? */
bool judge_sums_occur(const PtxModule *module);
/* For a run that begins in `before`, which outlives it. */
JudgeSums *judge_sums_new(const SimMemory *before);
void judge_sums_free(JudgeSums *sums); /* NULL allowed */
/* Callbacks of the two executions; the user is a JudgeSums. */
void judge_sums_of_ptx(void *sums, const PtxEvent *event);
void judge_sums_of_machine(void *sums, const MachineTrace *trace);
/* Where `first` and `second` both hold what was there before and the same numbers, each added in an order of
 * its own, elements of `second` become those of `first`: any difference there is that of the order. True if
 * one did differ. skip: by allocation of `first`: not looked at. */
bool judge_sums_level(const JudgeSums *first_sums, const SimMemory *first, const JudgeSums *second_sums,
                      SimMemory *second, const bool *skip);
#endif
