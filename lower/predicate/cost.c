/* Predication: is it worth it? Expected warp instructions and issue cycles of the branch and of the guarded
 * code, and how many predicates are alive in it.
 *
 * A branch that may diverge costs BSSY, BRA, BSYNC and, when it does diverge, both sides and BSYNC once more
 * for the second group of lanes; guarded code costs both sides always. How often lanes part
 * is what a profile says (lower/profile.h). Without one nothing is known of it: the model takes the odds
 * below, with which 136 divergent kernels and the samples execute least, and what may be lost when they are
 * wrong is bounded by RISK. That guarded code hides the latency of one side behind the other is not counted.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/latency.h"
#include "ir/cfg.h"
#include "lower/opt/opt.h"
#include "lower/profile.h"
#include "lower/predicate/predicate.h"

static const float P_DIVERGE = 0.7f; /* that a branch not known to be uniform sends its lanes two ways */
static const float P_SIDE = 0.5f;    /* that lanes which stay together take the (first) side */
static const float P_EQUAL = 0.2f;   /* that two values are equal which code compares for that */
static const float RISK = 5; /* warp instructions that guarded code may cost more than the branch's cheapest
                                way */
static const float BSSY_CYCLES = 1; /* ptxas gives it the shortest stall; other control: latency_issue */

/* ---- predicates alive ---- */

static void note_use(const Pred *pred, Operand o, uint32_t block, uint8_t *cross) {
    if (opt_scalar(o) && o.file == RF_P && pred->f->values.at[o.value].block.i != block)
        cross[o.value] = 1;
}

/* One block backwards: alive at the end -> alive at the start. */
static void live_block(const Pred *pred, const Block *b, Bitset *live) {
    const Function *f = pred->f;
    for (unsigned k = b->insts.n; k-- > 0;) {
        const Inst *i = &f->insts.at[b->insts.at[k].i];
        for (unsigned n = 0; n <= ir_num_operands(i); n++) {
            bool is_guard = n == ir_num_operands(i);
            Operand o = is_guard ? i->guard : f->operands.at[i->operand + n];
            uint32_t v = opt_scalar(o), x = v && v < pred->nindexed ? pred->live_index[v] : 0;
            if (!x)
                continue;
            if (n < i->ndst)
                bs_del(live, x - 1);
            else if (i->op != IR_PHI)
                bs_add(live, x - 1);
        }
    }
}

/* Predicates alive at the end of block n as its successors want them. */
static void live_at_end(const Pred *pred, uint32_t n, Bitset *live) {
    const Function *f = pred->f;
    const Block *b = &f->blocks.at[n];
    for (unsigned s = 0; s < b->succs.n; s++) {
        const Block *block = &f->blocks.at[b->succs.at[s].i];
        bs_or(live, &pred->live_in[b->succs.at[s].i]);
        FOR_PHIS(f, b->succs.at[s], phi)
            for (unsigned e = 0; e < block->preds.n; e++) {
                uint32_t v = opt_scalar(*ir_src(f, phi, e)),
                         x = v && v < pred->nindexed ? pred->live_index[v] : 0;
                if (block->preds.at[e].i == n && x)
                    bs_add(live, x - 1);
            }
    }
}

void pred_live(Pred *pred) {
    Function *f = pred->f;
    uint8_t *cross = ARENA_ARRAY(&pred->a, uint8_t, f->values.n);
    pred->nindexed = f->values.n;
    pred->live_index = ARENA_ARRAY(&pred->a, uint32_t, f->values.n);
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            note_use(pred, i->guard, b.i, cross);
            FOR_USES(f, i, use) /* a phi uses in the block before */
                note_use(pred, *use, i->op == IR_PHI ? 0 : b.i, cross);
        }
    for (uint32_t v = 1; v < f->values.n; v++)
        if (cross[v])
            pred->live_index[v] = ++pred->nlive;
    pred->live_value = ARENA_ARRAY(&pred->a, uint32_t, pred->nlive + 1);
    for (uint32_t v = 1; v < f->values.n; v++)
        if (cross[v])
            pred->live_value[pred->live_index[v] - 1] = v;
    pred->live_in = ARENA_ARRAY(&pred->a, Bitset, f->blocks.n);
    for (uint32_t b = 0; b < f->blocks.n; b++)
        pred->live_in[b] = bs_new(&pred->a, pred->nlive);
    pred->scratch = bs_new(&pred->a, pred->nlive);
    if (!pred->nlive)
        return;
    Graph g = cfg_graph(&pred->a, f);
    GraphOrder order = graph_order(&pred->a, &g, f->entry.i);
    Bitset live = bs_new(&pred->a, pred->nlive);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = order.count; k-- > 0;) {
            uint32_t n = order.order[k];
            if (!n)
                continue;
            bs_clear(&live);
            live_at_end(pred, n, &live);
            live_block(pred, &f->blocks.at[n], &live);
            changed |= bs_or(&pred->live_in[n], &live);
        }
    }
}

typedef struct {
    uint32_t v[64];
    unsigned n, most;
} LiveSet;

static void live_add(LiveSet *set, uint32_t v) {
    for (unsigned k = 0; k < set->n; k++)
        if (set->v[k] == v)
            return;
    if (set->n < 64)
        set->v[set->n++] = v;
    if (set->most < set->n)
        set->most = set->n;
}

static void live_del(LiveSet *set, uint32_t v) {
    for (unsigned k = 0; k < set->n; k++)
        if (set->v[k] == v)
            set->v[k] = set->v[--set->n];
}

/* Most predicates alive at once in the region once it is guarded code. */
static unsigned pressure(const Pred *pred, const PredRegion *region) {
    const Function *f = pred->f;
    LiveSet s = {0};
    Bitset end = pred->scratch;
    bs_clear(&end);
    for (unsigned k = 0; k < region->nsides; k++)
        if (!region->shared_exit)
            live_at_end(pred, region->side[k].block.i, &end);
    if (region->shape != PD_DIAMOND)
        live_at_end(pred, region->head.i, &end);
    BS_EACH(x, &end)
        live_add(&s, pred->live_value[x]);
    live_add(&s, region->side[0].guard.value);
    for (unsigned side = region->nsides; side-- > 0 && !region->shared_exit;) {
        const Block *b = &f->blocks.at[region->side[side].block.i];
        for (unsigned k = b->insts.n; k-- > 0;) {
            const Inst *i = &f->insts.at[b->insts.at[k].i];
            for (unsigned n = 0; n <= ir_num_operands(i); n++) {
                Operand o = n == ir_num_operands(i) ? i->guard : f->operands.at[i->operand + n];
                if (!opt_scalar(o) || o.file != RF_P)
                    continue;
                if (n < i->ndst)
                    live_del(&s, o.value);
                else
                    live_add(&s, o.value);
            }
        }
    }
    return s.most + region->nands + region->npredicates;
}

/* ---- time ---- */

typedef struct {
    float issues, cycles;
} Cost;

static void add_cost(Cost *cost, float times, Cost x) {
    cost->issues += times * x.issues;
    cost->cycles += times * x.cycles;
}

static Cost cost_of(const Function *f, const Inst *i) {
    if (ir_is_pseudo(i->op)) /* copies mostly vanish */
        return (Cost){0, 0};
    MachInst m = opt_mach(f, i);
    return (Cost){1, (float)latency_issue(f->module->target, &m)};
}

static Cost control_cost(const Function *f, unsigned op) {
    MachInst m = isa_inst(op);
    return (Cost){1, op == OT_BSSY ? BSSY_CYCLES : (float)latency_issue(f->module->target, &m)};
}

/* ---- what lower/opt/conditions.c will make part of another instruction ---- */

static const uint32_t NO_COND = UINT32_MAX;

/* The place in the block of the instruction without a guard that makes the scalar o, one that gives a
 * predicate or can do so; NO_COND: there is none. */
static uint32_t made_here(const Function *f, const Block *b, unsigned before, Operand o) {
    uint32_t v = opt_scalar(o);
    for (unsigned k = before; v && k-- > 0;) {
        const Inst *i = &f->insts.at[b->insts.at[k].i];
        FOR_DSTS(f, i, dst)
            if (opt_scalar(*dst) == v)
                return ir_is_pseudo(i->op) || !op_is_always(i->guard) ? NO_COND : k;
    }
    return NO_COND;
}

/* Does nothing else read the predicate that place `reader` of the block reads (its length: the branch)? */
static bool read_once(const Pred *pred, const Block *b, unsigned reader, Operand o) {
    const Function *f = pred->f;
    if (o.value < pred->nindexed && pred->live_index[o.value])
        return false;
    for (unsigned k = 0; k < b->insts.n; k++) {
        const Inst *i = &f->insts.at[b->insts.at[k].i];
        bool reads = i->guard.kind == OPK_VAL && i->guard.value == o.value;
        FOR_USES(f, i, use)
            reads |= use->value == o.value;
        if (reads && k != reader)
            return false;
    }
    return true;
}

static bool is_nothing(Operand o) {
    return !o.mods &&
           ((o.kind == OPK_IMM && !o.value) || (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ));
}

/* Bits that are compared with zero: LOP3 says that itself. */
static bool is_of_table(const Function *f, const Block *b, unsigned at, const Inst *test) {
    unsigned cmp = MGET(ISETP, cmp, test->mods);
    Operand x = *ir_src((Function *)f, test, ISETP_ra), y = *ir_src((Function *)f, test, ISETP_rb);
    uint32_t table = is_nothing(y) && !x.mods ? made_here(f, b, at, x) : NO_COND;
    return (cmp == ICmp_NE || cmp == ICmp_EQ) && op_is_always(*ir_src((Function *)f, test, ISETP_pp)) &&
           table != NO_COND && f->insts.at[b->insts.at[table].i].op == OT_LOP3;
}

static bool is_made_by_test(const Pred *pred, const Block *b, unsigned reader, unsigned before, Operand o) {
    uint32_t test = made_here(pred->f, b, before, o);
    if (test == NO_COND)
        return false;
    unsigned op = pred->f->insts.at[b->insts.at[test].i].op;
    bool combines = isa_traits(op)->combines_dst != ISA_NO_SLOT || op == OT_LOP3 || op == OT_PLOP3;
    return combines && read_once(pred, b, reader, o);
}

/* Is the instruction at this place of a side one that costs nothing? */
static bool is_part_of_other(const Pred *pred, const Block *b, unsigned at) {
    const Inst *i = &pred->f->insts.at[b->insts.at[at].i];
    Function *f = pred->f;
    if (!op_is_always(i->guard))
        return false;
    if (i->op == OT_ISETP)
        return is_of_table(f, b, at, i);
    return i->op == OT_PLOP3 && ir_dst(f, i, PLOP3_pv)->kind == OPK_NONE &&
           op_is_always(*ir_src(f, i, PLOP3_pr)) &&
           (is_made_by_test(pred, b, at, at, *ir_src(f, i, PLOP3_pp)) ||
            is_made_by_test(pred, b, at, at, *ir_src(f, i, PLOP3_pq)));
}

/* Is the condition that joins those of two branches made by what computes one of them? */
static bool is_joined_free(const Pred *pred, const PredRegion *region) {
    const Block *b = &pred->f->blocks.at[region->side[0].block.i];
    if (region->shape != PD_BRANCH || region->nands != 1)
        return false;
    unsigned branch = region->side[0].n;
    return is_made_by_test(pred, b, branch, branch, pred->f->insts.at[b->insts.at[branch].i].guard);
}

typedef struct {
    Cost branch, guarded;
    float cheapest, risk; /* the shorter way through the branch, and how much more guarded code may cost */
} Estimate;

typedef struct {
    float apart, side; /* that lanes part; that those which stay together take the first side */
    bool measured;
} Odds;

static Odds odds_of(const Pred *pred, const PredRegion *region) {
    const PtxBranch *counts = lower_branch_odds(pred->f, region->head);
    if (!counts)
        return (Odds){region->uniform ? 0 : P_DIVERGE, P_SIDE, false};
    bool first = pred->f->blocks.at[region->head.i].succs.at[0].i == region->side[0].block.i;
    uint64_t together = counts->warps - counts->divergent;
    return (Odds){(float)counts->divergent / (float)counts->warps,
                  together ? (float)counts->ways[first ? 0 : 1].together / (float)together : P_SIDE, true};
}

/* Does code of the sides change memory? Loops that try again do, where what they tried went well. */
static bool region_stores(const Pred *pred, const PredRegion *region) {
    Function *f = pred->f;
    for (unsigned k = 0; k < region->nsides && !region->shared_exit; k++)
        FOR_INSTS(f, region->side[k].block, i)
            if (isa_has_effect(i->op, ISA_EFFECT_WRITE) || isa_has_effect(i->op, ISA_EFFECT_ATOMIC) ||
                isa_has_effect(i->op, ISA_EFFECT_SWAP))
                return true;
    return false;
}

/* Is the way (first: side 0, else the other) for lanes whose values are equal (Ball and Larus 1993: tests for
 * equality mostly fail)? */
static bool is_of_equal(const Pred *pred, const PredRegion *region, bool first) {
    Function *f = pred->f;
    Operand guard = region->side[0].guard;
    const Inst *test = opt_scalar(guard) ? &f->insts.at[f->values.at[guard.value].def.i] : NULL;
    if (!test || test->op != OT_ISETP || !op_is_always(*ir_src(f, test, ISETP_pp)) ||
        region_stores(pred, region))
        return false;
    unsigned cmp = MGET(ISETP, cmp, test->mods);
    bool negated = ((guard.mods & OPM_NOT) != 0) != (ir_dst(f, test, ISETP_pu)->value != guard.value);
    return cmp == (negated == first ? ICmp_NE : ICmp_EQ);
}

/* Is the edge one back to the header of a loop? */
static bool leads_back(const Pred *pred, BlockId from, BlockId to) {
    for (uint32_t l = pred->loops.innermost[from.i]; l != NO_NODE; l = pred->loops.at[l].parent)
        if (pred->loops.at[l].header == to.i)
            return true;
    return false;
}

/* Is what both conditions lead to a place of the same round of all loops, where lanes would meet? */
static bool meets_in_round(const Pred *pred, const PredRegion *region) {
    uint32_t round = pred->round[region->head.i];
    return region->shape == PD_BRANCH && pred->round[region->join.i] == round &&
           pred->round[region->out.i] == round && region->join.i != round && region->out.i != round;
}

/* Do lanes of other branches, too, come to where those of the region meet, in the same round? */
static bool meets_others(const Pred *pred, const PredRegion *region) {
    const Block *join = &pred->f->blocks.at[region->join.i];
    for (unsigned k = 0; k < join->preds.n; k++) {
        bool own = join->preds.at[k].i == region->head.i;
        for (unsigned n = 0; n < region->nsides; n++)
            own |= join->preds.at[k].i == region->side[n].block.i;
        if (!own && !leads_back(pred, join->preds.at[k], region->join))
            return true;
    }
    return false;
}

static Estimate estimate(const Pred *pred, const PredRegion *region, Odds odds) {
    const Function *f = pred->f;
    Cost side[2] = {{0, 0}, {0, 0}}, bra = control_cost(f, OT_BRA), bsync = control_cost(f, OT_BSYNC);
    for (unsigned k = 0; k < region->nsides; k++)
        for (unsigned n = 0; n < region->side[k].n && !region->shared_exit; n++) {
            const Block *block = &f->blocks.at[region->side[k].block.i];
            if (region->ninsts > PRED_MAX_INSTS || !is_part_of_other(pred, block, n))
                add_cost(&side[k], 1, cost_of(f, &f->insts.at[block->insts.at[n].i]));
        }
    Estimate e = {bra, {0, 0}, 0, 0};
    for (unsigned k = 0; k < region->nsides; k++)
        add_cost(&e.guarded, 1, side[k]);
    unsigned joined = region->nands - is_joined_free(pred, region);
    add_cost(&e.guarded, (float)(region->nselects + joined), (Cost){1, 1});
    /* what stands at the end of the sides */
    if (region->shape == PD_EXIT) {
        add_cost(&side[0], 1, control_cost(f, OT_EXIT));
        add_cost(&e.guarded, 1, control_cost(f, OT_EXIT));
        if (leads_back(pred, region->head, region->join)) /* the branch did that, too */
            add_cost(&e.guarded, 1, bra);
    } else if (region->shape == PD_BRANCH || region->shape == PD_LEAVE) {
        add_cost(&side[0], 1, bra);
        add_cost(&e.guarded, 1, bra);
    } else if (region->shape == PD_DIAMOND)
        add_cost(&side[0], 1, bra); /* over the other */
    bool barrier =
        pred->barriers && !region->uniform && !region->join_exits &&
        (region->shape == PD_TRIANGLE || region->shape == PD_DIAMOND || meets_in_round(pred, region));
    float apart = odds.apart;
    /* of a chain of tests the first one's barrier serves all; where nothing is measured, RISK allows for that
     */
    if (odds.measured && meets_others(pred, region))
        barrier = false;
    if (barrier) {
        add_cost(&e.branch, 1, control_cost(f, OT_BSSY));
        add_cost(&e.branch, 1 + apart, bsync);
    } else if (odds.measured && region->shape != PD_EXIT) {
        add_cost(&e.branch, apart, bsync); /* wherever they meet, they come there one by one */
    }
    bool first = side[0].issues < side[1].issues;
    e.cheapest = e.branch.issues + side[first ? 0 : 1].issues;
    e.risk = is_of_equal(pred, region, first) ? RISK * P_SIDE / P_EQUAL : RISK;
    if (barrier)
        e.cheapest -= apart;
    add_cost(&e.branch, apart + (1 - apart) * odds.side, side[0]);
    add_cost(&e.branch, apart + (1 - apart) * (1 - odds.side), side[1]);
    return e;
}

PredicateReason pred_worth(const Pred *pred, const PredRegion *region, PredicateReport *report) {
    Odds odds = odds_of(pred, region);
    Estimate e = estimate(pred, region, odds);
    report->branch_issues = e.branch.issues;
    report->guard_issues = e.guarded.issues;
    unsigned limit = isa_target_info(pred->f->module->target)->num_regs[RF_P];
    if (pressure(pred, region) + PRED_SPARE > limit)
        return PR_PRESSURE;
    if (pred->mode == PREDICATE_MAX)
        return PR_CONVERTED;
    if (region->ninsts > PRED_AUTO_INSTS)
        return PR_LONG;
    bool pays = e.guarded.issues <= e.branch.issues && e.guarded.cycles <= e.branch.cycles &&
                (odds.measured || e.guarded.issues <= e.cheapest + e.risk);
    return pays ? PR_CONVERTED : PR_NO_PROFIT;
}
