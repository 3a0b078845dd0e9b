/* Inputs and expected output of bitonic.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { GRID = 3, N = 256 };
static int up(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}
static int down(const void *a, const void *b) { return up(b, a); }
static void sample(void) {
    static int32_t keys[GRID][N];
    for (int i = 0; i < GRID * N; i++)
        keys[i / N][i % N] = (int32_t)rnd() >> (rnd() & 15);
    save("keys.bin", keys, sizeof keys);
    for (int g = 0; g < GRID; g++)
        qsort(keys[g], N, sizeof keys[g][0], g & 1 ? down : up);
    save("sorted.bin", keys, sizeof keys);
}
