/* The public library: see include/heddle.h.
 * SPDX-License-Identifier: MIT */
#include "heddle.h"
#include "check/static/check.h"
#include "check/validate/diff.h"
#include "check/validate/judge.h"
#include "emit/text/asm.h"
#include "tools/driver.h"
#include <stdlib.h>
#include <string.h>

struct HdModule {
    HdContext *context;
    HdModule *next;
    PtxModule *ptx; /* PTX */
    Binary *binary; /* or a binary */
    void *image;
    size_t image_bytes;
    char *name;
};

struct HdContext {
    HdOptions options;
    HdModule *modules;
};

static void deliver(void *user, Severity severity, const char *line) {
    const HdContext *context = user;
    HdSeverity s = severity == SEV_ERROR ? HD_ERROR : severity == SEV_WARNING ? HD_WARNING : HD_NOTE;
    if (context->options.message)
        context->options.message(context->options.user, s, line);
}

static Diags diags(HdContext *c) { return (Diags){.sink = deliver, .user = c}; }

HdContext *hd_create(const HdOptions *options) {
    HdContext *context = calloc(1, sizeof *context);
    if (context && options)
        context->options = *options;
    return context;
}

void hd_destroy(HdContext *context) {
    if (!context)
        return;
    while (context->modules) {
        HdModule *module = context->modules;
        context->modules = module->next;
        if (module->ptx)
            ptx_free(module->ptx);
        binary_free(module->binary);
        free(module->image);
        free(module->name);
        free(module);
    }
    free(context);
}

static HdStatus add_module(HdContext *hd_context, HdModule module, const char *name, HdModule **out) {
    HdModule *hd_module = malloc(sizeof *hd_module);
    char *copy = strdup(name);
    if (!hd_module || !copy) {
        free(hd_module);
        free(copy);
        return HD_ERR_INTERNAL;
    }
    *hd_module = module;
    hd_module->context = hd_context;
    hd_module->next = hd_context->modules;
    hd_module->name = copy;
    hd_context->modules = hd_module;
    *out = hd_module;
    return HD_OK;
}

HdStatus hd_parse(HdContext *c, const char *name, const char *text, size_t size_bytes, HdModule **out) {
    if (!c || !name || !text || !out)
        return HD_ERR_USAGE;
    Diags d = diags(c);
    PtxModule *ptx = ptx_parse(name, text, size_bytes, &d);
    return ptx ? add_module(c, (HdModule){.ptx = ptx}, name, out) : HD_ERR_INPUT;
}

/* Takes the image over. */
static HdStatus load_owned(HdContext *c, const char *name, void *image, size_t size_bytes, HdModule **out) {
    Diags d = diags(c);
    Binary *b = image ? binary_read(name, image, size_bytes, &d) : NULL;
    HdStatus s =
        b ? add_module(c, (HdModule){.binary = b, .image = image, .image_bytes = size_bytes}, name, out)
          : HD_ERR_INPUT;
    if (s == HD_OK)
        return s;
    binary_free(b);
    free(image);
    return s;
}

HdStatus hd_load(HdContext *c, const char *name, const void *image, size_t size_bytes, HdModule **out) {
    if (!c || !name || !image || !out)
        return HD_ERR_USAGE;
    void *copy = malloc(size_bytes ? size_bytes : 1);
    if (!copy)
        return HD_ERR_INTERNAL;
    memcpy(copy, image, size_bytes);
    return load_owned(c, name, copy, size_bytes, out);
}

HdStatus hd_compile(HdModule *ptx, const HdCompileOptions *options, HdModule **out) {
    static const HdCompileOptions defaults = {.opt_level = 2};
    const HdCompileOptions *hd_compile_options = options ? options : &defaults;
    if (!ptx || !ptx->ptx || !out || hd_compile_options->opt_level > 3)
        return HD_ERR_USAGE;
    DriverOptions driver = {
        .opt_level = hd_compile_options->opt_level,
        .elf = {.no_map = hd_compile_options->no_map, .no_ptx = hd_compile_options->no_ptx}};
    driver.target = hd_compile_options->target ? isa_target(hd_compile_options->target) : isa_targets[0];
    if (!driver.target || (hd_compile_options->predicate &&
                           !ir_predicate_mode(hd_compile_options->predicate, &driver.predicate)))
        return HD_ERR_USAGE;
    Diags d = diags(ptx->context);
    Compilation c;
    HdStatus s = HD_ERR_INPUT;
    if (driver_compile(&c, ptx->ptx, &driver, &d)) {
        void *image = c.image;
        c.image = NULL;
        s = load_owned(ptx->context, ptx->name, image, c.image_bytes, out);
    }
    driver_free(&c);
    return s;
}

HdStatus hd_image(const HdModule *binary, const void **image, size_t *size_bytes) {
    if (!binary || !binary->binary || !image || !size_bytes)
        return HD_ERR_USAGE;
    *image = binary->image;
    *size_bytes = binary->image_bytes;
    return HD_OK;
}

HdStatus hd_disassemble(HdModule *binary, char **text, size_t *size_bytes) {
    if (!binary || !binary->binary || !text || !size_bytes)
        return HD_ERR_USAGE;
    Diags d = diags(binary->context);
    return disasm_image(binary->name, binary->image, binary->image_bytes, false, text, size_bytes, &d)
               ? HD_OK
               : HD_ERR_INPUT;
}

HdStatus hd_assemble(HdContext *c, const char *name, const char *text, size_t size_bytes, HdModule **out) {
    if (!c || !name || !text || !out)
        return HD_ERR_USAGE;
    Diags d = diags(c);
    char *copy = malloc(size_bytes + 1); /* the diagnostics want a NUL behind the text */
    if (!copy)
        return HD_ERR_INTERNAL;
    memcpy(copy, text, size_bytes);
    copy[size_bytes] = 0;
    Source source = {name, copy, size_bytes};
    void *image;
    size_t image_bytes;
    bool good = asm_assemble(&source, &image, &image_bytes, &d);
    free(copy);
    return good ? load_owned(c, name, image, image_bytes, out) : HD_ERR_INPUT;
}

/* ---- launches ---- */
static bool make_plan(Plan *plan, const HdLaunch *hd_launch) {
    const Scalar *byte = scalar_find("b8", 2);
    *plan = (Plan){0};
    PlanLaunch *launch = VEC_PUSH(&plan->arena, &plan->launches);
    *launch = (PlanLaunch){.kernel = hd_launch->kernel, .shared_bytes = hd_launch->shared_bytes, .repeat = 1};
    memcpy(launch->grid, hd_launch->grid, sizeof hd_launch->grid);
    memcpy(launch->block, hd_launch->block, sizeof hd_launch->block);
    for (size_t i = 0; i < hd_launch->nargs; i++) {
        const HdArg *hd_arg = &hd_launch->args[i];
        if ((hd_arg->value != NULL) == (hd_arg->buffer != NULL) || hd_arg->size_bytes == 0 ||
            (hd_arg->value && hd_arg->size_bytes > 4096))
            return false;
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
    return true;
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

static HdStatus run(HdModule *module, const HdLaunch *launch) {
    Plan p;
    Diags d = diags(module->context);
    HdStatus s = HD_ERR_INPUT;
    if (!make_plan(&p, launch)) {
        plan_free(&p);
        return HD_ERR_USAGE;
    }
    SimMemory *mem = plan_memory(&p, &d);
    if (mem && module->binary) {
        MachineResult res;
        MachineOptions o = {.call = launch->host_call ? host_call : NULL,
                            .call_user = (void *)(uintptr_t)launch};
        if (diff_run_machine(&p, p.launches.at, module->binary, mem, &o, &res, &d))
            s = res.trap.kind == TRAP_NONE ? HD_OK : HD_ERR_TRAP;
        machine_result_free(&res);
    } else if (mem && interp_place_variables(module->ptx, mem, &d)) {
        PtxRunResult res = {0};
        char line[512];
        if (diff_run_ptx(&p, p.launches.at, module->ptx, mem, NULL, &res, &d))
            s = res.trap.kind == TRAP_NONE ? HD_OK : HD_ERR_TRAP;
        if (s == HD_ERR_TRAP) {
            sim_trap_print(&res.trap, line, sizeof line);
            diag(&d, (SrcLoc){0}, DIAG_E0502, line);
        }
    }
    if (mem) {
        if (s == HD_OK || s == HD_ERR_TRAP)
            copy_back(&p, mem, launch);
        simmem_free(mem);
    }
    plan_free(&p);
    return s;
}

HdStatus hd_launch(HdModule *binary, const HdLaunch *launch) {
    return binary && binary->binary && launch ? run(binary, launch) : HD_ERR_USAGE;
}

HdStatus hd_interpret(HdModule *ptx, const HdLaunch *launch) {
    return ptx && ptx->ptx && launch ? run(ptx, launch) : HD_ERR_USAGE;
}

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

HdStatus hd_validate(HdModule *ptx, HdModule *binary, const HdLaunch *launch, char **report) {
    if (!ptx || !ptx->ptx || !binary || !binary->binary || !launch)
        return HD_ERR_USAGE;
    Plan p;
    Diags d = diags(ptx->context);
    HdStatus s = HD_ERR_USAGE;
    DiffReport r;
    if (make_plan(&p, launch)) {
        s = HD_ERR_INPUT;
        if (diff_validate(&p, ptx->ptx, binary->binary, &(DiffOptions){0}, &r, &d)) {
            s = status_of(diff_verdict(&r));
            if (report)
                *report = diff_report_text(&r, &p);
        } else if (d.lacking) {
            s = status_of(VERDICT_NOT_RUN);
        }
    }
    plan_free(&p);
    return s;
}

HdStatus hd_check(HdModule *binary, const HdCheckOptions *options, char **report) {
    static const HdCheckOptions defaults = {0};
    const HdCheckOptions *hd_check_options = options ? options : &defaults;
    BinCheckOptions opt = {.no_hazards = hd_check_options->no_hazards};
    BinCheckReport r;
    size_t n;
    if (!binary || !binary->binary || check_rule_list(hd_check_options->rules, &opt.rules, &n))
        return HD_ERR_USAGE;
    BinFlow *g = bin_flow_new(binary->binary);
    if (!g)
        return HD_ERR_INTERNAL;
    check_binary(g, &opt, &r);
    HdStatus s = status_of(check_verdict(&r, BINFLOW_NONE));
    if (report)
        *report = hd_check_options->form == HD_REPORT_SARIF  ? check_report_sarif(g, &r)
                  : hd_check_options->form == HD_REPORT_JSON ? check_report_json(g, &r)
                                                             : check_report_text(g, &r);
    check_report_free(&r);
    bin_flow_free(g);
    return report && !*report ? HD_ERR_INTERNAL : s;
}

char *hd_explain(const char *rule) { return rule ? check_explain(rule) : NULL; }

HdStatus hd_validate_auto(HdModule *ptx, HdModule *binary, const char *kernel, uint64_t seed, char **report) {
    if (!ptx || !ptx->ptx || !binary || !binary->binary)
        return HD_ERR_USAGE;
    Diags d = diags(ptx->context);
    const char *name = diff_ptx_kernel(&(Plan){0}, ptx->ptx, &(PlanLaunch){.kernel = kernel}, &d);
    if (!name)
        return HD_ERR_INPUT;
    Judgement j;
    AutoLaunches launches;
    judge_auto(ptx->ptx, binary->binary, name, &(JudgeOptions){.seed = seed}, &launches, &j);
    if (report)
        *report = judgement_text(&j, name);
    HdStatus s = status_of(j.verdict);
    judgement_free(&j);
    auto_launch_free(&launches);
    return s;
}

void hd_free(void *text) { free(text); }

const char *hd_status_text(HdStatus s) {
    static const char *const texts[HD_STATUS_COUNT] = {[HD_OK] = "done",
                                                       [HD_ERR_INPUT] = "the input is wrong",
                                                       [HD_ERR_USAGE] = "wrong call",
                                                       [HD_ERR_INTERNAL] = "internal error",
                                                       [HD_ERR_DIFFERENT] =
                                                           "a comparison or check found a difference",
                                                       [HD_ERR_TRAP] = "the kernel trapped",
                                                       [HD_ERR_NOTHING] = "nothing was shown"};
    return (unsigned)s < HD_STATUS_COUNT ? texts[s] : "unknown status";
}
