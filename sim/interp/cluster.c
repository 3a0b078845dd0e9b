/* Clusters of the PTX interpreter: barrier.cluster (PTX ISA 9.7.13.3), mapa and getctarank
 * (9.7.9.23, 9.7.9.24).
 *
 * The blocks of a cluster run together and lie behind each other in PtxRun.blocks. An address of shared
 * memory has the block's rank from bit 24 on, a generic one after the window's base, so one formula serves
 * both. Each thread arrives and waits for itself; a phase is complete when all threads of the cluster that
 * have not ended arrived. SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"

static uint64_t threads_alive(const PtxRun *run, const PtxBlock *first) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < run->cluster_blocks; i++)
        n += first[i].live ? first[i].nalive : 0;
    return n;
}

static void complete_phase(PtxRun *run, PtxBlock *first) {
    if (!first->arrivals || first->arrivals < threads_alive(run, first))
        return;
    first->phase++;
    first->arrivals = 0;
    interp_race_gather_free(&first->complete);
    first->complete = first->coming;
    first->coming = (RaceGather){0};
    for (uint32_t i = 0; i < run->cluster_blocks; i++)
        for (uint32_t k = 0; first[i].live && k < first[i].nthreads; k++)
            if (first[i].threads[k].state == TS_CLUSTER) {
                first[i].threads[k].arrived = false;
                interp_race_depart_late(run, &first->complete, &first[i].threads[k]);
                interp_wake(&first[i].threads[k]);
            }
}

void interp_cluster_ended(PtxRun *run, PtxThread *thread) {
    PtxBlock *first = thread->warp->block->first;
    if (thread->arrived && thread->arrival_phase == first->phase)
        first->arrivals--;
    thread->arrived = false;
    complete_phase(run, first);
}

bool interp_cluster_stuck(PtxBlock *block) {
    PtxBlock *first = block->first;
    for (uint32_t i = 0; i < block->run->cluster_blocks; i++)
        for (uint32_t w = 0; first[i].live && w < first[i].nwarps; w++)
            if (first[i].runnable[w])
                return false;
    for (uint32_t i = 0; i < block->run->cluster_blocks; i++)
        if (first[i].live && first[i].nalive && interp_release_for_ended(&first[i]))
            return false;
    return true;
}

static PtxStep exec_arrive(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    PtxBlock *first = thread->warp->block->first;
    if (thread->arrived)
        return interp_trap(run, thread, code, TRAP_UNDEFINED, "arrives twice at the cluster's barrier");
    thread->arrived = true;
    thread->arrival_phase = first->phase;
    first->arrivals++;
    interp_race_arrive_early(run, &first->coming, thread, code->insn->sem != SEM_RELAXED);
    complete_phase(run, first);
    return STEP_GO;
}

static PtxStep exec_wait(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    if (!thread->arrived)
        return interp_trap(run, thread, code, TRAP_BARRIER,
                           "waits at the cluster's barrier without an arrival");
    if (thread->arrival_phase != thread->warp->block->first->phase) {
        thread->arrived = false;
        interp_race_depart_late(run, &thread->warp->block->first->complete, thread);
        return STEP_GO;
    }
    interp_block_thread(thread, TS_CLUSTER, code);
    if (!thread->warp->block->runnable[thread->warp->index])
        interp_release_active(thread->warp);
    return STEP_STOP;
}

static const uint64_t rank_mask = (SIM_CLUSTER_BLOCKS * 16 - 1) * SIM_WINDOW_BYTES;

static uint64_t mapa(uint64_t address, uint64_t rank, uint64_t c, const PtxCode *code) {
    (void)c, (void)code;
    return (address & ~rank_mask) | (rank * SIM_WINDOW_BYTES & rank_mask);
}
static uint64_t getctarank(uint64_t address, uint64_t b, uint64_t c, const PtxCode *code) {
    (void)b, (void)c, (void)code;
    return (address & rank_mask) / SIM_WINDOW_BYTES;
}
BIND_PURE(mapa, mapa)
BIND_PURE(getctarank, getctarank)
bool interp_bind_cluster_barrier(PtxCode *code) {
    return interp_use_exec(code, code->sub == SUB_WAIT ? exec_wait : exec_arrive);
}
