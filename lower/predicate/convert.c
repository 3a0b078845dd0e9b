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
#include "lower/opt/opt.h"
#include "lower/predicate/predicate.h"
#include <string.h>

enum {
    PA_SIDE = 1, /* + side: the instruction belongs to the region */
    PA_SIDE_MASK = 3,
    PA_TIED = 4,    /* planned: keeps a value in other lanes */
    PA_PARTIAL = 8, /* its results are undefined in other lanes */
    PA_ANDED = 16,  /* its predicate is false in other lanes */
    PA_DIRECT =
        32 /* ... because the guard is one of its own sources: its second result is complement & guard */
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
static bool tie(Pred *p, PredRegion *r, unsigned k, uint32_t b, uint32_t old) {
    Function *f = p->f;
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
        return opt_scalar(from) && !from.mods && tie(p, r, k, from.value, old);
    }
    if (ir_is_pseudo(i->op) || pred_kind(f, i, &why) == PK_NONE || !pred_slot(f, i, b, &slot, &component))
        return false;
    for (unsigned n = 0; n < r->ties.n; n++)
        if (r->ties.at[n].inst.i == id.i && r->ties.at[n].slot == slot &&
            r->ties.at[n].component == component)
            return r->ties.at[n].old == old;
    uint32_t kept = op_is_always(i->guard) ? 0 : tied_value(f, i, slot, component);
    if (kept && !tie(p, r, k, kept, old))
        return false;
    PredTie t = {id, slot, component, kept ? kept : old};
    VEC_ADD(&p->a, &r->ties, t);
    return true;
}

static bool try_tie(Pred *p, PredRegion *r, unsigned k, Operand b, Operand old) {
    unsigned before = r->ties.n;
    if (!opt_scalar(b) || !opt_scalar(old) || b.mods || old.mods || b.file != old.file)
        return false;
    if (tie(p, r, k, b.value, old.value))
        return true;
    r->ties.n = before;
    return false;
}

static unsigned edge_of(const Block *join, BlockId pred) {
    unsigned k = 0;
    while (join->preds.at[k].i != pred.i)
        k++;
    return k;
}

static void plan_phi(Pred *p, PredRegion *r, InstId id, unsigned base, unsigned taken) {
    Function *f = p->f;
    const Inst *phi = ir_inst(f, id);
    unsigned last = r->nsides - 1;
    PredMerge m = {id, PM_SELECT, *ir_src(f, phi, base), *ir_src(f, phi, taken), last};
    if (same_operand(m.base, m.taken) || is_undef(f, m.taken))
        m.how = PM_SAME;
    else if (is_undef(f, m.base))
        m.how = PM_OTHER;
    else if (try_tie(p, r, last, m.taken, m.base))
        m.how = PM_TIE;
    else if (r->shape == PD_DIAMOND && !side_of(def_of(f, m.taken.value)) &&
             try_tie(p, r, 0, m.base, m.taken)) {
        Operand o = m.base;
        m = (PredMerge){id, PM_TIE, m.taken, o, 0};
    } else {
        r->nselects++;
        r->npredicates += ir_dst(f, phi, 0)->file == RF_P;
    }
    VEC_ADD(&p->a, &r->merges, m);
}

/* Does i make a new version of a PTX register from an old one? */
static bool is_update(const Function *f, const Inst *i, uint32_t v) {
    const Value *d = &f->values.at[v];
    for (unsigned n = i->ndst; n < i->ndst + (unsigned)i->nsrc; n++) {
        uint32_t s = opt_scalar(f->operands.at[i->operand + n]);
        if (s && d->ptx_reg && f->values.at[s].ptx_reg == d->ptx_reg &&
            f->values.at[s].component == d->component)
            return true;
    }
    return false;
}

/* A side that leaves has a way of its own to the join. But the new value of a register whose old one the
 * other lanes still need cannot be in its place before they part: it costs a copy on the edge, and a jump
 * behind it. */
static void plan_leave(Pred *p, PredRegion *r) {
    Function *f = p->f;
    const Block *out = ir_block(f, r->out);
    unsigned edge = edge_of(out, r->side[0].block);
    for (unsigned n = 0; n < out->insts.n && ir_inst(f, out->insts.at[n])->op == IR_PHI; n++) {
        uint32_t v = opt_scalar(*ir_src(f, ir_inst(f, out->insts.at[n]), edge));
        if (v && side_of(def_of(f, v)) && is_update(f, def_of(f, v), v))
            r->nselects += 2;
    }
}

static void plan_phis(Pred *p, PredRegion *r) {
    Function *f = p->f;
    if (r->shape == PD_LEAVE)
        plan_leave(p, r);
    if (r->shape == PD_EXIT || r->shape == PD_LEAVE) /* no two edges become one */
        return;
    const Block *join = ir_block(f, r->join);
    unsigned base = edge_of(join, r->shape == PD_DIAMOND ? r->side[0].block : r->head);
    unsigned taken = edge_of(join, r->side[r->nsides - 1].block);
    for (unsigned n = 0; n < join->insts.n && ir_inst(f, join->insts.at[n])->op == IR_PHI; n++)
        plan_phi(p, r, join->insts.at[n], base, taken);
}

/* A comparison or table in side k to which "& guard" can be added for nothing. */
static bool takes_and(Pred *p, unsigned k, Operand h, bool *second) {
    Function *f = p->f;
    const Inst *i = opt_scalar(h) ? def_of(f, h.value) : NULL;
    if (!i || side_of(i) != PA_SIDE + k || (i->aux & PA_TIED) || !op_is_always(i->guard))
        return false;
    unsigned pp, bop_and;
    switch (i->op) {
    case OT_ISETP: pp = ISETP_pp, bop_and = MGET(ISETP, bop, i->mods) == BoolOp_AND; break;
    case OT_FSETP: pp = FSETP_pp, bop_and = MGET(FSETP, bop, i->mods) == BoolOp_AND; break;
    case OT_DSETP: pp = DSETP_pp, bop_and = MGET(DSETP, bop, i->mods) == BoolOp_AND; break;
    case OT_PLOP3:
        *second = ir_dst(f, i, PLOP3_pv)->kind == OPK_NONE;
        return *second && op_is_always(*ir_src(f, i, PLOP3_pr));
    default: return false;
    }
    *second = true;
    return bop_and && op_is_always(*ir_src(f, i, pp)) && opt_scalar(*ir_dst(f, i, 0)) == h.value;
}

/* How many predicates must be combined by instructions of their own. */
static void plan_ands(Pred *p, PredRegion *r) {
    Function *f = p->f;
    for (unsigned k = 0; k < r->nsides && !r->shared_exit; k++) {
        const Block *b = ir_block(f, r->side[k].block);
        Operand seen[8];
        unsigned nseen = 0;
        for (unsigned n = 0; n < r->side[k].n + (r->shape == PD_BRANCH); n++) {
            const Inst *i = ir_inst(f, b->insts.at[n]);
            PredicateReason why;
            bool second, known = op_is_always(i->guard) || same_operand(i->guard, r->side[k].guard);
            if (known || (n < r->side[k].n && pred_kind(f, i, &why) == PK_PLAIN && !(i->aux & PA_TIED)))
                continue;
            for (unsigned s = 0; s < nseen; s++)
                known |= same_operand(seen[s], i->guard);
            if (known)
                continue;
            if (nseen < 8)
                seen[nseen++] = i->guard;
            r->nands += !takes_and(p, k, i->guard, &second);
        }
    }
}

PredicateReason pred_plan(Pred *p, PredRegion *r) {
    Function *f = p->f;
    unsigned whole = ir_block(f, r->head)->insts.n + r->ninsts + ir_block(f, r->join)->insts.n;
    if (r->ninsts > PRED_MAX_INSTS || (r->ninsts && whole > PRED_MAX_BLOCK))
        return PR_LONG;
    for (unsigned k = 0; k < r->nsides && !r->shared_exit; k++)
        for (unsigned n = 0; n < r->side[k].n; n++) {
            Inst *i = ir_inst(f, ir_block(f, r->side[k].block)->insts.at[n]);
            PredicateReason why = PR_CONVERTED;
            if (pred_kind(f, i, &why) == PK_NONE)
                return why;
            i->aux = (uint16_t)(PA_SIDE + k);
        }
    plan_phis(p, r);
    for (unsigned n = 0; n < r->ties.n; n++)
        ir_inst(f, r->ties.at[n].inst)->aux |= PA_TIED;
    plan_ands(p, r);
    return PR_CONVERTED;
}

void pred_forget(Pred *p, const PredRegion *r) {
    for (unsigned k = 0; k < r->nsides && !r->shared_exit; k++) {
        const Block *b = ir_block(p->f, r->side[k].block);
        for (unsigned n = 0; n < b->insts.n; n++)
            ir_inst(p->f, b->insts.at[n])->aux = 0;
    }
}

/* ---- convert ---- */

typedef struct {
    Pred *p;
    Function *f;
    PredRegion *r;
    unsigned k; /* side */
    Operand g;  /* its guard */
    VEC(PredAnd) ands;
} Conv;

static Operand new_pred(Conv *c) { return ir_val(c->f, ir_value_new(c->f, RF_P)); }

/* New PLOP3 at the end of the head. */
static Operand table(Conv *c, unsigned lut, Operand a, Operand b, Operand third, LocId loc) {
    InstId id = ir_inst_new(c->f, OT_PLOP3, isa_num_dst(OT_PLOP3), isa_num_src(OT_PLOP3));
    Operand d = new_pred(c);
    ir_inst(c->f, id)->mods = MSET(PLOP3, lut, lut) | MSET(PLOP3, lut2, 0);
    ir_inst(c->f, id)->loc = loc;
    ir_inst(c->f, id)->aux = (uint16_t)(PA_SIDE + c->k);
    ir_set_dst(c->f, id, PLOP3_pu, d);
    ir_set_src(c->f, id, PLOP3_pp, a);
    ir_set_src(c->f, id, PLOP3_pq, b);
    ir_set_src(c->f, id, PLOP3_pr, third);
    ir_append(c->f, c->r->head, id);
    return d;
}

enum { LUT_AND = 0xc0, LUT_CHOOSE = 0xca /* a ? b : c */, LUT_THIRD = 0xaa };

/* Make h false in lanes that do not take the side, by a change of its definition. */
static bool and_into(Conv *c, uint32_t h) {
    Inst *i = def_of(c->f, h);
    bool second;
    if (side_of(i) == PA_SIDE + c->k && (i->aux & PA_ANDED) && !(i->aux & PA_TIED))
        return true;
    if (side_of(i) == PA_SIDE + c->k && !(i->aux & PA_TIED) && (i->aux & PA_PARTIAL) &&
        same_operand(i->guard, c->g) &&
        (i->op == OT_ISETP || i->op == OT_FSETP ||
         i->op == OT_DSETP)) { /* given the guard because of what it reads */
        ir_set_guard(c->f, ir_value(c->f, (ValId){h})->def, (Operand){0});
        i->aux &= (uint16_t)~PA_PARTIAL;
    }
    if (!takes_and(c->p, c->k, ir_val(c->f, (ValId){h}), &second))
        return false;
    i->aux |= PA_ANDED | PA_DIRECT;
    if (i->op == OT_PLOP3) {
        *ir_src(c->f, i, PLOP3_pr) = c->g;
        i->mods = MPUT(PLOP3, lut, i->mods, MGET(PLOP3, lut, i->mods) & LUT_THIRD);
    } else
        *ir_src(c->f, i,
                i->op == OT_ISETP   ? (unsigned)ISETP_pp
                : i->op == OT_FSETP ? (unsigned)FSETP_pp
                                    : (unsigned)DSETP_pp) = c->g;
    return true;
}

/* The other result of the definition of h: its complement, and the guard. */
static Operand complement(Conv *c, uint32_t h) {
    InstId id = ir_value(c->f, (ValId){h})->def;
    unsigned other = 1; /* pu and pv are the first two of all these operations */
    if (ir_dst(c->f, ir_inst(c->f, id), other)->kind == OPK_NONE) {
        Operand d = new_pred(c);
        ir_set_dst(c->f, id, other, d);
        ir_value(c->f, (ValId){d.value})->block = c->r->head;
        Inst *i = ir_inst(c->f, id);
        if (i->op == OT_PLOP3)
            i->mods = MPUT(PLOP3, lut2, i->mods, ~MGET(PLOP3, lut, i->mods) & LUT_THIRD);
    }
    return *ir_dst(c->f, ir_inst(c->f, id), other);
}
_Static_assert((int)ISETP_pv == 1 && (int)FSETP_pv == 1 && (int)DSETP_pv == 1 && (int)PLOP3_pv == 1,
               "second result");

/* Guard of an instruction of the side that has guard h. */
static Operand both(Conv *c, Operand h, LocId loc) {
    if (op_is_always(h) || same_operand(h, c->g))
        return c->g;
    if (!opt_scalar(h)) /* !PT */
        return h;
    for (unsigned n = 0; n < c->ands.n; n++)
        if (same_operand(c->ands.at[n].of, h))
            return c->ands.at[n].is;
    PredAnd a = {h, h};
    if (!and_into(c, h.value) || ((h.mods & OPM_NOT) && !(def_of(c->f, h.value)->aux & PA_DIRECT)))
        a.is = table(c, LUT_AND, c->g, h, op_pt(), loc);
    else if (h.mods & OPM_NOT)
        a.is = complement(c, h.value);
    VEC_ADD(&c->p->a, &c->ands, a);
    return a.is;
}

static bool reads_partial(Conv *c, const Inst *i) {
    for (unsigned n = i->ndst; n <= ir_num_operands(i); n++) {
        Operand o = n == ir_num_operands(i) ? i->guard : c->f->operands.at[i->operand + n];
        for (unsigned m = 0; o.kind == OPK_VAL && m < o.count; m++) {
            uint32_t v = ir_operand_value(c->f, o, m).i;
            const Inst *d = v ? def_of(c->f, v) : NULL;
            if (d && side_of(d) == PA_SIDE + c->k && (d->aux & PA_PARTIAL))
                return true;
        }
    }
    return false;
}

/* Are its results undefined in some lane? Tied ones hold what they keep. */
static bool is_partial(Conv *c, const Inst *i) {
    for (unsigned n = 0; n < i->ndst && !op_is_always(i->guard); n++)
        if (ir_dst(c->f, i, n)->kind == OPK_VAL &&
            (!(i->flags & IF_TIED) || ir_tied(c->f, i, n)->kind != OPK_VAL))
            return true;
    return reads_partial(c, i);
}

static void apply_ties(Conv *c, InstId id) {
    for (unsigned n = 0; n < c->r->ties.n; n++) {
        PredTie t = c->r->ties.at[n];
        if (t.inst.i != id.i)
            continue;
        const Inst *i = ir_inst(c->f, id);
        Operand d = *ir_dst(c->f, i, t.slot), now = *ir_tied(c->f, i, t.slot);
        ValId v[4] = {{0}};
        for (unsigned m = 0; m < d.count && now.kind == OPK_VAL; m++)
            v[m] = ir_operand_value(c->f, now, m);
        v[t.component].i = t.old;
        Operand vec = ir_vec(c->f, v, d.count);
        *ir_tied(c->f, ir_inst(c->f, id), t.slot) = vec;
    }
}

static void move_inst(Conv *c, InstId id) {
    Inst *i = ir_inst(c->f, id);
    PredicateReason why;
    PredKind kind = pred_kind(c->f, i, &why);
    if (i->op == IR_PHI)
        i->op = IR_COPY;
    bool guard = kind == PK_GUARD || (i->aux & PA_TIED) ||
                 (kind == PK_PLAIN && op_is_always(i->guard) && reads_partial(c, i));
    if (guard) {
        Operand g = both(c, i->guard, i->loc);
        ir_set_guard(c->f, id, g);
        if (ir_inst(c->f, id)->aux & PA_TIED)
            apply_ties(c, id);
    }
    ir_append(c->f, c->r->head, id);
    i = ir_inst(c->f, id);
    if (is_partial(c, i))
        i->aux |= PA_PARTIAL;
}

/* The constant that value o holds, if one that SEL takes. */
static bool constant(Conv *c, Operand o, Operand *k) {
    const Inst *i = opt_scalar(o) ? def_of(c->f, o.value) : NULL;
    if (!i || i->op != OT_MOV || !op_is_always(i->guard))
        return false;
    *k = *ir_src(c->f, i, MOV_rb);
    return k->kind == OPK_IMM || k->kind == OPK_CMEM || (k->kind == OPK_REG && k->value == REG_RZ);
}

static Operand select_value(Conv *c, const PredMerge *m, LocId loc) {
    Operand g = c->r->side[m->of].guard, k;
    if (ir_dst(c->f, ir_inst(c->f, m->phi), 0)->file == RF_P)
        return table(c, LUT_CHOOSE, g, m->taken, m->base, loc);
    InstId id = ir_inst_new(c->f, OT_SEL, isa_num_dst(OT_SEL), isa_num_src(OT_SEL));
    Operand d = ir_val(c->f, ir_value_new(c->f, RF_R)), yes = m->taken, no = m->base;
    ir_value(c->f, (ValId){d.value})->ptx_reg =
        ir_value(c->f, (ValId){ir_dst(c->f, ir_inst(c->f, m->phi), 0)->value})->ptx_reg;
    ir_value(c->f, (ValId){d.value})->component =
        ir_value(c->f, (ValId){ir_dst(c->f, ir_inst(c->f, m->phi), 0)->value})->component;
    if (constant(c, no, &k))
        no = k;
    else if (constant(c, yes, &k)) {
        yes = no;
        no = k;
        g.mods ^= OPM_NOT;
    }
    ir_inst(c->f, id)->loc = loc;
    ir_set_dst(c->f, id, 0, d);
    ir_set_src(c->f, id, SEL_ra, yes);
    ir_set_src(c->f, id, SEL_rb, no);
    ir_set_src(c->f, id, SEL_pp, g);
    ir_append(c->f, c->r->head, id);
    return d;
}

/* The value with which the one edge that remains enters each phi. */
static void merge_phis(Conv *c, unsigned edge, LocId loc) {
    for (unsigned n = 0; n < c->r->merges.n; n++) {
        const PredMerge *m = &c->r->merges.at[n];
        Operand o = m->how == PM_SAME ? m->base : m->how == PM_SELECT ? select_value(c, m, loc) : m->taken;
        ir_set_src(c->f, m->phi, edge, o);
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

static void jump(Conv *c, BlockId to, Operand guard, LocId loc, bool uni) {
    InstId id = ir_branch_new(c->f, to);
    ir_inst(c->f, id)->loc = loc;
    if (!op_is_always(guard)) {
        ir_set_guard(c->f, id, guard);
        ir_inst(c->f, id)->flags |= uni ? IF_UNIFORM : 0;
    }
    ir_append(c->f, c->r->head, id);
}

/* EXIT of the lanes that take the side. */
static void end_in_exit(Conv *c, InstId exit) {
    Function *f = c->f;
    BlockId side = c->r->side[0].block, head = c->r->head;
    if (c->r->shared_exit) {
        LocId loc = ir_inst(f, exit)->loc;
        exit = ir_inst_new(f, OT_EXIT, 0, isa_num_src(OT_EXIT));
        ir_inst(f, exit)->loc = loc;
    }
    ir_set_guard(f, exit, c->g);
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
static void end_in_branch(Conv *c, Operand guard, LocId loc, bool uni) {
    Function *f = c->f;
    replace_pred(f, c->r->out, c->r->side[0].block, c->r->head);
    jump(c, c->r->out, guard, loc, uni);
    Block *h = ir_block(f, c->r->head);
    h->succs.n = 0;
    VEC_ADD(f->arena, &h->succs, c->r->out);
    VEC_ADD(f->arena, &h->succs, c->r->join);
}

/* Guard of lanes that go on to `out` at the side's own branch. */
static Operand leaving(Conv *c, const Inst *branch) {
    const Block *s = ir_block(c->f, c->r->side[0].block);
    Operand h = branch->guard;
    if (s->succs.at[0].i != c->r->out.i)
        h.mods ^= OPM_NOT;
    return both(c, h, branch->loc);
}

static void finish(Conv *c, LocId loc, InstId side_end, bool uni) {
    Function *f = c->f;
    PredRegion *r = c->r;
    if (r->shape == PD_EXIT)
        end_in_exit(c, side_end);
    else if (r->shape == PD_LEAVE)
        end_in_branch(c, c->g, loc, uni);
    else {
        unsigned edge = edge_of(ir_block(f, r->join), r->shape == PD_DIAMOND ? r->side[0].block : r->head);
        Operand leave = {0};
        if (r->shape == PD_BRANCH) {
            uni &= (ir_inst(f, side_end)->flags & IF_UNIFORM) != 0;
            leave = leaving(c, ir_inst(f, side_end));
        }
        merge_phis(c, edge, loc);
        ir_remove_edge(f, r->side[r->nsides - 1].block, r->join);
        if (r->shape == PD_BRANCH)
            end_in_branch(c, leave, loc, uni);
        else {
            if (r->shape == PD_DIAMOND)
                replace_pred(f, r->join, r->side[0].block, r->head);
            Block *h = ir_block(f, r->head);
            h->succs.n = 0;
            VEC_ADD(f->arena, &h->succs, r->join);
        }
    }
    for (unsigned k = 0; k < r->nsides && !r->shared_exit; k++)
        bury(f, r->side[k].block);
    jump(c, r->join, (Operand){0}, loc, false);
}

InstId pred_convert(Pred *p, PredRegion *r) {
    Function *f = p->f;
    Block *h = ir_block(f, r->head);
    InstId bra = h->insts.at[h->insts.n - 2], side_end = {0};
    LocId loc = ir_inst(f, bra)->loc;
    bool uni = (ir_inst(f, bra)->flags & IF_UNIFORM) != 0;
    h->insts.n -= 2;
    unsigned start = h->insts.n;
    Conv c = {.p = p, .f = f, .r = r};
    for (unsigned k = 0; k < r->nsides; k++) {
        c.k = k;
        c.g = r->side[k].guard;
        c.ands.n = 0;
        for (unsigned n = 0; n < r->side[k].n && !r->shared_exit; n++)
            move_inst(&c, ir_block(f, r->side[k].block)->insts.at[n]);
        if (k + 1 == r->nsides)
            side_end = ir_block(f, r->side[k].block)->insts.at[r->shared_exit ? 0 : r->side[k].n];
    }
    finish(&c, loc, side_end, uni);
    h = ir_block(f, r->head);
    for (unsigned n = start; n < h->insts.n; n++)
        ir_inst(f, h->insts.at[n])->aux = 0;
    InstId first = start < h->insts.n ? h->insts.at[start] : (InstId){0};
    single_phis(f, r->join);
    if (r->out.i)
        single_phis(f, r->out);
    return first;
}
