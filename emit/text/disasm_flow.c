/* Blocks, where they lead, and live registers: see disasm_flow.h. Calls come back behind themselves; what
 * they and returns read is everything, since the other side is not looked at. SPDX-License-Identifier: MIT */
#include "emit/text/disasm_flow.h"
#include <string.h>

static bool wide_target(const CodeFlow *flow, uint32_t i, uint32_t *out) {
    const MachInst *in = &flow->insts[i];
    bool has = false;
    for (unsigned k = 0; k < in->nsrc; k++)
        has |= in->src[k].kind == OPK_IMM64;
    int64_t to = ((int64_t)i + 1) * INST_BYTES + in->wide;
    if (!has || to < 0 || to % INST_BYTES || to / INST_BYTES >= flow->ninsts)
        return false;
    *out = (uint32_t)(to / INST_BYTES);
    return true;
}

static unsigned flow_kind(const CodeFlow *flow, uint32_t i) {
    return flow->decoded[i] ? isa_traits(flow->insts[i].optype)->flow : (unsigned)ISA_FLOW_NONE;
}

static bool ends_block(unsigned kind) {
    return kind == ISA_FLOW_BRANCH || kind == ISA_FLOW_INDIRECT || kind == ISA_FLOW_RET ||
           kind == ISA_FLOW_EXIT;
}

static const BinBranchTable *table_at(const BinFunc *f, uint32_t i) {
    for (uint32_t k = 0; f && k < f->ntables; k++)
        if (f->tables[k].pc_bytes == i * INST_BYTES)
            return &f->tables[k];
    return NULL;
}

static void find_leaders(CodeFlow *flow, const BinFunc *f, Bitset *leaders) {
    bs_add(leaders, 0);
    for (uint32_t i = 0; i < flow->ninsts; i++) {
        unsigned kind = flow_kind(flow, i);
        uint32_t to;
        if ((kind == ISA_FLOW_BRANCH || kind == ISA_FLOW_CALL) && wide_target(flow, i, &to))
            bs_add(leaders, to);
        const BinBranchTable *table = kind == ISA_FLOW_INDIRECT ? table_at(f, i) : NULL;
        for (uint32_t k = 0; table && k < table->ntargets; k++)
            bs_add(leaders, table->targets[k] / INST_BYTES);
        if (ends_block(kind) && i + 1 < flow->ninsts)
            bs_add(leaders, i + 1);
    }
}

static void add_next(CodeFlow *flow, FlowBlock *block, uint32_t inst) {
    if (inst < flow->ninsts)
        block->next[block->nnext++] = flow->block_of[inst];
}

static void link_block(CodeFlow *flow, Arena *a, const BinFunc *f, FlowBlock *block) {
    uint32_t last = block->end - 1, to;
    unsigned kind = flow_kind(flow, last);
    const BinBranchTable *table = kind == ISA_FLOW_INDIRECT ? table_at(f, last) : NULL;
    block->next = ARENA_ARRAY(a, uint32_t, 2 + (table ? table->ntargets : 0));
    for (uint32_t k = 0; table && k < table->ntargets; k++)
        add_next(flow, block, table->targets[k] / INST_BYTES);
    block->unknown_next = (kind == ISA_FLOW_INDIRECT && !table) || kind == ISA_FLOW_RET;
    if (kind == ISA_FLOW_BRANCH && wide_target(flow, last, &to))
        add_next(flow, block, to);
    bool always = ends_block(kind) && op_is_always(flow->insts[last].guard);
    for (unsigned k = 0; always && kind != ISA_FLOW_RET && k < flow->insts[last].nsrc; k++) /* BRA P0, L */
        always = !(flow->insts[last].src[k].kind == OPK_REG && flow->insts[last].src[k].file == RF_P &&
                   !op_is_always(flow->insts[last].src[k]));
    if (!always)
        add_next(flow, block, block->end);
}

void disasm_flow_of(CodeFlow *flow, Arena *a, const Target *t, const ElfSection *section, const BinFunc *f) {
    uint32_t n = (uint32_t)(section->h.sh_size / INST_BYTES);
    *flow = (CodeFlow){.target = t, .ninsts = n};
    flow->insts = ARENA_ARRAY(a, MachInst, n);
    flow->decoded = ARENA_ARRAY(a, bool, n);
    flow->block_of = ARENA_ARRAY(a, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *p = section->data + (size_t)i * INST_BYTES;
        char error[ISA_ERROR_BYTES];
        flow->decoded[i] = isa_decode(t, (uint64_t[]){get_u64(p), get_u64(p + 8)}, &flow->insts[i], error);
    }
    Bitset leaders = bs_new(a, n);
    find_leaders(flow, f, &leaders);
    for (uint32_t i = 0; i < n; i++)
        flow->block_of[i] = (flow->nblocks += bs_has(&leaders, i)) - 1;
    flow->blocks = ARENA_ARRAY(a, FlowBlock, flow->nblocks);
    for (uint32_t i = 0; i < n; i++) {
        FlowBlock *block = &flow->blocks[flow->block_of[i]];
        if (bs_has(&leaders, i))
            block->first = i;
        block->end = i + 1;
    }
    for (uint32_t k = 0; k < flow->nblocks; k++)
        link_block(flow, a, f, &flow->blocks[k]);
}

/* ---- live registers ---- */
static void set_cells(uint64_t *set, const CellRef *refs, unsigned n, bool value) {
    for (unsigned k = 0; k < n; k++) {
        uint64_t bit = (uint64_t)1 << (refs[k].cell % 64);
        set[refs[k].cell / 64] = value ? set[refs[k].cell / 64] | bit : set[refs[k].cell / 64] & ~bit;
    }
}

/* Before the instruction, from what is live behind it. */
static void step(const CodeFlow *flow, uint32_t i, uint64_t *set) {
    CellRef refs[MAX_CELL_REFS];
    const MachInst *in = &flow->insts[i];
    if (!flow->decoded[i])
        return;
    if (op_is_always(in->guard))
        set_cells(set, refs, emit_writes(in, refs), false);
    set_cells(set, refs, emit_reads(in, refs), true);
}

static bool live_block(CodeFlow *flow, uint32_t k) {
    const FlowBlock *block = &flow->blocks[k];
    uint64_t set[FLOW_CELL_WORDS] = {0};
    for (uint32_t s = 0; s < block->nnext; s++)
        for (unsigned w = 0; w < FLOW_CELL_WORDS; w++)
            set[w] |= flow->live[flow->blocks[block->next[s]].first][w];
    bool changed = false;
    for (uint32_t i = block->end; i-- > block->first;) {
        step(flow, i, set);
        changed |= i == block->first && memcmp(flow->live[i], set, sizeof set) != 0;
        memcpy(flow->live[i], set, sizeof set);
    }
    return changed;
}

void disasm_flow_live(CodeFlow *flow, Arena *a) {
    flow->live = arena_alloc(a, sizeof *flow->live * (flow->ninsts + 1));
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = flow->nblocks; k-- > 0;)
            changed |= live_block(flow, k);
    }
}

void disasm_flow_count(const CodeFlow *flow, uint32_t inst, unsigned counts[4]) {
    static const uint16_t first[] = {0, CELL_P, CELL_UR, CELL_UP, CELL_COUNT};
    for (unsigned file = 0; file < 4; file++) {
        counts[file] = 0;
        for (unsigned cell = first[file]; cell < first[file + 1]; cell++)
            counts[file] += flow->live[inst][cell / 64] >> (cell % 64) & 1;
    }
}
