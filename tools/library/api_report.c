/* hd_report, hd_page: compile, and keep what was decided instead of the code.
 * SPDX-License-Identifier: MIT */
#include "tools/library/api.h"
#include "base/demangle.h"
#include "base/scope.h"
#include "tools/jobs/page_job.h"
#include "tools/jobs/report.h"
#include <string.h>

typedef struct {
    const HdCompileOptions *options;
    const HdPageOptions *page;
    HdReportForm form;
} ReportCall;

/* The kernel's index in Binary.funcs; false: there is no such, or not one alone (reported). */
static bool find_kernel(const Binary *binary, const HdPageOptions *page, uint32_t *kernel, Diags *d) {
    Arena arena = {0};
    const char *wanted = page->kernel ? page->kernel : page->launch ? page->launch->kernel : NULL;
    VEC(const char *) names = {0};
    uint32_t found = 0;
    for (uint32_t k = 0; k < binary->nfuncs; k++) {
        const BinFunc *f = &binary->funcs[k];
        if (!f->is_entry)
            continue;
        VEC_ADD(&arena, &names, f->name);
        if (!wanted || strcmp(f->name, wanted) == 0) {
            *kernel = k;
            found++;
        }
    }
    bool good = found == 1;
    if (!good) {
        const char *text = str_list_symbols(&arena, names.at, names.n);
        good = diag(d, (SrcLoc){0}, wanted ? DIAG_E0414 : DIAG_E0421, wanted ? wanted : text, text);
    }
    arena_free(&arena);
    return good;
}

static void write_page(ApiCall *call, const Compilation *compilation, Diags *d) {
    const ReportCall *asked = call->options;
    Binary *binary = binary_read(call->ptx->name, compilation->image, compilation->image_bytes, d);
    Plan plan = {0};
    uint32_t kernel = 0;
    call->status = HD_ERR_INPUT;
    if (asked->page->launch)
        hd_make_plan(&plan, asked->page->launch);
    if (binary && find_kernel(binary, asked->page, &kernel, d)) {
        cJSON *decisions = report_tree(compilation);
        PageJob job = {.sides = {figures_open(binary)},
                       .name = "Heddle",
                       .ptx = call->ptx->ptx,
                       .decisions = decisions,
                       .folder = "",
                       .plan = &plan,
                       .infer = asked->page->infer,
                       .seed = asked->page->seed,
                       .max_issues = asked->page->launch ? asked->page->launch->max_steps : 0};
        TextStream *stream = text_open();
        if (report_page_write(&job, kernel, stream->out, d))
            call->status = HD_OK;
        call->text = text_close(stream, NULL);
        if (call->status != HD_OK) {
            mem_free(call->text);
            call->text = NULL;
        }
        figures_close(&job.sides[0]);
        json_drop(decisions);
    }
    plan_free(&plan);
    binary_free(binary);
}

static void make_report(ApiCall *call) {
    const ReportCall *asked = call->options;
    Diags d = hd_diags(call->context);
    DriverOptions driver;
    Compilation compilation;
    hd_driver_options(asked->options, &driver); /* which was found right */
    driver.explain = true;
    driver.profiles = &(ProfileInput){"profile", asked->options->profile};
    driver.nprofiles = asked->options->profile != NULL;
    call->status = HD_ERR_INPUT;
    if (driver_compile(&compilation, call->ptx->ptx, &driver, &d)) {
        call->status = HD_OK;
        if (asked->form == HD_REPORT_HTML) {
            write_page(call, &compilation, &d);
        } else if (asked->form == HD_REPORT_JSON) {
            call->text = report_json(&compilation);
        } else {
            TextStream *stream = text_open();
            report_table(&compilation, stream->out);
            call->text = text_close(stream, NULL);
        }
    }
    driver_free(&compilation);
}

static HdStatus ask_report(HdModule *ptx, const HdCompileOptions *options, const HdPageOptions *page,
                           HdReportForm form, char **text) {
    static const HdCompileOptions defaults = {.opt_level = 2};
    ReportCall asked = {options ? options : &defaults, page, form};
    DriverOptions driver;
    if (text)
        *text = NULL;
    if (!ptx || !ptx->ptx || !text || !hd_driver_options(asked.options, &driver))
        return HD_ERR_USAGE;
    ApiCall call = {.context = ptx->context, .ptx = ptx, .options = &asked};
    HdStatus status = hd_run(make_report, &call);
    *text = call.text;
    return status;
}

HdStatus hd_report(HdModule *ptx, const HdCompileOptions *options, HdReportForm form, char **text) {
    if (text)
        *text = NULL;
    if ((unsigned)form > HD_REPORT_HTML || form == HD_REPORT_SARIF)
        return HD_ERR_USAGE;
    return ask_report(ptx, options, &(HdPageOptions){0}, form, text);
}

HdStatus hd_page(HdModule *ptx, const HdCompileOptions *options, const HdPageOptions *page, char **html) {
    static const HdPageOptions defaults = {0};
    page = page ? page : &defaults;
    if (html)
        *html = NULL;
    if (!ptx || (page->launch &&
                 (page->infer || page->launch->memory || !hd_launch_is_sound(page->launch, ptx->context))))
        return HD_ERR_USAGE;
    return ask_report(ptx, options, page, HD_REPORT_HTML, html);
}
