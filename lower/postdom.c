/* Exit-insensitive post-dominators and the edits of the CFG that the analyses want: see cfg.h.
 * SPDX-License-Identifier: MIT */
#include "lower/cfg.h"
#include <string.h>

/* ---- sinks ---- */

enum { SINK_RETURN, SINK_EXIT, SINK_TRAP, SINK_LOOP, SINK_NONE };

typedef struct {
    Arena *a;
    const Function *f;
    const Graph *g;
    PostDom *p;
    uint32_t *kind;        /* [node] SINK_*; for a loop only its first node */
    uint32_t *mark, round; /* [node] == round: seen in this walk */
    uint32_t *stack;
    uint32_t *order; /* [node] position in the text */
} Sinks;

static uint32_t block_sink_kind(const Function *f, uint32_t b) {
    const Block *blk = &f->blocks.at[b];
    if (blk->succs.n || !blk->insts.n)
        return SINK_NONE;
    switch (f->insts.at[blk->insts.at[blk->insts.n - 1].i].op) {
    case OT_RET: return SINK_NONE; /* node 0 stands for it */
    case OT_EXIT: return SINK_EXIT;
    default: return SINK_TRAP;
    }
}

/* One candidate for every endless loop: the first node of a component without a way out. */
static void find_loop_sinks(Sinks *sinks, const GraphOrder *graph_order) {
    uint32_t *comp = ARENA_ARRAY(sinks->a, uint32_t, sinks->g->n);
    uint32_t n = graph_scc(sinks->a, sinks->g, NULL, comp);
    uint8_t *leaves = ARENA_ARRAY(sinks->a, uint8_t, n);
    for (uint32_t k = 0; k < graph_order->count; k++)
        GRAPH_SUCCS(sinks->g, graph_order->order[k], t)
    if (comp[*t] != comp[graph_order->order[k]])
        leaves[comp[graph_order->order[k]]] = 1;
    for (uint32_t k = 0; k < graph_order->count; k++) {
        uint32_t b = graph_order->order[k];
        if (leaves[comp[b]] || b == 0 || sinks->kind[b] != SINK_NONE)
            continue;
        leaves[comp[b]] = 1;
        sinks->kind[b] = SINK_LOOP;
    }
}

static void find_sinks(Sinks *sinks, const GraphOrder *graph_order) {
    for (uint32_t n = 0; n < sinks->g->n; n++)
        sinks->kind[n] = SINK_NONE;
    for (uint32_t k = 0; k < graph_order->count; k++) {
        uint32_t b = graph_order->order[k];
        sinks->kind[b] = b == 0 ? SINK_RETURN : block_sink_kind(sinks->f, b);
    }
    find_loop_sinks(sinks, graph_order);
}

/* Number of unassigned nodes from which `sink` is reached; they get the mark of this round. */
static uint32_t reach_back(Sinks *sinks, uint32_t sink) {
    uint32_t top = 0, count = 0;
    sinks->round++;
    sinks->stack[top++] = sink;
    sinks->mark[sink] = sinks->round;
    while (top) {
        uint32_t n = sinks->stack[--top];
        count++;
        GRAPH_PREDS(sinks->g, n, p)
        if (sinks->mark[*p] != sinks->round && sinks->p->region[*p] == NO_NODE) {
            sinks->mark[*p] = sinks->round;
            sinks->stack[top++] = *p;
        }
    }
    return count;
}

/* The next sink: a return, else an exit, else a trap, else an endless loop; of these the one reached from
 * most nodes, and the last in the text among equals. NO_NODE when all nodes have a region. */
static uint32_t choose_sink(Sinks *sinks, const GraphOrder *graph_order) {
    uint32_t best = NO_NODE, best_count = 0;
    for (uint32_t k = 0; k < graph_order->count; k++) {
        uint32_t b = graph_order->order[k];
        if (sinks->kind[b] == SINK_NONE || sinks->p->region[b] != NO_NODE)
            continue;
        if (best != NO_NODE && sinks->kind[b] > sinks->kind[best])
            continue;
        uint32_t count = reach_back(sinks, b);
        if (best == NO_NODE || sinks->kind[b] < sinks->kind[best] || count > best_count ||
            (count == best_count && sinks->order[b] > sinks->order[best]))
            best = b, best_count = count;
    }
    return best;
}

/* The nodes that reach the sink become a region; the tree over them comes from the reversed graph. */
static void build_region(Sinks *sinks, uint32_t sink) {
    PostDom *dom = sinks->p;
    uint32_t id = dom->nregions, count = reach_back(sinks, sink), n = 0;
    ArenaMark mark = arena_mark(sinks->a);
    uint32_t *nodes = ARENA_ARRAY(sinks->a, uint32_t, count),
             *local = sinks->stack; /* the walk is over: reuse */
    for (uint32_t k = 0; k < sinks->g->n; k++)
        if (sinks->mark[k] == sinks->round && dom->region[k] == NO_NODE)
            nodes[n++] = k;
    VEC(GraphEdge) edges = {0};
    for (uint32_t k = 0; k < n; k++)
        local[nodes[k]] = k;
    for (uint32_t k = 0; k < n; k++)
        GRAPH_SUCCS(sinks->g, nodes[k], t)
    if (sinks->mark[*t] == sinks->round && dom->region[*t] == NO_NODE && nodes[k] != sink)
        *VEC_PUSH(sinks->a, &edges) = (GraphEdge){local[*t], k};
    Graph r = graph_new(sinks->a, n, edges.at, edges.n);
    DomTree t = dom_tree(sinks->a, &r, local[sink]);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t b = nodes[k];
        dom->region[b] = id;
        dom->ipdom[b] = t.idom[k] == NO_NODE ? 0 : nodes[t.idom[k]];
        dom->depth[b] = t.depth[k];
        dom->in[b] = t.in[k];
        dom->out[b] = t.out[k];
    }
    arena_release(sinks->a, mark);
    dom->sink[dom->nregions++] = sink;
}

PostDom post_dominators(Arena *a, const Function *f, const Graph *graph, uint32_t root) {
    PostDom p = {0};
    p.region = ARENA_ARRAY(a, uint32_t, graph->n);
    p.sink = ARENA_ARRAY(a, uint32_t, graph->n);
    p.ipdom = ARENA_ARRAY(a, uint32_t, graph->n);
    p.depth = ARENA_ARRAY(a, uint32_t, graph->n);
    p.in = ARENA_ARRAY(a, uint32_t, graph->n);
    p.out = ARENA_ARRAY(a, uint32_t, graph->n);
    Sinks s = {.a = a, .f = f, .g = graph, .p = &p};
    s.kind = ARENA_ARRAY(a, uint32_t, graph->n);
    s.mark = ARENA_ARRAY(a, uint32_t, graph->n);
    s.stack = ARENA_ARRAY(a, uint32_t, graph->n);
    s.order = ARENA_ARRAY(a, uint32_t, graph->n);
    for (unsigned k = 0; k < f->layout.n; k++)
        s.order[f->layout.at[k].i] = k;
    for (uint32_t n = 0; n < graph->n; n++)
        p.region[n] = NO_NODE;
    GraphOrder o = graph_order(a, graph, root);
    /* nodes that are never reached must not count, nor join a region */
    for (uint32_t n = 0; n < graph->n; n++)
        if (o.index[n] == NO_NODE)
            p.region[n] = NO_NODE - 1;
    find_sinks(&s, &o);
    for (uint32_t sink; (sink = choose_sink(&s, &o)) != NO_NODE;)
        build_region(&s, sink);
    for (uint32_t n = 0; n < graph->n; n++)
        if (p.region[n] == NO_NODE - 1)
            p.region[n] = NO_NODE;
    return p;
}

/* ---- edits ---- */

void cfg_split_critical_edges(Function *f) {
    unsigned n = f->layout.n;
    BlockId *blocks = arena_copy(f->arena, f->layout.at, n * sizeof *blocks);
    for (unsigned k = 0; k < n; k++) {
        if (ir_block(f, blocks[k])->dead)
            continue;
        for (unsigned s = 0; s < ir_block(f, blocks[k])->succs.n; s++) {
            const Block *b = ir_block(f, blocks[k]);
            BlockId to = b->succs.at[s];
            /* BRX names its targets only in succs and its table: parallel edges share one block there */
            if (b->succs.n > 1 && ir_block(f, to)->preds.n > 1)
                ir_split_edge(f, blocks[k], to);
        }
    }
    ir_renumber(f);
}

bool cfg_remove_unreachable(Function *f) {
    Arena a = {0};
    Graph g = cfg_graph(&a, f);
    GraphOrder o = graph_order(&a, &g, f->entry.i);
    bool changed = false;
    for (unsigned k = 0; k < f->layout.n; k++) {
        BlockId b = f->layout.at[k];
        if (o.index[b.i] != NO_NODE)
            continue;
        while (ir_block(f, b)->succs.n)
            ir_remove_edge(f, b, ir_block(f, b)->succs.at[0]);
        ir_block(f, b)->dead = changed = true;
    }
    arena_free(&a);
    if (changed)
        ir_renumber(f);
    return changed;
}
