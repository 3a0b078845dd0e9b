/* Rows that the straight beginning of a kernel writes before anybody can read them: no warp of 32 lanes needs
 * them to be 0 when it starts. Where a kernel has few instructions it takes as long to clear its rows as to
 * execute four or five; after a branch there are so many that nobody would see it, and this ends.
 *
 * All lanes execute the beginning, up to a guarded EXIT. What stands behind that counts only where the kernel
 * ends with the beginning: in what comes later lanes may look at rows of others, that ended here.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"

uint32_t machine_operand_rows(Operand operand, unsigned regs, uint32_t *row) {
    bool uniform = operand.file == RF_UR;
    uint32_t zero = uniform ? REG_URZ : REG_RZ, n = regs > operand.count ? regs : operand.count;
    if (operand.kind != OPK_REG || (operand.file != RF_R && !uniform) || operand.value >= zero)
        return 0;
    *row = operand.value + (uniform ? ROW_UR : 0);
    n = n ? n : 1;
    return n < zero - operand.value ? n : zero - operand.value;
}

static bool is_true(Operand guard) {
    return guard.kind != OPK_REG || ((guard.value & 7) == REG_PT && !(guard.mods & OPM_NOT));
}
/* Does it depend on a predicate whether a lane executes it? */
static bool is_conditional(const MachInst *in) {
    uint8_t second = isa_traits(in->optype)->second_guard;
    return !is_true(in->guard) || (second < in->nsrc && !is_true(in->src[second]));
}

/* Each lane, or the warp, goes on behind it, with what it names as all that it reads and writes. */
static bool is_straight(unsigned optype) {
    const OpTraits *traits = isa_traits(optype);
    return traits->lanes != ISA_LANES_COLLECTIVE && traits->flow <= ISA_FLOW_NOP;
}

static void read_rows(const Target *target, const MachInst *in, const RowSet *written, RowSet *read) {
    for (unsigned i = 0; i < in->nsrc; i++) {
        uint32_t row = 0, n = machine_operand_rows(in->src[i], isa_src_regs(target, in, i), &row);
        for (; n--; row++)
            if (!row_set_has(written, row))
                row_set_add(read, row, 1);
    }
}

static void write_rows(const Target *target, const MachInst *in, RowSet *written) {
    bool all = !is_conditional(in) && !isa_has_effect(in->optype, ISA_EFFECT_ATOMIC);
    for (unsigned i = 0; all && i < in->ndst; i++) {
        uint32_t row = 0, n = machine_operand_rows(in->dst[i], isa_dst_regs(target, in, i), &row);
        row_set_add(written, row, n);
    }
}

void machine_name_rows(Run *run, uint32_t row, uint32_t n) {
    row_set_add(&run->named, row, n);
    for (; n--; row++)
        if (!row_set_has(&run->written_first, row))
            row_set_add(&run->cleared, row, 1);
}

void machine_find_written_first(Run *run) {
    const Target *target = run->bin->target;
    RowSet written = {0}, by_all_lanes = {0}, read = {0};
    bool parted = false, ended = false;
    for (uint32_t pc = run->first_pc; pc < run->ncode && !ended; pc++) {
        char error[ISA_ERROR_BYTES];
        MachInst room;
        const MachInst *in = binary_inst(run->bin, run->code, pc, &room, error);
        if (!in || (in->optype != OT_EXIT && !is_straight(in->optype)))
            break;
        if (in->optype == OT_EXIT) {
            ended = !is_conditional(in);
            parted = true;
        }
        read_rows(target, in, &written, &read);
        write_rows(target, in, &written);
        if (!parted)
            by_all_lanes = written;
    }
    run->cleared = (RowSet){0};
    for (unsigned i = 0; i < ROW_SET_WORDS; i++) {
        row_set_add_word(&run->written_first, i,
                         (ended ? ~(uint64_t)0 : by_all_lanes.bits[i]) & ~read.bits[i]);
        row_set_add_word(&run->cleared, i, run->named.bits[i] & ~run->written_first.bits[i]);
    }
}
