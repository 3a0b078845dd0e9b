/* Control flow of a function as a graph, the exit-insensitive post-dominators that reconvergence needs, and
 * edits of the control flow that the analyses want.
 *
 * Node n of a function's graph is block n; node 0 is the virtual exit to which blocks with a RET lead.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_IR_CFG_H
#define HEDDLE_IR_CFG_H
#include "ir/dominators.h"
#include "ir/graph.h"
#include "ir/ir.h"
#include "ir/loops.h"

/* Live blocks; returns add edges to node 0 (guarded returns inside a block too). */
Graph cfg_graph(Arena *a, const Function *f);

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
PostDom cfg_post_dominators(Arena *a, const Function *f, const Graph *g, uint32_t root);
/* Does a post-dominate b (a == b included), dead ends left aside? */
static inline bool postdom_contains(const PostDom *post, uint32_t a, uint32_t b) {
    return post->region[a] != NO_NODE && post->region[a] == post->region[b] && post->in[a] <= post->in[b] &&
           post->out[b] <= post->out[a];
}

/* Split every edge from a block with several successors to one with several predecessors. */
void cfg_split_critical_edges(Function *f);
/* Remove blocks that the entry does not reach, and their edges. Says whether there were any. */
bool cfg_remove_unreachable(Function *f);
#endif
