/* What fetches from textures and accesses to surfaces share. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_INTERP_TEXTURE_H
#define HEDDLE_SIM_INTERP_TEXTURE_H
#include "frontend/texture.h"
#include "sim/interp/run.h"

typedef struct {
    uint64_t address; /* of the first texel */
    int64_t size[3];
} PtxTexels;

/* Texture and sampler of a statement; false: the thread has trapped. */
bool interp_find_texture(PtxRun *run, PtxThread *thread, const PtxCode *code, const PtxTexture *as,
                         const SimTexture **texture, const SimTexture **sampler);
/* One level of a texture; its layers and faces are slices. */
PtxTexels interp_level(const SimTexture *texture, unsigned level);
uint64_t interp_texel_address(const SimTexture *texture, const PtxTexels *level, uint64_t slice, uint64_t y,
                              uint64_t x);
#endif
