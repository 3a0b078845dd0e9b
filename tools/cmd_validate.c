/* heddle validate: PTX reference interpreter against the machine.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/diff.h"
#include "emit/object.h"
#include "tools/cli.h"
#include <stdlib.h>

/* The inputs are PTX files and objects; the last one may be the binary to compare with. */
static bool read_inputs(Settings *s, PtxModule **m, Binary **b) {
    const char *last = s->inputs[s->ninputs - 1];
    char *data = NULL;
    size_t size = 0;
    if (s->ninputs > 1 && !file_read(&s->arena, last, &s->diags, &data, &size))
        return false;
    bool given = data && cli_is_elf(data, size) && !object_is(data, size);
    *m = cli_read_modules(s, s->ninputs - given);
    if (*m)
        *b = given ? cli_load(s, last, data, size) : cli_compile_to_binary(s, *m, s->inputs[0]);
    return *b != NULL;
}

int cmd_validate(Settings *s) {
    if (!cli_read_plan(s))
        return STATUS_INPUT;
    PtxModule *m = NULL;
    Binary *b = NULL;
    bool good = read_inputs(s, &m, &b);
    DiffOptions opt = {
        .ptx = {.seed = s->seed, .budget = s->budget}, .machine = s->machine, .no_trace = s->no_trace};
    DiffReport r;
    int status = STATUS_INPUT;
    if (good && diff_validate(&s->plan, m, b, &opt, &r, &s->diags)) {
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
