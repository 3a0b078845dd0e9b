/* Rewrite rules of terms as data: a pattern, a condition on its constants and on the bits that its terms can
 * have, and what stands for it. rewrite.def has the rows, rewrite.c applies them when a term is made, and
 * tests/check/prove/test_rewrite.c shows each with Z3 for all values at several widths: the trees below are
 * all that either of them knows of a rule. What is no row are normal forms of lists, which are functions
 * (sum.c, and the diagrams of term.c); tests/check/prove/test_rules.c asks Z3 about those.
 *
 * W is the width of a word, 32 where rules are applied. A pair has 2 W bits.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_REWRITE_H
#define HEDDLE_CHECK_PROVE_REWRITE_H
#include "check/prove/terms/term.h"

typedef enum {
    /* terms: any, the same one wherever it is named; a constant word with this number */
    RW_X,
    RW_Y,
    RW_CONST,
    /* words of words; shifts by W and more leave nothing, or the sign */
    RW_ADD, /* of a term and a constant */
    RW_MUL,
    RW_SHL,
    RW_LSHR,
    RW_ASHR,
    /* predicates of words; of a condition */
    RW_ULT,
    RW_SLT,
    RW_EQUAL,
    RW_EQZ,
    RW_NOT,
    RW_TRUTH,
    /* pairs, their words, pairs shifted by a word */
    RW_SEXT,
    RW_ZEXT,
    RW_LO,
    RW_HI,
    RW_MUL64,
    RW_SHL64,
    RW_LSHR64,
    RW_ASHR64,
    /* numbers: those of constants in the pattern, which they bind; without wrapping but for the last three */
    RW_J,
    RW_K,
    RW_NUMBER,
    RW_WIDTH,
    RW_LAST,     /* W - 1 */
    RW_TOP,      /* 2^(W-1) */
    RW_ONES,     /* 2^W - 1 */
    RW_POSSIBLE, /* bits that a word can have */
    RW_PLUS,
    RW_LEAST,
    RW_AND,
    RW_RIGHT,
    RW_LEFT, /* 0 beyond 2 W bits */
    RW_XOR,
    RW_NEG, /* modulo 2^W */
    RW_INV,
    RW_SIGNED_RIGHT,
    /* conditions on numbers */
    RW_ALWAYS,
    RW_LT,
    RW_SAME,
    RW_BOTH
} RewriteKind;

typedef struct RewriteNode {
    RewriteKind kind;
    uint32_t number; /* RW_NUMBER */
    const struct RewriteNode *a, *b;
} RewriteNode;

typedef struct {
    const char *text; /* of the row, for messages */
    const RewriteNode *pattern, *condition, *result;
} Rewrite;

/* The rows, in the order in which they are tried. */
const Rewrite *term_rewrites(unsigned *count);
/* What stands for operation `kind` of x and y (NULL: it has one operand) by the first row that fits; NULL:
 * none does. */
Term *term_rewrite(Terms *ts, RewriteKind kind, Term *x, Term *y);
#endif
