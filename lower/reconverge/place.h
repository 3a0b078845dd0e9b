/* What the parts of auto mode's choice of joins share: lower/reconverge/place.c (candidates, the search),
 * lower/reconverge/cost.c (what sets cost), lower/reconverge/spare.c (what candidates might save),
 * lower/reconverge/order.c (which sets there may be).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_RECONVERGE_PLACE_H
#define HEDDLE_LOWER_RECONVERGE_PLACE_H
#include "lower/reconverge/reconverge.h"

typedef struct {
    Join join;
    Bitset in;      /* blocks at whose beginning lanes may be pending */
    uint32_t depth; /* of its loop */
    bool first;     /* of the set to begin with */
    bool taken;
    uint32_t alike; /* 1 + the first candidate that an expected run cannot tell from it; 0: not known yet */
    uint64_t spare; /* what it might save (lower/reconverge/spare.c) */
    bool parted;    /* it needs the header of a loop that shared one (lower/reconverge/heads.c) */
} Candidate;

typedef struct {
    Reconv *reconv;
    DomTree dom;
    const bool *divergent;
    unsigned base;
    uint8_t *state, *needed; /* [block] all 0 between uses */
    VEC(Candidate) all;
    uint32_t nfirst;        /* those that are not tried in place of others only */
    uint32_t *last_at;      /* [block] its last candidate + 1 */
    VEC(uint32_t) previous; /* [candidate] the one before of the same block + 1 */
    uint32_t *set, nset;    /* taken */
    bool parted, unparted;  /* some do; none of these may be taken */
    Bitset joined;          /* blocks; empty between uses */
    uint8_t *number;        /* [block] of these the place in a set */
    uint64_t most_steps;    /* of the module, when no more candidates are looked for */
} Places;

/* A run of one set: later rounds look at the same ones again. */
typedef struct {
    uint32_t *set, n;
    uint64_t hash, limit, cost, steps;
} Run;

struct Search {
    Places *places;
    Expect *e;
    uint32_t *trial, ntrial;
    uint32_t *told; /* of a set */
    const Join **joins;
    uint64_t cost;
    VEC(Run) runs;
};

/* Expected issues with the candidates of the set; more than `limit` means no more than that it is more. */
uint64_t reconv_cost_of(Search *search, const uint32_t *set, unsigned n, uint64_t limit);
/* [block] how often it is issued with the candidates of the set. */
const uint32_t *reconv_issues_of(Search *search, const uint32_t *set, unsigned n);
/* The candidates of `turn` (nfirst), those first that beside the set might save most. */
const uint32_t *reconv_by_spare(Search *search, const uint32_t *turn);
/* May lanes be pending in one where they wait in the other? */
bool reconv_pends_at(const Candidate *one, const Candidate *other);
/* Has the order of these candidates no cycle, and no chain longer than there are registers? */
bool reconv_is_ordered(const Places *places, const uint32_t *set, unsigned n);
#endif
