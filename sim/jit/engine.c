/* The compiling engine: opens libLLVM when the first region is hot, compiles regions, and keeps them for
 * later launches of the same code. SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "sim/jit/emit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

/* Instructions in a loop before it is thought of: 10 ms of the interpreter's. An instruction takes about a
 * millisecond to compile and is then 2 ns faster, so it must have been executed so often. */
enum { DEFAULT_AFTER = 2000000, EXECUTIONS = 500000 };
/* No inliner, no loop passes: SSA first, then what makes the table's scalars out of vectors of equal lanes.
 */
#define PASSES "lower-expect,sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,early-cse,adce"

typedef struct {
    XXH128_hash_t key;
    JitCode *code;
} Compiled;

typedef struct { /* heat of a binary's places, and what has no hope, from one launch to the next */
    const Binary *binary;
    const Run *run; /* the last one that attached: the code is for what that one has decoded */
    JitSlot *slots;
    uint32_t ncode;
} Known;

struct MachineJit {
    JitApi api;
    MachineJitStats stats;
    uint32_t after, executions;
    bool opened, usable;
    LLVMTargetMachineRef target_machine;
    LLVMOrcLLJITRef jit;
    char *cpu, *features, *triple;
    Compiled *compiled;
    uint32_t ncompiled;
    Known *known;
    uint32_t nknown;
};

MachineJit *machine_jit_open(uint32_t after) {
    MachineJit *engine = mem_zeroed(1, sizeof *engine);
    engine->after = after ? after : DEFAULT_AFTER;
    engine->executions = after ? 0 : EXECUTIONS;
    return engine;
}

const MachineJitStats *machine_jit_stats(const MachineJit *engine) { return &engine->stats; }

static bool give_up(MachineJit *engine, const char *what) {
    snprintf(engine->stats.failed, sizeof engine->stats.failed, "%s", what);
    engine->usable = false;
    return false;
}
/* True: there was an error, which is gone. */
static bool failed(MachineJit *engine, LLVMErrorRef error) {
    if (!error)
        return false;
    char *text = engine->api.GetErrorMessage(error);
    give_up(engine, text);
    engine->api.DisposeErrorMessage(text);
    return true;
}

void machine_jit_close(MachineJit *engine) {
    if (!engine)
        return;
    const JitApi *api = &engine->api;
    if (engine->jit)
        failed(engine, api->OrcDisposeLLJIT(engine->jit));
    if (engine->target_machine)
        api->DisposeTargetMachine(engine->target_machine);
    char *texts[3] = {engine->cpu, engine->features, engine->triple};
    for (unsigned i = 0; i < 3; i++)
        if (texts[i])
            api->DisposeMessage(texts[i]);
    for (uint32_t i = 0; i < engine->nknown; i++)
        mem_free(engine->known[i].slots);
    mem_free(engine->known);
    mem_free(engine->compiled);
    mem_free(engine);
}

static bool open_llvm(MachineJit *engine) {
    JitApi *api = &engine->api;
    LLVMTargetRef target;
    char why[128], *error = NULL;
    engine->opened = true;
    if (!jit_api_open(api, why, sizeof why))
        return give_up(engine, why);
    api->InitializeX86TargetInfo();
    api->InitializeX86Target();
    api->InitializeX86TargetMC();
    api->InitializeX86AsmPrinter();
    engine->triple = api->GetDefaultTargetTriple();
    engine->cpu = api->GetHostCPUName();
    engine->features = api->GetHostCPUFeatures();
    if (api->GetTargetFromTriple(engine->triple, &target, &error)) {
        give_up(engine, error);
        api->DisposeMessage(error);
        return false;
    }
    engine->target_machine =
        api->CreateTargetMachine(target, engine->triple, engine->cpu, engine->features, LLVMCodeGenLevelLess,
                                 LLVMRelocDefault, LLVMCodeModelJITDefault);
    engine->usable = true;
    return !failed(engine, api->OrcCreateLLJIT(&engine->jit, NULL));
}

/* Object code of the region. NULL: the engine is of no use any more. */
static LLVMMemoryBufferRef make_object(MachineJit *engine, const EmitRegion *wanted, const char *name) {
    const JitApi *api = &engine->api;
    LLVMContextRef context = api->ContextCreate();
    LLVMModuleRef module = api->ModuleCreateWithNameInContext(name, context);
    LLVMTargetDataRef layout = api->CreateTargetDataLayout(engine->target_machine);
    LLVMPassBuilderOptionsRef options = api->CreatePassBuilderOptions();
    LLVMMemoryBufferRef object = NULL;
    EmitRegion what = *wanted;
    char *error = NULL;
    api->SetModuleDataLayout(module, layout);
    api->SetTarget(module, engine->triple);
    what.module = module;
    what.cpu = engine->cpu;
    what.features = engine->features;
    emit_region(api, context, &what, name);
    bool good = !api->VerifyModule(module, LLVMReturnStatusAction, &error) || give_up(engine, error);
    good = good && !failed(engine, api->RunPasses(module, PASSES, engine->target_machine, options));
    if (good &&
        api->TargetMachineEmitToMemoryBuffer(engine->target_machine, module, LLVMObjectFile, &error, &object))
        give_up(engine, error);
    if (error)
        api->DisposeMessage(error);
    api->DisposePassBuilderOptions(options);
    api->DisposeTargetData(layout);
    api->DisposeModule(module);
    api->ContextDispose(context);
    return object;
}

static JitCode *make_code(MachineJit *engine, const EmitRegion *wanted) {
    const JitApi *api = &engine->api;
    char name[32];
    snprintf(name, sizeof name, "region_%u", engine->ncompiled);
    LLVMMemoryBufferRef object = make_object(engine, wanted, name);
    LLVMOrcExecutorAddress address = 0;
    if (!object ||
        failed(engine,
               api->OrcLLJITAddObjectFile(engine->jit, api->OrcLLJITGetMainJITDylib(engine->jit), object)) ||
        failed(engine, api->OrcLLJITLookup(engine->jit, &address, name)))
        return NULL;
    return (JitCode *)(uintptr_t)address;
}

/* All that the code depends on: the instructions, and which of them are decoded. */
static XXH128_hash_t region_key(const Run *run, const Region *region, unsigned kind) {
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, run->level->name, strlen(run->level->name));
    XXH3_128bits_update(&state, isa_target_info(run->bin->target)->name,
                        strlen(isa_target_info(run->bin->target)->name));
    XXH3_128bits_update(&state, &kind, sizeof kind);
    XXH3_128bits_update(&state, &run->ncode, sizeof run->ncode); /* targets behind it are bad */
    for (uint32_t i = 0; i < region->nblocks; i++) {
        const RegionBlock *block = &region->blocks[i];
        uint32_t head[3] = {block->pc, block->n, block->entry};
        XXH3_128bits_update(&state, head, sizeof head);
        XXH3_128bits_update(&state, run->code[block->pc], (size_t)block->n * sizeof *run->code);
    }
    return XXH3_128bits_digest(&state);
}

static JitCode *find_code(const MachineJit *engine, XXH128_hash_t key) {
    for (uint32_t i = 0; i < engine->ncompiled; i++)
        if (XXH128_isEqual(engine->compiled[i].key, key))
            return engine->compiled[i].code;
    return NULL;
}

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* of this thread: the host may be busy */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void jit_compile(Warp *warp, uint32_t pc, unsigned kind) {
    Run *run = warp->run;
    Jit *jit = run->jit;
    MachineJit *engine = jit->engine;
    Region region;
    JitSlot *slot = &jit->slots[pc];
    slot->hopeless[kind] = true; /* until it is there */
    if (!region_find(run, pc, kind == JIT_MASKED, &region))
        return;
    XXH128_hash_t key = region_key(run, &region, kind);
    JitCode *code = find_code(engine, key);
    if (!code && slot->heat[kind] < (uint64_t)region.ninsts * engine->executions) {
        slot->wanted[kind] = region.ninsts * engine->executions;
        slot->hopeless[kind] = false;
        return;
    }
    if (!code) {
        double start = now_seconds();
        if (engine->opened ? !engine->usable : !open_llvm(engine))
            return;
        code = make_code(engine, &(EmitRegion){.run = run, .region = &region, .kind = kind});
        engine->stats.seconds += now_seconds() - start;
        if (!code)
            return;
        engine->compiled = mem_resize(engine->compiled, (engine->ncompiled + 1) * sizeof *engine->compiled);
        engine->compiled[engine->ncompiled++] = (Compiled){key, code};
        engine->stats.regions++;
        engine->stats.instructions += region.ninsts;
    }
    for (uint32_t i = 0; i < region.nblocks; i++)
        if (region.blocks[i].entry)
            jit->slots[region.blocks[i].pc].code[kind] = code;
}

/* Compiled code wants FMA, and handlers that are its equal in speed. */
static bool host_can(const Run *run) {
    return strcmp(run->level->name, "v3") == 0 || strcmp(run->level->name, "v4") == 0;
}

/* The heat of the binary's places stays from one launch to the next; code is looked up again, for what is
 * decoded by then. */
static Known *known_of(MachineJit *engine, const Run *run) {
    for (uint32_t i = 0; i < engine->nknown; i++)
        if (engine->known[i].binary == run->bin && engine->known[i].ncode == run->ncode)
            return &engine->known[i];
    engine->known = mem_resize(engine->known, (engine->nknown + 1) * sizeof *engine->known);
    JitSlot *slots = mem_zeroed(run->ncode + 1u, sizeof *slots);
    engine->known[engine->nknown++] = (Known){.binary = run->bin, .slots = slots, .ncode = run->ncode};
    return &engine->known[engine->nknown - 1];
}

Jit *jit_attach(Run *run, MachineJit *engine) {
    if (!host_can(run)) {
        give_up(engine, "not on this host: compiled code needs its level v3 or v4");
        return NULL;
    }
    Known *known = known_of(engine, run);
    if (run->jit && run->jit->engine == engine && known->run == run)
        return run->jit;
    known->run = run;
    Jit *jit = ARENA_NEW(&run->arena, Jit);
    *jit = (Jit){.engine = engine,
                 .slots = known->slots,
                 .threshold = engine->after,
                 .host = {.data = run->level->call, .control = run->level->control}};
    for (uint32_t i = 0; i < run->ncode; i++)
        for (unsigned kind = 0; kind < JIT_KINDS; kind++) {
            jit->slots[i].code[kind] = NULL;
            jit->slots[i].hopeless[kind] = false;
            jit->slots[i].wanted[kind] = 0;
        }
    return jit;
}
