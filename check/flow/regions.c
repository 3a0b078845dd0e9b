/* Regions of convergence barriers. See regions.h.
 * SPDX-License-Identifier: MIT */
#include "check/flow/regions.h"
#include <string.h>

typedef struct {
    const BinFlow *flow;
    const BinFuncFlow *func;
    const BinLoc *locs; /* NULL: there are none */
    uint32_t *depth;    /* [instruction of the function] regions it is in */
    bool *seen;         /* [block of the function] its beginning is in the region */
    bool *inside;       /* of the region, which has it */
    uint32_t *stack;
} Walk;

static void count_line(const Walk *walk, BinRegion *region, uint32_t i) {
    uint32_t line = walk->locs ? walk->locs[i - walk->func->first_inst].ptx_line : 0;
    if (!line)
        return;
    if (!region->first_line || line < region->first_line)
        region->first_line = line;
    if (line > region->last_line)
        region->last_line = line;
}

enum { GOES_NOWHERE = 0, GOES_ANYWHERE = 1 << BE_NEXT | 1 << BE_TAKEN | 1 << BE_TABLE };

static bool writes_guard(const MachInst *inst, Operand guard) {
    for (unsigned k = 0; k < inst->ndst; k++)
        if (inst->dst[k].kind == OPK_REG && inst->dst[k].file == RF_P && inst->dst[k].value == guard.value)
            return true;
    return false;
}

/* Lanes that left by `@P0 BREAK` go with the branch under P0 behind it; the others are still counted. */
static unsigned edges_of_others(const MachInst *branch, Operand left) {
    if (branch->guard.value != left.value || branch->guard.file != left.file)
        return GOES_ANYWHERE;
    bool same = (branch->guard.mods & OPM_NOT) == (left.mods & OPM_NOT);
    return GOES_ANYWHERE & ~(1u << (same ? BE_TAKEN : BE_NEXT));
}

/* Instructions of a block from `i` on; the edges (bits by BinEdgeKind) by which counted lanes go on. */
static unsigned walk_lanes(Walk *walk, BinRegion *region, const BinBlock *block, uint32_t i) {
    const BinFlow *flow = walk->flow;
    const MachInst *left = NULL;
    unsigned edges = GOES_ANYWHERE;
    for (; i < block->first + block->ninsts; i++) {
        const MachInst *inst = &flow->insts[i];
        BinKind kind = flow->decoded[i] ? bin_kind(inst) : BK_PLAIN;
        bool own = (kind == BK_BSYNC || kind == BK_BREAK || kind == BK_BSSY) &&
                   bin_barrier(inst) == region->reg && bin_guard(inst) != BG_NEVER;
        if (own && kind == BK_BSYNC) {
            if (region->sync == BINFLOW_NONE || i < region->sync)
                region->sync = i;
        } else if (kind != BK_NOP)
            region->ninsts++;
        if (kind == BK_PLAIN || kind == BK_BRANCH) /* barriers go by the line of their join */
            count_line(walk, region, i);
        walk->depth[i - walk->func->first_inst] += i != region->bssy;
        walk->inside[i - walk->func->first_inst] = !(own && kind == BK_BSYNC);
        region->nbreaks += own && kind == BK_BREAK;
        if (own && bin_guard(inst) == BG_ALWAYS)
            return GOES_NOWHERE;
        if (own && kind == BK_BREAK)
            left = inst;
        else if (left && kind == BK_BRANCH)
            edges = edges_of_others(inst, left->guard);
        else if (left && flow->decoded[i] && writes_guard(inst, left->guard))
            left = NULL;
    }
    region->nbranches += block->nsuccs > 1;
    return edges;
}

static void walk_region(Walk *walk, BinRegion *region) {
    const BinFlow *flow = walk->flow;
    uint32_t top = 0, base = walk->func->first_block, at = flow->block_of[region->bssy];
    memset(walk->seen, 0, walk->func->nblocks * sizeof *walk->seen);
    for (unsigned edges = walk_lanes(walk, region, &flow->blocks[at], region->bssy + 1);;) {
        const BinBlock *block = &flow->blocks[at];
        for (uint32_t s = 0; s < block->nsuccs; s++) {
            uint32_t to = block->succs[s].block;
            if (edges >> block->succs[s].kind & 1 && !walk->seen[to - base]) {
                walk->seen[to - base] = true;
                walk->stack[top++] = to;
            }
        }
        if (!top)
            return;
        at = walk->stack[--top];
        edges = walk_lanes(walk, region, &flow->blocks[at], flow->blocks[at].first);
    }
}

const BinRegion *bin_regions(const BinFlow *flow, uint32_t func, Arena *a, uint32_t *n) {
    const BinFuncFlow *f = &flow->funcs[func];
    VEC(BinRegion) regions = {0};
    Walk walk = {.flow = flow, .func = f, .locs = flow->bin->funcs[func].locs};
    walk.depth = ARENA_ARRAY(a, uint32_t, f->ninsts + 1);
    walk.seen = ARENA_ARRAY(a, bool, f->nblocks + 1);
    walk.stack = ARENA_ARRAY(a, uint32_t, f->nblocks + 1);
    for (uint32_t i = f->first_inst; i < f->first_inst + f->ninsts; i++) {
        if (!flow->decoded[i] || bin_kind(&flow->insts[i]) != BK_BSSY ||
            !flow->blocks[flow->block_of[i]].reachable)
            continue;
        BinRegion region = {.bssy = i, .sync = BINFLOW_NONE, .reg = (uint8_t)bin_barrier(&flow->insts[i])};
        region.inside = walk.inside = ARENA_ARRAY(a, bool, f->ninsts + 1);
        walk_region(&walk, &region);
        VEC_ADD(a, &regions, region);
    }
    for (uint32_t k = 0; k < regions.n; k++)
        regions.at[k].depth = walk.depth[regions.at[k].bssy - f->first_inst];
    *n = regions.n;
    return regions.at;
}
