/* What a key leaves open and others say. Expected words are the tables' encoder's.
 * SPDX-License-Identifier: MIT */
#include "isa/isa.h"
#include "learn/learn.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static void encode(const char *text, uint64_t word[2]) {
    MachInst in;
    const char *end;
    char error[ISA_ERROR_BYTES];
    if (!isa_parse(isa_target("sm_75"), text, 0, NULL, &in, &end, error) ||
        !isa_encode(isa_target("sm_75"), &in, word, error))
        fail_msg("%s: %s", text, error);
    word[1] &= ~((((uint64_t)1 << 17) - 1) << (LEARN_CONTROL_BIT - 64));
}

static void see(LearnRepository *repository, const char *text) {
    LearnSight sight = {.text = text, .file = "seen", .count = 1};
    char why[LEARN_WHY_BYTES] = "";
    const char *at;
    encode(text, sight.word);
    LearnAdded added = learn_add(repository, &sight, &at, why);
    if (added != LEARN_NEW && added != LEARN_KNOWN)
        fail_msg("%s: %s", text, why);
}

/* The form has places for eight numbers below 250, which vary. */
static void see_many(LearnRepository *repository, const char *form) {
    char text[200];
    unsigned n[8], state = 1;
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned k = 0; k < 8; k++)
            n[k] = (state = state * 1103515245 + 12345) >> 16;
        unsigned at = 0, next = 0; /* registers %r, %e even, %v uniform and even; predicates %p, offsets %o */
        for (const char *p = form; *p; p++) {
            unsigned value = n[next % 8];
            if (*p != '%') {
                text[at++] = *p;
                continue;
            }
            p++;
            value = *p == 'r'   ? value % 250
                    : *p == 'e' ? value % 125 * 2
                    : *p == 'v' ? value % 31 * 2
                    : *p == 'p' ? value % 7
                                : value % 0x2000 * 4;
            at += (unsigned)snprintf(text + at, sizeof text - at, *p == 'o' ? "0x%x" : "%u", value);
            next++;
        }
        text[at] = 0;
        see(repository, text);
    }
}

static void expect(LearnRepository *repository, const char *text, bool is_known) {
    uint64_t word[2], want[2];
    char why[LEARN_WHY_BYTES] = "";
    const char *at;
    LearnAssembled result = learn_assemble(repository, text, 0, word, &at, why);
    if (is_known && result != LEARN_WORD)
        fail_msg("%s: %s", text, why);
    assert_int_equal(result, is_known ? LEARN_WORD : LEARN_OUTSIDE);
    encode(text, want);
    if (is_known)
        assert_memory_equal(word, want, sizeof want);
}

/* Predicates in front of a source do not make it another place. */
static void test_places(void **state) {
    (void)state;
    LearnRepository repository;
    learn_open(&repository, "sm_75");
    see_many(&repository, "IADD3 R%r, P%p, P%p, R%r, R%r, R%r");
    expect(&repository, "IADD3 R1, P2, P3, R4, R5, -R6", false);
    see_many(&repository, "IADD3 R%r, R%r, R%r, R%r");
    see_many(&repository, "IADD3 R%r, R%r, R%r, -R%r");
    expect(&repository, "IADD3 R1, P2, P3, R4, R5, -R6", true);
    expect(&repository, "IADD3 R1, P2, P3, R4, -R5, R6", false);
    learn_free(&repository);
}

/* What makes an offset of a constant one below zero is the same in all opcodes, if two others say so. */
static void test_constants(void **state) {
    (void)state;
    LearnRepository repository;
    learn_open(&repository, "sm_75");
    see_many(&repository, "FADD R%r, R%r, c[0x0][%o]");
    see_many(&repository, "IADD3 R%r, R%r, c[0x0][%o], R%r");
    see_many(&repository, "FMUL R%r, R%r, c[0x0][%o]");
    see(&repository, "FMUL R3, R4, c[0x0][-0x8000]");
    expect(&repository, "IADD3 R1, R2, c[0x0][-0x8000], R3", false);
    see_many(&repository, "FFMA R%r, R%r, c[0x0][%o], R%r");
    see(&repository, "FFMA R3, R4, c[0x0][-0x4000], R5");
    expect(&repository, "FADD R1, R2, c[0x0][-0x8000]", true);
    expect(&repository, "IADD3 R1, R2, c[0x0][-0x8000], R3", true);
    learn_free(&repository);
}

/* The offset of LD behind a uniform register lies elsewhere: what other forms say of it puts it into the
 * register's bits. */
static void test_overlap(void **state) {
    (void)state;
    LearnRepository repository;
    learn_open(&repository, "sm_75");
    see_many(&repository, "LD.E.SYS R%r, [R%e+%o]");
    see_many(&repository, "LD.E.SYS R%r, [UR%v]");
    expect(&repository, "LD.E.SYS R1, [UR6]", true);
    expect(&repository, "LD.E.SYS R1, [UR4+0x4]", false);
    expect(&repository, "LD.E.SYS R1, [UR4+0x8]", false);
    learn_free(&repository);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places), cmocka_unit_test(test_constants),
                                       cmocka_unit_test(test_overlap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
