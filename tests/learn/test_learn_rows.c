/* Rows learned from random instructions of the tables are the tables' rows: the fields that isa/alu.isa,
 * isa/mem.isa and isa/sm_ctrl.isa state are found again. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "base/scope.h"
#include "isa/isa.h"
#include "learn/rows.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

enum { PC = 0x1000 };

/* Plain instructions of one opcode: modifiers of operands, none of the opcode. with: only those whose text
 * has it; NULL: all. */
static void add_random(LearnRowMaker *maker, const Target *target, unsigned opcode, unsigned n,
                       const char *with, bool is_lacking) {
    uint64_t seed = 7;
    for (unsigned i = 0; i < n; i++) {
        MachInst in;
        char text[512], error[ISA_ERROR_BYTES];
        uint64_t word[2];
        isa_random(target, opcode, &seed, &in);
        in.mods = 0;
        in.ctrl = CONTROL_DEFAULT;
        if (!isa_encode(target, &in, word, error) ||
            isa_print(target, &in, PC, NULL, text, sizeof text) <= 0 || (with && !strstr(text, with)))
            continue;
        LearnSight sight = {.text = text,
                            .pc_bytes = PC,
                            .word = {word[0], word[1] & ~((uint64_t)0x1ffff << 41)},
                            .file = "",
                            .count = 1};
        learn_rows_add(maker, &sight, is_lacking);
    }
}

static char *rows_of(LearnRowMaker *maker, LearnRows *counts) {
    TextStream *stream = text_open();
    size_t size;
    *counts = learn_print_rows(maker, stream->out);
    return text_close(stream, &size);
}

typedef struct {
    unsigned opcode;
    const char *lines[9];
} Expected;

static void test_rows(void **state) {
    (void)state;
    static const Expected all[] = {
        {OC_FMNMX_R,
         {"opcode == 0x209;", "field<16, 8> Reg ra = RZ;", "field<24, 8> Reg rb = RZ;",
          "field<32, 8> Reg rc = RZ;", "field<72, 1> SignModi rb.neg", "field<63, 1> SignModi rc.neg",
          "field<62, 1> SignModi rc.abs", "field<87, 3> Pred pd = PT;", "reuse<122> rb;"}},
        {OC_SEL_I,
         {"opcode == 0x807;", "field<16, 8> Reg ra = RZ;", "field<24, 8> Reg rb = RZ;",
          "field<32, 32> UImm32 nc;", "field<90, 1> PModi pd.not", "Syntax \"SEL ra, rb, nc, pd\";"}},
        {OC_LDC,
         {"opcode == 0xb82;", "field<16, 8> Reg ra = RZ;", "field<24, 8> Reg rb = RZ;",
          "field<{54, 5}, {38, 16}> CMem cbc;"}},
        {OC_BSYNC, {"opcode == 0x941;", "field<16, 4> BReg ba;"}},
        {OC_LDS_R, {"opcode == 0x984;", "field<40, 24> SImm24 offset", "Syntax \"LDS ra, [rb+offsetc]\";"}},
    };
    const Target *target = isa_target("sm_90");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        LearnRowMaker maker;
        learn_rows_open(&maker, "sm_90");
        add_random(&maker, target, all[i].opcode, 400, NULL, true);
        LearnRows counts;
        char *text = rows_of(&maker, &counts);
        if (!counts.nrows)
            fail_msg("%s: no row:\n%s", isa_opcode_name(all[i].opcode), text);
        for (size_t k = 0; k < 9 && all[i].lines[k]; k++)
            if (!strstr(text, all[i].lines[k]))
                fail_msg("%s: no %s in\n%s", isa_opcode_name(all[i].opcode), all[i].lines[k], text);
        mem_free(text);
        learn_rows_free(&maker);
    }
}

/* One instruction says nothing of where its registers stand: a comment with the reason, no row. */
static void test_too_little(void **state) {
    (void)state;
    LearnRowMaker maker;
    learn_rows_open(&maker, "sm_90");
    LearnSight sight = {
        .text = "NEWOP R1, R2, R3", .word = {0x0000000302017999, 0x0}, .file = "", .count = 1};
    learn_rows_add(&maker, &sight, true);
    LearnRows counts;
    char *text = rows_of(&maker, &counts);
    assert_int_equal(counts.nrows, 0);
    assert_int_equal(counts.nrefused, 1);
    assert_non_null(strstr(text, "// NEWOP_R_R_R as in NEWOP R1, R2, R3: what was seen does not say"));
    mem_free(text);
    learn_rows_free(&maker);
}

/* Of SEL with a number only predicates under "!" were seen, so that its own words do not say which bit that
 * is: SEL with a register and with a constant, which need no row, do. */
static void test_lent(void **state) {
    (void)state;
    const Target *target = isa_target("sm_90");
    for (unsigned lent = 0; lent < 2; lent++) {
        LearnRowMaker maker;
        LearnRows counts;
        learn_rows_open(&maker, "sm_90");
        add_random(&maker, target, OC_SEL_I, 400, ", !P", true);
        for (unsigned i = 0; lent && i < 2; i++)
            add_random(&maker, target, i ? OC_SEL_C : OC_SEL_R, 400, NULL, false);
        char *text = rows_of(&maker, &counts);
        assert_int_equal(counts.nrows, lent);
        assert_int_equal(counts.nrefused, !lent);
        assert_int_equal(strstr(text, "field<90, 1> PModi pd.not") != NULL, lent);
        assert_null(strstr(text, "opcode == 0x207"));
        mem_free(text);
        learn_rows_free(&maker);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lent), cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_too_little)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
