/* Bad input ends in a diagnostic: truncations, byte mutations, deep nesting, huge numbers, binary.
 * SPDX-License-Identifier: MIT */
#include "common.h"
#include <time.h>

static const char sample[] = HEADER
    "/* c */ .file 1 \"a\"\n.global .u32 g[2][2] = {{1, 2}, {(3+4)*5, WARP_SZ}};\n.extern .shared .b8 "
    "dyn[];\n"
    ".global .u64 adr[2] = {g, generic(g)+4}; .global .u8 m[1] = {0xFF00(g)};\n"
    ".func (.param .b32 r) f(.param .b32 a, .reg .f32 b) .noreturn;\n"
    ".visible .entry k(.param .u64 .ptr .global .align 4 p) .maxntid 128, 1, 1 {\n"
    ".reg .b32 %r<9>, x; .reg .pred %p<4>; .reg .v4 .f32 v; .reg .b64 %d<9>; .param .b32 q, o; .loc 1 2 3\n"
    "L: @!%p1 bra L; { .reg .b32 x; mov.u32 x, %tid.x; bra M; M: }\n"
    "ld.global.v4.f32 {v.x, _, v.z, v.w}, [%d1+-16]; setp.lt.and.s32 %p1|%p2, %r1, 0x10, !%p3;\n"
    "T: .branchtargets L, E; brx.idx %r1, T; P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    "call (o), %d1, (q), P; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {v.x}, {x}, {x}, {v.x};\n"
    "add.f32 v.x, v.y, 0f3F800000; mov.b64 {%r1, %r2}, %d1; tex.2d.v4.f32.s32 v, [adr, {%r1, %r2}];\n"
    "E: ret; }\n.section .debug_str { .b8 1 }\n";

typedef struct {
    size_t size;
    unsigned without; /* errors that do not say where the PTX ISA document has it */
} Heard;

/* Every error names a section of the document; that of all instructions only where the opcode is unknown. */
static void listen(void *user, Severity severity, const char *line) {
    Heard *said = user;
    said->size += strlen(line);
    const char *place = strstr(line, " (PTX ISA ");
    bool good = place && place[10] >= '1' && place[10] <= '9';
    if (good && !strncmp(place + 10, "9.7 instructions", strlen("9.7 instructions")))
        good = strstr(line, "error E0105") != NULL;
    if (severity == SEV_ERROR && !good && ++said->without)
        print_message("%s", line);
}

/* Parse whatever it is; a module is returned exactly when no error was reported. */
static bool swallow(const char *text, size_t size) {
    Heard said = {0};
    Diags d = {.sink = listen, .user = &said};
    char *exact = malloc(size + 1); /* so that reading past the end is seen by the sanitizer */
    assert_non_null(exact);
    memcpy(exact, text, size);
    PtxModule *m = ptx_parse("x", exact, size, &d);
    assert_int_equal(m != NULL, d.nerrors == 0);
    assert_true(d.nerrors == 0 || said.size > 0);
    assert_int_equal(said.without, 0);
    if (m) {
        char *out;
        size_t n;
        if (ptx_print(m, &out, &n))
            free(out);
    }
    ptx_free(m);
    free(exact);
    return m != NULL;
}

static void truncations(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof sample; n++)
        swallow(sample, n);
}

static uint64_t next_random(uint64_t *s) { /* xorshift64 */
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void mutations(void **state) {
    (void)state;
    static const char *const words[] = {
        "{",    "}",  "(",  ")",  "[",           "]", ";", ",", "<", ".v4", "%r",     "-",       "%r1",
        ".b32", "0x", "\"", "/*", "99999999999", "|", "_", "@", "!", ":",   ".param", "generic("};
    uint64_t seed = 88172645463325252u;
    char text[sizeof sample + 64];
    for (unsigned round = 0; round < 4000; round++) {
        size_t n = sizeof sample - 1;
        memcpy(text, sample, sizeof sample);
        for (unsigned k = 0, edits = 1 + (unsigned)(next_random(&seed) % 3); k < edits; k++) {
            size_t at = next_random(&seed) % n;
            const char *w = words[next_random(&seed) % (sizeof words / sizeof *words)];
            switch (next_random(&seed) % 4) {
            case 0: text[at] = (char)next_random(&seed); break;
            case 1: memmove(text + at, text + at + 1, n-- - at); break;
            case 2: text[at] = text[next_random(&seed) % n]; break;
            default:
                if (n + strlen(w) >= sizeof text)
                    break;
                memmove(text + at + strlen(w), text + at, n - at);
                memcpy(text + at, w, strlen(w));
                n += strlen(w);
            }
        }
        swallow(text, n);
    }
}

static void repeated(const char *before, const char *unit, size_t times, const char *after) {
    size_t n = strlen(before), u = strlen(unit), a = strlen(after);
    char *text = malloc(n + u * times + a + 1);
    assert_non_null(text);
    memcpy(text, before, n);
    for (size_t i = 0; i < times; i++)
        memcpy(text + n + i * u, unit, u);
    memcpy(text + n + u * times, after, a + 1);
    assert_false(swallow(text, n + u * times + a));
    free(text);
}

static void nesting(void **state) {
    (void)state;
    repeated(HEADER ".entry k() ", "{", 100000, "ret; }");
    repeated(HEADER ".global .u32 x = ", "(", 100000, "1;");
    repeated(HEADER ".global .u32 x = ", "-", 100000, "1;");
    repeated(HEADER ".global .u32 x = ", "1?", 100000, "1;");
    repeated(HEADER ".global .u32 x = ", "1+(", 100000, "1;");
    repeated(HEADER ".global .u32 x[1] = ", "{", 100000, "1;");
    repeated(HEADER ".global .u32 x", "[1]", 100000, ";");
    repeated(HEADER ".entry k() { mov.b32 x, ", "{", 100000, "; }");
    repeated(HEADER ".entry k() { mov.b32 x, ", "[1,", 100000, "; }");
    repeated(HEADER ".entry k() { add", ".s32", 100000, " x; }");
    repeated(HEADER ".entry k() { add", " .s32", 100000, " x; }");
    repeated(HEADER ".entry k() { ", "x: ", 30000, "}");
    repeated(HEADER ".target ", "debug,", 100000, "x");
    repeated("", "\377\376", 100000, "");
    repeated(HEADER, "}", 100000, "{");
    repeated(HEADER ".entry k() { ", "foo { bar ", 100000, "}");
}

static void huge(void **state) {
    (void)state;
    assert_true(swallow(KERNEL(".reg .b32 %r<4294967295>;"), strlen(KERNEL(".reg .b32 %r<4294967295>;"))));
    static const char *const bad[] = {
        HEADER ".global .u64 x[4294967295][4294967295];",
        HEADER ".global .b8 x[99999999999999999999];",
        HEADER ".file 4294967295 \"a\"",
        HEADER ".entry k(.param .b8 x[4294967295]) { ret; }",
        HEADER ".global .u32 x[2000000000][2] = {{1}, {2}, {3}};",
        KERNEL(".loc 99999999999 1 1"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(swallow(bad[i], strlen(bad[i])), i == 4);
}

/* 20 errors are delivered, however many there are. */
/* One NUL may end the text, and is nowhere else. */
static void ends_with_nul(void **state) {
    (void)state;
    static const char one[] = HEADER ".entry k() { ret; }\n\0", two[] = HEADER ".entry k() { ret; }\n\0\0",
                      inside[] = HEADER ".entry k() {\0 ret; }\n";
    assert_true(swallow(one, sizeof one - 1));
    assert_false(swallow(two, sizeof two - 1));
    assert_false(swallow(inside, sizeof inside - 1));
}

static void error_limit(void **state) {
    (void)state;
    char text[8192] = HEADER ".entry k() {\n";
    for (unsigned i = 0; i < 100; i++)
        strcat(text, "mov.u32 nothing, 0;\n");
    strcat(text, "}\n");
    Heard said = {0};
    Diags d = {.sink = listen, .user = &said};
    assert_null(ptx_parse("x", text, strlen(text), &d));
    assert_int_equal(d.nerrors, DIAG_MAX_ERRORS);
}

/* CPU time grows with the size, not with its square: 16 times the input in less than 64 times the time. */
static double seconds(unsigned functions) {
    size_t cap = 400 + (size_t)functions * 900, n;
    char *text = malloc(cap);
    assert_non_null(text);
    n = (size_t)snprintf(text, cap, "%s", HEADER);
    for (unsigned f = 0; f < functions; f++) {
        n +=
            (size_t)snprintf(text + n, cap - n,
                             ".global .u32 v%u;\n.func f%u() { .reg .b32 %%r<99>; { .reg .b32 t<2>;\n", f, f);
        for (unsigned i = 0; i < 16; i++)
            n += (size_t)snprintf(text + n, cap - n, "L%u: add.s32 %%r%u, t1, %u;\n", i, i + f % 50, f);
        n += (size_t)snprintf(text + n, cap - n, "} ret; }\n");
    }
    clock_t start = clock();
    assert_true(swallow(text, n));
    free(text);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void linear_time(void **state) {
    (void)state;
    bool linear = false;
    for (unsigned round = 0; round < 5 && !linear; round++) { /* others may empty the caches */
        double small = seconds(500), large = seconds(8000);
        print_message("500 functions %.4f s, 8000 functions %.4f s\n", small, large);
        linear = large < 64 * (small + 0.002);
    }
    assert_true(linear);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncations), cmocka_unit_test(mutations),     cmocka_unit_test(nesting),
        cmocka_unit_test(huge),        cmocka_unit_test(ends_with_nul), cmocka_unit_test(error_limit),
        cmocka_unit_test(linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
