/* Predication: which branches have a shape that can become guarded code, and what a single instruction
 * allows. Regions are one block deep: a nested region is found when what it holds has become one block.
 * SPDX-License-Identifier: MIT */
#include "lower/opt/opt.h"
#include "lower/passes.h"
#include "lower/predicate/predicate.h"

typedef enum { END_JUMP, END_BRANCH, END_EXIT, END_OTHER } EndKind;

static const Inst *inst_at(const Function *f, const Block *b, unsigned from_end) {
    return b->insts.n > from_end ? &f->insts.at[b->insts.at[b->insts.n - 1 - from_end].i] : NULL;
}

static EndKind block_end(const Function *f, const Block *b) {
    const Inst *last = inst_at(f, b, 0), *first = inst_at(f, b, 1);
    if (last && last->op == OT_EXIT && b->succs.n == 0)
        return END_EXIT;
    if (!last || last->op != OT_BRA || !op_is_always(*ir_src((Function *)f, last, BRA_pp)))
        return END_OTHER;
    if (b->succs.n == 1)
        return END_JUMP;
    bool two = b->succs.n == 2 && first && first->op == OT_BRA && first->guard.kind == OPK_VAL &&
               first->guard.file == RF_P && op_is_always(*ir_src((Function *)f, first, BRA_pp));
    return two ? END_BRANCH : END_OTHER;
}

static bool own_side(const Function *f, BlockId side, BlockId head) {
    return side.i != head.i && f->blocks.at[side.i].preds.n == 1;
}

static bool bare_exit(const Function *f, BlockId b) {
    return f->blocks.at[b.i].insts.n == 1 && block_end(f, &f->blocks.at[b.i]) == END_EXIT;
}

static PredSide make_side(const Function *f, BlockId head, BlockId block) {
    const Block *h = &f->blocks.at[head.i], *b = &f->blocks.at[block.i];
    PredSide s = {.block = block, .guard = inst_at(f, h, 1)->guard};
    s.n = b->insts.n - (block_end(f, b) == END_BRANCH ? 2 : 1);
    if (h->succs.at[0].i != block.i)
        s.guard.mods ^= OPM_NOT;
    return s;
}

static bool observes_in_loop(const Function *f, BlockId b) {
    if (!f->blocks.at[b.i].loop_depth)
        return false;
    FOR_INSTS(f, b, i)
        if (i->flags & IF_OBSERVING)
            return true;
    return false;
}

bool pred_waits(const Pred *pred, const PredRegion *region) {
    return region->out.i &&
           (observes_in_loop(pred->f, region->head) || observes_in_loop(pred->f, region->side[0].block));
}

/* The shape with succs[k] as its side, PD_NONE if there is none. */
static PredicateShape shape_of(const Pred *pred, BlockId head, unsigned k, PredRegion *region) {
    const Function *f = pred->f;
    const Block *block = &f->blocks.at[head.i];
    BlockId side = block->succs.at[k], other = block->succs.at[1 - k];
    const Block *s = &f->blocks.at[side.i], *o = &f->blocks.at[other.i];
    region->out = (BlockId){0};
    if (bare_exit(f, side) && s->preds.n > 1) {
        region->shared_exit = true;
        region->join = other;
        return PD_EXIT;
    }
    if (!own_side(f, side, head))
        return PD_NONE;
    switch (block_end(f, s)) {
    case END_EXIT: /* what stands behind a loop should not be fetched in each round */
        region->join = other;
        return s->insts.n > 1 && s->loop_depth < block->loop_depth ? PD_NONE : PD_EXIT;
    case END_JUMP:
        region->join = s->succs.at[0];
        if (region->join.i == other.i)
            return other.i == head.i ? PD_NONE : PD_TRIANGLE;
        if (region->join.i != head.i && own_side(f, other, head) && block_end(f, o) == END_JUMP &&
            o->succs.at[0].i == region->join.i)
            return PD_DIAMOND;
        region->out = region->join;
        region->join = other;
        return other.i != head.i && pred->round[region->out.i] == pred->round[head.i] ? PD_LEAVE : PD_NONE;
    case END_BRANCH:
        for (unsigned x = 0; x < 2; x++)
            if (s->succs.at[x].i == other.i && s->succs.at[1 - x].i != other.i) {
                region->join = other;
                region->out = s->succs.at[1 - x];
                return PD_BRANCH;
            }
        return PD_NONE;
    default: return PD_NONE;
    }
}

PredicateReason pred_why_not(const Pred *pred, BlockId head) {
    const Function *f = pred->f;
    const Block *block = &f->blocks.at[head.i];
    PredicateReason why = PR_SHARED;
    for (unsigned k = 0; k < 2; k++) {
        const Block *s = &f->blocks.at[block->succs.at[k].i];
        if (block->succs.at[k].i == head.i)
            return PR_LOOP;
        for (unsigned x = 0; x < s->succs.n; x++)
            if (s->succs.at[x].i == head.i)
                return PR_LOOP;
        if (!own_side(f, block->succs.at[k], head))
            continue;
        EndKind end = block_end(f, s);
        PredicateReason here = end == END_BRANCH ? PR_INNER : end == END_OTHER ? PR_END : PR_NO_JOIN;
        if (why == PR_SHARED || here == PR_INNER)
            why = here;
    }
    return why;
}

bool pred_find(const Pred *pred, BlockId head, unsigned *from, PredRegion *region) {
    const Function *f = pred->f;
    const Block *block = &f->blocks.at[head.i];
    *region = (PredRegion){.head = head,
                           .uniform = uniform_branch(f, head) || (inst_at(f, block, 1)->flags & IF_UNIFORM)};
    if (block_end(f, block) != END_BRANCH || block->succs.at[0].i == block->succs.at[1].i)
        return false;
    while (*from <
           4) { /* each successor as the side, then once more: any other shape is better than PD_LEAVE */
        unsigned k = (*from)++;
        region->shared_exit = false;
        region->shape = shape_of(pred, head, k % 2, region);
        if (region->shape == PD_NONE || (region->shape == PD_LEAVE) != (k >= 2))
            continue;
        region->join_exits = bare_exit(f, region->join);
        region->nsides = region->shape == PD_DIAMOND ? 2 : 1;
        region->side[0] = make_side(f, head, block->succs.at[k % 2]);
        if (region->nsides == 2)
            region->side[1] = make_side(f, head, block->succs.at[1 - k % 2]);
        for (unsigned n = 0; n < region->nsides && !region->shared_exit; n++)
            region->ninsts += region->side[n].n;
        return true;
    }
    region->shape = PD_NONE;
    return false;
}

/* ---- single instructions ---- */

bool pred_slot(const Function *f, const Inst *i, uint32_t v, unsigned *slot, unsigned *component) {
    FOR_DSTS(f, i, dst) {
        for (unsigned c = 0; dst->kind == OPK_VAL && c < dst->count; c++)
            if (ir_operand_value(f, *dst, c).i == v) {
                *slot = AT(dst);
                *component = c;
                return true;
            }
    }
    return false;
}

/* Values in registers that calls demand, and register files that a warp has only once. */
static PredicateReason operands_allow(const Function *f, const Inst *i) {
    FOR_OPERANDS(f, i, o) {
        for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++) {
            ValId v = ir_operand_value(f, *o, c);
            if (v.i && f->values.at[v.i].fixed_reg >= 0)
                return PR_CALL;
            if (v.i && AT(o) < i->ndst && f->values.at[v.i].file != RF_R && f->values.at[v.i].file != RF_P)
                return PR_OPERATION;
        }
    }
    return PR_CONVERTED;
}

static PredKind pseudo_kind(const Inst *i, PredicateReason *why) {
    switch (i->op) {
    case IR_COPY:
    case IR_PARCOPY:
    case IR_UNDEF:
    case IR_FRAME_ADDR:
        if (op_is_always(i->guard))
            return PK_KEEP;
        break;
    case IR_PHI:
        if (i->nsrc == 1)
            return PK_KEEP;
        break;
    default: break;
    }
    *why = PR_OPERATION;
    return PK_NONE;
}

PredKind pred_kind(const Function *f, const Inst *i, PredicateReason *why) {
    *why = isa_has_effect(i->op, ISA_EFFECT_CALL | ISA_EFFECT_PLACE) ? PR_CALL : operands_allow(f, i);
    if (*why != PR_CONVERTED)
        return PK_NONE;
    if (i->flags & (IF_SYNC | IF_CONVERGENT)) {
        *why = PR_SYNC;
        return PK_NONE;
    }
    if (ir_is_pseudo(i->op))
        return pseudo_kind(i, why);
    switch ((enum IsaGuard)isa_traits(i->op)->guard) {
    case ISA_GUARD_FREE: return i->flags & (IF_SIDE_EFFECT | IF_MEMORY) ? PK_GUARD : PK_PLAIN;
    case ISA_GUARD_LANES: return PK_GUARD;
    case ISA_GUARD_FIXED:
    case ISA_GUARD_COUNT: break;
    }
    *why = isa_has_effect(i->op, ISA_EFFECT_SWITCH) ? PR_SYNC : PR_OPERATION;
    return PK_NONE;
}
