/* A lane's first difference as JSON.
 * SPDX-License-Identifier: MIT */
#include "check/validate/compare/lane_diff.h"
#include "base/json.h"

static void add_triple(cJSON *o, const char *key, const uint32_t v[3]) {
    int x[3] = {(int)v[0], (int)v[1], (int)v[2]};
    json_add(o, key, json_numbers(x, 3));
}

static void add_events(cJSON *o, const char *key, const LaneStep *e, uint32_t n, bool machine) {
    cJSON *list = json_add_list(o, key);
    for (uint32_t i = 0; i < n; i++) {
        cJSON *x = json_object();
        json_append(list, x);
        json_add_text(x, "function", e[i].func);
        if (machine)
            json_add_number(x, "pc", (double)e[i].pc_bytes);
        else
            json_add_bool(x, "guard", !e[i].skipped);
        json_add_number(x, "line", e[i].line);
        json_add_text(x, "text", e[i].text);
        json_add_text(x, "values", e[i].values);
        json_add_number(x, "times", e[i].times);
    }
}

cJSON *lane_diff_json(const LaneDiff *diff) {
    cJSON *o = json_object();
    add_triple(o, "block", diff->block);
    add_triple(o, "thread", diff->thread);
    json_add_number(o, "warp", diff->warp);
    json_add_number(o, "lane", diff->lane);
    json_add_number(o, "loads_followed", diff->hops);
    json_add_bool(o, "found", diff->statement != NULL);
    if (diff->statement) {
        json_add_number(o, "line", diff->line);
        json_add_text(o, "statement", diff->statement);
        json_add_bool(o, "executed", !diff->not_executed);
        if (diff->instruction) {
            json_add_text(o, "function", diff->func);
            json_add_number(o, "pc", (double)diff->pc_bytes);
            json_add_text(o, "instruction", diff->instruction);
        }
    }
    if (diff->common) {
        json_add_text(o, "last_common", diff->common);
        json_add_number(o, "last_common_pc", (double)diff->common_pc_bytes);
        json_add_number(o, "last_common_value", (double)diff->common_value);
    }
    if (diff->statement && !diff->not_executed) {
        json_add_text(o, "ptx_register", diff->ptx_reg);
        json_add_number(o, "ptx_value", (double)diff->ptx_value);
        json_add_text(o, "machine_register", diff->machine_reg ? diff->machine_reg : "?");
        json_add_number(o, "machine_value", (double)diff->machine_value);
    }
    add_events(o, "ptx_events", diff->ptx, diff->nptx, false);
    add_events(o, "machine_events", diff->machine, diff->nmachine, true);
    return o;
}
