/* Blocks: barriers and their exceptions, memory, atomics, traps, deadlock proof, budget, several blocks.
 * SPDX-License-Identifier: MIT */
#include "prog.h"
#include <stdlib.h>
#include <string.h>

/* R0 = tid.x, R[2:3] = &out[ctaid * ntid + tid] */
static Prog *fresh(void) {
    Prog *p = calloc(1, sizeof *p);
    s2r(p, 0, "tid.x");
    s2r(p, 1, "ctaid.x");
    emit(p, OT_IMAD, MSET(IMAD, sign, ISign_U32), D(R(1)), S(R(1), C0(0), R(0), NPT_)); /* c[0][0] = ntid.x */
    element(p, 2, 0, 1);
    return p;
}
typedef struct {
    uint32_t blocks, threads;
    const MachineOptions *opt;
    SimTrapKind kind;
    const char *text;
} Shape;
static MachineResult run(Prog *p, Shape s, uint32_t (*expect)(uint32_t)) {
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {buffer(mem, s.blocks * s.threads), buffer(mem, 64)};
    MachineOptions o = s.opt ? *s.opt : (MachineOptions){0};
    if (!o.max_issues)
        o.max_issues = 20000000;
    Ran r = prog_run(p, s.blocks, s.threads, mem, params, 2, &o);
    if (r.res.trap.kind != s.kind) {
        char line[400];
        sim_trap_print(&r.res.trap, line, sizeof line);
        fail_msg("%s", line);
    }
    if (s.text)
        assert_non_null(strstr(r.res.trap.text, s.text));
    for (uint32_t i = 0; expect && i < s.blocks * s.threads; i++)
        assert_int_equal(word(mem, params[0], i), expect(i));
    simmem_free(mem);
    free(p);
    return r.res;
}
static void lds(Prog *p, unsigned rd, unsigned ra) {
    emit(p, OT_LDS, 0, D(R(rd)), S(R(ra), op_reg(RF_UR, REG_URZ, 1), IMM(0)));
}
static void sts(Prog *p, unsigned ra, unsigned rs) {
    emit(p, OT_STS, 0, EMPTY, S(R(ra), op_reg(RF_UR, REG_URZ, 1), IMM(0), R(rs)));
}
static void shl(Prog *p, unsigned rd, Operand a, unsigned n) {
    emit(p, OT_SHF, MSET(SHF, type, ShfType_U32), D(R(rd)), S(a, IMM(n), RZ_));
}

/* Reverse through shared memory, 96 threads plus a partial warp. */
static uint32_t expect_reverse(uint32_t i) { return 99 - i; }
static void shared_reverse(void **state) {
    (void)state;
    Prog *prog = fresh();
    prog->shared_bytes = 400;
    shl(prog, 4, R(0), 2);
    sts(prog, 4, 0);
    bar(prog, BARMode_SYNC, IMM(0), IMM(0));
    emit(prog, OT_IADD3, 0, D(R(5), PT_, PT_), S(op_with(R(4), OPM_NEG), IMM(396), RZ_, NPT_, NPT_));
    lds(prog, 6, 5);
    stg(prog, 2, 6);
    exit_(prog, PT_);
    MachineResult r = run(prog, (Shape){1, 100, NULL, TRAP_NONE, NULL}, expect_reverse);
    assert_int_equal(r.stats.barriers, 1);
    machine_result_free(&r);
}

/* Producer warps arrive, a consumer warp waits: named barriers with counts. */
static uint32_t expect_named(uint32_t i) { return i < 32 ? 64 : 0; }
static void named_barrier(void **state) {
    (void)state;
    Prog *prog = fresh();
    prog->shared_bytes = 16;
    mov(prog, 4, IMM(0));
    mov(prog, 9, IMM(0));
    isetp(prog, 0, ICmp_LT, R(0), IMM(32));
    branch(prog, P(0), 0);
    mov(prog, 5, IMM(1));
    emit(prog, OT_ATOMS, MSET(ATOMS, op, AtomOp_ADD), D(R(6)),
         S(R(4), op_reg(RF_UR, REG_URZ, 1), IMM(0), R(5)));
    bar(prog, BARMode_ARV, IMM(3), IMM(96));
    branch(prog, PT_, 1);
    label(prog, 0);
    bar(prog, BARMode_SYNC, IMM(3), IMM(96));
    lds(prog, 9, 4);
    label(prog, 1);
    stg(prog, 2, 9);
    exit_(prog, PT_);
    MachineResult r = run(prog, (Shape){1, 96, NULL, TRAP_NONE, NULL}, expect_named);
    machine_result_free(&r);
}

/* BAR.RED: population count, and, or of a predicate over 70 threads; count in a packed register. */
static uint32_t expect_red(uint32_t i) {
    (void)i;
    return 50 | 0u << 8 | 1u << 9;
}
static void reductions(void **state) {
    (void)state;
    Prog *prog = fresh();
    isetp(prog, 0, ICmp_LT, R(0), IMM(50));
    mov(prog, 5, IMM(2 | 96 << 4)); /* barrier 2, 96 threads */
    emit(prog, OT_BAR_RED, MSET(BAR_RED, redop, BARREDOp_POPC), EMPTY, S(R(5), NONE, P(0)));
    emit(prog, OT_B2R_RESULT, 0, D(R(6), PT_), EMPTY);
    emit(prog, OT_BAR_RED, MSET(BAR_RED, redop, BARREDOp_AND), EMPTY, S(IMM(2), IMM(0), P(0)));
    emit(prog, OT_B2R_RESULT, 0, D(RZ_, P(1)), EMPTY);
    emit(prog, OT_BAR_RED, MSET(BAR_RED, redop, BARREDOp_OR), EMPTY, S(IMM(2), IMM(96), P(0)));
    emit(prog, OT_B2R_RESULT, 0, D(RZ_, P(2)), EMPTY);
    mov(prog, 7, IMM(0x100));
    mov(prog, 8, IMM(0x200));
    add(prog, 6, R(6), R(7));
    prog->in[prog->n - 1].guard = P(1);
    add(prog, 6, R(6), R(8));
    prog->in[prog->n - 1].guard = P(2);
    stg(prog, 2, 6);
    exit_(prog, PT_);
    MachineResult r = run(prog, (Shape){1, 70, NULL, TRAP_NONE, NULL}, expect_red);
    machine_result_free(&r);
}

/* BARState goes out and comes back: R2B.WARP of a made-up result. */
static uint32_t expect_state(uint32_t i) {
    (void)i;
    return 77;
}
static void bar_state(void **state) {
    (void)state;
    Prog *p = fresh();
    mov(p, 5, IMM(77u << 19 | 2u << 15 | 2u << 13));
    emit(p, OT_R2B, MSET(R2B, mode, B2RMode_WARP), EMPTY, S(IMM(0), R(5)));
    emit(p, OT_B2R_RESULT, 0, D(R(6), PT_), EMPTY);
    emit(p, OT_B2R, MSET(B2R, mode, B2RMode_WARP), D(R(7)), S(IMM(0)));
    isetp(p, 0, ICmp_EQ, R(7), R(5));
    emit(p, OT_SEL, 0, D(R(6)), S(R(6), RZ_, P(0)));
    stg(p, 2, 6);
    exit_(p, PT_);
    MachineResult r = run(p, (Shape){1, 32, NULL, TRAP_NONE, NULL}, expect_state);
    machine_result_free(&r);
}

static void barrier_misuse(void **state) {
    (void)state;
    Prog *p = fresh();
    bar(p, BARMode_SYNC, IMM(0), IMM(33));
    exit_(p, PT_);
    MachineResult r = run(p, (Shape){1, 64, NULL, TRAP_BARRIER, "multiple of 32"}, NULL);
    machine_result_free(&r);
    p = fresh();
    bar(p, BARMode_ARV, IMM(0), IMM(0));
    exit_(p, PT_);
    r = run(p, (Shape){1, 64, NULL, TRAP_BARRIER, "without a count"}, NULL);
    machine_result_free(&r);
    p = fresh(); /* operands that differ between lanes */
    bar(p, BARMode_SYNC, R(0), IMM(64));
    exit_(p, PT_);
    r = run(p, (Shape){1, 64, NULL, TRAP_BARRIER, "differ"}, NULL);
    machine_result_free(&r);
    p = fresh(); /* warp 0 expects 64, warp 1 expects 96 */
    isetp(p, 0, ICmp_LT, R(0), IMM(32));
    mov(p, 5, IMM(64));
    mov(p, 6, IMM(96));
    emit(p, OT_SEL, 0, D(R(5)), S(R(5), R(6), P(0)));
    bar(p, BARMode_SYNC, IMM(1), R(5));
    exit_(p, PT_);
    r = run(p, (Shape){1, 64, NULL, TRAP_BARRIER, "other warps used"}, NULL);
    machine_result_free(&r);
    p = fresh(); /* reduction meets synchronisation */
    isetp(p, 0, ICmp_LT, R(0), IMM(32));
    branch(p, P(0), 0);
    emit(p, OT_BAR_RED, MSET(BAR_RED, redop, BARREDOp_POPC), EMPTY, S(IMM(1), IMM(64), PT_));
    label(p, 0);
    bar(p, BARMode_SYNC, IMM(1), IMM(64));
    exit_(p, PT_);
    r = run(p, (Shape){1, 64, NULL, TRAP_BARRIER, "mixed"}, NULL);
    machine_result_free(&r);
    p = fresh(); /* more arrivals than expected: three warps, count 64, none waits */
    bar(p, BARMode_ARV, IMM(1), IMM(96));
    bar(p, BARMode_ARV, IMM(1), IMM(96));
    exit_(p, PT_);
    r = run(p, (Shape){1, 64, NULL, TRAP_NONE, NULL}, NULL);
    assert_int_equal(r.stats.barriers, 1);
    machine_result_free(&r);
    p = fresh(); /* half a warp at a barrier */
    isetp(p, 0, ICmp_LT, R(0), IMM(16));
    branch(p, P(0), 0);
    bar(p, BARMode_SYNC, IMM(0), IMM(32));
    label(p, 0);
    exit_(p, PT_);
    r = run(p, (Shape){1, 32, NULL, TRAP_NONE, NULL}, NULL);
    assert_int_equal(r.nfindings, 1);
    assert_int_equal(r.findings[0].kind, MF_PARTIAL_BARRIER);
    machine_result_free(&r);
}

/* One warp exits, the other waits with count 0 or for both: released by the exit. For three it waits for
 * ever. */
static void exits_and_barriers(void **state) {
    (void)state;
    for (uint32_t cnt = 0; cnt <= 96; cnt += cnt ? 32 : 64) {
        Prog *p = fresh();
        isetp(p, 0, ICmp_GE, R(0), IMM(32));
        exit_(p, P(0));
        bar(p, BARMode_SYNC, IMM(0), IMM(cnt));
        exit_(p, PT_);
        MachineResult r =
            run(p, (Shape){1, 64, NULL, cnt > 64 ? TRAP_BARRIER : TRAP_NONE, cnt > 64 ? "E-BAR-COUNT" : NULL},
                NULL);
        machine_result_free(&r);
    }
}

/* An endless loop is proved endless, unless it reads a clock or counts in memory: then the budget ends it. */
static void endless(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        Prog *p = fresh();
        mov(p, 5, IMM(1));
        label(p, 0);
        if (kind == 1)
            emit(p, OT_CS2R, MSET(CS2R, sz, Cs2rSz_B32), D(R(7)),
                 S(((Operand){.kind = OPK_SREG,
                              .value = (uint32_t)isa_sreg_number(isa_targets[0], "clock.lo")})));
        if (kind == 2) {
            add(p, 5, R(5), IMM(1));
            stg(p, 2, 5);
        }
        branch(p, PT_, 0);
        MachineOptions o = {.max_issues = 3000000};
        MachineResult r = run(p, (Shape){1, 64, &o, kind ? TRAP_BUDGET : TRAP_LIVELOCK, NULL}, NULL);
        assert_true(kind || r.stats.issues < 1000000);
        machine_result_free(&r);
    }
}

/* A loop that keeps nothing in registers from one round to the next: counting in memory is progress, as long
 * as it does not begin anew. */
static void endless_in_memory(void **state) {
    (void)state;
    for (int wraps = 0; wraps < 2; wraps++) {
        Prog *p = fresh();
        label(p, 0);
        ldg(p, 5, 2);
        add(p, 5, R(5), IMM(1));
        isetp(p, 0, ICmp_NE, R(5), IMM(7));
        branch(p, P(0), 1);
        if (wraps)
            mov(p, 5, IMM(0));
        label(p, 1);
        stg(p, 2, 5);
        mov(p, 5, IMM(0));
        branch(p, PT_, 0);
        MachineOptions o = {.max_issues = 3000000};
        MachineResult r = run(p, (Shape){1, 64, &o, wraps ? TRAP_LIVELOCK : TRAP_BUDGET, NULL}, NULL);
        assert_true(!wraps || r.stats.issues < 1000000);
        machine_result_free(&r);
    }
}

/* A long loop that ends is not taken for an endless one. */
static uint32_t expect_count(uint32_t i) {
    (void)i;
    return 300000;
}
static void long_loop(void **state) {
    (void)state;
    Prog *p = fresh();
    mov(p, 5, IMM(0));
    label(p, 0);
    add(p, 5, R(5), IMM(1));
    isetp(p, 0, ICmp_LT, R(5), IMM(300000));
    branch(p, P(0), 0);
    stg(p, 2, 5);
    exit_(p, PT_);
    MachineResult r = run(p, (Shape){1, 64, NULL, TRAP_NONE, NULL}, expect_count);
    machine_result_free(&r);
}

/* Block 0 waits for a flag of block 1. */
static uint32_t expect_blocks(uint32_t i) { return i < 32 ? 5 : 0; }
static void blocks_wait(void **state) {
    (void)state;
    Prog *p = fresh();
    s2r(p, 4, "ctaid.x");
    mov(p, 6, PARAM(1));
    mov(p, 7, op_cmem(0, PARAM_BASE + 12));
    isetp(p, 0, ICmp_EQ, R(4), IMM(1));
    mov(p, 5, IMM(5));
    branch(p, P(0), 1);
    label(p, 0);
    ldg(p, 8, 6);
    isetp(p, 1, ICmp_NE, R(8), IMM(5));
    branch(p, P(1), 0);
    stg(p, 2, 8);
    exit_(p, PT_);
    label(p, 1);
    stg(p, 6, 5);
    exit_(p, PT_);
    MachineResult r = run(p, (Shape){2, 32, NULL, TRAP_NONE, NULL}, expect_blocks);
    assert_int_equal(r.stats.max_resident, 2);
    machine_result_free(&r);
}

/* Traps name lane and address. */
static void memory_traps(void **state) {
    (void)state;
    static const struct {
        uint32_t scale, add;
        SimTrapKind kind;
        uint32_t thread;
        uint64_t shared;
    } t[] = {
        {0x1000000, 0, TRAP_OUT_OF_RANGE, 1, 0},
        {2, 0, TRAP_MISALIGNED, 1, 0},
        {4, 4, TRAP_OUT_OF_RANGE, 31, 0},
    };
    for (unsigned k = 0; k < sizeof t / sizeof *t; k++) {
        SimMemory *mem = simmem_create();
        uint64_t params[1] = {buffer(mem, 32)};
        Prog *prog = calloc(1, sizeof *prog);
        s2r(prog, 0, "tid.x");
        mov(prog, 2, PARAM(0));
        mov(prog, 3, op_cmem(0, PARAM_BASE + 4));
        emit(prog, OT_IMAD_WIDE, MSET(IMAD_WIDE, sign, ISign_U32), D(R2(2), PT_),
             S(R(0), IMM(t[k].scale), R2(2), NPT_));
        emit(prog, OT_STG, MSET(STG, e, 1), EMPTY,
             S(op_with(R2(2), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(t[k].add), R(0)));
        exit_(prog, PT_);
        Ran r = prog_run(prog, 1, 32, mem, params, 1, NULL);
        assert_int_equal(r.res.trap.kind, t[k].kind);
        assert_int_equal(r.res.trap.thread[0], t[k].thread);
        assert_int_equal(r.res.trap.pc, 4 * 16);
        assert_true(r.res.trap.has_address);
        assert_int_equal(r.res.trap.address, params[0] + t[k].thread * t[k].scale + t[k].add);
        machine_result_free(&r.res);
        simmem_free(mem);
        free(prog);
    }
    Prog *prog = fresh(); /* past the block's shared memory */
    prog->shared_bytes = 64;
    shl(prog, 4, R(0), 2);
    sts(prog, 4, 0);
    exit_(prog, PT_);
    MachineResult r = run(prog, (Shape){1, 32, NULL, TRAP_OUT_OF_RANGE, "shared"}, NULL);
    assert_int_equal(r.trap.thread[0], 16);
    machine_result_free(&r);
    prog = fresh(); /* code that is no instruction */
    branch(prog, PT_, 0);
    label(prog, 0);
    prog->at[0] = (int)prog->n;
    r = run(prog, (Shape){1, 32, NULL, TRAP_PC, NULL}, NULL);
    machine_result_free(&r);
    for (unsigned checked = 0; checked < 2; checked++) { /* no end of the code */
        prog = fresh();
        add(prog, 4, R(0), IMM(1));
        add(prog, 4, R(4), IMM(1));
        r = run(prog, (Shape){1, 32, &(MachineOptions){.check_control = checked}, TRAP_PC, "off the code"},
                NULL);
        machine_result_free(&r);
    }
    prog = fresh();
    emit(prog, OT_TRAP, 0, EMPTY, S(IMM(9)));
    r = run(prog, (Shape){1, 32, NULL, TRAP_INSTRUCTION, "0x9"}, NULL);
    machine_result_free(&r);
    prog = fresh();
    emit(prog, OT_SYSCALL, 0, EMPTY, EMPTY);
    r = run(prog, (Shape){1, 32, NULL, TRAP_UNSUPPORTED, "SYSCALL"}, NULL);
    machine_result_free(&r);
}

/* Loads and stores of every size, contiguous or not, against memory written from the host. */
static void access_sizes(void **state) {
    (void)state;
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 8, 16};
    for (uint32_t sz = MemSz_U8; sz <= MemSz_128; sz++)
        for (uint32_t stride = 0; stride < 3; stride++) {
            uint32_t n = bytes[sz], step = stride == 0 ? n : stride == 1 ? 2 * n : 0;
            SimMemory *mem = simmem_create();
            uint64_t params[2] = {simmem_alloc(mem, "in", 1100), simmem_alloc(mem, "out", 1100)};
            uint8_t in[1100], out[1100], want[1100] = {0};
            for (unsigned i = 0; i < sizeof in; i++)
                in[i] = (uint8_t)(i * 73 + 11 + (i >> 8));
            simmem_write(mem, params[0], in, sizeof in);
            Prog *p = calloc(1, sizeof *p);
            s2r(p, 0, "tid.x");
            for (unsigned k = 0; k < 2; k++) {
                mov(p, 2 + 2 * k, PARAM(k));
                mov(p, 3 + 2 * k, op_cmem(0, PARAM_BASE + 8 * k + 4));
                emit(p, OT_IMAD_WIDE, MSET(IMAD_WIDE, sign, ISign_U32), D(R2(2 + 2 * k), PT_),
                     S(R(0), IMM(k ? (n < 4 ? 4 : n) : step), R2(2 + 2 * k), NPT_));
            }
            unsigned regs = n < 4 ? 1 : n / 4;
            emit(p, OT_LD, MSET(LD, e, 1) | MSET(LD, sz, sz), D(op_reg(RF_R, 8, regs), PT_),
                 S(op_with(R2(2), OPM_WIDE64), NONE, IMM(4 * 16), PT_));
            emit(p, OT_ST, MSET(ST, e, 1) | MSET(ST, sz, n < 4 ? MemSz_32 : sz), EMPTY,
                 S(op_with(R2(4), OPM_WIDE64), NONE, IMM(0), op_reg(RF_R, 8, regs)));
            exit_(p, PT_);
            Ran r = prog_run(p, 1, 32, mem, params, 2, NULL);
            assert_true(r.ok);
            for (uint32_t i = 0; i < 32; i++) {
                uint8_t *w = want + i * (n < 4 ? 4 : n);
                memcpy(w, in + 64 + i * step, n);
                bool neg = (sz == MemSz_S8 || sz == MemSz_S16) && w[n - 1] & 0x80;
                for (unsigned k = n; k < 4; k++)
                    w[k] = neg ? 0xff : 0;
            }
            simmem_read(mem, params[1], out, sizeof out);
            assert_memory_equal(out, want, 32 * (n < 4 ? 4 : n));
            machine_result_free(&r.res);
            simmem_free(mem);
            free(p);
        }
}

/* Local memory through its own instructions and through generic addresses. */
static uint32_t expect_local(uint32_t i) { return i * 3 + 1000 + i; }
static void local_memory(void **state) {
    (void)state;
    Prog *prog = fresh();
    prog->stack_bytes = 64;
    emit(prog, OT_IMAD, 0, D(R(4)), S(R(0), IMM(3), RZ_, NPT_));
    mov(prog, 5, IMM(16));
    emit(prog, OT_STL, 0, EMPTY, S(R(5), op_reg(RF_UR, REG_URZ, 1), IMM(4), R(4)));
    mov(prog, 6, IMM((uint32_t)SIM_LOCAL_WINDOW + 20));
    mov(prog, 7, IMM((uint32_t)(SIM_LOCAL_WINDOW >> 32)));
    emit(prog, OT_LD, MSET(LD, e, 1), D(R(8), PT_), S(op_with(R2(6), OPM_WIDE64), NONE, IMM(0), PT_));
    add(prog, 8, R(8), R(0));
    add(prog, 8, R(8), IMM(1000));
    emit(prog, OT_ST, MSET(ST, e, 1), EMPTY, S(op_with(R2(6), OPM_WIDE64), NONE, IMM(0), R(8)));
    emit(prog, OT_LDL, 0, D(R(9)), S(R(5), op_reg(RF_UR, REG_URZ, 1), IMM(4)));
    stg(prog, 2, 9);
    exit_(prog, PT_);
    MachineResult r = run(prog, (Shape){1, 48, NULL, TRAP_NONE, NULL}, expect_local);
    machine_result_free(&r);
}

/* What nobody has written, in each place, of the first block and of the next one in its place, which wrote
 * there. */
typedef enum { IN_R, IN_UR, IN_P, IN_SHARED, IN_LOCAL, PLACES } Place;
static uint32_t unwritten;
static uint32_t expect_unwritten(uint32_t i) {
    (void)i;
    return unwritten;
}
static void read_then_write(Prog *p, Place place) {
    Operand at[] = {RZ_, op_reg(RF_UR, REG_URZ, 1), IMM(16), R(5)};
    mov(p, 4, IMM(SIM_UNWRITTEN_WORD));
    mov(p, 5, IMM(5));
    switch (place) {
    case IN_R:
        mov(p, 8, R(9));
        mov(p, 9, R(5));
        break;
    case IN_UR:
        mov(p, 8, UR(9));
        emit(p, OT_R2UR, 0, D(UR(9)), S(R(5)));
        break;
    case IN_P:
        emit(p, OT_SEL, 0, D(R(8)), S(R(4), RZ_, P(3)));
        isetp(p, 3, ICmp_EQ, R(8), RZ_);
        break;
    case IN_SHARED:
        emit(p, OT_LDS, 0, D(R(8)), at, 3);
        emit(p, OT_STS, 0, EMPTY, at, 4);
        break;
    default:
        emit(p, OT_LDL, 0, D(R(8)), at, 3);
        emit(p, OT_STL, 0, EMPTY, at, 4);
        break;
    }
}
static void unwritten_places(void **state) {
    (void)state;
    static const struct {
        MachineUnwritten policy;
        uint32_t word;
    } policies[] = {{MACHINE_UNWRITTEN_AS_USED, 0},
                    {MACHINE_UNWRITTEN_ZERO, 0},
                    {MACHINE_UNWRITTEN_OTHER, SIM_UNWRITTEN_WORD}};
    for (unsigned k = 0; k < 3; k++)
        for (Place place = 0; place < PLACES; place++) {
            Prog *p = fresh();
            p->shared_bytes = p->stack_bytes = 64;
            read_then_write(p, place);
            stg(p, 2, 8);
            exit_(p, PT_);
            MachineOptions o = {.unwritten = policies[k].policy};
            unwritten = policies[k].word;
            MachineResult r = run(p, (Shape){3, 32, &o, TRAP_NONE, NULL}, expect_unwritten);
            assert_int_equal(r.stats.max_resident, 1);
            machine_result_free(&r);
        }
}

/* Generic loads of every size at every aligned offset around the end of the .const variables: a byte behind
 * it traps. Ends that no size divides make an access that begins inside and leaves it. */
static void end_of_constants(void **state) {
    (void)state;
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 8, 16}, bank[48];
    for (uint32_t end = 1; end <= 33; end++)
        for (uint32_t sz = MemSz_U8; sz <= MemSz_128; sz++)
            for (uint32_t at = 0; at < sizeof bank; at += bytes[sz]) {
                Prog *p = fresh();
                p->bank3 = bank;
                p->bank3_bytes = end;
                mov(p, 6, IMM((uint32_t)SIM_CONST_WINDOW + at));
                mov(p, 7, IMM((uint32_t)(SIM_CONST_WINDOW >> 32)));
                emit(p, OT_LD, MSET(LD, e, 1) | MSET(LD, sz, sz),
                     D(op_reg(RF_R, 8, bytes[sz] < 4 ? 1 : bytes[sz] / 4), PT_),
                     S(op_with(R2(6), OPM_WIDE64), NONE, IMM(0), PT_));
                exit_(p, PT_);
                bool outside = at + bytes[sz] > end;
                MachineResult r = run(p,
                                      (Shape){1, 1, NULL, outside ? TRAP_OUT_OF_RANGE : TRAP_NONE,
                                              outside ? "constant memory" : NULL},
                                      NULL);
                machine_result_free(&r);
            }
}

/* Undefined values: reported at their use, not when copied. */
static void undefined_values(void **state) {
    (void)state;
    MachineOptions o = {.report_undefined = true};
    for (int kind = 0; kind < 3; kind++) {
        Prog *p = fresh();
        mov(p, 8, R(7)); /* never written; copying is fine */
        if (kind == 1)
            isetp(p, 0, ICmp_EQ, R(8), IMM(3)), branch(p, P(0), 0);
        label(p, 0);
        if (kind == 2)
            stg(p, 2, 8);
        exit_(p, PT_);
        MachineResult r = run(p, (Shape){1, 32, &o, TRAP_NONE, NULL}, NULL);
        assert_int_equal(r.nfindings, kind != 0);
        if (kind)
            assert_int_equal(r.findings[0].kind, MF_UNDEFINED);
        machine_result_free(&r);
    }
}

/* Control codes: S2R without waiting for its scoreboard, then with. IADD3 read in the next cycle, then later.
 */
static void control_codes(void **state) {
    (void)state;
    for (int good = 0; good < 2; good++) {
        Prog *prog = fresh();
        for (unsigned i = 0; i < prog->n; i++) { /* the prologue must be clean */
            if (prog->in[i].optype == OT_S2R)
                prog->in[i].ctrl.write_sb = 0;
            prog->in[i].ctrl.wait_mask = i > 1;
        }
        add(prog, 4, R(0), IMM(1));
        prog->in[prog->n - 1].ctrl.stall_cycles = good ? 6 : 1;
        add(prog, 5, R(4), IMM(1));
        s2r(prog, 6, "laneid");
        prog->in[prog->n - 1].ctrl.write_sb = 1;
        add(prog, 7, R(6), R(5));
        prog->in[prog->n - 1].ctrl.wait_mask = good ? 2 : 0;
        exit_(prog, PT_);
        MachineOptions o = {.check_control = true};
        MachineResult r = run(prog, (Shape){1, 32, &o, TRAP_NONE, NULL}, NULL);
        assert_int_equal(r.nfindings, good ? 0 : 2);
        for (uint32_t i = 0; i < r.nfindings; i++)
            assert_int_equal(r.findings[i].kind, MF_HAZARD);
        machine_result_free(&r);
    }
}

/* What a warp finds in its registers is 0, whatever one of an earlier block left there: where lanes read what
 * others have written, or look at registers of lanes that ended before (beginning.c). */
static uint32_t expect_some_written(uint32_t i) { return i % 40 < 16 ? 7 : 0; }
static void some_lanes_write(void **state) {
    (void)state;
    Prog *prog = fresh();
    isetp(prog, 0, ICmp_LT, R(0), IMM(16));
    emit(prog, OT_MOV, 0, D(R(5)), S(IMM(7)))->guard = P(0);
    stg(prog, 2, 5);
    mov(prog, 5, IMM(9));
    exit_(prog, PT_);
    MachineResult r = run(prog, (Shape){64, 40, NULL, TRAP_NONE, NULL}, expect_some_written);
    machine_result_free(&r);
}
static uint32_t expect_ended(uint32_t i) { return i / 32 % 2 ? 0 : 7; }
static void lanes_end_first(void **state) {
    (void)state;
    Prog *prog = fresh();
    s2r(prog, 8, "ctaid.x");
    shl(prog, 9, R(8), 31);
    isetp(prog, 0, ICmp_GE, R(9), IMM(1)); /* odd blocks */
    mov(prog, 10, IMM(0));
    emit(prog, OT_MOV, 0, D(R(10)), S(R(0)))->guard = P(0);
    isetp(prog, 1, ICmp_GE, R(10), IMM(16));
    exit_(prog, P(1));
    mov(prog, 5, IMM(7));
    emit(prog, OT_SHFL, MSET(SHFL, mode, ShflMode_IDX), D(R(6), PT_), S(R(5), IMM(31), IMM(31)));
    stg(prog, 2, 6);
    exit_(prog, PT_);
    MachineResult r = run(prog, (Shape){64, 32, NULL, TRAP_NONE, NULL}, expect_ended);
    machine_result_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_reverse),   cmocka_unit_test(named_barrier),
        cmocka_unit_test(reductions),       cmocka_unit_test(bar_state),
        cmocka_unit_test(barrier_misuse),   cmocka_unit_test(exits_and_barriers),
        cmocka_unit_test(endless),          cmocka_unit_test(endless_in_memory),
        cmocka_unit_test(long_loop),        cmocka_unit_test(blocks_wait),
        cmocka_unit_test(memory_traps),     cmocka_unit_test(access_sizes),
        cmocka_unit_test(local_memory),     cmocka_unit_test(undefined_values),
        cmocka_unit_test(unwritten_places), cmocka_unit_test(end_of_constants),
        cmocka_unit_test(control_codes),    cmocka_unit_test(some_lanes_write),
        cmocka_unit_test(lanes_end_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
