/* Textures and surfaces: tex, txq, suq, suld, sust, sured (PTX ISA 9.7.10, 9.7.11), with the numbers that
 * docs/numerics.md, "Textures", gives: positions and sums in double precision.
 *
 * A fetch goes coordinate by coordinate: from the coordinate to texels and their weights (an Axis), from the
 * axes to the sum over all their combinations. SPDX-License-Identifier: MIT */
#include "frontend/texture.h"
#include "sim/interp/run.h"
#include <math.h>

enum { WHOLE = 256 /* weights have 8 bits of fraction */, FAR_BITS = 31 /* further out is all the same */ };

typedef struct { /* one coordinate: up to two texels, with weights in parts of WHOLE */
    int64_t at[2];
    unsigned weight[2];
} Axis;

typedef struct {
    PtxRun *run;
    PtxThread *thread;
    const PtxCode *code;
    const SimTexture *texture, *sampler;
    uint64_t layer; /* of slices, in front of the place */
    bool trapped;
} Fetch;

/* ---- texels ---- */

static uint64_t texel_address(const SimTexture *texture, uint64_t slice, uint64_t y, uint64_t x) {
    uint64_t texel = (slice * texture->size[1] + y) * texture->size[0] + x;
    return texture->address + texel * texture->channels * sim_texel_bytes(texture->texel);
}

static uint32_t scaled(double value, double most) {
    double q = value / most; /* of small integers: rounding it to float once more changes nothing */
    return f32_bits((float)(q < -1 ? -1 : q));
}

/* What the texture gives for a stored channel. */
static uint32_t channel_bits(const SimTexture *texture, uint32_t raw) {
    switch (texture->texel) {
    case SIM_TEXEL_U8: return texture->as_float ? scaled(raw, 255) : raw;
    case SIM_TEXEL_S8: return texture->as_float ? scaled((int8_t)raw, 127) : (uint32_t)(int8_t)raw;
    case SIM_TEXEL_U16: return texture->as_float ? scaled(raw, 65535) : raw;
    case SIM_TEXEL_S16: return texture->as_float ? scaled((int16_t)raw, 32767) : (uint32_t)(int16_t)raw;
    case SIM_TEXEL_F16: {
        double value = interp_half_value(FMT_F16, (uint16_t)raw);
        return isnan(value) ? F32_NAN : f32_bits((float)value);
    }
    default: return raw;
    }
}

static bool gives_floats(const SimTexture *texture) {
    return texture->as_float || texture->texel == SIM_TEXEL_F16 || texture->texel == SIM_TEXEL_F32;
}

static void read_texel(Fetch *fetch, uint64_t slice, uint64_t y, uint64_t x, uint32_t out[4]) {
    const SimTexture *t = fetch->texture;
    unsigned bytes = sim_texel_bytes(t->texel);
    for (unsigned c = 0; c < t->channels && !fetch->trapped; c++) {
        uint32_t raw = 0;
        const uint8_t *p =
            interp_memory(fetch->run, fetch->thread, fetch->code, SP_GLOBAL,
                          texel_address(t, fetch->layer + slice, y, x) + (uint64_t)c * bytes, bytes, false);
        fetch->trapped = !p;
        if (p)
            memcpy(&raw, p, bytes);
        out[c] = channel_bits(t, raw);
    }
}

/* ---- from a coordinate to texels ---- */

/* The texel that stands for number i of n; -1: the border. */
static int64_t address_texel(const SimTexture *sampler, unsigned axis, int64_t i, int64_t n) {
    unsigned mode = sampler->mode[axis];
    if (!sampler->normalized && (mode == SIM_ADDRESS_WRAP || mode == SIM_ADDRESS_MIRROR))
        mode = SIM_ADDRESS_CLAMP;
    if (i >= 0 && i < n)
        return i;
    int64_t period = mode == SIM_ADDRESS_MIRROR ? 2 * n : n;
    int64_t rest = ((i % period) + period) % period;
    switch (mode) {
    case SIM_ADDRESS_BORDER: return -1;
    case SIM_ADDRESS_CLAMP: return i < 0 ? 0 : n - 1;
    default: return rest < n ? rest : 2 * n - 1 - rest;
    }
}

/* x in texels. */
static Axis place_on(const SimTexture *sampler, bool linear, unsigned axis, double x, int64_t n) {
    double far = ldexp(1, FAR_BITS);
    if (isnan(x))
        x = 0;
    x = x > far ? far : x < -far ? -far : x;
    if (linear)
        x -= 0.5;
    double whole = floor(x);
    unsigned high = linear ? (unsigned)floor((x - whole) * (double)WHOLE + 0.5) : 0;
    Axis out = {.weight = {WHOLE - high, high}};
    for (unsigned k = 0; k < 2; k++)
        out.at[k] = address_texel(sampler, axis, (int64_t)whole + k, n);
    return out;
}

static const Axis FIRST = {.weight = {WHOLE, 0}};

/* The sum over the combinations, x fastest; what has no weight does not count. */
static void sum_texels(Fetch *fetch, const Axis axes[3], uint32_t out[4]) {
    double sum[4] = {0};
    for (unsigned corner = 0; corner < 8; corner++) {
        unsigned kx = corner & 1, ky = corner >> 1 & 1, kz = corner >> 2;
        double weight = (double)axes[0].weight[kx] / (double)WHOLE * axes[1].weight[ky] / (double)WHOLE *
                        axes[2].weight[kz] / (double)WHOLE;
        uint32_t bits[4];
        if (weight == 0)
            continue;
        bool border = axes[0].at[kx] < 0 || axes[1].at[ky] < 0 || axes[2].at[kz] < 0;
        memcpy(bits, fetch->sampler->border, sizeof bits);
        if (!border)
            read_texel(fetch, (uint64_t)axes[2].at[kz], (uint64_t)axes[1].at[ky], (uint64_t)axes[0].at[kx],
                       bits);
        for (unsigned c = 0; c < 4; c++)
            if (weight == 1) /* a single texel: its bits */
                out[c] = bits[c];
            else
                sum[c] += weight * (double)f32_of(bits[c]);
        if (weight == 1)
            return;
    }
    for (unsigned c = 0; c < 4; c++)
        out[c] = isnan(sum[c]) ? F32_NAN : f32_bits((float)sum[c]);
}

/* ---- the two kinds of fetches ---- */

static void fetch_whole(Fetch *fetch, const uint64_t *coord, uint32_t out[4]) {
    const SimTexture *t = fetch->texture;
    int64_t at[3] = {0};
    bool inside = true;
    for (unsigned k = 0; k < t->dims; k++) {
        at[k] = (int32_t)coord[k];
        inside = inside && at[k] >= 0 && at[k] < t->size[k];
    }
    memset(out, 0, 4 * sizeof *out);
    if (!inside)
        return;
    out[3] = gives_floats(t) ? f32_bits(1) : 1;
    read_texel(fetch, (uint64_t)at[2], (uint64_t)at[1], (uint64_t)at[0], out);
}

/* A direction: the face is that of the longest part. The place on it, from 0 to 1. */
static unsigned cube_face(const uint64_t *coord, double place[2]) {
    float d[3], longest = 0;
    for (unsigned k = 0; k < 3; k++)
        longest = fabsf(f32_of(coord[k])) > longest ? fabsf(f32_of(coord[k])) : longest;
    float inverse = f32_of(f32_flush(interp_rcp(f32_flush(f32_bits(longest)))));
    for (unsigned k = 0; k < 3; k++)
        d[k] = f32_of(coord[k]) * inverse;
    unsigned axis = fabsf(d[0]) >= fabsf(d[1]) && fabsf(d[0]) >= fabsf(d[2]) ? 0
                    : fabsf(d[1]) >= fabsf(d[2])                             ? 1
                                                                             : 2;
    bool negative = d[axis] < 0;
    double s = axis == 0 ? (negative ? d[2] : -d[2]) : axis == 2 && negative ? -d[0] : d[0];
    double t = axis == 1 ? (negative ? -d[2] : d[2]) : -d[1];
    place[0] = s / 2 + 0.5;
    place[1] = t / 2 + 0.5;
    return 2 * axis + negative;
}

static void fetch_at(Fetch *fetch, bool cube, const uint64_t *coord, uint32_t out[4]) {
    const SimTexture *t = fetch->texture, *sampler = fetch->sampler;
    bool linear = sampler->linear && gives_floats(t);
    double place[3] = {0};
    Axis axes[3] = {FIRST, FIRST, FIRST};
    if (cube)
        fetch->layer += cube_face(coord, place);
    for (unsigned k = 0; k < t->dims; k++) {
        double x = cube ? place[k] : (double)f32_of(coord[k]);
        axes[k] = place_on(sampler, linear, k, sampler->normalized || cube ? x * t->size[k] : x,
                           (int64_t)t->size[k]);
    }
    out[0] = out[1] = out[2] = 0;
    out[3] = gives_floats(t) ? f32_bits(1) : 1;
    uint32_t sum[4];
    sum_texels(fetch, axes, sum);
    for (unsigned c = 0; c < t->channels; c++)
        out[c] = sum[c];
}

/* ---- statements ---- */

/* Dimensions, layers, faces as the statement says them? */
static bool same_shape(const SimTexture *texture, const PtxTexture *as) {
    unsigned dims = as->cube ? 2 : as->ncoords - as->layered;
    return texture->dims == dims && (texture->layers != 0) == as->layered && texture->cube == as->cube;
}

static bool find_texture(PtxRun *run, PtxThread *thread, const PtxCode *code, const PtxTexture *as,
                         Fetch *fetch) {
    uint64_t handle = interp_arg(run, thread, &code->src[0]);
    uint32_t sampler = as->sampler ? (uint32_t)interp_arg(run, thread, &code->src[1]) & 0xfff
                                   : (uint32_t)handle >> SIM_SAMPLER_SHIFT;
    *fetch = (Fetch){.run = run, .thread = thread, .code = code};
    fetch->texture = simmem_texture(run->mem, (uint32_t)handle & SIM_TEXTURE_MASK);
    fetch->sampler = simmem_texture(run->mem, sampler);
    if (!fetch->texture || (code->insn->op == PTX_TEX && !fetch->sampler)) {
        interp_trap(run, thread, code, TRAP_ILLEGAL, "the handle is that of no texture");
        return false;
    }
    if (as->ncoords && !same_shape(fetch->texture, as)) {
        interp_trap(run, thread, code, TRAP_ILLEGAL, "the texture has another number of dimensions");
        return false;
    }
    return true;
}

static uint64_t layer_of(const SimTexture *texture, uint64_t layer, bool layered) {
    uint32_t last = texture->layers ? texture->layers - 1 : 0, at = layered ? (uint32_t)layer : 0;
    return (uint64_t)(at < last ? at : last) * (texture->cube ? 6 : 1);
}

static PtxStep exec_tex(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    PtxTexture as = ptx_texture(code->insn);
    Fetch fetch;
    uint64_t coord[4] = {0};
    uint32_t out[4];
    if (!find_texture(run, thread, code, &as, &fetch))
        return STEP_STOP;
    for (unsigned k = 0; k < as.ncoords; k++)
        coord[k] = interp_arg(run, thread, &code->vec[k]);
    fetch.layer = layer_of(fetch.texture, coord[0], as.layered);
    if (as.integer)
        fetch_whole(&fetch, coord + as.layered, out);
    else
        fetch_at(&fetch, as.cube, coord + as.layered, out);
    if (fetch.trapped)
        return STEP_STOP;
    for (unsigned c = 0; c < code->nvec; c++)
        interp_put(thread, code->vec_dst[c], out[c]);
    return STEP_GO;
}
BIND_EXEC(tex, exec_tex)

static PtxStep exec_query(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    PtxTexture as = ptx_texture(code->insn);
    Fetch fetch;
    if (!find_texture(run, thread, code, &as, &fetch))
        return STEP_STOP;
    interp_put(thread, code->vec_dst[0],
               fetch.texture->size[code->insn->sub == SUB_WIDTH    ? 0
                                   : code->insn->sub == SUB_HEIGHT ? 1
                                                                   : 2]);
    return STEP_GO;
}
BIND_EXEC(txq, exec_query)

/* Where an access of `bytes` to a surface is; the first coordinate counts bytes or texels, which must have
 * that size. 0: it does not take place, *stop: the thread has trapped. */
static uint64_t surface_address(Fetch *fetch, const PtxTexture *as, unsigned bytes, bool texels, bool *stop) {
    const SimTexture *t = fetch->texture;
    unsigned texel_bytes = t->channels * sim_texel_bytes(t->texel), mode = fetch->code->insn->sub2;
    if (texels && texel_bytes != bytes) {
        *stop = true;
        interp_trap(fetch->run, fetch->thread, fetch->code, TRAP_ILLEGAL, "the surface has other texels");
        return 0;
    }
    unsigned unit = texels ? texel_bytes : 1;
    int64_t width = (int64_t)t->size[0] * texel_bytes - bytes + 1;
    int64_t at[4] = {0}, size[4] = {texels ? t->size[0] : width, t->size[1], t->size[2]};
    unsigned n = as->ncoords - as->layered;
    for (unsigned k = 0; k < n; k++)
        at[k] = (int32_t)interp_arg(fetch->run, fetch->thread, &fetch->code->vec[k + as->layered]);
    if (as->layered) { /* layers are slices */
        at[2] = (int32_t)interp_arg(fetch->run, fetch->thread, &fetch->code->vec[0]);
        size[2] = t->layers;
    }
    for (unsigned k = 0; k < 3; k++) {
        if (at[k] >= 0 && at[k] < size[k])
            continue;
        if (mode == SUB_TRAP) {
            *stop = true;
            interp_trap(fetch->run, fetch->thread, fetch->code, TRAP_OUT_OF_RANGE, "outside of the surface");
        }
        if (mode != SUB_CLAMP || size[k] <= 0)
            return 0;
        at[k] = at[k] < 0 ? 0 : size[k] - 1;
    }
    return texel_address(t, (uint64_t)at[2], (uint64_t)at[1], 0) + (uint64_t)at[0] * unit;
}

static uint8_t *surface_bytes(PtxRun *run, PtxThread *thread, const PtxCode *code, unsigned bytes,
                              bool texels, bool write, bool *stop) {
    PtxTexture as = ptx_texture(code->insn);
    Fetch fetch;
    *stop = !find_texture(run, thread, code, &as, &fetch);
    uint64_t address = *stop ? 0 : surface_address(&fetch, &as, bytes, texels, stop);
    if (!address)
        return NULL;
    uint8_t *p = interp_memory(run, thread, code, SP_GLOBAL, address, bytes, write);
    *stop = !p;
    if (run->slow && p && write)
        run->access = (PtxAccess){code->insn->op == PTX_SURED ? PTX_ACCESS_ATOMIC : PTX_ACCESS_STORE, bytes,
                                  address, p};
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
/* An access is of 16 bytes at most. */
static bool bind_surface(PtxCode *code, PtxExec *exec) {
    return (unsigned)code->size_bytes * code->nvec <= 16 && interp_use_exec(code, exec);
}
bool interp_bind_suld(PtxCode *code) { return bind_surface(code, exec_suld); }
bool interp_bind_sust(PtxCode *code) { return bind_surface(code, exec_sust); }
bool interp_bind_sured(PtxCode *code) { return bind_surface(code, exec_sured); }
bool interp_bind_sured_texel(PtxCode *code) { return bind_surface(code, exec_sured_texel); }
