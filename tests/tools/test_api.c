/* The public library, as a user links it. Expected buffer contents are computed here.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <heddle.h>
#include <string.h>

static const char ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)\n{\n"
    "  .reg .u64 %rd<6>;\n  .reg .u32 %r<6>;\n  .reg .f32 %f<6>;\n  .reg .pred %p;\n"
    "  ld.param.u64 %rd1, [x];\n  ld.param.u64 %rd2, [y];\n  ld.param.f32 %f1, [a];\n"
    "  ld.param.u32 %r1, [n];\n  mov.u32 %r2, %tid.x;\n  mov.u32 %r3, %ctaid.x;\n"
    "  mov.u32 %r4, %ntid.x;\n  mad.lo.u32 %r2, %r3, %r4, %r2;\n  setp.ge.u32 %p, %r2, %r1;\n"
    "  @%p bra done;\n  mul.wide.u32 %rd3, %r2, 4;\n  add.u64 %rd4, %rd1, %rd3;\n"
    "  add.u64 %rd5, %rd2, %rd3;\n  ld.global.f32 %f2, [%rd4];\n  ld.global.f32 %f3, [%rd5];\n"
    "  fma.rn.f32 %f3, %f1, %f2, %f3;\n  st.global.f32 [%rd5], %f3;\ndone:\n  ret;\n}\n";
enum { N = 100 };

typedef struct {
    char text[4096];
    int errors;
} Log;

static void log_message(void *user, HdSeverity severity, const char *text) {
    Log *log = user;
    log->errors += severity == HD_ERROR;
    strncat(log->text, text, sizeof log->text - strlen(log->text) - 1);
}

typedef struct {
    Log log;
    HdContext *c;
    HdModule *ptx, *binary;
    float x[N], y[N], a;
    uint32_t n;
    HdArg args[4];
    HdLaunch launch;
} World;

static void open_world(World *world) {
    memset(world, 0, sizeof *world);
    world->c = hd_create(&(HdOptions){.message = log_message, .user = &world->log});
    if (hd_parse(world->c, "axpy.ptx", ptx, sizeof ptx - 1, &world->ptx) != HD_OK ||
        hd_compile(world->ptx, NULL, &world->binary) != HD_OK)
        fail_msg("%s", world->log.text);
    for (int i = 0; i < N; i++) {
        world->x[i] = (float)i;
        world->y[i] = 1000;
    }
    world->a = 0.5f;
    world->n = N - 1;
    world->args[0] = (HdArg){.buffer = world->x, .size_bytes = sizeof world->x};
    world->args[1] = (HdArg){.buffer = world->y, .size_bytes = sizeof world->y};
    world->args[2] = (HdArg){.value = &world->a, .size_bytes = sizeof world->a};
    world->args[3] = (HdArg){.value = &world->n, .size_bytes = sizeof world->n};
    world->launch = (HdLaunch){.grid = {2, 1, 1}, .block = {64, 1, 1}, .args = world->args, .nargs = 4};
}

static void expect_result(const World *world) {
    for (int i = 0; i < N; i++)
        assert_true(world->y[i] == (i < N - 1 ? 1000 + 0.5f * (float)i : 1000));
}

static void test_launch(void **state) {
    (void)state;
    World w;
    open_world(&w);
    if (hd_launch(w.binary, &w.launch) != HD_OK)
        fail_msg("%s", w.log.text);
    expect_result(&w);
    hd_destroy(w.c);
}

static void test_interpret(void **state) {
    (void)state;
    World w;
    open_world(&w);
    if (hd_interpret(w.ptx, &w.launch) != HD_OK)
        fail_msg("%s", w.log.text);
    expect_result(&w);
    hd_destroy(w.c);
}

static void test_profile(void **state) {
    (void)state;
    World w;
    char *one = NULL, *two = NULL;
    HdModule *binary = NULL;
    open_world(&w);
    if (hd_profile(w.ptx, &w.launch, NULL, &one) != HD_OK)
        fail_msg("%s", w.log.text);
    expect_result(&w);
    assert_non_null(strstr(one, "\"warps\":\t4")); /* two blocks of two warps */
    w.launch.grid[0] = 1;
    assert_int_equal(hd_profile(w.ptx, &w.launch, one, &two), HD_OK);
    assert_non_null(strstr(two, "\"warps\":\t6"));
    w.launch.grid[0] = 2;
    for (int i = 0; i < N; i++)
        w.y[i] = 1000;
    HdCompileOptions options = {.opt_level = 2, .profile = two};
    assert_int_equal(hd_compile(w.ptx, &options, &binary), HD_OK);
    assert_int_equal(hd_launch(binary, &w.launch), HD_OK);
    expect_result(&w);
    options.profile = "{}";
    assert_int_equal(hd_compile(w.ptx, &options, &binary), HD_ERR_INPUT);
    assert_null(binary);
    assert_non_null(strstr(w.log.text, "E0505"));
    hd_free(two);
    two = one;
    assert_int_equal(hd_profile(w.ptx, &w.launch, "[", &two), HD_ERR_INPUT);
    assert_null(two);
    assert_int_equal(hd_profile(w.ptx, &w.launch, NULL, NULL), HD_ERR_USAGE);
    assert_int_equal(hd_profile(w.binary, &w.launch, NULL, &two), HD_ERR_USAGE);
    assert_int_equal(hd_profile(w.ptx, NULL, NULL, &two), HD_ERR_USAGE);
    hd_free(one);
    hd_destroy(w.c);
}

static void test_validate(void **state) {
    (void)state;
    World w;
    char *report = NULL;
    open_world(&w);
    assert_int_equal(hd_validate(w.ptx, w.binary, &w.launch, &report), HD_OK);
    assert_non_null(strstr(report, "equal"));
    assert_true(w.y[5] == 1000); /* buffers are left alone */
    hd_free(report);
    hd_destroy(w.c);
}

/* Turns until 100 ticks of the clock have passed: how many is open, what STEP adds is not. */
#define SPIN(step)                                                                                           \
    ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 o)\n{\n"                   \
    " .reg .u32 i, x, y, n; .reg .u64 p; .reg .pred q;\n"                                                    \
    " ld.param.u64 p, [o]; mov.u32 i, %tid.x; mad.wide.u32 p, i, 8, p; mov.u32 n, 0; mov.u32 x, %clock;\n"   \
    "L: add.u32 n, n, 1; mov.u32 y, %clock; sub.u32 y, y, x; setp.lt.u32 q, y, 100; @q bra L;\n"             \
    " add.u32 i, i, " step "; st.global.u32 [p], n; st.global.u32 [p + 4], i; ret;\n}\n"

/* A difference that the clock leaves open is none, any other is: as `heddle validate` says. */
static void test_validate_open(void **state) {
    (void)state;
    static const char one[] = SPIN("1"), two[] = SPIN("2");
    HdModule *first, *second, *right, *wrong;
    uint32_t cells[128] = {0};
    HdArg arg = {.buffer = cells, .size_bytes = sizeof cells};
    HdLaunch launch = {.grid = {1, 1, 1}, .block = {64, 1, 1}, .args = &arg, .nargs = 1};
    HdContext *c = hd_create(NULL);
    assert_int_equal(hd_parse(c, "one.ptx", one, sizeof one - 1, &first), HD_OK);
    assert_int_equal(hd_parse(c, "two.ptx", two, sizeof two - 1, &second), HD_OK);
    assert_int_equal(hd_compile(first, NULL, &right), HD_OK);
    assert_int_equal(hd_compile(second, NULL, &wrong), HD_OK);
    for (unsigned limited = 0; limited < 2; limited++) {
        char *report = NULL;
        launch.max_steps = limited ? 1 << 20 : 0;
        assert_int_equal(hd_validate(first, right, &launch, &report), HD_OK);
        assert_non_null(strstr(report, "k: order-dependent"));
        hd_free(report);
        assert_int_equal(hd_validate(first, wrong, &launch, &report), HD_ERR_DIFFERENT);
        assert_non_null(strstr(report, "k: differs"));
        hd_free(report);
        assert_int_equal(hd_validate(first, right, &launch, NULL), HD_OK);
    }
    for (launch.max_steps = 10; launch.max_steps < 3000;
         launch.max_steps *= 2) /* both, then the interpreter */
        assert_int_equal(hd_validate(first, right, &launch, NULL), HD_ERR_LIMIT);
    for (unsigned k = 0; k < 128; k++)
        assert_int_equal(cells[k], 0);
    hd_destroy(c);
}

/* The page is one HTML text with the instructions that disassembly shows; with a launch it has lanes, and
 * buffers stay. */
static void test_page(void **state) {
    (void)state;
    World w;
    char *plain = NULL, *same = NULL, *run = NULL;
    open_world(&w);
    assert_int_equal(hd_report(w.ptx, NULL, HD_REPORT_HTML, &plain), HD_OK);
    assert_memory_equal(plain, "<!DOCTYPE html>", 15);
    assert_non_null(strstr(plain, "FFMA"));
    assert_null(strstr(plain, "Lanes over time"));
    assert_int_equal(hd_page(w.ptx, NULL, NULL, &same), HD_OK);
    assert_string_equal(plain, same);
    hd_free(same);
    assert_int_equal(hd_page(w.ptx, NULL, &(HdPageOptions){.launch = &w.launch}, &run), HD_OK);
    assert_non_null(strstr(run, "Lanes over time"));
    assert_non_null(strstr(run, "1 launch of the kernel run"));
    assert_true(w.y[0] == 1000 && w.y[1] == 1000);
    hd_free(run);
    assert_int_equal(hd_page(w.ptx, NULL, &(HdPageOptions){.kernel = "axpy", .infer = true, .seed = 1}, &run),
                     HD_OK);
    assert_non_null(strstr(run, "inferred launch"));
    hd_free(run);
    w.launch.nargs = 3;
    assert_int_equal(hd_page(w.ptx, NULL, &(HdPageOptions){.launch = &w.launch}, &run), HD_ERR_INPUT);
    assert_null(run);
    assert_int_equal(hd_page(w.ptx, NULL, &(HdPageOptions){.kernel = "none"}, &run), HD_ERR_INPUT);
    assert_non_null(strstr(w.log.text, "axpy"));
    assert_int_equal(hd_page(w.ptx, NULL, &(HdPageOptions){.launch = &w.launch, .infer = true}, &run),
                     HD_ERR_USAGE);
    assert_int_equal(hd_report(w.ptx, NULL, HD_REPORT_SARIF, &run), HD_ERR_USAGE);
    assert_int_equal(hd_page(w.ptx, &(HdCompileOptions){.target = "none"}, NULL, &run), HD_ERR_USAGE);
    assert_int_equal(hd_page(NULL, NULL, NULL, &run), HD_ERR_USAGE);
    hd_free(plain);
    hd_destroy(w.c);
}

static void test_prove(void **state) {
    (void)state;
    World w;
    char *report = NULL;
    open_world(&w);
    assert_int_equal(hd_prove(w.ptx, w.binary, NULL, &report), HD_OK);
    assert_non_null(strstr(report, ": proved"));
    hd_free(report);
    assert_int_equal(hd_prove(w.ptx, w.binary, &(HdProveOptions){.form = HD_REPORT_JSON}, &report), HD_OK);
    assert_int_equal(report[0], '{');
    hd_free(report);
    assert_int_equal(hd_prove(w.ptx, w.binary, &(HdProveOptions){.kernel = "none"}, &report), HD_ERR_INPUT);
    assert_null(report);
    assert_int_equal(hd_prove(w.ptx, w.binary, &(HdProveOptions){.max_terms = 8}, &report), HD_ERR_NOTHING);
    assert_non_null(strstr(report, "budget"));
    hd_free(report);
    assert_int_equal(hd_prove(w.ptx, w.binary, &(HdProveOptions){.max_memory_bytes = 1}, NULL),
                     HD_ERR_NOTHING);
    assert_int_equal(hd_prove(w.ptx, w.binary, &(HdProveOptions){.form = HD_REPORT_SARIF}, NULL),
                     HD_ERR_USAGE);
    assert_int_equal(hd_prove(w.ptx, w.binary, &(HdProveOptions){.max_seconds = -1}, NULL), HD_ERR_USAGE);
    assert_int_equal(hd_prove(w.ptx, w.ptx, NULL, NULL), HD_ERR_USAGE);
    assert_int_equal(hd_prove(NULL, w.binary, NULL, NULL), HD_ERR_USAGE);
    hd_destroy(w.c);
}

static void test_validate_auto(void **state) {
    (void)state;
    World w;
    char *report = NULL, *again = NULL;
    open_world(&w);
    assert_int_equal(hd_validate_auto(w.ptx, w.binary, NULL, 1, &report), HD_OK);
    assert_non_null(strstr(report, ": equal: "));
    assert_int_equal(hd_validate_auto(w.ptx, w.binary, NULL, 1, &again), HD_OK);
    assert_string_equal(report, again);
    hd_free(report);
    hd_free(again);
    assert_int_equal(hd_validate_auto(w.ptx, w.binary, "none", 1, NULL), HD_ERR_INPUT);
    assert_int_equal(hd_validate_auto(w.binary, w.binary, NULL, 1, NULL), HD_ERR_USAGE);
    hd_destroy(w.c);
}

static void test_trap(void **state) {
    (void)state;
    World w;
    open_world(&w);
    w.args[1].size_bytes = 4 * 50; /* the kernel goes on */
    assert_int_equal(hd_launch(w.binary, &w.launch), HD_ERR_TRAP);
    assert_non_null(strstr(w.log.text, "out of range"));
    assert_int_equal(hd_interpret(w.ptx, &w.launch), HD_ERR_TRAP);
    hd_destroy(w.c);
}

/* A handler sees what TRAP, SYSCALL and RTT were executed with, and decides. */
typedef struct {
    HdHostCall seen[8];
    uint32_t reg0[32], n, stop_at;
} Calls;
static bool note_call(void *user, const HdHostCall *call) {
    Calls *calls = user;
    memcpy(calls->reg0, call->regs[0], sizeof calls->reg0);
    calls->seen[calls->n] = *call;
    return ++calls->n != calls->stop_at;
}
static void test_host_calls(void **state) {
    (void)state;
    static const char sass[] =
        ".target bru1\n.entry k\nS2R R0, SR_TID.X;\nISETP.LT.U32.AND P0, PT, R0, 0x6, PT;\n"
        "@P0 TRAP R0;\nSYSCALL;\nRTT;\nTRAP 0x1234;\n@!PT SYSCALL;\nEXIT;\n";
    World w;
    HdModule *m;
    Calls calls = {.n = 0};
    open_world(&w);
    assert_int_equal(hd_assemble(w.c, "k.sass", sass, sizeof sass - 1, &m), HD_OK);
    HdLaunch l = {.grid = {1, 1, 1}, .block = {20, 1, 1}, .host_call = note_call, .host_user = &calls};
    assert_int_equal(hd_launch(m, &l), HD_OK);
    static const HdHostCallKind kinds[] = {HD_CALL_TRAP, HD_CALL_SYSCALL, HD_CALL_RTT, HD_CALL_TRAP};
    assert_int_equal(calls.n, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(calls.seen[i].kind, kinds[i]);
        assert_int_equal(calls.seen[i].pc_bytes, 16 * (i + 2));
        assert_int_equal(calls.seen[i].lanes, i ? 0xfffff : 0x3f);
        assert_string_equal(calls.seen[i].function, "k");
        assert_int_equal(calls.seen[i].value[5], i == 0 ? 5 : i == 3 ? 0x1234 : 0);
    }
    assert_int_equal(calls.reg0[19], 19);
    for (uint32_t stop = 1; stop <= 4; stop++) { /* the handler says no at the first, second ... call */
        calls = (Calls){.stop_at = stop};
        assert_int_equal(hd_launch(m, &l), HD_ERR_TRAP);
        assert_int_equal(calls.n, stop);
    }
    l.host_call = NULL;
    w.log.text[0] = 0;
    assert_int_equal(hd_launch(m, &l), HD_ERR_TRAP);
    assert_non_null(strstr(w.log.text, "TRAP 0x0"));
    hd_destroy(w.c);
}

static void test_text(void **state) {
    (void)state;
    World w;
    HdModule *again;
    char *text;
    size_t size, n1, n2;
    const void *i1, *i2;
    open_world(&w);
    assert_int_equal(hd_disassemble(w.binary, &text, &size), HD_OK);
    assert_int_equal(hd_assemble(w.c, "axpy.sass", text, size, &again), HD_OK);
    assert_int_equal(hd_image(w.binary, &i1, &n1), HD_OK);
    assert_int_equal(hd_image(again, &i2, &n2), HD_OK);
    assert_int_equal(n1, n2);
    assert_memory_equal(i1, i2, n1);
    HdModule *loaded;
    assert_int_equal(hd_load(w.c, "axpy.cubin", i1, n1, &loaded), HD_OK);
    assert_int_equal(hd_launch(loaded, &w.launch), HD_OK);
    expect_result(&w);
    hd_free(text);
    hd_destroy(w.c);
}

static void test_check(void **state) {
    (void)state;
    static const char wrong[] = ".target bru1\n.entry k\n  @P0 YIELD ;\n  EXIT ;\n";
    Log log = {.errors = 0};
    HdContext *c = hd_create(&(HdOptions){.message = log_message, .user = &log});
    HdModule *m, *binary;
    char *report;
    assert_int_equal(hd_parse(c, "axpy.ptx", ptx, sizeof ptx - 1, &m), HD_OK);
    assert_int_equal(hd_check(m, NULL, NULL), HD_ERR_USAGE);
    assert_int_equal(hd_compile(m, NULL, &binary), HD_OK);
    assert_int_equal(hd_check(binary, NULL, &report), HD_OK);
    assert_non_null(strstr(report, "0 errors"));
    hd_free(report);
    assert_int_equal(hd_assemble(c, "k.sass", wrong, sizeof wrong - 1, &m), HD_OK);
    assert_int_equal(hd_check(m, &(HdCheckOptions){.form = HD_REPORT_SARIF}, &report), HD_ERR_DIFFERENT);
    assert_non_null(strstr(report, "R-07"));
    hd_free(report);
    assert_int_equal(hd_check(m, &(HdCheckOptions){.rules = "R-01"}, NULL), HD_OK);
    assert_int_equal(hd_check(m, &(HdCheckOptions){.rules = "R-01,R-99"}, NULL), HD_ERR_USAGE);
    report = hd_explain("R-07");
    assert_non_null(strstr(report, "predicated"));
    hd_free(report);
    assert_null(hd_explain("R-99"));
    hd_destroy(c);
}

static void test_errors(void **state) {
    (void)state;
    World w;
    HdModule *m;
    open_world(&w);
    assert_int_equal(hd_parse(w.c, "bad.ptx", "hello", 5, &m), HD_ERR_INPUT);
    assert_true(w.log.errors > 0);
    assert_non_null(strstr(w.log.text, "bad.ptx:1:"));
    assert_int_equal(hd_load(w.c, "bad", "hello", 5, &m), HD_ERR_INPUT);
    assert_int_equal(hd_assemble(w.c, "bad", "hello", 5, &m), HD_ERR_INPUT);
    assert_int_equal(hd_compile(w.binary, NULL, &m), HD_ERR_USAGE);
    assert_int_equal(hd_compile(w.ptx, &(HdCompileOptions){.target = "z80"}, &m), HD_ERR_USAGE);
    assert_int_equal(hd_compile(w.ptx, &(HdCompileOptions){.predicate = "often"}, &m), HD_ERR_USAGE);
    assert_int_equal(hd_compile(w.ptx, &(HdCompileOptions){.opt_level = 2, .predicate = "max"}, &m), HD_OK);
    assert_int_equal(hd_launch(w.ptx, &w.launch), HD_ERR_USAGE);
    assert_int_equal(hd_launch(w.binary, NULL), HD_ERR_USAGE);
    w.launch.nargs = 3;
    assert_int_equal(hd_launch(w.binary, &w.launch), HD_ERR_INPUT);
    w.args[0] = (HdArg){0};
    assert_int_equal(hd_launch(w.binary, &w.launch), HD_ERR_USAGE);
    for (int s = 0; s < HD_STATUS_COUNT; s++)
        assert_non_null(hd_status_text((HdStatus)s));
    hd_destroy(w.c);
    hd_destroy(NULL);
}

/* An endless loop that stores, so that no state comes twice. */
static const char endless[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
    "  .reg .u32 %r1;\n  .reg .u64 %rd1;\n  ld.param.u64 %rd1, [p];\n  mov.u32 %r1, 0;\n"
    "again:\n  add.u32 %r1, %r1, 1;\n  st.global.u32 [%rd1], %r1;\n  bra again;\n}\n";

typedef struct {
    unsigned asked, left;
} Patience;

static bool lose_patience(void *user) {
    Patience *patience = user;
    patience->asked++;
    return patience->left-- == 0;
}

typedef HdStatus RunFn(HdModule *source, HdModule *binary, const HdLaunch *launch);
static HdStatus on_machine(HdModule *source, HdModule *binary, const HdLaunch *launch) {
    (void)source;
    return hd_launch(binary, launch);
}
static HdStatus on_interpreter(HdModule *source, HdModule *binary, const HdLaunch *launch) {
    (void)binary;
    return hd_interpret(source, launch);
}
static HdStatus on_both(HdModule *source, HdModule *binary, const HdLaunch *launch) {
    char *report;
    HdStatus status = hd_validate(source, binary, launch, &report);
    hd_free(report);
    return status;
}

/* What never ends is ended: by steps, by time, by the caller; a kernel that ends is not. */
static void test_limits(void **state) {
    (void)state;
    static RunFn *const run[] = {on_machine, on_interpreter, on_both};
    Patience patience = {.left = UINT32_MAX};
    HdContext *c = hd_create(&(HdOptions){.user = &patience, .cancel = lose_patience});
    HdModule *ptx_module, *binary;
    uint32_t cell = 0;
    HdArg arg = {.buffer = &cell, .size_bytes = sizeof cell};
    assert_int_equal(hd_parse(c, "endless.ptx", endless, sizeof endless - 1, &ptx_module), HD_OK);
    assert_int_equal(hd_compile(ptx_module, NULL, &binary), HD_OK);
    for (unsigned i = 0; i < 3; i++) {
        HdLaunch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .args = &arg, .nargs = 1};
        launch.max_steps = 3001;
        cell = 0;
        assert_int_equal(run[i](ptx_module, binary, &launch), HD_ERR_LIMIT);
        assert_in_range(cell, i == 2 ? 0 : 900,
                        i == 2 ? 0 : 1001); /* three instructions a round; 3 or 4 before */
        launch.max_steps = 0;
        launch.max_seconds = 0.01;
        cell = 0;
        assert_int_equal(run[i](ptx_module, binary, &launch), HD_ERR_LIMIT);
        assert_int_equal(cell, 0);
        launch.max_seconds = 0;
        patience = (Patience){.left = 5};
        assert_int_equal(run[i](ptx_module, binary, &launch), HD_ERR_CANCELLED);
        assert_int_equal(patience.asked, 6);
        assert_int_equal(cell, 0);
        patience.left = UINT32_MAX;
    }
    patience.left = 0;
    HdModule *none = binary;
    assert_int_equal(hd_compile(ptx_module, NULL, &none), HD_ERR_CANCELLED);
    assert_null(none);
    hd_destroy(c);

    World w;
    open_world(&w);
    w.launch.max_steps = 1 << 20;
    w.launch.max_seconds = 60;
    assert_int_equal(hd_launch(w.binary, &w.launch), HD_OK);
    assert_int_equal(hd_interpret(w.ptx, &w.launch), HD_OK);
    assert_int_equal(hd_validate(w.ptx, w.binary, &w.launch, NULL), HD_OK);
    hd_destroy(w.c);
}

/* Memory within the limit, or an error, and the same again with more. */
static void test_memory_limit(void **state) {
    (void)state;
    HdStatus last = HD_ERR_MEMORY;
    size_t limit = 1 << 10;
    for (; last == HD_ERR_MEMORY && limit < 1 << 30; limit *= 2) {
        HdContext *c = hd_create(&(HdOptions){.max_memory_bytes = limit});
        HdModule *ptx_module = NULL, *binary = NULL;
        last = hd_parse(c, "axpy.ptx", ptx, sizeof ptx - 1, &ptx_module);
        if (last == HD_OK)
            last = hd_compile(ptx_module, NULL, &binary);
        assert_true((last == HD_OK) == (binary != NULL));
        hd_destroy(c);
    }
    assert_int_equal(last, HD_OK);
    assert_in_range(limit, 1 << 14, 1 << 25);
}

#define SOME ((void *)&some) /* no result: it must be set */

/* Each argument in turn is NULL or 0: HD_ERR_USAGE, or what the header allows, and results that are set. */
static void test_null(void **state) {
    (void)state;
    World w;
    int some;
    open_world(&w);
    HdModule *m = SOME;
    assert_int_equal(hd_parse(NULL, "a", ptx, 1, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_parse(w.c, NULL, ptx, 1, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_parse(w.c, "a", NULL, 1, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_parse(w.c, "a", ptx, 0, &m), HD_ERR_INPUT); /* no .version */
    assert_null(m), m = SOME;
    assert_int_equal(hd_parse(w.c, "a", ptx, 1, NULL), HD_ERR_USAGE);

    const void *image = SOME;
    size_t size = 7;
    assert_int_equal(hd_image(NULL, &image, &size), HD_ERR_USAGE);
    assert_null(image), image = SOME;
    assert_int_equal(size, 0), size = 7;
    assert_int_equal(hd_image(w.ptx, &image, &size), HD_ERR_USAGE);
    assert_null(image), image = SOME;
    assert_int_equal(hd_image(w.binary, NULL, &size), HD_ERR_USAGE);
    assert_int_equal(size, 0);
    assert_int_equal(hd_image(w.binary, &image, NULL), HD_ERR_USAGE);
    assert_null(image);
    assert_int_equal(hd_image(w.binary, &image, &size), HD_OK);

    assert_int_equal(hd_load(NULL, "a", image, size, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_load(w.c, NULL, image, size, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_load(w.c, "a", NULL, size, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_load(w.c, "a", image, 0, &m), HD_ERR_INPUT);
    assert_null(m), m = SOME;
    assert_int_equal(hd_load(w.c, "a", image, size, NULL), HD_ERR_USAGE);

    assert_int_equal(hd_compile(NULL, NULL, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_compile(w.binary, NULL, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_compile(w.ptx, &(HdCompileOptions){0}, &m), HD_OK);
    assert_non_null(m), m = SOME;
    assert_int_equal(hd_compile(w.ptx, NULL, NULL), HD_ERR_USAGE);

    char *text = SOME;
    assert_int_equal(hd_disassemble(NULL, &text, &size), HD_ERR_USAGE);
    assert_null(text), text = SOME;
    assert_int_equal(size, 0), size = 7;
    assert_int_equal(hd_disassemble(w.ptx, &text, &size), HD_ERR_USAGE);
    assert_null(text), text = SOME;
    assert_int_equal(hd_disassemble(w.binary, NULL, &size), HD_ERR_USAGE);
    assert_int_equal(size, 0), size = 7;
    assert_int_equal(hd_disassemble(w.binary, &text, NULL), HD_ERR_USAGE);
    assert_null(text);

    assert_int_equal(hd_assemble(NULL, "a", "b", 1, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_assemble(w.c, NULL, "b", 1, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_assemble(w.c, "a", NULL, 1, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_assemble(w.c, "a", "b", 0, &m), HD_ERR_INPUT);
    assert_null(m);
    assert_int_equal(hd_assemble(w.c, "a", "b", 1, NULL), HD_ERR_USAGE);
    hd_destroy(w.c);
}

/* LLVM IR, where there is a libLLVM; what is wrong with a call, or with the library's path, everywhere. */
static void test_llvm(void **state) {
    (void)state;
    static const char ir[] = "declare i32 @one()\n"
                             "define void @k(ptr %p) {\n  %v = call i32 @one()\n"
                             "  store i32 %v, ptr %p\n  ret void\n}\n"
                             "!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n",
                      library[] = "define i32 @one() {\n  ret i32 41\n}\n";
    Log log = {0};
    HdContext *c = hd_create(&(HdOptions){.message = log_message, .user = &log});
    int some;
    HdModule *m = SOME, *binary = NULL;
    const HdBitcode one = {.name = "one.ll", .data = library, .size_bytes = sizeof library - 1};
    HdLlvmOptions options = {.opt_level = 2, .libraries = &one, .nlibraries = 1, .cpu = "sm_75"};
    assert_int_equal(hd_parse_llvm(NULL, "k.ll", ir, sizeof ir - 1, &options, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_parse_llvm(c, NULL, ir, sizeof ir - 1, &options, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_parse_llvm(c, "k.ll", NULL, sizeof ir - 1, &options, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_int_equal(hd_parse_llvm(c, "k.ll", ir, sizeof ir - 1, &options, NULL), HD_ERR_USAGE);
    HdLlvmOptions wrong = {.opt_level = 4};
    assert_int_equal(hd_parse_llvm(c, "k.ll", ir, sizeof ir - 1, &wrong, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    wrong = (HdLlvmOptions){.nlibraries = 1};
    assert_int_equal(hd_parse_llvm(c, "k.ll", ir, sizeof ir - 1, &wrong, &m), HD_ERR_USAGE);
    assert_null(m), m = SOME;
    assert_null(strstr(log.text, "E0005"));
    wrong = (HdLlvmOptions){.llvm = "./absent.so"};
    assert_int_equal(hd_parse_llvm(c, "k.ll", ir, sizeof ir - 1, &wrong, &m), HD_ERR_INPUT);
    assert_null(m), m = SOME;
    assert_non_null(strstr(log.text, "E0005")), log.text[0] = 0;
    HdStatus status = hd_parse_llvm(c, "k.ll", ir, sizeof ir - 1, &options, &m);
    if (strstr(log.text, "none was found") ||
        strstr(log.text, "LLVM: expected type")) { /* LLVM 14 reads no ptr */
        hd_destroy(c);
        skip();
    }
    if (status != HD_OK || hd_compile(m, NULL, &binary) != HD_OK)
        fail_msg("%s", log.text);
    uint32_t result = 0;
    HdArg arg = {.buffer = &result, .size_bytes = sizeof result};
    HdLaunch launch = {.kernel = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .args = &arg, .nargs = 1};
    assert_int_equal(hd_launch(binary, &launch), HD_OK);
    assert_int_equal(result, 41);
    m = SOME;
    assert_int_equal(hd_parse_llvm(c, "k.ll", "define", 6, NULL, &m), HD_ERR_INPUT);
    assert_null(m);
    assert_non_null(strstr(log.text, "k.ll:1:7: error E0006: LLVM: "));
    hd_destroy(c);
}

static void test_null_launch(void **state) {
    (void)state;
    World w;
    int some;
    open_world(&w);
    char *report = SOME;
    HdLaunch bad[6]; /* no grid, no block; arguments that are not there, without one of theirs, with both */
    HdArg args[4];
    memcpy(args, w.args, sizeof args);
    for (int i = 0; i < 6; i++)
        bad[i] = w.launch;
    bad[0].grid[1] = 0;
    bad[1].block[2] = 0;
    bad[2].args = NULL;
    bad[3].args = bad[4].args = bad[5].args = args;
    for (int i = 0; i < 6; i++) {
        HdStatus expected = i < 2 ? HD_ERR_INPUT : HD_ERR_USAGE;
        args[3] = i == 3   ? (HdArg){.size_bytes = 4}
                  : i == 4 ? (HdArg){.value = &w.n}
                           : (HdArg){.value = &w.n, .buffer = &w.n, .size_bytes = 4};
        assert_int_equal(hd_launch(w.binary, &bad[i]), expected);
        assert_int_equal(hd_interpret(w.ptx, &bad[i]), expected);
        assert_int_equal(hd_validate(w.ptx, w.binary, &bad[i], &report), expected);
        assert_null(report), report = SOME;
    }
    HdLaunch none = w.launch; /* nargs 0: NULL is right, the number is not */
    none.nargs = 0;
    none.args = NULL;
    assert_int_equal(hd_launch(w.binary, &none), HD_ERR_INPUT);
    w.launch.kernel = NULL; /* the only one */
    assert_int_equal(hd_launch(w.binary, &w.launch), HD_OK);
    assert_int_equal(hd_interpret(w.ptx, &w.launch), HD_OK);
    assert_int_equal(hd_launch(NULL, &w.launch), HD_ERR_USAGE);
    assert_int_equal(hd_launch(w.ptx, &w.launch), HD_ERR_USAGE);
    assert_int_equal(hd_launch(w.binary, NULL), HD_ERR_USAGE);
    assert_int_equal(hd_interpret(NULL, &w.launch), HD_ERR_USAGE);
    assert_int_equal(hd_interpret(w.binary, &w.launch), HD_ERR_USAGE);
    assert_int_equal(hd_interpret(w.ptx, NULL), HD_ERR_USAGE);
    assert_int_equal(hd_validate(NULL, w.binary, &w.launch, &report), HD_ERR_USAGE);
    assert_null(report), report = SOME;
    assert_int_equal(hd_validate(w.ptx, NULL, &w.launch, &report), HD_ERR_USAGE);
    assert_null(report), report = SOME;
    assert_int_equal(hd_validate(w.ptx, w.binary, NULL, &report), HD_ERR_USAGE);
    assert_null(report), report = SOME;
    assert_int_equal(hd_validate(w.ptx, w.binary, &w.launch, NULL), HD_OK);
    assert_int_equal(hd_validate_auto(NULL, w.binary, NULL, 0, &report), HD_ERR_USAGE);
    assert_null(report), report = SOME;
    assert_int_equal(hd_validate_auto(w.ptx, NULL, NULL, 0, &report), HD_ERR_USAGE);
    assert_null(report), report = SOME;
    assert_int_equal(hd_validate_auto(w.ptx, w.binary, "none", 0, &report), HD_ERR_INPUT);
    assert_null(report), report = SOME;
    assert_int_equal(hd_validate_auto(w.ptx, w.binary, NULL, 0, NULL), HD_OK);
    assert_int_equal(hd_check(NULL, NULL, &report), HD_ERR_USAGE);
    assert_null(report), report = SOME;
    assert_int_equal(hd_check(w.ptx, NULL, &report), HD_ERR_USAGE);
    assert_null(report), report = SOME;
    assert_int_equal(hd_check(w.binary, &(HdCheckOptions){.rules = "R-99"}, &report), HD_ERR_USAGE);
    assert_null(report), report = SOME;
    assert_int_equal(hd_check(w.binary, NULL, NULL), HD_OK);
    assert_null(hd_explain(NULL));
    hd_free(NULL);
    assert_non_null(hd_status_text((HdStatus)-1));
    hd_destroy(w.c);
    HdContext *silent = hd_create(NULL);
    HdModule *m = SOME;
    assert_int_equal(hd_parse(silent, "a", "hello", 5, &m), HD_ERR_INPUT);
    assert_null(m);
    hd_destroy(silent);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch),        cmocka_unit_test(test_interpret),
        cmocka_unit_test(test_profile),       cmocka_unit_test(test_validate),
        cmocka_unit_test(test_validate_open), cmocka_unit_test(test_page),
        cmocka_unit_test(test_prove),         cmocka_unit_test(test_validate_auto),
        cmocka_unit_test(test_trap),          cmocka_unit_test(test_host_calls),
        cmocka_unit_test(test_text),          cmocka_unit_test(test_check),
        cmocka_unit_test(test_errors),        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_memory_limit),  cmocka_unit_test(test_null),
        cmocka_unit_test(test_null_launch),   cmocka_unit_test(test_llvm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
