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

cJSON *lane_diff_json(const LaneDiff *x) {
    cJSON *o = cJSON_CreateObject();
    add_triple(o, "block", x->block);
    add_triple(o, "thread", x->thread);
    cJSON_AddNumberToObject(o, "warp", x->warp);
    cJSON_AddNumberToObject(o, "lane", x->lane);
    cJSON_AddNumberToObject(o, "loads_followed", x->hops);
    cJSON_AddBoolToObject(o, "found", x->statement != NULL);
    if (x->statement) {
        cJSON_AddNumberToObject(o, "line", x->line);
        cJSON_AddStringToObject(o, "statement", x->statement);
        cJSON_AddBoolToObject(o, "executed", !x->not_executed);
        if (x->instruction) {
            cJSON_AddStringToObject(o, "function", x->func);
            cJSON_AddNumberToObject(o, "pc", (double)x->pc_bytes);
            cJSON_AddStringToObject(o, "instruction", x->instruction);
        }
    }
    if (x->statement && !x->not_executed) {
        cJSON_AddStringToObject(o, "ptx_register", x->ptx_reg);
        cJSON_AddNumberToObject(o, "ptx_value", (double)x->ptx_value);
        cJSON_AddStringToObject(o, "machine_register", x->machine_reg ? x->machine_reg : "?");
        cJSON_AddNumberToObject(o, "machine_value", (double)x->machine_value);
    }
    add_events(o, "ptx_events", x->ptx, x->nptx, false);
    add_events(o, "machine_events", x->machine, x->nmachine, true);
    return o;
}
