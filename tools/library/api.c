/* The public library: see include/heddle.h. Every function that does work runs it in a scope (base/scope.h),
 * so that it returns whatever happens; results leave the scope only when the work is done.
 * SPDX-License-Identifier: MIT */
#include "heddle.h"
#include "tools/library/api.h"
#include "tools/jobs/explain.h"
#include "base/scope.h"
#include "check/prove/prove.h"
#include "check/static/check.h"
#include "check/validate/compare/diff.h"
#include "check/validate/judge/judge.h"
#include "check/validate/cover/profile.h"
#include "emit/text/asm.h"
#include "frontend/link.h"
#include "frontend/llvm/llvm_ir.h"
#include "sim/machine/policy.h"
#include "tools/jobs/driver.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    ApiFn *work;
    ApiCall *call;
} Job;

static void deliver(void *user, Severity severity, const char *line) {
    const HdContext *context = user;
    HdSeverity s = severity == SEV_ERROR ? HD_ERROR : severity == SEV_WARNING ? HD_WARNING : HD_NOTE;
    if (context->options.message)
        context->options.message(context->options.user, s, line);
}

static void deliver_parts(void *user, const DiagRecord *record) {
    const HdContext *context = user;
    static const HdSeverity severities[] = {
        [SEV_NOTE] = HD_NOTE, [SEV_WARNING] = HD_WARNING, [SEV_ERROR] = HD_ERROR};
    context->options.diagnostic(context->options.user,
                                &(HdDiagnostic){.severity = severities[record->severity],
                                                .code = diag_code_name(record->code),
                                                .file = record->source ? record->source->name : NULL,
                                                .line = record->line,
                                                .column = record->column,
                                                .text = record->text,
                                                .section = record->place.section,
                                                .reg = record->place.reg,
                                                .function = record->place.function});
}

Diags hd_diags(HdContext *context) {
    return (Diags){
        .sink = deliver, .record = context->options.diagnostic ? deliver_parts : NULL, .user = context};
}

static void do_job(void *user) {
    const Job *job = user;
    job->work(job->call);
}

HdStatus hd_run(ApiFn *work, ApiCall *call) {
    const HdOptions *options = &call->context->options;
    ScopeLimits limits = {.bytes = options->max_memory_bytes,
                          .seconds = call->launch ? call->launch->max_seconds : 0,
                          .cancel = options->cancel,
                          .cancel_user = options->user};
    ScopeResult result = scope_run(do_job, &(Job){work, call}, &limits);
    if (result.end != SCOPE_DONE) { /* the scope has released them */
        call->text = NULL;
        call->module = NULL;
        call->after = NULL;
    }
    switch (result.end) {
    case SCOPE_DONE: return call->status;
    case SCOPE_MEMORY: return HD_ERR_MEMORY;
    case SCOPE_TIME: return HD_ERR_LIMIT;
    case SCOPE_CANCELLED: return HD_ERR_CANCELLED;
    case SCOPE_INTERNAL: deliver(call->context, SEV_ERROR, result.what);
    }
    return HD_ERR_INTERNAL;
}

static HdStatus module_call(ApiFn *work, ApiCall call, HdModule **out) {
    HdStatus status = hd_run(work, &call);
    *out = call.module;
    return status;
}

/* `report` may be NULL. */
static HdStatus report_call(ApiFn *work, ApiCall call, char **report) {
    call.wants_report = report != NULL;
    HdStatus status = hd_run(work, &call);
    if (report)
        *report = call.text;
    return status;
}

/* ---- contexts and modules ---- */

HdContext *hd_create(const HdOptions *options) {
    HdContext *context = calloc(1, sizeof *context);
    if (context && options)
        context->options = *options;
    return context;
}

void hd_destroy(HdContext *context) {
    if (!context)
        return;
    hd_free_memories(context);
    machine_threads_close(context->threads);
    while (context->modules) {
        HdModule *module = context->modules;
        context->modules = module->next;
        if (module->ptx)
            ptx_free(module->ptx);
        binary_free(module->binary);
        mem_free(module->image);
        mem_free(module->name);
        mem_free(module);
    }
    free(context);
}

/* The last step of a call's work: from here on the module is the context's. */
static void add_module(ApiCall *call, const char *name, HdModule module) {
    HdModule *added = mem_alloc(sizeof *added);
    *added = module;
    added->name = mem_text(name);
    added->context = call->context;
    added->next = call->context->modules;
    call->context->modules = call->module = added;
    call->status = HD_OK;
}

static void parse(ApiCall *call) {
    Diags d = hd_diags(call->context);
    PtxModule *ptx = ptx_parse(call->name, call->bytes, call->size_bytes, &d);
    call->status = HD_ERR_INPUT;
    if (ptx)
        add_module(call, call->name, (HdModule){.ptx = ptx});
}

HdStatus hd_parse(HdContext *c, const char *name, const char *text, size_t size_bytes, HdModule **out) {
    if (out)
        *out = NULL;
    if (!c || !name || !text || !out)
        return HD_ERR_USAGE;
    return module_call(parse, (ApiCall){.context = c, .name = name, .bytes = text, .size_bytes = size_bytes},
                       out);
}

/* Linking takes modules over; what it gets is read from the same texts again. */
static void link_modules(ApiCall *call) {
    Diags d = hd_diags(call->context);
    HdModule *const *modules = call->bytes;
    uint32_t n = (uint32_t)call->size_bytes;
    Arena arena = {0};
    PtxModule **all = ARENA_ARRAY(&arena, PtxModule *, n), *linked = NULL;
    uint32_t read = 0;
    call->status = HD_ERR_INPUT;
    for (; read < n; read++) {
        const Source *source = &modules[read]->ptx->source;
        all[read] = ptx_parse(source->name, source->text, source->size_bytes, &d);
        if (!all[read])
            break;
    }
    if (read == n)
        linked = ptx_link(all, n, &d);
    else
        while (read)
            ptx_free(all[--read]);
    if (linked)
        add_module(call, modules[0]->name, (HdModule){.ptx = linked});
    arena_free(&arena);
}

HdStatus hd_link(HdModule *const *ptx, size_t n, HdModule **out) {
    if (out)
        *out = NULL;
    if (!ptx || !n || n > UINT16_MAX || !out)
        return HD_ERR_USAGE;
    for (size_t i = 0; i < n; i++)
        if (!ptx[i] || !ptx[i]->ptx || ptx[i]->context != ptx[0]->context)
            return HD_ERR_USAGE;
    return module_call(link_modules, (ApiCall){.context = ptx[0]->context, .bytes = ptx, .size_bytes = n},
                       out);
}

/* A copy with the NUL that LLVM wants behind a text. */
static LlvmFile llvm_file(Arena *arena, const char *name, const void *data, size_t size_bytes) {
    char *copy = arena_alloc(arena, size_bytes + 1);
    memcpy(copy, data, size_bytes);
    return (LlvmFile){name, copy, size_bytes};
}

static void parse_llvm(ApiCall *call) {
    Diags d = hd_diags(call->context);
    const HdLlvmOptions *options = call->options;
    Arena arena = {0};
    LlvmFile *libraries = ARENA_ARRAY(&arena, LlvmFile, options->nlibraries + 1);
    for (size_t i = 0; i < options->nlibraries; i++) {
        const HdBitcode *from = &options->libraries[i];
        libraries[i] = llvm_file(&arena, from->name, from->data, from->size_bytes);
    }
    LlvmFile file = llvm_file(&arena, call->name, call->bytes, call->size_bytes);
    LlvmOptions llvm = {.library = options->llvm,
                        .cpu = options->cpu,
                        .passes = options->passes,
                        .opt_level = options->opt_level,
                        .libraries = libraries,
                        .nlibraries = (unsigned)options->nlibraries};
    char *text;
    size_t text_bytes;
    PtxModule *ptx = NULL;
    call->status = HD_ERR_INPUT;
    if (llvm_to_ptx(&arena, &file, &llvm, &d, &text, &text_bytes))
        ptx = ptx_parse(arena_printf(&arena, "%s (as PTX)", call->name), text, text_bytes, &d);
    if (ptx)
        add_module(call, call->name, (HdModule){.ptx = ptx});
    arena_free(&arena);
}

HdStatus hd_parse_llvm(HdContext *c, const char *name, const void *data, size_t size_bytes,
                       const HdLlvmOptions *options, HdModule **out) {
    static const HdLlvmOptions defaults = {.opt_level = 2};
    if (!options)
        options = &defaults;
    if (out)
        *out = NULL;
    if (!c || !name || !data || !out || options->opt_level > 3 || options->nlibraries > UINT16_MAX ||
        (!options->libraries && options->nlibraries))
        return HD_ERR_USAGE;
    for (size_t i = 0; i < options->nlibraries; i++)
        if (!options->libraries[i].name || !options->libraries[i].data)
            return HD_ERR_USAGE;
    return module_call(
        parse_llvm,
        (ApiCall){.context = c, .name = name, .bytes = data, .size_bytes = size_bytes, .options = options},
        out);
}

/* Takes the image over. */
static void load_owned(ApiCall *call, const char *name, void *image, size_t size_bytes) {
    Diags d = hd_diags(call->context);
    Binary *b = binary_read(name, image, size_bytes, &d);
    call->status = HD_ERR_INPUT;
    if (b)
        add_module(call, name, (HdModule){.binary = b, .image = image, .image_bytes = size_bytes});
    else
        mem_free(image);
}

static void load(ApiCall *call) {
    void *copy = mem_alloc(call->size_bytes);
    memcpy(copy, call->bytes, call->size_bytes);
    load_owned(call, call->name, copy, call->size_bytes);
}

HdStatus hd_load(HdContext *c, const char *name, const void *image, size_t size_bytes, HdModule **out) {
    if (out)
        *out = NULL;
    if (!c || !name || !image || !out)
        return HD_ERR_USAGE;
    return module_call(load, (ApiCall){.context = c, .name = name, .bytes = image, .size_bytes = size_bytes},
                       out);
}

bool hd_driver_options(const HdCompileOptions *options, DriverOptions *driver) {
    *driver = (DriverOptions){.opt_level = options->opt_level,
                              .target = options->target ? isa_target(options->target) : isa_targets[0],
                              .elf = {.no_map = options->no_map, .no_ptx = options->no_ptx}};
    return options->opt_level <= 3 && driver->target &&
           (!options->predicate || ir_predicate_mode(options->predicate, &driver->predicate)) &&
           (!options->reconverge_opt || ir_reconv_opts(options->reconverge_opt, &driver->reconv_opts));
}

static void compile(ApiCall *call) {
    Diags d = hd_diags(call->context);
    Compilation c;
    void *image = NULL;
    size_t image_bytes = 0;
    const HdCompileOptions *options = call->options;
    DriverOptions driver;
    hd_driver_options(options, &driver); /* which hd_compile has found right */
    driver.profiles = &(ProfileInput){"profile", options->profile};
    driver.nprofiles = options->profile != NULL;
    if (driver_compile(&c, call->ptx->ptx, &driver, &d)) {
        image = c.image;
        image_bytes = c.image_bytes;
        c.image = NULL;
    }
    driver_free(&c);
    call->status = HD_ERR_INPUT;
    if (image)
        load_owned(call, call->ptx->name, image, image_bytes);
}

HdStatus hd_compile(HdModule *ptx, const HdCompileOptions *options, HdModule **out) {
    static const HdCompileOptions defaults = {.opt_level = 2};
    DriverOptions driver;
    if (out)
        *out = NULL;
    options = options ? options : &defaults;
    if (!ptx || !ptx->ptx || !out || !hd_driver_options(options, &driver))
        return HD_ERR_USAGE;
    return module_call(compile, (ApiCall){.context = ptx->context, .ptx = ptx, .options = options}, out);
}

HdStatus hd_image(const HdModule *binary, const void **image, size_t *size_bytes) {
    if (image)
        *image = NULL;
    if (size_bytes)
        *size_bytes = 0;
    if (!binary || !binary->binary || !image || !size_bytes)
        return HD_ERR_USAGE;
    *image = binary->image;
    *size_bytes = binary->image_bytes;
    return HD_OK;
}

static void disassemble(ApiCall *call) {
    const HdModule *binary = call->binary;
    Diags d = hd_diags(call->context);
    bool good = disasm_image(binary->name, binary->image, binary->image_bytes, false, &call->text,
                             &call->text_bytes, &d);
    call->status = good ? HD_OK : HD_ERR_INPUT;
}

HdStatus hd_disassemble(HdModule *binary, char **text, size_t *size_bytes) {
    if (text)
        *text = NULL;
    if (size_bytes)
        *size_bytes = 0;
    if (!binary || !binary->binary || !text || !size_bytes)
        return HD_ERR_USAGE;
    ApiCall call = {.context = binary->context, .binary = binary};
    HdStatus status = hd_run(disassemble, &call);
    *text = call.text;
    *size_bytes = call.text ? call.text_bytes : 0;
    return status;
}

static void assemble(ApiCall *call) {
    Diags d = hd_diags(call->context);
    char *copy = mem_zeroed(1, call->size_bytes + 1); /* the diagnostics want a NUL behind the text */
    memcpy(copy, call->bytes, call->size_bytes);
    Source source = {call->name, copy, call->size_bytes};
    void *image;
    size_t image_bytes;
    bool good = asm_assemble(&source, &image, &image_bytes, &d);
    mem_free(copy);
    call->status = HD_ERR_INPUT;
    if (good)
        load_owned(call, call->name, image, image_bytes);
}

HdStatus hd_assemble(HdContext *c, const char *name, const char *text, size_t size_bytes, HdModule **out) {
    if (out)
        *out = NULL;
    if (!c || !name || !text || !out || size_bytes == SIZE_MAX)
        return HD_ERR_USAGE;
    return module_call(assemble,
                       (ApiCall){.context = c, .name = name, .bytes = text, .size_bytes = size_bytes}, out);
}

/* ---- launches ---- */

/* `context`: that of the module, which the launch's memory must be of too. */
bool hd_launch_is_sound(const HdLaunch *launch, const HdContext *context) {
    if (!launch || (launch->nargs && !launch->args) || (launch->memory && launch->memory->context != context))
        return false;
    MachineOptions options = {0};
    size_t unknown;
    if (launch->policies && machine_policy_list(&options, launch->policies, &unknown))
        return false;
    if (launch->target && !isa_target(launch->target))
        return false;
    for (size_t i = 0; i < launch->nargs; i++) {
        const HdArg *arg = &launch->args[i];
        if ((arg->value != NULL) == (arg->buffer != NULL) || arg->size_bytes == 0 ||
            (launch->memory && arg->buffer) || (arg->value && arg->size_bytes > 4096))
            return false;
    }
    return true;
}

void hd_make_plan(Plan *plan, const HdLaunch *hd_launch) {
    const Scalar *byte = scalar_find("b8", 2);
    *plan = (Plan){.numbers = hd_launch->target ? isa_target(hd_launch->target) : NULL};
    PlanLaunch *launch = VEC_PUSH(&plan->arena, &plan->launches);
    *launch = (PlanLaunch){.kernel = hd_launch->kernel,
                           .shared_bytes = hd_launch->shared_bytes,
                           .cooperative = hd_launch->cooperative,
                           .repeat = 1};
    memcpy(launch->grid, hd_launch->grid, sizeof hd_launch->grid);
    memcpy(launch->block, hd_launch->block, sizeof hd_launch->block);
    for (size_t i = 0; i < hd_launch->nargs; i++) {
        const HdArg *hd_arg = &hd_launch->args[i];
        PlanArg arg = {.is_buffer = hd_arg->buffer != NULL,
                       .buffer = plan->buffers.n,
                       .bytes = hd_arg->value,
                       .size_bytes = (uint32_t)hd_arg->size_bytes};
        if (hd_arg->buffer)
            VEC_ADD(&plan->arena, &plan->buffers,
                    ((PlanBuffer){.name = arena_printf(&plan->arena, "argument %zu", i),
                                  .type = byte,
                                  .count = hd_arg->size_bytes,
                                  .bytes = hd_arg->buffer}));
        VEC_ADD(&plan->arena, &launch->args, arg);
    }
}

static void copy_back(const Plan *plan, const SimMemory *mem, const HdLaunch *launch) {
    uint32_t buffer = 0;
    for (size_t i = 0; i < launch->nargs; i++)
        if (launch->args[i].buffer)
            simmem_read(mem, plan->buffers.at[buffer++].address, launch->args[i].buffer,
                        launch->args[i].size_bytes);
}

static bool host_call(void *user, const MachineCall *call) {
    const HdLaunch *launch = user;
    static const HdHostCallKind kinds[] = {[MACHINE_CALL_TRAP] = HD_CALL_TRAP,
                                           [MACHINE_CALL_RTT] = HD_CALL_RTT,
                                           [MACHINE_CALL_SYSCALL] = HD_CALL_SYSCALL};
    HdHostCall c = {.kind = kinds[call->kind],
                    .function = call->func ? call->func->name : NULL,
                    .pc_bytes = call->func_pc_bytes,
                    .ptx_line = call->ptx_line,
                    .warp = call->warp,
                    .lanes = call->lanes,
                    .regs = call->regs};
    memcpy(c.block, call->block, sizeof c.block);
    memcpy(c.value, call->value, sizeof c.value);
    return launch->host_call(launch->host_user, &c);
}

static void deliver_print(void *user, const SimPrint *print) {
    const HdLaunch *launch = user;
    HdPrint p = {.text = print->text, .size_bytes = print->bytes};
    memcpy(p.block, print->block, sizeof p.block);
    memcpy(p.thread, print->thread, sizeof p.thread);
    if (launch->print)
        launch->print(launch->print_user, &p);
}

static void deliver_trace(void *user, const MachineTrace *trace) {
    const HdLaunch *launch = user;
    HdTrace t = {.function = trace->func ? trace->func->name : NULL,
                 .text = trace->text ? trace->text : "",
                 .pc_bytes = trace->func_pc_bytes,
                 .ptx_line = trace->loc ? trace->loc->ptx_line : 0,
                 .warp = trace->warp,
                 .valid = trace->valid,
                 .active = trace->active,
                 .executed = trace->executed};
    memcpy(t.block, trace->block, sizeof t.block);
    launch->trace(launch->trace_user, &t);
}

static void note_statistics(const HdLaunch *launch, const MachineStats *stats) {
    if (launch->statistics)
        *launch->statistics = (HdStatistics){.warp_instructions = stats->issues,
                                             .thread_instructions = stats->lane_issues,
                                             .data_warp_instructions = stats->data_issues,
                                             .data_thread_instructions = stats->data_lane_issues,
                                             .convergence_instructions = stats->b_issues,
                                             .divergences = stats->divergences,
                                             .switches = stats->switches,
                                             .barrier_phases = stats->barriers};
}

static HdStatus trap_status(SimTrapKind kind) {
    return kind == TRAP_NONE ? HD_OK : kind == TRAP_BUDGET ? HD_ERR_LIMIT : HD_ERR_TRAP;
}

/* max_steps as the engines take it: the interpreter has a limit of its own where it is told none. */
static uint64_t step_limit(const HdLaunch *launch) {
    return launch->max_steps ? launch->max_steps : UINT64_MAX;
}

static MachineThreads *threads_of(HdContext *context) {
    if (!context->threads)
        context->threads = machine_threads_open();
    return context->threads;
}

static HdStatus run_machine(HdContext *context, Plan *plan, const HdLaunch *launch, const Binary *binary,
                            SimMemory *mem, Diags *d) {
    MachineResult result;
    MachineOptions options = {.max_issues = step_limit(launch),
                              .jobs = launch->jobs,
                              .threads = launch->jobs > 1 ? threads_of(context) : NULL,
                              .call = launch->host_call ? host_call : NULL,
                              .call_user = (void *)(uintptr_t)launch,
                              .print = deliver_print,
                              .print_user = (void *)(uintptr_t)launch,
                              .trace = launch->trace ? deliver_trace : NULL,
                              .trace_user = (void *)(uintptr_t)launch};
    size_t unknown;
    if (launch->policies)
        machine_policy_list(&options, launch->policies, &unknown); /* which was found right */
    bool ran = diff_run_machine(plan, plan->launches.at, binary, mem, &options, &result, d);
    HdStatus status = ran ? trap_status(result.trap.kind) : HD_ERR_INPUT;
    if (ran)
        note_statistics(launch, &result.stats);
    machine_result_free(&result);
    return status;
}

/* counter: NULL, or what counts */
static HdStatus run_ptx(Plan *plan, const HdLaunch *launch, const PtxModule *ptx, SimMemory *mem,
                        ProfileCounter *counter, Diags *d) {
    PtxRunResult result = {0};
    PtxRunOptions options = {.budget = step_limit(launch),
                             .on_event = counter ? profile_count : NULL,
                             .user = counter,
                             .print = deliver_print,
                             .print_user = (void *)(uintptr_t)launch};
    if (counter)
        profile_counter_launch(counter, launch->grid, launch->block);
    char line[512];
    if (!interp_place_variables(ptx, mem, d) ||
        !diff_run_ptx(plan, plan->launches.at, ptx, mem, &options, &result, d))
        return HD_ERR_INPUT;
    note_statistics(launch, &(MachineStats){.lane_issues = result.thread_insns});
    if (result.trap.kind != TRAP_NONE) {
        sim_trap_print(&result.trap, line, sizeof line);
        diag(d, (SrcLoc){0}, DIAG_E0502, line);
    }
    return trap_status(result.trap.kind);
}

static void run_launch(ApiCall *call, ProfileCounter *counter, Diags *d) {
    Plan plan;
    hd_make_plan(&plan, call->launch);
    HdMemory *kept = call->launch->memory;
    SimMemory *mem = kept ? simmem_clone(kept->mem) : plan_memory(&plan, d);
    call->status = HD_ERR_INPUT;
    if (mem) {
        call->status = call->binary
                           ? run_machine(call->context, &plan, call->launch, call->binary->binary, mem, d)
                           : run_ptx(&plan, call->launch, call->ptx->ptx, mem, counter, d);
        if (call->status != HD_ERR_INPUT)
            copy_back(&plan, mem, call->launch);
        if (kept && call->status != HD_ERR_INPUT)
            call->after = mem; /* the memory's, once the work is done */
        else
            simmem_free(mem);
    }
    plan_free(&plan);
}

static void launch(ApiCall *call) {
    Diags d = hd_diags(call->context);
    run_launch(call, NULL, &d);
}

static void count_launch(ApiCall *call) {
    Diags d = hd_diags(call->context);
    PtxProfile *profile = ptx_profile_new(call->ptx->ptx);
    ProfileCounter *counter = profile_counter_new(profile);
    call->status = HD_ERR_INPUT;
    if (!call->options || ptx_profile_read(profile, "profile", call->options, &d))
        run_launch(call, counter, &d);
    if (call->status != HD_ERR_INPUT)
        call->text = ptx_profile_write(profile);
    profile_counter_free(counter);
    ptx_profile_free(profile);
}

static HdStatus launch_call(ApiCall call) {
    HdStatus status = hd_run(launch, &call);
    if (call.after)
        hd_exchange(call.launch->memory, call.after);
    return status;
}

HdStatus hd_launch(HdModule *binary, const HdLaunch *hd_launch) {
    if (!binary || !binary->binary || !hd_launch_is_sound(hd_launch, binary->context))
        return HD_ERR_USAGE;
    return launch_call((ApiCall){.context = binary->context, .binary = binary, .launch = hd_launch});
}

HdStatus hd_interpret(HdModule *ptx, const HdLaunch *hd_launch) {
    if (!ptx || !ptx->ptx || !hd_launch_is_sound(hd_launch, ptx->context))
        return HD_ERR_USAGE;
    return launch_call((ApiCall){.context = ptx->context, .ptx = ptx, .launch = hd_launch});
}

HdStatus hd_profile(HdModule *ptx, const HdLaunch *hd_launch, const char *earlier, char **profile) {
    if (profile)
        *profile = NULL;
    if (!ptx || !ptx->ptx || !profile || !hd_launch_is_sound(hd_launch, ptx->context) || hd_launch->memory)
        return HD_ERR_USAGE;
    return report_call(
        count_launch, (ApiCall){.context = ptx->context, .ptx = ptx, .launch = hd_launch, .options = earlier},
        profile);
}

/* ---- checks ---- */

/* The exit status of a command, as the library says it. */
static HdStatus status_of(Verdict verdict) {
    static const HdStatus statuses[STATUS_COUNT] = {[STATUS_DONE] = HD_OK,
                                                    [STATUS_INPUT] = HD_ERR_INPUT,
                                                    [STATUS_USAGE] = HD_ERR_USAGE,
                                                    [STATUS_INTERNAL] = HD_ERR_INTERNAL,
                                                    [STATUS_DIFFERS] = HD_ERR_DIFFERENT,
                                                    [STATUS_NOTHING] = HD_ERR_NOTHING};
    return statuses[verdict_status(verdict)];
}

static void validate(ApiCall *call) {
    Plan plan;
    Diags d = hd_diags(call->context);
    const PtxModule *ptx = call->ptx->ptx;
    JudgeOptions options = {.budget = step_limit(call->launch),
                            .machine = {.max_issues = step_limit(call->launch)}};
    Comparison comparison = {0};
    hd_make_plan(&plan, call->launch);
    call->status = HD_ERR_INPUT;
    const char *kernel = diff_kernels(&plan, ptx, &d);
    if (kernel && judge_compare(&plan, ptx, call->binary->binary, &options, false, &comparison, &d)) {
        const DiffReport *report = comparison.judged ? NULL : &comparison.as.report;
        bool stopped =
            report && (report->ptx_trap.kind == TRAP_BUDGET || report->machine_trap.kind == TRAP_BUDGET);
        call->status = stopped ? HD_ERR_LIMIT : status_of(comparison.verdict);
        if (call->wants_report)
            call->text = judge_compare_text(&comparison, &plan, kernel);
        judge_compare_free(&comparison);
    } else if (!comparison.judged && comparison.as.report.unfinished) {
        call->status = HD_ERR_LIMIT;
    } else if (d.lacking) {
        call->status = status_of(VERDICT_NOT_RUN);
    }
    plan_free(&plan);
}

HdStatus hd_validate(HdModule *ptx, HdModule *binary, const HdLaunch *hd_launch, char **report) {
    if (report)
        *report = NULL;
    if (!ptx || !ptx->ptx || !binary || !binary->binary || !hd_launch_is_sound(hd_launch, ptx->context) ||
        hd_launch->memory)
        return HD_ERR_USAGE;
    return report_call(validate,
                       (ApiCall){.context = ptx->context, .ptx = ptx, .binary = binary, .launch = hd_launch},
                       report);
}

static void validate_auto(ApiCall *call) {
    Diags d = hd_diags(call->context);
    const PtxModule *ptx = call->ptx->ptx;
    const char *name = diff_ptx_kernel(&(Plan){0}, ptx, &(PlanLaunch){.kernel = call->name}, &d);
    call->status = HD_ERR_INPUT;
    if (!name)
        return;
    Judgement judgement;
    AutoLaunches launches = {0};
    judge_auto(ptx, call->binary->binary, name, &(JudgeOptions){.seed = call->seed}, &launches, &judgement);
    if (call->wants_report)
        call->text = judgement_text(&judgement, name);
    call->status = status_of(judgement.verdict);
    judgement_free(&judgement);
    auto_launch_free(&launches);
}

HdStatus hd_validate_auto(HdModule *ptx, HdModule *binary, const char *kernel, uint64_t seed, char **report) {
    if (report)
        *report = NULL;
    if (!ptx || !ptx->ptx || !binary || !binary->binary)
        return HD_ERR_USAGE;
    ApiCall call = {.context = ptx->context, .ptx = ptx, .binary = binary, .name = kernel, .seed = seed};
    return report_call(validate_auto, call, report);
}

typedef struct {
    BinCheckOptions check;
    HdReportForm form;
} CheckCall;

static void check(ApiCall *call) {
    const CheckCall *asked = call->options;
    BinCheckReport report;
    BinFlow *flow = bin_flow_new(call->binary->binary);
    check_binary(flow, &asked->check, &report);
    call->status = status_of(check_verdict(&report, BINFLOW_NONE));
    if (call->wants_report)
        call->text = asked->form == HD_REPORT_SARIF  ? check_report_sarif(flow, &report)
                     : asked->form == HD_REPORT_JSON ? check_report_json(flow, &report)
                                                     : check_report_text(flow, &report);
    check_report_free(&report);
    bin_flow_free(flow);
}

HdStatus hd_check(HdModule *binary, const HdCheckOptions *options, char **report) {
    static const HdCheckOptions defaults = {0};
    const HdCheckOptions *given = options ? options : &defaults;
    CheckCall asked = {.check = {.no_hazards = given->no_hazards}, .form = given->form};
    size_t n;
    if (report)
        *report = NULL;
    if (!binary || !binary->binary || (unsigned)given->form > HD_REPORT_SARIF ||
        check_rule_list(given->rules, &asked.check.rules, &n))
        return HD_ERR_USAGE;
    return report_call(check, (ApiCall){.context = binary->context, .binary = binary, .options = &asked},
                       report);
}

static void prove(ApiCall *call) {
    const HdProveOptions *asked = call->options;
    ProveOptions options = {.query_seconds = asked->query_seconds,
                            .total_seconds = asked->max_seconds,
                            .max_terms = asked->max_terms,
                            .max_bytes = asked->max_memory_bytes,
                            .kernel = asked->kernel};
    ProveReport report;
    Diags d = hd_diags(call->context);
    call->status = HD_ERR_INPUT;
    if (prove_module(call->ptx->ptx, call->binary->binary, &options, &report, &d)) {
        call->status = status_of(prove_verdict(&report));
        if (call->wants_report)
            call->text = asked->form == HD_REPORT_JSON ? prove_report_json(&report)
                                                       : prove_report_text(&report, asked->regions);
    }
    prove_report_free(&report);
}

HdStatus hd_prove(HdModule *ptx, HdModule *binary, const HdProveOptions *options, char **report) {
    static const HdProveOptions defaults = {0};
    if (report)
        *report = NULL;
    options = options ? options : &defaults;
    bool limits = options->query_seconds >= 0 && options->max_seconds >= 0; /* and no NaN */
    if (!ptx || !ptx->ptx || !binary || !binary->binary || !limits ||
        (unsigned)options->form > HD_REPORT_JSON)
        return HD_ERR_USAGE;
    return report_call(
        prove, (ApiCall){.context = ptx->context, .ptx = ptx, .binary = binary, .options = options}, report);
}

static void explain(ApiCall *call) {
    call->text = report_explain(call->name);
    call->status = call->text ? HD_OK : HD_ERR_USAGE;
}

char *hd_explain(const char *rule) {
    HdContext none = {0};
    ApiCall call = {.context = &none, .name = rule};
    return rule && hd_run(explain, &call) == HD_OK ? call.text : NULL;
}

/* ---- texts ---- */

void hd_free(void *text) { free(text); }

const char *hd_status_text(HdStatus s) {
    static const char *const texts[HD_STATUS_COUNT] = {
        [HD_OK] = "done",
        [HD_ERR_INPUT] = "the input is wrong",
        [HD_ERR_USAGE] = "wrong call",
        [HD_ERR_INTERNAL] = "internal error",
        [HD_ERR_DIFFERENT] = "a comparison or check found a difference",
        [HD_ERR_TRAP] = "the kernel trapped",
        [HD_ERR_NOTHING] = "nothing was shown",
        [HD_ERR_MEMORY] = "out of memory",
        [HD_ERR_LIMIT] = "a limit of the call was reached",
        [HD_ERR_CANCELLED] = "cancelled",
    };
    return (unsigned)s < HD_STATUS_COUNT ? texts[s] : "unknown status";
}
