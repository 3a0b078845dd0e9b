/* Functions of the driver: vprintf, __assertfail, malloc, free. Texts are compared with what the host's
 * printf makes of the same format and arguments, on both executions and several targets.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <heddle.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 6, THREADS = 40, BLOCKS = 2, TEXT_BYTES = 4096, PTX_BYTES = 1 << 14 };
static const char *const targets[] = {"bru1", "sm_75", "sm_80", "sm_90"};

/* ---- one call of vprintf, and the same call of the host ---- */

typedef struct {
    const char *format, *kinds; /* a letter an argument: i int, l long long, d double, s text, p pointer */
    long long integers[MAX_ARGS];
    double doubles[MAX_ARGS]; /* by place, where the kind is d */
    const char *texts[MAX_ARGS];
} Row;

#define HUGE_VALUE 0x1.fffffffffffffp1023
static const Row rows[] = {
    {"no arguments\n", "", {0}, {0}, {0}},
    {"100%% %d\n", "i", {-5}, {0}, {0}},
    {"%d %i %u %o %x %X\n", "iiiiii", {-1, INT32_MIN, -1, 8, 255, -255}, {0}, {0}},
    {"%5d|%-5d|%05d|%+d|% d\n", "iiiii", {42, 42, 42, 42, 42}, {0}, {0}},
    {"%#x %#o %.3d %8.3d\n", "iiii", {255, 8, 7, 7}, {0}, {0}},
    {"%hd %hu %hhd %hhu\n", "iiii", {70000, -1, 200, -1}, {0}, {0}},
    {"%ld %lu %lx %lld %llu\n", "lllll", {INT64_MIN, -1, 0x123456789abcdef, -1, INT64_MAX}, {0}, {0}},
    {"%d %lld %d %lld\n", "ilil", {1, 1ll << 40, 2, -(1ll << 40)}, {0}, {0}},
    {"%f %e %g %a\n", "dddd", {0}, {1.5, -1e-300, HUGE_VALUE, 0.1}, {0}},
    {"%F %E %G %A\n", "dddd", {0}, {2.5, 1e300, 1e-5, -0.0}, {0}},
    {"%.0f %.10f %10.3f|%-10.2e|\n", "dddd", {0}, {0.5, 0.1, 3.14159, 12345.678}, {0}},
    {"%f %f %f\n", "ddd", {0}, {1.0 / 0.0, -1.0 / 0.0, 0.0}, {0}},
    {"%d %f %d %f\n", "idid", {1, 0, 3}, {0, 2.0, 0, 4.0}, {0}},
    {"%c%c%c\n", "iii", {'a', 'b', 'c'}, {0}, {0}},
    {"%s and %s\n", "ss", {0}, {0}, {"one", ""}},
    {"%10s|%-10s|%.2s\n", "sss", {0}, {0}, {"right", "left", "cut here"}},
    {"%p\n", "p", {0x7f00deadbeef}, {0}, {0}},
    {"%*d|%-*d|%.*f\n", "iiiiid", {6, 42, -6, 42, 3, 0}, {0, 0, 0, 0, 0, 2.0 / 3}, {0}},
    {"%*d\n", "ii", {-8, 42}, {0}, {0}},
    {"[%*s]\n", "is", {-1}, {0}, {NULL, ""}},
    {"%5%|\n", "", {0}, {0}, {0}},
    {"several\nlines %d\n\n", "i", {7}, {0}, {0}},
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
/* One conversion of the format at a time, so that the host reads each argument by its own kind. */
static size_t host_text(const Row *row, char *out) {
    size_t n = 0;
    unsigned arg = 0;
    for (const char *at = row->format; *at;) {
        size_t plain = strcspn(at, "%");
        memcpy(out + n, at, plain);
        n += plain;
        at += plain;
        if (!*at)
            break;
        size_t length = 1 + strspn(at + 1, "#0+- .*123456789lh") + 1;
        char spec[32];
        int stars[2] = {0}, nstars = 0;
        snprintf(spec, sizeof spec, "%.*s", (int)length, at);
        at += length;
        for (const char *c = spec; *c; c++)
            if (*c == '*')
                stars[nstars++] = (int)row->integers[arg++];
        if (spec[strlen(spec) - 1] == '%') {
            out[n++] = '%';
            continue;
        }
        size_t room = TEXT_BYTES - n;
#define PRINT(value)                                                                                         \
    (nstars == 0   ? snprintf(out + n, room, spec, value)                                                    \
     : nstars == 1 ? snprintf(out + n, room, spec, stars[0], value)                                          \
                   : snprintf(out + n, room, spec, stars[0], stars[1], value))
        switch (row->kinds[arg]) {
        case 'i': n += (size_t)PRINT((int)row->integers[arg]); break;
        case 'l': n += (size_t)PRINT(row->integers[arg]); break;
        case 'd': n += (size_t)PRINT(row->doubles[arg]); break;
        case 'p': n += (size_t)PRINT((void *)(uintptr_t)row->integers[arg]); break;
        default: n += (size_t)PRINT(row->texts[arg]); break;
        }
        arg++;
    }
    out[n] = 0;
    return n;
}
#pragma GCC diagnostic pop

static int add_bytes(char *out, size_t room, const char *name, const char *text) {
    size_t size = strlen(text) + 1;
    int n = snprintf(out, room, ".global .align 1 .b8 %s[%zu] = {", name, size);
    for (size_t i = 0; i < size; i++)
        n += snprintf(out + n, room - (size_t)n, "%s%d", i ? ", " : "", (unsigned char)text[i]);
    return n + snprintf(out + n, room - (size_t)n, "};\n");
}

#define ADD(...) (void)(n += (size_t)snprintf(ptx + n, PTX_BYTES - n, __VA_ARGS__))
/* A kernel in which one thread prints the row, in a branch, and stores vprintf's result. */
static char *row_ptx(const Row *row) {
    char *ptx = malloc(PTX_BYTES);
    size_t n = 0, at = 0;
    ADD(".version 7.0\n.target sm_75\n.address_size 64\n"
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n");
    n += (size_t)add_bytes(ptx + n, PTX_BYTES - n, "format", row->format);
    for (unsigned k = 0; row->kinds[k]; k++)
        if (row->kinds[k] == 's') {
            char name[16];
            snprintf(name, sizeof name, "text%u", k);
            n += (size_t)add_bytes(ptx + n, PTX_BYTES - n, name, row->texts[k]);
        }
    ADD(".visible .entry k(.param .u64 out) {\n .local .align 8 .b8 buffer[64];\n .reg .b64 %%d<8>; .reg "
        ".b32 %%r<8>;\n"
        " .reg .pred %%p;\n mov.u32 %%r1, %%tid.x;\n setp.ne.u32 %%p, %%r1, 3;\n @%%p bra done;\n"
        " mov.u64 %%d2, buffer;\n cvta.local.u64 %%d3, %%d2;\n");
    for (unsigned k = 0; row->kinds[k]; k++) {
        bool wide = row->kinds[k] != 'i';
        uint64_t bits = (uint64_t)row->integers[k];
        at = wide ? (at + 7) & ~(size_t)7 : at;
        if (row->kinds[k] == 'd')
            memcpy(&bits, &row->doubles[k], 8);
        if (row->kinds[k] == 's')
            ADD(" mov.u64 %%d4, text%u;\n cvta.global.u64 %%d4, %%d4;\n", k);
        else
            ADD(" mov.u64 %%d4, 0x%llx;\n", (unsigned long long)bits);
        if (wide)
            ADD(" st.local.u64 [%%d2+%zu], %%d4;\n", at);
        else
            ADD(" cvt.u32.u64 %%r2, %%d4;\n st.local.u32 [%%d2+%zu], %%r2;\n", at);
        at += wide ? 8 : 4;
    }
    ADD(" mov.u64 %%d1, format;\n cvta.global.u64 %%d1, %%d1;\n {\n .param .b64 f; .param .b64 a; .param "
        ".b32 r;\n"
        " st.param.b64 [f], %%d1;\n st.param.b64 [a], %%d3;\n call.uni (r), vprintf, (f, a);\n"
        " ld.param.b32 %%r3, [r];\n }\n ld.param.u64 %%d5, [out];\n cvta.to.global.u64 %%d5, %%d5;\n"
        " st.global.u32 [%%d5], %%r3;\ndone:\n ret;\n}\n");
    return ptx;
}

/* ---- both executions ---- */

typedef struct {
    char text[TEXT_BYTES];
    size_t n;
    unsigned calls;
    uint32_t last_block[3], last_thread[3];
    char messages[1024];
} Seen;

static void on_print(void *user, const HdPrint *print) {
    Seen *seen = user;
    if (seen->n + print->size_bytes < TEXT_BYTES) {
        memcpy(seen->text + seen->n, print->text, print->size_bytes);
        seen->n += print->size_bytes;
    }
    seen->calls++;
    memcpy(seen->last_block, print->block, sizeof seen->last_block);
    memcpy(seen->last_thread, print->thread, sizeof seen->last_thread);
}

static void on_message(void *user, HdSeverity severity, const char *line) {
    Seen *seen = user;
    (void)severity;
    size_t n = strlen(seen->messages);
    snprintf(seen->messages + n, sizeof seen->messages - n, "%s\n", line);
}

/* target NULL: the interpreter */
static HdStatus run(const char *ptx, const char *target, unsigned threads, int32_t *out, size_t words,
                    Seen *seen) {
    *seen = (Seen){0};
    HdContext *context = hd_create(&(HdOptions){.message = on_message, .user = seen});
    HdModule *module = NULL, *binary = NULL;
    HdStatus status = hd_parse(context, "k.ptx", ptx, strlen(ptx), &module);
    assert_int_equal(status, HD_OK);
    HdArg arg = {.buffer = out, .size_bytes = words * sizeof *out};
    HdLaunch launch = {.grid = {BLOCKS, 1, 1},
                       .block = {threads, 1, 1},
                       .args = &arg,
                       .nargs = 1,
                       .print = on_print,
                       .print_user = seen};
    if (target) {
        status = hd_compile(module, &(HdCompileOptions){.target = target, .opt_level = 2}, &binary);
        if (status != HD_OK)
            print_message("%s", seen->messages);
        assert_int_equal(status, HD_OK);
        status = hd_launch(binary, &launch);
    } else {
        status = hd_interpret(module, &launch);
    }
    hd_destroy(context);
    return status;
}

static void formats(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *ptx = row_ptx(&rows[i]), expected[TEXT_BYTES];
        size_t bytes = host_text(&rows[i], expected);
        for (size_t t = 0; t <= sizeof targets / sizeof *targets; t++) {
            Seen seen;
            int32_t result = -7;
            HdStatus status = run(ptx, t ? targets[t - 1] : NULL, 5, &result, 1, &seen);
            if (status != HD_OK || seen.n != BLOCKS * bytes || memcmp(seen.text, expected, bytes) != 0)
                print_message("%s row %zu: \"%.*s\" for \"%s\"\n%s", t ? targets[t - 1] : "PTX", i,
                              (int)seen.n, seen.text, expected, seen.messages);
            assert_int_equal(status, HD_OK);
            assert_int_equal(seen.calls, BLOCKS);
            assert_int_equal(seen.n, BLOCKS * bytes);
            assert_memory_equal(seen.text, expected, bytes);
            assert_memory_equal(seen.text + bytes, expected, bytes);
            assert_int_equal(result, strlen(rows[i].kinds)); /* CUDA: the number of arguments parsed */
            assert_int_equal(seen.last_thread[0], 3);
            assert_int_equal(seen.last_block[0], 1);
        }
        free(ptx);
    }
}

/* ---- calls from functions and loops, values that live across them ---- */

static const char in_function[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 format[9] = {37, 100, 32, 37, 100, 32, 37, 100, 0};\n" /* "%d %d %d" */
    ".func (.param .b32 sum) say(.param .b32 x, .param .b32 y) {\n"
    " .local .align 8 .b8 b[16]; .reg .b64 %d<5>; .reg .b32 %r<6>;\n"
    " ld.param.u32 %r1, [x];\n ld.param.u32 %r2, [y];\n add.u32 %r3, %r1, %r2;\n"
    " mov.u64 %d1, b;\n cvta.local.u64 %d2, %d1;\n"
    " st.local.u32 [%d1], %r1;\n st.local.u32 [%d1+4], %r2;\n st.local.u32 [%d1+8], %r3;\n"
    " mov.u64 %d3, format;\n cvta.global.u64 %d3, %d3;\n"
    " { .param .b64 f; .param .b64 a; .param .b32 r;\n st.param.b64 [f], %d3;\n st.param.b64 [a], %d2;\n"
    " call (r), vprintf, (f, a);\n ld.param.b32 %r4, [r]; }\n"
    " add.u32 %r5, %r3, %r4;\n st.param.b32 [sum], %r5;\n ret;\n}\n"
    ".visible .entry k(.param .u64 out) {\n"
    " .reg .b64 %d<4>; .reg .b32 %r<9>; .reg .pred %p<3>;\n"
    " mov.u32 %r1, %tid.x;\n mov.u32 %r2, 0;\n mov.u32 %r3, 0;\n and.b32 %r6, %r1, 3;\n"
    "again:\n setp.ge.u32 %p1, %r2, %r6;\n @%p1 bra done;\n" /* thread t: t % 4 rounds */
    " { .param .b32 x; .param .b32 y; .param .b32 s;\n st.param.b32 [x], %r1;\n st.param.b32 [y], %r2;\n"
    " call (s), say, (x, y);\n ld.param.b32 %r4, [s]; }\n"
    " add.u32 %r3, %r3, %r4;\n add.u32 %r2, %r2, 1;\n bra again;\n"
    "done:\n ld.param.u64 %d1, [out];\n cvta.to.global.u64 %d1, %d1;\n"
    " mov.u32 %r7, %ctaid.x;\n mov.u32 %r8, %ntid.x;\n mad.lo.u32 %r7, %r7, %r8, %r1;\n"
    " mul.wide.u32 %d2, %r7, 4;\n add.u64 %d3, %d1, %d2;\n st.global.u32 [%d3], %r3;\n ret;\n}\n";

typedef struct {
    char text[BLOCKS][THREADS][64];
} ByThread;

static void on_thread(void *user, const HdPrint *print) {
    ByThread *all = user;
    char *text = all->text[print->block[0]][print->thread[0]];
    size_t n = strlen(text);
    assert_true(n + print->size_bytes < sizeof all->text[0][0]);
    memcpy(text + n, print->text, print->size_bytes);
}

static void functions_and_loops(void **state) {
    (void)state;
    for (size_t t = 0; t <= sizeof targets / sizeof *targets; t++)
        for (unsigned level = 0; level <= 2; level += 2) {
            ByThread *all = calloc(1, sizeof *all);
            int32_t out[BLOCKS * THREADS] = {0};
            HdContext *context = hd_create(NULL);
            HdModule *module = NULL, *binary = NULL;
            assert_int_equal(hd_parse(context, "k.ptx", in_function, strlen(in_function), &module), HD_OK);
            HdArg arg = {.buffer = out, .size_bytes = sizeof out};
            HdLaunch launch = {.grid = {BLOCKS, 1, 1},
                               .block = {THREADS, 1, 1},
                               .args = &arg,
                               .nargs = 1,
                               .print = on_thread,
                               .print_user = all};
            if (t) {
                HdCompileOptions options = {.target = targets[t - 1], .opt_level = level};
                assert_int_equal(hd_compile(module, &options, &binary), HD_OK);
                assert_int_equal(hd_launch(binary, &launch), HD_OK);
            } else {
                assert_int_equal(hd_interpret(module, &launch), HD_OK);
            }
            for (int block = 0; block < BLOCKS; block++)
                for (int thread = 0; thread < THREADS; thread++) {
                    char expected[64] = "";
                    int sum = 0;
                    for (int round = 0; round < thread % 4; round++) {
                        size_t n = strlen(expected);
                        snprintf(expected + n, sizeof expected - n, "%d %d %d", thread, round,
                                 thread + round);
                        sum += thread + round + 3;
                    }
                    assert_string_equal(all->text[block][thread], expected);
                    assert_int_equal(out[block * THREADS + thread], sum);
                }
            hd_destroy(context);
            free(all);
        }
}

/* ---- __assertfail, a format that is null, a bad address ---- */

static const char asserting[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func __assertfail(.param .b64 e, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);\n"
    ".global .align 1 .b8 expr[6] = {120, 32, 60, 32, 121, 0};\n" /* "x < y" */
    ".global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};\n"      /* "a.cu" */
    ".global .align 1 .b8 func[2] = {103, 0};\n"                  /* "g" */
    ".visible .entry k(.param .u64 out) {\n .reg .b64 %d<5>; .reg .b32 %r<3>; .reg .pred %p;\n"
    " mov.u32 %r1, %tid.x;\n setp.ne.u32 %p, %r1, 4;\n @%p bra done;\n"
    " mov.u64 %d1, expr;\n cvta.global.u64 %d1, %d1;\n mov.u64 %d2, file;\n cvta.global.u64 %d2, %d2;\n"
    " mov.u64 %d3, func;\n cvta.global.u64 %d3, %d3;\n mov.u64 %d4, 1;\n mov.u32 %r2, 77;\n"
    " { .param .b64 e; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c;\n st.param.b64 [e], %d1;\n"
    " st.param.b64 [f], %d2;\n st.param.b32 [l], %r2;\n st.param.b64 [n], %d3;\n st.param.b64 [c], %d4;\n"
    " call.uni __assertfail, (e, f, l, n, c); }\ndone:\n ret;\n}\n";

static void assertions(void **state) {
    (void)state;
    for (size_t t = 0; t <= sizeof targets / sizeof *targets; t++) {
        Seen seen;
        int32_t out = 0;
        assert_int_equal(run(asserting, t ? targets[t - 1] : NULL, 8, &out, 1, &seen), HD_ERR_TRAP);
        assert_non_null(strstr(seen.messages, "assertion failed"));
        assert_non_null(strstr(seen.messages, "a.cu:77: g: Assertion `x < y` failed"));
        assert_non_null(strstr(seen.messages, "thread (4,0,0)"));
    }
}

static char *call_with(const char *format_address) {
    char *ptx = malloc(PTX_BYTES);
    size_t n = 0;
    ADD(".version 7.0\n.target sm_75\n.address_size 64\n"
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
        ".visible .entry k(.param .u64 out) {\n .reg .b64 %%d<4>; .reg .b32 %%r<3>;\n mov.u64 %%d1, %s;\n"
        " mov.u64 %%d2, 0;\n { .param .b64 f; .param .b64 a; .param .b32 r;\n st.param.b64 [f], %%d1;\n"
        " st.param.b64 [a], %%d2;\n call.uni (r), vprintf, (f, a);\n ld.param.b32 %%r1, [r]; }\n"
        " ld.param.u64 %%d3, [out];\n st.global.u32 [%%d3], %%r1;\n ret;\n}\n",
        format_address);
    return ptx;
}

static void bad_formats(void **state) {
    (void)state;
    char *null = call_with("0"), *wild = call_with("0x123456");
    for (size_t t = 0; t <= sizeof targets / sizeof *targets; t++) {
        Seen seen;
        int32_t out = 0;
        assert_int_equal(run(null, t ? targets[t - 1] : NULL, 1, &out, 1, &seen), HD_OK);
        assert_int_equal(out, -1);
        assert_int_equal(seen.calls, 0);
        assert_int_equal(run(wild, t ? targets[t - 1] : NULL, 1, &out, 1, &seen), HD_ERR_TRAP);
        assert_non_null(strstr(seen.messages, "out of range"));
    }
    free(null);
    free(wild);
}

/* ---- malloc, free ---- */

/* Each thread: two pieces of 24 and 4 KiB, filled with its number, summed up, one freed; `twice` frees it
 * again. */
static char *heap_ptx(unsigned bytes, bool twice) {
    char *ptx = malloc(PTX_BYTES);
    size_t n = 0;
    ADD(".version 7.0\n.target sm_75\n.address_size 64\n.extern .func (.param .b64 r) malloc(.param .b64 "
        "n);\n"
        ".extern .func free(.param .b64 p);\n"
        ".visible .entry k(.param .u64 out) {\n .reg .b64 %%d<9>; .reg .b32 %%r<9>; .reg .pred %%p;\n"
        " mov.u32 %%r1, %%tid.x;\n mov.u32 %%r5, -1;\n mov.u64 %%d1, %u;\n"
        " { .param .b64 n; .param .b64 r; st.param.b64 [n], %%d1; call.uni (r), malloc, (n);\n"
        " ld.param.b64 %%d2, [r]; }\n"
        " { .param .b64 n; .param .b64 r; st.param.b64 [n], 24; call.uni (r), malloc, (n);\n"
        " ld.param.b64 %%d3, [r]; }\n"
        " setp.eq.u64 %%p, %%d2, 0;\n @%%p bra store;\n"
        " st.u32 [%%d2+%u], %%r1;\n st.u32 [%%d2], %%r1;\n add.u32 %%r2, %%r1, 1000;\n st.u32 [%%d3+20], "
        "%%r2;\n"
        " bar.sync 0;\n ld.u32 %%r3, [%%d2+%u];\n ld.u32 %%r4, [%%d3+20];\n add.u32 %%r5, %%r3, %%r4;\n"
        " { .param .b64 p; st.param.b64 [p], %%d2; call.uni free, (p); }\n",
        bytes, bytes - 4, bytes - 4);
    if (twice)
        ADD(" { .param .b64 p; st.param.b64 [p], %%d2; call.uni free, (p); }\n");
    ADD("store:\n ld.param.u64 %%d4, [out];\n mul.wide.u32 %%d5, %%r1, 4;\n add.u64 %%d6, %%d4, %%d5;\n"
        " st.global.u32 [%%d6], %%r5;\n ret;\n}\n");
    return ptx;
}

static void heap(void **state) {
    (void)state;
    char *small = heap_ptx(4096, false), *large = heap_ptx(9u << 20, false), *twice = heap_ptx(64, true);
    for (size_t t = 0; t <= sizeof targets / sizeof *targets; t++) {
        Seen seen;
        int32_t out[THREADS] = {0};
        const char *target = t ? targets[t - 1] : NULL;
        assert_int_equal(run(small, target, THREADS, out, THREADS, &seen), HD_OK);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(out[i], 2 * i + 1000);
        assert_int_equal(run(large, target, THREADS, out, THREADS, &seen), HD_OK);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(out[i], -1); /* more than the heap: null */
        assert_int_equal(run(twice, target, 1, out, THREADS, &seen), HD_ERR_TRAP);
        assert_non_null(strstr(seen.messages, "free of what malloc did not give"));
    }
    free(small);
    free(large);
    free(twice);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(formats), cmocka_unit_test(functions_and_loops),
                                       cmocka_unit_test(assertions), cmocka_unit_test(bad_formats),
                                       cmocka_unit_test(heap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
