/* What only one side of a branch needs is computed on that side: the code in front of `if (i >= n) return`
 * that the threads which return have no use for.
 *
 *   bb1: r1 = MOV c[0x0][0x178]         bb1: p3 = ISETP.GE r2, c[0x0][0x170]
 *        r4 = FMUL r5, 0.5                   @p3 BRA bb9
 *        p3 = ISETP.GE r2, c[0][0x170]  bb2: r1 = MOV c[0x0][0x178]
 *        @p3 BRA bb9                         r4 = FMUL r5, 0.5
 *
 * An operation without effects moves into the only successor of its block that leads to all its uses, and on
 * from there, while nothing else leads into that block; so it enters no loop. A plain load does where nothing
 * behind it orders memory and the other sides end the function: elsewhere it stays as early as it was
 * written. One walk, uses before what they use, which so know their own place. What an operation reads lives
 * on in its stead; a block takes at most MOST_GROWTH registers more. In and out: SSA, before uniformity.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "lower/opt/opt.h"
#include "lower/passes.h"

/* MOST_STEPS: blocks that one operation passes, which bounds the work. */
enum { MOST_GROWTH = 8, MOST_STEPS = 16 };

typedef struct { /* of the dominator tree: the numbers `in` of the first and the last block that reads it */
    uint32_t first, last;
} Range;

typedef struct {
    Function *f;
    Arena a;
    DomTree tree;
    Range *used;      /* [value] */
    InstIds *arrived; /* [block] the last one first */
    int *growth;      /* [block] registers that live into it more than before */
    bool *orders;     /* [block] it writes or orders memory, behind what the walk has not seen yet */
    bool any;
} Sink;

static void use_in(Sink *sink, Operand o, uint32_t b) {
    uint32_t at = sink->tree.in[b];
    for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
        Range *used = &sink->used[ir_operand_value(sink->f, o, c).i];
        if (!used->first || at < used->first)
            used->first = at;
        if (at > used->last)
            used->last = at;
    }
}

/* What a phi reads is read at the end of where it comes from. */
static void phis_use(Sink *sink) {
    Function *f = sink->f;
    FOR_BLOCKS(f, b)
        FOR_PHIS(f, b, i)
            FOR_SRCS(f, i, o)
                use_in(sink, *o, ir_block(f, b)->preds.at[AT(o)].i);
}

static bool all_in(const Sink *sink, Range used, uint32_t b) {
    return sink->tree.in[b] <= used.first && used.last <= sink->tree.out[b];
}

static bool some_in(const Sink *sink, Range used, uint32_t b) {
    return used.first && used.first <= sink->tree.out[b] && sink->tree.in[b] <= used.last;
}

static bool orders_memory(const Inst *i) {
    return (i->flags & (IF_SYNC | IF_OBSERVING | IF_SIDE_EFFECT | IF_CONVERGENT)) &&
           isa_traits(i->op)->flow != ISA_FLOW_BRANCH;
}

/* Where all uses of the results lie; false: there is none, or a register is demanded. */
static bool used_where(const Sink *sink, const Inst *i, Range *where) {
    *where = (Range){0};
    FOR_DSTS(sink->f, i, o)
        for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++) {
            Range used = sink->used[ir_operand_value(sink->f, *o, c).i];
            if (!used.first)
                continue;
            where->first = where->first && where->first < used.first ? where->first : used.first;
            where->last = where->last > used.last ? where->last : used.last;
        }
    return where->first;
}

/* An operand in a register that a convention names must be read where it is. */
static bool sources_may_wait(const Function *f, const Inst *i) {
    FOR_USES(f, i, o) {
        if (o->file == RF_UR || o->file == RF_UP)
            return false;
        for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++)
            if (f->values.at[ir_operand_value(f, *o, c).i].fixed_reg >= 0)
                return false;
    }
    return true;
}

static bool plain_load(const Inst *i) {
    return isa_traits(i->op)->effects == ISA_EFFECT_READ && op_is_always(i->guard) && i->ndst &&
           !orders_memory(i);
}

/* Registers that live into b more if i moves there. */
static int grows_by(const Sink *sink, const Inst *i, uint32_t b) {
    int n = 0;
    FOR_DSTS(sink->f, i, o)
        n -= o->kind == OPK_VAL ? o->count : 0;
    FOR_USES(sink->f, i, o)
        for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++)
            n += !some_in(sink, sink->used[ir_operand_value(sink->f, *o, c).i], b);
    return n;
}

static bool others_end(const Function *f, const Block *block, BlockId to) {
    for (unsigned k = 0; k < block->succs.n; k++)
        if (block->succs.at[k].i != to.i && f->blocks.at[block->succs.at[k].i].succs.n)
            return false;
    return true;
}

/* The successor of b that i may move to, or 0. */
static BlockId next_place(const Sink *sink, const Inst *i, Range where, BlockId b, bool load) {
    const Block *block = ir_block(sink->f, b);
    if (block->succs.n < 2 || (load && sink->orders[b.i]))
        return (BlockId){0};
    for (unsigned k = 0; k < block->succs.n; k++) {
        BlockId to = block->succs.at[k];
        if (ir_block(sink->f, to)->preds.n == 1 && all_in(sink, where, to.i))
            return sink->growth[to.i] + grows_by(sink, i, to.i) <= MOST_GROWTH &&
                           (!load || others_end(sink->f, block, to))
                       ? to
                       : (BlockId){0};
    }
    return (BlockId){0};
}

/* Where i, of block b, is best computed. */
static BlockId sink_place(Sink *sink, const Inst *i, BlockId b) {
    bool load = plain_load(i);
    Range where;
    if (!(load || opt_only_computes(sink->f, i)) || !sources_may_wait(sink->f, i) ||
        !used_where(sink, i, &where))
        return b;
    for (unsigned step = 0; step < MOST_STEPS; step++) {
        BlockId to = next_place(sink, i, where, b, load);
        if (!to.i)
            break;
        sink->growth[to.i] += grows_by(sink, i, to.i);
        b = to;
    }
    return b;
}

static void sink_block(Sink *sink, BlockId b) {
    Function *f = sink->f;
    Block *block = ir_block(f, b);
    unsigned kept = block->insts.n;
    for (unsigned k = block->insts.n; k-- > 0;) {
        InstId id = block->insts.at[k];
        const Inst *i = ir_inst(f, id);
        BlockId place = i->op == IR_PHI ? b : sink_place(sink, i, b);
        if (i->op != IR_PHI)
            FOR_READS(f, i, o)
                use_in(sink, *o, place.i);
        if (place.i != b.i) {
            VEC_ADD(&sink->a, &sink->arrived[place.i], id);
            sink->any = true;
        } else {
            sink->orders[b.i] |= orders_memory(i);
            block->insts.at[--kept] = id;
        }
    }
    for (unsigned k = kept; k < block->insts.n; k++)
        block->insts.at[k - kept] = block->insts.at[k];
    block->insts.n -= kept;
}

static void arrive(Sink *sink, BlockId b) {
    Function *f = sink->f;
    unsigned at = 0;
    while (ir_is_phi_at(f, b, at))
        at++;
    for (unsigned k = sink->arrived[b.i].n; k-- > 0;) {
        InstId id = sink->arrived[b.i].at[k];
        ir_insert(f, b, at++, id);
        FOR_DSTS(f, ir_inst(f, id), o)
            for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++)
                ir_value(f, ir_operand_value(f, *o, c))->block = b;
    }
}

bool pass_sink(Function *f, Diags *d) {
    (void)d;
    if (f->blocks.n <= 2)
        return true;
    Sink sink = {.f = f};
    Graph graph = cfg_graph(&sink.a, f);
    sink.tree = dom_tree(&sink.a, &graph, GRAPH_FORWARD, f->entry.i);
    sink.used = ARENA_ARRAY(&sink.a, Range, f->values.n);
    sink.arrived = ARENA_ARRAY(&sink.a, InstIds, f->blocks.n);
    sink.growth = ARENA_ARRAY(&sink.a, int, f->blocks.n);
    sink.orders = ARENA_ARRAY(&sink.a, bool, f->blocks.n);
    phis_use(&sink);
    for (uint32_t k = sink.tree.order.count; k-- > 0;)
        if (sink.tree.order.order[k])
            sink_block(&sink, (BlockId){sink.tree.order.order[k]});
    for (uint32_t b = 1; sink.any && b < f->blocks.n; b++)
        if (sink.arrived[b].n)
            arrive(&sink, (BlockId){b});
    arena_free(&sink.a);
    return true;
}
