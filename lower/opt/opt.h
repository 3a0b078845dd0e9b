/* Small helpers of the optimisation passes.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_OPT_OPT_H
#define HEDDLE_LOWER_OPT_OPT_H
#include "ir/ir.h"

/* The machine instruction that the encoder would see; implicit operands left out. */
MachInst opt_mach(const Function *f, const Inst *i);
/* Does an opcode take the instruction's operands as they are? Always true for pseudo operations. */
bool opt_selectable(const Function *f, const Inst *i);
/* Source operand k is one of the optype's own, not an implicit or tied one. */
static inline bool opt_own_src(const Inst *i, unsigned k) {
    return !ir_is_pseudo(i->op) && k < isa_num_src(i->op);
}
/* An operation on f64, whose immediate is the number's upper half. */
static inline bool opt_is_f64(unsigned op) { return isa_traits(op)->unit == ISA_UNIT_DBL; }
/* Could it be computed anywhere else that has its operands? No guard, no memory, nothing that differs by
 * time. */
bool opt_only_computes(const Function *f, const Inst *i);
/* New unguarded MOV of o (immediate, constant bank, symbol, UR) into a new R value, before position at. */
Operand opt_mov_before(Function *f, BlockId b, unsigned at, Operand o, LocId loc);
/* Append the block behind b to it if b leads only there and nothing else does. Says whether it did. */
bool opt_merge_next(Function *f, BlockId b);
/* Of "@P BRA a; BRA b" at the end of block b, with two targets, only one stays: `taken`, a. */
void opt_decide_branch(Function *f, BlockId b, bool taken);
/* Scalar SSA value, or 0. */
static inline uint32_t opt_scalar(Operand o) { return o.kind == OPK_VAL && o.count == 1 ? o.value : 0; }
/* Replace every use of value v by repl[v] where that is not 0, also in vectors; chains are followed. */
void opt_rename(Function *f, uint32_t *repl);
#endif
