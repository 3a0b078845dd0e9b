/* See shape.h.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/shape.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const PtxFunc *f;
    Arena a;
    uint32_t *block_of; /* [instruction] */
    uint32_t nblocks;
    uint32_t *first; /* [block] instruction; [nblocks]: ninsns */
    struct {
        uint32_t at, n;
    } * succs; /* [block] into edges */
    uint32_t *edges;
    uint32_t nedges;
} Flow;

static bool ends(const PtxInsn *i) { return i->op == PTX_RET || i->op == PTX_EXIT || i->op == PTX_TRAP; }
static bool jumps(const PtxInsn *i) { return i->op == PTX_BRA || i->op == PTX_BRX; }

static void find_blocks(Flow *flow) {
    const PtxFunc *f = flow->f;
    bool *leader = ARENA_ARRAY(&flow->a, bool, f->ninsns + 1);
    for (uint32_t k = 0; k < f->nlabels; k++)
        leader[f->labels[k].insn] = true;
    leader[0] = true;
    for (uint32_t i = 0; i < f->ninsns; i++)
        if (jumps(&f->insns[i]) || ends(&f->insns[i]))
            leader[i + 1] = true;
    flow->block_of = ARENA_ARRAY(&flow->a, uint32_t, f->ninsns + 1);
    flow->first = ARENA_ARRAY(&flow->a, uint32_t, f->ninsns + 2);
    for (uint32_t i = 0; i < f->ninsns; i++) {
        if (leader[i])
            flow->first[flow->nblocks++] = i;
        flow->block_of[i] = flow->nblocks - 1;
    }
    flow->first[flow->nblocks] = f->ninsns;
}

static void shape_edge(Flow *flow, uint32_t from, uint32_t insn) {
    if (insn >= flow->f->ninsns)
        return;
    uint32_t to = flow->block_of[insn];
    for (uint32_t k = 0; k < flow->succs[from].n; k++)
        if (flow->edges[flow->succs[from].at + k] == to)
            return;
    flow->edges[flow->nedges++] = to;
    flow->succs[from].n++;
}

static void find_edges(Flow *flow) {
    const PtxFunc *f = flow->f;
    uint32_t most = 2 * f->ninsns + 2;
    for (uint32_t k = 0; k < f->nbranch_tables; k++)
        most += f->branch_tables[k].n * f->ninsns;
    flow->edges = ARENA_ARRAY(&flow->a, uint32_t, most);
    flow->succs = arena_alloc(&flow->a, (flow->nblocks + 1) * sizeof *flow->succs);
    for (uint32_t b = 0; b < flow->nblocks; b++) {
        const PtxInsn *last = &f->insns[flow->first[b + 1] - 1];
        flow->succs[b].at = flow->nedges;
        flow->succs[b].n = 0;
        if (last->op == PTX_BRA)
            shape_edge(flow, b, f->labels[last->operands[0].label].insn);
        for (uint32_t k = 0; last->op == PTX_BRX && last->table && k < f->branch_tables[last->table - 1].n;
             k++)
            shape_edge(flow, b, f->labels[f->branch_tables[last->table - 1].labels[k]].insn);
        if (!(jumps(last) || ends(last)) || last->guard_reg)
            shape_edge(flow, b, flow->first[b + 1]);
    }
}

/* Is there a way from `from` to `to` that does not pass `avoid`? */
static bool reaches(const Flow *flow, uint32_t from, uint32_t to, uint32_t avoid, uint32_t *stack,
                    bool *seen) {
    uint32_t top = 0;
    memset(seen, 0, flow->nblocks);
    if (from == avoid)
        return false;
    stack[top++] = from;
    seen[from] = true;
    while (top) {
        uint32_t b = stack[--top];
        if (b == to)
            return true;
        for (uint32_t k = 0; k < flow->succs[b].n; k++) {
            uint32_t s = flow->edges[flow->succs[b].at + k];
            if (!seen[s] && s != avoid) {
                seen[s] = true;
                stack[top++] = s;
            }
        }
    }
    return false;
}

/* Depth-first search: an edge to a block that is being visited closes a loop; if the entry reaches its source
 * without passing the target, the loop has several entries. */
static void find_loops(const Flow *flow, Arena *a, PtxShape *shape) {
    uint32_t n = flow->nblocks, depth = 0;
    uint32_t *path = ARENA_ARRAY(a, uint32_t, n + 1), *next = ARENA_ARRAY(a, uint32_t, n + 1),
             *stack = ARENA_ARRAY(a, uint32_t, n + 1);
    uint8_t *state = ARENA_ARRAY(a, uint8_t, n + 1);
    bool *seen = ARENA_ARRAY(a, bool, n + 1);
    path[depth++] = 0;
    state[0] = 1;
    while (depth) {
        uint32_t b = path[depth - 1];
        if (next[b] == flow->succs[b].n) {
            state[b] = 2;
            depth--;
            continue;
        }
        uint32_t to = flow->edges[flow->succs[b].at + next[b]++];
        if (state[to] == 1) {
            shape->has_loop = true;
            shape->irreducible = shape->irreducible || (to != 0 && reaches(flow, 0, b, to, stack, seen));
        } else if (!state[to]) {
            state[to] = 1;
            path[depth++] = to;
        }
    }
}

static void add_function(const PtxFunc *f, PtxShape *shape) {
    Flow x = {.f = f};
    find_blocks(&x);
    find_edges(&x);
    find_loops(&x, &x.a, shape);
    for (uint32_t b = 0; b < x.nblocks; b++) {
        const PtxInsn *first = &f->insns[x.first[b]];
        bool only_jumps = x.first[b + 1] - x.first[b] == 1 && first->op == PTX_BRA && !first->guard_reg;
        shape->blocks += !only_jumps;
        shape->branches += x.succs[b].n > 1;
    }
    for (uint32_t i = 0; i < f->ninsns; i++) {
        const PtxInsn *in = &f->insns[i];
        shape->calls += in->op == PTX_CALL;
        shape->early_exits += ends(in) && i + 1 < f->ninsns;
        shape->data_insns += !jumps(in) && !ends(in) && in->op != PTX_CALL;
    }
    arena_free(&x.a);
}

PtxShape fuzz_shape(const PtxModule *module) {
    PtxShape s = {0};
    for (uint32_t k = 0; k < module->nfuncs; k++)
        if (module->funcs[k].has_body && module->funcs[k].ninsns)
            add_function(&module->funcs[k], &s);
    return s;
}
