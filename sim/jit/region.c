/* Which instructions a region has, and how each is compiled: straight code and branches from an entry on. It
 * depends on the code alone, not on what the launch has executed. SPDX-License-Identifier: MIT */
#include "sim/jit/region.h"
#include <string.h>

RegionKind region_kind(const Run *run, uint32_t pc) {
    const Dec *dec = region_known(run, pc);
    bool guarded = dec_is_guarded(dec);
    if (dec->chains) {
        /* a uniform operation runs for all lanes if its guard is true in any */
        bool uniform = dec->inner_full != NULL;
        const LaneRow *row = lane_row_of(run->level, uniform ? dec->inner_full : dec->full);
        bool built = row && !(uniform && guarded) && !(row->kind == LANE_SETS && dec->optype == OT_FSET);
        return built ? RI_LANE : RI_HANDLER;
    }
    if (dec->optype == OT_BRA && dec->imm[0] == BRACond_NoCond && !dec->nv)
        return RI_BRANCH;
    if (dec->cls == CLS_B || isa_traits(dec->optype)->flow == ISA_FLOW_BAR)
        return RI_CONTROL;
    return RI_ANY;
}

static void name_operand(RegionOperands *out, Operand operand, unsigned regs, bool written) {
    uint32_t row = 0, n = machine_operand_rows(operand, regs, &row);
    for (; n--; row++) {
        out->rows[row] = true;
        out->written[row] |= written;
    }
    if (operand.kind == OPK_REG && (operand.file == RF_P || operand.file == RF_UP)) {
        uint32_t bit = 1u << ((operand.value & 7) + (operand.file == RF_UP ? PRED_UP : 0));
        out->preds |= bit;
        out->preds_written |= written ? bit : 0;
    }
}

RegionOperands region_operands(const Run *run, uint32_t pc) {
    const MachInst *in = region_known(run, pc)->inst;
    const Target *target = run->bin->target;
    RegionOperands out = {0};
    RegFile file = RF_P;
    name_operand(&out, in->guard, 1, false);
    for (unsigned i = 0; i < in->nsrc; i++)
        name_operand(&out, in->src[i], isa_src_regs(target, in, i), false);
    for (unsigned i = 0; i < in->ndst; i++)
        name_operand(&out, in->dst[i], isa_dst_regs(target, in, i), true);
    uint32_t named = isa_named_predicates(in, &file) << (file == RF_UP ? PRED_UP : 0);
    out.preds |= named;
    out.preds_written |= isa_has_effect(in->optype, ISA_EFFECT_WRITES_ALL_P) ? named : 0;
    return out;
}

uint32_t region_target(const Run *run, uint32_t pc) {
    const Dec *dec = region_known(run, pc);
    int64_t to = (int64_t)pc + 1 + dec->target / INST_BYTES;
    return dec->target % INST_BYTES || to < 0 || to >= run->ncode ? UINT32_MAX : (uint32_t)to;
}

uint32_t region_block_at(const Region *region, uint32_t pc) {
    uint32_t i = 0;
    while (i < region->nblocks && region->blocks[i].pc != pc)
        i++;
    return i;
}

const Dec *region_dec(Run *run, uint32_t pc) {
    Dec **ahead = run->jit->host.ahead;
    if (pc >= run->ncode)
        return NULL;
    if (!ahead[pc]) { /* one that cannot be decoded is asked for again and again: rarely */
        uint8_t *raw = arena_alloc(&run->arena, sizeof(Dec) + DEC_LINE_BYTES);
        Dec *dec = (Dec *)(void *)(raw + (DEC_LINE_BYTES - (uintptr_t)raw % DEC_LINE_BYTES) % DEC_LINE_BYTES);
        jit_note_place(run->jit, pc);
        ahead[pc] = bind_ahead(run, pc, dec) ? dec : NULL;
    }
    return ahead[pc];
}

bool region_reads_bank(const Dec *dec) {
    bool reads = false;
    for (unsigned k = 0; k < dec->inst->nsrc; k++)
        reads |= dec->inst->src[k].kind == OPK_CMEM;
    return reads;
}

static bool is_left_out(const Run *run, const Region *region, uint32_t pc) {
    const JitSlot *slot = &run->jit->host.slots[pc];
    bool best = slot->code[region->kind] && !slot->copied[region->kind];
    return region->without >= WITHOUT_COPIED ? slot->code[region->kind] != NULL
                                             : region->without == WITHOUT_BEST && best;
}

static void add_block(Run *run, Region *region, uint32_t pc, bool entry) {
    uint32_t i = region_block_at(region, pc);
    if (i == REGION_MAX_BLOCKS || !region_dec(run, pc) || is_left_out(run, region, pc))
        return;
    if (i == region->nblocks)
        region->blocks[region->nblocks++] = (RegionBlock){.pc = pc};
    region->blocks[i].entry |= entry;
}

/* Does a block whose last instruction is at pc go on with the next one? */
static bool goes_on(const Run *run, uint32_t pc, RegionKind kind) {
    const Dec *dec = region_known(run, pc);
    return kind != RI_ANY || (dec->optype != OT_RET && (dec->optype != OT_EXIT || dec_is_guarded(dec)));
}

/* Where a warp goes from the end of a block; entry: it may also come there from elsewhere. */
static void add_successors(Run *run, Region *region, uint32_t pc, RegionKind kind) {
    if (kind == RI_BRANCH) {
        uint32_t target = region_target(run, pc);
        add_block(run, region, target, target <= pc);
    }
    unsigned op = region_known(run, pc)->optype;
    if (goes_on(run, pc, kind))
        add_block(run, region, pc + 1, kind > RI_BRANCH && op != OT_BSSY && op != OT_BREAK);
}

/* Instructions of the block at pc, up to a branch, another block, or what cannot be decoded; at most `most`.
 */
static uint32_t block_length(Run *run, const Region *region, uint32_t pc, uint32_t most, RegionKind *last) {
    uint32_t n = 0;
    *last = RI_LANE;
    while (n < most && *last < RI_BRANCH && region_dec(run, pc + n) &&
           (!n || (region_block_at(region, pc + n) == region->nblocks && !is_left_out(run, region, pc + n))))
        *last = region_kind(run, pc + n++);
    return n;
}

/* Blocks from which block 0 is reached: the loop, if block 0 is one of them. */
static bool find_loop(Run *run, const Region *region, bool in_loop[REGION_MAX_BLOCKS]) {
    bool more = true;
    memset(in_loop, 0, REGION_MAX_BLOCKS * sizeof *in_loop);
    while (more) {
        more = false;
        for (uint32_t i = region->nblocks; i-- > 0;) {
            const RegionBlock *block = &region->blocks[i];
            uint32_t last = block->pc + block->n - 1, to[2] = {UINT32_MAX, UINT32_MAX};
            RegionKind kind = region_kind(run, last);
            if (kind == RI_BRANCH)
                to[0] = region_target(run, last);
            if (goes_on(run, last, kind))
                to[1] = last + 1;
            for (unsigned k = 0; k < 2 && !in_loop[i]; k++) {
                uint32_t at = region_block_at(region, to[k]);
                in_loop[i] = at < region->nblocks && (at == 0 || in_loop[at]);
                more |= in_loop[i];
            }
        }
    }
    return in_loop[0];
}

static bool goes_back(const Run *run, const Region *region) {
    for (uint32_t i = 0; i < region->nblocks; i++) {
        uint32_t last = region->blocks[i].pc + region->blocks[i].n - 1;
        if (region_kind(run, last) == RI_BRANCH && region_target(run, last) <= last &&
            region_block_at(region, region_target(run, last)) < region->nblocks)
            return true;
    }
    return false;
}

/* Lengths, for later blocks may have begun inside earlier ones; what there is no room for is dropped. */
static void measure(Run *run, Region *region, uint32_t most) {
    RegionKind last;
    region->ninsts = 0;
    for (uint32_t i = 0; i < region->nblocks; i++) {
        RegionBlock *block = &region->blocks[i];
        block->n = block_length(run, region, block->pc, most - region->ninsts, &last);
        region->ninsts += block->n;
        if (!block->n)
            region->nblocks = i;
    }
}

bool region_find(Run *run, uint32_t pc, unsigned kind, RegionRest without, uint32_t most, Region *out) {
    bool in_loop[REGION_MAX_BLOCKS];
    uint32_t n = 0;
    memset(out, 0, sizeof *out);
    out->kind = kind;
    out->without = without;
    add_block(run, out, pc, true);
    for (uint32_t i = 0; i < out->nblocks && n < most; i++) {
        RegionKind last;
        uint32_t first = out->blocks[i].pc, length = block_length(run, out, first, most, &last);
        n += length;
        if (last >= RI_BRANCH)
            add_successors(run, out, first + length - 1, last);
    }
    measure(run, out, most);
    if (find_loop(run, out, in_loop)) {
        n = 0;
        for (uint32_t i = 0; i < out->nblocks; i++)
            if (in_loop[i])
                out->blocks[n++] = out->blocks[i];
        out->nblocks = n;
        measure(run, out, most);
    }
    for (uint32_t i = 0; i < out->nblocks; i++)
        out->blocks[i].entry |= kind == JIT_MASKED || without == WITHOUT_CODE;
    out->loops = goes_back(run, out);
    return out->nblocks != 0;
}
