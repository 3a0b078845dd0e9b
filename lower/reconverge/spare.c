/* What a join might save, seen in a run without it: how much oftener the warps come to its block, and to the
 * blocks that it dominates, than their lane that comes there most often. Where groups of lanes come no
 * oftener than one lane does they are together already, and a join that waits there has nobody to wait for.
 * No bound, as lanes that met stay together beyond what the block dominates, but it costs no run.
 * SPDX-License-Identifier: MIT */
#include "lower/reconverge/place.h"
#include <stdlib.h>

typedef struct {
    uint64_t spare;
    uint32_t candidate, place; /* in the order that was given */
} Turn;

static int most_spare_first(const void *one, const void *other) {
    const Turn *a = one, *b = other;
    if (a->spare != b->spare)
        return a->spare > b->spare ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* [block] what groups issue there, and in what it dominates, that need not be. */
static uint64_t *spare_below(Search *search, const uint32_t *issued) {
    const Places *places = search->places;
    Reconv *reconv = places->reconv;
    uint64_t *below = ARENA_ARRAY(&reconv->a, uint64_t, reconv->g.n);
    for (uint32_t k = reconv->order.count; k-- > 0;) {
        uint32_t b = reconv->order.order[k];
        if (!b)
            continue;
        below[b] += reconv_expect_spare(search->e, issued, b);
        if (places->dom.idom[b] != NO_NODE)
            below[places->dom.idom[b]] += below[b];
    }
    return below;
}

const uint32_t *reconv_by_spare(Search *search, const uint32_t *turn) {
    Places *places = search->places;
    Arena *a = &places->reconv->a;
    const uint32_t *issued = reconv_issues_of(search, places->set, places->nset);
    const uint64_t *below = spare_below(search, issued);
    uint32_t *sorted = ARENA_ARRAY(a, uint32_t, places->nfirst + 1);
    Turn *turns = ARENA_ARRAY(a, Turn, places->nfirst + 1);
    for (uint32_t k = 0; k < places->nfirst; k++) {
        Candidate *candidate = &places->all.at[turn[k]];
        uint32_t block = candidate->join.block;
        candidate->spare = reconv_expect_spare(search->e, issued, block) ? below[block] : 0;
        turns[k] = (Turn){candidate->spare, turn[k], k};
    }
    if (places->nfirst)
        qsort(turns, places->nfirst, sizeof *turns, most_spare_first);
    for (uint32_t k = 0; k < places->nfirst; k++)
        sorted[k] = turns[k].candidate;
    return sorted;
}
