/* See host.h.
 * SPDX-License-Identifier: MIT */
#include "host.h"
#include <mpfr.h>

const Format f16_format = {5, 10, 0x7fff}, bf16_format = {8, 7, 0x7fff}, f32_format = {8, 23, 0x7fffffff},
             f64_format = {11, 52, 0xfff8000000000000};

static unsigned width(const Format *format) {
    return 1 + (unsigned)format->exponent_bits + (unsigned)format->mantissa_bits;
}
static u64 sign_bit(const Format *format) { return 1ull << (width(format) - 1); }
static u64 infinity_of(const Format *format) {
    return ((1ull << format->exponent_bits) - 1) << format->mantissa_bits;
}
static bool is_nan(const Format *format, u64 a) { return (a & (sign_bit(format) - 1)) > infinity_of(format); }
static bool is_zero(const Format *format, u64 a) { return !(a & (sign_bit(format) - 1)); }
static bool is_subnormal(const Format *format, u64 a) {
    return !is_zero(format, a) && (a & (sign_bit(format) - 1)) >> format->mantissa_bits == 0;
}
static u64 flush(const Format *format, unsigned flags, u64 a) {
    return (flags & FTZ) && is_subnormal(format, a) ? a & sign_bit(format) : a;
}

static mpfr_rnd_t mode_of(char rounding) {
    return rounding == 'z'   ? MPFR_RNDZ
           : rounding == 'm' ? MPFR_RNDD
           : rounding == 'p' ? MPFR_RNDU
                             : MPFR_RNDN;
}

static void get(mpfr_t out, const Format *format, u64 a) {
    u64 magnitude = a & (sign_bit(format) - 1);
    long exponent = (long)(magnitude >> format->mantissa_bits),
         bias = (1l << (format->exponent_bits - 1)) - 1;
    u64 mantissa = magnitude & ((1ull << format->mantissa_bits) - 1);
    mpfr_init2(out, 64);
    if (is_nan(format, a)) {
        mpfr_set_nan(out);
        return;
    }
    if (magnitude == infinity_of(format)) {
        mpfr_set_inf(out, 1);
    } else {
        mantissa |= exponent ? 1ull << format->mantissa_bits : 0;
        mpfr_set_ui_2exp(out, mantissa, (exponent ? exponent : 1) - bias - format->mantissa_bits, MPFR_RNDN);
    }
    mpfr_setsign(out, out, a >> (width(format) - 1) & 1, MPFR_RNDN);
}

/* The bits of a value that the format has. */
static u64 put(const Format *format, const mpfr_t value) {
    if (mpfr_nan_p(value))
        return format->nan;
    u64 sign = mpfr_signbit(value) ? sign_bit(format) : 0;
    if (mpfr_inf_p(value))
        return sign | infinity_of(format);
    if (mpfr_zero_p(value))
        return sign;
    long bias = (1l << (format->exponent_bits - 1)) - 1, exponent = (long)mpfr_get_exp(value) - 1;
    long scale = exponent < 1 - bias ? 1 - bias : exponent; /* of the hidden bit */
    mpfr_t scaled;
    mpfr_init2(scaled, 64);
    mpfr_abs(scaled, value, MPFR_RNDN);
    mpfr_mul_2si(scaled, scaled, format->mantissa_bits - scale, MPFR_RNDN);
    u64 mantissa = mpfr_get_ui(scaled, MPFR_RNDN);
    mpfr_clear(scaled);
    /* a normal number's hidden bit adds 1 to the exponent field */
    return sign | (mantissa + ((u64)(scale + bias - 1) << format->mantissa_bits));
}

/* Round an operation that was done exactly or with the format's precision; `ternary` is MPFR's. */
static void round_in_range(mpfr_t value, int ternary, mpfr_rnd_t mode) {
    ternary = mpfr_check_range(value, ternary, mode);
    mpfr_subnormalize(value, ternary, mode);
}

static u64 finish(const Format *format, unsigned flags, u64 v) {
    if (flags & RELU)
        v = is_nan(format, v) ? format->nan : v & sign_bit(format) ? 0 : v;
    v = flush(format, flags, v);
    if (flags & SAT) {
        u64 one = ((1ull << (format->exponent_bits - 1)) - 1) << format->mantissa_bits;
        v = is_nan(format, v) || v & sign_bit(format) ? 0 : v > one ? one : v;
    }
    return v;
}

static void begin_range(const Format *format) {
    long bias = (1l << (format->exponent_bits - 1)) - 1;
    mpfr_set_emin(2 - bias - format->mantissa_bits);
    mpfr_set_emax(bias + 1);
}
static void end_range(void) {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
}

u64 float_op(FloatOp op, const Format *format, char rounding, unsigned flags, u64 a, u64 b, u64 c) {
    mpfr_t x, y, z, r;
    mpfr_rnd_t mode = mode_of(rounding);
    get(x, format, flush(format, flags, a));
    get(y, format, flush(format, flags, b));
    get(z, format, flush(format, flags, c));
    mpfr_init2(r, format->mantissa_bits + 1);
    int t = 0;
    switch (op) {
    case OP_ADD: t = mpfr_add(r, x, y, mode); break;
    case OP_SUB: t = mpfr_sub(r, x, y, mode); break;
    case OP_MUL: t = mpfr_mul(r, x, y, mode); break;
    case OP_FMA: t = mpfr_fma(r, x, y, z, mode); break;
    case OP_DIV: t = mpfr_div(r, x, y, mode); break;
    case OP_SQRT: t = mpfr_sqrt(r, x, mode); break;
    case OP_RCP: t = mpfr_ui_div(r, 1, x, mode); break;
    }
    begin_range(format);
    round_in_range(r, t, mode);
    u64 v = finish(format, flags, put(format, r));
    end_range();
    mpfr_clears(x, y, z, r, (mpfr_ptr)0);
    return v;
}

/* What brings a divisor to where the reciprocal is normal; 1 if it is there. */
static u64 divisor_scale(bool both_ends, u64 b) {
    enum { TWO_126 = 0x7e800000, TWO_M126 = 0x00800000 };
    u64 magnitude = b & 0x7fffffff;
    if (both_ends && magnitude > TWO_126 && magnitude <= 0x7f800000)
        return 0x3e800000; /* 1/4 */
    return magnitude < TWO_M126 ? 0x4b800000 /* 2^24 */ : 0x3f800000;
}

u64 float_divide(bool full, unsigned flags, u64 a, u64 b) {
    u64 scale = divisor_scale(full, b);
    if (full || !(flags & FTZ)) {
        a = float_op(OP_MUL, &f32_format, 'n', flags, a, scale, 0);
        b = float_op(OP_MUL, &f32_format, 'n', flags, b, scale, 0);
    }
    u64 r = float_op(OP_RCP, &f32_format, 'n', flags, b, 0, 0);
    if (!full)
        r = flush(&f32_format, FTZ, r);
    return float_op(OP_MUL, &f32_format, 'n', flags, a, r, 0);
}

u64 float_reciprocal(u64 a) {
    u64 scale = divisor_scale(true, a), x = float_op(OP_MUL, &f32_format, 'n', 0, a, scale, 0);
    return float_op(OP_MUL, &f32_format, 'n', 0, float_op(OP_RCP, &f32_format, 'n', 0, x, 0, 0), scale, 0);
}

u64 float_convert(const Format *to, const Format *from, char rounding, unsigned flags, u64 a) {
    mpfr_t x, r;
    mpfr_rnd_t mode = mode_of(rounding);
    get(x, from, from == &f32_format ? flush(from, flags, a) : a);
    mpfr_init2(r, to->mantissa_bits + 1);
    int t = mpfr_set(r, x, mode);
    begin_range(to);
    round_in_range(r, t, mode);
    u64 v = finish(to, to == &f32_format ? flags : flags & ~(unsigned)FTZ, put(to, r));
    end_range();
    mpfr_clears(x, r, (mpfr_ptr)0);
    return v;
}

u64 float_from_int(const Format *to, char rounding, unsigned flags, bool negative, u64 magnitude) {
    mpfr_t x, r;
    mpfr_rnd_t mode = mode_of(rounding);
    mpfr_init2(x, 64);
    mpfr_set_ui(x, magnitude, MPFR_RNDN);
    if (negative && magnitude)
        mpfr_neg(x, x, MPFR_RNDN);
    mpfr_init2(r, to->mantissa_bits + 1);
    int t = mpfr_set(r, x, mode);
    begin_range(to);
    round_in_range(r, t, mode);
    u64 v = finish(to, flags, put(to, r));
    end_range();
    mpfr_clears(x, r, (mpfr_ptr)0);
    return v;
}

u64 float_to_int(const Format *from, char rounding, unsigned flags, unsigned bits, bool is_signed, u64 a) {
    mpfr_t x;
    get(x, from, from == &f32_format ? flush(from, flags, a) : a);
    S128 lowest = is_signed ? -((S128)1 << (bits - 1)) : 0,
         highest = is_signed ? ((S128)1 << (bits - 1)) - 1 : ((S128)1 << bits) - 1, v;
    if (mpfr_nan_p(x)) {
        v = from == &f64_format || bits == 64 ? (S128)1 << (bits - 1) : 0;
    } else if (mpfr_inf_p(x) || mpfr_cmp_d(x, 0x1p65) > 0 || mpfr_cmp_d(x, -0x1p65) < 0) {
        v = mpfr_sgn(x) < 0 ? lowest : highest;
    } else {
        mpfr_t y;
        mpfr_init2(y, 80);
        mpfr_rint(y, x, mode_of(rounding));
        bool negative = mpfr_sgn(y) < 0;
        mpfr_abs(y, y, MPFR_RNDN);
        v = mpfr_cmp_d(y, 0x1p64) >= 0 ? (S128)1 << 64 : (S128)(u64)mpfr_get_ui(y, MPFR_RNDN);
        v = negative ? -v : v;
        v = v < lowest ? lowest : v > highest ? highest : v;
        mpfr_clear(y);
    }
    mpfr_clear(x);
    return (u64)v;
}

u64 float_integral(const Format *format, char rounding, unsigned flags, u64 a) {
    mpfr_t x, r;
    get(x, format, flush(format, flags, a));
    mpfr_init2(r, 64);
    mpfr_rint(r, x, mode_of(rounding));
    if (!mpfr_nan_p(x))
        mpfr_setsign(r, r, mpfr_signbit(x), MPFR_RNDN);
    u64 v = finish(format, flags, put(format, r));
    mpfr_clears(x, r, (mpfr_ptr)0);
    return v;
}

int float_order(const Format *format, unsigned flags, u64 a, u64 b) {
    a = flush(format, flags, a);
    b = flush(format, flags, b);
    if (is_nan(format, a) || is_nan(format, b))
        return 2;
    if (is_zero(format, a) && is_zero(format, b))
        return 0;
    u64 sign = sign_bit(format);
    S128 x = a & sign ? -(S128)(a & ~sign) : (S128)a, y = b & sign ? -(S128)(b & ~sign) : (S128)b;
    return x < y ? -1 : x > y;
}

u64 float_min(const Format *format, bool max, bool nan_wins, unsigned flags, u64 a, u64 b) {
    a = flush(format, flags, a);
    b = flush(format, flags, b);
    bool na = is_nan(format, a), nb = is_nan(format, b);
    if ((na && nb) || (nan_wins && (na || nb)))
        return format->nan;
    if (na || nb)
        return na ? b : a;
    int order = float_order(format, 0, a, b);
    if (order == 0 && is_zero(format, a)) /* -0 is below +0 */
        order = a == b ? 0 : a & sign_bit(format) ? -1 : 1;
    return (order < 0) != max ? a : b;
}

u64 float_min_xorsign(const Format *format, bool max, bool nan_wins, unsigned flags, u64 a, u64 b) {
    u64 bit = sign_bit(format), sign = (a ^ b) & bit,
        v = float_min(format, max, nan_wins, flags, a & ~bit, b & ~bit);
    return is_nan(format, v) ? v : v | sign;
}

u64 float_sign(const Format *format, bool negate, unsigned flags, u64 a) {
    a = flush(format, flags, a);
    if (is_nan(format, a))
        return format->nan;
    return negate ? a ^ sign_bit(format) : a & ~sign_bit(format);
}

bool float_is(const Format *format, const char *what, u64 a) {
    u64 magnitude = a & (sign_bit(format) - 1), infinity = infinity_of(format);
    if (!strcmp(what, "finite"))
        return magnitude < infinity;
    if (!strcmp(what, "infinite"))
        return magnitude == infinity;
    if (!strcmp(what, "number"))
        return magnitude <= infinity;
    if (!strcmp(what, "notanumber"))
        return magnitude > infinity;
    if (!strcmp(what, "subnormal"))
        return is_subnormal(format, a);
    return magnitude < infinity && !is_subnormal(format, a); /* normal, which zero counts as */
}

/* ---- integers ---- */

static S128 extend(bool is_signed, unsigned bits, u64 a) {
    S128 v = bits == 64 ? (S128)a : (S128)(a & ((1ull << bits) - 1));
    return is_signed && v >> (bits - 1) & 1 ? v - ((S128)1 << bits) : v;
}

u64 int_divide(bool is_signed, unsigned bits, bool remainder, u64 a, u64 b) {
    S128 x = extend(is_signed, bits, a), y = extend(is_signed, bits, b);
    if (!y) /* as ptxas has it: docs/numerics.md */
        return UINT64_MAX;
    return (u64)(remainder ? x % y : x / y);
}

u64 shift_right(bool is_signed, unsigned bits, u64 a, u64 n) {
    return (u64)(extend(is_signed, bits, a) >> (n > 64 ? 64 : n));
}

u64 permute(const char *mode, u64 a, u64 b, u64 c) {
    u64 pool = b << 32 | a, out = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned n = c & 3, at;
        bool sign = false;
        if (!strcmp(mode, "f4e"))
            at = n + i;
        else if (!strcmp(mode, "b4e"))
            at = (n - i) & 7;
        else if (!strcmp(mode, "rc8"))
            at = n;
        else if (!strcmp(mode, "ecl"))
            at = i > n ? i : n;
        else if (!strcmp(mode, "ecr"))
            at = i < n ? i : n;
        else if (!strcmp(mode, "rc16"))
            at = (n & 1) * 2 + (i & 1);
        else {
            at = c >> (4 * i) & 7;
            sign = c >> (4 * i + 3) & 1;
        }
        u64 byte = pool >> (8 * at) & 0xff;
        out |= (sign ? (byte & 0x80 ? 0xffull : 0) : byte) << (8 * i);
    }
    return out;
}

u64 dot(bool signed_a, bool signed_b, unsigned width_a, bool high, u64 a, u64 b, u64 c) {
    u64 sum = c;
    if (width_a == 8)
        for (unsigned i = 0; i < 4; i++)
            sum += (u64)(extend(signed_a, 8, a >> 8 * i & 0xff) * extend(signed_b, 8, b >> 8 * i & 0xff));
    else
        for (unsigned i = 0; i < 2; i++)
            sum += (u64)(extend(signed_a, 16, a >> 16 * i & 0xffff) *
                         extend(signed_b, 8, b >> (8 * i + (high ? 16 : 0)) & 0xff));
    return sum;
}

u64 lop3(unsigned table, u64 a, u64 b, u64 c) {
    u64 out = 0;
    for (unsigned i = 0; i < 32; i++)
        out |= (u64)(table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
    return out;
}
