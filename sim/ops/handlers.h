/* Handlers of lane functions: included before a part of lanes.def, it makes of each row the functions that
 * run it for 32 lanes, NAME_f for all and NAME_p for some lanes; handlers_end.h ends that.
 * A part with LANE_SETP rows defines SETP_WRITE(mask). SPDX-License-Identifier: MIT */
#define K(field) dec->field
#define LANE_STRIP(...) __VA_ARGS__
#define LANE_SETUP(ks)                                                                                       \
    ROWS;                                                                                                    \
    LANE_CONSTANTS(ks)
#define LANE_CONSTANTS(ks)                                                                                   \
    UNUSED const uint32_t k[LANE_MAX_KS] = {LANE_STRIP ks};                                                  \
    UNUSED const uint32_t ps = dec_pred(warp, dec, 0), qs = dec_pred(warp, dec, 1);
#define LANE_SRC32(row) row[i]
#define LANE_SRC64(row) pair(row[i], row[i + 32])
#define LANE_CALL(fn, aw, bw, cw)                                                                            \
    fn(LANE_SRC##aw(a), LANE_SRC##bw(b), LANE_SRC##cw(c), ps >> i & 1, qs >> i & 1, k[0], k[1], k[2], k[3],  \
       k[4], k[5], k[6], k[7], k[8])
#define LANE_PUT32(x) r[i] = (x);
#define LANE_PUT64(x)                                                                                        \
    uint64_t v = (x);                                                                                        \
    r[i] = (uint32_t)v;                                                                                      \
    r[i + 32] = (uint32_t)(v >> 32);
#define LANE_BLEND32(x) r[i] = blend(lane_mask(g, i), (x), r[i]);
#define LANE_BLEND64(x)                                                                                      \
    uint64_t v = (x);                                                                                        \
    uint32_t m = lane_mask(g, i);                                                                            \
    r[i] = blend(m, (uint32_t)v, r[i]);                                                                      \
    r[i + 32] = blend(m, (uint32_t)(v >> 32), r[i + 32]);
#define LANE_HEAD(name) static int name(Warp *warp, Dec *dec, UNUSED uint32_t g)

#define LANE(name, rw, aw, bw, cw, ks, expr)                                                                 \
    LANE_HEAD(name##_f) {                                                                                    \
        LANE_SETUP(ks)                                                                                       \
        LANES { LANE_PUT##rw(LANE_CALL(lane_##name, aw, bw, cw)) }                                           \
        return NEXT_ALL;                                                                                     \
    }                                                                                                        \
    LANE_HEAD(name##_p) {                                                                                    \
        LANE_SETUP(ks)                                                                                       \
        LANES { LANE_BLEND##rw(LANE_CALL(lane_##name, aw, bw, cw)) }                                         \
        return NEXT;                                                                                         \
    }
/* NaNs are made canonical where there are any, which is found beside the result, not on the way to it: what
 * waits for the row gets it as the host's operation gives it. */
#define LANE_FLOAT_ALL(name, ks, ...)                                                                        \
    __VA_ARGS__;                                                                                             \
    LANE_CONSTANTS(ks)                                                                                       \
    float x[32];                                                                                             \
    LANES { x[i] = LANE_CALL(lane_raw_##name, 32, 32, 32); }                                                 \
    LANES { r[i] = f32_bits(x[i]); }                                                                         \
    if (__builtin_expect(any_nan(x), 0))                                                                     \
        LANES { r[i] = f32_canon(x[i]); }                                                                    \
    return NEXT_ALL;
/* name_r: where all that it reads are rows of the warp, which need not be asked for each. */
#define LANE_FLOAT(name, ks, expr)                                                                           \
    LANE_HEAD(name##_f){LANE_FLOAT_ALL(name, ks, ROWS)} LANE_HEAD(name##_r){                                 \
        LANE_FLOAT_ALL(name, ks, ROWS_OF_WARP)} LANE_HEAD(name##_p) {                                        \
        LANE_SETUP(ks)                                                                                       \
        LANES { LANE_BLEND32(LANE_CALL(lane_##name, 32, 32, 32)) }                                           \
        return NEXT;                                                                                         \
    }
/* Of those that write predicates one body serves both: `all` is known where it is called. */
#define LANE_BODY(name)                                                                                      \
    static inline                                                                                            \
        __attribute__((always_inline)) void name##_body(Warp *warp, Dec *dec, uint32_t g, UNUSED bool all)
#define LANE_BOTH(name)                                                                                      \
    LANE_HEAD(name##_f) {                                                                                    \
        name##_body(warp, dec, ~0u, true);                                                                   \
        return NEXT_ALL;                                                                                     \
    }                                                                                                        \
    LANE_HEAD(name##_p) {                                                                                    \
        name##_body(warp, dec, g, false);                                                                    \
        return NEXT;                                                                                         \
    }
#define LANE_WRITE32(x) r[i] = all ? (x) : blend(lane_mask(g, i), (x), r[i]);
#define LANE_CARRY(name, aw, bw, cw, ks, expr, carries)                                                      \
    LANE_BODY(name) {                                                                                        \
        LANE_SETUP(ks)                                                                                       \
        uint32_t n[32];                                                                                      \
        LANES {                                                                                              \
            n[i] = LANE_CALL(lane_##name##_carries, aw, bw, cw);                                             \
            LANE_WRITE32(LANE_CALL(lane_##name, aw, bw, cw))                                                 \
        }                                                                                                    \
        MASK_OF_NONZERO(one, n[i])                                                                           \
        set_pred(warp, dec->pd[0], g, one);                                                                  \
        if (dec->pd[1] != PRED_SINK) {                                                                       \
            MASK_OF(two, n[i] > 1)                                                                           \
            set_pred(warp, dec->pd[1], g, two);                                                              \
        }                                                                                                    \
    }                                                                                                        \
    LANE_BOTH(name)
#define LANE_LOGIC(name, ks, expr)                                                                           \
    LANE_BODY(name) {                                                                                        \
        LANE_SETUP(ks)                                                                                       \
        MASK_OF_NONZERO(nonzero, LANE_CALL(lane_##name, 32, 32, 32))                                         \
        LANES{LANE_WRITE32(LANE_CALL(lane_##name, 32, 32, 32))} set_pred(warp, dec->pd[0], g,                \
                                                                         bool_op(dec->imm[1], nonzero, ps)); \
    }                                                                                                        \
    LANE_BOTH(name)
#define LANE_SETP(name, ks, cond)                                                                            \
    LANE_BODY(name) {                                                                                        \
        LANE_SETUP(ks)                                                                                       \
        MASK_OF(res, LANE_CALL(lane_##name, 32, 32, 32))                                                     \
        SETP_WRITE(res);                                                                                     \
    }                                                                                                        \
    LANE_BOTH(name)
