/* Typed values of launches: their text, bytes, and how far apart two floating-point ones are.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_SCALAR_H
#define HEDDLE_CHECK_VALIDATE_SCALAR_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const char *name; /* "u32" */
    uint8_t size_bytes;
    char kind; /* 'u' unsigned, 's' signed, 'f' floating point */
} Scalar;

/* The type of that name, or NULL: u8-u64, s8-s64, b8-b64, f16, bf16, f32, f64. */
extern const char scalar_names[]; /* for messages */
const Scalar *scalar_find(const char *name, size_t size_bytes);
/* Parse all of `text`: integers in decimal or 0x..., floating point as C writes it, or as bits 0fXXXXXXXX
 * (0dX... for f64). False if it is malformed or out of the type's range. */
bool scalar_parse(const Scalar *scalar, const char *text, size_t size_bytes, uint8_t out[8]);
/* What scalar_parse makes the same value of, in out[32]. */
void scalar_write(const Scalar *scalar, const uint8_t *value, char out[32]);
/* "1.5 (0x3fc00000)", in out[64]. */
void scalar_print(const Scalar *scalar, const uint8_t *value, char out[64]);
/* The bits of a number: see scalar_store. Buffers have millions of them: those that the host rounds alike are
 * made where they are asked for. */
uint64_t scalar_encode(const Scalar *scalar, double value);
static inline uint64_t scalar_bits(const Scalar *scalar, double value) {
    uint32_t word;
    float single = (float)value;
    uint64_t bits;
    memcpy(&word, &single, sizeof word);
    memcpy(&bits, &value, sizeof bits);
    bool plain = scalar->kind == 'f' && scalar->size_bytes >= sizeof word && !isnan(value);
    return !plain ? scalar_encode(scalar, value) : scalar->size_bytes == sizeof word ? word : bits;
}
/* Store a number, rounded to the type (to nearest, ties to even; integers modulo 2^n). */
void scalar_store(const Scalar *scalar, double value, uint8_t out[8]);
double scalar_value(const Scalar *scalar, const uint8_t *value); /* floating-point types */
/* Distance in units of the last place; UINT64_MAX if exactly one is a NaN; two NaNs are 0 apart. */
uint64_t scalar_ulps(const Scalar *scalar, const uint8_t *a, const uint8_t *b);
#endif
