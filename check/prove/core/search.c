/* Launches that are to show a difference: from values that reach it to parameters and contents of buffers.
 *
 * What differs in a region may take place on a path that hardly any data takes, such as x[i] == 0x12345678.
 * An inferred launch gives the shape, the buffers and their addresses. With these known, both sides are run
 * from the kernel's entry, region after region, breadth first, with exactly what each path brings; scalars
 * and what loads find stay free. Wherever the two then differ, Z3 is asked for values of the scalars, of the
 * lane's indices and of the loaded words under which they do, every load within a buffer. The scalars become
 * arguments, the words contents of the buffers, and machine and reference interpreter run that launch. Values
 * that came from other lanes (shared memory, shuffles) belong to no one place: a second launch has all values
 * of the answer strewn over the buffers. Only a launch whose results differ refutes.
 * SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/rng.h"
#include "base/scope.h"
#include "check/prove/core/core.h"
#include "check/prove/core/judge.h"
#include "check/validate/judge/judge.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PLANS = 3,    /* launches to start from */
    MAX_REGIONS = 96, /* runs of a region, for one of them */
    MAX_QUERIES = 40, /* for one kernel, as the next */
    MAX_TRIALS = 60,
    MAX_LOADS = 256, /* of one query */
    MAX_INPUTS = 64,
    THREAD_BUDGET = 3000000
};
static const double SEARCH_SECONDS = 8, QUERY_SECONDS = 3;

typedef struct { /* a path has come to a cut point */
    uint32_t cut;
    Term **pv, **lv, *mem[NMEM], *base;
} Arrived;

typedef struct { /* a word of global memory that the difference hangs on */
    const Term *value, *addr;
    unsigned bytes;
    uint64_t offset; /* added to the address */
} Load;

struct ProveSearch {
    Core *core;
    ProveReport *report;
    Plan *plan; /* the launch to start from */
    SimMemory *memory;
    unsigned queries, trials;
    double deadline;
    uint32_t cut;   /* that is judged */
    bool any_block; /* a block of any number of threads in a row, not the launch's */
    ProveFinding *found;
};

/* ---- what the launch says ---- */
static const PlanBuffer *buffer_at(const Plan *plan, uint64_t address) {
    for (uint32_t k = 0; k < plan->buffers.n; k++) {
        const PlanBuffer *buffer = &plan->buffers.at[k];
        if (address >= buffer->address &&
            address - buffer->address < buffer->count * buffer->type->size_bytes)
            return buffer;
    }
    return NULL;
}

static void search_give(Prover *prover, const char *name, uint32_t value) {
    if (prover->ngiven < sizeof prover->given / sizeof *prover->given)
        prover->given[prover->ngiven++] = (Given){name, value};
}

/* Pointers, whose values the buffers have; the other words of parameters stay free. */
static void give_pointers(ProveSearch *search) {
    Prover *prover = &search->core->p;
    const PlanLaunch *launch = &search->plan->launches.at[0];
    for (uint32_t i = 0; i < launch->args.n; i++) {
        const PlanArg *arg = &launch->args.at[i];
        uint64_t at = prove_param_offset(prover, &prover->module->vars[prover->pf->params[i]]);
        for (uint32_t k = 0; k + 8 <= (arg->is_buffer ? 8 : arg->size_bytes); k += 8) {
            uint64_t value = plan_arg_word(search->plan, arg, k);
            if (!buffer_at(search->plan, value))
                continue;
            for (unsigned half = 0; half < 2; half++)
                search_give(prover,
                            term_name(&prover->ts, "param+0x%llx", (unsigned long long)(at + k + 4 * half)),
                            (uint32_t)(value >> 32 * half));
        }
    }
}

static void give_launch(ProveSearch *search) {
    Prover *prover = &search->core->p;
    const PlanLaunch *launch = &search->plan->launches.at[0];
    prover->ngiven = 0;
    for (unsigned axis = 0; axis < 3; axis++) {
        if (!search->any_block || axis)
            search_give(prover, term_name(&prover->ts, "ntid.%c", "xyz"[axis]),
                        search->any_block ? 1 : launch->block[axis]);
        search_give(prover, term_name(&prover->ts, "nctaid.%c", "xyz"[axis]), launch->grid[axis]);
    }
    give_pointers(search);
}

/* ---- what the difference hangs on ---- */
typedef struct {
    Load load[MAX_LOADS];
    const Term *input[MAX_INPUTS];
    uint32_t nloads, ninputs;
    bool *seen;
} Cone;

static void note_load(Cone *cone, const Term *value, const Term *addr, unsigned bytes, uint64_t offset) {
    if (cone->nloads < MAX_LOADS)
        cone->load[cone->nloads++] = (Load){value, addr, bytes, offset};
}

static void walk(Cone *cone, const Term *term) {
    if (cone->seen[term->id])
        return;
    cone->seen[term->id] = true;
    if (term->kind == TK_VAR && term->width == 32 && term->k == 0 && cone->ninputs < MAX_INPUTS)
        cone->input[cone->ninputs++] = term;
    if (term->kind == TK_APP && term->op == TO_READ)
        note_load(cone, term, term->a[1], (unsigned)(term->k & 255), 0);
    if (term->kind == TK_APP && term->op == TO_RESULT && term->width == 32) {
        const Term *event = term->a[0];
        bool memory = event->name && event->n > 2 &&
                      (strncmp(event->name, "ld.", 3) == 0 || strncmp(event->name, "atom.", 5) == 0);
        note_load(cone, term, memory ? event->a[2] : NULL, 4, 4 * term->k);
    }
    for (uint32_t i = 0; i < term->n; i++)
        walk(cone, term->a[i]);
}

/* The word lies in one of the buffers. */
static Term *in_a_buffer(const ProveSearch *search, const Load *load) {
    Terms *ts = &search->core->p.ts;
    Term *some = ts->falsity;
    for (uint32_t k = 0; k < search->plan->buffers.n; k++) {
        const PlanBuffer *buffer = &search->plan->buffers.at[k];
        uint64_t bytes = buffer->count * buffer->type->size_bytes;
        if (bytes < load->bytes)
            continue;
        Term *from =
            t_add(ts, (Term *)(uintptr_t)load->addr, t_const(ts, 64, load->offset - buffer->address));
        Term *inside = t_and(ts, t_eq(ts, t_hi(ts, from), ts->zero),
                             t_ult(ts, t_lo(ts, from), t_const(ts, 32, bytes - load->bytes + 1)));
        some = t_or(ts, some, inside);
    }
    Term *low = t_land(ts, t_lo(ts, (Term *)(uintptr_t)load->addr), t_const(ts, 32, load->bytes - 1));
    return t_and(ts, some, t_eq(ts, low, ts->zero));
}

static uint32_t constraints(const ProveSearch *search, const Cone *cone, Term **out, uint32_t max) {
    Prover *prover = &search->core->p;
    Terms *ts = &prover->ts;
    const PlanLaunch *launch = &search->plan->launches.at[0];
    Term *tid[3], *ntid[3];
    uint32_t n = 0;
    for (unsigned axis = 0; axis < 3; axis++) {
        tid[axis] = prove_input(prover, "tid.%c", "xyz"[axis]);
        ntid[axis] = prove_input(prover, "ntid.%c", "xyz"[axis]);
        out[n++] = t_ult(ts, tid[axis], ntid[axis]);
        out[n++] = t_ult(ts, ntid[axis], t_const(ts, 32, SIM_MAX_BLOCK_THREADS + 1));
        out[n++] =
            t_ult(ts, prove_input(prover, "ctaid.%c", "xyz"[axis]), t_const(ts, 32, launch->grid[axis]));
    }
    Term *row = t_add(ts, tid[1], t_mul(ts, tid[2], ntid[1]));
    Term *lane = t_land(ts, t_add(ts, tid[0], t_mul(ts, row, ntid[0])), t_const(ts, 32, 31));
    out[n++] = t_eq(ts, prove_input(prover, "laneid"), lane);
    for (uint32_t k = 0; k < cone->nloads && n < max; k++)
        if (cone->load[k].addr && cone->load[k].addr->width == 64)
            out[n++] = in_a_buffer(search, &cone->load[k]);
    return n;
}

/* ---- a launch of these values ---- */
typedef struct {
    const Cone *cone;
    const ZqValue *input, *value, *addr; /* by input, by load */
} Model;

static uint8_t *take_bytes(Plan *plan, const ProveSearch *search, uint32_t index) {
    PlanBuffer *buffer = &plan->buffers.at[index];
    const SimAlloc *alloc = simmem_find(search->memory, buffer->address, 1);
    return arena_copy(&plan->arena, alloc->data, alloc->size_bytes);
}

static void set_contents(Plan *plan, const ProveSearch *search, const Model *model) {
    uint8_t **bytes = ARENA_ARRAY(&plan->arena, uint8_t *, plan->buffers.n + 1);
    for (uint32_t k = 0; k < plan->buffers.n; k++)
        plan->buffers.at[k].bytes = bytes[k] = take_bytes(plan, search, k);
    for (uint32_t k = 0; k < model->cone->nloads; k++) {
        const Load *load = &model->cone->load[k];
        if (!load->addr || load->addr->width != 64)
            continue;
        uint64_t at = model->addr[k].value + load->offset;
        const PlanBuffer *buffer = buffer_at(search->plan, at);
        uint32_t index = buffer ? (uint32_t)(buffer - search->plan->buffers.at) : 0;
        if (buffer && at - buffer->address + load->bytes <= buffer->count * buffer->type->size_bytes)
            memcpy(bytes[index] + (at - buffer->address), &model->value[k].value, load->bytes);
    }
}

/* All values of the answer anywhere: one of them belongs where no address tells. */
static void strew(Plan *plan, const Model *model, uint64_t seed) {
    const Cone *cone = model->cone;
    uint64_t random = seed;
    for (uint32_t k = 0; k < plan->buffers.n && cone->nloads; k++) {
        uint8_t *bytes = (uint8_t *)(uintptr_t)plan->buffers.at[k].bytes;
        uint64_t size = plan->buffers.at[k].count * plan->buffers.at[k].type->size_bytes;
        if (plan_init_waits(&plan->buffers.at[k]))
            continue;
        for (uint64_t at = 0; at + 4 <= size; at += 4)
            if (rng_next(&random) & 1)
                memcpy(bytes + at, &model->value[rng_next(&random) % cone->nloads].value, 4);
    }
}

static void set_arguments(Plan *plan, const ProveSearch *search, const Model *model) {
    const Prover *prover = &search->core->p;
    PlanLaunch *launch = &plan->launches.at[0];
    for (uint32_t i = 0; i < launch->args.n; i++) {
        PlanArg *arg = &launch->args.at[i];
        uint64_t at = prove_param_offset(prover, &prover->module->vars[prover->pf->params[i]]);
        if (arg->is_buffer)
            continue;
        uint8_t *bytes = arena_copy(&plan->arena, arg->bytes, arg->size_bytes);
        for (uint32_t k = 0; k < model->cone->ninputs; k++) {
            unsigned long long offset;
            if (sscanf(model->cone->input[k]->name, "param+0x%llx", &offset) != 1)
                continue;
            for (unsigned b = 0; b < 4; b++)
                if (offset + b >= at && offset + b - at < arg->size_bytes)
                    bytes[offset + b - at] = (uint8_t)(model->input[k].value >> 8 * b);
        }
        arg->bytes = bytes;
    }
}

static void no_message(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

/* "word_n" for a word of it, as the PTX calls a parameter. */
static const char *input_name(ProveSearch *search, const char *name) {
    const Prover *prover = &search->core->p;
    Arena *arena = &search->report->arena;
    unsigned long long offset;
    if (sscanf(name, "param+0x%llx", &offset) != 1)
        return arena_printf(arena, "%s", name);
    for (uint32_t k = 0; k < prover->pf->nparams; k++) {
        const PtxVar *var = &prover->module->vars[prover->pf->params[k]];
        uint64_t at = offset - prove_param_offset(prover, var);
        const char *text = str_text(&prover->module->strings, var->name);
        if (at < var->size_bytes)
            return at ? arena_printf(arena, "%s+0x%llx", text, (unsigned long long)at)
                      : arena_printf(arena, "%s", text);
    }
    return arena_printf(arena, "%s", name);
}

static void tell_values(ProveSearch *search, const Model *model) {
    const Cone *cone = model->cone;
    Arena *arena = &search->report->arena;
    ProveValue *values = ARENA_ARRAY(arena, ProveValue, cone->ninputs + cone->nloads + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < cone->ninputs; k++)
        values[n++] = (ProveValue){input_name(search, cone->input[k]->name), model->input[k].value};
    for (uint32_t k = 0; k < cone->nloads; k++) {
        const Load *load = &cone->load[k];
        const PlanBuffer *buffer = load->addr && load->addr->width == 64
                                       ? buffer_at(search->plan, model->addr[k].value + load->offset)
                                       : NULL;
        if (!buffer)
            values[n++] = (ProveValue){"from another lane, or elsewhere", model->value[k].value};
        else
            values[n++] = (ProveValue){
                arena_printf(arena, "%s+0x%llx", buffer->name,
                             (unsigned long long)(model->addr[k].value + load->offset - buffer->address)),
                model->value[k].value};
    }
    search->found->values = values;
    search->found->nvalues = n;
}

static bool try_launch(ProveSearch *search, const Model *model, bool everywhere) {
    if (search->trials >= MAX_TRIALS)
        return false;
    search->trials++;
    Plan plan = {0};
    for (uint32_t k = 0; k < search->plan->buffers.n; k++)
        VEC_ADD(&plan.arena, &plan.buffers, search->plan->buffers.at[k]);
    PlanLaunch launch = search->plan->launches.at[0];
    for (uint32_t k = 0; search->any_block && k < model->cone->ninputs; k++)
        if (strcmp(model->cone->input[k]->name, "ntid.x") == 0) {
            launch.block[0] = (uint32_t)model->input[k].value;
            launch.block[1] = launch.block[2] = 1;
        }
    launch.args.at = arena_copy(&plan.arena, launch.args.at, launch.args.n * sizeof *launch.args.at);
    VEC_ADD(&plan.arena, &plan.launches, launch);
    set_contents(&plan, search, model);
    if (everywhere)
        strew(&plan, model, search->trials);
    for (uint32_t k = 0; k < plan.buffers.n; k++)
        plan.buffers.at[k].init = NULL;
    set_arguments(&plan, search, model);
    Diags quiet = {.sink = no_message};
    JudgeOptions options = {.seed = 1, .budget = THREAD_BUDGET};
    Judgement judgement = {0};
    const char *where = NULL;
    if (judge_plan(&plan, search->core->p.module, search->core->p.flow->bin, &options, &judgement, &quiet))
        where = prove_launch_shows(search->core->trials->arena, &judgement);
    search->found->where = where;
    judgement_free(&judgement);
    plan_free(&plan);
    return where != NULL;
}

/* ---- a difference on a path ---- */
void prove_search_goal(Judge *judge, Term *cond, Term *x, Term *y, const char *what, uint32_t ptx_at,
                       uint32_t mach_at) {
    ProveSearch *search = judge->search;
    Core *core = search->core;
    Terms *ts = &core->p.ts;
    if (search->found->what || search->queries >= MAX_QUERIES || clock_cpu_seconds() > search->deadline ||
        (x && x->width == 0))
        return;
    search->queries++;
    search->report->queries++;
    Cone *cone = mem_zeroed(1, sizeof *cone);
    Term *block = search->any_block ? prove_input(&core->p, "ntid.x") : NULL; /* may be a new term */
    cone->seen = mem_zeroed(ts->next_id, 1);
    walk(cone, cond);
    if (x)
        walk(cone, x), walk(cone, y);
    if (block)
        walk(cone, block);
    mem_free(cone->seen);
    Term *holds[MAX_LOADS + 16];
    uint32_t n = constraints(search, cone, holds, MAX_LOADS + 8), wanted = 0;
    holds[n++] = cond;
    ZqValue *values = mem_zeroed(MAX_INPUTS + 2 * MAX_LOADS, sizeof *values);
    for (uint32_t k = 0; k < cone->ninputs; k++)
        values[wanted++].term = cone->input[k];
    for (uint32_t k = 0; k < cone->nloads; k++)
        values[wanted++].term = cone->load[k].value;
    for (uint32_t k = 0; k < cone->nloads; k++)
        values[wanted++].term = cone->load[k].addr ? cone->load[k].addr : cone->load[k].value;
    Model model = {cone, values, values + cone->ninputs, values + cone->ninputs + cone->nloads};
    struct ProveZ3 *z3 = ts->overflow ? NULL : prove_core_solver(core);
    if (z3 && prove_z3_values(z3, ts, holds, n, x, y, values, wanted, QUERY_SECONDS) == ZQ_INVALID &&
        (try_launch(search, &model, false) || try_launch(search, &model, true))) {
        *search->found =
            (ProveFinding){what, search->found->where, search->cut, .ptx_at = ptx_at, .mach_at = mach_at};
        tell_values(search, &model);
    }
    mem_free(values);
    mem_free(cone);
}

/* ---- paths from the entry ---- */
typedef VEC(Arrived) Paths;

static bool may_go_on(const ProveSearch *search) {
    return !search->found->what && search->queries < MAX_QUERIES && search->trials < MAX_TRIALS &&
           clock_cpu_seconds() < search->deadline && !prove_core_exhausted(search->core);
}

static void go_on(ProveSearch *search, const Cut *cut, const Term *base, Paths *paths) {
    Core *core = search->core;
    for (uint32_t k = 0; k < cut->edges.n; k++) {
        const Edge *edge = &cut->edges.at[k];
        Arrived next = {.cut = edge->to, .pv = edge->pv, .lv = edge->lv};
        memcpy(next.mem, edge->mem, sizeof next.mem);
        next.base = t_and(&core->p.ts, (Term *)(uintptr_t)base, edge->cond);
        if (next.base != core->p.ts.falsity)
            VEC_ADD(&core->p.arena, paths, next);
    }
}

static void follow_paths(ProveSearch *search) {
    Core *core = search->core;
    Prover *prover = &core->p;
    Paths paths = {0};
    prove_core_start(core);
    Arrived entry = {.pv = core->entry.pv, .lv = core->entry.lv, .base = prover->ts.truth};
    memcpy(entry.mem, core->entry.mem, sizeof entry.mem);
    VEC_ADD(&prover->arena, &paths, entry);
    for (uint32_t k = 0; k < paths.n && k < MAX_REGIONS && may_go_on(search); k++) {
        Arrived from = paths.at[k];
        Cut cut = core->cuts.at[from.cut];
        ProveRegion region = {.status = PROVE_SYNTACTIC, .reason = ""};
        scope_poll();
        cut.pv = from.pv;
        cut.lv = from.lv;
        memcpy(cut.mem, from.mem, sizeof cut.mem);
        cut.known = prover->ts.truth; /* base says it */
        search->cut = from.cut;
        Judge judge = {.core = core, .report = search->report, .q = &cut, .out = &region, .base = from.base};
        judge.search = search;
        if (!prove_judge_again(&judge, &cut))
            continue;
        prove_core_edges(core, &cut);
        go_on(search, &cut, from.base, &paths);
    }
}

bool prove_search(Core *core, ProveReport *report, ProveFinding *found) {
    Prover *prover = &core->p;
    double wanted = prover->opt->search_seconds, limit = wanted > 0 ? wanted : SEARCH_SECONDS;
    AutoLaunches launches = {0};
    *found = (ProveFinding){0};
    ProveSearch search = {
        .core = core, .report = report, .found = found, .deadline = clock_cpu_seconds() + limit};
    if (core->deadline > 0 && core->deadline < search.deadline)
        search.deadline = core->deadline;
    auto_launch(prover->module, prover->bf->name, &(AutoOptions){.seed = 1}, &launches);
    uint32_t n = launches.nplans < MAX_PLANS ? launches.nplans : MAX_PLANS;
    for (uint32_t k = 0; n && k <= n && may_go_on(&search); k++) {
        Diags quiet = {.sink = no_message};
        search.plan = launches.plans[k % n];
        search.any_block = k == n;
        search.memory = plan_memory(search.plan, &quiet);
        if (search.memory) {
            give_launch(&search);
            follow_paths(&search);
            simmem_free(search.memory);
        }
        prover->ngiven = 0;
    }
    auto_launch_free(&launches);
    return found->what != NULL;
}
