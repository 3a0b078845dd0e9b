/* The compact table of the lane functions, and its evaluator.
 * SPDX-License-Identifier: MIT */
#include "sim/jit/lane_table.h"
#include <stddef.h>
#include <string.h>
#include "sim/jit/lane_table.inc"

static float f32_of(uint64_t bits) {
    uint32_t word = (uint32_t)bits;
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}
static double f64_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static uint64_t float_bits(LaneType type, double x) {
    uint64_t bits = 0;
    float f = (float)x;
    if (type == LT_F32)
        memcpy(&bits, &f, sizeof f);
    else
        memcpy(&bits, &x, sizeof x);
    return bits;
}
static double float_of(LaneType type, uint64_t bits) {
    return type == LT_F32 ? (double)f32_of(bits) : f64_of(bits);
}
static unsigned width_of(LaneType type) {
    return type == LT_I1 ? 1 : type == LT_I32 || type == LT_F32 ? 32 : 64;
}
static uint64_t low_bits(LaneType type, uint64_t x) {
    return width_of(type) == 64 ? x : x & (((uint64_t)1 << width_of(type)) - 1);
}
static int64_t signed_of(LaneType type, uint64_t x) {
    unsigned drop = 64 - width_of(type);
    return (int64_t)(x << drop) >> drop;
}

/* LLVM's numbers: 32 eq 33 ne 34 ugt 35 uge 36 ult 37 ule 38 sgt 39 sge 40 slt 41 sle */
static uint64_t integer_relation(unsigned pred, LaneType type, uint64_t x, uint64_t y) {
    int64_t s = signed_of(type, x), t = signed_of(type, y);
    switch (pred) {
    case 32: return x == y;
    case 33: return x != y;
    case 34: return x > y;
    case 35: return x >= y;
    case 36: return x < y;
    case 37: return x <= y;
    case 38: return s > t;
    case 39: return s >= t;
    case 40: return s < t;
    default: return s <= t;
    }
}
/* LLVM's numbers are sets of eq 1, gt 2, lt 4, unordered 8. */
static uint64_t float_relation(unsigned pred, double x, double y) {
    unsigned is = x != x || y != y ? 8 : x == y ? 1 : x > y ? 2 : 4;
    return (pred & is) != 0;
}

/* A shift by the width or more has no value, and is not chosen by what depends on it. */
static uint64_t shifted(LaneOp op, LaneType type, uint64_t x, uint64_t n) {
    if (n >= width_of(type))
        return 0;
    return op == LO_SHL ? x << n : op == LO_LSHR ? x >> n : (uint64_t)(signed_of(type, x) >> n);
}

static uint64_t float_operation(const LaneInst *inst, LaneType from, const uint64_t x[3]) {
    double a = float_of(from, x[0]), b = float_of(from, x[1]);
    bool single = inst->type == LT_F32;
    switch (inst->op) {
    case LO_FADD: return float_bits(inst->type, single ? (double)((float)a + (float)b) : a + b);
    case LO_FSUB: return float_bits(inst->type, single ? (double)((float)a - (float)b) : a - b);
    case LO_FMUL: return float_bits(inst->type, single ? (double)((float)a * (float)b) : a * b);
    case LO_FMA:
        return float_bits(inst->type, single ? (double)__builtin_fmaf((float)a, (float)b, f32_of(x[2]))
                                             : __builtin_fma(a, b, f64_of(x[2])));
    case LO_FPEXT:
    case LO_FPTRUNC: return float_bits(inst->type, a);
    case LO_FPTOSI: return a > -0x1p63 && a < 0x1p63 ? low_bits(inst->type, (uint64_t)(int64_t)a) : 0;
    case LO_SITOFP:
        return single ? float_bits(LT_F32, (double)(float)signed_of(from, x[0]))
                      : float_bits(LT_F64, (double)signed_of(from, x[0]));
    default: return single ? float_bits(LT_F32, (double)(float)x[0]) : float_bits(LT_F64, (double)x[0]);
    }
}

static uint64_t reversed_bits(uint64_t x, unsigned width, unsigned piece) {
    uint64_t out = 0, mask = ((uint64_t)1 << piece) - 1;
    for (unsigned i = 0; i < width; i += piece)
        out |= (x >> i & mask) << (width - piece - i);
    return out;
}

/* from: the type of the first argument. */
static uint64_t evaluate_inst(const LaneInst *inst, LaneType from, const uint64_t x[3]) {
    int64_t s = signed_of(from, x[0]), t = signed_of(from, x[1]);
    switch ((LaneOp)inst->op) {
    case LO_ADD: return x[0] + x[1];
    case LO_SUB: return x[0] - x[1];
    case LO_MUL: return x[0] * x[1];
    case LO_AND: return x[0] & x[1];
    case LO_OR: return x[0] | x[1];
    case LO_XOR: return x[0] ^ x[1];
    case LO_SHL:
    case LO_LSHR:
    case LO_ASHR: return shifted((LaneOp)inst->op, from, x[0], x[1]);
    case LO_ICMP: return integer_relation(inst->pred, from, x[0], x[1]);
    case LO_FCMP: return float_relation(inst->pred, float_of(from, x[0]), float_of(from, x[1]));
    case LO_SELECT: return x[0] ? x[1] : x[2];
    case LO_ZEXT:
    case LO_TRUNC:
    case LO_BITCAST: return x[0];
    case LO_SEXT: return (uint64_t)s;
    case LO_UMIN: return x[0] < x[1] ? x[0] : x[1];
    case LO_UMAX: return x[0] > x[1] ? x[0] : x[1];
    case LO_SMIN: return s < t ? x[0] : x[1];
    case LO_SMAX: return s > t ? x[0] : x[1];
    case LO_ABS: return s < 0 ? 0 - x[0] : x[0];
    case LO_CTPOP: return (uint64_t)__builtin_popcountll(x[0]);
    case LO_BSWAP: return reversed_bits(x[0], width_of(from), 8);
    case LO_BITREVERSE: return reversed_bits(x[0], width_of(from), 1);
    default: return float_operation(inst, from, x);
    }
}

/* Only the widths of the first three parameters differ, and nothing depends on more than their bits. */
typedef struct {
    uint64_t bits;
    LaneType type;
} Value;
static Value argument(const Value *values, unsigned arg) {
    if (arg < LANE_CONSTANT)
        return values[arg];
    const LaneConstant *constant = &lane_constants[arg - LANE_CONSTANT];
    return (Value){constant->bits, constant->type};
}

uint64_t lane_evaluate(LaneFn fn, const uint64_t in[LANE_PARAM_COUNT]) {
    const LaneFunction *f = &lane_functions[fn];
    Value values[LANE_PARAM_COUNT + LANE_MAX_INSTS];
    for (unsigned i = 0; i < LANE_PARAM_COUNT; i++)
        values[i] = (Value){in[i], i < 3 && f->wide >> i & 1 ? LT_I64 : LT_I32};
    for (unsigned i = 0; i < f->count; i++) {
        const LaneInst *inst = &lane_insts[f->first + i];
        uint64_t x[3];
        Value first = argument(values, inst->arg[0]);
        for (unsigned k = 0; k < 3; k++)
            x[k] = argument(values, inst->arg[k]).bits;
        values[LANE_PARAM_COUNT + i] =
            (Value){low_bits((LaneType)inst->type, evaluate_inst(inst, first.type, x)), (LaneType)inst->type};
    }
    return argument(values, f->result).bits;
}
