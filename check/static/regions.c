/* Where the paths of a procedure meet (immediate post-dominators), and what lies between a branch and that
 * place.
 *
 * The region of a block b is what its ways reach before ipdom(b), or before their ends. It is b's dependence
 * on control, closed: on the way up in the tree of post-dominators from a successor s to ipdom(b), each block
 * depends on b, and so does what depends on it. So regions are never walked: the parts of b are those ways, a
 * part is a block with its own region, and the region of b is what can be reached over parts.
 *
 *     b: if (x) s1 else s2      ipdom(s1) = ipdom(s2) = ipdom(b) = j      parts of b: s1, s2
 *     s1: if (y) t1; u: ...     ipdom(t1) = u, ipdom(s1) = u, ipdom(u) = j   parts of b: s1, u, s2; of s1: t1
 *
 * A way can be long (loops in loops: as long as the function), and every loop has one. Therefore each block
 * also has a node that stands for the way from it to its jump pointer, an ancestor in the tree chosen so that
 * every way consists of some log n such nodes (Myers, "An applicative random access stack", 1983). Nodes that
 * reach each other over parts, which is what loops make of them, have one region. All of it takes n log n
 * steps.
 *
 * Post-dominators are this file's own: the checker is to find what those of ir/cfg.c get wrong.
 * SPDX-License-Identifier: MIT */
#include "check/static/regions.h"
#include <string.h>

enum {
    MAX_PARTS = 4 * 32, /* of one way: fewer than 3 for each bit of its length */
    MAX_SINKS = 256,
    MAX_RANKS = 8,
    NO_SINK = 0xff
};

/* ---- where paths meet ---- */

typedef struct {
    const BinFlow *g;
    const Proc *p;
    uint32_t base, n, *node; /* [n + 1] position in rpo of block, n is the sink */
    uint32_t *idom, *order;  /* of the reversed graph */
    uint8_t *rank; /* by rpo position: of the first sink that it leads to; NO_SINK: it ends in no EXIT or RET
                      of those */
    bool *is_sink; /* it is the sink of its rank */
} Meet;

static uint32_t pos(const Meet *meet, uint32_t block) { return meet->node[block - meet->base]; }

/* Blocks of no sink yet that lead to `from`. */
static uint32_t reach_back(const Meet *meet, uint32_t from, bool *seen, uint32_t *stack) {
    uint32_t top = 0, count = 0;
    memset(seen, 0, meet->n);
    seen[from] = true;
    stack[top++] = from;
    while (top) {
        const BinBlock *b = &meet->g->blocks[meet->p->rpo[stack[--top]]];
        count++;
        for (uint32_t k = 0; k < b->npreds; k++) {
            uint32_t q = pos(meet, b->preds[k].block);
            if (q != NONE && !seen[q] && meet->rank[q] == NO_SINK) {
                seen[q] = true;
                stack[top++] = q;
            }
        }
    }
    return count;
}

/* The sink that most blocks lead to has rank 0, the one that most others lead to has rank 1, and so on. */
static void find_sinks(Meet *meet, Arena *a) {
    bool *seen = ARENA_ARRAY(a, bool, meet->n);
    uint32_t *stack = ARENA_ARRAY(a, uint32_t, meet->n + 1), best = 0;
    memset(meet->rank, NO_SINK, meet->n + 1);
    for (uint8_t rank = 0; rank < MAX_RANKS && best != NONE; rank++) {
        uint32_t most = 0, tried = 0;
        best = NONE;
        for (uint32_t k = meet->n; k-- > 0 && tried < MAX_SINKS;) {
            const BinBlock *b = &meet->g->blocks[meet->p->rpo[k]];
            if (b->nsuccs || !(b->ends & (BX_EXIT | BX_RET)) || meet->rank[k] != NO_SINK)
                continue;
            uint32_t count = reach_back(meet, k, seen, stack);
            tried++;
            if (count > most || (count == most && meet->p->rpo[k] > meet->p->rpo[best]))
                best = k, most = count;
        }
        if (best == NONE)
            break;
        reach_back(meet, best, seen, stack);
        meet->is_sink[best] = true;
        for (uint32_t k = 0; k < meet->n; k++)
            meet->rank[k] = seen[k] ? rank : meet->rank[k];
    }
}

/* Is the edge from a to b looked at? Not if it leads away from where most paths end. */
static bool counts(const Meet *meet, uint32_t a, uint32_t b) { return meet->rank[b] <= meet->rank[a]; }
static bool to_sink(const Meet *meet, uint32_t a) {
    return meet->rank[a] != NO_SINK ? meet->is_sink[a] : meet->g->blocks[meet->p->rpo[a]].ends != 0;
}

static uint32_t common(const Meet *meet, const uint32_t *number, uint32_t a, uint32_t b) {
    while (a != b) {
        while (number[a] > number[b])
            a = meet->idom[a];
        while (number[b] > number[a])
            b = meet->idom[b];
    }
    return a;
}

/* Immediate post-dominators of one procedure (Cooper, Harvey, Kennedy). */
void check_post_dominators(const BinFlow *flow, const Proc *proc, uint32_t *ipdom, Arena *scratch) {
    Meet m = {flow, proc, flow->funcs[proc->func].first_block, proc->nrpo, NULL, NULL, NULL, NULL, NULL};
    uint32_t nblocks = flow->funcs[proc->func].nblocks, count = 0, depth = 0;
    ArenaMark mark = arena_mark(scratch);
    m.node = ARENA_ARRAY(scratch, uint32_t, nblocks);
    m.idom = ARENA_ARRAY(scratch, uint32_t, m.n + 1);
    m.order = ARENA_ARRAY(scratch, uint32_t, m.n + 1);
    m.rank = ARENA_ARRAY(scratch, uint8_t, m.n + 1);
    m.is_sink = ARENA_ARRAY(scratch, bool, m.n + 1);
    memset(m.node, 0xff, sizeof *m.node * nblocks);
    for (uint32_t k = 0; k < m.n; k++)
        m.node[proc->rpo[k] - m.base] = k;
    find_sinks(&m, scratch);
    /* post-order of the reversed graph from the sink, node n */
    uint32_t *number = ARENA_ARRAY(scratch, uint32_t, m.n + 1),
             *stack = ARENA_ARRAY(scratch, uint32_t, m.n + 1);
    uint32_t *next = ARENA_ARRAY(scratch, uint32_t, m.n + 1);
    memset(number, 0xff, sizeof *number * (m.n + 1));
    for (uint32_t root = m.n; root-- > 0;) {
        if (!to_sink(&m, root) || number[root] != NONE)
            continue;
        number[root] = 0;
        stack[depth++] = root;
        while (depth) {
            uint32_t at = stack[depth - 1];
            const BinBlock *b = &flow->blocks[proc->rpo[at]];
            if (next[at] == b->npreds) {
                m.order[count++] = at;
                depth--;
                continue;
            }
            uint32_t q = pos(&m, b->preds[next[at]++].block);
            if (q != NONE && number[q] == NONE && counts(&m, q, at)) {
                number[q] = 0;
                stack[depth++] = q;
            }
        }
    }
    for (uint32_t k = 0; k < count; k++) /* small numbers near the sink */
        number[m.order[k]] = count - k;
    number[m.n] = 0;
    memset(m.idom, 0xff, sizeof *m.idom * (m.n + 1));
    m.idom[m.n] = m.n;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = count; k-- > 0;) {
            uint32_t at = m.order[k], new = to_sink(&m, at) ? m.n : NONE;
            const BinBlock *b = &flow->blocks[proc->rpo[at]];
            for (uint32_t s = 0; s < b->nsuccs; s++) {
                uint32_t q = pos(&m, b->succs[s].block);
                if (q == NONE || !counts(&m, at, q) || m.idom[q] == NONE)
                    continue;
                new = new == NONE ? q : common(&m, number, new, q);
            }
            if (new != m.idom[at]) {
                m.idom[at] = new;
                changed = true;
            }
        }
    }
    for (uint32_t k = 0; k < m.n; k++)
        ipdom[proc->rpo[k]] = m.idom[k] == NONE || m.idom[k] == m.n ? NONE : proc->rpo[m.idom[k]];
    arena_release(scratch, mark);
}

/* ---- ways in the tree ---- */

static uint32_t position_of(const Regions *regions, uint32_t block) {
    return regions->position[block - regions->base];
}
static uint32_t root(const Regions *regions) { return regions->proc->nrpo; }

static uint32_t parent(const Regions *regions, uint32_t at) {
    uint32_t block = at == root(regions) ? NONE : regions->ipdom[regions->proc->rpo[at]];
    return block == NONE ? root(regions) : position_of(regions, block);
}

/* Node of the way from the block at `at` to its jump pointer; nodes below the root's are blocks. */
static uint32_t way_node(const Regions *regions, uint32_t at) { return root(regions) + at; }

static void place_in_tree(Regions *regions, uint32_t at) {
    uint32_t up = parent(regions, at), over = regions->jump[up];
    regions->depth[at] = regions->depth[up] + 1;
    bool equal = regions->depth[up] - regions->depth[over] ==
                 regions->depth[over] - regions->depth[regions->jump[over]];
    regions->jump[at] = equal ? regions->jump[over] : up;
}

static void build_tree(Regions *regions) {
    uint32_t n = root(regions), top = 0;
    regions->jump[n] = n;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = k;
        for (; at != n && !regions->depth[at]; at = parent(regions, at))
            regions->todo[top++] = at;
        while (top)
            place_in_tree(regions, regions->todo[--top]);
    }
}

static bool is_above(const Regions *regions, uint32_t above, uint32_t at) {
    while (regions->depth[at] > regions->depth[above]) {
        uint32_t over = regions->jump[at];
        at = regions->depth[over] >= regions->depth[above] ? over : parent(regions, at);
    }
    return at == above;
}

/* Nodes of the way from block `side`, a successor of `block`, to where the paths of `block` meet. Sides that
 * do not come there go to their end. */
static uint32_t side_parts(const Regions *regions, uint32_t block, uint32_t side, uint32_t parts[MAX_PARTS]) {
    uint32_t at = position_of(regions, side), stop = parent(regions, position_of(regions, block)), n = 0;
    if (at == NONE)
        return 0;
    if (!is_above(regions, stop, at))
        stop = root(regions);
    while (at != stop) {
        uint32_t over = regions->jump[at], up = parent(regions, at);
        bool whole = over != up && regions->depth[over] >= regions->depth[stop];
        parts[n++] = whole ? way_node(regions, at) : at;
        at = whole ? over : up;
    }
    *regions->steps += n;
    return n;
}

/* ---- regions ---- */

typedef VEC(uint32_t) Numbers;

static void find_parts(Regions *regions) {
    uint32_t n = root(regions), parts[MAX_PARTS];
    Numbers all = {0};
    for (uint32_t k = 0; k < n; k++) {
        const BinBlock *block = &regions->flow->blocks[regions->proc->rpo[k]];
        regions->part_at[k] = all.n;
        for (uint32_t s = 0; s < block->nsuccs; s++)
            for (uint32_t i = 0, m = side_parts(regions, regions->proc->rpo[k], block->succs[s].block, parts);
                 i < m; i++)
                VEC_ADD(regions->arena, &all, parts[i]);
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t up = parent(regions, k);
        regions->part_at[way_node(regions, k)] = all.n;
        VEC_ADD(regions->arena, &all, k);
        if (regions->jump[k] == up)
            continue;
        VEC_ADD(regions->arena, &all, way_node(regions, up));
        VEC_ADD(regions->arena, &all, way_node(regions, regions->jump[up]));
    }
    regions->part_at[2 * n] = all.n;
    regions->parts = all.at;
}

typedef struct {
    uint32_t *found, *lowest, *next; /* by node: when it was found (0: not yet), the first found that it leads
                                        to; its next part */
    uint32_t *open, nopen, *path, depth, count;
} Circles;

static void enter_node(Circles *circles, uint32_t node) {
    circles->found[node] = circles->lowest[node] = ++circles->count;
    circles->open[circles->nopen++] = circles->path[circles->depth++] = node;
}

/* Nodes that lead to each other get one number (Tarjan), behind the numbers of what they lead to. */
static void number_nodes(Regions *regions, Circles *circles, uint32_t start) {
    for (enter_node(circles, start); circles->depth;) {
        uint32_t node = circles->path[circles->depth - 1];
        ++*regions->steps;
        if (regions->part_at[node] + circles->next[node] < regions->part_at[node + 1]) {
            uint32_t part = regions->parts[regions->part_at[node] + circles->next[node]++];
            if (!circles->found[part])
                enter_node(circles, part);
            else if (regions->number[part] == NONE && circles->found[part] < circles->lowest[node])
                circles->lowest[node] = circles->found[part];
            continue;
        }
        circles->depth--;
        uint32_t below = circles->depth ? circles->path[circles->depth - 1] : node;
        if (circles->lowest[node] < circles->lowest[below])
            circles->lowest[below] = circles->lowest[node];
        if (circles->lowest[node] != circles->found[node])
            continue;
        for (uint32_t member = NONE; member != node;) {
            member = circles->open[--circles->nopen];
            regions->number[member] = regions->n;
        }
        regions->n++;
    }
}

static void sort_members(Regions *regions, uint32_t nodes) {
    regions->member_at = ARENA_ARRAY(regions->arena, uint32_t, regions->n + 2);
    regions->members = ARENA_ARRAY(regions->arena, uint32_t, nodes + 1);
    for (uint32_t k = 0; k < nodes; k++)
        regions->member_at[regions->number[k] + 2]++;
    for (uint32_t r = 2; r < regions->n + 2; r++)
        regions->member_at[r] += regions->member_at[r - 1];
    for (uint32_t k = 0; k < nodes; k++)
        regions->members[regions->member_at[regions->number[k] + 1]++] = k;
}

Regions check_regions(const BinFlow *flow, const Proc *proc, const uint32_t *ipdom, uint64_t *steps,
                      Arena *arena) {
    Regions made = {.arena = arena, .flow = flow, .proc = proc, .ipdom = ipdom, .steps = steps};
    Regions *regions = &made;
    uint32_t n = proc->nrpo, nodes = 2 * n, nblocks = flow->funcs[proc->func].nblocks;
    regions->base = flow->funcs[proc->func].first_block;
    regions->position = graph_numbers(arena, nblocks + 1, NONE);
    for (uint32_t k = 0; k < n; k++)
        regions->position[proc->rpo[k] - regions->base] = k;
    uint32_t **of_blocks[] = {&regions->depth, &regions->jump};
    for (unsigned k = 0; k < sizeof of_blocks / sizeof *of_blocks; k++)
        *of_blocks[k] = ARENA_ARRAY(arena, uint32_t, n + 1);
    regions->part_at = ARENA_ARRAY(arena, uint32_t, nodes + 1);
    regions->number = graph_numbers(arena, nodes + 1, NONE);
    regions->swept = ARENA_ARRAY(arena, bool, nodes + 1);
    regions->todo = ARENA_ARRAY(arena, uint32_t, nodes + 1);
    build_tree(regions);
    find_parts(regions);
    Circles circles = {0};
    uint32_t **of_nodes[] = {&circles.found, &circles.lowest, &circles.next, &circles.open, &circles.path};
    for (unsigned k = 0; k < sizeof of_nodes / sizeof *of_nodes; k++)
        *of_nodes[k] = ARENA_ARRAY(arena, uint32_t, nodes + 1);
    for (uint32_t k = 0; k < nodes; k++)
        if (!circles.found[k])
            number_nodes(regions, &circles, k);
    sort_members(regions, nodes);
    return made;
}

uint32_t check_region_of(const Regions *regions, uint32_t block) {
    return regions->number[position_of(regions, block)];
}

uint32_t check_region_block(const Regions *regions, uint32_t node) {
    return node < root(regions) ? regions->proc->rpo[node] : NONE;
}

bool check_region_leads_back(const Regions *regions, uint32_t block, uint32_t side) {
    uint32_t parts[MAX_PARTS], own = check_region_of(regions, block);
    for (uint32_t k = 0, n = side_parts(regions, block, side, parts); k < n; k++)
        if (regions->number[parts[k]] == own)
            return true;
    return false;
}

bool check_region_sweep(Regions *regions, uint32_t block, bool *mark) {
    uint32_t top = 0;
    bool changed = false;
    for (uint32_t node = position_of(regions, block);; node = regions->todo[--top]) {
        for (uint32_t k = regions->part_at[node]; k < regions->part_at[node + 1]; k++) {
            uint32_t part = regions->parts[k], at = check_region_block(regions, part);
            ++*regions->steps;
            if (regions->swept[part])
                continue;
            regions->swept[part] = true;
            if (at != NONE) {
                changed |= !mark[at];
                mark[at] = true;
            }
            regions->todo[top++] = part;
        }
        if (!top)
            return changed;
    }
}
