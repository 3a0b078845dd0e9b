/* Layered layout: frames, layers, order. See layout.h. SPDX-License-Identifier: MIT */
#include "check/picture/layout_level.h"
#include <string.h>

enum { SWEEPS = 12, SWAPS = 4 };

typedef struct {
    uint32_t frame; /* whose coordinates these are; LAYOUT_NONE: the outermost */
    uint8_t kind;   /* 0 leaves the frame, 1 within it, 2 comes into it */
    LayoutPoint *points;
    uint32_t n;
} Piece;

typedef struct {
    Arena *arena; /* of the work */
    Arena *out;
    LayoutGraph *graph;
    double **ports;
    VEC(Piece) * pieces; /* [edge], inner frames first */
} Layout;

/* ---- 1. what stands in the frame, cycles ---- */

static uint32_t add_item(Level *level, ItemKind kind, uint32_t which, double width, double height) {
    VEC_ADD(level->arena, &level->items,
            ((Item){.kind = (uint8_t)kind, .which = which, .width = width, .height = height}));
    return level->items.n - 1;
}

static void add_span(Level *level, uint32_t edge, uint32_t from, uint32_t to) {
    VEC_ADD(level->arena, &level->spans, ((Span){.edge = edge, .from = from, .to = to}));
}

/* The item of the frame that the box is, or is in. */
static uint32_t item_of_box(const LayoutGraph *graph, uint32_t frame, uint32_t box, const uint32_t *box_items,
                            const uint32_t *frame_items) {
    uint32_t at = graph->boxes[box].frame;
    if (at == frame)
        return box_items[box];
    for (; at != LAYOUT_NONE; at = graph->frames[at].frame)
        if (graph->frames[at].frame == frame)
            return frame_items[at];
    return LAYOUT_NONE;
}

/* Boxes and frames in the order of their first boxes, then the places of edges that come in or leave. */
static void fill_level(Level *level, uint32_t frame) {
    const LayoutGraph *graph = level->graph;
    uint32_t *box_items = ARENA_ARRAY(level->arena, uint32_t, graph->nboxes + 1);
    uint32_t *frame_items = ARENA_ARRAY(level->arena, uint32_t, graph->nframes + 1);
    memset(frame_items, 0xff, sizeof *frame_items * (graph->nframes + 1));
    for (uint32_t b = 0; b < graph->nboxes; b++) {
        const LayoutBox *box = &graph->boxes[b];
        if (box->frame == frame)
            box_items[b] = add_item(level, ITEM_BOX, b, box->width, box->height);
        for (uint32_t at = box->frame; at != LAYOUT_NONE; at = graph->frames[at].frame)
            if (graph->frames[at].frame == frame && frame_items[at] == LAYOUT_NONE)
                frame_items[at] =
                    add_item(level, ITEM_FRAME, at, graph->frames[at].width, graph->frames[at].height);
    }
    if (frame != LAYOUT_NONE)
        add_item(level, ITEM_TITLE, frame, graph->frames[frame].title_width, LAYOUT_TITLE_HEIGHT);
    for (uint32_t e = 0; e < graph->nedges; e++) {
        uint32_t from = item_of_box(graph, frame, graph->edges[e].from, box_items, frame_items);
        uint32_t to = item_of_box(graph, frame, graph->edges[e].to, box_items, frame_items);
        if ((from == LAYOUT_NONE && to == LAYOUT_NONE) ||
            (from == to && level->items.at[from].kind == ITEM_FRAME))
            continue;
        if (from == LAYOUT_NONE)
            from = add_item(level, ITEM_IN, e, 0, 0);
        if (to == LAYOUT_NONE)
            to = add_item(level, ITEM_OUT, e, 0, 0);
        add_span(level, e, from, to);
    }
}

typedef struct {
    Level *level;
    uint32_t *first, *spans; /* spans[first[item] ..] leave the item */
    uint8_t *state;          /* 1 on the way, 2 done */
    uint32_t *order, n;      /* from the end on: reverse post-order */
    double key;
} Search;

static void search_from(Search *search, uint32_t item) {
    search->state[item] = 1;
    search->level->items.at[item].key = search->key++;
    for (uint32_t k = search->first[item]; k < search->first[item + 1]; k++) {
        Span *span = &search->level->spans.at[search->spans[k]];
        span->back = search->state[span->to] == 1;
        if (!search->state[span->to])
            search_from(search, span->to);
    }
    search->state[item] = 2;
    search->order[--search->n] = item;
}

/* Returns how many items the entry leads to; their keys are below that. */
static uint32_t find_cycles(Level *level, uint32_t *order) {
    uint32_t n = level->items.n;
    Search search = {.level = level, .order = order, .n = n};
    search.first = ARENA_ARRAY(level->arena, uint32_t, n + 2);
    search.spans = ARENA_ARRAY(level->arena, uint32_t, level->spans.n + 1);
    search.state = ARENA_ARRAY(level->arena, uint8_t, n + 1);
    for (uint32_t s = 0; s < level->spans.n; s++)
        search.first[level->spans.at[s].from + 2]++;
    for (uint32_t k = 2; k < n + 2; k++)
        search.first[k] += search.first[k - 1];
    for (uint32_t s = 0; s < level->spans.n; s++)
        search.spans[search.first[level->spans.at[s].from + 1]++] = s;
    for (uint32_t k = 0; k < n; k++)
        if (level->items.at[k].kind == ITEM_IN && !search.state[k])
            search_from(&search, k);
    uint32_t first = 0;
    while (first < n && search.state[first])
        first++;
    if (first < n && search.key == 0)
        search_from(&search, first);
    uint32_t led_to = (uint32_t)search.key;
    for (uint32_t k = 0; k < n; k++)
        if (!search.state[k])
            search_from(&search, k);
    return led_to;
}

/* What the entry does not lead to, and has no way into what it leads to (routines that are called), stands
 * below. */
static uint32_t lower_others(Level *level, uint32_t led_to) {
    uint32_t last[2] = {0, 0};
    for (uint32_t s = 0; s < level->spans.n; s++)
        if (level->items.at[level->spans.at[s].from].key >= led_to &&
            level->items.at[level->spans.at[s].to].key < led_to)
            led_to = UINT32_MAX;
    for (uint32_t k = 0; k < level->items.n; k++) {
        const Item *item = &level->items.at[k];
        if (item->kind <= ITEM_FRAME && item->key < led_to && item->layer > last[0])
            last[0] = item->layer;
    }
    last[1] = last[0];
    for (uint32_t k = 0; k < level->items.n; k++) {
        Item *item = &level->items.at[k];
        if (item->kind > ITEM_FRAME || item->key < led_to)
            continue;
        item->layer += last[0] + 1;
        last[1] = item->layer > last[1] ? item->layer : last[1];
    }
    return last[1];
}

/* ---- 2. layers ---- */

static void find_layers(Level *level, bool has_title) {
    uint32_t n = level->items.n, last = 0;
    uint32_t *order = ARENA_ARRAY(level->arena, uint32_t, n + 1);
    uint32_t *first = ARENA_ARRAY(level->arena, uint32_t, n + 2),
             *spans = ARENA_ARRAY(level->arena, uint32_t, level->spans.n + 1);
    uint32_t led_to = find_cycles(level, order);
    for (uint32_t s = 0; s < level->spans.n; s++)
        first[level->spans.at[s].from + 2]++;
    for (uint32_t k = 2; k < n + 2; k++)
        first[k] += first[k - 1];
    for (uint32_t s = 0; s < level->spans.n; s++)
        spans[first[level->spans.at[s].from + 1]++] = s;
    for (uint32_t k = 0; k < n; k++)
        level->items.at[k].layer = has_title && level->items.at[k].kind <= ITEM_FRAME;
    for (uint32_t k = 0; k < n; k++) {
        const Item *item = &level->items.at[order[k]];
        for (uint32_t s = first[order[k]]; s < first[order[k] + 1]; s++) {
            const Span *span = &level->spans.at[spans[s]];
            Item *to = &level->items.at[span->to];
            if (!span->back && to->layer < item->layer + 1)
                to->layer = item->layer + 1;
        }
    }
    last = lower_others(level, led_to);
    bool leaves = false;
    for (uint32_t k = 0; k < n; k++)
        if (level->items.at[k].kind == ITEM_OUT) {
            level->items.at[k].layer = last + 1;
            leaves = true;
        }
    level->nlayers = last + 1 + leaves;
}

static void add_link(Level *level, uint32_t span, LinkEnd from, LinkEnd to) {
    const Item *item = &level->items.at[from.item];
    uint32_t channel = item->layer + !from.low;
    VEC_ADD(level->arena, &level->layers[channel].links, level->links.n);
    VEC_ADD(level->arena, &level->links, ((Link){.span = span, .channel = channel, .ends = {from, to}}));
}

static void bend_span(Level *level, uint32_t s) {
    Span *span = &level->spans.at[s];
    uint32_t from = level->items.at[span->from].layer, to = level->items.at[span->to].layer;
    double key = level->items.at[span->from].key + 0.5;
    uint32_t layer = span->back ? from : from + 1, n = span->back ? from - to + 1 : to - from - 1;
    uint32_t edge = span->edge, last = span->from, end = span->to;
    bool back = span->back, low = false; /* the side of the channel that the way has come to */
    span->bend = level->items.n;
    span->nbends = n;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t bend = add_item(level, ITEM_BEND, edge, 0, 0);
        level->items.at[bend].layer = back ? layer - k : layer + k;
        level->items.at[bend].key = key;
        add_link(level, s, (LinkEnd){.item = last, .low = low}, (LinkEnd){.item = bend, .low = !back});
        last = bend;
        low =
            back; /* upwards the way goes on at the bend's top, which is the low side of the channel there */
    }
    add_link(level, s, (LinkEnd){.item = last, .low = low}, (LinkEnd){.item = end, .low = true});
}

/* ---- 3. order ---- */

static void sort_layer(Level *level, Layer *layer) {
    uint32_t *at = layer->items.at;
    for (uint32_t k = 1; k < layer->items.n; k++) /* nearly sorted after the first time */
        for (uint32_t p = k; p && level->items.at[at[p - 1]].key > level->items.at[at[p]].key; p--) {
            uint32_t item = at[p];
            at[p] = at[p - 1];
            at[p - 1] = item;
        }
    for (uint32_t k = 0; k < layer->items.n; k++)
        level->items.at[at[k]].order = k;
}

static bool passes(const Link *link) { return link->ends[0].low != link->ends[1].low; }

static const Item *end_item(const Level *level, const Link *link, bool low) {
    return &level->items.at[link->ends[link->ends[1].low == low].item];
}

/* Keys of a layer: the mean place of the neighbours above (or below) it. */
static void weigh_layer(Level *level, uint32_t layer, bool above) {
    const Layer *own = &level->layers[layer], *channel = &level->layers[above ? layer : layer + 1];
    double *sum = ARENA_ARRAY(level->arena, double, own->items.n + 1);
    uint32_t *n = ARENA_ARRAY(level->arena, uint32_t, own->items.n + 1);
    for (uint32_t k = 0; k < channel->links.n; k++) {
        const Link *link = &level->links.at[channel->links.at[k]];
        if (passes(link)) {
            uint32_t order = end_item(level, link, above)->order;
            sum[order] += end_item(level, link, !above)->order;
            n[order]++;
            continue;
        }
        const Item *one = &level->items.at[link->ends[0].item], *other = &level->items.at[link->ends[1].item];
        const Item *bend = one->kind == ITEM_BEND ? one : other, *box = one->kind == ITEM_BEND ? other : one;
        if (bend->layer == layer) { /* beside its box */
            sum[bend->order] += box->order + 0.5;
            n[bend->order]++;
        }
    }
    for (uint32_t k = 0; k < own->items.n; k++) {
        Item *item = &level->items.at[own->items.at[k]];
        item->key = item->kind == ITEM_TITLE ? -1 : n[k] ? sum[k] / n[k] : (double)k;
    }
}

static uint64_t count_crossings(const Level *level) {
    uint64_t sum = 0;
    for (uint32_t c = 1; c < level->nlayers; c++) {
        const Layer *channel = &level->layers[c];
        for (uint32_t i = 0; i < channel->links.n; i++)
            for (uint32_t j = i + 1; j < channel->links.n; j++) {
                const Link *a = &level->links.at[channel->links.at[i]],
                           *b = &level->links.at[channel->links.at[j]];
                if (!passes(a) || !passes(b))
                    continue;
                int64_t up = (int64_t)end_item(level, a, false)->order - end_item(level, b, false)->order;
                int64_t down = (int64_t)end_item(level, a, true)->order - end_item(level, b, true)->order;
                sum += up * down < 0;
            }
    }
    return sum;
}

/* Crossings of the links of two neighbours in a layer, as they stand less as they would stand swapped. */
static int64_t swap_gain(const Level *level, uint32_t layer, uint32_t left, uint32_t right) {
    int64_t gain = 0;
    for (unsigned side = 0; side < 2; side++) {
        const Layer *channel = &level->layers[layer + side];
        for (uint32_t i = 0; i < channel->links.n; i++) {
            const Link *a = &level->links.at[channel->links.at[i]];
            if (!passes(a) || end_item(level, a, !side) != &level->items.at[left])
                continue;
            for (uint32_t j = 0; j < channel->links.n; j++) {
                const Link *b = &level->links.at[channel->links.at[j]];
                if (!passes(b) || end_item(level, b, !side) != &level->items.at[right])
                    continue;
                int64_t d = (int64_t)end_item(level, a, side)->order - end_item(level, b, side)->order;
                gain += (d > 0) - (d < 0);
            }
        }
    }
    return gain;
}

static bool swap_in_layer(Level *level, uint32_t layer) {
    Layer *own = &level->layers[layer];
    bool swapped = false;
    for (uint32_t k = 0; k + 1 < own->items.n; k++) {
        uint32_t left = own->items.at[k], right = own->items.at[k + 1];
        if (level->items.at[left].kind == ITEM_TITLE || swap_gain(level, layer, left, right) <= 0)
            continue;
        own->items.at[k] = right;
        own->items.at[k + 1] = left;
        level->items.at[right].order = k;
        level->items.at[left].order = k + 1;
        swapped = true;
    }
    return swapped;
}

static void keep_order(const Level *level, uint32_t *orders) {
    for (uint32_t k = 0; k < level->items.n; k++)
        orders[k] = level->items.at[k].order;
}

static void order_layers(Level *level) {
    uint32_t *best = ARENA_ARRAY(level->arena, uint32_t, level->items.n + 1);
    for (uint32_t k = 0; k < level->nlayers; k++)
        sort_layer(level, &level->layers[k]);
    keep_order(level, best);
    uint64_t fewest = count_crossings(level);
    for (unsigned sweep = 0; sweep < SWEEPS && fewest; sweep++) {
        bool down = sweep % 2 == 0;
        for (uint32_t k = 0; k < level->nlayers; k++) {
            uint32_t layer = down ? k : level->nlayers - 1 - k;
            weigh_layer(level, layer, down);
            sort_layer(level, &level->layers[layer]);
        }
        bool more = true;
        for (unsigned round = 0; round < SWAPS && more; round++) {
            more = false;
            for (uint32_t k = 0; k < level->nlayers; k++)
                more |= swap_in_layer(level, k);
        }
        uint64_t crossings = count_crossings(level);
        if (crossings < fewest) {
            fewest = crossings;
            keep_order(level, best);
        }
    }
    for (uint32_t k = 0; k < level->items.n; k++)
        level->items.at[k].key = best[k];
    for (uint32_t k = 0; k < level->nlayers; k++)
        sort_layer(level, &level->layers[k]);
}

/* ---- all frames ---- */

static void keep_ways(Layout *layout, const Level *level, uint32_t frame) {
    for (uint32_t s = 0, at = 0; s < level->spans.n; s++) {
        const Span *span = &level->spans.at[s];
        uint8_t kind = level->items.at[span->to].kind == ITEM_OUT    ? 0
                       : level->items.at[span->from].kind == ITEM_IN ? 2
                                                                     : 1;
        Piece piece = {.frame = frame, .kind = kind};
        uint32_t end = at;
        while (end < level->links.n && level->links.at[end].span == s)
            end++;
        piece.points = ARENA_ARRAY(layout->arena, LayoutPoint, 4 * (end - at) + 2);
        for (; at < end; at++) {
            const Link *link = &level->links.at[at];
            const Layer *below = &level->layers[link->channel];
            double top = below->y - below->channel_height, y = top + 10 + 7.0 * link->track, x[2];
            for (unsigned k = 0; k < 2; k++) {
                const LinkEnd *link_end = &link->ends[k];
                const Item *item = &level->items.at[link_end->item];
                x[k] = layout_end_x(level, link_end);
                if (k)
                    piece.points[piece.n++] = (LayoutPoint){x[1], y};
                bool box = item->kind <= ITEM_FRAME;
                double edge = item->kind == ITEM_IN    ? 0
                              : item->kind == ITEM_OUT ? level->height
                              : link_end->low          ? below->y
                              : box                    ? level->layers[item->layer].y + item->height
                                                       : top;
                piece.points[piece.n++] = (LayoutPoint){x[k], edge};
                if (!k)
                    piece.points[piece.n++] = (LayoutPoint){x[0], y};
            }
        }
        VEC_ADD(layout->arena, &layout->pieces[span->edge], piece);
        layout->graph->edges[span->edge].back |= span->back;
        const Item *from = &level->items.at[span->from], *to = &level->items.at[span->to];
        if (frame != LAYOUT_NONE && kind != 1)
            layout->ports[frame][span->edge] = kind == 2 ? from->x : to->x;
    }
}

static void lay_out_frame(Layout *layout, uint32_t frame) {
    Level level = {.arena = layout->arena, .graph = layout->graph, .ports = layout->ports};
    fill_level(&level, frame);
    find_layers(&level, frame != LAYOUT_NONE);
    level.layers = ARENA_ARRAY(level.arena, Layer, level.nlayers + 1);
    for (uint32_t s = 0, n = level.spans.n; s < n; s++)
        bend_span(&level, s);
    for (uint32_t k = 0; k < level.items.n; k++) {
        Item *item = &level.items.at[k];
        if (item->kind == ITEM_TITLE)
            item->key = -1;
        VEC_ADD(level.arena, &level.layers[item->layer].items, k);
    }
    order_layers(&level);
    layout_place(&level);
    keep_ways(layout, &level, frame);
    for (uint32_t k = 0; k < level.items.n; k++) {
        const Item *item = &level.items.at[k];
        double y = level.layers[item->layer].y;
        if (item->kind == ITEM_BOX) {
            layout->graph->boxes[item->which].x = item->x;
            layout->graph->boxes[item->which].y = y;
        } else if (item->kind == ITEM_FRAME) {
            layout->graph->frames[item->which].x = item->x;
            layout->graph->frames[item->which].y = y;
        }
    }
    if (frame == LAYOUT_NONE) {
        layout->graph->width = level.width;
        layout->graph->height = level.height;
    } else {
        layout->graph->frames[frame].width = level.width;
        layout->graph->frames[frame].height = level.height;
    }
}

static void add_points(const Layout *layout, LayoutPoint *points, uint32_t *n, const Piece *piece) {
    double x = 0, y = 0;
    if (piece->frame != LAYOUT_NONE) { /* frames have their places on the whole already */
        x = layout->graph->frames[piece->frame].x;
        y = layout->graph->frames[piece->frame].y;
    }
    for (uint32_t k = 0; k < piece->n; k++) {
        LayoutPoint p = {piece->points[k].x + x, piece->points[k].y + y};
        if (*n && points[*n - 1].x == p.x && points[*n - 1].y == p.y)
            continue;
        bool straight = *n > 1 && points[*n - 1].x == p.x && points[*n - 2].x == p.x;
        points[straight ? *n - 1 : (*n)++] = p;
    }
}

static void join_pieces(Layout *layout, uint32_t edge) {
    uint32_t most = 1, n = 0, npieces = layout->pieces[edge].n;
    const Piece *pieces = layout->pieces[edge].at;
    for (uint32_t k = 0; k < npieces; k++)
        most += pieces[k].n;
    LayoutPoint *points = ARENA_ARRAY(layout->out, LayoutPoint, most);
    for (uint32_t k = 0; k < npieces; k++)
        if (pieces[k].kind == 0)
            add_points(layout, points, &n, &pieces[k]);
    for (uint32_t k = 0; k < npieces; k++)
        if (pieces[k].kind == 1)
            add_points(layout, points, &n, &pieces[k]);
    for (uint32_t k = npieces; k-- > 0;)
        if (pieces[k].kind == 2)
            add_points(layout, points, &n, &pieces[k]);
    layout->graph->edges[edge].points = points;
    layout->graph->edges[edge].npoints = n;
}

void layout_graph(LayoutGraph *graph, Arena *arena) {
    Arena work = {0};
    Layout layout = {.arena = &work, .out = arena, .graph = graph};
    layout.ports = ARENA_ARRAY(&work, double *, graph->nframes + 1);
    layout.pieces = arena_alloc(&work, sizeof *layout.pieces * (graph->nedges + 1));
    for (uint32_t f = 0; f < graph->nframes; f++)
        layout.ports[f] = ARENA_ARRAY(&work, double, graph->nedges + 1);
    for (uint32_t e = 0; e < graph->nedges; e++)
        graph->edges[e].back = false;
    for (uint32_t f = graph->nframes; f-- > 0;)
        lay_out_frame(&layout, f);
    lay_out_frame(&layout, LAYOUT_NONE);
    for (uint32_t f = 0; f < graph->nframes; f++) { /* outer frames have lower numbers */
        const LayoutFrame *outer =
            graph->frames[f].frame == LAYOUT_NONE ? NULL : &graph->frames[graph->frames[f].frame];
        graph->frames[f].x += outer ? outer->x : 0;
        graph->frames[f].y += outer ? outer->y : 0;
    }
    for (uint32_t b = 0; b < graph->nboxes; b++) {
        const LayoutFrame *outer =
            graph->boxes[b].frame == LAYOUT_NONE ? NULL : &graph->frames[graph->boxes[b].frame];
        graph->boxes[b].x += outer ? outer->x : 0;
        graph->boxes[b].y += outer ? outer->y : 0;
    }
    for (uint32_t e = 0; e < graph->nedges; e++)
        join_pieces(&layout, e);
    arena_free(&work);
}
