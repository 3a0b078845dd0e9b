/* known_runs SAMPLE.ptx...: what a set of joins is said to cost, by a run of it that is remembered or by that
 * of a set without joins that no lane comes by and with alike ones as one, against an expected run of the set
 * as it is, without memory and from end to end: the same cost, or both above the limit, after the same steps.
 * The linker (--wrap) puts ask_both in the place of reconv_cost_of. Prints how many sets were asked for and
 * how many of these were known; fails where none was. SPDX-License-Identifier: MIT */
#include "heddle.h"
#include "lower/reconverge/expect.h"
#include "lower/reconverge/place.h"
#include <stdio.h>
#include <stdlib.h>

static unsigned asked, known, wrong, most_parts;

uint64_t __real_reconv_cost_of(Search *search, const uint32_t *set, unsigned n, uint64_t limit);
uint64_t ask_both(Search *search, const uint32_t *set, unsigned n, uint64_t limit);

/* As if nothing had run, and no block parted the function. */
static uint64_t run_whole(Expect *e, const Join *const *joins, unsigned n, uint64_t limit) {
    uint32_t *runs = e->run_of, *parts = e->part_at, nblocks = e->reconv->g.n;
    e->run_of = calloc((size_t)WARPS * e->nparts, sizeof *runs);
    e->part_at = calloc((size_t)nblocks + e->reconv->g.succ_at[nblocks], sizeof *parts);
    uint64_t cost = reconv_expected_issues(e, joins, n, limit);
    most_parts = e->nparts > most_parts ? e->nparts : most_parts;
    free(e->run_of);
    free(e->part_at);
    e->run_of = runs, e->part_at = parts;
    return cost;
}

uint64_t ask_both(Search *search, const uint32_t *set, unsigned n, uint64_t limit) {
    const Join **joins = calloc(n + 1, sizeof *joins);
    for (unsigned k = 0; joins && k < n; k++)
        joins[k] = &search->places->all.at[set[k]].join;
    uint64_t start = reconv_expect_steps(search->e);
    uint64_t cost = joins ? run_whole(search->e, joins, n, limit) : 0;
    uint64_t steps = reconv_expect_steps(search->e) - start;
    free(joins);
    reconv_expect_repeat(search->e, -steps); /* as if it had not run */
    unsigned runs = search->runs.n;
    uint64_t said = __real_reconv_cost_of(search, set, n, limit),
             took = reconv_expect_steps(search->e) - start;
    asked++;
    known += search->runs.n == runs;
    if ((said <= limit) != (cost <= limit) || (said <= limit && (said != cost || took != steps))) {
        printf("a set of %u joins, limit %llu: %llu after %llu steps is said, %llu after %llu steps is run\n",
               n, (unsigned long long)limit, (unsigned long long)said, (unsigned long long)took,
               (unsigned long long)cost, (unsigned long long)steps);
        wrong++;
    }
    return said;
}

static bool compile(const char *path, const char *target) {
    static char text[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    HdContext *context = hd_create(NULL);
    HdModule *ptx, *binary;
    HdStatus status = hd_parse(context, path, text, size, &ptx);
    if (status == HD_OK)
        status = hd_compile(ptx, &(HdCompileOptions){.target = target, .opt_level = 2}, &binary);
    hd_destroy(context);
    return size && size < sizeof text && status == HD_OK;
}

int main(int argc, char **argv) {
    bool good = true;
    for (int k = 1; k < argc; k++)
        good = compile(argv[k], "bru1") && compile(argv[k], "sm_80") && good;
    printf("%u sets asked for, %u known, %u wrong; up to %u parts\n", asked, known, wrong, most_parts);
    return !good || wrong || !known || known == asked || most_parts < 2;
}
