/* The features of the description language, on the machine of ok_features.isa; words worked out by hand.
 * SPDX-License-Identifier: MIT */
#include "isa/isa.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static char error[ISA_ERROR_BYTES];

static void expect(const char *target, const MachInst *in, uint64_t lo, uint64_t hi, const char *text) {
    const Target *t = isa_target(target);
    uint64_t w[2] = {0, 0};
    char buf[200];
    const char *end;
    MachInst back;
    if (!isa_encode(t, in, w, error))
        fail_msg("%s: %s", text, error);
    assert_int_equal(w[0], lo);
    assert_int_equal(w[1], hi);
    assert_true(isa_decode(t, w, &back, error));
    isa_print(t, &back, 0, NULL, buf, sizeof buf);
    assert_string_equal(buf, text);
    assert_true(isa_parse(t, text, 0, NULL, &back, &end, error));
    uint64_t x[2];
    assert_true(isa_encode(t, &back, x, error));
    assert_int_equal(x[0], lo);
    assert_int_equal(x[1], hi);
}

static MachInst mix(void) {
    MachInst in = isa_inst(OT_MIX);
    in.src[MIX_a] = op_imm(0xa5);
    in.src[MIX_b] = op_imm(0x1c);
    in.src[MIX_c] = op_imm(16);
    in.src[MIX_where] = (Operand){OPK_IMM64, 0, 0, 0, 0};
    in.wide = 0x20;
    return in;
}

/* a: 5 at 16, a at 40. pp: PT reversed is 0. b: 7 at 24. c: 15 at 32. n at 50. fixed a at 60. where: 2 at 64.
 */
static void test_values(void **state) {
    (void)state;
    MachInst in = mix();
    expect("one", &in, 0xa0000a0f07057123u, 0x2, "MIX 0xa5, 0x1c, 0x10, 0x30");
    in.src[MIX_pp] = op_with(op_reg(RF_P, 5, 1), OPM_NOT); /* 7 - 5 = 2 at 20, not at 23 */
    in.src[MIX_n] = op_imm(3);
    expect("one", &in, 0xa00c0a0f07a57123u, 0x2, "MIX 0xa5, 0x1c, 0x10, !P5, 0x3, 0x30");
}

static void test_conditional(void **state) {
    (void)state;
    MachInst in = mix();
    in.mods = MSET(MIX, w, 1);
    in.src[MIX_u] = op_reg(RF_UR, 4, 1);
    expect("one", &in, 0xa0110a0f07057123u, 0x2, "MIX.W 0xa5, 0x1c, 0x10, UR4, 0x30");
}

static void test_target_variants(void **state) {
    (void)state;
    MachInst in = mix();
    in.mods = MSET(MIX, colour, Colour_BLUE);
    expect("one", &in, 0xa0000a0f07057123u, 0x3000000002, "MIX.BLUE 0xa5, 0x1c, 0x10, 0x30");
    expect("two", &in, 0xa0000a0f07057123u, 0x2, "MIX.BLUE 0xa5, 0x1c, 0x10, 0x30");
    in.mods = 0; /* RED */
    expect("two", &in, 0xa0000a0f07057123u, 0x4000000002, "MIX 0xa5, 0x1c, 0x10, 0x30");
}

/* Which targets have an operation, a letter each. */
static void has(unsigned optype, const char *letters) {
    static const char *const names[] = {"one", "two", "side", "newer", "alone"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (isa_target_has(isa_target(names[i]), optype) != (strchr(letters, names[i][0]) != NULL))
            fail_msg("%s on %s", isa_optype_name(optype), names[i]);
}

static void test_ranges(void **state) {
    (void)state;
    has(OT_MIX, "otsn");
    has(OT_OLD, "os");
    has(OT_NEW, "tn");
    has(OT_MIDDLE, "t");
    has(OT_SOLE, "s");
    MachInst in = mix(); /* a variant by inheritance */
    in.mods = MSET(MIX, colour, Colour_BLUE);
    expect("side", &in, 0xa0000a0f07057123u, 0x3000000002, "MIX.BLUE 0xa5, 0x1c, 0x10, 0x30");
    expect("newer", &in, 0xa0000a0f07057123u, 0x2, "MIX.BLUE 0xa5, 0x1c, 0x10, 0x30");
}

/* MIX and TWIN replace what their group says, ADD takes it and adds what only results need. */
static void test_columns(void **state) {
    (void)state;
    const OpTraits *mix_says = isa_traits(OT_MIX), *add = isa_traits(OT_ADD), *twin = isa_traits(OT_TWIN);
    assert_int_equal(mix_says->unit, ISA_UNIT_CTRL);
    assert_int_equal(mix_says->effects, ISA_EFFECT_BRANCH | ISA_EFFECT_ORDER);
    assert_int_equal(mix_says->second_guard, MIX_pp);
    assert_int_equal(mix_says->uniform, ISA_UNIFORM_NO_RESULT);
    assert_int_equal(mix_says->guard, ISA_GUARD_FIXED);
    assert_int_equal(add->unit, ISA_UNIT_ALU);
    assert_int_equal(add->effects, 0);
    assert_int_equal(add->lanes, ISA_LANES_EACH);
    assert_int_equal(add->uniform, ISA_UNIFORM_BY_DATA);
    assert_int_equal(add->exact, ISA_EXACT_BITS);
    assert_int_equal(add->address[0], ISA_NO_SLOT);
    assert_int_equal(add->second_guard, ISA_NO_SLOT);
    assert_int_equal(add->combines_src, ISA_NO_SLOT);
    assert_null(add->absent);
    assert_int_equal(twin->effects, ISA_EFFECT_READ | ISA_EFFECT_WRITE | ISA_EFFECT_ATOMIC);
    assert_int_equal(twin->queue, ISA_QUEUE_SHARED);
    assert_int_equal(twin->space, ISA_SPACE_GLOBAL | ISA_SPACE_SHARED);
    assert_int_equal(twin->address[0], TWIN_ra);
    assert_int_equal(twin->address[1], ISA_NO_SLOT);
    assert_int_equal(twin->address[2], ISA_NO_SLOT);
    assert_int_equal(twin->simulated, ISA_SIMULATED_ABSENT);
    assert_string_equal(twin->absent, "a twin");
    assert_int_equal(isa_traits(60000)->effects, 0);
}

static void test_properties(void **state) {
    (void)state;
    const TargetInfo *side = isa_target_info(isa_target("side")),
                     *newer = isa_target_info(isa_target("newer"));
    assert_int_equal(side->latency, Latency_SLOW);
    assert_int_equal(newer->latency, Latency_FAST);
    assert_int_equal(side->sm_warps, 32);
    assert_int_equal(newer->sm_warps, 48);
    assert_int_equal(newer->elf_flags, 4);
    assert_int_equal(newer->num_regs[RF_UR], 63);
    assert_true(newer->has_alu_cmem);
    assert_false(newer->has_yield_fairness);
}

static void test_alias(void **state) {
    (void)state;
    MachInst in = mix();
    in.src[MIX_a] = op_imm(0);
    expect("one", &in, 0xa000000f07007123u, 0x2, "MIXZ 0x0, 0x1c, 0x10, 0x30");
}

static void refuse(const MachInst *in, const char *why) {
    uint64_t w[2] = {1, 2};
    assert_false(isa_encode(isa_target("one"), in, w, error));
    assert_non_null(strstr(error, why));
    assert_int_equal(w[0], 1);
}

static void test_refusals(void **state) {
    (void)state;
    MachInst in = mix();
    in.mods = MSET(MIX, colour, Colour_GREEN);
    refuse(&in, "GREEN needs .W");
    in = mix();
    in.src[MIX_b] = op_imm(0x1d);
    refuse(&in, "not a multiple");
    in = mix();
    in.src[MIX_b] = op_imm(0x400);
    refuse(&in, "out of range");
    in = mix();
    in.src[MIX_c] = op_imm(0); /* biased: 1..16 */
    refuse(&in, "out of range");
    in = mix();
    in.wide = (int64_t)1 << 35;
    refuse(&in, "out of range");
    in = mix();
    in.src[MIX_pp] = op_reg(RF_R, 0, 1);
    refuse(&in, "pp");
}

static void test_strict_decode(void **state) {
    (void)state;
    const Target *t = isa_target("one");
    MachInst out;
    uint64_t ok[2] = {0xa0000a0f07057123u, 2}, w[2];
    assert_true(isa_decode(t, ok, &out, error));
    memcpy(w, ok, sizeof w);
    w[1] |= (uint64_t)1 << 50; /* reserved as zero */
    assert_false(isa_decode(t, w, &out, error));
    assert_non_null(strstr(error, "bit 114"));
    memcpy(w, ok, sizeof w);
    w[0] ^= (uint64_t)1 << 60; /* fixed */
    assert_false(isa_decode(t, w, &out, error));
    memcpy(w, ok, sizeof w);
    w[1] |= (uint64_t)2 << 36; /* no such colour */
    assert_false(isa_decode(t, w, &out, error));
    assert_non_null(strstr(error, "colour"));
    w[0] = 0x456;
    assert_false(isa_decode(t, w, &out, error));
    assert_non_null(strstr(error, "unknown opcode 0x456"));
}

static void test_forms(void **state) {
    (void)state;
    MachInst in = isa_inst(OT_ADD);
    in.dst[ADD_rd] = op_reg(RF_R, 2, 1);
    in.src[ADD_ra] = op_with(op_reg(RF_R, 3, 1), OPM_NEG);
    in.src[ADD_rb] = op_with(op_reg(RF_R, 4, 1), OPM_ABS);
    expect("one", &in, 0x4000000403027210u, 0x100, "ADD R2, -R3, |R4|");
    in.src[ADD_rb] = op_imm((uint32_t)-2);
    expect("one", &in, 0xfffffffe03027810u, 0x100, "ADD R2, -R3, -0x2");
    in.src[ADD_rb] = op_cmem(1, 0x10);
    expect("one", &in, 0x0040040003027a10u, 0x100, "ADD R2, -R3, c[0x1][0x10]");
    in.src[ADD_rb] = op_with(op_reg(RF_UR, 5, 1), OPM_NEG);
    expect("one", &in, 0x8000000503027c10u, 0x8000100, "ADD R2, -R3, -UR5");
    in.src[ADD_rb] = op_with(op_imm(1), OPM_NEG);
    refuse(&in, "rb");
}

static void test_fixed_bit_tells_apart(void **state) {
    (void)state;
    MachInst in = isa_inst(OT_TWIN);
    in.dst[TWIN_rd] = op_reg(RF_R, 8, 2);
    in.src[TWIN_ra] = op_reg(RF_R, 9, 1);
    expect("one", &in, 0x9087700, 0, "TWIN.A R8, R9");
    in.src[TWIN_ra] = op_reg(RF_UR, 9, 1);
    expect("one", &in, 0x9087700, 0x8000000, "TWIN.B R8, UR9");
    in.src[TWIN_ra] = op_reg(RF_R, 9, 1);
    in.dst[TWIN_rd] = op_reg(RF_R, 7, 2);
    refuse(&in, "even");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_conditional),
                                       cmocka_unit_test(test_target_variants),
                                       cmocka_unit_test(test_ranges),
                                       cmocka_unit_test(test_columns),
                                       cmocka_unit_test(test_properties),
                                       cmocka_unit_test(test_alias),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_strict_decode),
                                       cmocka_unit_test(test_forms),
                                       cmocka_unit_test(test_fixed_bit_tells_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
