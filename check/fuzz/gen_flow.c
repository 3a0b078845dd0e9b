/* Random control flow. cfg: any graph of blocks, irreducible ones and early exits too; structured: nested
 * conditionals, loops and switches. Each lane folds the blocks that it visits into %u0, so that the memory at
 * the end tells whether every lane took its own path.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/gen_internal.h"
#include <stdio.h>
#include <stdlib.h>

/* %u0 path hash  %u1 key of this lane  %u2 visits  %u3 choice */
static void enter_block(Gen *g, unsigned b) {
    OUT(g, "mad.lo.u32 %%u0, %%u0, 1664525, %u;\n", b * 2654435761u + 1013904223u);
}

/* True: each lane decides for itself. */
static bool start_path(Gen *g, bool by_lane) {
    unsigned r = gen_below(g, 100);
    r = by_lane && r < 95 ? 0 : r;
    const char *id = r < 75 ? "%id" : r < 85 ? "%warpid" : r < 95 ? "%laneid" : "%ctaid.x";
    OUT(g, "mov.u32 %%u0, 0;\nmov.u32 %%u2, 0;\nmov.u32 %%u1, %s;\n", id);
    OUT(g, "mad.lo.u32 %%u1, %%u1, 2654435769, %u;\n", (unsigned)gen_u64(g));
    return r < 75;
}

/* %u3 = hash(lane, visit, block) */
static void make_choice(Gen *g) {
    OUT(g, "mad.lo.u32 %%u3, %%u2, %u, %%u1;\n", (unsigned)gen_u64(g) | 1);
    OUT(g, "xor.b32 %%u3, %%u3, %u;\n", (unsigned)gen_u64(g));
    OUT(g, "mul.lo.u32 %%u3, %%u3, 2246822519;\nshr.u32 %%u4, %%u3, 15;\nxor.b32 %%u3, %%u3, %%u4;\n");
}

static void data(Gen *g, unsigned most) {
    for (unsigned n = gen_below(g, most + 1); n; n--)
        gen_data_insn(g);
}

static void end_kernel(Gen *g) {
    OUT(g, "st.global.b32 [%%go+%d], %%u0;\n", GEN_LOG_OFFSET - 4);
    gen_store_pools(g);
}

/* ---- cfg ---- */
/* Two shapes of graphs. "stress", of 20 to 37 blocks, is the one that reconvergence is measured on: a
 * fifteenth of the blocks exits, half have two successors, a tenth more, one edge in 25 leads anywhere.
 * "loopy" has 3 to 48 blocks and every fourth edge leads back. Successor 0 leads forward in both, so that an
 * end can be reached. */
enum { VISITS = 60 };
typedef struct {
    Gen *g;
    GenGraph *c;
    uint8_t shortest[GEN_MAX_BLOCKS]; /* which successor is nearest to an end */
    bool loopy;
} Cfg;

static unsigned loopy_target(Gen *g, unsigned b, unsigned n) {
    unsigned r = gen_below(g, 100);
    if (r < 45) /* near, forward */
        return b + 1 + gen_below(g, n - b < 4 ? n - b : 4);
    if (r < 60)
        return b + 1 + gen_below(g, n - b);
    if (r < 85) /* near, backward */
        return b - gen_below(g, b < 5 ? b + 1 : 5);
    return gen_below(g, n);
}

static unsigned stress_target(Gen *g, unsigned b, unsigned n) {
    return gen_chance(g, 4) ? 1 + gen_below(g, n) : b + 1 + gen_below(g, n - b);
}

static void make_graph(Cfg *cfg) {
    Gen *g = cfg->g;
    GenGraph *graph = cfg->c;
    cfg->loopy = gen_chance(g, 30);
    graph->n = (uint8_t)(!cfg->loopy         ? gen_range(g, 20, 37)
                         : gen_chance(g, 10) ? gen_range(g, 3, 12)
                                             : gen_range(g, 20, 48));
    for (unsigned b = 0; b < graph->n; b++) {
        unsigned r = gen_below(g, 100), ends = cfg->loopy ? 0 : 7, one = cfg->loopy ? 25 : 40,
                 two = cfg->loopy ? 75 : 90;
        if (r < ends && b)
            continue;
        unsigned ways = r < one ? 1 : r < two ? 2 : gen_range(g, 3, 4), forward = graph->n - b;
        unsigned skip =
            gen_chance(g, cfg->loopy ? 80 : 66) ? 0 : gen_below(g, cfg->loopy && forward > 3 ? 3 : forward);
        graph->nsucc[b] = (uint8_t)ways;
        graph->succ[b][0] = (uint8_t)(b + 1 + skip);
        for (unsigned k = 1; k < ways; k++)
            graph->succ[b][k] =
                (uint8_t)(cfg->loopy ? loopy_target(g, b, graph->n) : stress_target(g, b, graph->n));
    }
}

/* Steps to an end for every block, by relaxation. */
static void find_shortest(Cfg *cfg) {
    const GenGraph *graph = cfg->c;
    unsigned distance[GEN_MAX_BLOCKS];
    for (unsigned b = 0; b <= graph->n; b++)
        distance[b] = graph->nsucc[b] ? GEN_MAX_BLOCKS : 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned b = 0; b < graph->n; b++)
            for (unsigned k = 0; k < graph->nsucc[b]; k++)
                if (distance[graph->succ[b][k]] + 1 < distance[b]) {
                    distance[b] = distance[graph->succ[b][k]] + 1;
                    cfg->shortest[b] = (uint8_t)k;
                    changed = true;
                }
    }
}

/* A table may name a target several times. */
static void branch_table(Cfg *cfg, unsigned b) {
    Gen *g = cfg->g;
    const GenGraph *graph = cfg->c;
    unsigned ways = graph->nsucc[b], n = gen_range(g, ways, GEN_MAX_WAYS);
    OUT(g, "mul.hi.u32 %%u3, %%u3, %u;\nselp.b32 %%u3, %%u3, %u, %%c0;\n", n, cfg->shortest[b]);
    OUT(g, "T%u: .branchtargets", b);
    for (unsigned k = 0; k < n; k++)
        OUT(g, "%s B%u", k ? "," : "", graph->succ[b][k < ways ? k : gen_below(g, ways)]);
    OUT(g, ";\nbrx.idx %%u3, T%u;\n", b);
}

/* Choice %u3 of the successors; the nearest to an end when the visits are used up. */
static void cfg_branch(Cfg *cfg, unsigned b) {
    Gen *g = cfg->g;
    const GenGraph *graph = cfg->c;
    const uint8_t *to = graph->succ[b];
    unsigned ways = graph->nsucc[b];
    if (ways == 1) {
        OUT(g, "bra%s B%u;\n", gen_chance(g, 20) ? ".uni" : "", to[0]);
        return;
    }
    OUT(g, "setp.lt.u32 %%c0, %%u2, %d;\n", VISITS);
    if (gen_chance(g, ways == 2 ? 5 : 60)) {
        branch_table(cfg, b);
        return;
    }
    if (ways == 2) {
        unsigned mask = !cfg->loopy || gen_chance(g, 50) ? 1u : gen_chance(g, 50) ? 3u : 12u;
        OUT(g, "and.b32 %%u3, %%u3, %u;\n", mask);
        OUT(g, "selp.b32 %%u3, %%u3, %u, %%c0;\nsetp.ne.u32 %%c1, %%u3, 0;\n", cfg->shortest[b]);
        OUT(g, "@%%c1 bra B%u;\nbra B%u;\n", to[1], to[0]);
        return;
    }
    OUT(g, "mul.hi.u32 %%u3, %%u3, %u;\nselp.b32 %%u3, %%u3, %u, %%c0;\n", ways, cfg->shortest[b]);
    for (unsigned k = ways; --k;)
        OUT(g, "setp.eq.u32 %%c1, %%u3, %u;\n@%%c1 bra B%u;\n", k, to[k]);
    OUT(g, "bra B%u;\n", to[0]);
}

static void one_block(Cfg *cfg, unsigned b) {
    Gen *g = cfg->g;
    char number[16];
    snprintf(number, sizeof number, "%u", b);
    OUT(g, "B%u:\n", b);
    gen_log(g, number);
    enter_block(g, b);
    OUT(g, "add.u32 %%u2, %%u2, 1;\n");
    for (unsigned n = gen_range(g, 1, 3); n; n--)
        gen_data_insn(g);
    if (cfg->c->nsucc[b] > 1 || cfg->loopy)
        make_choice(g);
    if (cfg->loopy && gen_chance(g, 8)) { /* a few lanes leave here */
        OUT(g, "and.b32 %%u4, %%u3, 0x700000;\nsetp.eq.u32 %%c2, %%u4, 0;\n");
        OUT(g, "@%%c2 st.global.b32 [%%go+%d], %%u0;\n@%%c2 %s;\n", GEN_LOG_OFFSET - 8,
            gen_chance(g, 50) ? "exit" : "ret");
    }
    if (cfg->c->nsucc[b])
        cfg_branch(cfg, b);
    else
        OUT(g, "%s;\n", gen_chance(g, 70) ? "exit" : "ret");
}

void gen_cfg(Gen *gen) {
    Cfg x = {.g = gen, .c = &gen->p->graph};
    unsigned order[GEN_MAX_BLOCKS];
    make_graph(&x);
    find_shortest(&x);
    unsigned n = x.c->n;
    gen->has_areas = gen_chance(gen, 30);
    gen_module_head(gen);
    gen_kernel_head(gen, "");
    bool by_lane = start_path(gen, !x.loopy);
    x.c->measured =
        !x.loopy && by_lane && gen->p->block[0] == 32 && gen->p->block[1] == 1 && gen->p->grid[0] == 1;
    for (unsigned i = 0; i <= n; i++)
        order[i] = i;
    bool shuffled = gen_chance(gen, 60);
    for (unsigned i = n; shuffled && i > 0; i--) {
        unsigned k = gen_below(gen, i + 1), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    OUT(gen, "bra B0;\n");
    for (unsigned i = 0; i <= n; i++)
        if (order[i] < n)
            one_block(&x, order[i]);
        else {
            char number[16];
            snprintf(number, sizeof number, "%u", n);
            OUT(gen, "B%u:\n", n);
            gen_log(gen, number);
            OUT(gen, "bra DONE;\n");
        }
    OUT(gen, "DONE:\n");
    end_kernel(gen);
}

/* ---- structured ---- */
typedef struct {
    unsigned break_label, continue_label; /* of the innermost loop; 0: none */
    unsigned loops;
    unsigned budget; /* statements left */
} Nest;

static void list(Gen *gen, Nest n, unsigned *budget);

/* %c0; returns whether it is one for the block. */
static bool condition(Gen *g) {
    make_choice(g);
    unsigned r = gen_below(g, 100);
    OUT(g, "add.u32 %%u2, %%u2, 1;\n");
    if (r < 60)
        OUT(g, "and.b32 %%u3, %%u3, %u;\nsetp.eq.u32 %%c0, %%u3, 0;\n", 1u << gen_below(g, 3));
    else if (r < 75)
        OUT(g, "mov.u32 %%u3, %%laneid;\nsetp.eq.u32 %%c0, %%u3, %u;\n", gen_below(g, 32));
    else if (r < 90)
        OUT(g,
            "mov.u32 %%u3, %%laneid;\nshr.u32 %%u3, %u, %%u3;\nand.b32 %%u3, %%u3, 1;\nsetp.ne.u32 %%c0, "
            "%%u3, 0;\n",
            (unsigned)gen_u64(g));
    else
        OUT(g, "mov.u32 %%u3, %%ctaid.x;\nsetp.eq.u32 %%c0, %%u3, %u;\n", gen_below(g, 2));
    return r >= 90;
}

static void make_if(Gen *gen, Nest n, unsigned *budget) {
    unsigned other = gen->nlabels++, end = gen->nlabels++;
    bool has_else = gen_chance(gen, 50), uniform = condition(gen) && gen_chance(gen, 50);
    OUT(gen, "@%s%%c0 bra%s L%u;\n", gen_chance(gen, 50) ? "!" : "", uniform ? ".uni" : "",
        has_else ? other : end);
    list(gen, n, budget);
    if (has_else) {
        OUT(gen, "bra L%u;\nL%u:\n", end, other);
        list(gen, n, budget);
    }
    OUT(gen, "L%u:\n", end);
}

/* Counted loops; %u8 and on are the counters. The number of rounds depends on the lane, or not. */
static void make_loop(Gen *gen, Nest n, unsigned *budget) {
    unsigned head = gen->nlabels++, next = gen->nlabels++, end = gen->nlabels++, counter = 8 + n.loops;
    bool at_end = gen_chance(gen, 40);
    make_choice(gen);
    if (gen_chance(gen, 60))
        OUT(gen, "and.b32 %%u%u, %%u3, %u;\n", counter, gen_chance(gen, 50) ? 3u : 1u);
    else
        OUT(gen, "mov.u32 %%u%u, %u;\n", counter, gen_range(gen, 1, 3));
    n.loops++;
    n.break_label = end;
    n.continue_label = next;
    OUT(gen, "L%u:\n", head);
    if (!at_end)
        OUT(gen, "setp.eq.u32 %%c1, %%u%u, 0;\n@%%c1 bra L%u;\n", counter, end);
    list(gen, n, budget);
    OUT(gen, "L%u:\n", next);
    if (at_end) {
        OUT(gen, "setp.eq.u32 %%c1, %%u%u, 0;\nsub.u32 %%u%u, %%u%u, 1;\n@!%%c1 bra L%u;\n", counter, counter,
            counter, head);
    } else
        OUT(gen, "sub.u32 %%u%u, %%u%u, 1;\nbra L%u;\n", counter, counter, head);
    OUT(gen, "L%u:\n", end);
}

static void make_switch(Gen *gen, Nest n, unsigned *budget) {
    unsigned ways = gen_range(gen, 2, gen_chance(gen, 30) ? 8 : 5), entries = ways, first = gen->nlabels;
    if (gen_chance(gen, 50))
        entries += gen_range(gen, 1, 4);
    gen->nlabels += ways + 1;
    make_choice(gen);
    OUT(gen, "add.u32 %%u2, %%u2, 1;\nmul.hi.u32 %%u3, %%u3, %u;\nT%u: .branchtargets", entries, first);
    for (unsigned k = 0; k < entries; k++) /* further ones repeat */
        OUT(gen, "%s L%u", k ? "," : "", first + (k < ways ? k : gen_below(gen, ways)));
    OUT(gen, ";\nbrx.idx %%u3, T%u;\n", first);
    for (unsigned k = 0; k < ways; k++) {
        OUT(gen, "L%u:\n", first + k);
        list(gen, n, budget);
        if (gen_chance(gen, 80)) /* else falls through */
            OUT(gen, "bra L%u;\n", first + ways);
    }
    OUT(gen, "L%u:\n", first + ways);
}

static void leave_loop(Gen *g, const Nest *nest) {
    unsigned r = gen_below(g, 100);
    condition(g);
    if (nest->loops && r < 45)
        OUT(g, "@%%c0 bra L%u;\n", nest->break_label);
    else if (nest->loops && r < 90)
        OUT(g, "@%%c0 bra L%u;\n", nest->continue_label);
    else if (r < 96)
        OUT(g, "@%%c0 bra DONE;\n");
    else
        OUT(g, "@%%c0 st.global.b32 [%%go+%d], %%u0;\n@%%c0 exit;\n", GEN_LOG_OFFSET - 8);
}

static void list(Gen *gen, Nest n, unsigned *budget) {
    gen->depth++;
    for (unsigned k = gen_range(gen, 1, 4); k && *budget; k--) {
        unsigned r = gen_below(gen, 100);
        (*budget)--;
        enter_block(gen, gen->nlabels + *budget);
        if (gen_chance(gen, 50))
            gen_log(gen, "%u0");
        data(gen, 1);
        if (gen->depth < 7 && r < 30)
            make_if(gen, n, budget);
        else if (gen->depth < 7 && r < 45 && n.loops < 4)
            make_loop(gen, n, budget);
        else if (gen->depth < 5 && r < 52)
            make_switch(gen, n, budget);
        else if (r < 62)
            leave_loop(gen, &n);
        else
            data(gen, 3);
    }
    gen->depth--;
}

void gen_structured(Gen *gen) {
    unsigned budget = gen_range(gen, 15, 45);
    gen->has_areas = gen_chance(gen, 30);
    gen_module_head(gen);
    gen_kernel_head(gen, "");
    start_path(gen, false);
    while (budget)
        list(gen, (Nest){0}, &budget);
    OUT(gen, "DONE:\n");
    end_kernel(gen);
}
