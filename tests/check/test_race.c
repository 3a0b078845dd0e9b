/* The search for data races: small kernels whose races follow from the memory model of the PTX ISA, worked
 * out by hand. Each is run in several orders of threads: what is found must not depend on them.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check/validate/compare/diff.h"
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name, *body;
    unsigned grid, block;
    bool races;      /* harmful ones */
    bool same_value; /* unordered stores of one value, at least */
} Case;

/* Every body has %tid, %ctaid, %lane in %t, %c, %l; %g points to 4 KiB of zeros; s: 1 KiB of shared memory.
 */
static const char head[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n"
    ".reg .b64 %g, %a, %o;\n.reg .b32 %t, %c, %l, %x, %y, %s;\n.reg .pred %p, %q;\n"
    ".shared .align 16 .b8 s[1024];\n"
    "ld.param.u64 %g, [p];\nmov.u32 %t, %tid.x;\nmov.u32 %c, %ctaid.x;\nand.b32 %l, %t, 31;\n"
    "mov.u32 %s, s;\nmul.wide.u32 %o, %t, 4;\nadd.s64 %a, %g, %o;\nshl.b32 %x, %t, 2;\nadd.s32 %s, %s, %x;\n"
    "mov.u32 %x, 0;\n";

/* Thread t stores to word t of s, then loads word t ^ N: what lies between decides. */
#define EXCHANGE(BETWEEN, PARTNER)                                                                           \
    "st.shared.u32 [%s], %t;\n" BETWEEN "xor.b32 %y, %t, " PARTNER ";\nshl.b32 %y, %y, 2;\nmov.u32 %x, s;\n" \
    "add.s32 %y, %y, %x;\nld.shared.u32 %x, [%y];\nst.global.u32 [%a], %x;\nret;\n"

/* Thread 0 of block 0 writes data at %g+64 and a flag at %g; thread 32 waits for the flag and reads the data.
 */
#define MESSAGE(WRITE_FLAG, READ_FLAG, AFTER)                                                                \
    "setp.eq.u32 %p, %t, 0;\nsetp.eq.u32 %q, %t, 32;\n@%p bra GIVE;\n@%q bra TAKE;\nret;\n"                  \
    "GIVE:\nst.global.u32 [%g+64], 7;\n" WRITE_FLAG "ret;\n"                                                 \
    "TAKE:\n" READ_FLAG "setp.eq.u32 %p, %x, 0;\n@%p bra TAKE;\n" AFTER "ld.global.u32 %y, [%g+64];\nret;\n"

/* Thread 0 has 16 bytes copied to s, which is done at the mbarrier object at s+512. */
#define COPIED(WAIT)                                                                                         \
    "setp.ne.u32 %p, %t, 0;\n@%p bra MEET;\nst.shared.u32 [s], 7;\nmbarrier.init.shared.b64 [s+512], 1;\n"   \
    "MEET:\nbar.sync 0;\n@%p bra READ;\nmbarrier.arrive.expect_tx.shared.b64 _, [s+512], 16;\n"              \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%g], 16, [s+512];\n"            \
    "READ:\n" WAIT "ld.shared.u32 %x, [s];\nst.global.u32 [%a+64], %x;\nret;\n"

#define LOCKED(ENTER, LEAVE)                                                                                 \
    "AGAIN:\natom.global.cas.b32 %x, [%g], 0, 1;\nsetp.ne.u32 %p, %x, 0;\n@%p bra AGAIN;\n" ENTER            \
    "ld.global.u32 %y, [%g+64];\nadd.s32 %y, %y, 1;\nst.global.u32 [%g+64], %y;\n" LEAVE                     \
    "atom.global.exch.b32 %x, [%g], 0;\nret;\n"

/* The second warp stores and ends; the first waits, then reads what it stored. */
#define ENDED(WAIT)                                                                                          \
    "st.shared.u32 [%s], %t;\nsetp.gt.u32 %p, %t, 31;\n@%p ret;\n" WAIT                                      \
    "ld.shared.u32 %x, [%s+128];\nst.global.u32 [%a], %x;\nret;\n"

/* The first four warps multiply what is in s; what follows it is in s+256. */
#define PRODUCT                                                                                              \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f, %f1, %f2, %f3}, {%x, %x, %x, %x}, %o, 1, 1, 1, " \
    "0;\nwgmma.commit_group.sync.aligned;\nadd.s64 %o, %o, 16;\n"
#define MULTIPLIED(FIRST, PRODUCTS, LAST)                                                                    \
    ".reg .f32 %f, %f1, %f2, %f3;\nmov.f32 %f, 0f00000000;\nmov.f32 %f1, %f;\nmov.f32 %f2, %f;\n"            \
    "mov.f32 %f3, %f;\n" FIRST "mov.u32 %y, s;\nshr.u32 %y, %y, 4;\nand.b32 %y, %y, 0x3fff;\n"               \
    "cvt.u64.u32 %o, %y;\nor.b64 %o, %o, 0x1000080000;\nmov.u32 %x, 0;\nsetp.gt.u32 %p, %t, 127;\n"          \
    "@%p bra LAST;\nwgmma.fence.sync.aligned;\n" PRODUCTS "LAST:\n" LAST "ret;\n"
#define WAITED(OPEN) "wgmma.wait_group.sync.aligned " OPEN ";\n"
#define STORED(THREAD, AT) "setp.eq.u32 %p, %t, " THREAD ";\n@%p st.shared.u32 [s+" AT "], 77;\n"

static const Case cases[] = {
    {"a product of a warp group, waited for, and a store of another warp",
     MULTIPLIED("", PRODUCT WAITED("0"), STORED("100", "0")), 1, 128, false, false},
    {"the product is not waited for", MULTIPLIED("", PRODUCT, STORED("100", "0")), 1, 128, true, false},
    {"not even by the thread that gave it", MULTIPLIED("", PRODUCT, STORED("0", "0")), 1, 128, true, false},
    {"a wait that leaves the group open", MULTIPLIED("", PRODUCT WAITED("1"), STORED("100", "0")), 1, 128,
     true, false},
    {"the first of two groups", MULTIPLIED("", PRODUCT PRODUCT WAITED("1"), STORED("100", "0")), 1, 128,
     false, false},
    {"the second of them", MULTIPLIED("", PRODUCT PRODUCT WAITED("1"), STORED("100", "256")), 1, 128, true,
     false},
    {"a wait for products orders nothing else",
     MULTIPLIED(STORED("32", "768"), PRODUCT WAITED("0"), "ld.shared.u32 %y, [s+768];\n"), 1, 128, true,
     false},
    {"waited for, then a barrier with a warp that is none of the group",
     MULTIPLIED("", PRODUCT WAITED("0"), "bar.sync 0;\n" STORED("130", "0")), 1, 160, false, false},
    {"no wait before that barrier", MULTIPLIED("", PRODUCT, "bar.sync 0;\n" STORED("130", "0")), 1, 160, true,
     false},
    {"a thread that has ended counts at the barrier", ENDED("bar.sync 0;\n"), 1, 64, false, false},
    {"where not all are waited for, it counts if it is missed", ENDED("bar.sync 1, 64;\n"), 1, 64, false,
     false},
    {"and not where the others are enough", ENDED("bar.sync 1, 32;\n"), 1, 64, true, false},
    {"own words", "st.global.u32 [%a], %t;\nret;\n", 1, 64, false, false},
    {"own bytes side by side", "cvt.u64.u32 %o, %t;\nadd.s64 %a, %g, %o;\nst.global.u8 [%a], %t;\nret;\n", 1,
     64, false, false},
    {"bytes of one word and the word",
     "cvt.u64.u32 %o, %t;\nadd.s64 %a, %g, %o;\nst.global.u8 [%a], 9;\nld.global.u32 %x, [%g];\nret;\n", 1, 8,
     true, false},
    {"one word, other values", "st.global.u32 [%g], %t;\nret;\n", 1, 2, true, false},
    {"one word, the value that is there", "st.global.u32 [%g], 0;\nret;\n", 1, 64, false, true},
    {"blocks: same words", "st.global.u32 [%a], %c;\nret;\n", 2, 32, true, false},
    {"blocks: shared memory of their own", "st.shared.u32 [%s], %c;\nret;\n", 4, 32, false, false},
    {"a copy in the background, not waited for", COPIED(""), 1, 64, true, false},
    {"a copy in the background",
     COPIED("mbarrier.try_wait.parity.shared.b64 %q, [s+512], 0;\n@!%q bra READ;\n"), 1, 64, false, false},
    {"nothing between", EXCHANGE("", "1"), 1, 64, true, false},
    {"bar.sync", EXCHANGE("bar.sync 0;\n", "33"), 1, 64, false, false},
    {"barrier of another number for each warp", EXCHANGE("shr.u32 %y, %t, 5;\nbar.sync %y, 32;\n", "33"), 1,
     64, true, false},
    {"the same, partner in the warp", EXCHANGE("shr.u32 %y, %t, 5;\nbar.sync %y, 32;\n", "1"), 1, 64, false,
     false},
    {"bar.warp.sync", EXCHANGE("bar.warp.sync 0xffffffff;\n", "1"), 1, 64, false, false},
    {"bar.warp.sync, partner in another warp", EXCHANGE("bar.warp.sync 0xffffffff;\n", "32"), 1, 64, true,
     false},
    {"a shuffle orders nothing", EXCHANGE("shfl.sync.bfly.b32 %y, %t, 1, 31, 0xffffffff;\n", "1"), 1, 32,
     true, false},
    {"a fence alone orders nothing", EXCHANGE("membar.cta;\n", "1"), 1, 32, true, false},
    {"volatile accesses race with nobody of their kind",
     "st.volatile.global.u32 [%g], %t;\nld.volatile.global.u32 %x, [%g];\nret;\n", 2, 32, false, false},
    {"volatile against plain", "st.volatile.global.u32 [%g], %t;\nld.global.u32 %x, [%g];\nret;\n", 1, 32,
     true, false},
    {"atomics", "red.global.add.u32 [%g], %t;\nret;\n", 2, 64, false, false},
    {"atomic against plain", "red.global.add.u32 [%g], 1;\nld.global.u32 %x, [%g];\nret;\n", 1, 32, true,
     false},
    {"arrive and sync", /* warp 0 produces, warp 1 consumes */
     "setp.ge.u32 %p, %t, 32;\n@%p bra USE;\nst.shared.u32 [%s], %t;\nbar.arrive 1, 64;\nret;\n"
     "USE:\nbar.sync 1, 64;\nld.shared.u32 %x, [%s+-128];\nret;\n",
     1, 64, false, false},
    {"arrive does not wait",
     "setp.ge.u32 %p, %t, 32;\n@%p bra USE;\nbar.arrive 1, 64;\nld.shared.u32 %x, [%s+128];\nret;\n"
     "USE:\nst.shared.u32 [%s], %t;\nbar.sync 1, 64;\nret;\n",
     1, 64, true, false},
    {"message: release, acquire",
     MESSAGE("st.release.gpu.global.u32 [%g], 1;\n", "ld.acquire.gpu.global.u32 %x, [%g];\n", ""), 1, 64,
     false, false},
    {"message: fences around volatile",
     MESSAGE("membar.gl;\nst.volatile.global.u32 [%g], 1;\n", "ld.volatile.global.u32 %x, [%g];\n",
             "membar.gl;\n"),
     1, 64, false, false},
    {"message: the reader's fence is missing",
     MESSAGE("membar.gl;\nst.volatile.global.u32 [%g], 1;\n", "ld.volatile.global.u32 %x, [%g];\n", ""), 1,
     64, true, false},
    {"message: the writer's fence is missing",
     MESSAGE("st.volatile.global.u32 [%g], 1;\n", "ld.volatile.global.u32 %x, [%g];\n", "membar.gl;\n"), 1,
     64, true, false},
    {"message: by an atomic",
     MESSAGE("membar.gl;\natom.global.add.u32 %x, [%g], 1;\n", "atom.global.or.b32 %x, [%g], 0;\n",
             "membar.gl;\n"),
     1, 64, false, false},
    {"a lock with fences", LOCKED("membar.gl;\n", "membar.gl;\n"), 2, 34, false, false},
    {"a lock without fences", LOCKED("", ""), 2, 34, true, false},
    {"a lock released without a fence", LOCKED("membar.gl;\n", ""), 2, 34, true, false},
    {"the last block adds up", /* thread 0 of each block: store, fence, count; the last one reads all */
     "setp.ne.u32 %p, %t, 0;\n@%p bra END;\nmul.wide.u32 %o, %c, 4;\nadd.s64 %a, %g, %o;\nst.global.u32 "
     "[%a+64], %c;\n"
     "membar.gl;\natom.global.inc.u32 %x, [%g], 99;\nmembar.gl;\nsetp.ne.u32 %p, %x, 3;\n@%p bra END;\n"
     "ld.global.u32 %x, [%g+64];\nld.global.u32 %y, [%g+68];\nld.global.u32 %x, [%g+72];\nEND:\nret;\n",
     4, 32, false, false},
    {"the last block adds up, without fences",
     "setp.ne.u32 %p, %t, 0;\n@%p bra END;\nmul.wide.u32 %o, %c, 4;\nadd.s64 %a, %g, %o;\nst.global.u32 "
     "[%a+64], %c;\n"
     "atom.global.inc.u32 %x, [%g], 99;\nsetp.ne.u32 %p, %x, 3;\n@%p bra END;\n"
     "ld.global.u32 %x, [%g+64];\nld.global.u32 %y, [%g+68];\nld.global.u32 %x, [%g+72];\nEND:\nret;\n",
     4, 32, true, false},
    {"read by all, then written behind a barrier",
     "ld.shared.u32 %x, [s];\nbar.sync 0;\nsetp.ne.u32 %p, %t, 5;\n@%p bra END;\nst.shared.u32 [s], "
     "77;\nEND:\nret;\n",
     1, 96, false, false},
    {"read by all, written by one of them",
     "ld.shared.u32 %x, [s];\nsetp.ne.u32 %p, %t, 5;\n@%p bra END;\nst.shared.u32 [s], 77;\nEND:\nret;\n", 1,
     96, true, false}};

static void show(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    print_message("%s", line);
}

static void run_case(const Case *c, uint64_t seed, uint32_t *harmful, uint32_t *harmless) {
    char text[8192];
    Diags d = {.sink = show};
    Plan p = {0};
    PtxRunResult r;
    snprintf(text, sizeof text, "%s%s}\n", head, c->body);
    PtxModule *m = ptx_parse(c->name, text, strlen(text), &d);
    assert_non_null(m);
    VEC_ADD(&p.arena, &p.launches,
            ((PlanLaunch){.grid = {c->grid, 1, 1}, .block = {c->block, 1, 1}, .repeat = 1}));
    assert_true(plan_add_arg(&p, "buf:u32[1024]", &d));
    SimMemory *mem = plan_memory(&p, &d);
    assert_non_null(mem);
    PtxRunOptions o = {.find_races = true, .seed = seed, .budget = 1000000};
    assert_true(diff_run_ptx(&p, p.launches.at, m, mem, &o, &r, &d));
    assert_int_equal(r.trap.kind, TRAP_NONE);
    *harmful = r.nharmful;
    *harmless = r.nraces - r.nharmful;
    for (uint32_t i = 0; i < r.nraces; i++) {
        assert_in_range(interp_race_print(&r.races[i], text, sizeof text), 1, sizeof text);
        assert_int_not_equal(r.races[i].first.line, 0);
    }
    interp_races_free(&r);
    simmem_free(mem);
    plan_free(&p);
    ptx_free(m);
}

static void test_cases(void **state) {
    unsigned wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            uint32_t harmful, harmless;
            run_case(&cases[i], seed, &harmful, &harmless);
            if ((harmful > 0) == cases[i].races && (harmless > 0 || !cases[i].same_value))
                continue;
            print_message("%s, order %u: %u races, %u of the same value\n", cases[i].name, (unsigned)seed,
                          harmful, harmless);
            wrong++;
        }
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
