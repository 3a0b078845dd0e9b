/* Which instructions a region has, and how each is compiled: straight code and branches from an entry on, as
 * far as it has been decoded. SPDX-License-Identifier: MIT */
#include "sim/jit/region.h"
#include <string.h>

RegionKind region_kind(const Run *run, uint32_t pc) {
    const Dec *dec = &run->prog[pc];
    const MachInst *in = dec->inst;
    bool guarded = dec_is_guarded(dec);
    if (dec->chains) {
        /* a uniform operation runs for all lanes if its guard is true in any */
        bool uniform = dec->inner_full != NULL;
        const LaneRow *row = lane_row_of(run->level, uniform ? dec->inner_full : dec->full);
        if (row && !(uniform && guarded) && !(row->kind == LANE_SETS && dec->optype == OT_FSET))
            return RI_LANE;
        AccessKind access = machine_mem_access_kind(dec->optype);
        return access == ACC_LOAD || access == ACC_STORE ? RI_MEMORY : RI_HANDLER;
    }
    if (dec->optype == OT_BRA && dec->imm[0] == BRACond_NoCond && !dec->nv)
        return RI_BRANCH;
    bool writes_none = in->ndst == 0;
    if (writes_none && (dec->cls == CLS_B || isa_traits(dec->optype)->flow == ISA_FLOW_BAR))
        return RI_CONTROL;
    return RI_ANY;
}

uint32_t region_target(const Run *run, uint32_t pc) {
    int64_t to = (int64_t)pc + 1 + run->prog[pc].target / INST_BYTES;
    return run->prog[pc].target % INST_BYTES || to < 0 || to >= run->ncode ? UINT32_MAX : (uint32_t)to;
}

uint32_t region_block_at(const Region *region, uint32_t pc) {
    uint32_t i = 0;
    while (i < region->nblocks && region->blocks[i].pc != pc)
        i++;
    return i;
}

static bool is_decoded(const Run *run, uint32_t pc) {
    return pc < run->ncode && run->prog[pc].full != bind_decode;
}

static bool add_block(const Run *run, Region *region, uint32_t pc, bool entry) {
    if (!is_decoded(run, pc))
        return true;
    uint32_t i = region_block_at(region, pc);
    if (i == REGION_MAX_BLOCKS)
        return false;
    if (i == region->nblocks)
        region->blocks[region->nblocks++] = (RegionBlock){.pc = pc};
    region->blocks[i].entry |= entry;
    return true;
}

/* Where a warp goes from the end of a block; entry: it may also come there from elsewhere. */
static bool add_successors(const Run *run, Region *region, uint32_t pc, RegionKind kind) {
    if (kind == RI_BRANCH) {
        uint32_t target = region_target(run, pc);
        if (!add_block(run, region, target, target <= pc))
            return false;
    }
    bool ends = kind == RI_ANY && (run->prog[pc].optype == OT_EXIT || run->prog[pc].optype == OT_RET);
    unsigned op = run->prog[pc].optype;
    return ends || add_block(run, region, pc + 1, kind != RI_BRANCH && op != OT_BSSY && op != OT_BREAK);
}

/* Instructions of the block at pc, up to a branch, another block, or what is not decoded. */
static uint32_t block_length(const Run *run, const Region *region, uint32_t pc, RegionKind *last) {
    uint32_t n = 0;
    *last = RI_LANE;
    while (is_decoded(run, pc + n) && *last < RI_BRANCH &&
           (!n || region_block_at(region, pc + n) == region->nblocks))
        *last = region_kind(run, pc + n++);
    return n;
}

bool region_find(const Run *run, uint32_t pc, bool masked, Region *out) {
    memset(out, 0, sizeof *out);
    if (!add_block(run, out, pc, true))
        return false;
    for (uint32_t i = 0; i < out->nblocks; i++) {
        RegionKind last;
        uint32_t first = out->blocks[i].pc, n = block_length(run, out, first, &last);
        out->ninsts += n;
        if (out->ninsts > REGION_MAX_INSTS)
            return false;
        if (last >= RI_BRANCH && !add_successors(run, out, first + n - 1, last))
            return false;
    }
    out->ninsts = 0;
    for (uint32_t i = 0; i < out->nblocks; i++) { /* later ones may have begun inside earlier ones */
        RegionKind last;
        out->ninsts += out->blocks[i].n = block_length(run, out, out->blocks[i].pc, &last);
        out->blocks[i].entry |= masked;
    }
    return out->nblocks != 0 && out->blocks[0].n != 0;
}
