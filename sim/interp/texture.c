/* Textures: tex, tld4, txq, suq (PTX ISA 9.7.10), with the numbers that docs/numerics.md, "Textures", gives:
 * positions and sums in double precision.
 *
 * A fetch goes coordinate by coordinate: from the coordinate to texels and their weights (an Axis), from the
 * axes to the sum over all their combinations; between two levels of a mipmap from both sums to one.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/texture.h"
#include "base/word.h"
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
    PtxTexels level;
    int offset[3];
    bool trapped;
} Fetch;

/* ---- texels ---- */

PtxTexels interp_level(const SimTexture *texture, unsigned level) {
    uint64_t slices = (uint64_t)(texture->layers ? texture->layers : 1) * (texture->cube ? 6 : 1);
    PtxTexels out = {texture->address, {texture->size[0], texture->size[1], texture->size[2]}};
    for (; level; level--) {
        out.address += (uint64_t)(out.size[0] * out.size[1] * out.size[2]) * slices * texture->channels *
                       sim_texel_bytes(texture->texel);
        for (unsigned k = 0; k < 3; k++)
            out.size[k] = out.size[k] > 1 ? out.size[k] / 2 : 1;
    }
    return out;
}

uint64_t interp_texel_address(const SimTexture *texture, const PtxTexels *level, uint64_t slice, uint64_t y,
                              uint64_t x) {
    uint64_t texel = (slice * (uint64_t)level->size[1] + y) * (uint64_t)level->size[0] + x;
    return level->address + texel * texture->channels * sim_texel_bytes(texture->texel);
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
        const uint8_t *p = interp_memory(fetch->run, fetch->thread, fetch->code, SP_GLOBAL,
                                         interp_texel_address(t, &fetch->level, fetch->layer + slice, y, x) +
                                             (uint64_t)c * bytes,
                                         bytes, false);
        fetch->trapped = !p;
        out[c] = channel_bits(t, p ? (uint32_t)word_load(p, bytes) : 0);
    }
}

/* On a card the border of integers that are read as numbers is such a number, too. Decision: that of f16 is
 * one. */
static void border_texel(const Fetch *fetch, uint32_t out[4]) {
    const SimTexture *t = fetch->texture;
    float least = t->texel == SIM_TEXEL_S8 || t->texel == SIM_TEXEL_S16 ? -1 : 0;
    for (unsigned c = 0; c < t->channels; c++) {
        out[c] = fetch->sampler->border[c];
        float v = f32_of(out[c]);
        if (t->as_float) /* NaN is the least */
            out[c] = f32_bits(v > least ? (v < 1 ? v : 1) : least);
        else if (t->texel == SIM_TEXEL_F16)
            out[c] = channel_bits(t, isnan(v) ? 0x7fff : (uint32_t)interp_round_double(FMT_F16, v, RND_RN));
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
static Axis place_on(const SimTexture *sampler, bool linear, unsigned axis, double x, int64_t n, int offset) {
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
        out.at[k] = address_texel(sampler, axis, (int64_t)whole + offset + k, n);
    if (out.at[0] == out.at[1]) /* on a card there is no fraction beyond the edge */
        out.weight[0] = WHOLE, out.weight[1] = 0;
    return out;
}

static const Axis FIRST = {.weight = {WHOLE, 0}};

/* ---- the sum over the combinations, x fastest ---- */

typedef struct { /* four texels: of a texture's depth or of a level, and its part of WHOLE */
    PtxTexels level;
    Axis x, y;
    int64_t z;
    unsigned part;
} Slice;

/* In parts of WHOLE that add up to it, as an H200 has them: a slice's part is split over x, and each of these
 * over y, to nearest; halves go to the upper texel of x, and there of y, else to the lower one of y. */
static void corner_weights(const Slice slice[2], double weight[8]) {
    for (unsigned z = 0; z < 2; z++) {
        unsigned right = (slice[z].part * slice[z].x.weight[1] + WHOLE / 2) / WHOLE,
                 column[2] = {slice[z].part - right, right};
        for (unsigned x = 0; x < 2; x++) {
            unsigned upper = (column[x] * slice[z].y.weight[1] + WHOLE / 2 - !x) / WHOLE;
            weight[4 * z + x] = column[x] - upper;
            weight[4 * z + 2 + x] = upper;
        }
    }
}

static double cut_to(double x, int unit) { return ldexp(trunc(ldexp(x, -unit)), unit); }

/* Four texels in units of 2^-27 of the power of two of the largest, what is below cut off. */
static double slice_sum(const double texel[4], const double weight[4], int *unit) {
    enum { KEPT = 27, NONE = -10000 };
    int top = NONE;
    double sum = 0;
    for (unsigned k = 0; k < 4; k++)
        if (weight[k] != 0 && texel[k] != 0 && ilogb(texel[k]) > top)
            top = ilogb(texel[k]);
    *unit = top - KEPT;
    for (unsigned k = 0; k < 4 && top != NONE; k++)
        sum += cut_to(texel[k], *unit) * weight[k];
    return sum;
}

/* As an H200 adds f32 texels: both slices, to nearest, halves away from zero. Decision: of the slice with the
 * smaller unit what is below 2^-12 of the other's is cut off. */
static float card_sum(const double texel[8], const double weight[8]) {
    enum { BELOW = 12, LEAST = -149 };
    int unit[2], most;
    double slice[2];
    for (unsigned z = 0; z < 2; z++)
        slice[z] = slice_sum(texel + 4 * z, weight + 4 * z, &unit[z]);
    most = unit[0] > unit[1] ? unit[0] : unit[1];
    double sum = (cut_to(slice[0], most - BELOW) + cut_to(slice[1], most - BELOW)) / (double)WHOLE;
    if (sum == 0)
        return 0;
    int last = ilogb(sum) - 23 > LEAST ? ilogb(sum) - 23 : LEAST;
    return (float)copysign(ldexp(floor(ldexp(fabs(sum), -last) + 0.5), last), sum);
}

/* To 11 bits, halves away from zero. */
static float half_sum(double sum) {
    int last = sum != 0 && ilogb(sum) > -14 ? ilogb(sum) - 10 : -24;
    return (float)copysign(ldexp(floor(ldexp(fabs(sum), -last) + 0.5), last), sum);
}

/* Of whole numbers that stand for parts of `stored`: parts of `given`, halves up. */
static float number_sum(const double texel[8], const double weight[8], double stored, double given) {
    double sum = 0;
    for (unsigned k = 0; k < 8; k++)
        sum += rint(texel[k] * stored) * weight[k];
    double v = floor(sum * given / (stored * (double)WHOLE) + 0.5) / given;
    return (float)(v < -1 ? -1 : v);
}

static uint32_t weighted(SimTexel format, const double texel[8], const double weight[8]) {
    double sum = 0;
    bool finite = true;
    for (unsigned k = 0; k < 8; k++)
        if (weight[k] != 0) {
            finite &= isfinite(texel[k]);
            sum += texel[k] * weight[k] / (double)WHOLE;
        }
    if (!finite)
        return isnan(sum) ? F32_NAN : f32_bits((float)sum);
    switch (format) {
    case SIM_TEXEL_U8: return f32_bits(number_sum(texel, weight, 255, 65535));
    case SIM_TEXEL_S8: return f32_bits(number_sum(texel, weight, 127, 32767));
    case SIM_TEXEL_U16: return f32_bits(number_sum(texel, weight, 65535, 65535));
    case SIM_TEXEL_S16: return f32_bits(number_sum(texel, weight, 32767, 32767));
    case SIM_TEXEL_F16: return f32_bits(half_sum(sum));
    default: return f32_bits(card_sum(texel, weight));
    }
}

/* What has no weight does not count. */
static void sum_texels(Fetch *fetch, const Slice slice[2], uint32_t out[4]) {
    double weight[8], texel[4][8] = {{0}};
    corner_weights(slice, weight);
    for (unsigned k = 0; k < 8; k++) {
        const Slice *from = &slice[k >> 2];
        int64_t x = from->x.at[k & 1], y = from->y.at[k >> 1 & 1], z = from->z;
        uint32_t bits[4] = {0};
        if (weight[k] == 0)
            continue;
        border_texel(fetch, bits);
        fetch->level = from->level;
        if (x >= 0 && y >= 0 && z >= 0)
            read_texel(fetch, (uint64_t)z, (uint64_t)y, (uint64_t)x, bits);
        if (weight[k] == (double)WHOLE) { /* a single texel: its bits */
            memcpy(out, bits, sizeof bits);
            return;
        }
        for (unsigned c = 0; c < 4; c++)
            texel[c][k] = (double)f32_of(bits[c]);
    }
    for (unsigned c = 0; c < 4; c++)
        out[c] = weighted((SimTexel)fetch->texture->texel, texel[c], weight);
}

/* ---- the two kinds of fetches ---- */

static void fetch_whole(Fetch *fetch, const uint64_t *coord, int64_t level, uint32_t out[4]) {
    const SimTexture *t = fetch->texture;
    int64_t at[3] = {0}, last = t->more_levels;
    bool inside = true;
    fetch->level = interp_level(t, (unsigned)(level < 0 ? 0 : level > last ? last : level));
    for (unsigned k = 0; k < t->dims; k++) {
        at[k] = (int64_t)(int32_t)coord[k] + fetch->offset[k];
        inside = inside && at[k] >= 0 && at[k] < fetch->level.size[k];
    }
    memset(out, 0, 4 * sizeof *out);
    if (!inside)
        return;
    read_texel(fetch, (uint64_t)at[2], (uint64_t)at[1], (uint64_t)at[0], out);
}

/* A direction divided by its longest part, and by what. */
static float scaled_direction(const uint64_t *coord, float d[3]) {
    float longest = 0;
    for (unsigned k = 0; k < 3; k++)
        longest = fabsf(f32_of(coord[k])) > longest ? fabsf(f32_of(coord[k])) : longest;
    float inverse = f32_of(f32_flush(interp_rcp(f32_flush(f32_bits(longest)))));
    for (unsigned k = 0; k < 3; k++)
        d[k] = f32_of(coord[k]) * inverse;
    return inverse;
}

static unsigned longest_axis(const float d[3]) {
    bool x = fabsf(d[0]) >= fabsf(d[1]) && fabsf(d[0]) >= fabsf(d[2]);
    return x ? 0 : fabsf(d[1]) >= fabsf(d[2]) ? 1 : 2;
}

/* The face is that of the longest part. The place on it, from 0 to 1. */
static unsigned cube_face(const uint64_t *coord, double place[2]) {
    float d[3];
    scaled_direction(coord, d);
    unsigned axis = longest_axis(d);
    bool negative = d[axis] < 0;
    double s = axis == 0 ? (negative ? d[2] : -d[2]) : axis == 2 && negative ? -d[0] : d[0];
    double t = axis == 1 ? (negative ? -d[2] : d[2]) : -d[1];
    place[0] = s / 2 + 0.5;
    place[1] = t / 2 + 0.5;
    return 2 * axis + negative;
}

/* From 0 to 1 where coordinates are normalized, else in texels. */
static void find_place(Fetch *fetch, bool cube, const uint64_t *coord, double place[3]) {
    if (cube)
        fetch->layer += cube_face(coord, place);
    for (unsigned k = 0; k < fetch->texture->dims && !cube; k++)
        place[k] = f32_of(f32_flush((uint32_t)coord[k]));
}

/* Where it repeats, an H200 cuts a coordinate off behind 21 bits of fraction. */
static double in_texels(const Fetch *fetch, unsigned axis, double x) {
    enum { FRACTION_BITS = 21 };
    unsigned mode = fetch->sampler->mode[axis];
    if (!fetch->sampler->normalized && !fetch->texture->cube)
        return x;
    if (!fetch->texture->cube && (mode == SIM_ADDRESS_WRAP || mode == SIM_ADDRESS_MIRROR))
        x = ldexp(floor(ldexp(x, FRACTION_BITS)), -FRACTION_BITS);
    return x * (double)fetch->level.size[axis];
}

/* The slices of a level; the second one has no part but in three dimensions. */
static void find_slices(Fetch *fetch, const double place[3], unsigned level, Slice slice[2]) {
    const SimTexture *t = fetch->texture, *sampler = fetch->sampler;
    bool linear = sampler->linear && gives_floats(t);
    Axis axes[3] = {FIRST, FIRST, FIRST};
    fetch->level = interp_level(t, level);
    for (unsigned k = 0; k < t->dims; k++)
        axes[k] = place_on(sampler, linear, k, in_texels(fetch, k, place[k]), fetch->level.size[k],
                           fetch->offset[k]);
    for (unsigned z = 0; z < 2; z++)
        slice[z] = (Slice){fetch->level, axes[0], axes[1], axes[2].at[z], axes[2].weight[z]};
}

static void sample(Fetch *fetch, const double place[3], unsigned level, uint32_t out[4]) {
    Slice slice[2];
    find_slices(fetch, place, level, slice);
    sum_texels(fetch, slice, out);
}

/* A level of detail as the texture has it, in parts of WHOLE. */
static unsigned allowed_level(const Fetch *fetch, double detail) {
    const SimTexture *sampler = fetch->sampler;
    double least = sampler->lod_min, most = fmin(sampler->lod_max, fetch->texture->more_levels);
    detail = isnan(detail) ? 0 : detail;
    detail =
        fmin(fmax(detail + trunc((double)sampler->lod_bias * (double)WHOLE) / (double)WHOLE, least), most);
    return (unsigned)floor(fmax(detail, 0) * (double)WHOLE);
}

static unsigned nearest_level(unsigned detail) { return (detail + WHOLE / 2) / WHOLE; }

static void fetch_at(Fetch *fetch, const double place[3], double detail_asked, uint32_t out[4]) {
    const SimTexture *t = fetch->texture;
    unsigned detail = allowed_level(fetch, detail_asked), part = detail % WHOLE;
    uint32_t low[4] = {0}, high[4] = {0};
    memset(out, 0, 4 * sizeof *out);
    if (!fetch->sampler->mip_linear || !gives_floats(t) || !part) {
        sample(fetch, place, nearest_level(detail), low);
        memcpy(out, low, t->channels * sizeof *out);
        return;
    }
    if (t->dims < 3) { /* two levels are two slices, as an H200 has it */
        Slice slice[2], of_level[2];
        for (unsigned k = 0; k < 2; k++) {
            find_slices(fetch, place, detail / WHOLE + k, of_level);
            slice[k] = of_level[0];
            slice[k].part = k ? part : WHOLE - part;
        }
        sum_texels(fetch, slice, low);
        memcpy(out, low, t->channels * sizeof *out);
        return;
    }
    sample(fetch, place, detail / WHOLE, low); /* a decision */
    sample(fetch, place, detail / WHOLE + 1, high);
    for (unsigned c = 0; c < t->channels; c++) {
        double sum = (double)f32_of(low[c]) * (WHOLE - part) / (double)WHOLE +
                     (double)f32_of(high[c]) * part / (double)WHOLE;
        out[c] = isnan(sum) ? F32_NAN : f32_bits((float)sum);
    }
}

/* To a part of WHOLE: the upper texel of whole weight is the lower one of no other. */
static double to_weight(double x) { return floor(x * (double)WHOLE + 0.5) / (double)WHOLE; }

/* Channel `c` of the four texels around a place: (0, 1), (1, 1), (1, 0), (0, 0). */
static void gather_four(Fetch *fetch, const double place[3], unsigned c, uint32_t out[4]) {
    static const uint8_t up[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    const SimTexture *t = fetch->texture;
    Axis axes[2];
    fetch->level = interp_level(t, nearest_level(allowed_level(fetch, -INFINITY)));
    for (unsigned k = 0; k < 2; k++)
        axes[k] = place_on(fetch->sampler, true, k, to_weight(in_texels(fetch, k, place[k])),
                           fetch->level.size[k], fetch->offset[k]);
    for (unsigned n = 0; n < 4; n++) {
        uint32_t texel[4] = {0};
        int64_t x = axes[0].at[up[n][0]], y = axes[1].at[up[n][1]];
        if (x < 0 || y < 0)
            border_texel(fetch, texel);
        else
            read_texel(fetch, 0, (uint64_t)y, (uint64_t)x, texel);
        out[n] = texel[c];
    }
}

/* ---- statements ---- */

/* Dimensions, layers, faces as the statement says them? */
static bool same_shape(const SimTexture *texture, const PtxTexture *as) {
    unsigned dims = as->cube ? 2 : as->ncoords - as->layered;
    return texture->dims == dims && (texture->layers != 0) == as->layered && texture->cube == as->cube;
}

bool interp_find_texture(PtxRun *run, PtxThread *thread, const PtxCode *code, const PtxTexture *as,
                         const SimTexture **texture, const SimTexture **sampler_out) {
    uint64_t handle = interp_arg(run, thread, &code->src[0]);
    uint32_t sampler = as->sampler ? (uint32_t)interp_arg(run, thread, &code->src[1]) & 0xfff
                                   : (uint32_t)handle >> SIM_SAMPLER_SHIFT & SIM_SAMPLER_MASK;
    bool fetches = code->insn->op == PTX_TEX || code->insn->op == PTX_TLD4;
    *texture = simmem_texture(run->mem, (uint32_t)handle & SIM_TEXTURE_MASK);
    *sampler_out = simmem_texture(run->mem, sampler);
    if (!*texture || (fetches && !*sampler_out)) {
        interp_trap(run, thread, code, TRAP_ILLEGAL, "the handle is that of no texture");
        return false;
    }
    if (as->ncoords && !same_shape(*texture, as)) {
        interp_trap(run, thread, code, TRAP_ILLEGAL, "the texture has another number of dimensions");
        return false;
    }
    return true;
}

static uint64_t layer_of(const SimTexture *texture, uint64_t layer, bool layered) {
    uint32_t last = texture->layers ? texture->layers - 1 : 0, at = layered ? (uint32_t)layer : 0;
    return (uint64_t)(at < last ? at : last) * (texture->cube ? 6 : 1);
}

/* Offsets have 4 bits, of tld4 6, with a sign. */
static void take_offsets(Fetch *fetch, const PtxTexture *as, const uint64_t *offset) {
    unsigned drop = fetch->code->insn->op == PTX_TLD4 ? 26 : 28;
    for (unsigned k = 0; k < 3 && as->offset[k]; k++)
        fetch->offset[k] = (int32_t)((uint32_t)offset[k] << drop) >> drop;
}

/* Half the logarithm of the longer derivative's square. */
static double detail_of(const Fetch *fetch, const uint64_t *grad, unsigned n) {
    double most = 0;
    for (unsigned which = 0; which < 2; which++) {
        double sum = 0;
        for (unsigned k = 0; k < n; k++) {
            double d =
                f32_of(grad[which * n + k]) * (fetch->sampler->normalized ? fetch->texture->size[k] : 1.0);
            sum += isnan(d) ? 0 : d * d;
        }
        most = sum > most ? sum : most;
    }
    return most > 0 ? (double)(log2l((long double)most) / 2) : -INFINITY;
}

/* Of three coordinates, in single precision. Of a cube, how the place on the face moves: the quotient's
 * derivative. */
static double detail_of_three(const Fetch *fetch, bool cube, const uint64_t *coord, const uint64_t *grad) {
    float most = 0x1p-126f, direction[3] = {0}, inverse = cube ? scaled_direction(coord, direction) : 1;
    unsigned axis = longest_axis(direction);
    for (unsigned which = 0; which < 2; which++, grad += 3) {
        float along = f32_of(grad[axis]) * inverse * direction[axis], sum = 0;
        for (unsigned k = 0; k < 3; k++) {
            float d = f32_of(grad[k]), size = (float)fetch->texture->size[cube ? 0 : k];
            if (cube)
                d = fmaf(-direction[k], along, d * inverse) * (size / 2);
            else
                d *= size;
            sum = k ? fmaf(d, d, sum) : d * d;
        }
        most = sum > most ? sum : most;
    }
    return f32_of(interp_lg2(f32_bits(most))) / 2;
}

/* What stands behind the place: level, derivatives, offsets. */
static void fetch_by(Fetch *fetch, const PtxTexture *as, const uint64_t *arg, uint32_t out[4]) {
    const uint64_t *coord = arg + as->layered, *rest = arg + as->ncoords;
    unsigned n = as->ncoords - as->layered;
    double detail = -INFINITY, place[3] = {0};
    fetch->level = interp_level(fetch->texture, 0);
    take_offsets(fetch, as, rest + (as->level ? 1 : 0) + (as->grad[0][0] ? 2 * n : 0));
    if (as->integer) {
        fetch_whole(fetch, coord, as->level ? (int32_t)rest[0] : 0, out);
        return;
    }
    if (as->level)
        detail = f32_of(rest[0]);
    else if (as->grad[0][0])
        detail = n == 3 ? detail_of_three(fetch, as->cube, coord, rest) : detail_of(fetch, rest, n);
    find_place(fetch, as->cube, coord, place);
    PtxSub channel = fetch->code->insn->sub2;
    if (fetch->code->insn->op == PTX_TLD4)
        gather_four(fetch, place,
                    channel == SUB_R   ? 0
                    : channel == SUB_G ? 1
                    : channel == SUB_B ? 2
                                       : 3,
                    out);
    else
        fetch_at(fetch, place, detail, out);
}

static PtxStep exec_tex(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    PtxTexture as = ptx_texture(code->insn);
    Fetch fetch = {.run = run, .thread = thread, .code = code};
    uint64_t arg[4 + 1 + 3 * 3] = {0};
    uint32_t out[4];
    if (!interp_find_texture(run, thread, code, &as, &fetch.texture, &fetch.sampler))
        return STEP_STOP;
    for (unsigned k = 0; k < code->nread; k++)
        arg[k] = interp_arg(run, thread, &code->vec[k]);
    fetch.layer = layer_of(fetch.texture, arg[0], as.layered);
    fetch_by(&fetch, &as, arg, out);
    if (fetch.trapped)
        return STEP_STOP;
    bool pairs = code->insn->type[0] == TY_F16X2, halves = pairs || code->insn->type[0] == TY_F16;
    for (unsigned c = 0; c < 4 && halves; c++)
        out[c] =
            isnan(f32_of(out[c])) ? 0x7fff : (uint32_t)interp_round_double(FMT_F16, f32_of(out[c]), RND_RN);
    for (unsigned c = 0; c < code->nvec; c++)
        interp_put(thread, code->vec_dst[c], pairs ? out[2 * c] | out[2 * c + 1] << 16 : out[c]);
    if (as.resident)
        interp_put(thread, code->dst[1], 1);
    return STEP_GO;
}
/* Comparisons with a depth are not modelled. */
bool interp_bind_tex(PtxCode *code) {
    return !ptx_texture(code->insn).compare && interp_use_exec(code, exec_tex);
}
bool interp_bind_tld4(PtxCode *code) { return interp_bind_tex(code); }

static PtxStep exec_query(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    PtxTexture as = ptx_texture(code->insn);
    const SimTexture *texture, *sampler;
    if (!interp_find_texture(run, thread, code, &as, &texture, &sampler))
        return STEP_STOP;
    uint32_t level = as.level ? (uint32_t)interp_arg(run, thread, &code->vec[0]) : 0;
    PtxTexels texels = interp_level(texture, level < texture->more_levels ? level : texture->more_levels);
    PtxSub what = code->insn->sub;
    interp_put(thread, code->vec_dst[0],
               what == SUB_LEVELS ? texture->more_levels + 1u
                                  : (uint64_t)texels.size[what == SUB_WIDTH    ? 0
                                                          : what == SUB_HEIGHT ? 1
                                                                               : 2]);
    return STEP_GO;
}
BIND_EXEC(txq, exec_query)

/* The numbers are places in PTX's lists: wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border; nearest,
 * linear. */
static PtxStep exec_mode(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    PtxTexture as = ptx_texture(code->insn);
    const SimTexture *texture, *sampler;
    if (!interp_find_texture(run, thread, code, &as, &texture, &sampler))
        return STEP_STOP;
    uint64_t answer = code->insn->sub == SUB_FILTER ? sampler->linear : sampler->normalized;
    if (code->insn->sub >= SUB_ADDRESS_0 && code->insn->sub <= SUB_ADDRESS_2)
        switch (sampler->mode[code->insn->sub - SUB_ADDRESS_0]) {
        case SIM_ADDRESS_WRAP: answer = 0; break;
        case SIM_ADDRESS_MIRROR: answer = 1; break;
        case SIM_ADDRESS_CLAMP: answer = 3; break;
        default: answer = 4; break;
        }
    interp_put(thread, code->vec_dst[0], answer);
    return STEP_GO;
}
BIND_EXEC(txq_mode, exec_mode)

static uint64_t is_kind(uint64_t handle, uint64_t b, uint64_t c, const PtxCode *code) {
    (void)b, (void)c;
    return (handle >> 32 & ptx_handle_kind(code->insn->type[0])) != 0;
}
BIND_PURE(istypep, is_kind)
