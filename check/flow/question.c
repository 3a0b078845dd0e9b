/* A branch that asks whether all lanes of a collective's mask are here (lower/reconverge/ask.c makes it):
 *
 *         MATCH.ANY R6, R3 ;                      or, of a mask that is a number,  VOTE.ANY R6, PT, PT ;
 *         LOP3.LUT P1, RZ, R6, R3, RZ, 0xc, !PT ; a lane of the mask is elsewhere, or has another one
 *         VOTE.ANY P1, P1 ;                       only of a mask in a register: all lanes go one way
 *   @!P1  BRA fast ;
 *
 * Nothing between the first and the branch changes who is active. ptxas asks the like where one addition of
 * the warp's sum does for those of all lanes, with no word on what the others do:
 *
 *         VOTE.ANY R0, PT, PT ;
 *         ISETP.EQ.U32.AND P0, PT, R0, -0x1, PT ;
 *   @!P0  BRA one_by_one ;
 *         SHFL.UP ...             all 32 lanes are here
 *
 * The operations are known by name: these
 * words are the meaning. SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "check/flow/question.h"

static bool is_reg(Operand o, unsigned file, uint32_t value) {
    return o.kind == OPK_REG && o.file == file && o.value == value && !o.mods;
}

static bool writes_register(const Target *target, const MachInst *inst, RegFile file, uint32_t reg) {
    RegFile all;
    uint32_t named =
        isa_has_effect(inst->optype, ISA_EFFECT_WRITES_ALL_P) ? isa_named_predicates(inst, &all) : 0;
    if (named && all == file && (named >> reg & 1))
        return true;
    for (unsigned d = 0; d < inst->ndst; d++) {
        unsigned regs = isa_dst_regs(target, inst, d);
        Operand o = inst->dst[d];
        if (o.kind == OPK_REG && o.file == file && reg >= o.value && reg < o.value + (regs ? regs : 1))
            return true;
    }
    return false;
}

/* The last instruction before `at`, in its block from `first` on, that writes the register; none: NONE, also
 * if lanes may be others between. */
static uint32_t written_before(const BinFlow *flow, uint32_t first, uint32_t at, RegFile file, uint32_t reg) {
    while (at-- > first) {
        const MachInst *inst = &flow->insts[at];
        BinKind kind = flow->decoded[at] ? bin_kind(inst) : BK_BRANCH;
        if (kind != BK_PLAIN && kind != BK_COLLECTIVE && kind != BK_NOP && kind != BK_BSSY)
            return BINFLOW_NONE;
        if (writes_register(flow->bin->target, inst, file, reg))
            return bin_guard(inst) == BG_ALWAYS ? at : BINFLOW_NONE;
    }
    return BINFLOW_NONE;
}

static bool is_lacks(const MachInst *inst, uint32_t pred) {
    Operand zero = inst->src[LOP3_rc], pp = inst->src[LOP3_pp];
    return inst->optype == OT_LOP3 && MGET(LOP3, lut, inst->mods) == LUT_LACKS &&
           is_reg(inst->dst[LOP3_pu], RF_P, pred) && inst->src[LOP3_ra].kind == OPK_REG &&
           inst->src[LOP3_ra].file == RF_R && !inst->src[LOP3_ra].mods && !inst->src[LOP3_rb].mods &&
           is_reg(zero, RF_R, REG_RZ) && pp.kind == OPK_REG && pp.value == REG_PT && pp.mods == OPM_NOT;
}

/* Does one lane say so at least? */
static bool is_any(const MachInst *inst, uint32_t pred) {
    Operand says = inst->src[VOTE_pp], word = inst->dst[VOTE_rd];
    return inst->optype == OT_VOTE && MGET(VOTE, op, inst->mods) == VoteOp_ANY &&
           is_reg(inst->dst[VOTE_pu], RF_P, pred) && says.kind == OPK_REG && says.file == RF_P &&
           !says.mods && says.value != REG_PT && (word.kind == OPK_NONE || is_reg(word, RF_R, REG_RZ));
}

static bool is_branch_of_lanes(const BinFlow *flow, uint32_t branch) {
    const BinBlock *block = &flow->blocks[flow->block_of[branch]];
    const MachInst *inst = &flow->insts[branch];
    return flow->decoded[branch] && inst->optype == OT_BRA && MGET(BRA, cond, inst->mods) == BRACond_NoCond &&
           bin_guard(inst) == BG_MAYBE && inst->guard.file == RF_P && op_is_always(inst->src[BRA_pp]) &&
           block->nsuccs == 2 && block->succs[0].kind != block->succs[1].kind;
}

/* The vote of what is true. */
static bool is_ballot(const MachInst *inst) {
    return inst->optype == OT_VOTE && MGET(VOTE, op, inst->mods) == VoteOp_ANY &&
           op_is_always(inst->src[VOTE_pp]);
}

bool bin_found_all(const BinFlow *flow, uint32_t branch, uint32_t block) {
    const BinBlock *own = &flow->blocks[flow->block_of[branch]];
    const MachInst *inst = &flow->insts[branch];
    if (!is_branch_of_lanes(flow, branch))
        return false;
    uint32_t at = written_before(flow, own->first, branch, RF_P, inst->guard.value);
    const MachInst *test = at == BINFLOW_NONE ? NULL : &flow->insts[at];
    if (!test || test->optype != OT_ISETP || !is_reg(test->dst[ISETP_pu], RF_P, inst->guard.value) ||
        MGET(ISETP, ex, test->mods) || MGET(ISETP, bop, test->mods) != BoolOp_AND ||
        !op_is_always(test->src[ISETP_pp]) || test->src[ISETP_rb].kind != OPK_IMM ||
        test->src[ISETP_rb].value != UINT32_MAX || test->src[ISETP_ra].kind != OPK_REG)
        return false;
    bool equal = MGET(ISETP, cmp, test->mods) == ICmp_EQ;
    uint32_t word = test->src[ISETP_ra].value, who = written_before(flow, own->first, at, RF_R, word);
    if ((!equal && MGET(ISETP, cmp, test->mods) != ICmp_NE) || who == BINFLOW_NONE ||
        !is_reg(test->src[ISETP_ra], RF_R, word) || !is_ballot(&flow->insts[who]) ||
        !is_reg(flow->insts[who].dst[VOTE_rd], RF_R, word))
        return false;
    bool all_are_taken = equal != ((inst->guard.mods & OPM_NOT) != 0);
    for (unsigned k = 0; k < 2; k++)
        if (own->succs[k].block == block && (own->succs[k].kind == BE_TAKEN) != all_are_taken)
            return false;
    return own->succs[0].block == block || own->succs[1].block == block;
}

bool bin_question(const BinFlow *flow, uint32_t branch, BinQuestion *question) {
    const BinBlock *block = &flow->blocks[flow->block_of[branch]];
    const MachInst *inst = &flow->insts[branch];
    if (!is_branch_of_lanes(flow, branch))
        return false;
    uint32_t answer = written_before(flow, block->first, branch, RF_P, inst->guard.value), lacks = answer,
             pred = inst->guard.value;
    bool votes = answer != BINFLOW_NONE && is_any(&flow->insts[answer], pred);
    if (votes) {
        pred = flow->insts[answer].src[VOTE_pp].value;
        lacks = written_before(flow, block->first, answer, RF_P, pred);
    }
    if (lacks == BINFLOW_NONE || !is_lacks(&flow->insts[lacks], pred))
        return false;
    Operand mask = flow->insts[lacks].src[LOP3_rb];
    uint32_t same = flow->insts[lacks].src[LOP3_ra].value;
    uint32_t who = written_before(flow, block->first, lacks, RF_R, same);
    if (who == BINFLOW_NONE || !is_reg(flow->insts[who].dst[0], RF_R, same))
        return false;
    const MachInst *asks = &flow->insts[who];
    bool of_number = !votes && mask.kind == OPK_IMM && is_ballot(asks),
         of_mask = votes && mask.kind == OPK_REG && mask.file == RF_R && mask.value != same &&
                   asks->optype == OT_MATCH && MGET(MATCH, op, asks->mods) == MatchOp_ANY &&
                   MGET(MATCH, type, asks->mods) == MatchType_U32 &&
                   is_reg(asks->src[MATCH_ra], RF_R, mask.value);
    for (uint32_t i = who; of_mask && i < branch; i++)
        of_mask = !writes_register(flow->bin->target, &flow->insts[i], RF_R, mask.value);
    bool taken_is_fast = (inst->guard.mods & OPM_NOT) != 0;
    for (unsigned k = 0; k < 2; k++)
        *((block->succs[k].kind == BE_TAKEN) == taken_is_fast ? &question->fast : &question->slow) =
            block->succs[k].block;
    question->who = who;
    question->answer = answer;
    question->mask = mask;
    return of_number || of_mask;
}
