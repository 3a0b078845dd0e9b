/* The 8-byte operand that machine IR, encoder, decoder, assembler, simulator and checkers share.
 *
 * A vector operand (count 2..4) names consecutive 32-bit registers. Before register allocation its value
 * indexes the function's vector pool (ir/ir.h); afterwards it is the first physical register.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_OPERAND_H
#define HEDDLE_ISA_OPERAND_H
#include <stdbool.h>
#include <stdint.h>

/* Register files. Predicates, uniform and barrier registers are files like any other. */
typedef enum { RF_R, RF_P, RF_UR, RF_UP, RF_B, RF_COUNT } RegFile;

/* Numbers that read as zero/true and discard writes. B has none. In a word URZ is all ones, of 6 bits or
 * of 8. Machines that code is made for and run on have UR0 to UR62. */
enum { REG_RZ = 255, REG_PT = 7, REG_URZ = 255, REG_UPT = 7, NUM_UR = 63 };

typedef enum {
    OPK_NONE,  /* absent; encodes as the field's default (RZ, PT, 0) */
    OPK_VAL,   /* SSA value: ValId if count == 1, else index into Function.vectors (IR only) */
    OPK_REG,   /* physical register `value` (first of `count`) of `file` */
    OPK_IMM,   /* 32 bits as they are; signed fields are sign-extended by the encoder */
    OPK_IMM64, /* IR: index into Function.consts; MachInst: the value is MachInst.wide */
    OPK_CMEM,  /* constant bank: value = bank << 16 | byte offset (0..0xffff), OP_CMEM_BELOW: less 0x10000 */
    OPK_SYM,   /* IR and assembler: index into the symbol-reference pool {symbol, addend, relocation} */
    OPK_BLOCK, /* IR only: branch target, a BlockId */
    OPK_SREG   /* special register, its number in the target's table */
} OperandKind;

/* Modifier bits. Which ones a slot accepts is data in the .isa file. */
enum {
    OPM_NEG = 1,       /* arithmetic negation; `.X` integer ops read it as ~ */
    OPM_ABS = 2,       /* absolute value */
    OPM_NOT = 4,       /* predicate negation, or bitwise ~ */
    OPM_REUSE = 8,     /* operand reuse cache hint */
    OPM_WIDE64 = 16,   /* address register is a 64-bit pair (`R2.64`) */
    OPM_HALF_SHIFT = 5 /* bits 5-6: half selection 0 H1_H0, 1 F32, 2 H0_H0, 3 H1_H1 */
};

typedef struct {
    uint8_t kind;  /* OperandKind */
    uint8_t file;  /* RegFile, for OPK_VAL and OPK_REG */
    uint8_t count; /* 32-bit registers, 1..4, for OPK_VAL and OPK_REG; else 0 */
    uint8_t mods;  /* OPM_* */
    uint32_t value;
} Operand;
_Static_assert(sizeof(Operand) == 8, "operands are 8 bytes");

static inline Operand op_reg(RegFile file, uint32_t number, unsigned count) {
    return (Operand){OPK_REG, (uint8_t)file, (uint8_t)count, 0, number};
}
static inline Operand op_imm(uint32_t bits) { return (Operand){OPK_IMM, 0, 0, 0, bits}; }
#define OP_CMEM_BELOW 0x80000000u /* of fields with 17 bits of offset */
static inline Operand op_cmem(unsigned bank, uint32_t offset_bytes) {
    return (Operand){OPK_CMEM, 0, 0, 0, bank << 16 | (offset_bytes & 0xffff)};
}
static inline uint32_t op_cmem_bank(Operand o) { return (o.value & ~OP_CMEM_BELOW) >> 16; }
static inline uint32_t op_cmem_offset(Operand o) { return o.value & 0xffff; }
static inline Operand op_rz(void) { return op_reg(RF_R, REG_RZ, 1); }
static inline Operand op_pt(void) { return op_reg(RF_P, REG_PT, 1); }
static inline Operand op_with(Operand o, unsigned mods) {
    o.mods = (uint8_t)(o.mods | mods);
    return o;
}
static inline bool op_is_always(Operand o) { /* guard that is true for every lane */
    return o.kind == OPK_NONE || (o.kind == OPK_REG && o.value == REG_PT && !(o.mods & OPM_NOT));
}
#endif
