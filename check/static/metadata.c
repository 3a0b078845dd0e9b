/* What the file says of a function against its code: registers, named barriers, stack, what the driver must
 * know of the code, shared memory (M-01 to M-05). A launch reserves what the file says; code that uses more
 * reads and writes what belongs to another warp. Of an object, of which the linker will say the stack and
 * what callees need, it is only what the kernels' own code needs. Of registers the file names two more than
 * the code, always (ptxas 13.0, sm_75 to sm_90). Operations that move constants on the way to R1 it knows by
 * name: those that compilers have there. What another one computes is unknown. SPDX-License-Identifier: MIT
 */
#include "base/align.h"
#include "check/static/internal.h"
#include "isa/machine/abi.h"
#include "isa/machine/banks.h"
#include "sim/launch.h"

enum {
    ANY_BARRIER = 16,
    MAX_STACK_BYTES = 512 * 1024
}; /* local memory of a thread: CUDA C++ programming guide */

typedef struct { /* of one function, and then of all that it may reach */
    uint32_t regs, barriers, stack_bytes;
    uint32_t own_regs;           /* without those of what it calls */
    uint32_t asked_regs;         /* that USETMAXREG asks for beyond those of the launch */
    uint32_t reg_at, barrier_at; /* instruction that uses most */
    uint32_t z_at;               /* instruction that reads %ctaid.z, or NONE */
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

/* The number is in the low four bits; in a register, those that are not known may be anything. */
static void use_barrier(Usage *usage, const BinFlow *flow, uint32_t i) {
    const MachInst *inst = &flow->insts[i];
    unsigned left = 1024;
    CheckBits id =
        inst->nsrc ? check_bits_before(flow, i, inst->src[0], &left) : (CheckBits){UINT32_MAX, 0, UINT32_MAX};
    uint32_t n = ((id.value | ~id.known) & (ANY_BARRIER - 1)) + 1;
    if (n > usage->barriers) {
        usage->barriers = n;
        usage->barrier_at = i;
    }
}

/* A warp that has got more registers than the launch gave it may use them; how many a register says is not
 * followed. */
static void ask_registers(Usage *usage, const MachInst *inst) {
    if (inst->optype != OT_USETMAXREG_ALLOC)
        return;
    Operand n = inst->src[USETMAXREG_ALLOC_urb];
    uint32_t asked = n.kind == OPK_IMM ? n.value : REG_RZ + 1;
    if (asked > usage->asked_regs)
        usage->asked_regs = asked;
}

static Usage own_usage(const BinFlow *flow, uint32_t func) {
    Usage usage = {.stack_bytes = flow->bin->funcs[func].frame_bytes, .z_at = NONE};
    const Target *target = flow->bin->target;
    int z = isa_sreg_number(target, "ctaid.z");
    for (uint32_t k = 0; k < flow->funcs[func].nrpo; k++) {
        const BinBlock *b = &flow->blocks[flow->funcs[func].rpo[k]];
        for (uint32_t i = b->first; i < b->first + b->ninsts; i++) {
            const MachInst *inst = &flow->insts[i];
            if (!flow->decoded[i])
                continue;
            for (unsigned d = 0; d < inst->ndst; d++)
                use_operand(&usage, inst->dst[d], isa_dst_regs(target, inst, d), i);
            for (unsigned s = 0; s < inst->nsrc; s++) {
                use_operand(&usage, inst->src[s], isa_src_regs(target, inst, s), i);
                if (inst->src[s].kind == OPK_SREG && (int)inst->src[s].value == z)
                    usage.z_at = i;
            }
            if (bin_kind(inst) == BK_BAR)
                use_barrier(&usage, flow, i);
            ask_registers(&usage, inst);
        }
    }
    usage.own_regs = usage.regs;
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
        if (below->asked_regs > usage->asked_regs)
            usage->asked_regs = below->asked_regs;
        if (below->barriers > usage->barriers) {
            usage->barriers = below->barriers;
            usage->barrier_at = below->barrier_at;
        }
        if (usage->z_at == NONE)
            usage->z_at = below->z_at;
        usage->endless |= below->endless;
        deepest = below->stack_bytes > deepest ? below->stack_bytes : deepest;
    }
    usage->stack_bytes += deepest;
    usage->busy = false;
    usage->done = true;
}

/* ---- R1 ---- */

/* Where R1 stands below its place at the function's entry, or in a kernel below the top of the stack. */
typedef struct {
    enum { R1_NOT_REACHED, R1_KNOWN, R1_ANYWHERE } kind;
    int64_t below_bytes;
} Stack;

static bool is_r1(Operand o) {
    return o.kind == OPK_REG && o.file == RF_R && o.value == ABI_STACK_REG && !o.mods;
}

/* What an instruction that writes R1 makes of it; anything but a constant added, and the top of the stack
 * that a kernel begins with, may be any place (`alloca`, a frame pointer). */
static Stack after(const Target *target, const MachInst *inst, Stack s) {
    uint32_t sum = 0;
    bool base = false, other = false, top = false,
         adds = inst->optype == OT_VIADD || (inst->optype == OT_IADD3 && !inst->mods);
    for (unsigned k = 0; k < inst->nsrc; k++) {
        Operand o = inst->src[k];
        if (o.kind == OPK_IMM && adds)
            sum += o.value;
        else if (is_r1(o) && adds && !base)
            base = true;
        else if (o.kind == OPK_CMEM && op_cmem_bank(o) == CONST_BANK_LAUNCH &&
                 op_cmem_offset(o) == isa_target_info(target)->stack_top_offset_bytes)
            top = true;
        else if (o.kind == OPK_REG && o.file == RF_R)
            other |= o.value != REG_RZ;
    }
    bool always = bin_guard(inst) == BG_ALWAYS && inst->ndst && isa_dst_regs(target, inst, 0) <= 1;
    if (always && adds && base && !other && !top && s.kind == R1_KNOWN)
        return (Stack){R1_KNOWN, s.below_bytes - (int32_t)sum};
    bool moves = inst->optype == OT_MOV || inst->optype == OT_IMAD || inst->optype == OT_LDC;
    return always && moves && top && !other ? (Stack){R1_KNOWN, 0} : (Stack){R1_ANYWHERE, 0};
}

/* Is R1 lowered further than by the frame, by constants? ptxas does that for alloca, of which its records say
 * nothing: the host sets how much there is. But what they ask for beyond the frames is of a frame that is
 * larger than they say. */
static bool is_alloca(const BinFunc *func, const Usage *usage, Stack before, Stack now) {
    int64_t spare = (int64_t)func->stack_bytes - usage->stack_bytes;
    return before.kind == R1_KNOWN && before.below_bytes >= func->frame_bytes &&
           now.below_bytes <= MAX_STACK_BYTES && now.below_bytes - func->frame_bytes > spare;
}

/* Reports where R1 goes below the frame that the file gives the function. */
static void check_frame(Checker *checker, uint32_t index, const Usage *usage) {
    const BinFlow *flow = checker->flow;
    const BinFuncFlow *ff = &flow->funcs[index];
    const BinFunc *func = &flow->bin->funcs[index];
    Stack *in = ARENA_ARRAY(&checker->a, Stack, ff->nblocks + 1);
    for (uint32_t k = 0; k < ff->nentries; k++)
        in[ff->entries[k] - ff->first_block].kind = R1_ANYWHERE;
    in[0].kind = func->is_entry ? R1_ANYWHERE : R1_KNOWN;
    int64_t lowest_bytes = 0;
    uint32_t at = NONE;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t k = 0; k < ff->nrpo; k++) {
            const BinBlock *block = &flow->blocks[ff->rpo[k]];
            Stack s = in[ff->rpo[k] - ff->first_block];
            FOR_BIN_INSTS(block, i) {
                if (!flow->decoded[i] ||
                    !bin_writes_reg(flow->bin->target, &flow->insts[i], RF_R, ABI_STACK_REG))
                    continue;
                Stack before = s;
                s = after(flow->bin->target, &flow->insts[i], s);
                if (s.kind == R1_KNOWN && s.below_bytes > lowest_bytes &&
                    !is_alloca(func, usage, before, s)) {
                    lowest_bytes = s.below_bytes;
                    at = i;
                }
            }
            /* a call that does not come back is a branch to where another function's frame begins */
            bool calls = flow->insts[block->first + block->ninsts - 1].optype == OT_CALL;
            for (uint32_t e = 0; e < block->nsuccs; e++) {
                Stack *to = &in[block->succs[e].block - ff->first_block];
                Stack there = calls && block->succs[e].kind != BE_NEXT && s.kind == R1_KNOWN
                                  ? (Stack){R1_ANYWHERE, 0}
                                  : s;
                bool same = to->kind == there.kind && to->below_bytes == there.below_bytes;
                if (s.kind == R1_NOT_REACHED || to->kind == R1_ANYWHERE || same)
                    continue;
                *to = to->kind == R1_NOT_REACHED ? there : (Stack){R1_ANYWHERE, 0};
                more = true;
            }
        }
    }
    if (lowest_bytes > func->frame_bytes)
        check_report(checker, CR_M03, at, NONE,
                     "R1 is lowered by %lld bytes, the file gives %s a frame of %u", (long long)lowest_bytes,
                     func->name, func->frame_bytes);
}

/* ---- what the driver must know ---- */

static void check_exits(Checker *checker, uint32_t index) {
    const BinFlow *flow = checker->flow;
    const BinFuncFlow *ff = &flow->funcs[index];
    const BinFunc *func = &flow->bin->funcs[index];
    uint32_t nexits = 0, found = 0;
    for (uint32_t i = ff->first_inst; func->nexits && i < ff->first_inst + ff->ninsts; i++) {
        if (!flow->decoded[i] || flow->insts[i].optype != OT_EXIT)
            continue;
        bool listed = false;
        for (uint32_t k = 0; k < func->nexits; k++)
            listed |= func->exits[k] == (i - ff->first_inst) * INST_BYTES;
        nexits++;
        found += listed;
        if (!listed)
            check_report(checker, CR_M04, i, NONE,
                         "the file's list of EXIT instructions of %s lacks this one", func->name);
    }
    if (func->nexits != nexits && found == nexits)
        check_report(checker, CR_M04, ff->first_inst, NONE,
                     "the file's list of EXIT instructions of %s has %u places, the code %u", func->name,
                     func->nexits, nexits);
}

/* Threads of a block that the file requires: one at least, and not more than a block has. */
static void check_block(Checker *checker, uint32_t index) {
    const BinFunc *func = &checker->flow->bin->funcs[index];
    const uint32_t *n = func->reqntid;
    uint64_t threads = (uint64_t)n[0] * n[1], most = SIM_MAX_BLOCK_THREADS;
    bool none = (n[0] || n[1] || n[2]) && (threads == 0 || n[2] == 0);
    if (none || threads > most || threads * n[2] > most)
        check_report(checker, CR_M04, checker->flow->funcs[index].first_inst, NONE,
                     "the file requires blocks of %u x %u x %u threads for %s, which none can have", n[0],
                     n[1], n[2], func->name);
}

/* ---- shared memory ---- */

/* Of an access at a constant address: `*at` and its bytes, 0 if it is none. */
static unsigned constant_access(const MachInst *inst, uint64_t *at) {
    const OpTraits *traits = isa_traits(inst->optype);
    if (traits->space != ISA_SPACE_SHARED)
        return 0;
    *at = 0;
    for (unsigned k = 0; k < 3; k++) {
        if (traits->address[k] == ISA_NO_SLOT || traits->address[k] >= inst->nsrc)
            continue;
        Operand o = inst->src[traits->address[k]];
        if (o.kind == OPK_IMM)
            *at = (uint32_t)(*at + o.value);
        else if (o.kind != OPK_NONE &&
                 !(o.kind == OPK_REG && o.value == (o.file == RF_UR ? REG_URZ : REG_RZ)))
            return 0;
    }
    return isa_access_bytes(inst);
}

/* Static memory lies at the start, that of the launch behind it from the next multiple of 16 on. What lies
 * between belongs to nobody, and neither does what no block can have. */
static void check_shared(Checker *checker, uint32_t index) {
    const BinFlow *flow = checker->flow;
    const BinFuncFlow *ff = &flow->funcs[index];
    const BinFunc *func = &flow->bin->funcs[index];
    const TargetInfo *info = isa_target_info(flow->bin->target);
    if (func->shared_bytes > info->max_static_shared_bytes)
        check_report(checker, CR_M05, ff->first_inst, NONE,
                     "%s declares %u bytes of shared memory, a kernel may declare %u", func->name,
                     func->shared_bytes, info->max_static_shared_bytes);
    for (uint32_t i = ff->first_inst; i < ff->first_inst + ff->ninsts; i++) {
        uint64_t at;
        unsigned bytes = flow->decoded[i] ? constant_access(&flow->insts[i], &at) : 0;
        if (!bytes)
            continue;
        uint64_t end = info->shared_base_bytes + (uint64_t)func->shared_bytes;
        if (at + bytes > info->shared_base_bytes + (uint64_t)info->max_shared_bytes)
            check_report(checker, CR_M05, i, NONE,
                         "shared memory ends at byte 0x%x at most, the access at 0x%llx",
                         info->shared_base_bytes + info->max_shared_bytes, (unsigned long long)(at + bytes));
        else if (at < align_up(end, 16) && at + bytes > end)
            check_report(checker, CR_M05, i, NONE,
                         "%s declares shared memory up to byte 0x%llx, the access ends at 0x%llx", func->name,
                         (unsigned long long)end, (unsigned long long)(at + bytes));
    }
}

static void check_kernel(Checker *checker, uint32_t index, const Usage *usage) {
    const BinFlow *flow = checker->flow;
    const BinFunc *func = &flow->bin->funcs[index];
    const TargetInfo *info = isa_target_info(flow->bin->target);
    uint32_t first = flow->funcs[index].first_inst, most = func->nregs, header = func->header_regs;
    if (most < usage->asked_regs)
        most = usage->asked_regs;
    if (header && header < usage->asked_regs)
        header = usage->asked_regs;
    if (usage->regs && most < usage->regs + info->reserved_regs)
        check_report(checker, CR_M01, usage->reg_at, NONE,
                     "R%u is used, the file reserves %u registers for %s, %u of them for the machine",
                     usage->regs - 1, most, func->name, info->reserved_regs);
    if (header && usage->own_regs && header < usage->own_regs + info->reserved_regs)
        check_report(checker, CR_M01, first, NONE,
                     "R%u is used, the header of %s's section reserves %u registers", usage->own_regs - 1,
                     func->name, header);
    if (func->max_regs && func->max_regs < func->nregs)
        check_report(checker, CR_M01, first, NONE, "the file limits %s to %u registers and reserves %u",
                     func->name, func->max_regs, func->nregs);
    if (func->nbarriers < usage->barriers)
        check_report(checker, CR_M02, usage->barrier_at, NONE,
                     "barrier %u may be used, the file reserves %u barriers for %s", usage->barriers - 1,
                     func->nbarriers, func->name);
    if (func->nbarriers > info->num_cta_barriers)
        check_report(checker, CR_M02, first, NONE, "the file reserves %u barriers for %s, a block has %u",
                     func->nbarriers, func->name, info->num_cta_barriers);
    if (func->frame_bytes > MAX_STACK_BYTES || func->stack_bytes > MAX_STACK_BYTES)
        check_report(
            checker, CR_M03, first, NONE, "%s asks for %u bytes of stack, a thread can have %u", func->name,
            func->stack_bytes > func->frame_bytes ? func->stack_bytes : func->frame_bytes, MAX_STACK_BYTES);
    else if (!usage->endless && !flow->bin->is_object && func->stack_bytes < usage->stack_bytes)
        check_report(checker, CR_M03, first, NONE,
                     "%s has %u bytes of stack, its frames and those below need %u", func->name,
                     func->stack_bytes, usage->stack_bytes);
    if (usage->z_at != NONE && !func->uses_ctaid_z && info->elf_form != ElfForm_SM90)
        check_report(checker, CR_M04, usage->z_at, NONE,
                     "%%ctaid.z is read, and the file does not say so of %s", func->name);
    check_block(checker, index);
    check_shared(checker, index);
}

void check_metadata(Checker *checker) {
    const BinFlow *flow = checker->flow;
    uint32_t n = flow->bin->nfuncs;
    Usage *all = ARENA_ARRAY(&checker->a, Usage, n + 1);
    for (uint32_t f = 0; f < n; f++)
        all[f] = own_usage(flow, f);
    for (uint32_t f = 0; f < n && !flow->bin->is_object; f++)
        if (!all[f].done)
            add_callees(flow, all, f);
    for (uint32_t f = 0; f < n; f++) {
        if (!flow->funcs[f].ninsts)
            continue;
        check_frame(checker, f, &all[f]);
        check_exits(checker, f);
        if (flow->bin->funcs[f].is_entry)
            check_kernel(checker, f, &all[f]);
        else if (flow->bin->funcs[f].nparams)
            check_report(checker, CR_M04, flow->funcs[f].first_inst, NONE,
                         "%s has a kernel's parameters, and the file does not say that it is one",
                         flow->bin->funcs[f].name);
    }
}
