/* One lane of the machine without a launch: registers are given, single data instructions are executed by the
 * functions that launches use. For replaying counterexamples.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_MACHINE_LANE_H
#define HEDDLE_SIM_MACHINE_LANE_H
#include "emit/elf/binary.h"

typedef struct LaneMachine LaneMachine;
LaneMachine *machine_lane_new(const Binary *binary); /* NULL for want of memory */
void machine_lane_free(LaneMachine *machine);
/* Registers and predicates of a file, RF_R to RF_UP; RZ, PT and the like are not set and read as usual. */
void machine_lane_set(LaneMachine *machine, RegFile file, unsigned reg, uint32_t value);
uint32_t machine_lane_get(const LaneMachine *machine, RegFile file, unsigned reg);
/* Execute one instruction, its guard taken as true. No c[][] operands, no memory, no control flow: false if
 * the machine does not execute it this way. */
bool machine_lane_step(LaneMachine *machine, const MachInst *in);
#endif
