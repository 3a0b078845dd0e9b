/* heddle validate: PTX reference interpreter against the machine.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/diff.h"
#include "tools/cli.h"
#include <stdlib.h>

static Binary *second_binary(Settings *s, const PtxModule *m) {
    char *data;
    size_t size;
    if (s->ninputs < 2)
        return cli_compile_to_binary(s, m, s->inputs[0]);
    return file_read(&s->arena, s->inputs[1], &s->diags, &data, &size) ? cli_load(s, s->inputs[1], data, size)
                                                                       : NULL;
}

int cmd_validate(Settings *s) {
    if (!cli_read_plan(s))
        return STATUS_INPUT;
    PtxModule *m = cli_read_ptx(s, s->inputs[0]);
    Binary *b = m ? second_binary(s, m) : NULL;
    DiffOptions opt = {
        .ptx = {.seed = s->seed, .budget = s->budget}, .machine = s->machine, .no_trace = s->no_trace};
    DiffReport r;
    int status = STATUS_INPUT;
    if (b && diff_validate(&s->plan, m, b, &opt, &r, &s->diags)) {
        char *text = s->json ? diff_report_json(&r, &s->plan) : diff_report_text(&r, &s->plan);
        if (text)
            printf("%s%s", text, s->json ? "\n" : "");
        free(text);
        status = r.equal && !r.failed_checks ? STATUS_DONE : STATUS_DIFFERS;
    }
    binary_free(b);
    if (m)
        ptx_free(m);
    return status;
}
