/* Checks of the masks in the slow issue loop: no lane gets lost (E-LANE-LOST), every parked lane has an
 * instruction to go on with (E-RPC), and no B register holds a lane that is not in its region (E-STALE). What
 * a lane is in is followed beside the machine: BSSY enters the region that ends at its syncpoint, passing
 * BSYNC, BREAK and EXIT leave.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"

#define NOWHERE UINT32_MAX

void masks_before(Warp *w, const Dec *d, uint32_t g, MaskShadow *s) {
    s->active = w->active;
    s->executed = d->nq ? g & dec_pred(w, d, 0) : g;
    for (uint32_t m = w->active; m; m &= m - 1) /* a parked PC means nothing while the lane is active */
        w->rpc[low_lane(m)] = NOWHERE;
}

static void lost_lanes(Warp *w, const Dec *d) {
    uint32_t lost = w->active & ~w->valid, nowhere = 0;
    for (uint32_t m = w->valid & ~w->active; m; m &= m - 1) {
        uint32_t pc = w->rpc[low_lane(m)];
        if (pc == NOWHERE)
            lost |= 1u << low_lane(m);
        else if (pc >= w->run->ncode)
            nowhere |= 1u << low_lane(m);
    }
    if (lost)
        machine_finding(w, d, MF_LANE_LOST, lost, 0, "lanes 0x%08x are neither active nor parked", lost);
    if (nowhere)
        machine_finding(w, d, MF_RPC, nowhere, 0, "lanes 0x%08x continue outside the code", nowhere);
}

static void enter(Warp *w, const Dec *d, MaskShadow *s) {
    uint32_t end = (uint32_t)(d - w->prog) + 1 + (uint32_t)(d->target / INST_BYTES), old = 0;
    for (uint32_t m = s->executed; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        if (s->joined[lane] >> d->breg & 1 && s->region[d->breg][lane] != end)
            old |= 1u << lane;
        s->joined[lane] |= (uint16_t)(1u << d->breg);
        s->region[d->breg][lane] = end;
    }
    if (old)
        machine_finding(w, d, MF_STALE, old, pc_address(w->run, s->region[d->breg][low_lane(old)]),
                        "B%u still holds lanes 0x%08x of another region", d->breg, old);
}

static void leave(MaskShadow *s, uint32_t lanes, unsigned breg) {
    for (; lanes; lanes &= lanes - 1)
        s->joined[low_lane(lanes)] &= (uint16_t) ~(1u << breg);
}

static void stale_bits(Warp *w, const Dec *d, const MaskShadow *s) {
    for (unsigned b = 0; b < 16; b++) {
        uint32_t stale = 0;
        for (uint32_t m = w->b[b] & w->valid; m; m &= m - 1)
            if (!(s->joined[low_lane(m)] >> b & 1))
                stale |= 1u << low_lane(m);
        if (stale)
            machine_finding(w, d, MF_STALE, stale, 0, "B%u holds lanes 0x%08x, which did not join", b, stale);
    }
}

void masks_after(Warp *w, const Dec *d, MaskShadow *s) {
    if (w->state != WARP_DONE)
        lost_lanes(w, d);
    if (d->optype == OT_BSSY)
        enter(w, d, s);
    else if (d->optype == OT_BREAK)
        leave(s, s->executed, d->breg);
    else if (d->optype == OT_BSYNC && s->executed == s->active && w->active & s->active)
        leave(s, w->active, d->breg); /* it let everybody pass who was here */
    if (d->cls == CLS_B)
        stale_bits(w, d, s);
}
