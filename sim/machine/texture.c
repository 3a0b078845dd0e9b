/* Fetches from textures: TEX, TLD, TLD4, TXD, TXQ.
 *
 * Which register has which coordinate: isa/tex.isa. A position is a number of 8 bits of fraction, in units of
 * texels; the texels around it weigh as their distances say, in parts of 2^24 for three axes.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/texture.h"
#include <math.h>
#include <string.h>

enum { ONE = 1 << 8, NAN_BITS = 0x7fffffff, MOST_ARGS = 8 };

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
    int32_t offset[3];
    uint64_t layer;
    double detail; /* level asked for, in levels; -INFINITY: the first */
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
bool machine_bound_handle(Warp *warp, const Dec *dec, uint32_t *handle) {
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

int machine_no_texture(Warp *warp, const Dec *dec, unsigned lane) {
    return machine_trap(warp, dec, lane, TRAP_ILLEGAL, "the handle is that of no texture");
}

/* Bit 31 says nothing: up to sm_89 ptxas 13.0 sets it where the name of a texture goes through a register. */
static int find_headers(Warp *warp, const Dec *dec, unsigned lane, uint32_t handle, Texel *out) {
    out->header = simmem_texture(warp->run->mem, handle & SIM_TEXTURE_MASK);
    out->sampler = simmem_texture(warp->run->mem, handle >> SIM_SAMPLER_SHIFT & SIM_SAMPLER_MASK);
    return out->header && out->sampler ? RUN_OK : machine_no_texture(warp, dec, lane);
}

static int32_t signed_bits(uint32_t word, unsigned low, unsigned width) {
    uint32_t sign = 1u << (width - 1), value = word >> low & ((sign << 1) - 1);
    return (int32_t)((value ^ sign) - sign);
}

/* The registers of both operands in order: coordinates, handle, the rest. */
static int take_operands(Warp *warp, Dec *dec, unsigned lane, Texel *out) {
    const uint32_t *a = dec_src(warp, dec, 0), *b = dec_src(warp, dec, 1);
    unsigned n = coords_of(dec->tex.dim), in_regs = dec->tex.in_register,
             total = n + in_regs + dec->tex.nextra + dec->tex.offsets;
    unsigned first = dec->tex.one_list ? (total + 1) / 2 : n, k = 0;
    uint32_t handle = 0;
    if (!in_regs && !machine_bound_handle(warp, dec, &handle))
        return machine_no_texture(warp, dec, lane);
    for (unsigned i = 0; i < total; i++) {
        uint32_t value = i < first ? a[32 * i + lane] : b[32 * (i - first) + lane];
        if (in_regs && i == n)
            handle = value;
        else
            out->arg[k++] = value;
    }
    out->ncoords = n;
    out->detail = !dec->tex.nextra ? -INFINITY
                  : dec->tex.whole ? (double)(int32_t)out->arg[n]
                                   : (double)number(out->arg[n]);
    for (unsigned i = 0; i < 3; i++)
        out->offset[i] = !dec->tex.offsets  ? 0
                         : dec->tex.gathers ? signed_bits(out->arg[k - 1], 8 * i, 6)
                                            : signed_bits(out->arg[k - 1], 4 * i, 4);
    return find_headers(warp, dec, lane, handle, out);
}

/* TXD: handle, place, a word of layer and offsets; both derivatives of each coordinate. */
static int take_derivatives(Warp *warp, Dec *dec, unsigned lane, Texel *out) {
    const uint32_t *a = dec_src(warp, dec, 0), *b = dec_src(warp, dec, 1);
    bool layered = is_layered(dec->tex.dim);
    unsigned n = coords_of(dec->tex.dim) - layered, in_regs = dec->tex.in_register;
    uint32_t handle = in_regs ? a[lane] : 0, word = 0;
    if (!in_regs && !machine_bound_handle(warp, dec, &handle))
        return machine_no_texture(warp, dec, lane);
    int status = find_headers(warp, dec, lane, handle, out);
    if (status != RUN_OK)
        return status;
    if (layered || dec->tex.offsets)
        word = a[32 * (in_regs + n) + lane];
    out->ncoords = n + layered;
    out->arg[0] = word & 0xffff;
    double square[2] = {0, 0};
    for (unsigned k = 0; k < n; k++) {
        out->arg[layered + k] = a[32 * (in_regs + k) + lane];
        out->offset[k] = dec->tex.offsets ? signed_bits(word, 16 + 4 * k, 4) : 0;
        for (unsigned which = 0; which < 2; which++) {
            double d = number(b[32 * (2 * k + which) + lane]);
            d *= out->sampler->normalized ? out->header->size[k] : 1;
            if (d == d)
                square[which] += d * d;
        }
    }
    double longer = square[0] < square[1] ? square[1] : square[0];
    out->detail = longer == 0 ? -INFINITY : 0.5 * log2(longer);
    return RUN_OK;
}

/* ---- texels ---- */

static bool has_floats(const SimTexture *texture) {
    return texture->as_float || texture->texel == SIM_TEXEL_F16 || texture->texel == SIM_TEXEL_F32;
}

uint32_t machine_half_of(uint32_t bits) {
    uint32_t sign = bits >> 16 & 0x8000;
    double x = fabs((double)number(bits));
    int exponent;
    if (x != x)
        return 0x7fff;
    if (x >= 65520) /* nearer to 2^16 */
        return sign | 0x7c00;
    if (x < 0x1p-14)
        return sign | (uint32_t)rint(x * 0x1p24);
    uint32_t fraction = (uint32_t)rint(frexp(x, &exponent) * 2048); /* 1024 to 2048 */
    return sign | (((uint32_t)(exponent + 14) << 10) + fraction - 1024);
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
                      uint64_t base, uint32_t out[4]) {
    unsigned size = sim_texel_bytes(texture->texel);
    uint64_t address = base + index * size * texture->channels;
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

static Side sides(const SimTexture *surface, bool linear, unsigned axis, double x, uint32_t n,
                  int32_t offset) {
    const double far = 2147483648.0;
    x = x >= far ? far : x <= -far ? -far : x == x ? x : 0;
    int64_t fixed = linear ? (int64_t)floor((x - 0.5) * (double)ONE + 0.5) : (int64_t)floor(x) * ONE;
    uint32_t part = (uint32_t)(fixed & (ONE - 1));
    int64_t whole = (fixed - part) / ONE + offset;
    uint32_t first = clip(surface, axis, whole, n), second = clip(surface, axis, whole + 1, n);
    part = first == second ? 0 : part; /* beyond the edge */
    return (Side){{first, second}, {ONE - part, part}};
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

/* ---- levels ---- */

typedef struct {
    uint64_t address;
    uint32_t size[3];
} MipLevel;

static MipLevel level_of(const SimTexture *texture, unsigned number) {
    MipLevel out = {.address = texture->address};
    for (unsigned k = 0; k < number; k++)
        out.address += sim_level_bytes(texture, k);
    for (unsigned k = 0; k < 3; k++)
        out.size[k] = sim_level_size(texture, k, number);
    return out;
}

/* What the sampler makes of a level that is asked for, in parts of ONE. */
static uint32_t clamp_detail(const Texel *at) {
    const SimTexture *s = at->sampler;
    double x = at->detail != at->detail ? 0 : at->detail, last = at->header->more_levels;
    x += trunc((double)s->lod_bias * (double)ONE) / (double)ONE;
    if (x < s->lod_min)
        x = s->lod_min;
    if (x > s->lod_max)
        x = s->lod_max;
    x = x > last ? last : x < 0 ? 0 : x;
    return (uint32_t)(x * (double)ONE);
}
static unsigned nearest(uint32_t detail) { return (detail + ONE / 2) >> 8; }

/* ---- fetches ---- */

/* What is outside; of integers read as numbers a number that they could be, as on a card. */
static uint32_t border_of(const Texel *at, unsigned channel) {
    const SimTexture *texture = at->header;
    uint32_t bits = at->sampler->border[channel];
    if (texture->texel == SIM_TEXEL_F16)
        return widen_half((uint16_t)machine_half_of(bits));
    if (!texture->as_float)
        return bits;
    bool has_sign = texture->texel == SIM_TEXEL_S8 || texture->texel == SIM_TEXEL_S16;
    float v = number(bits), least = has_sign ? -1 : 0;
    return bits_of(!(v > least) ? least : v < 1 ? v : 1);
}

/* A slice is four texels: of a level of one or two dimensions, or of one place in depth. */
typedef struct {
    MipLevel level;
    Side x, y;
    uint32_t z, weight; /* in parts of ONE */
} TexelSlice;

/* Weights of the eight texels of two slices, those of a card: rounded, for x first, then for y. */
static void weigh(const TexelSlice slice[2], uint32_t weight[8]) {
    for (unsigned k = 0; k < 8; k += 4) {
        const TexelSlice *of = &slice[k / 4];
        uint32_t x1 = (of->weight * of->x.weight[1] + 128) >> 8, x0 = of->weight - x1;
        weight[k + 2] = (x0 * of->y.weight[1] + 127) >> 8; /* a half stays below */
        weight[k + 3] = (x1 * of->y.weight[1] + 128) >> 8;
        weight[k] = x0 - weight[k + 2];
        weight[k + 1] = x1 - weight[k + 3];
    }
}

typedef struct { /* sum times 2^unit */
    int64_t sum;
    int unit;
    bool any;
} FixedSum;

/* f32 is mantissa times 2^(power - 150) */
static int split_f32(uint32_t bits, int64_t *mantissa) {
    int power = (int)(bits >> 23 & 0xff);
    *mantissa = bits & 0x7fffff;
    if (power)
        *mantissa |= 1 << 23;
    return power ? power : 1;
}

static int64_t shifted(int64_t v, int left) {
    uint64_t size = (uint64_t)(v < 0 ? -v : v);
    size = left >= 0 ? size << left : left > -64 ? size >> -left : 0;
    return v < 0 ? -(int64_t)size : (int64_t)size;
}

static FixedSum add_slice(const uint32_t texel[4], const uint32_t weight[4]) {
    FixedSum out = {0};
    int64_t mantissa;
    for (unsigned k = 0; k < 4; k++) {
        int power = split_f32(texel[k], &mantissa);
        if (!weight[k] || !mantissa)
            continue;
        int unit = power - 150 + (63 - __builtin_clzll((uint64_t)mantissa)) - 27;
        if (!out.any || unit > out.unit)
            out.unit = unit;
        out.any = true;
    }
    for (unsigned k = 0; k < 4 && out.any; k++) {
        int power = split_f32(texel[k], &mantissa);
        int64_t part = weight[k] ? shifted(mantissa, power - 150 - out.unit) * weight[k] : 0;
        out.sum += texel[k] >> 31 ? -part : part;
    }
    return out;
}

/* A card's sum of f32 texels: in whole numbers, a slice at a time, rounded to nearest, halves away from zero.
 */
static uint32_t add_as_card(const uint32_t texel[8], const uint32_t weight[8]) {
    enum { ROOM = 12, LEAST = -149 };
    FixedSum slice[2] = {add_slice(texel, weight), add_slice(texel + 4, weight + 4)};
    int unit =
        !slice[1].any || (slice[0].any && slice[0].unit > slice[1].unit) ? slice[0].unit : slice[1].unit;
    int64_t sum = 0;
    for (unsigned z = 0; z < 2; z++)
        if (slice[z].any)
            sum += shifted(slice[z].sum, slice[z].unit - unit + ROOM);
    unit -= ROOM + 8; /* weights are parts of 256 */
    uint64_t size = (uint64_t)(sum < 0 ? -sum : sum);
    if (!size)
        return 0;
    int drop = 40 - __builtin_clzll(size);
    drop = drop < LEAST - unit ? LEAST - unit : drop;
    if (drop > 0)
        size = drop > 63 ? 0 : (size + ((uint64_t)1 << (drop - 1))) >> drop;
    float magnitude = (float)ldexp((double)size, unit + (drop > 0 ? drop : 0));
    return bits_of(magnitude) | (sum < 0 ? 1u << 31 : 0);
}

/* Integers that are read as numbers: the sum has 16 bits, halves up. `most`: what 1 is stored as; `given`:
 * and what the sum's 1 is. */
static uint32_t add_numbers(const uint32_t texel[8], const uint32_t weight[8], int64_t most, int64_t given) {
    int64_t sum = 0, parts = 2 * most * ONE;
    for (unsigned k = 0; k < 8; k++)
        sum += weight[k] ? (int64_t)rint((double)number(texel[k]) * (double)most) * weight[k] : 0;
    sum = 2 * given * sum + most * ONE;
    int64_t steps = sum / parts - (sum % parts < 0);
    return bits_of((float)((double)(steps < -given ? -given : steps) / (double)given));
}

static uint32_t add_halves(const uint32_t texel[8], const uint32_t weight[8]) {
    int64_t sum = 0; /* in units of 2^-32: of the least half, by the weights' parts */
    for (unsigned k = 0; k < 8; k++)
        sum += weight[k] ? (int64_t)((double)number(texel[k]) * 0x1p24) * weight[k] : 0;
    uint64_t size = (uint64_t)(sum < 0 ? -sum : sum);
    int drop = size >> 19 ? 53 - __builtin_clzll(size) : 8; /* 11 bits are left, or what a half has */
    size = (size + ((uint64_t)1 << (drop - 1))) >> drop;
    return bits_of((float)ldexp((double)size, drop - 32)) | (sum < 0 ? 1u << 31 : 0);
}

static uint32_t add_texels(unsigned format, const uint32_t texel[8], const uint32_t weight[8]) {
    double sum = 0;
    bool finite = true;
    for (unsigned k = 0; k < 8; k++)
        if (weight[k]) {
            finite &= (texel[k] >> 23 & 0xff) != 0xff;
            sum += (double)number(texel[k]) * weight[k] / (double)ONE;
        }
    if (!finite)
        return sum == sum ? bits_of((float)sum) : NAN_BITS;
    switch (format) {
    case SIM_TEXEL_U8: return add_numbers(texel, weight, 255, 65535);
    case SIM_TEXEL_U16: return add_numbers(texel, weight, 65535, 65535);
    case SIM_TEXEL_S8: return add_numbers(texel, weight, 127, 32767);
    case SIM_TEXEL_S16: return add_numbers(texel, weight, 32767, 32767);
    case SIM_TEXEL_F16: return add_halves(texel, weight);
    default: return add_as_card(texel, weight);
    }
}

static int filtered(Warp *warp, Dec *dec, unsigned lane, const Texel *at, const TexelSlice slice[2],
                    uint64_t layer, uint32_t out[4]) {
    const SimTexture *texture = at->header;
    uint32_t weight[8], texel[4][8] = {{0}};
    weigh(slice, weight);
    for (unsigned k = 0; k < 8; k++) {
        const TexelSlice *of = &slice[k / 4];
        const uint32_t *size = of->level.size;
        uint32_t x = of->x.texel[k & 1], y = of->y.texel[k >> 1 & 1], got[4];
        if (!weight[k])
            continue;
        for (unsigned c = 0; c < texture->channels; c++)
            got[c] = border_of(at, c);
        uint64_t row = (layer + of->z) * size[1] + y;
        int status = x == size[0] || y == size[1] || of->z == size[2]
                         ? RUN_OK
                         : load_texel(warp, dec, lane, texture, row * size[0] + x, of->level.address, got);
        if (status != RUN_OK)
            return status;
        if (weight[k] == ONE) {
            memcpy(out, got, texture->channels * sizeof *out);
            return RUN_OK;
        }
        for (unsigned c = 0; c < texture->channels; c++)
            texel[c][k] = got[c];
    }
    for (unsigned c = 0; c < texture->channels; c++)
        out[c] = add_texels(texture->texel, texel[c], weight);
    return RUN_OK;
}

/* A normalized coordinate in texels: where it repeats, a card keeps 21 bits of its fraction. */
static double unscaled(const SimTexture *sampler, bool cube, unsigned axis, double x, uint32_t size) {
    bool repeats = sampler->mode[axis] == SIM_ADDRESS_WRAP || sampler->mode[axis] == SIM_ADDRESS_MIRROR;
    return (repeats && !cube ? floor(x * 0x1p21) * 0x1p-21 : x) * size;
}

/* place: of the coordinates, from 0 to 1 if they are scaled, else in texels */
static void slices_of(const Texel *at, const double place[3], unsigned number_of_level, TexelSlice slice[2]) {
    const SimTexture *texture = at->header, *s = at->sampler;
    bool linear = s->linear && has_floats(texture), scaled = s->normalized || texture->cube;
    MipLevel level = level_of(texture, number_of_level);
    Side side[3];
    for (unsigned k = 0; k < 3; k++)
        side[k] = k >= texture->dims
                      ? (Side){{0, 0}, {ONE, 0}}
                      : sides(s, linear, k,
                              scaled ? unscaled(s, texture->cube, k, place[k], level.size[k]) : place[k],
                              level.size[k], at->offset[k]);
    for (unsigned z = 0; z < 2; z++)
        slice[z] = (TexelSlice){level, side[0], side[1], side[2].texel[z], side[2].weight[z]};
}

static int sample_level(Warp *warp, Dec *dec, unsigned lane, const Texel *at, const double place[3],
                        unsigned number_of_level, uint64_t layer, uint32_t out[4]) {
    TexelSlice slice[2];
    slices_of(at, place, number_of_level, slice);
    return filtered(warp, dec, lane, at, slice, layer, out);
}

/* Two levels of one or two dimensions are two slices, as on a card. */
static int blend_levels(Warp *warp, Dec *dec, unsigned lane, const Texel *at, const double place[3],
                        uint32_t detail, uint64_t layer, uint32_t out[4]) {
    TexelSlice low[2], high[2];
    slices_of(at, place, detail / ONE, low);
    slices_of(at, place, detail / ONE + 1, high);
    low[1] = high[0];
    low[1].weight = detail % ONE;
    low[0].weight = ONE - low[1].weight;
    return filtered(warp, dec, lane, at, low, layer, out);
}

/* Channel `comp` of the texels around a place, against the clock from the lower left one. */
static int four_texels(Warp *warp, Dec *dec, unsigned lane, const Texel *at, const double place[3],
                       uint64_t slice, uint32_t out[4]) {
    const SimTexture *texture = at->header, *s = at->sampler;
    MipLevel level = level_of(texture, nearest(clamp_detail(at)));
    Side side[2];
    for (unsigned k = 0; k < 2; k++) {
        double x = s->normalized || texture->cube ? unscaled(s, texture->cube, k, place[k], level.size[k])
                                                  : place[k];
        side[k] = sides(s, true, k, x, level.size[k], at->offset[k]);
    }
    unsigned comp = dec->tex.comp;
    for (unsigned n = 0; n < 4; n++) {
        uint32_t x = side[0].texel[n == 1 || n == 2], y = side[1].texel[n < 2], got[4] = {0};
        bool outside = x == level.size[0] || y == level.size[1];
        int status = outside
                         ? RUN_OK
                         : load_texel(warp, dec, lane, texture,
                                      (slice * level.size[1] + y) * level.size[0] + x, level.address, got);
        if (status != RUN_OK)
            return status;
        out[n] = outside && comp < texture->channels ? border_of(at, comp) : got[comp];
    }
    return RUN_OK;
}

static int sample(Warp *warp, Dec *dec, unsigned lane, const Texel *at, const uint32_t *coord,
                  uint32_t out[4]) {
    const SimTexture *texture = at->header;
    bool cube = is_cube(dec->tex.dim);
    double place[3] = {0};
    uint64_t slice = at->layer + (cube ? face_of(coord, place) : 0);
    for (unsigned k = 0; k < at->ncoords && !cube; k++)
        place[k] = coord[k] << 1 >> 24 ? (double)number(coord[k]) : 0; /* subnormal numbers are 0 */
    if (dec->tex.gathers)
        return four_texels(warp, dec, lane, at, place, slice, out);
    uint32_t detail = clamp_detail(at), part = detail % ONE, next[4] = {0};
    bool blends = at->sampler->mip_linear && has_floats(texture) && part;
    if (blends && texture->dims < 3)
        return blend_levels(warp, dec, lane, at, place, detail, slice, out);
    unsigned first = blends ? detail / ONE : nearest(detail);
    int status = sample_level(warp, dec, lane, at, place, first, slice, out);
    if (status == RUN_OK && blends)
        status = sample_level(warp, dec, lane, at, place, first + 1, slice, next);
    for (unsigned c = 0; blends && c < texture->channels; c++) {
        double sum = ((double)number(out[c]) * (ONE - part) + (double)number(next[c]) * part) / (double)ONE;
        out[c] = sum == sum ? bits_of((float)sum) : NAN_BITS;
    }
    return status;
}

/* A texture of one dimension is also fetched from by instructions for two, which have a 0 there. */
static bool fits_fetch(const SimTexture *texture, unsigned dim) {
    bool layered = is_layered(dim), cube = is_cube(dim);
    unsigned dims = cube ? 2 : coords_of(dim) - layered;
    return (texture->layers != 0) == layered && texture->cube == cube &&
           (texture->dims == dims || (texture->dims == 1 && dims == 2));
}

static int fetch_whole(Warp *warp, Dec *dec, unsigned lane, const Texel *at, const uint32_t *coord,
                       uint32_t out[4]) {
    const SimTexture *texture = at->header;
    double asked = at->detail < 0 ? 0 : at->detail;
    MipLevel level = level_of(texture, asked < texture->more_levels ? (unsigned)asked : texture->more_levels);
    uint64_t place[3] = {0};
    for (unsigned k = 0; k < texture->dims; k++) {
        int64_t x = (int64_t)(int32_t)coord[k] + at->offset[k];
        if (x < 0 || x >= level.size[k])
            return RUN_OK;
        place[k] = (uint64_t)x;
    }
    return load_texel(warp, dec, lane, texture,
                      ((at->layer + place[2]) * level.size[1] + place[1]) * level.size[0] + place[0],
                      level.address, out);
}

static int fetch_lane(Warp *warp, Dec *dec, unsigned lane, uint32_t out[4]) {
    Texel at = {0};
    int status = dec->tex.by_derivatives ? take_derivatives(warp, dec, lane, &at)
                                         : take_operands(warp, dec, lane, &at);
    if (status != RUN_OK)
        return status;
    const SimTexture *texture = at.header;
    bool beside = texture->dims == 1 && dec->tex.dim == TexDim_D2 && at.arg[1];
    if (!fits_fetch(texture, dec->tex.dim) || beside || (dec->tex.gathers && texture->dims != 2))
        return machine_trap(warp, dec, lane, TRAP_ILLEGAL, "the texture has another number of dimensions");
    bool layered = is_layered(dec->tex.dim);
    at.layer = layered ? (at.arg[0] < texture->layers ? at.arg[0] : texture->layers - 1) : 0;
    at.layer *= texture->cube ? 6 : 1;
    at.ncoords -= layered;
    const uint32_t *coord = at.arg + layered;
    memset(out, 0, 4 * sizeof *out);
    if (dec->tex.whole)
        return fetch_whole(warp, dec, lane, &at, coord, out);
    return sample(warp, dec, lane, &at, coord, out);
}

/* Channels of the mask: two to rd, the others to rd2; halves two in a register. */
static void put_channels(Warp *warp, const Dec *dec, unsigned lane, const uint32_t value[4]) {
    uint32_t *rd2 = dec_dst(warp, dec, 0), *rd = dec_dst(warp, dec, 1);
    unsigned n = 0;
    for (unsigned c = 0; c < 4; c++) {
        if (!(dec->tex.mask >> c & 1))
            continue;
        uint32_t *to = n < 2 ? rd : rd2;
        uint32_t half = dec->tex.halves ? machine_half_of(value[c]) : 0;
        if (!dec->tex.halves)
            to[32 * (n & 1) + lane] = value[c];
        else
            to[lane] = n & 1 ? (to[lane] & 0xffff) | half << 16 : half;
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
    set_pred(warp, dec->pd[0], all, 0); /* nothing is missing */
    return RUN_OK;
}

/* urb: the slot of a uniform register */
bool bind_texture(Bind *bind, OpFn *fn, unsigned urb) {
    const Operand *uniform = &bind->in->src[urb];
    bind->d->tex.uniform = uniform->kind == OPK_REG ? (uint8_t)(uniform->value + 1) : 0;
    bind_operands(bind);
    bind->d->full = bind->d->part = fn;
    return !bind->failed;
}

static bool bind_fetch(Bind *bind, bool whole, unsigned lod, bool offsets) {
    _Static_assert((int)TEX_urb == (int)TLD_urb && (int)TEX_urb == (int)TLD4_urb &&
                       (int)TEX_urb == (int)TXD_urb,
                   "the same slots");
    Dec *dec = bind->d;
    dec->tex.whole = whole;
    dec->tex.nextra = lod == TexLod_LL || lod == TexLod_LB;
    dec->tex.offsets = offsets;
    if (lod == TexLod_LB) /* a bias of derivatives between lanes */
        return bind_not_simulated(bind);
    return bind_texture(bind, op_fetch, TEX_urb);
}
bool bind_TEX(Bind *bind) {
    uint32_t mods = bind->in->mods;
    bind->d->tex.dim = MGET(TEX, dim, mods);
    bind->d->tex.mask = MGET(TEX, mask, mods);
    bind->d->tex.one_list = MGET(TEX, scr, mods);
    bind->d->tex.in_register = MGET(TEX, bind, mods);
    bind->d->tex.halves = MGET(TEX, f16, mods);
    return bind_fetch(bind, false, MGET(TEX, lod, mods), MGET(TEX, aoffi, mods));
}
bool bind_TLD(Bind *bind) {
    uint32_t mods = bind->in->mods;
    bind->d->tex.dim = MGET(TLD, dim, mods);
    bind->d->tex.mask = MGET(TLD, mask, mods);
    bind->d->tex.one_list = MGET(TLD, scr, mods);
    bind->d->tex.in_register = MGET(TLD, bind, mods);
    bind->d->tex.halves = MGET(TLD, f16, mods);
    return bind_fetch(bind, true, MGET(TLD, lod, mods), MGET(TLD, aoffi, mods));
}
bool bind_TLD4(Bind *bind) {
    uint32_t mods = bind->in->mods;
    bind->d->tex.dim = MGET(TLD4, dim, mods);
    bind->d->tex.mask = MGET(TLD4, mask, mods);
    bind->d->tex.one_list = MGET(TLD4, scr, mods);
    bind->d->tex.in_register = MGET(TLD4, bind, mods);
    bind->d->tex.gathers = true;
    bind->d->tex.comp = MGET(TLD4, component, mods);
    if (MGET(TLD4, dc, mods))
        return bind_not_simulated(bind);
    return bind_fetch(bind, false, TexLod_LZ, MGET(TLD4, aoffi, mods));
}
bool bind_TXD(Bind *bind) {
    uint32_t mods = bind->in->mods;
    bind->d->tex.dim = MGET(TXD, dim, mods);
    bind->d->tex.mask = MGET(TXD, mask, mods);
    bind->d->tex.in_register = MGET(TXD, bind, mods);
    bind->d->tex.by_derivatives = true;
    if (MGET(TXD, lc, mods) || MGET(TXD, scr, mods))
        return bind_not_simulated(bind);
    return bind_fetch(bind, false, TexLod_LZ, MGET(TXD, aoffi, mods));
}

/* ra: the handle of a .B form, then the level. */
static int op_query(Warp *warp, Dec *dec, uint32_t g) {
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g), in_regs = dec->tex.in_register;
        uint32_t handle = dec_src(warp, dec, 0)[lane],
                 number_of_level = dec_src(warp, dec, 0)[32 * in_regs + lane];
        const SimTexture *texture = NULL;
        if (in_regs || machine_bound_handle(warp, dec, &handle))
            texture = simmem_texture(warp->run->mem, handle & SIM_TEXTURE_MASK);
        if (!texture)
            return machine_no_texture(warp, dec, lane);
        MipLevel level = level_of(texture, number_of_level < texture->more_levels ? number_of_level
                                                                                  : texture->more_levels);
        uint32_t what[4] = {level.size[0], level.size[1], level.size[2], texture->more_levels + 1u};
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
