/* Branch profiles: the counts of a kernel whose every lane's way is worked out here in C, warp by warp and
 * round by round; files that are read, added up, and refused.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/scope.h"
#include "check/validate/compare/diff.h"
#include "check/validate/cover/profile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 80,
    BLOCKS = 20,
    CASES = 5
}; /* the last warp has 16 lanes; more blocks than run at a time */

/* Thread t: i from 0 to t % 3; in it j from 0 to (t + i) % 4, of which odd ones call f; then case t % 5. The
 * return of f is guarded. */
static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".func f(.param .b32 x) {\n.reg .b32 %a;\n.reg .pred %p;\n"
                           "ld.param.b32 %a, [x];\nsetp.gt.u32 %p, %a, 1;\n@%p ret;\nret;\n}\n"
                           ".visible .entry k() {\n.reg .b32 %t, %i, %j, %n, %m, %x;\n.reg .pred %p;\n"
                           "mov.u32 %t, %tid.x;\nrem.u32 %n, %t, 3;\nmov.u32 %i, 0;\n"
                           "OUTER:\nadd.u32 %m, %t, %i;\nrem.u32 %m, %m, 4;\nmov.u32 %j, 0;\n"
                           "INNER:\nand.b32 %x, %j, 1;\nsetp.eq.u32 %p, %x, 0;\n@%p bra NEXT;\n"
                           "{ .param .b32 a; st.param.b32 [a], %j; call f, (a); }\n"
                           "NEXT:\nadd.u32 %j, %j, 1;\nsetp.le.u32 %p, %j, %m;\n@%p bra INNER;\n"
                           "add.u32 %i, %i, 1;\nsetp.le.u32 %p, %i, %n;\n@%p bra OUTER;\n"
                           "rem.u32 %x, %t, 5;\nts: .branchtargets A, B, A, C, D;\nbrx.idx %x, ts;\n"
                           "A:\nret;\nB:\nret;\nC:\nret;\nD:\nexit;\n}\n";

typedef struct {
    PtxModule *ptx;
    PtxProfile *profile;
    Arena messages;
    VEC(const char *) said;
} World;

static void hear(void *user, Severity severity, const char *line) {
    World *world = user;
    (void)severity;
    VEC_ADD(&world->messages, &world->said, arena_printf(&world->messages, "%s", line));
}

static Diags diags(World *world) { return (Diags){.sink = hear, .user = world}; }

static void open_world(World *world, const char *source) {
    *world = (World){0};
    Diags d = diags(world);
    world->ptx = ptx_parse("k.ptx", source, strlen(source), &d);
    assert_non_null(world->ptx);
    world->profile = ptx_profile_new(world->ptx);
}

static void close_world(World *world) {
    ptx_profile_free(world->profile);
    ptx_free(world->ptx);
    arena_free(&world->messages);
}

static void run_once(World *world) {
    Plan plan = {0};
    Diags d = diags(world);
    PtxRunResult result;
    ProfileCounter *counter = profile_counter_new(world->profile);
    PlanLaunch launch = {.kernel = "k", .grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1}, .repeat = 1};
    VEC_ADD(&plan.arena, &plan.launches, launch);
    SimMemory *mem = plan_memory(&plan, &d);
    profile_counter_launch(counter, launch.grid, launch.block);
    assert_true(diff_run_ptx(&plan, plan.launches.at, world->ptx, mem,
                             &(PtxRunOptions){.on_event = profile_count, .user = counter}, &result, &d));
    assert_int_equal(result.trap.kind, TRAP_NONE);
    assert_false(profile_counter_was_full(counter));
    profile_counter_free(counter);
    simmem_free(mem);
    plan_free(&plan);
}

/* ---- what must be counted ---- */

static void meet(PtxBranch *branch, const int *way_of_lane) { /* -1: the lane is not there */
    uint64_t lanes[CASES] = {0};
    uint32_t ways = 0, last = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if (way_of_lane[lane] >= 0)
            lanes[way_of_lane[lane]]++;
    for (uint32_t w = 0; w < CASES; w++)
        if (lanes[w])
            ways++, last = w;
    if (!ways)
        return;
    branch->warps += BLOCKS;
    branch->divergent += ways > 1 ? BLOCKS : 0;
    branch->ways[last].together += ways == 1 ? BLOCKS : 0;
    for (uint32_t w = 0; w < CASES; w++) {
        branch->ways[w].lanes += lanes[w] * BLOCKS;
        branch->ways[w].apart += ways > 1 ? lanes[w] * BLOCKS : 0;
    }
}

typedef struct {
    PtxBranch branch;
    PtxWay ways[CASES];
} Expected;
enum { ODD, INNER, OUTER, SWITCH, RETURN, NBRANCHES };

static void expect_warp(Expected *expected, unsigned first) {
    int way[32];
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned j = 0; j < 4; j++) {
            for (unsigned which = ODD; which <= INNER; which++) {
                for (unsigned lane = 0; lane < 32; lane++) {
                    unsigned t = first + lane, m = (t + i) % 4;
                    bool here = t < THREADS && i <= t % 3 && j <= m;
                    way[lane] = !here ? -1 : which == ODD ? (j & 1) != 0 : j + 1 > m;
                }
                meet(&expected[which].branch, way);
            }
        }
        for (unsigned lane = 0; lane < 32; lane++)
            way[lane] = first + lane >= THREADS || i > (first + lane) % 3 ? -1 : i + 1 > (first + lane) % 3;
        meet(&expected[OUTER].branch, way);
    }
    static const int cases[] = {0, 1, 0, 2, 3};
    for (unsigned lane = 0; lane < 32; lane++)
        way[lane] = first + lane < THREADS ? cases[(first + lane) % 5] : -1;
    meet(&expected[SWITCH].branch, way);
    /* calls: the n-th of a lane meets the n-th of the others */
    for (unsigned n = 0;; n++) {
        bool some = false;
        for (unsigned lane = 0; lane < 32; lane++) {
            unsigned t = first + lane, calls = 0;
            way[lane] = -1;
            for (unsigned i = 0; t < THREADS && i <= t % 3; i++)
                for (unsigned j = 1; j <= (t + i) % 4; j += 2)
                    if (calls++ == n)
                        way[lane] = j > 1 ? 0 : 1, some = true;
        }
        if (!some)
            break;
        meet(&expected[RETURN].branch, way);
    }
}

static const PtxFunc *func_named(const World *world, const char *name) {
    for (uint32_t f = 0; f < world->ptx->nfuncs; f++)
        if (strcmp(str_text(&world->ptx->strings, world->ptx->funcs[f].name), name) == 0)
            return &world->ptx->funcs[f];
    fail();
    return NULL;
}

/* Warps 0, 8, 16 ... of 60 were recorded, in the first run. */
static unsigned went_of(unsigned which, unsigned t, uint8_t *went) {
    unsigned n = 0;
    for (unsigned i = 0; i <= t % 3; i++) {
        for (unsigned j = 0; j <= (t + i) % 4; j++)
            if (which == ODD)
                went[n++] = (j & 1) != 0;
            else if (which == INNER)
                went[n++] = j + 1 > (t + i) % 4;
            else if (which == RETURN && (j & 1))
                went[n++] = j > 1 ? 0 : 1;
        if (which == OUTER)
            went[n++] = i + 1 > t % 3;
    }
    if (which == SWITCH)
        went[n++] = (uint8_t[]){0, 1, 0, 2, 3}[t % 5];
    return n;
}

static void compare_records(unsigned which, const PtxRecord *records) {
    for (unsigned lane = 0; lane < PTX_RECORDED_LANES; lane++) {
        unsigned t = lane / 32 * 8 % 3 * 32 + lane % 32;
        uint8_t went[16];
        unsigned n = t < THREADS ? went_of(which, t, went) : 0;
        assert_int_equal(records[lane].n, n);
        if (n)
            assert_memory_equal(records[lane].ways, went, n);
    }
}

static void compare(const World *world, unsigned times) {
    Expected expected[NBRANCHES] = {0};
    for (unsigned b = 0; b < NBRANCHES; b++)
        expected[b].branch.ways = expected[b].ways;
    for (unsigned first = 0; first < THREADS; first += 32)
        expect_warp(expected, first);
    unsigned n = 0;
    for (unsigned which = 0; which < 2; which++) {
        const PtxFunc *func = func_named(world, which ? "f" : "k");
        for (uint32_t k = 0; k < func->ninsns; k++) {
            const PtxBranch *found = ptx_profile_branch(world->profile, func, k);
            if (!found)
                continue;
            assert_true(n < NBRANCHES);
            const PtxBranch *right = &expected[n++].branch;
            assert_int_equal(found->warps, right->warps * times);
            assert_int_equal(found->divergent, right->divergent * times);
            for (uint32_t w = 0; w < found->nways; w++) {
                assert_int_equal(found->ways[w].lanes, right->ways[w].lanes * times);
                assert_int_equal(found->ways[w].together, right->ways[w].together * times);
                assert_int_equal(found->ways[w].apart, right->ways[w].apart * times);
            }
            assert_non_null(found->records);
            compare_records(n - 1, found->records);
        }
    }
    assert_int_equal(n, NBRANCHES);
}

static void test_counts(void **state) {
    (void)state;
    World w;
    open_world(&w, text);
    run_once(&w);
    compare(&w, 1);
    run_once(&w);
    compare(&w, 2);
    char *file = ptx_profile_write(w.profile);
    close_world(&w);
    open_world(&w, text);
    Diags d = diags(&w);
    assert_true(ptx_profile_read(w.profile, "p", file, &d));
    compare(&w, 2);
    assert_true(ptx_profile_read(w.profile, "p", file, &d));
    compare(&w, 4);
    assert_int_equal(w.said.n, 0);
    close_world(&w);
    mem_free(file);
}

static char *replaced(const char *in, const char *what, const char *with) {
    const char *at = strstr(in, what);
    assert_non_null(at);
    char *out = malloc(strlen(in) + strlen(with) + 1);
    sprintf(out, "%.*s%s%s", (int)(at - in), in, with, at + strlen(what));
    return out;
}

/* Another text of a function: its counts are left out and that is said; labels and registers may change. */
static void test_other_text(void **state) {
    (void)state;
    World w;
    open_world(&w, text);
    run_once(&w);
    char *file = ptx_profile_write(w.profile);
    close_world(&w);
    char *stale = replaced(text, "rem.u32 %n, %t, 3;\n", "rem.u32 %n, %t, 3;\nrem.u32 %n, %t, 3;\n"),
         *other = replaced(text, "@%p ret;\nret;", "@!%p ret;\nret;");
    open_world(&w, stale);
    Diags d = diags(&w);
    assert_true(ptx_profile_read(w.profile, "p", file, &d));
    assert_int_equal(w.said.n, 1);
    assert_non_null(strstr(w.said.at[0], "W0506"));
    assert_non_null(strstr(w.said.at[0], "function k"));
    const PtxFunc *k = func_named(&w, "k"), *f = func_named(&w, "f");
    for (uint32_t n = 0; n < k->ninsns; n++) {
        const PtxBranch *branch = ptx_profile_branch(w.profile, k, n);
        assert_true(!branch || !branch->warps);
    }
    assert_true(ptx_profile_branch(w.profile, f, 2)->warps > 0);
    close_world(&w);
    open_world(&w, other);
    assert_true(ptx_profile_read(w.profile, "p", file, &d));
    assert_int_equal(w.said.n, 1);
    assert_non_null(strstr(w.said.at[0], "function f"));
    close_world(&w);
    char *names = replaced(text, "A:\nret;", "Q:\nret;"),
         *named = replaced(names, "s A, B, A,", "s Q, B, Q,");
    open_world(&w, named);
    assert_true(ptx_profile_read(w.profile, "p", file, &d));
    assert_int_equal(w.said.n, 0);
    compare(&w, 1);
    close_world(&w);
    free(names), free(named), free(stale), free(other);
    mem_free(file);
}

/* No file makes it crash, and a wrong one adds nothing. Every prefix, and values out of place. */
static void test_wrong_files(void **state) {
    (void)state;
    World w;
    open_world(&w, text);
    run_once(&w);
    char *file = ptx_profile_write(w.profile);
    close_world(&w);
    open_world(&w, text);
    Diags d = diags(&w);
    for (size_t n = 0; n + 1 < strlen(file); n += 7) {
        char *cut = malloc(n + 1);
        memcpy(cut, file, n);
        cut[n] = 0;
        d = diags(&w);
        assert_false(ptx_profile_read(w.profile, "p", cut, &d));
        free(cut);
    }
    static const char *const changes[][2] = {{"heddle-profile", "profile"},
                                             {"\"version\":\t1", "\"version\":\t2"},
                                             {"\"functions\"", "\"function\""},
                                             {"\"name\"", "\"nam\""},
                                             {"\"digest\"", "\"d\""},
                                             {"\"branches\"", "\"b\""},
                                             {"\"statement\":\t", "\"statement\":\t9"},
                                             {"\"statement\":\t", "\"statement\":\t-"},
                                             {"\"warps\":\t", "\"warps\":\t1"},
                                             {"\"divergent\":\t", "\"divergent\":\t1"},
                                             {"\"lanes\":\t", "\"lanes\":\t0.5e-3,\"x\":"},
                                             {"\"lanes\":\t", "\"lanes\":\t1e300,\"x\":"},
                                             {"\"together\":\t", "\"together\":\t\"a\",\"x\":"},
                                             {"\"apart\":\t", "\"apart\":\t9e15,\"x\":"},
                                             {"\"ways\":\t[{", "\"ways\":\t[{},{"},
                                             {"\"recorded\":\t[", "\"recorded\":\t7,\"x\":["},
                                             {"\"recorded\":\t[", "\"recorded\":\t[7,"},
                                             {"\"recorded\":\t[\"", "\"recorded\":\t[\"2"},
                                             {"\"recorded\":\t[\"", "\"recorded\":\t[\"/"}};
    for (size_t n = 0; n < sizeof changes / sizeof *changes; n++) {
        char *wrong = replaced(file, changes[n][0], changes[n][1]);
        d = diags(&w);
        if (ptx_profile_read(w.profile, "p", wrong, &d))
            fail_msg("taken: %s", changes[n][1]);
        assert_non_null(strstr(w.said.at[w.said.n - 1], "E0505"));
        free(wrong);
    }
    d = diags(&w);
    assert_true(ptx_profile_read(w.profile, "p", file, &d));
    compare(&w, 1); /* nothing of the others */
    close_world(&w);
    mem_free(file);
}

/* A file that has one branch twice: its counts add up, of what it recorded there is room for one. */
static void test_twice(void **state) {
    (void)state;
    World w;
    open_world(&w, text);
    run_once(&w);
    char *file = ptx_profile_write(w.profile);
    close_world(&w);
    static char went[PTX_MOST_RECORDED + 1], branch[2 * PTX_MOST_RECORDED], both[5 * PTX_MOST_RECORDED];
    memset(went, '1', PTX_MOST_RECORDED);
    snprintf(
        branch, sizeof branch,
        "{\"statement\": 2, \"warps\": 1, \"divergent\": 0, \"recorded\": [\"%s\"], \"ways\": "
        "[{\"lanes\": 0, \"together\": 0, \"apart\": 0}, {\"lanes\": 9, \"together\": 1, \"apart\": 0}]}",
        went);
    snprintf(both, sizeof both, "\"branches\": [%s, %s], \"x\": [{", branch, branch);
    char *twice = replaced(file, "\"branches\":\t[{", both);
    open_world(&w, text);
    Diags d = diags(&w);
    assert_true(ptx_profile_read(w.profile, "p", twice, &d));
    const PtxBranch *found = ptx_profile_branch(w.profile, func_named(&w, "f"), 2);
    assert_int_equal(found->warps, 2);
    assert_int_equal(found->records[0].n, PTX_MOST_RECORDED);
    assert_int_equal(found->records[1].n, 0);
    char *again = ptx_profile_write(w.profile);
    assert_non_null(strstr(again, went));
    close_world(&w);
    mem_free(again), mem_free(file);
    free(twice);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_other_text),
        cmocka_unit_test(test_wrong_files),
        cmocka_unit_test(test_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
