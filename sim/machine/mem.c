/* Guest memory lane by lane: spaces, bounds, alignment, traps. Guest addresses reach host memory nowhere else
 * than through machine_mem_ref and the whole-warp paths of ops/op_mem.c.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include "sim/machine/words.h"
#include <stdio.h>
#include <string.h>

enum { MAX_ACCESS_BYTES = 16 };

AccessKind machine_mem_access_kind(unsigned optype) {
    const OpTraits *traits = isa_traits(optype);
    bool read = traits->effects & ISA_EFFECT_READ, write = traits->effects & ISA_EFFECT_WRITE;
    if (traits->effects & ISA_EFFECT_ORDER || traits->lanes != ISA_LANES_EACH)
        return ACC_NONE;
    if (traits->effects & ISA_EFFECT_ATOMIC)
        return ACC_ATOMIC;
    return read == write ? ACC_NONE /* from one place to another */ : read ? ACC_LOAD : ACC_STORE;
}

uint64_t machine_mem_address(const Warp *w, const Dec *dec, unsigned lane) {
    const uint32_t *lo = dec_src(w, dec, 0);
    uint64_t a = dec->wide ? (uint64_t)lo[32 + lane] << 32 | lo[lane] : lo[lane];
    a = (a << dec->mem.shift) + (uint64_t)dec->target;
    if (dec->mem.uniform) {
        const uint32_t *u = dec_src(w, dec, 1);
        a += dec->mem.uniform == 2 ? (uint64_t)u[32] << 32 | u[0] : u[0];
    }
    return dec->wide || dec->mem.wide ? a : (uint32_t)a;
}

static const char *const space_names[] = {"generic", "global", "shared", "local", "the cluster's shared"};

Cta *machine_cluster_owner(const Cta *cta, uint32_t address) {
    uint32_t rank = address / SIM_WINDOW_BYTES;
    if (!cta->cluster)
        return rank ? NULL : (Cta *)(uintptr_t)cta;
    return rank < cta->cluster->n ? cta->cluster->block[rank] : NULL;
}

static int out_of_range(Warp *w, Dec *d, unsigned lane, MemSpace s, uint64_t address, unsigned size,
                        bool write) {
    char text[64];
    snprintf(text, sizeof text, "%s of %u bytes, %s memory", write ? "write" : "read", size, space_names[s]);
    bool below =
        s == MS_LOCAL && (int32_t)address < 0 && address <= UINT32_MAX; /* the stack grows down to 0 */
    return machine_trap_address(w, d, lane, below ? TRAP_STACK : TRAP_OUT_OF_RANGE, address, text);
}

/* Shared memory, of the own block unless space says otherwise. */
static int shared_ref(Warp *warp, Dec *dec, unsigned lane, MemSpace space, uint64_t address,
                      unsigned size_bytes, bool write, MemRef *out) {
    const Run *run = warp->run;
    Cta *owner = machine_cluster_owner(warp->cta, out->offset);
    uint32_t offset = out->offset % (uint32_t)SIM_WINDOW_BYTES, limit = run->shared_bytes;
    char text[64];
    if (!owner || (space == MS_SHARED && owner != warp->cta)) {
        uint32_t rank = out->offset / SIM_WINDOW_BYTES;
        snprintf(text, sizeof text, "%s, block %u of the cluster%s", space_names[space], rank,
                 owner                        ? ", not the own"
                 : rank < run->cluster_blocks ? " has ended"
                                              : " does not exist");
        return machine_trap_address(warp, dec, lane, TRAP_OUT_OF_RANGE, address, text);
    }
    bool own = size_bytes <= limit && offset <= limit - size_bytes && offset >= run->shared_base;
    if (!own && !sim_is_lent_shared(run->lent_shared, offset, size_bytes))
        return out_of_range(warp, dec, lane, space, address, size_bytes, write);
    out->offset = offset;
    out->owner = owner;
    out->bytes = owner->shared + offset;
    return RUN_OK;
}

int machine_mem_ref(Warp *warp, Dec *dec, unsigned lane, MemSpace space, uint64_t address,
                    unsigned size_bytes, bool write, MemRef *out) {
    const Run *r = warp->run;
    uint64_t offset = address;
    MemSpace s = space;
    if (space == MS_GENERIC) {
        s = MS_GLOBAL;
        if (address - SIM_SHARED_WINDOW < SIM_CLUSTER_BYTES) {
            s = MS_CLUSTER;
            offset = address - SIM_SHARED_WINDOW;
        } else if (address - SIM_LOCAL_WINDOW < SIM_WINDOW_BYTES) {
            s = MS_LOCAL;
            offset = address - SIM_LOCAL_WINDOW;
        }
    }
    uint64_t param = address - SIM_PARAM_WINDOW, constant = address - SIM_CONST_WINDOW;
    uint32_t const_bytes = r->bank_bytes[CONST_BANK_VARS];
    bool in_params = space == MS_GENERIC && param < r->launch->param_bytes;
    *out = (MemRef){.space = s, .offset = (uint32_t)offset};
    if (address % size_bytes) {
        char text[64];
        snprintf(text, sizeof text, "%s of %u bytes, %s memory", write ? "write" : "read", size_bytes,
                 space_names[s]);
        return machine_trap_address(warp, dec, lane, TRAP_MISALIGNED, address, text);
    }
    if (in_params && write)
        return machine_trap_address(warp, dec, lane, TRAP_READ_ONLY, address, "kernel parameters");
    if (in_params && size_bytes <= r->launch->param_bytes - param) {
        out->bytes = r->params + param;
        return RUN_OK;
    }
    if (space == MS_GENERIC && constant < SIM_WINDOW_BYTES) {
        if (constant > const_bytes || size_bytes > const_bytes - constant)
            return machine_trap_address(warp, dec, lane, TRAP_OUT_OF_RANGE, address, "constant memory");
        if (write)
            return machine_trap_address(warp, dec, lane, TRAP_READ_ONLY, address, "constant memory");
        out->bytes = (uint8_t *)(uintptr_t)r->bank[CONST_BANK_VARS] + constant;
        return RUN_OK;
    }
    if (s == MS_GLOBAL) {
        SimAlloc *al = dec->alloc;
        if (!al || address - al->address >= al->size_bytes ||
            size_bytes > al->size_bytes - (address - al->address)) {
            al = simmem_find(r->mem, address, size_bytes);
            if (!al)
                return out_of_range(warp, dec, lane, s, address, size_bytes, write);
            dec->alloc = al;
        }
        if (write && al->read_only)
            return machine_trap_address(warp, dec, lane, TRAP_READ_ONLY, address, al->name);
        out->alloc = al;
        out->bytes = al->data + (address - al->address);
        return RUN_OK;
    }
    if (s == MS_SHARED || s == MS_CLUSTER)
        return shared_ref(warp, dec, lane, s, address, size_bytes, write, out);
    if (size_bytes > r->local_bytes || offset > r->local_bytes - size_bytes)
        return out_of_range(warp, dec, lane, s, address, size_bytes, write);
    return RUN_OK;
}

void machine_mem_load(const Warp *warp, unsigned lane, const MemRef *ref, unsigned size_bytes, void *out) {
    if (ref->bytes) {
        guest_read(out, ref->bytes, size_bytes);
        return;
    }
    for (unsigned i = 0; i < size_bytes;) { /* local: within one word, or whole words */
        const uint8_t *word = (const uint8_t *)&warp->local[(ref->offset + i) / 4 * 32 + lane];
        unsigned at = (ref->offset + i) % 4, n = size_bytes - i < 4 - at ? size_bytes - i : 4 - at;
        memcpy((uint8_t *)out + i, word + at, n);
        i += n;
    }
}

uint64_t machine_mem_read_shared(const MemRef *ref, unsigned size_bytes) {
    void *at = ref->bytes;
    switch (size_bytes) {
    case 2: return __atomic_load_n((uint16_t *)at, __ATOMIC_SEQ_CST);
    case 4: return __atomic_load_n((uint32_t *)at, __ATOMIC_SEQ_CST);
    default: return __atomic_load_n((uint64_t *)at, __ATOMIC_SEQ_CST);
    }
}

/* The host's own, of objects of that type. */
#define REPLACE(Type)                                                                                        \
    {                                                                                                        \
        Type was = (Type)*old;                                                                               \
        done = __atomic_compare_exchange_n((Type *)at, &was, (Type)next, false, __ATOMIC_SEQ_CST,            \
                                           __ATOMIC_SEQ_CST);                                                \
        *old = was;                                                                                          \
    }
bool machine_mem_replace(Warp *warp, const MemRef *ref, unsigned size_bytes, uint64_t *old, uint64_t next) {
    void *at = ref->bytes;
    bool done;
    switch (size_bytes) {
    case 2: REPLACE(uint16_t) break;
    case 4: REPLACE(uint32_t) break;
    default: REPLACE(uint64_t) break;
    }
    if (done) {
        warp->run->mem_version += *old != next;
        simmem_mark_written(ref->alloc, (uint64_t)(ref->bytes - ref->alloc->data), size_bytes);
    }
    return done;
}

void machine_mem_store(Warp *warp, unsigned lane, const MemRef *ref, unsigned size_bytes, const void *data) {
    if (ref->bytes) {
        uint8_t was[MAX_ACCESS_BYTES];
        guest_read(was, ref->bytes, size_bytes);
        if (memcmp(was, data, size_bytes) != 0) {
            guest_write(ref->bytes, data, size_bytes);
            warp->run->mem_version++;
        }
        if (ref->alloc)
            simmem_mark_written(ref->alloc, (uint64_t)(ref->bytes - ref->alloc->data), size_bytes);
        return;
    }
    local_dirty(warp, ref->offset, size_bytes);
    for (unsigned i = 0; i < size_bytes;) {
        uint8_t *word = (uint8_t *)&warp->local[(ref->offset + i) / 4 * 32 + lane];
        unsigned at = (ref->offset + i) % 4, n = size_bytes - i < 4 - at ? size_bytes - i : 4 - at;
        if (memcmp(word + at, (const uint8_t *)data + i, n) != 0) {
            memcpy(word + at, (const uint8_t *)data + i, n);
            warp->run->mem_version++;
        }
        i += n;
    }
}

int machine_mem_load_slow(Warp *w, Dec *dec, uint32_t g) {
    uint32_t *r = dec_dst(w, dec, 0);
    uint32_t rows[32][4]; /* a destination may hold the addresses of later lanes */
    unsigned size = dec->size, words = size < 4 ? 1 : size / 4u;
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        MemRef ref;
        int status = machine_mem_ref(w, dec, lane, (MemSpace)dec->imm[1], machine_mem_address(w, dec, lane),
                                     size, false, &ref);
        if (status != RUN_OK)
            return status;
        rows[lane][0] = 0;
        machine_mem_load(w, lane, &ref, size, rows[lane]);
        if (dec->mem.kind == MemSz_S8)
            rows[lane][0] = (uint32_t)(int32_t)(int8_t)rows[lane][0];
        if (dec->mem.kind == MemSz_S16)
            rows[lane][0] = (uint32_t)(int32_t)(int16_t)rows[lane][0];
    }
    for (uint32_t m = g; m; m &= m - 1)
        for (unsigned k = 0; k < words; k++)
            r[k * 32 + low_lane(m)] = rows[low_lane(m)][k];
    return RUN_OK;
}

int machine_mem_store_slow(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *v = dec_src(w, dec, 2);
    unsigned size = dec->size, words = size < 4 ? 1 : size / 4u;
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        MemRef ref;
        uint32_t data[4];
        uint64_t address = machine_mem_address(w, dec, lane);
        const SimMulticast *object = simmem_multicast(w->run->mem, address, size);
        for (unsigned k = 0; k < words; k++)
            data[k] = v[k * 32 + lane];
        for (uint32_t k = 0; k < (object ? object->nreplicas : 1); k++) {
            int status =
                machine_mem_ref(w, dec, lane, (MemSpace)dec->imm[1],
                                object ? simmem_replica(object, k, address) : address, size, true, &ref);
            if (status != RUN_OK)
                return status;
            machine_mem_store(w, lane, &ref, size, data);
        }
    }
    return RUN_OK;
}

int machine_shared_at(Warp *warp, Dec *d, unsigned lane, uint32_t address, unsigned size_bytes, bool write,
                      MemRef *ref) {
    int status = machine_mem_ref(warp, d, lane, MS_SHARED, address, size_bytes, write, ref);
    if (status == RUN_OK && write && ref->owner->shared_written)
        memset(ref->owner->shared_written + ref->offset, 1, size_bytes);
    return status;
}
