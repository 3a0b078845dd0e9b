/* Loops that try again what another thread came before in, as a sum of f64 by compare-and-swap:
 *
 *     seen = *p;  do { expected = seen; seen = atomicCAS(p, expected, ...); } while (seen != expected);
 *
 * A lane that runs alone gets through in the second round: it expects what it saw at the same address. So it
 * waits for no other lane, the loop needs no YIELD, and lanes that are through wait behind it for all of the
 * others, which a YIELD would keep them from. A spin lock expects a number and is no such loop.
 *
 * Looked for are loops without branches inside, with one compare-and-swap, at an address that the loop does
 * not make, in which nothing else watches or writes memory. What it expects is a phi of the header, which has
 * its result on the way back, and a branch or a guarded EXIT that is always passed leaves where the two are
 * equal. check/static/alone.c finds them again in the machine code. ISETP and
 * the three ATOM*.CAS are asked for by name: what an operation compares or expects is no column.
 * SPDX-License-Identifier: MIT */
#include "ir/dominators.h"
#include "lower/opt/opt.h"
#include "lower/reconverge/reconverge.h"

enum { DEEPEST = 8 /* comparisons that one predicate combines */ };

typedef enum { NO, YES, UNKNOWN } Truth;

typedef struct {
    const Function *f;
    const Graph *graph;
    DomTree dom;
    const LoopForest *loops;
    uint32_t loop;
    const Inst *swap;
    Operand address, uniform, expected, seen;
} Retry;

static bool find_swap(Retry *retry, const Inst *i) {
    const Function *f = retry->f;
    if (!op_is_always(i->guard))
        return false;
    retry->swap = i;
    switch (i->op) {
#define OPERANDS(op)                                                                                         \
    retry->address = *ir_src(f, i, op##_ra), retry->uniform = *ir_src(f, i, op##_urb);                       \
    retry->expected = *ir_src(f, i, op##_rb), retry->seen = *ir_dst(f, i, op##_rd)
    case OT_ATOM_CAS: OPERANDS(ATOM_CAS); return true;
    case OT_ATOMG_CAS: OPERANDS(ATOMG_CAS); return true;
    case OT_ATOMS_CAS: OPERANDS(ATOMS_CAS); return true;
#undef OPERANDS
    default: return false;
    }
}

static uint32_t component(const Retry *retry, Operand o, unsigned k) {
    return o.kind == OPK_VAL && !o.mods ? ir_operand_value(retry->f, o, k).i : 0;
}

static bool made_in_loop(const Retry *retry, Operand o) {
    for (unsigned k = 0; o.kind == OPK_VAL && k < o.count; k++) {
        uint32_t v = ir_operand_value(retry->f, o, k).i;
        if (v && loop_contains(retry->loops, retry->loop, retry->f->values.at[v].block.i))
            return true;
    }
    return false;
}

/* What the predicate is where each word seen is the one that was expected. */
static Truth where_equal(const Retry *retry, Operand predicate, unsigned depth) {
    const Function *f = retry->f;
    bool negated = predicate.mods & OPM_NOT;
    Truth result = UNKNOWN, other;
    predicate.mods = 0;
    if (op_is_always(predicate))
        return negated ? NO : YES;
    uint32_t v = opt_scalar(predicate);
    const Inst *test = v && f->values.at[v].def.i ? &f->insts.at[f->values.at[v].def.i] : NULL;
    if (depth == DEEPEST || !test || test->op != OT_ISETP || !op_is_always(test->guard))
        return UNKNOWN;
    unsigned cmp = MGET(ISETP, cmp, test->mods);
    uint32_t x = component(retry, *ir_src(f, test, ISETP_ra), 0),
             y = component(retry, *ir_src(f, test, ISETP_rb), 0);
    for (unsigned k = 0; k < retry->seen.count && (cmp == ICmp_EQ || cmp == ICmp_NE); k++) {
        uint32_t expected = component(retry, retry->expected, k), seen = component(retry, retry->seen, k);
        if (x && y && ((x == expected && y == seen) || (x == seen && y == expected)))
            result = cmp == ICmp_EQ ? YES : NO;
    }
    if (MGET(ISETP, ex, test->mods) && where_equal(retry, *ir_src(f, test, ISETP_pq), depth + 1) != result)
        result = UNKNOWN; /* of the low words */
    if (opt_scalar(*ir_dst(f, test, ISETP_pv)) == v && result != UNKNOWN)
        result = result == YES ? NO : YES;
    other = where_equal(retry, *ir_src(f, test, ISETP_pp), depth + 1);
    unsigned bop = MGET(ISETP, bop, test->mods);
    if (bop == BoolOp_XOR)
        result = result == UNKNOWN || other == UNKNOWN ? UNKNOWN : result == other ? NO : YES;
    else if (bop == BoolOp_AND)
        result = result == NO || other == NO ? NO : result == YES && other == YES ? YES : UNKNOWN;
    else
        result = result == YES || other == YES ? YES : result == NO && other == NO ? NO : UNKNOWN;
    return negated && result != UNKNOWN ? (result == YES ? NO : YES) : result;
}

/* Does a lane leave the loop at the block's end, or before it, where it saw what it expected? */
static bool leaves_where_equal(const Retry *retry, uint32_t block) {
    const Function *f = retry->f;
    FOR_INSTS(f, (BlockId){block}, i)
        if (i->op == OT_EXIT && ir_src(f, i, EXIT_pp)->kind == OPK_NONE &&
            where_equal(retry, i->guard, 0) == YES)
            return true;
    const Inst *branch = reconv_branch(f, &f->blocks.at[block]);
    if (branch->op != OT_BRA || ir_src(f, branch, BRA_offset)->kind != OPK_BLOCK)
        return false;
    for (unsigned s = 0; s < BRA_offset; s++)
        if (ir_src(f, branch, s)->kind != OPK_NONE)
            return false;
    Truth taken = where_equal(retry, branch->guard, 0);
    uint32_t target = ir_src(f, branch, BRA_offset)->value, ways = 0, leaving = 0;
    GRAPH_SUCCS(retry->graph, block, s) {
        bool goes = taken == UNKNOWN || (*s == target) == (taken == YES);
        ways += goes;
        leaving += goes && (!*s || !loop_contains(retry->loops, retry->loop, *s));
    }
    return ways && ways == leaving;
}

/* The one block of the loop that leads back to its header; NO_NODE: there are several. */
static uint32_t way_back(const Retry *retry) {
    uint32_t latch = NO_NODE;
    GRAPH_PREDS(retry->graph, retry->loops->at[retry->loop].header, p)
        if (loop_contains(retry->loops, retry->loop, *p)) {
            if (latch != NO_NODE && latch != *p)
                return NO_NODE;
            latch = *p;
        }
    return latch;
}

/* Is word k of what is expected a phi of the header that has the word seen on the way back? */
static bool expects_what_it_saw(const Retry *retry, uint32_t latch, unsigned k) {
    const Function *f = retry->f;
    uint32_t v = component(retry, retry->expected, k), header = retry->loops->at[retry->loop].header;
    const Inst *phi = v && f->values.at[v].def.i ? &f->insts.at[f->values.at[v].def.i] : NULL;
    if (!phi || phi->op != IR_PHI || f->values.at[v].block.i != header)
        return false;
    const Block *block = &f->blocks.at[header];
    for (unsigned p = 0; p < block->preds.n; p++)
        if (block->preds.at[p].i == latch &&
            component(retry, *ir_src(f, phi, p), 0) != component(retry, retry->seen, k))
            return false;
    return component(retry, retry->seen, k) != 0;
}

static bool touches_memory_of_others(const Inst *i) {
    return i->flags & (IF_OBSERVING | IF_SYNC | IF_CONVERGENT) || isa_has_effect(i->op, ISA_EFFECT_WRITE);
}

/* Lanes go one way round the loop, and come to nothing on it that has to do with others, but for the swap. */
static bool is_one_way(const Retry *retry, const GraphOrder *order) {
    for (uint32_t k = 0; k < order->count; k++) {
        uint32_t b = order->order[k], ways = 0;
        if (!b || !loop_contains(retry->loops, retry->loop, b))
            continue;
        GRAPH_SUCCS(retry->graph, b, s)
            ways += *s && loop_contains(retry->loops, retry->loop, *s);
        FOR_INSTS(retry->f, (BlockId){b}, i)
            if (i != retry->swap && touches_memory_of_others(i))
                return false;
        if (ways != 1)
            return false;
    }
    return true;
}

static bool ends_alone(const Retry *retry, const GraphOrder *order) {
    uint32_t latch = way_back(retry);
    if (latch == NO_NODE || retry->loops->at[retry->loop].irreducible ||
        made_in_loop(retry, retry->address) || made_in_loop(retry, retry->uniform) ||
        retry->expected.count != retry->seen.count || !is_one_way(retry, order))
        return false;
    for (unsigned k = 0; k < retry->seen.count; k++)
        if (!expects_what_it_saw(retry, latch, k))
            return false;
    for (uint32_t k = 0; k < order->count; k++) {
        uint32_t b = order->order[k];
        if (b && loop_contains(retry->loops, retry->loop, b) && dom_contains(&retry->dom, b, latch) &&
            leaves_where_equal(retry, b))
            return true;
    }
    return false;
}

Retries reconv_find_retries(Arena *a, const Function *f, const Graph *graph) {
    Retries retries = {0};
    bool any = false;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i)
            any |= i->flags & IF_OBSERVING;
    if (!any)
        return retries;
    GraphOrder order = graph_order(a, graph, f->entry.i);
    retries.loops = loop_forest(a, graph, f->entry.i);
    retries.alone = ARENA_ARRAY(a, uint32_t, graph->n);
    Retry retry = {.f = f, .graph = graph, .loops = &retries.loops};
    retry.dom = dom_tree(a, graph, GRAPH_FORWARD, f->entry.i);
    for (uint32_t k = 0; k < order.count; k++) {
        uint32_t b = order.order[k];
        retry.loop = b ? retries.loops.innermost[b] : NO_NODE;
        if (retry.loop == NO_NODE)
            continue;
        FOR_INSTS(f, (BlockId){b}, i)
            if (i->flags & IF_OBSERVING && find_swap(&retry, i) && ends_alone(&retry, &order))
                retries.alone[b] = retry.loop + 1;
    }
    return retries;
}

bool reconv_may_wait_on_way(const Retries *retries, uint32_t block, uint32_t by) {
    return !retries->alone || !retries->alone[block] ||
           !loop_contains(&retries->loops, retries->alone[block] - 1, by);
}
