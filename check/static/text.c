/* Reports of the static checker: text, JSON, SARIF 2.1.0; what `heddle explain` prints.
 * SPDX-License-Identifier: MIT */
#include "check/static/check.h"
#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const severities[] = {
    [SEV_NOTE] = "note", [SEV_WARNING] = "warning", [SEV_ERROR] = "error"};

/* "/\*00a0*\/  @P0 BSYNC B0": address in the function and text. */
static void instruction_text(const BinFlow *g, uint32_t i, char *out, size_t size) {
    char text[256];
    if (g->block_of[i] == BINFLOW_NONE || !g->decoded[i] ||
        isa_print(g->bin->target, &g->insts[i], bin_address(g, i), NULL, text, sizeof text) < 0)
        snprintf(text, sizeof text, "0x%016llx%016llx", (unsigned long long)g->bin->code[i][1],
                 (unsigned long long)g->bin->code[i][0]);
    snprintf(out, size, "%s", text);
}

static const BinLoc *loc_of(const BinFlow *g, const BinFinding *f) {
    if (f->func == BINFLOW_NONE || !g->bin->funcs[f->func].locs)
        return NULL;
    return &g->bin->funcs[f->func].locs[f->inst - g->funcs[f->func].first_inst];
}

/* ---- text ---- */

static void text_finding(FILE *out, const BinFlow *g, const BinFinding *f) {
    const CheckRuleInfo *r = check_rule(f->rule);
    char where[160], text[300];
    fprintf(out, "%s: %s: %s %s: %s\n", g->bin->path ? g->bin->path : "binary", bin_where(g, f->inst, where),
            severities[f->severity], r->id, f->text);
    instruction_text(g, f->inst, text, sizeof text);
    fprintf(out, "    %s ;", text);
    if (f->ptx_line)
        fprintf(out, "    // line %u", f->ptx_line);
    fputc('\n', out);
    if (f->npath > 1) {
        fputs("    path:", out);
        for (uint32_t k = 0; k < f->npath; k++) {
            uint32_t b = g->block_of[f->path[k]];
            bool same = b != BINFLOW_NONE && g->blocks[b].func == f->func;
            if (same)
                fprintf(out, " 0x%llx", 16ull * (f->path[k] - g->funcs[f->func].first_inst));
            else
                fprintf(out, " %s", bin_where(g, f->path[k], where));
        }
        fputc('\n', out);
    }
    fprintf(out, "    %s\n    fix: %s\n", r->harm, r->fix);
}

char *check_report_text(const BinFlow *g, const BinCheckReport *r) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (uint32_t k = 0; k < r->n; k++)
        text_finding(out, g, &r->findings[k]);
    fprintf(out, "%u %s, %u %s, %u %s in %u %s, %u instructions\n", r->nerrors,
            r->nerrors == 1 ? "error" : "errors", r->nwarnings, r->nwarnings == 1 ? "warning" : "warnings",
            r->nnotes, r->nnotes == 1 ? "note" : "notes", r->nfuncs,
            r->nfuncs == 1 ? "function" : "functions", r->ninsts);
    fclose(out);
    return text;
}

/* ---- JSON ---- */

static void add_address(cJSON *to, const char *name, uint64_t address) {
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    cJSON_AddStringToObject(to, name, text);
}

static uint64_t offset_in(const BinFlow *g, uint32_t inst) {
    uint32_t b = g->block_of[inst];
    uint32_t first = b == BINFLOW_NONE ? 0 : g->funcs[g->blocks[b].func].first_inst;
    return 16ull * (inst - first);
}

static cJSON *json_finding(const BinFlow *g, const BinFinding *f) {
    const CheckRuleInfo *r = check_rule(f->rule);
    cJSON *o = cJSON_CreateObject();
    char text[300], where[160];
    instruction_text(g, f->inst, text, sizeof text);
    cJSON_AddStringToObject(o, "rule", r->id);
    cJSON_AddStringToObject(o, "severity", severities[f->severity]);
    if (f->func != BINFLOW_NONE)
        cJSON_AddStringToObject(o, "function", g->bin->funcs[f->func].name);
    add_address(o, "address", offset_in(g, f->inst));
    cJSON_AddStringToObject(o, "instruction", text);
    if (f->ptx_line)
        cJSON_AddNumberToObject(o, "ptx_line", f->ptx_line);
    cJSON *path = cJSON_AddArrayToObject(o, "path");
    for (uint32_t k = 0; k < f->npath; k++)
        cJSON_AddItemToArray(path, cJSON_CreateString(bin_where(g, f->path[k], where)));
    cJSON_AddStringToObject(o, "message", f->text);
    cJSON_AddStringToObject(o, "harm", r->harm);
    cJSON_AddStringToObject(o, "fix", r->fix);
    return o;
}

static char *print_and_delete(cJSON *o) {
    char *text = cJSON_Print(o);
    cJSON_Delete(o);
    return text;
}

char *check_report_json(const BinFlow *g, const BinCheckReport *r) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "binary", g->bin->path ? g->bin->path : "");
    cJSON_AddStringToObject(o, "target", isa_target_name(g->bin->target));
    cJSON_AddNumberToObject(o, "functions", r->nfuncs);
    cJSON_AddNumberToObject(o, "instructions", r->ninsts);
    cJSON_AddNumberToObject(o, "errors", r->nerrors);
    cJSON_AddNumberToObject(o, "warnings", r->nwarnings);
    cJSON_AddNumberToObject(o, "notes", r->nnotes);
    cJSON *list = cJSON_AddArrayToObject(o, "findings");
    for (uint32_t k = 0; k < r->n; k++)
        cJSON_AddItemToArray(list, json_finding(g, &r->findings[k]));
    return print_and_delete(o);
}

/* ---- SARIF ---- */

static void add_text(cJSON *to, const char *name, const char *text) {
    cJSON_AddStringToObject(cJSON_AddObjectToObject(to, name), "text", text);
}

static cJSON *sarif_place(const BinFlow *g, uint32_t inst) {
    cJSON *loc = cJSON_CreateObject(), *physical = cJSON_AddObjectToObject(loc, "physicalLocation");
    char where[160];
    cJSON_AddStringToObject(cJSON_AddObjectToObject(physical, "artifactLocation"), "uri",
                            g->bin->path ? g->bin->path : "");
    cJSON *address = cJSON_AddObjectToObject(physical, "address");
    cJSON_AddNumberToObject(address, "absoluteAddress", (double)bin_address(g, inst));
    cJSON_AddStringToObject(address, "fullyQualifiedName", bin_where(g, inst, where));
    cJSON_AddNumberToObject(address, "length", INST_BYTES);
    uint32_t b = g->block_of[inst];
    if (b != BINFLOW_NONE) {
        cJSON *logical = cJSON_CreateObject();
        cJSON_AddStringToObject(logical, "name", g->bin->funcs[g->blocks[b].func].name);
        cJSON_AddStringToObject(logical, "kind", "function");
        cJSON_AddItemToArray(cJSON_AddArrayToObject(loc, "logicalLocations"), logical);
    }
    return loc;
}

static void sarif_ptx_place(cJSON *result, const BinFlow *g, const BinFinding *f) {
    const BinLoc *at = loc_of(g, f);
    if (!at || !at->ptx_line || !g->bin->ptx_name)
        return;
    cJSON *loc = cJSON_CreateObject(), *physical = cJSON_AddObjectToObject(loc, "physicalLocation");
    cJSON_AddStringToObject(cJSON_AddObjectToObject(physical, "artifactLocation"), "uri", g->bin->ptx_name);
    cJSON *region = cJSON_AddObjectToObject(physical, "region");
    cJSON_AddNumberToObject(region, "startLine", at->ptx_line);
    if (at->ptx_column)
        cJSON_AddNumberToObject(region, "startColumn", at->ptx_column);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(result, "relatedLocations"), loc);
}

static cJSON *sarif_result(const BinFlow *g, const BinFinding *f) {
    const CheckRuleInfo *r = check_rule(f->rule);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "ruleId", r->id);
    cJSON_AddNumberToObject(o, "ruleIndex", f->rule);
    cJSON_AddStringToObject(o, "level", severities[f->severity]);
    add_text(o, "message", f->text);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "locations"), sarif_place(g, f->inst));
    sarif_ptx_place(o, g, f);
    if (f->npath > 1) {
        cJSON *flow = cJSON_CreateObject(), *thread = cJSON_CreateObject();
        cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "codeFlows"), flow);
        cJSON_AddItemToArray(cJSON_AddArrayToObject(flow, "threadFlows"), thread);
        cJSON *steps = cJSON_AddArrayToObject(thread, "locations");
        for (uint32_t k = 0; k < f->npath; k++) {
            cJSON *step = cJSON_CreateObject();
            cJSON_AddItemToObject(step, "location", sarif_place(g, f->path[k]));
            cJSON_AddItemToArray(steps, step);
        }
    }
    return o;
}

static cJSON *sarif_rule(CheckRule rule) {
    const CheckRuleInfo *r = check_rule(rule);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "id", r->id);
    add_text(o, "shortDescription", r->title);
    add_text(o, "fullDescription", r->text);
    char help[1200];
    snprintf(help, sizeof help, "%s %s", r->harm, r->fix);
    add_text(o, "help", help);
    cJSON_AddStringToObject(cJSON_AddObjectToObject(o, "defaultConfiguration"), "level",
                            severities[r->severity]);
    return o;
}

char *check_report_sarif(const BinFlow *g, const BinCheckReport *r) {
    cJSON *o = cJSON_CreateObject(), *run = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    cJSON_AddStringToObject(o, "version", "2.1.0");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "runs"), run);
    cJSON *driver = cJSON_AddObjectToObject(cJSON_AddObjectToObject(run, "tool"), "driver");
    cJSON_AddStringToObject(driver, "name", "heddle check");
    cJSON_AddStringToObject(driver, "version", HEDDLE_VERSION);
    cJSON *rules = cJSON_AddArrayToObject(driver, "rules");
    for (unsigned k = 0; k < CR_COUNT; k++)
        cJSON_AddItemToArray(rules, sarif_rule((CheckRule)k));
    cJSON *results = cJSON_AddArrayToObject(run, "results");
    for (uint32_t k = 0; k < r->n; k++)
        cJSON_AddItemToArray(results, sarif_result(g, &r->findings[k]));
    return print_and_delete(o);
}

/* ---- explain ---- */

static const struct {
    const char *name, *title, *text;
} machine_checks[] = {
#define MACHINE_CHECK(name, title, text) {name, title, text},
#include "check/static/rules.def"
};

static void wrap(FILE *out, const char *text) {
    size_t column = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column && column + 1 + n > 96) {
            fputc('\n', out);
            column = 0;
        }
        column += n + (size_t)(column > 0 ? fputc(' ', out) == ' ' : 0);
        fwrite(text, 1, n, out);
        text += n + (text[n] == ' ');
    }
    fputc('\n', out);
}

static void example(FILE *out, const char *what, const char *text) {
    fprintf(out, "\n%s\n", what);
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        fprintf(out, "    %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

static void explain_rule(FILE *out, CheckRule rule) {
    const CheckRuleInfo *r = check_rule(rule);
    fprintf(out, "%s (%s", r->id, severities[r->severity]);
    if (check_rule_severity(rule, true) != r->severity)
        fprintf(out, ", %s on native targets", severities[check_rule_severity(rule, true)]);
    fprintf(out, "): %s.\n\n", r->title);
    wrap(out, r->text);
    fputc('\n', out);
    wrap(out, r->harm);
    example(out, "Wrong:", r->bad);
    example(out, "Right:", r->good);
    fprintf(out, "\nFix: %s\n", r->fix);
}

char *check_explain(const char *name) {
    char *text = NULL;
    size_t size = 0;
    CheckRule rule = check_rule_find(name, strlen(name));
    size_t k = 0, n = sizeof machine_checks / sizeof *machine_checks;
    while (rule == CR_COUNT && k < n && strcasecmp(machine_checks[k].name, name) != 0)
        k++;
    if (k == n)
        return NULL;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    if (rule != CR_COUNT)
        explain_rule(out, rule);
    else {
        fprintf(out, "%s: %s. The machine checks it while it runs.\n\n", machine_checks[k].name,
                machine_checks[k].title);
        wrap(out, machine_checks[k].text);
    }
    fclose(out);
    return text;
}
