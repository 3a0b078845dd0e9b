/* Spilling: how far the next use of a value is, by a data flow over the whole function.
 * SPDX-License-Identifier: MIT */
#include "regalloc/spill.h"

uint32_t *spill_dist_at(const Spill *s, uint32_t block, uint32_t v) {
    return s->global[v] && s->dist ? &s->dist[(size_t)block * s->ncolumns + s->global[v] - 1] : NULL;
}

static uint32_t dist_out(const Spill *s, BlockId b, uint32_t v) {
    const Block *blk = ir_block(s->f, b);
    uint32_t best = SPILL_FAR;
    for (unsigned k = 0; k < blk->succs.n; k++) {
        BlockId t = blk->succs.at[k];
        uint32_t *d = spill_dist_at(s, t.i, v), here = d                                 ? *d
                                                       : ra_set_has(&s->live.in[t.i], v) ? SPILL_EDGE
                                                                                         : SPILL_FAR;
        if (here < SPILL_FAR && s->g.depth[t.i] < s->g.depth[b.i])
            here += SPILL_LOOP_EXIT;
        if (here < best)
            best = here;
    }
    return best;
}

/* One round of the data flow over block b; true if a distance shrank. */
static bool refine(Spill *s, BlockId b, uint32_t *first_use, uint32_t *touched) {
    Function *f = s->f;
    Block *blk = ir_block(f, b);
    unsigned ntouched = 0;
    bool changed = false;
    for (unsigned p = 0; p < blk->insts.n; p++) {
        Inst *i = ir_inst(f, blk->insts.at[p]);
        for (unsigned n = 0; i->op != IR_PHI && n < ra_num_reads(i); n++) {
            ValId v[4];
            for (unsigned c = 0, k = ra_values(f, *ra_read(f, i, n), v); c < k; c++)
                if (v[c].i && s->global[v[c].i] && !first_use[v[c].i]) {
                    first_use[v[c].i] = p + 1;
                    touched[ntouched++] = v[c].i;
                }
        }
    }
    for (uint32_t k = 0; k < s->live.in[b.i].n; k++) {
        uint32_t v = s->live.in[b.i].at[k], *d = spill_dist_at(s, b.i, v);
        if (!d)
            continue;
        uint32_t now;
        if (first_use[v])
            now = first_use[v] - 1;
        else {
            now = dist_out(s, b, v);
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

void spill_next_uses(Spill *s) {
    Function *f = s->f;
    s->global = ARENA_ARRAY(s->a, uint32_t, s->nvals);
    BS_EACH(v, &s->live.any)
    if (f->values.at[v].file == s->file)
        s->global[v] = ++s->ncolumns;
    if (!s->ncolumns || (size_t)s->ncolumns * s->g.nblocks > SPILL_MAX_TABLE)
        return; /* huge: only uses in the same block count */
    size_t n = (size_t)s->ncolumns * s->g.nblocks;
    s->dist = ARENA_ARRAY(s->a, uint32_t, n);
    for (size_t k = 0; k < n; k++)
        s->dist[k] = SPILL_FAR;
    uint32_t *first = ARENA_ARRAY(s->a, uint32_t, s->nvals), *touched = ARENA_ARRAY(s->a, uint32_t, s->nvals);
    bool changed = true;
    for (unsigned round = 0; changed && round < 20; round++) {
        changed = false;
        for (uint32_t k = s->g.nrpo; k-- > 0;)
            changed |= refine(s, s->g.rpo[k], first, touched);
    }
}

uint32_t spill_next_use(const Spill *s, BlockId b, uint32_t at, uint32_t v) {
    if (ir_value(s->f, (ValId){v})->fixed_reg >= 0)
        return 0; /* stays where the ABI wants it */
    if (s->uses[v])
        return s->uses[v]->at - at;
    uint32_t left = ir_block(s->f, b)->insts.n - at;
    if (!ra_set_has(&s->live.out[b.i], v))
        return SPILL_FAR;
    uint32_t out = dist_out(s, b, v);
    return left + (out < SPILL_FAR ? out : SPILL_EDGE);
}
