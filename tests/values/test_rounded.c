/* div, rcp and sqrt of f32 in all rounding modes, with and without .ftz, whatever the last bits of MUFU are:
 * compiled, run on the machine with MUFU's results moved by 0, 1 and 2 units either way, with and without
 * subnormals flushed by it, and compared bit for bit with the host's operations under the same rounding mode
 * (IEEE 754 demands those to be correctly rounded).
 *
 *   test_rounded                    100,000 pairs of operands for each operation (the ctest)
 *   test_rounded N [SEED [OP...]]   N pairs; OP as "div.rn", "sqrt.rz.ftz"
 *   test_rounded all [STRIDE [OP...]]  of the operations of one operand all operands, or each STRIDE-th
 *   TARGET in the environment: another target than bru1
 *
 * The pairs: edges of the format and of the ranges that the code asks about, with each other; quotients,
 * reciprocals and roots next to the middle between two numbers, or to a number; and random ones, most with
 * quotients in range. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "emit/elf/binary.h"
#include "sim/machine/machine.h"
#include "tools/driver.h"
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, CHUNK = 1 << 18, NAN_RESULT = 0x7fffffff, PAIRS = 100000 };
typedef enum { DIV, RCP, SQRT } What;
static const struct {
    const char *name;
    int rounding;
} modes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
static const char *const whats[] = {"div", "rcp", "sqrt"};

typedef struct {
    What what;
    unsigned mode;
    bool ftz;
    char name[16];
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

/* The rounding mode is set. */
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

static void draw(uint64_t seed, uint64_t k, uint32_t *a, uint32_t *b) {
    uint64_t h = rng_mix(seed * RNG_STEP + k), g = rng_mix(h + RNG_STEP);
    if (k < (uint64_t)EDGES * EDGES) {
        *a = edge(k / EDGES), *b = edge(k);
        return;
    }
    *b = h % 16 == 0 ? edge(g) : h % 16 < 4 ? (uint32_t)g : with_exponent(64 + (g >> 32) % 128, g);
    *a = (uint32_t)(g >> 20);
    if (h % 16 >= 12)
        *a = near_middle(g, *b);
    else if (h % 16 >= 8)
        *a = near_square(g);
    else if (h % 16 >= 6) /* the quotient is near an end of the range */
        *a = with_exponent((*b >> 23 & 255) + (h >> 8 & 1 ? 126u : 130u) + (h >> 16) % 5, g >> 8);
    *a ^= (uint32_t)(h >> 40 & 1) << 31;
}

/* ---- running ---- */

static void print(void *user, Severity severity, const char *line) {
    (void)user;
    if (severity == SEV_ERROR)
        fputs(line, stderr);
}

static bool compile(const Op *op, Compilation *c, Binary **binary, Diags *d) {
    char text[1024];
    snprintf(
        text, sizeof text,
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 "
        "out)\n{\n"
        ".reg .u64 %%i, %%o, %%n; .reg .u32 %%t, %%c; .reg .f32 %%a, %%b, %%d;\n"
        "ld.param.u64 %%i, [in]; ld.param.u64 %%o, [out]; mov.u32 %%t, %%tid.x; mov.u32 %%c, %%ctaid.x;\n"
        "mad.lo.u32 %%t, %%c, %d, %%t; mul.wide.u32 %%n, %%t, 4; add.u64 %%o, %%o, %%n;\n"
        "mad.wide.u32 %%i, %%t, 8, %%i; ld.global.f32 %%a, [%%i]; ld.global.f32 %%b, [%%i+4];\n"
        "%s.f32 %%d, %%a%s; st.global.f32 [%%o], %%d; ret;\n}\n",
        BLOCK, op->name, op->what == DIV ? ", %b" : "");
    PtxModule *m = ptx_parse(op->name, text, strlen(text), d);
    const char *name = getenv("TARGET");
    DriverOptions options = {
        .opt_level = 2, .target = isa_target(name ? name : "bru1"), .passes = {.verify = true}};
    *binary =
        m && driver_compile(c, m, &options, d) ? binary_read("kernel", c->image, c->image_bytes, d) : NULL;
    ptx_free(m);
    return *binary != NULL;
}

typedef struct {
    uint32_t in[2 * CHUNK], out[CHUNK], want[CHUNK];
} Data;

/* n operands under each policy; the number of wrong results */
static uint64_t check(const Op *op, const Binary *binary, Data *data, uint32_t n, Diags *d) {
    uint64_t wrong = 0;
    fesetround(modes[op->mode].rounding);
    for (uint32_t k = 0; k < n; k++)
        data->want[k] = expected(op, data->in[2 * k], data->in[2 * k + 1]);
    fesetround(FE_TONEAREST);
    uint32_t blocks = (n + BLOCK - 1) / BLOCK;
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {simmem_alloc(mem, "in", 8ull * BLOCK * blocks),
                          simmem_alloc(mem, "out", 4ull * BLOCK * blocks)};
    simmem_write(mem, params[0], data->in, 8ull * n);
    Launch l = {.grid = {blocks, 1, 1},
                .block = {BLOCK, 1, 1},
                .params = (const uint8_t *)params,
                .param_bytes = sizeof params};
    for (unsigned policy = 0; policy < 10; policy++) {
        MachineOptions options = {.mufu_ulp = (MachineMufuUlp)(policy / 2),
                                  .mufu_subnormal = policy % 2 ? MACHINE_MUFU_FLUSHES : MACHINE_MUFU_KEEPS};
        MachineResult result = {0};
        bool ran = machine_run(binary, "k", &l, mem, &options, &result, d) &&
                   simmem_read(mem, params[1], data->out, 4ull * n);
        machine_result_free(&result);
        wrong += !ran;
        for (uint32_t k = 0; ran && k < n; k++)
            if (data->out[k] != data->want[k] && wrong++ < 5)
                fprintf(stderr, "%s(%08x, %08x) is %08x, should be %08x, mufu-ulp %u, mufu-subnormal %u\n",
                        op->name, data->in[2 * k], data->in[2 * k + 1], data->out[k], data->want[k],
                        policy / 2, policy % 2);
    }
    simmem_free(mem);
    return wrong;
}

static uint64_t check_op(const Op *op, Data *data, uint64_t pairs, uint64_t seed, uint32_t stride) {
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
                draw(seed, first + k, &data->in[2 * k], &data->in[2 * k + 1]);
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
    bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    uint64_t pairs = argc > 1 && !all ? strtoull(argv[1], NULL, 10) : PAIRS, wrong = 0, n = 0;
    uint64_t number = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    Data *data = malloc(sizeof *data);
    if (!data || !pairs || (all && !number))
        return 2;
    for (unsigned k = 0; k < 24; k++) {
        Op op = {.what = (What)(k / 8), .mode = k % 4, .ftz = k / 4 % 2};
        snprintf(op.name, sizeof op.name, "%s.%s%s", whats[op.what], modes[op.mode].name,
                 op.ftz ? ".ftz" : "");
        if (!chosen(&op, argc, argv) || (all && op.what == DIV))
            continue;
        uint64_t bad = check_op(&op, data, pairs, number, all ? (uint32_t)number : 0);
        printf("%-12s %llu wrong\n", op.name, (unsigned long long)bad);
        fflush(stdout);
        wrong += bad, n++;
    }
    free(data);
    return wrong || !n;
}
