/* Convergence barriers: on random CFGs (irreducible ones, early exits, switches, observing loops) every lane
 * of a modelled warp finishes with the trace that it has alone; barrier order holds; YIELD breaks every
 * observing cycle. Hand-written cases check placement and calls.
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

static unsigned count_op(Function *f, unsigned op) {
    unsigned n = 0;
    for (unsigned k = 0; k < f->layout.n; k++)
        for (unsigned p = 0; p < ir_block(f, f->layout.at[k])->insts.n; p++)
            n += ir_inst(f, ir_block(f, f->layout.at[k])->insts.at[p])->op == op;
    return n;
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
    totals[TOTAL_BSYNC] += count_op(f, OT_BSYNC);
    totals[TOTAL_YIELD] += count_op(f, OT_YIELD);
    totals[TOTAL_BREAK] += count_op(f, OT_BREAK);
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
    run_random(RECONV_IPDOM, false, 20000, totals);
    assert_true(totals[TOTAL_WITH] < totals[TOTAL_WITHOUT]); /* they do bring lanes together */
    assert_true(totals[TOTAL_BSYNC] > 20000 / SHARE);
    assert_true(totals[TOTAL_YIELD] > 1000 / SHARE);
}

/* Early joins, all of them and mixed by the profit test; YIELD with BREAK. */
static void test_random_frontier(void **state) {
    (void)state;
    uint64_t ipdom[TOTAL_COUNT], mixed[TOTAL_COUNT], all[TOTAL_COUNT], breaks[TOTAL_COUNT];
    run_random(RECONV_IPDOM, false, 2000, ipdom);
    run_random(RECONV_FRONTIER_ALL, false, 20000, all);
    assert_true(all[TOTAL_BREAK] > 1000 / SHARE);
    run_random(RECONV_FRONTIER, false, 20000, mixed);
    run_random(RECONV_FRONTIER_ALL, true, 20000, breaks);
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
        assert_true(row[k].mode != RECONV_AUTO || totals[TOTAL_ISSUES] < fewest);
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

/* ---- hand-written ---- */

typedef struct {
    StrTab strings;
    Diags d;
    IrModule *m;
} Loaded;

static void load(Loaded *loaded, const char *text) {
    Source s = {"test.mir", text, strlen(text)};
    memset(loaded, 0, sizeof *loaded);
    loaded->d = (Diags){.source = NULL, .sink = diag_print_sink, .user = stderr};
    loaded->m = ir_load(&s, &loaded->strings, &loaded->d);
    assert_non_null(loaded->m);
}

static void unload(Loaded *loaded) {
    ir_module_free(loaded->m);
    str_free(&loaded->strings);
}

static void reconverge(Loaded *loaded, const char *text) {
    load(loaded, text);
    assert_true(pass_uniformity(loaded->m, &loaded->d));
    assert_true(pass_reconverge(loaded->m, &loaded->d));
    for (unsigned k = 0; k < loaded->m->funcs.n; k++)
        assert_true(ir_verify(loaded->m->funcs.at[k], &loaded->d, "reconverge"));
}

static const Inst *at(Function *f, uint32_t b, unsigned p) {
    const Block *blk = ir_block(f, (BlockId){b});
    assert_true(p < blk->insts.n);
    return ir_inst(f, blk->insts.at[p]);
}

#define HEAD "module bru1 opt=2 const=0\n"
#define KERNEL(name) "func @" name " entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
#define TID "  %r1 = S2R SR[tid.x]\n  %p2, _ = ISETP:0x0 %r1, 0x5, _, _\n"

static void test_if(void **state) {
    (void)state;
    Loaded l;
    reconverge(&l,
               HEAD KERNEL("k") "bb1: preds() succs(bb3 bb2)\n" TID "  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"
                                "bb2: preds(bb1) succs(bb3)\n  NOP\n  BRA _, _, bb3\n"
                                "bb3: preds(bb1 bb2) succs()\n  %r3 = phi %r1, %r1\n  NOP\n  EXIT _\n}\n");
    Function *f = l.m->funcs.at[0];
    assert_int_equal(at(f, 1, 2)->op, OT_BSSY);
    assert_int_equal(ir_src(f, at(f, 1, 2), BSSY_syncpoint)->value, 3);
    assert_int_equal(at(f, 3, 0)->op, IR_PHI);
    assert_int_equal(at(f, 3, 1)->op, OT_BSYNC);
    assert_int_equal(l.m->reconv.n, 1);
    assert_int_equal(l.m->reconv.at[0].reason, RJ_BARRIER);
    assert_int_equal(l.m->reconv.at[0].join.i, 3);
    assert_int_equal(f->summary.max_b, 1);
    unload(&l);
}

/* A uniform branch and a join that only exits get no barrier. */
static void test_no_barrier(void **state) {
    (void)state;
    Loaded l;
    reconverge(
        &l, HEAD KERNEL(
                "u") "bb1: preds() succs(bb3 bb2)\n  %r1 = S2R SR[ctaid.x]\n  %p2, _ = ISETP %r1, 0x5, _, _\n"
                     "  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"
                     "bb2: preds(bb1) succs(bb3)\n  NOP\n  BRA _, _, bb3\n"
                     "bb3: preds(bb1 bb2) succs()\n  NOP\n  EXIT _\n}\n" KERNEL(
                         "e") "bb1: preds() succs(bb3 bb2)\n" TID "  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"
                              "bb2: preds(bb1) succs(bb3)\n  NOP\n  BRA _, _, bb3\n"
                              "bb3: preds(bb1 bb2) succs()\n  EXIT _\n}\n");
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(count_op(l.m->funcs.at[k], OT_BSSY), 0);
        assert_int_equal(count_op(l.m->funcs.at[k], OT_BSYNC), 0);
    }
    assert_int_equal(l.m->reconv.n, 2);
    unsigned seen = 0;
    for (unsigned k = 0; k < 2; k++)
        seen |= 1u << l.m->reconv.at[k].reason;
    assert_int_equal(seen, 1u << RJ_UNIFORM | 1u << RJ_JOIN_IS_EXIT);
    unload(&l);
}

/* A divergent loop exit: BSSY goes in front of the loop. A spin loop: YIELD on the retry edge. */
static void test_loop(void **state) {
    (void)state;
    Loaded l;
    reconverge(&l, HEAD KERNEL("k") "bb1: preds() succs(bb2)\n" TID "  BRA _, _, bb2\n"
                                    "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  NOP flags[observing]\n  @%p2 BRA "
                                    "_, _, bb2\n  BRA _, _, bb3\n"
                                    "bb3: preds(bb2) succs()\n  NOP\n  EXIT _\n}\n");
    Function *f = l.m->funcs.at[0];
    assert_int_equal(at(f, 1, 2)->op, OT_BSSY);
    assert_int_equal(count_op(f, OT_BSSY), 1);
    assert_int_equal(at(f, 3, 0)->op, OT_BSYNC);
    assert_int_equal(f->blocks.n, 5); /* one new block, on the edge back */
    assert_int_equal(at(f, 4, 0)->op, OT_YIELD);
    assert_int_equal(ir_block(f, (BlockId){4})->succs.at[0].i, 2);
    unload(&l);
}

#define CALLS(body)                                                                                          \
    HEAD "func @leaf ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"                                     \
         "bb1: preds() succs(bb3 bb2)\n" TID "  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"                       \
         "bb2: preds(bb1) succs(bb3)\n  NOP\n  BRA _, _, bb3\n"                                              \
         "bb3: preds(bb1 bb2) succs()\n  NOP\n  RET _, R[20:21], 0x0\n}\n"                                   \
         "func @again ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"                                    \
         "bb1: preds() succs(bb3 bb2)\n" TID "  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"                       \
         "bb2: preds(bb1) succs(bb3)\n  CALL _, _, call_rel(@again)\n  BRA _, _, bb3\n"                      \
         "bb3: preds(bb1 bb2) succs(bb5 bb4)\n  @%p2 BRA _, _, bb5\n  BRA _, _, bb4\n"                       \
         "bb4: preds(bb3) succs(bb5)\n  " body "\n  NOP\n  BRA _, _, bb5\n"                                  \
         "bb5: preds(bb3 bb4) succs()\n  NOP\n  NOP\n  NOP\n  RET _, R[20:21], 0x0\n}\n" KERNEL(             \
             "k") "bb1: preds() succs(bb3 bb2)\n" TID "  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"              \
                  "bb2: preds(bb1) succs(bb3)\n  CALL _, _, call_rel(@leaf)\n  CALL _, _, "                  \
                  "call_rel(@again)\n  BRA _, _, bb3\n"                                                      \
                  "bb3: preds(bb1 bb2) succs()\n  NOP\n  EXIT _\n}\n"
/* A callee used inside a region starts above the caller's pending barrier; a recursive one has no join of
 * lanes that call it again, and others; those that entered it together meet again by a mask, unless it
 * `waits`. */
static void check_calls(const char *text, bool waits) {
    Loaded l;
    reconverge(&l, text);
    Function *leaf = l.m->funcs.at[0], *again = l.m->funcs.at[1];
    assert_int_equal(leaf->b_base, 1);
    assert_int_equal(ir_src(leaf, at(leaf, 3, 0), 0)->value, 1);
    assert_int_equal(count_op(leaf, OT_WARPSYNC), 0);
    assert_int_equal(again->b_base, 1);
    assert_int_equal(count_op(again, OT_BSSY), 1);
    assert_int_equal(at(again, 5, 0)->op, OT_BSYNC);
    assert_int_equal(ir_src(again, at(again, 5, 0), 0)->value, 1);
    assert_int_equal(count_op(again, OT_WARPSYNC), waits ? 0 : 1);
    assert_int_equal(count_op(again, OT_VOTE), waits ? 0 : 1);
    if (!waits) {
        assert_int_equal(at(again, 1, 0)->op, OT_VOTE);
        assert_int_equal(at(again, 3, 0)->op, OT_WARPSYNC);
        assert_int_equal(ir_src(again, at(again, 3, 0), WARPSYNC_rb)->value,
                         ir_dst(again, at(again, 1, 0), VOTE_rd)->value);
    }
    assert_int_equal(l.m->funcs.at[2]->b_base, 0);
    unload(&l);
}

static void test_calls(void **state) {
    (void)state;
    static const char *const texts[] = {CALLS("NOP"), CALLS("YIELD _")};
    check_calls(texts[0], false);
    check_calls(texts[1], true);
}

/* A switch as a tree of comparisons, 0 to 2 on one side, 3 and 4 on the other. No number leads to the default
 * case from the first side, as nothing is below 0: there is no join there. Where the last comparison of that
 * side is another value's, lanes come from both. */
static void test_one_selector(void **state) {
    (void)state;
    static const char *const text =
        HEAD KERNEL("k") "bb1: preds() succs(bb3 bb2)\n  %%r1 = S2R SR[tid.x]\n  %%r2 = S2R SR[laneid]\n"
                         "  %%p3, _ = ISETP(cmp=GT) %%r1, 0x2, _, _\n  @%%p3 BRA _, _, bb3\n  BRA _, _, bb2\n"
                         "bb2: preds(bb1) succs(bb5 bb4)\n  %%p4, _ = ISETP(cmp=EQ) %%r1, _, _, _\n"
                         "  @%%p4 BRA _, _, bb5\n  BRA _, _, bb4\n"
                         "bb4: preds(bb2) succs(bb6 bb7)\n  %%p5, _ = ISETP(cmp=EQ) %%r1, 0x1, _, _\n"
                         "  %%p6, %%p7 = ISETP(cmp=EQ) %%r%u, 0x2, !%%p5, _\n  @!%%p7 BRA _, _, bb6\n"
                         "  BRA _, _, bb7\n"
                         "bb5: preds(bb2) succs(bb10)\n  NOP\n  NOP\n  BRA _, _, bb10\n"
                         "bb6: preds(bb4) succs(bb10)\n  NOP\n  NOP\n  BRA _, _, bb10\n"
                         "bb3: preds(bb1) succs(bb8 bb9)\n  %%p8, _ = ISETP(cmp=EQ) %%r1, 0x3, _, _\n"
                         "  @%%p8 BRA _, _, bb8\n  BRA _, _, bb9\n"
                         "bb8: preds(bb3) succs(bb10)\n  NOP\n  NOP\n  BRA _, _, bb10\n"
                         "bb9: preds(bb3) succs(bb11 bb7)\n  %%p9, _ = ISETP(cmp=EQ) %%r1, 0x4, _, _\n"
                         "  @%%p9 BRA _, _, bb11\n  BRA _, _, bb7\n"
                         "bb11: preds(bb9) succs(bb10)\n  NOP\n  NOP\n  BRA _, _, bb10\n"
                         "bb7: preds(bb4 bb9) succs(bb10)\n  NOP\n  NOP\n  NOP\n  NOP\n  NOP\n  NOP\n  NOP\n"
                         "  NOP\n  NOP\n  NOP\n  NOP\n  NOP\n  BRA _, _, bb10\n"
                         "bb10: preds(bb5 bb6 bb8 bb11 bb7) succs()\n  NOP\n  NOP\n  NOP\n  EXIT _\n}\n";
    for (unsigned value = 1; value <= 2; value++) {
        char one[4096];
        assert_true(snprintf(one, sizeof one, text, value) < (int)sizeof one);
        Loaded l;
        reconverge(&l, one);
        Function *f = l.m->funcs.at[0];
        assert_int_equal(at(f, 7, 0)->op == OT_BSYNC, value == 2);
        assert_int_equal(at(f, 10, 0)->op, OT_BSYNC);
        unload(&l);
    }
}

static unsigned place_of(Function *f, uint32_t block, unsigned op) {
    unsigned p = 0;
    while (at(f, block, p)->op != op)
        p++;
    return p;
}

/* BAR and a vote: WARPSYNC before them where the warp may be apart, YIELD too where flow is divergent, and
 * the lanes of a mask in a register gather there; the mask operand goes. */
static void test_collectives(void **state) {
    (void)state;
    Loaded l;
    reconverge(
        &l, HEAD KERNEL("k") "bb1: preds() succs(bb3 bb2)\n" TID
                             "  BAR 0x0, _, _\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"
                             "bb2: preds(bb1) succs(bb3)\n  %r4, _ = VOTE %p2, %r1 flags[sync convergent]\n"
                             "  %r5, _ = VOTE %p2, %r1 flags[sync convergent]\n  BRA _, _, bb3\n"
                             "bb3: preds(bb1 bb2) succs()\n  NOP\n  BAR 0x0, _, _\n  NOP\n  BAR 0x0, _, _\n"
                             "  EXIT _\n}\n");
    Function *f = l.m->funcs.at[1], *gather = l.m->funcs.at[0];
    assert_int_equal(at(f, 1, 2)->op, OT_BAR); /* all come from the kernel's entry */
    unsigned bar = place_of(f, 3, OT_BAR);
    assert_int_equal(at(f, 3, bar - 1)->op, OT_WARPSYNC);
    assert_int_equal(ir_src(f, at(f, 3, bar - 1), WARPSYNC_rb)->value, UINT32_MAX);
    assert_int_equal(at(f, 3, bar + 2)->op, OT_BAR); /* they are together since */
    assert_int_equal(at(f, 2, 1)->op, OT_LEPC); /* lanes with other masks may be there: they gather, once */
    assert_ptr_equal(ir_callee(f, at(f, 2, 2)), gather);
    assert_int_equal(at(f, 2, 3)->op, OT_YIELD);
    assert_int_equal(at(f, 2, 4)->op, OT_WARPSYNC);
    assert_int_equal(ir_src(f, at(f, 2, 4), WARPSYNC_rb)->value, 1);
    assert_int_equal(at(f, 2, 5)->op, OT_VOTE);
    assert_int_equal(at(f, 2, 5)->nsrc, VOTE_nsrc);
    assert_int_equal(at(f, 2, 6)->op, OT_VOTE);
    assert_int_equal(f->summary.max_b, 1); /* B0 is the kernel's: left while lanes wait; B1, B2 are its own */
    assert_int_equal(gather->b_base, 1);
    assert_int_equal(gather->summary.max_b, 3);
    assert_int_equal(count_op(gather, OT_BREAK), 2);
    unload(&l);
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
    assert_int_equal(count_op(f, OT_BSYNC), 16);
    check_order(f, true);
    ModelResult res = model_run(f, &c);
    assert_false(res.hung || res.bad_trace);
    ir_module_free(module);
    str_free(&strings);
}

#define SITE(mask, to) "  WARPSYNC " mask ", _\n  _, _ = VOTE %p2, " mask " flags[sync convergent]\n" to "\n"
#define TWO_SIDES(m1, m2)                                                                                    \
    KERNEL("k")                                                                                              \
    "bb1: preds() succs(bb3 bb2)\n" TID "  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"                            \
    "bb2: preds(bb1) succs(bb4)\n" SITE(m1, "  BRA _, _, bb4") "bb3: preds(bb1) succs(bb4)\n" SITE(          \
        m2, "  BRA _, _, bb4") "bb4: preds(bb2 bb3) succs()\n  EXIT _\n}\n"
/* bb2 and bb3 in a loop; succs and branch of bb2: does it leave bb3 aside now and then? */
#define TWO_IN_TURN(succs, preds, go)                                                                        \
    KERNEL("k")                                                                                              \
    "bb1: preds() succs(bb2)\n" TID "  BRA _, _, bb2\n"                                                      \
    "bb2: preds(bb1 bb4) succs(" succs ")\n" SITE("%r1", go) "bb3: preds(bb2) succs(bb4)\n" SITE(            \
        "%r1", "  BRA _, _, bb4") "bb4: preds(" preds                                                        \
                                  ") succs(bb2 bb5)\n  NOP\n  @%p2 BRA _, _, bb2\n  BRA _, _, bb5\nbb5: "    \
                                  "preds(bb4) succs()\n  EXIT _\n}\n"
#define SPIN(between)                                                                                        \
    KERNEL("k")                                                                                              \
    "bb1: preds() succs(bb2)\n" TID "  BRA _, _, bb2\n"                                                      \
    "bb2: preds(bb1 bb3) succs(bb3 bb4)\n  NOP flags[observing]\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb4\n"    \
    "bb3: preds(bb2) succs(bb2)\n  " between "\n  BRA _, _, bb2\nbb4: preds(bb2) succs()\n  EXIT _\n}\n"
#define BAR_AT(block, preds, first)                                                                          \
    block ": preds(" preds ") succs()\n" first "  BAR 0x0, _, _\n  EXIT _\n}\n"
#define BAR_BEHIND_JOIN(inside, go)                                                                          \
    KERNEL("k")                                                                                              \
    "bb1: preds() succs(bb3 bb2)\n" TID "  BSSY B0, bb3, _\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"         \
    "bb2: preds(bb1) succs(bb3)\n  " inside "\n" go BAR_AT("bb3", "bb1 bb2", "  BSYNC B0, _\n")
/* lanes of bb2 leave B0 and come to another barrier */
#define BAR_BEHIND_LOOSE_JOIN                                                                                \
    KERNEL("k")                                                                                              \
    "bb1: preds() succs(bb3 bb2)\n" TID "  BSSY B0, bb3, _\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"         \
    "bb2: preds(bb1) succs(bb3 bb4)\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb4\n"                                \
    "bb4: preds(bb2) succs()\n  BREAK B0, PT, _\n  NOP\n  EXIT _\n" BAR_AT("bb3", "bb1 bb2",                 \
                                                                           "  BSYNC B0, _\n")
/* The checker finds what is wrong in hand-made results: register order, a missing BREAK, a BSYNC of another
 * register. */
static void test_checker(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool good;
    } row[] = {
        {KERNEL("k") "bb1: preds() succs(bb3 bb2)\n" TID
                     "  BSSY B0, bb3, _\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"
                     "bb2: preds(bb1) succs(bb3)\n  NOP\n  BRA _, _, bb3\n"
                     "bb3: preds(bb1 bb2) succs()\n  BSYNC B0, _\n  EXIT _\n}\n",
         true},
        {KERNEL("k") "bb1: preds() succs(bb3 bb2)\n" TID
                     "  BSSY B0, bb3, _\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"
                     "bb2: preds(bb1) succs(bb3)\n  NOP\n  BRA _, _, bb3\n"
                     "bb3: preds(bb1 bb2) succs()\n  BSYNC B1, _\n  EXIT _\n}\n",
         false},
        {KERNEL("k") "bb1: preds() succs(bb3 bb2)\n" TID
                     "  BSSY B1, bb4, _\n  BSSY B0, bb3, _\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"
                     "bb2: preds(bb1) succs(bb3)\n  NOP\n  BRA _, _, bb3\n"
                     "bb3: preds(bb1 bb2) succs(bb4)\n  BSYNC B0, _\n  BRA _, _, bb4\n"
                     "bb4: preds(bb3) succs()\n  BSYNC B1, _\n  EXIT _\n}\n",
         false},
        {KERNEL("k") "bb1: preds() succs(bb3 bb2)\n" TID
                     "  BSSY B0, bb3, _\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"
                     "bb2: preds(bb1) succs()\n  NOP\n  RET _, R[20:21], 0x0\n"
                     "bb3: preds(bb1) succs()\n  BSYNC B0, _\n  EXIT _\n}\n",
         false},
        /* R-10: at a kernel's entry the warp is together; behind a branch that parts lanes it is not, nor
         * behind a join that some leave with BREAK or in whose region some sleep */
        {KERNEL("k") "bb1: preds() succs()\n" TID "  BAR 0x0, _, _\n  EXIT _\n}\n", true},
        {KERNEL("k") "bb1: preds() succs(bb3 bb2)\n" TID "  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"
                     "bb2: preds(bb1) succs(bb3)\n  NOP\n  BRA _, _, bb3\n" BAR_AT("bb3", "bb1 bb2", ""),
         false},
        {BAR_BEHIND_JOIN("NOP", "  BRA _, _, bb3\n"), true},
        {BAR_BEHIND_JOIN("YIELD _", "  BRA _, _, bb3\n"), false},
        {BAR_BEHIND_JOIN("NANOSLEEP 0x40, _", "  BRA _, _, bb3\n"), false},
        {BAR_BEHIND_LOOSE_JOIN, false},
        /* R-09: the mask of the WARPSYNC is that of the collective */
        {KERNEL("k") "bb1: preds() succs()\n" TID
                     "  WARPSYNC 0xff, _\n  %r4, _ = VOTE %p2, 0xff flags[sync convergent]\n  EXIT _\n}\n",
         true},
        {KERNEL("k") "bb1: preds() succs()\n" TID
                     "  WARPSYNC 0xff, _\n  %r4, _ = VOTE %p2, 0xffff flags[sync convergent]\n  EXIT _\n}\n",
         false},
        {KERNEL("k") "bb1: preds() succs()\n" TID
                     "  WARPSYNC %r1, _\n  %r4, _ = VOTE %p2, %r1 flags[sync convergent]\n  EXIT _\n}\n",
         true},
        {KERNEL("k") "bb1: preds() succs()\n" TID
                     "  WARPSYNC 0xff, _\n  %r4, _ = VOTE %p2, %r1 flags[sync convergent]\n  EXIT _\n}\n",
         false},
        /* R-12: both sides of a branch; disjoint masks; one behind the other; in a loop, one is left aside */
        {TWO_SIDES("0xffffffff", "0xffffffff"), false},
        {TWO_SIDES("%r1", "%r1"), false},
        {TWO_SIDES("0xffff", "0xffff0000"), true},
        {TWO_IN_TURN("bb3", "bb3", "  BRA _, _, bb3"), true},
        {TWO_IN_TURN("bb4 bb3", "bb2 bb3", "  @%p2 BRA _, _, bb4\n  BRA _, _, bb3"), false},
        /* R-13: a loop that waits */
        {SPIN("NOP"), false},
        {SPIN("YIELD _"), true},
        {SPIN("NANOSLEEP 0x40, _"), true},
        {SPIN("YIELD _\n  NOP"), true}};
    for (unsigned k = 0; k < sizeof row / sizeof *row; k++) {
        Loaded l;
        char text[2000];
        snprintf(text, sizeof text, HEAD "%s", row[k].text);
        load(&l, text);
        l.d.sink = NULL;
        if (reconv_check(l.m, NULL, &l.d) != row[k].good)
            fail_msg("row %u: %s", k, row[k].text);
        unload(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_if),
        cmocka_unit_test(test_no_barrier),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_one_selector),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_checker),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_random_frontier),
        cmocka_unit_test(test_random_auto),
        cmocka_unit_test(test_unrolled_loop),
        cmocka_unit_test(test_random_rounds),
        cmocka_unit_test(test_large_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
