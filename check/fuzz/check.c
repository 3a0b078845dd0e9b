/* One program through the whole pipeline: see fuzz.h.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/fuzz/internal.h"
#include "check/static/check.h"
#include "check/validate/compare/diff.h"
#include "check/fuzz/shape.h"
#include "emit/text/asm.h"
#include "lower/lower.h"
#include "sim/machine/policy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const class_names[FUZZ_CLASSES] = {
    [FUZZ_EQUAL] = "equal",       [FUZZ_UNSUPPORTED] = "unsupported",
    [FUZZ_REJECTED] = "rejected", [FUZZ_PTX_TRAP] = "ptx-trap",
    [FUZZ_COMPILE] = "compile",   [FUZZ_BINARY] = "binary",
    [FUZZ_TEXT] = "text",         [FUZZ_LAUNCH] = "launch",
    [FUZZ_TRAP] = "trap",         [FUZZ_MEMORY] = "memory",
    [FUZZ_TRACE] = "trace",       [FUZZ_STATIC] = "static",
    [FUZZ_ENGINE] = "engine",     [FUZZ_FINDING] = "finding",
    [FUZZ_CRASH] = "crash",       [FUZZ_HANG] = "hang"};

const char *fuzz_class_name(FuzzClass c) { return class_names[c]; }

void fuzz_policy(unsigned n, MachineOptions *options) {
    machine_policy_choose(&options->policies, n % POLICY_SAFE_COUNT);
    if (n >= FUZZ_NPOLICIES)
        options->bsync_nb = MACHINE_NB_LITERAL;
}

/* ---- diagnostics ---- */
static void keep_first(void *user, Severity severity, const char *line) {
    FuzzVerdict *verdict = user;
    if (severity != SEV_ERROR || verdict->text[0])
        return;
    const char *code = strstr(line, "error E");
    snprintf(verdict->detail, sizeof verdict->detail, "%.5s", code ? code + 6 : "?");
    snprintf(verdict->text, sizeof verdict->text, "%s", line);
}

static bool fuzz_fails(FuzzVerdict *verdict, FuzzClass cls) {
    verdict->cls = cls;
    return false;
}

/* An instruction that is known not to be compiled is no failure, nor is a register limit that cannot be kept.
 */
static FuzzClass compile_class(const FuzzVerdict *verdict, unsigned reg_limit) {
    if (reg_limit && strcmp(verdict->detail, "E0780") == 0)
        return FUZZ_UNSUPPORTED;
    return strcmp(verdict->detail, "E0701") == 0 || strcmp(verdict->detail, "E0702") == 0 ? FUZZ_UNSUPPORTED
                                                                                          : FUZZ_COMPILE;
}

/* ---- steps ---- */
static bool make_memory(Check *check) {
    const GenProgram *program = check->p;
    check->start = simmem_create();
    if (!check->start)
        abort();
    check->start->borders = true;
    uint64_t in = simmem_alloc(check->start, "in", program->in_bytes ? program->in_bytes : 1);
    uint64_t out = simmem_alloc(check->start, "out", program->out_bytes ? program->out_bytes : 1);
    if (!in || !out)
        return fuzz_fails(&check->v, FUZZ_LAUNCH);
    SimAlloc *alloc = simmem_find(check->start, in, program->in_bytes),
             *o = simmem_find(check->start, out, program->out_bytes);
    gen_data(program->data_seed, alloc->data, program->in_bytes);
    simmem_mark_written(alloc, 0, program->in_bytes);
    simmem_mark_written(o, 0, program->out_bytes);
    memcpy(check->params, &in, 8);
    memcpy(check->params + 8, &out, 8);
    check->launch = (Launch){.grid = {program->grid[0], program->grid[1], program->grid[2]},
                             .block = {program->block[0], program->block[1], program->block[2]},
                             .params = check->params,
                             .param_bytes = sizeof check->params};
    return true;
}

enum { LAUNCHES = 2, AUTO_LAUNCHES = 4 }; /* of each, with compiled code */
enum { PTX_BUDGET = 20000000, MACHINE_BUDGET = 4000000, LITERAL_BUDGET = 200000 };

static bool run_ptx(Check *check, uint64_t seed, bool traces, uint64_t *insns) {
    PtxRunOptions o = {.seed = seed, .budget = PTX_BUDGET, .report_uninitialised = true};
    PtxRunResult r;
    if (!interp_place_variables(check->m, check->start, &check->d))
        return fuzz_fails(&check->v, FUZZ_LAUNCH);
    check->ptx = simmem_clone(check->start);
    if (!check->ptx)
        abort();
    if (traces) {
        fuzz_traces_start(&check->ptx_trace, check->m, &check->launch, 0);
        o.on_event = fuzz_trace_ptx;
        o.user = &check->ptx_trace;
    }
    if (!interp_run(check->m, "fuzz", &check->launch, check->ptx, &o, &r, &check->d))
        return fuzz_fails(&check->v, strcmp(check->v.detail, "E0511") == 0 ? FUZZ_UNSUPPORTED : FUZZ_LAUNCH);
    *insns += r.thread_insns;
    const SimTrap *sim_trap = r.trap.kind != TRAP_NONE ? &r.trap : &r.first_warning;
    if (sim_trap->kind == TRAP_NONE)
        return true;
    snprintf(check->v.detail, sizeof check->v.detail, "%s", sim_trap_name(sim_trap->kind));
    sim_trap_print(sim_trap, check->v.text, sizeof check->v.text);
    return fuzz_fails(&check->v, FUZZ_PTX_TRAP);
}

static void count_shape(const PtxModule *m, FuzzCounts *counts) {
    PtxShape s = fuzz_shape(m);
    counts->blocks += s.blocks;
    counts->data_insns += s.data_insns;
    counts->branches += s.branches;
    counts->calls += s.calls;
    counts->with_loop += s.has_loop;
    counts->with_irreducible += s.irreducible;
    counts->with_early_exit += s.early_exits != 0;
}

static bool parse(Check *check, const GenProgram *program, FuzzCounts *counts) {
    *check = (Check){.p = program};
    check->d = (Diags){.sink = keep_first, .user = &check->v};
    check->m = ptx_parse("fuzz.ptx", program->text, program->size_bytes, &check->d);
    if (!check->m)
        return fuzz_fails(&check->v, FUZZ_REJECTED);
    count_shape(check->m, counts);
    return true;
}

bool fuzz_start(Check *c, const GenProgram *p, uint64_t ptx_seed, bool traces, FuzzCounts *counts) {
    return parse(c, p, counts) && make_memory(c) && run_ptx(c, ptx_seed, traces, &counts->ptx_insns);
}

/* YIELDs in some blocks, where they were first brought into order. */
static void add_yields(void *user, IrModule *module, const char *pass) {
    const Check *check = user;
    uint64_t rng = check->p->data_seed;
    if (strcmp(pass, "returns") != 0)
        return;
    for (unsigned k = 0; k < module->funcs.n; k++) {
        Function *f = module->funcs.at[k];
        FOR_BLOCKS(f, b) {
            unsigned at = 0;
            if (rng_next(&rng) % 100 >= check->yield_percent)
                continue;
            while (at < ir_block(f, b)->insts.n && ir_inst(f, ir_block(f, b)->insts.at[at])->op == IR_PHI)
                at++;
            ir_insert(f, b, at, ir_inst_new(f, OT_YIELD, isa_num_dst(OT_YIELD), isa_num_src(OT_YIELD)));
        }
    }
}

static void drop_code(Check *check) {
    machine_close(check->session);
    binary_free(check->binary);
    free(check->image);
    if (check->code)
        code_free(check->code);
    if (check->ir)
        ir_module_free(check->ir);
    check->session = NULL;
    check->binary = NULL;
    check->image = NULL;
    check->code = NULL;
    check->ir = NULL;
}

bool fuzz_compile(Check *check, const FuzzConfig *config) {
    drop_code(check);
    check->d.source = &check->m->source;
    check->ir = lower_module(check->m, &check->strings, config->target ? config->target : isa_targets[0],
                             config->opt_level, &check->d);
    if (!check->ir)
        return fuzz_fails(&check->v, compile_class(&check->v, config->reg_limit));
    check->ir->reg_limit = config->reg_limit;
    check->ir->reconverge = config->reconverge;
    check->ir->predicate = config->predicate;
    check->ir->reconv_opts = config->reconv_opts;
    check->ir->yield_breaks = config->yield_breaks;
    check->yield_percent = config->yield_percent;
    PassOptions passes = {
        .verify = config->verify, .on_pass = config->yield_percent ? add_yields : NULL, .user = check};
    if (!ir_run_passes(check->ir, &passes, &check->d))
        return fuzz_fails(&check->v, compile_class(&check->v, config->reg_limit));
    check->code = code_encode(check->ir, &check->d);
    if (!check->code || !elf_write(check->code, &check->image, &check->image_bytes, &check->d))
        return fuzz_fails(&check->v, FUZZ_COMPILE);
    check->binary = binary_read("fuzz", check->image, check->image_bytes, &check->d);
    return check->binary || fuzz_fails(&check->v, FUZZ_BINARY);
}

static bool text_form(Check *check) {
    char *text = NULL;
    void *image = NULL;
    size_t size = 0, image_bytes = 0;
    bool good = disasm_image("fuzz", check->image, check->image_bytes, false, &text, &size, &check->d);
    if (good) {
        Source s = {"fuzz.sass", text, size};
        const Source *old = check->d.source;
        check->d.source = &s;
        good = asm_assemble(&s, &image, &image_bytes, &check->d);
        check->d.source = old;
    }
    if (good && (image_bytes != check->image_bytes || memcmp(image, check->image, image_bytes) != 0)) {
        snprintf(check->v.text, sizeof check->v.text,
                 "%zu bytes, %zu after disassembly and assembly, or other ones", check->image_bytes,
                 image_bytes);
        good = false;
    }
    free(text);
    free(image);
    return good || fuzz_fails(&check->v, FUZZ_TEXT);
}

/* Rules R-01 ... and H-01 ...: none may be broken. */
static bool static_check(Check *check, FuzzCounts *counts) {
    BinFlow *g = bin_flow_new(check->binary);
    BinCheckReport r;
    if (!g)
        abort();
    check_binary(g, &(BinCheckOptions){.no_text = true}, &r); /* text_form does that */
    counts->checked++;
    for (uint32_t k = 0; k < r.n && check->v.cls != FUZZ_STATIC; k++) {
        const BinFinding *finding = &r.findings[k];
        char where[160];
        if (finding->severity != SEV_ERROR)
            continue;
        snprintf(check->v.detail, sizeof check->v.detail, "%s", check_rule(finding->rule)->id);
        snprintf(check->v.text, sizeof check->v.text, "%s %.60s: %.300s", check_rule(finding->rule)->id,
                 bin_where(g, finding->inst, where), finding->text);
        fuzz_fails(&check->v, FUZZ_STATIC);
    }
    check_report_free(&r);
    bin_flow_free(g);
    return check->v.cls != FUZZ_STATIC;
}

bool fuzz_memory(Check *check) {
    MemDiff diff;
    if (diff_memory(check->ptx, check->mem, NULL, &diff))
        return true;
    const SimAlloc *sim_alloc = &check->ptx->allocs[diff.alloc],
                   *b = simmem_find(check->mem, sim_alloc->address, sim_alloc->size_bytes);
    uint64_t at = diff.offset_bytes & ~7ull, x = 0, y = 0;
    size_t n = sim_alloc->size_bytes - at < 8 ? sim_alloc->size_bytes - at : 8;
    memcpy(&x, sim_alloc->data + at, n);
    if (b)
        memcpy(&y, b->data + at, n);
    snprintf(check->v.text, sizeof check->v.text, "%s+%llu: PTX %016llx, machine %016llx; %llu bytes differ",
             sim_alloc->name, (unsigned long long)at, (unsigned long long)x, (unsigned long long)y,
             (unsigned long long)diff.ndiffering);
    return fuzz_fails(&check->v, FUZZ_MEMORY);
}

static bool findings(Check *check, const MachineResult *result) {
    for (uint32_t i = 0; i < result->nfindings; i++) {
        const MachineFinding *finding = &result->findings[i];
        if (finding->kind == MF_BSYNC_HOPS || finding->kind == MF_UNDEFINED)
            continue;
        snprintf(check->v.detail, sizeof check->v.detail, "%s", machine_finding_name(finding->kind));
        snprintf(check->v.text, sizeof check->v.text, "%s at 0x%llx (0x%llx): %s",
                 machine_finding_name(finding->kind), (unsigned long long)finding->pc_bytes,
                 (unsigned long long)finding->other_pc_bytes, finding->text);
        return fuzz_fails(&check->v, FUZZ_FINDING);
    }
    return true;
}

/* The machine's memory as it was at first. Nothing is allocated in between, so addresses stay. */
static void reset_memory(Check *check) {
    if (!check->mem && !(check->mem = simmem_clone(check->start)))
        abort();
    for (uint32_t i = 0; i < check->start->nallocs; i++)
        memcpy(check->mem->allocs[i].data, check->start->allocs[i].data, check->start->allocs[i].size_bytes);
}

bool fuzz_run(Check *check, const MachineOptions *m, MachineResult *result) {
    MachineOptions o = *m;
    *result = (MachineResult){0};
    if (!o.max_issues)
        o.max_issues = o.bsync_nb == MACHINE_NB_LITERAL ? LITERAL_BUDGET : MACHINE_BUDGET;
    reset_memory(check);
    if (!check->session)
        check->session =
            machine_open(check->binary, "fuzz", &check->launch, check->mem, o.host_level, &check->d);
    if (!check->session)
        return fuzz_fails(&check->v, FUZZ_LAUNCH);
    if (machine_session_run(check->session, &o, result, &check->d))
        return true;
    if (result->trap.kind == TRAP_NONE)
        return fuzz_fails(&check->v, FUZZ_LAUNCH);
    snprintf(check->v.detail, sizeof check->v.detail, "%s", sim_trap_name(result->trap.kind));
    sim_trap_print(&result->trap, check->v.text, sizeof check->v.text);
    return fuzz_fails(&check->v, FUZZ_TRAP);
}

static bool is_hang(SimTrapKind k) { return k == TRAP_DEADLOCK || k == TRAP_LIVELOCK || k == TRAP_BUDGET; }

/* ---- the compiling engine ---- */
static bool same_findings(const MachineResult *a, const MachineResult *b) {
    bool same = a->nfindings == b->nfindings && a->findings_dropped == b->findings_dropped;
    for (uint32_t i = 0; same && i < a->nfindings; i++) {
        const MachineFinding *x = &a->findings[i], *y = &b->findings[i];
        same = x->kind == y->kind && x->pc_bytes == y->pc_bytes && x->other_pc_bytes == y->other_pc_bytes &&
               x->count == y->count && x->lanes == y->lanes && x->warp == y->warp &&
               strcmp(x->text, y->text) == 0;
    }
    return same;
}
/* What differs; NULL: nothing. */
static const char *first_difference(const MachineResult *a, const MachineResult *b, const SimMemory *memory,
                                    const SimMemory *other) {
    char trap[2][512];
    sim_trap_print(&a->trap, trap[0], sizeof trap[0]);
    sim_trap_print(&b->trap, trap[1], sizeof trap[1]);
    const MachineStats *x = &a->stats, *y = &b->stats;
    if (a->trap.kind != b->trap.kind || (a->trap.kind != TRAP_NONE && strcmp(trap[0], trap[1]) != 0))
        return "the trap";
    if (x->issues != y->issues || x->lane_issues != y->lane_issues ||
        x->true_lane_issues != y->true_lane_issues)
        return "instructions executed";
    if (x->data_issues != y->data_issues || x->data_lane_issues != y->data_lane_issues ||
        x->data_true_lane_issues != y->data_true_lane_issues)
        return "data instructions executed";
    if (x->b_issues != y->b_issues || x->bsync_releases != y->bsync_releases ||
        x->bsync_hops != y->bsync_hops)
        return "B operations";
    if (x->switches != y->switches || x->divergences != y->divergences || x->barriers != y->barriers ||
        x->max_resident != y->max_resident)
        return "switches, divergences, barriers or resident blocks";
    if (!same_findings(a, b))
        return "findings";
    for (uint32_t i = 0; i < memory->nallocs; i++)
        if (memcmp(memory->allocs[i].data, other->allocs[i].data, memory->allocs[i].size_bytes) != 0)
            return "memory";
    return NULL;
}
/* The run before, with compiled code. What differs; NULL: nothing. */
static const char *launch_compiled(Check *check, MachineJit *jit, const MachineOptions *options,
                                   const MachineResult *want, const SimMemory *memory, FuzzCounts *counts) {
    MachineOptions o = *options;
    MachineResult got;
    FuzzVerdict before = check->v;
    machine_jit_wait(jit); /* what the launch before began */
    uint64_t by_code = machine_jit_stats(jit)->executed;
    o.jit = jit;
    fuzz_run(check, &o, &got);
    check->v = before;
    const char *what = first_difference(want, &got, memory, check->mem);
    by_code = machine_jit_stats(jit)->executed - by_code;
    counts->compiled_runs++;
    counts->compiled_some += by_code != 0;
    counts->compiled_issues += got.stats.issues;
    counts->compiled_own += by_code;
    machine_result_free(&got);
    machine_jit_wait(jit);
    return machine_jit_stats(jit)->failed[0] ? machine_jit_stats(jit)->failed : what;
}

static bool engines_differ(Check *check, const char *what) {
    snprintf(check->v.text, sizeof check->v.text, "compiled and interpreted differ: %s", what);
    return fuzz_fails(&check->v, FUZZ_ENGINE);
}

static bool same_compiled(Check *check, const FuzzConfig *config, const MachineOptions *options,
                          const MachineResult *want, FuzzCounts *counts) {
    MachineJitOptions how = {.after = config->jit_after,
                             .stencils = config->engine == FUZZ_STENCIL ? MACHINE_STENCILS_ONLY
                                                                        : MACHINE_STENCILS_NEVER,
                             .background = config->engine == FUZZ_AUTO,
                             .quick = config->jit_quick,
                             .cache = config->jit_cache};
    unsigned launches = config->engine == FUZZ_AUTO ? AUTO_LAUNCHES : LAUNCHES;
    char what[200] = "";
    SimMemory *memory = simmem_clone(check->mem);
    if (!memory)
        abort();
    if (!check->jit)
        check->jit = machine_jit_open(&how);
    for (unsigned i = 0; !what[0] && i < launches + (config->jit_cache != NULL); i++) {
        how.background = false;
        MachineJit *jit = i < launches ? check->jit : machine_jit_open(&how); /* knows what is on disk */
        if (i) { /* another launch of the same code, for which nothing is decoded yet */
            machine_close(check->session);
            check->session = NULL;
        }
        const char *differs = launch_compiled(check, jit, options, want, memory, counts);
        if (differs)
            snprintf(what, sizeof what, "%s%s", differs, i < launches ? "" : ", code from disk");
        if (i == launches) {
            counts->compiled_found += machine_jit_stats(jit)->found;
            machine_jit_close(jit);
        }
    }
    simmem_free(memory);
    return !what[0] || engines_differ(check, what);
}

/* Programs do not trap by themselves. The same launch with too few instructions, or too little memory for its
 * output: it ends at the same instruction of the same lanes, and has done the same until then. */
static bool same_cut_short(Check *check, const FuzzConfig *config, const MachineOptions *options,
                           uint64_t issues, FuzzCounts *counts) {
    MachineOptions o = *options;
    MachineResult want;
    char what[200] = "";
    FuzzVerdict before = check->v;
    uint64_t out;
    if (!config->cut_budget && !config->cut_memory)
        return true;
    memcpy(&out, check->params + 8, sizeof out);
    SimAlloc *alloc = simmem_find(check->mem, out, 1);
    uint64_t size = alloc->size_bytes;
    if (config->cut_budget)
        o.max_issues = issues * config->cut_budget / 1000 + 1;
    else
        alloc->size_bytes = size * config->cut_memory / 1000 / 4 * 4 + 4;
    fuzz_run(check, &o, &want);
    check->v = before;
    counts->compiled_traps += want.trap.kind != TRAP_NONE;
    SimMemory *memory = simmem_clone(check->mem);
    if (!memory)
        abort();
    const char *differs = launch_compiled(check, check->jit, &o, &want, memory, counts);
    if (differs)
        snprintf(what, sizeof what, "%s, cut short", differs);
    alloc->size_bytes = size;
    simmem_free(memory);
    machine_result_free(&want);
    return !what[0] || engines_differ(check, what);
}

/* Run and compare. A hang under a literal policy is counted; it says nothing about the code. */
static bool run_machine(Check *check, const FuzzConfig *config, FuzzCounts *counts) {
    MachineOptions o = config->machine;
    MachineResult r;
    LaneTraces lanes = {0};
    bool literal = o.bsync_nb == MACHINE_NB_LITERAL;
    if (config->traces) {
        fuzz_traces_start(&lanes, check->m, &check->launch,
                          isa_target_info(check->binary->target)->shared_base_bytes);
        o.trace = fuzz_trace_machine;
        o.trace_user = &lanes;
        o.trace_no_text = true;
    }
    bool good = fuzz_run(check, &o, &r);
    bool compiled = config->engine && !config->traces;
    if (compiled && !same_compiled(check, config, &o, &r, counts)) {
        machine_result_free(&r);
        fuzz_traces_free(&lanes);
        return false;
    }
    if (literal) {
        bool hung = !good && is_hang(r.trap.kind);
        *(config->yield_breaks ? &counts->break_runs : &counts->literal_runs) += 1;
        *(config->yield_breaks ? &counts->break_hangs : &counts->literal_hangs) += hung;
        if (hung)
            check->v = (FuzzVerdict){.cls = FUZZ_EQUAL};
        good = good ? fuzz_memory(check) : hung;
    } else
        good = good && fuzz_memory(check) && findings(check, &r);
    if (good && config->traces) {
        counts->traces++;
        good = fuzz_traces_equal(&check->ptx_trace, &lanes, check->ir, check->v.text, sizeof check->v.text) ||
               fuzz_fails(&check->v, FUZZ_TRACE);
    }
    if (good && compiled)
        good = same_cut_short(check, config, &o, r.stats.issues, counts);
    counts->runs++;
    counts->machine_issues += r.stats.issues;
    machine_result_free(&r);
    fuzz_traces_free(&lanes);
    return good;
}

void fuzz_release(Check *check) {
    drop_code(check);
    machine_jit_close(check->jit);
    str_free(&check->strings);
    if (check->start)
        simmem_free(check->start);
    if (check->ptx)
        simmem_free(check->ptx);
    if (check->mem)
        simmem_free(check->mem);
    if (check->m)
        ptx_free(check->m);
    fuzz_traces_free(&check->ptx_trace);
}

FuzzVerdict fuzz_check_counted(const GenProgram *p, const FuzzConfig *configs, unsigned n, unsigned *failed,
                               FuzzCounts *counts) {
    Check c;
    unsigned k = 0;
    bool traces = false;
    for (unsigned i = 0; i < n; i++)
        traces = traces || configs[i].traces;
    bool only = configs[0].check_only;
    bool good = only ? parse(&c, p, counts) : fuzz_start(&c, p, configs[0].ptx_seed, traces, counts);
    good = good && fuzz_compile(&c, &configs[0]);
    if (good && configs[0].text)
        good = text_form(&c);
    if (good && (configs[0].check || only))
        good = static_check(&c, counts);
    while (good && !only && k < n && (good = run_machine(&c, &configs[k], counts)))
        k++;
    k = k < n ? k : 0;
    fuzz_describe_config(&configs[k], c.v.config, sizeof c.v.config);
    if (failed)
        *failed = k;
    fuzz_release(&c);
    return c.v;
}

FuzzVerdict fuzz_check(const GenProgram *p, const FuzzConfig *configs, unsigned n, unsigned *failed) {
    FuzzCounts counts = {0};
    return fuzz_check_counted(p, configs, n, failed, &counts);
}

FuzzVerdict fuzz_check_everywhere(const GenProgram *p, const FuzzConfig *how) {
    static const unsigned limits[] = {0, 24, 40};
    static const PredicateMode predicates[] = {PREDICATE_AUTO, PREDICATE_MAX, PREDICATE_OFF};
    FuzzConfig all[FUZZ_MAX_CONFIGS];
    for (unsigned level = 0; level < 4; level++)
        for (unsigned l = 0; l < sizeof limits / sizeof *limits; l++) {
            for (unsigned k = 0; k < FUZZ_MAX_CONFIGS; k++) {
                all[k] = (FuzzConfig){
                    .target = how->target,
                    .engine = how->engine,
                    .jit_after = how->jit_after,
                    .jit_quick = how->jit_quick,
                    .machine = {.host_level = how->machine.host_level},
                    .opt_level = level,
                    .reg_limit = limits[l],
                    .text = true,
                    .verify = true,
                    .check = true,
                    .reconverge = (ReconvMode)((level + l) % RECONV_COUNT),
                    .yield_breaks = (3 * level + l) % 4 == 3,
                    .reconv_opts = (level + l) % 2 ? RO_GIVEN | RO_MELD | RO_SPECULATE | RO_GATHER_ROUNDS : 0,
                    .predicate = predicates[(level + 2 * l) % 3]};
                fuzz_policy(k % FUZZ_NPOLICIES, &all[k].machine);
            }
            all[FUZZ_NPOLICIES].machine.check_control = true;
            all[FUZZ_NPOLICIES + 1].traces = true;
            FuzzVerdict v = fuzz_check(p, all, FUZZ_MAX_CONFIGS, NULL);
            if (v.cls != FUZZ_EQUAL && !(v.cls == FUZZ_UNSUPPORTED && limits[l]))
                return v;
        }
    return (FuzzVerdict){.cls = FUZZ_EQUAL};
}

/* ---- is one instruction usable? ---- */
bool fuzz_usable(void *user, const char *module, size_t size_bytes) {
    const Target *target = user;
    GenProgram p = {.text = strdup(module),
                    .size_bytes = size_bytes,
                    .block = {1, 1, 1},
                    .grid = {1, 1, 1},
                    .in_bytes = 8,
                    .out_bytes = 8};
    Check c = {.p = &p};
    if (!p.text)
        abort();
    c.d = (Diags){.sink = keep_first, .user = &c.v};
    c.m = ptx_parse("fuzz.ptx", p.text, p.size_bytes, &c.d);
    bool good = c.m && make_memory(&c) && interp_place_variables(c.m, c.start, &c.d);
    PtxRunResult r;
    good = good && interp_run(c.m, "fuzz", &c.launch, c.start, NULL, &r, &c.d);
    if (good) {
        c.ir = lower_module(c.m, &c.strings, target ? target : isa_targets[0], 0, &c.d);
        good = c.ir || compile_class(&c.v, 0) != FUZZ_UNSUPPORTED;
    }
    fuzz_release(&c);
    free(p.text);
    return good;
}
