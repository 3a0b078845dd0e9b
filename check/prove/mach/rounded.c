/* Division, reciprocal and square root of f32 and f64 that machine code does by MUFU and FFMA or DFMA, and
 * division of 64-bit integers that it does with 32 bits, where the operands are ordinary, and by a call of
 * the library elsewhere. Where the two ways meet, the value is the library's on both: if one brings a call's
 * result, and the other what the sequence computes of the call's own arguments, under just the condition that
 * the sequence asks for. What is compared is whole terms, so another step, sign, constant or rounding mode is
 * not recognised. That the sequences round correctly is shown beside the prover: docs/numerics.md, "Rounding
 * exactly from MUFU", and tests/values/test_rounded; for integers tests/values/test_division.
 * SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"
#include <string.h>

enum { MAGNITUDE = 0x7fffffff, ONE = 0x3f800000, HALF = 0x3f000000, INFINITE = 0x7f800000 };
enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8, BITS = 32 }; /* of t_fcmp */

static Term *word(Prover *prover, uint32_t v) { return t_const(&prover->ts, 32, v); }
static Term *fma_of(Prover *prover, unsigned rnd, Term *a, Term *b, Term *c) {
    return prove_uf(prover, 32, term_name(&prover->ts, "ffma.%u", rnd), (Term *[]){a, b, c}, 3);
}
static Term *mul_of(Prover *prover, Term *a, Term *b) {
    return prove_uf_sorted(prover, 32, term_name(&prover->ts, "fmul.0"), a, b);
}
static Term *mufu_of(Prover *prover, unsigned func, Term *a) {
    return prove_uf(prover, 32, term_name(&prover->ts, "mufu.%u", func), &a, 1);
}
static Term *minus(Prover *prover, Term *a) {
    return t_lxor(&prover->ts, a, word(prover, ~(uint32_t)MAGNITUDE));
}

/* lowest <= a < limit */
static Term *in_range(Prover *prover, Term *a, uint32_t lowest, uint32_t limit) {
    Terms *ts = &prover->ts;
    return t_and(ts, t_fcmp(ts, BITS, GREATER | EQUAL, a, word(prover, lowest)),
                 t_fcmp(ts, BITS, LESS, a, word(prover, limit)));
}

typedef struct {
    Term *value, *good; /* what is computed, and when it counts */
} Sequence;

/* 1 / b, from a first approximation */
static Term *refined(Prover *prover, Term *y, Term *b) {
    Term *e = fma_of(prover, Rnd_RN, minus(prover, b), y, word(prover, ONE));
    return fma_of(prover, Rnd_RN, y, fma_of(prover, Rnd_RP, e, e, e), y);
}
static Sequence reciprocal(Prover *prover, unsigned rnd, Term *b) {
    Term *y = refined(prover, mufu_of(prover, Mufu_RCP, b), b);
    Term *e = fma_of(prover, Rnd_RN, minus(prover, b), y, word(prover, ONE));
    Term *magnitude = t_land(&prover->ts, b, word(prover, MAGNITUDE));
    return (Sequence){fma_of(prover, rnd, y, e, y), in_range(prover, magnitude, 0x00800000, 0x7e000000)};
}
static Sequence quotient(Prover *prover, unsigned rnd, Term *a, Term *b) {
    Term *first = mufu_of(prover, Mufu_RCP, b), *y = refined(prover, first, b), *q = mul_of(prover, a, first);
    q = fma_of(prover, Rnd_RN, fma_of(prover, Rnd_RN, minus(prover, b), q, a), y, q);
    q = fma_of(prover, rnd, fma_of(prover, Rnd_RN, minus(prover, b), q, a), y, q);
    return (Sequence){q, t_not(&prover->ts, prove_fchk(prover, a, b))};
}
static Sequence root(Prover *prover, unsigned rnd, Term *x) {
    Term *y = mufu_of(prover, Mufu_RSQ, x), *g = mul_of(prover, x, y),
         *h = mul_of(prover, y, word(prover, HALF));
    Term *e = fma_of(prover, Rnd_RN, minus(prover, g), h, word(prover, HALF));
    g = fma_of(prover, Rnd_RN, g, e, g);
    h = fma_of(prover, Rnd_RN, h, e, h);
    return (Sequence){fma_of(prover, rnd, fma_of(prover, Rnd_RN, minus(prover, g), g, x), h, g),
                      in_range(prover, x, 0x0d800000, 0x7f800000)};
}

/* ---- as ptxas 13.0 writes them, to nearest: one step less each; that these round correctly, too, rests on
 * MUFU being right in its last bit, and is tests/values/test_rounded's to show ---- */
enum { TWO_TO_24 = 0x01800000, ROOT_LOWEST = 0x0d000000, ROOT_RANGE = 0x727fffff };

/* a + b with subnormals flushed, b -0: as a negation */
static Term *flushed_minus(Prover *prover, Term *a) {
    return prove_uf_sorted(prover, 32, term_name(&prover->ts, "fadd.0.ftz"), minus(prover, a),
                           word(prover, ~(uint32_t)MAGNITUDE));
}
static Term *flushed_mul(Prover *prover, Term *a, Term *b) {
    return prove_uf_sorted(prover, 32, term_name(&prover->ts, "fmul.0.ftz"), a, b);
}
static Sequence foreign_reciprocal(Prover *prover, Term *b) {
    Terms *ts = &prover->ts;
    Term *y = mufu_of(prover, Mufu_RCP, b), *above = t_add(ts, b, word(prover, TWO_TO_24));
    Term *e = fma_of(prover, Rnd_RN, b, y, word(prover, ONE | ~(uint32_t)MAGNITUDE));
    return (Sequence){fma_of(prover, Rnd_RN, y, flushed_minus(prover, e), y),
                      t_ult(ts, word(prover, 0x01ffffff), t_land(ts, above, word(prover, INFINITE)))};
}
static Sequence foreign_quotient(Prover *prover, Term *a, Term *b) {
    Term *y = mufu_of(prover, Mufu_RCP, b),
         *e = fma_of(prover, Rnd_RN, minus(prover, b), y, word(prover, ONE));
    y = fma_of(prover, Rnd_RN, y, e, y);
    Term *q = fma_of(prover, Rnd_RN, a, y, word(prover, 0));
    q = fma_of(prover, Rnd_RN, fma_of(prover, Rnd_RN, minus(prover, b), q, a), y, q);
    return (Sequence){q, t_not(&prover->ts, prove_fchk(prover, a, b))};
}
static Sequence foreign_root(Prover *prover, Term *x) {
    Terms *ts = &prover->ts;
    Term *y = mufu_of(prover, Mufu_RSQ, x), *g = flushed_mul(prover, x, y),
         *h = flushed_mul(prover, y, word(prover, HALF));
    Term *above = t_sub(ts, x, word(prover, ROOT_LOWEST));
    return (Sequence){fma_of(prover, Rnd_RN, fma_of(prover, Rnd_RN, minus(prover, g), g, x), h, g),
                      t_not(ts, t_ult(ts, word(prover, ROOT_RANGE), above))};
}

/* ---- f64: constants are high words, and ranges are those of high words, compared as f32 ---- */

static Term *wide(Prover *prover, uint32_t high) { return t_const(&prover->ts, 64, (uint64_t)high << 32); }
static Term *dfma_of(Prover *prover, unsigned rnd, Term *a, Term *b, Term *c) {
    return prove_uf(prover, 64, term_name(&prover->ts, "dfma.%u", rnd), (Term *[]){a, b, c}, 3);
}
static Term *dmul_of(Prover *prover, Term *a, Term *b) {
    return prove_uf_sorted(prover, 64, term_name(&prover->ts, "dmul.0"), a, b);
}
static Term *mufu_wide(Prover *prover, unsigned func, Term *a) {
    return t_pair(&prover->ts, prover->ts.zero, mufu_of(prover, func, t_hi(&prover->ts, a)));
}
static Term *minus_wide(Prover *prover, Term *a) {
    return t_pair(&prover->ts, t_lo(&prover->ts, a), minus(prover, t_hi(&prover->ts, a)));
}
static Term *high_magnitude(Prover *prover, Term *a) {
    return t_land(&prover->ts, t_hi(&prover->ts, a), word(prover, MAGNITUDE));
}
/* c - a b */
static Term *rest(Prover *prover, Term *a, Term *b, Term *c) {
    return dfma_of(prover, Rnd_RN, minus_wide(prover, a), b, c);
}

static Term *inverse(Prover *prover, unsigned rnd, Term *b) {
    Term *one = wide(prover, 0x3ff00000), *y = mufu_wide(prover, Mufu_RCP64H, b),
         *e = rest(prover, b, y, one);
    y = dfma_of(prover, Rnd_RN, y, dfma_of(prover, Rnd_RN, e, e, e), y);
    return dfma_of(prover, rnd, y, rest(prover, b, y, one), y);
}
static Term *not_largest(Prover *prover, Term *b) {
    return t_not(&prover->ts, t_eq(&prover->ts, t_lo(&prover->ts, b), word(prover, ~0u)));
}
static Sequence reciprocal_wide(Prover *prover, unsigned rnd, Term *b) {
    return (Sequence){inverse(prover, rnd, b),
                      t_and(&prover->ts, not_largest(prover, b),
                            in_range(prover, high_magnitude(prover, b), 0x00100000, INFINITE))};
}
static Sequence quotient_wide(Prover *prover, unsigned rnd, Term *a, Term *b) {
    Terms *ts = &prover->ts;
    Term *y = inverse(prover, Rnd_RN, b), *q = dmul_of(prover, a, y);
    q = dfma_of(prover, Rnd_RN, rest(prover, b, q, a), y, q);
    if (rnd != Rnd_RN)
        q = dfma_of(prover, rnd, rest(prover, b, q, a), y, q);
    Term *large = t_fcmp(ts, BITS, GREATER | EQUAL, high_magnitude(prover, a), word(prover, 0x03600000)),
         *normal = t_fcmp(ts, BITS, GREATER, high_magnitude(prover, q), word(prover, 0x00100000));
    return (Sequence){q, t_and(ts, normal, t_and(ts, large, not_largest(prover, b)))};
}
static Sequence root_wide(Prover *prover, unsigned rnd, Term *x) {
    Terms *ts = &prover->ts;
    Term *half = wide(prover, 0x3fe00000), *y = mufu_wide(prover, Mufu_RSQ64H, x);
    Term *e = rest(prover, x, dmul_of(prover, y, y), wide(prover, 0x3ff00000));
    Term *k = dfma_of(prover, Rnd_RN, e, wide(prover, 0x3fd80000), half);
    y = dfma_of(prover, Rnd_RN, k, dmul_of(prover, y, e), y);
    Term *g = dmul_of(prover, x, y), *h = dmul_of(prover, y, half);
    g = dfma_of(prover, Rnd_RN, rest(prover, g, g, x), h, g);
    if (rnd != Rnd_RN)
        g = dfma_of(prover, rnd, rest(prover, g, g, x), h, g);
    Term *above = t_sub(ts, t_hi(ts, x), word(prover, 0x03500000));
    return (Sequence){g, t_ult(ts, above, word(prover, 0x7ff00000 - 0x03500000))};
}

/* As ptxas writes it. The question about the quotient's size is asked of fma(0, b's high word, its high
 * word): the second, or a NaN where b is not finite. */
static Sequence foreign_quotient_wide(Prover *prover, Term *a, Term *b) {
    Terms *ts = &prover->ts;
    Term *one = wide(prover, 0x3ff00000),
         *y = t_pair(ts, word(prover, 1), mufu_of(prover, Mufu_RCP64H, t_hi(ts, b))),
         *e = rest(prover, b, y, one);
    y = dfma_of(prover, Rnd_RN, y, dfma_of(prover, Rnd_RN, e, e, e), y);
    y = dfma_of(prover, Rnd_RN, y, rest(prover, b, y, one), y);
    Term *q = dmul_of(prover, a, y);
    q = dfma_of(prover, Rnd_RN, y, rest(prover, b, q, a), q);
    Term *size = t_land(ts, fma_of(prover, Rnd_RN, word(prover, 0), t_hi(ts, b), t_hi(ts, q)),
                        word(prover, MAGNITUDE)),
         *large = t_fcmp(ts, BITS, GREATER | EQUAL | UNORDERED, high_magnitude(prover, a),
                         word(prover, 0x03600000));
    return (Sequence){q, t_and(ts, t_fcmp(ts, BITS, GREATER, size, word(prover, 0x00100000)), large)};
}

/* The first guess has a word that is not zero below it. */
static Term *foreign_guess(Prover *prover, unsigned func, Term *low, Term *a) {
    return t_pair(&prover->ts, low, mufu_of(prover, func, t_hi(&prover->ts, a)));
}
static Sequence foreign_reciprocal_wide(Prover *prover, Term *b) {
    Terms *ts = &prover->ts;
    Term *one = wide(prover, 0x3ff00000), *moved = t_add(ts, t_hi(ts, b), word(prover, 0x00300402)),
         *y = foreign_guess(prover, Mufu_RCP64H, moved, b), *e = rest(prover, b, y, one);
    y = dfma_of(prover, Rnd_RN, y, dfma_of(prover, Rnd_RN, e, e, e), y);
    return (Sequence){dfma_of(prover, Rnd_RN, y, rest(prover, b, y, one), y),
                      t_fcmp(ts, BITS, GREATER | EQUAL | UNORDERED,
                             t_land(ts, moved, word(prover, MAGNITUDE)), word(prover, 0x00400402))};
}
static Sequence foreign_root_wide(Prover *prover, Term *x) {
    Terms *ts = &prover->ts;
    Term *above = t_sub(ts, t_hi(ts, x), word(prover, 0x03500000)),
         *y = foreign_guess(prover, Mufu_RSQ64H, above, x),
         *e = dfma_of(prover, Rnd_RN, x, minus_wide(prover, dmul_of(prover, y, y)), wide(prover, 0x3ff00000)),
         *k = dfma_of(prover, Rnd_RN, e, wide(prover, 0x3fd80000), wide(prover, 0x3fe00000));
    y = dfma_of(prover, Rnd_RN, k, dmul_of(prover, y, e), y);
    Term *g = dmul_of(prover, x, y),
         *half = t_pair(ts, t_lo(ts, y), t_sub(ts, t_hi(ts, y), word(prover, 0x00100000)));
    Term *lacks = dfma_of(prover, Rnd_RN, g, minus_wide(prover, g), x);
    return (Sequence){dfma_of(prover, Rnd_RN, lacks, half, g), t_ult(ts, above, word(prover, 0x7ca00000))};
}

Term *prove_fchk(Prover *prover, Term *a, Term *b) {
    return prove_uf(prover, 1, term_name(&prover->ts, "fchk"), (Term *[]){a, b}, 2);
}

/* x of x + -0 with subnormals flushed; NULL: it is none, nor a literal, which was flushed when the code was
 * made. */
static Term *before_flush(Prover *prover, Term *term) {
    if (t_is_const(term))
        return term;
    if (term->kind != TK_APP || term->op != TO_UF || term->n != 2 || strcmp(term->name, "fadd.0.ftz") != 0)
        return NULL;
    Term *zero = word(prover, ~(uint32_t)MAGNITUDE);
    return term->a[0] == zero ? term->a[1] : term->a[1] == zero ? term->a[0] : NULL;
}

typedef enum { OURS, FOREIGN, WAYS } Way;

/* f32: the function's name has the rounding mode. */
static bool narrow_sequence(Prover *prover, Way way, Term *result, Sequence *out) {
    static const char *const modes[] = {[Rnd_RN] = "rn", [Rnd_RM] = "rm", [Rnd_RP] = "rp", [Rnd_RZ] = "rz"};
    Term *inner = t_is_const(result) ? NULL : before_flush(prover, result), *call = inner ? inner : result,
         *arg[2];
    if (call->kind != TK_APP || call->op != TO_UF || call->k || strncmp(call->name, "__heddle_", 9) != 0)
        return false;
    for (unsigned rnd = 0; rnd < sizeof modes / sizeof *modes; rnd++) {
        bool div = call->name == term_name(&prover->ts, "__heddle_div_%s_f32", modes[rnd]),
             sqrt = call->name == term_name(&prover->ts, "__heddle_sqrt_%s_f32", modes[rnd]);
        for (uint32_t i = 0; (div || sqrt) && i < call->n; i++)
            if (!(arg[i] = inner ? before_flush(prover, call->a[i]) : call->a[i]))
                return false;
        if (!div && !sqrt)
            continue;
        if (way == FOREIGN && (inner || rnd != Rnd_RN))
            return false;
        if (way == FOREIGN)
            *out = sqrt                          ? foreign_root(prover, arg[0])
                   : arg[0] == word(prover, ONE) ? foreign_reciprocal(prover, arg[1])
                                                 : foreign_quotient(prover, arg[0], arg[1]);
        else
            *out = sqrt                          ? root(prover, rnd, arg[0])
                   : arg[0] == word(prover, ONE) ? reciprocal(prover, rnd, arg[1])
                                                 : quotient(prover, rnd, arg[0], arg[1]);
        return true;
    }
    return false;
}

/* f64: the mode is the last argument. */
static bool wide_sequence(Prover *prover, Way way, Term *call, Sequence *out) {
    Terms *ts = &prover->ts;
    if (call->kind != TK_APP || call->op != TO_UF || strncmp(call->name, "__heddle_", 9) != 0)
        return false;
    bool div = call->name == term_name(ts, "__heddle_div_f64"),
         sqrt = call->name == term_name(ts, "__heddle_sqrt_f64"), high = call->k == 1u << 8;
    if ((!div && !sqrt) || call->n != (div ? 5 : 3) || (call->k && !high) ||
        !t_is_const(call->a[call->n - 1]) || call->a[call->n - 1]->k > Rnd_RZ)
        return false;
    unsigned rnd = (unsigned)call->a[call->n - 1]->k;
    Term *a = t_pair(ts, call->a[0], call->a[1]), *b = div ? t_pair(ts, call->a[2], call->a[3]) : NULL;
    bool reciprocal = a == wide(prover, 0x3ff00000);
    if (way == FOREIGN && rnd != Rnd_RN)
        return false;
    if (way == FOREIGN)
        *out = sqrt         ? foreign_root_wide(prover, a)
               : reciprocal ? foreign_reciprocal_wide(prover, b)
                            : foreign_quotient_wide(prover, a, b);
    else
        *out = sqrt         ? root_wide(prover, rnd, a)
               : reciprocal ? reciprocal_wide(prover, rnd, b)
                            : quotient_wide(prover, rnd, a, b);
    out->value = high ? t_hi(ts, out->value) : t_lo(ts, out->value);
    return true;
}

/* Integers of 64 bits: where both fit into 32, as those are divided. */
static bool integer_sequence(Prover *prover, Term *call, Sequence *out) {
    Terms *ts = &prover->ts;
    if (call->kind != TK_APP || call->op != TO_UF || strncmp(call->name, "__heddle_", 9) != 0)
        return false;
    bool div = call->name == term_name(ts, "__heddle_div_u64") ||
               call->name == term_name(ts, "__heddle_div_s64"),
         rem = call->name == term_name(ts, "__heddle_rem_u64") ||
               call->name == term_name(ts, "__heddle_rem_s64"),
         high = call->k == 1u << 8;
    if ((!div && !rem) || call->n != 4 || (call->k && !high))
        return false;
    Term *above = t_lor(ts, call->a[1], call->a[3]), *d = call->a[2];
    *out = (Sequence){high ? ts->zero : prove_divided(prover, rem, call->a[0], d),
                      t_and(ts, t_eq(ts, above, ts->zero), t_not(ts, t_eq(ts, d, ts->zero)))};
    return true;
}

/* The sequence for what the library gave; false: it is no result of it, or of no function with a sequence. */
static bool sequence_of(Prover *prover, Way way, Term *result, Sequence *out) {
    return narrow_sequence(prover, way, result, out) || wide_sequence(prover, way, result, out) ||
           (way == OURS && integer_sequence(prover, result, out));
}

/* Leaves of a value that many ways have brought. */
enum { MOST_WAYS = 6 };

/* y, where it is used under `when`, with a result of the library in place of what a sequence computes of the
 * result's operands: the two are equal where the sequence counts. */
static Term *in_place(Prover *prover, const Sequence *seq, Term *result, Term *when, Term *y, unsigned ways) {
    Terms *ts = &prover->ts;
    if (y == seq->value && t_and(ts, when, t_not(ts, seq->good)) == ts->falsity)
        return result;
    if (y->kind != TK_ITE || ways > MOST_WAYS)
        return y;
    Term *yes = term_decision(ts, y->a[0]);
    Term *p = in_place(prover, seq, result, t_and(ts, when, yes), y->a[1], ways + 1),
         *q = in_place(prover, seq, result, t_and(ts, when, t_not(ts, yes)), y->a[2], ways + 1);
    return p == y->a[1] && q == y->a[2] ? y : t_ite(ts, yes, p, q);
}

/* A result of the library among the leaves of x. */
static Term *result_in(Prover *prover, Term *x, unsigned ways) {
    Sequence seq;
    if (x->kind != TK_ITE)
        return sequence_of(prover, OURS, x, &seq) || sequence_of(prover, FOREIGN, x, &seq) ? x : NULL;
    Term *found = ways > MOST_WAYS ? NULL : result_in(prover, x->a[1], ways + 1);
    return found || ways > MOST_WAYS ? found : result_in(prover, x->a[2], ways + 1);
}

static Term *as_result(Prover *prover, Term *result, Term *when, Term *y) {
    Sequence seq;
    for (Way way = OURS; way < WAYS; way++)
        if (sequence_of(prover, way, result, &seq)) {
            Term *before = y;
            y = in_place(prover, &seq, result, when, y, 0);
            prover->foreign_steps |= way == FOREIGN && y != before;
        }
    return y;
}

/* Of 32 bits. */
static Term *merged_word(Prover *prover, Term *first, Term *both, Term *x, Term *y) {
    Terms *ts = &prover->ts;
    Term *result;
    if (x != y) {
        if ((result = result_in(prover, x, 0)) != NULL)
            y = as_result(prover, result, t_and(ts, both, t_not(ts, first)), y);
        else if ((result = result_in(prover, y, 0)) != NULL)
            x = as_result(prover, result, t_and(ts, both, first), x);
    }
    return t_ite(ts, first, x, y);
}

Term *prove_merged(Prover *prover, Term *first, Term *both, Term *x, Term *y) {
    Terms *ts = &prover->ts;
    if (x->width == 64 && x != y)
        return t_pair(ts, merged_word(prover, first, both, t_lo(ts, x), t_lo(ts, y)),
                      merged_word(prover, first, both, t_hi(ts, x), t_hi(ts, y)));
    return x->width == 32 ? merged_word(prover, first, both, x, y) : t_ite(ts, first, x, y);
}
