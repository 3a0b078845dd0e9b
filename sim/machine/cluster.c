/* Clusters: blocks that start together, see each other's shared memory and have a barrier of their own
 * (UCGABAR). A warp arrives and waits as a whole; the barrier is complete when every lane of every block of
 * the cluster that has not ended has arrived. An access to a block that has ended is a trap (mem.c).
 * SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "sim/machine/internal.h"

void machine_cluster_join(Cta *cta, Cta *first, uint32_t rank) {
    if (cta == first)
        cta->cluster = mem_zeroed(1, sizeof *cta->cluster);
    cta->cluster = first->cluster;
    cta->cluster_used = true;
    cta->cluster->block[rank] = cta;
    cta->cluster->n++;
    cta->cluster->living++;
}

void machine_cluster_leave(Cta *cta) {
    Cluster *cluster = cta->cluster;
    cta->cluster = NULL;
    if (!cluster)
        return;
    cluster->block[cta->rank] = NULL;
    if (--cluster->living == 0)
        mem_free(cluster);
}

/* Lanes of the block that have not arrived. */
static bool lacks_lanes(const Cta *cta) {
    for (uint32_t i = 0; i < cta->nwarps; i++)
        if (cta->warps[i].state != WARP_DONE && cta->warps[i].valid & ~cta->warps[i].cluster_pending)
            return true;
    return false;
}

static void release(const Cta *cta) {
    for (uint32_t i = 0; i < cta->nwarps; i++) {
        Warp *warp = &cta->warps[i];
        warp->cluster_pending = 0;
        if (warp->state == WARP_AT_CLUSTER)
            warp->state = WARP_READY;
    }
}

void machine_cluster_complete(const Cta *cta) {
    const Cluster *cluster = cta->cluster;
    if (!cluster && !cta->cluster_used) /* nobody has arrived, so nobody waits */
        return;
    bool lacks = !cluster && lacks_lanes(cta);
    for (uint32_t i = 0; cluster && i < cluster->n; i++)
        lacks |= cluster->block[i] && lacks_lanes(cluster->block[i]);
    if (lacks)
        return;
    if (!cluster)
        release(cta);
    for (uint32_t i = 0; cluster && i < cluster->n; i++)
        if (cluster->block[i])
            release(cluster->block[i]);
}

static bool whole(Warp *warp, const Dec *dec, int *status) {
    if (warp->active != warp->valid)
        *status = machine_trap(warp, dec, low_lane(warp->active), TRAP_DIVERGENT_BARRIER,
                               "the cluster's barrier, lanes 0x%08x of 0x%08x", warp->active, warp->valid);
    return warp->active == warp->valid;
}

static int op_arrive(Warp *warp, Dec *dec, uint32_t g) {
    int status = RUN_OK;
    uint32_t lanes = g & warp->valid;
    if (!lanes || !whole(warp, dec, &status))
        return status;
    if (warp->cluster_arrived & lanes)
        return machine_trap(warp, dec, low_lane(lanes), TRAP_UNDEFINED,
                            "arrives twice at the cluster's barrier");
    warp->cta->cluster_used = true;
    warp->cluster_arrived |= lanes;
    warp->cluster_pending |= lanes;
    machine_cluster_complete(warp->cta);
    return RUN_OK;
}

static int op_wait(Warp *warp, Dec *dec, uint32_t g) {
    int status = RUN_OK;
    uint32_t lanes = g & warp->valid;
    if (!lanes || !whole(warp, dec, &status))
        return status;
    if (lanes & ~warp->cluster_arrived)
        return machine_trap(warp, dec, low_lane(lanes & ~warp->cluster_arrived), TRAP_BARRIER,
                            "waits at the cluster's barrier without an arrival");
    if (warp->cluster_pending & lanes) {
        warp->pc = (uint32_t)(dec - warp->prog); /* to be executed again */
        warp->state = WARP_AT_CLUSTER;
        return RUN_BLOCKED;
    }
    warp->cluster_arrived &= ~lanes;
    return RUN_OK;
}

static bool barrier(Bind *bind, OpFn *fn) {
    bind_operands(bind);
    bind->d->full = bind->d->part = fn;
    bind->d->cls = CLS_OTHER;
    return !bind->failed;
}
bool bind_UCGABAR_ARV(Bind *bind) { return barrier(bind, op_arrive); }
bool bind_UCGABAR_WAIT(Bind *bind) { return barrier(bind, op_wait); }
