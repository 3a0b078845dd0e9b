/* wmma: every shape, type, layout, state space and way to give the stride, against matrices multiplied here.
 * Sums of small numbers and integers must be exact, others within the bound of docs/numerics.md; the machines
 * equal to the interpreter bit by bit, in the fragments too, which each of them lays out by code of its own.
 * SPDX-License-Identifier: MIT */
#include "../part.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fenv.h>
#include <heddle.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { F16, BF16, TF32, F32, F64, S8, U8, S4, U4, B1, S32 } Type;
static const char *const type_names[] = {"f16", "bf16", "tf32", "f32", "f64", "s8",
                                         "u8",  "s4",   "u4",   "b1",  "s32"};
static const unsigned type_bits[] = {16, 16, 32, 32, 64, 8, 8, 4, 4, 1, 32};

typedef struct {
    const char *mods, *types; /* behind wmma.mma; of it */
    unsigned m, n, k, na, nb, nc, nd;
    Type d, c, a, b;
    const char *target;
} Shape;

#define HALVES(m, n)                                                                                         \
    {"", ".f16.f16", m, n, 16, 8, 8, 4, 4, F16, F16, F16, F16, "sm_70"},                                     \
        {"", ".f32.f16", m, n, 16, 8, 8, 4, 8, F32, F16, F16, F16, "sm_70"},                                 \
        {"", ".f16.f32", m, n, 16, 8, 8, 8, 4, F16, F32, F16, F16, "sm_70"}, {                               \
        "", ".f32.f32", m, n, 16, 8, 8, 8, 8, F32, F32, F16, F16, "sm_70"                                    \
    }
#define BYTES(m, n, na, nb)                                                                                  \
    {"", ".s32.s8.s8.s32", m, n, 16, na, nb, 8, 8, S32, S32, S8, S8, "sm_72"},                               \
        {"", ".s32.u8.u8.s32.satfinite", m, n, 16, na, nb, 8, 8, S32, S32, U8, U8, "sm_72"}, {               \
        "", ".f32.bf16.bf16.f32", m, n, 16, 2 * na, 2 * nb, 8, 8, F32, F32, BF16, BF16, "sm_80"              \
    }
static const Shape shapes[] = {
    HALVES(16, 16),
    HALVES(32, 8),
    HALVES(8, 32),
    BYTES(16, 16, 2, 2),
    BYTES(32, 8, 4, 1),
    BYTES(8, 32, 1, 4),
    {"", ".f32.tf32.tf32.f32", 16, 16, 8, 4, 4, 8, 8, F32, F32, TF32, TF32, "sm_80"},
    {"", ".f64.f64.f64.f64", 8, 8, 4, 1, 1, 2, 2, F64, F64, F64, F64, "sm_80"},
    {"", ".rz.f64.f64.f64.f64", 8, 8, 4, 1, 1, 2, 2, F64, F64, F64, F64, "sm_80"},
    {"", ".rm.f64.f64.f64.f64", 8, 8, 4, 1, 1, 2, 2, F64, F64, F64, F64, "sm_80"},
    {"", ".rp.f64.f64.f64.f64", 8, 8, 4, 1, 1, 2, 2, F64, F64, F64, F64, "sm_80"},
    {"", ".s32.s4.s4.s32", 8, 8, 32, 1, 1, 2, 2, S32, S32, S4, S4, "sm_75"},
    {"", ".s32.u4.u4.s32.satfinite", 8, 8, 32, 1, 1, 2, 2, S32, S32, U4, U4, "sm_75"},
    {".xor.popc", ".s32.b1.b1.s32", 8, 8, 128, 1, 1, 2, 2, S32, S32, B1, B1, "sm_75"},
    {".and.popc", ".s32.b1.b1.s32", 8, 8, 128, 1, 1, 2, 2, S32, S32, B1, B1, "sm_80"},
};

enum { FRAGMENT_BYTES = 8 * 8 * 32, MATRIX_BYTES = 8192, SHARED_BYTES = 4 * MATRIX_BYTES };
typedef enum { GLOBAL, GENERIC, SHARED } Space;
typedef enum { DEFAULT, CONSTANT, REGISTER } Stride;
typedef struct {
    bool col[4]; /* A, B, C, D */
    Space space;
    Stride stride;
} Variant;

/* ---- numbers ---- */

static uint32_t state = 2463534242u;
static uint32_t rnd(void) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state;
}
static uint16_t half_bits(double v) {
    int e;
    if (v == 0)
        return 0;
    frexp(v, &e);
    e = e - 1 < -14 ? -14 : e - 1;
    double units = nearbyint(ldexp(fabs(v), 10 - e)); /* 1024 of them are the implicit bit */
    return (uint16_t)((v < 0 ? 0x8000 : 0) + (e + 14) * 1024 + (int)units);
}
static double half_value(uint16_t bits) {
    int e = bits >> 10 & 31, mant = bits & 0x3ff;
    double v = ldexp(e ? mant + 1024 : mant, (e ? e : 1) - 25);
    return bits & 0x8000 ? -v : v;
}

/* A value of the type, and its bits; `spread`: of exponents. */
static double value(Type t, bool small, unsigned spread, uint64_t *bits) {
    double v = small ? (double)(int)(rnd() % 17) - 8
                     : ldexp((double)(rnd() % 2048) - 1023.5, (int)(rnd() % spread) - 12);
    float f;
    uint32_t word = rnd();
    switch (t) {
    case F16: *bits = half_bits(v); return half_value((uint16_t)*bits);
    case BF16:
    case TF32:
    case F32:
        f = (float)v;
        memcpy(&word, &f, 4);
        word &= t == BF16 ? 0xffff0000u : t == TF32 ? 0xffffe000u : ~0u;
        memcpy(&f, &word, 4);
        *bits = t == BF16 ? word >> 16 : word;
        return f;
    case F64:
        v *= small ? 1 : 1 + ldexp((double)rnd(), -40);
        memcpy(bits, &v, 8);
        return v;
    case S8: *bits = word & 255; return (int8_t)word;
    case U8: *bits = word & 255; return word & 255;
    case S4: *bits = word & 15; return (word & 15) >= 8 ? (int)(word & 15) - 16 : (int)(word & 15);
    case U4: *bits = word & 15; return word & 15;
    case B1: *bits = word & 1; return word & 1;
    default:
        *bits = small ? word % 1000 : 0x7fffff00u ^ (word & 1 ? 0x80000000u : 0u);
        return (int32_t)(uint32_t)*bits;
    }
}

/* ---- matrices in memory ---- */

typedef struct {
    unsigned rows, cols;
    Type type;
} Matrix;

static Matrix matrix_of(const Shape *s, unsigned which) {
    const Matrix all[] = {{s->m, s->k, s->a}, {s->k, s->n, s->b}, {s->m, s->n, s->c}, {s->m, s->n, s->d}};
    return all[which];
}

static unsigned stride_of(const Shape *s, const Variant *v, unsigned which) {
    Matrix x = matrix_of(s, which);
    unsigned pad = type_bits[x.type] >= 8 ? 16 : 128;
    return (v->col[which] ? x.rows : x.cols) + (v->stride == DEFAULT ? 0 : pad);
}

static unsigned bit_of(const Shape *s, const Variant *v, unsigned which, unsigned row, unsigned col) {
    unsigned ld = stride_of(s, v, which), at = v->col[which] ? col * ld + row : row * ld + col;
    return at * type_bits[matrix_of(s, which).type];
}

static void put_bits(uint8_t *to, unsigned at, unsigned bits, uint64_t v) {
    if (bits < 8)
        to[at / 8] |= (uint8_t)(v << at % 8);
    else
        memcpy(to + at / 8, &v, bits / 8);
}

typedef struct {
    double a[32][128], b[128][32], c[32][32];
    uint8_t memory[4][MATRIX_BYTES], fragments[3][FRAGMENT_BYTES];
} Data;

static void fill(const Shape *s, const Variant *v, bool small, Data *x) {
    memset(x, 0, sizeof *x);
    for (unsigned which = 0; which < 3; which++) {
        Matrix m = matrix_of(s, which);
        for (unsigned i = 0; i < m.rows; i++)
            for (unsigned j = 0; j < m.cols; j++) {
                uint64_t bits;
                double at = value(m.type, small, s->a == F16 ? 4 : 30, &bits);
                *(which == 0 ? &x->a[i][j] : which == 1 ? &x->b[i][j] : &x->c[i][j]) = at;
                put_bits(x->memory[which], bit_of(s, v, which, i, j), type_bits[m.type], bits);
            }
    }
}

/* ---- the kernel ---- */

static void list(char *out, const char *name, unsigned n) {
    strcpy(out, "{");
    for (unsigned i = 0; i < n; i++)
        sprintf(out + strlen(out), "%s%%%s%u", i ? ", " : "", name, i);
    strcat(out, "}");
}

static unsigned matrix_words(const Shape *s, const Variant *v, unsigned which) {
    Matrix x = matrix_of(s, which);
    return (bit_of(s, v, which, x.rows - 1, x.cols - 1) + type_bits[x.type] + 31) / 32;
}

/* Words of a matrix between global and shared memory, by one thread. */
static char *copy_text(char *out, const Shape *s, const Variant *v, unsigned which, bool in) {
    const char *name = &"a\0b\0c\0d"[2 * which];
    return out +
           sprintf(out,
                   "mov.u32 %%i, 0;\nL%s:\nmul.wide.u32 %%q, %%i, 4;\nadd.u64 %%q, %%q, %%p%s;\n"
                   "mad.lo.u32 %%j, %%i, 4, %%s%s;\n%s %%w, [%s];\n%s [%s], %%w;\nadd.u32 %%i, %%i, 1;\n"
                   "setp.lt.u32 %%more, %%i, %u;\n@%%more bra L%s;\n",
                   name, name, name, in ? "ld.global.u32" : "ld.shared.u32", in ? "%q" : "%j",
                   in ? "st.shared.u32" : "st.global.u32", in ? "%j" : "%q", matrix_words(s, v, which), name);
}

static char *address_text(char *out, const Shape *s, const Variant *v, unsigned which) {
    const char *name = &"a\0b\0c\0d"[2 * which];
    out += sprintf(out, "[%%%s%s]", v->space == SHARED ? "s" : "p", name);
    if (v->stride == REGISTER)
        return out + sprintf(out, ", %%ld%s", name);
    return v->stride == CONSTANT ? out + sprintf(out, ", %u", stride_of(s, v, which)) : out;
}

static void text_of(const Shape *s, const Variant *v, char *out) {
    static const char *const spaces[] = {".global", "", ".shared"};
    const unsigned counts[] = {s->na, s->nb, s->nc};
    bool old = !strcmp(s->target, "sm_70");
    const char *space = spaces[v->space];
    char f[4][80];
    const char *reg = s->d == F64 ? "f64" : "b32";
    for (unsigned k = 0; k < 4; k++)
        list(f[k], &"a\0b\0c\0d"[2 * k], k < 3 ? counts[k] : s->nd);
    out += sprintf(
        out,
        ".version 7.8\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 xa, .param .u64 xb, "
        ".param .u64 xc, .param .u64 xd, .param .u64 ya, .param .u64 yb, .param .u64 yc)\n{\n"
        ".reg .%s %%a<8>, %%b<8>, %%c<8>, %%d<8>;\n.reg .b64 %%pa, %%pb, %%pc, %%pd, %%q, %%t;\n"
        ".reg .b32 %%sa, %%sb, %%sc, %%sd, %%lda, %%ldb, %%ldc, %%ldd, %%i, %%j, %%w;\n"
        ".reg .pred %%more;\n.shared .align 32 .b8 sh[%u];\n",
        old ? "sm_75" : s->target, reg, SHARED_BYTES);
    for (unsigned k = 0; k < 4; k++)
        out += sprintf(out,
                       "ld.param.u64 %%p%c, [x%c];\nmov.u32 %%s%c, sh;\nadd.u32 %%s%c, %%s%c, %u;\n"
                       "mov.u32 %%ld%c, %u;\n",
                       "abcd"[k], "abcd"[k], "abcd"[k], "abcd"[k], "abcd"[k], k * MATRIX_BYTES, "abcd"[k],
                       stride_of(s, v, k));
    for (unsigned k = 0; k < 3 && v->space == SHARED; k++)
        out = copy_text(out, s, v, k, true);
    if (v->space == SHARED)
        out += sprintf(out, "bar.warp.sync -1;\n");
    for (unsigned k = 0; k < 3; k++) {
        out += sprintf(out, "wmma.load.%c.sync.aligned.%s.m%un%uk%u%s.%s %s, ", "abc"[k],
                       v -> col[k] ? "col" : "row", s->m, s->n, s->k, space, type_names[matrix_of(s, k).type],
                       f[k]);
        out = address_text(out, s, v, k);
        out += sprintf(out,
                       ";\nld.param.u64 %%q, [y%c];\nmov.u32 %%i, %%tid.x;\nmul.wide.u32 %%t, %%i, 64;\n"
                       "add.u64 %%q, %%q, %%t;\n",
                       "abc"[k]);
        for (unsigned i = 0; i < counts[k]; i++)
            out += sprintf(out, "st.global.%s [%%q+%u], %%%c%u;\n", reg, 8 * i, "abc"[k], i);
    }
    out += sprintf(out, "wmma.mma%s.sync.aligned.%s.%s.m%un%uk%u%s %s, %s, %s, %s;\n", s->mods,
                   v->col[0] ? "col" : "row", v->col[1] ? "col" : "row", s->m, s->n, s->k, s->types, f[3],
                   f[0], f[1], f[2]);
    out += sprintf(out, "wmma.store.d.sync.aligned.%s.m%un%uk%u%s.%s ", v->col[3] ? "col" : "row", s->m, s->n,
                   s->k, space, type_names[s->d]);
    char address[80];
    address_text(address, s, v, 3);
    char *comma = strchr(address, ',');
    if (comma)
        *comma = 0;
    out += sprintf(out, "%s, %s%s%s;\n", address, f[3], comma ? "," : "", comma ? comma + 1 : "");
    if (v->space == SHARED) {
        out += sprintf(out, "bar.warp.sync -1;\n");
        out = copy_text(out, s, v, 3, false);
    }
    strcpy(out, "ret;\n}\n");
}

/* ---- running ---- */

static void complain(void *user, HdSeverity severity, const char *text) {
    (void)user;
    if (severity == HD_ERROR)
        fputs(text, stderr);
}

static void run(HdStatus (*engine)(HdModule *, const HdLaunch *), HdModule *module, const char *target,
                Data *x) {
    HdArg args[7];
    for (unsigned k = 0; k < 4; k++)
        args[k] = (HdArg){.buffer = x->memory[k], .size_bytes = MATRIX_BYTES};
    for (unsigned k = 0; k < 3; k++)
        args[4 + k] = (HdArg){.buffer = x->fragments[k], .size_bytes = FRAGMENT_BYTES};
    HdLaunch launch = {
        .kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}, .args = args, .nargs = 7, .target = target};
    assert_int_equal(engine(module, &launch), HD_OK);
}

static double result(const Shape *s, const Variant *v, const Data *x, unsigned row, unsigned col) {
    const uint8_t *at = x->memory[3] + bit_of(s, v, 3, row, col) / 8;
    uint16_t half;
    int32_t whole;
    float f;
    double d;
    switch (s->d) {
    case F16: memcpy(&half, at, 2); return half_value(half);
    case F32: memcpy(&f, at, 4); return f;
    case F64: memcpy(&d, at, 8); return d;
    default: memcpy(&whole, at, 4); return whole;
    }
}

static double exact_f64(const Shape *s, const Data *x, unsigned row, unsigned col) {
    volatile double sum = x->c[row][col];
    fesetround(strstr(s->types, "rz")   ? FE_TOWARDZERO
               : strstr(s->types, "rm") ? FE_DOWNWARD
               : strstr(s->types, "rp") ? FE_UPWARD
                                        : FE_TONEAREST);
    for (unsigned k = 0; k < s->k; k++)
        sum = fma(x->a[row][k], x->b[k][col], sum);
    fesetround(FE_TONEAREST);
    return sum;
}

/* Integers and small numbers exactly; the rest loses less than 2^-22 of the largest term for each, and a
 * rounding; `halves`: half-way there a rounding to f16. */
static void compare(const Shape *s, const Variant *v, bool small, bool halves, const Data *x) {
    for (unsigned row = 0; row < s->m; row++)
        for (unsigned col = 0; col < s->n; col++) {
            double got = result(s, v, x, row, col), most = fabs(x->c[row][col]), bound = 0;
            long double exact = x->c[row][col];
            for (unsigned k = 0; k < s->k; k++) {
                double a = x->a[row][k], b = x->b[k][col];
                long double term = s->a != B1                ? (long double)a * b
                                   : strstr(s->mods, ".and") ? a * b
                                                             : (long double)(a != b);
                exact += term;
                most = fabs((double)term) > most ? fabs((double)term) : most;
            }
            if (s->d == S32 && strstr(s->types, "satfinite"))
                exact = exact > INT32_MAX ? INT32_MAX : exact < INT32_MIN ? INT32_MIN : exact;
            else if (s->d == S32)
                exact = (int32_t)(uint32_t)(uint64_t)(int64_t)exact;
            else if (s->d == F64)
                exact = exact_f64(s, x, row, col);
            else if (!small)
                bound = most * 0x1p-22 * (s->k + 2) + fabs((double)exact) * (s->d == F16 ? 0x1p-11 : 0x1p-23);
            else if (s->d == F16)
                exact = half_value(half_bits((double)exact));
            bound += halves ? most * 9 * 0x1p-11 : 0;
            if (fabsl((long double)got - exact) > bound)
                fail_msg("m%un%uk%u%s%s: row %u, column %u: %a, exactly %La, bound %a", s->m, s->n, s->k,
                         s->mods, s->types, row, col, got, exact, bound);
        }
}

static void check(const Shape *s, const Variant *v) {
    static const char *const targets[] = {"bru1", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"};
    enum { TARGETS = sizeof targets / sizeof *targets };
    static char text[32768];
    static Data x, y;
    HdContext *c = hd_create(&(HdOptions){.message = complain});
    HdModule *ptx, *binary[TARGETS];
    bool on_75 = strcmp(s->target, "sm_75") <= 0;
    text_of(s, v, text);
    assert_int_equal(hd_parse(c, "wmma.ptx", text, strlen(text), &ptx), HD_OK);
    for (unsigned t = 0; t < TARGETS; t++)
        if (t != 1 || on_75)
            assert_int_equal(
                hd_compile(ptx, &(HdCompileOptions){.target = targets[t], .opt_level = 2}, &binary[t]),
                HD_OK);
    for (unsigned trial = 0; trial < 2; trial++) {
        fill(s, v, trial == 0, &x);
        y = x;
        for (unsigned t = 0; t < TARGETS; t++) {
            Data z = y;
            if (t == 1 && !on_75)
                continue;
            x = y;
            run(hd_interpret, ptx, targets[t], &x);
            /* sm_75 rounds such sums each 8 of k */
            compare(s, v, trial == 0, t == 1 && s->d == F16 && s->c == F16 && trial, &x);
            run(hd_launch, binary[t], NULL, &z);
            assert_memory_equal(x.fragments, z.fragments, sizeof x.fragments);
            if (memcmp(x.memory, z.memory, sizeof x.memory))
                fail_msg("m%un%uk%u%s%s: %s has another result", s->m, s->n, s->k, s->mods, s->types,
                         targets[t]);
        }
    }
    hd_destroy(c);
}

/* 4-bit integers and bits have one layout of A and B. */
static void test_wmma(void **cmocka_state) {
    (void)cmocka_state;
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned k = 0; k < 12; k++) {
            if ((12 * i + k) % test_part())
                continue;
            bool one = type_bits[shapes[i].a] < 8;
            Variant v = {{!one && k & 1, one || k & 2, k & 1, k & 2}, (Space)(k / 4), (Stride)(k % 3)};
            check(&shapes[i], &v);
        }
}

/* Fewer lanes than a warp has take no part: a trap, not a matrix with holes. */
static void test_not_whole(void **cmocka_state) {
    (void)cmocka_state;
    static char text[32768];
    static Data x;
    Variant v = {.space = GLOBAL};
    HdContext *c = hd_create(&(HdOptions){0});
    HdModule *ptx;
    text_of(&shapes[0], &v, text);
    assert_int_equal(hd_parse(c, "wmma.ptx", text, strlen(text), &ptx), HD_OK);
    HdArg args[7];
    for (unsigned k = 0; k < 7; k++)
        args[k] = (HdArg){.buffer = x.memory[0], .size_bytes = MATRIX_BYTES};
    HdLaunch launch = {.kernel = "k", .grid = {1, 1, 1}, .block = {16, 1, 1}, .args = args, .nargs = 7};
    assert_int_equal(hd_interpret(ptx, &launch), HD_ERR_TRAP);
    hd_destroy(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wmma), cmocka_unit_test(test_not_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
