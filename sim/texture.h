/* Textures and surfaces of a launch: what a handle stands for. Both executions read these descriptions; how a
 * texel is found, read and filtered each says for itself (docs/numerics.md).
 *
 * The texels lie in guest memory one behind the other, rows behind rows, slices behind slices; layers of an
 * array are slices, and the six faces of a cube are slices of a layer (+x, -x, +y, -y, +z, -z).
 * A handle has the number of the texture, from 1, in bits 0-19 and that of a sampler in bits 20-30: what the
 * sampler says is a part of the same description. A surface is a texture of which nothing but the texels
 * count. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_TEXTURE_H
#define HEDDLE_SIM_TEXTURE_H
#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_SAMPLER_SHIFT = 20,
    SIM_TEXTURE_MASK = (1 << SIM_SAMPLER_SHIFT) - 1,
    SIM_SAMPLER_MASK = 0x7ff,
    SIM_MAX_TEXTURES = SIM_SAMPLER_MASK
};

typedef enum {
    SIM_TEXEL_U8,
    SIM_TEXEL_S8,
    SIM_TEXEL_U16,
    SIM_TEXEL_S16,
    SIM_TEXEL_U32,
    SIM_TEXEL_S32,
    SIM_TEXEL_F16,
    SIM_TEXEL_F32
} SimTexel;
typedef enum { SIM_ADDRESS_WRAP, SIM_ADDRESS_CLAMP, SIM_ADDRESS_MIRROR, SIM_ADDRESS_BORDER } SimAddressMode;

typedef struct {
    const char *name; /* of the variable that it is bound to, or any; not owned */
    uint64_t address; /* of the first texel */
    uint32_t size[3]; /* width, height, depth in texels; 1 beyond `dims` */
    uint32_t layers;  /* of an array; 0: it is none */
    uint8_t dims;     /* 1 to 3; of a cube 2, with size[2] 1 */
    bool cube;
    uint8_t texel, channels; /* SimTexel; 1, 2 or 4 */
    bool as_float;           /* integers of 8 and 16 bits are read as numbers of [0, 1] or [-1, 1] */
    bool linear, normalized; /* filter; coordinates of [0, 1] */
    uint8_t mode[3];         /* SimAddressMode */
    uint32_t border[4];      /* as the texture's results: bits */
    uint8_t more_levels;     /* of a mipmap: each half as large as the one before, all behind one another */
    bool mip_linear;         /* between levels; else the nearest one */
    float lod_bias, lod_min, lod_max;
} SimTexture;

static inline unsigned sim_texel_bytes(unsigned texel) {
    return texel <= SIM_TEXEL_S8 ? 1 : texel <= SIM_TEXEL_S16 || texel == SIM_TEXEL_F16 ? 2 : 4;
}
/* Else a texel's channels are integers. */
static inline bool sim_gives_floats(const SimTexture *texture) {
    return texture->as_float || texture->texel == SIM_TEXEL_F16 || texture->texel == SIM_TEXEL_F32;
}
static inline uint32_t sim_level_size(const SimTexture *texture, unsigned axis, unsigned level) {
    uint32_t size = axis < texture->dims ? texture->size[axis] >> level : 1;
    return size ? size : 1;
}
/* Of one level; UINT64_MAX: more than that. */
static inline uint64_t sim_level_bytes(const SimTexture *texture, unsigned level) {
    const uint32_t factors[] = {sim_level_size(texture, 0, level), sim_level_size(texture, 1, level),
                                sim_level_size(texture, 2, level), texture->layers ? texture->layers : 1,
                                texture->cube ? 6 : 1};
    uint64_t bytes = (uint64_t)texture->channels * sim_texel_bytes(texture->texel);
    for (unsigned k = 0; k < sizeof factors / sizeof *factors; k++)
        if (__builtin_mul_overflow(bytes, factors[k], &bytes))
            return UINT64_MAX;
    return bytes;
}
static inline uint64_t sim_texture_bytes(const SimTexture *texture) {
    uint64_t bytes = 0;
    for (unsigned level = 0; level <= texture->more_levels; level++)
        if (__builtin_add_overflow(bytes, sim_level_bytes(texture, level), &bytes))
            return UINT64_MAX;
    return bytes;
}
#endif
