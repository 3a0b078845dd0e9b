/* Where the spaces of a thread lie in the 64-bit generic address space. Facts of the machine that lowering
 * (cvta, isspacep), both executions and the prover agree on.
 *
 * Guest addresses are numbers that mean nothing to the host. A generic address is
 *   SIM_SHARED_WINDOW + offset   shared memory of the accessing thread's block, offset < SIM_WINDOW_BYTES; of
 *                                the block of rank r in its cluster: offset + r * SIM_WINDOW_BYTES
 *   SIM_LOCAL_WINDOW + offset    local memory of the accessing thread
 *   SIM_PARAM_WINDOW + offset    the kernel parameter block, read only
 *   SIM_CONST_WINDOW + offset    constant bank 3, the .const variables, read only
 *   sim_func_address(name)       a function: may be stored and called, holds no data
 *   anything else                a global address, valid inside an allocation of the SimMemory
 * A binary of bru1 has these numbers in its code. On the native targets the driver says at the launch where
 * the windows are (bank 0, SR_SWINHI: isa/targets.isa); the simulator says these.
 *
 * Addresses in the .shared, .local and .const spaces are the offsets; .global addresses are the generic ones.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_MACHINE_WINDOWS_H
#define HEDDLE_ISA_MACHINE_WINDOWS_H

#define SIM_SHARED_WINDOW 0x00007e0000000000ull
#define SIM_LOCAL_WINDOW 0x00007e0010000000ull
#define SIM_PARAM_WINDOW 0x00007e0011000000ull /* kernel parameters, read only: cvta.param */
#define SIM_CONST_WINDOW 0x00007e0012000000ull
#define SIM_WINDOW_BYTES 0x01000000ull
#define SIM_CLUSTER_BLOCKS 16u /* in a cluster, at most; of them 8 without the kernel's consent */
#define SIM_CLUSTER_BYTES (SIM_CLUSTER_BLOCKS * SIM_WINDOW_BYTES) /* of the shared window */
#define SIM_FUNC_BASE 0x00007d0000000000ull   /* function addresses: base + 16 * a 32-bit hash of the name */
#define SIM_GLOBAL_BASE 0x00007f0000000000ull /* first allocation */
#endif
