/* heddle check, heddle explain: the static checker.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "check/static/check.h"
#include "tools/cli.h"
#include <stdlib.h>
#include <string.h>

/* The binary of the first input; PTX is compiled. */
static Binary *read_binary(Settings *settings) {
    char *data;
    size_t size;
    if (!cli_read_program(settings, settings->inputs[0], false, &data, &size))
        return NULL;
    if (cli_is_elf(data, size))
        return cli_load(settings, settings->inputs[0], data, size);
    PtxModule *m = cli_read_ptx(settings, settings->inputs[0]);
    Binary *b = m ? cli_compile_to_binary(settings, m, settings->inputs[0]) : NULL;
    if (m)
        ptx_free(m);
    return b;
}

static bool parse_rules(Settings *settings, uint64_t *rules) {
    size_t n;
    const char *unknown = check_rule_list(settings->check.rules, rules, &n);
    if (unknown)
        fprintf(stderr, "heddle check: --rules: there is no rule '%.*s'\n", (int)n, unknown);
    return !unknown;
}

int cmd_check(Settings *settings) {
    BinCheckOptions opt = {.no_hazards = settings->check.no_hazards};
    if (!parse_rules(settings, &opt.rules))
        return STATUS_USAGE;
    Binary *b = read_binary(settings);
    if (!b)
        return STATUS_INPUT;
    BinFlow *g = bin_flow_new(b);
    BinCheckReport r;
    check_binary(g, &opt, &r);
    char *text = settings->check.sarif ? check_report_sarif(g, &r)
                 : settings->json      ? check_report_json(g, &r)
                                       : check_report_text(g, &r);
    Verdict verdict = check_verdict(&r, BINFLOW_NONE);
    bool good = true;
    if (text && settings->model.on && settings->json && !settings->check.sarif) { /* both in one object */
        cJSON *all = json_object();
        json_add(all, "check", json_read(text));
        good = cli_model(settings, g, json_add_list(all, "model"), &verdict);
        mem_free(text);
        text = json_close(all);
    }
    if (text)
        printf("%s%s", text, settings->json || settings->check.sarif ? "\n" : "");
    if (settings->model.on && !settings->json && !settings->check.sarif)
        good = cli_model(settings, g, NULL, &verdict);
    mem_free(text);
    check_report_free(&r);
    bin_flow_free(g);
    binary_free(b);
    return good ? (int)verdict_status(verdict) : STATUS_INPUT;
}
