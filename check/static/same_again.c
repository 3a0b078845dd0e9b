/* Values of uniform registers that are made again: ptxas writes the address of a kernel's shared memory
 * wherever it is needed, on both ways of a branch and behind it,
 *
 *         UMOV UR6, 0x400 ;
 *         S2UR UR7, SR_CgaCtaId ;
 *         ULEA UR6, UR7, UR6, 0x18 ;
 *
 * so lanes on one way overwrite the register of those that wait where the ways meet, with what it held
 * . A value is known by the tree of operations that makes it, within one block: of immediates,
 * constants and special registers that are the same for the warp whenever they are read. Two of one tree are
 * equal. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/static/internal.h"
#include <string.h>

enum { DEEP = 6 }; /* operations between a value and what it is made of */

/* 0, or true */
static bool is_fixed(Operand o) {
    static const uint32_t fixed[RF_COUNT] = {
        [RF_R] = REG_RZ, [RF_P] = REG_PT, [RF_UR] = REG_URZ, [RF_UP] = REG_UPT};
    return o.value == fixed[o.file];
}

/* The number of what `reg` holds before instruction `at` of the block that starts with `first`; 0: unknown.
 */
static uint64_t number_before(const BinFlow *flow, uint32_t first, uint32_t at, RegFile file, uint32_t reg,
                              unsigned deep);

static uint64_t number_of_source(const BinFlow *flow, uint32_t first, uint32_t at, Operand o, unsigned regs,
                                 unsigned deep) {
    uint64_t number = rng_mix(o.kind * 977u + o.file * 31u + o.mods + 1);
    if (o.kind == OPK_SREG) {
        enum IsaVaries varies = isa_sreg_varies(flow->bin->target, o.value);
        if (varies == ISA_VARIES_LANE || varies == ISA_VARIES_TIME)
            return 0;
    }
    if (o.kind == OPK_REG && o.file != RF_R && o.file != RF_UR && o.file != RF_UP)
        return 0;
    if (o.kind != OPK_REG || is_fixed(o))
        return rng_mix(number + o.value);
    for (unsigned k = 0; number && k < (regs ? regs : 1); k++) {
        uint64_t word = number_before(flow, first, at, (RegFile)o.file, o.value + k, deep);
        number = word ? rng_mix(number + word) : 0;
    }
    return number;
}

/* What instruction `i` writes, its `part`th register; 0 if that may be another value at another time. */
static uint64_t number_written(const BinFlow *flow, uint32_t first, uint32_t i, unsigned part,
                               unsigned deep) {
    const MachInst *inst = &flow->insts[i];
    enum IsaUniform uniform = (enum IsaUniform)isa_traits(inst->optype)->uniform;
    bool of_data = uniform == ISA_UNIFORM_BY_DATA || uniform == ISA_UNIFORM_BY_SREG ||
                   inst->optype == OT_R2UR; /* any lane's: they hold the same */
    if (!deep || !of_data || !op_is_always(inst->guard) ||
        isa_has_effect(inst->optype, ~(uint32_t)ISA_EFFECT_READ) ||
        (isa_traits(inst->optype)->space & ~(unsigned)ISA_SPACE_CONSTANT))
        return 0;
    uint64_t number = rng_mix(inst->optype + 1ull) + rng_mix(inst->mods + 7ull) + rng_mix(part + 11ull) +
                      rng_mix((uint64_t)inst->wide);
    for (unsigned k = 0; number && k < inst->nsrc; k++) {
        uint64_t source = number_of_source(flow, first, i, inst->src[k],
                                           isa_src_regs(flow->bin->target, inst, k), deep - 1);
        number = source ? rng_mix(number + source) : 0;
    }
    return number;
}

/* The number of what instruction `at` writes to `reg`; false: it does not write it. */
static bool number_of_write(const BinFlow *flow, uint32_t first, uint32_t at, RegFile file, uint32_t reg,
                            unsigned deep, uint64_t *number) {
    const MachInst *inst = &flow->insts[at];
    unsigned part = 0;
    for (unsigned d = 0; d < inst->ndst; d++) {
        unsigned regs = isa_dst_regs(flow->bin->target, inst, d);
        regs = regs ? regs : 1;
        if (inst->dst[d].kind == OPK_REG && inst->dst[d].file == file && reg >= inst->dst[d].value &&
            reg < inst->dst[d].value + regs) {
            *number = number_written(flow, first, at, part + reg - inst->dst[d].value, deep);
            return true;
        }
        part += regs;
    }
    return false;
}

/* A register that the whole function writes with one value only has it wherever it is read: the descriptor of
 * global memory. */
static uint64_t number_everywhere(const BinFlow *flow, uint32_t func, RegFile file, uint32_t reg,
                                  unsigned deep) {
    uint64_t number = 0, one;
    for (uint32_t b = flow->funcs[func].first_block;
         b < flow->funcs[func].first_block + flow->funcs[func].nblocks; b++)
        FOR_BIN_INSTS(&flow->blocks[b], i) {
            if (!flow->decoded[i])
                return 0;
            if (!number_of_write(flow, flow->blocks[b].first, i, file, reg, deep, &one))
                continue;
            if (!one || (number && number != one))
                return 0;
            number = one;
        }
    return number;
}

static uint64_t number_before(const BinFlow *flow, uint32_t first, uint32_t at, RegFile file, uint32_t reg,
                              unsigned deep) {
    uint64_t number;
    while (at-- > first) {
        if (!flow->decoded[at])
            return 0;
        if (number_of_write(flow, first, at, file, reg, deep, &number))
            return number;
    }
    return deep ? number_everywhere(flow, flow->blocks[flow->block_of[first]].func, file, reg, deep - 1) : 0;
}

/* What is asked of a block for every register: which it writes, and whether the walk goes through it. */
struct SameAgain {
    uint64_t ur;
    uint8_t up;
    bool known, passes;
    uint32_t asked_of; /* entry of the procedure that `answers` are for: a block may belong to several */
    uint8_t *answers;  /* [register, uniform predicates behind the others] 0: not asked for, 1 + the answer */
};

static struct SameAgain *block_facts(Checker *checker, uint32_t block) {
    const BinFlow *flow = checker->flow;
    if (!checker->same_again)
        checker->same_again = ARENA_ARRAY(&checker->a, struct SameAgain, flow->nblocks + 1);
    struct SameAgain *facts = &checker->same_again[block];
    if (facts->known)
        return facts;
    facts->known = facts->passes = true;
    FOR_BIN_INSTS(&flow->blocks[block], i) {
        const MachInst *inst = &flow->insts[i];
        facts->passes &= flow->decoded[i] && !check_is_call(checker, i);
        for (unsigned d = 0; flow->decoded[i] && d < inst->ndst; d++) {
            unsigned regs = isa_dst_regs(flow->bin->target, inst, d);
            for (unsigned k = 0; inst->dst[d].kind == OPK_REG && k < (regs ? regs : 1); k++)
                if (inst->dst[d].file == RF_UR && inst->dst[d].value + k < NUM_UR)
                    facts->ur |= (uint64_t)1 << (inst->dst[d].value + k);
                else if (inst->dst[d].file == RF_UP && inst->dst[d].value + k < REG_UPT)
                    facts->up |= (uint8_t)(1u << (inst->dst[d].value + k));
        }
    }
    return facts;
}

/* The number that the last write of `reg` in the block has; *writes: is there one? */
static uint64_t number_behind(Checker *checker, uint32_t block, RegFile file, uint32_t reg, bool *writes) {
    const BinBlock *b = &checker->flow->blocks[block];
    const struct SameAgain *facts = block_facts(checker, block);
    *writes = (file == RF_UR ? facts->ur : facts->up) >> reg & 1;
    return *writes ? number_before(checker->flow, b->first, b->first + b->ninsts, file, reg, DEEP) : 0;
}

static bool holds_one_value(Checker *checker, const Proc *proc, uint32_t block, RegFile file, uint32_t reg) {
    const BinFlow *flow = checker->flow;
    ArenaMark mark = arena_mark(&checker->a);
    bool *seen = ARENA_ARRAY(&checker->a, bool, flow->nblocks), known = block != proc->entry_block, writes;
    uint32_t *stack = ARENA_ARRAY(&checker->a, uint32_t, flow->nblocks + 1), top = 0;
    uint64_t number = 0;
    for (stack[top++] = block; top && known;) {
        const BinBlock *b = &flow->blocks[stack[--top]];
        checker->steps++;
        for (uint32_t k = 0; k < b->npreds && known; k++) {
            uint32_t from = b->preds[k].block;
            if (!flow->blocks[from].reachable || seen[from])
                continue;
            seen[from] = true;
            known &= block_facts(checker, from)->passes;
            uint64_t one = number_behind(checker, from, file, reg, &writes);
            if (writes)
                known &= one && (!number || number == one);
            else
                known &= from != proc->entry_block;
            if (writes)
                number = one;
            else
                stack[top++] = from;
        }
    }
    arena_release(&checker->a, mark);
    return known && number;
}

bool check_holds_one_value(Checker *checker, const Proc *proc, uint32_t block, RegFile file, uint32_t reg) {
    struct SameAgain *facts = block_facts(checker, block);
    uint32_t at = (file == RF_UP ? NUM_UR : 0) + reg;
    if (!facts->answers)
        facts->answers = ARENA_ARRAY(&checker->a, uint8_t, NUM_UR + REG_UPT);
    else if (facts->asked_of != proc->entry_block)
        memset(facts->answers, 0, NUM_UR + REG_UPT);
    facts->asked_of = proc->entry_block;
    if (!facts->answers[at])
        facts->answers[at] = (uint8_t)(1 + holds_one_value(checker, proc, block, file, reg));
    return facts->answers[at] == 2;
}
