/* Inputs and expected output of stencil.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { W = 50, H = 20 };
static void sweep(float in[H][W], float out[H][W]) {
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            out[y][x] =
                x == 0 || y == 0 || x == W - 1 || y == H - 1
                    ? in[y][x]
                    : in[y][x] * 0.5f + 0.125f * (in[y - 1][x] + in[y + 1][x] + in[y][x - 1] + in[y][x + 1]);
}
static void sample(void) {
    static float a[H][W], b[H][W];
    for (int i = 0; i < W * H; i++)
        a[i / W][i % W] = rnd_f32() * 100;
    save("a.bin", a, sizeof a);
    sweep(a, b);
    sweep(b, a);
    sweep(a, b);
    save("b.bin", b, sizeof b);
}
