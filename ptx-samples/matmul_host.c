/* Inputs and expected output of matmul.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { M = 33, N = 27, K = 41, T = 10 };
static void sample(void) {
    static float a[M][K], b[K][N], c[M][N];
    for (int i = 0; i < M * K; i++)
        a[i / K][i % K] = rnd_f32() - 0.5f;
    for (int i = 0; i < K * N; i++)
        b[i / N][i % N] = rnd_f32() - 0.5f;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int p = 0; p < (K + T - 1) / T * T; p++) /* padding adds +0 products, which keeps -0 away */
                sum += p < K ? a[i][p] * b[p][j] : 0.0f;
            c[i][j] = sum;
        }
    save("a.bin", a, sizeof a);
    save("b.bin", b, sizeof b);
    save("c.bin", c, sizeof c);
}
