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

/* Instructions of a block from `i` on; true: lanes that are still counted go on behind it. */
static bool walk_lanes(Walk *walk, BinRegion *region, const BinBlock *block, uint32_t i) {
    const BinFlow *flow = walk->flow;
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
        region->nbreaks += own && kind == BK_BREAK;
        if (own && bin_guard(inst) == BG_ALWAYS)
            return false;
    }
    region->nbranches += block->nsuccs > 1;
    return true;
}

static void walk_region(Walk *walk, BinRegion *region) {
    const BinFlow *flow = walk->flow;
    uint32_t top = 0, base = walk->func->first_block, at = flow->block_of[region->bssy];
    memset(walk->seen, 0, walk->func->nblocks * sizeof *walk->seen);
    for (bool more = walk_lanes(walk, region, &flow->blocks[at], region->bssy + 1);;) {
        const BinBlock *block = &flow->blocks[at];
        for (uint32_t s = 0; s < block->nsuccs && more; s++) {
            uint32_t to = block->succs[s].block;
            if (!walk->seen[to - base]) {
                walk->seen[to - base] = true;
                walk->stack[top++] = to;
            }
        }
        if (!top)
            return;
        at = walk->stack[--top];
        more = walk_lanes(walk, region, &flow->blocks[at], flow->blocks[at].first);
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
        walk_region(&walk, &region);
        VEC_ADD(a, &regions, region);
    }
    for (uint32_t k = 0; k < regions.n; k++)
        regions.at[k].depth = walk.depth[regions.at[k].bssy - f->first_inst];
    *n = regions.n;
    return regions.at;
}
