/* Stencils: pieces of machine code, made by clang 19 of stencil_ir.c for the host levels v3 and v4, that are
 * copied one behind the other and whose holes are filled in. stencils_v3.inc and stencils_v4.inc are
 * generated (tests/sim/jit/stencils.sh). SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_STENCIL_H
#define HEDDLE_SIM_JIT_STENCIL_H
#include "sim/jit/image.h"
#include "sim/jit/region.h"
#include "sim/jit/stencil_vector.h"

typedef enum {
#define STENCIL(name) ST_##name,
#include "sim/jit/stencils.def"
#undef STENCIL
    ST_LANES, /* from here on of the rows of lanes.def, in their order */
    ST_before_lanes = ST_LANES - 1,
#define LANE(name, ...) ST_lane_of_##name,
#define LANE_FLOAT(name, ...) ST_lane_of_##name,
#define LANE_CARRY(name, ...) ST_lane_of_##name,
#define LANE_LOGIC(name, ...) ST_lane_of_##name,
#define LANE_SETP(name, ...) ST_lane_of_##name,
#include "isa/lane/lanes.def"
#undef LANE
#undef LANE_FLOAT
#undef LANE_CARRY
#undef LANE_LOGIC
#undef LANE_SETP
    ST_COUNT
} StencilId;

/* What is to be written over 4 bytes. A to H: the number; K: how far it is to a word with the constant; T0,
 * T1, NEXT: to where it goes on; POOL: to the level's constants. */
typedef enum {
    HOLE_A,
    HOLE_H = HOLE_A + 7,
    HOLE_K0,
    HOLE_K8 = HOLE_K0 + 8,
    HOLE_T0,
    HOLE_T1,
    HOLE_NEXT,
    HOLE_POOL,
    HOLE_VECTOR /* and the other fields of VectorField: a register of a vector, whose number is the addend */
} StencilHoleKind;
typedef struct {
    uint8_t kind;
    uint16_t at;
    int16_t addend;
} StencilHole;
typedef struct {
    uint32_t bytes; /* where they begin */
    uint16_t size, hole, nholes;
    uint32_t vectors; /* registers that it names */
} Stencil;
typedef struct { /* of a host level */
    const char *level;
    unsigned lanes, vectors; /* in a vector; registers */
    const uint64_t *bytes, *pool;
    uint32_t pool_bytes;
    const Stencil *stencils;
    const StencilHole *holes;
} StencilSet;
/* NULL: there is none for the level. */
const StencilSet *stencil_set(const char *level);

/* Code of the region: as the interpreter executes it, copied from stencils. */
void stencil_region(const StencilSet *set, const Run *run, const Region *region, ImageBytes *out);
#endif
