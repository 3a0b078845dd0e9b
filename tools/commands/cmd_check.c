/* heddle check, heddle explain: the static checker.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "check/static/check.h"
#include "tools/cli/cli.h"
#include <stdlib.h>
#include <string.h>

/* The binary of the first input; PTX is compiled, what of it can be. */
static Binary *read_binary(Settings *settings, CliNames *left_out) {
    char *data;
    size_t size;
    if (!cli_read_program(settings, settings->inputs[0], false, &data, &size))
        return NULL;
    if (cli_is_elf(data, size))
        return cli_load(settings, settings->inputs[0], data, size);
    settings->keep_going = true;
    PtxModule *m = cli_read_ptx(settings, settings->inputs[0]);
    Binary *b = m ? cli_compile_most(settings, m, settings->inputs[0], left_out) : NULL;
    if (m)
        ptx_free(m);
    return b;
}

static bool parse_rules(Settings *settings, BinCheckOptions *options) {
    size_t n, size;
    const char *unknown = check_rule_list(settings->check.rules, &options->rules, &n);
    const char *wrong = check_severity_list(settings->check.severity, options->severity, &size);
    if (unknown) {
        fprintf(stderr, "heddle check: --rules: there is no rule '%.*s', there are", (int)n, unknown);
        for (unsigned k = 0; k < CR_COUNT; k++)
            fprintf(stderr, "%s %s", k ? "," : "", check_rule((CheckRule)k)->id);
        fputc('\n', stderr);
    }
    if (wrong)
        fprintf(
            stderr,
            "heddle check: --severity: '%.*s' is not a rule and error, warning, note or off, as R-24=note\n",
            (int)size, wrong);
    uint64_t left = options->rules;
    for (unsigned k = 0; k < CR_COUNT && options->no_hazards; k++)
        if (check_rule((CheckRule)k)->id[0] == 'H')
            left &= ~((uint64_t)1 << k);
    bool none = options->rules && !left;
    if (none)
        fprintf(stderr, "heddle check: --no-hazards leaves none of the --rules\n");
    return !unknown && !wrong && !none;
}

static bool leave_known(Settings *settings, const BinFlow *flow, BinCheckReport *report) {
    char *text;
    size_t size;
    if (!settings->check.baseline)
        return true;
    return file_read(&settings->arena, settings->check.baseline, &settings->diags, &text, &size) &&
           (check_leave_known(report, flow, text) ||
            diag(&settings->diags, (SrcLoc){0}, DIAG_E0412, settings->check.baseline,
                 "a baseline is what heddle check --json prints"));
}

/* The report's text with the verdicts on kernels that have no code. */
static char *add_left_out(char *text, const CliNames *names) {
    cJSON *report = json_read(text), *verdicts = cJSON_GetObjectItemCaseSensitive(report, "verdicts");
    for (uint32_t i = 0; i < names->n; i++) {
        cJSON *verdict = json_object();
        json_add_text(verdict, "kernel", names->at[i]);
        json_add_text(verdict, "verdict", verdict_name(VERDICT_NOT_COMPILED));
        json_append(verdicts, verdict);
    }
    mem_free(text);
    return json_close(report);
}

int cmd_check(Settings *settings) {
    BinCheckOptions opt = {.no_hazards = settings->check.no_hazards};
    if (!parse_rules(settings, &opt))
        return STATUS_USAGE;
    CliNames left_out = {0};
    Binary *b = read_binary(settings, &left_out);
    if (!b)
        return settings->diags.lacking ? STATUS_NOTHING : STATUS_INPUT;
    BinFlow *g = bin_flow_new(b);
    BinCheckReport r;
    check_binary(g, &opt, &r);
    bool good = leave_known(settings, g, &r);
    char *text = !good                   ? NULL
                 : settings->check.sarif ? check_report_sarif(g, &r)
                 : settings->json        ? check_report_json(g, &r)
                                         : check_report_text(g, &r);
    Verdict verdict = check_verdict(&r, BINFLOW_NONE);
    if (left_out.n)
        verdict = verdict_worse(verdict, VERDICT_NOT_COMPILED);
    if (text && left_out.n && settings->json && !settings->check.sarif)
        text = add_left_out(text, &left_out);
    if (text && settings->model.on && settings->json && !settings->check.sarif) { /* both in one object */
        cJSON *all = json_object();
        json_add(all, "check", json_read(text));
        good = cli_model(settings, g, json_add_list(all, "model"), &verdict);
        mem_free(text);
        text = json_close(all);
    }
    if (text)
        printf("%s%s", text, settings->json || settings->check.sarif ? "\n" : "");
    if (text && !settings->json && !settings->check.sarif)
        cli_print_left_out(&left_out);
    if (good && settings->model.on && !settings->json && !settings->check.sarif)
        good = cli_model(settings, g, NULL, &verdict);
    mem_free(text);
    check_report_free(&r);
    bin_flow_free(g);
    binary_free(b);
    return good ? (int)verdict_status(verdict) : STATUS_INPUT;
}
