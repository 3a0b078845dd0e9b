/* Programs in assembly text for the tests of the branch and barrier units: assembled to an ELF image, read
 * back, every instruction printed and parsed again, then run, in the fast issue loop and in the checked one,
 * each time twice.
 * SPDX-License-Identifier: MIT */
#ifndef TEST_ASM_RUN_H
#define TEST_ASM_RUN_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emit/elf/binary.h"
#include "sim/machine/machine.h"

enum { ASM_MAX_OUT = 2048, ASM_MAX_IN = 16, ASM_RUNS = 4 };
typedef struct {
    const char *target;      /* NULL = bru1 */
    uint32_t threads;        /* of the one block */
    uint32_t nout;           /* words of the output buffer; 0 = 2 a thread */
    uint32_t in[ASM_MAX_IN]; /* c[0x0][0x168 + 4 * i] */
    MachineOptions opt;      /* trace is ours */
    SimTrapKind trap;        /* expected */
    const char *text;        /* in the trap's text, or NULL */
} AsmLaunch;

typedef struct {
    uint32_t out[ASM_MAX_OUT];
    SimTrap trap;
    MachineStats stats;
    uint32_t nfindings;
    uint64_t entry; /* address of the first instruction */
} AsmResult;

/* The start of most programs: R0 = lane, R1 = thread, R[2:3] = address of the thread's two output words. */
#define ASM_START                                                                                            \
    "S2R R0, SR_LANEID;\nS2R R1, SR_TID.X;\nMOV R4, c[0x0][0x160];\nMOV R5, c[0x0][0x164];\n"                \
    "IMAD.WIDE.U32 R2, R1, 0x8, R4;\n"
/* Its end: R6 and the lanes that are here together, to the output. */
#define ASM_STORE "VOTE.ANY R7, PT, PT;\nSTG.E.64 [R2.64], R6;\n"
/* P<n> = bit `lane` of the 32 bits in a register or constant */
#define ASM_BIT(p, mask)                                                                                     \
    "MOV R30, " mask ";\nSHF.R.U32.HI R30, RZ, R0, R30;\nLOP3.LUT R30, R30, 0x1, RZ, 0xc0, !PT;\n"           \
    "ISETP.NE.U32.AND " p ", PT, R30, RZ, PT;\n"

/* Fails the test if the text does not assemble, or the launch does not end as expected. The text of a kernel
 * starts behind ".entry k" and its three parameters; .shared is allowed in it. */
AsmResult asm_run(const AsmLaunch *launch, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Every opcode of the specification, from one to another in its order, was executed by a program of this
 * process. */
void asm_expect_all_executed(const char *from, const char *to);
uint32_t asm_random(void);
#endif
