/* How well lanes stay together, on programs of D.4's shape: what the machine issues with each way of placing
 * convergence barriers, against a machine with a stack of masks that joins at immediate post-dominators,
 * replayed here from the threads' logs. A block is issued once for every group of lanes that runs its log
 * statement.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/internal.h"
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, NO_BLOCK = GEN_MAX_BLOCKS };

/* ---- the stack machine ---- */
typedef struct {
    unsigned block, join; /* NO_BLOCK: the end */
    uint32_t lanes;
} Entry;

typedef struct {
    const GenGraph *g;
    const uint8_t *out; /* the threads' output */
    unsigned at[LANES]; /* events of the log used */
    unsigned ipdom[GEN_MAX_BLOCKS + 1];
    Entry *entries;
    unsigned depth, cap;
} Stack;

static unsigned logged(const Stack *stack, unsigned lane, unsigned event) {
    uint32_t number;
    memcpy(&number, stack->out + (size_t)lane * GEN_OUT_BYTES + GEN_LOG_OFFSET + 8 * (size_t)event,
           sizeof number);
    return number;
}

/* after[b]: bit x set if every way from b to an end passes x. All ends lead to one exit, which is no block.
 * The nearest of the others is the one that all others come after. */
static void find_ipdoms(Stack *stack) {
    const GenGraph *graph = stack->g;
    uint64_t after[GEN_MAX_BLOCKS];
    for (unsigned b = 0; b <= graph->n; b++)
        after[b] = graph->nsucc[b] ? ~0ull : 1ull << b;
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned b = 0; b <= graph->n; b++) {
            uint64_t common = graph->nsucc[b] ? ~0ull : 0;
            for (unsigned k = 0; k < graph->nsucc[b]; k++)
                common &= after[graph->succ[b][k]];
            common |= 1ull << b;
            changed = changed || common != after[b];
            after[b] = common;
        }
    }
    for (unsigned b = 0; b <= graph->n; b++) {
        stack->ipdom[b] = NO_BLOCK;
        uint64_t others = after[b] & ~(1ull << b);
        for (uint64_t m = others; m; m &= m - 1) {
            unsigned x = (unsigned)__builtin_ctzll(m);
            if ((after[x] & others) == others)
                stack->ipdom[b] = x;
        }
    }
}

static void push(Stack *stack, unsigned block, unsigned join, uint32_t lanes) {
    if (stack->depth == stack->cap) {
        stack->cap = stack->cap ? 2 * stack->cap : 64;
        stack->entries = realloc(stack->entries, stack->cap * sizeof *stack->entries);
        if (!stack->entries)
            abort();
    }
    stack->entries[stack->depth++] = (Entry){block, join, lanes};
}

/* One block for the lanes on top; they take from their logs where they go next. */
static void stack_step(Stack *stack) {
    Entry e = stack->entries[stack->depth - 1];
    const GenGraph *graph = stack->g;
    uint32_t to[GEN_MAX_BLOCKS + 1] = {0};
    unsigned ways = 0, last = 0;
    for (uint32_t m = e.lanes; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        stack->at[lane]++;
        if (graph->nsucc[e.block])
            to[logged(stack, lane, stack->at[lane]) & (GEN_MAX_BLOCKS - 1)] |= 1u << lane;
    }
    if (!graph->nsucc[e.block]) {
        for (unsigned k = 0; k < stack->depth; k++)
            stack->entries[k].lanes &= ~e.lanes;
        return;
    }
    for (unsigned b = 0; b <= graph->n; b++)
        if (to[b])
            ways++, last = b;
    if (ways == 1) {
        stack->entries[stack->depth - 1].block = last;
        return;
    }
    unsigned join = stack->ipdom[e.block];
    if (join == NO_BLOCK) {
        stack->depth--;
        join = e.join;
    } else
        stack->entries[stack->depth - 1].block = join;
    for (unsigned b = graph->n + 1; b-- > 0;)
        if (to[b])
            push(stack, b, join, to[b]);
}

uint64_t fuzz_stack_issues(const GenGraph *g, const uint8_t *out) {
    Stack s = {.g = g, .out = out};
    uint64_t issues = 0;
    find_ipdoms(&s);
    push(&s, 0, NO_BLOCK, ~0u);
    while (s.depth) {
        const Entry *entry = &s.entries[s.depth - 1];
        if (!entry->lanes || entry->block == entry->join) {
            s.depth--;
            continue;
        }
        issues++;
        stack_step(&s);
    }
    free(s.entries);
    return issues;
}

/* ---- the machine ---- */
typedef struct {
    bool *lines; /* of the log statements */
    uint32_t nlines;
    uint64_t issues;
} BlockCount;

static void find_log_lines(BlockCount *count, const GenProgram *program) {
    uint32_t line = 1;
    for (const char *s = program->text; *s; s++)
        line += *s == '\n';
    count->nlines = line + 1;
    count->lines = calloc(count->nlines + 1, sizeof *count->lines);
    if (!count->lines)
        abort();
    line = 1;
    for (const char *s = program->text; *s; line++) {
        size_t n = strcspn(s, "\n");
        const char *store = strstr(s, "st.global.v2.b32 [%gl+-8], {%t5");
        count->lines[line] = store && store < s + n;
        s += n + (s[n] == '\n');
    }
}

static void count_block(void *user, const MachineTrace *trace) {
    BlockCount *count = user;
    if (trace->inst->optype == OT_STG && trace->executed && trace->loc &&
        trace->loc->ptx_line < count->nlines)
        count->issues += count->lines[trace->loc->ptx_line];
}

static void add_stats(FuzzMetric *metric, const MachineStats *stats, uint64_t block_issues, uint64_t oracle) {
    metric->programs++;
    metric->block_issues += block_issues;
    metric->stack_issues += oracle;
    metric->issues += stats->issues;
    metric->lane_issues += stats->lane_issues;
    metric->data_issues += stats->data_issues;
    metric->data_lane_issues += stats->data_lane_issues;
    metric->b_issues += stats->b_issues;
    metric->switches += stats->switches;
    metric->hops += stats->bsync_hops;
    metric->releases += stats->bsync_releases;
}

FuzzVerdict fuzz_measure(const GenProgram *program, const Target *target, FuzzCounts *counts) {
    Check c;
    FuzzCounts ignored = {0};
    BlockCount blocks = {0};
    bool good = fuzz_start(&c, program, 0, false, &ignored);
    const SimAlloc *out = good ? simmem_find_name(c.ptx, "out") : NULL;
    uint64_t oracle = out ? fuzz_stack_issues(&program->graph, out->data) : 0;
    find_log_lines(&blocks, program);
    for (unsigned k = 0; good && k < FUZZ_METRICS; k++) {
        FuzzConfig f = {.target = target,
                        .opt_level = 2,
                        .predicate = PREDICATE_OFF,
                        .reconverge = (ReconvMode)(k % FUZZ_MODES),
                        .yield_percent = k < FUZZ_MODES ? 0 : 20};
        MachineOptions o = {.trace = count_block, .trace_user = &blocks, .trace_no_text = true};
        MachineResult r;
        blocks.issues = 0;
        if (!fuzz_compile(&c, &f))
            break;
        good = fuzz_run(&c, &o, &r) && fuzz_memory(&c);
        if (good)
            add_stats(&counts->metric[k], &r.stats, blocks.issues, oracle);
        machine_result_free(&r);
    }
    free(blocks.lines);
    FuzzVerdict v = c.v;
    fuzz_release(&c);
    return v;
}
