/* See sim/interp/math.h and docs/numerics.md. Directed rounding goes through one exact route: an operation is
 * done in double (f32) or in integers (f64), with a sticky bit for what was lost, and rounded once by
 * interp_round.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/math.h"
#include <math.h>

/* ---- rounding ---- */

static bool round_up(unsigned rnd, bool sign, bool lsb, bool half, bool rest) {
    switch (rnd) {
    case RND_RZ:
    case RND_RZI: return false;
    case RND_RM:
    case RND_RMI: return sign && (half || rest);
    case RND_RP:
    case RND_RPI: return !sign && (half || rest);
    case RND_RNA: return half;
    default: return half && (rest || lsb);
    }
}

static uint64_t overflow(PtxFormat f, bool sign, unsigned rnd) {
    uint64_t inf = ((1ull << f.exp_bits) - 1) << f.man_bits;
    bool to_inf = rnd == RND_RM ? sign : rnd == RND_RP ? !sign : rnd != RND_RZ;
    return (sign ? 1ull << (f.exp_bits + f.man_bits) : 0) | (to_inf ? inf : inf - 1);
}

uint64_t interp_round(PtxFormat f, bool sign, uint64_t man, int exp, bool sticky, unsigned rnd) {
    uint64_t sign_bit = sign ? 1ull << (f.exp_bits + f.man_bits) : 0;
    if (man == 0 && !sticky)
        return sign_bit;
    int bias = (1 << (f.exp_bits - 1)) - 1;
    int top = man ? 63 - __builtin_clzll(man) : -1; /* value is in [2^(top+exp), 2^(top+exp+1)) */
    int unit = top + exp - f.man_bits;              /* exponent of the result's last bit */
    int min_unit = 1 - bias - f.man_bits;
    if (man == 0 || unit < min_unit)
        unit = min_unit;
    int drop = unit - exp; /* bits of man below the unit */
    uint64_t kept;
    bool half = false, rest = sticky;
    if (drop <= 0) {
        kept = man << -drop; /* drop >= -52 here: man is below 2^(man_bits + 1) */
    } else if (drop > 64) {
        kept = 0;
        rest = true;
    } else {
        kept = drop == 64 ? 0 : man >> drop;
        half = man >> (drop - 1) & 1;
        rest = sticky || (drop > 1 && (man << (65 - drop)) != 0);
    }
    if (round_up(rnd, sign, kept & 1, half, rest))
        kept++;
    /* kept may be 2^(man_bits+1) now: adding into the exponent field does the right thing */
    uint64_t field = unit - min_unit > 0 ? (uint64_t)(unit - min_unit) : 0;
    uint64_t bits = kept + (field << f.man_bits);
    if (bits >> f.man_bits >= (1ull << f.exp_bits) - 1)
        return overflow(f, sign, rnd);
    return sign_bit | bits;
}

static void split(double d, bool *sign, uint64_t *man, int *exp) {
    uint64_t b = f64_bits(d);
    int e = (int)(b >> 52 & 0x7ff);
    *sign = b >> 63;
    *man = b & 0xfffffffffffffull;
    if (e)
        *man |= 1ull << 52;
    *exp = (e ? e : 1) - 1075;
}

uint64_t interp_round_double(PtxFormat f, double d, unsigned rnd) {
    bool sign;
    uint64_t man;
    int exp;
    if (isinf(d)) {
        uint64_t inf = ((1ull << f.exp_bits) - 1) << f.man_bits;
        return (d < 0 ? 1ull << (f.exp_bits + f.man_bits) : 0) | inf;
    }
    split(d, &sign, &man, &exp);
    return interp_round(f, sign, man, exp, false, rnd);
}

/* ---- f32 through double ---- */

/* Move d one step so that its last bit is odd, given that the exact value is d + err with 0 < |err| < ulp. */
static double make_odd(double d, double err) {
    uint64_t b = f64_bits(d);
    if (err == 0 || (b & 1))
        return d;
    /* even and inexact: the odd neighbour on the side of err */
    bool away = (err > 0) == !(b >> 63);
    return f64_of(away ? b + 1 : b - 1);
}

/* a + b rounded to odd in double; no overflow for sums of f32-range products. */
static double add_odd(double a, double b) {
    double s = a + b;
    double bb = s - a;
    double err = (a - (s - bb)) + (b - bb); /* TwoSum: exact */
    return s == 0 || !isfinite(s) ? s : make_odd(s, err);
}

static double exact_or_odd(PtxMathOp op, double a, double b, double c) {
    double q;
    switch (op) {
    case MATH_ADD: return add_odd(a, b);
    case MATH_MUL: return a * b; /* 48 bits: exact */
    case MATH_FMA: return add_odd(a * b, c);
    case MATH_DIV:
        q = a / b;
        if (q == 0 || isinf(q) || b == 0 || isinf(b))
            return q;
        q = make_odd(q, fma(-q, b, a) * (b < 0 ? -1.0 : 1.0));
        return q;
    default: q = sqrt(a); return q == 0 || isinf(q) ? q : make_odd(q, fma(-q, q, a));
    }
}

static uint32_t canon32(float f) { return f != f ? F32_NAN : f32_bits(f); }

uint32_t interp_f32_op(PtxMathOp op, uint32_t a, uint32_t b, uint32_t c, unsigned rnd) {
    float x = f32_of(a), y = f32_of(b), z = f32_of(c);
    if (rnd == RND_RN || rnd == RND_NONE) {
        switch (op) {
        case MATH_ADD: return canon32(x + y);
        case MATH_MUL: return canon32(x * y);
        case MATH_FMA: return canon32(fmaf(x, y, z));
        case MATH_DIV: return canon32(x / y);
        default: return canon32(sqrtf(x));
        }
    }
    double d = exact_or_odd(op, (double)x, (double)y, (double)z);
    if (d != d)
        return F32_NAN;
    bool sum = op == MATH_ADD || op == MATH_FMA;
    if (d == 0 && sum && rnd == RND_RM) { /* exact cancellation is -0 toward -inf, but +0 + +0 is +0 */
        bool p = op == MATH_ADD ? signbit(x) : signbit((double)x * (double)y);
        bool q = op == MATH_ADD ? signbit(y) : signbit(z);
        return p || q ? 0x80000000u : 0;
    }
    return (uint32_t)interp_round_double(FMT_F32, d, rnd);
}

/* ---- f64 in integers ---- */

__extension__ typedef unsigned __int128 U128;
typedef struct {
    bool sign;
    uint64_t man; /* 53 bits, normalised unless 0 */
    int exp;
} Unpacked;

static Unpacked unpack64(uint64_t bits) {
    Unpacked u;
    split(f64_of(bits), &u.sign, &u.man, &u.exp);
    if (u.man) {
        int shift = __builtin_clzll(u.man) - 11;
        u.man <<= shift;
        u.exp -= shift;
    }
    return u;
}

static int top128(U128 v) {
    uint64_t hi = (uint64_t)(v >> 64), lo = (uint64_t)v;
    return hi ? 127 - __builtin_clzll(hi) : lo ? 63 - __builtin_clzll(lo) : -1;
}

static uint64_t round128(bool sign, U128 man, int exp, bool sticky, unsigned rnd) {
    int top = top128(man);
    if (top > 62) {
        int drop = top - 62;
        sticky = sticky || (man & (((U128)1 << drop) - 1)) != 0;
        man >>= drop;
        exp += drop;
    }
    return interp_round(FMT_F64, sign, (uint64_t)man, exp, sticky, rnd);
}

/* Sum of two exact values with 106-bit magnitudes at most. */
static uint64_t sum128(bool sa, U128 a, int ea, bool sb, U128 b, int eb, unsigned rnd) {
    if (a == 0 && b == 0)
        return (sa && sb) || (rnd == RND_RM && (sa || sb)) ? 1ull << 63 : 0;
    if (a == 0)
        return round128(sb, b, eb, false, rnd);
    if (b == 0)
        return round128(sa, a, ea, false, rnd);
    if (top128(a) + ea < top128(b) + eb) {
        U128 m = a;
        a = b;
        b = m;
        int e = ea;
        ea = eb;
        eb = e;
        bool s = sa;
        sa = sb;
        sb = s;
    }
    int up = 125 - top128(a); /* the larger one to the top, one bit free for the carry */
    a <<= up;
    ea -= up;
    bool sticky = false;
    if (eb > ea) {
        b <<= eb - ea;
    } else if (ea - eb >= 127) {
        b = 0;
        sticky = true;
    } else {
        sticky = (b & (((U128)1 << (ea - eb)) - 1)) != 0;
        b >>= ea - eb;
    }
    U128 r;
    if (sa == sb) {
        r = a + b;
    } else if (a < b) { /* equal leading bits, nothing lost */
        sa = sb;
        r = b - a;
    } else { /* a - (b + something): take one more off, sticky puts a little back */
        r = a - b - (sticky ? 1 : 0);
        if (r == 0 && !sticky)
            return rnd == RND_RM ? 1ull << 63 : 0;
    }
    return round128(sa, r, ea, sticky, rnd);
}

static uint64_t f64_native(PtxMathOp op, double x, double y, double z) {
    double r = op == MATH_ADD   ? x + y
               : op == MATH_MUL ? x * y
               : op == MATH_FMA ? fma(x, y, z)
               : op == MATH_DIV ? x / y
                                : sqrt(x);
    return r != r ? F64_NAN : f64_bits(r);
}

static U128 isqrt128(U128 v) {
    U128 r = 0;
    for (int i = 63; i >= 0; i--) {
        U128 t = r | (U128)1 << i;
        if (t * t <= v && t * t >= t) /* t < 2^64: no overflow */
            r = t;
    }
    return r;
}

uint64_t interp_f64_op(PtxMathOp op, uint64_t a, uint64_t b, uint64_t c, unsigned rnd) {
    double x = f64_of(a), y = f64_of(b), z = f64_of(c);
    uint64_t native = f64_native(op, x, y, z);
    if (rnd == RND_RN || rnd == RND_NONE)
        return native;
    /* infinities, NaN and division by zero do not depend on the mode; a finite overflow does */
    bool special = !isfinite(x) || (op != MATH_SQRT && !isfinite(y)) || (op == MATH_FMA && !isfinite(z)) ||
                   (op == MATH_DIV && y == 0) || (op == MATH_SQRT && x <= 0);
    if (special)
        return native;
    Unpacked u = unpack64(a), v = unpack64(b), w = unpack64(c);
    switch (op) {
    case MATH_ADD: return sum128(u.sign, u.man, u.exp, v.sign, v.man, v.exp, rnd);
    case MATH_MUL: return round128(u.sign != v.sign, (U128)u.man * v.man, u.exp + v.exp, false, rnd);
    case MATH_FMA:
        return sum128(u.sign != v.sign, (U128)u.man * v.man, u.exp + v.exp, w.sign, w.man, w.exp, rnd);
    case MATH_DIV: {
        U128 n = (U128)u.man << 64;
        return round128(u.sign != v.sign, n / v.man, u.exp - v.exp - 64, n % v.man != 0, rnd);
    }
    default: {
        int shift = (u.exp & 1) ? 63 : 64; /* exponent becomes even */
        U128 m = (U128)u.man << shift;
        U128 r = isqrt128(m);
        return round128(false, r, (u.exp - shift) / 2, r * r != m, rnd);
    }
    }
}

/* ---- half formats ---- */

double interp_half_value(PtxFormat f, uint16_t bits) {
    int bias = (1 << (f.exp_bits - 1)) - 1;
    int e = bits >> f.man_bits & ((1 << f.exp_bits) - 1);
    int m = bits & ((1 << f.man_bits) - 1);
    double sign = bits >> 15 ? -1.0 : 1.0;
    if (e == (1 << f.exp_bits) - 1)
        return m ? (double)NAN : sign * (double)INFINITY;
    if (e)
        m |= 1 << f.man_bits;
    return sign * ldexp((double)m, (e ? e : 1) - bias - f.man_bits);
}

uint16_t interp_half_op(PtxFormat f, PtxMathOp op, uint16_t a, uint16_t b, uint16_t c) {
    double x = interp_half_value(f, a), y = interp_half_value(f, b), z = interp_half_value(f, c);
    double d = exact_or_odd(op, x, y, z);
    return d != d ? (uint16_t)F16_NAN : (uint16_t)interp_round_double(f, d, RND_RN);
}

/* ---- conversions ---- */

double interp_round_integral(double v, unsigned rnd) {
    double lo = floor(v), r;
    switch (rnd) {
    case RND_RMI:
    case RND_RM: r = lo; break;
    case RND_RPI:
    case RND_RP: r = ceil(v); break;
    case RND_RZI:
    case RND_RZ: r = trunc(v); break;
    default: {
        double diff = v - lo; /* exact: both in the same binade or below 1 */
        r = diff > 0.5 || (diff == 0.5 && fmod(lo, 2.0) != 0) ? lo + 1.0 : lo;
    }
    }
    return copysign(r, v);
}

uint64_t interp_float_to_int(double v, bool from_f64, unsigned dst_bits, bool dst_signed, unsigned rnd) {
    if (v != v)
        return from_f64 || dst_bits == 64 ? 1ull << (dst_bits - 1) : 0;
    double r = interp_round_integral(v, rnd);
    double top = ldexp(1.0, (int)dst_bits - (dst_signed ? 1 : 0)); /* first value that is too large */
    uint64_t max = dst_signed ? (1ull << (dst_bits - 1)) - 1 : UINT64_MAX >> (64 - dst_bits);
    if (r >= top)
        return max;
    if (!dst_signed)
        return r <= 0 ? 0 : (uint64_t)r;
    if (r < -top)
        return (uint64_t)(-(int64_t)max - 1);
    return (uint64_t)(int64_t)r;
}

uint64_t interp_int_to_float(PtxFormat f, uint64_t v, bool is_signed, unsigned rnd) {
    bool neg = is_signed && (int64_t)v < 0;
    return interp_round(f, neg, neg ? 0 - v : v, 0, false, rnd == RND_NONE ? RND_RN : rnd);
}

/* ---- approximate functions: docs/numerics.md section 6 ---- */

uint32_t interp_rcp(uint32_t x) { return canon32(1.0f / f32_of(x)); }
uint32_t interp_sqrt(uint32_t x) { return canon32(sqrtf(f32_of(x))); }

uint32_t interp_rsqrt(uint32_t x) {
    double root = sqrt((double)f32_of(x));
    return canon32((float)(1.0 / root));
}

/* 2^d for -160 < d < 1100 (beyond 1023 only by callers that stop before) */
static double exp2_poly(double d) {
    static const double c[12] = {
        0x1.0000000000000p+0,  0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a0c0p-5,
        0x1.3b2ab6fba4e77p-7,  0x1.5d87fe78a6731p-10, 0x1.430912f86c787p-13, 0x1.ffcbfc588b0c7p-17,
        0x1.62c0223a5c824p-20, 0x1.b5253d395e7c4p-24, 0x1.e4cf5158b8ecap-28, 0x1.e8cac7351bb25p-32,
    };
    double k = floor(d + 0.5), r = d - k, p = c[11];
    for (int i = 10; i >= 0; i--)
        p = p * r + c[i];
    return ldexp(p, (int)k);
}

static uint32_t exp2_normal(float f) {
    if (f >= 128.0f)
        return 0x7f800000u;
    return f < -126.0f ? 0 : f32_bits((float)exp2_poly((double)f));
}

uint32_t interp_ex2(uint32_t x) {
    float f = f32_of(x);
    if (f != f)
        return F32_NAN;
    if (f >= -126.0f)
        return exp2_normal(f);
    float root = f32_of(exp2_normal(0.5f * f));
    return f32_bits(root * root);
}

static uint32_t lg2_normal(uint32_t x) {
    static const double g[9] = {
        0x1.71547652b82fep+1, 0x1.ec709dc3a03fdp-1, 0x1.2776c50ef9bfep-1,
        0x1.a61762a7aded9p-2, 0x1.484b13d7c02a9p-2, 0x1.0c9a84994022dp-2,
        0x1.c68f568d31760p-3, 0x1.89f3b1694cffep-3, 0x1.5b9ac9b743f0dp-3,
    };
    float f = f32_of(x);
    if (f != f || f < 0)
        return F32_NAN;
    if (f == 0)
        return 0xff800000u;
    if (isinf(f))
        return x;
    int e;
    double m = 2.0 * frexp((double)f, &e); /* 1 <= m < 2 */
    e--;
    if (m >= 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        e++;
    }
    double s = (m - 1.0) / (m + 1.0), z = s * s, p = g[8];
    for (int i = 7; i >= 0; i--)
        p = p * z + g[i];
    return f32_bits((float)((double)e + s * p));
}
uint32_t interp_lg2(uint32_t x) {
    float f = f32_of(x);
    return fabsf(f) < 0x1p-126f ? canon32(f32_of(lg2_normal(f32_bits(f * 0x1p24f))) - 24.0f) : lg2_normal(x);
}

static uint32_t turn(uint32_t t, bool cosine) {
    static const double sc[7] = {
        0x1.0000000000000p+0,  -0x1.5555555555555p-3,  0x1.1111111111111p-7,  -0x1.a01a01a01a01ap-13,
        0x1.71de3a556c734p-19, -0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33,
    };
    static const double kc[8] = {
        0x1.0000000000000p+0,  -0x1.0000000000000p-1,  0x1.5555555555555p-5,  -0x1.6c16c16c16c17p-10,
        0x1.a01a01a01a01ap-16, -0x1.27e4fb7789f5cp-22, 0x1.1eed8eff8d898p-29, -0x1.93974a8c07c9dp-37,
    };
    float f = f32_of(t);
    if (!isfinite(f))
        return F32_NAN;
    double d = (double)f, k = floor(d * 4.0 + 0.5), r = d - k * 0.25;
    int q = (int)(k - 4.0 * floor(k * 0.25));
    double y = r * 0x1.921fb54442d18p+2, z = y * y, u = sc[6], v = kc[7];
    for (int i = 5; i >= 0; i--)
        u = u * z + sc[i];
    for (int i = 6; i >= 0; i--)
        v = v * z + kc[i];
    double sn = y * u;
    q = cosine ? q + 1 : q; /* cos(x) = sin(x + quarter turn) */
    switch (q & 3) {
    case 0: return f32_bits((float)sn);
    case 1: return f32_bits((float)v);
    case 2: return f32_bits((float)-sn);
    default: return f32_bits((float)-v);
    }
}
uint32_t interp_sin_turn(uint32_t t) { return turn(t, false); }
uint32_t interp_cos_turn(uint32_t t) { return turn(t, true); }

uint32_t interp_tanh(uint32_t x) {
    float f = f32_of(x);
    if (f != f)
        return F32_NAN;
    double a = fabs((double)f), r;
    if (a > 10.0) {
        r = 1.0;
    } else if (a < 0x1p-10) {
        r = a * (1.0 - (a * a) * 0x1.5555555555555p-2);
    } else {
        double e = exp2_poly(a * 0x1.71547652b82fep+1);
        r = (e - 1.0) / (e + 1.0);
    }
    return f32_bits((float)copysign(r, (double)f));
}

static uint64_t finish64h(double r) {
    if (r != r)
        return 0x7fffffffull << 32;
    uint64_t b = f64_bits(r);
    if ((b >> 52 & 0x7ff) == 0)
        b &= 1ull << 63;
    return b & ~0xffffffffull;
}

uint64_t interp_rcp64h(uint64_t x) {
    x &= ~0xffffffffull;
    if ((x >> 52 & 0x7ff) == 0)
        x &= 1ull << 63;
    return finish64h(1.0 / f64_of(x));
}

uint64_t interp_rsqrt64h(uint64_t x) {
    x &= ~0xffffffffull;
    if ((x >> 52 & 0x7ff) == 0)
        x &= 1ull << 63;
    return finish64h(1.0 / sqrt(f64_of(x)));
}
