/* The compact table of the lane functions: what clang makes of isa/lane/lanes.def, as straight-line LLVM IR
 * without flags (nsw, nuw, exact, disjoint promise what nobody proves, so they are left out). Values are
 * numbered: 0 to 13 the parameters in the order of isa/lane/lane.h, then the function's instructions; an
 * argument from LANE_CONSTANT on is one of lane_constants. lane_table.inc is generated
 * (tests/sim/jit/lane_table.sh). SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_LANE_TABLE_H
#define HEDDLE_SIM_JIT_LANE_TABLE_H
#include <stdbool.h>
#include <stdint.h>

enum {
    LANE_PARAM_COUNT = 14,
    LANE_PARAM_P = 3,
    LANE_PARAM_K = 5,
    LANE_CONSTANT = 0x8000,
    LANE_MAX_INSTS = 64
};

typedef enum { LT_I1, LT_I32, LT_I64, LT_F32, LT_F64 } LaneType;
typedef enum {
#define LANE_OP(name, ...) LO_##name,
#include "sim/jit/lane_ops.def"
#undef LANE_OP
    LO_COUNT
} LaneOp;
typedef struct {
    uint8_t op, type, pred; /* LaneOp; LaneType of the result; LLVM's number of the relation */
    uint16_t arg[3];
} LaneInst;
typedef struct {
    LaneType type;
    uint64_t bits;
} LaneConstant;
typedef struct {
    const char *label;
    uint16_t first, count; /* in lane_insts */
    uint16_t result;       /* value */
    uint8_t wide;          /* bit i: parameter i has 64 bits */
} LaneFunction;

/* Functions: of each row of lanes.def one, of LANE_CARRY rows the carries behind it, at the end bool_op. */
typedef enum {
#define LANE(name, ...) LF_##name,
#define LANE_FLOAT(name, ...) LF_##name,
#define LANE_CARRY(name, ...) LF_##name, LF_##name##_carries,
#define LANE_LOGIC(name, ...) LF_##name,
#define LANE_SETP(name, ...) LF_##name,
#include "isa/lane/lanes.def"
#undef LANE
#undef LANE_FLOAT
#undef LANE_CARRY
#undef LANE_LOGIC
#undef LANE_SETP
    LF_bool_op,
    LF_COUNT
} LaneFn;

extern const LaneInst lane_insts[];
extern const LaneConstant lane_constants[];
extern const LaneFunction lane_functions[LF_COUNT];

/* The table's own evaluator: function `fn` of parameters in[LANE_PARAM_COUNT]. */
uint64_t lane_evaluate(LaneFn fn, const uint64_t in[LANE_PARAM_COUNT]);
#endif
