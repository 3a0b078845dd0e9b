/* Votes of lanes whose mask is in a register. Where the machine lets lanes of several masks go on together
 * (IsaTargetInfo.warpsync_joins), a vote behind WARPSYNC is of all that are there, and the WARPSYNC would
 * have to let each mask go alone (EXCLUSIVE), for good: tiles of a warp that vote once would never be
 * together again. So all vote, and each lane takes from the result what its own mask names:
 *
 *     %b = ballot %p, %m       %all = VOTE.ANY %p          %b = LOP3 %all & %m
 *     %q = any %p, %m          %all = VOTE.ANY %p          %q = LOP3 (%all & %m) != 0
 *     %q = all %p, %m          %all = VOTE.ANY !%p         %t = LOP3 %all & %m     %q = ISETP.EQ %t, 0
 *     %d = match.any %v, %m    %all = MATCH.ANY %v         %d = LOP3 %all & %m
 *
 * "All" asks who says no, because a mask may name lanes that have exited. vote.uni, match.all and REDUX stay
 * as they are. SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"
#include "lower/reconverge/reconverge.h"

enum { LUT_BOTH = 0xc0 };

/* What a lane's mask names of the word; slot: LOP3_rd, or LOP3_pu for whether that is any. */
static void put_both(ReconvPlace *p, unsigned slot, Operand to, Operand all, Operand mask) {
    InstId id = reconv_place_op(p, OT_LOP3);
    ir_inst(p->f, id)->mods = MSET(LOP3, lut, LUT_BOTH);
    ir_set_dst(p->f, id, slot, to);
    ir_set_src(p->f, id, LOP3_ra, all);
    ir_set_src(p->f, id, LOP3_rb, mask);
    ir_set_src(p->f, id, LOP3_rc, op_rz());
    ir_set_src(p->f, id, LOP3_pp, op_pf());
}

static void put_is_zero(ReconvPlace *p, Operand to, Operand word) {
    InstId id = reconv_place_op(p, OT_ISETP);
    ir_inst(p->f, id)->mods =
        MSET(ISETP, sign, ISign_U32) | MSET(ISETP, cmp, ICmp_EQ) | MSET(ISETP, bop, BoolOp_AND);
    ir_set_dst(p->f, id, 0, to);
    ir_set_src(p->f, id, ISETP_ra, word);
    ir_set_src(p->f, id, ISETP_rb, op_rz());
    ir_set_src(p->f, id, ISETP_pp, op_pt());
}

/* True: what is left of its result does not depend on lanes of other masks. */
static bool mask_vote(ReconvPlace *p, InstId vote, Operand mask) {
    Function *f = p->f;
    unsigned op = MGET(VOTE, op, ir_inst(f, vote)->mods);
    Operand word = *ir_dst(f, ir_inst(f, vote), VOTE_rd), said = *ir_dst(f, ir_inst(f, vote), VOTE_pu),
            part = reconv_value(f, RF_R);
    bool wants_word = word.kind == OPK_VAL, wants_said = said.kind == OPK_VAL;
    if (op == VoteOp_EQ || (wants_word && (wants_said || word.file != RF_R || op != VoteOp_ANY)))
        return !wants_word && !wants_said;
    if (op == VoteOp_ALL) { /* also where the result is not read: it may be one vote with those that do */
        ir_set_src(f, vote, VOTE_pp, op_not(*ir_src(f, ir_inst(f, vote), VOTE_pp)));
        ir_inst(f, vote)->mods = MSET(VOTE, op, VoteOp_ANY);
    }
    if (!wants_word && !wants_said)
        return true;
    Operand all = reconv_value(f, RF_R);
    ir_set_dst(f, vote, VOTE_rd, all);
    ir_set_dst(f, vote, VOTE_pu, op_none());
    if (wants_word) {
        put_both(p, LOP3_rd, word, all, mask);
    } else if (op == VoteOp_ANY) {
        put_both(p, LOP3_pu, said, all, mask);
    } else {
        put_both(p, LOP3_rd, part, all, mask);
        put_is_zero(p, said, part);
    }
    return true;
}

static bool mask_match(ReconvPlace *p, InstId match, Operand mask) {
    Function *f = p->f;
    Operand word = *ir_dst(f, ir_inst(f, match), MATCH_rd);
    if (MGET(MATCH, op, ir_inst(f, match)->mods) != MatchOp_ANY || word.kind != OPK_VAL)
        return false;
    Operand all = reconv_value(f, RF_R);
    ir_set_dst(f, match, MATCH_rd, all);
    put_both(p, LOP3_rd, word, all, mask);
    return true;
}

void reconv_mask_vote(Function *f, BlockId block, InstId id, Operand mask) {
    const Inst *i = ir_inst(f, id);
    ReconvPlace p = {.f = f, .block = block, .at = 1, .loc = i->loc};
    while (ir_inst_at(f, block, p.at - 1).i != id.i)
        p.at++;
    if ((i->op == OT_VOTE && mask_vote(&p, id, mask)) || (i->op == OT_MATCH && mask_match(&p, id, mask)))
        ir_inst(f, id)->flags |= IF_MASKED;
}
