/* Does a cycle wait for what others do? It does where a branch in it depends on what it sees of
 * memory. A loop that counts its rounds, and only adds up what volatile or relaxed loads bring, ends whatever
 * the others do.
 *
 * A forward data flow over the cycle's blocks: which registers depend on what was seen. Written from such a
 * register or under such a predicate, a register depends on it, too; all of memory does once such a value is
 * stored. What is called may do anything. SPDX-License-Identifier: MIT */
#include "check/static/internal.h"

enum {
    CELL_P = 256,
    CELL_UR = CELL_P + 8,
    CELL_UP = CELL_UR + 256,
    CELL_B = CELL_UP + 8,
    CELLS = CELL_B + 16
};

typedef struct {
    const BinFlow *flow;
    Bitset *before, now; /* before: by number of the block in the cycle */
    bool memory, changed, waits;
} Seen;

/* The first cell of a register; NONE of what is none, or always the same. */
static uint32_t cell_of(Operand o) {
    static const struct {
        uint32_t first, fixed;
    } files[RF_COUNT] = {[RF_R] = {0, REG_RZ},
                         [RF_P] = {CELL_P, REG_PT},
                         [RF_UR] = {CELL_UR, REG_URZ},
                         [RF_UP] = {CELL_UP, REG_UPT},
                         [RF_B] = {CELL_B, NONE}};
    return o.kind == OPK_REG && o.value != files[o.file].fixed ? files[o.file].first + o.value : NONE;
}

static bool depends(const Seen *seen, Operand o, unsigned regs) {
    uint32_t cell = cell_of(o);
    for (unsigned k = 0; cell != NONE && k < (regs ? regs : 1) && cell + k < CELLS; k++)
        if (bs_has(&seen->now, cell + k))
            return true;
    return false;
}

static void write_cells(Seen *seen, Operand o, unsigned regs, bool seen_value) {
    uint32_t cell = cell_of(o);
    for (unsigned k = 0; cell != NONE && k < (regs ? regs : 1) && cell + k < CELLS; k++)
        if (seen_value)
            bs_add(&seen->now, cell + k);
        else
            bs_del(&seen->now, cell + k);
}

static void step(Seen *seen, const Checker *checker, uint32_t i) {
    const MachInst *inst = &seen->flow->insts[i];
    const Target *target = seen->flow->bin->target;
    BinKind kind = bin_kind(inst);
    bool some = depends(seen, inst->guard, 1);
    for (unsigned k = 0; k < inst->nsrc && !some; k++)
        some = depends(seen, inst->src[k], isa_src_regs(target, inst, k));
    seen->waits |=
        check_is_call(checker, i) ||
        (some && (kind == BK_BRANCH || kind == BK_BRANCH_INDIRECT || kind == BK_RET || kind == BK_EXIT));
    if (some && isa_has_effect(inst->optype, ISA_EFFECT_WRITE)) {
        seen->changed |= !seen->memory;
        seen->memory = true;
    }
    some |= check_observes(checker, i) || (seen->memory && isa_has_effect(inst->optype, ISA_EFFECT_READ));
    for (unsigned k = 0; k < inst->ndst; k++)
        if (some || op_is_always(inst->guard))
            write_cells(seen, inst->dst[k], isa_dst_regs(target, inst, k), some);
    for (uint32_t p = 0; some && isa_has_effect(inst->optype, ISA_EFFECT_WRITES_ALL_P) && p < REG_PT; p++)
        bs_add(&seen->now, CELL_P + p);
}

bool check_cycle_waits(Checker *checker, const CheckCycle *cycle) {
    const BinFlow *flow = checker->flow;
    Seen seen = {.flow = flow,
                 .before = ARENA_ARRAY(&checker->a, Bitset, cycle->nblocks),
                 .now = bs_new(&checker->a, CELLS),
                 .changed = true};
    for (uint32_t n = 0; n < cycle->nblocks; n++)
        seen.before[n] = bs_new(&checker->a, CELLS);
    while (seen.changed && !seen.waits) {
        seen.changed = false;
        for (uint32_t n = 0; n < cycle->nblocks && !seen.waits; n++) {
            const BinBlock *block = &flow->blocks[cycle->blocks[n]];
            bs_copy(&seen.now, &seen.before[n]);
            checker->steps++;
            FOR_BIN_INSTS(block, i) {
                seen.waits |= !flow->decoded[i];
                if (!seen.waits)
                    step(&seen, checker, i);
            }
            for (uint32_t s = 0; s < block->nsuccs; s++) {
                uint32_t to = cycle->number[block->succs[s].block - cycle->base];
                if (to < cycle->nblocks && cycle->blocks[to] == block->succs[s].block)
                    seen.changed |= bs_or(&seen.before[to], &seen.now);
            }
        }
    }
    return seen.waits;
}
