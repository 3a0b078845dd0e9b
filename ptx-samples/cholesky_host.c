/* Inputs and expected output of cholesky.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
#include <math.h>
enum { N = 12, GRID = 4 };
static void sample(void) {
    static double a[GRID][N][N], l[GRID][N][N];
    for (int g = 0; g < GRID; g++) {
        double r[N][N];
        for (int i = 0; i < N * N; i++)
            r[i / N][i % N] = (double)(int32_t)rnd() * 0x1p-31;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                for (int k = 0; k < N; k++)
                    a[g][i][j] += r[i][k] * r[j][k];
                a[g][i][j] += i == j ? N : 0;
            }
        double m[N][N];
        memcpy(m, a[g], sizeof m);
        for (int j = 0; j < N; j++) { /* left-looking, subtracting in the same order of k */
            for (int i = j; i < N; i++)
                for (int k = 0; k < j; k++)
                    m[i][j] -= l[g][i][k] * l[g][j][k];
            l[g][j][j] = sqrt(m[j][j]);
            for (int i = j + 1; i < N; i++)
                l[g][i][j] = m[i][j] / l[g][j][j];
        }
    }
    save("a.bin", a, sizeof a);
    save("l.bin", l, sizeof l);
}
