/* Writes k.ptx and k.json into a directory: fetches from textures of every geometry, format, filter and
 * address mode, with the values that must come out. They are computed here from the definitions of the CUDA
 * C++ programming guide ("Texture Fetching"), in whole numbers: coordinates are multiples of 2^-10, texels
 * are small, so positions, weights and sums are exact. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LANES = 32, UNIT = 1024 /* of coordinates */, MOST_TEXELS = 2048 };

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
} Case;

static int32_t texels[MOST_TEXELS]; /* values; of F16 and F32 too, which hold them exactly */

static bool floats(const Case *c) { return c->as_float || c->format >= F16; }

static double value_of(const Case *c, int32_t texel) {
    static const double most[] = {255, 127, 65535, 32767};
    if (!c->as_float)
        return texel;
    float v = (float)(texel / most[c->format]);
    return v < -1 ? -1 : v;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Texel i on axis k; -1: the border. */
static int64_t address(const Case *c, unsigned k, int64_t i) {
    int64_t n = c->size[k], turn = floor_div(i, n), rest = i - turn * n;
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
        index = index * c->size[k] + i[k];
    return value_of(c, texels[index * (int64_t)c->channels + channel]);
}

/* position: in units of a texel / (UNIT * denominator) */
static double filtered(const Case *c, int64_t slice, const int64_t *position, int64_t denominator,
                       unsigned channel) {
    int64_t one = UNIT * denominator, low[3] = {0}, part[3] = {0};
    for (unsigned k = 0; k < c->g->n; k++) {
        int64_t p = position[k] - (c->linear ? one / 2 : 0);
        low[k] = floor_div(p, one);
        part[k] = c->linear ? floor_div((p - low[k] * one) * 256 * 2 + one, one * 2) : 0; /* to nearest */
    }
    long double sum = 0;
    for (unsigned corner = 0; corner < 8; corner++) {
        int64_t weight = 1, i[3];
        bool border = false;
        for (unsigned k = 0; k < 3; k++) {
            unsigned up = corner >> k & 1;
            weight *= k < c->g->n ? (up ? part[k] : 256 - part[k]) : up ? 0 : 256;
            i[k] = k < c->g->n ? address(c, k, low[k] + up) : 0;
            border |= i[k] < 0;
        }
        if (weight)
            sum += (long double)weight * (border ? channel + 1 : at(c, slice, i, channel));
    }
    return (double)(sum / (256.0L * 256 * 256));
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
    fputs("]}", textures);
}

static int64_t count_texels(const Case *c) {
    return c->size[0] * c->size[1] * c->size[2] * (c->layers ? c->layers : 1) * (c->g->cube ? 6 : 1) *
           c->channels;
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

/* Coordinates of a lane: layer, then numbers in UNITs. */
static void expect_lane(const Case *c, int64_t layer, const int64_t *coord) {
    int64_t slice = (layer < c->layers ? layer : c->layers ? c->layers - 1 : 0) * (c->g->cube ? 6 : 1);
    int64_t position[3] = {0}, denominator = 1;
    for (unsigned k = 0; k < c->g->n; k++)
        position[k] = coord[k] * (c->normalized ? c->size[k] : 1);
    if (c->g->cube) {
        int64_t place[2], longest;
        slice += face_of(coord, place, &longest);
        denominator = 1; /* the longest part is a power of two: see put_case */
        for (unsigned k = 0; k < 2; k++)
            position[k] = place[k] * c->size[k] * UNIT / (2 * longest);
    }
    bool inside = true;
    int64_t whole[3] = {0};
    for (unsigned k = 0; k < c->g->n; k++) {
        whole[k] = coord[k];
        inside &= coord[k] >= 0 && coord[k] < c->size[k];
    }
    for (unsigned channel = 0; channel < 4; channel++) {
        double v = channel == 3;
        if (c->whole && !inside)
            v = 0;
        else if (channel < c->channels)
            v = c->whole ? at(c, slice, whole, channel) : filtered(c, slice, position, denominator, channel);
        put_result(v, floats(c));
        fputs(channel < 3 ? ", " : "", checks);
    }
}

static void put_kernel(const Case *c) {
    unsigned n = c->g->cube ? 3 : c->g->n, given = 0;
    fprintf(ptx,
            ".visible .entry k%u(.param .u64 t, .param .u64 i, .param .u64 o) {\n"
            ".reg .f32 %%f<8>; .reg .b32 %%r<8>, %%v<4>; .reg .u64 %%d<8>;\n"
            "ld.param.u64 %%d1, [t]; ld.param.u64 %%d2, [i]; ld.param.u64 %%d3, [o]; mov.u32 %%r0, %%tid.x;\n"
            "mul.wide.u32 %%d4, %%r0, 16; add.u64 %%d2, %%d2, %%d4; add.u64 %%d3, %%d3, %%d4;\n"
            "ld.global.v4.u32 {%%r1, %%r2, %%r3, %%r4}, [%%d2];\n",
            number);
    for (unsigned k = 1; k <= 3; k++)
        fprintf(ptx, "cvt.rn.f32.s32 %%f%u, %%r%u; mul.f32 %%f%u, %%f%u, 0f3a800000;\n", k, k, k, k);
    fprintf(ptx, "tex.%s.v4.%s.%s {%%v0, %%v1, %%v2, %%v3}, [%%d1, {", c->g->name,
            floats(c)       ? "f32"
            : c->format & 1 ? "s32"
                            : "u32",
            c->whole ? "s32" : "f32");
    if (c->g->layered)
        fputs("%r4", ptx), given++;
    for (unsigned k = 1; k <= n; k++, given++)
        fprintf(ptx, "%s%%%s%u", given ? ", " : "", c->whole ? "r" : "f", k);
    for (; given == 3; given++)
        fprintf(ptx, ", %%%s1", c->whole ? "r" : "f");
    fputs("}];\nst.global.v4.u32 [%d3], {%v0, %v1, %v2, %v3};\nret; }\n", ptx);
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
        int64_t coord[3], layer = rnd() % 5;
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
        fprintf(buffers, "%s%d, %d, %d, %d", lane ? ", " : "", (int)coord[0], (int)coord[1], (int)coord[2],
                (int)layer);
        fputs(lane ? ", " : "", checks);
        expect_lane(c, layer, coord);
    }
    fputs("]}", buffers);
    fputs("]}", checks);
    number++;
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
    if (argc != 2 || chdir(argv[1]))
        return 2;
    ptx = fopen("k.ptx", "w");
    buffers = open_memstream(&part[0], &size[0]);
    textures = open_memstream(&part[1], &size[1]);
    launches = open_memstream(&part[2], &size[2]);
    checks = open_memstream(&part[3], &size[3]);
    if (!ptx || !buffers || !textures || !launches || !checks)
        return 2;
    fputs(".version 7.0\n.target sm_75\n.address_size 64\n", ptx);
    for (unsigned k = 0; k < sizeof geometries / sizeof *geometries; k++)
        put_fetches(&geometries[k]);
    fclose(ptx), fclose(buffers), fclose(textures), fclose(launches), fclose(checks);
    FILE *f = fopen("k.json", "w");
    if (!f)
        return 2;
    fprintf(f,
            "{\"module\": \"k.ptx\",\n\"buffers\": {%s},\n\"textures\": {%s},\n\"launches\": "
            "[%s],\n\"checks\": [%s]}\n",
            part[0], part[1], part[2], part[3]);
    for (unsigned k = 0; k < 4; k++)
        free(part[k]);
    return fclose(f) ? 2 : 0;
}
