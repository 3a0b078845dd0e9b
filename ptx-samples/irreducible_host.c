/* Inputs and expected output of irreducible.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 120 };
static void sample(void) {
    static uint32_t out[N][2];
    for (uint32_t i = 0; i < N; i++) {
        uint32_t x = i * 2654435761u + 12345, count = 0;
        int in_middle = i & 1, p;
        for (;;) {
            if (!in_middle) {
                count++;
                x ^= x >> 3;
                if ((x & 7) == 3) {
                    x ^= 0xabcd;
                    break;
                }
            }
            x = x * 1664525u + 1013904223u;
            count += 16;
            p = x >> 28 < 10;
            if (count > 700) {
                x = ~x;
                break;
            }
            in_middle = !p;
            if (!p && (x & 0x1000)) {
                x += count;
                break;
            }
        }
        out[i][0] = x;
        out[i][1] = count;
    }
    save("out.bin", out, sizeof out);
}
