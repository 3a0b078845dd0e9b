/* Launch files: an error, or a plan; its text, where it has one, is a plan again.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan/plan.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_BYTES = 1 << 20 };

/* Buffers of a size that is not the host's trouble, and no files. */
static bool is_small(const Plan *plan) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->buffers.n; i++) {
        const PlanBuffer *buffer = &plan->buffers.at[i];
        if (buffer->count > MOST_BYTES || (buffer->init && buffer->init[0] == '@'))
            return false;
        bytes += buffer->count * buffer->type->size_bytes;
    }
    for (uint32_t i = 0; i < plan->checks.n; i++)
        if (plan->checks.at[i].equals)
            return false;
    return bytes <= MOST_BYTES;
}

static void check_memory(Plan *plan, Diags *diags) {
    uint32_t failures = 0;
    SimMemory *memory = plan_memory(plan, diags);
    if (memory && plan_read_expected(plan, diags))
        plan_check(plan, memory, &failures, diags);
    if (memory)
        simmem_free(memory);
}

static void print_again(const Plan *plan) {
    char *printed = plan_print_json(plan);
    if (!printed)
        abort();
    Source source = {"again.json", printed, strlen(printed)};
    Diags diags = {
        .source = &source, .sink = getenv("FUZZ_VERBOSE") ? diag_print_sink : NULL, .user = stderr};
    Plan again = {0};
    if (!plan_read_json(&again, &source, &diags))
        fuzz_broken("a plan's text is a plan", printed);
    plan_free(&again);
    free(printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    Source source = {"fuzz.json", text, size};
    Diags diags = {
        .source = &source, .sink = getenv("FUZZ_VERBOSE") ? diag_print_sink : NULL, .user = stderr};
    Plan plan = {0};
    bool good = plan_read_json(&plan, &source, &diags);
    if (good == (diags.nerrors != 0))
        fuzz_broken("there is a plan or an error", text);
    if (good)
        print_again(&plan);
    if (good && is_small(&plan))
        check_memory(&plan, &diags);
    plan_free(&plan);
    free(text);
    return 0;
}
