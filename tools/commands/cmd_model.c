/* heddle check --model: every kernel, under one policy or under all that code must be safe under.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "check/model/model.h"
#include "tools/cli/cli.h"
#include <stdlib.h>
#include <string.h>

static cJSON *to_json(const BinFlow *g, const ModelResult *result) {
    cJSON *o = json_object();
    char where[160];
    json_add_text(o, "kernel", result->kernel->name);
    json_add_text(o, "verdict", model_verdict_name(result->verdict));
    json_add_number(o, "lanes", result->nlanes);
    json_add_number(o, "states", (double)result->nstates);
    json_add_number(o, "stuck_states", (double)result->stuck_states);
    json_add_number(o, "seconds", result->seconds);
    if (result->why)
        json_add_text(o, "not_looked_at", result->why);
    if (result->assumed_barriers)
        json_add_text(o, "assumes", "all lanes of a warp come to the same barrier of the block");
    cJSON *list = json_add_list(o, "findings");
    for (uint32_t i = 0; i < result->nfindings; i++) {
        cJSON *f = json_object();
        json_add_text(f, "verdict", model_verdict_name(result->findings[i].verdict));
        json_add_text(f, "where", bin_where(g, result->findings[i].inst, where));
        json_add_text(f, "text", result->findings[i].text);
        char *schedule = model_schedule_json(g, result, &result->findings[i]);
        json_add(f, "schedule", json_read(schedule));
        mem_free(schedule);
        json_append(list, f);
    }
    return o;
}

/* One kernel under the policies asked for: the worst result stays in `r`. */
static void check_kernel(const Settings *settings, const ModelProgram *p, uint32_t kernel,
                         ModelResult *result) {
    ModelOptions o = settings->model.options;
    o.policies = settings->machine.policies;
    if (settings->model.all_policies)
        model_choose(&o, 0);
    model_check(p, kernel, &o, result);
    for (unsigned n = 1;
         settings->model.all_policies && n < MODEL_POLICY_COUNT && result->verdict < MODEL_STUCK; n++) {
        ModelResult other;
        model_choose(&o, n);
        model_check(p, kernel, &o, &other);
        bool worse = other.verdict > result->verdict;
        model_result_free(worse ? result : &other);
        if (worse)
            *result = other;
    }
}

bool cli_model(Settings *settings, const BinFlow *flow, cJSON *json, Verdict *worst) {
    ModelProgram *p = model_program(flow);
    bool written = false, good = true;
    if (!p)
        abort();
    for (uint32_t f = 0; f < flow->bin->nfuncs && good; f++) {
        if (!flow->bin->funcs[f].is_entry)
            continue;
        ModelResult r;
        check_kernel(settings, p, f, &r);
        if (json)
            json_append(json, to_json(flow, &r));
        else {
            char *text = model_text(flow, &r);
            fputs(text, stdout);
            mem_free(text);
        }
        *worst = verdict_worse(*worst, model_verdict(r.verdict));
        if (r.nfindings) {
            char *schedule =
                settings->model.schedule && !written ? model_schedule_json(flow, &r, &r.findings[0]) : NULL;
            if (schedule &&
                !file_write(settings->model.schedule, schedule, strlen(schedule), &settings->diags))
                good = false;
            written |= schedule != NULL;
            mem_free(schedule);
        }
        model_result_free(&r);
    }
    model_program_free(p);
    return good;
}
