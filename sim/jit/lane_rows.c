/* What the rows of lanes.def say beside their functions. SPDX-License-Identifier: MIT */
#include "sim/jit/region.h"
#include "isa/lane/lane.h"
#include <string.h>

#define K(field) dec->field
#define STRIP(...) __VA_ARGS__
#define CONSTANTS(name, ks)                                                                                  \
    static void constants_##name(UNUSED const Dec *dec, uint32_t k[]) {                                      \
        const uint32_t values[LANE_MAX_KS] = {STRIP ks};                                                     \
        memcpy(k, values, sizeof values);                                                                    \
    }
#define LANE(name, rw, aw, bw, cw, ks, expr) CONSTANTS(name, ks)
#define LANE_FLOAT(name, ks, expr) CONSTANTS(name, ks)
#define LANE_CARRY(name, aw, bw, cw, ks, expr, carries) CONSTANTS(name, ks)
#define LANE_LOGIC(name, ks, expr) CONSTANTS(name, ks)
#define LANE_SETP(name, ks, cond) CONSTANTS(name, ks)
#include "isa/lane/lanes.def"
#undef LANE
#undef LANE_FLOAT
#undef LANE_CARRY
#undef LANE_LOGIC
#undef LANE_SETP

#define ROW(name, kind, rw, aw, bw, cw) {LF_##name, kind, rw, {aw, bw, cw}, constants_##name},
#define LANE(name, rw, aw, bw, cw, ks, expr) ROW(name, LANE_DATA, rw, aw, bw, cw)
#define LANE_FLOAT(name, ks, expr) ROW(name, LANE_DATA, 32, 32, 32, 32)
#define LANE_CARRY(name, aw, bw, cw, ks, expr, carries) ROW(name, LANE_CARRIES, 32, aw, bw, cw)
#define LANE_LOGIC(name, ks, expr) ROW(name, LANE_WITH_LOGIC, 32, 32, 32, 32)
#define LANE_SETP(name, ks, cond) ROW(name, LANE_SETS, 32, 32, 32, 32)
const LaneRow lane_rows[] = {
#include "isa/lane/lanes.def"
};
#undef LANE
#undef LANE_FLOAT
#undef LANE_CARRY
#undef LANE_LOGIC
#undef LANE_SETP

#define LANE(...) +1
#define LANE_FLOAT(...) +1
#define LANE_CARRY(...) +1
#define LANE_LOGIC(...) +1
#define LANE_SETP(...) +1
static const unsigned part_rows[LANE_PARTS] = {0
#include "isa/lane/lanes_int.def"
                                               ,
                                               0
#include "isa/lane/lanes_float.def"
                                               ,
                                               0
#include "isa/lane/lanes_cvt.def"
};

const LaneRow *lane_row_of(const Level *level, OpFn *full) {
    const LaneRow *row = lane_rows;
    for (unsigned part = 0; part < LANE_PARTS; part++)
        for (unsigned i = 0; i < part_rows[part]; i++, row++)
            if (level->lanes[part][i].full == full)
                return row;
    return NULL;
}

uint32_t lane_row_reads(const LaneRow *row) {
    uint32_t reads = 0;
    unsigned last = row->fn + (row->kind == LANE_CARRIES);
    for (unsigned fn = row->fn; fn <= last; fn++) {
        const LaneFunction *f = &lane_functions[fn];
        if (f->result < LANE_PARAM_COUNT)
            reads |= 1u << f->result;
        for (unsigned i = 0; i < f->count; i++)
            for (unsigned k = 0; k < 3; k++)
                if (lane_insts[f->first + i].arg[k] < LANE_PARAM_COUNT)
                    reads |= 1u << lane_insts[f->first + i].arg[k];
    }
    return reads;
}
