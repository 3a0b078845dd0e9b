/* Inputs and expected output of warpscan.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 300, BLOCK = 108, GRID = 3 };
static void sample(void) {
    static int32_t in[N], sum[N], any[N];
    static uint32_t ballot[N];
    for (int i = 0; i < N; i++)
        in[i] = (int32_t)(rnd() % 2000) - 1000;
    for (int b = 0; b < GRID; b++)
        for (int w = 0; w < BLOCK; w += 32) {
            int lanes = BLOCK - w < 32 ? BLOCK - w : 32, base = b * BLOCK + w, low = 0, all = 1, s[32],
                acc = 0;
            uint32_t odd = 0;
            for (int l = 0; l < lanes; l++) {
                int v = base + l < N ? in[base + l] : 0;
                odd |= (uint32_t)(v & 1) << l;
                low |= v < -900;
                all &= v < 990;
                s[l] = acc += v;
            }
            for (int l = 0; l < lanes && base + l < N; l++) {
                sum[base + l] = s[l];
                ballot[base + l] = odd;
                any[base + l] = low + 2 * all + ((l ^ 1) < lanes ? s[l ^ 1] : 0) * 4 + s[3];
            }
        }
    save("in.bin", in, sizeof in);
    save("sum.bin", sum, sizeof sum);
    save("ballot.bin", ballot, sizeof ballot);
    save("any.bin", any, sizeof any);
}
