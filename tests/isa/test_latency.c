/* Latency classes against the words that ptxas made (argv[1] is words.txt), and the longest distance of
 * latency_worst against all readers that a target has.
 *
 * What a word can show: one that sets a scoreboard is of an operation whose time is not known. An operation
 * of unknown time that has a result needs a scoreboard for it: if no word of it sets one, its time is known.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/latency.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

enum { MAX_TARGETS = 16 };
static const char *path;
static unsigned results[MAX_TARGETS][OT_COUNT], set[MAX_TARGETS][OT_COUNT]; /* words with a result; those that
                                                                               set a scoreboard for it */

static bool has_result(const MachInst *in) {
    static const uint32_t none[RF_COUNT] = {REG_RZ, REG_PT, REG_URZ, REG_UPT, UINT32_MAX};
    for (unsigned k = 0; k < in->ndst; k++)
        if (in->dst[k].kind == OPK_REG && in->dst[k].value != none[in->dst[k].file])
            return true;
    return false;
}

static void count(const char *target, const uint64_t word[2], const char *text) {
    const Target *t = isa_target(target);
    MachInst in;
    char error[ISA_ERROR_BYTES];
    unsigned k = 0;
    assert_non_null(t);
    assert_true(isa_decode(t, word, &in, error));
    while (isa_targets[k] != t)
        k++;
    assert_in_range(k, 0, MAX_TARGETS - 1);
    bool scoreboard =
        in.ctrl.write_sb != CONTROL_DEFAULT.write_sb || in.ctrl.read_sb != CONTROL_DEFAULT.read_sb;
    if (scoreboard && !latency_is_variable(t, &in))
        fail_msg("%s: %s sets a scoreboard, its row says a unit of known time", target, text);
    results[k][in.optype] += has_result(&in);
    set[k][in.optype] += has_result(&in) && in.ctrl.write_sb != CONTROL_DEFAULT.write_sb;
}

static void test_words(void **state) {
    (void)state;
    FILE *f = fopen(path, "r");
    char line[1024], target[32];
    unsigned long long pc, lo, hi;
    unsigned fixed = 0, variable = 0;
    int at;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || !line[0])
            continue;
        assert_int_equal(sscanf(line, "%31s %llx %llx %llx | %n", target, &pc, &lo, &hi, &at), 4);
        count(target, (const uint64_t[2]){lo, hi}, line + at);
    }
    fclose(f);
    for (unsigned k = 0; isa_targets[k]; k++)
        for (unsigned op = 1; op < OT_COUNT; op++) {
            MachInst in = isa_inst(op);
            bool waits = latency_is_variable(isa_targets[k], &in);
            if (!results[k][op])
                continue;
            if (waits && !set[k][op])
                fail_msg("%s: no word of %s sets a scoreboard, its row says a unit of unknown time",
                         isa_target_name(isa_targets[k]), isa_optype_name(op));
            fixed += !waits;
            variable += waits;
        }
    assert_true(fixed > 80 && variable > 40);
}

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

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    path = argv[1];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_worst)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
