/* Selection of warp operations: PTX ISA 9.7.9.6, 9.7.13.9-14. PTX matches them by mask, the machine by PC:
 * each has IF_SYNC and its mask as a source behind those of the optype, so that reconvergence can bring the
 * lanes together.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

/* Mark the instruction just made; mask may be OPK_NONE: the lanes that happen to be together. */
static void sync_mask(Sel *sel, Operand mask) {
    InstId id = sel_last(sel);
    ir_inst(sel->f, id)->flags |= mask.kind == OPK_NONE ? IF_CONVERGENT : IF_CONVERGENT | IF_SYNC;
    sel->f->uses_sync = true;
}

static Operand mask_of(Sel *s, const PtxInsn *in, unsigned at) {
    return in->flags & PF_SYNC ? sel_src32(s, &in->operands[at]) : op_none();
}

InstId sel_emit_sync(Sel *s, unsigned op, uint32_t mods, unsigned nsrc, const Operand *src, Operand mask) {
    Operand all[8];
    unsigned n = isa_num_src(op);
    for (unsigned k = 0; k < n; k++)
        all[k] = k < nsrc ? src[k] : op_none();
    all[n] = mask;
    InstId id = sel_emit(s, op, mods, mask.kind == OPK_NONE ? n : n + 1, all);
    sync_mask(s, mask);
    if (s->in->flags & PF_ALIGNED)
        ir_inst(s->f, id)->flags |= IF_ALIGNED;
    return id;
}

bool isel_shfl(Sel *s, const PtxInsn *in) {
    static const uint8_t mode[][2] = {
        {SUB_IDX, ShflMode_IDX}, {SUB_UP, ShflMode_UP}, {SUB_DOWN, ShflMode_DOWN}, {SUB_BFLY, ShflMode_BFLY}};
    unsigned m = 4, first = in->ndst;
    for (unsigned k = 0; k < 4; k++)
        if (mode[k][0] == in->sub)
            m = mode[k][1];
    if (m == 4)
        return false;
    Operand a = sel_value(s, sel_src32(s, &in->operands[first])), b = sel_src32(s, &in->operands[first + 1]);
    Operand c = sel_src32(s, &in->operands[first + 2]);
    if (b.kind == OPK_IMM)
        b.value &= 31;
    if (c.kind == OPK_IMM)
        c.value &= 0x1fff;
    Operand src[3] = {a, b, c};
    InstId id = sel_emit_sync(s, OT_SHFL, MSET(SHFL, mode, m), 3, src, mask_of(s, in, first + 3));
    Operand d = sel_add_dst(s, id, SHFL_rd, RF_R), p = op_none();
    if (in->ndst > 1 && in->operands[1].kind != PO_SINK)
        p = sel_add_dst(s, id, SHFL_pu, RF_P);
    sel_write32(s, &in->operands[0], TY_B32, d);
    if (p.kind != OPK_NONE)
        sel_write_pred(s, &in->operands[1], p);
    return true;
}

bool isel_vote(Sel *s, const PtxInsn *in) {
    Operand p = sel_src_pred(s, &in->operands[1]), mask = mask_of(s, in, 2);
    unsigned op = in->sub == SUB_ALL ? VoteOp_ALL : in->sub == SUB_UNI ? VoteOp_EQ : VoteOp_ANY;
    InstId id = sel_emit_sync(s, OT_VOTE, MSET(VOTE, op, op), 1, &p, mask);
    if (in->sub == SUB_BALLOT)
        sel_write32(s, &in->operands[0], TY_B32, sel_add_dst(s, id, VOTE_rd, RF_R));
    else
        sel_write_pred(s, &in->operands[0], sel_add_dst(s, id, VOTE_pu, RF_P));
    return true;
}

bool isel_activemask(Sel *s, const PtxInsn *in) {
    Operand p = op_pt();
    InstId id = sel_emit_sync(s, OT_VOTE, MSET(VOTE, op, VoteOp_ANY), 1, &p, op_none());
    sel_write32(s, &in->operands[0], TY_B32, sel_add_dst(s, id, VOTE_rd, RF_R));
    return true;
}

bool isel_match(Sel *s, const PtxInsn *in) {
    unsigned bytes = ptx_type_bytes(sel_type(in)), first = in->ndst;
    bool all = in->sub == SUB_ALL;
    Operand a = sel_wide_vec(s, sel_src(s, &in->operands[first], bytes));
    InstId id = sel_emit_sync(s, OT_MATCH,
                              MSET(MATCH, op, all ? MatchOp_ALL : MatchOp_ANY) |
                                  MSET(MATCH, type, bytes == 8 ? MatchType_U64 : MatchType_U32),
                              1, &a, mask_of(s, in, first + 1));
    Operand d = sel_add_dst(s, id, MATCH_rd, RF_R), p = op_none();
    if (in->ndst > 1 && in->operands[1].kind != PO_SINK)
        p = sel_add_dst(s, id, MATCH_pu, RF_P);
    sel_write32(s, &in->operands[0], TY_B32, d);
    if (p.kind != OPK_NONE)
        sel_write_pred(s, &in->operands[1], p);
    return true;
}

static bool redux_op(const PtxInsn *in, unsigned *op) {
    if (in->atom == ATOM_ADD)
        *op = ReduxOp_SUM;
    else if (in->atom == ATOM_MIN)
        *op = ReduxOp_MIN;
    else if (in->atom == ATOM_MAX)
        *op = ReduxOp_MAX;
    else if (in->atom == ATOM_AND || in->bop == BOP_AND)
        *op = ReduxOp_AND;
    else if (in->atom == ATOM_OR || in->bop == BOP_OR)
        *op = ReduxOp_OR;
    else if (in->atom == ATOM_XOR || in->bop == BOP_XOR)
        *op = ReduxOp_XOR;
    else
        return false;
    return true;
}

bool isel_redux(Sel *sel, const PtxInsn *in) {
    unsigned op;
    PtxType t = sel_type(in);
    if (!isa_target_has(sel->t, OT_REDUX))
        return sel_error(sel, "redux needs instructions of sm_80");
    if (!redux_op(in, &op))
        return false;
    Operand a = sel_value(sel, sel_src32(sel, &in->operands[1]));
    InstId id =
        sel_emit_sync(sel, OT_REDUX,
                      MSET(REDUX, op, op) | MSET(REDUX, sign, type_signed(t) ? ReduxSign_S32 : ReduxSign_U32),
                      1, &a, sel_src32(sel, &in->operands[2]));
    Operand u =
        sel_add_dst(sel, id, REDUX_urd, RF_UR); /* copied away at once: no switch point lies between */
    sel_write32(sel, &in->operands[0], t, EMIT_R(sel, OT_MOV, 0, u));
    return true;
}

/* The leader is the lowest lane of the mask. */
bool isel_elect(Sel *sel, const PtxInsn *in) {
    Operand mask = sel_value(sel, sel_src32(sel, &in->operands[in->ndst]));
    int lane_reg = isa_sreg_number(sel->t, "laneid");
    if (lane_reg < 0)
        return sel_error(sel, "this machine does not say which lane a thread is");
    sel->f->uses_sync = true;
    sel_emit(sel, OT_WARPSYNC, 0, 2, (Operand[]){mask, op_pt()});
    Operand reversed = EMIT_R(sel, OT_BREV, 0, mask);
    Operand leader = EMIT_R(sel, OT_FLO, MSET(FLO, sign, ISign_U32) | MSET(FLO, sh, 1), reversed);
    Operand lane = EMIT_R(sel, OT_S2R, 0, ((Operand){.kind = OPK_SREG, .value = (uint32_t)lane_reg}));
    Operand p = sel_isetp(sel, false, ICmp_EQ, lane, leader);
    if (in->operands[0].kind != PO_SINK)
        sel_write32(sel, &in->operands[0], TY_B32, leader);
    if (in->ndst > 1)
        sel_write_pred(sel, &in->operands[1], p);
    return true;
}

bool isel_nanosleep(Sel *s, const PtxInsn *in) {
    sel_emit(s, OT_NANOSLEEP, 0, 2, (Operand[]){sel_src32(s, &in->operands[0]), op_pt()});
    return true;
}
