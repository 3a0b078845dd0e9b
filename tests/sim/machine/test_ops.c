/* Data operations: every lane against a value computed by the host in another way (64-bit arithmetic, the
 * host's own rounding modes and types, long double functions), on special and random operands, at every host
 * level, with all lanes and with some lanes masked off. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "prog.h"
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t rng_state = 7;
static uint64_t rnd64(void) { return rng_next(&rng_state); }

typedef struct {
    uint64_t a, b, c;
    bool p;
} In;
typedef struct {
    uint64_t r;
    bool p1, p2;
} Out;
typedef enum { V_INT, V_F32, V_F64, V_F16 } Kind;
enum { CHECK_32 = 1, CHECK_64 = 2, CHECK_P1 = 4, CHECK_P2 = 8, HALVES = 16 };

typedef struct {
    const char *name;
    Kind kind;
    unsigned check;
    MachInst (*make)(void);
    void (*want)(const In *x, Out *o);
} Case;

/* ---- host helpers ---- */
static float f(uint64_t bits) {
    uint32_t b = (uint32_t)bits;
    float x;
    memcpy(&x, &b, 4);
    return x;
}
static double df(uint64_t b) {
    double x;
    memcpy(&x, &b, 8);
    return x;
}
static uint32_t fb(float x) {
    uint32_t b;
    memcpy(&b, &x, 4);
    return isnan(x) ? 0x7fffffff : b;
}
static uint64_t db(double x) {
    uint64_t b;
    memcpy(&b, &x, 8);
    return isnan(x) ? 0xfff8000000000000u : b;
}
static float flush(float x) { return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x; }
static float sat(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
static const int host_round[4] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
static float add_r(float x, float y, int m) {
    volatile float a = x, b = y, r;
    fesetround(host_round[m]);
    r = a + b;
    fesetround(FE_TONEAREST);
    return r;
}
static float fma_r(float x, float y, float z, int m) {
    volatile float a = x, b = y, c = z, r;
    fesetround(host_round[m]);
    r = fmaf(a, b, c);
    fesetround(FE_TONEAREST);
    return r;
}
static double dmul_r(double x, double y, int m) {
    volatile double a = x, b = y, r;
    fesetround(host_round[m]);
    r = a * b;
    fesetround(FE_TONEAREST);
    return r;
}
static float narrow_r(double x, int m) {
    volatile double a = x;
    volatile float r;
    fesetround(host_round[m]);
    r = (float)a;
    fesetround(FE_TONEAREST);
    return r;
}
/* Halves on the host: an exact integer multiple of 2^-48, or a float for infinity and NaN. */
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;
static float h(uint64_t bits, unsigned half) {
    uint32_t b = bits >> (16 * half) & 0xffff, e = b >> 10 & 31, m = b & 0x3ff;
    float v = e == 31 ? (m ? NAN : INFINITY)
              : e     ? ldexpf((float)(m + 1024), (int)e - 25)
                      : ldexpf((float)m, -24);
    return b & 0x8000 ? -v : v;
}
static Int128 scaled(float v) { return (Int128)(int64_t)ldexp((double)v, 24) * ((Int128)1 << 24); }
/* v * 2^-48, not zero, to the nearest half, ties to even */
static uint32_t half_of(Int128 v) {
    uint32_t sign = v < 0 ? 0x8000 : 0;
    Uint128 m = v < 0 ? -(Uint128)v : (Uint128)v;
    unsigned length = 0;
    while (m >> length)
        length++;
    unsigned drop = length > 24 + 11 ? length - 11 : 24; /* keep 11 bits, or multiples of 2^-24 */
    Uint128 kept = m >> drop, rest = m - (kept << drop), half = (Uint128)1 << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    double value = ldexp((double)(uint64_t)kept, (int)drop - 48);
    if (value >= 65536.0)
        return sign | 0x7c00;
    if (value < 0x1p-14)
        return sign | (uint32_t)ldexp(value, 24);
    int e = ilogb(value);
    return sign | (uint32_t)((e + 15) << 10) | ((uint32_t)ldexp(value, 10 - e) - 1024);
}
/* `exact` rounded, unless `v` (the same in float arithmetic) is zero, infinite or NaN */
static uint32_t hb(float v, Int128 exact) {
    if (isnan(v))
        return 0x7fff;
    if (isinf(v))
        return v < 0 ? 0xfc00 : 0x7c00;
    return exact == 0 ? (signbit(v) ? 0x8000 : 0) : half_of(exact);
}
static uint32_t hadd(float p, float q) {
    return isfinite(p + q) ? hb(p + q, scaled(p) + scaled(q)) : hb(p + q, 1);
}
static uint32_t hfma(float p, float q, float s) {
    float v = fmaf(p, q, s);
    if (!isfinite(p) || !isfinite(q) || !isfinite(s))
        return hb(v, 1);
    return hb(v, (Int128)(int64_t)ldexp((double)p, 24) * (int64_t)ldexp((double)q, 24) + scaled(s));
}
/* a float to a half: below 2^-26 nothing remains, above 2^17 it is infinite */
static uint32_t hcvt(float v) {
    if (!isfinite(v) || v == 0)
        return hb(v, 0);
    if (fabsf(v) < 0x1p-26f)
        return signbit(v) ? 0x8000 : 0;
    return fabsf(v) > 0x1p17f ? hb(v < 0 ? -INFINITY : INFINITY, 1) : half_of((Int128)ldexp((double)v, 48));
}

/* A case: kind, checks, operation, modifiers, destinations, sources, and the expected value from a, b, c (32
 * bits), x. */
#define A32 R(4)
#define B32 R(6)
#define C32 R(8)
#define A64 R2(4)
#define B64 R2(6)
#define C64 R2(8)
#define D32 R(10)
#define D64 R2(10)
#define L(...) __VA_ARGS__
// clang-format off
#define CASE(name, OP, MODS, DST, SRC, BODY)                                                        \
    static MachInst make_##name(void) {                                                             \
        MachInst in = {.optype = OT_##OP, .mods = MODS, .ctrl = CONTROL_DEFAULT};                   \
        const Operand dst[] = {DST}, src[] = {SRC};                                                 \
        memcpy(in.dst, dst, sizeof dst);                                                            \
        memcpy(in.src, src, sizeof src);                                                            \
        in.ndst = sizeof dst / sizeof *dst;                                                         \
        in.nsrc = sizeof src / sizeof *src;                                                         \
        return in;                                                                                  \
    }                                                                                               \
    static void want_##name(const In *x, Out *o) {                                                  \
        uint32_t a = (uint32_t)x->a, b = (uint32_t)x->b, c = (uint32_t)x->c;                        \
        (void)a, (void)b, (void)c;                                                                  \
        BODY                                                                                        \
    }

/* ---- integer ---- */
CASE(mov, MOV, 0, D32, L(B32), o->r = b;)
CASE(sel, SEL, 0, D32, L(A32, B32, P(0)), o->r = x->p ? a : b;)
CASE(sel_not, SEL, 0, D32, L(A32, B32, NP(0)), o->r = x->p ? b : a;)
CASE(iadd3, IADD3, 0, L(D32, PT_, PT_), L(A32, B32, C32, NPT_, NPT_), o->r = a + b + c;)
CASE(iadd3_neg, IADD3, 0, L(D32, PT_, PT_), L(A32, op_with(B32, OPM_NEG), op_with(C32, OPM_NEG), NPT_, NPT_), o->r = a - b - c;)
CASE(iadd3_carry, IADD3, 0, L(D32, P(1), P(2)), L(A32, B32, C32, NPT_, NPT_),
     { uint64_t s = (uint64_t)a + b + c; o->r = (uint32_t)s; o->p1 = s >> 32 >= 1; o->p2 = s >> 32 >= 2; })
CASE(iadd3_borrow, IADD3, 0, L(D32, P(1), PT_), L(A32, op_with(B32, OPM_NEG), RZ_, NPT_, NPT_), o->r = a - b; o->p1 = a >= b;)
CASE(iadd3_x, IADD3, MSET(IADD3, x, 1), L(D32, P(1), PT_), L(A32, op_with(B32, OPM_NEG), RZ_, P(0), NPT_),
     { uint64_t s = (uint64_t)a + (uint32_t)~b + x->p; o->r = (uint32_t)s; o->p1 = s >> 32; })
CASE(lea, LEA, 0, L(D32, PT_), L(A32, B32, RZ_, IMM(5), NPT_), o->r = (a << 5) + b;)
CASE(lea_carry, LEA, 0, L(D32, P(1)), L(A32, B32, RZ_, IMM(3), NPT_),
     { uint64_t s = (uint64_t)(uint32_t)(a << 3) + b; o->r = (uint32_t)s; o->p1 = s >> 32; })
CASE(lea_negs, LEA, 0, L(D32, P(1)), L(op_with(A32, OPM_NEG), op_with(B32, OPM_NEG), RZ_, IMM(3), NPT_),
     { uint64_t s = (uint64_t)(uint32_t)~(a << 3) + (uint32_t)~b + 2; o->r = (uint32_t)s; o->p1 = s >> 32 != 0; })
CASE(lea_hi_x, LEA, MSET(LEA, hi, 1) | MSET(LEA, x, 1), L(D32, PT_), L(A32, B32, C32, IMM(3), P(0)),
     o->r = (uint32_t)((((uint64_t)c << 32 | a) << 3) >> 32) + b + x->p;)
CASE(lea_hi_sx32, LEA, MSET(LEA, hi, 1) | MSET(LEA, sx32, 1), L(D32, PT_), L(A32, B32, RZ_, IMM(7), NPT_),
     o->r = (uint32_t)((uint64_t)((int64_t)(int32_t)a * 128) >> 32) + b;)
static uint32_t lut3(unsigned lut, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t r = 0;
    for (unsigned i = 0; i < 32; i++)
        r |= (lut >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1u) << i;
    return r;
}
#define LOP(n) CASE(lop_##n, LOP3, MSET(LOP3, lut, 0x##n), L(D32, PT_), L(A32, B32, C32, NPT_), o->r = lut3(0x##n, a, b, c);)
LOP(c0) LOP(fc) LOP(3c) LOP(30) LOP(0f) LOP(33) LOP(f0) LOP(cc) LOP(aa) LOP(80) LOP(fe) LOP(96) LOP(ea) LOP(a8) LOP(6a)
LOP(28) LOP(ca) LOP(1b) LOP(e8) LOP(00) LOP(ff) LOP(37) LOP(d2)
CASE(lop_pred, LOP3, MSET(LOP3, lut, 0xc0), L(D32, P(1)), L(A32, B32, RZ_, NPT_), o->r = a & b; o->p1 = (a & b) != 0;)
CASE(lop_pand, LOP3, MSET(LOP3, lut, 0xc0) | MSET(LOP3, pand, 1), L(D32, P(1)), L(A32, B32, RZ_, P(0)), o->r = a & b;
     o->p1 = (a & b) != 0 && x->p;)
CASE(iabs, IABS, 0, D32, L(B32), o->r = (int32_t)b < 0 ? 0u - b : b;)
CASE(imin, IMNMX, MSET(IMNMX, sign, ISign_S32), D32, L(A32, B32, P(0)),
     { int32_t s = (int32_t)a; int32_t t = (int32_t)b; o->r = (uint32_t)(x->p ? (s < t ? s : t) : (s > t ? s : t)); })
CASE(umax, IMNMX, MSET(IMNMX, sign, ISign_U32), D32, L(A32, B32, NP(0)), o->r = x->p ? (a > b ? a : b) : (a < b ? a : b);)
static uint32_t prmt(uint64_t v, uint32_t s) {
    uint32_t r = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t n = s >> (4 * i) & 15, byte = v >> (8 * (n & 7)) & 0xff;
        r |= (n & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << (8 * i);
    }
    return r;
}
CASE(prmt, PRMT, 0, D32, L(A32, B32, C32), o->r = prmt((uint64_t)c << 32 | a, b);)
CASE(prmt_imm, PRMT, 0, D32, L(A32, IMM(0x5410), C32), o->r = (a & 0xffff) | c << 16;)
CASE(shl, SHF, MSET(SHF, type, ShfType_U32), D32, L(A32, B32, RZ_), o->r = b > 31 ? 0 : a << b;)
CASE(shr_u, SHF, MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, 1) | MSET(SHF, hi, 1), D32, L(RZ_, B32, C32), o->r = b > 31 ? 0 : c >> b;)
CASE(shr_s, SHF, MSET(SHF, type, ShfType_S32) | MSET(SHF, dir, 1) | MSET(SHF, hi, 1), D32, L(RZ_, B32, C32),
     o->r = (uint32_t)((int32_t)c >> (b > 31 ? 31 : b));)
CASE(shf_l_clamp, SHF, MSET(SHF, type, ShfType_U32) | MSET(SHF, hi, 1), D32, L(A32, B32, C32),
     { uint32_t n = b > 32 ? 32 : b; o->r = n == 32 ? a : n ? c << n | a >> (32 - n) : c; })
CASE(shf_r_wrap, SHF, MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, 1) | MSET(SHF, wrap, 1), D32, L(A32, B32, C32),
     { uint32_t n = b & 31; o->r = n ? a >> n | c << (32 - n) : a; })
CASE(shf_l64_hi, SHF, MSET(SHF, type, ShfType_U64) | MSET(SHF, hi, 1), D32, L(A32, B32, C32),
     { uint64_t v = (uint64_t)c << 32 | a; o->r = (b > 63 ? 0 : v << b) >> 32; })
CASE(shf_r64, SHF, MSET(SHF, type, ShfType_S64) | MSET(SHF, dir, 1), D32, L(A32, B32, C32),
     { int64_t v = (int64_t)((uint64_t)c << 32 | a); o->r = (uint32_t)(v >> (b > 63 ? 63 : b)); })
CASE(sgxt, SGXT, MSET(SGXT, sign, ISign_S32), D32, L(A32, B32),
     { uint32_t n = b > 32 ? 32 : b; o->r = n == 0 ? 0 : (uint32_t)((int32_t)(a << (32 - n)) >> (32 - n)); })
CASE(bmsk, BMSK, 0, D32, L(A32, B32),
     { uint64_t n = b > 32 ? 32 : b; uint64_t m = (((uint64_t)1 << n) - 1); o->r = a > 31 ? 0 : (uint32_t)(m << a); })
#define IDP_CASE(n, MODE, BSIGN, N, TA, TB, FIRST)                                                                           \
    CASE(n, IDP, MSET(IDP, mode, IdpMode_##MODE) | MSET(IDP, bsign, IdpSign_##BSIGN), D32, L(A32, B32, C32), \
         int64_t s = c; for (int i = 0; i < N; i++) s += (int64_t)(TA)(a >> i * (32 / N)) * (TB)(b >> (FIRST + 8 * i)); \
         o->r = (uint32_t)s;)
IDP_CASE(idp4_uu, D4A_U8, U8, 4, uint8_t, uint8_t, 0)
IDP_CASE(idp4_us, D4A_U8, S8, 4, uint8_t, int8_t, 0)
IDP_CASE(idp4_su, D4A_S8, U8, 4, int8_t, uint8_t, 0)
IDP_CASE(idp4_ss, D4A_S8, S8, 4, int8_t, int8_t, 0)
IDP_CASE(idp2_lo_us, D2A_LO_U16, S8, 2, uint16_t, int8_t, 0)
IDP_CASE(idp2_lo_ss, D2A_LO_S16, S8, 2, int16_t, int8_t, 0)
IDP_CASE(idp2_hi_uu, D2A_HI_U16, U8, 2, uint16_t, uint8_t, 16)
IDP_CASE(idp2_hi_su, D2A_HI_S16, U8, 2, int16_t, uint8_t, 16)
CASE(idp_negc, IDP, MSET(IDP, mode, IdpMode_D4A_S8), D32, L(A32, B32, op_with(C32, OPM_NEG)),
     int64_t s = -(int64_t)c; for (int i = 0; i < 4; i++) s += (int8_t)(a >> 8 * i) * (uint8_t)(b >> 8 * i); o->r = (uint32_t)s;)
CASE(flo_u, FLO, MSET(FLO, sign, ISign_U32), L(D32, PT_), L(B32), o->r = b ? 31u - (unsigned)__builtin_clz(b) : ~0u;)
CASE(flo_s_sh, FLO, MSET(FLO, sign, ISign_S32) | MSET(FLO, sh, 1), L(D32, PT_), L(B32),
     { uint32_t v = (int32_t)b < 0 ? ~b : b; o->r = v ? (unsigned)__builtin_clz(v) : ~0u; })
CASE(brev, BREV, 0, D32, L(B32), { uint32_t r = 0; for (int i = 0; i < 32; i++) r |= (b >> i & 1) << (31 - i); o->r = r; })
CASE(popc, POPC, 0, D32, L(B32), o->r = (unsigned)__builtin_popcount(b);)
CASE(popc_not, POPC, 0, D32, L(op_with(B32, OPM_NOT)), o->r = (unsigned)__builtin_popcount(~b);)
CASE(i2i_u8, I2I, MSET(I2I, type, I2IType_U8), D32, L(B32), o->r = (int32_t)b < 0 ? 0 : (int32_t)b > 255 ? 255 : b;)
CASE(i2i_s16, I2I, MSET(I2I, type, I2IType_S16), D32, L(B32),
     o->r = (uint32_t)((int32_t)b < -32768 ? -32768 : (int32_t)b > 32767 ? 32767 : (int32_t)b);)
CASE(imad, IMAD, 0, D32, L(A32, B32, C32, NPT_), o->r = a * b + c;)
CASE(imad_negc, IMAD, 0, D32, L(A32, B32, op_with(C32, OPM_NEG), NPT_), o->r = a * b - c;)
CASE(imad_x, IMAD, MSET(IMAD, x, 1), D32, L(A32, B32, C32, P(0)), o->r = a * b + c + x->p;)
CASE(wide_u, IMAD_WIDE, MSET(IMAD_WIDE, sign, ISign_U32), L(D64, PT_), L(A32, B32, C64, NPT_), o->r = (uint64_t)a * b + x->c;)
CASE(wide_s, IMAD_WIDE, 0, L(D64, PT_), L(A32, B32, C64, NPT_), o->r = (uint64_t)((int64_t)(int32_t)a * (int32_t)b) + x->c;)
CASE(wide_over, IMAD_WIDE, 0, L(R2(4), PT_), L(A32, B32, C64, NPT_), o->r = 0;) /* see overlap test */
CASE(wide_carry, IMAD_WIDE, MSET(IMAD_WIDE, sign, ISign_U32), L(D64, P(1)), L(A32, B32, C64, NPT_),
     { Uint128 s = (Uint128)((uint64_t)a * b) + x->c; o->r = (uint64_t)s; o->p1 = (bool)(s >> 64); })
CASE(hi_u, IMAD_HI, MSET(IMAD_HI, sign, ISign_U32), L(D32, PT_), L(A32, B32, op_reg(RF_R, REG_RZ, 2), NPT_), o->r = (uint64_t)a * b >> 32;)
CASE(hi_s, IMAD_HI, 0, L(D32, PT_), L(A32, B32, op_reg(RF_R, REG_RZ, 2), NPT_),
     o->r = (uint32_t)((uint64_t)((int64_t)(int32_t)a * (int32_t)b) >> 32);)
#define ISETP_CASE(n, C, OP, SG, T)                                                                              \
    CASE(isetp_##n, ISETP, MSET(ISETP, cmp, ICmp_##C) | MSET(ISETP, sign, ISign_##SG), L(P(1), P(2)), L(A32, B32, PT_, PT_), \
         o->p1 = (T)a OP(T) b; o->p2 = !o->p1;)
ISETP_CASE(lt_s, LT, <, S32, int32_t)
ISETP_CASE(lt_u, LT, <, U32, uint32_t)
ISETP_CASE(le_s, LE, <=, S32, int32_t)
ISETP_CASE(ge_u, GE, >=, U32, uint32_t)
ISETP_CASE(gt_s, GT, >, S32, int32_t)
ISETP_CASE(eq, EQ, ==, S32, int32_t)
ISETP_CASE(ne, NE, !=, U32, uint32_t)
CASE(isetp_xor, ISETP, MSET(ISETP, cmp, ICmp_GT) | MSET(ISETP, sign, ISign_U32) | MSET(ISETP, bop, BoolOp_XOR), L(P(1), P(2)),
     L(A32, B32, P(0), PT_), o->p1 = (a > b) != x->p; o->p2 = (a <= b) != x->p;)
CASE(isetp_ex, ISETP, MSET(ISETP, cmp, ICmp_LE) | MSET(ISETP, ex, 1), L(P(1), PT_), L(A32, B32, PT_, P(0)),
     o->p1 = a == b ? x->p : (int32_t)a < (int32_t)b;)
CASE(isetp_ex_ne, ISETP, MSET(ISETP, cmp, ICmp_NE) | MSET(ISETP, ex, 1), L(P(1), PT_), L(A32, B32, PT_, P(0)),
     o->p1 = a != b || x->p;)
CASE(plop3, PLOP3, MSET(PLOP3, lut, 0x2a) | MSET(PLOP3, lut2, 0x81), L(P(1), P(2)), L(P(0), NP(0), PT_),
     o->p1 = 0x2a >> (x->p * 4 + !x->p * 2 + 1) & 1; o->p2 = 0x81 >> (x->p * 4 + !x->p * 2 + 1) & 1;)

/* ---- f32 ---- */
CASE(fadd, FADD, 0, D32, L(A32, B32), o->r = fb(f(a) + f(b));)
CASE(fadd_mods, FADD, 0, D32, L(op_with(A32, OPM_ABS), op_with(B32, OPM_NEG | OPM_ABS)), o->r = fb(fabsf(f(a)) + -fabsf(f(b)));)
CASE(fadd_ftz, FADD, MSET(FADD, ftz, 1), D32, L(A32, B32), o->r = fb(flush(flush(f(a)) + flush(f(b))));)
CASE(fadd_rm, FADD, MSET(FADD, rnd, Rnd_RM), D32, L(A32, B32), o->r = fb(add_r(f(a), f(b), 1));)
CASE(fadd_rp, FADD, MSET(FADD, rnd, Rnd_RP), D32, L(A32, B32), o->r = fb(add_r(f(a), f(b), 2));)
CASE(fadd_rz, FADD, MSET(FADD, rnd, Rnd_RZ), D32, L(A32, B32), o->r = fb(add_r(f(a), f(b), 3));)
CASE(fmul, FMUL, 0, D32, L(A32, B32), o->r = fb(f(a) * f(b));)
CASE(fmul_sat, FMUL, MSET(FMUL, sat, 1), D32, L(A32, op_with(B32, OPM_NEG)), o->r = fb(sat(f(a) * -f(b)));)
CASE(fmul_d2, FMUL, MSET(FMUL, scale, FmulScale_D2), D32, L(A32, B32), o->r = fb((float)((long double)f(a) * f(b) / 2));)
CASE(ffma, FFMA, 0, D32, L(A32, B32, C32), o->r = fb(fmaf(f(a), f(b), f(c)));)
CASE(ffma_ftz, FFMA, MSET(FFMA, ftz, 1), D32, L(A32, B32, op_with(C32, OPM_NEG)),
     o->r = fb(flush(fmaf(flush(f(a)), flush(f(b)), -flush(f(c)))));)
CASE(ffma_rz, FFMA, MSET(FFMA, rnd, Rnd_RZ), D32, L(A32, B32, C32), o->r = fb(fma_r(f(a), f(b), f(c), 3));)
CASE(ffma_rp, FFMA, MSET(FFMA, rnd, Rnd_RP), D32, L(A32, B32, C32), o->r = fb(fma_r(f(a), f(b), f(c), 2));)
CASE(ffma_imm, FFMA, 0, D32, L(A32, IMM(0x40490fdb), C32), o->r = fb(fmaf(f(a), f(0x40490fdb), f(c)));)
static float fmin_ieee(float p, float q) {
    if (isnan(p) || isnan(q))
        return isnan(p) ? q : p;
    return p < q || (p == q && signbit(p)) ? p : q;
}
CASE(fmin, FMNMX, 0, D32, L(A32, B32, PT_), o->r = fb(fmin_ieee(f(a), f(b)));)
CASE(fmax, FMNMX, 0, D32, L(A32, B32, NPT_), o->r = fb(-fmin_ieee(-f(a), -f(b)));)
CASE(fmin_nan, FMNMX, MSET(FMNMX, nan, 1), D32, L(A32, B32, PT_), o->r = isnan(f(a)) || isnan(f(b)) ? 0x7fffffff : fb(fmin_ieee(f(a), f(b)));)
CASE(fsel, FSEL, 0, D32, L(op_with(A32, OPM_NEG), B32, P(0)), o->r = x->p ? a ^ 0x80000000 : b;)
#define FCASE(n, C, EXPR) CASE(fsetp_##n, FSETP, MSET(FSETP, cmp, FCmp_##C), L(P(1), P(2)), L(A32, B32, PT_), \
                               float p = f(a); float q = f(b); o->p1 = EXPR; o->p2 = !o->p1;)
#define UNORD (isnan(p) || isnan(q))
FCASE(lt, LT, p < q)
FCASE(eq, EQ, p == q)
FCASE(le, LE, p <= q)
FCASE(gt, GT, p > q)
FCASE(ne, NE, !UNORD && p != q)
FCASE(ge, GE, p >= q)
FCASE(num, NUM, !UNORD)
FCASE(nan, NAN, UNORD)
FCASE(ltu, LTU, UNORD || p < q)
FCASE(equ, EQU, UNORD || p == q)
FCASE(leu, LEU, UNORD || p <= q)
FCASE(gtu, GTU, UNORD || p > q)
FCASE(neu, NEU, UNORD || p != q)
FCASE(geu, GEU, UNORD || p >= q)
CASE(fsetp_and, FSETP, MSET(FSETP, cmp, FCmp_LT) | MSET(FSETP, ftz, 1), L(P(1), P(2)), L(A32, op_with(B32, OPM_ABS), P(0)),
     { bool t = flush(f(a)) < flush(fabsf(f(b))); o->p1 = t && x->p; o->p2 = !t && x->p; })
CASE(fset, FSET, MSET(FSET, cmp, FCmp_GE), D32, L(A32, B32, PT_), o->r = f(a) >= f(b) ? 0x3f800000 : 0;)

/* ---- f64 ---- */
CASE(dadd, DADD, 0, D64, L(A64, op_with(B64, OPM_NEG)), o->r = db(df(x->a) - df(x->b));)
CASE(dmul, DMUL, 0, D64, L(A64, B64), o->r = db(df(x->a) * df(x->b));)
CASE(dmul_rp, DMUL, MSET(DMUL, rnd, Rnd_RP), D64, L(A64, B64), o->r = db(dmul_r(df(x->a), df(x->b), 2));)
CASE(dmul_rm, DMUL, MSET(DMUL, rnd, Rnd_RM), D64, L(A64, B64), o->r = db(dmul_r(df(x->a), df(x->b), 1));)
CASE(dfma, DFMA, 0, D64, L(A64, B64, op_with(C64, OPM_NEG)), o->r = db(fma(df(x->a), df(x->b), -df(x->c)));)
CASE(dadd_imm, DADD, 0, D64, L(A64, IMM(0x3ff80000)), o->r = db(df(x->a) + 1.5);)
CASE(dsetp, DSETP, MSET(DSETP, cmp, DCmp_LEU), L(P(1), P(2)), L(A64, B64, PT_), o->p1 = !(df(x->a) > df(x->b)); o->p2 = !o->p1;)
CASE(dsetp_ne, DSETP, MSET(DSETP, cmp, DCmp_NE), L(P(1), PT_), L(A64, op_with(B64, OPM_ABS), P(0)),
     { double q = fabs(df(x->b)); o->p1 = !isnan(df(x->a)) && !isnan(q) && df(x->a) != q && x->p; })
/* .MIN and .MAX: pu chooses a, as PTX's min and max do (-0 below +0, a number before a NaN); pv: both are NaN, which is where ptxas
 * makes the chosen one quiet */
static bool takes_a(double p, double q, bool min) {
    if (isnan(p) || isnan(q))
        return isnan(q);
    if (p == q)
        return min ? signbit(p) >= signbit(q) : signbit(p) <= signbit(q);
    return (p < q) == min;
}
CASE(dsetp_min, DSETP, MSET(DSETP, cmp, DCmp_MIN), L(P(1), P(2)), L(A64, B64, PT_),
     o->p1 = takes_a(df(x->a), df(x->b), true); o->p2 = isnan(df(x->a)) && isnan(df(x->b));)
CASE(dsetp_max, DSETP, MSET(DSETP, cmp, DCmp_MAX), L(P(1), P(2)), L(A64, op_with(B64, OPM_NEG), PT_),
     o->p1 = takes_a(df(x->a), -df(x->b), false); o->p2 = isnan(df(x->a)) && isnan(df(x->b));)

/* ---- conversions ---- */
CASE(f2f_64_32, F2F, MSET(F2F, dst, FSize_F64) | MSET(F2F, src, FSize_F32), D64, L(B32), o->r = db((double)f(b));)
CASE(f2f_32_64, F2F, MSET(F2F, dst, FSize_F32) | MSET(F2F, src, FSize_F64), D32, L(B64), o->r = fb((float)df(x->b));)
CASE(f2f_32_64_rz, F2F, MSET(F2F, dst, FSize_F32) | MSET(F2F, src, FSize_F64) | MSET(F2F, rnd, Rnd_RZ), D32, L(B64), o->r = fb(narrow_r(df(x->b), 3));)
CASE(f2f_32_64_rp, F2F, MSET(F2F, dst, FSize_F32) | MSET(F2F, src, FSize_F64) | MSET(F2F, rnd, Rnd_RP), D32, L(B64), o->r = fb(narrow_r(df(x->b), 2));)
CASE(f2f_16_32, F2F, MSET(F2F, dst, FSize_F16) | MSET(F2F, src, FSize_F32), D32, L(B32), o->r = hcvt(f(b));)
CASE(f2f_32_16, F2F, MSET(F2F, dst, FSize_F32) | MSET(F2F, src, FSize_F16) | MSET(F2F, half, HalfSel_H1), D32, L(B32), o->r = fb(h(b, 1));)
static int64_t clamp_int(long double v, int64_t lo, int64_t hi) {
    return v <= (long double)lo ? lo : v >= (long double)hi ? hi : (int64_t)v;
}
CASE(f2i_s32, F2I, MSET(F2I, rnd, IRnd_TRUNC) | MSET(F2I, ntz, 1), D32, L(B32), o->r = isnan(f(b)) ? 0 : (uint32_t)clamp_int(truncl(f(b)), INT32_MIN, INT32_MAX);)
CASE(f2i_u32_rn, F2I, MSET(F2I, sign, CvtSign_U) | MSET(F2I, ntz, 1), D32, L(B32), o->r = isnan(f(b)) ? 0 : (uint32_t)clamp_int(rintl(f(b)), 0, UINT32_MAX);)
/* a card's: without .NTZ a NaN is the sign bit alone (docs/gpu.md) */
CASE(f2i_s32_nan, F2I, MSET(F2I, rnd, IRnd_TRUNC), D32, L(B32), o->r = isnan(f(b)) ? 0x80000000u : (uint32_t)clamp_int(truncl(f(b)), INT32_MIN, INT32_MAX);)
CASE(f2i_s64_floor, F2I, MSET(F2I, dst, ISize_B64) | MSET(F2I, rnd, IRnd_FLOOR), D64, L(B32),
     o->r = isnan(f(b)) ? (uint64_t)1 << 63 : (uint64_t)clamp_int(floorl(f(b)), INT64_MIN, INT64_MAX);)
CASE(f2i_s32_f64_ceil, F2I, MSET(F2I, src, FSize_F64) | MSET(F2I, rnd, IRnd_CEIL), D32, L(B64),
     o->r = isnan(df(x->b)) ? 0x80000000u : (uint32_t)clamp_int(ceill(df(x->b)), INT32_MIN, INT32_MAX);)
CASE(i2f_s32, I2F, 0, D32, L(B32), o->r = fb((float)(int32_t)b);)
CASE(i2f_u32, I2F, MSET(I2F, sign, CvtSign_U), D32, L(B32), o->r = fb((float)b);)
CASE(i2f_s64, I2F, MSET(I2F, src, ISize_B64), D32, L(B64), o->r = fb((float)(int64_t)x->b);)
CASE(i2f_u64_f64, I2F, MSET(I2F, src, ISize_B64) | MSET(I2F, sign, CvtSign_U) | MSET(I2F, dst, FSize_F64), D64, L(B64), o->r = db((double)x->b);)
CASE(i2f_f64, I2F, MSET(I2F, dst, FSize_F64), D64, L(B32), o->r = db((double)(int32_t)b);)
CASE(i2f_u8, I2F, MSET(I2F, src, ISize_B8) | MSET(I2F, sign, CvtSign_U) | MSET(I2F, part, PartSel_B2), D32, L(B32), o->r = fb((float)(b >> 16 & 0xff));)
CASE(i2f_s16_high, I2F, MSET(I2F, src, ISize_B16) | MSET(I2F, part, PartSel_H1), D32, L(B32), o->r = fb((float)(int16_t)(b >> 16));)
CASE(i2f_imm, I2F, MSET(I2F, sign, CvtSign_U) | MSET(I2F, rnd, Rnd_RP), D32, L(IMM(0x1000001)), o->r = fb(16777218.0f);)
/* of 64 bits the literal is the high word */
CASE(i2f_s64_imm, I2F, MSET(I2F, src, ISize_B64), D32, L(IMM(0xfffffffb)), o->r = fb(-5 * 0x1p32f);)
CASE(i2f_u64_f64_imm, I2F, MSET(I2F, src, ISize_B64) | MSET(I2F, sign, CvtSign_U) | MSET(I2F, dst, FSize_F64), D64, L(IMM(0x80000000)), o->r = db(0x1p63);)
CASE(i2f_rz, I2F, MSET(I2F, rnd, Rnd_RZ), D32, L(B32), o->r = fb(narrow_r((double)(int32_t)b, 3));)
CASE(frnd_rn, FRND, 0, D32, L(B32), o->r = fb(rintf(f(b)));)
CASE(frnd_floor, FRND, MSET(FRND, rnd, IRnd_FLOOR), D32, L(B32), o->r = fb(floorf(f(b)));)
CASE(frnd_ceil, FRND, MSET(FRND, rnd, IRnd_CEIL), D32, L(B32), o->r = fb(ceilf(f(b)));)
CASE(frnd_trunc, FRND, MSET(FRND, rnd, IRnd_TRUNC), D32, L(B32), o->r = fb(truncf(f(b)));)
CASE(frnd_64, FRND, MSET(FRND, dst, FSize_F64) | MSET(FRND, src, FSize_F64), D64, L(B64), o->r = db(rint(df(x->b)));)
CASE(f2fp, F2FP, 0, D32, L(A32, B32, RZ_), o->r = hcvt(f(b)) | hcvt(f(a)) << 16;)
static uint32_t bf16(float v) { /* nearest even, on the bits */
    uint32_t u = fb(v);
    return isnan(v) ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
CASE(f2fp_bf16, F2FP, MSET(F2FP, type, F2fpType_BF16), D32, L(A32, B32, RZ_), o->r = bf16(f(b)) | bf16(f(a)) << 16;)

/* ---- packed half: sums and products as exact integers ---- */
CASE(hadd2, HADD2, 0, D32, L(A32, B32), o->r = hadd(h(a, 0), h(b, 0)) | hadd(h(a, 1), h(b, 1)) << 16;)
#define HALF0(o) op_with(o, 2u << OPM_HALF_SHIFT)
#define HALF1(o) op_with(o, 3u << OPM_HALF_SHIFT)
/* a half as a float is what ptxas writes as -0 + h; a sum of halves is exact in double */
CASE(hadd2_f32_cvt, HADD2, MSET(HADD2, f32, 1), D32, L(op_with(RZ_, OPM_NEG), HALF0(B32)), o->r = fb(h(b, 0));)
CASE(hadd2_f32, HADD2, MSET(HADD2, f32, 1), D32, L(HALF1(A32), op_with(HALF0(B32), OPM_NEG)), o->r = fb((float)((double)h(a, 1) - (double)h(b, 0)));)
CASE(hmul2, HMUL2, 0, D32, L(A32, op_with(B32, OPM_NEG)),
     o->r = hfma(h(a, 0), -h(b, 0), copysignf(0, -h(a, 0) * h(b, 0))) | hfma(h(a, 1), -h(b, 1), copysignf(0, -h(a, 1) * h(b, 1))) << 16;)
CASE(mufu_half, MUFU, MSET(MUFU, func, Mufu_RCP) | MSET(MUFU, fmt, MufuFmt_F16) | MSET(MUFU, half, HalfSel_H1), D32, L(B32),
     o->r = hcvt(1.0f / h(b, 1));)
CASE(hfma2, HFMA2, 0, D32, L(A32, B32, C32, PT_), o->r = hfma(h(a, 0), h(b, 0), h(c, 0)) | hfma(h(a, 1), h(b, 1), h(c, 1)) << 16;)
CASE(hsetp2, HSETP2, MSET(HSETP2, cmp, FCmp_LT), L(P(1), P(2)), L(A32, B32, PT_), o->p1 = h(a, 0) < h(b, 0); o->p2 = h(a, 1) < h(b, 1);)

#define ROW(n, kind, check) {#n, kind, check, make_##n, want_##n}
#define I(n) ROW(n, V_INT, CHECK_32)
static const Case cases[] = {
    I(mov), I(sel), I(sel_not), I(iadd3), I(iadd3_neg), ROW(iadd3_carry, V_INT, CHECK_32 | CHECK_P1 | CHECK_P2),
    ROW(iadd3_borrow, V_INT, CHECK_32 | CHECK_P1), ROW(iadd3_x, V_INT, CHECK_32 | CHECK_P1), I(lea),
    ROW(lea_carry, V_INT, CHECK_32 | CHECK_P1), ROW(lea_negs, V_INT, CHECK_32 | CHECK_P1), I(lea_hi_x), I(lea_hi_sx32),
    I(lop_c0), I(lop_fc), I(lop_3c), I(lop_30), I(lop_0f), I(lop_33), I(lop_f0), I(lop_cc), I(lop_aa), I(lop_80),
    I(lop_fe), I(lop_96), I(lop_ea), I(lop_a8), I(lop_6a), I(lop_28), I(lop_ca), I(lop_1b), I(lop_e8), I(lop_00),
    I(lop_ff), I(lop_37), I(lop_d2), ROW(lop_pred, V_INT, CHECK_32 | CHECK_P1), ROW(lop_pand, V_INT, CHECK_32 | CHECK_P1),
    I(iabs), I(imin), I(umax), I(prmt), I(prmt_imm), I(shl), I(shr_u), I(shr_s), I(shf_l_clamp), I(shf_r_wrap),
    I(shf_l64_hi), I(shf_r64), I(sgxt), I(bmsk), I(idp4_uu), I(idp4_us), I(idp4_su), I(idp4_ss),
    I(idp2_lo_us), I(idp2_lo_ss), I(idp2_hi_uu), I(idp2_hi_su), I(idp_negc), I(flo_u), I(flo_s_sh), I(brev), I(popc), I(popc_not), I(i2i_u8),
    I(i2i_s16), I(imad), I(imad_negc), I(imad_x), ROW(wide_u, V_INT, CHECK_64), ROW(wide_s, V_INT, CHECK_64),
    ROW(wide_over, V_INT, 0), ROW(wide_carry, V_INT, CHECK_64 | CHECK_P1), I(hi_u), I(hi_s),
    ROW(isetp_lt_s, V_INT, 12), ROW(isetp_lt_u, V_INT, 12), ROW(isetp_le_s, V_INT, 12), ROW(isetp_ge_u, V_INT, 12),
    ROW(isetp_gt_s, V_INT, 12), ROW(isetp_eq, V_INT, 12), ROW(isetp_ne, V_INT, 12), ROW(isetp_xor, V_INT, 12),
    ROW(isetp_ex, V_INT, CHECK_P1), ROW(isetp_ex_ne, V_INT, CHECK_P1), ROW(plop3, V_INT, 12),
#define F(n) ROW(n, V_F32, CHECK_32)
    F(fadd), F(fadd_mods), F(fadd_ftz), F(fadd_rm), F(fadd_rp), F(fadd_rz), F(fmul), F(fmul_sat), F(fmul_d2), F(ffma),
    F(ffma_ftz), F(ffma_rz), F(ffma_rp), F(ffma_imm), F(fmin), F(fmax), F(fmin_nan), F(fsel),
    ROW(fsetp_lt, V_F32, 12), ROW(fsetp_eq, V_F32, 12), ROW(fsetp_le, V_F32, 12), ROW(fsetp_gt, V_F32, 12),
    ROW(fsetp_ne, V_F32, 12), ROW(fsetp_ge, V_F32, 12), ROW(fsetp_num, V_F32, 12), ROW(fsetp_nan, V_F32, 12),
    ROW(fsetp_ltu, V_F32, 12), ROW(fsetp_equ, V_F32, 12), ROW(fsetp_leu, V_F32, 12), ROW(fsetp_gtu, V_F32, 12),
    ROW(fsetp_neu, V_F32, 12), ROW(fsetp_geu, V_F32, 12), ROW(fsetp_and, V_F32, 12), F(fset),
#define G(n) ROW(n, V_F64, CHECK_64)
    G(dadd), G(dmul), G(dmul_rp), G(dmul_rm), G(dfma), G(dadd_imm), ROW(dsetp, V_F64, 12), ROW(dsetp_min, V_F64, CHECK_P1 | CHECK_P2), ROW(dsetp_max, V_F64, CHECK_P1 | CHECK_P2), ROW(dsetp_ne, V_F64, CHECK_P1),
    ROW(f2f_64_32, V_F32, CHECK_64), ROW(f2f_32_64, V_F64, CHECK_32), ROW(f2f_32_64_rz, V_F64, CHECK_32),
    ROW(f2f_32_64_rp, V_F64, CHECK_32), F(f2f_16_32), ROW(f2f_32_16, V_F16, CHECK_32), F(f2i_s32), F(f2i_s32_nan), F(f2i_u32_rn),
    ROW(f2i_s64_floor, V_F32, CHECK_64), ROW(f2i_s32_f64_ceil, V_F64, CHECK_32), I(i2f_s32), I(i2f_u32), I(i2f_s64),
    ROW(i2f_u64_f64, V_INT, CHECK_64), ROW(i2f_f64, V_INT, CHECK_64), I(i2f_u8), I(i2f_s16_high), I(i2f_imm), I(i2f_s64_imm), ROW(i2f_u64_f64_imm, V_INT, CHECK_64), I(i2f_rz), F(frnd_rn), F(frnd_floor),
    F(frnd_ceil), F(frnd_trunc), G(frnd_64), F(f2fp), F(f2fp_bf16), ROW(hadd2, V_F16, CHECK_32), ROW(hadd2_f32_cvt, V_F16, CHECK_32), ROW(hadd2_f32, V_F16, CHECK_32),
    ROW(hmul2, V_F16, CHECK_32), ROW(hfma2, V_F16, CHECK_32), ROW(mufu_half, V_F16, CHECK_32), ROW(hsetp2, V_F16, 12),
};

/* ---- operands ---- */
static uint64_t value(Kind kind) {
    static const uint32_t ints[] = {0, 1, 2, 3, 5, 8, 16, 31, 32, 33, 63, 64, 255, 0x7fff, 0x8000, 0x7fffffff, 0x80000000, ~0u, 0xfffffffe};
    static const uint32_t floats[] = {0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x800000, 0x3f800000, 0xbf800000, 0x3f000000,
                                      0x3fc00000, 0x40200000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                      0x7f800001, 0xffffffff, 0x4f000000, 0xcf000000, 0x4effffff, 0x477fe000, 0x33800000, 0x47800000};
    static const uint16_t halves[] = {0, 0x8000, 1, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x3800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00};
    uint64_t r = rnd64(), pick = r >> 60;
    switch (kind) {
    case V_INT: {
        uint64_t hi = (rnd64() & 1) ? rnd64() : ints[rnd64() % (sizeof ints / 4)];
        uint64_t lo = pick < 8 ? ints[r % (sizeof ints / 4)] : (uint32_t)r;
        return hi << 32 | lo;
    }
    case V_F32: {
        uint32_t v = pick < 6 ? floats[r % (sizeof floats / 4)] : (uint32_t)r;
        if (pick > 9) /* moderate magnitudes, so that sums cancel and round */
            v = (v & 0x80ffffff) | 0x3e000000 | (v & 0x03000000);
        return v;
    }
    case V_F64: {
        double d;
        if (pick < 6)
            return db((double)f(floats[r % (sizeof floats / 4)]));
        if (pick < 9) {
            d = (double)(int64_t)rnd64() * 0x1p-33; /* around the range of 32-bit integers */
            return db(d);
        }
        if (pick > 11)
            return (r & 0x800fffffffffffffu) | (uint64_t)(1023 - 140 + rnd64() % 280) << 52;
        return r;
    }
    default:
        return pick < 6 ? (uint64_t)halves[r % 13] << 16 | halves[r / 13 % 13] : pick < 11 ? (uint32_t)r : ((uint32_t)r & 0x8fff8fff) | 0x30003000;
    }
}
// clang-format on

enum { OLD = 0x5555aaaa };
/* in[lane]: a, b, c; out[lane]: R10, R11, predicates. Parameters: in, out, mask of P0, mask of the guard P3.
 */
static Prog *op_program(const Case *t) {
    Prog *prog = calloc(1, sizeof *prog);
    s2r(prog, 0, "laneid");
    for (unsigned k = 0; k < 2; k++) {
        mov(prog, 12 + 2 * k, PARAM(k));
        mov(prog, 13 + 2 * k, op_cmem(0, PARAM_BASE + 8 * k + 4));
        emit(prog, OT_IMAD_WIDE, MSET(IMAD_WIDE, sign, ISign_U32), D(R2(12 + 2 * k), PT_),
             S(R(0), IMM(24), R2(12 + 2 * k), NPT_));
    }
    for (unsigned k = 0; k < 3; k++)
        emit(prog, OT_LDG, MSET(LDG, e, 1) | MSET(LDG, sz, MemSz_64), D(R2(4 + 2 * k), PT_),
             S(op_with(R2(12), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(8 * k), PT_));
    mov(prog, 10, IMM(OLD));
    mov(prog, 11, IMM(OLD));
    for (unsigned k = 0; k < 2; k++) {
        mov(prog, 1, PARAM(2 + k));
        emit(prog, OT_SHF, MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_R) | MSET(SHF, hi, 1),
             D(R(1)), S(RZ_, R(0), R(1)));
        emit(prog, OT_LOP3, MSET(LOP3, lut, 0xc0), D(R(1), PT_), S(R(1), IMM(1), RZ_, NPT_));
        isetp(prog, k ? 3 : 0, ICmp_NE, R(1), IMM(0));
    }
    prog->in[prog->n] = t->make();
    prog->in[prog->n].guard = P(3);
    prog->n++;
    mov(prog, 1, IMM(1));
    mov(prog, 2, IMM(2));
    emit(prog, OT_SEL, 0, D(R(1)), S(R(1), RZ_, P(1)));
    emit(prog, OT_SEL, 0, D(R(2)), S(R(2), RZ_, P(2)));
    add(prog, 1, R(1), R(2));
    emit(prog, OT_STG, MSET(STG, e, 1) | MSET(STG, sz, MemSz_64), EMPTY,
         S(op_with(R2(14), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(0), R2(10)));
    emit(prog, OT_STG, MSET(STG, e, 1), EMPTY,
         S(op_with(R2(14), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(8), R(1)));
    exit_(prog, PT_);
    return prog;
}

static void check_lane(const Case *t, const In *in, unsigned lane, bool executes, const uint32_t *got,
                       const char *level) {
    Out o = {0};
    t->want(in, &o);
    uint64_t r = got[0] | (uint64_t)got[1] << 32, old = (uint64_t)OLD << 32 | OLD;
    uint64_t keep = t->check & CHECK_64 ? 0 : 0xffffffff00000000u, want = (o.r & ~keep) | (old & keep);
    bool has_r = t->check & (CHECK_32 | CHECK_64);
    if (!executes || !has_r)
        want = old;
    bool p1 = executes && o.p1, p2 = executes && o.p2; /* predicates were false before */
    bool ok = r == want;
    if (t->check & CHECK_P1)
        ok = ok && (got[2] & 1) == p1;
    if (t->check & CHECK_P2)
        ok = ok && (got[2] >> 1 & 1) == p2;
    if (!ok)
        fail_msg("%s (%s) lane %u: a %016llx b %016llx c %016llx p %d: got %016llx %x, want %016llx %d %d",
                 t->name, level, lane, (unsigned long long)in->a, (unsigned long long)in->b,
                 (unsigned long long)in->c, in->p, (unsigned long long)r, got[2], (unsigned long long)want,
                 p1, p2);
}

static const char *const levels[] = {"base", "v2", "v3", "v4"};

static void data_ops(void **state) {
    (void)state;
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        const Case *t = &cases[c];
        if (!t->check)
            continue;
        for (unsigned round = 0; round < 12; round++) {
            In in[32];
            uint64_t raw[96];
            uint32_t pin = (uint32_t)rnd64(), guard = round & 1 ? (uint32_t)rnd64() : ~0u;
            for (unsigned i = 0; i < 32; i++) {
                in[i] = (In){value(t->kind), value(t->kind), value(t->kind), pin >> i & 1};
                raw[3 * i] = in[i].a, raw[3 * i + 1] = in[i].b, raw[3 * i + 2] = in[i].c;
            }
            for (unsigned l = 0; l < 4; l++) {
                if (!machine_has_level(levels[l]))
                    continue;
                SimMemory *mem = simmem_create();
                uint64_t params[4] = {simmem_alloc(mem, "in", sizeof raw),
                                      simmem_alloc(mem, "out", sizeof raw), pin, guard};
                simmem_write(mem, params[0], raw, sizeof raw);
                Prog *p = op_program(t);
                MachineOptions o = {.host_level = levels[l]};
                Ran r = prog_run(p, 1, 32, mem, params, 4, &o);
                if (!r.ok)
                    fail_msg("%s: %s", t->name, r.res.trap.text);
                for (unsigned i = 0; i < 32; i++) {
                    uint32_t got[3];
                    simmem_read(mem, params[1] + 24 * i, got, sizeof got);
                    check_lane(t, &in[i], i, guard >> i & 1, got, levels[l]);
                }
                machine_result_free(&r.res);
                simmem_free(mem);
                free(p);
            }
        }
    }
}

/* MUFU against the host's long double functions: error in units of the result's last place. */
static void mufu_errors(void **state) {
    (void)state;
    static const struct {
        uint32_t func;
        double bound, lo, hi;
    } t[] = {
        {Mufu_RCP, 0.5, 1e-37, 1e37}, {Mufu_SQRT, 0.5, 1e-37, 1e37},  {Mufu_RSQ, 0.502, 1e-37, 1e37},
        {Mufu_EX2, 0.502, -120, 120}, {Mufu_LG2, 0.502, 1e-37, 1e37}, {Mufu_SIN, 0.502, -8, 8},
        {Mufu_COS, 0.502, -8, 8},     {Mufu_TANH, 0.502, -12, 12},
    };
    for (unsigned k = 0; k < sizeof t / sizeof *t; k++)
        for (unsigned round = 0; round < 40; round++) {
            SimMemory *mem = simmem_create();
            uint64_t params[1] = {simmem_alloc(mem, "x", 128)};
            float in[32], out[32];
            for (unsigned i = 0; i < 32; i++) {
                double u = (double)(rnd64() >> 11) * 0x1p-53;
                in[i] = (float)(t[k].lo > 0 ? exp2(log2(t[k].lo) + u * (log2(t[k].hi) - log2(t[k].lo)))
                                            : t[k].lo + u * (t[k].hi - t[k].lo));
            }
            simmem_write(mem, params[0], in, sizeof in);
            Prog *p = calloc(1, sizeof *p);
            s2r(p, 0, "laneid");
            element(p, 2, 0, 0);
            ldg(p, 4, 2);
            emit(p, OT_MUFU, MSET(MUFU, func, t[k].func), D(R(5)), S(R(4)));
            stg(p, 2, 5);
            exit_(p, PT_);
            Ran r = prog_run(p, 1, 32, mem, params, 1, NULL);
            assert_true(r.ok);
            simmem_read(mem, params[0], out, sizeof out);
            for (unsigned i = 0; i < 32; i++) {
                long double v = in[i], pi2 = 6.283185307179586476925286766559005768L, e;
                e = t[k].func == Mufu_RCP    ? 1 / v
                    : t[k].func == Mufu_SQRT ? sqrtl(v)
                    : t[k].func == Mufu_RSQ  ? 1 / sqrtl(v)
                    : t[k].func == Mufu_EX2  ? exp2l(v)
                    : t[k].func == Mufu_LG2  ? log2l(v)
                    : t[k].func == Mufu_TANH ? tanhl(v)
                                             : 0;
                if (t[k].func == Mufu_SIN || t[k].func == Mufu_COS) {
                    long double turn = v - floorl(v);
                    e = t[k].func == Mufu_SIN ? sinl(turn * pi2) : cosl(turn * pi2);
                    if (fabsl(e) < 1e-3L)
                        continue; /* the host's own reduction loses digits next to a zero */
                }
                long double ulp = ldexpl(1, ilogbl(e) - 23);
                if (ilogbl(e) < -126)
                    ulp = ldexpl(1, -149);
                if (fabsl((long double)out[i] - e) > (long double)t[k].bound * ulp)
                    fail_msg("MUFU %u of %a: got %a, want %La", t[k].func, (double)in[i], (double)out[i], e);
            }
            machine_result_free(&r.res);
            simmem_free(mem);
            free(p);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(data_ops), cmocka_unit_test(mufu_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
