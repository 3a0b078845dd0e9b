/* What the constructors of terms rewrite, checked by Z3 for all values: each operation is applied to operands
 * of the shapes that its rules look for, and must equal the operation as it is, written down node by node. A
 * row of `operations` is an operation, its widths, and its meaning without any rule; a row of `shapes` a
 * pattern. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/prove/lane/internal.h"
#include "check/prove/terms/term_internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <cmocka.h>

enum { PAIRS = 36, MAX_SHAPES = 40 };
#define SECONDS 0.5     /* nearly all answers take a hundredth */
#ifdef HEDDLE_SANITIZED /* the terms are those of any other build, and nothing of Z3 is instrumented */
enum { ASK_ONE_IN = 8 };
#else
enum { ASK_ONE_IN = 1 };
#endif

typedef struct {
    Terms ts;
    Term *x, *y, *q, *p, *m; /* words, a pair, a predicate, memory */
    Term *word[MAX_SHAPES], *wide[MAX_SHAPES], *truth[MAX_SHAPES];
    unsigned nwords, nwides, ntruths;
} World;

/* ---- nodes as they are ---- */
static Term *node(Terms *ts, TermKind kind, unsigned width, uint64_t k, unsigned n, Term *const *a,
                  const uint64_t *c) {
    return term_make(ts,
                     (Term){.kind = (uint8_t)kind, .width = (uint8_t)width, .k = k, .n = n, .a = a, .c = c});
}
static Term *sum(Terms *ts, unsigned width, uint64_t k, Term *a, uint64_t ca, Term *b, uint64_t cb) {
    uint64_t mask = term_mask(width);
    return node(ts, TK_SUM, width, k & mask, b ? 2 : 1, (Term *[]){a, b}, (uint64_t[]){ca & mask, cb & mask});
}
static Term *apply(Terms *ts, TermOp op, unsigned width, Term *a, Term *b) {
    return term_make(ts, (Term){.kind = TK_APP,
                                .width = (uint8_t)width,
                                .op = (uint16_t)op,
                                .n = b ? 2 : 1,
                                .a = (Term *[]){a, b}});
}
static Term *truth(Terms *ts, Term *atom) {
    return node(ts, TK_ITE, 1, 0, 3, (Term *[]){atom, ts->truth, ts->falsity}, NULL);
}
static Term *either(Terms *ts, Term *p, Term *a, Term *b) { /* p a diagram of one atom */
    return node(ts, TK_ITE, a->width, 0, 3, (Term *[]){p->a[0], a, b}, NULL);
}
static Term *both(Terms *ts, Term *a, Term *b) { return node(ts, TK_AND, 32, 0, 2, (Term *[]){a, b}, NULL); }
static Term *apart(Terms *ts, Term *a, Term *b) {
    return node(ts, TK_XOR, 32, 0, 2, (Term *[]){a, b}, (uint64_t[]){0xffffffff, 0xffffffff});
}
static Term *half(Terms *ts, TermKind kind, Term *a) { return node(ts, kind, 32, 0, 1, (Term *[]){a}, NULL); }
static Term *number(Terms *ts, uint64_t v) { return t_const(ts, 32, v); }
static Term *pair(Terms *ts, Term *lo, Term *hi) { return sum(ts, 64, 0, lo, 1, hi, 1ull << 32); }
static Term *widened(Terms *ts, Term *a) { return sum(ts, 64, 0, a, 1, NULL, 0); }
static Term *wide_sum(Terms *ts, Term *a, uint64_t ca, Term *b, uint64_t cb) {
    return sum(ts, 64, 0, a, ca, b, cb);
}

/* ---- operations: by the constructor, and as they are ---- */
typedef struct {
    Term *a, *b; /* operands of the operation's sort */
    Term *p;     /* a predicate of one atom */
    unsigned n;  /* an amount, a mask, a table */
    uint64_t k;
} In;
typedef Term *Build(Terms *ts, const In *in);
typedef enum { WORDS, WIDES, TRUTHS } Sort;

#define OPERATION(name, made, meant)                                                                         \
    static Term *made_##name(Terms *ts, const In *in) { return made; }                                       \
    static Term *meant_##name(Terms *ts, const In *in) { return meant; }
#define A in->a
#define B in->b
#define N number(ts, in->n % 40)
#define BY number(ts, 1 + in->n % 4)
OPERATION(add, t_add(ts, A, B), sum(ts, 32, 0, A, 1, B, 1))
OPERATION(sub, t_sub(ts, A, B), sum(ts, 32, 0, A, 1, B, ~0ull))
OPERATION(scale, t_scale(ts, A, in->k), sum(ts, 32, 0, A, in->k, NULL, 0))
OPERATION(and, t_land(ts, A, B), both(ts, A, B))
OPERATION(xor, t_lxor(ts, A, B), apart(ts, A, B))
OPERATION(or, t_lor(ts, A, B), apart(ts, apart(ts, A, B), both(ts, A, B)))
OPERATION(not, t_inv(ts, A), sum(ts, 32, 0xffffffff, A, ~0ull, NULL, 0))
OPERATION(mask, t_land(ts, A, number(ts, in->k)), both(ts, A, number(ts, in->k)))
OPERATION(shl, t_shl(ts, A, N), apply(ts, TO_SHL, 32, A, N))
OPERATION(lshr, t_lshr(ts, A, N), apply(ts, TO_LSHR, 32, A, N))
OPERATION(ashr, t_ashr(ts, A, N), apply(ts, TO_ASHR, 32, A, N))
OPERATION(eq, t_eq(ts, A, B), truth(ts, apply(ts, TO_EQZ, 1, apart(ts, A, B), NULL)))
OPERATION(ult, t_ult(ts, A, B), truth(ts, apply(ts, TO_ULT, 1, A, B)))
OPERATION(slt, t_slt(ts, A, B), truth(ts, apply(ts, TO_SLT, 1, A, B)))
OPERATION(choose, t_ite(ts, in->p, A, B), either(ts, in->p, A, B))
OPERATION(bound, (in->n & 2 ? t_max : t_min)(ts, in->n & 1, A, B),
          either(ts, truth(ts, apply(ts, in->n & 1 ? TO_SLT : TO_ULT, 1, A, B)), in->n & 2 ? B : A,
                 in->n & 2 ? A : B))
/* leading zeros, whose number is limited where 0 has another one */
OPERATION(zeros, t_min(ts, false, t_flo(ts, A, true), number(ts, 32)),
          sum(ts, 32, 31, apply(ts, TO_FLO, 32, A, NULL), ~0ull, NULL, 0))
OPERATION(zeros_below,
          t_ult(ts, t_ite(ts, in->p, t_flo(ts, A, true), t_sub(ts, number(ts, 31), t_flo(ts, B, false))),
                number(ts, 32)),
          either(ts, in->p, truth(ts, apply(ts, TO_ULT, 1, apply(ts, TO_FLO, 32, A, NULL), number(ts, 32))),
                 truth(ts, apply(ts, TO_ULT, 1, apply(ts, TO_FLO, 32, B, NULL), number(ts, 32)))))
OPERATION(zeros_chosen,
          t_ite(ts, t_eq(ts, A, ts->zero), number(ts, in->k),
                t_add(ts, t_flo(ts, A, false), number(ts, in->k + 1))),
          sum(ts, 32, in->k + 1, apply(ts, TO_FLO, 32, A, NULL), 1, NULL, 0))
OPERATION(zext, t_zext(ts, A), widened(ts, A))
OPERATION(sext, t_sext(ts, A), node(ts, TK_SEXT, 64, 0, 1, (Term *[]){A}, NULL))
OPERATION(pair, t_pair(ts, A, B), pair(ts, A, B))
OPERATION(sext_from, t_sext_from(ts, A, 1 + in->n % 32),
          apply(ts, TO_ASHR, 32, apply(ts, TO_SHL, 32, A, number(ts, 31 - in->n % 32)),
                number(ts, 31 - in->n % 32)))
OPERATION(zext_from, t_zext_from(ts, A, 1 + in->n % 32),
          both(ts, A, number(ts, 0xffffffffu >> (31 - in->n % 32))))
OPERATION(carry, t_hi(ts, t_add(ts, t_zext(ts, A), t_zext(ts, B))), half(ts, TK_HI, wide_sum(ts, A, 1, B, 1)))
/* the words of an address: an index that was shifted before, or multiplied, times a power of two */
OPERATION(halved,
          t_pair(ts, t_scale(ts, t_ashr(ts, A, BY), 4ull << in->k % 4), t_ashr(ts, A, number(ts, 31))),
          pair(ts, sum(ts, 32, 0, apply(ts, TO_ASHR, 32, A, BY), 4ull << in->k % 4, NULL, 0),
               apply(ts, TO_ASHR, 32, A, number(ts, 31))))
OPERATION(spread, /* the same, each word times a power of two */
          t_add(ts, t_scale(ts, t_zext(ts, t_ashr(ts, A, BY)), 4),
                t_pair(ts, ts->zero, t_scale(ts, t_ashr(ts, A, number(ts, 31)), 4))),
          wide_sum(ts, apply(ts, TO_ASHR, 32, A, BY), 4, apply(ts, TO_ASHR, 32, A, number(ts, 31)),
                   4ull << 32))
OPERATION(doubled, t_pair(ts, t_scale(ts, A, 8), t_lshr(ts, t_scale(ts, A, 2), number(ts, 30 - in->k % 2))),
          pair(ts, sum(ts, 32, 0, A, 8, NULL, 0),
               apply(ts, TO_LSHR, 32, sum(ts, 32, 0, A, 2, NULL, 0), number(ts, 30 - in->k % 2))))
/* the words of an index whose highest bits are those of one operand, times a power of two */
static Term *mixed(Terms *ts, Term *a, Term *b) {
    return t_lxor(ts, t_land(ts, a, number(ts, 15)), t_land(ts, t_scale(ts, b, 2), number(ts, 0xffffffe0)));
}
static Term *mixed_as_it_is(Terms *ts, Term *a, Term *b) {
    return apart(ts, both(ts, a, number(ts, 15)),
                 both(ts, sum(ts, 32, 0, b, 2, NULL, 0), number(ts, 0xffffffe0)));
}
OPERATION(moved,
          t_pair(ts, t_scale(ts, mixed(ts, A, B), 4),
                 t_lshr(ts, mixed(ts, A, B), number(ts, 29 + in->k % 3))),
          pair(ts, sum(ts, 32, 0, mixed_as_it_is(ts, A, B), 4, NULL, 0),
               apply(ts, TO_LSHR, 32, mixed_as_it_is(ts, A, B), number(ts, 29 + in->k % 3))))
OPERATION(funnel, t_hi(ts, t_scale(ts, t_zext(ts, A), 1ull << in->n % 32)),
          half(ts, TK_HI, sum(ts, 64, 0, A, 1ull << in->n % 32, NULL, 0)))
OPERATION(add64, t_add(ts, A, B), wide_sum(ts, A, 1, B, 1))
OPERATION(sub64, t_sub(ts, A, B), wide_sum(ts, A, 1, B, ~0ull))
OPERATION(scale64, t_scale(ts, A, in->k), wide_sum(ts, A, in->k, NULL, 0))
OPERATION(low, t_lo(ts, A), half(ts, TK_LO, A))
OPERATION(high, t_hi(ts, A), half(ts, TK_HI, A))
OPERATION(shl64, t_shift64(ts, TO_SHL64, A, number(ts, in->n % 70)),
          apply(ts, TO_SHL64, 64, A, number(ts, in->n % 70)))
OPERATION(lshr64, t_shift64(ts, TO_LSHR64, A, number(ts, in->n % 70)),
          apply(ts, TO_LSHR64, 64, A, number(ts, in->n % 70)))
OPERATION(ashr64, t_shift64(ts, TO_ASHR64, A, number(ts, in->n % 70)),
          apply(ts, TO_ASHR64, 64, A, number(ts, in->n % 70)))
OPERATION(choose64, t_ite(ts, in->p, A, B), either(ts, in->p, A, B))
OPERATION(word_of_truth, t_b2i(ts, A),
          node(ts, TK_ITE, 32, 0, 3, (Term *[]){A->a[0], number(ts, A->a[1]->k), number(ts, A->a[2]->k)},
               NULL))
OPERATION(under, t_and(ts, t_under(ts, B, A), A), t_and(ts, A, B))
OPERATION(both, t_both(ts, A, B), t_and(ts, A, B))

static const struct {
    const char *name;
    Sort sort;
    Build *made, *meant;
} operations[] = {
#define ROW(name, sort)                                                                                      \
    { #name, sort, made_##name, meant_##name }
    ROW(add, WORDS),     ROW(sub, WORDS),         ROW(scale, WORDS),        ROW(and, WORDS),
    ROW(xor, WORDS),     ROW(or, WORDS),          ROW(not, WORDS),          ROW(mask, WORDS),
    ROW(shl, WORDS),     ROW(lshr, WORDS),        ROW(ashr, WORDS),         ROW(eq, WORDS),
    ROW(ult, WORDS),     ROW(slt, WORDS),         ROW(choose, WORDS),       ROW(bound, WORDS),

    ROW(zeros, WORDS),   ROW(zeros_below, WORDS), ROW(zeros_chosen, WORDS), ROW(zext, WORDS),
    ROW(sext, WORDS),    ROW(pair, WORDS),        ROW(sext_from, WORDS),    ROW(zext_from, WORDS),
    ROW(halved, WORDS),  ROW(spread, WORDS),      ROW(doubled, WORDS),      ROW(moved, WORDS),
    ROW(funnel, WORDS),  ROW(carry, WORDS),       ROW(add64, WIDES),        ROW(sub64, WIDES),
    ROW(scale64, WIDES), ROW(low, WIDES),         ROW(high, WIDES),         ROW(shl64, WIDES),
    ROW(lshr64, WIDES),  ROW(ashr64, WIDES),      ROW(choose64, WIDES),     ROW(word_of_truth, TRUTHS),
    ROW(under, TRUTHS),  ROW(both, TRUTHS),
};

/* ---- shapes ---- */
static void make_shapes(World *world) {
    Terms *ts = &world->ts;
    term_init(ts);
    Term *x = world->x = t_var(ts, 32, term_name(ts, "x"), 0),
         *y = world->y = t_var(ts, 32, term_name(ts, "y"), 0),
         *q = world->q = t_var(ts, 64, term_name(ts, "q"), 0), *s = t_var(ts, 32, term_name(ts, "#s"), 0);
    world->p = t_var(ts, 1, term_name(ts, "p"), 0);
    world->m = t_var(ts, 0, term_name(ts, "memory"), 0);
    Term *byte = t_read(ts, world->m, ts->truth, q, 1, 0), *n8 = number(ts, 8), *n24 = number(ts, 24);
    Term *words[] = {x,
                     y,
                     s,
                     byte,
                     ts->zero,
                     number(ts, 1),
                     number(ts, 0xff),
                     number(ts, 0x80000000),
                     number(ts, 0xffffffff),
                     t_add(ts, x, number(ts, 5)),
                     t_sub(ts, y, x),
                     t_scale(ts, x, ~0ull),
                     t_scale(ts, x, 4),
                     t_inv(ts, x),
                     t_land(ts, x, number(ts, 0xff)),
                     t_land(ts, x, number(ts, 0x3fffffff)),
                     t_land(ts, x, y),
                     t_lor(ts, x, number(ts, 0xff00)),
                     t_lxor(ts, x, y),
                     t_lor(ts, t_shl(ts, x, number(ts, 3)), number(ts, 5)), /* a sum */
                     t_shl(ts, y, n8),
                     t_lshr(ts, x, n24),
                     t_ashr(ts, x, n8),
                     t_ashr(ts, t_shl(ts, x, n24), n24),
                     t_lo(ts, q),
                     t_hi(ts, q),
                     t_ite(ts, world->p, number(ts, 3), number(ts, 7)),
                     t_ite(ts, world->p, x, y),
                     t_ite(ts, world->p, number(ts, 0xc0), number(ts, 0xfffffff0)),
                     t_add(ts, x, t_ite(ts, world->p, number(ts, 0xfffffffd), number(ts, 5))),
                     t_hi(ts, t_add(ts, t_zext(ts, x), t_zext(ts, y))),
                     t_inv(ts, t_lxor(ts, x, y)),
                     t_b2i(ts, world->p),
                     t_add(ts, t_scale(ts, x, 8), t_scale(ts, y, 0xfffffff0)), /* multiples of 8 */
                     t_add(ts, t_scale(ts, x, 8), t_add(ts, t_scale(ts, byte, 16), number(ts, 24))),
                     t_sub(ts, t_scale(ts, y, 8), n8),
                     t_ite(ts, world->p, number(ts, 7), number(ts, 5))};
    Term *wides[] = {
        q,
        t_const(ts, 64, 0),
        t_const(ts, 64, 0xffffffff),
        t_const(ts, 64, ~0ull),
        t_zext(ts, x),
        t_sext(ts, x),
        t_pair(ts, x, y),
        t_pair(ts, t_lo(ts, q), t_hi(ts, q)),
        t_add(ts, q, t_const(ts, 64, 16)),
        t_scale(ts, t_sext(ts, x), 4),
        t_add(ts, t_scale(ts, t_sext(ts, x), 32), t_const(ts, 64, 31)), /* in the bits that are free */
        t_add(ts, t_scale(ts, t_sext(ts, x), 32), t_const(ts, 64, 33)),
        t_add(ts, q, t_scale(ts, t_sext(ts, y), 8)),
        t_sub(ts, t_zext(ts, x), t_zext(ts, y)),
        t_shift64(ts, TO_LSHR64, q, n8),
        t_shift64(ts, TO_ASHR64, q, n24),
        t_scale(ts, q, ~0ull),
        t_add(ts, t_scale(ts, q, 3ull << 32), t_sext(ts, x)),
        t_pair(ts, t_scale(ts, x, 4), t_ashr(ts, x, number(ts, 30))),
        t_pair(ts, t_scale(ts, t_sub(ts, y, x), 4), t_ashr(ts, t_sub(ts, y, x), number(ts, 30))),
        t_pair(ts, t_inv(ts, t_lxor(ts, x, y)), t_ashr(ts, t_inv(ts, t_lxor(ts, x, y)), number(ts, 31))),
        t_zext(ts, t_inv(ts, x)),
        t_zext(ts, byte)};
    Term *truths[] = {world->p,
                      t_eq(ts, x, ts->zero),
                      t_ult(ts, x, y),
                      t_slt(ts, x, number(ts, 7)),
                      t_ult(ts, byte, number(ts, 9)),
                      t_not(ts, t_eq(ts, t_hi(ts, t_add(ts, t_zext(ts, x), t_zext(ts, y))), ts->zero))};
    for (unsigned k = 0; k < sizeof words / sizeof *words; k++)
        world->word[world->nwords++] = words[k];
    for (unsigned k = 0; k < sizeof wides / sizeof *wides; k++)
        world->wide[world->nwides++] = wides[k];
    for (unsigned k = 0; k < sizeof truths / sizeof *truths; k++)
        world->truth[world->ntruths++] = truths[k];
}

static Term *pick(const World *world, Sort sort, uint64_t at) {
    return sort == WORDS   ? world->word[at % world->nwords]
           : sort == WIDES ? world->wide[at % world->nwides]
                           : world->truth[at % world->ntruths];
}

static bool agree_on_values(const Terms *ts, const Term *x, const Term *y) {
    bool agree = true;
    for (uint64_t seed = 1; seed <= 5000 && agree; seed++) {
        TermEval *eval = term_eval_new(ts, seed);
        agree = term_eval(eval, x) == term_eval(eval, y);
        term_eval_free(eval);
    }
    return agree;
}

static void rules_hold_for_all_values(void **state) {
    (void)state;
    struct ProveZ3 *z3 = prove_z3_open();
    if (!z3)
        skip();
    World world = {0};
    make_shapes(&world);
    uint64_t seed = 3;
    unsigned asked = 0, same = 0, open = 0, wrong = 0;
    static const uint64_t factors[] = {0,      1,      2,          3,          4,     16,        0xff,
                                       0xff00, 0xffff, 0x80000000, 0xffffffff, ~0ull, 1ull << 32};
    for (unsigned o = 0; o < sizeof operations / sizeof *operations; o++)
        for (unsigned k = 0; k < PAIRS; k++) {
            In in = {.a = pick(&world, operations[o].sort, k < PAIRS - 1 ? k : rng_next(&seed)),
                     .b = pick(&world, operations[o].sort, rng_next(&seed)),
                     .p = world.p,
                     .n = (unsigned)(rng_next(&seed) & 0xffff),
                     .k = factors[rng_next(&seed) % (sizeof factors / sizeof *factors)]};
            Term *made = operations[o].made(&world.ts, &in), *meant = operations[o].meant(&world.ts, &in);
            assert_false(world.ts.overflow);
            if (made == meant) {
                same++;
                continue;
            }
            if (++asked % ASK_ONE_IN)
                continue;
            ZqResult said = prove_z3_equal(z3, &world.ts, world.ts.truth, made, meant, true, SECONDS);
            if (said == ZQ_UNKNOWN) { /* products of 64 bits by a constant: values instead */
                open++;
                said = agree_on_values(&world.ts, made, meant) ? ZQ_VALID : ZQ_INVALID;
            }
            if (said != ZQ_VALID) {
                printf("%s:\n  %s\n  %s\n", operations[o].name, term_text(made, 8), term_text(meant, 8));
                wrong++;
            }
        }
    printf("%u rewritten terms asked of Z3, %u as they are, %u not answered\n", asked / ASK_ONE_IN, same,
           open);
    assert_int_equal(wrong, 0);
    assert_true(open * 100 * ASK_ONE_IN <= asked);
    assert_true(asked > 500);
    term_free(&world.ts);
    prove_z3_close(z3);
}

/* f of a word, and of p ? x : y: each operation that a decision may stand below. */
typedef Term *OfWord(World *world, Term *word);
static Term *in_sext(World *w, Term *t) { return t_add(&w->ts, w->q, t_scale(&w->ts, t_sext(&w->ts, t), 4)); }
static Term *in_high(World *w, Term *t) { return t_hi(&w->ts, in_sext(w, t)); }
static Term *in_low(World *w, Term *t) { return t_lo(&w->ts, t_shift64(&w->ts, TO_LSHR64, w->q, t)); }
static Term *in_zext(World *w, Term *t) { return t_add(&w->ts, w->q, t_zext(&w->ts, t)); }
static Term *in_pair(World *w, Term *t) { return t_pair(&w->ts, w->x, t); }
static Term *in_product(World *w, Term *t) { return t_mul(&w->ts, t, w->y); }
static Term *in_wide_product(World *w, Term *t) {
    return t_mul(&w->ts, t_sext(&w->ts, t), t_zext(&w->ts, w->y));
}
static Term *in_amount(World *w, Term *t) { return t_shl(&w->ts, w->x, t); }
static Term *in_shifted(World *w, Term *t) { return t_ashr(&w->ts, t_lshr(&w->ts, t, w->y), w->x); }
static Term *in_and(World *w, Term *t) {
    return t_lxor(&w->ts, t_land(&w->ts, t, w->y), t_land(&w->ts, t, w->x));
}
static Term *in_mask(World *w, Term *t) {
    return t_lor(&w->ts, w->x, t_land(&w->ts, t, number(&w->ts, 0xff)));
}
static Term *in_sum(World *w, Term *t) {
    return t_sub(&w->ts, t_lxor(&w->ts, w->x, w->y), t_scale(&w->ts, t, 3));
}
static Term *in_counts(World *w, Term *t) {
    return t_add(&w->ts, t_app1(&w->ts, TO_POPC, 32, t),
                 t_flo(&w->ts, t_app1(&w->ts, TO_BREV, 32, t), false));
}
static Term *in_selector(World *w, Term *t) { return t_prmt(&w->ts, w->x, w->y, t); }
static Term *in_address(World *w, Term *t) {
    return t_read(&w->ts, w->m, w->ts.truth, t_add(&w->ts, w->q, t_zext(&w->ts, t)), 4, 0);
}
static Term *in_float(World *w, Term *t) {
    return t_uf(&w->ts, 32, term_name(&w->ts, "fadd.0"), (Term *[]){w->y, t}, 2);
}
static Term *in_atom(World *w, Term *t) {
    return t_or(&w->ts, t_ult(&w->ts, t, w->y), t_slt(&w->ts, w->x, t));
}
static Term *in_zero(World *w, Term *t) { return t_eq(&w->ts, t_mul(&w->ts, t, w->x), w->ts.zero); }
static Term *in_comparison(World *w, Term *t) { return t_fcmp(&w->ts, 32, 5, t, w->y); }
static Term *in_leaf(World *w, Term *t) {
    Term *less = t_slt(&w->ts, w->x, w->y);
    return t_ite(&w->ts, less, t_mul(&w->ts, t, w->x), t_sub(&w->ts, w->y, t_shl(&w->ts, t, w->x)));
}

static void decisions_fall_where_a_condition_holds(void **state) {
    (void)state;
    static OfWord *const shapes[] = {in_sext,    in_high,         in_low,    in_zext,       in_pair,
                                     in_product, in_wide_product, in_amount, in_shifted,    in_and,
                                     in_mask,    in_sum,          in_counts, in_selector,   in_address,
                                     in_float,   in_atom,         in_zero,   in_comparison, in_leaf};
    struct ProveZ3 *z3 = prove_z3_open();
    for (unsigned k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        World world = {0};
        make_shapes(&world);
        Terms *ts = &world.ts;
        Term *other = t_ult(ts, world.x, number(ts, 77)), *z = t_var(ts, 32, term_name(ts, "z"), 0);
        Term *decided = shapes[k](&world, t_ite(ts, world.p, z, world.y));
        Term *conditions[] = {world.p, t_not(ts, world.p), t_and(ts, world.p, other),
                              t_or(ts, world.p, other)};
        for (unsigned c = 0; c < 4; c++) {
            Term *under = t_under(ts, decided, conditions[c]);
            if (c < 3)
                assert_ptr_equal(under, t_under(ts, shapes[k](&world, c == 1 ? world.y : z), conditions[c]));
            assert_ptr_equal(t_under(ts, under, conditions[c]), under);
            ZqResult said = !z3 || under == decided
                                ? ZQ_VALID
                                : prove_z3_equal(z3, ts, conditions[c], under, decided, true, SECONDS);
            for (uint64_t seed = 1; seed <= 400 && said != ZQ_INVALID;
                 seed++) { /* products of 64 bits, and functions */
                TermEval *eval = term_eval_new(ts, seed);
                if (term_eval(eval, conditions[c]))
                    assert_int_equal(term_eval(eval, under), term_eval(eval, decided));
                term_eval_free(eval);
            }
            assert_int_not_equal(said, ZQ_INVALID);
        }
        assert_false(ts->overflow);
        term_free(ts);
    }
    if (z3)
        prove_z3_close(z3);
}

/* Sums of decisions between constants have one form in whatever order and in whatever parts they were added.
 */
static void decided_sums_have_one_form(void **state) {
    (void)state;
    struct ProveZ3 *z3 = prove_z3_open();
    World world = {0};
    make_shapes(&world);
    Terms *ts = &world.ts;
    static const uint32_t values[] = {0, 1, 3, 7, 0xffffffff, 0x80000000, 0x3fffffff, 0xfffffffc, 0x40000000};
    static const uint64_t factors[] = {
        1, 3, 4, 8, ~0ull, ~3ull, 1ull << 31, 1ull << 32, (1ull << 32) + 4, 1ull << 34};
    enum {
        VALUES = sizeof values / sizeof *values,
        FACTORS = sizeof factors / sizeof *factors,
        ROUNDS = 200
    };
    Term *p = world.p, *q = t_ult(ts, world.x, world.y);
    uint64_t seed = 5;
    unsigned same = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        bool wide = round & 1;
        Term *part[4], *meant = NULL;
        for (unsigned k = 0; k < 3; k++) {
            Term *v[3];
            for (unsigned i = 0; i < 3; i++)
                v[i] = number(ts, values[rng_next(&seed) % VALUES]);
            /* written node by node for what is meant, in the order of the diagram's atoms */
            bool both = rng_next(&seed) & 1, p_first = p->a[0]->id < q->a[0]->id;
            Term *first = p_first ? p : q, *second = p_first ? q : p;
            uint64_t c = factors[rng_next(&seed) % FACTORS];
            Term *inner = both ? either(ts, second, v[1], v[2]) : v[1],
                 *plain = either(ts, first, v[0], inner);
            Term *made = t_ite(ts, first, v[0], both ? t_ite(ts, second, v[1], v[2]) : v[1]);
            part[k] = wide ? t_scale(ts, t_zext(ts, made), c) : t_scale(ts, made, c);
            Term *scaled = sum(ts, wide ? 64 : 32, 0, plain, c, NULL, 0);
            meant = !meant ? scaled : sum(ts, wide ? 64 : 32, 0, meant, 1, scaled, 1);
        }
        part[3] = wide ? world.q : world.x;
        meant = sum(ts, wide ? 64 : 32, 0, meant, 1, part[3], 1);
        Term *forward = part[3], *backward = part[2];
        for (unsigned k = 0; k < 3; k++)
            forward = t_add(ts, forward, part[k]);
        backward = t_add(ts, t_add(ts, backward, part[1]), t_add(ts, part[3], part[0]));
        /* where atoms cancel on the one way and not on the other, two forms of one meaning remain */
        same += forward == backward && (!wide || forward == t_pair(ts, t_lo(ts, forward), t_hi(ts, forward)));
        if (z3 && round % ASK_ONE_IN == 0)
            assert_int_equal(prove_z3_equal(z3, ts, ts->truth, backward, meant, true, SECONDS), ZQ_VALID);
        if (z3 && round % ASK_ONE_IN == 0 && forward != backward)
            assert_int_equal(prove_z3_equal(z3, ts, ts->truth, forward, meant, true, SECONDS), ZQ_VALID);
    }
    printf("%u of %u sums have one form\n", same, ROUNDS);
    /* what all constants have in common is the sum's */
    Term *less =
        t_sub(ts, t_add(ts, world.x, number(ts, 1)), t_ite(ts, p, number(ts, 1), number(ts, 0x83000001)));
    assert_ptr_equal(less,
                     t_add(ts, world.x, t_scale(ts, t_ite(ts, p, ts->zero, number(ts, 0x7d)), 1 << 24)));
    assert_ptr_equal(
        t_add(ts, world.x, t_ite(ts, p, number(ts, 9), number(ts, 5))),
        t_add(ts, t_add(ts, world.x, number(ts, 9)), t_ite(ts, p, ts->zero, number(ts, 0xfffffffc))));
    assert_true(same * 100 >= ROUNDS * 90);
    assert_false(ts->overflow);
    term_free(ts);
    if (z3)
        prove_z3_close(z3);
}

/* Z3 does not answer for products of 64 bits. */
static void products_have_their_values(void **state) {
    (void)state;
    World world = {0};
    make_shapes(&world);
    Terms *ts = &world.ts;
    for (unsigned i = 0; i < world.nwides; i++)
        for (unsigned j = 0; j < world.nwides; j++) {
            Term *made = t_mul(ts, world.wide[i], world.wide[j]);
            for (uint64_t seed = 1; seed <= 40; seed++) {
                TermEval *eval = term_eval_new(ts, seed);
                assert_int_equal(term_eval(eval, made),
                                 term_eval(eval, world.wide[i]) * term_eval(eval, world.wide[j]));
                term_eval_free(eval);
            }
        }
    /* a constant in the bits that a product leaves free has no carry, and its words are one again */
    Term *whole = t_add(ts, t_scale(ts, t_sext(ts, world.x), 32), t_const(ts, 64, 31)),
         *above = t_ashr(ts, world.x, number(ts, 27));
    assert_ptr_equal(t_hi(ts, whole), above);
    assert_ptr_equal(t_pair(ts, t_lo(ts, whole), above), whole);
    assert_ptr_not_equal(t_hi(ts, t_add(ts, whole, t_const(ts, 64, 1))), above);
    /* the shift of a mixture is that of the part that has its highest bits, and the words are one all the
     * same */
    Term *mixture = mixed(ts, world.x, world.y);
    assert_ptr_equal(t_pair(ts, t_scale(ts, mixture, 4), t_lshr(ts, mixture, number(ts, 30))),
                     t_scale(ts, t_zext(ts, mixture), 4));
    assert_ptr_not_equal(t_pair(ts, t_scale(ts, mixture, 4), t_lshr(ts, mixture, number(ts, 31))),
                         t_scale(ts, t_zext(ts, mixture), 4));
    /* what fits in a word is no less so in a difference */
    Term *quarter = t_lshr(ts, world.x, number(ts, 5));
    assert_ptr_equal(t_zext(ts, t_sub(ts, number(ts, 0xffffffff), t_scale(ts, quarter, 4))),
                     t_sub(ts, t_const(ts, 64, 0xffffffff), t_scale(ts, t_zext(ts, quarter), 4)));
    /* of a pair a multiple of 2^32 has the low word alone */
    Term *pair = world.q, *lows = t_pair(ts, ts->zero, t_lo(ts, pair));
    assert_ptr_equal(t_scale(ts, pair, 1ull << 32), lows);
    assert_ptr_equal(t_add(ts, t_scale(ts, pair, 1ull << 31), t_scale(ts, pair, 1ull << 31)), lows);
    assert_ptr_not_equal(t_scale(ts, pair, 1ull << 31),
                         t_pair(ts, ts->zero, t_lshr(ts, t_lo(ts, pair), number(ts, 1))));
    /* a mask of bits that are shifted out is none, and no other one */
    Term *masked = t_land(ts, world.x, number(ts, 0x3fffffff));
    assert_ptr_equal(t_scale(ts, masked, 4), t_scale(ts, world.x, 4));
    assert_ptr_equal(t_add(ts, world.y, t_shl(ts, masked, number(ts, 3))),
                     t_add(ts, world.y, t_scale(ts, world.x, 8)));
    assert_ptr_not_equal(t_scale(ts, masked, 2), t_scale(ts, world.x, 2));
    assert_ptr_equal(t_scale(ts, t_scale(ts, masked, 2), 2), t_scale(ts, world.x, 4));
    assert_ptr_equal(t_add(ts, t_scale(ts, masked, 2), t_scale(ts, masked, 2)), t_scale(ts, world.x, 4));
    assert_ptr_equal(t_scale(ts, t_zext(ts, masked), 4ull << 32),
                     t_scale(ts, t_zext(ts, world.x), 4ull << 32));
    assert_ptr_equal(t_scale(ts, t_pair(ts, world.y, masked), 4),
                     t_scale(ts, t_pair(ts, world.y, world.x), 4));
    assert_ptr_not_equal(t_scale(ts, t_zext(ts, masked), 4), t_scale(ts, t_zext(ts, world.x), 4));
    assert_ptr_equal(t_add(ts, world.y, t_scale(ts, t_land(ts, world.x, number(ts, 0xc0000000)), 4)),
                     world.y);
    assert_ptr_not_equal(t_scale(ts, t_land(ts, world.x, number(ts, 0x3ffffffe)), 4),
                         t_scale(ts, world.x, 4));
    /* both words are signed, or one: the high word has their products with the signs */
    Term *sx = t_sext(ts, world.x), *sy = t_sext(ts, world.y), *zx = t_zext(ts, world.x),
         *zy = t_zext(ts, world.y);
    Term *p = t_mul(ts, zx, zy), *last = number(ts, 31), *high = t_hi(ts, p);
    Term *by_x = t_mul(ts, t_ashr(ts, world.x, last), world.y),
         *by_y = t_mul(ts, t_ashr(ts, world.y, last), world.x);
    assert_ptr_equal(t_mul(ts, sx, zy), t_pair(ts, t_lo(ts, p), t_add(ts, high, by_x)));
    assert_ptr_equal(t_mul(ts, sx, sy), t_pair(ts, t_lo(ts, p), t_add(ts, t_add(ts, high, by_x), by_y)));
    term_free(ts);
}

static uint32_t stirred(uint32_t word) {
    word ^= word >> 6;
    word ^= word << 17;
    return word ^ word >> 9;
}

/* Bits of a seed that a generator of random numbers has stirred: there are 63 shifts of it.
 */
static void stirred_words_stay_short(void **state) {
    (void)state;
    enum { ROUNDS = 12, SEEDS = 100 };
    World world = {0};
    make_shapes(&world);
    Terms *ts = &world.ts;
    Term *seeds[] = {world.x, t_add(ts, world.x, world.y), t_add(ts, world.x, number(ts, 5))};
    for (unsigned k = 0; k < sizeof seeds / sizeof *seeds; k++) {
        Term *word = seeds[k];
        for (unsigned round = 1; round <= ROUNDS; round++) {
            word = t_lxor(ts, word, t_lshr(ts, word, number(ts, 6)));
            word = t_lxor(ts, word, t_shl(ts, word, number(ts, 17)));
            word = t_lxor(ts, word, t_lshr(ts, word, number(ts, 9)));
            for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                TermEval *eval = term_eval_new(ts, seed);
                uint32_t want = (uint32_t)term_eval(eval, seeds[k]);
                for (unsigned i = 0; i < round; i++)
                    want = stirred(want);
                assert_int_equal(term_eval(eval, word), want);
                term_eval_free(eval);
            }
        }
        assert_false(ts->overflow);
    }
    term_free(ts);
}

/* A query runs in a child; what the host has buffered is the host's to write, and is written once. */
static void host_streams_are_left_alone(void **state) {
    (void)state;
    struct ProveZ3 *z3 = prove_z3_open();
    if (!z3)
        skip();
    World world = {0};
    make_shapes(&world);
    FILE *host = tmpfile();
    struct stat now;
    assert_non_null(host);
    fputs("not yet", host);
    assert_int_equal(prove_z3_equal(z3, &world.ts, world.ts.truth, world.x, world.y, true, SECONDS),
                     ZQ_INVALID);
    assert_int_equal(fstat(fileno(host), &now), 0);
    assert_int_equal(now.st_size, 0);
    fflush(host);
    assert_int_equal(fstat(fileno(host), &now), 0);
    assert_int_equal(now.st_size, 7);
    fclose(host);
    term_free(&world.ts);
    prove_z3_close(z3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_hold_for_all_values),
                                       cmocka_unit_test(decisions_fall_where_a_condition_holds),
                                       cmocka_unit_test(decided_sums_have_one_form),
                                       cmocka_unit_test(products_have_their_values),
                                       cmocka_unit_test(stirred_words_stay_short),
                                       cmocka_unit_test(host_streams_are_left_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
