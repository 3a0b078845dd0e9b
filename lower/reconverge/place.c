/* Auto mode: which joins a function gets. Every place where lanes that have parted can meet is a candidate;
 * those are taken that make the warp issue least, as far as the order rule and 16 registers allow.
 *
 * A candidate is a block to wait in, the loop in one round of which lanes come to it, and the place of its
 * BSSY. From there on lanes are pending; those that can come to the join no more in this round leave it with
 * BREAK. Blocks to wait in:
 *   - immediate post-dominators of divergent branches, in the function and in the body of every loop around
 *     the branch with the edges that leave the loop set aside. The end of a body is the loop's header, so one
 * of them is the join of a whole round;
 *   - blocks that several edges of a round lead to, and headers for what leads back to them;
 *   - where edges out of a loop lead: lanes that leave in different rounds wait there for each other;
 *   - on demand, headers of inner loops and sides of branches, for lanes of several rounds of a loop around.
 * BSSY stands at the nearest block that dominates the join and can part lanes that come to it, or at one of
 * the next such ones above, outside every loop that the join is not in. One BSSY serves all branches below.
 *
 * The choice begins with the post-dominators of the function and improves the set by one candidate at a time,
 * added, taken away or exchanged, those first that might save most (lower/reconverge/spare.c), while the
 * expected issues (lower/reconverge/expect.c) fall. Functions of more than RECONV_MOST_PLACED blocks get the
 * post-dominators alone (join.c).
 *
 * That it is right does not depend on the choice: lanes only wait where all that are pending can still come,
 * and any set whose order has no cycle is safe (join.c). SPDX-License-Identifier: MIT */
#include "lower/reconverge/ask.h"
#include "lower/profile.h"
#include "lower/reconverge/place.h"
#include <stdlib.h>
#include <string.h>

enum {
    MOST_CANDIDATES = 1024, /* of one function */
    MOST_HEIGHT = 3,        /* loops around a branch whose bodies are looked at, from the innermost */
    MOST_ABOVE = 4,         /* places of BSSY for one join */
    MOST_STEPS = 600000,    /* of expected runs */
    STEPS_OF_BLOCK = 512,   /* to find candidates: of each block of the function, as a mean */
    MOST_VAIN = 200000,     /* steps in which a search gains no more than one in VAIN_GAIN: it is over */
    VAIN_GAIN = 1024,
    OTHER_MARGIN = 64,    /* a set that is dearer than the best by one in so many becomes no better one */
    MARGIN = 128,         /* a join saves more than one in so many instructions */
    ROUNDS_MARGIN = 16,   /* the same of a join of several rounds: data that go otherwise lose much by it */
    INSTEAD_MARGIN = 8,   /* the same of one in place of a header's join that lanes pass */
    PARTED_MARGIN = 4,    /* the same of those that need a header of their own: inner loops' rounds may be
                             cut short rounds of the outer one, which lanes go together */
    PARTED_MEASURED = 16, /* the same with a profile, which counts those */
    FEW_LANES = 4,        /* of a warp are too few to tell that their post-dominator has nobody to join */
    DEEPEST = 7,          /* loops told apart */
    MOST_ROUNDS = 6
};

static uint32_t innermost(const Places *places, uint32_t block) {
    return places->reconv->loops.innermost[block];
}

static bool in_scope(const Places *places, uint32_t loop, uint32_t block) {
    return block && (loop == NO_NODE || loop_contains(&places->reconv->loops, loop, block));
}

/* ---- candidates ---- */

static bool same_places(const Join *one, const Join *two) {
    return one->loop == two->loop && one->ipdom == two->ipdom && one->places.n == two->places.n &&
           !memcmp(one->places.at, two->places.at, one->places.n * sizeof *one->places.at);
}

/* Can lanes part on their way from the places to the join? */
static bool parts_lanes(const Places *places, const Join *join) {
    uint32_t round = reconv_mark_reaching(places->reconv, join);
    for (unsigned k = 0; k < join->out.n; k++) {
        uint32_t b = join->out.at[k], ways = 0, other = NO_NODE;
        if (!places->divergent[b])
            continue;
        GRAPH_SUCCS(&places->reconv->g, b, s)
            if (*s != other && (*s == join->block || places->reconv->mark[*s] == round))
                ways++, other = *s;
        if (ways > 1)
            return true;
    }
    return false;
}

static bool pends_in_recursion(const Reconv *reconv, const Join *join) {
    for (unsigned k = 0; k < join->in.n && reconv->recurs; k++)
        if (join->in.at[k] != join->block && reconv->recurs[join->in.at[k]])
            return true;
    return false;
}

/* Others may wait for lanes that are in the block: at collectives, for a value in memory, in a callee. So
 * these do not wait for lanes that come a round later. */
static bool others_wait(Reconv *reconv, uint32_t block) {
    reconv->f->module->steps++;
    FOR_INSTS(reconv->f, (BlockId){block}, i)
        if (i->flags & (IF_SYNC | IF_CONVERGENT | IF_OBSERVING) || reconv_changes_active(i))
            return true;
    return false;
}

static bool rounds_hold_others(Reconv *reconv, const Join *join) {
    for (unsigned k = 0; k < join->in.n && join->rounds; k++)
        if (others_wait(reconv, join->in.at[k]))
            return true;
    return false;
}

static void drop_needless_places(Places *places, Join *join) {
    unsigned n = 0;
    reconv_mark_needed(places->reconv, join, places->state, places->needed);
    for (unsigned k = 0; k < join->places.n; k++) {
        uint32_t b = join->places.at[k];
        if (places->needed[b])
            join->places.at[n++] = b;
        places->needed[b] = 0;
    }
    join->places.n = n;
}

static void add_candidate(Places *places, Join join, bool first) {
    Reconv *reconv = places->reconv;
    if (places->all.n >= MOST_CANDIDATES || !join.places.n || reconv->f->module->steps > places->most_steps)
        return;
    for (uint32_t k = places->last_at[join.block]; k; k = places->previous.at[k - 1])
        if (same_places(&places->all.at[k - 1].join, &join)) {
            places->all.at[k - 1].first |= first;
            return;
        }
    join.reg = NUM_B;
    join.number = places->all.n;
    if (!reconv_solve_join(reconv, &join, places->state))
        return;
    if (!parts_lanes(places, &join) || pends_in_recursion(reconv, &join) ||
        rounds_hold_others(reconv, &join)) {
        reconv->entries -= join.in.n + join.out.n;
        return;
    }
    drop_needless_places(places, &join);
    Candidate *candidate = VEC_PUSH(&reconv->a, &places->all);
    *candidate = (Candidate){.join = join, .in = bs_new(&reconv->a, reconv->g.n), .first = first};
    for (unsigned k = 0; k < join.in.n; k++)
        bs_add(&candidate->in, join.in.at[k]);
    candidate->parted = join.block >= reconv->first_parted;
    for (unsigned k = 0; k < join.places.n; k++)
        candidate->parted |= join.places.at[k] >= reconv->first_parted;
    places->parted |= candidate->parted;
    candidate->depth =
        innermost(places, join.block) == NO_NODE ? 0 : reconv->loops.at[innermost(places, join.block)].depth;
    VEC_ADD(&reconv->a, &places->previous, places->last_at[join.block]);
    places->last_at[join.block] = places->all.n;
}

/* The nearest dominator of `block`, itself included, in no loop that the join is not in; 0: none. */
static uint32_t out_of_loops(const Places *places, uint32_t block, uint32_t join) {
    while (block != NO_NODE && block && innermost(places, block) != NO_NODE &&
           !loop_contains(&places->reconv->loops, innermost(places, block), join))
        block = places->dom.idom[block];
    return block == NO_NODE ? 0 : block;
}

/* Joins in `join` of what `from` and the blocks above it part, `loop` round by round, so many at most. */
static void add_above(Places *places, uint32_t join, uint32_t loop, uint32_t from, unsigned most) {
    uint32_t last = 0;
    unsigned n = 0;
    for (uint32_t at = from; at && at != NO_NODE && n < most; at = places->dom.idom[at]) {
        uint32_t place = out_of_loops(places, at, join);
        if (!in_scope(places, loop, place))
            return;
        at = place;
        if (place == last)
            continue;
        last = place;
        if (!places->divergent[place] && n > 0)
            continue;
        Join j = {.block = join, .scoped = true, .loop = loop};
        VEC_ADD(&places->reconv->a, &j.places, place);
        uint32_t before = places->all.n;
        add_candidate(places, j, false);
        n += places->all.n > before || place == from;
    }
}

/* The nearest dominator of the blocks that lead to the join within a round, or (back) back to it. */
static uint32_t common_dominator(const Places *places, uint32_t join, uint32_t loop, unsigned *npreds) {
    const Reconv *reconv = places->reconv;
    uint32_t at = NO_NODE, last = NO_NODE;
    *npreds = 0;
    GRAPH_PREDS(&reconv->g, join, q) {
        if (reconv->order.index[*q] == NO_NODE || !in_scope(places, loop, *q))
            continue;
        *npreds += *q != last;
        last = *q;
        at = at == NO_NODE ? *q : dom_common(&places->dom, at, *q);
    }
    return at;
}

static void add_first_meetings(Places *places) {
    Reconv *reconv = places->reconv;
    reconv_find_early(reconv, places->divergent);
    for (unsigned k = 0; k < reconv->joins.n; k++) {
        const Join *early = &reconv->joins.at[k];
        Join j = {.block = early->block, .scoped = true, .loop = innermost(places, early->block)};
        for (unsigned m = 0; m < early->early.n; m++)
            if (in_scope(places, j.loop, early->early.at[m]))
                VEC_ADD(&reconv->a, &j.places, early->early.at[m]);
        add_candidate(places, j, false);
        reconv->join_at[early->block] = NO_JOIN;
    }
    reconv->joins.n = 0;
}

static void add_meetings(Places *places, unsigned most) {
    Reconv *reconv = places->reconv;
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k], loop, at;
        unsigned n;
        if (!b || !reconv->may_join[b])
            continue;
        loop = innermost(places, b);
        at = common_dominator(places, b, loop, &n);
        bool header = loop != NO_NODE && reconv->loops.at[loop].header == b;
        if (at != NO_NODE && n > 0)
            add_above(places, b, loop, at, most);
        if (header) { /* for those that enter the loop */
            loop = reconv->loops.at[loop].parent;
            at = places->dom.idom[b];
            if (at != NO_NODE)
                add_above(places, b, loop, at, most);
        }
    }
}

/* Post-dominators of the body of one loop without the edges that leave it. */
static void add_of_body(Places *places, uint32_t loop, const uint32_t *blocks, uint32_t n, uint32_t *local) {
    Reconv *reconv = places->reconv;
    uint32_t header = reconv->loops.at[loop].header;
    ArenaMark mark;
    VEC(GraphEdge) edges = {0};
    VEC(GraphEdge) found = {0}; /* branch, join */
    uint32_t *ipdom = ARENA_ARRAY(&reconv->a, uint32_t, n);
    mark = arena_mark(&reconv->a);
    for (uint32_t k = 0; k < n; k++)
        local[blocks[k]] = k;
    for (uint32_t k = 0; k < n; k++)
        GRAPH_SUCCS(&reconv->g, blocks[k], s) {
            reconv->f->module->steps++;
            if (in_scope(places, loop, *s))
                *VEC_PUSH(&reconv->a, &edges) = (GraphEdge){k, *s == header ? n : local[*s]};
        }
    Graph body = graph_new(&reconv->a, n + 1, edges.at, edges.n);
    DomTree t = dom_tree(&reconv->a, &body, GRAPH_BACKWARD, n);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t b = blocks[k], ways = 0, other = NO_NODE;
        ipdom[k] = NO_NODE;
        if (!places->divergent[b])
            continue;
        GRAPH_SUCCS(&body, k, s)
            if (t.in[*s] && *s != other)
                ways++, other = *s;
        if (ways > 1 && t.idom[k] != NO_NODE)
            ipdom[k] = t.idom[k] == n ? header : blocks[t.idom[k]];
    }
    arena_release(&reconv->a, mark);
    for (uint32_t k = 0; k < n; k++)
        if (ipdom[k] != NO_NODE)
            *VEC_PUSH(&reconv->a, &found) = (GraphEdge){blocks[k], ipdom[k]};
    for (unsigned k = 0; k < found.n; k++) { /* one BSSY for all branches of a join */
        uint32_t join = found.at[k].to, at = NO_NODE;
        if (join == NO_NODE)
            continue;
        for (unsigned m = k; m < found.n; m++)
            if (found.at[m].to == join) {
                at = at == NO_NODE ? found.at[m].from : dom_common(&places->dom, at, found.at[m].from);
                found.at[m].to = NO_NODE;
            }
        uint32_t place = out_of_loops(places, at, join);
        if (!in_scope(places, loop, place) || reconv_only_exits(reconv->f, join))
            continue;
        Join j = {.block = join, .scoped = true, .loop = loop};
        VEC_ADD(&reconv->a, &j.places, place);
        add_candidate(places, j, true);
    }
}

/* Headers of two loops that were parted, in which lanes meet in every round of either, or that enter both. */
static void add_of_parted(Places *places) {
    Reconv *reconv = places->reconv;
    for (uint32_t b = reconv->first_parted; b < reconv->g.n; b++) {
        uint32_t header = reconv_parted_header(reconv, b), outer = innermost(places, b),
                 parent = reconv->loops.at[outer].parent;
        Join j = {.block = header, .scoped = true, .loop = parent};
        VEC_ADD(&reconv->a, &j.places, header);
        add_candidate(places, j, false);
        if (places->dom.idom[b] != NO_NODE)
            add_above(places, header, parent, places->dom.idom[b], MOST_ABOVE);
    }
}

static void add_of_loops(Places *places) {
    Reconv *reconv = places->reconv;
    uint32_t *height = ARENA_ARRAY(&reconv->a, uint32_t, reconv->loops.n + 1),
             *local = ARENA_ARRAY(&reconv->a, uint32_t, reconv->g.n);
    for (uint32_t l = reconv->loops.n; l-- > 0;) { /* the inner ones have larger numbers */
        uint32_t parent = reconv->loops.at[l].parent;
        if (parent != NO_NODE && height[parent] < height[l] + 1)
            height[parent] = height[l] + 1;
    }
    /* the blocks of loop l and of those in it stand together when sorted by their innermost loop's number */
    uint32_t *start = ARENA_ARRAY(&reconv->a, uint32_t, reconv->loops.n + 2),
             *sorted = ARENA_ARRAY(&reconv->a, uint32_t, reconv->g.n);
    for (uint32_t k = 0; k < reconv->order.count; k++)
        if (reconv->order.order[k] && innermost(places, reconv->order.order[k]) != NO_NODE)
            start[reconv->loops.at[innermost(places, reconv->order.order[k])].in + 1]++;
    for (uint32_t l = 0; l < reconv->loops.n; l++)
        start[l + 1] += start[l];
    uint32_t *next = arena_copy(&reconv->a, start, (reconv->loops.n + 1) * sizeof *start);
    for (uint32_t k = 0; k < reconv->order.count; k++)
        if (reconv->order.order[k] && innermost(places, reconv->order.order[k]) != NO_NODE)
            sorted[next[reconv->loops.at[innermost(places, reconv->order.order[k])].in]++] =
                reconv->order.order[k];
    for (uint32_t l = reconv->loops.n; l-- > 0;)
        if (height[l] < MOST_HEIGHT)
            add_of_body(places, l, sorted + start[reconv->loops.at[l].in],
                        start[reconv->loops.at[l].out] - start[reconv->loops.at[l].in], local);
}

/* The join at `join_of` of the branches of which two sides at least come there. */
static void add_of_function(Places *places, const uint32_t *join_of) {
    Reconv *reconv = places->reconv;
    uint32_t *last = ARENA_ARRAY(&reconv->a, uint32_t, reconv->g.n);
    VEC(Join) late = {0};
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k], ways = 0, other = NO_NODE;
        if (!b || !join_of[b])
            continue;
        GRAPH_SUCCS(&reconv->g, b, s)
            if (*s != other && reconv->pd.region[*s] == reconv->pd.region[b])
                ways++, other = *s;
        if (ways < 2)
            continue; /* the others leave: nobody to wait for */
        if (!last[join_of[b]]) {
            *VEC_PUSH(&reconv->a, &late) = (Join){.block = join_of[b], .ipdom = true, .loop = NO_NODE};
            last[join_of[b]] = late.n;
        }
        Join *join = &late.at[last[join_of[b]] - 1];
        uint32_t hoisted = reconv_hoisted(reconv, b, join->block);
        if (hoisted != b && (!join->places.n || join->places.at[join->places.n - 1] != hoisted))
            VEC_ADD(&reconv->a, &join->places, hoisted);
        VEC_ADD(&reconv->a, &join->places, b);
    }
    for (unsigned k = 0; k < late.n; k++)
        add_candidate(places, late.at[k], true);
}

/* ---- joins of several rounds ---- */

static bool rounds_may_wait(const Places *places, uint32_t loop) {
    Reconv *reconv = places->reconv;
    if (reconv->loops.at[loop].irreducible)
        return false;
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k];
        if (b && loop_contains(&reconv->loops, loop, b) && others_wait(reconv, b))
            return false;
    }
    return true;
}

/* Lanes in the loop wait at `join` for all that have not left the loop, whatever round they are in: BSSY
 * before the loop, and behind the join for the next time. */
static void add_rounds(Places *places, uint32_t loop, uint32_t join) {
    Reconv *reconv = places->reconv;
    uint32_t before = places->dom.idom[reconv->loops.at[loop].header], parent = reconv->loops.at[loop].parent;
    if (!before || before == NO_NODE || !in_scope(places, parent, before))
        return;
    Join j = {.block = join, .scoped = true, .loop = parent, .rounds = true};
    VEC_ADD(&reconv->a, &j.places, before);
    VEC_ADD(&reconv->a, &j.places, join);
    add_candidate(places, j, false);
}

/* A profile has counts of the loop's branches. */
static bool is_measured(const Places *places, uint32_t loop) {
    const Reconv *reconv = places->reconv;
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k];
        if (b && loop_contains(&reconv->loops, loop, b) && lower_branch_counts(reconv->f, (BlockId){b}))
            return true;
    }
    return false;
}

static void add_of_rounds(Places *places) {
    Reconv *reconv = places->reconv;
    unsigned opts = reconv->f->module->reconv_opts;
    if (!ir_reconv_opt(opts, RO_GATHER_ROUNDS | RO_SPECULATE))
        return;
    for (uint32_t l = 0; l < reconv->loops.n; l++) {
        if (!rounds_may_wait(places, l) || (ir_reconv_opt(opts, RO_MEASURED) && !is_measured(places, l)))
            continue;
        for (uint32_t inner = l + 1; inner < reconv->loops.n && ir_reconv_opt(opts, RO_GATHER_ROUNDS);
             inner++)
            if (reconv->loops.at[inner].parent == l && !reconv->loops.at[inner].irreducible)
                add_rounds(places, l, reconv->loops.at[inner].header);
        for (uint32_t k = 0; k < reconv->order.count && ir_reconv_opt(opts, RO_SPECULATE); k++) {
            uint32_t b = reconv->order.order[k], d = b ? places->dom.idom[b] : NO_NODE;
            if (d != NO_NODE && b != reconv->loops.at[l].header && innermost(places, b) == l &&
                places->divergent[d] && innermost(places, d) == l &&
                reconv->g.pred_at[b + 1] - reconv->g.pred_at[b] == 1)
                add_rounds(places, l, b);
        }
    }
}

/* ---- sets ---- */

static void take_trial(Search *search, uint64_t cost) {
    Places *places = search->places;
    for (unsigned k = 0; k < places->nset; k++)
        places->all.at[places->set[k]].taken = false;
    memcpy(places->set, search->trial, search->ntrial * sizeof *places->set);
    places->nset = search->ntrial;
    for (unsigned k = 0; k < places->nset; k++)
        places->all.at[places->set[k]].taken = true;
    search->cost = cost;
}

/* The trial is the set with candidate c in place of what stands in its way; false: that has no order. */
static bool with_candidate(Search *search, uint32_t c) {
    Places *places = search->places;
    const Candidate *new = &places->all.at[c];
    search->ntrial = 0;
    for (unsigned k = 0; k < places->nset; k++) {
        const Candidate *old = &places->all.at[places->set[k]];
        if (old->join.block != new->join.block && !(reconv_pends_at(old, new) && reconv_pends_at(new, old)))
            search->trial[search->ntrial++] = places->set[k];
    }
    search->trial[search->ntrial++] = c;
    return reconv_is_ordered(places, search->trial, search->ntrial);
}

static uint64_t margin(const Search *search, const Candidate *candidate) {
    const Reconv *reconv = search->places->reconv;
    if (candidate->join.rounds)
        return search->cost / ROUNDS_MARGIN;
    return search->cost * candidate->join.in.n / ((uint64_t)MARGIN * reconv->order.count);
}

static bool try_adding(Search *search, uint32_t c) {
    if (!with_candidate(search, c))
        return false;
    uint64_t cost = reconv_cost_of(search, search->trial, search->ntrial, search->cost);
    if (cost + margin(search, &search->places->all.at[c]) >= search->cost)
        return false;
    take_trial(search, cost);
    return true;
}

static bool try_without(Search *search, uint32_t c) {
    Places *places = search->places;
    /* a post-dominator goes only where that is better, none for being where hardly a lane came by */
    uint64_t spare = places->all.at[c].join.ipdom ? 0 : margin(search, &places->all.at[c]);
    search->ntrial = 0;
    for (unsigned k = 0; k < places->nset; k++)
        if (places->set[k] != c)
            search->trial[search->ntrial++] = places->set[k];
    uint64_t cost = reconv_cost_of(search, search->trial, search->ntrial, search->cost + spare);
    if (cost >= search->cost + spare || (cost == search->cost && places->all.at[c].first) ||
        (places->all.at[c].join.ipdom && reconv_expect_lanes(search->e, &places->all.at[c].join) < FEW_LANES))
        return false;
    take_trial(search, cost);
    return true;
}

/* Candidates to begin with: joins of the function, of loops' bodies, or all. */
typedef enum { OF_FUNCTION = 1, OF_BODIES = 2, OF_ALL = 4 } Kinds;

static bool may_take(const Places *places, const Candidate *candidate) {
    return !candidate->parted || !places->unparted;
}

/* Adds candidates of these kinds that fit to the set, in this order. */
static void add_fitting(Places *places, const uint32_t *turn, unsigned kinds) {
    for (uint32_t k = 0; k < places->nfirst; k++) {
        uint32_t c = turn ? turn[k] : k;
        Candidate *candidate = &places->all.at[c];
        unsigned kind = !candidate->first ? 0 : candidate->join.scoped ? OF_BODIES : OF_FUNCTION;
        bool fits = !candidate->taken && !candidate->join.rounds && may_take(places, candidate) &&
                    (kinds & (kind | OF_ALL));
        for (unsigned m = 0; fits && m < places->nset; m++)
            fits = places->all.at[places->set[m]].join.block != candidate->join.block;
        places->set[places->nset] = c;
        if (fits && reconv_is_ordered(places, places->set, places->nset + 1))
            candidate->taken = true, places->nset++;
    }
}

/* Adds the candidate, in place of what stands in its way, or takes it away, if that is better. */
static bool try_changing(Search *search, uint32_t c) {
    const Candidate *candidate = &search->places->all.at[c];
    if (candidate->taken)
        return try_without(search, c);
    return may_take(search->places, candidate) && candidate->spare > margin(search, candidate) &&
           try_adding(search, c);
}

/* Candidates added, exchanged and taken away while that helps. */
static void improve(Search *search, const uint32_t *turn, uint64_t most_steps) {
    Places *places = search->places;
    uint64_t gained_at = reconv_expect_steps(search->e), cost = search->cost,
             most_vain = (uint64_t)MOST_VAIN * reconv_expect_length(search->e);
    const uint32_t *sorted = reconv_by_spare(search, turn);
    bool better = true;
    for (unsigned round = 0; better && round < MOST_ROUNDS; round++) {
        better = false;
        for (uint32_t k = 0; k < places->nfirst && reconv_expect_steps(search->e) < most_steps; k++) {
            better |= try_changing(search, sorted[k]);
            if (search->cost + cost / VAIN_GAIN < cost)
                cost = search->cost, gained_at = reconv_expect_steps(search->e);
            if (reconv_expect_steps(search->e) - gained_at > most_vain)
                return;
        }
    }
}

/* Do lanes come from the end of block `from` to block `to`, not through `join`? */
static bool comes_to(const Places *places, uint32_t from, uint32_t to, uint32_t join) {
    Reconv *reconv = places->reconv;
    uint32_t top = 0, round = ++reconv->round;
    reconv->stack[top++] = from;
    while (top) {
        uint32_t b = reconv->stack[--top];
        reconv->f->module->steps++;
        GRAPH_SUCCS(&reconv->g, b, s) {
            if (*s == to)
                return true;
            if (*s && *s != join && reconv->mark[*s] != round)
                reconv->mark[*s] = round, reconv->stack[top++] = *s;
        }
    }
    return false;
}

/* The loop in whose rounds lanes come to BSSY again while others wait for them, if they may wait for all that
 * are in it: of a header the loop around its own, of another join the one that it is in with its BSSY. */
static uint32_t loop_of_rounds(const Places *places, const Join *join) {
    const Reconv *reconv = places->reconv;
    uint32_t l = innermost(places, join->block), loop = l;
    if (l == NO_NODE || join->rounds || reconv->loops.at[l].irreducible)
        return NO_NODE;
    if (reconv->loops.at[l].header == join->block) {
        loop = join->loop == l ? reconv->loops.at[l].parent : NO_NODE;
    } else {
        bool again = false;
        for (unsigned k = 0; k < join->places.n; k++)
            again |= comes_to(places, join->places.at[k], join->places.at[k], join->block);
        loop = again ? l : NO_NODE;
    }
    return loop != NO_NODE && rounds_may_wait(places, loop) ? loop : NO_NODE;
}

/* Lanes that left an inner loop with BREAK and come to the BSYNC of its header in a later round of the outer
 * loop wait there for those that are still in it where BSSY adds to its register. Where it sets it they go
 * on alone, and their BSSY makes others wait for them alone: nearly every round of the inner loop runs twice
 * if lanes leave in most. The same happens where two loops have one header: who goes round the inner one
 * comes to BSSY again, and those that wait behind it wait no more. There the join of several rounds does what
 * the other did. */
static void gather_instead(Search *search) {
    Places *places = search->places;
    uint64_t most_steps =
        reconv_expect_steps(search->e) + (uint64_t)MOST_STEPS / 8 * reconv_expect_length(search->e);
    if (!isa_target_info(places->reconv->f->module->target)->bssy_assigns)
        return;
    for (uint32_t k = 0, n = places->all.n; k < n && reconv_expect_steps(search->e) < most_steps; k++) {
        uint32_t c = places->all.n, block = places->all.at[k].join.block,
                 loop = places->all.at[k].taken ? loop_of_rounds(places, &places->all.at[k].join) : NO_NODE;
        if (loop != NO_NODE)
            add_rounds(places, loop, block);
        if (places->all.n == c || !with_candidate(search, c))
            continue;
        uint64_t before = reconv_cost_of(search, places->set, places->nset, UINT64_MAX),
                 cost = reconv_cost_of(search, search->trial, search->ntrial, before);
        if (cost + before / INSTEAD_MARGIN < before)
            take_trial(search, cost);
    }
}

/* Of as many warps as there are without a profile. */
static int64_t profit_of(const Search *search, uint64_t without, uint64_t with) {
    return ((int64_t)without - (int64_t)with) / (int64_t)reconv_expect_times(search->e);
}

/* What the post-dominators that are not of the set would save, which is mostly a loss. */
static void judge_refused(Search *search) {
    const Places *places = search->places;
    for (uint32_t k = 0; k < places->all.n; k++) {
        const Candidate *candidate = &places->all.at[k];
        if (!candidate->taken && candidate->join.ipdom && with_candidate(search, k))
            places->reconv->refused[candidate->join.block] = profit_of(
                search, search->cost, reconv_cost_of(search, search->trial, search->ntrial, UINT64_MAX));
    }
}

typedef struct {
    uint32_t *set, n;
    uint64_t cost;
} Saved;

static Saved save_set(const Search *search) {
    const Places *places = search->places;
    return (Saved){arena_copy(&places->reconv->a, places->set, (places->nset + 1) * sizeof *places->set),
                   places->nset, search->cost};
}

static void clear_set(Places *places) {
    for (unsigned k = 0; k < places->nset; k++)
        places->all.at[places->set[k]].taken = false;
    places->nset = 0;
}

static void take_saved(Search *search, const Saved *saved) {
    memcpy(search->trial, saved->set, saved->n * sizeof *saved->set);
    search->ntrial = saved->n;
    take_trial(search, saved->cost);
}

static void restore_better(Search *search, const Saved *saved) {
    if (saved->cost <= search->cost)
        take_saved(search, saved);
}

/* What is better to begin with has all the steps that it needs, the other one the rest. */
static void improve_both(Search *search, const uint32_t *turn, const Saved *better, const Saved *other,
                         uint64_t most_steps) {
    take_saved(search, better);
    improve(search, turn, most_steps);
    if (search->cost + search->cost / OTHER_MARGIN < other->cost)
        return;
    Saved improved = save_set(search);
    take_saved(search, other);
    improve(search, turn, most_steps);
    restore_better(search, &improved);
}

/* The best set that is found among the candidates that may be taken. */
static void find_set(Search *search, const uint32_t *turn) {
    Places *places = search->places;
    uint64_t most_steps =
        reconv_expect_steps(search->e) + (uint64_t)MOST_STEPS * reconv_expect_length(search->e);
    clear_set(places);
    add_fitting(places, turn, OF_BODIES);
    add_fitting(places, NULL, OF_FUNCTION);
    search->cost = reconv_cost_of(search, places->set, places->nset, UINT64_MAX);
    Saved bodies = save_set(search);
    clear_set(places);
    add_fitting(places, NULL, OF_FUNCTION | OF_BODIES);
    search->cost = reconv_cost_of(search, places->set, places->nset, bodies.cost);
    restore_better(search, &bodies);
    Saved few = save_set(search);
    add_fitting(places, NULL, OF_ALL);
    search->cost = reconv_cost_of(search, places->set, places->nset, UINT64_MAX);
    Saved all = save_set(search);
    bool all_first = all.cost < few.cost;
    improve_both(search, turn, all_first ? &all : &few, all_first ? &few : &all, most_steps);
    gather_instead(search);
}

static void choose_set(Places *places) {
    Reconv *reconv = places->reconv;
    Search *search = reconv->search = ARENA_NEW(&reconv->a, Search);
    *search = (Search){.places = places, .e = reconv_expect(reconv, &places->dom, places->divergent)};
    search->trial = ARENA_ARRAY(&reconv->a, uint32_t, places->all.n + 1);
    search->told = ARENA_ARRAY(&reconv->a, uint32_t, places->all.n + 1);
    search->joins = ARENA_ARRAY(&reconv->a, const Join *, places->all.n + 1);
    uint32_t *turn = ARENA_ARRAY(&reconv->a, uint32_t, places->all.n + 1), n = 0;
    for (uint32_t depth = DEEPEST + 1; depth-- > 0;) /* inner loops first */
        for (uint32_t k = 0; k < places->all.n; k++)
            if ((places->all.at[k].depth < DEEPEST ? places->all.at[k].depth : DEEPEST) == depth)
                turn[n++] = k;
    places->nfirst = n;
    places->unparted = places->parted;
    find_set(search, turn);
    if (places->parted) {
        Saved unparted = save_set(search);
        places->unparted = false;
        find_set(search, turn);
        if (unparted.cost <
            search->cost +
                search->cost / (reconv_expect_times(search->e) > 1 ? PARTED_MEASURED : PARTED_MARGIN))
            take_saved(search, &unparted);
    }
    if (reconv->refused)
        judge_refused(search);
    reconv->f->module->steps += reconv_expect_ran(search->e);
}

void reconv_find_profits(Reconv *reconv) {
    Search *search = reconv->search;
    if (!search)
        return;
    reconv->search = NULL;
    const Places *places = search->places;
    uint64_t before = reconv_expect_ran(search->e);
    for (unsigned k = 0; k < places->nset; k++) {
        search->ntrial = 0;
        for (unsigned m = 0; m < places->nset; m++)
            if (m != k)
                search->trial[search->ntrial++] = places->set[m];
        reconv->joins.at[k].profit = profit_of(
            search, reconv_cost_of(search, search->trial, search->ntrial, UINT64_MAX), search->cost);
    }
    reconv->f->module->steps += reconv_expect_ran(search->e) - before;
}

void reconv_place(Reconv *reconv, const uint32_t *join_of, const bool *divergent, unsigned base,
                  uint8_t *state) {
    Places *places = ARENA_NEW(&reconv->a, Places);
    *places = (Places){.reconv = reconv, .divergent = divergent, .base = base, .state = state};
    places->dom = dom_tree(&reconv->a, &reconv->g, GRAPH_FORWARD, reconv->f->entry.i);
    places->most_steps = reconv->f->module->steps + (uint64_t)STEPS_OF_BLOCK * reconv->order.count;
    places->last_at = ARENA_ARRAY(&reconv->a, uint32_t, reconv->g.n);
    places->needed = ARENA_ARRAY(&reconv->a, uint8_t, reconv->g.n);
    places->number = ARENA_ARRAY(&reconv->a, uint8_t, reconv->g.n);
    places->joined = bs_new(&reconv->a, reconv->g.n);
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k], preds = 0, last = NO_NODE;
        if (!b || reconv_only_exits(reconv->f, b) || reconv_is_answered(reconv->f, b))
            continue;
        bool left = false;
        GRAPH_PREDS(&reconv->g, b, q)
            if (reconv->order.index[*q] != NO_NODE) {
                preds += *q != last, last = *q;
                left |= innermost(places, *q) != NO_NODE &&
                        !loop_contains(&reconv->loops, innermost(places, *q), b);
            }
        reconv->may_join[b] =
            preds > 1 || left ||
            (innermost(places, b) != NO_NODE && reconv->loops.at[innermost(places, b)].header == b);
    }
    add_of_function(places, join_of);
    add_of_loops(places);
    add_of_parted(places);
    add_meetings(places, 1); /* of every block one first: there are not always candidates left for more */
    add_meetings(places, MOST_ABOVE);
    add_first_meetings(places);
    add_of_rounds(places);
    places->set = ARENA_ARRAY(&reconv->a, uint32_t, places->all.n + 1);
    if (places->all.n)
        choose_set(places);
    memset(reconv->may_join, 0, reconv->g.n * sizeof *reconv->may_join);
    for (unsigned k = 0; k < places->nset; k++)
        reconv->may_join[places->all.at[places->set[k]].join.block] = true;
    for (unsigned k = 0; k < places->nset; k++) {
        Join *join = reconv_add_join(reconv, places->all.at[places->set[k]].join.block);
        *join = places->all.at[places->set[k]].join;
        reconv->entries -= join->in.n + join->out.n;
        if (!reconv_solve_join(reconv, join,
                               state)) /* never: with fewer joins in the way lanes leave no earlier */
            join->dropped = true, join->why = RJ_TOO_DEEP;
    }
    if (reconv->f->module->explain)
        reconv_find_profits(reconv);
}
