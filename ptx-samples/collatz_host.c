/* Inputs and expected output of collatz.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 300 };
static void sample(void) {
    static uint32_t steps[N];
    static uint64_t peak[N];
    for (int i = 0; i < N; i++) {
        uint64_t v = (uint64_t)i + 1;
        peak[i] = v;
        for (; v != 1; steps[i]++) {
            v = v % 2 ? 3 * v + 1 : v / 2;
            peak[i] = v > peak[i] ? v : peak[i];
        }
    }
    save("steps.bin", steps, sizeof steps);
    save("peak.bin", peak, sizeof peak);
}
