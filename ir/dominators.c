/* Dominators: see ir/dominators.h. Nodes are handled by their number in a depth-first walk. semi[w] is the
 * smallest number from which a path leads to w over nodes numbered above w only; link and eval keep, in a
 * forest that grows from the last number to the first, the smallest semi on the way up.
 * SPDX-License-Identifier: MIT */
#include "ir/dominators.h"

typedef struct {
    uint32_t count;
    uint32_t *node, *number; /* [number] node; [node] number or NO_NODE */
    uint32_t *parent;        /* of the walk; this and what follows: [number] */
    uint32_t *semi, *dom;
    uint32_t *ancestor, *label; /* the forest; NO_NODE at a root */
    uint32_t *bucket, *next;    /* nodes of one semi */
    uint32_t *path;
} Dominators;

static void number_nodes(Dominators *d, Arena *a, const Graph *graph, uint32_t root) {
    uint32_t *at = graph_numbers(a, graph->n, 0),
             now = 0; /* `now` climbs and descends: parents are the stack */
    d->number[root] = 0;
    d->node[d->count++] = root;
    d->parent[0] = NO_NODE;
    while (now != NO_NODE) {
        uint32_t n = d->node[now];
        if (graph->succ_at[n] + at[n] == graph->succ_at[n + 1]) {
            now = d->parent[now];
            continue;
        }
        uint32_t s = graph->succ[graph->succ_at[n] + at[n]++];
        if (d->number[s] != NO_NODE)
            continue;
        d->number[s] = d->count;
        d->parent[d->count] = now;
        now = d->count;
        d->node[d->count++] = s;
    }
}

static uint32_t eval(Dominators *d, uint32_t v) {
    uint32_t depth = 0;
    if (d->ancestor[v] == NO_NODE)
        return v;
    for (uint32_t x = v; d->ancestor[d->ancestor[x]] != NO_NODE; x = d->ancestor[x])
        d->path[depth++] = x;
    while (depth) {
        uint32_t x = d->path[--depth], up = d->ancestor[x];
        if (d->semi[d->label[up]] < d->semi[d->label[x]])
            d->label[x] = d->label[up];
        d->ancestor[x] = d->ancestor[up];
    }
    return d->label[v];
}

static void find_dominators(Dominators *d, const Graph *graph) {
    for (uint32_t w = d->count; w-- > 1;) {
        GRAPH_PREDS(graph, d->node[w], p) {
            if (d->number[*p] == NO_NODE)
                continue;
            uint32_t u = eval(d, d->number[*p]);
            if (d->semi[u] < d->semi[w])
                d->semi[w] = d->semi[u];
        }
        d->next[w] = d->bucket[d->semi[w]];
        d->bucket[d->semi[w]] = w;
        uint32_t up = d->parent[w];
        d->ancestor[w] = up;
        for (uint32_t v = d->bucket[up]; v != NO_NODE; v = d->next[v]) {
            uint32_t u = eval(d, v);
            d->dom[v] = d->semi[u] < d->semi[v] ? u : up;
        }
        d->bucket[up] = NO_NODE;
    }
    for (uint32_t w = 1; w < d->count; w++)
        if (d->dom[w] != d->semi[w])
            d->dom[w] = d->dom[d->dom[w]];
}

/* Number the tree so that "is an ancestor" is an interval test. */
static void number_tree(DomTree *t, Arena *a, uint32_t n) {
    const GraphOrder *o = &t->order;
    uint32_t *child = graph_numbers(a, n, NO_NODE), *sibling = graph_numbers(a, n, NO_NODE),
             *stack = graph_numbers(a, o->count + 1, 0);
    for (uint32_t k = o->count; k-- > 1;) {
        uint32_t b = o->order[k];
        sibling[b] = child[t->idom[b]];
        child[t->idom[b]] = b;
    }
    uint32_t top = 0, counter = 0;
    stack[top++] = o->order[0];
    t->in[o->order[0]] = ++counter;
    while (top) {
        uint32_t b = stack[top - 1], c = child[b];
        if (c == NO_NODE) {
            t->out[b] = ++counter;
            top--;
            continue;
        }
        child[b] = sibling[c];
        t->in[c] = ++counter;
        t->depth[c] = t->depth[b] + 1;
        stack[top++] = c;
    }
}

DomTree dom_tree(Arena *a, const Graph *graph, GraphDirection direction, uint32_t root) {
    Graph g = graph_directed(graph, direction);
    uint32_t n = g.n;
    DomTree t = {.root = root, .order = graph_order(a, &g, root)};
    t.idom = graph_numbers(a, n, NO_NODE);
    t.depth = graph_numbers(a, n, 0);
    t.in = graph_numbers(a, n, 0);
    t.out = graph_numbers(a, n, 0);
    ArenaMark mark = arena_mark(a);
    Dominators d = {.node = graph_numbers(a, n, 0), .number = graph_numbers(a, n, NO_NODE)};
    d.parent = graph_numbers(a, n, 0);
    d.semi = graph_numbers(a, n, 0);
    d.dom = graph_numbers(a, n, 0);
    d.ancestor = graph_numbers(a, n, NO_NODE);
    d.label = graph_numbers(a, n, 0);
    d.bucket = graph_numbers(a, n, NO_NODE);
    d.next = graph_numbers(a, n, 0);
    d.path = graph_numbers(a, n, 0);
    for (uint32_t k = 0; k < n; k++)
        d.semi[k] = d.label[k] = k;
    number_nodes(&d, a, &g, root);
    find_dominators(&d, &g);
    for (uint32_t w = 1; w < d.count; w++)
        t.idom[d.node[w]] = d.node[d.dom[w]];
    number_tree(&t, a, n);
    arena_release(a, mark);
    return t;
}

uint32_t dom_common(const DomTree *t, uint32_t a, uint32_t b) {
    while (!dom_contains(t, a, b))
        a = t->idom[a];
    return a;
}

void dom_frontier(const Graph *graph, const DomTree *t, uint32_t node, Bitset *out) {
    bs_clear(out);
    for (uint32_t k = 0; k < t->order.count; k++) {
        uint32_t n = t->order.order[k];
        if (!dom_contains(t, node, n))
            continue;
        GRAPH_SUCCS(graph, n, s)
            if (*s == node || !dom_contains(t, node, *s))
                bs_add(out, *s);
    }
}
