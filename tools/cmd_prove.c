/* heddle prove: translation validation of machine code against its PTX.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/scope.h"
#include "check/prove/prove.h"
#include "tools/cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void progress(void *user, const char *func, uint32_t done, uint32_t total) {
    (void)user;
    fprintf(stderr, "\r%u of %u functions, %.60s\033[K", done, total, func);
    if (done == total)
        fprintf(stderr, "\r\033[K");
}

int cmd_prove(Settings *settings) {
    PtxModule *m = cli_read_ptx(settings, settings->inputs[0]);
    Binary *b = NULL;
    char *data = NULL;
    size_t size = 0;
    int status = STATUS_INPUT;
    if (m && settings->ninputs > 1 &&
        file_read(&settings->arena, settings->inputs[1], &settings->diags, &data, &size))
        b = cli_load(settings, settings->inputs[1], data, size);
    else if (m && settings->ninputs == 1)
        b = cli_compile_to_binary(settings, m, settings->inputs[0]);
    ProveOptions opt = {.query_seconds = settings->query_time,
                        .total_seconds = settings->total_time,
                        .kernel = settings->launch.kernel,
                        .progress = isatty(2) ? progress : NULL};
    ProveReport r = {0};
    if (b && prove_module(m, b, &opt, &r, &settings->diags)) {
        char *text = settings->json ? prove_report_json(&r) : prove_report_text(&r, settings->verbose);
        if (text)
            printf("%s%s", text, settings->json ? "\n" : "");
        mem_free(text);
        status = verdict_status(prove_verdict(&r));
    }
    prove_report_free(&r);
    binary_free(b);
    if (m)
        ptx_free(m);
    return status;
}
