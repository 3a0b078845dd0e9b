/* What the file says of a function against its code: registers, named barriers, stack (M-01 to M-03). A
 * launch reserves what the file says; code that uses more reads and writes what belongs to another warp. Of
 * registers the file names two more than the code, always (ptxas 13.0, sm_75 to sm_90).
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"

enum {
    ANY_BARRIER = 16,
    MAX_STACK_BYTES = 512 * 1024
}; /* local memory of a thread: CUDA C++ programming guide */

typedef struct { /* of one function, and then of all that it may reach */
    uint32_t regs, barriers, stack_bytes;
    uint32_t reg_at, barrier_at; /* instruction that uses most */
    bool busy, done, endless;    /* endless: calls itself, or something unknown */
} Usage;

static void use_operand(Usage *usage, Operand o, unsigned regs, uint32_t i) {
    if (o.kind != OPK_REG || o.file != RF_R || o.value == REG_RZ)
        return;
    uint32_t end = o.value + (regs ? regs : 1);
    if (end > REG_RZ) /* vectors stop at RZ */
        end = REG_RZ;
    if (end > usage->regs) {
        usage->regs = end;
        usage->reg_at = i;
    }
}

static void use_barrier(Usage *usage, const MachInst *inst, uint32_t i) {
    Operand id = inst->src[0];
    uint32_t n = id.kind == OPK_IMM                         ? (id.value & 15) + 1
                 : id.kind == OPK_REG && id.value != REG_RZ ? ANY_BARRIER
                                                            : 1;
    if (n > usage->barriers) {
        usage->barriers = n;
        usage->barrier_at = i;
    }
}

static Usage own_usage(const BinFlow *flow, uint32_t func) {
    Usage usage = {.stack_bytes = flow->bin->funcs[func].frame_bytes};
    const Target *target = flow->bin->target;
    for (uint32_t k = 0; k < flow->funcs[func].nrpo; k++) {
        const BinBlock *b = &flow->blocks[flow->funcs[func].rpo[k]];
        for (uint32_t i = b->first; i < b->first + b->ninsts; i++) {
            const MachInst *inst = &flow->insts[i];
            if (!flow->decoded[i])
                continue;
            for (unsigned d = 0; d < inst->ndst; d++)
                use_operand(&usage, inst->dst[d], isa_dst_regs(target, inst, d), i);
            for (unsigned s = 0; s < inst->nsrc; s++)
                use_operand(&usage, inst->src[s], isa_src_regs(target, inst, s), i);
            if (bin_kind(inst) == BK_BAR)
                use_barrier(&usage, inst, i);
        }
    }
    return usage;
}

/* Adds what the callees use; the depth is that of the call graph. */
static void add_callees(const BinFlow *flow, Usage *all, uint32_t func) {
    Usage *usage = &all[func];
    usage->busy = true;
    uint32_t deepest = 0;
    for (uint32_t c = 0; c < flow->funcs[func].ncalls; c++) {
        uint32_t callee = flow->funcs[func].calls[c].callee;
        if (callee == BINFLOW_NONE || all[callee].busy || callee == func) {
            usage->endless |=
                callee != func || flow->funcs[func].calls[c].target == flow->funcs[func].first_inst;
            continue;
        }
        if (!all[callee].done)
            add_callees(flow, all, callee);
        const Usage *below = &all[callee];
        if (below->regs > usage->regs) {
            usage->regs = below->regs;
            usage->reg_at = below->reg_at;
        }
        if (below->barriers > usage->barriers) {
            usage->barriers = below->barriers;
            usage->barrier_at = below->barrier_at;
        }
        usage->endless |= below->endless;
        deepest = below->stack_bytes > deepest ? below->stack_bytes : deepest;
    }
    usage->stack_bytes += deepest;
    usage->busy = false;
    usage->done = true;
}

void check_metadata(Checker *checker) {
    const BinFlow *flow = checker->g;
    uint32_t n = flow->bin->nfuncs, reserved = isa_target_info(flow->bin->target)->reserved_regs;
    Usage *all = ARENA_ARRAY(&checker->a, Usage, n + 1);
    for (uint32_t f = 0; f < n; f++)
        all[f] = own_usage(flow, f);
    for (uint32_t f = 0; f < n; f++)
        if (!all[f].done)
            add_callees(flow, all, f);
    for (uint32_t f = 0; f < n; f++) {
        const BinFunc *func = &flow->bin->funcs[f];
        const Usage *usage = &all[f];
        uint32_t first = flow->funcs[f].first_inst;
        if (!func->is_entry || !flow->funcs[f].ninsts)
            continue;
        if (usage->regs && func->nregs < usage->regs + reserved)
            check_report(checker, CR_M01, usage->reg_at, NONE,
                         "R%u is used, the file reserves %u registers for %s, %u of them for the machine",
                         usage->regs - 1, func->nregs, func->name, reserved);
        if (func->nbarriers < usage->barriers)
            check_report(checker, CR_M02, usage->barrier_at, NONE,
                         "barrier %u may be used, the file reserves %u barriers for %s", usage->barriers - 1,
                         func->nbarriers, func->name);
        if (func->frame_bytes > MAX_STACK_BYTES || func->stack_bytes > MAX_STACK_BYTES)
            check_report(checker, CR_M03, first, NONE, "%s asks for %u bytes of stack, a thread can have %u",
                         func->name,
                         func->stack_bytes > func->frame_bytes ? func->stack_bytes : func->frame_bytes,
                         MAX_STACK_BYTES);
        else if (!usage->endless && func->stack_bytes < usage->stack_bytes)
            check_report(checker, CR_M03, first, NONE,
                         "%s has %u bytes of stack, its frames and those below need %u", func->name,
                         func->stack_bytes, usage->stack_bytes);
    }
}
