/* One frame of a layout while it is made: layout.c puts its boxes in layers, layout_place.c gives them
 * places. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PICTURE_LAYOUT_LEVEL_H
#define HEDDLE_CHECK_PICTURE_LAYOUT_LEVEL_H
#include "check/picture/layout.h"

typedef enum { ITEM_BOX, ITEM_FRAME, ITEM_TITLE, ITEM_IN, ITEM_OUT, ITEM_BEND } ItemKind;

typedef struct { /* what stands in a layer */
    uint8_t kind;
    uint32_t which; /* box, frame or edge */
    uint32_t layer, order;
    double key; /* to sort by */
    double width, height, x;
} Item;

typedef struct { /* the way of an edge through the frame */
    uint32_t edge, from, to;
    uint32_t bend, nbends; /* items, in the order of the way */
    bool back;
} Span;

typedef struct {
    uint32_t item;
    bool low;   /* on the lower side of the channel: the item stands in the layer below, this is its top */
    double off; /* from the item's left side */
} LinkEnd;

typedef struct { /* the piece of a span between two layers, or back into the same */
    uint32_t span, channel;
    LinkEnd ends[2]; /* in the order of the way */
    uint32_t track;
} Link;

typedef struct {
    VEC(uint32_t) items;
    VEC(uint32_t) links; /* of the channel above it */
    double y, height;    /* of the layer; of the channel in channel_height */
    double channel_height;
} Layer;

typedef struct {
    Arena *arena; /* of the work */
    LayoutGraph *graph;
    double **ports; /* [frame][edge] from the frame's left side */
    VEC(Item) items;
    VEC(Span) spans;
    VEC(Link) links;
    Layer *layers; /* one more than there are, for the channel below the last */
    uint32_t nlayers;
    double width, height;
} Level;

/* x of all items, tracks and y of all layers; width and height. */
void layout_place(Level *level);
static inline double layout_end_x(const Level *level, const LinkEnd *end) {
    return level->items.at[end->item].x + end->off;
}
#endif
