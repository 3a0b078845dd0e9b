/* Spilling: how far the next use of a value is, by a data flow over the whole function.
 * SPDX-License-Identifier: MIT */
#include "regalloc/spill.h"

uint32_t *ra_spill_dist_at(const Spill *spill, uint32_t block, uint32_t v) {
    return spill->global[v] && spill->dist
               ? &spill->dist[(size_t)block * spill->ncolumns + spill->global[v] - 1]
               : NULL;
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
        if (here < SPILL_FAR && spill->g.depth[t.i] < spill->g.depth[b.i])
            here += SPILL_LOOP_EXIT;
        if (here < best)
            best = here;
    }
    return best;
}

/* One round of the data flow over block b; true if a distance shrank. */
static bool refine(Spill *spill, BlockId b, uint32_t *first_use, uint32_t *touched) {
    Function *f = spill->f;
    Block *blk = ir_block(f, b);
    unsigned ntouched = 0;
    bool changed = false;
    FOR_INSTS(f, b, i) {
        for (unsigned n = 0; i->op != IR_PHI && n < ra_num_reads(i); n++) {
            ValId v[4];
            for (unsigned c = 0, k = ra_values(f, *ra_read(f, i, n), v); c < k; c++)
                if (v[c].i && spill->global[v[c].i] && !first_use[v[c].i]) {
                    first_use[v[c].i] = AT(i) + 1;
                    touched[ntouched++] = v[c].i;
                }
        }
    }
    for (uint32_t k = 0; k < spill->live.in[b.i].n; k++) {
        uint32_t v = spill->live.in[b.i].at[k], *d = ra_spill_dist_at(spill, b.i, v);
        f->module->steps++;
        if (!d)
            continue;
        uint32_t now;
        if (first_use[v])
            now = first_use[v] - 1;
        else {
            now = dist_out(spill, b, v);
            now = now < SPILL_FAR ? now + blk->insts.n
                                  : SPILL_EDGE + blk->insts.n; /* live: a phi uses it at least */
        }
        if (now < *d) {
            *d = now;
            changed = true;
        }
    }
    for (unsigned k = 0; k < ntouched; k++)
        first_use[touched[k]] = 0;
    return changed;
}

void ra_spill_next_uses(Spill *spill) {
    Function *f = spill->f;
    spill->global = ARENA_ARRAY(spill->a, uint32_t, spill->nvals);
    BS_EACH(v, &spill->live.any)
        if (f->values.at[v].file == spill->file)
            spill->global[v] = ++spill->ncolumns;
    if (!spill->ncolumns || (size_t)spill->ncolumns * spill->g.nblocks > SPILL_MAX_TABLE)
        return; /* huge: only uses in the same block count */
    size_t n = (size_t)spill->ncolumns * spill->g.nblocks;
    spill->dist = ARENA_ARRAY(spill->a, uint32_t, n);
    for (size_t k = 0; k < n; k++)
        spill->dist[k] = SPILL_FAR;
    uint32_t *first = ARENA_ARRAY(spill->a, uint32_t, spill->nvals),
             *touched = ARENA_ARRAY(spill->a, uint32_t, spill->nvals);
    bool changed = true;
    for (unsigned round = 0; changed && round < 20; round++) {
        changed = false;
        for (uint32_t k = spill->g.nrpo; k-- > 0;)
            changed |= refine(spill, spill->g.rpo[k], first, touched);
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
