/* wgmma.mma_async: both executions against matrices multiplied here. Where elements are in shared memory and
 * in registers is taken from the figures of PTX ISA 9.7.15.5.1; sums of small integers must be exact, others
 * within the bound that docs/numerics.md states, and the machine equal to the interpreter bit by bit. Of a
 * sparse A the places lie as in the figures of 9.7.15.6.1; it is multiplied here with its zeros.
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

enum {
    THREADS = 128,
    IMAGE_BYTES = 32768,
    B_BYTES = 16384,
    CHUNK = 16,
    MOST_N = 256,
    MOST_K = 256,
    MOST_TILE = 128
};
typedef enum { F16, BF16, TF32, E4M3, E5M2, S8, U8, B1, F32, S32 } Type;
static const char *const type_names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2",
                                         "s8",  "u8",   "b1",   "f32",  "s32"};
static const unsigned type_bits[] = {16, 16, 32, 8, 8, 8, 8, 1, 32, 32};

typedef enum { NONE, SPAN128, SPAN64, SPAN32 } Swizzle; /* as descriptors have it */
typedef struct {
    Swizzle swizzle;
    bool transposed;
    unsigned leading, stride; /* bytes */
    unsigned inside;          /* the first chunk is so far in its span: a later part of k */
} Place;

typedef struct {
    Type d, a, b;
    unsigned n;
    Place place_a, place_b;
    const char *scale_d;
    int factor_a, factor_b;
    bool in_registers, satfinite;
    unsigned sparse; /* 1 + the selector, 0: dense */
} Case;

#define ROWS(swizzle, stride)                                                                                \
    { swizzle, false, 16, stride, 0 }
#define LATER(swizzle, stride, inside)                                                                       \
    { swizzle, false, 16, stride, inside }
#define PLAIN(leading, stride)                                                                               \
    { NONE, false, leading, stride, 0 }
#define COLUMNS(swizzle, leading, stride)                                                                    \
    { swizzle, true, leading, stride, 0 }
static const Case cases[] = {
    {F32, F16, F16, 8, PLAIN(128, 256), PLAIN(128, 256), "1", 1, 1, false, false, 0},
    {F32, F16, F16, 16, PLAIN(1024, 128), PLAIN(2048, 144), "1", 1, 1, false, false, 0},
    {F32, F16, F16, 24, ROWS(SPAN128, 1024), ROWS(SPAN128, 1024), "1", 1, 1, false, false, 0},
    {F32, F16, F16, 40, LATER(SPAN128, 1024, 2), LATER(SPAN128, 1024, 6), "1", -1, 1, false, false, 0},
    {F32, BF16, BF16, 64, ROWS(SPAN64, 512), LATER(SPAN64, 1024, 2), "1", 1, -1, false, false, 0},
    {F32, F16, F16, 256, ROWS(SPAN32, 256), ROWS(SPAN32, 512), "1", 1, 1, false, false, 0},
    {F32, F16, F16, 128, PLAIN(128, 256), ROWS(SPAN128, 1024), "%q", 1, 1, true, false, 0},
    {F32, F16, F16, 128, PLAIN(128, 256), ROWS(SPAN128, 1024), "!%q", 1, 1, true, false, 0},
    {F32, BF16, BF16, 96, ROWS(SPAN128, 1024), ROWS(SPAN64, 512), "0", -1, -1, true, false, 0},
    {F16, F16, F16, 8, PLAIN(128, 256), PLAIN(128, 256), "1", 1, 1, false, false, 0},
    {F16, F16, F16, 72, PLAIN(128, 256), ROWS(SPAN32, 256), "1", -1, -1, true, false, 0},
    {F32, F16, F16, 32, COLUMNS(NONE, 1024, 128), COLUMNS(NONE, 2048, 256), "1", 1, 1, false, false, 0},
    {F32, F16, F16, 192, COLUMNS(SPAN128, 4096, 1024), COLUMNS(SPAN128, 4096, 1024), "1", 1, 1, false, false,
     0},
    {F32, BF16, BF16, 112, COLUMNS(SPAN64, 1024, 512), COLUMNS(SPAN64, 2048, 1024), "1", 1, 1, false, false,
     0},
    {F16, F16, F16, 80, COLUMNS(SPAN32, 512, 256), COLUMNS(SPAN32, 1024, 512), "1", 1, 1, false, false, 0},
    {F32, F16, F16, 48, PLAIN(128, 256), COLUMNS(SPAN32, 512, 256), "1", 1, 1, true, false, 0},
    {F32, F16, F16, 56, ROWS(SPAN128, 1024), COLUMNS(SPAN128, 2048, 1024), "1", 1, 1, false, false, 0},
    {F32, TF32, TF32, 8, PLAIN(128, 256), PLAIN(128, 256), "1", 1, 1, false, false, 0},
    {F32, TF32, TF32, 136, ROWS(SPAN128, 1024), ROWS(SPAN64, 512), "1", -1, 1, true, false, 0},
    {F32, TF32, TF32, 104, LATER(SPAN128, 1024, 4), ROWS(SPAN32, 256), "1", 1, -1, false, false, 0},
    {F32, E4M3, E4M3, 16, PLAIN(128, 256), PLAIN(128, 256), "1", 1, 1, false, false, 0},
    {F32, E4M3, E5M2, 88, ROWS(SPAN128, 1024), ROWS(SPAN64, 512), "%q", -1, 1, false, false, 0},
    {F32, E5M2, E4M3, 32, PLAIN(128, 256), ROWS(SPAN32, 256), "1", 1, -1, true, false, 0},
    {F16, E5M2, E5M2, 120, ROWS(SPAN64, 512), ROWS(SPAN64, 512), "1", 1, 1, false, false, 0},
    {F16, E4M3, E4M3, 8, PLAIN(128, 256), PLAIN(128, 256), "1", 1, -1, true, false, 0},
    {S32, S8, S8, 8, PLAIN(128, 256), PLAIN(128, 256), "1", 1, 1, false, false, 0},
    {S32, U8, U8, 224, ROWS(SPAN128, 1024), ROWS(SPAN64, 512), "1", 1, 1, true, true, 0},
    {S32, S8, U8, 48, ROWS(SPAN32, 256), ROWS(SPAN64, 512), "%q", 1, 1, false, true, 0},
    {S32, U8, S8, 24, PLAIN(128, 256), ROWS(SPAN128, 1024), "1", 1, 1, true, false, 0},
    {S32, B1, B1, 8, PLAIN(128, 256), PLAIN(128, 256), "1", 1, 1, false, false, 0},
    {S32, B1, B1, 240, ROWS(SPAN128, 1024), ROWS(SPAN64, 512), "1", 1, 1, true, false, 0},
    {F32, F16, F16, 8, PLAIN(128, 256), PLAIN(128, 512), "1", 1, 1, false, false, 1},
    {F32, F16, F16, 128, ROWS(SPAN128, 1024), ROWS(SPAN128, 1024), "%q", 1, 1, false, false, 1},
    {F32, F16, F16, 256, LATER(SPAN128, 1024, 2), ROWS(SPAN64, 512), "1", -1, 1, true, false, 2},
    {F32, BF16, BF16, 72, ROWS(SPAN64, 512), LATER(SPAN128, 1024, 4), "1", 1, -1, false, false, 2},
    {F32, BF16, BF16, 16, PLAIN(128, 256), COLUMNS(SPAN32, 512, 256), "!%q", -1, -1, true, false, 1},
    {F16, F16, F16, 40, ROWS(SPAN32, 256), PLAIN(2048, 144), "1", 1, 1, false, false, 1},
    {F16, F16, F16, 192, COLUMNS(SPAN128, 4096, 1024), COLUMNS(SPAN128, 4096, 1024), "1", 1, -1, false, false,
     2},
    {F32, F16, F16, 32, COLUMNS(NONE, 1024, 128), COLUMNS(NONE, 2048, 256), "0", 1, 1, false, false, 2},
    {F32, TF32, TF32, 24, PLAIN(128, 256), ROWS(SPAN64, 512), "1", 1, 1, false, false, 1},
    {F32, TF32, TF32, 128, ROWS(SPAN128, 1024), ROWS(SPAN128, 1024), "1", -1, -1, true, false, 2},
    {F32, TF32, TF32, 8, ROWS(SPAN32, 256), PLAIN(128, 512), "%q", 1, 1, false, false, 2},
    {F32, E4M3, E5M2, 88, ROWS(SPAN128, 1024), ROWS(SPAN64, 512), "%q", -1, 1, false, false, 1},
    {F32, E5M2, E4M3, 32, PLAIN(128, 256), PLAIN(128, 512), "1", 1, -1, true, false, 1},
    {F16, E4M3, E4M3, 8, PLAIN(128, 256), PLAIN(128, 512), "1", 1, -1, true, false, 1},
    {F16, E5M2, E5M2, 256, ROWS(SPAN64, 512), ROWS(SPAN64, 512), "1", 1, 1, false, false, 1},
    {S32, S8, S8, 8, PLAIN(128, 256), PLAIN(128, 512), "1", 1, 1, false, false, 1},
    {S32, U8, U8, 224, ROWS(SPAN128, 1024), ROWS(SPAN64, 512), "1", 1, 1, true, true, 1},
    {S32, S8, U8, 48, ROWS(SPAN32, 256), ROWS(SPAN64, 512), "%q", 1, 1, false, true, 1},
    {S32, U8, S8, 24, PLAIN(128, 256), ROWS(SPAN128, 1024), "0", 1, 1, true, false, 1},
};

static void complain(void *user, HdSeverity severity, const char *said) {
    (void)user;
    if (severity == HD_ERROR)
        fputs(said, stderr);
}

static uint32_t rnd(void) {
    static uint64_t state = 1;
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

/* ---- numbers ---- */

static unsigned depth(const Case *x) { return (x->sparse ? 512 : 256) / type_bits[x->a]; }
static unsigned mantissa_of(Type type) {
    return type == F16 || type == TF32 ? 10 : type == BF16 ? 7 : type == E4M3 ? 3 : type == E5M2 ? 2 : 23;
}
static int bias_of(Type type) { return type == F16 || type == E5M2 ? 15 : type == E4M3 ? 7 : 127; }

/* A number that the type has, not subnormal. */
static uint32_t encoded(Type type, double v) {
    int exp;
    unsigned mant = mantissa_of(type), bits = type_bits[type], low = type == TF32 ? 13 : 0;
    if (v == 0)
        return 0;
    double part = frexp(fabs(v), &exp);
    uint32_t whole = (uint32_t)ldexp(part * 2 - 1, (int)mant) | (uint32_t)(exp - 1 + bias_of(type)) << mant;
    return whole << low | (v < 0 ? 1u << (bits - 1) : 0);
}

static double decoded(Type type, uint32_t bits) {
    unsigned mant = mantissa_of(type), low = type == TF32 ? 13 : 0, width = type_bits[type];
    uint32_t sign = bits >> (width - 1) & 1, whole = (bits & ~(sign << (width - 1))) >> low;
    uint32_t exp = whole >> mant, part = whole & ((1u << mant) - 1);
    double v = ldexp((exp ? 1u << mant : 0) + (double)part, (int)(exp ? exp : 1) - bias_of(type) - (int)mant);
    return sign ? -v : v;
}

static double element(Type type, bool small) {
    switch (type) {
    case S8: return small ? (int)(rnd() % 9) - 4 : (int8_t)rnd();
    case U8: return small ? rnd() % 9 : (uint8_t)rnd();
    case B1: return rnd() & 1;
    default:
        if (small)
            return (int)(rnd() % 9) - 4;
        return decoded(type, encoded(type, ldexp(1 + rnd() % 8 / 8.0, (int)(rnd() % 9) - 4))) *
               (rnd() & 1 ? 1 : -1);
    }
}

static uint32_t element_bits(Type type, double v) {
    return type == S8 || type == U8 ? (uint8_t)(int)v : type == B1 ? (uint32_t)v : encoded(type, v);
}

/* ---- places ---- */

typedef struct {
    double a[64][MOST_K], b[MOST_N][MOST_K], c[64][MOST_N];
    uint8_t image[IMAGE_BYTES];
    uint32_t registers[THREADS][8] /* of A four, then the places */, old[THREADS][MOST_TILE],
        out[THREADS][MOST_TILE];
} Data;

static void put_bits(uint8_t *at, unsigned bit, unsigned bits, uint32_t v) {
    if (bits == 1)
        at[bit / 8] = (uint8_t)(at[bit / 8] | v << bit % 8);
    else
        memcpy(at + bit / 8, &v, bits / 8);
}

/* An atom has eight rows of a span; where a span has 8 chunks, chunk c of row r stands at c ^ r; 4: at c ^ r
 * / 2; 2: at c ^ r / 4. Rows are along what the matrix is not contiguous in. */
static void put_element(const Place *place, uint8_t *matrix, unsigned bits, unsigned line, unsigned k,
                        uint32_t v) {
    static const unsigned chunks_of[] = {1, 8, 4, 2};
    unsigned chunks = chunks_of[place->swizzle], contiguous = (place->transposed ? line : k) * bits;
    unsigned row = place->transposed ? k : line, chunk = contiguous / 128, bit = contiguous % 128, at;
    if (place->swizzle == NONE) {
        at = place->transposed ? chunk * place->stride + row / 8 * place->leading
                               : chunk * place->leading + row / 8 * place->stride;
        at += row % 8 * CHUNK;
    } else {
        chunk += place->inside;
        at = chunk / chunks * place->leading + row / 8 * place->stride + row % 8 * chunks * CHUNK;
        at += ((chunk % chunks) ^ (row % 8 * chunks / 8)) * CHUNK;
    }
    put_bits(matrix + at, bit, bits, v);
}

static uint64_t descriptor(const Place *place) {
    return (uint64_t)place->inside | (uint64_t)(place->leading / 16) << 16 |
           (uint64_t)(place->stride / 16) << 32 | (uint64_t)place->swizzle << 62;
}

static void tile_place(const Case *x, unsigned thread, unsigned i, unsigned *row, unsigned *col,
                       unsigned *reg, unsigned *low) {
    unsigned lane = thread % 32;
    *row = thread / 32 * 16 + lane / 4 + (i & 2 ? 8 : 0);
    *col = i / 4 * 8 + lane % 4 * 2 + i % 2;
    *reg = x->d == F16 ? i / 2 : i;
    *low = x->d == F16 && i & 1 ? 16 : 0;
}

/* Element `at` of what is there of a row of A. */
static void put_a(const Case *x, Data *data, unsigned row, unsigned at, double v) {
    unsigned bits = type_bits[x->a], each = 32 / bits;
    unsigned word = at / each, thread = row / 16 * 32 + row % 8 * 4 + word % 4;
    uint32_t coded = element_bits(x->a, v);
    data->registers[thread][word / 4 * 2 + row % 16 / 8] |= coded << at % each * bits;
    put_element(&x->place_a, data->image, bits, row, at, coded);
}

/* Four bits about chunk `chunk` of a row: where its elements stand. */
static void put_places(const Case *x, Data *data, unsigned row, unsigned chunk, uint32_t nibble) {
    unsigned first = row / 16 * 32 + row % 8 * 4, below = row % 16 / 8, thread, low;
    if (type_bits[x->a] == 8) {
        thread = first + chunk / 8 * 2 + below;
        low = chunk % 8 * 4;
    } else {
        thread = first + 2 * (x->sparse - 1) + chunk / 4;
        low = below * 16 + chunk % 4 * 4;
    }
    data->registers[thread][4] = (data->registers[thread][4] & ~((uint32_t)15 << low)) | nibble << low;
}

static void fill_sparse_row(const Case *x, bool small, unsigned row, Data *data) {
    bool tf32 = x->a == TF32;
    unsigned size = tf32 ? 2 : 4, kept = size / 2;
    for (unsigned chunk = 0; chunk < depth(x) / size; chunk++) {
        unsigned low = rnd() % (tf32 ? 2 : 3), high = low + 1 + rnd() % (3 - low + tf32);
        put_places(x, data, row, chunk, tf32 ? (low ? 14 : 4) : low | high << 2);
        for (unsigned i = 0; i < kept; i++) {
            double v = element(x->a, small);
            data->a[row][chunk * size + (i ? high : low)] = v;
            put_a(x, data, row, chunk * kept + i, v);
        }
    }
}

static void fill(const Case *x, bool small, Data *data) {
    unsigned k = depth(x), bits = type_bits[x->a];
    memset(data->image, 0, sizeof data->image);
    memset(data->registers, 0, sizeof data->registers);
    memset(data->old, 0, sizeof data->old);
    memset(data->a, 0, sizeof data->a);
    for (unsigned thread = 0; thread < THREADS; thread++)
        data->registers[thread][4] = rnd(); /* nobody looks at those that are not chosen */
    for (unsigned row = 0; row < 64; row++)
        if (x->sparse)
            fill_sparse_row(x, small, row, data);
        else
            for (unsigned i = 0; i < k; i++)
                put_a(x, data, row, i, data->a[row][i] = element(x->a, small));
    for (unsigned col = 0; col < x->n; col++)
        for (unsigned i = 0; i < k; i++) {
            data->b[col][i] = element(x->b, small);
            put_element(&x->place_b, data->image + B_BYTES, bits, col, i,
                        element_bits(x->b, data->b[col][i]));
        }
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < x->n / 2; i++) {
            unsigned row, col, reg, low;
            tile_place(x, thread, i, &row, &col, &reg, &low);
            bool edge = x->d == S32 && x->satfinite && rnd() % 2;
            double v = edge ? INT32_MAX - (int)(rnd() % 64) : (int)(rnd() % 65) - 32;
            data->c[row][col] = v;
            data->old[thread][reg] |= (x->d == S32 ? (uint32_t)(int32_t)v : encoded(x->d, v)) << low;
        }
}

/* ---- the program ---- */

static char text[1 << 16];
static size_t length;
static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...) {
    va_list list;
    va_start(list, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, list);
    va_end(list);
    assert_true(length < sizeof text);
}

static void add_tile(unsigned n) {
    for (unsigned i = 0; i < n; i++)
        add("%s%%d%u", i ? "," : "{", i);
    add("}");
}

static void add_product(const Case *x, unsigned words) {
    bool halves = x->a == F16 || x->a == BF16, is_float = x->d != S32;
    add("wgmma.fence.sync.aligned;\nwgmma.mma_async%s.sync.aligned.m64n%uk%u.%s.%s.%s%s%s ",
        x->sparse ? ".sp" : "", x->n, depth(x), type_names[x->d], type_names[x->a], type_names[x->b],
        x->a == B1 ? ".and.popc" : "", x->satfinite ? ".satfinite" : "");
    add_tile(words);
    add(", %s, %%b", x->in_registers ? "{%a0,%a1,%a2,%a3}" : "%a");
    if (x->sparse)
        add(", %%m, %u", x->sparse - 1);
    add(", %s", x->scale_d);
    if (is_float)
        add(", %d, %d", x->factor_a, x->factor_b);
    if (halves && !x->in_registers)
        add(", %d", x->place_a.transposed);
    if (halves)
        add(", %d", x->place_b.transposed);
    add(";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
}

static void make_text(const Case *x) {
    unsigned words = x->d == F16 ? x->n / 4 : x->n / 2;
    length = 0;
    add(".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 image, .param .u64 "
        "registers,\n"
        ".param .u64 old, .param .u64 out) {\n.shared .align 1024 .b8 tiles[%u];\n.reg .pred %%p, %%q;\n"
        ".reg .b32 %%t, %%s, %%o, %%w, %%m, %%a<4>;\n.reg .u64 %%g, %%h, %%a, %%b;\n.reg .%s %%d<%u>;\n"
        "mov.u32 %%t, %%tid.x;\nmov.u32 %%s, tiles;\nsetp.eq.u32 %%q, 0, 0;\nshl.b32 %%o, %%t, 2;\n"
        "copy:\nld.param.u64 %%g, [image];\ncvt.u64.u32 %%h, %%o;\nadd.u64 %%g, %%g, %%h;\nld.global.u32 "
        "%%w, [%%g];\n"
        "add.u32 %%a0, %%s, %%o;\nst.shared.u32 [%%a0], %%w;\nadd.u32 %%o, %%o, %u;\nsetp.lt.u32 %%p, %%o, "
        "%u;\n"
        "@%%p bra copy;\nfence.proxy.async;\nbar.sync 0;\n",
        IMAGE_BYTES, x->d == F32 ? "f32" : "b32", words, THREADS * 4, IMAGE_BYTES);
    add("ld.param.u64 %%g, [registers];\nmul.wide.u32 %%h, %%t, 32;\nadd.u64 %%g, %%g, %%h;\n"
        "ld.global.v4.u32 {%%a0,%%a1,%%a2,%%a3}, [%%g];\nld.global.u32 %%m, [%%g+16];\nld.param.u64 %%g, "
        "[old];\nmul.wide.u32 %%h, %%t, "
        "%u;\n"
        "add.u64 %%g, %%g, %%h;\n",
        MOST_TILE * 4);
    for (unsigned i = 0; i < words; i++)
        add("ld.global.b32 %%d%u, [%%g+%u];\n", i, 4 * i);
    add("cvt.u64.u32 %%g, %%s;\nshr.u64 %%g, %%g, 4;\nor.b64 %%a, %%g, 0x%llx;\nor.b64 %%g, %%g, %u;\n"
        "or.b64 %%b, %%g, 0x%llx;\n",
        (unsigned long long)descriptor(&x->place_a), B_BYTES / 16,
        (unsigned long long)descriptor(&x->place_b));
    add_product(x, words);
    add("ld.param.u64 %%g, [out];\nadd.u64 %%g, %%g, %%h;\n");
    for (unsigned i = 0; i < words; i++)
        add("st.global.b32 [%%g+%u], %%d%u;\n", 4 * i, i);
    add("ret;\n}\n");
}

static void run(HdStatus (*how)(HdModule *, const HdLaunch *), HdModule *module, const char *target,
                Data *data) {
    HdArg args[] = {{.buffer = data->image, .size_bytes = sizeof data->image},
                    {.buffer = data->registers, .size_bytes = sizeof data->registers},
                    {.buffer = data->old, .size_bytes = sizeof data->old},
                    {.buffer = data->out, .size_bytes = sizeof data->out}};
    HdLaunch launch = {.kernel = "k",
                       .grid = {1, 1, 1},
                       .block = {THREADS, 1, 1},
                       .args = args,
                       .nargs = 4,
                       .target = target};
    memset(data->out, 0xee, sizeof data->out);
    assert_int_equal(how(module, &launch), HD_OK);
}

/* ---- what must come out ---- */

static void compare_one(const Case *x, bool small, const Data *data, unsigned row, unsigned col,
                        uint32_t bits) {
    bool adds = strcmp(x->scale_d, "0") != 0 && strcmp(x->scale_d, "!%q") != 0;
    long double exact = adds ? (long double)data->c[row][col] : 0, most = fabsl(exact);
    for (unsigned k = 0; k < depth(x); k++) {
        long double term = (long double)data->a[row][k] * x->factor_a * data->b[col][k] * x->factor_b;
        exact += term;
        most = fabsl(term) > most ? fabsl(term) : most;
    }
    if (x->d == S32) {
        long double want = x->satfinite && exact > INT32_MAX ? (long double)INT32_MAX : exact;
        assert_int_equal((int32_t)bits, (int32_t)(uint32_t)(int64_t)want);
        return;
    }
    double got = decoded(x->d, bits), bound = 0, ulp = x->d == F16 ? 0x1p-10 : 0x1p-23;
    if (type_bits[x->a] == 8) /* no more than 13 bits below the largest exponent, and of an f32 sum */
        bound =
            (double)most * 0x1p-12 * (depth(x) + 2) + (double)fabsl(exact) * (x->d == F16 ? ulp : 0x1p-13);
    else if (!small)
        bound = (double)most * 0x1p-22 * (depth(x) + 2) + (double)fabsl(exact) * ulp;
    if (fabsl((long double)got - exact) > bound)
        fail_msg("n%u %s %s: row %u, column %u: %a, exactly %La, bound %a", x->n, type_names[x->d],
                 type_names[x->a], row, col, got, exact, bound);
}

static void compare(const Case *x, bool small, const Data *data) {
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < x->n / 2; i++) {
            unsigned row, col, reg, low;
            tile_place(x, thread, i, &row, &col, &reg, &low);
            uint32_t bits = data->out[thread][reg] >> low;
            compare_one(x, small, data, row, col, x->d == F16 ? bits & 0xffff : bits);
        }
}

/* The only product of the code, from its name to its end. */
static void product_of(HdModule *binary, char *product, size_t bytes) {
    char *code, *at, *end;
    size_t size;
    assert_int_equal(hd_disassemble(binary, &code, &size), HD_OK);
    at = strstr(code, "GMMA");
    assert_non_null(at);
    end = strchr(at, ';');
    assert_true(end && (size_t)(end - at) + 2 < bytes);
    assert_null(strstr(end, "GMMA"));
    product[0] = at[-1]; /* the letter of the type */
    memcpy(product + 1, at, (size_t)(end - at));
    product[1 + (end - at)] = 0;
    free(code);
}

/* All columns by one instruction, which adds to the registers that it writes, or to none. */
static void check_in_place(const Case *x, HdModule *binary) {
    char product[256], shape[32], sum[32], zero[] = ", RZ, !UPT, ";
    product_of(binary, product, sizeof product);
    snprintf(shape, sizeof shape, ".64x%ux%u", x->n, depth(x));
    assert_non_null(strstr(product, shape));
    const char *result = strchr(product, ' ') + 1;
    snprintf(sum, sizeof sum, ", %.*s, ", (int)strcspn(result, ","), result);
    assert_true((strstr(product, sum) != NULL) != (strstr(product, zero) != NULL));
    assert_true((strstr(product, zero) != NULL) == (strcmp(x->scale_d, "0") == 0));
}

static void test_products(void **state) {
    (void)state;
    static const HdCompileOptions options[] = {{.target = "bru1", .opt_level = 2},
                                               {.target = "sm_90a", .opt_level = 0},
                                               {.target = "sm_90a", .opt_level = 3}};
    static Data data, other;
    for (unsigned n = 0; n < sizeof cases / sizeof *cases; n++) {
        const Case *x = &cases[n];
        HdContext *c = hd_create(&(HdOptions){.message = complain});
        HdModule *ptx, *binary[3];
        make_text(x);
        assert_int_equal(hd_parse(c, "wgmma.ptx", text, length, &ptx), HD_OK);
        for (unsigned t = 0; t < 3; t++)
            assert_int_equal(hd_compile(ptx, &options[t], &binary[t]), HD_OK);
        for (unsigned t = 0; t < 3; t++)
            check_in_place(x, binary[t]);
        for (unsigned trial = 0; trial < 2; trial++) {
            fill(x, !trial, &data);
            other = data;
            for (unsigned t = 0; t < 3; t++) {
                run(hd_interpret, ptx, options[t].target, &data);
                compare(x, !trial, &data);
                run(hd_launch, binary[t], NULL, &other);
                assert_memory_equal(data.out, other.out, sizeof data.out);
            }
        }
        hd_destroy(c);
    }
}

/* Registers are a matter of taste. */
static void drop_numbers(char *product) {
    char *to = product;
    for (const char *from = product; *from;)
        if ((*to++ = *from++) == 'R')
            from += strspn(from, "0123456789");
    *to = 0;
}

/* ptxas's code of the same programs: the same product, and what it makes of all columns at once. Only where
 * the caller names a ptxas. */
static void test_of_ptxas(void **state) {
    (void)state;
    static Data data, other;
    static char image[1 << 18];
    char folder[] = "/tmp/heddle-wgmma-XXXXXX", path[64], binary_path[64], command[600];
    const char *ptxas = getenv("PTXAS");
    if (!ptxas || !*ptxas)
        skip();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/k.ptx", folder);
    snprintf(binary_path, sizeof binary_path, "%s/k.cubin", folder);
    snprintf(command, sizeof command, "'%s' -arch=sm_90a '%s' -o '%s'", ptxas, path, binary_path);
    for (unsigned n = 0; n < sizeof cases / sizeof *cases; n++) {
        const Case *x = &cases[n];
        HdContext *c = hd_create(&(HdOptions){.message = complain});
        HdModule *ptx, *binary;
        make_text(x);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, length, file), length);
        fclose(file);
        assert_int_equal(system(command), 0);
        file = fopen(binary_path, "r");
        assert_non_null(file);
        size_t size = fread(image, 1, sizeof image, file);
        fclose(file);
        assert_int_equal(hd_parse(c, "wgmma.ptx", text, length, &ptx), HD_OK);
        assert_int_equal(hd_load(c, "k.cubin", image, size, &binary), HD_OK);
        HdModule *own;
        char product[2][256];
        HdCompileOptions as = {.target = "sm_90a", .opt_level = 2};
        assert_int_equal(hd_compile(ptx, &as, &own), HD_OK);
        product_of(own, product[0], sizeof product[0]);
        product_of(binary, product[1], sizeof product[1]);
        drop_numbers(product[0]);
        drop_numbers(product[1]);
        if (strcmp(x->scale_d, "!%q") != 0) /* it knows that nothing is added */
            assert_string_equal(product[0], product[1]);
        fill(x, n % 2, &data);
        other = data;
        run(hd_interpret, ptx, "sm_90a", &data);
        run(hd_launch, binary, NULL, &other);
        assert_memory_equal(data.out, other.out, sizeof data.out);
        hd_destroy(c);
    }
    remove(path);
    remove(binary_path);
    remove(folder);
}

/* Sums that begin with zeros in registers stay in them: none is RZ, which a product that adds has not. */
static void test_from_zeros(void **state) {
    (void)state;
    for (unsigned n = 0; n < 4; n++) { /* of f32 and f16, at two levels */
        HdContext *c = hd_create(&(HdOptions){.message = complain});
        HdModule *ptx, *binary;
        char product[256];
        length = 0;
        add(".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 d) "
            "{\n"
            ".reg .b32 %%z<4>;\n.reg .b64 %%p, %%d;\nld.param.u64 %%p, [p];\nld.param.u64 %%d, [d];\n"
            "mov.b32 %%z0, 0; mov.b32 %%z1, 0; mov.b32 %%z2, 0; mov.b32 %%z3, "
            "0;\nwgmma.fence.sync.aligned;\n");
        add(n % 2 ? "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%%z0, %%z1}"
                  : "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%%z0, %%z1, %%z2, %%z3}");
        add(", %%d, %%d, 1, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
            "st.v2.b32 [%%p], {%%z0, %%z1};\n%sret;\n}\n",
            n % 2 ? "" : "st.v2.b32 [%p+8], {%z2, %z3};\n");
        assert_int_equal(hd_parse(c, "zeros.ptx", text, length, &ptx), HD_OK);
        HdCompileOptions options = {.target = "sm_90a", .opt_level = n < 2 ? 0 : 3};
        assert_int_equal(hd_compile(ptx, &options, &binary), HD_OK);
        product_of(binary, product, sizeof product);
        assert_null(strstr(product, "RZ"));
        hd_destroy(c);
    }
}

/* What is not done is refused by its name, and what no warp group does is a trap in both executions. */
static void test_refused(void **state) {
    (void)state;
    static Data data;
    Case x = cases[0];
    HdModule *ptx, *binary;
    for (unsigned k = 0; k < 2; k++) {
        HdContext *c = hd_create(NULL);
        x.place_a.stride = 256;
        make_text(&x);
        if (k == 0) { /* bits 49 to 51, the base offset */
            char *at = strstr(text, "shr.u64 %g, %g, 4;");
            static const char with[] = "or.b64 %g, %g,0x2000000000000;";
            assert_non_null(at);
            memmove(at + 18 + sizeof with - 1, at + 18, length - (size_t)(at + 18 - text) + 1);
            memcpy(at + 18, with, sizeof with - 1);
            length += sizeof with - 1;
        }
        assert_int_equal(hd_parse(c, "wgmma.ptx", text, length, &ptx), HD_OK);
        assert_int_equal(hd_compile(ptx, &(HdCompileOptions){.target = "sm_90a"}, &binary), HD_OK);
        HdArg args[4];
        for (unsigned i = 0; i < 4; i++)
            args[i] = (HdArg){.buffer = data.out, .size_bytes = sizeof data.out};
        HdLaunch launch = {
            .kernel = "k", .grid = {1, 1, 1}, .block = {k ? 96 : THREADS, 1, 1}, .args = args, .nargs = 4};
        assert_int_equal(hd_interpret(ptx, &launch), HD_ERR_TRAP);
        assert_int_equal(hd_launch(binary, &launch), HD_ERR_TRAP);
        hd_destroy(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_of_ptxas),
                                       cmocka_unit_test(test_from_zeros), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
