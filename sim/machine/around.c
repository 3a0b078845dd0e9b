/* Lanes that go around a barrier which needs the whole warp. PTX leaves it undefined that a part of a warp
 * executes `bar` or `barrier.aligned`, but lanes that have ended do not count, and on the machine lanes that
 * went around wait for nobody: they reach the end, and the barrier then sees none but the others. What tells
 * them from lanes that ended before it is where they ended:
 *
 *       @P0 BRA past;               @P0 EXIT;
 *       WARPSYNC; BAR.SYNC;         WARPSYNC; BAR.SYNC;
 *   past: STG; EXIT;                STG; EXIT;
 *
 * A lane went around if it ended where it must have come through an instruction that every way from the
 * barrier to the end passes too, from which no way leads back to the barrier, and which is more than the end
 * itself. Other ways to miss a barrier (a wait that never ends, two barriers at once) show by themselves.
 *
 * Which barriers need the whole warp is written in the word on some targets only (TargetInfo.bar_defer); of
 * others nothing is said, nor of code with indirect branches, and of functions, which lanes leave by RET.
 * The interpreter finds the same on the PTX text and counts executions (sim/interp/promise.c).
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include "ir/dominators.h"

typedef struct {
    const Run *run;
    uint32_t first, n; /* instructions of the kernel, indices into Binary.code */
    MachInst *insts;
    VEC(GraphEdge) edges;
    Arena arena;
} Kernel;

static bool is_guarded(const MachInst *in) {
    unsigned second = isa_traits(in->optype)->second_guard;
    return !op_is_always(in->guard) ||
           (second < in->nsrc && in->src[second].kind == OPK_REG && !op_is_always(in->src[second]));
}

static bool place_of(const MachInst *in, int64_t *bytes) {
    for (unsigned k = 0; k < in->nsrc; k++)
        if (in->src[k].kind == OPK_IMM64) {
            *bytes = in->wide;
            return true;
        }
    return false;
}

static void add_edge(Kernel *kernel, uint32_t from, uint32_t to) {
    VEC_ADD(&kernel->arena, &kernel->edges, ((GraphEdge){from, to < kernel->n ? to : kernel->n}));
}

/* The ways from instruction i; node n is the end. More ways than there are only hide something. */
static bool add_ways(Kernel *kernel, uint32_t i) {
    const MachInst *in = &kernel->insts[i];
    unsigned flow = isa_traits(in->optype)->flow;
    int64_t bytes = 0;
    bool names_place = place_of(in, &bytes), goes_on = true;
    switch (flow) {
    case ISA_FLOW_INDIRECT:
    case ISA_FLOW_RET: return false;
    case ISA_FLOW_BRANCH: goes_on = is_guarded(in) || MGET(BRA, cond, in->mods) != BRACond_NoCond; break;
    case ISA_FLOW_EXIT: goes_on = is_guarded(in); break;
    default: break;
    }
    if (flow == ISA_FLOW_EXIT || flow == ISA_FLOW_TRAP)
        add_edge(kernel, i, kernel->n);
    /* some native WARPSYNCs name a place, and ptxas calls places of the same function */
    if (flow == ISA_FLOW_BRANCH || flow == ISA_FLOW_CALL || flow == ISA_FLOW_WARPSYNC) {
        int64_t to = (int64_t)i + 1 + bytes / INST_BYTES;
        bool inside = names_place && bytes % INST_BYTES == 0 && to >= 0 && to < kernel->n;
        if (inside)
            add_edge(kernel, i, (uint32_t)to);
        else if (flow == ISA_FLOW_BRANCH)
            return false;
    }
    if (goes_on)
        add_edge(kernel, i, i + 1);
    return true;
}

static bool read_kernel(Kernel *kernel) {
    const Run *run = kernel->run;
    kernel->first = (uint32_t)((run->kernel->address - run->bin->code_base) / INST_BYTES);
    kernel->n = run->kernel->ninsts;
    if (kernel->first > run->ncode || kernel->n > run->ncode - kernel->first)
        return false;
    kernel->insts = ARENA_ARRAY(&kernel->arena, MachInst, kernel->n + 1);
    for (uint32_t i = 0; i < kernel->n; i++) {
        char error[ISA_ERROR_BYTES];
        if (!isa_decode(run->bin->target, run->code[kernel->first + i], &kernel->insts[i], error) ||
            !add_ways(kernel, i))
            return false;
    }
    return true;
}

static bool leads_to(Kernel *kernel, const Graph *graph, uint32_t from, uint32_t to) {
    ArenaMark mark = arena_mark(&kernel->arena);
    GraphOrder order = graph_order(&kernel->arena, graph, from);
    bool found = order.index[to] != NO_NODE;
    arena_release(&kernel->arena, mark);
    return found;
}

/* Nothing but leaving, or going there, or waiting for others on the way. */
static bool is_way_out(const MachInst *in) {
    switch (isa_traits(in->optype)->flow) {
    case ISA_FLOW_EXIT:
    case ISA_FLOW_BRANCH: return !is_guarded(in);
    case ISA_FLOW_NOP:
    case ISA_FLOW_BSSY:
    case ISA_FLOW_BSYNC:
    case ISA_FLOW_BREAK:
    case ISA_FLOW_YIELD:
    case ISA_FLOW_WARPSYNC: return true;
    default: return false;
    }
}

/* Lanes of `ended` that went around the barrier at `bar`. */
static uint32_t find(Kernel *kernel, const Warp *warp, uint32_t bar, uint32_t ended) {
    uint32_t around = 0;
    if (!read_kernel(kernel) || bar < kernel->first || bar - kernel->first >= kernel->n)
        return 0;
    bar -= kernel->first;
    Graph graph = graph_new(&kernel->arena, kernel->n + 1, kernel->edges.at, kernel->edges.n);
    DomTree back = dom_tree(&kernel->arena, &graph, GRAPH_BACKWARD, kernel->n),
            forth = dom_tree(&kernel->arena, &graph, GRAPH_FORWARD, 0);
    if (back.idom[bar] == NO_NODE)
        return 0;
    bool leads_back = true;
    for (uint32_t m = back.idom[bar]; m != kernel->n; m = back.idom[m]) {
        leads_back = leads_back && leads_to(kernel, &graph, m, bar);
        if (leads_back || is_way_out(&kernel->insts[m]))
            continue;
        for (uint32_t rest = ended; rest; rest &= rest - 1) {
            uint32_t at = warp->exit_pc[low_lane(rest)] - kernel->first;
            if (at < kernel->n && dom_contains(&forth, m, at))
                around |= 1u << low_lane(rest);
        }
    }
    return around;
}

bool machine_barrier_is_aligned(const Warp *warp, const Dec *dec) {
    bool defer = dec->optype == OT_BAR_RED ? MGET(BAR_RED, defer, dec->mods) : MGET(BAR, defer, dec->mods);
    return defer && isa_target_info(warp->run->bin->target)->bar_defer == BarDefer_ALIGNED;
}

uint32_t machine_went_around(const Warp *warp, const Dec *dec) {
    Kernel kernel = {.run = warp->run};
    uint32_t lanes = find(&kernel, warp, (uint32_t)(dec - warp->prog), warp->first_valid & ~warp->valid);
    arena_free(&kernel.arena);
    return lanes;
}
