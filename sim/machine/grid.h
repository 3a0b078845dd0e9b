/* The blocks that one thread executes, and what it shares with others (crew.c).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_MACHINE_GRID_H
#define HEDDLE_SIM_MACHINE_GRID_H
#include "sim/machine/internal.h"
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

typedef struct Crew Crew;
typedef struct {
    Run *r;
    Crew *crew;  /* NULL: this thread executes all blocks that are left */
    Cta **slots; /* resident blocks, in the order in which they started */
    uint32_t n, cap;
    bool ended;        /* its blocks were handed over: this thread takes no others */
    Cta *const *begun; /* blocks that were handed over, to become resident before new ones */
    uint32_t nbegun;
    Cta *spare;                          /* memory of a finished block */
    uint64_t next, total;                /* linear block numbers, without a crew */
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
bool machine_crew_more(const Crew *crew);    /* blocks that nobody has started, and that are wanted */
bool machine_crew_take(Crew *crew, uint64_t *number);
/* The resident blocks wait, perhaps for blocks of other threads: they are for the end. */
void machine_crew_hand_over(Crew *crew, Grid *grid);
bool machine_crew_waits(Crew *crew); /* some were handed over */
/* Drop blocks behind one that trapped. */
void machine_crew_drop_unwanted(const Crew *crew, Grid *grid);
void machine_crew_extend_budget(Crew *crew, Run *run); /* by a share of what nobody has, if there is any */
#endif
