/* A plan as a caller gave it: both executions once, judged as a whole only where that is not enough.
 * SPDX-License-Identifier: MIT */
#include "check/validate/judge/judge.h"
#include "base/scope.h"
#include <string.h>

/* How many of the machine's basic blocks the launches executed, of their kernels and what these call. */
static void count_blocks(Plan *plan, const Binary *binary, uint8_t *reached, DiffReport *report) {
    Coverage cover = {.machine = reached};
    BinFlow *flow = bin_flow_new(binary);
    const char **kernels = ARENA_ARRAY(&plan->arena, const char *, plan->launches.n + 1);
    Diags quiet = {0};
    for (uint32_t i = 0; i < plan->launches.n; i++) {
        kernels[i] = diff_binary_kernel(plan, binary, &plan->launches.at[i], &quiet);
        bool again = !kernels[i];
        for (uint32_t k = 0; k < i && !again; k++)
            again = kernels[k] && strcmp(kernels[k], kernels[i]) == 0;
        Covered one = again ? (Covered){0} : coverage_machine(&cover, flow, kernels[i]);
        report->blocks += one.total;
        report->blocks_executed += one.reached;
    }
    bin_flow_free(flow);
}

bool judge_compare(Plan *plan, const PtxModule *module, const Binary *binary, const JudgeOptions *opt,
                   bool always, Comparison *comparison, Diags *diags) {
    DiffOptions once = {.ptx = {.seed = opt->seed, .budget = opt->budget},
                        .machine = opt->machine,
                        .other = opt->other,
                        .tolerance = opt->tolerance,
                        .no_trace = opt->no_trace};
    *comparison = (Comparison){.judged = always};
    if (!always) {
        DiffReport *report = &comparison->as.report;
        Arena arena = {0};
        uint8_t *reached = ARENA_ARRAY(&arena, uint8_t, binary->ncode + 1);
        if (!once.machine.reached && once.other.engine == DIFF_MACHINE)
            once.machine.reached = reached; /* a card counts nothing */
        bool done = diff_validate(plan, module, binary, &once, report, diags);
        if (done && report->equal && once.machine.reached)
            count_blocks(plan, binary, once.machine.reached, report);
        arena_free(&arena);
        if (!done)
            return false;
        comparison->verdict = diff_verdict(report);
        bool stopped = report->ptx_trap.kind == TRAP_BUDGET ||
                       (report->machine_trap.kind == TRAP_BUDGET && !report->other_moments);
        comparison->judged =
            comparison->verdict == VERDICT_DIFFERS && !stopped &&
            (report->other_moments || auto_sees_order(module, NULL) || auto_communicates(module) ||
             judge_plan_leaves_open(plan, module, once.ptx.budget));
    }
    if (!comparison->judged)
        return true;
    Judgement *judgement = &comparison->as.judgement;
    bool good = judge_plan(plan, module, binary, opt, judgement, diags);
    comparison->verdict = judgement->verdict;
    if (!good)
        judgement_free(judgement);
    return good;
}

char *judge_compare_text(const Comparison *comparison, const Plan *plan, const char *kernels) {
    return comparison->judged ? judgement_text(&comparison->as.judgement, kernels)
                              : diff_report_text(&comparison->as.report, plan);
}

char *judge_compare_json(const Comparison *comparison, const Plan *plan, const char *kernels) {
    return comparison->judged ? judgement_json(&comparison->as.judgement, kernels)
                              : diff_report_json(&comparison->as.report, plan);
}

void judge_compare_free(Comparison *comparison) {
    if (comparison->judged)
        judgement_free(&comparison->as.judgement);
}
