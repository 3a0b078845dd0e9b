/* Resident warps: see occupancy.h.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/occupancy.h"

enum { WARP_LANES = 32 };

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t round_up(uint32_t n, uint32_t step) { return (n + step - 1) / step * step; }

uint32_t occupancy_regs(const Target *t, uint64_t threads) {
    const TargetInfo *info = isa_target_info(t);
    if (!threads)
        return UINT32_MAX;
    return (uint32_t)(info->sm_regs / threads / info->reg_step * info->reg_step);
}

uint32_t occupancy_warps(const Target *t, uint32_t regs, uint32_t shared_bytes, uint32_t block_threads) {
    const TargetInfo *info = isa_target_info(t);
    uint32_t warp_regs = round_up(regs ? regs : 1, info->reg_step) * WARP_LANES;
    uint32_t warps = least(info->sm_warps, info->sm_regs / info->sm_parts / warp_regs * info->sm_parts);
    if (!block_threads)
        return warps;
    uint32_t block_warps = round_up(block_threads, WARP_LANES) / WARP_LANES;
    uint32_t shared = round_up(shared_bytes + info->block_shared_bytes, info->shared_step_bytes);
    uint32_t blocks = least(info->sm_blocks, warps / block_warps);
    if (shared)
        blocks = least(blocks, info->sm_shared_bytes / shared);
    return blocks * block_warps;
}
