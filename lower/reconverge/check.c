/* Checks what reconvergence insertion made, with a data flow of its own over the finished instructions (only
 * graphs and calls are found as there: ir/graph.h, ir/callgraph.h): in which barrier registers may a lane be
 * pending, and at which BSYNC will it leave them? The rules: R-01 at BSYNC Bk every other register that may
 * be pending is smaller a pending lane can still reach its BSYNC, or comes only to EXIT or a trap;
 * nothing at RET R-04 a BSYNC is reached by a BSSY of its own    R-05 a BSSY reaches its BSYNC R-06 the
 * syncpoint of a BSSY is a block that begins with its BSYNC R-07 no guard on instructions that count or
 * switch lanes R-08 a register is not used again where it may be pending for another join
 * collectives stand behind a WARPSYNC on their mask, BAR behind one on all lanes, or where the warp is
 * together R-11 WARPSYNC in a region stands behind YIELD R-12 two places that may wait for each other are one
 * (lower/reconverge/meet.c) R-13 a cycle that may wait for another lane passes YIELD or NANOSLEEP R-16 a
 * callee's registers are above all that may be pending at the call SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"
#include <stdio.h>
#include <string.h>

#define SEVERAL UINT32_MAX /* joins: a lane may come to EXIT from here, and to nothing that asks which */

typedef struct {
    uint32_t join[NUM_B]; /* block of the BSYNC at which a pending lane leaves the register, 0 not pending */
    bool apart;           /* some valid lanes of the warp may be elsewhere */
    uint16_t torn;        /* registers that some of them may not have joined when the others did */
} Pending;

typedef struct {
    Arena a;
    Function *f;
    Graph g;
    GraphOrder order;
    Pending *in;        /* [block] */
    uint8_t *ends;      /* [block] reaches EXIT, RET or a trap */
    bool *loose;        /* [block that has a BSYNC] lanes pending for it may leave, sleep or be in a callee */
    bool loosened;      /* one of them became so in this round */
    Bitset *reach;      /* [block that has a BSYNC] blocks that reach it; w NULL: not made yet */
    uint32_t open_base; /* the lowest base of a function that a call through an address may enter */
    const bool *observes;
    const SyncNotes *notes;
    bool report, good;
    Diags *d;
} Check;

static void break_rule(Check *check, const Inst *i, const char *rule, const char *what, unsigned reg) {
    if (!check->report)
        return;
    check->good = false;
    char text[128];
    snprintf(text, sizeof text, what, reg);
    diag(check->d, check->f->locs.at[i->loc.i].src, DIAG_E0773, rule, text,
         str_text(check->f->module->strings, check->f->name));
}

static void mark_back(Check *check, uint8_t *seen, uint32_t *stack, uint32_t top) {
    while (top) {
        uint32_t n = stack[--top];
        GRAPH_PREDS(&check->g, n, p)
            if (check->order.index[*p] != NO_NODE && !seen[*p])
                seen[*p] = 1, stack[top++] = *p;
    }
}

/* A guarded EXIT inside: lanes may end in a loop that no edge leaves. */
static bool exits_inside(const Function *f, BlockId b) {
    FOR_INSTS(f, b, i)
        if (i->op == OT_EXIT)
            return true;
    return false;
}

static void find_ends(Check *check) {
    uint32_t *stack = ARENA_ARRAY(&check->a, uint32_t, check->g.n + 1), top = 0;
    check->ends = ARENA_ARRAY(&check->a, uint8_t, check->g.n);
    for (uint32_t k = 0; k < check->order.count; k++) {
        uint32_t n = check->order.order[k];
        if (n == 0 || !check->f->blocks.at[n].succs.n || exits_inside(check->f, (BlockId){n}))
            check->ends[n] = 1, stack[top++] = n;
    }
    mark_back(check, check->ends, stack, top);
}

/* Can block n come to block `to`? */
static bool can_reach(Check *check, uint32_t n, uint32_t to) {
    if (!check->reach[to].w) {
        ArenaMark mark;
        check->reach[to] = bs_new(&check->a, check->g.n);
        mark = arena_mark(&check->a);
        uint8_t *seen = ARENA_ARRAY(&check->a, uint8_t, check->g.n);
        uint32_t *stack = ARENA_ARRAY(&check->a, uint32_t, check->g.n + 1);
        stack[0] = to;
        seen[to] = 1;
        mark_back(check, seen, stack, 1);
        for (uint32_t k = 0; k < check->g.n; k++)
            if (seen[k])
                bs_add(&check->reach[to], k);
        arena_release(&check->a, mark);
    }
    return bs_has(&check->reach[to], n);
}

static const Inst *first_inst(const Function *f, uint32_t block) {
    const Block *b = &f->blocks.at[block];
    unsigned p = 0;
    while (p + 1 < b->insts.n && f->insts.at[b->insts.at[p].i].op == IR_PHI)
        p++;
    return &f->insts.at[b->insts.at[p].i];
}

static uint32_t reg_of(const Check *check, const Inst *i) { return ir_src(check->f, i, 0)->value % NUM_B; }

static void do_bssy(Check *check, Pending *pending, const Inst *i, uint32_t block) {
    uint32_t reg = reg_of(check, i), to = ir_src(check->f, i, BSSY_syncpoint)->value;
    const Inst *sync = first_inst(check->f, to);
    if (sync->op != OT_BSYNC || reg_of(check, sync) != reg) {
        break_rule(check, i, "R-06", "the syncpoint of BSSY B%u is not its BSYNC", reg);
        return;
    }
    if (check->report && !can_reach(check, block, to))
        break_rule(check, i, "R-05", "BSSY B%u never comes to its BSYNC", reg);
    if (pending->join[reg] && pending->join[reg] != to)
        break_rule(check, i, "R-08", "B%u is used again inside its own region", reg);
    pending->join[reg] = to;
    if (!pending->apart)
        pending->torn &= (uint16_t) ~(1u << reg);
}

static void loosen(Check *check, const Inst *i, unsigned reg, uint32_t join) {
    if (join == SEVERAL) {
        break_rule(check, i, "R-08", "B%u may be pending for two joins", reg);
        return;
    }
    check->loosened |= !check->loose[join];
    check->loose[join] = true;
}

/* Lanes that are pending here may be found elsewhere than at a BSYNC or on their way to one. */
static void loosen_all(Check *check, const Inst *i, const Pending *pending) {
    for (unsigned k = 0; k < NUM_B; k++)
        if (pending->join[k])
            loosen(check, i, k, pending->join[k]);
}

static void do_bsync(Check *check, Pending *pending, const Inst *i, uint32_t block) {
    uint32_t reg = reg_of(check, i);
    if (!pending->join[reg])
        break_rule(check, i, "R-04", "no BSSY reaches BSYNC B%u", reg);
    else if (pending->join[reg] != block)
        break_rule(check, i, "R-08", "lanes of another region are released at BSYNC B%u", reg);
    pending->join[reg] = 0;
    pending->apart &= (pending->torn >> reg & 1) || check->loose[block];
    pending->torn |= (uint16_t)(1u << reg);
    for (uint32_t k = reg + 1; k < NUM_B; k++)
        if (pending->join[k])
            break_rule(check, i, "R-01", "a larger register may be pending at BSYNC B%u", reg);
}

static void do_call(Check *check, const Pending *pending, const Inst *i) {
    const Function *callee = ir_callee(check->f, i);
    unsigned highest = 0;
    for (unsigned k = 0; k < NUM_B; k++)
        if (pending->join[k])
            highest = k + 1;
    if ((callee ? callee->b_base : check->open_base) < highest)
        break_rule(check, i, "R-16", "the callee may use B%u, which may be pending at the call", highest - 1);
}

static bool any_pending(const Pending *pending, unsigned *reg) {
    for (*reg = 0; *reg < NUM_B; ++*reg)
        if (pending->join[*reg])
            return true;
    return false;
}

typedef struct { /* what stands just before */
    bool synced, synced_all, yielded;
    Operand mask;   /* of the WARPSYNC */
    Operand active; /* mask of the lanes that are active, as a VOTE of true said */
} Before;

/* The mask that PTX gives the collective; none: not known, as in stubs. */
static Operand wanted_mask(const Check *check, const Inst *i, InstId id) {
    const SyncSite *site = reconv_noted(check->notes, check->f, id);
    if (i->nsrc > isa_num_src(i->op))
        return *ir_src(check->f, i, isa_num_src(i->op));
    return site ? site->mask : (Operand){0};
}

static bool is_all(Operand mask) { return mask.kind == OPK_IMM && mask.value == UINT32_MAX; }

static void do_collective(Check *check, Pending *s, const Inst *i, InstId id, Before *before) {
    unsigned reg;
    loosen_all(check, i, s);
    if (i->op == OT_WARPSYNC) {
        Operand m = *ir_src(check->f, i, WARPSYNC_rb);
        s->apart = !is_all(m);
        if (any_pending(s, &reg) && !before->yielded)
            break_rule(check, i, "R-11", "WARPSYNC without YIELD may wait for a lane at BSYNC B%u", reg);
        *before = (Before){.synced = true, .synced_all = is_all(m), .yielded = before->yielded, .mask = m};
        return;
    }
    bool bar = isa_has_effect(i->op, ISA_EFFECT_CTA_BARRIER);
    Operand mask = bar ? (Operand){0} : wanted_mask(check, i, id);
    if (bar && !before->synced_all && s->apart)
        break_rule(check, i, "R-10", "BAR without WARPSYNC of all lanes", 0);
    if (!bar && mask.kind == OPK_VAL && !memcmp(&mask, &before->active, sizeof mask))
        return;
    before->active = (Operand){0};
    if (!bar && !before->synced && (s->apart || !is_all(mask)))
        break_rule(check, i, "R-09", "a collective without WARPSYNC", 0);
    if (before->synced && mask.kind != OPK_NONE && memcmp(&mask, &before->mask, sizeof mask))
        break_rule(check, i, "R-09", "a collective behind the WARPSYNC of another mask", 0);
    if (bar) /* all lanes came, and go on, together */
        *before = before->synced_all ? (Before){.synced = true, .synced_all = true, .mask = before->mask}
                                     : (Before){0};
}

static bool counts_lanes(const Inst *i) {
    if (ir_is_pseudo(i->op))
        return false;
    switch (isa_traits(i->op)->flow) {
    case ISA_FLOW_BSSY:
    case ISA_FLOW_BSYNC:
    case ISA_FLOW_BREAK:
    case ISA_FLOW_YIELD:
    case ISA_FLOW_WARPSYNC:
    case ISA_FLOW_BAR: return true;
    default: return false;
    }
}

static void check_inst(Check *check, Pending *pending, InstId id, uint32_t block, Before *before) {
    const Inst *i = ir_inst(check->f, id);
    unsigned reg;
    if (counts_lanes(i) && !op_is_always(i->guard))
        break_rule(check, i, "R-07", "a guarded instruction counts or switches lanes", 0);
    switch ((enum IsaFlow)isa_traits(i->op)->flow) { /* no default: each word of the column is thought of */
    case ISA_FLOW_BSSY: do_bssy(check, pending, i, block); break;
    case ISA_FLOW_BSYNC:
        do_bsync(check, pending, i, block);
        *before = (Before){0};
        break;
    case ISA_FLOW_BREAK:
        if (pending->join[reg_of(check, i)])
            loosen(check, i, reg_of(check, i), pending->join[reg_of(check, i)]);
        pending->join[reg_of(check, i)] = 0;
        break;
    case ISA_FLOW_YIELD:
    case ISA_FLOW_NANOSLEEP:
        loosen_all(check, i, pending);
        pending->apart = true;
        *before = (Before){.yielded = true};
        break;
    case ISA_FLOW_WARPSYNC:
    case ISA_FLOW_BAR: do_collective(check, pending, i, id, before); break;
    case ISA_FLOW_CALL:
        do_call(check, pending, i);
        loosen_all(check, i, pending);
        pending->apart = true;
        *before = (Before){0};
        break;
    case ISA_FLOW_RET:
        if (any_pending(pending, &reg))
            break_rule(check, i, "R-02", "B%u may be pending at RET", reg);
        break;
    case ISA_FLOW_EXIT:
        if (!op_is_always(i->guard)) /* the others are still together */
            before->yielded = false;
        break;
    case ISA_FLOW_BRANCH: /* the edges of the graph say what they do */
    case ISA_FLOW_INDIRECT:
    case ISA_FLOW_TRAP: /* ends the grid: nobody waits any more */
    case ISA_FLOW_BPT:
    case ISA_FLOW_HOST:
    case ISA_FLOW_BMOV: /* no pass makes it */
    case ISA_FLOW_BAR_STATE:
    case ISA_FLOW_HERE:
    case ISA_FLOW_NOP:
    case ISA_FLOW_NONE:
    case ISA_FLOW_COUNT:
        if (!ir_is_pseudo(i->op) && i->flags & IF_SYNC)
            do_collective(check, pending, i, id, before);
        else if (i->op == OT_VOTE && op_is_always(*ir_src(check->f, i, VOTE_pp)))
            before->active = *ir_dst(check->f, i, VOTE_rd);
        if (!ir_is_pseudo(i->op) && reconv_changes_active(i)) {
            loosen_all(check, i, pending);
            pending->apart = true;
        }
        break;
    }
}

static void check_block(Check *check, uint32_t n, Pending *pending) {
    Before before = {0};
    *pending = check->in[n];
    FOR_INST_IDS(check->f, (BlockId){n}, id)
        check_inst(check, pending, id, n, &before);
    for (unsigned k = 0; check->report && k < NUM_B; k++) /* behind a BREAK in front of the loop */
        if (pending->join[k] && !check->ends[n] &&
            (pending->join[k] == SEVERAL || !can_reach(check, n, pending->join[k])))
            break_rule(check, first_inst(check->f, n), "R-03", "an endless loop keeps lanes pending in B%u",
                       k);
    const Block *b = ir_block(check->f, (BlockId){n});
    pending->apart |= b->succs.n > 1 && (reconv_branch(check->f, b)->flags & (IF_UNIFORM | IF_ASKS) ||
                                         !uniform_branch(check->f, (BlockId){n}));
}

/* What is pending at the end of u may be pending where v begins. */
static bool merge_pending(Check *check, const Pending *pending, uint32_t v) {
    Pending *to = &check->in[v];
    bool changed = (pending->apart && !to->apart) || (pending->torn & ~to->torn);
    to->apart |= pending->apart;
    to->torn |= pending->torn;
    for (unsigned k = 0; k < NUM_B; k++) {
        uint32_t *at = &to->join[k];
        uint32_t both = !*at                                           ? pending->join[k]
                        : !pending->join[k] || *at == pending->join[k] ? *at
                                                                       : SEVERAL;
        changed |= both != *at;
        *at = both;
    }
    return changed;
}

/* ---- R-13 ---- */

typedef struct {
    const Inst *observes; /* the first instruction that may wait for another lane */
    bool yields;
} Progress;

static Progress progress_of(const Check *check, uint32_t n) {
    Progress r = {0};
    FOR_INSTS(check->f, (BlockId){n}, i) {
        const Function *callee = i->op == OT_CALL ? ir_callee(check->f, i) : NULL;
        bool waits =
            i->flags & IF_OBSERVING ||
            (i->op == OT_CALL && (!callee || callee->blocks.n <= 1 || check->observes[callee->index]));
        if (waits && !r.observes)
            r.observes = i;
        r.yields |= (i->op == OT_YIELD || i->op == OT_NANOSLEEP) && op_is_always(i->guard);
    }
    return r;
}

/* From every place that may wait, is there a way back to it without YIELD, and not in a loop that ends
 * without others? */
static void check_progress(Check *check) {
    Retries retries = reconv_find_retries(&check->a, check->f, &check->g);
    for (uint32_t k = 0; k < check->order.count; k++) {
        uint32_t root = check->order.order[k], top = 0;
        Progress at = root ? progress_of(check, root) : (Progress){0};
        if (!at.observes || at.yields)
            continue;
        ArenaMark mark = arena_mark(&check->a);
        enum { COMES = 1, WAITS = 2 }; /* by blocks alone where no other lane is needed; by others */
        uint8_t *seen = ARENA_ARRAY(&check->a, uint8_t, check->g.n);
        struct {
            uint32_t block;
            uint8_t how;
        } *stack = arena_alloc(&check->a, sizeof *stack * (2 * check->g.n + 1));
        uint8_t first = reconv_may_wait_on_way(&retries, root, root) ? WAITS : COMES;
        stack[top].block = root, stack[top++].how = first;
        while (top && !(seen[root] & WAITS)) {
            uint32_t n = stack[--top].block;
            uint8_t so_far = stack[top].how;
            GRAPH_SUCCS(&check->g, n, t) {
                uint8_t how =
                    so_far == WAITS || (*t && reconv_may_wait_on_way(&retries, root, *t)) ? WAITS : COMES;
                if (*t && !(seen[*t] & how) && !progress_of(check, *t).yields)
                    seen[*t] |= how, stack[top].block = *t, stack[top++].how = how;
            }
        }
        if (seen[root] & WAITS)
            break_rule(check, at.observes, "R-13", "a loop that may wait for another lane has no YIELD", 0);
        arena_release(&check->a, mark);
    }
}

static bool check_function(Function *f, uint32_t open_base, const bool *observes, const SyncNotes *notes,
                           Diags *d) {
    Check c = {.f = f, .open_base = open_base, .observes = observes, .notes = notes, .d = d, .good = true};
    c.g = cfg_graph(&c.a, f);
    c.order = graph_order(&c.a, &c.g, f->entry.i);
    c.in = ARENA_ARRAY(&c.a, Pending, c.g.n);
    c.reach = ARENA_ARRAY(&c.a, Bitset, c.g.n);
    c.loose = ARENA_ARRAY(&c.a, bool, c.g.n);
    c.in[f->entry.i] = (Pending){.apart = !f->is_entry, .torn = UINT16_MAX};
    find_ends(&c);
    bool changed = true;
    for (c.report = false; changed || !c.report;) {
        c.report = !changed; /* one more round, to report on what is pending in the end */
        changed = c.loosened = false;
        for (uint32_t k = 0; k < c.order.count; k++) {
            uint32_t n = c.order.order[k];
            Pending s;
            if (!n)
                continue;
            check_block(&c, n, &s);
            GRAPH_SUCCS(&c.g, n, v)
                if (*v)
                    changed |= merge_pending(&c, &s, *v);
        }
        changed |= c.loosened;
    }
    check_progress(&c);
    arena_free(&c.a);
    return c.good;
}

bool reconv_check(const IrModule *module, const SyncNotes *notes, Diags *d) {
    SyncNotes own = {0};
    if (!notes) {
        reconv_note_sites(&own, module);
        notes = &own;
    }
    CallGraph calls = call_graph(&own.a, module);
    const bool *observes = ir_observing_functions(&own.a, &calls, module);
    bool good = true;
    uint32_t open_base = NO_NODE;
    for (unsigned k = 0; k < module->funcs.n; k++)
        if (calls.open[k] && !module->funcs.at[k]->is_entry && module->funcs.at[k]->b_base < open_base)
            open_base = module->funcs.at[k]->b_base;
    for (unsigned k = 0; k < module->funcs.n; k++)
        if (module->funcs.at[k]->blocks.n > 1)
            good &= check_function(module->funcs.at[k], open_base, observes, notes, d);
    good &= reconv_check_asked(module, notes, d);
    good &= reconv_check_meetings(module, &calls, notes, d);
    arena_free(&own.a);
    return good;
}
