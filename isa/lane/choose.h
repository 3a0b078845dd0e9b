/* Which lane function an instruction of integers is, and what its modifiers make of the function's constants:
 * the one place that reads them, for the simulator's handlers, the JIT and the constant folder.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_LANE_CHOOSE_H
#define HEDDLE_ISA_LANE_CHOOSE_H
#include "isa/isa.h"

typedef enum { /* rows of lanes_int.def */
#define LANE(name, ...) LANE_INT_##name,
#define LANE_CARRY(name, ...) LANE_INT_##name,
#define LANE_LOGIC(name, ...) LANE_INT_##name,
#define LANE_SETP(name, ...) LANE_INT_##name,
#include "isa/lane/lanes_int.def"
#undef LANE
#undef LANE_CARRY
#undef LANE_LOGIC
#undef LANE_SETP
               LANE_INT_NONE
} LaneInt;

typedef union {
    // clang-format off
    struct { uint32_t plus /* operands negated without .X */, x; } add; /* IADD3, IMAD */
    struct { uint32_t plus, x, high, sign_extend; } lea;
    struct { uint32_t is_signed, x, high; } product;   /* IMAD.WIDE, IMAD.HI */
    uint32_t anf[8];                                   /* LOP3: coefficients as masks */
    uint32_t number[8];                                /* of an operation without a view; its rows say what they are */
    struct { uint32_t type, wrap, right, high; } shf;
    struct { uint32_t wrap, is_signed; } field;        /* SGXT, BMSK */
    struct { uint32_t unused_, bop; } isetp;           /* bop as a comparison of floats has it */
    struct { uint32_t least, most; } i2i;
    // clang-format on
} LaneMods;

/* What a source is to a lane function: a number of its own, a bit, or a constant. */
typedef enum { LANE_SRC_VECTOR, LANE_SRC_PREDICATE, LANE_SRC_BARRIER, LANE_SRC_NUMBER } LaneSource;
LaneSource lane_source(const Target *target, const MachInst *in, unsigned i);

/* Coefficients of x^i y^j z^k as masks; bit 4 of the table's index is x (0xf0), bit 2 y (0xcc), bit 1 z
 * (0xaa). */
void lane_table_anf(uint32_t lut, uint32_t k[8]);

/* The row of an instruction; LANE_INT_NONE if none computes it: then, too, *mods says what its modifiers
 * mean. `xm` is ~0 for each vector source that is negated or inverted; `predicates`: are results that are
 * predicates wanted? In *bop: how a row with a condition combines it with the predicate source (BoolOp_*). */
LaneInt lane_choose(const MachInst *in, const uint32_t xm[4], bool predicates, LaneMods *mods, uint32_t *bop);

/* What an instruction makes of known sources. */
typedef struct {
    bool has_value, has_predicates;
    uint32_t value;
    bool predicate[2]; /* of the destinations that are predicates, in their order */
} LaneResult;
/* `value` of each source: of a register before its modifiers, of a predicate behind them. False: no lane
 * function of 32 bits computes it. */
bool lane_compute(const Target *target, const MachInst *in, bool predicates,
                  const uint32_t value[MACH_MAX_SRC], LaneResult *out);
#endif
