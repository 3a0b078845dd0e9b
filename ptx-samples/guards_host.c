/* Inputs and expected output of guards.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 190 };
static void sample(void) {
    static int32_t in[N];
    static uint32_t out[N][2];
    for (int i = 0; i < N; i++)
        in[i] = (int32_t)(rnd() % 400) - 150;
    for (uint32_t i = 0; i < N; i++) {
        int32_t v = 17;
        uint32_t low = i & 3, x;
        int p1 = low != 0, p2, p7;
        if (p1)
            v = in[i];
        p2 = v < 100;
        v = p2 ? v + 1000 : v - 7;
        x = !p2 ? (uint32_t)(v * 3) : low;
        if ((p1 && !p2) ^ p2)
            x ^= 0x5a5a;
        else
            x <<= 2;
        p7 = (int32_t)x > 40 && p1;
        uint32_t y = p7 ? x : (uint32_t)v;
        uint64_t z = p7 ? (uint64_t)y * 0x10001 : y;
        out[i][0] = (uint32_t)z;
        out[i][1] = low == 2 ? (uint32_t)v : (uint32_t)(z >> 32);
    }
    save("in.bin", in, sizeof in);
    save("out.bin", out, sizeof out);
}
