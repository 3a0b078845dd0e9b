/* A lane's first difference as JSON.
 * SPDX-License-Identifier: MIT */
#include "check/validate/lane_diff.h"
#include <cjson/cJSON.h>

static void add_triple(cJSON *o, const char *key, const uint32_t v[3]) {
    int x[3] = {(int)v[0], (int)v[1], (int)v[2]};
    cJSON_AddItemToObject(o, key, cJSON_CreateIntArray(x, 3));
}

static void add_events(cJSON *o, const char *key, const LaneStep *e, uint32_t n, bool machine) {
    cJSON *list = cJSON_AddArrayToObject(o, key);
    for (uint32_t i = 0; i < n; i++) {
        cJSON *x = cJSON_CreateObject();
        cJSON_AddItemToArray(list, x);
        cJSON_AddStringToObject(x, "function", e[i].func);
        if (machine)
            cJSON_AddNumberToObject(x, "pc", (double)e[i].pc_bytes);
        else
            cJSON_AddBoolToObject(x, "guard", !e[i].skipped);
        cJSON_AddNumberToObject(x, "line", e[i].line);
        cJSON_AddStringToObject(x, "text", e[i].text);
        cJSON_AddStringToObject(x, "values", e[i].values);
        cJSON_AddNumberToObject(x, "times", e[i].times);
    }
}

cJSON *lane_diff_json(const LaneDiff *diff) {
    cJSON *o = cJSON_CreateObject();
    add_triple(o, "block", diff->block);
    add_triple(o, "thread", diff->thread);
    cJSON_AddNumberToObject(o, "warp", diff->warp);
    cJSON_AddNumberToObject(o, "lane", diff->lane);
    cJSON_AddNumberToObject(o, "loads_followed", diff->hops);
    cJSON_AddBoolToObject(o, "found", diff->statement != NULL);
    if (diff->statement) {
        cJSON_AddNumberToObject(o, "line", diff->line);
        cJSON_AddStringToObject(o, "statement", diff->statement);
        cJSON_AddBoolToObject(o, "executed", !diff->not_executed);
        if (diff->instruction) {
            cJSON_AddStringToObject(o, "function", diff->func);
            cJSON_AddNumberToObject(o, "pc", (double)diff->pc_bytes);
            cJSON_AddStringToObject(o, "instruction", diff->instruction);
        }
    }
    if (diff->statement && !diff->not_executed) {
        cJSON_AddStringToObject(o, "ptx_register", diff->ptx_reg);
        cJSON_AddNumberToObject(o, "ptx_value", (double)diff->ptx_value);
        cJSON_AddStringToObject(o, "machine_register", diff->machine_reg ? diff->machine_reg : "?");
        cJSON_AddNumberToObject(o, "machine_value", (double)diff->machine_value);
    }
    add_events(o, "ptx_events", diff->ptx, diff->nptx, false);
    add_events(o, "machine_events", diff->machine, diff->nmachine, true);
    return o;
}
