/* Textures and surfaces of a launch plan: "textures" of a launch file, docs/launch-files.md.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan/plan_json.h"
#include <math.h>
#include <string.h>

enum { MOST_SIZE = 1 << 27, MOST_LEVELS = 28 };

static bool texture_error(Plan *plan, const Source *source, Diags *diags, const char *name,
                          const char *what) {
    return diag_in(diags, source, plan->loc, DIAG_E0502,
                   arena_printf(&plan->arena, "texture %s: %s", name, what));
}

static bool small_number(const cJSON *item, uint32_t least, uint32_t most, uint32_t *out) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= least && item->valuedouble <= most) ||
        item->valuedouble != (double)(uint32_t)item->valuedouble)
        return false;
    *out = (uint32_t)item->valuedouble;
    return true;
}

static const char *read_size(const cJSON *o, SimTexture *texture) {
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(o, "size"),
                *layers = cJSON_GetObjectItemCaseSensitive(o, "layers"),
                *cube = cJSON_GetObjectItemCaseSensitive(o, "cube");
    int n = cJSON_IsArray(size) ? cJSON_GetArraySize(size) : 0;
    texture->size[0] = texture->size[1] = texture->size[2] = 1;
    texture->dims = (uint8_t)n;
    texture->cube = cJSON_IsTrue(cube);
    for (int k = 0; k < n && n <= 3; k++)
        if (!small_number(cJSON_GetArrayItem(size, k), 1, MOST_SIZE, &texture->size[k]))
            n = 0;
    if (n < 1 || n > 3)
        return "\"size\" must be a list of one to three positive numbers";
    if (layers && !small_number(layers, 1, 65536, &texture->layers))
        return "\"layers\" must be a positive number";
    if ((cube && !cJSON_IsBool(cube)) || (texture->cube && (n != 2 || texture->size[0] != texture->size[1])))
        return "\"cube\" is true for six square faces";
    return texture->layers && n == 3 ? "an array has layers of one or two dimensions" : NULL;
}

static const char *read_format(const cJSON *o, SimTexture *texture) {
    static const char *const texels[] = {"u8", "s8", "u16", "s16", "u32", "s32", "f16", "f32", NULL};
    static const char *const reads[] = {"element", "float", NULL};
    const cJSON *read = cJSON_GetObjectItemCaseSensitive(o, "read"),
                *channels = cJSON_GetObjectItemCaseSensitive(o, "channels");
    int texel = plan_choice(cJSON_GetObjectItemCaseSensitive(o, "texel"), texels),
        as = read ? plan_choice(read, reads) : 0;
    uint32_t n = 1;
    if (texel < 0)
        return "\"texel\" must be one of u8 s8 u16 s16 u32 s32 f16 f32";
    if (channels && (!small_number(channels, 1, 4, &n) || n == 3))
        return "\"channels\" must be 1, 2 or 4";
    if (as < 0 || (as == 1 && texel > SIM_TEXEL_S16))
        return "\"read\" must be \"element\" or, of integers of 8 and 16 bits, \"float\"";
    texture->texel = (uint8_t)texel;
    texture->channels = (uint8_t)n;
    texture->as_float = as == 1;
    return NULL;
}

static const char *read_border(const cJSON *border, SimTexture *texture) {
    bool floats = sim_gives_floats(texture);
    int n = cJSON_IsArray(border) ? cJSON_GetArraySize(border) : 0;
    for (int k = 0; k < n && n <= 4; k++) {
        const cJSON *item = cJSON_GetArrayItem(border, k);
        float value = cJSON_IsNumber(item) ? (float)item->valuedouble : 0;
        int64_t whole = floats || !(item->valuedouble > -0x1p32 && item->valuedouble < 0x1p32)
                            ? 0
                            : (int64_t)item->valuedouble;
        if (!cJSON_IsNumber(item) || (floats ? !isfinite(value) : (double)whole != item->valuedouble))
            n = 0;
        else if (floats)
            memcpy(&texture->border[k], &value, sizeof value);
        else
            texture->border[k] = (uint32_t)whole;
    }
    return n >= 1 && n <= 4 ? NULL : "\"border\" must be a list of up to four numbers of 32 bits";
}

static const char *read_sampler(const cJSON *o, SimTexture *texture) {
    static const char *const filters[] = {"point", "linear", NULL};
    static const char *const modes[] = {"wrap", "clamp", "mirror", "border", NULL};
    const cJSON *filter = cJSON_GetObjectItemCaseSensitive(o, "filter"),
                *normalized = cJSON_GetObjectItemCaseSensitive(o, "normalized"),
                *address = cJSON_GetObjectItemCaseSensitive(o, "address"),
                *border = cJSON_GetObjectItemCaseSensitive(o, "border");
    int by = filter ? plan_choice(filter, filters) : 0;
    if (by < 0)
        return "\"filter\" must be \"point\" or \"linear\"";
    texture->linear = by == 1;
    if (texture->linear && !sim_gives_floats(texture))
        return "only what is read as floating-point numbers can be filtered";
    if (normalized && !cJSON_IsBool(normalized))
        return "\"normalized\" must be true or false";
    texture->normalized = cJSON_IsTrue(normalized);
    if (cJSON_IsArray(address) && (!cJSON_GetArraySize(address) || cJSON_GetArraySize(address) > 3))
        return "\"address\" must be one mode, or a list of up to three, one for each axis";
    for (unsigned k = 0; k < 3; k++) {
        const cJSON *item = cJSON_IsArray(address) ? cJSON_GetArrayItem(address, (int)k) : address;
        int mode = item ? plan_choice(item, modes) : SIM_ADDRESS_CLAMP;
        if (mode < 0 || (mode != SIM_ADDRESS_BORDER && mode != SIM_ADDRESS_CLAMP && !texture->normalized))
            return "\"address\" must be of wrap, clamp, mirror, border; wrap and mirror need normalized "
                   "coordinates";
        texture->mode[k] = (uint8_t)mode;
    }
    return border ? read_border(border, texture) : NULL;
}

static bool read_float(const cJSON *item, double least, double most, float *out) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= least && item->valuedouble <= most))
        return false;
    *out = (float)item->valuedouble;
    return true;
}

/* Levels of a mipmap. The last one that there can be is a single texel. */
static const char *read_levels(const cJSON *o, SimTexture *texture) {
    static const char *const filters[] = {"point", "linear", NULL};
    const cJSON *levels = cJSON_GetObjectItemCaseSensitive(o, "levels"),
                *filter = cJSON_GetObjectItemCaseSensitive(o, "mipfilter"),
                *bias = cJSON_GetObjectItemCaseSensitive(o, "bias"),
                *clamp = cJSON_GetObjectItemCaseSensitive(o, "clamp");
    uint32_t n = 1, most = 1, longest = 1;
    for (unsigned k = 0; k < texture->dims; k++)
        longest = longest > texture->size[k] ? longest : texture->size[k];
    for (; longest > 1; longest /= 2)
        most++;
    if (levels && !small_number(levels, 1, most < MOST_LEVELS ? most : MOST_LEVELS, &n))
        return "\"levels\" must be a positive number, and each level half as large as the one before";
    texture->more_levels = (uint8_t)(n - 1);
    texture->lod_max = (float)(n - 1);
    int by = filter ? plan_choice(filter, filters) : 0;
    if (by < 0 || (by == 1 && !sim_gives_floats(texture)))
        return "\"mipfilter\" must be \"point\" or, of what is read as floating-point numbers, \"linear\"";
    texture->mip_linear = by == 1;
    if (bias && !read_float(bias, -16, 16, &texture->lod_bias))
        return "\"bias\" must be a number from -16 to 16";
    if (clamp &&
        (cJSON_GetArraySize(clamp) != 2 ||
         !read_float(cJSON_GetArrayItem(clamp, 0), 0, MOST_LEVELS, &texture->lod_min) ||
         !read_float(cJSON_GetArrayItem(clamp, 1), texture->lod_min, MOST_LEVELS, &texture->lod_max)))
        return "\"clamp\" must be a list of the least and the highest level";
    return NULL;
}

bool plan_read_texture(Plan *plan, const Source *source, const cJSON *o, Diags *diags) {
    static const char *const keys[] = {"buffer", "size",      "layers",     "cube",    "texel",  "channels",
                                       "read",   "filter",    "normalized", "address", "border", "levels",
                                       "bias",   "mipfilter", "clamp",      NULL};
    PlanTexture texture = {.name = arena_printf(&plan->arena, "%s", o->string), .loc = plan->loc};
    const cJSON *buffer = cJSON_GetObjectItemCaseSensitive(o, "buffer");
    if (!cJSON_IsObject(o))
        return texture_error(plan, source, diags, texture.name, "it must be an object");
    if (!plan_known_keys(plan, source, diags, o, arena_printf(&plan->arena, "texture %s", texture.name),
                         keys))
        return false;
    uint32_t index = cJSON_IsString(buffer) ? plan_find_buffer(plan, buffer->valuestring) : 0;
    const char *wrong = !index ? "\"buffer\" must be the name of a buffer" : read_size(o, &texture.what);
    if (!wrong)
        wrong = read_format(o, &texture.what);
    if (!wrong)
        wrong = read_sampler(o, &texture.what);
    if (!wrong)
        wrong = read_levels(o, &texture.what);
    texture.buffer = index - 1;
    if (!wrong && plan_find_texture(plan, texture.name))
        wrong = "there are two of that name";
    if (wrong)
        return texture_error(plan, source, diags, texture.name, wrong);
    const PlanBuffer *texels = &plan->buffers.at[texture.buffer];
    if (sim_texture_bytes(&texture.what) > texels->count * texels->type->size_bytes)
        return texture_error(plan, source, diags, texture.name,
                             arena_printf(&plan->arena, "it has %llu bytes, the buffer %llu",
                                          (unsigned long long)sim_texture_bytes(&texture.what),
                                          (unsigned long long)(texels->count * texels->type->size_bytes)));
    VEC_ADD(&plan->arena, &plan->textures, texture);
    return true;
}
