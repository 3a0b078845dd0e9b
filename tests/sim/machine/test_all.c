/* Random legal instructions of every opcode, and random words, never do worse than trap; uniform operations;
 * every policy gives the same results. (That every operation has semantics or is said to have none:
 * sim/ops/issue.c does not compile otherwise.)
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "prog.h"
#include "sim/machine/internal.h"
#include <stdlib.h>
#include <string.h>

/* What is wrong must end as a trap or a finished launch. Memory is 4 KiB at R[4:5], other registers are lane
 * numbers. */
static void run_any(Prog *prog) {
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {simmem_alloc(mem, "m", 4096), 0};
    prog->shared_bytes = 256;
    prog->stack_bytes = 256;
    static const MachineOptions modes[] = {
        {.max_issues = 2000}, {.max_issues = 2000, .report_undefined = true, .check_control = true}};
    for (unsigned k = 0; k < 2; k++) {
        Ran r = prog_run(prog, 1, 40, mem, params, 2, &modes[k]);
        assert_true(r.ok || r.res.trap.kind != TRAP_NONE);
        machine_result_free(&r.res);
    }
    simmem_free(mem);
}

static void any_instruction(void **state) {
    (void)state;
    const Target *t = isa_targets[0];
    uint64_t seed = 5;
    for (unsigned oc = 1; oc < OC_COUNT; oc++)
        for (unsigned round = 0; round < 25; round++) {
            Prog *prog = calloc(1, sizeof *prog);
            s2r(prog, 0, "laneid");
            mov(prog, 4, PARAM(0));
            mov(prog, 5, op_cmem(0, PARAM_BASE + 4));
            isetp(prog, 1, ICmp_LT, R(0), IMM(20));
            MachInst in = {0};
            uint64_t word[2];
            char error[ISA_ERROR_BYTES];
            isa_random(t, oc, &seed, &in);
            if (!in.optype || !isa_target_has(t, in.optype) || !isa_encode(t, &in, word, error)) {
                free(prog);
                continue; /* not an opcode of this target */
            }
            prog->in[prog->n++] = in;
            exit_(prog, PT_);
            exit_(prog, PT_);
            run_any(prog);
            free(prog);
        }
}

/* ---- uniform operations against their vector twins ---- */
static void uniform_ops(void **state) {
    (void)state;
    Prog *p = calloc(1, sizeof *p);
    unsigned n = 0;
    s2r(p, 0, "laneid");
    mov(p, 2, PARAM(0));
    mov(p, 3, op_cmem(0, PARAM_BASE + 4));
#define U(op, mods, d, s) emit(p, op, mods, d, s)->guard = op_reg(RF_UP, REG_UPT, 1)
#define UP(n) op_reg(RF_UP, (n), 1)
#define UR2(n) op_reg(RF_UR, (n), 2)
#define NUPT op_with(op_reg(RF_UP, REG_UPT, 1), OPM_NOT)
#define UPT_ op_reg(RF_UP, REG_UPT, 1)
#define URZ_ op_reg(RF_UR, REG_URZ, 1)
    U(OT_UMOV, 0, D(UR(4)), S(IMM(0x80001234)));
    U(OT_UMOV, 0, D(UR(5)), S(IMM(77)));
    U(OT_UIADD3, 0, D(UR(6), UP(0), UPT_), S(UR(4), UR(4), UR(5), NUPT, NUPT));
    U(OT_UIMAD, 0, D(UR(7)), S(UR(4), UR(5), UR(5), NUPT));
    U(OT_USHF, MSET(USHF, type, ShfType_U32), D(UR(8)), S(UR(5), IMM(3), URZ_));
    U(OT_ULOP3, MSET(ULOP3, lut, 0x3c), D(UR(9), UPT_), S(UR(4), UR(5), URZ_, NUPT));
    U(OT_UISETP, MSET(UISETP, cmp, ICmp_LT), D(UP(1), UPT_), S(UR(4), UR(5), UPT_, UPT_));
    U(OT_USEL, 0, D(UR(10)), S(UR(5), UR(4), UP(1)));
    U(OT_UIMAD_WIDE, MSET(UIMAD_WIDE, sign, ISign_U32), D(UR2(12), UPT_), S(UR(4), UR(5), UR2(4), NUPT));
    U(OT_UPOPC, 0, D(UR(14)), S(UR(4)));
    U(OT_UFLO, 0, D(UR(15), UPT_), S(UR(5)));
    static const uint64_t v = 0x80001234, w = 77;
    const uint32_t want[] = {(uint32_t)(2 * v + w),
                             (uint32_t)(v * w + w),
                             77 << 3,
                             (uint32_t)(v ^ w),
                             (uint32_t)w,
                             (uint32_t)(v * w + v + (w << 32)),
                             (uint32_t)((v * w + v + (w << 32)) >> 32),
                             6,
                             6};
    const unsigned reg[] = {6, 7, 8, 9, 10, 12, 13, 14, 15};
    for (; n < sizeof reg / sizeof *reg; n++) {
        mov(p, 4, UR(reg[n]));
        emit(p, OT_STG, MSET(STG, e, 1), EMPTY,
             S(op_with(R2(2), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(4 * n), R(4)));
    }
    exit_(p, PT_);
    SimMemory *mem = simmem_create();
    uint64_t params[1] = {buffer(mem, 32)};
    Ran r = prog_run(p, 1, 20, mem, params, 1, NULL);
    assert_true(r.ok);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(word(mem, params[0], i), want[i]);
    assert_int_equal(r.res.nfindings, 0);
    machine_result_free(&r.res);
    simmem_free(mem);
    free(p);
}

/* ---- structured random programs: results must not depend on the policy ----
 * State x = R4; nested ifs on bits of x, loops with lane-dependent trip counts; host interpreter beside it.
 */
enum { MAX_OPS = 40 };
typedef struct {
    uint64_t s;
    Prog *p;
    unsigned labels, depth;
} Gen;
static uint32_t pick(Gen *gen) { return (uint32_t)(rng_next(&gen->s) >> 20); }
/* Emits code and, with p == NULL, computes x instead: the same walk over the same random numbers. */
static uint32_t walk(Gen *gen, uint32_t x, bool run, unsigned depth, unsigned *ops) {
    unsigned n = 1 + pick(gen) % 3;
    for (unsigned i = 0; i < n && *ops < MAX_OPS; i++) {
        uint32_t kind = pick(gen) % 4, k = pick(gen) | 1, bit = pick(gen) % 16;
        ++*ops;
        if (kind < 2 || depth == 3) {
            if (gen->p)
                emit(gen->p, OT_IMAD, 0, D(R(4)), S(R(4), IMM(k), R(0), NPT_));
            x = run ? x * k + (uint32_t)gen->depth : x;
        } else {
            int skip = (int)gen->labels, join = skip + 1;
            bool taken = x >> bit & 1;
            gen->labels += 2;
            if (gen->labels > PROG_LABELS)
                return x;
            if (gen->p) {
                emit(gen->p, OT_LOP3, MSET(LOP3, lut, 0xc0), D(R(5), PT_),
                     S(R(4), IMM(1u << bit), RZ_, NPT_));
                isetp(gen->p, 0, ICmp_EQ, R(5), IMM(0));
                bssy(gen->p, depth, join);
                branch(gen->p, P(0), skip);
            }
            x = walk(gen, x, run && taken, depth + 1, ops);
            if (gen->p) {
                label(gen->p, skip);
                bsync(gen->p, depth);
                label(gen->p, join);
            }
        }
    }
    return x;
}
static void policies(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++)
        for (unsigned policy = 0; policy < 3 * 2 * 2 * 4; policy += 1 + (unsigned)(seed % 5)) {
            Prog *p = calloc(1, sizeof *p);
            Gen g = {.s = seed, .p = p};
            unsigned ops = 0;
            s2r(p, 0, "laneid");
            element(p, 2, 0, 0);
            emit(p, OT_IMAD, 0, D(R(4)), S(R(0), IMM(0x9e3779b1), RZ_, NPT_));
            walk(&g, 0, false, 0, &ops);
            stg(p, 2, 4);
            exit_(p, PT_);
            SimMemory *mem = simmem_create();
            uint64_t params[1] = {buffer(mem, 32)};
            MachineOptions o = {.bsync_nb = (MachineBsyncNb)(policy % 3),
                                .branch_order = (MachineBranchOrder)(policy / 3 % 2),
                                .join_scope = (MachineJoinScope)(policy / 6 % 2),
                                .lane_choice = (MachineLaneChoice)(policy / 12),
                                .seed = seed,
                                .max_issues = 100000};
            Ran r = prog_run(p, 1, 32, mem, params, 1, &o);
            assert_true(r.ok);
            for (uint32_t i = 0; i < 32; i++) {
                Gen h = {.s = seed, .depth = i};
                ops = 0;
                assert_int_equal(word(mem, params[0], i), walk(&h, i * 0x9e3779b1u, true, 0, &ops));
            }
            machine_result_free(&r.res);
            simmem_free(mem);
            free(p);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_instruction),
        cmocka_unit_test(uniform_ops),
        cmocka_unit_test(policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
