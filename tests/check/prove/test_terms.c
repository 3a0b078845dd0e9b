/* The prover's terms: whatever the constructors rewrite must have the value that plain C arithmetic gives.
 * Random expressions are built twice, as a term and as numbers under random assignments.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/prove/core/core.h"
#include "check/validate/judge/judge.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { VARS = 6, TRIALS = 8, STEPS = 24, ROUNDS = 3000 };

typedef struct {
    Term *t;
    uint64_t v[TRIALS];
} Value;

static uint64_t number(uint64_t *s) {
    static const uint64_t some[] = {0,      1,          2,          31,         32,        0xff,
                                    0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe};
    return rng_next(s) % 3 ? some[rng_next(s) % 11] : rng_next(s);
}

typedef struct {
    Terms ts;
    Value w[64], q[64], p[64]; /* 32 bits, 64 bits, predicates */
    unsigned nw, nq, np;
    uint64_t seed;
} World;

static uint64_t low_bits(uint64_t n) { return n > 31 ? 0xffffffff : (1u << n) - 1; }

static void words(World *world) {
    Terms *ts = &world->ts;
    Value a = world->w[rng_next(&world->seed) % world->nw], b = world->w[rng_next(&world->seed) % world->nw],
          c = world->w[rng_next(&world->seed) % world->nw], r = {0};
    Value q = world->q[rng_next(&world->seed) % world->nq], p = world->p[rng_next(&world->seed) % world->np];
    unsigned lut = (unsigned)(rng_next(&world->seed) & 255), op = (unsigned)(rng_next(&world->seed) % 19),
             k = (unsigned)(rng_next(&world->seed) % 34);
    Term *n = t_const(ts, 32, k);
    static const uint16_t selectors[] = {0x3210, 0x8880, 0x9910, 0x5410, 0x7632, 0x0123, 0x4440, 0x7610};
    unsigned sel = selectors[rng_next(&world->seed) % 8];
    switch (op) {
    case 0: r.t = t_add(ts, a.t, b.t); break;
    case 1: r.t = t_sub(ts, a.t, b.t); break;
    case 2: r.t = t_land(ts, a.t, b.t); break;
    case 3: r.t = t_lor(ts, a.t, b.t); break;
    case 4: r.t = t_lxor(ts, a.t, b.t); break;
    case 5: r.t = t_lop3(ts, lut, a.t, b.t, c.t); break;
    case 6: r.t = t_inv(ts, a.t); break;
    case 7: r.t = t_mul(ts, a.t, b.t); break;
    case 8: r.t = t_shl(ts, a.t, n); break;
    case 9: r.t = t_lshr(ts, a.t, n); break;
    case 10: r.t = t_ashr(ts, a.t, n); break;
    case 11: r.t = t_lo(ts, q.t); break;
    case 12: r.t = t_hi(ts, q.t); break;
    case 13: r.t = t_ite(ts, p.t, a.t, b.t); break;
    case 14: r.t = t_b2i(ts, p.t); break;
    case 15: r.t = t_prmt(ts, a.t, b.t, t_const(ts, 32, sel)); break;
    case 16: r.t = t_sext_from(ts, a.t, k % 32 + 1); break;
    case 17: r.t = t_zext_from(ts, a.t, k % 32 + 1); break;
    default: r.t = t_field(ts, lut & 1, a.t, n); break;
    }
    for (unsigned i = 0; i < TRIALS; i++) {
        uint32_t u = (uint32_t)a.v[i], v = (uint32_t)b.v[i], w = (uint32_t)c.v[i], o = 0;
        switch (op) {
        case 0: o = u + v; break;
        case 1: o = u - v; break;
        case 2: o = u & v; break;
        case 3: o = u | v; break;
        case 4: o = u ^ v; break;
        case 5:
            for (unsigned bit = 0; bit < 32; bit++)
                o |= (lut >> ((u >> bit & 1) << 2 | (v >> bit & 1) << 1 | (w >> bit & 1)) & 1) << bit;
            break;
        case 6: o = ~u; break;
        case 7: o = u * v; break;
        case 8: o = k > 31 ? 0 : u << k; break;
        case 9: o = k > 31 ? 0 : u >> k; break;
        case 10: o = (uint32_t)((int32_t)u >> (k > 31 ? 31 : k)); break;
        case 11: o = (uint32_t)q.v[i]; break;
        case 12: o = (uint32_t)(q.v[i] >> 32); break;
        case 13: o = p.v[i] ? u : v; break;
        case 14: o = (uint32_t)p.v[i]; break;
        case 15:
            for (unsigned byte = 0; byte < 4; byte++) {
                unsigned s = sel >> 4 * byte & 15;
                uint32_t from = (uint32_t)(((uint64_t)v << 32 | u) >> 8 * (s & 7)) & 255;
                o |= (s & 8 ? (from & 128 ? 255u : 0) : from) << 8 * byte;
            }
            break;
        case 16: o = (uint32_t)((int32_t)(u << (31 - k % 32)) >> (31 - k % 32)); break;
        case 17: o = (uint32_t)(u & low_bits(k % 32 + 1)); break;
        default:
            o = (uint32_t)(u & low_bits(k));
            if (lut & 1 && k && k < 32 && o >> (k - 1) & 1)
                o |= ~(uint32_t)low_bits(k);
            break;
        }
        r.v[i] = o;
    }
    world->w[world->nw++ % 64] = r;
    if (world->nw > 64)
        world->nw = 64;
}

static void pairs(World *world) {
    Terms *ts = &world->ts;
    Value a = world->q[rng_next(&world->seed) % world->nq], b = world->q[rng_next(&world->seed) % world->nq],
          u = world->w[rng_next(&world->seed) % world->nw], v = world->w[rng_next(&world->seed) % world->nw],
          p = world->p[rng_next(&world->seed) % world->np], r = {0};
    unsigned op = (unsigned)(rng_next(&world->seed) % 10), k = (unsigned)(rng_next(&world->seed) % 66);
    uint64_t factor = number(&world->seed);
    Term *n = t_const(ts, 32, k);
    switch (op) {
    case 0: r.t = t_add(ts, a.t, b.t); break;
    case 1: r.t = t_sub(ts, a.t, b.t); break;
    case 2: r.t = t_pair(ts, u.t, v.t); break;
    case 3: r.t = t_sext(ts, u.t); break;
    case 4: r.t = t_zext(ts, u.t); break;
    case 5: r.t = t_mul(ts, a.t, b.t); break;
    case 6: r.t = t_scale(ts, a.t, factor); break;
    case 7: r.t = t_ite(ts, p.t, a.t, b.t); break;
    case 8: r.t = t_shift64(ts, TO_LSHR64, a.t, n); break;
    default: r.t = t_shift64(ts, k & 1 ? TO_ASHR64 : TO_SHL64, a.t, n); break;
    }
    for (unsigned i = 0; i < TRIALS; i++) {
        uint64_t s = a.v[i], t = b.v[i];
        switch (op) {
        case 0: r.v[i] = s + t; break;
        case 1: r.v[i] = s - t; break;
        case 2: r.v[i] = (uint32_t)u.v[i] | v.v[i] << 32; break;
        case 3: r.v[i] = (uint64_t)(int64_t)(int32_t)(uint32_t)u.v[i]; break;
        case 4: r.v[i] = (uint32_t)u.v[i]; break;
        case 5: r.v[i] = s * t; break;
        case 6: r.v[i] = s * factor; break;
        case 7: r.v[i] = p.v[i] ? s : t; break;
        case 8: r.v[i] = k > 63 ? 0 : s >> k; break;
        default: r.v[i] = k & 1 ? (uint64_t)((int64_t)s >> (k > 63 ? 63 : k)) : k > 63 ? 0 : s << k; break;
        }
    }
    world->q[world->nq++ % 64] = r;
    if (world->nq > 64)
        world->nq = 64;
}

static void predicates(World *world) {
    Terms *ts = &world->ts;
    Value a = world->p[rng_next(&world->seed) % world->np], b = world->p[rng_next(&world->seed) % world->np],
          c = world->p[rng_next(&world->seed) % world->np], u = world->w[rng_next(&world->seed) % world->nw],
          v = world->w[rng_next(&world->seed) % world->nw], s = world->q[rng_next(&world->seed) % world->nq],
          t = world->q[rng_next(&world->seed) % world->nq], r = {0};
    unsigned op = (unsigned)(rng_next(&world->seed) % 9), lut = (unsigned)(rng_next(&world->seed) & 255);
    switch (op) {
    case 0: r.t = t_table3(ts, lut, a.t, b.t, c.t); break;
    case 1: r.t = t_eq(ts, u.t, v.t); break;
    case 2: r.t = t_ult(ts, u.t, v.t); break;
    case 3: r.t = t_slt(ts, u.t, v.t); break;
    case 4: r.t = t_eq(ts, s.t, t.t); break;
    case 5: r.t = t_ult(ts, s.t, t.t); break;
    case 6: r.t = t_slt(ts, s.t, t.t); break;
    case 7: r.t = t_both(ts, a.t, t_not(ts, b.t)); break;
    default: r.t = t_not(ts, t_eq(ts, t_sub(ts, u.t, v.t), ts->zero)); break;
    }
    for (unsigned i = 0; i < TRIALS; i++) {
        uint32_t m = (uint32_t)u.v[i], n = (uint32_t)v.v[i];
        switch (op) {
        case 0: r.v[i] = lut >> (a.v[i] << 2 | b.v[i] << 1 | c.v[i]) & 1; break;
        case 1: r.v[i] = m == n; break;
        case 2: r.v[i] = m < n; break;
        case 3: r.v[i] = (int32_t)m < (int32_t)n; break;
        case 4: r.v[i] = s.v[i] == t.v[i]; break;
        case 5: r.v[i] = s.v[i] < t.v[i]; break;
        case 6: r.v[i] = (int64_t)s.v[i] < (int64_t)t.v[i]; break;
        case 7: r.v[i] = a.v[i] && !b.v[i]; break;
        default: r.v[i] = m != n; break;
        }
    }
    world->p[world->np++ % 64] = r;
    if (world->np > 64)
        world->np = 64;
}

static void check_all(World *world, Term *const vars[3][VARS], uint64_t values[3][VARS][TRIALS]) {
    for (unsigned i = 0; i < TRIALS; i++) {
        TermEval *e = term_eval_new(&world->ts, 1);
        for (unsigned k = 0; k < 3; k++)
            for (unsigned j = 0; j < VARS; j++)
                term_eval_set(e, vars[k][j], values[k][j][i]);
        for (unsigned j = 0; j < world->nw; j++)
            assert_int_equal(term_eval(e, world->w[j].t), world->w[j].v[i]);
        for (unsigned j = 0; j < world->nq; j++)
            assert_true(term_eval(e, world->q[j].t) == world->q[j].v[i]);
        for (unsigned j = 0; j < world->np; j++)
            assert_int_equal(term_eval(e, world->p[j].t), world->p[j].v[i]);
        term_eval_free(e);
    }
}

static void random_expressions(void **state) {
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        World x = {.seed = round};
        Term *vars[3][VARS];
        uint64_t values[3][VARS][TRIALS];
        term_init(&x.ts);
        for (unsigned k = 0; k < 3; k++)
            for (unsigned j = 0; j < VARS; j++) {
                unsigned width = k == 0 ? 32 : k == 1 ? 64 : 1;
                bool constant = j >= 4;
                uint64_t c = number(&x.seed) & (width == 64 ? ~0ull : (1ull << width) - 1);
                vars[k][j] = t_var(&x.ts, width, term_name(&x.ts, "v%u.%u", k, j), 0);
                Value v = {.t = constant ? t_const(&x.ts, width, c) : vars[k][j]};
                for (unsigned i = 0; i < TRIALS; i++)
                    v.v[i] = values[k][j][i] =
                        constant ? c : number(&x.seed) & (width == 64 ? ~0ull : (1ull << width) - 1);
                *(k == 0 ? &x.w[x.nw++] : k == 1 ? &x.q[x.nq++] : &x.p[x.np++]) = v;
            }
        for (unsigned step = 0; step < STEPS && !x.ts.overflow; step++) {
            words(&x);
            pairs(&x);
            predicates(&x);
        }
        if (!x.ts.overflow)
            check_all(&x, (Term *const(*)[VARS])vars, values);
        term_free(&x.ts);
    }
}

/* A pair of 32-bit additions with a carry is one 64-bit addition, and so on: what the comparison by pointers
 * rests on. */
static void one_term_for_equal_values(void **state) {
    (void)state;
    Terms ts;
    term_init(&ts);
    Term *a = t_var(&ts, 64, term_name(&ts, "a"), 0), *b = t_var(&ts, 64, term_name(&ts, "b"), 0),
         *i = t_var(&ts, 32, term_name(&ts, "i"), 0);
    Term *low = t_add(&ts, t_zext(&ts, t_lo(&ts, a)), t_zext(&ts, t_lo(&ts, b)));
    Term *carry = t_b2i(&ts, t_not(&ts, t_ult(&ts, t_hi(&ts, low), t_const(&ts, 32, 1))));
    Term *high = t_add(&ts, t_add(&ts, t_hi(&ts, a), t_hi(&ts, b)), carry);
    assert_ptr_equal(t_pair(&ts, t_lo(&ts, low), high), t_add(&ts, a, b));
    assert_ptr_equal(high, t_hi(&ts, t_add(&ts, a, b)));
    assert_ptr_equal(t_pair(&ts, t_lo(&ts, a), t_hi(&ts, a)), a);
    Term *j = t_var(&ts, 32, term_name(&ts, "j"), 0);
    for (unsigned sign = 0; sign < 2; sign++) {
        Term *bound[] = {j, t_const(&ts, 32, 0), t_const(&ts, 32, 7)};
        for (unsigned k = 0; k < 3; k++) {
            assert_ptr_equal(t_min(&ts, sign, i, bound[k]), t_min(&ts, sign, bound[k], i));
            assert_ptr_equal(t_max(&ts, sign, i, bound[k]), t_max(&ts, sign, bound[k], i));
        }
    }
    Term *doubled = t_scale(&ts, t_zext(&ts, i), 2);
    assert_ptr_equal(t_hi(&ts, t_add(&ts, doubled, t_const(&ts, 64, 1))), t_hi(&ts, doubled));
    Term *number[] = {i, t_sub(&ts, i, j), t_sub(&ts, j, i), t_inv(&ts, t_lxor(&ts, i, j))};
    for (unsigned k = 0; k < sizeof number / sizeof *number;
         k++) { /* a sum, its complement, a negative one */
        Term *x = number[k];
        assert_ptr_equal(t_pair(&ts, t_scale(&ts, x, 4), t_ashr(&ts, x, t_const(&ts, 32, 30))),
                         t_scale(&ts, t_sext(&ts, x), 4));
        assert_ptr_equal(t_pair(&ts, x, t_ashr(&ts, x, t_const(&ts, 32, 31))), t_sext(&ts, x));
    }
    Term *x = t_lo(&ts, a), *y = t_lo(&ts, b), *p = t_slt(&ts, x, y);
    assert_ptr_equal(t_lor(&ts, t_land(&ts, x, y), t_land(&ts, x, t_inv(&ts, y))), x);
    assert_ptr_equal(t_ite(&ts, t_not(&ts, p), x, y), t_ite(&ts, p, y, x));
    assert_ptr_equal(t_under(&ts, t_ite(&ts, p, x, y), p), x);
    assert_ptr_equal(t_not(&ts, t_fcmp(&ts, 32, 1, x, y)), t_fcmp(&ts, 32, 14, x, y)); /* setp.lt, setp.geu */
    assert_ptr_not_equal(t_not(&ts, t_fcmp(&ts, 32, 1, x, y)),
                         t_fcmp(&ts, 32, 6, x, y)); /* setp.ge: a NaN is neither */
    /* one bit, compared with one and with zero; decided constants, multiplied before and behind a sum */
    Term *one = t_const(&ts, 32, 1), *odd = t_land(&ts, x, one), *four = t_const(&ts, 32, 4);
    assert_ptr_equal(t_eq(&ts, odd, one), t_not(&ts, t_eq(&ts, odd, ts.zero)));
    Term *some = t_ite(&ts, p, four, t_const(&ts, 32, 0xfffffff4)),
         *less = t_ite(&ts, p, one, t_const(&ts, 32, 0xfffffffd)),
         *negative = t_ite(&ts, p, t_const(&ts, 32, 0xffffffff), t_const(&ts, 32, 3));
    assert_ptr_equal(t_add(&ts, some, t_scale(&ts, x, 4)), t_scale(&ts, t_add(&ts, less, x), 4));
    assert_ptr_equal(t_add(&ts, negative, x), t_sub(&ts, x, less));
    term_free(&ts);
}

/* A constant in the bits that a shift leaves is added or ored, whatever is made of it; in others a carry may
 * come of it. */
static void constants_beside_shifts(void **state) {
    (void)state;
    Terms ts;
    term_init(&ts);
    Term *x = t_var(&ts, 32, term_name(&ts, "x"), 0), *y = t_var(&ts, 32, term_name(&ts, "y"), 0);
    Term *two = t_const(&ts, 32, 2), *five = t_const(&ts, 32, 5), *seven = t_const(&ts, 32, 7);
    Term *shifted = t_shl(&ts, x, t_const(&ts, 32, 3)), *sum = t_add(&ts, shifted, five);
    assert_ptr_equal(t_lor(&ts, shifted, five), sum);
    assert_ptr_equal(t_lxor(&ts, shifted, five), sum);
    assert_ptr_equal(t_land(&ts, sum, seven), five);
    assert_ptr_equal(t_lxor(&ts, t_lxor(&ts, sum, y), y), sum);
    assert_ptr_equal(t_inv(&ts, t_inv(&ts, sum)), sum);
    assert_ptr_equal(t_inv(&ts, sum), t_sub(&ts, t_const(&ts, 32, 0xffffffff), sum));
    assert_ptr_equal(t_lshr(&ts, sum, two), t_lor(&ts, t_lshr(&ts, shifted, two), t_const(&ts, 32, 1)));
    assert_ptr_not_equal(t_lor(&ts, shifted, t_const(&ts, 32, 9)), t_add(&ts, shifted, t_const(&ts, 32, 9)));
    assert_ptr_not_equal(t_lor(&ts, x, two), t_add(&ts, x, two));
    term_free(&ts);
}

/* Wherever the steps run out, what is made of a condition comes to an end. */
static void steps_run_out(void **state) {
    (void)state;
    for (uint64_t limit = 0; limit < 400; limit++) {
        Terms ts;
        term_init(&ts);
        Term *x = t_var(&ts, 32, term_name(&ts, "x"), 0), *p[7];
        for (unsigned k = 0; k < 7; k++)
            p[k] = t_slt(&ts, t_var(&ts, 32, term_name(&ts, "%c", 'a' + (int)k), 0), x);
        Term *cond = t_ite(&ts, p[1], t_and(&ts, t_not(&ts, p[2]), p[3]),
                           t_and(&ts, t_not(&ts, p[3]), t_not(&ts, p[4])));
        cond = t_and(&ts, t_not(&ts, p[0]), cond);
        Term *value = x;
        for (unsigned k = 0; k < 7; k++)
            value = t_mul(&ts, t_ite(&ts, p[k], value, t_const(&ts, 32, 10 + k)), x);
        Term *other = t_ult(&ts, value, x);
        term_recover(&ts);
        ts.max_steps = limit;
        Term *under = t_under(&ts, value, cond);
        assert_true(ts.overflow || under != value);
        t_both(&ts, other, cond);
        term_free(&ts);
    }
}

/* Stores to different places, and stores that exclude each other, may change places; others may not. */
static void order_of_events(void **state) {
    (void)state;
    Terms ts;
    term_init(&ts);
    Term *m = t_var(&ts, 0, term_name(&ts, "memory"), 0), *a = t_var(&ts, 64, term_name(&ts, "a"), 0),
         *b = t_var(&ts, 64, term_name(&ts, "b"), 0);
    Term *x = t_var(&ts, 32, term_name(&ts, "x"), 0), *y = t_var(&ts, 32, term_name(&ts, "y"), 0),
         *p = t_var(&ts, 1, term_name(&ts, "p"), 0);
    Term *a4 = t_add(&ts, a, t_const(&ts, 64, 4)), *a2 = t_add(&ts, a, t_const(&ts, 64, 2)), *yes = ts.truth;
#define TWO(g1, p1, v1, g2, p2, v2) t_store(&ts, t_store(&ts, m, g1, p1, 4, 0, v1), g2, p2, 4, 0, v2)
    assert_ptr_equal(TWO(yes, a, x, yes, a4, y), TWO(yes, a4, y, yes, a, x));
    assert_ptr_not_equal(TWO(yes, a, x, yes, a2, y), TWO(yes, a2, y, yes, a, x));
    assert_ptr_not_equal(TWO(yes, a, x, yes, b, y), TWO(yes, b, y, yes, a, x));
    assert_ptr_equal(TWO(p, a, x, t_not(&ts, p), b, y), TWO(t_not(&ts, p), b, y, p, a, x));
    assert_ptr_equal(t_read(&ts, t_store(&ts, m, yes, a, 4, 0, x), yes, a4, 4, 0),
                     t_read(&ts, m, yes, a4, 4, 0));
    assert_ptr_not_equal(t_read(&ts, t_store(&ts, m, yes, a, 4, 0, x), yes, b, 4, 0),
                         t_read(&ts, m, yes, b, 4, 0));
    term_free(&ts);
}

/* A load finds what the latest store to its bytes has put there, if that happened wherever the load does and
 * nothing else may have changed it. */
static void loads_of_what_was_stored(void **state) {
    (void)state;
    Terms ts;
    term_init(&ts);
    Term *m = t_var(&ts, 0, term_name(&ts, "memory"), 0), *a = t_var(&ts, 64, term_name(&ts, "a"), 0),
         *b = t_var(&ts, 64, term_name(&ts, "b"), 0), *x = t_var(&ts, 32, term_name(&ts, "x"), 0),
         *y = t_var(&ts, 32, term_name(&ts, "y"), 0), *p = t_var(&ts, 1, term_name(&ts, "p"), 0),
         *q = t_var(&ts, 1, term_name(&ts, "q"), 0), *yes = ts.truth,
         *a4 = t_add(&ts, a, t_const(&ts, 64, 4));
    Term *always = t_store(&ts, m, yes, a, 4, 0, x), *sometimes = t_store(&ts, m, p, a, 4, 0, x);
    assert_ptr_equal(t_read(&ts, always, yes, a, 4, 0), x);
    assert_ptr_equal(t_read(&ts, t_store(&ts, always, yes, a4, 4, 0, y), q, a, 4, 0), x);
    assert_ptr_equal(t_read(&ts, sometimes, t_and(&ts, p, q), a, 4, 0), x);
    assert_ptr_equal(t_read(&ts, t_store(&ts, m, yes, a, 1, 0, x), yes, a, 1, 0), t_zext_from(&ts, x, 8));
    assert_ptr_not_equal(t_read(&ts, sometimes, yes, a, 4, 0), x);
    assert_ptr_not_equal(t_read(&ts, sometimes, q, a, 4, 0), x);
    assert_ptr_not_equal(t_read(&ts, t_store(&ts, always, yes, b, 4, 0, y), yes, a, 4, 0), x);
    assert_ptr_not_equal(t_read(&ts, t_store(&ts, always, q, a, 4, 0, y), yes, a, 4, 0), x);
    assert_ptr_not_equal(t_read(&ts, always, yes, a, 2, 0), x);
    assert_ptr_not_equal(t_read(&ts, always, yes, a, 4, 1), x);
    assert_ptr_not_equal(t_read(&ts, t_event(&ts, always, yes, "bar", 0, &a, 1, NULL), yes, a, 4, 0), x);
    term_free(&ts);
}

/* Threads in another order may trap in another place: that shows no difference of the code. */
static void what_a_launch_shows(void **state) {
    (void)state;
    Arena arena = {0};
    static Judgement judgement = {.verdict = VERDICT_DIFFERS};
    SimTrap *ptx = &judgement.diff.ptx_trap, *machine = &judgement.diff.machine_trap;
    assert_true(prove_launch_shows(&arena, &judgement));
    ptx->kind = TRAP_INSTRUCTION;
    assert_true(prove_launch_shows(&arena, &judgement));
    machine->kind = TRAP_MISALIGNED;
    assert_true(prove_launch_shows(&arena, &judgement));
    machine->thread[0] = 7;
    assert_false(prove_launch_shows(&arena, &judgement));
    ptx->thread[0] = 7;
    assert_true(prove_launch_shows(&arena, &judgement));
    judgement.verdict = VERDICT_EQUAL;
    assert_false(prove_launch_shows(&arena, &judgement));
    arena_free(&arena);
}

/* A term says of which places its variables are. */
static void places_of_variables(void **state) {
    (void)state;
    static const uint32_t call = 0xfff00010;
    Terms ts;
    term_init(&ts);
    Term *input = t_var(&ts, 32, term_name(&ts, "input"), 0), *here = t_var(&ts, 32, term_name(&ts, "v"), 7),
         *left = t_var(&ts, 32, term_name(&ts, "~5"), call), *p = t_var(&ts, 1, term_name(&ts, "p"), 9);
    Term *sum = t_add(&ts, t_scale(&ts, here, 4), input);
    assert_false(term_depends(input, 7));
    assert_true(term_depends(sum, 7));
    assert_false(term_depends(sum, 8));
    assert_true(term_depends(t_ite(&ts, p, input, ts.zero), 9));
    assert_true(term_depends(t_ult(&ts, sum, input), 7));
    assert_true(term_depends(t_eq(&ts, left, input), 7)); /* of no place: it may be another everywhere */
    assert_false(term_depends(t_sub(&ts, sum, t_scale(&ts, here, 4)), 7));
    term_free(&ts);
}

/* A question about x and y, which are made after some others; `apart` is what the two differ in. */
static ProveQuestion question_of(unsigned others, uint64_t apart, const char *name) {
    Terms ts;
    term_init(&ts);
    for (unsigned k = 0; k < others; k++)
        t_var(&ts, 32, term_name(&ts, "other %u", k), 0);
    Term *a = t_var(&ts, 32, term_name(&ts, "a"), 0), *b = t_var(&ts, 32, term_name(&ts, "%s", name), 3),
         *p = t_var(&ts, 1, term_name(&ts, "p"), 0);
    Term *args[] = {a, b}, *x = t_uf(&ts, 32, "f", args, 2),
         *y = t_ite(&ts, p, t_land(&ts, a, t_const(&ts, 32, 0xff)), t_scale(&ts, b, apart));
    ProveQuestion question = prove_question(&ts, p, x, t_add(&ts, y, a));
    term_free(&ts);
    return question;
}

/* What was answered is known again by what it says, and nothing else is. */
static void questions_asked_again(void **state) {
    (void)state;
    ProveAnswers answers = {0};
    ProveQuestion asked = question_of(0, 3, "b"), again = question_of(7, 3, "b"),
                  scaled = question_of(0, 5, "b"), named = question_of(0, 3, "c");
    assert_null(prove_answers_find(&answers, &asked));
    prove_answers_add(&answers, &asked, (ProveAnswer){.valid = true, .how = PROVE_BITS});
    const ProveAnswer *answer = prove_answers_find(&answers, &again);
    assert_true(answer && answer->valid && answer->how == PROVE_BITS);
    assert_null(prove_answers_find(&answers, &scaled));
    assert_null(prove_answers_find(&answers, &named));
    for (unsigned k = 0; k < 200; k++) { /* the table grows */
        ProveQuestion other = question_of(0, 1000 + k, "b");
        prove_answers_add(&answers, &other, (ProveAnswer){.seconds = k});
        prove_question_free(&other);
    }
    ProveQuestion other = question_of(3, 1111, "b");
    answer = prove_answers_find(&answers, &other);
    assert_true(answer && !answer->valid && (int)answer->seconds == 111);
    answer = prove_answers_find(&answers, &asked);
    assert_true(answer && answer->valid);
    assert_null(prove_answers_find(&answers, &scaled));
    ProveQuestion *all[] = {&asked, &again, &scaled, &named, &other};
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
        prove_question_free(all[k]);
    prove_answers_free(&answers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_expressions),        cmocka_unit_test(what_a_launch_shows),
        cmocka_unit_test(one_term_for_equal_values), cmocka_unit_test(order_of_events),
        cmocka_unit_test(loads_of_what_was_stored),  cmocka_unit_test(places_of_variables),
        cmocka_unit_test(questions_asked_again),     cmocka_unit_test(steps_run_out),
        cmocka_unit_test(constants_beside_shifts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
