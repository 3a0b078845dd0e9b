/* Typed values, arguments, launch files, parameter blocks, checks. Expected bits of floating-point values are
 * those of IEEE 754, written out.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/scope.h"
#include "check/validate/plan/edges.h"
#include "check/validate/search/auto_search.h"
#include "check/validate/plan/plan.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    char text[2048];
} Messages;

static void collect(void *user, Severity severity, const char *line) {
    Messages *messages = user;
    (void)severity;
    strncat(messages->text, line, sizeof messages->text - strlen(messages->text) - 1);
}

static void test_scalar_values(void **state) {
    (void)state;
    static const struct {
        const char *type, *text;
        uint64_t bits;
    } rows[] = {{"u8", "255", 0xff},
                {"s8", "-128", 0x80},
                {"u32", "0xdeadbeef", 0xdeadbeef},
                {"s64", "-1", UINT64_MAX},
                {"u64", "18446744073709551615", UINT64_MAX},
                {"f32", "1.5", 0x3fc00000},
                {"f32", "0.1", 0x3dcccccd},
                {"f32", "-0", 0x80000000},
                {"f32", "0f7fc00001", 0x7fc00001},
                {"f32", "inf", 0x7f800000},
                {"f32", "1e-45", 1},
                {"f64", "1.5", 0x3ff8000000000000},
                {"f64", "0.1", 0x3fb999999999999a},
                {"f64", "0d0000000000000001", 1},
                {"f64", "5e-324", 1},
                {"f16", "1", 0x3c00},
                {"f16", "65504", 0x7bff},
                {"f16", "65520", 0x7c00},
                {"f16", "6e-8", 1},
                {"f16", "0.1", 0x2e66},
                {"bf16", "1", 0x3f80},
                {"bf16", "3.14159", 0x4049},
                {"f16", "-2", 0xc000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Scalar *t = scalar_find(rows[i].type, strlen(rows[i].type));
        uint8_t out[8] = {0};
        uint64_t bits;
        assert_non_null(t);
        if (!scalar_parse(t, rows[i].text, strlen(rows[i].text), out))
            fail_msg("%s:%s", rows[i].type, rows[i].text);
        memcpy(&bits, out, 8);
        if (bits != rows[i].bits)
            fail_msg("%s:%s is %llx", rows[i].type, rows[i].text, (unsigned long long)bits);
    }
}

static void test_scalar_errors(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"u8", "256"},  {"s8", "-129"},       {"u32", "1.5"},
        {"u32", ""},    {"u32", " 1"},        {"u32", "1x"},
        {"f32", "x"},   {"f32", "0f3f80"},    {"u64", "18446744073709551616"},
        {"s32", "--1"}, {"f64", "0f3f800000"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t out[8];
        if (scalar_parse(scalar_find(rows[i][0], strlen(rows[i][0])), rows[i][1], strlen(rows[i][1]), out))
            fail_msg("accepted %s:%s", rows[i][0], rows[i][1]);
    }
    assert_string_equal(scalar_find("i32", 3)->name, "s32");
    assert_string_equal(scalar_find("double", 6)->name, "f64");
    assert_null(scalar_find("i33", 3));
    assert_null(scalar_find("u33", 3));
    assert_null(scalar_find("u", 1));
}

/* The host's float conversion is the second source for all f32 exponents. */
static void test_scalar_store_f32(void **state) {
    (void)state;
    const Scalar *t = scalar_find("f32", 3);
    for (int e = -160; e < 130; e++)
        for (int k = 0; k < 50; k++) {
            double v = ldexp(1 + k * 0.0312345678901, e) * (k % 2 ? -1 : 1);
            float f = (float)v;
            uint8_t out[8];
            scalar_store(t, v, out);
            assert_memory_equal(out, &f, 4);
        }
}

static void test_ulps(void **state) {
    (void)state;
    const Scalar *t = scalar_find("f32", 3);
    float a = 1, b = nextafterf(1, 2), zero = 0, minus = -0.0f, tiny = 1e-45f, nan = NAN;
    assert_int_equal(scalar_ulps(t, (uint8_t *)&a, (uint8_t *)&b), 1);
    assert_int_equal(scalar_ulps(t, (uint8_t *)&zero, (uint8_t *)&minus), 0);
    assert_int_equal(scalar_ulps(t, (uint8_t *)&minus, (uint8_t *)&tiny), 1);
    assert_int_equal(scalar_ulps(t, (uint8_t *)&nan, (uint8_t *)&nan), 0);
    assert_true(scalar_ulps(t, (uint8_t *)&nan, (uint8_t *)&a) == UINT64_MAX);
}

static bool read_json(Plan *p, const char *json, Messages *m) {
    Source s = {"dir/l.json", json, strlen(json)};
    Diags d = {.sink = collect, .user = m};
    *p = (Plan){0};
    return plan_read_json(p, &s, &d);
}

static void test_json(void **state) {
    (void)state;
    Plan p;
    Messages m = {{0}};
    if (!read_json(&p,
                   "{\"module\": \"k.ptx\", \"buffers\": {\"a\": {\"type\": \"f32\", \"count\": 3, \"init\": "
                   "\"iota\"},"
                   " \"b\": {\"type\": \"u16\", \"values\": [1, \"0xffff\"]}},"
                   " \"launches\": [{\"kernel\": \"k\", \"grid\": [2, 3], \"block\": [4], \"shared\": 16, "
                   "\"repeat\": 2,"
                   " \"args\": [\"a\", \"b+2\", \"s32:-1\", \"f32[2]:1,2\"], \"unordered\": [\"b\"]}],"
                   " \"checks\": [{\"buffer\": \"a\", \"values\": [0, 1, 2.5], \"abs\": 0.5}]}",
                   &m))
        fail_msg("%s", m.text);
    assert_string_equal(p.module, "dir/k.ptx");
    assert_string_equal(p.data_dir, "dir");
    assert_int_equal(p.launches.n, 1);
    const PlanLaunch *launch = p.launches.at;
    assert_int_equal(launch->grid[0], 2);
    assert_int_equal(launch->grid[1], 3);
    assert_int_equal(launch->grid[2], 1);
    assert_int_equal(launch->block[0], 4);
    assert_int_equal(launch->shared_bytes, 16);
    assert_int_equal(launch->repeat, 2);
    assert_int_equal(launch->args.n, 4);
    assert_int_equal(launch->args.at[1].offset_bytes, 2);
    assert_int_equal(launch->args.at[3].size_bytes, 8);

    Diags d = {.sink = collect, .user = &m};
    SimMemory *mem = plan_memory(&p, &d);
    assert_non_null(mem);
    float a[3];
    uint16_t b[2];
    assert_true(simmem_read(mem, p.buffers.at[0].address, a, sizeof a));
    assert_true(simmem_read(mem, p.buffers.at[1].address, b, sizeof b));
    assert_true(a[0] == 0 && a[1] == 1 && a[2] == 2);
    assert_int_equal(b[0], 1);
    assert_int_equal(b[1], 0xffff);

    PlanParam params[] = {{.size_bytes = 8},
                          {.offset_bytes = 8, .size_bytes = 8},
                          {.offset_bytes = 16, .size_bytes = 4},
                          {.offset_bytes = 24, .size_bytes = 8}};
    Launch made;
    assert_true(plan_launch(&p, launch, "k", params, 4, &made, &d));
    assert_int_equal(made.param_bytes, 32);
    uint64_t want[2] = {p.buffers.at[0].address, p.buffers.at[1].address + 2};
    assert_memory_equal(made.params, want, 16);
    assert_int_equal(made.params[16], 0xff);
    assert_int_equal(made.params[20], 0); /* padding */
    assert_int_equal(made.naddresses, 2); /* the buffers */
    assert_int_equal(made.address_at[0], 0);
    assert_int_equal(made.address_at[1], 8);
    assert_false(plan_launch(&p, launch, "k", params, 3, &made, &d));
    params[2].size_bytes = 8;
    assert_false(plan_launch(&p, launch, "k", params, 4, &made, &d));

    uint32_t failures = 0;
    assert_true(plan_check(&p, mem, &failures, &d)); /* 2 against 2.5 within 0.5 */
    assert_int_equal(failures, 0);
    float wrong = 9;
    assert_true(simmem_write(mem, p.buffers.at[0].address + 4, &wrong, 4));
    m.text[0] = 0;
    assert_true(plan_check(&p, mem, &failures, &d));
    assert_int_equal(failures, 1);
    assert_non_null(strstr(m.text, "E0520: buffer a: element 1 is 9"));
    simmem_free(mem);
    plan_free(&p);
}

#define TEXTURE(members)                                                                                     \
    "{\"buffers\": {\"b\": {\"type\": \"u8\", \"count\": 64}}, \"textures\": {\"t\": {\"buffer\": \"b\", "   \
    "\"texel\": \"u8\", " members "}}}"

static void test_json_errors(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"", "E0501"},
        {"{\"launches\": [}", "l.json:1:15: error E0501"},
        {"[]", "must be an object"},
        {"{}", "no launch"},
        {"{\"launches\": [{\"grid\": [1], \"block\": [1]}], \"x\": 1}", "unknown key \"x\""},
        {"{\"launches\": [{\"grid\": [0], \"block\": [1]}]}", "\"grid\""},
        {"{\"launches\": [{\"grid\": [1]}]}", "\"block\""},
        {"{\"launches\": [{\"grid\": [1], \"block\": [1], \"args\": [\"a\"]}]}",
         "neither TYPE:VALUE nor a buffer"},
        {"{\"launches\": [{\"grid\": [1], \"block\": [1], \"args\": [\"u8:256\"]}]}", "u8:256"},
        {"{\"launches\": [{\"grid\": [1], \"block\": [1], \"args\": [[]]}]}", "a structure has parts"},
        {"{\"launches\": [{\"grid\": [1], \"block\": [1], \"args\": [[7]]}]}", "or a list of such"},
        {"{\"buffers\": {\"a\": {\"type\": \"q\"}}}", "\"type\""},
        {"{\"buffers\": {\"a\": {\"type\": \"u8\", \"count\": 0}}}", "\"count\""},
        {"{\"buffers\": {\"a\": {\"type\": \"u8\", \"values\": [1.5]}}}", "is no u8"},
        {"{\"buffers\": {\"a\": {\"type\": \"s64\", \"values\": [1e48]}}}", "is no s64"},
        {"{\"buffers\": {\"a\": {\"type\": \"s64\", \"values\": [-1e400]}}}", "is no s64"},
        /* cJSON takes every control character for a blank: positions follow */
        {"{\1\"launches\"\2:\3[\4{\5\"grid\":[\6 0], \"block\": [1]}]}", "\"grid\""},
        {"{\"buffers\": {\"a\": {\"type\": \"u8\"}}, \"launches\": [{\"grid\": [1], \"block\": [1]}], "
         "\"checks\": [{\"buffer\": \"b\", \"hash\": \"0\"}]}",
         "name of a buffer"},
        {"{\"checks\": 5}", "\"checks\" must be a list"},
        {"{\"buffers\": [{\"type\": \"u8\"}]}", "\"buffers\" must be an object"},
        {"{\"textures\": 7}", "\"textures\" must be an object"},
        {"{\"launches\": [{\"grid\": [1], \"block\": [1], \"grid\": [2]}]}", "more than one key \"grid\""},
        {TEXTURE("\"size\": [8, 8], \"read\": \"float\", \"border\": [1e39]"), "\"border\" must be a list"},
        {TEXTURE("\"size\": [8, 8], \"border\": [4294967296]"), "\"border\" must be a list"},
        {TEXTURE("\"size\": [8, 8], \"wide\": 3"), "texture t: unknown key \"wide\""},
        {TEXTURE("\"size\": [8, 8], \"size\": [4, 4]"), "texture t: more than one key \"size\""},
        {TEXTURE("\"size\": [0, 8]"), "positive numbers"},
        {TEXTURE("\"size\": [9, 9]"), "it has 81 bytes, the buffer 64"},
        /* 2^81 and 2^64 bytes */
        {TEXTURE("\"size\": [134217728, 134217728, 134217728]"), "the buffer 64"},
        {TEXTURE("\"size\": [134217728, 134217728], \"layers\": 1024"), "the buffer 64"},
        {TEXTURE("\"size\": [8, 8], \"address\": [\"clamp\", \"clamp\", \"clamp\", \"any\"]"),
         "one for each axis"},
        {TEXTURE("\"size\": [8, 8], \"address\": []"), "one for each axis"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Plan p;
        Messages m = {{0}};
        if (read_json(&p, rows[i][0], &m) || !strstr(m.text, rows[i][1]))
            fail_msg("%s: expected %s, got %s", rows[i][0], rows[i][1], m.text);
        plan_free(&p);
    }
}

/* A plan that is written and read again has the same textures: all of what a description says. */
static void test_written_textures(void **state) {
    (void)state;
    static const char *const rows[] = {
        "\"size\": [8], \"address\": \"border\"",
        "\"size\": [4, 4], \"address\": \"border\", \"border\": [1, 4294967295, -1, 7]",
        "\"size\": [4, 4], \"read\": \"float\", \"address\": \"border\", \"border\": [0.1, -0.0, 1e-45, "
        "-3.4028234e38]",
        "\"size\": [4, 4], \"read\": \"float\", \"filter\": \"linear\", \"levels\": 3, \"mipfilter\": "
        "\"linear\", \"bias\": -0.3, "
        "\"clamp\": [0.7, 1.9], \"normalized\": true, \"address\": [\"mirror\", \"wrap\"]",
        "\"size\": [2, 2], \"layers\": 2, \"bias\": 1.5, \"clamp\": [1, 2]",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[600];
        Plan p, again;
        Messages m = {{0}};
        snprintf(text, sizeof text,
                 "{\"buffers\": {\"b\": {\"type\": \"u8\", \"count\": 64}}, \"textures\": {\"t\": "
                 "{\"buffer\": \"b\", "
                 "\"texel\": \"u8\", %s}}, \"launches\": [{\"grid\": [1], \"block\": [1]}]}",
                 rows[i]);
        assert_true(read_json(&p, text, &m));
        char *written = plan_print_json(&p);
        if (!read_json(&again, written, &m))
            fail_msg("%s: %s", written, m.text);
        assert_int_equal(again.textures.n, 1);
        const SimTexture *x = &p.textures.at[0].what, *y = &again.textures.at[0].what;
        assert_memory_equal(x->border, y->border, sizeof x->border);
        assert_memory_equal(x->size, y->size, sizeof x->size);
        assert_memory_equal(x->mode, y->mode, sizeof x->mode);
        assert_int_equal(x->layers, y->layers);
        assert_int_equal(x->dims, y->dims);
        assert_int_equal(x->cube, y->cube);
        assert_int_equal(x->texel, y->texel);
        assert_int_equal(x->channels, y->channels);
        assert_int_equal(x->as_float, y->as_float);
        assert_int_equal(x->linear, y->linear);
        assert_int_equal(x->normalized, y->normalized);
        assert_int_equal(x->more_levels, y->more_levels);
        assert_int_equal(x->mip_linear, y->mip_linear);
        assert_true(x->lod_bias == y->lod_bias && x->lod_min == y->lod_min && x->lod_max == y->lod_max);
        mem_free(written);
        plan_free(&p);
        plan_free(&again);
    }
}

/* A NUL inside a file is a blank for cJSON; here it is an error at its place. */
static void test_json_nul(void **state) {
    (void)state;
    static const char text[] = "{\"launches\":\0 [{\"grid\": [1], \"block\": [1], \"args\": [\"u8:1\"]}]}";
    Source source = {"l.json", text, sizeof text - 1};
    Messages m = {{0}};
    Diags d = {.sink = collect, .user = &m};
    Plan p = {0};
    assert_false(plan_read_json(&p, &source, &d));
    assert_non_null(strstr(m.text, "l.json:1:13: error E0501"));
    plan_free(&p);
}

static void test_arguments(void **state) {
    (void)state;
    Plan p = {0};
    Messages m = {{0}};
    Diags d = {.sink = collect, .user = &m};
    assert_true(plan_add_arg(&p, "buf:f32[8]=ones", &d));
    assert_true(plan_add_arg(&p, "out:c:u8[4]", &d));
    assert_true(plan_add_arg(&p, "c", &d));
    assert_true(plan_add_arg(&p, "u16:7", &d));
    assert_int_equal(p.launches.at[0].args.n, 4);
    assert_int_equal(p.buffers.n, 2);
    assert_int_equal(p.launches.at[0].args.at[2].buffer, 1);
    assert_true(plan_add_expect(&p, "c=0,0,0,1", &d));
    static const char *const bad[] = {"",           "x",           "buf:f32", "buf:f32[0]", "buf:f32[-1]",
                                      "out:f32[4]", "out:c:u8[1]", "u32:",    "f32[2]:1",   "f32[2]:1,2,3",
                                      "u128:1"};
    for (size_t i = 1; i < sizeof bad / sizeof *bad; i++)
        if (i != 2 && plan_add_arg(&p, bad[i], &d))
            fail_msg("accepted %s", bad[i]);
    assert_false(plan_add_expect(&p, "z=1", &d));
    SimMemory *mem = plan_memory(&p, &d);
    uint32_t failures = 0;
    assert_true(plan_check(&p, mem, &failures, &d));
    assert_int_equal(failures, 1);
    simmem_free(mem);
    plan_free(&p);
}

/* A structure of values, places of buffers and what is written of it; pointers to one place. */
static void test_structures(void **state) {
    (void)state;
    static const char json[] =
        "{\"buffers\": {\"a\": {\"type\": \"u32\", \"count\": 8}, \"p\": {\"type\": \"u64\", \"count\": 3, "
        "\"init\": \"records:8,*:u64:pointers:a+8:12,@16:u64:pointers:a+32:0\"}}, \"launches\": "
        "[{\"grid\": [1], \"block\": [1], \"args\": [[\"u32:7\", \"s16[2]:-1,2\", \"a+4\", \"p\", "
        "\"u16:9\"]]}]}";
    static const PlanParam param = {.offset_bytes = 4, .size_bytes = 26};
    Plan p;
    Messages m = {{0}};
    Diags d = {.sink = collect, .user = &m};
    assert_true(read_json(&p, json, &m));
    SimMemory *mem = plan_memory(&p, &d);
    Launch launch;
    uint64_t a = p.buffers.at[0].address, b = p.buffers.at[1].address, words[3];
    assert_true(plan_launch(&p, &p.launches.at[0], "k", &param, 1, &launch, &d));
    uint8_t want[26] = {7, 0, 0, 0, 0xff, 0xff, 2};
    want[24] = 9;
    for (unsigned k = 0; k < 8; k++) {
        want[8 + k] = (uint8_t)((a + 4) >> 8 * k);
        want[16 + k] = (uint8_t)(b >> 8 * k);
    }
    assert_memory_equal((const uint8_t *)launch.params + 4, want, sizeof want);
    assert_int_equal(launch.naddresses, 2);
    assert_int_equal(launch.address_at[0] + launch.address_at[1], 12 + 20);
    assert_true(simmem_read(mem, b, words, sizeof words));
    assert_int_equal(words[0], a + 8); /* one step of 12 bytes each: the next would leave it */
    assert_int_equal(words[1], a + 20);
    assert_int_equal(words[2], a + 32);
    char *text = plan_print_json(&p);
    assert_non_null(strstr(text, "\"b64:0x2ffff00000007\""));
    assert_non_null(strstr(text, "\"a+4\""));
    mem_free(text);
    simmem_free(mem);
    plan_free(&p);
}

/* A buffer of more than 256 bytes has its 257th byte at a multiple of 4 GiB. */
static void test_borders(void **state) {
    (void)state;
    static const uint64_t border = (uint64_t)1 << 32;
    static const char *const args[] = {"buf:u8[1]",    "buf:u8[257]", "buf:u8[256]",
                                       "buf:f64[512]", "buf:u8[100]", "buf:f32[65]"};
    enum { N = sizeof args / sizeof *args };
    Plan p = {0};
    Messages m = {{0}};
    Diags d = {.sink = collect, .user = &m};
    for (unsigned i = 0; i < N; i++)
        assert_true(plan_add_arg(&p, args[i], &d));
    SimMemory *mem = plan_memory(&p, &d);
    assert_non_null(mem);
    uint64_t found[N], end = 0;
    assert_true(auto_find_addresses(&p, found));
    for (unsigned i = 0; i < N; i++) {
        const PlanBuffer *buffer = &p.buffers.at[i];
        uint64_t size = buffer->count * buffer->type->size_bytes;
        assert_int_equal(found[i], buffer->address);
        assert_int_equal(buffer->address % 256, 0);
        assert_true(buffer->address > end);
        if (size > 256)
            assert_int_equal((buffer->address + 256) % border, 0);
        end = buffer->address + size;
    }
    SimMemory *clone = simmem_clone(mem);
    uint64_t next = simmem_alloc(mem, "", 300);
    assert_int_equal((next + 256) % border, 0);
    assert_int_equal(simmem_alloc(clone, "", 300), next);
    simmem_free(clone);
    simmem_free(mem);
    SimMemory *flat = simmem_create();
    assert_int_equal(simmem_alloc(flat, "", 300) / border, simmem_alloc(flat, "", 300) / border);
    simmem_free(flat);
    plan_free(&p);
}

static uint64_t edge_at(const char *init, const char *type, uint64_t index) {
    Edges edges;
    const Scalar *scalar = scalar_find(type, strlen(type));
    assert_true(edges_parse(init, &edges));
    return edges_value(&edges, scalar, index) & UINT64_MAX >> (64 - 8 * scalar->size_bytes);
}

/* Among 512 elements, as many as a launch has threads, are the pairs that tell comparisons apart. */
static void test_edges(void **state) {
    (void)state;
    unsigned equal = 0, zeros = 0, nan_twice = 0, negated = 0, next = 0, signs = 0, rare = 0;
    for (uint64_t i = 0; i < 512; i++) {
        uint32_t a = (uint32_t)edge_at("edges:7:0", "f32", i), b = (uint32_t)edge_at("edges:7:1", "f32", i);
        equal += a == b && a << 1 != 0 && a << 1 < 0xff000000;
        zeros += (a ^ b) == 0x80000000 && a << 1 == 0;
        nan_twice += a == b && a << 1 > 0xff000000;
        negated += (a ^ b) == 0x80000000 && a << 1 != 0;
        next += b == a + 1 || b == a - 1;
        uint32_t x = (uint32_t)edge_at("edges:7:0", "u32", i), y = (uint32_t)edge_at("edges:7:1", "u32", i);
        signs += (x ^ y) >> 31;
        double sparse;
        uint64_t bits = edge_at("edges:7:0:37", "f64", i);
        memcpy(&sparse, &bits, 8);
        rare += !(sparse >= -125 && sparse <= 126);
        assert_int_equal(edge_at("edges:7", "u16", i) >> 16, 0);
    }
    assert_true(equal && zeros && nan_twice && negated && next && signs > 50);
    assert_true(rare && rare < 512 / 16);
    Edges edges;
    static const char *const wrong[] = {"edges:",   "edges:x",     "edges:1:", "edges:1:0:",
                                        "edges:1x", "edges:1:0:0", "random:1", "edges:1:0:5:6"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(edges_parse(wrong[i], &edges));
}

/* What is kept is what was made, whatever was made between. */
static void test_kept_fills(void **state) {
    (void)state;
    enum { N = 100, OTHERS = 3 * FILLS };
    static const char *const inits[] = {"edges:5:1:3", "random:9", "random:9:-1:1", "iota",
                                        "nan",         "ones",     "zero"};
    const Scalar *type = scalar_find("f32", 3);
    Fills fills = {0};
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < sizeof inits / sizeof *inits; i++)
            for (unsigned n = N; n; n -= N / 2) { /* fewer are the first of those */
                float made[N] = {0}, kept[N] = {0};
                assert_true(plan_fill(NULL, type, inits[i], n, (uint8_t *)made));
                assert_true(plan_fill(&fills, type, inits[i], n, (uint8_t *)kept));
                assert_memory_equal(made, kept, sizeof made);
            }
    uint8_t other[8];
    for (unsigned i = 0; i < OTHERS; i++) {
        char init[32];
        snprintf(init, sizeof init, "random:%u", i);
        assert_true(plan_fill(&fills, type, init, 1, other));
    }
    assert_false(plan_fill(&fills, type, "random:x", 1, other));
    float nan[2] = {0};
    assert_true(plan_fill(&fills, type, "nan", 2, (uint8_t *)nan));
    assert_true(isnan(nan[0]) && isnan(nan[1]));
    assert_false(plan_fill(&fills, scalar_find("u32", 3), "nan", 1, other));
    plan_fills_free(&fills);
}

/* Numbers that rise, and whole ones of any type. */
static void test_whole_fills(void **state) {
    (void)state;
    enum { N = 300 };
    static const char *const wrong[] = {"iota:",       "iota:1",    "iota:1:",     "iota:1:2:3",
                                        "iota:x:1",    "whole:1",   "whole:1:2",   "whole:1:3:3",
                                        "whole:1:3:2", "whole:1:a", "whole:1:2:3x"};
    const Scalar *word = scalar_find("u32", 3), *number = scalar_find("f32", 3);
    uint32_t words[N] = {0};
    float numbers[N] = {0};
    assert_true(plan_fill(NULL, word, "iota:5:64", N, (uint8_t *)words));
    assert_true(plan_fill(NULL, number, "iota:1:-0.5", N, (uint8_t *)numbers));
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(words[i], 5 + 64 * i);
        assert_true(numbers[i] == 1 - 0.5F * (float)i);
    }
    unsigned seen[3] = {0};
    assert_true(plan_fill(NULL, number, "whole:7:-1:2", N, (uint8_t *)numbers));
    for (unsigned i = 0; i < N; i++) {
        assert_true(numbers[i] == -1 || numbers[i] == 0 || numbers[i] == 1);
        seen[(int)numbers[i] + 1]++;
    }
    assert_true(seen[0] > N / 5 && seen[1] > N / 5 && seen[2] > N / 5);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(plan_fill(NULL, number, wrong[i], N, (uint8_t *)numbers));
}

/* Fields of records, what lies between them, and elements of other buffers. */
static void test_elements(void **state) {
    (void)state;
    PlanBuffer buffers[2] = {{.type = scalar_find("u32", 3), .address = 0x1000, .init = "random:5:0:9"},
                             {.type = scalar_find("u32", 3),
                              .address = 0x2000,
                              .init = "records:24,*:u32:zero,0:f64:random:7:-1:1,16:u16:zero,2:u8:zero"}};
    Plan plan = {.buffers = {.at = buffers, .n = 2}};
    static const struct {
        uint64_t address, offset, begin;
        const char *type;
    } cases[] = {{0x1000, 7, 4, "u32"},   {0x2000, 0, 0, "f64"},   {0x2000, 7, 0, "f64"},
                 {0x2000, 24, 24, "f64"}, {0x2000, 26, 26, "u8"},  {0x2000, 27, 24, "f64"},
                 {0x2000, 41, 40, "u16"}, {0x2000, 42, 40, "u32"}, {0x2000, 65, 64, "u16"}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t begin = UINT64_MAX;
        const Scalar *type = plan_element_at(&plan, cases[i].address, cases[i].offset, &begin);
        assert_ptr_equal(type, scalar_find(cases[i].type, strlen(cases[i].type)));
        assert_int_equal(begin, cases[i].begin);
    }
    uint64_t begin = 0;
    assert_null(plan_element_at(&plan, 0x3000, 5, &begin));
    assert_int_equal(begin, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scalar_values),
                                       cmocka_unit_test(test_scalar_errors),
                                       cmocka_unit_test(test_scalar_store_f32),
                                       cmocka_unit_test(test_ulps),
                                       cmocka_unit_test(test_json),
                                       cmocka_unit_test(test_json_errors),
                                       cmocka_unit_test(test_written_textures),
                                       cmocka_unit_test(test_arguments),
                                       cmocka_unit_test(test_structures),
                                       cmocka_unit_test(test_json_nul),
                                       cmocka_unit_test(test_borders),
                                       cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_whole_fills),
                                       cmocka_unit_test(test_kept_fills),
                                       cmocka_unit_test(test_elements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
