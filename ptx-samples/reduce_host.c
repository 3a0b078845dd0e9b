/* Inputs and expected output of reduce.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { GRID = 4, BLOCK = 100, N = 1777 };
static void sample(void) {
    int32_t in[N], out[GRID] = {0};
    for (int i = 0; i < N; i++) {
        in[i] = (int32_t)(rnd() % 2001) - 1000;
        int t = i % BLOCK;
        out[i / BLOCK % GRID] += in[i] * (t % 3 == 0 ? 2 : 1);
    }
    save("in.bin", in, sizeof in);
    save("out.bin", out, sizeof out);
}
