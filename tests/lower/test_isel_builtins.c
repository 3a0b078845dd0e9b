/* The built-in library on the PTX reference interpreter: integer division against the host's, f32 and f64
 * division and square root against MPFR in all rounding modes. Operands: every pair of a list of edge values,
 * then random ones. HEDDLE_BUILTIN_TESTS=n multiplies the number of random ones.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "base/str.h"
#include "lower/lower.h"
#include "sim/interp/interp.h"
#include <inttypes.h>
#include <mpfr.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MAX_CASES = 1 << 16, MODES = 4 }; /* rounding modes as the machine counts them: RN RM RP RZ */

typedef struct {
    unsigned n;
    uint64_t a[MAX_CASES], b[MAX_CASES], got[MAX_CASES];
} Cases;

static unsigned num_random(unsigned n) {
    const char *factor = getenv("HEDDLE_BUILTIN_TESTS");
    return n * (factor ? (unsigned)atoi(factor) : 1);
}

static void add(Cases *cases, uint64_t a, uint64_t b) {
    if (cases->n < MAX_CASES) {
        cases->a[cases->n] = a;
        cases->b[cases->n++] = b;
    }
}

/* ---- running a function of the library ---- */

static const char *library_with(const char *name, size_t *size) {
    char pattern[96];
    snprintf(pattern, sizeof pattern, " %s\n(", name);
    const char *text;
    for (unsigned n = 0; (text = lower_builtin_text(n, size)); n++)
        if (memmem(text, *size, pattern, strlen(pattern)))
            return text;
    fail_msg("%s is in no file of the library", name);
    return NULL;
}

/* A kernel whose thread i computes got[i] = name(a[i], b[i], mode); bits: 32 or 64; nargs of a, b, mode. */
static char *kernel_text(const char *name, unsigned bits, bool has_b, int mode) {
    size_t size, total;
    const char *lib = library_with(name, &size);
    char *text = NULL, call[160], mode_arg[16] = "";
    if (mode >= 0)
        snprintf(mode_arg, sizeof mode_arg, ", %d", mode);
    snprintf(call, sizeof call, "(x%s%s)", has_b ? ", y" : "", mode_arg);
    FILE *f = open_memstream(&text, &total);
    fwrite(lib, 1, size, f);
    fprintf(f,
            ".visible .entry test(.param .u64 pa, .param .u64 pb, .param .u64 pr, .param .u32 pn) {\n"
            ".reg .b64 a, b, r, o; .reg .b32 i, t, n; .reg .b%u x, y, z; .reg .pred p;\n"
            "ld.param.u64 a, [pa]; ld.param.u64 b, [pb]; ld.param.u64 r, [pr]; ld.param.u32 n, [pn];\n"
            "mov.u32 i, %%ctaid.x; mov.u32 t, %%tid.x; mad.lo.u32 i, i, 256, t;\n"
            "setp.ge.u32 p, i, n; @p exit;\n"
            "mul.wide.u32 o, i, 8; add.u64 a, a, o; add.u64 b, b, o; add.u64 r, r, o;\n"
            "ld.global.b%u x, [a]; ld.global.b%u y, [b];\n"
            "call (z), %s, %s;\n"
            "st.global.b%u [r], z; ret; }\n",
            bits, bits, bits, name, call, bits);
    fclose(f);
    return text;
}

static void run(Cases *cases, const char *name, unsigned bits, bool has_b, int mode) {
    char *text = kernel_text(name, bits, has_b, mode);
    Diags d = {.sink = diag_print_sink, .user = stderr};
    PtxModule *m = ptx_parse(name, text, strlen(text), &d);
    assert_non_null(m);
    SimMemory *mem = simmem_create();
    uint64_t bytes = (uint64_t)cases->n * 8;
    uint64_t a = simmem_alloc(mem, "a", bytes), b = simmem_alloc(mem, "b", bytes),
             r = simmem_alloc(mem, "r", bytes);
    simmem_write(mem, a, cases->a, bytes);
    simmem_write(mem, b, cases->b, bytes);
    uint8_t params[32] = {0};
    memcpy(params, &a, 8);
    memcpy(params + 8, &b, 8);
    memcpy(params + 16, &r, 8);
    memcpy(params + 24, &cases->n, 4);
    Launch l = {
        .grid = {(cases->n + 255) / 256, 1, 1}, .block = {256, 1, 1}, .params = params, .param_bytes = 28};
    PtxRunResult res = {0};
    assert_true(interp_run(m, "test", &l, mem, NULL, &res, &d));
    assert_int_equal(res.trap.kind, TRAP_NONE);
    memset(cases->got, 0, sizeof cases->got);
    simmem_read(mem, r, cases->got, bytes);
    simmem_free(mem);
    ptx_free(m);
    free(text);
}

/* ---- integers ---- */

static void integer_cases(Cases *cases, unsigned bits) {
    static const uint64_t edge[] = {0,
                                    1,
                                    2,
                                    3,
                                    5,
                                    7,
                                    10,
                                    100,
                                    0x7f,
                                    0x80,
                                    0xff,
                                    0x100,
                                    0xffff,
                                    0x10000,
                                    0x10001,
                                    0x7ffffffe,
                                    0x7fffffff,
                                    0x80000000,
                                    0x80000001,
                                    0xfffffffe,
                                    0xffffffff,
                                    0x100000000,
                                    0x100000001,
                                    0x1ffffffff,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0x8000000000000001,
                                    0xfffffffeffffffff,
                                    0xffffffff00000000,
                                    0xffffffff00000001,
                                    0xfffffffffffffffe,
                                    0xffffffffffffffff,
                                    0x5555555555555555,
                                    0xaaaaaaaaaaaaaaab};
    unsigned n = sizeof edge / sizeof edge[0];
    uint64_t state = 1, mask = bits == 64 ? UINT64_MAX : UINT32_MAX;
    cases->n = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < n; k++)
            add(cases, edge[i] & mask, edge[k] & mask);
    for (unsigned k = num_random(6000); k--;) {
        uint64_t a = rng_next(&state) & mask, b = rng_next(&state) & mask;
        uint64_t q = rng_next(&state);
        b >>= q % bits;
        if (q & 1 << 20) /* near a multiple of the divisor */
            a = (a / (b ? b : 1) * b + (q >> 32) % 3 - 1) & mask;
        add(cases, a >> (q >> 8) % bits % 8, b);
    }
}

static uint64_t host_divide(unsigned bits, bool is_signed, bool rem, uint64_t a, uint64_t b) {
    uint64_t mask = bits == 64 ? UINT64_MAX : UINT32_MAX;
    if (b == 0)
        return mask;
    if (!is_signed)
        return rem ? a % b : a / b;
    int64_t x = bits == 64 ? (int64_t)a : (int32_t)a, y = bits == 64 ? (int64_t)b : (int32_t)b;
    if (y == -1)
        return rem ? 0 : (0 - (uint64_t)x) & mask;
    return (uint64_t)(rem ? x % y : x / y) & mask;
}

static void check_integer(unsigned bits, bool is_signed, bool rem) {
    Cases *cases = calloc(1, sizeof *cases);
    char name[64];
    snprintf(name, sizeof name, "__heddle_%s_%c%u", rem ? "rem" : "div", is_signed ? 's' : 'u', bits);
    integer_cases(cases, bits);
    run(cases, name, bits, true, -1);
    for (unsigned k = 0; k < cases->n; k++) {
        uint64_t want = host_divide(bits, is_signed, rem, cases->a[k], cases->b[k]);
        if (cases->got[k] != want)
            fail_msg("%s(%#" PRIx64 ", %#" PRIx64 ") = %#" PRIx64 ", not %#" PRIx64, name, cases->a[k],
                     cases->b[k], cases->got[k], want);
    }
    free(cases);
}

static void test_integers(void **state) {
    (void)state;
    for (unsigned k = 0; k < 4; k++)
        check_integer(64, k & 1, k & 2);
}

/* ---- floating point ---- */

static const mpfr_rnd_t mpfr_mode[MODES] = {MPFR_RNDN, MPFR_RNDD, MPFR_RNDU, MPFR_RNDZ};
static const char *const mode_name[MODES] = {"rn", "rm", "rp", "rz"};

static double value(unsigned bits, uint64_t v) {
    if (bits == 64) {
        double d;
        memcpy(&d, &v, sizeof d);
        return d;
    }
    uint32_t u = (uint32_t)v;
    float f;
    memcpy(&f, &u, sizeof f);
    return (double)f;
}

/* Bits of the correctly rounded a / b, or sqrt(a). */
static uint64_t expected(unsigned bits, bool root, unsigned mode, uint64_t a, uint64_t b) {
    mpfr_t x, y, r;
    mpfr_set_emin(-1100);
    mpfr_set_emax(1100);
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_init2(r, bits == 64 ? 53 : 24);
    mpfr_set_d(x, value(bits, a), MPFR_RNDN);
    mpfr_set_d(y, value(bits, b), MPFR_RNDN);
    mpfr_set_emin(bits == 64 ? -1073 : -148);
    mpfr_set_emax(bits == 64 ? 1024 : 128);
    mpfr_rnd_t rnd = mpfr_mode[mode];
    int t = root ? mpfr_sqrt(r, x, rnd) : mpfr_div(r, x, y, rnd);
    t = mpfr_check_range(r, t, rnd);
    mpfr_subnormalize(r, t, rnd);
    double d = mpfr_get_d(r, rnd);
    bool nan = mpfr_nan_p(r);
    mpfr_clears(x, y, r, (mpfr_ptr)0);
    if (nan)
        return bits == 64 ? 0xfff8000000000000u : 0x7fffffff;
    if (bits == 64) {
        uint64_t v;
        memcpy(&v, &d, sizeof v);
        return v;
    }
    float f = (float)d;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static uint64_t special_float(unsigned bits,
                              uint64_t r) { /* exponent and significand from the interesting ones */
    unsigned sig = bits == 64 ? 52 : 23, top = bits == 64 ? 0x7ff : 0xff;
    uint64_t frac = r & (((uint64_t)1 << sig) - 1), exp = (r >> 56) % (top + 1);
    switch (r >> 53 & 7) {
    case 0: frac = 0; break;
    case 1: frac = ((uint64_t)1 << sig) - 1; break;
    case 2: frac >>= sig / 2; break;
    case 3: frac &= ~(uint64_t)0 << sig / 2; break;
    default: break;
    }
    switch (rng_next(&r) & 7) {
    case 0: exp = 0; break;
    case 1: exp = top / 2; break;
    case 2: exp = top - 1; break;
    case 3: exp = 1; break;
    default: exp = rng_next(&r) % top; break;
    }
    return (r >> 63) << (bits - 1) | exp << sig | frac;
}

static void float_cases(Cases *cases, unsigned bits, bool pairs) {
    uint64_t state = bits, one = bits == 64 ? 0x3ff0000000000000u : 0x3f800000u,
             sign = (uint64_t)1 << (bits - 1);
    unsigned sig = bits == 64 ? 52 : 23;
    uint64_t inf = (bits == 64 ? (uint64_t)0x7ff : 0xff) << sig, ulp = (uint64_t)1 << sig;
    uint64_t edge[] = {0,
                       1,
                       2,
                       3,
                       ulp - 1,
                       ulp,
                       ulp + 1,
                       ulp * 2,
                       one,
                       one + 1,
                       one - 1,
                       one + ulp,
                       one + ulp / 2,
                       one - ulp,
                       inf - 1,
                       inf - ulp,
                       inf - 2 * ulp,
                       inf,
                       inf + 1,
                       inf + ulp / 2,
                       one + ulp - 1,
                       ulp / 2};
    unsigned n = sizeof edge / sizeof edge[0];
    cases->n = 0;
    for (unsigned i = 0; i < 2 * n; i++)
        for (unsigned k = 0; k < (pairs ? 2 * n : 1); k++)
            add(cases, edge[i % n] | (i < n ? 0 : sign), edge[k % n] | (k < n ? 0 : sign));
    for (unsigned k = num_random(5000); k--;) {
        uint64_t a = rng_next(&state), b = rng_next(&state);
        add(cases, special_float(bits, a), special_float(bits, b));
        add(cases, bits == 64 ? a : a & UINT32_MAX, bits == 64 ? b : b & UINT32_MAX);
    }
}

static void check_float(unsigned bits, bool root) {
    Cases *cases = calloc(1, sizeof *cases);
    float_cases(cases, bits, !root);
    for (unsigned mode = 0; mode < MODES; mode++) {
        char name[64];
        const char *op = root ? "sqrt" : "div";
        if (bits == 64)
            snprintf(name, sizeof name, "__heddle_%s_f64", op);
        else
            snprintf(name, sizeof name, "__heddle_%s_%s_f32", op, mode_name[mode]);
        run(cases, name, bits, !root, bits == 64 ? (int)mode : -1);
        for (unsigned k = 0; k < cases->n; k++) {
            uint64_t want = expected(bits, root, mode, cases->a[k], cases->b[k]);
            if (cases->got[k] != want)
                fail_msg("%s (%s) of %#" PRIx64 ", %#" PRIx64 " is %#" PRIx64 ", not %#" PRIx64, name,
                         mode_name[mode], cases->a[k], cases->b[k], cases->got[k], want);
        }
    }
    free(cases);
}

static void test_div_f32(void **state) { (void)state, check_float(32, false); }
static void test_sqrt_f32(void **state) { (void)state, check_float(32, true); }
static void test_div_f64(void **state) { (void)state, check_float(64, false); }
static void test_sqrt_f64(void **state) { (void)state, check_float(64, true); }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers), cmocka_unit_test(test_div_f32),
                                       cmocka_unit_test(test_sqrt_f32), cmocka_unit_test(test_div_f64),
                                       cmocka_unit_test(test_sqrt_f64)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
