/* Branches that go one way in every launch: kernels whose branches are known by construction, and random
 * ones, of which the reference interpreter executes every thread. What is said to go one way must, and enough
 * of what a block of one size decides must be found. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "check/validate/cover/coverage.h"
#include "check/validate/compare/diff.h"
#include "check/validate/cover/forced.h"
#include <stdio.h>
#include <string.h>

static const char head[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 p, .param .u32 n)%s\n{\n.reg .b64 %%g, %%o;\n"
    ".reg .b32 %%t, %%c, %%d, %%n, %%r<40>, %%f<8>;\n.reg .b16 %%h;\n.reg .pred %%p, %%q, %%s;\n"
    "ld.param.u64 %%g, [p];\nld.param.u32 %%n, [n];\nmov.u32 %%t, %%tid.x;\n"
    "mov.u32 %%c, %%ctaid.x;\nmov.u32 %%d, %%ntid.x;\n%s\n@%%p bra END;\n"
    "st.global.u32 [%%g], 1;\nEND: ret;\n}\n";

static PtxModule *parse(char *text, size_t size, const char *limits, const char *body) {
    Diags d = {0};
    snprintf(text, size, head, limits, body);
    PtxModule *module = ptx_parse("k.ptx", text, strlen(text), &d);
    if (!module)
        print_message("%s\n", text);
    assert_non_null(module);
    return module;
}

/* The statement of the branch. */
static uint32_t branch_of(const PtxFunc *f) {
    for (uint32_t i = 0; i < f->ninsns; i++)
        if (f->insns[i].op == PTX_BRA)
            return i;
    fail_msg("no branch");
    return 0;
}

static Forced forced_of(const PtxModule *module) {
    Arena arena = {0};
    Forced forced =
        (Forced)coverage_forced_branches(module, &module->funcs[0], &arena)[branch_of(&module->funcs[0])];
    arena_free(&arena);
    return forced;
}

typedef struct {
    const char *limits, *body;
    Forced forced;
} Case;

static const Case cases[] = {
    {"", "setp.lt.s32 %p, %t, 1024;", FORCED_TAKEN},
    {"", "setp.lt.s32 %p, %t, 1023;", FORCED_NOT},
    {"", "setp.ge.u32 %p, %t, 1024;", FORCED_PASSED},
    {" .maxntid 256", "setp.gt.s32 %p, %t, 255;", FORCED_PASSED},
    {" .reqntid 64", "setp.eq.u32 %p, %d, 64;", FORCED_TAKEN},
    {" .reqntid 64", "setp.eq.u32 %p, %d, 32;", FORCED_PASSED},
    {" .maxntid 64", "setp.eq.u32 %p, %d, 64;", FORCED_NOT},
    {"", "setp.ge.s32 %p, %t, 0;", FORCED_TAKEN},
    {"", "setp.lt.s32 %p, %n, 0;", FORCED_NOT},
    {"", "setp.eq.u32 %q, %t, %t; not.pred %p, %q;", FORCED_PASSED},
    /* Warp's loop over a tile of 8 elements, for blocks of 256 */
    {"",
     "max.s32 %r1, %t, -248; add.s32 %r2, %r1, 255; sub.s32 %r3, %r2, %t; shr.u32 %r4, %r3, 8; add.s32 %r5, "
     "%r4, 1;"
     "and.b32 %r6, %r5, 3; setp.eq.s32 %p, %r6, 1;",
     FORCED_TAKEN},
    /* ... of 512 elements: from 255 to 511 are left, so there are one or two rounds */
    {"", "max.s32 %r1, %t, 256; add.s32 %r2, %r1, 255; sub.s32 %r3, %r2, %t; setp.lt.u32 %p, %r3, 512;",
     FORCED_TAKEN},
    {"", "max.s32 %r1, %t, 256; add.s32 %r2, %r1, 255; sub.s32 %r3, %r2, %t; setp.lt.u32 %p, %r3, 511;",
     FORCED_NOT},
    {"",
     "max.s32 %r1, 256, %t; sub.s32 %r2, %r1, %t; shr.u32 %r3, %r2, 8; add.s32 %r4, %r3, 1; and.b32 %r5, "
     "%r4, 3; "
     "setp.eq.s32 %p, %r5, 0;",
     FORCED_PASSED},
    {"", "min.s32 %r1, %t, 5; sub.s32 %r2, %t, %r1; setp.le.s32 %p, %r2, 1018;", FORCED_TAKEN},
    {"", "min.s32 %r1, %t, 5; sub.s32 %r2, %t, %r1; setp.lt.s32 %p, %r2, 1018;", FORCED_NOT},
    {"", "max.s32 %r1, %t, %n; setp.ge.s32 %p, %r1, 0;", FORCED_TAKEN},
    {"", "max.s32 %r1, %t, %n; setp.ge.s32 %p, %r1, %t;", FORCED_TAKEN},
    /* thread 3 less 5 is a large number */
    {"", "sub.s32 %r1, %t, 5; setp.lt.u32 %p, %r1, %t;", FORCED_NOT},
    /* 2^31 - 1 and 1 are not more than 2^31 - 1 */
    {"", "and.b32 %r1, %n, 2147483647; add.s32 %r2, %r1, 1; setp.gt.s32 %p, %r2, 0;", FORCED_NOT},
    {"", "and.b32 %r1, %n, 15; mul.lo.s32 %r2, %r1, 100; setp.le.s32 %p, %r2, 1500;", FORCED_TAKEN},
    {"", "and.b32 %r1, %n, 15; mul.lo.s32 %r2, %r1, 100; setp.lt.s32 %p, %r2, 1500;", FORCED_NOT},
    {"", "rem.u32 %r1, %t, 7; setp.lt.u32 %p, %r1, 7;", FORCED_TAKEN},
    {"", "rem.s32 %r1, %n, 7; setp.lt.s32 %p, %r1, 0;", FORCED_NOT},
    /* a register that is a thread's number before it counts; and where both values may come */
    {"", "mov.u32 %r1, %t; setp.lt.s32 %p, %r1, 1024; add.s32 %r1, %r1, 256;", FORCED_TAKEN},
    {"", "mov.u32 %r1, %t; add.s32 %r1, %r1, 1; setp.gt.s32 %p, %r1, 0; mov.u32 %r1, %n;", FORCED_TAKEN},
    {"", "mov.u32 %r1, %n; setp.lt.s32 %p, %r1, 1024; mov.u32 %r1, %t;", FORCED_NOT},
    {"",
     "mov.u32 %r1, %t; BACK: setp.ge.s32 %p, %r1, 1024; @%p bra OUT; add.s32 %r1, %r1, 256; bra BACK; OUT: "
     "setp.eq.u32 %p, %n, 3;",
     FORCED_NOT},
    /* two definitions, one under a guard, one above which it is read */
    {"", "mov.u32 %r1, 1; setp.eq.u32 %q, %n, 3; @%q mov.u32 %r1, 2; setp.eq.u32 %p, %r1, 1;", FORCED_NOT},
    {"", "setp.eq.u32 %p, %r1, 1; mov.u32 %r1, 1;", FORCED_NOT},
    /* parts of a register, and a type that is narrower */
    {"", "mov.b32 {%h, _}, %n; cvt.u32.u16 %r1, %h; setp.ge.s32 %p, %r1, 0;", FORCED_TAKEN},
    {"", "cvt.u8.u32 %r1, %n; setp.lt.s32 %p, %r1, 128;", FORCED_NOT},
    {"", "ld.global.u8 %r1, [%g]; setp.lt.s32 %p, %r1, 128;", FORCED_NOT},
    {"", "mul.wide.u32 %o, %n, %n; cvt.u32.u64 %r1, %o; setp.ge.s32 %p, %r1, 0;", FORCED_NOT},
    {"", "setp.lt.u32 %q, %t, 2000; setp.lt.u32 %s, %n, 5; or.pred %p, %q, %s;", FORCED_TAKEN},
    {"", "setp.lt.u32 %q, %t, 2000; setp.lt.u32 %s, %n, 5; and.pred %p, %q, %s;", FORCED_NOT},
    {"", "vote.sync.any.pred %q, %s, -1; and.pred %p, %q, %q;", FORCED_NOT},
    /* pow(x, 2.0) of CUDA's library: is half of the exponent whole? */
    {"",
     "mov.f32 %f1, 0f3F800000; cvt.rzi.f32.f32 %f2, %f1; add.f32 %f3, %f2, %f2; mov.f32 %f4, 0f40000000; "
     "sub.f32 %f5, %f4, %f3; abs.f32 %f6, %f5; setp.eq.f32 %p, %f6, 0f3F800000;",
     FORCED_PASSED},
    {"", "cvt.rn.f16.f32 %h, 0f40400000; cvt.f32.f16 %f1, %h; setp.eq.f32 %p, %f1, 0f40400000;",
     FORCED_TAKEN},
    {"", "mov.f32 %f1, 0fC0000000; mov.b32 %r1, %f1; shr.s32 %r2, %r1, 31; setp.eq.s32 %p, %r2, -1;",
     FORCED_TAKEN},
    {"", "mov.f32 %f1, 0f7FC00000; setp.ltu.f32 %p, %f1, 0f00000000;", FORCED_TAKEN},
    {"", "cvt.rn.f32.s32 %f1, %n; setp.lt.f32 %p, %f1, 0f4F800000;", FORCED_NOT},
    {"", "mov.f32 %f1, 0f3F800000; @%q mov.f32 %f1, 0f40000000; setp.eq.f32 %p, %f1, 0f3F800000;",
     FORCED_NOT},
    {"", "selp.b32 %r1, 5, 6, %q; popc.b32 %r2, 7; setp.eq.u32 %p, %r2, 3;", FORCED_TAKEN},
    {"", "add.cc.u32 %r1, -1, 1; addc.u32 %r2, 0, 0; setp.eq.u32 %p, %r2, 1;", FORCED_NOT},
};

static void test_cases(void **state) {
    char text[4096];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        PtxModule *module = parse(text, sizeof text, cases[i].limits, cases[i].body);
        Forced forced = forced_of(module);
        if (forced != cases[i].forced)
            fail_msg("%s: %d, not %d", cases[i].body, forced, cases[i].forced);
        ptx_free(module);
    }
}

/* ---- random code ---- */

static void add_random(char *body, size_t size, uint64_t *random) {
    static const char *const ops[] = {"add.s32", "sub.s32", "max.s32", "min.s32", "mul.lo.s32", "shl.b32",
                                      "shr.u32", "shr.s32", "and.b32", "add.u32", "min.u32",    "max.u32",
                                      "rem.u32", "div.u32", "sub.u32", "rem.s32", "or.b32",     "xor.b32"};
    static const char *const known[] = {"%t", "%c", "%d", "%n"}, *const compare[] = {"lt", "le", "gt",
                                                                                     "ge", "eq", "ne"};
    static const int constants[] = {0, 1, 2, 3, 7, 8, 31, 255, 256, 1023, -1, -248, 2147483647};
    enum { STEPS = 6, NAMES = 4, CONSTANTS = sizeof constants / sizeof *constants };
    size_t n = 0;
    char source[2][16];
    for (unsigned k = 1; k <= STEPS + 1; k++) {
        for (unsigned s = 0; s < 2; s++) {
            uint64_t pick = rng_next(random) % 4;
            if (pick == 0 && s)
                snprintf(source[s], sizeof source[s], "%d", constants[rng_next(random) % CONSTANTS]);
            else if (pick == 1 || k == 1)
                snprintf(source[s], sizeof source[s], "%s", known[rng_next(random) % NAMES]);
            else
                snprintf(source[s], sizeof source[s], "%%r%u",
                         (unsigned)(1 + rng_next(random) % (k > 1 ? k - 1 : 1)));
        }
        const char *sign = rng_next(random) % 2 ? "s32" : "u32";
        unsigned to = rng_next(random) % 4 ? k : 1 + (unsigned)(rng_next(random) % k); /* again */
        if (k > STEPS)
            snprintf(body + n, size - n, "setp.%s.%s %%p, %s, %s;", compare[rng_next(random) % 6], sign,
                     source[0], source[1]);
        else
            n += (size_t)snprintf(body + n, size - n, "%s %%r%u, %s, %s;",
                                  ops[rng_next(random) % (sizeof ops / sizeof *ops)], to, source[0],
                                  source[1]);
    }
}

/* Whether the branch is passed by some thread, and taken, in blocks of several sizes. */
static void run_random(PtxModule *module, uint64_t *random, bool *passed, bool *taken) {
    static const unsigned blocks[] = {1, 3, 32, 256, 1000};
    uint32_t branch = branch_of(&module->funcs[0]);
    Diags d = {0};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        char argument[32];
        Plan plan = {0};
        Coverage coverage;
        PtxRunResult result;
        coverage_new(&coverage, &plan.arena, module, NULL);
        VEC_ADD(&plan.arena, &plan.launches,
                ((PlanLaunch){.grid = {1 + (unsigned)i, 1, 1}, .block = {blocks[i], 1, 1}, .repeat = 1}));
        uint32_t n = (uint32_t)(rng_next(random) % 3 ? rng_next(random) % 40 : rng_next(random));
        snprintf(argument, sizeof argument, "u32:%u", n);
        assert_true(plan_add_arg(&plan, "buf:u32[16]", &d) && plan_add_arg(&plan, argument, &d));
        SimMemory *memory = plan_memory(&plan, &d);
        assert_non_null(memory);
        PtxRunOptions options = {.budget = 10000000, .reached = coverage.ptx, .values = coverage.values};
        assert_true(diff_run_ptx(&plan, plan.launches.at, module, memory, &options, &result, &d));
        assert_int_equal(result.trap.kind, TRAP_NONE);
        *taken |= coverage.values[0][branch] >> PTX_VALUE_TRUE & 1;
        *passed |= coverage.ptx[0][branch + 1] != 0;
        simmem_free(memory);
        plan_free(&plan);
    }
}

static void test_random(void **state) {
    enum { PROGRAMS = 600, FEWEST = 16 };
    uint64_t random = 7;
    unsigned found = 0;
    (void)state;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        char text[4096], body[2048];
        bool passed = false, taken = false;
        add_random(body, sizeof body, &random);
        PtxModule *module = parse(text, sizeof text, "", body);
        Forced forced = forced_of(module);
        run_random(module, &random, &passed, &taken);
        if ((forced == FORCED_TAKEN && passed) || (forced == FORCED_PASSED && taken))
            fail_msg("%s: said to be %s", body, forced == FORCED_TAKEN ? "taken" : "passed");
        found += forced != FORCED_NOT;
        ptx_free(module);
    }
    assert_in_range(found, FEWEST, PROGRAMS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
