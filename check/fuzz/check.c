/* One program through the whole pipeline: see fuzz.h.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/internal.h"
#include "check/static/check.h"
#include "check/validate/diff.h"
#include "check/fuzz/shape.h"
#include "emit/text/asm.h"
#include "lower/lower.h"
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
    [FUZZ_FINDING] = "finding",   [FUZZ_CRASH] = "crash",
    [FUZZ_HANG] = "hang"};

const char *fuzz_class_name(FuzzClass c) { return class_names[c]; }

void fuzz_policy(unsigned n, MachineOptions *m) {
    static const MachineLaneChoice lanes[] = {MACHINE_LANE_LOWEST, MACHINE_LANE_HIGHEST, MACHINE_LANE_ROTATE,
                                              MACHINE_LANE_RANDOM};
    m->lane_choice = lanes[n & 3];
    m->branch_order = n & 4 ? MACHINE_TAKEN_FIRST : MACHINE_FALLTHROUGH_FIRST;
    m->join_scope = n & 8 ? MACHINE_JOIN_CANDIDATES : MACHINE_JOIN_ALL;
    m->bsync_nb = n >= FUZZ_NPOLICIES ? MACHINE_NB_LITERAL : n & 16 ? MACHINE_NB_BLOCKED : MACHINE_NB_RELEASE;
}

static void describe(const FuzzConfig *c, char *out, size_t out_bytes) {
    static const char *const nb[] = {"release", "blocked", "literal"};
    static const char *const lane[] = {"lowest", "highest", "rotate", "random"};
    static const char *const mode[] = {"ipdom", "frontier", "frontier-all", "none"};
    static const char *const predicate[] = {"auto", "off", "max"};
    const MachineOptions *m = &c->machine;
    snprintf(out, out_bytes,
             "%s%s-O%u reg-limit=%u %s predicate=%s%s%s bsync-nb=%s branch=%s join=%s lane=%s seed=%llu%s%s",
             c->target ? isa_target_name(c->target) : "", c->target ? " " : "", c->opt_level, c->reg_limit,
             mode[c->reconverge], predicate[c->predicate], c->yield_breaks ? " yield=break" : "",
             c->yield_percent ? " yields" : "", nb[m->bsync_nb],
             m->branch_order == MACHINE_TAKEN_FIRST ? "taken" : "fallthrough",
             m->join_scope == MACHINE_JOIN_ALL ? "all" : "candidates", lane[m->lane_choice],
             (unsigned long long)m->seed, m->check_control ? " check-control" : "",
             c->traces ? " traces" : "");
}

/* ---- diagnostics ---- */
static void keep_first(void *user, Severity severity, const char *line) {
    FuzzVerdict *v = user;
    if (severity != SEV_ERROR || v->text[0])
        return;
    const char *code = strstr(line, "error E");
    snprintf(v->detail, sizeof v->detail, "%.5s", code ? code + 6 : "?");
    snprintf(v->text, sizeof v->text, "%s", line);
}

static bool fail(FuzzVerdict *v, FuzzClass cls) {
    v->cls = cls;
    return false;
}

/* An instruction that is known not to be compiled is no failure, nor is a register limit that cannot be kept.
 */
static FuzzClass compile_class(const FuzzVerdict *v, unsigned reg_limit) {
    if (reg_limit && strcmp(v->detail, "E0780") == 0)
        return FUZZ_UNSUPPORTED;
    return strcmp(v->detail, "E0701") == 0 || strcmp(v->detail, "E0702") == 0 ? FUZZ_UNSUPPORTED
                                                                              : FUZZ_COMPILE;
}

/* ---- steps ---- */
static bool make_memory(Check *c) {
    const GenProgram *p = c->p;
    c->start = simmem_create();
    if (!c->start)
        abort();
    uint64_t in = simmem_alloc(c->start, "in", p->in_bytes ? p->in_bytes : 1);
    uint64_t out = simmem_alloc(c->start, "out", p->out_bytes ? p->out_bytes : 1);
    if (!in || !out)
        return fail(&c->v, FUZZ_LAUNCH);
    SimAlloc *a = simmem_find(c->start, in, p->in_bytes), *o = simmem_find(c->start, out, p->out_bytes);
    gen_data(p->data_seed, a->data, p->in_bytes);
    simmem_mark_written(a, 0, p->in_bytes);
    simmem_mark_written(o, 0, p->out_bytes);
    memcpy(c->params, &in, 8);
    memcpy(c->params + 8, &out, 8);
    c->launch = (Launch){.grid = {p->grid[0], p->grid[1], p->grid[2]},
                         .block = {p->block[0], p->block[1], p->block[2]},
                         .params = c->params,
                         .param_bytes = sizeof c->params};
    return true;
}

enum { PTX_BUDGET = 20000000, MACHINE_BUDGET = 4000000, LITERAL_BUDGET = 200000 };

static bool run_ptx(Check *c, uint64_t seed, bool traces, uint64_t *insns) {
    PtxRunOptions o = {.seed = seed, .budget = PTX_BUDGET, .report_uninitialised = true};
    PtxRunResult r;
    if (!ptx_place_variables(c->m, c->start, &c->d))
        return fail(&c->v, FUZZ_LAUNCH);
    c->ptx = simmem_clone(c->start);
    if (!c->ptx)
        abort();
    if (traces) {
        lane_traces_start(&c->ptx_trace, c->m, &c->launch);
        o.on_event = lane_trace_ptx;
        o.user = &c->ptx_trace;
    }
    if (!ptx_interp_run(c->m, "fuzz", &c->launch, c->ptx, &o, &r, &c->d))
        return fail(&c->v, strcmp(c->v.detail, "E0511") == 0 ? FUZZ_UNSUPPORTED : FUZZ_LAUNCH);
    *insns += r.thread_insns;
    const SimTrap *t = r.trap.kind != TRAP_NONE ? &r.trap : &r.first_warning;
    if (t->kind == TRAP_NONE)
        return true;
    snprintf(c->v.detail, sizeof c->v.detail, "%s", sim_trap_name(t->kind));
    sim_trap_print(t, c->v.text, sizeof c->v.text);
    return fail(&c->v, FUZZ_PTX_TRAP);
}

static void count_shape(const PtxModule *m, FuzzCounts *n) {
    PtxShape s = ptx_shape(m);
    n->blocks += s.blocks;
    n->data_insns += s.data_insns;
    n->branches += s.branches;
    n->calls += s.calls;
    n->with_loop += s.has_loop;
    n->with_irreducible += s.irreducible;
    n->with_early_exit += s.early_exits != 0;
}

static bool parse(Check *c, const GenProgram *p, FuzzCounts *counts) {
    *c = (Check){.p = p};
    c->d = (Diags){.sink = keep_first, .user = &c->v};
    c->m = ptx_parse("fuzz.ptx", p->text, p->size_bytes, &c->d);
    if (!c->m)
        return fail(&c->v, FUZZ_REJECTED);
    count_shape(c->m, counts);
    return true;
}

bool check_start(Check *c, const GenProgram *p, uint64_t ptx_seed, bool traces, FuzzCounts *counts) {
    return parse(c, p, counts) && make_memory(c) && run_ptx(c, ptx_seed, traces, &counts->ptx_insns);
}

/* YIELDs in some blocks, where they were first brought into order. */
static void add_yields(void *user, IrModule *m, const char *pass) {
    const Check *c = user;
    uint64_t rng = c->p->data_seed;
    if (strcmp(pass, "returns") != 0)
        return;
    for (unsigned k = 0; k < m->funcs.n; k++) {
        Function *f = m->funcs.at[k];
        for (unsigned n = 0; n < f->layout.n; n++) {
            BlockId b = f->layout.at[n];
            unsigned at = 0;
            if (gen_hash(rng += 0x9e3779b97f4a7c15ull) % 100 >= c->yield_percent)
                continue;
            while (at < ir_block(f, b)->insts.n && ir_inst(f, ir_block(f, b)->insts.at[at])->op == IR_PHI)
                at++;
            ir_insert(f, b, at, ir_inst_new(f, OT_YIELD, isa_num_dst(OT_YIELD), isa_num_src(OT_YIELD)));
        }
    }
}

static void drop_code(Check *c) {
    machine_close(c->session);
    binary_free(c->binary);
    free(c->image);
    if (c->code)
        code_free(c->code);
    if (c->ir)
        ir_module_free(c->ir);
    c->session = NULL;
    c->binary = NULL;
    c->image = NULL;
    c->code = NULL;
    c->ir = NULL;
}

bool check_compile(Check *c, const FuzzConfig *f) {
    drop_code(c);
    c->d.source = &c->m->source;
    c->ir = lower_module(c->m, &c->strings, f->target ? f->target : isa_targets[0], f->opt_level, &c->d);
    if (!c->ir)
        return fail(&c->v, compile_class(&c->v, f->reg_limit));
    c->ir->reg_limit = f->reg_limit;
    c->ir->reconverge = f->reconverge;
    c->ir->predicate = f->predicate;
    c->ir->yield_breaks = f->yield_breaks;
    c->yield_percent = f->yield_percent;
    PassOptions passes = {.verify = f->verify, .on_pass = f->yield_percent ? add_yields : NULL, .user = c};
    if (!ir_run_passes(c->ir, &passes, &c->d))
        return fail(&c->v, compile_class(&c->v, f->reg_limit));
    c->code = code_encode(c->ir, &c->d);
    if (!c->code || !elf_write(c->code, &c->image, &c->image_bytes, &c->d))
        return fail(&c->v, FUZZ_COMPILE);
    c->binary = binary_read("fuzz", c->image, c->image_bytes, &c->d);
    return c->binary || fail(&c->v, FUZZ_BINARY);
}

static bool text_form(Check *c) {
    char *text = NULL;
    void *image = NULL;
    size_t size = 0, image_bytes = 0;
    bool good = disasm_image("fuzz", c->image, c->image_bytes, false, &text, &size, &c->d);
    if (good) {
        Source s = {"fuzz.sass", text, size};
        const Source *old = c->d.source;
        c->d.source = &s;
        good = assemble(&s, &image, &image_bytes, &c->d);
        c->d.source = old;
    }
    if (good && (image_bytes != c->image_bytes || memcmp(image, c->image, image_bytes) != 0)) {
        snprintf(c->v.text, sizeof c->v.text, "%zu bytes, %zu after disassembly and assembly, or other ones",
                 c->image_bytes, image_bytes);
        good = false;
    }
    free(text);
    free(image);
    return good || fail(&c->v, FUZZ_TEXT);
}

/* Rules R-01 ... and H-01 ...: none may be broken. */
static bool static_check(Check *c, FuzzCounts *counts) {
    BinFlow *g = binflow_new(c->binary);
    BinCheckReport r;
    if (!g)
        abort();
    binary_check(g, &(BinCheckOptions){.no_text = true}, &r); /* text_form does that */
    counts->checked++;
    for (uint32_t k = 0; k < r.n && c->v.cls != FUZZ_STATIC; k++) {
        const BinFinding *f = &r.findings[k];
        char where[160];
        if (f->severity != SEV_ERROR)
            continue;
        snprintf(c->v.detail, sizeof c->v.detail, "%s", check_rule(f->rule)->id);
        snprintf(c->v.text, sizeof c->v.text, "%s %.60s: %.300s", check_rule(f->rule)->id,
                 bin_where(g, f->inst, where), f->text);
        fail(&c->v, FUZZ_STATIC);
    }
    check_report_free(&r);
    binflow_free(g);
    return c->v.cls != FUZZ_STATIC;
}

bool check_memory(Check *c) {
    MemDiff diff;
    if (diff_memory(c->ptx, c->mem, NULL, &diff))
        return true;
    const SimAlloc *a = &c->ptx->allocs[diff.alloc], *b = simmem_find(c->mem, a->address, a->size_bytes);
    uint64_t at = diff.offset_bytes & ~7ull, x = 0, y = 0;
    size_t n = a->size_bytes - at < 8 ? a->size_bytes - at : 8;
    memcpy(&x, a->data + at, n);
    if (b)
        memcpy(&y, b->data + at, n);
    snprintf(c->v.text, sizeof c->v.text, "%s+%llu: PTX %016llx, machine %016llx; %llu bytes differ", a->name,
             (unsigned long long)at, (unsigned long long)x, (unsigned long long)y,
             (unsigned long long)diff.ndiffering);
    return fail(&c->v, FUZZ_MEMORY);
}

static bool findings(Check *c, const MachineResult *r) {
    for (uint32_t i = 0; i < r->nfindings; i++) {
        const MachineFinding *f = &r->findings[i];
        if (f->kind == MF_BSYNC_HOPS || f->kind == MF_UNDEFINED)
            continue;
        snprintf(c->v.detail, sizeof c->v.detail, "%s", machine_finding_name(f->kind));
        snprintf(c->v.text, sizeof c->v.text, "%s at 0x%llx (0x%llx): %s", machine_finding_name(f->kind),
                 (unsigned long long)f->pc_bytes, (unsigned long long)f->other_pc_bytes, f->text);
        return fail(&c->v, FUZZ_FINDING);
    }
    return true;
}

/* The machine's memory as it was at first. Nothing is allocated in between, so addresses stay. */
static void reset_memory(Check *c) {
    if (!c->mem && !(c->mem = simmem_clone(c->start)))
        abort();
    for (uint32_t i = 0; i < c->start->nallocs; i++)
        memcpy(c->mem->allocs[i].data, c->start->allocs[i].data, c->start->allocs[i].size_bytes);
}

bool check_run(Check *c, const MachineOptions *m, MachineResult *r) {
    MachineOptions o = *m;
    *r = (MachineResult){0};
    o.max_issues = o.bsync_nb == MACHINE_NB_LITERAL ? LITERAL_BUDGET : MACHINE_BUDGET;
    reset_memory(c);
    if (!c->session)
        c->session = machine_open(c->binary, "fuzz", &c->launch, c->mem, NULL, &c->d);
    if (!c->session)
        return fail(&c->v, FUZZ_LAUNCH);
    if (machine_session_run(c->session, &o, r, &c->d))
        return true;
    if (r->trap.kind == TRAP_NONE)
        return fail(&c->v, FUZZ_LAUNCH);
    snprintf(c->v.detail, sizeof c->v.detail, "%s", sim_trap_name(r->trap.kind));
    sim_trap_print(&r->trap, c->v.text, sizeof c->v.text);
    return fail(&c->v, FUZZ_TRAP);
}

static bool is_hang(SimTrapKind k) { return k == TRAP_DEADLOCK || k == TRAP_LIVELOCK || k == TRAP_BUDGET; }

/* Run and compare. A hang under a literal policy is counted; it says nothing about the code. */
static bool run_machine(Check *c, const FuzzConfig *f, FuzzCounts *counts) {
    MachineOptions o = f->machine;
    MachineResult r;
    LaneTraces lanes = {0};
    bool literal = o.bsync_nb == MACHINE_NB_LITERAL;
    if (f->traces) {
        lane_traces_start(&lanes, c->m, &c->launch);
        o.trace = lane_trace_machine;
        o.trace_user = &lanes;
        o.trace_no_text = true;
    }
    bool good = check_run(c, &o, &r);
    if (literal) {
        bool hung = !good && is_hang(r.trap.kind);
        *(f->yield_breaks ? &counts->break_runs : &counts->literal_runs) += 1;
        *(f->yield_breaks ? &counts->break_hangs : &counts->literal_hangs) += hung;
        if (hung)
            c->v = (FuzzVerdict){.cls = FUZZ_EQUAL};
        good = good ? check_memory(c) : hung;
    } else
        good = good && check_memory(c) && findings(c, &r);
    if (good && f->traces) {
        counts->traces++;
        good =
            lane_traces_equal(&c->ptx_trace, &lanes, c->v.text, sizeof c->v.text) || fail(&c->v, FUZZ_TRACE);
    }
    counts->runs++;
    counts->machine_issues += r.stats.issues;
    machine_result_free(&r);
    lane_traces_free(&lanes);
    return good;
}

void check_release(Check *c) {
    drop_code(c);
    str_free(&c->strings);
    if (c->start)
        simmem_free(c->start);
    if (c->ptx)
        simmem_free(c->ptx);
    if (c->mem)
        simmem_free(c->mem);
    if (c->m)
        ptx_free(c->m);
    lane_traces_free(&c->ptx_trace);
}

FuzzVerdict fuzz_check_counted(const GenProgram *p, const FuzzConfig *configs, unsigned n, unsigned *failed,
                               FuzzCounts *counts) {
    Check c;
    unsigned k = 0;
    bool traces = false;
    for (unsigned i = 0; i < n; i++)
        traces = traces || configs[i].traces;
    bool only = configs[0].check_only;
    bool good = only ? parse(&c, p, counts) : check_start(&c, p, configs[0].ptx_seed, traces, counts);
    good = good && check_compile(&c, &configs[0]);
    if (good && configs[0].text)
        good = text_form(&c);
    if (good && (configs[0].check || only))
        good = static_check(&c, counts);
    while (good && !only && k < n && (good = run_machine(&c, &configs[k], counts)))
        k++;
    k = k < n ? k : 0;
    describe(&configs[k], c.v.config, sizeof c.v.config);
    if (failed)
        *failed = k;
    check_release(&c);
    return c.v;
}

FuzzVerdict fuzz_check(const GenProgram *p, const FuzzConfig *configs, unsigned n, unsigned *failed) {
    FuzzCounts counts = {0};
    return fuzz_check_counted(p, configs, n, failed, &counts);
}

FuzzVerdict fuzz_check_everywhere(const GenProgram *p, const Target *target) {
    static const unsigned limits[] = {0, 24, 40};
    static const ReconvMode modes[] = {RECONV_IPDOM, RECONV_FRONTIER_ALL, RECONV_FRONTIER, RECONV_NONE};
    static const PredicateMode predicates[] = {PREDICATE_AUTO, PREDICATE_MAX, PREDICATE_OFF};
    FuzzConfig all[FUZZ_MAX_CONFIGS];
    for (unsigned level = 0; level < 4; level++)
        for (unsigned l = 0; l < sizeof limits / sizeof *limits; l++) {
            for (unsigned k = 0; k < FUZZ_MAX_CONFIGS; k++) {
                all[k] = (FuzzConfig){.target = target,
                                      .opt_level = level,
                                      .reg_limit = limits[l],
                                      .text = true,
                                      .verify = true,
                                      .check = true,
                                      .reconverge = modes[(level + l) & 3],
                                      .yield_breaks = (level + l) % 5 == 4,
                                      .predicate = predicates[(level + 2 * l) % 3]};
                fuzz_policy(k % FUZZ_NPOLICIES, &all[k].machine);
            }
            all[FUZZ_NPOLICIES].machine = (MachineOptions){.check_control = true};
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
    bool good = c.m && make_memory(&c) && ptx_place_variables(c.m, c.start, &c.d);
    PtxRunResult r;
    good = good && ptx_interp_run(c.m, "fuzz", &c.launch, c.start, NULL, &r, &c.d);
    if (good) {
        c.ir = lower_module(c.m, &c.strings, target ? target : isa_targets[0], 0, &c.d);
        good = c.ir || compile_class(&c.v, 0) != FUZZ_UNSUPPORTED;
    }
    check_release(&c);
    free(p.text);
    return good;
}
