/* heddle coverage: of many modules, which kernels compile, and what the others would need.
 * SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/scope.h"
#include "frontend/named.h"
#include "tools/commands/batch.h"
#include "tools/commands/makers.h"
#include <stdlib.h>
#include <string.h>

/* ---- one module ---- */

/* An error without its place: what is missing is the same at another line or register. */
typedef struct {
    const char *text, *function; /* "E0105: unknown opcode 'x'"; function "": of the module */
} CoverError;
typedef struct {
    Arena *arena;
    VEC(CoverError) list;
} Errors;

/* What stands in `line` behind `from`, up to one of `ends`; "" if it is not there. */
static char *behind(Arena *arena, const char *line, const char *from, const char *ends) {
    const char *start = strstr(line, from);
    size_t size = start ? strcspn(start + strlen(from), ends) : 0;
    return arena_printf(arena, "%.*s", (int)size, start ? start + strlen(from) : "");
}

static void add_error(void *user, Severity severity, const char *line) {
    Errors *errors = user;
    char *text = behind(errors->arena, line, "error ", "\n"), *place = strstr(text, " (PTX ISA");
    if (severity != SEV_ERROR)
        return;
    CoverError error = {text, place ? behind(errors->arena, place, "; function ", ")") : ""};
    if (place)
        *place = 0;
    VEC_ADD(errors->arena, &errors->list, error);
}

/* Each text once, a line each; for mem_free. */
static char *lines_of(const Errors *errors) {
    TextStream *stream = text_open();
    for (uint32_t i = 0; i < errors->list.n; i++) {
        bool again = false;
        for (uint32_t k = 0; k < i && !again; k++)
            again = strcmp(errors->list.at[i].text, errors->list.at[k].text) == 0;
        if (!again)
            fprintf(stream->out, "%s\n", errors->list.at[i].text);
    }
    return text_close(stream, NULL);
}

static void report(const char *path, const char *kernel, bool good, const Errors *errors, BatchEach *each,
                   void *user) {
    char *lines = lines_of(errors), note[300];
    snprintf(note, sizeof note, "%.*s", (int)strcspn(lines, "\n"), lines);
    each(user, &(BatchResult){.file = path,
                              .kernel = kernel,
                              .binary = "",
                              .verdict = good ? VERDICT_COMPILES : VERDICT_NOT_COMPILED,
                              .note = good ? "" : note,
                              .report = good ? "" : lines});
    mem_free(lines);
}

static bool compiles(Settings *settings, const PtxModule *module, Errors *errors) {
    Compilation c;
    DriverOptions options = cli_driver_options(settings);
    Diags diags = {.sink = add_error, .user = errors, .all = true};
    bool good = driver_compile(&c, module, &options, &diags);
    driver_free(&c);
    return good;
}

/* The kernel with what it calls, and nothing else. `reading`: what could not be read, of all functions. */
static bool compiles_alone(Settings *settings, PtxModule *module, uint32_t kernel, const Errors *reading,
                           Errors *errors) {
    bool *vars = ARENA_ARRAY(&settings->arena, bool, module->nvars + 1),
         *funcs = ARENA_ARRAY(&settings->arena, bool, module->nfuncs + 1),
         *every = ARENA_ARRAY(&settings->arena, bool, module->nfuncs + 1), good = true;
    PtxContents all = ptx_contents(module, &settings->arena);
    memset(every, true, module->nfuncs);
    ptx_mark_reached(module, kernel, true, vars, funcs);
    ptx_keep(module, &all, funcs);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        good &= !(funcs[i] && module->funcs[i].broken);
    for (uint32_t i = 0; !good && i < reading->list.n; i++) {
        uint32_t function = ptx_find_func(module, reading->list.at[i].function);
        if (!function || funcs[function - 1])
            VEC_ADD(errors->arena, &errors->list, reading->list.at[i]);
    }
    good = good && compiles(settings, module, errors);
    ptx_keep(module, &all, every);
    return good;
}

static void cover_module(Settings *settings, const char *path, uint32_t skip, BatchStarts *starts,
                         BatchEach *each, void *user) {
    Errors reading = {.arena = &settings->arena}, errors = {.arena = &settings->arena};
    Diags saved = settings->diags;
    const Target *target = settings->target;
    settings->diags = (Diags){.sink = add_error, .user = &reading, .all = true};
    settings->keep_going = true;
    PtxModule *module = cli_read_ptx(settings, path);
    if (!module)
        report(path, "", false, &reading, each, user);
    if (module && settings->own_target)
        settings->target = maker_native_target(module);
    bool whole = module && !reading.list.n && compiles(settings, module, &errors);
    for (uint32_t i = 0, n = 0; module && i < module->nfuncs; i++) {
        const PtxFunc *f = &module->funcs[i];
        const char *name = str_text(&module->strings, f->name);
        if (!f->is_entry || !(f->has_body || f->broken) || n++ < skip)
            continue;
        starts(user, name, "");
        errors.list.n = 0;
        bool good = whole || compiles_alone(settings, module, i, &reading, &errors);
        report(path, name, good, &errors, each, user);
    }
    if (module)
        ptx_free(module);
    settings->target = target;
    settings->diags = saved;
}

/* ---- all of them ---- */

typedef struct {
    const char *text;
    size_t size;
    uint32_t kernels, files;
    const char *last_file;
} Missing;
typedef struct {
    Arena arena;
    VEC(Missing) rows;
} Totals;

static void count(Totals *totals, const BatchResult *result) {
    for (const char *line = result->report; *line; line += strcspn(line, "\n") + 1) {
        size_t size = strcspn(line, "\n");
        Missing *row = NULL;
        for (uint32_t i = 0; !row && i < totals->rows.n; i++)
            if (totals->rows.at[i].size == size && memcmp(totals->rows.at[i].text, line, size) == 0)
                row = &totals->rows.at[i];
        if (!row) {
            row = VEC_PUSH(&totals->arena, &totals->rows);
            row->text = line;
            row->size = size;
        }
        row->kernels++;
        row->files += row->last_file != result->file;
        row->last_file = result->file;
    }
}

static int more_kernels(const void *x, const void *y) {
    const Missing *one = x, *other = y;
    if (one->kernels != other->kernels)
        return one->kernels < other->kernels ? 1 : -1;
    size_t size = one->size < other->size ? one->size : other->size;
    int order = memcmp(one->text, other->text, size);
    return order ? order : (one->size > other->size) - (one->size < other->size);
}

static void say_missing(const BatchResult *const *results, uint32_t nresults, cJSON *json) {
    Totals totals = {0};
    uint32_t kernels = 0, good = 0, files = 0, good_files = 0;
    for (uint32_t i = 0; i < nresults; i++) {
        bool first = i == 0 || results[i]->file != results[i - 1]->file;
        bool compiled = results[i]->verdict == VERDICT_COMPILES;
        kernels += *results[i]->kernel != 0;
        good += compiled;
        files += first;
        uint32_t bad = 0; /* of this file, counted at its first result */
        for (uint32_t k = i; first && k < nresults && results[k]->file == results[i]->file; k++)
            bad += results[k]->verdict != VERDICT_COMPILES;
        good_files += first && !bad;
        count(&totals, results[i]);
    }
    if (totals.rows.n)
        qsort(totals.rows.at, totals.rows.n, sizeof *totals.rows.at, more_kernels);
    cJSON *list = json ? json_add_list(json, "missing") : NULL;
    if (!json && totals.rows.n)
        printf("\n%8s %8s  %s\n", "kernels", "files", "what is missing");
    for (uint32_t i = 0; i < totals.rows.n; i++) {
        const Missing *row = &totals.rows.at[i];
        if (!json) {
            printf("%8u %8u  %.*s\n", row->kernels, row->files, (int)row->size, row->text);
            continue;
        }
        cJSON *o = json_object();
        json_append(list, o);
        json_add_text(o, "error", arena_printf(&totals.arena, "%.*s", (int)row->size, row->text));
        json_add_number(o, "kernels", row->kernels);
        json_add_number(o, "files", row->files);
    }
    if (json) {
        json_add_number(json, "files", files);
        json_add_number(json, "files_compiled", good_files);
        json_add_number(json, "kernels_compiled", good);
    } else {
        printf("\n%u of %u kernels compile (%.1f %%), all of %u of %u files with kernels or errors\n", good,
               kernels, kernels ? 100.0 * good / kernels : 0.0, good_files, files);
    }
    arena_free(&totals.arena);
}

int cmd_coverage(Settings *settings) {
    return batch_run(settings,
                     &(BatchKind){.command = "coverage", .module = cover_module, .together = say_missing});
}
