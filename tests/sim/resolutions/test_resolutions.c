/* One test for each resolution of docs/spec-resolutions.md that tests of the machine do not cover yet; names
 * end in the resolution's number. A recorder of executed instructions shows who ran when.
 * SPDX-License-Identifier: MIT */
#include "prog.h"
#include "emit/text/asm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOW 0x0000ffffu
#define HIGH 0xffff0000u
#define UR_NONE op_reg(RF_UR, REG_URZ, 2)
#define HERE (p->n)

/* R0 = lane, P0 = lane < 16, R[2:3] = &out[lane] */
static Prog *fresh(void) {
    Prog *p = calloc(1, sizeof *p);
    assert_non_null(p);
    s2r(p, 0, "laneid");
    isetp(p, 0, ICmp_LT, R(0), IMM(16));
    element(p, 2, 0, 0);
    return p;
}

enum { MAX_SEEN = 64 };
typedef struct {
    unsigned watched[4], n; /* instruction numbers; 0 = none */
    struct {
        unsigned at;
        uint32_t mask;
    } seen[MAX_SEEN];
} Log;
static void record(void *user, const MachineTrace *trace) {
    Log *log = user;
    for (unsigned i = 0; i < 4; i++)
        if (log->watched[i] && trace->pc_bytes - 0x1000 == 16u * log->watched[i] && log->n < MAX_SEEN) {
            log->seen[log->n].at = log->watched[i];
            log->seen[log->n++].mask = trace->executed;
        }
}

static uint32_t out[32];
static MachineResult run(Prog *p, MachineOptions o, Log *l, SimTrapKind kind) {
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {buffer(mem, 32), buffer(mem, 8)};
    if (l)
        o.trace = record, o.trace_user = l;
    o.max_issues = 1000000;
    Ran r = prog_run(p, 1, 32, mem, params, 2, &o);
    assert_int_equal(r.res.trap.kind, kind);
    for (uint32_t i = 0; i < 32; i++)
        out[i] = word(mem, params[0], i);
    simmem_free(mem);
    free(p);
    machine_result_free(&r.res);
    return r.res;
}
static void saw(const Log *log, unsigned n, unsigned at, uint32_t mask) {
    assert_true(n < log->n);
    assert_int_equal(log->seen[n].at, at);
    assert_int_equal(log->seen[n].mask, mask);
}
static void nanosleep_(Prog *p, Operand ns) { emit(p, OT_NANOSLEEP, 0, EMPTY, S(ns, PT_)); }
static void clock_(Prog *p, unsigned rd) {
    emit(p, OT_CS2R, MSET(CS2R, sz, Cs2rSz_B32), D(R(rd)),
         S(((Operand){.kind = OPK_SREG, .value = (uint32_t)isa_sreg_number(isa_targets[0], "clock.lo")})));
}

/* A region whose halves meet: lanes 0..15 jump over `k` extra instructions. */
static void region(Prog *p, unsigned b, int l, unsigned k) {
    bssy(p, b, l + 1);
    branch(p, P(0), l);
    while (k--)
        add(p, 4, R(4), IMM(1));
    label(p, l);
    bsync(p, b);
    label(p, l + 1);
}

/* 02: with nobody asleep, EXIT goes on with the others at once; a sleeper comes last. */
static void sleep_test_02(void **state) {
    (void)state;
    Prog *p = fresh();
    isetp(p, 1, ICmp_LT, R(0), IMM(8));
    branch(p, NP(0), 1); /* 16..31 parked at 1 */
    branch(p, P(1), 0);  /* 0..7 parked at 0 */
    exit_(p, PT_);       /* 8..15 */
    label(p, 0);
    Log l = {.watched = {HERE}};
    nanosleep_(p, IMM(100000)); /* 0..7 sleep: 16..31 run */
    l.watched[1] = HERE;
    stg(p, 2, 0);
    exit_(p, PT_);
    label(p, 1);
    l.watched[2] = HERE;
    mov(p, 4, IMM(3));
    stg(p, 2, 4);
    exit_(p, PT_);
    run(p, (MachineOptions){0}, &l, TRAP_NONE);
    saw(&l, 0, l.watched[0], 0xff);
    saw(&l, 1, l.watched[2], HIGH);
    saw(&l, 2, l.watched[1], 0xff);
}

/* 04: lanes that pass BSYNC lose their yield and sleep bits, so the next BSYNC waits for them. 09: even when
 * they slept right before it. */
static void released_lanes(bool asleep) {
    Prog *p = fresh();
    bssy(p, 0, 1);
    branch(p, P(0), 0);
    if (asleep)
        nanosleep_(p, IMM(500000));
    else
        yield(p);
    label(p, 0);
    bsync(p, 0);
    label(p, 1);
    region(p, 1, 2, 3);
    Log l = {.watched = {HERE}};
    stg(p, 2, 0);
    exit_(p, PT_);
    run(p, (MachineOptions){0}, &l, TRAP_NONE);
    assert_int_equal(l.n, 1);
    saw(&l, 0, l.watched[0], ~0u);
}
static void release_clears_04(void **state) {
    (void)state;
    released_lanes(false);
}
static void sleeper_at_bsync_09(void **state) {
    (void)state;
    released_lanes(true);
}

/* 05: two groups that yield to each other go on behind their YIELDs. 06: the same with NANOSLEEP. 17: YIELD
 * is no NOP. */
static void hand_over_twice(bool sleep) {
    Prog *p = fresh();
    Log l = {0};
    branch(p, P(0), 0);
    l.watched[0] = HERE;
    sleep ? nanosleep_(p, IMM(10)) : yield(p);
    l.watched[1] = HERE;
    stg(p, 2, 0);
    exit_(p, PT_);
    label(p, 0);
    l.watched[2] = HERE;
    sleep ? nanosleep_(p, IMM(10)) : yield(p);
    l.watched[3] = HERE;
    stg(p, 2, 0);
    exit_(p, PT_);
    run(p, (MachineOptions){0}, &l, TRAP_NONE);
    assert_int_equal(l.n, 4);
    saw(&l, 0, l.watched[0], HIGH);
    saw(&l, 1, l.watched[2], LOW);
    saw(&l, 2, l.watched[1], HIGH);
    saw(&l, 3, l.watched[3], LOW);
}
static void yield_next_05(void **state) {
    (void)state;
    hand_over_twice(false);
}
static void nanosleep_next_06(void **state) {
    (void)state;
    hand_over_twice(true);
    Prog *p = fresh(); /* BSYNC does not wait for who slept: the yield bit stays when the timer has ended */
    bssy(p, 0, 1);
    branch(p, P(0), 0);
    nanosleep_(p, IMM(1000000));
    add(p, 4, R(4), IMM(1));
    label(p, 0);
    bsync(p, 0);
    label(p, 1);
    Log l = {.watched = {HERE}};
    stg(p, 2, 0);
    exit_(p, PT_);
    assert_int_equal(run(p, (MachineOptions){0}, &l, TRAP_NONE).stats.bsync_releases, 1);
    saw(&l, 0, l.watched[0], LOW);
    saw(&l, 1, l.watched[0], HIGH);
}

/* 07: a converged warp sleeps once and goes on. 08: for the shortest of the lanes' times, 1 us = 1000
 * instructions. */
static void shortest_sleep_08(void **state) {
    (void)state;
    Prog *p = fresh();
    isetp(p, 1, ICmp_EQ, R(0), IMM(3));
    mov(p, 5, IMM(900000));
    mov(p, 6, IMM(2000));
    emit(p, OT_SEL, 0, D(R(5)), S(R(6), R(5), P(1)));
    clock_(p, 7);
    Log l = {.watched = {HERE}};
    nanosleep_(p, R(5));
    clock_(p, 8);
    emit(p, OT_IADD3, 0, D(R(8), PT_, PT_), S(R(8), op_with(R(7), OPM_NEG), RZ_, NPT_, NPT_));
    stg(p, 2, 8);
    exit_(p, PT_);
    run(p, (MachineOptions){0}, &l, TRAP_NONE);
    assert_int_equal(l.n, 1);
    assert_in_range(out[0], 2000, 2100);

    p = fresh(); /* a later, longer sleep of other lanes does not put the end off */
    clock_(p, 7);
    branch(p, P(0), 0);
    nanosleep_(p, IMM(2000));
    branch(p, PT_, 1);
    label(p, 0);
    nanosleep_(p, IMM(900000));
    label(p, 1);
    clock_(p, 8);
    emit(p, OT_IADD3, 0, D(R(8), PT_, PT_), S(R(8), op_with(R(7), OPM_NEG), RZ_, NPT_, NPT_));
    stg(p, 2, 8);
    exit_(p, PT_);
    run(p, (MachineOptions){0}, NULL, TRAP_NONE);
    for (unsigned i = 0; i < 32; i += 31)
        assert_in_range(out[i], 1, 2200);
}

/* 10: whoever is parked at the PC that is chosen comes along, candidate or not; the policy takes candidates
 * only. */
static void join_scope_10(void **state) {
    (void)state;
    for (int candidates = 0; candidates < 2; candidates++) {
        Prog *p = fresh();
        isetp(p, 1, ICmp_LT, R(0), IMM(8));
        branch(p, P(0), 0);
        yield(p); /* 16..31 */
        exit_(p, PT_);
        label(p, 0);
        branch(p, NP(1), 1); /* 8..15 parked at 1 */
        yield(p);            /* 0..7 parked at 1 too, but they have yielded */
        label(p, 1);
        Log l = {.watched = {HERE}};
        stg(p, 2, 0);
        exit_(p, PT_);
        run(p, (MachineOptions){.join_scope = (MachineJoinScope)candidates}, &l, TRAP_NONE);
        assert_int_equal(l.n, candidates ? 2 : 1);
        saw(&l, 0, l.watched[0], candidates ? 0xff00 : LOW);
    }
}

/* 11: the side that falls through runs first; the policy takes the other. */
static void branch_order_11(void **state) {
    (void)state;
    for (int taken = 0; taken < 2; taken++) {
        Prog *p = fresh();
        Log l = {0};
        branch(p, P(0), 0);
        l.watched[0] = HERE;
        stg(p, 2, 0);
        exit_(p, PT_);
        label(p, 0);
        l.watched[1] = HERE;
        stg(p, 2, 0);
        exit_(p, PT_);
        run(p, (MachineOptions){.branch_order = (MachineBranchOrder)taken}, &l, TRAP_NONE);
        saw(&l, 0, l.watched[taken], taken ? LOW : HIGH);
        saw(&l, 1, l.watched[!taken], taken ? HIGH : LOW);
    }
}

/* 14, 27: the lowest lane chooses; the policies take the highest, the next, or a random one. */
static void lane_choice_14_27(void **state) {
    (void)state;
    uint32_t first[4] = {0};
    for (int choice = 0; choice < 4; choice++) {
        Prog *p = fresh();
        isetp(p, 1, ICmp_LT, R(0), IMM(8));
        isetp(p, 2, ICmp_LT, R(0), IMM(24));
        branch(p, P(1), 0); /* 0..7 */
        branch(p, P(0), 1); /* 8..15 */
        branch(p, P(2), 2); /* 16..23 */
        exit_(p, PT_);
        Log l = {0};
        for (int k = 0; k < 3; k++) {
            label(p, k);
            l.watched[k] = HERE;
            stg(p, 2, 0);
            exit_(p, PT_);
        }
        run(p, (MachineOptions){.lane_choice = (MachineLaneChoice)choice, .seed = 4}, &l, TRAP_NONE);
        assert_int_equal(l.n, 3);
        first[choice] = l.seen[0].mask;
        assert_int_equal(l.seen[0].mask | l.seen[1].mask | l.seen[2].mask, 0xffffff);
        if (choice == MACHINE_LANE_ROTATE) {
            saw(&l, 1, l.watched[1], 0xff00);
            saw(&l, 2, l.watched[2], 0xff0000);
        }
    }
    assert_int_equal(first[MACHINE_LANE_LOWEST], 0xff);
    assert_int_equal(first[MACHINE_LANE_HIGHEST], 0xff0000);
    assert_int_equal(first[MACHINE_LANE_ROTATE], 0xff);
}

/* 15, 16: BRX moves only lanes that execute it: exited and parked lanes stay. 18: offsets are signed. */
static void brx_masks_15_16_18(void **state) {
    (void)state;
    for (int partial = 0; partial < 2; partial++) {
        Prog *p = fresh();
        isetp(p, 1, ICmp_LT, R(0), IMM(8));
        isetp(p, 2, ICmp_LT, R(0), IMM(24));
        isetp(p, 3, ICmp_LT, R(0), IMM(12));
        mov(p, 4, IMM(1));
        branch(p, PT_, 1);
        label(p, 0); /* BRX comes here, backwards */
        stg(p, 2, 4);
        exit_(p, PT_);
        label(p, 1);
        exit_(p, NP(2));     /* 24..31 are gone */
        branch(p, NP(0), 2); /* 16..23 parked */
        branch(p, P(1), 2);  /* 0..7 parked */
        mov(p, 4, IMM(2));
        mov(p, 5, IMM(-16 * (int)(HERE + 1 - (unsigned)p->at[0])));
        MachInst *in = emit(p, OT_BRX, 0, EMPTY, S(PT_, R(5), ((Operand){.kind = OPK_IMM64})));
        if (partial)
            in->guard = P(3); /* 8..11 jump, 12..15 go on */
        else
            assert_int_equal(p->at[0] < (int)HERE, 1);
        mov(p, 4, IMM(3));
        stg(p, 2, 4);
        exit_(p, PT_);
        label(p, 2);
        mov(p, 4, IMM(4));
        stg(p, 2, 4);
        exit_(p, PT_);
        in->src[1] = R(5);
        /* the distance counts from behind the BRX */
        for (unsigned i = 0; i < p->n; i++)
            if (p->in[i].optype == OT_BRX)
                p->in[i - 1].src[0] = IMM(-16 * ((int)i + 1 - p->at[0]));
        run(p, (MachineOptions){0}, NULL, TRAP_NONE);
        for (unsigned i = 0; i < 32; i++)
            assert_int_equal(out[i], i >= 24 ? 0 : i >= 16 || i < 8 ? 4 : partial && i >= 12 ? 3 : 2);
    }
}

/* 21, 22: a lane that is elsewhere may hold anything in the mask register. */
static void warpsync_register_21(void **state) {
    (void)state;
    Prog *p = fresh();
    mov(p, 4, IMM(0));
    branch(p, NP(0), 1);
    mov(p, 4, IMM(LOW));
    Log l = {.watched = {HERE}};
    warpsync(p, R(4));
    l.watched[1] = HERE;
    stg(p, 2, 4);
    exit_(p, PT_);
    label(p, 1);
    l.watched[2] = HERE;
    stg(p, 2, 4);
    exit_(p, PT_);
    run(p, (MachineOptions){.branch_order = MACHINE_FALLTHROUGH_FIRST}, &l, TRAP_NONE);
    saw(&l, 0, l.watched[0], LOW);
    saw(&l, 1, l.watched[1], LOW);
    saw(&l, 2, l.watched[2], HIGH);
}

/* 24: of a YIELD with a mixed guard the others run on first, the true lanes wait there. */
static void mixed_guard_24(void **state) {
    (void)state;
    Prog *p = fresh();
    Log l = {.watched = {HERE}};
    emit(p, OT_YIELD, 0, EMPTY, S(PT_))->guard = P(0);
    l.watched[1] = HERE;
    stg(p, 2, 0);
    exit_(p, PT_);
    run(p, (MachineOptions){0}, &l, TRAP_NONE);
    assert_int_equal(l.n, 4);
    saw(&l, 0, l.watched[0], LOW);
    saw(&l, 1, l.watched[1], HIGH);
    saw(&l, 2, l.watched[0], LOW);
    saw(&l, 3, l.watched[1], LOW);
}

/* 25: a lane that never joined passes BSYNC with the others that are there. 26: the syncpoint means nothing.
 */
static void equal_pc_25_26(void **state) {
    (void)state;
    Prog *p = fresh();
    bssy(p, 0, 5); /* points to the EXIT */
    p->in[p->n - 1].guard = P(0);
    branch(p, P(0), 0);
    add(p, 4, R(4), IMM(1));
    label(p, 0);
    bsync(p, 0);
    Log l = {.watched = {HERE}};
    stg(p, 2, 0);
    label(p, 5);
    exit_(p, PT_);
    run(p, (MachineOptions){.branch_order = MACHINE_TAKEN_FIRST}, &l, TRAP_NONE);
    saw(&l, 0, l.watched[0], LOW); /* nobody of B0 is missing */
    p = fresh();
    bssy(p, 0, 1);
    p->in[p->n - 1].guard = NP(0);
    branch(p, P(0), 0);
    add(p, 4, R(4), IMM(1));
    label(p, 0);
    bsync(p, 0);
    label(p, 1);
    l = (Log){.watched = {HERE}};
    stg(p, 2, 0);
    exit_(p, PT_);
    run(p, (MachineOptions){.branch_order = MACHINE_TAKEN_FIRST}, &l, TRAP_NONE);
    assert_int_equal(l.n, 1);
    saw(&l, 0, l.watched[0], ~0u); /* 0..15 waited for the members, then all went on */
}

/* 28: constants are operands too. 13: BSYNC and BMOV have no pp. */
static void constant_operand_28(void **state) {
    (void)state;
    Prog *p = fresh();
    nanosleep_(p, C0(PARAM_BASE + 16 - 4)); /* upper half of a pointer: a large number, cut to 1 ms */
    stg(p, 2, 0);
    exit_(p, PT_);
    run(p, (MachineOptions){0}, NULL, TRAP_NONE);
    assert_int_equal(out[7], 7);
}

/* 30: SwitchMask gives each of three yielding groups its turn. */
static void switch_mask_30(void **state) {
    (void)state;
    Prog *p = fresh();
    Log l = {0};
    isetp(p, 1, ICmp_LT, R(0), IMM(8));
    mov(p, 4, IMM(0));
    branch(p, P(1), 0);
    branch(p, P(0), 1);
    for (int k = 2; k >= 0; k--) { /* three loops that yield three times, 16..31 first */
        if (k < 2)
            label(p, k == 1 ? 1 : 0);
        label(p, 10 + k);
        l.watched[k] = HERE;
        yield(p);
        add(p, 4, R(4), IMM(1));
        isetp(p, 3, ICmp_LT, R(4), IMM(3));
        branch(p, P(3), 10 + k);
        exit_(p, PT_);
    }
    run(p, (MachineOptions){0}, &l, TRAP_NONE);
    /* SwitchMask after each turn, by the rule: LM M HL H LM M HL (L exits, M next) H, and H is last */
    const uint32_t L = 0xff, M = 0xff00, H = HIGH;
    const uint32_t turns[9] = {H, L, M, L, H, L, M, M, H};
    assert_int_equal(l.n, 9);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(l.seen[i].mask, turns[i]);
}

/* 42: lanes that exit inside a region are not waited for. */
static void exit_in_region_42(void **state) {
    (void)state;
    Prog *p = fresh();
    isetp(p, 1, ICmp_LT, R(0), IMM(24));
    bssy(p, 0, 1);
    branch(p, P(0), 0);
    exit_(p, NP(1));
    label(p, 0);
    bsync(p, 0);
    label(p, 1);
    Log l = {.watched = {HERE}};
    stg(p, 2, 0);
    exit_(p, PT_);
    run(p, (MachineOptions){0}, &l, TRAP_NONE);
    assert_int_equal(l.n, 1);
    saw(&l, 0, l.watched[0], 0xffffff);
}

/* 44: all B registers are 0 at the start of every block, whatever the one before left. */
static void b_registers_44(void **state) {
    (void)state;
    Prog *p = fresh();
    mov(p, 5, IMM(0));
    for (unsigned b = 0; b < 16; b++) {
        emit(p, OT_BMOV, 0, D(R(4)), S(B(b), NONE));
        emit(p, OT_LOP3, MSET(LOP3, lut, 0xfc), D(R(5), PT_), S(R(5), R(4), RZ_, NPT_));
        bssy(p, b, 0);
    }
    label(p, 0);
    emit(p, OT_ATOMG, MSET(ATOMG, e, 1) | MSET(ATOMG, op, AtomOp_OR), D(R(6), PT_),
         S(op_with(R2(2), OPM_WIDE64), UR_NONE, IMM(0), R(5)));
    exit_(p, PT_);
    SimMemory *mem = simmem_create();
    uint64_t params[1] = {buffer(mem, 32)};
    Ran r = prog_run(p, 3, 32, mem, params, 1, NULL);
    assert_true(r.ok);
    assert_int_equal(word(mem, params[0], 5), 0);
    machine_result_free(&r.res);
    simmem_free(mem);
    free(p);
}

/* 36, 37, 39: what the assembler takes and refuses. */
static bool assembles(const char *line) {
    char text[256];
    snprintf(text, sizeof text, ".target bru1\n.entry k\n%s;\nEXIT;\n", line);
    Source s = {"t.sass", text, strlen(text)};
    Diags d = {0};
    void *image = NULL;
    size_t bytes;
    d.source = &s;
    bool good = asm_assemble(&s, &image, &bytes, &d);
    if (good)
        free(image);
    return good;
}
static void assembly_36_37_39(void **state) {
    (void)state;
    assert_true(assembles("B2R.RESULT R4"));
    assert_true(assembles("BAR.RESULT R4"));
    assert_true(assembles("BAR.SYNC 0x0"));
    assert_true(assembles("B2R R0, 0x0"));
    assert_true(assembles("BAR.SYNC R4")); /* BAR_RRI with the default count */
    assert_true(assembles("BAR.SYNC R4, 0x0"));
    assert_false(assembles("BAR.RED.AND R5, R5, P0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sleep_test_02),        cmocka_unit_test(release_clears_04),
        cmocka_unit_test(yield_next_05),        cmocka_unit_test(nanosleep_next_06),
        cmocka_unit_test(shortest_sleep_08),    cmocka_unit_test(sleeper_at_bsync_09),
        cmocka_unit_test(join_scope_10),        cmocka_unit_test(branch_order_11),
        cmocka_unit_test(lane_choice_14_27),    cmocka_unit_test(brx_masks_15_16_18),
        cmocka_unit_test(warpsync_register_21), cmocka_unit_test(mixed_guard_24),
        cmocka_unit_test(equal_pc_25_26),       cmocka_unit_test(constant_operand_28),
        cmocka_unit_test(switch_mask_30),       cmocka_unit_test(exit_in_region_42),
        cmocka_unit_test(b_registers_44),       cmocka_unit_test(assembly_36_37_39),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
