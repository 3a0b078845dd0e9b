/* Small machine programs for the simulator's tests: instructions are built, encoded, and run from their
 * bytes.
 * SPDX-License-Identifier: MIT */
#ifndef TEST_SIM_PROG_H
#define TEST_SIM_PROG_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "sim/machine/machine.h"

enum { PROG_MAX = 256, PROG_LABELS = 32, PARAM_BASE = 0x160 };

typedef struct {
    MachInst in[PROG_MAX];
    int label_of[PROG_MAX];      /* branch target label + 1, 0 = none */
    int self_relative[PROG_MAX]; /* offset counts from the instruction itself (LEPC) */
    int at[PROG_LABELS];         /* label -> instruction */
    unsigned n;
    uint32_t shared_bytes, stack_bytes;
    const uint8_t *bank2, *bank3;
    uint32_t bank2_bytes, bank3_bytes;
    Binary bin;
    BinFunc func;
    uint64_t code[PROG_MAX][2];
} Prog;

#define R(n) op_reg(RF_R, (n), 1)
#define R2(n) op_reg(RF_R, (n), 2)
#define R4(n) op_reg(RF_R, (n), 4)
#define RZ_ op_rz()
#define P(n) op_reg(RF_P, (n), 1)
#define NP(n) op_with(op_reg(RF_P, (n), 1), OPM_NOT)
#define PT_ op_pt()
#define NPT_ op_with(op_pt(), OPM_NOT)
#define UR(n) op_reg(RF_UR, (n), 1)
#define B(n) op_reg(RF_B, (n), 1)
#define IMM(v) op_imm((uint32_t)(v))
#define C0(off) op_cmem(0, (off))
#define PARAM(i) op_cmem(0, PARAM_BASE + 8u * (i))
#define NONE ((Operand){0})
#define D(...) (const Operand[]){__VA_ARGS__}, sizeof((const Operand[]){__VA_ARGS__}) / sizeof(Operand)
#define S(...) D(__VA_ARGS__)
#define EMPTY NULL, 0

MachInst *emit(Prog *prog, unsigned op, uint32_t mods, const Operand *operand, size_t nd, const Operand *s,
               size_t ns);
void label(Prog *prog, int l);
MachInst *branch(Prog *prog, Operand guard, int l); /* BRA */
void bssy(Prog *prog, unsigned b, int l);
void bsync(Prog *prog, unsigned b);
void break_(Prog *prog, unsigned b);
void yield(Prog *prog);
void warpsync(Prog *prog, Operand mask);
void exit_(Prog *prog, Operand guard);
void mov(Prog *prog, unsigned rd, Operand src);
void add(Prog *prog, unsigned rd, Operand a, Operand b);
void s2r(Prog *prog, unsigned rd, const char *name);
void isetp(Prog *prog, unsigned pd, uint32_t cmp, Operand a, Operand b); /* unsigned */
void bar(Prog *prog, uint32_t mode, Operand id, Operand cnt);
/* R[rd:rd+1] = parameter i (a pointer) + R[index] * 4 */
void element(Prog *prog, unsigned rd, unsigned param, unsigned index);
void ldg(Prog *prog, unsigned rd, unsigned address);
void stg(Prog *prog, unsigned address, unsigned rs);

/* Encode, load, launch with 8-byte parameters. */
typedef struct {
    MachineResult res;
    bool ok;
} Ran;
Ran prog_run(Prog *prog, uint32_t blocks, uint32_t threads, SimMemory *mem, const uint64_t *params,
             unsigned nparams, const MachineOptions *opt);
uint64_t buffer(SimMemory *mem, uint32_t words);
uint32_t word(const SimMemory *mem, uint64_t address, uint32_t index);
#endif
