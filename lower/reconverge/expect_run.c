/* An expected run of one warp after the other with a set of joins.
 *
 * The blocks that all lanes come to once, in one order, part the function (expect_parts.c). What a warp
 * issues from one where it is together, and nobody waited for, to the next such one depends on nothing but
 * the joins between, and is remembered: a set that differs in one join runs a few parts anew.
 *
 * A group runs until it comes to a BSYNC whose barrier other lanes are pending in, or ends; then the group of
 * the lowest lane waited for goes on, joined by all that stand at the same place. Of the sides of a branch
 * the one that follows in the text goes first. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "lower/reconverge/expect.h"
#include <string.h>

typedef struct {
    Expect *expect;
    const uint32_t *next[LANES]; /* slot of each lane */
    uint32_t pos[LANES];         /* where it stands, if it is not active */
    uint32_t valid, active, current;
    uint32_t gathered; /* wait for all others */
    uint64_t issues;
    unsigned number;
    uint32_t from, to; /* parts: where it began; where it has come to, all together (0: it has not) */
} Warp;

#define EACH_LANE(t, lanes)                                                                                  \
    for (uint32_t t, left_ = (lanes); left_ && (t = (uint32_t)__builtin_ctz(left_), 1); left_ &= left_ - 1)

/* The lowest of these lanes goes on, with all that stand at its place. */
static void resume(Warp *warp, uint32_t lanes) {
    uint32_t *standing = warp->expect->standing;
    warp->active = 0;
    if (!lanes)
        return;
    warp->current = warp->pos[__builtin_ctz(lanes)];
    warp->active = standing[warp->current];
    standing[warp->current] = 0;
}

static void park(Warp *warp, uint32_t lanes, uint32_t pos) {
    warp->expect->standing[pos] |= lanes;
    EACH_LANE(t, lanes)
        warp->pos[t] = pos;
}

/* All active lanes go on there, or end. */
static void go_to(Warp *warp, uint32_t to) {
    if (to == NOWHERE) {
        warp->valid &= ~warp->active;
        resume(warp, warp->valid);
    } else {
        warp->current = to;
    }
}

/* The lanes part: those that stay in the text go on at `first`, else the lowest and all with it at `lowest`.
 */
static void part(Warp *warp, uint32_t stay, uint32_t first, uint32_t with, uint32_t lowest) {
    if (stay && first != NOWHERE) {
        if (with)
            park(warp, with, lowest);
        warp->active = stay;
        warp->current = first;
        return;
    }
    warp->valid &= ~stay;
    warp->active = with;
    warp->current = lowest;
    if (!with)
        resume(warp, warp->valid);
}

/* To one of two places. */
static void part_in_two(Warp *warp, const Place *place, uint32_t second) {
    const uint32_t *to = &warp->expect->to[place->to];
    uint32_t stay = place->slot ? second : warp->active & ~second, with = warp->active & ~stay,
             lowest = to[!place->slot];
    if (lowest == NOWHERE) {
        warp->valid &= ~with;
        with = 0;
    }
    part(warp, stay, to[place->slot], with, lowest);
}

/* To one of several, or the way is over. */
static void part_in_many(Warp *warp, const Place *place) {
    const uint32_t *to = &warp->expect->to[place->to];
    uint32_t stay = 0, lowest = NOWHERE, with = 0;
    EACH_LANE(t, warp->active) {
        uint32_t slot = warp->next[t][-1], at = slot == NOWHERE ? NOWHERE : to[slot];
        if (slot == place->slot) {
            stay |= 1u << t;
        } else if (at == NOWHERE) {
            warp->valid &= ~(1u << t);
        } else {
            lowest = lowest == NOWHERE ? at : lowest;
            if (at == lowest)
                with |= 1u << t;
            else
                park(warp, 1u << t, at);
        }
    }
    part(warp, stay, to[place->slot], with, lowest);
}

/* Each lane goes its way, mostly all the same. */
static void run_branch(Warp *warp, const Place *place) {
    uint64_t taken = 0; /* a bit of each lane; NOWHERE, as -1, sets those above them */
    if (warp->active == UINT32_MAX) {
#pragma GCC unroll 32
        for (uint32_t t = 0; t < LANES; t++)
            taken |= (uint64_t)(int32_t)*warp->next[t]++ << t;
    } else {
        EACH_LANE(t, warp->active)
            taken |= (uint64_t)(int32_t)*warp->next[t]++ << t;
    }
    uint32_t second = (uint32_t)taken;
    if (!place->forks || taken != second)
        part_in_many(warp, place);
    else if (!second || second == warp->active)
        go_to(warp, warp->expect->to[place->to + !!second]);
    else
        part_in_two(warp, place, second);
}

/* The lanes are no more among those that any lane waits for. pending: lanes that wait for any */
static void leave_members(Members *members, uint32_t *pending, uint32_t lanes) {
    uint32_t n = 0;
    if (!(lanes & *pending))
        return;
    for (uint32_t k = 0; k < members->n; k++)
        if (members->sets[k] & ~lanes)
            members->sets[n++] = members->sets[k] & ~lanes;
    members->n = n;
    *pending &= ~lanes;
}

static void join_members(Members *members, uint32_t *pending, uint32_t lanes) {
    leave_members(members, pending, lanes);
    *pending |= lanes;
    members->sets[members->n++] = lanes;
}

/* Of the lanes at a BSYNC those that wait for nobody else; *missing: for whom the others do. */
static uint32_t complete_members(const Members *members, uint32_t pending, uint32_t here, uint32_t valid,
                                 uint32_t *missing) {
    uint32_t complete = here & ~pending;
    *missing = 0;
    for (uint32_t k = 0; k < members->n; k++) {
        uint32_t set = members->sets[k], lacks = set & valid & ~here;
        if (!(set & here))
            continue;
        if (lacks)
            *missing |= lacks;
        else
            complete |= set & here;
    }
    return complete;
}

/* As in sim/machine/members.c, of lanes of one call. */
static bool arrive_members(Warp *warp, Members *members, uint32_t *pending) {
    uint32_t *standing = &warp->expect->standing[warp->current], missing, here = *standing | warp->active,
             complete = complete_members(members, *pending, here, warp->valid, &missing);
    warp->issues += warp->expect->b_weight;
    if (!complete) {
        park(warp, warp->active, warp->current);
        resume(warp, missing);
        return false;
    }
    leave_members(members, pending, complete);
    park(warp, warp->active & ~complete, warp->current);
    *standing &= ~complete;
    warp->active = complete;
    return true;
}

/* The active lanes come to the BSYNC of a block; false: they wait. */
static bool arrive(Warp *warp, uint32_t *pending) {
    uint32_t pos = warp->current, arrived = warp->expect->standing[pos] | warp->active,
             left = *pending & warp->valid & ~arrived;
    warp->issues += warp->expect->b_weight;
    *pending = left;
    if (left) {
        park(warp, warp->active, pos);
        resume(warp, left);
        return false;
    }
    warp->expect->standing[pos] = 0;
    warp->active = arrived;
    return true;
}

/* The lanes leave the join, or those at its BSSY join. */
static void leave_join(Expect *expect, uint32_t join, uint32_t lanes) {
    if (expect->assigns)
        leave_members(&expect->members[join], &expect->pending[join], lanes);
    else
        expect->pending[join] &= ~lanes;
}

static void enter_join(Expect *expect, uint32_t join, uint32_t lanes) {
    if (expect->assigns)
        join_members(&expect->members[join], &expect->pending[join], lanes);
    else
        expect->pending[join] |= lanes;
}

static bool arrive_at(Warp *warp, uint32_t join) {
    Expect *expect = warp->expect;
    return expect->assigns ? arrive_members(warp, &expect->members[join], &expect->pending[join])
                           : arrive(warp, &expect->pending[join]);
}

/* The active lanes wait for all others; false: there are some. Drawn ways may be such as no program has,
 * where others wait for these: they go on when it is their turn again. */
static bool gather_all(Warp *warp) {
    uint32_t pos = warp->current, here = warp->expect->standing[pos] | warp->active,
             missing = warp->valid & ~here;
    warp->issues += warp->expect->b_weight;
    if (missing && !(warp->active & warp->gathered)) {
        warp->gathered |= warp->active;
        park(warp, warp->active, pos);
        resume(warp, missing & ~warp->gathered ? missing & ~warp->gathered : missing);
        return false;
    }
    warp->expect->standing[pos] = 0;
    warp->gathered &= ~here;
    warp->active = here;
    return true;
}

/* Have all lanes that come to where this part begins come there now, and is none waited for anywhere? Where
 * they come one after the other, the last are alone: the first have ended. */
static bool is_whole(const Warp *warp, uint32_t part) {
    const Expect *expect = warp->expect;
    bool whole = warp->active == warp->valid && !warp->gathered &&
                 warp->active == expect->starts[warp->number * expect->nparts + part].lanes;
    for (uint32_t k = 0; whole && k < expect->njoins; k++)
        whole = !(expect->pending[k] & warp->valid);
    return whole;
}

/* The active lanes run a block behind its BSYNC. Apart from the loop of places, which else lacks registers.
 */
static __attribute__((noinline)) void run_block(Warp *warp) {
    Expect *expect = warp->expect;
    const Place *place = &expect->places[warp->current];
    if (place->gathers && !gather_all(warp))
        return;
    warp->issues += place->cost;
    expect->issued[warp->current]++;
    for (uint32_t k = place->list; k; k = expect->pool.at[k - 1].next)
        enter_join(expect, expect->pool.at[k - 1].join, warp->active);
    if (place->kind == PLACE_BRANCHES)
        run_branch(warp, place);
    else
        go_to(warp, place->kind == PLACE_ENDS ? NOWHERE : place->to);
}

/* The active lanes run the BREAKs of an edge, or come to a block, or to where another part begins: true if
 * they run a block now. */
static bool comes_to_run(Warp *warp) {
    Expect *expect = warp->expect;
    const Place *place = &expect->places[warp->current];
    if (place->kind == PLACE_EDGE) {
        warp->issues += place->cost;
        for (uint32_t k = place->list; k; k = expect->pool.at[k - 1].next)
            leave_join(expect, expect->pool.at[k - 1].join, warp->active);
        warp->current = place->to;
        return false;
    }
    expect->steps++;
    if (place->join && !arrive_at(warp, place->join - 1))
        return false;
    uint32_t part = expect->part_at[warp->current];
    if (part > warp->from && is_whole(warp, part - 1))
        warp->to = part;
    return !warp->to;
}

/* A lane that is alone goes on through blocks where joins do nothing. */
static void run_alone(Warp *warp, uint64_t most, uint64_t limit) {
    Expect *expect = warp->expect;
    const Place *places = expect->places;
    const uint32_t *to = expect->to, **next = &warp->next[__builtin_ctz(warp->active)];
    uint32_t at = warp->current;
    while (at != NOWHERE && places[at].plain && expect->steps < most && warp->issues <= limit) {
        const Place *place = &places[at];
        expect->steps++;
        warp->issues += place->cost;
        expect->issued[at]++;
        at = place->kind == PLACE_GOES_ON ? place->to : NOWHERE;
        if (place->kind == PLACE_BRANCHES) {
            uint32_t slot = *(*next)++;
            at = slot == NOWHERE ? NOWHERE : to[place->to + slot];
        }
    }
    go_to(warp, at);
}

/* To where another part begins, all lanes have ended, or the limit is passed; `behind`: the lanes are behind
 * the first block's BSYNC already. */
static void run_places(Warp *warp, bool behind, uint64_t most, uint64_t limit) {
    const Expect *expect = warp->expect;
    while (!warp->to && warp->active && expect->steps < most && warp->issues <= limit) {
        if (!behind && !(warp->active & (warp->active - 1)) && expect->places[warp->current].plain)
            run_alone(warp, most, limit);
        else if (behind || comes_to_run(warp))
            run_block(warp);
        behind = false;
    }
}

static void add_listed(Expect *expect, Place *place, uint32_t join) {
    VEC_ADD(&expect->reconv->a, &expect->pool, ((Listed){join, place->list}));
    place->list = expect->pool.n;
    place->plain = false;
}

static void take_breaks(Expect *expect, const Join *join, uint32_t number) {
    const Graph *graph = &expect->reconv->g;
    for (unsigned b = 0; b < join->breaks.n; b++) {
        GraphEdge edge = join->breaks.at[b];
        bool own =
            graph->pred_at[edge.to + 1] - graph->pred_at[edge.to] == 1 && !expect->places[edge.to].join;
        for (uint32_t s = graph->succ_at[edge.from]; s < graph->succ_at[edge.from + 1]; s++)
            if (graph->succ[s] == edge.to) {
                Place *place = &expect->places[graph->n + s];
                place->cost += place->list || own ? expect->b_weight : 2 * expect->b_weight;
                if (edge.to)
                    expect->to[s] = graph->n + s;
                add_listed(expect, place, number);
            }
    }
}

static void take_set(Expect *expect, const Join *const *joins, unsigned n) {
    Arena *a = &expect->reconv->a;
    const Graph *graph = &expect->reconv->g;
    uint32_t nedges = graph->succ_at[graph->n];
    memcpy(expect->places, expect->bare, (graph->n + nedges) * sizeof *expect->places);
    memcpy(expect->to, expect->bare_to, nedges * sizeof *expect->to);
    expect->pool.n = 0;
    expect->njoins = n;
    if (!expect->pending || n > expect->most_joins) {
        expect->most_joins = 2 * n + 1;
        expect->pending = ARENA_ARRAY(a, uint32_t, expect->most_joins);
        expect->members = expect->assigns ? ARENA_ARRAY(a, Members, expect->most_joins) : NULL;
    }
    for (uint32_t k = 0; k < n; k++) {
        Place *place = &expect->places[joins[k]->block];
        place->join = k + 1;
        place->plain = false;
    }
    for (uint32_t k = 0; k < n; k++) {
        for (unsigned p = 0; p < joins[k]->places.n; p++) {
            Place *place = &expect->places[joins[k]->places.at[p]];
            place->cost += expect->b_weight;
            add_listed(expect, place, k);
        }
        take_breaks(expect, joins[k], k);
    }
    for (uint32_t b = 0; b < graph->n; b++)
        if (expect->places[b].kind == PLACE_GOES_ON)
            expect->places[b].to = expect->to[graph->succ_at[b]];
}

/* ---- parts ---- */

/* Of the function's parts those in which the join can be told from none. */
static JoinParts parts_of(Expect *expect, const Join *join) {
    while (expect->of_join.n <= join->number)
        VEC_ADD(&expect->reconv->a, &expect->of_join, ((JoinParts){0}));
    JoinParts *found = &expect->of_join.at[join->number];
    if (found->known)
        return *found;
    *found = (JoinParts){expect->first_part[join->block], expect->last_part[join->block], true};
    for (unsigned k = 0; k < join->places.n + join->in.n; k++) {
        uint32_t b = k < join->places.n ? join->places.at[k] : join->in.at[k - join->places.n];
        found->first = expect->first_part[b] < found->first ? expect->first_part[b] : found->first;
        found->last = expect->last_part[b] > found->last ? expect->last_part[b] : found->last;
    }
    return *found;
}

/* What tells sets apart in parts 0 to k - 1: hash[k]; sums, so that differences tell of some parts. */
static const uint64_t *hash_parts(Expect *expect, const Join *const *joins, unsigned n) {
    uint64_t *hash = expect->hash;
    memset(hash, 0, (expect->nparts + 1) * sizeof *hash);
    for (unsigned k = 0; k < n; k++) {
        JoinParts parts = parts_of(expect, joins[k]);
        for (uint32_t part = parts.first; part <= parts.last; part++)
            hash[part + 1] += rng_mix(((uint64_t)part << 32 | joins[k]->number) + RNG_STEP);
    }
    for (uint32_t part = 0; part < expect->nparts; part++)
        hash[part + 1] += hash[part];
    return hash;
}

static const PartRun *find_part(const Expect *expect, unsigned warp, uint32_t part, const uint64_t *hash) {
    for (uint32_t k = expect->run_of[warp * expect->nparts + part]; k; k = expect->runs.at[k - 1].next) {
        const PartRun *run = &expect->runs.at[k - 1];
        if (run->hash == hash[run->to] - hash[part])
            return run;
    }
    return NULL;
}

/* The warp from where the part begins, all together, to where it next is so or ends; false: it issues more
 * than `limit`. */
static bool run_part(Expect *expect, unsigned number, uint32_t part, const uint64_t *hash, uint64_t limit,
                     uint64_t *issues) {
    const Graph *graph = &expect->reconv->g;
    const PartStart *start = &expect->starts[number * expect->nparts + part];
    uint64_t steps = expect->steps;
    Warp warp = {.expect = expect,
                 .number = number,
                 .valid = start->lanes,
                 .active = start->lanes,
                 .current = expect->part_block[part],
                 .from = part + 1};
    memcpy(warp.next, start->next, sizeof warp.next);
    if (expect->stopped)
        memset(expect->standing, 0, (graph->n + graph->succ_at[graph->n]) * sizeof *expect->standing);
    memset(expect->pending, 0, expect->njoins * sizeof *expect->pending);
    for (unsigned m = 0; m < expect->njoins && expect->assigns; m++)
        expect->members[m].n = 0;
    /* more than all ways together: nothing waits for ever with an order (join.c) */
    uint64_t most = steps + 4 * LANES * (uint64_t)(expect->longest_way + graph->n);
    run_places(&warp, part > 0, most, limit);
    *issues += warp.issues;
    expect->ran += expect->steps - steps;
    expect->stopped = !warp.to && warp.active;
    if (warp.issues > limit)
        return false;
    uint32_t *first = &expect->run_of[number * expect->nparts + part],
             to = warp.to ? warp.to - 1 : expect->nparts;
    VEC_ADD(&expect->reconv->a, &expect->runs,
            ((PartRun){hash[to] - hash[part], warp.issues, expect->steps - steps, to, *first}));
    *first = expect->runs.n;
    return true;
}

uint64_t reconv_expected_issues(Expect *expect, const Join *const *joins, unsigned n, uint64_t limit) {
    uint64_t issues = 0;
    const uint64_t *hash = hash_parts(expect, joins, n);
    bool taken = false;
    for (unsigned k = 0; k < expect->nwarps; k++)
        for (uint32_t part = 0; part < expect->nparts && issues <= limit;) {
            const PartRun *known = find_part(expect, k, part, hash);
            if (known) {
                issues += known->issues;
                expect->steps += known->steps;
                part = known->to;
                continue;
            }
            if (!taken)
                take_set(expect, joins, n);
            taken = true;
            if (!run_part(expect, k, part, hash, limit - issues, &issues))
                break;
            part = expect->runs.at[expect->runs.n - 1].to;
        }
    return issues;
}

const uint32_t *reconv_count_issues(Expect *expect, const Join *const *joins, unsigned n) {
    uint64_t issues = 0;
    const uint64_t *hash = hash_parts(expect, joins, n);
    take_set(expect, joins, n);
    memset(expect->issued, 0, expect->reconv->g.n * sizeof *expect->issued);
    for (unsigned k = 0; k < expect->nwarps; k++)
        for (uint32_t part = 0; part < expect->nparts; part = expect->runs.at[expect->runs.n - 1].to)
            run_part(expect, k, part, hash, UINT64_MAX, &issues);
    return expect->issued;
}
