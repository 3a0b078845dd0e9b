/* Predication: one region becomes guarded code in its head.
 *
 * Plan: for each phi where two edges become one, the cheapest way to the right value in both kinds of lanes.
 * Best is a tie: the side's definition keeps the other side's value in lanes that do not execute it, so that
 * no instruction is added. Else SEL or PLOP3. Convert: the instructions move to the head in their order. What
 * has effects, may fault or is slow gets the side's guard; what has a guard already gets the conjunction of
 * both, made by the comparison itself where its combining source is free (`h = a < b & g`), by PLOP3
 * otherwise. Cheap arithmetic is executed by all lanes, unless it would read a register that lanes outside
 * the side never wrote.
 *
 * Inst.aux while a region is worked on: PA_SIDE, PA_SIDE + 1 and the bits below.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "lower/opt/opt.h"
#include "lower/predicate/predicate.h"
#include "lower/profile.h"
#include <string.h>

enum {
    PA_SIDE = 1, /* + side: the instruction belongs to the region */
    PA_SIDE_MASK = 3,
    PA_TIED = 4,    /* planned: keeps a value in other lanes */
    PA_PARTIAL = 8, /* its results are undefined in other lanes */
    PA_ANDED = 16   /* the guard is one of its own sources: its predicate is false in other lanes, its second
                       result is complement & guard */
};

static unsigned side_of(const Inst *i) { return i->aux & PA_SIDE_MASK; }

static Inst *def_of(Function *f, uint32_t v) { return v ? ir_inst(f, ir_value(f, (ValId){v})->def) : NULL; }

static bool same_operand(Operand a, Operand b) { return memcmp(&a, &b, sizeof a) == 0; }

static bool is_undef(Function *f, Operand o) { return opt_scalar(o) && def_of(f, o.value)->op == IR_UNDEF; }

/* ---- plan ---- */

static uint32_t tied_value(Function *f, const Inst *i, unsigned slot, unsigned component) {
    if (!(i->flags & IF_TIED) || ir_tied(f, i, slot)->kind != OPK_VAL)
        return 0;
    return ir_operand_value(f, *ir_tied(f, i, slot), component).i;
}

/* Can value b of side k keep `old` in lanes that do not take the side? Notes what must be done for it. */
static bool tie(Pred *pred, PredRegion *region, unsigned k, uint32_t b, uint32_t old) {
    Function *f = pred->f;
    if (b == old)
        return true;
    InstId id = ir_value(f, (ValId){b})->def;
    const Inst *i = ir_inst(f, id);
    unsigned slot, component;
    PredicateReason why;
    if (side_of(i) != PA_SIDE + k)
        return false;
    if ((i->op == IR_COPY || (i->op == IR_PHI && i->nsrc == 1)) && op_is_always(i->guard)) {
        Operand from = *ir_src(f, i, 0);
        return opt_scalar(from) && !from.mods && tie(pred, region, k, from.value, old);
    }
    if (ir_is_pseudo(i->op) || pred_kind(f, i, &why) == PK_NONE || !pred_slot(f, i, b, &slot, &component))
        return false;
    for (unsigned n = 0; n < region->ties.n; n++)
        if (region->ties.at[n].inst.i == id.i && region->ties.at[n].slot == slot &&
            region->ties.at[n].component == component)
            return region->ties.at[n].old == old;
    uint32_t kept = op_is_always(i->guard) ? 0 : tied_value(f, i, slot, component);
    if (kept && !tie(pred, region, k, kept, old))
        return false;
    PredTie t = {id, slot, component, kept ? kept : old};
    VEC_ADD(&pred->a, &region->ties, t);
    return true;
}

static bool try_tie(Pred *p, PredRegion *region, unsigned k, Operand b, Operand old) {
    unsigned before = region->ties.n;
    if (!opt_scalar(b) || !opt_scalar(old) || b.mods || old.mods || b.file != old.file)
        return false;
    if (tie(p, region, k, b.value, old.value))
        return true;
    region->ties.n = before;
    return false;
}

static unsigned edge_of(const Block *join, BlockId pred) {
    unsigned k = 0;
    while (join->preds.at[k].i != pred.i)
        k++;
    return k;
}

static void plan_phi(Pred *pred, PredRegion *region, InstId id, unsigned base, unsigned taken) {
    Function *f = pred->f;
    const Inst *phi = ir_inst(f, id);
    unsigned last = region->nsides - 1;
    PredMerge m = {id, PM_SELECT, *ir_src(f, phi, base), *ir_src(f, phi, taken), last};
    if (same_operand(m.base, m.taken) || is_undef(f, m.taken))
        m.how = PM_SAME;
    else if (is_undef(f, m.base))
        m.how = PM_OTHER;
    else if (try_tie(pred, region, last, m.taken, m.base))
        m.how = PM_TIE;
    else if (region->shape == PD_DIAMOND && !side_of(def_of(f, m.taken.value)) &&
             try_tie(pred, region, 0, m.base, m.taken)) {
        Operand o = m.base;
        m = (PredMerge){id, PM_TIE, m.taken, o, 0};
    } else {
        region->nselects++;
        region->npredicates += ir_dst(f, phi, 0)->file == RF_P;
    }
    VEC_ADD(&pred->a, &region->merges, m);
}

/* Does i make a new version of a PTX register from an old one? */
static bool is_update(const Function *f, const Inst *i, uint32_t v) {
    const Value *value = &f->values.at[v];
    FOR_SRCS(f, i, src) {
        uint32_t s = opt_scalar(*src);
        if (s && value->ptx_reg && f->values.at[s].ptx_reg == value->ptx_reg &&
            f->values.at[s].component == value->component)
            return true;
    }
    return false;
}

/* A side that leaves has a way of its own to the join. But the new value of a register whose old one the
 * other lanes still need cannot be in its place before they part: it costs a copy on the edge, and a jump
 * behind it. */
static void plan_leave(Pred *pred, PredRegion *region) {
    Function *f = pred->f;
    const Block *out = ir_block(f, region->out);
    unsigned edge = edge_of(out, region->side[0].block);
    FOR_PHIS(f, region->out, i) {
        uint32_t v = opt_scalar(*ir_src(f, i, edge));
        if (v && side_of(def_of(f, v)) && is_update(f, def_of(f, v), v))
            region->nselects += 2;
    }
}

static void plan_phis(Pred *pred, PredRegion *region) {
    Function *f = pred->f;
    if (region->shape == PD_LEAVE)
        plan_leave(pred, region);
    if (region->shape == PD_EXIT || region->shape == PD_LEAVE) /* no two edges become one */
        return;
    const Block *join = ir_block(f, region->join);
    unsigned base = edge_of(join, region->shape == PD_DIAMOND ? region->side[0].block : region->head);
    unsigned taken = edge_of(join, region->side[region->nsides - 1].block);
    FOR_PHI_IDS(f, region->join, phi)
        plan_phi(pred, region, phi, base, taken);
}

/* A comparison of lanes whose second result is the complement. */
static bool tests(const Inst *i) {
    const OpTraits *traits = isa_traits(i->op);
    return traits->combines_dst != ISA_NO_SLOT && traits->lanes == ISA_LANES_EACH;
}

/* A comparison or table in side k to which "& guard" can be added for nothing. */
static bool takes_and(Pred *pred, unsigned k, Operand head, bool *second) {
    Function *f = pred->f;
    const Inst *i = opt_scalar(head) ? def_of(f, head.value) : NULL;
    if (!i || side_of(i) != PA_SIDE + k || (i->aux & PA_TIED) || !op_is_always(i->guard))
        return false;
    if (i->op == OT_PLOP3) {
        *second = ir_dst(f, i, PLOP3_pv)->kind == OPK_NONE;
        return *second && op_is_always(*ir_src(f, i, PLOP3_pr));
    }
    *second = true;
    return tests(i) && isa_combine_op(i->op, i->mods) == BoolOp_AND &&
           op_is_always(*ir_src(f, i, isa_traits(i->op)->combines_src)) &&
           opt_scalar(*ir_dst(f, i, 0)) == head.value;
}

/* How many predicates must be combined by instructions of their own. */
static void plan_ands(Pred *pred, PredRegion *region) {
    Function *f = pred->f;
    for (unsigned k = 0; k < region->nsides && !region->shared_exit; k++) {
        const Block *b = ir_block(f, region->side[k].block);
        Operand seen[8];
        unsigned nseen = 0;
        for (unsigned n = 0; n < region->side[k].n + (region->shape == PD_BRANCH); n++) {
            const Inst *i = ir_inst(f, b->insts.at[n]);
            PredicateReason why;
            bool second, known = op_is_always(i->guard) || same_operand(i->guard, region->side[k].guard);
            if (known || (n < region->side[k].n && pred_kind(f, i, &why) == PK_PLAIN && !(i->aux & PA_TIED)))
                continue;
            for (unsigned s = 0; s < nseen; s++)
                known |= same_operand(seen[s], i->guard);
            if (known)
                continue;
            if (nseen < 8)
                seen[nseen++] = i->guard;
            region->nands += !takes_and(pred, k, i->guard, &second);
        }
    }
}

PredicateReason pred_plan(Pred *pred, PredRegion *region) {
    Function *f = pred->f;
    unsigned whole = ir_block(f, region->head)->insts.n + region->ninsts + ir_block(f, region->join)->insts.n;
    if (region->ninsts > PRED_MAX_INSTS || (region->ninsts && whole > PRED_MAX_BLOCK))
        return PR_LONG;
    for (unsigned k = 0; k < region->nsides && !region->shared_exit; k++)
        for (unsigned n = 0; n < region->side[k].n; n++) {
            Inst *i = ir_inst(f, ir_block(f, region->side[k].block)->insts.at[n]);
            PredicateReason why = PR_CONVERTED;
            if (pred_kind(f, i, &why) == PK_NONE)
                return why;
            i->aux = (uint16_t)(PA_SIDE + k);
        }
    plan_phis(pred, region);
    for (unsigned n = 0; n < region->ties.n; n++)
        ir_inst(f, region->ties.at[n].inst)->aux |= PA_TIED;
    plan_ands(pred, region);
    return PR_CONVERTED;
}

void pred_forget(Pred *pred, const PredRegion *region) {
    for (unsigned k = 0; k < region->nsides && !region->shared_exit; k++) {
        FOR_INSTS(pred->f, region->side[k].block, i)
            i->aux = 0;
    }
}

/* ---- convert ---- */

typedef struct {
    Pred *p;
    Function *f;
    PredRegion *region;
    unsigned k; /* side */
    Operand g;  /* its guard */
    VEC(PredAnd) ands;
    bool rewritten;        /* the head's branch was, before */
    const PtxBranch *odds; /* of the branch that the head will have, if any */
} Conv;

static Operand new_pred(Conv *conv) { return ir_val(conv->f, ir_value_new(conv->f, RF_P)); }

/* New PLOP3 at the end of the head. */
static Operand table(Conv *conv, unsigned lut, Operand a, Operand b, Operand third, LocId loc) {
    InstId id = ir_inst_new(conv->f, OT_PLOP3, isa_num_dst(OT_PLOP3), isa_num_src(OT_PLOP3));
    Operand d = new_pred(conv);
    ir_inst(conv->f, id)->mods = MSET(PLOP3, lut, lut) | MSET(PLOP3, lut2, 0);
    ir_inst(conv->f, id)->loc = loc;
    ir_inst(conv->f, id)->aux = (uint16_t)(PA_SIDE + conv->k);
    ir_set_dst(conv->f, id, PLOP3_pu, d);
    ir_set_src(conv->f, id, PLOP3_pp, a);
    ir_set_src(conv->f, id, PLOP3_pq, b);
    ir_set_src(conv->f, id, PLOP3_pr, third);
    ir_append(conv->f, conv->region->head, id);
    return d;
}

/* Make h false in lanes that do not take the side, by a change of its definition. */
static bool and_into(Conv *conv, uint32_t head) {
    Inst *i = def_of(conv->f, head);
    bool second;
    if (side_of(i) == PA_SIDE + conv->k && (i->aux & PA_ANDED) && !(i->aux & PA_TIED))
        return true;
    if (side_of(i) == PA_SIDE + conv->k && !(i->aux & PA_TIED) && (i->aux & PA_PARTIAL) &&
        same_operand(i->guard, conv->g) && tests(i)) { /* given the guard because of what it reads */
        ir_set_guard(conv->f, ir_value(conv->f, (ValId){head})->def, (Operand){0});
        i->aux &= (uint16_t)~PA_PARTIAL;
    }
    if (!takes_and(conv->p, conv->k, ir_val(conv->f, (ValId){head}), &second))
        return false;
    i->aux |= PA_ANDED;
    if (i->op == OT_PLOP3) {
        *ir_src(conv->f, i, PLOP3_pr) = conv->g;
        i->mods = MPUT(PLOP3, lut, i->mods, MGET(PLOP3, lut, i->mods) & LUT_C);
    } else
        *ir_src(conv->f, i, isa_traits(i->op)->combines_src) = conv->g;
    return true;
}

/* The other result of the definition of h: its complement, and the guard. */
static Operand complement(Conv *conv, uint32_t head) {
    InstId id = ir_value(conv->f, (ValId){head})->def;
    unsigned op = ir_inst(conv->f, id)->op, other = op == OT_PLOP3 ? PLOP3_pv : isa_traits(op)->combines_dst;
    if (opt_scalar(*ir_dst(conv->f, ir_inst(conv->f, id), other)) == head)
        other = 0; /* h is the second one */
    if (ir_dst(conv->f, ir_inst(conv->f, id), other)->kind == OPK_NONE) {
        Operand d = new_pred(conv);
        ir_set_dst(conv->f, id, other, d);
        ir_value(conv->f, (ValId){d.value})->block = conv->region->head;
        Inst *i = ir_inst(conv->f, id);
        if (i->op == OT_PLOP3)
            i->mods = MPUT(PLOP3, lut2, i->mods, ~MGET(PLOP3, lut, i->mods) & LUT_C);
    }
    return *ir_dst(conv->f, ir_inst(conv->f, id), other);
}

/* Guard of an instruction of the side that has guard h. */
static Operand both(Conv *conv, Operand head, LocId loc) {
    if (op_is_always(head) || same_operand(head, conv->g))
        return conv->g;
    if (!opt_scalar(head)) /* !PT */
        return head;
    for (unsigned n = 0; n < conv->ands.n; n++)
        if (same_operand(conv->ands.at[n].of, head))
            return conv->ands.at[n].is;
    PredAnd a = {head, head};
    if (!and_into(conv, head.value))
        a.is = table(conv, LUT_AND, conv->g, head, op_pt(), loc);
    else if (head.mods & OPM_NOT)
        a.is = complement(conv, head.value);
    VEC_ADD(&conv->p->a, &conv->ands, a);
    return a.is;
}

static bool reads_partial(Conv *conv, const Inst *i) {
    FOR_READS(conv->f, i, read) {
        for (unsigned m = 0; read->kind == OPK_VAL && m < read->count; m++) {
            uint32_t v = ir_operand_value(conv->f, *read, m).i;
            const Inst *inst = v ? def_of(conv->f, v) : NULL;
            if (inst && side_of(inst) == PA_SIDE + conv->k && (inst->aux & PA_PARTIAL))
                return true;
        }
    }
    return false;
}

/* Are its results undefined in some lane? Tied ones hold what they keep. */
static bool is_partial(Conv *conv, const Inst *i) {
    for (unsigned n = 0; n < i->ndst && !op_is_always(i->guard); n++)
        if (ir_dst(conv->f, i, n)->kind == OPK_VAL &&
            (!(i->flags & IF_TIED) || ir_tied(conv->f, i, n)->kind != OPK_VAL))
            return true;
    return reads_partial(conv, i);
}

static void apply_ties(Conv *conv, InstId id) {
    for (unsigned n = 0; n < conv->region->ties.n; n++) {
        PredTie t = conv->region->ties.at[n];
        if (t.inst.i != id.i)
            continue;
        const Inst *i = ir_inst(conv->f, id);
        Operand d = *ir_dst(conv->f, i, t.slot), now = *ir_tied(conv->f, i, t.slot);
        ValId v[IR_MOST_VECTOR] = {{0}};
        for (unsigned m = 0; m < d.count && now.kind == OPK_VAL; m++)
            v[m] = ir_operand_value(conv->f, now, m);
        v[t.component].i = t.old;
        Operand vec = ir_vec(conv->f, v, d.count);
        *ir_tied(conv->f, ir_inst(conv->f, id), t.slot) = vec;
    }
}

static void move_inst(Conv *conv, InstId id) {
    Inst *i = ir_inst(conv->f, id);
    PredicateReason why;
    PredKind kind = pred_kind(conv->f, i, &why);
    if (i->op == IR_PHI)
        i->op = IR_COPY;
    bool guard = kind == PK_GUARD || (i->aux & PA_TIED) ||
                 (kind == PK_PLAIN && op_is_always(i->guard) && reads_partial(conv, i));
    if (guard) {
        Operand g = both(conv, i->guard, i->loc);
        ir_set_guard(conv->f, id, g);
        if (ir_inst(conv->f, id)->aux & PA_TIED)
            apply_ties(conv, id);
    }
    ir_append(conv->f, conv->region->head, id);
    i = ir_inst(conv->f, id);
    if (is_partial(conv, i))
        i->aux |= PA_PARTIAL;
}

/* The constant that value o holds, if one that SEL takes. */
static bool known_constant(Conv *conv, Operand o, Operand *operand) {
    const Inst *i = opt_scalar(o) ? def_of(conv->f, o.value) : NULL;
    if (!i || i->op != OT_MOV || !op_is_always(i->guard))
        return false;
    *operand = *ir_src(conv->f, i, MOV_rb);
    return operand->kind == OPK_IMM || operand->kind == OPK_CMEM ||
           (operand->kind == OPK_REG && operand->value == REG_RZ);
}

static Operand select_value(Conv *conv, const PredMerge *merge, LocId loc) {
    Operand g = conv->region->side[merge->of].guard, k;
    if (ir_dst(conv->f, ir_inst(conv->f, merge->phi), 0)->file == RF_P)
        return table(conv, LUT_CHOOSE, g, merge->taken, merge->base, loc);
    InstId id = ir_inst_new(conv->f, OT_SEL, isa_num_dst(OT_SEL), isa_num_src(OT_SEL));
    Operand d = ir_val(conv->f, ir_value_new(conv->f, RF_R)), yes = merge->taken, no = merge->base;
    ir_value(conv->f, (ValId){d.value})->ptx_reg =
        ir_value(conv->f, (ValId){ir_dst(conv->f, ir_inst(conv->f, merge->phi), 0)->value})->ptx_reg;
    ir_value(conv->f, (ValId){d.value})->component =
        ir_value(conv->f, (ValId){ir_dst(conv->f, ir_inst(conv->f, merge->phi), 0)->value})->component;
    if (known_constant(conv, no, &k))
        no = k;
    else if (known_constant(conv, yes, &k)) {
        yes = no;
        no = k;
        g.mods ^= OPM_NOT;
    }
    ir_inst(conv->f, id)->loc = loc;
    ir_set_dst(conv->f, id, 0, d);
    ir_set_src(conv->f, id, SEL_ra, yes);
    ir_set_src(conv->f, id, SEL_rb, no);
    ir_set_src(conv->f, id, SEL_pp, g);
    ir_append(conv->f, conv->region->head, id);
    return d;
}

/* The value with which the one edge that remains enters each phi. */
static void merge_phis(Conv *conv, unsigned edge, LocId loc) {
    for (unsigned n = 0; n < conv->region->merges.n; n++) {
        const PredMerge *merge = &conv->region->merges.at[n];
        Operand o = merge->how == PM_SAME     ? merge->base
                    : merge->how == PM_SELECT ? select_value(conv, merge, loc)
                                              : merge->taken;
        ir_set_src(conv->f, merge->phi, edge, o);
    }
}

static void replace_pred(Function *f, BlockId block, BlockId old, BlockId now) {
    Block *b = ir_block(f, block);
    b->preds.at[edge_of(b, old)] = now;
}

static void bury(Function *f, BlockId b) {
    Block *blk = ir_block(f, b);
    blk->insts.n = blk->preds.n = blk->succs.n = 0;
    blk->dead = true;
}

static void jump(Conv *conv, BlockId to, Operand guard, LocId loc, bool uni) {
    InstId id = ir_branch_new(conv->f, to);
    ir_inst(conv->f, id)->loc = loc;
    if (!op_is_always(guard)) {
        ir_set_guard(conv->f, id, guard);
        ir_inst(conv->f, id)->flags |= uni ? IF_UNIFORM : 0;
    }
    ir_append(conv->f, conv->region->head, id);
}

/* EXIT of the lanes that take the side. */
static void end_in_exit(Conv *conv, InstId exit) {
    Function *f = conv->f;
    BlockId side = conv->region->side[0].block, head = conv->region->head;
    if (conv->region->shared_exit) {
        LocId loc = ir_inst(f, exit)->loc;
        exit = ir_inst_new(f, OT_EXIT, 0, isa_num_src(OT_EXIT));
        ir_inst(f, exit)->loc = loc;
    }
    ir_set_guard(f, exit, conv->g);
    ir_append(f, head, exit);
    ir_remove_edge(f, head, side);
}

/* A phi of one operand is a copy; the block can then be joined to the one before. */
static void single_phis(Function *f, BlockId b) {
    const Block *blk = ir_block(f, b);
    for (unsigned n = 0; blk->preds.n == 1 && n < blk->insts.n && ir_inst(f, blk->insts.at[n])->op == IR_PHI;
         n++)
        ir_inst(f, blk->insts.at[n])->op = IR_COPY;
}

/* The branch of the head to `out`, which the side has left for. */
static void end_in_branch(Conv *conv, Operand guard, LocId loc, bool uni) {
    Function *f = conv->f;
    Block *head = ir_block(f, conv->region->head);
    bool same = !conv->rewritten && conv->region->shape == PD_LEAVE &&
                head->succs.at[0].i == conv->region->side[0].block.i;
    replace_pred(f, conv->region->out, conv->region->side[0].block, conv->region->head);
    jump(conv, conv->region->out, guard, loc, uni);
    if (!same)
        lower_rewritten(f, head->insts.at[head->insts.n - 1], conv->odds);
    head->succs.n = 0;
    VEC_ADD(f->arena, &head->succs, conv->region->out);
    VEC_ADD(f->arena, &head->succs, conv->region->join);
}

/* Guard of lanes that go on to `out` at the side's own branch. */
static Operand leaving(Conv *conv, const Inst *branch) {
    const Block *side = ir_block(conv->f, conv->region->side[0].block);
    Operand head = branch->guard;
    if (side->succs.at[0].i != conv->region->out.i)
        head.mods ^= OPM_NOT;
    return both(conv, head, branch->loc);
}

static void end_branch(Conv *conv, LocId loc, InstId side_end, bool uni) {
    Function *f = conv->f;
    PredRegion *region = conv->region;
    if (region->shape == PD_EXIT)
        end_in_exit(conv, side_end);
    else if (region->shape == PD_LEAVE)
        end_in_branch(conv, conv->g, loc, uni);
    else {
        unsigned edge = edge_of(ir_block(f, region->join),
                                region->shape == PD_DIAMOND ? region->side[0].block : region->head);
        Operand leave = {0};
        if (region->shape == PD_BRANCH) {
            uni &= (ir_inst(f, side_end)->flags & IF_UNIFORM) != 0;
            leave = leaving(conv, ir_inst(f, side_end));
        }
        merge_phis(conv, edge, loc);
        ir_remove_edge(f, region->side[region->nsides - 1].block, region->join);
        if (region->shape == PD_BRANCH)
            end_in_branch(conv, leave, loc, uni);
        else {
            if (region->shape == PD_DIAMOND)
                replace_pred(f, region->join, region->side[0].block, region->head);
            Block *head = ir_block(f, region->head);
            head->succs.n = 0;
            VEC_ADD(f->arena, &head->succs, region->join);
        }
    }
    for (unsigned k = 0; k < region->nsides && !region->shared_exit; k++)
        bury(f, region->side[k].block);
    jump(conv, region->join, (Operand){0}, loc, false);
}

/* What is known of the branch that the head will have, if it still has one. */
static const PtxBranch *odds_without_side(Function *f, const PredRegion *region) {
    BlockId side = region->side[0].block;
    const PtxBranch *head = lower_branch_odds(f, region->head);
    unsigned inner = ir_block(f, region->head)->succs.at[0].i == side.i ? 0 : 1;
    if (region->shape == PD_LEAVE)
        return lower_moved_odds(f, head, inner);
    if (region->shape != PD_BRANCH)
        return NULL;
    unsigned out = ir_block(f, side)->succs.at[0].i == region->out.i ? 0 : 1;
    return lower_joined_odds(f, head, inner, lower_branch_odds(f, side), out);
}

InstId pred_convert(Pred *pred, PredRegion *region) {
    Function *f = pred->f;
    Block *head = ir_block(f, region->head);
    InstId bra = head->insts.at[head->insts.n - 2], side_end = {0};
    LocId loc = ir_inst(f, bra)->loc;
    bool uni = (ir_inst(f, bra)->flags & IF_UNIFORM) != 0;
    const PtxBranch *odds = odds_without_side(f, region);
    head->insts.n -= 2;
    unsigned start = head->insts.n;
    Conv c = {.p = pred, .f = f, .region = region, .odds = odds};
    c.rewritten = (ir_inst(f, bra)->flags & IF_REWRITTEN) != 0;
    for (unsigned k = 0; k < region->nsides; k++) {
        c.k = k;
        c.g = region->side[k].guard;
        c.ands.n = 0;
        for (unsigned n = 0; n < region->side[k].n && !region->shared_exit; n++)
            move_inst(&c, ir_block(f, region->side[k].block)->insts.at[n]);
        if (k + 1 == region->nsides)
            side_end =
                ir_block(f, region->side[k].block)->insts.at[region->shared_exit ? 0 : region->side[k].n];
    }
    end_branch(&c, loc, side_end, uni);
    head = ir_block(f, region->head);
    for (unsigned n = start; n < head->insts.n; n++)
        ir_inst(f, head->insts.at[n])->aux = 0;
    InstId first = start < head->insts.n ? head->insts.at[start] : (InstId){0};
    single_phis(f, region->join);
    if (region->out.i)
        single_phis(f, region->out);
    return first;
}
