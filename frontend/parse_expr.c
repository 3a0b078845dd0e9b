/* Constant expressions of PTX ISA 4.5: 64-bit integers with C's operators and precedences, and
 * floating-point literals with basic arithmetic.
 * SPDX-License-Identifier: MIT */
#include "frontend/parse.h"
#include <string.h>

static double as_double(const ConstVal *val) {
    double d;
    float f;
    if (val->kind == IMM_F64) {
        memcpy(&d, &val->bits, sizeof d);
        return d;
    }
    if (val->kind == IMM_F32) {
        uint32_t bits = (uint32_t)val->bits;
        memcpy(&f, &bits, sizeof f);
        return (double)f;
    }
    return val->is_unsigned ? (double)val->bits : (double)(int64_t)val->bits;
}

static void set_double(ConstVal *val, double d) {
    *val = (ConstVal){.kind = IMM_F64};
    memcpy(&val->bits, &d, sizeof d);
}

static void set_int(ConstVal *v, uint64_t bits, bool is_unsigned) {
    *v = (ConstVal){.kind = IMM_INT, .is_unsigned = is_unsigned, .bits = bits};
}

uint32_t parse_f32_bits(const ConstVal *val) {
    if (val->kind == IMM_F32)
        return (uint32_t)val->bits;
    float f = (float)as_double(val);
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* A `0f` literal is 32 bits of an .f64 operand, the upper ones zero, and no number converted (ptxas 13.0). */
uint64_t parse_f64_bits(const ConstVal *val) {
    if (val->kind == IMM_F32)
        return (uint32_t)val->bits;
    double d = as_double(val);
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

typedef struct {
    uint8_t kind, precedence;
    const char *text;
} BinaryOp;
static const BinaryOp binary_ops[] = {
    {'*', 10, "*"},    {'/', 10, "/"},       {'%', 10, "%"},     {'+', 9, "+"}, {'-', 9, "-"},
    {TK_SHL, 8, "<<"}, {TK_SHR, 8, ">>"},    {'<', 7, "<"},      {'>', 7, ">"}, {TK_LE, 7, "<="},
    {TK_GE, 7, ">="},  {TK_EQ, 6, "=="},     {TK_NE, 6, "!="},   {'&', 5, "&"}, {'^', 4, "^"},
    {'|', 3, "|"},     {TK_ANDAND, 2, "&&"}, {TK_OROR, 1, "||"},
};

static bool parse_ternary(Parser *parser, ConstVal *out, unsigned depth);

static bool parse_cast(Parser *parser, ConstVal *out, unsigned depth, bool *was_cast);
static bool parse_unary(Parser *parser, ConstVal *out, unsigned depth) {
    if (depth > MAX_EXPR_DEPTH)
        return diag(parser->d, here(parser), DIAG_E0112, "constant expressions", (unsigned)MAX_EXPR_DEPTH);
    Token t = parser->tok;
    bool was_cast;
    switch (t.kind) {
    case TK_INT:
        next(parser);
        set_int(out, t.value, t.is_unsigned);
        return true;
    case TK_FLT:
    case TK_DBL:
        next(parser);
        *out = (ConstVal){t.kind == TK_FLT ? IMM_F32 : IMM_F64, false, t.value};
        return true;
    case TK_IDENT:
        if (!str_eq(t.str, parser->name_warp_sz))
            return parse_expected(parser, "a constant");
        next(parser);
        set_int(out, 32, false);
        return true;
    case '(':
        next(parser);
        if (!parse_cast(parser, out, depth, &was_cast))
            return false;
        return was_cast || (parse_ternary(parser, out, depth + 1) && parse_expect(parser, ')', "')'"));
    case '+':
    case '-':
    case '~':
    case '!':
        next(parser);
        if (!parse_unary(parser, out, depth + 1))
            return false;
        break;
    default: return parse_expected(parser, "a constant");
    }
    if (t.kind == '-' && out->kind == IMM_F32)
        out->bits ^= 0x80000000u;
    else if (t.kind == '-' && out->kind == IMM_F64)
        out->bits ^= (uint64_t)1 << 63;
    else if (t.kind == '-')
        out->bits = 0 - out->bits;
    else if (t.kind == '~' && out->kind != IMM_INT)
        return diag(parser->d, tok_loc(&t), DIAG_E0116, "~");
    else if (t.kind == '~')
        set_int(out, ~out->bits, true);
    else if (t.kind == '!')
        set_int(out, out->kind == IMM_INT ? !out->bits : as_double(out) == 0.0, false);
    return true;
}

/* Behind `(`: `.s64) operand` or `.u64) operand`. */
static bool parse_cast(Parser *parser, ConstVal *out, unsigned depth, bool *was_cast) {
    bool s64 = parse_at_dir(parser, ".s64"), u64 = parse_at_dir(parser, ".u64");
    SrcLoc loc = here(parser);
    *was_cast = s64 || u64;
    if (!*was_cast)
        return true;
    next(parser);
    if (!parse_expect(parser, ')', "')'") || !parse_unary(parser, out, depth + 1))
        return false;
    if (out->kind != IMM_INT)
        return diag(parser->d, loc, DIAG_E0116, s64 ? "(.s64)" : "(.u64)");
    out->is_unsigned = u64;
    return true;
}

static bool float_op(Parser *parser, const BinaryOp *op, SrcLoc loc, ConstVal *a, const ConstVal *b) {
    double x = as_double(a), y = as_double(b);
    switch (op->kind) {
    case '*': set_double(a, x * y); return true;
    case '/': set_double(a, x / y); return true;
    case '+': set_double(a, x + y); return true;
    case '-': set_double(a, x - y); return true;
    case '<': set_int(a, x < y, false); return true;
    case '>': set_int(a, x > y, false); return true;
    case TK_LE: set_int(a, x <= y, false); return true;
    case TK_GE: set_int(a, x >= y, false); return true;
    case TK_EQ: set_int(a, x == y, false); return true;
    case TK_NE: set_int(a, x != y, false); return true;
    default: return diag(parser->d, loc, DIAG_E0116, op->text);
    }
}

static uint64_t divide(uint64_t x, uint64_t y, bool is_unsigned) {
    if (is_unsigned)
        return x / y;
    if (y == UINT64_MAX) /* INT64_MIN / -1 overflows */
        return 0 - x;
    return (uint64_t)((int64_t)x / (int64_t)y);
}

/* The low 6 bits of the amount count (ptxas 13.0; the document is silent). */
static uint64_t const_shift(unsigned kind, const ConstVal *val, uint64_t amount) {
    bool negative = !val->is_unsigned && (int64_t)val->bits < 0;
    unsigned n = amount & 63;
    if (kind == TK_SHL)
        return val->bits << n;
    return negative ? ~(~val->bits >> n) : val->bits >> n;
}

/* Types of the results are those of PTX ISA 4.5.6, but for `&`, `^`, `|` and `%`, whose results the document
 * has unsigned and signed: in ptxas 13.0 `(-5 & -1) >> 1` is -3 and `(5 % 3 - 4) / 2` is 2^63 - 1. `%` reads
 * both operands as unsigned. */
static bool int_op(Parser *parser, const BinaryOp *op, SrcLoc loc, ConstVal *val, const ConstVal *const_val) {
    uint64_t x = val->bits, y = const_val->bits;
    bool u = val->is_unsigned || const_val->is_unsigned;
    int order = u ? (x > y) - (x < y) : ((int64_t)x > (int64_t)y) - ((int64_t)x < (int64_t)y);
    switch (op->kind) {
    case '*': set_int(val, x * y, u); return true;
    case '/':
    case '%':
        if (!y)
            return diag(parser->d, loc, DIAG_E0115);
        if (op->kind == '%')
            set_int(val, x % y, true);
        else
            set_int(val, divide(x, y, u), u);
        return true;
    case '+': set_int(val, x + y, u); return true;
    case '-': set_int(val, x - y, u); return true;
    case TK_SHL:
    case TK_SHR: set_int(val, const_shift(op->kind, val, y), val->is_unsigned); return true;
    case '<': set_int(val, order < 0, false); return true;
    case '>': set_int(val, order > 0, false); return true;
    case TK_LE: set_int(val, order <= 0, false); return true;
    case TK_GE: set_int(val, order >= 0, false); return true;
    case TK_EQ: set_int(val, x == y, false); return true;
    case TK_NE: set_int(val, x != y, false); return true;
    case '&': set_int(val, x & y, u); return true;
    case '^': set_int(val, x ^ y, u); return true;
    case '|': set_int(val, x | y, u); return true;
    case TK_ANDAND: set_int(val, x && y, false); return true;
    default: set_int(val, x || y, false); return true;
    }
}

/* `7%3`: the lexer takes `%3` for a name; an operator is expected here. */
static void split_modulo(Parser *parser) {
    if (!at(parser, TK_IDENT) || parser->lx.text[parser->tok.at] != '%')
        return;
    parser->lx.at = parser->tok.at + 1;
    parser->tok.kind = '%';
    parser->tok.size = 1;
}

static bool parse_binary(Parser *p, ConstVal *out, unsigned min_precedence, unsigned depth) {
    if (!parse_unary(p, out, depth))
        return false;
    while (!at(p, ',') && !at(p, '}') && !at(p, ']')) { /* what mostly follows is no operator */
        split_modulo(p);
        const BinaryOp *op = NULL;
        for (unsigned i = 0; i < sizeof binary_ops / sizeof *binary_ops; i++)
            if (at(p, binary_ops[i].kind) && binary_ops[i].precedence >= min_precedence)
                op = &binary_ops[i];
        if (!op)
            return true;
        SrcLoc loc = here(p);
        ConstVal right;
        next(p);
        if (!parse_binary(p, &right, op->precedence + 1u, depth + 1))
            return false;
        bool is_int = out->kind == IMM_INT && right.kind == IMM_INT;
        if (!(is_int ? int_op(p, op, loc, out, &right) : float_op(p, op, loc, out, &right)))
            return false;
    }
    return true;
}

static bool parse_ternary(Parser *p, ConstVal *out, unsigned depth) {
    if (!parse_binary(p, out, 1, depth))
        return false;
    if (!parse_accept(p, '?'))
        return true;
    ConstVal yes, no;
    bool cond = out->kind == IMM_INT ? out->bits != 0 : as_double(out) != 0.0;
    if (!parse_ternary(p, &yes, depth + 1) || !parse_expect(p, ':', "':'") ||
        !parse_ternary(p, &no, depth + 1))
        return false;
    *out = cond ? yes : no; /* with the type of the chosen one (ptxas 13.0) */
    return true;
}

bool parse_const(Parser *p, ConstVal *out) { return parse_ternary(p, out, 0); }

bool parse_const_int(Parser *parser, int64_t *out, const char *what) {
    ConstVal v;
    SrcLoc loc = here(parser);
    if (!parse_const(parser, &v))
        return false;
    if (v.kind != IMM_INT)
        return diag(parser->d, loc, DIAG_E0102, what, 25, "a floating-point constant");
    *out = (int64_t)v.bits;
    return true;
}

bool parse_const_u32(Parser *parser, uint32_t *out, const char *what) {
    int64_t v = 0;
    SrcLoc loc = here(parser);
    if (!parse_const_int(parser, &v, what))
        return false;
    if (v < 0 || v > UINT32_MAX) {
        int n = (int)(parser->tok.at - (loc.i - 1));
        return diag(parser->d, loc, DIAG_E0114, n > 60 ? 60 : n, parser->lx.text + loc.i - 1);
    }
    *out = (uint32_t)v;
    return true;
}
