/* Inputs and expected output of calls.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 160 };
static void sample(void) {
    static int64_t num[N], den[N];
    static int32_t steps[N];
    for (int i = 0; i < N; i++) {
        int64_t a = 0, b = 1;
        for (int k = 1; k <= 3 + i % 9; k++) {
            int64_t c = k % 2 ? 1 + i % 5 : -1, d = k + i % 3;
            a = a * d + c * b;
            b *= d;
            int64_t x = a < 0 ? -a : a, y = b;
            while (y) {
                int64_t t = x % y;
                x = y, y = t;
            }
            a /= x, b /= x;
        }
        num[i] = a, den[i] = b;
        for (uint32_t v = (uint32_t)i + 1; v > 1 && steps[i] < 40; steps[i]++)
            v = v % 2 ? 3 * v + 1 : v / 2;
    }
    save("num.bin", num, sizeof num);
    save("den.bin", den, sizeof den);
    save("steps.bin", steps, sizeof steps);
}
