/* Branch cleanup: branches on a constant, blocks that only branch on, blocks with one way in from a block
 * with one way out, unreachable blocks. In: SSA before reconvergence. `.uni` promises stay with their branch.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "lower/opt/opt.h"
#include "lower/passes.h"

static bool is_const_pred(Operand o, bool *value) {
    if (o.kind != OPK_REG || o.file != RF_P || o.value != REG_PT)
        return false;
    *value = !(o.mods & OPM_NOT);
    return true;
}

static bool has_phis(Function *f, BlockId b) {
    const Block *blk = ir_block(f, b);
    return blk->insts.n && ir_inst(f, blk->insts.at[0])->op == IR_PHI;
}

void opt_decide_branch(Function *f, BlockId b, bool taken) {
    const Block *blk = ir_block(f, b);
    unsigned n = blk->insts.n;
    BlockId gone = blk->succs.at[taken];
    ir_remove_at(f, b, taken ? n - 1 : n - 2);
    if (taken)
        ir_set_guard(f, ir_block(f, b)->insts.at[n - 2], (Operand){0});
    ir_remove_edge(f, b, gone);
}

/* "@P BRA a; BRA b" whose P is known, or whose a and b are the same block without phis. */
static bool simplify_pair(Function *f, BlockId b) {
    const Block *blk = ir_block(f, b);
    unsigned n = blk->insts.n;
    if (blk->succs.n != 2 || n < 2)
        return false;
    const Inst *first = ir_inst(f, blk->insts.at[n - 2]);
    if (first->op != OT_BRA)
        return false;
    bool taken;
    BlockId a = blk->succs.at[0], other = blk->succs.at[1];
    if (a.i == other.i && has_phis(f, a)) /* which operand goes is not clear then */
        return false;
    if (is_const_pred(first->guard, &taken) && a.i != other.i) {
        opt_decide_branch(f, b, taken);
        return true;
    }
    if (a.i != other.i)
        return false;
    ir_remove_at(f, b, n - 2);
    ir_remove_edge(f, b, a);
    return true;
}

/* Predecessors of a block that only branches on go to its target at once. */
static bool thread_empty(Function *f, BlockId b) {
    const Block *blk = ir_block(f, b);
    if (b.i == f->entry.i || blk->insts.n != 1 || blk->succs.n != 1 || blk->succs.at[0].i == b.i)
        return false;
    BlockId to = blk->succs.at[0];
    if (ir_inst(f, blk->insts.at[0])->op != OT_BRA || has_phis(f, to))
        return false;
    bool changed = false;
    for (unsigned k = 0; k < ir_block(f, b)->preds.n;) {
        BlockId p = ir_block(f, b)->preds.at[k];
        const Block *pb = ir_block(f, p);
        if (ir_inst(f, pb->insts.at[pb->insts.n - 1])->op != OT_BRA) {
            k++; /* BRX: its table is made with the block */
            continue;
        }
        ir_replace_edge(f, p, b, to);
        changed = true;
    }
    return changed;
}

bool opt_merge_next(Function *f, BlockId b) {
    Block *blk = ir_block(f, b);
    if (blk->succs.n != 1)
        return false;
    BlockId next = blk->succs.at[0];
    Block *nb = ir_block(f, next);
    if (next.i == b.i || nb->preds.n != 1 || has_phis(f, next) || next.i == f->entry.i ||
        ir_inst(f, blk->insts.at[blk->insts.n - 1])->op != OT_BRA)
        return false;
    blk->insts.n--;
    for (unsigned p = 0; p < nb->insts.n; p++)
        ir_append(f, b, nb->insts.at[p]);
    blk = ir_block(f, b);
    nb = ir_block(f, next);
    blk->succs = nb->succs; /* the dead block keeps none */
    for (unsigned s = 0; s < blk->succs.n; s++) {
        Block *block = ir_block(f, blk->succs.at[s]);
        for (unsigned p = 0; p < block->preds.n; p++)
            if (block->preds.at[p].i == next.i)
                block->preds.at[p] = b;
    }
    nb->succs.at = NULL;
    nb->succs.n = nb->succs.cap = 0;
    nb->preds.n = nb->insts.n = 0;
    nb->dead = true;
    return true;
}

bool pass_branches(Function *f, Diags *d) {
    (void)d;
    for (bool changed = true; changed;) {
        changed = false;
        FOR_BLOCKS(f, b) {
            if (ir_block(f, b)->dead)
                continue;
            changed |= simplify_pair(f, b);
            changed |= thread_empty(f, b);
        }
        changed |= cfg_remove_unreachable(f);
        FOR_BLOCKS(f, b)
            while (!ir_block(f, b)->dead && opt_merge_next(f, b))
                changed = true;
        ir_renumber(f);
    }
    return true;
}
