/* Every dynamic check fires on a program, or a state, that is wrong in its way, and stays silent on the right
 * one. Also: an endless loop that changes memory back and forth is proved endless.
 * SPDX-License-Identifier: MIT */
#include "prog.h"
#include "sim/machine/internal.h"
#include <stdlib.h>
#include <string.h>

/* R0 = lane, P0 = lane < 16, R[2:3] = &out[lane] */
static Prog *fresh(void) {
    Prog *p = calloc(1, sizeof *p);
    assert_non_null(p);
    s2r(p, 0, "laneid");
    isetp(p, 0, ICmp_LT, R(0), IMM(16));
    element(p, 2, 0, 0);
    return p;
}

static void nothing(void *user, const MachineTrace *t) {
    (void)user;
    (void)t;
}
/* Run with tracing, so that the mask checks are on. `found` -1: no finding at all. */
static MachineResult check_under(Prog *p, SimTrapKind kind, const char *text, int found, MachineOptions o) {
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {buffer(mem, 64), buffer(mem, 8)};
    o.max_issues = 1000000;
    o.trace = nothing;
    Ran r = prog_run(p, 1, 64, mem, params, 2, &o);
    assert_int_equal(r.res.trap.kind, kind);
    if (text && kind != TRAP_NONE)
        assert_non_null(strstr(r.res.trap.text, text));
    bool seen = false;
    for (uint32_t i = 0; i < r.res.nfindings; i++) {
        assert_int_equal(r.res.findings[i].kind, found);
        seen = true;
        if (text && kind == TRAP_NONE)
            assert_non_null(strstr(machine_finding_name(r.res.findings[i].kind), text));
    }
    assert_int_equal(seen, found >= 0);
    simmem_free(mem);
    free(p);
    machine_result_free(&r.res);
    return r.res;
}
static MachineResult check(Prog *p, SimTrapKind kind, const char *text, int found, MachineBranchOrder order) {
    return check_under(p, kind, text, found, (MachineOptions){.branch_order = order});
}

/* B0 of a region that was left past its BSYNC is entered for another one. */
static Prog *bypass(bool with_break) {
    Prog *p = fresh();
    bssy(p, 0, 1);
    if (with_break)
        break_(p, 0);
    branch(p, PT_, 1);
    bsync(p, 0);
    label(p, 1);
    bssy(p, 0, 2);
    bsync(p, 0);
    label(p, 2);
    exit_(p, PT_);
    return p;
}
static void stale(void **state) {
    (void)state;
    check(bypass(false), TRAP_NONE, "E-STALE", MF_STALE, 0);
    check(bypass(true), TRAP_NONE, NULL, -1, 0);
    Prog *p = fresh(); /* lanes put into a B register that they never joined */
    mov(p, 4, IMM(0xff));
    emit(p, OT_BMOV, 0, EMPTY, S(B(3), R(4)));
    exit_(p, PT_);
    check(p, TRAP_NONE, "E-STALE", MF_STALE, 0);
    p = fresh(); /* saved, cleared and restored, then a loop that joins again and again: fine */
    bssy(p, 1, 3);
    emit(p, OT_BMOV, MSET(BMOV, clear, 1), D(R(4)), S(B(1), NONE));
    emit(p, OT_BMOV, 0, EMPTY, S(B(1), R(4)));
    bsync(p, 1);
    label(p, 3);
    mov(p, 5, IMM(0));
    label(p, 4);
    bssy(p, 2, 6);
    add(p, 5, R(5), IMM(1));
    isetp(p, 1, ICmp_LT, R(5), R(0));
    branch(p, P(1), 4);
    bsync(p, 2);
    label(p, 6);
    exit_(p, PT_);
    check(p, TRAP_NONE, NULL, -1, 0);
}

/* Lanes 0..15 go past the BSYNC, to what stands behind it, and come back to it, or do not. The others, who
 * wait at it, hand over to them while they are there: they have not passed it. */
static Prog *go_past(bool comes_back) {
    Prog *p = fresh();
    mov(p, 4, IMM(comes_back ? 2 : 1));
    mov(p, 5, IMM(1));
    emit(p, OT_SEL, 0, D(R(4)), S(R(4), R(5), P(0)));
    mov(p, 5, IMM(0));
    bssy(p, 0, 2);
    branch(p, P(0), 2);
    label(p, 1);
    bsync(p, 0);
    label(p, 2); /* R4 times */
    add(p, 5, R(5), IMM(1));
    isetp(p, 1, ICmp_LT, R(5), R(4));
    branch(p, P(1), 1);
    bssy(p, 0, 3);
    bsync(p, 0);
    label(p, 3);
    exit_(p, PT_);
    return p;
}
static void behind_bsync(void **state) {
    (void)state;
    const MachineOptions or = {.bssy = MACHINE_BSSY_OR}, assign = {.bssy = MACHINE_BSSY_ASSIGN};
    check_under(go_past(true), TRAP_NONE, NULL, -1, or);
    check_under(go_past(true), TRAP_NONE, NULL, -1, assign);
    check_under(go_past(false), TRAP_NONE, "E-STALE", MF_STALE, or);
    check_under(go_past(false), TRAP_NONE, "E-STALE", MF_STALE, assign);
}

/* The side that falls through has no instruction to go to. */
static void rpc(void **state) {
    (void)state;
    Prog *p = fresh();
    branch(p, PT_, 1);
    label(p, 0);
    exit_(p, PT_);
    label(p, 1);
    branch(p, P(0), 0);
    check(p, TRAP_PC, NULL, MF_RPC, MACHINE_TAKEN_FIRST);
}

/* A machine that forgets to park is wrong; ours is not, so the state is made by hand. */
static void lane_lost(void **state) {
    (void)state;
    BinFunc f = {.name = "k", .is_entry = true, .address = 0x1000, .ninsts = 4};
    Binary b = {.target = isa_targets[0], .code_base = 0x1000, .ncode = 4, .funcs = &f, .nfuncs = 1};
    Launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    MachineResult res = {0};
    Run run = {.bin = &b, .kernel = &f, .launch = &launch, .res = &res, .ncode = 4};
    Dec prog[4] = {{0}};
    prog[1].optype = OT_BRA;
    prog[1].cls = CLS_OTHER;
    Cta cta = {.nwarps = 1};
    Warp w = {.run = &run, .cta = &cta, .prog = prog, .pc = 2, .valid = 0xff, .active = 0x0f};
    for (unsigned i = 0; i < 32; i++)
        w.rpc[i] = 3;
    MaskShadow s = {0};
    machine_masks_before(&w, &prog[1], 0x3, &s);
    w.active = 0x0c; /* lanes 0 and 1 parked as they should be */
    w.rpc[0] = w.rpc[1] = 0;
    machine_masks_after(&w, &prog[1], &s);
    assert_int_equal(res.nfindings, 0);
    machine_masks_before(&w, &prog[1], 0x4, &s);
    w.active = 0x08; /* lane 2 is not */
    machine_masks_after(&w, &prog[1], &s);
    assert_int_equal(res.nfindings, 1);
    assert_int_equal(res.findings[0].kind, MF_LANE_LOST);
    assert_int_equal(res.findings[0].lanes, 0x4);
    assert_non_null(strstr(machine_finding_name(MF_LANE_LOST), "E-LANE-LOST"));
    machine_result_free(&res);
}

static void warpsync_masks(void **state) {
    (void)state;
    Prog *p = fresh();
    warpsync(p, IMM(0xffff));
    exit_(p, PT_);
    check(p, TRAP_COLLECTIVE, "E-WS-NOT-MEMBER", -1, 0);
    p = fresh(); /* lanes 0..15 mean themselves, the others everybody */
    mov(p, 4, IMM(0xffff));
    mov(p, 5, IMM(-1));
    emit(p, OT_SEL, 0, D(R(4)), S(R(4), R(5), P(0)));
    warpsync(p, R(4));
    warpsync(p, R(5)); /* the first 16 go on, the others wait for them in vain */
    exit_(p, PT_);
    check(p, TRAP_LIVELOCK, NULL, -1, 0);
    p = fresh();
    mov(p, 4, IMM(-1));
    mov(p, 5, IMM(0xffff));
    emit(p, OT_SEL, 0, D(R(4)), S(R(4), R(5), P(0))); /* lanes 16..31 are not in their own mask */
    warpsync(p, R(4));
    exit_(p, PT_);
    check(p, TRAP_COLLECTIVE, "E-WS-NOT-MEMBER", -1, 0);
    p = fresh(); /* everybody is there, and each half wants lanes that want something else */
    mov(p, 4, IMM(0x7fffffff));
    mov(p, 5, IMM(-1));
    emit(p, OT_SEL, 0, D(R(4)), S(R(4), R(5), P(0)));
    warpsync(p, R(4));
    exit_(p, PT_);
    check(p, TRAP_COLLECTIVE, "E-WS-MASK", -1, 0);
}

static void collectives(void **state) {
    (void)state;
    Prog *p = fresh(); /* half a warp reads the other half */
    branch(p, P(0), 0);
    emit(p, OT_SHFL, MSET(SHFL, mode, ShflMode_BFLY), D(R(4), PT_), S(R(0), IMM(16), IMM(0x1f)));
    label(p, 0);
    exit_(p, PT_);
    check(p, TRAP_NONE, "E-COLL", MF_COLLECTIVE, 0);
    p = fresh();
    branch(p, P(0), 0);
    emit(p, OT_R2UR, 0, D(UR(4), PT_), S(R(0)));
    label(p, 0);
    exit_(p, PT_);
    check(p, TRAP_NONE, "E-UR-DIV", MF_UNIFORM_DIVERGED, 0);
}

static void barriers(void **state) {
    (void)state;
    Prog *p = fresh(); /* half of each warp */
    branch(p, P(0), 0);
    bar(p, BARMode_SYNC, IMM(0), IMM(64));
    label(p, 0);
    exit_(p, PT_);
    check(p, TRAP_NONE, "E-BAR-PARTIAL", MF_PARTIAL_BARRIER, 0);
    p = fresh(); /* two counts */
    s2r(p, 4, "tid.x");
    isetp(p, 1, ICmp_LT, R(4), IMM(32));
    mov(p, 5, IMM(64));
    mov(p, 6, IMM(96));
    emit(p, OT_SEL, 0, D(R(5)), S(R(5), R(6), P(1)));
    bar(p, BARMode_SYNC, IMM(1), R(5));
    exit_(p, PT_);
    check(p, TRAP_BARRIER, "E-BAR-MIX", -1, 0);
    p = fresh(); /* a state put back with five warps arrived, two expected */
    mov(p, 5, IMM(5 | 2 << 6 | 1 << 13));
    emit(p, OT_R2B, MSET(R2B, mode, B2RMode_BAR), EMPTY, S(IMM(2), R(5)));
    bar(p, BARMode_SYNC, IMM(2), IMM(64));
    exit_(p, PT_);
    check(p, TRAP_BARRIER, "E-BAR-OVER", -1, 0);
}

/* E-HOPS: two BSYNCs that wait for each other's lanes. */
static void hops(void **state) {
    (void)state;
    Prog *p = fresh();
    bssy(p, 0, 4);
    bssy(p, 1, 4);
    branch(p, P(0), 0);
    bsync(p, 0);
    bsync(p, 1);
    exit_(p, PT_);
    label(p, 0);
    bsync(p, 1);
    bsync(p, 0);
    label(p, 4);
    exit_(p, PT_);
    check(p, TRAP_LIVELOCK, NULL, MF_BSYNC_HOPS, 0);
    assert_non_null(strstr(machine_finding_name(MF_BSYNC_HOPS), "E-HOPS"));
}

/* W-BSYNC-RELEASED: counted, no finding. */
static void released(void **state) {
    (void)state;
    Prog *p = fresh();
    bssy(p, 0, 1);
    branch(p, P(0), 0);
    yield(p);
    add(p, 4, R(4), IMM(1));
    label(p, 0);
    bsync(p, 0);
    label(p, 1);
    exit_(p, PT_);
    assert_int_equal(check(p, TRAP_NONE, NULL, -1, 0).stats.bsync_releases, 2); /* in both warps */
}

/* A loop that stores 1 and 0 in turn comes back to its state; one that counts does not, and ends at the
 * budget. */
static void toggling(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        Prog *prog = fresh();
        prog->shared_bytes = 64;
        mov(prog, 5, IMM(0));
        mov(prog, 6, IMM(0));
        label(prog, 0);
        if (kind == 2)
            add(prog, 5, R(5), IMM(1));
        else
            emit(prog, OT_LOP3, MSET(LOP3, lut, 0x3c), D(R(5), PT_), S(R(5), IMM(1), RZ_, NPT_));
        if (kind == 1)
            emit(prog, OT_STS, 0, EMPTY, S(R(6), op_reg(RF_UR, REG_URZ, 1), IMM(0), R(5)));
        else
            stg(prog, 2, 5);
        branch(prog, PT_, 0);
        MachineResult r = check(prog, kind == 2 ? TRAP_BUDGET : TRAP_LIVELOCK, NULL, -1, 0);
        assert_true(kind == 2 || r.stats.issues < 100000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stale),     cmocka_unit_test(behind_bsync),   cmocka_unit_test(rpc),
        cmocka_unit_test(lane_lost), cmocka_unit_test(warpsync_masks), cmocka_unit_test(collectives),
        cmocka_unit_test(barriers),  cmocka_unit_test(hops),           cmocka_unit_test(released),
        cmocka_unit_test(toggling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
