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

#ifndef SIM_LEVEL
#error "SIM_LEVEL names the host level"
#endif
#define LV_PASTE2(name, level) name##_##level
#define LV_PASTE(name, level) LV_PASTE2(name, level)
#define LV(name) LV_PASTE(name, SIM_LEVEL)

#if defined(__clang__)
#define LANES _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < 32; i++)
#else
#define LANES _Pragma("GCC ivdep") for (unsigned i = 0; i < 32; i++)
#endif
#define EACH_LANE(lane, mask)                                                                                \
    for (uint32_t m_ = (mask), lane; m_ && (lane = low_lane(m_), true); m_ &= m_ - 1)
#define UNUSED __attribute__((unused))

static inline UNUSED uint32_t lane_mask(uint32_t g, unsigned i) { return 0u - (g >> i & 1u); }
static inline UNUSED uint32_t blend(uint32_t m, uint32_t x, uint32_t old) { return (x & m) | (old & ~m); }
static inline UNUSED float as_f32(uint32_t x) {
    union {
        uint32_t u;
        float f;
    } v = {x};
    return v.f;
}
static inline UNUSED uint32_t f32_bits(float x) {
    union {
        float f;
        uint32_t u;
    } v = {x};
    return v.u;
}
static inline UNUSED double as_f64(uint64_t x) {
    union {
        uint64_t u;
        double f;
    } v = {x};
    return v.f;
}
static inline UNUSED uint64_t f64_bits(double x) {
    union {
        double f;
        uint64_t u;
    } v = {x};
    return v.u;
}
static inline UNUSED uint64_t pair(uint32_t lo, uint32_t hi) { return (uint64_t)hi << 32 | lo; }

/* Rows a, b, c of sources 0..2 and destination r, as locals. */
#define ROWS                                                                                                 \
    UNUSED const uint32_t *a = dec_src(warp, dec, 0), *b = dec_src(warp, dec, 1),                            \
                          *c = dec_src(warp, dec, 2);                                                        \
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
        return RUN_OK;                                                                                       \
    }                                                                                                        \
    static int name##_p(Warp *warp, Dec *dec, uint32_t g) {                                                  \
        ROWS;                                                                                                \
        SETUP                                                                                                \
        LANES { r[i] = blend(lane_mask(g, i), (EXPR), r[i]); }                                               \
        return RUN_OK;                                                                                       \
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
        return RUN_OK;                                                                                       \
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
        return RUN_OK;                                                                                       \
    }
/* Lane mask of a condition. */
#define MASK_OF(out, COND)                                                                                   \
    uint32_t out = 0;                                                                                        \
    LANES { out |= (COND) ? 1u << i : 0u; }

#define USE(b, name) ((b)->d->full = name##_f, (b)->d->part = name##_p)

/* Uniform operations run the vector function on rows whose lanes are all equal, once for the warp. */
static UNUSED int uniform_call(Warp *warp, Dec *dec, uint32_t g) {
    if (warp->active != warp->valid)
        machine_finding(warp, dec, MF_UNIFORM_DIVERGED, g, 0, "%s", isa_optype_name(dec->optype));
    return dec->inner_full(warp, dec, ~0u);
}
static inline UNUSED bool uniform(Bind *bind) {
    bind->d->inner_full = bind->d->full;
    bind->d->full = bind->d->part = uniform_call;
    return !bind->failed;
}

/* bop of a predicate operation */
static inline UNUSED uint32_t bool_op(uint32_t op, uint32_t x, uint32_t y) {
    return op == BoolOp_AND ? x & y : op == BoolOp_OR ? x | y : x ^ y;
}
#endif
