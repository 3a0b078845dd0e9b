/* SPDX-License-Identifier: MIT */
#include "sim/machine/lane.h"
#include "base/scope.h"
#include "sim/machine/internal.h"
#include <stdlib.h>
#include <string.h>

struct LaneMachine {
    Run run;
    Warp warp;
    Cta cta; /* of rank 0, for what asks where it is */
    MachineResult result;
};

LaneMachine *machine_lane_new(const Binary *b) {
    LaneMachine *machine = mem_zeroed(1, sizeof *machine);
    void *rows = mem_aligned(1u << 16, ROW_COUNT * ROW_BYTES);
    memset(rows, 0, ROW_COUNT * ROW_BYTES);
    machine->run.bin = b;
    machine->run.res = &machine->result;
    machine->run.level = machine_level_find(NULL);
    uint8_t *raw = arena_alloc(&machine->run.arena, (MOST_ROWS + 1) * ROW_BYTES);
    machine->run.zero_rows =
        (const uint32_t *)(const void *)(raw + (ROW_BYTES - (uintptr_t)raw % ROW_BYTES) % ROW_BYTES);
    machine->warp.rows = rows;
    machine->warp.run = &machine->run;
    machine->warp.cta = &machine->cta;
    machine->warp.valid = machine->warp.active = ~0u;
    machine->warp.p[REG_PT] = machine->warp.p[PRED_UP + REG_UPT] = ~0u;
    return machine;
}

void machine_lane_free(LaneMachine *machine) {
    if (!machine)
        return;
    arena_free(&machine->run.arena);
    mem_free(machine->warp.rows);
    mem_free(machine);
}

static uint32_t *row(const LaneMachine *machine, RegFile file, unsigned reg) {
    return (uint32_t *)(void *)(machine->warp.rows +
                                (size_t)((file == RF_UR ? ROW_UR : 0) + reg) * ROW_BYTES);
}

void machine_lane_set(LaneMachine *machine, RegFile file, unsigned reg, uint32_t value) {
    if (file == RF_R || file == RF_UR)
        for (unsigned i = 0; i < 32; i++)
            row(machine, file, reg)[i] = value;
    else
        machine->warp.p[(file == RF_UP ? PRED_UP : 0) + reg] = value ? ~0u : 0;
}
uint32_t machine_lane_get(const LaneMachine *machine, RegFile file, unsigned reg) {
    if (file == RF_R || file == RF_UR)
        return row(machine, file, reg)[0];
    return machine->warp.p[(file == RF_UP ? PRED_UP : 0) + reg] & 1;
}

bool machine_lane_step(LaneMachine *machine, const MachInst *in) {
    Dec code[2] = {{.inst = in, .optype = in->optype, .mods = in->mods, .guard = REG_PT, .cls = CLS_DATA},
                   {0}};
    Dec *d = &code[0];
    dec_go(&code[1], machine_run_ends);
    Bind b = {.run = &machine->run, .d = d, .in = in};
    BindFn *fn = in->optype < OT_COUNT ? machine->run.level->bind[in->optype] : NULL;
    if (!fn || !fn(&b) || b.failed || d->cls != CLS_DATA)
        return false;
    machine->warp.prog = code; /* not followed beyond this call */
    return d->full(&machine->warp, d, ~0u) == RUN_OK;
}
