/* Inputs and expected output of nbody.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
#include <math.h>
enum { N = 170 };
static void sample(void) {
    static float b[N][4], f[N][4];
    for (int i = 0; i < N * 4; i++)
        b[i / 4][i % 4] = rnd_f32();
    for (int i = 0; i < N; i++) {
        float fx = 0, fy = 0, fz = 0;
        for (int k = 0; k < N; k++) {
            float dx = b[k][0] - b[i][0], dy = b[k][1] - b[i][1], dz = b[k][2] - b[i][2];
            float d2 = dx * dx + dy * dy + dz * dz + 0.01f;
            if (d2 > 0.75f)
                continue;
            float s = b[k][3] / (d2 * sqrtf(d2));
            fx += dx * s;
            fy += dy * s;
            fz += dz * s;
        }
        f[i][0] = fx, f[i][1] = fy, f[i][2] = fz;
        f[i][3] = sqrtf(fx * fx + fy * fy + fz * fz);
    }
    save("body.bin", b, sizeof b);
    save("force.bin", f, sizeof f);
}
