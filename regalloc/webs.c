/* Webs: values that had better share one register, so that the copy, the phi or the tied operand between them
 * costs nothing. Values of one web are never alive together: two webs become one only if no value of the one
 * is alive where a value of the other is made (the test of Boissinot and others, "Revisiting out-of-SSA
 * translation for correctness, code quality, and efficiency", CGO 2009, section 4.4: the members of both in
 * the order of the dominator tree, each compared with the nearest that dominates it, in linear time). The
 * relations of the deepest loops come first, because a copy there is executed most often, and of the sources
 * of one phi those that are alive together with the fewest others. Without the test, all counters that start
 * at one zero would be one web, and each would take the register that another just had.
 *
 * What comes to a phi from a block that lanes hardly ever reach, a call's result as a rule, is related to
 * nothing: that web would take the call's register, and the common way a copy to it.
 *
 * A web is a hint: a value that spilling made several definitions of is taken for what its first one says.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "regalloc/colour.h"

enum { MOST_MEMBERS = 1024 /* bounds the work of a test */, MOST_RIVALS = 16 };

typedef struct {
    uint32_t a, b, depth; /* values; loop depth of the copy that there would be */
    uint32_t rivals;      /* of a phi's source: the other sources that it is alive together with */
} Relation;
typedef struct {
    uint32_t value, block, at; /* block: place in reverse postorder */
} LastUse;

typedef struct {
    Colour *colour;
    Function *f;
    Arena a;
    DomTree dom;
    uint32_t *def_block,
        *def_at;         /* [value] its first definition; 0 is in front of the block, where phis are */
    uint64_t *order;     /* [value] its block's place in the dominator tree, its own in the block */
    VEC(LastUse) uses;   /* by value, then by block */
    uint32_t *first_use; /* [value] in uses; [value + 1] the end */
    uint32_t *head, *next, *size; /* [web] its members in the order of the dominator tree */
    bool *rare;                   /* [block] lanes hardly ever come there */
    VEC(Relation) relations;
} Webs;

/* ---- where values are made and used ---- */

static void note_rare(Webs *webs, BlockId b) {
    FOR_INSTS(webs->f, b, i)
        if (i->op == OT_BRA && i->flags & IF_RARE)
            webs->rare[ir_src(webs->f, i, BRA_offset)->value] = true;
        else if (i->flags & IF_ASKS)
            webs->rare[ir_block(webs->f, b)->succs.at[1].i] = true;
}

static void note_defs(Webs *webs, BlockId b, const Inst *i, uint32_t at) {
    ValId v[IR_MOST_VECTOR];
    FOR_DSTS(webs->f, i, dst)
        for (unsigned m = 0, n = ra_values(webs->f, *dst, v); m < n; m++)
            if (v[m].i && !webs->def_block[v[m].i]) {
                webs->def_block[v[m].i] = b.i;
                webs->def_at[v[m].i] = at;
            }
}

static void note_uses(Webs *webs, uint32_t rpo, Inst *i, uint32_t at, uint32_t *latest) {
    ValId v[IR_MOST_VECTOR];
    FOR_READS(webs->f, i, read)
        for (unsigned m = 0, n = ra_values(webs->f, *read, v); m < n; m++) {
            uint32_t value = v[m].i;
            if (!value)
                continue;
            if (latest[value] && webs->uses.at[latest[value] - 1].block == rpo)
                webs->uses.at[latest[value] - 1].at = at;
            else {
                VEC_ADD(&webs->a, &webs->uses, ((LastUse){value, rpo, at}));
                latest[value] = webs->uses.n;
            }
        }
}

/* Stable, so each value's stay in the order of their blocks. */
static void sort_uses(Webs *webs) {
    uint32_t n = webs->f->values.n;
    webs->first_use = ARENA_ARRAY(&webs->a, uint32_t, n + 2);
    for (uint32_t k = 0; k < webs->uses.n; k++)
        webs->first_use[webs->uses.at[k].value + 2]++;
    for (uint32_t v = 2; v < n + 2; v++)
        webs->first_use[v] += webs->first_use[v - 1];
    LastUse *sorted = ARENA_ARRAY(&webs->a, LastUse, webs->uses.n + 1);
    for (uint32_t k = 0; k < webs->uses.n; k++)
        sorted[webs->first_use[webs->uses.at[k].value + 1]++] = webs->uses.at[k];
    webs->uses.at = sorted;
}

static void note_block(Webs *webs, uint32_t rpo, uint32_t *latest) {
    BlockId b = webs->colour->g.rpo[rpo];
    FOR_INSTS(webs->f, b, i) {
        uint32_t at = i->op == IR_PHI ? 0 : AT(i) + 1;
        if (i->op != IR_PHI)
            note_uses(webs, rpo, i, at, latest);
        note_defs(webs, b, i, at);
    }
}

/* Position of the last use of v in the block; 0 if there is none. */
static uint32_t last_use(const Webs *webs, uint32_t v, uint32_t rpo) {
    uint32_t low = webs->first_use[v], high = webs->first_use[v + 1];
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (webs->uses.at[mid].block < rpo)
            low = mid + 1;
        else
            high = mid;
    }
    return low < webs->first_use[v + 1] && webs->uses.at[low].block == rpo ? webs->uses.at[low].at : 0;
}

/* ---- webs ---- */

static bool defined_before(const Webs *webs, uint32_t x, uint32_t y) {
    return webs->order[x] != webs->order[y] ? webs->order[x] < webs->order[y] : x < y;
}

static bool dominates(const Webs *webs, uint32_t x, uint32_t y) {
    uint32_t p = webs->def_block[x], q = webs->def_block[y];
    return p == q ? webs->def_at[x] <= webs->def_at[y] : dom_contains(&webs->dom, p, q);
}

/* Is x, whose definition dominates y's, alive behind that? */
static bool meets(const Webs *webs, uint32_t x, uint32_t y) {
    uint32_t b = webs->def_block[y];
    if (b == webs->def_block[x] && webs->def_at[x] == webs->def_at[y])
        return true;
    return ra_set_has(&webs->colour->live.out[b], x) ||
           last_use(webs, x, webs->colour->g.rpo_index[b]) > webs->def_at[y];
}

/* Values in the order of the dominator tree; the stack holds those that dominate the last one. */
static bool can_join(Webs *webs, uint32_t p, uint32_t q) {
    uint32_t stack[MOST_MEMBERS], n = 0, a = webs->head[p], b = webs->head[q];
    while (a || b) {
        bool from_p = a && (!b || defined_before(webs, a, b));
        uint32_t v = from_p ? a : b;
        if (from_p)
            a = webs->next[a];
        else
            b = webs->next[b];
        webs->f->module->steps++;
        while (n && !dominates(webs, stack[n - 1], v))
            n--;
        if (n && (ra_web(webs->colour, stack[n - 1]) == p) != from_p && meets(webs, stack[n - 1], v))
            return false;
        stack[n++] = v;
    }
    return true;
}

static void join(Webs *webs, uint32_t x, uint32_t y) {
    Colour *colour = webs->colour;
    uint32_t p = ra_web(colour, x), q = ra_web(colour, y);
    if (p == q || webs->f->values.at[x].file != webs->f->values.at[y].file || !webs->def_block[x] ||
        !webs->def_block[y] ||
        (colour->web_reg[p] != RA_NO_REG && colour->web_reg[q] != RA_NO_REG &&
         colour->web_reg[p] != colour->web_reg[q]) ||
        webs->size[p] + webs->size[q] > MOST_MEMBERS || !can_join(webs, p, q))
        return;
    uint32_t a = webs->head[p], b = webs->head[q], *to = &webs->head[p];
    while (a || b) {
        uint32_t *from = a && (!b || defined_before(webs, a, b)) ? &a : &b;
        *to = *from;
        to = &webs->next[*from];
        *from = *to;
    }
    *to = 0;
    webs->size[p] += webs->size[q];
    colour->web[q] = p;
    if (colour->web_reg[p] == RA_NO_REG)
        colour->web_reg[p] = colour->web_reg[q];
}

/* ---- what should be together ---- */

static void relate(Webs *webs, Operand a, Operand b, uint32_t depth, uint32_t rivals) {
    ValId x[IR_MOST_VECTOR], y[IR_MOST_VECTOR];
    unsigned n = ra_values(webs->f, a, x), m = ra_values(webs->f, b, y);
    for (unsigned k = 0; k < n && k < m; k++)
        if (x[k].i && y[k].i)
            VEC_ADD(&webs->a, &webs->relations, ((Relation){x[k].i, y[k].i, depth, rivals}));
}

/* How many of the phi's sources can share no register with its source number `n`: where one of many is alive
 * behind the others, a counter that each of them is made from, it had better be the one that is copied. */
static uint32_t count_rivals(const Webs *webs, const Inst *phi, unsigned n) {
    const Operand *of = ir_src(webs->f, phi, n);
    uint32_t rivals = 0;
    for (unsigned k = 0; k < phi->nsrc && phi->nsrc <= MOST_RIVALS; k++) {
        const Operand *other = ir_src(webs->f, phi, k);
        if (of->kind != OPK_VAL || other->kind != OPK_VAL || of->count != 1 || other->count != 1 ||
            of->value == other->value || !webs->def_block[of->value] || !webs->def_block[other->value])
            continue;
        rivals += (dominates(webs, of->value, other->value) && meets(webs, of->value, other->value)) ||
                  (dominates(webs, other->value, of->value) && meets(webs, other->value, of->value));
    }
    return rivals;
}

static void relate_inst(Webs *webs, BlockId b, const Inst *i) {
    Function *f = webs->f;
    const uint32_t *depth = webs->colour->g.depth;
    if (i->op == IR_PHI) {
        FOR_SRCS(f, i, src) {
            BlockId from = ir_block(f, b)->preds.at[AT(src)];
            if (!webs->rare[from.i]) /* the others' register counts, so the copy is made there */
                relate(webs, *ir_dst(f, i, 0), *src, depth[from.i], count_rivals(webs, i, AT(src)));
        }
    }
    if (i->op == IR_COPY || i->op == IR_PARCOPY)
        for (unsigned k = 0; k < i->ndst && k < i->nsrc; k++)
            relate(webs, *ir_dst(f, i, k), *ir_src(f, i, k), depth[b.i], 0);
    FOR_TIED(f, i, old)
        relate(webs, *ir_dst(f, i, AT(old)), *old, depth[b.i], 0);
}

static uint32_t urgency(const Relation *relation) {
    return relation->depth * (MOST_RIVALS + 1) + MOST_RIVALS - relation->rivals;
}

/* Deepest loops first, then those with the fewest rivals, else in the order of the text. */
static void join_related(Webs *webs) {
    uint32_t most = 0;
    for (uint32_t k = 0; k < webs->relations.n; k++)
        if (urgency(&webs->relations.at[k]) > most)
            most = urgency(&webs->relations.at[k]);
    uint32_t *start = ARENA_ARRAY(&webs->a, uint32_t, most + 2);
    Relation *sorted = ARENA_ARRAY(&webs->a, Relation, webs->relations.n + 1);
    for (uint32_t k = 0; k < webs->relations.n; k++)
        start[most - urgency(&webs->relations.at[k]) + 1]++;
    for (uint32_t d = 1; d <= most; d++)
        start[d] += start[d - 1];
    for (uint32_t k = 0; k < webs->relations.n; k++)
        sorted[start[most - urgency(&webs->relations.at[k])]++] = webs->relations.at[k];
    for (uint32_t k = 0; k < webs->relations.n; k++)
        join(webs, sorted[k].a, sorted[k].b);
}

void ra_webs(Colour *colour) {
    Function *f = colour->f;
    uint32_t n = f->values.n;
    Webs webs = {.colour = colour, .f = f};
    Graph graph = cfg_graph(&webs.a, f);
    webs.dom = dom_tree(&webs.a, &graph, GRAPH_FORWARD, f->entry.i);
    webs.def_block = ARENA_ARRAY(&webs.a, uint32_t, n);
    webs.def_at = ARENA_ARRAY(&webs.a, uint32_t, n);
    webs.head = ARENA_ARRAY(&webs.a, uint32_t, n);
    webs.next = ARENA_ARRAY(&webs.a, uint32_t, n);
    webs.size = colour->pending = ARENA_ARRAY(colour->a, uint32_t, n);
    colour->web = ARENA_ARRAY(colour->a, uint32_t, n);
    for (uint32_t v = 0; v < n; v++) {
        colour->web[v] = webs.head[v] = v;
        webs.size[v] = 1;
    }
    uint32_t *latest = ARENA_ARRAY(&webs.a, uint32_t, n);
    for (uint32_t k = 0; k < colour->g.nrpo; k++)
        note_block(&webs, k, latest);
    webs.order = ARENA_ARRAY(&webs.a, uint64_t, n);
    for (uint32_t v = 0; v < n; v++)
        webs.order[v] = (uint64_t)webs.dom.in[webs.def_block[v]] << 32 | webs.def_at[v];
    sort_uses(&webs);
    webs.rare = ARENA_ARRAY(&webs.a, bool, f->blocks.n);
    for (uint32_t k = 0; k < colour->g.nrpo; k++)
        note_rare(&webs, colour->g.rpo[k]);
    for (uint32_t k = 0; k < colour->g.nrpo; k++) {
        BlockId b = colour->g.rpo[k];
        FOR_INSTS(f, b, i)
            relate_inst(&webs, b, i);
    }
    join_related(&webs);
    arena_free(&webs.a);
}
