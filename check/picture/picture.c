/* Control flow and nested regions as a graph to lay out. See picture.h. SPDX-License-Identifier: MIT */
#include "check/picture/picture.h"
#include "check/picture/picture_lines.h"
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

typedef struct {
    const BinFlow *flow;
    uint32_t func;
} LabelPlace;

static const char *callee_name(void *user, uint64_t offset) {
    const LabelPlace *place = user;
    const BinFunc *own = &place->flow->bin->funcs[place->func];
    const BinFunc *func = binary_func_at(place->flow->bin, own->address + offset);
    return func && func != own ? func->name : NULL;
}

unsigned picture_offset(const BinFlow *flow, uint32_t inst) {
    uint32_t block = flow->block_of[inst];
    return INST_BYTES *
           (block == BINFLOW_NONE ? inst : inst - flow->funcs[flow->blocks[block].func].first_inst);
}

void picture_text(const BinFlow *flow, uint32_t inst, char out[PICTURE_TEXT_BYTES]) {
    uint32_t block = flow->block_of[inst];
    LabelPlace place = {flow, block == BINFLOW_NONE ? 0 : flow->blocks[block].func};
    IsaPrintOptions options = {callee_name, &place};
    if (!flow->decoded[inst] || isa_print(flow->bin->target, &flow->insts[inst], picture_offset(flow, inst),
                                          &options, out, PICTURE_TEXT_BYTES) < 0)
        snprintf(out, PICTURE_TEXT_BYTES, "0x%016llx%016llx", (unsigned long long)flow->bin->code[inst][1],
                 (unsigned long long)flow->bin->code[inst][0]);
}

static BinKind kind_of(const BinFlow *flow, uint32_t inst) {
    return flow->decoded[inst] ? bin_kind(&flow->insts[inst]) : BK_PLAIN;
}

const char *picture_role(const BinFlow *flow, uint32_t inst) {
    switch (kind_of(flow, inst)) {
    case BK_BSSY: return "registers";
    case BK_BREAK: return "leaves";
    case BK_BSYNC: return "waits";
    default: return NULL;
    }
}

static bool is_inside(const Picture *picture, uint32_t region, uint32_t inst) {
    return picture->regions[region].inside[inst - picture->flow->funcs[picture->func].first_inst];
}

void picture_inside(const Picture *picture, uint32_t inst, char out[64]) {
    size_t n = 0;
    uint32_t ndepths = 0;
    *out = 0;
    for (uint32_t r = 0; r < picture->nregions; r++)
        if (picture->regions[r].depth >= ndepths && is_inside(picture, r, inst))
            ndepths = picture->regions[r].depth + 1;
    for (uint32_t depth = 0; depth < ndepths; depth++) /* frames of lower numbers are outside */
        for (uint32_t r = 0; r < picture->nregions && n < 48; r++)
            if (picture->regions[r].depth == depth && is_inside(picture, r, inst))
                n += (size_t)snprintf(out + n, 64 - n, "%sB%u", n ? " " : "", picture->regions[r].reg);
}

/* ---- parts ---- */

static bool cuts_before(const BinFlow *flow, uint32_t inst) { return kind_of(flow, inst) == BK_BSYNC; }

static bool cuts_behind(const BinFlow *flow, uint32_t inst) {
    BinKind kind = kind_of(flow, inst);
    return kind == BK_BSSY || (kind == BK_BREAK && bin_guard(&flow->insts[inst]) == BG_ALWAYS);
}

typedef struct {
    VEC(PicturePart) parts;
    VEC(LayoutEdge) edges;
    VEC(uint8_t) kinds;
    uint32_t *first_part, *last_part; /* [block of the function] */
} Making;

static void cut_block(const BinFlow *flow, const BinBlock *block, Arena *a, Making *making) {
    uint32_t first = block->first, end = block->first + block->ninsts;
    for (uint32_t i = first; i < end; i++) {
        if (i + 1 < end && !cuts_behind(flow, i) && !cuts_before(flow, i + 1))
            continue;
        VEC_ADD(a, &making->parts, ((PicturePart){first, i + 1}));
        first = i + 1;
        if (first < end) {
            VEC_ADD(a, &making->edges, ((LayoutEdge){.from = making->parts.n - 1, .to = making->parts.n}));
            VEC_ADD(a, &making->kinds, BE_NEXT);
        }
    }
}

static void make_parts(Picture *picture, Arena *a) {
    const BinFlow *flow = picture->flow;
    const BinFuncFlow *func = &flow->funcs[picture->func];
    Making making = {.first_part = ARENA_ARRAY(a, uint32_t, func->nblocks + 1),
                     .last_part = ARENA_ARRAY(a, uint32_t, func->nblocks + 1)};
    for (uint32_t b = 0; b < func->nblocks; b++) {
        const BinBlock *block = &flow->blocks[func->first_block + b];
        making.first_part[b] = making.parts.n;
        if (block->reachable && block->ninsts)
            cut_block(flow, block, a, &making);
        making.last_part[b] = making.parts.n - 1;
    }
    for (uint32_t b = 0; b < func->nblocks; b++) {
        const BinBlock *block = &flow->blocks[func->first_block + b];
        for (uint32_t s = 0; block->reachable && block->ninsts && s < block->nsuccs; s++) {
            const BinBlock *to = &flow->blocks[block->succs[s].block];
            if (!to->reachable || !to->ninsts)
                continue;
            VEC_ADD(a, &making.edges,
                    ((LayoutEdge){.from = making.last_part[b],
                                  .to = making.first_part[block->succs[s].block - func->first_block]}));
            VEC_ADD(a, &making.kinds, block->succs[s].kind);
        }
    }
    picture->parts = making.parts.at;
    picture->kinds = making.kinds.at;
    picture->graph.nboxes = making.parts.n;
    picture->graph.edges = making.edges.at;
    picture->graph.nedges = making.edges.n;
}

/* ---- frames ---- */

typedef struct {
    uint32_t region, nparts, first, last; /* its first and last part */
} Candidate;

static int compare_candidates(const void *a, const void *b) { /* the larger, then the earlier */
    const Candidate *one = a, *other = b;
    if (one->nparts != other->nparts)
        return one->nparts > other->nparts ? -1 : 1;
    return (one->region > other->region) - (one->region < other->region);
}

static bool has_part(const Picture *picture, uint32_t region, uint32_t part) {
    return is_inside(picture, region, picture->parts[part].first);
}

/* 0: nothing in common, 1: `inner` lies in `outer`, 2: neither. */
static unsigned relation(const Picture *picture, const Candidate *inner, uint32_t outer) {
    bool common = false, alone = false;
    for (uint32_t p = inner->first; p <= inner->last; p++)
        if (has_part(picture, inner->region, p)) {
            bool both = has_part(picture, outer, p);
            common |= both;
            alone |= !both;
        }
    return !common ? 0 : alone ? 2 : 1;
}

static void make_frames(Picture *picture, Arena *a) {
    LayoutGraph *graph = &picture->graph;
    Candidate *candidates = ARENA_ARRAY(a, Candidate, picture->nregions + 1);
    graph->frames = ARENA_ARRAY(a, LayoutFrame, picture->nregions + 1);
    picture->frame_regions = ARENA_ARRAY(a, uint32_t, picture->nregions + 1);
    picture->region_frames = ARENA_ARRAY(a, uint32_t, picture->nregions + 1);
    for (uint32_t r = 0; r < picture->nregions; r++) {
        candidates[r] = (Candidate){.region = r};
        picture->region_frames[r] = LAYOUT_NONE;
        for (uint32_t p = 0; p < graph->nboxes; p++) {
            if (!has_part(picture, r, p))
                continue;
            candidates[r].first = candidates[r].nparts++ ? candidates[r].first : p;
            candidates[r].last = p;
        }
    }
    qsort(candidates, picture->nregions, sizeof *candidates, compare_candidates);
    for (uint32_t c = 0; c < picture->nregions && candidates[c].nparts; c++) {
        uint32_t region = candidates[c].region, outer = LAYOUT_NONE;
        unsigned how = 1;
        for (uint32_t f = 0; f < graph->nframes && how < 2; f++) {
            how = relation(picture, &candidates[c], picture->frame_regions[f]);
            if (how == 1) /* the last one is the innermost */
                outer = f;
        }
        if (how == 2)
            continue;
        picture->frame_regions[graph->nframes] = region;
        picture->region_frames[region] = graph->nframes;
        graph->frames[graph->nframes++].frame = outer;
    }
}

void picture_make(Picture *picture, const BinFlow *flow, uint32_t func, Arena *a) {
    *picture = (Picture){.flow = flow, .func = func};
    picture->regions = bin_regions(flow, func, a, &picture->nregions);
    make_parts(picture, a);
    make_frames(picture, a);
    LayoutGraph *graph = &picture->graph;
    graph->boxes = ARENA_ARRAY(a, LayoutBox, graph->nboxes + 1);
    for (uint32_t p = 0; p < graph->nboxes; p++) {
        graph->boxes[p].frame = LAYOUT_NONE;
        for (uint32_t f = 0; f < graph->nframes; f++)
            if (has_part(picture, picture->frame_regions[f], p))
                graph->boxes[p].frame = f;
        picture_box_size(picture, p, &graph->boxes[p].width, &graph->boxes[p].height);
    }
    for (uint32_t f = 0; f < graph->nframes; f++)
        graph->frames[f].title_width = picture_title_width(picture, f);
    layout_graph(graph, a);
}
