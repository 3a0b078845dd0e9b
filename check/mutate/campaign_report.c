/* The report of a mutation campaign: a table of kill rates, and the survivors.
 * SPDX-License-Identifier: MIT */
#include "check/mutate/campaign.h"
#include "base/json.h"
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
    cJSON *o = json_object(), *k = json_object();
    json_add_number(o, "sites", (double)count->sites);
    json_add_number(o, "mutants", (double)count->mutants);
    json_add_number(o, "changed", (double)count->changed);
    json_add_number(o, "provable", (double)count->provable);
    json_add_number(o, "provable_killed", (double)count->provable_killed);
    json_add_number(o, "refuted", (double)count->refuted);
    for (unsigned t = 0; t < TOOL_COUNT; t++)
        json_add_number(k, mutate_campaign_tool_name((MutTool)t), (double)count->killed[t]);
    json_add(o, "killed", k);
    return o;
}

char *mutate_campaign_json(const CampaignReport *report) {
    cJSON *o = json_object();
    json_add_number(o, "programs", report->subjects);
    json_add_number(o, "programs_stuck_unchanged", report->stuck_subjects);
    json_add_number(o, "runs", (double)report->runs);
    json_add_number(o, "seconds", report->seconds);
    cJSON *classes = json_add_object(o, "classes"), *list = json_add_list(o, "survivors");
    for (unsigned c = 0; c < MUT_CLASSES; c++)
        if (report->count[c].mutants) {
            cJSON *k = count_json(&report->count[c]);
            json_add_text(k, "group", mutate_group_name(mutate_class((MutClass)c)->group));
            json_add(classes, mutate_class((MutClass)c)->name, k);
        }
    for (uint32_t i = 0; i < report->survivors.n; i++) {
        const MutSurvivor *survivor = &report->survivors.at[i];
        cJSON *k = json_object();
        json_add_text(k, "program", survivor->subject);
        json_add_text(k, "site", survivor->site);
        json_add_text(k, "truth", survivor->truth);
        json_add_text(k, "reason", survivor->reason);
        for (unsigned t = 0; t < TOOL_COUNT; t++)
            json_add_bool(k, mutate_campaign_tool_name((MutTool)t), survivor->killed[t]);
        json_append(list, k);
    }
    return json_close(o);
}
