/* Convergence barriers in functions written by hand: what is placed where, at branches, loops, calls and
 * collectives, and what the checker of finished instructions says of right and wrong ones.
 * SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"
#include "warp_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

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
#define FOUR "  NOP\n  NOP\n  NOP\n  NOP\n"
#define SIXTEEN FOUR FOUR FOUR FOUR
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
/* WARPSYNC in front of a barrier brings all together anyway: a join right there needs no BSSY and BSYNC, one
 * with code of its own before the barrier does. */
#define BEFORE_BAR(own)                                                                                      \
    HEAD KERNEL("k") "bb1: preds() succs(bb3 bb2)\n" TID "  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"           \
                     "bb2: preds(bb1) succs(bb3)\n" FOUR "  BRA _, _, bb3\n"                                 \
                     "bb3: preds(bb1 bb2) succs()\n" own "  BAR 0x0, _, _\n  EXIT _\n}\n"
static void test_barrier_joins(void **state) {
    (void)state;
    static const char *const texts[] = {BEFORE_BAR(""), BEFORE_BAR(SIXTEEN)};
    for (unsigned own = 0; own < 2; own++) {
        Loaded l;
        reconverge(&l, texts[own]);
        Function *f = l.m->funcs.at[0];
        assert_int_equal(model_count_op(f, OT_BSSY), own);
        assert_int_equal(model_count_op(f, OT_BSYNC), own);
        assert_int_equal(model_count_op(f, OT_WARPSYNC), 1);
        unload(&l);
    }
}

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
        assert_int_equal(model_count_op(l.m->funcs.at[k], OT_BSSY), 0);
        assert_int_equal(model_count_op(l.m->funcs.at[k], OT_BSYNC), 0);
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
    assert_int_equal(model_count_op(f, OT_BSSY), 1);
    assert_int_equal(at(f, 3, 0)->op, OT_BSYNC);
    assert_int_equal(f->blocks.n, 5); /* one new block, on the edge back */
    assert_int_equal(at(f, 4, 0)->op, OT_YIELD);
    assert_int_equal(ir_block(f, (BlockId){4})->succs.at[0].i, 2);
    unload(&l);
}

/* Lanes that come from two blocks to a loop in which each gets through alone meet in front of it: no BSYNC in
 * the loop, and no YIELD. */
static void test_retries(void **state) {
    (void)state;
    Loaded l;
    reconverge(&l,
               HEAD KERNEL("k") "bb1: preds() succs(bb3 bb2)\n" TID "  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"
                                "bb2: preds(bb1) succs(bb4)\n  %r3 = MOV 0x3\n  BRA _, _, bb4\n"
                                "bb3: preds(bb1) succs(bb4)\n  %r4 = MOV 0x4\n  BRA _, _, bb4\n"
                                "bb4: preds(bb2 bb3 bb4) succs(bb4 bb5)\n  %r5 = phi %r3, %r4, %r6\n"
                                "  %r6 = ATOMS_CAS %r1, _, 0x10, %r5, RZ flags[observing memory side]\n"
                                "  %p7, _ = ISETP(cmp=NE) %r6, %r5, _, _\n"
                                "  @%p7 BRA _, _, bb4\n  BRA _, _, bb5\n"
                                "bb5: preds(bb4) succs()\n  NOP\n  EXIT _\n}\n");
    Function *f = l.m->funcs.at[0];
    assert_int_equal(model_count_op(f, OT_YIELD), 0);
    assert_int_equal(model_count_op(f, OT_BSYNC), 2);
    assert_int_equal(f->blocks.n, 7);
    assert_int_equal(at(f, 6, 0)->op, IR_PHI);
    assert_int_equal(at(f, 6, 1)->op, OT_BSYNC);
    assert_int_equal(at(f, 1, 2)->op, OT_BSSY);
    assert_int_equal(ir_src(f, at(f, 1, 2), BSSY_syncpoint)->value, 6);
    assert_int_equal(at(f, 4, 1)->op, OT_ATOMS_CAS);
    assert_int_equal(ir_src(f, at(f, 4, 0), 0)->value, ir_dst(f, at(f, 6, 0), 0)->value);
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
    assert_int_equal(model_count_op(leaf, OT_WARPSYNC), 0);
    assert_int_equal(again->b_base, 1);
    assert_int_equal(model_count_op(again, OT_BSSY), 1);
    assert_int_equal(at(again, 5, 0)->op, OT_BSYNC);
    assert_int_equal(ir_src(again, at(again, 5, 0), 0)->value, 1);
    assert_int_equal(model_count_op(again, OT_WARPSYNC), waits ? 0 : 1);
    assert_int_equal(model_count_op(again, OT_VOTE), waits ? 0 : 1);
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

#define MEMBER(name) "func @" name " ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
/* Calls `other`, and again where its lanes part; so lanes return in two groups. */
#define TWICE(name, other)                                                                                   \
    MEMBER(name)                                                                                             \
    "bb1: preds() succs(bb3 bb2)\n" TID "  CALL _, _, call_rel(@" other ")\n  @%p2 BRA _, _, bb3\n"          \
    "  BRA _, _, bb2\n"                                                                                      \
    "bb2: preds(bb1) succs(bb3)\n  NOP\n  CALL _, _, call_rel(@" other ")\n  BRA _, _, bb3\n"                \
    "bb3: preds(bb1 bb2) succs()\n  NOP\n  RET _, R[20:21], 0x0\n}\n"
/* Three ways to the return, two with calls. */
#define THREE_WAYS(name, other)                                                                              \
    MEMBER(name)                                                                                             \
    "bb1: preds() succs(bb4 bb2)\n" TID "  @%p2 BRA _, _, bb4\n  BRA _, _, bb2\n"                            \
    "bb2: preds(bb1) succs(bb4 bb3)\n  CALL _, _, call_rel(@" other ")\n  @%p2 BRA _, _, bb4\n"              \
    "  BRA _, _, bb3\n"                                                                                      \
    "bb3: preds(bb2) succs(bb4)\n  CALL _, _, call_rel(@" other ")\n  BRA _, _, bb4\n"                       \
    "bb4: preds(bb1 bb2 bb3) succs()\n  NOP\n  RET _, R[20:21], 0x0\n}\n"

/* Of two functions that call each other lanes meet in the one from which they would return in more groups,
 * whichever stands first. */
static void test_calls_each_other(void **state) {
    (void)state;
    static const char *const texts[] = {HEAD TWICE("a", "b") THREE_WAYS("b", "a"),
                                        HEAD THREE_WAYS("a", "b") TWICE("b", "a")};
    for (unsigned three = 0; three < 2; three++) {
        Loaded l;
        reconverge(&l, texts[!three]);
        Function *with = l.m->funcs.at[three], *without = l.m->funcs.at[!three];
        assert_int_equal(model_count_op(without, OT_WARPSYNC) + model_count_op(without, OT_VOTE), 0);
        assert_int_equal(model_count_op(with, OT_WARPSYNC), 1);
        assert_int_equal(at(with, 1, 0)->op, OT_VOTE);
        assert_int_equal(at(with, 4, 0)->op, OT_WARPSYNC);
        for (unsigned k = 0; k < l.m->reconv.n; k++)
            assert_int_equal(l.m->reconv.at[k].reason,
                             l.m->reconv.at[k].func == with ? RJ_ENTERED : RJ_RECURSIVE);
        unload(&l);
    }
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
    assert_int_equal(model_count_op(gather, OT_BREAK), 2);
    unload(&l);
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
/* A loop around a compare-and-swap: what it expects from the second round on, where, what else it does, and
 * the comparison under which it goes on */
#define SWAPS(expects, where, more, goes_on)                                                                 \
    KERNEL("k")                                                                                              \
    "bb1: preds() succs(bb2)\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n  BRA _, _, bb2\n"              \
    "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r3 = phi %r1, " expects "\n  %r4 = SHF %r3, 0x2, RZ\n  " more    \
    "\n  %r5 = ATOMS_CAS " where ", _, 0x0, %r3, %r1\n  %p6, _ = ISETP(cmp=" goes_on                         \
    ", PT, PT\n  @%p6 BRA _, _, bb2\n  BRA _, _, bb3\nbb3: preds(bb2) succs()\n  EXIT _\n}\n"
/* The checker finds what is wrong in hand-made results: register order, a missing BREAK, a BSYNC of another
 * register. */
/* Lanes of two joins with one register leave for one EXIT, behind `way`. */
#define TWO_LEAVE(way)                                                                                       \
    KERNEL("k")                                                                                              \
    "bb1: preds() succs(bb3 bb2)\n" TID "  BSSY B0, bb3, _\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"         \
    "bb2: preds(bb1) succs(bb3 bb6)\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb6\n"                                \
    "bb3: preds(bb1 bb2) succs(bb5 bb4)\n  BSYNC B0, _\n  BSSY B0, bb5, _\n  @%p2 BRA _, _, bb5\n"           \
    "  BRA _, _, bb4\n"                                                                                      \
    "bb4: preds(bb3) succs(bb5 bb6)\n  @%p2 BRA _, _, bb5\n  BRA _, _, bb6\n"                                \
    "bb5: preds(bb3 bb4) succs()\n  BSYNC B0, _\n  EXIT _\n"                                                 \
    "bb6: preds(bb2 bb4) succs()\n" way "  EXIT _\n}\n"

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
        /* but not one that expects what it saw, and gets it if it is alone */
        {SWAPS("%r5", "%r2", "NOP", "NE) %r5, %r3"), true},
        {SWAPS("%r5", "%r2", "NOP", "NE) %r3, %r5"), true},
        {SWAPS("%r1", "%r2", "NOP", "NE) %r5, %r3"), false},
        {SWAPS("%r4", "%r2", "NOP", "NE) %r5, %r3"), false},
        {SWAPS("%r5", "%r4", "NOP", "NE) %r5, %r3"), false},
        {SWAPS("%r5", "%r2", "STS %r2, _, 0x4, %r1", "NE) %r5, %r3"), false},
        {SWAPS("%r5", "%r2", "NOP flags[observing]", "NE) %r5, %r3"), false},
        {SWAPS("%r5", "%r2", "NOP", "EQ) %r5, %r3"), false},
        {SWAPS("%r5", "%r2", "NOP", "NE) %r5, %r1"), false},
        {SWAPS("%r5", "%r2", "NOP", "GT) %r5, %r3"), false},
        {SPIN("NANOSLEEP 0x40, _"), true},
        {SPIN("YIELD _\n  NOP"), true},
        /* R-08: nothing asks for whom the lanes that exit are pending; who sleeps or waits there is asked */
        {TWO_LEAVE("  NOP\n"), true},
        {TWO_LEAVE("  YIELD _\n"), false},
        {TWO_LEAVE("  BREAK B0, _\n"), false},
        {TWO_LEAVE("  BSYNC B0, _\n"), false},
        {TWO_LEAVE("  WARPSYNC 0xffffffff, _\n"), false}};
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

static char *add_text(char *at, const char *end, const char *format, ...) {
    va_list args;
    va_start(args, format);
    at += vsnprintf(at, (size_t)(end - at), format, args);
    va_end(args);
    assert_true(at < end);
    return at;
}

/* Operations one after the other, each with a slow part to which lanes hardly ever go, and more behind them:
 * lanes meet behind each one. Of 64 lanes one is expected to go there. */
static void test_rare(void **state) {
    (void)state;
    enum { OPERATIONS = 12, BEHIND = 160 };
    static char text[1 << 13];
    char *to = text;
    const char *end = text + sizeof text;
    to = add_text(to, end, HEAD KERNEL("k"));
    for (unsigned b = 1; b <= 2 * OPERATIONS; b += 2) {
        to = b == 1 ? add_text(to, end,
                               "bb1: preds() succs(bb2 bb3)\n  %%r1 = S2R SR[tid.x]\n  %%p2, _ = ISETP:0x0 "
                               "%%r1, 0x5, _, _\n")
                    : add_text(to, end, "bb%u: preds(bb%u bb%u) succs(bb%u bb%u)\n", b, b - 2, b - 1, b + 1,
                               b + 2);
        to = add_text(to, end, "  @%%p2 BRA _, _, bb%u flags[rare]\n  BRA _, _, bb%u\n", b + 1, b + 2);
        to = add_text(to, end, "bb%u: preds(bb%u) succs(bb%u)\n  NOP\n  BRA _, _, bb%u\n", b + 1, b, b + 2,
                      b + 2);
    }
    to = add_text(to, end, "bb%u: preds(bb%u bb%u) succs()\n", 2 * OPERATIONS + 1, 2 * OPERATIONS - 1,
                  2 * OPERATIONS);
    for (unsigned k = 0; k < BEHIND; k++)
        to = add_text(to, end, "  NOP\n");
    add_text(to, end, "  EXIT _\n}\n");
    Loaded l;
    reconverge(&l, text);
    for (unsigned b = 3; b <= 2 * OPERATIONS + 1; b += 2)
        assert_int_equal(at(l.m->funcs.at[0], b, 0)->op, OT_BSYNC);
    unload(&l);
}

/* A loop on the side of a uniform branch where less is done, so that no warp is expected there: that lanes
 * meet again in each of its rounds costs nothing that is seen, and stays. */
static void test_unseen(void **state) {
    (void)state;
    Loaded l;
    reconverge(&l, HEAD KERNEL("k") "bb1: preds() succs(bb2 bb3)\n  %r1 = S2R SR[tid.x]\n"
                                    "  %p2, _ = ISETP:0x0 %r1, 0x5, _, _\n  %r4 = S2R SR[ctaid.x]\n"
                                    "  %p5, _ = ISETP %r4, 0x5, _, _\n"
                                    "  @%p5 BRA _, _, bb2\n  BRA _, _, bb3\n"
                                    "bb2: preds(bb1 bb5) succs(bb4 bb5)\n  NOP\n  @%p2 BRA _, _, bb4\n"
                                    "  BRA _, _, bb5\n"
                                    "bb4: preds(bb2) succs(bb5)\n  NOP\n  BRA _, _, bb5\n"
                                    "bb5: preds(bb2 bb4) succs(bb2 bb6)\n  NOP\n  NOP\n"
                                    "  @%p5 BRA _, _, bb2\n  BRA _, _, bb6\n"
                                    "bb3: preds(bb1) succs(bb6)\n" SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN
                                        SIXTEEN SIXTEEN SIXTEEN "  BRA _, _, bb6\n"
                                    "bb6: preds(bb3 bb5) succs()\n  NOP\n  EXIT _\n}\n");
    assert_int_equal(at(l.m->funcs.at[0], 5, 0)->op, OT_BSYNC);
    unload(&l);
}

/* Tests of one value against one number after the other, each of which leaves something out: lanes that do so
 * wait for the others behind it, every time. Drawn lane by lane, some of the numbers come to none. */
static void test_skipped(void **state) {
    (void)state;
    enum { TESTS = 20, END = 2 + 2 * TESTS, OUT = END + 1 };
    char text[16384], outs[512] = "";
    size_t n = 0;
#define ADD(...) n += (size_t)snprintf(text + n, sizeof text - n, __VA_ARGS__)
    ADD("module sm_80 opt=2 const=0\n" KERNEL("k") "bb1: preds() succs(bb2)\n  %%r1 = S2R SR[tid.x]\n"
                                                   "  %%r2 = S2R SR[laneid]\n  BRA _, _, bb2\n");
    for (unsigned k = 0; k < TESTS; k++) {
        unsigned b = 2 + 2 * k;
        if (k)
            ADD("bb%u: preds(bb%u bb%u) succs(bb%u bb%u)\n", b, b - 2, b - 1, b + 2, b + 1);
        else
            ADD("bb2: preds(bb1) succs(bb4 bb3)\n");
        ADD("  %%p%u, _ = ISETP(cmp=EQ) %%r1, 0x%x, _, _\n  @%%p%u BRA _, _, bb%u\n  BRA _, _, bb%u\n",
            10 + k, k, 10 + k, b + 2, b + 1);
        ADD("bb%u: preds(bb%u) succs(bb%u bb%u)\n" SIXTEEN
            "  %%r%u = MUFU(func=RSQ) %%r2\n  %%p%u, _ = ISETP(cmp=GT) %%r%u, 0x%x, _, _\n"
            "  @%%p%u BRA _, _, bb%u\n  BRA _, _, bb%u\n",
            b + 1, b, (unsigned)OUT, b + 2, 70 + k, 40 + k, 70 + k, k, 40 + k, (unsigned)OUT, b + 2);
        (void)snprintf(outs + strlen(outs), sizeof outs - strlen(outs), " bb%u", b + 1);
    }
    ADD("bb%u: preds(bb%u bb%u bb%u) succs()\n  NOP\n  EXIT _\n", (unsigned)END, END - 2, END - 1,
        (unsigned)OUT);
    ADD("bb%u: preds(%s) succs(bb%u)\n" SIXTEEN "  BRA _, _, bb%u\n}\n", (unsigned)OUT, outs + 1,
        (unsigned)END, (unsigned)END);
#undef ADD
    assert_true(n < sizeof text);
    Loaded l;
    reconverge(&l, text);
    for (unsigned k = 1; k < TESTS; k++)
        assert_int_equal(at(l.m->funcs.at[0], 2 + 2 * k, 0)->op, OT_BSYNC);
    unload(&l);
}

/* A loop of many exits laid out round after round, in each of which lanes part and meet: hardly a lane is
 * expected in the last ones, so that whether these part is chance, and where they do not meet again nobody
 * does from there on. */
static void lay_out(unsigned rounds) {
#define UNKNOWN "  %%r%u = MUFU(func=RSQ) %%r1\n  %%p%u, _ = ISETP(cmp=GT) %%r%u, 0x5, _, _\n"
    const unsigned last = 3 * rounds + 1;
    static char text[1 << 14], outs[512];
    char *to = text, *out = outs;
    const char *end = text + sizeof text, *out_end = outs + sizeof outs;
    to = add_text(to, end, "module sm_80 opt=2 const=0\n" KERNEL("k"));
    for (unsigned k = 0; k < rounds; k++) {
        unsigned b = 3 * k + 1, next = k + 1 < rounds ? b + 3 : last;
        to = k ? add_text(to, end, "bb%u: preds(bb%u) succs(bb%u bb%u)\n", b, b - 1, b + 1, b + 2)
               : add_text(to, end, "bb1: preds() succs(bb2 bb3)\n  %%r1 = S2R SR[tid.x]\n");
        to = add_text(to, end, UNKNOWN "  @%%p%u BRA _, _, bb%u\n  BRA _, _, bb%u\n", 2 * k + 10, 2 * k + 100,
                      2 * k + 10, 2 * k + 100, b + 1, b + 2);
        to = add_text(to, end, "bb%u: preds(bb%u) succs(bb%u)\n" FOUR FOUR "  BRA _, _, bb%u\n", b + 1, b,
                      b + 2, b + 2);
        to = add_text(to, end, "bb%u: preds(bb%u bb%u) succs(", b + 2, b, b + 1);
        to = next == last
                 ? add_text(to, end, "bb%u)\n" SIXTEEN "  BRA _, _, bb%u\n", next, next)
                 : add_text(to, end,
                            "bb%u bb%u)\n" SIXTEEN UNKNOWN "  @%%p%u BRA _, _, bb%u\n  BRA _, _, bb%u\n",
                            last, next, 2 * k + 11, 2 * k + 101, 2 * k + 11, 2 * k + 101, last, next);
        out = add_text(out, out_end, " bb%u", b + 2);
    }
    add_text(to, end, "bb%u: preds(%s) succs()\n" SIXTEEN "  EXIT _\n}\n", last, outs + 1);
#undef UNKNOWN
    Loaded l;
    reconverge(&l, text);
    for (unsigned k = 0; k < rounds; k++)
        assert_int_equal(at(l.m->funcs.at[0], 3 * k + 3, 0)->op, OT_BSYNC);
    unload(&l);
}

static void test_laid_out(void **state) {
    (void)state;
    for (unsigned rounds = 20; rounds <= 28; rounds += 4)
        lay_out(rounds);
}

/* Nineteen joins one behind the other, from whose ways lanes leave for one EXIT, and are pending there in all
 * of them: they need one register. */
static void test_many_leave(void **state) {
    (void)state;
    enum { JOINS = 20, LAST = 2 * JOINS + 1, LEFT = LAST + 1 };
    static char text[1 << 14], outs[512];
    char *to = text, *out = outs;
    const char *end = text + sizeof text, *out_end = outs + sizeof outs;
#define UNKNOWN "  %%r%u = MUFU(func=RSQ) %%r1\n  %%p%u, _ = ISETP(cmp=GT) %%r%u, 0x5, _, _\n"
    to = add_text(to, end, HEAD KERNEL("k"));
    for (unsigned k = 0; k < JOINS; k++) {
        unsigned b = 2 * k + 1, next = b + 2;
        to = k ? add_text(to, end, "bb%u: preds(bb%u bb%u) succs(bb%u bb%u)\n" SIXTEEN, b, b - 2, b - 1, next,
                          b + 1)
               : add_text(to, end, "bb1: preds() succs(bb3 bb2)\n  %%r1 = S2R SR[tid.x]\n");
        to = add_text(to, end, UNKNOWN "  @%%p%u BRA _, _, bb%u\n  BRA _, _, bb%u\n", 2 * k + 10, 2 * k + 100,
                      2 * k + 10, 2 * k + 100, next, b + 1);
        to = add_text(to, end, "bb%u: preds(bb%u) succs(bb%u bb%u)\n" FOUR UNKNOWN, b + 1, b, LEFT, next,
                      2 * k + 11, 2 * k + 101, 2 * k + 11);
        to = add_text(to, end, "  @%%p%u BRA _, _, bb%u\n  BRA _, _, bb%u\n", 2 * k + 101, LEFT, next);
        out = add_text(out, out_end, " bb%u", b + 1);
    }
    to = add_text(to, end, "bb%u: preds(bb%u bb%u) succs()\n" SIXTEEN "  EXIT _\n", LAST, LAST - 2, LAST - 1);
    add_text(to, end, "bb%u: preds(%s) succs()\n  EXIT _\n}\n", LEFT, outs + 1);
#undef UNKNOWN
    Loaded l;
    reconverge(&l, text);
    for (unsigned k = 1; k < JOINS; k++) {
        const Inst *sync = at(l.m->funcs.at[0], 2 * k + 1, 0);
        assert_int_equal(sync->op, OT_BSYNC);
        assert_true(ir_src(l.m->funcs.at[0], sync, 0)->value < 2);
    }
    assert_true(reconv_check(l.m, NULL, &l.d));
    unload(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_leave),
        cmocka_unit_test(test_if),
        cmocka_unit_test(test_barrier_joins),
        cmocka_unit_test(test_no_barrier),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_retries),
        cmocka_unit_test(test_one_selector),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_checker),
        cmocka_unit_test(test_rare),
        cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_laid_out),
        cmocka_unit_test(test_calls_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
