/* LDGMC: what the replicas of a multicast object hold, reduced in their order, each step rounded; F32ADD adds
 * halves as f32 and rounds the sum once (docs/numerics.md section 8). Subnormals stay, unlike in REDG.
 * SPDX-License-Identifier: MIT */
#define SIM_LEVEL base
#include "sim/ops/fp.h"
#include <string.h>

enum { MOST_WORDS = 4 };

typedef struct {
    uint32_t word[MOST_WORDS];
    float half[MOST_WORDS][2]; /* sums of F32ADD */
} Reduced;

/* As in ops/atom.c: dec->mem.type and .element_bytes are those of what one operation reduces. */
static void reduce_replica(const Dec *dec, Reduced *all, const uint32_t *word, bool first) {
    Fmt format = dec->mem.type == AtomType_F16x2 ? fmt_f16 : fmt_bf16;
    for (unsigned k = 0; dec->mem.op == ReplicaOp_F32ADD && k < dec->size / 4u; k++)
        for (unsigned h = 0; h < 2; h++) {
            float held = (float)fp_widen(word[k] >> 16 * h & 0xffff, format);
            all->half[k][h] = first ? held : all->half[k][h] + held;
        }
    if (dec->mem.op == ReplicaOp_F32ADD)
        return;
    static const uint8_t ops[] = {
        [ReplicaOp_ADD] = AtomOp_ADD, [ReplicaOp_MIN] = AtomOp_MIN, [ReplicaOp_MAX] = AtomOp_MAX,
        [ReplicaOp_AND] = AtomOp_AND, [ReplicaOp_OR] = AtomOp_OR,   [ReplicaOp_XOR] = AtomOp_XOR};
    for (unsigned at = 0, n = dec->mem.element_bytes / 4; at < dec->size / 4u; at += n) {
        uint64_t old = 0, held = 0;
        memcpy(&old, &all->word[at], dec->mem.element_bytes);
        memcpy(&held, &word[at], dec->mem.element_bytes);
        if (!first)
            held = machine_atom_result(ops[dec->mem.op], dec->mem.type, old, held, false);
        memcpy(&all->word[at], &held, dec->mem.element_bytes);
    }
}

static int op_replicas(Warp *warp, Dec *dec, uint32_t g) {
    Reduced lanes[32];
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        uint64_t address = machine_mem_address(warp, dec, lane);
        const SimMulticast *object = simmem_multicast(warp->run->mem, address, dec->size);
        if (!object && address % dec->size == 0)
            return machine_trap_address(warp, dec, lane, TRAP_OUT_OF_RANGE, address, "no multicast object");
        for (uint32_t r = 0; r < (object ? object->nreplicas : 1); r++) {
            MemRef ref;
            uint32_t word[MOST_WORDS];
            int status = machine_mem_ref(warp, dec, lane, MS_GLOBAL,
                                         object ? simmem_replica(object, r, address) : address, dec->size,
                                         false, &ref);
            if (status != RUN_OK)
                return status;
            machine_mem_load(warp, lane, &ref, dec->size, word);
            reduce_replica(dec, &lanes[lane], word, r == 0);
        }
    }
    uint32_t *row = dec_dst(warp, dec, 0);
    Fmt format = dec->mem.type == AtomType_F16x2 ? fmt_f16 : fmt_bf16;
    for (uint32_t m = g; m; m &= m - 1)
        for (unsigned k = 0; k < dec->size / 4u; k++) {
            Reduced *all = &lanes[low_lane(m)];
            if (dec->mem.op == ReplicaOp_F32ADD)
                all->word[k] = fp_narrow((double)all->half[k][0], format, Rnd_RN) |
                               fp_narrow((double)all->half[k][1], format, Rnd_RN) << 16;
            row[32 * k + low_lane(m)] = all->word[k];
        }
    return RUN_OK;
}

bool bind_LDGMC(Bind *bind) {
    Dec *dec = bind->d;
    uint32_t m = bind->in->mods, op = MGET(LDGMC, op, m);
    if (!machine_bind_atomic(bind, MS_GLOBAL, AtomOp_ADD, MGET(LDGMC, type, m), 1, false, 0))
        return false;
    bool halves = dec->mem.type == AtomType_F16x2 || dec->mem.type == AtomType_BF16x2,
         floats = halves || dec->mem.type == AtomType_F32 || dec->mem.type == AtomType_F64;
    if ((op == ReplicaOp_F32ADD && !halves) || (op >= ReplicaOp_AND && op <= ReplicaOp_XOR && floats) ||
        ((op == ReplicaOp_MIN || op == ReplicaOp_MAX) && floats && !halves))
        return bind_fail(bind, "no such reduction");
    dec->mem.op = op;
    dec->full = dec->part = op_replicas;
    return true;
}
