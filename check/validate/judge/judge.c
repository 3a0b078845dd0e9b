/* Verdicts: see judge.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/judge/judge.h"
#include "base/scope.h"
#include "check/flow/contents.h"
#include "check/static/check.h"
#include "check/validate/search/auto_flow.h"
#include "check/validate/compare/moments.h"
#include "check/validate/judge/open.h"
#include "check/validate/judge/orders.h"
#include "check/validate/judge/sums.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

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
    uint64_t stores;
    uint64_t executed;  /* thread instructions of the PTX, in the launch */
    bool alone;         /* a thread that was alone ended in a trap statement, and left the same memory */
    bool automatic;     /* launches are inferred */
    bool race_free;     /* this one is known to have no races */
    bool order_free;    /* ... and to do the same in every order of threads */
    bool open;          /* ... and its result to depend on what PTX does not say */
    bool other_moments; /* what is judged is what the machine does then */
    char odd[380];      /* what loaders may take otherwise in the file, or "" */
} Judge;

static uint64_t ptx_budget(const Judge *judge) {
    return judge->opt->budget ? judge->opt->budget : DIFF_PTX_BUDGET;
}

static void silent(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

static void worse(Judgement *judgement, Verdict v) {
    judgement->verdict = verdict_worse(judgement->verdict, v);
}

__attribute__((format(printf, 2, 3))) static void note(Judgement *judgement, const char *fmt, ...) {
    size_t used = strlen(judgement->note);
    if (used && used + 3 < sizeof judgement->note)
        used += (size_t)snprintf(judgement->note + used, sizeof judgement->note - used, "; ");
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(judgement->note + used, sizeof judgement->note - used, fmt, ap);
    va_end(ap);
}

/* Deadlock, livelock and budget are three ways to see that nothing goes on; so is, on the machine, a barrier
 * that waits for more threads than there are, which the interpreter refuses. */
static unsigned trap_class(SimTrapKind k) {
    return k == TRAP_LIVELOCK || k == TRAP_BUDGET || k == TRAP_BARRIER ? TRAP_DEADLOCK : k;
}

static void keep_races(Judgement *judgement, PtxRunResult *result) {
    for (uint32_t i = 0; i < result->nraces; i++)
        judgement->nharmful += !result->races[i].same_value;
    if (!judgement->races) {
        judgement->races = result->races;
        judgement->nraces = result->nraces;
        result->races = NULL;
    }
    interp_races_free(result);
}

/* ---- one launch ---- */

static void first_difference(Judge *judge) {
    DiffOptions o = {.ptx = {.budget = ptx_budget(judge)},
                     .machine = judge->other_moments ? diff_other_moments(&judge->opt->machine)
                                                     : judge->opt->machine,
                     .other = judge->opt->other,
                     .tolerance = judge->opt->tolerance,
                     .no_trace = judge->opt->no_trace,
                     .file_known = true};
    Diags quiet = {.sink = silent};
    if (!judge->j->diff_plan && diff_validate(judge->p, judge->m, judge->b, &o, &judge->j->diff, &quiet))
        judge->j->diff_plan = judge->p;
}

static uint64_t block_threads(const PlanLaunch *launch) {
    return (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
}

static uint64_t launch_threads(const PlanLaunch *launch) {
    return (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2] * block_threads(launch);
}

/* Thread instructions behind which another order of the PTX is taken to have no end: 64 times what the first
 * one took. */
static uint64_t longest_order(const Judge *judge) {
    enum { LONGER = 64, LEAST = 10000 };
    return LEAST + LONGER * judge->executed;
}

static bool hangs_in_order(const Judge *judge, const PlanLaunch *launch, PtxRunOptions order) {
    Diags quiet = {.sink = silent};
    SimMemory *memory = simmem_clone(judge->before);
    PtxRunResult result = {0};
    order.budget = longest_order(judge);
    bool ran = memory && diff_run_ptx(judge->p, launch, judge->m, memory, &order, &result, &quiet);
    if (memory)
        simmem_free(memory);
    return ran && trap_class(result.trap.kind) == TRAP_DEADLOCK;
}

/* Threads may wait for what depends on the order, and PTX promises nothing then: a warp that only looks at an
 * mbarrier object misses two phases, one after the other, where others have long turns. So orders in which
 * warps run in turn, in both directions, are tried beside those that chance gives: a machine runs warps so,
 * and how long a turn is in statements depends on the code; so are orders in which one warp comes late.
 * Within a warp each lane has its turn: in lockstep those that wait for a lock may keep the one that has it
 * from going on, which PTX does not allow. */
static bool hangs_in_an_order(const Judge *judge, const PlanLaunch *launch) {
    enum { MOST_HELD = 16 };
    static const uint32_t turns[] = {1u << 15, 1u << 12, 1u << 18};
    bool hangs = false;
    for (unsigned i = 0; i < 2 * sizeof turns / sizeof *turns && !hangs; i++)
        hangs = hangs_in_order(judge, launch,
                               (PtxRunOptions){.descending = (i % 2 == 0) == judge->other_moments,
                                               .turn = turns[i / 2],
                                               .late_copies = judge->other_moments});
    for (unsigned i = 0; i < MOST_HELD && SIM_WARP_LANES * i < block_threads(launch) && !hangs; i++)
        hangs = hangs_in_order(judge, launch,
                               (PtxRunOptions){.descending = judge->other_moments,
                                               .held = 1 + i,
                                               .held_for = 4 * judge->executed,
                                               .late_copies = judge->other_moments});
    for (unsigned i = 0; i < ORDERS_ENOUGH && !hangs; i++)
        hangs = hangs_in_order(judge, launch, (PtxRunOptions){.seed = 1 + i * 0x9e37u});
    return hangs;
}

static void keep_open(void *user, const SimTrap *warning) {
    SimTrap *first = user;
    bool open = warning->kind == TRAP_UNINITIALISED || warning->kind == TRAP_UNDEFINED;
    if (open && first->kind == TRAP_NONE)
        *first = *warning;
}

static Verdict judge_rounding(Judge *judge, const PlanLaunch *launch) {
    char text[ROUNDING_NOTE_BYTES];
    RoundingQuestion question = {.plan = judge->p,
                                 .launch = launch,
                                 .module = judge->m,
                                 .binary = judge->b,
                                 .options = &(PtxRunOptions){.budget = ptx_budget(judge)},
                                 .tolerance = &judge->opt->tolerance,
                                 .before = judge->before,
                                 .ptx = judge->ptx,
                                 .machine = judge->machine,
                                 .skip = judge->skip,
                                 .sums = judge_sums_occur(judge->m)};
    Verdict verdict = rounding_verdict(&question, text);
    if (text[0] && judge->j->verdict < verdict)
        note(judge->j, "%s", text);
    return verdict;
}

/* Does the PTX read what was never written, or has it an operand for which PTX says no result? A compiler may
 * make anything of it, and Heddle does where a register was never written. The statement is in `open`. */
static bool launch_leaves_open(Plan *plan, const PlanLaunch *launch, const PtxModule *module,
                               SimMemory *memory, uint64_t budget, SimTrap *open) {
    PtxRunOptions options = {.budget = budget,
                             .report_uninitialised = true,
                             .report_open = true,
                             .on_warning = keep_open,
                             .user = open};
    PtxRunResult result = {0};
    Diags quiet = {.sink = silent};
    return memory && diff_run_ptx(plan, launch, module, memory, &options, &result, &quiet) &&
           open->kind != TRAP_NONE;
}

/* Does the PTX give another result than `after` if it is run so? A trap is none where it may not end so. */
static bool changes_with(Plan *plan, const PlanLaunch *launch, const PtxModule *module,
                         const SimMemory *before, const SimMemory *after, const bool *skip,
                         PtxRunOptions options, bool may_trap) {
    SimMemory *memory = simmem_clone(before);
    PtxRunResult result = {0};
    MemDiff diff;
    Diags quiet = {.sink = silent};
    bool ran = memory && diff_run_ptx(plan, launch, module, memory, &options, &result, &quiet),
         trapped = ran && result.trap.kind != TRAP_NONE,
         changes = ran && (trapped ? may_trap : !diff_memory(after, memory, skip, &diff));
    if (memory)
        simmem_free(memory);
    return changes;
}

/* Other values where nobody wrote. */
static bool depends_on_unwritten(Plan *plan, const PlanLaunch *launch, const PtxModule *module,
                                 const SimMemory *before, const SimMemory *after, const bool *skip,
                                 uint64_t budget) {
    return changes_with(plan, launch, module, before, after, skip,
                        (PtxRunOptions){.budget = 2 * budget, .fill_word = true}, true);
}

/* Variables in other places: an address that is stored is each compiler's own. (Who leaves a variable by an
 * address that is a number traps.) */
static bool depends_on_places(Plan *plan, const PlanLaunch *launch, const PtxModule *module,
                              const SimMemory *before, const SimMemory *after, const bool *skip,
                              uint64_t budget) {
    enum { MOVED_BYTES = 1024 };
    return changes_with(plan, launch, module, before, after, skip,
                        (PtxRunOptions){.budget = 2 * budget, .moved_bytes = MOVED_BYTES}, false);
}

/* Does it matter when copies in the background are done? The PTX reads what it has not waited for. */
static bool depends_on_copies(const Judge *judge, const PlanLaunch *launch) {
    SimMemory *memory[2];
    bool ran = true;
    MemDiff diff;
    Diags quiet = {.sink = silent};
    for (unsigned late = 0; late < 2; late++) {
        PtxRunOptions options = {.budget = 2 * ptx_budget(judge), .late_copies = late};
        PtxRunResult result = {0};
        memory[late] = simmem_clone(judge->before);
        ran = ran && memory[late] &&
              diff_run_ptx(judge->p, launch, judge->m, memory[late], &options, &result, &quiet) &&
              result.trap.kind == TRAP_NONE;
    }
    bool depends = ran && !diff_memory(memory[0], memory[1], judge->skip, &diff);
    for (unsigned late = 0; late < 2; late++)
        if (memory[late])
            simmem_free(memory[late]);
    return depends;
}

/* The machine's memory does not only differ where what PTX leaves open shows. */
static bool differs_elsewhere(const Judge *judge, const PlanLaunch *launch) {
    return judge_differs_elsewhere(&(OpenQuestion){.plan = judge->p,
                                                   .launch = launch,
                                                   .module = judge->m,
                                                   .budget = ptx_budget(judge),
                                                   .before = judge->before,
                                                   .ptx = judge->ptx,
                                                   .machine = judge->machine,
                                                   .skip = judge->skip});
}

/* `what` differs, memory or a trap; the note says why that is left open. */
static bool leaves_open(Judge *judge, const PlanLaunch *launch, const char *what, bool is_memory) {
    SimTrap open = {0};
    char line[300] = "the result depends on what nobody wrote";
    SimMemory *memory = simmem_clone(judge->before);
    bool found = launch_leaves_open(judge->p, launch, judge->m, memory, ptx_budget(judge), &open);
    if (found)
        sim_trap_print(&open, line, sizeof line);
    else if ((found = depends_on_copies(judge, launch)))
        snprintf(line, sizeof line, "the result depends on when copies are done that nobody waits for");
    else if (!(found = depends_on_unwritten(judge->p, launch, judge->m, judge->before, judge->ptx,
                                            judge->skip, ptx_budget(judge))) &&
             (found = depends_on_places(judge->p, launch, judge->m, judge->before, judge->ptx, judge->skip,
                                        ptx_budget(judge))))
        snprintf(line, sizeof line, "the result depends on where variables lie");
    if (memory)
        simmem_free(memory);
    found = found && !(is_memory && differs_elsewhere(judge, launch));
    if (found)
        note(judge->j, "%s, but PTX leaves it open: %s", what, line);
    return found;
}

bool judge_plan_leaves_open(Plan *plan, const PtxModule *module, uint64_t budget) {
    SimTrap open = {0};
    Diags quiet = {.sink = silent};
    SimMemory *memory = diff_first_memory(plan, module, &quiet);
    bool depends = false;
    for (uint32_t i = 0; memory && !depends && open.kind == TRAP_NONE && i < plan->launches.n; i++) {
        const PlanLaunch *launch = &plan->launches.at[i];
        SimMemory *before = simmem_clone(memory);
        const bool *skip = diff_skip(plan, memory, DIFF_MACHINE);
        if (before && !launch_leaves_open(plan, launch, module, memory, budget, &open))
            depends = depends_on_unwritten(plan, launch, module, before, memory, skip, budget) ||
                      depends_on_places(plan, launch, module, before, memory, skip, budget);
        if (before)
            simmem_free(before);
    }
    if (memory)
        simmem_free(memory);
    return depends || open.kind != TRAP_NONE;
}

static void judge_traps(Judge *judge, const PlanLaunch *launch, const PtxRunResult *run,
                        const SimTrap *machine) {
    const SimTrap *ptx = &run->trap;
    bool alike = trap_class(ptx->kind) == trap_class(machine->kind) ||
                 diff_traps_alike(judge->b, judge->opt->other.engine, ptx->kind, machine->kind);
    if (ptx->kind == TRAP_NONE && trap_class(machine->kind) == TRAP_DEADLOCK &&
        hangs_in_an_order(judge, launch)) {
        worse(judge->j, VERDICT_TRAP_ALIKE);
        note(judge->j, "PTX: finishes, but not in every order of threads; machine: %s",
             sim_trap_name(machine->kind));
    } else if (alike) {
        MemDiff diff;
        worse(judge->j, VERDICT_TRAP_ALIKE);
        note(judge->j, "%s", sim_trap_name(ptx->kind));
        judge->alone = ptx->kind == TRAP_INSTRUCTION && machine->kind == TRAP_INSTRUCTION &&
                       launch_threads(launch) == 1 &&
                       diff_memory(judge->ptx, judge->machine, judge->skip, &diff);
    } else if (machine->kind != TRAP_NONE &&
               leaves_open(judge, launch, sim_trap_name(machine->kind), false)) {
        worse(judge->j, VERDICT_UNDEFINED);
    } else {
        worse(judge->j, sim_trap_is_undefined(ptx->kind) ? VERDICT_UNDEFINED : VERDICT_DIFFERS);
        note(judge->j, "PTX: %s, %s: %s", ptx->kind ? sim_trap_name(ptx->kind) : "finishes",
             judge->opt->other.engine == DIFF_MACHINE ? "machine" : "card",
             machine->kind ? sim_trap_name(machine->kind) : "finishes");
    }
    first_difference(judge);
}

/* `unordered`: the launch has stores that nothing orders; `undefined`: it reads what PTX says nothing of. */
static void judge_memory(Judge *judge, const PlanLaunch *l, bool unordered, bool undefined) {
    MemDiff diff;
    bool equal = diff_memory(judge->ptx, judge->machine, judge->skip, &diff);
    if (judge->j->nharmful) {
        note(judge->j, "memory %s", equal ? "equal" : "differs");
        return;
    }
    Orders o = {0};
    if (!equal || !judge->order_free)
        o = judge_try_orders(&(OrdersQuestion){
            .plan = judge->p,
            .launch = l,
            .module = judge->m,
            .binary = judge->b,
            .other = &judge->opt->other,
            .options = &judge->opt->machine,
            .budget = longest_order(judge) < ptx_budget(judge) ? longest_order(judge) : ptx_budget(judge),
            .late_copies = !judge->race_free,
            .orders = judge->opt->orders,
            .before = judge->before,
            .ptx = judge->ptx,
            .machine = judge->machine,
            .skip = judge->skip,
            .equal = equal,
            .other_moments = judge->other_moments});
    if (o.different && unordered) { /* of one value in the first order, not in another */
        worse(judge->j, VERDICT_RACY);
        note(judge->j, "memory %s; unordered stores, and %u orders of threads give another result",
             equal ? "equal" : "differs", o.different);
    } else if (o.sums && !o.different && o.apart == ORDERS_EXPLAIN) {
        worse(judge->j, VERDICT_ORDER);
        note(judge->j, "%s",
             equal ? "orders of threads give other sums of the same numbers"
                   : "the machine has other sums of the same numbers");
    } else if (o.active) {
        worse(judge->j, VERDICT_ORDER);
        note(judge->j, "the result depends on which lanes are active together, and is that of the machine's");
    } else if (o.different && o.apart == ORDERS_EXPLAIN) {
        worse(judge->j, VERDICT_ORDER);
        note(judge->j, "%u orders of threads give another result; the machine's is %s", o.different,
             equal         ? "that of the first order"
             : o.one_is_it ? "that of one of them"
                           : "none of them, but differs only as they do");
    } else if (!equal && undefined && !differs_elsewhere(judge, l)) {
        worse(judge->j, VERDICT_UNDEFINED);
        note(judge->j, "memory differs, but a value comes from a lane that takes no part");
    } else if (!equal) {
        Verdict verdict = judge_rounding(judge, l);
        if (verdict == VERDICT_DIFFERS && leaves_open(judge, l, "memory differs", true))
            verdict = VERDICT_UNDEFINED;
        if (verdict == VERDICT_DIFFERS && o.different && o.apart == ORDERS_LEAVE_OPEN) {
            verdict = VERDICT_UNKNOWN;
            if (judge->j->verdict < verdict)
                note(judge->j,
                     "%u orders of threads give another result; the machine's is none of them, and another "
                     "may "
                     "give it",
                     o.different);
        }
        worse(judge->j, verdict);
        if (verdict == VERDICT_DIFFERS)
            first_difference(judge);
    }
}

/* What the machine made of a launch, to compare with what other machine code makes of it. */
static void add_results(Judge *judge, SimTrapKind trap) {
    uint64_t hash = XXH64(&trap, sizeof trap, judge->j->results_hash);
    for (uint32_t i = 0; i < judge->machine->nallocs; i++)
        if (!judge->skip[i])
            hash = XXH64(judge->machine->allocs[i].data, judge->machine->allocs[i].size_bytes, hash);
    judge->j->results_hash = hash;
}

/* The same launch where warps run in another order and copies take longer: what differs then is judged like
 * any difference. */
static void judge_other_moments(Judge *judge, const PlanLaunch *launch, const MachineOptions *options,
                                const PtxRunResult *run, bool unordered, bool *stop) {
    SimTrap trap;
    MemDiff diff;
    SimMemory *memory = diff_run_again(judge->p, launch, judge->b, judge->before, options, &trap);
    if (!memory)
        return;
    bool equal = trap.kind == TRAP_NONE && diff_memory(judge->machine, memory, judge->skip, &diff);
    judge->other_moments = true;
    bool hangs = trap_class(trap.kind) == TRAP_DEADLOCK && hangs_in_an_order(judge, launch);
    SimMemory *unused = equal || hangs ? memory : judge->machine;
    if (unused != memory)
        judge->machine = memory;
    simmem_free(unused);
    judge->other_moments = !equal && !hangs;
    if (hangs) {
        worse(judge->j, VERDICT_ORDER);
        note(judge->j, "the PTX finishes, but not in every order of threads; machine, " MOMENTS_TEXT ": %s",
             sim_trap_name(trap.kind));
    }
    if (!judge->other_moments)
        return;
    note(judge->j, MOMENTS_TEXT);
    *stop = trap.kind != TRAP_NONE;
    if (*stop)
        judge_traps(judge, launch, run, &trap);
    else
        judge_memory(judge, launch, unordered, false);
    judge->other_moments = false;
}

/* False: reported. *stop after a trap. */
static bool judge_launch(Judge *judge, const PlanLaunch *launch, bool *stop) {
    PtxRunOptions po = {.budget = ptx_budget(judge),
                        .find_races = !judge->race_free,
                        .reached = judge->cover.ptx,
                        .values = judge->automatic ? NULL : judge->cover.values}; /* the search has looked */
    PtxRunResult pr = {0};
    MachineOptions mo = judge->opt->machine;
    MachineResult mr = {0};
    Diags quiet = {.sink = silent};
    mo.reached = judge->cover.machine;
    if (judge->before)
        simmem_free(judge->before);
    judge->before = simmem_clone(judge->ptx);
    if (!judge->before)
        return diag(judge->d, (SrcLoc){0}, DIAG_E0502, "no memory on this host");
    if (!diff_run_ptx(judge->p, launch, judge->m, judge->ptx, &po, &pr, judge->d))
        return false;
    /* (a launch that was searched for does not depend on such values, or it is open) */
    bool unordered = pr.nraces != 0,
         undefined = pr.first_warning.kind == TRAP_COLLECTIVE && !judge->automatic;
    bool overrun = pr.first_warning.kind == TRAP_OUT_OF_RANGE;
    judge->executed = pr.thread_insns;
    keep_races(judge->j, &pr);
    if (!mo.max_issues)
        mo.max_issues = diff_machine_budget(&pr);
    const DiffOther *other = &judge->opt->other;
    if (!diff_run_other(judge->p, launch, judge->b, other, judge->machine, &mo, &mr, &quiet)) {
        machine_result_free(&mr); /* it could not start: once more for the message */
        return diff_run_other(judge->p, launch, judge->b, other, judge->machine, &mo, &mr, judge->d);
    }
    machine_result_free(&mr);
    if (diff_unfinished(&pr, &mr.trap, judge->d))
        return false;
    bool stack = mr.trap.kind != pr.trap.kind && (mr.trap.kind == TRAP_STACK || pr.trap.kind == TRAP_STACK);
    if (mr.trap.kind == TRAP_UNSUPPORTED || pr.trap.kind == TRAP_UNSUPPORTED ||
        stack) { /* says nothing about the code: frames are not equally large */
        char line[512];
        sim_trap_print(mr.trap.kind == TRAP_UNSUPPORTED || !pr.trap.kind ? &mr.trap : &pr.trap, line,
                       sizeof line);
        return diag(judge->d, (SrcLoc){0}, DIAG_E0516, line);
    }
    Judgement *judgement = judge->j;
    judgement->launches++;
    judgement->threads += launch_threads(launch);
    judgement->ptx_insns += pr.thread_insns;
    judgement->machine_issues += mr.stats.issues;
    judge->stores += pr.stores;
    *stop = pr.trap.kind != TRAP_NONE || mr.trap.kind != TRAP_NONE;
    if (judgement->nharmful)
        worse(judgement, VERDICT_RACY);
    if (overrun) {
        char line[300];
        sim_trap_print(&pr.first_warning, line, sizeof line);
        note(judgement, "%s", line);
        worse(judgement, VERDICT_UNDEFINED);
        *stop = true;
        return true;
    }
    if (judge->open) {
        worse(judgement, VERDICT_UNDEFINED);
        note(judgement, "the result depends on what nobody wrote, or on where variables lie");
        MemDiff diff;
        if (!*stop && judge->race_free && judge->order_free &&
            !diff_memory(judge->ptx, judge->machine, judge->skip, &diff) &&
            differs_elsewhere(judge, launch)) {
            worse(judgement, VERDICT_DIFFERS);
            note(judgement, "memory differs where it does not");
            first_difference(judge);
        }
        *stop = true;
        return true;
    }
    if (*stop && (!judgement->nharmful || trap_class(pr.trap.kind) == trap_class(mr.trap.kind)))
        judge_traps(judge, launch, &pr, &mr.trap);
    for (uint32_t i = 0; i < launch->unordered.n; i++)
        for (uint32_t k = 0; k < judge->ptx->nallocs; k++)
            judge->skip[k] |=
                judge->ptx->allocs[k].address == judge->p->buffers.at[launch->unordered.at[i]].address;
    add_results(judge, mr.trap.kind);
    if (!*stop)
        judge_memory(judge, launch, unordered, undefined);
    if (!*stop && judgement->verdict == VERDICT_EQUAL && other->engine == DIFF_MACHINE)
        judge_other_moments(judge, launch, &mo, &pr, unordered, stop);
    if (sim_trap_is_promise(pr.first_warning.kind) && !*stop) {
        char line[300];
        sim_trap_print(&pr.first_warning, line, sizeof line);
        note(judgement, "%s", line);
        worse(judgement, VERDICT_UNDEFINED);
    }
    *stop |= judgement->verdict == VERDICT_DIFFERS;
    return true;
}

/* A launch was judged, before which verdict and note were these. What the launch that gave the verdict says
 * stands first, and what earlier ones said is said to be of these; one that does not change the verdict has
 * nothing to add. */
static void settle_note(Judgement *judgement, Verdict old, const char *before) {
    size_t said = strlen(before), all = strlen(judgement->note), own = said + strlen("; ");
    if (judgement->launches <= 1 || (judgement->verdict != old && !said))
        return;
    bool adds = judgement->verdict != old && all > own;
    memmove(judgement->note, judgement->note + (adds ? own : 0), all - (adds ? own : 0) + 1);
    if (adds)
        note(judgement, "of an earlier launch: %s", before);
    else
        judgement->note[said] = 0;
}

static bool judge_launches(Judge *judge) {
    bool stop = false;
    for (uint32_t i = 0; !stop && i < judge->p->launches.n; i++)
        for (uint32_t k = 0; !stop && k < judge->p->launches.at[i].repeat; k++) {
            char before[sizeof judge->j->note];
            memcpy(before, judge->j->note, sizeof before);
            Verdict old = judge->j->verdict;
            if (!judge_launch(judge, &judge->p->launches.at[i], &stop))
                return false;
            settle_note(judge->j, old, before);
            if (!stop && judge->j->verdict != VERDICT_EQUAL) { /* both go on with one result */
                simmem_free(judge->machine);
                judge->machine = simmem_clone(judge->ptx);
                stop = !judge->machine;
            }
        }
    for (uint32_t i = 0; i < judge->ptx->nallocs; i++)
        judge->j->compared_bytes += judge->skip[i] ? 0 : judge->ptx->allocs[i].size_bytes;
    uint32_t failures = 0;
    if (!stop && !plan_check(judge->p, judge->machine, &failures, judge->d))
        return false;
    if (failures) {
        worse(judge->j, VERDICT_WRONG);
        note(judge->j, "%u expected result%s wrong", failures, failures == 1 ? " is" : "s are");
    }
    return true;
}

/* Run one plan and add to the judgement. */
static bool add_plan(Judge *judge) {
    judge->ptx = diff_first_memory(judge->p, judge->m, judge->d);
    bool good = judge->ptx != NULL;
    judge->machine = good ? simmem_clone(judge->ptx) : NULL;
    if (good && !judge->machine)
        good = diag(judge->d, (SrcLoc){0}, DIAG_E0502, "no memory on this host");
    if (good) {
        judge->skip = diff_skip(judge->p, judge->ptx, judge->opt->other.engine);
        good = judge_launches(judge);
    }
    SimMemory *all[] = {judge->ptx, judge->machine, judge->before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            simmem_free(all[i]);
    judge->ptx = judge->machine = judge->before = NULL;
    return good;
}

/* ---- a kernel ---- */

/* Functions that a kernel may execute, when no flow analysis has told. */
static const uint8_t *callees(const PtxModule *module, const Plan *plan, Arena *arena, const char **kernel,
                              Diags *d) {
    AutoFlow flow;
    uint8_t *all = ARENA_ARRAY(arena, uint8_t, module->nfuncs + 1);
    for (uint32_t i = 0; i < plan->launches.n; i++) {
        const char *name = diff_ptx_kernel(plan, module, &plan->launches.at[i], d);
        uint32_t index = name ? ptx_find_func(module, name) : 0;
        *kernel = *kernel ? *kernel : name;
        if (!index)
            return NULL;
        auto_flow(module, index - 1, arena, &flow);
        for (uint32_t f = 0; f < module->nfuncs; f++)
            all[f] |= flow.funcs[f];
    }
    return all;
}

/* The statements that were reached and whose operands do not tell them from all neighbours. */
static void list_unseen(Judge *judge, const uint8_t *funcs) {
    Judgement *judgement = judge->j;
    uint32_t cap = judgement->values.total - judgement->values.reached;
    judgement->unseen = mem_zeroed(cap + 1u, sizeof *judgement->unseen);
    for (uint32_t f = 0; f < judge->m->nfuncs; f++)
        for (uint32_t i = 0; funcs[f] && i < judge->m->funcs[f].ninsns; i++) {
            const PtxInsn *in = &judge->m->funcs[f].insns[i];
            uint32_t missing = coverage_missing(&judge->cover, judge->m, f, i);
            if (!missing || judgement->nunseen == cap)
                continue;
            JudgeUnseen *unseen = &judgement->unseen[judgement->nunseen++];
            *unseen = (JudgeUnseen){.line = ptx_line(judge->m, in), .classes = missing};
            snprintf(unseen->text, sizeof unseen->text, "%s%s", ptx_op_name((PtxOp)in->op),
                     str_text(&judge->m->strings, in->mods_text));
        }
}

static void count_blocks(Judge *judge, const uint8_t *funcs, const char *const *kernels, uint32_t nkernels) {
    BinFlow *flow = bin_flow_new(judge->b);
    judge->j->ptx = coverage_ptx(&judge->cover, judge->m, funcs);
    judge->j->values = coverage_values(&judge->cover, judge->m, funcs);
    list_unseen(judge, funcs);
    judge->j->nmissed = coverage_missed(&judge->cover, judge->m, funcs, NULL);
    judge->j->missed = mem_zeroed(judge->j->nmissed + 1u, sizeof *judge->j->missed);
    coverage_missed(&judge->cover, judge->m, funcs, judge->j->missed);
    for (uint32_t i = 0; flow && i < nkernels; i++) {
        bool again = false;
        for (uint32_t k = 0; k < i; k++)
            again |= strcmp(kernels[i], kernels[k]) == 0;
        again |= judge->opt->other.engine != DIFF_MACHINE; /* a card counts nothing */
        Covered c = again ? (Covered){0, 0} : coverage_machine(&judge->cover, flow, kernels[i]);
        judge->j->machine.reached += c.reached;
        judge->j->machine.total += c.total;
    }
    bin_flow_free(flow);
}

static void judge_coverage(Judge *judge, const uint8_t *funcs) {
    Judgement *judgement = judge->j;
    uint32_t harmless = judgement->nraces -
                        (judgement->nharmful < judgement->nraces ? judgement->nharmful : judgement->nraces);
    if (judgement->verdict == VERDICT_TRAP_ALIKE && judge->alone &&
        judgement->machine.reached == judgement->machine.total &&
        coverage_only_traps(&judge->cover, judge->m, funcs)) {
        judgement->verdict = VERDICT_EQUAL;
        judgement->diff_plan = NULL;
        return;
    }
    Covered machine = judgement->machine;
    bool few_values = judge->automatic && judgement->values.total >= FEW_CLASSES &&
                      covered_part(judgement->values) < AUTO_ENOUGH_VALUES;
    bool few_blocks = judge->automatic && covered_part(machine) < AUTO_ENOUGH_MACHINE;
    bool little = (!judge->stores &&
                   !(coverage_is_whole(&judge->cover, judge->m, funcs) &&
                     judgement->machine.reached == judgement->machine.total) &&
                   coverage_may_show(&judge->cover, judge->m, funcs)) ||
                  (judge->automatic && covered_part(judgement->ptx) < AUTO_ENOUGH) || few_blocks ||
                  few_values;
    if (little && verdict_status(judgement->verdict) == STATUS_DONE) {
        judgement->verdict = VERDICT_LITTLE_COVERED;
        if (few_blocks)
            note(judgement, "%u of %u machine blocks", machine.reached, machine.total);
        if (few_values)
            note(judgement, "%u of %u operand classes", judgement->values.reached, judgement->values.total);
    }
    if (!judge->stores && verdict_status(judgement->verdict) != STATUS_DIFFERS)
        note(judgement, "nothing is stored");
    if (judgement->nharmful)
        note(judgement, "%u race%s", judgement->nharmful, judgement->nharmful == 1 ? "" : "s");
    if (harmless && judgement->verdict != VERDICT_RACY)
        note(judgement, "unordered stores of the same value");
}

/* A file whose contents differ, or that reserves too little for its code, is wrong whatever its launches
 * show.
 */
static bool file_differs(Judge *judge, const char *kernel) {
    Judgement *judgement = judge->j;
    char text[sizeof judge->odd];
    CheckFile what = CHECK_FILE_KEPT;
    if (!bin_contents_differ(judge->m, judge->b, kernel, text, sizeof text) &&
        (what = check_beside_code(judge->b, kernel, text, sizeof text)) != CHECK_FILE_WRONG) {
        if (what == CHECK_FILE_ODD)
            snprintf(judge->odd, sizeof judge->odd, "%s", text);
        return false;
    }
    judgement->verdict = VERDICT_DIFFERS;
    snprintf(judgement->note, sizeof judgement->note, "the file: %s", text);
    return true;
}

/* What was run is what was read here; a loader may read something else. */
static void judge_form(Judge *judge) {
    Judgement *judgement = judge->j;
    if (!judge->odd[0])
        return;
    if (verdict_status(judgement->verdict) == STATUS_DONE || judgement->verdict == VERDICT_LITTLE_COVERED)
        judgement->verdict = VERDICT_UNKNOWN;
    note(judgement, "the file: %s", judge->odd);
}

bool judge_plan(Plan *plan, const PtxModule *m, const Binary *b, const JudgeOptions *opt, Judgement *j,
                Diags *d) {
    *j = (Judgement){0};
    JudgeOptions compared = *opt;
    diff_unwritten(&compared.machine);
    Judge g = {.m = m, .b = b, .opt = &compared, .p = plan, .j = j, .d = d};
    if (file_differs(&g, NULL))
        return true;
    diff_prepare(plan, m, b);
    Arena arena = {0};
    const char *kernel = NULL;
    coverage_new(&g.cover, &arena, m, b);
    const uint8_t *funcs = callees(m, plan, &arena, &kernel, d);
    bool good = funcs && add_plan(&g);
    if (good) {
        const char **kernels = ARENA_ARRAY(&arena, const char *, plan->launches.n + 1);
        for (uint32_t i = 0; i < plan->launches.n; i++)
            kernels[i] = plan->launches.at[i].kernel ? plan->launches.at[i].kernel : kernel;
        count_blocks(&g, funcs, kernels, plan->launches.n);
        judge_coverage(&g, funcs);
        judge_form(&g);
    }
    arena_free(&arena);
    return good;
}

static void keep_error(void *user, Severity severity, const char *line) {
    Judgement *judgement = user;
    const char *text = strstr(line, "error E");
    if (severity != SEV_ERROR || judgement->note[0])
        return;
    snprintf(judgement->note, sizeof judgement->note, "%s", text ? text + 6 : line);
    judgement->note[strcspn(judgement->note, "\n")] = 0;
}

void judge_auto(const PtxModule *m, const Binary *b, const char *kernel, const JudgeOptions *opt,
                AutoLaunches *launches, Judgement *judgement) {
    *judgement = (Judgement){0};
    const TargetInfo *info = isa_target_info(b->target);
    AutoOptions ao = {.seed = opt->seed,
                      .most_shared_bytes = info->max_shared_bytes,
                      .shared_base_bytes = info->shared_base_bytes};
    Diags d = {.sink = keep_error, .user = judgement};
    if (!launches->funcs)
        auto_launch(m, kernel, &ao, launches);
    JudgeOptions compared = *opt;
    diff_unwritten(&compared.machine);
    Judge g = {.m = m, .b = b, .opt = &compared, .j = judgement, .d = &d, .automatic = true};
    if (file_differs(&g, kernel))
        return;
    if (!launches->nplans) {
        judgement->verdict = VERDICT_NOT_RUN;
        snprintf(judgement->note, sizeof judgement->note, "%s", launches->reason);
        return;
    }
    coverage_new(&g.cover, &launches->arena, m, b);
    g.cover.values = launches->seen;
    g.cover.fixed = launches->fixed;
    bool good = true;
    for (uint32_t i = 0; good && i < launches->nplans && judgement->verdict != VERDICT_DIFFERS; i++) {
        g.p = launches->plans[i];
        diff_prepare(g.p, m, b);
        g.race_free = launches->race_free[i];
        g.order_free = launches->order_free[i];
        g.open = launches->open;
        good = add_plan(&g);
    }
    if (!good) {
        judgement->verdict = VERDICT_NOT_RUN;
        return;
    }
    count_blocks(&g, launches->funcs, &kernel, 1);
    judge_coverage(&g, launches->funcs);
    judge_form(&g);
    if (launches->racing && judgement->verdict != VERDICT_RACY)
        note(judgement, "%u of %u launches tried have races%s", launches->racing, launches->tried,
             launches->racing_rows == launches->racing ? ", all in blocks of several rows" : "");
}

void judgement_free(Judgement *judgement) {
    mem_free(judgement->races);
    mem_free(judgement->unseen);
    mem_free(judgement->missed);
    judgement->races = NULL;
    judgement->unseen = NULL;
    judgement->missed = NULL;
}
