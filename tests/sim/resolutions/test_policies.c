/* Policies that take the specification's text literally, or add to it: for each a program that behaves in one
 * way under the default and in another under the policy. What it must do follows from the text and the
 * resolution (docs/spec-resolutions.md), not from the machine. Every program runs in the fast and in the
 * checked issue loop, which must agree. SPDX-License-Identifier: MIT */
#include "asm_run.h"
#include "sim/machine/policy.h"
#include <stdio.h>
#include <string.h>

static MachineOptions with(const char *policy) {
    MachineOptions o = {.max_issues = 200000};
    for (size_t n; *policy; policy += n + (policy[n] == ',')) {
        n = strcspn(policy, ",");
        assert_true(machine_policy_parse(&o.policies, policy, n));
    }
    return o;
}

static AsmResult launch(const char *policy, uint32_t threads, SimTrapKind trap, const char *text,
                        const char *program) {
    return asm_run(&(AsmLaunch){.threads = threads, .opt = with(policy), .trap = trap, .text = text}, "%s",
                   program);
}

/* 01: lanes 16 to 31 are at the first BSYNC B0 when 0 to 15 arrive, and all go on. Literally only 0 to 15
 * leave B0. Then 16 to 31 wait at BSYNC B1 for 0 to 15, and these at the second BSYNC B0 for 16 to 31, which
 * do not come. */
static void bsync_clear_01(void **state) {
    (void)state;
    static const char program[] = ASM_START "MOV R6, 0x7;\n" ASM_BIT(
        "P1", "0xffff") "BSSY B1, `(out);\nBSSY B0, `(one);\n@!P1 BRA `(here);\nIADD3 R8, R6, 0x1, "
                        "RZ;\nhere:\nBSYNC B0;\none:\n"
                        "@!P1 BRA `(meet);\nBSSY B0, `(two);\nIADD3 R8, R6, 0x1, RZ;\nBSYNC B0;\ntwo:\n"
                        "meet:\nBSYNC B1;\nout:\n" ASM_STORE "EXIT;\n";
    AsmResult r = launch("", 32, TRAP_NONE, NULL, program);
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(r.out[2 * i + 1], ~0u);
    launch("bsync-clear=active", 32, TRAP_LIVELOCK, NULL, program);
}

/* An endless loop behind a long one that names other registers: it is proved endless as early where all of
 * the code is decoded from the start as where it is decoded when warps come to it (asm_run compares). */
static void endless_as_early(void **state) {
    (void)state;
    AsmResult r = asm_run(&(AsmLaunch){.threads = 256, .opt.max_issues = 1000000, .trap = TRAP_LIVELOCK},
                          "MOV R6, RZ;\nround:\nIADD3 R6, R6, 0x1, RZ;\n"
                          "ISETP.NE.AND P0, PT, R6, 0x400, PT;\n@P0 BRA `(round);\n"
                          "MOV R200, 0x7;\nforever:\nBRA `(forever);\n");
    assert_true(r.stats.issues > 8 * 3 * 0x400);
}

/* 02: nobody sleeps, and a part of the warp exits. Read as C parses it, or with the parentheses that were
 * meant, the test says that all candidates sleep: no timer runs, so nothing ever wakes the warp. */
static void sleep_test_02(void **state) {
    (void)state;
    static const char program[] = ASM_START ASM_BIT("P1", "0xff") "MOV R6, 0x7;\n@P1 BRA `(rest);\nEXIT;\n"
                                                                  "rest:\n" ASM_STORE "EXIT;\n";
    assert_int_equal(launch("", 32, TRAP_NONE, NULL, program).out[0], 7);
    assert_int_equal(launch("sleep-test=literal", 32, TRAP_DEADLOCK, NULL, program).out[0], 0);
    assert_int_equal(launch("sleep-test=subset", 32, TRAP_DEADLOCK, NULL, program).out[0], 0);
}

/* 05: two groups, each with a YIELD. Literally it does not save where its lanes go on: with the PC that the
 * text gives all lanes of a control instruction, they come back to the YIELD itself. */
#define TWO_GROUPS(what)                                                                                     \
    ASM_START ASM_BIT("P1", "0xff") "MOV R6, 0x7;\n@P1 BRA `(low);\n" what ";\nBRA `(end);\nlow:\n" what     \
                                    ";\nend:\n" ASM_STORE "EXIT;\n"
static void yield_pc_05(void **state) {
    (void)state;
    assert_int_equal(launch("", 32, TRAP_NONE, NULL, TWO_GROUPS("YIELD")).out[0], 7);
    assert_int_equal(launch("yield-pc=own", 32, TRAP_LIVELOCK, NULL, TWO_GROUPS("YIELD")).out[0], 0);
}

/* 06: the same of NANOSLEEP, which literally does not set SleepMask either. */
static void nanosleep_06(void **state) {
    (void)state;
    assert_int_equal(launch("", 32, TRAP_NONE, NULL, TWO_GROUPS("NANOSLEEP 0x64")).out[0], 7);
    assert_int_equal(launch("nanosleep=literal", 32, TRAP_BUDGET, NULL, TWO_GROUPS("NANOSLEEP 0x64")).out[0],
                     0);
}

/* 21: lane 9 waits for lane 25, lanes 0 to 7 at the same place for 16 to 23, these elsewhere for lane 9, and
 * lane 25 can run. The lowest lane is taken, so 16 to 23 and the others let each other run, and lane 25 never
 * does, unless the machine remembers who had a turn. */
static void warpsync_turns_21(void **state) {
    (void)state;
    static const char program[] =
        ASM_START "MOV R6, 0x7;\n" ASM_BIT("P1", "0x2ff02ff") "@!P1 EXIT;\n" ASM_BIT(
            "P2",
            "0x2000200") "MOV R8, 0xff00ff;\nMOV R9, 0x2000200;\nSEL R8, R9, R8, P2;\n" ASM_BIT("P3",
                                                                                                "0xff0000")
            ASM_BIT("P4", "0x2000000")
                ASM_BIT("P5", "0x200") "@P4 BRA `(last);\n@P3 BRA `(elsewhere);\n"
                                       "place:\nWARPSYNC R8;\n@P5 BRA `(elsewhere);\nend:\n" ASM_STORE
                                       "EXIT;\n"
                                       "elsewhere:\nWARPSYNC 0xff0200;\n@P3 BRA `(place);\nBRA `(end);\n"
                                       "last:\nBRA `(place);\n";
    launch("", 32, TRAP_LIVELOCK, NULL, program);
    assert_int_equal(launch("warpsync-turns=tried", 32, TRAP_NONE, NULL, program).out[0], 7);
    assert_int_equal(launch("lane-choice=highest", 32, TRAP_NONE, NULL, program).out[0],
                     7); /* takes lane 25 */
    AsmLaunch native = {.target = "sm_80", .threads = 32};
    assert_int_equal(asm_run(&native, program).out[0], 7); /* as NVIDIA's machines: docs/native.md */
    native.opt.warpsync_turns = MACHINE_TURNS_NONE;
    native.trap = TRAP_LIVELOCK;
    asm_run(&native, program);
}

/* 21: of lanes that are elsewhere the text reads the mask register, too. Lanes 8 to 15 are parked with the
 * mask {0} in it, and of that mask all are there: lane 0 goes on, though its own mask names lane 1, which has
 * not come. */
static void warpsync_masks_21(void **state) {
    (void)state;
    static const char program[] =
        ASM_START "MOV R6, 0x7;\nMOV R8, 0x3;\n" ASM_BIT("P1", "0x1") ASM_BIT("P2", "0x2") ASM_BIT(
            "P3", "0xff03") "@!P3 EXIT;\n@P1 BRA `(sync);\n@P2 BRA `(second);\nMOV R8, 0x1;\nYIELD;\nEXIT;\n"
                            "second:\nYIELD;\nYIELD;\nsync:\nWARPSYNC R8;\n" ASM_STORE "EXIT;\n";
    AsmResult r = launch("", 32, TRAP_NONE, NULL, program);
    assert_int_equal(r.out[1], 3);
    assert_int_equal(launch("warpsync-masks=valid", 32, TRAP_NONE, NULL, program).out[1], 1);
}

/* ... and if that mask is 0, nobody goes on. */
static void warpsync_nobody_21(void **state) {
    (void)state;
    static const char program[] = ASM_START "MOV R6, 0x7;\nMOV R8, RZ;\n" ASM_BIT(
        "P1", "0xffff0000") "@!P1 BRA `(others);\nMOV R8, 0xffff0000;\nWARPSYNC R8;\n" ASM_STORE
                            "EXIT;\nothers:\nYIELD;\n" ASM_STORE "EXIT;\n";
    assert_int_equal(launch("", 32, TRAP_NONE, NULL, program).out[2 * 16 + 1], 0xffff0000);
    launch("warpsync-masks=valid", 32, TRAP_COLLECTIVE, "nobody goes on", program);
}

/* 23: lane 0 names lanes 0 to 3; lanes 1 to 3 meet in their part of that mask first, which PTX allows. The
 * text calls masks that differ within a group an error. */
static void warpsync_agree_23(void **state) {
    (void)state;
    static const char program[] = ASM_START "MOV R6, 0x7;\n" ASM_BIT("P1", "0xf") "@!P1 EXIT;\n" ASM_BIT(
        "P2", "0x1") "MOV R8, 0xf;\nMOV R9, 0xe;\nSEL R9, R8, R9, P2;\nagain:\nWARPSYNC R9;\n"
                     "ISETP.EQ.U32.AND P3, PT, R9, 0xf, PT;\n@P3 BRA `(end);\nMOV R9, 0xf;\nBRA `(again);\n"
                     "end:\n" ASM_STORE "EXIT;\n";
    AsmResult r = launch("", 32, TRAP_NONE, NULL, program);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(r.out[2 * i + 1], 0xf);
    launch("warpsync-agree=assert", 32, TRAP_COLLECTIVE, "is here with another mask", program);
}

/* 33: four warps, two of which exit; the others wait at a barrier for 128 threads. PTX releases a barrier
 * that only exited threads could complete; the text compares its count. */
static void bar_exits_33(void **state) {
    (void)state;
    static const char program[] =
        ASM_START "MOV R6, 0x7;\nISETP.GE.U32.AND P1, PT, R1, 0x40, PT;\n@P1 EXIT;\n"
                  "WARPSYNC 0xffffffff;\nBAR.SYNC 0x1, 0x80;\n" ASM_STORE "EXIT;\n";
    assert_int_equal(launch("", 128, TRAP_NONE, NULL, program).out[0], 7);
    assert_int_equal(launch("bar-exits=missing", 128, TRAP_DEADLOCK, NULL, program).out[0], 0);
}

/* No literal reading but another machine: BSSY sets its register. Lanes 0 to 15 leave the region of B0
 * without BREAK; 16 to 31 enter another one with it and, as the text has it, wait there for lanes that do not
 * come, and these at BSYNC B1 for them. */
static void bssy(void **state) {
    (void)state;
    static const char program[] = ASM_START ASM_BIT(
        "P1", "0xffff") "MOV R6, 0x7;\nBSSY B1, `(out);\nBSSY B0, `(one);\n@P1 BRA `(meet);\n"
                        "BSSY B0, `(one);\nBMOV R6, B0;\nBSYNC B0;\none:\nmeet:\n"
                        "BSYNC B1;\nout:\n" ASM_STORE "EXIT;\n";
    static const char *const adds[] = {"", "bssy=or", "bssy=target"}, *const sets[] = {"bssy=assign",
                                                                                       "bssy=other"};
    for (unsigned i = 0; i < 3; i++)
        launch(adds[i], 32, TRAP_LIVELOCK, NULL, program);
    for (unsigned i = 0; i < 2; i++) {
        AsmResult r = launch(sets[i], 32, TRAP_NONE, NULL, program);
        for (unsigned lane = 0; lane < 32; lane++) {
            assert_int_equal(r.out[2 * lane], lane < 16 ? 7 : 0xffff0000);
            assert_int_equal(r.out[2 * lane + 1], ~0u);
        }
    }
}

/* Then lanes 16 to 31 are no longer in B0 when they come to their BSYNC, lanes 0 to 15 have it and wait for
 * them at WARPSYNC: who is not named passes. */
static void bssy_members(void **state) {
    (void)state;
    static const char program[] =
        ASM_START ASM_BIT("P1", "0xffff") "MOV R6, 0x7;\n@P1 BRA `(low);\nBSSY B0, `(passed);\nYIELD;\n"
                                          "BSYNC B0;\npassed:\nBRA `(meet);\nlow:\nBSSY B0, `(end);\n"
                                          "meet:\nWARPSYNC 0xffffffff;\n@!P1 BRA `(end);\nBSYNC B0;\n"
                                          "end:\n" ASM_STORE "EXIT;\n";
    launch("bssy=or", 32, TRAP_LIVELOCK, NULL, program);
    AsmResult r = launch("bssy=assign", 32, TRAP_NONE, NULL, program);
    for (unsigned lane = 0; lane < 32; lane++)
        assert_int_equal(r.out[2 * lane], 7);
}

/* Where BSSY sets its register, BSYNC waits for lane 1, which comes last, though that lane yielded or slept
 * on its way to BSSY. */
static void bssy_yielded(void **state) {
    (void)state;
    static const char *const hints[] = {"YIELD", "NANOSLEEP 0x10"};
    for (unsigned i = 0; i < 2; i++) {
        AsmResult r = asm_run(
            &(AsmLaunch){.target = "sm_80", .threads = 32},
            ASM_START ASM_BIT("P1", "0xffff") ASM_BIT("P2", "0x3")
                ASM_BIT("P3", "0x2") "MOV R6, 0x7;\n@P1 BRA `(low);\n"
                                     "BRA `(meet);\nlow:\n%s;\nmeet:\nWARPSYNC 0xffffffff;\nBSSY B0, "
                                     "`(out);\n@!P2 BRA `(sync);\n@P3 BRA `(more);\n"
                                     "BRA `(sync);\nmore:\nMOV R6, 0x8;\nsync:\nBSYNC B0;\nout:\n" ASM_STORE
                                     "EXIT;\n",
            hints[i]);
        for (unsigned lane = 0; lane < 32; lane++) {
            assert_int_equal(r.out[2 * lane], lane == 1 ? 8 : 7);
            assert_int_equal(r.out[2 * lane + 1], ~0u);
        }
    }
}

/* Who has been sent to a BSYNC is there, before anybody executes it: lanes 0 to 15 jump to the one and stay
 * behind, 16 to 31 come to the other and go on at once. */
static void bssy_places(void **state) {
    (void)state;
    static const char program[] = ASM_START ASM_BIT(
        "P1", "0xffff") "MOV R6, 0x7;\nBSSY B0, `(out);\n@P1 BRA `(there);\nBSYNC B0;\nBRA `(out);\nthere:\n"
                        "BSYNC B0;\nout:\n" ASM_STORE "EXIT;\n";
    AsmResult r = launch("bssy=assign", 32, TRAP_NONE, NULL, program);
    assert_int_equal(r.stats.b_issues, 3);
    assert_int_equal(r.stats.bsync_hops, 0);
    for (unsigned lane = 0; lane < 32; lane++)
        assert_int_equal(r.out[2 * lane + 1], lane < 16 ? 0xffff : 0xffff0000);
}

/* A function that calls itself saves the register: lanes 0 to 7 are in the inner call, 8 to 31 wait at the
 * same BSYNC for the end of the outer one. The inner call's lanes meet alone, then all do. */
static void bssy_calls(void **state) {
    (void)state;
    static const char program[] = ASM_START ASM_BIT("P1", "0xffffff00") ASM_BIT(
        "P2",
        "0xf") "MOV R6, 0x0;\nBSSY B6, `(out);\n@P1 BRA `(sync);\nBMOV.CLEAR R8, B6;\nBSSY B6, `(out);\n"
               "@P2 BRA `(sync);\nsync:\nBSYNC B6;\nout:\nVOTE.ANY R7, PT, PT;\n@P1 BRA `(end);\n"
               "ISETP.NE.U32.AND P3, PT, R6, RZ, PT;\n@P3 BRA `(end);\nMOV R6, R7;\nBMOV B6, R8;\n"
               "BRA `(sync);\nend:\nSTG.E.64 [R2.64], R6;\nEXIT;\n";
    static const char *const policies[] = {"bssy=assign", "bssy=assign,branch-order=taken",
                                           "bssy=assign,join-scope=candidates,lane-choice=highest",
                                           "bssy=assign,bsync-nb=blocked"};
    for (unsigned i = 0; i < 4; i++) {
        AsmResult r = launch(policies[i], 32, TRAP_NONE, NULL, program);
        for (unsigned lane = 0; lane < 32; lane++) {
            assert_int_equal(r.out[2 * lane], lane < 8 ? 0xff : 0);
            assert_int_equal(r.out[2 * lane + 1], ~0u);
        }
    }
}

/* ---- the table ---- */

/* Every value has a name that is read back; what is not a value is refused. */
static void table(void **state) {
    (void)state;
    char value[16], text[64], printed[256];
    unsigned product = 1;
    for (unsigned k = 0; k < POLICY_COUNT; k++) {
        unsigned n = 0;
        for (; strcmp(machine_policy_value(k, n, value), "?"); n++) {
            MachinePolicies p = {0};
            snprintf(text, sizeof text, "%s=%s", machine_policy_table[k].name, value);
            assert_true(machine_policy_parse(&p, text, strlen(text)));
            assert_int_equal(machine_policy_get(&p, k), n);
            assert_string_equal(machine_policy_print(&p, printed), n ? text : "default");
        }
        assert_in_range(n, 2, 8);
        assert_in_range(machine_policy_table[k].safe, 1, n);
        product *= machine_policy_table[k].safe;
    }
    assert_int_equal(product, POLICY_SAFE_COUNT);
    MachinePolicies p = {0};
    assert_true(
        machine_policy_parse(&p, "branch=taken,", 12)); /* short name, and no more than n characters */
    assert_int_equal(p.branch_order, MACHINE_TAKEN_FIRST);
    assert_false(machine_policy_parse(&p, "branch-order=", 13));
    assert_false(machine_policy_parse(&p, "branch-order", 12));
    assert_false(machine_policy_parse(&p, "=taken", 6));
    assert_false(machine_policy_parse(&p, "branch-order=taken|", 19));
}

/* All combinations differ. */
static void combinations(void **state) {
    (void)state;
    MachinePolicies seen[POLICY_SAFE_COUNT] = {{0}};
    for (unsigned n = 0; n < POLICY_SAFE_COUNT; n++) {
        machine_policy_choose(&seen[n], n);
        for (unsigned k = 0; k < n; k++)
            assert_memory_not_equal(&seen[n], &seen[k], sizeof seen[n]);
    }
    assert_int_equal(seen[32].warpsync_turns, MACHINE_TURNS_OTHER);
    assert_int_equal(seen[64].bssy, MACHINE_BSSY_OTHER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endless_as_early),
        cmocka_unit_test(bsync_clear_01),
        cmocka_unit_test(sleep_test_02),
        cmocka_unit_test(yield_pc_05),
        cmocka_unit_test(nanosleep_06),
        cmocka_unit_test(warpsync_turns_21),
        cmocka_unit_test(warpsync_masks_21),
        cmocka_unit_test(warpsync_nobody_21),
        cmocka_unit_test(warpsync_agree_23),
        cmocka_unit_test(bar_exits_33),
        cmocka_unit_test(bssy),
        cmocka_unit_test(bssy_members),
        cmocka_unit_test(bssy_yielded),
        cmocka_unit_test(bssy_places),
        cmocka_unit_test(bssy_calls),
        cmocka_unit_test(table),
        cmocka_unit_test(combinations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
