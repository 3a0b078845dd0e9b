/* What sets of joins cost: each expected run that can be told from the others once.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "lower/reconverge/place.h"
#include <string.h>

/* The run of this set, if it would end as it did; NULL: none. A repeated run counts its steps again: what is
 * looked at does not depend on what is remembered. */
static const Run *find_run(const Search *search, const uint32_t *set, unsigned n, uint64_t hash,
                           uint64_t limit) {
    for (uint32_t k = 0; k < search->runs.n; k++) {
        const Run *run = &search->runs.at[k];
        bool to_its_end = run->cost <= run->limit && run->cost <= limit;
        if (run->hash == hash && (to_its_end || run->limit == limit) && run->n == n &&
            !memcmp(run->set, set, n * sizeof *set))
            return run;
    }
    return NULL;
}

static const Join *const *joins_of(Search *search, const uint32_t *set, unsigned n) {
    for (unsigned k = 0; k < n; k++)
        search->joins[k] = &search->places->all.at[set[k]].join;
    return search->joins;
}

static uint32_t first_alike(Search *search, uint32_t c) {
    Places *places = search->places;
    Candidate *candidate = &places->all.at[c];
    if (candidate->alike)
        return candidate->alike - 1;
    candidate->alike = c + 1;
    for (uint32_t k = places->previous.at[c]; k && candidate->alike == c + 1; k = places->previous.at[k - 1])
        if (reconv_expect_alike(search->e, &places->all.at[k - 1].join, &candidate->join))
            candidate->alike = first_alike(search, k - 1) + 1;
    return candidate->alike - 1;
}

/* Of a set what an expected run can tell from others: without the joins that no lane comes by, those that
 * are alike as one, in the order of candidates. Returns how many. */
static unsigned take_told(Search *search, const uint32_t *set, unsigned nset) {
    unsigned n = 0;
    for (unsigned k = 0; k < nset; k++) {
        uint32_t c = first_alike(search, set[k]);
        unsigned at = n;
        if (!reconv_expect_meets(search->e, &search->places->all.at[c].join))
            continue;
        for (; at && search->told[at - 1] > c; at--)
            search->told[at] = search->told[at - 1];
        search->told[at] = c, n++;
    }
    return n;
}

const uint32_t *reconv_issues_of(Search *search, const uint32_t *set, unsigned n) {
    return reconv_count_issues(search->e, joins_of(search, set, n), n);
}

uint64_t reconv_cost_of(Search *search, const uint32_t *all, unsigned nall, uint64_t limit) {
    const uint32_t *set = search->told;
    unsigned n = take_told(search, all, nall);
    uint64_t hash = n, before = reconv_expect_steps(search->e);
    for (unsigned k = 0; k < n; k++)
        hash = rng_mix(hash + set[k]);
    const Run *known = find_run(search, set, n, hash, limit);
    if (known) {
        reconv_expect_repeat(search->e, known->steps);
        return known->cost;
    }
    uint64_t cost = reconv_expected_issues(search->e, joins_of(search, set, n), n, limit);
    Run run = {arena_copy(&search->places->reconv->a, set, (n + 1) * sizeof *set),
               n,
               hash,
               limit,
               cost,
               reconv_expect_steps(search->e) - before};
    VEC_ADD(&search->places->reconv->a, &search->runs, run);
    return cost;
}
