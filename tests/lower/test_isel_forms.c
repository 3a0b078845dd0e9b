/* Each statement of isel_forms.txt in a kernel of its own: what selection makes of it must do to registers
 * and memory what the PTX reference interpreter does, at -O0 and -O2. Operands are edge values and random
 * ones, another set for each of 96 threads.
 *   test_isel_forms FORMS           on the SIMT machine, for bru1
 *   test_isel_forms FORMS jit       on it, compiled at the first execution. Exit status 77: no libLLVM
 *   test_isel_forms FORMS stencil   on it, as stencils from the first execution on. Exit status 77: none for
 *                                   this host
 *   test_isel_forms FORMS gpu       on a card, compiled for it; gpu-ptx: compiled by the CUDA driver, so that
 *                                   it judges the reference interpreter. Statements that are not for this
 *                                   card are counted. Exit status 77: no card
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "base/file.h"
#include "check/validate/compare/diff.h"
#include "tools/jobs/driver.h"
#include <inttypes.h>
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
            put(&at, k < 6 ? ~any16(&s) : any16(&s), 2); /* %h are inverted */
        put(&at, rng_next(&s) & 0xff, 4);
    }
}

/* ---- the kernel ---- */

/* What the kernel has of the registers: all, so that none may change, or those that the statement names and
 * of each kind one more, another one each time: of what is compiled once for a statement, the others would be
 * most. */
typedef struct {
    const char *named; /* NULL: all */
    unsigned more;
} Has;

static bool has_register(const Has *has, char kind, unsigned k) {
    char name[8];
    snprintf(name, sizeof name, "%%%c%u", kind, k + 1);
    return !has->named || k == has->more % 6 || strstr(has->named, name);
}

/* %h are results of 16 bits, whose registers hold something above them; %w are as loaded. */
static void registers(FILE *f, const Has *has, bool store) {
    for (unsigned k = 0; k < 6; k++) {
        static const struct {
            char reg;
            unsigned bits, at;
        } r[] = {{'r', 32, 0}, {'f', 32, 24}, {'l', 64, 48}, {'d', 64, 96}, {'h', 16, 144}, {'w', 16, 156}};
        for (unsigned n = 0; n < 6; n++) {
            unsigned at = r[n].at + k * r[n].bits / 8;
            if (!has_register(has, r[n].reg, k))
                continue;
            if (store)
                fprintf(f, "st.global.b%u [b+%u], %%%c%u; ", r[n].bits, at, r[n].reg, k + 1);
            else
                fprintf(f, "ld.global.b%u %%%c%u, [a+%u]; ", r[n].bits, r[n].reg, k + 1, at);
            if (!store && r[n].reg == 'h')
                fprintf(f, "not.b16 %%h%u, %%h%u; ", k + 1, k + 1);
        }
    }
}

/* Where the statements run; their .version and .target. */
typedef struct {
    DiffOther other;
    const Target *target; /* NULL: the default */
    const char *head;
    unsigned levels[2];
    bool compiles;
    MachineStencils stencils;    /* instead of libLLVM */
    uint64_t executed, compiled; /* launches, and those that executed compiled code */
    bool skipped;                /* there is nothing that compiles */
} Place;

static char *kernel_text(const char *head, const char *statement, const Has *has) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    fprintf(f,
            "%s\n.address_size 64\n"
            ".visible .entry k(.param .u64 pin, .param .u64 pout) {\n"
            ".reg .pred %%p<8>; .reg .b16 %%h<8>; .reg .b32 %%r<8>; .reg .b64 %%l<8>; .reg .f32 %%f<8>; .reg "
            ".f64 %%d<8>;\n"
            ".reg .b16 %%w<8>; .reg .b64 a, b, o; .reg .b32 t, u, m; .reg .pred z;\n"
            "ld.param.u64 a, [pin]; ld.param.u64 b, [pout]; mov.u32 t, %%tid.x; mov.u32 u, %%ctaid.x;\n"
            "mad.lo.u32 t, u, 32, t; mul.wide.u32 o, t, %d; add.u64 a, a, o; add.u64 b, b, o;\n",
            head, STRIDE);
    registers(f, has, false);
    fprintf(f, "ld.global.b32 m, [a+168];\n");
    for (unsigned k = 0; k < 7; k++)
        fprintf(f, "and.b32 u, m, %u; setp.ne.u32 %%p%u, u, 0; ", 1u << k, k + 1);
    fprintf(f, "\n%s\nmov.b32 m, 0; ", statement);
    for (unsigned k = 0; k < 7; k++)
        fprintf(f, "selp.b32 u, %u, 0, %%p%u; or.b32 m, m, u; ", 1u << k, k + 1);
    registers(f, has, true);
    fprintf(f, "st.global.b32 [b+168], m;\nret; }\n");
    fclose(f);
    return text;
}

/* ---- comparison ---- */

typedef enum { SAME, DIFFERENT, NOT_FOR_IT } Outcome;

static Outcome run(Place *place, const PtxModule *m, unsigned level, const uint8_t *input, Diags *d) {
    Compilation c = {0};
    DriverOptions opt = {.target = place->target, .opt_level = level, .passes = {.verify = true}};
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
    DiffOptions how = {.no_trace = true, .other = place->other};
    if (place->compiles)
        how.machine.jit = machine_jit_open(
            &(MachineJitOptions){.after = 1, .quick = !place->stencils, .stencils = place->stencils});
    ok = b && diff_validate(&p, m, b, &how, &r, d);
    place->executed++;
    if (place->compiles) {
        const MachineJitStats *stats = machine_jit_stats(how.machine.jit);
        place->compiled += stats->executed != 0;
        place->skipped = strstr(stats->failed, "no libLLVM of") || strstr(stats->failed, "not on this host");
        machine_jit_close(how.machine.jit);
    }
    if (ok && !r.equal) {
        char *text = diff_report_text(&r, &p);
        printf("  -O%u %s", level, text ? text : "differs\n");
        free(text);
    }
    bool misuse = r.ptx_trap.kind == TRAP_COLLECTIVE; /* a card has no word for it */
    binary_free(b);
    driver_free(&c);
    plan_free(&p);
    return place->other.engine != DIFF_MACHINE && misuse ? NOT_FOR_IT : ok && r.equal ? SAME : DIFFERENT;
}

static void silent(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

/* Does it compile for the place? Everything does for bru1. (A statement that reads the bytes of addresses is
 * not for a card either, see test.) */
static bool is_for(const Place *place, const PtxModule *m) {
    Compilation c = {0};
    Diags quiet = {.sink = silent};
    bool ok = m && driver_compile(&c, m, &(DriverOptions){.target = place->target}, &quiet);
    driver_free(&c);
    return ok;
}

static Outcome test(Place *place, const char *statement, const uint8_t *input) {
    const Has has = {place->compiles ? statement : NULL, (unsigned)place->executed};
    char *text = kernel_text(place->head, statement, &has);
    bool card = place->other.engine != DIFF_MACHINE;
    Diags d = {.sink = card ? silent : diag_print_sink, .user = stdout};
    PtxModule *m = ptx_parse("statement", text, strlen(text), &d);
    Outcome out = m ? SAME : DIFFERENT;
    if (card && (!is_for(place, m) || strstr(statement, "[pin") || strstr(statement, "%smid") ||
                 strstr(statement, "%total_smem")))
        out = NOT_FOR_IT;
    d.sink = diag_print_sink;
    for (unsigned i = 0; i < 2 && out == SAME; i++)
        if (i == 0 || place->levels[i] != place->levels[0])
            out = run(place, m, place->levels[i], input, &d);
    if (out == DIFFERENT)
        printf("FAILED: %s\n", statement);
    ptx_free(m);
    free(text);
    return out;
}

/* False: there is no card. */
static bool choose(Place *place, const char *engine, Diags *d) {
    GpuDevice device;
    static char head[64];
    *place = (Place){.head = ".version 8.8\n.target sm_100a", .levels = {0, 2}};
    if (engine && strcmp(engine, "stencil") == 0)
        place->stencils = MACHINE_STENCILS_ONLY;
    if (engine && (place->stencils || strcmp(engine, "jit") == 0))
        return place->compiles = true;
    if (!engine)
        return true;
    place->other.engine = strcmp(engine, "gpu") == 0 ? DIFF_CARD : DIFF_CARD_PTX;
    if (place->other.engine == DIFF_CARD_PTX)
        place->levels[0] = place->levels[1] = 0; /* of the binary that is not run */
    if (!gpu_device(&device, d) || !device.target)
        return false;
    place->target = device.target;
    snprintf(head, sizeof head, ".version 8.0\n.target %s", isa_target_name(device.target));
    place->head = head;
    return true;
}

int main(int argc, char **argv) {
    static uint8_t input[THREADS * STRIDE];
    Arena a = {0};
    Diags d = {.sink = diag_print_sink, .user = stderr};
    Place place;
    char *text;
    size_t size;
    unsigned n[3] = {0};
    if (argc < 2 || argc > 3)
        return 2;
    if (!choose(&place, argv[2], &d))
        return 77;
    if (!file_read(&a, argv[1], &d, &text, &size))
        return 2;
    make_input(input);
    unsigned turn = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (*line != '#' && !place.skipped) {
            if (place.compiles) /* for seconds, the same operations at both levels */
                place.levels[0] = place.levels[1] = turn++ % 2 ? 2 : 0;
            n[test(&place, line, input)]++;
        }
    if (place.skipped)
        return 77;
    printf("%u of %u statements failed, %u are not for this card\n", n[DIFFERENT], n[SAME] + n[DIFFERENT],
           n[NOT_FOR_IT]);
    if (place.compiles)
        printf("compiled code executed in %" PRIu64 " of %" PRIu64 " launches\n", place.compiled,
               place.executed);
    arena_free(&a);
    return (place.compiles && place.compiled != place.executed) || n[DIFFERENT] || n[SAME] < n[NOT_FOR_IT];
}
