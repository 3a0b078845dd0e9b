/* Control-flow analyses: graphs, orders, dominators, strongly connected components, loops, and the
 * exit-insensitive post-dominators that reconvergence needs. They work on plain graphs, so that any CFG,
 * irreducible ones too, and the tests' random graphs are treated alike.
 *
 * Node n of a function's graph is block n; node 0 is the virtual exit to which blocks with a RET lead.
 * Everything lies in the arena that is passed; nothing is updated when the function changes.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_CFG_H
#define HEDDLE_LOWER_CFG_H
#include "ir/ir.h"

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

Graph graph_new(Arena *arena, uint32_t n, const GraphEdge *edges, uint32_t nedges);
Graph graph_reversed(const Graph *graph); /* shares the arrays */
/* Live blocks; returns add edges to node 0 (guarded returns inside a block too). */
Graph cfg_graph(Arena *a, const Function *f);

/* Reverse post-order from `root`: order[0..count-1], index[node] = position or NO_NODE if unreachable. */
typedef struct {
    uint32_t count;
    uint32_t *order, *index;
} GraphOrder;
GraphOrder graph_order(Arena *arena, const Graph *graph, uint32_t root);

/* Strongly connected components of the nodes with in_set[n] != 0 (NULL: all), over edges between them.
 * comp[n] = 0 .. count-1, successors' components have smaller numbers; NO_NODE outside the set. */
uint32_t graph_scc(Arena *arena, const Graph *graph, const uint8_t *in_set, uint32_t *comp);

/* Dominator tree of the nodes reachable from root. */
typedef struct {
    uint32_t root;
    uint32_t *idom;     /* NO_NODE for the root and unreachable nodes */
    uint32_t *depth;    /* 0 at the root */
    uint32_t *in, *out; /* numbers of a walk over the tree, for dom_contains; in = 0: not in the tree */
    GraphOrder order;
} DomTree;
DomTree dom_tree(Arena *arena, const Graph *graph, uint32_t root);
/* Does a dominate b (a == b included)? False if one is not in the tree. */
static inline bool dom_contains(const DomTree *tree, uint32_t a, uint32_t b) {
    return tree->in[a] && tree->in[b] && tree->in[a] <= tree->in[b] && tree->out[b] <= tree->out[a];
}
/* Dominance frontier of one node, as a bit set over nodes. */
void dom_frontier(const Graph *graph, const DomTree *tree, uint32_t node, Bitset *out);

/* Loops, nested: an SCC, its header the first entry in reverse post-order, then the SCCs without it. */
typedef struct {
    uint32_t header, parent; /* parent: loop index, NO_NODE at top */
    uint32_t depth;          /* 1 for an outermost loop */
    uint32_t in, out;        /* it and the loops within it are numbered in..out-1, for loop_contains */
    bool irreducible;        /* it has more than one entry */
} Loop;
typedef struct {
    Loop *at;
    uint32_t n;
    uint32_t *innermost; /* [node] loop index or NO_NODE */
} LoopForest;
LoopForest loop_forest(Arena *arena, const Graph *graph, uint32_t root);
bool loop_contains(const LoopForest *forest, uint32_t loop, uint32_t node);

/* Exit-insensitive post-dominators. Blocks are split into regions, each with one sink: the nodes that reach
 * the sink and no earlier region's. Edges that lead out of a region are dead ends: lanes that take them end
 * before any block of the region that post-dominates. The virtual return is always the first sink, because
 * a RET, unlike an EXIT, does not take lanes out of the barriers. */
typedef struct {
    uint32_t nregions;
    uint32_t *sink;     /* [region] block, 0 = virtual return */
    uint32_t *region;   /* [block] NO_NODE if unreachable */
    uint32_t *ipdom;    /* [block] block of the same region, 0 = none */
    uint32_t *depth;    /* [block] in the region's tree, 0 at its sink */
    uint32_t *in, *out; /* [block] as in DomTree */
} PostDom;
PostDom post_dominators(Arena *arena, const Function *f, const Graph *graph, uint32_t root);
/* Does a post-dominate b (a == b included), dead ends left aside? */
static inline bool postdom_contains(const PostDom *dom, uint32_t a, uint32_t b) {
    return dom->region[a] != NO_NODE && dom->region[a] == dom->region[b] && dom->in[a] <= dom->in[b] &&
           dom->out[b] <= dom->out[a];
}

/* Split every edge from a block with several successors to one with several predecessors. */
void cfg_split_critical_edges(Function *f);
/* Remove blocks that the entry does not reach, and their edges. Says whether there were any. */
bool cfg_remove_unreachable(Function *f);
#endif
