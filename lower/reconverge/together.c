/* Where the warp is surely together: every valid lane executes this now. A BAR or a collective of all lanes
 * that stands there needs no WARPSYNC, and no YIELD before it.
 *
 * That is so from a kernel's entry on, along branches that are proved uniform: lanes that a guarded EXIT
 * takes are valid no more. Behind a branch that may part lanes, a call, or where lanes sleep, it is so again
 * behind the next BAR or collective of all lanes (which gets a WARPSYNC then), but only up to the next branch
 * of any kind, and not behind a join: what the register allocator copies to and fro in a region looks
 * divergent behind it to a reader of the binary, who then cannot follow which branches are uniform. What the
 * source promises of a branch (.uni) counts for nothing, and where registers are read that nobody wrote,
 * nothing is known. lower/reconverge/check.c and check/static/uniform.c prove it again, each by a data flow
 * of its own.
 *
 * And where a collective's mask is what the same block asked just before, who is active (activemask): its
 * lanes are here, and nobody else is asked for. SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"
#include <string.h>

static bool reads_unwritten(Function *f) {
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i)
            if (i->op == IR_UNDEF)
                return true;
    return false;
}

static bool is_all(Operand mask) { return mask.kind == OPK_IMM && mask.value == UINT32_MAX; }

bool reconv_of_all_lanes(const Function *f, const Inst *i) {
    if (i->op == OT_WARPSYNC)
        return is_all(*ir_src(f, i, WARPSYNC_rb));
    unsigned mask = isa_num_src(i->op);
    return isa_has_effect(i->op, ISA_EFFECT_CTA_BARRIER) ||
           (i->flags & IF_SYNC && i->nsrc > mask && is_all(*ir_src(f, i, mask)));
}

/* VOTE of true without a mask: it waits for nobody. */
static bool tells_who_is_active(Function *f, const Inst *i) {
    return i->op == OT_VOTE && op_is_always(i->guard) && i->nsrc == isa_num_src(OT_VOTE) &&
           op_is_always(*ir_src(f, i, VOTE_pp)) && MGET(VOTE, op, i->mods) == VoteOp_ANY &&
           ir_dst(f, i, VOTE_rd)->kind == OPK_VAL;
}

bool reconv_step_active(Function *f, const Inst *i, Operand *active) {
    if (ir_is_pseudo(i->op))
        return false;
    unsigned own = isa_num_src(i->op);
    if (i->flags & IF_SYNC && active->kind == OPK_VAL && i->nsrc > own &&
        !memcmp(ir_src(f, i, own), active, sizeof *active))
        return true;
    if (tells_who_is_active(f, i))
        *active = *ir_dst(f, i, VOTE_rd);
    else if (i->flags & IF_SYNC || reconv_changes_active(i) || isa_has_effect(i->op, ISA_EFFECT_CTA_BARRIER))
        *active = (Operand){0};
    return false;
}

bool reconv_step_together(const Function *f, const Inst *i, bool together) {
    if (ir_is_pseudo(i->op) || i->op == OT_EXIT)
        return together;
    if (reconv_of_all_lanes(f, i))
        return true;
    if (i->op == OT_WARPSYNC || i->flags & IF_SYNC) /* those of a mask let the others go on */
        return false;
    return together && !reconv_changes_active(i);
}

/* Do lanes that begin the block together surely go one way together behind it? */
static bool keeps_together(const Function *f, uint32_t block) {
    const Block *b = &f->blocks.at[block];
    FOR_INSTS(f, (BlockId){block}, i)
        if (!reconv_step_together(f, i, true))
            return false;
    return b->succs.n < 2 ||
           (!(reconv_branch(f, b)->flags & IF_UNIFORM) && uniform_branch(f, (BlockId){block}));
}

/* Marks what comes behind a place where lanes may part; `round` marks it. */
static uint32_t mark_behind(Reconv *reconv) {
    uint32_t top = 0, round = ++reconv->round;
    bool nowhere = !reconv->f->is_entry || reads_unwritten(reconv->f);
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k];
        if (!b || (!nowhere && keeps_together(reconv->f, b)))
            continue;
        if (nowhere)
            reconv->mark[b] = round;
        GRAPH_SUCCS(&reconv->g, b, s)
            if (reconv->mark[*s] != round)
                reconv->mark[*s] = round, reconv->stack[top++] = *s;
    }
    while (top) {
        uint32_t b = reconv->stack[--top];
        reconv->f->module->steps++;
        GRAPH_SUCCS(&reconv->g, b, s)
            if (reconv->mark[*s] != round)
                reconv->mark[*s] = round, reconv->stack[top++] = *s;
    }
    return round;
}

void reconv_find_together(Reconv *reconv) {
    Function *f = reconv->f;
    uint32_t round = mark_behind(reconv);
    reconv->apart = ARENA_ARRAY(&reconv->a, bool, reconv->g.n);
    reconv->apart[f->entry.i] = reconv->mark[f->entry.i] == round;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < reconv->order.count; k++) {
            uint32_t b = reconv->order.order[k];
            bool together = !reconv->apart[b];
            if (!b)
                continue;
            f->module->steps++;
            FOR_INSTS(f, (BlockId){b}, i)
                together = reconv_step_together(f, i, together);
            together &= reconv->g.succ_at[b + 1] - reconv->g.succ_at[b] == 1;
            GRAPH_SUCCS(&reconv->g, b, s)
                if (!together && reconv->mark[*s] == round && !reconv->apart[*s])
                    reconv->apart[*s] = changed = true;
        }
    }
}
