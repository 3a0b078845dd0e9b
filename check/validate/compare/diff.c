/* Differential validation: see diff.h.
 * SPDX-License-Identifier: MIT */
#include "base/demangle.h"
#include "check/validate/compare/diff.h"
#include "base/scope.h"
#include "check/flow/contents.h"
#include "check/static/check.h"
#include "check/validate/compare/handles.h"
#include "check/validate/compare/moments.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparison ---- */
static const SimAlloc *same_place(const SimMemory *m, const SimAlloc *alloc) {
    const SimAlloc *sim_alloc = simmem_find(m, alloc->address, alloc->size_bytes);
    return sim_alloc && sim_alloc->address == alloc->address && sim_alloc->size_bytes == alloc->size_bytes
               ? sim_alloc
               : NULL;
}

/* Both words stand for one function. */
static bool is_number_of(const SimMemory *b, uint64_t place, const uint8_t *address, const uint8_t *number) {
    for (uint32_t i = 0; i < b->nnumbers; i++)
        if ((!b->numbers[i].place || b->numbers[i].place == place) &&
            memcmp(&b->numbers[i].address, address, 8) == 0 && memcmp(&b->numbers[i].number, number, 8) == 0)
            return true;
    return false;
}

bool diff_memory(const SimMemory *memory, const SimMemory *b, const bool *skip, MemDiff *out) {
    *out = (MemDiff){0};
    for (uint32_t i = 0; i < memory->nallocs; i++) {
        const SimAlloc *sim_alloc = &memory->allocs[i], *y = same_place(b, sim_alloc);
        if ((skip && skip[i]) || (y && memcmp(sim_alloc->data, y->data, sim_alloc->size_bytes) == 0))
            continue;
        for (uint64_t k = 0; k < sim_alloc->size_bytes; k++) {
            if (y && sim_alloc->data[k] == y->data[k])
                continue;
            uint64_t word = k & ~7ull;
            if (y && b->nnumbers && word + 8 <= sim_alloc->size_bytes &&
                is_number_of(b, sim_alloc->address + word, sim_alloc->data + word, y->data + word)) {
                k = word + 7;
                continue;
            }
            if (out->ndiffering++ == 0) {
                out->alloc = i;
                out->offset_bytes = k;
            }
        }
    }
    return out->ndiffering == 0;
}

/* ---- one launch ---- */
typedef struct {
    Arena arena;
    VEC(const char *) names; /* of all kernels */
} Kernels;

/* The one kernel that the launch means, of that name or, in C++, of that name; else says which there are. */
static const char *one_kernel(const Plan *plan, const PlanLaunch *launch, Kernels *kernels, const char *what,
                              Diags *diags) {
    const char *wanted = launch->kernel, *found = NULL;
    uint32_t n = 0;
    for (unsigned k = 0; k < kernels->names.n; k++)
        if (!wanted || strcmp(kernels->names.at[k], wanted) == 0)
            found = kernels->names.at[k], n++;
    if (!n) {
        uint32_t nplain = 0;
        for (unsigned k = 0; k < kernels->names.n; k++)
            if (str_is_named(&kernels->arena, kernels->names.at[k], wanted))
                found = kernels->names.at[k], nplain++;
        n = nplain == 1;
    }
    if (n != 1) {
        const char *names = str_list_symbols(&kernels->arena, kernels->names.at, kernels->names.n);
        const char *text =
            wanted ? arena_printf(&kernels->arena, "%s has no kernel %s; it has %s", what, wanted, names)
            : n    ? arena_printf(&kernels->arena, "%s has several kernels, say which: %s", what, names)
                   : arena_printf(&kernels->arena, "%s has no kernel", what);
        diag_in(diags, plan->source ? plan->source : diags->source, launch->loc, DIAG_E0502, text);
    }
    arena_free(&kernels->arena);
    return n == 1 ? found : NULL;
}

const char *diff_ptx_kernel(const Plan *p, const PtxModule *module, const PlanLaunch *launch, Diags *d) {
    Kernels kernels = {0};
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (module->funcs[i].is_entry && (module->funcs[i].has_body || module->funcs[i].broken))
            VEC_ADD(&kernels.arena, &kernels.names, str_text(&module->strings, module->funcs[i].name));
    return one_kernel(p, launch, &kernels, "the PTX", d);
}

const char *diff_binary_kernel(const Plan *p, const Binary *binary, const PlanLaunch *launch, Diags *d) {
    Kernels kernels = {0};
    for (uint32_t i = 0; i < binary->nfuncs; i++)
        if (binary->funcs[i].is_entry)
            VEC_ADD(&kernels.arena, &kernels.names, binary->funcs[i].name);
    return one_kernel(p, launch, &kernels, binary->path ? binary->path : "the binary", d);
}

const char *diff_kernels(Plan *plan, const PtxModule *module, Diags *diags) {
    const char *all = "", **names = ARENA_ARRAY(&plan->arena, const char *, plan->launches.n + 1);
    for (uint32_t i = 0; i < plan->launches.n; i++) {
        names[i] = diff_ptx_kernel(plan, module, &plan->launches.at[i], diags);
        if (!names[i])
            return NULL;
        bool again = false;
        for (uint32_t k = 0; k < i && !again; k++)
            again = strcmp(names[k], names[i]) == 0;
        if (!again)
            all = arena_printf(&plan->arena, "%s%s%s", all, *all ? ", " : "", names[i]);
    }
    return all;
}

static bool ptx_launch(Plan *plan, const PlanLaunch *l, const PtxModule *module, const char *kernel,
                       Launch *out, Diags *d) {
    uint32_t index = ptx_find_func(module, kernel);
    const PtxFunc *f = index ? &module->funcs[index - 1] : NULL;
    if (!f)
        return diag(d, (SrcLoc){0}, DIAG_E0502, "the PTX has no kernel of that name");
    PlanParam *params = ARENA_ARRAY(&plan->arena, PlanParam, f->nparams + 1);
    for (uint32_t i = 0; i < f->nparams; i++) {
        const PtxVar *var = &module->vars[f->params[i]];
        params[i] = (PlanParam){(uint32_t)var->param_offset_bytes, (uint32_t)var->size_bytes, false};
    }
    return plan_launch(plan, l, kernel, params, f->nparams, out, d);
}

void diff_prepare(Plan *plan, const PtxModule *module, const Binary *binary) {
    plan->numbers = binary ? binary->target : NULL;
    plan_note_uses(plan, module);
}

bool diff_run_ptx(Plan *p, const PlanLaunch *l, const PtxModule *m, SimMemory *mem, const PtxRunOptions *opt,
                  PtxRunResult *res, Diags *d) {
    const char *kernel = diff_ptx_kernel(p, m, l, d);
    Launch launch;
    PtxRunOptions own = opt ? *opt : (PtxRunOptions){0};
    PrintedSink sink = diff_printed_sink(mem, l);
    if (p->numbers) {
        const TargetInfo *target = isa_target_info(p->numbers);
        own.sums =
            (PtxSums){(uint8_t)target->sum_bytes, (uint8_t)target->sum_bits, target->factor_bytes == 16};
    }
    if (!own.print) {
        own.print = diff_printed_add;
        own.print_user = &sink;
    }
    if (!kernel || !ptx_launch(p, l, m, kernel, &launch, d))
        return false;
    if (p->numbers && !isa_target_info(p->numbers)->cluster_offset_bytes &&
        launch.cluster[0] * launch.cluster[1] * launch.cluster[2] == 1)
        launch.cluster[0] = 0; /* where there are no clusters, one of one block is none */
    return plan_copy(p, l, mem, d) && interp_run(m, kernel, &launch, mem, &own, res, d);
}

/* The launch of a binary's kernel; NULL: reported. */
static const char *binary_launch(Plan *plan, const PlanLaunch *l, const Binary *b, Launch *out, Diags *d) {
    const char *kernel = diff_binary_kernel(plan, b, l, d);
    const BinFunc *f = kernel ? binary_find(b, kernel) : NULL;
    if (!f)
        return NULL;
    PlanParam *params = ARENA_ARRAY(&plan->arena, PlanParam, f->nparams + 1);
    for (uint32_t i = 0; i < f->nparams; i++)
        params[i] =
            (PlanParam){f->params[i].offset_bytes, f->params[i].size_bytes, f->params[i].handle != NULL};
    return plan_launch(plan, l, kernel, params, f->nparams, out, d) ? kernel : NULL;
}

bool diff_run_machine(Plan *plan, const PlanLaunch *l, const Binary *b, SimMemory *mem,
                      const MachineOptions *opt, MachineResult *res, Diags *d) {
    Launch launch;
    *res = (MachineResult){0};
    const char *kernel = binary_launch(plan, l, b, &launch, d);
    if (!kernel || !plan_copy(plan, l, mem, d))
        return false;
    Handles handles;
    MachineOptions own = opt ? *opt : (MachineOptions){0};
    PrintedSink sink = diff_printed_sink(mem, l);
    if (!own.print) {
        own.print = diff_printed_add;
        own.print_user = &sink;
    }
    diff_handles_enter(b, mem, &handles);
    diff_handles_keep(&plan->arena, mem);
    bool ran = machine_run(b, kernel, &launch, mem, &own, res, d) || res->trap.kind != TRAP_NONE;
    diff_handles_leave(mem, &handles);
    diff_handles_number(binary_find(b, kernel), &plan->arena, mem);
    return ran;
}

bool diff_run_card(Plan *plan, const PlanLaunch *l, const Binary *b, const DiffOther *other, SimMemory *mem,
                   GpuResult *res, Diags *d) {
    Launch launch;
    *res = (GpuResult){0};
    GpuModule module = {.name = b->path ? b->path : "the binary",
                        .image = b->image,
                        .image_bytes = b->image_bytes,
                        .target = b->target,
                        .time_limit_seconds = other->time_limit_seconds};
    if (other->engine == DIFF_CARD_PTX) {
        if (!b->ptx_text)
            return diag(d, (SrcLoc){0}, DIAG_E0412, module.name, "the binary holds no PTX text");
        module.image = arena_printf(&plan->arena, "%.*s", (int)b->ptx_text_bytes, b->ptx_text);
        module.image_bytes = b->ptx_text_bytes;
        module.target = NULL;
    }
    const char *kernel = binary_launch(plan, l, b, &launch, d);
    const char **textures = ARENA_ARRAY(&plan->arena, const char *, b->ntextures + 1);
    for (uint32_t i = 0; kernel && i < b->ntextures; i++)
        if (&b->funcs[b->textures[i].func] == binary_find(b, kernel))
            textures[module.ntextures++] = b->textures[i].name;
    module.textures = textures;
    const BinFunc *func = kernel ? binary_find(b, kernel) : NULL;
    for (uint32_t i = 0; func && i < func->nparams; i++)
        if (func->params[i].handle)
            return diag(d, (SrcLoc){0}, DIAG_E0513, kernel,
                        "how a card gets the parameters .texref and .surfref of other files is not known");
    return kernel && plan_copy(plan, l, mem, d) && machine_place_variables(b, mem, d) &&
           (gpu_run(&module, kernel, &launch, mem, res, d) || res->trap.kind != TRAP_NONE);
}

bool diff_run_other(Plan *plan, const PlanLaunch *l, const Binary *b, const DiffOther *other, SimMemory *mem,
                    const MachineOptions *opt, MachineResult *res, Diags *d) {
    GpuResult card;
    if (other->engine == DIFF_MACHINE)
        return diff_run_machine(plan, l, b, mem, opt, res, d);
    *res = (MachineResult){0};
    bool good = diff_run_card(plan, l, b, other, mem, &card, d);
    res->trap = card.trap;
    return good;
}

/* ---- who stored last ---- */
/* Watches a few bytes; each event that finds them changed is the latest store. */
typedef struct {
    const SimMemory *mem;
    uint64_t address;
    uint32_t size;
    uint8_t last[8];
    DiffReport *r;
    const PtxModule *m;
    const Binary *binary;
    MachineTrace before; /* the machine reports an instruction before it runs */
    bool has_before;
    uint32_t before_lane;
} Watch;

static bool changed(Watch *watch) {
    uint8_t now[8];
    if (!simmem_read(watch->mem, watch->address, now, watch->size) ||
        memcmp(now, watch->last, watch->size) == 0)
        return false;
    memcpy(watch->last, now, watch->size);
    return true;
}

static void ptx_event(void *user, const PtxEvent *event) {
    Watch *watch = user;
    if (!event->executed || !changed(watch))
        return;
    watch->r->has_ptx_store = true;
    const PtxInsn *insn = &event->func->insns[event->insn];
    watch->r->ptx_store_line = ptx_line(watch->m, insn);
    ptx_source(watch->m, event->func, insn, watch->r->ptx_source, sizeof watch->r->ptx_source);
    memcpy(watch->r->ptx_store_block, event->block, sizeof event->block);
    memcpy(watch->r->ptx_store_thread, event->thread, sizeof event->thread);
}

static void note_machine_store(Watch *watch) {
    if (!watch->has_before || !changed(watch))
        return;
    DiffReport *report = watch->r;
    report->has_machine_store = true;
    report->machine_func = watch->before.func ? watch->before.func->name : "?";
    report->machine_pc_bytes = watch->before.func_pc_bytes;
    report->machine_ptx_line = watch->before.loc ? watch->before.loc->ptx_line : 0;
    binary_source(watch->binary, watch->before.loc, report->machine_source, sizeof report->machine_source);
    memcpy(report->machine_block, watch->before.block, sizeof report->machine_block);
    report->machine_warp = watch->before.warp;
    report->machine_lane = watch->before_lane;
}

static void machine_event(void *user, const MachineTrace *trace) {
    Watch *watch = user;
    note_machine_store(watch);
    watch->before = *trace;
    watch->has_before = true;
    for (unsigned lane = 0; lane < SIM_WARP_LANES; lane++) { /* which lane it may be that stores there */
        uint64_t at = trace->executed >> lane & 1 ? machine_trace_address(trace, lane) : 0;
        if (at <= watch->address && watch->address - at < 16)
            watch->before_lane = lane;
    }
}

/* The text of the instruction that was found; the trace's own text lives only during the call. */
static void machine_store_text(DiffReport *report, const Binary *binary) {
    const BinFunc *f = report->has_machine_store ? binary_find(binary, report->machine_func) : NULL;
    if (!f || report->machine_pc_bytes / INST_BYTES >= f->ninsts)
        return;
    MachInst in;
    char error[ISA_ERROR_BYTES];
    uint64_t index = (f->address - binary->code_base + report->machine_pc_bytes) / INST_BYTES;
    if (isa_decode(binary->target, binary->code[index], &in, error))
        isa_print(binary->target, &in, report->machine_pc_bytes, NULL, report->machine_text,
                  sizeof report->machine_text);
}

static void silent(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

/* The text of the thread that the report tells of, where it tells of a text. */
static PrintedSink watch_text(const SimMemory *mem, const PlanLaunch *l, const DiffReport *report,
                              TextStream *text) {
    PrintedSink sink = diff_printed_sink(mem, l);
    sink.watched = report->element;
    sink.text = diff_prints_other(report) ? text : NULL;
    return sink;
}

/* Run the differing launch once more on copies of the memory before it, watching the place. */
static void find_stores(Plan *p, const PlanLaunch *l, const PtxModule *m, const Binary *b,
                        const DiffOptions *opt, const SimMemory *ptx_before, const SimMemory *machine_before,
                        DiffReport *report) {
    Diags quiet = {.sink = silent};
    SimMemory *x = simmem_clone(ptx_before), *y = simmem_clone(machine_before);
    TextStream *ptx_text = text_open(), *machine_text = text_open();
    Watch w = {.size = report->type ? report->type->size_bytes : 1, .r = report, .m = m, .binary = b};
    const SimAlloc *place = &ptx_before->allocs[report->diff.alloc];
    w.address = place->address + report->element * w.size;
    if (x && simmem_read(x, w.address, w.last, w.size)) {
        w.mem = x;
        PtxRunOptions o = opt->ptx;
        o.on_event = ptx_event;
        o.user = &w;
        PrintedSink sink = watch_text(x, l, report, ptx_text);
        o.print = diff_printed_add;
        o.print_user = &sink;
        PtxRunResult res;
        diff_run_ptx(p, l, m, x, &o, &res, &quiet);
    }
    if (opt->other.engine == DIFF_MACHINE && y && simmem_read(y, w.address, w.last, w.size)) {
        w.mem = y;
        MachineOptions o = opt->machine;
        o.trace = machine_event;
        o.trace_user = &w;
        PrintedSink sink = watch_text(y, l, report, machine_text);
        o.print = diff_printed_add;
        o.print_user = &sink;
        MachineResult res;
        diff_run_machine(p, l, b, y, &o, &res, &quiet);
        note_machine_store(&w);
        machine_result_free(&res);
        machine_store_text(report, b);
    }
    size_t ptx_bytes, machine_bytes;
    char *printed = text_close(ptx_text, &ptx_bytes), *other = text_close(machine_text, &machine_bytes);
    diff_printed_show(printed, ptx_bytes, other, machine_bytes, report->ptx_printed, report->machine_printed);
    mem_free(printed);
    mem_free(other);
    if (x)
        simmem_free(x);
    if (y)
        simmem_free(y);
}

/* ---- where the lane parts ---- */
static void find_lane(Plan *p, const PlanLaunch *plan_launch, const PtxModule *m, const Binary *b,
                      const DiffOptions *opt, const SimMemory *ptx_before, const SimMemory *machine_before,
                      DiffReport *report) {
    LaneQuestion q = {.plan = p,
                      .launch = plan_launch,
                      .m = m,
                      .b = b,
                      .ptx = opt->ptx,
                      .machine = opt->machine,
                      .ptx_before = ptx_before,
                      .machine_before = machine_before};
    const SimTrap *trap = report->ptx_trap.kind != TRAP_NONE ? &report->ptx_trap : &report->machine_trap;
    q.trapped = trap->kind != TRAP_NONE;
    q.alike = report->equal;
    q.endless = report->machine_trap.kind == TRAP_BUDGET || report->machine_trap.kind == TRAP_LIVELOCK;
    if (q.trapped) {
        memcpy(q.block, trap->block, sizeof q.block);
        memcpy(q.thread, trap->thread, sizeof q.thread);
    } else if (report->has_ptx_store) {
        q.address = ptx_before->allocs[report->diff.alloc].address + report->diff.offset_bytes;
        memcpy(q.block, report->ptx_store_block, sizeof q.block);
        memcpy(q.thread, report->ptx_store_thread, sizeof q.thread);
    } else if (report->has_machine_store) {
        uint32_t thread = report->machine_warp * SIM_WARP_LANES + report->machine_lane;
        q.address = ptx_before->allocs[report->diff.alloc].address + report->diff.offset_bytes;
        memcpy(q.block, report->machine_block, sizeof q.block);
        q.thread[0] = thread % plan_launch->block[0];
        q.thread[1] = thread / plan_launch->block[0] % plan_launch->block[1];
        q.thread[2] = thread / plan_launch->block[0] / plan_launch->block[1];
    } else {
        return;
    }
    report->lane = lane_diff(&q);
}

/* ---- validation ---- */
typedef struct {
    Plan *p;
    const PtxModule *m;
    const Binary *b;
    DiffOptions opt;
    bool budget_given; /* of the machine; else each launch has its own */
    DiffReport *r;
    Diags *d;
    SimMemory *ptx, *machine;               /* memories of the two executions */
    SimMemory *ptx_before, *machine_before; /* as they were before the present launch */
    bool *skip;
} Validation;

static void describe_difference(Validation *validation) {
    DiffReport *report = validation->r;
    const SimAlloc *sim_alloc = &validation->ptx->allocs[report->diff.alloc];
    const SimAlloc *b = same_place(validation->machine, sim_alloc);
    uint32_t buffer = plan_find_buffer(validation->p, sim_alloc->name);
    report->memory_differs = true;
    report->buffer = buffer ? validation->p->buffers.at[buffer - 1].name
                            : arena_printf(&validation->p->arena, "%s", sim_alloc->name);
    report->type = buffer                      ? validation->p->buffers.at[buffer - 1].type
                   : diff_prints_other(report) ? scalar_find("u64", 3)
                                               : scalar_find("b8", 2);
    uint32_t size = report->type->size_bytes;
    report->element = report->diff.offset_bytes / size;
    memcpy(report->ptx_value, sim_alloc->data + report->element * size, size);
    if (b)
        memcpy(report->machine_value, b->data + report->element * size, size);
}

static bool keep_before(Validation *validation) {
    if (validation->ptx_before)
        simmem_free(validation->ptx_before);
    if (validation->machine_before)
        simmem_free(validation->machine_before);
    validation->ptx_before = simmem_clone(validation->ptx);
    validation->machine_before = simmem_clone(validation->machine);
    return (validation->ptx_before && validation->machine_before) ||
           diag(validation->d, (SrcLoc){0}, DIAG_E0502, "no memory on this host");
}

/* ---- findings ---- */
static void add_finding(DiffReport *report, const char *who, const char *text) {
    for (uint32_t i = 0; i < report->nfindings && i < DIFF_MAX_FINDINGS; i++)
        if (strstr(report->findings[i], text))
            return; /* of an earlier launch */
    if (report->nfindings < DIFF_MAX_FINDINGS)
        snprintf(report->findings[report->nfindings], sizeof report->findings[0], "%s%s", who, text);
    report->nfindings++;
}

static void ptx_warning(void *user, const SimTrap *trap) {
    char line[300];
    if (!sim_trap_is_promise(trap->kind) && trap->kind != TRAP_OUT_OF_RANGE)
        return;
    sim_trap_print(trap, line, sizeof line);
    ((DiffReport *)user)->overrun |= trap->kind == TRAP_OUT_OF_RANGE;
    add_finding(user, "PTX ", line);
}

static void machine_findings(DiffReport *r, const MachineResult *res) {
    for (uint32_t i = 0; i < res->nfindings; i++) {
        const MachineFinding *finding = &res->findings[i];
        char line[300];
        if (finding->kind != MF_PARTIAL_BARRIER)
            continue;
        snprintf(line, sizeof line, "%.80s: line %u, pc 0x%llx, block (%u,%u,%u), warp %u: %s: %s",
                 finding->func ? finding->func->name : "?", finding->ptx_line,
                 (unsigned long long)(finding->func ? finding->pc_bytes - finding->func->address
                                                    : finding->pc_bytes),
                 finding->block[0], finding->block[1], finding->block[2], finding->warp,
                 machine_finding_name(finding->kind), finding->text);
        add_finding(r, "machine ", line);
    }
}

/* Native machines have one instruction for trap, brkpt, an index outside its table and an address that is no
 * function; a card reports it as one of two errors, and what does not end by the clock. */
bool diff_traps_alike(const Binary *binary, DiffEngine engine, SimTrapKind ptx, SimTrapKind other) {
    bool card = engine != DIFF_MACHINE, one = !isa_target_has(binary->target, OT_TRAP);
    bool trap = ptx == TRAP_INSTRUCTION || ptx == TRAP_BREAKPOINT || ptx == TRAP_BRANCH_INDEX ||
                ptx == TRAP_CALL_TARGET;
    bool endless = ptx == TRAP_DEADLOCK || ptx == TRAP_LIVELOCK || ptx == TRAP_BUDGET;
    return ptx == other || (one && trap && other == TRAP_INSTRUCTION) ||
           (card && trap && other == TRAP_ILLEGAL) || (card && endless && other == TRAP_BUDGET) ||
           (card && ptx == TRAP_READ_ONLY && other == TRAP_OUT_OF_RANGE) ||
           (ptx == TRAP_PARAM_RANGE && other == TRAP_OUT_OF_RANGE) ||
           (ptx == TRAP_BUDGET && (other == TRAP_LIVELOCK || other == TRAP_DEADLOCK));
}

/* What the machine makes of the launch in which a card differs from the PTX. */
static DiffOpinion machine_opinion(Validation *validation, const PlanLaunch *launch) {
    SimMemory *mem = simmem_clone(validation->machine_before);
    MachineResult res = {0};
    Diags quiet = {.sink = silent};
    MemDiff diff;
    DiffOpinion opinion = DIFF_NOT_ASKED;
    if (mem &&
        diff_run_machine(validation->p, launch, validation->b, mem, &validation->opt.machine, &res, &quiet) &&
        res.trap.kind == TRAP_NONE)
        opinion = diff_memory(validation->ptx, mem, validation->skip, &diff)       ? DIFF_AS_PTX
                  : diff_memory(validation->machine, mem, validation->skip, &diff) ? DIFF_AS_CARD
                                                                                   : DIFF_AS_NEITHER;
    machine_result_free(&res);
    if (mem)
        simmem_free(mem);
    return opinion;
}

/* Is the difference one of rounding that is allowed? */
static bool is_rounding(Validation *validation, const PlanLaunch *launch) {
    char note[ROUNDING_NOTE_BYTES];
    RoundingQuestion question = {.plan = validation->p,
                                 .launch = launch,
                                 .module = validation->m,
                                 .binary = validation->b,
                                 .options = &validation->opt.ptx,
                                 .tolerance = &validation->opt.tolerance,
                                 .before = validation->ptx_before,
                                 .ptx = validation->ptx,
                                 .machine = validation->machine,
                                 .skip = validation->skip};
    Verdict verdict = rounding_verdict(&question, note);
    if (verdict == VERDICT_DIFFERS)
        return false;
    if (verdict >= validation->r->rounding)
        memcpy(validation->r->rounding_note, note, sizeof note);
    validation->r->rounding = verdict_worse(validation->r->rounding, verdict);
    return true;
}

uint64_t diff_machine_budget(const PtxRunResult *ptx) {
    enum { LEAST = 1 << 22, PER_PTX = 32, ENDLESS = 4 };
    uint64_t insns = ptx->thread_insns + ptx->skipped_insns;
    /* what the PTX does not end, the binary need not either: it is enough to see it go on */
    return ptx->trap.kind == TRAP_BUDGET ? LEAST + insns / ENDLESS : LEAST + PER_PTX * insns;
}

bool diff_unfinished(const PtxRunResult *ptx, const SimTrap *other, Diags *diags) {
    SimTrapKind kind = other->kind;
    bool goes_on =
        kind == TRAP_BUDGET || kind == TRAP_LIVELOCK || kind == TRAP_DEADLOCK || kind == TRAP_BARRIER;
    char line[120];
    if (ptx->trap.kind != TRAP_BUDGET || goes_on)
        return false;
    snprintf(line, sizeof line,
             "the PTX does not end within %llu thread instructions: --budget takes another number",
             (unsigned long long)(ptx->thread_insns + ptx->skipped_insns));
    diag(diags, (SrcLoc){0}, DIAG_E0516, line);
    return true;
}

/* What the machine then leaves takes the place of its memory and trap. */
static bool differs_at_other_moments(Validation *validation, const PlanLaunch *launch) {
    SimTrap trap;
    MemDiff diff;
    SimMemory *memory = diff_run_again(validation->p, launch, validation->b, validation->machine_before,
                                       &validation->opt.machine, &trap);
    if (!memory)
        return false;
    bool equal = trap.kind == TRAP_NONE && diff_memory(validation->ptx, memory, validation->skip, &diff);
    SimMemory *unused = equal ? memory : validation->machine;
    if (!equal) {
        validation->machine = memory;
        validation->r->machine_trap = trap;
        validation->r->other_moments = true;
    }
    simmem_free(unused);
    return !equal;
}

/* Both executions of one launch; false: reported. *stop after a difference or a trap. */
static bool one_launch(Validation *validation, const PlanLaunch *launch, bool *stop) {
    PtxRunResult ptx = {0};
    MachineResult machine = {0};
    Diags quiet = {.sink = silent}; /* a trap is part of the report, not an error */
    PtxRunOptions watched = validation->opt.ptx;
    watched.on_warning = ptx_warning;
    watched.user = validation->r;
    if (!keep_before(validation) ||
        !diff_run_ptx(validation->p, launch, validation->m, validation->ptx, &watched, &ptx, validation->d))
        return false;
    if (!validation->budget_given)
        validation->opt.machine.max_issues = diff_machine_budget(&ptx);
    MachineOptions o = validation->opt.machine;
    o.trace = NULL;
    const DiffOther *other = &validation->opt.other;
    if (!diff_run_other(validation->p, launch, validation->b, other, validation->machine, &o, &machine,
                        &quiet)) {
        machine_result_free(&machine); /* it could not start: run once more for the message */
        return diff_run_other(validation->p, launch, validation->b, other, validation->machine, &o, &machine,
                              validation->d);
    }
    bool limit =
        (machine.trap.kind == TRAP_STACK) != (ptx.trap.kind == TRAP_STACK) &&
        (machine.trap.kind == TRAP_NONE || ptx.trap.kind == TRAP_NONE); /* frames are not equally large */
    if (limit) {
        char line[512] = "one engine's stack is too small (docs/ptx-threads.md): ";
        sim_trap_print(machine.trap.kind == TRAP_STACK ? &machine.trap : &ptx.trap, line + strlen(line),
                       sizeof line - strlen(line));
        machine_result_free(&machine);
        return diag(validation->d, (SrcLoc){0}, DIAG_E0516, line);
    }
    if (diff_unfinished(&ptx, &machine.trap, validation->d)) {
        validation->r->unfinished = true;
        machine_result_free(&machine);
        return false;
    }
    if (machine.trap.kind == TRAP_UNSUPPORTED || ptx.trap.kind == TRAP_UNSUPPORTED) {
        char line[512]; /* says nothing about the code: no difference, but an input that cannot be compared */
        sim_trap_print(machine.trap.kind == TRAP_UNSUPPORTED ? &machine.trap : &ptx.trap, line, sizeof line);
        machine_result_free(&machine);
        return diag(validation->d, (SrcLoc){0}, DIAG_E0516, line);
    }
    validation->r->nlaunches++;
    validation->r->ptx_insns += ptx.thread_insns;
    validation->r->machine_issues += machine.stats.issues;
    validation->r->machine_lane_issues += machine.stats.lane_issues;
    validation->r->ptx_trap = ptx.trap;
    validation->r->machine_trap = machine.trap;
    machine_findings(validation->r, &machine);
    machine_result_free(&machine);
    if (ptx.trap.kind != TRAP_NONE || machine.trap.kind != TRAP_NONE) {
        validation->r->equal =
            diff_traps_alike(validation->b, other->engine, ptx.trap.kind, machine.trap.kind);
        if (!validation->opt.no_trace && other->engine == DIFF_MACHINE)
            find_lane(validation->p, launch, validation->m, validation->b, &validation->opt,
                      validation->ptx_before, validation->machine_before, validation->r);
        *stop = true; /* memory after a trap depends on who ran first */
        return true;
    }
    for (uint32_t i = 0; i < launch->unordered.n; i++)
        for (uint32_t k = 0; k < validation->ptx->nallocs; k++)
            validation->skip[k] |= validation->ptx->allocs[k].address ==
                                   validation->p->buffers.at[launch->unordered.at[i]].address;
    validation->r->equal =
        diff_memory(validation->ptx, validation->machine, validation->skip, &validation->r->diff);
    if (validation->r->equal && other->engine == DIFF_MACHINE &&
        differs_at_other_moments(validation, launch)) {
        validation->opt.machine = diff_other_moments(&validation->opt.machine);
        validation->r->equal = false;
        if (validation->r->machine_trap.kind != TRAP_NONE) {
            *stop = true;
            return true;
        }
        diff_memory(validation->ptx, validation->machine, validation->skip, &validation->r->diff);
    }
    if (!validation->r->equal && is_rounding(validation, launch)) {
        validation->r->equal = true;
        simmem_free(validation->machine); /* both go on with one result */
        validation->machine = simmem_clone(validation->ptx);
        if (!validation->machine)
            return diag(validation->d, (SrcLoc){0}, DIAG_E0502, "no memory on this host");
    }
    if (!validation->r->equal) {
        *stop = true;
        describe_difference(validation);
        if (!validation->opt.no_trace) {
            validation->r->ran_again = true;
            find_stores(validation->p, launch, validation->m, validation->b, &validation->opt,
                        validation->ptx_before, validation->machine_before, validation->r);
            if (other->engine != DIFF_MACHINE)
                validation->r->opinion = machine_opinion(validation, launch);
            else
                find_lane(validation->p, launch, validation->m, validation->b, &validation->opt,
                          validation->ptx_before, validation->machine_before, validation->r);
        }
    }
    return true;
}

static bool run_launches(Validation *validation) {
    bool stop = false;
    for (uint32_t i = 0; !stop && i < validation->p->launches.n; i++)
        for (uint32_t k = 0; !stop && k < validation->p->launches.at[i].repeat; k++) {
            validation->r->launch = i;
            if (!one_launch(validation, &validation->p->launches.at[i], &stop))
                return false;
        }
    for (uint32_t i = 0; i < validation->ptx->nallocs; i++)
        validation->r->compared_bytes += validation->skip[i] ? 0 : validation->ptx->allocs[i].size_bytes;
    if (!stop) /* host results: both memories are equal, one is enough */
        return plan_check(validation->p, validation->machine, &validation->r->failed_checks, validation->d);
    return true;
}

SimMemory *diff_first_memory(Plan *plan, const PtxModule *module, Diags *diags) {
    SimMemory *mem = plan_memory(plan, diags);
    if (!mem || !interp_place_variables(module, mem, diags) ||
        (!diff_printed_place(module, plan, mem) &&
         !diag(diags, (SrcLoc){0}, DIAG_E0502, "no memory on this host"))) {
        simmem_free(mem);
        return NULL;
    }
    return mem;
}

bool *diff_skip(Plan *plan, const SimMemory *memory, DiffEngine engine) {
    bool *skip = ARENA_ARRAY(&plan->arena, bool, memory->nallocs + 1);
    for (uint32_t i = 0; i < memory->nallocs; i++)
        skip[i] = strcmp(memory->allocs[i].name, SIM_HEAP_NAME) == 0 ||
                  (engine != DIFF_MACHINE && strcmp(memory->allocs[i].name, PRINTED_BUFFER) == 0);
    return skip;
}

void diff_unwritten(MachineOptions *options) {
    if (options->unwritten == MACHINE_UNWRITTEN_AS_USED)
        options->unwritten = MACHINE_UNWRITTEN_OTHER;
}

static void compare_file(const PtxModule *m, const Binary *b, DiffReport *report) {
    char text[sizeof report->odd];
    bool differs = bin_contents_differ(m, b, NULL, report->file, sizeof report->file);
    CheckFile what = differs ? CHECK_FILE_KEPT : check_beside_code(b, NULL, text, sizeof text);
    report->equal &= !differs && what != CHECK_FILE_WRONG;
    if (what == CHECK_FILE_WRONG)
        snprintf(report->file, sizeof report->file, "%s", text);
    else if (what == CHECK_FILE_ODD)
        snprintf(report->odd, sizeof report->odd, "%s", text);
}

bool diff_validate(Plan *plan, const PtxModule *m, const Binary *b, const DiffOptions *opt,
                   DiffReport *report, Diags *d) {
    *report = (DiffReport){.equal = true, .engine = opt->other.engine};
    diff_prepare(plan, m, b);
    Validation v = {.p = plan, .m = m, .b = b, .opt = *opt, .r = report, .d = d};
    diff_unwritten(&v.opt.machine);
    v.budget_given = opt->machine.max_issues != 0;
    v.opt.ptx.budget = opt->ptx.budget ? opt->ptx.budget : DIFF_PTX_BUDGET;
    report->kernels = diff_kernels(plan, m, d);
    v.ptx = report->kernels ? diff_first_memory(plan, m, d) : NULL;
    bool good = v.ptx != NULL;
    if (good) {
        v.machine = simmem_clone(v.ptx);
        good = v.machine || diag(d, (SrcLoc){0}, DIAG_E0502, "no memory on this host");
    }
    if (good) {
        v.skip = diff_skip(plan, v.ptx, opt->other.engine);
        good = run_launches(&v);
    }
    if (good && !opt->file_known)
        compare_file(m, b, report);
    SimMemory *all[] = {v.ptx, v.machine, v.ptx_before, v.machine_before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            simmem_free(all[i]);
    return good;
}
