/* The blocks that one thread executes, and what it shares with others (crew.c).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_MACHINE_GRID_H
#define HEDDLE_SIM_MACHINE_GRID_H
#include "sim/machine/internal.h"
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

typedef struct Crew Crew;
typedef struct { /* linear numbers of blocks that nobody has started */
    uint64_t next, end;
} BlockRange;
typedef struct {
    Run *r;
    Crew *crew;      /* NULL: this thread executes all blocks that are left */
    uint32_t thread; /* of the crew; 0: the one that called */
    Cta **slots;     /* resident blocks, in the order in which they started */
    uint32_t n, cap;
    bool ended;        /* its blocks were handed over: this thread takes no others */
    Cta *const *begun; /* blocks that were handed over, by number */
    uint32_t nbegun;
    BlockRange share;       /* what this thread takes next */
    const BlockRange *left; /* ... and then, ascending; with a crew what that has */
    uint32_t nleft;
    Cta *spare;                          /* memory of a finished block */
    uint64_t total;                      /* blocks of the launch, or up to the first that trapped */
    uint32_t want;                       /* resident blocks to keep */
    uint64_t idle_since;                 /* tick of the last start or end of a block */
    uint64_t quiet_since, quiet_version; /* tick at which mem_version was last seen to change */
    uint64_t polled;                     /* tick of the last scope_poll */
    /* Brent's cycle search */
    XXH128_hash_t saved, saved_glance, saved_memory;
    uint64_t saved_version, saved_clocks, saved_random, next_check, checks, save_at, hashed_bytes;
    bool have_saved, have_state, have_memory;
    XXH128_hash_t memory; /* hashed last, at memory_version; the resident blocks are the same since */
    uint64_t memory_version;
    bool memory_known;
} Grid;

void machine_grid_init(Grid *grid, Run *run, Crew *crew);
/* Execute blocks until there are none, resident or to be had; false: one has trapped. */
bool machine_grid_run(Grid *grid);
void machine_grid_add(Grid *grid, Cta *cta);       /* one more resident block */
void machine_grid_drop(Grid *grid, uint32_t slot); /* it is not resident any more */

/* ---- crew.c ---- */
uint32_t machine_crew_size(const Run *run);  /* threads for this launch; 1: no crew */
bool machine_crew_run(Run *run, Grid *grid); /* as machine_grid_run, by several threads */
bool machine_crew_more(const Crew *crew);    /* blocks that are in no thread's share, and wanted */
uint64_t machine_crew_last_wanted(const Crew *crew);
/* A share of these for a thread, fewer as they become few; false: there are none. */
bool machine_crew_take(Crew *crew, uint32_t thread, BlockRange *share);
/* The resident blocks wait, perhaps for blocks of other threads: they are for the end, and so is what is left
 * of the share. */
void machine_crew_hand_over(Crew *crew, Grid *grid);
bool machine_crew_waits(Crew *crew); /* some were handed over */
/* Drop blocks behind one that trapped. */
void machine_crew_drop_unwanted(const Crew *crew, Grid *grid);
void machine_crew_extend_budget(Crew *crew, Run *run); /* by a share of what nobody has, if there is any */
#endif
