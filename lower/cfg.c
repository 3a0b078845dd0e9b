/* Graph analyses: see cfg.h. All walks are iterative, so that no CFG can exhaust the stack.
 * SPDX-License-Identifier: MIT */
#include "lower/cfg.h"
#include <string.h>

/* ---- graphs ---- */

static uint32_t *filled(Arena *a, uint32_t n, uint32_t value) {
    uint32_t *p = ARENA_ARRAY(a, uint32_t, n);
    for (uint32_t k = 0; value && k < n; k++)
        p[k] = value;
    return p;
}

Graph graph_new(Arena *a, uint32_t n, const GraphEdge *edges, uint32_t nedges) {
    Graph g = {.n = n};
    g.succ_at = filled(a, n + 1, 0);
    g.pred_at = filled(a, n + 1, 0);
    g.succ = filled(a, nedges, 0);
    g.pred = filled(a, nedges, 0);
    for (uint32_t k = 0; k < nedges; k++)
        g.succ_at[edges[k].from + 1]++, g.pred_at[edges[k].to + 1]++;
    for (uint32_t k = 0; k < n; k++)
        g.succ_at[k + 1] += g.succ_at[k], g.pred_at[k + 1] += g.pred_at[k];
    uint32_t *s = arena_copy(a, g.succ_at, n * sizeof *s), *p = arena_copy(a, g.pred_at, n * sizeof *p);
    for (uint32_t k = 0; k < nedges; k++)
        g.succ[s[edges[k].from]++] = edges[k].to, g.pred[p[edges[k].to]++] = edges[k].from;
    return g;
}

Graph graph_reversed(const Graph *graph) {
    return (Graph){graph->n, graph->pred_at, graph->pred, graph->succ_at, graph->succ};
}

Graph cfg_graph(Arena *a, const Function *f) {
    VEC(GraphEdge) edges = {0};
    for (unsigned k = 0; k < f->layout.n; k++) {
        uint32_t b = f->layout.at[k].i;
        const Block *blk = &f->blocks.at[b];
        if (blk->dead)
            continue;
        for (unsigned s = 0; s < blk->succs.n; s++)
            *VEC_PUSH(a, &edges) = (GraphEdge){b, blk->succs.at[s].i};
        for (unsigned p = 0; p < blk->insts.n; p++)
            if (f->insts.at[blk->insts.at[p].i].op == OT_RET) {
                *VEC_PUSH(a, &edges) = (GraphEdge){b, 0};
                break;
            }
    }
    return graph_new(a, f->blocks.n, edges.at, edges.n);
}

GraphOrder graph_order(Arena *a, const Graph *graph, uint32_t root) {
    GraphOrder o = {.order = filled(a, graph->n, 0), .index = filled(a, graph->n, NO_NODE)};
    uint32_t *stack = filled(a, graph->n, 0), *next = filled(a, graph->n, 0), depth = 0, done = 0;
    stack[depth++] = root;
    o.index[root] = 0;
    while (depth) {
        uint32_t n = stack[depth - 1];
        if (graph->succ_at[n] + next[n] < graph->succ_at[n + 1]) {
            uint32_t s = graph->succ[graph->succ_at[n] + next[n]++];
            if (o.index[s] == NO_NODE)
                o.index[s] = 0, stack[depth++] = s;
        } else {
            o.order[done++] = n;
            depth--;
        }
    }
    for (uint32_t k = 0; k < done / 2; k++) {
        uint32_t t = o.order[k];
        o.order[k] = o.order[done - 1 - k];
        o.order[done - 1 - k] = t;
    }
    for (uint32_t k = 0; k < done; k++)
        o.index[o.order[k]] = k;
    o.count = done;
    return o;
}

/* ---- strongly connected components: Tarjan ---- */

typedef struct {
    const Graph *g;
    const uint8_t *in_set;
    uint32_t *comp, *number, *low, *next, *walk, *open;
    uint32_t counter, count, nopen;
} Scc;

static void scc_close(Scc *scc, uint32_t n) { /* n is the first node of its component */
    uint32_t m;
    do {
        m = scc->open[--scc->nopen];
        scc->comp[m] = scc->count;
    } while (m != n);
    scc->count++;
}

static void scc_walk(Scc *scc, uint32_t root) {
    const Graph *graph = scc->g;
    uint32_t depth = 0;
    scc->walk[depth++] = root;
    while (depth) {
        uint32_t n = scc->walk[depth - 1];
        if (!scc->number[n]) {
            scc->number[n] = scc->low[n] = ++scc->counter;
            scc->open[scc->nopen++] = n;
        }
        if (graph->succ_at[n] + scc->next[n] < graph->succ_at[n + 1]) {
            uint32_t t = graph->succ[graph->succ_at[n] + scc->next[n]++];
            if (scc->in_set && !scc->in_set[t])
                continue;
            if (!scc->number[t])
                scc->walk[depth++] = t;
            else if (scc->comp[t] == NO_NODE && scc->number[t] < scc->low[n])
                scc->low[n] = scc->number[t];
            continue;
        }
        if (scc->low[n] == scc->number[n])
            scc_close(scc, n);
        depth--;
        if (depth && scc->low[n] < scc->low[scc->walk[depth - 1]])
            scc->low[scc->walk[depth - 1]] = scc->low[n];
    }
}

static Scc scc_new(Arena *a, const Graph *graph, const uint8_t *in_set, uint32_t *comp) {
    Scc s = {.g = graph, .in_set = in_set, .comp = comp};
    s.number = filled(a, graph->n, 0);
    s.low = filled(a, graph->n, 0);
    s.next = filled(a, graph->n, 0);
    s.walk = filled(a, graph->n, 0);
    s.open = filled(a, graph->n, 0);
    for (uint32_t n = 0; n < graph->n; n++)
        comp[n] = NO_NODE;
    return s;
}

uint32_t graph_scc(Arena *a, const Graph *graph, const uint8_t *in_set, uint32_t *comp) {
    Scc s = scc_new(a, graph, in_set, comp);
    for (uint32_t n = 0; n < graph->n; n++)
        if (!s.number[n] && (!in_set || in_set[n]))
            scc_walk(&s, n);
    return s.count;
}

/* ---- dominators: Cooper, Harvey, Kennedy ---- */

/* Number the tree so that "is an ancestor" is an interval test. */
static void number_tree(Arena *a, const uint32_t *parent, const GraphOrder *graph_order, uint32_t n,
                        uint32_t *in, uint32_t *out, uint32_t *depth) {
    uint32_t *child = filled(a, n, NO_NODE), *sibling = filled(a, n, NO_NODE),
             *stack = filled(a, graph_order->count + 1, 0);
    for (uint32_t k = graph_order->count; k-- > 1;) {
        uint32_t b = graph_order->order[k];
        sibling[b] = child[parent[b]];
        child[parent[b]] = b;
    }
    uint32_t top = 0, counter = 0;
    stack[top++] = graph_order->order[0];
    in[graph_order->order[0]] = ++counter;
    depth[graph_order->order[0]] = 0;
    while (top) {
        uint32_t b = stack[top - 1], c = child[b];
        if (c == NO_NODE) {
            out[b] = ++counter;
            top--;
            continue;
        }
        child[b] = sibling[c];
        in[c] = ++counter;
        depth[c] = depth[b] + 1;
        stack[top++] = c;
    }
}

DomTree dom_tree(Arena *a, const Graph *graph, uint32_t root) {
    DomTree t = {.root = root, .order = graph_order(a, graph, root)};
    const GraphOrder *o = &t.order;
    t.idom = filled(a, graph->n, NO_NODE);
    t.depth = filled(a, graph->n, 0);
    t.in = filled(a, graph->n, 0);
    t.out = filled(a, graph->n, 0);
    uint32_t *dom = filled(a, o->count, NO_NODE); /* by position in the order */
    dom[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 1; k < o->count; k++) {
            uint32_t d = NO_NODE;
            GRAPH_PREDS(graph, o->order[k], p) {
                uint32_t x = o->index[*p];
                if (x == NO_NODE || dom[x] == NO_NODE)
                    continue;
                while (d != NO_NODE && x != d) {
                    if (x > d)
                        x = dom[x];
                    else
                        d = dom[d];
                }
                d = x;
            }
            if (dom[k] != d)
                dom[k] = d, changed = true;
        }
    }
    for (uint32_t k = 1; k < o->count; k++)
        t.idom[o->order[k]] = o->order[dom[k]];
    number_tree(a, t.idom, o, graph->n, t.in, t.out, t.depth);
    return t;
}

void dom_frontier(const Graph *g, const DomTree *tree, uint32_t node, Bitset *out) {
    bs_clear(out);
    for (uint32_t k = 0; k < tree->order.count; k++) {
        uint32_t n = tree->order.order[k];
        if (!dom_contains(tree, node, n))
            continue;
        GRAPH_SUCCS(g, n, s)
        if (*s == node || !dom_contains(tree, node, *s))
            bs_add(out, *s);
    }
}

/* ---- loops ---- */

typedef struct {
    Arena *a;
    const Graph *g;
    GraphOrder order;
    VEC(Loop) loops;
    uint32_t *innermost;
    uint8_t *in_set;
    Scc scc; /* its arrays serve every set; the nodes of a set are reset first */
} LoopBuild;

static uint32_t add_loop(LoopBuild *lb, const uint32_t *nodes, uint32_t count, uint32_t parent) {
    Loop l = {
        .header = NO_NODE, .parent = parent, .depth = parent == NO_NODE ? 1 : lb->loops.at[parent].depth + 1};
    uint32_t entries = 0, first = nodes[0];
    for (uint32_t k = 0; k < count; k++)
        lb->in_set[nodes[k]] = 2;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t n = nodes[k];
        bool entry = lb->order.index[n] == 0;
        GRAPH_PREDS(lb->g, n, p)
        entry |= lb->in_set[*p] != 2 && lb->order.index[*p] != NO_NODE;
        if (lb->order.index[n] < lb->order.index[first])
            first = n;
        entries += entry;
        if (entry && (l.header == NO_NODE || lb->order.index[n] < lb->order.index[l.header]))
            l.header = n;
    }
    if (l.header == NO_NODE)
        l.header = first;
    l.irreducible = entries > 1;
    uint32_t id = lb->loops.n;
    *VEC_PUSH(lb->a, &lb->loops) = l;
    for (uint32_t k = 0; k < count; k++)
        lb->in_set[nodes[k]] = 0, lb->innermost[nodes[k]] = id;
    return id;
}

typedef struct {
    uint32_t *nodes, count, parent;
} NodeSet;

/* Sort the nodes of `set` by component; *start has one more entry than there are components. */
static uint32_t *sort_by_component(LoopBuild *lb, const NodeSet *set, uint32_t **start) {
    Scc *s = &lb->scc;
    s->count = s->counter = 0;
    for (uint32_t k = 0; k < set->count; k++) {
        uint32_t n = set->nodes[k];
        lb->in_set[n] = 1;
        s->number[n] = s->next[n] = 0;
        s->comp[n] = NO_NODE;
    }
    for (uint32_t k = 0; k < set->count; k++)
        if (!s->number[set->nodes[k]])
            scc_walk(s, set->nodes[k]);
    uint32_t *at = filled(lb->a, s->count + 2, 0), *sorted = filled(lb->a, set->count, 0);
    for (uint32_t k = 0; k < set->count; k++)
        at[s->comp[set->nodes[k]] + 2]++;
    for (uint32_t k = 1; k <= s->count; k++)
        at[k + 1] += at[k];
    for (uint32_t k = 0; k < set->count; k++) {
        sorted[at[s->comp[set->nodes[k]] + 1]++] = set->nodes[k];
        lb->in_set[set->nodes[k]] = 0;
    }
    *start = at;
    return sorted;
}

/* The components of `set` that are cycles become loops; what is left of each without its header is pushed. */
static void split_set(LoopBuild *lb, const NodeSet *set, NodeSet *todo, uint32_t *ntodo) {
    uint32_t *start, *sorted = sort_by_component(lb, set, &start), ncomp = lb->scc.count;
    for (uint32_t c = 0; c < ncomp; c++) {
        uint32_t *nodes = sorted + start[c], n = start[c + 1] - start[c];
        bool cyclic = n > 1;
        GRAPH_SUCCS(lb->g, nodes[0], t)
        cyclic |= *t == nodes[0];
        if (!cyclic)
            continue;
        uint32_t id = add_loop(lb, nodes, n, set->parent), m = 0;
        for (uint32_t k = 0; k < n; k++)
            if (nodes[k] != lb->loops.at[id].header)
                nodes[m++] = nodes[k];
        if (m)
            todo[(*ntodo)++] = (NodeSet){nodes, m, id};
    }
}

/* Number the loops by a walk over the forest. Parents stand before their children, so that sizes add up
 * backwards and places are dealt out forwards. */
static void number_loops(Arena *a, Loop *loops, uint32_t n) {
    uint32_t *size = filled(a, n, 1), *next = filled(a, n, 0), top = 0;
    for (uint32_t k = n; k-- > 0;)
        if (loops[k].parent != NO_NODE)
            size[loops[k].parent] += size[k];
    for (uint32_t k = 0; k < n; k++) {
        uint32_t *at = loops[k].parent == NO_NODE ? &top : &next[loops[k].parent];
        loops[k].in = *at;
        loops[k].out = *at += size[k];
        next[k] = loops[k].in + 1;
    }
}

LoopForest loop_forest(Arena *a, const Graph *graph, uint32_t root) {
    LoopBuild lb = {.a = a, .g = graph, .order = graph_order(a, graph, root)};
    lb.innermost = filled(a, graph->n, NO_NODE);
    lb.in_set = ARENA_ARRAY(a, uint8_t, graph->n);
    lb.scc = scc_new(a, graph, lb.in_set, filled(a, graph->n, 0));
    NodeSet *todo = ARENA_ARRAY(a, NodeSet, graph->n + 1);
    uint32_t ntodo = 0;
    todo[ntodo++] =
        (NodeSet){arena_copy(a, lb.order.order, lb.order.count * sizeof(uint32_t)), lb.order.count, NO_NODE};
    while (ntodo) {
        NodeSet set = todo[--ntodo];
        split_set(&lb, &set, todo, &ntodo);
    }
    number_loops(a, lb.loops.at, lb.loops.n);
    return (LoopForest){lb.loops.at, lb.loops.n, lb.innermost};
}

bool loop_contains(const LoopForest *forest, uint32_t loop, uint32_t node) {
    uint32_t at = forest->innermost[node];
    return at != NO_NODE && forest->at[loop].in <= forest->at[at].in &&
           forest->at[at].in < forest->at[loop].out;
}
