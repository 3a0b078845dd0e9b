/* The report of a mutation campaign: a table of kill rates, and the survivors.
 * SPDX-License-Identifier: MIT */
#include "check/mutate/campaign.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

const char *mutate_campaign_tool_name(MutTool t) {
    static const char *const names[TOOL_COUNT] = {"static", "model",    "static+model",
                                                  "prove",  "validate", "any"};
    return names[t];
}

static void rate(FILE *out, const MutCount *count, MutTool t, bool tried) {
    if (!count->changed || !tried)
        fprintf(out, " %13s", "-");
    else
        fprintf(out, " %5llu %5.1f %%", (unsigned long long)count->killed[t],
                100.0 * (double)count->killed[t] / (double)count->changed);
}

static void line(FILE *out, const char *name, const MutCount *count, MutGroup g, bool proved) {
    fprintf(out, "%-16s %7llu %8llu %8llu", name, (unsigned long long)count->sites,
            (unsigned long long)count->mutants, (unsigned long long)count->changed);
    for (unsigned t = 0; t < TOOL_COUNT; t++) {
        bool tried =
            t == TOOL_PROVE ? proved && mutate_changes_values(g) : t != TOOL_MODEL || g == MUT_RECONVERGENCE;
        rate(out, count, (MutTool)t, tried);
    }
    fputc('\n', out);
}

static void add_count(MutCount *sum, const MutCount *count) {
    sum->sites += count->sites, sum->mutants += count->mutants, sum->changed += count->changed;
    for (unsigned t = 0; t < TOOL_COUNT; t++)
        sum->killed[t] += count->killed[t];
}

char *mutate_campaign_text(const CampaignReport *report) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    fprintf(out, "%-16s %7s %8s %8s", "class", "sites", "mutants", "changed");
    for (unsigned t = 0; t < TOOL_COUNT; t++)
        fprintf(out, " %13s", mutate_campaign_tool_name((MutTool)t));
    fputc('\n', out);
    for (unsigned g = 0; g < MUT_GROUPS; g++) {
        MutCount sum = {0};
        for (unsigned c = 0; c < MUT_CLASSES; c++) {
            if (mutate_class((MutClass)c)->group != (MutGroup)g || !report->count[c].mutants)
                continue;
            line(out, mutate_class((MutClass)c)->name, &report->count[c], (MutGroup)g, report->proved);
            add_count(&sum, &report->count[c]);
        }
        if (sum.mutants)
            line(out, mutate_group_name((MutGroup)g), &sum, (MutGroup)g, report->proved);
    }
    MutCount proof = {0};
    for (unsigned c = 0; c < MUT_CLASSES; c++) {
        proof.provable += report->count[c].provable;
        proof.provable_killed += report->count[c].provable_killed;
        proof.refuted += report->count[c].refuted;
    }
    if (proof.provable)
        fprintf(out,
                "of the changed predication mutants in regions that prove proves unchanged: %llu of %llu "
                "rejected (%.1f %%), "
                "%llu refuted\n",
                (unsigned long long)proof.provable_killed, (unsigned long long)proof.provable,
                100.0 * (double)proof.provable_killed / (double)proof.provable,
                (unsigned long long)proof.refuted);
    fprintf(out, "%u programs (%u that the model checker objects to unchanged), %llu runs, %.1f s\n",
            report->subjects, report->stuck_subjects, (unsigned long long)report->runs, report->seconds);
    for (uint32_t i = 0; i < report->survivors.n; i++) {
        const MutSurvivor *survivor = &report->survivors.at[i];
        fprintf(out, "survivor %s %s\n    %s; %s%s\n", survivor->subject, survivor->site, survivor->truth,
                survivor->reason, survivor->killed[TOOL_VALIDATE] ? "; validate finds it" : "");
    }
    fclose(out);
    return text;
}

static cJSON *count_json(const MutCount *count) {
    cJSON *o = cJSON_CreateObject(), *k = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "sites", (double)count->sites);
    cJSON_AddNumberToObject(o, "mutants", (double)count->mutants);
    cJSON_AddNumberToObject(o, "changed", (double)count->changed);
    cJSON_AddNumberToObject(o, "provable", (double)count->provable);
    cJSON_AddNumberToObject(o, "provable_killed", (double)count->provable_killed);
    cJSON_AddNumberToObject(o, "refuted", (double)count->refuted);
    for (unsigned t = 0; t < TOOL_COUNT; t++)
        cJSON_AddNumberToObject(k, mutate_campaign_tool_name((MutTool)t), (double)count->killed[t]);
    cJSON_AddItemToObject(o, "killed", k);
    return o;
}

char *mutate_campaign_json(const CampaignReport *report) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "programs", report->subjects);
    cJSON_AddNumberToObject(o, "programs_stuck_unchanged", report->stuck_subjects);
    cJSON_AddNumberToObject(o, "runs", (double)report->runs);
    cJSON_AddNumberToObject(o, "seconds", report->seconds);
    cJSON *classes = cJSON_AddObjectToObject(o, "classes"), *list = cJSON_AddArrayToObject(o, "survivors");
    for (unsigned c = 0; c < MUT_CLASSES; c++)
        if (report->count[c].mutants) {
            cJSON *k = count_json(&report->count[c]);
            cJSON_AddStringToObject(k, "group", mutate_group_name(mutate_class((MutClass)c)->group));
            cJSON_AddItemToObject(classes, mutate_class((MutClass)c)->name, k);
        }
    for (uint32_t i = 0; i < report->survivors.n; i++) {
        const MutSurvivor *survivor = &report->survivors.at[i];
        cJSON *k = cJSON_CreateObject();
        cJSON_AddStringToObject(k, "program", survivor->subject);
        cJSON_AddStringToObject(k, "site", survivor->site);
        cJSON_AddStringToObject(k, "truth", survivor->truth);
        cJSON_AddStringToObject(k, "reason", survivor->reason);
        for (unsigned t = 0; t < TOOL_COUNT; t++)
            cJSON_AddBoolToObject(k, mutate_campaign_tool_name((MutTool)t), survivor->killed[t]);
        cJSON_AddItemToArray(list, k);
    }
    char *text = cJSON_Print(o);
    cJSON_Delete(o);
    if (!text)
        abort();
    return text;
}
