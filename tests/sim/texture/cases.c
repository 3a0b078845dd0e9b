/* Writes NAME.ptx and NAME.json into a directory, with the values that must come out: `k`, fetches from
 * textures of every geometry, format, filter and address mode; `levels`, those with offsets, from mipmaps by
 * level and by derivatives, of four texels together, and of halves; `steps`, by derivatives of three
 * coordinates. They are computed here from the definitions of the CUDA C++ programming guide ("Texture
 * Fetching"), in whole numbers: coordinates are multiples of 2^-10, texels are small, so positions, weights
 * and sums are exact. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LANES = 32, EXTRA = 6, UNIT = 1024 /* of coordinates */, MOST_TEXELS = 1 << 13 };

static uint32_t state = 2463534242u;
static uint32_t rnd(void) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state;
}

typedef struct {
    const char *name;
    unsigned n; /* dimensions of a slice */
    bool layered, cube;
} Geometry;
static const Geometry geometries[] = {
    {"1d", 1, false, false}, {"2d", 2, false, false},  {"3d", 3, false, false}, {"a1d", 1, true, false},
    {"a2d", 2, true, false}, {"cube", 2, false, true}, {"acube", 2, true, true}};
typedef enum { U8, S8, U16, S16, U32, S32, F16, F32 } Format;
static const char *const formats[] = {"u8", "s8", "u16", "s16", "u32", "s32", "f16", "f32"};
typedef enum { WRAP, CLAMP, MIRROR, BORDER } Mode;
static const char *const modes[] = {"wrap", "clamp", "mirror", "border"};

typedef struct {
    const Geometry *g;
    int64_t size[3], layers;
    Format format;
    unsigned channels;
    bool as_float, linear, normalized, whole; /* whole: .s32 coordinates */
    Mode mode[3];
    enum { PLAIN, LEVEL, GRAD, GATHER } how;
    unsigned levels, component; /* levels beside the first; channel that is gathered */
    bool mip_linear, offsets;
    enum { WORDS, PAIRS, SINGLES } halves; /* of f16: two in each register, or one */
    int64_t offset[3], bias, least, most;  /* these three in UNITs of a level */
} Case;

static int64_t size_now[3], base_now; /* of the level that is looked at; its first texel */

static void enter_level(const Case *c, unsigned level) {
    base_now = 0;
    for (unsigned l = 0; l <= level; l++) {
        int64_t texels = (c->layers ? c->layers : 1) * (c->g->cube ? 6 : 1);
        for (unsigned k = 0; k < 3; k++) {
            size_now[k] = c->size[k] >> l ? c->size[k] >> l : 1;
            texels *= size_now[k];
        }
        base_now += l < level ? texels : 0;
    }
}

static int32_t texels[MOST_TEXELS]; /* values; of F16 and F32 too, which hold them exactly */

static bool floats(const Case *c) { return c->as_float || c->format >= F16; }

static double value_of(const Case *c, int32_t texel) {
    static const double most[] = {255, 127, 65535, 32767};
    if (!c->as_float)
        return texel;
    float v = (float)(texel / most[c->format]);
    return v < -1 ? -1 : v;
}

/* The launch says 1 to 4; numbers that integers stand for are 1 at most. */
static double border_value(const Case *c, unsigned channel) {
    return c->as_float && c->format < F16 ? 1 : channel + 1;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Texel i on axis k; -1: the border. */
static int64_t address(const Case *c, unsigned k, int64_t i) {
    int64_t n = size_now[k], turn = floor_div(i, n), rest = i - turn * n;
    Mode mode = c->normalized ? c->mode[k] : c->mode[k] == BORDER ? BORDER : CLAMP;
    if (mode == WRAP)
        return rest;
    if (mode == MIRROR)
        return turn % 2 ? n - 1 - rest : rest;
    if (mode == BORDER)
        return turn ? -1 : rest;
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double at(const Case *c, int64_t slice, const int64_t *i, unsigned channel) {
    int64_t index = slice;
    for (unsigned k = c->g->n > 2 ? 3 : 2; k-- > 0;)
        index = index * size_now[k] + i[k];
    return value_of(c, texels[(base_now + index) * (int64_t)c->channels + channel]);
}

/* How an H200 rounds what it filters: f16 to f16, halves away from zero, integers to 16 bits, halves up. */
static double rounded(const Case *c, long double v) {
    static const int most[] = {65535, 32767, 65535, 32767};
    if (c->format == F32)
        return (double)v; /* small enough to be exact */
    if (c->format == F16) {
        int last = v != 0 && ilogbl(v) > -14 ? ilogbl(v) - 10 : -24;
        return (double)ldexpl(roundl(ldexpl(v, -last)), last);
    }
    double given = (double)floorl(v * most[c->format] + 0.5L) / most[c->format];
    return given < -1 ? -1 : given;
}

/* The whole number that stands for it, over what 1 is, as far as it has one. */
static long double stored(const Case *c, double v) {
    static const int most[] = {255, 127, 65535, 32767};
    return c->as_float && c->format < F16 ? nearbyintl((long double)v * most[c->format]) / most[c->format]
                                          : v;
}

/* Of a slice, `all` of 256 parts of the sum, or its one texel; position: in units of a texel / (UNIT *
 * denominator) */
static bool add_slice(const Case *c, int64_t slice, const int64_t *position, int64_t denominator,
                      unsigned channel, int64_t all, unsigned z, long double *sum) {
    int64_t one = UNIT * denominator, low[3] = {0}, part[3] = {0}, weight[2][2];
    for (unsigned k = 0; k < c->g->n; k++) {
        int64_t p = position[k] - (c->linear ? one / 2 : 0);
        low[k] = floor_div(p, one);
        part[k] = c->linear ? floor_div((p - low[k] * one) * 256 * 2 + one, one * 2) : 0; /* to nearest */
        if (address(c, k, low[k] + c->offset[k]) == address(c, k, low[k] + c->offset[k] + 1))
            part[k] = 0;
    }
    if (c->g->n > 2)
        all = z ? part[2] : 256 - part[2];
    int64_t right = floor_div(all * part[0] + 128, 256); /* as an H200 splits it */
    for (unsigned x = 0; x < 2; x++) {
        int64_t column = x ? right : all - right;
        weight[1][x] = floor_div(column * part[1] + (x ? 128 : 127), 256);
        weight[0][x] = column - weight[1][x];
    }
    for (unsigned corner = 0; corner < 4; corner++) {
        int64_t w = weight[corner >> 1][corner & 1], i[3];
        bool border = false;
        for (unsigned k = 0; k < 3; k++) {
            i[k] = k < c->g->n ? address(c, k, low[k] + c->offset[k] + (k == 2 ? z : corner >> k & 1)) : 0;
            border |= i[k] < 0;
        }
        double v = w ? border ? border_value(c, channel) : at(c, slice, i, channel) : 0;
        if (w == 256) {
            *sum = v;
            return true;
        }
        *sum += (long double)w * stored(c, v);
    }
    return false;
}

static double filtered(const Case *c, int64_t slice, const int64_t *position, int64_t denominator,
                       unsigned channel) {
    long double sum = 0;
    if (add_slice(c, slice, position, denominator, channel, 256, 0, &sum) ||
        (c->g->n > 2 && add_slice(c, slice, position, denominator, channel, 0, 1, &sum)))
        return (double)sum;
    return rounded(c, sum / 256);
}

/* The face of a direction in units, and the place on it as numerators over 2 * longest. */
static int64_t face_of(const int64_t d[3], int64_t place[2], int64_t *longest) {
    int64_t x = d[0], y = d[1], z = d[2], s, t, face;
    if (llabs(x) >= llabs(y) && llabs(x) >= llabs(z))
        face = x < 0, s = x < 0 ? z : -z, t = -y, *longest = llabs(x);
    else if (llabs(y) >= llabs(z))
        face = 2 + (y < 0), s = x, t = y < 0 ? -z : z, *longest = llabs(y);
    else
        face = 4 + (z < 0), s = z < 0 ? -x : x, t = -y, *longest = llabs(z);
    place[0] = s + *longest, place[1] = t + *longest;
    return face;
}

/* ---- writing ---- */

static FILE *ptx, *buffers, *textures, *launches, *checks;
static unsigned number;

static void separate(FILE *f) {
    if (ftell(f))
        fputs(",\n ", f);
}

static void put_result(double v, bool is_float) {
    float f = (float)v;
    uint32_t bits = is_float ? 0 : (uint32_t)(int64_t)v;
    if (is_float)
        memcpy(&bits, &f, 4);
    fprintf(checks, "%u", bits);
}

static void put_format(const Case *c, const char *buffer) {
    separate(textures);
    fprintf(textures, "\"t%u\": {\"buffer\": \"%s\", \"texel\": \"%s\", \"channels\": %u, \"size\": [",
            number, buffer, formats[c->format], c->channels);
    for (unsigned k = 0; k < c->g->n; k++)
        fprintf(textures, "%s%d", k ? ", " : "", (int)c->size[k]);
    fprintf(textures, "]%s", c->g->cube ? ", \"cube\": true" : "");
    if (c->g->layered)
        fprintf(textures, ", \"layers\": %d", (int)c->layers);
}

static void put_texture(const Case *c) {
    char name[16];
    snprintf(name, sizeof name, "b%u", number);
    put_format(c, name);
    fprintf(textures,
            ", \"filter\": \"%s\", \"normalized\": %s, \"read\": \"%s\", \"border\": [1, 2, 3, 4], "
            "\"address\": [",
            c->linear ? "linear" : "point", c->normalized ? "true" : "false",
            c->as_float ? "float" : "element");
    for (unsigned k = 0; k < 3; k++)
        fprintf(textures, "%s\"%s\"", k ? ", " : "", modes[c->mode[k]]);
    fputs("]", textures);
    if (c->levels)
        fprintf(textures,
                ", \"levels\": %u, \"mipfilter\": \"%s\", \"bias\": %.10f, \"clamp\": [%.10f, %.10f]",
                c->levels + 1, c->mip_linear ? "linear" : "point", (double)c->bias / (double)UNIT,
                (double)c->least / (double)UNIT, (double)c->most / (double)UNIT);
    fputs("}", textures);
}

static int64_t count_texels(const Case *c) {
    enter_level(c, c->levels + 1);
    return base_now * c->channels;
}

static void put_buffer(const Case *c) {
    static const int32_t most[] = {255, 127, 65535, 32767, 100000, 100000, 1000, 1000};
    int64_t n = count_texels(c);
    bool is_signed = c->format & 1 || c->format == F16;
    separate(buffers);
    fprintf(buffers, "\"b%u\": {\"type\": \"%s\", \"values\": [", number, formats[c->format]);
    for (int64_t i = 0; i < n; i++) {
        texels[i] = (int32_t)(rnd() % (uint32_t)(most[c->format] + 1)) * (is_signed && rnd() & 1 ? -1 : 1);
        fprintf(buffers, "%s%d", i ? ", " : "", (int)texels[i]);
    }
    fputs("]}", buffers);
}

static void put_launch(void) {
    separate(launches);
    fprintf(
        launches,
        "{\"kernel\": \"k%u\", \"grid\": [1], \"block\": [%d], \"args\": [\"tex:t%u\", \"i%u\", \"o%u\"]}",
        number, LANES, number, number, number);
}

/* A level of detail as the sampler has it, in parts of 256. */
static int64_t clamped(const Case *c, long double detail) {
    long double most = c->most < (int64_t)c->levels * UNIT ? c->most : (int64_t)c->levels * UNIT;
    detail += truncl((long double)c->bias * 256 / (long double)UNIT) / 256;
    detail = detail < c->least / (long double)UNIT ? c->least / (long double)UNIT : detail;
    detail = detail > most / (long double)UNIT ? most / (long double)UNIT : detail;
    return (int64_t)floorl(detail * 256); /* as an H200 */
}

/* How far a step of a place moves it on axis k, in texels. A direction's longest part is 1: see choose_place.
 */
static long double moved(const Case *c, const int64_t coord[3], const int64_t *step, unsigned k) {
    long double d = (long double)step[k] / (long double)UNIT;
    if (!c->g->cube)
        return d * (c->normalized ? (long double)c->size[k] : 1);
    unsigned longest = 0;
    while (llabs(coord[longest]) != UNIT)
        longest++;
    long double away = (long double)(coord[longest] * step[longest]) / (long double)UNIT / (long double)UNIT;
    return k == longest
               ? 0
               : (d - away * (long double)coord[k] / (long double)UNIT) / 2 * (long double)c->size[0];
}

/* extra: level, or derivatives by x, then by y, in UNITs */
static int64_t detail_of(const Case *c, const int64_t coord[3], const int64_t extra[EXTRA]) {
    unsigned n = c->g->cube ? 3 : c->g->n;
    long double square[2] = {0};
    if (c->how == LEVEL)
        return clamped(c, (long double)extra[0] / (long double)UNIT);
    for (unsigned k = 0; k < n && c->how == GRAD; k++)
        for (unsigned which = 0; which < 2; which++) {
            long double d = moved(c, coord, extra + which * EXTRA / 2, k);
            square[which] += d * d;
        }
    long double longer = square[0] > square[1] ? square[0] : square[1];
    return clamped(c, longer > 0 ? log2l(longer) / 2 : -INFINITY);
}

typedef struct {
    int64_t slice, coord[3], denominator; /* coordinates in UNITs * denominator */
} Place;

static void enter_place(const Case *c, const Place *place, unsigned level, int64_t position[3]) {
    enter_level(c, level);
    for (unsigned k = 0; k < 3; k++)
        position[k] = place->coord[k] * (c->normalized ? size_now[k] : 1);
}

static double of_level(const Case *c, const Place *place, unsigned level, unsigned channel) {
    int64_t position[3];
    enter_place(c, place, level, position);
    return filtered(c, place->slice, position, place->denominator, channel);
}

static double from_levels(const Case *c, const Place *place, int64_t detail, unsigned channel) {
    int64_t part = detail % 256, position[3];
    long double sum = 0;
    if (!c->mip_linear || !floats(c) || !part)
        return of_level(c, place, (unsigned)((detail + 128) / 256), channel);
    for (unsigned k = 0; k < 2 && c->g->n < 3;
         k++) { /* the levels are the slices of the sum, as on an H200 */
        enter_place(c, place, (unsigned)(detail / 256) + k, position);
        add_slice(c, place->slice, position, place->denominator, channel, k ? part : 256 - part, 0, &sum);
    }
    if (c->g->n < 3)
        return rounded(c, sum / 256);
    float low = (float)of_level(c, place, (unsigned)(detail / 256), channel),
          high = (float)of_level(c, place, (unsigned)(detail / 256) + 1, channel);
    return (double)(((long double)low * (256 - part) + (long double)high * part) / 256);
}

static double gathered(const Case *c, const Place *place, unsigned n) {
    static const int64_t up[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    int64_t one = UNIT * place->denominator, i[3] = {0};
    bool border = false;
    enter_level(c, (unsigned)((clamped(c, -INFINITY) + 128) / 256));
    for (unsigned k = 0; k < 2; k++) {
        int64_t position = place->coord[k] * (c->normalized ? size_now[k] : 1);
        int64_t parts = floor_div((position - one / 2) * 256 * 2 + one, one * 2); /* to nearest */
        i[k] = address(c, k, floor_div(parts, 256) + c->offset[k] + up[n][k]);
        border |= i[k] < 0;
    }
    if (c->component >= c->channels)
        return 0;
    return border ? border_value(c, c->component) : at(c, place->slice, i, c->component);
}

/* Bits of the half nearest to a number that is not smaller than the least normal one, or 0. */
static uint32_t half_bits(double v) {
    uint32_t sign = v < 0 ? 0x8000 : 0;
    int exponent = ilogb(v);
    if (v == 0)
        return 0;
    double steps = nearbyint(ldexp(fabs(v), 10 - exponent)); /* 1024 to 2048 */
    return sign | (((uint32_t)(exponent + 14) << 10) + (uint32_t)steps);
}

/* A place outside by `.s32` coordinates is 0 in all channels. */
static double whole_value(const Case *c, int64_t slice, const int64_t *coord, int64_t level,
                          unsigned channel) {
    int64_t place[3] = {0};
    enter_level(c, (unsigned)(level < 0 ? 0 : level > (int64_t)c->levels ? (int64_t)c->levels : level));
    for (unsigned k = 0; k < c->g->n; k++) {
        place[k] = coord[k] + c->offset[k];
        if (place[k] < 0 || place[k] >= size_now[k])
            return 0;
    }
    return channel < c->channels ? at(c, slice, place, channel) : 0;
}

/* Coordinates of a lane: layer, then numbers in UNITs. */
static void expect_lane(const Case *c, int64_t layer, const int64_t *coord, const int64_t extra[EXTRA]) {
    Place place = {.slice = (layer < c->layers ? layer
                             : c->layers       ? c->layers - 1
                                               : 0) *
                            (c->g->cube ? 6 : 1),
                   .denominator = 1}; /* the longest part of a direction is a power of two: see put_case */
    for (unsigned k = 0; k < c->g->n; k++)
        place.coord[k] = coord[k];
    if (c->g->cube) {
        int64_t at_face[2], longest;
        place.slice += face_of(coord, at_face, &longest);
        for (unsigned k = 0; k < 2; k++)
            place.coord[k] = at_face[k] * UNIT / longest;
        place.denominator = 2;
    }
    int64_t detail = detail_of(c, coord, extra);
    double v[4];
    for (unsigned channel = 0; channel < 4; channel++)
        v[channel] = c->whole ? whole_value(c, place.slice, coord, c->how == LEVEL ? extra[0] : 0, channel)
                     : c->how == GATHER      ? gathered(c, &place, channel)
                     : channel < c->channels ? from_levels(c, &place, detail, channel)
                                             : 0;
    for (unsigned channel = 0; channel < 4; channel++) {
        if (c->halves == WORDS)
            put_result(v[channel], floats(c));
        else if (c->halves == SINGLES)
            fprintf(checks, "%u", half_bits((double)(float)v[channel]));
        else if (channel < 2)
            fprintf(checks, "%u",
                    half_bits((double)(float)v[2 * channel]) | half_bits((double)(float)v[2 * channel + 1])
                                                                   << 16);
        else
            fputs("0", checks);
        fputs(channel < 3 ? ", " : "", checks);
    }
}

static void put_list(const char *open, const char *prefix, unsigned first, unsigned n, unsigned all) {
    fputs(open, ptx);
    for (unsigned k = 0; k < all; k++)
        fprintf(ptx, "%s%s%u", k ? ", " : "", prefix, first + (k < n ? k : 0));
    fputs("}", ptx);
}

static void put_fetch(const Case *c) {
    static const char *const how[] = {"tex.", "tex.level.", "tex.grad.", "tld4."};
    unsigned n = c->g->cube ? 3 : c->g->n, given = 0;
    fprintf(ptx, "%s", how[c->how]);
    if (c->how == GATHER)
        fprintf(ptx, "%c.", "rgba"[c->component]);
    char v = c->halves == SINGLES ? 'h' : 'v';
    fprintf(ptx, "%s.%s.%s.%s {%%%c0, %%%c1", c->g->name, c->halves == PAIRS ? "v2" : "v4",
            c->halves == PAIRS     ? "f16x2"
            : c->halves == SINGLES ? "f16"
            : floats(c)            ? "f32"
            : c->format & 1        ? "s32"
                                   : "u32",
            c->whole ? "s32" : "f32", v, v);
    if (c->halves != PAIRS)
        fprintf(ptx, ", %%%c2, %%%c3", v, v);
    fprintf(ptx, "}%s, [%%d1, {", c->how == PLAIN ? "" : "|%p1");
    if (c->g->layered)
        fputs("%r4", ptx), given++;
    for (unsigned k = 1; k <= n; k++, given++)
        fprintf(ptx, "%s%%%s%u", given ? ", " : "", c->whole ? "r" : "f", k);
    for (; given == 3; given++)
        fprintf(ptx, ", %%%s1", c->whole ? "r" : "f");
    fputs("}]", ptx);
    if (c->how == LEVEL)
        fprintf(ptx, ", %s", c->whole ? "%e0" : "%g0");
    for (unsigned k = 0; k < 2 && c->how == GRAD; k++)
        put_list(", {", "%g", EXTRA / 2 * k, n, n + (n == 3));
    if (c->offsets) {
        fputs(", {", ptx);
        for (unsigned k = 0; k < n + (n == 3); k++) /* the second by a register */
            fprintf(ptx, k == 1 ? ", %%o1" : "%s%d", k ? ", " : "", (int)(k < n ? c->offset[k] : 0));
        fputs("}", ptx);
    }
    fputs(";\n", ptx);
    for (unsigned k = 0; k < 4 && c->halves == SINGLES; k++)
        fprintf(ptx, "cvt.u32.u16 %%v%u, %%h%u;\n", k, k);
    if (c->how != PLAIN) /* what is not resident shows */
        fputs("@!%p1 mov.u32 %v0, 77;\n", ptx);
}

static void put_kernel(const Case *c) {
    fprintf(ptx,
            ".visible .entry k%u(.param .u64 t, .param .u64 i, .param .u64 o) {\n"
            ".reg .f32 %%f<8>, %%g<6>; .reg .b16 %%h<4>; .reg .b32 %%r<8>, %%v<4>, %%e<8>, %%o<2>; .reg .u64 "
            "%%d<8>; .reg "
            ".pred %%p<2>;\n"
            "ld.param.u64 %%d1, [t]; ld.param.u64 %%d2, [i]; ld.param.u64 %%d3, [o]; mov.u32 %%r0, %%tid.x;\n"
            "mul.wide.u32 %%d4, %%r0, 16; add.u64 %%d3, %%d3, %%d4;\n"
            "mad.wide.u32 %%d2, %%r0, 48, %%d2;\n"
            "ld.global.v4.u32 {%%r1, %%r2, %%r3, %%r4}, [%%d2];\n"
            "ld.global.v4.u32 {%%e0, %%e1, %%e2, %%e3}, [%%d2+16];\n"
            "ld.global.v4.u32 {%%e4, %%e5, %%e6, %%e7}, [%%d2+32];\n"
            "mov.u32 %%o1, %d; mov.u32 %%v2, 0; mov.u32 %%v3, 0; setp.eq.u32 %%p1, %%r0, 99;\n",
            number, (int)c->offset[1]);
    for (unsigned k = 1; k <= 3; k++)
        fprintf(ptx, "cvt.rn.f32.s32 %%f%u, %%r%u; mul.f32 %%f%u, %%f%u, 0f3a800000;\n", k, k, k, k);
    for (unsigned k = 0; k < EXTRA; k++)
        fprintf(ptx, "cvt.rn.f32.s32 %%g%u, %%e%u; mul.f32 %%g%u, %%g%u, 0f3a800000;\n", k, k, k, k);
    put_fetch(c);
    fputs("st.global.v4.u32 [%d3], {%v0, %v1, %v2, %v3};\nret; }\n", ptx);
}

static void choose_extra(const Case *c, int64_t extra[EXTRA]) {
    for (unsigned k = 0; k < EXTRA; k++)
        extra[k] = 0;
    if (c->how == LEVEL)
        extra[0] = c->whole ? (int64_t)(rnd() % (c->levels + 3)) - 1
                            : (int64_t)(rnd() % ((c->levels + 3) * UNIT)) - UNIT;
    for (unsigned k = 0; k < EXTRA && c->how == GRAD; k++)
        if (rnd() % 4)
            extra[k] = (int64_t)(rnd() % (2u << rnd() % 11)) - (1 << 9);
}

static void choose_place(const Case *c, int64_t coord[3]) {
    for (unsigned k = 0; k < 3; k++) {
        int64_t span = c->whole ? c->size[k] + 3 : (c->normalized ? 1 : c->size[k]) * UNIT * 4;
        coord[k] = (int64_t)(rnd() % (uint32_t)span) - (c->whole ? 1 : span / 3);
        if (!c->whole && !c->normalized && rnd() % 3 == 0) /* on the edges of texels and their middles */
            coord[k] = coord[k] / (UNIT / 2) * (UNIT / 2);
    }
    if (c->g->cube) { /* the reciprocal of a power of two is exact, and so is what it multiplies */
        unsigned axis = rnd() % 3;
        for (unsigned k = 0; k < 3; k++)
            coord[k] = (int64_t)(rnd() % (2 * UNIT - 1)) - UNIT + 1;
        coord[axis] = rnd() & 1 ? UNIT : -UNIT;
    }
}

static void put_case(const Case *c) {
    put_buffer(c);
    put_texture(c);
    put_kernel(c);
    put_launch();
    separate(buffers);
    fprintf(buffers,
            "\"o%u\": {\"type\": \"u32\", \"count\": %d},\n \"i%u\": {\"type\": \"s32\", \"values\": [",
            number, 4 * LANES, number);
    separate(checks);
    fprintf(checks, "{\"buffer\": \"o%u\", \"values\": [", number);
    for (unsigned lane = 0; lane < LANES; lane++) {
        int64_t coord[3], extra[EXTRA], layer = rnd() % 5;
        choose_place(c, coord);
        choose_extra(c, extra);
        fprintf(buffers, "%s%d, %d, %d, %d", lane ? ", " : "", (int)coord[0], (int)coord[1], (int)coord[2],
                (int)layer);
        for (unsigned k = 0; k < EXTRA + 2; k++) /* 12 words of a lane */
            fprintf(buffers, ", %d", k < EXTRA ? (int)extra[k] : 0);
        fputs(lane ? ", " : "", checks);
        expect_lane(c, layer, coord, extra);
    }
    fputs("]}", buffers);
    fputs("]}", checks);
    number++;
}

/* What the statements of `levels` have in common; v chooses. */
static Case level_case(const Geometry *g, unsigned v) {
    static const Format of[] = {F32, U8, F16, S16, U32, F32, S8};
    Case c = {.g = g, .size = {12, g->n > 1 ? 9 : 1, g->n > 2 ? 6 : 1}, .layers = g->layered ? 3 : 0};
    c.format = of[v % 7];
    c.as_float = c.format <= S16 && v % 2;
    c.channels = 1u << v % 3;
    c.linear = floats(&c) && v % 4;
    c.normalized = v % 3 != 1 || g->cube;
    for (unsigned k = 0; k < 3; k++)
        c.mode[k] = g->cube ? CLAMP : c.normalized ? (Mode)((v + k) % 4) : k & 1 ? BORDER : CLAMP;
    if (g->cube)
        c.size[0] = c.size[1] = 8;
    return c;
}

static void with_levels(Case *c, unsigned v) {
    c->levels = 3;
    c->mip_linear = floats(c) && v % 3;
    c->normalized = true;
    c->bias = v % 2 ? (int64_t)(rnd() % UNIT) - UNIT / 2 : 0;
    c->least = v % 5 == 3 ? 300 : 0;
    c->most = v % 5 == 4 ? 2 * UNIT + 100 : 3 * UNIT;
    if (c->how == LEVEL && c->whole)
        c->linear = c->mip_linear = false;
}

static void with_offsets(Case *c) {
    c->offsets = !c->g->cube;
    for (unsigned k = 0; k < c->g->n && c->offsets; k++)
        c->offset[k] = c->how == GATHER ? (int64_t)(rnd() % 64) - 32 : (int64_t)(rnd() % 16) - 8;
}

static void put_steps(const Geometry *g, unsigned v) {
    Case c = level_case(g, v);
    c.how = GRAD;
    c.halves = v % 4 < 3 ? WORDS : v > 4 ? SINGLES : PAIRS;
    with_levels(&c, v);
    if (v % 2)
        with_offsets(&c);
    put_case(&c);
}

static void put_levels(const Geometry *g) {
    for (unsigned v = 0; v < 8; v++) {
        Case c = level_case(g, v);
        c.how = LEVEL;
        c.whole = v % 4 == 3 && !g->cube;
        with_levels(&c, v);
        if (v % 2)
            with_offsets(&c);
        c.halves = v == 5 ? PAIRS : v == 2 ? SINGLES : WORDS;
        put_case(&c);
    }
    for (unsigned v = 0; v < 4 && !g->cube && g->n < 3; v++)
        put_steps(g, v);
    for (unsigned v = 0; v < 4 && g->n == 2; v++) {
        Case c = level_case(g, v);
        c.how = GATHER;
        c.component = v;
        if (v == 2)
            with_levels(&c, 3);
        if (v % 2 == 0)
            with_offsets(&c);
        put_case(&c);
    }
    for (unsigned v = 0; v < 3 && !g->cube; v++) { /* the only level */
        Case c = level_case(g, 2 * v);
        c.whole = v == 1;
        c.linear &= !c.whole;
        c.halves = v == 0 ? PAIRS : v == 1 ? SINGLES : WORDS;
        with_offsets(&c);
        put_case(&c);
    }
}

static void put_steps_of_three(const Geometry *g) {
    for (unsigned v = 0; v < 8 && (g->cube || g->n == 3); v++)
        put_steps(g, v);
}

static void put_fetches(const Geometry *g) {
    for (unsigned f = 0; f < 8; f++)
        for (unsigned v = 0; v < 5; v++) {
            Case c = {.g = g, .size = {7, g->n > 1 ? 5 : 1, g->n > 2 ? 4 : 1}, .layers = g->layered ? 3 : 0};
            c.format = (Format)f;
            c.channels = 1u << v % 3;
            c.as_float = f <= S16 && v & 1;
            c.linear = floats(&c) && v != 2;
            c.normalized = v == 1 || v == 3 || g->cube;
            c.whole = v == 4 && !g->cube;
            if (c.whole)
                c.linear = false;
            for (unsigned k = 0; k < 3; k++) {
                c.mode[k] = g->cube ? CLAMP : (Mode)((v + k + f) % 4);
                if (!c.normalized && c.mode[k] != BORDER)
                    c.mode[k] = CLAMP;
            }
            if (g->cube)
                c.size[0] = c.size[1] = 4;
            put_case(&c);
        }
}

int main(int argc, char **argv) {
    char *part[4] = {0};
    size_t size[4];
    char name[16];
    if (argc != 3 || chdir(argv[1]) || strlen(argv[2]) > 8)
        return 2;
    snprintf(name, sizeof name, "%s.ptx", argv[2]);
    ptx = fopen(name, "w");
    buffers = open_memstream(&part[0], &size[0]);
    textures = open_memstream(&part[1], &size[1]);
    launches = open_memstream(&part[2], &size[2]);
    checks = open_memstream(&part[3], &size[3]);
    if (!ptx || !buffers || !textures || !launches || !checks)
        return 2;
    fputs(".version 7.1\n.target sm_75\n.address_size 64\n", ptx);
    for (unsigned k = 0; k < sizeof geometries / sizeof *geometries; k++)
        (argv[2][0] == 'k'   ? put_fetches
         : argv[2][0] == 'l' ? put_levels
                             : put_steps_of_three)(&geometries[k]);
    fclose(ptx), fclose(buffers), fclose(textures), fclose(launches), fclose(checks);
    snprintf(name, sizeof name, "%s.json", argv[2]);
    FILE *f = fopen(name, "w");
    if (!f)
        return 2;
    fprintf(f,
            "{\"module\": \"%s.ptx\",\n\"buffers\": {%s},\n\"textures\": {%s},\n\"launches\": "
            "[%s],\n\"checks\": [%s]}\n",
            argv[2], part[0], part[1], part[2], part[3]);
    for (unsigned k = 0; k < 4; k++)
        free(part[k]);
    return fclose(f) ? 2 : 0;
}
