/* Webs: values that had better share one register, so that the copy, the phi or the tied operand between them
 * costs nothing. Values of one web are never alive together: two webs become one only if no value of the one
 * is alive where a value of the other is made (the test of Boissinot and others, "Revisiting out-of-SSA
 * translation for correctness, code quality, and efficiency", CGO 2009, section 4.4: the members of both in
 * the order of the dominator tree, each compared with the nearest that dominates it, in linear time). The
 * relations of the deepest loops come first, because a copy there is executed most often. Without the test,
 * all counters that start at one zero would be one web, and each would take the register that another just
 * had.
 *
 * A web is a hint: a value that spilling made several definitions of is taken for what its first one says.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "regalloc/colour.h"

enum { MOST_MEMBERS = 1024 }; /* bounds the work of a test */

typedef struct {
    uint32_t a, b, depth; /* values; loop depth of the copy that there would be */
} Relation;
typedef struct {
    uint32_t value, block, at; /* block: place in reverse postorder */
} LastUse;

typedef struct {
    Colour *c;
    Function *f;
    Arena a;
    DomTree dom;
    uint32_t *def_block,
        *def_at;         /* [value] its first definition; 0 is in front of the block, where phis are */
    VEC(LastUse) uses;   /* by value, then by block */
    uint32_t *first_use; /* [value] in uses; [value + 1] the end */
    uint32_t *head, *next, *size; /* [web] its members in the order of the dominator tree */
    VEC(Relation) relations;
} Webs;

/* ---- where values are made and used ---- */

static void note_defs(Webs *w, BlockId b, const Inst *i, uint32_t at) {
    ValId v[4];
    FOR_DSTS(w->f, i, dst)
        for (unsigned m = 0, n = ra_values(w->f, *dst, v); m < n; m++)
            if (v[m].i && !w->def_block[v[m].i]) {
                w->def_block[v[m].i] = b.i;
                w->def_at[v[m].i] = at;
            }
}

static void note_uses(Webs *w, uint32_t rpo, Inst *i, uint32_t at, uint32_t *latest) {
    ValId v[4];
    for (unsigned k = 0, reads = ra_num_reads(i); k < reads; k++)
        for (unsigned m = 0, n = ra_values(w->f, *ra_read(w->f, i, k), v); m < n; m++) {
            uint32_t value = v[m].i;
            if (!value)
                continue;
            if (latest[value] && w->uses.at[latest[value] - 1].block == rpo)
                w->uses.at[latest[value] - 1].at = at;
            else {
                VEC_ADD(&w->a, &w->uses, ((LastUse){value, rpo, at}));
                latest[value] = w->uses.n;
            }
        }
}

/* Stable, so each value's stay in the order of their blocks. */
static void sort_uses(Webs *w) {
    uint32_t n = w->f->values.n;
    w->first_use = ARENA_ARRAY(&w->a, uint32_t, n + 2);
    for (uint32_t k = 0; k < w->uses.n; k++)
        w->first_use[w->uses.at[k].value + 2]++;
    for (uint32_t v = 2; v < n + 2; v++)
        w->first_use[v] += w->first_use[v - 1];
    LastUse *sorted = ARENA_ARRAY(&w->a, LastUse, w->uses.n + 1);
    for (uint32_t k = 0; k < w->uses.n; k++)
        sorted[w->first_use[w->uses.at[k].value + 1]++] = w->uses.at[k];
    w->uses.at = sorted;
}

static void note_block(Webs *w, uint32_t rpo, uint32_t *latest) {
    BlockId b = w->c->g.rpo[rpo];
    FOR_INSTS(w->f, b, i) {
        uint32_t at = i->op == IR_PHI ? 0 : AT(i) + 1;
        if (i->op != IR_PHI)
            note_uses(w, rpo, i, at, latest);
        note_defs(w, b, i, at);
    }
}

/* Position of the last use of v in the block; 0 if there is none. */
static uint32_t last_use(const Webs *w, uint32_t v, uint32_t rpo) {
    uint32_t low = w->first_use[v], high = w->first_use[v + 1];
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (w->uses.at[mid].block < rpo)
            low = mid + 1;
        else
            high = mid;
    }
    return low < w->first_use[v + 1] && w->uses.at[low].block == rpo ? w->uses.at[low].at : 0;
}

/* ---- webs ---- */

static bool before(const Webs *w, uint32_t x, uint32_t y) {
    uint32_t p = w->dom.in[w->def_block[x]], q = w->dom.in[w->def_block[y]];
    return p != q ? p < q : w->def_at[x] != w->def_at[y] ? w->def_at[x] < w->def_at[y] : x < y;
}

static bool dominates(const Webs *w, uint32_t x, uint32_t y) {
    uint32_t p = w->def_block[x], q = w->def_block[y];
    return p == q ? w->def_at[x] <= w->def_at[y] : dom_contains(&w->dom, p, q);
}

/* Is x, whose definition dominates y's, alive behind that? */
static bool meets(const Webs *w, uint32_t x, uint32_t y) {
    uint32_t b = w->def_block[y];
    if (b == w->def_block[x] && w->def_at[x] == w->def_at[y])
        return true;
    return ra_set_has(&w->c->live.out[b], x) || last_use(w, x, w->c->g.rpo_index[b]) > w->def_at[y];
}

/* Values in the order of the dominator tree; the stack holds those that dominate the last one. */
static bool can_join(Webs *w, uint32_t p, uint32_t q) {
    uint32_t stack[MOST_MEMBERS], n = 0, a = w->head[p], b = w->head[q];
    while (a || b) {
        bool from_p = a && (!b || before(w, a, b));
        uint32_t v = from_p ? a : b;
        if (from_p)
            a = w->next[a];
        else
            b = w->next[b];
        w->f->module->steps++;
        while (n && !dominates(w, stack[n - 1], v))
            n--;
        if (n && (ra_web(w->c, stack[n - 1]) == p) != from_p && meets(w, stack[n - 1], v))
            return false;
        stack[n++] = v;
    }
    return true;
}

static void join(Webs *w, uint32_t x, uint32_t y) {
    Colour *c = w->c;
    uint32_t p = ra_web(c, x), q = ra_web(c, y);
    if (p == q || w->f->values.at[x].file != w->f->values.at[y].file || !w->def_block[x] ||
        !w->def_block[y] ||
        (c->web_reg[p] != RA_NO_REG && c->web_reg[q] != RA_NO_REG && c->web_reg[p] != c->web_reg[q]) ||
        w->size[p] + w->size[q] > MOST_MEMBERS || !can_join(w, p, q))
        return;
    uint32_t a = w->head[p], b = w->head[q], *to = &w->head[p];
    while (a || b) {
        uint32_t *from = a && (!b || before(w, a, b)) ? &a : &b;
        *to = *from;
        to = &w->next[*from];
        *from = *to;
    }
    *to = 0;
    w->size[p] += w->size[q];
    c->web[q] = p;
    if (c->web_reg[p] == RA_NO_REG)
        c->web_reg[p] = c->web_reg[q];
}

/* ---- what should be together ---- */

static void relate(Webs *w, Operand a, Operand b, uint32_t depth) {
    ValId x[4], y[4];
    unsigned n = ra_values(w->f, a, x), m = ra_values(w->f, b, y);
    for (unsigned k = 0; k < n && k < m; k++)
        if (x[k].i && y[k].i)
            VEC_ADD(&w->a, &w->relations, ((Relation){x[k].i, y[k].i, depth}));
}

static void relate_inst(Webs *w, BlockId b, const Inst *i) {
    Function *f = w->f;
    const uint32_t *depth = w->c->g.depth;
    if (i->op == IR_PHI)
        FOR_SRCS(f, i, src)
            relate(w, *ir_dst(f, i, 0), *src, depth[ir_block(f, b)->preds.at[AT(src)].i]);
    else if (i->op == IR_COPY || i->op == IR_PARCOPY)
        for (unsigned k = 0; k < i->ndst && k < i->nsrc; k++)
            relate(w, *ir_dst(f, i, k), *ir_src(f, i, k), depth[b.i]);
    FOR_TIED(f, i, old)
        relate(w, *ir_dst(f, i, AT(old)), *old, depth[b.i]);
}

/* Deepest loops first, else in the order of the text. */
static void join_related(Webs *w) {
    uint32_t deepest = 0;
    for (uint32_t k = 0; k < w->relations.n; k++)
        if (w->relations.at[k].depth > deepest)
            deepest = w->relations.at[k].depth;
    uint32_t *start = ARENA_ARRAY(&w->a, uint32_t, deepest + 2);
    Relation *sorted = ARENA_ARRAY(&w->a, Relation, w->relations.n + 1);
    for (uint32_t k = 0; k < w->relations.n; k++)
        start[deepest - w->relations.at[k].depth + 1]++;
    for (uint32_t d = 1; d <= deepest; d++)
        start[d] += start[d - 1];
    for (uint32_t k = 0; k < w->relations.n; k++)
        sorted[start[deepest - w->relations.at[k].depth]++] = w->relations.at[k];
    for (uint32_t k = 0; k < w->relations.n; k++)
        join(w, sorted[k].a, sorted[k].b);
}

void ra_webs(Colour *colour) {
    Function *f = colour->f;
    uint32_t n = f->values.n;
    Webs w = {.c = colour, .f = f};
    Graph graph = cfg_graph(&w.a, f);
    w.dom = dom_tree(&w.a, &graph, GRAPH_FORWARD, f->entry.i);
    w.def_block = ARENA_ARRAY(&w.a, uint32_t, n);
    w.def_at = ARENA_ARRAY(&w.a, uint32_t, n);
    w.head = ARENA_ARRAY(&w.a, uint32_t, n);
    w.next = ARENA_ARRAY(&w.a, uint32_t, n);
    w.size = colour->pending = ARENA_ARRAY(colour->a, uint32_t, n);
    colour->web = ARENA_ARRAY(colour->a, uint32_t, n);
    for (uint32_t v = 0; v < n; v++) {
        colour->web[v] = w.head[v] = v;
        w.size[v] = 1;
    }
    uint32_t *latest = ARENA_ARRAY(&w.a, uint32_t, n);
    for (uint32_t k = 0; k < colour->g.nrpo; k++)
        note_block(&w, k, latest);
    sort_uses(&w);
    for (uint32_t k = 0; k < colour->g.nrpo; k++) {
        BlockId b = colour->g.rpo[k];
        FOR_INSTS(f, b, i)
            relate_inst(&w, b, i);
    }
    join_related(&w);
    arena_free(&w.a);
}
