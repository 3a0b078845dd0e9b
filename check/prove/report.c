/* Texts of a proof's report.
 * SPDX-License-Identifier: MIT */
#include "check/prove/prove.h"
#include "base/json.h"
#include "base/scope.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *prove_status_name(ProveStatus s) {
    static const char *const names[PROVE_NSTATUS] = {"syntactic", "uf", "bit-precise", "refuted", "unknown"};
    return s < PROVE_NSTATUS ? names[s] : "?";
}

static uint32_t total(const uint32_t count[PROVE_NSTATUS]) {
    uint32_t n = 0;
    for (unsigned i = 0; i < PROVE_NSTATUS; i++)
        n += count[i];
    return n;
}
static uint32_t proved(const uint32_t count[PROVE_NSTATUS]) {
    return count[PROVE_SYNTACTIC] + count[PROVE_UF] + count[PROVE_BITS];
}

static void line(FILE *f, const char *name, const uint32_t count[PROVE_NSTATUS]) {
    uint32_t n = total(count);
    fprintf(f, "%-34s %5u regions %5u proved (%u syntactic, %u uf, %u bit-precise) %u refuted %u unknown",
            name, n, proved(count), count[PROVE_SYNTACTIC], count[PROVE_UF], count[PROVE_BITS],
            count[PROVE_REFUTED], count[PROVE_UNKNOWN]);
    if (n)
        fprintf(f, "  %.1f %%", 100.0 * proved(count) / n);
    fprintf(f, "\n");
}

static void region(FILE *f, const ProveRegion *prove_region) {
    fprintf(f, "  lines %u-%u  /*%04" PRIx64 "*/-/*%04" PRIx64 "*/  %s%s", prove_region->ptx_first,
            prove_region->ptx_last, prove_region->pc_first, prove_region->pc_last,
            prove_status_name(prove_region->status), prove_region->predicated ? ", predicated" : "");
    if (prove_region->reason && *prove_region->reason)
        fprintf(f, ": %s (PTX line %u, /*%04" PRIx64 "*/)", prove_region->reason, prove_region->bad_line,
                prove_region->bad_pc);
    fprintf(f, "\n");
    for (uint32_t k = 0; k < prove_region->nvalues; k++)
        fprintf(f, "      %-20s 0x%" PRIx64 "\n", prove_region->values[k].what,
                prove_region->values[k].value);
}

/* Is the fact the first one about a function that has no regions, as one that the binary lacks? */
static bool is_absent(const ProveReport *report, uint32_t index) {
    const char *func = report->facts.at[index].func;
    bool known = !func;
    for (uint32_t i = 0; i < report->nfuncs && !known; i++)
        known = strcmp(report->funcs[i].name, func) == 0;
    for (uint32_t k = 0; k < index && !known; k++)
        known = report->facts.at[k].func && strcmp(report->facts.at[k].func, func) == 0;
    return !known;
}

void prove_report_left_out(ProveReport *report, const char *const *names, uint32_t n) {
    ProveFunc *funcs = ARENA_ARRAY(&report->arena, ProveFunc, report->nfuncs + n + 1);
    if (report->nfuncs)
        memcpy(funcs, report->funcs, report->nfuncs * sizeof *funcs);
    for (uint32_t i = 0; i < n; i++)
        funcs[report->nfuncs++] =
            (ProveFunc){.name = arena_printf(&report->arena, "%s", names[i]), .not_compiled = true};
    report->funcs = funcs;
}

char *prove_report_text(const ProveReport *report, bool verbose) {
    TextStream *stream = text_open();
    FILE *f = stream->out;
    for (uint32_t i = 0; i < report->nfuncs; i++) {
        const ProveFunc *fn = &report->funcs[i];
        if (!fn->not_compiled)
            line(f, fn->name, fn->count);
        for (uint32_t k = 0; k < fn->nregions; k++)
            if (verbose || fn->regions[k].status >= PROVE_REFUTED)
                region(f, &fn->regions[k]);
        if (fn->shown)
            fprintf(f, "  a launch differs at %s\n", fn->shown);
    }
    for (uint32_t i = 0; i < report->facts.n; i++) {
        const ProveFact *fact = &report->facts.at[i];
        fprintf(f, "%s: %s: %s", fact->func ? fact->func : "module", prove_status_name(fact->status),
                fact->text);
        fprintf(f, fact->ptx_line ? " (PTX line %u)\n" : "\n", fact->ptx_line);
    }
    for (uint32_t i = 0; i < report->assumptions.n; i++) {
        const ProveAssumption *assumed = &report->assumptions.at[i];
        fprintf(f, "%s: assumes%s, %s (PTX line %u): %s: %s\n", assumed->func,
                prove_assumed_of_compiler(assumed->kind) ? "" : " of the program", assumed->op,
                assumed->ptx_line, prove_assumed_name(assumed->kind), prove_assumed_text(assumed->kind));
    }
    line(f, "all", report->count);
    line(f, "with a guard, select, conversion", report->predicated);
    fprintf(f, "%u queries, the slowest %.2f s; %.2f s in all%s\n", report->queries, report->slowest_query,
            report->seconds, report->lacks_z3 ? "; libz3 was not found, so nothing was asked" : "");
    for (uint32_t i = 0; i < report->nfuncs; i++)
        fprintf(f, "%s: %s\n", report->funcs[i].name,
                verdict_name(prove_verdict_of(report, report->funcs[i].name)));
    for (uint32_t i = 0; i < report->facts.n; i++)
        if (is_absent(report, i))
            fprintf(f, "%s: %s\n", report->facts.at[i].func,
                    verdict_name(prove_verdict_of(report, report->facts.at[i].func)));
    return text_close(stream, NULL);
}

char *prove_report_certificate(const ProveReport *report) {
    static const char next[] = "function ";
    TextStream *stream = text_open();
    for (uint32_t i = 0; i < report->nfuncs; i++) {
        const char *text = report->funcs[i].certificate, *end = text ? strstr(text, next) : NULL;
        if (text)
            fprintf(stream->out, "%s%s\n%.*s", next, report->funcs[i].name,
                    (int)(end ? (size_t)(end - text) : strlen(text)), text);
    }
    return text_close(stream, NULL);
}

static cJSON *counts(const uint32_t count[PROVE_NSTATUS]) {
    cJSON *o = json_object();
    json_add_number(o, "regions", total(count));
    json_add_number(o, "proved", proved(count));
    for (unsigned i = 0; i < PROVE_NSTATUS; i++)
        json_add_number(o, prove_status_name((ProveStatus)i), count[i]);
    return o;
}

char *prove_report_json(const ProveReport *report) {
    cJSON *root = json_object(), *funcs = json_add_list(root, "functions");
    for (uint32_t i = 0; i < report->nfuncs; i++) {
        const ProveFunc *fn = &report->funcs[i];
        cJSON *o = json_object(), *list;
        json_add_text(o, "name", fn->name);
        json_add_text(o, "verdict", verdict_name(prove_verdict_of(report, fn->name)));
        json_add(o, "all", counts(fn->count));
        json_add(o, "predicated", counts(fn->predicated));
        list = json_add_list(o, "regions");
        for (uint32_t k = 0; k < fn->nregions; k++) {
            const ProveRegion *region = &fn->regions[k];
            cJSON *x = json_object();
            json_add_text(x, "status", prove_status_name(region->status));
            json_add_number(x, "ptxFirst", region->ptx_first);
            json_add_number(x, "ptxLast", region->ptx_last);
            json_add_number(x, "pcFirst", (double)region->pc_first);
            json_add_number(x, "pcLast", (double)region->pc_last);
            json_add_bool(x, "predicated", region->predicated);
            json_add_number(x, "seconds", region->seconds);
            if (region->reason && *region->reason) {
                json_add_text(x, "reason", region->reason);
                json_add_number(x, "line", region->bad_line);
                json_add_number(x, "pc", (double)region->bad_pc);
            }
            if (region->nvalues) {
                cJSON *v = json_add_object(x, "values");
                for (uint32_t n = 0; n < region->nvalues; n++) {
                    char text[32];
                    snprintf(text, sizeof text, "0x%" PRIx64, region->values[n].value);
                    json_add_text(v, region->values[n].what, text);
                }
                json_add_bool(x, "replayed", region->replayed);
            }
            json_append(list, x);
        }
        if (fn->shown)
            json_add_text(o, "shown", fn->shown);
        json_append(funcs, o);
    }
    cJSON *assumptions = json_add_list(root, "assumptions");
    for (uint32_t i = 0; i < report->assumptions.n; i++) {
        const ProveAssumption *assumed = &report->assumptions.at[i];
        cJSON *o = json_object();
        json_add_text(o, "function", assumed->func);
        json_add_text(o, "of", prove_assumed_of_compiler(assumed->kind) ? "compiler" : "program");
        json_add_text(o, "name", prove_assumed_name(assumed->kind));
        json_add_text(o, "operation", assumed->op);
        json_add_number(o, "line", assumed->ptx_line);
        json_add_text(o, "text", prove_assumed_text(assumed->kind));
        json_append(assumptions, o);
    }
    cJSON *facts = json_add_list(root, "facts");
    for (uint32_t i = 0; i < report->facts.n; i++) {
        const ProveFact *fact = &report->facts.at[i];
        cJSON *o = json_object();
        if (fact->func)
            json_add_text(o, "function", fact->func);
        json_add_text(o, "status", prove_status_name(fact->status));
        json_add_text(o, "text", fact->text);
        if (fact->ptx_line)
            json_add_number(o, "line", fact->ptx_line);
        json_append(facts, o);
    }
    json_add_text(root, "verdict", verdict_name(prove_verdict(report)));
    json_add(root, "all", counts(report->count));
    json_add(root, "predicated", counts(report->predicated));
    json_add_number(root, "queries", report->queries);
    json_add_number(root, "slowestQuery", report->slowest_query);
    json_add_number(root, "seconds", report->seconds);
    json_add_bool(root, "z3", !report->lacks_z3);
    return json_close(root);
}
