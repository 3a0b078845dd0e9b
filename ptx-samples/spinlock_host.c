/* Inputs and expected output of spinlock.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
static void sample(void) {
    uint32_t data[2] = {0, 0};
    for (uint32_t cta = 0; cta < 3; cta++)
        for (uint32_t t = 0; t < 40; t++)
            if ((t & 3) != 3)
                data[0] += t, data[1]++;
    save("data.bin", data, sizeof data);
}
