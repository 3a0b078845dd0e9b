/* Counts a branch profile (frontend/profile.h) from the events of the PTX reference interpreter, which knows
 * nothing of warps that part: no placement of joins has a say in the counts.
 *
 * What is one warp execution of a branch? The lanes of a warp that execute it in the same rounds of all loops
 * around it, whenever each does: the meeting that the best placement could bring about. Lanes that come there
 * again in the same rounds (by calls, or in irreducible loops) come there a second time, and so on.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_PROFILE_H
#define HEDDLE_CHECK_VALIDATE_PROFILE_H
#include "frontend/profile.h"
#include "sim/interp/interp.h"

typedef struct ProfileCounter ProfileCounter;
/* Adds to `profile`, which outlives it. */
ProfileCounter *profile_counter_new(PtxProfile *profile);
void profile_counter_free(ProfileCounter *counter); /* NULL is nothing */
/* Before each launch. grid, block: blocks, and threads of one, in three dimensions */
void profile_counter_launch(ProfileCounter *counter, const uint32_t grid[3], const uint32_t block[3]);
/* PtxRunOptions.on_event; user: the counter */
void profile_count(void *counter, const PtxEvent *event);
/* Was there not enough room for all warp executions? Then `warps` stands still from there on, `lanes` counts
 * on. */
bool profile_counter_was_full(const ProfileCounter *counter);
#endif
