/* Which lanes were active: what the machine gave the threads of a launch where PTX asks by activemask. Which
 * lanes execute that together is left open by PTX; a run of the PTX in which they are the machine's shows
 * what follows from the machine's choice.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_MASKS_H
#define HEDDLE_CHECK_VALIDATE_MASKS_H
#include "sim/interp/interp.h"
#include "sim/machine/machine.h"

typedef struct JudgeMasks JudgeMasks;

/* For a launch of so many blocks of so many threads. */
JudgeMasks *judge_masks_new(const uint32_t grid[3], const uint32_t block[3]);
void judge_masks_free(JudgeMasks *masks); /* NULL allowed */
/* Callback of a machine's run; the user is a JudgeMasks. */
void judge_masks_of_machine(void *masks, const MachineTrace *trace);
/* Behind the run, for others of the same launch; the masks' own. NULL: there are more than can be kept. */
const PtxActive *judge_masks_active(JudgeMasks *masks);
/* Was that run of the PTX given all of them, each thread in its order, and none besides? */
bool judge_masks_all_given(const JudgeMasks *masks, const PtxRunResult *run);
#endif
