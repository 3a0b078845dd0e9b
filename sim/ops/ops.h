/* What the semantic functions of sim/ops share. Every file there is compiled once for each host level;
 * LV(name) is the name at the level being compiled.
 *
 * A semantic function computes one instruction for 32 lanes. It is written as one scalar expression in a loop
 * of 32 that the compiler turns into vector code of the level's width. Explicit 128-byte GNU vectors were
 * measured instead (bench/README.md): for a plain sum they are equal with gcc 12 and faster with clang 14,
 * but comparisons that make a lane mask and FMA, which has no vector form, are 5 to 100 times slower, so
 * loops stay. Rows are read before they are written lane by lane, so a destination may be one of the sources.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_OPS_OPS_H
#define HEDDLE_SIM_OPS_OPS_H
#include "sim/machine/internal.h"
#include "isa/lane/lane.h"

#ifndef SIM_LEVEL
#error "SIM_LEVEL names the host level"
#endif
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#define LV_PASTE2(name, level) name##_##level
#define LV_PASTE(name, level) LV_PASTE2(name, level)
#define LV(name) LV_PASTE(name, SIM_LEVEL)

#if defined(__clang__)
#define LANES _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < 32; i++)
#else
#define LANES _Pragma("GCC ivdep") for (unsigned i = 0; i < 32; i++)
#endif
/* A handler's last act: the instruction behind it, as far as the run goes. */
#define NEXT machine_next(warp, dec)
#define NEXT_ALL machine_next_all(warp, dec) /* of a handler for all lanes */
static inline UNUSED int next_if(Warp *warp, Dec *dec, int status) {
    return status == RUN_OK ? NEXT : status;
}
#define EACH_LANE(lane, mask)                                                                                \
    for (uint32_t m_ = (mask), lane; m_ && (lane = low_lane(m_), true); m_ &= m_ - 1)

/* Rows a, b, c of sources 0..2 and destination r, as locals. */
#define ROWS                                                                                                 \
    UNUSED const uint32_t *a = dec_src(warp, dec, 0), *b = dec_src(warp, dec, 1),                            \
                          *c = dec_src(warp, dec, 2);                                                        \
    UNUSED uint32_t *r = dec_dst(warp, dec, 0)
#define ROWS_OF_WARP                                                                                         \
    UNUSED const uint32_t *a = dec_row(warp, dec, 0), *b = dec_row(warp, dec, 1),                            \
                          *c = dec_row(warp, dec, 2);                                                        \
    UNUSED uint32_t *r = dec_dst(warp, dec, 0)
#define ROWS64                                                                                               \
    ROWS;                                                                                                    \
    UNUSED const uint32_t *ah = a + 32, *bh = b + 32, *ch = c + 32;                                          \
    UNUSED uint32_t *rh = r + 32

/* name_f (all lanes) and name_p (lanes of g) from one 32-bit expression in a[i], b[i], c[i]; SETUP are
 * declarations. */
#define OP32(name, SETUP, EXPR)                                                                              \
    static int name##_f(Warp *warp, Dec *dec, UNUSED uint32_t g) {                                           \
        ROWS;                                                                                                \
        SETUP                                                                                                \
        LANES { r[i] = (EXPR); }                                                                             \
        return NEXT_ALL;                                                                                     \
    }                                                                                                        \
    static int name##_p(Warp *warp, Dec *dec, uint32_t g) {                                                  \
        ROWS;                                                                                                \
        SETUP                                                                                                \
        LANES { r[i] = blend(lane_mask(g, i), (EXPR), r[i]); }                                               \
        return NEXT;                                                                                         \
    }
/* The same for a 64-bit result. */
#define OP64(name, SETUP, EXPR)                                                                              \
    static int name##_f(Warp *warp, Dec *dec, UNUSED uint32_t g) {                                           \
        ROWS64;                                                                                              \
        SETUP                                                                                                \
        LANES {                                                                                              \
            uint64_t x = (EXPR);                                                                             \
            r[i] = (uint32_t)x;                                                                              \
            rh[i] = (uint32_t)(x >> 32);                                                                     \
        }                                                                                                    \
        return NEXT_ALL;                                                                                     \
    }                                                                                                        \
    static int name##_p(Warp *warp, Dec *dec, uint32_t g) {                                                  \
        ROWS64;                                                                                              \
        SETUP                                                                                                \
        LANES {                                                                                              \
            uint64_t x = (EXPR);                                                                             \
            uint32_t m = lane_mask(g, i);                                                                    \
            r[i] = blend(m, (uint32_t)x, r[i]);                                                              \
            rh[i] = blend(m, (uint32_t)(x >> 32), rh[i]);                                                    \
        }                                                                                                    \
        return NEXT;                                                                                         \
    }
/* Bit i is the sign of t[i]. */
static inline UNUSED uint32_t sign_mask(const int32_t t[32]) {
#if defined(__AVX512DQ__)
    return (uint32_t)_mm512_movepi32_mask(_mm512_loadu_si512(t)) |
           (uint32_t)_mm512_movepi32_mask(_mm512_loadu_si512(t + 16)) << 16;
#elif defined(__AVX__)
    uint32_t m = 0;
    for (unsigned k = 0; k < 32; k += 8)
        m |= (uint32_t)_mm256_movemask_ps(_mm256_loadu_ps((const float *)(const void *)(t + k))) << k;
    return m;
#elif defined(__SSE2__)
    uint32_t m = 0;
    for (unsigned k = 0; k < 32; k += 4)
        m |= (uint32_t)_mm_movemask_ps(_mm_loadu_ps((const float *)(const void *)(t + k))) << k;
    return m;
#else
    uint32_t m = 0;
    for (unsigned i = 0; i < 32; i++)
        m |= (uint32_t)t[i] >> 31 << i;
    return m;
#endif
}
static inline UNUSED bool all_zero(const uint32_t t[16]) {
#if defined(__AVX512F__)
    __m512i x = _mm512_loadu_si512(t);
    return !_mm512_test_epi32_mask(x, x);
#else
    uint32_t any = 0;
    for (unsigned i = 0; i < 16; i++)
        any |= t[i];
    return !any;
#endif
}
/* Lane mask of a condition. */
#define MASK_OF(out, COND)                                                                                   \
    int32_t out##_lanes[32];                                                                                 \
    LANES { out##_lanes[i] = (COND) ? -1 : 0; }                                                              \
    uint32_t out = sign_mask(out##_lanes);
/* Of a value that is not 0: the host tests it, where a condition would become a vector first. */
#if defined(__AVX512F__)
static inline UNUSED uint32_t nonzero_mask(const uint32_t t[32]) {
    __m512i x = _mm512_loadu_si512(t), y = _mm512_loadu_si512(t + 16);
    return (uint32_t)_mm512_test_epi32_mask(x, x) | (uint32_t)_mm512_test_epi32_mask(y, y) << 16;
}
#define MASK_OF_NONZERO(out, VALUE)                                                                          \
    uint32_t out##_lanes[32];                                                                                \
    LANES { out##_lanes[i] = (VALUE); }                                                                      \
    uint32_t out = nonzero_mask(out##_lanes);
#else
#define MASK_OF_NONZERO(out, VALUE) MASK_OF(out, (VALUE) != 0)
#endif

#define USE(b, name) bind_chained((b), name##_f, name##_p)

/* Uniform operations run the vector function on rows whose lanes are all equal, once for the warp. */
static UNUSED int uniform_call(Warp *warp, Dec *dec, uint32_t g) {
    if (warp->active != warp->valid)
        machine_finding(warp, dec, MF_UNIFORM_DIVERGED, g, 0, "%s", isa_optype_name(dec->optype));
    return (warp->active == ~0u ? dec->inner_full : dec->inner_part)(warp, dec, ~0u);
}
static inline UNUSED bool uniform(Bind *bind) {
    bind->d->inner_full = bind->d->full;
    bind->d->inner_part = bind->d->part;
    bind_chained(bind, uniform_call, uniform_call);
    return !bind->failed;
}

extern const LaneHandler LV(lanes_int)[], LV(lanes_float)[], LV(lanes_cvt)[];

_Static_assert(BoolOp_AND == 0 && BoolOp_OR == 1, "as bool_op has them");
#endif
