/* Atomics of all threads of a block on one place: what a loop around compare-and-swap loses, a place of one
 * thread never shows. The operands differ in one word only, the upper or the lower, so that a comparison of
 * the other one alone is no use; the operations commute, so that the host can compute the result.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/interp.h"
#include "sim/machine/machine.h"
#include "tools/jobs/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 96 };
typedef uint64_t Combine(uint64_t a, uint64_t b);
static uint64_t add(uint64_t a, uint64_t b) { return a + b; }
static uint64_t min_u(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t max_u(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t min_s(uint64_t a, uint64_t b) { return (int64_t)a < (int64_t)b ? a : b; }
static uint64_t max_s(uint64_t a, uint64_t b) { return (int64_t)a > (int64_t)b ? a : b; }
static uint64_t and_b(uint64_t a, uint64_t b) { return a & b; }
static uint64_t or_b(uint64_t a, uint64_t b) { return a | b; }
static uint64_t xor_b(uint64_t a, uint64_t b) { return a ^ b; }

static const struct {
    const char *op;
    unsigned bits;
    uint64_t start;
    Combine *combine;
} ops[] = {{"add.u64", 64, 5, add},
           {"min.u64", 64, UINT64_MAX, min_u},
           {"max.u64", 64, 0, max_u},
           {"min.s64", 64, INT64_MAX, min_s},
           {"max.s64", 64, (uint64_t)INT64_MIN, max_s},
           {"and.b64", 64, UINT64_MAX, and_b},
           {"or.b64", 64, 0, or_b},
           {"xor.b64", 64, 0x123456789, xor_b},
           {"add.u32", 32, 5, add},
           {"min.s32", 32, INT32_MAX, min_u},
           {"xor.b32", 32, 77, xor_b},
           {"add.noftz.f16x2", 32, 0, NULL},
           {"add.noftz.f16", 16, 0, NULL},
           {"add.f32", 32, 0, NULL},
           {"add.f64", 64, 0, NULL}};

/* Operand of thread t: for floats 1.0 in each part, so that the sum is the number of threads. */
static uint64_t operand(unsigned row, unsigned t, bool high) {
    if (strstr(ops[row].op, "f16x2"))
        return high ? 0x3c000000 : 0x3c00;
    if (ops[row].bits == 16)
        return 0x3c00;
    if (strstr(ops[row].op, ".f"))
        return ops[row].bits == 64 ? 0x3ff0000000000000 : 0x3f800000;
    uint64_t v = (t * 0x9e3779b1u >> 7) & 0x7ffffff;
    if (ops[row].combine == and_b)
        v = ~(1u << t % 31) & 0xffffffffu;
    unsigned at = ops[row].bits == 64 && high ? 32 : 0;
    uint64_t other = at ? 0x55 : ops[row].bits == 64 ? 0x5500000000 : 0;
    return v << at | other;
}

static uint64_t expected(unsigned row, bool high) {
    if (!ops[row].combine)
        return strstr(ops[row].op, "f16x2") ? (high ? 0x56000000 : 0x5600) /* 96 */
               : ops[row].bits == 16        ? 0x5600
               : ops[row].bits == 64        ? 0x4058000000000000
                                            : 0x42c00000;
    uint64_t v = ops[row].start;
    for (unsigned t = 0; t < THREADS; t++)
        v = ops[row].combine(v, operand(row, t, high));
    return ops[row].bits == 64 ? v : (uint32_t)v;
}

static char *kernel_text(unsigned row, const char *space, bool reduce) {
    char *text;
    unsigned bits = ops[row].bits;
    const char *place = strcmp(space, "shared") ? "%o" : "cell", *result = reduce ? "" : "%x, ";
    if (asprintf(&text,
                 ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 in, .param "
                 ".u64 out) {\n"
                 ".shared .align 8 .b64 cell; .reg .b64 %%i, %%o; .reg .b%u %%v, %%x; .reg .b32 %%t; .reg "
                 ".pred %%p;\n"
                 "ld.param.u64 %%i, [in]; ld.param.u64 %%o, [out]; mov.u32 %%t, %%tid.x; mad.wide.u32 %%i, "
                 "%%t, 8, %%i;\n"
                 "ld.global.b%u %%v, [%%i]; setp.ne.u32 %%p, %%t, 0; @%%p bra W; st.%s.b%u [%s], %llu; W: "
                 "bar.sync 0;\n"
                 "%s.%s.%s %s[%s], %%v; bar.sync 0;\n@%%p bra E; ld.%s.b%u %%v, [%s]; st.global.b%u [%%o], "
                 "%%v; E: ret; }\n",
                 bits, bits, space, bits, place, (unsigned long long)ops[row].start, reduce ? "red" : "atom",
                 space, ops[row].op, result, place, space, bits, place, bits) < 0)
        exit(3);
    return text;
}

static void print(void *user, Severity severity, const char *line) {
    (void)user;
    if (severity == SEV_ERROR)
        fputs(line, stdout);
}

/* binary NULL: the interpreter */
static bool run(const PtxModule *m, const Binary *binary, const uint64_t *in, uint64_t want, const char *what,
                Diags *d) {
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {simmem_alloc(mem, "in", THREADS * 8), simmem_alloc(mem, "out", 8)}, got = 0;
    simmem_write(mem, params[0], in, THREADS * 8);
    Launch l = {.grid = {1, 1, 1},
                .block = {THREADS, 1, 1},
                .params = (const uint8_t *)params,
                .param_bytes = sizeof params};
    MachineResult machine = {0};
    PtxRunResult ptx = {0};
    bool ok = binary ? machine_run(binary, "k", &l, mem, NULL, &machine, d)
                     : interp_run(m, "k", &l, mem, &(PtxRunOptions){.seed = 3}, &ptx, d) &&
                           ptx.trap.kind == TRAP_NONE;
    machine_result_free(&machine);
    ok = ok && simmem_read(mem, params[1], &got, 8) && got == want;
    if (!ok)
        printf("%s: 0x%llx, expected 0x%llx\n", what, (unsigned long long)got, (unsigned long long)want);
    simmem_free(mem);
    return ok;
}

static unsigned test(unsigned row, bool high, const char *space, bool reduce) {
    uint64_t in[THREADS], want = expected(row, high);
    char *text = kernel_text(row, space, reduce), what[100];
    Diags d = {.sink = print};
    unsigned wrong = 0;
    for (unsigned t = 0; t < THREADS; t++)
        in[t] = operand(row, t, high);
    snprintf(what, sizeof what, "%s.%s.%s, %s word", reduce ? "red" : "atom", space, ops[row].op,
             high ? "upper" : "lower");
    PtxModule *m = ptx_parse(what, text, strlen(text), &d);
    wrong += !m || !run(m, NULL, in, want, what, &d);
    for (unsigned level = 0; m && level <= 3; level += 3) {
        Compilation c = {0};
        DriverOptions options = {.opt_level = level, .passes = {.verify = true}};
        Binary *binary =
            driver_compile(&c, m, &options, &d) ? binary_read("kernel", c.image, c.image_bytes, &d) : NULL;
        wrong += !binary || !run(m, binary, in, want, what, &d);
        binary_free(binary);
        driver_free(&c);
    }
    ptx_free(m);
    free(text);
    return wrong;
}

int main(void) {
    unsigned wrong = 0, n = 0;
    for (unsigned row = 0; row < sizeof ops / sizeof *ops; row++)
        for (unsigned variant = 0; variant < 8; variant++, n++)
            wrong += test(row, variant & 1, variant & 2 ? "shared" : "global", variant & 4);
    printf("%u kernels, %u wrong\n", n, wrong);
    return wrong != 0;
}
