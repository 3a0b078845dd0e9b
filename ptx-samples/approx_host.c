/* Inputs and expected output of approx.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
#include <math.h>
enum { N = 640 };
static void sample(void) {
    static float in[N], out[N];
    for (int i = 0; i < N; i++) {
        in[i] = 0.01f + 3.0f * rnd_f32();
        double x = in[i];
        double r[] = {1 / x,  1 / sqrt(x), sqrt(x), sin(x),
                      cos(x), log2(x),     exp2(x), x / (double)(in[i] + 1.5f)};
        out[i] = (float)r[i % 8];
    }
    save("in.bin", in, sizeof in);
    save("out.bin", out, sizeof out);
}
