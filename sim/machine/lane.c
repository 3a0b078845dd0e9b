/* SPDX-License-Identifier: MIT */
#include "sim/machine/lane.h"
#include "sim/machine/internal.h"
#include <stdlib.h>
#include <string.h>

struct LaneMachine {
    Run run;
    Warp warp;
    MachineResult result;
};

LaneMachine *lane_machine_new(const Binary *b) {
    LaneMachine *m = calloc(1, sizeof *m);
    void *rows = NULL;
    if (!m || posix_memalign(&rows, 1u << 16, ROW_COUNT * ROW_BYTES) != 0) {
        free(m);
        return NULL;
    }
    memset(rows, 0, ROW_COUNT * ROW_BYTES);
    m->run.bin = b;
    m->run.res = &m->result;
    m->run.level = level_find(NULL);
    uint8_t *raw = arena_alloc(&m->run.arena, 5 * ROW_BYTES);
    m->run.zero_rows =
        (const uint32_t *)(const void *)(raw + (ROW_BYTES - (uintptr_t)raw % ROW_BYTES) % ROW_BYTES);
    m->warp.rows = rows;
    m->warp.run = &m->run;
    m->warp.valid = m->warp.active = ~0u;
    m->warp.p[REG_PT] = m->warp.p[PRED_UP + REG_UPT] = ~0u;
    return m;
}

void lane_machine_free(LaneMachine *m) {
    if (!m)
        return;
    arena_free(&m->run.arena);
    free(m->warp.rows);
    free(m);
}

static uint32_t *row(const LaneMachine *m, RegFile file, unsigned reg) {
    return (uint32_t *)(void *)(m->warp.rows + (size_t)((file == RF_UR ? ROW_UR : 0) + reg) * ROW_BYTES);
}

void lane_machine_set(LaneMachine *m, RegFile file, unsigned reg, uint32_t value) {
    if (file == RF_R || file == RF_UR)
        for (unsigned i = 0; i < 32; i++)
            row(m, file, reg)[i] = value;
    else
        m->warp.p[(file == RF_UP ? PRED_UP : 0) + reg] = value ? ~0u : 0;
}
uint32_t lane_machine_get(const LaneMachine *m, RegFile file, unsigned reg) {
    if (file == RF_R || file == RF_UR)
        return row(m, file, reg)[0];
    return m->warp.p[(file == RF_UP ? PRED_UP : 0) + reg] & 1;
}

bool lane_machine_step(LaneMachine *m, const MachInst *in) {
    Dec d = {.inst = in, .optype = in->optype, .mods = in->mods, .guard = REG_PT, .cls = CLS_DATA};
    Bind b = {.run = &m->run, .d = &d, .in = in};
    BindFn *fn = in->optype < OT_COUNT ? m->run.level->bind[in->optype] : NULL;
    if (!fn || !fn(&b) || b.failed || d.cls != CLS_DATA)
        return false;
    return d.full(&m->warp, &d, ~0u) == RUN_OK;
}
