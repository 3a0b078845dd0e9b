/* Constant banks and trap codes: numbers that lowering and the file writer put into code, and that the
 * machine, the file reader and the checkers find there. Where a target puts the parts of bank 0 is among its
 * properties (isa/target.def).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_MACHINE_BANKS_H
#define HEDDLE_ISA_MACHINE_BANKS_H

typedef enum {
    CONST_BANK_LAUNCH = 0,    /* what the driver tells of the launch, behind it the parameters */
    CONST_BANK_JUMPS = 2,     /* a function's own: jump tables, large constants */
    CONST_BANK_VARS = 3,      /* the module's .const variables */
    CONST_BANK_ADDRESSES = 4, /* addresses that the loader fills in */
    NUM_CONST_BANKS = 5
} ConstBank;
enum { CONST_BANK_BYTES = 0x10000 };

/* Operand of TRAP: why. Targets without TRAP have BPT.TRAP, whose operand means nothing. */
typedef enum { TRAP_CODE_TRAP = 1, TRAP_CODE_BREAKPOINT = 2, TRAP_CODE_BRANCH_INDEX = 3 } TrapCode;
#endif
