/* Graphs, orders and strongly connected components: see ir/graph.h.
 * SPDX-License-Identifier: MIT */
#include "ir/graph.h"

/* ---- graphs ---- */

uint32_t *graph_numbers(Arena *a, uint32_t n, uint32_t value) {
    uint32_t *p = ARENA_ARRAY(a, uint32_t, n);
    for (uint32_t k = 0; value && k < n; k++)
        p[k] = value;
    return p;
}

Graph graph_new(Arena *a, uint32_t n, const GraphEdge *edges, uint32_t nedges) {
    Graph g = {.n = n};
    g.succ_at = graph_numbers(a, n + 1, 0);
    g.pred_at = graph_numbers(a, n + 1, 0);
    g.succ = graph_numbers(a, nedges, 0);
    g.pred = graph_numbers(a, nedges, 0);
    for (uint32_t k = 0; k < nedges; k++)
        g.succ_at[edges[k].from + 1]++, g.pred_at[edges[k].to + 1]++;
    for (uint32_t k = 0; k < n; k++)
        g.succ_at[k + 1] += g.succ_at[k], g.pred_at[k + 1] += g.pred_at[k];
    uint32_t *s = arena_copy(a, g.succ_at, n * sizeof *s), *p = arena_copy(a, g.pred_at, n * sizeof *p);
    for (uint32_t k = 0; k < nedges; k++)
        g.succ[s[edges[k].from]++] = edges[k].to, g.pred[p[edges[k].to]++] = edges[k].from;
    return g;
}

Graph graph_directed(const Graph *graph, GraphDirection direction) {
    if (direction == GRAPH_FORWARD)
        return *graph;
    return (Graph){graph->n, graph->pred_at, graph->pred, graph->succ_at, graph->succ};
}

GraphOrder graph_order_as(Arena *a, const Graph *graph, uint32_t root, GraphWalk walk) {
    GraphOrder o = {.order = graph_numbers(a, graph->n, 0), .index = graph_numbers(a, graph->n, NO_NODE)};
    uint32_t *stack = graph_numbers(a, graph->n, 0), *next = graph_numbers(a, graph->n, 0), depth = 0,
             done = 0;
    stack[depth++] = root;
    o.index[root] = 0;
    while (depth) {
        uint32_t n = stack[depth - 1];
        uint32_t k = next[n]++, nsuccs = graph->succ_at[n + 1] - graph->succ_at[n];
        if (k < nsuccs) {
            uint32_t s = graph->succ[graph->succ_at[n] + (walk == GRAPH_FIRST_SUCC ? k : nsuccs - 1 - k)];
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

GraphOrder graph_order(Arena *a, const Graph *graph, uint32_t root) {
    return graph_order_as(a, graph, root, GRAPH_FIRST_SUCC);
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
    s.number = graph_numbers(a, graph->n, 0);
    s.low = graph_numbers(a, graph->n, 0);
    s.next = graph_numbers(a, graph->n, 0);
    s.walk = graph_numbers(a, graph->n, 0);
    s.open = graph_numbers(a, graph->n, 0);
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
