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

static void find_blocks(Flow *x) {
    const PtxFunc *f = x->f;
    bool *leader = ARENA_ARRAY(&x->a, bool, f->ninsns + 1);
    for (uint32_t k = 0; k < f->nlabels; k++)
        leader[f->labels[k].insn] = true;
    leader[0] = true;
    for (uint32_t i = 0; i < f->ninsns; i++)
        if (jumps(&f->insns[i]) || ends(&f->insns[i]))
            leader[i + 1] = true;
    x->block_of = ARENA_ARRAY(&x->a, uint32_t, f->ninsns + 1);
    x->first = ARENA_ARRAY(&x->a, uint32_t, f->ninsns + 2);
    for (uint32_t i = 0; i < f->ninsns; i++) {
        if (leader[i])
            x->first[x->nblocks++] = i;
        x->block_of[i] = x->nblocks - 1;
    }
    x->first[x->nblocks] = f->ninsns;
}

static void add_edge(Flow *x, uint32_t from, uint32_t insn) {
    if (insn >= x->f->ninsns)
        return;
    uint32_t to = x->block_of[insn];
    for (uint32_t k = 0; k < x->succs[from].n; k++)
        if (x->edges[x->succs[from].at + k] == to)
            return;
    x->edges[x->nedges++] = to;
    x->succs[from].n++;
}

static void find_edges(Flow *x) {
    const PtxFunc *f = x->f;
    uint32_t most = 2 * f->ninsns + 2;
    for (uint32_t k = 0; k < f->nbranch_tables; k++)
        most += f->branch_tables[k].n * f->ninsns;
    x->edges = ARENA_ARRAY(&x->a, uint32_t, most);
    x->succs = arena_alloc(&x->a, (x->nblocks + 1) * sizeof *x->succs);
    for (uint32_t b = 0; b < x->nblocks; b++) {
        const PtxInsn *last = &f->insns[x->first[b + 1] - 1];
        x->succs[b].at = x->nedges;
        x->succs[b].n = 0;
        if (last->op == PTX_BRA)
            add_edge(x, b, f->labels[last->operands[0].label].insn);
        for (uint32_t k = 0; last->op == PTX_BRX && last->table && k < f->branch_tables[last->table - 1].n;
             k++)
            add_edge(x, b, f->labels[f->branch_tables[last->table - 1].labels[k]].insn);
        if (!(jumps(last) || ends(last)) || last->guard_reg)
            add_edge(x, b, x->first[b + 1]);
    }
}

/* Is there a way from `from` to `to` that does not pass `avoid`? */
static bool reaches(const Flow *x, uint32_t from, uint32_t to, uint32_t avoid, uint32_t *stack, bool *seen) {
    uint32_t top = 0;
    memset(seen, 0, x->nblocks);
    if (from == avoid)
        return false;
    stack[top++] = from;
    seen[from] = true;
    while (top) {
        uint32_t b = stack[--top];
        if (b == to)
            return true;
        for (uint32_t k = 0; k < x->succs[b].n; k++) {
            uint32_t s = x->edges[x->succs[b].at + k];
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
static void find_loops(const Flow *x, Arena *a, PtxShape *s) {
    uint32_t n = x->nblocks, depth = 0;
    uint32_t *path = ARENA_ARRAY(a, uint32_t, n + 1), *next = ARENA_ARRAY(a, uint32_t, n + 1),
             *stack = ARENA_ARRAY(a, uint32_t, n + 1);
    uint8_t *state = ARENA_ARRAY(a, uint8_t, n + 1);
    bool *seen = ARENA_ARRAY(a, bool, n + 1);
    path[depth++] = 0;
    state[0] = 1;
    while (depth) {
        uint32_t b = path[depth - 1];
        if (next[b] == x->succs[b].n) {
            state[b] = 2;
            depth--;
            continue;
        }
        uint32_t to = x->edges[x->succs[b].at + next[b]++];
        if (state[to] == 1) {
            s->has_loop = true;
            s->irreducible = s->irreducible || (to != 0 && reaches(x, 0, b, to, stack, seen));
        } else if (!state[to]) {
            state[to] = 1;
            path[depth++] = to;
        }
    }
}

static void add_function(const PtxFunc *f, PtxShape *s) {
    Flow x = {.f = f};
    find_blocks(&x);
    find_edges(&x);
    find_loops(&x, &x.a, s);
    for (uint32_t b = 0; b < x.nblocks; b++) {
        const PtxInsn *first = &f->insns[x.first[b]];
        bool only_jumps = x.first[b + 1] - x.first[b] == 1 && first->op == PTX_BRA && !first->guard_reg;
        s->blocks += !only_jumps;
        s->branches += x.succs[b].n > 1;
    }
    for (uint32_t i = 0; i < f->ninsns; i++) {
        const PtxInsn *in = &f->insns[i];
        s->calls += in->op == PTX_CALL;
        s->early_exits += ends(in) && i + 1 < f->ninsns;
        s->data_insns += !jumps(in) && !ends(in) && in->op != PTX_CALL;
    }
    arena_free(&x.a);
}

PtxShape ptx_shape(const PtxModule *m) {
    PtxShape s = {0};
    for (uint32_t k = 0; k < m->nfuncs; k++)
        if (m->funcs[k].has_body && m->funcs[k].ninsns)
            add_function(&m->funcs[k], &s);
    return s;
}
