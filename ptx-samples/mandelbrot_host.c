/* Inputs and expected output of mandelbrot.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { W = 44, H = 30 };
static void sample(void) {
    static uint16_t out[H][W];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float cx = -2.0f + 0.0625f * (float)x, cy = -1.0f + 0.0625f * (float)y, zx = 0, zy = 0;
            int n = 0;
            while (n < 100 && zx * zx + zy * zy < 4.0f) {
                float t = zx * zx - zy * zy + cx;
                zy = 2.0f * zx * zy + cy;
                zx = t;
                n++;
            }
            out[y][x] = (uint16_t)n;
        }
    save("out.bin", out, sizeof out);
}
