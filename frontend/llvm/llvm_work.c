/* From a file to PTX by LLVM's C API, in a process that does nothing else: nothing is released, and whatever
 * goes wrong is told and ends it. SPDX-License-Identifier: MIT */
#include "frontend/llvm/internal.h"
#include "isa/machine/system.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PTX = 1 << 30 }; /* what ptx_parse takes */

static int records = -1; /* where to; LLVM's handler of fatal errors takes no argument */

static void put(const void *data, size_t size_bytes) {
    const char *from = data;
    while (size_bytes) {
        ssize_t n = write(records, from, size_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1);
        from += n;
        size_bytes -= (size_t)n;
    }
}

static void tell(LlvmSays kind, const char *text, size_t size_bytes) {
    put(&(LlvmRecord){kind, (uint32_t)size_bytes}, sizeof(LlvmRecord));
    put(text, size_bytes);
}

static _Noreturn void fail(const char *text) {
    tell(LLVM_SAYS_ERROR, text, strlen(text));
    _exit(1);
}

static void on_fatal_error(const char *reason) { fail(reason); }

typedef struct {
    const LlvmApi *api;
    LLVMContextRef context;
    bool failed; /* an error came as a diagnostic: LLVM may go on all the same */
} Work;

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
    Work *work = user;
    LLVMDiagnosticSeverity severity = work->api->GetDiagInfoSeverity(info);
    if (severity > LLVMDSWarning)
        return;
    const char *text = work->api->GetDiagInfoDescription(info);
    tell(severity == LLVMDSError ? LLVM_SAYS_ERROR : LLVM_SAYS_WARNING, text, strlen(text));
    work->failed |= severity == LLVMDSError;
}

static LLVMModuleRef read_module(Work *work, const LlvmFile *file) {
    const LlvmApi *api = work->api;
    char *why = NULL;
    LLVMModuleRef module = NULL;
    bool text =
        file->size_bytes && (unsigned char)file->data[0] != 'B' && (unsigned char)file->data[0] != 0xde;
    LLVMMemoryBufferRef buffer =
        api->CreateMemoryBufferWithMemoryRange(file->data, file->size_bytes, file->name, text);
    if (api->ParseIRInContext(work->context, buffer, &module, &why))
        fail(why ? why : "the module cannot be read");
    if (work->failed)
        _exit(1);
    return module;
}

/* ---- what the functions were compiled for ---- */

static const char *attribute(const LlvmApi *api, LLVMValueRef function, const char *name,
                             unsigned *size_bytes) {
    LLVMAttributeRef found = api->GetStringAttributeAtIndex(
        function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, name, (unsigned)strlen(name));
    return found ? api->GetStringAttributeValue(found, size_bytes) : NULL;
}

enum { CPU_BYTES = 16, PTX_LEAST = 78, PTX_OF_OLD = 75 /* LLVM 14, 15 */ };

/* The highest that a function names: "sm_80", "sm_90a". */
static void cpu_of_module(const LlvmApi *api, LLVMModuleRef module, char cpu[CPU_BYTES]) {
    unsigned highest = 0;
    for (LLVMValueRef f = api->GetFirstFunction(module); f; f = api->GetNextFunction(f)) {
        unsigned size = 0, number = 0;
        const char *text = attribute(api, f, "target-cpu", &size);
        if (!text || size >= CPU_BYTES || sscanf(text, "sm_%u", &number) != 1 || number < highest)
            continue;
        if (number > highest || size > strlen(cpu)) {
            memcpy(cpu, text, size);
            cpu[size] = 0;
        }
        highest = number;
    }
}

/* "+ptx85,+sm_80": the highest PTX version that a function names; 0: none does. */
static unsigned ptx_of_module(const LlvmApi *api, LLVMModuleRef module) {
    unsigned highest = 0;
    for (LLVMValueRef f = api->GetFirstFunction(module); f; f = api->GetNextFunction(f)) {
        unsigned size = 0;
        const char *text = attribute(api, f, "target-features", &size);
        const char *found = text ? memmem(text, size, "+ptx", 4) : NULL;
        unsigned version = 0;
        for (const char *s = found ? found + 4 : NULL; s && s < text + size && *s >= '0' && *s <= '9'; s++)
            version = version * 10 + (unsigned)(*s - '0');
        if (version > highest && version < 1000)
            highest = version;
    }
    return highest;
}

static LLVMTargetMachineRef target_machine(Work *work, LLVMModuleRef module, const LlvmOptions *options) {
    const LlvmApi *api = work->api;
    const char *triple = api->GetTarget(module);
    char text[256], cpu[CPU_BYTES] = "sm_80", features[16] = "", *why = NULL;
    if (*triple && strncmp(triple, "nvptx64", 7) != 0) {
        snprintf(text, sizeof text, "the module is for target '%.100s', not for nvptx64", triple);
        fail(text);
    }
    if (!*triple)
        api->SetTarget(module, triple = "nvptx64-nvidia-cuda");
    LLVMTargetRef target;
    if (api->GetTargetFromTriple(triple, &target, &why))
        fail(why ? why : "this libLLVM has no NVPTX target");
    cpu_of_module(api, module, cpu);
    unsigned version = ptx_of_module(api, module), least = api->major ? PTX_LEAST : PTX_OF_OLD;
    if (options->cpu)
        snprintf(cpu, sizeof cpu, "%s", options->cpu);
    unsigned number = 0;
    if (sscanf(cpu, "sm_%u", &number) == 1 && number <= 90) /* for later ones LLVM knows what they need */
        snprintf(features, sizeof features, "+ptx%u", version > least ? version : least);
    LLVMTargetMachineRef machine =
        api->CreateTargetMachine(target, triple, cpu, features, (LLVMCodeGenOptLevel)options->opt_level,
                                 LLVMRelocDefault, LLVMCodeModelDefault);
    if (!machine)
        fail("LLVM makes no machine for this target");
    api->SetModuleDataLayout(module, api->CreateTargetDataLayout(machine));
    return machine;
}

/* ---- libraries ---- */

/* Definitions of a library give way to the module's own, only what is used of them is linked, and that is
 * nobody's but this module's: it is inlined, or goes. Their section tells them from the module's own until
 * then. */
static const char from_library[] = "heddle.library";

static void soften(const LlvmApi *api, LLVMValueRef value) {
    if (api->IsDeclaration(value) || api->GetLinkage(value) != LLVMExternalLinkage)
        return;
    api->SetLinkage(value, LLVMLinkOnceODRLinkage);
    api->SetSection(value, from_library);
}

static void internalise(const LlvmApi *api, LLVMValueRef value) {
    const char *section = api->GetSection(value);
    if (!section || strcmp(section, from_library) != 0)
        return;
    api->SetSection(value, "");
    api->SetLinkage(value, LLVMInternalLinkage);
}

static void link_libraries(Work *work, LLVMModuleRef module, LLVMTargetMachineRef machine,
                           const LlvmOptions *options) {
    const LlvmApi *api = work->api;
    for (unsigned k = 0; k < options->nlibraries; k++) {
        LLVMModuleRef library = read_module(work, &options->libraries[k]);
        api->SetTarget(library, api->GetTarget(module));
        api->SetModuleDataLayout(library, api->CreateTargetDataLayout(machine));
        for (LLVMValueRef f = api->GetFirstFunction(library); f; f = api->GetNextFunction(f))
            soften(api, f);
        for (LLVMValueRef g = api->GetFirstGlobal(library); g; g = api->GetNextGlobal(g))
            soften(api, g);
        if (api->LinkModules2(module, library))
            fail("the library cannot be linked");
    }
    for (LLVMValueRef f = api->GetFirstFunction(module); f; f = api->GetNextFunction(f))
        internalise(api, f);
    for (LLVMValueRef g = api->GetFirstGlobal(module); g; g = api->GetNextGlobal(g))
        internalise(api, g);
}

/* ---- passes ---- */

static void run(Work *work, LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes) {
    LLVMErrorRef error = work->api->RunPasses(module, passes, machine, work->api->CreatePassBuilderOptions());
    if (error)
        fail(work->api->GetErrorMessage(error));
}

static void run_passes(Work *work, LLVMModuleRef module, LLVMTargetMachineRef machine,
                       const LlvmOptions *options) {
    static const char *const by_level[] = {NULL, "default<O1>", "default<O2>", "default<O3>"};
    const char *passes = options->passes ? options->passes : by_level[options->opt_level];
    if (passes && strcmp(passes, "none") == 0)
        passes = NULL;
    if (!passes && options->nlibraries) {
        /* what libdevice asks of the options of a compilation, then what nobody calls */
        run(work, module, machine, "nvvm-reflect");
        passes = "globaldce";
    }
    if (passes)
        run(work, module, machine, passes);
}

static void tell_undefined(const LlvmApi *api, LLVMModuleRef module) {
    for (LLVMValueRef f = api->GetFirstFunction(module); f; f = api->GetNextFunction(f))
        if (api->IsDeclaration(f) && !api->GetIntrinsicID(f) && api->GetFirstUse(f)) {
            size_t size_bytes;
            const char *name = api->GetValueName2(f, &size_bytes);
            if (system_find(name) == SYSTEM_COUNT)
                tell(LLVM_SAYS_UNDEFINED, name, size_bytes);
        }
}

static void verify(const LlvmApi *api, LLVMModuleRef module) {
    char *why = NULL;
    if (api->VerifyModule(module, LLVMReturnStatusAction, &why))
        fail(why && *why ? why : "the module is broken");
}

void llvm_work(const LlvmApi *api, const LlvmFile *file, const LlvmOptions *options, int out) {
    records = out;
    api->InstallFatalErrorHandler(on_fatal_error);
    api->InitializeNVPTXTargetInfo();
    api->InitializeNVPTXTarget();
    api->InitializeNVPTXTargetMC();
    api->InitializeNVPTXAsmPrinter();
    Work work = {.api = api, .context = api->ContextCreate()};
    api->ContextSetDiagnosticHandler(work.context, on_diagnostic, &work);
    LLVMModuleRef module = read_module(&work, file);
    verify(api, module);
    LLVMTargetMachineRef machine = target_machine(&work, module, options);
    link_libraries(&work, module, machine, options);
    run_passes(&work, module, machine, options);
    if (!options->externals)
        tell_undefined(api, module);
    char *why = NULL;
    LLVMMemoryBufferRef ptx = NULL;
    if (!work.failed && api->TargetMachineEmitToMemoryBuffer(machine, module, LLVMAssemblyFile, &why, &ptx))
        fail(why ? why : "LLVM made no PTX");
    if (work.failed || !ptx)
        _exit(1);
    if (api->GetBufferSize(ptx) > MOST_PTX)
        fail("LLVM made more than 1 GiB of PTX");
    tell(LLVM_SAYS_PTX, api->GetBufferStart(ptx), api->GetBufferSize(ptx));
    _exit(0);
}
