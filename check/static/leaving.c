/* Ways out of the region of a barrier register: for endless loops. A way is looked for
 * join by join, but most joins need no search: every block where one may be pending leads to its BSYNC or
 * begins with its BREAK. SPDX-License-Identifier: MIT */
#include "check/static/barriers.h"

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

static void grow_on(const Barriers *barriers, Bitset *set) {
    const BinFlow *flow = barriers->checker->flow;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < barriers->proc->nrpo; n++) {
            const BinBlock *block = &flow->blocks[barriers->proc->rpo[n]];
            barriers->checker->steps++;
            if (!bs_has(set, barriers->proc->rpo[n] - barriers->base))
                continue;
            for (uint32_t s = 0; s < block->nsuccs; s++) {
                changed |= !bs_has(set, block->succs[s].block - barriers->base);
                bs_add(set, block->succs[s].block - barriers->base);
            }
        }
    }
}

/* From `block` no way leads to the BSYNC of join j, nor back to a caller, and none leads from the BSYNC to
 * it: lanes of the join that come to it end there. Where BSSY sets its register they have left the join with
 * their next BSSY of it, and until then they are as lanes on their way to an EXIT: who waits for them goes on
 * when they exit or trap. ptxas 13.0 gives the registers anew in a function of which it knows that it does
 * not return
 * (`.noreturn`) and calls it with joins pending (tests/check/rules/R-08-gone-good.sass). */
bool check_is_gone(Barriers *barriers, uint32_t j, uint32_t block) {
    const BinFlow *flow = barriers->checker->flow;
    Join *join = &barriers->joins.at[j];
    if (!barriers->checker->native || join->sync == NONE)
        return false;
    if (!join->near.w) {
        Arena *arena = &barriers->checker->a;
        uint32_t nblocks = flow->funcs[barriers->proc->func].nblocks,
                 home = flow->block_of[join->sync] - barriers->base;
        Bitset behind = bs_new(arena, nblocks);
        join->near = bs_new(arena, nblocks);
        bs_add(&join->near, home);
        bs_add(&behind, home);
        for (uint32_t n = 0; n < barriers->proc->nrpo; n++)
            if (flow->blocks[barriers->proc->rpo[n]].ends & (BX_RET | BX_OFF_END | BX_UNKNOWN))
                bs_add(&join->near, barriers->proc->rpo[n] - barriers->base);
        grow_back(barriers, &join->near, NULL);
        grow_on(barriers, &behind);
        bs_or(&join->near, &behind);
    }
    return !bs_has(&join->near, block - barriers->base);
}

static bool same_sync(const Barriers *barriers, uint32_t i, const Join *join) {
    return check_is_sync_of(barriers->checker, i, join->reg, barriers->proc->func) &&
           (join->sync == NONE || join->sync == i);
}

typedef struct { /* for each join the blocks where it may be pending, and a walk back through them */
    uint32_t *first, *blocks; /* blocks[first[j] .. first[j + 1] - 1] */
    uint32_t *mark, *stack;   /* mark: j + 1 of the last join; by block - base */
    bool *seen;
    uint16_t *breaks; /* by block - base: registers of which BREAK is the first that clears them there */
} Pending;

static uint16_t broken_first(const BinFlow *flow, uint32_t block) {
    uint16_t cleared = 0, broken = 0;
    FOR_BIN_INSTS(&flow->blocks[block], i) {
        if (!flow->decoded[i])
            break;
        BinKind kind = bin_kind(&flow->insts[i]);
        if (kind != BK_BSYNC && kind != BK_BREAK)
            continue;
        uint16_t reg = (uint16_t)(1u << bin_barrier(&flow->insts[i]));
        broken |= kind == BK_BREAK ? reg & (uint16_t)~cleared : 0;
        cleared |= reg;
    }
    return broken;
}

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
    pending.breaks = ARENA_ARRAY(a, uint16_t, nblocks);
    for (uint32_t n = 0; n < barriers->proc->nrpo; n++)
        pending.breaks[barriers->proc->rpo[n] - barriers->base] =
            broken_first(barriers->checker->flow, barriers->proc->rpo[n]);
    return pending;
}

/* Does every block where the join may be pending lead to its BSYNC, through such blocks alone, or begin with
 * a BREAK of it, as far as it has to do with it? Then no edge leaves its region with it pending, and
 * `leaving` has nothing to look for. */
static bool all_come(Barriers *barriers, const Pending *pending, uint32_t j) {
    const BinFlow *flow = barriers->checker->flow;
    const Join *join = &barriers->joins.at[j];
    uint32_t from = pending->first[j], to = pending->first[j + 1], top = 0;
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
    for (pending->stack[top++] = home; top;) {
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
    for (uint32_t k = from; k < to; k++)
        if (!pending->seen[pending->blocks[k]] && !(pending->breaks[pending->blocks[k]] >> join->reg & 1))
            return false;
    return true;
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
            } else if (kind == BK_BSYNC && bin_barrier(&flow->insts[i]) == join->reg && !left &&
                       !check_is_gone(barriers, j, barriers->proc->rpo[n]))
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
    State edge = check_new_state(barriers);
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
            check_copy_state(&edge, &barriers->in[barriers->proc->rpo[n] - barriers->base]);
            FOR_BIN_INSTS(&flow->blocks[barriers->proc->rpo[n]], i)
                check_barrier_step(barriers, &edge, i);
            check_leave_on_edge(barriers, &edge, last, blk->succs[s].kind);
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
            meets_here |= check_is_sync_of(barriers->checker, i, reg, barriers->proc->func);
        if (meets_here)
            bs_add(&meets, barriers->proc->rpo[n] - barriers->base);
    }
    grow_back(barriers, &meets, NULL);
    return meets;
}

/* What a path meets behind a word that is not decoded, or an unknown branch, is not known; and nobody
 * waits where all ways end in a trap. `ends`: blocks from which a way ends; `orderly`: not in a trap. */
static void synchronised(Barriers *barriers, const Bitset *ends, const Bitset *orderly) {
    const BinFlow *flow = barriers->checker->flow;
    Bitset meets[NUM_B] = {{NULL, 0}};
    for (uint32_t j = 0; j < barriers->joins.n; j++) {
        const Join *join = &barriers->joins.at[j];
        const BinBlock *blk = &flow->blocks[flow->block_of[join->bssy]];
        uint32_t at = flow->block_of[join->bssy] - barriers->base;
        if (join->moved || (bs_has(ends, at) && !bs_has(orderly, at)))
            continue; /* moved: of the register that it moves to */
        if (!meets[join->reg].w)
            meets[join->reg] = synchronising(barriers, join->reg);
        bool here = blk->ends & (BX_OFF_END | BX_UNKNOWN);
        FOR_BIN_INSTS(blk, i)
            here |= i > join->bssy && check_is_sync_of(barriers->checker, i, join->reg, barriers->proc->func);
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

void check_leaving(Barriers *barriers) {
    Checker *checker = barriers->checker;
    const BinFlow *flow = checker->flow;
    const Proc *proc = barriers->proc;
    Bitset ends = bs_new(&checker->a, flow->funcs[proc->func].nblocks),
           orderly = bs_new(&checker->a, flow->funcs[proc->func].nblocks);
    for (uint32_t n = 0; n < proc->nrpo; n++) {
        uint8_t how = flow->blocks[proc->rpo[n]].ends;
        if (how)
            bs_add(&ends, proc->rpo[n] - barriers->base);
        if (how & ~(BX_TRAP | BX_NORETURN))
            bs_add(&orderly, proc->rpo[n] - barriers->base);
    }
    grow_back(barriers, &ends, NULL);
    grow_back(barriers, &orderly, NULL);
    synchronised(barriers, &ends, &orderly);
    endless(barriers, &ends);
    Pending pending = pending_blocks(barriers);
    for (uint32_t j = 0; j < barriers->joins.n; j++)
        if (!all_come(barriers, &pending, j))
            leaving(barriers, j, &ends);
}
