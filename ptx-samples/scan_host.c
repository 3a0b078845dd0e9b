/* Inputs and expected output of scan.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 450, BLOCK = 93, GRID = 5 };
static void sample(void) {
    uint32_t in[N], out[N], total[GRID] = {0}, sum = 0;
    for (int i = 0; i < N; i++) {
        in[i] = rnd();
        out[i] = sum += in[i];
        total[i / BLOCK] += in[i];
    }
    save("in.bin", in, sizeof in);
    save("out.bin", out, sizeof out);
    save("total.bin", total, sizeof total);
}
