/* The lane functions of integers as the constant folder calls them: the rows' own text, for values of one
 * lane. SPDX-License-Identifier: MIT */
#include "isa/lane/choose.h"
#include "isa/lane/lane.h"

typedef struct { /* as the rows' K() name it */
    uint32_t xm[4], imm[2];
    LaneMods lane;
} Bound;
typedef struct {
    uint32_t src[4], p, q, bop;
    Bound bound;
} Call;
typedef bool ComputeFn(const Call *call, LaneResult *out);

#define K(field) bound->field
#define STRIP(...) __VA_ARGS__
#define SETUP(ks)                                                                                            \
    UNUSED const Bound *bound = &call->bound;                                                                \
    const uint32_t k[LANE_MAX_KS] = {STRIP ks};
#define CALL(fn)                                                                                             \
    fn(call->src[0], call->src[1], call->src[2], call->p, call->q, k[0], k[1], k[2], k[3], k[4], k[5], k[6], \
       k[7], k[8])
static void value_of(LaneResult *out, uint64_t value) {
    out->has_value = true;
    out->value = (uint32_t)value;
}
static bool predicates_of(LaneResult *out, bool first, bool second) {
    out->has_predicates = true;
    out->predicate[0] = first;
    out->predicate[1] = second;
    return true;
}

#define COMPUTE(name) static bool compute_##name(const Call *call, LaneResult *out)
#define LANE(name, rw, aw, bw, cw, ks, expr)                                                                 \
    COMPUTE(name) {                                                                                          \
        SETUP(ks)                                                                                            \
        value_of(out, CALL(lane_##name));                                                                    \
        return (rw) == 32 && (aw) == 32 && (bw) == 32 && (cw) == 32;                                         \
    }
#define LANE_CARRY(name, aw, bw, cw, ks, expr, carries)                                                      \
    COMPUTE(name) {                                                                                          \
        SETUP(ks)                                                                                            \
        uint32_t n = CALL(lane_##name##_carries);                                                            \
        value_of(out, CALL(lane_##name));                                                                    \
        return predicates_of(out, n > 0, n > 1);                                                             \
    }
#define LANE_LOGIC(name, ks, expr)                                                                           \
    COMPUTE(name) {                                                                                          \
        SETUP(ks)                                                                                            \
        uint32_t value = CALL(lane_##name);                                                                  \
        value_of(out, value);                                                                                \
        return predicates_of(out, bool_op(call->bop, value != 0, call->p) & 1, false);                       \
    }
#define LANE_SETP(name, ks, cond)                                                                            \
    COMPUTE(name) {                                                                                          \
        SETUP(ks)                                                                                            \
        uint32_t is = CALL(lane_##name);                                                                     \
        return predicates_of(out, bool_op(call->bop, is, call->p) & 1,                                       \
                             bool_op(call->bop, !is, call->p) & 1);                                          \
    }
#include "isa/lane/lanes_int.def"
#undef LANE
#undef LANE_CARRY
#undef LANE_LOGIC
#undef LANE_SETP

static ComputeFn *const functions[] = {
#define LANE(name, ...) compute_##name,
#define LANE_CARRY(name, ...) compute_##name,
#define LANE_LOGIC(name, ...) compute_##name,
#define LANE_SETP(name, ...) compute_##name,
#include "isa/lane/lanes_int.def"
};

bool lane_compute(const Target *target, const MachInst *in, bool predicates,
                  const uint32_t value[MACH_MAX_SRC], LaneResult *out) {
    Call call = {.p = 1, .q = 1};
    unsigned nv = 0, nq = 0, ni = 0;
    for (unsigned i = 0; i < isa_num_src(in->optype); i++)
        switch (lane_source(target, in, i)) {
        case LANE_SRC_VECTOR:
            call.src[nv] = value[i];
            call.bound.xm[nv] = in->src[i].mods & (OPM_NEG | OPM_NOT) ? ~0u : 0;
            if (++nv == 4 || in->src[i].mods & OPM_ABS)
                return false;
            break;
        case LANE_SRC_PREDICATE:
            if (nq < 2)
                *(nq ? &call.q : &call.p) = value[i] & 1;
            nq++;
            break;
        case LANE_SRC_NUMBER:
            if (ni < 2)
                call.bound.imm[ni++] = value[i];
            break;
        case LANE_SRC_BARRIER: return false;
        }
    LaneInt row = lane_choose(in, call.bound.xm, predicates, &call.bound.lane, &call.bop);
    *out = (LaneResult){0};
    return row != LANE_INT_NONE && functions[row](&call, out);
}
