/* Conversions. The frequent ones are vector loops of host conversions; all others go through exact software
 * rounding, one lane at a time.
 * SPDX-License-Identifier: MIT */
#include "sim/ops/fp.h"

#include "sim/ops/handlers.h"
#include "isa/lane/lanes_cvt.def"
#include "sim/ops/handlers_end.h"
const LaneHandler LV(lanes_cvt)[] = {
#include "isa/lane/lanes_cvt.def"
};

typedef enum { SRC_F16, SRC_BF16, SRC_F32, SRC_F64 } FloatKind;

static FloatKind float_kind(uint32_t size) {
    return size == FSize_F16    ? SRC_F16
           : size == FSize_BF16 ? SRC_BF16
           : size == FSize_F64  ? SRC_F64
                                : SRC_F32;
}

static double float_source(const Dec *dec, uint32_t lo, uint32_t hi) {
    uint32_t neg = dec->xm[0] >> 31;
    bool abs = dec->am[0] != ~0u;
    uint64_t bits;
    switch (dec->cvt.src) {
    case SRC_F64: bits = pair(lo, hi); break;
    case SRC_F32: bits = f64_bits((double)as_f32(f32_flush(lo, dec->cvt.ftz))); break;
    default:
        bits =
            f64_bits(fp_widen(lo >> dec->cvt.shift & 0xffff, dec->cvt.src == SRC_F16 ? fmt_f16 : fmt_bf16));
        break;
    }
    if (abs)
        bits &= ~((uint64_t)1 << 63);
    return as_f64(bits ^ (uint64_t)neg << 63);
}

static void float_result(const Dec *dec, double x, uint32_t *lo, uint32_t *hi) {
    switch (dec->cvt.dst) {
    case SRC_F64: {
        uint64_t v = f64_canon(x);
        *lo = (uint32_t)v;
        *hi = (uint32_t)(v >> 32);
        return;
    }
    case SRC_F32: *lo = f32_flush(fp_narrow(x, fmt_f32, dec->cvt.rnd), dec->cvt.ftz); return;
    default: *lo = fp_narrow(x, dec->cvt.dst == SRC_F16 ? fmt_f16 : fmt_bf16, dec->cvt.rnd); return;
    }
}

/* ---- F2F ---- */
static int f2f(Warp *warp, Dec *dec, uint32_t g) {
    ROWS64;
    EACH_LANE(i, g) {
        uint32_t lo = 0, hi = 0;
        float_result(dec, float_source(dec, a[i], ah[i]), &lo, &hi);
        r[i] = lo;
        if (dec->cvt.dst == SRC_F64)
            rh[i] = hi;
    }
    return NEXT;
}
bool LV(bind_F2F)(Bind *bind) {
    Dec *dec = bind->d;
    uint32_t m = bind->in->mods;
    dec->cvt.src = float_kind(MGET(F2F, src, m));
    dec->cvt.dst = float_kind(MGET(F2F, dst, m));
    dec->cvt.rnd = MGET(F2F, rnd, m);
    dec->cvt.ftz = MGET(F2F, ftz, m) ? ~0u : 0;
    dec->cvt.shift = MGET(F2F, half, m) == HalfSel_H1 ? 16 : 0;
    bind->width[0] = dec->cvt.src == SRC_F64 ? WIDTH_F64 : WIDTH_32;
    bind_operands(bind);
    bind_chained(bind, f2f, f2f);
    if (dec->cvt.src == SRC_F32 && dec->cvt.dst == SRC_F64)
        USE(bind, f2f_64_32);
    if (dec->cvt.src == SRC_F64 && dec->cvt.dst == SRC_F32 && dec->cvt.rnd == Rnd_RN)
        USE(bind, f2f_32_64);
    return !bind->failed;
}

/* ---- rounding to an integral value ---- */
static double to_integral(double x, uint32_t rnd) {
    if (!(x > -0x1p52 && x < 0x1p52))
        return x;
    double t = __builtin_floor(x);
    switch (rnd) {
    case IRnd_FLOOR: break;
    case IRnd_CEIL: t = t < x ? t + 1.0 : t; break;
    case IRnd_TRUNC: t = x < 0 && t < x ? t + 1.0 : t; break;
    default: { /* nearest, ties to even */
        double rest = x - t, half = t * 0.5;
        if (rest > 0.5 || (rest == 0.5 && half != __builtin_floor(half)))
            t = t + 1.0;
        break;
    }
    }
    return as_f64((f64_bits(t) & ~((uint64_t)1 << 63)) |
                  (f64_bits(x) & (uint64_t)1 << 63)); /* sign of zero */
}

static int frnd(Warp *warp, Dec *dec, uint32_t g) {
    ROWS64;
    EACH_LANE(i, g) {
        uint32_t lo = 0, hi = 0;
        float_result(dec, to_integral(float_source(dec, a[i], ah[i]), dec->cvt.whole), &lo, &hi);
        r[i] = lo;
        if (dec->cvt.dst == SRC_F64)
            rh[i] = hi;
    }
    return NEXT;
}
bool LV(bind_FRND)(Bind *bind) {
    Dec *dec = bind->d;
    uint32_t m = bind->in->mods;
    dec->cvt.src = float_kind(MGET(FRND, src, m));
    dec->cvt.dst = float_kind(MGET(FRND, dst, m));
    dec->cvt.rnd = Rnd_RN; /* exact for equal types */
    dec->cvt.ftz = MGET(FRND, ftz, m) ? ~0u : 0;
    dec->cvt.whole = MGET(FRND, rnd, m);
    dec->cvt.shift = MGET(FRND, half, m) == HalfSel_H1 ? 16 : 0;
    bind->width[0] = dec->cvt.src == SRC_F64 ? WIDTH_F64 : WIDTH_32;
    bind_operands(bind);
    bind_chained(bind, frnd, frnd);
    _Static_assert(IRnd_RN == 0 && IRnd_FLOOR == 1 && IRnd_CEIL == 2 && IRnd_TRUNC == 3,
                   "as f32_whole has it");
    if (dec->cvt.src == SRC_F32 && dec->cvt.dst == SRC_F32)
        USE(bind, frnd_f32);
    return !bind->failed;
}

/* ---- F2I ---- */
/* x rounded and clamped to `bits` bits; NaN: the sign bit alone, or with `ntz` 0. */
static uint64_t to_integer(double x, unsigned bits, bool sign, uint32_t rnd, bool ntz) {
    if (x != x) {
        uint64_t top = (uint64_t)1 << (bits - 1);
        return ntz ? 0 : sign ? 0 - top : top;
    }
    x = to_integral(x, rnd);
    double top = as_f64((uint64_t)(1023 + bits - (sign ? 1 : 0)) << 52); /* 2^bits or 2^(bits-1) */
    uint64_t max = sign         ? ((uint64_t)1 << (bits - 1)) - 1
                   : bits == 64 ? ~(uint64_t)0
                                : ((uint64_t)1 << bits) - 1;
    if (x >= top)
        return max;
    if (sign)
        return x <= -top ? 0 - ((uint64_t)1 << (bits - 1)) : (uint64_t)(int64_t)x;
    return x <= 0 ? 0 : (uint64_t)x;
}
static int f2i(Warp *warp, Dec *dec, uint32_t g) {
    ROWS64;
    EACH_LANE(i, g) {
        uint64_t v = to_integer(float_source(dec, a[i], ah[i]), dec->f2i.bits, dec->f2i.is_signed,
                                dec->f2i.rnd, dec->f2i.ntz);
        r[i] = (uint32_t)v;
        if (dec->f2i.bits == 64)
            rh[i] = (uint32_t)(v >> 32);
    }
    return NEXT;
}
bool LV(bind_F2I)(Bind *bind) {
    Dec *dec = bind->d;
    uint32_t m = bind->in->mods;
    dec->f2i.src = float_kind(MGET(F2I, src, m));
    dec->f2i.bits = 8u << MGET(F2I, dst, m);
    dec->f2i.rnd = MGET(F2I, rnd, m);
    dec->f2i.ftz = MGET(F2I, ftz, m) ? ~0u : 0;
    dec->f2i.is_signed = MGET(F2I, sign, m) == CvtSign_S;
    dec->f2i.ntz = MGET(F2I, ntz, m);
    dec->f2i.shift = MGET(F2I, half, m) == HalfSel_H1 ? 16 : 0;
    bind->width[0] = dec->f2i.src == SRC_F64 ? WIDTH_F64 : WIDTH_32;
    bind_operands(bind);
    bind_chained(bind, f2i, f2i);
    if (dec->f2i.src == SRC_F32 && dec->f2i.bits == 32 && dec->f2i.is_signed && dec->f2i.rnd == IRnd_TRUNC &&
        dec->f2i.ntz)
        USE(bind, f2i_s32_trunc);
    if (dec->f2i.src == SRC_F32 && dec->f2i.bits == 32 && !dec->f2i.is_signed && dec->f2i.rnd == IRnd_TRUNC &&
        dec->f2i.ntz)
        USE(bind, f2i_u32_trunc);
    return !bind->failed;
}

/* ---- I2F ---- */
static uint64_t int_source(const Dec *dec, uint32_t lo, uint32_t hi, bool *neg) {
    uint64_t v = dec->i2f.bits == 64 ? pair(lo, hi) : lo >> dec->i2f.shift;
    unsigned drop = 64 - dec->i2f.bits;
    int64_t s = (int64_t)(v << drop) >> drop;
    *neg = dec->i2f.is_signed && s < 0;
    return *neg ? 0 - (uint64_t)s : dec->i2f.is_signed ? (uint64_t)s : v << drop >> drop;
}
static int i2f(Warp *warp, Dec *dec, uint32_t g) {
    static const Fmt fmts[4] = {{5, 10}, {8, 7}, {8, 23}, {11, 52}};
    ROWS64;
    if (dec->i2f.bits <= 16 && dec->i2f.dst == SRC_F32) { /* exact */
        unsigned drop = 32 - dec->i2f.bits;
        EACH_LANE(i, g) {
            uint32_t word = a[i] >> dec->i2f.shift << drop;
            r[i] = f32_bits(dec->i2f.is_signed ? (float)((int32_t)word >> drop) : (float)(word >> drop));
        }
        return NEXT;
    }
    EACH_LANE(i, g) {
        bool neg;
        uint64_t v = int_source(dec, a[i], ah[i], &neg),
                 bits = v ? fp_pack(neg, v, 0, fmts[dec->i2f.dst & 3], dec->i2f.rnd) : 0;
        r[i] = (uint32_t)bits;
        if (dec->i2f.dst == SRC_F64)
            rh[i] = (uint32_t)(bits >> 32);
    }
    return NEXT;
}

static bool use_i2f(Bind *bind, unsigned bits, FloatKind dst, uint32_t rnd, bool sign, uint32_t shift) {
    Dec *dec = bind->d;
    dec->i2f.bits = bits;
    dec->i2f.dst = dst;
    dec->i2f.rnd = rnd;
    dec->i2f.is_signed = sign;
    dec->i2f.shift = shift;
    bind->width[0] = bits == 64 ? WIDTH_F64 : WIDTH_32; /* a literal is the high word */
    bind_operands(bind);
    bind_chained(bind, i2f, i2f);
    if (bits == 32 && dst == SRC_F32 && rnd == Rnd_RN) {
        dec->full = sign ? i2f_f32_s32_f : i2f_f32_u32_f;
        dec->part = sign ? i2f_f32_s32_p : i2f_f32_u32_p;
    } else if (bits == 32 && dst == SRC_F32) {
        dec->i2f.away = (rnd == Rnd_RP) | (uint32_t)(rnd == Rnd_RM) << 1;
        dec->i2f.toward = (rnd != Rnd_RP) | (uint32_t)(rnd != Rnd_RM) << 1;
        USE(bind, i2f_f32_directed);
    } else if (bits == 32 && dst == SRC_F64) {
        dec->full = sign ? i2f_f64_s32_f : i2f_f64_u32_f;
        dec->part = sign ? i2f_f64_s32_p : i2f_f64_u32_p;
    }
    return !bind->failed;
}
bool LV(bind_I2F)(Bind *bind) {
    uint32_t m = bind->in->mods, bits = 8u << MGET(I2F, src, m);
    return use_i2f(bind, bits, float_kind(MGET(I2F, dst, m)), MGET(I2F, rnd, m),
                   MGET(I2F, sign, m) == CvtSign_S,
                   MGET(I2F, part, m) == PartSel_H1 ? 16 : 8 * MGET(I2F, part, m));
}
bool LV(bind_I2FP)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return use_i2f(bind, 32, SRC_F32, MGET(I2FP, rnd, m), MGET(I2FP, sign, m) == I2fpSign_S32, 0);
}

/* ---- F2FP: two f32 to a packed pair; a to the high half ---- */
static uint32_t half_of(const Dec *dec, uint32_t f32) {
    uint32_t v = fp_narrow((double)as_f32(f32), dec->f2fp.bf16 ? fmt_bf16 : fmt_f16, dec->f2fp.rnd);
    if (dec->f2fp.relu && v & 0x8000)
        return 0; /* NaN is canonical, thus positive */
    return v - (dec->f2fp.satfinite && (v & 0x7fff) == (dec->f2fp.bf16 ? 0x7f80u : 0x7c00u));
}
static int f2fp(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    EACH_LANE(i, g) {
        uint32_t v[2];
        for (unsigned h = 0; h < 2; h++)
            v[h] = half_of(dec, ((h ? a[i] : b[i]) & dec->am[!h]) ^ (dec->xm[!h] & 0x80000000u));
        r[i] = v[0] | v[1] << 16;
    }
    return NEXT;
}
static int f2fp_merge(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    EACH_LANE(i, g) {
        r[i] = half_of(dec, (a[i] & dec->am[0]) ^ (dec->xm[0] & 0x80000000u));
    }
    return NEXT;
}
static bool is_zero_reg(Operand o) {
    return o.kind == OPK_NONE || (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ);
}
bool LV(bind_F2FP)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind_operands(bind);
    bind->d->f2fp.bf16 = MGET(F2FP, type, m) == F2fpType_BF16;
    bind->d->f2fp.rnd = MGET(F2FP, rnd, m);
    bind->d->f2fp.relu = MGET(F2FP, relu, m);
    bind->d->f2fp.satfinite = MGET(F2FP, satfinite, m);
    bind_chained(bind, f2fp, f2fp);
    return !bind->failed;
}
bool LV(bind_F2FP_MERGE)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind_operands(bind);
    bind->d->f2fp.bf16 = MGET(F2FP_MERGE, type, m) == F2fpType_BF16;
    bind->d->f2fp.rnd = MGET(F2FP_MERGE, rnd, m);
    bind->d->f2fp.relu = MGET(F2FP_MERGE, relu, m);
    bind->d->f2fp.satfinite = MGET(F2FP_MERGE, satfinite, m);
    bind_chained(bind, f2fp_merge, f2fp_merge);
    if (!is_zero_reg(bind->in->src[F2FP_MERGE_rc])) /* what is kept of rc is not known */
        return bind_not_simulated(bind);
    return !bind->failed;
}

static int f2fp_unpack(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    EACH_LANE(i, g) {
        uint32_t v = a[i] >> dec->f2fp.shift, two[2];
        for (unsigned h = 0; h < 2; h++) {
            two[h] = fp_half_of_byte(v >> 8 * h & 0xff, dec->f2fp.e4m3);
            if (dec->f2fp.relu && two[h] & 0x8000)
                two[h] = 0;
        }
        r[i] = two[0] | two[1] << 16;
    }
    return NEXT;
}
bool LV(bind_F2FP_UNPACK)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind_operands(bind);
    bind->d->f2fp.e4m3 = MGET(F2FP_UNPACK, from, m) == F2fpFrom_E4M3;
    bind->d->f2fp.shift = MGET(F2FP_UNPACK, part, m) == F2fpHalf_H1 ? 16 : 0;
    bind->d->f2fp.relu = MGET(F2FP_UNPACK, relu, m);
    bind_chained(bind, f2fp_unpack, f2fp_unpack);
    return !bind->failed;
}

/* ---- floats of eight bits, and TF32 ---- */

/* The bits of an f32 to E4M3 or E5M2, to nearest even; what is too large becomes the largest. */
static uint32_t fp8_of(bool e4m3, bool relu, uint32_t f32) {
    uint32_t sign = f32 >> 24 & 0x80, magnitude = f32 & 0x7fffffff, largest = e4m3 ? 0x7e : 0x7b;
    if (magnitude > 0x7f800000)
        return 0x7f;
    if (relu && sign)
        return 0;
    /* Bits of the fraction that go, and the exponent of f32 that the format's smallest normal number has.
     * Below it a bit more goes with each step down; of 24 bits none is left after 25. */
    unsigned drop = e4m3 ? 20 : 21, lowest = e4m3 ? 121 : 113, exponent = magnitude >> 23;
    uint32_t fraction = (magnitude & 0x7fffff) | (exponent ? 0x800000 : 0);
    unsigned below = exponent < lowest ? lowest - exponent : 0;
    drop = drop + below > 25 ? 25 : drop + below;
    uint32_t kept = fraction >> drop, rest = fraction & ((1u << drop) - 1), half = 1u << (drop - 1);
    kept += rest > half || (rest == half && kept & 1);
    if (!below) /* the hidden one counts as one step of the exponent */
        kept += (exponent - lowest) << (e4m3 ? 3 : 2);
    return sign | (kept > largest ? largest : kept);
}
static int f2fp8(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    EACH_LANE(i, g) {
        uint32_t high =
            fp8_of(dec->f2fp.e4m3, dec->f2fp.relu, (a[i] & dec->am[0]) ^ (dec->xm[0] & 0x80000000u));
        uint32_t low =
            fp8_of(dec->f2fp.e4m3, dec->f2fp.relu, (b[i] & dec->am[1]) ^ (dec->xm[1] & 0x80000000u));
        r[i] = (c[i] & 0xffff) << 16 | high << 8 | low;
    }
    return NEXT;
}
static int f2fp8_halves(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    EACH_LANE(i, g) {
        uint32_t v = 0;
        for (unsigned h = 0; h < 2; h++) {
            uint32_t wide = f32_bits((float)fp_widen(a[i] >> 16 * h & 0xffff, fmt_f16));
            v |= fp8_of(dec->f2fp.e4m3, dec->f2fp.relu, wide) << 8 * h;
        }
        r[i] = (b[i] & 0xffff) << 16 | v;
    }
    return NEXT;
}
static int f2fp_tf32(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    EACH_LANE(i, g) {
        uint32_t v = a[i], odd = v >> 13 & 1;
        if ((v & 0x7fffffff) > 0x7f800000)
            v = 0x7fffffff;
        else if (dec->f2fp.relu && v >> 31)
            v = 0;
        else {
            v = (dec->f2fp.rnd == Rnd_RN ? v + 0xfff + odd : v) & 0xffffe000;
            if (dec->f2fp.satfinite && (v & 0x7fffffff) == 0x7f800000)
                v -= 0x2000;
        }
        r[i] = v;
    }
    return NEXT;
}
bool LV(bind_F2FP8)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind_operands(bind);
    bind->d->f2fp.e4m3 = MGET(F2FP8, type, m) == Fp8Type_E4M3;
    bind->d->f2fp.relu = MGET(F2FP8, relu, m);
    bind_chained(bind, f2fp8, f2fp8);
    return !bind->failed;
}
bool LV(bind_F2FP8_HALVES)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind_operands(bind);
    bind->d->f2fp.e4m3 = MGET(F2FP8_HALVES, type, m) == Fp8Type_E4M3;
    bind->d->f2fp.relu = MGET(F2FP8_HALVES, relu, m);
    bind_chained(bind, f2fp8_halves, f2fp8_halves);
    return !bind->failed;
}
bool LV(bind_F2FP_TF32)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind_operands(bind);
    bind->d->f2fp.rnd = MGET(F2FP_TF32, rnd, m);
    bind->d->f2fp.relu = MGET(F2FP_TF32, relu, m);
    bind->d->f2fp.satfinite = MGET(F2FP_TF32, satfinite, m);
    bind_chained(bind, f2fp_tf32, f2fp_tf32);
    return !bind->failed;
}

/* ---- I2IP: two integers into as many bits of another ---- */
static int i2ip(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    unsigned bits = dec->f2i.bits;
    uint32_t ones = (1u << bits) - 1;
    int64_t most = dec->f2i.is_signed ? ones >> 1 : ones, least = dec->f2i.is_signed ? -most - 1 : 0;
    EACH_LANE(i, g) {
        int64_t high = (int32_t)a[i], low = (int32_t)b[i];
        high = high < least ? least : high > most ? most : high;
        low = low < least ? least : low > most ? most : low;
        uint32_t above = bits < 16 ? c[i] << 2 * bits : 0;
        r[i] = above | ((uint32_t)high & ones) << bits | ((uint32_t)low & ones);
    }
    return NEXT;
}
bool LV(bind_I2IP)(Bind *bind) {
    static const uint8_t bits[] = {
        [I2ipType_U8] = 8, [I2ipType_S8] = 8, [I2ipType_U16] = 16, [I2ipType_S16] = 16,
        [I2ipType_U2] = 2, [I2ipType_S2] = 2, [I2ipType_U4] = 4,   [I2ipType_S4] = 4};
    unsigned type = MGET(I2IP, type, bind->in->mods), part = MGET(I2IP, part, bind->in->mods);
    unsigned fits = bits[type] == 2 ? I2ipPart_BITS28 : bits[type] == 4 ? I2ipPart_BITS24 : I2ipPart_ALL;
    bool no_room = bits[type] == 16 && !is_zero_reg(bind->in->src[I2IP_rc]);
    bind_operands(bind);
    bind->d->f2i.bits = bits[type];
    bind->d->f2i.is_signed = type & 1;
    bind_chained(bind, i2ip, i2ip);
    if (part != fits || no_room) /* which bits go where is not known */
        return bind_not_simulated(bind);
    return !bind->failed;
}

/* ---- F2IP: f32 to a byte ---- */
static int f2ip(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    EACH_LANE(i, g) {
        uint32_t bits = (b[i] & dec->am[1]) ^ (dec->xm[1] & 0x80000000u);
        uint64_t v = to_integer((double)as_f32(bits), 8, dec->f2i.is_signed, dec->f2i.rnd, true);
        r[i] = (uint32_t)v & 0xff;
    }
    return NEXT;
}
bool LV(bind_F2IP)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind_operands(bind);
    bind->d->f2i.is_signed = MGET(F2IP, type, m) == F2ipType_S8;
    bind->d->f2i.rnd = MGET(F2IP, rnd, m);
    bind_chained(bind, f2ip, f2ip);
    if (MGET(F2IP, relu, m) || !is_zero_reg(bind->in->src[F2IP_ra]) || !is_zero_reg(bind->in->src[F2IP_rc]))
        return bind_not_simulated(bind); /* which byte goes where is not known */
    return !bind->failed;
}
