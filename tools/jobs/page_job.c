/* The page of one kernel: see page_job.h. Its launches are run here, and the lines of the source read.
 * SPDX-License-Identifier: MIT */
#include "tools/jobs/page_job.h"
#include "base/file.h"
#include "check/picture/page.h"
#include "check/validate/search/auto_launch.h"
#include "check/validate/compare/diff.h"
#include "sim/machine/machine.h"
#include <string.h>

typedef struct {
    const PageJob *job;
    Arena *arena;
    Diags *diags;
    Plan *plan; /* launches to run; NULL: none */
} Page;

/* ---- runs ---- */

static bool is_launch_of(const PlanLaunch *launch, const BinFunc *kernel) {
    return !launch->kernel || strcmp(launch->kernel, kernel->name) == 0;
}

/* All launches, of which those of the kernel are recorded. False: it could not be run (reported). */
static bool run_side(Page *page, PageSide *side, Lanes *lanes) {
    const Binary *binary = side->side->binary;
    const BinFunc *kernel = &binary->funcs[side->func];
    Plan *plan = page->plan;
    SimMemory *mem = plan_memory(plan, page->diags);
    MachineOptions options = {
        .trace_no_text = true, .trace_user = lanes, .max_issues = page->job->max_issues};
    bool good = mem != NULL, stopped = false;
    uint32_t n = 0;
    lanes_open(lanes, side->side->flow);
    for (uint32_t i = 0; good && !stopped && i < plan->launches.n; i++)
        for (uint32_t k = 0; good && !stopped && k < plan->launches.at[i].repeat; k++) {
            const PlanLaunch *launch = &plan->launches.at[i];
            MachineResult result = {0};
            bool recorded = is_launch_of(launch, kernel);
            options.trace = recorded ? lanes_record : NULL;
            good = diff_run_machine(plan, launch, binary, mem, &options, &result, page->diags) ||
                   result.trap.kind != TRAP_NONE;
            stopped = result.trap.kind != TRAP_NONE;
            if (stopped) {
                char text[512];
                sim_trap_print(&result.trap, text, sizeof text);
                side->run = arena_printf(page->arena, "the run ended with a trap: %s", text);
            }
            n += recorded;
            lanes->launch++;
            machine_result_free(&result);
        }
    if (mem)
        simmem_free(mem);
    if (good && !side->run)
        side->run = arena_printf(page->arena, "%u %slaunch%s of the kernel run", n,
                                 page->job->infer ? "inferred " : "", n == 1 ? "" : "es");
    side->lanes = lanes;
    return good;
}

/* False: there is none (reported). */
static bool infer_launches(Page *page, const char *kernel, Plan *plan) {
    AutoLaunches found = {0};
    auto_launch(page->job->ptx, kernel, &(AutoOptions){.seed = page->job->seed}, &found);
    bool good = found.nplans || diag(page->diags, (SrcLoc){0}, DIAG_E0502, found.reason);
    if (good)
        auto_launch_merge(&found, plan);
    auto_launch_free(&found);
    page->plan = plan;
    return good;
}

/* ---- source ---- */

static void read_sources(const Page *page, const Binary *binary, PageInput *input) {
    PageSource *sources = ARENA_ARRAY(page->arena, PageSource, binary->nfiles + 1);
    for (uint32_t k = 0; k < binary->nfiles; k++) {
        Diags quiet = {0};
        const char *name = binary->files[k], *base = strrchr(name, '/');
        char *text;
        sources[k].name = name;
        if (!*name)
            continue;
        const char *beside = arena_printf(page->arena, "%s%s", page->job->folder, base ? base + 1 : name);
        if (file_read(page->arena, name, &quiet, &text, &sources[k].size_bytes) ||
            file_read(page->arena, beside, &quiet, &text, &sources[k].size_bytes))
            sources[k].text = text;
    }
    input->sources = sources;
    input->nsources = binary->nfiles;
}

/* Does an instruction of the binary name a line of the source? */
static bool has_source(const Binary *binary) {
    for (uint32_t f = 0; f < binary->nfuncs; f++)
        for (uint32_t i = 0; binary->funcs[f].locs && i < binary->funcs[f].ninsts; i++)
            if (binary->funcs[f].locs[i].src_line)
                return true;
    return false;
}

/* ---- the page ---- */

static const BinFunc *same_kernel(const Binary *binary, const char *name) {
    const BinFunc *found = binary ? binary_find(binary, name) : NULL;
    return found && found->is_entry ? found : NULL;
}

static bool run_sides(Page *page, PageInput *input, Lanes lanes[2]) {
    if (!page->plan || !page->plan->launches.n)
        return true;
    return run_side(page, &input->ours, &lanes[0]) &&
           (!input->other.side || run_side(page, &input->other, &lanes[1]));
}

bool report_page_write(const PageJob *job, uint32_t kernel, FILE *out, Diags *diags) {
    Arena arena = {0};
    Plan inferred = {0};
    Page page = {.job = job, .arena = &arena, .diags = diags, .plan = job->plan};
    const Binary *binary = job->sides[0].binary, *compared = job->other ? job->sides[1].binary : NULL;
    const BinFunc *func = &binary->funcs[kernel], *other = same_kernel(compared, func->name);
    PageInput input = {.ours = {.side = &job->sides[0], .func = kernel, .name = job->name},
                       .ptx = job->ptx,
                       .decisions = job->decisions,
                       .note = job->note};
    Lanes lanes[2] = {{.flow = NULL}};
    if (other)
        input.other = (PageSide){
            .side = &job->sides[1], .func = (uint32_t)(other - compared->funcs), .name = job->other_name};
    else if (compared)
        input.note = arena_printf(&arena, "%s has no such kernel.", job->other_name);
    if (has_source(binary))
        read_sources(&page, binary, &input);
    bool good =
        (!job->infer || infer_launches(&page, func->name, &inferred)) && run_sides(&page, &input, lanes);
    if (good)
        page_write(&input, out);
    lanes_free(&lanes[0]);
    lanes_free(&lanes[1]);
    plan_free(&inferred);
    arena_free(&arena);
    return good;
}
