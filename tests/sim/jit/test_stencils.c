/* Every lane function four times: the interpreter's handler, stencils, LLVM's code where there is libLLVM
 * (both at the levels that compiled code has), and in each lane the evaluator of the compact table. On the
 * corners of integers and floats and at random, guarded and not, for all lanes, none, one, half and some,
 * with sources in registers, in literals and in the destination, at every host level that this host has. What
 * is compared are the rows of lanes.def: a new one is tried without a word here. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/scope.h"
#include "sim/jit/compiler.h"
#include "sim/jit/stencil.h"
#include "isa/lane/lane.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 40,
    STATES = 4,
    ROUNDS_OF_LLVM = 2,
    ROUNDS_OF_HANDLERS = 10,
    REGISTERS = 24,
    LITERALS = 4,
    FIELD_WORDS = 10
};

static const uint32_t corners[] = {0,          1,          2,          31,         32,         33,
                                   0x7f,       0x80,       0xff,       0xffff,     0x8000,     0x7fffffff,
                                   0x80000000, 0xffffffff, 0x00800000, 0x007fffff, 0x80000001, 0x3f800000,
                                   0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345,
                                   0x4f000000, 0x4effffff, 0xcf000000, 0x40000000};
static uint32_t word(uint64_t *state) {
    uint64_t x = rng_next(state);
    return x & 1 ? corners[(x >> 8) % (sizeof corners / sizeof *corners)] : (uint32_t)(x >> 32);
}
static uint32_t mask(uint64_t *state) {
    uint64_t x = rng_next(state);
    switch (x & 7) {
    case 0: return 0;
    case 1: return ~0u;
    case 2: return 1u << (x >> 8 & 31);
    case 3: return 0xffff;
    case 4: return 0xffff0000u;
    case 5: return 0xaaaaaaaau;
    default: return (uint32_t)(x >> 32);
    }
}

/* A launch with one instruction and a warp, as far as code looks at it. */
typedef struct {
    Run run;
    Jit jit;
    JitSlot slots[2];
    Dec *ahead[2], *prog;
    MachInst inst;
    Warp warp;
    uint32_t literals[LITERALS][32], zeros[MOST_ROWS * 32];
} World;
typedef struct {
    uint8_t *rows;
    uint32_t p[PRED_COUNT];
    uint64_t off;
} Outcome;

static World *world_new(const Level *level) {
    World *w =
        mem_aligned(DEC_LINE_BYTES, (sizeof *w + DEC_LINE_BYTES - 1) / DEC_LINE_BYTES * DEC_LINE_BYTES);
    memset(w, 0, sizeof *w);
    w->prog = mem_aligned(DEC_LINE_BYTES, 2 * sizeof *w->prog);
    memset(w->prog, 0, 2 * sizeof *w->prog);
    dec_go(&w->prog[1], machine_run_ends);
    w->run.level = level;
    w->run.jit = &w->jit;
    w->run.prog = w->prog;
    w->run.ncode = 2;
    w->run.zero_rows = w->zeros;
    w->jit.slots = w->slots;
    w->prog->bound = 1;
    w->ahead[0] = w->prog;
    w->jit.host.ahead = w->ahead;
    w->jit.host.slots = w->slots;
    w->warp.run = &w->run;
    w->warp.prog = w->prog;
    w->warp.rows = mem_aligned(ROW_BYTES, ROW_COUNT * ROW_BYTES);
    w->warp.valid = ~0u;
    w->prog->inst = &w->inst;
    w->prog->chains = true;
    w->inst.nsrc = 3;
    return w;
}
static void world_free(World *w) {
    mem_free(w->prog);
    mem_free(w->warp.rows);
    mem_free(w);
}

static void draw_instruction(World *w, const LaneHandler *handler, const LaneRow *row, uint64_t *state) {
    static const uint32_t fields[] = {0, ~0u, 0x80000000u, 0x7fffffffu, 1, 31, 32, 0x80};
    Dec *dec = w->prog;
    dec->full = handler->full;
    dec->part = handler->part;
    uint32_t *modifiers = (uint32_t *)(void *)&dec->lane;
    for (unsigned i = 0; i < FIELD_WORDS - 2; i++)
        modifiers[i] = rng_next(state) & 3 ? fields[rng_next(state) & 7] : (uint32_t)rng_next(state);
    for (unsigned i = 0; i < 4; i++) {
        dec->am[i] = rng_next(state) & 1 ? ~0u : 0x7fffffffu;
        dec->xm[i] = rng_next(state) & 1                             ? 0
                     : row->result_bits == 64 || rng_next(state) & 1 ? 0x80000000u
                                                                     : ~0u;
    }
    dec->imm[0] = (uint32_t)rng_next(state) & 31;
    dec->imm[1] = (uint32_t)(rng_next(state) % 3);
    if (row->kind == LANE_SETS)
        dec->lane.isetp.bop = (uint32_t)(rng_next(state) % 3);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t x = rng_next(state);
        unsigned reg = (x & 7) < 2
                           ? ROW_RZ
                           : 2 * (unsigned)(x >> 8 & 0xff) % REGISTERS; /* pairs, and often the same ones */
        dec->v[i].at = (uintptr_t)reg * ROW_BYTES;
        if ((x & 7) == 7)
            dec->v[i].at = (uintptr_t)w->literals[0];
        w->inst.src[i].kind = x >> 32 & 1 ? OPK_CMEM : OPK_REG;
        dec->q[i] = (PredRef){(uint32_t)(rng_next(state) % 8), rng_next(state) & 1 ? ~0u : 0};
    }
    uint64_t x = rng_next(state);
    unsigned to = (x & 7) == 0 ? ROW_SINK : 2 * (unsigned)(x >> 8 & 0xff) % REGISTERS;
    dec->dst[0] = (uint16_t)(to * ROW_BYTES);
    dec->pd[0] = (uint8_t)(x >> 16 & 1 ? PRED_SINK : x >> 20 & 3);
    dec->pd[1] = (uint8_t)(x >> 17 & 1 ? PRED_SINK : 4 + (x >> 20 & 1));
    dec->guard = (uint8_t)(x >> 24 & 1 ? REG_PT : x >> 25 & 7);
    dec->gx = x >> 30 & 1 && dec->guard != REG_PT ? ~0u : 0;
}

static void draw_rows(World *w, bool all, uint64_t *state) {
    uint32_t *rows = (uint32_t *)(void *)w->warp.rows;
    memset(rows, 0, ROW_COUNT * ROW_BYTES);
    for (unsigned i = 0; i < REGISTERS * 32; i++)
        rows[i] = word(state);
    for (unsigned i = 0; i < PRED_COUNT; i++)
        w->warp.p[i] = mask(state);
    w->warp.p[REG_PT] = ~0u;
    w->warp.active = ~0u;
    while (!all && (w->warp.active == ~0u || !w->warp.active))
        w->warp.active = mask(state);
    memset(w->run.cls, 0, sizeof w->run.cls);
}
static void draw_state(World *w, bool all, uint64_t *state) {
    for (unsigned i = 0; i < LITERALS; i++) /* in all lanes, as binders make them */
        for (unsigned lane = 0, x = word(state); lane < 32; lane++)
            w->literals[i][lane] = x;
    draw_rows(w, all, state);
}

static Outcome take(World *w, uint8_t *rows) {
    Outcome out = {.rows = rows, .off = w->run.cls[0].off};
    memcpy(rows, w->warp.rows, ROW_SINK * ROW_BYTES);
    memcpy(out.p, w->warp.p, sizeof out.p);
    out.p[PRED_SINK] = 0;
    return out;
}

static Outcome interpret(World *w, uint8_t *rows) {
    const Dec *dec = w->prog;
    uint32_t g = w->warp.active & (w->warp.p[dec->guard] ^ dec->gx);
    if (dec_is_guarded(dec))
        w->run.cls[0].off += (uint64_t)__builtin_popcount(w->warp.active & ~g);
    if (g)
        assert_int_equal((g == ~0u ? dec->full : dec->part)(&w->warp, w->prog, g), RUN_OK);
    return take(w, rows);
}

/* ---- the table's evaluator ---- */
static uint64_t source_lane(const World *w, const uint32_t *rows, const LaneRow *row, unsigned i,
                            unsigned lane) {
    uintptr_t at = w->prog->v[i].at;
    const uint32_t *words = at < ROW_COUNT * ROW_BYTES ? rows + at / 4 : (const uint32_t *)at;
    return row->bits[i] == 64 ? pair(words[lane], words[lane + 32]) : words[lane];
}
typedef struct {
    uint64_t value;
    bool p[2];
} LaneOutcome;
static LaneOutcome evaluate(const World *w, const LaneRow *row, const uint32_t *rows, const uint32_t *p,
                            unsigned lane) {
    const Dec *dec = w->prog;
    uint64_t in[LANE_PARAM_COUNT];
    uint32_t k[LANE_PARAM_COUNT - LANE_PARAM_K];
    for (unsigned i = 0; i < 3; i++)
        in[i] = source_lane(w, rows, row, i, lane);
    for (unsigned i = 0; i < 2; i++)
        in[LANE_PARAM_P + i] = (p[dec->q[i].index] ^ dec->q[i].x) >> lane & 1;
    row->constants(dec, k);
    for (unsigned i = 0; i < LANE_PARAM_COUNT - LANE_PARAM_K; i++)
        in[LANE_PARAM_K + i] = k[i];
    LaneOutcome out = {.value = lane_evaluate(row->fn, in)};
    uint32_t with = (uint32_t)in[LANE_PARAM_P], holds = out.value != 0, op = dec->lane.isetp.bop;
    uint64_t carries = row->kind == LANE_CARRIES ? lane_evaluate((LaneFn)(row->fn + 1), in) : 0;
    switch (row->kind) {
    case LANE_CARRIES: out.p[0] = carries > 0, out.p[1] = carries > 1; break;
    case LANE_WITH_LOGIC: out.p[0] = bool_op(dec->imm[1], holds, with); break;
    case LANE_SETS: out.p[0] = bool_op(op, holds, with), out.p[1] = bool_op(op, !holds, with); break;
    default: break;
    }
    return out;
}

/* What the interpreter made of `rows` and `p` in the lanes of g. */
static void check_evaluator(const World *w, const LaneRow *row, const uint32_t *rows, const uint32_t *p,
                            uint32_t g, const Outcome *got) {
    const Dec *dec = w->prog;
    const uint32_t *after = (const void *)got->rows;
    unsigned to = dec->dst[0] / ROW_BYTES, writes = row->kind == LANE_DATA         ? 0
                                                    : row->kind == LANE_WITH_LOGIC ? 1
                                                                                   : 2;
    for (; g; g &= g - 1) {
        unsigned lane = (unsigned)__builtin_ctz(g);
        LaneOutcome want = evaluate(w, row, rows, p, lane);
        if (row->kind != LANE_SETS && to < ROW_SINK) {
            assert_int_equal(after[to * 32 + lane], (uint32_t)want.value);
            if (row->result_bits == 64)
                assert_int_equal(after[to * 32 + 32 + lane], want.value >> 32);
        }
        for (unsigned i = 0; i < writes; i++)
            if (dec->pd[i] < PRED_SINK)
                assert_int_equal(got->p[dec->pd[i]] >> lane & 1, want.p[i]);
    }
}

/* ---- code ---- */
static bool copied_code(World *w, const Region *region, Image *out) {
    ImageBytes bytes;
    stencil_region(stencil_set(w->run.level->name), &w->run, region, &bytes);
    bool good = jit_image_map(&bytes, out);
    mem_free(bytes.bytes);
    return good;
}
static Compiler *compiler; /* NULL: no libLLVM */
static bool compiled_code(World *w, const Region *region, Image *out) {
    if (!compiler)
        return false;
    compiler_start(compiler, &w->run, region, region->kind, (XXH128_hash_t){0});
    return compiler_take(compiler, out);
}

static void same_outcome(const World *w, const char *label, const char *whose, const Outcome *want,
                         const Outcome *got) {
    const uint32_t *x = (const void *)want->rows, *y = (const void *)got->rows;
    for (unsigned i = 0; i < ROW_SINK * 32; i++)
        if (x[i] != y[i])
            fail_msg("%s: row %u lane %u: %x, %s %x", label, i / 32, i % 32, x[i], whose, y[i]);
    for (unsigned i = 0; i < PRED_COUNT; i++)
        if (want->p[i] != got->p[i])
            fail_msg("%s: predicate %u: %x, %s %x", label, i, want->p[i], whose, got->p[i]);
    assert_int_equal(want->off, got->off);
    assert_int_equal(w->warp.pc, 1);
    assert_int_equal(w->run.quota, 99);
    uint64_t all = w->run.cls[0].all;
    assert_int_equal(w->run.cls[0].issues + all, 1);
    assert_int_equal(w->run.cls[0].lanes + 32 * all, __builtin_popcount(w->warp.active));
}

/* One state of rows and predicates, by everything there is. */
static void check_state(World *w, const LaneRow *row, const Image code[2]) {
    static _Alignas(ROW_BYTES) uint8_t before[ROW_COUNT * ROW_BYTES], rows[2][ROW_SINK * ROW_BYTES];
    static const char *const names[2] = {"stencils", "LLVM"};
    const Dec *dec = w->prog;
    uint32_t p[PRED_COUNT], g = w->warp.active & (w->warp.p[dec->guard] ^ dec->gx);
    memcpy(before, w->warp.rows, sizeof before);
    memcpy(p, w->warp.p, sizeof p);
    Outcome want = interpret(w, rows[0]);
    check_evaluator(w, row, (const uint32_t *)(const void *)before, p, g, &want);
    for (unsigned i = 0; i < 2; i++) {
        if (!code[i].code)
            continue;
        memcpy(w->warp.rows, before, sizeof before);
        memcpy(w->warp.p, p, sizeof p);
        memset(w->run.cls, 0, sizeof w->run.cls);
        w->run.quota = 100;
        w->warp.pc = 0;
        assert_int_equal(code[i].code(&w->warp, &w->jit.host), RUN_OK);
        Outcome got = take(w, rows[1]);
        same_outcome(w, lane_functions[row->fn].label, names[i], &want, &got);
    }
}

static void check_row(World *w, const LaneRow *row, const LaneHandler *handler, bool all) {
    uint64_t state = (uint64_t)(row - lane_rows) << 1 | all;
    bool copies = stencil_set(w->run.level->name) != NULL;
    for (unsigned n = 0; n < (copies ? ROUNDS : ROUNDS_OF_HANDLERS); n++) {
        Region region = {.blocks = {{.pc = 0, .n = 1, .entry = true}},
                         .nblocks = 1,
                         .ninsts = 1,
                         .kind = all ? JIT_FULL : JIT_MASKED};
        Image code[2] = {{0}};
        draw_instruction(w, handler, row, &state);
        draw_state(w, all, &state);
        assert_ptr_equal(lane_row_of(w->run.level, handler->full), row);
        if (copies) {
            if (!copied_code(w, &region, &code[0]))
                skip();
            assert_true(n >= ROUNDS_OF_LLVM || compiled_code(w, &region, &code[1]) || !compiler);
        }
        for (unsigned i = 0; i < STATES; i++) {
            check_state(w, row, code);
            draw_rows(w, all, &state); /* literals are part of the code */
        }
        for (unsigned i = 0; i < 2; i++)
            jit_image_unmap(&code[i]);
    }
}

static void check_level(const char *name) {
    static const unsigned part_rows[LANE_PARTS] = {
#define LANE(...) +1
#define LANE_FLOAT(...) +1
#define LANE_CARRY(...) +1
#define LANE_LOGIC(...) +1
#define LANE_SETP(...) +1
        0
#include "isa/lane/lanes_int.def"
        ,
        0
#include "isa/lane/lanes_float.def"
        ,
        0
#include "isa/lane/lanes_cvt.def"
    };
    const Level *level = machine_level_find(name);
    if (!level)
        skip();
    World *w = world_new(level);
    const LaneRow *row = lane_rows;
    for (unsigned part = 0; part < LANE_PARTS; part++)
        for (unsigned i = 0; i < part_rows[part]; i++, row++) {
            check_row(w, row, &level->lanes[part][i], true);
            check_row(w, row, &level->lanes[part][i], false);
        }
    assert_int_equal(row - lane_rows, ST_COUNT - ST_LANES);
    world_free(w);
}
static void test_base(void **unused) {
    (void)unused;
    check_level("base");
}
static void test_v2(void **unused) {
    (void)unused;
    check_level("v2");
}
static void test_v3(void **unused) {
    (void)unused;
    check_level("v3");
}
static void test_v4(void **unused) {
    (void)unused;
    check_level("v4");
}

int main(void) {
    compiler = compiler_new(COMPILER_WAITS, true, NULL);
    compiler_load(compiler);
    if (compiler_state(compiler) != COMPILER_READY) {
        print_message("without LLVM: %s\n", compiler_why(compiler));
        compiler_free(compiler);
        compiler = NULL;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_base), cmocka_unit_test(test_v2),
                                       cmocka_unit_test(test_v3), cmocka_unit_test(test_v4)};
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    if (compiler)
        compiler_free(compiler);
    return status;
}
