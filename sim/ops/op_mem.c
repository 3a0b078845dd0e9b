/* Loads and stores whose lanes touch consecutive or equal places of one allocation: one bounds check for the warp.
 * Everything else, and every trap, goes lane by lane through sim/mem.c.
 *
 * Slots of all: v[0] = ra (a pair when d->wide), v[1] = urb, v[2] = data of a store; d->target = offset.
 * SPDX-License-Identifier: MIT */
#include "sim/ops/ops.h"
#include <string.h>

/* How the lanes' addresses lie: step between lanes in bytes, 0 = all equal, -1 = otherwise. */
static int pattern(const Warp *w, const Dec *d, unsigned size, uint64_t *first) {
    const uint32_t *lo = dec_src(w, d, 0), *hi = lo + 32;
    uint32_t lo0 = lo[0], seq = 0, same = 0;
    LANES {
        seq |= lo[i] - lo0 - size * i;
        same |= lo[i] - lo0;
    }
    uint64_t a = lo0;
    if (d->wide) {
        uint32_t hi0 = hi[0], high = 0;
        LANES { high |= hi[i] ^ hi0; }
        if (high || lo0 > 0xffffffffu - 32 * size)
            return -1;
        a |= (uint64_t)hi0 << 32;
    }
    a += (uint64_t)d->target;
    if (d->k[0]) /* a uniform register takes part */
        a += d->k[0] == 2 ? pair(dec_src(w, d, 1)[0], dec_src(w, d, 1)[32]) : dec_src(w, d, 1)[0];
    *first = d->wide || d->k[1] ? a : (uint32_t)a;
    return same == 0 ? 0 : seq == 0 ? (int)size : -1;
}

static inline uint8_t *global_bytes(Dec *d, Warp *w, uint64_t address, uint64_t size) {
    SimAlloc *al = d->alloc;
    if (!al || address - al->address >= al->size_bytes || size > al->size_bytes - (address - al->address)) {
        al = simmem_find(w->run->mem, address, size);
        if (!al)
            return NULL;
        d->alloc = al;
    }
    return al->data + (address - al->address);
}

/* n words for each lane, lane after lane, to n rows. */
static inline void spread(uint32_t *r, const uint8_t *from, unsigned n) {
    if (n == 1) {
        memcpy(r, from, ROW_BYTES);
        return;
    }
    for (unsigned k = 0; k < n; k++)
        for (unsigned i = 0; i < 32; i++)
            memcpy(&r[k * 32 + i], from + (i * n + k) * 4, 4);
}
static inline void gather(uint8_t *to, const uint32_t *r, unsigned n) {
    if (n == 1) {
        memcpy(to, r, ROW_BYTES);
        return;
    }
    for (unsigned k = 0; k < n; k++)
        for (unsigned i = 0; i < 32; i++)
            memcpy(to + (i * n + k) * 4, &r[k * 32 + i], 4);
}
static inline void broadcast(uint32_t *r, const uint8_t *from, unsigned n) {
    for (unsigned k = 0; k < n; k++) {
        uint32_t v;
        memcpy(&v, from + k * 4, 4);
        for (unsigned i = 0; i < 32; i++)
            r[k * 32 + i] = v;
    }
}

/* Global (and generic that is global) loads by all lanes, 4, 8 or 16 bytes each. */
static int ldg(Warp *w, Dec *d, uint32_t g) {
    uint64_t first;
    unsigned size = d->size;
    int step = pattern(w, d, size, &first);
    if (step < 0 || first % size || (d->k[2] && first - SIM_SHARED_WINDOW < 2 * SIM_WINDOW_BYTES))
        return mem_load_slow(w, d, g);
    const uint8_t *p = global_bytes(d, w, first, step ? 32 * size : size);
    if (!p)
        return mem_load_slow(w, d, g);
    if (step)
        spread(dec_dst(w, d, 0), p, size / 4);
    else
        broadcast(dec_dst(w, d, 0), p, size / 4);
    return RUN_OK;
}

static int stg(Warp *w, Dec *d, uint32_t g) {
    uint64_t first;
    unsigned size = d->size, bytes = 32 * size;
    int step = pattern(w, d, size, &first);
    if (step <= 0 || first % size || (d->k[2] && first - SIM_SHARED_WINDOW < 2 * SIM_WINDOW_BYTES))
        return mem_store_slow(w, d, g);
    uint8_t *p = global_bytes(d, w, first, bytes);
    if (!p || d->alloc->read_only)
        return mem_store_slow(w, d, g);
    uint8_t data[32 * 16];
    gather(data, dec_src(w, d, 2), size / 4);
    if (memcmp(p, data, bytes) != 0) {
        memcpy(p, data, bytes);
        w->run->mem_version++;
    }
    uint64_t offset = first - d->alloc->address;
    if (offset % 8 == 0)
        memset(d->alloc->written + offset / 8, 0xff, bytes / 8);
    else
        simmem_mark_written(d->alloc, offset, bytes);
    return RUN_OK;
}

static int lds(Warp *w, Dec *d, uint32_t g) {
    uint64_t first;
    unsigned size = d->size;
    int step = pattern(w, d, size, &first);
    uint64_t need = step ? 32 * size : size;
    if (step < 0 || first % size || need > w->run->shared_bytes || first > w->run->shared_bytes - need)
        return mem_load_slow(w, d, g);
    if (step)
        spread(dec_dst(w, d, 0), w->cta->shared + first, size / 4);
    else
        broadcast(dec_dst(w, d, 0), w->cta->shared + first, size / 4);
    return RUN_OK;
}

static int sts(Warp *w, Dec *d, uint32_t g) {
    uint64_t first;
    unsigned size = d->size, bytes = 32 * size;
    int step = pattern(w, d, size, &first);
    if (step <= 0 || first % size || bytes > w->run->shared_bytes || first > w->run->shared_bytes - bytes)
        return mem_store_slow(w, d, g);
    uint8_t data[32 * 16];
    gather(data, dec_src(w, d, 2), size / 4);
    if (memcmp(w->cta->shared + first, data, bytes) != 0) {
        memcpy(w->cta->shared + first, data, bytes);
        w->run->mem_version++;
    }
    return RUN_OK;
}

/* Local memory is kept word by word across the lanes, so equal addresses are whole rows. */
static int ldl(Warp *w, Dec *d, uint32_t g) {
    uint64_t first;
    unsigned size = d->size;
    if (pattern(w, d, size, &first) != 0 || first % size || size > w->run->local_bytes ||
        first > w->run->local_bytes - size)
        return mem_load_slow(w, d, g);
    memcpy(dec_dst(w, d, 0), w->local + first / 4 * 32, size / 4 * ROW_BYTES);
    return RUN_OK;
}
static int stl(Warp *w, Dec *d, uint32_t g) {
    uint64_t first;
    unsigned size = d->size;
    if (pattern(w, d, size, &first) != 0 || first % size || size > w->run->local_bytes ||
        first > w->run->local_bytes - size)
        return mem_store_slow(w, d, g);
    uint32_t *p = w->local + first / 4 * 32;
    if (memcmp(p, dec_src(w, d, 2), size / 4 * ROW_BYTES) != 0) {
        memcpy(p, dec_src(w, d, 2), size / 4 * ROW_BYTES);
        local_dirty(w, (uint32_t)first, size);
        w->run->mem_version++;
    }
    return RUN_OK;
}

/* k[0]: 0 no uniform register, 1 one, 2 a pair; k[1]: the sum has 64 bits; k[2]: generic address; imm[1]: MemSpace;
 * k[3]: MemSz; k[4]: shift of ra (stride) */
static bool bind_access(Bind *b, MemSpace space, uint32_t sz, uint32_t e, bool desc, uint32_t stride, OpFn *full,
                        OpFn *slow) {
    static const uint8_t bytes[8] = {1, 1, 2, 2, 4, 8, 16, 0};
    static const uint8_t shift[4] = {0, 2, 3, 4};
    Dec *d = b->d;
    bool narrow = space == MS_SHARED || space == MS_LOCAL;
    b->width[0] = !narrow && (b->in->src[0].mods & OPM_WIDE64) ? WIDTH_U64 : WIDTH_32;
    b->width[1] = narrow ? WIDTH_32 : WIDTH_U64;
    b->vector_slots = 1u << 1;
    bind_operands(b);
    d->size = bytes[sz & 7];
    if (!d->size)
        return bind_fail(b, "undefined access size");
    d->wide = !narrow && (b->in->src[0].mods & OPM_WIDE64) != 0;
    const Operand *ur = b->in->nsrc > 1 ? &b->in->src[1] : NULL;
    bool has_ur = !desc && ur && ur->kind == OPK_REG && ur->value != REG_URZ;
    d->k[0] = !has_ur ? 0 : e ? 2 : 1;
    d->k[1] = e;
    d->k[2] = space == MS_GENERIC;
    d->k[3] = sz;
    d->k[4] = shift[stride & 3];
    d->target = (int64_t)(int32_t)d->imm[0];
    d->imm[1] = space;
    d->part = slow;
    d->full = sz >= MemSz_32 && !d->k[4] ? full : slow;
    return !b->failed;
}
bool LV(bind_LDG)(Bind *b) {
    uint32_t m = b->in->mods;
    return bind_access(b, MS_GLOBAL, MGET(LDG, sz, m), MGET(LDG, e, m), MGET(LDG, desc, m), 0, ldg, mem_load_slow);
}
bool LV(bind_STG)(Bind *b) {
    uint32_t m = b->in->mods;
    return bind_access(b, MS_GLOBAL, MGET(STG, sz, m), MGET(STG, e, m), MGET(STG, desc, m), 0, stg, mem_store_slow);
}
bool LV(bind_LD)(Bind *b) {
    uint32_t m = b->in->mods;
    return bind_access(b, MS_GENERIC, MGET(LD, sz, m), MGET(LD, e, m), MGET(LD, desc, m), 0, ldg, mem_load_slow);
}
bool LV(bind_ST)(Bind *b) {
    uint32_t m = b->in->mods;
    return bind_access(b, MS_GENERIC, MGET(ST, sz, m), MGET(ST, e, m), MGET(ST, desc, m), 0, stg, mem_store_slow);
}
bool LV(bind_LDS)(Bind *b) {
    uint32_t m = b->in->mods;
    return bind_access(b, MS_SHARED, MGET(LDS, sz, m), 0, false, MGET(LDS, stride, m), lds, mem_load_slow);
}
bool LV(bind_STS)(Bind *b) {
    uint32_t m = b->in->mods;
    return bind_access(b, MS_SHARED, MGET(STS, sz, m), 0, false, MGET(STS, stride, m), sts, mem_store_slow);
}
bool LV(bind_LDL)(Bind *b) {
    return bind_access(b, MS_LOCAL, MGET(LDL, sz, b->in->mods), 0, false, 0, ldl, mem_load_slow);
}
bool LV(bind_STL)(Bind *b) {
    return bind_access(b, MS_LOCAL, MGET(STL, sz, b->in->mods), 0, false, 0, stl, mem_store_slow);
}

/* ---- LDC, ULDC: k[0] bank, target = offset ---- */
static int ldc(Warp *w, Dec *d, uint32_t g) {
    ROWS;
    uint32_t bank = d->k[0], limit = w->run->bank_bytes[bank], size = d->size;
    const uint8_t *base = w->run->bank[bank];
    EACH_LANE(i, g) {
        uint32_t address = a[i] + (uint32_t)d->target;
        if (address % size)
            return machine_trap_address(w, d, i, TRAP_MISALIGNED, address, "constant bank");
        if (limit < size || address > limit - size)
            return machine_trap_address(w, d, i, TRAP_OUT_OF_RANGE, address, "constant bank");
        if (size >= 4) {
            for (unsigned k = 0; k < size / 4u; k++)
                memcpy(&r[k * 32 + i], base + address + k * 4, 4);
            continue;
        }
        uint32_t v = base[address] | (size == 2 ? (uint32_t)base[address + 1] << 8 : 0);
        if (d->k[3] == MemSz_S8)
            v = (uint32_t)(int32_t)(int8_t)v;
        if (d->k[3] == MemSz_S16)
            v = (uint32_t)(int32_t)(int16_t)v;
        r[i] = v;
    }
    return RUN_OK;
}
static bool use_ldc(Bind *b, Operand cb, uint32_t sz, bool indexed) {
    static const uint8_t bytes[8] = {1, 1, 2, 2, 4, 8, 16, 0};
    Dec *d = b->d;
    b->raw_cmem = true;
    bind_operands(b);
    d->k[0] = cb.value >> 16;
    d->k[3] = sz;
    d->size = bytes[sz & 7];
    d->target = indexed ? (int64_t)(int16_t)(cb.value & 0xffff) : (int64_t)(cb.value & 0xffff);
    d->full = d->part = ldc;
    if (!d->size || cb.kind != OPK_CMEM || d->k[0] >= NUM_BANKS)
        return bind_fail(b, "undefined constant access");
    return !b->failed;
}
static bool is_register(Operand o, uint32_t zero) { return o.kind == OPK_REG && o.value != zero; }
bool LV(bind_LDC)(Bind *b) {
    if (MGET(LDC, mode, b->in->mods) != LdcMode_NONE)
        return bind_not_simulated(b);
    return use_ldc(b, b->in->src[LDC_cb], MGET(LDC, sz, b->in->mods), is_register(b->in->src[LDC_ra], REG_RZ));
}
bool LV(bind_ULDC)(Bind *b) {
    return use_ldc(b, b->in->src[ULDC_cb], MGET(ULDC, sz, b->in->mods), is_register(b->in->src[ULDC_ura], REG_URZ)) &&
           uniform(b);
}
