/* Which places of the machine code to compare with which of the PTX: proposals, and nothing is believed of
 * them. A wrong one leads to a region that is not proved.
 *
 * A binary of Heddle's says it itself (.heddle.map). Of any other, and with ProveOptions.no_map, the heads of
 * loops are paired: the forests of loops of both sides are walked together, and where a loop has as many
 * loops inside on both sides they belong together in the order of the text. A compiler that duplicates or
 * unrolls a loop changes their number: then nothing is paired there, and the regions concerned are unknown.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core.h"
#include "ir/loops.h"

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

/* ---- loops in order ---- */
typedef struct {
    LoopForest forest;
    bool *skip; /* by loop: none of the PTX's */
} Side;

static Side ptx_side(Prover *prover) {
    VEC(GraphEdge) edges = {0};
    for (uint32_t b = 0; b < prover->nblocks; b++)
        for (uint32_t k = 0; k < prover->blocks[b].nsucc; k++)
            VEC_ADD(&prover->arena, &edges, ((GraphEdge){b, prover->blocks[b].succ[k]}));
    Graph graph = graph_new(&prover->arena, prover->nblocks, edges.at, edges.n);
    Side side = {.forest = loop_forest(&prover->arena, &graph, 0)};
    side.skip = ARENA_ARRAY(&prover->arena, bool, side.forest.n + 1);
    return side;
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

typedef struct {
    Prover *prover;
    Side ptx, mach;
    uint32_t *partner;
} Pairing;

static void pair_inside(Pairing *pairing, uint32_t ptx, uint32_t mach) {
    Prover *prover = pairing->prover;
    uint32_t *x = ARENA_ARRAY(&prover->arena, uint32_t, pairing->ptx.forest.n + 1),
             *m = ARENA_ARRAY(&prover->arena, uint32_t, pairing->mach.forest.n + 1);
    uint32_t nx = inside(&pairing->ptx, ptx, x), nm = inside(&pairing->mach, mach, m);
    if (nm > nx) { /* an atomic operation that the machine has not is a loop of its own */
        for (uint32_t k = 0; k < nm; k++)
            pairing->mach.skip[m[k]] = swaps(prover, &pairing->mach.forest, m[k]);
        nm = inside(&pairing->mach, mach, m);
    }
    if (nx != nm)
        return;
    for (uint32_t k = 0; k < nx; k++) {
        pairing->partner[pairing->mach.forest.at[m[k]].header] = pairing->ptx.forest.at[x[k]].header;
        pair_inside(pairing, x[k], m[k]);
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
