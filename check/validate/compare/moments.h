/* A launch once more at other moments: which warp of a block runs first, and when an asynchronous copy is
 * done, nothing orders but barriers and waits, so code that has them where PTX has them gives the same again,
 * and code that has lost one need not. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_MOMENTS_H
#define HEDDLE_CHECK_VALIDATE_MOMENTS_H
#include "check/validate/plan/plan.h"
#include "emit/elf/binary.h"
#include "sim/machine/machine.h"

#define MOMENTS_TEXT "when warps run in descending order and copies are done when they are waited for"
/* The options for it: what of the two is not the default is left. */
MachineOptions diff_other_moments(const MachineOptions *options);
/* Memory and trap behind the launch under diff_other_moments(options), begun in `before`, or NULL: the launch
 * has no shared memory and needs no second run, or it could not be run. */
SimMemory *diff_run_again(Plan *plan, const PlanLaunch *launch, const Binary *binary, const SimMemory *before,
                          const MachineOptions *options, SimTrap *trap);
#endif
