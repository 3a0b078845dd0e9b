/* What the lanes of a run did, from the machine's trace: how often each instruction was issued and how many
 * lanes it lost, and for each warp the groups of lanes that ran one after the other and what the others did
 * meanwhile. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PICTURE_LANES_H
#define HEDDLE_CHECK_PICTURE_LANES_H
#include "check/flow/binflow.h"
#include "sim/machine/machine.h"
#include <stdio.h>

typedef enum {
    LANE_ABSENT, /* the block has no such thread, or it has ended */
    LANE_RUNS,
    LANE_PARKED,   /* another way of a branch */
    LANE_AT_BSYNC, /* waits for the lanes of a convergence barrier */
    LANE_AT_WARPSYNC,
    LANE_AT_BAR, /* waits for other warps */
    LANE_YIELDS, /* YIELD, NANOSLEEP */
    LANE_STATES
} LaneState;
const char *lanes_state_name(LaneState state);

typedef struct {
    uint8_t state; /* LaneState */
    uint8_t reg;   /* LANE_AT_BSYNC: the B register */
} LaneAt;

typedef struct {           /* lanes that run together, until others do */
    uint64_t start, end;   /* issues of the launch before its first, and behind its last instruction */
    uint64_t step, nsteps; /* the same of the warp */
    uint32_t active;
    uint32_t first, last, low, high; /* instructions: in time, in the code */
    LaneAt lanes[32];
} LaneGroup;

typedef struct {
    uint32_t launch, block[3], warp, next; /* next: of its slot */
    uint64_t steps, ngroups;               /* all there were */
    VEC(LaneGroup) groups;                 /* LANES_MAX_GROUPS of the run at most are kept */
    LaneAt lanes[32];                      /* as of the instruction before */
} LaneWarp;

enum { LANES_MAX_GROUPS = 1 << 18, LANES_SLOTS = 4096 };

typedef struct {
    Arena arena;
    const BinFlow *flow;
    uint64_t *issues, *lost, *guarded; /* [instruction]; lost: lanes that are there and apart; guarded: active
                                          lanes whose guard is false */
    uint64_t all_issues, all_active, all_lost, all_switches;
    uint32_t launch; /* number of the one that runs; the caller counts */
    uint64_t groups_kept, groups_dropped;
    VEC(LaneWarp *) warps; /* in the order of their first instructions */
    uint32_t *slots;       /* [LANES_SLOTS] warps by their numbers */
} Lanes;

void lanes_open(Lanes *lanes, const BinFlow *flow);
void lanes_free(Lanes *lanes);
/* For MachineOptions.trace, with `lanes` as the user; texts are not needed. */
void lanes_record(void *lanes, const MachineTrace *trace);
/* The lanes in that state (at that B register), as a mask. */
uint32_t lanes_mask(const LaneGroup *group, LaneState state, unsigned reg);

/* The run as a trace for Perfetto and chrome://tracing: a process for each block, a track for each warp, a
 * slice for each group; one issued warp instruction counts as a microsecond. */
void lanes_perfetto(const Lanes *lanes, FILE *out);
#endif
