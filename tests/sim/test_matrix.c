/* mma, ldmatrix, stmatrix, movmatrix: both executions against matrices multiplied here. The fragments are
 * taken from the tables of PTX ISA 9.7.14.5, each shape written out; sums of small integers must be exact,
 * others within the bound that docs/numerics.md states, and the machine equal to the interpreter bit by bit.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <heddle.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32 };
typedef enum { F16, BF16, TF32, F64, S8, U8, S4, U4, B1, F32, S32, E4M3, E5M2 } Type;
static const char *const type_names[] = {"f16", "bf16", "tf32", "f64", "s8",   "u8",  "s4",
                                         "u4",  "b1",   "f32",  "s32", "e4m3", "e5m2"};
static const unsigned type_bits[] = {16, 16, 32, 64, 8, 8, 4, 4, 1, 32, 32, 8, 8};

typedef struct {
    unsigned m, n, k;
    Type d, a, b;
    bool satfinite;
    unsigned na, nb, nd; /* registers; f64: of 64 bits */
    const char *target;
    const char *op; /* of bits */
    bool sparse;
    unsigned selector;
} Shape;

static const Shape shapes[] = {
    {16, 8, 8, F32, F16, F16, false, 2, 1, 4, "sm_75", NULL, false, 0},
    {16, 8, 8, F16, F16, F16, false, 2, 1, 2, "sm_75", NULL, false, 0},
    {16, 8, 16, F32, F16, F16, false, 4, 2, 4, "sm_80", NULL, false, 0},
    {16, 8, 16, F16, F16, F16, false, 4, 2, 2, "sm_80", NULL, false, 0},
    {16, 8, 8, F32, BF16, BF16, false, 2, 1, 4, "sm_80", NULL, false, 0},
    {16, 8, 16, F32, BF16, BF16, false, 4, 2, 4, "sm_80", NULL, false, 0},
    {16, 8, 4, F32, TF32, TF32, false, 2, 1, 4, "sm_80", NULL, false, 0},
    {16, 8, 8, F32, TF32, TF32, false, 4, 2, 4, "sm_80", NULL, false, 0},
    {8, 8, 4, F64, F64, F64, false, 1, 1, 2, "sm_80", NULL, false, 0},
    {8, 8, 16, S32, U8, S8, false, 1, 1, 2, "sm_75", NULL, false, 0},
    {8, 8, 16, S32, S8, S8, true, 1, 1, 2, "sm_75", NULL, false, 0},
    {16, 8, 16, S32, S8, U8, false, 2, 1, 4, "sm_80", NULL, false, 0},
    {16, 8, 32, S32, S8, S8, false, 4, 2, 4, "sm_80", NULL, false, 0},
    {16, 8, 32, S32, U8, U8, true, 4, 2, 4, "sm_80", NULL, false, 0},
    {8, 8, 32, S32, S4, U4, false, 1, 1, 2, "sm_75", NULL, false, 0},
    {16, 8, 32, S32, U4, S4, false, 2, 1, 4, "sm_80", NULL, false, 0},
    {16, 8, 64, S32, S4, S4, true, 4, 2, 4, "sm_80", NULL, false, 0},
    {16, 8, 64, S32, U4, S4, false, 4, 2, 4, "sm_80", NULL, false, 0},
    {8, 8, 32, S32, U4, U4, true, 1, 1, 2, "sm_75", NULL, false, 0},
    {16, 8, 4, F64, F64, F64, false, 2, 1, 4, "sm_90", NULL, false, 0},
    {16, 8, 8, F64, F64, F64, false, 4, 2, 4, "sm_90", NULL, false, 0},
    {16, 8, 16, F64, F64, F64, false, 8, 4, 4, "sm_90", NULL, false, 0},
    {8, 8, 128, S32, B1, B1, false, 1, 1, 2, "sm_75", ".xor.popc", false, 0},
    {8, 8, 128, S32, B1, B1, false, 1, 1, 2, "sm_80", ".and.popc", false, 0},
    {16, 8, 128, S32, B1, B1, false, 2, 1, 4, "sm_80", ".xor.popc", false, 0},
    {16, 8, 128, S32, B1, B1, false, 2, 1, 4, "sm_80", ".and.popc", false, 0},
    {16, 8, 256, S32, B1, B1, false, 4, 2, 4, "sm_80", ".xor.popc", false, 0},
    {16, 8, 256, S32, B1, B1, false, 4, 2, 4, "sm_80", ".and.popc", false, 0},
    {16, 8, 32, F32, E4M3, E5M2, false, 4, 2, 4, "sm_89", NULL, false, 0},
    {16, 8, 32, F16, E4M3, E4M3, false, 4, 2, 2, "sm_89", NULL, false, 0},
    {16, 8, 32, F32, E5M2, E5M2, false, 4, 2, 4, "sm_89", NULL, false, 0},
    {16, 8, 16, F32, E5M2, E4M3, false, 2, 1, 4, "sm_89", NULL, false, 0},
    {16, 8, 16, F16, E5M2, E4M3, false, 2, 1, 2, "sm_89", NULL, false, 0},
    {16, 8, 16, F32, F16, F16, false, 2, 2, 4, "sm_80", NULL, true, 0},
    {16, 8, 16, F32, F16, F16, false, 2, 2, 4, "sm_80", NULL, true, 3},
    {16, 8, 16, F16, F16, F16, false, 2, 2, 2, "sm_80", NULL, true, 1},
    {16, 8, 32, F32, F16, F16, false, 4, 4, 4, "sm_80", NULL, true, 1},
    {16, 8, 32, F16, F16, F16, false, 4, 4, 2, "sm_80", NULL, true, 0},
    {16, 8, 16, F32, BF16, BF16, false, 2, 2, 4, "sm_80", NULL, true, 2},
    {16, 8, 32, F32, BF16, BF16, false, 4, 4, 4, "sm_80", NULL, true, 0},
    {16, 8, 8, F32, TF32, TF32, false, 2, 2, 4, "sm_80", NULL, true, 2},
    {16, 8, 16, F32, TF32, TF32, false, 4, 4, 4, "sm_80", NULL, true, 1},
    {16, 8, 32, S32, S8, U8, false, 2, 2, 4, "sm_80", NULL, true, 1},
    {16, 8, 32, S32, S8, S8, true, 2, 2, 4, "sm_80", NULL, true, 0},
    {16, 8, 64, S32, U8, S8, false, 4, 4, 4, "sm_80", NULL, true, 0},
    {16, 8, 64, S32, S4, U4, false, 2, 2, 4, "sm_80", NULL, true, 1},
    {16, 8, 64, S32, S4, S4, true, 2, 2, 4, "sm_80", NULL, true, 0},
    {16, 8, 128, S32, U4, S4, false, 4, 4, 4, "sm_80", NULL, true, 0},
    {16, 8, 128, S32, S4, S4, true, 4, 4, 4, "sm_80", NULL, true, 0},
    {16, 8, 64, F32, E4M3, E5M2, false, 4, 4, 4, "sm_89", NULL, true, 0},
    {16, 8, 64, F32, E5M2, E4M3, false, 4, 4, 4, "sm_89", NULL, true, 0},
};

/* ---- what the document says about fragments: index i of lane's elements a_i, b_i, c_i ---- */

static void place_of_a(const Shape *s, unsigned lane, unsigned i, unsigned *row, unsigned *col) {
    unsigned group = lane >> 2, in_group = lane % 4;
    if (type_bits[s->a] == 16) { /* .m16n8k8, .m16n8k16 */
        *row = i == 0 || i == 1 || i == 4 || i == 5 ? group : group + 8;
        *col = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    } else if (type_bits[s->a] == 64) { /* .m8n8k4; .m16n8k4, .m16n8k8, .m16n8k16 */
        *row = s->m == 8 || i % 2 == 0 ? group : group + 8;
        *col = in_group + (s->m == 8 ? 0 : 4 * (i / 2));
    } else if (s->a == TF32) { /* .m16n8k4, .m16n8k8 */
        *row = i == 0 || i == 2 ? group : group + 8;
        *col = in_group + (i >= 2 ? 4 : 0);
    } else if (s->m == 8) { /* .m8n8k16, .m8n8k32, .m8n8k128 */
        *row = group;
        *col = in_group * (s->k / 4) + i;
    } else if (s->na == 2) { /* .m16n8k16 of 8 bits, .m16n8k32 of 4, .m16n8k128 */
        unsigned half = s->k / 4;
        *row = i < half ? group : group + 8;
        *col = in_group * half + i % half;
    } else { /* .m16n8k32 of 8 bits, .m16n8k64 of 4, .m16n8k256 */
        unsigned quarter = s->k / 8;
        *row = i / quarter % 2 ? group + 8 : group;
        *col = in_group * quarter + i % quarter + (i >= 2 * quarter ? s->k / 2 : 0);
    }
}

static void place_of_b(const Shape *s, unsigned lane, unsigned i, unsigned *row, unsigned *col) {
    unsigned per = type_bits[s->b] >= 32 ? 1 : 32 / type_bits[s->b];
    *row = lane % 4 * per + i % per + i / per * 4 * per; /* b0 ..: a register has four lanes' numbers */
    *col = lane >> 2;
}

static void place_of_c(unsigned lane, unsigned i, unsigned *row, unsigned *col) {
    *row = i < 2 ? lane >> 2 : (lane >> 2) + 8;
    *col = lane % 4 * 2 + (i & 1);
}

/* 9.7.14.6: of each chunk of a row of A some elements are there, at most half. Which: four bits. Those of
 * rows `group` and `group` + 8 are in the lanes of the group that the selector names. .m16n8k16 of 16 bits,
 * .m16n8k8 of tf32: one lane, four chunks of the one row and four of the other .m16n8k32 of 16 bits,
 * .m16n8k16 of tf32: two lanes, the second for the second half of the columns .m16n8k32 of 8 bits, .m16n8k64
 * of 4: two lanes, one for each row .m16n8k64 of 8 bits, .m16n8k128 of 4: four lanes, the last two for the
 * second half of the columns */
static void place_of_places(const Shape *s, unsigned row, unsigned chunk, unsigned *lane, unsigned *bit) {
    unsigned chunks = s->k / (s->a == TF32 ? 2 : type_bits[s->a] == 4 ? 8 : 4);
    *lane = 4 * (row % 8);
    if (type_bits[s->a] >= 16) {
        *lane += chunks == 4 ? s->selector : 2 * s->selector + chunk / 4;
        *bit = 4 * (chunk % 4) + (row >= 8 ? 16 : 0);
    } else {
        *lane += (row >= 8) + (chunks == 8 ? 2 * s->selector : chunk / 8 * 2);
        *bit = 4 * (chunk % 8);
    }
}

/* ---- numbers ---- */

static uint32_t state = 2463534242u;
static uint32_t rnd(void) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state;
}

static uint32_t f32_bits(float f) {
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}
static float f32_of(uint32_t b) {
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}

/* binary16, rounded to nearest even, and back. */
static uint16_t half_bits(double v) {
    uint16_t sign = v < 0 ? 0x8000 : 0;
    int e;
    if (v == 0)
        return 0;
    frexp(v, &e);
    e = e - 1 < -14 ? -14 : e - 1;
    double units = nearbyint(ldexp(fabs(v), 10 - e)); /* 1024 of them are the implicit bit */
    return units >= 2048 && e == 15 ? sign | 0x7c00 : (uint16_t)(sign | ((e + 14) * 1024 + (int)units));
}
static double half_value(uint16_t bits) {
    int e = bits >> 10 & 31, mant = bits & 0x3ff;
    double v =
        e == 31 ? (mant ? (double)NAN : (double)INFINITY) : ldexp(e ? mant + 1024 : mant, (e ? e : 1) - 25);
    return bits & 0x8000 ? -v : v;
}

/* 8-bit floats: OCP 8-bit floating point, table 1. */
static double byte_value(Type t, unsigned byte) {
    unsigned mbits = t == E4M3 ? 3 : 2, e = (byte & 127) >> mbits, m = byte & ((1u << mbits) - 1);
    int bias = t == E4M3 ? 7 : 15;
    double v = e ? ldexp(1 + ldexp(m, -(int)mbits), (int)e - bias) : ldexp(m, 1 - bias - (int)mbits);
    if (t == E4M3 ? (byte & 127) == 127 : e == 31)
        v = t == E5M2 && !m ? (double)INFINITY : (double)NAN;
    return byte & 128 ? -v : v;
}

/* A value of the type near 2^e (integers: any), and its bits. */
static double value(Type t, bool small, int e, uint64_t *bits) {
    double v = small ? (double)(int)(rnd() % 17) - 8 : ldexp((double)(rnd() % 2048) - 1023.5, e - 10);
    uint32_t word;
    switch (t) {
    case F16: *bits = half_bits(v); return half_value((uint16_t)*bits);
    case BF16:
        word = f32_bits((float)v) & 0xffff0000u;
        *bits = word >> 16;
        return f32_of(word);
    case TF32:
        word = f32_bits((float)v) & 0xffffe000u;
        *bits = word | (rnd() & 0x1fff); /* the bits below are not read */
        return f32_of(word);
    case F32: *bits = f32_bits((float)v); return (float)v;
    case F64: memcpy(bits, &v, sizeof v); return v;
    case E4M3:
    case E5M2:
        do
            *bits = rnd() & 255;
        while (!(fabs(byte_value(t, (unsigned)*bits)) <= 8) ||
               (small && byte_value(t, (unsigned)*bits) != floor(byte_value(t, (unsigned)*bits))));
        return byte_value(t, (unsigned)*bits);
    case S8: *bits = rnd() & 255; return (int8_t)*bits;
    case U8: *bits = rnd() & 255; return (double)*bits;
    case S4: *bits = rnd() & 15; return (double)(*bits >= 8 ? (int)*bits - 16 : (int)*bits);
    case U4: *bits = rnd() & 15; return (double)*bits;
    case B1: *bits = rnd() & 1; return (double)*bits;
    case S32:
        *bits = small ? rnd() % 1000 : 0x7fffff00u ^ (rnd() & 1 ? 0x80000000u : 0u);
        return (int32_t)(uint32_t)*bits;
    }
    return 0;
}

static double d_value(Type t, uint64_t bits) {
    double f64;
    memcpy(&f64, &bits, sizeof f64);
    return t == F16   ? half_value((uint16_t)bits)
           : t == F32 ? f32_of((uint32_t)bits)
           : t == F64 ? f64
                      : (int32_t)(uint32_t)bits;
}

/* ---- one product ---- */

typedef struct {
    double a[16][256], b[256][8], c[16][8];
} Matrices;

typedef struct {
    uint64_t a[8][LANES], b[8][LANES], c[8][LANES], d[8][LANES]; /* registers, low bits */
    uint64_t places[8][LANES];                                   /* of a sparse A: [0] */
} Fragments;

/* Which elements of a chunk are there; bits of a lane that nothing asks for are any. */
static void fill_places(const Shape *s, unsigned col[16][128], Fragments *f) {
    unsigned bits = type_bits[s->a], size = bits == 32 ? 2 : bits == 4 ? 8 : 4, each = size / 2;
    for (unsigned lane = 0; lane < LANES; lane++)
        f->places[0][lane] = rnd();
    for (unsigned row = 0; row < 16; row++)
        for (unsigned chunk = 0; chunk < s->k / size; chunk++) {
            unsigned lane, bit, low = rnd() % 3, high = low + 1 + rnd() % (3 - low);
            unsigned *at = &col[row][chunk * each], first = chunk * size;
            if (bits == 32) { /* 0b0100, 0b1110 */
                low = rnd() & 1 ? 0 : 2, high = low + 1;
                at[0] = first + low / 2;
            } else if (bits == 4) {
                at[0] = first + 2 * low, at[1] = at[0] + 1;
                at[2] = first + 2 * high, at[3] = at[2] + 1;
            } else {
                at[0] = first + low, at[1] = first + high;
            }
            place_of_places(s, row, chunk, &lane, &bit);
            f->places[0][lane] &= ~((uint64_t)15 << bit);
            f->places[0][lane] |= (uint64_t)(low | high << 2) << bit;
        }
}

static void fill(const Shape *s, bool small, Matrices *x, Fragments *f) {
    unsigned bits = type_bits[s->a], per = bits >= 32 ? 1 : 32 / bits, wide = s->d == F16 ? 2 : 1;
    int spread = s->a == F16 || s->a == E4M3 || s->a == E5M2 ? 4 : 30;
    uint64_t raw_a[16][256], raw_b[256][8], raw_c[16][8];
    unsigned columns[16][128];
    Shape kept = *s;
    kept.k = s->sparse ? s->k / 2 : s->k;
    memset(f, 0, sizeof *f);
    memset(x->a, 0, sizeof x->a);
    if (s->sparse)
        fill_places(s, columns, f);
    for (unsigned i = 0; i < s->m; i++)
        for (unsigned j = 0; j < kept.k; j++)
            x->a[i][s->sparse ? columns[i][j] : j] =
                value(s->a, small, (int)(rnd() % (unsigned)spread) - spread / 2, &raw_a[i][j]);
    for (unsigned i = 0; i < s->k; i++)
        for (unsigned j = 0; j < s->n; j++)
            x->b[i][j] = value(s->b, small, (int)(rnd() % (unsigned)spread) - spread / 2, &raw_b[i][j]);
    for (unsigned i = 0; i < s->m; i++)
        for (unsigned j = 0; j < s->n; j++)
            x->c[i][j] = value(s->d, small, (int)(rnd() % (unsigned)spread) - spread / 2, &raw_c[i][j]);
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned row, col;
        for (unsigned i = 0; i < s->na * per; i++) {
            place_of_a(&kept, lane, i, &row, &col);
            f->a[i / per][lane] |= raw_a[row][col] << (i % per * bits % 64);
        }
        for (unsigned i = 0; i < s->nb * per; i++) {
            place_of_b(s, lane, i, &row, &col);
            f->b[i / per][lane] |= raw_b[row][col] << (i % per * bits % 64);
        }
        for (unsigned i = 0; i < s->nd * wide; i++) {
            place_of_c(lane, i, &row, &col);
            f->c[i / wide][lane] |= raw_c[row][col] << (i % wide * 16);
        }
    }
}

static void list(char *out, const char *name, unsigned n) {
    strcpy(out, "{");
    for (unsigned i = 0; i < n; i++)
        sprintf(out + strlen(out), "%s%%%s%u", i ? ", " : "", name, i);
    strcat(out, "}");
}

static void text_of(const Shape *s, char *out) {
    unsigned bytes = s->d == F64 ? 8 : 4;
    const char *reg = s->d == F64 ? "f64" : "b32";
    char d[80], a[80], b[80], c[80];
    list(d, "d", s->nd), list(a, "a", s->na), list(b, "b", s->nb), list(c, "c", s->nd);
    out += sprintf(
        out,
        ".version 8.7\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb, "
        ".param .u64 pc, .param .u64 pd, .param .u64 pe)\n{\n.reg .%s %%d<8>, %%a<8>, %%b<8>, %%c<8>;\n.reg "
        ".u64 %%p<6>;\n"
        ".reg .u32 %%t, %%e;\nmov.u32 %%t, %%tid.x;\nmul.wide.u32 %%p5, %%t, %u;\n",
        s->target, reg, bytes);
    for (unsigned k = 0; k < 4; k++)
        out += sprintf(out, "ld.param.u64 %%p%u, [p%c];\nadd.u64 %%p%u, %%p%u, %%p5;\n", k, "abcd"[k], k, k);
    const unsigned counts[] = {s->na, s->nb, s->nd};
    for (unsigned k = 0; k < 3; k++)
        for (unsigned i = 0; i < counts[k]; i++)
            out += sprintf(out, "ld.global.%s %%%c%u, [%%p%u+%u];\n", reg, "abc"[k], i, k, i * LANES * bytes);
    if (s->sparse)
        out +=
            sprintf(out, "ld.param.u64 %%p4, [pe];\nadd.u64 %%p4, %%p4, %%p5;\nld.global.u32 %%e, [%%p4];\n");
    out += sprintf(out, "mma%s.sync.aligned.m%un%uk%u.row.col%s.%s.%s.%s.%s%s %s, %s, %s, %s",
                   !s->sparse        ? ""
                   : s->selector % 2 ? ".sp"
                                     : ".sp::ordered_metadata",
                   s->m, s->n, s->k, s->satfinite ? ".satfinite" : "", type_names[s->d], type_names[s->a],
                   type_names[s->b], type_names[s->d], s->op ? s->op : "", d, a, b, c);
    out += s->sparse ? sprintf(out, ", %%e, %u;\n", s->selector) : sprintf(out, ";\n");
    for (unsigned i = 0; i < s->nd; i++)
        out += sprintf(out, "st.global.%s [%%p3+%u], %%d%u;\n", reg, i * LANES * bytes, i);
    strcpy(out, "ret;\n}\n");
}

static void complain(void *user, HdSeverity severity, const char *text) {
    (void)user;
    if (severity == HD_ERROR)
        fputs(text, stderr);
}

/* The fragments as the kernel has them in memory. */
static void pack(bool wide, uint64_t in[8][LANES], uint32_t *out) {
    for (unsigned i = 0; i < 8; i++)
        for (unsigned lane = 0; lane < LANES; lane++)
            if (wide)
                memcpy(&out[2 * (LANES * i + lane)], &in[i][lane], 8);
            else
                out[LANES * i + lane] = (uint32_t)in[i][lane];
}

static void run(HdStatus (*engine)(HdModule *, const HdLaunch *), HdModule *module, const char *target,
                const Shape *s, Fragments *f) {
    static uint32_t memory[5][16 * LANES];
    uint64_t(*const parts[])[LANES] = {f->a, f->b, f->c, f->d, f->places};
    HdArg args[5];
    for (unsigned k = 0; k < 5; k++) {
        pack(s->d == F64, parts[k], memory[k]);
        args[k] = (HdArg){.buffer = memory[k], .size_bytes = sizeof memory[k]};
    }
    HdLaunch launch = {
        .kernel = "k", .grid = {1, 1, 1}, .block = {LANES, 1, 1}, .args = args, .nargs = 5, .target = target};
    assert_int_equal(engine(module, &launch), HD_OK);
    for (unsigned i = 0; i < 8; i++)
        for (unsigned lane = 0; lane < LANES; lane++) {
            f->d[i][lane] = 0;
            if (s->d == F64)
                memcpy(&f->d[i][lane], &memory[3][2 * (LANES * i + lane)], 8);
            else
                f->d[i][lane] = memory[3][LANES * i + lane];
        }
}

/* The exact sum is between those of the terms' sizes; floats lose less than a unit of the last place (23
 * bits, f16: 10) of the largest term for each term, and one in the result. */
static void compare(const Shape *s, bool small, const Matrices *x, const Fragments *f) {
    unsigned wide = s->d == F16 ? 2 : 1;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < s->nd * wide; i++) {
            unsigned row, col;
            place_of_c(lane, i, &row, &col);
            uint64_t bits = s->d == F64
                                ? f->d[i][lane]
                                : f->d[i / wide][lane] >> (i % wide * 16) & (wide == 2 ? 0xffff : ~0u);
            long double exact = x->c[row][col], most = fabs(x->c[row][col]), all = most;
            for (unsigned k = 0; k < s->k; k++) {
                double a = x->a[row][k], b = x->b[k][col];
                long double term = s->op && s->op[1] == 'x' ? (long double)(a != b) : (long double)a * b;
                exact += term;
                most = fabsl(term) > most ? fabsl(term) : most;
                all += fabsl(term);
            }
            double got = d_value(s->d, bits), bound = 0;
            if (s->d == S32) {
                int64_t sum = (int64_t)exact;
                int32_t want = !s->satfinite     ? (int32_t)(uint32_t)(uint64_t)sum
                               : sum > INT32_MAX ? INT32_MAX
                               : sum < INT32_MIN ? INT32_MIN
                                                 : (int32_t)sum;
                assert_int_equal((int32_t)got, want);
                continue;
            }
            if (!small) {
                double ulp = s->d == F64 ? 0x1p-52 : 0x1p-23;
                bound =
                    (double)most * 2 * ulp * (s->k + 2) + fabs((double)exact) * (s->d == F16 ? 0x1p-11 : ulp);
                if (type_bits[s->a] == 8) /* sums of half of the products are rounded */
                    bound += (double)all * 2 * (s->d == F16 ? 0x1p-11 : ulp);
            }
            if (fabsl((long double)got - exact) > bound)
                fail_msg("m%un%uk%u %s: row %u, column %u: %a, exactly %La, bound %a", s->m, s->n, s->k,
                         type_names[s->a], row, col, got, exact, bound);
        }
}

static void test_products(void **cmocka_state) {
    (void)cmocka_state;
    static const char *const targets[] = {"bru1", "sm_80", "sm_90"};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const Shape *s = &shapes[i];
        static char text[8192];
        HdContext *c = hd_create(&(HdOptions){.message = complain});
        HdModule *ptx, *binary[3];
        text_of(s, text);
        assert_int_equal(hd_parse(c, "mma.ptx", text, strlen(text), &ptx), HD_OK);
        bool newest = strcmp(s->target, "sm_80") > 0;
        for (unsigned t = 0; t < 3; t++)
            if (t != 1 || !newest)
                assert_int_equal(
                    hd_compile(ptx, &(HdCompileOptions){.target = targets[t], .opt_level = 2}, &binary[t]),
                    HD_OK);
        for (unsigned trial = 0; trial < 12; trial++) {
            Matrices x;
            Fragments f, g;
            fill(s, trial < 4, &x, &f);
            g = f;
            for (unsigned t = 0; t < 3; t++) {
                if (t == 1 && newest)
                    continue;
                run(hd_interpret, ptx, targets[t], s, &f);
                compare(s, trial < 4, &x, &f);
                run(hd_launch, binary[t], NULL, s, &g);
                assert_memory_equal(f.d, g.d, sizeof f.d);
            }
        }
        hd_destroy(c);
    }
}

/* Infinities, NaNs, zeros, subnormal numbers, the least and the largest: the executions agree on all of them,
 * and where the result is no number, it is the one that IEEE 754 has for a sum of products. */
static void test_special(void **cmocka_state) {
    (void)cmocka_state;
    static const uint16_t halves[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00,
                                      0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00};
    static const uint32_t words[] = {0,          0x80000000, 1,          0x80000001, 0x00800000, 0x3f800000,
                                     0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x33800000};
    for (unsigned i = 0; i < 8; i++) { /* the floating-point ones but f64 */
        const Shape *s = &shapes[i];
        static char text[8192];
        HdContext *c = hd_create(&(HdOptions){.message = complain});
        HdModule *ptx, *binary;
        text_of(s, text);
        assert_int_equal(hd_parse(c, "mma.ptx", text, strlen(text), &ptx), HD_OK);
        assert_int_equal(hd_compile(ptx, NULL, &binary), HD_OK);
        for (unsigned trial = 0; trial < 60; trial++) {
            Fragments f, g;
            memset(&f, 0, sizeof f);
            for (unsigned r = 0; r < 4; r++)
                for (unsigned lane = 0; lane < LANES; lane++) {
                    uint64_t *const regs[] = {&f.a[r][lane], &f.b[r][lane], &f.c[r][lane]};
                    for (unsigned k = 0; k < 3; k++) {
                        bool words_here = s->a == TF32 || (k == 2 && s->d == F32);
                        uint32_t two = halves[rnd() % 13] | (uint32_t)halves[rnd() % 13] << 16;
                        if (s->a == BF16 && k < 2)
                            two = words[rnd() % 12] >> 16 | (words[rnd() % 12] & 0xffff0000u);
                        bool plain = trial % 3 && rnd() % 8; /* mostly ones: else all results are NaN */
                        *regs[k] = plain        ? (words_here              ? 0x3f800000u
                                                   : s->a == BF16 && k < 2 ? 0x3f803f80u
                                                                           : 0x3c003c00u)
                                   : words_here ? words[rnd() % 12]
                                                : two;
                    }
                }
            g = f;
            run(hd_interpret, ptx, NULL, s, &f);
            run(hd_launch, binary, NULL, s, &g);
            assert_memory_equal(f.d, g.d, sizeof f.d);
        }
        hd_destroy(c);
    }
}

/* ---- m8n8k4 of f16: 9.7.14.5.1, each of the four products by its own lanes ---- */

static void quad_place_of_c(bool wide, unsigned lane, unsigned i, unsigned *row, unsigned *col) {
    unsigned x = (lane & 1) + (i & 2);
    *row = (wide ? x : lane % 4) + (lane < 16 ? 0 : 4);
    *col = wide ? (i & 4) + (lane & 2) + (i & 1) : i;
}

typedef struct {
    bool col_a, col_b, wide_c, wide_d;
} Quad;

typedef struct {
    double a[4][8][4], b[4][4][8], c[4][8][8];
} Quads;

/* Integers; one product has an infinity and another a NaN if `special`. */
static void fill_quads(const Quad *q, bool special, Quads *x, Fragments *f) {
    memset(f, 0, sizeof *f);
    for (unsigned i = 0; i < 4 * 32; i++) {
        x->a[i / 32][i / 4 % 8][i % 4] = (double)(rnd() % 17) - 8;
        x->b[i / 32][i % 4][i / 4 % 8] = (double)(rnd() % 17) - 8;
    }
    for (unsigned i = 0; i < 4 * 64; i++)
        x->c[i / 64][i / 8 % 8][i % 8] = (double)(rnd() % 99) - 49;
    if (special)
        x->b[2][1][3] = (double)INFINITY, x->a[1][2][0] = (double)NAN;
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned p = lane % 16 / 4, up = lane < 16 ? 0 : 4, own = lane % 4;
        for (unsigned i = 0; i < 4; i++) {
            double a = q->col_a ? x->a[p][i + up][own] : x->a[p][own + up][i];
            double b = q->col_b ? x->b[p][i][own + up] : x->b[p][own][i + up];
            f->a[i / 2][lane] |= (uint64_t)(isnan(a) ? 0x7e00 : half_bits(a)) << 16 * (i % 2);
            f->b[i / 2][lane] |= (uint64_t)(isinf(b) ? 0x7c00 : half_bits(b)) << 16 * (i % 2);
        }
        for (unsigned i = 0; i < 8; i++) {
            unsigned row, col;
            quad_place_of_c(q->wide_c, lane, i, &row, &col);
            if (q->wide_c)
                f->c[i][lane] = f32_bits((float)x->c[p][row][col]);
            else
                f->c[i / 2][lane] |= (uint64_t)half_bits(x->c[p][row][col]) << 16 * (i % 2);
        }
    }
}

static void compare_quads(const Quad *q, const Quads *x, const Fragments *f) {
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < 8; i++) {
            unsigned row, col, p = lane % 16 / 4;
            quad_place_of_c(q->wide_d, lane, i, &row, &col);
            double want = x->c[p][row][col];
            for (unsigned k = 0; k < 4; k++)
                want += x->a[p][row][k] * x->b[p][k][col];
            double got = q->wide_d ? (double)f32_of((uint32_t)f->d[i][lane])
                                   : half_value((uint16_t)(f->d[i / 2][lane] >> 16 * (i % 2)));
            if (isnan(want) ? !isnan(got) : got != want)
                fail_msg("m8n8k4, lane %u, %u: %a, not %a", lane, i, got, want);
        }
}

static void quad_text(const Quad *q, const Shape *s, char *text) {
    char statement[300], d[80], c[80];
    text_of(s, text);
    list(d, "d", q->wide_d ? 8 : 4), list(c, "c", q->wide_c ? 8 : 4);
    snprintf(statement, sizeof statement,
             "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s %s, {%%a0, %%a1}, {%%b0, %%b1}, %s;\n",
             q->col_a ? "col" : "row", q->col_b ? "col" : "row", q->wide_d ? "f32" : "f16",
             q->wide_c ? "f32" : "f16", d, c);
    char *from = strstr(text, "mma.sync"), *rest = strchr(from, ';') + 2;
    memmove(from + strlen(statement), rest, strlen(rest) + 1);
    memcpy(from, statement, strlen(statement));
}

static void test_quads(void **cmocka_state) {
    (void)cmocka_state;
    static const char *const targets[] = {"bru1", "sm_75", "sm_80", "sm_90"};
    for (unsigned n = 0; n < 12; n++) {
        Quad q = {n & 1, n & 2, n / 4 == 1, n / 4 >= 1};
        Shape s = {8, 8, 4, F32, F16, F16, false, 2, 2, 8, "sm_75", NULL, false, 0};
        static char text[8192];
        HdContext *c = hd_create(&(HdOptions){.message = complain});
        HdModule *ptx, *binary;
        quad_text(&q, &s, text);
        assert_int_equal(hd_parse(c, "mma.ptx", text, strlen(text), &ptx), HD_OK);
        for (unsigned t = 0; t < 4; t++) {
            HdCompileOptions options = {.target = targets[t], .opt_level = 2};
            assert_int_equal(hd_compile(ptx, &options, &binary), HD_OK);
            Quads x;
            Fragments f, g;
            fill_quads(&q, t % 2, &x, &f);
            g = f;
            run(hd_interpret, ptx, targets[t], &s, &f);
            compare_quads(&q, &x, &f);
            run(hd_launch, binary, NULL, &s, &g);
            compare_quads(&q, &x, &g);
        }
        hd_destroy(c);
    }
}

/* ---- rows of matrices ---- */

static void test_tiles(void **cmocka_state) {
    (void)cmocka_state;
    static const char head[] =
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 "
        "out)\n{\n"
        ".shared .align 16 .b8 tiles[1024];\n.reg .u64 %%p<4>;\n.reg .u32 %%t, %%s, %%r<8>;\nmov.u32 %%t, "
        "%%tid.x;\n"
        "mov.u32 %%s, tiles;\nmul.wide.u32 %%p2, %%t, 16;\nld.param.u64 %%p0, [in];\nadd.u64 %%p0, %%p0, "
        "%%p2;\n"
        "ld.global.v4.u32 {%%r0, %%r1, %%r2, %%r3}, [%%p0];\nshl.b32 %%t, %%t, 4;\nadd.u32 %%s, %%s, %%t;\n"
        "st.shared.v4.u32 [%%s], {%%r0, %%r1, %%r2, %%r3};\nbar.sync 0;\n%s\n"
        "ld.param.u64 %%p1, [out];\nadd.u64 %%p1, %%p1, %%p2;\nst.global.v4.u32 [%%p1], {%%r4, %%r5, %%r6, "
        "%%r7};\nret;\n}\n";
    static const struct {
        const char *body;
        bool transposed;
        unsigned n;
    } rows[] = {
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%s];", false, 4},
        {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r4, %r5, %r6, %r7}, [%s];", true, 4},
        {"mov.u32 %r6, 0; mov.u32 %r7, 0; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4, %r5}, [%s];", false,
         2},
        {"mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0; ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 "
         "{%r4}, [%s];",
         true, 1},
        {"mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, "
         "[%s];\n"
         "movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r5; mov.u32 %r5, 0;",
         true, 1},
        {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r4, %r5, %r6, %r7}, [%s]; bar.sync 0;\n"
         "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%s], {%r4, %r5, %r6, %r7}; bar.sync 0;\n"
         "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%s];",
         true, 4},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%s]; bar.sync 0;\n"
         "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%s], {%r4, %r5, %r6, %r7}; bar.sync 0;\n"
         "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%s];",
         true, 4},
        {"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4, %r5}, [%s]; bar.sync 0;\n"
         "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%s], {%r4, %r5}; bar.sync 0;\n"
         "mov.u32 %r6, 0; mov.u32 %r7, 0; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4, %r5}, [%s];",
         true, 2},
        {"{ .reg .u64 %g; .reg .u64 %h; cvt.u64.u32 %h, %s; cvta.shared.u64 %g, %h;\n"
         "ldmatrix.sync.aligned.m8n8.x4.b16 {%r4, %r5, %r6, %r7}, [%g]; }",
         false, 4},
    };
    for (unsigned n = 0; n < 2 * sizeof rows / sizeof *rows; n++) {
        static char text[4096];
        unsigned i = n / 2;
        uint16_t in[4][8][8], out[LANES][8];
        HdContext *c = hd_create(&(HdOptions){.message = complain});
        HdModule *ptx, *binary;
        snprintf(text, sizeof text, head, rows[i].body);
        assert_int_equal(hd_parse(c, "tiles.ptx", text, strlen(text), &ptx), HD_OK);
        assert_int_equal(
            hd_compile(ptx, &(HdCompileOptions){.target = n % 2 ? "bru1" : "sm_90", .opt_level = 2}, &binary),
            HD_OK);
        for (unsigned k = 0; k < 256; k++)
            in[k / 64][k / 8 % 8][k % 8] = (uint16_t)rnd();
        HdArg args[] = {{.buffer = in, .size_bytes = sizeof in}, {.buffer = out, .size_bytes = sizeof out}};
        HdLaunch launch = {
            .kernel = "k", .grid = {1, 1, 1}, .block = {LANES, 1, 1}, .args = args, .nargs = 2};
        for (unsigned engine = 0; engine < 2; engine++) {
            memset(out, 0xee, sizeof out);
            assert_int_equal(engine ? hd_launch(binary, &launch) : hd_interpret(ptx, &launch), HD_OK);
            for (unsigned lane = 0; lane < LANES; lane++)
                for (unsigned k = 0; k < 8; k++) {
                    unsigned row = lane / 4, col = lane % 4 * 2 + k % 2;
                    uint16_t want = k / 2 >= rows[i].n   ? 0
                                    : rows[i].transposed ? in[k / 2][col][row]
                                                         : in[k / 2][row][col];
                    assert_int_equal(out[lane][k], want);
                }
        }
        hd_destroy(c);
    }
}

/* A warp that is not whole: both executions trap. */
static void test_part_of_a_warp(void **cmocka_state) {
    (void)cmocka_state;
    static char text[8192];
    HdContext *c = hd_create(NULL);
    HdModule *ptx, *binary;
    uint32_t memory[256] = {0};
    HdArg args[5];
    for (unsigned k = 0; k < 5; k++)
        args[k] = (HdArg){.buffer = memory, .size_bytes = sizeof memory};
    text_of(&shapes[2], text);
    assert_int_equal(hd_parse(c, "mma.ptx", text, strlen(text), &ptx), HD_OK);
    assert_int_equal(hd_compile(ptx, NULL, &binary), HD_OK);
    HdLaunch launch = {
        .kernel = "k", .grid = {1, 1, 1}, .block = {LANES - 1, 1, 1}, .args = args, .nargs = 5};
    assert_int_equal(hd_interpret(ptx, &launch), HD_ERR_TRAP);
    assert_int_equal(hd_launch(binary, &launch), HD_ERR_TRAP);
    hd_destroy(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_special),
                                       cmocka_unit_test(test_quads), cmocka_unit_test(test_tiles),
                                       cmocka_unit_test(test_part_of_a_warp)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
