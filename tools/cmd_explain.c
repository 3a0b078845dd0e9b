/* heddle explain: what a rule or a message means, and lists of all that there is.
 * SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "check/static/check.h"
#include "tools/cli.h"
#include "tools/explain.h"
#include <string.h>

static const struct {
    const char *name;
    void (*print)(FILE *out);
} topics[] = {{"errors", report_codes}, {"ptx", report_ptx_forms}, {"isa", report_operations}};

static void print_names(FILE *out) {
    for (unsigned k = 0; k < CR_COUNT; k++)
        fprintf(out, " %s", check_rule((CheckRule)k)->id);
    fputs(" and E-BAR-PARTIAL and the like, the codes of messages as E0104, and the lists", out);
    for (unsigned k = 0; k < sizeof topics / sizeof *topics; k++)
        fprintf(out, " %s", topics[k].name);
    fputc('\n', out);
}

int cmd_explain(Settings *settings) {
    const char *name = settings->inputs[0];
    if (!name) {
        fputs("There are", stdout);
        print_names(stdout);
        return STATUS_DONE;
    }
    for (unsigned k = 0; k < sizeof topics / sizeof *topics; k++)
        if (strcmp(topics[k].name, name) == 0) {
            topics[k].print(stdout);
            return STATUS_DONE;
        }
    char *text = report_explain(name);
    if (!text) {
        fprintf(stderr, "heddle explain: there is no rule '%s'; there are", name);
        print_names(stderr);
        return STATUS_USAGE;
    }
    fputs(text, stdout);
    mem_free(text);
    return STATUS_DONE;
}
