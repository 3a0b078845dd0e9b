/* Spilling: how far the next use of a value is, by a data flow over the whole function.
 * SPDX-License-Identifier: MIT */
#include "regalloc/spill.h"

uint32_t *ra_spill_dist_at(const Spill *spill, uint32_t block, uint32_t v) {
    if (!spill->dist)
        return NULL;
    uint32_t at = ra_set_find(&spill->live.in[block], v);
    return at < spill->live.in[block].n ? &spill->dist[block][at] : NULL;
}

/* What is added to a distance in block `to` where a value is looked at from the end of block `from`. */
static uint32_t way_out(const Spill *spill, BlockId from, BlockId to) {
    return spill->g.depth[to.i] < spill->g.depth[from.i] ? SPILL_LOOP_EXIT : 0;
}

static uint32_t dist_out(const Spill *spill, BlockId b, uint32_t v) {
    const Block *blk = ir_block(spill->f, b);
    uint32_t best = SPILL_FAR;
    for (unsigned k = 0; k < blk->succs.n; k++) {
        BlockId t = blk->succs.at[k];
        uint32_t *d = ra_spill_dist_at(spill, t.i, v), here = d ? *d
                                                              : ra_set_has(&spill->live.in[t.i], v)
                                                                  ? SPILL_EDGE
                                                                  : SPILL_FAR;
        if (here < SPILL_FAR)
            here += way_out(spill, b, t);
        if (here < best)
            best = here;
    }
    return best;
}

/* What the rounds of the data flow share: by value, for the block at hand. */
typedef struct {
    uint32_t *first_use; /* position in the block + 1 */
    uint32_t *behind;    /* distance from the block's end; SPILL_FAR between blocks */
    uint32_t *touched;   /* values with a first use */
} Rounds;

/* One round of the data flow over block b; true if a distance shrank. Costs what is live at its start and at
 * those of its successors. */
static bool refine(Spill *spill, BlockId b, const Rounds *rounds) {
    Function *f = spill->f;
    Block *blk = ir_block(f, b);
    unsigned ntouched = 0;
    bool changed = false;
    FOR_INSTS(f, b, i) {
        if (i->op == IR_PHI)
            continue;
        FOR_READS(f, i, read) {
            ValId v[IR_MOST_VECTOR];
            for (unsigned c = 0, k = ra_values(f, *read, v); c < k; c++)
                if (ra_spill_in_file(spill, v[c]) && !rounds->first_use[v[c].i]) {
                    rounds->first_use[v[c].i] = AT(i) + 1;
                    rounds->touched[ntouched++] = v[c].i;
                }
        }
    }
    for (unsigned s = 0; s < blk->succs.n; s++) {
        BlockId t = blk->succs.at[s];
        const RaSet *set = &spill->live.in[t.i];
        uint32_t more = way_out(spill, b, t);
        for (uint32_t k = 0; k < set->n; k++) {
            uint32_t here = spill->dist[t.i][k];
            if (here < SPILL_FAR && here + more < rounds->behind[set->at[k]])
                rounds->behind[set->at[k]] = here + more;
        }
    }
    for (uint32_t k = 0; k < spill->live.in[b.i].n; k++) {
        uint32_t v = spill->live.in[b.i].at[k], *d = &spill->dist[b.i][k];
        f->module->steps++;
        if (!ra_spill_in_file(spill, (ValId){v}))
            continue;
        uint32_t now;
        if (rounds->first_use[v])
            now = rounds->first_use[v] - 1;
        else {
            now = rounds->behind[v];
            now = now < SPILL_FAR ? now + blk->insts.n
                                  : SPILL_EDGE + blk->insts.n; /* live: a phi uses it at least */
        }
        if (now < *d) {
            *d = now;
            changed = true;
        }
    }
    for (unsigned k = 0; k < ntouched; k++)
        rounds->first_use[rounds->touched[k]] = 0;
    for (unsigned s = 0; s < blk->succs.n; s++) {
        const RaSet *set = &spill->live.in[blk->succs.at[s].i];
        for (uint32_t k = 0; k < set->n; k++)
            rounds->behind[set->at[k]] = SPILL_FAR;
    }
    return changed;
}

void ra_spill_next_uses(Spill *spill) {
    size_t entries = 0;
    for (uint32_t k = 0; k < spill->g.nrpo; k++)
        entries += spill->live.in[spill->g.rpo[k].i].n;
    if (!entries || entries > SPILL_MAX_TABLE)
        return; /* huge: only uses in the same block count */
    uint32_t *all = arena_alloc(spill->a, sizeof *all * entries);
    for (size_t k = 0; k < entries; k++)
        all[k] = SPILL_FAR;
    spill->dist = ARENA_ARRAY(spill->a, uint32_t *, spill->f->blocks.n);
    for (uint32_t k = 0; k < spill->g.nrpo; k++) {
        uint32_t b = spill->g.rpo[k].i;
        spill->dist[b] = all;
        all += spill->live.in[b].n;
    }
    Rounds rounds = {.first_use = ARENA_ARRAY(spill->a, uint32_t, spill->nvals),
                     .behind = ARENA_ARRAY(spill->a, uint32_t, spill->nvals),
                     .touched = ARENA_ARRAY(spill->a, uint32_t, spill->nvals)};
    for (uint32_t v = 0; v < spill->nvals; v++)
        rounds.behind[v] = SPILL_FAR;
    bool changed = true;
    for (unsigned round = 0; changed && round < 20; round++) {
        changed = false;
        for (uint32_t k = spill->g.nrpo; k-- > 0;)
            changed |= refine(spill, spill->g.rpo[k], &rounds);
    }
}

uint32_t ra_spill_next_use(const Spill *spill, BlockId b, uint32_t at, uint32_t v) {
    if (ir_value(spill->f, (ValId){v})->fixed_reg >= 0)
        return 0; /* stays where the ABI wants it */
    if (spill->uses[v])
        return spill->uses[v]->at - at;
    uint32_t left = ir_block(spill->f, b)->insts.n - at;
    if (!ra_set_has(&spill->live.out[b.i], v))
        return SPILL_FAR;
    uint32_t out = dist_out(spill, b, v);
    return left + (out < SPILL_FAR ? out : SPILL_EDGE);
}
