/* A launch plan as a launch file.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan.h"
#include <cjson/cJSON.h>
#include <stdio.h>

static void add_buffer(cJSON *o, const PlanBuffer *b) {
    cJSON *x = cJSON_AddObjectToObject(o, b->name);
    cJSON_AddStringToObject(x, "type", b->type->name);
    cJSON_AddNumberToObject(x, "count", (double)b->count);
    if (b->init)
        cJSON_AddStringToObject(x, "init", b->init);
}

static const char *integer_type(uint32_t size) {
    return size == 1 ? "b8" : size == 2 ? "b16" : size == 4 ? "b32" : size == 8 ? "b64" : NULL;
}

/* "NAME+OFFSET", "b32:7", or bytes of anything else. */
static void add_arg(cJSON *list, Plan *scratch, const Plan *p, const PlanArg *a) {
    char *text;
    if (a->is_buffer) {
        text = arena_printf(&scratch->arena, a->offset_bytes ? "%s+%llu" : "%s",
                            p->buffers.at[a->buffer].name, (unsigned long long)a->offset_bytes);
    } else if (integer_type(a->size_bytes)) {
        uint64_t v = 0;
        for (uint32_t i = 0; i < a->size_bytes; i++)
            v |= (uint64_t)a->bytes[i] << (8 * i);
        text = arena_printf(&scratch->arena, "%s:0x%llx", integer_type(a->size_bytes), (unsigned long long)v);
    } else {
        text = arena_printf(&scratch->arena, "b8[%u]:", a->size_bytes);
        for (uint32_t i = 0; i < a->size_bytes; i++)
            text = arena_printf(&scratch->arena, "%s%s%u", text, i ? "," : "", a->bytes[i]);
    }
    cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

static void add_extent(cJSON *o, const char *name, const uint32_t v[3]) {
    cJSON *list = cJSON_AddArrayToObject(o, name);
    for (int i = 0; i < 3; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(v[i]));
}

char *plan_print_json(const Plan *p) {
    Plan scratch = {0};
    cJSON *root = cJSON_CreateObject(), *buffers = cJSON_AddObjectToObject(root, "buffers"),
          *launches = cJSON_AddArrayToObject(root, "launches");
    for (uint32_t i = 0; i < p->buffers.n; i++)
        add_buffer(buffers, &p->buffers.at[i]);
    for (uint32_t i = 0; i < p->launches.n; i++) {
        const PlanLaunch *l = &p->launches.at[i];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(launches, o);
        if (l->kernel)
            cJSON_AddStringToObject(o, "kernel", l->kernel);
        add_extent(o, "grid", l->grid);
        add_extent(o, "block", l->block);
        if (l->shared_bytes)
            cJSON_AddNumberToObject(o, "shared", l->shared_bytes);
        cJSON *args = cJSON_AddArrayToObject(o, "args");
        for (uint32_t k = 0; k < l->args.n; k++)
            add_arg(args, &scratch, p, &l->args.at[k]);
    }
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    plan_free(&scratch);
    return text;
}
