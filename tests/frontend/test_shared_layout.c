/* Where shared and constant variables lie: numbers read off ptxas 13.0's code for the same text, and, for
 * random modules, what must hold of any layout. SPDX-License-Identifier: MIT */
#include "common.h"
#include "frontend/const_layout.h"
#include "frontend/shared_layout.h"

static uint64_t at(const PtxModule *module, const SharedLayout *layout, const char *func, const char *var) {
    uint32_t f = ptx_find_func(module, func), v = ptx_find_var(module, var);
    for (uint32_t k = 0; k < module->funcs[f - 1].nvars && !v; k++)
        if (strcmp(str_text(&module->strings, module->vars[module->funcs[f - 1].vars[k]].name), var) == 0)
            v = module->funcs[f - 1].vars[k] + 1;
    assert_true(f && v);
    return ptx_shared_offset(layout, f - 1, v - 1);
}

static uint64_t bytes(const PtxModule *module, const SharedLayout *layout, const char *kernel) {
    return layout->funcs[ptx_find_func(module, kernel) - 1].static_bytes;
}

/* sm_80: STS [0x24] is B of kb, and so on; .nv.shared.kb has 0x30 bytes, .nv.shared.kd 0x10. */
static void kernels_of_ptxas(void **state) {
    (void)state;
    PtxModule *m = parse(
        HEADER ".shared .align 4 .b8 A[4];\n.shared .align 16 .b8 C[16];\n.shared .align 1 .b8 E[1];\n"
               ".shared .align 4 .b8 B[8];\n.extern .shared .align 16 .b8 D[];\n"
               ".entry kb() { .reg .b32 %r; .shared .align 8 .b8 L[8]; .shared .align 2 .b8 M[2];\n"
               "st.shared.u32 [B], %r; st.shared.u32 [C], %r; st.shared.u8 [E], %r; st.shared.u32 [A], %r;\n"
               "st.shared.u32 [D], %r; st.shared.u32 [L], %r; ret; }\n"
               ".entry kd() { .reg .b32 %r; .shared .align 2 .b8 M[2];\n"
               "st.shared.u16 [M], %r; st.shared.u32 [D], %r; ret; }\n"
               ".entry kn() { ret; }\n");
    Arena arena = {0};
    SharedLayout layout = ptx_shared_layout(m, &arena);
    assert_int_equal(at(m, &layout, "kb", "L"), 0);
    assert_int_equal(at(m, &layout, "kb", "M"), 8);
    assert_int_equal(at(m, &layout, "kb", "A"), 0xc);
    assert_int_equal(at(m, &layout, "kb", "C"), 0x10);
    assert_int_equal(at(m, &layout, "kb", "E"), 0x20);
    assert_int_equal(at(m, &layout, "kb", "B"), 0x24);
    assert_int_equal(at(m, &layout, "kb", "D"), 0x30);
    assert_int_equal(bytes(m, &layout, "kb"), 0x30);
    assert_int_equal(at(m, &layout, "kd", "M"), 0);
    assert_int_equal(at(m, &layout, "kd", "D"), 0x10);
    assert_int_equal(bytes(m, &layout, "kd"), 0x10);
    assert_int_equal(bytes(m, &layout, "kn"), 0);
    arena_free(&arena);
    ptx_free(m);
}

/* A function of two kernels finds its variable at one place, and kernels share the rest. */
static void functions(void **state) {
    (void)state;
    PtxModule *m =
        parse(HEADER ".shared .align 4 .b8 A[40000];\n.shared .align 4 .b8 B[40000];\n"
                     ".shared .align 4 .b8 F[600];\n.extern .shared .align 64 .b8 D[];\n"
                     ".func f() { .reg .b32 %r; st.shared.u32 [F], %r; st.shared.u32 [D], %r; ret; }\n"
                     ".func g() { .reg .b32 %r; st.shared.u32 [B], %r; ret; }\n"
                     ".func dead() { .reg .b32 %r; st.shared.u32 [A], %r; ret; }\n"
                     ".entry ka() { .reg .b32 %r; st.shared.u32 [A], %r; call f; ret; }\n"
                     ".entry kb() { call g; call f; ret; }\n"
                     ".entry kc() { .reg .b32 %r; st.shared.u32 [F], %r; ret; }\n");
    Arena arena = {0};
    SharedLayout layout = ptx_shared_layout(m, &arena);
    uint64_t f = at(m, &layout, "f", "F"), d = at(m, &layout, "f", "D");
    assert_true(f == at(m, &layout, "ka", "F") && f == at(m, &layout, "kb", "F"));
    assert_true(f == at(m, &layout, "kc", "F"));
    assert_int_equal(at(m, &layout, "ka", "A"), 600);
    assert_int_equal(at(m, &layout, "kb", "B"), 600);
    assert_int_equal(at(m, &layout, "g", "B"), 600);
    assert_true(d == 40640 && d == at(m, &layout, "ka", "D") && d == at(m, &layout, "kb", "D"));
    assert_int_equal(bytes(m, &layout, "ka"), 40640);
    assert_int_equal(bytes(m, &layout, "kc"), 600);
    arena_free(&arena);
    ptx_free(m);
}

/* ---- any module ---- */
enum { NVARS = 12, NFUNCS = 6, NKERNELS = 5, NALL = NFUNCS + NKERNELS };
typedef struct {
    bool names[NALL][NVARS], calls[NALL][NFUNCS], taken[NFUNCS], unknown[NALL];
    uint32_t size[NVARS], align[NVARS];
} Random;

static uint64_t seed = 1;
static uint32_t below(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static char *module_text(const Random *r) {
    static char text[1 << 16];
    size_t n = 0;
#define PUT(...) n += (size_t)snprintf(text + n, sizeof text - n, __VA_ARGS__)
    PUT(HEADER);
    for (unsigned v = 0; v < NVARS; v++)
        PUT(v == 0 ? ".extern .shared .align %u .b8 v%u[];\n" : ".shared .align %u .b8 v%u[%u];\n",
            r->align[v], v, r->size[v]);
    for (unsigned f = 0; f < NFUNCS; f++)
        PUT(".func f%u();\n", f);
    PUT(".global .align 8 .u64 table[%u] = {0", NFUNCS + 1);
    for (unsigned f = 0; f < NFUNCS; f++)
        if (r->taken[f])
            PUT(", f%u", f);
    PUT("};\n");
    for (unsigned f = 0; f < NALL; f++) {
        PUT("%s %s%u()\n{\n.reg .b64 %%d;\n.reg .b32 %%r;\nP: .callprototype _ ();\n",
            f < NFUNCS ? ".func" : ".entry", f < NFUNCS ? "f" : "k", f < NFUNCS ? f : f - NFUNCS);
        for (unsigned v = 0; v < NVARS; v++)
            if (r->names[f][v])
                PUT("mov.u32 %%r, v%u;\n", v);
        for (unsigned c = 0; c < NFUNCS; c++)
            if (r->calls[f][c])
                PUT("call f%u;\n", c);
        if (r->unknown[f])
            PUT("call %%d, (), P;\n");
        PUT("ret;\n}\n");
    }
#undef PUT
    return text;
}

/* What kernel k reaches, by rounds over all functions. */
static void reached_by(const Random *r, unsigned kernel, bool *reached) {
    memset(reached, 0, NALL);
    reached[NFUNCS + kernel] = true;
    for (unsigned round = 0; round < NALL; round++)
        for (unsigned f = 0; f < NALL; f++)
            for (unsigned c = 0; c < NFUNCS; c++)
                reached[c] |= reached[f] && (r->calls[f][c] || (r->unknown[f] && r->taken[c]));
}

static void check_kernel(const Random *r, const PtxModule *m, const SharedLayout *layout, unsigned kernel) {
    bool reached[NALL], has[NVARS] = {false};
    uint64_t place[NVARS] = {0};
    char name[8];
    reached_by(r, kernel, reached);
    for (unsigned f = 0; f < NALL; f++)
        for (unsigned v = 0; v < NVARS; v++) {
            char var[8];
            if (!reached[f] || !r->names[f][v])
                continue;
            snprintf(name, sizeof name, "%s%u", f < NFUNCS ? "f" : "k", f < NFUNCS ? f : f - NFUNCS);
            snprintf(var, sizeof var, "v%u", v);
            uint64_t here = at(m, layout, name, var);
            assert_true(!has[v] || place[v] == here); /* one place for all code that the kernel runs */
            has[v] = true, place[v] = here;
        }
    snprintf(name, sizeof name, "k%u", kernel);
    uint64_t end = 0, most = bytes(m, layout, name);
    for (unsigned v = 0; v < NVARS; v++) {
        assert_int_equal(has[v] ? place[v] % r->align[v] : 0, 0);
        for (unsigned w = 1; v && w < v; w++)
            assert_true(!has[v] || !has[w] || place[v] + r->size[v] <= place[w] ||
                        place[w] + r->size[w] <= place[v]);
        if (v && has[v] && place[v] + r->size[v] > end)
            end = place[v] + r->size[v];
    }
    assert_true(end <= most);
    if (has[0])
        assert_int_equal(place[0], most); /* the launch's part begins there */
}

static void random_modules(void **state) {
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        Random r = {0};
        for (unsigned v = 0; v < NVARS; v++)
            r.size[v] = 1 + below(200), r.align[v] = 1u << below(v ? 6 : 8);
        for (unsigned f = 0; f < NALL; f++) {
            for (unsigned v = 0; v < NVARS; v++)
                r.names[f][v] = below(5) == 0;
            for (unsigned c = 0; c < NFUNCS; c++)
                r.calls[f][c] = below(6) == 0;
            r.unknown[f] = below(6) == 0;
        }
        for (unsigned f = 0; f < NFUNCS; f++)
            r.taken[f] = below(3) == 0;
        PtxModule *m = parse(module_text(&r));
        Arena arena = {0};
        SharedLayout layout = ptx_shared_layout(m, &arena);
        for (unsigned k = 0; k < NKERNELS; k++)
            check_kernel(&r, m, &layout, k);
        arena_free(&arena);
        ptx_free(m);
    }
}

/* Constant variables are aligned and apart, whatever their sizes and linkage. */
static void random_constants(void **state) {
    (void)state;
    static char text[1 << 14];
    for (unsigned round = 0; round < 100; round++) {
        size_t n = (size_t)snprintf(text, sizeof text, HEADER);
        for (unsigned v = 0; v < NVARS; v++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s.const .align %u .b8 c%u[%u];\n",
                                  below(2) ? ".visible " : "", 1u << below(8), v, 1 + below(200));
        PtxModule *m = parse(text);
        uint64_t place[NVARS] = {0}, end = ptx_const_layout(m, 1 << 16, place);
        assert_int_equal(m->nvars, NVARS);
        for (unsigned v = 0; v < NVARS; v++) {
            assert_int_equal(place[v] % m->vars[v].align_bytes, 0);
            assert_true(place[v] + m->vars[v].size_bytes <= end);
            for (unsigned w = 0; w < v; w++)
                assert_true(place[v] + m->vars[v].size_bytes <= place[w] ||
                            place[w] + m->vars[w].size_bytes <= place[v]);
        }
        ptx_free(m);
    }
}

#define CONSTANTS                                                                                            \
    ".const .align 4 .u32 a = 1;\n.visible .const .align 4 .u32 b = 2;\n.const .align 8 .u64 c = 3;\n"       \
    ".visible .const .align 1 .u8 d = 4;\n.const .align 1 .u8 e = 5;\n.weak .const .align 4 .u32 f = 6;\n"   \
    ".const .align 16 .b8 g[16] = {7};\n.visible .const .align 2 .u16 h = 8;\n"
enum { NCONSTANTS = 8 };
/* ... a to h, as the symbols of a kernel that reads all of them say */
static const uint64_t constant_places[NCONSTANTS] = {0x10, 0, 0x18, 4, 0x20, 8, 0x30, 0xc};

/* ptxas 13.0, sm_80 and sm_90: .nv.constant3 has the variables with linkage first, then the others, each
 * group in the order of the text. */
static void constants_of_ptxas(void **state) {
    (void)state;
    PtxModule *m = parse(HEADER CONSTANTS);
    uint64_t place[NCONSTANTS];
    assert_int_equal(m->nvars, NCONSTANTS);
    ptx_const_layout(m, 1 << 16, place);
    for (unsigned v = 0; v < NCONSTANTS; v++)
        assert_int_equal(place[v], constant_places[v]);
    ptx_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_constants), cmocka_unit_test(constants_of_ptxas),
        cmocka_unit_test(kernels_of_ptxas), cmocka_unit_test(functions), cmocka_unit_test(random_modules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
