/* Dominators, in time n log n: see ir/dominators.h. The algorithm is that of Lengauer and Tarjan ("A fast
 * algorithm for finding dominators in a flowgraph", TOPLAS 1979) with simple path compression.
 *
 * Nodes are handled by their number in a depth-first walk from the root. Every edge leads to a child of the
 * walk, up to an ancestor, or to a smaller number in another branch; what dominates a node is an ancestor.
 *
 *          0        semi[w], the semidominator: the smallest number from which a path leads to w over
 *        /   \      nodes numbered above w only. It is an ancestor of w, the highest from which one way
 *       1     4     round leads to w. Here the walk comes to 3 from 2, and 4 leads there too: the path
 *       |     |     0 4 3 has only 4 between, so semi[3] is 0, while semi[2] is 1.
 *       2     |
 *        \   /
 *          3
 *
 * find_dominators takes the numbers from the last to the first, so that the semi of all above w is known. For
 * semi[w] it asks each predecessor p: p itself, if p < w; else the smallest semi on p's way up the walk, over
 * nodes above w. eval answers that from a forest in which each node done so far hangs on its parent
 * (ancestor), with the node of smallest semi on the way (label); it shortens the ways that it goes.
 *
 * w then waits in the bucket of s = semi[w] until the child of s on the way to w hangs in the forest. Let u
 * be the node of smallest semi from there down to w. If semi[u] is s, nothing goes round s: dom[w] is s. Else
 * w has the dominator of u, which is known when the numbers are taken once more from the first to the last.
 *
 * The tree is numbered at the end so that "dominates" is a test of an interval (in, out).
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

static void number_nodes(Dominators *doms, Arena *a, const Graph *graph, uint32_t root) {
    uint32_t *at = graph_numbers(a, graph->n, 0),
             now = 0; /* `now` climbs and descends: parents are the stack */
    doms->number[root] = 0;
    doms->node[doms->count++] = root;
    doms->parent[0] = NO_NODE;
    while (now != NO_NODE) {
        uint32_t n = doms->node[now];
        if (graph->succ_at[n] + at[n] == graph->succ_at[n + 1]) {
            now = doms->parent[now];
            continue;
        }
        uint32_t s = graph->succ[graph->succ_at[n] + at[n]++];
        if (doms->number[s] != NO_NODE)
            continue;
        doms->number[s] = doms->count;
        doms->parent[doms->count] = now;
        now = doms->count;
        doms->node[doms->count++] = s;
    }
}

static uint32_t eval(Dominators *doms, uint32_t v) {
    uint32_t depth = 0;
    if (doms->ancestor[v] == NO_NODE)
        return v;
    for (uint32_t x = v; doms->ancestor[doms->ancestor[x]] != NO_NODE; x = doms->ancestor[x])
        doms->path[depth++] = x;
    while (depth) {
        uint32_t x = doms->path[--depth], up = doms->ancestor[x];
        if (doms->semi[doms->label[up]] < doms->semi[doms->label[x]])
            doms->label[x] = doms->label[up];
        doms->ancestor[x] = doms->ancestor[up];
    }
    return doms->label[v];
}

static void find_dominators(Dominators *doms, const Graph *graph) {
    for (uint32_t w = doms->count; w-- > 1;) {
        GRAPH_PREDS(graph, doms->node[w], p) {
            if (doms->number[*p] == NO_NODE)
                continue;
            uint32_t u = eval(doms, doms->number[*p]);
            if (doms->semi[u] < doms->semi[w])
                doms->semi[w] = doms->semi[u];
        }
        doms->next[w] = doms->bucket[doms->semi[w]];
        doms->bucket[doms->semi[w]] = w;
        uint32_t up = doms->parent[w];
        doms->ancestor[w] = up;
        for (uint32_t v = doms->bucket[up]; v != NO_NODE; v = doms->next[v]) {
            uint32_t u = eval(doms, v);
            doms->dom[v] = doms->semi[u] < doms->semi[v] ? u : up;
        }
        doms->bucket[up] = NO_NODE;
    }
    for (uint32_t w = 1; w < doms->count; w++)
        if (doms->dom[w] != doms->semi[w])
            doms->dom[w] = doms->dom[doms->dom[w]];
}

/* Number the tree so that "is an ancestor" is an interval test. */
static void number_tree(DomTree *tree, Arena *a, uint32_t n) {
    const GraphOrder *order = &tree->order;
    uint32_t *child = graph_numbers(a, n, NO_NODE), *sibling = graph_numbers(a, n, NO_NODE),
             *stack = graph_numbers(a, order->count + 1, 0);
    for (uint32_t k = order->count; k-- > 1;) {
        uint32_t b = order->order[k];
        sibling[b] = child[tree->idom[b]];
        child[tree->idom[b]] = b;
    }
    uint32_t top = 0, counter = 0;
    stack[top++] = order->order[0];
    tree->in[order->order[0]] = ++counter;
    while (top) {
        uint32_t b = stack[top - 1], c = child[b];
        if (c == NO_NODE) {
            tree->out[b] = ++counter;
            top--;
            continue;
        }
        child[b] = sibling[c];
        tree->in[c] = ++counter;
        tree->depth[c] = tree->depth[b] + 1;
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

uint32_t dom_common(const DomTree *tree, uint32_t a, uint32_t b) {
    while (!dom_contains(tree, a, b))
        a = tree->idom[a];
    return a;
}

void dom_frontier(const Graph *graph, const DomTree *tree, uint32_t node, Bitset *out) {
    bs_clear(out);
    for (uint32_t k = 0; k < tree->order.count; k++) {
        uint32_t n = tree->order.order[k];
        if (!dom_contains(tree, node, n))
            continue;
        GRAPH_SUCCS(graph, n, s)
            if (*s == node || !dom_contains(tree, node, *s))
                bs_add(out, *s);
    }
}
