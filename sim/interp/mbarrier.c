/* mbarrier objects of the PTX interpreter (PTX ISA 9.7.13.15) cp.async.mbarrier.arrive, and cp.async.bulk.
 *
 * The object is opaque to PTX. Here its 64 bits are, from the top: the phase's parity (63), what is left of
 * 2^20 when the pending arrivals are taken from it (43 to 62), the count of bytes still to come as a signed
 * number (22 to 42), and what is left of 2^20 when the expected arrivals are taken from it (1 to 20); bits 0
 * and 21 are 0. A state token is the object as it was before the arrival. docs/ptx.md says so to users.
 *
 * Arrivals, transactions and tests are atomic. Waiting looks once: try_wait may come back before the phase is
 * complete, and the other threads go on in the meantime.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdio.h>

enum { COUNT_LIMIT = 1 << 20, TX_LIMIT = 1 << 21 };

typedef struct {
    uint32_t expected, pending; /* arrivals: of each phase, still missing in this one */
    uint32_t tx;                /* modulo TX_LIMIT */
    bool odd;                   /* the phase's parity */
} Barrier;

static Barrier from_word(uint64_t word) {
    return (Barrier){.expected = (COUNT_LIMIT - (uint32_t)(word >> 1)) % COUNT_LIMIT,
                     .pending = (COUNT_LIMIT - (uint32_t)(word >> 43)) % COUNT_LIMIT,
                     .tx = (uint32_t)(word >> 22) % TX_LIMIT,
                     .odd = word >> 63 != 0};
}

static uint64_t to_word(Barrier b) {
    uint64_t expected = (COUNT_LIMIT - b.expected) % COUNT_LIMIT,
             pending = (COUNT_LIMIT - b.pending) % COUNT_LIMIT;
    return expected << 1 | (uint64_t)(b.tx % TX_LIMIT) << 22 | pending << 43 | (uint64_t)b.odd << 63;
}

typedef struct { /* of one statement; all of it happens at once */
    uint32_t arrivals, dropped, tx;
} Change;

static uint64_t changed(uint64_t word, Change change) {
    Barrier b = from_word(word);
    b.expected = (b.expected - change.dropped) % COUNT_LIMIT;
    b.pending = (b.pending - change.arrivals) % COUNT_LIMIT;
    b.tx = (b.tx + change.tx) % TX_LIMIT;
    if (b.pending == 0 && b.tx == 0) {
        b.odd = !b.odd;
        b.pending = b.expected;
    }
    return to_word(b);
}

/* The object that the statement names, NULL after a trap. */
static uint8_t *object(PtxRun *run, PtxThread *thread, const PtxCode *code, bool write) {
    uint64_t address = interp_address(run, thread, code, code->space);
    if (code->space == SP_NONE && address - SIM_SHARED_WINDOW >= SIM_CLUSTER_BYTES) {
        interp_trap(run, thread, code, TRAP_UNDEFINED, "the mbarrier object is not in shared memory");
        return NULL;
    }
    return interp_memory(run, thread, code, code->space, address, 8, write);
}

static void change_at(PtxThread *thread, const PtxCode *code, uint8_t *place, Change change) {
    uint64_t old, now;
    memcpy(&old, place, 8);
    now = changed(old, change);
    memcpy(place, &now, 8);
    if (code->ndst)
        interp_put(thread, code->dst[0], old);
}

static PtxStep change_object(PtxRun *run, PtxThread *thread, const PtxCode *code, Change change) {
    uint8_t *place = object(run, thread, code, true);
    if (!place)
        return STEP_STOP;
    interp_race_atomic(run, thread, code, place);
    change_at(thread, code, place, change);
    return STEP_YIELD;
}

static uint32_t drop_of(const PtxCode *code, uint32_t arrivals) {
    return code->sub == SUB_ARRIVE_DROP ? arrivals : 0;
}

/* ---- one function a column INTERP ---- */

static PtxStep exec_init(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    uint32_t count = (uint32_t)interp_arg(run, thread, &code->src[1]), n = count % COUNT_LIMIT;
    if (count == 0 || count >= COUNT_LIMIT) {
        char text[80];
        snprintf(text, sizeof text, "count %u, not from 1 to %u", count, COUNT_LIMIT - 1);
        interp_warn(run, thread, code, TRAP_UNDEFINED, text);
    }
    uint64_t word = to_word((Barrier){.expected = n, .pending = n});
    uint8_t *place = object(run, thread, code, true);
    if (!place)
        return STEP_STOP;
    interp_race_store(run, thread, code, place, (const uint8_t *)&word);
    memcpy(place, &word, 8);
    return STEP_GO;
}

static PtxStep exec_arrive(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    uint32_t n = code->nsrc > 1 ? (uint32_t)interp_arg(run, thread, &code->src[1]) : 1;
    return change_object(run, thread, code, (Change){.arrivals = n, .dropped = drop_of(code, n)});
}

static PtxStep exec_arrive_tx(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    uint32_t tx = (uint32_t)interp_arg(run, thread, &code->src[1]);
    return change_object(run, thread, code, (Change){.arrivals = 1, .dropped = drop_of(code, 1), .tx = tx});
}

static PtxStep exec_tx(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    uint32_t tx = (uint32_t)interp_arg(run, thread, &code->src[1]);
    return change_object(run, thread, code, (Change){.tx = code->sub == SUB_COMPLETE_TX ? 0 - tx : tx});
}

/* The thread's copies are done. What .noinc leaves out, one more arrival to wait
 * for, is taken back by the arrival itself. */
static PtxStep exec_copies_arrive(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    if (!interp_finish_copies(run, thread))
        return STEP_STOP;
    return change_object(run, thread, code, (Change){.arrivals = code->insn->flags & PF_NOINC ? 1 : 0});
}

/* The phase with the given parity is complete if the object is in one of the other. */
static PtxStep test_phase(PtxRun *run, PtxThread *thread, const PtxCode *code, bool odd) {
    const uint8_t *place = object(run, thread, code, false);
    if (!place)
        return STEP_STOP;
    interp_race_load(run, thread, code);
    uint64_t word;
    memcpy(&word, place, 8);
    bool complete = from_word(word).odd != odd;
    interp_took(thread, code, complete); /* lanes that looked at different times are on different paths */
    interp_put(thread, code->dst[0], complete);
    return STEP_YIELD;
}

static PtxStep exec_wait(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    return test_phase(run, thread, code, from_word(interp_arg(run, thread, &code->src[1])).odd);
}

static PtxStep exec_wait_parity(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    return test_phase(run, thread, code, interp_arg(run, thread, &code->src[1]) & 1);
}

static uint64_t pending_count(uint64_t token, uint64_t b, uint64_t c, const PtxCode *code) {
    (void)b, (void)c, (void)code;
    return from_word(token).pending;
}

bool interp_complete_bytes(PtxRun *run, PtxThread *thread, const PtxCode *code, uint64_t object,
                           uint32_t bytes) {
    uint8_t *place = interp_memory(run, thread, code, SP_SHARED_CLUSTER, object, 8, true);
    if (!place)
        return false;
    interp_race_complete(run, thread, code, place);
    change_at(thread, code, place, (Change){.tx = 0 - bytes});
    return true;
}

/* 16 bytes after 16 bytes */
static bool copy_bytes(PtxRun *run, PtxThread *thread, const PtxCode *code, uint64_t to, uint64_t from,
                       uint32_t size) {
    enum { BYTES = 16 };
    for (uint32_t at = 0; at < size; at += BYTES) {
        uint8_t data[BYTES];
        const uint8_t *source = interp_memory(run, thread, code, code->insn->space2, from + at, BYTES, false);
        if (!source)
            return false;
        interp_race_load(run, thread, code);
        memcpy(data, source, BYTES);
        uint8_t *target = interp_memory(run, thread, code, code->insn->space, to + at, BYTES, true);
        if (!target)
            return false;
        interp_race_store(run, thread, code, target, data);
        memcpy(target, data, BYTES);
    }
    return true;
}

/* cp.async.bulk: done at once; then its bytes are complete. To several blocks: at the same offsets in each.
 */
static PtxStep exec_bulk_copy(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    bool several = (code->insn->flags & PF_MULTICAST) != 0;
    uint64_t to = interp_address(run, thread, code, code->insn->space),
             from = interp_arg(run, thread, &code->src[1]) + code->offset2, object = 0;
    uint32_t size = (uint32_t)interp_arg(run, thread, &code->src[2]),
             blocks = several ? (uint16_t)interp_arg(run, thread, &code->src[4]) : 1;
    if (code->insn->space == SP_GLOBAL)
        return copy_bytes(run, thread, code, to, from, size) ? STEP_GO : STEP_STOP;
    object = (uint32_t)(interp_arg(run, thread, &code->src[3]) + code->offset3);
    for (unsigned rank = 0; blocks; rank++, blocks >>= 1) {
        uint64_t other = rank * SIM_WINDOW_BYTES;
        if ((blocks & 1) &&
            (!copy_bytes(run, thread, code, several ? other + to % SIM_WINDOW_BYTES : to, from, size) ||
             !interp_complete_bytes(run, thread, code, several ? other + object % SIM_WINDOW_BYTES : object,
                                    size)))
            return STEP_STOP;
    }
    return STEP_YIELD;
}

/* Bytes of the statement, which are in memory, are complete at the object that the last operand names. */
static PtxStep complete_bytes(PtxRun *run, PtxThread *thread, const PtxCode *code, uint32_t bytes) {
    uint64_t object = (uint32_t)(interp_arg(run, thread, &code->src[code->nsrc - 1]) + code->offset2);
    return interp_complete_bytes(run, thread, code, object, bytes) ? STEP_YIELD : STEP_STOP;
}

static PtxStep exec_red_async(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    PtxStep step = interp_atomic(run, thread, code);
    return step == STEP_YIELD ? complete_bytes(run, thread, code, code->size_bytes) : step;
}

/* st.async: stored at once, then its bytes are complete. */
static PtxStep exec_st_async(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    unsigned n = code->nvec ? code->nvec : 1, bytes = n * code->size_bytes;
    uint64_t address = interp_address(run, thread, code, SP_SHARED_CLUSTER);
    uint8_t data[16];
    for (unsigned i = 0; i < n; i++) {
        uint64_t v = interp_arg(run, thread, code->nvec ? &code->vec[i] : &code->src[1]);
        memcpy(data + (size_t)i * code->size_bytes, &v, code->size_bytes);
    }
    uint8_t *to = interp_memory(run, thread, code, SP_SHARED_CLUSTER, address, bytes, true);
    if (!to)
        return STEP_STOP;
    interp_race_store(run, thread, code, to, data);
    memcpy(to, data, bytes);
    return complete_bytes(run, thread, code, bytes);
}
BIND_EXEC(red_async, exec_red_async)
BIND_EXEC(st_async, exec_st_async)
BIND_EXEC(bulk_copy, exec_bulk_copy)
BIND_EXEC(mbarrier_init, exec_init)
BIND_EXEC(mbarrier_arrive, exec_arrive)
BIND_EXEC(mbarrier_arrive_tx, exec_arrive_tx)
BIND_EXEC(mbarrier_tx, exec_tx)
BIND_EXEC(mbarrier_wait, exec_wait)
BIND_EXEC(mbarrier_wait_parity, exec_wait_parity)
BIND_EXEC(mbarrier_copies, exec_copies_arrive)
BIND_PURE(mbarrier_pending, pending_count)
