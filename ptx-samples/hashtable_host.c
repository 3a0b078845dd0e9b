/* Inputs and expected output of hashtable.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 220 };
static void sample(void) {
    static uint64_t item[N], probe[N];
    static uint32_t out[N];
    for (int i = 0; i < N; i++) {
        item[i] = (uint64_t)(rnd() % 120 + 1) << 33 | 7;
        probe[i] = (uint64_t)(rnd() % 160 + 1) << 33 | 7;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            out[i] += probe[i] == item[j];
    save("item.bin", item, sizeof item);
    save("probe.bin", probe, sizeof probe);
    save("out.bin", out, sizeof out);
}
