/* What PTX leaves open, and what it does not: does a machine differ where neither what nobody wrote nor what
 * PTX says no result for can show? SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_OPEN_H
#define HEDDLE_CHECK_VALIDATE_OPEN_H
#include "check/validate/plan/plan.h"

typedef struct {
    Plan *plan;
    const PlanLaunch *launch;
    const PtxModule *module;
    uint64_t budget;
    const SimMemory *before, *ptx, *machine; /* before the launch; what either made of it */
    const bool *skip;                        /* by allocation: not compared */
} OpenQuestion;

/* Certain: false also where it cannot be told. */
bool judge_differs_elsewhere(const OpenQuestion *question);
#endif
