/* Differential validation: see diff.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/diff.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparison ---- */
static const SimAlloc *same_place(const SimMemory *m, const SimAlloc *a) {
    const SimAlloc *b = simmem_find(m, a->address, a->size_bytes);
    return b && b->address == a->address && b->size_bytes == a->size_bytes ? b : NULL;
}

bool diff_memory(const SimMemory *a, const SimMemory *b, const bool *skip, MemDiff *out) {
    *out = (MemDiff){0};
    for (uint32_t i = 0; i < a->nallocs; i++) {
        const SimAlloc *x = &a->allocs[i], *y = same_place(b, x);
        if ((skip && skip[i]) || (y && memcmp(x->data, y->data, x->size_bytes) == 0))
            continue;
        for (uint64_t k = 0; k < x->size_bytes; k++) {
            if (y && x->data[k] == y->data[k])
                continue;
            if (out->ndiffering++ == 0) {
                out->alloc = i;
                out->offset_bytes = k;
            }
        }
    }
    return out->ndiffering == 0;
}

/* ---- one launch ---- */
/* The one kernel found; else says which there are. `n` matched the launch's name. */
static const char *one_kernel(const Plan *p, const PlanLaunch *l, const char *what, const char *found,
                              uint32_t n, char *all, Diags *d) {
    char text[512];
    if (n != 1) {
        if (l->kernel)
            snprintf(text, sizeof text, "%s has no kernel %s; it has %s", what, l->kernel,
                     all && *all ? all : "none");
        else if (n)
            snprintf(text, sizeof text, "%s has several kernels, say which: %s", what, all ? all : "");
        else
            snprintf(text, sizeof text, "%s has no kernel", what);
        diag_in(d, p->source ? p->source : d->source, l->loc, DIAG_E0502, text);
        found = NULL;
    }
    free(all);
    return found;
}

const char *diff_ptx_kernel(const Plan *p, const PtxModule *m, const PlanLaunch *l, Diags *d) {
    const char *found = NULL;
    uint32_t n = 0;
    char *all = NULL;
    size_t size;
    FILE *names = open_memstream(&all, &size);
    for (uint32_t i = 0; i < m->nfuncs; i++) {
        if (!m->funcs[i].is_entry || !m->funcs[i].has_body)
            continue;
        const char *name = str_text(&m->strings, m->funcs[i].name);
        if (names)
            fprintf(names, "%s%s", ftell(names) ? ", " : "", name);
        if (l->kernel && strcmp(name, l->kernel) != 0)
            continue;
        found = name;
        n++;
    }
    if (names)
        fclose(names);
    return one_kernel(p, l, "the PTX", found, n, all, d);
}

const char *diff_binary_kernel(const Plan *p, const Binary *b, const PlanLaunch *l, Diags *d) {
    const char *found = NULL;
    uint32_t n = 0;
    char *all = NULL;
    size_t size;
    FILE *names = open_memstream(&all, &size);
    for (uint32_t i = 0; i < b->nfuncs; i++) {
        if (!b->funcs[i].is_entry)
            continue;
        if (names)
            fprintf(names, "%s%s", ftell(names) ? ", " : "", b->funcs[i].name);
        if (l->kernel && strcmp(b->funcs[i].name, l->kernel) != 0)
            continue;
        found = b->funcs[i].name;
        n++;
    }
    if (names)
        fclose(names);
    return one_kernel(p, l, b->path ? b->path : "the binary", found, n, all, d);
}

static Launch make_launch(const PlanLaunch *l, const uint8_t *block, uint32_t size) {
    return (Launch){.grid = {l->grid[0], l->grid[1], l->grid[2]},
                    .block = {l->block[0], l->block[1], l->block[2]},
                    .dynamic_shared_bytes = l->shared_bytes,
                    .params = block,
                    .param_bytes = size};
}

static bool ptx_launch(Plan *p, const PlanLaunch *l, const PtxModule *m, const char *kernel, Launch *out,
                       Diags *d) {
    uint32_t index = ptx_find_func(m, kernel);
    const PtxFunc *f = index ? &m->funcs[index - 1] : NULL;
    if (!f)
        return diag(d, (SrcLoc){0}, DIAG_E0502, "the PTX has no kernel of that name");
    PlanParam *params = ARENA_ARRAY(&p->arena, PlanParam, f->nparams + 1);
    for (uint32_t i = 0; i < f->nparams; i++) {
        const PtxVar *v = &m->vars[f->params[i]];
        params[i] = (PlanParam){(uint32_t)v->param_offset_bytes, (uint32_t)v->size_bytes};
    }
    const uint8_t *block;
    uint32_t size;
    if (!plan_params(p, l, kernel, params, f->nparams, &block, &size, d))
        return false;
    *out = make_launch(l, block, size);
    return true;
}

bool diff_run_ptx(Plan *p, const PlanLaunch *l, const PtxModule *m, SimMemory *mem, const PtxRunOptions *opt,
                  PtxRunResult *res, Diags *d) {
    const char *kernel = diff_ptx_kernel(p, m, l, d);
    Launch launch;
    return kernel && ptx_launch(p, l, m, kernel, &launch, d) &&
           ptx_interp_run(m, kernel, &launch, mem, opt, res, d);
}

bool diff_run_machine(Plan *p, const PlanLaunch *l, const Binary *b, SimMemory *mem,
                      const MachineOptions *opt, MachineResult *res, Diags *d) {
    const char *kernel = diff_binary_kernel(p, b, l, d);
    const BinFunc *f = kernel ? binary_find(b, kernel) : NULL;
    const uint8_t *block;
    uint32_t size;
    *res = (MachineResult){0};
    if (!f)
        return false;
    PlanParam *params = ARENA_ARRAY(&p->arena, PlanParam, f->nparams + 1);
    for (uint32_t i = 0; i < f->nparams; i++)
        params[i] = (PlanParam){f->params[i].offset_bytes, f->params[i].size_bytes};
    if (!plan_params(p, l, kernel, params, f->nparams, &block, &size, d))
        return false;
    Launch launch = make_launch(l, block, size);
    return machine_run(b, kernel, &launch, mem, opt, res, d) || res->trap.kind != TRAP_NONE;
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
    MachineTrace before; /* the machine reports an instruction before it runs */
    bool has_before;
    uint32_t before_lane;
} Watch;

static bool changed(Watch *w) {
    uint8_t now[8];
    if (!simmem_read(w->mem, w->address, now, w->size) || memcmp(now, w->last, w->size) == 0)
        return false;
    memcpy(w->last, now, w->size);
    return true;
}

static void ptx_event(void *user, const PtxEvent *e) {
    Watch *w = user;
    if (!e->executed || !changed(w))
        return;
    w->r->has_ptx_store = true;
    w->r->ptx_store_line = ptx_line(w->m, &e->func->insns[e->insn]);
    memcpy(w->r->ptx_store_block, e->block, sizeof e->block);
    memcpy(w->r->ptx_store_thread, e->thread, sizeof e->thread);
}

static void note_machine_store(Watch *w) {
    if (!w->has_before || !changed(w))
        return;
    DiffReport *r = w->r;
    r->has_machine_store = true;
    r->machine_func = w->before.func ? w->before.func->name : "?";
    r->machine_pc_bytes = w->before.func_pc_bytes;
    r->machine_ptx_line = w->before.loc ? w->before.loc->ptx_line : 0;
    memcpy(r->machine_block, w->before.block, sizeof r->machine_block);
    r->machine_warp = w->before.warp;
    r->machine_lane = w->before_lane;
}

static void machine_event(void *user, const MachineTrace *t) {
    Watch *w = user;
    note_machine_store(w);
    w->before = *t;
    w->has_before = true;
    for (unsigned lane = 0; lane < SIM_WARP_LANES; lane++) { /* which lane it may be that stores there */
        uint64_t at = t->executed >> lane & 1 ? machine_trace_address(t, lane) : 0;
        if (at <= w->address && w->address - at < 16)
            w->before_lane = lane;
    }
}

/* The text of the instruction that was found; the trace's own text lives only during the call. */
static void machine_store_text(DiffReport *r, const Binary *b) {
    const BinFunc *f = r->has_machine_store ? binary_find(b, r->machine_func) : NULL;
    if (!f || r->machine_pc_bytes / INST_BYTES >= f->ninsts)
        return;
    MachInst in;
    char error[ISA_ERROR_BYTES];
    uint64_t index = (f->address - b->code_base + r->machine_pc_bytes) / INST_BYTES;
    if (isa_decode(b->target, b->code[index], &in, error))
        isa_print(b->target, &in, r->machine_pc_bytes, NULL, r->machine_text, sizeof r->machine_text);
}

static void silent(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

/* Run the differing launch once more on copies of the memory before it, watching the place. */
static void find_stores(Plan *p, const PlanLaunch *l, const PtxModule *m, const Binary *b,
                        const DiffOptions *opt, const SimMemory *ptx_before, const SimMemory *machine_before,
                        DiffReport *r) {
    Diags quiet = {.sink = silent};
    SimMemory *x = simmem_clone(ptx_before), *y = simmem_clone(machine_before);
    Watch w = {.size = r->type ? r->type->size_bytes : 1, .r = r, .m = m};
    const SimAlloc *place = &ptx_before->allocs[r->diff.alloc];
    w.address = place->address + r->element * w.size;
    if (x && simmem_read(x, w.address, w.last, w.size)) {
        w.mem = x;
        PtxRunOptions o = opt->ptx;
        o.on_event = ptx_event;
        o.user = &w;
        PtxRunResult res;
        diff_run_ptx(p, l, m, x, &o, &res, &quiet);
    }
    if (y && simmem_read(y, w.address, w.last, w.size)) {
        w.mem = y;
        MachineOptions o = opt->machine;
        o.trace = machine_event;
        o.trace_user = &w;
        MachineResult res;
        diff_run_machine(p, l, b, y, &o, &res, &quiet);
        note_machine_store(&w);
        machine_result_free(&res);
        machine_store_text(r, b);
    }
    if (x)
        simmem_free(x);
    if (y)
        simmem_free(y);
}

/* ---- where the lane parts ---- */
static void find_lane(Plan *p, const PlanLaunch *l, const PtxModule *m, const Binary *b,
                      const DiffOptions *opt, const SimMemory *ptx_before, const SimMemory *machine_before,
                      DiffReport *r) {
    LaneQuestion q = {.plan = p,
                      .launch = l,
                      .m = m,
                      .b = b,
                      .ptx = opt->ptx,
                      .machine = opt->machine,
                      .ptx_before = ptx_before,
                      .machine_before = machine_before};
    const SimTrap *trap = r->ptx_trap.kind != TRAP_NONE ? &r->ptx_trap : &r->machine_trap;
    q.trapped = trap->kind != TRAP_NONE;
    q.alike = r->equal;
    q.endless = r->machine_trap.kind == TRAP_BUDGET || r->machine_trap.kind == TRAP_LIVELOCK;
    if (q.trapped) {
        memcpy(q.block, trap->block, sizeof q.block);
        memcpy(q.thread, trap->thread, sizeof q.thread);
    } else if (r->has_ptx_store) {
        q.address = ptx_before->allocs[r->diff.alloc].address + r->diff.offset_bytes;
        memcpy(q.block, r->ptx_store_block, sizeof q.block);
        memcpy(q.thread, r->ptx_store_thread, sizeof q.thread);
    } else if (r->has_machine_store) {
        uint32_t thread = r->machine_warp * SIM_WARP_LANES + r->machine_lane;
        q.address = ptx_before->allocs[r->diff.alloc].address + r->diff.offset_bytes;
        memcpy(q.block, r->machine_block, sizeof q.block);
        q.thread[0] = thread % l->block[0];
        q.thread[1] = thread / l->block[0] % l->block[1];
        q.thread[2] = thread / l->block[0] / l->block[1];
    } else {
        return;
    }
    r->lane = lane_diff(&q);
}

/* ---- validation ---- */
typedef struct {
    Plan *p;
    const PtxModule *m;
    const Binary *b;
    const DiffOptions *opt;
    DiffReport *r;
    Diags *d;
    SimMemory *ptx, *machine;               /* memories of the two executions */
    SimMemory *ptx_before, *machine_before; /* as they were before the present launch */
    bool *skip;
} Validation;

static void describe(Validation *v) {
    DiffReport *r = v->r;
    const SimAlloc *a = &v->ptx->allocs[r->diff.alloc];
    const SimAlloc *b = same_place(v->machine, a);
    uint32_t buffer = plan_find_buffer(v->p, a->name);
    r->memory_differs = true;
    r->buffer = buffer ? v->p->buffers.at[buffer - 1].name : arena_printf(&v->p->arena, "%s", a->name);
    r->type = buffer ? v->p->buffers.at[buffer - 1].type : scalar_find("b8", 2);
    uint32_t size = r->type->size_bytes;
    r->element = r->diff.offset_bytes / size;
    memcpy(r->ptx_value, a->data + r->element * size, size);
    if (b)
        memcpy(r->machine_value, b->data + r->element * size, size);
}

static bool keep_before(Validation *v) {
    if (v->opt->no_trace)
        return true;
    if (v->ptx_before)
        simmem_free(v->ptx_before);
    if (v->machine_before)
        simmem_free(v->machine_before);
    v->ptx_before = simmem_clone(v->ptx);
    v->machine_before = simmem_clone(v->machine);
    return (v->ptx_before && v->machine_before) ||
           diag(v->d, (SrcLoc){0}, DIAG_E0502, "no memory on this host");
}

/* ---- findings ---- */
static void add_finding(DiffReport *r, const char *who, const char *text) {
    for (uint32_t i = 0; i < r->nfindings && i < DIFF_MAX_FINDINGS; i++)
        if (strstr(r->findings[i], text))
            return; /* of an earlier launch */
    if (r->nfindings < DIFF_MAX_FINDINGS)
        snprintf(r->findings[r->nfindings], sizeof r->findings[0], "%s%s", who, text);
    r->nfindings++;
}

static void ptx_warning(void *user, const SimTrap *w) {
    char line[300];
    if (w->kind != TRAP_NOT_UNIFORM && w->kind != TRAP_DIVERGENT_BARRIER)
        return;
    sim_trap_print(w, line, sizeof line);
    add_finding(user, "PTX ", line);
}

static void machine_findings(DiffReport *r, const MachineResult *res) {
    for (uint32_t i = 0; i < res->nfindings; i++) {
        const MachineFinding *f = &res->findings[i];
        char line[300];
        if (f->kind != MF_PARTIAL_BARRIER)
            continue;
        snprintf(line, sizeof line, "%.80s: line %u, pc 0x%llx, block (%u,%u,%u), warp %u: %s: %s",
                 f->func ? f->func->name : "?", f->ptx_line,
                 (unsigned long long)(f->func ? f->pc_bytes - f->func->address : f->pc_bytes), f->block[0],
                 f->block[1], f->block[2], f->warp, machine_finding_name(f->kind), f->text);
        add_finding(r, "machine ", line);
    }
}

/* Native machines have one instruction for trap, brkpt, an index outside its table and an address that is no
 * function. */
bool diff_traps_alike(const Binary *b, SimTrapKind ptx, SimTrapKind machine) {
    bool one = !isa_target_has(b->target, OT_TRAP) && machine == TRAP_INSTRUCTION;
    return ptx == machine ||
           (one && (ptx == TRAP_BREAKPOINT || ptx == TRAP_BRANCH_INDEX || ptx == TRAP_CALL_TARGET));
}

/* Both executions of one launch; false: reported. *stop after a difference or a trap. */
static bool one_launch(Validation *v, const PlanLaunch *l, bool *stop) {
    PtxRunResult ptx = {0};
    MachineResult machine = {0};
    Diags quiet = {.sink = silent}; /* a trap is part of the report, not an error */
    PtxRunOptions watched = v->opt->ptx;
    watched.on_warning = ptx_warning;
    watched.user = v->r;
    if (!keep_before(v) || !diff_run_ptx(v->p, l, v->m, v->ptx, &watched, &ptx, v->d))
        return false;
    MachineOptions o = v->opt->machine;
    o.trace = NULL;
    if (!diff_run_machine(v->p, l, v->b, v->machine, &o, &machine, &quiet)) {
        machine_result_free(&machine); /* it could not start: run once more for the message */
        return diff_run_machine(v->p, l, v->b, v->machine, &o, &machine, v->d);
    }
    bool limit =
        (machine.trap.kind == TRAP_STACK) != (ptx.trap.kind == TRAP_STACK) &&
        (machine.trap.kind == TRAP_NONE || ptx.trap.kind == TRAP_NONE); /* frames are not equally large */
    if (limit) {
        char line[512] = "one engine's stack is too small (docs/ptx-threads.md): ";
        sim_trap_print(machine.trap.kind == TRAP_STACK ? &machine.trap : &ptx.trap, line + strlen(line),
                       sizeof line - strlen(line));
        machine_result_free(&machine);
        return diag(v->d, (SrcLoc){0}, DIAG_E0502, line);
    }
    if (machine.trap.kind == TRAP_UNSUPPORTED || ptx.trap.kind == TRAP_UNSUPPORTED) {
        char line[512]; /* says nothing about the code: no difference, but an input that cannot be compared */
        sim_trap_print(machine.trap.kind == TRAP_UNSUPPORTED ? &machine.trap : &ptx.trap, line, sizeof line);
        machine_result_free(&machine);
        return diag(v->d, (SrcLoc){0}, DIAG_E0502, line);
    }
    v->r->nlaunches++;
    v->r->ptx_insns += ptx.thread_insns;
    v->r->machine_issues += machine.stats.issues;
    v->r->machine_lane_issues += machine.stats.lane_issues;
    v->r->ptx_trap = ptx.trap;
    v->r->machine_trap = machine.trap;
    machine_findings(v->r, &machine);
    machine_result_free(&machine);
    if (ptx.trap.kind != TRAP_NONE || machine.trap.kind != TRAP_NONE) {
        v->r->equal = diff_traps_alike(v->b, ptx.trap.kind, machine.trap.kind);
        if (!v->opt->no_trace)
            find_lane(v->p, l, v->m, v->b, v->opt, v->ptx_before, v->machine_before, v->r);
        *stop = true; /* memory after a trap depends on who ran first */
        return true;
    }
    for (uint32_t i = 0; i < l->unordered.n; i++)
        for (uint32_t k = 0; k < v->ptx->nallocs; k++)
            v->skip[k] |= v->ptx->allocs[k].address == v->p->buffers.at[l->unordered.at[i]].address;
    v->r->equal = diff_memory(v->ptx, v->machine, v->skip, &v->r->diff);
    if (!v->r->equal) {
        *stop = true;
        describe(v);
        if (!v->opt->no_trace) {
            find_stores(v->p, l, v->m, v->b, v->opt, v->ptx_before, v->machine_before, v->r);
            find_lane(v->p, l, v->m, v->b, v->opt, v->ptx_before, v->machine_before, v->r);
        }
    }
    return true;
}

static bool run_launches(Validation *v) {
    bool stop = false;
    for (uint32_t i = 0; !stop && i < v->p->launches.n; i++)
        for (uint32_t k = 0; !stop && k < v->p->launches.at[i].repeat; k++) {
            v->r->launch = i;
            if (!one_launch(v, &v->p->launches.at[i], &stop))
                return false;
        }
    for (uint32_t i = 0; i < v->ptx->nallocs; i++)
        v->r->compared_bytes += v->skip[i] ? 0 : v->ptx->allocs[i].size_bytes;
    if (!stop) /* host results: both memories are equal, one is enough */
        return plan_check(v->p, v->machine, &v->r->failed_checks, v->d);
    return true;
}

bool diff_validate(Plan *p, const PtxModule *m, const Binary *b, const DiffOptions *opt, DiffReport *report,
                   Diags *d) {
    *report = (DiffReport){.equal = true};
    Validation v = {.p = p, .m = m, .b = b, .opt = opt, .r = report, .d = d};
    v.ptx = plan_memory(p, d);
    bool good = v.ptx && ptx_place_variables(m, v.ptx, d);
    if (good) {
        v.machine = simmem_clone(v.ptx);
        good = v.machine || diag(d, (SrcLoc){0}, DIAG_E0502, "no memory on this host");
    }
    if (good) {
        v.skip = ARENA_ARRAY(&p->arena, bool, v.ptx->nallocs + 1);
        good = run_launches(&v);
    }
    SimMemory *all[] = {v.ptx, v.machine, v.ptx_before, v.machine_before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            simmem_free(all[i]);
    return good;
}
