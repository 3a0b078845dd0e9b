/* Input and expected output of words.cu. SPDX-License-Identifier: MIT */
#include "../host.h"
enum { SIZE = 3000 };
static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static void sample(void) {
    static char text[SIZE];
    static uint32_t lengths[32];
    for (int i = 0; i < SIZE; i++) {
        uint32_t r = rnd() % 60;
        text[i] = r < 26 ? (char)('a' + r) : r < 52 ? (char)('A' + r - 26) : " \n,.@[`{"[r - 52];
    }
    memset(text + 1000, 'x', 40); /* a long one */
    for (int i = 0, n; i < SIZE; i += n ? n : 1) {
        for (n = 0; i + n < SIZE && is_letter(text[i + n]); n++) {
        }
        if (n)
            lengths[n < 31 ? n : 31]++;
    }
    save("text.bin", text, sizeof text);
    save("lengths.bin", lengths, sizeof lengths);
}
