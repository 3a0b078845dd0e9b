/* Layered layout: places of what stands in layers, tracks of level pieces. See layout.h.
 * SPDX-License-Identifier: MIT */
#include "check/picture/layout_level.h"
#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 24, MARGIN = 9, CORNER = 8 };
static const double box_gap = 18, bend_gap = 9, port_gap = 11, near_by = 5;

/* ---- isotonic regression ---- */

typedef struct {
    double sum, weight; /* of what stands together, moved to its first place */
    uint32_t n;
} Pool;

/* at[]: the places nearest to want[] (least weighted squares) of which each is gap[k] or more behind the one
 * before. */
static void spread_places(Arena *a, double *at, const double *want, const double *weight, const double *gap,
                          uint32_t n) {
    ArenaMark mark = arena_mark(a);
    Pool *pools = ARENA_ARRAY(a, Pool, n + 1);
    double *moved = ARENA_ARRAY(a, double, n + 1);
    uint32_t top = 0;
    for (uint32_t k = 0; k < n; k++) {
        moved[k] = k ? moved[k - 1] + gap[k] : 0;
        pools[top++] = (Pool){(want[k] - moved[k]) * weight[k], weight[k], 1};
        while (top > 1 &&
               pools[top - 2].sum * pools[top - 1].weight >= pools[top - 1].sum * pools[top - 2].weight) {
            pools[top - 2].sum += pools[top - 1].sum;
            pools[top - 2].weight += pools[top - 1].weight;
            pools[top - 2].n += pools[top - 1].n;
            top--;
        }
    }
    for (uint32_t p = 0, k = 0; p < top; p++)
        for (uint32_t i = 0; i < pools[p].n; i++, k++)
            at[k] = moved[k] + pools[p].sum / pools[p].weight;
    arena_release(a, mark);
}

/* ---- ends of links at boxes ---- */

typedef struct {
    LinkEnd *end;
    double other; /* where the link's other end is */
} Port;

static int compare_ports(const void *a, const void *b) {
    const Port *one = a, *other = b;
    if (one->end->item != other->end->item)
        return one->end->item < other->end->item ? -1 : 1;
    return (one->other > other->other) - (one->other < other->other);
}

static double frame_port(const Level *level, const Item *item, const Link *link) {
    return level->ports[item->which][level->spans.at[link->span].edge];
}

/* The ends on one side of a channel, box by box, in the order of their other ends; `settle`: as near to these
 * as the box is wide, otherwise around its middle. */
static void set_ports(Level *level, uint32_t channel, bool low, bool settle) {
    const Layer *layer = &level->layers[channel];
    Port *ports = ARENA_ARRAY(level->arena, Port, 2 * layer->links.n + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < layer->links.n; k++) {
        Link *link = &level->links.at[layer->links.at[k]];
        for (unsigned e = 0; e < 2; e++) {
            const Item *item = &level->items.at[link->ends[e].item];
            if (link->ends[e].low != low)
                continue;
            if (item->kind == ITEM_FRAME)
                link->ends[e].off = frame_port(level, item, link);
            else if (item->kind == ITEM_BOX)
                ports[n++] = (Port){&link->ends[e], layout_end_x(level, &link->ends[!e])};
        }
    }
    qsort(ports, n, sizeof *ports, compare_ports);
    for (uint32_t first = 0, end; first < n; first = end) {
        const Item *item = &level->items.at[ports[first].end->item];
        for (end = first; end < n && ports[end].end->item == ports[first].end->item;)
            end++;
        uint32_t count = end - first;
        double step = fmin(port_gap, (item->width - 2 * CORNER) / (count > 1 ? count - 1 : 1));
        double *want = ARENA_ARRAY(level->arena, double, 4 * count), *at = want + count, *one = at + count,
               *gap = one + count;
        for (uint32_t k = 0; k < count; k++) {
            one[k] = 1;
            gap[k] = step;
            want[k] = fmin(fmax(ports[first + k].other - item->x, (double)CORNER + step * k),
                           item->width - (double)CORNER - step * (count - 1 - k));
        }
        spread_places(level->arena, at, want, one, gap, count);
        for (uint32_t k = 0; k < count; k++)
            ports[first + k].end->off =
                settle ? floor(2 * at[k] + 0.5) / 2 : item->width / 2 + step * (k - (count - 1) / 2.0);
    }
}

/* ---- x ---- */

static double gap_between(const Item *one, const Item *other) {
    bool thin = one->kind > ITEM_TITLE || other->kind > ITEM_TITLE;
    return one->width + (thin ? bend_gap : box_gap);
}

static void pull(const Level *level, const Link *link, unsigned end, double *sum, double *weight) {
    const Item *own = &level->items.at[link->ends[end].item],
               *other = &level->items.at[link->ends[!end].item];
    double w = own->kind == ITEM_BEND && other->kind == ITEM_BEND   ? 8
               : own->kind == ITEM_BEND || other->kind == ITEM_BEND ? 2
                                                                    : 1;
    double x = layout_end_x(level, &link->ends[!end]) - link->ends[end].off;
    if (own->layer == other->layer) { /* a way back: beside the box */
        if (own->kind != ITEM_BEND)
            return;
        x = own->order > other->order ? other->x + other->width + bend_gap : other->x - bend_gap;
        w = 2;
    }
    sum[own->order] += w * x;
    weight[own->order] += w;
}

/* Each item of the layer to the mean of its neighbours above, below, or both (1, 2, 3). */
static void place_layer(Level *level, uint32_t index, unsigned sides) {
    Layer *layer = &level->layers[index];
    uint32_t n = layer->items.n;
    ArenaMark mark = arena_mark(level->arena);
    double *sum = ARENA_ARRAY(level->arena, double, 5 * n + 1), *weight = sum + n, *want = weight + n,
           *gap = want + n, *at = gap + n;
    for (unsigned side = 0; side < 2; side++) {
        const Layer *channel = &level->layers[index + side];
        for (uint32_t k = 0; sides >> side & 1 && k < channel->links.n; k++) {
            const Link *link = &level->links.at[channel->links.at[k]];
            for (unsigned end = 0; end < 2; end++)
                if (level->items.at[link->ends[end].item].layer == index && link->ends[end].low == !side)
                    pull(level, link, end, sum, weight);
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        const Item *item = &level->items.at[layer->items.at[k]];
        want[k] = weight[k] > 0 ? sum[k] / weight[k] : item->x;
        weight[k] = weight[k] > 0 ? weight[k] : 0.01;
        gap[k] = k ? gap_between(&level->items.at[layer->items.at[k - 1]], item) : 0;
    }
    spread_places(level->arena, at, want, weight, gap, n);
    for (uint32_t k = 0; k < n; k++)
        level->items.at[layer->items.at[k]].x = at[k];
    arena_release(level->arena, mark);
}

/* A bend nearly below the one before comes right below it, if that leaves its neighbours their room. */
static void straighten(Level *level) {
    for (uint32_t s = 0; s < level->spans.n; s++)
        for (uint32_t k = 1; k < level->spans.at[s].nbends; k++) {
            Item *bend = &level->items.at[level->spans.at[s].bend + k];
            const Layer *layer = &level->layers[bend->layer];
            double x = bend[-1].x;
            const Item *left = bend->order ? &level->items.at[layer->items.at[bend->order - 1]] : NULL;
            const Item *right =
                bend->order + 1 < layer->items.n ? &level->items.at[layer->items.at[bend->order + 1]] : NULL;
            if (fabs(x - bend->x) <= near_by && (!left || left->x + left->width + near_by <= x) &&
                (!right || x + near_by <= right->x))
                bend->x = x;
        }
}

static void place_items(Level *level) {
    for (uint32_t k = 0; k < level->nlayers; k++) {
        double x = 0;
        for (uint32_t i = 0; i < level->layers[k].items.n; i++) {
            Item *item = &level->items.at[level->layers[k].items.at[i]];
            item->x = x;
            x += gap_between(item, item);
        }
    }
    for (unsigned round = 0; round <= ROUNDS; round++) {
        for (uint32_t k = 0; round % 4 == 0 && k <= level->nlayers; k++) {
            set_ports(level, k, false, false);
            set_ports(level, k, true, false);
        }
        for (uint32_t k = 0; k < level->nlayers; k++)
            place_layer(level, round % 2 ? level->nlayers - 1 - k : k,
                        round == ROUNDS ? 3
                        : round % 2     ? 2
                                        : 1);
    }
    double left = 1e30, right = 0;
    for (uint32_t k = 0; k < level->items.n; k++) {
        Item *item = &level->items.at[k];
        item->x = floor(item->x);
        left = item->kind == ITEM_TITLE ? left : fmin(left, item->x);
    }
    straighten(level);
    for (uint32_t k = 0; k < level->items.n; k++) { /* at the left of the whole, whatever is in its layer */
        Item *item = &level->items.at[k];
        const Layer *layer = &level->layers[item->layer];
        if (item->kind != ITEM_TITLE)
            continue;
        if (layer->items.n > 1) {
            const Item *next = &level->items.at[layer->items.at[1]];
            left = fmin(left, next->x - gap_between(item, next));
        }
        item->x = left;
    }
    for (uint32_t k = 0; k < level->items.n; k++) {
        Item *item = &level->items.at[k];
        item->x += (double)MARGIN - left;
        right = fmax(right, item->x + item->width);
    }
    for (uint32_t k = 0; k <= level->nlayers; k++)
        for (unsigned again = 0; again < 2; again++) {
            set_ports(level, k, false, true);
            set_ports(level, k, true, true);
        }
    level->width = right + (double)MARGIN;
}

/* ---- tracks ---- */

typedef struct {
    double left, right;
    uint32_t link;
    bool level; /* it has a level piece at all */
} Run;

/* Where two upright pieces stand on each other, the one that comes from above is to turn first. */
static bool turns_before(const Level *level, const Link *one, const Link *other) {
    for (unsigned a = 0; a < 2; a++)
        for (unsigned b = 0; b < 2; b++)
            if (!one->ends[a].low && other->ends[b].low &&
                fabs(layout_end_x(level, &one->ends[a]) - layout_end_x(level, &other->ends[b])) < near_by)
                return true;
    return false;
}

static int compare_runs(const void *a, const void *b) {
    const Run *one = a, *other = b;
    if (one->left != other->left)
        return one->left < other->left ? -1 : 1;
    return (one->link > other->link) - (one->link < other->link);
}

/* The first track from `least` on where no run of `runs[0 .. n)` that has one lies beside this one. */
static uint32_t free_track(const Level *level, const Run *runs, const bool *done, uint32_t n, const Run *run,
                           uint32_t least) {
    for (uint32_t track = least;; track++) {
        bool taken = false;
        for (uint32_t k = 0; k < n && !taken; k++)
            taken = done[k] && runs[k].level && level->links.at[runs[k].link].track == track &&
                    runs[k].left < run->right + near_by && run->left < runs[k].right + near_by;
        if (!taken)
            return track;
    }
}

static uint32_t set_tracks(Level *level, const Layer *channel) {
    uint32_t n = channel->links.n, tracks = 0;
    ArenaMark mark = arena_mark(level->arena);
    Run *runs = ARENA_ARRAY(level->arena, Run, n + 1);
    bool *done = ARENA_ARRAY(level->arena, bool, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        const Link *link = &level->links.at[channel->links.at[k]];
        double x[2] = {layout_end_x(level, &link->ends[0]), layout_end_x(level, &link->ends[1])};
        runs[k] = (Run){fmin(x[0], x[1]), fmax(x[0], x[1]), channel->links.at[k], x[0] != x[1]};
    }
    qsort(runs, n, sizeof *runs, compare_runs);
    for (uint32_t left = n; left;) {
        uint32_t taken = left;
        for (unsigned force = 0; force < 2 && taken == left;
             force++) /* where each waits for another, the first goes */
            for (uint32_t k = 0; k < n && !(force && taken != left); k++) {
                Link *link = &level->links.at[runs[k].link];
                uint32_t least = 0;
                bool ready = !done[k];
                for (uint32_t other = 0; other < n && ready; other++) {
                    const Link *second = &level->links.at[runs[other].link];
                    if (other == k || !runs[other].level || !runs[k].level ||
                        !turns_before(level, second, link))
                        continue;
                    ready = done[other] || force;
                    if (done[other] && second->track >= least)
                        least = second->track + 1;
                }
                if (!ready)
                    continue;
                link->track = runs[k].level ? free_track(level, runs, done, n, &runs[k], least) : 0;
                done[k] = true;
                left--;
                if (runs[k].level && link->track >= tracks)
                    tracks = link->track + 1;
            }
    }
    arena_release(level->arena, mark);
    return tracks;
}

void layout_place(Level *level) {
    double y = 0;
    place_items(level);
    for (uint32_t k = 0; k <= level->nlayers; k++) {
        Layer *layer = &level->layers[k];
        uint32_t tracks = set_tracks(level, layer);
        bool outer = k == 0 || k == level->nlayers;
        layer->channel_height = !layer->links.n ? (outer ? 3 : 8) : tracks ? 22 + 7.0 * (tracks - 1) : 20;
        y += layer->channel_height;
        layer->y = y;
        layer->height = 0;
        for (uint32_t i = 0; i < layer->items.n; i++)
            layer->height = fmax(layer->height, level->items.at[layer->items.at[i]].height);
        y += layer->height;
    }
    level->height = y + (level->layers[level->nlayers].links.n ? 0 : 3);
}
