/* Melding: the two sides of a divergent branch that do much the same are executed together. Where the sides
 * have one shape, their blocks become one by one the blocks of one region, in which both kinds of lanes go.
 * Instructions that both sides have are issued once, with operands selected by the branch's condition where
 * they differ; what only one side has is executed under its guard, or by all lanes where that does no harm.
 *
 *     @P bra A               SEL r, a, b, P
 *     x = ld [b]; st x       x = ld [r]; st x
 *     bra J
 *  A: x = ld [a]; st x
 *  J:
 *
 * In: SSA before predication, uniformity known. A region is what two sides hold up to the post-dominator of
 * the branch, without loops; every lane executes what it executed before, in the same order, and besides only
 * arithmetic that cannot fault and whose results it does not use. Barriers, collectives and calls are in no
 * region. Regions are taken from the inside out. After Saumya, Sundararajah and Kulkarni: "DARM: Control-Flow
 * Melding for SIMT Thread Divergence Reduction", CGO 2022; regions of one shape, without their melding of
 * loops and of parts of a side.
 * SPDX-License-Identifier: MIT */
#include "lower/predicate/meld.h"
#include "ir/cfg.h"
#include "lower/passes.h"
#include <string.h>

enum { MOST_ROUNDS = 64 };

static const Inst *last_but(const Function *f, const Block *b, unsigned from_end) {
    return b->insts.n > from_end ? &f->insts.at[b->insts.at[b->insts.n - 1 - from_end].i] : NULL;
}

/* How a block of a region may end. */
static bool ends_plainly(const Function *f, const Block *b) {
    const Inst *last = last_but(f, b, 0), *first = last_but(f, b, 1);
    if (!last || last->op != OT_BRA || !op_is_always(*ir_src(f, last, BRA_pp)) || b->succs.n > 2)
        return false;
    if (b->succs.n == 1)
        return op_is_always(last->guard);
    return first && first->op == OT_BRA && first->guard.kind == OPK_VAL && first->guard.file == RF_P &&
           op_is_always(*ir_src(f, first, BRA_pp)) && b->succs.at[0].i != b->succs.at[1].i;
}

static bool add_pair(Meld *meld, BlockId zero, BlockId one) {
    if (meld->npairs == MELD_MOST_PAIRS)
        return false;
    meld->pair[meld->npairs++] = (MeldPair){.block = {zero, one}};
    meld->pair_of[zero.i] = meld->pair_of[one.i] = meld->npairs;
    meld->side_of[zero.i] = 1;
    meld->side_of[one.i] = 2;
    return true;
}

/* May an edge to `zero` on side 0 be the same as one to `one` on side 1, as far as is known? */
static bool may_pair(const Meld *meld, BlockId zero, BlockId one) {
    bool joins = zero.i == meld->join.i;
    return joins == (one.i == meld->join.i) && (joins || meld->pair_of[zero.i] == meld->pair_of[one.i]) &&
           (joins || zero.i != one.i) && zero.i != meld->head.i && one.i != meld->head.i;
}

static bool pair_edges(Meld *meld, unsigned k) {
    const Block *zero = ir_block(meld->f, meld->pair[k].block[0]),
                *one = ir_block(meld->f, meld->pair[k].block[1]);
    if (!ends_plainly(meld->f, zero) || !ends_plainly(meld->f, one) || zero->succs.n != one->succs.n)
        return false;
    unsigned n = zero->succs.n;
    bool crossed = false;
    for (unsigned s = 0; s < n && !crossed; s++)
        crossed = !may_pair(meld, zero->succs.at[s], one->succs.at[s]);
    if (crossed && n == 1)
        return false;
    meld->pair[k].crossed = crossed;
    meld->pair[k].ends = n == 1 && zero->succs.at[0].i == meld->join.i;
    for (unsigned s = 0; s < n; s++) {
        BlockId a = zero->succs.at[s], b = one->succs.at[crossed ? n - 1 - s : s];
        if (!may_pair(meld, a, b))
            return false;
        if (a.i != meld->join.i && !meld->pair_of[a.i]) {
            if (!add_pair(meld, a, b))
                return false;
        } else if (a.i != meld->join.i && (meld->side_of[a.i] != 1 || meld->side_of[b.i] != 2))
            return false;
    }
    return true;
}

/* Are the blocks entered from the region only, the first ones from the head? */
static bool is_closed(const Meld *meld) {
    for (unsigned k = 0; k < meld->npairs; k++)
        for (unsigned s = 0; s < 2; s++) {
            const Block *b = ir_block(meld->f, meld->pair[k].block[s]);
            if (k == 0 && (b->preds.n != 1 || b->preds.at[0].i != meld->head.i))
                return false;
            for (unsigned p = 0; k > 0 && p < b->preds.n; p++)
                if (meld->side_of[b->preds.at[p].i] != s + 1)
                    return false;
        }
    return true;
}

/* Sorts the pairs so that all ways lead forward. False: there is a loop. */
static bool sort_pairs(Meld *meld) {
    MeldPair old[MELD_MOST_PAIRS];
    unsigned need[MELD_MOST_PAIRS], done = 0, at[MELD_MOST_PAIRS];
    for (unsigned k = 0; k < meld->npairs; k++) {
        need[k] = k ? ir_block(meld->f, meld->pair[k].block[0])->preds.n : 0;
        meld->pair[k].often = k ? 0 : 1;
        if (!need[k])
            at[done++] = k;
    }
    for (unsigned n = 0; n < done; n++) {
        const MeldPair *pair = &meld->pair[at[n]];
        const Block *b = ir_block(meld->f, pair->block[0]);
        for (unsigned s = 0; s < b->succs.n; s++) {
            uint32_t to = meld->pair_of[b->succs.at[s].i];
            if (!to || b->succs.at[s].i == meld->join.i)
                continue;
            meld->pair[to - 1].often += pair->often / (float)b->succs.n;
            if (need[to - 1] && !--need[to - 1])
                at[done++] = to - 1;
        }
    }
    if (done != meld->npairs)
        return false;
    memcpy(old, meld->pair, sizeof old);
    for (unsigned k = 0; k < meld->npairs; k++) {
        meld->pair[k] = old[at[k]];
        meld->pair_of[meld->pair[k].block[0].i] = meld->pair_of[meld->pair[k].block[1].i] = k + 1;
    }
    return true;
}

static void forget_blocks(Meld *meld) {
    for (unsigned k = 0; k < meld->npairs; k++)
        for (unsigned s = 0; s < 2; s++)
            meld->pair_of[meld->pair[k].block[s].i] = meld->side_of[meld->pair[k].block[s].i] = 0;
    meld->npairs = 0;
}

/* Two sides of one shape up to the join? */
static bool find_region(Meld *meld, BlockId head, uint32_t join) {
    const Block *b = ir_block(meld->f, head);
    meld->head = head;
    meld->join = (BlockId){join};
    meld->npairs = 0;
    add_pair(meld, b->succs.at[0], b->succs.at[1]);
    bool good = true;
    for (unsigned k = 0; good && k < meld->npairs; k++)
        good = pair_edges(meld, k);
    return good && is_closed(meld) && sort_pairs(meld);
}

/* A divergent branch with something on both sides. */
static bool is_candidate(const Function *f, BlockId b, uint32_t join) {
    const Block *blk = ir_block((Function *)f, b);
    if (blk->dead || blk->succs.n != 2 || !join || !ends_plainly(f, blk) || uniform_branch(f, b) ||
        last_but(f, blk, 1)->flags & IF_UNIFORM)
        return false;
    for (unsigned s = 0; s < 2; s++)
        if (blk->succs.at[s].i == join || f->blocks.at[blk->succs.at[s].i].insts.n == 1)
            return false;
    return true;
}

static bool try_block(Meld *meld, BlockId b, uint32_t join) {
    Function *f = meld->f;
    if (!is_candidate(f, b, join))
        return false;
    const Inst *bra = last_but(f, ir_block(f, b), 1);
    meld->side[0] = meld->side[1] = bra->guard;
    meld->side[1].mods ^= OPM_NOT;
    meld->loc = bra->loc;
    MeldReport report = {.func = f, .branch = b, .loc = bra->loc, .reason = PR_UNLIKE};
    if (find_region(meld, b, join) && pred_meld_align(meld, &report.reason))
        report.reason = pred_meld_worth(meld, &report) ? PR_CONVERTED : PR_NO_PROFIT;
    if (report.reason == PR_CONVERTED)
        pred_meld_convert(meld);
    pred_meld_forget(meld);
    forget_blocks(meld);
    VEC_ADD(&f->module->arena, &f->module->melded, report);
    return report.reason == PR_CONVERTED;
}

static bool meld_function(Function *f, Diags *d) {
    bool changed = false, again = f->blocks.n > 1;
    for (unsigned round = 0; again && round < MOST_ROUNDS;
         round++) { /* what was melded may be the side of another */
        again = false;
        Meld meld = {.f = f, .predicate = f->module->predicate, .nvalues = f->values.n};
        unsigned before = f->module->melded.n;
        ir_renumber(f);
        Graph g = cfg_graph(&meld.a, f);
        PostDom pd = cfg_post_dominators(&meld.a, f, &g, f->entry.i);
        meld.pair_of = ARENA_ARRAY(&meld.a, uint32_t, f->blocks.n);
        meld.side_of = ARENA_ARRAY(&meld.a, uint8_t, f->blocks.n);
        meld.mate = ARENA_ARRAY(&meld.a, uint32_t, f->values.n);
        meld.now = ARENA_ARRAY(&meld.a, uint32_t, f->values.n);
        meld.wanted = ARENA_ARRAY(&meld.a, uint8_t, f->values.n);
        for (uint32_t k = f->layout.n; k-- > 0 && !again;) /* inner regions mostly stand behind outer heads */
            again = try_block(&meld, f->layout.at[k], pd.ipdom[f->layout.at[k].i]);
        arena_free(&meld.a);
        if (again) { /* the others are looked at again */
            f->module->melded.at[before] = f->module->melded.at[f->module->melded.n - 1];
            f->module->melded.n = before + 1;
            if (!pass_branches(f, d))
                return false;
        }
        changed |= again;
    }
    return !changed || (pass_fold(f, d) && pass_cse(f, d) && pass_dce(f, d) && pass_branches(f, d));
}

bool pass_meld(IrModule *module, Diags *d) {
    if (!ir_reconv_opt(module->reconv_opts, RO_MELD))
        return true;
    unsigned melded = 0;
    for (unsigned k = 0; k < module->funcs.n; k++) {
        unsigned before = module->melded.n;
        if (!meld_function(module->funcs.at[k], d))
            return false;
        for (unsigned n = before; n < module->melded.n; n++)
            melded += module->melded.at[n].reason == PR_CONVERTED;
    }
    return !melded || pass_uniformity(module, d);
}
