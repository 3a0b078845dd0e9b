/* The loop forest, near linear: Tarjan's intervals as Havlak extended them to irreducible graphs and
 * Ramalingam made them near linear ("Identifying loops in almost linear time", 1999). Nodes are taken from
 * the last of a depth-first walk to the first, so that the loops inside a loop are found before it, and each
 * is one node by then (`rep`). The body of h is what leads to its back edges without leaving the subtree of
 * h. Edges across the subtrees of the walk's tree can only matter to headers above both their ends: each
 * waits at the lowest such node (`join`). SPDX-License-Identifier: MIT */
#include "ir/loops.h"

typedef struct {
    uint32_t from, to, next;
} Waiting;

typedef struct {
    Arena *a;
    const Graph *g;
    uint32_t count;
    uint32_t *node, *number; /* [number] node; [node] number or NO_NODE. All that follows: [number] */
    uint32_t *parent, *last; /* of the walk; the last number of the subtree */
    uint32_t *rep;           /* union-find: a body is its header */
    uint32_t *header;        /* of the innermost loop around it, itself not counted; NO_NODE */
    bool *is_header;
    uint32_t *crossing, *preds; /* lists of `edges`: that wait here; that lead to the node once taken up */
    VEC(Waiting) edges;         /* [0] unused */
    uint32_t *body, *mark;      /* mark[x] == h: in the body of h or about to be */
} Walk;

static void keep(Walk *walk, uint32_t *list, uint32_t from, uint32_t to) {
    VEC_ADD(walk->a, &walk->edges, ((Waiting){from, to, *list}));
    *list = walk->edges.n - 1;
}

/* Depth first; an edge to a node that is finished waits where the two paths part: the nearest node above its
 * end that is still open, which `open` finds. */
static void walk_graph(Walk *walk, uint32_t root, GraphWalk first) {
    const Graph *graph = walk->g;
    uint32_t *at = graph_numbers(walk->a, graph->n, 0), *open = graph_numbers(walk->a, graph->n, 0), now = 0;
    walk->number[root] = 0;
    walk->node[walk->count++] = root;
    walk->parent[0] = NO_NODE;
    while (now != NO_NODE) {
        uint32_t n = walk->node[now];
        uint32_t k = at[n]++, nsuccs = graph->succ_at[n + 1] - graph->succ_at[n];
        if (k == nsuccs) {
            walk->last[now] = walk->count - 1;
            if (now)
                open[now] = walk->parent[now];
            now = walk->parent[now];
            continue;
        }
        uint32_t s = graph->succ[graph->succ_at[n] + (first == GRAPH_FIRST_SUCC ? k : nsuccs - 1 - k)];
        uint32_t to = walk->number[s];
        if (to == NO_NODE) {
            to = walk->number[s] = open[walk->count] = walk->count;
            walk->parent[to] = now;
            walk->node[walk->count++] = s;
            now = to;
        } else if (graph_find(open, to) != to) /* finished: across, or down to what was reached already */
            keep(walk, &walk->crossing[graph_find(open, to)], now, to);
    }
}

static void add_to_body(Walk *walk, uint32_t h, uint32_t *n, uint32_t from) {
    uint32_t x = graph_find(walk->rep, from);
    if (x != h && walk->mark[x] != h) {
        walk->mark[x] = h;
        walk->body[(*n)++] = x;
    }
}

static void find_loop(Walk *walk, uint32_t h) {
    uint32_t n = 0;
    for (uint32_t e = walk->crossing[h], next; e;
         e = next) { /* from now on an edge of this subtree as others are */
        next = walk->edges.at[e].next;
        uint32_t *list = &walk->preds[graph_find(walk->rep, walk->edges.at[e].to)];
        walk->edges.at[e].next = *list;
        *list = e;
    }
    GRAPH_PREDS(walk->g, walk->node[h], p) {
        uint32_t from = walk->number[*p];
        if (from == NO_NODE || from < h || from > walk->last[h])
            continue;
        walk->is_header[h] = true;
        add_to_body(walk, h, &n, from);
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t x = walk->body[k];
        add_to_body(walk, h, &n, walk->parent[x]);
        for (uint32_t e = walk->preds[x]; e; e = walk->edges.at[e].next)
            add_to_body(walk, h, &n, walk->edges.at[e].from);
    }
    for (uint32_t k = 0; k < n; k++) {
        walk->header[walk->body[k]] = h;
        walk->rep[walk->body[k]] = h;
    }
}

/* Number the loops by a walk over the forest. Parents stand before their children, so that sizes add up
 * backwards and places are dealt out forwards. */
static void number_loops(Arena *a, Loop *loops, uint32_t n) {
    uint32_t *size = graph_numbers(a, n, 1), *next = graph_numbers(a, n, 0), top = 0;
    for (uint32_t k = n; k-- > 0;)
        if (loops[k].parent != NO_NODE)
            size[loops[k].parent] += size[k];
    for (uint32_t k = 0; k < n; k++) {
        uint32_t *at = loops[k].parent == NO_NODE ? &top : &next[loops[k].parent];
        loops[k].in = *at;
        loops[k].out = *at += size[k];
        next[k] = loops[k].in + 1;
    }
}

/* A loop is irreducible if an edge leads into it to another node than its header. `plain` leads from a loop
 * to the next one outwards, itself included, that is not known to be so. */
static void find_irreducible(Walk *walk, LoopForest *forest) {
    uint32_t *plain = graph_numbers(walk->a, forest->n + 1, 0);
    for (uint32_t l = 0; l <= forest->n; l++)
        plain[l] = l;
    for (uint32_t k = 0; k < walk->count; k++) {
        uint32_t n = walk->node[k], first = forest->innermost[n];
        if (first != NO_NODE && forest->at[first].header == n)
            first = forest->at[first].parent;
        if (first == NO_NODE)
            continue;
        GRAPH_PREDS(walk->g, n, p) {
            uint32_t l = walk->number[*p] == NO_NODE ? forest->n : graph_find(plain, first);
            while (l != forest->n && !loop_contains(forest, l, *p)) {
                forest->at[l].irreducible = true;
                plain[l] = forest->at[l].parent == NO_NODE ? forest->n : forest->at[l].parent;
                l = graph_find(plain, l);
            }
        }
    }
}

LoopForest loop_forest_as(Arena *a, const Graph *graph, uint32_t root, GraphWalk walk) {
    uint32_t n = graph->n;
    LoopForest forest = {.innermost = graph_numbers(a, n, NO_NODE)};
    Walk w = {.a = a, .g = graph, .node = graph_numbers(a, n, 0), .number = graph_numbers(a, n, NO_NODE)};
    w.parent = graph_numbers(a, n, 0);
    w.last = graph_numbers(a, n, 0);
    w.rep = graph_numbers(a, n, 0);
    w.header = graph_numbers(a, n, NO_NODE);
    w.is_header = ARENA_ARRAY(a, bool, n);
    w.crossing = graph_numbers(a, n, 0);
    w.preds = graph_numbers(a, n, 0);
    w.body = graph_numbers(a, n, 0);
    w.mark = graph_numbers(a, n, NO_NODE);
    VEC_PUSH(a, &w.edges);
    walk_graph(&w, root, walk);
    for (uint32_t k = 0; k < w.count; k++)
        w.rep[k] = k;
    for (uint32_t h = w.count; h-- > 0;)
        find_loop(&w, h);
    for (uint32_t k = 0; k < w.count; k++)
        forest.n += w.is_header[k];
    forest.at = ARENA_ARRAY(a, Loop, forest.n);
    uint32_t count = 0;
    for (uint32_t k = 0; k < w.count; k++) { /* headers stand before what is in their loops */
        uint32_t outer = w.header[k] == NO_NODE ? NO_NODE : forest.innermost[w.node[w.header[k]]];
        forest.innermost[w.node[k]] = outer;
        if (!w.is_header[k])
            continue;
        forest.at[count] = (Loop){
            .header = w.node[k], .parent = outer, .depth = outer == NO_NODE ? 1 : forest.at[outer].depth + 1};
        forest.innermost[w.node[k]] = count++;
    }
    number_loops(a, forest.at, forest.n);
    find_irreducible(&w, &forest);
    return forest;
}

LoopForest loop_forest(Arena *a, const Graph *graph, uint32_t root) {
    return loop_forest_as(a, graph, root, GRAPH_FIRST_SUCC);
}
