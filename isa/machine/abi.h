/* Which vector registers mean something between functions: the calling convention's numbers. How parameters
 * are dealt out to them is in lower/select/abi.c, and told a second time by the prover
 * (check/prove/both/env.c). SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_MACHINE_ABI_H
#define HEDDLE_ISA_MACHINE_ABI_H

enum {
    ABI_STACK_REG = 1,  /* the function's frame, an offset in local memory */
    ABI_RETURN_REG = 2, /* and the next: return address; low, for a function needs all registers up to it */
    ABI_FIRST_REG = 4,  /* parameters and results lie in these, 64-bit ones in even pairs */
    ABI_LAST_REG = 19,
    ABI_RESULT_AREA_REG = 18,   /* address of the caller's area for results that do not fit */
    ABI_ARG_AREA_REG = 19,      /* the same for parameters */
    ABI_SYSTEM_RETURN_REG = 20, /* and the next: return address for the driver's functions (system.h) */
    ABI_REGS = 24               /* what functions that call or are called may always use */
};

/* Between objects that another linker joins, ptxas's convention holds, as its code shows (13.0): parameters
 * and results in R4 ... R15, each in the first place that is free and aligned, else on the stack from the
 * caller's R1 on; a result that does not fit is stored where a first parameter points. */
enum {
    ABI_OPEN_RETURN_REG = 20, /* and the next; both are there again when the function returns */
    ABI_OPEN_LAST_REG = 15,
    ABI_OPEN_BARRIERS = 6 /* convergence barriers that a callee may use; it keeps the others */
};
/* Vector registers that a callee keeps: the stack, R2, R16 ... R31, from R36 on four of eight. */
static inline int abi_open_keeps(unsigned reg) {
    return reg == 1 || reg == 2 || (reg >= 16 && reg < 32) || (reg >= 36 && (reg & 4));
}
/* Uniform ones: ptxas has what lives across calls in UR36 and all that follow. */
static inline int abi_open_keeps_uniform(unsigned reg) { return reg >= 36; }
#endif
