/* words.txt: word -> text and back. argv[1] is the file, argv[2] how many lines it has at least.
 * SPDX-License-Identifier: MIT */
#include "isa/isa.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static const char *path;
static int least;

static void check(const char *target, uint64_t pc, const uint64_t w[2], const char *text) {
    const Target *t = isa_any_target(target);
    MachInst in, back;
    char error[ISA_ERROR_BYTES] = "", out[512];
    const char *end;
    uint64_t x[2];
    assert_non_null(t);
    if (!isa_decode(t, w, &in, error))
        fail_msg("%s %s: %s", target, text, error);
    /* ptxas says "keep issuing" with stalls 1 to 11 alone: our code does the same (test_control) */
    if ((in.ctrl.stall_cycles == 0 || in.ctrl.stall_cycles > 11) && !in.ctrl.yield)
        fail_msg("%s %s: stall %u without yield", target, text, in.ctrl.stall_cycles);
    isa_print(t, &in, pc, NULL, out, sizeof out);
    assert_string_equal(out, text);
    if (!isa_parse(t, text, pc, NULL, &back, &end, error))
        fail_msg("%s %s: %s", target, text, error);
    back.ctrl = in.ctrl;
    if (!isa_encode(t, &back, x, error))
        fail_msg("%s %s: %s", target, text, error);
    assert_int_equal(x[0], w[0]);
    assert_int_equal(x[1], w[1]);
    in.opcode = 0; /* the form follows from the operands */
    assert_true(isa_encode(t, &in, x, error));
    assert_int_equal(x[0], w[0]);
    assert_int_equal(x[1], w[1]);
}

static void test_words(void **state) {
    (void)state;
    FILE *f = fopen(path, "r");
    char line[1024], target[32];
    unsigned long long pc, lo, hi;
    int n = 0, at;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || !line[0])
            continue;
        assert_int_equal(sscanf(line, "%31s %llx %llx %llx | %n", target, &pc, &lo, &hi, &at), 4);
        check(target, pc, (const uint64_t[2]){lo, hi}, line + at);
        n++;
    }
    fclose(f);
    assert_true(n >= least);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    path = argv[1];
    least = atoi(argv[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
