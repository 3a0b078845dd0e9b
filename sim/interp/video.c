/* Video instructions of the PTX interpreter (PTX ISA 9.7.18): pure functions of values, as the document has
 * them. What it leaves open: docs/numerics.md. The operation on one value of each source is PtxCode.inner, of
 * numbers of 64 bits with a sign. SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"

__extension__ typedef __int128 S128;

/* `bits` from bit `low` of a value, with a sign or without. */
static int64_t field(uint64_t value, unsigned low, unsigned bits, bool is_signed) {
    uint64_t v = value >> low & ((UINT64_C(1) << bits) - 1);
    return (int64_t)(is_signed && v >> (bits - 1) ? v - (UINT64_C(1) << bits) : v);
}

static unsigned selected_bits(const PtxOperand *operand) {
    return !operand->selector ? 32 : operand->selector & PTX_SELECTS_HALVES ? 16 : 8;
}

static int64_t source_part(const PtxOperand *operand, uint64_t value, unsigned type) {
    unsigned bits = selected_bits(operand);
    return field(value, operand->selector ? bits * (unsigned)operand->imm : 0, bits, type == TY_S32);
}

static int64_t clamp(int64_t v, bool is_signed, unsigned bits) {
    int64_t low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0,
            high = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
    return v < low ? low : v > high ? high : v;
}

/* ---- operations ---- */

#define OPERATION(name, expr)                                                                                \
    static uint64_t name(uint64_t x, uint64_t y, uint64_t unused, const PtxCode *code) {                     \
        int64_t a = (int64_t)x, b = (int64_t)y;                                                              \
        (void)unused, (void)code, (void)a, (void)b;                                                          \
        return (uint64_t)(expr);                                                                             \
    }
OPERATION(sum_of, a + b)
OPERATION(difference_of, a - b)
OPERATION(average_of, a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1)
OPERATION(distance_of, a < b ? b - a : a - b)
OPERATION(least_of, a < b ? a : b)
OPERATION(greatest_of, a > b ? a : b)

static int64_t amount_of(int64_t n, const PtxCode *code) {
    return code->insn->sub == SUB_WRAP ? n & 31 : n > 32 ? 32 : n;
}
OPERATION(left_of, field(x << amount_of(b, code), 0, 34, true)) /* 34 bits with a sign, as all have */
OPERATION(right_of, a >> amount_of(b, code))

static bool comparison_of(unsigned cmp, int64_t a, int64_t b) {
    switch (cmp) {
    case CMP_EQ: return a == b;
    case CMP_NE: return a != b;
    case CMP_LT:
    case CMP_LO: return a < b;
    case CMP_LE:
    case CMP_LS: return a <= b;
    case CMP_GT:
    case CMP_HI: return a > b;
    default: return a >= b;
    }
}
OPERATION(holds_of, comparison_of(code->insn->cmp, a, b))

static int64_t operate(const PtxCode *code, int64_t a, int64_t b) {
    return (int64_t)code->inner((uint64_t)a, (uint64_t)b, 0, code);
}

/* ---- what becomes of the results ---- */

/* The types of a, b and the result: that of comparisons has no sign. */
static void types_of(const PtxInsn *in, unsigned type[3]) {
    bool compares = in->cmp != CMP_NONE;
    type[0] = in->type[compares ? 0 : 1];
    type[1] = in->type[compares ? 1 : 2];
    type[2] = compares ? TY_U32 : in->type[0];
}

static uint64_t merged(uint64_t into, uint64_t value, unsigned at, unsigned bits) {
    uint64_t mask = ((UINT64_C(1) << bits) - 1) << at;
    return (into & ~mask) | (value << at & mask);
}

static uint64_t video(uint64_t a, uint64_t b, uint64_t c, const PtxCode *code) {
    const PtxInsn *in = code->insn;
    unsigned type[3];
    types_of(in, type);
    int64_t t = operate(code, source_part(&in->operands[1], a, type[0]),
                        source_part(&in->operands[2], b, type[1])),
            third = field(c, 0, 32, type[2] == TY_S32);
    unsigned bits = selected_bits(&in->operands[0]);
    if (in->flags & PF_SAT)
        t = clamp(t, type[2] == TY_S32, bits);
    switch (in->atom) {
    case ATOM_ADD: t += third; break;
    case ATOM_MIN: t = t < third ? t : third; break;
    case ATOM_MAX: t = t > third ? t : third; break;
    default: break;
    }
    if (in->operands[0].selector)
        return merged(c, (uint64_t)t, bits * (unsigned)in->operands[0].imm, bits);
    return (uint32_t)t;
}

/* Digit k of a selector, lowest first; the default: all in order. */
static unsigned digit(const PtxOperand *operand, unsigned k, unsigned otherwise) {
    return operand->selector ? (unsigned)(operand->imm >> 4 * k) & 15 : otherwise;
}
static bool is_masked(const PtxOperand *to, unsigned k) {
    unsigned n = to->selector & 7u;
    for (unsigned at = 0; at < n; at++)
        if (digit(to, at, 0) == k)
            return true;
    return !to->selector;
}

static uint64_t video_parts(uint64_t a, uint64_t b, uint64_t c, const PtxCode *code) {
    const PtxInsn *in = code->insn;
    unsigned parts = ptx_video_parts(in->op), bits = 32 / parts, type[3];
    types_of(in, type);
    uint64_t both = a << 32 >> 32 | b << 32, d = c;
    for (unsigned k = 0; k < parts; k++) {
        if (!is_masked(&in->operands[0], k))
            continue;
        unsigned from_a = digit(&in->operands[1], k, k), from_b = digit(&in->operands[2], k, parts + k);
        int64_t t = operate(code, field(both, bits * from_a, bits, type[0] == TY_S32),
                            field(both, bits * from_b, bits, type[1] == TY_S32));
        if (in->flags & PF_SAT)
            t = clamp(t, type[2] == TY_S32, bits);
        d = in->atom ? d + (uint64_t)t : merged(d, (uint64_t)t, bits * k, bits);
    }
    return (uint32_t)d;
}

static uint64_t vmad(uint64_t a, uint64_t b, uint64_t c, const PtxCode *code) {
    const PtxInsn *in = code->insn;
    const PtxOperand *operand = in->operands;
    bool minus_product = operand[1].neg != operand[2].neg, minus_third = operand[3].neg;
    bool is_signed = in->type[1] == TY_S32 || in->type[2] == TY_S32 || minus_product || minus_third;
    S128 product = (S128)source_part(&operand[1], a, in->type[1]) * source_part(&operand[2], b, in->type[2]),
         third = field(c, 0, 32, is_signed);
    S128 sum = (minus_product ? -product : product) + (minus_third ? -third : third) + (in->sub2 == SUB_PO);
    sum >>= in->sub == SUB_SHR7 ? 7 : in->sub == SUB_SHR15 ? 15 : 0;
    if (in->flags & PF_SAT) {
        S128 low = is_signed ? INT32_MIN : 0, high = is_signed ? (S128)INT32_MAX : (S128)UINT32_MAX;
        sum = sum < low ? low : sum > high ? high : sum;
    }
    return (uint32_t)sum;
}

static bool bind_video(PtxCode *code, PtxPure *operation) {
    code->inner = operation;
    return interp_use_pure(code, ptx_video_parts(code->insn->op) > 1 ? video_parts : video);
}
#define BIND_VIDEO(name, operation)                                                                          \
    bool interp_bind_##name(PtxCode *code) { return bind_video(code, operation); }
BIND_VIDEO(vadd, sum_of)
BIND_VIDEO(vsub, difference_of)
BIND_VIDEO(vavrg, average_of)
BIND_VIDEO(vabsdiff, distance_of)
BIND_VIDEO(vmin, least_of)
BIND_VIDEO(vmax, greatest_of)
BIND_VIDEO(vshl, left_of)
BIND_VIDEO(vshr, right_of)
BIND_VIDEO(vset, holds_of)

/* The function itself negates. */
bool interp_bind_vmad(PtxCode *code) {
    for (unsigned k = 0; k < code->nsrc; k++)
        if (code->src[k].kind == ARG_NEG_REG)
            code->src[k].kind = ARG_REG;
    return interp_use_pure(code, vmad);
}
