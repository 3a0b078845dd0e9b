/* WARPSYNCs that bring together again lanes that a vote found together:
 *
 *     f:  VOTE.ANY R8, PT, PT    anywhere in a function
 *         ...                    branches, calls; R8 may be moved, saved in the frame and loaded again
 *         WARPSYNC R8
 *
 * Each call has its own mask, and nobody waits for ever (so neither R-11 nor R-24 speaks of them) if
 *   - the mask is that of the call's last such vote: a forward flow of where it surely is;
 *   - every lane that was asked comes there, or exits, before it returns or is asked again, and once;
 *   - no barrier is pending there, nor where the function may be called again;
 *   - nothing that runs between may wait for other lanes: no other WARPSYNC, no BAR, YIELD or NANOSLEEP,
 *     nothing that observes memory, no callee that is not known.
 * Of lanes that wait there for each other, those whose mask was made last wait for lanes that run, because a
 * mask that is made later is done with earlier; and all lanes that wait are at this one place, so the machine
 * lets only others run. VOTE, and the operations that keep its result, it knows by name (kept.c): those that
 * Heddle writes there (lower/reconverge/entered.c); what another one writes is no such mask.
 * SPDX-License-Identifier: MIT */
#include "check/static/kept.h"

static bool is_vote(const MachInst *inst) {
    return inst->optype == OT_VOTE && MGET(VOTE, op, inst->mods) == VoteOp_ANY && op_is_always(inst->guard) &&
           op_is_always(inst->src[VOTE_pp]) && inst->dst[VOTE_rd].kind == OPK_REG;
}

/* Is the mask that the vote gives surely in the WARPSYNC's register? */
static bool holds_mask(Checker *checker, const Proc *proc, uint32_t vote, uint32_t sync) {
    KeptUse use = {.inst = sync, .reg = checker->flow->insts[sync].src[WARPSYNC_rb].value};
    check_kept(checker, &(KeptSources){.proc = proc, .sources = &vote, .nsources = 1}, &use, 1);
    return use.from != 0;
}

/* Walks from behind `from`, not through `stop`. *back: it comes to `from` again; false: a way leaves the
 * procedure, and not by EXIT. */
static bool stays_inside(Checker *checker, const Proc *proc, uint32_t from, uint32_t stop, bool *back) {
    const BinFlow *flow = checker->flow;
    uint32_t base = flow->funcs[proc->func].first_block, top = 0;
    ArenaMark mark = arena_mark(&checker->a);
    bool *seen = ARENA_ARRAY(&checker->a, bool, flow->funcs[proc->func].nblocks + 1), inside = true;
    uint32_t *stack = ARENA_ARRAY(&checker->a, uint32_t, flow->funcs[proc->func].nblocks + 1);
    stack[top++] = from;
    *back = false;
    while (top) {
        const BinBlock *b = &flow->blocks[stack[--top]];
        checker->steps++;
        inside &= !(b->ends & ~(BX_EXIT | BX_TRAP));
        for (uint32_t s = 0; s < b->nsuccs; s++) {
            uint32_t to = b->succs[s].block;
            *back |= to == from;
            if (to != stop && !seen[to - base])
                seen[to - base] = true, stack[top++] = to;
        }
    }
    arena_release(&checker->a, mark);
    return inside;
}

/* Do lanes that were asked in one block all come to the other, before they return or are asked again, and not
 * there again before they are? */
static bool all_come_once(Checker *checker, const Proc *proc, uint32_t asked, uint32_t meet) {
    bool again, twice;
    if (asked == meet || !stays_inside(checker, proc, asked, meet, &again) || again)
        return false;
    stays_inside(checker, proc, meet, asked, &twice);
    return !twice;
}

/* Everything that runs below the procedure: nothing may wait there, and no barrier is pending where `again`
 * (procs that may lead back to it) are called. */
static bool proc_is_plain(const Checker *checker, uint32_t p, const bool *again, uint32_t sync) {
    const BinFlow *flow = checker->flow;
    for (uint32_t n = 0; n < checker->procs[p].nrpo; n++)
        FOR_BIN_INSTS(&flow->blocks[checker->procs[p].rpo[n]], i) {
            if (!flow->decoded[i])
                return false;
            BinKind kind = check_kind(checker, i);
            if (kind == BK_YIELD || kind == BK_NANOSLEEP || kind == BK_BAR || kind == BK_BMOV_TO_B ||
                (kind == BK_WARPSYNC && i != sync) || check_observes(checker, i))
                return false;
            if (!check_is_call(checker, i))
                continue;
            Callees to = check_callees(checker, i);
            bool back = false;
            for (uint32_t k = 0; k < to.n; k++)
                back |= again[to.proc[k]];
            if (!to.n || (back && again[p] && checker->pend[i]))
                return false;
        }
    return true;
}

static void mark_from(const Graph *graph, uint32_t from, bool backward, bool *seen, uint32_t *stack) {
    uint32_t top = 0;
    seen[from] = true;
    stack[top++] = from;
    while (top) {
        uint32_t n = stack[--top];
        const uint32_t *at = backward ? graph->pred + graph->pred_at[n] : graph->succ + graph->succ_at[n],
                       *end = backward ? graph->pred + graph->pred_at[n + 1]
                                       : graph->succ + graph->succ_at[n + 1];
        for (; at < end; at++)
            if (!seen[*at])
                seen[*at] = true, stack[top++] = *at;
    }
}

static bool nothing_waits(Checker *checker, uint32_t p, uint32_t sync) {
    uint32_t n = checker->nprocs + 1;
    ArenaMark mark = arena_mark(&checker->a);
    bool *below = ARENA_ARRAY(&checker->a, bool, n), *above = ARENA_ARRAY(&checker->a, bool, n), good = true;
    uint32_t *stack = ARENA_ARRAY(&checker->a, uint32_t, n);
    mark_from(&checker->calls, p, false, below, stack);
    mark_from(&checker->calls, p, true, above, stack);
    for (uint32_t k = 0; k + 1 < n && good; k++)
        good &= !below[k] || proc_is_plain(checker, k, above, sync);
    arena_release(&checker->a, mark);
    return good;
}

/* Is the WARPSYNC, in block `meet` of procedure p, one of lanes that this vote found? */
static bool is_of_vote(Checker *checker, uint32_t p, uint32_t vote, uint32_t sync) {
    const Proc *proc = &checker->procs[p];
    const uint32_t *block_of = checker->flow->block_of;
    if (!all_come_once(checker, proc, block_of[vote], block_of[sync]) || !nothing_waits(checker, p, sync))
        return false;
    return holds_mask(checker, proc, vote, sync);
}

enum { MOST_VOTES = 8 };
/* Votes of the procedure, and its WARPSYNCs of a register where no barrier is pending. */
typedef struct {
    uint32_t vote[MOST_VOTES], sync[MOST_VOTES], nvotes, nsyncs;
} Candidates;

static Candidates find_candidates(const Checker *checker, const Proc *proc) {
    const BinFlow *flow = checker->flow;
    Candidates found = {.nvotes = 0};
    for (uint32_t n = 0; n < proc->nrpo && !proc->is_kernel; n++)
        FOR_BIN_INSTS(&flow->blocks[proc->rpo[n]], i) {
            const MachInst *inst = &flow->insts[i];
            if (!flow->decoded[i])
                break;
            if (is_vote(inst) && found.nvotes < MOST_VOTES)
                found.vote[found.nvotes++] = i;
            if (bin_kind(inst) == BK_WARPSYNC && bin_guard(inst) == BG_ALWAYS && !checker->pend[i] &&
                inst->src[WARPSYNC_rb].kind == OPK_REG && inst->src[WARPSYNC_rb].file == RF_R &&
                !(inst->src[WARPSYNC_rb].mods & ~OPM_REUSE) && found.nsyncs < MOST_VOTES)
                found.sync[found.nsyncs++] = i;
        }
    return found;
}

void check_entered(Checker *checker) {
    checker->entered = ARENA_ARRAY(&checker->a, bool, checker->flow->bin->ncode + 1);
    for (uint32_t p = 0; p < checker->nprocs; p++) {
        Candidates found = find_candidates(checker, &checker->procs[p]);
        for (uint32_t s = 0; s < found.nsyncs; s++)
            for (uint32_t v = 0; v < found.nvotes; v++)
                if (is_of_vote(checker, p, found.vote[v], found.sync[s]))
                    checker->entered[found.sync[s]] = checker->entered[found.vote[v]] = true;
    }
}
