/* Which vector registers mean something between functions: the calling convention's numbers. How parameters
 * are dealt out to them is in lower/select/abi.c, and told a second time by the prover (check/prove/env.c).
 * SPDX-License-Identifier: MIT */
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
#endif
