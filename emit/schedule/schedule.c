/* The pass `schedule`: list scheduling within blocks, after register allocation. Instructions that only
 * control flow or convergence understands are fences: nothing moves across them. Between fences a dependence
 * graph is built (registers by cell, memory by address space), and the ready instruction with the longest
 * latency-weighted path to the end goes first. Out: same instructions, new order; latencies are enforced
 * later by `control`.
 * SPDX-License-Identifier: MIT */
#include "emit/emit.h"
#include "ir/pass.h"
#include "isa/machine/latency.h"
#include <string.h>

enum { MAX_WINDOW = 1000, SPACES = 5 };

typedef struct Edge {
    struct Edge *next;
    uint32_t to, cycles;
} Edge;
typedef struct Ref {
    struct Ref *next;
    uint32_t node;
    uint8_t operand, part;
} Ref;

typedef struct {
    InstId id;
    MachInst m;
    Edge *succs;
    uint32_t npreds, height, ready;
    bool done;
} Node;

typedef struct {
    Function *f;
    const Target *t;
    Arena a;
    Node *nodes;
    uint32_t n;
    Ref *writes[CELL_COUNT], *reads[CELL_COUNT]; /* since the last write, and that */
    Ref *stores[SPACES], *loads[SPACES];         /* memory accesses so far */
    Ref *ordered;                                /* collectives and volatile reads keep their order */
} Sched;

/* Address spaces that cannot overlap; the last stands for accesses to one of several, which meet all. */
static unsigned space_of(unsigned op) {
    switch (isa_traits(op)->space) {
    case ISA_SPACE_GLOBAL: return 0;
    case ISA_SPACE_SHARED: return 1;
    case ISA_SPACE_LOCAL: return 2;
    case ISA_SPACE_CONSTANT: return 3;
    default: return SPACES - 1;
    }
}

/* Whatever does more than compute and access memory stays where it is. */
static bool is_fence(const Function *f, const Inst *i) {
    const uint32_t ordered_by_address =
        ISA_EFFECT_READ | ISA_EFFECT_WRITE | ISA_EFFECT_ATOMIC | ISA_EFFECT_SWAP;
    return isa_has_effect(i->op, ~ordered_by_address) || ir_is_terminator(f, i) || ir_is_pseudo(i->op);
}

static bool keeps_order(const Function *f, const Inst *i) {
    if (isa_traits(i->op)->lanes == ISA_LANES_COLLECTIVE || i->flags & (IF_SYNC | IF_CONVERGENT))
        return true;
    if (isa_traits(i->op)->uniform != ISA_UNIFORM_BY_SREG)
        return false;
    return isa_sreg_varies(f->module->target, f->operands.at[i->operand + i->ndst].value) == ISA_VARIES_TIME;
}

static void sched_edge(Sched *sched, uint32_t from, uint32_t to, uint32_t cycles) {
    if (from == to)
        return;
    for (Edge *edge = sched->nodes[from].succs; edge; edge = edge->next, sched->f->module->steps++)
        if (edge->to == to) {
            if (cycles > edge->cycles)
                edge->cycles = cycles;
            return;
        }
    Edge *edge = ARENA_NEW(&sched->a, Edge);
    *edge = (Edge){sched->nodes[from].succs, to, cycles};
    sched->nodes[from].succs = edge;
    sched->nodes[to].npreds++;
}

static void push_ref(Sched *sched, Ref **list, uint32_t node, unsigned operand, unsigned part) {
    Ref *r = ARENA_NEW(&sched->a, Ref);
    *r = (Ref){*list, node, (uint8_t)operand, (uint8_t)part};
    *list = r;
}

static void register_edges(Sched *sched, uint32_t n) {
    const MachInst *m = &sched->nodes[n].m;
    CellRef reads[MAX_CELL_REFS], writes[MAX_CELL_REFS];
    unsigned nr = emit_reads(m, reads), nw = emit_writes(m, writes);
    for (unsigned k = 0; k < nr; k++)
        for (Ref *w = sched->writes[reads[k].cell]; w; w = w->next) {
            const MachInst *wm = &sched->nodes[w->node].m;
            unsigned l =
                latency_is_variable(sched->t, wm)
                    ? latency_estimate(sched->t, wm)
                    : latency_raw_part(sched->t, wm, w->operand, w->part, m, reads[k].operand, reads[k].part);
            sched_edge(sched, w->node, n, l);
        }
    for (unsigned k = 0; k < nw; k++) {
        for (Ref *w = sched->writes[writes[k].cell]; w; w = w->next) {
            const MachInst *wm = &sched->nodes[w->node].m;
            sched_edge(sched, w->node, n,
                       latency_is_variable(sched->t, wm) ? latency_estimate(sched->t, wm)
                                                         : latency_waw(sched->t, wm, w->operand, m));
        }
        for (Ref *ref = sched->reads[writes[k].cell]; ref; ref = ref->next)
            sched_edge(sched, ref->node, n,
                       latency_reads_late(sched->t, &sched->nodes[ref->node].m) ? 10 : 1);
    }
    for (unsigned k = 0; k < nw; k++) { /* stands for all that it was ordered behind, guarded or not */
        sched->writes[writes[k].cell] = sched->reads[writes[k].cell] = NULL;
        push_ref(sched, &sched->writes[writes[k].cell], n, writes[k].operand, writes[k].part);
    }
    for (unsigned k = 0; k < nr; k++)
        push_ref(sched, &sched->reads[reads[k].cell], n, reads[k].operand, reads[k].part);
}

static void order_after(Sched *s, Ref *list, uint32_t n) {
    for (; list; list = list->next)
        sched_edge(s, list->node, n, 1);
}

static void memory_edges(Sched *sched, uint32_t n) {
    const Inst *i = ir_inst(sched->f, sched->nodes[n].id);
    bool store = isa_has_effect(i->op, ISA_EFFECT_WRITE) || i->flags & IF_OBSERVING,
         load = isa_has_effect(i->op, ISA_EFFECT_READ);
    if (keeps_order(sched->f, i)) {
        order_after(sched, sched->ordered, n);
        sched->ordered = NULL;
        push_ref(sched, &sched->ordered, n, 0, 0);
    }
    if (!store && !load && !(i->flags & IF_MEMORY))
        return;
    unsigned space = space_of(i->op);
    store |= !load; /* unknown: orders with everything */
    for (unsigned k = 0; k < SPACES; k++) {
        if (k != space && k != SPACES - 1 && space != SPACES - 1 && !(i->flags & IF_OBSERVING))
            continue;
        order_after(sched, sched->stores[k], n);
        if (store)
            order_after(sched, sched->loads[k], n);
    }
    bool meets_all = space == SPACES - 1 || i->flags & IF_OBSERVING;
    for (unsigned k = 0; store && k < SPACES; k++) /* it stands for all that it was ordered behind */
        if (k == space || meets_all)
            sched->stores[k] = sched->loads[k] = NULL;
    push_ref(sched,
             store ? &sched->stores[i->flags & IF_OBSERVING ? SPACES - 1u : space] : &sched->loads[space], n,
             0, 0);
}

static void heights(Sched *sched) {
    for (uint32_t n = sched->n; n-- > 0;) {
        Node *node = &sched->nodes[n];
        node->height = 1;
        for (Edge *edge = node->succs; edge; edge = edge->next)
            if (edge->cycles + sched->nodes[edge->to].height > node->height)
                node->height = edge->cycles + sched->nodes[edge->to].height;
    }
}

/* The best instruction to issue at `cycle`: ready ones by height; if none is ready, the one that is ready
 * first. */
static uint32_t pick(const Sched *sched, const uint32_t *list, uint32_t nlist, uint32_t cycle) {
    uint32_t best = 0;
    for (uint32_t k = 1; k < nlist; k++) {
        const Node *node = &sched->nodes[list[k]], *y = &sched->nodes[list[best]];
        uint32_t xr = node->ready > cycle ? node->ready : cycle, yr = y->ready > cycle ? y->ready : cycle;
        if (xr != yr ? xr < yr : node->height != y->height ? node->height > y->height : list[k] < list[best])
            best = k;
    }
    return best;
}

static void issue_all(Sched *sched, InstId *out) {
    uint32_t *list = ARENA_ARRAY(&sched->a, uint32_t, sched->n), nlist = 0, cycle = 0, done = 0;
    for (uint32_t n = 0; n < sched->n; n++)
        if (!sched->nodes[n].npreds)
            list[nlist++] = n;
    while (nlist) {
        uint32_t k = pick(sched, list, nlist, cycle), n = list[k];
        sched->f->module->steps += nlist;
        list[k] = list[--nlist];
        Node *node = &sched->nodes[n];
        cycle = node->ready > cycle ? node->ready : cycle;
        out[done++] = node->id;
        for (Edge *edge = node->succs; edge; edge = edge->next) {
            Node *to = &sched->nodes[edge->to];
            if (cycle + edge->cycles > to->ready)
                to->ready = cycle + edge->cycles;
            if (--to->npreds == 0)
                list[nlist++] = edge->to;
        }
        cycle += latency_issue(sched->t, &node->m);
    }
}

static void schedule_window(Function *f, InstId *at, uint32_t n) {
    if (n < 3)
        return;
    Sched s = {.f = f, .t = f->module->target, .n = n};
    s.nodes = ARENA_ARRAY(&s.a, Node, n);
    for (uint32_t k = 0; k < n; k++) {
        s.nodes[k].id = at[k];
        s.nodes[k].m = emit_mach(f, ir_inst(f, at[k]));
        register_edges(&s, k);
        memory_edges(&s, k);
    }
    heights(&s);
    issue_all(&s, at);
    arena_free(&s.a);
}

bool pass_schedule(Function *f, Diags *d) {
    (void)d;
    FOR_BLOCKS(f, block_id) {
        Block *b = ir_block(f, block_id);
        unsigned start = 0;
        for (unsigned p = 0; p <= b->insts.n; p++) {
            bool fence = p == b->insts.n || is_fence(f, ir_inst(f, b->insts.at[p]));
            if (!fence && p - start < MAX_WINDOW)
                continue;
            schedule_window(f, b->insts.at + start, p - start);
            start = fence ? p + 1 : p;
        }
    }
    return true;
}
