/* Routines of the compiler that are in no PTX: the stubs in which collectives meet, and the function in which
 * lanes with different masks gather (lower/reconverge/stub.c, gather.c describe them). A stub is straight
 * code that returns: it is executed where it is called, whatever it holds. Gathering is a loop that ends when
 * other lanes have come, which no proof of one lane can show: it is recognised by its words, and that this
 * code ends is taken for granted; the tests and the model checker show it. SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"
#include "isa/machine/abi.h"
#include <string.h>

enum { MASK_REG = ABI_FIRST_REG, RETURN_REG = ABI_RETURN_REG };

/* ---- the gathering of lanes ---- */
typedef struct { /* at a place in a function, behind NOPs and behind branches that all lanes take */
    const BinFlow *flow;
    uint32_t at, first, end;
    bool good;
} Reader;

static const Operand nothing = {0};

static MachInst made(unsigned optype, uint32_t mods, Operand guard, Operand a, Operand b, Operand c) {
    return (MachInst){.optype = (uint16_t)optype,
                      .mods = mods,
                      .guard = guard,
                      .nsrc = (uint8_t)isa_num_src(optype),
                      .ndst = (uint8_t)isa_num_dst(optype),
                      .src = {a, b, c}};
}

/* Is the word this instruction, whatever its control field and its target? */
static bool encodes_as(const Reader *reader, uint32_t at, MachInst in) {
    char error[ISA_ERROR_BYTES];
    uint64_t word[2];
    const MachInst *got = &reader->flow->insts[at];
    in.ctrl = got->ctrl;
    for (unsigned k = 0; k < got->nsrc && (in.optype == OT_BRA || in.optype == OT_BSSY); k++)
        if (got->src[k].kind == OPK_IMM64) {
            in.src[k] = got->src[k];
            in.wide = got->wide;
        }
    return reader->flow->decoded[at] && got->optype == in.optype &&
           isa_encode(reader->flow->bin->target, &in, word, error) &&
           memcmp(word, reader->flow->bin->code[at], sizeof word) == 0;
}

static void pass_idle(Reader *reader) {
    const MachInst jump = made(OT_BRA, 0, nothing, nothing, nothing, nothing),
                   idle = made(OT_NOP, 0, nothing, nothing, nothing, nothing);
    for (uint32_t steps = 0; reader->good && reader->at >= reader->first && reader->at < reader->end;
         steps++) {
        if (encodes_as(reader, reader->at, jump))
            reader->at = bin_target(reader->flow, reader->at);
        else if (encodes_as(reader, reader->at, idle))
            reader->at++;
        else
            return;
        reader->good &= steps <= reader->end - reader->first;
    }
    reader->good = false;
}

/* Passes this instruction; its target, if it has one. */
static uint32_t pass(Reader *reader, MachInst in) {
    pass_idle(reader);
    if (!reader->good || !encodes_as(reader, reader->at, in)) {
        reader->good = false;
        return BINFLOW_NONE;
    }
    return bin_target(reader->flow, reader->at++);
}
/* A branch to where this reader has been. */
static bool leads_to(const Reader *reader, uint32_t from, uint32_t to) {
    Reader one = *reader, other = *reader;
    one.at = from;
    other.at = to;
    pass_idle(&one);
    pass_idle(&other);
    return one.good && other.good && one.at == other.at;
}
static Operand barrier(unsigned reg) { return op_reg(RF_B, reg, 1); }

/* Registers of convergence barriers that lanes may have joined in any other function. */
static uint32_t barriers_beside(const BinFlow *flow, uint32_t func) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < flow->bin->ncode; i++) {
        BinKind kind = flow->decoded[i] ? bin_kind(&flow->insts[i]) : BK_NOP;
        bool own =
            i >= flow->funcs[func].first_inst && i < flow->funcs[func].first_inst + flow->funcs[func].ninsts;
        if (!own && (kind == BK_BSSY || kind == BK_BMOV_TO_B || kind == BK_BSYNC || kind == BK_BREAK))
            used |= 1u << bin_barrier(&flow->insts[i]);
    }
    return used;
}

/* Is this the function in which lanes gather? Its shape is that of lower/reconverge/gather.c. */
static bool gathers(const BinFlow *flow, uint32_t func) {
    const BinFuncFlow *ff = &flow->funcs[func];
    Reader r = {flow, ff->first_inst, ff->first_inst, ff->first_inst + ff->ninsts, true};
    pass_idle(&r);
    if (!r.good)
        return false;
    uint32_t begin = r.at, used = barriers_beside(flow, func), left = 0;
    const MachInst *first = &flow->insts[begin];
    if (!flow->decoded[begin] || first->optype != OT_BSSY)
        return false;
    unsigned asking = bin_barrier(first);
    Operand mask = op_reg(RF_R, MASK_REG, 1);
    uint32_t asked = pass(&r, made(OT_BSSY, 0, nothing, barrier(asking), nothing, nothing));
    pass_idle(&r);
    uint32_t test = r.at;
    if (!r.good || flow->insts[test].optype != OT_R2UR || test + 1 >= r.end)
        return false;
    Operand leader = op_reg(RF_UR, flow->insts[test].dst[0].value, 1);
    MachInst read = made(OT_R2UR, 0, nothing, mask, nothing, nothing);
    read.dst[0] = leader;
    pass(&r, read);
    pass_idle(&r);
    if (!r.good || flow->insts[r.at].optype != OT_ISETP || leader.value == REG_URZ)
        return false;
    Operand mine = op_reg(RF_P, flow->insts[r.at].dst[0].value, 1), others = op_with(mine, OPM_NOT);
    MachInst same = made(
        OT_ISETP, MSET(ISETP, sign, ISign_U32) | MSET(ISETP, cmp, ICmp_EQ) | MSET(ISETP, bop, BoolOp_AND),
        nothing, nothing, nothing, nothing);
    same.dst[0] = mine;
    same.src[ISETP_ra] = mask;
    same.src[ISETP_rb] = leader;
    if (mine.value == REG_PT)
        return false;
    pass(&r, same);
    uint32_t no =
        pass(&r, made(OT_BRA, MSET(BRA, cond, BRACond_DIV), mine, nothing, leader, nothing)); /* pp, ura */
    uint32_t again = pass(&r, made(OT_BRA, 0, others, nothing, nothing, nothing));
    if (!r.good || !leads_to(&r, again, test))
        return false;
    pass(&r, made(OT_BREAK, 0, nothing, barrier(asking), nothing, nothing));
    bool counts =
        isa_target_info(flow->bin->target)->elf_form == ElfForm_BRU1; /* calls: emit/encode/code.c */
    MachInst ret = made(OT_RET, MSET(RET, mode, BasePCMode_ABS) | (counts ? 0 : MSET(RET, nodec, 1)), nothing,
                        nothing, nothing, nothing);
    ret.src[RET_ra] = op_reg(RF_R, RETURN_REG, 2);
    pass(&r, ret);
    if (!r.good)
        return false;
    r.at = no;
    again = pass(&r, made(OT_BRA, 0, others, nothing, nothing, nothing));
    if (!r.good || !leads_to(&r, again, test))
        return false;
    pass(&r, made(OT_BSYNC, 0, nothing, barrier(asking), nothing, nothing));
    if (!r.good || asked != r.at) /* where BSSY says that lanes meet: behind the BSYNC */
        return false;
    pass_idle(&r);
    if (!r.good || flow->insts[r.at].optype != OT_BSSY)
        return false;
    unsigned parked = bin_barrier(&flow->insts[r.at]);
    uint32_t met = pass(&r, made(OT_BSSY, 0, nothing, barrier(parked), nothing, nothing));
    for (pass_idle(&r); r.good && flow->insts[r.at].optype == OT_BREAK; pass_idle(&r)) {
        unsigned reg = bin_barrier(&flow->insts[r.at]);
        pass(&r, made(OT_BREAK, 0, nothing, barrier(reg), nothing, nothing));
        left |= 1u << reg;
    }
    pass(&r, made(OT_YIELD, 0, nothing, nothing, nothing, nothing));
    pass(&r, made(OT_BSYNC, 0, nothing, barrier(parked), nothing, nothing));
    uint32_t own = 1u << asking | 1u << parked;
    return r.good && met == r.at && leads_to(&r, r.at, begin) && asking != parked && !(own & (used | left)) &&
           !(used & ~left);
}

/* ---- straight code ---- */
enum { MOST_STRAIGHT = 64 };
typedef struct {
    uint32_t block[MOST_STRAIGHT], n;
} Straight;

static bool is_of_straight_code(const BinFlow *flow, const BinBlock *block) {
    FOR_BIN_INSTS(block, i) {
        const MachInst *in = &flow->insts[i];
        switch (bin_kind(in)) {
        case BK_NOP:
        case BK_YIELD:
        case BK_WARPSYNC:
        case BK_COLLECTIVE:
        case BK_BAR: break;
        case BK_PLAIN:
            if (isa_traits(in->optype)->space)
                return false;
            break;
        case BK_BRANCH:
        case BK_RET:
            if (bin_guard(in) != BG_ALWAYS || i + 1 != block->first + block->ninsts)
                return false;
            break;
        default: return false;
        }
    }
    return true;
}

/* Blocks one after another from `block` to the one that returns; none: it is no such code. */
static Straight straight_from(const BinFlow *flow, uint32_t block) {
    Straight code = {.n = 0};
    while (code.n < MOST_STRAIGHT && is_of_straight_code(flow, &flow->blocks[block])) {
        const BinBlock *b = &flow->blocks[block];
        code.block[code.n++] = block;
        if (b->ends == BX_RET && !b->nsuccs)
            return code;
        if (b->ends || b->nsuccs != 1)
            break;
        block = b->succs[0].block;
    }
    code.n = 0;
    return code;
}

/* Its instructions, as if they stood here. */
static void run_straight(Mach *mach, const Straight *code) {
    const BinFlow *flow = mach->prover->flow;
    uint32_t call = mach->at;
    Term *pc = mach->pc;
    mach->pc = mach->full;
    for (uint32_t k = 0; k < code->n && !mach->run->fault; k++) {
        const BinBlock *block = &flow->blocks[code->block[k]];
        for (uint32_t i = block->first; i < block->first + block->ninsts && !mach->run->fault; i++) {
            BinKind kind = bin_kind(&flow->insts[i]);
            if (kind == BK_BRANCH)
                continue;
            mach_at(mach, i);
            if (kind == BK_RET)
                mach_check_way_back(mach, call);
            else
                mach_inst(mach);
        }
    }
    if (mach->run->fault)
        mach->run->fault_at = call;
    mach->pc = pc;
    mach_at(mach, call);
}

bool mach_straight(Mach *mach, uint32_t target) {
    const BinFlow *flow = mach->prover->flow;
    uint32_t block = flow->block_of[target];
    Straight code = flow->blocks[block].first == target ? straight_from(flow, block) : (Straight){.n = 0};
    if (code.n)
        run_straight(mach, &code);
    return code.n != 0;
}

static bool has_no_frame(const BinFlow *flow, uint32_t func) {
    return !flow->bin->funcs[func].frame_bytes && flow->funcs[func].nrpo;
}

bool mach_routine(Mach *mach, uint32_t func) {
    const BinFlow *flow = mach->prover->flow;
    if (has_no_frame(flow, func) && mach_straight(mach, flow->funcs[func].first_inst))
        return true;
    if (!gathers(flow, func))
        return false;
    if (mach->full == mach->prover->ts.falsity) /* nobody calls it */
        return true;
    VEC_ADD(
        mach->prover->run_arena, &mach->run->syncs,
        ((Sync){
            .guard = mach->full, .mask = mach_get(mach, LOC_R + MASK_REG), .at = mach->at, .gather = true}));
    mach_clobber(mach, func);
    return true;
}
