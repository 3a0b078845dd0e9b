/* Which registers and places of the frame hold values that may differ among lanes, and what an instruction
 * makes of them. uniform.c has the flow. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_STATIC_CELLS_H
#define HEDDLE_CHECK_STATIC_CELLS_H
#include "check/static/internal.h"

/* R0.., P0.., the low halves of R0.., and 32-bit places of the stack frame from R1 on, where spilled
 * registers are; stores through other registers go to the program's own arrays, which do not overlap them.
 * Uniform registers are uniform by nature. ptxas keeps bytes in registers whose other bytes are anything
 * (PRMT R3, RZ, 0x7610, R3): a low half differs among lanes only if its register does. */
enum {
    CELL_P = 256,
    CELL_LOW = 264,
    CELL_FRAME = 520,
    CELLS = 1536, /* frames of 4 KiB: Triton spills 3 KiB of a product of matrices on sm_75 */
    FRAME_WORDS = CELLS - CELL_FRAME,
    WORDS = CELLS / 64
};
typedef struct {
    uint64_t w[WORDS];
} Cells;

static inline bool has(const Cells *cells, unsigned i) { return cells->w[i / 64] >> (i % 64) & 1; }
static inline void set(Cells *cells, unsigned i, bool on) {
    uint64_t bit = (uint64_t)1 << (i % 64);
    cells->w[i / 64] = on ? cells->w[i / 64] | bit : cells->w[i / 64] & ~bit;
}
/* Is there something in `part` that is not in `whole`? */
static inline bool lacks(const Cells *whole, const Cells *part) {
    bool any = false;
    for (unsigned k = 0; k < WORDS; k++)
        any |= (part->w[k] & ~whole->w[k]) != 0;
    return any;
}
static inline bool unite(Cells *to, const Cells *from) {
    bool changed = false;
    for (unsigned k = 0; k < WORDS; k++) {
        changed |= (from->w[k] & ~to->w[k]) != 0;
        to->w[k] |= from->w[k];
    }
    return changed;
}

/* Registers that differ among lanes at most where a predicate has one of its values, along a block: those
 * that @P, the same for all lanes, has written with one value. What reads them under @P finds one value, and
 * when @!P has written one, too, they hold one value whatever P is. */
typedef struct {
    uint8_t side[CELL_FRAME]; /* 1 + 2 * P + negated: the guard under which it is one value; 0: none */
} Halves;

bool check_operand_divergent(const Cells *cells, Operand o);
/* What is divergent behind the instruction; `writes`, unless NULL, gets what it writes. halves: of the
 * instructions before it in its block, kept up to date. together: all lanes of the warp execute it. */
void check_cells_step(const Checker *checker, Cells *cells, Halves *halves, Cells *writes,
                      const MachInst *inst, bool together);
/* May lanes go different ways here? */
bool check_parts_lanes(const Cells *cells, const MachInst *inst);
#endif
