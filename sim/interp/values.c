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
static uint32_t classes_number(const PtxInsn *in, unsigned type) {
    bool narrow = type == TY_F32 || type == TY_F16 || type == TY_F16X2;
    return BIT(NAN) | (narrow ? BIT(SUBNORMAL) : 0) | (in->flags & PF_SAT ? BIT(CLAMP) : 0);
}

/* classes_fn(statement, its first type): column VALUES of frontend/ptx_ops.def */
typedef uint32_t ClassesFn(const PtxInsn *in, unsigned type);

static uint32_t classes_none(const PtxInsn *in, unsigned type) {
    (void)in, (void)type;
    return 0;
}

static uint32_t classes_compare(const PtxInsn *in, unsigned type) {
    (void)type;
    if (sees_float(compared_type(in)))
        return BIT(EQUAL) | BIT(ZEROS) | BIT(LESS) | BIT(GREATER) | BIT(NAN);
    return is_equality(in) ? BIT(EQUAL) | BIT(LESS) : BIT(EQUAL) | BIT(LESS) | BIT(GREATER) | BIT(SIGN);
}

static uint32_t classes_convert(const PtxInsn *in, unsigned to) {
    unsigned from = in->ntypes > 1 ? in->type[1] : to;
    if (sees_float(from))
        return sees_float(to) ? BIT(NAN) : BIT(NAN) | BIT(REST) | BIT(RANGE) | BIT(SIGN);
    bool narrows = ptx_type_bytes((PtxType)to) < ptx_type_bytes((PtxType)from);
    return !sees_float(to) && narrows ? BIT(RANGE) : BIT(SIGN);
}

static uint32_t classes_minmax(const PtxInsn *in, unsigned type) {
    (void)in;
    return sees_float(type) ? BIT(ZEROS) | BIT(LESS) | BIT(GREATER) | BIT(NAN)
                            : BIT(LESS) | BIT(GREATER) | BIT(SIGN);
}

static uint32_t classes_shl(const PtxInsn *in, unsigned type) {
    (void)type;
    return is_imm(in, 1) ? 0 : BIT(CLAMP) | BIT(EFFECT);
}

static uint32_t classes_shr(const PtxInsn *in, unsigned type) { return BIT(SIGN) | classes_shl(in, type); }

static uint32_t classes_divide(const PtxInsn *in, unsigned type) {
    return sees_float(type) ? classes_number(in, type) : BIT(SIGN) | BIT(REST);
}

static uint32_t classes_product(const PtxInsn *in, unsigned type) {
    bool wide = in->sub == SUB_WIDE || in->sub == SUB_HI;
    return sees_float(type) ? classes_number(in, type) : BIT(EFFECT) | (wide ? BIT(SIGN) : 0);
}

static uint32_t classes_sum(const PtxInsn *in, unsigned type, uint32_t whole) {
    return sees_float(type) ? classes_number(in, type) : whole | (in->flags & PF_SAT ? BIT(CLAMP) : 0);
}
static uint32_t classes_add(const PtxInsn *in, unsigned type) { return classes_sum(in, type, BIT(COMMON)); }
static uint32_t classes_sub(const PtxInsn *in, unsigned type) { return classes_sum(in, type, BIT(EFFECT)); }

static uint32_t classes_sign(const PtxInsn *in, unsigned type) {
    (void)in, (void)type;
    return BIT(SIGN);
}

static uint32_t classes_logic(const PtxInsn *in, unsigned type) {
    (void)in, (void)type;
    return BIT(COMMON) | BIT(OWN);
}

static uint32_t classes_select(const PtxInsn *in, unsigned type) {
    (void)in, (void)type;
    return BIT(TRUE) | BIT(FALSE);
}

static uint32_t operation_classes(const PtxInsn *in) {
    static ClassesFn *const classes[PTX_OP_COUNT] = {
        classes_none,
#define VALUES(fn) classes_##fn
#define PTX_OP(name, text, goes, defaults, rule, values, ...) [PTX_##name] = values,
#include "frontend/ptx_ops.def"
    };
    return classes[in->op](in, in->type[0]);
}

uint32_t interp_value_classes(const PtxInsn *in) {
    return operation_classes(in) | (in->guard_reg ? BIT(TRUE) | BIT(FALSE) : 0);
}

/* ---- which ones operands show ---- */

typedef struct {
    uint64_t bits;         /* cut to the type */
    int64_t whole;         /* the same with its sign */
    double number, second; /* second: of two halves; else 0 */
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
    } else if (type == TY_F16 || type == TY_F16X2 || type == TY_BF16 || type == TY_BF16X2) {
        bool half = type == TY_F16 || type == TY_F16X2;
        value.number = interp_half_value(half ? FMT_F16 : FMT_BF16, (uint16_t)value.bits);
        value.second =
            bytes < 4 ? 0 : interp_half_value(half ? FMT_F16 : FMT_BF16, (uint16_t)(value.bits >> 16));
    }
    return value;
}

static bool is_nan(Value value) { return isnan(value.number) || isnan(value.second); }
static bool is_subnormal(Value value, unsigned type) {
    double least = type == TY_F64 ? 0x1p-1022 : type == TY_F16 || type == TY_F16X2 ? 0x1p-14 : 0x1p-126;
    return (value.number != 0 && fabs(value.number) < least) ||
           (value.second != 0 && fabs(value.second) < least);
}
static uint32_t order(bool less, bool greater) {
    return less ? BIT(LESS) : greater ? BIT(GREATER) : BIT(EQUAL);
}

static uint32_t compared(Value a, Value b, unsigned type, bool equality) {
    if (sees_float(type)) { /* of two halves the first */
        uint32_t zeros = a.number == b.number && a.bits != b.bits ? BIT(ZEROS) : 0;
        return is_nan(a) || is_nan(b) ? BIT(NAN) : order(a.number<b.number, a.number> b.number) | zeros;
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

/* What seen_fn looks at: the statement's operands. */
typedef struct {
    const PtxCode *code;
    unsigned type, n;
    uint64_t slot[3];
    Value v[3]; /* the slots as values of `type` */
} Seen;
typedef uint32_t SeenFn(const Seen *s);

static uint32_t seen_none(const Seen *seen) {
    (void)seen;
    return 0;
}

static uint32_t seen_compare(const Seen *seen) {
    return compared(seen->v[0], seen->v[1], seen->type, is_equality(seen->code->insn));
}
static uint32_t seen_minmax(const Seen *s) { return compared(s->v[0], s->v[1], s->type, false); }
static uint32_t seen_shr(const Seen *s) { return shifted(s->v[0], (uint32_t)s->slot[1]); }
static uint32_t seen_shl(const Seen *s) { return seen_shr(s); }
static uint32_t seen_sign(const Seen *s) { return s->v[0].whole < 0 ? BIT(SIGN) : 0; }

static uint32_t seen_select(const Seen *seen) {
    return seen->slot[0] == seen->slot[1] ? 0 : seen->slot[2] & 1 ? BIT(TRUE) : BIT(FALSE);
}

static uint32_t seen_logic(const Seen *seen) {
    uint64_t a = seen->v[0].bits, b = seen->v[1].bits;
    return (a & b ? BIT(COMMON) : 0) | (a != b ? BIT(OWN) : 0);
}

static uint32_t seen_convert(const Seen *seen) {
    unsigned to = seen->code->type, from = seen->code->type2;
    Value a = value_of(seen->slot[0], from);
    unsigned width = 8 * ptx_type_bytes((PtxType)to);
    if (!sees_float(from))
        return (a.whole < 0 ? BIT(SIGN) : 0) | (width < a.width && a.bits >> width ? BIT(RANGE) : 0);
    if (is_nan(a))
        return BIT(NAN);
    bool is_signed = ptx_type_class((PtxType)to) == TC_SIGNED;
    double most = ldexp(1, (int)width - is_signed), least = is_signed ? -most : 0;
    return (a.number != rint(a.number) ? BIT(REST) : 0) | (a.number < 0 ? BIT(SIGN) : 0) |
           (a.number >= most || a.number < least ? BIT(RANGE) : 0);
}

/* Of an operation on numbers of one type. */
static uint32_t seen_number(const Seen *s) {
    const PtxCode *code = s->code;
    uint32_t seen = 0;
    for (unsigned i = 0; i < s->n; i++)
        seen |= (is_nan(s->v[i]) ? BIT(NAN) : 0) | (is_subnormal(s->v[i], code->type) ? BIT(SUBNORMAL) : 0);
    if (!code->sat || code->exec != interp_exec_pure)
        return seen;
    double sum = value_of(code->pure(s->slot[0], s->slot[1], s->slot[2], code), code->type).number;
    return seen | (sum == 0 || sum == 1 ? BIT(CLAMP) : 0); /* 0 or 1 where it was outside, mostly */
}

static uint32_t seen_sum(const Seen *seen, bool add) {
    if (sees_float(seen->type))
        return seen_number(seen);
    Value a = seen->v[0], b = seen->v[1];
    uint64_t x = (uint64_t)a.whole, y = (uint64_t)b.whole;
    int64_t sum = (int64_t)(add ? x + y : x - y); /* .sat is for 32 bits, whose sum is exact */
    return (a.bits & b.bits ? BIT(COMMON) : 0) | (b.bits ? BIT(EFFECT) : 0) |
           (seen->code->sat && (sum > INT32_MAX || sum < INT32_MIN) ? BIT(CLAMP) : 0);
}
static uint32_t seen_add(const Seen *s) { return seen_sum(s, true); }
static uint32_t seen_sub(const Seen *s) { return seen_sum(s, false); }

static uint32_t seen_divide(const Seen *seen) {
    Value a = seen->v[0], b = seen->v[1];
    if (sees_float(seen->type))
        return seen_number(seen);
    return ((a.whole < 0 || b.whole < 0) && b.bits ? BIT(SIGN) : 0) |
           (b.bits && a.bits % b.bits && a.bits >= b.bits ? BIT(REST) : 0);
}

static uint32_t seen_product(const Seen *seen) {
    Value a = seen->v[0], b = seen->v[1];
    if (sees_float(seen->type))
        return seen_number(seen);
    return (a.bits > 1 && b.bits > 1 ? BIT(EFFECT) : 0) | (a.whole < 0 || b.whole < 0 ? BIT(SIGN) : 0);
}

/* Operands of the statement before it is executed. */
uint32_t interp_values_seen(PtxRun *run, const PtxThread *thread, const PtxCode *code) {
    static SeenFn *const seen[PTX_OP_COUNT] = {
        seen_none,
#define VALUES(fn) seen_##fn
#define PTX_OP(name, text, goes, defaults, rule, values, ...) [PTX_##name] = values,
#include "frontend/ptx_ops.def"
    };
    const PtxInsn *in = code->insn;
    Seen s = {.code = code, .n = code->nsrc < 3 ? code->nsrc : 3};
    s.type = seen[in->op] == seen_compare ? compared_type(in) : code->type;
    for (unsigned i = 0; i < s.n; i++) {
        s.slot[i] = interp_arg(run, thread, &code->src[i]);
        s.v[i] = value_of(s.slot[i], s.type);
    }
    return seen[in->op](&s);
}
