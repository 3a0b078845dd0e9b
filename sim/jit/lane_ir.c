/* Not part of the program: what clang compiles to make lane_table.inc (tests/sim/jit/lane_table.sh), one
 * function a row of isa/lane/lanes.def, and the conditions and carries of those that have them.
 * SPDX-License-Identifier: MIT */
#include "isa/lane/lane.h"

#define ARGUMENTS a, b, c, p, q, k0, k1, k2, k3, k4, k5, k6, k7, k8
#define EXPORT(type, name, aw, bw, cw)                                                                       \
    type lane_ir_##name(LANE_PARAMS(aw, bw, cw));                                                            \
    type lane_ir_##name(LANE_PARAMS(aw, bw, cw)) { return lane_##name(ARGUMENTS); }
#define LANE(name, rw, aw, bw, cw, ks, expr) EXPORT(uint##rw##_t, name, aw, bw, cw)
#define LANE_FLOAT(name, ks, expr) EXPORT(uint32_t, name, 32, 32, 32)
#define LANE_CARRY(name, aw, bw, cw, ks, expr, carries)                                                      \
    EXPORT(uint32_t, name, aw, bw, cw)                                                                       \
    EXPORT(uint32_t, name##_carries, aw, bw, cw)
#define LANE_LOGIC(name, ks, expr) EXPORT(uint32_t, name, 32, 32, 32)
#define LANE_SETP(name, ks, cond) EXPORT(uint32_t, name, 32, 32, 32)
#include "isa/lane/lanes.def"

/* The boolean operation of predicate writes, over lane masks. */
uint32_t lane_ir_bool_op(LANE_PARAMS(32, 32, 32));
uint32_t lane_ir_bool_op(LANE_PARAMS(32, 32, 32)) { return bool_op(k0, a, b); }
