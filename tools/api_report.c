/* hd_report: compiles, and keeps what was decided instead of the code. SPDX-License-Identifier: MIT */
#include "tools/api.h"
#include "base/scope.h"
#include "tools/report.h"

typedef struct {
    const HdCompileOptions *options;
    HdReportForm form;
} ReportCall;

static void make_report(ApiCall *call) {
    const ReportCall *asked = call->options;
    Diags d = hd_diags(call->context);
    DriverOptions driver;
    Compilation compilation;
    hd_driver_options(asked->options, &driver); /* which hd_report has found right */
    driver.explain = true;
    driver.profiles = &(ProfileInput){"profile", asked->options->profile};
    driver.nprofiles = asked->options->profile != NULL;
    call->status = HD_ERR_INPUT;
    if (driver_compile(&compilation, call->ptx->ptx, &driver, &d)) {
        call->status = HD_OK;
        if (asked->form == HD_REPORT_JSON) {
            call->text = report_json(&compilation);
        } else {
            TextStream *stream = text_open();
            report_table(&compilation, stream->out);
            call->text = text_close(stream, NULL);
        }
    }
    driver_free(&compilation);
}

HdStatus hd_report(HdModule *ptx, const HdCompileOptions *options, HdReportForm form, char **text) {
    static const HdCompileOptions defaults = {.opt_level = 2};
    ReportCall asked = {options ? options : &defaults, form};
    DriverOptions driver;
    if (text)
        *text = NULL;
    if (!ptx || !ptx->ptx || !text || (unsigned)form > HD_REPORT_JSON ||
        !hd_driver_options(asked.options, &driver))
        return HD_ERR_USAGE;
    ApiCall call = {.context = ptx->context, .ptx = ptx, .options = &asked};
    HdStatus status = hd_run(make_report, &call);
    *text = call.text;
    return status;
}
