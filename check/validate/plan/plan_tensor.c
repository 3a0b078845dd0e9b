/* Tensor maps of a launch plan: "tensormaps" of a launch file, docs/launch-files.md. What is refused is what
 * the driver's cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col refuse, and what is not modelled.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan/plan_json.h"
#include <string.h>

enum { MOST_BOX = 256, MOST_STEP = 8, MOST_PIXELS = 1024, UNIT_BYTES = 16 };

const char *const plan_tensor_types[] = {"u8",  "u16",  "u32", "s32", "u64", "s64",
                                         "f16", "bf16", "f32", "f64", NULL};
const char *const plan_tensor_swizzles[] = {"none", "32B", "64B", "128B", NULL};
const char *const plan_tensor_fills[] = {"zero", "nan", NULL};

/* Numbers of a list, exactly `n` of them, each of least..most. */
static bool numbers(const cJSON *list, unsigned n, double least, double most, int64_t *out) {
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != (int)n)
        return false;
    for (unsigned k = 0; k < n; k++) {
        const cJSON *item = cJSON_GetArrayItem(list, (int)k);
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= least && item->valuedouble <= most) ||
            item->valuedouble != (double)(int64_t)item->valuedouble)
            return false;
        out[k] = (int64_t)item->valuedouble;
    }
    return true;
}

static const cJSON *member(const cJSON *o, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(o, name);
}

/* Dense unless it says so. */
static const char *read_shape(const cJSON *o, SimTensorMap *map) {
    const cJSON *size = member(o, "size"), *strides = member(o, "strides");
    int64_t n[SIM_TENSOR_DIMS];
    int rank = cJSON_IsArray(size) ? cJSON_GetArraySize(size) : 0;
    if (rank < 1 || rank > SIM_TENSOR_DIMS || !numbers(size, (unsigned)rank, 1, UINT32_MAX, n))
        return "\"size\" must be a list of one to five positive numbers below 2^32";
    map->rank = (uint8_t)rank;
    uint64_t dense = sim_tensor_element_bytes(map->type);
    for (unsigned k = 0; k < map->rank; k++) {
        map->size[k] = (uint32_t)n[k];
        if (__builtin_mul_overflow(dense, map->size[k], &dense))
            return "the tensor is too large";
        if (k + 1u < map->rank)
            map->stride[k] = dense;
    }
    if (strides && !numbers(strides, map->rank - 1u, UNIT_BYTES, 1e12, n))
        return "\"strides\" must be a list of bytes for dimensions 1 on";
    for (unsigned k = 0; k + 1 < map->rank; k++) {
        if (strides)
            map->stride[k] = (uint64_t)n[k];
        if (map->stride[k] % UNIT_BYTES || map->stride[k] >= 1ull << 40)
            return "strides must be multiples of 16 bytes, below 2^40";
    }
    return NULL;
}

static const char *read_tile(const cJSON *o, SimTensorMap *map) {
    int64_t n[SIM_TENSOR_DIMS];
    if (!numbers(member(o, "box"), map->rank, 1, MOST_BOX, n))
        return "\"box\" must have a number of 1 to 256 for each dimension";
    for (unsigned k = 0; k < map->rank; k++)
        map->box[k] = (uint16_t)n[k];
    return NULL;
}

static const char *read_im2col(const cJSON *o, SimTensorMap *map) {
    int64_t lower[3], upper[3], channels, pixels;
    unsigned spatial = map->rank - 2u;
    double most = map->rank == 3 ? 32767 : map->rank == 4 ? 127 : 15;
    if (map->rank < 3)
        return "of im2col a tensor has three to five dimensions";
    if (!numbers(member(o, "lower"), spatial, -most - 1, most, lower) ||
        !numbers(member(o, "upper"), spatial, -most - 1, most, upper))
        return "\"lower\" and \"upper\" must have a number for each dimension but the first and the last";
    const cJSON *c = member(o, "channels"), *p = member(o, "pixels");
    if (!cJSON_IsNumber(c) || !(c->valuedouble >= 1 && c->valuedouble <= (double)MOST_BOX) ||
        !cJSON_IsNumber(p) || !(p->valuedouble >= 1 && p->valuedouble <= (double)MOST_PIXELS))
        return "\"channels\" must be 1 to 256, \"pixels\" 1 to 1024";
    channels = (int64_t)c->valuedouble, pixels = (int64_t)p->valuedouble;
    for (unsigned k = 0; k < spatial; k++) {
        map->lower[k] = (int16_t)lower[k];
        map->upper[k] = (int16_t)upper[k];
        if (lower[k] > (int64_t)map->size[k + 1] - 1 + upper[k])
            return "there is no pixel between \"lower\" and \"upper\"";
    }
    map->im2col = 1;
    map->channels = (uint16_t)channels;
    map->pixels = (uint16_t)pixels;
    return NULL;
}

static const char *read_rest(const cJSON *o, SimTensorMap *map) {
    const cJSON *steps = member(o, "steps"), *swizzle = member(o, "swizzle"), *fill = member(o, "fill");
    int64_t n[SIM_TENSOR_DIMS] = {1, 1, 1, 1, 1};
    int by = swizzle ? plan_choice(swizzle, plan_tensor_swizzles) : 0,
        with = fill ? plan_choice(fill, plan_tensor_fills) : 0;
    if (steps && !numbers(steps, map->rank, 1, MOST_STEP, n))
        return "\"steps\" must have a number of 1 to 8 for each dimension";
    for (unsigned k = 0; k < map->rank; k++)
        map->step[k] = (uint8_t)n[k];
    if (by < 0)
        return "\"swizzle\" must be one of none 32B 64B 128B";
    if (with < 0 || (with && map->type < SIM_TENSOR_F16))
        return "\"fill\" must be zero, or nan of floating-point numbers";
    map->swizzle = (uint8_t)by;
    map->nan_fill = (uint8_t)with;
    unsigned row = sim_tensor_element_bytes(map->type) * (map->im2col ? map->channels : map->box[0]);
    if (row % UNIT_BYTES)
        return "a row of the box must be a multiple of 16 bytes";
    return by && row != 16u << by ? "a row of the box must be as long as what is swizzled" : NULL;
}

static const char *read_map(const cJSON *o, SimTensorMap *map) {
    int type = plan_choice(member(o, "type"), plan_tensor_types);
    if (type < 0)
        return "\"type\" must be one of u8 u16 u32 s32 u64 s64 f16 bf16 f32 f64";
    map->magic = SIM_TENSOR_MAGIC;
    map->type = (uint8_t)type;
    const char *wrong = read_shape(o, map);
    if (!wrong)
        wrong = member(o, "pixels") ? read_im2col(o, map) : read_tile(o, map);
    return wrong ? wrong : read_rest(o, map);
}

uint32_t plan_find_tensor(const Plan *plan, const char *name) {
    for (uint32_t i = 0; i < plan->tensors.n; i++)
        if (strcmp(plan->tensors.at[i].name, name) == 0)
            return i + 1;
    return 0;
}

bool plan_read_tensor(Plan *plan, const Source *source, const cJSON *o, Diags *diags) {
    static const char *const keys[] = {"buffer", "type",  "size",  "strides",  "box",    "steps", "swizzle",
                                       "fill",   "lower", "upper", "channels", "pixels", NULL};
    PlanTensor tensor = {.name = arena_printf(&plan->arena, "%s", o->string), .loc = plan->loc};
    const char *what = arena_printf(&plan->arena, "tensor map %s", tensor.name), *wrong = NULL;
    if (!cJSON_IsObject(o))
        wrong = "it must be an object";
    else if (!plan_known_keys(plan, source, diags, o, what, keys))
        return false;
    const cJSON *buffer = member(o, "buffer");
    uint32_t index = cJSON_IsString(buffer) ? plan_find_buffer(plan, buffer->valuestring) : 0;
    if (!wrong && !index)
        wrong = "\"buffer\" must be the name of a buffer";
    if (!wrong)
        wrong = read_map(o, &tensor.map);
    if (!wrong && plan_find_tensor(plan, tensor.name))
        wrong = "there are two of that name";
    if (!wrong) {
        const PlanBuffer *elements = &plan->buffers.at[index - 1];
        double end = sim_tensor_element_bytes(tensor.map.type) * (double)tensor.map.size[0];
        for (unsigned k = 1; k < tensor.map.rank; k++)
            end += (double)tensor.map.stride[k - 1] * ((double)tensor.map.size[k] - 1.0);
        if (end > (double)(elements->count * elements->type->size_bytes))
            wrong = "the tensor is larger than the buffer";
    }
    if (wrong)
        return diag_in(diags, source, plan->loc, DIAG_E0502,
                       arena_printf(&plan->arena, "%s: %s", what, wrong));
    tensor.buffer = index - 1;
    VEC_ADD(&plan->arena, &plan->tensors, tensor);
    return true;
}
