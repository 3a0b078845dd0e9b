/* Reconvergence insertion: the module, callers before callees. Every divergent branch whose paths meet gets
 * BSSY before it and the block where they meet a BSYNC; lower/reconverge/join.c says which blocks these are
 * and why no group of lanes then waits for ever. A callee uses barrier registers above all those in which its
 * callers may be pending at the call; in functions of recursive cycles no join holds a call that leads back
 * to them (auto mode; the others use none there), nor, in objects for other linkers, one that leaves the
 * object; there lanes meet by masks (lower/reconverge/entered.c). Joins
 * that do not fit into 16 registers are left out, never spilled: that is always safe.
 *
 * In: SSA with uniformity. Out: BSSY, BSYNC, BREAK, YIELD, WARPSYNC and stubs in place; Function.b_base;
 * IrModule.reconv. docs/reconvergence.md explains the whole.
 * SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"

/* ---- what is said of each branch ---- */

const Inst *reconv_branch(const Function *f, const Block *b) {
    for (unsigned p = b->insts.n > 2 ? b->insts.n - 2 : 0; p < b->insts.n; p++) {
        const Inst *i = &f->insts.at[b->insts.at[p].i];
        if (isa_is_jump(i->op))
            return i;
    }
    return &f->insts.at[b->insts.at[b->insts.n - 1].i];
}

static bool one_way(const Block *b) {
    for (unsigned k = 1; k < b->succs.n; k++)
        if (b->succs.at[k].i != b->succs.at[0].i)
            return false;
    return true;
}

bool reconv_only_exits(const Function *f, uint32_t block) {
    for (unsigned hops = 0; hops < 8; hops++) {
        const Block *b = &f->blocks.at[block];
        unsigned p = 0;
        while (p < b->insts.n && f->insts.at[b->insts.at[p].i].op == IR_PHI)
            p++;
        if (p + 1 != b->insts.n)
            return false;
        const Inst *i = &f->insts.at[b->insts.at[p].i];
        if (i->op == OT_EXIT)
            return true;
        if (i->op != OT_BRA || b->succs.n != 1)
            return false;
        block = b->succs.at[0].i;
    }
    return false;
}

static ReconvReason judge(const Reconv *reconv, uint32_t block, bool recursive) {
    const Function *f = reconv->f;
    const Block *b = &f->blocks.at[block];
    if (reconv_branch(f, b)->flags & IF_UNIFORM)
        return RJ_PROMISED;
    if (uniform_branch(f, (BlockId){block}))
        return RJ_UNIFORM;
    if (f->module->reconverge == RECONV_NONE)
        return RJ_OFF;
    if (recursive && !reconv->automatic)
        return RJ_RECURSIVE;
    uint32_t j = reconv->pd.ipdom[block];
    if (!j)
        return RJ_NO_JOIN;
    return reconv_only_exits(f, j) ? RJ_JOIN_IS_EXIT : RJ_BARRIER;
}

/* One report for each branch; join_of and divergent: [block]. */
static void judge_branches(Reconv *reconv, bool recursive, uint32_t *join_of, bool *divergent) {
    Function *f = reconv->f;
    IrModule *ir_module = f->module;
    FOR_BLOCKS(f, block_id) {
        uint32_t b = block_id.i;
        const Block *blk = ir_block(f, block_id);
        if (one_way(blk) || reconv->pd.region[b] == NO_NODE || reconv_branch(f, blk)->flags & IF_ASKS)
            continue;
        ReconvReason why = judge(reconv, b, recursive);
        ReconvReport rep = {.func = f, .branch = {b}, .loc = reconv_branch(f, blk)->loc, .reason = why};
        if (why == RJ_BARRIER)
            join_of[b] = reconv->pd.ipdom[b];
        divergent[b] = why == RJ_BARRIER || why == RJ_NO_JOIN || why == RJ_JOIN_IS_EXIT;
        if (why != RJ_UNIFORM && why != RJ_PROMISED)
            rep.join.i = reconv->pd.ipdom[b];
        *VEC_PUSH(&ir_module->arena, &ir_module->reconv) = rep;
    }
}

static LocId join_loc(const Reconv *reconv, uint32_t block) {
    FOR_INSTS(reconv->f, (BlockId){block}, i)
        if (i->loc.i)
            return i->loc;
    return (LocId){0};
}

static float gain_of(const Reconv *reconv, int64_t profit) {
    return reconv->automatic ? (float)reconv_expected_instructions(profit) : 0;
}

/* The loop in each round of which the join's lanes meet. */
static void report_loop(const Reconv *reconv, const Join *join, ReconvReport *report) {
    const LoopForest *loops = &reconv->loops;
    if (!join->scoped || join->loop == NO_NODE)
        return;
    report->loop_loc = join_loc(reconv, loops->at[join->loop].header);
    FOR_BLOCKS(reconv->f, b)
        GRAPH_SUCCS(&reconv->g, b.i, s)
            report->loop_exits +=
                loop_contains(loops, join->loop, b.i) && !loop_contains(loops, join->loop, *s);
}

/* What became of the joins; early joins get reports of their own. */
static void finish_reports(Reconv *reconv, unsigned first, unsigned *max_b) {
    IrModule *ir_module = reconv->f->module;
    for (unsigned k = first; k < ir_module->reconv.n; k++) {
        ReconvReport *rep = &ir_module->reconv.at[k];
        if (rep->join.i)
            rep->join_loc = join_loc(reconv, rep->join.i);
        if (rep->reason != RJ_BARRIER)
            continue;
        uint32_t at = reconv->join_at[rep->join.i];
        const Join *join = at == NO_JOIN ? NULL : &reconv->joins.at[at];
        if (!join || !join->ipdom)
            rep->reason = RJ_NO_PROFIT; /* auto mode has others, or none */
        else if (join->dropped)
            rep->reason = join->why;
        rep->barrier = join && join->ipdom ? join->reg : 0;
        if (rep->reason == RJ_BARRIER)
            rep->gain = gain_of(reconv, join->profit);
        else if (rep->reason == RJ_NO_PROFIT && reconv->recurs)
            rep->reason = RJ_RECURSIVE;
        else if (rep->reason == RJ_NO_PROFIT && reconv->refused)
            rep->gain = gain_of(reconv, reconv->refused[rep->join.i]);
    }
    for (uint32_t k = 0; k < reconv->joins.n; k++) {
        const Join *join = &reconv->joins.at[k];
        if (!join_is_live(join))
            continue;
        if (join->reg + 1u > *max_b)
            *max_b = join->reg + 1u;
        for (unsigned n = 0; n < join->early.n + (join->scoped ? join->places.n : 0); n++) {
            uint32_t b = join->scoped ? join->places.at[n] : join->early.at[n];
            const Block *blk = ir_block(reconv->f, (BlockId){b});
            ReconvReport early = {.func = reconv->f,
                                  .branch = {b},
                                  .join = {join->block},
                                  .barrier = join->reg,
                                  .loc = reconv_branch(reconv->f, blk)->loc,
                                  .join_loc = join_loc(reconv, join->block),
                                  .gain = gain_of(reconv, join->profit),
                                  .reason = join->rounds ? RJ_ROUNDS : RJ_EARLY};
            report_loop(reconv, join, &early);
            *VEC_PUSH(&ir_module->arena, &ir_module->reconv) = early;
        }
    }
}

static void report_entered(const ReconvMember *member, uint32_t join) {
    const Reconv *reconv = &member->reconv;
    IrModule *ir_module = reconv->f->module;
    for (unsigned k = member->reports; k < ir_module->reconv.n; k++) {
        ReconvReport *rep = &ir_module->reconv.at[k];
        if (rep->func != reconv->f || (rep->reason != RJ_RECURSIVE && rep->reason != RJ_NO_JOIN))
            continue;
        rep->reason = RJ_ENTERED;
        rep->join.i = join;
        rep->join_loc = join_loc(reconv, join);
    }
}

/* ---- one function ---- */

static void analyse(Reconv *reconv, Function *f) {
    reconv->f = f;
    reconv->g = cfg_graph(&reconv->a, f);
    reconv->order = graph_order(&reconv->a, &reconv->g, f->entry.i);
    reconv->pd = cfg_post_dominators(&reconv->a, f, &reconv->g, f->entry.i);
    reconv->loops = loop_forest(&reconv->a, &reconv->g, f->entry.i);
    reconv->join_at = ARENA_ARRAY(&reconv->a, uint32_t, reconv->g.n);
    reconv->used_in = ARENA_ARRAY(&reconv->a, uint16_t, reconv->g.n);
    reconv->used_out = ARENA_ARRAY(&reconv->a, uint16_t, reconv->g.n);
    reconv->depth = ARENA_ARRAY(&reconv->a, uint8_t, reconv->g.n);
    reconv->stack = ARENA_ARRAY(&reconv->a, uint32_t, reconv->g.n);
    reconv->mark = ARENA_ARRAY(&reconv->a, uint32_t, reconv->g.n);
    reconv->may_join = ARENA_ARRAY(&reconv->a, bool, reconv->g.n);
    if (f->module->explain)
        reconv->refused = ARENA_ARRAY(&reconv->a, int64_t, reconv->g.n);
    reconv->automatic = f->module->reconverge == RECONV_AUTO && reconv->order.count <= RECONV_MOST_PLACED;
    reconv->no_early =
        f->module->reconverge != RECONV_FRONTIER && f->module->reconverge != RECONV_FRONTIER_ALL;
    reconv->all_early = f->module->reconverge == RECONV_FRONTIER_ALL;
    reconv->yield_breaks = f->module->yield_breaks;
}

typedef struct {
    IrModule *m;
    Arena a;
    uint32_t *base;        /* [func] first register above all that its callers may be pending in */
    uint32_t unknown_base; /* the same for open functions, of calls whose callee is not known */
    CallGraph calls;
    bool *observes;
    bool *waits;      /* [func] */
    unsigned nstubs;  /* the first functions of the module */
    Function *gather; /* one of them, or NULL */
    Diags *diags;
} Module;

/* Callees must use higher registers than a caller can be pending in at the call. */
static void raise_callees(Module *mod, const Reconv *reconv, unsigned base) {
    CALL_SITES(&mod->calls, reconv->f->index, site) {
        unsigned need = above(pending_inside(reconv, site->block.i));
        need = need > base ? need : base;
        uint32_t *raised = site->callee == NO_NODE ? &mod->unknown_base : &mod->base[site->callee];
        *raised = *raised < need ? need : *raised;
    }
}

/* No lane may be pending where it comes to the function's beginning again: it would meet its own joins in
 * another order. */
static void note_recursion(const Module *mod, Reconv *reconv) {
    const CallGraph *calls = &mod->calls;
    reconv->recurs = ARENA_ARRAY(&reconv->a, bool, reconv->g.n);
    CALL_SITES(calls, reconv->f->index, site) {
        uint32_t callee = site->callee == NO_NODE ? calls->n : site->callee;
        reconv->recurs[site->block.i] |= calls->comp[callee] == calls->comp[reconv->f->index] ||
                                         (mod->m->relocatable && site->callee == NO_NODE);
    }
}

/* May a lane come to the function's beginning again, or out of the object, where callees use the registers
 * that they like? */
static bool loses_lanes(const Module *mod, const Function *f) {
    bool leaves = false;
    CALL_SITES(&mod->calls, f->index, site)
        leaves |= mod->m->relocatable && site->callee == NO_NODE;
    return leaves || mod->calls.recursive[f->index];
}

static void place_joins(Module *mod, Function *f, ReconvMember *member) {
    unsigned most = mod->m->relocatable ? ABI_OPEN_BARRIERS : NUM_B; /* callers elsewhere hold the others */
    Reconv *r = &member->reconv;
    unsigned base = mod->base[f->index], max_b = base;
    bool recursive = loses_lanes(mod, f);
    r->num_b = mod->gather ? most - GATHER_B : most;
    member->reports = mod->m->reconv.n;
    reconv_yield_retry_loops(f, mod->observes);
    bool parts = f->module->reconverge == RECONV_AUTO && f->blocks.n <= RECONV_MOST_PLACED;
    r->first_parted = parts ? reconv_part_headers(f) : UINT32_MAX;
    analyse(r, f);
    f->b_base = recursive && !r->automatic ? NUM_B : base;
    if (recursive && r->automatic)
        note_recursion(mod, r);
    uint32_t *join_of = ARENA_ARRAY(&r->a, uint32_t, r->g.n);
    member->divergent = ARENA_ARRAY(&r->a, bool, r->g.n);
    judge_branches(r, recursive, join_of, member->divergent);
    reconv_find_together(r);
    reconv_find_joins(r, join_of, member->divergent, f->b_base);
    finish_reports(r, member->reports, &max_b);
    raise_callees(mod, r, base);
    reconv_insert(r);
    f->summary.max_b = max_b;
}

/* ---- the module ---- */

/* May the function call one of the driver's that returns: does it name one? */
static bool names_driver(const Function *f) {
    for (uint32_t k = 0; k < f->symrefs.n; k++) {
        SystemFunc func = system_find(str_text(f->module->strings, f->symrefs.at[k].symbol));
        if (func != SYSTEM_COUNT && system_info(func)->returns)
            return true;
    }
    return false;
}

/* The driver's functions use the registers that every callee may, as ptxas's callers know: where one can be
 * come to, lanes are pending in none of these, in whatever function. */
static void spare_registers(Module *mod) {
    bool *reaches =
        ARENA_ARRAY(&mod->a, bool, mod->calls.n + 1); /* the last: functions whose address is taken */
    for (uint32_t f = 0; f < mod->calls.n; f++)
        reaches[f] = names_driver(mod->m->funcs.at[f]);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t f = 0; f < mod->calls.n; f++) {
            bool reached = reaches[f];
            CALL_SITES(&mod->calls, f, site)
                reached |= reaches[site->callee == NO_NODE ? mod->calls.n : site->callee];
            more |= reached != reaches[f];
            reaches[f] = reached;
            reaches[mod->calls.n] |= reached && mod->calls.open[f];
        }
    }
    for (uint32_t f = 0; f < mod->calls.n; f++)
        mod->base[f] = reaches[f] ? ABI_OPEN_BARRIERS : mod->base[f];
}

static bool is_placed(const Module *mod, uint32_t func) {
    return func >= mod->nstubs && mod->m->funcs.at[func]->blocks.n > 1;
}

static bool reconverge_component(Module *mod, uint32_t comp) {
    const CallGraph *calls = &mod->calls;
    uint32_t base = 0; /* the members of a recursive component call each other: one base for all */
    const uint32_t *first = calls->members + calls->member_at[comp],
                   *end = calls->members + calls->member_at[comp + 1];
    for (const uint32_t *k = first; k < end; k++) {
        uint32_t need = mod->base[*k];
        if (calls->open[*k] && need < mod->unknown_base)
            need = mod->unknown_base;
        base = base < need ? need : base;
    }
    ArenaMark mark = arena_mark(&mod->a);
    ReconvMember *members = ARENA_ARRAY(&mod->a, ReconvMember, (uint32_t)(end - first) + 1);
    uint32_t n = 0;
    for (const uint32_t *k = first; k < end; k++) {
        Function *f = mod->m->funcs.at[*k];
        mod->base[*k] = f->b_base = base;
        if (is_placed(mod, *k))
            place_joins(mod, f, &members[n++]);
    }
    ReconvEntered entered = {0};
    if (n > 0 && !mod->waits[*first]) /* of one component all wait or none */
        entered = reconv_find_entered(calls, members, n);
    bool ok = true;
    for (uint32_t k = 0; k < n; k++) {
        Reconv *r = &members[k].reconv;
        ok = ok && reconv_cover(r, base, mod->diags);
        if (ok && entered.in == r->f) {
            report_entered(&members[k], entered.join);
            reconv_insert_entered(entered);
        }
        reconv_drop_headers(r);
        arena_free(&r->a);
    }
    arena_release(&mod->a, mark);
    return ok;
}

bool pass_reconverge(IrModule *module, Diags *diags) {
    Module mod = {.m = module, .diags = diags};
    for (unsigned k = 0; k < module->funcs.n; k++)
        cfg_remove_unreachable(module->funcs.at[k]);
    SyncNotes notes = {0};
    reconv_divide_votes(module);
    if (module->verify)
        reconv_note_sites(&notes, module);
    mod.nstubs = reconv_make_stubs(module, module->verify ? &notes : NULL, &mod.gather);
    mod.base = ARENA_ARRAY(&mod.a, uint32_t, module->funcs.n);
    mod.calls = call_graph(&mod.a, module);
    spare_registers(&mod);
    mod.observes = ir_observing_functions(&mod.a, &mod.calls, module);
    mod.waits = reconv_waiting_functions(&mod.a, &mod.calls, module, mod.observes);
    bool ok = true;
    module->reconv.n = 0;
    for (uint32_t c = mod.calls.ncomps; ok && c-- > 0;) /* callees' components have smaller numbers */
        ok = reconverge_component(&mod, c);
    unsigned max_b = 0;
    for (unsigned k = 0; mod.gather && k < module->funcs.n; k++)
        max_b = module->funcs.at[k]->summary.max_b > max_b ? module->funcs.at[k]->summary.max_b : max_b;
    if (mod.gather)
        reconv_number_gather(mod.gather, max_b);
    if (ok && module->verify)
        ok = reconv_check(module, &notes, diags);
    arena_free(&notes.a);
    arena_free(&mod.a);
    return ok;
}
