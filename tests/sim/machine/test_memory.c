/* Loads and stores of a warp: every shape of addresses, width, space, mask and host level against a model
 * that goes lane by lane, byte by byte; also which lane traps, at which address, and what was stored before.
 * SPDX-License-Identifier: MIT */
#include "prog.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGION = 4096, OLD = 0x5aa5 };
typedef enum { SP_GLOBAL, SP_GENERIC, SP_GENERIC_SHARED, SP_SHARED, SP_LOCAL, SP_COUNT } Space;
// clang-format off
typedef enum { CONSECUTIVE, EQUAL, ROWS, ROWS_BACK, EQUAL_HALVES, REVERSED, STRIDED, RANDOM, MISALIGNED, OUTSIDE, BELOW,
               TWO_ALLOCATIONS, SHAPES } ShapeKind;
// clang-format on

typedef struct {
    uint64_t address;
    uint32_t pad[2];
    uint32_t data[4];
} Lane;
typedef struct {
    Space space;
    ShapeKind shape;
    unsigned sz, bytes;
    uint32_t mask;
    uint64_t base, other; /* the region; another allocation */
    Lane lane[32];
} Test;
typedef struct {
    uint8_t bytes[32][REGION]; /* one region, or one for each lane */
    uint8_t other[REGION];
    uint32_t out[32][4];
    SimTrapKind trap;
    unsigned lane;
} Model;

static uint64_t seed = 88172645463325252u;
static uint32_t rnd(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 16);
}

static uint64_t lane_offset(const Test *t, unsigned i, unsigned odd) {
    uint64_t n = t->bytes, row = i / 16 * 1024 + 64, col = i % 16;
    switch (t->shape) {
    case CONSECUTIVE: return 256 + i * n;
    case EQUAL: return 512;
    case ROWS: return row + col * n;
    case ROWS_BACK: return 2048 - row + col * n;
    case EQUAL_HALVES: return row;
    case REVERSED: return (31 - i) * n;
    case STRIDED: return i * 3 * n;
    case OUTSIDE: return i == odd ? REGION - n + 16 : i * n;
    case BELOW: return i == odd ? 0 - n : i * n;
    default: return rnd() % (REGION / n) * n + (t->shape == MISALIGNED && i == odd ? n / 2 : 0);
    }
}

static void fill(Test *t) {
    unsigned odd = rnd() % 32;
    for (unsigned i = 0; i < 32; i++) {
        bool other = t->shape == TWO_ALLOCATIONS && i & 1;
        t->lane[i].address = lane_offset(t, i, odd) + (other ? t->other : t->base);
        if (t->space == SP_SHARED || t->space == SP_LOCAL)
            t->lane[i].address = (uint32_t)t->lane[i].address;
        for (unsigned k = 0; k < 4; k++)
            t->lane[i].data[k] = rnd();
    }
}

static uint8_t *model_byte(Model *m, const Test *t, unsigned lane) {
    uint64_t o = t->lane[lane].address - t->base, p = t->lane[lane].address - t->other;
    if (t->space == SP_SHARED || t->space == SP_LOCAL)
        o = (uint32_t)o;
    if (t->other && p < REGION && t->bytes <= REGION - p)
        return &m->other[p];
    return o < REGION && t->bytes <= REGION - o ? &m->bytes[t->space == SP_LOCAL ? lane : 0][o] : NULL;
}
/* Store, then load, as the machine should. */
static void model_run(Model *m, const Test *t) {
    for (unsigned i = 0; i < 32; i++)
        for (unsigned k = 0; k < 4; k++)
            m->out[i][k] = OLD;
    for (unsigned load = 0; load < 2; load++)
        for (unsigned i = 0; i < 32; i++) {
            if (!(t->mask >> i & 1))
                continue;
            uint8_t *p = model_byte(m, t, i);
            m->lane = i;
            m->trap = t->lane[i].address % t->bytes ? TRAP_MISALIGNED : !p ? TRAP_OUT_OF_RANGE : TRAP_NONE;
            if (m->trap != TRAP_NONE)
                return;
            if (!load) {
                memcpy(p, t->lane[i].data, t->bytes);
                continue;
            }
            m->out[i][0] = 0;
            memcpy(m->out[i], p, t->bytes);
            if (t->sz == MemSz_S8)
                m->out[i][0] = (uint32_t)(int8_t)m->out[i][0];
            if (t->sz == MemSz_S16)
                m->out[i][0] = (uint32_t)(int16_t)m->out[i][0];
        }
}

/* Parameters: lanes, out, mask. */
static Prog *program(const Test *t) {
    Prog *p = calloc(1, sizeof *p);
    unsigned count = t->bytes > 4 ? t->bytes / 4 : 1;
    Operand wide = op_with(R2(4), OPM_WIDE64), urz = op_reg(RF_UR, REG_URZ, 2),
            ur1 = op_reg(RF_UR, REG_URZ, 1);
    p->shared_bytes = p->stack_bytes = REGION;
    s2r(p, 0, "laneid");
    mov(p, 1, PARAM(2));
    emit(p, OT_SHF, MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_R) | MSET(SHF, hi, 1), D(R(1)),
         S(RZ_, R(0), R(1)));
    emit(p, OT_LOP3, MSET(LOP3, lut, 0xc0), D(R(1), PT_), S(R(1), IMM(1), RZ_, NPT_));
    isetp(p, 3, ICmp_NE, R(1), IMM(0));
    for (unsigned k = 0; k < 2; k++) {
        mov(p, 12 + 2 * k, PARAM(k));
        mov(p, 13 + 2 * k, op_cmem(0, PARAM_BASE + 8 * k + 4));
        emit(p, OT_IMAD_WIDE, MSET(IMAD_WIDE, sign, ISign_U32), D(R2(12 + 2 * k), PT_),
             S(R(0), IMM(k ? 16 : 32), R2(12 + 2 * k), NPT_));
    }
    emit(p, OT_LDG, MSET(LDG, e, 1) | MSET(LDG, sz, MemSz_64), D(R2(4), PT_),
         S(op_with(R2(12), OPM_WIDE64), urz, IMM(0), PT_));
    emit(p, OT_LDG, MSET(LDG, e, 1) | MSET(LDG, sz, MemSz_128), D(R4(8), PT_),
         S(op_with(R2(12), OPM_WIDE64), urz, IMM(16), PT_));
    for (unsigned k = 0; k < 4; k++)
        mov(p, 16 + k, IMM(OLD));
    Operand to = op_reg(RF_R, 16, count), from = op_reg(RF_R, 8, count);
    unsigned first = p->n;
    switch (t->space) {
    case SP_GLOBAL:
        emit(p, OT_STG, MSET(STG, e, 1) | MSET(STG, sz, t->sz), EMPTY, S(wide, urz, IMM(0), from));
        emit(p, OT_LDG, MSET(LDG, e, 1) | MSET(LDG, sz, t->sz), D(to, PT_), S(wide, urz, IMM(0), PT_));
        break;
    case SP_SHARED:
        emit(p, OT_STS, MSET(STS, sz, t->sz), EMPTY, S(R(4), ur1, IMM(0), from));
        emit(p, OT_LDS, MSET(LDS, sz, t->sz), D(to), S(R(4), ur1, IMM(0)));
        break;
    case SP_LOCAL:
        emit(p, OT_STL, MSET(STL, sz, t->sz), EMPTY, S(R(4), ur1, IMM(0), from));
        emit(p, OT_LDL, MSET(LDL, sz, t->sz), D(to), S(R(4), ur1, IMM(0)));
        break;
    default:
        emit(p, OT_ST, MSET(ST, e, 1) | MSET(ST, sz, t->sz), EMPTY, S(wide, urz, IMM(0), from));
        emit(p, OT_LD, MSET(LD, e, 1) | MSET(LD, sz, t->sz), D(to, PT_), S(wide, urz, IMM(0), PT_));
        break;
    }
    while (first < p->n)
        p->in[first++].guard = P(3);
    emit(p, OT_STG, MSET(STG, e, 1) | MSET(STG, sz, MemSz_128), EMPTY,
         S(op_with(R2(14), OPM_WIDE64), urz, IMM(0), R4(16)));
    exit_(p, PT_);
    return p;
}

static void check(Test *t, const char *level) {
    static Model m;
    memset(&m, 0, sizeof m);
    SimMemory *mem = simmem_create();
    uint64_t lanes = simmem_alloc(mem, "", sizeof t->lane), out = simmem_alloc(mem, "", 512);
    bool global = t->space == SP_GLOBAL || t->space == SP_GENERIC;
    uint64_t region = simmem_alloc(mem, "", REGION), other = simmem_alloc(mem, "", REGION);
    t->base = global ? region : t->space == SP_GENERIC_SHARED ? SIM_SHARED_WINDOW : 0;
    t->other = global ? other : 0;
    fill(t);
    for (unsigned i = 0; global && i < REGION; i++)
        m.bytes[0][i] = (uint8_t)rnd();
    assert_true(simmem_write(mem, lanes, t->lane, sizeof t->lane) &&
                simmem_write(mem, region, m.bytes[0], REGION));
    model_run(&m, t);
    Prog *p = program(t);
    MachineOptions o = {.host_level = level};
    Ran r = prog_run(p, 1, 32, mem, (uint64_t[]){lanes, out, t->mask}, 3, &o);
    char what[160];
    snprintf(what, sizeof what, "space %d shape %d sz %u mask %08x level %s", t->space, t->shape, t->sz,
             t->mask, level);
    if (r.res.trap.kind != m.trap || (m.trap != TRAP_NONE && (r.res.trap.thread[0] != m.lane ||
                                                              r.res.trap.address != t->lane[m.lane].address)))
        fail_msg("%s: trap %d lane %u at %llx, expected %d lane %u", what, r.res.trap.kind,
                 r.res.trap.thread[0], (unsigned long long)r.res.trap.address, m.trap, m.lane);
    uint8_t got[REGION];
    assert_true(simmem_read(mem, region, got, REGION));
    if (global && memcmp(got, m.bytes[0], REGION) != 0)
        fail_msg("%s: memory differs", what);
    assert_true(simmem_read(mem, other, got, REGION));
    if (memcmp(got, m.other, REGION) != 0)
        fail_msg("%s: the other allocation differs", what);
    for (unsigned i = 0; m.trap == TRAP_NONE && i < 128; i++)
        if (word(mem, out, i) != m.out[i / 4][i % 4])
            fail_msg("%s: lane %u word %u is %08x, expected %08x", what, i / 4, i % 4, word(mem, out, i),
                     m.out[i / 4][i % 4]);
    for (unsigned i = 0; global && m.trap == TRAP_NONE && i < 32; i++) {
        SimAlloc *a = simmem_find(mem, t->lane[i].address, t->bytes);
        if (t->mask >> i & 1 && !simmem_is_written(a, t->lane[i].address - a->address, t->bytes))
            fail_msg("%s: lane %u is not marked as written", what, i);
    }
    machine_result_free(&r.res);
    simmem_free(mem);
    free(p);
}

static void all_shapes(void **state) {
    static const struct {
        unsigned sz, bytes;
    } sizes[] = {{MemSz_U8, 1}, {MemSz_S8, 1}, {MemSz_U16, 2}, {MemSz_S16, 2},
                 {MemSz_32, 4}, {MemSz_64, 8}, {MemSz_128, 16}};
    static const char *const levels[] = {"base", "v2", "v3", "v4"};
    (void)state;
    unsigned best = 0;
    while (strcmp(machine_best_level(), levels[best]) != 0 && best < 3)
        best++;
    for (unsigned space = 0; space < SP_COUNT; space++)
        for (unsigned shape = 0; shape < SHAPES; shape++)
            for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
                for (unsigned round = 0; round < 4; round++) {
                    bool narrow = space == SP_LOCAL || space == SP_SHARED;
                    if (shape == TWO_ALLOCATIONS && space > SP_GENERIC)
                        continue;
                    if (shape == BELOW && narrow)
                        continue; /* wraps to a high offset; local memory calls that a stack overflow */
                    uint32_t masks[4] = {~0u, rnd(), 1u << rnd() % 32, ~0u << 17};
                    Test t = {.space = (Space)space,
                              .shape = (ShapeKind)shape,
                              .sz = sizes[s].sz,
                              .bytes = sizes[s].bytes,
                              .mask = masks[round]};
                    check(&t, levels[(round + s) % (best + 1)]);
                }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
