/* How many warps a multiprocessor holds at once, and what that leaves for each. The numbers are properties of
 * the target (isa/target.def): registers and shared memory are given out in steps, and a block comes whole or
 * not at all. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_MACHINE_OCCUPANCY_H
#define HEDDLE_ISA_MACHINE_OCCUPANCY_H
#include "isa/isa.h"

/* Vector registers that each of `threads` threads of a multiprocessor may have; 0 if there are not that many,
 * UINT32_MAX for no thread. */
uint32_t occupancy_regs(const Target *t, uint64_t threads);

/* Warps of a multiprocessor that can be resident together.
 *   regs           registers of a thread, as in the kernel's register count
 *   shared_bytes   shared memory of a block, declared and dynamic
 *   block_threads  threads of a block; 0 if unknown: then each warp counts as what registers and the
 * machine's number of warps allow */
uint32_t occupancy_warps(const Target *t, uint32_t regs, uint32_t shared_bytes, uint32_t block_threads);
#endif
