/* Division of 32 bits as Heddle (lower/select/divide.c) and ptxas 13.0 write it out, which the prover takes
 * for the quotient (check/prove/lane/idiom.c): right for every dividend and divisor, wherever in its bound
 * the last bits of MUFU.RCP are: within 2 units of the nearest for ours, 1 for ptxas's, which makes it less
 * small.
 *
 * For one divisor b all dividends at once: with y = 2^32 / b less a little, y b = 2^32 - d, the first
 * quotient of a is floor(a y / 2^32) > a / b - d / b - 1. It is not too large if d >= 0, and two corrections
 * suffice if d <= 2 b. The sequence itself, corrections, signs and zero included, is then compared with the
 * host's division.
 *
 *   test_division         every 997th divisor, small and large ones, powers of two and their neighbours (the
 * ctest) test_division all     all divisors SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { STRIDE = 997, NEAR = 70000, PAIRS = 2000000 };
typedef struct {
    uint32_t too_small; /* added to the bits of the reciprocal */
    int ulps;           /* of MUFU.RCP */
} Way;
static const Way ways[] = {{0xffffffd, 2}, {0xffffffe, 1}};
enum { WAYS = sizeof ways / sizeof *ways };

static uint32_t bits_of(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}
static float of_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* I2F.U32.RP: the least float that is not below */
static float rounded_up(uint32_t b) {
    float f = (float)b;
    return (double)f < (double)b ? nextafterf(f, INFINITY) : f;
}

/* The reciprocal of b in units of 2^-32, refined once; `off` units in the last place of MUFU.RCP's result. */
static uint32_t reciprocal(uint32_t b, const Way *way, int off) {
    float f = (float)(1.0 / (double)rounded_up(b));
    uint32_t y = (uint32_t)of_bits(bits_of(f) + (uint32_t)off + way->too_small);
    uint32_t error = (0u - b) * y;
    return (uint32_t)(((uint64_t)y * error + ((uint64_t)y << 32)) >> 32);
}

static bool divisor_is_right(uint32_t b, const Way *way, int off) {
    uint64_t product = (uint64_t)reciprocal(b, way, off) * b, one = 1ull << 32;
    return product <= one && one - product <= 2ull * b;
}

static void divide(uint32_t a, uint32_t b, uint32_t inverse, uint32_t *quotient, uint32_t *rest) {
    uint32_t q = (uint32_t)((uint64_t)inverse * a >> 32), r = a - q * b;
    for (int k = 0; k < 2; k++)
        if (r >= b) {
            r -= b;
            q++;
        }
    *quotient = q;
    *rest = r;
}

static uint64_t wrong;
static void wrong_at(const char *what, uint32_t a, uint32_t b, int off) {
    if (wrong++ < 10)
        fprintf(stderr, "%s: %u, %u, MUFU %+d\n", what, a, b, off);
}

static void check_divisor(uint32_t b) {
    for (const Way *way = ways; way < ways + WAYS && b; way++)
        for (int off = -way->ulps; off <= way->ulps; off++)
            if (!divisor_is_right(b, way, off))
                wrong_at("the reciprocal is too far off", 0, b, off);
}

static void check_quotients(uint32_t a, uint32_t b, const Way *way, int off) {
    uint32_t q, r, n = a >> 31 ? 0u - a : a, d = b >> 31 ? 0u - b : b;
    divide(a, b, reciprocal(b, way, off), &q, &r);
    if (q != a / b || r != a % b)
        wrong_at("unsigned", a, b, off);
    divide(n, d, reciprocal(d, way, off), &q, &r);
    int64_t x = (int32_t)a, y = (int32_t)b; /* -2^31 / -1 is 2^31, whose low word PTX gives */
    if (((a ^ b) >> 31 ? 0u - q : q) != (uint32_t)(x / y) || (a >> 31 ? 0u - r : r) != (uint32_t)(x % y))
        wrong_at("signed", a, b, off);
}

static void check_pair(uint32_t a, uint32_t b) {
    for (const Way *way = ways; way < ways + WAYS && b; way++)
        for (int off = -way->ulps; off <= way->ulps; off++)
            check_quotients(a, b, way, off);
}

int main(int argc, char **argv) {
    uint32_t stride = argc > 1 && strcmp(argv[1], "all") == 0 ? 1 : STRIDE;
    for (uint64_t b = 1; b < 1ull << 32; b += stride)
        check_divisor((uint32_t)b);
    for (uint32_t k = 0; k < NEAR; k++) {
        check_divisor(k);
        check_divisor(0u - k);
    }
    uint64_t rng = 20261123;
    for (unsigned e = 0; e < 32; e++)
        for (int k = -300; k <= 300; k++) {
            uint32_t b = (1u << e) + (uint32_t)k;
            check_divisor(b);
            for (uint32_t n = 0; n < 8 && b; n++) {
                uint32_t m = (uint32_t)rng_next(&rng) / b * b; /* a multiple, and what is next to it */
                check_pair(m, b);
                check_pair(m - 1, b);
                check_pair(m + 1, b);
                check_pair(UINT32_MAX - n, b);
            }
        }
    for (uint32_t k = 0; k < PAIRS; k++) {
        uint64_t h = rng_next(&rng);
        check_pair((uint32_t)h >> (h >> 32 & 31), (uint32_t)rng_next(&rng) >> (h >> 40 & 31));
    }
    printf("%llu wrong\n", (unsigned long long)wrong);
    return wrong != 0;
}
