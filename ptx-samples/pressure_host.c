/* Inputs and expected output of pressure.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 200 };
static void sample(void) {
    static uint32_t in[N][48], out[N];
    for (int i = 0; i < N * 48; i++)
        in[i / 48][i % 48] = rnd();
    save("in.bin", in, sizeof in);
    for (int id = 0; id < N; id++) {
        uint32_t *v = in[id];
        for (int r = 0; r < 3 + id % 4; r++)
            for (int i = 0; i < 48; i++)
                v[i] = v[i] * 2654435761u + (v[(i * 7 + 5) % 48] ^ v[(i * 5 + 11) % 48] >> 3);
        for (int i = 0; i < 48; i++)
            out[id] = out[id] * 31 + v[i];
    }
    save("out.bin", out, sizeof out);
}
