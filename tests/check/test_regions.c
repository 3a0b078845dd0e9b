/* Regions of blocks (check/static/regions.h) in random graphs and in nested loops: those found over the tree
 * of post-dominators are the blocks that a walk from the block comes to before its post-dominator.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "check/static/regions.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCKS = 240, MAX_SUCCS = 3 };

typedef struct {
    BinFlow flow;
    BinFuncFlow func;
    BinBlock blocks[MAX_BLOCKS];
    BinEdge succs[MAX_BLOCKS][MAX_SUCCS], preds[MAX_BLOCKS][MAX_BLOCKS * MAX_SUCCS];
    uint32_t order[MAX_BLOCKS], ipdom[MAX_BLOCKS];
    Proc proc;
    Arena arena;
} Sample;

static void add_edge(Sample *sample, uint32_t from, uint32_t to) {
    BinBlock *source = &sample->blocks[from], *target = &sample->blocks[to];
    sample->succs[from][source->nsuccs++].block = to;
    sample->preds[to][target->npreds++].block = from;
}

static Sample *empty_sample(uint32_t n) {
    Sample *sample = calloc(1, sizeof *sample);
    assert_non_null(sample);
    for (uint32_t k = 0; k < n; k++)
        sample->blocks[k] = (BinBlock){.succs = sample->succs[k], .preds = sample->preds[k]};
    sample->func.nblocks = n;
    sample->flow.blocks = sample->blocks;
    sample->flow.nblocks = n;
    sample->flow.funcs = &sample->func;
    return sample;
}

static void free_sample(Sample *sample) {
    arena_free(&sample->arena);
    free(sample);
}

/* Blocks that a walk from the successors of `block`, or from `side` alone, comes to before `stop`. */
static void walk_region(const Sample *sample, uint32_t block, uint32_t side, uint32_t stop, bool *in) {
    uint32_t stack[MAX_BLOCKS * MAX_SUCCS + 1], top = 0;
    memset(in, 0, sample->flow.nblocks);
    for (uint32_t s = 0; s < sample->blocks[block].nsuccs; s++)
        if (side == NONE || sample->succs[block][s].block == side)
            stack[top++] = sample->succs[block][s].block;
    while (top) {
        uint32_t at = stack[--top];
        if (at == stop || in[at])
            continue;
        in[at] = true;
        for (uint32_t s = 0; s < sample->blocks[at].nsuccs; s++)
            stack[top++] = sample->succs[at][s].block;
    }
}

static uint32_t popular; /* blocks whose region has more than one block: that there are some */

static void compare(Sample *sample) {
    uint32_t n = sample->flow.nblocks;
    uint64_t steps = 0;
    bool seen[MAX_BLOCKS] = {false}, expected[MAX_BLOCKS], found[MAX_BLOCKS];
    sample->proc = (Proc){.rpo = sample->order};
    bin_order(&sample->flow, &sample->arena, 0, seen, sample->order, &sample->proc.nrpo);
    memset(sample->ipdom, 0xff, sizeof sample->ipdom);
    check_post_dominators(&sample->flow, &sample->proc, sample->ipdom, &sample->arena);
    Regions regions = check_regions(&sample->flow, &sample->proc, sample->ipdom, &steps, &sample->arena);
    for (uint32_t k = 0; k < sample->proc.nrpo; k++) {
        uint32_t block = sample->order[k], size = 0;
        memset(found, 0, sizeof found);
        memset(regions.swept, 0, 2 * sample->proc.nrpo);
        walk_region(sample, block, NONE, sample->ipdom[block], expected);
        for (uint32_t i = 0; i < n; i++)
            size += expected[i];
        assert_int_equal(check_region_sweep(&regions, block, found), size != 0);
        assert_memory_equal(found, expected, n);
        assert_false(check_region_sweep(&regions, block, found)); /* nothing is swept twice */
        popular += size > 1;
        for (uint32_t s = 0; s < sample->blocks[block].nsuccs; s++) {
            uint32_t side = sample->succs[block][s].block;
            walk_region(sample, block, side, sample->ipdom[block], expected);
            assert_int_equal(check_region_leads_back(&regions, block, side), expected[block]);
        }
    }
    for (uint32_t r = 0; r < regions.n; r++) /* what a region consists of has numbers up to its own */
        for (uint32_t m = regions.member_at[r]; m < regions.member_at[r + 1]; m++)
            for (uint32_t p = regions.part_at[regions.members[m]];
                 p < regions.part_at[regions.members[m] + 1]; p++)
                assert_true(regions.number[regions.parts[p]] <= r);
}

static void test_random(void **state) {
    (void)state;
    uint64_t random = 8;
    popular = 0;
    for (unsigned round = 0; round < 2000; round++) {
        uint32_t n = 2 + (uint32_t)(rng_next(&random) % 40), far = 1 + (uint32_t)(rng_next(&random) % n);
        Sample *sample = empty_sample(n);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t wanted = (uint32_t)(rng_next(&random) % (MAX_SUCCS + 1));
            for (uint32_t s = 0; s < wanted; s++) {
                uint32_t back = (uint32_t)(rng_next(&random) % far),
                         on = (uint32_t)(rng_next(&random) % (far + 1));
                add_edge(sample, k, (k + n + on - back / 2) % n);
            }
            if (!sample->blocks[k].nsuccs)
                sample->blocks[k].ends = rng_next(&random) % 4 ? BX_EXIT : BX_TRAP;
        }
        compare(sample);
        free_sample(sample);
    }
    assert_true(popular > 5000);
}

/* Loops in loops: the ways from the innermost one are as long as the function. */
static void test_nest(void **state) {
    (void)state;
    enum { DEPTH = (MAX_BLOCKS - 1) / 2, LAST = 2 * DEPTH };
    Sample *sample = empty_sample(LAST + 1);
    for (uint32_t k = 0; k < LAST; k++)
        add_edge(sample, k, k + 1);
    for (uint32_t k = 0; k < DEPTH; k++)
        add_edge(sample, LAST - 1 - k, k);
    sample->blocks[LAST].ends = BX_EXIT;
    popular = 0;
    compare(sample);
    assert_int_equal(popular, DEPTH); /* the ends of the loops */
    free_sample(sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_nest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
