/* Expected values of the rows: plain C for integers, MPFR for what is rounded. Nothing of Heddle.
 * Operands come as bits, zero-extended; results are cut to their width by the caller.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TESTS_VALUES_HOST_H
#define HEDDLE_TESTS_VALUES_HOST_H
#include "tests/sim/ptx/host.h"

typedef struct {
    int exponent_bits, mantissa_bits; /* as stored, without the hidden one */
    u64 nan;                          /* canonical, docs/numerics.md */
} Format;
extern const Format f16_format, bf16_format, f32_format, f64_format;

/* Rounding: 'n' nearest even, 'z' to zero, 'm' down, 'p' up. Flags: */
enum { FTZ = 1, SAT = 2, RELU = 4, SATFINITE = 8 };
typedef enum { OP_ADD, OP_SUB, OP_MUL, OP_FMA, OP_DIV, OP_SQRT, OP_RCP } FloatOp;

/* One operation, correctly rounded; operands and result are bits of the format. */
u64 float_op(FloatOp op, const Format *format, char rounding, unsigned flags, u64 a, u64 b, u64 c);
/* Quotients by a reciprocal: the composition that docs/numerics.md gives for div.approx and div.full. */
u64 float_divide(bool full, unsigned flags, u64 a, u64 b);
u64 float_reciprocal(u64 a); /* rcp.approx.f32, likewise */
u64 float_convert(const Format *to, const Format *from, char rounding, unsigned flags, u64 a);
u64 float_from_int(const Format *to, char rounding, unsigned flags, bool negative, u64 magnitude);
/* To an integer of that many bits, clamped; NaN as docs/numerics.md section 5. */
u64 float_to_int(const Format *from, char rounding, unsigned flags, unsigned bits, bool is_signed, u64 a);
/* host_packed.c. Rounding 'a': to nearest, ties away from zero. */
u64 float_to_tf32(char rounding, unsigned flags, u64 a);
u64 float_finite(const Format *format, u64 a); /* of 16 bits: the largest number for an infinity */
u64 float_to_fp8(bool e4m3, unsigned flags, const Format *from, u64 a);
u64 fp8_to_half(bool e4m3, unsigned flags, u64 a);
u64 clamp_to(long long least, long long most, unsigned bits, u64 a); /* an s32, in that many bits */
u64 float_integral(const Format *format, char rounding, unsigned flags, u64 a);
u64 float_min(const Format *format, bool max, bool nan_wins, unsigned flags, u64 a, u64 b);
u64 float_min_xorsign(const Format *format, bool max, bool nan_wins, unsigned flags, u64 a, u64 b);
u64 float_sign(const Format *format, bool negate, unsigned flags, u64 a); /* neg, or abs */
/* -1 less, 0 equal, 1 greater, 2 unordered */
int float_order(const Format *format, unsigned flags, u64 a, u64 b);
bool float_is(const Format *format, const char *what, u64 a); /* testp */

/* A function of halves on each half of a word. */
#define EACH_HALF(expr)                                                                                      \
    ({                                                                                                       \
        u64 whole_ = 0, a_ = a, b_ = b, c_ = c;                                                              \
        for (unsigned at_ = 0; at_ < 32; at_ += 16) {                                                        \
            u64 a = a_ >> at_ & 0xffff, b = b_ >> at_ & 0xffff, c = c_ >> at_ & 0xffff;                      \
            (void)a, (void)b, (void)c;                                                                       \
            whole_ |= ((u64)(expr)&0xffff) << at_;                                                           \
        }                                                                                                    \
        whole_;                                                                                              \
    })

/* integers */
#define BITS(T) (8 * (int)sizeof(T))
#define IS_SIGNED(T) ((T)-1 < (T)1)
#define MIN_OF(T) ((S128)(IS_SIGNED(T) ? -((S128)1 << (BITS(T) - 1)) : 0))
#define MAX_OF(T) ((S128)(IS_SIGNED(T) ? ((S128)1 << (BITS(T) - 1)) - 1 : ((S128)1 << BITS(T)) - 1))
#define CLAMP(T, v)                                                                                          \
    ({                                                                                                       \
        S128 v_ = (v);                                                                                       \
        (u64)(v_ < MIN_OF(T) ? MIN_OF(T) : v_ > MAX_OF(T) ? MAX_OF(T) : v_);                                 \
    })
u64 int_divide(bool is_signed, unsigned bits, bool remainder, u64 a, u64 b);
static inline u64 shift_left(unsigned bits, u64 a, u64 n) { return n >= bits ? 0 : a << n; }
u64 shift_right(bool is_signed, unsigned bits, u64 a, u64 n);
u64 permute(const char *mode, u64 a, u64 b, u64 c);
u64 dot(bool signed_a, bool signed_b, unsigned width, bool high, u64 a, u64 b, u64 c);
u64 lop3(unsigned table, u64 a, u64 b, u64 c);
#endif
