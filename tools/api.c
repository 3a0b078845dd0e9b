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
    const HdContext *c = user;
    HdSeverity s = severity == SEV_ERROR ? HD_ERROR : severity == SEV_WARNING ? HD_WARNING : HD_NOTE;
    if (c->options.message)
        c->options.message(c->options.user, s, line);
}

static Diags diags(HdContext *c) { return (Diags){.sink = deliver, .user = c}; }

HdContext *hd_create(const HdOptions *options) {
    HdContext *c = calloc(1, sizeof *c);
    if (c && options)
        c->options = *options;
    return c;
}

void hd_destroy(HdContext *c) {
    if (!c)
        return;
    while (c->modules) {
        HdModule *m = c->modules;
        c->modules = m->next;
        if (m->ptx)
            ptx_free(m->ptx);
        binary_free(m->binary);
        free(m->image);
        free(m->name);
        free(m);
    }
    free(c);
}

static HdStatus add_module(HdContext *c, HdModule module, const char *name, HdModule **out) {
    HdModule *m = malloc(sizeof *m);
    char *copy = strdup(name);
    if (!m || !copy) {
        free(m);
        free(copy);
        return HD_ERR_INTERNAL;
    }
    *m = module;
    m->context = c;
    m->next = c->modules;
    m->name = copy;
    c->modules = m;
    *out = m;
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
    const HdCompileOptions *o = options ? options : &defaults;
    if (!ptx || !ptx->ptx || !out || o->opt_level > 3)
        return HD_ERR_USAGE;
    DriverOptions driver = {.opt_level = o->opt_level, .elf = {.no_map = o->no_map, .no_ptx = o->no_ptx}};
    driver.target = o->target ? isa_target(o->target) : isa_targets[0];
    if (!driver.target || (o->predicate && !ir_predicate_mode(o->predicate, &driver.predicate)))
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
    bool good = assemble(&source, &image, &image_bytes, &d);
    free(copy);
    return good ? load_owned(c, name, image, image_bytes, out) : HD_ERR_INPUT;
}

/* ---- launches ---- */
static bool make_plan(Plan *p, const HdLaunch *l) {
    const Scalar *byte = scalar_find("b8", 2);
    *p = (Plan){0};
    PlanLaunch *launch = VEC_PUSH(&p->arena, &p->launches);
    *launch = (PlanLaunch){.kernel = l->kernel, .shared_bytes = l->shared_bytes, .repeat = 1};
    memcpy(launch->grid, l->grid, sizeof l->grid);
    memcpy(launch->block, l->block, sizeof l->block);
    for (size_t i = 0; i < l->nargs; i++) {
        const HdArg *a = &l->args[i];
        if ((a->value != NULL) == (a->buffer != NULL) || a->size_bytes == 0 ||
            (a->value && a->size_bytes > 4096))
            return false;
        PlanArg arg = {.is_buffer = a->buffer != NULL,
                       .buffer = p->buffers.n,
                       .bytes = a->value,
                       .size_bytes = (uint32_t)a->size_bytes};
        if (a->buffer)
            VEC_ADD(&p->arena, &p->buffers,
                    ((PlanBuffer){.name = arena_printf(&p->arena, "argument %zu", i),
                                  .type = byte,
                                  .count = a->size_bytes,
                                  .bytes = a->buffer}));
        VEC_ADD(&p->arena, &launch->args, arg);
    }
    return true;
}

static void copy_back(const Plan *p, const SimMemory *mem, const HdLaunch *l) {
    uint32_t buffer = 0;
    for (size_t i = 0; i < l->nargs; i++)
        if (l->args[i].buffer)
            simmem_read(mem, p->buffers.at[buffer++].address, l->args[i].buffer, l->args[i].size_bytes);
}

static bool host_call(void *user, const MachineCall *m) {
    const HdLaunch *l = user;
    static const HdHostCallKind kinds[] = {[MACHINE_CALL_TRAP] = HD_CALL_TRAP,
                                           [MACHINE_CALL_RTT] = HD_CALL_RTT,
                                           [MACHINE_CALL_SYSCALL] = HD_CALL_SYSCALL};
    HdHostCall c = {.kind = kinds[m->kind],
                    .function = m->func ? m->func->name : NULL,
                    .pc_bytes = m->func_pc_bytes,
                    .ptx_line = m->ptx_line,
                    .warp = m->warp,
                    .lanes = m->lanes,
                    .regs = m->regs};
    memcpy(c.block, m->block, sizeof c.block);
    memcpy(c.value, m->value, sizeof c.value);
    return l->host_call(l->host_user, &c);
}

static HdStatus run(HdModule *m, const HdLaunch *l) {
    Plan p;
    Diags d = diags(m->context);
    HdStatus s = HD_ERR_INPUT;
    if (!make_plan(&p, l)) {
        plan_free(&p);
        return HD_ERR_USAGE;
    }
    SimMemory *mem = plan_memory(&p, &d);
    if (mem && m->binary) {
        MachineResult res;
        MachineOptions o = {.call = l->host_call ? host_call : NULL, .call_user = (void *)(uintptr_t)l};
        if (diff_run_machine(&p, p.launches.at, m->binary, mem, &o, &res, &d))
            s = res.trap.kind == TRAP_NONE ? HD_OK : HD_ERR_TRAP;
        machine_result_free(&res);
    } else if (mem && ptx_place_variables(m->ptx, mem, &d)) {
        PtxRunResult res = {0};
        char line[512];
        if (diff_run_ptx(&p, p.launches.at, m->ptx, mem, NULL, &res, &d))
            s = res.trap.kind == TRAP_NONE ? HD_OK : HD_ERR_TRAP;
        if (s == HD_ERR_TRAP) {
            sim_trap_print(&res.trap, line, sizeof line);
            diag(&d, (SrcLoc){0}, DIAG_E0502, line);
        }
    }
    if (mem) {
        if (s == HD_OK || s == HD_ERR_TRAP)
            copy_back(&p, mem, l);
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
            s = r.equal && !r.nfindings ? HD_OK : HD_ERR_DIFFERENT;
            if (report)
                *report = diff_report_text(&r, &p);
        }
    }
    plan_free(&p);
    return s;
}

HdStatus hd_check(HdModule *binary, const HdCheckOptions *options, char **report) {
    static const HdCheckOptions defaults = {0};
    const HdCheckOptions *o = options ? options : &defaults;
    BinCheckOptions opt = {.no_hazards = o->no_hazards};
    BinCheckReport r;
    size_t n;
    if (!binary || !binary->binary || check_rule_list(o->rules, &opt.rules, &n))
        return HD_ERR_USAGE;
    BinFlow *g = binflow_new(binary->binary);
    if (!g)
        return HD_ERR_INTERNAL;
    binary_check(g, &opt, &r);
    HdStatus s = r.nerrors ? HD_ERR_DIFFERENT : HD_OK;
    if (report)
        *report = o->form == HD_REPORT_SARIF  ? check_report_sarif(g, &r)
                  : o->form == HD_REPORT_JSON ? check_report_json(g, &r)
                                              : check_report_text(g, &r);
    check_report_free(&r);
    binflow_free(g);
    return report && !*report ? HD_ERR_INTERNAL : s;
}

char *hd_explain(const char *rule) { return rule ? check_explain(rule) : NULL; }

static HdStatus verdict_status(Verdict v) {
    switch (v) {
    case VERDICT_DIFFERS:
    case VERDICT_RACY: return HD_ERR_DIFFERENT;
    case VERDICT_TRAP_ALIKE: return HD_ERR_TRAP;
    case VERDICT_NOT_RUN: return HD_ERR_INPUT;
    default: return HD_OK;
    }
}

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
    HdStatus s = verdict_status(j.verdict);
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
                                                       [HD_ERR_TRAP] = "the kernel trapped"};
    return (unsigned)s < HD_STATUS_COUNT ? texts[s] : "unknown status";
}
