/* The f32 operations of one operand that must be correctly rounded, on all 2^32 operands: sqrt and rcp in
 * four rounding modes, with and without .ftz. Compiled, run on the SIMT machine, compared bit for bit with
 * the host's division and square root under the same rounding mode (IEEE 754 demands both to be correctly
 * rounded).
 *
 *   f32_unary            every 1021st operand (the ctest), some seconds
 *   f32_unary 1 [OP...]  all of them, minutes for each operation; OP as "sqrt.rn", "rcp.rz.ftz"
 *
 * SPDX-License-Identifier: MIT */
#include <fenv.h>
#include <heddle.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, CHUNK = 1 << 20, NAN_RESULT = 0x7fffffff };

typedef struct {
    const char *name;
    bool root, ftz;
    int rounding;
} Op;
static const Op ops[] = {
    {"sqrt.rn", true, false, FE_TONEAREST},    {"sqrt.rz", true, false, FE_TOWARDZERO},
    {"sqrt.rm", true, false, FE_DOWNWARD},     {"sqrt.rp", true, false, FE_UPWARD},
    {"sqrt.rn.ftz", true, true, FE_TONEAREST}, {"sqrt.rz.ftz", true, true, FE_TOWARDZERO},
    {"sqrt.rm.ftz", true, true, FE_DOWNWARD},  {"sqrt.rp.ftz", true, true, FE_UPWARD},
    {"rcp.rn", false, false, FE_TONEAREST},    {"rcp.rz", false, false, FE_TOWARDZERO},
    {"rcp.rm", false, false, FE_DOWNWARD},     {"rcp.rp", false, false, FE_UPWARD},
    {"rcp.rn.ftz", false, true, FE_TONEAREST}, {"rcp.rz.ftz", false, true, FE_TOWARDZERO},
    {"rcp.rm.ftz", false, true, FE_DOWNWARD},  {"rcp.rp.ftz", false, true, FE_UPWARD},
};

static const char kernel[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .u32 base, .param .u32 stride)\n{\n"
    "  .reg .u64 %%rd<4>;\n  .reg .b32 %%r<8>;\n  .reg .f32 %%f<3>;\n"
    "  ld.param.u64 %%rd1, [out];\n  ld.param.u32 %%r1, [base];\n  ld.param.u32 %%r2, [stride];\n"
    "  mov.u32 %%r3, %%tid.x;\n  mov.u32 %%r4, %%ctaid.x;\n  mad.lo.u32 %%r3, %%r4, %d, %%r3;\n"
    "  mad.lo.u32 %%r5, %%r3, %%r2, %%r1;\n  mov.b32 %%f1, %%r5;\n"
    "  %s.f32 %%f2, %%f1;\n"
    "  mul.wide.u32 %%rd2, %%r3, 4;\n  add.u64 %%rd3, %%rd1, %%rd2;\n  st.global.f32 [%%rd3], %%f2;\n  "
    "ret;\n}\n";

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
static bool is_subnormal(uint32_t u) { return !(u & 0x7f800000) && u & 0x7fffffff; }

/* What the PTX ISA says of one operand; the rounding mode is set. */
static uint32_t expected(const Op *op, uint32_t operand) {
    if (op->ftz && is_subnormal(operand))
        operand &= 0x80000000;
    volatile float x = from_bits(operand), one = 1; /* computed now, in this rounding mode */
    volatile float y = op->root ? sqrtf(x) : one / x;
    uint32_t r = to_bits(y);
    if ((r & 0x7fffffff) > 0x7f800000)
        return NAN_RESULT;
    return op->ftz && is_subnormal(r) ? r & 0x80000000 : r;
}

static void print_message(void *user, HdSeverity severity, const char *text) {
    (void)user, (void)severity;
    fputs(text, stderr);
}

/* Number of wrong results; -1 if it could not be run. */
static int64_t check(const Op *op, uint32_t stride, uint32_t *results) {
    HdContext *c = hd_create(&(HdOptions){.message = print_message});
    HdModule *ptx, *binary;
    char text[sizeof kernel + 64];
    int size = snprintf(text, sizeof text, kernel, BLOCK, op->name);
    int64_t wrong = -1;
    if (hd_parse(c, op->name, text, (size_t)size, &ptx) != HD_OK || hd_compile(ptx, NULL, &binary) != HD_OK)
        goto out;
    wrong = 0;
    uint64_t total = (0x100000000u + (uint64_t)stride - 1) / stride;
    for (uint64_t first = 0; first < total; first += CHUNK) {
        uint32_t base = (uint32_t)(first * stride);
        uint32_t n = total - first < CHUNK ? (uint32_t)(total - first) : CHUNK,
                 blocks = (n + BLOCK - 1) / BLOCK;
        HdArg args[] = {{.buffer = results, .size_bytes = (size_t)blocks * BLOCK * 4},
                        {.value = &base, .size_bytes = 4},
                        {.value = &stride, .size_bytes = 4}};
        HdLaunch l = {.grid = {blocks, 1, 1}, .block = {BLOCK, 1, 1}, .args = args, .nargs = 3};
        if (hd_launch(binary, &l) != HD_OK) {
            wrong = -1;
            break;
        }
        fesetround(op->rounding);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t x = base + i * stride, want = expected(op, x);
            if (results[i] == want)
                continue;
            if (wrong++ < 5)
                fprintf(stderr, "%s(%08x) is %08x, should be %08x\n", op->name, x, results[i], want);
        }
        fesetround(FE_TONEAREST);
    }
out:
    hd_destroy(c);
    return wrong;
}

static bool chosen(const Op *op, int argc, char **argv) {
    bool any = argc <= 2;
    for (int i = 2; i < argc; i++)
        any |= strcmp(argv[i], op->name) == 0;
    return any;
}

int main(int argc, char **argv) {
    uint32_t stride = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1021;
    uint32_t *results = malloc(4u * CHUNK);
    if (!stride || !results)
        return 2;
    int passed = 0, failed = 0;
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        if (!chosen(&ops[k], argc, argv))
            continue;
        int64_t wrong = check(&ops[k], stride, results);
        printf("%-12s %s\n", ops[k].name, wrong ? "WRONG" : "equal");
        fflush(stdout);
        *(wrong ? &failed : &passed) += 1;
    }
    free(results);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
