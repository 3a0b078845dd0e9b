/* What the model checker found: text for people, schedules for the simulator.
 * SPDX-License-Identifier: MIT */
#include "check/model/internal.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_STEPS = 40 };

static void lanes_text(const ModelResult *r, unsigned set, char out[32]) {
    size_t n = 0;
    out[0] = 0;
    for (unsigned i = 0; i < r->nlanes; i++)
        if (set >> i & 1)
            n += (size_t)snprintf(out + n, 32 - n, "%s%u", n ? "," : "", r->lane_number[i]);
    if (!n)
        snprintf(out, 32, "none");
}

static void step_text(FILE *out, const BinFlow *g, const ModelResult *r, const ModelStep *s) {
    char where[160], lanes[32], chosen[32], text[200] = "?";
    const MachInst *m = &g->insts[s->inst];
    isa_print(g->bin->target, m, bin_address(g, s->inst) - r->kernel->address, NULL, text, sizeof text);
    lanes_text(r, s->active, lanes);
    lanes_text(r, s->chosen, chosen);
    switch (s->kind) {
    case MS_GUARD:
        fprintf(out, "    %s  %s: of lanes %s true for %s\n", bin_where(g, s->inst, where), text, lanes,
                chosen);
        break;
    case MS_TARGET:
        fprintf(out, "    %s  %s:", bin_where(g, s->inst, where), text);
        for (unsigned i = 0; i < r->nlanes; i++)
            if (s->chosen >> i & 1)
                fprintf(out, " lane %u to %s", r->lane_number[i], bin_where(g, s->target[i], where));
        fputc('\n', out);
        break;
    case MS_MASK:
        fprintf(out, "    %s  %s: taken to name %s\n", bin_where(g, s->inst, where), text, chosen);
        break;
    default: fprintf(out, "    %s  %s: lane %s goes on\n", bin_where(g, s->inst, where), text, chosen); break;
    }
}

static void finding_text(FILE *out, const BinFlow *g, const ModelResult *r, const ModelFinding *f) {
    char where[160], text[200];
    fprintf(out, "  %s at %s: %s\n", model_verdict_name(f->verdict), bin_where(g, f->inst, where), f->text);
    for (uint32_t i = 0; i < f->nsteps; i++) {
        if (i == f->loop)
            fprintf(out, "   and then for ever:\n");
        if (i >= SHOWN_STEPS / 2 && f->nsteps > SHOWN_STEPS && i < f->nsteps - SHOWN_STEPS / 2) {
            if (i == SHOWN_STEPS / 2)
                fprintf(out, "    ... %u decisions more ...\n", f->nsteps - SHOWN_STEPS);
            continue;
        }
        step_text(out, g, r, &f->steps[i]);
    }
    for (unsigned i = 0; i < r->nlanes; i++) {
        if (f->lanes[i].pc == BINFLOW_NONE) {
            fprintf(out, "   lane %u has exited\n", r->lane_number[i]);
            continue;
        }
        isa_print(g->bin->target, &g->insts[f->lanes[i].pc],
                  bin_address(g, f->lanes[i].pc) - r->kernel->address, NULL, text, sizeof text);
        fprintf(out, "   lane %u %s %s  %s\n", r->lane_number[i], f->lanes[i].active ? "runs at" : "waits at",
                bin_where(g, f->lanes[i].pc, where), text);
    }
}

char *model_text(const BinFlow *g, const ModelResult *r) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    fprintf(out, "%s: %s, %u lanes, %llu states, %.3f s", r->kernel->name, model_verdict_name(r->verdict),
            r->nlanes, (unsigned long long)r->nstates, r->seconds);
    if (r->why)
        fprintf(out, "; not looked at: %s", r->why);
    if (r->assumed_masks)
        fprintf(out, "; WARPSYNC masks that are not known are taken to fit");
    fputc('\n', out);
    for (uint32_t i = 0; i < r->nfindings; i++)
        finding_text(out, g, r, &r->findings[i]);
    fclose(out);
    return text;
}

/* ---- schedules ---- */

static const char *const kind_names[] = {"guard", "target", "mask", "pick"};

static double real_lanes(const ModelResult *r, unsigned set) {
    uint32_t m = 0;
    for (unsigned i = 0; i < r->nlanes; i++)
        m |= set >> i & 1 ? 1u << r->lane_number[i] : 0;
    return m;
}

static void add_step(cJSON *list, const BinFlow *g, const ModelResult *r, const ModelStep *s) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "kind", kind_names[s->kind]);
    cJSON_AddNumberToObject(o, "pc", (double)(bin_address(g, s->inst)));
    if (s->kind != MS_PICK)
        cJSON_AddNumberToObject(o, "active", real_lanes(r, s->active));
    cJSON_AddNumberToObject(o, "lanes", real_lanes(r, s->chosen));
    if (s->kind == MS_TARGET) {
        cJSON *t = cJSON_AddArrayToObject(o, "targets"); /* in ascending order of the lanes */
        for (unsigned i = 0; i < r->nlanes; i++)
            if (s->chosen >> i & 1)
                cJSON_AddItemToArray(t, cJSON_CreateNumber((double)bin_address(g, s->target[i])));
    }
    cJSON_AddItemToArray(list, o);
}

char *model_schedule_json(const BinFlow *g, const ModelResult *r, const ModelFinding *f) {
    static const char *const nb[] = {"release", "blocked", "literal"},
                             *const order[] = {"fallthrough", "taken"}, *const join[] = {"all", "candidates"},
                             *const lane[] = {"lowest", "highest", "any", "any"};
    cJSON *o = cJSON_CreateObject(), *policy = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "kernel", r->kernel->name);
    cJSON_AddStringToObject(o, "verdict", model_verdict_name(f->verdict));
    cJSON_AddStringToObject(o, "what", f->text);
    cJSON_AddNumberToObject(o, "pc", (double)bin_address(g, f->inst));
    cJSON_AddNumberToObject(o, "lanes", real_lanes(r, (1u << r->nlanes) - 1));
    cJSON_AddItemToObject(o, "policy", policy);
    cJSON_AddStringToObject(policy, "bsync-nb", nb[r->options.bsync_nb]);
    cJSON_AddStringToObject(policy, "branch-order", order[r->options.branch_order]);
    cJSON_AddStringToObject(policy, "join-scope", join[r->options.join_scope]);
    cJSON_AddStringToObject(policy, "lane-choice", lane[r->options.lane_choice]);
    cJSON_AddNumberToObject(o, "loop", f->loop);
    cJSON *steps = cJSON_AddArrayToObject(o, "steps");
    for (uint32_t i = 0; i < f->nsteps; i++)
        add_step(steps, g, r, &f->steps[i]);
    char *text = cJSON_Print(o);
    cJSON_Delete(o);
    if (!text)
        abort();
    return text;
}
