/* Where the boxes of a graph go, and the ways of its edges: a layered layout with nested frames.
 *
 * Each frame is laid out by itself, the inner ones first, and is one box in the frame around it; an edge that
 * crosses a frame has a place on its top (it comes in) or on its bottom (it leaves). In a frame
 *   1. edges that close a cycle (depth first from the entry) are turned around;
 *   2. a box stands one layer below the lowest that leads to it; an edge over several layers bends once in
 *      each, one that goes back also in the layers of its ends, beside them;
 *   3. each layer is put in the order that the neighbours above, then below have (barycentres, then swaps),
 * and the order with the fewest crossings is kept;
 *   4. boxes come as near to their neighbours as the order allows (isotonic regression, layer by layer);
 *   5. between two layers each edge has a level piece on a track of its own, such that no two lie on each
 * other. So upright pieces stand in layers, where they have room of their own, and level pieces between
 * layers: no edge crosses a box. The same graph gives the same picture. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PICTURE_LAYOUT_H
#define HEDDLE_CHECK_PICTURE_LAYOUT_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

#define LAYOUT_NONE UINT32_MAX

typedef struct {
    double x, y; /* y grows downwards */
} LayoutPoint;

typedef struct {
    double width, height;
    uint32_t frame; /* that it is in; LAYOUT_NONE */
    double x, y;    /* set: its upper left corner */
} LayoutBox;

typedef struct {
    uint32_t frame;             /* around it, of a lower number; LAYOUT_NONE */
    double title_width;         /* room that its title needs, at its upper left corner */
    double x, y, width, height; /* set */
} LayoutFrame;

typedef struct {
    uint32_t from, to;         /* boxes */
    bool back;                 /* set: it goes upwards */
    const LayoutPoint *points; /* set: from the lower side of the one to the upper side of the other */
    uint32_t npoints;
} LayoutEdge;

typedef struct {
    LayoutBox *boxes; /* the first is the entry */
    LayoutFrame *frames;
    LayoutEdge *edges;
    uint32_t nboxes, nframes, nedges;
    double width, height; /* set */
} LayoutGraph;

enum { LAYOUT_TITLE_HEIGHT = 15 };

/* Sets what is marked so; the points are in the arena. */
void layout_graph(LayoutGraph *graph, Arena *arena);
#endif
