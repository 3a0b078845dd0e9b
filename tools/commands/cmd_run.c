/* heddle run: the launches of a plan on one engine; statistics, traces, findings, buffers, checks.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/scope.h"
#include "check/flow/contents.h"
#include "check/picture/lanes.h"
#include "check/validate/compare/diff.h"
#include "check/validate/cover/profile.h"
#include "emit/elf/object.h"
#include "frontend/link.h"
#include "tools/cli/cli.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

typedef struct {
    Settings *settings;
    PtxModule *ptx;          /* engine ptx, or where the binary came from */
    Binary *binary;          /* engine interp */
    const uint8_t *aligned;  /* MachineOptions.aligned */
    MachineThreads *threads; /* of all launches; NULL: one is enough */
    SimMemory *mem;
    FILE *trace;
    TextStream *printed; /* --json: by the threads, for the report */
    BinFlow *flow;       /* of the binary, for ... */
    Lanes lanes;         /* ... --trace-perfetto */
    PtxProfile *profile;
    ProfileCounter *counter; /* of the profile */
    double seconds;
    uint64_t thread_insns;
    MachineStats stats;
    uint32_t nlaunches, nfindings, failed_checks;
    SimTrap trap;
} Run;

/* ---- traces ---- */
static void trace_machine(void *user, const MachineTrace *trace) {
    Run *run = user;
    FILE *out = run->trace;
    if (run->flow)
        lanes_record(&run->lanes, trace);
    if (!out)
        return;
    fprintf(out, "block %u,%u,%u warp %u %s+0x%04llx valid %08x active %08x executed %08x  %s",
            trace->block[0], trace->block[1], trace->block[2], trace->warp,
            trace->func ? trace->func->name : "?", (unsigned long long)trace->func_pc_bytes, trace->valid,
            trace->active, trace->executed, trace->text ? trace->text : "");
    if (trace->loc && trace->loc->ptx_line)
        fprintf(out, "  // line %u", trace->loc->ptx_line);
    fputc('\n', out);
}

static void trace_ptx(void *user, const PtxEvent *event) {
    const Run *run = user;
    const PtxInsn *i = &event->func->insns[event->insn];
    fprintf(run->trace, "block %u,%u,%u thread %u,%u,%u line %u %s%s%s", event->block[0], event->block[1],
            event->block[2], event->thread[0], event->thread[1], event->thread[2], ptx_line(run->ptx, i),
            ptx_op_name((PtxOp)i->op), str_text(&run->ptx->strings, i->mods_text),
            event->executed ? "" : " (guard false)");
    for (unsigned k = 0; event->executed && k < event->ndst; k++)
        if (event->dst_reg[k])
            fprintf(run->trace, " %s=0x%llx",
                    str_text(&run->ptx->strings, event->func->regs[event->dst_reg[k]].name),
                    (unsigned long long)event->dst_value[k]);
    fputc('\n', run->trace);
}

static void ptx_event(void *user, const PtxEvent *event) {
    const Run *run = user;
    if (run->counter)
        profile_count(run->counter, event);
    if (run->trace)
        trace_ptx(user, event);
}

static void print_warning(void *user, const SimTrap *w) {
    Run *run = user;
    char line[512];
    sim_trap_print(w, line, sizeof line);
    fprintf(stderr, "warning: %s\n", line);
    run->nfindings++;
}

/* "TRAP 0x5: k+0x40, PTX line 7, block (0,0,0), warp 1, lanes 0000ffff"; an operand that differs: "0:0x5
 * 1:0x6". */
static bool print_call(void *user, const MachineCall *call) {
    (void)user;
    fprintf(stderr, "%s", call->name);
    if (call->has_value) {
        uint32_t first = call->value[__builtin_ctz(call->lanes)];
        bool same = true;
        for (unsigned i = 0; i < 32; i++)
            same = same && (!(call->lanes >> i & 1) || call->value[i] == first);
        if (same)
            fprintf(stderr, " 0x%x", first);
        for (unsigned i = 0; !same && i < 32; i++)
            if (call->lanes >> i & 1)
                fprintf(stderr, " %u:0x%x", i, call->value[i]);
    }
    fprintf(stderr, ": %s+0x%llx", call->func ? call->func->name : "?",
            (unsigned long long)call->func_pc_bytes);
    if (call->ptx_line)
        fprintf(stderr, ", PTX line %u", call->ptx_line);
    fprintf(stderr, ", block (%u,%u,%u), warp %u, lanes %08x\n", call->block[0], call->block[1],
            call->block[2], call->warp, call->lanes);
    return true;
}

/* What the threads print, as it happens: the kernel's own output. */
static void print_text(void *user, const SimPrint *print) {
    const Run *run = user;
    for (size_t k = 0; run->printed && k < print->bytes; k++)
        putc(print->text[k] ? print->text[k] : 0xff, run->printed->out); /* what is no text becomes U+FFFD */
    if (!run->printed)
        fwrite(print->text, 1, print->bytes, stdout);
}

/* ---- launches ---- */
static void print_findings(Run *run, const MachineResult *res) {
    for (uint32_t i = 0; i < res->nfindings; i++) {
        const MachineFinding *finding = &res->findings[i];
        uint64_t pc = finding->func ? finding->pc_bytes - finding->func->address : finding->pc_bytes;
        bool asked = finding->kind == MF_HAZARD || finding->kind == MF_UNDEFINED ||
                     finding->kind == MF_PARTIAL_BARRIER;
        if (!asked && !run->settings->verbose)
            continue;
        fprintf(stderr, "%s: %s pc 0x%llx", machine_finding_name(finding->kind),
                finding->func ? finding->func->name : "?", (unsigned long long)pc);
        if (finding->kind == MF_HAZARD)
            fprintf(stderr, ", producer 0x%llx",
                    (unsigned long long)(finding->func ? finding->other_pc_bytes - finding->func->address
                                                       : finding->other_pc_bytes));
        if (finding->ptx_line)
            fprintf(stderr, ", PTX line %u", finding->ptx_line);
        if (*finding->source)
            fprintf(stderr, " (%s)", finding->source);
        fprintf(stderr, ", block (%u,%u,%u), warp %u, lanes %08x, %llu times: %s\n", finding->block[0],
                finding->block[1], finding->block[2], finding->warp, finding->lanes,
                (unsigned long long)finding->count, finding->text);
        run->nfindings += asked;
    }
}

static void add_stats(MachineStats *sum, const MachineStats *stats) {
    sum->issues += stats->issues;
    sum->lane_issues += stats->lane_issues;
    sum->data_issues += stats->data_issues;
    sum->data_lane_issues += stats->data_lane_issues;
    sum->true_lane_issues += stats->true_lane_issues;
    sum->data_true_lane_issues += stats->data_true_lane_issues;
    sum->b_issues += stats->b_issues;
    sum->bsync_releases += stats->bsync_releases;
    sum->switches += stats->switches;
    sum->divergences += stats->divergences;
    sum->barriers += stats->barriers;
    if (stats->max_resident > sum->max_resident)
        sum->max_resident = stats->max_resident;
}

static bool machine_launch(Run *run, const PlanLaunch *launch) {
    MachineOptions opt = run->settings->machine;
    opt.aligned = run->aligned;
    opt.jobs = run->settings->jobs;
    opt.threads = run->threads;
    MachineResult res;
    if (run->trace || run->flow) {
        opt.trace = trace_machine;
        opt.trace_user = run;
        opt.trace_no_text = !run->trace;
    }
    opt.call = run->settings->host_calls ? print_call : NULL;
    opt.print = print_text;
    opt.print_user = run;
    double start = clock_seconds();
    bool good = diff_run_machine(&run->settings->plan, launch, run->binary, run->mem, &opt, &res,
                                 &run->settings->diags);
    run->seconds += clock_seconds() - start;
    add_stats(&run->stats, &res.stats);
    run->thread_insns = run->stats.lane_issues;
    run->trap = res.trap;
    print_findings(run, &res);
    machine_result_free(&res);
    run->lanes.launch++;
    return good;
}

static bool card_launch(Run *run, const PlanLaunch *launch) {
    GpuResult res;
    bool good = diff_run_card(&run->settings->plan, launch, run->binary, &run->settings->other, run->mem,
                              &res, &run->settings->diags);
    run->seconds += res.seconds;
    run->trap = res.trap;
    return good;
}

static void print_races(Run *run, PtxRunResult *res) {
    char text[1024];
    for (uint32_t i = 0; i < res->nraces; i++) {
        interp_race_print(&res->races[i], text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }
    run->nfindings += res->nharmful;
    interp_races_free(res);
}

static bool ptx_launch(Run *run, const PlanLaunch *launch) {
    PtxRunOptions opt = {.seed = run->settings->seed,
                         .budget = run->settings->budget,
                         .on_warning = print_warning,
                         .user = run,
                         .print = print_text,
                         .print_user = run,
                         .find_races = run->settings->races,
                         .report_uninitialised = run->settings->machine.report_undefined,
                         .report_open = run->settings->machine.report_undefined,
                         .on_event = run->trace || run->counter ? ptx_event : NULL};
    PtxRunResult res = {0};
    double start = clock_seconds();
    if (run->counter)
        profile_counter_launch(run->counter, launch->grid, launch->block);
    bool good =
        diff_run_ptx(&run->settings->plan, launch, run->ptx, run->mem, &opt, &res, &run->settings->diags);
    run->seconds += clock_seconds() - start;
    run->thread_insns += res.thread_insns;
    print_races(run, &res);
    run->trap = res.trap;
    if (res.trap.kind != TRAP_NONE) {
        char line[512];
        sim_trap_print(&res.trap, line, sizeof line);
        fprintf(stderr, "trap: %s\n", line);
    }
    return good;
}

static bool on_card(const Run *run) { return run->settings->other.engine != DIFF_MACHINE; }

static bool one_launch(Run *run, const PlanLaunch *launch) {
    return on_card(run)  ? card_launch(run, launch)
           : run->binary ? machine_launch(run, launch)
                         : ptx_launch(run, launch);
}

static bool run_all(Run *run) {
    const Plan *plan = &run->settings->plan;
    for (uint32_t i = 0; i < plan->launches.n; i++)
        for (uint32_t k = 0; k < plan->launches.at[i].repeat; k++) {
            const PlanLaunch *launch = &plan->launches.at[i];
            if (!one_launch(run, launch))
                return false;
            run->nlaunches++;
            if (run->trap.kind != TRAP_NONE)
                return true;
        }
    return true;
}

/* ---- buffers ---- */
static const SimAlloc *buffer_alloc(const Run *run, const PlanBuffer *buffer) {
    return simmem_find(run->mem, buffer->address, buffer->count * buffer->type->size_bytes);
}

static void print_buffer(const Run *r, const PlanBuffer *buffer, uint64_t most) {
    const SimAlloc *alloc = buffer_alloc(r, buffer);
    if (!alloc)
        return;
    printf("%s: %s[%llu], hash %016llx\n", buffer->name, buffer->type->name,
           (unsigned long long)buffer->count, (unsigned long long)XXH64(alloc->data, alloc->size_bytes, 0));
    for (uint64_t i = 0; i < buffer->count && i < most; i++) {
        char text[64];
        scalar_print(buffer->type, alloc->data + i * buffer->type->size_bytes, text);
        printf("  [%llu] %s\n", (unsigned long long)i, text);
    }
    if (buffer->count > most)
        printf("  ...\n");
}

/* NAME=FILE of --save; NULL: reported. */
static const PlanBuffer *save_target(Run *run, const char *text, const char **file) {
    const char *equals = strchr(text, '=');
    const char *name =
        equals ? arena_printf(&run->settings->arena, "%.*s", (int)(equals - text), text) : text;
    uint32_t index = plan_find_buffer(&run->settings->plan, name);
    *file = equals ? equals + 1 : NULL;
    if (equals && index)
        return &run->settings->plan.buffers.at[index - 1];
    diag(&run->settings->diags, (SrcLoc){0}, DIAG_E0504, name, "is no buffer; --save wants NAME=FILE");
    return NULL;
}

static bool save_buffer(Run *run, const char *text) {
    const char *file;
    const PlanBuffer *b = save_target(run, text, &file);
    const SimAlloc *alloc = b ? buffer_alloc(run, b) : NULL;
    return alloc && file_write(file, alloc->data, alloc->size_bytes, &run->settings->diags);
}

/* Wrong names and sizes are found before anything runs. */
static bool check_names(Run *run) {
    const char *file;
    for (uint32_t i = 0; i < run->settings->prints.n; i++)
        if (!plan_find_buffer(&run->settings->plan, run->settings->prints.at[i]))
            return diag(&run->settings->diags, (SrcLoc){0}, DIAG_E0504, run->settings->prints.at[i],
                        "is no buffer");
    for (uint32_t i = 0; i < run->settings->saves.n; i++)
        if (!save_target(run, run->settings->saves.at[i], &file))
            return false;
    return plan_read_expected(&run->settings->plan, &run->settings->diags);
}

static bool show_buffers(Run *run) {
    const Plan *plan = &run->settings->plan;
    for (uint32_t i = 0; i < run->settings->prints.n; i++) {
        uint32_t index = plan_find_buffer(plan, run->settings->prints.at[i]); /* check_names has found it */
        print_buffer(run, &plan->buffers.at[index - 1], UINT64_MAX);
    }
    for (uint32_t i = 0; !run->settings->prints.n && !run->settings->json && i < plan->buffers.n; i++)
        if (plan->buffers.at[i].is_output)
            print_buffer(run, &plan->buffers.at[i], 8);
    for (uint32_t i = 0; i < run->settings->saves.n; i++)
        if (!save_buffer(run, run->settings->saves.at[i]))
            return false;
    return true;
}

/* ---- reports ---- */
/* Is what was compiled reported: where it was asked for, or LLVM's code was there. */
static bool tells_compiled(const Run *run) {
    MachineJit *jit = run->settings->machine.jit;
    return jit && (run->settings->engine || machine_jit_stats(jit)->regions || machine_jit_stats(jit)->found);
}
static void add_jit(cJSON *o, MachineJit *jit) {
    const MachineJitStats *stats = machine_jit_stats(jit);
    cJSON *of = json_add_object(o, "compiled");
    json_add_number(of, "regions", stats->regions);
    json_add_number(of, "instructions", stats->instructions);
    json_add_number(of, "found", stats->found);
    json_add_number(of, "copied", stats->copied);
    json_add_number(of, "executed", (double)stats->executed);
    json_add_number(of, "seconds", stats->seconds);
    if (stats->failed[0])
        json_add_text(of, "failed", stats->failed);
}

static double efficiency(uint64_t lanes, uint64_t issues) {
    return issues ? (double)lanes / (32.0 * (double)issues) : 1;
}

static void print_json(Run *run) {
    cJSON *o = json_object();
    char line[512], *printed = text_close(run->printed, NULL);
    run->printed = NULL;
    json_add_text(o, "engine", run->settings->engine ? run->settings->engine : run->binary ? "auto" : "ptx");
    if (tells_compiled(run))
        add_jit(o, run->settings->machine.jit);
    json_add_number(o, "launches", run->nlaunches);
    json_add_number(o, "seconds", run->seconds);
    if (!on_card(run))
        json_add_number(o, "thread_instructions", (double)run->thread_insns);
    if (run->binary && !on_card(run)) {
        const MachineStats *machine_stats = &run->stats;
        json_add_number(o, "warp_instructions", (double)machine_stats->issues);
        json_add_number(o, "data_warp_instructions", (double)machine_stats->data_issues);
        json_add_number(o, "data_thread_instructions", (double)machine_stats->data_lane_issues);
        json_add_number(o, "simt_efficiency",
                        efficiency(machine_stats->data_lane_issues, machine_stats->data_issues));
        json_add_number(o, "true_guard_thread_instructions", (double)machine_stats->true_lane_issues);
        json_add_number(o, "true_guard_data_thread_instructions",
                        (double)machine_stats->data_true_lane_issues);
        json_add_number(o, "true_guard_efficiency",
                        efficiency(machine_stats->data_true_lane_issues, machine_stats->data_issues));
        json_add_number(o, "convergence_instructions", (double)machine_stats->b_issues);
        json_add_number(o, "divergences", (double)machine_stats->divergences);
        json_add_number(o, "switches", (double)machine_stats->switches);
        json_add_number(o, "barrier_phases", (double)machine_stats->barriers);
    }
    json_add_number(o, "findings", run->nfindings);
    json_add_number(o, "failed_checks", run->failed_checks);
    if (run->trap.kind != TRAP_NONE) {
        sim_trap_print(&run->trap, line, sizeof line);
        json_add_text(o, "trap", line);
    }
    if (*printed)
        json_add_text(o, "printed", printed);
    mem_free(printed);
    cli_print_json(o);
}

static void print_stats(const Run *run) {
    char text[2048];
    if (on_card(run)) {
        printf("%u launch%s on a card, %.3f ms\n", run->nlaunches, run->nlaunches == 1 ? "" : "es",
               run->seconds * 1e3);
        return;
    }
    printf("%u launch%s, %.3f ms, %llu thread instructions, %.1f M/s\n", run->nlaunches,
           run->nlaunches == 1 ? "" : "es", run->seconds * 1e3, (unsigned long long)run->thread_insns,
           run->seconds > 0 ? (double)run->thread_insns / run->seconds * 1e-6 : 0.0);
    if (run->binary) {
        machine_stats_print(&run->stats, text, sizeof text);
        fputs(text, stdout);
        if (*text && text[strlen(text) - 1] != '\n')
            putchar('\n');
    }
    if (tells_compiled(run)) {
        const MachineJitStats *jit = machine_jit_stats(run->settings->machine.jit);
        double share = run->stats.issues ? (double)jit->executed / (double)run->stats.issues : 0;
        printf("compiled             %u regions, %u instructions, %.0f ms; %u found on disk, %u of stencils; "
               "executed %.1f %%%s%s\n",
               jit->regions, jit->instructions, jit->seconds * 1e3, jit->found, jit->copied, 100 * share,
               jit->failed[0] ? "; failed: " : "", jit->failed);
    }
}

/* The module for the engine: a binary to execute, or PTX to interpret. */
static bool open_input(Run *run) {
    Settings *settings = run->settings;
    char *data;
    size_t size;
    if (!cli_read_program(settings, settings->inputs[0], false, &data, &size))
        return false;
    bool elf = cli_is_elf(data, size), interpret = settings->engine && strcmp(settings->engine, "ptx") == 0;
    if (elf && !interpret && !elf_object_is(data, size))
        return (run->binary = cli_load(settings, settings->inputs[0], data, size)) != NULL;
    run->ptx = cli_read_modules(settings, settings->ninputs);
    if (run->ptx && !interpret && cli_choose_card(settings))
        run->binary = cli_compile_to_binary(settings, run->ptx, settings->inputs[0]);
    if (run->ptx)
        plan_note_uses(&settings->plan, run->ptx);
    return interpret ? run->ptx != NULL : run->binary != NULL;
}

/* Which barriers need the whole warp, where the machine's words do not say it and the PTX is at hand. */
static void note_barriers(Run *run) {
    const Binary *binary = run->binary;
    if (!binary || isa_target_info(binary->target)->bar_defer == BarDefer_ALIGNED)
        return;
    PtxModule *kept = NULL;
    Diags quiet = {0};
    if (!run->ptx && binary->ptx_text && memmem(binary->ptx_text, binary->ptx_text_bytes, "bar", 3))
        kept = ptx_parse_kept("", binary->ptx_text, binary->ptx_text_bytes, &quiet);
    if (run->ptx || kept)
        run->aligned = bin_aligned_barriers(run->ptx ? run->ptx : kept, binary, &run->settings->arena);
    if (kept)
        ptx_free(kept);
}

static bool open_trace(Run *run) {
    const char *name = run->settings->trace;
    if (run->settings->perfetto) {
        run->flow = bin_flow_new(run->binary);
        lanes_open(&run->lanes, run->flow);
    }
    if (!name)
        return true;
    run->trace = strcmp(name, "-") == 0 ? stdout : fopen(name, "w");
    return run->trace || diag(&run->settings->diags, (SrcLoc){0}, DIAG_E0002, name, "cannot be opened");
}

static bool write_profile(Run *run) {
    if (!run->profile)
        return true;
    char *text = ptx_profile_write(run->profile);
    bool good = file_write(run->settings->profile_out, text, strlen(text), &run->settings->diags);
    mem_free(text);
    if (profile_counter_was_full(run->counter))
        diag(&run->settings->diags, (SrcLoc){0}, DIAG_W0507, run->settings->profile_out);
    return good;
}

static bool write_perfetto(Run *run) {
    if (!run->flow)
        return true;
    TextStream *stream = text_open();
    size_t size;
    lanes_perfetto(&run->lanes, stream->out);
    char *text = text_close(stream, &size);
    bool good = file_write(run->settings->perfetto, text, size, &run->settings->diags);
    mem_free(text);
    return good;
}

static int finish_run(Run *run) {
    if (!show_buffers(run) || !write_profile(run) || !write_perfetto(run))
        return STATUS_INPUT;
    if (run->trap.kind == TRAP_NONE &&
        !plan_check(&run->settings->plan, run->mem, &run->failed_checks, &run->settings->diags))
        return STATUS_INPUT;
    if (run->settings->json)
        print_json(run);
    else if (run->settings->stats)
        print_stats(run);
    if (run->trap.kind != TRAP_NONE)
        return STATUS_INPUT;
    return run->failed_checks || run->nfindings ? STATUS_DIFFERS : STATUS_DONE;
}

/* Where compiled code is kept; NULL: nowhere. */
static const char *code_folder(Settings *settings) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (settings->jit_cache)
        return strcmp(settings->jit_cache, "none") == 0 ? NULL : settings->jit_cache;
    if (settings->jit_after)
        return NULL;
    if (xdg && xdg[0] == '/')
        return arena_printf(&settings->arena, "%s/heddle", xdg);
    return home && home[0] == '/' ? arena_printf(&settings->arena, "%s/.cache/heddle", home) : NULL;
}

int cmd_run(Settings *settings) {
    if (settings->replay)
        return cli_replay(settings);
    Run r = {.settings = settings};
    int status = STATUS_INPUT;
    if (settings->profile_out && !settings->engine)
        settings->engine = "ptx";
    if (settings->profile_out && strcmp(settings->engine, "ptx") != 0) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "--profile counts with --engine=ptx");
        return STATUS_USAGE;
    }
    if (settings->races && (!settings->engine || strcmp(settings->engine, "ptx") != 0)) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "--races needs --engine=ptx");
        return STATUS_USAGE;
    }
    if (settings->perfetto && settings->engine && strcmp(settings->engine, "interp") != 0) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "--trace-perfetto needs --engine=interp");
        return STATUS_USAGE;
    }
    if (settings->perfetto && settings->trace && strcmp(settings->perfetto, settings->trace) == 0) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "--trace and --trace-perfetto name one file");
        return STATUS_USAGE;
    }
    bool waits = settings->engine && strcmp(settings->engine, "jit") == 0,
         copies = settings->engine && strcmp(settings->engine, "stencil") == 0;
    if (waits || copies || !settings->engine || strcmp(settings->engine, "auto") == 0)
        settings->machine.jit =
            machine_jit_open(&(MachineJitOptions){.after = settings->jit_after,
                                                  .stencils = copies  ? MACHINE_STENCILS_ONLY
                                                              : waits ? MACHINE_STENCILS_NEVER
                                                                      : MACHINE_STENCILS_FIRST,
                                                  .background = !waits,
                                                  .cache = copies ? NULL : code_folder(settings)});
    r.threads = settings->jobs > 1 ? machine_threads_open() : NULL;
    if (cli_read_plan(settings) && check_names(&r) && open_input(&r) && open_trace(&r)) {
        r.mem = plan_memory(&settings->plan, &settings->diags);
        note_barriers(&r);
        if (settings->profile_out) {
            r.profile = ptx_profile_new(r.ptx);
            r.counter = profile_counter_new(r.profile);
        }
        r.printed = settings->json ? text_open() : NULL;
        bool placed = r.mem && (r.binary || interp_place_variables(r.ptx, r.mem, &settings->diags));
        if (placed && run_all(&r))
            status = finish_run(&r);
    }
    if (r.trace && r.trace != stdout && fclose(r.trace) != 0) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0002, settings->trace, "write error");
        status = STATUS_INPUT;
    }
    if (r.printed)
        text_drop(r.printed);
    if (r.mem)
        simmem_free(r.mem);
    bin_flow_free(r.flow);
    lanes_free(&r.lanes);
    machine_threads_close(r.threads);
    settings->still_compiles = !machine_jit_close(settings->machine.jit);
    settings->machine.jit = NULL;
    binary_free(r.binary);
    profile_counter_free(r.counter);
    ptx_profile_free(r.profile);
    if (r.ptx)
        ptx_free(r.ptx);
    return status;
}
