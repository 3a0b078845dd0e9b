/* Barrier registers. For each procedure one data flow over "joins": a join is
 * a barrier register with the syncpoint of its BSSY. State at a point: joins that a lane may still be counted
 * in, joins in which every lane is, registers in one of whose joins every lane is (on different paths in
 * different ones), and under which predicate a lane has left by a predicated BREAK. What callers have pending
 * comes in as a set of registers.
 * SPDX-License-Identifier: MIT */
#include "check/static/barriers.h"
#include <stdio.h>
#include <string.h>

typedef struct {           /* of each procedure */
    uint16_t uses, saves;  /* registers it works with; those that it saves before */
    uint16_t inherited;    /* that callers may have pending */
    bool returns;          /* some lane may, or exits: not all end in a trap, or never */
    uint16_t order[NUM_B]; /* bit k of order[p]: p pending at a BSYNC k */
    uint32_t witness[NUM_B][NUM_B];
} Summary;

/* ---- joins ---- */

bool check_is_sync_of(const Checker *checker, uint32_t i, unsigned reg, uint32_t func) {
    const BinFlow *flow = checker->flow;
    return i < flow->bin->ncode && flow->block_of[i] != NONE &&
           flow->blocks[flow->block_of[i]].func == func && flow->decoded[i] &&
           bin_kind(&flow->insts[i]) == BK_BSYNC && bin_barrier(&flow->insts[i]) == reg;
}

/* The BSYNC before the place that a BSSY names: bru1's specification says so, and NVIDIA's code has it
 * nowhere else (14,188 BSSYs of ptxas 13.0 and of cuDNN 9, sm_75 to sm_90). */
static uint32_t find_sync(const Checker *checker, uint32_t target, unsigned reg, uint32_t func) {
    bool behind = target != NONE && target > 0 && check_is_sync_of(checker, target - 1, reg, func);
    return behind ? target - 1 : NONE;
}

uint32_t check_join_of(Barriers *barriers, uint32_t bssy) {
    uint32_t *known = &barriers->join_at[bssy - barriers->first_inst];
    if (*known)
        return *known - 1;
    unsigned reg = bin_barrier(&barriers->checker->flow->insts[bssy]);
    uint32_t target = bin_target(barriers->checker->flow, bssy),
             at = target == NONE ? NONE : target - barriers->first_inst;
    uint32_t *last = &barriers->by_target[at < barriers->ninsts ? at : barriers->ninsts];
    for (uint32_t k = *last; k && !*known; k = barriers->previous.at[k - 1])
        if (barriers->joins.at[k - 1].reg == reg && barriers->joins.at[k - 1].target == target)
            *known = k;
    if (*known)
        return *known - 1;
    VEC_ADD(&barriers->checker->a, &barriers->joins,
            ((Join){.reg = (uint8_t)reg,
                    .target = target,
                    .sync = find_sync(barriers->checker, target, reg, barriers->proc->func),
                    .bssy = bssy}));
    VEC_ADD(&barriers->checker->a, &barriers->previous, *last);
    *last = *known = barriers->joins.n;
    return barriers->joins.n - 1;
}

/* BSSY B0 whose syncpoint is behind BSYNC B5: ptxas 12 keeps the lanes in a vector register over calls, for
 * which it has no barrier left, and gives them back to another one. That is a join of B5, too. */
static void find_moved(Barriers *barriers, uint16_t given_back) {
    Checker *checker = barriers->checker;
    for (uint32_t j = 0, n = barriers->joins.n; j < n; j++) {
        Join join = barriers->joins.at[j];
        for (unsigned reg = 0; join.sync == NONE && reg < NUM_B; reg++)
            if (given_back >> reg & 1)
                join.sync = find_sync(checker, join.target, join.reg = (uint8_t)reg, barriers->proc->func);
        if (barriers->joins.at[j].sync != NONE || join.sync == NONE)
            continue;
        VEC_ADD(&checker->a, &barriers->joins, join);
        VEC_ADD(&checker->a, &barriers->previous, 0);
        barriers->joins.at[j].moved = barriers->joins.n;
    }
}

/* BMOV.CLEAR RZ only clears. */
static bool is_saving(const MachInst *bmov) {
    return bmov->ndst && bmov->dst[0].kind == OPK_REG && bmov->dst[0].value != REG_RZ;
}

static void note_restore(Barriers *barriers, uint32_t i) {
    const MachInst *inst = &barriers->checker->flow->insts[i];
    for (unsigned k = 0; k < inst->nsrc; k++)
        if (inst->src[k].kind == OPK_REG && inst->src[k].file == RF_R && inst->src[k].value != REG_RZ)
            VEC_ADD(&barriers->checker->a, &barriers->restores,
                    ((KeptUse){.inst = i, .reg = inst->src[k].value}));
}

/* Which saves a BMOV to a barrier register gives back; NULL: it writes a number. */
static const KeptUse *restore_at(const Barriers *barriers, uint32_t i) {
    for (uint32_t k = 0; k < barriers->restores.n; k++)
        if (barriers->restores.at[k].inst == i)
            return &barriers->restores.at[k];
    return NULL;
}

/* The BSSYs of the procedure, each with its join. */
static void find_joins(Barriers *barriers) {
    const BinFlow *flow = barriers->checker->flow;
    Arena *a = &barriers->checker->a;
    const BinFuncFlow *func = &flow->funcs[barriers->proc->func];
    uint32_t end = 0;
    uint16_t given_back = 0;
    barriers->first_inst = UINT32_MAX;
    for (uint32_t k = 0; k < func->nblocks; k++) {
        const BinBlock *blk = &flow->blocks[func->first_block + k];
        barriers->first_inst = blk->first < barriers->first_inst ? blk->first : barriers->first_inst;
        end = blk->first + blk->ninsts > end ? blk->first + blk->ninsts : end;
    }
    barriers->ninsts = end > barriers->first_inst ? end - barriers->first_inst : 0;
    barriers->join_at = ARENA_ARRAY(a, uint32_t, barriers->ninsts + 1);
    barriers->by_target = ARENA_ARRAY(a, uint32_t, barriers->ninsts + 1);
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++)
        FOR_BIN_INSTS(&flow->blocks[barriers->proc->rpo[n]], i)
            if (flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_BSSY)
                check_join_of(barriers, i);
            else if (flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_BMOV_TO_B) {
                given_back |= (uint16_t)(1u << bin_barrier(&flow->insts[i]));
                note_restore(barriers, i);
            } else if (flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_BMOV_FROM_B &&
                       is_saving(&flow->insts[i]) && bin_guard(&flow->insts[i]) == BG_ALWAYS)
                VEC_ADD(a, &barriers->saves, i);
    if (barriers->saves.n && barriers->restores.n)
        check_kept(barriers->checker,
                   &(KeptSources){.proc = barriers->proc,
                                  .sources = barriers->saves.at,
                                  .nsources = barriers->saves.n,
                                  .convention = barriers->checker->native},
                   barriers->restores.at, barriers->restores.n);
    find_moved(barriers, given_back);
    for (unsigned reg = 0; reg < NUM_B; reg++)
        barriers->of_reg[reg] = bs_new(a, barriers->joins.n + 1);
    for (uint32_t j = 0; j < barriers->joins.n; j++)
        bs_add(&barriers->of_reg[barriers->joins.at[j].reg], j);
}

static uint16_t regs_of(const Barriers *barriers, const Bitset *s) {
    uint16_t m = 0;
    BS_EACH(j, s)
        m |= (uint16_t)(1u << barriers->joins.at[j].reg);
    return m;
}

/* ---- data flow ---- */

static void clear_reg(const Barriers *barriers, Bitset *s, unsigned reg) {
    bs_andnot(s, &barriers->of_reg[reg]);
}

Literals check_written_literals(const MachInst *inst) {
    bool all = isa_has_effect(inst->optype, ISA_EFFECT_WRITES_ALL_P | ISA_EFFECT_CALL);
    Literals written = all ? UINT16_MAX : 0;
    for (unsigned d = 0; d < inst->ndst; d++)
        if (inst->dst[d].kind == OPK_REG && inst->dst[d].file == RF_P && inst->dst[d].value < REG_PT)
            written |= (Literals)(0x101u << inst->dst[d].value);
    return written;
}

static void forget_predicates(State *state, const MachInst *inst) {
    Literals written = check_written_literals(inst);
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
Literals check_guard_literals(const MachInst *inst) {
    unsigned second = isa_traits(inst->optype)->second_guard;
    Literals when = 0;
    return add_literal(inst->guard, &when) && (second == ISA_NO_SLOT || add_literal(inst->src[second], &when))
               ? when
               : 0;
}

/* BMOV.CLEAR R24, B0 with joins of its own pending: they are R24's until it is given back, and B0 is free. */
static void save_joins(Barriers *barriers, State *state, uint32_t bmov) {
    unsigned reg = bin_barrier(&barriers->checker->flow->insts[bmov]);
    uint64_t bit = 0;
    for (uint32_t k = 0; k < barriers->saves.n; k++)
        bit |= barriers->saves.at[k] == bmov ? (uint64_t)1 << k % 64 : 0;
    BS_EACH(j, &state->pend) {
        Join *join = &barriers->joins.at[j];
        if (join->reg != reg)
            continue;
        uint32_t by = !join->saved || join->by == bmov ? bmov : NONE;
        barriers->moved |= (bit & ~join->saved) != 0 || by != join->by;
        join->saved |= bit;
        join->by = by;
        bs_add(&state->saved, j);
        if (bs_has(&state->must, j))
            bs_add(&state->saved_must, j);
    }
    clear_reg(barriers, &state->pend, reg);
    clear_reg(barriers, &state->must, reg);
    state->held &= (uint16_t) ~(1u << reg);
}

/* The join that a saved one is, when BMOV writes it to a barrier register; NONE: not that one is written. */
static uint32_t given_back_as(const Barriers *barriers, uint32_t j, uint32_t bmov) {
    const Join *join = &barriers->joins.at[j];
    const KeptUse *use = restore_at(barriers, bmov);
    unsigned reg = bin_barrier(&barriers->checker->flow->insts[bmov]);
    if (!use || !(join->saved & use->from) ||
        (use->only != NONE && join->by != NONE && use->only != join->by))
        return NONE;
    if (join->reg != reg && join->moved && barriers->joins.at[join->moved - 1].reg == reg)
        return join->moved - 1;
    return join->reg == reg ? j : NONE;
}

/* Is what BMOV writes to a barrier register what was saved of this one? Of what is kept in an unknown frame
 * it may be. */
static bool saved_of(const Barriers *barriers, uint32_t bmov, unsigned reg) {
    const KeptUse *use = restore_at(barriers, bmov);
    bool any = false;
    for (uint32_t k = 0; use && k < barriers->saves.n; k++)
        if (bin_barrier(&barriers->checker->flow->insts[barriers->saves.at[k]]) == reg)
            any |= !use->from          ? !use->frame_known
                   : use->only != NONE ? use->only == barriers->saves.at[k]
                                       : use->from >> k % 64 & 1;
    return any;
}

static void give_back_joins(const Barriers *barriers, State *state, uint32_t bmov) {
    unsigned reg = bin_barrier(&barriers->checker->flow->insts[bmov]);
    BS_EACH(j, &state->saved) {
        uint32_t back = given_back_as(barriers, j, bmov);
        if (back == NONE)
            continue;
        bs_add(&state->pend, back);
        bs_del(&state->saved, j);
        if (!bs_has(&state->saved_must, j))
            continue;
        bs_add(&state->must, back);
        bs_del(&state->saved_must, j);
        state->held |= (uint16_t)(1u << reg);
    }
}

void check_barrier_step(Barriers *barriers, State *state, uint32_t i) {
    const MachInst *m = &barriers->checker->flow->insts[i];
    bool always = bin_guard(m) == BG_ALWAYS;
    unsigned reg;
    uint16_t own = regs_of(barriers, &state->pend) | regs_of(barriers, &state->saved);
    forget_predicates(state, m);
    switch (bin_kind(m)) {
    case BK_BSSY: {
        uint32_t j = check_join_of(barriers, i);
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
    case BK_BMOV_FROM_B:
        if (always && is_saving(m) && !(own >> bin_barrier(m) & 1))
            state->kept |= (uint16_t)(1u << bin_barrier(m));
        else if (always && is_saving(m) && MGET(BMOV, clear, m->mods))
            save_joins(barriers, state, i);
        break;
    case BK_BMOV_TO_B:
        if (always) {
            if (saved_of(barriers, i, bin_barrier(m)))
                state->lost &= (uint16_t) ~(1u << bin_barrier(m));
            give_back_joins(barriers, state, i);
        }
        break;
    case BK_BSYNC:
    case BK_BREAK:
        reg = bin_barrier(m);
        clear_reg(barriers, &state->must, reg);
        state->held &= (uint16_t) ~(1u << reg);
        if (always)
            clear_reg(barriers, &state->pend, reg);
        else if (bin_kind(m) == BK_BREAK && check_guard_literals(m))
            state->left[reg] = check_guard_literals(m);
        break;
    default: break;
    }
}

/* Lanes that take this edge and are known to have left some registers. */
void check_leave_on_edge(Barriers *barriers, State *state, uint32_t last, BinEdgeKind kind) {
    const MachInst *m = &barriers->checker->flow->insts[last];
    BinKind k = bin_kind(m);
    Literals taken = check_guard_literals(m), passed = 0;
    if ((k != BK_BRANCH && k != BK_EXIT && k != BK_RET) || !taken)
        return;
    if (!(taken & (taken - 1))) /* of several, one at least does not hold, but which is open */
        passed = (Literals)(taken << 8 | taken >> 8);
    for (unsigned r = 0; r < NUM_B; r++)
        if (state->left[r] && !(state->left[r] & ~(kind == BE_TAKEN ? taken : passed)))
            clear_reg(barriers, &state->pend, r);
}

void check_copy_state(State *to, const State *from) {
    bs_copy(&to->pend, &from->pend);
    bs_copy(&to->must, &from->must);
    bs_copy(&to->saved, &from->saved);
    bs_copy(&to->saved_must, &from->saved_must);
    to->held = from->held;
    to->kept = from->kept;
    to->lost = from->lost;
    memcpy(to->left, from->left, sizeof to->left);
    to->reached = from->reached;
}

static bool merge_state(State *into, const State *with) {
    if (!into->reached) {
        check_copy_state(into, with);
        return into->reached = true;
    }
    bool changed = bs_or(&into->pend, &with->pend);
    changed |= bs_or(&into->saved, &with->saved);
    changed |= bs_and(&into->saved_must, &with->saved_must);
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

State check_new_state(Barriers *barriers) {
    Arena *arena = &barriers->checker->a;
    uint32_t n = barriers->joins.n + 1;
    return (State){.pend = bs_new(arena, n),
                   .must = bs_new(arena, n),
                   .saved = bs_new(arena, n),
                   .saved_must = bs_new(arena, n)};
}

static void solve(Barriers *barriers) {
    const BinFlow *flow = barriers->checker->flow;
    find_joins(barriers);
    barriers->in = ARENA_ARRAY(&barriers->checker->a, State, flow->funcs[barriers->proc->func].nblocks);
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++)
        barriers->in[barriers->proc->rpo[n] - barriers->base] = check_new_state(barriers);
    State now = check_new_state(barriers), edge = check_new_state(barriers);
    barriers->in[barriers->proc->entry_block - barriers->base].reached = true;
    for (bool changed = true; changed;) {
        changed = barriers->moved = false;
        for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
            const BinBlock *blk = &flow->blocks[barriers->proc->rpo[n]];
            if (!barriers->in[barriers->proc->rpo[n] - barriers->base].reached)
                continue;
            barriers->checker->steps += 1 + blk->nsuccs;
            check_copy_state(&now, &barriers->in[barriers->proc->rpo[n] - barriers->base]);
            FOR_BIN_INSTS(&flow->blocks[barriers->proc->rpo[n]], i)
                if (flow->decoded[i])
                    check_barrier_step(barriers, &now, i);
            for (uint32_t s = 0; s < blk->nsuccs; s++) {
                check_copy_state(&edge, &now);
                check_leave_on_edge(barriers, &edge, blk->first + blk->ninsts - 1, blk->succs[s].kind);
                changed |= merge_state(&barriers->in[blk->succs[s].block - barriers->base], &edge);
            }
        }
        changed |= barriers->moved;
    }
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
    check_leave_on_edge(b, state, last, BE_TAKEN);
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
    uint32_t j = check_join_of(barriers, i);
    unsigned reg = barriers->joins.at[j].reg;
    if (barriers->joins.at[j].sync == NONE && !barriers->joins.at[j].moved) {
        char to[40] = "outside the code";
        if (barriers->joins.at[j].target != NONE)
            snprintf(to, sizeof to, "%.39s", check_at(barriers->checker, barriers->joins.at[j].target));
        check_report(barriers->checker, CR_R06, i, NONE, "syncpoint %s is not behind a BSYNC B%u", to, reg);
    }
    /* the same join once more is a loop's next round */
    const Bitset *inside = state->held >> reg & 1 && !bs_has(&state->pend, j) ? &state->pend : &state->must;
    BS_EACH(k, inside)
        if (k != j && barriers->joins.at[k].reg == reg &&
            !check_is_gone(barriers, k, barriers->checker->flow->block_of[i]))
            check_report(barriers->checker, CR_R08, i, barriers->joins.at[k].bssy,
                         "B%u re-used inside its own region (%s, %s)", reg,
                         check_at(barriers->checker, barriers->joins.at[k].bssy),
                         check_at(barriers->checker, i));
    BS_EACH(k, &state->pend)
        if (k != j && barriers->joins.at[k].reg == reg && !bs_has(inside, k))
            bs_add(&barriers->open, k);
}

/* Natively a register may be written if it, or a join of lanes that are together there, was saved. */
static void at_bmov(Barriers *barriers, const State *state, uint32_t i) {
    Checker *checker = barriers->checker;
    unsigned reg = bin_barrier(&checker->flow->insts[i]);
    bool saved = saved_of(barriers, i, reg);
    BS_EACH(j, &state->saved_must)
        saved |= given_back_as(barriers, j, i) != NONE;
    if (checker->native ? !saved : !checker->converged[i])
        check_report(checker, CR_R15, i, NONE, "BMOV to B%u can resurrect departed lanes", reg);
}

/* R-15 natively: EXIT takes a lane out of the barrier registers, not out of what was saved of them. */
static void at_exit(Barriers *barriers, const State *state, uint32_t i) {
    uint32_t j = bs_next(&state->saved, 0);
    if (!barriers->checker->native || j >= barriers->joins.n ||
        bin_guard(&barriers->checker->flow->insts[i]) == BG_NEVER)
        return;
    check_report(barriers->checker, CR_R15, i, barriers->joins.at[j].bssy,
                 "lanes exit that a saved B%u still holds: its BSYNC will wait for them",
                 barriers->joins.at[j].reg);
}

static void walk_rules(Barriers *barriers, Summary *sum) {
    Checker *checker = barriers->checker;
    const BinFlow *flow = checker->flow;
    State now = check_new_state(barriers);
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
        const State *in = &barriers->in[barriers->proc->rpo[n] - barriers->base];
        if (!in->reached)
            continue;
        check_copy_state(&now, in);
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
                at_bmov(barriers, &now, i);
            else if (kind == BK_EXIT)
                at_exit(barriers, &now, i);
            check_barrier_step(barriers, &now, i);
        }
        at_end(barriers, &now, &flow->blocks[barriers->proc->rpo[n]]);
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

static void check_proc(Checker *checker, Summary *sum, Barriers *barriers) {
    barriers->open = bs_new(&checker->a, barriers->joins.n + 1);
    walk_rules(barriers, sum);
    if (!barriers->joins.n)
        return;
    check_again(barriers);
    if (checker->native)
        order_of_joins(barriers);
    check_leaving(barriers);
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

typedef struct {
    uint32_t proc, inst;
    uint16_t own; /* pending there, of the procedure's own joins */
} Site;
typedef VEC(Site) Sites;

/* The calls of procedure number p, with the registers in use where they stand. */
static void find_sites(Barriers *barriers, uint32_t p, Sites *sites) {
    const BinFlow *flow = barriers->checker->flow;
    State now = check_new_state(barriers);
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
        uint32_t block = barriers->proc->rpo[n];
        check_copy_state(&now, &barriers->in[block - barriers->base]);
        FOR_BIN_INSTS(&flow->blocks[block], i) {
            if (!flow->decoded[i])
                continue;
            if (check_is_call(barriers->checker, i))
                VEC_ADD(&barriers->checker->a, sites, ((Site){p, i, regs_of(barriers, &now.pend)}));
            check_barrier_step(barriers, &now, i);
        }
    }
}

/* Does the call come to a procedure that returns, as far as that is known? */
static bool callee_returns(Checker *checker, const Summary *sum, uint32_t call) {
    Callees to = check_callees(checker, call);
    bool returns = to.n == 0;
    for (uint32_t t = 0; t < to.n; t++)
        returns |= sum[to.proc[t]].returns;
    return returns;
}

/* Is there a way from the entry to a RET, on which all calls return and nothing traps or exits? */
static bool comes_to_return(Checker *checker, const Proc *proc, const Summary *sum) {
    const BinFlow *flow = checker->flow;
    ArenaMark mark = arena_mark(&checker->a);
    bool *seen = ARENA_ARRAY(&checker->a, bool, flow->nblocks), returns = false;
    uint32_t *stack = ARENA_ARRAY(&checker->a, uint32_t, flow->nblocks + 1), top = 0;
    stack[top++] = proc->entry_block;
    seen[proc->entry_block] = true;
    while (top && !returns) {
        const BinBlock *b = &flow->blocks[stack[--top]];
        bool goes_on = true;
        checker->steps++;
        for (uint32_t i = b->first; i < b->first + b->ninsts && goes_on && !returns; i++) {
            BinGuard guard = flow->decoded[i] ? bin_guard(&flow->insts[i]) : BG_NEVER;
            BinKind kind = flow->decoded[i] ? bin_kind(&flow->insts[i]) : BK_PLAIN;
            returns = !flow->decoded[i] || (guard != BG_NEVER && kind == BK_RET);
            goes_on = guard != BG_ALWAYS || (kind != BK_TRAP && kind != BK_EXIT &&
                                             (!check_is_call(checker, i) || callee_returns(checker, sum, i)));
        }
        for (uint32_t n = 0; n < b->nsuccs && goes_on; n++)
            if (!seen[b->succs[n].block]) {
                seen[b->succs[n].block] = true;
                stack[top++] = b->succs[n].block;
            }
    }
    arena_release(&checker->a, mark);
    return returns;
}

/* Natively a procedure that only traps or exits may do with barriers what it likes: ptxas 13.0 keeps B0
 * pending around calls of what tells why it gives up. Nobody comes to the BSYNC from there, and who waits at
 * it goes too, or on. */
static void find_returns(Checker *checker, Summary *sum) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < checker->nprocs; k++) {
            uint32_t p = checker->callees_first[k];
            if (!sum[p].returns && (!checker->native || comes_to_return(checker, &checker->procs[p], sum)))
                sum[p].returns = changed = true;
        }
    }
}

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
                if (!callee->returns)
                    continue;
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
        if (!sum[to.proc[t]].returns)
            continue;
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
    Sites sites = {0};
    for (uint32_t k = 0; k < checker->nprocs; k++) {
        uint32_t p = checker->callees_first[k];
        all[p] = (Barriers){.checker = checker,
                            .proc = &checker->procs[p],
                            .base = flow->funcs[checker->procs[p].func].first_block};
        summarise(checker, &checker->procs[p], &sum[p]);
        solve(&all[p]);
        find_sites(&all[p], p, &sites);
    }
    find_returns(checker, sum);
    spread(checker, sum, sites.at, sites.n);
    for (uint32_t p = 0; p < checker->nprocs; p++)
        check_proc(checker, &sum[p], &all[p]);
    for (uint32_t k = 0; k < sites.n; k++)
        callee_above(checker, sum, &sites.at[k]);
    for (uint32_t p = 0; p < checker->nprocs; p++)
        if (checker->procs[p].is_kernel && !checker->native)
            order_of_kernel(checker, sum, p);
}
