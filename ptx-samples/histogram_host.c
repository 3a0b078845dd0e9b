/* Inputs and expected output of histogram.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 3001 };
static void sample(void) {
    uint8_t in[N];
    uint32_t bins[64] = {0}, max = 0;
    for (int i = 0; i < N; i++) {
        in[i] = (uint8_t)(rnd() >> 11);
        if (in[i] != 255)
            bins[in[i] >> 2]++;
        if (in[i] > max)
            max = in[i];
    }
    save("in.bin", in, sizeof in);
    save("bins.bin", bins, sizeof bins);
    save("max.bin", &max, sizeof max);
}
