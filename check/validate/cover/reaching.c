/* See reaching.h. The state of a register is nothing (no way has been found yet), one statement, or many; a
 * block begins with what is common to the ends of the blocks before it, found by going over them until
 * nothing changes. At the kernel's entry all registers have many.
 * SPDX-License-Identifier: MIT */
#include "check/validate/cover/reaching.h"
#include <string.h>

enum { MOST_STATES = 1 << 22 };
#define MANY UINT32_MAX

struct Reaching {
    const PtxFunc *f;
    uint32_t *number; /* by register: + 1 of those looked at */
    uint32_t nregs;
    uint32_t *block_of; /* by statement: number of the block that begins there, + 1 */
    uint32_t *begins;   /* by block and register */
    uint32_t *now;      /* by register */
    uint32_t next;      /* statement */
    bool changed;
};

static void define_by(Reaching *reaching, const PtxOperand *operand, uint32_t by) {
    for (unsigned i = 0; operand->kind == PO_VEC && i < operand->nvec; i++)
        define_by(reaching, &operand->vec[i], MANY);
    if (operand->kind == PO_REG && reaching->number[operand->reg])
        reaching->now[reaching->number[operand->reg] - 1] = by;
}

/* What statement i does. */
static void reaching_step(Reaching *reaching, uint32_t i) {
    const PtxInsn *in = &reaching->f->insns[i];
    bool whole = in->ndst == 1 && !in->guard_reg;
    for (unsigned k = 0; k < in->ndst; k++)
        define_by(reaching, &in->operands[k], whole ? i + 1 : MANY);
    for (unsigned k = 0; k < in->nrets; k++)
        define_by(reaching, &in->rets[k], MANY);
}

static void reach_block(Reaching *reaching, uint32_t insn) {
    uint32_t block = insn < reaching->f->ninsns ? reaching->block_of[insn] : 0;
    for (uint32_t r = 0; block && r < reaching->nregs; r++) {
        uint32_t *state = &reaching->begins[(size_t)(block - 1) * reaching->nregs + r], old = *state;
        *state = !old ? reaching->now[r] : old == reaching->now[r] ? old : MANY;
        reaching->changed |= *state != old;
    }
}

/* From the end of a block, statement i, to those behind it. */
static void leave_block(Reaching *reaching, uint32_t i) {
    const PtxFunc *f = reaching->f;
    const PtxInsn *in = &f->insns[i];
    if (in->op == PTX_BRA && in->noperands && in->operands[0].kind == PO_LABEL)
        reach_block(reaching, f->labels[in->operands[0].label].insn);
    for (uint32_t k = 0; in->op == PTX_BRX && in->table && k < f->branch_tables[in->table - 1].n; k++)
        reach_block(reaching, f->labels[f->branch_tables[in->table - 1].labels[k]].insn);
    if (!ptx_leaves(in) || in->guard_reg)
        reach_block(reaching, i + 1);
}

static void take_block(Reaching *reaching, uint32_t block) {
    memcpy(reaching->now, reaching->begins + (size_t)(block - 1) * reaching->nregs,
           reaching->nregs * sizeof *reaching->now);
}

static uint32_t number_blocks(Reaching *reaching, Arena *arena) {
    const PtxFunc *f = reaching->f;
    uint32_t nblocks = 0;
    reaching->block_of = ARENA_ARRAY(arena, uint32_t, f->ninsns + 1);
    for (uint32_t i = 0; i < f->nlabels; i++)
        reaching->block_of[f->labels[i].insn] = 1;
    for (uint32_t i = 0; i < f->ninsns; i++)
        reaching->block_of[i + 1] |= ptx_leaves(&f->insns[i]);
    reaching->block_of[0] = 1;
    for (uint32_t i = 0; i < f->ninsns; i++)
        reaching->block_of[i] = reaching->block_of[i] ? ++nblocks : 0;
    return nblocks;
}

Reaching *coverage_reaching(const PtxFunc *func, const uint8_t *writes, Arena *arena) {
    Reaching *reaching = ARENA_NEW(arena, Reaching);
    *reaching = (Reaching){.f = func, .number = ARENA_ARRAY(arena, uint32_t, func->nregs + 1)};
    for (uint32_t r = 1; r <= func->nregs; r++)
        if (writes[r] > 1)
            reaching->number[r] = ++reaching->nregs;
    uint32_t nblocks = number_blocks(reaching, arena);
    if ((uint64_t)nblocks * reaching->nregs > MOST_STATES) {
        memset(reaching->number, 0, (func->nregs + 1) * sizeof *reaching->number);
        reaching->nregs = 0;
    }
    reaching->now = ARENA_ARRAY(arena, uint32_t, reaching->nregs + 1);
    reaching->begins = ARENA_ARRAY(arena, uint32_t, (size_t)nblocks * reaching->nregs + 1);
    for (uint32_t r = 0; nblocks && r < reaching->nregs; r++)
        reaching->begins[r] = MANY;
    for (bool again = reaching->nregs != 0; again; again = reaching->changed) {
        reaching->changed = false;
        for (uint32_t i = 0; i < func->ninsns; i++) {
            if (reaching->block_of[i])
                take_block(reaching, reaching->block_of[i]);
            reaching_step(reaching, i);
            if (i + 1 == func->ninsns || reaching->block_of[i + 1])
                leave_block(reaching, i);
        }
    }
    return reaching;
}

void coverage_reach_insn(Reaching *reaching, uint32_t insn) {
    while (reaching->nregs && reaching->next < insn)
        reaching_step(reaching, reaching->next++);
    if (reaching->nregs && reaching->block_of[insn])
        take_block(reaching, reaching->block_of[insn]);
}

uint32_t coverage_definition(const Reaching *reaching, uint32_t reg) {
    uint32_t number = reaching->number[reg], by = number ? reaching->now[number - 1] : MANY;
    return by == MANY ? 0 : by;
}
