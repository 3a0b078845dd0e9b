/* Multicast objects of a launch plan: "multicasts" of a launch file, docs/launch-files.md. An object is an
 * address for what `multimem` names: each place of it is one of every replica, which are buffers of one size.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan/plan_json.h"
#include <string.h>

uint32_t plan_find_multicast(const Plan *plan, const char *name) {
    for (uint32_t i = 0; i < plan->multicasts.n; i++)
        if (strcmp(plan->multicasts.at[i].name, name) == 0)
            return i + 1;
    return 0;
}

static uint64_t replica_bytes(const PlanBuffer *buffer) { return buffer->count * buffer->type->size_bytes; }

static const char *add_replica(Plan *plan, PlanMulticast *object, const cJSON *item) {
    uint32_t index = cJSON_IsString(item) ? plan_find_buffer(plan, item->valuestring) : 0;
    if (!index)
        return "it must be a list of buffers";
    for (uint32_t k = 0; k < object->replicas.n; k++)
        if (object->replicas.at[k] == index - 1)
            return "a buffer is there twice";
    if (object->replicas.n && replica_bytes(&plan->buffers.at[object->replicas.at[0]]) !=
                                  replica_bytes(&plan->buffers.at[index - 1]))
        return "the buffers must be of one size";
    VEC_ADD(&plan->arena, &object->replicas, index - 1);
    return NULL;
}

bool plan_read_multicast(Plan *plan, const Source *source, const cJSON *o, Diags *diags) {
    PlanMulticast object = {.name = arena_printf(&plan->arena, "%s", o->string)};
    const char *wrong = cJSON_IsArray(o) && cJSON_GetArraySize(o) ? NULL : "it must be a list of buffers";
    for (const cJSON *item = o->child; !wrong && item; item = item->next)
        wrong = add_replica(plan, &object, item);
    if (!wrong && plan_find_multicast(plan, object.name))
        wrong = "there are two of that name";
    if (wrong)
        return diag_in(diags, source, plan->loc, DIAG_E0502,
                       arena_printf(&plan->arena, "multicast object %s: %s", object.name, wrong));
    VEC_ADD(&plan->arena, &plan->multicasts, object);
    return true;
}

bool plan_make_multicasts(Plan *plan, SimMemory *mem, Diags *diags) {
    for (uint32_t i = 0; i < plan->multicasts.n; i++) {
        PlanMulticast *object = &plan->multicasts.at[i];
        uint64_t *replicas = ARENA_ARRAY(&plan->arena, uint64_t, object->replicas.n);
        const PlanBuffer *first = &plan->buffers.at[object->replicas.at[0]];
        for (uint32_t k = 0; k < object->replicas.n; k++)
            replicas[k] = plan->buffers.at[object->replicas.at[k]].address;
        object->address =
            simmem_add_multicast(mem, object->name, replicas, object->replicas.n, replica_bytes(first));
        if (!object->address)
            return plan_buffer_fails(plan, diags, first, "is no memory");
    }
    return true;
}
