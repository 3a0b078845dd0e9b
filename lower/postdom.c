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
static void find_loop_sinks(Sinks *s, const GraphOrder *o) {
    uint32_t *comp = ARENA_ARRAY(s->a, uint32_t, s->g->n);
    uint32_t n = graph_scc(s->a, s->g, NULL, comp);
    uint8_t *leaves = ARENA_ARRAY(s->a, uint8_t, n);
    for (uint32_t k = 0; k < o->count; k++)
        GRAPH_SUCCS(s->g, o->order[k], t)
    if (comp[*t] != comp[o->order[k]])
        leaves[comp[o->order[k]]] = 1;
    for (uint32_t k = 0; k < o->count; k++) {
        uint32_t b = o->order[k];
        if (leaves[comp[b]] || b == 0 || s->kind[b] != SINK_NONE)
            continue;
        leaves[comp[b]] = 1;
        s->kind[b] = SINK_LOOP;
    }
}

static void find_sinks(Sinks *s, const GraphOrder *o) {
    for (uint32_t n = 0; n < s->g->n; n++)
        s->kind[n] = SINK_NONE;
    for (uint32_t k = 0; k < o->count; k++) {
        uint32_t b = o->order[k];
        s->kind[b] = b == 0 ? SINK_RETURN : block_sink_kind(s->f, b);
    }
    find_loop_sinks(s, o);
}

/* Number of unassigned nodes from which `sink` is reached; they get the mark of this round. */
static uint32_t reach_back(Sinks *s, uint32_t sink) {
    uint32_t top = 0, count = 0;
    s->round++;
    s->stack[top++] = sink;
    s->mark[sink] = s->round;
    while (top) {
        uint32_t n = s->stack[--top];
        count++;
        GRAPH_PREDS(s->g, n, p)
        if (s->mark[*p] != s->round && s->p->region[*p] == NO_NODE) {
            s->mark[*p] = s->round;
            s->stack[top++] = *p;
        }
    }
    return count;
}

/* The next sink: a return, else an exit, else a trap, else an endless loop; of these the one reached from
 * most nodes, and the last in the text among equals. NO_NODE when all nodes have a region. */
static uint32_t choose_sink(Sinks *s, const GraphOrder *o) {
    uint32_t best = NO_NODE, best_count = 0;
    for (uint32_t k = 0; k < o->count; k++) {
        uint32_t b = o->order[k];
        if (s->kind[b] == SINK_NONE || s->p->region[b] != NO_NODE)
            continue;
        if (best != NO_NODE && s->kind[b] > s->kind[best])
            continue;
        uint32_t count = reach_back(s, b);
        if (best == NO_NODE || s->kind[b] < s->kind[best] || count > best_count ||
            (count == best_count && s->order[b] > s->order[best]))
            best = b, best_count = count;
    }
    return best;
}

/* The nodes that reach the sink become a region; the tree over them comes from the reversed graph. */
static void build_region(Sinks *s, uint32_t sink) {
    PostDom *p = s->p;
    uint32_t id = p->nregions, count = reach_back(s, sink), n = 0;
    ArenaMark mark = arena_mark(s->a);
    uint32_t *nodes = ARENA_ARRAY(s->a, uint32_t, count), *local = s->stack; /* the walk is over: reuse */
    for (uint32_t k = 0; k < s->g->n; k++)
        if (s->mark[k] == s->round && p->region[k] == NO_NODE)
            nodes[n++] = k;
    VEC(GraphEdge) edges = {0};
    for (uint32_t k = 0; k < n; k++)
        local[nodes[k]] = k;
    for (uint32_t k = 0; k < n; k++)
        GRAPH_SUCCS(s->g, nodes[k], t)
    if (s->mark[*t] == s->round && p->region[*t] == NO_NODE && nodes[k] != sink)
        *VEC_PUSH(s->a, &edges) = (GraphEdge){local[*t], k};
    Graph r = graph_new(s->a, n, edges.at, edges.n);
    DomTree t = dom_tree(s->a, &r, local[sink]);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t b = nodes[k];
        p->region[b] = id;
        p->ipdom[b] = t.idom[k] == NO_NODE ? 0 : nodes[t.idom[k]];
        p->depth[b] = t.depth[k];
        p->in[b] = t.in[k];
        p->out[b] = t.out[k];
    }
    arena_release(s->a, mark);
    p->sink[p->nregions++] = sink;
}

PostDom post_dominators(Arena *a, const Function *f, const Graph *g, uint32_t root) {
    PostDom p = {0};
    p.region = ARENA_ARRAY(a, uint32_t, g->n);
    p.sink = ARENA_ARRAY(a, uint32_t, g->n);
    p.ipdom = ARENA_ARRAY(a, uint32_t, g->n);
    p.depth = ARENA_ARRAY(a, uint32_t, g->n);
    p.in = ARENA_ARRAY(a, uint32_t, g->n);
    p.out = ARENA_ARRAY(a, uint32_t, g->n);
    Sinks s = {.a = a, .f = f, .g = g, .p = &p};
    s.kind = ARENA_ARRAY(a, uint32_t, g->n);
    s.mark = ARENA_ARRAY(a, uint32_t, g->n);
    s.stack = ARENA_ARRAY(a, uint32_t, g->n);
    s.order = ARENA_ARRAY(a, uint32_t, g->n);
    for (unsigned k = 0; k < f->layout.n; k++)
        s.order[f->layout.at[k].i] = k;
    for (uint32_t n = 0; n < g->n; n++)
        p.region[n] = NO_NODE;
    GraphOrder o = graph_order(a, g, root);
    /* nodes that are never reached must not count, nor join a region */
    for (uint32_t n = 0; n < g->n; n++)
        if (o.index[n] == NO_NODE)
            p.region[n] = NO_NODE - 1;
    find_sinks(&s, &o);
    for (uint32_t sink; (sink = choose_sink(&s, &o)) != NO_NODE;)
        build_region(&s, sink);
    for (uint32_t n = 0; n < g->n; n++)
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
