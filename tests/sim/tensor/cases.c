/* cases DIR: launch files for copy.ptx, each with what its copies must give, computed here from the text of
 * PTX ISA 5.5 (tensors) and the CUDA driver's manual (tensor maps), apart from what Heddle does.
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIMS = 5, MOST_BYTES = 8192, MOST_TENSOR = 1 << 16 };

typedef struct {
    const char *kernel, *type;
    int bytes, rank;                                      /* of an element */
    int size[DIMS], box[DIMS], step[DIMS], at[DIMS], pad; /* pad: bytes behind each row */
    int swizzle;                                          /* bytes, 0: none */
    int nan;
    int lower[3], upper[3], offset[3], channels, pixels; /* im2col where pixels is not 0 */
} Case;

static uint8_t tensor[MOST_TENSOR], image[MOST_BYTES], source[MOST_BYTES];
static long stride[DIMS];
static long tensor_bytes;

static void make_tensor(const Case *c) {
    stride[0] = c->bytes;
    for (int k = 1; k < DIMS; k++)
        stride[k] = (k - 1 < c->rank ? stride[k - 1] * c->size[k - 1] : 0) + (k == 1 ? c->pad : 0);
    tensor_bytes = stride[c->rank - 1] * c->size[c->rank - 1];
    for (long i = 0; i < tensor_bytes; i++)
        tensor[i] = (uint8_t)(i * 37 + i / 251);
    for (long i = 0; i < MOST_BYTES; i++)
        source[i] = (uint8_t)(i * 101 + i / 83);
}

/* Offset of the element, -1 outside. */
static long inside(const Case *c, const int x[]) {
    long at = 0;
    for (int k = 0; k < c->rank; k++) {
        if (x[k] < 0 || x[k] >= c->size[k])
            return -1;
        at += x[k] * stride[k];
    }
    return at;
}

/* Where byte `at` of the box lies in shared memory whose begin is at a multiple of 1024. */
static long place(const Case *c, long at) {
    long row = at / 128;
    switch (c->swizzle) {
    case 32: return at ^ ((row & 1) << 4);
    case 64: return at ^ ((row & 3) << 4);
    case 128: return at ^ ((row & 7) << 4);
    default: return at;
    }
}

static void put(const Case *c, long number, const int x[]) {
    long from = inside(c, x), to = place(c, number * c->bytes);
    for (int i = 0; i < c->bytes; i++) /* NaN: 0x7ff7 in each 16 bits, as an H100 writes it */
        image[to + i] = from >= 0 ? tensor[from + i] : (uint8_t)(!c->nan ? 0 : i % 2 ? 0x7f : 0xf7);
}

static long tiles(const Case *c, void (*with)(const Case *, long, const int[])) {
    long n = 0;
    int k[DIMS] = {0}, x[DIMS], count[DIMS];
    for (int d = 0; d < DIMS; d++)
        count[d] = d < c->rank ? (d ? (c->box[d] + c->step[d] - 1) / c->step[d] : c->box[0]) : 1;
    for (k[4] = 0; k[4] < count[4]; k[4]++)
        for (k[3] = 0; k[3] < count[3]; k[3]++)
            for (k[2] = 0; k[2] < count[2]; k[2]++)
                for (k[1] = 0; k[1] < count[1]; k[1]++)
                    for (k[0] = 0; k[0] < count[0]; k[0]++) {
                        for (int d = 0; d < c->rank; d++)
                            x[d] = c->at[d] + k[d] * (d ? c->step[d] : 1);
                        with(c, n++, x);
                    }
    return n;
}

/* All pixels of the box in their order; the copy's begin with the one at its coordinates. */
static long pixels(const Case *c) {
    int spatial = c->rank - 2, x[DIMS], seen = 0, w[3] = {0}, last[3] = {0}, begun = 0;
    for (int k = 0; k < 3; k++)
        last[k] = k < spatial ? c->size[k + 1] - 1 + c->upper[k] : 0;
    for (int image_number = c->at[c->rank - 1]; seen < c->pixels; image_number++)
        for (w[2] = spatial > 2 ? c->lower[2] : 0; w[2] <= last[2]; w[2] += spatial > 2 ? c->step[3] : 1)
            for (w[1] = spatial > 1 ? c->lower[1] : 0; w[1] <= last[1]; w[1] += spatial > 1 ? c->step[2] : 1)
                for (w[0] = c->lower[0]; w[0] <= last[0]; w[0] += c->step[1]) {
                    int first = 1;
                    for (int k = 0; k < spatial; k++)
                        first &= w[k] == c->at[1 + k];
                    begun |= first;
                    if (!begun || seen == c->pixels)
                        continue;
                    for (int ch = 0; ch < c->channels; ch++) {
                        x[0] = c->at[0] + ch;
                        for (int k = 0; k < spatial; k++)
                            x[1 + k] = w[k] + c->offset[k];
                        x[c->rank - 1] = image_number;
                        put(c, (long)seen * c->channels + ch, x);
                    }
                    seen++;
                }
    return (long)c->pixels * c->channels;
}

static void store(const Case *c, long number, const int x[]) {
    long to = inside(c, x), from = place(c, number * c->bytes);
    if (to < 0)
        return;
    if (strcmp(c->kernel, "add2") != 0) {
        memcpy(tensor + to, source + from, (size_t)c->bytes);
        return;
    }
    uint32_t a, b; /* u32 */
    memcpy(&a, tensor + to, 4);
    memcpy(&b, source + from, 4);
    a += b;
    memcpy(tensor + to, &a, 4);
}

static void list(FILE *out, const char *name, const int *v, int n) {
    fprintf(out, ", \"%s\": [", name);
    for (int k = 0; k < n; k++)
        fprintf(out, "%s%d", k ? ", " : "", v[k]);
    fprintf(out, "]");
}
static void bytes(FILE *out, const uint8_t *v, long n) {
    for (long i = 0; i < n; i++)
        fprintf(out, "%s%d", i ? ", " : "", v[i]);
}

static void write_case(const Case *c, FILE *out) {
    int stores = strcmp(c->kernel, "store2") == 0 || strcmp(c->kernel, "add2") == 0;
    make_tensor(c);
    fprintf(out, "{\"buffers\": {\"t\": {\"type\": \"u8\", \"count\": %ld, \"values\": [", tensor_bytes);
    bytes(out, tensor, tensor_bytes);
    memset(image, 0, sizeof image);
    long n = stores ? tiles(c, store) : c->pixels ? pixels(c) : tiles(c, put), size = n * c->bytes;
    fprintf(out, "]}, \"out\": {\"type\": \"u8\", \"count\": %ld", size);
    if (stores) {
        fprintf(out, ", \"values\": [");
        bytes(out, source, size);
        fprintf(out, "]");
    }
    fprintf(out, "}},\n\"tensormaps\": {\"map\": {\"buffer\": \"t\", \"type\": \"%s\"", c->type);
    list(out, "size", c->size, c->rank);
    fprintf(out, ", \"strides\": [");
    for (int k = 1; k < c->rank; k++)
        fprintf(out, "%s%ld", k > 1 ? ", " : "", stride[k]);
    fprintf(out, "]");
    list(out, "steps", c->step, c->rank);
    if (c->pixels) {
        list(out, "lower", c->lower, c->rank - 2);
        list(out, "upper", c->upper, c->rank - 2);
        fprintf(out, ", \"channels\": %d, \"pixels\": %d", c->channels, c->pixels);
    } else {
        list(out, "box", c->box, c->rank);
    }
    fprintf(out, ", \"swizzle\": \"");
    fprintf(out, c->swizzle ? "%dB\"" : "none\"", c->swizzle);
    fprintf(out, ", \"fill\": \"%s\"}},\n", c->nan ? "nan" : "zero");
    fprintf(out,
            "\"launches\": [{\"kernel\": \"%s\", \"grid\": [1], \"block\": [32], \"args\": [\"tmap:map\", "
            "\"out\"",
            c->kernel);
    for (int k = 0; k < c->rank; k++)
        fprintf(out, ", \"s32:%d\"", c->at[k]);
    fprintf(out, ", \"u32:%ld\"]}],\n\"checks\": [{\"buffer\": \"%s\", \"values\": [", size,
            stores ? "t" : "out");
    bytes(out, stores ? tensor : image, stores ? tensor_bytes : size);
    fprintf(out, "]}]}\n");
}

#define ONES                                                                                                 \
    { 1, 1, 1, 1, 1 }
static const Case cases[] = {
    {.kernel = "load1",
     .type = "u32",
     .bytes = 4,
     .rank = 1,
     .size = {100},
     .box = {32},
     .step = ONES,
     .at = {80}},
    {.kernel = "load1",
     .type = "u8",
     .bytes = 1,
     .rank = 1,
     .size = {100},
     .box = {64},
     .step = ONES,
     .at = {-16}},
    {.kernel = "load2",
     .type = "f16",
     .bytes = 2,
     .rank = 2,
     .size = {64, 20},
     .box = {32, 8},
     .step = ONES,
     .at = {16, 5},
     .swizzle = 64},
    {.kernel = "load2",
     .type = "f16",
     .bytes = 2,
     .rank = 2,
     .size = {72, 40},
     .box = {64, 32},
     .step = ONES,
     .at = {8, 8},
     .swizzle = 128,
     .pad = 32},
    {.kernel = "load2",
     .type = "bf16",
     .bytes = 2,
     .rank = 2,
     .size = {24, 9},
     .box = {64, 16},
     .step = ONES,
     .at = {-8, -2},
     .swizzle = 128,
     .nan = 1},
    {.kernel = "load2",
     .type = "f32",
     .bytes = 4,
     .rank = 2,
     .size = {20, 33},
     .box = {8, 16},
     .step = {1, 3, 1, 1, 1},
     .at = {16, 20},
     .swizzle = 32,
     .nan = 1},
    {.kernel = "load2",
     .type = "f64",
     .bytes = 8,
     .rank = 2,
     .size = {6, 7},
     .box = {4, 4},
     .step = ONES,
     .at = {4, 5},
     .nan = 1},
    {.kernel = "load3",
     .type = "s32",
     .bytes = 4,
     .rank = 3,
     .size = {8, 6, 5},
     .box = {4, 4, 3},
     .step = {1, 2, 1, 1, 1},
     .at = {4, -1, 3}},
    {.kernel = "load4",
     .type = "u16",
     .bytes = 2,
     .rank = 4,
     .size = {8, 5, 4, 3},
     .box = {8, 3, 2, 2},
     .step = {1, 1, 1, 2, 1},
     .at = {0, 3, 1, 1}},
    {.kernel = "load5",
     .type = "f16",
     .bytes = 2,
     .rank = 5,
     .size = {8, 3, 3, 3, 3},
     .box = {16, 2, 2, 2, 3},
     .step = ONES,
     .at = {-8, 2, -1, 1, 1},
     .swizzle = 32},
    {.kernel = "im2col3",
     .type = "f16",
     .bytes = 2,
     .rank = 3,
     .size = {16, 9, 3},
     .step = ONES,
     .at = {0, -1, 0},
     .lower = {-1},
     .upper = {-1},
     .offset = {1},
     .channels = 16,
     .pixels = 20},
    {.kernel = "im2col4",
     .type = "f16",
     .bytes = 2,
     .rank = 4,
     .size = {16, 7, 6, 3},
     .step = ONES,
     .at = {8, 2, 1, 0},
     .lower = {-1, -1},
     .upper = {-1, -1},
     .offset = {1, 2},
     .channels = 8,
     .pixels = 64},
    {.kernel = "im2col4",
     .type = "f32",
     .bytes = 4,
     .rank = 4,
     .size = {8, 9, 9, 2},
     .step = {1, 2, 2, 1, 1},
     .at = {0, 1, 3, 0},
     .lower = {-1, -1},
     .upper = {-1, -1},
     .offset = {1, 2},
     .channels = 8,
     .pixels = 30,
     .swizzle = 32},
    {.kernel = "im2col5",
     .type = "u8",
     .bytes = 1,
     .rank = 5,
     .size = {32, 4, 5, 3, 2},
     .step = {1, 1, 2, 1, 1},
     .at = {0, 1, 1, -2, 0},
     .lower = {0, -1, -2},
     .upper = {0, 0, 1},
     .offset = {1, 0, 2},
     .channels = 16,
     .pixels = 100},
    {.kernel = "store2",
     .type = "f16",
     .bytes = 2,
     .rank = 2,
     .size = {40, 10},
     .box = {32, 8},
     .step = ONES,
     .at = {16, 5},
     .swizzle = 64},
    {.kernel = "store2",
     .type = "u64",
     .bytes = 8,
     .rank = 2,
     .size = {6, 10},
     .box = {4, 8},
     .step = {1, 3, 1, 1, 1},
     .at = {4, 5}},
    {.kernel = "add2",
     .type = "u32",
     .bytes = 4,
     .rank = 2,
     .size = {40, 10},
     .box = {32, 8},
     .step = ONES,
     .at = {16, 5},
     .swizzle = 128},
};

int main(int argc, char **argv) {
    for (size_t k = 0; argc > 1 && k < sizeof cases / sizeof *cases; k++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%02zu.json", argv[1], k);
        FILE *out = fopen(name, "w");
        if (!out)
            return 1;
        write_case(&cases[k], out);
        if (fclose(out))
            return 1;
        printf("%s %s\n", name, cases[k].kernel);
    }
    return argc < 2;
}
