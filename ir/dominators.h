/* Dominator trees, and with GRAPH_BACKWARD post-dominator trees, of any graph: one algorithm (Lengauer and
 * Tarjan, with path compression: O(edges log nodes) for every graph, which the iteration of Cooper, Harvey
 * and Kennedy is not; a thousand branches to one place behind them are quadratic for it). ir/cfg.h has the
 * post-dominators that reconvergence wants. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_IR_DOMINATORS_H
#define HEDDLE_IR_DOMINATORS_H
#include "base/bitset.h"
#include "ir/graph.h"

/* Tree over the nodes that are reached from root in the direction asked for. */
typedef struct {
    uint32_t root;
    uint32_t *idom;     /* NO_NODE for the root and unreachable nodes */
    uint32_t *depth;    /* 0 at the root */
    uint32_t *in, *out; /* numbers of a walk over the tree, for dom_contains; in = 0: not in the tree */
    GraphOrder order;
} DomTree;
DomTree dom_tree(Arena *a, const Graph *graph, GraphDirection direction, uint32_t root);
/* Does a dominate b (a == b included)? False if one is not in the tree. */
static inline bool dom_contains(const DomTree *tree, uint32_t a, uint32_t b) {
    return tree->in[a] && tree->in[b] && tree->in[a] <= tree->in[b] && tree->out[b] <= tree->out[a];
}
/* The nearest node that dominates both, which are in the tree. */
uint32_t dom_common(const DomTree *tree, uint32_t a, uint32_t b);
/* Dominance frontier of one node, as a bit set over nodes. `graph` is that of the tree. */
void dom_frontier(const Graph *graph, const DomTree *tree, uint32_t node, Bitset *out);
#endif
