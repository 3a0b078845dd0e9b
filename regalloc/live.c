/* Control flow order, loops and liveness for register allocation. In: machine IR with values. Liveness is by
 * path: a value with several definitions (a reload defines its value again) is dead above each of them.
 * SPDX-License-Identifier: MIT */
#include "regalloc/regalloc.h"
#include "ir/cfg.h"
#include <string.h>

/* ---- order and loops ---- */

void ra_cfg(Function *f, Arena *a, RaCfg *cfg) {
    uint32_t n = f->blocks.n;
    *cfg = (RaCfg){.nblocks = n, .rpo_index = graph_numbers(a, n, UINT32_MAX)};
    Graph graph = cfg_graph(a, f);
    /* last successor first: the first one then follows its block in reverse postorder */
    GraphOrder order = graph_order_as(a, &graph, f->entry.i, GRAPH_LAST_SUCC);
    LoopForest loops = loop_forest_as(a, &graph, f->entry.i, GRAPH_LAST_SUCC);
    cfg->rpo = ARENA_ARRAY(a, BlockId, order.count);
    cfg->depth = ARENA_ARRAY(a, uint32_t, n);
    cfg->header = ARENA_ARRAY(a, BlockId, n);
    for (uint32_t k = 0; k < order.count; k++) {
        uint32_t b = order.order[k], l = loops.innermost[b];
        if (!b) /* the virtual exit */
            continue;
        cfg->rpo_index[b] = cfg->nrpo;
        cfg->rpo[cfg->nrpo++] = (BlockId){b};
        cfg->depth[b] = l == NO_NODE ? 0 : loops.at[l].depth;
        cfg->header[b] = (BlockId){l == NO_NODE ? 0 : loops.at[l].header};
    }
}

/* ---- liveness ---- */

/* For each value the blocks that do something with it: first all pairs, then sorted by value. */
typedef struct {
    uint32_t value, block;
} Pair;
typedef struct {
    VEC(Pair) pairs;
    uint32_t *first; /* [value] index of its first block; [nvals] the end */
    uint32_t *blocks;
} BlockLists;

static void sort_pairs(BlockLists *lists, Arena *a, uint32_t nvals) {
    lists->first = ARENA_ARRAY(a, uint32_t, nvals + 2);
    lists->blocks = ARENA_ARRAY(a, uint32_t, lists->pairs.n + 1);
    for (uint32_t k = 0; k < lists->pairs.n; k++)
        lists->first[lists->pairs.at[k].value + 2]++;
    for (uint32_t v = 2; v < nvals + 2; v++)
        lists->first[v] += lists->first[v - 1];
    for (uint32_t k = 0; k < lists->pairs.n; k++) /* first[v + 1] moves up to where v + 1 begins */
        lists->blocks[lists->first[lists->pairs.at[k].value + 1]++] = lists->pairs.at[k].block;
}

typedef struct {
    Function *f;
    Arena a;
    BlockLists defs;            /* blocks that define a value */
    BlockLists exposed;         /* blocks that read it before they define it */
    BlockLists to_phi;          /* predecessors of phis that read it */
    uint32_t *def_in, *read_in; /* [value] last block seen to define, to read it */
} Gather;

static void note_defs(Gather *gather, const Inst *i, uint32_t b) {
    ValId v[IR_MOST_VECTOR];
    FOR_DSTS(gather->f, i, dst)
        for (unsigned m = 0, n = ra_values(gather->f, *dst, v); m < n; m++)
            if (v[m].i && gather->def_in[v[m].i] != b) {
                gather->def_in[v[m].i] = b;
                VEC_ADD(&gather->a, &gather->defs.pairs, ((Pair){v[m].i, b}));
            }
}

static void note_reads(Gather *gather, Inst *i, uint32_t b) {
    ValId v[IR_MOST_VECTOR];
    FOR_READS(gather->f, i, read)
        for (unsigned m = 0, n = ra_values(gather->f, *read, v); m < n; m++)
            if (v[m].i && gather->def_in[v[m].i] != b && gather->read_in[v[m].i] != b) {
                gather->read_in[v[m].i] = b;
                VEC_ADD(&gather->a, &gather->exposed.pairs, ((Pair){v[m].i, b}));
            }
}

static void note_phi(Gather *gather, const Inst *phi, const Block *blk) {
    ValId v[IR_MOST_VECTOR];
    for (unsigned p = 0; p < blk->preds.n; p++)
        for (unsigned m = 0, n = ra_values(gather->f, *ir_src(gather->f, phi, p), v); m < n; m++)
            if (v[m].i)
                VEC_ADD(&gather->a, &gather->to_phi.pairs, ((Pair){v[m].i, blk->preds.at[p].i}));
}

static void gather(Gather *c, const RaCfg *cfg, uint32_t nvals) {
    c->def_in = ARENA_ARRAY(&c->a, uint32_t, nvals);
    c->read_in = ARENA_ARRAY(&c->a, uint32_t, nvals);
    for (uint32_t k = 0; k < cfg->nrpo; k++) {
        const Block *blk = ir_block(c->f, cfg->rpo[k]);
        FOR_INSTS(c->f, cfg->rpo[k], i) {
            if (i->op == IR_PHI)
                note_phi(c, i, blk);
            else
                note_reads(c, i, cfg->rpo[k].i);
            note_defs(c, i, cfg->rpo[k].i);
        }
    }
    sort_pairs(&c->defs, &c->a, nvals);
    sort_pairs(&c->exposed, &c->a, nvals);
    sort_pairs(&c->to_phi, &c->a, nvals);
}

/* Marks of the value whose paths are being followed: a block's mark is the value. */
typedef struct {
    const RaCfg *g;
    Arena *keep;
    RaLive *l;
    uint32_t *def, *in, *out, *stack;
    uint32_t top;
    uint64_t *steps; /* entries of the sets */
} Follow;

static void live_out(Follow *follow, uint32_t b, uint32_t v) {
    if (follow->g->rpo_index[b] == UINT32_MAX || follow->out[b] == v)
        return;
    follow->out[b] = v;
    ++*follow->steps;
    VEC_ADD(follow->keep, &follow->l->out[b], v);
    if (follow->def[b] != v && follow->in[b] != v) {
        follow->in[b] = v;
        follow->stack[follow->top++] = b;
    }
}

/* The cost is that of the sets, not of blocks times values: each value's paths are followed from its reads up
 * to its definitions. Values come in ascending order, so the sets are sorted. */
void ra_live(Function *f, const RaCfg *g, Arena *a, RaLive *live) {
    uint32_t n = f->blocks.n, nvals = f->values.n;
    Gather c = {.f = f};
    gather(&c, g, nvals);
    *live = (RaLive){ARENA_ARRAY(a, RaSet, n), ARENA_ARRAY(a, RaSet, n), bs_new(a, nvals)};
    Follow w = {.g = g, .keep = a, .l = live, .steps = &f->module->steps};
    w.def = ARENA_ARRAY(&c.a, uint32_t, n);
    w.in = ARENA_ARRAY(&c.a, uint32_t, n);
    w.out = ARENA_ARRAY(&c.a, uint32_t, n);
    w.stack = ARENA_ARRAY(&c.a, uint32_t, n);
    for (uint32_t v = 1; v < nvals; v++) {
        for (uint32_t k = c.defs.first[v]; k < c.defs.first[v + 1]; k++)
            w.def[c.defs.blocks[k]] = v;
        for (uint32_t k = c.exposed.first[v]; k < c.exposed.first[v + 1]; k++) {
            w.in[c.exposed.blocks[k]] = v;
            w.stack[w.top++] = c.exposed.blocks[k];
        }
        for (uint32_t k = c.to_phi.first[v]; k < c.to_phi.first[v + 1]; k++)
            live_out(&w, c.to_phi.blocks[k], v);
        while (w.top) {
            uint32_t b = w.stack[--w.top];
            VEC_ADD(a, &live->in[b], v);
            ++*w.steps;
            bs_add(&live->any, v);
            const Block *blk = ir_block(f, (BlockId){b});
            for (unsigned p = 0; p < blk->preds.n; p++)
                live_out(&w, blk->preds.at[p].i, v);
        }
    }
    arena_free(&c.a);
}

uint32_t ra_set_find(const RaSet *set, uint32_t v) {
    uint32_t lo = 0, hi = set->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (set->at[mid] < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < set->n && set->at[lo] == v ? lo : set->n;
}

void ra_set_to_bits(const RaSet *set, Bitset *bits) {
    bs_clear(bits);
    for (uint32_t k = 0; k < set->n; k++)
        bs_add(bits, set->at[k]);
}

/* ---- pressure ---- */

static void count_live(const Function *f, const RaSet *live, unsigned n[RF_COUNT]) {
    memset(n, 0, sizeof(unsigned) * RF_COUNT);
    for (uint32_t k = 0; k < live->n; k++)
        n[f->values.at[live->at[k]].file]++;
}

/* Change the counts, and what they are at most, as `o`'s values enter or leave `live`. */
static void enter_values(const Function *f, Operand o, Bitset *live, unsigned now[RF_COUNT],
                         unsigned max[RF_COUNT]) {
    for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
        uint32_t v = ir_operand_value(f, o, c).i;
        if (!v || bs_has(live, v))
            continue;
        bs_add(live, v);
        unsigned file = f->values.at[v].file, n = ++now[file];
        max[file] = n > max[file] ? n : max[file];
    }
}
static void leave_values(const Function *f, Operand o, Bitset *live, unsigned now[RF_COUNT]) {
    for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
        uint32_t v = ir_operand_value(f, o, c).i;
        if (!v || !bs_has(live, v))
            continue;
        bs_del(live, v);
        now[f->values.at[v].file]--;
    }
}

static void raise(unsigned max[RF_COUNT], const unsigned now[RF_COUNT]) {
    for (unsigned k = 0; k < RF_COUNT; k++)
        if (now[k] > max[k])
            max[k] = now[k];
}

static void block_pressure(Function *f, const RaLive *ra_live, BlockId b, Bitset *live,
                           unsigned max[RF_COUNT]) {
    unsigned now[RF_COUNT];
    ra_set_to_bits(&ra_live->out[b.i], live);
    count_live(f, &ra_live->out[b.i], now);
    raise(max, now);
    Block *blk = ir_block(f, b);
    for (unsigned p = blk->insts.n; p-- > 0;) {
        Inst *i = ir_inst(f, blk->insts.at[p]);
        if (i->op == IR_PHI)
            break; /* phi results are live together: counted at the instruction behind them */
        /* a dead result needs a register too */
        FOR_DSTS(f, i, dst)
            enter_values(f, *dst, live, now, max);
        FOR_DSTS(f, i, dst)
            leave_values(f, *dst, live, now);
        FOR_READS(f, i, read)
            enter_values(f, *read, live, now, max);
    }
    FOR_PHIS(f, b, i)
        enter_values(f, *ir_dst(f, i, 0), live, now, max);
}

void ra_max_pressure(Function *f, const RaCfg *cfg, const RaLive *l, unsigned max[RF_COUNT]) {
    Arena a = {0};
    Bitset live = bs_new(&a, f->values.n);
    memset(max, 0, sizeof(unsigned) * RF_COUNT);
    for (uint32_t k = 0; k < cfg->nrpo; k++)
        block_pressure(f, l, cfg->rpo[k], &live, max);
    arena_free(&a);
}

unsigned (*ra_pressures(Function *f, const RaCfg *cfg, const RaLive *l, Arena *a))[RF_COUNT] {
    unsigned(*max)[RF_COUNT] = arena_alloc(a, sizeof *max * f->blocks.n);
    Bitset live = bs_new(a, f->values.n);
    for (uint32_t k = 0; k < cfg->nrpo; k++)
        block_pressure(f, l, cfg->rpo[k], &live, max[cfg->rpo[k].i]);
    return max;
}

unsigned ra_block_pressure(Function *f, const RaLive *l, BlockId b, RegFile file) {
    Arena a = {0};
    Bitset live = bs_new(&a, f->values.n);
    unsigned max[RF_COUNT] = {0};
    block_pressure(f, l, b, &live, max);
    arena_free(&a);
    return max[file];
}
