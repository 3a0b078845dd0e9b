/* The forest of loops of any graph, irreducible ones too. A loop is a strongly connected component; its
 * header is its first node in reverse post-order; the loops inside are those of the component without the
 * header. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_IR_LOOPS_H
#define HEDDLE_IR_LOOPS_H
#include "ir/graph.h"

typedef struct {
    uint32_t header, parent; /* parent: loop index, smaller than its own; NO_NODE at top */
    uint32_t depth;          /* 1 for an outermost loop */
    uint32_t in, out;        /* it and the loops within it are numbered in..out-1, for loop_contains */
    bool irreducible;        /* it is entered elsewhere than at its header too */
} Loop;
typedef struct {
    Loop *at;
    uint32_t n;
    uint32_t *innermost; /* [node] loop index or NO_NODE */
} LoopForest;
LoopForest loop_forest(Arena *a, const Graph *graph, uint32_t root);
/* The same with the reverse post-order of that walk: headers of irreducible loops may be others. */
LoopForest loop_forest_as(Arena *a, const Graph *graph, uint32_t root, GraphWalk walk);
static inline bool loop_contains(const LoopForest *forest, uint32_t loop, uint32_t node) {
    uint32_t at = forest->innermost[node];
    return at != NO_NODE && forest->at[loop].in <= forest->at[at].in &&
           forest->at[at].in < forest->at[loop].out;
}
#endif
