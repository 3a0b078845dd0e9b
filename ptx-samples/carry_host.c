/* Inputs and expected output of carry.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 140 };
typedef unsigned __int128 u128;
static void sample(void) {
    static u128 in[N][2], out[N][3];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 4; k++) {
                uint32_t w = rnd();
                in[i][j] = in[i][j] << 32 | (w % 5 == 0 ? 0xffffffffu : w % 7 == 0 ? 0 : w);
            }
    for (int i = 0; i < N; i++) {
        out[i][0] = in[i][0] + in[i][1];
        out[i][1] = in[i][0] - in[i][1];
        out[i][2] = (u128)(uint64_t)in[i][0] * (uint64_t)in[i][1];
    }
    save("in.bin", in, sizeof in);
    save("out.bin", out, sizeof out);
}
