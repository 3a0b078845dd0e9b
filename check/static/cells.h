/* Which registers and places of the frame hold values that may differ among lanes, and what an instruction
 * makes of them. uniform.c has the flow. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_STATIC_CELLS_H
#define HEDDLE_CHECK_STATIC_CELLS_H
#include "check/static/internal.h"

/* R0.., P0.., and 32-bit places of the stack frame from R1 on, where spilled registers are; stores through
 * other registers go to the program's own arrays, which do not overlap them. Uniform registers are uniform by
 * nature. */
enum {
    CELL_P = 256,
    CELL_FRAME = 264,
    CELLS = 1280, /* frames of 4 KiB: Triton spills 3 KiB of a product of matrices on sm_75 */
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

bool check_operand_divergent(const Cells *cells, Operand o);
/* What is divergent behind the instruction; `writes`, unless NULL, gets what it writes. together: all lanes
 * of the warp execute it. */
void check_cells_step(const Checker *checker, Cells *cells, Cells *writes, const MachInst *inst,
                      bool together);
/* May lanes go different ways here? */
bool check_parts_lanes(const Cells *cells, const MachInst *inst);
#endif
