/* Applies the rows of rewrite.def when a term is made. A pattern is compared with the operands from the
 * outside in; names and numbers that it binds are in Bound. A result is built by the constructors, which may
 * apply further rows: every row makes its term smaller, or its operation one that is tried later.
 * SPDX-License-Identifier: MIT */
#include "check/prove/terms/rewrite.h"
#include "check/prove/terms/rewrite_words.h"
#include "check/prove/terms/term_internal.h"

enum { W = 32 };

static const Rewrite rows[] = {
#define ROW(pattern, condition, result)                                                                      \
    {#pattern " -> " #result ", if " #condition, pattern, condition, result},
#include "check/prove/terms/rewrite.def"
};

const Rewrite *term_rewrites(unsigned *count) {
    *count = sizeof rows / sizeof *rows;
    return rows;
}

typedef struct {
    Term *x, *y;
    uint64_t j, k;
    bool has_j, has_k;
} Bound;

/* ---- patterns ---- */

static bool bind_term(Term **slot, Term *term) {
    if (!*slot)
        *slot = term;
    return *slot == term;
}
static bool bind_number(bool *has, uint64_t *slot, uint64_t number) {
    if (!*has)
        *slot = number;
    *has = true;
    return *slot == number;
}

/* The operation of a node that is no list, and its width; TO_UF: it is none. */
static TermOp operation(RewriteKind kind, unsigned *width) {
    *width = kind >= RW_MUL64 ? 2 * W : W;
    switch (kind) {
    case RW_LSHR: return TO_LSHR;
    case RW_ASHR: return TO_ASHR;
    case RW_MUL64: return TO_MUL;
    case RW_SHL64: return TO_SHL64;
    case RW_LSHR64: return TO_LSHR64;
    case RW_ASHR64: return TO_ASHR64;
    default: return TO_UF;
    }
}

static bool fits(const RewriteNode *node, Term *term, Bound *bound) {
    unsigned width;
    switch (node->kind) {
    case RW_X: return bind_term(&bound->x, term);
    case RW_Y: return bind_term(&bound->y, term);
    case RW_J: return t_is_const(term) && bind_number(&bound->has_j, &bound->j, term->k);
    case RW_K: return t_is_const(term) && bind_number(&bound->has_k, &bound->k, term->k);
    case RW_ADD:
        return term->kind == TK_SUM && term->width == W && term->n == 1 && term->c[0] == 1 &&
               fits(node->a, term->a[0], bound) && bind_number(&bound->has_k, &bound->k, term->k);
    case RW_SEXT: return term->kind == TK_SEXT && fits(node->a, term->a[0], bound);
    default: break;
    }
    TermOp op = operation(node->kind, &width);
    return op != TO_UF && term->kind == TK_APP && term->op == op && term->width == width &&
           fits(node->a, term->a[0], bound) && fits(node->b, term->a[1], bound);
}

/* ---- numbers and conditions ---- */

static uint64_t number(const RewriteNode *node, const Bound *bound) {
    const uint64_t ones = term_mask(W), top = 1ull << (W - 1);
    uint64_t a = node->kind >= RW_PLUS ? number(node->a, bound) : 0,
             b = node->kind >= RW_PLUS && node->b ? number(node->b, bound) : 0;
    switch (node->kind) {
    case RW_J: return bound->j;
    case RW_K: return bound->k;
    case RW_NUMBER: return node->number;
    case RW_WIDTH: return W;
    case RW_LAST: return W - 1;
    case RW_TOP: return top;
    case RW_ONES: return ones;
    case RW_POSSIBLE: return term_possible(node->a->kind == RW_X ? bound->x : bound->y);
    case RW_PLUS: return a + b;
    case RW_LEAST: return a < b ? a : b;
    case RW_AND: return a & b;
    case RW_RIGHT: return b < 2 * W ? a >> b : 0;
    case RW_LEFT: return b < 2 * W ? a << b : 0;
    case RW_XOR: return a ^ b;
    case RW_NEG: return (0 - a) & ones;
    case RW_INV: return ~a & ones;
    case RW_SIGNED_RIGHT: return (uint64_t)((int64_t)(int32_t)(uint32_t)a >> (b < W ? b : W - 1)) & ones;
    default: return 0;
    }
}

static bool holds(const RewriteNode *node, const Bound *bound) {
    switch (node->kind) {
    case RW_ALWAYS: return true;
    case RW_LT: return number(node->a, bound) < number(node->b, bound);
    case RW_SAME: return number(node->a, bound) == number(node->b, bound);
    case RW_BOTH: return holds(node->a, bound) && holds(node->b, bound);
    default: return false;
    }
}

/* ---- results ---- */

static Term *build(Terms *ts, const RewriteNode *node, const Bound *bound) {
    bool words = node->kind >= RW_ADD && node->kind <= RW_ASHR64 && node->kind != RW_TRUTH;
    Term *a = words ? build(ts, node->a, bound) : NULL,
         *b = words && node->b ? build(ts, node->b, bound) : NULL;
    switch (node->kind) {
    case RW_X: return bound->x;
    case RW_Y: return bound->y;
    case RW_J: return t_const(ts, W, bound->j);
    case RW_K: return t_const(ts, W, bound->k);
    case RW_CONST: return t_const(ts, W, number(node->a, bound));
    case RW_ADD: return t_add(ts, a, b);
    case RW_MUL:
    case RW_MUL64: return t_mul(ts, a, b);
    case RW_SHL: return t_shl(ts, a, b);
    case RW_LSHR: return t_lshr(ts, a, b);
    case RW_ASHR: return t_ashr(ts, a, b);
    case RW_ULT: return t_ult(ts, a, b);
    case RW_SLT: return t_slt(ts, a, b);
    case RW_EQUAL: return t_eq(ts, a, b);
    case RW_EQZ: return t_eq(ts, a, ts->zero);
    case RW_NOT: return t_not(ts, a);
    case RW_TRUTH: return t_bool(ts, holds(node->a, bound));
    case RW_SEXT: return t_sext(ts, a);
    case RW_ZEXT: return t_zext(ts, a);
    case RW_LO: return t_lo(ts, a);
    case RW_HI: return t_hi(ts, a);
    case RW_SHL64: return t_shift64(ts, TO_SHL64, a, b);
    case RW_LSHR64: return t_shift64(ts, TO_LSHR64, a, b);
    case RW_ASHR64: return t_shift64(ts, TO_ASHR64, a, b);
    default: return NULL;
    }
}

Term *term_rewrite(Terms *ts, RewriteKind kind, Term *x, Term *y) {
    for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
        Bound bound = {NULL, NULL, 0, 0, false, false};
        const RewriteNode *pattern = rows[k].pattern;
        if (pattern->kind == kind && fits(pattern->a, x, &bound) && (!y || fits(pattern->b, y, &bound)) &&
            holds(rows[k].condition, &bound))
            return build(ts, rows[k].result, &bound);
    }
    return NULL;
}
