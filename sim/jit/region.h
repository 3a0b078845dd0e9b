/* Regions: which instructions are compiled together. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_REGION_H
#define HEDDLE_SIM_JIT_REGION_H
#include "sim/jit/lane_table.h"
#include "sim/machine/jit.h"

enum { REGION_MAX_INSTS = 320, REGION_MAX_BLOCKS = 96 };

/* How an instruction is compiled. */
typedef enum {
    RI_LANE,    /* its lane function */
    RI_HANDLER, /* its handler, which reads and writes its operands */
    RI_BRANCH,  /* BRA whose condition is the guard alone; ends the block */
    RI_CONTROL, /* its handler, which reads and writes its operands: B registers and barriers; ends the block
                 */
    RI_ANY      /* its handler, which may do anything; ends the block */
} RegionKind;

typedef enum { LANE_DATA, LANE_CARRIES, LANE_WITH_LOGIC, LANE_SETS } LaneKind;
typedef struct { /* a row of lanes.def */
    LaneFn fn;
    LaneKind kind;
    uint8_t result_bits, bits[3];
    void (*constants)(const Dec *dec, uint32_t k[]);
} LaneRow;
/* The lane function that a handler runs; NULL: none. */
const LaneRow *lane_row_of(const Level *level, OpFn *full);
/* Parameters (bits) of which its functions may depend. */
uint32_t lane_row_reads(const LaneRow *row);
extern const LaneRow lane_rows[];

typedef struct {
    uint32_t pc, n; /* instructions */
    bool entry;     /* warps may come here from outside */
} RegionBlock;
/* What a region leaves out: nothing, what has code of LLVM's, what has any, or that where each block becomes
 * an entry. */
typedef enum { WITHOUT_NOTHING, WITHOUT_BEST, WITHOUT_COPIED, WITHOUT_CODE } RegionRest;
typedef struct {
    RegionBlock blocks[REGION_MAX_BLOCKS];
    uint32_t nblocks, ninsts;
    unsigned kind;
    RegionRest without;
    bool shared; /* other threads write global memory meanwhile */
    bool loops;  /* a branch in it goes back */
} Region;

/* Rows and predicates (bits) that an instruction names, and those of them that it writes; the others it
 * reads. */
typedef struct {
    bool rows[ROW_COUNT], written[ROW_COUNT];
    uint32_t preds, preds_written;
} RegionOperands;
RegionOperands region_operands(const Run *run, uint32_t pc);

/* The instruction in run->jit->host.ahead, decoded if it has not been; NULL: it cannot be. */
const Dec *region_dec(Run *run, uint32_t pc);
bool region_reads_bank(const Dec *dec);              /* has it an operand in a constant bank? */
RegionKind region_kind(const Run *run, uint32_t pc); /* of one that is there */
/* The loop in which pc is or, where it is in none, what is reached from pc; as much of it as a region of
 * `most` instructions (REGION_MAX_INSTS at most) has room for. False: nothing. Where code is for diverged
 * warps, as their lanes part, or what has code is left out, as it is wanted at once, warps come to any block
 * from outside. */
bool region_find(Run *run, uint32_t pc, unsigned kind, RegionRest without, uint32_t most, Region *out);
static inline const Dec *region_known(const Run *run, uint32_t pc) { return run->jit->host.ahead[pc]; }
/* Index of the block that begins at pc; nblocks if none does. */
uint32_t region_block_at(const Region *region, uint32_t pc);
/* The target of a RI_BRANCH; ncode or more: none. */
uint32_t region_target(const Run *run, uint32_t pc);
#endif
