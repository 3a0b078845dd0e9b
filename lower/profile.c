/* Profiles of machine IR: see profile.h. SPDX-License-Identifier: MIT */
#include "lower/profile.h"

const PtxBranch *lower_branch_counts(const Function *f, BlockId block) {
    const Block *b = &f->blocks.at[block.i];
    if (!f->module->profile || !f->ptx || b->succs.n < 2 || b->insts.n < 1)
        return NULL;
    const Inst *branch = &f->insts.at[b->insts.at[b->insts.n - 1].i];
    if (branch->op == OT_BRA && b->insts.n > 1)
        branch = &f->insts.at[b->insts.at[b->insts.n - 2].i];
    uint32_t insn = branch->loc.i < f->locs.n ? f->locs.at[branch->loc.i].ptx_insn : 0;
    if (!isa_is_jump(branch->op) || branch->flags & IF_REWRITTEN || !insn || insn > f->ptx->ninsns ||
        (f->ptx->insns[insn - 1].op == PTX_BRX) != (branch->op == OT_BRX))
        return NULL;
    const PtxBranch *counts = ptx_profile_branch(f->module->profile, f->ptx, insn - 1);
    return counts && counts->warps && counts->nways == b->succs.n ? counts : NULL;
}
