/* Device memory over several launches, what a module says of its kernels, diagnostics in parts, and four
 * threads at once: the public library as a user links it. Expected values are computed here.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <heddle.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* p[i] = p[i] * 3 + bias[0]; calls counts the threads. last[] is of another kernel. */
static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".const .align 4 .u32 bias = 7;\n.global .align 4 .u32 calls = 5;\n"
    ".visible .entry step(.param .u64 p, .param .u32 n)\n.maxntid 64, 2, 1\n{\n"
    "  .reg .u64 %a<4>;\n  .reg .u32 %r<8>;\n  .reg .pred %q;\n  .shared .align 4 .b8 sh[256];\n"
    "  ld.param.u64 %a1, [p];\n  ld.param.u32 %r1, [n];\n  mov.u32 %r2, %tid.x;\n"
    "  setp.ge.u32 %q, %r2, %r1;\n  @%q bra done;\n  mul.wide.u32 %a2, %r2, 4;\n  add.u64 %a1, %a1, %a2;\n"
    "  ld.global.u32 %r3, [%a1];\n  ld.const.u32 %r4, [bias];\n  mad.lo.u32 %r3, %r3, 3, %r4;\n"
    "  st.global.u32 [%a1], %r3;\n  mov.u32 %r5, sh;\n  red.global.add.u32 [calls], 1;\ndone:\n"
    "  bar.sync 1;\n  ret;\n}\n"
    ".visible .entry other() { .reg .u32 %r; mov.u32 %r, 0; st.global.u32 [calls], %r; trap; }\n";
enum { N = 40, ROUNDS = 3 };

typedef struct {
    HdContext *c;
    HdModule *ptx, *binary;
    HdMemory *memory;
    uint64_t p;
} World;

static void open_world(World *w, const char *target) {
    w->c = hd_create(NULL);
    assert_int_equal(hd_parse(w->c, "step.ptx", text, sizeof text - 1, &w->ptx), HD_OK);
    assert_int_equal(hd_compile(w->ptx, &(HdCompileOptions){.target = target, .opt_level = 2}, &w->binary),
                     HD_OK);
    assert_int_equal(hd_memory(w->c, &w->memory), HD_OK);
    assert_int_equal(hd_allocate(w->memory, N * sizeof(uint32_t), &w->p), HD_OK);
    assert_true(w->p != 0 && w->p % 256 == 0);
}

static HdStatus step(const World *w, HdModule *module, const char *kernel) {
    uint32_t n = N;
    HdArg args[] = {{.value = &w->p, .size_bytes = 8}, {.value = &n, .size_bytes = 4}};
    HdLaunch launch = {.kernel = kernel,
                       .grid = {1, 1, 1},
                       .block = {64, 1, 1},
                       .args = args,
                       .nargs = strcmp(kernel, "step") == 0 ? 2 : 0,
                       .memory = w->memory};
    return module == w->ptx ? hd_interpret(module, &launch) : hd_launch(module, &launch);
}

static uint32_t after_rounds(uint32_t start, uint32_t rounds, uint32_t bias) {
    while (rounds--)
        start = start * 3 + bias;
    return start;
}

/* Copies in, launches `ROUNDS` times on machine and interpreter in turn, copies out; a changed constant, a
 * variable. */
static bool run_stream(World *w) {
    uint32_t data[N], calls, bias = 11;
    uint64_t at;
    size_t size;
    bool good = true;
    for (uint32_t i = 0; i < N; i++)
        data[i] = i;
    good &= hd_write(w->memory, w->p, data, sizeof data) == HD_OK;
    for (int k = 0; k < ROUNDS; k++)
        good &= step(w, k % 2 ? w->ptx : w->binary, "step") == HD_OK;
    good &= hd_read(w->memory, w->p, data, sizeof data) == HD_OK;
    for (uint32_t i = 0; i < N; i++)
        good &= data[i] == after_rounds(i, ROUNDS, 7);
    good &= hd_variable(w->memory, w->binary, "calls", &at, &size) == HD_OK && size == 4;
    good &= hd_read(w->memory, at, &calls, 4) == HD_OK && calls == 5 + ROUNDS * N;
    good &= hd_variable(w->memory, w->ptx, "bias", &at, NULL) == HD_OK;
    good &= hd_write(w->memory, at, &bias, 4) == HD_OK;
    good &= step(w, w->ptx, "step") == HD_OK;
    uint32_t again[N];
    good &= hd_read(w->memory, w->p, again, sizeof again) == HD_OK;
    for (uint32_t i = 0; i < N; i++)
        good &= again[i] == data[i] * 3 + 11;
    return good;
}

static void test_stream(void **state) {
    (void)state;
    static const char *const targets[] = {"bru1", "sm_75", "sm_90"};
    for (unsigned k = 0; k < 3; k++) {
        World w;
        open_world(&w, targets[k]);
        assert_true(run_stream(&w));
        hd_destroy(w.c);
    }
}

static void test_constant_on_machine(void **state) {
    (void)state;
    World w;
    uint32_t bias = 100, data[N] = {1};
    uint64_t at;
    open_world(&w, "sm_80");
    assert_int_equal(hd_variable(w.memory, w.binary, "bias", &at, NULL), HD_OK);
    assert_int_equal(hd_write(w.memory, at, &bias, 4), HD_OK);
    assert_int_equal(hd_write(w.memory, w.p, data, sizeof data), HD_OK);
    assert_int_equal(step(&w, w.binary, "step"), HD_OK);
    assert_int_equal(hd_read(w.memory, w.p, data, sizeof data), HD_OK);
    assert_int_equal(data[0], 103);
    assert_int_equal(data[1], 100);
    hd_destroy(w.c);
}

static void test_ends(void **state) {
    (void)state;
    World w;
    uint64_t at, second;
    uint32_t calls;
    open_world(&w, NULL);
    assert_int_equal(step(&w, w.binary, "other"), HD_ERR_TRAP); /* keeps what it wrote */
    assert_int_equal(hd_variable(w.memory, w.binary, "calls", &at, NULL), HD_OK);
    assert_int_equal(hd_read(w.memory, at, &calls, 4), HD_OK);
    assert_int_equal(calls, 0);
    assert_int_equal(hd_allocate(w.memory, 16, &second), HD_OK);
    assert_true(second != w.p);
    assert_int_equal(hd_release(w.memory, w.p), HD_OK);
    assert_int_equal(hd_release(w.memory, w.p), HD_ERR_USAGE);
    assert_int_equal(hd_release(w.memory, second + 4), HD_ERR_USAGE);
    assert_int_equal(hd_release(w.memory, at), HD_ERR_USAGE);  /* a variable */
    assert_int_equal(step(&w, w.binary, "step"), HD_ERR_TRAP); /* of what is released */
    assert_int_equal(hd_write(w.memory, second + 8, &calls, 16), HD_ERR_USAGE);
    assert_int_equal(hd_read(w.memory, 0, &calls, 4), HD_ERR_USAGE);
    assert_int_equal(hd_allocate(w.memory, 0, &at), HD_ERR_USAGE);
    assert_int_equal(at, 0);
    assert_int_equal(hd_variable(w.memory, w.binary, "none", &at, NULL), HD_ERR_INPUT);
    HdArg buffer = {.buffer = &calls, .size_bytes = 4};
    HdLaunch launch = {.kernel = "step",
                       .grid = {1, 1, 1},
                       .block = {1, 1, 1},
                       .args = &buffer,
                       .nargs = 1,
                       .memory = w.memory};
    assert_int_equal(hd_launch(w.binary, &launch), HD_ERR_USAGE);
    char *report;
    launch.nargs = 0;
    assert_int_equal(hd_validate(w.ptx, w.binary, &launch, &report), HD_ERR_USAGE);
    HdContext *other = hd_create(NULL); /* whose memory this is not */
    HdMemory *memory = NULL;
    assert_int_equal(hd_memory(other, &memory), HD_OK);
    launch.memory = memory;
    assert_int_equal(hd_launch(w.binary, &launch), HD_ERR_USAGE);
    hd_destroy(other);
    hd_destroy(w.c);
}

static void test_kernels(void **state) {
    (void)state;
    World w;
    HdKernel *kernels;
    size_t n;
    open_world(&w, "sm_80");
    for (int k = 0; k < 2; k++) {
        assert_int_equal(hd_kernels(k ? w.binary : w.ptx, &kernels, &n), HD_OK);
        assert_int_equal(n, 2);
        const HdKernel *step_kernel = strcmp(kernels[0].name, "step") == 0 ? &kernels[0] : &kernels[1];
        assert_string_equal(step_kernel->name, "step");
        assert_int_equal(step_kernel->nparams, 2);
        assert_int_equal(step_kernel->params[0].size_bytes, 8);
        assert_int_equal(step_kernel->params[1].offset_bytes, 8);
        assert_int_equal(step_kernel->params[1].size_bytes, 4);
        assert_int_equal(step_kernel->param_bytes, 12);
        assert_int_equal(step_kernel->max_block[0], 64);
        assert_int_equal(step_kernel->max_block[1], 2);
        assert_int_equal(step_kernel->req_block[0], 0);
        assert_int_equal(step_kernel->barriers, k ? 2 : 0);
        assert_int_equal(step_kernel->shared_bytes, k ? 256 : 0);
        assert_true(k ? step_kernel->registers >= 4 : step_kernel->registers == 0);
        hd_free(kernels);
    }
    assert_int_equal(hd_kernels(NULL, &kernels, &n), HD_ERR_USAGE);
    hd_destroy(w.c);
}

static void keep(void *user, const HdDiagnostic *d) {
    char *out = user;
    snprintf(out, 300, "%s|%s|%u|%u|%s|%s|%s", d->code, d->file, d->line, d->column, d->text, d->reg,
             d->function);
}

static void test_diagnostic(void **state) {
    (void)state;
    static const char wrong[] =
        ".version 7.0\n.target sm_75\n.entry k() {\n .reg .u32 %r;\n add.u32 %r, %r;\n}\n";
    char seen[300] = "";
    HdContext *c = hd_create(&(HdOptions){.diagnostic = keep, .user = seen});
    HdModule *m;
    assert_int_equal(hd_parse(c, "w.ptx", wrong, sizeof wrong - 1, &m), HD_ERR_INPUT);
    assert_string_equal(seen, "E0108|w.ptx|5|2|add.u32 takes 3 operands, 2 given|%r|k");
    hd_destroy(c);
}

/* Z3 works in processes of its own, one for each thread that asks. */
static bool proves(const World *w) {
    char *report = NULL;
    bool proved = hd_prove(w->ptx, w->binary, NULL, &report) == HD_OK;
    if (!proved)
        print_message("%s\n", report ? report : "no report");
    hd_free(report);
    return proved;
}

/* A launch that is given: inferred ones have a limit of time, which ThreadSanitizer takes long to. */
static bool validates(const World *w) {
    uint32_t data[N] = {1, 2, 3}, n = N;
    HdArg args[] = {{.buffer = data, .size_bytes = sizeof data}, {.value = &n, .size_bytes = 4}};
    HdLaunch launch = {.kernel = "step", .grid = {1, 1, 1}, .block = {64, 1, 1}, .args = args, .nargs = 2};
    return hd_validate(w->ptx, w->binary, &launch, NULL) == HD_OK;
}

/* What a launch did: 64 threads are two warps, of which those from 40 on leave early; all come together at
 * bar.sync. */
typedef struct {
    uint64_t warps, threads, lines;
} Seen;

static void on_trace(void *user, const HdTrace *trace) {
    Seen *seen = user;
    assert_string_equal(trace->function, "step");
    assert_true(*trace->text && trace->pc_bytes % 16 == 0 && (trace->executed & ~trace->active) == 0);
    assert_true((trace->active & ~trace->valid) == 0 && trace->warp < 2);
    seen->warps++;
    seen->threads += (uint64_t)__builtin_popcount(trace->executed);
    seen->lines += trace->ptx_line != 0;
}

static void test_statistics(void **state) {
    (void)state;
    World w;
    open_world(&w, "bru1");
    Seen seen = {0};
    HdStatistics counts = {0}, more = {0};
    uint32_t n = N;
    HdArg args[] = {{.value = &w.p, .size_bytes = 8}, {.value = &n, .size_bytes = 4}};
    HdLaunch launch = {.kernel = "step",
                       .grid = {1, 1, 1},
                       .block = {64, 1, 1},
                       .args = args,
                       .nargs = 2,
                       .memory = w.memory,
                       .trace = on_trace,
                       .trace_user = &seen,
                       .statistics = &counts};
    assert_int_equal(hd_launch(w.binary, &launch), HD_OK);
    assert_true(counts.warp_instructions == seen.warps && seen.warps > 20 && seen.lines > 20);
    assert_true(counts.thread_instructions >= seen.threads && seen.threads > 64 * 6);
    assert_true(counts.data_warp_instructions < counts.warp_instructions);
    assert_int_equal(counts.barrier_phases, 1);
    launch.trace = NULL;
    launch.statistics = &more;
    launch.policies = "bsync-nb=blocked,branch-order=taken,lane-choice=random:5";
    assert_int_equal(hd_launch(w.binary, &launch), HD_OK);
    assert_true(more.warp_instructions > 0);
    launch.policies = "bsync-nb=never";
    assert_int_equal(hd_launch(w.binary, &launch), HD_ERR_USAGE);
    launch.policies = NULL;
    assert_int_equal(hd_interpret(w.ptx, &launch), HD_OK);
    assert_true(more.warp_instructions == 0 && more.thread_instructions > 64 * 6);
    hd_destroy(w.c);
}

/* Two modules, of which each calls or names what the other has. */
static void test_link(void **state) {
    (void)state;
    static const char head[] = ".version 7.0\n.target sm_75\n.address_size 64\n",
                      caller[] = ".extern .func (.param .u32 r) twice(.param .u32 x);\n"
                                 ".visible .entry k(.param .u64 p) {\n .reg .u64 %a; .reg .u32 %r;\n"
                                 " ld.param.u64 %a, [p]; ld.global.u32 %r, [%a];\n"
                                 " { .param .u32 x; .param .u32 y; st.param.u32 [x], %r;\n"
                                 "   call (y), twice, (x); ld.param.u32 %r, [y]; }\n"
                                 " st.global.u32 [%a], %r; ret; }\n",
                      callee[] = ".visible .func (.param .u32 r) twice(.param .u32 x) { .reg .u32 %r;\n"
                                 " ld.param.u32 %r, [x]; add.u32 %r, %r, %r; st.param.u32 [r], %r; ret; }\n";
    char texts[2][2048];
    snprintf(texts[0], sizeof texts[0], "%s%s", head, caller);
    snprintf(texts[1], sizeof texts[1], "%s%s", head, callee);
    HdContext *c = hd_create(NULL), *other = hd_create(NULL);
    HdModule *parts[3], *linked, *binary;
    for (int k = 0; k < 2; k++)
        assert_int_equal(hd_parse(c, k ? "b.ptx" : "a.ptx", texts[k], strlen(texts[k]), &parts[k]), HD_OK);
    assert_int_equal(hd_parse(other, "b.ptx", texts[1], strlen(texts[1]), &parts[2]), HD_OK);
    assert_int_equal(hd_link(parts, 2, &linked), HD_OK);
    assert_int_equal(hd_compile(linked, NULL, &binary), HD_OK);
    uint32_t value = 21;
    HdArg arg = {.buffer = &value, .size_bytes = 4};
    HdLaunch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .args = &arg, .nargs = 1};
    assert_int_equal(hd_launch(binary, &launch), HD_OK);
    assert_int_equal(value, 42);
    assert_int_equal(hd_interpret(linked, &launch), HD_OK);
    assert_int_equal(value, 84);
    assert_int_equal(hd_link(parts, 1, &linked), HD_ERR_INPUT);
    assert_null(linked);
    HdModule *twice[] = {parts[1], parts[1]}, *strange[] = {parts[0], parts[2]},
             *wrong[] = {parts[0], binary};
    assert_int_equal(hd_link(twice, 2, &linked), HD_ERR_INPUT);
    assert_int_equal(hd_link(strange, 2, &linked), HD_ERR_USAGE);
    assert_int_equal(hd_link(wrong, 2, &linked), HD_ERR_USAGE);
    assert_int_equal(hd_link(parts, 0, &linked), HD_ERR_USAGE);
    hd_destroy(other);
    hd_destroy(c);
}

static void *one_thread(void *user) {
    bool *good = user;
    for (int round = 0; round < 3; round++) {
        World w;
        char *report = NULL;
        w.c = hd_create(NULL);
        *good =
            *good && hd_parse(w.c, "step.ptx", text, sizeof text - 1, &w.ptx) == HD_OK &&
            hd_compile(w.ptx, &(HdCompileOptions){.target = "sm_80", .opt_level = 3}, &w.binary) == HD_OK &&
            hd_memory(w.c, &w.memory) == HD_OK && hd_allocate(w.memory, N * 4, &w.p) == HD_OK &&
            run_stream(&w) && hd_check(w.binary, NULL, &report) == HD_OK && validates(&w) && proves(&w);
        hd_free(report);
        hd_destroy(w.c);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    bool good[THREADS];
    for (int k = 0; k < THREADS; k++) {
        good[k] = true;
        assert_int_equal(pthread_create(&threads[k], NULL, one_thread, &good[k]), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        assert_true(good[k]);
    }
}

/* out[b] = 10 * the number that block b + 1 (block 0 for the last) has put into word[], + b. Blocks meet in
 * the workspace of a cooperative launch, as grid.sync() does: the last one to come flips the counter's
 * highest bit. */
static const char meeting[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry meet(.param .u64 words, .param .u64 out)\n{\n"
    "  .reg .u64 %a<4>;\n  .reg .u32 %r<9>;\n  .reg .pred %q;\n"
    "  ld.param.u64 %a1, [words];\n  ld.param.u64 %a2, [out];\n"
    "  mov.u32 %r1, %envreg1;\n  mov.u32 %r2, %envreg2;\n  mov.b64 %a3, {%r2, %r1};\n"
    "  setp.eq.u64 %q, %a3, 0;\n  @%q trap;\n"
    "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %nctaid.x;\n"
    "  mad.wide.u32 %a2, %r1, 4, %a2;\n  add.u32 %r3, %r1, 1;\n"
    "  {\n    .reg .u64 %own;\n    mad.wide.u32 %own, %r1, 4, %a1;\n    st.global.u32 [%own], %r3;\n  }\n"
    "  sub.u32 %r4, 0x80000001, %r2;\n  setp.eq.u32 %q, %r1, 0;\n  selp.u32 %r4, %r4, 1, %q;\n"
    "  fence.acq_rel.gpu;\n  atom.add.acq_rel.gpu.u32 %r5, [%a3+4], %r4;\n"
    "wait:\n  ld.acquire.gpu.u32 %r6, [%a3+4];\n  xor.b32 %r6, %r6, %r5;\n  setp.ge.s32 %q, %r6, 0;\n  @%q "
    "bra wait;\n"
    "  rem.u32 %r3, %r3, %r2;\n  mad.wide.u32 %a1, %r3, 4, %a1;\n  ld.global.u32 %r7, [%a1];\n"
    "  mad.lo.u32 %r7, %r7, 10, %r1;\n  st.global.u32 [%a2], %r7;\n  ret;\n}\n";

static void clear_and_expect(uint32_t *out, unsigned blocks) {
    for (uint32_t b = 0; b < blocks; b++) {
        assert_int_equal(out[b], 10 * ((b + 1) % blocks + 1) + b);
        out[b] = 0;
    }
}

/* Blocks that wait for each other: more of them than an SM holds, on threads of the host, on memory that
 * stays. */
static void test_cooperative(void **state) {
    (void)state;
    enum { BLOCKS = 100 };
    HdContext *c = hd_create(NULL);
    HdModule *ptx, *binary;
    HdMemory *memory;
    uint64_t at[2];
    static uint32_t words[BLOCKS], out[BLOCKS];
    char *report = NULL;
    assert_int_equal(hd_parse(c, "meet.ptx", meeting, sizeof meeting - 1, &ptx), HD_OK);
    assert_int_equal(hd_compile(ptx, &(HdCompileOptions){.target = "sm_80", .opt_level = 2}, &binary), HD_OK);
    HdArg args[] = {{.buffer = words, .size_bytes = sizeof words}, {.buffer = out, .size_bytes = sizeof out}};
    HdLaunch launch = {.kernel = "meet",
                       .grid = {BLOCKS, 1, 1},
                       .block = {1, 1, 1},
                       .args = args,
                       .nargs = 2,
                       .cooperative = true};
    for (launch.jobs = 0; launch.jobs < 3; launch.jobs += 2) {
        assert_int_equal(hd_launch(binary, &launch), HD_OK);
        clear_and_expect(out, BLOCKS);
    }
    assert_int_equal(hd_interpret(ptx, &launch), HD_OK);
    clear_and_expect(out, BLOCKS);
    assert_int_equal(hd_validate(ptx, binary, &launch, &report), HD_OK);
    hd_free(report);
    assert_int_equal(hd_memory(c, &memory), HD_OK);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(hd_allocate(memory, sizeof words, &at[k]), HD_OK);
        args[k] = (HdArg){.value = &at[k], .size_bytes = 8};
    }
    launch.memory = memory;
    for (int k = 0; k < 4; k++) { /* the workspace is the same one, and ready again each time */
        launch.grid[0] = BLOCKS - (unsigned)k;
        assert_int_equal(k % 2 ? hd_interpret(ptx, &launch) : hd_launch(binary, &launch), HD_OK);
        assert_int_equal(hd_read(memory, at[1], out, launch.grid[0] * sizeof *out), HD_OK);
        clear_and_expect(out, launch.grid[0]);
    }
    launch.grid[0] = 1025;
    assert_int_equal(hd_launch(binary, &launch), HD_ERR_INPUT);
    launch.grid[0] = 2;
    launch.cooperative = false; /* no workspace: the kernel traps */
    assert_int_equal(hd_launch(binary, &launch), HD_ERR_TRAP);
    assert_int_equal(hd_interpret(ptx, &launch), HD_ERR_TRAP);
    hd_destroy(c);
}

/* Block 0 writes numbers into words, again and again, of which all parts say the same; block 1 looks, and
 * counts in bad[] what is half of one and half of another. The card writes and reads 2, 8 and 16 aligned
 * bytes at once; for ThreadSanitizer the simulator moves word after word. %d: the thread's word, %i: the
 * number; `reads` leaves two parts in %x and %y. */
#ifdef HEDDLE_SANITIZED
enum { TRIES = 2000 }; /* ThreadSanitizer needs to see each access once */
#else
enum { TRIES = 100000 }; /* of two threads that run at the same time one sees the other soon */
#endif
#ifdef HEDDLE_THREADS
enum { WHOLE_BYTES = 4 };
#else
enum { WHOLE_BYTES = 16 };
#endif
#define LOOKING(name, writes, reads)                                                                         \
    ".visible .entry " name "(.param .u64 p, .param .u64 bad, .param .u32 step, .param .u32 n)\n{\n"         \
    "  .reg .u64 %d, %b, %v;\n  .reg .u32 %i, %n, %s, %x, %y, %u, %w, %c;\n  .reg .pred %q;\n"               \
    "  ld.param.u64 %d, [p];\n  ld.param.u64 %b, [bad];\n  ld.param.u32 %s, [step];\n"                       \
    "  ld.param.u32 %n, [n];\n  mov.u32 %x, %tid.x;\n  mad.wide.u32 %d, %x, %s, %d;\n  mov.u32 %i, 0;\n"     \
    "  mov.u32 %c, 0;\n  mov.u32 %x, %ctaid.x;\n  setp.ne.u32 %q, %x, 0;\n  @%q bra look;\n"                 \
    "write:\n  add.u32 %i, %i, 1;\n  " writes "\n  setp.lt.u32 %q, %i, %n;\n  @%q bra write;\n  ret;\n"      \
    "look:\n  add.u32 %i, %i, 1;\n  " reads "\n  setp.ne.u32 %q, %x, %y;\n  @%q add.u32 %c, %c, 1;\n"        \
    "  setp.lt.u32 %q, %i, %n;\n  @%q bra look;\n  red.global.add.u32 [%b], %c;\n  ret;\n}\n"
static const char whole_words[] = ".version 7.8\n.target sm_80\n.address_size 64\n" LOOKING(
    "halves", "and.b32 %x, %i, 255;\n  mad.lo.u32 %x, %x, 256, %x;\n  st.relaxed.gpu.global.u16 [%d], %x;",
    "ld.relaxed.gpu.global.u16 %x, [%d];\n  shr.u32 %y, %x, 8;\n  and.b32 %x, %x, 255;")
    LOOKING("pairs", "mov.b64 %v, {%i, %i};\n  st.relaxed.gpu.global.u64 [%d], %v;",
            "ld.relaxed.gpu.global.u64 %v, [%d];\n  mov.b64 {%x, %y}, %v;")
        LOOKING("quads", "st.relaxed.gpu.global.v4.u32 [%d], {%i, %i, %i, %i};",
                "ld.relaxed.gpu.global.v4.u32 {%x, %u, %w, %y}, [%d];");

static void test_whole_words(void **state) {
    (void)state;
    enum { WIDEST = 16 };
    static const struct {
        const char *kernel;
        uint32_t bytes;
    } kernels[] = {{"halves", 2}, {"pairs", 8}, {"quads", WIDEST}};
    static uint8_t words[32 * 3 * WIDEST];
    HdContext *c = hd_create(NULL);
    HdModule *ptx, *binary;
    uint32_t bad = 0, step = 0, n = TRIES;
    assert_int_equal(hd_parse(c, "words.ptx", whole_words, sizeof whole_words - 1, &ptx), HD_OK);
    assert_int_equal(hd_compile(ptx, &(HdCompileOptions){.target = "sm_80", .opt_level = 2}, &binary), HD_OK);
    HdArg args[] = {{.buffer = words, .size_bytes = sizeof words},
                    {.buffer = &bad, .size_bytes = sizeof bad},
                    {.value = &step, .size_bytes = sizeof step},
                    {.value = &n, .size_bytes = sizeof n}};
    HdLaunch launch = {.grid = {2, 1, 1}, .args = args, .nargs = 4, .jobs = 2};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (unsigned apart = 0; apart < 6; apart++) { /* in a row, one for all, with gaps; all lanes, some */
            launch.kernel = kernels[k].kernel;
            launch.block[0] = apart % 2 ? 20 : 32;
            launch.block[1] = launch.block[2] = 1;
            step = (const uint32_t[]){1, 0, 3}[apart / 2] * kernels[k].bytes;
            memset(words, 0, sizeof words);
            assert_int_equal(hd_launch(binary, &launch), HD_OK);
            if (kernels[k].bytes <= WHOLE_BYTES)
                assert_int_equal(bad, 0);
            bad = 0;
        }
    hd_destroy(c);
}

/* Each block adds four ones to sums[], as one copy from shared memory, `n` times. */
static const char bulk_sums[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry sums(.param .u64 p, .param .u32 n)\n{\n"
    "  .reg .u64 %p;\n  .reg .u32 %n, %s;\n  .reg .pred %q;\n  .shared .align 16 .b32 ones[4];\n"
    "  ld.param.u64 %p, [p];\n  ld.param.u32 %n, [n];\n  mov.u32 %s, ones;\n"
    "  st.shared.v4.u32 [%s], {1, 1, 1, 1};\n  fence.proxy.async.shared::cta;\nagain:\n"
    "  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%p], [%s], 16;\n"
    "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n"
    "  sub.u32 %n, %n, 1;\n  setp.ne.u32 %q, %n, 0;\n  @%q bra again;\n  ret;\n}\n";

static void test_bulk_sums(void **state) {
    (void)state;
    enum { BLOCKS = 2 };
    HdContext *c = hd_create(NULL);
    HdModule *ptx, *binary;
    uint32_t sums[4] = {0}, n = TRIES;
    assert_int_equal(hd_parse(c, "sums.ptx", bulk_sums, sizeof bulk_sums - 1, &ptx), HD_OK);
    assert_int_equal(hd_compile(ptx, &(HdCompileOptions){.target = "sm_90", .opt_level = 2}, &binary), HD_OK);
    HdArg args[] = {{.buffer = sums, .size_bytes = sizeof sums}, {.value = &n, .size_bytes = sizeof n}};
    HdLaunch launch = {.grid = {BLOCKS, 1, 1}, .block = {1, 1, 1}, .args = args, .nargs = 2, .jobs = BLOCKS};
    assert_int_equal(hd_launch(binary, &launch), HD_OK);
    for (int k = 0; k < 4; k++)
        assert_int_equal(sums[k], BLOCKS * TRIES);
    hd_destroy(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),      cmocka_unit_test(test_constant_on_machine),
        cmocka_unit_test(test_ends),        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_diagnostic),  cmocka_unit_test(test_threads),
        cmocka_unit_test(test_statistics),  cmocka_unit_test(test_link),
        cmocka_unit_test(test_cooperative), cmocka_unit_test(test_whole_words),
        cmocka_unit_test(test_bulk_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
