/* Verdicts: see judge.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/judge.h"
#include "check/validate/auto_flow.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 2, MORE_ORDERS = 16, MACHINE_BUDGET = 1 << 20, MACHINE_PER_PTX = 32, SHOWN_RACES = 8 };

static const char *const names[VERDICT_COUNT] = {[VERDICT_EQUAL] = "equal",
                                                 [VERDICT_LITTLE_COVERED] = "equal, little covered",
                                                 [VERDICT_TRAP_ALIKE] = "both trap alike",
                                                 [VERDICT_ORDER] = "order-dependent",
                                                 [VERDICT_RACY] = "racy",
                                                 [VERDICT_NOT_RUN] = "not run",
                                                 [VERDICT_NOT_COMPILED] = "not compiled",
                                                 [VERDICT_TIME_LIMIT] = "time limit",
                                                 [VERDICT_CRASHED] = "crashed",
                                                 [VERDICT_DIFFERS] = "differs"};

const char *verdict_name(Verdict v) { return v < VERDICT_COUNT ? names[v] : "?"; }
bool verdict_find(const char *name, Verdict *v) {
    for (unsigned i = 0; i < VERDICT_COUNT; i++)
        if (strcmp(names[i], name) == 0) {
            *v = (Verdict)i;
            return true;
        }
    return false;
}

typedef struct {
    const PtxModule *m;
    const Binary *b;
    const JudgeOptions *opt;
    Plan *p;
    Judgement *j;
    Diags *d;
    Coverage cover;
    SimMemory *ptx, *machine; /* of the two executions */
    SimMemory *before;        /* of the PTX side, before the launch */
    bool *skip;               /* by allocation: not compared */
    uint64_t stores, machine_budget;
    bool automatic; /* launches are inferred */
} Judge;

static void silent(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

static void worse(Judgement *j, Verdict v) {
    if (v > j->verdict)
        j->verdict = v;
}

__attribute__((format(printf, 2, 3))) static void note(Judgement *j, const char *fmt, ...) {
    size_t used = strlen(j->note);
    if (used && used + 3 < sizeof j->note)
        used += (size_t)snprintf(j->note + used, sizeof j->note - used, "; ");
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(j->note + used, sizeof j->note - used, fmt, ap);
    va_end(ap);
}

/* Deadlock, livelock and budget are three ways to see that nothing goes on; so is, on the machine, a barrier
 * that waits for more threads than there are, which the interpreter refuses. */
static unsigned trap_class(SimTrapKind k) {
    return k == TRAP_LIVELOCK || k == TRAP_BUDGET || k == TRAP_BARRIER ? TRAP_DEADLOCK : k;
}

static void keep_races(Judgement *j, PtxRunResult *r) {
    for (uint32_t i = 0; i < r->nraces; i++)
        j->nharmful += !r->races[i].same_value;
    if (!j->races) {
        j->races = r->races;
        j->nraces = r->nraces;
        r->races = NULL;
    }
    ptx_races_free(r);
}

/* ---- orders of threads ---- */

typedef struct {
    unsigned different; /* orders whose result is not the first one's */
    bool one_is_it;     /* one of them has the machine's result */
    bool only_there;    /* the machine differs from the first order only where the orders differ */
} Orders;

/* Bytes in which `x` differs from r->ptx become 1 in `varies`, by allocation; false if there are none. */
static bool mark_varying(const Judge *g, const SimMemory *x, uint8_t **varies) {
    bool any = false;
    for (uint32_t i = 0; i < g->ptx->nallocs; i++) {
        const SimAlloc *a = &g->ptx->allocs[i], *b = &x->allocs[i];
        if (g->skip[i] || memcmp(a->data, b->data, a->size_bytes) == 0)
            continue;
        any = true;
        if (!varies[i])
            varies[i] = calloc(a->size_bytes, 1);
        for (uint64_t k = 0; varies[i] && k < a->size_bytes; k++)
            varies[i][k] |= a->data[k] != b->data[k];
    }
    return any;
}

static bool differs_elsewhere(const Judge *g, uint8_t *const *varies) {
    for (uint32_t i = 0; i < g->ptx->nallocs; i++) {
        const SimAlloc *a = &g->ptx->allocs[i], *b = &g->machine->allocs[i];
        for (uint64_t k = 0; !g->skip[i] && k < a->size_bytes; k++)
            if (a->data[k] != b->data[k] && !(varies[i] && varies[i][k]))
                return true;
    }
    return false;
}

/* Run the launch in other orders of threads. A trap in one of them counts as another result. */
static Orders try_orders(const Judge *g, const PlanLaunch *l, bool machine_equal) {
    Orders o = {0};
    Diags quiet = {.sink = silent};
    uint8_t **varies = calloc(g->ptx->nallocs + 1u, sizeof *varies);
    unsigned n = g->opt->orders ? g->opt->orders : ORDERS;
    MemDiff diff;
    for (unsigned i = 0; varies && i < n; i++) {
        SimMemory *mem = simmem_clone(g->before);
        PtxRunOptions run = {.seed = 1 + i * 0x9e37u, .budget = g->opt->budget};
        PtxRunResult r = {0};
        if (!mem)
            break;
        bool ran = diff_run_ptx(g->p, l, g->m, mem, &run, &r, &quiet) && r.trap.kind == TRAP_NONE;
        bool differs = !ran || mark_varying(g, mem, varies);
        o.different += differs;
        o.one_is_it |= ran && diff_memory(mem, g->machine, g->skip, &diff);
        simmem_free(mem);
        if (differs && !machine_equal && !o.one_is_it)
            n = MORE_ORDERS; /* what varies must be known well */
    }
    o.only_there = machine_equal || (varies && !differs_elsewhere(g, varies));
    for (uint32_t i = 0; varies && i < g->ptx->nallocs; i++)
        free(varies[i]);
    free(varies);
    return o;
}

/* ---- one launch ---- */

static void first_difference(Judge *g) {
    DiffOptions o = {
        .ptx = {.budget = g->opt->budget}, .machine = g->opt->machine, .no_trace = g->opt->no_trace};
    Diags quiet = {.sink = silent};
    if (g->automatic && !o.machine.max_issues)
        o.machine.max_issues = g->machine_budget;
    if (!g->j->diff_plan && diff_validate(g->p, g->m, g->b, &o, &g->j->diff, &quiet))
        g->j->diff_plan = g->p;
}

static void judge_traps(Judge *g, const SimTrap *ptx, const SimTrap *machine) {
    bool alike = trap_class(ptx->kind) == trap_class(machine->kind) ||
                 diff_traps_alike(g->b, ptx->kind, machine->kind);
    if (alike) {
        worse(g->j, VERDICT_TRAP_ALIKE);
        note(g->j, "%s", sim_trap_name(ptx->kind));
    } else {
        worse(g->j, VERDICT_DIFFERS);
        note(g->j, "PTX: %s, machine: %s", ptx->kind ? sim_trap_name(ptx->kind) : "finishes",
             machine->kind ? sim_trap_name(machine->kind) : "finishes");
    }
    first_difference(g);
}

static void judge_memory(Judge *g, const PlanLaunch *l) {
    MemDiff diff;
    bool equal = diff_memory(g->ptx, g->machine, g->skip, &diff);
    if (g->j->nharmful) {
        note(g->j, "memory %s", equal ? "equal" : "differs");
        return;
    }
    Orders o = try_orders(g, l, equal);
    if (o.different && o.only_there) {
        worse(g->j, VERDICT_ORDER);
        note(g->j, "%u orders of threads give another result; the machine's is %s", o.different,
             equal         ? "that of the first order"
             : o.one_is_it ? "that of one of them"
                           : "none of them, but differs only where they do");
    } else if (!equal) {
        worse(g->j, VERDICT_DIFFERS);
        first_difference(g);
    }
}

/* False: reported. *stop after a trap. */
static bool judge_launch(Judge *g, const PlanLaunch *l, bool *stop) {
    PtxRunOptions po = {.budget = g->opt->budget, .find_races = true, .reached = g->cover.ptx};
    PtxRunResult pr = {0};
    MachineOptions mo = g->opt->machine;
    MachineResult mr = {0};
    Diags quiet = {.sink = silent};
    mo.reached = g->cover.machine;
    if (g->before)
        simmem_free(g->before);
    g->before = simmem_clone(g->ptx);
    if (!g->before)
        return diag(g->d, (SrcLoc){0}, DIAG_E0502, "no memory on this host");
    if (!diff_run_ptx(g->p, l, g->m, g->ptx, &po, &pr, g->d))
        return false;
    keep_races(g->j, &pr);
    if (g->automatic && !mo.max_issues) /* no correct binary needs so many */
        g->machine_budget = mo.max_issues =
            MACHINE_BUDGET + MACHINE_PER_PTX * (pr.thread_insns + pr.skipped_insns);
    if (!diff_run_machine(g->p, l, g->b, g->machine, &mo, &mr, &quiet)) {
        machine_result_free(&mr); /* it could not start: once more for the message */
        return diff_run_machine(g->p, l, g->b, g->machine, &mo, &mr, g->d);
    }
    machine_result_free(&mr);
    bool stack = mr.trap.kind != pr.trap.kind && (mr.trap.kind == TRAP_STACK || pr.trap.kind == TRAP_STACK);
    if (mr.trap.kind == TRAP_UNSUPPORTED ||
        stack) { /* says nothing about the code: frames are not equally large */
        char line[512];
        sim_trap_print(mr.trap.kind ? &mr.trap : &pr.trap, line, sizeof line);
        return diag(g->d, (SrcLoc){0}, DIAG_E0502, line);
    }
    Judgement *j = g->j;
    j->launches++;
    j->threads += (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] * l->block[0] * l->block[1] * l->block[2];
    j->ptx_insns += pr.thread_insns;
    j->machine_issues += mr.stats.issues;
    g->stores += pr.stores;
    *stop = pr.trap.kind != TRAP_NONE || mr.trap.kind != TRAP_NONE;
    if (j->nharmful)
        worse(j, VERDICT_RACY);
    if (*stop && (!j->nharmful || trap_class(pr.trap.kind) == trap_class(mr.trap.kind)))
        judge_traps(g, &pr.trap, &mr.trap);
    for (uint32_t i = 0; i < l->unordered.n; i++)
        for (uint32_t k = 0; k < g->ptx->nallocs; k++)
            g->skip[k] |= g->ptx->allocs[k].address == g->p->buffers.at[l->unordered.at[i]].address;
    if (!*stop)
        judge_memory(g, l);
    *stop |= j->verdict == VERDICT_DIFFERS;
    return true;
}

static bool judge_launches(Judge *g) {
    bool stop = false;
    for (uint32_t i = 0; !stop && i < g->p->launches.n; i++)
        for (uint32_t k = 0; !stop && k < g->p->launches.at[i].repeat; k++) {
            if (!judge_launch(g, &g->p->launches.at[i], &stop))
                return false;
            if (!stop && g->j->verdict >= VERDICT_ORDER) { /* both go on with one result */
                simmem_free(g->machine);
                g->machine = simmem_clone(g->ptx);
                stop = !g->machine;
            }
        }
    for (uint32_t i = 0; i < g->ptx->nallocs; i++)
        g->j->compared_bytes += g->skip[i] ? 0 : g->ptx->allocs[i].size_bytes;
    return true;
}

/* Run one plan and add to the judgement. */
static bool add_plan(Judge *g) {
    g->ptx = plan_memory(g->p, g->d);
    bool good = g->ptx && ptx_place_variables(g->m, g->ptx, g->d);
    g->machine = good ? simmem_clone(g->ptx) : NULL;
    if (good && !g->machine)
        good = diag(g->d, (SrcLoc){0}, DIAG_E0502, "no memory on this host");
    if (good) {
        g->skip = ARENA_ARRAY(&g->p->arena, bool, g->ptx->nallocs + 1);
        good = judge_launches(g);
    }
    SimMemory *all[] = {g->ptx, g->machine, g->before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            simmem_free(all[i]);
    g->ptx = g->machine = g->before = NULL;
    return good;
}

/* ---- a kernel ---- */

/* Functions that a kernel may execute, when no flow analysis has told. */
static const uint8_t *callees(const PtxModule *m, const Plan *p, Arena *arena, const char **kernel,
                              Diags *d) {
    AutoFlow flow;
    const char *reason;
    uint8_t *all = ARENA_ARRAY(arena, uint8_t, m->nfuncs + 1);
    for (uint32_t i = 0; i < p->launches.n; i++) {
        const char *name = diff_ptx_kernel(p, m, &p->launches.at[i], d);
        uint32_t index = name ? ptx_find_func(m, name) : 0;
        *kernel = *kernel ? *kernel : name;
        if (!index)
            return NULL;
        auto_flow(m, index - 1, arena, &flow, &reason);
        for (uint32_t f = 0; f < m->nfuncs; f++)
            all[f] |= flow.funcs[f];
    }
    return all;
}

static void count_blocks(Judge *g, const uint8_t *funcs, const char *const *kernels, uint32_t nkernels) {
    BinFlow *flow = binflow_new(g->b);
    g->j->ptx = coverage_ptx(&g->cover, g->m, funcs);
    for (uint32_t i = 0; flow && i < nkernels; i++) {
        bool again = false;
        for (uint32_t k = 0; k < i; k++)
            again |= strcmp(kernels[i], kernels[k]) == 0;
        Covered c = again ? (Covered){0, 0} : coverage_machine(&g->cover, flow, kernels[i]);
        g->j->machine.reached += c.reached;
        g->j->machine.total += c.total;
    }
    binflow_free(flow);
}

static void finish(Judge *g) {
    Judgement *j = g->j;
    uint32_t harmless = j->nraces - (j->nharmful < j->nraces ? j->nharmful : j->nraces);
    if (j->verdict == VERDICT_EQUAL && (covered_part(j->ptx) < AUTO_ENOUGH || !g->stores)) {
        j->verdict = VERDICT_LITTLE_COVERED;
        if (!g->stores)
            note(j, "nothing is stored");
    }
    if (j->nharmful)
        note(j, "%u race%s", j->nharmful, j->nharmful == 1 ? "" : "s");
    if (harmless && !j->nharmful)
        note(j, "unordered stores of the same value");
}

bool judge_plan(Plan *p, const PtxModule *m, const Binary *b, const JudgeOptions *opt, Judgement *j,
                Diags *d) {
    *j = (Judgement){0};
    Judge g = {.m = m, .b = b, .opt = opt, .p = p, .j = j, .d = d};
    Arena arena = {0};
    const char *kernel = NULL;
    coverage_new(&g.cover, &arena, m, b);
    const uint8_t *funcs = callees(m, p, &arena, &kernel, d);
    bool good = funcs && add_plan(&g);
    if (good) {
        const char **kernels = ARENA_ARRAY(&arena, const char *, p->launches.n + 1);
        for (uint32_t i = 0; i < p->launches.n; i++)
            kernels[i] = p->launches.at[i].kernel ? p->launches.at[i].kernel : kernel;
        count_blocks(&g, funcs, kernels, p->launches.n);
        finish(&g);
    }
    arena_free(&arena);
    return good;
}

static void keep_error(void *user, Severity severity, const char *line) {
    Judgement *j = user;
    const char *text = strstr(line, "error E");
    if (severity != SEV_ERROR || j->note[0])
        return;
    snprintf(j->note, sizeof j->note, "%s", text ? text + 6 : line);
    j->note[strcspn(j->note, "\n")] = 0;
}

void judge_auto(const PtxModule *m, const Binary *b, const char *kernel, const JudgeOptions *opt,
                AutoLaunches *a, Judgement *j) {
    *j = (Judgement){0};
    AutoOptions ao = {.seed = opt->seed};
    Diags d = {.sink = keep_error, .user = j};
    auto_launch(m, kernel, &ao, a);
    if (!a->nplans) {
        j->verdict = VERDICT_NOT_RUN;
        snprintf(j->note, sizeof j->note, "%s", a->reason);
        return;
    }
    Judge g = {.m = m, .b = b, .opt = opt, .j = j, .d = &d, .automatic = true};
    coverage_new(&g.cover, &a->arena, m, b);
    bool good = true;
    for (uint32_t i = 0; good && i < a->nplans && j->verdict != VERDICT_DIFFERS; i++) {
        g.p = a->plans[i];
        char before[sizeof j->note]; /* a launch adds its notes once, not for each launch */
        memcpy(before, j->note, sizeof before);
        Verdict old = j->verdict;
        good = add_plan(&g);
        if (good && i > 0 && j->verdict == old)
            memcpy(j->note, before, sizeof before);
    }
    if (!good) {
        j->verdict = VERDICT_NOT_RUN;
        return;
    }
    count_blocks(&g, a->funcs, &kernel, 1);
    finish(&g);
    if (a->racing && j->verdict != VERDICT_RACY)
        note(j, "%u of %u launches tried have races", a->racing, a->tried);
}

void judgement_free(Judgement *j) {
    free(j->races);
    j->races = NULL;
}

/* The first few of one kind; JSON has all. */
static void print_races(FILE *out, const Judgement *j, bool same_value) {
    char race[1024];
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->nraces; i++) {
        if (j->races[i].same_value != same_value || n++ >= SHOWN_RACES)
            continue;
        ptx_race_print(&j->races[i], race, sizeof race);
        fprintf(out, "  %s\n", race);
    }
    if (n > SHOWN_RACES)
        fprintf(out, "  and %u more\n", n - SHOWN_RACES);
}

char *judgement_text(const Judgement *j, const char *kernel) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "%s: %s", kernel, verdict_name(j->verdict));
    if (j->launches)
        fprintf(out, ": %u of %u basic blocks (machine: %u of %u), %llu threads in %u launch%s",
                j->ptx.reached, j->ptx.total, j->machine.reached, j->machine.total,
                (unsigned long long)j->threads, j->launches, j->launches == 1 ? "" : "es");
    fprintf(out, "%s%s\n", j->note[0] ? ": " : "", j->note);
    print_races(out, j, false);
    print_races(out, j, true);
    if (j->diff_plan && !j->nharmful) {
        char *diff = diff_report_text(&j->diff, j->diff_plan);
        fputs(diff ? diff : "", out);
        free(diff);
    }
    fclose(out);
    return text;
}

static void add_side(cJSON *o, const char *key, const PtxRaceSide *s) {
    cJSON *x = cJSON_AddObjectToObject(o, key);
    int block[3], thread[3];
    for (int i = 0; i < 3; i++) {
        block[i] = (int)s->block[i];
        thread[i] = (int)s->thread[i];
    }
    cJSON_AddNumberToObject(x, "line", s->line);
    cJSON_AddStringToObject(x, "instruction", s->text);
    cJSON_AddItemToObject(x, "block", cJSON_CreateIntArray(block, 3));
    cJSON_AddItemToObject(x, "thread", cJSON_CreateIntArray(thread, 3));
}

char *judgement_json(const Judgement *j, const char *kernel) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "kernel", kernel);
    cJSON_AddStringToObject(o, "verdict", verdict_name(j->verdict));
    cJSON_AddStringToObject(o, "note", j->note);
    cJSON_AddNumberToObject(o, "ptx_blocks", j->ptx.total);
    cJSON_AddNumberToObject(o, "ptx_blocks_executed", j->ptx.reached);
    cJSON_AddNumberToObject(o, "machine_blocks", j->machine.total);
    cJSON_AddNumberToObject(o, "machine_blocks_executed", j->machine.reached);
    cJSON_AddNumberToObject(o, "launches", j->launches);
    cJSON_AddNumberToObject(o, "threads", (double)j->threads);
    cJSON *races = cJSON_AddArrayToObject(o, "races");
    for (uint32_t i = 0; i < j->nraces; i++) {
        const PtxRace *r = &j->races[i];
        cJSON *x = cJSON_CreateObject();
        cJSON_AddItemToArray(races, x);
        cJSON_AddStringToObject(x, "memory", r->name);
        cJSON_AddBoolToObject(x, "shared", r->shared);
        cJSON_AddNumberToObject(x, "offset", (double)r->offset_bytes);
        cJSON_AddNumberToObject(x, "times", (double)r->count);
        cJSON_AddBoolToObject(x, "same_value", r->same_value);
        add_side(x, "first", &r->first);
        add_side(x, "second", &r->second);
    }
    if (j->diff_plan && !j->nharmful) {
        char *diff = diff_report_json(&j->diff, j->diff_plan);
        if (diff)
            cJSON_AddItemToObject(o, "comparison", cJSON_CreateRaw(diff));
        free(diff);
    }
    char *text = cJSON_Print(o);
    cJSON_Delete(o);
    return text;
}
