/* Masks that name exactly the lanes that come to a place:
 *
 *         %m = VOTE.ANY %p, all lanes          in uniform flow: WARPSYNC of all lanes before it
 *     @%p BRA A                                in uniform flow
 *         ...                                  only lanes with !%p: ~%m
 *     A:  ...                                  only lanes with %p: %m
 *
 * All lanes at such a place have one mask: a lane that is a round ahead has passed the vote again, which
 * waits for all. Nor does a lane there wait for one at such a place of another side or vote, or at one in
 * uniform flow: those of its mask came this way too, and every lane passes the vote, the sides and what is in
 * uniform flow in one order. SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"

static bool reads_zero(Operand o) {
    return !o.mods && ((o.kind == OPK_REG && o.value == REG_RZ) || (o.kind == OPK_IMM && o.value == 0));
}

/* The value of which this one is the complement; 0: of none. */
static uint32_t complement_of(const Function *f, uint32_t value) {
    const Inst *i = &f->insts.at[f->values.at[value].def.i];
    if (i->op != OT_LOP3 || !op_is_always(i->guard))
        return 0;
    Operand a = *ir_src(f, i, LOP3_ra), b = *ir_src(f, i, LOP3_rb), c = *ir_src(f, i, LOP3_rc);
    unsigned lut = MGET(LOP3, lut, i->mods);
    bool alone = a.kind == OPK_VAL && a.count == 1 && !a.mods && reads_zero(b) && reads_zero(c);
    return alone && (lut & 1) && !(lut >> 4 & 1) ? a.value : 0;
}

/* The vote in uniform flow in which all lanes say the predicate of which this value has a bit for each; NULL:
 * it is no such. */
static const Inst *vote_of(const Function *f, uint32_t value) {
    const Value *v = &f->values.at[value];
    const Inst *i = &f->insts.at[v->def.i];
    if (i->op != OT_VOTE || !op_is_always(i->guard) || !f->blocks.at[v->block.i].uniform_flow ||
        i->nsrc <= isa_num_src(OT_VOTE) || ir_dst(f, i, 0)->kind != OPK_VAL ||
        ir_dst(f, i, 0)->value != value)
        return NULL;
    Operand mask = *ir_src(f, i, isa_num_src(OT_VOTE));
    return mask.kind == OPK_IMM && mask.value == UINT32_MAX && ir_src(f, i, VOTE_pp)->kind == OPK_VAL ? i
                                                                                                      : NULL;
}

/* Is the predicate known for lanes that have come from the one block before b? *holds: what it is */
static bool tells(const Function *f, uint32_t b, uint32_t predicate, bool *holds) {
    const Block *block = &f->blocks.at[b];
    if (block->preds.n != 1)
        return false;
    const Block *from = &f->blocks.at[block->preds.at[0].i];
    if (!from->uniform_flow || from->succs.n != 2 || from->succs.at[0].i == from->succs.at[1].i)
        return false;
    const Inst *i = reconv_branch(f, from);
    if (i->op != OT_BRA || i->guard.kind != OPK_VAL || i->guard.value != predicate ||
        !op_is_always(*ir_src(f, i, BRA_pp)))
        return false;
    *holds = (ir_src(f, i, BRA_offset)->value == b) != ((i->guard.mods & OPM_NOT) != 0);
    return true;
}

ReconvBallot reconv_ballot_of(const Function *f, const DomTree *dom, uint32_t block, Operand mask) {
    ReconvBallot none = {0};
    if (mask.kind != OPK_VAL || mask.count != 1)
        return none;
    uint32_t inner = complement_of(f, mask.value), value = inner ? inner : mask.value;
    const Inst *vote = vote_of(f, value);
    if (!vote)
        return none;
    Operand said = *ir_src(f, vote, VOTE_pp);
    for (uint32_t b = block; b && b != NO_NODE; b = dom->idom[b]) {
        bool holds;
        if (tells(f, b, said.value, &holds) && (holds != ((said.mods & OPM_NOT) != 0)) == !inner)
            return (ReconvBallot){.vote = f->values.at[value].def, .complement = inner != 0};
    }
    return none;
}

bool reconv_other_ballot(ReconvBallot one, ReconvBallot other) {
    return one.vote.i && other.vote.i && (one.vote.i != other.vote.i || one.complement != other.complement);
}
