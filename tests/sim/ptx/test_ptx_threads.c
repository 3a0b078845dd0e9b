/* What threads do together in the interpreter: control flow, calls, memory spaces, atomics, collectives,
 * barriers, schedules, traps. Expected values are worked out here.
 * SPDX-License-Identifier: MIT */
#include "harness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 256
static uint64_t out[N];
static const uint64_t seeds[] = {0, 1, 2, 12345};
#define EACH_SEED(s) for (unsigned s = 0; s < 4; s++)

static void run(const char *declarations, const char *body, unsigned n, unsigned block, uint64_t seed) {
    run_wrapped(declarations, body, n, block, NULL, 0, out, seed);
}

/* ---- control flow ---- */

static void loop_and_branch(void **state) {
    (void)state;
    EACH_SEED(s) {
        run("",
            "mov.u32 %r1, %t; mov.u32 %r2, 0;\n"
            "L: setp.le.u32 %p1, %r1, 1; @%p1 bra D;\n"
            "and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra E;\n"
            "mad.lo.u32 %r1, %r1, 3, 1; bra J;\nE: shr.u32 %r1, %r1, 1;\nJ: add.u32 %r2, %r2, 1; bra L;\n"
            "D: cvt.u64.u32 %rd1, %r2; st.global.u64 [%o], %rd1;",
            N, 64, seeds[s]);
        for (unsigned i = 0; i < N; i++) {
            uint32_t v = i, n = 0;
            for (; v > 1; n++)
                v = v & 1 ? 3 * v + 1 : v / 2;
            assert_int_equal(out[i], n);
        }
    }
}

static void branch_table(void **state) {
    (void)state;
    run("",
        "and.b32 %r1, %t, 3; T: .branchtargets A, B, C, B; brx.idx %r1, T;\n"
        "A: mov.u64 %rd1, 10; bra D;\nB: mov.u64 %rd1, 20; bra D;\nC: mov.u64 %rd1, 30;\n"
        "D: st.global.u64 [%o], %rd1;",
        N, 32, 0);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(out[i], ((const unsigned[]){10, 20, 30, 20})[i & 3]);
}

static const char functions[] =
    ".func (.param .b32 r) fact(.param .b32 n) {\n.reg .pred %p; .reg .b32 %r<8>;\nld.param.u32 %r1, [n];\n"
    "setp.gt.u32 %p, %r1, 1; @%p bra R; mov.u32 %r2, 1; bra S;\nR: sub.u32 %r3, %r1, 1;\n"
    "{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r3; call (v), fact, (a); ld.param.b32 %r4, [v]; }\n"
    "mul.lo.u32 %r2, %r1, %r4;\nS: st.param.b32 [r], %r2; ret;\n}\n"
    ".func (.reg .b32 d) twice(.reg .b32 x) { add.u32 d, x, x; ret; }\n"
    ".func (.reg .b32 d) square(.reg .b32 x) { mul.lo.u32 d, x, x; ret; }\n"
    ".func (.param .align 8 .b8 d[16]) swap(.param .align 8 .b8 x[16]) {\n.reg .b64 %a, %b;\n"
    "ld.param.b64 %a, [x]; ld.param.b64 %b, [x+8]; st.param.b64 [d], %b; st.param.b64 [d+8], %a; ret; }\n"
    ".func leave(.reg .b32 x) { .reg .pred %p; setp.eq.u32 %p, x, 3; @%p exit; ret; }\n";

static void calls(void **state) {
    (void)state;
    EACH_SEED(s) {
        run(functions,
            "and.b32 %r1, %t, 7;\n{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r1; call.uni (v), fact, "
            "(a);\n"
            "ld.param.b32 %r2, [v]; }\ncvt.u64.u32 %rd1, %r2; st.global.u64 [%o], %rd1;",
            N, 64, seeds[s]);
        for (unsigned i = 0; i < N; i++) {
            unsigned f = 1;
            for (unsigned k = 2; k <= (i & 7); k++)
                f *= k;
            assert_int_equal(out[i], f);
        }
    }
    run(functions,
        "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; mov.u64 %rd1, twice; mov.u64 %rd2, square;\n"
        "selp.b64 %rd3, %rd1, %rd2, %p1;\nP: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
        "call (%r2), %rd3, (%t), P;\ncvt.u64.u32 %rd4, %r2; st.global.u64 [%o], %rd4;",
        N, 64, 0);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(out[i], i & 1 ? i * i : 2 * i);
    run(functions,
        "cvt.u64.u32 %rd1, %t; mov.u64 %rd2, 77;\n{ .param .align 8 .b8 a[16]; .param .align 8 .b8 v[16];\n"
        "st.param.v2.b64 [a], {%rd1, %rd2}; call (v), swap, (a); ld.param.b64 %rd3, [v]; ld.param.b64 %rd4, "
        "[v+8]; }\n"
        "mad.lo.u64 %rd5, %rd4, 1000, %rd3; st.global.u64 [%o], %rd5;",
        N, 64, 0);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(out[i], i * 1000 + 77);
    run(functions, "and.b32 %r1, %t, 3; call leave, (%r1); mov.u64 %rd1, 1; st.global.u64 [%o], %rd1;", N, 64,
        5);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(out[i], (i & 3) != 3);
}

/* ---- memory ---- */

static void spaces(void **state) {
    (void)state;
    const char *vars =
        ".global .align 8 .b32 table[4] = {1, -2, 3, 4};\n.const .align 4 .f32 half = 0f3F000000;\n"
        ".global .align 8 .u64 pointers[2] = {table, generic(table)+8};\n";
    run(vars,
        ".local .align 8 .b8 stack[64]; .shared .align 4 .b32 box[64];\n"
        "and.b32 %r1, %t, 3; mul.wide.u32 %rd1, %r1, 4; mov.u64 %rd2, table; add.u64 %rd2, %rd2, %rd1;\n"
        "ld.global.s32 %rd3, [%rd2];\n" /* sign-extends into 64 bits */
        "mov.u64 %rd4, stack; add.u64 %rd5, %rd4, %rd1; st.local.u32 [%rd5], %t; cvta.local.u64 %rd6, %rd5; "
        "ld.u32 %r2, [%rd6];\n"
        "mov.u32 %r0, %tid.x; mul.wide.u32 %rd7, %r0, 4; mov.u64 %rd8, box; add.u64 %rd8, %rd8, %rd7;\n"
        "st.shared.u32 [%rd8], %t; cvta.shared.u64 %rd9, %rd8; ld.u32 %r3, [%rd9]; isspacep.shared %p1, "
        "%rd9; selp.u32 %r4, 1, 0, %p1;\n"
        "isspacep.local %p2, %rd9; selp.u32 %r5, 1, 0, %p2;\n"
        "ld.const.f32 %f1, [half]; cvt.rn.f32.u32 %f2, %t; mul.f32 %f2, %f2, %f1; cvt.rmi.u32.f32 %r6, %f2;\n"
        "ld.global.u64 %rd11, [pointers+8]; ld.u32 %r7, [%rd11];\n"
        "st.local.v2.u16 [stack+40], {1, 2}; ld.local.u8 %r8, [stack+42];\n"
        "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r6; mad.lo.u32 %r2, %r4, 100000, %r2; add.u32 %r2, %r2, "
        "%r5;\n"
        "mad.lo.u32 %r2, %r7, 1000000, %r2; mad.lo.u32 %r2, %r8, 10000000, %r2;\n"
        "cvt.u64.u32 %rd12, %r2; add.s64 %rd12, %rd12, %rd3; st.global.u64 [%o], %rd12;",
        N, 64, 3);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal((int64_t)out[i],
                         (int64_t)(2 * i + i / 2 + 23100000) + ((const int[]){1, -2, 3, 4})[i & 3]);
}

static void atomics(void **state) {
    (void)state;
    const char *vars =
        ".global .align 8 .u32 sum; .global .u32 lo = 4000; .global .s32 hi; .global .u64 wide; .global .f32 "
        "fsum;\n"
        ".global .u32 wrap; .global .u32 lock; .global .u32 guarded; .global .f64 dsum; .global .b32 pair;\n"
        ".global .u32 flags;\n";
    EACH_SEED(s) {
        run(vars,
            "atom.global.add.u32 %r1, [sum], %t; red.global.min.u32 [lo], %t; red.global.max.s32 [hi], %t;\n"
            "cvt.u64.u32 %rd1, %t; red.global.add.u64 [wide], %rd1; red.global.add.f32 [fsum], 0f3F800000;\n"
            "red.global.add.f64 [dsum], 0d3FE0000000000000; atom.global.inc.u32 %r2, [wrap], 9;\n"
            "mov.b32 %r10, 0x3c003c00; red.global.add.noftz.f16x2 [pair], %r10; and.b32 %r9, %t, 31; shl.b32 "
            "%r9, 1, %r9; red.global.or.b32 [flags], %r9;\n"
            /* spin lock inside the loop, released in it: independent progress of threads */
            "L: atom.global.cas.b32 %r3, [lock], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;\n"
            "ld.volatile.global.u32 %r4, [guarded]; add.u32 %r4, %r4, 3; st.volatile.global.u32 [guarded], "
            "%r4;\n"
            "atom.global.exch.b32 %r5, [lock], 0;\n"
            "mov.u32 %r6, %tid.x; bar.sync 0; setp.ne.u32 %p2, %r6, 0; @%p2 bra E;\n"
            "ld.global.u32 %r7, [sum]; ld.global.u32 %r8, [guarded]; cvt.u64.u32 %rd2, %r7; cvt.u64.u32 "
            "%rd3, %r8;\n"
            "shl.b64 %rd3, %rd3, 32; or.b64 %rd2, %rd2, %rd3; st.global.u64 [%o], %rd2;\n"
            "ld.global.f32 %f1, [fsum]; cvt.rzi.u32.f32 %r7, %f1; ld.global.u32 %r8, [lo]; add.u32 %r7, %r7, "
            "%r8;\n"
            "ld.global.s32 %r8, [hi]; mad.lo.u32 %r7, %r8, 1000, %r7; ld.global.u64 %rd4, [wide]; "
            "cvt.u64.u32 %rd2, %r7;\n"
            "shl.b64 %rd4, %rd4, 32; or.b64 %rd2, %rd2, %rd4; st.global.u64 [%o+8], %rd2;\n"
            "ld.global.u32 %r8, [wrap]; cvt.u64.u32 %rd5, %r8; ld.global.f64 %fd1, [dsum]; cvt.rzi.u64.f64 "
            "%rd6, %fd1; mad.lo.u64 %rd5, %rd6, 100, %rd5;\n"
            "st.global.u64 [%o+16], %rd5; ld.global.u32 %r8, [pair]; cvt.u64.u32 %rd5, %r8; st.global.u64 "
            "[%o+24], %rd5;\n"
            "ld.global.u32 %r8, [flags]; cvt.u64.u32 %rd5, %r8; st.global.u64 [%o+32], %rd5;\nE:",
            N, N, seeds[s]);
        assert_int_equal(out[0] & 0xffffffff, N * (N - 1) / 2);
        assert_int_equal(out[0] >> 32, 3 * N);
        assert_int_equal(out[1] & 0xffffffff, N + 0 + (N - 1) * 1000);
        assert_int_equal(out[1] >> 32, N * (N - 1) / 2);
        assert_int_equal(out[2], N / 2 * 100 + N % 10);
        assert_int_equal(out[3], 0x5c005c00); /* 256.0 in f16 */
        assert_int_equal(out[4], 0xffffffff);
    }
}

static void async_copy(void **state) {
    (void)state;
    run(".extern .shared .align 16 .b8 dyn[];\n.global .align 16 .b32 src[4] = {5, 6, 7, 8};\n",
        ".shared .align 16 .b8 fixed[40];\nmov.u64 %rd1, src; mov.u64 %rd2, dyn; mov.u32 %r0, %tid.x; "
        "mul.wide.u32 %rd3, %r0, 16; add.u64 %rd2, %rd2, %rd3;\n"
        "cp.async.cg.shared.global [%rd2], [%rd1], 16; cp.async.ca.shared.global [%rd2], [%rd1], 4, 2; "
        "cp.async.commit_group; cp.async.wait_group 0;\n"
        "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2]; mad.lo.u32 %r1, %r4, 100, %r1; mov.u64 %rd5, dyn; "
        "cvt.u32.u64 %r6, %rd5;\n"
        "mad.lo.u32 %r1, %r6, 1000, %r1; mov.u32 %r7, %dynamic_smem_size; mad.lo.u32 %r1, %r7, 100000, %r1;\n"
        "cvt.u64.u32 %rd4, %r1; st.global.u64 [%o], %rd4;",
        64, 64, 1);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(out[i], 5 + 800 + 48000 + 409600000);
}

/* ---- collectives ---- */

static void shuffles(void **state) {
    (void)state;
    EACH_SEED(s) {
        run("",
            "mov.u32 %r0, %laneid; mad.lo.u32 %r1, %t, 7, 3;\n"
            "shfl.sync.idx.b32 %r2, %r1, 5, 0x1f, -1; shfl.sync.up.b32 %r3|%p1, %r1, 1, 0, -1;\n"
            "shfl.sync.bfly.b32 %r4, %r1, 3, 0x1f, -1; shfl.sync.down.b32 %r5|%p2, %r1, 4, 0x181f, -1;\n"
            "selp.u32 %r6, 1, 0, %p1; selp.u32 %r7, 1, 0, %p2;\n"
            "mad.lo.u32 %r8, %r3, 3, %r2; mad.lo.u32 %r8, %r4, 5, %r8; mad.lo.u32 %r8, %r5, 11, %r8;\n"
            "mad.lo.u32 %r8, %r6, 100000, %r8; mad.lo.u32 %r8, %r7, 1000000, %r8;\n"
            "cvt.u64.u32 %rd1, %r8; st.global.u64 [%o], %rd1;",
            N, 64, seeds[s]);
        for (unsigned i = 0; i < N; i++) {
            unsigned lane = i % 32, w = i - lane;
#define V(k) ((w + (k)) * 7 + 3)
            unsigned up = lane ? V(lane - 1) : V(0), down = lane % 8 < 4 ? V(lane + 4) : V(lane);
            unsigned want = V(5) + 3 * up + 5 * V(lane ^ 3) + 11 * down + (lane ? 100000 : 0) +
                            (lane % 8 < 4 ? 1000000 : 0);
            assert_int_equal(out[i], want);
        }
    }
}

static void votes(void **state) {
    (void)state;
    EACH_SEED(s) {
        run("",
            "mov.u32 %r0, %laneid; and.b32 %r1, %r0, 3; setp.eq.u32 %p1, %r1, 1;\n"
            "vote.sync.ballot.b32 %r2, %p1, -1; vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, "
            "!%p1, -1; vote.sync.uni.pred %p4, %p2, -1;\n"
            "match.any.sync.b32 %r3, %r1, -1; match.all.sync.b32 %r4|%p5, %r1, -1;\n"
            "redux.sync.add.u32 %r5, %r0, -1; redux.sync.max.s32 %r6, %r0, -1; redux.sync.xor.b32 %r7, %r0, "
            "-1; activemask.b32 %r9;\n"
            "mad.lo.u32 %r2, %r3, 3, %r2; mad.lo.u32 %r2, %r4, 5, %r2; mad.lo.u32 %r2, %r5, 7, %r2; "
            "mad.lo.u32 %r2, %r6, 11, %r2; mad.lo.u32 %r2, %r7, 13, %r2; mad.lo.u32 %r2, %r9, 17, %r2;\n"
            "selp.u32 %r10, 1, 0, %p2; selp.u32 %r11, 2, 0, %p3; selp.u32 %r12, 4, 0, %p4; selp.u32 %r13, 8, "
            "0, %p5;\n"
            "add.u32 %r10, %r10, %r11; add.u32 %r10, %r10, %r12; add.u32 %r10, %r10, %r13;\n"
            "cvt.u64.u32 %rd1, %r2; cvt.u64.u32 %rd2, %r10; shl.b64 %rd2, %rd2, 32; or.b64 %rd1, %rd1, %rd2; "
            "st.global.u64 [%o], %rd1;",
            N, 64, seeds[s]);
        for (unsigned i = 0; i < N; i++) {
            uint32_t low =
                0x22222222u + 3 * (0x11111111u << (i & 3)) + 0 + 7 * 496 + 11 * 31 + 0 + 17 * 0xffffffffu;
            assert_int_equal(out[i] & 0xffffffff, low);
            assert_int_equal(out[i] >> 32, 1 + 4);
        }
    }
}

/* A collective matches by mask wherever it stands: two arms of a branch, each with its own half of the warp,
 * and a full-mask one that lanes reach in different loop iterations. */
static void divergent_collectives(void **state) {
    (void)state;
    EACH_SEED(s) {
        run("",
            "mov.u32 %r0, %laneid; setp.lt.u32 %p1, %r0, 16; @%p1 bra A;\n"
            "shfl.sync.idx.b32 %r1, %t, 20, 0x1f, 0xffff0000; bra J;\nA: shfl.sync.idx.b32 %r1, %t, 3, 0x1f, "
            "0x0000ffff;\n"
            "J: setp.eq.u32 %p2, %r0, 7; @%p2 bra B;\nvote.sync.ballot.b32 %r2, %p1, -1; bra K;\nB: "
            "vote.sync.ballot.b32 %r2, %p1, -1;\n"
            "K: mad.lo.u32 %r2, %r2, 1000, %r1; cvt.u64.u32 %rd1, %r2; st.global.u64 [%o], %rd1;",
            N, 64, seeds[s]);
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(out[i], 0xffffu * 1000 + i / 32 * 32 + (i % 32 < 16 ? 3 : 20));
    }
}

static void exited_lanes(void **state) {
    (void)state;
    EACH_SEED(s) {
        run("",
            "mov.u32 %r0, %laneid; and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; @%p1 exit;\n"
            "vote.sync.ballot.b32 %r2, 1, -1; bar.sync 0; cvt.u64.u32 %rd1, %r2; st.global.u64 [%o], %rd1;",
            N, 128, seeds[s]);
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(out[i], i & 1 ? 0 : 0x55555555);
    }
}

/* ---- barriers ---- */

static void block_reduction(void **state) {
    (void)state;
    EACH_SEED(s) {
        run("",
            ".shared .align 4 .b32 buf[64];\nmov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; mov.u64 %rd2, "
            "buf; add.u64 %rd1, %rd2, %rd1;\n"
            "st.shared.u32 [%rd1], %t; mov.u32 %r1, 32;\nL: bar.sync 0; setp.ge.u32 %p1, %r0, %r1; @%p1 bra "
            "S;\n"
            "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd1, %rd3; ld.shared.u32 %r2, [%rd3]; ld.shared.u32 "
            "%r3, [%rd1]; add.u32 %r3, %r3, %r2; st.shared.u32 [%rd1], %r3;\n"
            "S: shr.u32 %r1, %r1, 1; setp.ne.u32 %p2, %r1, 0; @%p2 bra L;\n"
            "bar.sync 0; ld.shared.u32 %r4, [buf]; setp.gt.u32 %p3, %r0, 40; barrier.red.popc.u32 %r5, 1, "
            "%p3;\n"
            "bar.red.and.pred %p4, 2, %p3; bar.red.or.pred %p5, 3, %p3; selp.u32 %r6, 1, 0, %p4; selp.u32 "
            "%r7, 2, 0, %p5; add.u32 %r6, %r6, %r7;\n"
            "mad.lo.u32 %r4, %r5, 100000, %r4; mad.lo.u32 %r4, %r6, 100000000, %r4; cvt.u64.u32 %rd4, %r4; "
            "st.global.u64 [%o], %rd4;",
            N, 64, seeds[s]);
        for (unsigned i = 0; i < N; i++) {
            unsigned base = i / 64 * 64;
            assert_int_equal(out[i], base * 64 + 63 * 32 + 23 * 100000 + 200000000);
        }
    }
}

/* producer warps arrive, a consumer warp waits */
static void producer_consumer(void **state) {
    (void)state;
    EACH_SEED(s) {
        run("",
            ".shared .align 4 .b32 buf[64];\nmov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; mov.u64 %rd2, "
            "buf; add.u64 %rd1, %rd2, %rd1;\n"
            "setp.lt.u32 %p1, %r0, 32; @%p1 bra P;\nbar.sync 1, 64; ld.shared.u32 %r1, [%rd1-128]; bra D;\n"
            "P: st.shared.u32 [%rd1], %t; bar.arrive 1, 64; mov.u32 %r1, 9;\nD: cvt.u64.u32 %rd3, %r1; "
            "st.global.u64 [%o], %rd3;",
            N, 64, seeds[s]);
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(out[i], i % 64 < 32 ? 9 : i - 32);
    }
}

/* blocks that wait for each other */
static void grid_barrier(void **state) {
    (void)state;
    EACH_SEED(s) {
        run(".global .u32 count;\n",
            "mov.u32 %r0, %tid.x; setp.ne.u32 %p1, %r0, 0; @%p1 bra W; red.global.add.u32 [count], 1;\n"
            "S: ld.acquire.gpu.global.u32 %r1, [count]; setp.lt.u32 %p2, %r1, 4; @%p2 bra S;\nW: bar.sync "
            "0;\n"
            "ld.global.u32 %r1, [count]; cvt.u64.u32 %rd1, %r1; st.global.u64 [%o], %rd1;",
            N, 64, seeds[s]);
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(out[i], 4);
    }
}

/* ---- traps ---- */

static TestRun trap_run(const char *declarations, const char *body, unsigned block,
                        const PtxRunOptions *opt) {
    char *text = wrap_kernel(declarations, body);
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {simmem_alloc(mem, "in", 64), simmem_alloc(mem, "out", 8192)};
    TestRun t =
        run_ptx(text, "k", (uint32_t[3]){1, 1, 1}, (uint32_t[3]){block, 1, 1}, 0, params, 2, mem, opt);
    simmem_free(mem);
    free(text);
    return t;
}

static void traps(void **state) {
    (void)state;
    static const struct {
        const char *body;
        SimTrapKind kind;
    } list[] = {
        {"mov.u64 %rd1, 64; st.global.u32 [%rd1], %t;", TRAP_OUT_OF_RANGE},
        {"ld.global.u32 %r1, [%i+64];", TRAP_OUT_OF_RANGE},
        {"ld.global.u64 %rd1, [%i+60];", TRAP_MISALIGNED},
        {"ld.global.v2.u32 {%r1, %r2}, [%i+4];", TRAP_MISALIGNED},
        {"mov.u64 %rd1, 0; ld.shared.u32 %r1, [%rd1];", TRAP_OUT_OF_RANGE},
        {"mov.u64 %rd1, 0; st.local.u32 [%rd1], %t;", TRAP_OUT_OF_RANGE},
        {"mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1; st.u32 [%rd1], %t;", TRAP_READ_ONLY},
        {"mov.u64 %rd1, c; ld.const.u32 %r1, [%rd1+4];", TRAP_OUT_OF_RANGE},
        {"trap;", TRAP_INSTRUCTION},
        {"brkpt;", TRAP_BREAKPOINT},
        {"L: bra L;", TRAP_BUDGET},
        {"T: .branchtargets A; mov.u32 %r1, 1; brx.idx %r1, T; A:", TRAP_BRANCH_INDEX},
        {"mov.u64 %rd1, 4; P: .callprototype _ (); call %rd1, (), P;", TRAP_CALL_TARGET},
        {"call forever;", TRAP_STACK},
        {"setp.eq.u32 %p1, %t, 3; @%p1 bra A; bar.sync 0; bra B; A: bar.sync 0; B:", TRAP_DIVERGENT_BARRIER},
        {"setp.eq.u32 %p1, %t, 3; @%p1 bra A; bar.sync 0; bra B; A: bar.sync 1; B:", TRAP_DEADLOCK},
        {"setp.eq.u32 %p1, %t, 3; @%p1 bra A; vote.sync.any.pred %p2, 1, -1; bra B; A: bar.warp.sync -1; B:",
         TRAP_DEADLOCK},
        {"bar.warp.sync 2;", TRAP_COLLECTIVE},
        {"mov.u32 %r1, 16; bar.sync %r1;", TRAP_BARRIER},
        {"mov.u32 %r1, 96; bar.sync 0, %r1;", TRAP_BARRIER},
        {"setp.lt.u32 %p1, %t, 32; @%p1 bar.arrive 0, 64; bar.sync 0, 32;", TRAP_BARRIER},
    };
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++) {
        for (unsigned s = 0; s < 2; s++) {
            PtxRunOptions opt = {.seed = s, .budget = 1000000};
            TestRun t =
                trap_run(".const .u32 c = 1; .func forever() { call forever; ret; }", list[i].body, 64, &opt);
            if (!t.ran || t.res.trap.kind != list[i].kind)
                fail_msg("%s: %s; %s", list[i].body, t.ran ? sim_trap_name(t.res.trap.kind) : "did not run",
                         t.diags);
            assert_int_equal(t.res.trap.ptx_line, list[i].kind == TRAP_STACK ? 4 : 11);
            assert_string_equal(t.res.trap.kernel, "k");
        }
    }
    PtxRunOptions opt = {.seed = 0};
    TestRun t = trap_run("", "setp.eq.u32 %p1, %t, 37; @%p1 st.global.u32 [%i+4096], %t;", 64, &opt);
    char line[400];
    sim_trap_print(&t.res.trap, line, sizeof line);
    assert_string_equal(
        line, "k: line 11, pc 0x8, block (0,0,0), thread (37,0,0): access out of range at 0x7f0000001000: "
              "st.global.u32, global memory");
    SimTrap foreign = {.kind = TRAP_INSTRUCTION, .kernel = "k", .pc = 8}; /* a binary without positions */
    sim_trap_print(&foreign, line, sizeof line);
    assert_string_equal(line, "k: pc 0x8, block (0,0,0), thread (0,0,0): trap instruction");
    strcpy(foreign.source, "k.cu:5");
    sim_trap_print(&foreign, line, sizeof line);
    assert_string_equal(line, "k: k.cu:5, pc 0x8, block (0,0,0), thread (0,0,0): trap instruction");
}

/* Barriers with a count and warps that have ended, in 96 threads: released where nobody else can come. */
static void ended_warps(void **state) {
    (void)state;
    static const struct {
        const char *body;
        SimTrapKind kind;
    } list[] = {
        {"setp.ge.u32 %p1, %t, 32; @%p1 exit; bar.sync 1, 64;", TRAP_NONE},
        {"setp.lt.u32 %p1, %t, 32; @%p1 exit; bar.sync 1, 96;", TRAP_NONE},
        {"setp.lt.u32 %p1, %t, 32; @%p1 exit; barrier.red.popc.u32 %r1, 2, 96, 1;", TRAP_NONE},
        {"setp.lt.u32 %p1, %t, 32; @%p1 exit; setp.lt.u32 %p1, %t, 64; @%p1 bar.sync 1, 64; bar.sync 2, 96;",
         TRAP_NONE},
        /* it has arrived and ended, so it is not missing */
        {"setp.lt.u32 %p1, %t, 32; @%p1 bar.arrive 1, 96; @%p1 exit;"
         "setp.lt.u32 %p1, %t, 64; @%p1 bar.sync 1, 96; bar.sync 2, 96;",
         TRAP_DEADLOCK},
        {"setp.ge.u32 %p1, %t, 32; @%p1 bar.sync 2, 96; bar.sync 1, 96;", TRAP_DEADLOCK},
    };
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++)
        for (unsigned s = 0; s < 3; s++) {
            PtxRunOptions opt = {.seed = s, .budget = 1000000};
            TestRun t = trap_run("", list[i].body, 96, &opt);
            if (!t.ran || t.res.trap.kind != list[i].kind)
                fail_msg("%s: %s; %s", list[i].body, sim_trap_name(t.res.trap.kind), t.diags);
        }
}

static void warnings(void **state) {
    (void)state;
    PtxRunOptions opt = {.report_uninitialised = true};
    TestRun t = trap_run("", "add.u32 %r2, %r1, 1; mov.u32 %r3, 1; add.u32 %r4, %r3, %r3;", 32, &opt);
    assert_true(t.ran);
    assert_int_equal(t.res.nwarnings, 1);
    assert_int_equal(t.res.first_warning.kind, TRAP_UNINITIALISED);
    assert_non_null(strstr(t.res.first_warning.text, "%r1"));
    t = trap_run("", "ld.global.u32 %r1, [%i];", 32, &opt);
    assert_int_equal(t.res.nwarnings, 1);
    t = trap_run(".shared .u32 a, b;", "st.shared.u32 [a], %t; ld.shared.u32 %r1, [a];", 32, &opt);
    assert_int_equal(t.res.nwarnings, 0);
    t = trap_run(".shared .u32 a, b;", "st.shared.u32 [a], %t; ld.shared.u32 %r1, [b];", 32, &opt);
    assert_int_equal(t.res.nwarnings, 1);
    t = trap_run("",
                 "mov.u32 %r3, 1; mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%r1, %r2}, {%r3}, {%r3}, "
                 "{%r3, %r3}; add.u32 %r4, %r1, %r2;",
                 32, &opt);
    assert_int_equal(t.res.nwarnings, 0);
    t = trap_run("",
                 "mov.u32 %r3, 1; mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%r1, %r2}, {%r3}, {%r3}, "
                 "{%r3, %r4};",
                 32, &opt);
    assert_int_equal(t.res.nwarnings, 1);
    assert_non_null(strstr(t.res.first_warning.text, "%r4"));
    t = trap_run("", "shfl.sync.down.b32 %r1|%p1, %t, 3, 0x1f, 0xffffffff;", 20, &(PtxRunOptions){.seed = 0});
    assert_int_equal(t.res.first_warning.kind, TRAP_COLLECTIVE);
    opt = (PtxRunOptions){0};
    t = trap_run("", "mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 4; @%p1 bra.uni L;", 64,
                 &opt);
    assert_int_equal(t.res.nwarnings, 0);
    t = trap_run("", "mov.u32 %r1, %t; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 20; @%p1 bra.uni L;", 64,
                 &opt);
    assert_int_equal(t.res.nwarnings, 1);
    assert_int_equal(t.res.first_warning.kind, TRAP_NOT_UNIFORM);
    opt = (PtxRunOptions){.allow_divergent_barriers = true};
    t = trap_run("", "setp.eq.u32 %p1, %t, 3; @%p1 bra A; bar.sync 0; bra B; A: bar.sync 0; B:", 64, &opt);
    assert_int_equal(t.res.trap.kind, TRAP_NONE);
}

static void refused(void **state) {
    (void)state;
    static const char *const unsupported[] = {
        "redux.sync.min.f32 %f1, %f1, -1;",
    };
    for (unsigned i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
        TestRun u = trap_run("", unsupported[i], 32, NULL);
        if (u.ran || !strstr(u.diags, "E0511"))
            fail_msg("%s: %s", unsupported[i], u.diags);
    }
    TestRun t = trap_run("", "tcgen05.wait::ld.sync.aligned;", 32, NULL);
    assert_false(t.ran);
    assert_non_null(strstr(t.diags, "E0511"));
    assert_non_null(strstr(t.diags, "9.7.16"));
    t = trap_run(".extern .func nothing();\n", "call nothing;", 32, NULL);
    assert_non_null(strstr(t.diags, "E0514"));
    t = trap_run("", "", 2000, NULL);
    assert_non_null(strstr(t.diags, "E0513"));
}

static void count_event(void *user, const PtxEvent *event) {
    uint64_t *n = user;
    n[0]++;
    n[1] += event->executed && event->ndst == 1 && event->dst_value[0] == 42;
}

static void events(void **state) {
    (void)state;
    uint64_t n[2] = {0};
    PtxRunOptions opt = {.on_event = count_event, .user = n};
    TestRun t = trap_run("", "mov.u32 %r1, 42;", 32, &opt);
    assert_int_equal(n[0], t.res.thread_insns + t.res.skipped_insns);
    assert_int_equal(n[1], 32);
}

/* The first allocation of a name is found by it, also of names that went and of memory of the host. */
static void allocations_by_name(void **state) {
    (void)state;
    static uint64_t host[8];
    SimMemory *mem = simmem_create();
    assert_null(simmem_find_name(mem, "a"));
    assert_null(simmem_find_name(mem, ""));
    char name[16];
    uint64_t first = simmem_alloc(mem, "a", 8), second = simmem_alloc(mem, "a", 16), last = 0;
    for (int k = 0; k < 100; k++) {
        snprintf(name, sizeof name, "v%d", k);
        last = simmem_alloc(mem, name, 4);
    }
    assert_true(simmem_map(mem, host, sizeof host));
    assert_ptr_equal(simmem_find_name(mem, "")->data, host);
    SimMemory *clone = simmem_clone(mem);
    for (int k = 0; k < 2; k++) {
        SimMemory *each = k ? clone : mem;
        assert_int_equal(simmem_find_name(each, "a")->address, first);
        assert_true(simmem_remove(each, first));
        assert_int_equal(simmem_find_name(each, "a")->address, second);
        assert_true(simmem_remove(each, second));
        assert_null(simmem_find_name(each, "a"));
        assert_int_equal(simmem_find_name(each, "v99")->address, last);
        assert_null(simmem_find_name(each, "v100"));
        uint64_t again = simmem_alloc(each, "a", 8);
        assert_int_equal(simmem_find_name(each, "a")->address, again);
    }
    simmem_free(clone);
    simmem_free(mem);
}

static void variables_shared_by_engines(void **state) {
    (void)state;
    const char *text = ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .u32 g[3] = {1, 2}; "
                       ".const .u16 c = 7; .global .u32 u;\n";
    Diags d = {.sink = NULL};
    PtxModule *m = ptx_parse("v.ptx", text, strlen(text), &d);
    assert_non_null(m);
    SimMemory *mem = simmem_create();
    assert_true(interp_place_variables(m, mem, &d));
    uint64_t g = simmem_find_name(mem, "g")->address;
    uint32_t v[3] = {9, 9, 9};
    assert_true(simmem_read(mem, g, v, 12));
    assert_int_equal(v[0], 1);
    assert_int_equal(v[1], 2);
    assert_int_equal(v[2], 0);
    assert_true(simmem_find_name(mem, "c")->read_only);
    assert_true(simmem_is_written(simmem_find_name(mem, "g"), 0, 12));
    assert_false(simmem_is_written(simmem_find_name(mem, "u"), 0, 4));
    SimMemory *copy = simmem_clone(mem);
    v[0] = 55;
    simmem_write(mem, g, v, 4);
    assert_true(interp_place_variables(m, mem, &d)); /* leaves what is there */
    simmem_read(mem, g, v, 4);
    assert_int_equal(v[0], 55);
    simmem_read(copy, g, v, 4);
    assert_int_equal(v[0], 1);
    assert_null(simmem_find(mem, g, 13));
    assert_null(simmem_find(mem, g - 1, 1));
    assert_null(simmem_find(mem, g + 12, 1));
    simmem_free(copy);
    simmem_free(mem);
    ptx_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loop_and_branch),
        cmocka_unit_test(branch_table),
        cmocka_unit_test(calls),
        cmocka_unit_test(spaces),
        cmocka_unit_test(atomics),
        cmocka_unit_test(async_copy),
        cmocka_unit_test(shuffles),
        cmocka_unit_test(votes),
        cmocka_unit_test(divergent_collectives),
        cmocka_unit_test(exited_lanes),
        cmocka_unit_test(block_reduction),
        cmocka_unit_test(producer_consumer),
        cmocka_unit_test(grid_barrier),
        cmocka_unit_test(traps),
        cmocka_unit_test(ended_warps),
        cmocka_unit_test(warnings),
        cmocka_unit_test(refused),
        cmocka_unit_test(events),
        cmocka_unit_test(allocations_by_name),
        cmocka_unit_test(variables_shared_by_engines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
