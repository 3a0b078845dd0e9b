/* Every value instruction, compiled and run on the machine at -O0 and -O3, and interpreted, on edge values
 * times edge values and random ones, against host C and MPFR (host.h). A row of rows_*.def is
 *
 *   VALUE(name, where the result is, PTX, operands, expected value as host C of the operands' bits a b c d)
 *
 *   result     R 32-bit register, D 64, H 16, F f32, G f64, P predicate
 *   PTX        $d the result, $e another register of its kind, $1 to $4 the operands, %g and %s 16 bytes of
 * the thread's own in global and in shared memory, %x the generic address of the latter operands   a letter
 * each. R D H F G: a register, or an immediate; B as R, but immediates of 8 bits; W a register of 32 bits;
 * h b: f16 and bf16 in 16 bits, x y: two of them in 32; P predicate, L an immediate of 8 bits, in all its
 * values
 *
 * The statement is made once with registers; once for each operand and immediate of a list; and with
 * immediates alone, which the compiler may compute. All these stand in one kernel: a variant reads no result
 * of another. A form of ptx_forms.def that is compiled and has neither a row nor a line in exempt.def is a
 * failure, so is a line that no form needs. test_values [TARGET [PART OF A ROW'S NAME]]       for another
 * target: the rows that it has SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "frontend/forms.h"
#include "host.h"
#include "sim/interp/interp.h"
#include "sim/machine/machine.h"
#include "tools/jobs/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under sanitizers a sample of the rows. */
#ifdef HEDDLE_SANITIZED
enum { STEP = 12 };
#else
enum { STEP = 1 };
#endif
enum { VECTORS = 640, BLOCK = 64, MAX_VARIANTS = 400, CONSTANTS = 20 };
typedef u64 Expected(u64 a, u64 b, u64 c, u64 d);

/* Rows are written for people: their macros nest, and their arithmetic mixes widths on purpose. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wtype-limits"
#define VALUE(name, result, ptx, operands, expr)                                                             \
    static u64 expect_##name(u64 a, u64 b, u64 c, u64 d) {                                                   \
        (void)a, (void)b, (void)c, (void)d;                                                                  \
        return (u64)(expr);                                                                                  \
    }
#include "rows.def"
#undef VALUE
#pragma GCC diagnostic pop

typedef struct {
    const char *name, *result, *ptx, *operands;
    Expected *expected;
} Row;
static const Row rows[] = {
#define VALUE(name, result, ptx, operands, expr) {#name, result, ptx, operands, expect_##name},
#include "rows.def"
#undef VALUE
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- operands ---- */

static const u64 edges_int[] = {0,
                                1,
                                2,
                                3,
                                7,
                                8,
                                31,
                                32,
                                33,
                                63,
                                64,
                                65,
                                127,
                                128,
                                255,
                                256,
                                0x7fff,
                                0x8000,
                                0xffff,
                                0x7fffffff,
                                0x80000000,
                                0xfffffffe,
                                0xffffffff,
                                0x100000000,
                                0x7fffffffffffffff,
                                0x8000000000000000,
                                0xfffffffffffffffe,
                                0xffffffffffffffff};
static const u64 edges_f32[] = {0,          0x80000000, 1,          0x807fffff, 0x800000,   0x3f800000,
                                0xbf800000, 0x3f7fffff, 0x40000000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                0xff800000, 0x7fc00000, 0xff800001, 0x4f000000, 0xcf000000, 0x5f800000,
                                0x33800000, 0x477fe000, 0x477ff000, 0x38800000, 0x3fc00000, 0xc0200000,
                                0x3f000001, 0x7e800001};
static const u64 edges_f64[] = {0,
                                1ull << 63,
                                1,
                                0x800fffffffffffff,
                                0x0010000000000000,
                                0x3ff0000000000000,
                                0xbff0000000000000,
                                0x3fefffffffffffff,
                                0x7fefffffffffffff,
                                0x7ff0000000000000,
                                0xfff0000000000000,
                                0x7ff8000000000000,
                                0xfff0000000000001,
                                0x41dfffffffe00000,
                                0x41f0000000000000,
                                0x43e0000000000000,
                                0xc3e0000000000000,
                                0x43f0000000000000,
                                0x36a0000000000000,
                                0x380fffffe0000000,
                                0x47efffffe0000000,
                                0x47effffff0000000,
                                0x3ff8000000000000,
                                0xc004000000000000,
                                0x40effc0000000000,
                                0x3ff0000010000000};
static const u64 edges_f16[] = {0,      0x8000, 1,      0x83ff, 0x400,  0x3c00, 0xbc00,
                                0x3bff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfc01,
                                0x3555, 0x4248, 0x4000, 0x3801, 0x1400, 0x6400, 0x7800};
static const u64 edges_bf16[] = {0,      0x8000, 1,      0x807f, 0x80,   0x3f80, 0xbf80,
                                 0x3f7f, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xff81,
                                 0x3eab, 0x4049, 0x4000, 0x3f01, 0x3380, 0x4f00, 0x7e80};
static const u64 immediates_int[] = {0,
                                     1,
                                     2,
                                     3,
                                     5,
                                     7,
                                     8,
                                     10,
                                     16,
                                     31,
                                     32,
                                     33,
                                     64,
                                     100,
                                     255,
                                     256,
                                     0x1000,
                                     0x7fff,
                                     0x8000,
                                     0xffff,
                                     0x10000,
                                     0x40000000,
                                     0x7fffffff,
                                     0x80000000,
                                     0xfffffffe,
                                     0xffffffff,
                                     0x100000000,
                                     0x123456789abcdef0,
                                     0x8000000000000000,
                                     0xffffffffffffffff};
enum { BYTES = 15 }; /* the first of them that are not greater than 255 */
#define LIST(a) (a), sizeof(a) / sizeof *(a)

typedef struct {
    char kind;
    unsigned bits;
    const u64 *edges;
    unsigned nedges;
    const u64 *immediates; /* NULL: a register only */
    unsigned nimmediates;
    const char *reg, *literal;
} Kind;
static const Kind kinds[] = {
    {'R', 32, LIST(edges_int), LIST(immediates_int), "%%r%u", "0x%llx"},
    {'B', 32, LIST(edges_int), immediates_int, BYTES, "%%r%u", "0x%llx"},
    {'W', 32, LIST(edges_int), NULL, 0, "%%r%u", NULL},
    {'D', 64, LIST(edges_int), LIST(immediates_int), "%%rd%u", "0x%llx"},
    {'H', 16, LIST(edges_int), LIST(immediates_int), "%%h%u", "0x%llx"},
    {'F', 32, LIST(edges_f32), LIST(edges_f32), "%%f%u", "0f%08llx"},
    {'G', 64, LIST(edges_f64), LIST(edges_f64), "%%fd%u", "0d%016llx"},
    {'h', 16, LIST(edges_f16), NULL, 0, "%%h%u", NULL},
    {'b', 16, LIST(edges_bf16), NULL, 0, "%%h%u", NULL},
    {'x', 32, LIST(edges_f16), NULL, 0, "%%r%u", NULL},
    {'y', 32, LIST(edges_bf16), NULL, 0, "%%r%u", NULL},
    {'P', 1, LIST(edges_int), NULL, 0, "%%p%u", NULL},
    {'L', 8, LIST(edges_int), NULL, 0, NULL, "0x%llx"},
};
static const Kind *kind_of(char letter) {
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == letter)
            return &kinds[i];
    fprintf(stderr, "no kind %c\n", letter);
    exit(2);
}
static u64 cut(u64 v, unsigned bits) { return bits == 64 ? v : v & ((1ull << bits) - 1); }
static u64 edge(const Kind *kind, u64 index, u64 *seed) {
    u64 v = kind->edges[index % kind->nedges];
    if (kind->kind == 'x' || kind->kind == 'y')
        v |= kind->edges[rng_next(seed) % kind->nedges] << 16;
    return cut(v, kind->bits);
}

/* Halfway between two numbers of a narrower format, or next to it: where a second rounding shows. */
static u64 near_tie(const Kind *kind, u64 *seed) {
    static const unsigned precisions[] = {8, 11, 24, 53}, f32_cuts[] = {13, 16}, f64_cuts[] = {29, 42, 45};
    u64 random = rng_next(seed), bits = rng_next(seed), tie;
    if (kind->kind == 'F' || kind->kind == 'G') {
        unsigned cut_at = kind->kind == 'F' ? f32_cuts[random % 2] : f64_cuts[random % 3];
        u64 exponent = kind->kind == 'F' ? 0x38000000 + (random >> 8) % 0x10000000
                                         : 0x3f00000000000000 + (random >> 8) % 0x20000000000000;
        tie = (((exponent ^ (bits & (kind->kind == 'F' ? 0x807fffff : 0x800fffffffffffff))) >> cut_at)
               << cut_at) |
              1ull << (cut_at - 1);
    } else {
        unsigned precision = precisions[random % 4], width = precision + 1 + (unsigned)((random >> 8) % 40);
        if (width > kind->bits)
            width = kind->bits;
        if (width <= precision)
            return cut(bits, kind->bits);
        tie = ((bits >> (64 - precision) | 1ull << (precision - 1)) << 1 | 1) << (width - precision - 1);
    }
    return cut(tie + (random >> 16) % 3 - 1, kind->bits);
}

static u64 any_operand(const Kind *kind, const u64 *others, unsigned i, u64 *seed) {
    u64 random = rng_next(seed);
    switch (random % 5) {
    case 0: return cut(rng_next(seed), kind->bits);
    case 1:
        if (i && kind->bits >= 16) /* near another one */
            return cut(others[i - 1] + (random >> 8) % 3 - 1, kind->bits);
        break;
    case 2:
        if (kind->kind != 'F' && kind->kind != 'G')
            return cut(rng_next(seed), kind->bits) >> (random >> 8) % kind->bits;
        break;
    case 3:
        if (kind->bits >= 32)
            return near_tie(kind, seed);
        break;
    default: break;
    }
    return edge(kind, random >> 8, seed);
}

/* Operands of vector v: the first two from all pairs of edges, as many as there is room for; then at random.
 */
static void operands_of(const Row *row, unsigned v, u64 out[4]) {
    u64 seed = v * 0x9e3779b97f4a7c15 + 1;
    unsigned n = (unsigned)strlen(row->operands);
    const Kind *first = kind_of(row->operands[0]), *second = n > 1 ? kind_of(row->operands[1]) : NULL;
    u64 pairs = (u64)first->nedges * (second ? second->nedges : 1),
        limit = pairs < VECTORS - 128 ? pairs : VECTORS - 128;
    /* of more pairs than fit, each row takes others */
    u64 pair = (v + (pairs > limit ? (u64)strlen(row->ptx) * 37 : 0)) % pairs;
    rng_next(&seed);
    memset(out, 0, 4 * sizeof *out);
    for (unsigned i = 0; i < n; i++) {
        const Kind *kind = kind_of(row->operands[i]);
        out[i] = v < limit && i < 2 ? edge(kind, i ? pair / first->nedges : pair, &seed)
                                    : any_operand(kind, out, i, &seed);
    }
}

/* ---- the kernel ---- */

typedef struct {
    u64 value[4];
    bool fixed[4]; /* an immediate */
} Variant;
typedef struct {
    const Row *row;
    Variant at[MAX_VARIANTS];
    unsigned n;
    bool has_registers; /* variant 0 has no immediate */
} Variants;

static Variant *add_variant(Variants *variants) {
    if (variants->n == MAX_VARIANTS)
        exit(3);
    variants->at[variants->n] = (Variant){0};
    return &variants->at[variants->n++];
}

static void make_variants(Variants *variants, const Row *row) {
    unsigned n = (unsigned)strlen(row->operands), fixable = 0;
    *variants = (Variants){.row = row};
    int table = -1; /* the operand that is always an immediate */
    for (unsigned i = 0; i < n; i++) {
        table = row->operands[i] == 'L' ? (int)i : table;
        fixable += kind_of(row->operands[i])->immediates != NULL;
    }
    for (unsigned v = 0; v < (table < 0 ? 1 : 256); v++) {
        Variant *variant = add_variant(variants);
        if (table >= 0) {
            variant->fixed[table] = true;
            variant->value[table] = v;
        }
    }
    u64 seed = 77;
    for (unsigned i = 0; i < n; i++) {
        const Kind *kind = kind_of(row->operands[i]);
        u64 last = 0;
        for (unsigned k = 0; k < kind->nimmediates; k++) {
            u64 value = cut(kind->immediates[k], kind->bits);
            if (k && value <= last && kind->kind != 'F' && kind->kind != 'G')
                continue; /* cut to one that was there */
            last = value;
            Variant *variant = add_variant(variants);
            variant->fixed[i] = true;
            variant->value[i] = value;
            if (table >= 0) {
                variant->fixed[table] = true;
                variant->value[table] = rng_next(&seed) & 0xff;
            }
        }
    }
    for (unsigned k = 0; fixable && k < CONSTANTS; k++) {
        Variant *variant = add_variant(variants);
        u64 values[4];
        operands_of(row, (unsigned)(rng_next(&seed) % VECTORS), values);
        for (unsigned i = 0; i < n; i++) {
            const Kind *kind = kind_of(row->operands[i]);
            variant->fixed[i] = kind->literal != NULL;
            variant->value[i] = kind->kind == 'L'   ? rng_next(&seed) & 0xff
                                : kind->kind == 'B' ? values[i] & 0xff
                                                    : values[i];
        }
    }
}

static const char *result_register(char kind, bool second) {
    switch (kind) {
    case 'R': return second ? "%r11" : "%r10";
    case 'D': return second ? "%rd11" : "%rd10";
    case 'H': return second ? "%h11" : "%h10";
    case 'F': return second ? "%f11" : "%f10";
    case 'G': return second ? "%fd11" : "%fd10";
    default: return second ? "%p11" : "%p10";
    }
}
static unsigned result_bits(char kind) {
    return kind == 'P' ? 1 : kind == 'H' ? 16 : kind == 'R' || kind == 'F' ? 32 : 64;
}

static void put_statement(FILE *f, const Row *row, const Variant *variant) {
    for (const char *p = row->ptx; *p; p++) {
        if (*p != '$') {
            fputc(*p, f);
            continue;
        }
        p++;
        if (*p == 'd' || *p == 'e') {
            fputs(result_register(*row->result, *p == 'e'), f);
            continue;
        }
        unsigned i = (unsigned)(*p - '1');
        const Kind *kind = kind_of(row->operands[i]);
        if (variant->fixed[i])
            fprintf(f, kind->literal, (unsigned long long)variant->value[i]);
        else
            fprintf(f, kind->reg, i + 1);
    }
}

static void put_store(FILE *f, char kind, unsigned at) {
    switch (kind) {
    case 'P': fprintf(f, " selp.b64 %%rd10, 1, 0, %%p10;"); break;
    case 'H': fprintf(f, " cvt.u64.u16 %%rd10, %%h10;"); break;
    case 'R': fprintf(f, " cvt.u64.u32 %%rd10, %%r10;"); break;
    case 'F': fprintf(f, " mov.b32 %%r10, %%f10; cvt.u64.u32 %%rd10, %%r10;"); break;
    case 'G': fprintf(f, " mov.b64 %%rd10, %%fd10;"); break;
    default: break;
    }
    fprintf(f, " st.global.u64 [%%o+%u], %%rd10;\n", at * 8);
}

/* `all`: with what loads, stores and the addresses; else the first variant alone, to see its forms. */
static char *kernel_text(const Variants *variants, const char *head, bool all) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    fprintf(f,
            "%s\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 own) {\n"
            ".reg .pred %%p<12>; .reg .b16 %%h<12>; .reg .b32 %%r<12>, %%t, %%n; .reg .f32 %%f<12>; .reg "
            ".b64 %%rd<12>, %%i, %%o, %%g, "
            "%%s, %%x; .reg .f64 %%fd<12>;\n.shared .align 16 .b8 area[%u];\n",
            head, BLOCK * 16);
    if (all) {
        fprintf(f,
                "mov.u32 %%n, %%tid.x; mov.u64 %%s, area; mad.wide.u32 %%s, %%n, 16, %%s; cvta.shared.u64 "
                "%%x, %%s;\n"
                "mov.u32 %%t, %%ctaid.x; mad.lo.u32 %%t, %%t, %u, %%n;\n"
                "ld.param.u64 %%i, [in]; ld.param.u64 %%o, [out]; ld.param.u64 %%g, [own];\n"
                "mad.wide.u32 %%i, %%t, 32, %%i; mad.wide.u32 %%o, %%t, %u, %%o; mad.wide.u32 %%g, %%t, 16, "
                "%%g;\n",
                BLOCK, variants->n * 8);
        for (unsigned i = 1; i <= 4; i++)
            fprintf(f,
                    "ld.global.u64 %%rd%u, [%%i+%u]; cvt.u32.u64 %%r%u, %%rd%u; cvt.u16.u64 %%h%u, %%rd%u; "
                    "mov.b32 %%f%u, %%r%u;\n"
                    "mov.b64 %%fd%u, %%rd%u; and.b32 %%n, %%r%u, 1; setp.ne.u32 %%p%u, %%n, 0;\n",
                    i, (i - 1) * 8, i, i, i, i, i, i, i, i, i, i);
    }
    for (unsigned v = 0; v < (all ? variants->n : 1); v++) {
        put_statement(f, variants->row, &variants->at[v]);
        if (all)
            put_store(f, *variants->row->result, v);
        fputc('\n', f);
    }
    fprintf(f, "%s}\n", all ? "ret; " : "");
    fclose(f);
    return text;
}

/* ---- running ---- */

/* In memory an operand has other bits above its own: they are in the machine's register too, and no reader
 * may take them for a part of the value. */
static u64 inputs[VECTORS * 4], memory[VECTORS * 4], *expected, *got;
static void silent(void *user, Severity severity, const char *line) {
    if (severity == SEV_ERROR && user)
        snprintf(user, 400, "%s", line);
}

static void compute_expected(const Variants *variants) {
    unsigned bits = result_bits(*variants->row->result);
    for (unsigned t = 0; t < VECTORS; t++)
        for (unsigned v = 0; v < variants->n; v++) {
            u64 x[4];
            for (unsigned i = 0; i < 4; i++)
                x[i] = variants->at[v].fixed[i] ? variants->at[v].value[i] : inputs[t * 4 + i];
            expected[t * variants->n + v] = cut(variants->row->expected(x[0], x[1], x[2], x[3]), bits);
        }
}

static bool compare(const Variants *variants, const char *engine) {
    for (unsigned i = 0; i < VECTORS * variants->n; i++) {
        unsigned t = i / variants->n, v = i % variants->n;
        if (got[i] == expected[i])
            continue;
        const Variant *variant = &variants->at[v];
        printf("%s, %s: ", variants->row->name, engine);
        put_statement(stdout, variants->row, variant);
        for (unsigned k = 0; variants->row->operands[k]; k++)
            printf(" $%u = 0x%llx%s", k + 1,
                   (unsigned long long)(variant->fixed[k] ? variant->value[k] : inputs[t * 4 + k]),
                   variant->fixed[k] ? " (immediate)" : "");
        printf(": 0x%llx, expected 0x%llx\n", (unsigned long long)got[i], (unsigned long long)expected[i]);
        return false;
    }
    return true;
}

/* binary NULL: the interpreter */
static bool run(const Variants *variants, const PtxModule *m, const Binary *binary, MachineMufuUlp ulp,
                const char *engine, Diags *d) {
    SimMemory *mem = simmem_create();
    u64 bytes = (u64)VECTORS * variants->n * 8;
    u64 params[3] = {simmem_alloc(mem, "in", sizeof memory), simmem_alloc(mem, "out", bytes),
                     simmem_alloc(mem, "own", VECTORS * 16)};
    simmem_write(mem, params[0], memory, sizeof memory);
    Launch l = {.grid = {VECTORS / BLOCK, 1, 1},
                .block = {BLOCK, 1, 1},
                .params = (const uint8_t *)params,
                .param_bytes = sizeof params};
    bool ok;
    SimTrap trap;
    if (binary) {
        MachineResult res = {0};
        MachineOptions options = {.mufu_ulp = ulp};
        ok = machine_run(binary, "k", &l, mem, &options, &res, d);
        trap = res.trap;
        machine_result_free(&res);
    } else {
        PtxRunResult res = {0};
        ok = interp_place_variables(m, mem, d) && interp_run(m, "k", &l, mem, NULL, &res, d);
        trap = res.trap;
    }
    ok = ok && trap.kind == TRAP_NONE && simmem_read(mem, params[1], got, bytes);
    if (!ok)
        printf("%s, %s: does not run: %s %s\n", variants->row->name, engine, sim_trap_name(trap.kind),
               trap.text);
    simmem_free(mem);
    return ok && compare(variants, engine);
}

static bool covered[2000];

/* Marks the forms of the row's own statements. */
static bool mark_forms(const Variants *variants, const char *head) {
    char *text = kernel_text(variants, head, false), error[400] = "";
    Diags d = {.sink = silent, .user = error};
    PtxModule *m = ptx_parse(variants->row->name, text, strlen(text), &d);
    for (uint32_t i = 0; m && i < m->funcs[0].ninsns; i++)
        covered[m->funcs[0].insns[i].form] = true;
    if (!m)
        printf("%s: %s\n%s\n", variants->row->name, error, text);
    ptx_free(m);
    free(text);
    return m != NULL;
}

typedef enum { RIGHT, WRONG, NOT_FOR_TARGET } Outcome;

/* Quotients and remainders of integers are right wherever in its bound MUFU.RCP is. */
static bool is_quotient(const Row *row) {
    return (strncmp(row->name, "div_", 4) == 0 || strncmp(row->name, "rem_", 4) == 0) &&
           strchr("HRD", *row->result);
}

static Outcome test_row(const Row *row, const Target *target, const char *head) {
    static Variants variants;
    u64 others_seed = 5;
    make_variants(&variants, row);
    for (unsigned t = 0; t < VECTORS; t++) {
        operands_of(row, t, &inputs[t * 4]);
        for (unsigned i = 0; i < 4; i++) {
            unsigned bits = i < strlen(row->operands) ? kind_of(row->operands[i])->bits : 64;
            u64 others = t % 4 ? rng_next(&others_seed) : 0;
            memory[t * 4 + i] = inputs[t * 4 + i] | (bits < 64 ? others << bits : 0);
        }
    }
    if (!target && !mark_forms(&variants, head))
        return WRONG;
    char *text = kernel_text(&variants, head, true), error[400] = "";
    Diags d = {.sink = silent, .user = error};
    PtxModule *m = ptx_parse(row->name, text, strlen(text), &d);
    Outcome outcome = m ? RIGHT : target ? NOT_FOR_TARGET : WRONG;
    if (m)
        compute_expected(&variants);
    if (m && !target && !run(&variants, m, NULL, MACHINE_MUFU_EXACT, "interpreter", &d))
        outcome = WRONG;
    for (unsigned level = 0; m && level <= 3 && outcome == RIGHT; level += 3) {
        Compilation c = {0};
        DriverOptions options = {.target = target, .opt_level = level, .passes = {.verify = true}};
        Binary *binary =
            driver_compile(&c, m, &options, &d) ? binary_read("kernel", c.image, c.image_bytes, &d) : NULL;
        if (!binary)
            outcome = target && strstr(error, "E0702") ? NOT_FOR_TARGET : WRONG;
        else if (!run(&variants, m, binary, MACHINE_MUFU_EXACT, level ? "-O3" : "-O0", &d))
            outcome = WRONG;
        for (unsigned ulp = 1; outcome == RIGHT && level && is_quotient(row) && ulp <= MACHINE_MUFU_2_LESS;
             ulp++)
            if (!run(&variants, m, binary, (MachineMufuUlp)ulp, "-O3, mufu-ulp", &d))
                outcome = WRONG;
        binary_free(binary);
        driver_free(&c);
    }
    if (outcome == WRONG && *error)
        printf("%s: %s\n", row->name, error);
    ptx_free(m);
    free(text);
    return outcome;
}

/* ---- forms without a row ---- */

#define PTX_FORM(op, mods, operands, select, ...) #select,
#define SELECT(x) x
static const char *const selected[] = {
    "",
#include "frontend/ptx_forms.def"
};
#undef SELECT

static const struct {
    PtxOp op;
    const char *mods, *reason;
} exempt[] = {
#define EXEMPT(op, mods, reason) {PTX_##op, mods, reason},
#include "exempt.def"
#undef EXEMPT
};
enum { EXEMPTIONS = sizeof exempt / sizeof *exempt };

static unsigned check_forms(void) {
    unsigned failures = 0;
    bool used[EXEMPTIONS] = {0};
    for (unsigned form = 1; form < form_count(); form++) {
        if (strstr(selected[form], "ABSENT"))
            continue;
        bool excused = false;
        for (unsigned i = 0; i < EXEMPTIONS && !covered[form]; i++)
            if (exempt[i].op == form_op(form) && strstr(form_mods(form), exempt[i].mods))
                excused = used[i] = true;
        if (!covered[form] && !excused) {
            printf("no row for %s %s (PTX ISA %s): add one to tests/values/rows_*.def\n",
                   ptx_op_name(form_op(form)), form_mods(form), form_section(form));
            failures++;
        }
    }
    for (unsigned i = 0; i < EXEMPTIONS; i++)
        if (!used[i]) {
            printf("exempt.def: no form of %s needs \"%s\"\n", ptx_op_name(exempt[i].op), exempt[i].mods);
            failures++;
        }
    return failures;
}

int main(int argc, char **argv) {
    const Target *target = argc > 1 && *argv[1] ? isa_target(argv[1]) : NULL;
    const char *part = argc > 2 ? argv[2] : "";
    char head[64] = ".version 8.8\n.target sm_100a";
    unsigned count[3] = {0}, failures = 0;
    if (argc > 1 && *argv[1] && !target)
        return 2;
    if (target)
        snprintf(head, sizeof head, ".version 8.8\n.target %s", argv[1]);
    expected = malloc(sizeof(u64) * VECTORS * MAX_VARIANTS);
    got = malloc(sizeof(u64) * VECTORS * MAX_VARIANTS);
    if (!expected || !got)
        return 3;
    for (unsigned i = 0; i < ROWS; i += STEP)
        if (strstr(rows[i].name, part))
            count[test_row(&rows[i], target, head)]++;
    if (!target && !*part && STEP == 1)
        failures = check_forms();
    printf("%u rows right, %u wrong, %u not for this target; %u forms without a row\n", count[RIGHT],
           count[WRONG], count[NOT_FOR_TARGET], failures);
    free(expected);
    free(got);
    return count[WRONG] || failures || count[RIGHT] < count[NOT_FOR_TARGET];
}
