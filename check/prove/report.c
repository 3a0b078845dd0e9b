/* Texts of a proof's report.
 * SPDX-License-Identifier: MIT */
#include "check/prove/prove.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

static void region(FILE *f, const ProveRegion *o) {
    fprintf(f, "  lines %u-%u  /*%04" PRIx64 "*/-/*%04" PRIx64 "*/  %s%s", o->ptx_first, o->ptx_last,
            o->pc_first, o->pc_last, prove_status_name(o->status), o->predicated ? ", predicated" : "");
    if (o->reason && *o->reason)
        fprintf(f, ": %s (PTX line %u, /*%04" PRIx64 "*/)", o->reason, o->bad_line, o->bad_pc);
    fprintf(f, "\n");
    for (uint32_t k = 0; k < o->nvalues; k++)
        fprintf(f, "      %-20s 0x%" PRIx64 "\n", o->values[k].what, o->values[k].value);
}

char *prove_report_text(const ProveReport *r, bool verbose) {
    char *s = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&s, &n);
    if (!f)
        return NULL;
    for (uint32_t i = 0; i < r->nfuncs; i++) {
        const ProveFunc *fn = &r->funcs[i];
        line(f, fn->name, fn->count);
        for (uint32_t k = 0; k < fn->nregions; k++)
            if (verbose || fn->regions[k].status >= PROVE_REFUTED)
                region(f, &fn->regions[k]);
    }
    line(f, "all", r->count);
    line(f, "with a guard, select, conversion", r->predicated);
    fprintf(f, "%u queries, the slowest %.2f s; %.2f s in all%s\n", r->queries, r->slowest_query, r->seconds,
            r->has_z3 ? "" : "; libz3 was not found, so nothing was asked");
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

char *prove_report_json(const ProveReport *r) {
    cJSON *root = cJSON_CreateObject(), *funcs = cJSON_AddArrayToObject(root, "functions");
    for (uint32_t i = 0; i < r->nfuncs; i++) {
        const ProveFunc *fn = &r->funcs[i];
        cJSON *o = cJSON_CreateObject(), *list;
        cJSON_AddStringToObject(o, "name", fn->name);
        cJSON_AddItemToObject(o, "all", counts(fn->count));
        cJSON_AddItemToObject(o, "predicated", counts(fn->predicated));
        list = cJSON_AddArrayToObject(o, "regions");
        for (uint32_t k = 0; k < fn->nregions; k++) {
            const ProveRegion *g = &fn->regions[k];
            cJSON *x = cJSON_CreateObject();
            cJSON_AddStringToObject(x, "status", prove_status_name(g->status));
            cJSON_AddNumberToObject(x, "ptxFirst", g->ptx_first);
            cJSON_AddNumberToObject(x, "ptxLast", g->ptx_last);
            cJSON_AddNumberToObject(x, "pcFirst", (double)g->pc_first);
            cJSON_AddNumberToObject(x, "pcLast", (double)g->pc_last);
            cJSON_AddBoolToObject(x, "predicated", g->predicated);
            cJSON_AddNumberToObject(x, "seconds", g->seconds);
            if (g->reason && *g->reason) {
                cJSON_AddStringToObject(x, "reason", g->reason);
                cJSON_AddNumberToObject(x, "line", g->bad_line);
                cJSON_AddNumberToObject(x, "pc", (double)g->bad_pc);
            }
            if (g->nvalues) {
                cJSON *v = cJSON_AddObjectToObject(x, "values");
                for (uint32_t n = 0; n < g->nvalues; n++) {
                    char text[32];
                    snprintf(text, sizeof text, "0x%" PRIx64, g->values[n].value);
                    cJSON_AddStringToObject(v, g->values[n].what, text);
                }
                cJSON_AddBoolToObject(x, "replayed", g->replayed);
            }
            cJSON_AddItemToArray(list, x);
        }
        cJSON_AddItemToArray(funcs, o);
    }
    cJSON_AddItemToObject(root, "all", counts(r->count));
    cJSON_AddItemToObject(root, "predicated", counts(r->predicated));
    cJSON_AddNumberToObject(root, "queries", r->queries);
    cJSON_AddNumberToObject(root, "slowestQuery", r->slowest_query);
    cJSON_AddNumberToObject(root, "seconds", r->seconds);
    cJSON_AddBoolToObject(root, "z3", r->has_z3);
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}
