/* bru1's branch and barrier units: words worked out by hand from the specification's field positions and the
 * numbers of isa/common.isa; texts are the specification's examples.
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

static bool resolve(void *user, const char *name, size_t size_bytes, int64_t *value) {
    (void)user;
    if (size_bytes == 5 && !memcmp(name, "label", 5))
        *value = 0x110;
    else if (size_bytes == 5 && !memcmp(name, ".Base", 5))
        *value = 0x200;
    else
        return false;
    return true;
}

/* Control part with stall 0, no yield, no scoreboards: bit 109 and 110-115 set. PT in pp is 7 at bit 98. */
#define CTRL 0x000fe00000000000u
#define PP_PT 0x0000001c00000000u

static const struct {
    uint64_t pc;
    const char *text;
    uint64_t lo, hi;
} rows[] = {
    {0x10, "BRA `(label)", 0x0000000f00007147u, CTRL | PP_PT},
    {0x10, "BRA 0x110", 0x0000000f00007147u, CTRL | PP_PT},
    {0x40, "BRA 0x40", 0xffffffff00007147u, CTRL | PP_PT | 0x3ffff},
    {0, "@P0 BRA 0x800", 0x0000007f00000147u, CTRL | PP_PT},
    {0, "@!P1 BRA.U 0x6290", 0x0000062800009147u, CTRL | PP_PT | 1 << 18},
    {0, "@!P1 BRA !P2, 0x7e0", 0x0000007d00009147u, CTRL | 0x2800000000u},
    {0, "BRA.DIV ~URZ, 0x3910", 0x000003903f007d47u, CTRL | PP_PT | 0x180000},
    {0, "@!P0 BRA.CONV UR4, 0xbe0", 0x000000bd04008d47u, CTRL | PP_PT | 0xc0000},
    {0, "BRX R6, -0x70", 0xfffffff906007349u, CTRL | PP_PT | 0x3ffff},
    {0x30, "BRX R6, `(.Base - . - 0x10)", 0x0000001c06007349u, CTRL | PP_PT},
    {0, "@P0 BRX !P1, R5, -0x110", 0xffffffef05000349u, CTRL | 0x240003ffffu},
    {0, "@P0 BRX UR4, -0x110", 0xffffffef04000d49u, CTRL | PP_PT | 0x3ffff},
    {0, "BRX c[0x3][0x180]", 0x0000600300007b49u, CTRL | PP_PT},
    {0, "CALL.ABS 0x0", 0x00000000ff007344u, CTRL | PP_PT | 0x40000},
    {0x10, "CALL.REL `(label)", 0x0000000fff007344u, CTRL | PP_PT},
    {0, "CALL.ABS R[8:9], 0x110", 0x0000001108007344u, CTRL | PP_PT | 0x40000},
    {0, "@P1 CALL.ABS P0, R[8:9], 0x110", 0x0000001108001344u, CTRL | 0x40000},
    {0, "CALL.ABS UR[4:5]", 0x0000000004007d44u, CTRL | PP_PT | 0x40000},
    {0, "CALL.REL c[0x2][0x100]", 0x0000400200007b44u, CTRL | PP_PT},
    {0, "RET.ABS R[20:21]", 0x0000000014007350u, CTRL | PP_PT | 0x40000},
    {0, "LEPC R[4:5]", 0x000000000004794eu, CTRL},
    {0, "LEPC R[4:5], 0x80", 0x000000080004794eu, CTRL},
    {0, "EXIT", 0x000000000000714du, CTRL | PP_PT},
    {0, "@!P1 EXIT, P2", 0x000000000000914du, CTRL | 0x0800000000u},
    {0, "BMOV B0, R3", 0x0000000003007355u, CTRL},
    {0, "BMOV R5, B11", 0x0000000000057155u, CTRL | 0xb00000},
    {0, "BMOV.CLEAR R6, B0", 0x0000000000067155u, CTRL | 0x40000},
    {0, "BSSY B0", 0x0000000000007945u, CTRL},
    {0, "BSSY B15, 0x100", 0x0000000f00007945u, CTRL | 0xf00000},
    {0, "@!P2 BSYNC B3", 0x000000000000a141u, CTRL | 0x300000},
    {0, "@P0 YIELD !P3", 0x0000000000000146u, CTRL | 0x2c00000000u},
    {0, "BREAK B2", 0x0000000000007142u, CTRL | PP_PT | 0x200000},
    {0, "WARPSYNC 0xffffffff", 0xffffffff00007948u, CTRL | PP_PT},
    {0, "@P0 WARPSYNC R9", 0x0000000900000348u, CTRL | PP_PT},
    {0, "@P1 WARPSYNC P3, UR2", 0x0000000200001d48u, CTRL | 0x0c00000000u},
    {0, "WARPSYNC c[0x2][0x100]", 0x0000400200007b48u, CTRL | PP_PT},
    {0, "WARPSYNC ~R1", 0x0000000100007348u, CTRL | PP_PT | 0x200000000u},
    {0, "NANOSLEEP 0x100", 0x000001000000795du, CTRL | PP_PT},
    {0, "@!P1 NANOSLEEP c[0x2][0x120]", 0x0000480200009b5du, CTRL | PP_PT},
    {0, "RTT", 0x000000000000714fu, CTRL},
    {0, "TRAP 0x5", 0x000000050000795cu, CTRL},
    {0, "SYSCALL", 0x000000000000735eu, CTRL},
    {0, "BAR.SYNC 0x0", 0x000000000000791du, CTRL},
    {0, "BAR.SYNC 0x1, 0x40", 0x000401000000791du, CTRL},
    {0, "BAR.ARV R4, 0x80", 0x000800040000771du, CTRL | 0x10000},
    {0, "BAR.ARV 0x1, R5", 0x0000010500007f1du, CTRL | 0x10000},
    {0, "BAR.SYNC R7, R8", 0x000000080700731du, CTRL},
    {0, "BAR.SYNC R4", 0x000000040000771du, CTRL},
    {0, "BAR.RED.OR 0x0, P0", 0x000000000000791fu, CTRL | 0x10000},
    {0, "BAR.RED.AND 0x1, 0x80, P0", 0x000801000000791fu, CTRL},
    {0, "BAR.RED.AND 0x1, R5, !P0", 0x0000010500007f1fu, CTRL | 0x2000000000u},
    {0, "BAR.RED.POPC R4, P0", 0x000000040000731fu, CTRL | 0x20000},
    {0, "BAR.RED.AND R4, 0x80, PT", 0x000800040000771fu, CTRL | PP_PT},
    {0, "B2R.RESULT RZ, P0", 0x0000000000ff711bu, CTRL},
    {0, "B2R.RESULT R4", 0x000000000004711bu, CTRL | 0x1c0000000000u},
    {0, "B2R R4, 0x2", 0x000002000004791cu, CTRL | 0x10000},
    {0, "B2R.BAR R4, 0x2", 0x000002000004791cu, CTRL | 0x10000},
    {0, "B2R.WARP R4", 0x000000000004791cu, CTRL},
    {0, "R2B 0x4, R4", 0x000004000400751eu, CTRL | 0x10000},
    {0, "R2B.WARP R4", 0x000000000400751eu, CTRL},
};

static void test_texts(void **state) {
    (void)state;
    const Target *t = isa_target("bru1");
    IsaParseOptions opt = {.resolve = resolve};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MachInst in, out, again;
        char error[ISA_ERROR_BYTES], buf[200];
        const char *end;
        uint64_t w[2];
        if (!isa_parse(t, rows[i].text, rows[i].pc, &opt, &in, &end, error))
            fail_msg("%s: %s at '%s'", rows[i].text, error, end);
        in.ctrl = CONTROL_DEFAULT;
        assert_true(isa_encode(t, &in, w, error));
        if (w[0] != rows[i].lo || w[1] != rows[i].hi)
            fail_msg("%s: 0x%016llx 0x%016llx", rows[i].text, (unsigned long long)w[0],
                     (unsigned long long)w[1]);
        assert_true(isa_decode(t, w, &out, error));
        isa_print(t, &out, rows[i].pc, NULL, buf, sizeof buf);
        if (!isa_parse(t, buf, rows[i].pc, NULL, &again, &end, error))
            fail_msg("%s: %s", buf, error);
        again.ctrl = CONTROL_DEFAULT;
        assert_true(isa_encode(t, &again, w, error));
        assert_int_equal(w[0], rows[i].lo);
        assert_int_equal(w[1], rows[i].hi);
    }
}

static void test_encoding_error(void **state) {
    (void)state;
    MachInst in;
    char error[ISA_ERROR_BYTES];
    const char *end;
    assert_false(isa_parse(isa_target("bru1"), "BRA UR4, 0x10", 0, NULL, &in, &end, error));
    in = isa_inst(OT_BRA);
    in.src[BRA_ura] = op_reg(RF_UR, 4, 1);
    in.src[BRA_offset] = (Operand){OPK_IMM64, 0, 0, 0, 0};
    uint64_t w[2];
    assert_false(isa_encode(isa_target("bru1"), &in, w, error));
    assert_non_null(strstr(error, "BRA_U should be used with .DIV/.CONV."));
}

/* Stall count at 102-105, where native targets have 105-108; the rest of the control field is the same. */
static void test_control(void **state) {
    (void)state;
    MachInst in = isa_inst(OT_NOP);
    char error[ISA_ERROR_BYTES];
    uint64_t w[2];
    in.ctrl = (Control){.stall_cycles = 11, .yield = 1, .write_sb = 2, .read_sb = 5, .wait_mask = 0x21};
    assert_true(isa_encode(isa_target("bru1"), &in, w, error));
    assert_int_equal(w[0], 0x7918);
    assert_int_equal(w[1], (uint64_t)11 << 38 | (uint64_t)2 << 46 | (uint64_t)5 << 49 | (uint64_t)0x21 << 52);
    assert_true(isa_encode(isa_target("sm_80"), &in, w, error));
    assert_int_equal(w[1], (uint64_t)11 << 41 | (uint64_t)2 << 46 | (uint64_t)5 << 49 | (uint64_t)0x21 << 52);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_encoding_error),
                                       cmocka_unit_test(test_control)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
