/* Texts of a proof's report.
 * SPDX-License-Identifier: MIT */
#include "check/prove/prove.h"
#include <cjson/cJSON.h>
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

char *prove_report_text(const ProveReport *report, bool verbose) {
    char *s = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&s, &n);
    if (!f)
        return NULL;
    for (uint32_t i = 0; i < report->nfuncs; i++) {
        const ProveFunc *fn = &report->funcs[i];
        line(f, fn->name, fn->count);
        for (uint32_t k = 0; k < fn->nregions; k++)
            if (verbose || fn->regions[k].status >= PROVE_REFUTED)
                region(f, &fn->regions[k]);
    }
    for (uint32_t i = 0; i < report->facts.n; i++) {
        const ProveFact *fact = &report->facts.at[i];
        fprintf(f, "%s: %s: %s", fact->func ? fact->func : "module", prove_status_name(fact->status),
                fact->text);
        fprintf(f, fact->ptx_line ? " (PTX line %u)\n" : "\n", fact->ptx_line);
    }
    line(f, "all", report->count);
    line(f, "with a guard, select, conversion", report->predicated);
    fprintf(f, "%u queries, the slowest %.2f s; %.2f s in all%s\n", report->queries, report->slowest_query,
            report->seconds, report->has_z3 ? "" : "; libz3 was not found, so nothing was asked");
    for (uint32_t i = 0; i < report->nfuncs; i++)
        fprintf(f, "%s: %s\n", report->funcs[i].name,
                verdict_name(prove_verdict_of(report, report->funcs[i].name)));
    for (uint32_t i = 0; i < report->facts.n; i++)
        if (is_absent(report, i))
            fprintf(f, "%s: %s\n", report->facts.at[i].func,
                    verdict_name(prove_verdict_of(report, report->facts.at[i].func)));
    fclose(f);
    return s;
}

static cJSON *counts(const uint32_t count[PROVE_NSTATUS]) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "regions", total(count));
    cJSON_AddNumberToObject(o, "proved", proved(count));
    for (unsigned i = 0; i < PROVE_NSTATUS; i++)
        cJSON_AddNumberToObject(o, prove_status_name((ProveStatus)i), count[i]);
    return o;
}

char *prove_report_json(const ProveReport *report) {
    cJSON *root = cJSON_CreateObject(), *funcs = cJSON_AddArrayToObject(root, "functions");
    for (uint32_t i = 0; i < report->nfuncs; i++) {
        const ProveFunc *fn = &report->funcs[i];
        cJSON *o = cJSON_CreateObject(), *list;
        cJSON_AddStringToObject(o, "name", fn->name);
        cJSON_AddStringToObject(o, "verdict", verdict_name(prove_verdict_of(report, fn->name)));
        cJSON_AddItemToObject(o, "all", counts(fn->count));
        cJSON_AddItemToObject(o, "predicated", counts(fn->predicated));
        list = cJSON_AddArrayToObject(o, "regions");
        for (uint32_t k = 0; k < fn->nregions; k++) {
            const ProveRegion *region = &fn->regions[k];
            cJSON *x = cJSON_CreateObject();
            cJSON_AddStringToObject(x, "status", prove_status_name(region->status));
            cJSON_AddNumberToObject(x, "ptxFirst", region->ptx_first);
            cJSON_AddNumberToObject(x, "ptxLast", region->ptx_last);
            cJSON_AddNumberToObject(x, "pcFirst", (double)region->pc_first);
            cJSON_AddNumberToObject(x, "pcLast", (double)region->pc_last);
            cJSON_AddBoolToObject(x, "predicated", region->predicated);
            cJSON_AddNumberToObject(x, "seconds", region->seconds);
            if (region->reason && *region->reason) {
                cJSON_AddStringToObject(x, "reason", region->reason);
                cJSON_AddNumberToObject(x, "line", region->bad_line);
                cJSON_AddNumberToObject(x, "pc", (double)region->bad_pc);
            }
            if (region->nvalues) {
                cJSON *v = cJSON_AddObjectToObject(x, "values");
                for (uint32_t n = 0; n < region->nvalues; n++) {
                    char text[32];
                    snprintf(text, sizeof text, "0x%" PRIx64, region->values[n].value);
                    cJSON_AddStringToObject(v, region->values[n].what, text);
                }
                cJSON_AddBoolToObject(x, "replayed", region->replayed);
            }
            cJSON_AddItemToArray(list, x);
        }
        cJSON_AddItemToArray(funcs, o);
    }
    cJSON *facts = cJSON_AddArrayToObject(root, "facts");
    for (uint32_t i = 0; i < report->facts.n; i++) {
        const ProveFact *fact = &report->facts.at[i];
        cJSON *o = cJSON_CreateObject();
        if (fact->func)
            cJSON_AddStringToObject(o, "function", fact->func);
        cJSON_AddStringToObject(o, "status", prove_status_name(fact->status));
        cJSON_AddStringToObject(o, "text", fact->text);
        if (fact->ptx_line)
            cJSON_AddNumberToObject(o, "line", fact->ptx_line);
        cJSON_AddItemToArray(facts, o);
    }
    cJSON_AddStringToObject(root, "verdict", verdict_name(prove_verdict(report)));
    cJSON_AddItemToObject(root, "all", counts(report->count));
    cJSON_AddItemToObject(root, "predicated", counts(report->predicated));
    cJSON_AddNumberToObject(root, "queries", report->queries);
    cJSON_AddNumberToObject(root, "slowestQuery", report->slowest_query);
    cJSON_AddNumberToObject(root, "seconds", report->seconds);
    cJSON_AddBoolToObject(root, "z3", report->has_z3);
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}
