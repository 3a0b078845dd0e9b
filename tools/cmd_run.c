/* heddle run: the launches of a plan on one engine; statistics, traces, findings, buffers, checks.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/validate/diff.h"
#include "emit/elf/object.h"
#include "tools/cli.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

typedef struct {
    Settings *s;
    PtxModule *ptx; /* engine ptx, or where the binary came from */
    Binary *binary; /* engine interp */
    SimMemory *mem;
    FILE *trace;
    double seconds;
    uint64_t thread_insns;
    MachineStats stats;
    uint32_t nlaunches, nfindings, failed_checks;
    SimTrap trap;
} Run;

static double now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* ---- traces ---- */
static void trace_machine(void *user, const MachineTrace *t) {
    FILE *out = user;
    fprintf(out, "block %u,%u,%u warp %u %s+0x%04llx valid %08x active %08x executed %08x  %s", t->block[0],
            t->block[1], t->block[2], t->warp, t->func ? t->func->name : "?",
            (unsigned long long)t->func_pc_bytes, t->valid, t->active, t->executed, t->text ? t->text : "");
    if (t->loc && t->loc->ptx_line)
        fprintf(out, "  // line %u", t->loc->ptx_line);
    fputc('\n', out);
}

static void trace_ptx(void *user, const PtxEvent *e) {
    const Run *r = user;
    const PtxInsn *i = &e->func->insns[e->insn];
    fprintf(r->trace, "block %u,%u,%u thread %u,%u,%u line %u %s%s%s", e->block[0], e->block[1], e->block[2],
            e->thread[0], e->thread[1], e->thread[2], ptx_line(r->ptx, i), ptx_op_name((PtxOp)i->op),
            str_text(&r->ptx->strings, i->mods_text), e->executed ? "" : " (guard false)");
    for (unsigned k = 0; e->executed && k < e->ndst; k++)
        if (e->dst_reg[k])
            fprintf(r->trace, " %s=0x%llx", str_text(&r->ptx->strings, e->func->regs[e->dst_reg[k]].name),
                    (unsigned long long)e->dst_value[k]);
    fputc('\n', r->trace);
}

static void print_warning(void *user, const SimTrap *w) {
    Run *r = user;
    char line[512];
    sim_trap_print(w, line, sizeof line);
    fprintf(stderr, "warning: %s\n", line);
    r->nfindings++;
}

/* "TRAP 0x5: k+0x40, PTX line 7, block (0,0,0), warp 1, lanes 0000ffff"; an operand that differs: "0:0x5
 * 1:0x6". */
static bool print_call(void *user, const MachineCall *c) {
    (void)user;
    fprintf(stderr, "%s", c->name);
    if (c->has_value) {
        uint32_t first = c->value[__builtin_ctz(c->lanes)];
        bool same = true;
        for (unsigned i = 0; i < 32; i++)
            same = same && (!(c->lanes >> i & 1) || c->value[i] == first);
        if (same)
            fprintf(stderr, " 0x%x", first);
        for (unsigned i = 0; !same && i < 32; i++)
            if (c->lanes >> i & 1)
                fprintf(stderr, " %u:0x%x", i, c->value[i]);
    }
    fprintf(stderr, ": %s+0x%llx", c->func ? c->func->name : "?", (unsigned long long)c->func_pc_bytes);
    if (c->ptx_line)
        fprintf(stderr, ", PTX line %u", c->ptx_line);
    fprintf(stderr, ", block (%u,%u,%u), warp %u, lanes %08x\n", c->block[0], c->block[1], c->block[2],
            c->warp, c->lanes);
    return true;
}

/* ---- launches ---- */
static void print_findings(Run *r, const MachineResult *res) {
    for (uint32_t i = 0; i < res->nfindings; i++) {
        const MachineFinding *f = &res->findings[i];
        uint64_t pc = f->func ? f->pc_bytes - f->func->address : f->pc_bytes;
        bool asked = f->kind == MF_HAZARD || f->kind == MF_UNDEFINED || f->kind == MF_PARTIAL_BARRIER;
        if (!asked && !r->s->verbose)
            continue;
        fprintf(stderr, "%s: %s pc 0x%llx", machine_finding_name(f->kind), f->func ? f->func->name : "?",
                (unsigned long long)pc);
        if (f->kind == MF_HAZARD)
            fprintf(stderr, ", producer 0x%llx",
                    (unsigned long long)(f->func ? f->other_pc_bytes - f->func->address : f->other_pc_bytes));
        if (f->ptx_line)
            fprintf(stderr, ", PTX line %u", f->ptx_line);
        fprintf(stderr, ", block (%u,%u,%u), warp %u, lanes %08x, %llu times: %s\n", f->block[0], f->block[1],
                f->block[2], f->warp, f->lanes, (unsigned long long)f->count, f->text);
        r->nfindings += asked;
    }
}

static void add_stats(MachineStats *sum, const MachineStats *x) {
    sum->issues += x->issues;
    sum->lane_issues += x->lane_issues;
    sum->data_issues += x->data_issues;
    sum->data_lane_issues += x->data_lane_issues;
    sum->b_issues += x->b_issues;
    sum->bsync_releases += x->bsync_releases;
    sum->switches += x->switches;
    sum->divergences += x->divergences;
    sum->barriers += x->barriers;
    if (x->max_resident > sum->max_resident)
        sum->max_resident = x->max_resident;
}

static bool machine_launch(Run *r, const PlanLaunch *l) {
    MachineOptions opt = r->s->machine;
    MachineResult res;
    if (r->trace) {
        opt.trace = trace_machine;
        opt.trace_user = r->trace;
    }
    opt.call = r->s->host_calls ? print_call : NULL;
    double start = now();
    bool good = diff_run_machine(&r->s->plan, l, r->binary, r->mem, &opt, &res, &r->s->diags);
    r->seconds += now() - start;
    add_stats(&r->stats, &res.stats);
    r->thread_insns = r->stats.lane_issues;
    r->trap = res.trap;
    print_findings(r, &res);
    machine_result_free(&res);
    return good;
}

static void print_races(Run *r, PtxRunResult *res) {
    char text[1024];
    for (uint32_t i = 0; i < res->nraces; i++) {
        ptx_race_print(&res->races[i], text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }
    r->nfindings += res->nharmful;
    ptx_races_free(res);
}

static bool ptx_launch(Run *r, const PlanLaunch *l) {
    PtxRunOptions opt = {.seed = r->s->seed,
                         .budget = r->s->budget,
                         .on_warning = print_warning,
                         .user = r,
                         .find_races = r->s->races,
                         .report_uninitialised = r->s->machine.report_undefined,
                         .on_event = r->trace ? trace_ptx : NULL};
    PtxRunResult res = {0};
    double start = now();
    bool good = diff_run_ptx(&r->s->plan, l, r->ptx, r->mem, &opt, &res, &r->s->diags);
    r->seconds += now() - start;
    r->thread_insns += res.thread_insns;
    print_races(r, &res);
    r->trap = res.trap;
    if (res.trap.kind != TRAP_NONE) {
        char line[512];
        sim_trap_print(&res.trap, line, sizeof line);
        fprintf(stderr, "trap: %s\n", line);
    }
    return good;
}

static bool run_all(Run *r) {
    const Plan *p = &r->s->plan;
    for (uint32_t i = 0; i < p->launches.n; i++)
        for (uint32_t k = 0; k < p->launches.at[i].repeat; k++) {
            const PlanLaunch *l = &p->launches.at[i];
            if (!(r->binary ? machine_launch(r, l) : ptx_launch(r, l)))
                return false;
            r->nlaunches++;
            if (r->trap.kind != TRAP_NONE)
                return true;
        }
    return true;
}

/* ---- buffers ---- */
static const SimAlloc *buffer_alloc(const Run *r, const PlanBuffer *b) {
    return simmem_find(r->mem, b->address, b->count * b->type->size_bytes);
}

static void print_buffer(const Run *r, const PlanBuffer *b, uint64_t most) {
    const SimAlloc *a = buffer_alloc(r, b);
    if (!a)
        return;
    printf("%s: %s[%llu], hash %016llx\n", b->name, b->type->name, (unsigned long long)b->count,
           (unsigned long long)XXH64(a->data, a->size_bytes, 0));
    for (uint64_t i = 0; i < b->count && i < most; i++) {
        char text[64];
        scalar_print(b->type, a->data + i * b->type->size_bytes, text);
        printf("  [%llu] %s\n", (unsigned long long)i, text);
    }
    if (b->count > most)
        printf("  ...\n");
}

/* NAME=FILE of --save; NULL: reported. */
static const PlanBuffer *save_target(Run *r, const char *text, const char **file) {
    const char *equals = strchr(text, '=');
    const char *name = equals ? arena_printf(&r->s->arena, "%.*s", (int)(equals - text), text) : text;
    uint32_t index = plan_find_buffer(&r->s->plan, name);
    *file = equals ? equals + 1 : NULL;
    if (equals && index)
        return &r->s->plan.buffers.at[index - 1];
    diag(&r->s->diags, (SrcLoc){0}, DIAG_E0504, name, "is no buffer; --save wants NAME=FILE");
    return NULL;
}

static bool save_buffer(Run *r, const char *text) {
    const char *file;
    const PlanBuffer *b = save_target(r, text, &file);
    const SimAlloc *a = b ? buffer_alloc(r, b) : NULL;
    return a && file_write(file, a->data, a->size_bytes, &r->s->diags);
}

/* Wrong names and sizes are found before anything runs. */
static bool check_names(Run *r) {
    const char *file;
    for (uint32_t i = 0; i < r->s->prints.n; i++)
        if (!plan_find_buffer(&r->s->plan, r->s->prints.at[i]))
            return diag(&r->s->diags, (SrcLoc){0}, DIAG_E0504, r->s->prints.at[i], "is no buffer");
    for (uint32_t i = 0; i < r->s->saves.n; i++)
        if (!save_target(r, r->s->saves.at[i], &file))
            return false;
    return plan_read_expected(&r->s->plan, &r->s->diags);
}

static bool show_buffers(Run *r) {
    const Plan *p = &r->s->plan;
    for (uint32_t i = 0; i < r->s->prints.n; i++) {
        uint32_t index = plan_find_buffer(p, r->s->prints.at[i]); /* check_names has found it */
        print_buffer(r, &p->buffers.at[index - 1], UINT64_MAX);
    }
    for (uint32_t i = 0; !r->s->prints.n && !r->s->json && i < p->buffers.n; i++)
        if (p->buffers.at[i].is_output)
            print_buffer(r, &p->buffers.at[i], 8);
    for (uint32_t i = 0; i < r->s->saves.n; i++)
        if (!save_buffer(r, r->s->saves.at[i]))
            return false;
    return true;
}

/* ---- reports ---- */
static void print_json(const Run *r) {
    cJSON *o = cJSON_CreateObject();
    char line[512];
    cJSON_AddStringToObject(o, "engine", r->binary ? "interp" : "ptx");
    cJSON_AddNumberToObject(o, "launches", r->nlaunches);
    cJSON_AddNumberToObject(o, "seconds", r->seconds);
    cJSON_AddNumberToObject(o, "thread_instructions", (double)r->thread_insns);
    if (r->binary) {
        const MachineStats *s = &r->stats;
        cJSON_AddNumberToObject(o, "warp_instructions", (double)s->issues);
        cJSON_AddNumberToObject(o, "data_warp_instructions", (double)s->data_issues);
        cJSON_AddNumberToObject(o, "data_thread_instructions", (double)s->data_lane_issues);
        cJSON_AddNumberToObject(o, "simt_efficiency",
                                s->data_issues ? (double)s->data_lane_issues / (32.0 * (double)s->data_issues)
                                               : 1);
        cJSON_AddNumberToObject(o, "convergence_instructions", (double)s->b_issues);
        cJSON_AddNumberToObject(o, "divergences", (double)s->divergences);
        cJSON_AddNumberToObject(o, "switches", (double)s->switches);
        cJSON_AddNumberToObject(o, "barrier_phases", (double)s->barriers);
    }
    cJSON_AddNumberToObject(o, "findings", r->nfindings);
    cJSON_AddNumberToObject(o, "failed_checks", r->failed_checks);
    if (r->trap.kind != TRAP_NONE) {
        sim_trap_print(&r->trap, line, sizeof line);
        cJSON_AddStringToObject(o, "trap", line);
    }
    char *text = cJSON_Print(o);
    if (text)
        puts(text);
    free(text);
    cJSON_Delete(o);
}

static void print_stats(const Run *r) {
    char text[2048];
    printf("%u launch%s, %.3f ms, %llu thread instructions, %.1f M/s\n", r->nlaunches,
           r->nlaunches == 1 ? "" : "es", r->seconds * 1e3, (unsigned long long)r->thread_insns,
           r->seconds > 0 ? (double)r->thread_insns / r->seconds * 1e-6 : 0.0);
    if (r->binary) {
        machine_stats_print(&r->stats, text, sizeof text);
        fputs(text, stdout);
        if (*text && text[strlen(text) - 1] != '\n')
            putchar('\n');
    }
}

/* The module for the engine: a binary to execute, or PTX to interpret. */
static bool open_input(Run *r) {
    Settings *s = r->s;
    char *data;
    size_t size;
    if (!file_read(&s->arena, s->inputs[0], &s->diags, &data, &size))
        return false;
    bool elf = cli_is_elf(data, size), interpret = s->engine && strcmp(s->engine, "ptx") == 0;
    if (elf && !interpret && !object_is(data, size))
        return (r->binary = cli_load(s, s->inputs[0], data, size)) != NULL;
    r->ptx = cli_read_modules(s, s->ninputs);
    if (r->ptx && !interpret)
        r->binary = cli_compile_to_binary(s, r->ptx, s->inputs[0]);
    return interpret ? r->ptx != NULL : r->binary != NULL;
}

static bool open_trace(Run *r) {
    const char *name = r->s->trace;
    if (!name)
        return true;
    r->trace = strcmp(name, "-") == 0 ? stdout : fopen(name, "w");
    return r->trace || diag(&r->s->diags, (SrcLoc){0}, DIAG_E0002, name, "cannot be opened");
}

static int finish(Run *r) {
    if (!show_buffers(r))
        return STATUS_INPUT;
    if (r->trap.kind == TRAP_NONE && !plan_check(&r->s->plan, r->mem, &r->failed_checks, &r->s->diags))
        return STATUS_INPUT;
    if (r->s->json)
        print_json(r);
    else if (r->s->stats)
        print_stats(r);
    if (r->trap.kind != TRAP_NONE)
        return STATUS_INPUT;
    return r->failed_checks || r->nfindings ? STATUS_DIFFERS : STATUS_DONE;
}

int cmd_run(Settings *s) {
    if (s->replay)
        return cli_replay(s);
    Run r = {.s = s};
    int status = STATUS_INPUT;
    if (s->races && (!s->engine || strcmp(s->engine, "ptx") != 0)) {
        diag(&s->diags, (SrcLoc){0}, DIAG_E0502, "--races needs --engine=ptx");
        return STATUS_USAGE;
    }
    if (cli_read_plan(s) && check_names(&r) && open_input(&r) && open_trace(&r)) {
        r.mem = plan_memory(&s->plan, &s->diags);
        bool placed = r.mem && (r.binary || ptx_place_variables(r.ptx, r.mem, &s->diags));
        if (placed && run_all(&r))
            status = finish(&r);
    }
    if (r.trace && r.trace != stdout && fclose(r.trace) != 0) {
        diag(&s->diags, (SrcLoc){0}, DIAG_E0002, s->trace, "write error");
        status = STATUS_INPUT;
    }
    if (r.mem)
        simmem_free(r.mem);
    binary_free(r.binary);
    if (r.ptx)
        ptx_free(r.ptx);
    return status;
}
