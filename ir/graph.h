/* Graphs as plain arrays of successor numbers, and what can be said of any of them: orders and strongly
 * connected components; ir/dominators.h and ir/loops.h build on them. Functions of the IR (ir/cfg.h), the
 * call graph (ir/callgraph.h), decoded binaries and the tests' random graphs are all such graphs: none of
 * this knows of the IR.
 *
 * Everything lies in the arena that is passed and goes with it; nothing follows when what was described
 * changes. All walks are iterative, so that no graph can exhaust the stack. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_IR_GRAPH_H
#define HEDDLE_IR_GRAPH_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

#define NO_NODE UINT32_MAX

typedef struct { /* succ[succ_at[n]] .. succ[succ_at[n + 1] - 1]; parallel edges stay */
    uint32_t n;
    uint32_t *succ_at, *succ, *pred_at, *pred;
} Graph;
typedef struct {
    uint32_t from, to;
} GraphEdge;
#define GRAPH_SUCCS(g, node, s)                                                                              \
    for (const uint32_t *s = (g)->succ + (g)->succ_at[node]; s < (g)->succ + (g)->succ_at[(node) + 1]; s++)
#define GRAPH_PREDS(g, node, p)                                                                              \
    for (const uint32_t *p = (g)->pred + (g)->pred_at[node]; p < (g)->pred + (g)->pred_at[(node) + 1]; p++)

Graph graph_new(Arena *a, uint32_t n, const GraphEdge *edges, uint32_t nedges);

typedef enum { GRAPH_FORWARD, GRAPH_BACKWARD } GraphDirection;
/* The graph, or its edges turned round; shares the arrays. */
Graph graph_directed(const Graph *graph, GraphDirection direction);

/* Reverse post-order from `root`: order[0..count-1], index[node] = position or NO_NODE if unreachable. */
typedef struct {
    uint32_t count;
    uint32_t *order, *index;
} GraphOrder;
/* Which successor a walk takes first. The one taken last stands first behind its node. */
typedef enum { GRAPH_FIRST_SUCC, GRAPH_LAST_SUCC } GraphWalk;
GraphOrder graph_order_as(Arena *a, const Graph *graph, uint32_t root, GraphWalk walk);
GraphOrder graph_order(Arena *a, const Graph *graph, uint32_t root); /* GRAPH_FIRST_SUCC */

/* Strongly connected components of the nodes with in_set[n] != 0 (NULL: all), over edges between them.
 * comp[n] = 0 .. count-1, successors' components have smaller numbers; NO_NODE outside the set. */
uint32_t graph_scc(Arena *a, const Graph *graph, const uint8_t *in_set, uint32_t *comp);

/* n numbers, all `value`. */
uint32_t *graph_numbers(Arena *a, uint32_t n, uint32_t value);

/* The representative of x in a forest of sets: parent[x] == x for each representative. Halves the paths on
 * its way, which makes any sequence of calls near linear. */
static inline uint32_t graph_find(uint32_t *parent, uint32_t x) {
    while (parent[x] != x) {
        parent[x] = parent[parent[x]];
        x = parent[x];
    }
    return x;
}
#endif
