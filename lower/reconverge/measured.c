/* Decisions drawn as a profile counted them (lower/profile.h), for expect.c. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "lower/reconverge/expect.h"
#include <math.h>

void reconv_find_records(Expect *expect, Arena *a) {
    const GraphOrder *order = &expect->reconv->order;
    expect->counted_at = ARENA_ARRAY(a, uint32_t, expect->reconv->g.n);
    expect->replayed = ARENA_ARRAY(a, uint32_t, expect->reconv->g.n);
    for (uint32_t k = 0; k < order->count; k++) {
        uint32_t b = order->order[k], m = 0;
        const PtxBranch *counts = expect->counts[b];
        if (!counts || !counts->records)
            continue;
        while (expect->counts[order->order[m]] != counts) /* a block copied has the same */
            m++;
        expect->counted_at[b] = order->order[m];
        for (uint32_t lane = expect->nrecorded * LANES; lane < PTX_RECORDED_LANES; lane++)
            if (counts->records[lane].n)
                expect->nrecorded = lane / LANES + 1;
    }
}

/* Lanes beyond those of the warps are drawn. So is what a lane does that goes on behind its record's end. */
uint32_t reconv_recorded_slot(Expect *expect, uint32_t b, unsigned warp, uint32_t lane) {
    const PtxBranch *counts = expect->counts[b];
    if (!counts || !counts->records || lane >= LANES)
        return NO_NODE;
    const PtxRecord *record = &counts->records[warp % expect->nrecorded * LANES + lane];
    uint32_t *next = &expect->replayed[expect->counted_at[b]];
    return *next < record->n ? record->ways[(*next)++] : NO_NODE;
}

/* The rounds of all loops around b that the lane is in, as one number: lanes that come to b in the same ones
 * may be together there, however often each has been there before. */
static uint64_t rounds_around(const Expect *expect, uint32_t b, const uint32_t *visits) {
    uint64_t rounds = b;
    for (uint32_t l = expect->loops.innermost[b]; l != NO_NODE; l = expect->loops.at[l].parent) {
        uint32_t header = expect->loops.at[l].header;
        rounds = rng_mix(rounds + RNG_STEP + visits[header] - expect->entered[header]);
    }
    return rounds;
}

/* Between 0 and 1, spread evenly over the warps: of eight, one does what is done once in eight times. */
static double spread_over_warps(const Expect *expect, uint64_t hash, unsigned warp) {
    uint64_t step = hash >> 40 | 1, turn = hash >> 20;
    return ((double)((warp * step + turn) % expect->nwarps) + unit_of(rng_mix(hash + warp * RNG_STEP))) /
           expect->nwarps;
}

/* The same for each lane. */
static double spread_over_lanes(uint64_t hash, unsigned warp, uint32_t lane) {
    return unit_of(rng_mix(rng_mix(hash + warp * RNG_STEP) + (lane + 2) * RNG_STEP));
}

/* How likely a group of the profile's was to go one way by chance, if its lanes decided each on its own and
 * take the way with likelihood q. Of the sizes of groups the mean is known: they are taken to be between all
 * alike, as of a warp that is together, and what is left of a warp round after round. */
static double all_by_chance(const PtxBranch *counts, uint64_t lanes, double q) {
    double size = (double)lanes / (double)counts->warps, whole = size / (double)LANES, same = 1;
    for (unsigned n = 0; n < (unsigned)(size + 0.5); n++)
        same *= q;
    return whole * same + (1 - whole) * q / (size - (size - 1) * q);
}

static bool leaves(const Expect *expect, uint32_t b, uint32_t slot) {
    return expect->leaves[expect->reconv->g.succ_at[b] + slot];
}

/* Does this branch say how many rounds the loop has? The others that end it are rare. */
static bool is_main_exit(const PtxBranch *counts, uint64_t leaving, const Exits *exits) {
    return 4 * leaving >= 3 * exits->lanes && (exits->n == 1 || counts->divergent);
}

/* How likely a lane is to leave the loop that most leave here, in a round of it. How many rounds lanes have
 * is known as a mean, and, if whole warps came into the loop, of the last lane of each: so many rounds are
 * gone round by all that the rest, if each round ends it for as many, has as much more for that lane. Lanes
 * that were never seen to part have the mean. */
static double ends_loop(const PtxBranch *counts, uint64_t lanes, uint64_t leaving, uint32_t round) {
    const double last = 4.06; /* times as many as the mean: 1 + 1/2 + ... + 1/32 */
    double mean = (double)lanes / (double)leaving,
           most = (double)counts->warps * (double)LANES / (double)leaving,
           more = counts->divergent ? (most - mean) / (last - 1) : 0;
    more = more < mean - 1 ? more : mean - 1;
    more = more > 0 ? more : 0;
    return (double)round <= floor(mean - more - 0.5) ? 0 : 1 / (1 + more);
}

static uint32_t drawn_slot(const double *share, uint32_t n, double u) {
    for (uint32_t s = 0; s + 1 < n; s++) {
        if (u < share[s])
            return s;
        u -= share[s];
    }
    return n - 1;
}

/* Whether lanes decide each on its own in these rounds, or one for all. Where groups were small, they parted
 * less often than larger ones would, which joins make of them. One for all decides so that lanes go each way
 * as often in all as they were counted: groups that leave a loop are mostly smaller than those that stay. */
uint32_t reconv_measured_slot(const Expect *expect, uint32_t b, unsigned warp, uint32_t lane,
                              const uint32_t *visits, const Exits *exits) {
    const PtxBranch *counts = expect->counts[b];
    double own[MOST_DRAWN], common[MOST_DRAWN], owns = 0, commons = 0, parts = 0, by_chance = 0;
    uint32_t n = counts->nways < MOST_DRAWN ? counts->nways : MOST_DRAWN, l = expect->loops.innermost[b];
    uint64_t lanes = 0, leaving = 0;
    for (uint32_t s = 0; s < n; s++) {
        own[s] = (double)counts->ways[s].apart, owns += own[s];
        lanes += counts->ways[s].lanes;
        leaving += leaves(expect, b, s) ? counts->ways[s].lanes : 0;
    }
    uint64_t rounds = rng_mix(rounds_around(expect, b, visits) + RNG_STEP);
    if (leaving && leaving < lanes && is_main_exit(counts, leaving, &exits[l])) {
        double u = spread_over_lanes(rounds, warp, lane), sum = 0;
        bool ends = u < ends_loop(counts, lanes, exits[l].lanes, round_of(expect, b, visits));
        for (uint32_t s = 0; s < n; s++) {
            own[s] = leaves(expect, b, s) == ends ? (double)counts->ways[s].lanes : 0;
            sum += own[s];
        }
        return drawn_slot(own, n, sum * spread_over_lanes(~rounds, warp, lane));
    }
    if (expect->divergent[b] && owns > 0) {
        for (uint32_t s = 0; s < n; s++)
            by_chance += all_by_chance(counts, lanes, own[s] / owns);
        parts = (double)counts->divergent / (double)counts->warps / (1 - by_chance);
        parts = parts < 1 ? parts : 1;
    }
    for (uint32_t s = 0; s < n; s++) {
        common[s] = parts > 0
                        ? (double)counts->ways[s].lanes - parts * (double)lanes * own[s] / owns
                        : (double)(counts->divergent ? counts->ways[s].lanes : counts->ways[s].together);
        common[s] = common[s] > 0 ? common[s] : 0;
        commons += common[s];
    }
    double u = spread_over_warps(expect, rounds, warp);
    return u < parts || commons <= 0 ? drawn_slot(own, n, owns * spread_over_lanes(rounds, warp, lane))
                                     : drawn_slot(common, n, commons * (u - parts) / (1 - parts));
}
