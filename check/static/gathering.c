/* Gathering of lanes as ptxas 13.0 writes it. Where the lanes of a mask may be apart it asks first,
 * and gathers them aside:
 *
 *         UMOV UR5, 0xff ;                          sm_90:  slow:  MOV R6, 0xff ;
 *         BRA.DIV UR5, slow ;                                      WARPSYNC.COLLECTIVE R6, back ;
 *         SHFL ... ;                                               SHFL ... ;
 *         ...                                                      ENDCOLLECTIVE ;
 *   slow: CALL gather ;   gather: WARPSYNC 0xff ; ...       back:  ...
 *
 * Both name the same lanes, and of WARPSYNC.COLLECTIVE and ENDCOLLECTIVE neither stands without the other:
 * what is between them is executed once, for lanes that wait in several places. The operations are known by
 * name: no other gather lanes so. SPDX-License-Identifier: MIT */
#include "check/flow/question.h"
#include "check/static/internal.h"

bool check_comes_together(const BinFlow *flow, uint32_t last, uint32_t block) {
    const MachInst *inst = &flow->insts[last];
    uint32_t to = flow->blocks[block].first;
    if (bin_kind(inst) == BK_WARPSYNC)
        return bin_guard(inst) == BG_ALWAYS && to == last + 1;
    return bin_kind(inst) == BK_BRANCH &&
           ((MGET(BRA, cond, inst->mods) == BRACond_DIV && to == last + 1) ||
            (MGET(BRA, cond, inst->mods) == BRACond_CONV && to == bin_target(flow, last)));
}

typedef enum {
    MEETS_UNKNOWN,
    MEETS_BLOCK /* BAR, which waits for the block */,
    MEETS_ITSELF /* what asks who is here, whoever that is */,
    MEETS_NOBODY,
    MEETS_AT
} Meets;

/* One instruction on the way of lanes that are apart: *into becomes the block of a routine that it calls. */
static Meets meets_at(const Checker *checker, uint32_t i, uint32_t *into) {
    const MachInst *inst = &checker->flow->insts[i];
    if (!checker->flow->decoded[i])
        return MEETS_UNKNOWN;
    if (bin_kind(inst) == BK_WARPSYNC)
        return MEETS_AT;
    if (bin_kind(inst) == BK_BAR)
        return MEETS_BLOCK;
    if (check_asks_who_is_active(inst))
        return MEETS_ITSELF;
    if (check_is_call(checker, i)) {
        Callees to = check_callees(checker, i);
        *into = to.n == 1 ? checker->procs[to.proc[0]].entry_block : NONE;
        return MEETS_UNKNOWN;
    }
    bool collective = bin_kind(inst) == BK_COLLECTIVE && (inst->optype == OT_SHFL || inst->optype == OT_VOTE);
    return collective || bin_kind(inst) == BK_RET ? MEETS_NOBODY : MEETS_UNKNOWN;
}

/* Lanes that are apart come to block `block`: is there a WARPSYNC on their way, before what needs them
 * together and before a routine returns? Followed where there is one way. *sync: the WARPSYNC, or what comes
 * without one. */
static Meets first_meeting(const Checker *checker, uint32_t block, uint32_t *sync) {
    enum { MOST_BLOCKS = 8 };
    const BinFlow *flow = checker->flow;
    for (unsigned n = 0; n < MOST_BLOCKS; n++) {
        const BinBlock *at = &flow->blocks[block];
        uint32_t into = NONE, last = at->first + at->ninsts;
        for (*sync = at->first; *sync < last && into == NONE; ++*sync) {
            Meets meets = meets_at(checker, *sync, &into);
            if (meets != MEETS_UNKNOWN)
                return meets;
            if (check_is_call(checker, *sync) && into == NONE)
                return MEETS_UNKNOWN;
        }
        if (into == NONE && at->nsuccs != 1)
            return MEETS_UNKNOWN;
        block = into == NONE ? at->succs[0].block : into;
    }
    return MEETS_UNKNOWN;
}

/* Is the mask that the branch names what a vote of its block says of who is active, with no other lanes
 * since?
 */
static bool names_active_lanes(const Checker *checker, uint32_t branch) {
    const BinFlow *flow = checker->flow;
    uint32_t first = flow->blocks[flow->block_of[branch]].first;
    Operand mask = flow->insts[branch].src[BRA_ura];
    while (mask.kind == OPK_REG && !(mask.mods & OPM_NOT) && branch-- > first) {
        const MachInst *inst = &flow->insts[branch];
        if (!flow->decoded[branch] || isa_has_effect(inst->optype, ISA_EFFECT_SWITCH))
            return false;
        if (!bin_writes_reg(flow->bin->target, inst, (RegFile)mask.file, mask.value))
            continue;
        if (bin_guard(inst) != BG_ALWAYS)
            return false;
        if (inst->optype == OT_VOTE || inst->optype == OT_VOTEU)
            return check_asks_who_is_active(inst) && op_is_always(inst->src[0]) &&
                   inst->dst[0].kind == OPK_REG && inst->dst[0].file == mask.file &&
                   inst->dst[0].value == mask.value;
        if (inst->optype != OT_R2UR)
            return false;
        mask = inst->src[R2UR_ra];
    }
    return false;
}

/* The whole warp comes together to what asks whether it is, or it asks for those who are here: BRA.DIV finds
 * nobody apart, and ptxas leaves out the WARPSYNC of the way that nobody goes. */
static bool asks_for_nothing(Checker *checker, uint32_t branch) {
    if (names_active_lanes(checker, branch))
        return true;
    uint32_t sync = check_warpsync_before(checker, branch), mask = 0;
    return sync != NONE && check_mask(checker->flow, sync, &mask) && mask == UINT32_MAX;
}

/* What lanes do that a BRA.DIV, or BRA.CONV, has found apart. */
static void apart_lanes(Checker *checker, uint32_t branch) {
    const BinFlow *flow = checker->flow;
    const BinBlock *block = &flow->blocks[flow->block_of[branch]];
    unsigned cond = MGET(BRA, cond, flow->insts[branch].mods);
    uint32_t asked, gathered, sync;
    if (!checker->native || (cond != BRACond_DIV && cond != BRACond_CONV))
        return;
    for (uint32_t s = 0; s < block->nsuccs; s++) {
        if ((block->succs[s].kind == BE_TAKEN) != (cond == BRACond_DIV))
            continue;
        Meets meets = first_meeting(checker, block->succs[s].block, &sync);
        if (meets == MEETS_NOBODY && !asks_for_nothing(checker, branch))
            check_report_as(checker, SEV_ERROR, CR_R09, sync, branch,
                            "lanes that BRA.%s at %s has found apart come here with no WARPSYNC",
                            cond == BRACond_DIV ? "DIV" : "CONV", check_at(checker, branch));
        else if (meets == MEETS_AT && check_mask(flow, branch, &asked) && check_mask(flow, sync, &gathered) &&
                 asked != gathered)
            check_report_as(checker, SEV_ERROR, CR_R09, sync, branch,
                            "WARPSYNC mask 0x%08x is not that of the BRA.%s at %s, 0x%08x", gathered,
                            cond == BRACond_DIV ? "DIV" : "CONV", check_at(checker, branch), asked);
    }
}

/* What lanes do of whose mask not all are here, as a branch has found (check/flow/question.h). */
static void missed_lanes(Checker *checker, uint32_t branch) {
    const BinFlow *flow = checker->flow;
    uint32_t gathered, sync;
    BinQuestion question;
    if (!bin_question(flow, branch, &question))
        return;
    Meets meets = first_meeting(checker, question.slow, &sync);
    if (meets == MEETS_NOBODY)
        check_report_as(checker, SEV_ERROR, CR_R09, sync, branch,
                        "lanes that the branch at %s has found apart come here with no WARPSYNC",
                        check_at(checker, branch));
    else if (meets == MEETS_AT && question.mask.kind == OPK_IMM && check_mask(flow, sync, &gathered) &&
             gathered != question.mask.value)
        check_report_as(checker, SEV_ERROR, CR_R09, sync, branch,
                        "WARPSYNC mask 0x%08x is not that of the question before %s, 0x%08x", gathered,
                        check_at(checker, branch), question.mask.value);
}

/* From `inst` to ENDCOLLECTIVE (`step` 1), or back to WARPSYNC.COLLECTIVE: the other end, nothing between
 * them that moves lanes; NONE. */
static uint32_t other_end(const Checker *checker, uint32_t inst, int step) {
    const BinFlow *flow = checker->flow;
    uint32_t func = flow->blocks[flow->block_of[inst]].func;
    unsigned wanted = step > 0 ? OT_ENDCOLLECTIVE : OT_WARPSYNC_COLLECTIVE;
    for (uint32_t i = inst + (uint32_t)step; i < flow->bin->ncode; i += (uint32_t)step) {
        if (!flow->decoded[i] || flow->block_of[i] == NONE || flow->blocks[flow->block_of[i]].func != func)
            return NONE;
        if (flow->insts[i].optype == wanted)
            return i;
        BinKind kind = bin_kind(&flow->insts[i]);
        if ((kind != BK_PLAIN && kind != BK_COLLECTIVE && kind != BK_BAR && kind != BK_NOP) ||
            flow->insts[i].optype == OT_ENDCOLLECTIVE)
            return NONE;
    }
    return NONE;
}

static void both_ends(Checker *checker, uint32_t i) {
    bool begins = checker->flow->insts[i].optype == OT_WARPSYNC_COLLECTIVE;
    uint32_t other = other_end(checker, i, begins ? 1 : -1);
    if (other == NONE)
        check_report_as(checker, SEV_ERROR, CR_R09, i, NONE, "%s without %s %s it",
                        begins ? "WARPSYNC.COLLECTIVE" : "ENDCOLLECTIVE",
                        begins ? "ENDCOLLECTIVE" : "WARPSYNC.COLLECTIVE", begins ? "behind" : "before");
    else if (begins && bin_target(checker->flow, i) != other + 1)
        check_report_as(checker, SEV_ERROR, CR_R09, i, other,
                        "lanes of WARPSYNC.COLLECTIVE do not go on behind its ENDCOLLECTIVE");
}

void check_gathering(Checker *checker) {
    const BinFlow *flow = checker->flow;
    for (uint32_t b = 0; b < flow->nblocks; b++)
        if (flow->blocks[b].reachable)
            FOR_BIN_INSTS(&flow->blocks[b], i) {
                if (!flow->decoded[i])
                    break;
                unsigned type = flow->insts[i].optype;
                if (type == OT_WARPSYNC_COLLECTIVE || type == OT_ENDCOLLECTIVE)
                    both_ends(checker, i);
                else if (type == OT_BRA) {
                    apart_lanes(checker, i);
                    missed_lanes(checker, i);
                }
            }
}
