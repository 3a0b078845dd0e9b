/* Rules on single instructions and on the shape of the code.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include "sim/launch.h"
#include <string.h>

static const char *name_of(const MachInst *inst) { return isa_optype_name(inst->optype); }

/* ---- encodings ---- */

static void undecoded(Checker *checker, uint32_t i) {
    MachInst m;
    char error[ISA_ERROR_BYTES];
    isa_decode(checker->flow->bin->target, checker->flow->bin->code[i], &m, error);
    bool unknown = strncmp(error, "unknown opcode", 14) == 0;
    bool bits = unknown || strstr(error, "belongs to no field") || strstr(error, "absent field");
    bool reachable = checker->flow->blocks[checker->flow->block_of[i]].reachable;
    /* what we do not know of NVIDIA's encodings is no mistake of the binary */
    Severity s = checker->native || (unknown && !reachable) ? SEV_WARNING : SEV_ERROR;
    check_report_as(checker, s, bits ? CR_R23 : CR_R22, i, NONE, "%s: %s",
                    bits ? "non-canonical encoding" : "illegal field", error);
}

/* The instruction's text must assemble to the same word. */
static void round_trip(Checker *checker, uint32_t i) {
    char text[256], error[ISA_ERROR_BYTES] = "";
    const char *end;
    MachInst back;
    uint64_t word[2];
    const Target *t = checker->flow->bin->target;
    uint64_t pc = bin_address(checker->flow, i);
    if (isa_print(t, &checker->flow->insts[i], pc, NULL, text, sizeof text) < 0)
        return;
    bool same = isa_parse(t, text, pc, NULL, &back, &end, error);
    if (same) {
        back.ctrl = checker->flow->insts[i].ctrl;
        for (unsigned k = 0; k < back.nsrc;
             k++) /* as the control field, reuse bits are not part of the text */
            back.src[k].mods |= checker->flow->insts[i].src[k].mods & OPM_REUSE;
        same =
            isa_encode(t, &back, word, error) && memcmp(word, checker->flow->bin->code[i], sizeof word) == 0;
    }
    if (!same)
        check_report(checker, CR_R23, i, NONE,
                     "non-canonical encoding: its text '%s' assembles to another word%s%s", text,
                     error[0] ? ": " : "", error);
}

/* ---- fields ---- */

static bool is_constant(Operand o, uint32_t *value) {
    if (o.kind == OPK_IMM)
        *value = o.value;
    else if (o.kind == OPK_NONE)
        *value = 0;
    else
        return false;
    return true;
}

/* A barrier for more threads than the file says that a block has, or than any block has: nobody passes it. */
static void too_many_threads(Checker *checker, uint32_t i, uint32_t count) {
    const BinFunc *f = &checker->flow->bin->funcs[checker->flow->blocks[checker->flow->block_of[i]].func];
    uint64_t threads = (uint64_t)f->reqntid[0] * f->reqntid[1] * f->reqntid[2];
    uint64_t most = threads ? threads : (uint64_t)f->maxntid[0] * f->maxntid[1] * f->maxntid[2];
    most = most && most < SIM_MAX_BLOCK_THREADS ? most : SIM_MAX_BLOCK_THREADS;
    if (count > (most + 31) / 32 * 32)
        check_report(checker, CR_R22, i, NONE, "illegal field cnt=%u: a block has at most %llu threads",
                     count, (unsigned long long)most);
}

static void bar_fields(Checker *checker, uint32_t i, const MachInst *inst) {
    uint32_t count, id;
    unsigned slot = inst->optype == OT_BAR ? BAR_cnt : BAR_RED_cnt;
    if (is_constant(inst->src[slot], &count)) {
        if (count % 32)
            check_report(checker, CR_R22, i, NONE, "illegal field cnt=%u: no multiple of 32", count);
        else
            too_many_threads(checker, i, count);
        if (inst->optype == OT_BAR && MGET(BAR, mode, inst->mods) == BARMode_ARV && count == 0 &&
            inst->src[BAR_barid].kind != OPK_REG)
            check_report(checker, CR_R22, i, NONE,
                         "illegal field cnt=0: BAR.ARV waits for nobody, so it needs a count");
    }
    slot = inst->optype == OT_BAR ? BAR_barid : BAR_RED_barid;
    if (is_constant(inst->src[slot], &id) && id > 15)
        check_report(checker, CR_R22, i, NONE, "illegal field barid=%u", id);
}

/* Where the branch leads, and behind it, do lanes go by the same guard at once, so that nothing is done where
 * its jump took lanes whose guard is false? */
static bool guard_decides_again(const Checker *checker, uint32_t i, const MachInst *inst) {
    uint32_t to[2] = {bin_target(checker->flow, i), i + 1};
    for (unsigned k = 0; k < 2; k++) {
        const MachInst *next = to[k] < checker->flow->bin->ncode ? &checker->flow->insts[to[k]] : NULL;
        if (!next || bin_kind(next) != BK_BRANCH || MGET(BRA, cond, next->mods) != BRACond_NoCond ||
            next->guard.kind != OPK_REG || next->guard.file != inst->guard.file ||
            next->guard.value != inst->guard.value)
            return false;
    }
    return true;
}

static void collective_branch(Checker *checker, uint32_t i, const MachInst *inst) {
    unsigned cond = MGET(BRA, cond, inst->mods);
    if (cond == BRACond_NoCond)
        return;
    bool of_lanes = inst->src[BRA_ura].kind != OPK_NONE;
    /* ptxas writes a guarded BRA.U where it knows the guard to be the same for all lanes, and asks of the
     * lanes of a mask in the guard whether all of them bring it (shfl.sync with a mask in a register,
     * sm_80, 12.x) */
    if (bin_guard(inst) != BG_ALWAYS && !(checker->native && (cond == BRACond_U || of_lanes)) &&
        !(of_lanes && guard_decides_again(checker, i, inst)))
        check_report(checker, CR_R21, i, NONE, "predicated BRA.%s moves lanes whose guard is false",
                     cond == BRACond_U     ? "U"
                     : cond == BRACond_DIV ? "DIV"
                                           : "CONV");
}

/* An operand in a constant bank is a word, or a pair of them that begins at an even one; only LDC, whose row
 * names that space, reads bytes. */
static void constant_operands(Checker *checker, uint32_t i, const MachInst *inst) {
    if (isa_traits(inst->optype)->space == ISA_SPACE_CONSTANT)
        return;
    for (unsigned k = 0; k < inst->nsrc; k++) {
        Operand o = inst->src[k];
        unsigned bytes = isa_src_regs(checker->flow->bin->target, inst, k) == 2 ? 8 : 4;
        if (o.kind == OPK_CMEM && op_cmem_offset(o) % bytes)
            check_report(checker, CR_R22, i, NONE, "illegal field c[0x%x][0x%x]: no multiple of %u bytes",
                         op_cmem_bank(o), op_cmem_offset(o), bytes);
    }
}

/* The instruction of the block before `at` that writes the predicate, as its destination *slot; NONE. */
static uint32_t predicate_writer(const BinFlow *flow, const BinBlock *block, uint32_t at, Operand predicate,
                                 unsigned *slot) {
    while (at-- > block->first)
        for (*slot = 0; *slot < flow->insts[at].ndst; ++*slot)
            if (flow->insts[at].dst[*slot].kind == OPK_REG &&
                flow->insts[at].dst[*slot].file == predicate.file &&
                flow->insts[at].dst[*slot].value == predicate.value)
                return at;
    return NONE;
}

/* Is the guard of i that of k, or made by the same operation of the same values, as ptxas 12 does with a
 * uniform predicate: PLOP3 P0 of UP0; PLOP3 P1 of UP0; @P0 WARPSYNC; @P1 BAR.SYNC? */
static bool same_guard(const BinFlow *flow, const BinBlock *block, uint32_t i, uint32_t k) {
    Operand one = flow->insts[i].guard, two = flow->insts[k].guard;
    if (one.kind != two.kind || one.file != two.file || one.mods != two.mods || one.value == two.value)
        return one.kind == two.kind && one.file == two.file && one.mods == two.mods;
    unsigned slots[2] = {0}; /* gcc 14 does not see that both are set where both places are found */
    uint32_t at[2] = {predicate_writer(flow, block, i, one, &slots[0]),
                      predicate_writer(flow, block, k, two, &slots[1])};
    if (at[0] == NONE || at[1] == NONE || slots[0] != slots[1])
        return false;
    const MachInst *made = &flow->insts[at[0]], *again = &flow->insts[at[1]];
    bool same = made->opcode == again->opcode && made->mods == again->mods && made->nsrc == again->nsrc &&
                bin_guard(made) == BG_ALWAYS && bin_guard(again) == BG_ALWAYS;
    uint32_t from = at[0] < at[1] ? at[0] : at[1], to = at[0] < at[1] ? at[1] : at[0];
    for (unsigned s = 0; same && s < made->nsrc; s++) {
        Operand source = made->src[s];
        same = source.kind == again->src[s].kind && source.file == again->src[s].file &&
               source.mods == again->src[s].mods && source.value == again->src[s].value;
        unsigned regs = isa_src_regs(flow->bin->target, made, s);
        bool is_true = source.kind == OPK_REG && source.file == RF_P && source.value == REG_PT;
        for (uint32_t n = from; same && source.kind == OPK_REG && !is_true && n < to; n++)
            for (unsigned r = 0; same && r < (regs ? regs : 1); r++)
                same = !bin_writes_reg(flow->bin->target, &flow->insts[n], (RegFile)source.file,
                                       source.value + r);
    }
    return same;
}

/* A block's barrier under a predicate, or the WARPSYNC before one, or before what all lanes do together,
 * under the same: of `bar.sync` and `ldmatrix` PTX promises that all lanes of the warp decide alike, and
 * ptxas writes
 * @P0 WARPSYNC -1; @P0 BAR.SYNC and @!P3 WARPSYNC.ALL; @!P3 LDSM instead of a branch. A lane that does not
 * sleep passes, and ptxas writes @!P0 NANOSLEEP where it waits for an object in shared memory. */
static bool guarded_with_its_use(const BinFlow *flow, uint32_t i) {
    const MachInst *own = &flow->insts[i];
    const BinBlock *block = &flow->blocks[flow->block_of[i]];
    if (bin_kind(own) == BK_BAR || bin_kind(own) == BK_NANOSLEEP)
        return true;
    for (uint32_t k = i + 1; bin_kind(own) == BK_WARPSYNC && k < block->first + block->ninsts; k++) {
        const MachInst *next = &flow->insts[k];
        if (bin_kind(next) == BK_BAR || isa_traits(next->optype)->lanes == ISA_LANES_COLLECTIVE)
            return same_guard(flow, block, i, k);
        for (unsigned d = 0; d < next->ndst; d++)
            if (next->dst[d].kind == OPK_REG && next->dst[d].file == own->guard.file &&
                next->dst[d].value == own->guard.value)
                return false;
    }
    return false;
}

/* A count or a scoreboard that the machine does not have: what it does then, nobody says. */
static void control_field(Checker *checker, uint32_t i) {
    const MachInst *inst = &checker->flow->insts[i];
    if (isa_control_exists(checker->flow->bin->target, inst))
        return;
    if (inst->ctrl.read_sb == 6 || inst->ctrl.write_sb == 6)
        check_report(checker, CR_R22, i, NONE, "illegal field: scoreboard 6, there are 0 to 5");
    else
        check_report(checker, CR_R22, i, NONE, "illegal field: a stall count of %u%s%s",
                     inst->ctrl.stall_cycles, inst->ctrl.yield ? "" : " without Y",
                     inst->ctrl.stall_cycles ? "" : " or with .reuse");
}

static void one_instruction(Checker *checker, uint32_t i) {
    const MachInst *inst = &checker->flow->insts[i];
    switch (bin_kind(inst)) {
    case BK_BSSY:
    case BK_BSYNC:
    case BK_WARPSYNC:
    case BK_YIELD:
    case BK_NANOSLEEP:
    case BK_BAR:
        if (bin_guard(inst) != BG_ALWAYS && !(checker->native && guarded_with_its_use(checker->flow, i)))
            check_report(checker, CR_R07, i, NONE,
                         "predicated %s: lanes with a false guard pass while still counted", name_of(inst));
        break;
    case BK_BRANCH: collective_branch(checker, i, inst); break;
    default: break;
    }
    if (bin_kind(inst) == BK_BAR)
        bar_fields(checker, i, inst);
    constant_operands(checker, i, inst);
}

/* ---- targets ---- */

/* Does a relocation give the word its target, as that of a function of the driver or of another object? */
static bool target_given(const Checker *checker, uint32_t i) {
    const Binary *binary = checker->flow->bin;
    uint64_t offset_bytes = bin_address(checker->flow, i) - binary->code_base;
    for (uint32_t k = 0; k < binary->nfixups; k++)
        if (binary->fixups[k].in_code && binary->fixups[k].offset_bytes == offset_bytes)
            return true;
    return false;
}

static void call_target(Checker *checker, uint32_t i) {
    const MachInst *inst = &checker->flow->insts[i];
    uint32_t t = bin_target(checker->flow, i);
    Operand ra = inst->src[CALL_ra];
    bool direct =
        ra.kind == OPK_NONE || (ra.kind == OPK_REG && ra.value == (ra.file == RF_UR ? REG_URZ : REG_RZ));
    if (!direct)
        return;
    bool outside = t == NONE || checker->proc_at[t] == NONE;
    if (outside && target_given(checker, i))
        return;
    if (outside)
        check_report_as(checker, checker->native ? SEV_WARNING : SEV_ERROR, CR_R18, i, NONE,
                        "the call's target is outside the code");
    else if (!checker->native &&
             t != checker->flow->funcs[checker->procs[checker->proc_at[t]].func].first_inst)
        check_report(checker, CR_R18, i, NONE, "the call's target %s is in the middle of a function",
                     check_at(checker, t));
}

static void block_end(Checker *checker, const BinBlock *b) {
    uint32_t last = b->first + b->ninsts - 1;
    const BinFuncFlow *flow = &checker->flow->funcs[b->func];
    if ((b->ends & BX_OFF_END) && last + 1 < flow->first_inst + flow->ninsts)
        check_report_as(checker, checker->native ? SEV_WARNING : SEV_ERROR, CR_R19, last, flow->first_inst,
                        "control runs into a word that is no instruction; what follows is not checked");
    else if (b->ends & BX_OFF_END)
        check_report(checker, CR_R19, last, flow->first_inst, "control falls off the end of the function");
    if (b->ends & BX_BAD_TARGET) {
        const MachInst *inst = &checker->flow->insts[last];
        check_report(checker, CR_R18, last, NONE, "target 0x%llx is no instruction of this function",
                     (unsigned long long)(bin_address(checker->flow, last) + INST_BYTES +
                                          (uint64_t)(bin_kind(inst) == BK_BRANCH ? inst->wide : 0) -
                                          checker->flow->bin->funcs[b->func].address));
    }
    if (b->ends & BX_UNKNOWN)
        check_report_as(
            checker, SEV_WARNING, CR_R18, last, NONE,
            "the file does not tell where this indirect branch leads; what follows is not checked");
}

void check_structure(Checker *checker) {
    const BinFlow *flow = checker->flow;
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        for (uint32_t i = flow->funcs[f].first_inst, k = 0; k < flow->funcs[f].ninsts; k++, i++) {
            if (!flow->decoded[i]) {
                undecoded(checker, i);
                continue;
            }
            if (check_wants(checker, CR_R23) && !checker->opt->no_text)
                round_trip(checker, i);
            if (!flow->blocks[flow->block_of[i]].reachable)
                continue;
            control_field(checker, i);
            one_instruction(checker, i);
            if (check_kind(checker, i) == BK_CALL)
                call_target(checker, i);
        }
    for (uint32_t b = 0; b < flow->nblocks; b++)
        if (flow->blocks[b].reachable)
            block_end(checker, &flow->blocks[b]);
}
