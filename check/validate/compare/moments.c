/* See moments.h. SPDX-License-Identifier: MIT */
#include "check/validate/compare/moments.h"
#include "check/validate/compare/diff.h"

static void unheard(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

MachineOptions diff_other_moments(const MachineOptions *options) {
    MachineOptions other = *options;
    other.warp_order = MACHINE_WARPS_DESCENDING;
    other.copies = MACHINE_COPIES_LATE;
    other.reached = NULL;
    other.trace = NULL;
    return other;
}

static bool has_shared_memory(Plan *plan, const PlanLaunch *launch, const Binary *binary) {
    Diags quiet = {.sink = unheard};
    const char *kernel = diff_binary_kernel(plan, binary, launch, &quiet);
    const BinFunc *func = kernel ? binary_find(binary, kernel) : NULL;
    return func && (func->shared_bytes || launch->shared_bytes);
}

SimMemory *diff_run_again(Plan *plan, const PlanLaunch *launch, const Binary *binary, const SimMemory *before,
                          const MachineOptions *options, SimTrap *trap) {
    Diags quiet = {.sink = unheard};
    MachineOptions other = diff_other_moments(options);
    SimMemory *memory = has_shared_memory(plan, launch, binary) ? simmem_clone(before) : NULL;
    if (!memory)
        return NULL;
    MachineResult result = {0};
    bool ran = diff_run_machine(plan, launch, binary, memory, &other, &result, &quiet) &&
               result.trap.kind != TRAP_UNSUPPORTED;
    *trap = result.trap;
    machine_result_free(&result);
    if (ran)
        return memory;
    simmem_free(memory);
    return NULL;
}
