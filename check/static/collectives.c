/* Collectives, waiting and progress, and the second form of R-04 (rules.def has
 * their texts). Three walks over the decoded flow, each with what the earlier analyses found: which
 * branches part lanes (divergent: may, surely_divergent: do), where all lanes are together (converged), which
 * convergence barriers lanes may wait at (pend, inherited by callees).
 *
 * 1. walk_collectives. A SHFL in code that some lanes may skip must come directly behind a WARPSYNC
 *    (check_warpsync_before goes back through blocks with one way in), whose mask must be that of the PTX
 * line and name the lanes that come (R-09). A BAR counts 32 threads whoever executes it: it needs the whole
 * warp. A WARPSYNC may wait for a lane that is parked at a BSYNC, which waits for the lanes at the
 *    WARPSYNC: only a YIELD on every way there lets the parked lane go first (R-11; `Yielded` is a forward
 *    flow, over blocks and calls, of what holds on every path).
 *
 * 2. progress. A loop that looks at what other threads do (a strong load, an atomic, or a call
 *    that does) may wait for a lane of its own warp: without a YIELD in it that lane may never run. Blocks
 *    with an unguarded YIELD or NANOSLEEP are taken out; a cycle that is left and observes is reported, but
 *    for retries of a compare-and-swap that need nobody (check/static/alone.c). And
 *    the other way round: a YIELD in a loop that observes nothing only keeps its lanes apart.
 *
 * 3. late_joins. At the immediate post-dominator of a divergent branch a BSYNC of a barrier that
 *    was pending at the branch, or one inside the region, must bring the lanes together again.
 *
 * Votes, SHFL and ELECT are asked for by name: what a vote's result says of the lanes is no column.
 * These are rules on shapes: what they report may be harmless if a path is never taken, and they do not show
 * that nothing hangs; check/model does, for small programs.
 * SPDX-License-Identifier: MIT */
#include "check/flow/question.h"
#include "check/static/internal.h"
#include <stdlib.h>
#include <string.h>

bool check_is_control(const MachInst *m) {
    switch (bin_kind(m)) {
    case BK_PLAIN:
    case BK_COLLECTIVE:
    case BK_NOP:
    case BK_BSSY:
    case BK_BMOV_FROM_B:
    case BK_BAR: /* the whole warp passes it */ return false;
    default: return bin_guard(m) != BG_NEVER;
    }
}

bool check_constant_mask(const MachInst *inst, uint32_t *mask) {
    if (inst->src[WARPSYNC_rb].kind != OPK_IMM)
        return false;
    *mask = inst->src[WARPSYNC_rb].value;
    return true;
}

/* ---- R-09, R-10 ---- */

static bool same_guard(const MachInst *a, const MachInst *b) {
    return a->guard.kind == b->guard.kind && a->guard.file == b->guard.file &&
           a->guard.value == b->guard.value && a->guard.mods == b->guard.mods;
}

/* Going back from i, is WARPSYNC, or what else brings lanes together, the first control instruction on every
 * path? */
uint32_t check_warpsync_before(Checker *checker, uint32_t i) {
    const BinFlow *flow = checker->flow;
    uint32_t own = i;
    for (unsigned hops = 0; hops < 64; hops++) {
        uint32_t block = flow->block_of[i];
        const BinBlock *b = &flow->blocks[block];
        while (i > b->first) {
            const MachInst *m = &flow->insts[--i];
            if (bin_kind(m) == BK_WARPSYNC && (bin_guard(m) == BG_ALWAYS || same_guard(m, &flow->insts[own])))
                return i;
            if (check_is_control(m))
                return NONE;
        }
        uint32_t only = NONE;
        for (uint32_t k = 0; k < b->npreds; k++)
            if (flow->blocks[b->preds[k].block].reachable)
                only = only == NONE ? b->preds[k].block : block;
        if (only == NONE || only == block || checker->proc_at[b->first] != NONE)
            return NONE;
        i = flow->blocks[only].first + flow->blocks[only].ninsts;
        BinQuestion question;
        if (check_comes_together(flow, i - 1, block) || bin_found_all(flow, i - 1, block) ||
            (bin_question(flow, i - 1, &question) && question.fast == block))
            return i - 1;
        if (flow->blocks[only].nsuccs != 1)
            return NONE;
        const MachInst *last = &flow->insts[i - 1];
        if (bin_kind(last) == BK_BRANCH && bin_guard(last) == BG_ALWAYS) /* goes on here and nowhere else */
            i--;
        if (i == flow->blocks[only].first)
            return NONE;
    }
    return NONE;
}

bool check_asks_who_is_active(const MachInst *inst) {
    if (inst->optype == OT_ELECT)
        return true;
    if (inst->optype != OT_VOTE && inst->optype != OT_VOTEU)
        return false;
    for (unsigned k = 0; k < inst->nsrc; k++)
        if (inst->src[k].kind == OPK_REG && inst->src[k].file == RF_P && inst->src[k].value != REG_PT)
            return false;
    return true;
}

/* The last BSSY before this BSYNC that names the place behind it: where its lanes were together; NONE. */
static uint32_t bssy_before(const BinFlow *flow, uint32_t bsync) {
    uint32_t first = flow->funcs[flow->blocks[flow->block_of[bsync]].func].first_inst;
    for (uint32_t i = bsync; i-- > first;)
        if (flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_BSSY && bin_target(flow, i) == bsync + 1 &&
            bin_barrier(&flow->insts[i]) == bin_barrier(&flow->insts[bsync]))
            return i;
    return NONE;
}

/* Natively, may a collective stand in code that only some lanes come to, with nothing to gather them?
 * ptxas 13.0 has MATCH and REDUX there, to find out which masks there are, and what is executed when a VOTE
 * has told who is active; one of these lanes may have done something for all of them since, in a region. */
static bool may_be_alone(const Checker *checker, uint32_t i) {
    enum { FAR = 256 };
    const BinFlow *flow = checker->flow;
    unsigned type = flow->insts[i].optype, left = FAR;
    if (!checker->surely_apart[i] || (type != OT_SHFL && type != OT_VOTE))
        return true;
    while (left--) {
        const BinBlock *block = &flow->blocks[flow->block_of[i]];
        if (check_asks_who_is_active(&flow->insts[i]))
            return true;
        bool met = bin_kind(&flow->insts[i]) == BK_BSYNC && bin_guard(&flow->insts[i]) == BG_ALWAYS;
        uint32_t bssy = met ? bssy_before(flow, i) : NONE;
        if (bssy != NONE &&
            flow->block_of[bssy] != flow->block_of[i]) /* together up to the branch behind it */
            i = flow->blocks[flow->block_of[bssy]].first + flow->blocks[flow->block_of[bssy]].ninsts - 1;
        else if (i > block->first)
            i--;
        else if (block->npreds == 1)
            i = flow->blocks[block->preds[0].block].first + flow->blocks[block->preds[0].block].ninsts - 1;
        else
            return false;
    }
    return true;
}

static bool has_whole_warps(const Checker *checker, uint32_t i) {
    const BinFunc *f = &checker->flow->bin->funcs[checker->flow->blocks[checker->flow->block_of[i]].func];
    uint64_t threads = (uint64_t)f->reqntid[0] * f->reqntid[1] * f->reqntid[2];
    return threads && threads % 32 == 0;
}

/* Walks the code from block `from`, not through `inst` (NONE: everywhere): is there an exit that only some
 * lanes take? *meets: `inst` was met. */
static bool exits_on_the_way(Checker *checker, const Proc *proc, uint32_t from, uint32_t inst, bool *meets,
                             bool through) {
    const BinFlow *bin_flow = checker->flow;
    const BinFuncFlow *flow = &bin_flow->funcs[proc->func];
    ArenaMark mark = arena_mark(&checker->a);
    bool *seen = ARENA_ARRAY(&checker->a, bool, flow->nblocks), gone = false;
    uint32_t *stack = ARENA_ARRAY(&checker->a, uint32_t, flow->nblocks + 1), top = 0;
    stack[top++] = from;
    seen[from - flow->first_block] = true;
    while (top) {
        uint32_t at = stack[--top];
        checker->steps++;
        bool stop = false;
        FOR_BIN_INSTS(&bin_flow->blocks[at], i) {
            BinKind k = bin_flow->decoded[i] ? check_kind(checker, i) : BK_PLAIN;
            *meets |= i == inst;
            stop |= i == inst && !through;
            if (stop)
                break;
            gone |= (k == BK_EXIT || k == BK_CALL) && (checker->divergent[i] || checker->apart[i]);
        }
        for (uint32_t s = 0; s < bin_flow->blocks[at].nsuccs && !stop; s++) {
            uint32_t t = bin_flow->blocks[at].succs[s].block;
            if (!seen[t - flow->first_block]) {
                seen[t - flow->first_block] = true;
                stack[top++] = t;
            }
        }
    }
    arena_release(&checker->a, mark);
    return gone;
}

/* Some lanes may be gone when others come to `inst`: they exit before it, or in a loop before they come
 * again. */
static bool lanes_may_be_gone(Checker *checker, const Proc *proc, uint32_t inst) {
    const BinBlock *b = &checker->flow->blocks[checker->flow->block_of[inst]];
    bool meets = false;
    if (!proc->is_kernel || exits_on_the_way(checker, proc, proc->entry_block, inst, &meets, false))
        return true;
    for (uint32_t s = 0; s < b->nsuccs; s++) {
        meets = false;
        if (exits_on_the_way(checker, proc, b->succs[s].block, inst, &meets, true) && meets)
            return true;
    }
    return false;
}

/* a constant mask that leaves out lanes which come here. */
static void mask_too_small(Checker *checker, const Proc *p, uint32_t i) {
    uint32_t mask;
    if (!check_mask(checker->flow, i, &mask) || mask == UINT32_MAX || checker->apart[i] ||
        lanes_may_be_gone(checker, p, i))
        return;
    bool low_lanes = (mask & (mask + 1)) == 0 && mask; /* a block may be smaller than a warp */
    Severity s = !low_lanes || has_whole_warps(checker, i) ? SEV_ERROR : SEV_WARNING; /* natively, too */
    check_report_as(checker, s, CR_R09, i, NONE, "WARPSYNC mask 0x%08x leaves out lanes that come here",
                    mask);
}

/* ---- the mask that the PTX statement names ---- */

/* The statement's mask, if it is a number. */
static bool ptx_mask(Checker *checker, uint32_t line, uint32_t *mask) {
    static const char *const words[] = {"shfl.sync",  "vote.sync",  "match.any.sync", "match.all.sync",
                                        "redux.sync", "elect.sync", "bar.warp.sync"};
    const char *stop, *p = check_ptx_statement(checker, line, &stop);
    bool found = false;
    for (; p && p < stop && !found; p++)
        for (unsigned k = 0; k < sizeof words / sizeof *words; k++)
            found |= check_starts_with(p, stop, words[k]);
    if (!found || *stop != ';')
        return false;
    while (stop > p && stop[-1] != ',' && stop[-1] != ' ' && stop[-1] != '\t')
        stop--;
    char number[24], *rest;
    size_t n = strcspn(stop, ";");
    if (n == 0 || n >= sizeof number)
        return false;
    memcpy(number, stop, n);
    number[n] = 0;
    long long v = strtoll(number, &rest, 0);
    *mask = (uint32_t)v;
    return rest != number && (*rest == 0 || strcmp(rest, "U") == 0);
}

static void compare_mask(Checker *checker, uint32_t i, uint32_t mask, uint32_t site) {
    uint32_t line = check_ptx_line(checker, site), wanted;
    if (ptx_mask(checker, line, &wanted) && wanted != mask)
        check_report_as(checker, SEV_ERROR, CR_R09, i, site == i ? NONE : site,
                        "WARPSYNC mask 0x%08x is not that of PTX line %u, 0x%08x", mask, line, wanted);
}

/* A function that many statements share has no line of its own; its calls have. */
static void mask_of_statement(Checker *checker, uint32_t i) {
    const BinFlow *flow = checker->flow;
    uint32_t mask;
    if (!check_constant_mask(&flow->insts[i], &mask))
        return;
    if (check_ptx_line(checker, i)) {
        compare_mask(checker, i, mask, i);
        return;
    }
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        for (uint32_t k = 0; k < flow->funcs[f].ncalls; k++)
            if (flow->funcs[f].calls[k].callee == flow->blocks[flow->block_of[i]].func)
                compare_mask(checker, i, mask, flow->funcs[f].calls[k].inst);
}

/* Did a vote in the block tell who is active, and has the machine changed no lanes since? */
static bool told_before(const Checker *checker, uint32_t i) {
    const BinFlow *flow = checker->flow;
    uint32_t first = flow->blocks[flow->block_of[i]].first;
    while (i-- > first && !isa_has_effect(flow->insts[i].optype, ISA_EFFECT_SWITCH | ISA_EFFECT_CALL))
        if (check_asks_who_is_active(&flow->insts[i]))
            return true;
    return false;
}

/* Does it only ask whether all lanes of a mask are here? */
static bool is_question(const BinFlow *flow, uint32_t i) {
    const BinBlock *block = &flow->blocks[flow->block_of[i]];
    BinQuestion question;
    return bin_question(flow, block->first + block->ninsts - 1, &question) &&
           (question.who == i || question.answer == i);
}

/* Does the code show that the collective is one of those lanes that are active, whichever? */
static bool of_active_lanes(Checker *checker, uint32_t i) {
    return told_before(checker, i) || is_question(checker->flow, i) ||
           (checker->native && (check_used_with_vote(checker, i) || check_asks_for_others(checker, i)));
}

static void covered(Checker *checker, uint32_t i) {
    const MachInst *inst = &checker->flow->insts[i];
    if (bin_kind(inst) == BK_COLLECTIVE && !checker->converged[i] && !check_asks_who_is_active(inst) &&
        check_warpsync_before(checker, i) == NONE && !of_active_lanes(checker, i))
        check_report_as(checker, !checker->native || !may_be_alone(checker, i) ? SEV_ERROR : SEV_WARNING,
                        CR_R09, i, NONE, "%s not covered by WARPSYNC", isa_optype_name(inst->optype));
    if (bin_kind(inst) != BK_BAR)
        return;
    uint32_t sync = check_warpsync_before(checker, i), mask = UINT32_MAX;
    if (sync != NONE && check_mask(checker->flow, sync, &mask) && mask != UINT32_MAX)
        check_report_as(checker, SEV_ERROR, CR_R10, i, sync,
                        "%s behind WARPSYNC 0x%08x, which is not the whole warp",
                        isa_optype_name(inst->optype), mask);
    else if (!checker->converged[i] || (checker->masks_vary[i] && sync == NONE))
        check_report(checker, CR_R10, i, NONE,
                     "%s may execute with a partial warp (count += 32 per execution)",
                     isa_optype_name(inst->optype));
}

/* ---- R-11 ---- */

bool check_before_bar(const Checker *checker, uint32_t i) {
    const BinFlow *flow = checker->flow;
    const BinBlock *b = &flow->blocks[flow->block_of[i]];
    for (uint32_t k = i + 1; k < b->first + b->ninsts; k++) {
        if (bin_kind(&flow->insts[k]) == BK_BAR)
            return true;
        if (check_is_control(&flow->insts[k]))
            return false;
    }
    return false;
}

typedef struct {
    bool *yielded; /* by block, at its start: on every path */
    bool *entry;   /* by procedure */
} Yielded;

static bool yields_behind(const Checker *checker, uint32_t i, bool now) {
    const MachInst *m = &checker->flow->insts[i];
    switch (check_kind(checker, i)) {
    case BK_YIELD:
    case BK_NANOSLEEP: return now || bin_guard(m) == BG_ALWAYS;
    case BK_BSYNC: return false;
    case BK_BRANCH:
    case BK_BRANCH_INDIRECT: /* before it, YIELD may have found all lanes together and done nothing */
    case BK_RET: return now && !checker->divergent[i];
    case BK_CALL: return now && check_callees(checker, i).n == 0;
    default: return now;
    }
}

static void yielded_flow(Checker *checker, Yielded *y) {
    const BinFlow *flow = checker->flow;
    for (uint32_t b = 0; b < flow->nblocks; b++)
        y->yielded[b] = true;
    for (uint32_t p = 0; p < checker->nprocs; p++)
        y->entry[p] = !checker->procs[p].is_kernel;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t c = checker->nprocs; c-- > 0;) { /* from the callers to the callees */
            uint32_t p = checker->callees_first[c], entry = checker->procs[p].entry_block;
            y->yielded[entry] &= y->entry[p];
            for (uint32_t n = 0; n < checker->procs[p].nrpo; n++) {
                uint32_t k = checker->procs[p].rpo[n];
                bool now = y->yielded[k];
                FOR_BIN_INSTS(&flow->blocks[k], i) {
                    if (!flow->decoded[i])
                        break;
                    if (check_is_call(checker, i)) {
                        Callees to = check_callees(checker, i);
                        for (uint32_t t = 0; t < to.n; t++)
                            if (y->entry[to.proc[t]] && !now) {
                                y->entry[to.proc[t]] = false;
                                changed = true;
                            }
                    }
                    now = yields_behind(checker, i, now);
                }
                for (uint32_t s = 0; s < flow->blocks[k].nsuccs; s++)
                    if (y->yielded[flow->blocks[k].succs[s].block] && !now) {
                        y->yielded[flow->blocks[k].succs[s].block] = false;
                        changed = true;
                    }
            }
        }
    }
}

static void waiting(Checker *checker, uint32_t i, bool yielded) {
    uint16_t pending = checker->pend[i] | checker->inherited[i];
    bool passes = isa_target_info(checker->flow->bin->target)->bssy_assigns; /* BSYNC, where WARPSYNC waits */
    if (bin_kind(&checker->flow->insts[i]) != BK_WARPSYNC || !pending || !checker->surely_apart[i] ||
        passes || yielded || checker->entered[i] || check_before_bar(checker, i))
        return;
    check_report(checker, CR_R11, i, NONE, "WARPSYNC may wait for a lane parked at BSYNC B%u",
                 (unsigned)__builtin_ctz(pending));
}

static void walk_collectives(Checker *checker) {
    const BinFlow *flow = checker->flow;
    Yielded y = {ARENA_ARRAY(&checker->a, bool, flow->nblocks + 1),
                 ARENA_ARRAY(&checker->a, bool, checker->nprocs + 1)};
    yielded_flow(checker, &y);
    for (uint32_t p = 0; p < checker->nprocs; p++) {
        for (uint32_t n = 0; n < checker->procs[p].nrpo; n++) {
            bool now = y.yielded[checker->procs[p].rpo[n]];
            FOR_BIN_INSTS(&flow->blocks[checker->procs[p].rpo[n]], i) {
                if (!flow->decoded[i])
                    break;
                covered(checker, i);
                waiting(checker, i, now);
                if (bin_kind(&flow->insts[i]) == BK_WARPSYNC) {
                    mask_too_small(checker, &checker->procs[p], i);
                    mask_of_statement(checker, i);
                }
                now = yields_behind(checker, i, now);
            }
        }
    }
}

/* ---- R-13, R-14 ---- */

static bool is_strong(unsigned order) { return order >= MemOrder_STRONG_SM; }

/* An atomic operation that gives back nothing does not. */
static bool has_result(const MachInst *inst) {
    for (unsigned k = 0; k < inst->ndst; k++)
        if (inst->dst[k].kind == OPK_REG &&
            inst->dst[k].value != (inst->dst[k].file == RF_P ? REG_PT : REG_RZ))
            return true;
    return false;
}

bool check_observes(const Checker *checker, uint32_t i) {
    const MachInst *inst = &checker->flow->insts[i];
    if (isa_traits(inst->optype)->space == ISA_SPACE_LOCAL)
        return false; /* nobody else's: spills beside what the line of the text watches */
    if (checker->opt->watching && checker->opt->watching[i])
        return true;
    uint32_t bits = 0;
    return isa_has_effect(inst->optype, ISA_EFFECT_READ) &&
           (isa_has_effect(inst->optype, ISA_EFFECT_ATOMIC) ? has_result(inst)
                                                            : is_strong(isa_modifier(inst, "order", &bits)));
}

typedef struct {
    Checker *c;
    const Proc *p;
    uint32_t base, *number, *low, *comp, count, *stack, top, ncomps;
    bool *in, *on;
} Scc;

/* Tarjan, without recursion. comp is 0 outside. */
static void components(Scc *scc) {
    const BinFlow *flow = scc->c->flow;
    uint32_t n = flow->funcs[scc->p->func].nblocks;
    struct {
        uint32_t block, succ;
    } *frame = arena_alloc(&scc->c->a, sizeof *frame * (n + 1));
    scc->number = ARENA_ARRAY(&scc->c->a, uint32_t, n);
    scc->low = ARENA_ARRAY(&scc->c->a, uint32_t, n);
    scc->comp = ARENA_ARRAY(&scc->c->a, uint32_t, n);
    scc->stack = ARENA_ARRAY(&scc->c->a, uint32_t, n + 1);
    scc->on = ARENA_ARRAY(&scc->c->a, bool, n);
    for (uint32_t r = 0; r < scc->p->nrpo; r++) {
        uint32_t depth = 0, root = scc->p->rpo[r] - scc->base;
        if (!scc->in[root] || scc->number[root])
            continue;
        frame[depth].block = root, frame[depth++].succ = 0;
        while (depth) {
            uint32_t v = frame[depth - 1].block;
            const BinBlock *b = &flow->blocks[v + scc->base];
            if (frame[depth - 1].succ == 0 && !scc->number[v]) {
                scc->number[v] = scc->low[v] = ++scc->count;
                scc->stack[scc->top++] = v;
                scc->on[v] = true;
            }
            if (frame[depth - 1].succ < b->nsuccs) {
                uint32_t w = b->succs[frame[depth - 1].succ++].block - scc->base;
                if (!scc->in[w])
                    continue;
                if (!scc->number[w])
                    frame[depth].block = w, frame[depth++].succ = 0;
                else if (scc->on[w] && scc->number[w] < scc->low[v])
                    scc->low[v] = scc->number[w];
                continue;
            }
            if (scc->low[v] == scc->number[v]) {
                scc->ncomps++;
                uint32_t w;
                do {
                    w = scc->stack[--scc->top];
                    scc->on[w] = false;
                    scc->comp[w] = scc->ncomps;
                } while (w != v);
            }
            depth--;
            if (depth && scc->low[v] < scc->low[frame[depth - 1].block])
                scc->low[frame[depth - 1].block] = scc->low[v];
        }
    }
}

static bool in_cycle(const Scc *scc, const uint32_t *size, uint32_t block) {
    const BinBlock *b = &scc->c->flow->blocks[block];
    if (size[scc->comp[block - scc->base]] > 1)
        return true;
    for (uint32_t k = 0; k < b->nsuccs; k++)
        if (b->succs[k].block == block)
            return true;
    return false;
}

/* Does it ask whether lanes are together? */
static bool asks_where_lanes_are(const MachInst *inst) {
    if (inst->optype != OT_BRA)
        return false;
    unsigned cond = MGET(BRA, cond, inst->mods);
    return cond == BRACond_DIV || cond == BRACond_CONV;
}

enum { SEES = 1, YIELDS = 2, SLEEPS = 4, SYNCS = 8, CALLS = 16, LOADS = 32, MAY_SEE = 64 };

static uint8_t what_happens(Checker *checker, uint32_t block, const bool *observing) {
    const BinFlow *flow = checker->flow;
    uint8_t w = 0;
    FOR_BIN_INSTS(&flow->blocks[block], i) {
        if (!flow->decoded[i])
            break;
        const MachInst *inst = &flow->insts[i];
        BinKind k = bin_kind(inst);
        w |= check_observes(checker, i) ? SEES : 0;
        w |= k == BK_YIELD && bin_guard(inst) == BG_ALWAYS ? YIELDS : 0;
        w |= k == BK_NANOSLEEP && bin_guard(inst) == BG_ALWAYS ? SLEEPS : 0;
        w |= k == BK_WARPSYNC || k == BK_BAR || asks_where_lanes_are(inst) ? SYNCS : 0;
        bool reads = isa_has_effect(inst->optype, ISA_EFFECT_READ);
        w |= reads ? LOADS : 0;
        if (reads && isa_traits(inst->optype)->space == ISA_SPACE_SHARED)
            w |= MAY_SEE; /* none can say that it is volatile */
        if (check_is_call(checker, i)) {
            Callees to = check_callees(checker, i);
            w |= CALLS;
            for (uint32_t t = 0; t < to.n; t++)
                w |= observing[to.proc[t]] ? SEES : 0;
        }
    }
    return w;
}

typedef struct { /* the blocks of each component, one behind the other */
    uint32_t *first, *blocks, *number, base;
    uint8_t *waits; /* 0: not known yet */
} Cycles;

static Cycles cycles_of(const Scc *scc, const uint32_t *size) {
    Arena *arena = &scc->c->a;
    uint32_t *next = ARENA_ARRAY(arena, uint32_t, scc->ncomps + 1);
    Cycles cycles = {.first = ARENA_ARRAY(arena, uint32_t, scc->ncomps + 2),
                     .blocks = ARENA_ARRAY(arena, uint32_t, scc->p->nrpo + 1),
                     .number = ARENA_ARRAY(arena, uint32_t, scc->c->flow->funcs[scc->p->func].nblocks),
                     .base = scc->base,
                     .waits = ARENA_ARRAY(arena, uint8_t, scc->ncomps + 1)};
    for (uint32_t k = 0; k <= scc->ncomps; k++)
        cycles.first[k + 1] = cycles.first[k] + size[k];
    for (uint32_t k = 0; k < scc->p->nrpo; k++) {
        uint32_t block = scc->p->rpo[k], of = scc->comp[block - scc->base];
        cycles.number[block - scc->base] = next[of];
        cycles.blocks[cycles.first[of] + next[of]++] = block;
    }
    return cycles;
}

static bool cycle_waits(Checker *checker, Cycles *cycles, uint32_t which) {
    enum { YES = 1, NO };
    uint32_t first = cycles->first[which];
    CheckCycle cycle = {cycles->blocks + first, cycles->number, cycles->first[which + 1] - first,
                        cycles->base};
    if (!cycles->waits[which])
        cycles->waits[which] = check_cycle_waits(checker, &cycle) ? YES : NO;
    return cycles->waits[which] == YES;
}

static void loops_of(Checker *checker, const Proc *proc, const bool *observing) {
    const BinFlow *flow = checker->flow;
    Scc s = {.c = checker, .p = proc, .base = flow->funcs[proc->func].first_block};
    uint32_t n = flow->funcs[proc->func].nblocks;
    uint8_t *what = ARENA_ARRAY(&checker->a, uint8_t, n), *sum;
    uint32_t *size;
    s.in = ARENA_ARRAY(&checker->a, bool, n);
    for (uint32_t k = 0; k < proc->nrpo; k++) {
        what[proc->rpo[k] - s.base] = what_happens(checker, proc->rpo[k], observing);
        s.in[proc->rpo[k] - s.base] = !(what[proc->rpo[k] - s.base] & (YIELDS | SLEEPS));
    }
    components(&s);
    size = ARENA_ARRAY(&checker->a, uint32_t, s.ncomps + 1);
    for (uint32_t k = 0; k < proc->nrpo; k++)
        size[s.comp[proc->rpo[k] - s.base]]++;
    Cycles cycles = cycles_of(&s, size);
    for (uint32_t k = 0; k < proc->nrpo; k++) {
        uint32_t b = proc->rpo[k];
        if (!s.in[b - s.base] || !(what[b - s.base] & SEES) || !in_cycle(&s, size, b))
            continue;
        uint32_t at = flow->blocks[b].first;
        while (!check_observes(checker, at) && !check_is_call(checker, at))
            at++;
        uint32_t which = s.comp[b - s.base];
        if (cycle_waits(checker, &cycles, which) &&
            !check_ends_alone(checker, at, s.base, s.comp, size[which]))
            check_report(checker, CR_R13, at, at,
                         "spin cycle through %s without YIELD; lanes it waits for may never run",
                         check_at(checker, at));
    }
    /* all cycles: is there something to wait for where there is a YIELD? */
    Scc t = {.c = checker, .p = proc, .base = s.base, .in = ARENA_ARRAY(&checker->a, bool, n)};
    for (uint32_t k = 0; k < proc->nrpo; k++)
        t.in[proc->rpo[k] - t.base] = true;
    components(&t);
    sum = ARENA_ARRAY(&checker->a, uint8_t, t.ncomps + 1);
    size = ARENA_ARRAY(&checker->a, uint32_t, t.ncomps + 1);
    for (uint32_t k = 0; k < proc->nrpo; k++) {
        const BinBlock *block = &flow->blocks[proc->rpo[k]];
        uint32_t which = t.comp[proc->rpo[k] - t.base];
        sum[which] |= what[proc->rpo[k] - t.base];
        size[which]++;
        for (uint32_t e = 0; e < block->nsuccs; e++) /* a call of what gives up is no part of the loop */
            sum[which] |= flow->blocks[block->succs[e].block].ends & BX_NORETURN ? CALLS : 0;
    }
    for (uint32_t k = 0; k < proc->nrpo; k++) {
        uint32_t b = proc->rpo[k];
        if (!(what[b - t.base] & YIELDS) || !in_cycle(&t, size, b) ||
            (sum[t.comp[b - t.base]] & (SEES | MAY_SEE | SYNCS | CALLS)))
            continue;
        FOR_BIN_INSTS(&flow->blocks[b], i)
            if (bin_kind(&flow->insts[i]) == BK_YIELD)
                check_report(checker, CR_R14, i, NONE, "YIELD at %s disables reconvergence of its loop%s",
                             check_at(checker, i),
                             sum[t.comp[b - t.base]] & LOADS ? ", unless a load in it is volatile" : "");
    }
}

static void progress(Checker *checker) {
    const BinFlow *flow = checker->flow;
    bool *observing = ARENA_ARRAY(&checker->a, bool, checker->nprocs + 1);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < checker->nprocs; k++) {
            uint32_t p = checker->callees_first[k];
            for (uint32_t n = 0; n < checker->procs[p].nrpo && !observing[p]; n++)
                if (what_happens(checker, checker->procs[p].rpo[n], observing) & SEES)
                    changed = observing[p] = true;
        }
    }
    for (uint32_t p = 0; p < checker->nprocs; p++)
        if (flow->funcs[checker->procs[p].func].nblocks)
            loops_of(checker, &checker->procs[p], observing);
}

/* ---- R-04 ---- */

static bool only_ends(const Checker *checker, uint32_t block) {
    const BinFlow *flow = checker->flow;
    for (unsigned hops = 0; hops < 8; hops++) {
        const BinBlock *b = &flow->blocks[block];
        FOR_BIN_INSTS(&flow->blocks[block], i) {
            BinKind k = bin_kind(&flow->insts[i]);
            if (k == BK_EXIT || k == BK_TRAP)
                return true;
            if (k != BK_NOP && k != BK_BSYNC && k != BK_BREAK && k != BK_BRANCH)
                return false;
        }
        if (b->nsuccs != 1)
            return false;
        block = b->succs[0].block;
    }
    return false;
}

static uint32_t bsync_in(const Checker *checker, uint32_t block, uint16_t regs) {
    const BinFlow *flow = checker->flow;
    FOR_BIN_INSTS(&flow->blocks[block], i)
        if (flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_BSYNC &&
            (regs >> bin_barrier(&flow->insts[i]) & 1))
            return i;
    return NONE;
}

typedef struct {
    uint32_t *mark, *stack; /* mark: [block] branch + 1 of the last walk that came there */
} RegionWalk;

static void push_successors(const BinFlow *flow, RegionWalk *walk, uint32_t block, uint32_t join,
                            uint32_t round, uint32_t *top) {
    for (uint32_t s = 0; s < flow->blocks[block].nsuccs; s++) {
        uint32_t to = flow->blocks[block].succs[s].block;
        if (to == join || walk->mark[to] == round)
            continue;
        walk->mark[to] = round;
        walk->stack[(*top)++] = to;
    }
}

/* Walks the region between the branch of a block and `join`: true, and no further, if a BSYNC of `regs` is in
 * it; *bssy: one whose syncpoint is behind `sync`. */
static bool region_of(Checker *checker, RegionWalk *walk, uint32_t branch, uint32_t join, uint16_t regs,
                      uint32_t sync, uint32_t *bssy) {
    const BinFlow *flow = checker->flow;
    uint32_t top = 0;
    *bssy = NONE;
    push_successors(flow, walk, branch, join, branch + 1, &top);
    while (top) {
        uint32_t at = walk->stack[--top];
        checker->steps++;
        if (bsync_in(checker, at, regs) != NONE)
            return true;
        FOR_BIN_INSTS(&flow->blocks[at], i)
            if (flow->decoded[i] && sync != NONE && bin_kind(&flow->insts[i]) == BK_BSSY &&
                bin_target(flow, i) == sync + 1 &&
                bin_barrier(&flow->insts[i]) == bin_barrier(&flow->insts[sync]))
                *bssy = i;
        push_successors(flow, walk, at, join, branch + 1, &top);
    }
    return false;
}

static bool is_uniform_register(const Operand *o) {
    return o->kind == OPK_REG &&
           ((o->file == RF_UR && o->value != REG_URZ) || (o->file == RF_UP && o->value != REG_UPT));
}
/* Executed once more, it may make something else of what uniform registers hold. */
static bool counts_executions(const MachInst *inst) {
    bool writes = false, reads = false;
    for (unsigned k = 0; k < inst->ndst; k++)
        writes |= is_uniform_register(&inst->dst[k]);
    for (unsigned k = 0; k < inst->nsrc; k++)
        reads |= is_uniform_register(&inst->src[k]);
    return writes && reads;
}

/* Is there one from block `join` on? Then lanes must not come there one group at a time. */
static bool counts_from(Checker *checker, RegionWalk *walk, uint32_t join, uint32_t round) {
    const BinFlow *flow = checker->flow;
    uint32_t top = 0;
    walk->mark[join] = round;
    walk->stack[top++] = join;
    while (top) {
        uint32_t at = walk->stack[--top];
        checker->steps++;
        FOR_BIN_INSTS(&flow->blocks[at], i)
            if (flow->decoded[i] && counts_executions(&flow->insts[i]))
                return true;
        push_successors(flow, walk, at, NONE, round, &top);
    }
    return false;
}

static void late_joins(Checker *checker) {
    const BinFlow *flow = checker->flow;
    ArenaMark mark = arena_mark(&checker->a);
    RegionWalk walk = {ARENA_ARRAY(&checker->a, uint32_t, flow->nblocks),
                       ARENA_ARRAY(&checker->a, uint32_t, flow->nblocks + 1)};
    for (uint32_t k = 0; k < flow->nblocks; k++) {
        const BinBlock *b = &flow->blocks[k];
        uint32_t last = b->first + b->ninsts - 1, join = checker->ipdom[k], bssy;
        if (!b->reachable || b->nsuccs < 2 || !flow->decoded[last] || !checker->divergent[last] ||
            bin_kind(&flow->insts[last]) == BK_EXIT || bin_kind(&flow->insts[last]) == BK_RET ||
            join == NONE || (flow->blocks[join].ends && only_ends(checker, join)))
            continue;
        if (b->succs[0].block == b->succs[b->nsuccs - 1].block ||
            bsync_in(checker, join, checker->pend[last]) != NONE)
            continue;
        uint32_t sync = bsync_in(checker, join, 0xffff);
        if (sync == NONE || region_of(checker, &walk, k, join, checker->pend[last], sync, &bssy))
            continue;
        if (bssy != NONE)
            check_report_as(
                checker,
                counts_from(checker, &walk, join, flow->nblocks + 1 + k) ? SEV_ERROR
                                                                         : check_rule(CR_R04)->severity,
                CR_R04, sync, last,
                "only lanes of one side of the branch at %s have joined BSYNC B%u (at %s)",
                check_at(checker, last), bin_barrier(&flow->insts[sync]), check_at(checker, bssy));
    }
    arena_release(&checker->a, mark);
}

void check_collectives(Checker *c) {
    walk_collectives(c);
    progress(c);
    late_joins(c);
}
