/* R-08 where a barrier register is pending on some ways only: from each BSSY whose join may be pending at
 * another BSSY of its register, the ways of a lane that joined there are followed up to that one. Ways that
 * need a predicate and its negation are none: where a region is entered under a predicate, what comes under
 * its negation is no part of it. At a join of ways holds what holds on all of them.
 * SPDX-License-Identifier: MIT */
#include "check/static/barriers.h"

typedef struct {
    Barriers *barriers;
    Literals *entry,
        *now; /* by block - base: what holds there; now: for a lane of the BSSY that is followed */
    bool *known, *reached, *dirty;
    uint32_t *stack;
} Again;

static bool holds_both(Literals facts) { return ((facts >> 8) & facts & 0xff) != 0; }
static Literals negated(Literals one) { return (Literals)(one << 8 | one >> 8); }
static bool is_one(Literals when) { return when && !(when & (when - 1)); }

/* What still holds behind an instruction. */
static Literals behind(const MachInst *inst, Literals facts) {
    return (Literals)(facts & ~check_written_literals(inst));
}

/* False: no lane with these facts takes the edge. */
static bool take_edge(const MachInst *last, BinEdgeKind kind, Literals *facts) {
    BinKind k = bin_kind(last);
    Literals when = check_guard_literals(last);
    if ((k != BK_BRANCH && k != BK_EXIT && k != BK_RET) || !when)
        return true;
    if (kind == BE_TAKEN)
        *facts |= when;
    else if (is_one(when))
        *facts |= negated(when);
    return !holds_both(*facts);
}

/* ---- what holds where a block begins ---- */

static void find_entry_facts(Again *again) {
    Barriers *barriers = again->barriers;
    const BinFlow *flow = barriers->checker->flow;
    again->known[barriers->proc->entry_block - barriers->base] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
            const BinBlock *block = &flow->blocks[barriers->proc->rpo[n]];
            Literals facts = again->entry[barriers->proc->rpo[n] - barriers->base];
            if (!again->known[barriers->proc->rpo[n] - barriers->base])
                continue;
            barriers->checker->steps += 1 + block->nsuccs;
            FOR_BIN_INSTS(block, i)
                if (flow->decoded[i])
                    facts = behind(&flow->insts[i], facts);
            for (uint32_t s = 0; s < block->nsuccs; s++) {
                Literals there = facts;
                uint32_t to = block->succs[s].block - barriers->base;
                if (!take_edge(&flow->insts[block->first + block->ninsts - 1], block->succs[s].kind, &there))
                    continue;
                Literals both = again->known[to] ? (Literals)(again->entry[to] & there) : there;
                changed |= !again->known[to] || both != again->entry[to];
                again->known[to] = true;
                again->entry[to] = both;
            }
        }
    }
}

/* ---- the lanes of one BSSY ---- */

/* From instruction `from` of a block to its end, or to where the lanes leave the register; false: they do. A
 * BSSY of the register on the way is in the region of `bssy`. */
static bool stays(Again *again, uint32_t bssy, uint32_t from, Literals *facts) {
    Checker *checker = again->barriers->checker;
    const BinFlow *flow = checker->flow;
    const BinBlock *block = &flow->blocks[flow->block_of[from]];
    unsigned reg = bin_barrier(&flow->insts[bssy]);
    for (uint32_t i = from; i < block->first + block->ninsts; i++) {
        const MachInst *inst = &flow->insts[i];
        BinKind kind = flow->decoded[i] ? bin_kind(inst) : BK_TRAP;
        bool clears = kind == BK_BMOV_FROM_B && MGET(BMOV, clear, inst->mods);
        bool own =
            (kind == BK_BSSY || kind == BK_BSYNC || kind == BK_BREAK || kind == BK_BMOV_TO_B || clears) &&
            bin_barrier(inst) == reg;
        if (own && kind == BK_BSSY &&
            check_join_of(again->barriers, i) != check_join_of(again->barriers, bssy) &&
            !check_is_gone(again->barriers, check_join_of(again->barriers, bssy), flow->block_of[i]))
            check_report(checker, CR_R08, i, bssy,
                         "B%u re-used where lanes that joined at %s may still be counted in it", reg,
                         check_at(checker, bssy));
        if (!flow->decoded[i] || (own && (kind != BK_BREAK || bin_guard(inst) == BG_ALWAYS)))
            return false;
        if (own && is_one(check_guard_literals(inst)))
            *facts |= negated(check_guard_literals(inst));
        if (holds_both(*facts))
            return false;
        *facts = behind(inst, *facts);
    }
    return true;
}

static void go_along(Again *again, uint32_t *n, const BinBlock *block, Literals facts) {
    const BinFlow *flow = again->barriers->checker->flow;
    for (uint32_t s = 0; s < block->nsuccs; s++) {
        Literals there = facts;
        uint32_t to = block->succs[s].block - again->barriers->base;
        if (!take_edge(&flow->insts[block->first + block->ninsts - 1], block->succs[s].kind, &there))
            continue;
        Literals both = again->reached[to] ? (Literals)(again->now[to] & there) : there;
        if ((!again->reached[to] || both != again->now[to]) && !again->dirty[to]) {
            again->dirty[to] = true;
            again->stack[(*n)++] = to;
        }
        again->reached[to] = true;
        again->now[to] = both;
    }
}

static void follow(Again *again, uint32_t bssy) {
    Barriers *barriers = again->barriers;
    const BinFlow *flow = barriers->checker->flow;
    const BinBlock *block = &flow->blocks[flow->block_of[bssy]];
    Literals facts = again->entry[flow->block_of[bssy] - barriers->base];
    uint32_t n = 0;
    for (uint32_t k = 0; k < barriers->proc->nrpo; k++)
        again->reached[barriers->proc->rpo[k] - barriers->base] = false;
    for (uint32_t i = block->first; i < bssy; i++)
        facts = behind(&flow->insts[i], facts);
    if (stays(again, bssy, bssy + 1, &facts))
        go_along(again, &n, block, facts);
    while (n) {
        uint32_t at = again->stack[--n];
        again->dirty[at] = false;
        block = &flow->blocks[at + barriers->base];
        facts = again->now[at];
        barriers->checker->steps += 1 + block->nsuccs;
        if (stays(again, bssy, block->first, &facts))
            go_along(again, &n, block, facts);
    }
}

void check_again(Barriers *barriers) {
    Checker *checker = barriers->checker;
    const BinFlow *flow = checker->flow;
    Arena *a = &checker->a;
    uint32_t nblocks = flow->funcs[barriers->proc->func].nblocks;
    if (bs_next(&barriers->open, 0) >= barriers->joins.n)
        return;
    Again again = {.barriers = barriers,
                   .entry = ARENA_ARRAY(a, Literals, nblocks),
                   .now = ARENA_ARRAY(a, Literals, nblocks),
                   .known = ARENA_ARRAY(a, bool, nblocks),
                   .reached = ARENA_ARRAY(a, bool, nblocks),
                   .dirty = ARENA_ARRAY(a, bool, nblocks),
                   .stack = ARENA_ARRAY(a, uint32_t, nblocks + 1)};
    find_entry_facts(&again);
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++)
        FOR_BIN_INSTS(&flow->blocks[barriers->proc->rpo[n]], i)
            if (flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_BSSY &&
                bs_has(&barriers->open, check_join_of(barriers, i)))
                follow(&again, i);
}
