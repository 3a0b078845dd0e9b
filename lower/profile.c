/* Profiles of machine IR: see profile.h. SPDX-License-Identifier: MIT */
#include "lower/profile.h"

static const Inst *branch_of(const Function *f, BlockId block) {
    const Block *b = &f->blocks.at[block.i];
    if (!f->module->profile || !f->ptx || b->succs.n < 2 || b->insts.n < 1)
        return NULL;
    const Inst *branch = &f->insts.at[b->insts.at[b->insts.n - 1].i];
    if (branch->op == OT_BRA && b->insts.n > 1)
        branch = &f->insts.at[b->insts.at[b->insts.n - 2].i];
    return isa_is_jump(branch->op) && branch->loc.i < f->locs.n ? branch : NULL;
}

const PtxBranch *lower_branch_counts(const Function *f, BlockId block) {
    const Inst *branch = branch_of(f, block);
    uint32_t insn = branch ? f->locs.at[branch->loc.i].ptx_insn : 0;
    if (!insn || branch->flags & IF_REWRITTEN || insn > f->ptx->ninsns ||
        (f->ptx->insns[insn - 1].op == PTX_BRX) != (branch->op == OT_BRX))
        return NULL;
    const PtxBranch *counts = f->locs.at[branch->loc.i].odds; /* of a copy */
    if (!counts)
        counts = ptx_profile_branch(f->module->profile, f->ptx, insn - 1);
    return counts && counts->warps && counts->nways == f->blocks.at[block.i].succs.n ? counts : NULL;
}

const PtxBranch *lower_branch_odds(const Function *f, BlockId block) {
    const Inst *branch = branch_of(f, block);
    return branch && branch->flags & IF_REWRITTEN ? f->locs.at[branch->loc.i].odds
                                                  : lower_branch_counts(f, block);
}

/* What a branch decides in place of two, lane by lane: way `inner` of `head` leads to `side`, whose way `out`
 * is its first, all other ways its second. NULL: it is not recorded. */
static PtxRecord *joined_records(Function *f, const PtxBranch *head, unsigned inner, const PtxBranch *side,
                                 unsigned out) {
    if (!head->records || (side && !side->records))
        return NULL;
    PtxBranch joined = {.nways = 2};
    for (uint32_t lane = 0; lane < PTX_RECORDED_LANES; lane++) {
        const PtxRecord *first = &head->records[lane], *then = side ? &side->records[lane] : NULL;
        for (uint32_t k = 0, m = 0; k < first->n; k++) {
            bool in = first->ways[k] == inner;
            if (in && then && m >= then->n)
                break;
            ptx_profile_record(f->arena, &joined, lane, in && (!then || then->ways[m] == out) ? 0 : 1);
            m += in;
        }
    }
    return joined.records;
}

static PtxBranch *two_ways(Function *f, PtxWay first, PtxWay second, uint64_t warps) {
    PtxBranch *counts = ARENA_NEW(f->arena, PtxBranch);
    PtxWay *ways = ARENA_ARRAY(f->arena, PtxWay, 2);
    ways[0] = first;
    ways[1] = second;
    *counts = (PtxBranch){.nways = 2, .ways = ways, .warps = warps};
    counts->divergent = warps - first.together - second.together;
    return counts;
}

const PtxBranch *lower_moved_odds(Function *f, const PtxBranch *head, unsigned inner) {
    if (!head)
        return NULL;
    PtxBranch *moved = two_ways(f, head->ways[inner], head->ways[1 - inner], head->warps);
    moved->records = joined_records(f, head, inner, NULL, 0);
    return moved;
}

/* Lanes of a way that went so many times all together, if groups had the mean size. */
static uint64_t lanes_apart(PtxWay way, double group) {
    double together = (double)way.together * group;
    return (double)way.lanes > together ? way.lanes - (uint64_t)together : 0;
}

const PtxBranch *lower_joined_odds(Function *f, const PtxBranch *head, unsigned inner, const PtxBranch *side,
                                   unsigned out) {
    if (head && !head->ways[inner].lanes) {
        PtxBranch *around = two_ways(f, (PtxWay){0}, head->ways[1 - inner], head->warps);
        around->records = joined_records(f, head, inner, NULL, 0);
        return around;
    }
    if (!head || !side)
        return NULL;
    const PtxWay *in = &head->ways[inner], *around = &head->ways[1 - inner], *on = &side->ways[out],
                 *back = &side->ways[1 - out];
    double warps = (double)side->warps, lanes = (double)(in->lanes + around->lanes);
    PtxWay first = {.lanes = on->lanes}, second = {.lanes = around->lanes + back->lanes};
    first.together = (uint64_t)((double)in->together * (double)on->together / warps + 0.5);
    second.together = around->together +
                      (uint64_t)((double)(in->together + head->divergent) * (double)back->together / warps);
    if (first.together + second.together > head->warps)
        second.together = head->warps - first.together;
    first.apart = lanes_apart(first, lanes / (double)head->warps);
    second.apart = lanes_apart(second, lanes / (double)head->warps);
    PtxBranch *joined = two_ways(f, first, second, head->warps);
    joined->records = joined_records(f, head, inner, side, out);
    return joined;
}

static void set_odds(Function *f, Inst *i, const PtxBranch *odds) {
    if (i->loc.i >= f->locs.n || f->locs.at[i->loc.i].odds == odds)
        return;
    Loc loc = f->locs.at[i->loc.i];
    loc.odds = odds;
    i->loc = (LocId){f->locs.n};
    VEC_ADD(f->arena, &f->locs, loc);
}

void lower_rewritten(Function *f, InstId branch, const PtxBranch *odds) {
    Inst *i = ir_inst(f, branch);
    i->flags |= IF_REWRITTEN;
    set_odds(f, i, odds);
}

void lower_copied(Function *f, BlockId block) {
    const PtxBranch *counts = lower_branch_odds(f, block);
    if (!counts || !counts->records)
        return;
    PtxBranch *copied = ARENA_NEW(f->arena, PtxBranch);
    *copied = *counts;
    copied->records = NULL;
    set_odds(f, ir_inst(f, (InstId){(uint32_t)(branch_of(f, block) - f->insts.at)}), copied);
}
