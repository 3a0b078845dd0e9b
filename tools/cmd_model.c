/* heddle check --model: every kernel, under one policy or under all that code must be safe under.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/model/model.h"
#include "tools/cli.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { NPOLICIES = 16 };

/* Combination n of the policies; bsync-nb=literal is not among them, which code need not survive. */
static void set_policy(unsigned n, ModelOptions *o) {
    o->bsync_nb = n & 1 ? MACHINE_NB_BLOCKED : MACHINE_NB_RELEASE;
    o->branch_order = n & 2 ? MACHINE_TAKEN_FIRST : MACHINE_FALLTHROUGH_FIRST;
    o->join_scope = n & 4 ? MACHINE_JOIN_CANDIDATES : MACHINE_JOIN_ALL;
    o->lane_choice = n & 8 ? MACHINE_LANE_HIGHEST : MACHINE_LANE_LOWEST;
}

static cJSON *to_json(const BinFlow *g, const ModelResult *r) {
    cJSON *o = cJSON_CreateObject();
    char where[160];
    cJSON_AddStringToObject(o, "kernel", r->kernel->name);
    cJSON_AddStringToObject(o, "verdict", model_verdict_name(r->verdict));
    cJSON_AddNumberToObject(o, "lanes", r->nlanes);
    cJSON_AddNumberToObject(o, "states", (double)r->nstates);
    cJSON_AddNumberToObject(o, "stuck_states", (double)r->stuck_states);
    cJSON_AddNumberToObject(o, "seconds", r->seconds);
    if (r->why)
        cJSON_AddStringToObject(o, "not_looked_at", r->why);
    cJSON *list = cJSON_AddArrayToObject(o, "findings");
    for (uint32_t i = 0; i < r->nfindings; i++) {
        cJSON *f = cJSON_CreateObject();
        cJSON_AddStringToObject(f, "verdict", model_verdict_name(r->findings[i].verdict));
        cJSON_AddStringToObject(f, "where", bin_where(g, r->findings[i].inst, where));
        cJSON_AddStringToObject(f, "text", r->findings[i].text);
        char *schedule = model_schedule_json(g, r, &r->findings[i]);
        cJSON_AddItemToObject(f, "schedule", cJSON_Parse(schedule));
        free(schedule);
        cJSON_AddItemToArray(list, f);
    }
    return o;
}

/* One kernel under the policies asked for: the worst result stays in `r`. */
static void check_kernel(const Settings *s, const ModelProgram *p, uint32_t kernel, ModelResult *r) {
    ModelOptions o = s->model.options;
    o.bsync_nb = s->machine.bsync_nb, o.branch_order = s->machine.branch_order;
    o.join_scope = s->machine.join_scope, o.lane_choice = s->machine.lane_choice;
    if (s->model.all_policies)
        set_policy(0, &o);
    model_check(p, kernel, &o, r);
    for (unsigned n = 1; s->model.all_policies && n < NPOLICIES && r->verdict < MODEL_STUCK; n++) {
        ModelResult other;
        set_policy(n, &o);
        model_check(p, kernel, &o, &other);
        bool worse = other.verdict > r->verdict;
        model_result_free(worse ? r : &other);
        if (worse)
            *r = other;
    }
}

int cli_model(Settings *s, const BinFlow *g, cJSON *json) {
    ModelProgram *p = model_program(g);
    int status = STATUS_DONE;
    bool written = false;
    if (!p)
        abort();
    for (uint32_t f = 0; f < g->bin->nfuncs && status != STATUS_INPUT; f++) {
        if (!g->bin->funcs[f].is_entry)
            continue;
        ModelResult r;
        check_kernel(s, p, f, &r);
        if (json)
            cJSON_AddItemToArray(json, to_json(g, &r));
        else {
            char *text = model_text(g, &r);
            fputs(text, stdout);
            free(text);
        }
        if (r.nfindings) {
            status = STATUS_DIFFERS;
            char *schedule =
                s->model.schedule && !written ? model_schedule_json(g, &r, &r.findings[0]) : NULL;
            if (schedule && !file_write(s->model.schedule, schedule, strlen(schedule), &s->diags))
                status = STATUS_INPUT;
            written |= schedule != NULL;
            free(schedule);
        }
        model_result_free(&r);
    }
    model_program_free(p);
    return status;
}
