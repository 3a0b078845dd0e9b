/* Numbers as dumps print them: exact decimal fractions, so that reading them through double rounds nothing.
 * SPDX-License-Identifier: MIT */
#include "learn/number.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *learn_hex(const char *text, uint64_t *value) {
    unsigned n = 0;
    *value = 0;
    for (; isxdigit((unsigned char)text[n]); n++) {
        if (n == 16)
            return NULL;
        int c = tolower((unsigned char)text[n]);
        *value = *value << 4 | (uint64_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
    }
    return n ? text + n : NULL;
}

/* Of a binary16; what lies between two of them goes to the nearer one. */
static uint32_t bits_of_half(double value) {
    uint32_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    double fraction = frexp(fabs(value), &exponent); /* [0.5, 1) */
    if (isinf(value) || exponent > 16)
        return sign | 0x7c00;
    if (fraction == 0)
        return sign;
    if (exponent < -13) /* subnormal: units of 2^-24 */
        return sign | (uint32_t)nearbyint(ldexp(fraction, exponent + 24));
    return sign | ((uint32_t)(exponent + 13) * 1024 + (uint32_t)nearbyint(ldexp(fraction, 11)));
}

static uint32_t number_bits(double value, LearnNumber number) {
    float single = (float)value;
    uint64_t wide;
    uint32_t bits;
    memcpy(&bits, &single, 4);
    memcpy(&wide, &value, 8);
    switch (number) {
    case LEARN_F64: return (uint32_t)(wide >> 32);
    case LEARN_F16: return bits_of_half(value);
    case LEARN_BF16: return bits >> 16;
    case LEARN_F32: break;
    }
    return bits;
}

/* Also a modifier ends it: 0.5.H1 */
static bool ends_number(const char *p) {
    return *p == '.' ? isalpha((unsigned char)p[1]) : !isalnum((unsigned char)*p) && *p != '_';
}

/* INF, NAN, QNAN, SNAN behind a sign; a NaN's bits, which Heddle's text has: QNAN(0x7fffffff). */
static const char *named_float(const char *text, double sign, LearnNumber number, uint32_t *bits, bool *nan) {
    static const char *const names[] = {"INF", "QNAN", "SNAN", "NAN"};
    for (unsigned i = 0; i < 4; i++) {
        size_t size = strlen(names[i]);
        if (strncmp(text, names[i], size) != 0 || !ends_number(text + size))
            continue;
        *nan = i > 0;
        uint64_t value;
        const char *end =
            *nan && strncmp(text + size, "(0x", 3) == 0 ? learn_hex(text + size + 3, &value) : NULL;
        if (end && *end == ')') {
            *nan = false;
            *bits = (uint32_t)value;
            return end + 1;
        }
        *bits = *nan ? 0 : number_bits(sign * (double)INFINITY, number);
        return text + size;
    }
    return NULL;
}

const char *learn_float(const char *text, LearnNumber number, uint32_t *bits, bool *nan) {
    *nan = false;
    if (text[0] == '0' && text[1] == 'F') {
        uint64_t value;
        const char *end = learn_hex(text + 2, &value);
        size_t digits = number == LEARN_F16 || number == LEARN_BF16 ? 4 : 8;
        if (!end || (size_t)(end - text) != 2 + digits || !ends_number(end))
            return NULL;
        *bits = (uint32_t)value;
        return end;
    }
    bool sign = *text == '-' || *text == '+';
    const char *p = text + sign;
    if (sign && isalpha((unsigned char)*p))
        return named_float(p, *text == '-' ? -1 : 1, number, bits, nan);
    if (!isdigit((unsigned char)*p) || (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')))
        return NULL;
    char *end;
    double value = strtod(text, &end);
    end -= end[-1] == '.' && isalpha((unsigned char)*end); /* 1.H1 */
    if (!ends_number(end))
        return NULL; /* 2D */
    *bits = number_bits(value, number);
    return end;
}
