/* The longest distance of latency_worst against all readers that a target has, and distances of uniform
 * registers that were measured. Classes and other distances are compared while Heddle is built:
 * latency_evidence.c, tests/check/distances.c.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/latency.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

/* One instruction of an operation, with a result in register file `file`. */
static bool writes_file(const Target *t, MachInst *in, unsigned dst, unsigned file) {
    IsaSlot slot = isa_dst_slot(t, in->optype, dst);
    in->dst[dst] = op_reg((RegFile)file, 0, 1);
    return slot.file == file;
}

static unsigned longest(const Target *t, const MachInst *writer, unsigned dst) {
    unsigned worst = 0;
    for (unsigned op = 1; op < OT_COUNT; op++) {
        MachInst reader = isa_inst(op);
        for (unsigned src = 0; isa_target_has(t, op) && src <= reader.nsrc; src++) {
            unsigned n = latency_raw(t, writer, dst, &reader, src < reader.nsrc ? src : LATENCY_GUARD);
            worst = n > worst ? n : worst;
        }
    }
    return worst;
}

static void test_worst(void **state) {
    (void)state;
    unsigned n = 0;
    for (unsigned k = 0; isa_targets[k]; k++)
        for (unsigned op = 1; op < OT_COUNT; op++)
            for (unsigned dst = 0; isa_target_has(isa_targets[k], op) && dst < isa_num_dst(op); dst++)
                for (unsigned file = 0; file < RF_COUNT; file++) {
                    MachInst writer = isa_inst(op);
                    if (!writes_file(isa_targets[k], &writer, dst, file))
                        continue;
                    n++;
                    unsigned worst = latency_worst(isa_targets[k], &writer, dst);
                    if (worst != longest(isa_targets[k], &writer, dst))
                        fail_msg("%s: %s result %u: %u cycles, but a reader needs %u",
                                 isa_target_name(isa_targets[k]), isa_optype_name(op), dst, worst,
                                 longest(isa_targets[k], &writer, dst));
                }
    assert_true(n > 500);
}

static void expect_lasts(const Target *t, const MachInst *first, unsigned dst, const MachInst *second) {
    unsigned lasts = latency_result_lasts(t, first, dst), worst = latency_waw(t, first, dst, second);
    for (unsigned src = 0; src <= second->nsrc; src++) {
        unsigned n = latency_raw(t, first, dst, second, src < second->nsrc ? src : LATENCY_GUARD);
        worst = n > worst ? n : worst;
    }
    if (worst > lasts)
        fail_msg("%s: %s lasts %u cycles, %s needs %u", isa_target_name(t), isa_optype_name(first->optype),
                 lasts, isa_optype_name(second->optype), worst);
}

static void expect_operands_last(const Target *t, MachInst first, const MachInst *second) {
    for (unsigned src = 0; src <= first.nsrc; src++)
        for (unsigned file = 0; file < RF_COUNT; file++) {
            if (src < first.nsrc)
                first.src[src].file = (uint8_t)file;
            unsigned n = latency_war(t, &first, src < first.nsrc ? src : LATENCY_GUARD, second);
            if (n > latency_operands_last(&first))
                fail_msg("%s: operands of %s last %u cycles, %s needs %u", isa_target_name(t),
                         isa_optype_name(first.optype), latency_operands_last(&first),
                         isa_optype_name(second->optype), n);
        }
}

/* The bounds of all distances, for two instructions of every two units that a target has, guarded or not. */
static void test_lasts(void **state) {
    (void)state;
    for (unsigned k = 0; isa_targets[k]; k++) {
        const Target *t = isa_targets[k];
        for (unsigned one = 1; one < OT_COUNT; one++)
            for (unsigned other = 1; isa_target_has(t, one) && other < OT_COUNT; other++) {
                MachInst first = isa_inst(one), second = isa_inst(other);
                if (!isa_target_has(t, other))
                    continue;
                second.guard = op_reg(RF_P, one % 2 ? 0 : REG_PT, 1);
                first.src[0].count = (uint8_t)(1 + other % 4);
                expect_operands_last(t, first, &second);
                for (unsigned dst = 0; dst < isa_num_dst(one); dst++)
                    for (unsigned file = 0; file < RF_COUNT; file++)
                        if (writes_file(t, &first, dst, file))
                            expect_lasts(t, &first, dst, &second);
            }
    }
}

/* Stall count 0 with YIELD: from sm_80 on what reads a product's result may come next, where ptxas's -O0 puts
 * it, and 61 cycles pass on an H200 whatever it is. Elsewhere and without YIELD it is no more than it says.
 */
static void test_zero_yields(void **state) {
    (void)state;
    static const unsigned ops[] = {OT_HMMA, OT_IMMA, OT_FFMA};
    for (unsigned k = 0; isa_targets[k]; k++)
        for (unsigned n = 0; n < 3; n++)
            for (unsigned words = 2; words <= 4; words += 2) {
                const Target *t = isa_targets[k];
                bool new = strcmp(isa_target_name(t), "sm_75") != 0;
                bool hopper = strncmp(isa_target_name(t), "sm_90", 5) == 0;
                MachInst in = isa_inst(ops[n]);
                in.dst[0] = op_reg(RF_R, 8, 4);
                in.src[HMMA_ra] = op_reg(RF_R, 4, (uint8_t)words);
                in.ctrl.stall_cycles = 0, in.ctrl.yield = true;
                bool waits = latency_next(t, &in) >= latency_worst(t, &in, 0);
                assert_int_equal(waits, hopper || (new &&ops[n] != OT_FFMA));
                assert_true(!hopper || latency_next(t, &in) == 61);
                in.ctrl.yield = false;
                assert_int_equal(latency_next(t, &in), 1);
                in.ctrl.yield = true, in.ctrl.stall_cycles = 1;
                assert_int_equal(latency_next(t, &in), 1);
            }
}

/* A result that the second instruction overwrites: nothing else tells these numbers, as the compiler keeps
 * and the checkers ask for what the tables say. */
static void test_overwritten(void **state) {
    (void)state;
    static const struct {
        unsigned first, file, second, sm_75, sm_80, sm_90;
    } rows[] = {
        {OT_ISETP, RF_P, OT_FSETP, 2, 2, 2}, {OT_FSETP, RF_P, OT_SHFL, 11, 12, 12},
        {OT_IADD3, RF_R, OT_IMAD, 1, 1, 1},  {OT_IADD3, RF_R, OT_MUFU, 6, 6, 6},
        {OT_FFMA, RF_R, OT_LDG, 6, 6, 6},    {OT_HADD2, RF_R, OT_IADD3, 3, 3, 3},
        {OT_CS2R, RF_R, OT_HADD2, 2, 1, 1},  {OT_CS2R, RF_R, OT_IADD3, 2, 2, 2},
    };
    static const char *const names[] = {"sm_75", "sm_80", "sm_90"};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (unsigned t = 0; t < 3; t++) {
            const Target *target = isa_target(names[t]);
            MachInst first = isa_inst(rows[k].first), second = isa_inst(rows[k].second);
            first.dst[0] = op_reg((RegFile)rows[k].file, 0, 1);
            unsigned want = t == 0 ? rows[k].sm_75 : t == 1 ? rows[k].sm_80 : rows[k].sm_90;
            if (latency_waw(target, &first, 0, &second) != want)
                fail_msg("%s: %s over %s: %u cycles, expected %u", names[t], isa_optype_name(rows[k].second),
                         isa_optype_name(rows[k].first), latency_waw(target, &first, 0, &second), want);
        }
}

/* Uniform registers and predicates: what was measured on sm_75 and sm_80, and on sm_90 the least that
 * ptxas 13.0 keeps. Distances of other readers follow from these units. */
static void test_uniform_distances(void **state) {
    (void)state;
    enum { GUARD = LATENCY_GUARD };
    static const struct {
        unsigned writer, file, reader, src, sm_75, sm_80, sm_90;
    } rows[] = {
        {OT_UIADD3, RF_UR, OT_UIADD3, 0, 4, 4, 4},
        {OT_UIADD3, RF_UR, OT_ULOP3, 0, 4, 4, 4},
        {OT_UIADD3, RF_UR, OT_IADD3, 1, 6, 6, 6},
        {OT_ULOP3, RF_UR, OT_FFMA, 1, 6, 6, 6},
        {OT_UIADD3, RF_UR, OT_LDG, 1, 9, 9, 9},
        {OT_UIADD3, RF_UR, OT_STG, 1, 9, 9, 9},
        {OT_UIADD3, RF_UR, OT_ULDC, 0, 12, 12, 12},
        {OT_UIADD3, RF_UR, OT_UMOV, 0, 7, 7, 7},
        {OT_ULEA, RF_UR, OT_VOTEU, 0, 7, 7, 7},
        {OT_UIADD3, RF_UR, OT_BRA, 0, 10, 10, 10},
        {OT_UMOV, RF_UR, OT_UIADD3, 0, 2, 2, 2},
        {OT_UMOV, RF_UR, OT_ULDC, 0, 5, 5, 5},
        {OT_ULDC, RF_UR, OT_IADD3, 1, 2, 2, 2},
        {OT_ULDC, RF_UR, OT_LDG, 1, 2, 2, 2},
        {OT_UISETP, RF_UP, OT_UISETP, 0, 4, 4, 4},
        {OT_UISETP, RF_UP, OT_SEL, 0, 6, 6, 6},
        {OT_UISETP, RF_UP, OT_UIADD3, GUARD, 11, 11, 11},
        {OT_UISETP, RF_UP, OT_ULDC, 0, 11, 11, 13},
        {OT_UISETP, RF_UP, OT_SYNCS_EXCH, GUARD, 11, 11, 11},
    };
    static const char *const names[] = {"sm_75", "sm_80", "sm_90"};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (unsigned t = 0; t < 3; t++) {
            const Target *target = isa_target(names[t]);
            MachInst writer = isa_inst(rows[k].writer), reader = isa_inst(rows[k].reader);
            writer.dst[0] = op_reg((RegFile)rows[k].file, 0, 1);
            unsigned want = t == 0   ? rows[k].sm_75
                            : t == 1 ? rows[k].sm_80
                                     : rows[k].sm_90,
                     is = latency_raw(target, &writer, 0, &reader, rows[k].src);
            if (is != want)
                fail_msg("%s: %u cycles from %s to %s, measured %u", names[t], is,
                         isa_optype_name(rows[k].writer), isa_optype_name(rows[k].reader), want);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_worst), cmocka_unit_test(test_lasts),
                                       cmocka_unit_test(test_overwritten), cmocka_unit_test(test_zero_yields),
                                       cmocka_unit_test(test_uniform_distances)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
