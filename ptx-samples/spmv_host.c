/* Inputs and expected output of spmv.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { ROWS = 250, COLS = 64, MAX = 2000 };
static void sample(void) {
    static int32_t row[ROWS + 1], col[MAX];
    static double val[MAX], x[COLS], y[ROWS];
    int n = 0;
    for (int i = 0; i < COLS; i++)
        x[i] = (double)(int32_t)rnd() * 0x1p-31;
    for (int r = 0; r < ROWS; r++) {
        int len = (int)(rnd() % 15) - 3;
        for (int i = 0; i < len && n < MAX; i++, n++) {
            col[n] = (int32_t)(rnd() % COLS);
            val[n] = (double)(int32_t)rnd() * 0x1p-20;
            y[r] += val[n] * x[col[n]];
        }
        row[r + 1] = n;
    }
    save("row.bin", row, sizeof row);
    save("col.bin", col, sizeof col);
    save("val.bin", val, sizeof val);
    save("x.bin", x, sizeof x);
    save("y.bin", y, sizeof y);
}
