/* heddle report: what was decided where, as text, JSON, pictures or pages; of a binary what its code shows.
 * SPDX-License-Identifier: MIT */
#include "base/demangle.h"
#include "base/file.h"
#include "base/scope.h"
#include "check/picture/picture.h"
#include "emit/elf/object.h"
#include "frontend/link.h"
#include "frontend/named.h"
#include "tools/cli/cli.h"
#include "tools/commands/cmd_report.h"
#include "tools/jobs/report.h"
#include <string.h>

/* Is the code of every function what the compilation made now? Then its decisions are the file's. */
static bool same_code(const Binary *file, const Compilation *now, Diags *diags) {
    Binary *made = binary_read("", now->image, now->image_bytes, diags);
    bool same = made && made->nfuncs == file->nfuncs && made->target == file->target;
    for (uint32_t k = 0; same && k < file->nfuncs; k++) {
        const BinFunc *one = &file->funcs[k], *other = binary_find(made, one->name);
        same = other && one->ninsts == other->ninsts &&
               !memcmp(file->code[(one->address - file->code_base) / INST_BYTES],
                       made->code[(other->address - made->code_base) / INST_BYTES],
                       (size_t)INST_BYTES * one->ninsts);
    }
    binary_free(made);
    return same;
}

static bool compile_subject(ReportSubject *subject, const Target *target, Diags *diags) {
    DriverOptions opt = cli_driver_options(subject->settings);
    opt.explain = true;
    opt.target = target;
    subject->decided = driver_compile(&subject->compilation, subject->ptx, &opt, diags);
    return subject->decided;
}

/* A binary: its own code; the decisions are told if its PTX compiles to the same. */
static bool open_binary(ReportSubject *subject, const char *path, const char *data, size_t size) {
    Diags quiet = {0};
    subject->binary = cli_load(subject->settings, path, data, size);
    if (!subject->binary)
        return false;
    subject->of_file = true;
    if (subject->binary->ptx_text)
        subject->ptx = ptx_parse_kept(subject->binary->ptx_name ? subject->binary->ptx_name : path,
                                      subject->binary->ptx_text, subject->binary->ptx_text_bytes, &quiet);
    if (subject->ptx && compile_subject(subject, subject->binary->target, &quiet))
        subject->decided = same_code(subject->binary, &subject->compilation, &quiet);
    return true;
}

static bool open_subject(ReportSubject *subject) {
    Settings *settings = subject->settings;
    const char *path = settings->inputs[0];
    char *data;
    size_t size;
    if (settings->against) {
        if (!cli_read_program(settings, settings->against, false, &data, &size))
            return false;
        subject->other = cli_load(settings, settings->against, data, size);
        if (!subject->other)
            return false;
    }
    if (!cli_read_program(settings, path, true, &data, &size))
        return false;
    if (cli_is_elf(data, size) && !elf_object_is(data, size))
        return open_binary(subject, path, data, size);
    subject->ptx = cli_read_ptx(settings, path);
    if (!subject->ptx || !compile_subject(subject, subject->other ? subject->other->target : settings->target,
                                          &settings->diags))
        return false;
    subject->binary =
        binary_read(path, subject->compilation.image, subject->compilation.image_bytes, &settings->diags);
    return subject->binary != NULL;
}

static void close_subject(ReportSubject *subject) {
    binary_free(subject->binary);
    binary_free(subject->other);
    driver_free(&subject->compilation);
    if (subject->ptx)
        ptx_free(subject->ptx);
}

/* ---- pictures ---- */

bool report_kernels(const ReportSubject *subject, bool one, uint32_t *kernels, uint32_t *n) {
    Settings *settings = subject->settings;
    const char *wanted = cli_kernel_symbol(settings, NULL, subject->binary, settings->report.kernel);
    VEC(const char *) names = {0};
    *n = 0;
    for (uint32_t k = 0; k < subject->binary->nfuncs; k++) {
        const BinFunc *f = &subject->binary->funcs[k];
        if (!f->is_entry)
            continue;
        VEC_ADD(&settings->arena, &names, f->name);
        if (!wanted || strcmp(f->name, wanted) == 0)
            kernels[(*n)++] = k;
    }
    if (*n == 1 || (*n && !one))
        return true;
    const char *text = str_list_symbols(&settings->arena, names.at, names.n);
    return wanted && !*n ? diag(&settings->diags, (SrcLoc){0}, DIAG_E0414, wanted, text)
                         : diag(&settings->diags, (SrcLoc){0}, DIAG_E0421, text);
}

static bool write_graph(const ReportSubject *subject) {
    Settings *settings = subject->settings;
    uint32_t *kernels = ARENA_ARRAY(&settings->arena, uint32_t, subject->binary->nfuncs + 1), n;
    if (!report_kernels(subject, true, kernels, &n))
        return false;
    Arena a = {0};
    Picture picture;
    BinFlow *flow = bin_flow_new(subject->binary);
    TextStream *stream = text_open();
    picture_make(&picture, flow, kernels[0], &a);
    if (strcmp(settings->report.emit, "dot") == 0)
        picture_dot(&picture, stream->out);
    else
        picture_svg(&picture, "", NULL, picture_style(), stream->out);
    size_t size;
    char *text = text_close(stream, &size);
    bool good = file_write(settings->output ? settings->output : "-", text, size, &settings->diags);
    mem_free(text);
    bin_flow_free(flow);
    arena_free(&a);
    return good;
}

/* ---- text, JSON ---- */

/* Is it a function of the PTX that is kept? What was made for collectives is no kernel's. */
static bool is_of(const Compilation *compilation, const Function *f, const PtxModule *ptx,
                  const bool *funcs) {
    const char *name = str_text(&compilation->strings, f->name);
    for (uint32_t k = 0; k < ptx->nfuncs; k++)
        if (strcmp(str_text(&ptx->strings, ptx->funcs[k].name), name) == 0)
            return funcs[k];
    return false;
}

/* Leaves what was decided in the kernel and what it calls. */
static void keep_kernel(ReportSubject *subject, const char *kernel) {
    Arena *arena = &subject->settings->arena;
    const PtxModule *ptx = subject->ptx;
    IrModule *module = subject->compilation.ir;
    bool *vars = ARENA_ARRAY(arena, bool, ptx->nvars + 1), *funcs = ARENA_ARRAY(arena, bool, ptx->nfuncs + 1);
    for (uint32_t k = 0; k < ptx->nfuncs; k++)
        if (strcmp(str_text(&ptx->strings, ptx->funcs[k].name), kernel) == 0)
            ptx_mark_reached(ptx, k, true, vars, funcs);
#define KEEP(reports)                                                                                        \
    do {                                                                                                     \
        unsigned kept = 0;                                                                                   \
        for (unsigned k = 0; k < (reports).n; k++)                                                           \
            if (is_of(&subject->compilation, (reports).at[k].func, ptx, funcs))                              \
                (reports).at[kept++] = (reports).at[k];                                                      \
        (reports).n = kept;                                                                                  \
    } while (0)
    KEEP(module->reconv);
    KEEP(module->predicated);
    KEEP(module->melded);
#undef KEEP
}

static void print_decisions(const ReportSubject *subject) {
    if (!subject->settings->json) {
        report_table(&subject->compilation, stdout);
        return;
    }
    char *text = report_json(&subject->compilation);
    puts(text);
    mem_free(text);
}

static bool print_report(ReportSubject *subject) {
    Settings *settings = subject->settings;
    const char *wanted = cli_kernel_symbol(settings, subject->ptx, subject->binary, settings->report.kernel);
    uint32_t *kernels = ARENA_ARRAY(&settings->arena, uint32_t, subject->binary->nfuncs + 1), n;
    if (wanted && !report_kernels(subject, true, kernels, &n))
        return false;
    if (settings->against || !subject->decided) {
        cli_figures(settings, subject->binary, subject->other);
        return true;
    }
    if (wanted)
        keep_kernel(subject, wanted);
    print_decisions(subject);
    return true;
}

static const char *wrong_options(const Settings *settings) {
    const char *emit = settings->report.emit;
    bool graph = emit && strcmp(emit, "text") != 0,
         launch = settings->launch_file || settings->has_shape || settings->launch_auto;
    if (settings->launch_auto && settings->has_shape)
        return "--launch auto and options that it replaces exclude each other";
    if (launch && !settings->report.html)
        return "a launch is shown on the page of --html";
    if (settings->report.html && (graph || settings->json))
        return "--html, --emit and --json exclude each other";
    if (graph && (settings->json || settings->against))
        return "--emit=svg and dot are of one binary, without --json and --against";
    if (settings->output && !graph)
        return "--output is of --emit=svg and dot; --html names its own file";
    return NULL;
}

int cmd_report(Settings *settings) {
    const char *wrong = wrong_options(settings), *emit = settings->report.emit;
    ReportSubject subject = {.settings = settings};
    if (wrong) {
        fprintf(stderr, "heddle report: %s\n", wrong);
        return STATUS_USAGE;
    }
    bool good = open_subject(&subject);
    if (good && settings->launch_auto && !subject.ptx)
        good = diag(&settings->diags, (SrcLoc){0}, DIAG_E0502,
                    "launches are inferred from the PTX, which this binary does not hold");
    if (good && settings->report.html)
        good = report_pages(&subject);
    else if (good && emit && strcmp(emit, "text") != 0)
        good = write_graph(&subject);
    else if (good)
        good = print_report(&subject);
    close_subject(&subject);
    return good ? STATUS_DONE : STATUS_INPUT;
}
