/* The lowest bits of addresses, which say that an access is aligned: of `p` that a loop moves on by 16, they
 * are what they were in front of it.
 *
 * A value of the PTX that differs among the ways to a place is a variable there (core.h). Its low bits are
 * those that all ways bring, each a term over variables of the place where it starts. The table of all
 * variables begins with "nothing came yet", which a way that needs it is left out for, and each round can
 * only lose bits. Where it ends every way brings what the table says: so it holds by induction over the
 * places that are come to, from the function's entry on. A way without a value brings any, whose bits are
 * unknown.
 *
 * The table is made of the edges when an address asks that nothing else shows to be aligned: in the pass that
 * checks as well as in the search, of its own edges. SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"

enum { MOST_BITS = 4, DEPTH = 8 };
typedef struct {
    bool seen;
    uint8_t n; /* so many bits are known */
    uint8_t bits;
} Lowest;
typedef struct {
    Core *core;
    Lowest *of; /* [term] of variables; of others nothing is known by itself */
    bool *listed;
    uint32_t nterms;
} Table;
struct ProveMultiples {
    Table table;
};

static Lowest lowest_known(unsigned n, uint64_t bits) {
    n = n < MOST_BITS ? n : MOST_BITS;
    return (Lowest){true, (uint8_t)n, (uint8_t)(bits & ((1u << n) - 1))};
}

static Lowest lowest_of(const Table *table, const Term *term, unsigned depth);

static unsigned even_factor(uint64_t value) { return value ? (unsigned)__builtin_ctzll(value) : MOST_BITS; }

/* k + sum of c * a. */
static Lowest lowest_sum(const Table *table, const Term *sum, unsigned depth) {
    unsigned n = MOST_BITS;
    uint64_t bits = sum->k;
    for (uint32_t i = 0; i < sum->n; i++) {
        Lowest entry = lowest_of(table, sum->a[i], depth);
        if (!entry.seen)
            return entry;
        unsigned known = entry.n + even_factor(sum->c[i]);
        n = known < n ? known : n;
        bits += entry.bits * sum->c[i];
    }
    return lowest_known(n, bits);
}

static Lowest lowest_either(Lowest one, Lowest two) {
    if (!one.seen || !two.seen)
        return one.seen ? one : two;
    unsigned n = one.n < two.n ? one.n : two.n, same = even_factor((one.bits ^ two.bits) & ((1u << n) - 1));
    return lowest_known(same < n ? same : n, one.bits);
}

static Lowest lowest_of(const Table *table, const Term *term, unsigned depth) {
    if (!depth--)
        return lowest_known(0, 0);
    switch (term->kind) {
    case TK_CONST: return lowest_known(MOST_BITS, term->k);
    case TK_VAR:
        return term->id < table->nterms && table->listed[term->id] ? table->of[term->id] : lowest_known(0, 0);
    case TK_SUM: return lowest_sum(table, term, depth);
    case TK_ITE: {
        Lowest yes = lowest_of(table, term->a[1], depth), no = lowest_of(table, term->a[2], depth);
        return yes.seen && no.seen ? lowest_either(yes, no) : (Lowest){0};
    }
    case TK_LO:
    case TK_SEXT: return lowest_of(table, term->a[0], depth);
    default: return lowest_known(t_zeros(term), 0);
    }
}

/* The variable that stands for a value at a place, or for its lower word; NULL: it has none. */
static const Term *variable(Core *core, uint32_t place, uint32_t v) {
    const Cut *cut = &core->cuts.at[place];
    Term *value = cut->phi[v] ? cut->pv[v] : NULL;
    if (!value || value->width < 32)
        return NULL;
    if (value->kind != TK_VAR && value->width == 64)
        value = t_lo(&core->p.ts, value);
    return value->kind == TK_VAR && value->k == place + 1 ? value : NULL;
}

/* What a way brings; true: something changed. */
static bool bring(Table *table, const Edge *edge, uint32_t place) {
    bool changed = false;
    for (uint32_t v = 1; v < table->core->p.nptx; v++) {
        const Term *var = variable(table->core, place, v);
        if (!var || var->id >= table->nterms || !table->listed[var->id])
            continue;
        Lowest *now = &table->of[var->id], was = *now,
               is = edge->pv[v] ? lowest_of(table, edge->pv[v], DEPTH) : lowest_known(0, 0);
        *now = lowest_either(was, is);
        changed |= was.seen != now->seen || was.n != now->n;
    }
    return changed;
}

static void list_variables(Table *table) {
    Core *core = table->core;
    const Term *stack = prove_sp(&core->p);
    for (uint32_t place = 0; place < core->cuts.n; place++)
        for (uint32_t v = 1; v < core->p.nptx && core->cuts.at[place].reached; v++)
            variable(core, place, v); /* may make terms, which the tables below have room for */
    table->nterms = core->p.ts.next_id;
    table->of = ARENA_ARRAY(&core->p.arena, Lowest, table->nterms);
    table->listed = ARENA_ARRAY(&core->p.arena, bool, table->nterms);
    for (uint32_t place = 0; place < core->cuts.n; place++)
        for (uint32_t v = 1; v < core->p.nptx && core->cuts.at[place].reached; v++) {
            const Term *var = variable(core, place, v);
            if (var)
                table->listed[var->id] = true;
        }
    if (stack->kind == TK_VAR) {
        table->listed[stack->id] = true;
        table->of[stack->id] = lowest_known(even_factor(core->p.stack_multiple), 0);
    }
}

static const Table *table_of_edges(Core *core) {
    if (core->multiples)
        return &core->multiples->table;
    core->multiples = ARENA_NEW(&core->p.arena, struct ProveMultiples);
    Table *table = &core->multiples->table;
    table->core = core;
    list_variables(table);
    for (bool changed = true; changed;) {
        changed = bring(table, &core->entry, 0);
        for (uint32_t place = 0; place < core->cuts.n; place++)
            for (uint32_t e = 0; e < core->cuts.at[place].edges.n; e++) {
                const Edge *edge = &core->cuts.at[place].edges.at[e];
                changed |= bring(table, edge, edge->to);
            }
    }
    return table;
}

bool prove_is_multiple(Core *core, const Term *address, unsigned bytes) {
    if (bytes == 1 || 1u << t_zeros(address) >= bytes)
        return true;
    Lowest low = lowest_of(table_of_edges(core), address, DEPTH);
    return low.seen && 1u << low.n >= bytes && !(low.bits & (bytes - 1));
}
