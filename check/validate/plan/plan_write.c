/* A launch plan as a launch file.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan/plan.h"
#include "base/json.h"
#include "base/scope.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_buffer(cJSON *o, const PlanBuffer *buffer) {
    cJSON *x = json_add_object(o, buffer->name);
    json_add_text(x, "type", buffer->type->name);
    json_add_number(x, "count", (double)buffer->count);
    cJSON *values = buffer->bytes ? json_add_list(x, "values") : NULL;
    for (uint64_t i = 0; values && i < buffer->count; i++) {
        char text[32];
        scalar_write(buffer->type, buffer->bytes + i * buffer->type->size_bytes, text);
        json_append(values, json_text(text));
    }
    if (buffer->init && !values)
        json_add_text(x, "init", buffer->init);
}

/* Floating-point numbers with all of their bits, a negative zero's too. */
static void add_border(cJSON *x, const SimTexture *bound) {
    static const uint32_t none[4] = {0};
    if (memcmp(bound->border, none, sizeof none) == 0)
        return;
    cJSON *border = json_add_list(x, "border");
    for (unsigned k = 0; k < 4; k++) {
        float value;
        char text[32];
        memcpy(&value, &bound->border[k], sizeof value);
        if (sim_gives_floats(bound))
            snprintf(text, sizeof text, "%.9g", (double)value);
        else
            snprintf(text, sizeof text, "%" PRIu32, bound->border[k]);
        json_append(border, json_raw(text));
    }
}

/* What says how a level is chosen counts for a texture of one level, too: another may be read with its
 * sampler. */
static void add_levels(cJSON *x, const SimTexture *bound) {
    if (bound->more_levels)
        json_add_number(x, "levels", bound->more_levels + 1);
    if (bound->mip_linear)
        json_add_text(x, "mipfilter", "linear");
    if (bound->lod_bias != 0)
        json_add_number(x, "bias", (double)bound->lod_bias);
    if (bound->lod_min == 0 && bound->lod_max == (float)bound->more_levels)
        return;
    cJSON *clamp = json_add_list(x, "clamp");
    json_append(clamp, json_number((double)bound->lod_min));
    json_append(clamp, json_number((double)bound->lod_max));
}

static void add_texture(cJSON *o, const Plan *plan, const PlanTexture *texture) {
    static const char *const texels[] = {"u8", "s8", "u16", "s16", "u32", "s32", "f16", "f32"};
    static const char *const modes[] = {"wrap", "clamp", "mirror", "border"};
    const SimTexture *bound = &texture->what;
    cJSON *x = json_add_object(o, texture->name);
    json_add_text(x, "buffer", plan->buffers.at[texture->buffer].name);
    cJSON *size = json_add_list(x, "size");
    for (unsigned k = 0; k < bound->dims; k++)
        json_append(size, json_number(bound->size[k]));
    if (bound->layers)
        json_add_number(x, "layers", bound->layers);
    if (bound->cube)
        json_add_bool(x, "cube", true);
    json_add_text(x, "texel", texels[bound->texel]);
    json_add_number(x, "channels", bound->channels);
    json_add_text(x, "read", bound->as_float ? "float" : "element");
    json_add_text(x, "filter", bound->linear ? "linear" : "point");
    json_add_bool(x, "normalized", bound->normalized);
    cJSON *address = json_add_list(x, "address");
    for (unsigned k = 0; k < 3; k++)
        json_append(address, json_text(modes[bound->mode[k]]));
    add_border(x, bound);
    add_levels(x, bound);
}

static void add_pixels(cJSON *x, const SimTensorMap *map) {
    cJSON *lower = json_add_list(x, "lower"), *upper = json_add_list(x, "upper");
    for (unsigned k = 0; k + 2u < map->rank; k++) {
        json_append(lower, json_number(map->lower[k]));
        json_append(upper, json_number(map->upper[k]));
    }
    json_add_number(x, "channels", map->channels);
    json_add_number(x, "pixels", map->pixels);
}

static void add_tensor(cJSON *o, const Plan *plan, const PlanTensor *tensor) {
    const SimTensorMap *map = &tensor->map;
    cJSON *x = json_add_object(o, tensor->name);
    json_add_text(x, "buffer", plan->buffers.at[tensor->buffer].name);
    json_add_text(x, "type", plan_tensor_types[map->type]);
    cJSON *size = json_add_list(x, "size"), *strides = json_add_list(x, "strides"),
          *steps = json_add_list(x, "steps");
    for (unsigned k = 0; k < map->rank; k++) {
        json_append(size, json_number((double)map->size[k]));
        json_append(steps, json_number(map->step[k]));
        if (k)
            json_append(strides, json_number((double)map->stride[k - 1]));
    }
    cJSON *box = map->im2col ? NULL : json_add_list(x, "box");
    for (unsigned k = 0; box && k < map->rank; k++)
        json_append(box, json_number(map->box[k]));
    if (map->im2col)
        add_pixels(x, map);
    json_add_text(x, "swizzle", plan_tensor_swizzles[map->swizzle]);
    json_add_text(x, "fill", plan_tensor_fills[map->nan_fill]);
}

static const char *integer_type(uint32_t size) {
    return size == 1 ? "b8" : size == 2 ? "b16" : size == 4 ? "b32" : size == 8 ? "b64" : NULL;
}

/* "b32:7", or bytes of any other size. */
static const char *value_text(Plan *scratch, const uint8_t *bytes, uint32_t size_bytes) {
    const char *type = integer_type(size_bytes);
    uint64_t v = 0;
    for (uint32_t i = 0; type && i < size_bytes; i++)
        v |= (uint64_t)bytes[i] << (8 * i);
    if (type)
        return arena_printf(&scratch->arena, "%s:0x%llx", type, (unsigned long long)v);
    const char *text = arena_printf(&scratch->arena, "b8[%u]:", size_bytes);
    for (uint32_t i = 0; i < size_bytes; i++)
        text = arena_printf(&scratch->arena, "%s%s%u", text, i ? "," : "", bytes[i]);
    return text;
}

/* "NAME+OFFSET", or a value. */
static const char *arg_text(Plan *scratch, const Plan *plan, const PlanArg *arg) {
    if (arg->is_texture)
        return arena_printf(&scratch->arena, "tex:%s", plan->textures.at[arg->buffer].name);
    if (arg->is_tensor)
        return arena_printf(&scratch->arena, "tmap:%s", plan->tensors.at[arg->buffer].name);
    if (arg->is_multicast)
        return arena_printf(&scratch->arena, "multi:%s", plan->multicasts.at[arg->buffer].name);
    if (arg->is_buffer)
        return arena_printf(&scratch->arena, arg->offset_bytes ? "%s+%llu" : "%s",
                            plan->buffers.at[arg->buffer].name, (unsigned long long)arg->offset_bytes);
    return value_text(scratch, arg->bytes, arg->size_bytes);
}

/* A structure that holds more than values is a list: bytes between what it holds. */
static void add_arg(cJSON *list, Plan *scratch, const Plan *plan, const PlanArg *arg) {
    if (!arg->nparts) {
        json_append(list, json_text(arg_text(scratch, plan, arg)));
        return;
    }
    cJSON *structure = json_list();
    json_append(list, structure);
    uint32_t at = 0;
    for (uint32_t i = 0; i <= arg->nparts; i++) {
        const PlanPart *part = i < arg->nparts ? &arg->parts[i] : NULL;
        uint32_t end = part ? part->at_bytes : arg->size_bytes;
        if (end > at)
            json_append(structure, json_text(value_text(scratch, arg->bytes + at, end - at)));
        if (part)
            json_append(structure, json_text(arg_text(scratch, plan, &part->arg)));
        at = end + (part && part->arg.is_tensor ? SIM_TENSOR_BYTES : 8);
    }
}

static void add_extent(cJSON *o, const char *name, const uint32_t v[3]) {
    cJSON *list = json_add_list(o, name);
    for (int i = 0; i < 3; i++)
        json_append(list, json_number(v[i]));
}

char *plan_print_json(const Plan *plan) {
    Plan scratch = {0};
    cJSON *root = json_object(), *buffers = json_add_object(root, "buffers"),
          *launches = json_add_list(root, "launches");
    for (uint32_t i = 0; i < plan->buffers.n; i++)
        add_buffer(buffers, &plan->buffers.at[i]);
    if (plan->textures.n) {
        cJSON *textures = json_add_object(root, "textures");
        for (uint32_t i = 0; i < plan->textures.n; i++)
            add_texture(textures, plan, &plan->textures.at[i]);
    }
    if (plan->tensors.n) {
        cJSON *tensors = json_add_object(root, "tensormaps");
        for (uint32_t i = 0; i < plan->tensors.n; i++)
            add_tensor(tensors, plan, &plan->tensors.at[i]);
    }
    cJSON *multicasts = plan->multicasts.n ? json_add_object(root, "multicasts") : NULL;
    for (uint32_t i = 0; i < plan->multicasts.n; i++) {
        const PlanMulticast *object = &plan->multicasts.at[i];
        cJSON *replicas = json_add_list(multicasts, object->name);
        for (uint32_t k = 0; k < object->replicas.n; k++)
            json_append(replicas, json_text(plan->buffers.at[object->replicas.at[k]].name));
    }
    for (uint32_t i = 0; i < plan->launches.n; i++) {
        const PlanLaunch *launch = &plan->launches.at[i];
        cJSON *o = json_object();
        json_append(launches, o);
        if (launch->kernel)
            json_add_text(o, "kernel", launch->kernel);
        add_extent(o, "grid", launch->grid);
        add_extent(o, "block", launch->block);
        if (launch->cluster[0])
            add_extent(o, "cluster", launch->cluster);
        if (launch->cooperative)
            json_add_bool(o, "cooperative", true);
        if (launch->shared_bytes)
            json_add_number(o, "shared", launch->shared_bytes);
        cJSON *args = json_add_list(o, "args");
        for (uint32_t k = 0; k < launch->args.n; k++)
            add_arg(args, &scratch, plan, &launch->args.at[k]);
        if (launch->repeat > 1)
            json_add_number(o, "repeat", launch->repeat);
        cJSON *copies = launch->copies.n ? json_add_object(o, "copy") : NULL;
        for (uint32_t k = 0; k < launch->copies.n; k++)
            json_add_text(copies, plan->buffers.at[launch->copies.at[k].to].name,
                          plan->buffers.at[launch->copies.at[k].from].name);
        cJSON *unordered = launch->unordered.n ? json_add_list(o, "unordered") : NULL;
        for (uint32_t k = 0; k < launch->unordered.n; k++)
            json_append(unordered, json_text(plan->buffers.at[launch->unordered.at[k]].name));
    }
    char *text = json_close(root);
    plan_free(&scratch);
    return text;
}
