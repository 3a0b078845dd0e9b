/* Inputs and expected output of wmma_gemm.ptx. The numbers have few bits, so every sum is exact.
 * SPDX-License-Identifier: MIT */
#include "host.h"
enum { M = 64, N = 96, K = 64 };
static uint16_t half_of_eighths(int v) { /* v / 8, |v| < 16 */
    int size = v < 0 ? -v : v, exp = 0;
    if (!v)
        return 0;
    while (size >> (exp + 1))
        exp++;
    return (uint16_t)((v < 0 ? 0x8000 : 0) | (exp - 3 + 15) << 10 | (size << (10 - exp) & 0x3ff));
}
static void sample(void) {
    static int a[M][K], b[K][N];
    static uint16_t half_a[M][K], half_b[K][N];
    static int8_t byte_a[M][K], byte_b[N][K]; /* b by columns */
    static float c[M][N], d[M][N];
    static int32_t e[M][N];
    for (int i = 0; i < M * K; i++) {
        a[i / K][i % K] = (int)(rnd() % 31) - 15;
        half_a[i / K][i % K] = half_of_eighths(a[i / K][i % K]);
        byte_a[i / K][i % K] = (int8_t)rnd();
    }
    for (int i = 0; i < K * N; i++) {
        b[i / N][i % N] = (int)(rnd() % 31) - 15;
        half_b[i / N][i % N] = half_of_eighths(b[i / N][i % N]);
        byte_b[i % N][i / N] = (int8_t)rnd();
    }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int sum = 0, old = (int)(rnd() % 2001) - 1000;
            c[i][j] = (float)old;
            e[i][j] = 0;
            for (int p = 0; p < K; p++) {
                sum += a[i][p] * b[p][j];
                e[i][j] += byte_a[i][p] * byte_b[j][p];
            }
            d[i][j] = (float)(sum + 64 * old) / 128.0f;
        }
    save("ha.bin", half_a, sizeof half_a);
    save("hb.bin", half_b, sizeof half_b);
    save("ba.bin", byte_a, sizeof byte_a);
    save("bb.bin", byte_b, sizeof byte_b);
    save("c.bin", c, sizeof c);
    save("d.bin", d, sizeof d);
    save("e.bin", e, sizeof e);
}
