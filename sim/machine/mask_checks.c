/* Checks of the masks in the slow issue loop: no lane gets lost (E-LANE-LOST), every parked lane has an
 * instruction to go on with (E-RPC), and no B register holds a lane that is not in its region (E-STALE). What
 * a lane is in is followed beside the machine: BSSY enters the region that ends at its syncpoint, passing
 * BSYNC, BREAK and EXIT leave.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"

#define NOWHERE UINT32_MAX

void machine_masks_before(Warp *warp, const Dec *dec, uint32_t g, MaskShadow *shadow) {
    shadow->active = warp->active;
    shadow->executed = dec->nq ? g & dec_pred(warp, dec, 0) : g;
    shadow->here = warp->active;
    for (uint32_t m = dec->optype == OT_BSYNC ? warp->valid & ~warp->active : 0; m; m &= m - 1)
        shadow->here |= warp->rpc[low_lane(m)] == (uint32_t)(dec - warp->prog) ? m & -m : 0;
    for (uint32_t m = warp->active; m; m &= m - 1) /* a parked PC means nothing while the lane is active */
        warp->rpc[low_lane(m)] = NOWHERE;
}

static void lost_lanes(Warp *warp, const Dec *d) {
    uint32_t lost = warp->active & ~warp->valid, nowhere = 0;
    for (uint32_t m = warp->valid & ~warp->active; m; m &= m - 1) {
        uint32_t pc = warp->rpc[low_lane(m)];
        if (pc == NOWHERE)
            lost |= 1u << low_lane(m);
        else if (pc >= warp->run->ncode)
            nowhere |= 1u << low_lane(m);
    }
    if (lost)
        machine_finding(warp, d, MF_LANE_LOST, lost, 0, "lanes 0x%08x are neither active nor parked", lost);
    if (nowhere)
        machine_finding(warp, d, MF_RPC, nowhere, 0, "lanes 0x%08x continue outside the code", nowhere);
}

static void enter(Warp *warp, const Dec *dec, MaskShadow *shadow) {
    uint32_t end = (uint32_t)(dec - warp->prog) + 1 + (uint32_t)(dec->target / INST_BYTES), old = 0;
    for (uint32_t m = shadow->executed; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        if (shadow->joined[lane] >> dec->breg & 1 && shadow->region[dec->breg][lane] != end)
            old |= 1u << lane;
        shadow->joined[lane] |= (uint16_t)(1u << dec->breg);
        shadow->region[dec->breg][lane] = end;
    }
    if (old)
        machine_finding(warp, dec, MF_STALE, old,
                        pc_address(warp->run, shadow->region[dec->breg][low_lane(old)]),
                        "B%u still holds lanes 0x%08x of another region", dec->breg, old);
}

static void leave_barrier(MaskShadow *shadow, uint32_t lanes, unsigned breg) {
    for (; lanes; lanes &= lanes - 1)
        shadow->joined[low_lane(lanes)] &= (uint16_t) ~(1u << breg);
}

/* BMOV.CLEAR takes a lane out that may be given back, once for each time. */
static void save_or_restore(const Warp *warp, MaskShadow *shadow, unsigned breg) {
    for (uint32_t m = shadow->executed; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        uint16_t bit = (uint16_t)(1u << breg), *joined = &shadow->joined[lane];
        bool held = machine_b_value(warp, breg, lane) >> lane & 1;
        if (!held && *joined & bit) {
            *joined &= (uint16_t)~bit;
            shadow->saved[breg][lane]++;
        } else if (held && !(*joined & bit) && shadow->saved[breg][lane]) {
            *joined |= bit;
            shadow->saved[breg][lane]--;
        }
    }
}

static void stale_bits(Warp *warp, const Dec *d, const MaskShadow *shadow) {
    for (unsigned b = 0; b < 16; b++) {
        uint32_t stale = 0;
        uint32_t held = 0;
        for (uint32_t m = warp->valid; m; m &= m - 1)
            held |= warp->run->bssy_assigns ? machine_b_value(warp, b, low_lane(m)) & (m & -m) : warp->b[b];
        for (uint32_t m = held & warp->valid; m; m &= m - 1)
            if (!(shadow->joined[low_lane(m)] >> b & 1))
                stale |= 1u << low_lane(m);
        if (stale)
            machine_finding(warp, d, MF_STALE, stale, 0, "B%u holds lanes 0x%08x, which did not join", b,
                            stale);
    }
}

void machine_masks_after(Warp *warp, const Dec *dec, MaskShadow *shadow) {
    if (warp->state != WARP_DONE)
        lost_lanes(warp, dec);
    if (dec->optype == OT_BSSY)
        enter(warp, dec, shadow);
    else if (dec->optype == OT_BMOV)
        save_or_restore(warp, shadow, dec->breg);
    else if (dec->optype == OT_BREAK)
        leave_barrier(shadow, shadow->executed, dec->breg);
    else if (dec->optype == OT_BSYNC && shadow->executed == shadow->active)
        leave_barrier(shadow, shadow->here & warp->active, dec->breg); /* who was here and goes on, passed */
    if (dec->cls == CLS_B)
        stale_bits(warp, dec, shadow);
}
