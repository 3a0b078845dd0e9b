/* Inputs and expected output of nqueens.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 7 };
static uint32_t place(int row, uint32_t cols, uint32_t left, uint32_t right) {
    if (row == N)
        return 1;
    uint32_t n = 0;
    for (int c = 0; c < N; c++) {
        uint32_t bit = 1u << c;
        if (!((cols | left | right) & bit))
            n += place(row + 1, cols | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return n;
}
static void sample(void) {
    uint32_t count[N * N] = {0};
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++) {
            uint32_t x = 1u << a, y = 1u << b;
            if (!((x | x << 1 | x >> 1) & y))
                count[a * N + b] = place(2, x | y, (x << 1 | y) << 1, (x >> 1 | y) >> 1);
        }
    save("count.bin", count, sizeof count);
}
