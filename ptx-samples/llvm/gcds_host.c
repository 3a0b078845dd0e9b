/* Inputs and expected output of gcds.ll: Euclid's algorithm; the rounds are those of the binary one, counted
 * with remainders by two. SPDX-License-Identifier: MIT */
#include "../host.h"
enum { N = 400 };
static uint64_t euclid(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}
static int rounds_of(uint64_t a, uint64_t b) {
    int n = 0;
    if (!a || !b)
        return a || b ? 0 : -1;
    while (a % 2 == 0)
        a /= 2;
    while (b % 2 == 0)
        b /= 2;
    for (; a != b; n++) {
        uint64_t *larger = a > b ? &a : &b;
        *larger = a > b ? a - b : b - a;
        while (*larger % 2 == 0)
            *larger /= 2;
    }
    return n;
}
static void sample(void) {
    static uint64_t a[N], b[N], out[N];
    static int32_t rounds[N];
    for (int i = 0; i < N; i++) {
        uint64_t common = rnd() % 1000;
        a[i] = ((uint64_t)rnd() >> (i % 25)) * common << (i % 20);
        b[i] = ((uint64_t)rnd() >> (i % 29)) * common << (i % 13);
        if (i % 50 == 7)
            a[i] = 0;
        if (i % 70 == 7)
            b[i] = 0;
        out[i] = euclid(a[i], b[i]);
        rounds[i] = rounds_of(a[i], b[i]);
    }
    save("a.bin", a, sizeof a);
    save("b.bin", b, sizeof b);
    save("out.bin", out, sizeof out);
    save("rounds.bin", rounds, sizeof rounds);
}
