/* Control flow order, loops and liveness for register allocation. In: machine IR with values. Liveness is by
 * path: a value with several definitions (a reload defines its value again) is dead above each of them.
 * SPDX-License-Identifier: MIT */
#include "regalloc/regalloc.h"
#include <string.h>

/* ---- order and loops ---- */

static void number_blocks(Function *f, Arena *a, RaCfg *g) {
    uint32_t n = g->nblocks, top = 0, at = n;
    BlockId *order = ARENA_ARRAY(a, BlockId, n), *stack = ARENA_ARRAY(a, BlockId, n);
    uint32_t *next = ARENA_ARRAY(a, uint32_t, n);
    bool *seen = ARENA_ARRAY(a, bool, n);
    stack[top++] = f->entry;
    seen[f->entry.i] = true;
    while (top) {
        BlockId b = stack[top - 1];
        const Block *blk = ir_block(f, b);
        if (next[b.i] < blk->succs.n) {
            /* Last successor first: the first one then follows its block in reverse postorder. */
            BlockId s = blk->succs.at[blk->succs.n - 1 - next[b.i]++];
            if (!seen[s.i]) {
                seen[s.i] = true;
                stack[top++] = s;
            }
        } else {
            order[--at] = b;
            top--;
        }
    }
    g->rpo = order + at;
    g->nrpo = n - at;
    for (uint32_t k = 0; k < n; k++)
        g->rpo_index[k] = UINT32_MAX;
    for (uint32_t k = 0; k < g->nrpo; k++)
        g->rpo_index[g->rpo[k].i] = k;
}

/* Blocks that reach `from` without passing `header`, and come after it: the body of the loop, also of an
 * irreducible one as far as the order sees it. */
static void mark_body(Function *f, RaCfg *g, BlockId header, Bitset *body, BlockId *stack) {
    uint32_t top = 0, head_at = g->rpo_index[header.i];
    bs_add(body, header.i);
    const Block *h = ir_block(f, header);
    for (unsigned k = 0; k < h->preds.n; k++) {
        BlockId p = h->preds.at[k];
        if (g->rpo_index[p.i] != UINT32_MAX && g->rpo_index[p.i] >= head_at && !bs_has(body, p.i)) {
            bs_add(body, p.i);
            stack[top++] = p;
        }
    }
    while (top) {
        const Block *b = ir_block(f, stack[--top]);
        for (unsigned k = 0; k < b->preds.n; k++) {
            BlockId p = b->preds.at[k];
            if (g->rpo_index[p.i] == UINT32_MAX || g->rpo_index[p.i] < head_at || bs_has(body, p.i))
                continue;
            bs_add(body, p.i);
            stack[top++] = p;
        }
    }
}

void ra_cfg(Function *f, Arena *a, RaCfg *g) {
    uint32_t n = f->blocks.n;
    *g = (RaCfg){.nblocks = n};
    g->rpo_index = ARENA_ARRAY(a, uint32_t, n);
    g->depth = ARENA_ARRAY(a, uint32_t, n);
    g->header = ARENA_ARRAY(a, BlockId, n);
    number_blocks(f, a, g);
    Bitset body = bs_new(a, n);
    BlockId *stack = ARENA_ARRAY(a, BlockId, n);
    for (uint32_t k = 0; k < g->nrpo; k++) { /* outer headers come first, inner ones overwrite */
        BlockId h = g->rpo[k];
        const Block *b = ir_block(f, h);
        bool is_header = false;
        for (unsigned p = 0; p < b->preds.n; p++) {
            uint32_t at = g->rpo_index[b->preds.at[p].i];
            is_header |= at != UINT32_MAX && at >= k;
        }
        if (!is_header)
            continue;
        bs_clear(&body);
        mark_body(f, g, h, &body, stack);
        BS_EACH(m, &body) {
            g->depth[m]++;
            g->header[m] = h;
        }
    }
}

/* ---- liveness ---- */

static void mark_values(const Function *f, Operand o, Bitset *s, bool add) {
    ValId v[4];
    for (unsigned c = 0, n = ra_values(f, o, v); c < n; c++)
        if (v[c].i) {
            if (add)
                bs_add(s, v[c].i);
            else
                bs_del(s, v[c].i);
        }
}

/* One instruction backwards over `live`. */
static void step_back(Function *f, Inst *i, Bitset *live) {
    for (unsigned k = 0; k < i->ndst; k++)
        mark_values(f, *ir_dst(f, i, k), live, false);
    if (i->op == IR_PHI)
        return;
    for (unsigned k = 0, n = ra_num_reads(i); k < n; k++)
        mark_values(f, *ra_read(f, i, k), live, true);
}

/* Operands that the phis of b's successors take from b. */
static void phi_uses(Function *f, BlockId b, Bitset *out) {
    const Block *blk = ir_block(f, b);
    for (unsigned s = 0; s < blk->succs.n; s++) {
        const Block *to = ir_block(f, blk->succs.at[s]);
        for (unsigned p = 0; p < to->preds.n; p++) {
            if (to->preds.at[p].i != b.i)
                continue;
            for (unsigned k = 0; k < to->insts.n && ir_inst(f, to->insts.at[k])->op == IR_PHI; k++)
                mark_values(f, *ir_src(f, ir_inst(f, to->insts.at[k]), p), out, true);
        }
    }
}

void ra_live(Function *f, const RaCfg *g, Arena *a, RaLive *l) {
    uint32_t n = f->blocks.n, nvals = f->values.n;
    l->in = ARENA_ARRAY(a, Bitset, n);
    l->out = ARENA_ARRAY(a, Bitset, n);
    Bitset *gen = ARENA_ARRAY(a, Bitset, n), *kill = ARENA_ARRAY(a, Bitset, n);
    Bitset live = bs_new(a, nvals);
    for (uint32_t k = 0; k < g->nrpo; k++) {
        uint32_t b = g->rpo[k].i;
        l->in[b] = bs_new(a, nvals);
        l->out[b] = bs_new(a, nvals);
        gen[b] = bs_new(a, nvals);
        kill[b] = bs_new(a, nvals);
        Block *blk = ir_block(f, g->rpo[k]);
        for (unsigned p = blk->insts.n; p-- > 0;) {
            Inst *i = ir_inst(f, blk->insts.at[p]);
            step_back(f, i, &gen[b]);
            for (unsigned d = 0; d < i->ndst; d++)
                mark_values(f, *ir_dst(f, i, d), &kill[b], true);
        }
        phi_uses(f, g->rpo[k], &l->out[b]);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = g->nrpo; k-- > 0;) {
            uint32_t b = g->rpo[k].i;
            const Block *blk = ir_block(f, g->rpo[k]);
            for (unsigned s = 0; s < blk->succs.n; s++)
                bs_or(&l->out[b], &l->in[blk->succs.at[s].i]);
            bs_copy(&live, &l->out[b]);
            bs_andnot(&live, &kill[b]);
            bs_or(&live, &gen[b]);
            changed |= bs_or(&l->in[b], &live);
        }
    }
    l->any = bs_new(a, nvals);
    for (uint32_t k = 0; k < g->nrpo; k++)
        bs_or(&l->any, &l->in[g->rpo[k].i]);
}

/* ---- pressure ---- */

static void count_live(const Function *f, const Bitset *live, unsigned n[RF_COUNT]) {
    memset(n, 0, sizeof(unsigned) * RF_COUNT);
    BS_EACH(v, live)
    n[f->values.at[v].file]++;
}

/* Change the counts as `o`'s values enter or leave `live`. */
static void count_values(const Function *f, Operand o, Bitset *live, unsigned n[RF_COUNT], bool add) {
    ValId v[4];
    for (unsigned c = 0, k = ra_values(f, o, v); c < k; c++) {
        if (!v[c].i || bs_has(live, v[c].i) == add)
            continue;
        if (add) {
            bs_add(live, v[c].i);
            n[f->values.at[v[c].i].file]++;
        } else {
            bs_del(live, v[c].i);
            n[f->values.at[v[c].i].file]--;
        }
    }
}

static void raise(unsigned max[RF_COUNT], const unsigned now[RF_COUNT]) {
    for (unsigned k = 0; k < RF_COUNT; k++)
        if (now[k] > max[k])
            max[k] = now[k];
}

static void block_pressure(Function *f, const RaLive *l, BlockId b, Bitset *live, unsigned max[RF_COUNT]) {
    unsigned now[RF_COUNT];
    bs_copy(live, &l->out[b.i]);
    count_live(f, live, now);
    raise(max, now);
    Block *blk = ir_block(f, b);
    for (unsigned p = blk->insts.n; p-- > 0;) {
        Inst *i = ir_inst(f, blk->insts.at[p]);
        if (i->op == IR_PHI)
            break; /* phi results are live together: counted at the instruction behind them */
        for (unsigned k = 0; k < i->ndst; k++) /* a dead result needs a register too */
            count_values(f, *ir_dst(f, i, k), live, now, true);
        raise(max, now);
        for (unsigned k = 0; k < i->ndst; k++)
            count_values(f, *ir_dst(f, i, k), live, now, false);
        for (unsigned k = 0, n = ra_num_reads(i); k < n; k++)
            count_values(f, *ra_read(f, i, k), live, now, true);
        raise(max, now);
    }
    for (unsigned p = 0; p < blk->insts.n && ir_inst(f, blk->insts.at[p])->op == IR_PHI; p++)
        count_values(f, *ir_dst(f, ir_inst(f, blk->insts.at[p]), 0), live, now, true);
    raise(max, now);
}

void ra_max_pressure(Function *f, const RaCfg *g, const RaLive *l, unsigned max[RF_COUNT]) {
    Arena a = {0};
    Bitset live = bs_new(&a, f->values.n);
    memset(max, 0, sizeof(unsigned) * RF_COUNT);
    for (uint32_t k = 0; k < g->nrpo; k++)
        block_pressure(f, l, g->rpo[k], &live, max);
    arena_free(&a);
}

unsigned ra_block_pressure(Function *f, const RaLive *l, BlockId b, RegFile file) {
    Arena a = {0};
    Bitset live = bs_new(&a, f->values.n);
    unsigned max[RF_COUNT] = {0};
    block_pressure(f, l, b, &live, max);
    arena_free(&a);
    return max[file];
}
