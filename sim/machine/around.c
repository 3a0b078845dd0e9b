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
 * others nothing is said unless the caller knows it (MachineOptions.aligned), nor of code with indirect
 * branches, and of functions, which lanes leave by RET. The interpreter finds the same on the PTX text and
 * counts executions (sim/interp/promise.c).
 *
 * A kernel is looked at once in a session, and a barrier of it when it is first reached without lanes that
 * have ended; from then on the question costs a look at each of those lanes. SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include "base/bitset.h"
#include "ir/dominators.h"

struct Around {
    const BinFunc *kernel;
    uint32_t first, n; /* its instructions, indices into Binary.code */
    MachInst *insts;
    VEC(GraphEdge) edges;
    bool readable; /* else nothing is said */
    Graph graph;   /* node n is the end */
    DomTree back, forth;
    Bitset *past; /* [instruction] of a barrier: where lanes end that went around it. Empty: not asked yet */
    struct Around *next;
};
typedef struct Around Kernel;

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

static void add_edge(Arena *a, Kernel *kernel, uint32_t from, uint32_t to) {
    VEC_ADD(a, &kernel->edges, ((GraphEdge){from, to < kernel->n ? to : kernel->n}));
}

/* The ways from instruction i; node n is the end. More ways than there are only hide something. */
static bool add_ways(Arena *a, Kernel *kernel, uint32_t i) {
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
        add_edge(a, kernel, i, kernel->n);
    /* some native WARPSYNCs name a place, and ptxas calls places of the same function */
    if (flow == ISA_FLOW_BRANCH || flow == ISA_FLOW_CALL || flow == ISA_FLOW_WARPSYNC) {
        int64_t to = (int64_t)i + 1 + bytes / INST_BYTES;
        bool inside = names_place && bytes % INST_BYTES == 0 && to >= 0 && to < kernel->n;
        if (inside)
            add_edge(a, kernel, i, (uint32_t)to);
        else if (flow == ISA_FLOW_BRANCH)
            return false;
    }
    if (goes_on)
        add_edge(a, kernel, i, i + 1);
    return true;
}

static bool read_kernel(Run *run, Kernel *kernel) {
    kernel->first = (uint32_t)((kernel->kernel->address - run->bin->code_base) / INST_BYTES);
    kernel->n = kernel->kernel->ninsts;
    if (kernel->first > run->ncode || kernel->n > run->ncode - kernel->first)
        return false;
    kernel->insts = ARENA_ARRAY(&run->arena, MachInst, kernel->n + 1);
    for (uint32_t i = 0; i < kernel->n; i++) {
        char error[ISA_ERROR_BYTES];
        const MachInst *in = binary_inst(run->bin, run->code, kernel->first + i, &kernel->insts[i], error);
        if (!in)
            return false;
        kernel->insts[i] = *in;
        if (!add_ways(&run->arena, kernel, i))
            return false;
    }
    kernel->graph = graph_new(&run->arena, kernel->n + 1, kernel->edges.at, kernel->edges.n);
    kernel->back = dom_tree(&run->arena, &kernel->graph, GRAPH_BACKWARD, kernel->n);
    kernel->forth = dom_tree(&run->arena, &kernel->graph, GRAPH_FORWARD, 0);
    kernel->past = ARENA_ARRAY(&run->arena, Bitset, kernel->n + 1);
    return true;
}

/* The run's kernel, looked at. */
static Kernel *kernel_of(Run *run) {
    for (Kernel *kernel = run->around; kernel; kernel = kernel->next)
        if (kernel->kernel == run->kernel)
            return kernel;
    Kernel *kernel = ARENA_ARRAY(&run->arena, Kernel, 1);
    *kernel = (Kernel){.kernel = run->kernel, .next = run->around};
    kernel->readable = read_kernel(run, kernel);
    return run->around = kernel;
}

/* The instructions from which the barrier can be reached. */
static Bitset leading_to(Run *run, const Kernel *kernel, uint32_t bar) {
    Graph back = graph_directed(&kernel->graph, GRAPH_BACKWARD);
    GraphOrder order = graph_order(&run->arena, &back, bar);
    Bitset leading = bs_new(&run->arena, kernel->n + 1);
    for (uint32_t k = 0; k < order.count; k++)
        bs_add(&leading, order.order[k]);
    return leading;
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

/* Where lanes end that went around the barrier. */
static Bitset past_of(Run *run, const Kernel *kernel, uint32_t bar) {
    Bitset past = bs_new(&run->arena, kernel->n + 1), leading = leading_to(run, kernel, bar);
    if (kernel->back.idom[bar] == NO_NODE)
        return past;
    for (uint32_t m = kernel->back.idom[bar]; m != kernel->n; m = kernel->back.idom[m])
        if (!bs_has(&leading, m) && !is_way_out(&kernel->insts[m]))
            bs_add(&past, m);
    GraphOrder order = graph_order(&run->arena, &kernel->graph, 0);
    for (uint32_t k = 1; k < order.count; k++) { /* and what is behind those only */
        uint32_t above = kernel->forth.idom[order.order[k]];
        if (above != NO_NODE && bs_has(&past, above))
            bs_add(&past, order.order[k]);
    }
    return past;
}

bool machine_barrier_is_aligned(const Warp *warp, const Dec *dec) {
    bool defer = dec->optype == OT_BAR_RED ? MGET(BAR_RED, defer, dec->mods) : MGET(BAR, defer, dec->mods);
    const Run *run = warp->run;
    return isa_target_info(run->bin->target)->bar_defer == BarDefer_ALIGNED
               ? defer
               : run->opt.aligned && run->opt.aligned[dec - warp->prog];
}

uint32_t machine_went_around(Warp *warp, const Dec *dec) {
    Run *run = warp->run;
    Kernel *kernel = kernel_of(run);
    uint32_t bar = (uint32_t)(dec - warp->prog) - kernel->first, around = 0;
    if (!kernel->readable || bar >= kernel->n)
        return 0;
    if (!kernel->past[bar].w)
        kernel->past[bar] = past_of(run, kernel, bar);
    for (uint32_t rest = warp->first_valid & ~warp->valid; rest; rest &= rest - 1) {
        uint32_t at = warp->exit_pc[low_lane(rest)] - kernel->first;
        if (at < kernel->n && bs_has(&kernel->past[bar], at))
            around |= 1u << low_lane(rest);
    }
    return around;
}
