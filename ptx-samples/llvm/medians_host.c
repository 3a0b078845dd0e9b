/* Inputs and expected output of medians.cl. SPDX-License-Identifier: MIT */
#include "../host.h"
enum { WIDTH = 59, HEIGHT = 35 };
static int up(const void *a, const void *b) { return *(const uint16_t *)a - *(const uint16_t *)b; }
static int clamp(int v, int n) { return v < 0 ? 0 : v >= n ? n - 1 : v; }
static void sample(void) {
    static uint16_t in[HEIGHT][WIDTH], out[HEIGHT][WIDTH];
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        in[i / WIDTH][i % WIDTH] = (uint16_t)rnd();
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            uint16_t v[9];
            for (int i = 0; i < 9; i++)
                v[i] = in[clamp(y + i / 3 - 1, HEIGHT)][clamp(x + i % 3 - 1, WIDTH)];
            qsort(v, 9, sizeof *v, up);
            out[y][x] = v[4];
        }
    save("in.bin", in, sizeof in);
    save("out.bin", out, sizeof out);
}
