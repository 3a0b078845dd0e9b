/* The interpreter's floating-point primitives against the host: hardware arithmetic under fesetround for the
 * directed modes, 113-bit arithmetic for the half formats, long double libm for the approximate functions.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "sim/interp/math.h"
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

__extension__ typedef __float128 Quad;

static uint64_t rng = 1;
static uint64_t next(void) { return rng_next(&rng); }

static const uint32_t edges32[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
                                   0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0xff7fffff,
                                   0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x40000000, 0x34000000,
                                   0x33800000, 0x00ffffff, 0x80800000, 0x7e800000, 0x4b800000};
#define NEDGES32 (sizeof edges32 / sizeof *edges32)
static uint32_t pick32(void) {
    uint64_t r = next();
    if (r % 8 == 0)
        return edges32[(r >> 8) % NEDGES32];
    if (r % 8 < 4) /* near 1: cancellation and ties */
        return (uint32_t)(r >> 32 & 0x83ffffffu) | 0x3c000000u;
    return (uint32_t)(r >> 32);
}
static uint64_t pick64(void) {
    uint64_t r = next();
    if (r % 8 == 0)
        return f64_bits((double)f32_of(edges32[(r >> 8) % NEDGES32]));
    if (r % 8 == 1)
        return next() & 0x800fffffffffffffull; /* subnormal */
    if (r % 8 < 5)
        return (next() & 0x807fffffffffffffull) | 0x3fc0000000000000ull;
    if (r % 8 == 5)
        return (next() & ~0ull << 40) ^ 0x3ff0000000000000ull;
    return next();
}

static const struct {
    unsigned ptx;
    int host;
} modes[] = {{RND_RN, FE_TONEAREST}, {RND_RZ, FE_TOWARDZERO}, {RND_RM, FE_DOWNWARD}, {RND_RP, FE_UPWARD}};

static uint32_t host32(PtxMathOp op, uint32_t a, uint32_t b, uint32_t c, int mode) {
    volatile float x = f32_of(a), y = f32_of(b), z = f32_of(c), r;
    fesetround(mode);
    switch (op) {
    case MATH_ADD: r = x + y; break;
    case MATH_MUL: r = x * y; break;
    case MATH_FMA: r = fmaf(x, y, z); break;
    case MATH_DIV: r = x / y; break;
    default: r = sqrtf(x); break;
    }
    fesetround(FE_TONEAREST);
    return r != r ? F32_NAN : f32_bits(r);
}
static uint64_t host64(PtxMathOp op, uint64_t a, uint64_t b, uint64_t c, int mode) {
    volatile double x = f64_of(a), y = f64_of(b), z = f64_of(c), r;
    fesetround(mode);
    switch (op) {
    case MATH_ADD: r = x + y; break;
    case MATH_MUL: r = x * y; break;
    case MATH_FMA: r = fma(x, y, z); break;
    case MATH_DIV: r = x / y; break;
    default: r = sqrt(x); break;
    }
    fesetround(FE_TONEAREST);
    return r != r ? F64_NAN : f64_bits(r);
}

static void modes_f32(void **state) {
    (void)state;
    for (unsigned m = 0; m < 4; m++)
        for (unsigned op = MATH_ADD; op <= MATH_SQRT; op++)
            for (int i = 0; i < 60000; i++) {
                uint32_t a = pick32(), b = pick32(), c = pick32();
                uint32_t got = interp_f32_op((PtxMathOp)op, a, b, c, modes[m].ptx),
                         want = host32((PtxMathOp)op, a, b, c, modes[m].host);
                if (got != want)
                    fail_msg("op %u mode %u %08x %08x %08x: %08x, host %08x", op, m, a, b, c, got, want);
            }
}
static void modes_f64(void **state) {
    (void)state;
    for (unsigned m = 0; m < 4; m++)
        for (unsigned op = MATH_ADD; op <= MATH_SQRT; op++)
            for (int i = 0; i < 40000; i++) {
                uint64_t a = pick64(), b = pick64(), c = pick64();
                uint64_t got = interp_f64_op((PtxMathOp)op, a, b, c, modes[m].ptx),
                         want = host64((PtxMathOp)op, a, b, c, modes[m].host);
                if (got != want)
                    fail_msg("op %u mode %u %016llx %016llx %016llx: %016llx, host %016llx", op, m,
                             (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
                             (unsigned long long)got, (unsigned long long)want);
            }
}

/* Value of half bits by its definition, NaN excluded. */
static Quad half(PtxFormat f, unsigned h) {
    int bias = (1 << (f.exp_bits - 1)) - 1, e = (int)(h >> f.man_bits) & ((1 << f.exp_bits) - 1);
    int m = (int)h & ((1 << f.man_bits) - 1);
    double v = e == 0 ? ldexp(m, 1 - bias - f.man_bits) : ldexp(m | 1 << f.man_bits, e - bias - f.man_bits);
    return h & 0x8000 ? -(Quad)v : (Quad)v;
}
static Quad quad_abs(Quad q) { return q < 0 ? -q : q; }

/* r is the nearest half to the exact value, ties to even; infinity counts as the next number after the
 * largest. */
static bool nearest_half(PtxFormat f, Quad exact, unsigned r) {
    unsigned inf = ((1u << f.exp_bits) - 1) << f.man_bits, mag = r & 0x7fff;
    Quad v = quad_abs(exact), here = half(f, mag);
    if (mag > inf || (v != 0 && (exact < 0) != (r >> 15)))
        return false;
    Quad below = mag ? half(f, mag - 1) : here, above = half(f, mag + 1);
    Quad lo = (here + below) / 2, hi = (here + above) / 2;
    if (mag == inf)
        return v >= lo;
    return (mag == 0 || v > lo || (v == lo && !(mag & 1))) && (v < hi || (v == hi && !(mag & 1)));
}

static void half_ops(PtxFormat f) {
    unsigned inf = ((1u << f.exp_bits) - 1) << f.man_bits;
    for (int i = 0; i < 300000; i++) {
        uint64_t r = next();
        uint16_t a = (uint16_t)r, b = (uint16_t)(r >> 16), c = (uint16_t)(r >> 32);
        if ((a & 0x7fffu) >= inf || (b & 0x7fffu) >= inf || (c & 0x7fffu) >= inf)
            continue;
        if (f.exp_bits == 8) { /* keep 113 bits enough */
            a = (uint16_t)((a & 0x87ff) | 0x3c00), b = (uint16_t)((b & 0x87ff) | 0x3c00),
            c = (uint16_t)((c & 0x87ff) | 0x3800);
        }
        Quad x = half(f, a), y = half(f, b), z = half(f, c);
        assert_true(nearest_half(f, x + y, interp_half_op(f, MATH_ADD, a, b, 0)));
        assert_true(nearest_half(f, x * y, interp_half_op(f, MATH_MUL, a, b, 0)));
        assert_true(nearest_half(f, x * y + z, interp_half_op(f, MATH_FMA, a, b, c)));
    }
    assert_int_equal(interp_half_op(f, MATH_ADD, (uint16_t)inf, (uint16_t)(inf | 0x8000), 0), F16_NAN);
    assert_int_equal(interp_half_op(f, MATH_ADD, 0x8000, 0x8000, 0), 0x8000);
    assert_int_equal(interp_half_op(f, MATH_ADD, 0x0001, 0x8001, 0), 0);
}
static void halves(void **state) {
    (void)state;
    half_ops(FMT_F16);
    half_ops(FMT_BF16);
}

/* error in units of the last place of the correctly rounded f32 */
static double ulps(uint32_t got, long double exact) {
    float g = f32_of(got);
    if (isinf(g) || isinf((float)exact))
        return g == (float)exact ? 0 : 1e9;
    int e;
    frexpl(exact, &e);
    if (e < -125)
        e = -125;
    return (double)fabsl(((long double)g - exact) / ldexpl(1.0L, e - 24));
}

static void approximations(void **state) {
    (void)state;
    double worst[8] = {0}, scaled = 0;
    const long double tau = 6.283185307179586476925286766559005768L;
    for (int i = 0; i < 200000; i++) {
        uint32_t x = pick32();
        float f = f32_of(x);
        if (f != f || isinf(f))
            continue;
        long double l = f;
        double e[8] = {ulps(interp_ex2(x), exp2l(l)), ulps(interp_tanh(x), tanhl(l)), 0, 0, 0, 0, 0, 0};
        if (f > 0) {
            e[2] = ulps(interp_lg2(x), log2l(l));
            e[3] = ulps(interp_rsqrt(x), 1.0L / sqrtl(l));
            e[4] = ulps(interp_sqrt(x), sqrtl(l));
        }
        if (f != 0)
            e[5] = ulps(interp_rcp(x), 1.0L / l);
        if (fabsf(f) < 1000.0f) {
            long double t = l - floorl(l);
            if (fabsf(f) >= 0x1p-20f &&
                fabsl(t * 4 - roundl(t * 4)) > 1e-6L) { /* away from zeros, where libm's tau*t is inexact */
                e[6] = ulps(interp_sin_turn(x), sinl(tau * t));
                e[7] = ulps(interp_cos_turn(x), cosl(tau * t));
            }
        }
        if (f < -126.0f) { /* 2^x is the square of a rounded root */
            scaled = e[0] > scaled ? e[0] : scaled;
            e[0] = 0;
        }
        if (f < 0x1p-126f) { /* 24 is subtracted from a rounded logarithm */
            scaled = e[2] > scaled ? e[2] : scaled;
            e[2] = 0;
        }
        for (int k = 0; k < 8; k++)
            worst[k] = e[k] > worst[k] ? e[k] : worst[k];
    }
    static const char *const names[8] = {"ex2", "tanh", "lg2", "rsqrt", "sqrt", "rcp", "sin", "cos"};
    for (int k = 0; k < 8; k++)
        print_message("%-6s worst error %.5f ulp\n", names[k], worst[k]);
    for (int k = 0; k < 8; k++)
        assert_true(worst[k] <= 0.501);
    print_message("scaled worst error %.5f ulp\n", scaled);
    assert_true(scaled > 0.501 && scaled <= 1.001); /* PTX: 2 units for ex2 */
}

static void approximation_edges(void **state) {
    (void)state;
    const uint32_t inf = 0x7f800000, ninf = 0xff800000;
    assert_int_equal(interp_ex2(inf), inf);
    assert_int_equal(interp_ex2(ninf), 0);
    assert_int_equal(interp_ex2(f32_bits(-149.0f)), 1);
    assert_int_equal(interp_ex2(f32_bits(-150.0f)), 0);
    assert_int_equal(interp_ex2(f32_bits(-149.5f)), 1);
    assert_int_equal(interp_ex2(f32_bits(127.0f)), 0x7f000000);
    assert_int_equal(interp_ex2(f32_bits(128.0f)), inf);
    assert_int_equal(interp_ex2(0x80000000), 0x3f800000);
    assert_int_equal(interp_lg2(0), ninf);
    assert_int_equal(interp_lg2(0x80000000), ninf);
    assert_int_equal(interp_lg2(1), f32_bits(-149.0f));
    assert_int_equal(interp_lg2(0x3f800000), 0);
    assert_int_equal(interp_lg2(inf), inf);
    assert_int_equal(interp_lg2(0xbf800000), F32_NAN);
    assert_int_equal(interp_rsqrt(0x80000000), ninf);
    assert_int_equal(interp_rsqrt(0), inf);
    assert_int_equal(interp_rsqrt(inf), 0);
    assert_int_equal(interp_rsqrt(0xbf800000), F32_NAN);
    assert_int_equal(interp_rcp(0x80000000), ninf);
    assert_int_equal(interp_rcp(ninf), 0x80000000);
    assert_int_equal(interp_sqrt(0x80000000), 0x80000000);
    assert_int_equal(interp_sqrt(0xbf800000), F32_NAN);
    assert_int_equal(interp_sin_turn(0x80000000), 0x80000000);
    assert_int_equal(interp_sin_turn(inf), F32_NAN);
    assert_int_equal(interp_sin_turn(f32_bits(0.25f)), 0x3f800000);
    assert_int_equal(interp_sin_turn(f32_bits(0.75f)), 0xbf800000);
    assert_int_equal(interp_cos_turn(f32_bits(0.5f)), 0xbf800000);
    assert_int_equal(interp_cos_turn(f32_bits(0x1p100f)), 0x3f800000);
    assert_int_equal(interp_tanh(0x80000000), 0x80000000);
    assert_int_equal(interp_tanh(ninf), 0xbf800000);
    assert_int_equal(interp_tanh(0x7fc00001), F32_NAN);
    assert_true(interp_rcp64h(0x4000000000000000ull) == 0x3fe0000000000000ull);
    assert_true(interp_rcp64h(0x4008000012345678ull) == 0x3fd5555500000000ull);
    assert_true(interp_rcp64h(0x8000000000000000ull) == 0xfff0000000000000ull);
    assert_true(interp_rcp64h(0x000fffffffffffffull) == 0x7ff0000000000000ull);
    assert_true(interp_rcp64h(0x7ff8000000000000ull) == 0x7fffffff00000000ull);
    assert_true(interp_rsqrt64h(0x4010000000000000ull) == 0x3fe0000000000000ull);
    assert_true(interp_rsqrt64h(0xc010000000000000ull) == 0x7fffffff00000000ull);
}

static void conversions(void **state) {
    (void)state;
    for (unsigned m = 0; m < 4; m++)
        for (int i = 0; i < 60000; i++) {
            uint64_t v = next() >> (next() % 64), d = pick64();
            static const unsigned integral[4] = {RND_RNI, RND_RZI, RND_RMI, RND_RPI};
            fesetround(modes[m].host);
            volatile int64_t hs = (int64_t)v,
                             hu = (int64_t)(v >> 1); /* hosts convert signed numbers in one step */
            volatile double hd = f64_of(d);
            volatile float f32u = (float)hu, f32s = (float)hs, narrow = (float)hd;
            volatile double f64u = (double)hu, rint_d = nearbyint(hd);
            fesetround(FE_TONEAREST);
            assert_int_equal(interp_int_to_float(FMT_F32, v >> 1, false, modes[m].ptx), f32_bits(f32u));
            assert_int_equal(interp_int_to_float(FMT_F32, v, true, modes[m].ptx), f32_bits(f32s));
            assert_true(interp_int_to_float(FMT_F64, v >> 1, false, modes[m].ptx) == f64_bits(f64u));
            double x = f64_of(d);
            if (x != x)
                continue;
            assert_int_equal(interp_round_double(FMT_F32, x, modes[m].ptx), f32_bits(narrow));
            assert_true(f64_bits(interp_round_integral(x, integral[m])) == f64_bits(rint_d));
            if (fabs(rint_d) < 0x1p31) {
                assert_int_equal((int32_t)interp_float_to_int(x, true, 32, true, integral[m]),
                                 (int32_t)rint_d);
                assert_true(interp_float_to_int(x, true, 64, true, integral[m]) == (uint64_t)(int64_t)rint_d);
            }
        }
    assert_int_equal((int32_t)interp_float_to_int(3e9, true, 32, true, RND_RZI), INT32_MAX);
    assert_int_equal((int32_t)interp_float_to_int(-3e9, true, 32, true, RND_RZI), INT32_MIN);
    assert_int_equal(interp_float_to_int(-1.0, true, 32, false, RND_RZI), 0);
    assert_true(interp_float_to_int(1e20, true, 64, false, RND_RZI) == UINT64_MAX);
    assert_int_equal((int8_t)interp_float_to_int(-200.0, true, 8, true, RND_RZI), -128);
    assert_int_equal(interp_float_to_int((double)NAN, false, 32, true, RND_RZI), 0);
    assert_int_equal(interp_float_to_int((double)NAN, true, 32, true, RND_RZI), 0x80000000u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_f32),
        cmocka_unit_test(modes_f64),
        cmocka_unit_test(halves),
        cmocka_unit_test(approximations),
        cmocka_unit_test(approximation_edges),
        cmocka_unit_test(conversions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
