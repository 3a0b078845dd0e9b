/* heddle prove: translation validation of machine code against its PTX.
 * SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/file.h"
#include "base/scope.h"
#include "check/prove/prove.h"
#include "tools/commands/batch.h"
#include "tools/cli/cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void progress(void *user, const char *func, uint32_t done, uint32_t total) {
    (void)user;
    fprintf(stderr, "\r%u of %u functions, %.60s\033[K", done, total, func);
    if (done == total)
        fprintf(stderr, "\r\033[K");
}

static ProveOptions options(const Settings *settings) {
    return (ProveOptions){.query_seconds = settings->query_time,
                          .search_seconds = settings->search_time,
                          .total_seconds = settings->total_time,
                          .max_terms =
                              settings->budget < UINT32_MAX ? (uint32_t)settings->budget : UINT32_MAX,
                          .max_bytes = (size_t)settings->memory_limit_mib << 19,
                          .no_launches = settings->no_launches,
                          .no_map = settings->no_map,
                          .kernel = settings->launch.kernel};
}

static void keep_error(void *user, Severity severity, const char *line) {
    char *first = user;
    if (severity == SEV_ERROR && !*first) {
        const char *text = strstr(line, "error ");
        snprintf(first, 200, "%.*s", (int)strcspn(text ? text + 6 : line, "\n"), text ? text + 6 : line);
    }
}

/* Why the kernel is not proved, in one clause. */
static const char *first_reason(const ProveReport *report) {
    for (uint32_t i = 0; i < report->nfuncs; i++)
        for (uint32_t k = 0; k < report->funcs[i].nregions; k++)
            if (report->funcs[i].regions[k].status >= PROVE_REFUTED)
                return report->funcs[i].regions[k].reason;
    return report->facts.n ? report->facts.at[0].text : "";
}

static void prove_module_of(Settings *settings, const char *path, uint32_t skip, BatchStarts *starts,
                            BatchEach *each, void *user) {
    char error[200] = "";
    Diags saved = settings->diags;
    settings->diags = (Diags){.sink = keep_error, .user = error};
    PtxModule *m = cli_read_ptx(settings, path);
    CliNames left_out = {0};
    Binary *b = m ? cli_compile_most(settings, m, path, &left_out) : NULL;
    const char *wanted = cli_kernel_symbol(settings, m, NULL, settings->launch.kernel);
    uint32_t n = 0;
    if (!m)
        VEC_ADD(&settings->arena, &left_out, "");
    cli_keep_names(&left_out, m ? wanted : NULL);
    for (uint32_t i = 0; i < left_out.n; i++)
        if (n++ >= skip)
            each(user, &(BatchResult){.file = path,
                                      .kernel = left_out.at[i],
                                      .binary = "",
                                      .verdict = VERDICT_NOT_COMPILED,
                                      .note = error,
                                      .report = ""});
    for (uint32_t i = 0; b && i < m->nfuncs; i++) {
        const char *name = str_text(&m->strings, m->funcs[i].name);
        if (!m->funcs[i].is_entry || !m->funcs[i].has_body || n++ < skip ||
            (wanted && strcmp(wanted, name) != 0))
            continue;
        starts(user, name, "");
        ProveOptions opt = options(settings);
        ProveReport report;
        double begin = clock_cpu_seconds();
        opt.kernel = name;
        bool done = prove_module(m, b, &opt, &report, &settings->diags);
        char *text = prove_report_text(&report, settings->verbose);
        BatchResult result = {
            .file = path, .kernel = name, .binary = "", .report = text, .note = first_reason(&report)};
        result.verdict = done ? prove_verdict(&report) : VERDICT_UNKNOWN;
        for (unsigned k = 0; k < PROVE_NSTATUS; k++) {
            result.regions.total += report.count[k];
            result.regions.reached += k < PROVE_REFUTED ? report.count[k] : 0;
        }
        result.seconds = clock_cpu_seconds() - begin;
        each(user, &result);
        mem_free(text);
        prove_report_free(&report);
    }
    binary_free(b);
    if (m)
        ptx_free(m);
    settings->diags = saved;
}

static bool write_certificate(Settings *settings, const ProveReport *report) {
    char *text = prove_report_certificate(report);
    bool written = file_write(settings->certificate, text, strlen(text), &settings->diags);
    mem_free(text);
    return written;
}

int cmd_prove(Settings *settings) {
    settings->keep_going = true;
    bool many = batch_is_wanted(settings);
    if (many && (settings->certificate || settings->check_certificate)) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "a certificate is of one module");
        return STATUS_USAGE;
    }
    if (many)
        return batch_run(
            settings,
            &(BatchKind){.command = "prove", .module = prove_module_of, .parts = "regions", .threads = ""});
    Binary *b = NULL;
    bool alone = settings->ninputs == 1;
    PtxModule *m = cli_read_ptx_and_code(settings, settings->inputs[0], alone ? &b : NULL);
    CliNames left_out = {0};
    char *data = NULL;
    size_t size = 0;
    int status = STATUS_INPUT;
    if (m && !alone && cli_read_program(settings, settings->inputs[1], false, &data, &size))
        b = cli_load(settings, settings->inputs[1], data, size);
    if (m && b)
        cli_name_broken(settings, m, &left_out);
    else if (m && alone)
        b = cli_compile_most(settings, m, settings->inputs[0], &left_out);
    ProveOptions opt = options(settings);
    char *certificate = NULL;
    size_t certificate_bytes = 0;
    if (settings->check_certificate && !file_read(&settings->arena, settings->check_certificate,
                                                  &settings->diags, &certificate, &certificate_bytes)) {
        binary_free(b);
        b = NULL;
    }
    opt.certificate = certificate;
    opt.kernel = cli_kernel_symbol(settings, m, NULL, opt.kernel);
    opt.progress = isatty(2) ? progress : NULL;
    cli_ticker_stop();
    ProveReport r = {0};
    if (m && b && prove_module(m, b, &opt, &r, &settings->diags)) {
        cli_keep_names(&left_out, opt.kernel);
        prove_report_left_out(&r, left_out.at, left_out.n);
        char *text = settings->json ? prove_report_json(&r) : prove_report_text(&r, settings->verbose);
        if (text)
            printf("%s%s", text, settings->json ? "\n" : "");
        mem_free(text);
        status = (int)verdict_status(prove_verdict(&r));
        if (settings->certificate && !write_certificate(settings, &r))
            status = STATUS_INPUT;
    }
    if (!b && settings->diags.lacking)
        status = STATUS_NOTHING;
    prove_report_free(&r);
    binary_free(b);
    if (m)
        ptx_free(m);
    return status;
}
