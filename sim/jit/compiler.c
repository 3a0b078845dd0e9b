/* LLVM at work. The region becomes LLVM IR in the caller's thread, which alone may look at the run; opening
 * the library, passes, code and linking are a task, which another thread may do. There is one task at a time,
 * and while there is one the thread has everything but `state`.
 * SPDX-License-Identifier: MIT */
#include "sim/jit/compiler.h"
#include "base/scope.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* No inliner, no loop passes: SSA first, then what makes the table's scalars out of vectors of equal lanes.
 */
#define PASSES "lower-expect,sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,early-cse,adce"
#define FUNCTION "region"
enum { STACK_BYTES = 8 << 20, ABANDONED = COMPILER_FAILED + 1 };
#define BUSY_SHARE 0.7 /* of a core, that a thread on a busy host gets at most */

typedef bool Task(Compiler *compiler);
struct Compiler {
    JitApi api;
    atomic_uint state; /* CompilerState; ABANDONED: BUSY, and nobody waits */
    CompilerMode mode;
    bool quick, has_thread;
    pthread_t thread;
    Task *task;
    CodeCache *cache;
    const char *library; /* the file of libLLVM */
    LLVMTargetMachineRef target_machine;
    char *cpu, *features, *triple;
    LLVMContextRef context; /* of the region that is compiled */
    LLVMModuleRef module;
    XXH128_hash_t key;
    Image image; /* of the one before */
    double seconds;
    double began, began_cpu; /* on the wall, and of the thread that opened it */
    char why[160];
};

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* Of this thread: the host may be busy. */
static double now_seconds(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

Compiler *compiler_new(CompilerMode mode, bool quick, const char *cache) {
    Compiler *compiler = mem_zeroed(1, sizeof *compiler);
    scope_unguard(compiler); /* a thread may have it longer than the scope lasts, where work is given up */
    compiler->mode = mode;
    compiler->quick = quick;
    compiler->cache = jit_cache_open(cache);
    compiler->began = seconds_of(CLOCK_MONOTONIC);
    compiler->began_cpu = now_seconds();
    return compiler;
}

CompilerState compiler_state(const Compiler *compiler) {
    return (CompilerState)atomic_load(&compiler->state);
}
double compiler_seconds(const Compiler *compiler) { return compiler->seconds; }
const char *compiler_why(const Compiler *compiler) { return compiler->why; }
bool compiler_take(Compiler *compiler, Image *out) {
    *out = compiler->image;
    compiler->image = (Image){0};
    return out->base != NULL;
}

const CodeCache *compiler_cache(const Compiler *compiler) { return compiler->cache; }
bool compiler_find(const Compiler *compiler, XXH128_hash_t key, Image *out) {
    ImageBytes bytes;
    if (!jit_cache_find(compiler->cache, key, &bytes))
        return false;
    bool good = jit_image_map(&bytes, out);
    mem_free(bytes.bytes);
    return good;
}

static bool give_up(Compiler *compiler, const char *what) {
    snprintf(compiler->why, sizeof compiler->why, "%s", what);
    return false;
}
/* True: there was an error, which is gone. */
static bool failed(Compiler *compiler, LLVMErrorRef error) {
    if (!error)
        return false;
    char *text = compiler->api.GetErrorMessage(error);
    give_up(compiler, text);
    compiler->api.DisposeErrorMessage(text);
    return true;
}

static void free_all(Compiler *compiler) {
    const JitApi *api = &compiler->api;
    if (compiler->target_machine)
        api->DisposeTargetMachine(compiler->target_machine);
    char *texts[3] = {compiler->cpu, compiler->features, compiler->triple};
    for (unsigned i = 0; i < 3; i++)
        if (texts[i])
            api->DisposeMessage(texts[i]);
    jit_image_unmap(&compiler->image);
    jit_cache_close(compiler->cache);
    mem_free(compiler);
}

/* ---- tasks ---- */
static bool open_llvm(Compiler *compiler) {
    JitApi *api = &compiler->api;
    LLVMTargetRef target;
    char why[128], *error = NULL;
    if (!jit_api_open(api, &compiler->library, why, sizeof why))
        return give_up(compiler, why);
    api->InitializeX86TargetInfo();
    api->InitializeX86Target();
    api->InitializeX86TargetMC();
    api->InitializeX86AsmPrinter();
    compiler->triple = api->GetDefaultTargetTriple();
    compiler->cpu = api->GetHostCPUName();
    compiler->features = api->GetHostCPUFeatures();
    if (api->GetTargetFromTriple(compiler->triple, &target, &error)) {
        give_up(compiler, error);
        api->DisposeMessage(error);
        return false;
    }
    compiler->target_machine = api->CreateTargetMachine(
        target, compiler->triple, compiler->cpu, compiler->features,
        compiler->quick ? LLVMCodeGenLevelNone : LLVMCodeGenLevelLess, LLVMRelocPIC, LLVMCodeModelSmall);
    return true;
}

/* Object code of the module; NULL: an error. */
static LLVMMemoryBufferRef make_object(Compiler *compiler) {
    const JitApi *api = &compiler->api;
    LLVMPassBuilderOptionsRef options = api->CreatePassBuilderOptions();
    LLVMMemoryBufferRef object = NULL;
    char *error = NULL;
    bool good =
        !api->VerifyModule(compiler->module, LLVMReturnStatusAction, &error) || give_up(compiler, error);
    if (good && !compiler->quick)
        good = !failed(compiler, api->RunPasses(compiler->module, PASSES, compiler->target_machine, options));
    if (good && api->TargetMachineEmitToMemoryBuffer(compiler->target_machine, compiler->module,
                                                     LLVMObjectFile, &error, &object))
        give_up(compiler, error);
    if (error)
        api->DisposeMessage(error);
    api->DisposePassBuilderOptions(options);
    return object;
}

static bool make_code(Compiler *compiler) {
    const JitApi *api = &compiler->api;
    LLVMMemoryBufferRef object = make_object(compiler);
    ImageBytes bytes;
    api->DisposeModule(compiler->module);
    api->ContextDispose(compiler->context);
    if (!object)
        return false;
    bool good = jit_image_link(api->GetBufferStart(object), api->GetBufferSize(object), FUNCTION, &bytes,
                               compiler->why);
    api->DisposeMemoryBuffer(object);
    if (!good)
        return false;
    good = jit_image_map(&bytes, &compiler->image) || give_up(compiler, "no executable memory");
    jit_cache_keep(compiler->cache, compiler->key, &bytes, compiler->library);
    mem_free(bytes.bytes);
    return good;
}

/* ---- who does them ---- */
static void *do_task(void *user) {
    Compiler *compiler = user;
    double start = now_seconds();
    bool good = compiler->task(compiler);
    compiler->seconds += now_seconds() - start;
    if (atomic_exchange(&compiler->state, good ? COMPILER_READY : COMPILER_FAILED) == ABANDONED)
        free_all(compiler);
    return NULL;
}

static void join_thread(Compiler *compiler) {
    if (compiler->has_thread)
        pthread_join(compiler->thread, NULL);
    compiler->has_thread = false;
}

/* Where the thread that runs the launch has not had a core to itself, a second one would take what the first
 * gets: it waits, rather than interpret meanwhile what compiled code does in a third of the time. */
static bool wants_thread(const Compiler *compiler) {
    double share = (now_seconds() - compiler->began_cpu) / (seconds_of(CLOCK_MONOTONIC) - compiler->began);
    return compiler->mode == COMPILER_BACKGROUND || (compiler->mode == COMPILER_IDLE && share > BUSY_SHARE);
}

bool compiler_takes_time(const Compiler *compiler) { return !wants_thread(compiler); }

static void begin(Compiler *compiler, Task *task) {
    pthread_attr_t attributes;
    join_thread(compiler);
    compiler->task = task;
    atomic_store(&compiler->state, COMPILER_BUSY);
    if (wants_thread(compiler) && pthread_attr_init(&attributes) == 0) {
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        compiler->has_thread = pthread_create(&compiler->thread, &attributes, do_task, compiler) == 0;
        pthread_attr_destroy(&attributes);
    }
    if (!compiler->has_thread)
        do_task(compiler);
}

void compiler_load(Compiler *compiler) { begin(compiler, open_llvm); }

void compiler_start(Compiler *compiler, const Run *run, const Region *region, unsigned kind,
                    XXH128_hash_t key) {
    const JitApi *api = &compiler->api;
    double start = now_seconds();
    compiler->key = key;
    compiler->context = api->ContextCreate();
    compiler->module = api->ModuleCreateWithNameInContext(FUNCTION, compiler->context);
    LLVMTargetDataRef layout = api->CreateTargetDataLayout(compiler->target_machine);
    api->SetModuleDataLayout(compiler->module, layout);
    api->DisposeTargetData(layout);
    api->SetTarget(compiler->module, compiler->triple);
    bool best = strcmp(run->level->name, machine_best_level()) == 0; /* else v3 where the host has v4 */
    EmitRegion what = {.module = compiler->module,
                       .run = run,
                       .region = region,
                       .kind = kind,
                       .cpu = best ? compiler->cpu : "x86-64-v3",
                       .features = best ? compiler->features : ""};
    emit_region(api, compiler->context, &what, FUNCTION);
    compiler->seconds += now_seconds() - start;
    begin(compiler, make_code);
}

void compiler_wait(Compiler *compiler) { join_thread(compiler); }

bool compiler_free(Compiler *compiler) {
    unsigned busy = COMPILER_BUSY;
    pthread_t thread = compiler->thread;
    if (atomic_compare_exchange_strong(&compiler->state, &busy, ABANDONED)) {
        pthread_detach(thread);
        return false;
    }
    join_thread(compiler);
    free_all(compiler);
    return true;
}
