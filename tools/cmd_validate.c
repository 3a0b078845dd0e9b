/* heddle validate: PTX reference interpreter against the machine, under given launches or inferred ones.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/validate/diff.h"
#include "emit/elf/object.h"
#include "tools/batch.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static JudgeOptions judge_options(const Settings *s) {
    return (JudgeOptions){
        .seed = s->seed, .budget = s->budget, .machine = s->machine, .no_trace = s->no_trace};
}

static double seconds(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* ---- a module's kernels, for one file or many ---- */

typedef struct {
    char text[300];
} FirstError;

static void keep_error(void *user, Severity severity, const char *line) {
    FirstError *e = user;
    const char *text = strstr(line, "error E");
    if (severity != SEV_ERROR || e->text[0])
        return;
    size_t place = text ? (size_t)(text - line) : 0;
    const char *slash = memrchr(line, '/', place), *from = slash ? slash + 1 : line;
    snprintf(e->text, sizeof e->text, "%.*s%s", (int)(text ? text - from : 0), from, text ? text + 6 : line);
    e->text[strcspn(e->text, "\n")] = 0;
}

typedef struct {
    Settings *s;
    const char *path;
    PtxModule *m;
    Binary *b;
    FirstError error; /* why there is no binary */
    Diags saved;
    BatchEach *each;
    void *user;
} Module;

/* Compile the module, or if that fails only this kernel and what it calls: another one may be what does not
 * compile. */
static Binary *compile_for(Module *x, uint32_t kernel, bool *own) {
    *own = false;
    if (x->b)
        return x->b;
    bool *bodies = ARENA_ARRAY(&x->s->arena, bool, x->m->nfuncs + 1);
    for (uint32_t i = 0; i < x->m->nfuncs; i++) {
        bodies[i] = x->m->funcs[i].has_body;
        if (x->m->funcs[i].is_entry && i != kernel)
            x->m->funcs[i].has_body = false;
    }
    x->error.text[0] = 0;
    Binary *b = cli_compile_to_binary(x->s, x->m, x->path);
    for (uint32_t i = 0; i < x->m->nfuncs; i++)
        x->m->funcs[i].has_body = bodies[i];
    *own = b != NULL;
    return b;
}

static void report(Module *x, const char *kernel, const Judgement *j, double start) {
    char *text = judgement_text(j, kernel);
    BatchResult r = {.file = x->path,
                     .kernel = kernel,
                     .verdict = j->verdict,
                     .ptx = j->ptx,
                     .machine = j->machine,
                     .threads = j->threads,
                     .note = j->note,
                     .report = text ? text : "",
                     .seconds = seconds() - start};
    x->each(x->user, &r);
    free(text);
}

static void judge_kernel(Module *x, uint32_t kernel) {
    const char *name = str_text(&x->m->strings, x->m->funcs[kernel].name);
    double start = seconds();
    JudgeOptions opt = judge_options(x->s);
    Judgement j = {0};
    AutoLaunches launches = {0};
    bool own;
    Binary *b = compile_for(x, kernel, &own);
    if (b) {
        judge_auto(x->m, b, name, &opt, &launches, &j);
    } else {
        j.verdict = VERDICT_NOT_COMPILED;
        snprintf(j.note, sizeof j.note, "%s", x->error.text);
    }
    report(x, name, &j, start);
    judgement_free(&j);
    auto_launch_free(&launches);
    if (own)
        binary_free(b);
}

/* K.json beside K.ptx, unless launches are to be inferred. */
static const char *launch_beside(Settings *s, const char *path) {
    size_t n = strlen(path);
    const char *json = n > 4 ? arena_printf(&s->arena, "%.*s.json", (int)(n - 4), path) : "";
    return !s->launch_auto && access(json, R_OK) == 0 ? json : NULL;
}

static void judge_launch_file(Module *x, const char *json) {
    Settings *s = x->s;
    Plan p = {.data_dir = s->data_dir};
    Judgement j = {0};
    JudgeOptions opt = judge_options(s);
    double start = seconds();
    Source source = {.name = json};
    char *text;
    bool good = file_read(&s->arena, json, &s->diags, &text, &source.size_bytes);
    source.text = good ? text : NULL;
    good = good && plan_read_json(&p, &source, &s->diags);
    if (good && !x->b)
        j.verdict = VERDICT_NOT_COMPILED;
    else if (!good || !judge_plan(&p, x->m, x->b, &opt, &j, &s->diags))
        j.verdict = VERDICT_NOT_RUN;
    if (j.verdict == VERDICT_NOT_RUN || j.verdict == VERDICT_NOT_COMPILED)
        snprintf(j.note, sizeof j.note, "%s", x->error.text);
    const char *slash = strrchr(json, '/');
    report(x, slash ? slash + 1 : json, &j, start);
    judgement_free(&j);
    plan_free(&p);
}

void batch_module(Settings *s, const char *path, uint32_t skip,
                  void (*starts)(void *user, const char *kernel), BatchEach *each, void *user) {
    Module x = {.s = s, .path = path, .each = each, .user = user, .saved = s->diags};
    s->diags = (Diags){.sink = keep_error, .user = &x.error};
    x.m = cli_read_ptx(s, path);
    const char *json = launch_beside(s, path);
    Judgement none = {.verdict = VERDICT_NOT_COMPILED};
    if (!x.m) {
        snprintf(none.note, sizeof none.note, "%s", x.error.text);
        report(&x, "", &none, seconds());
    } else {
        x.b = cli_compile_to_binary(s, x.m, path);
        if (json && skip == 0) {
            starts(user, json);
            judge_launch_file(&x, json);
        }
        for (uint32_t i = 0, n = 0; !json && i < x.m->nfuncs; i++) {
            const PtxFunc *f = &x.m->funcs[i];
            if (!f->is_entry || !f->has_body || n++ < skip)
                continue;
            s->diags.nerrors = 0;
            starts(user, str_text(&x.m->strings, f->name));
            judge_kernel(&x, i);
        }
        binary_free(x.b);
        ptx_free(x.m);
    }
    s->diags = x.saved;
}

/* ---- --launch auto with one module ---- */

static int validate_auto(Settings *s) {
    PtxModule *m = NULL;
    Binary *b = NULL;
    JudgeOptions opt = judge_options(s);
    bool good = read_inputs(s, &m, &b), found = false;
    unsigned n = 0;
    Plan all = {0};
    for (uint32_t i = 0; good && i < m->nfuncs; i++) {
        const char *name = str_text(&m->strings, m->funcs[i].name);
        if (!m->funcs[i].is_entry || !m->funcs[i].has_body ||
            (s->launch.kernel && strcmp(name, s->launch.kernel) != 0))
            continue;
        Judgement j = {0};
        AutoLaunches launches = {0};
        judge_auto(m, b, name, &opt, &launches, &j);
        if (s->show_launch)
            auto_launch_merge(&launches, &all);
        char *text = s->json ? judgement_json(&j, name) : judgement_text(&j, name);
        printf("%s%s%s", s->json ? (n ? "," : "[") : "", text ? text : "", s->json ? "\n" : "");
        free(text);
        found |= verdict_is_finding(j.verdict);
        judgement_free(&j);
        auto_launch_free(&launches);
        n++;
    }
    if (s->json && good)
        puts(n ? "]" : "[]");
    if (good && !n)
        good = diag(&s->diags, (SrcLoc){0}, DIAG_E0502, "the PTX has no kernel of that name");
    char *json = good && s->show_launch ? plan_print_json(&all) : NULL;
    if (json)
        good = file_write(s->show_launch, json, strlen(json), &s->diags);
    free(json);
    plan_free(&all);
    binary_free(b);
    if (m)
        ptx_free(m);
    return !good ? STATUS_INPUT : found ? STATUS_DIFFERS : STATUS_DONE;
}

/* ---- given launches ---- */

static int validate_plan(Settings *s) {
    if (!cli_read_plan(s))
        return STATUS_INPUT;
    PtxModule *m = NULL;
    Binary *b = NULL;
    bool good = read_inputs(s, &m, &b);
    DiffOptions opt = {
        .ptx = {.seed = s->seed, .budget = s->budget}, .machine = s->machine, .no_trace = s->no_trace};
    int status = STATUS_INPUT;
    if (good && s->races) {
        JudgeOptions judge = judge_options(s);
        Judgement j;
        if (judge_plan(&s->plan, m, b, &judge, &j, &s->diags)) {
            char *text = s->json ? judgement_json(&j, s->inputs[0]) : judgement_text(&j, s->inputs[0]);
            printf("%s%s", text ? text : "", s->json ? "\n" : "");
            free(text);
            status = verdict_is_finding(j.verdict) ? STATUS_DIFFERS : STATUS_DONE;
        }
        judgement_free(&j);
    } else if (good) {
        DiffReport r;
        if (diff_validate(&s->plan, m, b, &opt, &r, &s->diags)) {
            char *text = s->json ? diff_report_json(&r, &s->plan) : diff_report_text(&r, &s->plan);
            if (text)
                printf("%s%s", text, s->json ? "\n" : "");
            free(text);
            status = r.equal && !r.failed_checks && !r.nfindings ? STATUS_DONE : STATUS_DIFFERS;
        }
    }
    binary_free(b);
    if (m)
        ptx_free(m);
    return status;
}

int cmd_validate(Settings *s) {
    if (batch_is_wanted(s))
        return batch_validate(s);
    if (!s->launch_auto)
        return validate_plan(s);
    if (s->ninputs)
        return validate_auto(s);
    diag(&s->diags, (SrcLoc){0}, DIAG_E0502, "no input file");
    return STATUS_INPUT;
}
