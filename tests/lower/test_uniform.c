/* Uniformity: hand-written cases, and random programs on arbitrary CFGs that each lane executes alone. In a
 * block that the analysis says all lanes come to together, a value that it calls uniform must have the same
 * sequence of contents in all lanes (as far as each lane gets).
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "lower/passes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- hand-written ---- */

typedef struct {
    StrTab strings;
    Diags d;
    IrModule *m;
} Loaded;

static void analyse(Loaded *loaded, const char *text) {
    Source s = {"t.mir", text, strlen(text)};
    memset(loaded, 0, sizeof *loaded);
    loaded->d = (Diags){.sink = diag_print_sink, .user = stderr};
    loaded->m = ir_load(&s, &loaded->strings, &loaded->d);
    assert_non_null(loaded->m);
    assert_true(pass_uniformity(loaded->m, &loaded->d));
}

static void unload(Loaded *loaded) {
    ir_module_free(loaded->m);
    str_free(&loaded->strings);
}

static bool uniform(Loaded *loaded, unsigned func, uint32_t v) {
    return loaded->m->funcs.at[func]->values.at[v].uniform;
}

#define HEAD "module bru1 opt=2 const=0\n"
#define KERNEL "func @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"

static void test_data(void **state) {
    (void)state;
    Loaded l;
    analyse(
        &l, HEAD KERNEL
        "bb1: preds() succs()\n"
        "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[ctaid.x]\n  %r3 = S2R SR[clock.lo]\n"
        "  %r4 = IMAD %r2, c[0x0][0x0], %r1, _\n  %r5 = IMAD %r2, c[0x0][0x0], %r2, _\n"
        "  %r6, _ = LDG %r2, _, 0x0, _\n  %r7 = LDC(sz=0x4) %r2, 0x0\n  %r8 = LDC(sz=0x4) %r1, 0x0\n"
        "  %p9, _ = ISETP %r1, 0x0, PT, _\n"
        "  %r10, _ = VOTE %p9, 0xffffffff flags[sync convergent]\n  %r11, _ = VOTE %p9, 0xff flags[sync "
        "convergent]\n"
        "  @%p9 %r12 = MOV 0x1 tied(%r2)\n"
        "  %ur13 = REDUX(sign=S32 op=SUM) %r1, 0xffffffff flags[sync convergent]\n"
        "  %ur14 = REDUX(sign=S32 op=SUM) %r1, 0xff flags[sync convergent]\n"
        "  %p15, _ = ISETP %r2, 0x0, PT, _\n"
        "  @%p9 %r16 = S2R SR[ctaid.y] tied(%r2)\n  @%p15 %r17 = S2R SR[ctaid.y] tied(%r2)\n  EXIT _\n}\n");
    const bool expect[] = {0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 1};
    for (uint32_t v = 1; v < sizeof expect / sizeof *expect; v++)
        if (uniform(&l, 0, v) != expect[v])
            fail_msg("value %u", v);
    unload(&l);
}

/* A phi where a divergent branch's sides meet; one inside an arm, behind a uniform branch, stays uniform. */
static void test_joins(void **state) {
    (void)state;
    Loaded l;
    analyse(&l, HEAD KERNEL
            "bb1: preds() succs(bb2 bb6)\n"
            "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[ctaid.x]\n  %p3, _ = ISETP %r1, 0x0, PT, _\n"
            "  %p4, _ = ISETP %r2, 0x0, PT, _\n  @%p3 BRA _, _, bb2\n  BRA _, _, bb6\n"
            "bb2: preds(bb1) succs(bb3 bb4)\n  @%p4 BRA _, _, bb3\n  BRA _, _, bb4\n"
            "bb3: preds(bb2) succs(bb5)\n  %r5 = MOV 0x1\n  BRA _, _, bb5\n"
            "bb4: preds(bb2) succs(bb5)\n  %r6 = MOV 0x2\n  BRA _, _, bb5\n"
            "bb5: preds(bb3 bb4) succs(bb6)\n  %r7 = phi %r5, %r6\n  BRA _, _, bb6\n"
            "bb6: preds(bb1 bb5) succs()\n  %r8 = phi %r2, %r7\n  %r9 = phi %r2, %r2\n  EXIT _\n}\n");
    assert_true(uniform(&l, 0, 7));
    assert_false(uniform(&l, 0, 8));
    assert_true(uniform(&l, 0, 9));
    Function *f = l.m->funcs.at[0];
    assert_false(uniform_branch(f, (BlockId){1}));
    assert_true(uniform_branch(f, (BlockId){2}));
    assert_true(ir_block(f, (BlockId){1})->uniform_flow && ir_block(f, (BlockId){6})->uniform_flow);
    assert_false(ir_block(f, (BlockId){5})->uniform_flow);
    unload(&l);
}

/* bb4 is reached over both sides of the divergent branch, before its post-dominator bb6. */
static void test_early_join(void **state) {
    (void)state;
    Loaded l;
    analyse(&l, HEAD KERNEL
            "bb1: preds() succs(bb2 bb3)\n"
            "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[ctaid.x]\n  %p3, _ = ISETP %r1, 0x0, PT, _\n"
            "  %p4, _ = ISETP %r2, 0x0, PT, _\n  @%p3 BRA _, _, bb2\n  BRA _, _, bb3\n"
            "bb2: preds(bb1) succs(bb4 bb5)\n  %r5 = MOV 0x1\n  @%p4 BRA _, _, bb4\n  BRA _, _, bb5\n"
            "bb3: preds(bb1) succs(bb4)\n  %r6 = MOV 0x2\n  BRA _, _, bb4\n"
            "bb4: preds(bb2 bb3) succs(bb6)\n  %r7 = phi %r5, %r6\n  %p8, _ = ISETP %r7, 0x0, PT, _\n  BRA "
            "_, _, bb6\n"
            "bb5: preds(bb2) succs(bb6)\n  BRA _, _, bb6\n"
            "bb6: preds(bb4 bb5) succs()\n  EXIT _\n}\n");
    assert_false(uniform(&l, 0, 7) || uniform(&l, 0, 8));
    unload(&l);
}

/* A counter is uniform in its loop, and divergent where lanes that left in different iterations read it. */
static void test_temporal(void **state) {
    (void)state;
    static const char *const text =
        HEAD KERNEL "bb1: preds() succs(bb2)\n  %r1 = S2R SR[%s]\n  %r2 = MOV 0x0\n  BRA _, _, bb2\n"
                    "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r3 = phi %r2, %r4\n  %r4, _, _ = IADD3 %r3, 0x1, "
                    "RZ, !PT, !PT\n"
                    "  %p5, _ = ISETP %r4, %r1, PT, _\n  @%p5 BRA _, _, bb2\n  BRA _, _, bb3\n"
                    "bb3: preds(bb2) succs()\n  STG _, _, 0x0, %r4\n  EXIT _\n}\n";
    for (int k = 0; k < 2; k++) {
        char full[2000];
        snprintf(full, sizeof full, "%.*s%s%s", (int)(strstr(text, "%s") - text), text,
                 k ? "ctaid.x" : "tid.x", strstr(text, "%s") + 2);
        Loaded l;
        analyse(&l, full);
        assert_int_equal(uniform(&l, 0, 4), k);
        assert_int_equal(uniform_branch(l.m->funcs.at[0], (BlockId){2}), k);
        assert_int_equal(ir_block(l.m->funcs.at[0], (BlockId){2})->uniform_flow, k);
        assert_true(ir_block(l.m->funcs.at[0], (BlockId){3})->uniform_flow);
        unload(&l);
    }
}

/* `n` values of an inner loop that all lanes leave together, in an outer one that they leave in different
 * rounds: those read within the outer loop stay uniform, number `far`, which is read behind it, differs
 * there.
 */
static void test_leaving(void **state) {
    (void)state;
    for (unsigned n = 1; n <= 6; n++)
        for (unsigned far = 0; far < n; far++) {
            char text[4000];
            int at =
                snprintf(text, sizeof text,
                         HEAD KERNEL "bb1: preds() succs(bb2)\n  %%r1 = S2R SR[tid.x]\n  %%r2 = MOV 0x0\n"
                                     "  BRA _, _, bb2\nbb2: preds(bb1 bb4) succs(bb3)\n"
                                     "  %%r3 = phi %%r2, %%r4\n  BRA _, _, bb3\n"
                                     "bb3: preds(bb2 bb3) succs(bb3 bb4)\n  %%r5 = phi %%r2, %%r6\n"
                                     "  %%r6, _, _ = IADD3 %%r5, 0x1, RZ, !PT, !PT\n");
            for (unsigned k = 0; k < n; k++)
                at += snprintf(text + at, sizeof text - (size_t)at,
                               "  %%r%u, _, _ = IADD3 %%r6, 0x%x, %%r3, !PT, !PT\n", 10 + k, k + 2);
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "  %%p7, _ = ISETP %%r6, 0x4, PT, _\n  @%%p7 BRA _, _, bb3\n  BRA _, _, bb4\n"
                           "bb4: preds(bb3) succs(bb2 bb5)\n  %%r4, _, _ = IADD3 %%r3, 0x1, RZ, !PT, !PT\n");
            for (unsigned k = 0; k < n; k++)
                if (k != far)
                    at += snprintf(text + at, sizeof text - (size_t)at,
                                   "  %%r%u, _, _ = IADD3 %%r%u, 0x1, RZ, !PT, !PT\n", 30 + k, 10 + k);
            snprintf(text + at, sizeof text - (size_t)at,
                     "  %%p8, _ = ISETP %%r4, %%r1, PT, _\n  @%%p8 BRA _, _, bb2\n  BRA _, _, bb5\n"
                     "bb5: preds(bb4) succs()\n  %%r9, _, _ = IADD3 %%r%u, 0x1, RZ, !PT, !PT\n  EXIT _\n}\n",
                     10 + far);
            Loaded l;
            analyse(&l, text);
            if (uniform(&l, 0, 9))
                fail_msg("value %u of %u: uniform behind the loop", far, n);
            for (unsigned k = 0; k < n; k++)
                if (k != far && !uniform(&l, 0, 30 + k))
                    fail_msg("value %u of %u: divergent within the loop", k, n);
            unload(&l);
        }
}

/* A way back to the header before the lanes meet in bb3: they come there in different iterations of one loop.
 */
static void test_round(void **state) {
    (void)state;
    Loaded l;
    analyse(&l, HEAD KERNEL
            "bb1: preds() succs(bb2)\n  %r1 = S2R SR[tid.x]\n  %r2 = MOV 0x0\n  BRA _, _, bb2\n"
            "bb2: preds(bb1 bb2 bb3) succs(bb2 bb3)\n  %r3 = phi %r2, %r4, %r4\n"
            "  %r4, _, _ = IADD3 %r3, 0x1, RZ, !PT, !PT\n  %r5, _, _ = IADD3 %r3, 0x5, RZ, !PT, !PT\n"
            "  %p6, _ = ISETP %r5, %r1, PT, _\n  @%p6 BRA _, _, bb2\n  BRA _, _, bb3\n"
            "bb3: preds(bb2) succs(bb2 bb4)\n  %p7, _ = ISETP %r4, 0x9, PT, _\n"
            "  @%p7 BRA _, _, bb2\n  BRA _, _, bb4\n"
            "bb4: preds(bb3) succs()\n  EXIT _\n}\n");
    assert_false(uniform(&l, 0, 4) || uniform(&l, 0, 7)); /* bb3 uses it */
    assert_false(uniform_branch(l.m->funcs.at[0], (BlockId){3}));
    unload(&l);
}

/* Parameters are uniform if they are at every call; a call in divergent flow is no uniform entry. */
static void test_calls(void **state) {
    (void)state;
    static const char *const callee =
        " ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
        "bb1: preds() succs()\n  %r1{fixed=4}, %r2{fixed=5}, %r3{fixed=20}, %r4{fixed=21} = entry\n"
        "  %r5{fixed=4}, _, _ = IADD3 %r1, 0x1, RZ, !PT, !PT\n  %r6{fixed=5}, _, _ = IADD3 %r2, 0x1, RZ, "
        "!PT, !PT\n"
        "  RET _, [%r3 %r4], 0x0, %r5, %r6\n}\n";
    char text[4000];
    snprintf(text, sizeof text,
             HEAD "func @a%sfunc @b%sfunc @open%s" KERNEL
                  "bb1: preds() succs(bb2 bb3)\n  %%r1 = S2R SR[tid.x]\n  %%r2 = S2R SR[ctaid.x]\n"
                  "  %%r3{fixed=4} = MOV %%r1\n  %%r4{fixed=5} = MOV %%r2\n  %%r5{fixed=20} = MOV 0x0\n"
                  "  %%r6{fixed=21} = MOV 0x0\n"
                  "  %%r7{fixed=4}, %%r8{fixed=5} = CALL _, RZ, call_rel(@a), %%r3, %%r4, [%%r5 %%r6]\n"
                  "  %%p9, _ = ISETP %%r1, 0x0, PT, _\n  @%%p9 BRA _, _, bb2\n  BRA _, _, bb3\n"
                  "bb2: preds(bb1) succs(bb3)\n  %%r10{fixed=4} = MOV %%r2\n  %%r11{fixed=5} = MOV %%r2\n"
                  "  %%r12{fixed=4}, %%r13{fixed=5} = CALL _, RZ, call_rel(@b), %%r10, %%r11, [%%r5 %%r6]\n  "
                  "BRA _, _, bb3\n"
                  "bb3: preds(bb1 bb2) succs()\n  EXIT _\n}\n",
             callee, callee, callee);
    Loaded l;
    analyse(&l, text);
    assert_true(!uniform(&l, 0, 1) && uniform(&l, 0, 2)); /* @a: tid, ctaid */
    assert_true(l.m->funcs.at[0]->uniform_entry);
    assert_true(uniform(&l, 1, 1) && uniform(&l, 1, 2)); /* @b: both ctaid, but called by some lanes only */
    assert_false(l.m->funcs.at[1]->uniform_entry);
    assert_true(!uniform(&l, 2, 1) && !uniform(&l, 2, 2)); /* nobody here calls @open */
    assert_false(l.m->funcs.at[2]->uniform_entry);
    assert_true(!uniform(&l, 3, 7) && uniform(&l, 3, 8));
    assert_true(uniform(&l, 3, 12) && uniform(&l, 3, 13));
    unload(&l);
}

/* ---- random programs ---- */

enum { LANES = 8, MAX_BLOCKS = 60, PHIS = 3, OPS = 5, VISITS = 120, SEEDS = 4000 };

static uint32_t rnd(uint64_t *s, uint32_t n) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33) % n;
}

typedef struct {
    Function *f;
    uint64_t s;
    Graph g;
    DomTree t;
    VEC(ValId) own[MAX_BLOCKS + 1]; /* R values of each block, in order */
    Arena a;
} Gen;

/* A value that is defined at the end of block b or, with own 0, at its beginning. */
static Operand visible(Gen *gen, uint32_t b, bool own) {
    for (;;) {
        if (own && gen->own[b].n && (rnd(&gen->s, 2) || b == 1))
            return ir_val(gen->f, gen->own[b].at[rnd(&gen->s, gen->own[b].n)]);
        own = true;
        if (b != 1)
            b = gen->t.idom[b];
    }
}

static ValId define(Gen *gen, uint32_t b, InstId i) {
    ValId v = ir_value_new(gen->f, RF_R);
    ir_set_dst(gen->f, i, 0, ir_val(gen->f, v));
    VEC_ADD(&gen->a, &gen->own[b], v);
    return v;
}

static InstId emit(Gen *gen, uint32_t b, unsigned op, unsigned nd, unsigned ns) {
    InstId i = ir_inst_new(gen->f, op, nd, ns);
    ir_append(gen->f, (BlockId){b}, i);
    return i;
}

static void fill_block(Gen *gen, uint32_t b) {
    Function *f = gen->f;
    if (b == 1)
        for (int k = 0; k < 3; k++) {
            InstId i = emit(gen, b, k == 2 ? OT_MOV : OT_S2R, 1, 1);
            ir_set_src(
                f, i, 0,
                k == 2 ? op_imm(3)
                       : (Operand){OPK_SREG, 0, 0, 0,
                                   (uint32_t)isa_sreg_number(f->module->target, k ? "ctaid.x" : "tid.x")});
            define(gen, b, i);
        }
    for (uint32_t k = 0; k < OPS; k++) {
        InstId i = emit(gen, b, rnd(&gen->s, 2) ? OT_IADD3 : OT_LOP3, 0, 0);
        ir_remove_at(f, (BlockId){b}, ir_block(f, (BlockId){b})->insts.n - 1);
        unsigned op = ir_inst(f, i)->op;
        i = emit(gen, b, op, isa_num_dst(op), isa_num_src(op));
        for (unsigned c = 0; c < 3; c++)
            ir_set_src(f, i, c, rnd(&gen->s, 3) ? visible(gen, b, gen->own[b].n > 0) : op_rz());
        if (op == OT_LOP3)
            ir_inst(f, i)->mods = MSET(LOP3, lut, rnd(&gen->s, 2) ? 0x96 : 0xe8);
        if (rnd(&gen->s, 3) == 0)
            ir_set_src(f, i, 1, op_imm(rnd(&gen->s, 5)));
        define(gen, b, i);
    }
}

static void end_block(Gen *gen, uint32_t b) {
    Function *f = gen->f;
    const Block *blk = ir_block(f, (BlockId){b});
    if (blk->succs.n == 0) {
        emit(gen, b, OT_EXIT, 0, EXIT_nsrc);
        return;
    }
    BlockId to[2] = {blk->succs.at[0], blk->succs.at[blk->succs.n - 1]};
    if (blk->succs.n == 2) {
        InstId q = emit(gen, b, OT_ISETP, ISETP_ndst, ISETP_nsrc);
        ValId p = ir_value_new(f, RF_P);
        ir_set_dst(f, q, 0, ir_val(f, p));
        ir_set_src(f, q, 0, visible(gen, b, true));
        ir_set_src(f, q, 1, op_imm(rnd(&gen->s, 6)));
        ir_inst(f, q)->mods = MSET(ISETP, cmp, 1 + rnd(&gen->s, 6));
        ir_value(f, p)->block = (BlockId){b};
        InstId br = ir_branch_new(f, to[0]);
        ir_append(f, (BlockId){b}, br);
        ir_set_guard(f, br, ir_val(f, p));
    }
    ir_append(f, (BlockId){b}, ir_branch_new(f, to[1]));
}

static void generate(Gen *gen, IrModule *module) {
    Function *f = gen->f = ir_function_new(module, str_intern_z(module->strings, "k"), true);
    uint32_t n = 4 + rnd(&gen->s, (rnd(&gen->s, 3) ? 20 : MAX_BLOCKS) - 4);
    for (uint32_t b = 1; b <= n; b++)
        ir_block_new(f);
    for (uint32_t b = 1; b < n; b++) {
        if (b > 1 && rnd(&gen->s, 14) == 0)
            continue;
        ir_add_edge(f, (BlockId){b}, (BlockId){b + 1});
        if (rnd(&gen->s, 3))
            ir_add_edge(f, (BlockId){b}, (BlockId){2 + rnd(&gen->s, n - 1)});
    }
    cfg_remove_unreachable(f);
    gen->g = cfg_graph(&gen->a, f);
    gen->t = dom_tree(&gen->a, &gen->g, GRAPH_FORWARD, 1);
    for (uint32_t k = 0; k < gen->t.order.count; k++) { /* phis first: sources may come from later blocks */
        uint32_t b = gen->t.order.order[k];
        for (unsigned p = 0; ir_block(f, (BlockId){b})->preds.n > 1 && p < PHIS; p++)
            define(gen, b, emit(gen, b, IR_PHI, 1, ir_block(f, (BlockId){b})->preds.n));
    }
    for (uint32_t k = 0; k < gen->t.order.count; k++)
        fill_block(gen, gen->t.order.order[k]);
    for (uint32_t k = 0; k < gen->t.order.count; k++) {
        uint32_t b = gen->t.order.order[k];
        const Block *blk = ir_block(f, (BlockId){b});
        for (unsigned p = 0; p < blk->insts.n && ir_inst(f, blk->insts.at[p])->op == IR_PHI; p++)
            for (unsigned e = 0; e < blk->preds.n; e++)
                ir_set_src(f, blk->insts.at[p], e, visible(gen, blk->preds.at[e].i, true));
        end_block(gen, b);
    }
    ir_renumber(f);
}

typedef struct {
    VEC(uint32_t) seq;
} Trace;

static uint32_t word(const uint32_t *v, Operand o) {
    return o.kind == OPK_VAL ? v[o.value] : o.kind == OPK_IMM ? o.value : 0;
}

static uint32_t compute(Function *f, const Inst *i, const uint32_t *v, uint32_t tid) {
    uint32_t x[3] = {0};
    for (unsigned k = 0; k < 3 && k < i->nsrc; k++)
        x[k] = word(v, *ir_src(f, i, k));
    switch (i->op) {
    case OT_S2R:
        return ir_src(f, i, 0)->value == (uint32_t)isa_sreg_number(f->module->target, "tid.x") ? tid : 4;
    case OT_MOV: return x[0];
    case OT_IADD3: return x[0] + x[1] + x[2];
    case OT_LOP3:
        return MGET(LOP3, lut, i->mods) == 0x96 ? x[0] ^ x[1] ^ x[2]
                                                : (x[0] & x[1]) | (x[1] & x[2]) | (x[0] & x[2]);
    default: {
        int32_t a = (int32_t)x[0], b = (int32_t)x[1];
        unsigned way = a < b ? 1 : a == b ? 2 : 4;
        return (MGET(ISETP, cmp, i->mods) & way) != 0;
    }
    }
}

static void run_lane(Arena *a, Function *f, uint32_t tid, Trace *trace) {
    uint32_t *v = ARENA_ARRAY(a, uint32_t, f->values.n);
    BlockId b = f->entry, from = {0};
    for (unsigned visits = 0; visits < VISITS; visits++) {
        const Block *blk = ir_block(f, b);
        unsigned edge = 0, p = 0;
        while (from.i && blk->preds.at[edge].i != from.i)
            edge++;
        uint32_t phis[PHIS];
        for (; ir_inst(f, blk->insts.at[p])->op == IR_PHI; p++)
            phis[p] = word(v, *ir_src(f, ir_inst(f, blk->insts.at[p]), edge));
        BlockId next = {0};
        for (unsigned k = 0; k < blk->insts.n && !next.i; k++) {
            const Inst *i = ir_inst(f, blk->insts.at[k]);
            if (i->op == OT_EXIT)
                return;
            if (i->op == OT_BRA) {
                if (i->guard.kind == OPK_NONE || v[i->guard.value])
                    next.i = ir_src(f, i, IR_BRA_TARGET_SLOT)->value;
                continue;
            }
            uint32_t dst = ir_dst(f, i, 0)->value;
            v[dst] = k < p ? phis[k] : compute(f, i, v, tid);
            VEC_ADD(a, &trace[dst].seq, v[dst]);
        }
        from = b;
        b = next;
    }
}

static void check_traces(Function *f, Trace *const *trace, unsigned *claims) {
    for (uint32_t v = 1; v < f->values.n; v++) {
        const Value *val = ir_value(f, (ValId){v});
        if (!val->def.i || !val->uniform || !ir_block(f, val->block)->uniform_flow)
            continue;
        ++*claims;
        for (unsigned l = 1; l < LANES; l++) {
            const Trace *x = &trace[0][v], *y = &trace[l][v];
            unsigned n = x->seq.n < y->seq.n ? x->seq.n : y->seq.n;
            if (n && memcmp(x->seq.at, y->seq.at, n * sizeof *x->seq.at) != 0) {
                char *text = ir_print_function(f, NULL);
                printf("value %u differs in lane %u\n%s", v, l, text);
                fail();
            }
        }
    }
}

static void test_random(void **state) {
    (void)state;
    unsigned claims = 0, values = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        StrTab strings = {0};
        Diags d = {.sink = diag_print_sink, .user = stderr};
        IrModule *m = ir_module_new(isa_targets[0], &strings);
        Gen g = {.s = seed * 2654435761u};
        generate(&g, m);
        if (seed % 8 == 0)
            assert_true(ir_verify(g.f, &d, "generate"));
        assert_true(pass_uniformity(m, &d));
        Trace *trace[LANES];
        for (uint32_t l = 0; l < LANES; l++) {
            trace[l] = ARENA_ARRAY(&g.a, Trace, g.f->values.n);
            run_lane(&g.a, g.f, l, trace[l]);
        }
        check_traces(g.f, trace, &claims);
        values += g.f->values.n;
        arena_free(&g.a);
        ir_module_free(m);
        str_free(&strings);
    }
    printf("%u of %u values claimed uniform\n", claims, values);
    assert_true(claims > values / 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data),     cmocka_unit_test(test_joins),   cmocka_unit_test(test_early_join),
        cmocka_unit_test(test_temporal), cmocka_unit_test(test_leaving), cmocka_unit_test(test_round),
        cmocka_unit_test(test_calls),    cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
