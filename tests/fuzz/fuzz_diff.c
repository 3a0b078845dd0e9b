/* PTX text through validation: each kernel runs in one block of 48 threads, every 64-bit parameter a buffer.
 * Where the reference interpreter finds a defined result, free of races, the compiled code must give it.
 * SPDX-License-Identifier: MIT */
#include "check/validate/judge/judge.h"
#include "tests/fuzz/fuzz.h"
#include "tools/jobs/driver.h"

enum { THREADS = 48, WORDS = 512, MAX_PARAMS = 16, PTX_BUDGET = 20000, MACHINE_BUDGET = 1 << 17 };

static void add_param(Plan *plan, PlanLaunch *launch, const PtxVar *var) {
    PlanArg arg = {.size_bytes = (uint32_t)var->size_bytes};
    if (var->size_bytes == 8) {
        PlanBuffer buffer = {.name = arena_printf(&plan->arena, "buffer%u", plan->buffers.n),
                             .type = scalar_find("u32", 3),
                             .count = WORDS,
                             .init = "iota"};
        arg.is_buffer = true;
        arg.buffer = plan->buffers.n;
        VEC_ADD(&plan->arena, &plan->buffers, buffer);
    } else {
        uint8_t *bytes = ARENA_ARRAY(&plan->arena, uint8_t, var->size_bytes + 1);
        bytes[0] = THREADS - 8;
        arg.bytes = bytes;
    }
    VEC_ADD(&plan->arena, &launch->args, arg);
}

static bool make_plan(Plan *plan, const PtxModule *module, const PtxFunc *func) {
    PlanLaunch launch = {.kernel = str_text(&module->strings, func->name),
                         .grid = {1, 1, 1},
                         .block = {THREADS, 1, 1},
                         .shared_bytes = 1024,
                         .repeat = 1};
    *plan = (Plan){0};
    if (func->nparams > MAX_PARAMS || func->reqntid[0])
        return false;
    for (uint32_t i = 0; i < func->nparams; i++) {
        const PtxVar *var = &module->vars[func->params[i]];
        if (var->size_bytes > 64)
            return false;
        add_param(plan, &launch, var);
    }
    VEC_ADD(&plan->arena, &plan->launches, launch);
    return true;
}

/* Is there a result that PTX defines? */
static bool is_defined(Plan *plan, const PtxModule *module, Diags *diags) {
    PtxRunOptions options = {.budget = PTX_BUDGET, .report_uninitialised = true, .find_races = true};
    PtxRunResult result = {0};
    SimMemory *memory = plan_memory(plan, diags);
    bool good = memory && interp_place_variables(module, memory, diags) &&
                diff_run_ptx(plan, plan->launches.at, module, memory, &options, &result, diags);
    good = good && result.trap.kind == TRAP_NONE && result.nwarnings == 0 && result.nraces == 0;
    interp_races_free(&result);
    if (memory)
        simmem_free(memory);
    return good;
}

static void compare(const PtxModule *module, const Binary *binary, const PtxFunc *func, Diags *diags) {
    Plan plan;
    Judgement judgement = {0};
    JudgeOptions options = {.budget = PTX_BUDGET, .machine = {.max_issues = MACHINE_BUDGET}};
    if (make_plan(&plan, module, func) && is_defined(&plan, module, diags) &&
        judge_plan(&plan, module, binary, &options, &judgement, diags)) {
        /* (traps alike: the PTX finishes in the order above, and not in others) */
        if (judgement.verdict == VERDICT_DIFFERS)
            fuzz_broken("compiled code means what the PTX means",
                        judgement_text(&judgement, str_text(&module->strings, func->name)));
        judgement_free(&judgement);
    }
    plan_free(&plan);
}

/* A module with large variables only takes time. */
static bool is_small(const PtxModule *module) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < module->nvars; i++) {
        if (module->vars[i].size_bytes > 65536)
            return false;
        bytes += module->vars[i].size_bytes;
    }
    return bytes <= 65536;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Diags diags = {.sink = getenv("FUZZ_VERBOSE") ? diag_print_sink : NULL, .user = stderr};
    PtxModule *ptx = ptx_parse("fuzz.ptx", (const char *)data, size, &diags);
    Compilation compiled = {0};
    Binary *binary = NULL;
    DriverOptions options = {.opt_level = size % 4};
    if (ptx && is_small(ptx) && driver_compile(&compiled, ptx, &options, &diags))
        binary = binary_read("fuzz", compiled.image, compiled.image_bytes, &diags);
    for (uint32_t i = 0; binary && i < ptx->nfuncs; i++)
        if (ptx->funcs[i].is_entry && ptx->funcs[i].has_body)
            compare(ptx, binary, &ptx->funcs[i], &diags);
    binary_free(binary);
    driver_free(&compiled);
    ptx_free(ptx);
    return 0;
}
