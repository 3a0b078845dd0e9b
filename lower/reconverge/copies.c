/* How many copies phis are expected to cost on an edge. A phi costs nothing where its register holds the
 * value that comes along the edge already, which is so for most of what a loop updates in place:
 *
 *     H:  i = phi(0, j)   ...   j = i + 1   ...   BRA H
 *
 * needs a copy of 0 in front of the loop, and none on the way back, unless i is used behind j.
 *
 * Registers are not allocated yet, so phis and their sources are put together in webs as the allocator will
 * (regalloc/webs.c): those of the deepest loops first, and two webs become one if no value of the one is
 * alive where one of the other is made. Alive is what has a use that the definition dominates; others are not
 * seen, nor is what else shares registers. It decides no more than costs. SPDX-License-Identifier: MIT */
#include "lower/opt/opt.h"
#include "lower/reconverge/reconverge.h"

enum {
    MOST_PAIRS = 256 /* of values of two webs, that one test looks at */,
    DEEPEST = 7 /* loops told apart */
};

typedef struct {
    uint32_t block, at, next; /* at: UINT32_MAX: at the end, for a phi; next + 1: place in the pool */
} Use;

typedef struct {
    const Function *f;
    const DomTree *dom;
    Arena *a;
    uint32_t *def_at; /* [value] its place in its block; phis 0 */
    uint32_t *uses;   /* [value] the first in the pool + 1 */
    VEC(Use) pool;
    uint32_t *web, *next, *size; /* [value] its web; the next of the web, in a circle; [web] values */
} Values;

/* ---- where values are made and used ---- */

static void note_use(Values *values, Operand o, uint32_t block, uint32_t at) {
    if (o.kind != OPK_VAL)
        return;
    for (unsigned c = 0; c < o.count; c++) {
        ValId v = ir_operand_value(values->f, o, c);
        VEC_ADD(values->a, &values->pool, ((Use){block, at, values->uses[v.i]}));
        values->uses[v.i] = values->pool.n;
    }
}

static void note_block(Values *values, uint32_t b) {
    const Function *f = values->f;
    FOR_INSTS(f, (BlockId){b}, i) {
        uint32_t at = i->op == IR_PHI ? 0 : AT(i) + 1;
        FOR_DSTS(f, i, dst)
            for (unsigned c = 0; dst->kind == OPK_VAL && c < dst->count; c++)
                values->def_at[ir_operand_value(f, *dst, c).i] = at;
        if (i->op == IR_PHI)
            FOR_SRCS(f, i, src)
                note_use(values, *src, f->blocks.at[b].preds.at[AT(src)].i, UINT32_MAX);
        else {
            note_use(values, i->guard, b, at);
            FOR_USES(f, i, src)
                note_use(values, *src, b, at);
        }
    }
}

/* Is x, whose definition dominates y's, alive behind that? */
static bool alive_behind(const Values *values, uint32_t x, uint32_t y) {
    uint32_t made = values->f->values.at[y].block.i;
    for (uint32_t k = values->uses[x]; k; k = values->pool.at[k - 1].next) {
        const Use *use = &values->pool.at[k - 1];
        values->f->module->steps++;
        if (use->block == made ? use->at > values->def_at[y] : dom_contains(values->dom, made, use->block))
            return true;
    }
    return false;
}

static bool alive_together(const Values *values, uint32_t x, uint32_t y) {
    uint32_t p = values->f->values.at[x].block.i, q = values->f->values.at[y].block.i;
    if (p == q && values->def_at[x] == values->def_at[y])
        return true;
    if (p == q ? values->def_at[x] < values->def_at[y] : dom_contains(values->dom, p, q))
        return alive_behind(values, x, y);
    return (p == q || dom_contains(values->dom, q, p)) && alive_behind(values, y, x);
}

/* ---- webs ---- */

static bool can_join(const Values *values, uint32_t p, uint32_t q) {
    if (values->size[p] * values->size[q] > MOST_PAIRS)
        return false;
    for (uint32_t k = 0, x = p; k < values->size[p]; k++, x = values->next[x])
        for (uint32_t m = 0, y = q; m < values->size[q]; m++, y = values->next[y])
            if (alive_together(values, x, y))
                return false;
    return true;
}

static void join_webs(Values *values, uint32_t x, uint32_t y) {
    uint32_t p = values->web[x], q = values->web[y], next = values->next[p];
    if (p == q || !can_join(values, p, q))
        return;
    if (values->size[p] < values->size[q])
        q = p, p = values->web[y];
    for (uint32_t k = 0, v = q; k < values->size[q]; k++, v = values->next[v])
        values->web[v] = p;
    next = values->next[p];
    values->next[p] = values->next[q];
    values->next[q] = next;
    values->size[p] += values->size[q];
}

static uint32_t depth_of(const Reconv *reconv, uint32_t block) {
    uint32_t l = reconv->loops.innermost[block], depth = l == NO_NODE ? 0 : reconv->loops.at[l].depth;
    return depth < DEEPEST ? depth : DEEPEST;
}

static void make_webs(Values *values, const Reconv *reconv) {
    const Function *f = values->f;
    values->web = ARENA_ARRAY(values->a, uint32_t, f->values.n);
    values->next = ARENA_ARRAY(values->a, uint32_t, f->values.n);
    values->size = ARENA_ARRAY(values->a, uint32_t, f->values.n);
    for (uint32_t v = 0; v < f->values.n; v++)
        values->web[v] = values->next[v] = v, values->size[v] = 1;
    for (uint32_t depth = DEEPEST + 1; depth-- > 0;)
        for (uint32_t k = 0; k < reconv->order.count; k++)
            FOR_PHIS(f, (BlockId){reconv->order.order[k]}, phi)
                FOR_SRCS(f, phi, src) {
                    uint32_t from = f->blocks.at[reconv->order.order[k]].preds.at[AT(src)].i;
                    uint32_t p = opt_scalar(*ir_dst(f, phi, 0)), v = opt_scalar(*src);
                    if (p && v && depth_of(reconv, from) == depth)
                        join_webs(values, p, v);
                }
}

static uint8_t copies_between(const Values *values, BlockId to, uint32_t slot) {
    unsigned n = 0;
    FOR_PHIS(values->f, to, phi) {
        uint32_t p = opt_scalar(*ir_dst(values->f, phi, 0)), v = opt_scalar(*ir_src(values->f, phi, slot));
        n += !p ? 0 : values->web[p] != values->web[v] ? 16 : 2;
    }
    return n < UINT8_MAX ? (uint8_t)n : UINT8_MAX;
}

uint8_t *reconv_expected_copies(Reconv *reconv, const DomTree *dom) {
    const Graph *graph = &reconv->g;
    Function *f = reconv->f;
    uint8_t *copies = ARENA_ARRAY(&reconv->a, uint8_t, graph->succ_at[graph->n]);
    ArenaMark mark = arena_mark(&reconv->a);
    Values values = {.f = f, .dom = dom, .a = &reconv->a};
    values.def_at = ARENA_ARRAY(&reconv->a, uint32_t, f->values.n);
    values.uses = ARENA_ARRAY(&reconv->a, uint32_t, f->values.n);
    for (uint32_t k = 0; k < reconv->order.count; k++)
        if (reconv->order.order[k])
            note_block(&values, reconv->order.order[k]);
    make_webs(&values, reconv);
    FOR_BLOCKS(f, to) {
        if (!ir_is_phi_at(f, to, 0))
            continue;
        const BlockIds *preds = &ir_block(f, to)->preds;
        for (uint32_t slot = 0; slot < preds->n; slot++) {
            uint8_t n = copies_between(&values, to, slot);
            GRAPH_SUCCS(graph, preds->at[slot].i, s)
                if (*s == to.i)
                    copies[s - graph->succ] = n;
        }
    }
    arena_release(&reconv->a, mark);
    return copies;
}
