/* Spilling ahead of liveness, for nests deeper than any file has registers. A value that is live through n
 * loops within each other is an entry in the sets of each of their blocks, and n such values are n * n
 * entries, most of them of values that cannot be in a register there. So where a nest is DEEP, values that
 * surely live through it go to their homes first: the definition is stored, and each block behind the nest
 * that reads the value makes it again. What is left of their lives are short ranges before and behind, and
 * the sets of all blocks together grow with the program. Programs without such a nest are left as they are.
 *
 * Surely: the block that reads is dominated by the header of a DEEP loop that it is not in, and that header
 * by the definition. Whatever is found by this rule may be stored and made again, be the rule right or wrong
 * about what is live; what it misses is only left to the spilling that follows.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "regalloc/spill.h"

enum { DEEP = 256 }; /* loops within each other */

typedef struct {
    Spill *spill;
    DomTree dom;
    LoopForest loops;
    uint32_t *passed; /* by block: header of the nearest DEEP loop that lies between the entry and it */
    uint32_t *born;   /* by value: block of its first definition */
    uint32_t *here; /* by value: block or edge, numbered from 1 in the order they come, that made it again */
    uint32_t place; /* the current one's number */
} Nests;

static bool is_deep(const RaCfg *cfg) {
    for (uint32_t k = 0; k < cfg->nrpo; k++)
        if (cfg->depth[cfg->rpo[k].i] >= DEEP)
            return true;
    return false;
}

/* A block passes what the block above it in the dominator tree passes, and the loops that lie on the way
 * between the two: of those the innermost that is DEEP. */
static void find_passed(Nests *nests, Arena *a, uint32_t nblocks) {
    const LoopForest *loops = &nests->loops;
    uint32_t *height =
        ARENA_ARRAY(a, uint32_t, loops->n + 1);               /* loops within each other, itself left aside */
    uint32_t *deep = graph_numbers(a, loops->n + 1, NO_NODE); /* the loop or the nearest around it */
    for (uint32_t k = loops->n; k-- > 0;) {                   /* parents have smaller numbers */
        uint32_t parent = loops->at[k].parent;
        if (parent != NO_NODE && height[parent] < height[k] + 1)
            height[parent] = height[k] + 1;
    }
    for (uint32_t k = 0; k < loops->n; k++) {
        uint32_t parent = loops->at[k].parent;
        deep[k] = height[k] + 1 >= DEEP ? k : parent != NO_NODE ? deep[parent] : NO_NODE;
    }
    nests->passed = graph_numbers(a, nblocks, NO_NODE);
    for (uint32_t k = 1; k < nests->dom.order.count; k++) {
        uint32_t b = nests->dom.order.order[k], above = nests->dom.idom[b], loop = loops->innermost[above];
        loop = loop != NO_NODE ? deep[loop] : NO_NODE;
        bool left = loop != NO_NODE && !loop_contains(loops, loop, b);
        nests->passed[b] = left ? loops->at[loop].header : nests->passed[above];
    }
}

static void find_born(Nests *nests, Arena *a) {
    Function *f = nests->spill->f;
    nests->born = ARENA_ARRAY(a, uint32_t, nests->spill->nvals);
    for (uint32_t k = 0; k < nests->spill->g.nrpo; k++)
        FOR_INSTS(f, nests->spill->g.rpo[k], i)
            FOR_DSTS(f, i, dst) {
                ValId v[IR_MOST_VECTOR];
                for (unsigned c = 0, n = ra_values(f, *dst, v); c < n; c++)
                    if (!nests->born[v[c].i])
                        nests->born[v[c].i] = nests->spill->g.rpo[k].i;
            }
}

/* Has v lived through a deep nest where block b reads it, and has the current place not made it again? */
static bool is_missing(const Nests *nests, ValId v, BlockId b) {
    return ra_spill_in_file(nests->spill, v) && v.i < nests->spill->nvals &&
           nests->spill->f->values.at[v.i].fixed_reg < 0 && nests->passed[b.i] != NO_NODE &&
           nests->here[v.i] != nests->place &&
           dom_contains(&nests->dom, nests->born[v.i], nests->passed[b.i]);
}

static void make_again(Nests *nests, ValId v, InstIds *out, LocId loc) {
    nests->here[v.i] = nests->place;
    ra_spill_reload(nests->spill, v.i, out, loc);
}

/* What the phis of block `to` read of block b's. */
static void make_for_phis(Nests *nests, BlockId b, BlockId to, uint32_t in_block) {
    Function *f = nests->spill->f;
    InstIds out = {0};
    unsigned pred = 0;
    while (ir_block(f, to)->preds.at[pred].i != b.i)
        pred++;
    nests->place++;
    FOR_PHI_IDS(f, to, id) {
        Inst *phi = ir_inst(f, id);
        LocId loc = phi->loc;
        ValId v[IR_MOST_VECTOR];
        for (unsigned c = 0, n = ra_values(f, *ir_src(f, phi, pred), v); c < n; c++)
            if (is_missing(nests, v[c], b) && nests->here[v[c].i] != in_block)
                make_again(nests, v[c], &out, loc);
    }
    if (!out.n)
        return;
    BlockId at;
    unsigned position;
    ra_edge_point(f, b, to, &at, &position);
    ra_spill_insert(f, at, position, &out);
}

static void make_in_block(Nests *nests, BlockId b) {
    Function *f = nests->spill->f;
    InstIds out = {0};
    uint32_t in_block = ++nests->place;
    FOR_INST_IDS(f, b, id) {
        LocId loc = ir_inst(f, id)->loc;
        ValId v[IR_MOST_VECTOR];
        for (unsigned k = 0; ir_inst(f, id)->op != IR_PHI && k < ir_num_reads(ir_inst(f, id)); k++)
            for (unsigned c = 0, n = ra_values(f, *ra_read(f, ir_inst(f, id), k), v); c < n; c++)
                if (is_missing(nests, v[c], b))
                    make_again(nests, v[c], &out, loc);
        VEC_ADD(f->arena, &out, id);
    }
    ir_block(f, b)->insts = out;
    for (unsigned s = 0; s < ir_block(f, b)->succs.n; s++)
        make_for_phis(nests, b, ir_block(f, b)->succs.at[s], in_block);
}

static void spill_file(Function *f, RegFile file, const RaCfg *cfg) {
    Arena a = {0};
    uint32_t nvals = f->values.n, ninsts = f->insts.n;
    Spill s = {.f = f, .file = file, .a = &a, .g = *cfg, .nvals = nvals};
    s.home_value = ARENA_ARRAY(&a, ValId, nvals);
    s.home_slot = ARENA_ARRAY(&a, uint32_t, nvals);
    s.remat = ARENA_ARRAY(&a, InstId, nvals);
    s.spilled = bs_new(&a, nvals);
    s.in_memory = bs_new(&a, nvals);
    ra_spill_find_repeatable(&s);
    Graph graph = cfg_graph(&a, f);
    Nests nests = {.spill = &s,
                   .dom = dom_tree(&a, &graph, GRAPH_FORWARD, f->entry.i),
                   .loops = loop_forest_as(&a, &graph, f->entry.i, GRAPH_LAST_SUCC),
                   .here = ARENA_ARRAY(&a, uint32_t, nvals)};
    find_passed(&nests, &a, f->blocks.n);
    find_born(&nests, &a);
    for (uint32_t k = 0; k < cfg->nrpo; k++)
        make_in_block(&nests, cfg->rpo[k]);
    for (uint32_t k = 0; k < cfg->nrpo; k++)
        ra_spill_finish_block(&s, cfg->rpo[k], s.home_slot, ninsts);
    arena_free(&a);
}

void ra_spill_nests(Function *f, Arena *a, RaCfg *cfg) {
    if (!is_deep(cfg))
        return;
    for (unsigned k = 0; k < RA_SPILL_FILES; k++) {
        spill_file(f, ra_spill_order[k], cfg);
        ra_cfg(f, a, cfg); /* edges may have been split */
    }
}
