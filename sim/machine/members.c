/* Who waits for whom where BSSY sets its register. Each lane keeps the set of lanes that it joined with, its
 * companions, so a register may hold several sets at once: of a function that calls itself each call has its
 * own, saved by BMOV.CLEAR and given back by BMOV for the lanes of that call only, while lanes of calls
 * further out stand at the same BSYNC and wait for their own.
 *
 *     lanes 0-3 join with BSSY B6; 0 and 1 call, save B6, clear it and join with BSSY B6
 *     companions[6]: 0 and 1 have {0, 1}, 2 and 3 still {0, 1, 2, 3}
 *
 * A lane has come for another when it is at a BSYNC of the register and counts that one among its companions.
 * So lanes join only with those that are in calls as deep, which have saved the register as often.
 * If one does not, it either is further in, in a call that has saved the set and will give it back, or has
 * left. Who leaves (BREAK, another BSSY, passing BSYNC, BMOV.CLEAR RZ) is no companion of those it leaves;
 * who saves its set and clears it stays theirs and comes back.
 *
 * WARPSYNC goes before BSYNC: a companion that waits at WARPSYNC for a lane that waits at BSYNC for it will
 * not come first, so BSYNC does not wait for it. docs/native.md says what all this rests on.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"

static void leave(Warp *warp, unsigned breg, uint32_t lanes) {
    uint32_t *companions = warp->companions[breg];
    for (uint32_t m = lanes; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        for (uint32_t left = companions[lane] & ~lanes; left; left &= left - 1)
            companions[low_lane(left)] &= ~(m & -m);
        companions[lane] = 0;
    }
}

static void set(Warp *warp, unsigned breg, uint32_t lanes, uint32_t companions) {
    for (; lanes; lanes &= lanes - 1)
        warp->companions[breg][low_lane(lanes)] = companions;
}

void machine_b_join(Warp *warp, unsigned breg, uint32_t lanes) {
    warp->b[breg] |= lanes;
    if (!warp->run->bssy_assigns)
        return;
    warp->members_used = true;
    warp->yield &= ~lanes; /* what they left by YIELD before is no matter of this region: it waits for them */
    leave(warp, breg, lanes);
    const uint16_t *saves = warp->saves[breg];
    while (lanes) { /* those in calls as deep; one set, but where calls come together behind YIELD */
        uint32_t alike = lanes;
        for (uint32_t m = lanes; warp->saved >> breg & 1 && m; m &= m - 1)
            alike &= saves[low_lane(m)] == saves[low_lane(lanes)] ? ~0u : ~(m & -m);
        set(warp, breg, alike, alike);
        lanes &= ~alike;
    }
}

void machine_b_leave(Warp *warp, unsigned breg, uint32_t lanes) {
    warp->b[breg] &= ~lanes;
    if (warp->run->bssy_assigns)
        leave(warp, breg, lanes);
}

void machine_b_clear(Warp *warp, unsigned breg, uint32_t lanes, bool saved) {
    if (!saved)
        machine_b_leave(warp, breg, lanes);
    warp->b[breg] = lanes ? 0 : warp->b[breg];
    set(warp, breg, lanes, 0);
    warp->members_used |= saved;
    warp->saved = (uint16_t)(warp->saved | (unsigned)saved << breg);
    for (; saved && warp->run->bssy_assigns && lanes; lanes &= lanes - 1)
        warp->saves[breg][low_lane(lanes)]++;
}

void machine_b_give(Warp *warp, unsigned breg, uint32_t lanes, const uint32_t value[32]) {
    if (lanes)
        warp->b[breg] = value[low_lane(lanes)];
    warp->members_used = true;
    for (; lanes; lanes &= lanes - 1) {
        unsigned lane = low_lane(lanes);
        warp->companions[breg][lane] = value[lane];
        if (warp->saves[breg][lane])
            warp->saves[breg][lane]--;
    }
}

uint32_t machine_b_value(const Warp *warp, unsigned breg, unsigned lane) {
    return warp->run->bssy_assigns ? warp->companions[breg][lane] : warp->b[breg];
}

/* The BSYNC at which the lane stands; NULL if it is elsewhere. Active lanes execute one. */
static const Dec *bsync_of(const Warp *warp, unsigned lane) {
    const Dec *dec = machine_dec_at(warp, warp->active >> lane & 1 ? warp->pc - 1 : warp->rpc[lane]);
    return dec && dec->optype == OT_BSYNC ? dec : NULL;
}

static uint32_t at_bsync(const Warp *warp, unsigned breg) {
    uint32_t there = 0;
    for (uint32_t m = warp->valid; m; m &= m - 1) {
        const Dec *at = bsync_of(warp, low_lane(m));
        there |= at && at->breg == breg ? m & -m : 0;
    }
    return there;
}

/* Companions of the lane that have not come: those that count it among theirs in the same call but are
 * elsewhere, and those in calls further in. Others left it while it was further in itself. */
static uint32_t missing_for(const Warp *warp, unsigned breg, unsigned lane, uint32_t there) {
    const uint32_t *companions = warp->companions[breg];
    const uint16_t *saves = warp->saves[breg];
    uint32_t missing = 0;
    for (uint32_t m = companions[lane] >> lane & 1 ? companions[lane] & warp->valid : 0; m; m &= m - 1) {
        unsigned i = low_lane(m);
        bool waits =
            saves[i] == saves[lane] ? companions[i] >> lane & ~(there >> i) & 1 : saves[i] > saves[lane];
        missing |= waits ? m & -m : 0;
    }
    return missing;
}

uint32_t machine_b_complete(const Warp *warp, unsigned breg, uint32_t here, uint32_t *missing,
                            uint32_t *come) {
    const uint32_t *companions = warp->companions[breg];
    uint32_t complete = 0, there = at_bsync(warp, breg), all = here, depth = 0;
    *missing = 0;
    while (here) {
        uint32_t first = low_lane(here), alike = here & -here;
        uint32_t lacks = missing_for(warp, breg, first, there);
        for (uint32_t m = here & companions[first]; m; m &= m - 1) /* one answer for all of a set */
            alike |= companions[low_lane(m)] == companions[first] &&
                             warp->saves[breg][low_lane(m)] == warp->saves[breg][first]
                         ? m & -m
                         : 0;
        complete |= lacks ? 0 : alike;
        if (lacks && warp->saves[breg][first] > depth) { /* those further out wait for these */
            depth = warp->saves[breg][first];
            *missing = 0;
        }
        *missing |= warp->saves[breg][first] == depth ? lacks : 0;
        here &= ~alike;
    }
    *missing &= ~all;
    *come = there & ~*missing;
    return complete;
}

/* Whom the lane waits for at WARPSYNC or BSYNC. */
static uint32_t waits_for(const Warp *warp, unsigned lane) {
    const Dec *bsync = bsync_of(warp, lane);
    return bsync ? missing_for(warp, bsync->breg, lane, at_bsync(warp, bsync->breg))
                 : machine_warpsync_lacks(warp, lane);
}

uint32_t machine_b_wait_for(const Warp *warp, uint32_t lanes, uint32_t here) {
    uint32_t stuck = 0;
    for (; lanes; lanes &= lanes - 1) {
        uint32_t todo = machine_warpsync_lacks(warp, low_lane(lanes)), seen = todo;
        while (todo && !(seen & here)) {
            uint32_t more = waits_for(warp, low_lane(todo)) & ~seen;
            todo = (todo & (todo - 1)) | more;
            seen |= more;
        }
        stuck |= seen & here ? lanes & -lanes : 0;
    }
    return stuck;
}
