/* div, rcp and sqrt of f32 and f64 in all rounding modes, with and without .ftz, whatever the last bits of
 * MUFU are: compiled, run on the machine with MUFU's results moved by 0, 1 and 2 units either way, with and
 * without subnormals flushed by it, and compared bit for bit with the host's operations under the same
 * rounding mode (IEEE 754 demands those to be correctly rounded).
 *
 *   test_rounded                    100,000 pairs of operands for each operation (the ctest)
 *   test_rounded N [SEED [OP...]]   N pairs; OP as "div.rn.f64", "sqrt.rz.ftz.f32"
 *   test_rounded all [STRIDE [OP...]]  of the f32 operations of one operand all operands, or each STRIDE-th
 *   TARGET in the environment: another target than bru1
 *   test_rounded steps DIRECTORY [N]   what a routine of ptxas computes, as check/prove/foreign has it
 *   test_rounded ptxas PTXAS [N]       what ptxas makes of an operation for sm_80, to nearest, MUFU as it is;
 * how many are not with its results moved is told
 *
 * The pairs: edges of the format and of the ranges that the code asks about, with each other; quotients,
 * reciprocals and roots next to the middle between two numbers, or to a number; and random ones, most with
 * quotients in range. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "emit/elf/binary.h"
#include "sim/machine/machine.h"
#include "tests/part.h"
#include "tools/jobs/driver.h"
#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOVES = 5, BLOCK = 256, CHUNK = 1 << 18, NAN_RESULT = 0x7fffffff, PAIRS = 100000 };
__extension__ typedef unsigned __int128 Wide128;
static const uint64_t WIDE_NAN_RESULT = 0xfff8000000000000;
typedef enum { DIV, RCP, SQRT } What;
static const struct {
    const char *name;
    int rounding;
} modes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
static const char *const whats[] = {"div", "rcp", "sqrt"}, *const moves[MOVES] = {"0", "+1", "-1", "+2",
                                                                                  "-2"};

typedef struct {
    What what;
    unsigned mode;
    bool ftz, wide;
    char name[24];
    const char *steps, *ptxas;    /* a directory, a program; or NULL */
    uint64_t moved[MOVES], asked; /* of `ptxas`: wrong by MachineMufuUlp; of so many */
} Op;

static float from_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static uint32_t to_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static uint32_t flush(uint32_t u) { return u & 0x7f800000 ? u : u & 0x80000000; }

static double wide_from_bits(uint64_t u) {
    double f;
    memcpy(&f, &u, 8);
    return f;
}
static uint64_t wide_to_bits(double f) {
    uint64_t u;
    memcpy(&u, &f, 8);
    return u;
}

/* The rounding mode is set. */
static uint64_t expected_wide(const Op *op, uint64_t a, uint64_t b) {
    volatile double x = wide_from_bits(a), y = wide_from_bits(b), one = 1;
    volatile double r = op->what == DIV ? x / y : op->what == RCP ? one / x : sqrt(x);
    return r != r ? WIDE_NAN_RESULT : wide_to_bits(r);
}
static uint32_t expected(const Op *op, uint32_t a, uint32_t b) {
    volatile float x = from_bits(op->ftz ? flush(a) : a), y = from_bits(op->ftz ? flush(b) : b), one = 1;
    volatile float r = op->what == DIV ? x / y : op->what == RCP ? one / x : sqrtf(x);
    uint32_t u = to_bits(r);
    if ((u & 0x7fffffff) > 0x7f800000)
        return NAN_RESULT;
    return op->ftz ? flush(u) : u;
}

/* ---- operands ---- */

static const uint32_t edges[] = {0,          1,          2,          0x00400000, 0x007fffff, 0x00800000,
                                 0x00800001, 0x00ffffff, 0x01000000, 0x0c7fffff, 0x0c800000, 0x0d000000,
                                 0x0d7fffff, 0x0d800000, 0x0d800001, 0x1a000003, 0x33333333, 0x3effffff,
                                 0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fb504f3, 0x3fb504f4,
                                 0x3ffffffb, 0x3ffffffd, 0x3ffffffe, 0x3fffffff, 0x40000000, 0x40400000,
                                 0x5f3759df, 0x7dffffff, 0x7e000000, 0x7e7fffff, 0x7e800000, 0x7e800001,
                                 0x7effffff, 0x7f000000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000};
enum { EDGES = 2 * sizeof edges / sizeof *edges };
static uint32_t edge(uint64_t k) { return edges[k % EDGES / 2] | (k % 2 ? 0x80000000u : 0); }

static uint32_t with_exponent(uint64_t e, uint64_t mantissa) {
    return (uint32_t)(e % 256 << 23 | (mantissa & 0x7fffff));
}

/* a such that a / b is next to a number of 25 bits, which is f32 or the middle between two */
static uint32_t near_middle(uint64_t h, uint32_t b) {
    uint64_t m = (h & 0xffffff) | 1 << 24, product = m * ((b & 0x7fffff) | 0x800000);
    unsigned shift = 63 - (unsigned)__builtin_clzll(product) - 23;
    return with_exponent(100 + (h >> 32) % 56, (product + (1ull << (shift - 1))) >> shift);
}

/* x such that its root is */
static uint32_t near_square(uint64_t h) {
    uint64_t m = (h & 0xffffff) | 1 << 24, square = m * m;
    unsigned shift = 63 - (unsigned)__builtin_clzll(square) - 23;
    uint32_t even = 2 * (uint32_t)((h >> 32) % 100) + (square >> 49 & 1 ? 28 : 27);
    return with_exponent(even, (square + (1ull << (shift - 1))) >> shift);
}

static void draw_narrow(uint64_t seed, uint64_t k, uint64_t *a, uint64_t *b) {
    uint64_t h = rng_mix(seed * RNG_STEP + k), g = rng_mix(h + RNG_STEP);
    if (k < (uint64_t)EDGES * EDGES) {
        *a = edge(k / EDGES), *b = edge(k);
        return;
    }
    *b = h % 16 == 0 ? edge(g) : h % 16 < 4 ? (uint32_t)g : with_exponent(64 + (g >> 32) % 128, g);
    *a = (uint32_t)(g >> 20);
    if (h % 16 >= 12)
        *a = near_middle(g, (uint32_t)*b);
    else if (h % 16 >= 8)
        *a = near_square(g);
    else if (h % 16 >= 6) /* the quotient is near an end of the range */
        *a = with_exponent((*b >> 23 & 255) + (h >> 8 & 1 ? 126u : 130u) + (h >> 16) % 5, g >> 8);
    *a ^= (h >> 40 & 1) << 31;
}

/* ---- f64 ---- */

static const uint64_t wide_edges[] = {
    0,
    1,
    0x0008000000000000,
    0x000fffffffffffff,
    0x0010000000000000, /* 2^-1022 */
    0x0010000000000001,
    0x00100000ffffffff,
    0x0010000100000000,
    0x001fffffffffffff,
    0x0020000000000000,
    0x034fffffffffffff,
    0x0350000000000000, /* 2^-970 */
    0x0350000000000001,
    0x035fffffffffffff,
    0x0360000000000000, /* 2^-969 */
    0x0360000000000001,
    0x0370000000000001,
    0x3ca0000000000000,
    0x3fdfffffffffffff,
    0x3fe0000000000000,
    0x3fe6a09e667f3bcd,
    0x3feffffffffffffe,
    0x3fefffffffffffff,
    0x3ff0000000000000,
    0x3ff0000000000001,
    0x3ff0000000000002,
    0x3ff00000ffffffff,
    0x3ff5555555555555,
    0x3ff7ffffffffffff,
    0x3fffffff00000000,
    0x3ffffffffffffffb,
    0x3ffffffffffffffc,
    0x3ffffffffffffffd,
    0x3ffffffffffffffe,
    0x3fffffffffffffff,
    0x4000000000000000,
    0x4000000000000001,
    0x4008000000000000,
    0x400fffffffffffff,
    0x7f7fffffffffffff,
    0x7f80000000000000, /* 2^1017 */
    0x7f80000000000001,
    0x7fc0000000000000,
    0x7fcfffffffffffff,
    0x7fd0000000000000, /* 2^1022 */
    0x7fd0000000000001,
    0x7fe0000000000000,
    0x7fefffffffffffff,
    0x7ff0000000000000,
    0x7ff0000000000001,
    0x7ff8000000000000,
};
enum { WIDE_EDGES = 2 * sizeof wide_edges / sizeof *wide_edges };
static uint64_t wide_edge(uint64_t k) { return wide_edges[k % WIDE_EDGES / 2] | (k % 2) << 63; }

static uint64_t wide_with_exponent(uint64_t e, uint64_t mantissa) {
    return e % 2048 << 52 | (mantissa & 0xfffffffffffff);
}

/* 2^52 times the number, which is in [1/2, 2), with an exponent */
static uint64_t wide_number(uint64_t e, uint64_t significand) {
    return wide_to_bits(ldexp((double)significand, (int)e - 1023 - 52));
}

/* a such that a / b is as near as can be to a number of `bits` bits: (m b + c) / 2^bits for a small odd c,
 * where m is what makes that an integer. 54 bits: the middle of two numbers. */
static uint64_t wide_near(uint64_t h, uint64_t *b, unsigned bits) {
    uint64_t divisor = (h & 0xfffffffffffff) | 1ull << 52 | 1, inverse = divisor;
    for (unsigned k = 0; k < 6; k++)
        inverse *= 2 - divisor * inverse;
    int64_t c = (int64_t)(h >> 52 & 7) * 2 - 7;
    uint64_t m = (0 - (uint64_t)c * inverse) & ((1ull << bits) - 1);
    Wide128 product = (Wide128)m * divisor;
    product = c < 0 ? product - (uint64_t)-c : product + (uint64_t)c;
    *b = wide_number(400 + (h >> 55), divisor);
    return wide_number(900, (uint64_t)(product >> bits));
}

/* x such that its root is: x = n (n + 1) + c for a small even c, scaled, where n is the one of two (by `h`)
 * that makes that a number. c is at most 64 from zero; proofs look at 40. */
static uint64_t wide_near_root(uint64_t h) {
    int64_t c = (int64_t)(h >> 2 & 63) * 2 - 64;
    uint64_t n = h & 1;
    unsigned bits = 52 + (h >> 1 & 1); /* of the number, all zeros below it */
    for (unsigned k = 0; k < 6; k++) { /* Newton's step modulo 2^64 */
        uint64_t inverse = 2 * n + 1, derivative = inverse;
        for (unsigned i = 0; i < 6; i++)
            inverse *= 2 - derivative * inverse;
        n -= (n * n + n + (uint64_t)c) * inverse;
    }
    n &= (1ull << bits) - 1;
    n |= 1ull << 52;
    Wide128 x = (Wide128)n * (n + 1);
    x = c < 0 ? x - (uint64_t)-c : x + (uint64_t)c;
    unsigned even = 2 * (unsigned)(h >> 8 & 255) + 2;
    if ((x >> 105) == (bits == 52)) /* there is none in this binade */
        return wide_number(1000, n);
    return bits == 52 ? wide_number(500 + even + 1, (uint64_t)(x >> 52))
                      : wide_number(500 + even + 2, (uint64_t)(x >> 53));
}

static void draw_wide(uint64_t seed, uint64_t k, uint64_t *a, uint64_t *b) {
    uint64_t h = rng_mix(seed * RNG_STEP + k), g = rng_mix(h + RNG_STEP);
    if (k < (uint64_t)WIDE_EDGES * WIDE_EDGES) {
        *a = wide_edge(k / WIDE_EDGES), *b = wide_edge(k);
        return;
    }
    *b = h % 16 == 0 ? wide_edge(g) : h % 16 < 3 ? g : wide_with_exponent(500 + (g >> 52) % 1000, g);
    *a = h % 16 < 5 ? rng_mix(g) : wide_with_exponent(500 + (h >> 52) % 1000, rng_mix(g));
    switch (h % 16) {
    case 5:
    case 6: *a = wide_near(g, b, 53); break;
    case 7:
    case 8: *a = wide_near(g, b, 54); break;
    case 9:
    case 10: *a = wide_near_root(g); break;
    case 11: /* the quotient is near an end of the range */
        *a = wide_with_exponent((*b >> 52 & 2047) + (h >> 8 & 1 ? 1022u : 1026u) + (h >> 16) % 5, g >> 4);
        break;
    case 12: /* the dividend is, or the divisor */
        *a = wide_with_exponent((h >> 8 & 1 ? 52u : 2038u) + (h >> 16) % 8, g >> 4);
        *b = wide_with_exponent((h >> 9 & 1 ? 52u : 2036u) + (h >> 19) % 8, g >> 6);
        break;
    case 13: /* exact quotients and roots */
        *b = wide_number(1000, (g >> 38 | 1) << 20);
        *a = wide_number(1023, (h >> 8 & 1 ? g & 0x3ffffff : g >> 38 | 1) * (g >> 38 | 1));
        break;
    case 14: /* last bits at an end */
        *b = 0x3fffffffffffffffu - (g & 63);
        *a = (g >> 32 & 1 ? 0x3ff0000000000000u : 0x3fffffffffffffc0u) + (g >> 8 & 63);
        break;
    default: break;
    }
    *a ^= (h >> 40 & 1) << 63;
}

/* ---- running ---- */

static void print(void *user, Severity severity, const char *line) {
    (void)user;
    if (severity == SEV_ERROR)
        fputs(line, stderr);
}

/* The file with the operation's steps, or nothing, at the beginning of a module; false: it is too long. */
static bool beginning(const Op *op, char *text, size_t size) {
    if (!op->steps)
        return snprintf(text, size, ".version 7.0\n.target sm_80\n.address_size 64\n") > 0;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.ptx", op->steps, op->wide ? "wide" : "narrow");
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, size, f) : size;
    if (f)
        fclose(f);
    text[n < size ? n : 0] = 0;
    return n < size;
}

/* By ptxas, into a file beside the PTX. */
static Binary *compile_by_ptxas(const Op *op, const char *text, Diags *d) {
    char ptx[] = "/tmp/test_rounded.XXXXXX", cubin[64], command[1200];
    int fd = mkstemp(ptx);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    snprintf(cubin, sizeof cubin, "%s.cubin", ptx);
    snprintf(command, sizeof command, "'%s' -arch=sm_80 %s -o %s", op->ptxas, ptx, cubin);
    static uint8_t image[1 << 20];
    good = good && system(command) == 0;
    FILE *f = good ? fopen(cubin, "rb") : NULL;
    size_t n = f ? fread(image, 1, sizeof image, f) : 0;
    if (f)
        fclose(f);
    remove(ptx);
    remove(cubin);
    return n && n < sizeof image ? binary_read(cubin, image, n, d) : NULL;
}

static bool compile(const Op *op, Compilation *c, Binary **binary, Diags *d) {
    char text[32768], what[256];
    const char *type = op->wide ? "f64" : "f32", *operands = op->what == DIV ? "%a, %b" : "%a";
    if (!beginning(op, text, sizeof text))
        return false;
    char when[64], whole[64]; /* for other operands what they stand for counts, or the steps in line */
    snprintf(whole, sizeof whole, "%s_rn_%s_whole", whats[op->what], type);
    if (op->steps && strstr(text, whole))
        snprintf(what, sizeof what, "call (%%d), %s, (%s)", whole, operands);
    else
        snprintf(what, sizeof what, op->steps ? "call (%%d), %s_rn_%s_steps, (%s)" : "%s %%d, %.0s%s",
                 op->steps ? whats[op->what] : op->name, type, operands);
    snprintf(when, sizeof when, "%s_rn_%s_when", whats[op->what], type);
    if (op->steps && strstr(text, when) && !strstr(text, whole))
        snprintf(what + strlen(what), sizeof what - strlen(what),
                 "; .reg .pred %%p; call (%%p), %s, (%s); @!%%p %s %%d, %s", when, operands, op->name,
                 operands);
    size_t at = strlen(text);
    snprintf(
        text + at, sizeof text - at,
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .u64 %%i, %%o, %%n; .reg .u32 %%t, %%c; .reg .%s %%a, %%b, %%d;\n"
        "ld.param.u64 %%i, [in]; ld.param.u64 %%o, [out]; mov.u32 %%t, %%tid.x; mov.u32 %%c, %%ctaid.x;\n"
        "mad.lo.u32 %%t, %%c, %d, %%t; mul.wide.u32 %%n, %%t, 8; add.u64 %%o, %%o, %%n;\n"
        "mad.wide.u32 %%i, %%t, 16, %%i; ld.global.%s %%a, [%%i]; ld.global.%s %%b, [%%i+8];\n"
        "%s; st.global.%s [%%o], %%d; ret;\n}\n",
        type, BLOCK, type, type, what, type);
    if (op->ptxas) {
        *binary = compile_by_ptxas(op, text, d);
        return *binary != NULL;
    }
    PtxModule *m = ptx_parse(op->name, text, strlen(text), d);
    const char *name = op->steps ? "sm_80" : getenv("TARGET");
    DriverOptions options = {
        .opt_level = 2, .target = isa_target(name ? name : "bru1"), .passes = {.verify = true}};
    *binary =
        m && driver_compile(c, m, &options, d) ? binary_read("kernel", c->image, c->image_bytes, d) : NULL;
    ptx_free(m);
    return *binary != NULL;
}

/* Of f64 PTX leaves open which NaN it is. */
static bool both_nan(uint64_t a, uint64_t b) {
    return wide_from_bits(a) != wide_from_bits(a) && wide_from_bits(b) != wide_from_bits(b);
}

typedef struct {
    uint64_t in[2 * CHUNK], out[CHUNK], want[CHUNK];
} Data;

/* n operands under each policy; the number of wrong results */
static uint64_t check(Op *op, const Binary *binary, Data *data, uint32_t n, Diags *d) {
    uint64_t wrong = 0;
    fesetround(modes[op->mode].rounding);
    for (uint32_t k = 0; k < n; k++)
        data->want[k] = op->wide ? expected_wide(op, data->in[2 * k], data->in[2 * k + 1])
                                 : expected(op, (uint32_t)data->in[2 * k], (uint32_t)data->in[2 * k + 1]);
    fesetround(FE_TONEAREST);
    uint32_t blocks = (n + BLOCK - 1) / BLOCK;
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {simmem_alloc(mem, "in", 16ull * BLOCK * blocks),
                          simmem_alloc(mem, "out", 8ull * BLOCK * blocks)};
    simmem_write(mem, params[0], data->in, 16ull * n);
    Launch l = {.grid = {blocks, 1, 1},
                .block = {BLOCK, 1, 1},
                .params = (const uint8_t *)params,
                .param_bytes = sizeof params};
    bool foreign = op->steps || op->ptxas; /* it is made for a MUFU that flushes */
    op->asked += n;
    for (unsigned policy = foreign; policy < (op->steps ? 2 : 2 * MOVES);
         policy += op->wide || foreign ? 2 : 1) {
        /* MUFU always flushes f64 */
        MachineOptions options = {.mufu_ulp = (MachineMufuUlp)(policy / 2),
                                  .mufu_subnormal = policy % 2 ? MACHINE_MUFU_FLUSHES : MACHINE_MUFU_KEEPS};
        MachineResult result = {0};
        bool ran = machine_run(binary, "k", &l, mem, &options, &result, d) &&
                   simmem_read(mem, params[1], data->out, 8ull * n);
        machine_result_free(&result);
        wrong += !ran;
        for (uint32_t k = 0; ran && k < n; k++)
            if (data->out[k] != data->want[k] &&
                !(foreign && op->wide && both_nan(data->out[k], data->want[k])) &&
                !(op->ptxas && ++op->moved[policy / 2] && policy / 2) && wrong++ < 5)
                fprintf(stderr,
                        "%s(%#" PRIx64 ", %#" PRIx64 ") is %#" PRIx64 ", should be %#" PRIx64
                        ", mufu-ulp %u, mufu-subnormal %u\n",
                        op->name, data->in[2 * k], data->in[2 * k + 1], data->out[k], data->want[k],
                        policy / 2, policy % 2);
    }
    simmem_free(mem);
    return wrong;
}

static uint64_t check_op(Op *op, Data *data, uint64_t pairs, uint64_t seed, uint32_t stride) {
    Diags d = {.sink = print};
    Compilation c = {0};
    Binary *binary;
    uint64_t wrong = !compile(op, &c, &binary, &d),
             total = stride ? ((1ull << 32) + stride - 1) / stride : pairs;
    for (uint64_t first = 0; binary && first < total; first += CHUNK) {
        uint32_t n = total - first < CHUNK ? (uint32_t)(total - first) : CHUNK;
        for (uint32_t k = 0; k < n; k++)
            if (stride)
                data->in[2 * k] = (uint32_t)((first + k) * stride), data->in[2 * k + 1] = 0;
            else
                (op->wide ? draw_wide : draw_narrow)(seed, first + k, &data->in[2 * k], &data->in[2 * k + 1]);
        wrong += check(op, binary, data, n, &d);
    }
    binary_free(binary);
    driver_free(&c);
    return wrong;
}

static bool chosen(const Op *op, int argc, char **argv) {
    bool any = argc <= 3;
    for (int i = 3; i < argc; i++)
        any |= strcmp(argv[i], op->name) == 0;
    return any;
}

int main(int argc, char **argv) {
    bool all = argc > 1 && strcmp(argv[1], "all") == 0, steps = argc > 2 && strcmp(argv[1], "steps") == 0,
         ptxas = argc > 2 && strcmp(argv[1], "ptxas") == 0, foreign = steps || ptxas;
    const char *count = foreign ? argc > 3 ? argv[3] : NULL : argc > 1 && !all ? argv[1] : NULL;
    uint64_t pairs = count ? strtoull(count, NULL, 10) : PAIRS / test_part(), wrong = 0, n = 0;
    uint64_t number = argc > 2 && !foreign ? strtoull(argv[2], NULL, 10) : 1;
    Data *data = malloc(sizeof *data);
    if (!data || !pairs || (all && !number))
        return 2;
    for (unsigned k = 0; k < 36; k++) {
        Op op = {.what = (What)(k / 12),
                 .mode = k % 4,
                 .ftz = k / 4 % 3 == 1,
                 .wide = k / 4 % 3 == 2,
                 .steps = steps ? argv[2] : NULL,
                 .ptxas = ptxas ? argv[2] : NULL};
        snprintf(op.name, sizeof op.name, "%s.%s%s.f%d", whats[op.what], modes[op.mode].name,
                 op.ftz ? ".ftz" : "", op.wide ? 64 : 32);
        if (foreign ? op.mode != 0 || op.ftz
                    : !chosen(&op, argc, argv) || (all && (op.what == DIV || op.wide)))
            continue;
        uint64_t bad = check_op(&op, data, pairs, number, all ? (uint32_t)number : 0);
        printf("%-16s %llu wrong\n", op.name, (unsigned long long)bad);
        for (unsigned move = 1; ptxas && move < MOVES; move++)
            printf("    of %" PRIu64 " %" PRIu64 " with MUFU moved by %s\n", op.asked, op.moved[move],
                   moves[move]);
        fflush(stdout);
        wrong += bad, n++;
    }
    free(data);
    return wrong || !n;
}
