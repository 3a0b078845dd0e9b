/* Convergence barriers: on random CFGs (irreducible ones, early exits, switches, observing loops) every lane
 * of a modelled warp finishes with the trace that it has alone; barrier order holds; YIELD breaks every
 * observing cycle. What is placed where: test_reconverge_places.c.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "ir/cfg.h"
#include "lower/reconverge/reconverge.h"
#include "warp_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#ifdef HEDDLE_SANITIZED /* a share of the programs: the same code runs for each of them */
enum { SHARE = 8 };
#else
enum { SHARE = 1 };
#endif
typedef struct {
    uint64_t s;
} Rng;
static uint32_t rnd(Rng *rng, uint32_t n) { return (uint32_t)(rng_next(&rng->s) >> 33) % n; }

/* Successor 0 leads forward, so that an end is always reached; others lead anywhere but to the entry. */
static void random_cfg(Rng *r, ModelCfg *cfg) {
    memset(cfg, 0, sizeof *cfg);
    cfg->n = 3 + rnd(r, 24);
    cfg->seed = (uint64_t)rnd(r, 1u << 30) << 20 ^ rnd(r, 1u << 20);
    for (uint32_t b = 1; b <= cfg->n; b++) {
        if (b == cfg->n || (b > 1 && rnd(r, 12) == 0))
            continue;
        uint32_t kind = rnd(r, 10), n = kind < 3 ? 1 : kind < 9 ? 2 : 3 + rnd(r, 2);
        cfg->nsucc[b] = n;
        cfg->succ[b][0] = b + 1 + (rnd(r, 3) ? 0 : rnd(r, cfg->n - b));
        for (uint32_t k = 1; k < n; k++)
            cfg->succ[b][k] = 2 + rnd(r, cfg->n - 1);
    }
    model_shortest(cfg);
}

static void add(Function *f, BlockId b, unsigned op, Operand src, bool guarded, Operand guard) {
    InstId i = ir_inst_new(f, op, isa_num_dst(op), isa_num_src(op));
    if (op == OT_BRA)
        ir_set_src(f, i, IR_BRA_TARGET_SLOT, src);
    if (guarded)
        ir_set_guard(f, i, guard);
    ir_append(f, b, i);
}

/* A function with that CFG whose branches all depend on tid.x. Each block begins with a NOP, so that the
 * model sees the block begin behind a BSYNC. observing: 1 in n blocks has an observing instruction. */
static Function *build(IrModule *module, Rng *r, const ModelCfg *cfg, bool returns, uint32_t observing) {
    Function *f = ir_function_new(module, str_intern_z(module->strings, "k"), !returns);
    for (uint32_t b = 1; b <= cfg->n; b++)
        ir_block_new(f);
    ValId tid = ir_value_new(f, RF_R), p = ir_value_new(f, RF_P);
    for (uint32_t n = 1; n <= cfg->n; n++) {
        BlockId b = {n};
        add(f, b, OT_NOP, (Operand){0}, false, (Operand){0});
        if (observing && rnd(r, observing) == 0)
            ir_inst(f, ir_block(f, b)->insts.at[0])->flags |= IF_OBSERVING;
        if (n == 1) {
            InstId s = ir_inst_new(f, OT_S2R, 1, 1), q = ir_inst_new(f, OT_ISETP, ISETP_ndst, ISETP_nsrc);
            ir_set_dst(f, s, 0, ir_val(f, tid));
            ir_set_src(f, s, 0,
                       (Operand){OPK_SREG, 0, 0, 0, (uint32_t)isa_sreg_number(module->target, "tid.x")});
            ir_append(f, b, s);
            ir_set_dst(f, q, 0, ir_val(f, p));
            ir_set_src(f, q, ISETP_ra, ir_val(f, tid));
            ir_set_src(f, q, ISETP_rb, op_imm(5));
            ir_append(f, b, q);
        }
        if (cfg->nsucc[n] == 0)
            add(f, b, returns && rnd(r, 3) ? OT_RET : OT_EXIT, (Operand){0}, false, (Operand){0});
        else if (cfg->nsucc[n] > 2) {
            InstId x = ir_inst_new(f, OT_BRX, 0, isa_num_src(OT_BRX));
            ir_set_src(f, x, BRX_ra, ir_val(f, tid));
            ir_append(f, b, x);
        } else {
            if (cfg->nsucc[n] == 2)
                add(f, b, OT_BRA, ir_target((BlockId){cfg->succ[n][0]}), true, ir_val(f, p));
            add(f, b, OT_BRA, ir_target((BlockId){cfg->succ[n][cfg->nsucc[n] - 1]}), false, (Operand){0});
        }
        for (uint32_t k = 0; k < cfg->nsucc[n]; k++)
            ir_add_edge(f, b, (BlockId){cfg->succ[n][k]});
    }
    return f;
}

/* Order rule and pending at RET, by a data flow of its own: bit k of in[b] = B k may be pending. */
static void check_order(Function *f, bool must_use) {
    uint32_t *in = calloc(f->blocks.n, sizeof *in);
    bool changed = true;
    unsigned syncs = 0;
    while (changed) {
        changed = false;
        syncs = 0;
        for (unsigned k = 0; k < f->layout.n; k++) {
            const Block *b = ir_block(f, f->layout.at[k]);
            uint32_t m = in[f->layout.at[k].i];
            for (unsigned p = 0; p < b->insts.n; p++) {
                const Inst *i = ir_inst(f, b->insts.at[p]);
                if (i->op == OT_BSSY) {
                    uint32_t j = ir_src(f, i, BSSY_syncpoint)->value, r = ir_src(f, i, 0)->value;
                    const Inst *s = ir_inst(f, ir_block(f, (BlockId){j})->insts.at[0]);
                    assert_int_equal(s->op, OT_BSYNC);
                    assert_int_equal(ir_src(f, s, 0)->value, r);
                    m |= 1u << r;
                } else if (i->op == OT_BSYNC) {
                    uint32_t r = ir_src(f, i, 0)->value;
                    m &= ~(1u << r);
                    assert_true(m >> r == 0); /* everything else pending is smaller */
                    syncs++;
                } else if (i->op == OT_BREAK)
                    m &= ~(1u << ir_src(f, i, 0)->value);
                else if (i->op == OT_RET)
                    assert_int_equal(m, 0);
            }
            for (unsigned s = 0; s < b->succs.n; s++) {
                uint32_t *t = &in[b->succs.at[s].i];
                changed |= (*t | m) != *t;
                *t |= m;
            }
        }
    }
    if (must_use)
        assert_true(syncs > 0);
    free(in);
}

/* No cycle through an observing block avoids every YIELD: search from each such block. */
static void check_yields(Function *f) {
    bool *seen = malloc(f->blocks.n);
    uint32_t *stack = malloc(f->blocks.n * sizeof *stack);
    for (unsigned k = 0; k < f->layout.n; k++) {
        uint32_t root = f->layout.at[k].i, top = 0;
        bool observes = false;
        for (unsigned p = 0; p < ir_block(f, (BlockId){root})->insts.n; p++)
            observes |= (ir_inst(f, ir_block(f, (BlockId){root})->insts.at[p])->flags & IF_OBSERVING) != 0;
        if (!observes)
            continue;
        memset(seen, 0, f->blocks.n);
        stack[top++] = root;
        while (top) {
            const Block *b = ir_block(f, (BlockId){stack[--top]});
            for (unsigned s = 0; s < b->succs.n; s++) {
                uint32_t t = b->succs.at[s].i;
                const Block *tb = ir_block(f, (BlockId){t});
                bool yields = false;
                for (unsigned p = 0; p < tb->insts.n; p++)
                    yields |= ir_inst(f, tb->insts.at[p])->op == OT_YIELD;
                assert_int_not_equal(t, root);
                if (!yields && !seen[t])
                    seen[t] = true, stack[top++] = t;
            }
        }
    }
    free(seen);
    free(stack);
}

/* From block b's instruction `at` on, where lanes are pending in the barrier: true if they come to its BSYNC
 * behind an observing instruction. seen: [block] 1 reached, 2 behind such an instruction */
static bool observes_pending(Function *f, uint32_t b, unsigned at, uint32_t barrier, uint8_t *seen,
                             uint8_t behind) {
    bool found = false;
    for (const Block *blk = ir_block(f, (BlockId){b}); at < blk->insts.n; at++) {
        const Inst *i = ir_inst(f, blk->insts.at[at]);
        if ((i->op == OT_BSYNC || i->op == OT_BREAK) && ir_src(f, i, 0)->value == barrier)
            return i->op == OT_BSYNC && behind == 2;
        if (i->flags & IF_OBSERVING)
            behind = 2;
    }
    for (unsigned s = 0; s < ir_block(f, (BlockId){b})->succs.n; s++) {
        uint32_t to = ir_block(f, (BlockId){b})->succs.at[s].i;
        if (seen[to] < behind)
            seen[to] = behind, found |= observes_pending(f, to, 0, barrier, seen, behind);
    }
    return found;
}

/* Joins at which lanes of several rounds of a loop wait for each other: how many there are. None waits for
 * lanes that have yet to pass an observing instruction: who waits may be the one that they look for. */
static unsigned check_rounds(Function *f, const IrModule *module) {
    unsigned found = 0;
    uint8_t *seen = malloc(f->blocks.n);
    for (unsigned k = 0; k < module->reconv.n; k++) {
        const ReconvReport *report = &module->reconv.at[k];
        if (report->reason != RJ_ROUNDS)
            continue;
        found++;
        memset(seen, 0, f->blocks.n);
        FOR_BLOCKS(f, b)
            FOR_INSTS(f, b, i)
                if (i->op == OT_BSSY && ir_src(f, i, 0)->value == report->barrier &&
                    ir_src(f, i, BSSY_syncpoint)->value == report->join.i)
                    assert_false(observes_pending(f, b.i, AT(i) + 1, report->barrier, seen, 1));
    }
    free(seen);
    return found;
}

enum {
    TOTAL_WITHOUT,
    TOTAL_WITH,
    TOTAL_BSYNC,
    TOTAL_YIELD,
    TOTAL_STACK,
    TOTAL_ISSUES,
    TOTAL_BREAK,
    TOTAL_ROUNDS,
    TOTAL_COUNT
};

typedef struct {
    void (*cfg)(Rng *r, ModelCfg *c);
    bool returns, yield_breaks;
    uint32_t observing;
    ReconvMode mode;
    unsigned opts; /* RO_ */
} Setting;

static void one_random(uint64_t seed, const Setting *how, uint64_t totals[TOTAL_COUNT]) {
    Rng r = {seed};
    ModelCfg c;
    StrTab strings = {0};
    Diags d = {.sink = diag_print_sink, .user = stderr};
    bool returns = how->returns;
    uint32_t observing = how->observing;
    how->cfg(&r, &c);
    IrModule *module = ir_module_new(isa_targets[0], &strings);
    module->verify = true; /* the pass checks itself */
    module->reconverge = how->mode;
    module->yield_breaks = how->yield_breaks;
    module->reconv_opts = how->opts;
    Function *f = build(module, &r, &c, returns, observing);
    assert_true(pass_uniformity(module, &d));
    if (seed % 16 == 0)
        assert_true(ir_verify(f, &d, "build"));
    ModelResult without = model_run(f, &c);
    assert_true(pass_reconverge(module, &d));
    if (seed % 16 == 0)
        assert_true(ir_verify(f, &d, "reconverge"));
    check_order(f, false);
    check_yields(f);
    ModelResult res = model_run(f, &c);
    if (res.hung || res.bad_trace || res.stale_return || without.bad_trace) {
        char *text = ir_print(module, NULL);
        printf("seed %llu: hung %d bad %d stale %d\n%s", (unsigned long long)seed, res.hung, res.bad_trace,
               res.stale_return, text);
        free(text);
        fail();
    }
    totals[TOTAL_WITHOUT] += without.block_issues;
    totals[TOTAL_WITH] += res.block_issues;
    totals[TOTAL_ISSUES] += res.issues;
    totals[TOTAL_BSYNC] += model_count_op(f, OT_BSYNC);
    totals[TOTAL_YIELD] += model_count_op(f, OT_YIELD);
    totals[TOTAL_BREAK] += model_count_op(f, OT_BREAK);
    if (how->opts)
        totals[TOTAL_ROUNDS] += check_rounds(f, module);
    if (!observing && !returns)
        totals[TOTAL_STACK] += model_stack(&c);
    ir_module_free(module);
    str_free(&strings);
}

static void run_random(ReconvMode mode, bool yield_breaks, uint64_t count, uint64_t totals[TOTAL_COUNT]) {
    clock_t start = clock();
    memset(totals, 0, TOTAL_COUNT * sizeof *totals);
    for (uint64_t k = 0; k < count / SHARE; k++)
        one_random(k, &(Setting){random_cfg, k % 4 == 3, yield_breaks, k % 2 ? 0 : 12, mode, 0}, totals);
    printf("block issues without barriers %llu, with %llu; %llu BSYNC, %llu BREAK, %llu YIELD; %.2f s\n",
           (unsigned long long)totals[TOTAL_WITHOUT], (unsigned long long)totals[TOTAL_WITH],
           (unsigned long long)totals[TOTAL_BSYNC], (unsigned long long)totals[TOTAL_BREAK],
           (unsigned long long)totals[TOTAL_YIELD], (double)(clock() - start) / CLOCKS_PER_SEC);
}

static void test_random(void **state) {
    (void)state;
    uint64_t totals[TOTAL_COUNT];
    run_random(RECONV_IPDOM, false, 10000, totals);
    assert_true(totals[TOTAL_WITH] < totals[TOTAL_WITHOUT]); /* they do bring lanes together */
    assert_true(totals[TOTAL_BSYNC] > 10000 / SHARE);
    assert_true(totals[TOTAL_YIELD] > 500 / SHARE);
}

/* Early joins, all of them and mixed by the profit test; YIELD with BREAK. */
static void test_random_frontier(void **state) {
    (void)state;
    uint64_t ipdom[TOTAL_COUNT], mixed[TOTAL_COUNT], all[TOTAL_COUNT], breaks[TOTAL_COUNT];
    run_random(RECONV_IPDOM, false, 2000, ipdom);
    run_random(RECONV_FRONTIER_ALL, false, 10000, all);
    assert_true(all[TOTAL_BREAK] > 500 / SHARE);
    run_random(RECONV_FRONTIER, false, 10000, mixed);
    run_random(RECONV_FRONTIER_ALL, true, 10000, breaks);
    assert_true(breaks[TOTAL_BREAK] > all[TOTAL_BREAK]);
}

/* What is chosen by expected issues: it too has an order and no lane left behind, and issues less than any.
 */
static void test_random_auto(void **state) {
    (void)state;
    uint64_t most[TOTAL_COUNT], few[TOTAL_COUNT], breaks[TOTAL_COUNT];
    run_random(RECONV_IPDOM, false, 2000, most);
    run_random(RECONV_AUTO, false, 2000, few);
    assert_true(few[TOTAL_WITH] < most[TOTAL_WITH]);
    run_random(RECONV_AUTO, true, 2000, breaks);
    assert_true(breaks[TOTAL_BREAK] > few[TOTAL_BREAK]);
}

/* Joins where lanes of several rounds of a loop wait for each other. */
static void test_random_rounds(void **state) {
    (void)state;
    uint64_t totals[TOTAL_COUNT] = {0};
    for (uint64_t seed = 0; seed < 6000 / SHARE; seed++)
        one_random(seed,
                   &(Setting){.cfg = random_cfg,
                              .observing = seed % 2 ? 0 : 12,
                              .mode = RECONV_AUTO,
                              .opts = RO_GIVEN | RO_GATHER_ROUNDS | RO_SPECULATE},
                   totals);
    printf("%llu joins of several rounds\n", (unsigned long long)totals[TOTAL_ROUNDS]);
    assert_true(totals[TOTAL_ROUNDS] > 100 / SHARE);
}

/* About 28 blocks of which 16 branch, 3 or 4 ways now and then, early exits in most programs, loops in two of
 * five. */
static void stress_cfg(Rng *r, ModelCfg *cfg) {
    memset(cfg, 0, sizeof *cfg);
    cfg->n = 20 + rnd(r, 18);
    cfg->seed = (uint64_t)rnd(r, 1u << 30) << 20 ^ rnd(r, 1u << 20);
    for (uint32_t b = 1; b < cfg->n; b++) {
        uint32_t kind = rnd(r, 100), n = kind < 7 && b > 1 ? 0
                                         : kind < 40       ? 1
                                         : kind < 90       ? 2
                                                           : 3 + rnd(r, 2);
        cfg->nsucc[b] = n;
        cfg->succ[b][0] = b + 1 + (rnd(r, 3) ? 0 : rnd(r, cfg->n - b));
        for (uint32_t k = 1; k < n; k++)
            cfg->succ[b][k] = rnd(r, 100) < 4 ? 2 + rnd(r, cfg->n - 1) : b + 1 + rnd(r, cfg->n - b);
    }
    model_shortest(cfg);
}

/* How often blocks are issued, relative to a stack machine. */
static void test_ratios(void **state) {
    (void)state;
    static const struct {
        ReconvMode mode;
        const char *name;
        double limit;
    } row[] = {{RECONV_NONE, "none", 2},
               {RECONV_IPDOM, "ipdom", 0.92},
               {RECONV_FRONTIER, "frontier", 0.92},
               {RECONV_FRONTIER_ALL, "frontier-all", 0.70},
               {RECONV_AUTO, "auto", 0.60}};
    uint64_t fewest = UINT64_MAX; /* instructions in the other modes */
    for (unsigned k = 0; k < sizeof row / sizeof *row; k++) {
        uint64_t totals[TOTAL_COUNT] = {0};
        for (uint64_t seed = 0; seed < 3000 / SHARE; seed++)
            one_random(seed, &(Setting){stress_cfg, false, false, 0, row[k].mode, 0}, totals);
        double ratio = (double)totals[TOTAL_WITH] / (double)totals[TOTAL_STACK];
        if (row[k].mode != RECONV_AUTO && totals[TOTAL_ISSUES] < fewest)
            fewest = totals[TOTAL_ISSUES];
        printf("%-12s block issues / stack %.3f; instructions issued %llu\n", row[k].name, ratio,
               (unsigned long long)totals[TOTAL_ISSUES]);
        assert_true(ratio <= row[k].limit);
        /* so few more that a share of the programs need not show it */
        assert_true(row[k].mode != RECONV_AUTO ||
                    totals[TOTAL_ISSUES] < fewest + (SHARE > 1 ? fewest / 100 : 0));
    }
}

/* A round of a loop, several times over: two of its branches leave the loop, so nothing in it post-dominates
 * the round, but all rounds that go on meet at the next. As in a decoder that the front end has unrolled. */
static void unroll(Rng *r, ModelCfg *cfg, uint32_t copies) {
    enum { EACH = 10, FIRST = 2, NEXT = EACH, OUT = NEXT + 1 };
    static const uint32_t succ[EACH][2] = {{1, 4},    {2, 3}, {3, OUT},    {NEXT, NEXT}, {5, 6},
                                           {NEXT, 9}, {7, 8}, {NEXT, OUT}, {NEXT, NEXT}, {NEXT, NEXT}};
    memset(cfg, 0, sizeof *cfg);
    cfg->n = EACH * copies + FIRST;
    cfg->nsucc[1] = 1;
    cfg->succ[1][0] = FIRST;
    cfg->seed = (uint64_t)rnd(r, 1u << 30) << 20 ^ rnd(r, 1u << 20);
    for (uint32_t copy = 0; copy < copies; copy++)
        for (uint32_t k = 0; k < EACH; k++) {
            uint32_t first = FIRST + copy * EACH, b = first + k,
                     next = copy + 1 < copies ? first + EACH : FIRST;
            cfg->nsucc[b] = succ[k][0] == succ[k][1] ? 1 : 2;
            for (unsigned s = 0; s < 2; s++)
                cfg->succ[b][s] = succ[k][s] == OUT ? cfg->n : succ[k][s] == NEXT ? next : first + succ[k][s];
        }
    model_shortest(cfg);
}

static void unrolled_cfg(Rng *r, ModelCfg *cfg) { unroll(r, cfg, 8); }

static void unrolled_long_cfg(Rng *r, ModelCfg *cfg) { unroll(r, cfg, 40); }

static void test_unrolled_loop(void **state) {
    (void)state;
    uint64_t early[TOTAL_COUNT] = {0}, chosen[TOTAL_COUNT] = {0};
    for (uint64_t seed = 0; seed < 20; seed++) {
        one_random(seed, &(Setting){unrolled_cfg, false, false, 0, RECONV_FRONTIER_ALL, 0}, early);
        one_random(seed, &(Setting){unrolled_cfg, false, false, 0, RECONV_AUTO, 0}, chosen);
    }
    printf("block issues with every early join %llu, chosen %llu\n", (unsigned long long)early[TOTAL_WITH],
           (unsigned long long)chosen[TOTAL_WITH]);
    assert_true(chosen[TOTAL_WITH] * 100 <= early[TOTAL_WITH] * 105);
}

/* 402 blocks: of large functions joins are chosen too. */
static void test_large_function(void **state) {
    (void)state;
    uint64_t late[TOTAL_COUNT] = {0}, chosen[TOTAL_COUNT] = {0};
    for (uint64_t seed = 0; seed < 5; seed++) {
        one_random(seed, &(Setting){unrolled_long_cfg, false, false, 0, RECONV_IPDOM, 0}, late);
        one_random(seed, &(Setting){unrolled_long_cfg, false, false, 0, RECONV_AUTO, 0}, chosen);
    }
    printf("block issues with post-dominators %llu, chosen %llu\n", (unsigned long long)late[TOTAL_WITH],
           (unsigned long long)chosen[TOTAL_WITH]);
    assert_true(chosen[TOTAL_WITH] * 2 <= late[TOTAL_WITH]);
}

/* 20 nested ifs: the innermost joins are left out, and the rest still works. */
static void test_deep(void **state) {
    (void)state;
    ModelCfg c = {.n = 61, .seed = 7};
    for (uint32_t d = 0; d < 20; d++) {
        c.nsucc[1 + d] = 2; /* header d: skip to its join, or go in */
        c.succ[1 + d][0] = 61 - d;
        c.succ[1 + d][1] = 2 + d;
    }
    for (uint32_t b = 21; b < 61; b++)
        c.nsucc[b] = 1, c.succ[b][0] = b + 1;
    model_shortest(&c);
    StrTab strings = {0};
    Diags d = {.sink = diag_print_sink, .user = stderr};
    IrModule *module = ir_module_new(isa_targets[0], &strings);
    module->reconverge = RECONV_IPDOM;
    Rng r = {1};
    Function *f = build(module, &r, &c, false, 0);
    assert_true(pass_uniformity(module, &d) && pass_reconverge(module, &d));
    unsigned deep = 0;
    for (unsigned k = 0; k < module->reconv.n; k++)
        deep += module->reconv.at[k].reason == RJ_TOO_DEEP;
    assert_int_equal(deep, 4);
    assert_int_equal(model_count_op(f, OT_BSYNC), 16);
    check_order(f, true);
    ModelResult res = model_run(f, &c);
    assert_false(res.hung || res.bad_trace);
    ir_module_free(module);
    str_free(&strings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep),          cmocka_unit_test(test_random),
        cmocka_unit_test(test_ratios),        cmocka_unit_test(test_random_frontier),
        cmocka_unit_test(test_random_auto),   cmocka_unit_test(test_unrolled_loop),
        cmocka_unit_test(test_random_rounds), cmocka_unit_test(test_large_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
