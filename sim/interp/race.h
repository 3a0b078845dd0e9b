/* Data races of a launch under the PTX interpreter, found by happens-before (sim/interp/race.c). Inside of
 * the interpreter.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_INTERP_RACE_H
#define HEDDLE_SIM_INTERP_RACE_H
#include <stdbool.h>
#include <stdint.h>

typedef struct Clock Clock;
typedef struct { /* what the threads that arrived so far had done and seen */
    Clock *clock;
    const Clock *last; /* base that was joined last: most threads of a block share one */
} RaceGather;

struct PtxRun;
struct PtxThread;
struct PtxBlock;
struct PtxCode;

/* All of them do nothing unless races are looked for. */
bool interp_race_start(struct PtxRun *run); /* false: too many threads, reported */
void interp_race_end(struct PtxRun *run);   /* races go to the result, memory is freed */
void interp_race_block_start(struct PtxRun *run, struct PtxBlock *block);
/* Accesses to the place that interp_memory found last (PtxRun.place). A store comes with its new bytes,
 * before they are written. */
void interp_race_load(struct PtxRun *run, struct PtxThread *thread, const struct PtxCode *code);
void interp_race_store(struct PtxRun *run, struct PtxThread *thread, const struct PtxCode *code,
                       const uint8_t *old, const uint8_t *now);
void interp_race_atomic(struct PtxRun *run, struct PtxThread *thread, const struct PtxCode *code,
                        const uint8_t *bytes);
/* An asynchronous copy that is done counts its bytes at an mbarrier object, with release semantics whatever
 * the statement (PTX ISA 9.7.13.15.5.1). */
void interp_race_complete(struct PtxRun *run, struct PtxThread *thread, const struct PtxCode *code,
                          const uint8_t *bytes);
/* Products of a warp group. A read of one, given by the warp of this thread; the warp ends a group of them;
 * this thread has waited until the first `groups` of the reader's warp are done. */
void interp_race_product(struct PtxRun *run, struct PtxThread *thread, const struct PtxCode *code);
void interp_race_commit(struct PtxRun *run, struct PtxThread *thread);
void interp_race_products(struct PtxRun *run, struct PtxThread *thread, const struct PtxThread *reader,
                          uint32_t groups);
void interp_race_fence(struct PtxRun *run, struct PtxThread *thread);
/* malloc gave these bytes: what was done to them before was of another piece, and is ordered. */
void interp_race_fresh(struct PtxRun *run, uint64_t address, uint64_t size_bytes);
/* Barriers: arrive, then go on together. */
void interp_race_arrive(struct PtxRun *run, RaceGather *gather, struct PtxThread *thread);
void interp_race_depart(struct PtxRun *run, const RaceGather *gather, struct PtxThread *thread);
/* ... of a barrier where threads do other things between the two: what was done before a fence counts, or
 * before the arrival where that releases. */
void interp_race_arrive_early(struct PtxRun *run, RaceGather *gather, struct PtxThread *thread,
                              bool releases);
void interp_race_depart_late(struct PtxRun *run, const RaceGather *gather, struct PtxThread *thread);
void interp_race_gather_free(RaceGather *gather);
#endif
