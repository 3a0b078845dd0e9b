/* Reports of the static checker: text, JSON; what `heddle explain` prints. SARIF: sarif.c.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include "base/json.h"
#include "base/scope.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *check_severity_name(Severity severity) {
    static const char *const names[] = {
        [SEV_NOTE] = "note", [SEV_WARNING] = "warning", [SEV_ERROR] = "error"};
    return names[severity];
}

/* "@P0 BRA 0x60": places are counted from where its function begins, as bin_where() does, whatever stands
 * before it in the file. */
void check_instruction_text(const BinFlow *flow, uint32_t i, char *out, size_t size) {
    char text[256];
    const BinFunc *f = binary_func_at(flow->bin, bin_address(flow, i));
    uint64_t begin = f ? f->address : 0;
    if (flow->block_of[i] == BINFLOW_NONE || !flow->decoded[i] ||
        isa_print(flow->bin->target, &flow->insts[i], bin_address(flow, i) - begin, NULL, text, sizeof text) <
            0)
        snprintf(text, sizeof text, "0x%016llx%016llx", (unsigned long long)flow->bin->code[i][1],
                 (unsigned long long)flow->bin->code[i][0]);
    snprintf(out, size, "%s", text);
}

static const char *const mend_names[] = {
    [MEND_BSSY] = "BSSY", [MEND_BREAK] = "BREAK", [MEND_BSYNC] = "BSYNC"};

static uint64_t offset_in(const BinFlow *flow, uint32_t inst) {
    uint32_t b = flow->block_of[inst];
    uint32_t first = b == BINFLOW_NONE ? 0 : flow->funcs[flow->blocks[b].func].first_inst;
    return 16ull * (inst - first);
}

/* ---- text ---- */

static void text_mend(FILE *out, const BinFlow *flow, const BinMend *mend) {
    fprintf(out, "      %s B%u", mend_names[mend->what], mend->reg);
    if (mend->before != BINFLOW_NONE)
        fprintf(out, " in front of 0x%llx", (unsigned long long)offset_in(flow, mend->before));
    else
        fprintf(out, " on the edge 0x%llx -> 0x%llx", (unsigned long long)offset_in(flow, mend->from),
                (unsigned long long)offset_in(flow, mend->to));
    fputc('\n', out);
}

static void text_finding(FILE *out, const BinFlow *flow, const BinFinding *finding) {
    const CheckRuleInfo *info = check_rule(finding->rule);
    char where[160], text[300], source[100];
    fprintf(out, "%s: %s: %s %s: %s\n", flow->bin->path ? flow->bin->path : "binary",
            bin_where(flow, finding->inst, where), check_severity_name(finding->severity), info->id,
            finding->text);
    check_instruction_text(flow, finding->inst, text, sizeof text);
    fprintf(out, "    %s ;", text);
    if (finding->ptx_line)
        fprintf(out, "    // line %u", finding->ptx_line);
    binary_source(flow->bin, finding->loc, source, sizeof source);
    if (*source)
        fprintf(out, " (%s)", source);
    fputc('\n', out);
    if (finding->npath > 1) {
        fputs("    path:", out);
        for (uint32_t k = 0; k < finding->npath; k++) {
            uint32_t b = flow->block_of[finding->path[k]];
            bool same = b != BINFLOW_NONE && flow->blocks[b].func == finding->func;
            if (same)
                fprintf(out, " 0x%llx", 16ull * (finding->path[k] - flow->funcs[finding->func].first_inst));
            else
                fprintf(out, " %s", bin_where(flow, finding->path[k], where));
        }
        fputc('\n', out);
    }
    fprintf(out, "    %s\n    fix: %s\n", info->harm, info->fix);
    for (uint32_t k = 0; k < finding->nmend; k++)
        text_mend(out, flow, &finding->mend[k]);
}

Verdict check_verdict(const BinCheckReport *report, uint32_t func) {
    for (uint32_t k = 0; k < report->n; k++) {
        const BinFinding *finding = &report->findings[k];
        if (finding->severity == SEV_ERROR &&
            (func == BINFLOW_NONE || finding->func == BINFLOW_NONE || finding->func == func))
            return VERDICT_BROKEN;
    }
    return VERDICT_KEPT;
}

/* Kernels have a line, other functions if they break a rule. */
static bool has_verdict(const BinFlow *flow, const BinCheckReport *report, uint32_t func) {
    return flow->bin->funcs[func].is_entry || check_verdict(report, func) == VERDICT_BROKEN;
}

char *check_report_text(const BinFlow *g, const BinCheckReport *report) {
    TextStream *stream = text_open();
    FILE *out = stream->out;
    for (uint32_t k = 0; k < report->n; k++)
        text_finding(out, g, &report->findings[k]);
    fprintf(out, "%u %s, %u %s, %u %s in %u %s, %u instructions\n", report->nerrors,
            report->nerrors == 1 ? "error" : "errors", report->nwarnings,
            report->nwarnings == 1 ? "warning" : "warnings", report->nnotes,
            report->nnotes == 1 ? "note" : "notes", report->nfuncs,
            report->nfuncs == 1 ? "function" : "functions", report->ninsts);
    if (report->nknown)
        fprintf(out, "%u known %s left out\n", report->nknown, report->nknown == 1 ? "finding" : "findings");
    for (uint32_t f = 0; f < g->bin->nfuncs; f++)
        if (has_verdict(g, report, f))
            fprintf(out, "%s: %s\n", g->bin->funcs[f].name, verdict_name(check_verdict(report, f)));
    return text_close(stream, NULL);
}

/* ---- JSON ---- */

static void add_address(cJSON *to, const char *name, uint64_t address) {
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    json_add_text(to, name, text);
}

static void json_mend(const BinFlow *flow, const BinFinding *finding, cJSON *list) {
    for (uint32_t k = 0; k < finding->nmend; k++) {
        const BinMend *mend = &finding->mend[k];
        cJSON *o = json_object();
        char text[16];
        snprintf(text, sizeof text, "%s B%u", mend_names[mend->what], mend->reg);
        json_append(list, o);
        json_add_text(o, "instruction", text);
        if (mend->before != BINFLOW_NONE)
            add_address(o, "before", offset_in(flow, mend->before));
        else {
            add_address(o, "from", offset_in(flow, mend->from));
            add_address(o, "to", offset_in(flow, mend->to));
        }
    }
}

static cJSON *json_finding(const BinFlow *flow, const BinFinding *finding) {
    const CheckRuleInfo *info = check_rule(finding->rule);
    cJSON *o = json_object();
    char text[300], where[160], source[100];
    check_instruction_text(flow, finding->inst, text, sizeof text);
    binary_source(flow->bin, finding->loc, source, sizeof source);
    json_add_text(o, "rule", info->id);
    json_add_text(o, "severity", check_severity_name(finding->severity));
    if (finding->func != BINFLOW_NONE)
        json_add_text(o, "function", flow->bin->funcs[finding->func].name);
    add_address(o, "address", offset_in(flow, finding->inst));
    json_add_text(o, "instruction", text);
    if (finding->ptx_line)
        json_add_number(o, "ptx_line", finding->ptx_line);
    if (*source)
        json_add_text(o, "source", source);
    cJSON *path = json_add_list(o, "path");
    for (uint32_t k = 0; k < finding->npath; k++)
        json_append(path, json_text(bin_where(flow, finding->path[k], where)));
    json_add_text(o, "message", finding->text);
    json_add_text(o, "harm", info->harm);
    json_add_text(o, "fix", info->fix);
    if (finding->nmend)
        json_mend(flow, finding, json_add_list(o, "mend"));
    return o;
}

char *check_report_json(const BinFlow *flow, const BinCheckReport *report) {
    cJSON *o = json_object();
    json_add_text(o, "binary", flow->bin->path ? flow->bin->path : "");
    json_add_text(o, "target", isa_target_name(flow->bin->target));
    json_add_number(o, "functions", report->nfuncs);
    json_add_number(o, "instructions", report->ninsts);
    json_add_number(o, "steps", (double)report->steps);
    json_add_number(o, "errors", report->nerrors);
    json_add_number(o, "warnings", report->nwarnings);
    json_add_number(o, "notes", report->nnotes);
    json_add_number(o, "known", report->nknown);
    cJSON *list = json_add_list(o, "findings");
    for (uint32_t k = 0; k < report->n; k++)
        json_append(list, json_finding(flow, &report->findings[k]));
    cJSON *verdicts = json_add_list(o, "verdicts");
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++) {
        if (!has_verdict(flow, report, f))
            continue;
        cJSON *verdict = json_object();
        json_add_text(verdict, "kernel", flow->bin->funcs[f].name);
        json_add_text(verdict, "verdict", verdict_name(check_verdict(report, f)));
        json_append(verdicts, verdict);
    }
    return json_close(o);
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
    const CheckRuleInfo *info = check_rule(rule);
    fprintf(out, "%s (%s", info->id, check_severity_name(info->severity));
    if (check_rule_severity(rule, true) != info->severity)
        fprintf(out, ", %s on native targets", check_severity_name(check_rule_severity(rule, true)));
    fprintf(out, "): %s.\n\n", info->title);
    wrap(out, info->text);
    fputc('\n', out);
    wrap(out, info->harm);
    example(out, "Wrong:", info->bad);
    example(out, "Right:", info->good);
    fprintf(out, "\nFix: %s\n", info->fix);
}

char *check_explain(const char *name) {
    CheckRule rule = check_rule_find(name, strlen(name));
    size_t k = 0, n = sizeof machine_checks / sizeof *machine_checks;
    while (rule == CR_COUNT && k < n && strcasecmp(machine_checks[k].name, name) != 0)
        k++;
    if (k == n)
        return NULL;
    TextStream *stream = text_open();
    FILE *out = stream->out;
    if (rule != CR_COUNT)
        explain_rule(out, rule);
    else {
        fprintf(out, "%s: %s. The machine checks it while it runs.\n\n", machine_checks[k].name,
                machine_checks[k].title);
        wrap(out, machine_checks[k].text);
    }
    return text_close(stream, NULL);
}
