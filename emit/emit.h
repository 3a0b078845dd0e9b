/* Shared by the passes of emission: physical machine IR seen as MachInst, and registers as numbered cells.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_EMIT_H
#define HEDDLE_EMIT_EMIT_H
#include "emit/code.h"

/* The instruction with physical operands. Implicit operands (beyond the optype's slots) are left out; blocks
 * and symbols stay as they are (OPK_BLOCK, OPK_SYM). */
MachInst emit_mach(const Function *f, const Inst *i);

/* Addend of a symbol reference to the function itself: the address behind the next CALL of the block. */
#define EMIT_BEHIND_CALL INT64_MIN

/* R, P, UR and UP in one numbering. */
enum { CELL_P = 256, CELL_UR = 264, CELL_UP = 328, CELL_COUNT = 336 };
typedef struct {
    uint16_t cell;
    uint8_t operand; /* destination or source number, LATENCY_GUARD */
    uint8_t part;    /* which 32-bit register of it */
} CellRef;
enum { MAX_CELL_REFS = 160 };
/* Registers that an instruction writes and reads, without RZ, PT, URZ, UPT. Returns how many. */
unsigned emit_writes(const MachInst *inst, CellRef out[MAX_CELL_REFS]);
unsigned emit_reads(const MachInst *inst, CellRef out[MAX_CELL_REFS]);
/* A function call or return: everything in flight must have arrived, for the other side knows nothing of it.
 */
bool emit_is_call_boundary(const MachInst *inst);

/* Jump tables in constant bank 2 (tables.c). The tables of device functions have one place for the whole
 * module, at the bank's start, so that code need not know which kernel runs it; a kernel's own follow. */
bool elf_place_tables(const IrModule *module, uint32_t *base_bytes,
                      Diags *diags);     /* [m->funcs.n] where each function's begin */
void elf_fill_banks(CodeModule *module); /* CodeFunc.const2 of all kernels, from CodeFunc.tables */
#endif
