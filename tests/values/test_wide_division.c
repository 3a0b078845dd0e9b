/* Division and remainder of 64-bit integers as routines of ptxas, as check/prove/foreign/integers.ptx has
 * them: run on the machine, with MUFU.RCP's result as it is and moved by a unit either way, which they bear
 * (not by two), and compared with the host's operators. What is divided by zero is all ones, which ptxas's
 * routines give; -2^63 / -1 is -2^63.
 *
 * A quotient that was guessed too small is wrong by most where the dividend is large and next to a multiple
 * of the divisor: a third of the dividends are the largest such, a multiple, and what is before it.
 *
 *   test_wide_division FILE [N]   N pairs for each operation; 200,000 are the ctest
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "emit/elf/binary.h"
#include "sim/machine/machine.h"
#include "tools/jobs/driver.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, PAIRS = 200000, MOVES = 3, TEXT = 1 << 16 };

static void print(void *user, Severity severity, const char *line) {
    (void)user;
    if (severity == SEV_ERROR)
        fputs(line, stderr);
}

static uint64_t expected(const char *op, uint64_t a, uint64_t b) {
    bool rem = op[0] == 'r', sign = strchr(op, 's') != NULL;
    if (!b)
        return UINT64_MAX;
    if (!sign)
        return rem ? a % b : a / b;
    if (b == UINT64_MAX)
        return rem ? 0 : 0 - a;
    int64_t x = (int64_t)a, y = (int64_t)b;
    return (uint64_t)(rem ? x % y : x / y);
}

/* A power of two and what is near it, or any number of so many bits. */
static uint64_t number(uint64_t *rng) {
    uint64_t h = rng_next(rng), bits = h & 63;
    return h >> 6 & 1 ? (1ull << bits) + (h >> 7) % 9 - 4 : rng_next(rng) >> bits;
}

static void draw(uint64_t *rng, bool sign, uint64_t *a, uint64_t *b) {
    uint64_t h = rng_next(rng), most = sign ? INT64_MAX : UINT64_MAX;
    *b = number(rng);
    uint64_t size = sign && *b >> 63 ? 0 - *b : *b;
    *a = h % 4 ? number(rng) : most;
    if (h % 3 == 0 && size)
        *a = (h % 2 ? most : *a) / size * size - (h >> 8 & 1);
    if (sign && h >> 9 & 1)
        *a = 0 - *a;
}

static Binary *compiled(const char *path, const char *op, Compilation *c, Diags *d) {
    static char text[TEXT];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    snprintf(
        text + n, sizeof text - n,
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .u64 %%i, %%o, %%n, %%a, %%b, %%d; .reg .u32 %%t, %%c;\n"
        "ld.param.u64 %%i, [in]; ld.param.u64 %%o, [out]; mov.u32 %%t, %%tid.x; mov.u32 %%c, %%ctaid.x;\n"
        "mad.lo.u32 %%t, %%c, %d, %%t; mad.wide.u32 %%o, %%t, 8, %%o; mad.wide.u32 %%i, %%t, 16, %%i;\n"
        "ld.global.u64 %%a, [%%i]; ld.global.u64 %%b, [%%i+8];\n"
        "call (%%d), %s_steps, (%%a, %%b); st.global.u64 [%%o], %%d; ret;\n}\n",
        BLOCK, op);
    PtxModule *m = n ? ptx_parse(path, text, strlen(text), d) : NULL;
    DriverOptions options = {.opt_level = 2, .target = isa_target("sm_80"), .passes = {.verify = true}};
    Binary *binary =
        m && driver_compile(c, m, &options, d) ? binary_read("kernel", c->image, c->image_bytes, d) : NULL;
    ptx_free(m);
    return binary;
}

static uint64_t check(const char *path, const char *op, uint32_t pairs) {
    Diags d = {.sink = print};
    Compilation c = {0};
    Binary *binary = compiled(path, op, &c, &d);
    uint32_t blocks = (pairs + BLOCK - 1) / BLOCK, n = blocks * BLOCK;
    uint64_t rng = 20261128, wrong = !binary;
    uint64_t *in = malloc(16ull * n), *out = malloc(8ull * n);
    for (uint32_t k = 0; in && k < n; k++)
        draw(&rng, strchr(op, 's') != NULL, &in[2 * k], &in[2 * k + 1]);
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {simmem_alloc(mem, "in", 16ull * n), simmem_alloc(mem, "out", 8ull * n)};
    simmem_write(mem, params[0], in, 16ull * n);
    Launch launch = {.grid = {blocks, 1, 1},
                     .block = {BLOCK, 1, 1},
                     .params = (const uint8_t *)params,
                     .param_bytes = sizeof params};
    for (unsigned move = 0; binary && in && out && move < MOVES; move++) {
        MachineOptions options = {.mufu_ulp = (MachineMufuUlp)move, .mufu_subnormal = MACHINE_MUFU_FLUSHES};
        MachineResult result = {0};
        bool ran = machine_run(binary, "k", &launch, mem, &options, &result, &d) &&
                   simmem_read(mem, params[1], out, 8ull * n);
        machine_result_free(&result);
        wrong += !ran;
        for (uint32_t k = 0; ran && k < n; k++)
            if (out[k] != expected(op, in[2 * k], in[2 * k + 1]) && wrong++ < 5)
                fprintf(stderr, "%s(%#" PRIx64 ", %#" PRIx64 ") is %#" PRIx64 ", mufu-ulp %u\n", op,
                        in[2 * k], in[2 * k + 1], out[k], move);
    }
    simmem_free(mem);
    free(in);
    free(out);
    binary_free(binary);
    driver_free(&c);
    return wrong;
}

int main(int argc, char **argv) {
    static const char *const ops[] = {"div_u64", "div_s64", "rem_u64", "rem_s64"};
    uint64_t all = 0;
    for (unsigned k = 0; argc > 1 && k < sizeof ops / sizeof *ops; k++) {
        uint64_t wrong = check(argv[1], ops[k], argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : PAIRS);
        printf("%s: %" PRIu64 " wrong\n", ops[k], wrong);
        all += wrong;
    }
    return argc < 2 || all;
}
