/* Accesses to surfaces: SULD, SUST, SURED. Which register has which coordinate: isa/tex.isa.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/texture.h"
#include <math.h>
#include <string.h>

/* ---- surfaces ---- */

/* Where the access of a lane begins; 0: it is outside and does not take place. */
static int surface_place(Warp *warp, Dec *dec, unsigned lane, unsigned register_row,
                         const SimTexture **found_texture, uint64_t *address) {
    static const uint8_t dims[] = {
        [SurfDim_D1] = 1, [SurfDim_A1] = 1, [SurfDim_D2] = 2, [SurfDim_A2] = 2, [SurfDim_D3] = 3};
    const uint32_t *coord = dec_src(warp, dec, 0);
    uint32_t handle = dec_src(warp, dec, register_row)[lane];
    bool found = dec->tex.in_register || machine_bound_handle(warp, dec, &handle);
    const SimTexture *texture = found ? simmem_texture(warp->run->mem, handle & SIM_TEXTURE_MASK) : NULL;
    if (!texture)
        return machine_no_texture(warp, dec, lane);
    unsigned dim = dec->tex.dim, n = dims[dim];
    bool layered = dim == SurfDim_A1 || dim == SurfDim_A2;
    if (texture->dims != n || (texture->layers != 0) != layered || texture->cube)
        return machine_trap(warp, dec, lane, TRAP_ILLEGAL, "the texture has another number of dimensions");
    uint64_t texel_bytes = (uint64_t)texture->channels * sim_texel_bytes(texture->texel);
    uint64_t row_bytes = texture->size[0] * texel_bytes, unit = dec->tex.texels ? texel_bytes : 1;
    *found_texture = texture;
    if (dec->tex.texels && dec->size && texel_bytes != dec->size)
        return machine_trap(warp, dec, lane, TRAP_ILLEGAL, "the surface has other texels");
    uint64_t most[4] = {row_bytes < dec->size ? 0 : row_bytes - dec->size + 1, 1, 1}, at[4] = {0};
    for (unsigned k = dec->tex.texels ? 0 : 1; k < n; k++)
        most[k] = texture->size[k];
    if (layered)
        most[2] = texture->layers;
    for (unsigned k = 0; k < n + layered; k++) {
        int32_t x = (int32_t)coord[32 * k + lane];
        unsigned axis = k < n ? k : 2;
        bool outside = x < 0 || (uint64_t)x >= most[axis];
        at[axis] = outside ? (x < 0 ? 0 : most[axis] - 1) : (uint64_t)x;
        if (!outside)
            continue;
        if (dec->tex.out == SurfOut_TRAP)
            return machine_trap(warp, dec, lane, TRAP_OUT_OF_RANGE, "outside of the surface");
        if (dec->tex.out != SurfOut_CLAMP || !most[axis]) {
            *address = 0;
            return RUN_OK;
        }
    }
    *address = texture->address + (at[2] * texture->size[1] + at[1]) * row_bytes + at[0] * unit;
    return RUN_OK;
}

static int op_suld(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t data[32][4] = {{0}}, all = g;
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        uint64_t address;
        MemRef ref;
        const SimTexture *texture;
        int status = surface_place(warp, dec, lane, 1, &texture, &address);
        if (status == RUN_OK && address) {
            status = machine_mem_ref(warp, dec, lane, MS_GLOBAL, address, dec->size, false, &ref);
            if (status == RUN_OK)
                machine_mem_load(warp, lane, &ref, dec->size, data[lane]);
        }
        if (status != RUN_OK)
            return status;
        if (dec->tex.kind == MemSz_S8)
            data[lane][0] = (uint32_t)(int32_t)(int8_t)data[lane][0];
        if (dec->tex.kind == MemSz_S16)
            data[lane][0] = (uint32_t)(int32_t)(int16_t)data[lane][0];
    }
    for (g = all; g; g &= g - 1)
        for (unsigned k = 0; 4 * k < dec->size; k++)
            dec_dst(warp, dec, 0)[32 * k + low_lane(g)] = data[low_lane(g)][k];
    set_pred(warp, dec->pd[0], all, 0); /* nothing is missing */
    return RUN_OK;
}

static int op_sust(Warp *warp, Dec *dec, uint32_t g) {
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        uint64_t address;
        MemRef ref;
        const SimTexture *texture;
        uint32_t data[4] = {0};
        int status = surface_place(warp, dec, lane, 2, &texture, &address);
        if (status == RUN_OK && address)
            status = machine_mem_ref(warp, dec, lane, MS_GLOBAL, address, dec->size, true, &ref);
        if (status != RUN_OK)
            return status;
        for (unsigned k = 0; 4 * k < dec->size; k++)
            data[k] = dec_src(warp, dec, 1)[32 * k + lane];
        if (address)
            machine_mem_store(warp, lane, &ref, dec->size, data);
    }
    return RUN_OK;
}

/* By the header's word, where the operation leaves it to that. */
static bool header_signed(Warp *warp, const Dec *dec, unsigned lane) {
    uint32_t handle = dec_src(warp, dec, 2)[lane];
    if (!dec->tex.in_register)
        machine_bound_handle(warp, dec, &handle);
    return simmem_texture(warp->run->mem, handle & SIM_TEXTURE_MASK)->texel == SIM_TEXEL_S32;
}

static uint64_t reduced(unsigned op, bool is_signed, uint64_t old, uint64_t b) {
    bool less = is_signed ? (int32_t)old < (int32_t)b : old < b;
    switch (op) {
    case RedOp_ADD: return old + b;
    case RedOp_MIN: return less ? old : b;
    case RedOp_MAX: return less ? b : old;
    case RedOp_AND: return old & b;
    case RedOp_OR: return old | b;
    default: return old ^ b;
    }
}

static int op_sured(Warp *warp, Dec *dec, uint32_t g) {
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        uint64_t address, old = 0, b = dec_src(warp, dec, 1)[lane];
        MemRef ref;
        const SimTexture *texture;
        if (dec->size == 8)
            b |= (uint64_t)dec_src(warp, dec, 1)[32 + lane] << 32;
        int status = surface_place(warp, dec, lane, 2, &texture, &address);
        if (status == RUN_OK && address)
            status = machine_mem_ref(warp, dec, lane, MS_GLOBAL, address, dec->size, true, &ref);
        if (status != RUN_OK)
            return status;
        if (!address)
            continue;
        machine_mem_load(warp, lane, &ref, dec->size, &old);
        bool is_signed = dec->tex.by_header ? header_signed(warp, dec, lane) : dec->tex.is_signed;
        uint64_t now = reduced(dec->tex.kind, is_signed, old, b);
        machine_mem_store(warp, lane, &ref, dec->size, &now);
    }
    return RUN_OK;
}

/* ---- texels of the surface's format ---- */

static uint32_t clip_signed(uint32_t bits, int32_t low, int32_t high) {
    int32_t x = (int32_t)bits;
    return (uint32_t)(x < low ? low : x > high ? high : x);
}
static uint32_t clip_unsigned(uint32_t bits, uint32_t high) { return bits > high ? high : bits; }

/* high: of 1.0; a negative one: numbers have no sign */
static uint32_t scale(uint32_t bits, bool has_sign, float high) {
    float x;
    memcpy(&x, &bits, sizeof x);
    float low = has_sign ? -1.0f : 0.0f;
    x = x > 1 ? 1 : x >= low ? x : x < low ? low : 0;
    return (uint32_t)(int32_t)rint((double)x * (double)high);
}

static uint32_t format_channel(const SimTexture *texture, uint32_t bits) {
    static const float of_one[] = {
        [SIM_TEXEL_U8] = 255, [SIM_TEXEL_S8] = 127, [SIM_TEXEL_U16] = 65535, [SIM_TEXEL_S16] = 32767};
    bool has_sign = texture->texel == SIM_TEXEL_S8 || texture->texel == SIM_TEXEL_S16;
    if (texture->as_float)
        return scale(bits, has_sign, of_one[texture->texel]);
    switch (texture->texel) {
    case SIM_TEXEL_U8: return clip_unsigned(bits, UINT8_MAX);
    case SIM_TEXEL_U16: return clip_unsigned(bits, UINT16_MAX);
    case SIM_TEXEL_S8: return clip_signed(bits, INT8_MIN, INT8_MAX);
    case SIM_TEXEL_S16: return clip_signed(bits, INT16_MIN, INT16_MAX);
    case SIM_TEXEL_F16: return machine_half_of(bits);
    default: return bits;
    }
}

/* Channels that are not given are 0. */
static int op_sust_texel(Warp *warp, Dec *dec, uint32_t g) {
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g), at = 0;
        uint64_t address;
        MemRef ref;
        uint8_t texel[16];
        const SimTexture *texture;
        int status = surface_place(warp, dec, lane, 2, &texture, &address);
        if (status != RUN_OK)
            return status;
        unsigned size = sim_texel_bytes(texture->texel);
        for (unsigned c = 0; c < texture->channels; c++, at += size) {
            uint32_t given = c < dec->tex.mask ? dec_src(warp, dec, 1)[32 * c + lane] : 0;
            uint32_t stored = format_channel(texture, given);
            memcpy(texel + at, &stored, size);
        }
        if (!address)
            continue;
        status = machine_mem_ref(warp, dec, lane, MS_GLOBAL, address, at, true, &ref);
        if (status != RUN_OK)
            return status;
        machine_mem_store(warp, lane, &ref, at, texel);
    }
    return RUN_OK;
}

static unsigned access_bytes(unsigned kind) {
    return kind <= MemSz_S8 ? 1 : kind <= MemSz_S16 ? 2 : kind == MemSz_32 ? 4 : kind == MemSz_64 ? 8 : 16;
}
bool bind_SULD(Bind *bind) {
    bind->d->tex.dim = MGET(SULD, dim, bind->in->mods);
    bind->d->tex.out = MGET(SULD, out, bind->in->mods);
    bind->d->tex.kind = MGET(SULD, sz, bind->in->mods);
    bind->d->size = (uint8_t)access_bytes(bind->d->tex.kind);
    bind->d->tex.in_register = bind->in->src[SULD_rc].kind == OPK_REG;
    return bind_texture(bind, op_suld, SULD_urb);
}
bool bind_SUST(Bind *bind) {
    bind->d->tex.dim = MGET(SUST, dim, bind->in->mods);
    bind->d->tex.out = MGET(SUST, out, bind->in->mods);
    bind->d->size = (uint8_t)access_bytes(MGET(SUST, sz, bind->in->mods));
    bind->d->tex.in_register = bind->in->src[SUST_rc].kind == OPK_REG;
    return bind_texture(bind, op_sust, SUST_urb);
}
bool bind_SUST_P(Bind *bind) {
    unsigned channels = MGET(SUST_P, parts, bind->in->mods);
    bind->d->tex.dim = MGET(SUST_P, dim, bind->in->mods);
    bind->d->tex.out = MGET(SUST_P, out, bind->in->mods);
    bind->d->tex.texels = true;
    bind->d->tex.mask = channels == TexelParts_R ? 1 : channels == TexelParts_RG ? 2 : 4; /* how many */
    bind->d->tex.in_register = bind->in->src[SUST_P_rc].kind == OPK_REG;
    return bind_texture(bind, op_sust_texel, SUST_P_urb);
}
bool bind_SURED(Bind *bind) {
    unsigned op = MGET(SURED, op, bind->in->mods);
    if (op == RedOp_INC || op == RedOp_DEC)
        return bind_not_simulated(bind);
    bind->d->tex.dim = MGET(SURED, dim, bind->in->mods);
    bind->d->tex.out = MGET(SURED, out, bind->in->mods);
    bind->d->tex.kind = (uint8_t)op;
    bind->d->tex.is_signed = MGET(SURED, type, bind->in->mods) == SuredType_S32;
    bind->d->tex.by_header = MGET(SURED, type, bind->in->mods) == SuredType_SD32;
    bool texels = MGET(SURED, unit, bind->in->mods) == SurfUnit_TEXELS;
    bind->d->tex.texels = texels;
    bind->d->size = MGET(SURED, type, bind->in->mods) == SuredType_U64 ? 8 : 4;
    bind->d->tex.in_register = bind->in->src[SURED_rc].kind == OPK_REG;
    return bind_texture(bind, op_sured, SURED_urb);
}
