/* Which values of the PTX somebody may still read where a block begins. What nobody reads has no value there:
 * PTX registers without a value may have any, so nothing is shown of them, and no location is looked for that
 * holds them. Values that are no registers are read by what is no operand, and are always wanted.
 * SPDX-License-Identifier: MIT */
#include "check/prove/lane/internal.h"
#include <string.h>

typedef struct {
    Prover *prover;
    uint64_t *now; /* by value */
} Walk;

enum { BITS = 64 };
static bool has(const uint64_t *set, uint32_t value) { return set[value / BITS] >> value % BITS & 1; }
static void put(uint64_t *set, uint32_t value, bool in) {
    uint64_t bit = 1ull << value % BITS;
    set[value / BITS] = in ? set[value / BITS] | bit : set[value / BITS] & ~bit;
}

static void wanted(Walk *walk, uint32_t reg, bool in) {
    if (!reg)
        return;
    put(walk->now, reg, in);
    if (walk->prover->upper[reg])
        put(walk->now, walk->prover->upper[reg] - 1, in);
}

/* Registers of an operand that is read; of a destination those that are read to find it. */
static void reads(Walk *walk, const PtxOperand *operand, bool destination) {
    if (!destination || operand->kind == PO_ADDR)
        wanted(walk, operand->reg, true);
    bool written = destination && operand->kind == PO_VEC;
    for (uint32_t k = 0; operand->vec && k < operand->nvec; k++)
        reads(walk, &operand->vec[k], written);
}

static void writes(Walk *walk, const PtxOperand *operand) {
    if (operand->kind == PO_REG)
        wanted(walk, operand->reg, false);
    for (uint32_t k = 0; operand->kind == PO_VEC && k < operand->nvec; k++)
        writes(walk, &operand->vec[k]);
}

/* From behind a statement to before it. */
static void undone(Walk *walk, const PtxInsn *in) {
    for (uint32_t k = 0; !in->guard_reg && k < in->ndst; k++)
        writes(walk, &in->operands[k]);
    for (uint32_t k = 0; !in->guard_reg && k < in->nrets; k++)
        writes(walk, &in->rets[k]);
    for (uint32_t k = 0; k < in->noperands; k++)
        reads(walk, &in->operands[k], k < in->ndst);
    for (uint32_t k = 0; k < in->nargs; k++)
        reads(walk, &in->args[k], false);
    wanted(walk, in->guard_reg, true);
}

void prove_ptx_live(Prover *prover) {
    uint32_t words = prover->nptx / BITS + 1;
    const PtxFunc *func = prover->pf;
    Walk walk = {prover, ARENA_ARRAY(&prover->arena, uint64_t, words)};
    uint64_t *always = ARENA_ARRAY(&prover->arena, uint64_t, words);
    for (uint32_t v = prover->carry; v < prover->first_upper; v++)
        put(always, v, true);
    for (uint32_t k = 0; func->ret_regs && k < func->nrets; k++) {
        walk.now = always;
        wanted(&walk, func->ret_regs[k], true);
    }
    walk.now = ARENA_ARRAY(&prover->arena, uint64_t, words);
    for (uint32_t b = 0; b < prover->nblocks; b++)
        prover->blocks[b].live = ARENA_ARRAY(&prover->arena, uint64_t, words);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = prover->nrpo; k-- > 0;) {
            PtxBlock *block = &prover->blocks[prover->rpo[k]];
            memcpy(walk.now, always, words * sizeof *always);
            for (uint32_t s = 0; s < block->nsucc; s++)
                for (uint32_t w = 0; w < words; w++)
                    walk.now[w] |= prover->blocks[block->succ[s]].live[w];
            for (uint32_t i = block->end; i-- > block->first;)
                undone(&walk, &func->insns[i]);
            changed |= memcmp(walk.now, block->live, words * sizeof *walk.now) != 0;
            memcpy(block->live, walk.now, words * sizeof *walk.now);
        }
    }
}

bool prove_ptx_wanted(const Prover *prover, uint32_t block, uint32_t value) {
    return has(prover->blocks[block].live, value);
}

static bool gives(const Prover *prover, const PtxOperand *operand, uint32_t value) {
    if (operand->kind == PO_REG)
        return operand->reg == value || prover->upper[operand->reg] == value + 1;
    for (uint32_t k = 0; operand->kind == PO_VEC && k < operand->nvec; k++)
        if (gives(prover, &operand->vec[k], value))
            return true;
    return false;
}

/* `add v, v, 4`: after any number of rounds it is what it was and a number. */
static bool counts(const PtxInsn *in, uint32_t value) {
    return in->op == PTX_ADD && !in->guard_reg && in->noperands == 3 && in->operands[1].kind == PO_REG &&
           in->operands[1].reg == value && in->operands[2].kind == PO_IMM;
}

bool prove_ptx_grows(const Prover *prover, uint32_t header, uint32_t value) {
    uint32_t loop = prover->ptx_loops.innermost[header];
    if (value >= prover->carry && value < prover->first_upper) /* by what is no operand */
        return true;
    for (uint32_t i = 0; loop != NO_NODE && i < prover->pf->ninsns; i++) {
        const PtxInsn *in = &prover->pf->insns[i];
        if (!loop_contains(&prover->ptx_loops, loop, prover->block_of[i]) || counts(in, value))
            continue;
        for (uint32_t k = 0; k < in->ndst; k++)
            if (gives(prover, &in->operands[k], value))
                return true;
        for (uint32_t k = 0; k < in->nrets; k++)
            if (gives(prover, &in->rets[k], value))
                return true;
    }
    return false;
}
