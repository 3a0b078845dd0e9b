/* multimem.ld_reduce, .st and .red of the PTX interpreter (PTX ISA 9.7.9.14): each is done to the replicas of
 * a multicast object in their order, as accesses of theirs. A reduction begins with what the first holds and
 * rounds after each step; .acc::f32 adds in f32 and rounds the sum once (docs/numerics.md section 8).
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <string.h>

enum { MOST_ELEMENTS = 8 };

static const SimMulticast *object_at(PtxRun *run, PtxThread *thread, const PtxCode *code, uint64_t address,
                                     unsigned bytes) {
    const SimMulticast *object = simmem_multicast(run->mem, address, bytes);
    if (address & (bytes - 1))
        interp_trap_at(run, thread, code, TRAP_MISALIGNED, address, NULL);
    else if (!object)
        interp_trap_at(run, thread, code, TRAP_OUT_OF_RANGE, address, "no multicast object");
    return address & (bytes - 1) ? NULL : object;
}

static uint64_t element_at(const uint8_t *bytes, const PtxCode *code, unsigned k) {
    uint64_t element = 0;
    memcpy(&element, bytes + (size_t)k * code->size_bytes, code->size_bytes);
    return element;
}

/* The sum so far, of one half in f32, and one half more. */
static uint32_t add_half(PtxFormat format, uint32_t sum, uint16_t half) {
    uint32_t more = (uint32_t)interp_round_double(FMT_F32, interp_half_value(format, half), RND_RN);
    return interp_f32_op(MATH_ADD, sum, more, 0, RND_RN);
}
static uint16_t narrow(PtxFormat format, uint32_t sum) {
    float value;
    memcpy(&value, &sum, sizeof value);
    return (uint16_t)interp_round_double(format, (double)value, RND_RN);
}

static PtxStep exec_ld_reduce(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    unsigned n = code->vec_dst ? code->nvec : 1, bytes = code->size_bytes * n;
    uint64_t address = interp_address(run, thread, code, SP_GLOBAL), result[MOST_ELEMENTS] = {0};
    uint32_t sums[MOST_ELEMENTS][2] = {{0}};
    bool wide = code->sub == SUB_ACC_F32, brains = code->type == TY_BF16 || code->type == TY_BF16X2;
    PtxFormat format = brains ? FMT_BF16 : FMT_F16;
    const SimMulticast *object = object_at(run, thread, code, address, bytes);
    if (!object)
        return STEP_STOP;
    for (uint32_t r = 0; r < object->nreplicas; r++) {
        const uint8_t *from =
            interp_memory(run, thread, code, SP_GLOBAL, simmem_replica(object, r, address), bytes, false);
        if (!from)
            return STEP_STOP;
        interp_race_load(run, thread, code);
        for (unsigned k = 0; k < n; k++) {
            uint64_t held = element_at(from, code, k);
            for (unsigned h = 0; wide && h < code->size_bytes / 2u; h++) {
                uint16_t half = (uint16_t)(held >> 16 * h);
                sums[k][h] =
                    r ? add_half(format, sums[k][h], half)
                      : (uint32_t)interp_round_double(FMT_F32, interp_half_value(format, half), RND_RN);
            }
            if (!wide)
                result[k] = r ? interp_atomic_value(code, result[k], held, false) : held;
        }
    }
    for (unsigned k = 0; k < n; k++) {
        for (unsigned h = 0; wide && h < code->size_bytes / 2u; h++)
            result[k] |= (uint64_t)narrow(format, sums[k][h]) << 16 * h;
        interp_put(thread, code->vec_dst ? code->vec_dst[k] : code->dst[0], result[k]);
    }
    return STEP_YIELD;
}

/* Elements of the operand behind the address. */
static unsigned read_elements(PtxRun *run, PtxThread *thread, const PtxCode *code,
                              uint64_t elements[MOST_ELEMENTS]) {
    unsigned n = code->vec ? code->nvec : 1;
    for (unsigned k = 0; k < n; k++)
        elements[k] = interp_arg(run, thread, code->vec ? &code->vec[k] : &code->src[1]);
    return n;
}

/* st, and red where combine. */
static PtxStep write_replicas(PtxRun *run, PtxThread *thread, const PtxCode *code, bool combine) {
    uint64_t elements[MOST_ELEMENTS], address = interp_address(run, thread, code, SP_GLOBAL);
    unsigned n = read_elements(run, thread, code, elements), bytes = code->size_bytes * n;
    uint8_t now[MOST_ELEMENTS * sizeof(uint64_t)];
    const SimMulticast *object = object_at(run, thread, code, address, bytes);
    if (!object)
        return STEP_STOP;
    for (uint32_t r = 0; r < object->nreplicas; r++) {
        uint8_t *to =
            interp_memory(run, thread, code, SP_GLOBAL, simmem_replica(object, r, address), bytes, true);
        if (!to)
            return STEP_STOP;
        if (combine)
            interp_race_atomic(run, thread, code, to);
        for (unsigned k = 0; k < n; k++) {
            uint64_t value =
                combine ? interp_atomic_value(code, element_at(to, code, k), elements[k], true) : elements[k];
            memcpy(now + (size_t)k * code->size_bytes, &value, code->size_bytes);
        }
        if (!combine)
            interp_race_store(run, thread, code, to, now);
        memcpy(to, now, bytes);
    }
    return combine ? STEP_YIELD : STEP_GO;
}
static PtxStep exec_st_all(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    return write_replicas(run, thread, code, false);
}
static PtxStep exec_red_all(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    return write_replicas(run, thread, code, true);
}

static bool vector_fits(const PtxCode *code, bool has_vector) {
    return code->size_bytes <= 8 && (!has_vector || code->nvec == code->insn->vec);
}
bool interp_bind_multimem_ld_reduce(PtxCode *code) {
    code->exec = exec_ld_reduce;
    return vector_fits(code, code->vec_dst != NULL);
}
bool interp_bind_multimem_st(PtxCode *code) {
    code->exec = exec_st_all;
    return vector_fits(code, code->vec != NULL);
}
bool interp_bind_multimem_red(PtxCode *code) {
    code->exec = exec_red_all;
    return vector_fits(code, code->vec != NULL);
}
