/* Mutation campaigns: see campaign.h.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/mutate/campaign.h"
#include "base/clock.h"
#include "check/static/check.h"
#include "check/validate/judge/judge.h"
#include "sim/machine/policy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
    NPOLICIES = 32,
    NMODEL = MODEL_POLICY_COUNT / 4 /* without turns at WARPSYNC and the other BSSY */,
    NCHECKED = 4,
    SLACK_ISSUES = 20000,
    ORIGINAL_BUDGET = 20000000
};

typedef struct { /* of one run of a plan */
    SimTrapKind trap;
    uint64_t hash, issues;
    uint32_t findings; /* 1 << MachineFindingKind */
    bool ran;
} Outcome;

typedef struct {
    const MutSubject *subject;
    const CampaignOptions *opt;
    CampaignReport *report;
    Mutator *mutator;
    Outcome first, plain[NPOLICIES], checked[NCHECKED], control[NCHECKED];
    bool have_first, have_plain[NPOLICIES], have_checked[NCHECKED], have_control[NCHECKED];
    uint64_t *ptx_hash; /* by input that validate runs */
    uint8_t **open;     /* by input: 1 for each word of memory that the original may leave different from the
                           PTX, as it depends on a clock. NULL: none */
    bool *have_ptx, stuck;
    BinCheckReport base;
    bool model_base[NMODEL];
    uint8_t *image;
} Trial;

/* ---- runs ---- */

static void policy(unsigned n, MachineOptions *options) {
    machine_policy_choose(&options->policies, n);
    options->seed = n;
}

/* Buffers of which a launch says that their contents depend on the order of threads are left out. */
static bool left_out(const Plan *plan, const SimAlloc *alloc) {
    for (uint32_t l = 0; l < plan->launches.n; l++)
        for (uint32_t k = 0; k < plan->launches.at[l].unordered.n; k++)
            if (plan->buffers.at[plan->launches.at[l].unordered.at[k]].address == alloc->address)
                return true;
    return false;
}

enum { WORD_BYTES = 4 };

static uint64_t buffer_words(const SimAlloc *alloc) {
    return (alloc->size_bytes + WORD_BYTES - 1) / WORD_BYTES;
}

/* `open`: of all allocations, one behind the other, or NULL. */
static uint64_t hash_memory(const Plan *p, const SimMemory *mem, const uint8_t *open) {
    uint64_t h = 0;
    for (uint32_t i = 0; i < mem->nallocs; i++) {
        const SimAlloc *alloc = &mem->allocs[i];
        for (uint64_t at = 0; open && at < buffer_words(alloc); at++)
            if (open[at])
                memset(alloc->data + at * WORD_BYTES, 0,
                       alloc->size_bytes - at * WORD_BYTES < WORD_BYTES
                           ? (size_t)(alloc->size_bytes - at * WORD_BYTES)
                           : WORD_BYTES);
        if (!left_out(p, alloc))
            h = XXH3_64bits_withSeed(alloc->data, (size_t)alloc->size_bytes, h);
        open = open ? open + buffer_words(alloc) : NULL;
    }
    return h;
}

/* Mark the words in which the two differ; false: they have other allocations. */
static bool mark_open(const SimMemory *one, const SimMemory *other, uint8_t *open) {
    if (one->nallocs != other->nallocs)
        return false;
    for (uint32_t i = 0; i < one->nallocs; i++) {
        const SimAlloc *a = &one->allocs[i], *b = &other->allocs[i];
        if (a->size_bytes != b->size_bytes)
            return false;
        for (uint64_t at = 0; at < a->size_bytes; at++)
            open[at / WORD_BYTES] |= a->data[at] != b->data[at];
        open += buffer_words(a);
    }
    return true;
}

/* The memory behind a run; simmem_free. */
static SimMemory *run_memory(Trial *trial, Plan *plan, const Binary *b, const MachineOptions *o,
                             Outcome *result) {
    Outcome out = {0};
    Diags quiet = {0};
    ArenaMark mark = arena_mark(&plan->arena);
    SimMemory *mem = plan_memory(plan, &quiet);
    out.ran = mem != NULL;
    for (uint32_t l = 0; out.ran && l < plan->launches.n && out.trap == TRAP_NONE; l++)
        for (uint32_t k = 0; out.ran && k < plan->launches.at[l].repeat && out.trap == TRAP_NONE; k++) {
            MachineResult res;
            out.ran = diff_run_machine(plan, &plan->launches.at[l], b, mem, o, &res, &quiet);
            out.trap = res.trap.kind;
            out.issues += res.stats.issues;
            for (uint32_t i = 0; i < res.nfindings; i++)
                if (res.findings[i].kind != MF_BSYNC_HOPS && res.findings[i].kind != MF_UNDEFINED)
                    out.findings |= 1u << res.findings[i].kind;
            machine_result_free(&res);
            trial->report->runs++;
        }
    arena_release(&plan->arena, mark);
    *result = out;
    return mem;
}

static Outcome run_plan(Trial *trial, unsigned input, const Binary *b, const MachineOptions *o) {
    Plan *plan = trial->subject->inputs[input];
    Outcome out;
    SimMemory *mem = run_memory(trial, plan, b, o, &out);
    if (mem) {
        out.hash = hash_memory(plan, mem, trial->open[input]);
        simmem_free(mem);
    }
    return out;
}

/* The original in one configuration. Programs that do not end under the default policy, where the machine
 * proves that, judge nothing; what takes twenty times as long under another one has no end either. */
static Outcome original(Trial *trial, unsigned input, MachineOptions o) {
    if (!trial->have_first) {
        trial->first =
            run_plan(trial, 0, trial->mutator->bin, &(MachineOptions){.max_issues = ORIGINAL_BUDGET});
        trial->have_first = true;
    }
    if (!trial->first.ran || trial->first.trap != TRAP_NONE)
        return trial->first;
    o.max_issues = trial->first.issues * 20 + SLACK_ISSUES;
    return run_plan(trial, input, trial->mutator->bin, &o);
}

/* Compare with the original in one configuration; *base is its outcome, found once. */
static bool differs(Trial *trial, const Binary *b, unsigned input, MachineOptions o, Outcome *base,
                    bool *have, const char *how, char why[200]) {
    input %= trial->subject->ninputs;
    if (!*have) {
        *base = original(trial, input, o);
        *have = true;
    }
    if (!base->ran || base->trap != TRAP_NONE)
        return false; /* says nothing */
    o.max_issues = base->issues * 20 + SLACK_ISSUES;
    Outcome x = run_plan(trial, input, b, &o);
    if (!x.ran)
        snprintf(why, 200, "cannot be launched");
    else if (x.trap != TRAP_NONE)
        snprintf(why, 200, "%s, %s", sim_trap_name(x.trap), how);
    else if (x.hash != base->hash)
        snprintf(why, 200, "memory differs, %s", how);
    else if (x.findings & ~base->findings)
        snprintf(why, 200, "%s, %s",
                 machine_finding_name((MachineFindingKind)__builtin_ctz(x.findings & ~base->findings)), how);
    else
        return false;
    return true;
}

static bool behaves_differently(Trial *trial, const Binary *b, MutGroup group, char why[200]) {
    char how[80];
    for (unsigned n = 0; n < NCHECKED; n++) { /* the checked modes find most, so they come first */
        MachineOptions o = {.report_undefined = group != MUT_CONTROL, .check_control = group == MUT_CONTROL};
        policy(n * 9, &o);
        snprintf(how, sizeof how, "%s mode, policy %u, input %u",
                 group == MUT_CONTROL ? "control-code" : "checked", n * 9, n);
        bool *have = group == MUT_CONTROL ? &trial->have_control[n] : &trial->have_checked[n];
        if (differs(trial, b, n, o, group == MUT_CONTROL ? &trial->control[n] : &trial->checked[n], have, how,
                    why))
            return true;
    }
    for (unsigned n = 0; n < NPOLICIES && group != MUT_CONTROL; n++) {
        MachineOptions o = {0};
        policy(n, &o);
        snprintf(how, sizeof how, "policy %u, input %u", n, n % trial->subject->ninputs);
        if (differs(trial, b, n, o, &trial->plain[n], &trial->have_plain[n], how, why))
            return true;
    }
    return false;
}

/* ---- the tools ---- */

static bool has_finding(const BinCheckReport *report, CheckRule rule, uint32_t inst) {
    for (uint32_t i = 0; i < report->n; i++)
        if (report->findings[i].rule == rule && report->findings[i].inst == inst)
            return true;
    return false;
}

static bool static_objects(const Trial *trial, const BinFlow *g) {
    BinCheckReport r;
    bool found = false;
    check_binary(g, &(BinCheckOptions){0}, &r);
    for (uint32_t i = 0; i < r.n; i++)
        found |= r.findings[i].severity == SEV_ERROR &&
                 !has_finding(&trial->base, r.findings[i].rule, r.findings[i].inst);
    check_report_free(&r);
    return found;
}

static bool model_finds(const Trial *trial, const BinFlow *flow, unsigned n) {
    ModelProgram *p = model_program(flow);
    ModelOptions o = trial->opt->model;
    bool found = false;
    model_choose(&o, n);
    for (uint32_t f = 0; p && f < flow->bin->nfuncs && !found; f++) {
        if (!flow->bin->funcs[f].is_entry)
            continue;
        ModelResult r;
        model_check(p, f, &o, &r);
        found = r.verdict >= MODEL_STUCK;
        model_result_free(&r);
    }
    model_program_free(p);
    return found;
}

static bool model_objects(const Trial *trial, const BinFlow *g) {
    for (unsigned n = 0; n < NMODEL; n++)
        if (!trial->model_base[n] && model_finds(trial, g, n))
            return true;
    return false;
}

static unsigned validated(const Trial *trial) {
    return trial->subject->nvalidated ? trial->subject->nvalidated : 1;
}

/* What the PTX leaves; NULL: it cannot be run, or traps. */
static SimMemory *ptx_memory(const Trial *trial, unsigned input) {
    Plan *plan = trial->subject->inputs[input];
    Diags quiet = {0};
    SimMemory *mem = plan_memory(plan, &quiet);
    bool good = mem && interp_place_variables(trial->subject->ptx, mem, &quiet);
    for (uint32_t l = 0; good && l < plan->launches.n; l++)
        for (uint32_t k = 0; good && k < plan->launches.at[l].repeat; k++) {
            PtxRunOptions o = {.budget = 200000000};
            PtxRunResult res = {0};
            good = diff_run_ptx(plan, &plan->launches.at[l], trial->subject->ptx, mem, &o, &res, &quiet) &&
                   res.trap.kind == TRAP_NONE;
        }
    if (mem && !good)
        simmem_free(mem);
    return good ? mem : NULL;
}

static bool is_right(const Trial *trial, unsigned input) {
    Comparison comparison;
    Diags quiet = {0};
    if (!judge_compare(trial->subject->inputs[input], trial->subject->ptx, trial->mutator->bin,
                       &(JudgeOptions){.no_trace = true}, false, &comparison, &quiet))
        return false;
    bool right = verdict_status(comparison.verdict) == STATUS_DONE;
    judge_compare_free(&comparison);
    return right;
}

/* Where the original differs from the PTX, and from itself in other turns of warps and lanes, though
 * `validate` finds nothing wrong with it. */
static void find_open(Trial *trial, unsigned input, const SimMemory *ptx) {
    Plan *plan = trial->subject->inputs[input];
    uint64_t nwords = 0;
    for (uint32_t i = 0; i < ptx->nallocs; i++)
        nwords += buffer_words(&ptx->allocs[i]);
    uint8_t *open = calloc(nwords + 1, 1);
    if (!open)
        abort();
    bool same = true;
    for (unsigned n = 0; same && n < NPOLICIES; n += NPOLICIES / NCHECKED) {
        MachineOptions o = {.max_issues = ORIGINAL_BUDGET};
        Outcome out;
        policy(n, &o);
        SimMemory *mem = run_memory(trial, plan, trial->mutator->bin, &o, &out);
        same = mem && out.ran && out.trap == TRAP_NONE && mark_open(ptx, mem, open);
        if (mem)
            simmem_free(mem);
    }
    trial->open[input] = same ? open : NULL;
    if (!same)
        free(open);
}

/* What `heddle validate` would say of a launch: one run under the default policy against the PTX. */
static bool launch_objects(Trial *trial, const Binary *b, unsigned input) {
    Outcome x = run_plan(trial, input, b, &(MachineOptions){.max_issues = ORIGINAL_BUDGET});
    return !x.ran || x.trap != TRAP_NONE || x.hash != trial->ptx_hash[input];
}

static bool validate_objects(Trial *trial, const Binary *b) {
    for (unsigned i = 0; i < validated(trial); i++)
        if (trial->have_ptx[i] && launch_objects(trial, b, i))
            return true;
    return false;
}

/* A launch that finds fault with the original judges none. Where that reads a clock, what depends on it is
 * left out, of the launches that validate does not run, too. */
static void start_input(Trial *trial, unsigned input) {
    SimMemory *ptx = trial->subject->ptx ? ptx_memory(trial, input) : NULL;
    bool asked = input < validated(trial);
    if (!ptx)
        return;
    uint64_t hash = hash_memory(trial->subject->inputs[input], ptx, NULL);
    Outcome out =
        run_plan(trial, input, trial->mutator->bin, &(MachineOptions){.max_issues = ORIGINAL_BUDGET});
    if (out.ran && out.trap == TRAP_NONE && out.hash != hash && is_right(trial, input)) {
        find_open(trial, input, ptx);
        hash = hash_memory(trial->subject->inputs[input], ptx, trial->open[input]);
    }
    simmem_free(ptx);
    if (asked) {
        trial->ptx_hash[input] = hash;
        trial->have_ptx[input] = !launch_objects(trial, trial->mutator->bin, input);
    }
}

/* A mutant is rejected if a region is refuted, or not proved any more that was proved before. */
static bool prove_objects(Trial *trial, const Binary *b, MutSite site, MutCount *count) {
    if (!trial->opt->prove || !trial->subject->ptx)
        return false;
    uint64_t address = bin_address(trial->mutator->flow, site.inst);
    const BinFunc *f = binary_func_at(trial->mutator->bin, address);
    MutProof before, after;
    trial->opt->prove(trial->opt->user, trial->subject->ptx, trial->mutator->bin, f ? f->name : "",
                      f ? address - f->address : 0, &before);
    trial->opt->prove(trial->opt->user, trial->subject->ptx, b, f ? f->name : "",
                      f ? address - f->address : 0, &after);
    bool objects = after.refuted > before.refuted || after.proved < before.proved;
    count->provable += before.covers;
    count->provable_killed += before.covers && objects;
    count->refuted += after.refuted > before.refuted;
    return objects;
}

/* ---- one mutant ---- */

static const char *reason(const Trial *trial, MutClass c) {
    MutGroup g = mutate_class(c)->group;
    if (g == MUT_RECONVERGENCE && trial->stuck)
        return "the model checker objects to the original already";
    if (g == MUT_RECONVERGENCE)
        return "the masks stay in order: only the data of this program shows it";
    if (g == MUT_CONTROL)
        return "no rule on control codes covers it";
    return "prove knows nothing of this region: it is not proved in the original either";
}

static bool judged_ok(MutGroup g, const bool *killed, bool proved) {
    return mutate_changes_values(g) ? (proved ? killed[TOOL_PROVE] : killed[TOOL_VALIDATE])
                                    : killed[TOOL_CHECK];
}

static void judge(Trial *trial, MutSite site, uint32_t number) {
    CampaignReport *report = trial->report;
    MutCount *count = &report->count[site.cls];
    MutGroup group = mutate_class(site.cls)->group;
    Diags quiet = {0};
    char why[200] = "";
    if (!mutate_apply(trial->mutator, site, trial->image))
        return;
    Binary *b = binary_read(trial->subject->name, trial->image, trial->mutator->image_bytes, &quiet);
    count->mutants++;
    if (!b || !behaves_differently(trial, b, group, why)) {
        binary_free(b);
        return;
    }
    count->changed++;
    bool killed[TOOL_COUNT] = {0};
    BinFlow *g = bin_flow_new(b);
    killed[TOOL_STATIC] = static_objects(trial, g);
    killed[TOOL_MODEL] = group == MUT_RECONVERGENCE && model_objects(trial, g);
    killed[TOOL_CHECK] = killed[TOOL_STATIC] || killed[TOOL_MODEL];
    killed[TOOL_PROVE] = mutate_changes_values(group) && prove_objects(trial, b, site, count);
    killed[TOOL_VALIDATE] = validate_objects(trial, b);
    killed[TOOL_ANY] = killed[TOOL_CHECK] || killed[TOOL_PROVE] || killed[TOOL_VALIDATE];
    for (unsigned k = 0; k < TOOL_COUNT; k++)
        count->killed[k] += killed[k];
    if (!judged_ok(group, killed, trial->opt->prove != NULL)) {
        char text[256];
        MutSurvivor s = {
            .subject = arena_printf(&report->arena, "%s", trial->subject->name),
            .site = arena_printf(&report->arena, "%s", mutate_text(trial->mutator, site, number, text)),
            .truth = arena_printf(&report->arena, "%s", why),
            .reason = reason(trial, site.cls),
            .cls = site.cls};
        memcpy(s.killed, killed, sizeof killed);
        VEC_ADD(&report->arena, &report->survivors, s);
    }
    bin_flow_free(g);
    binary_free(b);
}

/* ---- one program ---- */

static uint64_t mix(uint64_t z) { return rng_next(&z); }

/* `want` of the sites, at random but always the same. */
static void judge_class(Trial *trial, MutClass c, uint64_t want) {
    uint32_t n = trial->mutator->sites[c].n;
    uint32_t *order = malloc((n + 1u) * sizeof *order);
    if (!order)
        abort();
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    uint64_t state =
        mix(trial->opt->seed ^ mix(c) ^ XXH3_64bits(trial->subject->name, strlen(trial->subject->name)));
    for (uint32_t i = 0; i < n && i < want; i++) {
        state = mix(state);
        uint32_t k = i + (uint32_t)(state % (n - i)), x = order[i];
        order[i] = order[k];
        order[k] = x;
        judge(trial, trial->mutator->sites[c].at[order[i]], order[i]);
    }
    free(order);
}

static void start_trial(Trial *trial) {
    bool converge = false;
    check_binary(trial->mutator->flow, &(BinCheckOptions){0}, &trial->base);
    trial->ptx_hash = calloc(validated(trial), sizeof *trial->ptx_hash);
    trial->have_ptx = calloc(validated(trial), sizeof *trial->have_ptx);
    trial->open = calloc(trial->subject->ninputs + 1u, sizeof *trial->open);
    if (!trial->ptx_hash || !trial->have_ptx || !trial->open)
        abort();
    for (unsigned i = 0; i < trial->subject->ninputs && (i < validated(trial) || trial->open[0]); i++)
        start_input(trial, i);
    for (unsigned c = 0; c < MUT_CLASSES; c++)
        converge |= trial->opt->classes[c] && trial->mutator->sites[c].n &&
                    mutate_class((MutClass)c)->group == MUT_RECONVERGENCE;
    for (unsigned n = 0; n < NMODEL && converge; n++)
        trial->stuck |= trial->model_base[n] = model_finds(trial, trial->mutator->flow, n);
    trial->report->stuck_subjects += trial->stuck;
    trial->image = malloc(trial->mutator->image_bytes + 1);
    if (!trial->image)
        abort();
}

bool mutate_campaign_run(const MutSubject *subjects, unsigned n, const CampaignOptions *opt,
                         CampaignReport *report, Diags *d) {
    *report = (CampaignReport){.proved = opt->prove != NULL};
    double start = clock_seconds();
    bool good = true;
    for (unsigned i = 0; i < n && good; i++) {
        Trial *trial = calloc(1, sizeof *trial);
        if (!trial)
            abort();
        *trial = (Trial){.subject = &subjects[i], .opt = opt, .report = report};
        trial->mutator = mutate_new(subjects[i].name, subjects[i].image, subjects[i].image_bytes, d);
        good = trial->mutator != NULL;
        if (good) {
            start_trial(trial);
            report->subjects++;
            for (unsigned c = 0; c < MUT_CLASSES; c++) {
                MutCount *mut_count = &report->count[c];
                mut_count->sites += trial->mutator->sites[c].n;
                uint64_t left = opt->count > mut_count->mutants ? opt->count - mut_count->mutants : 0;
                if (opt->classes[c])
                    judge_class(trial, (MutClass)c,
                                (left + (n - i) - 1) / (n - i)); /* a fair share of what is left */
            }
            check_report_free(&trial->base);
        }
        free(trial->image);
        free(trial->ptx_hash);
        free(trial->have_ptx);
        for (unsigned k = 0; trial->open && k < subjects[i].ninputs; k++)
            free(trial->open[k]);
        free(trial->open);
        mutate_free(trial->mutator);
        free(trial);
        if (opt->progress)
            opt->progress(opt->user, subjects[i].name, i + 1, n);
    }
    report->seconds = clock_seconds() - start;
    return good;
}

void mutate_campaign_free(CampaignReport *report) { arena_free(&report->arena); }
