/* Melding: makes the one region of two. Each pair of blocks becomes a new block; values of both sides live on
 * under their names, of melded instructions and phis under a new one. A select stands where it is first
 * needed. What is alone and may fault, has effects or reads what lanes of the other side never wrote gets its
 * side's guard; what only the join wants stays behind one branch at the end, for predication to decide.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "lower/opt/opt.h"
#include "lower/predicate/meld.h"
#include <string.h>

enum {
    WA_PARTIAL = 1 /* Inst.aux: its results are undefined in lanes of the other side */
};

static Inst *def_of(Function *f, uint32_t v) { return v ? ir_inst(f, ir_value(f, (ValId){v})->def) : NULL; }

static uint32_t name_of(const Meld *meld, uint32_t v) {
    return v < meld->nvalues && meld->now[v] ? meld->now[v] : v;
}

/* The operand with the names of the melded region. */
static Operand named(Meld *meld, Operand o) {
    if (o.kind != OPK_VAL)
        return o;
    ValId v[IR_MOST_VECTOR];
    bool same = true;
    for (unsigned c = 0; c < o.count; c++) {
        v[c] = ir_operand_value(meld->f, o, c);
        uint32_t now = name_of(meld, v[c].i);
        same &= now == v[c].i;
        v[c].i = now;
    }
    if (same)
        return o;
    Operand out = ir_vec(meld->f, v, o.count);
    out.mods = o.mods;
    return out;
}

static Operand new_value(Meld *meld, RegFile file, BlockId block) {
    ValId v = ir_value_new(meld->f, file);
    ir_value(meld->f, v)->block = block;
    return ir_val(meld->f, v);
}

static InstId append(Meld *meld, const MeldPair *pair, unsigned op) {
    InstId id = ir_inst_new(meld->f, op, isa_num_dst(op), isa_num_src(op));
    ir_inst(meld->f, id)->loc = meld->loc;
    ir_append(meld->f, pair->now, id);
    return id;
}

static Operand weave_table(Meld *meld, const MeldPair *pair, unsigned lut, Operand a, Operand b,
                           Operand third) {
    InstId id = append(meld, pair, OT_PLOP3);
    Operand d = new_value(meld, RF_P, pair->now);
    ir_inst(meld->f, id)->mods = MSET(PLOP3, lut, lut) | MSET(PLOP3, lut2, 0);
    ir_set_dst(meld->f, id, PLOP3_pu, d);
    ir_set_src(meld->f, id, PLOP3_pp, a);
    ir_set_src(meld->f, id, PLOP3_pq, b);
    ir_set_src(meld->f, id, PLOP3_pr, third);
    return d;
}

/* What SEL takes in its second place: the constant that o is, or holds. */
static bool known_constant(Meld *meld, Operand o, Operand *constant) {
    const Inst *i = opt_scalar(o) ? def_of(meld->f, o.value) : NULL;
    *constant = o;
    if (i && i->op == OT_MOV && op_is_always(i->guard))
        *constant = *ir_src(meld->f, i, MOV_rb);
    return constant->kind == OPK_IMM || constant->kind == OPK_CMEM ||
           (constant->kind == OPK_REG && constant->value == REG_RZ);
}

static Operand select_value(Meld *meld, const MeldPair *pair, Operand zero, Operand one) {
    Operand g = meld->side[0], k;
    if (known_constant(meld, one, &k))
        one = k;
    else if (known_constant(meld, zero, &k)) {
        zero = one;
        one = k;
        g = meld->side[1];
    }
    if (zero.kind != OPK_VAL) { /* two constants */
        InstId mov = append(meld, pair, OT_MOV);
        Operand d = new_value(meld, RF_R, pair->now);
        ir_set_dst(meld->f, mov, 0, d);
        ir_set_src(meld->f, mov, MOV_rb, zero);
        zero = d;
    }
    InstId id = append(meld, pair, OT_SEL);
    Operand d = new_value(meld, RF_R, pair->now);
    ir_set_dst(meld->f, id, 0, d);
    ir_set_src(meld->f, id, SEL_ra, zero);
    ir_set_src(meld->f, id, SEL_rb, one);
    ir_set_src(meld->f, id, SEL_pp, g);
    return d;
}

/* One of two operands, of which neither is a vector; modifiers of registers stay outside. */
static Operand weave_choice(Meld *meld, const MeldPair *pair, Operand zero, Operand one) {
    unsigned k = (unsigned)(pair - meld->pair);
    for (unsigned m = 0; m < meld->choices.n; m++) {
        const MeldChoice *choice = &meld->choices.at[m];
        if (memcmp(&choice->of[0], &zero, sizeof zero) == 0 &&
            memcmp(&choice->of[1], &one, sizeof one) == 0 &&
            (choice->pair == k || !choice->pair)) /* the first block dominates the others */
            return choice->is;
    }
    bool predicate = zero.file == RF_P && (zero.kind == OPK_VAL || zero.kind == OPK_REG);
    Operand is = predicate ? weave_table(meld, pair, LUT_CHOOSE, meld->side[0], zero, one)
                           : select_value(meld, pair, zero, one);
    VEC_ADD(&meld->a, &meld->choices, ((MeldChoice){{zero, one}, is, k}));
    return is;
}

/* The operand of a melded instruction. */
static Operand both(Meld *meld, const MeldPair *pair, Operand zero, Operand one) {
    Operand x = named(meld, zero), y = named(meld, one), out;
    if (pred_meld_differ(meld, zero, one) == 0)
        return x;
    if (x.file == RF_P && (x.kind == OPK_VAL || x.kind == OPK_REG) && x.count <= 1)
        return weave_choice(meld, pair, x, y);
    uint8_t mods = x.mods;
    x.mods = y.mods = 0;
    if (x.kind != OPK_VAL || y.kind != OPK_VAL || x.count == 1)
        out = weave_choice(meld, pair, x, y);
    else {
        ValId v[IR_MOST_VECTOR];
        for (unsigned c = 0; c < x.count; c++) {
            ValId a = ir_operand_value(meld->f, x, c), b = ir_operand_value(meld->f, y, c);
            v[c] = a;
            if (a.i != b.i)
                v[c].i = weave_choice(meld, pair, ir_val(meld->f, a), ir_val(meld->f, b)).value;
        }
        out = ir_vec(meld->f, v, x.count);
    }
    out.mods = mods;
    return out;
}

/* ---- instructions ---- */

/* A new value for destination parts of both sides. */
static Operand both_dsts(Meld *meld, const MeldPair *pair, Operand zero, Operand one) {
    Operand any = zero.kind == OPK_VAL ? zero : one;
    ValId v[IR_MOST_VECTOR] = {{0}};
    if (any.kind != OPK_VAL)
        return any;
    for (unsigned c = 0; c < any.count; c++) {
        uint32_t x = zero.kind == OPK_VAL ? ir_operand_value(meld->f, zero, c).i : 0,
                 y = one.kind == OPK_VAL ? ir_operand_value(meld->f, one, c).i : 0;
        if (!x && !y)
            continue;
        v[c].i = new_value(meld, (RegFile)any.file, pair->now).value;
        const Value *old = ir_value(meld->f, (ValId){x ? x : y}),
                    *other = ir_value(meld->f, (ValId){y ? y : x});
        if (old->ptx_reg == other->ptx_reg && old->component == other->component) {
            ir_value(meld->f, v[c])->ptx_reg = old->ptx_reg;
            ir_value(meld->f, v[c])->component = old->component;
        }
        for (unsigned s = 0; s < 2; s++) {
            uint32_t was = s ? y : x;
            if (was) {
                meld->now[was] = v[c].i;
                VEC_ADD(&meld->a, &meld->noted, was);
            }
        }
        if (x) {
            meld->mate[x] = y;
            VEC_ADD(&meld->a, &meld->noted, x);
        }
    }
    return ir_vec(meld->f, v, any.count);
}

static void weave_both(Meld *meld, const MeldPair *pair, InstId zero, InstId one) {
    Function *f = meld->f;
    unsigned op = ir_inst(f, zero)->op, ndst = ir_inst(f, zero)->ndst, nsrc = ir_inst(f, zero)->nsrc;
    Operand src[255], guard = ir_inst(f, zero)->guard;
    for (unsigned k = 0; k < nsrc; k++)
        src[k] = both(meld, pair, *ir_src(f, ir_inst(f, zero), k), *ir_src(f, ir_inst(f, one), k));
    if (!op_is_always(guard))
        guard = both(meld, pair, guard, ir_inst(f, one)->guard);
    InstId id = ir_inst_new(f, op, ndst, nsrc);
    const Inst *old = ir_inst(f, zero);
    Inst *now = ir_inst(f, id);
    now->mods = old->mods;
    now->flags = old->flags;
    now->loc = old->loc;
    for (unsigned k = 0; k < nsrc; k++)
        ir_set_src(f, id, k, src[k]);
    for (unsigned k = 0; k < ndst; k++)
        ir_set_dst(f, id, k,
                   both_dsts(meld, pair, *ir_dst(f, ir_inst(f, zero), k), *ir_dst(f, ir_inst(f, one), k)));
    if (!op_is_always(guard))
        ir_set_guard(f, id, guard);
    ir_append(f, pair->now, id);
    LocId loc = ir_inst(f, zero)->loc, other = ir_inst(f, one)->loc;
    if (ir_inst(f, id)->flags & IF_SIDE_EFFECT)
        VEC_ADD(&f->module->arena, &f->module->melded_pairs, ((MeldedPair){f, {loc, other}}));
}

static bool reads_partial(Meld *meld, const Inst *i) {
    FOR_READS(meld->f, i, read) {
        for (unsigned c = 0; read->kind == OPK_VAL && c < read->count; c++) {
            uint32_t v = ir_operand_value(meld->f, *read, c).i;
            if (v && def_of(meld->f, v)->aux & WA_PARTIAL)
                return true;
        }
    }
    return false;
}

static void rename_uses(Meld *meld, InstId id) {
    Function *f = meld->f;
    for (unsigned n = ir_inst(f, id)->ndst; n < ir_num_operands(ir_inst(f, id)); n++) {
        Operand o = named(meld, f->operands.at[ir_inst(f, id)->operand + n]);
        f->operands.at[ir_inst(f, id)->operand + n] = o;
    }
    ir_inst(f, id)->guard = named(meld, ir_inst(f, id)->guard);
}

/* An instruction of side s, for the lanes of that side only where it has to be. */
static void weave_one(Meld *meld, const MeldPair *pair, unsigned s, InstId id) {
    Function *f = meld->f;
    PredicateReason why;
    rename_uses(meld, id);
    Inst *i = ir_inst(f, id);
    if (i->op == IR_PHI)
        i->op = IR_COPY;
    PredKind kind = pred_kind(f, i, &why);
    bool partial = reads_partial(meld, i);
    if (kind == PK_GUARD || (kind == PK_PLAIN && partial)) {
        Operand h = i->guard, g = op_is_always(h)
                                      ? meld->side[s]
                                      : weave_table(meld, pair, LUT_AND, meld->side[s], h, op_pt());
        ir_set_guard(f, id, g);
    }
    i = ir_inst(f, id);
    for (unsigned n = 0; n < i->ndst && !op_is_always(i->guard); n++)
        partial |=
            ir_dst(f, i, n)->kind == OPK_VAL && (!(i->flags & IF_TIED) || ir_tied(f, i, n)->kind != OPK_VAL);
    i->aux = partial ? WA_PARTIAL : 0;
    ir_append(f, pair->now, id);
}

/* ---- blocks ---- */

static BlockId now_of(const Meld *meld, BlockId b) {
    return b.i == meld->join.i ? b : meld->pair[meld->pair_of[b.i] - 1].now;
}

/* The phis of side s: of both where they have become one. Their operands stand in the order of the melded
 * block's predecessors, which is that of side 0's. */
static void weave_phis(Meld *meld, const MeldPair *pair) {
    Function *f = meld->f;
    unsigned npreds = ir_block(f, pair->block[0])->preds.n;
    for (unsigned s = 0; s < 2 && npreds > 1; s++)
        for (unsigned n = 0; n < ir_block(f, pair->block[s])->insts.n; n++) {
            InstId id = ir_block(f, pair->block[s])->insts.at[n];
            const Block *other = ir_block(f, pair->block[1 - s]);
            if (ir_inst(f, id)->op != IR_PHI)
                break;
            bool two = n < other->insts.n && ir_inst(f, other->insts.at[n])->op == IR_PHI,
                 one = two && (s ? pred_meld_phis(meld, pair, other->insts.at[n], id)
                                 : pred_meld_phis(meld, pair, id, other->insts.at[n]));
            if (one && s)
                continue;
            InstId phi = ir_inst_new(f, IR_PHI, 1, npreds);
            bool partial = false;
            for (unsigned k = 0; k < npreds; k++) {
                BlockId from = ir_block(f, pair->block[0])->preds.at[k];
                BlockId mine = meld->pair[meld->pair_of[from.i] - 1].block[s];
                Operand o = named(meld, *ir_src(f, ir_inst(f, id), pred_meld_edge(f, pair->block[s], mine)));
                ir_set_src(f, phi, k, o);
                partial |= opt_scalar(o) && def_of(f, o.value)->aux & WA_PARTIAL;
            }
            ir_inst(f, phi)->loc = ir_inst(f, id)->loc;
            Operand d = *ir_dst(f, ir_inst(f, id), 0);
            if (one)
                d = both_dsts(meld, pair, d, *ir_dst(f, ir_inst(f, other->insts.at[n]), 0));
            ir_set_dst(f, phi, 0, d);
            ir_inst(f, phi)->aux = partial ? WA_PARTIAL : 0;
            ir_append(f, pair->now, phi);
        }
}

static void jump(Meld *meld, BlockId from, BlockId to, Operand guard, LocId loc) {
    InstId id = ir_branch_new(meld->f, to);
    ir_inst(meld->f, id)->loc = loc;
    if (!op_is_always(guard)) {
        ir_set_guard(meld->f, id, guard);
        ir_inst(meld->f, id)->flags |= IF_REWRITTEN;
    }
    ir_append(meld->f, from, id);
    VEC_ADD(meld->f->arena, &ir_block(meld->f, from)->succs, to);
}

/* Edge from side s's block to the join comes from `now` instead. */
static void come_from(Meld *meld, const MeldPair *pair, unsigned s, BlockId now) {
    Block *join = ir_block(meld->f, meld->join);
    join->preds.at[pred_meld_edge(meld->f, meld->join, pair->block[s])] = now;
}

/* Both edges to the join become one, with the values of both kinds of lanes. */
static void join_once(Meld *meld, const MeldPair *pair) {
    Function *f = meld->f;
    unsigned zero = pred_meld_edge(f, meld->join, pair->block[0]),
             one = pred_meld_edge(f, meld->join, pair->block[1]);
    FOR_PHI_IDS(f, meld->join, phi) {
        Operand o = both(meld, pair, *ir_src(f, ir_inst(f, phi), zero), *ir_src(f, ir_inst(f, phi), one));
        ir_set_src(f, phi, zero, o);
    }
    come_from(meld, pair, 0, pair->now);
    ir_remove_edge(f, pair->block[1], meld->join);
}

static bool join_differs(Meld *meld, const MeldPair *pair) {
    FOR_PHIS(meld->f, meld->join, phi)
        if (!pred_meld_same(meld, *ir_src(meld->f, phi, pred_meld_edge(meld->f, meld->join, pair->block[0])),
                            *ir_src(meld->f, phi, pred_meld_edge(meld->f, meld->join, pair->block[1]))))
            return true;
    return false;
}

/* What is left of the sides: a branch with the late instructions. */
static void split_end(Meld *meld, MeldPair *pair) {
    Function *f = meld->f;
    for (unsigned s = 0; s < 2; s++) {
        BlockId b = ir_block_new(f);
        jump(meld, pair->now, b, s ? (Operand){0} : meld->side[0], meld->loc);
        VEC_ADD(f->arena, &ir_block(f, b)->preds, pair->now);
        for (unsigned n = 0; n < pair->steps.n; n++) {
            InstId id = pair->steps.at[n].inst[s];
            if (!pair->steps.at[n].late || !id.i)
                continue;
            rename_uses(meld, id);
            if (ir_inst(f, id)->op == IR_PHI)
                ir_inst(f, id)->op = IR_COPY;
            ir_append(f, b, id);
        }
        unsigned edge = pred_meld_edge(f, meld->join, pair->block[s]);
        FOR_PHI_IDS(f, meld->join, phi) {
            Operand o = named(meld, *ir_src(f, ir_inst(f, phi), edge));
            ir_set_src(f, phi, edge, o);
        }
        come_from(meld, pair, s, b);
        jump(meld, b, meld->join, (Operand){0}, meld->loc);
    }
}

static void weave_end(Meld *meld, MeldPair *pair) {
    Function *f = meld->f;
    const Block *b = ir_block(f, pair->block[0]);
    InstId last = b->insts.at[b->insts.n - 1];
    if (b->succs.n == 1) {
        bool late = false;
        for (unsigned n = 0; n < pair->steps.n; n++)
            late |= pair->steps.at[n].late;
        if (pair->ends && late && join_differs(meld, pair)) {
            split_end(meld, pair);
            return;
        }
        if (pair->ends)
            join_once(meld, pair);
        jump(meld, pair->now, now_of(meld, b->succs.at[0]), (Operand){0}, ir_inst(f, last)->loc);
        return;
    }
    InstId first = b->insts.at[b->insts.n - 2];
    const Block *other = ir_block(f, pair->block[1]);
    Operand one = ir_inst(f, other->insts.at[other->insts.n - 2])->guard;
    one.mods ^= pair->crossed ? OPM_NOT : 0;
    BlockId to[2] = {b->succs.at[0], b->succs.at[1]};
    if (to[0].i == meld->join.i || to[1].i == meld->join.i)
        join_once(meld, pair);
    Operand guard = both(meld, pair, ir_inst(f, first)->guard, one);
    jump(meld, pair->now, now_of(meld, to[0]), guard, ir_inst(f, first)->loc);
    jump(meld, pair->now, now_of(meld, to[1]), (Operand){0}, ir_inst(f, last)->loc);
}

static void bury(Function *f, BlockId b) {
    Block *blk = ir_block(f, b);
    blk->insts.n = blk->preds.n = blk->succs.n = 0;
    blk->dead = true;
}

/* The new blocks take the places of side 0's in the layout, what is left of the sides behind them. */
static void place_blocks(Meld *meld, uint32_t nold) {
    Function *f = meld->f;
    BlockIds layout = {0};
    for (uint32_t k = 0; k < nold; k++) {
        BlockId b = f->layout.at[k];
        if (meld->side_of[b.i] == 0)
            VEC_ADD(f->arena, &layout, b);
        if (meld->side_of[b.i] != 1)
            continue;
        const MeldPair *pair = &meld->pair[meld->pair_of[b.i] - 1];
        VEC_ADD(f->arena, &layout, pair->now);
        const Block *now = ir_block(f, pair->now);
        for (unsigned s = 0; s < now->succs.n; s++) /* younger than all melded blocks */
            if (now->succs.at[s].i > meld->pair[meld->npairs - 1].now.i)
                VEC_ADD(f->arena, &layout, now->succs.at[s]);
    }
    f->layout = layout;
}

void pred_meld_convert(Meld *meld) {
    Function *f = meld->f;
    uint32_t nlayout = f->layout.n;
    for (uint32_t k = 1; k < f->insts.n; k++)
        f->insts.at[k].aux = 0;
    pred_meld_forget(meld);
    for (unsigned k = 0; k < meld->npairs; k++) {
        MeldPair *pair = &meld->pair[k];
        pair->now = ir_block_new(f);
        ir_block(f, pair->now)->loop_depth = ir_block(f, pair->block[0])->loop_depth;
    }
    for (unsigned k = 0; k < meld->npairs; k++) {
        MeldPair *pair = &meld->pair[k];
        const Block *old = ir_block(f, pair->block[0]);
        for (unsigned p = 0; p < old->preds.n; p++)
            VEC_ADD(f->arena, &ir_block(f, pair->now)->preds,
                    k ? now_of(meld, old->preds.at[p]) : meld->head);
        weave_phis(meld, pair);
        for (unsigned n = 0; n < pair->steps.n; n++) {
            const MeldStep *step = &pair->steps.at[n];
            if (step->inst[0].i && step->inst[1].i)
                weave_both(meld, pair, step->inst[0], step->inst[1]);
            else if (!step->late)
                weave_one(meld, pair, step->inst[0].i ? 0 : 1, step->inst[step->inst[0].i ? 0 : 1]);
        }
    }
    for (unsigned k = 0; k < meld->npairs; k++)
        weave_end(meld, &meld->pair[k]);
    Block *head = ir_block(f, meld->head);
    LocId loc = ir_inst(f, head->insts.at[head->insts.n - 1])->loc;
    head->insts.n -= 2;
    head->succs.n = 0;
    jump(meld, meld->head, meld->pair[0].now, (Operand){0}, loc);
    place_blocks(meld, nlayout);
    for (unsigned k = 0; k < meld->npairs; k++)
        for (unsigned s = 0; s < 2; s++)
            bury(f, meld->pair[k].block[s]);
    for (uint32_t k = 1; k < f->insts.n; k++)
        f->insts.at[k].aux = 0;
}
