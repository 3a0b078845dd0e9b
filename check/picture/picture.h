/* The control flow of a function as a picture: blocks cut where lanes register at, leave or wait at
 * convergence barriers, and a frame around what the lanes of each barrier may run. The regions are those of
 * heddle report (check/flow/regions.h); one that neither lies in another nor beside it has no frame, its
 * blocks say so. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PICTURE_PICTURE_H
#define HEDDLE_CHECK_PICTURE_PICTURE_H
#include "check/flow/regions.h"
#include "check/picture/lanes.h"
#include "check/picture/layout.h"
#include <stdio.h>

typedef struct {
    uint32_t first, end; /* instructions */
} PicturePart;

typedef struct {
    const BinFlow *flow;
    uint32_t func;
    const BinRegion *regions;
    uint32_t nregions;
    uint32_t *frame_regions; /* [frame] region */
    uint32_t *region_frames; /* [region] frame, or LAYOUT_NONE */
    PicturePart *parts;      /* [box] */
    uint8_t *kinds;          /* [edge] BinEdgeKind */
    LayoutGraph graph;
} Picture;

/* Everything is in the arena; reachable code only. */
void picture_make(Picture *picture, const BinFlow *flow, uint32_t func, Arena *arena);

enum { PICTURE_TEXT_BYTES = 256 };
/* An instruction; targets as offsets in its function, functions that are called by name. */
void picture_text(const BinFlow *flow, uint32_t inst, char out[PICTURE_TEXT_BYTES]);
/* What it has to do with a convergence barrier: "registers", "leaves", "waits"; NULL: nothing. */
const char *picture_role(const BinFlow *flow, uint32_t inst);
/* Offset in the function. */
unsigned picture_offset(const BinFlow *flow, uint32_t inst);
/* "B0 B2": the barriers whose regions the instruction is in, from the outermost; "" for none. */
void picture_inside(const Picture *picture, uint32_t inst, char out[64]);

/* The <svg> element. `anchor`: of the rows of the listing that boxes name; lanes: counts of a run, or NULL.
 * With `style`, which is CSS, it is a file of its own. */
void picture_svg(const Picture *picture, const char *anchor, const Lanes *lanes, const char *style,
                 FILE *out);
/* CSS of the element. */
const char *picture_style(void);
void picture_dot(const Picture *picture, FILE *out);
#endif
