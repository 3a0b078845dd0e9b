/* What the model checker found: text for people, schedules for the simulator.
 * SPDX-License-Identifier: MIT */
#include "check/model/internal.h"
#include "sim/machine/policy.h"
#include "base/json.h"
#include "base/scope.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_STEPS = 40 };

static void lanes_text(const ModelResult *result, unsigned set, char out[32]) {
    size_t n = 0;
    out[0] = 0;
    for (unsigned i = 0; i < result->nlanes; i++)
        if (set >> i & 1)
            n += (size_t)snprintf(out + n, 32 - n, "%s%u", n ? "," : "", result->lane_number[i]);
    if (!n)
        snprintf(out, 32, "none");
}

static void step_text(FILE *out, const BinFlow *flow, const ModelResult *result, const ModelStep *step) {
    char where[160], lanes[32], chosen[32], text[200] = "?";
    const MachInst *m = &flow->insts[step->inst];
    isa_print(flow->bin->target, m, bin_address(flow, step->inst) - result->kernel->address, NULL, text,
              sizeof text);
    lanes_text(result, step->active, lanes);
    lanes_text(result, step->chosen, chosen);
    switch (step->kind) {
    case MS_GUARD:
        fprintf(out, "    %s  %s: of lanes %s true for %s\n", bin_where(flow, step->inst, where), text, lanes,
                chosen);
        break;
    case MS_TARGET:
        fprintf(out, "    %s  %s:", bin_where(flow, step->inst, where), text);
        for (unsigned i = 0; i < result->nlanes; i++)
            if (step->chosen >> i & 1)
                fprintf(out, " lane %u to %s", result->lane_number[i],
                        bin_where(flow, step->target[i], where));
        fputc('\n', out);
        break;
    case MS_MASK:
        fprintf(out, "    %s  %s: taken to name %s\n", bin_where(flow, step->inst, where), text, chosen);
        break;
    default:
        fprintf(out, "    %s  %s: lane %s goes on\n", bin_where(flow, step->inst, where), text, chosen);
        break;
    }
}

static void finding_text(FILE *out, const BinFlow *flow, const ModelResult *result,
                         const ModelFinding *finding) {
    char where[160], text[200];
    fprintf(out, "  %s at %s: %s\n", model_verdict_name(finding->verdict),
            bin_where(flow, finding->inst, where), finding->text);
    for (uint32_t i = 0; i < finding->nsteps; i++) {
        if (i == finding->loop)
            fprintf(out, "   and then for ever:\n");
        if (i >= SHOWN_STEPS / 2 && finding->nsteps > SHOWN_STEPS && i < finding->nsteps - SHOWN_STEPS / 2) {
            if (i == SHOWN_STEPS / 2)
                fprintf(out, "    ... %u decisions more ...\n", finding->nsteps - SHOWN_STEPS);
            continue;
        }
        step_text(out, flow, result, &finding->steps[i]);
    }
    for (unsigned i = 0; i < result->nlanes; i++) {
        if (finding->lanes[i].pc == BINFLOW_NONE) {
            fprintf(out, "   lane %u has exited\n", result->lane_number[i]);
            continue;
        }
        isa_print(flow->bin->target, &flow->insts[finding->lanes[i].pc],
                  bin_address(flow, finding->lanes[i].pc) - result->kernel->address, NULL, text, sizeof text);
        fprintf(out, "   lane %u %s %s  %s\n", result->lane_number[i],
                finding->lanes[i].active ? "runs at" : "waits at",
                bin_where(flow, finding->lanes[i].pc, where), text);
    }
}

char *model_text(const BinFlow *g, const ModelResult *result) {
    TextStream *stream = text_open();
    FILE *out = stream->out;
    fprintf(out, "%s: %s, %u lanes, %llu states, %.3f s", result->kernel->name,
            model_verdict_name(result->verdict), result->nlanes, (unsigned long long)result->nstates,
            result->seconds);
    if (result->why)
        fprintf(out, "; not looked at: %s", result->why);
    if (result->assumed_masks)
        fprintf(out, "; WARPSYNC masks that are not known are taken to fit");
    if (result->assumed_barriers)
        fprintf(out, "; all lanes of a warp are taken to come to the same barrier of the block");
    fputc('\n', out);
    for (uint32_t i = 0; i < result->nfindings; i++)
        finding_text(out, g, result, &result->findings[i]);
    return text_close(stream, NULL);
}

/* ---- schedules ---- */

static const char *const kind_names[] = {"guard", "target", "mask", "pick"};

static double real_lanes(const ModelResult *result, unsigned set) {
    uint32_t m = 0;
    for (unsigned i = 0; i < result->nlanes; i++)
        m |= set >> i & 1 ? 1u << result->lane_number[i] : 0;
    return m;
}

static void add_step(cJSON *list, const BinFlow *g, const ModelResult *result, const ModelStep *step) {
    cJSON *o = json_object();
    json_add_text(o, "kind", kind_names[step->kind]);
    json_add_number(o, "pc", (double)(bin_address(g, step->inst)));
    if (step->kind != MS_PICK)
        json_add_number(o, "active", real_lanes(result, step->active));
    json_add_number(o, "lanes", real_lanes(result, step->chosen));
    if (step->kind == MS_TARGET) {
        cJSON *t = json_add_list(o, "targets"); /* in ascending order of the lanes */
        for (unsigned i = 0; i < result->nlanes; i++)
            if (step->chosen >> i & 1)
                json_append(t, json_number((double)bin_address(g, step->target[i])));
    }
    json_append(list, o);
}

char *model_schedule_json(const BinFlow *g, const ModelResult *result, const ModelFinding *finding) {
    cJSON *o = json_object(), *policy = json_object();
    char text[16];
    json_add_text(o, "kernel", result->kernel->name);
    json_add_text(o, "verdict", model_verdict_name(finding->verdict));
    json_add_text(o, "what", finding->text);
    json_add_number(o, "pc", (double)bin_address(g, finding->inst));
    json_add_number(o, "lanes", real_lanes(result, (1u << result->nlanes) - 1));
    json_add(o, "policy", policy);
    for (unsigned k = 0; k < POLICY_COUNT; k++) {
        unsigned value = machine_policy_get(&result->options.policies, k);
        bool any = k == POLICY_lane_choice && value > MACHINE_LANE_HIGHEST;
        json_add_text(policy, machine_policy_table[k].name,
                      any ? "any" : machine_policy_value(k, value, text));
    }
    json_add_number(o, "loop", finding->loop);
    cJSON *steps = json_add_list(o, "steps");
    for (uint32_t i = 0; i < finding->nsteps; i++)
        add_step(steps, g, result, &finding->steps[i]);
    return json_close(o);
}
