/* Barrier registers. For each procedure one data flow over "joins": a join is
 * a barrier register with the syncpoint of its BSSY. State at a point: joins that a lane may still be counted
 * in, joins in which every lane is, and under which predicate a lane has left by a predicated BREAK. What
 * callers have pending comes in as a set of registers.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <stdio.h>
#include <string.h>

enum { NUM_B = 16 };

typedef struct {
    uint8_t reg;
    uint32_t target; /* encoded syncpoint */
    uint32_t sync;   /* the BSYNC that it names, or NONE */
    uint32_t bssy;   /* first BSSY of it */
} Join;

typedef struct { /* lanes for which predicate `p` (negated) is true have left the register */
    bool known;
    uint8_t p, negated;
} Left;

typedef struct {
    Bitset pend, must;
    Left left[NUM_B];
    bool reached;
} State;

typedef struct {
    Checker *c;
    const Proc *p;
    uint32_t base; /* first block of the function */
    VEC(Join) joins;
    State *in;   /* by block - base */
    Bitset live; /* scratch of the rules */
} Barriers;

typedef struct {           /* of each procedure */
    uint16_t uses, saves;  /* registers it works with; those that it saves before */
    uint16_t inherited;    /* that callers may have pending */
    uint16_t order[NUM_B]; /* bit k of order[p]: p pending at a BSYNC k */
    uint32_t witness[NUM_B][NUM_B];
    Bitset callees;
} Summary;

/* ---- joins ---- */

static bool is_sync_of(const Checker *c, uint32_t i, unsigned reg, uint32_t func) {
    const BinFlow *g = c->g;
    return i < g->bin->ncode && g->block_of[i] != NONE && g->blocks[g->block_of[i]].func == func &&
           g->decoded[i] && bin_kind(&g->insts[i]) == BK_BSYNC && bin_barrier(&g->insts[i]) == reg;
}

/* bru1 names the place behind the BSYNC; native code that, the BSYNC, or code that runs into it. */
static uint32_t find_sync(const Checker *c, uint32_t target, unsigned reg, uint32_t func) {
    if (target == NONE)
        return NONE;
    if (target > 0 && is_sync_of(c, target - 1, reg, func))
        return target - 1;
    for (uint32_t i = target; c->native && i < c->g->bin->ncode && i < target + 256 && c->g->decoded[i];
         i++) {
        if (is_sync_of(c, i, reg, func))
            return i;
        BinKind k = bin_kind(&c->g->insts[i]);
        if (k == BK_RET || k == BK_BSYNC || (k == BK_BRANCH && bin_guard(&c->g->insts[i]) == BG_ALWAYS))
            break;
    }
    return NONE;
}

static uint32_t join_of(Barriers *b, uint32_t bssy) {
    unsigned reg = bin_barrier(&b->c->g->insts[bssy]);
    uint32_t target = bin_target(b->c->g, bssy);
    for (uint32_t k = 0; k < b->joins.n; k++)
        if (b->joins.at[k].reg == reg && b->joins.at[k].target == target)
            return k;
    VEC_ADD(&b->c->a, &b->joins,
            ((Join){(uint8_t)reg, target, find_sync(b->c, target, reg, b->p->func), bssy}));
    return b->joins.n - 1;
}

#define EACH_INST(g, block, i)                                                                               \
    for (uint32_t i = (g)->blocks[block].first; i < (g)->blocks[block].first + (g)->blocks[block].ninsts; i++)

static uint16_t regs_of(const Barriers *b, const Bitset *s) {
    uint16_t m = 0;
    BS_EACH(j, s) m |= (uint16_t)(1u << b->joins.at[j].reg);
    return m;
}

/* ---- data flow ---- */

static void clear_reg(const Barriers *b, Bitset *s, unsigned reg) {
    for (uint32_t j = 0; j < b->joins.n; j++)
        if (b->joins.at[j].reg == reg)
            bs_del(s, j);
}

static void forget_predicates(State *s, const MachInst *m) {
    bool all = (isa_optype_flags(m->optype) & ISA_FLAG_WRITES_ALL_P) || m->optype == OT_CALL;
    for (unsigned k = 0; k < NUM_B; k++) {
        bool hit = all;
        for (unsigned d = 0; d < m->ndst; d++)
            hit |= m->dst[d].kind == OPK_REG && m->dst[d].file == RF_P && m->dst[d].value == s->left[k].p;
        if (hit)
            s->left[k].known = false;
    }
}

/* The one predicate that decides whether m is executed; false if there is none, or two. */
static bool sole_guard(const MachInst *m, Left *out) {
    Operand pp = {0};
    if (m->optype == OT_BRA)
        pp = m->src[BRA_pp];
    else if (m->optype == OT_BREAK)
        pp = m->src[BREAK_pp];
    else if (m->optype == OT_EXIT)
        pp = m->src[EXIT_pp];
    Operand o = op_is_always(m->guard) ? pp : m->guard;
    if (op_is_always(o) || (!op_is_always(m->guard) && !op_is_always(pp)) || o.kind != OPK_REG ||
        o.file != RF_P)
        return false;
    *out = (Left){true, (uint8_t)o.value, (o.mods & OPM_NOT) != 0};
    return true;
}

static void transfer(Barriers *b, State *s, uint32_t i) {
    const MachInst *m = &b->c->g->insts[i];
    bool always = bin_guard(m) == BG_ALWAYS;
    unsigned reg;
    Left guard;
    forget_predicates(s, m);
    switch (bin_kind(m)) {
    case BK_BSSY: {
        uint32_t j = join_of(b, i);
        bs_add(&s->pend, j);
        if (always)
            bs_add(&s->must, j);
        s->left[b->joins.at[j].reg].known = false;
        break;
    }
    case BK_BSYNC:
    case BK_BREAK:
        reg = bin_barrier(m);
        clear_reg(b, &s->must, reg);
        if (always)
            clear_reg(b, &s->pend, reg);
        else if (bin_kind(m) == BK_BREAK && sole_guard(m, &guard))
            s->left[reg] = guard;
        break;
    default: break;
    }
}

/* Lanes that take this edge and are known to have left some registers. */
static void leave_on_edge(Barriers *b, State *s, uint32_t last, BinEdgeKind kind) {
    const MachInst *m = &b->c->g->insts[last];
    Left guard;
    BinKind k = bin_kind(m);
    if ((k != BK_BRANCH && k != BK_EXIT && k != BK_RET) || !sole_guard(m, &guard))
        return;
    for (unsigned r = 0; r < NUM_B; r++)
        if (s->left[r].known && s->left[r].p == guard.p &&
            (s->left[r].negated == guard.negated) == (kind == BE_TAKEN))
            clear_reg(b, &s->pend, r);
}

static void copy_state(State *to, const State *from) {
    bs_copy(&to->pend, &from->pend);
    bs_copy(&to->must, &from->must);
    memcpy(to->left, from->left, sizeof to->left);
    to->reached = from->reached;
}

static bool merge_state(State *into, const State *with) {
    if (!into->reached) {
        copy_state(into, with);
        return into->reached = true;
    }
    bool changed = bs_or(&into->pend, &with->pend);
    changed |= bs_and(&into->must, &with->must);
    for (unsigned k = 0; k < NUM_B; k++)
        if (into->left[k].known && memcmp(&into->left[k], &with->left[k], sizeof(Left)) != 0) {
            into->left[k].known = false;
            changed = true;
        }
    return changed;
}

static State new_state(Barriers *b) {
    return (State){.pend = bs_new(&b->c->a, b->joins.n + 1), .must = bs_new(&b->c->a, b->joins.n + 1)};
}

static void solve(Barriers *b) {
    const BinFlow *g = b->c->g;
    for (uint32_t n = 0; n < b->p->nrpo; n++)
        EACH_INST(g, b->p->rpo[n], i)
    if (g->decoded[i] && bin_kind(&g->insts[i]) == BK_BSSY)
        join_of(b, i);
    b->in = ARENA_ARRAY(&b->c->a, State, g->funcs[b->p->func].nblocks);
    for (uint32_t n = 0; n < b->p->nrpo; n++)
        b->in[b->p->rpo[n] - b->base] = new_state(b);
    State now = new_state(b), edge = new_state(b);
    b->in[b->p->entry_block - b->base].reached = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < b->p->nrpo; n++) {
            const BinBlock *blk = &g->blocks[b->p->rpo[n]];
            if (!b->in[b->p->rpo[n] - b->base].reached)
                continue;
            copy_state(&now, &b->in[b->p->rpo[n] - b->base]);
            EACH_INST(g, b->p->rpo[n], i) if (g->decoded[i]) transfer(b, &now, i);
            for (uint32_t s = 0; s < blk->nsuccs; s++) {
                copy_state(&edge, &now);
                leave_on_edge(b, &edge, blk->first + blk->ninsts - 1, blk->succs[s].kind);
                changed |= merge_state(&b->in[blk->succs[s].block - b->base], &edge);
            }
        }
    }
}

/* ---- reachability ---- */

/* Blocks from which a block in `set` is reached; walking back stops at blocks in `stop` (whose members may be
 * in set). */
static void grow_back(Barriers *b, Bitset *set, const Bitset *stop) {
    const BinFlow *g = b->c->g;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = b->p->nrpo; n-- > 0;) {
            uint32_t k = b->p->rpo[n] - b->base;
            if (bs_has(set, k) || (stop && bs_has(stop, k)))
                continue;
            const BinBlock *blk = &g->blocks[b->p->rpo[n]];
            for (uint32_t s = 0; s < blk->nsuccs; s++)
                if (bs_has(set, blk->succs[s].block - b->base)) {
                    bs_add(set, k);
                    changed = true;
                    break;
                }
        }
    }
}

static bool same_sync(const Barriers *b, uint32_t i, const Join *j) {
    return is_sync_of(b->c, i, j->reg, b->p->func) && (j->sync == NONE || j->sync == i);
}

/* ---- rules on one procedure ---- */

static void finding_pending(Barriers *b, CheckRule rule, uint32_t inst, const Bitset *pend,
                            const char *what) {
    BS_EACH(j, pend) {
        const Join *x = &b->joins.at[j];
        check_report(b->c, rule, inst, x->bssy,
                     "B%u may still be pending at %s (joined at %s); missing BREAK or BSYNC", x->reg, what,
                     check_at(b->c, x->bssy));
        return;
    }
}

/* R-02 at returns. */
static void at_end(Barriers *b, State *s, const BinBlock *blk) {
    uint32_t last = blk->first + blk->ninsts - 1;
    if (!(blk->ends & BX_RET))
        return;
    leave_on_edge(b, s, last, BE_TAKEN);
    finding_pending(b, CR_R02, last, &s->pend, "the return");
}

static void at_bsync(Barriers *b, const State *s, uint32_t i, Summary *sum) {
    unsigned reg = bin_barrier(&b->c->g->insts[i]);
    uint16_t regs = regs_of(b, &s->pend), all = regs | sum->inherited;
    if (!(regs >> reg & 1))
        check_report(b->c, CR_R04, i, NONE, "BSYNC B%u has no reaching BSSY", reg);
    for (unsigned p = 0; p < NUM_B; p++)
        if (p != reg && (all >> p & 1) && !(sum->order[p] >> reg & 1)) {
            sum->order[p] |= (uint16_t)(1u << reg);
            sum->witness[p][reg] = i;
        }
}

static void at_bssy(Barriers *b, const State *s, uint32_t i) {
    uint32_t j = join_of(b, i);
    unsigned reg = b->joins.at[j].reg;
    if (b->joins.at[j].sync == NONE) {
        char to[40] = "outside the code";
        if (b->joins.at[j].target != NONE)
            snprintf(to, sizeof to, "%.39s", check_at(b->c, b->joins.at[j].target));
        check_report(b->c, CR_R06, i, NONE, "syncpoint %s is not behind a BSYNC B%u", to, reg);
    }
    BS_EACH(k, &s->must)
    if (k != j && b->joins.at[k].reg == reg)
        check_report(b->c, CR_R08, i, b->joins.at[k].bssy, "B%u re-used inside its own region (%s, %s)", reg,
                     check_at(b->c, b->joins.at[k].bssy), check_at(b->c, i));
}

static void at_bmov(Checker *c, uint32_t i, const Summary *sum) {
    unsigned reg = bin_barrier(&c->g->insts[i]);
    if (c->native ? !(sum->saves >> reg & 1) : !c->converged[i])
        check_report(c, CR_R15, i, NONE, "BMOV to B%u can resurrect departed lanes", reg);
}

static void walk_rules(Barriers *b, Summary *sum) {
    Checker *c = b->c;
    const BinFlow *g = c->g;
    State now = new_state(b);
    for (uint32_t n = 0; n < b->p->nrpo; n++) {
        const State *in = &b->in[b->p->rpo[n] - b->base];
        if (!in->reached)
            continue;
        copy_state(&now, in);
        EACH_INST(g, b->p->rpo[n], i) {
            if (!g->decoded[i])
                break;
            BinKind kind = bin_kind(&g->insts[i]);
            c->pend[i] |= regs_of(b, &now.pend);
            c->inherited[i] |= sum->inherited;
            if (kind == BK_BSYNC)
                at_bsync(b, &now, i, sum);
            else if (kind == BK_BSSY)
                at_bssy(b, &now, i);
            else if (kind == BK_BMOV_TO_B)
                at_bmov(c, i, sum);
            transfer(b, &now, i);
        }
        at_end(b, &now, &g->blocks[b->p->rpo[n]]);
    }
}

/* for endless loops, of one join. `ends`: blocks with a way out of the function or to EXIT. */
static void leaving(Barriers *b, uint32_t j, const Bitset *ends) {
    const Checker *c = b->c;
    const BinFlow *g = c->g;
    const Join *x = &b->joins.at[j];
    ArenaMark mark = arena_mark(&b->c->a);
    uint32_t nblocks = g->funcs[b->p->func].nblocks;
    Bitset meets = bs_new(&b->c->a, nblocks), stops = bs_new(&b->c->a, nblocks),
           bad = bs_new(&b->c->a, nblocks);
    bool any_sync = false;
    for (uint32_t n = 0; n < b->p->nrpo; n++) {
        uint32_t k = b->p->rpo[n] - b->base;
        bool left = false;
        EACH_INST(g, b->p->rpo[n], i) {
            if (!g->decoded[i])
                break;
            BinKind kind = bin_kind(&g->insts[i]);
            if (kind != BK_BSYNC && kind != BK_BREAK)
                continue;
            if (same_sync(b, i, x)) {
                bs_add(&meets, k);
                any_sync = true;
            } else if (kind == BK_BSYNC && bin_barrier(&g->insts[i]) == x->reg && !left)
                bs_add(&bad, k);
            if (bin_barrier(&g->insts[i]) == x->reg) {
                bs_add(&stops, k);
                left = true;
            }
        }
        if (!left && ((g->blocks[b->p->rpo[n]].ends & BX_RET) || !bs_has(ends, k)))
            bs_add(&bad, k);
    }
    grow_back(b, &meets, NULL);
    grow_back(b, &bad, &stops);
    State edge = new_state(b);
    for (uint32_t n = 0; n < b->p->nrpo && any_sync; n++) {
        const BinBlock *blk = &g->blocks[b->p->rpo[n]];
        uint32_t last = blk->first + blk->ninsts - 1;
        if (!b->in[b->p->rpo[n] - b->base].reached || !bs_has(&meets, b->p->rpo[n] - b->base))
            continue;
        for (uint32_t s = 0; s < blk->nsuccs; s++) {
            uint32_t v = blk->succs[s].block - b->base;
            if (bs_has(&meets, v) || !bs_has(&bad, v))
                continue;
            copy_state(&edge, &b->in[b->p->rpo[n] - b->base]);
            EACH_INST(g, b->p->rpo[n], i) transfer(b, &edge, i);
            leave_on_edge(b, &edge, last, blk->succs[s].kind);
            if (bs_has(&edge.pend, j))
                check_report(b->c, CR_R03, last, x->bssy,
                             "edge %s->%s leaves the region of B%u (joined at %s) without BREAK",
                             check_at(b->c, last), check_at(b->c, g->blocks[blk->succs[s].block].first),
                             x->reg, check_at(b->c, x->bssy));
        }
    }
    arena_release(&b->c->a, mark);
}

/* */
static void synchronised(Barriers *b, const Bitset *ends) {
    const BinFlow *g = b->c->g;
    (void)ends;
    for (uint32_t j = 0; j < b->joins.n; j++) {
        const Join *x = &b->joins.at[j];
        Bitset meets = bs_new(&b->c->a, g->funcs[b->p->func].nblocks);
        uint32_t home = g->block_of[x->bssy] - b->base;
        bool here = false;
        for (uint32_t n = 0; n < b->p->nrpo; n++)
            EACH_INST(g, b->p->rpo[n], i)
        if (is_sync_of(b->c, i, x->reg, b->p->func)) {
            bs_add(&meets, b->p->rpo[n] - b->base);
            here |= b->p->rpo[n] - b->base == home && i > x->bssy;
        }
        grow_back(b, &meets, NULL);
        const BinBlock *blk = &g->blocks[home + b->base];
        for (uint32_t s = 0; s < blk->nsuccs; s++)
            here |= bs_has(&meets, blk->succs[s].block - b->base);
        if (!here)
            check_report(b->c, CR_R05, x->bssy, NONE, "BSSY B%u never synchronised", x->reg);
    }
}

/* lanes that are counted run in circles for ever. */
static void endless(Barriers *b, const Bitset *ends) {
    const BinFlow *g = b->c->g;
    for (uint32_t n = 0; n < b->p->nrpo; n++) {
        uint32_t k = b->p->rpo[n] - b->base;
        if (bs_has(ends, k) || !b->in[k].reached || bs_empty(&b->in[k].pend))
            continue;
        BS_EACH(j, &b->in[k].pend) {
            const Join *x = &b->joins.at[j];
            bool clears = false;
            for (uint32_t m = 0; m < b->p->nrpo && !clears; m++)
                EACH_INST(g, b->p->rpo[m], i) {
                    BinKind kind = g->decoded[i] ? bin_kind(&g->insts[i]) : BK_PLAIN;
                    clears |= !bs_has(ends, b->p->rpo[m] - b->base) &&
                              (kind == BK_BSYNC || kind == BK_BREAK) && bin_barrier(&g->insts[i]) == x->reg;
                }
            if (!clears)
                check_report(
                    b->c, CR_R02, g->blocks[b->p->rpo[n]].first, x->bssy,
                    "B%u may still be pending in an endless loop (joined at %s); missing BREAK or BSYNC",
                    x->reg, check_at(b->c, x->bssy));
        }
    }
}

static void check_proc(Checker *c, const Proc *p, Summary *sum, Barriers *b) {
    const BinFlow *g = c->g;
    walk_rules(b, sum);
    if (!b->joins.n)
        return;
    Bitset ends = bs_new(&c->a, g->funcs[p->func].nblocks);
    for (uint32_t n = 0; n < p->nrpo; n++)
        if (g->blocks[p->rpo[n]].ends)
            bs_add(&ends, p->rpo[n] - b->base);
    grow_back(b, &ends, NULL);
    synchronised(b, &ends);
    endless(b, &ends);
    for (uint32_t j = 0; j < b->joins.n; j++)
        leaving(b, j, &ends);
}

/* ---- between procedures ---- */

static void summarise(Checker *c, const Proc *p, Summary *s) {
    const BinFlow *g = c->g;
    s->callees = bs_new(&c->a, c->nprocs);
    for (uint32_t n = 0; n < p->nrpo; n++)
        EACH_INST(g, p->rpo[n], i) {
            if (!g->decoded[i])
                break;
            BinKind k = bin_kind(&g->insts[i]);
            if (k == BK_BSSY || k == BK_BSYNC || k == BK_BREAK)
                s->uses |= (uint16_t)(1u << bin_barrier(&g->insts[i]));
            if (k == BK_BMOV_FROM_B)
                s->saves |= (uint16_t)(1u << bin_barrier(&g->insts[i]));
            if (!check_is_call(c, i))
                continue;
            Callees to = check_callees(c, i);
            for (uint32_t t = 0; t < to.n; t++)
                bs_add(&s->callees, to.proc[t]);
        }
    s->uses &= (uint16_t)~s->saves;
}

static uint16_t regs_at(Barriers *b, uint32_t inst) {
    const BinFlow *g = b->c->g;
    uint32_t block = g->block_of[inst];
    State now = new_state(b);
    copy_state(&now, &b->in[block - b->base]);
    for (uint32_t i = g->blocks[block].first; i < inst; i++)
        transfer(b, &now, i);
    return regs_of(b, &now.pend);
}

typedef struct {
    uint32_t proc, inst;
    uint16_t own; /* pending there, of the procedure's own joins */
} Site;

/* What callers have pending goes to the callees; R-16. */
static void spread(Checker *c, Summary *sum, const Site *sites, uint32_t n) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < n; k++) {
            Callees to = check_callees(c, sites[k].inst);
            for (uint32_t t = 0; t < to.n; t++) {
                Summary *callee = &sum[to.proc[t]];
                uint16_t in = callee->inherited | sites[k].own | sum[sites[k].proc].inherited;
                uint16_t uses =
                    sum[sites[k].proc].uses | (callee->uses & (uint16_t)~sum[sites[k].proc].saves);
                changed |= in != callee->inherited || uses != sum[sites[k].proc].uses;
                callee->inherited = in;
                sum[sites[k].proc].uses = uses;
            }
        }
    }
}

static void callee_above(Checker *c, const Summary *sum, const Site *s) {
    Callees to = check_callees(c, s->inst);
    uint16_t pending = s->own | sum[s->proc].inherited;
    for (uint32_t t = 0; t < to.n && pending; t++) {
        uint16_t uses = sum[to.proc[t]].uses;
        unsigned highest = 31u - (unsigned)__builtin_clz(pending),
                 used = uses ? (unsigned)__builtin_ctz(uses) : NUM_B;
        if (c->native && uses & pending)
            used = highest = (unsigned)__builtin_ctz((unsigned)uses & pending);
        else if (c->native)
            continue;
        if (used <= highest)
            check_report(c, CR_R16, s->inst, NONE, "callee %s uses B%u, caller still pending in B%u",
                         check_at(c, c->g->blocks[c->procs[to.proc[t]].entry_block].first), used, highest);
    }
}

/* a cycle among the orders of all procedures that the kernel reaches. */
static bool find_cycle(const uint16_t order[NUM_B], unsigned start, unsigned at, uint16_t *seen,
                       uint8_t path[NUM_B], unsigned *n) {
    path[(*n)++] = (uint8_t)at;
    for (unsigned k = 0; k < NUM_B; k++) {
        if (!(order[at] >> k & 1))
            continue;
        if (k == start)
            return true;
        if (*seen >> k & 1)
            continue;
        *seen |= (uint16_t)(1u << k);
        if (find_cycle(order, start, k, seen, path, n))
            return true;
    }
    (*n)--;
    return false;
}

static void order_of_kernel(Checker *c, const Summary *sum, uint32_t root) {
    Bitset in = bs_new(&c->a, c->nprocs);
    uint16_t order[NUM_B] = {0};
    uint32_t witness[NUM_B][NUM_B];
    bs_add(&in, root);
    for (bool changed = true; changed;) {
        changed = false;
        BS_EACH(p, &in) changed |= bs_or(&in, &sum[p].callees);
    }
    BS_EACH(p, &in)
    for (unsigned a = 0; a < NUM_B; a++)
        for (unsigned b = 0; b < NUM_B; b++)
            if ((sum[p].order[a] >> b & 1) && !(order[a] >> b & 1)) {
                order[a] |= (uint16_t)(1u << b);
                witness[a][b] = sum[p].witness[a][b];
            }
    for (unsigned a = 0; a < NUM_B; a++) {
        uint8_t path[NUM_B];
        unsigned n = 0;
        uint16_t seen = 0;
        if (!find_cycle(order, a, a, &seen, path, &n))
            continue;
        char text[120] = "";
        unsigned from = 0; /* report where the order goes down */
        for (unsigned k = 0; k < n; k++) {
            snprintf(text + strlen(text), sizeof text - strlen(text), "B%u -> ", path[k]);
            if (path[k] > path[(k + 1) % n])
                from = k;
        }
        unsigned p = path[from], q = path[(from + 1) % n];
        check_report(c, CR_R01, witness[p][q], NONE,
                     "barrier order cycle %sB%u (BSYNC B%u at %s while B%u may be pending); two groups can "
                     "wait for each other",
                     text, a, q, check_at(c, witness[p][q]), p);
        return;
    }
}

void check_barriers(Checker *c) {
    const BinFlow *g = c->g;
    c->pend = ARENA_ARRAY(&c->a, uint16_t, g->bin->ncode + 1);
    c->inherited = ARENA_ARRAY(&c->a, uint16_t, g->bin->ncode + 1);
    Summary *sum = ARENA_ARRAY(&c->a, Summary, c->nprocs + 1);
    Barriers *all = ARENA_ARRAY(&c->a, Barriers, c->nprocs + 1);
    VEC(Site) sites = {0};
    for (uint32_t p = 0; p < c->nprocs; p++) {
        all[p] = (Barriers){.c = c, .p = &c->procs[p], .base = g->funcs[c->procs[p].func].first_block};
        summarise(c, &c->procs[p], &sum[p]);
        solve(&all[p]);
        for (uint32_t n = 0; n < c->procs[p].nrpo; n++)
            EACH_INST(g, c->procs[p].rpo[n], i)
        if (g->decoded[i] && check_is_call(c, i))
            VEC_ADD(&c->a, &sites, ((Site){p, i, regs_at(&all[p], i)}));
    }
    spread(c, sum, sites.at, sites.n);
    for (uint32_t p = 0; p < c->nprocs; p++)
        check_proc(c, &c->procs[p], &sum[p], &all[p]);
    for (uint32_t k = 0; k < sites.n; k++)
        callee_above(c, sum, &sites.at[k]);
    for (uint32_t p = 0; p < c->nprocs; p++)
        if (c->procs[p].is_kernel)
            order_of_kernel(c, sum, p);
}
