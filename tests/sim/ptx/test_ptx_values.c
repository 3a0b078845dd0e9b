/* Every value instruction of the interpreter, one case each in value_cases.def, on edge and random inputs;
 * the expected value is an expression of host C. Compiled a second time with the cases of builtin_cases.def
 * and the compiler's built-in functions (lower/builtins) as declarations: those, executed as PTX, against the
 * host.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "harness.h"
#include "host.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BUILTINS_DIR
#define CASES_FILE "builtin_cases.def"
#define ROUNDS 40
#else
#define CASES_FILE "value_cases.def"
#define ROUNDS 2
#endif
#define VECTORS 512
typedef uint64_t Expected(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

#define CASE(id, kind, ptx, expr)                                                                            \
    static uint64_t expect_##id(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {                            \
        (void)a, (void)b, (void)c, (void)d;                                                                  \
        return __extension__(uint64_t)(expr);                                                                \
    }
#include CASES_FILE
#undef CASE

static const struct {
    const char *name, *ptx;
    char kind; /* where the result is: R %r10, D %rd10, H %h10, P %p1, F %f10, G %fd10 */
    Expected *expected;
} cases[] = {
#define CASE(id, kind, ptx, expr) {#id, ptx, kind, expect_##id},
#include CASES_FILE
#undef CASE
};

static const char load_inputs[] =
    "mad.wide.u32 %i, %t, 32, %i;\n"
    "ld.global.u64 %rd1, [%i]; ld.global.u64 %rd2, [%i+8]; ld.global.u64 %rd3, [%i+16]; ld.global.u64 %rd4, "
    "[%i+24];\n"
    "cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3; cvt.u32.u64 %r4, %rd4;\n"
    "cvt.u16.u64 %h1, %rd1; cvt.u16.u64 %h2, %rd2; cvt.u16.u64 %h3, %rd3; cvt.u16.u64 %h4, %rd4;\n"
    "mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b32 %f4, %r4;\n"
    "mov.b64 %fd1, %rd1; mov.b64 %fd2, %rd2; mov.b64 %fd3, %rd3; mov.b64 %fd4, %rd4;\n"
    "and.b32 %r9, %r4, 1; setp.ne.u32 %p4, %r9, 0;\n";

static const char *store(char kind) {
    switch (kind) {
    case 'R': return "cvt.u64.u32 %rd10, %r10; st.global.u64 [%o], %rd10;";
    case 'H': return "cvt.u64.u16 %rd10, %h10; st.global.u64 [%o], %rd10;";
    case 'P': return "selp.u64 %rd10, 1, 0, %p1; st.global.u64 [%o], %rd10;";
    case 'F': return "mov.b32 %r10, %f10; cvt.u64.u32 %rd10, %r10; st.global.u64 [%o], %rd10;";
    case 'G': return "mov.b64 %rd10, %fd10; st.global.u64 [%o], %rd10;";
    default: return "st.global.u64 [%o], %rd10;";
    }
}

static uint64_t inputs[VECTORS * 4];
static char declarations[1 << 16];

/* A third edges of every width, a third small numbers and usual floats, a third random bits. */
static void make_inputs(uint64_t s) {
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     65,
                                     0x7f,
                                     0x80,
                                     0xff,
                                     0x7fff,
                                     0x8000,
                                     0xffff,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     0x7fffffffffffffff,
                                     0x8000000000000000,
                                     0xffffffffffffffff,
                                     0x3f800000,
                                     0xbf800000,
                                     0x7f800000,
                                     0xff800000,
                                     0x7fc00000,
                                     0x7f800001,
                                     0x00800000,
                                     0x007fffff,
                                     0x80000001,
                                     0x7f7fffff,
                                     0x3c00,
                                     0x7c00,
                                     0xfc00,
                                     0x7e00,
                                     0x03ff,
                                     0x3ff0000000000000,
                                     0x7ff0000000000000,
                                     0xfff0000000000000,
                                     0x7ff8000000000001,
                                     0x000fffffffffffff,
                                     0x7fefffffffffffff,
                                     0x800000,
                                     0xffffff,
                                     0x3f000000,
                                     0x4f000000,
                                     0xcf000000,
                                     0x5f000000,
                                     0x43e0000000000000,
                                     0x41dfffffffc00000,
                                     0x3fe0000000000000,
                                     0xbfe0000000000000,
                                     0x4004000000000000,
                                     0x40200000,
                                     0xc0200000};
    for (unsigned i = 0; i < VECTORS * 4; i++) {
        uint64_t r = rng_next(&s), v = r;
        switch (r >> 60) {
        case 0:
        case 1:
        case 2:
        case 3: v = edges[(r >> 8) % (sizeof edges / sizeof *edges)]; break;
        case 4:
        case 5: v = r & 63; break;
        case 6: v = 0 - (r & 255); break;
        case 7:
        case 8: v = (r & 0x83ffffff) | 0x3e000000; break;
        case 9: v = (r & 0x803fffffffffffff) | 0x3fc0000000000000; break;
        case 10: v = (r & 0x8fffu) | 0x3000; break;
        default: break;
        }
        inputs[i] = v;
    }
}

static void value_round(size_t i) {
    char body[4000];
    uint64_t out[VECTORS];
    snprintf(body, sizeof body, "%s%s\n%s", load_inputs, cases[i].ptx, store(cases[i].kind));
    run_wrapped(declarations, body, VECTORS, 128, inputs, VECTORS * 4, out, 0);
    for (unsigned k = 0; k < VECTORS; k++) {
        const uint64_t *v = &inputs[k * 4];
        uint64_t want = cases[i].expected(v[0], v[1], v[2], v[3]);
        switch (cases[i].kind) {
        case 'R':
        case 'F': want = (uint32_t)want; break;
        case 'H': want = (uint16_t)want; break;
        case 'P': want &= 1; break;
        default: break;
        }
        if (out[k] != want)
            fail_msg("%s: %s with %llx %llx %llx %llx: %llx, expected %llx", cases[i].name, cases[i].ptx,
                     (unsigned long long)v[0], (unsigned long long)v[1], (unsigned long long)v[2],
                     (unsigned long long)v[3], (unsigned long long)out[k], (unsigned long long)want);
    }
}

static void value_case(void **state) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        make_inputs(round * 1000003u + 7);
        value_round((size_t)(uintptr_t)*state);
    }
}

#ifdef BUILTINS_DIR
/* The functions of one file, without its module header. */
static void load_builtins(const char *name) {
    char path[1000], line[1000];
    snprintf(path, sizeof path, "%s/%s", BUILTINS_DIR, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, ".version", 8) && strncmp(line, ".target", 7) && strncmp(line, ".address_size", 13))
            snprintf(declarations + strlen(declarations), sizeof declarations - strlen(declarations), "%s",
                     line);
    fclose(f);
}
#endif

int main(void) {
#ifdef BUILTINS_DIR
    load_builtins("div_int.ptx");
    load_builtins("div_f32.ptx");
    load_builtins("div_f64.ptx");
#endif
    enum { N = sizeof cases / sizeof *cases };
    static struct CMUnitTest tests[N];
    for (size_t i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, value_case, NULL, NULL, (void *)(uintptr_t)i};
    return _cmocka_run_group_tests("values", tests, N, NULL, NULL);
}
