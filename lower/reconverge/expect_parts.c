/* The parts of a function for expected runs (expect_run.c): each begins with a block that every lane which
 * has not ended comes to, once: a post-dominator of the entry outside of all loops. With irreducible loops
 * there is one part. SPDX-License-Identifier: MIT */
#include "lower/reconverge/expect.h"

enum { MOST_PARTS = 512 };

static bool is_simple(const Expect *expect) {
    for (uint32_t l = 0; l < expect->reconv->loops.n; l++)
        if (expect->reconv->loops.at[l].irreducible)
            return false;
    return true;
}

static bool in_loop(const Expect *expect, uint32_t b) {
    return expect->reconv->loops.innermost[b] != NO_NODE || expect->loops.innermost[b] != NO_NODE;
}

static void find_blocks(Expect *expect) {
    Reconv *reconv = expect->reconv;
    uint32_t entry = reconv->f->entry.i, n = 0, every = 1;
    expect->part_block = ARENA_ARRAY(&reconv->a, uint32_t, MOST_PARTS + 1);
    for (uint32_t b = reconv->pd.ipdom[entry]; b && b != NO_NODE; b = reconv->pd.ipdom[b])
        n += !in_loop(expect, b);
    every += n / MOST_PARTS;
    expect->part_block[expect->nparts++] = entry;
    n = 0;
    for (uint32_t b = reconv->pd.ipdom[entry]; b && b != NO_NODE && is_simple(expect);
         b = reconv->pd.ipdom[b])
        if (!in_loop(expect, b) && n++ % every == 0 && expect->nparts < MOST_PARTS)
            expect->part_block[expect->nparts++] = b;
}

/* From which parts lanes come to each block. */
static void find_parts_of_blocks(Expect *expect) {
    const Reconv *reconv = expect->reconv;
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k], first = UINT32_MAX, last = 0;
        if (!b)
            continue;
        GRAPH_PREDS(&reconv->g, b, p) {
            if (!*p || reconv->order.index[*p] >= k) /* also what is not reached */
                continue;
            first = expect->first_part[*p] < first ? expect->first_part[*p] : first;
            last = expect->last_part[*p] > last ? expect->last_part[*p] : last;
        }
        if (expect->part_at[b])
            first = last = expect->part_at[b] - 1;
        expect->first_part[b] = first == UINT32_MAX ? 0 : first;
        expect->last_part[b] = last;
    }
}

/* Notes where parts begin, and how often the lane comes to each block; returns how many blocks it comes to,
 * which are on the stack. */
static uint32_t follow_way(Expect *expect, unsigned warp, uint32_t lane, uint32_t *visits) {
    const Graph *graph = &expect->reconv->g;
    const uint32_t *next = expect->way[warp][lane].edges;
    uint32_t came = 0;
    for (uint32_t b = expect->reconv->f->entry.i; b;) {
        if (!visits[b]++)
            expect->reconv->stack[came++] = b;
        if (expect->part_at[b]) {
            PartStart *start = &expect->starts[warp * expect->nparts + expect->part_at[b] - 1];
            start->lanes |= 1u << lane;
            start->next[lane] = next;
        }
        uint32_t slot = expect->ends_way[b] ? NOWHERE : slots_of(graph, b) == 1 ? 0 : *next++;
        b = slot == NOWHERE ? 0 : graph->succ[graph->succ_at[b] + slot];
    }
    return came;
}

/* A block is issued at least as often as one lane comes there. */
static void follow_warp(Expect *expect, unsigned warp) {
    Arena *a = &expect->reconv->a;
    uint32_t n = expect->reconv->g.n, *visits, *most;
    ArenaMark mark = arena_mark(a);
    visits = ARENA_ARRAY(a, uint32_t, n);
    most = ARENA_ARRAY(a, uint32_t, n);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        uint32_t came = follow_way(expect, warp, lane, visits);
        for (uint32_t k = 0; k < came; k++) {
            uint32_t b = expect->reconv->stack[k];
            most[b] = visits[b] > most[b] ? visits[b] : most[b];
            visits[b] = 0;
        }
    }
    for (uint32_t b = 0; b < n; b++)
        expect->least[b] += most[b];
    arena_release(a, mark);
}

void reconv_expect_parts(Expect *expect) {
    Reconv *reconv = expect->reconv;
    uint32_t n = reconv->g.n;
    find_blocks(expect);
    expect->part_at = ARENA_ARRAY(&reconv->a, uint32_t, n + reconv->g.succ_at[n]);
    for (uint32_t k = 0; k < expect->nparts; k++) {
        expect->part_at[expect->part_block[k]] = k + 1;
        expect->bare[expect->part_block[k]].plain = false;
    }
    expect->first_part = ARENA_ARRAY(&reconv->a, uint32_t, n);
    expect->last_part = ARENA_ARRAY(&reconv->a, uint32_t, n);
    find_parts_of_blocks(expect);
    expect->starts = ARENA_ARRAY(&reconv->a, PartStart, expect->nwarps * expect->nparts);
    expect->hash = ARENA_ARRAY(&reconv->a, uint64_t, expect->nparts + 1);
    expect->issued = ARENA_ARRAY(&reconv->a, uint32_t, n);
    expect->least = ARENA_ARRAY(&reconv->a, uint32_t, n);
    expect->run_of = ARENA_ARRAY(&reconv->a, uint32_t, expect->nwarps * expect->nparts);
    for (unsigned k = 0; k < expect->nwarps; k++)
        follow_warp(expect, k);
}
