/* Barrier registers. For each procedure one data flow over "joins": a join is
 * a barrier register with the syncpoint of its BSSY. State at a point: joins that a lane may still be counted
 * in, joins in which every lane is, registers in one of whose joins every lane is (on different paths in
 * different ones), and under which predicate a lane has left by a predicated BREAK. What callers have pending
 * comes in as a set of registers.
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
    Bitset before;   /* joins that may be pending at its BSYNC */
    uint32_t at;     /* such a BSYNC */
} Join;

typedef uint16_t
    Literals; /* predicates that hold together: bit p, negated p bit p + 8; 0: nothing is known */

typedef struct {
    Bitset pend, must;
    uint16_t held, kept, lost; /* kept: of the caller, and saved; lost: kept, and overwritten since */
    Literals left[NUM_B];      /* lanes for which these hold have left the register */
    bool reached;
} State;

typedef struct {
    Checker *checker;
    const Proc *proc;
    uint32_t base; /* first block of the function */
    VEC(Join) joins;
    State *in; /* by block - base */
} Barriers;

typedef struct {           /* of each procedure */
    uint16_t uses, saves;  /* registers it works with; those that it saves before */
    uint16_t inherited;    /* that callers may have pending */
    uint16_t order[NUM_B]; /* bit k of order[p]: p pending at a BSYNC k */
    uint32_t witness[NUM_B][NUM_B];
} Summary;

/* ---- joins ---- */

static bool is_sync_of(const Checker *checker, uint32_t i, unsigned reg, uint32_t func) {
    const BinFlow *flow = checker->flow;
    return i < flow->bin->ncode && flow->block_of[i] != NONE &&
           flow->blocks[flow->block_of[i]].func == func && flow->decoded[i] &&
           bin_kind(&flow->insts[i]) == BK_BSYNC && bin_barrier(&flow->insts[i]) == reg;
}

/* The BSYNC before the place that a BSSY names: bru1's specification says so, and NVIDIA's code has it
 * nowhere else (14,188 BSSYs of ptxas 13.0 and of cuDNN 9, sm_75 to sm_90). */
static uint32_t find_sync(const Checker *checker, uint32_t target, unsigned reg, uint32_t func) {
    bool behind = target != NONE && target > 0 && is_sync_of(checker, target - 1, reg, func);
    return behind ? target - 1 : NONE;
}

static uint32_t join_of(Barriers *barriers, uint32_t bssy) {
    unsigned reg = bin_barrier(&barriers->checker->flow->insts[bssy]);
    uint32_t target = bin_target(barriers->checker->flow, bssy);
    for (uint32_t k = 0; k < barriers->joins.n; k++)
        if (barriers->joins.at[k].reg == reg && barriers->joins.at[k].target == target)
            return k;
    VEC_ADD(&barriers->checker->a, &barriers->joins,
            ((Join){.reg = (uint8_t)reg,
                    .target = target,
                    .sync = find_sync(barriers->checker, target, reg, barriers->proc->func),
                    .bssy = bssy}));
    return barriers->joins.n - 1;
}

static uint16_t regs_of(const Barriers *barriers, const Bitset *s) {
    uint16_t m = 0;
    BS_EACH(j, s)
        m |= (uint16_t)(1u << barriers->joins.at[j].reg);
    return m;
}

/* ---- data flow ---- */

static void clear_reg(const Barriers *barriers, Bitset *s, unsigned reg) {
    for (uint32_t j = 0; j < barriers->joins.n; j++)
        if (barriers->joins.at[j].reg == reg)
            bs_del(s, j);
}

static void forget_predicates(State *state, const MachInst *inst) {
    bool all = isa_has_effect(inst->optype, ISA_EFFECT_WRITES_ALL_P | ISA_EFFECT_CALL);
    Literals written = all ? UINT16_MAX : 0;
    for (unsigned d = 0; d < inst->ndst; d++)
        if (inst->dst[d].kind == OPK_REG && inst->dst[d].file == RF_P && inst->dst[d].value < REG_PT)
            written |= (Literals)(0x101u << inst->dst[d].value);
    for (unsigned k = 0; k < NUM_B && written; k++)
        if (state->left[k] & written)
            state->left[k] = 0;
}

static bool add_literal(Operand guard, Literals *when) {
    if (op_is_always(guard))
        return true;
    if (guard.kind != OPK_REG || guard.file != RF_P || guard.value >= REG_PT)
        return false;
    *when |= (Literals)(1u << (guard.value + (guard.mods & OPM_NOT ? 8 : 0)));
    return true;
}

/* The predicates under which m is executed; 0 if there are none, or others than P registers. */
static Literals guards(const MachInst *inst) {
    unsigned second = isa_traits(inst->optype)->second_guard;
    Literals when = 0;
    return add_literal(inst->guard, &when) && (second == ISA_NO_SLOT || add_literal(inst->src[second], &when))
               ? when
               : 0;
}

/* BMOV.CLEAR RZ only clears. */
static bool is_saving(const MachInst *bmov) {
    return bmov->ndst && bmov->dst[0].kind == OPK_REG && bmov->dst[0].value != REG_RZ;
}

static void transfer(Barriers *barriers, State *state, uint32_t i) {
    const MachInst *m = &barriers->checker->flow->insts[i];
    bool always = bin_guard(m) == BG_ALWAYS;
    unsigned reg;
    forget_predicates(state, m);
    switch (bin_kind(m)) {
    case BK_BSSY: {
        uint32_t j = join_of(barriers, i);
        bs_add(&state->pend, j);
        reg = barriers->joins.at[j].reg;
        if (always) {
            bs_add(&state->must, j);
            state->held |= (uint16_t)(1u << reg);
        }
        state->left[reg] = 0;
        state->lost |= (uint16_t)(1u << reg & state->kept);
        break;
    }
    case BK_BMOV_FROM_B: /* with a join of its own pending it keeps that, around a call */
        if (always && is_saving(m) && !(regs_of(barriers, &state->pend) >> bin_barrier(m) & 1))
            state->kept |= (uint16_t)(1u << bin_barrier(m));
        break;
    case BK_BMOV_TO_B:
        if (always)
            state->lost &= (uint16_t) ~(1u << bin_barrier(m));
        break;
    case BK_BSYNC:
    case BK_BREAK:
        reg = bin_barrier(m);
        clear_reg(barriers, &state->must, reg);
        state->held &= (uint16_t) ~(1u << reg);
        if (always)
            clear_reg(barriers, &state->pend, reg);
        else if (bin_kind(m) == BK_BREAK && guards(m))
            state->left[reg] = guards(m);
        break;
    default: break;
    }
}

/* Lanes that take this edge and are known to have left some registers. */
static void leave_on_edge(Barriers *barriers, State *state, uint32_t last, BinEdgeKind kind) {
    const MachInst *m = &barriers->checker->flow->insts[last];
    BinKind k = bin_kind(m);
    Literals taken = guards(m), passed = 0;
    if ((k != BK_BRANCH && k != BK_EXIT && k != BK_RET) || !taken)
        return;
    if (!(taken & (taken - 1))) /* of several, one at least does not hold, but which is open */
        passed = (Literals)(taken << 8 | taken >> 8);
    for (unsigned r = 0; r < NUM_B; r++)
        if (state->left[r] && !(state->left[r] & ~(kind == BE_TAKEN ? taken : passed)))
            clear_reg(barriers, &state->pend, r);
}

static void copy_state(State *to, const State *from) {
    bs_copy(&to->pend, &from->pend);
    bs_copy(&to->must, &from->must);
    to->held = from->held;
    to->kept = from->kept;
    to->lost = from->lost;
    memcpy(to->left, from->left, sizeof to->left);
    to->reached = from->reached;
}

static bool merge_state(State *into, const State *with) {
    if (!into->reached) {
        copy_state(into, with);
        return into->reached = true;
    }
    bool changed = bs_or(&into->pend, &with->pend);
    changed |= bs_and(&into->must, &with->must) | ((into->held & ~with->held) != 0);
    changed |= ((with->lost & ~into->lost) | (into->kept & ~with->kept)) != 0;
    into->held &= with->held;
    into->kept &= with->kept;
    into->lost |= with->lost;
    for (unsigned k = 0; k < NUM_B; k++)
        if (into->left[k] && into->left[k] != with->left[k]) {
            into->left[k] = 0;
            changed = true;
        }
    return changed;
}

static State new_state(Barriers *barriers) {
    return (State){.pend = bs_new(&barriers->checker->a, barriers->joins.n + 1),
                   .must = bs_new(&barriers->checker->a, barriers->joins.n + 1)};
}

static void solve(Barriers *barriers) {
    const BinFlow *flow = barriers->checker->flow;
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++)
        FOR_BIN_INSTS(&flow->blocks[barriers->proc->rpo[n]], i)
            if (flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_BSSY)
                join_of(barriers, i);
    barriers->in = ARENA_ARRAY(&barriers->checker->a, State, flow->funcs[barriers->proc->func].nblocks);
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++)
        barriers->in[barriers->proc->rpo[n] - barriers->base] = new_state(barriers);
    State now = new_state(barriers), edge = new_state(barriers);
    barriers->in[barriers->proc->entry_block - barriers->base].reached = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
            const BinBlock *blk = &flow->blocks[barriers->proc->rpo[n]];
            if (!barriers->in[barriers->proc->rpo[n] - barriers->base].reached)
                continue;
            barriers->checker->steps += 1 + blk->nsuccs;
            copy_state(&now, &barriers->in[barriers->proc->rpo[n] - barriers->base]);
            FOR_BIN_INSTS(&flow->blocks[barriers->proc->rpo[n]], i)
                if (flow->decoded[i])
                    transfer(barriers, &now, i);
            for (uint32_t s = 0; s < blk->nsuccs; s++) {
                copy_state(&edge, &now);
                leave_on_edge(barriers, &edge, blk->first + blk->ninsts - 1, blk->succs[s].kind);
                changed |= merge_state(&barriers->in[blk->succs[s].block - barriers->base], &edge);
            }
        }
    }
}

/* ---- reachability ---- */

/* Blocks from which a block in `set` is reached; walking back stops at blocks in `stop` (whose members may be
 * in set). */
static void grow_back(Barriers *barriers, Bitset *set, const Bitset *stop) {
    const BinFlow *flow = barriers->checker->flow;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = barriers->proc->nrpo; n-- > 0;) {
            uint32_t k = barriers->proc->rpo[n] - barriers->base;
            barriers->checker->steps++;
            if (bs_has(set, k) || (stop && bs_has(stop, k)))
                continue;
            const BinBlock *blk = &flow->blocks[barriers->proc->rpo[n]];
            for (uint32_t s = 0; s < blk->nsuccs; s++)
                if (bs_has(set, blk->succs[s].block - barriers->base)) {
                    bs_add(set, k);
                    changed = true;
                    break;
                }
        }
    }
}

static bool same_sync(const Barriers *barriers, uint32_t i, const Join *join) {
    return is_sync_of(barriers->checker, i, join->reg, barriers->proc->func) &&
           (join->sync == NONE || join->sync == i);
}

/* ---- rules on one procedure ---- */

static void finding_pending(Barriers *barriers, CheckRule rule, uint32_t inst, const Bitset *pend,
                            const char *what) {
    BS_EACH(j, pend) {
        const Join *join = &barriers->joins.at[j];
        check_report(barriers->checker, rule, inst, join->bssy,
                     "B%u may still be pending at %s (joined at %s); missing BREAK or BSYNC", join->reg, what,
                     check_at(barriers->checker, join->bssy));
        return;
    }
}

/* R-02 at returns. */
static void at_end(Barriers *b, State *state, const BinBlock *blk) {
    uint32_t last = blk->first + blk->ninsts - 1;
    if (!(blk->ends & BX_RET))
        return;
    leave_on_edge(b, state, last, BE_TAKEN);
    finding_pending(b, CR_R02, last, &state->pend, "the return");
    if (state->lost)
        check_report(b->checker, CR_R16, last, NONE, "the caller's B%u is not restored before the return",
                     (unsigned)__builtin_ctz(state->lost));
}

/* of the joins that are pending at a BSYNC one is its own. Notes what is pending for their order. */
static void own_joins(Barriers *barriers, const State *state, uint32_t i) {
    Checker *checker = barriers->checker;
    unsigned reg = bin_barrier(&checker->flow->insts[i]);
    bool any = false;
    BS_EACH(j, &state->pend) {
        Join *join = &barriers->joins.at[j];
        if (join->reg != reg || (checker->native && join->sync != i && join->sync != NONE))
            continue;
        any = true;
        if (!join->before.w)
            join->before = bs_new(&checker->a, barriers->joins.n + 1);
        bs_or(&join->before, &state->pend);
        join->at = i;
    }
    if (!any)
        check_report_as(checker, checker->native ? SEV_ERROR : SEV_WARNING, CR_R04, i, NONE,
                        "BSYNC B%u has no reaching BSSY", reg);
}

static void at_bsync(Barriers *barriers, const State *state, uint32_t i, Summary *sum) {
    unsigned reg = bin_barrier(&barriers->checker->flow->insts[i]);
    uint16_t regs = regs_of(barriers, &state->pend), all = regs | sum->inherited;
    own_joins(barriers, state, i);
    for (unsigned p = 0; p < NUM_B; p++)
        if (p != reg && (all >> p & 1) && !(sum->order[p] >> reg & 1)) {
            sum->order[p] |= (uint16_t)(1u << reg);
            sum->witness[p][reg] = i;
        }
}

static void at_bssy(Barriers *barriers, const State *state, uint32_t i) {
    uint32_t j = join_of(barriers, i);
    unsigned reg = barriers->joins.at[j].reg;
    if (barriers->joins.at[j].sync == NONE) {
        char to[40] = "outside the code";
        if (barriers->joins.at[j].target != NONE)
            snprintf(to, sizeof to, "%.39s", check_at(barriers->checker, barriers->joins.at[j].target));
        check_report(barriers->checker, CR_R06, i, NONE, "syncpoint %s is not behind a BSYNC B%u", to, reg);
    }
    /* the same join once more is a loop's next round */
    const Bitset *inside = state->held >> reg & 1 && !bs_has(&state->pend, j) ? &state->pend : &state->must;
    BS_EACH(k, inside)
        if (k != j && barriers->joins.at[k].reg == reg)
            check_report(barriers->checker, CR_R08, i, barriers->joins.at[k].bssy,
                         "B%u re-used inside its own region (%s, %s)", reg,
                         check_at(barriers->checker, barriers->joins.at[k].bssy),
                         check_at(barriers->checker, i));
}

static void at_bmov(Checker *checker, uint32_t i, const Summary *sum) {
    unsigned reg = bin_barrier(&checker->flow->insts[i]);
    if (checker->native ? !(sum->saves >> reg & 1) : !checker->converged[i])
        check_report(checker, CR_R15, i, NONE, "BMOV to B%u can resurrect departed lanes", reg);
}

static void walk_rules(Barriers *barriers, Summary *sum) {
    Checker *checker = barriers->checker;
    const BinFlow *flow = checker->flow;
    State now = new_state(barriers);
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
        const State *in = &barriers->in[barriers->proc->rpo[n] - barriers->base];
        if (!in->reached)
            continue;
        copy_state(&now, in);
        FOR_BIN_INSTS(&flow->blocks[barriers->proc->rpo[n]], i) {
            if (!flow->decoded[i])
                break;
            BinKind kind = bin_kind(&flow->insts[i]);
            checker->pend[i] |= regs_of(barriers, &now.pend);
            checker->inherited[i] |= sum->inherited;
            if (kind == BK_BSYNC)
                at_bsync(barriers, &now, i, sum);
            else if (kind == BK_BSSY)
                at_bssy(barriers, &now, i);
            else if (kind == BK_BMOV_TO_B)
                at_bmov(checker, i, sum);
            transfer(barriers, &now, i);
        }
        at_end(barriers, &now, &flow->blocks[barriers->proc->rpo[n]]);
    }
}

typedef struct { /* for each join the blocks where it may be pending, and a walk back through them */
    uint32_t *first, *blocks; /* blocks[first[j] .. first[j + 1] - 1] */
    uint32_t *mark, *stack;   /* mark: j + 1 of the last join; by block - base */
    bool *seen;
} Pending;

static Pending pending_blocks(Barriers *barriers) {
    Arena *a = &barriers->checker->a;
    uint32_t nblocks = barriers->checker->flow->funcs[barriers->proc->func].nblocks,
             njoins = barriers->joins.n;
    Pending pending = {.first = ARENA_ARRAY(a, uint32_t, njoins + 2)};
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
        const State *in = &barriers->in[barriers->proc->rpo[n] - barriers->base];
        for (uint32_t j = bs_next(&in->pend, 0); in->reached && j < njoins; j = bs_next(&in->pend, j + 1))
            pending.first[j + 2]++;
    }
    for (uint32_t j = 2; j < njoins + 2; j++)
        pending.first[j] += pending.first[j - 1];
    pending.blocks = ARENA_ARRAY(a, uint32_t, pending.first[njoins + 1] + 1);
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
        uint32_t k = barriers->proc->rpo[n] - barriers->base;
        const State *in = &barriers->in[k];
        for (uint32_t j = bs_next(&in->pend, 0); in->reached && j < njoins; j = bs_next(&in->pend, j + 1))
            pending.blocks[pending.first[j + 1]++] = k;
    }
    pending.mark = ARENA_ARRAY(a, uint32_t, nblocks);
    pending.stack = ARENA_ARRAY(a, uint32_t, nblocks + 1);
    pending.seen = ARENA_ARRAY(a, bool, nblocks);
    return pending;
}

/* Does every block where the join may be pending lead to its BSYNC, through such blocks alone? Then no edge
 * leaves its region with it pending, and `leaving` has nothing to look for. */
static bool all_come(Barriers *barriers, const Pending *pending, uint32_t j) {
    const BinFlow *flow = barriers->checker->flow;
    const Join *join = &barriers->joins.at[j];
    uint32_t from = pending->first[j], to = pending->first[j + 1], top = 0, come = 0;
    if (join->sync == NONE || !same_sync(barriers, join->sync, join))
        return false;
    for (uint32_t k = from; k < to; k++) {
        pending->mark[pending->blocks[k]] = j + 1;
        pending->seen[pending->blocks[k]] = false;
    }
    uint32_t home = flow->block_of[join->sync] - barriers->base;
    if (pending->mark[home] != j + 1)
        return false;
    pending->seen[home] = true;
    for (pending->stack[top++] = home; top; come++) {
        const BinBlock *blk = &flow->blocks[pending->stack[--top] + barriers->base];
        barriers->checker->steps += 1 + blk->npreds;
        for (uint32_t p = 0; p < blk->npreds; p++) {
            uint32_t at = blk->preds[p].block - barriers->base;
            if (pending->mark[at] != j + 1 || pending->seen[at])
                continue;
            pending->seen[at] = true;
            pending->stack[top++] = at;
        }
    }
    return come == to - from;
}

/* for endless loops, of one join. `ends`: blocks with a way out of the function or to EXIT. */
static void leaving(Barriers *barriers, uint32_t j, const Bitset *ends) {
    const Checker *checker = barriers->checker;
    const BinFlow *flow = checker->flow;
    const Join *join = &barriers->joins.at[j];
    ArenaMark mark = arena_mark(&barriers->checker->a);
    uint32_t nblocks = flow->funcs[barriers->proc->func].nblocks;
    Bitset meets = bs_new(&barriers->checker->a, nblocks), stops = bs_new(&barriers->checker->a, nblocks),
           bad = bs_new(&barriers->checker->a, nblocks);
    bool any_sync = false;
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
        uint32_t k = barriers->proc->rpo[n] - barriers->base;
        bool left = false;
        FOR_BIN_INSTS(&flow->blocks[barriers->proc->rpo[n]], i) {
            if (!flow->decoded[i])
                break;
            BinKind kind = bin_kind(&flow->insts[i]);
            if (kind != BK_BSYNC && kind != BK_BREAK)
                continue;
            if (same_sync(barriers, i, join)) {
                bs_add(&meets, k);
                any_sync = true;
            } else if (kind == BK_BSYNC && bin_barrier(&flow->insts[i]) == join->reg && !left)
                bs_add(&bad, k);
            if (bin_barrier(&flow->insts[i]) == join->reg) {
                bs_add(&stops, k);
                left = true;
            }
        }
        if (!left && ((flow->blocks[barriers->proc->rpo[n]].ends & BX_RET) || !bs_has(ends, k)))
            bs_add(&bad, k);
    }
    grow_back(barriers, &meets, NULL);
    grow_back(barriers, &bad, &stops);
    State edge = new_state(barriers);
    for (uint32_t n = 0; n < barriers->proc->nrpo && any_sync; n++) {
        const BinBlock *blk = &flow->blocks[barriers->proc->rpo[n]];
        uint32_t last = blk->first + blk->ninsts - 1;
        if (!barriers->in[barriers->proc->rpo[n] - barriers->base].reached ||
            !bs_has(&meets, barriers->proc->rpo[n] - barriers->base))
            continue;
        for (uint32_t s = 0; s < blk->nsuccs; s++) {
            uint32_t v = blk->succs[s].block - barriers->base;
            if (bs_has(&meets, v) || !bs_has(&bad, v))
                continue;
            copy_state(&edge, &barriers->in[barriers->proc->rpo[n] - barriers->base]);
            FOR_BIN_INSTS(&flow->blocks[barriers->proc->rpo[n]], i)
                transfer(barriers, &edge, i);
            leave_on_edge(barriers, &edge, last, blk->succs[s].kind);
            if (bs_has(&edge.pend, j))
                check_report(barriers->checker, CR_R03, last, join->bssy,
                             "edge %s->%s leaves the region of B%u (joined at %s) without BREAK",
                             check_at(barriers->checker, last),
                             check_at(barriers->checker, flow->blocks[blk->succs[s].block].first), join->reg,
                             check_at(barriers->checker, join->bssy));
        }
    }
    arena_release(&barriers->checker->a, mark);
}

/* Blocks from which a path comes to a BSYNC of the register, or to where nothing is known. */
static Bitset synchronising(Barriers *barriers, unsigned reg) {
    const BinFlow *flow = barriers->checker->flow;
    Bitset meets = bs_new(&barriers->checker->a, flow->funcs[barriers->proc->func].nblocks);
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
        const BinBlock *blk = &flow->blocks[barriers->proc->rpo[n]];
        bool meets_here = blk->ends & (BX_OFF_END | BX_UNKNOWN);
        FOR_BIN_INSTS(blk, i)
            meets_here |= is_sync_of(barriers->checker, i, reg, barriers->proc->func);
        if (meets_here)
            bs_add(&meets, barriers->proc->rpo[n] - barriers->base);
    }
    grow_back(barriers, &meets, NULL);
    return meets;
}

/* What a path meets behind a word that is not decoded, or an unknown branch, is not known. */
static void synchronised(Barriers *barriers) {
    const BinFlow *flow = barriers->checker->flow;
    Bitset meets[NUM_B] = {{NULL, 0}};
    for (uint32_t j = 0; j < barriers->joins.n; j++) {
        const Join *join = &barriers->joins.at[j];
        const BinBlock *blk = &flow->blocks[flow->block_of[join->bssy]];
        if (!meets[join->reg].w)
            meets[join->reg] = synchronising(barriers, join->reg);
        bool here = blk->ends & (BX_OFF_END | BX_UNKNOWN);
        FOR_BIN_INSTS(blk, i)
            here |= i > join->bssy && is_sync_of(barriers->checker, i, join->reg, barriers->proc->func);
        for (uint32_t s = 0; s < blk->nsuccs; s++)
            here |= bs_has(&meets[join->reg], blk->succs[s].block - barriers->base);
        if (!here)
            check_report(barriers->checker, CR_R05, join->bssy, NONE, "BSSY B%u never synchronised",
                         join->reg);
    }
}

/* lanes that are counted run in circles for ever. */
static void endless(Barriers *barriers, const Bitset *ends) {
    const BinFlow *flow = barriers->checker->flow;
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
        uint32_t k = barriers->proc->rpo[n] - barriers->base;
        if (bs_has(ends, k) || !barriers->in[k].reached || bs_empty(&barriers->in[k].pend))
            continue;
        BS_EACH(j, &barriers->in[k].pend) {
            const Join *join = &barriers->joins.at[j];
            bool clears = false;
            for (uint32_t m = 0; m < barriers->proc->nrpo && !clears; m++)
                FOR_BIN_INSTS(&flow->blocks[barriers->proc->rpo[m]], i) {
                    BinKind kind = flow->decoded[i] ? bin_kind(&flow->insts[i]) : BK_PLAIN;
                    clears |= !bs_has(ends, barriers->proc->rpo[m] - barriers->base) &&
                              (kind == BK_BSYNC || kind == BK_BREAK) &&
                              bin_barrier(&flow->insts[i]) == join->reg;
                }
            if (!clears)
                check_report(
                    barriers->checker, CR_R02, flow->blocks[barriers->proc->rpo[n]].first, join->bssy,
                    "B%u may still be pending in an endless loop (joined at %s); missing BREAK or BSYNC",
                    join->reg, check_at(barriers->checker, join->bssy));
        }
    }
}

enum { JOIN_NEW, JOIN_OPEN, JOIN_DONE };

typedef struct {
    uint8_t *state;         /* of a join */
    uint32_t *next, *stack; /* next: of a join, where the search through what it waits for goes on */
} JoinSearch;

/* Depth first from join `root` to what must be over before its BSYNC lets go, with a stack of its own: chains
 * of joins may be as long as the code. Is there a join that waits for itself? It is reported. */
static bool waits_for_itself(Barriers *barriers, JoinSearch *search, uint32_t root) {
    uint32_t depth = 0;
    search->stack[depth++] = root;
    search->state[root] = JOIN_OPEN;
    while (depth) {
        uint32_t k = search->stack[depth - 1];
        const Join *join = &barriers->joins.at[k];
        uint32_t j = join->before.w ? bs_next(&join->before, search->next[k]) : UINT32_MAX;
        if (j >= barriers->joins.n) {
            search->state[k] = JOIN_DONE;
            depth--;
            continue;
        }
        search->next[k] = j + 1;
        barriers->checker->steps++;
        if (barriers->joins.at[j].reg == join->reg || search->state[j] == JOIN_DONE)
            continue;
        if (search->state[j] == JOIN_OPEN) {
            check_report(
                barriers->checker, CR_R01, join->at, NONE,
                "barrier order cycle: BSYNC B%u at %s while B%u may be pending, and the other way round; two "
                "groups can wait for each other",
                join->reg, check_at(barriers->checker, join->at), barriers->joins.at[j].reg);
            return true;
        }
        search->state[j] = JOIN_OPEN;
        search->stack[depth++] = j;
    }
    return false;
}

/* R-01 natively: compilers number the registers as they come, so that an inner region may have a smaller one
 * here and a larger one elsewhere. What counts is which joins wait for which. */
static void order_of_joins(Barriers *barriers) {
    uint32_t n = barriers->joins.n + 1;
    Arena *a = &barriers->checker->a;
    JoinSearch search = {ARENA_ARRAY(a, uint8_t, n), ARENA_ARRAY(a, uint32_t, n),
                         ARENA_ARRAY(a, uint32_t, n)};
    for (uint32_t k = 0; k < barriers->joins.n; k++)
        if (search.state[k] == JOIN_NEW && waits_for_itself(barriers, &search, k))
            return;
}

static void check_proc(Checker *checker, const Proc *proc, Summary *sum, Barriers *barriers) {
    const BinFlow *flow = checker->flow;
    walk_rules(barriers, sum);
    if (!barriers->joins.n)
        return;
    Bitset ends = bs_new(&checker->a, flow->funcs[proc->func].nblocks);
    for (uint32_t n = 0; n < proc->nrpo; n++)
        if (flow->blocks[proc->rpo[n]].ends)
            bs_add(&ends, proc->rpo[n] - barriers->base);
    grow_back(barriers, &ends, NULL);
    if (checker->native)
        order_of_joins(barriers);
    synchronised(barriers);
    endless(barriers, &ends);
    Pending pending = pending_blocks(barriers);
    for (uint32_t j = 0; j < barriers->joins.n; j++)
        if (!all_come(barriers, &pending, j))
            leaving(barriers, j, &ends);
}

/* ---- between procedures ---- */

static void summarise(Checker *checker, const Proc *p, Summary *summary) {
    const BinFlow *flow = checker->flow;
    for (uint32_t n = 0; n < p->nrpo; n++)
        FOR_BIN_INSTS(&flow->blocks[p->rpo[n]], i) {
            if (!flow->decoded[i])
                break;
            BinKind k = bin_kind(&flow->insts[i]);
            if (k == BK_BSSY ||
                k == BK_BSYNC) /* BREAK alone takes lanes out: nobody waits for them any more */
                summary->uses |= (uint16_t)(1u << bin_barrier(&flow->insts[i]));
            if (k == BK_BMOV_FROM_B && is_saving(&flow->insts[i]))
                summary->saves |= (uint16_t)(1u << bin_barrier(&flow->insts[i]));
        }
    summary->uses &= (uint16_t)~summary->saves;
}

static uint16_t regs_at(Barriers *barriers, uint32_t inst) {
    const BinFlow *flow = barriers->checker->flow;
    uint32_t block = flow->block_of[inst];
    State now = new_state(barriers);
    copy_state(&now, &barriers->in[block - barriers->base]);
    for (uint32_t i = flow->blocks[block].first; i < inst; i++)
        transfer(barriers, &now, i);
    return regs_of(barriers, &now.pend);
}

typedef struct {
    uint32_t proc, inst;
    uint16_t own; /* pending there, of the procedure's own joins */
} Site;

/* What callers have pending goes to the callees, what callees use to the callers; R-16. The sites of callees
 * come first: one round each way does it unless procedures call each other in a circle. */
static void spread(Checker *c, Summary *sum, const Site *sites, uint32_t n) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < 2 * n; k++) {
            const Site *site = &sites[k < n ? k : 2 * n - 1 - k];
            Callees to = check_callees(c, site->inst);
            for (uint32_t t = 0; t < to.n; t++) {
                Summary *callee = &sum[to.proc[t]];
                uint16_t in = callee->inherited | site->own | sum[site->proc].inherited;
                uint16_t uses = sum[site->proc].uses | (callee->uses & (uint16_t)~sum[site->proc].saves);
                changed |= in != callee->inherited || uses != sum[site->proc].uses;
                callee->inherited = in;
                sum[site->proc].uses = uses;
            }
        }
    }
}

static void callee_above(Checker *checker, const Summary *sum, const Site *site) {
    Callees to = check_callees(checker, site->inst);
    uint16_t pending = site->own | sum[site->proc].inherited;
    for (uint32_t t = 0; t < to.n && pending; t++) {
        uint16_t uses = sum[to.proc[t]].uses;
        unsigned highest = 31u - (unsigned)__builtin_clz(pending),
                 used = uses ? (unsigned)__builtin_ctz(uses) : NUM_B;
        if (checker->native && uses & pending)
            used = highest = (unsigned)__builtin_ctz((unsigned)uses & pending);
        else if (checker->native)
            continue;
        if (used <= highest)
            check_report(
                checker, CR_R16, site->inst, NONE, "callee %s uses B%u, caller still pending in B%u",
                check_at(checker, checker->flow->blocks[checker->procs[to.proc[t]].entry_block].first), used,
                highest);
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

static void order_of_kernel(Checker *checker, const Summary *sum, uint32_t root) {
    uint16_t order[NUM_B] = {0};
    uint32_t witness[NUM_B][NUM_B];
    GraphOrder in = graph_order(&checker->a, &checker->calls, root);
    for (uint32_t p = 0; p < checker->nprocs; p++)
        for (unsigned a = 0; in.index[p] != NO_NODE && a < NUM_B; a++)
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
        check_report(checker, CR_R01, witness[p][q], NONE,
                     "barrier order cycle %sB%u (BSYNC B%u at %s while B%u may be pending); two groups can "
                     "wait for each other",
                     text, a, q, check_at(checker, witness[p][q]), p);
        return;
    }
}

void check_barriers(Checker *checker) {
    const BinFlow *flow = checker->flow;
    checker->pend = ARENA_ARRAY(&checker->a, uint16_t, flow->bin->ncode + 1);
    checker->inherited = ARENA_ARRAY(&checker->a, uint16_t, flow->bin->ncode + 1);
    Summary *sum = ARENA_ARRAY(&checker->a, Summary, checker->nprocs + 1);
    Barriers *all = ARENA_ARRAY(&checker->a, Barriers, checker->nprocs + 1);
    VEC(Site) sites = {0};
    for (uint32_t k = 0; k < checker->nprocs; k++) {
        uint32_t p = checker->callees_first[k];
        all[p] = (Barriers){.checker = checker,
                            .proc = &checker->procs[p],
                            .base = flow->funcs[checker->procs[p].func].first_block};
        summarise(checker, &checker->procs[p], &sum[p]);
        solve(&all[p]);
        for (uint32_t n = 0; n < checker->procs[p].nrpo; n++)
            FOR_BIN_INSTS(&flow->blocks[checker->procs[p].rpo[n]], i)
                if (flow->decoded[i] && check_is_call(checker, i))
                    VEC_ADD(&checker->a, &sites, ((Site){p, i, regs_at(&all[p], i)}));
    }
    spread(checker, sum, sites.at, sites.n);
    for (uint32_t p = 0; p < checker->nprocs; p++)
        check_proc(checker, &checker->procs[p], &sum[p], &all[p]);
    for (uint32_t k = 0; k < sites.n; k++)
        callee_above(checker, sum, &sites.at[k]);
    for (uint32_t p = 0; p < checker->nprocs; p++)
        if (checker->procs[p].is_kernel && !checker->native)
            order_of_kernel(checker, sum, p);
}
