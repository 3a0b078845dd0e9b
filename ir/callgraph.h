/* Who calls whom in a module, callees before callers, and what is known of functions from outside. Nothing
 * follows when the module changes. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_IR_CALLGRAPH_H
#define HEDDLE_IR_CALLGRAPH_H
#include "ir/graph.h"
#include "ir/ir.h"

typedef struct {
    uint32_t caller, callee; /* function indices; callee NO_NODE: through an address, or in another module */
    BlockId block;
    InstId inst;
} CallSite;

typedef struct CallGraph {
    uint32_t n;        /* functions */
    bool *open;        /* [func] its address is taken, or other modules may call it */
    uint32_t *site_at; /* [func] its call sites are sites[site_at[func]] .. sites[site_at[func + 1] - 1], */
    CallSite *sites;   /* in the order of its text */
    uint32_t *into_at, *into; /* [func] the sites that name it as callee, in order of the callers */
    Graph graph; /* functions; node n is an unknown callee: it calls the open functions, kernels not */
    uint32_t ncomps, *comp;        /* [node] strongly connected component; callees' have smaller numbers */
    uint32_t *member_at, *members; /* [comp] its functions, ascending */
    bool *recursive;               /* [func] */
} CallGraph;
CallGraph call_graph(Arena *a, const IrModule *module);

#define CALL_SITES(graph, func, site)                                                                        \
    for (const CallSite *site = (graph)->sites + (graph)->site_at[func];                                     \
         site < (graph)->sites + (graph)->site_at[(func) + 1]; site++)
/* Sites of which `func` may be the callee by its name; call_graph.open says whether there may be others. */
#define CALLS_INTO(graph, func, at)                                                                          \
    for (const uint32_t *at = (graph)->into + (graph)->into_at[func];                                        \
         at < (graph)->into + (graph)->into_at[(func) + 1]; at++)

/* Functions a call of which may observe another thread's progress: [func] */
bool *ir_observing_functions(Arena *a, const CallGraph *graph, const IrModule *module);
#endif
