/* Convergence barriers, mode 1: every divergent branch whose paths meet at an exit-insensitive immediate
 * post-dominator J gets BSSY(J) before it, and J a BSYNC as its first instruction behind the phis. Which
 * lanes wait for which is then safe for any CFG, irreducible ones too: all barriers in which a lane can be
 * pending at a place belong to post-dominators of that place, which form a chain, and the register number
 * grows with the depth in that chain. So at each BSYNC every other pending register is smaller, and chains of
 * waiting groups end (order rule O). Numbers past 15 are left out, never spilled: that is always safe.
 *
 * In: SSA with uniformity. Out: BSSY, BSYNC, YIELD, WARPSYNC in place; Function.b_base; IrModule.reconv.
 * Limits: collectives of one mask at several places of divergent flow do not meet each other (no shared
 * stubs); lanes that an indirect call sends to several functions join again at the next join only.
 * SPDX-License-Identifier: MIT */
#include "lower/cfg.h"
#include "lower/passes.h"
#include <string.h>

enum { NUM_B = 16 };

typedef struct {
    Arena a;
    Function *f;
    Graph g;
    PostDom pd;
    LoopForest loops;
    uint32_t *join_of;    /* [block] join of its divergent branch, 0 none */
    uint8_t *is_join;     /* [block] */
    uint8_t *idx;         /* [join] barrier register, NUM_B if left out */
    uint16_t *gen;        /* [block] registers of BSSYs before its end */
    uint16_t *may_in, *must_in; /* [block] pending registers where the block begins */
    GraphOrder order;
    VEC(GraphEdge) places; /* BSSY: block, join */
} Reconv;

/* ---- which joins ---- */

static const Inst *branch_inst(const Function *f, const Block *b) {
    for (unsigned p = b->insts.n > 2 ? b->insts.n - 2 : 0; p < b->insts.n; p++) {
        const Inst *i = &f->insts.at[b->insts.at[p].i];
        if (i->op == OT_BRA || i->op == OT_BRX)
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

/* Nothing is left to do together where a join is followed only by EXIT. */
static bool only_exits(const Function *f, uint32_t block) {
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

static ReconvReason judge(const Reconv *r, uint32_t block, bool recursive) {
    const Function *f = r->f;
    const Block *b = &f->blocks.at[block];
    if (branch_inst(f, b)->flags & IF_UNIFORM)
        return RJ_PROMISED;
    if (uniform_branch(f, (BlockId){block}))
        return RJ_UNIFORM;
    if (recursive)
        return RJ_RECURSIVE;
    uint32_t j = r->pd.ipdom[block];
    if (!j)
        return RJ_NO_JOIN;
    return only_exits(f, j) ? RJ_JOIN_IS_EXIT : RJ_BARRIER;
}

static void find_joins(Reconv *r, bool recursive, unsigned *first_report) {
    Function *f = r->f;
    IrModule *m = f->module;
    *first_report = m->reconv.n;
    for (unsigned k = 0; k < f->layout.n; k++) {
        uint32_t b = f->layout.at[k].i;
        const Block *blk = ir_block(f, f->layout.at[k]);
        if (one_way(blk) || r->pd.region[b] == NO_NODE)
            continue;
        ReconvReason why = judge(r, b, recursive);
        ReconvReport rep = {.func = f, .branch = {b}, .loc = branch_inst(f, blk)->loc, .reason = why};
        if (why == RJ_BARRIER) {
            r->join_of[b] = r->pd.ipdom[b];
            r->is_join[r->pd.ipdom[b]] = 1;
        }
        if (why != RJ_UNIFORM && why != RJ_PROMISED)
            rep.join.i = r->pd.ipdom[b];
        *VEC_PUSH(&m->arena, &m->reconv) = rep;
    }
}

/* ---- where BSSY stands ---- */

/* A block outside every loop that holds `block` but not its join, from which BSSY serves all iterations. */
static uint32_t hoisted(const Reconv *r, uint32_t block, uint32_t join) {
    uint32_t outer = NO_NODE, pre = 0;
    for (uint32_t l = r->loops.innermost[block]; l != NO_NODE && !loop_contains(&r->loops, l, join);
         l = r->loops.at[l].parent)
        outer = l;
    if (outer == NO_NODE || r->loops.at[outer].irreducible)
        return block;
    GRAPH_PREDS(&r->g, r->loops.at[outer].header, p) {
        if (loop_contains(&r->loops, outer, *p))
            continue;
        if (pre && pre != *p)
            return block;
        pre = *p;
    }
    if (!pre || pre == join || !postdom_contains(&r->pd, join, pre))
        return block;
    uint32_t l = r->loops.innermost[pre], depth = l == NO_NODE ? 0 : r->loops.at[l].depth;
    return depth < r->loops.at[outer].depth ? pre : block;
}

static void place(Reconv *r, uint32_t block, uint32_t join) {
    for (unsigned k = 0; k < r->places.n; k++)
        if (r->places.at[k].from == block && r->places.at[k].to == join)
            return;
    *VEC_PUSH(&r->a, &r->places) = (GraphEdge){block, join};
}

static void find_places(Reconv *r) {
    for (uint32_t k = 0; k < r->order.count; k++) {
        uint32_t b = r->order.order[k], j = r->join_of[b];
        if (!j)
            continue;
        uint32_t h = hoisted(r, b, j);
        if (h != b)
            place(r, h, j);
        place(r, b, j);
    }
}

/* ---- pending registers ---- */

static uint16_t synced(const Reconv *r, uint32_t b) {
    return (uint16_t)(r->is_join[b] && r->idx[b] < NUM_B ? 1u << r->idx[b] : 0);
}

static void set_gen(Reconv *r) {
    memset(r->gen, 0, r->g.n * sizeof *r->gen);
    for (unsigned k = 0; k < r->places.n; k++)
        if (r->idx[r->places.at[k].to] < NUM_B)
            r->gen[r->places.at[k].from] |= (uint16_t)(1u << r->idx[r->places.at[k].to]);
}

static uint16_t pending_out(const Reconv *r, const uint16_t *in, uint32_t b) {
    return (uint16_t)((in[b] & ~synced(r, b)) | r->gen[b]);
}

static void solve_pending(Reconv *r) {
    set_gen(r);
    for (uint32_t k = 0; k < r->order.count; k++) {
        r->may_in[r->order.order[k]] = 0;
        r->must_in[r->order.order[k]] = k ? UINT16_MAX : 0;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 1; k < r->order.count; k++) {
            uint32_t b = r->order.order[k];
            uint16_t may = 0, must = UINT16_MAX;
            GRAPH_PREDS(&r->g, b, p) {
                if (r->order.index[*p] == NO_NODE)
                    continue;
                may |= pending_out(r, r->may_in, *p);
                must &= pending_out(r, r->must_in, *p);
            }
            changed |= may != r->may_in[b] || must != r->must_in[b];
            r->may_in[b] = may;
            r->must_in[b] = must;
        }
    }
}

static unsigned above(uint16_t pending) { return pending ? 32u - (unsigned)__builtin_clz(pending) : 0; }

/* ---- register numbers ---- */

/* First number free for the joins of a region: above all that lanes can bring in from earlier regions. */
static unsigned region_base(Reconv *r, uint32_t region, unsigned base) {
    if (region == 0)
        return base;
    solve_pending(r);
    for (uint32_t k = 0; k < r->order.count; k++) {
        uint32_t b = r->order.order[k];
        if (r->pd.region[b] != region)
            continue;
        GRAPH_PREDS(&r->g, b, p) {
            if (r->order.index[*p] == NO_NODE || r->pd.region[*p] == region)
                continue;
            unsigned n = above(pending_out(r, r->may_in, *p));
            base = n > base ? n : base;
        }
    }
    return base;
}

static void number_region(Reconv *r, const uint32_t *joins, unsigned n, unsigned base) {
    for (unsigned k = 0; k < n; k++) {
        unsigned depth = base; /* the joins that post-dominate this one come before it */
        for (uint32_t up = r->pd.ipdom[joins[k]]; up; up = r->pd.ipdom[up])
            depth += r->is_join[up];
        r->idx[joins[k]] = (uint8_t)(depth < NUM_B ? depth : NUM_B);
    }
}

static void number_joins(Reconv *r, unsigned base) {
    uint32_t *joins = ARENA_ARRAY(&r->a, uint32_t, r->g.n);
    memset(r->idx, NUM_B, r->g.n);
    for (uint32_t region = 0; region < r->pd.nregions; region++) {
        unsigned n = 0;
        for (uint32_t k = 0; k < r->order.count; k++)
            if (r->is_join[r->order.order[k]] && r->pd.region[r->order.order[k]] == region)
                joins[n++] = r->order.order[k];
        if (n)
            number_region(r, joins, n, region_base(r, region, base));
    }
    solve_pending(r);
}

/* ---- the instructions ---- */

static InstId barrier_inst(Function *f, unsigned op, unsigned b, LocId loc) {
    InstId i = ir_inst_new(f, op, isa_num_dst(op), isa_num_src(op));
    ir_set_src(f, i, 0, op_reg(RF_B, b, 1));
    ir_inst(f, i)->loc = loc;
    return i;
}

static unsigned first_branch(const Function *f, const Block *b) {
    unsigned p = b->insts.n;
    while (p > 0 && ir_is_terminator(f, &f->insts.at[b->insts.at[p - 1].i]))
        p--;
    return p;
}

static void insert_barriers(Reconv *r) {
    Function *f = r->f;
    for (unsigned k = 0; k < r->places.n; k++) {
        uint32_t b = r->places.at[k].from, j = r->places.at[k].to;
        /* where the bit is set on every path already, a second BSSY does nothing */
        if (r->idx[j] >= NUM_B || ((r->must_in[b] & ~synced(r, b)) >> r->idx[j] & 1))
            continue;
        const Block *blk = ir_block(f, (BlockId){b});
        InstId i = barrier_inst(f, OT_BSSY, r->idx[j], branch_inst(f, blk)->loc);
        ir_set_src(f, i, BSSY_syncpoint, ir_target((BlockId){j}));
        ir_insert(f, (BlockId){b}, first_branch(f, ir_block(f, (BlockId){b})), i);
    }
    for (uint32_t b = 1; b < r->g.n; b++) {
        if (!synced(r, b))
            continue;
        const Block *blk = ir_block(f, (BlockId){b});
        unsigned p = 0;
        while (ir_inst(f, blk->insts.at[p])->op == IR_PHI)
            p++;
        ir_insert(f, (BlockId){b}, p, barrier_inst(f, OT_BSYNC, r->idx[b], ir_inst(f, blk->insts.at[p])->loc));
    }
}

static void finish_reports(Reconv *r, unsigned first, unsigned *max_b) {
    IrModule *m = r->f->module;
    for (unsigned k = first; k < m->reconv.n; k++) {
        ReconvReport *rep = &m->reconv.at[k];
        if (rep->reason != RJ_BARRIER)
            continue;
        rep->barrier = r->idx[rep->join.i];
        if (rep->barrier >= NUM_B)
            rep->reason = RJ_TOO_DEEP;
        else if (rep->barrier + 1 > *max_b)
            *max_b = rep->barrier + 1;
    }
}

/* ---- collectives ---- */

static void insert_before(Function *f, BlockId b, unsigned *p, InstId i, LocId loc) {
    ir_inst(f, i)->loc = loc;
    ir_insert(f, b, (*p)++, i);
}

/* YIELD where a partner may be parked at a BSYNC that waits for us; then WARPSYNC on the mask. */
static void insert_warpsync(Function *f, BlockId b, unsigned *p, bool yield, const Operand *mask) {
    LocId loc = ir_inst(f, ir_block(f, b)->insts.at[*p])->loc;
    if (yield)
        insert_before(f, b, p, ir_inst_new(f, OT_YIELD, isa_num_dst(OT_YIELD), isa_num_src(OT_YIELD)), loc);
    if (!mask)
        return;
    InstId w = ir_inst_new(f, OT_WARPSYNC, isa_num_dst(OT_WARPSYNC), isa_num_src(OT_WARPSYNC));
    ir_set_src(f, w, WARPSYNC_rb, *mask);
    insert_before(f, b, p, w, loc);
}

static bool changes_active(const Inst *i) {
    switch (i->op) {
    case OT_CALL: case OT_YIELD: case OT_NANOSLEEP: case OT_BSYNC: case OT_WARPSYNC: case OT_EXIT: case OT_KILL:
    case OT_RET: case OT_SYSCALL: case OT_RTT:
        return true;
    default:
        return false;
    }
}

static bool same_operand(Operand a, Operand b) { return memcmp(&a, &b, sizeof a) == 0; }

static bool cover_block(Function *f, BlockId b, bool yield, Diags *d) {
    Operand have = {0}; /* mask on which the active lanes are known to be together */
    for (unsigned p = 0; p < ir_block(f, b)->insts.n; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        Inst *i = ir_inst(f, id);
        bool bar = i->op == OT_BAR || i->op == OT_BAR_RED;
        if (bar || i->op == OT_WARPSYNC || (i->flags & IF_SYNC)) {
            if (!op_is_always(i->guard))
                return diag(d, f->locs.at[i->loc.i].src, DIAG_E0770, ir_op_name(i->op));
            Operand mask = bar ? op_imm(UINT32_MAX) : (Operand){0};
            unsigned n = isa_num_src(i->op);
            if (i->op == OT_WARPSYNC) {
                insert_warpsync(f, b, &p, yield, NULL);
                have = *ir_src(f, ir_inst(f, id), WARPSYNC_rb);
                continue;
            }
            if (!bar && i->nsrc <= n)
                return diag(d, f->locs.at[i->loc.i].src, DIAG_E0771, ir_op_name(i->op));
            if (!bar)
                mask = *ir_src(f, i, n);
            if (i->nsrc > n)
                ir_remove_src(f, id, n);
            if (bar || !same_operand(have, mask))
                insert_warpsync(f, b, &p, yield, &mask);
            have = mask;
        } else if (changes_active(i))
            have = (Operand){0};
    }
    return true;
}

static bool cover_collectives(Reconv *r, unsigned base, Diags *d) {
    Function *f = r->f;
    for (uint32_t k = 0; k < r->order.count; k++) {
        BlockId b = {r->order.order[k]};
        if (!b.i)
            continue;
        bool alone = base == 0 && !(r->may_in[b.i] & ~synced(r, b.i)) && ir_block(f, b)->uniform_flow;
        if (!cover_block(f, b, !alone, d))
            return false;
    }
    return true;
}

/* ---- one function ---- */

static void analyse(Reconv *r, Function *f) {
    r->f = f;
    r->g = cfg_graph(&r->a, f);
    r->order = graph_order(&r->a, &r->g, f->entry.i);
    r->pd = post_dominators(&r->a, f, &r->g, f->entry.i);
    r->loops = loop_forest(&r->a, &r->g, f->entry.i);
    r->join_of = ARENA_ARRAY(&r->a, uint32_t, r->g.n);
    r->is_join = ARENA_ARRAY(&r->a, uint8_t, r->g.n);
    r->idx = ARENA_ARRAY(&r->a, uint8_t, r->g.n);
    r->gen = ARENA_ARRAY(&r->a, uint16_t, r->g.n);
    r->may_in = ARENA_ARRAY(&r->a, uint16_t, r->g.n);
    r->must_in = ARENA_ARRAY(&r->a, uint16_t, r->g.n);
}

typedef struct {
    IrModule *m;
    Arena a;
    uint32_t *base;     /* [func] first register above all that its callers may be pending in */
    bool *recursive;    /* [func] */
    bool *open, *observes;
    Graph calls;
    uint32_t *comp;
    Diags *d;
} Module;

/* Callees must use higher registers than a caller can be pending in at the call. */
static void raise_callees(Module *mod, const Reconv *r, unsigned base) {
    const Function *f = r->f;
    for (uint32_t k = 0; k < r->order.count; k++) {
        uint32_t b = r->order.order[k];
        if (!b)
            continue;
        unsigned need = above((uint16_t)(r->may_in[b] & ~synced(r, b)));
        need = need > base ? need : base;
        const Block *blk = &f->blocks.at[b];
        for (unsigned p = 0; p < blk->insts.n; p++) {
            const Inst *i = &f->insts.at[blk->insts.at[p].i];
            if (i->op != OT_CALL)
                continue;
            const Function *callee = ir_callee(f, i);
            for (unsigned n = 0; n < mod->m->funcs.n; n++)
                if ((callee ? callee->index == n : mod->open[n]) && mod->base[n] < need)
                    mod->base[n] = need;
        }
    }
}

static bool reconverge_function(Module *mod, Function *f) {
    Reconv r = {0};
    unsigned base = mod->base[f->index], first, max_b = base;
    bool recursive = mod->recursive[f->index], ok;
    f->b_base = recursive ? NUM_B : base;
    yield_retry_loops(f, mod->observes);
    analyse(&r, f);
    find_joins(&r, recursive, &first);
    find_places(&r);
    number_joins(&r, base);
    insert_barriers(&r);
    finish_reports(&r, first, &max_b);
    raise_callees(mod, &r, base);
    ok = cover_collectives(&r, base, mod->d);
    f->summary.max_b = max_b;
    arena_free(&r.a);
    return ok;
}

/* ---- the module, callers first ---- */

static void add_calls(Module *mod, const Function *f, void *edges_vec) {
    VEC(GraphEdge) *edges = edges_vec;
    for (unsigned n = 0; n < f->layout.n; n++) {
        const Block *b = &f->blocks.at[f->layout.at[n].i];
        for (unsigned p = 0; p < b->insts.n; p++) {
            const Inst *i = &f->insts.at[b->insts.at[p].i];
            if (i->op != OT_CALL)
                continue;
            const Function *callee = ir_callee(f, i);
            for (unsigned k = 0; k < mod->m->funcs.n; k++)
                if (callee ? callee->index == k : mod->open[k] && !mod->m->funcs.at[k]->is_entry)
                    *VEC_PUSH(&mod->a, edges) = (GraphEdge){f->index, k};
        }
    }
}

static uint32_t find_recursion(Module *mod) {
    IrModule *m = mod->m;
    VEC(GraphEdge) edges = {0};
    for (unsigned k = 0; k < m->funcs.n; k++)
        add_calls(mod, m->funcs.at[k], &edges);
    mod->calls = graph_new(&mod->a, m->funcs.n, edges.at, edges.n);
    uint32_t n = graph_scc(&mod->a, &mod->calls, NULL, mod->comp);
    uint32_t *size = ARENA_ARRAY(&mod->a, uint32_t, n + 1);
    for (unsigned k = 0; k < m->funcs.n; k++)
        size[mod->comp[k]]++;
    for (unsigned k = 0; k < m->funcs.n; k++) {
        mod->recursive[k] = size[mod->comp[k]] > 1;
        GRAPH_SUCCS(&mod->calls, k, t)
            mod->recursive[k] |= *t == k;
    }
    return n;
}

static bool reconverge_component(Module *mod, uint32_t comp) {
    IrModule *m = mod->m;
    uint32_t base = 0; /* the members of a recursive component call each other: one base for all */
    for (unsigned k = 0; k < m->funcs.n; k++)
        if (mod->comp[k] == comp && mod->base[k] > base)
            base = mod->base[k];
    for (unsigned k = 0; k < m->funcs.n; k++) {
        if (mod->comp[k] != comp)
            continue;
        mod->base[k] = base;
        if (m->funcs.at[k]->blocks.n > 1 && !reconverge_function(mod, m->funcs.at[k]))
            return false;
    }
    return true;
}

bool pass_reconverge(IrModule *m, Diags *d) {
    Module mod = {.m = m, .d = d};
    mod.base = ARENA_ARRAY(&mod.a, uint32_t, m->funcs.n);
    mod.recursive = ARENA_ARRAY(&mod.a, bool, m->funcs.n);
    mod.comp = ARENA_ARRAY(&mod.a, uint32_t, m->funcs.n);
    mod.open = ir_open_functions(&mod.a, m);
    mod.observes = ir_observing_functions(&mod.a, m);
    bool ok = true;
    m->reconv.n = 0;
    for (unsigned k = 0; k < m->funcs.n; k++) {
        cfg_remove_unreachable(m->funcs.at[k]);
    }
    uint32_t n = find_recursion(&mod);
    for (uint32_t c = n; ok && c-- > 0;) /* callees' components have smaller numbers */
        ok = reconverge_component(&mod, c);
    arena_free(&mod.a);
    return ok;
}
