/* Operations that see more than their own lane's words: collectives, destinations over sources, atomics, each
 * against a loop over lanes on the host. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "prog.h"
#include <stdlib.h>
#include <string.h>

static uint64_t rng_state = 7;
static uint64_t rnd64(void) { return rng_next(&rng_state); }

/* Cross-lane operations against a loop over lanes. */
static void warp_ops(void **state) {
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        uint32_t data[32], out[32 * 6], guard = round % 3 ? ~0u : (uint32_t)rnd64() | 1u << (rnd64() & 31);
        uint32_t mode = round & 3, lane_operand = (uint32_t)rnd64() & 31;
        uint32_t width = 1u << (rnd64() % 6),
                 clamp = mode == ShflMode_UP ? (32 - width) << 8 : ((32 - width) << 8 | 31);
        for (unsigned i = 0; i < 32; i++)
            data[i] = (uint32_t)rnd64() & (round & 4 ? 3 : ~0u);
        SimMemory *mem = simmem_create();
        uint64_t params[3] = {simmem_alloc(mem, "x", 128), simmem_alloc(mem, "o", sizeof out), guard};
        simmem_write(mem, params[0], data, sizeof data);
        Prog *p = calloc(1, sizeof *p);
        s2r(p, 0, "laneid");
        element(p, 2, 0, 0);
        ldg(p, 4, 2);
        mov(p, 1, PARAM(2));
        emit(p, OT_SHF, MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_R) | MSET(SHF, hi, 1), D(R(1)),
             S(RZ_, R(0), R(1)));
        emit(p, OT_LOP3, MSET(LOP3, lut, 0xc0), D(R(1), PT_), S(R(1), IMM(1), RZ_, NPT_));
        isetp(p, 3, ICmp_NE, R(1), IMM(0));
        exit_(p, NP(3)); /* the others are gone */
        emit(p, OT_LOP3, MSET(LOP3, lut, 0xc0), D(R(5), PT_), S(R(4), IMM(1), RZ_, NPT_));
        isetp(p, 0, ICmp_NE, R(5), IMM(0));
        emit(p, OT_SHFL, MSET(SHFL, mode, mode), D(R(10), P(1)), S(R(4), IMM(lane_operand), IMM(clamp)));
        emit(p, OT_VOTE, MSET(VOTE, op, VoteOp_ALL), D(R(11), P(2)), S(P(0)));
        emit(p, OT_MATCH, MSET(MATCH, op, MatchOp_ANY), D(R(12), PT_), S(R(4)));
        emit(p, OT_REDUX, MSET(REDUX, op, ReduxOp_SUM), D(UR(4)), S(R(4)))->guard = op_reg(RF_UP, REG_UPT, 1);
        mov(p, 13, UR(4));
        emit(p, OT_REDUX, MSET(REDUX, op, ReduxOp_MIN) | MSET(REDUX, sign, ReduxSign_S32), D(UR(5)), S(R(4)))
            ->guard = op_reg(RF_UP, REG_UPT, 1);
        mov(p, 14, UR(5));
        mov(p, 15, IMM(1));
        mov(p, 16, IMM(2));
        emit(p, OT_SEL, 0, D(R(15)), S(R(15), RZ_, P(1)));
        emit(p, OT_SEL, 0, D(R(16)), S(R(16), RZ_, P(2)));
        add(p, 15, R(15), R(16));
        mov(p, 6, PARAM(1));
        mov(p, 7, op_cmem(0, PARAM_BASE + 12));
        emit(p, OT_IMAD_WIDE, MSET(IMAD_WIDE, sign, ISign_U32), D(R2(6), PT_), S(R(0), IMM(24), R2(6), NPT_));
        for (unsigned k = 0; k < 6; k++)
            emit(p, OT_STG, MSET(STG, e, 1), EMPTY,
                 S(op_with(R2(6), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(4 * k), R(10 + k)));
        exit_(p, PT_);
        Ran r = prog_run(p, 1, 32, mem, params, 3, NULL);
        assert_true(r.ok);
        simmem_read(mem, params[1], out, sizeof out);
        uint32_t ballot = 0, sum = 0;
        int32_t min = INT32_MAX;
        for (unsigned i = 0; i < 32; i++)
            if (guard >> i & 1) {
                ballot |= (data[i] & 1) << i;
                sum += data[i];
                min = (int32_t)data[i] < min ? (int32_t)data[i] : min;
            }
        for (unsigned i = 0; i < 32; i++) {
            if (!(guard >> i & 1))
                continue;
            unsigned first = i / width * width; /* segment */
            int j = mode == ShflMode_IDX    ? (int)(first + lane_operand % width)
                    : mode == ShflMode_UP   ? (int)i - (int)lane_operand
                    : mode == ShflMode_DOWN ? (int)(i + lane_operand)
                                            : (int)(i ^ lane_operand);
            bool inside = mode == ShflMode_UP ? j >= (int)first : j < (int)(first + width);
            unsigned from = inside ? (unsigned)j : i;
            uint32_t same = 0;
            for (unsigned k = 0; k < 32; k++)
                same |= (uint32_t)((guard >> k & 1) && data[k] == data[i]) << k;
            const uint32_t *o = out + 6 * i;
            assert_int_equal(o[5] & 1, inside);
            if (guard >> from & 1)
                assert_int_equal(o[0], data[from]);
            assert_int_equal(o[1], ballot);
            assert_int_equal(o[5] >> 1, ballot == guard);
            assert_int_equal(o[2], same);
            assert_int_equal(o[3], sum);
            assert_int_equal(o[4], (uint32_t)min);
        }
        machine_result_free(&r.res);
        simmem_free(mem);
        free(p);
    }
}

/* A 64-bit result may overwrite its own sources. */
static void overlapping_registers(void **state) {
    (void)state;
    SimMemory *mem = simmem_create();
    uint64_t params[1] = {simmem_alloc(mem, "o", 256)};
    Prog *p = calloc(1, sizeof *p);
    s2r(p, 0, "laneid");
    mov(p, 2, PARAM(0));
    mov(p, 3, op_cmem(0, PARAM_BASE + 4));
    emit(p, OT_IMAD_WIDE, MSET(IMAD_WIDE, sign, ISign_U32), D(R2(2), PT_), S(R(0), IMM(8), R2(2), NPT_));
    mov(p, 6, IMM(0xfffffff0));
    add(p, 7, R(0), IMM(0x70000000));
    emit(p, OT_IMAD_WIDE, MSET(IMAD_WIDE, sign, ISign_U32), D(R2(6), PT_), S(R(6), R(7), R2(6), NPT_));
    emit(p, OT_STG, MSET(STG, e, 1) | MSET(STG, sz, MemSz_64), EMPTY,
         S(op_with(R2(2), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(0), R2(6)));
    exit_(p, PT_);
    Ran r = prog_run(p, 1, 32, mem, params, 1, NULL);
    assert_true(r.ok);
    for (uint64_t i = 0; i < 32; i++) {
        uint64_t got =
            word(mem, params[0], 2 * (uint32_t)i) | (uint64_t)word(mem, params[0], 2 * (uint32_t)i + 1) << 32;
        uint64_t c = 0xfffffff0u | (0x70000000u + i) << 32;
        assert_true(got == 0xfffffff0u * (0x70000000u + i) + c);
    }
    machine_result_free(&r.res);
    simmem_free(mem);
    free(p);
}

/* Every atomic on one shared word and one global word: lanes in ascending order. */
static void atomics(void **state) {
    (void)state;
    for (uint32_t op = AtomOp_ADD; op <= AtomOp_EXCH; op++) {
        SimMemory *mem = simmem_create();
        uint64_t params[2] = {simmem_alloc(mem, "cell", 4), simmem_alloc(mem, "old", 128)};
        uint32_t cell = 7;
        simmem_write(mem, params[0], &cell, 4);
        Prog *p = calloc(1, sizeof *p);
        s2r(p, 0, "laneid");
        element(p, 2, 1, 0);
        mov(p, 6, PARAM(0));
        mov(p, 7, op_cmem(0, PARAM_BASE + 4));
        mov(p, 5, IMM(5));
        emit(p, OT_IMAD, 0, D(R(5)), S(R(0), IMM(0x01030507), R(5), NPT_));
        emit(p, OT_ATOMG, MSET(ATOMG, e, 1) | MSET(ATOMG, op, op), D(R(4), PT_),
             S(op_with(R2(6), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(0), R(5)));
        stg(p, 2, 4);
        exit_(p, PT_);
        Ran r = prog_run(p, 1, 32, mem, params, 2, NULL);
        assert_true(r.ok);
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t v = i * 0x01030507 + 5;
            assert_int_equal(word(mem, params[1], i), cell);
            switch (op) {
            case AtomOp_ADD: cell += v; break;
            case AtomOp_MIN: cell = v < cell ? v : cell; break;
            case AtomOp_MAX: cell = v > cell ? v : cell; break;
            case AtomOp_INC: cell = cell >= v ? 0 : cell + 1; break;
            case AtomOp_DEC: cell = cell == 0 || cell > v ? v : cell - 1; break;
            case AtomOp_AND: cell &= v; break;
            case AtomOp_OR: cell |= v; break;
            case AtomOp_XOR: cell ^= v; break;
            default: cell = v; break;
            }
        }
        assert_int_equal(word(mem, params[0], 0), cell);
        machine_result_free(&r.res);
        simmem_free(mem);
        free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warp_ops),
        cmocka_unit_test(overlapping_registers),
        cmocka_unit_test(atomics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
