/* The parts that a page is made of. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PICTURE_PAGE_PARTS_H
#define HEDDLE_CHECK_PICTURE_PAGE_PARTS_H
#include "check/picture/page.h"

typedef struct { /* functions that a side shows: the kernel and what it calls */
    uint32_t *funcs;
    uint32_t n;
} PageFuncs;

/* "a", "a2-": what the rows of a function's listing begin with; `letter` is the side's. */
void page_anchor(char letter, const PageSide *side, uint32_t func, char out[16]);

/* Machine code of a side, a table for each function. */
void page_code(const PageSide *side, const PageFuncs *funcs, char letter, Arena *arena, FILE *out);
/* PTX and source lines of these functions; nothing where there is nothing. */
void page_ptx(const PageInput *page, const PageFuncs *funcs, FILE *out);
void page_source(const PageInput *page, const PageFuncs *funcs, Arena *arena, FILE *out);
/* Lanes of some warps over time. */
void page_lanes(const PageSide *side, FILE *out);
void page_lane_legend(FILE *out);
#endif
