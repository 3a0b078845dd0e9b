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
 * "All" asks who says no, because a mask may name lanes that have exited. What cannot be divided among masks
 * becomes two of these first, each a collective of its own (reconv_divide_votes):
 *
 *     %q = uni %p, %m          %a = any %p, %m             %b = any !%p, %m        %q = PLOP3 !(%a & %b)
 *     %d = match.all %v, %m    %s = match.any %v, %m       %h = ballot PT, %m      %l = LOP3 (%h & ~%s) != 0
 *                              %d = SEL 0, %s, %l          %q = PLOP3 !%l
 *
 * REDUX stays as it is. SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "lower/select/isel.h"
#include "lower/reconverge/reconverge.h"

void reconv_place_masks(ReconvPlace *p, unsigned lut, unsigned slot, Operand to, Operand a, Operand b) {
    InstId id = reconv_place_op(p, OT_LOP3);
    ir_inst(p->f, id)->mods = MSET(LOP3, lut, lut);
    ir_set_dst(p->f, id, slot, to);
    ir_set_src(p->f, id, LOP3_ra, a);
    ir_set_src(p->f, id, LOP3_rb, b);
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
        reconv_place_masks(p, LUT_AND, LOP3_rd, word, all, mask);
    } else if (op == VoteOp_ANY) {
        reconv_place_masks(p, LUT_AND, LOP3_pu, said, all, mask);
    } else {
        reconv_place_masks(p, LUT_AND, LOP3_rd, part, all, mask);
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
    reconv_place_masks(p, LUT_AND, LOP3_rd, word, all, mask);
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

/* A collective like this one, of the same lanes, with a result of its own. */
static InstId put_like(ReconvPlace *p, InstId of, unsigned op, uint32_t mods, Operand src, Operand mask) {
    Function *f = p->f;
    unsigned own = isa_num_src(op);
    InstId id = reconv_place_inst(p, op, isa_num_dst(op), own + 1);
    ir_inst(f, id)->mods = mods;
    ir_inst(f, id)->flags = ir_inst(f, of)->flags;
    ir_set_src(f, id, 0, src);
    ir_set_src(f, id, own, mask);
    return id;
}

static void put_not_both(ReconvPlace *p, Operand to, Operand one, Operand other) {
    enum { LUT_NOT_BOTH = LUT_ALL & ~(LUT_A & LUT_B) };
    InstId id = reconv_place_op(p, OT_PLOP3);
    ir_inst(p->f, id)->mods = MSET(PLOP3, lut, LUT_NOT_BOTH);
    ir_set_dst(p->f, id, PLOP3_pu, to);
    ir_set_src(p->f, id, 0, one);
    ir_set_src(p->f, id, 1, other);
    ir_set_src(p->f, id, 2, op_pt());
}

static void divide_uni(ReconvPlace *p, InstId vote, Operand mask) {
    Function *f = p->f;
    uint32_t any = MSET(VOTE, op, VoteOp_ANY);
    Operand says = *ir_src(f, ir_inst(f, vote), VOTE_pp), same = *ir_dst(f, ir_inst(f, vote), VOTE_pu),
            yes = reconv_value(f, RF_P), no = reconv_value(f, RF_P);
    ir_inst(f, vote)->mods = any;
    ir_set_dst(f, vote, VOTE_pu, yes);
    ir_set_dst(f, put_like(p, vote, OT_VOTE, any, op_not(says), mask), VOTE_pu, no);
    put_not_both(p, same, yes, no);
}

static void divide_match(ReconvPlace *p, InstId match, Operand mask) {
    Function *f = p->f;
    Operand word = *ir_dst(f, ir_inst(f, match), MATCH_rd), same = *ir_dst(f, ir_inst(f, match), MATCH_pu),
            alike = reconv_value(f, RF_R), here = reconv_value(f, RF_R), other = reconv_value(f, RF_P);
    ir_inst(f, match)->mods =
        MSET(MATCH, op, MatchOp_ANY) | MSET(MATCH, type, MGET(MATCH, type, ir_inst(f, match)->mods));
    ir_set_dst(f, match, MATCH_rd, alike);
    ir_set_dst(f, match, MATCH_pu, op_none());
    ir_set_dst(f, put_like(p, match, OT_VOTE, MSET(VOTE, op, VoteOp_ANY), op_pt(), mask), VOTE_rd, here);
    reconv_place_masks(p, LUT_LACKS, LOP3_pu, other, alike, here);
    if (word.kind == OPK_VAL) {
        InstId sel = reconv_place_op(p, OT_SEL);
        ir_set_dst(f, sel, SEL_rd, word);
        ir_set_src(f, sel, SEL_ra, alike);
        ir_set_src(f, sel, SEL_rb, op_imm(0));
        ir_set_src(f, sel, SEL_pp, op_not(other));
    }
    if (same.kind == OPK_VAL)
        put_not_both(p, same, other, op_pt());
}

/* Those whose mask may be another for each lane; at: of the collective. Returns the position behind it. */
static unsigned divide_at(Function *f, BlockId block, unsigned at) {
    InstId id = ir_inst_at(f, block, at);
    const Inst *i = ir_inst(f, id);
    bool uni = i->op == OT_VOTE && MGET(VOTE, op, i->mods) == VoteOp_EQ,
         all = i->op == OT_MATCH && MGET(MATCH, op, i->mods) == MatchOp_ALL;
    ReconvPlace p = {.f = f, .block = block, .at = at + 1, .loc = i->loc};
    if ((!uni && !all) || !(i->flags & IF_SYNC) || i->nsrc <= isa_num_src(i->op) || !op_is_always(i->guard))
        return at + 1;
    Operand mask = *ir_src(f, i, isa_num_src(i->op));
    if (mask.kind != OPK_VAL ||
        (ir_block(f, block)->uniform_flow && ir_value(f, (ValId){mask.value})->uniform))
        return at + 1;
    if (uni)
        divide_uni(&p, id, mask);
    else
        divide_match(&p, id, mask);
    return p.at;
}

void reconv_divide_votes(IrModule *module) {
    for (unsigned k = 0; k < module->funcs.n; k++) {
        Function *f = module->funcs.at[k];
        bool changed = false;
        FOR_BLOCKS(f, b) {
            Operand active = {0};
            for (unsigned at = 0; f->uses_sync && at < ir_num_insts(f, b);) {
                bool of_active = reconv_step_active(f, ir_inst(f, ir_inst_at(f, b, at)), &active);
                unsigned behind = of_active ? at + 1 : divide_at(f, b, at);
                changed |= behind > at + 1;
                at = behind;
            }
        }
        if (changed)
            ir_renumber(f);
    }
}
