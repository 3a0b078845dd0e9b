/* Packed half arithmetic: f16x2 and bf16x2, one lane at a time in double. Sums and products of two halves are
 * exact in double or are rounded to odd first, so the final rounding is the only one.
 * SPDX-License-Identifier: MIT */
#include "sim/ops/fp.h"

enum { H_ADD, H_MUL, H_FMA }; /* half.op */
/* In imm[0], behind the selections of three sources: .H0_NH1, .OOB */
enum { UPPER_NEGATED = 1 << 6, ZERO_OOB = 1 << 7 };
enum { OOB_NAN = 0x7ff7 }; /* what tensor copies fill with on an H100, of all types (sim/machine/tensor.c) */

static bool bind_half(Bind *bind) {
    Dec *dec = bind->d;
    bind_operands(bind);
    unsigned nv = 0;
    for (unsigned i = 0; i < bind->in->nsrc && nv < dec->nv; i++) {
        Operand o = bind->in->src[i];
        if (o.kind == OPK_REG && (o.file == RF_P || o.file == RF_UP))
            continue;
        unsigned half = o.mods >> OPM_HALF_SHIFT & 3;
        bool f32 = half == 1;
        dec->xm[nv] = o.mods & OPM_NEG ? (f32 ? 0x80000000u : 0x80008000u) : 0;
        dec->am[nv] = o.mods & OPM_ABS ? (f32 ? 0x7fffffffu : 0x7fff7fffu) : ~0u;
        dec->imm[0] |= half << (2 * nv); /* selection of source nv at bits 2*nv */
        nv++;
    }
    return !bind->failed;
}

/* Source i as its selection and signs have it. */
static uint32_t signed_source(const Dec *dec, unsigned i, uint32_t bits) {
    bits &= dec->am[i];
    if (i == 1 && dec->imm[0] & UPPER_NEGATED)
        bits = (bits << 16 | bits >> 16) ^ 0x8000;
    return bits ^ dec->xm[i];
}
static uint32_t chosen_half(const Dec *dec, unsigned i, uint32_t bits, unsigned h) {
    unsigned sel = dec->imm[0] >> (2 * i) & 3;
    return bits >> (16 * (sel == 2 || sel == 3 ? sel - 2 : h)) & 0xffff;
}

/* Half `h` (0 low) of source i, as an exact double. */
static double half_source(const Dec *dec, unsigned i, uint32_t bits, unsigned h, Fmt f) {
    unsigned sel = dec->imm[0] >> (2 * i) & 3;
    bits = signed_source(dec, i, bits);
    if (sel == 1) /* rounded towards zero: ptxas uses it for cvt.rz.f16.f32 where it takes F2F for .rn (13.0,
                     sm_75) */
        return fp_widen(fp_narrow((double)as_f32(f32_flush(bits, dec->half.ftz)), fmt_f16, Rnd_RZ), fmt_f16);
    uint32_t v = chosen_half(dec, i, bits, h), magnitude = v & 0x7fff;
    if (dec->half.ftz && magnitude < 1u << f.mbits)
        v &= 0x8000;
    return fp_widen(v, f);
}

/* The sign of that half as the register has it: what .XORSIGN takes beside magnitudes, |.| or not. */
static bool half_sign(const Dec *dec, unsigned i, uint32_t bits, unsigned h) {
    unsigned sel = dec->imm[0] >> (2 * i) & 3;
    return (bits ^ dec->xm[i]) >> (16 * (sel >= 2 ? sel - 2 : h) + 15) & 1;
}

static double clamp(const Dec *dec, double x) {
    if (dec->half.sat)
        return x > 0 ? (x < 1 ? x : 1.0) : 0.0;
    if (dec->half.relu)
        return x > 0 || x != x ? x : 0.0;
    return x;
}

static uint32_t half_result(const Dec *dec, double x, Fmt f) {
    uint32_t v;
    if (dec->half.sat || dec->half.relu) { /* clamping acts on the rounded value */
        v = fp_narrow(x, f, Rnd_RN);
        x = clamp(dec, fp_widen(v, f));
    }
    v = fp_narrow(x, f, Rnd_RN);
    if (dec->half.ftz && (v & ((1u << (f.ebits + f.mbits)) - 1)) < 1u << f.mbits)
        v &= 1u << (f.ebits + f.mbits);
    return v;
}

/* .OOB: is one of the operands what lies outside of a tensor? The result is +0 then. */
static bool is_outside(const Dec *dec, uint32_t x, uint32_t y, uint32_t z, unsigned h) {
    const uint32_t bits[3] = {x, y, z};
    bool outside = false;
    for (unsigned i = 0; i < 3; i++)
        outside |= chosen_half(dec, i, signed_source(dec, i, bits[i]), h) == OOB_NAN;
    return outside && dec->imm[0] & ZERO_OOB;
}

static double half_value(const Dec *dec, uint32_t x, uint32_t y, uint32_t z, unsigned h, Fmt f) {
    if (is_outside(dec, x, y, z, h))
        return 0.0;
    double p = half_source(dec, 0, x, h, f), q = half_source(dec, 1, y, h, f);
    bool zero = dec->half.fmz && (p == 0 || q == 0);
    switch (dec->half.op) {
    case H_ADD: return add_to_odd(p, q);
    case H_MUL: return zero ? 0.0 : p * q;
    default: {
        double s = zero ? 0.0 : p * q, t = half_source(dec, 2, z, h, f);
        return add_to_odd(s, t);
    }
    }
}

static uint32_t half_lane(const Dec *dec, uint32_t x, uint32_t y, uint32_t z) {
    Fmt f = dec->half.bf16 ? fmt_bf16 : fmt_f16;
    if (dec->half.f32)
        return half_result(dec, half_value(dec, x, y, z, 0, f), fmt_f32);
    return half_result(dec, half_value(dec, x, y, z, 0, f), f) |
           half_result(dec, half_value(dec, x, y, z, 1, f), f) << 16;
}
/* Lanes that have what the one before has are not computed again: ptxas makes constants by HFMA2.MMA. */
static int half_op(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t x = 0, y = 0, z = 0, value = 0;
    bool known = false;
    EACH_LANE(i, g) {
        if (!known || (x ^ a[i]) | (y ^ b[i]) | (z ^ c[i]))
            value = half_lane(dec, x = a[i], y = b[i], z = c[i]);
        known = true;
        r[i] = value;
    }
    return NEXT;
}

#define BIND_HALF(name, OP, FTZ, FMZ, RELU, F32, BF16)                                                       \
    bool LV(bind_##name)(Bind * b) {                                                                         \
        uint32_t m = b->in->mods;                                                                            \
        b->d->half.ftz = FTZ ? ~0u : 0;                                                                      \
        b->d->half.sat = MGET(name, sat, m);                                                                 \
        b->d->half.fmz = FMZ;                                                                                \
        b->d->half.relu = RELU;                                                                              \
        b->d->half.f32 = F32;                                                                                \
        b->d->half.bf16 = BF16;                                                                              \
        b->d->half.op = OP;                                                                                  \
        bind_chained(b, half_op, half_op);                                                                   \
        return bind_half(b);                                                                                 \
    }
BIND_HALF(HADD2, H_ADD, MGET(HADD2, ftz, m), 0, 0, MGET(HADD2, f32, m), MGET(HADD2, bf16, m))
BIND_HALF(HMUL2, H_MUL, MGET(HMUL2, ftz, m), MGET(HMUL2, fmz, m), 0, MGET(HMUL2, f32, m),
          MGET(HMUL2, bf16, m))
static bool zero_outside(Bind *bind, bool oob) {
    bind->d->imm[0] |= oob ? ZERO_OOB : 0;
    return true;
}
#define FLUSH(which) (MGET(HFMA2, flush, m) == HalfFlush90_##which)
BIND_HALF(HFMA2, H_FMA, zero_outside(b, FLUSH(OOB)) && FLUSH(FTZ), FLUSH(FMZ), MGET(HFMA2, relu, m),
          MGET(HFMA2, f32, m), MGET(HFMA2, bf16, m))
/* ptxas 13.0 -O3 for sm_86 makes `neg.f16 h, h; mov.b32 b, {l, h}; fma.rn.f16x2 d, a, b, c` an HFMA2 of
 * -B.H0_NH1, where B has h below and l above. */
#define FLUSH_NH1(which) (MGET(HFMA2_NH1, flush, m) == HalfFlush90_##which)
static bool upper_negated(Bind *bind) {
    bind->d->imm[0] |= UPPER_NEGATED;
    return true;
}
BIND_HALF(HFMA2_NH1, H_FMA, upper_negated(b) && zero_outside(b, FLUSH_NH1(OOB)) && FLUSH_NH1(FTZ),
          FLUSH_NH1(FMZ), MGET(HFMA2_NH1, relu, m), MGET(HFMA2_NH1, f32, m), MGET(HFMA2_NH1, bf16, m))
BIND_HALF(HFMA2_MMA, H_FMA, MGET(HFMA2_MMA, ftz, m), MGET(HFMA2_MMA, fmz, m), MGET(HFMA2_MMA, relu, m), 0,
          MGET(HFMA2_MMA, bf16, m))

/* ---- minimum, maximum ---- */
static uint32_t hmnmx_one(const Dec *dec, double x, double y, bool neg, bool min, Fmt f) {
    bool nx = x != x, ny = y != y;
    if ((nx && ny) || (dec->hminmax.nan && (nx || ny)))
        return f.mbits == 23 ? F32_NAN : F16_NAN;
    if (dec->hminmax.xorsign) {
        x = x < 0 || f64_bits(x) >> 63 ? -x : x;
        y = y < 0 || f64_bits(y) >> 63 ? -y : y;
    }
    double res;
    if (nx || ny)
        res = nx ? y : x;
    else if (x == y)
        res = (f64_bits(x) >> 63) == min ? x : y;
    else
        res = (x < y) == min ? x : y;
    uint32_t v = fp_narrow(res, f, Rnd_RN), sign = 1u << (f.ebits + f.mbits);
    return dec->hminmax.xorsign ? (v & ~sign) | (neg ? sign : 0) : v;
}
/* Of two, or of that and a third. */
static int hmnmx_sources(Warp *warp, Dec *dec, uint32_t g, bool three) {
    ROWS;
    Fmt f = dec->hminmax.bf16 ? fmt_bf16 : fmt_f16, to = dec->hminmax.f32 ? fmt_f32 : f;
    uint32_t p = dec_pred(warp, dec, 0);
    EACH_LANE(i, g) {
        bool min = p >> i & 1;
        uint32_t v[2];
        for (unsigned h = 0; h < 2; h++) {
            v[h] = hmnmx_one(dec, half_source(dec, 0, a[i], h, f), half_source(dec, 1, b[i], h, f),
                             half_sign(dec, 0, a[i], h) != half_sign(dec, 1, b[i], h), min, to);
            if (three)
                v[h] = hmnmx_one(dec, fp_widen(v[h], f), half_source(dec, 2, c[i], h, f),
                                 (v[h] >> 15) != half_sign(dec, 2, c[i], h), min, to);
        }
        r[i] = dec->hminmax.f32 ? v[0] : v[0] | v[1] << 16;
    }
    return NEXT;
}
static int hmnmx2(Warp *w, Dec *dec, uint32_t g) { return hmnmx_sources(w, dec, g, false); }
static int vhmnmx(Warp *w, Dec *dec, uint32_t g) { return hmnmx_sources(w, dec, g, true); }
bool LV(bind_HMNMX2)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind->d->hminmax.ftz = MGET(HMNMX2, ftz, m) ? ~0u : 0;
    bind->d->hminmax.nan = MGET(HMNMX2, nan, m);
    bind->d->hminmax.xorsign = MGET(HMNMX2, xorsign, m);
    bind->d->hminmax.f32 = MGET(HMNMX2, f32, m);
    bind->d->hminmax.bf16 = MGET(HMNMX2, bf16, m);
    bind_chained(bind, hmnmx2, hmnmx2);
    return bind_half(bind);
}

bool LV(bind_VHMNMX)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind->d->hminmax.ftz = MGET(VHMNMX, ftz, m) ? ~0u : 0;
    bind->d->hminmax.nan = MGET(VHMNMX, nan, m);
    bind->d->hminmax.xorsign = MGET(VHMNMX, xorsign, m);
    bind->d->hminmax.bf16 = MGET(VHMNMX, bf16, m);
    bind_chained(bind, vhmnmx, vhmnmx);
    return bind_half(bind);
}

/* ---- comparison ---- */
static bool half_cmp(const Dec *dec, uint32_t x, uint32_t y, unsigned h) {
    Fmt f = dec->hset.bf16 ? fmt_bf16 : fmt_f16;
    double p = half_source(dec, 0, x, h, f), q = half_source(dec, 1, y, h, f);
    return (fp_relation(p, q) & dec->hset.cmp) != 0;
}
static int hset2(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t pp = dec_pred(warp, dec, 0), one = !dec->hset.flag ? 0xffff : dec->hset.bf16 ? 0x3f80 : 0x3c00;
    EACH_LANE(i, g) {
        uint32_t p = pp >> i & 1;
        uint32_t lo = bool_op(dec->hset.bop, half_cmp(dec, a[i], b[i], 0), p),
                 hi = bool_op(dec->hset.bop, half_cmp(dec, a[i], b[i], 1), p);
        r[i] = (lo ? one : 0) | (hi ? one << 16 : 0);
    }
    return NEXT;
}
static int hsetp2(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t pp = dec_pred(warp, dec, 0), lo = 0, hi = 0;
    EACH_LANE(i, g) {
        lo |= (uint32_t)half_cmp(dec, a[i], b[i], 0) << i;
        hi |= (uint32_t)half_cmp(dec, a[i], b[i], 1) << i;
    }
    uint32_t both = lo & hi;
    set_pred(warp, dec->pd[0], g, bool_op(dec->hset.bop, dec->hset.flag ? both : lo, pp));
    set_pred(warp, dec->pd[1], g, bool_op(dec->hset.bop, dec->hset.flag ? ~both : hi, pp));
    return NEXT;
}
bool LV(bind_HSET2)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind->d->hset.ftz = MGET(HSET2, ftz, m) ? ~0u : 0;
    bind->d->hset.cmp = MGET(HSET2, cmp, m);
    bind->d->hset.bop = MGET(HSET2, bop, m);
    bind->d->hset.flag = MGET(HSET2, bf, m);
    bind->d->hset.bf16 = MGET(HSET2, bf16, m);
    bind_chained(bind, hset2, hset2);
    return bind_half(bind);
}
bool LV(bind_HSETP2)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind->d->hset.ftz = MGET(HSETP2, ftz, m) ? ~0u : 0;
    bind->d->hset.cmp = MGET(HSETP2, cmp, m);
    bind->d->hset.bop = MGET(HSETP2, bop, m);
    bind->d->hset.flag = MGET(HSETP2, h_and, m);
    bind->d->hset.bf16 = MGET(HSETP2, bf16, m);
    bind_chained(bind, hsetp2, hsetp2);
    return bind_half(bind);
}
