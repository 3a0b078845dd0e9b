/* Typed values of launches: see scalar.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan/scalar.h"
#include "base/word.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Scalar scalars[] = {
    {"u8", 1, 'u'},  {"u16", 2, 'u'}, {"u32", 4, 'u'}, {"u64", 8, 'u'},  {"s8", 1, 's'},  {"s16", 2, 's'},
    {"s32", 4, 's'}, {"s64", 8, 's'}, {"b8", 1, 'u'},  {"b16", 2, 'u'},  {"b32", 4, 'u'}, {"b64", 8, 'u'},
    {"f16", 2, 'f'}, {"f32", 4, 'f'}, {"f64", 8, 'f'}, {"bf16", 2, 'f'},
};

/* What C, LLVM and numpy call them. */
static const struct {
    const char *name, *scalar;
} spellings[] = {
    {"i8", "s8"},   {"i16", "s16"},      {"i32", "s32"},   {"i64", "s64"},    {"int", "s32"},
    {"char", "s8"}, {"unsigned", "u32"}, {"float", "f32"}, {"double", "f64"}, {"half", "f16"},
};

const char scalar_names[] = "u8 to u64, s8 to s64, b8 to b64, f16, bf16, f32, f64";

const Scalar *scalar_find(const char *name, size_t size_bytes) {
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (strlen(scalars[i].name) == size_bytes && memcmp(scalars[i].name, name, size_bytes) == 0)
            return &scalars[i];
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (strlen(spellings[i].name) == size_bytes && memcmp(spellings[i].name, name, size_bytes) == 0)
            return scalar_find(spellings[i].scalar, strlen(spellings[i].scalar));
    return NULL;
}

/* Bits of exponent and fraction of a floating-point type. */
static unsigned fraction_bits(const Scalar *scalar) {
    return scalar->size_bytes == 8 ? 52 : scalar->size_bytes == 4 ? 23 : scalar->name[0] == 'b' ? 7 : 10;
}
static unsigned exponent_bits(const Scalar *scalar) {
    return scalar->size_bytes == 8 ? 11 : scalar->size_bytes == 4 || scalar->name[0] == 'b' ? 8 : 5;
}

/* Any binary format of at most 64 bits from a double: exact scaling, one rounding by nearbyint. */
static uint64_t encode_float(const Scalar *t, double v) {
    unsigned fraction = fraction_bits(t), exponent = exponent_bits(t);
    uint64_t sign = signbit(v) ? (uint64_t)1 << (fraction + exponent) : 0;
    uint64_t infinity = (((uint64_t)1 << exponent) - 1) << fraction;
    int bias = (1 << (exponent - 1)) - 1, e;
    if (isnan(v))
        return sign | infinity | (uint64_t)1 << (fraction - 1);
    if (isinf(v))
        return sign | infinity;
    if (v == 0)
        return sign;
    frexp(v, &e); /* |v| in [2^(e-1), 2^e) */
    int least = 1 - bias;
    int scale = (e - 1 < least ? least : e - 1) - (int)fraction;
    uint64_t units = (uint64_t)nearbyint(ldexp(fabs(v), -scale));
    uint64_t bits =
        e - 1 < least ? units : ((uint64_t)(e - 1 + bias) << fraction) + (units - ((uint64_t)1 << fraction));
    return sign | (bits > infinity ? infinity : bits);
}

static double decode_float(const Scalar *t, uint64_t bits) {
    unsigned fraction = fraction_bits(t), exponent = exponent_bits(t);
    uint64_t m = bits & (((uint64_t)1 << fraction) - 1),
             e = bits >> fraction & (((uint64_t)1 << exponent) - 1);
    int bias = (1 << (exponent - 1)) - 1;
    double v;
    if (e == ((uint64_t)1 << exponent) - 1)
        v = m ? NAN : INFINITY;
    else if (e == 0)
        v = ldexp((double)m, 1 - bias - (int)fraction);
    else
        v = ldexp((double)(m | (uint64_t)1 << fraction), (int)e - bias - (int)fraction);
    return bits >> (fraction + exponent) & 1 ? -v : v;
}

uint64_t scalar_encode(const Scalar *scalar, double value) {
    return scalar->kind == 'f' ? encode_float(scalar, value)
           : value < 0         ? (uint64_t)(int64_t)value
                               : (uint64_t)value;
}

void scalar_store(const Scalar *scalar, double value, uint8_t out[8]) {
    word_store(out, scalar_bits(scalar, value), scalar->size_bytes);
}

double scalar_value(const Scalar *t, const uint8_t *value) {
    return decode_float(t, word_load(value, t->size_bytes));
}

static bool parse_float(const Scalar *scalar, const char *text, uint64_t *bits) {
    char *end;
    char tag = text[0] == '0' ? text[1] : 0;
    if ((tag == 'f' && scalar->size_bytes == 4) || (tag == 'd' && scalar->size_bytes == 8)) {
        *bits = strtoull(text + 2, &end, 16);
        return *end == 0 && strlen(text + 2) == scalar->size_bytes * 2u && isxdigit((unsigned char)text[2]);
    }
    if (scalar->size_bytes == 4) { /* one rounding only */
        float f = strtof(text, &end);
        memcpy(bits, &f, sizeof f);
    } else
        *bits = scalar_bits(scalar, strtod(text, &end));
    return *end == 0 && end != text;
}

static bool parse_int(const Scalar *scalar, const char *text, uint64_t *bits) {
    bool minus = *text == '-';
    const char *digits = text + minus;
    char *end;
    unsigned width = scalar->size_bytes * 8u;
    uint64_t top = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    if (!isdigit((unsigned char)*digits))
        return false;
    errno = 0;
    uint64_t v = strtoull(digits, &end, digits[0] == '0' && (digits[1] | 32) == 'x' ? 16 : 10);
    if (*end || errno || (minus && v > top / 2 + 1) || v > top)
        return false;
    *bits = minus ? 0 - v : v;
    return true;
}

bool scalar_parse(const Scalar *scalar, const char *text, size_t size_bytes, uint8_t out[8]) {
    char copy[80];
    uint64_t bits = 0;
    if (size_bytes == 0 || size_bytes >= sizeof copy)
        return false;
    memcpy(copy, text, size_bytes);
    copy[size_bytes] = 0;
    if (isspace((unsigned char)copy[0]) ||
        !(scalar->kind == 'f' ? parse_float(scalar, copy, &bits) : parse_int(scalar, copy, &bits)))
        return false;
    word_store(out, bits, scalar->size_bytes);
    return true;
}

void scalar_write(const Scalar *scalar, const uint8_t *value, char out[32]) {
    unsigned long long bits = word_load(value, scalar->size_bytes);
    if (scalar->kind == 'f' && scalar->size_bytes == 2)
        snprintf(out, 32, "%.9g", decode_float(scalar, bits));
    else if (scalar->kind == 'f')
        snprintf(out, 32, "0%c%0*llx", scalar->size_bytes == 4 ? 'f' : 'd', scalar->size_bytes * 2, bits);
    else
        snprintf(out, 32, "0x%llx", bits);
}

void scalar_print(const Scalar *scalar, const uint8_t *value, char out[64]) {
    uint64_t bits = word_load(value, scalar->size_bytes);
    unsigned digits = scalar->size_bytes * 2u;
    if (scalar->kind == 'f')
        snprintf(out, 64, "%.*g (0x%0*llx)",
                 scalar->size_bytes == 8   ? 17
                 : scalar->size_bytes == 4 ? 9
                                           : 5,
                 decode_float(scalar, bits), (int)digits, (unsigned long long)bits);
    else if (scalar->kind == 's') {
        unsigned shift = 64 - scalar->size_bytes * 8u;
        snprintf(out, 64, "%lld", (long long)((int64_t)(bits << shift) >> shift));
    } else
        snprintf(out, 64, "%llu (0x%0*llx)", (unsigned long long)bits, (int)digits, (unsigned long long)bits);
}

/* Bit patterns as integers in the order of the numbers they mean. */
static int64_t ordered(const Scalar *scalar, uint64_t bits) {
    unsigned width = scalar->size_bytes * 8u;
    uint64_t magnitude = bits & ~((uint64_t)1 << (width - 1));
    return bits >> (width - 1) & 1 ? -(int64_t)magnitude : (int64_t)magnitude;
}

uint64_t scalar_ulps(const Scalar *t, const uint8_t *a, const uint8_t *b) {
    uint64_t x = word_load(a, t->size_bytes), y = word_load(b, t->size_bytes);
    bool nan_x = isnan(decode_float(t, x)), nan_y = isnan(decode_float(t, y));
    if (nan_x || nan_y)
        return nan_x && nan_y ? 0 : UINT64_MAX;
    int64_t p = ordered(t, x), q = ordered(t, y);
    return p > q ? (uint64_t)p - (uint64_t)q : (uint64_t)q - (uint64_t)p;
}
