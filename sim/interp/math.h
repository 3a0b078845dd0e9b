/* Floating-point arithmetic of the PTX interpreter, on raw bits: docs/numerics.md coded once. Correctly
 * rounded operations in four modes, half formats, conversions, and the approximate functions. No libm
 * function whose result may differ between hosts (only sqrt, fma and floor, which are exact or correctly
 * rounded).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_INTERP_MATH_H
#define HEDDLE_SIM_INTERP_MATH_H
#include "frontend/ast.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define F32_NAN 0x7fffffffu
#define F64_NAN 0xfff8000000000000ull
#define F16_NAN 0x7fffu

static inline float f32_of(uint64_t bits) {
    uint32_t b = (uint32_t)bits;
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}
static inline uint32_t f32_bits(float f) {
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}
static inline double f64_of(uint64_t bits) {
    double f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static inline uint64_t f64_bits(double f) {
    uint64_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}
static inline uint32_t f32_flush(uint32_t b) { return b & 0x7f800000u ? b : b & 0x80000000u; }

/* A floating-point format by the widths of its fields. */
typedef struct {
    uint8_t exp_bits, man_bits;
} PtxFormat;
#define FMT_F16 ((PtxFormat){5, 10})
#define FMT_BF16 ((PtxFormat){8, 7})
#define FMT_F32 ((PtxFormat){8, 23})
#define FMT_TF32 ((PtxFormat){8, 10})
#define FMT_F64 ((PtxFormat){11, 52})

typedef enum { MATH_ADD, MATH_MUL, MATH_FMA, MATH_DIV, MATH_SQRT } PtxMathOp;

/* Round the non-NaN value (-1)^sign * man * 2^exp, `sticky` meaning a little more than that, to the format.
 * rnd: RND_RN RND_RZ RND_RM RND_RP RND_RNA. Subnormals and overflow as in IEEE 754. */
uint64_t interp_round(PtxFormat f, bool sign, uint64_t man, int exp, bool sticky, unsigned rnd);
/* Convert the double d (not NaN) to the format; `odd` says its last bit is a sticky bit already. */
uint64_t interp_round_double(PtxFormat f, double d, unsigned rnd);
/* Correctly rounded f32 and f64 operation in a mode; NaN results canonical. c of ADD, MUL, DIV and b of SQRT
 * unused. */
uint32_t interp_f32_op(PtxMathOp op, uint32_t a, uint32_t b, uint32_t c, unsigned rnd);
uint64_t interp_f64_op(PtxMathOp op, uint64_t a, uint64_t b, uint64_t c, unsigned rnd);
/* f16 (or bf16) operation, round to nearest; `op` is ADD, MUL or FMA. */
uint16_t interp_half_op(PtxFormat f, PtxMathOp op, uint16_t a, uint16_t b, uint16_t c);
double interp_half_value(PtxFormat f, uint16_t bits); /* exact; NaN gives NaN */

/* Conversions. `from_bits` holds the source in its low bits. */
uint64_t interp_float_to_int(double v, bool from_f64, unsigned dst_bits, bool dst_signed, unsigned rnd);
uint64_t interp_int_to_float(PtxFormat f, uint64_t v, bool is_signed, unsigned rnd);
double interp_round_integral(double v, unsigned rnd); /* RND_RNI RZI RMI RPI */

/* Approximate functions without ftz (the caller flushes). */
uint32_t interp_rcp(uint32_t x);
uint32_t interp_sqrt(uint32_t x);
uint32_t interp_rsqrt(uint32_t x);
uint32_t interp_ex2(uint32_t x);
uint32_t interp_lg2(uint32_t x);
uint32_t interp_sin_turn(uint32_t t);
uint32_t interp_cos_turn(uint32_t t);
uint32_t interp_tanh(uint32_t x);
uint64_t interp_rcp64h(uint64_t x); /* whole double in and out, low word dropped */
uint64_t interp_rsqrt64h(uint64_t x);
#endif
