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
 * lets only others run. VOTE, and the operations that keep its result, it knows by name: those that Heddle
 * writes there (lower/reconverge/entered.c); what another one writes is no such mask.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <string.h>

enum { SLOTS = 16 };
typedef struct { /* a bit for each of R0 to R254 */
    uint64_t w[4];
} Regs;
typedef struct { /* where the mask surely is */
    bool reached;
    Regs regs;
    int32_t slot[SLOTS]; /* bytes from R1 at the function's entry */
    unsigned nslots;
    int32_t stack; /* R1 less what it was there */
    bool lost;     /* that is not known */
} Places;

static bool has_reg(const Regs *regs, uint32_t reg) {
    return reg < REG_RZ && regs->w[reg / 64] >> (reg % 64) & 1;
}
static void set_reg(Regs *regs, uint32_t reg, bool on) {
    uint64_t bit = (uint64_t)1 << (reg % 64);
    if (reg < REG_RZ)
        regs->w[reg / 64] = on ? regs->w[reg / 64] | bit : regs->w[reg / 64] & ~bit;
}
static bool has_slot(const Places *places, int32_t slot) {
    for (unsigned k = 0; k < places->nslots; k++)
        if (places->slot[k] == slot)
            return true;
    return false;
}
/* A word at `slot`, which need not be a multiple of four from others. */
static void set_slot(Places *places, int32_t slot, bool on) {
    unsigned n = 0;
    for (unsigned k = 0; k < places->nslots; k++)
        if (places->slot[k] <= slot - 4 || places->slot[k] >= slot + 4)
            places->slot[n++] = places->slot[k];
    places->nslots = n;
    if (on && n < SLOTS)
        places->slot[places->nslots++] = slot;
}

/* What is in both; does that take something from `to`? */
static bool merge(Places *to, const Places *from) {
    if (!to->reached) {
        *to = *from;
        return true;
    }
    bool changed = false;
    unsigned n = 0;
    for (unsigned k = 0; k < 4; k++) {
        changed |= (to->regs.w[k] & ~from->regs.w[k]) != 0;
        to->regs.w[k] &= from->regs.w[k];
    }
    bool lost = to->lost || from->lost || to->stack != from->stack;
    for (unsigned k = 0; k < to->nslots; k++)
        if (!lost && has_slot(from, to->slot[k]))
            to->slot[n++] = to->slot[k];
    changed |= n != to->nslots || lost != to->lost;
    to->nslots = n;
    to->lost = lost;
    return changed;
}

static int32_t offset_of(const MachInst *inst, Operand o) {
    return o.kind == OPK_IMM64 ? (int32_t)inst->wide : o.kind == OPK_IMM ? (int32_t)o.value : 0;
}

static bool is_reg(Operand o, uint32_t reg) {
    return o.kind == OPK_REG && o.file == RF_R && o.value == reg && !(o.mods & ~OPM_REUSE);
}

/* Is it an access to the frame, and where does it begin? */
static bool in_frame(const Places *places, const MachInst *inst, int32_t *slot) {
    bool load = inst->optype == OT_LDL;
    Operand base = inst->src[load ? LDL_ra : STL_ra], urb = inst->src[load ? LDL_urb : STL_urb];
    *slot = places->stack + offset_of(inst, inst->src[load ? LDL_offset : STL_offset]);
    return !places->lost && is_reg(base, 1) && (urb.kind == OPK_NONE || urb.value == REG_URZ);
}

static void store(Places *places, const MachInst *inst) {
    Operand data = inst->src[STL_rb];
    int32_t slot;
    if (!in_frame(places, inst, &slot)) /* an array's element: what is saved is no element */
        return;
    bool always = op_is_always(inst->guard);
    for (uint32_t k = 0; k < (data.count ? data.count : 1u); k++) {
        int32_t word = slot + (int32_t)(4 * k);
        bool own = word >= places->stack && word < 0, /* not the caller's, nor a callee's */
            mask = own && data.kind == OPK_REG && data.file == RF_R && has_reg(&places->regs, data.value + k);
        set_slot(places, word, mask && (always || has_slot(places, word)));
    }
}

static void mask_stack(Places *places, const MachInst *inst) {
    bool adds = inst->optype == OT_IADD3 && op_is_always(inst->guard) && is_reg(inst->src[IADD3_ra], 1) &&
                inst->src[IADD3_rb].kind == OPK_IMM && is_reg(inst->src[IADD3_rc], REG_RZ);
    if (adds)
        places->stack += (int32_t)inst->src[IADD3_rb].value;
    else
        places->lost = true, places->nslots = 0;
}

/* by procedure: what it and its callees write */
static Regs *find_writes(Checker *checker) {
    const BinFlow *flow = checker->flow;
    Regs *writes = ARENA_ARRAY(&checker->a, Regs, checker->nprocs + 2);
    for (uint32_t p = 0; p < checker->nprocs; p++)
        for (uint32_t n = 0; n < checker->procs[p].nrpo; n++)
            FOR_BIN_INSTS(&flow->blocks[checker->procs[p].rpo[n]], i) {
                const MachInst *inst = &flow->insts[i];
                for (unsigned d = 0; flow->decoded[i] && d < inst->ndst; d++) {
                    unsigned regs = isa_dst_regs(flow->bin->target, inst, d);
                    for (unsigned k = 0;
                         inst->dst[d].kind == OPK_REG && inst->dst[d].file == RF_R && k < (regs ? regs : 1);
                         k++)
                        set_reg(&writes[p], inst->dst[d].value + k, true);
                }
            }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t p = 0; p <= checker->nprocs; p++)
            GRAPH_SUCCS(&checker->calls, p, to)
                for (unsigned k = 0; k < 4; k++) {
                    checker->steps++;
                    changed |= (writes[*to].w[k] & ~writes[p].w[k]) != 0;
                    writes[p].w[k] |= writes[*to].w[k];
                }
    }
    return writes;
}

/* A call keeps the frame, and the registers that it does not write. */
static void mask_call(const Checker *checker, const Regs *writes, Places *places, uint32_t i) {
    Callees to = check_callees(checker, i);
    unsigned n = 0;
    for (unsigned k = 0; k < places->nslots; k++)
        if (places->slot[k] >= places->stack)
            places->slot[n++] = places->slot[k];
    places->nslots = n;
    for (unsigned k = 0; k < 4; k++) {
        for (uint32_t t = 0; t < to.n; t++)
            places->regs.w[k] &= ~writes[to.proc[t]].w[k];
        places->regs.w[k] &= to.n ? UINT64_MAX : 0;
    }
}

static void mask_step(const Checker *checker, const Regs *writes, Places *places, uint32_t i) {
    const MachInst *inst = &checker->flow->insts[i];
    uint32_t loaded = 0, n = 0;
    int32_t slot;
    if (check_is_call(checker, i)) {
        mask_call(checker, writes, places, i);
        return;
    }
    bool always = op_is_always(inst->guard), kept = false;
    if (inst->optype == OT_STL)
        store(places, inst);
    if (inst->optype == OT_LDL && always && in_frame(places, inst, &slot)) {
        n = inst->dst[LDL_rd].count ? inst->dst[LDL_rd].count : 1;
        for (uint32_t k = 0; k < n && k < 32; k++)
            loaded |= (uint32_t)has_slot(places, slot + (int32_t)(4 * k)) << k;
    }
    if (inst->optype == OT_MOV && always)
        kept = inst->src[MOV_rb].kind == OPK_REG && inst->src[MOV_rb].file == RF_R &&
               has_reg(&places->regs, inst->src[MOV_rb].value);
    if (bin_writes_reg(checker->flow->bin->target, inst, RF_R, 1))
        mask_stack(places, inst);
    for (uint32_t reg = 0; reg < REG_RZ; reg++)
        if (has_reg(&places->regs, reg) && bin_writes_reg(checker->flow->bin->target, inst, RF_R, reg))
            set_reg(&places->regs, reg, false);
    if (kept)
        set_reg(&places->regs, inst->dst[0].value, true);
    for (uint32_t k = 0; k < n && k < 32; k++)
        if (loaded >> k & 1)
            set_reg(&places->regs, inst->dst[LDL_rd].value + k, true);
}

static bool is_vote(const MachInst *inst) {
    return inst->optype == OT_VOTE && MGET(VOTE, op, inst->mods) == VoteOp_ANY && op_is_always(inst->guard) &&
           op_is_always(inst->src[VOTE_pp]) && inst->dst[VOTE_rd].kind == OPK_REG;
}

/* Is the mask that the vote gives surely in the WARPSYNC's register? */
static bool holds_mask(Checker *checker, const Regs *writes, const Proc *proc, uint32_t vote, uint32_t sync) {
    const BinFlow *flow = checker->flow;
    const BinFuncFlow *func = &flow->funcs[proc->func];
    ArenaMark mark = arena_mark(&checker->a);
    Places *in = ARENA_ARRAY(&checker->a, Places, func->nblocks + 1), now;
    bool holds = false;
    in[proc->entry_block - func->first_block].reached = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < proc->nrpo; n++) {
            const BinBlock *block = &flow->blocks[proc->rpo[n]];
            now = in[proc->rpo[n] - func->first_block];
            checker->steps++;
            if (!now.reached)
                continue;
            FOR_BIN_INSTS(block, i) {
                if (i == sync)
                    holds = has_reg(&now.regs, flow->insts[i].src[WARPSYNC_rb].value);
                mask_step(checker, writes, &now, i);
                if (i == vote) { /* what was there is an earlier one */
                    now.regs = (Regs){{0}};
                    now.nslots = 0;
                    set_reg(&now.regs, flow->insts[i].dst[VOTE_rd].value, true);
                }
            }
            for (uint32_t s = 0; s < block->nsuccs; s++)
                changed |= merge(&in[block->succs[s].block - func->first_block], &now);
        }
    }
    arena_release(&checker->a, mark);
    return holds;
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
static bool is_of_vote(Checker *checker, Regs **writes, uint32_t p, uint32_t vote, uint32_t sync) {
    const Proc *proc = &checker->procs[p];
    const uint32_t *block_of = checker->flow->block_of;
    if (!all_come_once(checker, proc, block_of[vote], block_of[sync]) || !nothing_waits(checker, p, sync))
        return false;
    *writes = *writes ? *writes : find_writes(checker);
    return holds_mask(checker, *writes, proc, vote, sync);
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
                is_reg(inst->src[WARPSYNC_rb], inst->src[WARPSYNC_rb].value) && found.nsyncs < MOST_VOTES)
                found.sync[found.nsyncs++] = i;
        }
    return found;
}

void check_entered(Checker *checker) {
    Regs *writes = NULL;
    checker->entered = ARENA_ARRAY(&checker->a, bool, checker->flow->bin->ncode + 1);
    for (uint32_t p = 0; p < checker->nprocs; p++) {
        Candidates found = find_candidates(checker, &checker->procs[p]);
        for (uint32_t s = 0; s < found.nsyncs; s++)
            for (uint32_t v = 0; v < found.nvotes; v++)
                if (is_of_vote(checker, &writes, p, found.vote[v], found.sync[s]))
                    checker->entered[found.sync[s]] = checker->entered[found.vote[v]] = true;
    }
}
