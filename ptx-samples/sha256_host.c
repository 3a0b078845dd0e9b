/* Inputs and expected output of sha256.ptx. SPDX-License-Identifier: MIT */
/* The plain algorithm of FIPS 180-4 on a padded copy of the message; the round constants are computed from
 * the cube roots of the primes, so that a typing error in the kernel's table would show. */
#include "host.h"
#include <math.h>
enum { N = 130, TEXT = 400 };
static uint32_t k[64];
static void constants(void) {
    for (int i = 0, p = 2; i < 64; p++) {
        int prime = 1;
        for (int d = 2; d * d <= p; d++)
            prime &= p % d != 0;
        if (prime) {
            long double r = cbrtl(p);
            k[i++] = (uint32_t)((r - floorl(r)) * 4294967296.0L);
        }
    }
}
static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }
static void block(uint32_t h[8], const uint8_t *p) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 |
               p[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = (rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10) + w[i - 7] +
               (rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 16];
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = s[7] + (rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25)) +
                      ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
        uint32_t t2 = (rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += s[i];
}
static void sample(void) {
    static uint8_t text[TEXT];
    static int32_t length[N];
    static uint32_t digest[N][8];
    constants();
    for (int i = 0; i < TEXT; i++)
        text[i] = (uint8_t)(rnd() >> 9);
    for (int id = 0; id < N; id++) {
        uint8_t pad[512] = {0};
        int len = length[id] = (int32_t)(rnd() % 200), blocks = (len + 8) / 64 + 1;
        memcpy(pad, text + id, (size_t)len);
        pad[len] = 0x80;
        for (int i = 0; i < 4; i++)
            pad[blocks * 64 - 1 - i] = (uint8_t)((uint32_t)len * 8 >> (8 * i));
        uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
        for (int b = 0; b < blocks; b++)
            block(h, pad + b * 64);
        memcpy(digest[id], h, sizeof h);
    }
    save("text.bin", text, sizeof text);
    save("length.bin", length, sizeof length);
    save("digest.bin", digest, sizeof digest);
}
