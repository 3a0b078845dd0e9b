/* Layered layout (check/picture/layout.h) of random graphs in nested frames: what must hold of every picture.
 * Boxes and frames lie in their frames and not on each other; an edge goes from the lower side of its box to
 * the upper side of the other, only upright and level, through no box, and through no frame that neither end
 * is in; no two edges lie on each other but near a common end. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "check/picture/layout.h"
#include <math.h>
#include <string.h>

enum { GRAPHS = 400, MAX_BOXES = 60, MAX_FRAMES = 9, MAX_EDGES = 2 * MAX_BOXES };

typedef struct {
    LayoutGraph graph;
    LayoutBox boxes[MAX_BOXES];
    LayoutFrame frames[MAX_FRAMES];
    LayoutEdge edges[MAX_EDGES];
} Sample;

typedef struct {
    double left, top, right, bottom;
} Rect;

/* Below n. */
static uint32_t rng_below(uint64_t *rng, uint32_t n) { return (uint32_t)(rng_next(rng) % n); }

static void make_sample(Sample *sample, uint64_t *rng) {
    LayoutGraph *graph = &sample->graph;
    memset(sample, 0, sizeof *sample);
    *graph = (LayoutGraph){.boxes = sample->boxes, .frames = sample->frames, .edges = sample->edges};
    graph->nboxes = 1 + rng_below(rng, MAX_BOXES);
    graph->nframes = graph->nboxes > 3 ? rng_below(rng, MAX_FRAMES) : 0;
    for (uint32_t f = 0; f < graph->nframes; f++)
        sample->frames[f] = (LayoutFrame){.frame = f && rng_below(rng, 3) ? rng_below(rng, f) : LAYOUT_NONE,
                                          .title_width = 60 + rng_below(rng, 100)};
    for (uint32_t b = 0; b < graph->nboxes; b++) {
        bool inside = b && graph->nframes && rng_below(rng, 4);
        /* neighbours in the code mostly share their frames */
        uint32_t frame =
            inside ? (b * graph->nframes / graph->nboxes + rng_below(rng, 2)) % graph->nframes : LAYOUT_NONE;
        sample->boxes[b] =
            (LayoutBox){.width = 40 + rng_below(rng, 200), .height = 20 + rng_below(rng, 90), .frame = frame};
    }
    for (uint32_t b = 0; b < graph->nboxes; b++)
        for (uint32_t way = 0, ways = rng_below(rng, 8) ? 1 + rng_below(rng, 2) : 0; way < ways; way++) {
            uint32_t to = !way && b + 1 < graph->nboxes ? b + 1 : rng_below(rng, graph->nboxes);
            sample->edges[graph->nedges++] = (LayoutEdge){.from = b, .to = to};
        }
}

static Rect box_rect(const LayoutBox *box) {
    return (Rect){box->x, box->y, box->x + box->width, box->y + box->height};
}
static Rect frame_rect(const LayoutFrame *frame) {
    return (Rect){frame->x, frame->y, frame->x + frame->width, frame->y + frame->height};
}
static bool within(Rect in, Rect out) {
    return in.left >= out.left && in.right <= out.right && in.top >= out.top && in.bottom <= out.bottom;
}
static bool meet(Rect a, Rect b) {
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

static bool is_in(const LayoutGraph *graph, uint32_t box, uint32_t frame) {
    for (uint32_t at = graph->boxes[box].frame; at != LAYOUT_NONE; at = graph->frames[at].frame)
        if (at == frame)
            return true;
    return false;
}

static bool frame_in(const LayoutGraph *graph, uint32_t inner, uint32_t outer) {
    for (uint32_t at = inner; at != LAYOUT_NONE; at = graph->frames[at].frame)
        if (at == outer)
            return true;
    return false;
}

/* Frames without boxes have no place. */
static bool is_used(const LayoutGraph *graph, uint32_t frame) {
    for (uint32_t b = 0; b < graph->nboxes; b++)
        if (is_in(graph, b, frame))
            return true;
    return false;
}

static void check_places(const LayoutGraph *graph) {
    Rect whole = {0, 0, graph->width, graph->height};
    for (uint32_t b = 0; b < graph->nboxes; b++) {
        Rect rect = box_rect(&graph->boxes[b]);
        assert_true(within(rect, graph->boxes[b].frame == LAYOUT_NONE
                                     ? whole
                                     : frame_rect(&graph->frames[graph->boxes[b].frame])));
        for (uint32_t other = 0; other < b; other++)
            assert_false(meet(rect, box_rect(&graph->boxes[other])));
        for (uint32_t f = 0; f < graph->nframes; f++)
            assert_true(is_in(graph, b, f) || !is_used(graph, f) ||
                        !meet(rect, frame_rect(&graph->frames[f])));
    }
    for (uint32_t f = 0; f < graph->nframes; f++) {
        Rect rect = frame_rect(&graph->frames[f]);
        for (uint32_t other = 0; other < f; other++)
            assert_true(!is_used(graph, f) || !is_used(graph, other) || frame_in(graph, f, other) ||
                        frame_in(graph, other, f) || !meet(rect, frame_rect(&graph->frames[other])));
    }
}

static void check_piece(const LayoutGraph *graph, const LayoutEdge *edge, LayoutPoint one,
                        LayoutPoint other) {
    Rect line = {fmin(one.x, other.x) - .01, fmin(one.y, other.y) - .01, fmax(one.x, other.x) + .01,
                 fmax(one.y, other.y) + .01};
    assert_true(one.x == other.x || one.y == other.y);
    for (uint32_t b = 0; b < graph->nboxes; b++) {
        Rect rect = box_rect(&graph->boxes[b]); /* its sides may be touched */
        assert_false(meet(line, (Rect){rect.left + .1, rect.top + .1, rect.right - .1, rect.bottom - .1}));
    }
    for (uint32_t f = 0; f < graph->nframes; f++)
        assert_true(is_in(graph, edge->from, f) || is_in(graph, edge->to, f) || !is_used(graph, f) ||
                    !meet(line, frame_rect(&graph->frames[f])));
}

static uint32_t level_pieces_that_meet(const LayoutGraph *graph) {
    uint32_t n = 0;
    for (uint32_t a = 0; a < graph->nedges; a++)
        for (uint32_t b = 0; b < a; b++)
            for (uint32_t i = 1; i < graph->edges[a].npoints; i++)
                for (uint32_t k = 1; k < graph->edges[b].npoints; k++) {
                    const LayoutPoint *p = &graph->edges[a].points[i], *q = &graph->edges[b].points[k];
                    if (p->y != p[-1].y || q->y != q[-1].y || p->y != q->y)
                        continue;
                    n += fmin(p->x, p[-1].x) < fmax(q->x, q[-1].x) &&
                         fmin(q->x, q[-1].x) < fmax(p->x, p[-1].x);
                }
    return n;
}

static void random_graphs(void **state) {
    (void)state;
    uint64_t rng = 15;
    uint32_t back = 0, framed = 0, pieces = 0;
    for (uint32_t n = 0; n < GRAPHS; n++) {
        static Sample sample, again;
        Arena a = {0};
        make_sample(&sample, &rng);
        again = sample;
        again.graph.boxes = again.boxes;
        again.graph.frames = again.frames;
        again.graph.edges = again.edges;
        const LayoutGraph *graph = &sample.graph;
        layout_graph(&sample.graph, &a);
        layout_graph(&again.graph, &a);
        check_places(graph);
        assert_int_equal(0, level_pieces_that_meet(graph));
        framed += graph->nframes;
        for (uint32_t e = 0; e < graph->nedges; e++) {
            const LayoutEdge *edge = &graph->edges[e];
            const LayoutBox *from = &graph->boxes[edge->from], *to = &graph->boxes[edge->to];
            const LayoutPoint *first = &edge->points[0], *last = &edge->points[edge->npoints - 1];
            assert_true(edge->npoints >= 2);
            assert_true(first->y == from->y + from->height && first->x > from->x &&
                        first->x < from->x + from->width);
            assert_true(last->y == to->y && last->x > to->x && last->x < to->x + to->width);
            for (uint32_t k = 1; k < edge->npoints; k++, pieces++)
                check_piece(graph, edge, edge->points[k - 1], edge->points[k]);
            back += edge->back;
            assert_int_equal(edge->npoints, again.edges[e].npoints); /* the same picture each time */
            assert_memory_equal(edge->points, again.edges[e].points, edge->npoints * sizeof *edge->points);
        }
        arena_free(&a);
    }
    assert_true(back > 1000 && framed > 800 && pieces > 20000);
}

/* A loop in a frame: what the picture of mandelbrot is. */
static void loop_in_frame(void **state) {
    (void)state;
    LayoutBox boxes[] = {{100, 40, LAYOUT_NONE, 0, 0}, {80, 60, 0, 0, 0}, {90, 30, LAYOUT_NONE, 0, 0}};
    LayoutFrame frames[] = {{.frame = LAYOUT_NONE, .title_width = 70}};
    LayoutEdge edges[] = {{.from = 0, .to = 1}, {.from = 1, .to = 1}, {.from = 1, .to = 2}};
    LayoutGraph graph = {
        .boxes = boxes, .frames = frames, .edges = edges, .nboxes = 3, .nframes = 1, .nedges = 3};
    Arena a = {0};
    layout_graph(&graph, &a);
    check_places(&graph);
    assert_true(boxes[0].y + 40 < frames[0].y && frames[0].y + frames[0].height < boxes[2].y);
    assert_false(edges[0].back);
    assert_true(edges[1].back);
    assert_false(edges[2].back);
    assert_true(edges[1].points[0].y > edges[1].points[edges[1].npoints - 1].y);
    arena_free(&a);
}

/* A routine that is called, to which no edge leads: below the rest, and no tall layer parts the rest. */
static void routine_below(void **state) {
    (void)state;
    LayoutBox boxes[] = {{100, 40, LAYOUT_NONE, 0, 0},
                         {80, 60, LAYOUT_NONE, 0, 0},
                         {90, 900, LAYOUT_NONE, 0, 0},
                         {90, 30, LAYOUT_NONE, 0, 0}};
    LayoutEdge edges[] = {{.from = 0, .to = 1}, {.from = 2, .to = 3}};
    LayoutGraph graph = {.boxes = boxes, .edges = edges, .nboxes = 4, .nedges = 2};
    Arena a = {0};
    layout_graph(&graph, &a);
    check_places(&graph);
    assert_true(boxes[1].y < boxes[0].y + 100);
    assert_true(boxes[2].y > boxes[1].y + 60);
    arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs), cmocka_unit_test(loop_in_frame),
                                       cmocka_unit_test(routine_below)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
