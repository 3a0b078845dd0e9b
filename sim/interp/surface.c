/* Surfaces: suld, sust, sured (PTX ISA 9.7.11), with the numbers that docs/numerics.md, "Textures", gives.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/texture.h"
#include <math.h>

/* Where an access of `bytes` to a surface is; the first coordinate counts bytes or texels, which must have
 * that size. 0: it does not take place, *stop: the thread has trapped. */
static uint64_t surface_address(PtxRun *run, PtxThread *thread, const PtxCode *code, const SimTexture *t,
                                const PtxTexture *as, unsigned bytes, bool texels, bool *stop) {
    unsigned texel_bytes = t->channels * sim_texel_bytes(t->texel), mode = code->insn->sub2;
    if (texels && texel_bytes != bytes) {
        *stop = true;
        interp_trap(run, thread, code, TRAP_ILLEGAL, "the surface has other texels");
        return 0;
    }
    unsigned unit = texels ? texel_bytes : 1;
    int64_t width = (int64_t)t->size[0] * texel_bytes - bytes + 1;
    int64_t at[4] = {0}, size[4] = {texels ? t->size[0] : width, t->size[1], t->size[2]};
    unsigned n = as->ncoords - as->layered;
    for (unsigned k = 0; k < n; k++)
        at[k] = (int32_t)interp_arg(run, thread, &code->vec[k + as->layered]);
    if (as->layered) { /* layers are slices */
        at[2] = (int32_t)interp_arg(run, thread, &code->vec[0]);
        size[2] = t->layers;
    }
    for (unsigned k = 0; k < 3; k++) {
        if (at[k] >= 0 && at[k] < size[k])
            continue;
        if (mode == SUB_TRAP) {
            *stop = true;
            interp_trap(run, thread, code, TRAP_OUT_OF_RANGE, "outside of the surface");
        }
        if (mode != SUB_CLAMP || size[k] <= 0)
            return 0;
        at[k] = at[k] < 0 ? 0 : size[k] - 1;
    }
    PtxTexels all = interp_level(t, 0);
    return interp_texel_address(t, &all, (uint64_t)at[2], (uint64_t)at[1], 0) + (uint64_t)at[0] * unit;
}

static uint8_t *surface_bytes(PtxRun *run, PtxThread *thread, const PtxCode *code, unsigned bytes,
                              bool texels, bool write, bool *stop) {
    PtxTexture as = ptx_texture(code->insn);
    const SimTexture *texture, *sampler;
    *stop = !interp_find_texture(run, thread, code, &as, &texture, &sampler);
    uint64_t address = *stop ? 0 : surface_address(run, thread, code, texture, &as, bytes, texels, stop);
    if (!address)
        return NULL;
    uint8_t *p = interp_memory(run, thread, code, SP_GLOBAL, address, bytes, write);
    *stop = !p;
    if (run->slow && p && write)
        run->access = (PtxAccess){.kind = code->insn->op == PTX_SURED ? PTX_ACCESS_ATOMIC : PTX_ACCESS_STORE,
                                  .size_bytes = bytes,
                                  .address = address,
                                  .data = p};
    return p;
}

static PtxStep exec_suld(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    uint8_t data[32] = {0};
    bool stop;
    unsigned bytes = (unsigned)code->size_bytes * code->nvec;
    const uint8_t *p = surface_bytes(run, thread, code, bytes, false, false, &stop);
    if (stop)
        return STEP_STOP;
    if (p) {
        interp_race_load(run, thread, code);
        memcpy(data, p, bytes);
    }
    for (unsigned k = 0; k < code->nvec; k++) {
        uint64_t value = 0;
        memcpy(&value, data + (size_t)k * code->size_bytes, code->size_bytes);
        interp_put(thread, code->vec_dst[k], value);
    }
    return STEP_GO;
}

static PtxStep exec_sust(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    uint8_t now[32];
    bool stop;
    unsigned bytes = (unsigned)code->size_bytes * code->nvec;
    uint8_t *p = surface_bytes(run, thread, code, bytes, false, true, &stop);
    if (!p)
        return stop ? STEP_STOP : STEP_GO;
    for (unsigned k = 0; k < code->nvec; k++) {
        uint64_t value = interp_arg(run, thread, &code->vec[code->fragment[0] + k]);
        memcpy(now + (size_t)k * code->size_bytes, &value, code->size_bytes);
    }
    interp_race_store(run, thread, code, p, now);
    memcpy(p, now, bytes);
    return STEP_GO;
}

static PtxStep exec_sured(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    bool stop;
    uint8_t *p = surface_bytes(run, thread, code, code->size_bytes, false, true, &stop);
    if (!p)
        return stop ? STEP_STOP : STEP_YIELD;
    interp_race_atomic(run, thread, code, p);
    uint64_t old = 0;
    memcpy(&old, p, code->size_bytes);
    uint64_t now = interp_atomic_int(code, old, interp_arg(run, thread, &code->vec[code->fragment[0]]));
    memcpy(p, &now, code->size_bytes);
    return STEP_YIELD;
}

/* Of a texel, which is an integer with a sign if its format says so. */
static PtxStep exec_sured_texel(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    bool stop;
    uint8_t *p = surface_bytes(run, thread, code, code->size_bytes, true, true, &stop);
    if (!p)
        return stop ? STEP_STOP : STEP_YIELD;
    interp_race_atomic(run, thread, code, p);
    const SimTexture *t =
        simmem_texture(run->mem, (uint32_t)interp_arg(run, thread, &code->src[0]) & SIM_TEXTURE_MASK);
    PtxCode typed = *code;
    typed.type = t->texel == SIM_TEXEL_S32 ? TY_S32 : TY_U32;
    uint32_t old, now;
    memcpy(&old, p, sizeof old);
    now = (uint32_t)interp_atomic_int(&typed, old, interp_arg(run, thread, &code->vec[code->fragment[0]]));
    memcpy(p, &now, sizeof now);
    return STEP_YIELD;
}
/* A number of [0, most] or, with a sign, [-most, most], from one of [0, 1] or [-1, 1]. */
static uint32_t scaled_back(uint32_t bits, double least, double most) {
    double x = f32_of(bits);
    x = isnan(x) ? 0 : fmin(fmax(x, least), 1) * most;
    return (uint32_t)(int32_t)nearbyint(x); /* to nearest, ties to even */
}

static uint32_t kept_in(uint32_t bits, int64_t least, int64_t most) {
    int64_t x = least < 0 ? (int64_t)(int32_t)bits : (int64_t)bits;
    return (uint32_t)(x < least ? least : x > most ? most : x);
}

/* A channel as the surface stores it. */
static uint32_t stored_channel(const SimTexture *t, uint32_t bits) {
    bool numbers = t->as_float;
    switch (t->texel) {
    case SIM_TEXEL_U8: return numbers ? scaled_back(bits, 0, 255) : kept_in(bits, 0, 255);
    case SIM_TEXEL_S8: return numbers ? scaled_back(bits, -1, 127) : kept_in(bits, -128, 127);
    case SIM_TEXEL_U16: return numbers ? scaled_back(bits, 0, 65535) : kept_in(bits, 0, 65535);
    case SIM_TEXEL_S16: return numbers ? scaled_back(bits, -1, 32767) : kept_in(bits, -32768, 32767);
    case SIM_TEXEL_F16:
        return isnan(f32_of(bits)) ? 0x7fff : (uint32_t)interp_round_double(FMT_F16, f32_of(bits), RND_RN);
    default: return bits;
    }
}

static PtxStep exec_sust_texel(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    bool stop;
    uint8_t now[16];
    const SimTexture *t =
        simmem_texture(run->mem, (uint32_t)interp_arg(run, thread, &code->src[0]) & SIM_TEXTURE_MASK);
    unsigned bytes = t ? sim_texel_bytes(t->texel) : 0, all = t ? bytes * t->channels : 0;
    uint8_t *p = surface_bytes(run, thread, code, all, true, true, &stop);
    if (!p)
        return stop ? STEP_STOP : STEP_GO;
    for (unsigned c = 0; c < t->channels; c++) { /* channels that are not given are 0 */
        uint32_t given =
            c < code->nvec ? (uint32_t)interp_arg(run, thread, &code->vec[code->fragment[0] + c]) : 0;
        uint32_t stored = stored_channel(t, given);
        memcpy(now + (size_t)c * bytes, &stored, bytes);
    }
    interp_race_store(run, thread, code, p, now);
    memcpy(p, now, all);
    return STEP_GO;
}

/* An access is of 16 bytes at most. */
static bool bind_surface(PtxCode *code, PtxExec *exec) {
    return (unsigned)code->size_bytes * code->nvec <= 16 && interp_use_exec(code, exec);
}
bool interp_bind_suld(PtxCode *code) { return bind_surface(code, exec_suld); }
bool interp_bind_sust(PtxCode *code) { return bind_surface(code, exec_sust); }
bool interp_bind_sured(PtxCode *code) { return bind_surface(code, exec_sured); }
bool interp_bind_sured_texel(PtxCode *code) { return bind_surface(code, exec_sured_texel); }
bool interp_bind_sust_texel(PtxCode *code) { return interp_use_exec(code, exec_sust_texel); }
