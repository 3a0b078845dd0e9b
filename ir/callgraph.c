/* The call graph of a module: see ir/callgraph.h.
 * SPDX-License-Identifier: MIT */
#include "ir/callgraph.h"
#include "frontend/ast.h"

/* Does a variable's initialiser hold an address? Then functions may be called through it. */
static bool has_address_tables(const IrModule *module) {
    for (unsigned k = 0; k < module->vars.n; k++) {
        const PtxVar *v = module->vars.at[k].ptx;
        for (unsigned n = 0; v && n < v->ninits; n++)
            if (v->inits[n].sym)
                return true;
    }
    return false;
}

/* Functions that the instruction names: as a callee, or in any other way. */
static void note_names(const Function *f, const Inst *i, bool *called, bool *open) {
    FOR_USES(f, i, use) {
        const Function *named =
            use->kind == OPK_SYM ? ir_find_function(f->module, f->symrefs.at[use->value].symbol) : NULL;
        if (named)
            (i->op == OT_CALL ? called : open)[named->index] = true;
    }
}

static void collect_sites(CallGraph *graph, Arena *a, const IrModule *module) {
    VEC(CallSite) sites = {0};
    bool *called = ARENA_ARRAY(a, bool, graph->n);
    for (uint32_t n = 0; n < graph->n; n++) {
        const Function *f = module->funcs.at[n];
        graph->site_at[n] = sites.n;
        FOR_BLOCKS(f, b)
            FOR_INST_IDS(f, b, id) {
                const Inst *i = &f->insts.at[id.i];
                if (f->symrefs.n)
                    note_names(f, i, called, graph->open);
                if (i->op != OT_CALL)
                    continue;
                const Function *callee = ir_callee(f, i);
                VEC_ADD(a, &sites, ((CallSite){n, callee ? callee->index : NO_NODE, b, id}));
            }
    }
    graph->site_at[graph->n] = sites.n;
    graph->sites = sites.n ? sites.at : ARENA_NEW(a, CallSite); /* something is added to it even then */
    bool tables = has_address_tables(module);
    for (uint32_t n = 0; n < graph->n; n++) /* a kernel, or called from another module or through a table */
        graph->open[n] |= tables || !called[n] || module->funcs.at[n]->is_open;
}

static void connect_sites(CallGraph *graph, Arena *a, const IrModule *module) {
    uint32_t nsites = graph->site_at[graph->n];
    VEC(GraphEdge) edges = {0};
    graph->into_at = graph_numbers(a, graph->n + 2, 0);
    graph->into = graph_numbers(a, nsites, 0);
    for (uint32_t s = 0; s < nsites; s++) {
        const CallSite *site = &graph->sites[s];
        VEC_ADD(a, &edges, ((GraphEdge){site->caller, site->callee == NO_NODE ? graph->n : site->callee}));
        if (site->callee != NO_NODE)
            graph->into_at[site->callee + 2]++;
    }
    for (uint32_t n = 2; n < graph->n + 2; n++)
        graph->into_at[n] += graph->into_at[n - 1];
    for (uint32_t s = 0; s < nsites; s++)
        if (graph->sites[s].callee != NO_NODE)
            graph->into[graph->into_at[graph->sites[s].callee + 1]++] = s;
    for (uint32_t n = 0; n < graph->n; n++)
        if (graph->open[n] && !module->funcs.at[n]->is_entry)
            VEC_ADD(a, &edges, ((GraphEdge){graph->n, n}));
    graph->graph = graph_new(a, graph->n + 1, edges.at, edges.n);
}

static void find_components(CallGraph *graph, Arena *a) {
    graph->comp = graph_numbers(a, graph->n + 1, 0);
    graph->ncomps = graph_scc(a, &graph->graph, NULL, graph->comp);
    uint32_t *size = graph_numbers(a, graph->ncomps, 0);
    graph->member_at = graph_numbers(a, graph->ncomps + 2, 0);
    graph->members = graph_numbers(a, graph->n, 0);
    for (uint32_t n = 0; n <= graph->n; n++)
        size[graph->comp[n]]++;
    for (uint32_t n = 0; n < graph->n; n++)
        graph->member_at[graph->comp[n] + 2]++;
    for (uint32_t c = 2; c < graph->ncomps + 2; c++)
        graph->member_at[c] += graph->member_at[c - 1];
    for (uint32_t n = 0; n < graph->n; n++) {
        graph->members[graph->member_at[graph->comp[n] + 1]++] = n;
        graph->recursive[n] = size[graph->comp[n]] > 1;
        GRAPH_SUCCS(&graph->graph, n, t)
            graph->recursive[n] |= *t == n;
    }
}

CallGraph call_graph(Arena *a, const IrModule *module) {
    CallGraph graph = {.n = module->funcs.n};
    graph.open = ARENA_ARRAY(a, bool, graph.n);
    graph.recursive = ARENA_ARRAY(a, bool, graph.n);
    graph.site_at = graph_numbers(a, graph.n + 1, 0);
    collect_sites(&graph, a, module);
    connect_sites(&graph, a, module);
    find_components(&graph, a);
    return graph;
}

static bool observes_itself(const Function *f) {
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i)
            if (i->flags & IF_OBSERVING)
                return true;
    return false;
}

/* From the functions that observe to their callers. */
bool *ir_observing_functions(Arena *a, const CallGraph *graph, const IrModule *module) {
    bool *observes = ARENA_ARRAY(a, bool, graph->n);
    uint32_t *work = graph_numbers(a, graph->n, 0), count = 0;
    for (uint32_t n = 0; n < graph->n; n++) {
        bool now = observes_itself(module->funcs.at[n]);
        CALL_SITES(graph, n, site)
            now |= site->callee == NO_NODE || module->funcs.at[site->callee]->blocks.n <= 1;
        observes[n] = now;
        if (now)
            work[count++] = n;
    }
    for (uint32_t k = 0; k < count; k++)
        CALLS_INTO(graph, work[k], at) {
            uint32_t caller = graph->sites[*at].caller;
            if (!observes[caller]) {
                observes[caller] = true;
                work[count++] = caller;
            }
        }
    return observes;
}
