/* Random legal instructions of every opcode of every target: encode, decode, the same; print, parse, encode,
 * the same word. The two directions share only the tables.
 * SPDX-License-Identifier: MIT */
#include "isa/isa.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

enum { PER_OPCODE = 64 };

static unsigned count_targets(void) {
    unsigned n = 0;
    while (isa_all_targets[n])
        n++;
    return n;
}

static bool same_operand(const Operand *operand, const Operand *b) {
    return operand->kind == b->kind && operand->value == b->value && operand->mods == b->mods &&
           operand->file == b->file;
}

static void one(const Target *t, unsigned opcode, uint64_t *seed, uint64_t pc) {
    MachInst in, out, text;
    char error[ISA_ERROR_BYTES] = "", buf[512];
    const char *end, *name = isa_opcode_name(opcode);
    uint64_t w[2], x[2];
    isa_random(t, opcode, seed, &in);
    if (!isa_encode(t, &in, w, error) || !isa_decode(t, w, &out, error))
        fail_msg("%s %s: %s", isa_target_name(t), name, error);
    assert_int_equal(out.opcode, opcode);
    assert_int_equal(out.mods, in.mods);
    assert_int_equal(out.wide, in.wide);
    assert_memory_equal(&out.ctrl, &in.ctrl, sizeof in.ctrl);
    assert_true(same_operand(&in.guard, &out.guard));
    for (unsigned i = 0; i < in.ndst; i++)
        if (!same_operand(&in.dst[i], &out.dst[i]))
            fail_msg("%s %s: destination %u", isa_target_name(t), name, i);
    for (unsigned i = 0; i < in.nsrc; i++)
        if (!same_operand(&in.src[i], &out.src[i]))
            fail_msg("%s %s: source %u", isa_target_name(t), name, i);
    int n = isa_print(t, &out, pc, NULL, buf, sizeof buf);
    assert_true(n > 0 && (size_t)n < sizeof buf);
    if (!isa_parse(t, buf, pc, NULL, &text, &end, error))
        fail_msg("%s: %s: %s", isa_target_name(t), buf, error);
    assert_int_equal(*end, 0);
    text.ctrl = out.ctrl;
    assert_true(isa_encode(t, &text, x, error));
    if (x[0] != w[0] || x[1] != w[1])
        fail_msg("%s: %s: another word", isa_target_name(t), buf);
}

static void test_roundtrip(void **state) {
    (void)state;
    uint64_t seed = 20240607;
    for (unsigned i = 0; isa_all_targets[i]; i++) {
        unsigned opcodes = 0;
        for (unsigned oc = 1; oc < OC_COUNT; oc++) {
            MachInst probe;
            isa_random(isa_all_targets[i], oc, &seed, &probe);
            if (!probe.opcode)
                continue; /* not on this target */
            opcodes++;
            for (unsigned k = 0; k < PER_OPCODE; k++)
                one(isa_all_targets[i], oc, &seed, (uint64_t)k * INST_BYTES);
        }
        assert_true(opcodes > 250);
    }
}

/* Any word: decoding either fails with a message or yields an instruction that encodes to the word. */
static void test_any_word(void **state) {
    (void)state;
    uint64_t z = 1;
    for (unsigned k = 0; k < 200000; k++) {
        const Target *t = isa_all_targets[k % count_targets()];
        uint64_t w[2], x[2];
        MachInst in;
        char error[ISA_ERROR_BYTES];
        for (unsigned i = 0; i < 2; i++) {
            z = z * 6364136223846793005u + 1442695040888963407u;
            w[i] = z ^ z >> 29;
        }
        w[1] &= 0x03ffffffffffffffu >> k % 24;
        if (!isa_decode(t, w, &in, error)) {
            assert_true(error[0]);
            continue;
        }
        if (!isa_encode(t, &in, x, error)) {
            assert_non_null(strstr(error, "register")); /* a pair at an odd register */
            continue;
        }
        assert_int_equal(x[0], w[0]);
        assert_int_equal(x[1], w[1]);
    }
}

/* Any text: no crash, an error message or an instruction. */
static void test_any_text(void **state) {
    (void)state;
    static const char alphabet[] = "RPUBZT0123456789x.,[]|-!~@ `()+c";
    uint64_t z = 7, seed = 3;
    for (unsigned k = 0; k < 100000; k++) {
        const Target *t = isa_all_targets[k % count_targets()];
        char buf[512], error[ISA_ERROR_BYTES];
        const char *end;
        MachInst in;
        isa_random(t, 1 + k % (OC_COUNT - 1), &seed, &in);
        if (!in.opcode)
            continue;
        isa_print(t, &in, 0, NULL, buf, sizeof buf);
        size_t n = strlen(buf);
        for (unsigned i = 0; i < 1 + k % 3; i++) {
            z = z * 6364136223846793005u + 1442695040888963407u;
            buf[(z >> 33) % n] = alphabet[(z >> 20) % (sizeof alphabet - 1)];
        }
        if (!isa_parse(t, buf, 0, NULL, &in, &end, error))
            assert_true(error[0] && end >= buf && end <= buf + n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_roundtrip), cmocka_unit_test(test_any_word),
                                       cmocka_unit_test(test_any_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
