/* Each statement of isel_forms.txt in a kernel of its own: what selection makes of it must do to registers
 * and memory what the PTX reference interpreter does, at -O0 and -O2. Operands are edge values and random
 * ones, another set for each of 96 threads.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "base/file.h"
#include "check/validate/diff.h"
#include "tools/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 96, STRIDE = 176 };

/* ---- input ---- */

static const uint32_t edge32[] = {
    0,      1,      2,       3,          5,          7,          8,          15,         16,        31,
    32,     33,     63,      64,         65,         127,        128,        255,        256,       0x7fff,
    0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0xffff0000};
static const uint32_t edge_f32[] = {0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x800000,
                                    0x3f800000, 0xbf800000, 0x3f7fffff, 0x40000000, 0x7f7fffff, 0xff7fffff,
                                    0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x4f000000, 0xcf000000,
                                    0x5f000000, 0x33800000, 0x477fe000, 0x38800000, 0x3f000001, 0x40490fdb,
                                    0x7e800000, 0x7f000000, 0x00400000, 0x3fc00000, 0x40200000, 0xbf000000};
// clang-format off
static const uint64_t edge_f64[] = {0, 1ull << 63, 1, 0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000000,
                                    0xbff0000000000000, 0x3fefffffffffffff, 0x7fefffffffffffff, 0x7ff0000000000000,
                                    0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001, 0x41dfffffffc00000,
                                    0x41e0000000000000, 0x43e0000000000000, 0xc3e0000000000000, 0x36a0000000000000,
                                    0x380fffffe0000000, 0x47efffffe0000000, 0x47effffff0000000, 0x3ff8000000000000};
// clang-format on
static const uint16_t edge16[] = {0,      0x8000, 1,      0x3ff,  0x400,  0x3c00, 0xbc00,
                                  0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3555, 0x4248, 0x7f80,
                                  0x3f80, 0xbf80, 0x7fff, 0x0080, 0x007f};

#define PICK(table, s) ((table)[rng_next(s) % (sizeof(table) / sizeof((table)[0]))])

static uint32_t any32(uint64_t *s) { return rng_next(s) & 1 ? PICK(edge32, s) : (uint32_t)rng_next(s); }
static uint32_t any_f32(uint64_t *s) {
    switch (rng_next(s) & 3) {
    case 0:
    case 1: return PICK(edge_f32, s);
    case 2: return ((uint32_t)rng_next(s) & 0x83ffffff) | 0x3c000000; /* not far from 1 */
    default: return (uint32_t)rng_next(s);
    }
}
static uint64_t any64(uint64_t *s) {
    return rng_next(s) & 1 ? (uint64_t)PICK(edge32, s) << 32 | PICK(edge32, s) : rng_next(s);
}
static uint64_t any_f64(uint64_t *s) {
    switch (rng_next(s) & 3) {
    case 0:
    case 1: return PICK(edge_f64, s);
    case 2: return (rng_next(s) & 0x807fffffffffffff) | 0x3f80000000000000;
    default: return rng_next(s);
    }
}
static uint16_t any16(uint64_t *s) { return rng_next(s) & 1 ? PICK(edge16, s) : (uint16_t)rng_next(s); }

static void put(uint8_t **at, uint64_t v, unsigned bytes) {
    memcpy(*at, &v, bytes); /* little-endian host, as the guest */
    *at += bytes;
}

static void make_input(uint8_t *data) {
    uint64_t s = 5;
    for (unsigned t = 0; t < THREADS; t++) {
        uint8_t *at = data + t * STRIDE;
        for (unsigned k = 0; k < 6; k++)
            put(&at, any32(&s), 4);
        for (unsigned k = 0; k < 6; k++)
            put(&at, any_f32(&s), 4);
        for (unsigned k = 0; k < 6; k++)
            put(&at, any64(&s), 8);
        for (unsigned k = 0; k < 6; k++)
            put(&at, any_f64(&s), 8);
        for (unsigned k = 0; k < 12; k++)
            put(&at, any16(&s), 2);
        put(&at, rng_next(&s) & 0xff, 4);
    }
}

/* ---- the kernel ---- */

static void registers(FILE *f, bool store) {
    for (unsigned k = 0; k < 6; k++) {
        static const struct {
            char reg;
            unsigned bits, at;
        } r[] = {{'r', 32, 0}, {'f', 32, 24}, {'l', 64, 48}, {'d', 64, 96}, {'h', 16, 144}, {'w', 16, 156}};
        for (unsigned n = 0; n < 6; n++) {
            unsigned at = r[n].at + k * r[n].bits / 8;
            if (store)
                fprintf(f, "st.global.b%u [b+%u], %%%c%u; ", r[n].bits, at, r[n].reg, k + 1);
            else
                fprintf(f, "ld.global.b%u %%%c%u, [a+%u]; ", r[n].bits, r[n].reg, k + 1, at);
        }
    }
}

static char *kernel_text(const char *statement) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    fprintf(f,
            ".version 8.8\n.target sm_100a\n.address_size 64\n"
            ".visible .entry k(.param .u64 pin, .param .u64 pout) {\n"
            ".reg .pred %%p<8>; .reg .b16 %%h<8>; .reg .b32 %%r<8>; .reg .b64 %%l<8>; .reg .f32 %%f<8>; .reg "
            ".f64 %%d<8>;\n"
            ".reg .b16 %%w<8>; .reg .b64 a, b, o; .reg .b32 t, u, m; .reg .pred z;\n"
            "ld.param.u64 a, [pin]; ld.param.u64 b, [pout]; mov.u32 t, %%tid.x; mov.u32 u, %%ctaid.x;\n"
            "mad.lo.u32 t, u, 32, t; mul.wide.u32 o, t, %d; add.u64 a, a, o; add.u64 b, b, o;\n",
            STRIDE);
    registers(f, false);
    fprintf(f, "ld.global.b32 m, [a+168];\n");
    for (unsigned k = 0; k < 7; k++)
        fprintf(f, "and.b32 u, m, %u; setp.ne.u32 %%p%u, u, 0; ", 1u << k, k + 1);
    fprintf(f, "\n%s\nmov.b32 m, 0; ", statement);
    for (unsigned k = 0; k < 7; k++)
        fprintf(f, "selp.b32 u, %u, 0, %%p%u; or.b32 m, m, u; ", 1u << k, k + 1);
    registers(f, true);
    fprintf(f, "st.global.b32 [b+168], m;\nret; }\n");
    fclose(f);
    return text;
}

/* ---- comparison ---- */

static bool run(const PtxModule *m, unsigned level, const uint8_t *input, Diags *d) {
    Compilation c = {0};
    DriverOptions opt = {.opt_level = level, .passes = {.verify = true}};
    char buffer[64];
    Plan p = {0};
    DiffReport r = {0};
    *VEC_PUSH(&p.arena, &p.launches) = (PlanLaunch){.grid = {3, 1, 1}, .block = {32, 1, 1}, .repeat = 1};
    snprintf(buffer, sizeof buffer, "buf:u32[%d]=zero", THREADS * STRIDE / 4);
    bool ok = plan_add_arg(&p, buffer, d);
    snprintf(buffer, sizeof buffer, "out:o:u32[%d]=zero", THREADS * STRIDE / 4);
    ok = ok && plan_add_arg(&p, buffer, d);
    if (ok)
        p.buffers.at[0].bytes = input;
    ok = ok && driver_compile(&c, m, &opt, d);
    Binary *b = ok ? binary_read("kernel", c.image, c.image_bytes, d) : NULL;
    ok = b && diff_validate(&p, m, b, &(DiffOptions){.no_trace = true}, &r, d);
    if (ok && !r.equal) {
        char *text = diff_report_text(&r, &p);
        printf("  -O%u %s", level, text ? text : "differs\n");
        free(text);
    }
    binary_free(b);
    driver_free(&c);
    plan_free(&p);
    return ok && r.equal;
}

static bool test(const char *statement, const uint8_t *input) {
    char *text = kernel_text(statement);
    Diags d = {.sink = diag_print_sink, .user = stdout};
    PtxModule *m = ptx_parse("statement", text, strlen(text), &d);
    bool ok = m && run(m, 0, input, &d) && run(m, 2, input, &d);
    if (!ok)
        printf("FAILED: %s\n", statement);
    ptx_free(m);
    free(text);
    return ok;
}

int main(int argc, char **argv) {
    static uint8_t input[THREADS * STRIDE];
    Arena a = {0};
    Diags d = {.sink = diag_print_sink, .user = stderr};
    char *text;
    size_t size;
    unsigned n = 0, failed = 0;
    if (argc != 2 || !file_read(&a, argv[1], &d, &text, &size))
        return 2;
    make_input(input);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (*line != '#') {
            n++;
            failed += !test(line, input);
        }
    printf("%u of %u statements failed\n", failed, n);
    arena_free(&a);
    return failed || !n;
}
