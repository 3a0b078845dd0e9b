/* heddle report --html: what the pages show is gathered here: the binaries, a run of each, the lines of the
 * source. SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "check/picture/page.h"
#include "check/validate/diff.h"
#include "tools/cmd_report.h"
#include "tools/report.h"
#include <string.h>

/* ---- runs ---- */

static bool is_launch_of(const PlanLaunch *launch, const BinFunc *kernel) {
    return !launch->kernel || strcmp(launch->kernel, kernel->name) == 0;
}

/* All launches, of which those of the kernel are recorded. False: it could not be run (reported). */
static bool run_side(Settings *settings, PageSide *side, Lanes *lanes) {
    const Binary *binary = side->side->binary;
    const BinFunc *kernel = &binary->funcs[side->func];
    Plan *plan = &settings->plan;
    SimMemory *mem = plan_memory(plan, &settings->diags);
    MachineOptions options = {.trace_no_text = true, .trace_user = lanes};
    bool good = mem != NULL, stopped = false;
    uint32_t n = 0;
    lanes_open(lanes, side->side->flow);
    for (uint32_t i = 0; good && !stopped && i < plan->launches.n; i++)
        for (uint32_t k = 0; good && !stopped && k < plan->launches.at[i].repeat; k++) {
            const PlanLaunch *launch = &plan->launches.at[i];
            MachineResult result = {0};
            bool recorded = is_launch_of(launch, kernel);
            options.trace = recorded ? lanes_record : NULL;
            good = diff_run_machine(plan, launch, binary, mem, &options, &result, &settings->diags) ||
                   result.trap.kind != TRAP_NONE;
            stopped = result.trap.kind != TRAP_NONE;
            if (stopped) {
                char text[512];
                sim_trap_print(&result.trap, text, sizeof text);
                side->run = arena_printf(&settings->arena, "the run ended with a trap: %s", text);
            }
            n += recorded;
            lanes->launch++;
            machine_result_free(&result);
        }
    if (mem)
        simmem_free(mem);
    if (good && !side->run)
        side->run = arena_printf(&settings->arena, "%u launch%s of the kernel run", n, n == 1 ? "" : "es");
    side->lanes = lanes;
    return good;
}

/* ---- source ---- */

static void read_sources(Settings *settings, const Binary *binary, PageInput *page) {
    PageSource *sources = ARENA_ARRAY(&settings->arena, PageSource, binary->nfiles + 1);
    const char *slash = strrchr(settings->inputs[0], '/');
    int folder = slash ? (int)(slash + 1 - settings->inputs[0]) : 0;
    for (uint32_t k = 0; k < binary->nfiles; k++) {
        Diags quiet = {0};
        const char *name = binary->files[k], *base = strrchr(name, '/');
        char *text;
        sources[k].name = name;
        if (!*name)
            continue;
        const char *beside =
            arena_printf(&settings->arena, "%.*s%s", folder, settings->inputs[0], base ? base + 1 : name);
        if (file_read(&settings->arena, name, &quiet, &text, &sources[k].size_bytes) ||
            file_read(&settings->arena, beside, &quiet, &text, &sources[k].size_bytes))
            sources[k].text = text;
    }
    page->sources = sources;
    page->nsources = binary->nfiles;
}

/* Does an instruction of the binary name a line of the source? */
static bool has_source(const Binary *binary) {
    for (uint32_t f = 0; f < binary->nfuncs; f++)
        for (uint32_t i = 0; binary->funcs[f].locs && i < binary->funcs[f].ninsts; i++)
            if (binary->funcs[f].locs[i].src_line)
                return true;
    return false;
}

/* ---- pages ---- */

static const BinFunc *same_kernel(const Binary *binary, const char *name) {
    const BinFunc *found = binary ? binary_find(binary, name) : NULL;
    return found && found->is_entry ? found : NULL;
}

static bool write_page(const ReportSubject *subject, const FigureSide sides[2], const cJSON *decisions,
                       uint32_t kernel, const char *path) {
    Settings *settings = subject->settings;
    const BinFunc *func = &subject->binary->funcs[kernel], *other = same_kernel(subject->other, func->name);
    PageInput page = {.ours = {.side = &sides[0],
                               .func = kernel,
                               .name = subject->of_file ? settings->inputs[0] : "Heddle"},
                      .ptx = subject->ptx,
                      .decisions = decisions};
    Lanes lanes[2] = {{.flow = NULL}};
    bool good = true;
    if (other)
        page.other = (PageSide){
            .side = &sides[1], .func = (uint32_t)(other - subject->other->funcs), .name = settings->against};
    else if (subject->other)
        page.note = arena_printf(&settings->arena, "%s has no such kernel.", settings->against);
    else if (subject->of_file && subject->ptx && !subject->decided)
        page.note = "Its PTX now compiles to other code: what was decided of branches is not known.";
    if (has_source(subject->binary))
        read_sources(settings, subject->binary, &page);
    if (settings->plan.launches.n)
        good = run_side(settings, &page.ours, &lanes[0]) &&
               (!other || run_side(settings, &page.other, &lanes[1]));
    if (good) {
        TextStream *stream = text_open();
        size_t size;
        page_write(&page, stream->out);
        char *text = text_close(stream, &size);
        good = file_write(path, text, size, &settings->diags);
        mem_free(text);
    }
    lanes_free(&lanes[0]);
    lanes_free(&lanes[1]);
    return good;
}

/* DIR/kernel.html; what a file may not be called becomes '_', and a name that is changed or cut gets the
 * kernel's number. */
static const char *page_path(Settings *settings, const char *folder, const char *kernel, uint32_t number) {
    char *name = arena_printf(&settings->arena, "%.200s", kernel);
    for (char *c = name; *c; c++)
        if (*c == '/' || *c == '\\' || *c == ':' || (unsigned char)*c < 0x20)
            *c = '_';
    return strcmp(name, kernel) == 0 ? arena_printf(&settings->arena, "%s%s.html", folder, name)
                                     : arena_printf(&settings->arena, "%s%s-%u.html", folder, name, number);
}

bool report_pages(const ReportSubject *subject) {
    Settings *settings = subject->settings;
    const char *html = settings->report.html;
    bool folder = *html && html[strlen(html) - 1] == '/', good = true;
    uint32_t *kernels = ARENA_ARRAY(&settings->arena, uint32_t, subject->binary->nfuncs + 1), n;
    if (!report_kernels(subject, !folder, kernels, &n))
        return false;
    if ((settings->launch_file || settings->has_shape) && !cli_read_plan(settings))
        return false;
    FigureSide sides[2] = {figures_open(subject->binary)};
    if (subject->other)
        sides[1] = figures_open(subject->other);
    cJSON *decisions = subject->decided ? report_tree(&subject->compilation) : NULL;
    for (uint32_t k = 0; good && k < n; k++)
        good = write_page(
            subject, sides, decisions, kernels[k],
            folder ? page_path(settings, html, subject->binary->funcs[kernels[k]].name, kernels[k] + 1)
                   : html);
    if (decisions)
        json_drop(decisions);
    figures_close(&sides[0]);
    if (subject->other)
        figures_close(&sides[1]);
    return good;
}
