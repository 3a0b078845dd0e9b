/* Mask semantics: the hand tests of the reconvergence rules, and the specification's branch condition as
 * oracle.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "prog.h"
#include <stdlib.h>
#include <string.h>

static uint64_t rng_state = 1;
static uint32_t rnd(void) { return (uint32_t)(rng_next(&rng_state) >> 16); }

/* R0 = lane, P0 = lane < 16, R[2:3] = &out[lane] */
static void prologue(Prog *p) {
    s2r(p, 0, "laneid");
    isetp(p, 0, ICmp_LT, R(0), IMM(16));
    element(p, 2, 0, 0);
}
static Prog *fresh(void) {
    Prog *p = calloc(1, sizeof *p);
    prologue(p);
    return p;
}

/* Run one warp with one output buffer; checks out[lane] == expect(lane) when the launch must finish. */
static Ran run1(Prog *p, const MachineOptions *opt, SimTrapKind kind, uint32_t (*expect)(uint32_t)) {
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {buffer(mem, 32), buffer(mem, 8)};
    MachineOptions o = opt ? *opt : (MachineOptions){0};
    if (!o.max_issues)
        o.max_issues = 5000000;
    Ran r = prog_run(p, 1, 32, mem, params, 2, &o);
    assert_int_equal(r.res.trap.kind, kind);
    for (uint32_t i = 0; expect && i < 32; i++)
        assert_int_equal(word(mem, params[0], i), expect(i));
    machine_result_free(&r.res);
    simmem_free(mem);
    free(p);
    return r;
}

typedef struct {
    uint64_t pc;
    uint32_t mask;
    unsigned times;
} Seen;
static void watch(void *user, const MachineTrace *trace) {
    Seen *seen = user;
    if (trace->func_pc_bytes == seen->pc) {
        seen->mask |= trace->executed;
        seen->times++;
    }
}

/* 1: two consecutive regions leave no stale bits and converge. */
static uint32_t expect1(uint32_t lane) { return lane < 16 ? 10 : 1; }
static void two_regions(void **state) {
    (void)state;
    for (int taken = 0; taken < 2; taken++) {
        Prog *prog = fresh();
        mov(prog, 4, IMM(0));
        bssy(prog, 0, 1);
        branch(prog, P(0), 0);
        add(prog, 4, R(4), IMM(1));
        label(prog, 0);
        bsync(prog, 0);
        label(prog, 1);
        bssy(prog, 0, 3);
        branch(prog, NP(0), 2);
        add(prog, 4, R(4), IMM(10));
        label(prog, 2);
        bsync(prog, 0);
        label(prog, 3);
        Seen s = {.pc = 16u * prog->n};
        stg(prog, 2, 4);
        exit_(prog, PT_);
        MachineOptions o = {.trace = watch, .trace_user = &s, .branch_order = (MachineBranchOrder)taken};
        run1(prog, &o, TRAP_NONE, expect1);
        assert_int_equal(s.times, 1); /* one group */
        assert_int_equal(s.mask, ~0u);
    }
}

/* 2: CAS spin lock inside an if; the critical section counts. R[6:7] = &lock, counter behind it. */
static Prog *spin_lock(bool with_yield, bool with_break) {
    Prog *p = fresh();
    mov(p, 6, PARAM(1));
    mov(p, 7, op_cmem(0, PARAM_BASE + 12));
    mov(p, 9, IMM(1));
    mov(p, 10, IMM(0));
    bssy(p, 0, 3);
    branch(p, NP(0), 2); /* lanes 0..15 take the lock */
    if (with_break)
        break_(p, 0);
    label(p, 0);
    emit(p, OT_ATOMG_CAS, MSET(ATOMG_CAS, e, 1), D(R(8), PT_),
         S(op_with(R2(6), OPM_WIDE64), NONE, IMM(0), RZ_, R(9)));
    isetp(p, 1, ICmp_EQ, R(8), IMM(0));
    branch(p, P(1), 1);
    if (with_yield)
        yield(p);
    branch(p, PT_, 0);
    label(p, 1); /* critical: counter++ */
    emit(p, OT_LDG, MSET(LDG, e, 1), D(R(10), PT_),
         S(op_with(R2(6), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(4), PT_));
    add(p, 11, R(10), IMM(1));
    emit(p, OT_STG, MSET(STG, e, 1), EMPTY,
         S(op_with(R2(6), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(4), R(11)));
    emit(p, OT_ATOMG, MSET(ATOMG, e, 1) | MSET(ATOMG, op, AtomOp_EXCH), D(R(8), PT_),
         S(op_with(R2(6), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(0), RZ_));
    if (with_break) {
        exit_(p, PT_);
    }
    label(p, 2);
    bsync(p, 0);
    label(p, 3);
    exit_(p, PT_);
    return p;
}
static void spin(bool with_yield, bool with_break, MachineBsyncNb nb, SimTrapKind kind) {
    Prog *p = spin_lock(with_yield, with_break);
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {buffer(mem, 32), buffer(mem, 8)};
    MachineOptions o = {.bsync_nb = nb, .max_issues = 5000000};
    Ran r = prog_run(p, 1, 32, mem, params, 2, &o);
    assert_int_equal(r.res.trap.kind, kind);
    if (kind == TRAP_NONE)
        assert_int_equal(word(mem, params[1], 1), 16);
    machine_result_free(&r.res);
    simmem_free(mem);
    free(p);
}
static void spin_locks(void **state) {
    (void)state;
    spin(true, false, MACHINE_NB_RELEASE, TRAP_NONE);
    spin(true, false, MACHINE_NB_BLOCKED, TRAP_NONE);
    spin(true, true, MACHINE_NB_RELEASE, TRAP_NONE); /* 2b: under all policies */
    spin(true, true, MACHINE_NB_BLOCKED, TRAP_NONE);
    spin(true, true, MACHINE_NB_LITERAL, TRAP_NONE);
    spin(false, false, MACHINE_NB_RELEASE, TRAP_LIVELOCK); /* 2c */
    spin(false, false, MACHINE_NB_BLOCKED, TRAP_LIVELOCK);
    spin(false, false, MACHINE_NB_LITERAL, TRAP_LIVELOCK);
}

/* 3: WARPSYNC of all lanes at two places. */
static void two_warpsyncs(void **state) {
    (void)state;
    for (int nb = 0; nb < 3; nb++) {
        Prog *p = fresh();
        branch(p, P(0), 0);
        warpsync(p, IMM(-1));
        exit_(p, PT_);
        label(p, 0);
        warpsync(p, IMM(-1));
        exit_(p, PT_);
        MachineOptions o = {.bsync_nb = (MachineBsyncNb)nb};
        run1(p, &o, TRAP_LIVELOCK, NULL);
    }
}

/* 4: the partner of a WARPSYNC is parked at an enclosing BSYNC; both reach it through one stub. */
static uint32_t expect4(uint32_t lane) { return lane < 16 ? 2 : 1; }
static Prog *parked_partner(bool with_yield, bool with_break) {
    Prog *p = fresh();
    mov(p, 4, IMM(1));
    bssy(p, 0, 1);
    branch(p, P(0), 0);
    if (with_yield)
        yield(p);
    if (with_break)
        break_(p, 0);
    mov(p, 5, IMM(0)); /* return point */
    branch(p, PT_, 2);
    label(p, 3);
    branch(p, PT_, 4);
    label(p, 0);
    bsync(p, 0);
    label(p, 1);
    mov(p, 4, IMM(2));
    mov(p, 5, IMM(1));
    label(p, 2); /* the stub */
    warpsync(p, IMM(-1));
    isetp(p, 1, ICmp_EQ, R(5), IMM(0));
    branch(p, P(1), 3);
    label(p, 4);
    stg(p, 2, 4);
    exit_(p, PT_);
    return p;
}
static void warpsync_inside_region(void **state) {
    (void)state;
    run1(parked_partner(false, false), NULL, TRAP_LIVELOCK, NULL);
    run1(parked_partner(true, false), NULL, TRAP_NONE, expect4);
    run1(parked_partner(false, true), NULL, TRAP_NONE, expect4);
}

/* 5: BMOV.CLEAR as a save under divergence. Lanes 1 and 2 are in the callee, lane 0 waits at the caller's
 * BSYNC. */
static void bmov_save(void **state) {
    (void)state;
    for (int nb = 0; nb < 3; nb++) {
        Prog *p = fresh();
        isetp(p, 3, ICmp_GT, R(0), IMM(2));
        exit_(p, P(3));
        isetp(p, 1, ICmp_EQ, R(0), IMM(0));
        isetp(p, 2, ICmp_EQ, R(0), IMM(1));
        bssy(p, 5, 3);
        bssy(p, 6, 2);
        branch(p, P(1), 1);
        emit(p, OT_BMOV, MSET(BMOV, clear, 1), D(R(8)), S(B(6), NONE));
        branch(p, P(2), 0);
        exit_(p, PT_); /* lane 2 */
        label(p, 0);
        emit(p, OT_BMOV, 0, EMPTY, S(B(6), R(8)));
        label(p, 1);
        bsync(p, 6);
        label(p, 2);
        bsync(p, 5);
        label(p, 3);
        exit_(p, PT_);
        MachineOptions o = {.bsync_nb = (MachineBsyncNb)nb};
        run1(p, &o, TRAP_LIVELOCK, NULL);
    }
}

/* 7: two regions nested in opposite orders, one early exit; 7b: in one order. */
static Prog *opposite_nesting(bool consistent) {
    Prog *p = fresh();
    unsigned outer = consistent ? 1 : 0, inner = consistent ? 0 : 1;
    isetp(p, 3, ICmp_GT, R(0), IMM(3));
    exit_(p, P(3));
    isetp(p, 1, ICmp_LT, R(0), IMM(2)); /* lanes 0, 1: else side */
    isetp(p, 2, ICmp_EQ, R(0), IMM(3));
    mov(p, 4, IMM(7));
    branch(p, P(1), 2);
    bssy(p, 1, 5);
    bssy(p, 0, 6);
    branch(p, P(2), 0);
    exit_(p, PT_); /* lane 2 */
    label(p, 0);
    bsync(p, 0);
    label(p, 6);
    bsync(p, 1);
    label(p, 5);
    branch(p, PT_, 4);
    label(p, 2);
    bssy(p, outer, 7);
    bssy(p, inner, 8);
    bsync(p, inner);
    label(p, 8);
    bsync(p, outer);
    label(p, 7);
    label(p, 4);
    stg(p, 2, 4);
    exit_(p, PT_);
    return p;
}
static uint32_t expect7(uint32_t lane) { return lane < 4 && lane != 2 ? 7 : 0; }
static void nesting_orders(void **state) {
    (void)state;
    run1(opposite_nesting(false), NULL, TRAP_LIVELOCK, NULL);
    run1(opposite_nesting(true), NULL, TRAP_NONE, expect7);
}

/* 8a: a uniform bypass of BSYNC leaves stale bits; with BREAK it does not. */
static uint32_t expect_5(uint32_t lane) {
    (void)lane;
    return 5;
}
static Prog *bypass(bool with_break) {
    Prog *p = fresh();
    mov(p, 4, IMM(5));
    bssy(p, 0, 1);
    if (with_break)
        break_(p, 0);
    branch(p, PT_, 1);
    bsync(p, 0);
    label(p, 1);
    bssy(p, 1, 4);
    branch(p, P(0), 3);
    bssy(p, 0, 2);
    bsync(p, 0);
    label(p, 2);
    label(p, 3);
    bsync(p, 1);
    label(p, 4);
    stg(p, 2, 4);
    exit_(p, PT_);
    return p;
}
static void stale_bits(void **state) {
    (void)state;
    run1(bypass(false), NULL, TRAP_LIVELOCK, NULL);
    run1(bypass(true), NULL, TRAP_NONE, expect_5);
}

/* ---- the specification's branch condition (getGoldenBranchCondition), written again from its text ---- */
static uint32_t golden(uint32_t active, uint32_t valid, uint32_t pg, uint32_t cond, bool has_ur,
                       uint32_t ur) {
    uint32_t pgv = pg & active;
    if (!has_ur) {
        bool is_div = (pgv ^ valid) != 0;
        switch (cond) {
        case BRACond_NoCond: return pgv;
        case BRACond_U: return pgv == active ? active : 0;
        case BRACond_DIV: return is_div ? pgv : 0;
        default: return is_div ? 0 : pgv;
        }
    }
    bool is_div;
    if ((valid ^ active) & ur)
        is_div = true;
    else if (pgv != active && pgv != 0)
        is_div = (active & ~pg & ur) != 0;
    else
        is_div = false;
    bool jump = pgv != 0 && (cond == BRACond_DIV ? is_div : !is_div);
    return jump ? active : 0;
}

/* P[n] = bit `lane` of parameter word `offset` */
static void bit_predicate(Prog *p, unsigned n, uint32_t offset) {
    mov(p, 8, C0(PARAM_BASE + offset));
    emit(p, OT_SHF, MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_R) | MSET(SHF, hi, 1), D(R(9)),
         S(RZ_, R(0), R(8)));
    emit(p, OT_LOP3, MSET(LOP3, lut, 0xc0), D(R(9), PT_), S(R(9), IMM(1), RZ_, NPT_));
    isetp(p, n, ICmp_NE, R(9), IMM(0));
}
static void branch_conditions(void **state) {
    (void)state;
    SimMemory *mem = simmem_create();
    uint64_t out = buffer(mem, 32);
    for (unsigned n = 0; n < 400; n++) {
        uint32_t sparse = n & 1 ? ~0u : rnd() | rnd();
        uint32_t valid = (n & 2 ? ~0u : sparse | 1), active = valid & (n & 4 ? ~0u : rnd() | rnd());
        uint32_t pg = n & 8    ? ~0u
                      : n & 16 ? 0
                      : n & 32 ? rnd() | rnd()
                               : rnd(),
                 ur = n & 64 ? rnd() & rnd() & rnd() : rnd();
        bool has_ur = n % 3 == 0;
        uint32_t cond = has_ur ? BRACond_DIV + (rnd() & 1) : rnd() & 3;
        if (!active)
            active = valid;
        Prog *p = fresh();
        bit_predicate(p, 1, 8);
        exit_(p, NP(1)); /* invalid lanes */
        bit_predicate(p, 2, 12);
        bit_predicate(p, 3, 16);
        emit(p, OT_ULDC, 0, D(UR(4)), S(NONE, C0(PARAM_BASE + 20)))->guard = op_reg(RF_UP, REG_UPT, 1);
        mov(p, 4, IMM(3));
        branch(p, NP(2), 1); /* inactive lanes: parked */
        mov(p, 4, IMM(1));
        MachInst *in = branch(p, P(3), 1);
        in->mods = MSET(BRA, cond, cond);
        if (has_ur)
            in->src[BRA_ura] = UR(4);
        mov(p, 4, IMM(2));
        label(p, 1);
        stg(p, 2, 4);
        exit_(p, PT_);
        for (uint32_t i = 0; i < 32; i++)
            simmem_write(mem, out + 4 * i, &(uint32_t){0}, 4);
        uint64_t params[3] = {out, valid | (uint64_t)active << 32, pg | (uint64_t)ur << 32};
        Ran r = prog_run(p, 1, 32, mem, params, 3, NULL);
        assert_true(r.ok);
        uint32_t jump = golden(active, valid, pg, cond, has_ur, ur);
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t e = !(valid >> i & 1) ? 0 : !(active >> i & 1) ? 3 : jump >> i & 1 ? 1 : 2;
            assert_int_equal(word(mem, out, i), e);
        }
        machine_result_free(&r.res);
        free(p);
    }
    simmem_free(mem);
}

/* ---- WARPSYNC by register: groups pass one by one; a mask without the lane traps ---- */
static uint32_t expect_group(uint32_t lane) { return 1u << (lane / 8); }
static void warpsync_groups(void **state) {
    (void)state;
    Prog *p = fresh();
    /* R4 = 0xff << (lane & ~7), the lane's group of 8 */
    emit(p, OT_LOP3, MSET(LOP3, lut, 0xc0), D(R(5), PT_), S(R(0), IMM(0x18), RZ_, NPT_));
    mov(p, 4, IMM(0xff));
    emit(p, OT_SHF, MSET(SHF, type, ShfType_U32), D(R(4)), S(R(4), R(5), RZ_));
    warpsync(p, R(4));
    /* one group at a time: ballot of the active lanes is the group */
    emit(p, OT_VOTE, MSET(VOTE, op, VoteOp_ANY), D(R(6), PT_), S(PT_));
    isetp(p, 1, ICmp_EQ, R(6), R(4));
    emit(p, OT_SHF, MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_R) | MSET(SHF, hi, 1), D(R(5)),
         S(RZ_, IMM(3), R(0)));
    mov(p, 7, IMM(1));
    emit(p, OT_SHF, MSET(SHF, type, ShfType_U32), D(R(7)), S(R(7), R(5), RZ_));
    emit(p, OT_SEL, 0, D(R(7)), S(R(7), RZ_, P(1)));
    stg(p, 2, 7);
    exit_(p, PT_);
    run1(p, NULL, TRAP_NONE, expect_group);

    p = fresh();
    warpsync(p, IMM(0xffff));
    exit_(p, PT_);
    run1(p, NULL, TRAP_COLLECTIVE, NULL);
}

/* CALL and RET through R[20:21] from two places; the callee returns each lane to its own caller. */
static uint32_t expect_call(uint32_t lane) { return lane < 16 ? 111 : 12; }
static void calls(void **state) {
    (void)state;
    Prog *prog = fresh();
    mov(prog, 4, IMM(0));
    branch(prog, P(0), 0);
    add(prog, 4, R(4), IMM(1));
    MachInst *l1 = emit(prog, OT_LEPC, 0, D(R2(20)), S(((Operand){.kind = OPK_IMM64})));
    prog->label_of[l1 - prog->in] = 1 + 1;
    prog->self_relative[l1 - prog->in] = 1;
    MachInst *c1 =
        emit(prog, OT_CALL, 0, EMPTY, S(PT_, op_reg(RF_R, REG_RZ, 2), ((Operand){.kind = OPK_IMM64})));
    prog->label_of[c1 - prog->in] = 3 + 1;
    label(prog, 1);
    add(prog, 4, R(4), IMM(1));
    branch(prog, PT_, 4);
    label(prog, 0);
    add(prog, 4, R(4), IMM(100));
    MachInst *l2 = emit(prog, OT_LEPC, 0, D(R2(20)), S(((Operand){.kind = OPK_IMM64})));
    prog->label_of[l2 - prog->in] = 2 + 1;
    prog->self_relative[l2 - prog->in] = 1;
    MachInst *c2 =
        emit(prog, OT_CALL, 0, EMPTY, S(PT_, op_reg(RF_R, REG_RZ, 2), ((Operand){.kind = OPK_IMM64})));
    prog->label_of[c2 - prog->in] = 3 + 1;
    label(prog, 2);
    add(prog, 4, R(4), IMM(1));
    label(prog, 4);
    stg(prog, 2, 4);
    exit_(prog, PT_);
    label(prog, 3);
    add(prog, 4, R(4), IMM(10));
    emit(prog, OT_RET, MSET(RET, mode, BasePCMode_ABS), EMPTY,
         S(PT_, R2(20), ((Operand){.kind = OPK_IMM64})));
    run1(prog, NULL, TRAP_NONE, expect_call);
}

/* BRX through a table in bank 2, one entry for each lane mod 4. */
static uint32_t expect_brx(uint32_t lane) { return 10 + lane % 4; }
static void indirect_branch(void **state) {
    (void)state;
    Prog *prog = fresh();
    uint32_t table[4];
    emit(prog, OT_LOP3, MSET(LOP3, lut, 0xc0), D(R(5), PT_), S(R(0), IMM(3), RZ_, NPT_));
    emit(prog, OT_SHF, MSET(SHF, type, ShfType_U32), D(R(5)), S(R(5), IMM(2), RZ_));
    emit(prog, OT_LDC, 0, D(R(5)), S(R(5), op_cmem(2, 0)));
    emit(prog, OT_BRX, 0, EMPTY, S(PT_, R(5), ((Operand){.kind = OPK_IMM64})));
    unsigned after = prog->n;
    for (unsigned k = 0; k < 4; k++) {
        table[k] = 16 * (prog->n - after);
        mov(prog, 4, IMM(10 + k));
        stg(prog, 2, 4);
        exit_(prog, PT_);
    }
    prog->bank2 = (const uint8_t *)table;
    prog->bank2_bytes = sizeof table;
    run1(prog, NULL, TRAP_NONE, expect_brx);
    /* a target that is no instruction */
    prog = fresh();
    mov(prog, 5, IMM(8));
    emit(prog, OT_BRX, 0, EMPTY, S(PT_, R(5), ((Operand){.kind = OPK_IMM64})));
    run1(prog, NULL, TRAP_PC, NULL);
}

/* NANOSLEEP of one side lets the other run first, and the sleeper wakes. */
static uint32_t expect_sleep(uint32_t lane) { return lane < 16 ? 1 : 2; }
static void sleep(void **state) {
    (void)state;
    Prog *p = fresh();
    mov(p, 6, PARAM(1));
    mov(p, 7, op_cmem(0, PARAM_BASE + 12));
    mov(p, 4, IMM(1));
    branch(p, P(0), 0);
    emit(p, OT_NANOSLEEP, 0, EMPTY, S(IMM(2000), PT_)); /* lanes 16..31: fall through, sleep */
    emit(p, OT_LDG, MSET(LDG, e, 1), D(R(4), PT_),
         S(op_with(R2(6), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(0), PT_));
    branch(p, PT_, 1);
    label(p, 0);
    mov(p, 5, IMM(2));
    emit(p, OT_STG, MSET(STG, e, 1), EMPTY,
         S(op_with(R2(6), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(0), R(5)));
    label(p, 1);
    stg(p, 2, 4);
    exit_(p, PT_);
    run1(p, NULL, TRAP_NONE, expect_sleep);
    p = fresh(); /* a whole warp */
    mov(p, 4, IMM(5));
    emit(p, OT_NANOSLEEP, 0, EMPTY, S(IMM(500000), PT_));
    stg(p, 2, 4);
    exit_(p, PT_);
    run1(p, NULL, TRAP_NONE, expect_5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_regions),     cmocka_unit_test(spin_locks),
        cmocka_unit_test(two_warpsyncs),   cmocka_unit_test(warpsync_inside_region),
        cmocka_unit_test(bmov_save),       cmocka_unit_test(nesting_orders),
        cmocka_unit_test(stale_bits),      cmocka_unit_test(branch_conditions),
        cmocka_unit_test(warpsync_groups), cmocka_unit_test(calls),
        cmocka_unit_test(indirect_branch), cmocka_unit_test(sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
