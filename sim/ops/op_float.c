/* f32 and f64 arithmetic and comparison, as docs/numerics.md has it. The plain forms (no modifiers, nearest)
 * have functions of their own; the others share one with masks. Rounding modes other than nearest run the
 * same code with the host's mode switched: every operation here is one correctly rounded host operation.
 * SPDX-License-Identifier: MIT */
#include "sim/ops/fp.h"
#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

#if defined(__SSE2__)
/* MXCSR rounding field by Rnd: nearest, down, up, to zero */
static int round_call(Warp *warp, Dec *dec, uint32_t g) {
    unsigned saved = _mm_getcsr();
    _mm_setcsr((saved & ~0x6000u) | dec->flt.rnd << 13);
    int status = (g == ~0u ? dec->alone->full : dec->alone->part)(warp, dec->alone, g);
    _mm_setcsr(saved);
    return next_if(warp, dec, status);
}
#else
static int round_call(Warp *warp, Dec *dec, uint32_t g) {
    static const int mode[4] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    fesetround(mode[dec->flt.rnd & 3]);
    int status = (g == ~0u ? dec->alone->full : dec->alone->part)(warp, dec->alone, g);
    fesetround(FE_TONEAREST);
    return next_if(warp, dec, status);
}
#endif

static int ends_alone(Warp *warp, Dec *dec, uint32_t g) {
    (void)warp;
    (void)dec;
    (void)g;
    return RUN_OK;
}

/* The mode is that of this instruction only, so its handler goes on with `ends_alone`, not with the next
 * instruction. */
bool LV(bind_rounding)(Bind *bind, uint32_t rnd) {
    Dec *dec = bind->d;
    if (rnd != Rnd_RN) {
        dec->flt.rnd = rnd;
        uint8_t *raw = arena_alloc(&bind->run->arena, 3 * sizeof *dec);
        dec->alone =
            (Dec *)(void *)(raw + (DEC_LINE_BYTES - (uintptr_t)raw % DEC_LINE_BYTES) % DEC_LINE_BYTES);
        dec->alone[0] = *dec;
        dec_go(&dec->alone[1], ends_alone);
        bind_chained(bind, round_call, round_call);
    }
    return !bind->failed;
}

/* Returns whether nothing is modified. */
static bool bind_f32(Bind *bind, bool ftz, bool sat, bool fmz) {
    Dec *dec = bind->d;
    bind_operands(bind);
    bool plain = !ftz && !sat && !fmz;
    for (unsigned i = 0; i < 4; i++) {
        dec->xm[i] &= 0x80000000u;
        plain = plain && !dec->xm[i] && dec->am[i] == ~0u;
    }
    dec->flt.ftz = ftz || fmz ? ~0u : 0;
    dec->flt.sat = sat ? ~0u : 0;
    dec->flt.fmz = fmz ? ~0u : 0;
    return plain;
}

/* Numbers that are not ordered: one of them is a NaN. */
static inline bool any_nan(const float x[32]) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(x), _mm512_loadu_ps(x + 16), _CMP_UNORD_Q) != 0;
#elif defined(__AVX__)
    __m256 low = _mm256_cmp_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8), _CMP_UNORD_Q);
    __m256 high = _mm256_cmp_ps(_mm256_loadu_ps(x + 16), _mm256_loadu_ps(x + 24), _CMP_UNORD_Q);
    return _mm256_movemask_ps(_mm256_or_ps(low, high)) != 0;
#else
    MASK_OF(nans, x[i] != x[i])
    return nans != 0;
#endif
}
static inline void setp_write(Warp *warp, Dec *dec, uint32_t g, uint32_t res) {
    uint32_t pp = dec_pred(warp, dec, 0), bop = dec->fset.bop;
    if (dec->optype == OT_FSET) {
        uint32_t v = bool_op(bop, res, pp), *r = dec_dst(warp, dec, 0);
        LANES { r[i] = blend(lane_mask(g, i), v >> i & 1 ? 0x3f800000u : 0, r[i]); }
        return;
    }
    set_pred(warp, dec->pd[0], g, bool_op(bop, res, pp));
    set_pred(warp, dec->pd[1], g, bool_op(bop, ~res, pp));
}
#define SETP_WRITE(res) setp_write(warp, dec, g, (res))
#include "sim/ops/handlers.h"
#include "isa/lane/lanes_float.def"
#include "sim/ops/handlers_end.h"
const LaneHandler LV(lanes_float)[] = {
#include "isa/lane/lanes_float.def"
};

static void use_plain(Bind *bind, OpFn *full, OpFn *part, OpFn *of_rows) {
    Dec *dec = bind->d;
    bool rows = true;
    for (unsigned i = 0; i < dec->nv; i++)
        rows &= !dec_src_is_constant(dec, i);
    bind_chained(bind, full, part);
    dec->full_in_run = rows ? of_rows : NULL;
}
#define USE_PLAIN(bind, name) use_plain(bind, name##_f, name##_p, name##_r)

bool LV(bind_FADD)(Bind *bind) {
    uint32_t m = bind->in->mods;
    if (bind_f32(bind, MGET(FADD, ftz, m), MGET(FADD, sat, m), false))
        USE_PLAIN(bind, fadd);
    else
        USE(bind, fadd_mod);
    return LV(bind_rounding)(bind, MGET(FADD, rnd, m));
}
bool LV(bind_FMUL)(Bind *bind) {
    uint32_t m = bind->in->mods, scale = MGET(FMUL, scale, m);
    bool plain = bind_f32(bind, MGET(FMUL, ftz, m), MGET(FMUL, sat, m), MGET(FMUL, fmz, m));
    if (plain)
        USE_PLAIN(bind, fmul);
    else
        USE(bind, fmul_mod);
    if (MGET(FMUL, fmz, m))
        USE(bind, fmul_fmz);
    if (scale != FmulScale_NONE) {
        static const double factor[8] = {1, 0.125, 0.25, 0.5, 1, 2, 4, 8};
        if (MGET(FMUL, fmz, m))
            return bind_not_simulated(bind);
        bind->d->flt.scale_lo = (uint32_t)f64_bits(factor[scale & 7]);
        bind->d->flt.scale_hi = (uint32_t)(f64_bits(factor[scale & 7]) >> 32);
        USE(bind, fmul_scale);
    }
    return LV(bind_rounding)(bind, MGET(FMUL, rnd, m));
}
bool LV(bind_FFMA)(Bind *bind) {
    uint32_t m = bind->in->mods;
    if (bind_f32(bind, MGET(FFMA, ftz, m), MGET(FFMA, sat, m), MGET(FFMA, fmz, m)))
        USE_PLAIN(bind, ffma);
    else
        USE(bind, ffma_mod);
    return LV(bind_rounding)(bind, MGET(FFMA, rnd, m));
}

bool LV(bind_FSEL)(Bind *bind) {
    bind_f32(bind, MGET(FSEL, ftz, bind->in->mods), false, false);
    USE(bind, fsel);
    return !bind->failed;
}

bool LV(bind_FMNMX)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind_f32(bind, MGET(FMNMX, ftz, m), false, false);
    bind->d->fminmax.nan = MGET(FMNMX, nan, m);
    bind->d->fminmax.xorsign = MGET(FMNMX, xorsign, m);
    USE(bind, fmnmx);
    return !bind->failed;
}

/* ---- FSETP, FSET ---- */
#define FCMP(name)                                                                                           \
    { fcmp_##name##_f, fcmp_##name##_p }
static const LaneHandler fcmp_by_code[16] = {FCMP(f),   FCMP(lt),  FCMP(eq),  FCMP(le),  FCMP(gt),  FCMP(ne),
                                             FCMP(ge),  FCMP(num), FCMP(nan), FCMP(ltu), FCMP(equ), FCMP(leu),
                                             FCMP(gtu), FCMP(neu), FCMP(geu), FCMP(t)};

static bool use_fcmp(Bind *bind, uint32_t cmp, uint32_t bop, bool ftz) {
    bind_f32(bind, ftz, false, false);
    bind->d->fset.bop = bop;
    bind_chained(bind, fcmp_by_code[cmp & 15].full, fcmp_by_code[cmp & 15].part);
    return !bind->failed;
}
bool LV(bind_FSETP)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return use_fcmp(bind, MGET(FSETP, cmp, m), MGET(FSETP, bop, m), MGET(FSETP, ftz, m));
}
bool LV(bind_FSET)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return use_fcmp(bind, MGET(FSET, cmp, m), MGET(FSET, bop, m), MGET(FSET, ftz, m));
}

bool LV(bind_FCHK)(Bind *bind) {
    bind_f32(bind, false, false, false);
    USE(bind, fchk);
    return !bind->failed;
}

/* ---- f64: modifiers touch the high word ---- */
#define F64_SETUP                                                                                            \
    const uint32_t m0 = dec->am[0], x0 = dec->xm[0] & 0x80000000u, m1 = dec->am[1],                          \
                   x1 = dec->xm[1] & 0x80000000u;
#define F64_SETUP3 F64_SETUP const uint32_t m2 = dec->am[2], x2 = dec->xm[2] & 0x80000000u;
#define DA as_f64(pair(a[i], (ah[i] & m0) ^ x0))
#define DB as_f64(pair(b[i], (bh[i] & m1) ^ x1))
#define DC as_f64(pair(c[i], (ch[i] & m2) ^ x2))

static void bind_f64(Bind *bind) {
    for (unsigned i = 0; i < 3; i++)
        bind->width[i] = WIDTH_F64;
    bind_operands(bind);
}
bool LV(bind_DADD)(Bind *bind) {
    bind_f64(bind);
    USE(bind, dadd);
    return LV(bind_rounding)(bind, MGET(DADD, rnd, bind->in->mods));
}
bool LV(bind_DMUL)(Bind *bind) {
    bind_f64(bind);
    USE(bind, dmul);
    return LV(bind_rounding)(bind, MGET(DMUL, rnd, bind->in->mods));
}
bool LV(bind_DFMA)(Bind *bind) {
    bind_f64(bind);
    USE(bind, dfma);
    return LV(bind_rounding)(bind, MGET(DFMA, rnd, bind->in->mods));
}

/* .MIN/.MAX: pu says that a is the result; pv that a and b are NaN. (ptxas -arch=sm_80 of min.f64 selects by
 * pu, and under pv makes the chosen NaN quiet; with one NaN operand it keeps the other's bits.) */
static uint32_t dsetp_pick(double x, double y, bool min) {
    if (y != y)
        return 1;
    uint64_t bx = f64_bits(x), by = f64_bits(y);
    if (x == y)
        return min ? bx >> 63 >= by >> 63 : bx >> 63 <= by >> 63;
    return min ? x < y : x > y;
}
static int dsetp(Warp *warp, Dec *dec, uint32_t g) {
    ROWS64;
    F64_SETUP(void) c;
    (void)ch;
    uint32_t cmp = dec->dset.cmp, bop = dec->dset.bop, pp = dec_pred(warp, dec, 0), res = 0, other = 0;
    bool select = cmp == DCmp_MIN || cmp == DCmp_MAX;
    for (unsigned i = 0; i < 32; i++) {
        double x = DA, y = DB;
        uint32_t rel = fp_relation(x, y);
        res |= (select ? dsetp_pick(x, y, cmp == DCmp_MIN) : (uint32_t)((rel & cmp) != 0)) << i;
        other |= (uint32_t)(select ? x != x && y != y : (rel & cmp) == 0) << i;
    }
    set_pred(warp, dec->pd[0], g, bool_op(bop, res, pp));
    set_pred(warp, dec->pd[1], g, bool_op(bop, other, pp));
    return NEXT;
}
bool LV(bind_DSETP)(Bind *bind) {
    bind_f64(bind);
    bind->d->dset.cmp = MGET(DSETP, cmp, bind->in->mods);
    bind->d->dset.bop = MGET(DSETP, bop, bind->in->mods);
    bind_chained(bind, dsetp, dsetp);
    return !bind->failed;
}
