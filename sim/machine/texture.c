/* Fetches from textures, and accesses to surfaces: TEX, TLD, TXQ, SULD, SUST, SURED.
 *
 * Which register has which coordinate: isa/tex.isa. A position is a number of 8 bits of fraction, in units of
 * texels; the texels around it weigh as their distances say, in parts of 2^24 for three axes.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include <math.h>
#include <string.h>

enum { ONE = 1 << 8, ALL_WEIGHT = 1 << 24, NAN_BITS = 0x7fffffff, MOST_ARGS = 8 };

static float number(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static uint32_t bits_of(float f) {
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}

/* ---- operands ---- */

typedef struct {
    uint32_t arg[MOST_ARGS]; /* coordinates, then the level and what else there is */
    unsigned ncoords;        /* the layer included */
    const SimTexture *header, *sampler;
} Texel;

static unsigned coords_of(unsigned dim) {
    switch (dim) {
    case TexDim_D1: return 1;
    case TexDim_D2:
    case TexDim_A1: return 2;
    case TexDim_AC: return 4;
    default: return 3;
    }
}
static bool is_layered(unsigned dim) { return dim == TexDim_A1 || dim == TexDim_A2 || dim == TexDim_AC; }
static bool is_cube(unsigned dim) { return dim == TexDim_CUBE || dim == TexDim_AC; }

/* A handle that is no register of the lane. */
static bool bound_handle(Warp *warp, const Dec *dec, uint32_t *handle) {
    const Run *run = warp->run;
    if (dec->tex.uniform) {
        memcpy(handle, warp->rows + (size_t)(ROW_UR + dec->tex.uniform - 1) * ROW_BYTES, 4);
        return true;
    }
    uint32_t bank = dec->imm[0], at = dec->imm[1] * 4;
    if (bank >= NUM_CONST_BANKS || !run->bank[bank] || at + 4 > run->bank_bytes[bank])
        return false;
    memcpy(handle, run->bank[bank] + at, 4);
    return true;
}

static int no_texture(Warp *warp, const Dec *dec, unsigned lane) {
    return machine_trap(warp, dec, lane, TRAP_ILLEGAL, "the handle is that of no texture");
}

/* The registers of both operands in order: coordinates, handle, the rest. */
static int take_operands(Warp *warp, Dec *dec, unsigned lane, Texel *out) {
    const uint32_t *a = dec_src(warp, dec, 0), *b = dec_src(warp, dec, 1);
    unsigned n = coords_of(dec->tex.dim), in_regs = dec->tex.in_register,
             total = n + in_regs + dec->tex.nextra;
    unsigned first = dec->tex.one_list ? (total + 1) / 2 : n, k = 0;
    uint32_t handle = 0;
    if (!in_regs && !bound_handle(warp, dec, &handle))
        return no_texture(warp, dec, lane);
    for (unsigned i = 0; i < total; i++) {
        uint32_t value = i < first ? a[32 * i + lane] : b[32 * (i - first) + lane];
        if (in_regs && i == n)
            handle = value;
        else
            out->arg[k++] = value;
    }
    out->ncoords = n;
    out->header = simmem_texture(warp->run->mem, handle & SIM_TEXTURE_MASK);
    out->sampler = simmem_texture(warp->run->mem, handle >> SIM_SAMPLER_SHIFT);
    return out->header && out->sampler ? RUN_OK : no_texture(warp, dec, lane);
}

/* ---- texels ---- */

static bool has_floats(const SimTexture *texture) {
    return texture->as_float || texture->texel == SIM_TEXEL_F16 || texture->texel == SIM_TEXEL_F32;
}

static uint32_t widen_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 31)
        return fraction ? NAN_BITS : sign | 0x7f800000;
    if (exponent == 0) /* fraction * 2^-24 */
        return bits_of((float)fraction * 0x1p-24f) | sign;
    return sign | (exponent + 112) << 23 | fraction << 13;
}

static uint32_t result_of(const SimTexture *texture, const uint8_t *stored) {
    uint32_t u = 0;
    memcpy(&u, stored, sim_texel_bytes(texture->texel));
    float f;
    switch (texture->texel) {
    case SIM_TEXEL_S8: u = (uint32_t)(int32_t)(int8_t)u; break;
    case SIM_TEXEL_S16: u = (uint32_t)(int32_t)(int16_t)u; break;
    case SIM_TEXEL_F16: return widen_half((uint16_t)u);
    default: break;
    }
    if (!texture->as_float)
        return u;
    switch (texture->texel) { /* one division, correctly rounded */
    case SIM_TEXEL_U8: return bits_of((float)u / 255.0f);
    case SIM_TEXEL_U16: return bits_of((float)u / 65535.0f);
    case SIM_TEXEL_S8: f = (float)(int32_t)u / 127.0f; break;
    case SIM_TEXEL_S16: f = (float)(int32_t)u / 32767.0f; break;
    default: return u;
    }
    return bits_of(f < -1.0f ? -1.0f : f);
}

static int load_texel(Warp *warp, Dec *dec, unsigned lane, const SimTexture *texture, uint64_t index,
                      uint32_t out[4]) {
    unsigned size = sim_texel_bytes(texture->texel);
    uint64_t address = texture->address + index * size * texture->channels;
    for (unsigned c = 0; c < texture->channels; c++, address += size) {
        uint8_t stored[4];
        MemRef ref;
        int status = machine_mem_ref(warp, dec, lane, MS_GLOBAL, address, size, false, &ref);
        if (status != RUN_OK)
            return status;
        machine_mem_load(warp, lane, &ref, size, stored);
        out[c] = result_of(texture, stored);
    }
    return RUN_OK;
}

/* ---- positions ---- */

/* Texel i of n, or n if it is the border's. */
static uint32_t clip(const SimTexture *surface, unsigned axis, int64_t i, uint32_t n) {
    bool repeats = surface->normalized;
    int64_t m = n;
    switch (surface->mode[axis]) {
    case SIM_ADDRESS_BORDER: return i < 0 || i >= m ? n : (uint32_t)i;
    case SIM_ADDRESS_WRAP:
        if (!repeats)
            break;
        i %= m;
        return (uint32_t)(i < 0 ? i + m : i);
    case SIM_ADDRESS_MIRROR:
        if (!repeats)
            break;
        i %= 2 * m;
        i = i < 0 ? i + 2 * m : i;
        return (uint32_t)(i < m ? i : 2 * m - 1 - i);
    default: break;
    }
    return i < 0 ? 0 : i >= m ? n - 1 : (uint32_t)i;
}

typedef struct {
    uint32_t texel[2], weight[2];
} Side;

static Side sides(const SimTexture *surface, bool linear, unsigned axis, double x, uint32_t n) {
    const double far = 2147483648.0;
    x = x >= far ? far : x <= -far ? -far : x == x ? x : 0;
    int64_t fixed = linear ? (int64_t)floor((x - 0.5) * (double)ONE + 0.5) : (int64_t)floor(x) * ONE;
    uint32_t part = (uint32_t)(fixed & (ONE - 1));
    int64_t whole = (fixed - part) / ONE;
    return (Side){{clip(surface, axis, whole, n), clip(surface, axis, whole + 1, n)}, {ONE - part, part}};
}

/* Face and place on it of a direction whose longest part is 1 or -1. */
static unsigned face_of(const uint32_t *direction, double place[2]) {
    float x = number(direction[0]), y = number(direction[1]), z = number(direction[2]), s, t;
    float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
    unsigned face;
    if (ax >= ay && ax >= az) {
        face = x < 0;
        s = x < 0 ? z : -z;
        t = -y;
    } else if (ay >= az) {
        face = 2 + (y < 0);
        s = x;
        t = y < 0 ? -z : z;
    } else {
        face = 4 + (z < 0);
        s = z < 0 ? -x : x;
        t = -y;
    }
    place[0] = (s + 1.0) / 2;
    place[1] = (t + 1.0) / 2;
    return face;
}

/* ---- fetches ---- */

static int filtered(Warp *warp, Dec *dec, unsigned lane, const Texel *at, uint64_t slice, const Side side[3],
                    uint32_t out[4]) {
    const SimTexture *texture = at->header;
    double sum[4] = {0};
    for (unsigned z = 0; z < 2; z++)
        for (unsigned y = 0; y < 2; y++)
            for (unsigned x = 0; x < 2; x++) {
                uint32_t weight = side[0].weight[x] * side[1].weight[y] * side[2].weight[z], got[4];
                if (!weight)
                    continue;
                bool outside = side[0].texel[x] == texture->size[0] || side[1].texel[y] == texture->size[1] ||
                               side[2].texel[z] == texture->size[2];
                memcpy(got, at->sampler->border, sizeof got);
                uint64_t row = (slice + side[2].texel[z]) * texture->size[1] + side[1].texel[y];
                int status = outside ? RUN_OK
                                     : load_texel(warp, dec, lane, texture,
                                                  row * texture->size[0] + side[0].texel[x], got);
                if (status != RUN_OK)
                    return status;
                if (weight == ALL_WEIGHT) {
                    memcpy(out, got, texture->channels * sizeof *out);
                    return RUN_OK;
                }
                for (unsigned c = 0; c < texture->channels; c++)
                    sum[c] += (double)number(got[c]) * weight / (double)ALL_WEIGHT;
            }
    for (unsigned c = 0; c < texture->channels; c++)
        out[c] = sum[c] == sum[c] ? bits_of((float)sum[c]) : NAN_BITS;
    return RUN_OK;
}

static int sample(Warp *warp, Dec *dec, unsigned lane, const Texel *at, uint64_t slice, const uint32_t *coord,
                  uint32_t out[4]) {
    const SimTexture *texture = at->header, *s = at->sampler;
    bool cube = is_cube(dec->tex.dim), linear = s->linear && has_floats(texture);
    double place[3] = {0};
    Side side[3];
    if (cube)
        slice += face_of(coord, place);
    for (unsigned k = 0; k < 3; k++) {
        double x = cube ? place[k] : k < at->ncoords ? (double)number(coord[k]) : 0;
        if (k >= texture->dims)
            side[k] = (Side){{0, 0}, {ONE, 0}};
        else
            side[k] = sides(s, linear, k, s->normalized || cube ? x * texture->size[k] : x, texture->size[k]);
    }
    return filtered(warp, dec, lane, at, slice, side, out);
}

/* A texture of one dimension is also fetched from by instructions for two, which have a 0 there. */
static bool fits_fetch(const SimTexture *texture, unsigned dim) {
    bool layered = is_layered(dim), cube = is_cube(dim);
    unsigned dims = cube ? 2 : coords_of(dim) - layered;
    return (texture->layers != 0) == layered && texture->cube == cube &&
           (texture->dims == dims || (texture->dims == 1 && dims == 2));
}

static int fetch_lane(Warp *warp, Dec *dec, unsigned lane, uint32_t out[4]) {
    Texel at;
    int status = take_operands(warp, dec, lane, &at);
    if (status != RUN_OK)
        return status;
    const SimTexture *texture = at.header;
    bool beside = texture->dims == 1 && dec->tex.dim == TexDim_D2 && at.arg[1];
    if (!fits_fetch(texture, dec->tex.dim) || beside)
        return machine_trap(warp, dec, lane, TRAP_ILLEGAL, "the texture has another number of dimensions");
    bool layered = is_layered(dec->tex.dim);
    uint64_t slice = layered ? (at.arg[0] < texture->layers ? at.arg[0] : texture->layers - 1) : 0;
    slice *= texture->cube ? 6 : 1;
    const uint32_t *coord = at.arg + layered;
    uint32_t missing = has_floats(texture) ? 0x3f800000 : 1;
    memset(out, 0, 4 * sizeof *out);
    if (!dec->tex.whole) {
        out[3] = missing;
        at.ncoords -= layered;
        return sample(warp, dec, lane, &at, slice, coord, out);
    }
    for (unsigned k = 0; k < texture->dims; k++)
        if (coord[k] >= texture->size[k])
            return RUN_OK;
    out[3] = missing;
    uint64_t y = texture->dims > 1 ? coord[1] : 0, z = texture->dims > 2 ? coord[2] : 0;
    return load_texel(warp, dec, lane, texture,
                      ((slice + z) * texture->size[1] + y) * texture->size[0] + coord[0], out);
}

/* Channels of the mask: two to rd, the others to rd2. */
static void put_channels(Warp *warp, const Dec *dec, unsigned lane, const uint32_t value[4]) {
    uint32_t *rd2 = dec_dst(warp, dec, 0), *rd = dec_dst(warp, dec, 1);
    unsigned n = 0;
    for (unsigned c = 0; c < 4; c++)
        if (dec->tex.mask >> c & 1) {
            (n < 2 ? rd : rd2)[32 * (n & 1) + lane] = value[c];
            n++;
        }
}

static int op_fetch(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t all = g;
    uint32_t got[32][4];
    for (; g; g &= g - 1) {
        int status = fetch_lane(warp, dec, low_lane(g), got[low_lane(g)]);
        if (status != RUN_OK)
            return status;
    }
    for (g = all; g; g &= g - 1) /* destinations may be operands */
        put_channels(warp, dec, low_lane(g), got[low_lane(g)]);
    set_pred(warp, dec->pd[0], all, all);
    return RUN_OK;
}

/* urb: the slot of a uniform register */
static bool bind_texture(Bind *bind, OpFn *fn, unsigned urb) {
    const Operand *uniform = &bind->in->src[urb];
    bind->d->tex.uniform = uniform->kind == OPK_REG ? (uint8_t)(uniform->value + 1) : 0;
    bind_operands(bind);
    bind->d->full = bind->d->part = fn;
    return !bind->failed;
}

static bool bind_fetch(Bind *bind, bool whole, unsigned lod, bool offsets) {
    _Static_assert((int)TEX_urb == (int)TLD_urb, "the same slots");
    Dec *dec = bind->d;
    dec->tex.whole = whole;
    dec->tex.nextra = lod == TexLod_LL || lod == TexLod_LB;
    if (offsets)
        return bind_not_simulated(bind);
    return bind_texture(bind, op_fetch, TEX_urb);
}
bool bind_TEX(Bind *bind) {
    uint32_t mods = bind->in->mods;
    bind->d->tex.dim = MGET(TEX, dim, mods);
    bind->d->tex.mask = MGET(TEX, mask, mods);
    bind->d->tex.one_list = MGET(TEX, scr, mods);
    bind->d->tex.in_register = MGET(TEX, bind, mods);
    return bind_fetch(bind, false, MGET(TEX, lod, mods), MGET(TEX, aoffi, mods));
}
bool bind_TLD(Bind *bind) {
    uint32_t mods = bind->in->mods;
    bind->d->tex.dim = MGET(TLD, dim, mods);
    bind->d->tex.mask = MGET(TLD, mask, mods);
    bind->d->tex.one_list = MGET(TLD, scr, mods);
    bind->d->tex.in_register = MGET(TLD, bind, mods);
    return bind_fetch(bind, true, MGET(TLD, lod, mods), MGET(TLD, aoffi, mods));
}

/* ra: the level, of which there is one; its place in a .B form is that of the handle. */
static int op_query(Warp *warp, Dec *dec, uint32_t g) {
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        uint32_t handle = dec_src(warp, dec, 0)[lane];
        const SimTexture *texture = NULL;
        if (dec->tex.in_register || bound_handle(warp, dec, &handle))
            texture = simmem_texture(warp->run->mem, handle & SIM_TEXTURE_MASK);
        if (!texture)
            return no_texture(warp, dec, lane);
        uint32_t what[4] = {texture->size[0], texture->size[1], texture->size[2], 1};
        put_channels(warp, dec, lane, what);
    }
    return RUN_OK;
}
bool bind_TXQ(Bind *bind) {
    bind->d->tex.in_register = MGET(TXQ, bind, bind->in->mods);
    bind->d->tex.mask = bind->in->src[TXQ_parts].value & 15;
    bool good = bind_texture(bind, op_query, TXQ_urb);
    bind->d->imm[0] = bind->in->src[TXQ_bank].value; /* rb, which no form has, is no register in the tables */
    bind->d->imm[1] = bind->in->src[TXQ_word].value;
    return good;
}

/* ---- surfaces ---- */

/* Where the access of a lane begins; 0: it is outside and does not take place. */
static int surface_place(Warp *warp, Dec *dec, unsigned lane, unsigned register_row, uint64_t *address) {
    static const uint8_t dims[] = {
        [SurfDim_D1] = 1, [SurfDim_A1] = 1, [SurfDim_D2] = 2, [SurfDim_A2] = 2, [SurfDim_D3] = 3};
    const uint32_t *coord = dec_src(warp, dec, 0);
    uint32_t handle = dec_src(warp, dec, register_row)[lane];
    bool found = dec->tex.in_register || bound_handle(warp, dec, &handle);
    const SimTexture *texture = found ? simmem_texture(warp->run->mem, handle & SIM_TEXTURE_MASK) : NULL;
    if (!texture)
        return no_texture(warp, dec, lane);
    unsigned dim = dec->tex.dim, n = dims[dim];
    bool layered = dim == SurfDim_A1 || dim == SurfDim_A2;
    if (texture->dims != n || (texture->layers != 0) != layered || texture->cube)
        return machine_trap(warp, dec, lane, TRAP_ILLEGAL, "the texture has another number of dimensions");
    uint64_t texel_bytes = (uint64_t)texture->channels * sim_texel_bytes(texture->texel);
    uint64_t row_bytes = texture->size[0] * texel_bytes, unit = dec->tex.texels ? texel_bytes : 1;
    if (dec->tex.texels && texel_bytes != dec->size)
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
        int status = surface_place(warp, dec, lane, 1, &address);
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
    set_pred(warp, dec->pd[0], all, all);
    return RUN_OK;
}

static int op_sust(Warp *warp, Dec *dec, uint32_t g) {
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        uint64_t address;
        MemRef ref;
        uint32_t data[4] = {0};
        int status = surface_place(warp, dec, lane, 2, &address);
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
        bound_handle(warp, dec, &handle);
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
        if (dec->size == 8)
            b |= (uint64_t)dec_src(warp, dec, 1)[32 + lane] << 32;
        int status = surface_place(warp, dec, lane, 2, &address);
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
