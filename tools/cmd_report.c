/* heddle report: compiles and tells what was decided, without a file.
 * SPDX-License-Identifier: MIT */
#include "tools/cli.h"
#include "base/scope.h"
#include "tools/report.h"
#include <stdlib.h>

int cmd_report(Settings *settings) {
    PtxModule *m = cli_read_ptx(settings, settings->inputs[0]);
    if (!m)
        return STATUS_INPUT;
    if (settings->against) {
        bool done = cli_against(settings, m);
        ptx_free(m);
        return done ? STATUS_DONE : STATUS_INPUT;
    }
    Compilation c;
    DriverOptions opt = cli_driver_options(settings);
    opt.explain = true;
    bool good = driver_compile(&c, m, &opt, &settings->diags);
    if (good && settings->json) {
        char *text = report_json(&c);
        puts(text ? text : "{}");
        mem_free(text);
    } else if (good)
        report_table(&c, stdout);
    driver_free(&c);
    ptx_free(m);
    return good ? STATUS_DONE : STATUS_INPUT;
}
