/* Forward progress: the machine switches between the groups of a warp only at BSYNC, WARPSYNC, YIELD,
 * NANOSLEEP and EXIT. So a loop that may wait for another lane needs a YIELD on every retry path: every CFG
 * cycle through an observing instruction (IF_OBSERVING, or a call of a function that has one) passes a YIELD
 * or NANOSLEEP. It stands in a block of its own on the edge back to the loop's first block, and only on such
 * edges that the observing instruction reaches, because lanes that have yielded are no longer waited for.
 * A loop around a compare-and-swap that ends without others (lower/reconverge/retry.c) needs none.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "lower/reconverge/reconverge.h"

typedef struct {
    Arena a;
    Function *f;
    Graph g;
    uint8_t *in_set; /* blocks without a YIELD */
    bool *observing; /* [block] */
    uint32_t *comp;
    Retries retries;
} Retry;

static void classify_blocks(Retry *retry, const bool *observes) {
    Function *f = retry->f;
    FOR_BLOCKS(f, b) {
        retry->in_set[b.i] = 1;
        FOR_INSTS(f, b, i) {
            if ((i->op == OT_YIELD || i->op == OT_NANOSLEEP) && op_is_always(i->guard))
                retry->in_set[b.i] = 0;
            if (i->flags & IF_OBSERVING)
                retry->observing[b.i] = true;
            if (i->op == OT_CALL) {
                const Function *callee = ir_callee(f, i);
                retry->observing[b.i] |= !callee || callee->blocks.n <= 1 || observes[callee->index];
            }
        }
    }
}

/* Marks what the observing blocks of a component reach inside it without entering `head` again. */
static void reach_from_observing(Retry *retry, const GraphOrder *graph_order, uint32_t comp, uint32_t head,
                                 bool *reach) {
    uint32_t *stack = ARENA_ARRAY(&retry->a, uint32_t, retry->g.n), top = 0;
    for (uint32_t k = 0; k < graph_order->count; k++) {
        uint32_t n = graph_order->order[k];
        if (retry->comp[n] == comp && retry->observing[n])
            reach[n] = true, stack[top++] = n;
    }
    while (top) {
        uint32_t n = stack[--top];
        GRAPH_SUCCS(&retry->g, n, t)
            if (retry->comp[*t] == comp && *t != head && !reach[*t])
                reach[*t] = true, stack[top++] = *t;
    }
}

static void put_yield(Function *f, BlockId from, BlockId to) {
    BlockId mid = ir_split_edge(f, from, to);
    InstId y = ir_inst_new(f, OT_YIELD, isa_num_dst(OT_YIELD), isa_num_src(OT_YIELD));
    ir_inst(f, y)->loc = ir_inst(f, ir_block(f, mid)->insts.at[0])->loc;
    ir_insert(f, mid, 0, y);
}

/* Breaks the cycles through the head of one component. */
static void break_component(Retry *retry, const GraphOrder *o, uint32_t comp, uint32_t head) {
    ArenaMark mark = arena_mark(&retry->a);
    bool *reach = ARENA_ARRAY(&retry->a, bool, retry->g.n);
    reach_from_observing(retry, o, comp, head, reach);
    GRAPH_PREDS(&retry->g, head, p)
        if (retry->comp[*p] == comp && reach[*p])
            put_yield(retry->f, (BlockId){*p}, (BlockId){head});
    arena_release(&retry->a, mark);
}

static bool is_cyclic(const Retry *retry, const uint32_t *size, uint32_t n) {
    if (size[retry->comp[n]] > 1)
        return true;
    GRAPH_SUCCS(&retry->g, n, t)
        if (*t == n)
            return true;
    return false;
}

/* Does a lane that observes in the block, and comes to it again, wait for others? On each way back that is
 * all in a loop that ends alone it does not. */
static bool may_wait(const Retry *retry, const GraphOrder *o, uint32_t block) {
    for (uint32_t k = 0; k < o->count; k++)
        if (retry->in_set[o->order[k]] && retry->comp[o->order[k]] == retry->comp[block] &&
            reconv_may_wait_on_way(&retry->retries, block, o->order[k]))
            return true;
    return false;
}

static bool one_round(Function *f, const bool *observes) {
    Retry r = {.f = f};
    r.g = cfg_graph(&r.a, f);
    r.retries = reconv_find_retries(&r.a, f, &r.g);
    r.in_set = ARENA_ARRAY(&r.a, uint8_t, r.g.n);
    r.observing = ARENA_ARRAY(&r.a, bool, r.g.n);
    r.comp = ARENA_ARRAY(&r.a, uint32_t, r.g.n);
    classify_blocks(&r, observes);
    uint32_t n = graph_scc(&r.a, &r.g, r.in_set, r.comp);
    uint32_t *size = ARENA_ARRAY(&r.a, uint32_t, n + 1), *head = ARENA_ARRAY(&r.a, uint32_t, n + 1);
    bool *bad = ARENA_ARRAY(&r.a, bool, n + 1), changed = false;
    GraphOrder o = graph_order(&r.a, &r.g, f->entry.i);
    for (uint32_t k = 0; k < o.count; k++) {
        uint32_t b = o.order[k];
        if (!r.in_set[b])
            continue;
        if (!size[r.comp[b]]++)
            head[r.comp[b]] = b; /* first in reverse post-order: the header, where the loop has one */
        bad[r.comp[b]] |= r.observing[b] && may_wait(&r, &o, b);
    }
    for (uint32_t c = 0; c < n; c++)
        if (bad[c] && is_cyclic(&r, size, head[c])) {
            break_component(&r, &o, c, head[c]);
            changed = true;
        }
    arena_free(&r.a);
    return changed;
}

bool reconv_yield_retry_loops(Function *f, const bool *observes) {
    bool any = false;
    while (one_round(f, observes)) /* each round takes a head out of its cycles */
        any = true;
    if (any)
        ir_renumber(f);
    return any;
}
