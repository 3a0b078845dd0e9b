/* heddle validate: PTX reference interpreter against the machine, under given launches or inferred ones.
 * SPDX-License-Identifier: MIT */
#include "base/demangle.h"
#include "base/file.h"
#include "base/clock.h"
#include "base/scope.h"
#include "check/validate/compare/diff.h"
#include "emit/elf/object.h"
#include "tools/commands/batch.h"
#include "tools/commands/bundle.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The inputs are PTX files and objects; the last one may be the binary to compare with, and a binary that
 * stands alone is compared with the PTX that it was made from. *verdict says why
 * there is no binary: VERDICT_NOT_RUN where only a card is missing, else VERDICT_NOT_COMPILED; both are
 * reported. Functions that alone do not compile are `broken`. */
static bool read_inputs(Settings *settings, PtxModule **m, Binary **b, Verdict *verdict) {
    const char *last = settings->inputs[settings->ninputs - 1];
    bool alone = settings->ninputs == 1;
    char *data = NULL;
    size_t size = 0;
    *verdict = VERDICT_NOT_COMPILED;
    if (!alone && !cli_read_program(settings, last, false, &data, &size))
        return false;
    bool given = data && cli_is_elf(data, size) && !elf_object_is(data, size);
    settings->keep_going = alone || settings->ninputs - given == 1; /* modules are linked whole or not */
    *m = alone ? cli_read_ptx_and_code(settings, last, b)
               : cli_read_modules(settings, settings->ninputs - given);
    if (*m && !cli_choose_card(settings)) {
        *verdict = VERDICT_NOT_RUN;
        binary_free(*b);
        *b = NULL;
    } else if (*m && !*b) {
        CliNames left_out = {0};
        *b = given ? cli_load(settings, last, data, size)
                   : cli_compile_most(settings, *m, settings->inputs[0], &left_out);
    }
    return *m && *b;
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
    Settings *s;
    const char *path;
    PtxModule *m;
    Maker makers[MAX_MAKERS];
    unsigned nmakers;
    bool no_card;                /* that --engine wants */
    char error[CLI_ERROR_BYTES]; /* the first of the PTX */
    Diags saved;
    BatchEach *each;
    void *user;
    /* of the kernel that is being judged */
    AutoLaunches launches;
    uint64_t results[MAX_MAKERS]; /* Judgement.results_hash; 0: none */
    const char *inferred;         /* why, where there is a launch file; or NULL */
} Module;

/* The whole module's binary, or if that does not compile one of this kernel and what it calls: another kernel
 * may be what does not compile. */
static Binary *compile_for(Module *module, Maker *maker, uint32_t kernel, bool *own) {
    *own = false;
    if (module->m->funcs[kernel].broken) {
        memcpy(maker->error, module->error, sizeof maker->error);
        return NULL;
    }
    if (maker->binary || maker->options || module->no_card)
        return maker->binary;
    bool *bodies = ARENA_ARRAY(&module->s->arena, bool, module->m->nfuncs + 1);
    for (uint32_t i = 0; i < module->m->nfuncs; i++) {
        bodies[i] = module->m->funcs[i].has_body;
        if (module->m->funcs[i].is_entry && i != kernel)
            module->m->funcs[i].has_body = false;
    }
    Binary *b = maker_compile(module->s, maker, module->m, module->path, maker->error);
    for (uint32_t i = 0; i < module->m->nfuncs; i++)
        module->m->funcs[i].has_body = bodies[i];
    *own = b != NULL;
    return b;
}

/* One that the module defines, whether it compiles or not. */
static bool is_kernel(const PtxFunc *f) { return f->is_entry && (f->has_body || f->broken); }

static bool has_broken(const PtxModule *m) {
    bool any = false;
    for (uint32_t i = 0; i < m->nfuncs; i++)
        any |= m->funcs[i].broken;
    return any;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *shown_label(const Module *module, const Maker *maker) {
    return module->nmakers > 1 ? maker->label : "";
}

/* What is not equal may be what other machine code makes of the same launches: then the PTX, the reference
 * interpreter or this kind of program is to be looked at, not one compiler. */
static void compare_results(Module *module, unsigned which, Judgement *judgement) {
    size_t used = strlen(judgement->note), size = sizeof judgement->note;
    uint64_t results = judgement->launches ? judgement->results_hash : 0;
    unsigned alike = 0;
    module->results[which] = results;
    for (unsigned k = 0; k < which && results && judgement->verdict != VERDICT_EQUAL && used < size; k++)
        if (module->results[k] == results)
            used += (size_t)snprintf(judgement->note + used, size - used, "%s%s",
                                     alike++ ? ", "
                                     : used  ? "; results as "
                                             : "results as ",
                                     module->makers[k].label);
}

static void report_kernel(Module *module, unsigned which, const char *kernel, Judgement *judgement,
                          double start) {
    Maker *maker = &module->makers[which];
    compare_results(module, which, judgement);
    size_t used = strlen(judgement->note);
    if (module->inferred && used < sizeof judgement->note)
        snprintf(judgement->note + used, sizeof judgement->note - used, "%s%s", used ? "; " : "",
                 module->inferred);
    char *text = judgement_text(judgement, kernel);
    BatchResult r = {.file = module->path,
                     .kernel = kernel,
                     .binary = shown_label(module, maker),
                     .verdict = judgement->verdict,
                     .ptx = judgement->ptx,
                     .machine = judgement->machine,
                     .values = judgement->values,
                     .threads = judgement->threads,
                     .note = judgement->note,
                     .report = text ? text : "",
                     .seconds = clock_cpu_seconds() - start};
    if (judgement->verdict == VERDICT_DIFFERS && judgement->diff_plan && module->s->bundles)
        r.note = bundle_write(&(Bundle){.settings = module->s,
                                        .directory = module->s->bundles,
                                        .path = module->path,
                                        .kernel = kernel,
                                        .module = module->m,
                                        .maker = maker,
                                        .others = module->makers,
                                        .nothers = module->nmakers,
                                        .plan = judgement->diff_plan,
                                        .report = r.report,
                                        .note = r.note});
    module->each(module->user, &r);
    mem_free(text);
}

static void judge_kernel(Module *module, unsigned which, uint32_t kernel) {
    Maker *maker = &module->makers[which];
    const char *name = str_text(&module->m->strings, module->m->funcs[kernel].name);
    double start = clock_cpu_seconds();
    JudgeOptions opt = judge_options(module->s);
    Judgement j = {0};
    bool own;
    Binary *b = compile_for(module, maker, kernel, &own);
    if (b) {
        judge_auto(module->m, b, name, &opt, &module->launches, &j);
    } else {
        j.verdict = module->no_card ? VERDICT_NOT_RUN : VERDICT_NOT_COMPILED;
        snprintf(j.note, sizeof j.note, "%s", maker->error);
    }
    report_kernel(module, which, name, &j, start);
    judgement_free(&j);
    if (own)
        binary_free(b);
}

/* The launch file, if there is one and launches are not to be inferred: --launch of one module, else K.json
 * beside K.ptx. */
const char *batch_launch_beside(Settings *settings, const char *path) {
    const char *dot = strrchr(base_name(path), '.');
    size_t n = dot ? (size_t)(dot - path) : strlen(path);
    const char *json = arena_printf(&settings->arena, "%.*s.json", (int)n, path);
    if (settings->launch_file)
        return settings->launch_file;
    return !settings->launch_auto && access(json, R_OK) == 0 ? json : NULL;
}

/* A launch file beside the PTX whose data are elsewhere shows nothing of the kernels: launches are inferred,
 * and the verdict says so. One that was asked for must be as it says. */
static bool lacks_data(Module *module, const char *json) {
    Settings *settings = module->s;
    Plan plan = {.data_dir = settings->data_dir};
    Source source = {.name = json};
    Diags quiet = {0};
    char *text;
    bool good =
        !settings->launch_file && file_read(&settings->arena, json, &quiet, &text, &source.size_bytes);
    source.text = good ? text : NULL;
    const char *missing = good && plan_read_json(&plan, &source, &quiet) ? plan_missing_data(&plan) : NULL;
    if (missing)
        module->inferred =
            arena_printf(&settings->arena, "%s lacks %s: launches inferred", base_name(json), missing);
    plan_free(&plan);
    return missing != NULL;
}

static void judge_launch_file(Module *module, unsigned which, const char *json) {
    Settings *settings = module->s;
    Maker *maker = &module->makers[which];
    Plan p = {.data_dir = settings->data_dir};
    Judgement j = {0};
    JudgeOptions opt = judge_options(settings);
    double start = clock_cpu_seconds();
    Source source = {.name = json};
    char *text;
    bool good = file_read(&settings->arena, json, &settings->diags, &text, &source.size_bytes);
    source.text = good ? text : NULL;
    good = good && plan_read_json(&p, &source, &settings->diags);
    if (good && !maker->binary)
        j.verdict = module->no_card ? VERDICT_NOT_RUN : VERDICT_NOT_COMPILED;
    else if (!good || !judge_plan(&p, module->m, maker->binary, &opt, &j, &settings->diags))
        j.verdict = VERDICT_NOT_RUN;
    if (has_broken(module->m))
        j.verdict = verdict_worse(j.verdict, VERDICT_NOT_COMPILED);
    if (j.verdict == VERDICT_NOT_RUN || j.verdict == VERDICT_NOT_COMPILED)
        snprintf(j.note, sizeof j.note, "%s", *maker->error ? maker->error : module->error);
    report_kernel(module, which, base_name(json), &j, start);
    judgement_free(&j);
    plan_free(&p);
}

/* Each kernel, or the launch file, on every maker's code; `skip` of these are done already. */
static void validate_parts(Module *module, uint32_t skip, BatchStarts *starts) {
    Settings *settings = module->s;
    const char *json = batch_launch_beside(settings, module->path);
    if (json && lacks_data(module, json))
        json = NULL;
    const char *wanted = cli_kernel_symbol(settings, module->m, NULL, settings->launch.kernel);
    uint32_t n = 0;
    for (uint32_t i = 0; i < (json ? 1 : module->m->nfuncs); i++) {
        const PtxFunc *f = &module->m->funcs[i];
        const char *name = json ? json : str_text(&module->m->strings, f->name);
        if (!json && (!is_kernel(f) || (wanted && strcmp(wanted, name) != 0)))
            continue;
        memset(module->results, 0, sizeof module->results);
        for (unsigned k = 0; k < module->nmakers; k++) {
            if (n++ < skip)
                continue;
            settings->diags = (Diags){.sink = cli_keep_error, .user = module->makers[k].error};
            starts(module->user, name, shown_label(module, &module->makers[k]));
            if (json)
                judge_launch_file(module, k, json);
            else
                judge_kernel(module, k, i);
        }
        auto_launch_free(&module->launches);
        module->launches = (AutoLaunches){0};
    }
}

static void validate_module(Settings *settings, const char *path, uint32_t skip, BatchStarts *starts,
                            BatchEach *each, void *user) {
    Module x = {.s = settings, .path = path, .each = each, .user = user, .saved = settings->diags};
    Judgement none = {.verdict = VERDICT_NOT_COMPILED};
    x.nmakers = maker_list(settings, x.makers);
    settings->diags = (Diags){.sink = cli_keep_error, .user = x.error};
    settings->keep_going = true;
    x.m = cli_read_ptx(settings, path);
    settings->diags = (Diags){.sink = cli_keep_error, .user = x.makers[0].error};
    x.no_card = x.m && !cli_choose_card(settings);
    if (x.m && settings->with_ptxas && !settings->target)
        settings->target = maker_native_target(x.m);
    if (!x.m) {
        x.nmakers = 1;
        snprintf(none.note, sizeof none.note, "%s", x.error);
        report_kernel(&x, 0, "", &none, clock_cpu_seconds());
    } else {
        for (unsigned k = 0; k < x.nmakers && !x.no_card; k++)
            x.makers[k].binary = maker_compile(settings, &x.makers[k], x.m, path, x.makers[k].error);
        validate_parts(&x, skip, starts);
        for (unsigned k = 0; k < x.nmakers; k++)
            binary_free(x.makers[k].binary);
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
    const Binary *b = module->m->funcs[kernel].broken ? NULL : module->makers[0].binary;
    const char *name = str_text(&module->m->strings, module->m->funcs[kernel].name);
    JudgeOptions opt = judge_options(settings);
    Judgement j = {.verdict = missing};
    if (b)
        judge_auto(module->m, b, name, &opt, &module->launches, &j);
    if (settings->show_launch)
        auto_launch_merge(&module->launches, &all->launches);
    char *text = settings->json ? judgement_json(&j, name) : judgement_text(&j, name);
    printf("%s%s%s", settings->json ? (all->n ? "," : "[") : "", text ? text : "",
           settings->json ? "\n" : "");
    mem_free(text);
    all->n++;
    all->worst = verdict_worse(all->worst, j.verdict);
    judgement_free(&j);
    auto_launch_free(&module->launches);
    module->launches = (AutoLaunches){0};
}

static int validate_auto(Settings *settings) {
    Auto all = {.module = {.s = settings, .path = settings->inputs[0]}};
    Module *module = &all.module;
    Binary **binary = &module->makers[0].binary;
    Verdict missing;
    module->nmakers = maker_list(settings, module->makers);
    read_inputs(settings, &module->m, binary, &missing); /* what is missing was reported */
    const char *wanted = cli_kernel_symbol(settings, module->m, NULL, settings->launch.kernel);
    VEC(const char *) names = {0};
    for (uint32_t i = 0; module->m && i < module->m->nfuncs; i++) {
        const PtxFunc *f = &module->m->funcs[i];
        const char *name = str_text(&module->m->strings, f->name);
        if (!is_kernel(f))
            continue;
        VEC_ADD(&settings->arena, &names, name);
        if (!wanted || strcmp(name, wanted) == 0)
            validate_kernel(&all, i, missing);
    }
    bool good = module->m != NULL;
    if (settings->json && good)
        puts(all.n ? "]" : "[]");
    if (good && !all.n)
        good = wanted ? diag(&settings->diags, (SrcLoc){0}, DIAG_E0414, wanted,
                             str_list_symbols(&settings->arena, names.at, names.n))
                      : diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "the PTX has no kernel");
    char *json = good && settings->show_launch ? plan_print_json(&all.launches) : NULL;
    if (json)
        good = file_write(settings->show_launch, json, strlen(json), &settings->diags);
    mem_free(json);
    plan_free(&all.launches);
    binary_free(*binary);
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

/* Is a kernel that does not compile among those that the plan launches? */
static bool launches_broken(const Plan *plan, const PtxModule *m, Diags *diags) {
    for (uint32_t i = 0; i < plan->launches.n; i++) {
        const char *kernel = diff_ptx_kernel(plan, m, &plan->launches.at[i], diags);
        uint32_t index = kernel ? ptx_find_func(m, kernel) : 0;
        if (index && m->funcs[index - 1].broken)
            return true;
    }
    return false;
}

static int validate_plan(Settings *settings) {
    if (!cli_read_plan(settings))
        return STATUS_INPUT;
    PtxModule *m = NULL;
    Binary *b = NULL;
    Verdict verdict;
    bool good = read_inputs(settings, &m, &b, &verdict);
    const char *kernels = m ? diff_kernels(&settings->plan, m, &settings->diags) : NULL;
    if (kernels && (!good || launches_broken(&settings->plan, m, &settings->diags))) {
        print_verdict(settings, kernels, verdict);
        good = true;
    } else if (kernels) {
        good = compare_plan(settings, kernels, m, b, &verdict);
        if (!good && settings->diags.lacking) {
            verdict = VERDICT_NOT_RUN;
            print_verdict(settings, kernels, verdict);
            good = true;
        }
        if (has_broken(m))
            verdict = verdict_worse(verdict, VERDICT_NOT_COMPILED);
    } else {
        good = false;
    }
    binary_free(b);
    if (m)
        ptx_free(m);
    return good ? (int)verdict_status(verdict) : STATUS_INPUT;
}

static int validate(Settings *settings) {
    if (settings->engine && strcmp(settings->engine, "ptx") == 0) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "--engine=ptx is what validate compares with");
        return STATUS_USAGE;
    }
    if (settings->engine && (strcmp(settings->engine, "jit") == 0 || strcmp(settings->engine, "auto") == 0)) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "--engine=jit is for heddle run");
        return STATUS_USAGE;
    }
    bool many = batch_is_wanted(settings);
    const char *unfit =
        many && settings->show_launch                            ? "--show-launch is for one module"
        : many && settings->launch_file && settings->ninputs > 1 ? "a launch file is for one module"
        : settings->with_ptxas && settings->target && !maker_is_native(settings->target)
            ? "ptxas makes no code for this --target"
        : !many && settings->bundles ? "--bundles is for --with-ptxas, directories or several files"
                                     : NULL;
    if (unfit) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, unfit);
        return STATUS_USAGE;
    }
    if (settings->with_ptxas && !maker_find_ptxas(settings))
        return (int)verdict_status(VERDICT_NOT_RUN);
    if (many && settings->launch_file && !cli_read_plan(settings))
        return STATUS_INPUT;
    if (many && settings->ninputs)
        return batch_run(settings, &(BatchKind){.command = "validate",
                                                .module = validate_module,
                                                .parts = "blocks",
                                                .threads = "threads"});
    if (!many && !settings->launch_auto)
        return validate_plan(settings);
    if (settings->ninputs)
        return validate_auto(settings);
    diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "no input file");
    return STATUS_INPUT;
}

int cmd_validate(Settings *settings) {
    if (settings->engine && strcmp(settings->engine, "stencil") == 0)
        settings->machine.jit = machine_jit_open(&(MachineJitOptions){.stencils = MACHINE_STENCILS_ONLY});
    int status = validate(settings);
    machine_jit_close(settings->machine.jit);
    settings->machine.jit = NULL;
    return status;
}
