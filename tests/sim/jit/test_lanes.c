/* Every lane function, as this compiler makes it of isa/lane/lanes.def, against the evaluator of the compact
 * table, which is what clang made of the same rows: on the corners of integers and floats, and at random.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "sim/jit/lane_table.h"
#include "isa/lane/lane.h"
#include <inttypes.h>

enum { ROUNDS = 20000 };

static const uint32_t corners[] = {0,          1,          2,          31,         32,         33,
                                   0x7f,       0x80,       0xff,       0xffff,     0x8000,     0x7fffffff,
                                   0x80000000, 0xffffffff, 0x00800000, 0x007fffff, 0x80000001, 0x3f800000,
                                   0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345,
                                   0x4f000000, 0x4effffff, 0xcf000000, 0x40000000};
static uint32_t word(uint64_t *state) {
    uint64_t x = rng_next(state);
    return x & 1 ? corners[(x >> 8) % (sizeof corners / sizeof *corners)] : (uint32_t)(x >> 32);
}
/* As binders make them: masks, single bits, amounts, or anything. */
static uint32_t modifier(uint64_t *state) {
    static const uint32_t masks[] = {0, ~0u, 0x80000000u, 0x7fffffffu, 1, 31, 32, 0x80};
    uint64_t x = rng_next(state);
    return x & 3 ? masks[x >> 8 & 7] : (uint32_t)(x >> 32);
}

static void draw(uint64_t *state, uint64_t in[LANE_PARAM_COUNT], unsigned wide) {
    for (unsigned i = 0; i < 3; i++) {
        in[i] = word(state);
        if (wide >> i & 1)
            in[i] |= (uint64_t)word(state) << 32;
    }
    in[3] = rng_next(state) & 1;
    in[4] = rng_next(state) & 1;
    for (unsigned i = LANE_PARAM_K; i < LANE_PARAM_COUNT; i++)
        in[i] = modifier(state);
}

#define W32(x) ((uint32_t)(x))
#define ARGS                                                                                                 \
    W32(in[3]), W32(in[4]), W32(in[5]), W32(in[6]), W32(in[7]), W32(in[8]), W32(in[9]), W32(in[10]),         \
        W32(in[11]), W32(in[12]), W32(in[13])
#define CHECK(name, aw, bw, cw)                                                                              \
    {                                                                                                        \
        const char *text = #name;                                                                            \
        unsigned wide = (aw == 64) | (bw == 64) << 1 | (cw == 64) << 2;                                      \
        uint64_t state = LF_##name;                                                                          \
        assert_string_equal(lane_functions[LF_##name].label, text);                                          \
        for (unsigned n = 0; n < ROUNDS; n++) {                                                              \
            uint64_t in[LANE_PARAM_COUNT];                                                                   \
            draw(&state, in, wide);                                                                          \
            uint64_t want =                                                                                  \
                lane_##name((uint##aw##_t)in[0], (uint##bw##_t)in[1], (uint##cw##_t)in[2], ARGS);            \
            uint64_t got = lane_evaluate(LF_##name, in);                                                     \
            if (got != want)                                                                                 \
                fail_msg("%s of %" PRIx64 " %" PRIx64 " %" PRIx64 ": %" PRIx64 ", the table %" PRIx64, text, \
                         in[0], in[1], in[2], want, got);                                                    \
        }                                                                                                    \
    }
#define LANE(name, rw, aw, bw, cw, ks, expr)                                                                 \
    static void test_##name(void **unused) {                                                                 \
        (void)unused;                                                                                        \
        CHECK(name, aw, bw, cw)                                                                              \
    }
#define LANE_FLOAT(name, ks, expr) LANE(name, 32, 32, 32, 32, ks, expr)
#define LANE_CARRY(name, aw, bw, cw, ks, expr, carries)                                                      \
    static void test_##name(void **unused) {                                                                 \
        (void)unused;                                                                                        \
        CHECK(name, aw, bw, cw)                                                                              \
        CHECK(name##_carries, aw, bw, cw)                                                                    \
    }
#define LANE_LOGIC(name, ks, expr) LANE(name, 32, 32, 32, 32, ks, expr)
#define LANE_SETP(name, ks, expr) LANE(name, 32, 32, 32, 32, ks, expr)
#include "isa/lane/lanes.def"
#undef LANE
#undef LANE_FLOAT
#undef LANE_CARRY
#undef LANE_LOGIC
#undef LANE_SETP

static void test_bool_op(void **unused) {
    (void)unused;
    uint64_t in[LANE_PARAM_COUNT] = {0xcccccccc, 0xaaaaaaaa};
    static const uint64_t want[3] = {0x88888888, 0xeeeeeeee, 0x66666666};
    for (unsigned op = 0; op < 3; op++) {
        in[LANE_PARAM_K] = op;
        assert_int_equal(lane_evaluate(LF_bool_op, in), want[op]);
    }
}

#define LANE(name, ...) cmocka_unit_test(test_##name),
#define LANE_FLOAT(name, ...) cmocka_unit_test(test_##name),
#define LANE_CARRY(name, ...) cmocka_unit_test(test_##name),
#define LANE_LOGIC(name, ...) cmocka_unit_test(test_##name),
#define LANE_SETP(name, ...) cmocka_unit_test(test_##name),
int main(void) {
    const struct CMUnitTest tests[] = {
#include "isa/lane/lanes.def"
        cmocka_unit_test(test_bool_op),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
