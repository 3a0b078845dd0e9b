/* What to change in a launch that traps: see auto_search.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_search.h"
#include <stdio.h>
#include <string.h>

/* The buffer that an address belongs to, or lies next to. */
static bool nearest_buffer(const AutoSearch *search, const AutoAttempt *attempt, uint64_t at, uint32_t *slot,
                           bool *below, uint64_t *offset) {
    uint64_t address[AUTO_MAX_SLOTS];
    bool found = false;
    auto_slot_addresses(search, attempt, address);
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        uint64_t from = address[i], to = from + attempt->bytes[i];
        if (from && at >= to && at - to < LARGEST_BYTES) {
            *slot = i;
            *below = false;
            *offset = at - from;
            found = true;
        }
        if (from && at < from && from - at <= SIM_GUARD_BYTES / 2) { /* in the gap before it */
            *slot = i;
            *below = true;
            found = true;
            break;
        }
    }
    return found;
}

/* The next smaller number that does: half of it, or of what must be a multiple the least one. */
static uint64_t smaller_value(const AutoSearch *search, const AutoAttempt *attempt, uint32_t slot) {
    uint64_t unit = search->flow.slots[slot].unit, value = attempt->value[slot];
    if (attempt->fitted && unit > 1 && value % unit == 0)
        return unit;
    return value > 32 ? 32 : value / 2;
}

/* False: all numbers are small already. */
static bool shrink(AutoAttempt *attempt, const AutoSearch *search) {
    bool less = attempt->index_bound > 1;
    attempt->index_bound = attempt->index_bound > SMALL ? SMALL
                           : attempt->index_bound > 2   ? attempt->index_bound / 2
                                                        : 1;
    memset(attempt->bound, 0, sizeof attempt->bound);
    for (uint32_t i = 0; i < search->flow.nslots; i++)
        if (attempt->value[i] > 4 && !(search->flow.slots[i].uses & AU_BYTES)) {
            uint64_t value = smaller_value(search, attempt, i);
            less |= value != attempt->value[i] && !auto_is_pointer(&search->flow.slots[i]);
            attempt->value[i] = value;
        }
    return less;
}

/* Factors of addresses that are no sizes: rows lie closer. False: they are small. */
static bool shrink_strides(AutoAttempt *attempt, const AutoSearch *search) {
    enum { CLOSER = 8 };
    bool less = false;
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        uint32_t uses = search->flow.slots[i].uses;
        if (!(uses & AU_INDEX) || attempt->value[i] <= CLOSER ||
            uses & (AU_CMP_X | AU_CMP_Y | AU_CMP_Z | AU_CMP | AU_DIVISOR | AU_BRANCH | AU_CALL | AU_BYTES))
            continue;
        attempt->value[i] /= CLOSER;
        less = true;
    }
    return less;
}

static bool shrink_block(AutoAttempt *attempt, const AutoSearch *search) {
    if (search->f->reqntid[0])
        return false;
    for (unsigned k = 0; k < 6; k++) { /* what the kernel asks for at last */
        unsigned i = k % 3;
        bool asked = search->flow.block_asked[i] == attempt->block[i];
        if (attempt->block[i] > (i == 0 ? 32u : 1u) && asked == (k >= 3)) {
            attempt->block[i] /= 2;
            return true;
        }
    }
    return false;
}

/* Tables that the kernel has for its threads end before these do. */
static bool few_lanes(AutoAttempt *attempt, const AutoSearch *search) {
    if (shrink_block(attempt, search))
        return true;
    if (search->f->reqntid[0] || attempt->whole_warps || attempt->block[0] <= 2)
        return false;
    attempt->block[0] /= 2;
    return true;
}

/* One block, and sizes that were those of the grid are those of the block. False: there is only one. */
static bool one_block(AutoAttempt *attempt, const AutoSearch *search) {
    bool less = false;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t blocks = attempt->grid[i], block = attempt->block[i], uses = (uint32_t)AU_CMP_X << i;
        attempt->grid[i] = 1;
        less |= blocks > 1;
        for (uint32_t k = 0; blocks > 1 && k < search->flow.nslots; k++) {
            uint64_t *value = &attempt->value[k];
            if (search->flow.slots[k].uses & uses && *value > block && *value <= (uint64_t)blocks * block)
                *value -= (uint64_t)(blocks - 1) * block < *value - 1 ? (uint64_t)(blocks - 1) * block : 0;
        }
    }
    auto_fit_clusters(search, attempt);
    return less && (attempt->grid[0] == 1 && attempt->grid[1] == 1 && attempt->grid[2] == 1);
}

/* Loops may have as many turns as the kernel says, so there are fewer threads: a quarter of the blocks, one,
 * one warp, one thread if that does; at last there is more time. False: there is no less. */
static bool fewer_threads(AutoAttempt *attempt, const AutoSearch *search) {
    uint32_t blocks = attempt->grid[0] * attempt->grid[1] * attempt->grid[2];
    uint32_t threads = attempt->block[0] * attempt->block[1] * attempt->block[2],
             fewest = attempt->whole_warps ? SIM_WARP_LANES : 1;
    bool less = blocks > 1;
    for (unsigned i = 0; i < 3 && less; i++)
        attempt->grid[i] = (attempt->grid[i] + (blocks > 4 ? 1 : 3)) / (blocks > 4 ? 2 : 4);
    if (!less && !search->f->reqntid[0] && threads > fewest) {
        bool more = attempt->whole_warps || attempt->block[0] > SIM_WARP_LANES;
        attempt->block[0] = threads <= SIM_WARP_LANES ? 1 : more ? SIM_WARP_LANES : attempt->block[0];
        attempt->block[1] = attempt->block[2] = 1;
        less = true;
    }
    if (!less && attempt->budget < MOST_BUDGET && !search->brief) {
        attempt->budget = MOST_BUDGET;
        less = true;
    }
    auto_fit_clusters(search, attempt);
    return less;
}

/* Multiples of 4, and of 16 where these do not do. */
static void align(AutoAttempt *attempt, const AutoSearch *search) {
    uint64_t low = 0;
    for (uint32_t i = 0; i < search->flow.nslots; i++)
        low |= attempt->value[i] & 3;
    low = low ? 3 : 15;
    for (uint32_t i = 0; i < search->flow.nslots; i++)
        attempt->value[i] = (attempt->value[i] + low) & ~low;
}

/* A barrier that counts more threads than the block has tells how many there are meant to be. */
static bool fit_barrier(AutoAttempt *attempt, const AutoSearch *search, const char *text) {
    const char *count = strstr(text, "thread count ");
    unsigned n = 0;
    if (!count || sscanf(count, "thread count %u", &n) != 1 || n < 32 || n > SIM_MAX_BLOCK_THREADS ||
        search->f->reqntid[0] || (uint64_t)attempt->block[0] * attempt->block[1] * attempt->block[2] >= n)
        return false;
    attempt->block[0] = n / attempt->block[1] / attempt->block[2];
    return attempt->block[0] > 0;
}

/* One warp where there were fewer lanes, and no fewer from now on. */
static bool whole_warp(AutoAttempt *attempt, const AutoSearch *search) {
    if (search->f->reqntid[0] || attempt->block[0] * attempt->block[1] * attempt->block[2] >= SIM_WARP_LANES)
        return false;
    attempt->whole_warps = true;
    attempt->block[0] = SIM_WARP_LANES;
    attempt->block[1] = attempt->block[2] = 1;
    return true;
}

/* Twice as much dynamic shared memory, up to what a block can have. */
static bool more_shared(AutoAttempt *attempt, const AutoSearch *search) {
    uint64_t most = search->opt->most_shared_bytes, declared = search->flow.static_shared_bytes;
    most = !most ? 3 * DYNAMIC_SHARED : most > declared ? most - declared : 0;
    if (attempt->shared_bytes >= most)
        return false;
    attempt->shared_bytes = 2ull * attempt->shared_bytes < most ? 2 * attempt->shared_bytes : (uint32_t)most;
    return true;
}

/* The buffer that it left is as large as others may be, and numbers are as small. */
static bool larger(const AutoSearch *search, AutoAttempt *attempt) {
    uint32_t slot;
    uint64_t offset = 0;
    bool below;
    if (!nearest_buffer(search, attempt, search->trap.address, &slot, &below, &offset) || below ||
        offset >= LARGEST_BYTES || attempt->bytes[slot] >= LARGEST_BYTES)
        return false;
    attempt->bytes[slot] *= 2;
    return true;
}

bool auto_repair(AutoSearch *search, AutoAttempt *attempt) {
    uint32_t slot;
    uint64_t offset = 0;
    bool below;
    const SimTrap *sim_trap = &search->trap;
    switch (sim_trap->kind) {
    case TRAP_OUT_OF_RANGE:
    case TRAP_PARAM_RANGE:
        if (strstr(sim_trap->text, "shared memory")) {
            if ((search->flow.dynamic_shared && more_shared(attempt, search)) ||
                auto_other_boxes(search, attempt))
                return true;
            return (search->nkept ? shrink_block(attempt, search) : few_lanes(attempt, search)) ||
                   shrink(attempt, search);
        }
        if (nearest_buffer(search, attempt, sim_trap->address, &slot, &below, &offset)) {
            if (below && attempt->margin[slot] < 64 * MARGIN_BYTES) {
                attempt->margin[slot] = attempt->margin[slot] ? 4 * attempt->margin[slot] : MARGIN_BYTES;
                return true;
            }
            if (!below && attempt->bytes[slot] < MOST_BYTES) {
                while (attempt->bytes[slot] <= offset && attempt->bytes[slot] < MOST_BYTES)
                    attempt->bytes[slot] *= 2;
                attempt->bytes[slot] =
                    attempt->bytes[slot] < MOST_BYTES / 2 ? attempt->bytes[slot] * 2 : MOST_BYTES;
                return true;
            }
        }
        return shrink_strides(attempt, search) || shrink(attempt, search) || larger(search, attempt) ||
               few_lanes(attempt, search);
    case TRAP_MISALIGNED: align(attempt, search); return true;
    case TRAP_INSTRUCTION:
    case TRAP_ASSERTION: {
        uint64_t random = attempt->seed;
        attempt->fitted = true;
        return auto_fit_units(search, attempt, &random);
    }
    case TRAP_BUDGET: /* a shape that is tried for itself stays as long as there are smaller numbers */
        return one_block(attempt, search) || (shrink(attempt, search) && (search->brief || search->block)) ||
               fewer_threads(attempt, search);
    case TRAP_COLLECTIVE: return whole_warp(attempt, search);
    case TRAP_BARRIER: return fit_barrier(attempt, search, sim_trap->text);
    case TRAP_STACK:
    case TRAP_BRANCH_INDEX: shrink(attempt, search); return true;
    default: return false;
    }
}
