/* A function's control flow as a graph, exit-insensitive post-dominators, edits: see ir/cfg.h.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"

Graph cfg_graph(Arena *a, const Function *f) {
    VEC(GraphEdge) edges = {0};
    FOR_BLOCKS(f, b) {
        const Block *blk = &f->blocks.at[b.i];
        if (blk->dead)
            continue;
        for (unsigned s = 0; s < blk->succs.n; s++)
            *VEC_PUSH(a, &edges) = (GraphEdge){b.i, blk->succs.at[s].i};
        FOR_INSTS(f, b, i)
            if (i->op == OT_RET) {
                *VEC_PUSH(a, &edges) = (GraphEdge){b.i, 0};
                break;
            }
    }
    return graph_new(a, f->blocks.n, edges.at, edges.n);
}

/* ---- sinks ---- */

enum { SINK_RETURN, SINK_EXIT, SINK_TRAP, SINK_LOOP, SINK_NONE };

typedef struct {
    Arena *a;
    const Function *f;
    const Graph *g;
    PostDom *p;
    uint32_t *kind;        /* [node] SINK_*; for a loop only its first node */
    uint32_t *mark, round; /* [node] == round: seen in this walk */
    uint32_t *seen;        /* the nodes of the walk */
    uint32_t *local;       /* [node] its number in a region's graph */
    uint32_t *order;       /* [node] position in the text */
    uint32_t *heap, nheap; /* candidates, the next one first */
    uint32_t *reached;     /* [node] a candidate: from how many nodes at most */
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
    for (uint32_t k = 0; k < graph_order->count; k++) {
        uint32_t b = graph_order->order[k];
        sinks->kind[b] = b == 0 ? SINK_RETURN : block_sink_kind(sinks->f, b);
    }
    find_loop_sinks(sinks, graph_order);
}

/* Number of unassigned nodes from which `sink` is reached: they are seen[0 .. that - 1] and have the mark of
 * this round. */
static uint32_t reach_back(Sinks *sinks, uint32_t sink) {
    uint32_t count = 0;
    sinks->round++;
    sinks->seen[count++] = sink;
    sinks->mark[sink] = sinks->round;
    for (uint32_t k = 0; k < count; k++)
        GRAPH_PREDS(sinks->g, sinks->seen[k], p)
            if (sinks->mark[*p] != sinks->round && sinks->p->region[*p] == NO_NODE) {
                sinks->mark[*p] = sinks->round;
                sinks->seen[count++] = *p;
            }
    return count;
}

/* Is sink x taken before y? A return, else an exit, else a trap, else an endless loop; of these the one
 * reached from most nodes, and the last in the text among equals. */
static bool before(const Sinks *sinks, uint32_t x, uint32_t y) {
    if (sinks->kind[x] != sinks->kind[y])
        return sinks->kind[x] < sinks->kind[y];
    return sinks->reached[x] != sinks->reached[y] ? sinks->reached[x] > sinks->reached[y]
                                                  : sinks->order[x] > sinks->order[y];
}

static void sift_down(Sinks *sinks) {
    for (uint32_t at = 0, down; (down = 2 * at + 1) < sinks->nheap; at = down) {
        if (down + 1 < sinks->nheap && before(sinks, sinks->heap[down + 1], sinks->heap[down]))
            down++;
        if (!before(sinks, sinks->heap[down], sinks->heap[at]))
            return;
        uint32_t t = sinks->heap[at];
        sinks->heap[at] = sinks->heap[down];
        sinks->heap[down] = t;
    }
}

/* The next sink, NO_NODE when all nodes have a region. What `reached` says may be too much, never too little,
 * as nodes only go to earlier regions: so the one on top is the next as soon as its own number holds. */
static uint32_t choose_sink(Sinks *sinks) {
    while (sinks->nheap) {
        uint32_t top = sinks->heap[0], count = 0;
        if (sinks->p->region[top] == NO_NODE)
            count = reach_back(sinks, top);
        if (count && count == sinks->reached[top])
            return top;
        sinks->reached[top] = count;
        if (!count)
            sinks->heap[0] = sinks->heap[--sinks->nheap];
        sift_down(sinks);
    }
    return NO_NODE;
}

static void collect_sinks(Sinks *sinks, const GraphOrder *order) {
    for (uint32_t k = 0; k < order->count;
         k++) { /* equal numbers: by text alone, which any insertion order gives */
        uint32_t b = order->order[k], at = sinks->nheap;
        if (sinks->kind[b] == SINK_NONE)
            continue;
        sinks->reached[b] = UINT32_MAX;
        for (sinks->heap[sinks->nheap++] = b; at && before(sinks, b, sinks->heap[(at - 1) / 2]);
             at = (at - 1) / 2) {
            sinks->heap[at] = sinks->heap[(at - 1) / 2];
            sinks->heap[(at - 1) / 2] = b;
        }
    }
}

/* The nodes that reach the sink (the last ones seen) become a region with a tree of its own. */
static void build_region(Sinks *sinks, uint32_t sink) {
    PostDom *dom = sinks->p;
    uint32_t id = dom->nregions, n = sinks->reached[sink], *local = sinks->local;
    const uint32_t *nodes = sinks->seen;
    ArenaMark mark = arena_mark(sinks->a);
    VEC(GraphEdge) edges = {0};
    for (uint32_t k = 0; k < n; k++)
        local[nodes[k]] = k;
    for (uint32_t k = 0; k < n; k++)
        GRAPH_SUCCS(sinks->g, nodes[k], t)
            if (sinks->mark[*t] == sinks->round && nodes[k] != sink)
                *VEC_PUSH(sinks->a, &edges) = (GraphEdge){k, local[*t]};
    Graph region = graph_new(sinks->a, n, edges.at, edges.n);
    DomTree t = dom_tree(sinks->a, &region, GRAPH_BACKWARD, local[sink]);
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

PostDom cfg_post_dominators(Arena *a, const Function *f, const Graph *graph, uint32_t root) {
    uint32_t n = graph->n;
    PostDom p = {.region = graph_numbers(a, n, NO_NODE), .sink = graph_numbers(a, n, 0)};
    p.ipdom = graph_numbers(a, n, 0);
    p.depth = graph_numbers(a, n, 0);
    p.in = graph_numbers(a, n, 0);
    p.out = graph_numbers(a, n, 0);
    Sinks s = {.a = a, .f = f, .g = graph, .p = &p, .kind = graph_numbers(a, n, SINK_NONE)};
    s.mark = graph_numbers(a, n, 0);
    s.seen = graph_numbers(a, n, 0);
    s.local = graph_numbers(a, n, 0);
    s.order = graph_numbers(a, n, 0);
    s.heap = graph_numbers(a, n, 0);
    s.reached = graph_numbers(a, n, 0);
    FOR_BLOCKS(f, b)
        s.order[b.i] = AT(b);
    GraphOrder o = graph_order(a, graph, root);
    /* nodes that are never reached must not count, nor join a region */
    for (uint32_t k = 0; k < n; k++)
        if (o.index[k] == NO_NODE)
            p.region[k] = NO_NODE - 1;
    find_sinks(&s, &o);
    collect_sinks(&s, &o);
    for (uint32_t sink; (sink = choose_sink(&s)) != NO_NODE;)
        build_region(&s, sink);
    for (uint32_t k = 0; k < n; k++)
        if (p.region[k] == NO_NODE - 1)
            p.region[k] = NO_NODE;
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
    FOR_BLOCKS(f, b) {
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
