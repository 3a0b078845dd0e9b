/* Numbers as dumps print them. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LEARN_NUMBER_H
#define HEDDLE_LEARN_NUMBER_H
#include <stdbool.h>
#include <stdint.h>

/* What a number with a point stands for: its bits in the word. */
typedef enum { LEARN_F32, LEARN_F64 /* upper half */, LEARN_F16, LEARN_BF16 } LearnNumber;

/* Hexadecimal digits, at least one and at most 16; what is behind them, or NULL. */
const char *learn_hex(const char *text, uint64_t *value);
/* A floating-point number: 1, -2.5, 1.5e-05, +INF, -QNAN, or 0F with its bits; never 0x1. What is behind it,
 * or NULL if none is there. *nan: it is a NaN whose payload the text does not say, and *bits is 0. */
const char *learn_float(const char *text, LearnNumber number, uint32_t *bits, bool *nan);
#endif
