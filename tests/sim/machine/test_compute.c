/* The constant folder's results (isa/lane/compute.c) against the machine: for random legal words of every
 * opcode of every target, whatever is computed of constants is what the machine's handler makes of registers
 * that hold them. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "isa/lane/choose.h"
#include "sim/machine/lane.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { WORDS = 40, LEAST = 8000, LEAST_OPERATIONS = 22 };

static uint32_t draw(uint64_t *state) {
    static const uint32_t corners[] = {0, 1, 5, 31, 32, 33, 0x7fffffff, 0x80000000, ~0u, 0xffff};
    uint64_t x = rng_next(state);
    return x & 1 ? corners[(x >> 8) % (sizeof corners / sizeof *corners)] : (uint32_t)(x >> 32);
}

static bool is_zero(Operand o) {
    return o.kind == OPK_NONE ||
           (o.kind == OPK_REG && o.value == (o.file == RF_UR ? (uint32_t)REG_URZ : (uint32_t)REG_RZ));
}

/* Gives the sources values, in the machine too; false if a register would need two. */
static bool give(const Target *target, LaneMachine *lane, const MachInst *in, uint32_t value[],
                 uint64_t *state) {
    for (unsigned k = 0; k < in->nsrc; k++) {
        Operand o = in->src[k];
        LaneSource is = lane_source(target, in, k);
        value[k] = draw(state);
        for (unsigned n = 0; n < k; n++)
            if (o.kind == OPK_REG && in->src[n].kind == OPK_REG && in->src[n].file == o.file &&
                in->src[n].value == o.value)
                return false;
        if (is == LANE_SRC_PREDICATE) {
            bool constant = o.kind != OPK_REG || (o.value & 7) == REG_PT;
            value[k] = constant ? 1 : value[k] & 1;
            if (!constant)
                machine_lane_set(lane, (RegFile)o.file, o.value, value[k]);
            value[k] ^= (o.mods & OPM_NOT) != 0;
        } else if (is == LANE_SRC_VECTOR && o.kind == OPK_REG && !is_zero(o))
            machine_lane_set(lane, (RegFile)o.file, o.value, value[k]);
        else
            value[k] = is_zero(o) ? 0 : o.value;
    }
    return true;
}

static bool agrees(const LaneMachine *lane, const MachInst *in, const LaneResult *result) {
    unsigned n = 0;
    for (unsigned k = 0; k < in->ndst; k++) {
        Operand o = in->dst[k];
        bool predicate = o.file == RF_P || o.file == RF_UP;
        if (o.kind != OPK_REG || (predicate && n >= 2))
            continue;
        bool written = predicate ? (o.value & 7) != REG_PT : !is_zero(o);
        uint32_t got = written ? machine_lane_get(lane, (RegFile)o.file, o.value) : 0;
        if (predicate && written && (!result->has_predicates || got != result->predicate[n]))
            return false;
        n += predicate;
        if (!predicate && written && result->has_value && got != result->value)
            return false;
    }
    return true;
}

static bool writes_twice(const MachInst *in) {
    for (unsigned k = 0; k < in->ndst; k++)
        for (unsigned n = 0; n < k; n++)
            if (in->dst[k].file == in->dst[n].file && in->dst[k].value == in->dst[n].value)
                return true;
    return false;
}

static bool wants_predicates(const MachInst *in) {
    for (unsigned k = 0; k < in->ndst; k++)
        if (in->dst[k].kind == OPK_REG && (in->dst[k].file == RF_P || in->dst[k].file == RF_UP) &&
            (in->dst[k].value & 7) != REG_PT)
            return true;
    return false;
}

static void test_folder(void **unused) {
    (void)unused;
    static bool seen[OT_COUNT];
    unsigned compared = 0, operations = 0;
    uint64_t state = 1;
    for (const Target *const *t = isa_targets; *t; t++) {
        Binary binary = {.target = *t};
        LaneMachine *lane = machine_lane_new(&binary);
        for (unsigned opcode = 1; opcode < OC_COUNT; opcode++)
            for (unsigned n = 0; n < WORDS; n++) {
                MachInst in;
                LaneResult result;
                uint32_t value[MACH_MAX_SRC];
                isa_random(*t, opcode, &state, &in);
                in.guard = op_pt();
                if (!in.optype || writes_twice(&in) || !give(*t, lane, &in, value, &state) ||
                    !lane_compute(*t, &in, wants_predicates(&in), value, &result))
                    continue;
                bool constant = false;
                for (unsigned k = 0; k < in.nsrc; k++)
                    constant |= in.src[k].kind == OPK_CMEM;
                if (constant) /* the machine has no bank */
                    continue;
                assert_true(machine_lane_step(lane, &in));
                if (!agrees(lane, &in, &result)) {
                    char text[256];
                    isa_print(*t, &in, 0, NULL, text, sizeof text);
                    fail_msg("%s: %s of 0x%x 0x%x 0x%x: 0x%x (%d %d)", isa_target_name(*t), text, value[0],
                             value[1], value[2], result.value, result.predicate[0], result.predicate[1]);
                }
                compared++;
                operations += !seen[in.optype];
                seen[in.optype] = true;
            }
        machine_lane_free(lane);
    }
    print_message("%u words of %u operations compared\n", compared, operations);
    assert_true(compared >= LEAST);
    assert_true(operations >= LEAST_OPERATIONS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
