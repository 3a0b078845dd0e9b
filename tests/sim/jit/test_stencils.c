/* Every lane function as stencils, against the interpreter's handler of the same row: on the corners of
 * integers and floats and at random, guarded and not, for all lanes, none, one, half and some, with sources
 * in registers, in literals and in the destination, at every host level that this host has.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/scope.h"
#include "sim/jit/stencil.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 60, REGISTERS = 24, LITERALS = 4, FIELD_WORDS = 10 };

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
    w->slots[0].bound = 1;
    w->ahead[0] = w->prog;
    w->jit.host.ahead = w->ahead;
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

static void draw_state(World *w, bool all, uint64_t *state) {
    uint32_t *rows = (uint32_t *)(void *)w->warp.rows;
    memset(rows, 0, ROW_COUNT * ROW_BYTES);
    for (unsigned i = 0; i < REGISTERS * 32; i++)
        rows[i] = word(state);
    for (unsigned i = 0; i < LITERALS; i++) /* in all lanes, as binders make them */
        for (unsigned lane = 0, x = word(state); lane < 32; lane++)
            w->literals[i][lane] = x;
    for (unsigned i = 0; i < PRED_COUNT; i++)
        w->warp.p[i] = mask(state);
    w->warp.p[REG_PT] = ~0u;
    w->warp.active = ~0u;
    while (!all && (w->warp.active == ~0u || !w->warp.active))
        w->warp.active = mask(state);
    memset(w->run.cls, 0, sizeof w->run.cls);
    w->run.quota = 100;
    w->warp.pc = 0;
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

static void check_row(World *w, const LaneRow *row, const LaneHandler *handler, bool all) {
    static uint8_t before[ROW_COUNT * ROW_BYTES], rows[2][ROW_SINK * ROW_BYTES];
    uint64_t state = (uint64_t)(row - lane_rows) << 1 | all;
    const char *label = lane_functions[row->fn].label;
    for (unsigned n = 0; n < ROUNDS; n++) {
        Region region = {.blocks = {{.pc = 0, .n = 1, .entry = true}},
                         .nblocks = 1,
                         .ninsts = 1,
                         .kind = all ? JIT_FULL : JIT_MASKED};
        ImageBytes bytes;
        Image image;
        draw_instruction(w, handler, row, &state);
        draw_state(w, all, &state);
        assert_ptr_equal(lane_row_of(w->run.level, handler->full), row);
        memcpy(before, w->warp.rows, sizeof before);
        uint32_t p[PRED_COUNT];
        memcpy(p, w->warp.p, sizeof p);
        Outcome want = interpret(w, rows[0]);
        memcpy(w->warp.rows, before, sizeof before);
        memcpy(w->warp.p, p, sizeof p);
        w->run.cls[0].off = 0;
        stencil_region(stencil_set(w->run.level->name), &w->run, &region, &bytes);
        if (!jit_image_map(&bytes, &image))
            skip();
        mem_free(bytes.bytes);
        w->warp.pc = 0;
        assert_int_equal(image.code(&w->warp, &w->jit.host), RUN_OK);
        jit_image_unmap(&image);
        Outcome got = take(w, rows[1]);
        const uint32_t *x = (const void *)want.rows, *y = (const void *)got.rows;
        for (unsigned i = 0; i < ROW_SINK * 32; i++)
            if (x[i] != y[i])
                fail_msg("%s, round %u: row %u lane %u: %x, stencils %x", label, n, i / 32, i % 32, x[i],
                         y[i]);
        for (unsigned i = 0; i < PRED_COUNT; i++)
            if (want.p[i] != got.p[i])
                fail_msg("%s, round %u: predicate %u: %x, stencils %x", label, n, i, want.p[i], got.p[i]);
        assert_int_equal(want.off, got.off);
        assert_int_equal(w->warp.pc, 1);
        assert_int_equal(w->run.quota, 99);
        assert_int_equal(w->run.cls[0].issues, 1);
        assert_int_equal(w->run.cls[0].lanes, __builtin_popcount(w->warp.active));
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
    if (!level || !stencil_set(name))
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
static void test_v3(void **unused) {
    (void)unused;
    check_level("v3");
}
static void test_v4(void **unused) {
    (void)unused;
    check_level("v4");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_v3), cmocka_unit_test(test_v4)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
