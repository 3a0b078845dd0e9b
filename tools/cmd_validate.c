/* heddle validate: PTX reference interpreter against the machine, under given launches or inferred ones.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/clock.h"
#include "base/scope.h"
#include "check/validate/diff.h"
#include "emit/elf/object.h"
#include "tools/batch.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The inputs are PTX files and objects; the last one may be the binary to compare with. *verdict says why
 * there is no binary: VERDICT_NOT_RUN where only a card is missing, else VERDICT_NOT_COMPILED; both are
 * reported. */
static bool read_inputs(Settings *settings, PtxModule **m, Binary **b, Verdict *verdict) {
    const char *last = settings->inputs[settings->ninputs - 1];
    char *data = NULL;
    size_t size = 0;
    *verdict = VERDICT_NOT_COMPILED;
    if (settings->ninputs > 1 && !file_read(&settings->arena, last, &settings->diags, &data, &size))
        return false;
    bool given = data && cli_is_elf(data, size) && !elf_object_is(data, size);
    *m = cli_read_modules(settings, settings->ninputs - given);
    if (*m && !cli_choose_card(settings))
        *verdict = VERDICT_NOT_RUN;
    else if (*m)
        *b = given ? cli_load(settings, last, data, size)
                   : cli_compile_to_binary(settings, *m, settings->inputs[0]);
    return *b != NULL;
}

/* A verdict without more to say, for one kernel or several. */
static void print_verdict(const Settings *settings, const char *kernel, Verdict verdict) {
    char *text = settings->json ? judgement_json(&(Judgement){.verdict = verdict}, kernel)
                                : judgement_text(&(Judgement){.verdict = verdict}, kernel);
    printf("%s%s", text ? text : "", settings->json ? "\n" : "");
    mem_free(text);
}

static JudgeOptions judge_options(const Settings *settings) {
    return (JudgeOptions){.seed = settings->seed,
                          .budget = settings->budget,
                          .machine = settings->machine,
                          .other = settings->other,
                          .tolerance = settings->tolerance,
                          .no_trace = settings->no_trace};
}

/* ---- a module's kernels, for one file or many ---- */

typedef struct {
    char text[300];
} FirstError;

static void keep_error(void *user, Severity severity, const char *line) {
    FirstError *error = user;
    const char *text = strstr(line, "error E");
    if (severity != SEV_ERROR || error->text[0])
        return;
    size_t place = text ? (size_t)(text - line) : 0;
    const char *slash = memrchr(line, '/', place), *from = slash ? slash + 1 : line;
    snprintf(error->text, sizeof error->text, "%.*s%s", (int)(text ? text - from : 0), from,
             text ? text + 6 : line);
    error->text[strcspn(error->text, "\n")] = 0;
}

typedef struct {
    Settings *s;
    const char *path;
    PtxModule *m;
    Binary *b;
    bool no_card;     /* that --engine wants */
    FirstError error; /* why there is no binary */
    Diags saved;
    BatchEach *each;
    void *user;
} Module;

/* Compile the module, or if that fails only this kernel and what it calls: another one may be what does not
 * compile. */
static Binary *compile_for(Module *module, uint32_t kernel, bool *own) {
    *own = false;
    if (module->b || module->no_card)
        return module->b;
    bool *bodies = ARENA_ARRAY(&module->s->arena, bool, module->m->nfuncs + 1);
    for (uint32_t i = 0; i < module->m->nfuncs; i++) {
        bodies[i] = module->m->funcs[i].has_body;
        if (module->m->funcs[i].is_entry && i != kernel)
            module->m->funcs[i].has_body = false;
    }
    module->error.text[0] = 0;
    Binary *b = cli_compile_to_binary(module->s, module->m, module->path);
    for (uint32_t i = 0; i < module->m->nfuncs; i++)
        module->m->funcs[i].has_body = bodies[i];
    *own = b != NULL;
    return b;
}

static void report_kernel(Module *module, const char *kernel, const Judgement *judgement, double start) {
    char *text = judgement_text(judgement, kernel);
    BatchResult r = {.file = module->path,
                     .kernel = kernel,
                     .verdict = judgement->verdict,
                     .ptx = judgement->ptx,
                     .machine = judgement->machine,
                     .values = judgement->values,
                     .threads = judgement->threads,
                     .note = judgement->note,
                     .report = text ? text : "",
                     .seconds = clock_cpu_seconds() - start};
    module->each(module->user, &r);
    mem_free(text);
}

static void judge_kernel(Module *module, uint32_t kernel) {
    const char *name = str_text(&module->m->strings, module->m->funcs[kernel].name);
    double start = clock_cpu_seconds();
    JudgeOptions opt = judge_options(module->s);
    Judgement j = {0};
    AutoLaunches launches = {0};
    bool own;
    Binary *b = compile_for(module, kernel, &own);
    if (b) {
        judge_auto(module->m, b, name, &opt, &launches, &j);
    } else {
        j.verdict = module->no_card ? VERDICT_NOT_RUN : VERDICT_NOT_COMPILED;
        snprintf(j.note, sizeof j.note, "%s", module->error.text);
    }
    report_kernel(module, name, &j, start);
    judgement_free(&j);
    auto_launch_free(&launches);
    if (own)
        binary_free(b);
}

const char *batch_launch_beside(Settings *settings, const char *path) {
    size_t n = strlen(path);
    const char *json = n > 4 ? arena_printf(&settings->arena, "%.*s.json", (int)(n - 4), path) : "";
    return !settings->launch_auto && access(json, R_OK) == 0 ? json : NULL;
}

static void judge_launch_file(Module *module, const char *json) {
    Settings *settings = module->s;
    Plan p = {.data_dir = settings->data_dir};
    Judgement j = {0};
    JudgeOptions opt = judge_options(settings);
    double start = clock_cpu_seconds();
    Source source = {.name = json};
    char *text;
    bool good = file_read(&settings->arena, json, &settings->diags, &text, &source.size_bytes);
    source.text = good ? text : NULL;
    good = good && plan_read_json(&p, &source, &settings->diags);
    if (good && !module->b)
        j.verdict = module->no_card ? VERDICT_NOT_RUN : VERDICT_NOT_COMPILED;
    else if (!good || !judge_plan(&p, module->m, module->b, &opt, &j, &settings->diags))
        j.verdict = VERDICT_NOT_RUN;
    if (j.verdict == VERDICT_NOT_RUN || j.verdict == VERDICT_NOT_COMPILED)
        snprintf(j.note, sizeof j.note, "%s", module->error.text);
    const char *slash = strrchr(json, '/');
    report_kernel(module, slash ? slash + 1 : json, &j, start);
    judgement_free(&j);
    plan_free(&p);
}

static void validate_module(Settings *settings, const char *path, uint32_t skip,
                            void (*starts)(void *user, const char *kernel), BatchEach *each, void *user) {
    Module x = {.s = settings, .path = path, .each = each, .user = user, .saved = settings->diags};
    settings->diags = (Diags){.sink = keep_error, .user = &x.error};
    x.m = cli_read_ptx(settings, path);
    x.no_card = x.m && !cli_choose_card(settings);
    const char *json = batch_launch_beside(settings, path);
    Judgement none = {.verdict = VERDICT_NOT_COMPILED};
    if (!x.m) {
        snprintf(none.note, sizeof none.note, "%s", x.error.text);
        report_kernel(&x, "", &none, clock_cpu_seconds());
    } else {
        x.b = x.no_card ? NULL : cli_compile_to_binary(settings, x.m, path);
        if (json && skip == 0) {
            starts(user, json);
            judge_launch_file(&x, json);
        }
        for (uint32_t i = 0, n = 0; !json && i < x.m->nfuncs; i++) {
            const PtxFunc *f = &x.m->funcs[i];
            if (!f->is_entry || !f->has_body || n++ < skip)
                continue;
            settings->diags.nerrors = 0;
            starts(user, str_text(&x.m->strings, f->name));
            judge_kernel(&x, i);
        }
        binary_free(x.b);
        ptx_free(x.m);
    }
    settings->diags = x.saved;
}

/* ---- --launch auto with one module ---- */

typedef struct {
    Module module;
    unsigned n; /* kernels judged */
    Verdict worst;
    Plan launches; /* of all of them */
} Auto;

static void validate_kernel(Auto *all, uint32_t kernel, Verdict missing) {
    Module *module = &all->module;
    const Settings *settings = module->s;
    const char *name = str_text(&module->m->strings, module->m->funcs[kernel].name);
    JudgeOptions opt = judge_options(settings);
    Judgement j = {.verdict = missing};
    AutoLaunches launches = {0};
    bool own;
    Binary *b = compile_for(module, kernel, &own);
    if (b)
        judge_auto(module->m, b, name, &opt, &launches, &j);
    if (settings->show_launch)
        auto_launch_merge(&launches, &all->launches);
    char *text = settings->json ? judgement_json(&j, name) : judgement_text(&j, name);
    printf("%s%s%s", settings->json ? (all->n ? "," : "[") : "", text ? text : "",
           settings->json ? "\n" : "");
    mem_free(text);
    all->n++;
    all->worst = verdict_worse(all->worst, j.verdict);
    judgement_free(&j);
    auto_launch_free(&launches);
    if (own)
        binary_free(b);
}

static int validate_auto(Settings *settings) {
    Auto all = {.module = {.s = settings, .path = settings->inputs[0]}};
    Module *module = &all.module;
    Verdict missing;
    read_inputs(settings, &module->m, &module->b, &missing);
    module->no_card = missing == VERDICT_NOT_RUN; /* what is missing was reported */
    Diags told = settings->diags;
    if (!module->b)
        settings->diags = (Diags){.sink = keep_error, .user = &module->error};
    for (uint32_t i = 0; module->m && i < module->m->nfuncs; i++) {
        const PtxFunc *f = &module->m->funcs[i];
        if (f->is_entry && f->has_body &&
            (!settings->launch.kernel ||
             strcmp(str_text(&module->m->strings, f->name), settings->launch.kernel) == 0))
            validate_kernel(&all, i, missing);
    }
    settings->diags = told;
    bool good = module->m != NULL;
    if (settings->json && good)
        puts(all.n ? "]" : "[]");
    if (good && !all.n)
        good = diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "the PTX has no kernel of that name");
    char *json = good && settings->show_launch ? plan_print_json(&all.launches) : NULL;
    if (json)
        good = file_write(settings->show_launch, json, strlen(json), &settings->diags);
    mem_free(json);
    plan_free(&all.launches);
    binary_free(module->b);
    if (module->m)
        ptx_free(module->m);
    return good ? (int)verdict_status(all.worst) : STATUS_INPUT;
}

/* ---- given launches ---- */

/* Compare and print; false: reported. */
static bool compare_plan(Settings *settings, const char *kernels, const PtxModule *m, const Binary *b,
                         Verdict *verdict) {
    JudgeOptions opt = judge_options(settings);
    Comparison comparison;
    if (!judge_compare(&settings->plan, m, b, &opt, settings->races, &comparison, &settings->diags))
        return false;
    char *text = settings->json ? judge_compare_json(&comparison, &settings->plan, kernels)
                                : judge_compare_text(&comparison, &settings->plan, kernels);
    printf("%s%s", text ? text : "", settings->json ? "\n" : "");
    mem_free(text);
    *verdict = comparison.verdict;
    judge_compare_free(&comparison);
    return true;
}

static int validate_plan(Settings *settings) {
    if (!cli_read_plan(settings))
        return STATUS_INPUT;
    PtxModule *m = NULL;
    Binary *b = NULL;
    Verdict verdict;
    bool good = read_inputs(settings, &m, &b, &verdict);
    const char *kernels = m ? diff_kernels(&settings->plan, m, &settings->diags) : NULL;
    if (kernels && !good) {
        print_verdict(settings, kernels, verdict);
        good = true;
    } else if (kernels) {
        good = compare_plan(settings, kernels, m, b, &verdict);
        if (!good && settings->diags.lacking) {
            verdict = VERDICT_NOT_RUN;
            print_verdict(settings, kernels, verdict);
            good = true;
        }
    } else {
        good = false;
    }
    binary_free(b);
    if (m)
        ptx_free(m);
    return good ? (int)verdict_status(verdict) : STATUS_INPUT;
}

int cmd_validate(Settings *settings) {
    if (settings->engine && strcmp(settings->engine, "ptx") == 0) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "--engine=ptx is what validate compares with");
        return STATUS_USAGE;
    }
    if (batch_is_wanted(settings))
        return batch_run(settings, &(BatchKind){"validate", validate_module, "blocks", "threads"});
    if (!settings->launch_auto)
        return validate_plan(settings);
    if (settings->ninputs)
        return validate_auto(settings);
    diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "no input file");
    return STATUS_INPUT;
}
