/* Value coverage: did a statement see operands that tell its operation from its neighbours? A kernel whose
 * comparisons never meet equal operands is executed alike with < and <=, so "equal" says nothing of them.
 *
 * A statement has a set of classes (sim/interp/values.def) that follows from operation, types and immediates;
 * executing it adds those that its operands show.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <math.h>

#define BIT(id) (1u << PTX_VALUE_##id)

static const struct {
    const char *name, *text;
} values[PTX_VALUE_COUNT] = {
#define PTX_VALUE(id, name, text) [PTX_VALUE_##id] = {name, text},
#include "sim/interp/values.def"
#undef PTX_VALUE
};
const char *interp_value_name(PtxValue value) { return value < PTX_VALUE_COUNT ? values[value].name : "?"; }
const char *interp_value_text(PtxValue value) { return value < PTX_VALUE_COUNT ? values[value].text : "?"; }

/* ---- which classes a statement has ---- */

static bool sees_float(unsigned type) { return ptx_type_class((PtxType)type) == TC_FLOAT; }
static bool is_imm(const PtxInsn *in, unsigned source) {
    return in->ndst + source < in->noperands && in->operands[in->ndst + source].kind == PO_IMM;
}
static bool is_equality(const PtxInsn *in) {
    return in->cmp == CMP_EQ || in->cmp == CMP_NE || in->cmp == CMP_EQU || in->cmp == CMP_NEU;
}
/* set.cmp.dtype.stype compares the second type. */
static unsigned compared_type(const PtxInsn *in) {
    return in->type[in->op == PTX_SET && in->ntypes > 1 ? 1 : 0];
}
static uint32_t float_classes(const PtxInsn *in, unsigned type) {
    bool narrow = type == TY_F32 || type == TY_F16 || type == TY_F16X2;
    return BIT(NAN) | (narrow ? BIT(SUBNORMAL) : 0) | (in->flags & PF_SAT ? BIT(CLAMP) : 0);
}

static uint32_t compare_classes(const PtxInsn *in, unsigned type) {
    if (sees_float(type))
        return BIT(EQUAL) | BIT(ZEROS) | BIT(LESS) | BIT(GREATER) | BIT(NAN);
    return is_equality(in) ? BIT(EQUAL) | BIT(LESS) : BIT(EQUAL) | BIT(LESS) | BIT(GREATER) | BIT(SIGN);
}

static uint32_t convert_classes(const PtxInsn *in) {
    unsigned to = in->type[0], from = in->ntypes > 1 ? in->type[1] : to;
    if (sees_float(from))
        return sees_float(to) ? BIT(NAN) : BIT(NAN) | BIT(REST) | BIT(RANGE) | BIT(SIGN);
    bool narrows = ptx_type_bytes((PtxType)to) < ptx_type_bytes((PtxType)from);
    return !sees_float(to) && narrows ? BIT(RANGE) : BIT(SIGN);
}

static uint32_t operation_classes(const PtxInsn *in) {
    unsigned type = in->type[0];
    bool wide = in->sub == SUB_WIDE || in->sub == SUB_HI;
    switch (in->op) {
    case PTX_SETP:
    case PTX_SET: return compare_classes(in, compared_type(in));
    case PTX_MIN:
    case PTX_MAX:
        return sees_float(type) ? BIT(ZEROS) | BIT(LESS) | BIT(GREATER) | BIT(NAN)
                                : BIT(LESS) | BIT(GREATER) | BIT(SIGN);
    case PTX_SHL: return is_imm(in, 1) ? 0 : BIT(CLAMP) | BIT(EFFECT);
    case PTX_SHR: return BIT(SIGN) | (is_imm(in, 1) ? 0 : BIT(CLAMP) | BIT(EFFECT));
    case PTX_DIV:
    case PTX_REM: return sees_float(type) ? float_classes(in, type) : BIT(SIGN) | BIT(REST);
    case PTX_MUL:
    case PTX_MAD: return sees_float(type) ? float_classes(in, type) : BIT(EFFECT) | (wide ? BIT(SIGN) : 0);
    case PTX_ADD:
        return sees_float(type) ? float_classes(in, type)
                                : BIT(COMMON) | (in->flags & PF_SAT ? BIT(CLAMP) : 0);
    case PTX_SUB:
        return sees_float(type) ? float_classes(in, type)
                                : BIT(EFFECT) | (in->flags & PF_SAT ? BIT(CLAMP) : 0);
    case PTX_FMA:
    case PTX_RCP:
    case PTX_SQRT:
    case PTX_RSQRT:
    case PTX_EX2:
    case PTX_LG2: return float_classes(in, type);
    case PTX_ABS:
    case PTX_NEG: return BIT(SIGN);
    case PTX_AND:
    case PTX_OR:
    case PTX_XOR: return BIT(COMMON) | BIT(OWN);
    case PTX_SELP: return BIT(TRUE) | BIT(FALSE);
    case PTX_CVT: return convert_classes(in);
    default: return 0;
    }
}

uint32_t interp_value_classes(const PtxInsn *in) {
    return operation_classes(in) | (in->guard_reg ? BIT(TRUE) | BIT(FALSE) : 0);
}

/* ---- which ones operands show ---- */

typedef struct {
    uint64_t bits; /* cut to the type */
    int64_t whole; /* the same with its sign */
    double number;
    unsigned width;
} Value;

static Value value_of(uint64_t slot, unsigned type) {
    unsigned bytes = ptx_type_bytes((PtxType)type), width = bytes ? 8 * bytes : 1;
    Value value = {.bits = slot & width_mask(bytes), .width = width};
    value.whole = (int64_t)(value.bits << (64 - width)) >> (64 - width);
    if (type == TY_F64)
        memcpy(&value.number, &value.bits, 8);
    else if (type == TY_F32) {
        float narrow;
        memcpy(&narrow, &value.bits, 4);
        value.number = (double)narrow;
    } else if (type == TY_F16) {
        value.number = interp_half_value(FMT_F16, (uint16_t)value.bits);
    }
    return value;
}

static bool known_float(unsigned type) { return type == TY_F64 || type == TY_F32 || type == TY_F16; }
static bool is_subnormal(Value value, unsigned type) {
    double least = type == TY_F32 ? 0x1p-126 : type == TY_F16 ? 0x1p-14 : 0x1p-1022;
    return value.number != 0 && fabs(value.number) < least;
}
static uint32_t order(bool less, bool greater) {
    return less ? BIT(LESS) : greater ? BIT(GREATER) : BIT(EQUAL);
}

static uint32_t compared(Value a, Value b, unsigned type, bool equality) {
    if (known_float(type)) {
        uint32_t zeros = a.number == b.number && a.bits != b.bits ? BIT(ZEROS) : 0;
        return isnan(a.number) || isnan(b.number) ? BIT(NAN)
                                                  : order(a.number<b.number, a.number> b.number) | zeros;
    }
    bool is_signed = ptx_type_class((PtxType)type) == TC_SIGNED;
    bool less = is_signed ? a.whole < b.whole : a.bits < b.bits;
    uint32_t sign = (a.whole < 0) != (b.whole < 0) ? BIT(SIGN) : 0;
    return (equality && a.bits != b.bits ? BIT(LESS) : order(less, a.bits != b.bits)) | sign;
}

static uint32_t shifted(Value a, uint64_t amount) {
    return (amount >= a.width ? BIT(CLAMP) : 0) | (amount && a.bits ? BIT(EFFECT) : 0) |
           (amount && a.whole < 0 ? BIT(SIGN) : 0);
}

static uint32_t divided(Value a, Value b) {
    return ((a.whole < 0 || b.whole < 0) && b.bits ? BIT(SIGN) : 0) |
           (b.bits && a.bits % b.bits && a.bits >= b.bits ? BIT(REST) : 0);
}

/* Of an operation on numbers of one type, n operands. */
static uint32_t numbers(const Value *v, unsigned n, const PtxCode *code, uint64_t result) {
    uint32_t seen = 0;
    for (unsigned i = 0; i < n; i++)
        seen |= (isnan(v[i].number) ? BIT(NAN) : 0) | (is_subnormal(v[i], code->type) ? BIT(SUBNORMAL) : 0);
    double sum = value_of(result, code->type).number; /* with .sat: 0 or 1 where it was outside, mostly */
    return seen | (code->sat && (sum == 0 || sum == 1) ? BIT(CLAMP) : 0);
}

static uint32_t whole_numbers(const PtxCode *code, Value a, Value b) {
    bool add = code->insn->op == PTX_ADD;
    uint64_t x = (uint64_t)a.whole, y = (uint64_t)b.whole;
    int64_t sum = (int64_t)(add ? x + y : x - y); /* .sat is for 32 bits, whose sum is exact */
    return (a.bits & b.bits ? BIT(COMMON) : 0) | (b.bits ? BIT(EFFECT) : 0) |
           (code->sat && (sum > INT32_MAX || sum < INT32_MIN) ? BIT(CLAMP) : 0);
}

static uint32_t converted(const PtxCode *code, uint64_t slot) {
    unsigned to = code->type, from = code->type2;
    Value a = value_of(slot, from);
    unsigned width = 8 * ptx_type_bytes((PtxType)to);
    if (!sees_float(from))
        return (a.whole < 0 ? BIT(SIGN) : 0) | (width < a.width && a.bits >> width ? BIT(RANGE) : 0);
    if (isnan(a.number))
        return BIT(NAN);
    bool is_signed = ptx_type_class((PtxType)to) == TC_SIGNED;
    double most = ldexp(1, (int)width - is_signed), least = is_signed ? -most : 0;
    return (a.number != rint(a.number) ? BIT(REST) : 0) | (a.number < 0 ? BIT(SIGN) : 0) |
           (a.number >= most || a.number < least ? BIT(RANGE) : 0);
}

/* Operands of the statement before it is executed; `wanted`: classes not seen yet. */
uint32_t interp_values_seen(PtxRun *run, const PtxThread *thread, const PtxCode *code) {
    const PtxInsn *in = code->insn;
    uint64_t slot[3] = {0};
    Value v[3] = {0};
    unsigned n = code->nsrc < 3 ? code->nsrc : 3;
    unsigned type = in->op == PTX_SETP || in->op == PTX_SET ? compared_type(in) : code->type;
    for (unsigned i = 0; i < n; i++) {
        slot[i] = interp_arg(run, thread, &code->src[i]);
        v[i] = value_of(slot[i], type);
    }
    switch (in->op) {
    case PTX_SETP:
    case PTX_SET: return compared(v[0], v[1], type, is_equality(in));
    case PTX_MIN:
    case PTX_MAX: return compared(v[0], v[1], type, false);
    case PTX_SHL:
    case PTX_SHR: return shifted(v[0], (uint32_t)slot[1]);
    case PTX_ABS:
    case PTX_NEG: return v[0].whole < 0 ? BIT(SIGN) : 0;
    case PTX_SELP: return slot[0] == slot[1] ? 0 : slot[2] & 1 ? BIT(TRUE) : BIT(FALSE);
    case PTX_CVT: return converted(code, slot[0]);
    case PTX_AND:
    case PTX_OR:
    case PTX_XOR: return (v[0].bits & v[1].bits ? BIT(COMMON) : 0) | (v[0].bits != v[1].bits ? BIT(OWN) : 0);
    default: break;
    }
    if (sees_float(type))
        return numbers(v, n, code,
                       code->sat && code->exec == interp_exec_pure
                           ? code->pure(slot[0], slot[1], slot[2], code)
                           : ~0ull);
    if (in->op == PTX_DIV || in->op == PTX_REM)
        return divided(v[0], v[1]);
    if (in->op == PTX_MUL || in->op == PTX_MAD)
        return (v[0].bits > 1 && v[1].bits > 1 ? BIT(EFFECT) : 0) |
               (v[0].whole < 0 || v[1].whole < 0 ? BIT(SIGN) : 0);
    return whole_numbers(code, v[0], v[1]);
}
