/* Which places of the machine code to compare with which of the PTX: proposals, and nothing is believed of
 * them. A wrong one leads to a region that is not proved.
 *
 * A binary of Heddle's says it itself (.heddle.map). Of any other, and with ProveOptions.no_map, the heads of
 * loops are paired: the forests of loops of both sides are walked together, and of a few loops side by side
 * those belong together that are most alike in what they do to memory, in the order of the text where that
 * tells nothing. A loop of the PTX that is left over was unrolled entirely, perhaps; where the machine code
 * has more of them than the PTX nothing is paired, and the regions concerned are unknown.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"
#include <string.h>

/* ---- the map ---- */
bool prove_only_control(const BinFlow *flow, const BinBlock *b) {
    FOR_BIN_INSTS(b, i) {
        BinKind k = bin_kind(&flow->insts[i]);
        if (k != BK_NOP && k != BK_BSSY && k != BK_BSYNC && k != BK_BREAK && k != BK_YIELD &&
            k != BK_WARPSYNC && k != BK_BRANCH)
            return false;
    }
    return b->nsuccs == 1;
}

/* PTX block that the map says machine block `b` begins with, PROVE_NO_BLOCK if none. */
static uint32_t mapped(const Prover *prover, uint32_t b, unsigned hops) {
    const BinBlock *bin_block = &prover->flow->blocks[b];
    uint32_t pc = (bin_block->first - prover->ff->first_inst) * INST_BYTES, found = PROVE_NO_BLOCK;
    for (uint32_t i = 0; i < prover->bf->npoints; i++) {
        uint32_t insn = prover->bf->points[i].ptx_insn - 1;
        if (prover->bf->points[i].pc_bytes == pc && insn <= prover->pf->ninsns) {
            uint32_t block = prover->block_of[insn];
            if (block < prover->nblocks && prover->blocks[block].first == insn &&
                prover->blocks[block].rpo != UINT32_MAX)
                found = block;
        }
    }
    if (found == PROVE_NO_BLOCK && hops && prove_only_control(prover->flow, bin_block))
        return mapped(prover, bin_block->succs[0].block, hops - 1);
    return found;
}

static void by_map(const Prover *prover, uint32_t *partner) {
    enum { HOPS = 4 };
    for (uint32_t k = 1; k < prover->ff->nrpo; k++) {
        uint32_t b = prover->ff->rpo[k], arrivals = 0;
        const BinBlock *block = &prover->flow->blocks[b];
        for (uint32_t i = 0; i < block->npreds; i++)
            arrivals += prover->flow->blocks[block->preds[i].block].reachable;
        if (arrivals >= 2)
            partner[b - prover->ff->first_block] = mapped(prover, b, HOPS);
    }
}

bool prove_pairing_rounds(const Prover *prover, uint32_t *partner) {
    bool any = false;
    for (uint32_t k = 1; prover->bf->npoints && !prover->opt->no_map && k < prover->ff->nrpo; k++) {
        uint32_t b = prover->ff->rpo[k] - prover->ff->first_block,
                 ptx = mapped(prover, prover->ff->rpo[k], 0);
        if (partner[b] != PROVE_NO_BLOCK || ptx == PROVE_NO_BLOCK || !prover->blocks[ptx].header)
            continue;
        partner[b] = ptx;
        any = true;
    }
    return any;
}

/* ---- loops in order ---- */
typedef struct {
    LoopForest forest;
    bool *skip; /* by loop: none of the PTX's */
} Side;

static Side ptx_side(Prover *prover) {
    return (Side){.forest = prover->ptx_loops,
                  .skip = ARENA_ARRAY(&prover->arena, bool, prover->ptx_loops.n + 1)};
}

static bool swaps(const Prover *prover, const LoopForest *forest, uint32_t loop) {
    for (uint32_t b = 0; b < prover->ff->nblocks; b++) {
        if (!loop_contains(forest, loop, b))
            continue;
        FOR_BIN_INSTS(&prover->flow->blocks[prover->ff->first_block + b], i)
            if (isa_has_effect(prover->flow->insts[i].optype, ISA_EFFECT_SWAP))
                return true;
    }
    return false;
}

Graph prove_mach_graph(Prover *prover) {
    uint32_t first = prover->ff->first_block;
    VEC(GraphEdge) edges = {0};
    for (uint32_t b = 0; b < prover->ff->nblocks; b++)
        for (uint32_t k = 0; k < prover->flow->blocks[first + b].nsuccs; k++)
            VEC_ADD(&prover->arena, &edges,
                    ((GraphEdge){b, prover->flow->blocks[first + b].succs[k].block - first}));
    return graph_new(&prover->arena, prover->ff->nblocks, edges.at, edges.n);
}

static Side mach_side(Prover *prover) {
    Graph graph = prove_mach_graph(prover);
    Side side = {.forest = loop_forest(&prover->arena, &graph, 0)};
    side.skip = ARENA_ARRAY(&prover->arena, bool, side.forest.n + 1);
    return side;
}

/* Loops directly inside `parent` in the order of their headers in the text; their number. */
static uint32_t inside(const Side *side, uint32_t parent, uint32_t *out) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < side->forest.n; k++) {
        if (side->forest.at[k].parent != parent || side->skip[k])
            continue;
        uint32_t at = n++;
        for (; at && side->forest.at[out[at - 1]].header > side->forest.at[k].header; at--)
            out[at] = out[at - 1];
        out[at] = k;
    }
    return n;
}

/* What a loop does to memory, by which it is told from its neighbours: bytes of loads and stores of each
 * space, atomic operations, barriers. Compilers put accesses together and leave others out, so it need not be
 * equal. */
enum { DOES_READ, DOES_WRITE, DOES_READ_SHARED, DOES_WRITE_SHARED, DOES_ATOMIC, DOES_BARRIER, NDOES };
typedef struct {
    uint32_t n[NDOES];
} Does;

static void add_access(Does *does, bool shared, bool write, uint32_t bytes) {
    does->n[shared ? write ? DOES_WRITE_SHARED : DOES_READ_SHARED : write ? DOES_WRITE : DOES_READ] += bytes;
}

static Does ptx_does(const Prover *prover, uint32_t loop) {
    Does does = {{0}};
    for (uint32_t i = 0; i < prover->pf->ninsns; i++) {
        const PtxInsn *in = &prover->pf->insns[i];
        if (!loop_contains(&prover->ptx_loops, loop, prover->block_of[i]))
            continue;
        bool shared = in->space == SP_SHARED;
        if (in->op == PTX_LD || in->op == PTX_ST) {
            if (shared || in->space == SP_GLOBAL || in->space == SP_NONE)
                add_access(&does, shared, in->op == PTX_ST, in->vec * ptx_type_bytes((PtxType)in->type[0]));
        } else {
            does.n[DOES_ATOMIC] += in->op == PTX_ATOM || in->op == PTX_RED;
            does.n[DOES_BARRIER] += in->op == PTX_BAR && in->sub != SUB_WARP;
        }
    }
    return does;
}

static Does mach_does(const Prover *prover, const LoopForest *forest, uint32_t loop) {
    Does does = {{0}};
    for (uint32_t b = 0; b < prover->ff->nblocks; b++) {
        if (!loop_contains(forest, loop, b))
            continue;
        FOR_BIN_INSTS(&prover->flow->blocks[prover->ff->first_block + b], i) {
            const MachInst *in = &prover->flow->insts[i];
            const OpTraits *traits = isa_traits(in->optype);
            bool shared = traits->space == ISA_SPACE_SHARED, atomic = traits->effects & ISA_EFFECT_ATOMIC;
            if (atomic)
                does.n[DOES_ATOMIC]++;
            else if (traits->space & (ISA_SPACE_SHARED | ISA_SPACE_GLOBAL) &&
                     traits->effects & (ISA_EFFECT_READ | ISA_EFFECT_WRITE))
                add_access(&does, shared, traits->effects & ISA_EFFECT_WRITE, isa_access_bytes(in));
            does.n[DOES_BARRIER] += (traits->effects & ISA_EFFECT_CTA_BARRIER) != 0;
        }
    }
    return does;
}

typedef struct {
    Prover *prover;
    Side ptx, mach;
    uint32_t *partner;
} Pairing;

static uint32_t loops_within(const LoopForest *forest, uint32_t loop) {
    return forest->at[loop].out - forest->at[loop].in - 1;
}

/* How unlike two loops are. */
static uint32_t distance(const Pairing *pairing, uint32_t x, uint32_t m) {
    enum { OF_A_LOOP = 64 };
    Does ptx = ptx_does(pairing->prover, x), mach = mach_does(pairing->prover, &pairing->mach.forest, m);
    uint32_t sum = 0, nx = loops_within(&pairing->ptx.forest, x), nm = loops_within(&pairing->mach.forest, m);
    for (unsigned k = 0; k < NDOES; k++)
        sum += ptx.n[k] > mach.n[k] ? ptx.n[k] - mach.n[k] : mach.n[k] - ptx.n[k];
    return sum + OF_A_LOOP * (nx > nm ? nx - nm : nm - nx);
}

/* The loops of the machine code each to another one of the PTX, so that they are least unlike; of equal ways
 * the one that keeps the order most, which is tried first. */
enum { MOST_NEIGHBOURS = 6 };
typedef struct {
    uint32_t cost[MOST_NEIGHBOURS][MOST_NEIGHBOURS], nx, nm; /* by loop of the machine, of the PTX */
    uint32_t chosen[MOST_NEIGHBOURS], best[MOST_NEIGHBOURS], least;
    bool used[MOST_NEIGHBOURS];
} Assignment;

static void assign(Assignment *assignment, uint32_t m, uint32_t sum) {
    if (sum >= assignment->least)
        return;
    if (m == assignment->nm) {
        assignment->least = sum;
        memcpy(assignment->best, assignment->chosen, sizeof assignment->best);
        return;
    }
    for (uint32_t x = 0; x < assignment->nx; x++) {
        if (assignment->used[x])
            continue;
        assignment->used[x] = true;
        assignment->chosen[m] = x;
        assign(assignment, m + 1, sum + assignment->cost[m][x]);
        assignment->used[x] = false;
    }
}

/* What loop of the PTX each of the machine's is proposed for; false: nothing is. */
static bool matched(const Pairing *pairing, const uint32_t *x, uint32_t nx, const uint32_t *m, uint32_t nm,
                    uint32_t *out) {
    for (uint32_t k = 0; k < nm; k++)
        out[k] = k;
    if (nx == nm && (nm == 1 || nm > MOST_NEIGHBOURS))
        return true;
    if (nm > nx || nx > MOST_NEIGHBOURS)
        return false;
    Assignment assignment = {.nx = nx, .nm = nm, .least = UINT32_MAX};
    for (uint32_t k = 0; k < nm; k++)
        for (uint32_t i = 0; i < nx; i++)
            assignment.cost[k][i] = distance(pairing, x[i], m[k]);
    assign(&assignment, 0, 0);
    memcpy(out, assignment.best, nm * sizeof *out);
    return true;
}

static void pair_inside(Pairing *pairing, uint32_t ptx, uint32_t mach) {
    Prover *prover = pairing->prover;
    uint32_t *x = ARENA_ARRAY(&prover->arena, uint32_t, pairing->ptx.forest.n + 1),
             *m = ARENA_ARRAY(&prover->arena, uint32_t, pairing->mach.forest.n + 1),
             *of = ARENA_ARRAY(&prover->arena, uint32_t, pairing->mach.forest.n + 1);
    uint32_t nx = inside(&pairing->ptx, ptx, x), nm = inside(&pairing->mach, mach, m);
    if (nm > nx) { /* an atomic operation that the machine has not is a loop of its own */
        for (uint32_t k = 0; k < nm; k++)
            pairing->mach.skip[m[k]] = swaps(prover, &pairing->mach.forest, m[k]);
        nm = inside(&pairing->mach, mach, m);
    }
    if (!matched(pairing, x, nx, m, nm, of))
        return;
    for (uint32_t k = 0; k < nm; k++) {
        pairing->partner[pairing->mach.forest.at[m[k]].header] = pairing->ptx.forest.at[x[of[k]]].header;
        pair_inside(pairing, x[of[k]], m[k]);
    }
}

static void by_order(Prover *prover, uint32_t *partner) {
    Pairing pairing = {prover, ptx_side(prover), mach_side(prover), partner};
    pair_inside(&pairing, NO_NODE, NO_NODE);
}

uint32_t *prove_pairing(Prover *prover) {
    uint32_t *partner = graph_numbers(&prover->arena, prover->ff->nblocks + 1, PROVE_NO_BLOCK);
    if (prover->bf->npoints && !prover->opt->no_map)
        by_map(prover, partner);
    else
        by_order(prover, partner);
    return partner;
}
