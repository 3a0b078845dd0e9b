/* What the library does when host memory runs out: every public function, with the n-th allocation failing,
 * once and from there on, for all n up to some number and then for a sample. Each call gives HD_ERR_MEMORY
 * and NULL, or, where it could do without (qsort has another way), just what it gives with memory enough; it
 * leaves nothing behind, and the modules are as they were. In a sanitized build the linker wraps the
 * functions that the library calls, and LeakSanitizer looks for what is lost; else malloc itself is replaced,
 * for libelf, cJSON and stdio too, and blocks are counted. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <heddle.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- allocations that fail ---- */

static uint64_t asked, fail_at; /* asked: since `count_from_here`; fail_at 0: none */
static bool from_there_on;
static int64_t live;

static bool refuse(void) {
    asked++;
    if (!fail_at || asked < fail_at || (asked > fail_at && !from_there_on))
        return false;
    errno = ENOMEM;
    return true;
}

#ifdef WRAPPED
#define NEW(name) __wrap_##name
#define OLD(name) __real_##name
#else
#define NEW(name) name
#define OLD(name) __libc_##name
#endif
void *OLD(malloc)(size_t size);
void *OLD(calloc)(size_t count, size_t size);
void *OLD(realloc)(void *old, size_t size);
void *NEW(malloc)(size_t size);
void *NEW(calloc)(size_t count, size_t size);
void *NEW(realloc)(void *old, size_t size);
int NEW(posix_memalign)(void **block, size_t align, size_t size);

static void *counted(void *block) {
    live += block != NULL;
    return block;
}
void *NEW(malloc)(size_t size) { return refuse() ? NULL : counted(OLD(malloc)(size)); }
void *NEW(calloc)(size_t count, size_t size) { return refuse() ? NULL : counted(OLD(calloc)(count, size)); }
void *NEW(realloc)(void *old, size_t size) {
    void *block = refuse() ? NULL : OLD(realloc)(old, size);
    return old ? block : counted(block);
}
#ifdef WRAPPED
int OLD(posix_memalign)(void **block, size_t align, size_t size);
int NEW(posix_memalign)(void **block, size_t align, size_t size) {
    return refuse() ? ENOMEM : OLD(posix_memalign)(block, align, size);
}
#else
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *block);
int posix_memalign(void **block, size_t align, size_t size) {
    *block = refuse() ? NULL : counted(__libc_memalign(align, size));
    return *block ? 0 : ENOMEM;
}
void free(void *block) {
    live -= block != NULL;
    __libc_free(block);
}
#endif

/* ---- the calls ---- */

static const char text[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n.global .u32 table[4] = {1, 2, 3, 4};\n"
    ".func (.reg .u32 %out) twice(.reg .u32 %in)\n{\n  add.u32 %out, %in, %in;\n  ret;\n}\n"
    ".visible .entry k(.param .u64 data, .param .u32 n)\n{\n"
    "  .reg .u64 %rd<4>;\n  .reg .u32 %r<8>;\n  .reg .pred %p<3>;\n  .shared .u32 row[32];\n"
    "  ld.param.u64 %rd1, [data];\n  ld.param.u32 %r1, [n];\n  mov.u32 %r2, %tid.x;\n"
    "  setp.ge.u32 %p1, %r2, %r1;\n  @%p1 bra done;\n  mul.wide.u32 %rd2, %r2, 4;\n  add.u64 %rd3, %rd1, "
    "%rd2;\n"
    "  ld.global.u32 %r3, [%rd3];\n  and.b32 %r4, %r3, 7;\nagain:\n  setp.eq.u32 %p2, %r4, 0;\n  @%p2 bra "
    "out;\n"
    "  sub.u32 %r4, %r4, 1;\n  call (%r3), twice, (%r3);\n  bra again;\nout:\n"
    "  div.u32 %r5, %r3, %r1;\n  add.u32 %r3, %r3, %r5;\n  st.global.u32 [%rd3], %r3;\ndone:\n  ret;\n}\n";
enum { N = 40 };

typedef struct {
    HdContext *context;
    HdModule *ptx, *binary, *other; /* other: of PTX that does something else */
    const void *image;
    size_t image_bytes;
    char *assembly;
    size_t assembly_bytes;
} World;
static World world;

typedef struct {
    HdStatus status;
    char *text; /* of the result, for hd_free; NULL: none */
    uint64_t sum;
} Result;

static uint64_t sum_of(const void *bytes, size_t size_bytes) {
    uint64_t sum = size_bytes;
    for (size_t i = 0; i < size_bytes; i++)
        sum = sum * 31 + ((const unsigned char *)bytes)[i];
    return sum;
}

static Result of_module(HdStatus status, HdModule *module) {
    Result result = {.status = status, .sum = module != NULL};
    const void *image;
    size_t size_bytes;
    if (module && hd_image(module, &image, &size_bytes) == HD_OK)
        result.sum = sum_of(image, size_bytes);
    return result;
}

static HdLaunch make_launch(uint32_t *data, HdArg args[2]) {
    static uint32_t n = N - 3;
    for (uint32_t i = 0; i < N; i++)
        data[i] = i * i;
    args[0] = (HdArg){.buffer = data, .size_bytes = N * sizeof *data};
    args[1] = (HdArg){.value = &n, .size_bytes = sizeof n};
    return (HdLaunch){.kernel = "k", .grid = {1, 1, 1}, .block = {N, 1, 1}, .args = args, .nargs = 2};
}

static Result parse(HdContext *context) {
    HdModule *out;
    HdStatus status = hd_parse(context, "k.ptx", text, sizeof text - 1, &out);
    return of_module(status, out);
}
static Result parse_wrong(HdContext *context) {
    HdModule *out;
    HdStatus status = hd_parse(context, "wrong.ptx", text, sizeof text - 100, &out);
    return of_module(status, out);
}
static Result load(HdContext *context) {
    HdModule *out;
    HdStatus status = hd_load(context, "k.cubin", world.image, world.image_bytes, &out);
    return of_module(status, out);
}
static Result assemble(HdContext *context) {
    HdModule *out;
    HdStatus status = hd_assemble(context, "k.sass", world.assembly, world.assembly_bytes, &out);
    return of_module(status, out);
}
/* The modules of these belong to the world's own context. */
static Result compile_for(const char *target) {
    HdModule *out;
    HdStatus status = hd_compile(world.ptx, &(HdCompileOptions){.target = target, .opt_level = 3}, &out);
    return of_module(status, out);
}
static Result compile_bru1(HdContext *context) {
    (void)context;
    return compile_for("bru1");
}
static Result compile_sm_80(HdContext *context) {
    (void)context;
    return compile_for("sm_80");
}
static Result disassemble(HdContext *context) {
    Result result = {0};
    (void)context;
    result.status = hd_disassemble(world.binary, &result.text, &(size_t){0});
    return result;
}
static Result launch(HdContext *context) {
    uint32_t data[N];
    HdArg args[2];
    HdLaunch wanted = make_launch(data, args);
    (void)context;
    HdStatus status = hd_launch(world.binary, &wanted);
    return (Result){.status = status, .sum = sum_of(data, sizeof data)};
}
static Result interpret(HdContext *context) {
    uint32_t data[N];
    HdArg args[2];
    HdLaunch wanted = make_launch(data, args);
    (void)context;
    HdStatus status = hd_interpret(world.ptx, &wanted);
    return (Result){.status = status, .sum = sum_of(data, sizeof data)};
}
static Result validate_with(HdModule *binary) {
    uint32_t data[N];
    HdArg args[2];
    HdLaunch wanted = make_launch(data, args);
    Result result = {0};
    result.status = hd_validate(world.ptx, binary, &wanted, &result.text);
    return result;
}
static Result validate(HdContext *context) {
    (void)context;
    return validate_with(world.binary);
}
static Result validate_other(HdContext *context) {
    (void)context;
    return validate_with(world.other);
}
static Result validate_auto(HdContext *context) {
    Result result = {0};
    (void)context;
    result.status = hd_validate_auto(world.ptx, world.binary, NULL, 1, &result.text);
    return result;
}
static Result prove(HdContext *context) {
    Result result = {0};
    (void)context;
    result.status = hd_prove(world.ptx, world.binary, NULL, &result.text);
    result.sum = result.text != NULL;
    hd_free(result.text); /* it says how long it took */
    result.text = NULL;
    return result;
}
static Result check_as(HdReportForm form) {
    Result result = {0};
    result.status = hd_check(world.binary, &(HdCheckOptions){.form = form}, &result.text);
    return result;
}
static Result check_text(HdContext *context) {
    (void)context;
    return check_as(HD_REPORT_TEXT);
}
static Result check_json(HdContext *context) {
    (void)context;
    return check_as(HD_REPORT_JSON);
}
static Result check_sarif(HdContext *context) {
    (void)context;
    return check_as(HD_REPORT_SARIF);
}
static Result page(HdContext *context) {
    Result result = {0};
    (void)context;
    result.status = hd_page(world.ptx, NULL, &(HdPageOptions){.infer = true}, &result.text);
    return result;
}
static Result explain_code(HdContext *context) {
    (void)context;
    char *found = hd_explain("E0104");
    return (Result){.status = found ? HD_OK : HD_ERR_MEMORY, .text = found};
}
static Result explain(HdContext *context) {
    (void)context;
    char *found = hd_explain("R-01");
    return (Result){.status = found ? HD_OK : HD_ERR_MEMORY, .text = found};
}
static Result create(HdContext *context) {
    (void)context;
    HdContext *made = hd_create(NULL);
    hd_destroy(made);
    return (Result){.status = made ? HD_OK : HD_ERR_MEMORY};
}

typedef Result Call(HdContext *context);
static const struct {
    const char *name;
    Call *call;
} calls[] = {{"create", create},
             {"parse", parse},
             {"parse_wrong", parse_wrong},
             {"load", load},
             {"compile bru1", compile_bru1},
             {"compile sm_80", compile_sm_80},
             {"disassemble", disassemble},
             {"assemble", assemble},
             {"launch", launch},
             {"interpret", interpret},
             {"validate", validate},
             {"validate_other", validate_other},
             {"validate_auto", validate_auto},
             {"prove", prove},
             {"check text", check_text},
             {"check json", check_json},
             {"check sarif", check_sarif},
             {"page", page},
             {"explain", explain},
             {"explain code", explain_code}};

/* ---- the test ---- */

static unsigned errors;

static void silent(void *user, HdSeverity severity, const char *message) {
    (void)user;
    (void)severity;
    (void)message;
}

static Result attempt(Call *call, uint64_t n, bool on, bool own_context) {
    HdContext *context = own_context ? hd_create(&(HdOptions){.message = silent}) : NULL;
    asked = 0;
    from_there_on = on;
    fail_at = n;
    Result result = call(context);
    fail_at = 0;
    hd_destroy(context);
    return result;
}

static bool same(const Result *result, const Result *expected) {
    return result->status == expected->status && result->sum == expected->sum &&
           !result->text == !expected->text && (!result->text || strcmp(result->text, expected->text) == 0);
}

static uint64_t next_step(uint64_t n, uint64_t dense) { return n < dense ? n + 1 : n + n / 16 + 1; }

static void try_call(const char *name, Call *call, bool own_context, uint64_t dense) {
    Result expected = attempt(call, 0, false, own_context);
    uint64_t total = asked, tries = 0, refused = 0;
    for (int on = 0; on < 2; on++)
        for (uint64_t n = 1; n <= total; n = next_step(n, dense)) {
            Result result = attempt(call, n, on, own_context);
            tries++;
            refused += result.status == HD_ERR_MEMORY;
            if (result.status == HD_ERR_MEMORY ? result.text != NULL : !same(&result, &expected)) {
                fprintf(stderr, "%s: allocation %llu of %llu%s: %s, another result\n", name,
                        (unsigned long long)n, (unsigned long long)total, on ? " and all after it" : "",
                        hd_status_text(result.status));
                errors++;
            }
            hd_free(result.text);
        }
    Result again = attempt(call, 0, false, own_context);
    if (!same(&again, &expected) || (expected.status != HD_ERR_MEMORY && total && !refused)) {
        fprintf(stderr, "%s: does not do the same again, or never fails\n", name);
        errors++;
    }
    printf("%-16s %6llu allocations, %llu of %llu tries refused: %s\n", name, (unsigned long long)total,
           (unsigned long long)refused, (unsigned long long)tries, hd_status_text(expected.status));
    hd_free(again.text);
    hd_free(expected.text);
}

static bool make_world(void) {
    static char other[sizeof text];
    memcpy(other, text, sizeof text);
    memcpy(strstr(other, "add.u32 %r3"), "sub.u32 %r3", 11);
    HdModule *changed;
    world.context = hd_create(&(HdOptions){.message = silent});
    return world.context && hd_parse(world.context, "k.ptx", text, sizeof text - 1, &world.ptx) == HD_OK &&
           hd_compile(world.ptx, NULL, &world.binary) == HD_OK &&
           hd_parse(world.context, "other.ptx", other, sizeof text - 1, &changed) == HD_OK &&
           hd_compile(changed, NULL, &world.other) == HD_OK &&
           hd_image(world.binary, &world.image, &world.image_bytes) == HD_OK &&
           hd_disassemble(world.binary, &world.assembly, &world.assembly_bytes) == HD_OK;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0); /* no buffer of its own */
    uint64_t dense = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int round = 0; round < 2;
             round++) { /* the first lets stdio and the C library allocate what they keep */
            int64_t before = live;
            if (!make_world()) {
                fprintf(stderr, "the modules cannot be made\n");
                return 1;
            }
            if (round)
                try_call(calls[i].name, calls[i].call, true, dense);
            else
                hd_free(attempt(calls[i].call, 0, false, true).text);
            hd_free(world.assembly);
            hd_destroy(world.context);
            fflush(stdout);
#ifndef WRAPPED
            if (round && live != before) {
                fprintf(stderr, "%s: %lld blocks are left\n", calls[i].name, (long long)(live - before));
                errors++;
            }
#else
            (void)before;
#endif
        }
    return errors != 0;
}
