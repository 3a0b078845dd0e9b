/* Updates under the condition of the way that wants them. Where a branch has two ways and one of them takes
 * the next value of a phi while the other still reads the last one,
 *
 *     L:  y = x >> 1                        L:  @p y = x >> 1   (else x)
 *         @p BRA J    J: x = phi(y, ...)        @p BRA J
 *         ... reads x                           ... reads y
 *
 * the two values need two registers, and the way to J a block of its own with a copy and a jump. Here y is
 * made last, under the branch's condition, and is x in all other lanes, so that they share a register and
 * nothing stands on the edge. A constant that comes along the edge is made there under the condition in the
 * same way, if lanes may part and the way does not leave a loop.
 *
 * Which value x is: the one among those that phis put together with y's that is alive on the other way, and
 * on the way to J is not. What reads it there must be reached from L only, to read y instead. In: SSA, before
 * reconvergence. SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "ir/dominators.h"
#include "ir/loops.h"
#include "lower/opt/opt.h"
#include "lower/passes.h"
#include "lower/predicate/predicate.h"

enum {
    MOST_RELATED = 16, /* values that one set of phis puts together, looked at */
    MOST_ROUNDS = 4,
    STEPS = 64 /* for each block, of all walks */
};

typedef struct {
    InstId inst;
    unsigned at;            /* source */
    uint32_t block, phi_of; /* where it is read; for a phi the end of the block before, and its own block */
    uint32_t next;          /* in the pool, + 1 */
    bool vector;
} KeepUse;

typedef struct {
    Function *f;
    Arena a;
    Graph g;
    DomTree dom;
    LoopForest loops;
    uint32_t *uses; /* [value] the first in the pool, + 1 */
    VEC(KeepUse) pool;
    uint32_t *related;    /* [value] the next of those that phis put together, in a circle */
    bool *changed;        /* [value] in this round: what is noted of it no longer holds */
    uint32_t *seen, walk; /* [block] number of the walk that came to it */
    VEC(uint32_t) work;
    uint64_t steps;
} Keep;

/* One way of a branch. */
typedef struct {
    BlockId from, to, other;
    Operand guard; /* true in lanes that go there */
} KeepEdge;

/* ---- what is known of values ---- */

static void note_use(Keep *keep, InstId inst, unsigned at, Operand o, uint32_t block, uint32_t phi_of) {
    for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
        uint32_t v = ir_operand_value(keep->f, o, c).i;
        KeepUse use = {inst, at, block, phi_of, keep->uses[v], o.count > 1};
        VEC_ADD(&keep->a, &keep->pool, use);
        keep->uses[v] = keep->pool.n;
    }
}

static void put_together(Keep *keep, uint32_t one, uint32_t other) {
    for (uint32_t v = keep->related[one]; v != one; v = keep->related[v]) {
        if (v == other)
            return;
        keep->steps++;
    }
    if (one != other) {
        uint32_t next = keep->related[one];
        keep->related[one] = keep->related[other];
        keep->related[other] = next;
    }
}

static bool is_number(Function *f, uint32_t v) {
    InstId id = ir_value(f, (ValId){v})->def;
    if (!id.i || ir_inst(f, id)->op != OT_MOV || !op_is_always(ir_inst(f, id)->guard))
        return false;
    Operand o = *ir_src(f, ir_inst(f, id), MOV_rb);
    return o.kind == OPK_IMM || (o.kind == OPK_REG && o.value == REG_RZ);
}

static void note_values(Keep *keep) {
    Function *f = keep->f;
    keep->uses = ARENA_ARRAY(&keep->a, uint32_t, f->values.n);
    keep->related = ARENA_ARRAY(&keep->a, uint32_t, f->values.n);
    keep->changed = ARENA_ARRAY(&keep->a, bool, f->values.n);
    keep->pool.n = 0;
    for (uint32_t v = 0; v < f->values.n; v++)
        keep->related[v] = v;
    FOR_BLOCKS(f, b)
        FOR_INST_IDS(f, b, id) {
            const Inst *i = ir_inst(f, id);
            FOR_USES(f, i, o) {
                bool phi = i->op == IR_PHI;
                note_use(keep, id, AT(o), *o, phi ? ir_block(f, b)->preds.at[AT(o)].i : b.i, phi ? b.i : 0);
                if (phi && opt_scalar(*o) && opt_scalar(*ir_dst(f, i, 0)) && !is_number(f, opt_scalar(*o)))
                    put_together(keep, opt_scalar(*ir_dst(f, i, 0)), opt_scalar(*o));
            }
        }
}

/* Blocks that are reached from `from` on, without the one that makes v. */
static void walk_from(Keep *keep, BlockId from, uint32_t v) {
    Function *f = keep->f;
    uint32_t made = ir_value(f, (ValId){v})->block.i;
    keep->walk++;
    keep->work.n = 0;
    VEC_ADD(&keep->a, &keep->work, from.i);
    while (keep->work.n) {
        uint32_t b = keep->work.at[--keep->work.n];
        if (b == made || keep->seen[b] == keep->walk)
            continue;
        keep->seen[b] = keep->walk;
        keep->steps++;
        const Block *block = ir_block(f, (BlockId){b});
        for (unsigned s = 0; s < block->succs.n; s++)
            VEC_ADD(&keep->a, &keep->work, block->succs.at[s].i);
    }
}

/* Is it read behind the edge that the last walk began with? */
static bool is_read_there(const Keep *keep, const KeepUse *use, BlockId from, BlockId to) {
    return keep->seen[use->block] == keep->walk || (use->phi_of == to.i && use->block == from.i);
}

static bool is_alive(Keep *keep, uint32_t v, BlockId from, BlockId to) {
    walk_from(keep, to, v);
    for (uint32_t k = keep->uses[v]; k; k = keep->pool.at[k - 1].next)
        if (is_read_there(keep, &keep->pool.at[k - 1], from, to))
            return true;
    return false;
}

/* Can all that is read behind the edge to `other` be another value: does it come from there alone? */
static bool can_rename(Keep *keep, uint32_t v, const KeepEdge *edge) {
    BlockId other = edge->other;
    bool own = ir_block(keep->f, other)->preds.n == 1;
    walk_from(keep, other, v);
    for (uint32_t k = keep->uses[v]; k; k = keep->pool.at[k - 1].next) {
        const KeepUse *use = &keep->pool.at[k - 1];
        if (!is_read_there(keep, use, edge->from, other))
            continue;
        bool here = use->phi_of == other.i && use->block == edge->from.i;
        if (use->vector || !(here || (own && dom_contains(&keep->dom, other.i, use->block))))
            return false;
    }
    return true;
}

static void rename_uses(Keep *keep, uint32_t v, uint32_t now, const KeepEdge *edge) {
    walk_from(keep, edge->other, v);
    for (uint32_t k = keep->uses[v]; k; k = keep->pool.at[k - 1].next) {
        const KeepUse *use = &keep->pool.at[k - 1];
        if (is_read_there(keep, use, edge->from, edge->other))
            ir_src(keep->f, ir_inst(keep->f, use->inst), use->at)->value = now;
    }
}

/* ---- one phi and one edge ---- */

/* Is x, made in front of z, still alive where z's block ends? Within the block the register allocator puts z
 * behind the last use (regalloc/updates.c). */
static bool is_alive_behind(Keep *keep, uint32_t x, uint32_t z) {
    Function *f = keep->f;
    BlockId b = ir_value(f, (ValId){z})->block;
    const Block *block = ir_block(f, b);
    if (!b.i || !dom_contains(&keep->dom, ir_value(f, (ValId){x})->block.i, b.i))
        return false;
    for (unsigned s = 0; s < block->succs.n; s++)
        if (is_alive(keep, x, b, block->succs.at[s]))
            return true;
    return false;
}

/* May a constant be made under the condition of this edge? It costs something wherever nobody goes there. */
static bool is_worth_constants(const Keep *keep, BlockId from, BlockId to) {
    uint32_t loop = keep->loops.innermost[from.i];
    return !uniform_branch(keep->f, from) && (loop == NO_NODE || loop_contains(&keep->loops, loop, to.i));
}

/* Can the phi's register hold x? Not if another value that comes to the phi is made where x is alive, and
 * will not be made on its own edge. */
static bool can_share(Keep *keep, uint32_t x, const KeepEdge *edge, InstId phi, unsigned slot) {
    Function *f = keep->f;
    FOR_SRCS(f, ir_inst(f, phi), o) {
        uint32_t z = opt_scalar(*o);
        BlockId from = ir_block(f, edge->to)->preds.at[AT(o)];
        bool moves = z && is_number(f, z) && ir_block(f, from)->succs.n == 2 &&
                     is_worth_constants(keep, from, edge->to);
        if (AT(o) != slot && z && z != x && !moves && is_alive_behind(keep, x, z))
            return false;
    }
    return true;
}

/* What the lanes that go the other way need of the phi's register; 0: nothing, or more than one value. */
static uint32_t wanted_beside(Keep *keep, const KeepEdge *edge, InstId phi, unsigned slot) {
    uint32_t first = opt_scalar(*ir_dst(keep->f, ir_inst(keep->f, phi), 0)), found = 0, x = first;
    uint32_t y = opt_scalar(*ir_src(keep->f, ir_inst(keep->f, phi), slot));
    for (unsigned n = 0; n == 0 || x != first; n++, x = keep->related[x]) {
        const Value *value = ir_value(keep->f, (ValId){x});
        if (n >= MOST_RELATED)
            return 0;
        if (x == y || value->file != RF_R || value->fixed_reg >= 0 || !value->def.i ||
            !dom_contains(&keep->dom, value->block.i, edge->from.i))
            continue;
        if (keep->changed[x])
            return 0;
        if (is_alive(keep, x, edge->from, edge->to) || !is_alive(keep, x, edge->from, edge->other))
            continue;
        if (found)
            return 0;
        found = x;
    }
    return found && can_rename(keep, found, edge) && can_share(keep, found, edge, phi, slot) ? found : 0;
}

static bool is_plain(const Function *f, const Inst *i, uint32_t y) {
    PredicateReason why;
    if (ir_is_pseudo(i->op) || opt_scalar(*ir_dst(f, i, 0)) != y || !op_is_always(i->guard) ||
        pred_kind(f, i, &why) != PK_PLAIN)
        return false;
    for (unsigned k = 1; k < i->ndst; k++)
        if (ir_dst(f, i, k)->kind != OPK_NONE)
            return false;
    return true;
}

/* The instruction that makes y, where it may be made at the end of the edge's block; a constant that has
 * other uses is made once more. */
static InstId made_last(Keep *keep, const KeepEdge *edge, uint32_t y, bool *again) {
    Function *f = keep->f;
    InstId id = ir_value(f, (ValId){y})->def;
    const Inst *i = id.i ? ir_inst(f, id) : NULL;
    if (!i || keep->changed[y] || ir_value(f, (ValId){y})->fixed_reg >= 0 || !is_plain(f, i, y))
        return (InstId){0};
    uint32_t use = keep->uses[y];
    bool once = use && !keep->pool.at[use - 1].next;
    *again = !once || ir_value(f, (ValId){y})->block.i != edge->from.i;
    return !*again || (is_number(f, y) && is_worth_constants(keep, edge->from, edge->to)) ? id : (InstId){0};
}

static void take_out(Function *f, BlockId b, InstId id) {
    Block *block = ir_block(f, b);
    unsigned n = 0;
    for (unsigned k = 0; k < block->insts.n; k++)
        if (block->insts.at[k].i != id.i)
            block->insts.at[n++] = block->insts.at[k];
    block->insts.n = n;
}

static InstId repeat(Function *f, InstId id) {
    InstId now = ir_inst_new(f, OT_MOV, isa_num_dst(OT_MOV), isa_num_src(OT_MOV));
    Operand d = ir_val(f, ir_value_new(f, RF_R));
    ir_inst(f, now)->mods = ir_inst(f, id)->mods;
    ir_inst(f, now)->loc = ir_inst(f, id)->loc;
    FOR_SRCS(f, ir_inst(f, id), o)
        ir_set_src(f, now, AT(o), *o);
    ir_set_dst(f, now, 0, d);
    return now;
}

static bool keep_phi(Keep *keep, const KeepEdge *edge, InstId phi, unsigned slot) {
    Function *f = keep->f;
    Operand o = *ir_src(f, ir_inst(f, phi), slot);
    uint32_t y = opt_scalar(o);
    bool again = false;
    if (!y || o.mods || o.file != RF_R)
        return false;
    InstId id = made_last(keep, edge, y, &again);
    uint32_t x = id.i ? wanted_beside(keep, edge, phi, slot) : 0;
    if (!x)
        return false;
    if (again) {
        id = repeat(f, id);
        ir_set_src(f, phi, slot, *ir_dst(f, ir_inst(f, id), 0));
    } else
        take_out(f, edge->from, id);
    Value *value = ir_value(f, (ValId){opt_scalar(*ir_dst(f, ir_inst(f, id), 0))});
    value->ptx_reg = 0; /* in other lanes it is not what that register holds */
    ir_insert(f, edge->from, ir_block(f, edge->from)->insts.n - 2, id);
    ir_set_guard(f, id, edge->guard);
    *ir_tied(f, ir_inst(f, id), 0) = ir_val(f, (ValId){x});
    rename_uses(keep, x, opt_scalar(*ir_dst(f, ir_inst(f, id), 0)), edge);
    keep->changed[x] = keep->changed[y] = true;
    return true;
}

static bool keep_edge(Keep *keep, const KeepEdge *edge) {
    Function *f = keep->f;
    const BlockIds *preds = &ir_block(f, edge->to)->preds;
    bool any = false;
    unsigned slot = 0;
    if (preds->n < 2)
        return false;
    while (preds->at[slot].i != edge->from.i)
        slot++;
    FOR_PHI_IDS(f, edge->to, phi)
        if (keep->steps < (uint64_t)STEPS * f->blocks.n)
            any |= keep_phi(keep, edge, phi, slot);
    return any;
}

/* A constant for a phi alone is made at the end of its block, behind the last uses of what it replaces. */
static void sink_constants(Keep *keep, BlockId b) {
    Function *f = keep->f;
    const Block *block = ir_block(f, b);
    if (block->succs.n != 1 || !block->insts.n)
        return;
    const Inst *last = ir_inst(f, block->insts.at[block->insts.n - 1]);
    unsigned slot = 0;
    if (last->op != OT_BRA || !op_is_always(last->guard))
        return;
    while (ir_block(f, block->succs.at[0])->preds.at[slot].i != b.i)
        slot++;
    FOR_PHIS(f, block->succs.at[0], phi) {
        uint32_t y = opt_scalar(*ir_src(f, phi, slot)), use = keep->uses[y];
        InstId id = ir_value(f, (ValId){y})->def;
        if (!y || ir_value(f, (ValId){y})->block.i != b.i || !is_number(f, y) || keep->pool.at[use - 1].next)
            continue;
        take_out(f, b, id);
        ir_insert(f, b, ir_block(f, b)->insts.n - 1, id);
    }
}

/* Both ways of the branch at the end of b. */
static bool keep_block(Keep *keep, BlockId b) {
    Function *f = keep->f;
    const Block *block = ir_block(f, b);
    if (block->dead || !dom_contains(&keep->dom, f->entry.i, b.i) || block->succs.n != 2 ||
        block->insts.n < 2 || block->succs.at[0].i == block->succs.at[1].i)
        return false;
    const Inst *branch = ir_inst(f, block->insts.at[block->insts.n - 2]);
    if (branch->op != OT_BRA || !opt_scalar(branch->guard) || branch->guard.file != RF_P ||
        !op_is_always(*ir_src(f, branch, BRA_pp)))
        return false;
    Operand guard = branch->guard;
    bool any = false;
    for (unsigned k = 0; k < 2; k++, guard.mods ^= OPM_NOT) {
        KeepEdge edge = {b, block->succs.at[k], block->succs.at[1 - k], guard};
        any |= keep_edge(keep, &edge);
    }
    return any;
}

bool pred_keep(Function *f) {
    Keep keep = {.f = f};
    bool changed = false;
    keep.g = cfg_graph(&keep.a, f);
    keep.dom = dom_tree(&keep.a, &keep.g, GRAPH_FORWARD, f->entry.i);
    keep.loops = loop_forest(&keep.a, &keep.g, f->entry.i);
    keep.seen = ARENA_ARRAY(&keep.a, uint32_t, f->blocks.n);
    note_values(&keep);
    FOR_BLOCKS(f, b)
        sink_constants(&keep, b);
    for (unsigned round = 0, again = 1; again && round < MOST_ROUNDS; round++) {
        again = 0;
        note_values(&keep);
        FOR_BLOCKS(f, b)
            again |= keep_block(&keep, b);
        changed |= again;
    }
    arena_free(&keep.a);
    return changed;
}
