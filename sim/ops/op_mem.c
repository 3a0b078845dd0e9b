/* Loads and stores of a whole warp: the addresses of all lanes as differences from one of them, the extremes
 * checked once against the allocation, then a loop without checks. Lanes that do not take part get the
 * address of one that does, so that loads need no branch. What fails any check, and every trap, goes lane by
 * lane through sim/machine/mem.c.
 *
 * Slots of all: v[0] = ra (a pair when dec->wide), v[1] = urb, v[2] = data of a store; dec->target = offset.
 * SPDX-License-Identifier: MIT */
#include "sim/ops/ops.h"
#include <stdio.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

typedef struct {      /* where the lanes' bytes are */
    int32_t off[32];  /* from the first lane that takes part; 0 for those that do not */
    int32_t min, max; /* of off */
    uint32_t same;    /* 0: all equal */
    uint64_t address; /* of the first lane */
    uint8_t *bytes;   /* of the first lane, NULL in local memory */
    SimAlloc *alloc;  /* global */
} Places;

/* What the register holds, plus offset and uniform register. */
INLINE uint64_t whole_address(const Warp *warp, const Dec *dec, uint64_t a) {
    a += (uint64_t)dec->target;
    if (dec->mem.uniform) {
        const uint32_t *u = dec_src(warp, dec, 1);
        a += dec->mem.uniform == 2 ? pair(u[0], u[32]) : u[0];
    }
    return dec->wide || dec->mem.wide ? a : (uint32_t)a;
}

/* Differences of the addresses; false if they do not fit 32 bits or some lane is misaligned. */
INLINE bool offsets(const Warp *warp, const Dec *dec, uint32_t g, unsigned size, bool full, Places *places) {
    const uint32_t *lo = dec_src(warp, dec, 0), *hi = lo + 32;
    unsigned first = full ? 0 : low_lane(g), shift = dec->mem.shift;
    uint32_t lo0 = lo[first] << shift, same = 0, high = 0;
    int32_t min = 0, max = 0;
    LANES {
        uint32_t x = (lo[i] << shift) - lo0;
        if (!full)
            x &= lane_mask(g, i);
        int32_t s = (int32_t)x;
        places->off[i] = s;
        min = s < min ? s : min;
        max = s > max ? s : max;
        same |= x;
    }
    uint64_t a = lo0;
    if (dec->wide) {
        uint32_t hi0 = hi[first];
        LANES {
            uint32_t x = (hi[i] - hi0 - (lo[i] < lo0)) ^ (uint32_t)(places->off[i] >> 31);
            high |= full ? x : x & lane_mask(g, i);
        }
        a |= (uint64_t)hi0 << 32;
    } else if (dec->mem.wide) {
        LANES {
            uint32_t x = (0u - (lo[i] < lo0)) ^ (uint32_t)(places->off[i] >> 31);
            high |= full ? x : x & lane_mask(g, i);
        }
    }
    places->address = whole_address(warp, dec, a);
    places->min = min;
    places->max = max;
    places->same = same;
    return !high && !(((uint32_t)places->address | same) & (size - 1));
}

/* Is [lo, lo + need) inside [0, limit)? lo may have wrapped below 0. */
INLINE bool inside(uint64_t lo, uint64_t need, uint64_t limit) { return need <= limit && lo <= limit - need; }

INLINE bool inside_shared(const Run *run, uint64_t lo, uint64_t need) {
    return inside(lo - run->shared_base, need, run->shared_bytes - run->shared_base);
}

/* Global, shared and generic memory: the host bytes if all lanes are inside one allocation. */
INLINE bool find_bytes(Warp *warp, Dec *dec, unsigned size, bool write, Places *places) {
    uint64_t lo = places->address + (uint64_t)(int64_t)places->min,
             need = (uint64_t)((int64_t)places->max - places->min) + size;
    places->alloc = NULL;
    if (dec->imm[1] == MS_SHARED) {
        places->bytes = warp->cta->shared + places->address;
        return inside_shared(warp->run, lo, need);
    }
    SimAlloc *al = dec->alloc;
    if (!al || !inside(lo - al->address, need, al->size_bytes)) {
        if (dec->imm[1] == MS_GENERIC && inside_shared(warp->run, lo - SIM_SHARED_WINDOW, need)) {
            places->bytes = warp->cta->shared + (places->address - SIM_SHARED_WINDOW);
            return true;
        }
        al = simmem_find(warp->run->mem, lo, need);
        if (!al)
            return false;
        dec->alloc = al;
    }
    places->alloc = al;
    places->bytes = al->data + (places->address - al->address);
    return !(write && al->read_only);
}

INLINE bool locate(Warp *warp, Dec *dec, uint32_t g, unsigned size, bool full, bool write, Places *p) {
    return offsets(warp, dec, g, size, full, p) && find_bytes(warp, dec, size, write, p);
}

/* The frequent shape, rows of 16 threads and above all rows of 32: in each half of the warp the addresses are
 * equal, or consecutive. All lanes take part. */
typedef struct {
    uint8_t *bytes[2];
    bool same;
    SimAlloc *alloc;
} Halves;

INLINE bool halves(Warp *warp, Dec *dec, unsigned size, bool write, Halves *h) {
    const uint32_t *lo = dec_src(warp, dec, 0), *hi = lo + 32;
    unsigned shift = dec->mem.shift;
    uint32_t same = 0, seq = 0, high = 0, base[2] = {lo[0] << shift, lo[16] << shift};
    for (unsigned i = 0; i < 16; i++) {
        uint32_t x = (lo[i] << shift) - base[0], y = (lo[i + 16] << shift) - base[1];
        same |= x | y;
        seq |= (x ^ size * i) | (y ^ size * i);
    }
    uint64_t a[2] = {base[0], base[1]};
    if (same && seq)
        return false;
    if (dec->wide) {
        uint32_t top[2] = {hi[0], hi[16]};
        for (unsigned i = 0; i < 16; i++)
            high |= (hi[i] ^ top[0]) | (hi[i + 16] ^ top[1]);
        a[0] |= (uint64_t)top[0] << 32;
        a[1] |= (uint64_t)top[1] << 32;
    }
    uint32_t bytes = same ? 16 * size : size, last = 0u - bytes;
    if (high || base[0] > last || base[1] > last) /* no carry into the high words */
        return false;
    a[0] = whole_address(warp, dec, a[0]);
    a[1] = whole_address(warp, dec, a[1]);
    unsigned up = a[1] >= a[0];
    uint64_t distance = a[up] - a[1 - up];
    if (distance >> 31 || ((a[0] | a[1]) & (size - 1)))
        return false;
    Places p = {.address = a[1 - up], .max = (int32_t)distance};
    if (!find_bytes(warp, dec, bytes, write, &p))
        return false;
    h->bytes[1 - up] = p.bytes;
    h->bytes[up] = p.bytes + distance;
    h->same = !same;
    h->alloc = p.alloc;
    return true;
}

/* ---- loads ---- */

INLINE uint32_t load32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
INLINE void put_row(uint32_t *r, const uint32_t *v, uint32_t g, bool full) {
    if (full)
        memcpy(r, v, ROW_BYTES);
    else
        LANES { r[i] = blend(lane_mask(g, i), v[i], r[i]); }
}

/* 16 lanes of n rows. */
INLINE void load_half(uint32_t *r, const uint8_t *from, unsigned n, bool same) {
    if (same) {
        for (unsigned k = 0; k < n; k++) {
            uint32_t x = load32(from + 4 * k);
            for (unsigned i = 0; i < 16; i++)
                r[k * 32 + i] = x;
        }
    } else if (n == 1) {
        memcpy(r, from, 64);
    } else {
        for (unsigned k = 0; k < n; k++)
            for (unsigned i = 0; i < 16; i++)
                r[k * 32 + i] = load32(from + 4 * (i * n + k));
    }
}
/* n words a lane. */
INLINE int load_words(Warp *warp, Dec *dec, uint32_t g, unsigned n, bool full) {
    Places p;
    Halves h;
    uint32_t v[4][32], *r = dec_dst(warp, dec, 0);
    if (full && halves(warp, dec, 4 * n, false, &h)) {
        load_half(r, h.bytes[0], n, h.same);
        load_half(r + 16, h.bytes[1], n, h.same);
        return RUN_OK;
    }
    if (!locate(warp, dec, g, 4 * n, full, false, &p))
        return machine_mem_load_slow(warp, dec, g);
    for (unsigned k = 0; k < n; k++) {
        if (!p.same) {
            uint32_t x = load32(p.bytes + 4 * k);
            for (unsigned i = 0; i < 32; i++)
                v[k][i] = x;
        } else {
            for (unsigned i = 0; i < 32; i++)
                v[k][i] = load32(p.bytes + p.off[i] + 4 * k);
        }
        put_row(r + k * 32, v[k], g, full);
    }
    return RUN_OK;
}

/* 1 or 2 bytes, extended to 32 bits. */
INLINE int load_part(Warp *warp, Dec *dec, uint32_t g, bool full) {
    Places p;
    uint32_t v[32], size = dec->size, bits = 32 - 8 * size;
    bool sign = dec->mem.kind == MemSz_S8 || dec->mem.kind == MemSz_S16;
    if (!locate(warp, dec, g, size, full, false, &p))
        return machine_mem_load_slow(warp, dec, g);
    for (unsigned i = 0; i < 32; i++) {
        const uint8_t *q = p.bytes + p.off[i];
        uint32_t x = size == 1 ? *q : *q | (uint32_t)q[1] << 8;
        v[i] = sign ? (uint32_t)((int32_t)(x << bits) >> bits) : x;
    }
    put_row(dec_dst(warp, dec, 0), v, g, full);
    return RUN_OK;
}

/* ---- stores: lanes in ascending order, so the highest one wins ---- */

INLINE void mark_lane(const Places *places, unsigned lane, unsigned size) {
    uint64_t o = (uint64_t)(places->bytes + places->off[lane] - places->alloc->data);
    uint8_t *at = places->alloc->written + o / 8;
    if (size < 8)
        *at = (uint8_t)(*at | ((1u << size) - 1) << (o & 7));
    else
        memset(at, 0xff, size / 8);
}

/* 16 consecutive lanes. */
INLINE uint32_t store_half(const uint32_t *v, uint8_t *to, SimAlloc *al, unsigned n) {
    uint32_t data[16 * 4], changed = 0;
    unsigned bytes = 64 * n;
    for (unsigned k = 0; k < n; k++)
        for (unsigned i = 0; i < 16; i++)
            data[i * n + k] = v[k * 32 + i];
    for (unsigned i = 0; i < 16 * n; i++)
        changed |= load32(to + 4 * i) ^ data[i];
    memcpy(to, data, bytes);
    if (al) {
        uint64_t o = (uint64_t)(to - al->data);
        if (o % 8 == 0)
            memset(al->written + o / 8, 0xff, bytes / 8);
        else
            simmem_mark_written(al, o, bytes);
    }
    return changed;
}

INLINE int store_words(Warp *warp, Dec *dec, uint32_t g, unsigned n, bool full) {
    Places p;
    Halves h;
    uint32_t changed = 0;
    const uint32_t *v = dec_src(warp, dec, 2);
    if (full && halves(warp, dec, 4 * n, true, &h) && !h.same) {
        changed = store_half(v, h.bytes[0], h.alloc, n);
        changed |= store_half(v + 16, h.bytes[1], h.alloc, n);
        warp->run->mem_version += changed != 0;
        return RUN_OK;
    }
    if (!locate(warp, dec, g, 4 * n, full, true, &p))
        return machine_mem_store_slow(warp, dec, g);
    EACH_LANE(i, g) {
        for (unsigned k = 0; k < n; k++) {
            uint8_t *q = p.bytes + p.off[i] + 4 * k;
            changed |= load32(q) ^ v[k * 32 + i];
            memcpy(q, &v[k * 32 + i], 4);
        }
        if (p.alloc)
            mark_lane(&p, i, 4 * n);
    }
    warp->run->mem_version += changed != 0;
    return RUN_OK;
}

INLINE int store_part(Warp *warp, Dec *dec, uint32_t g, bool full) {
    Places p;
    uint32_t changed = 0, size = dec->size;
    const uint32_t *v = dec_src(warp, dec, 2);
    if (!locate(warp, dec, g, size, full, true, &p))
        return machine_mem_store_slow(warp, dec, g);
    EACH_LANE(i, g) {
        uint8_t *q = p.bytes + p.off[i];
        for (unsigned k = 0; k < size; k++) {
            changed |= q[k] ^ (v[i] >> 8 * k & 0xff);
            q[k] = (uint8_t)(v[i] >> 8 * k);
        }
        if (p.alloc)
            mark_lane(&p, i, size);
    }
    warp->run->mem_version += changed != 0;
    return RUN_OK;
}

/* ---- local memory: kept word by word across the lanes, so equal addresses are whole rows ---- */

INLINE bool locate_local(Warp *warp, Dec *dec, uint32_t g, bool full, Places *places) {
    return dec->size >= 4 && offsets(warp, dec, g, dec->size, full, places) &&
           inside(places->address + (uint64_t)(int64_t)places->min,
                  (uint64_t)((int64_t)places->max - places->min) + dec->size, warp->run->local_bytes);
}
INLINE int load_local(Warp *warp, Dec *dec, uint32_t g, bool full) {
    Places p;
    uint32_t v[4][32];
    unsigned n = dec->size / 4u;
    if (!locate_local(warp, dec, g, full, &p))
        return machine_mem_load_slow(warp, dec, g);
    const uint32_t *from = warp->local + p.address / 4 * 32;
    for (unsigned k = 0; k < n; k++) {
        if (p.same)
            for (unsigned i = 0; i < 32; i++)
                v[k][i] = from[p.off[i] / 4 * 32 + (int)(k * 32 + i)];
        put_row(dec_dst(warp, dec, 0) + k * 32, p.same ? v[k] : from + k * 32, g, full);
    }
    return RUN_OK;
}
INLINE int store_local(Warp *warp, Dec *dec, uint32_t g, bool full) {
    Places p;
    uint32_t changed = 0;
    unsigned n = dec->size / 4u;
    const uint32_t *v = dec_src(warp, dec, 2);
    if (!locate_local(warp, dec, g, full, &p))
        return machine_mem_store_slow(warp, dec, g);
    uint32_t *to = warp->local + p.address / 4 * 32;
    for (unsigned k = 0; k < n; k++) {
        if (!p.same) {
            LANES {
                uint32_t x = full ? v[k * 32 + i] : blend(lane_mask(g, i), v[k * 32 + i], to[k * 32 + i]);
                changed |= x ^ to[k * 32 + i];
                to[k * 32 + i] = x;
            }
            continue;
        }
        EACH_LANE(i, g) {
            uint32_t *q = to + p.off[i] / 4 * 32 + (int)(k * 32 + i);
            changed |= *q ^ v[k * 32 + i];
            *q = v[k * 32 + i];
        }
    }
    if (changed) {
        local_dirty(warp, (uint32_t)((int64_t)p.address + p.min), (uint32_t)(p.max - p.min) + dec->size);
        warp->run->mem_version++;
    }
    return RUN_OK;
}

/* name_f for all lanes, name_p for the lanes of g. */
#define ACCESS(name, CALL_FULL, CALL_PART)                                                                   \
    static int name##_f(Warp *warp, Dec *dec, uint32_t g) { return CALL_FULL; }                              \
    static int name##_p(Warp *warp, Dec *dec, uint32_t g) { return g ? CALL_PART : RUN_OK; }
ACCESS(ld4, load_words(warp, dec, g, 1, true), load_words(warp, dec, g, 1, false))
ACCESS(ld8, load_words(warp, dec, g, 2, true), load_words(warp, dec, g, 2, false))
ACCESS(ld16, load_words(warp, dec, g, 4, true), load_words(warp, dec, g, 4, false))
ACCESS(ldpart, load_part(warp, dec, g, true), load_part(warp, dec, g, false))
ACCESS(ldl, load_local(warp, dec, g, true), load_local(warp, dec, g, false))
ACCESS(st4, store_words(warp, dec, g, 1, true), store_words(warp, dec, g, 1, false))
ACCESS(st8, store_words(warp, dec, g, 2, true), store_words(warp, dec, g, 2, false))
ACCESS(st16, store_words(warp, dec, g, 4, true), store_words(warp, dec, g, 4, false))
ACCESS(stpart, store_part(warp, dec, g, true), store_part(warp, dec, g, false))
ACCESS(stl, store_local(warp, dec, g, true), store_local(warp, dec, g, false))

static void use_load(Bind *bind) {
    switch (bind->d->imm[1] == MS_LOCAL ? 0 : bind->d->size) {
    case 0: USE(bind, ldl); break;
    case 4: USE(bind, ld4); break;
    case 8: USE(bind, ld8); break;
    case 16: USE(bind, ld16); break;
    default: USE(bind, ldpart); break;
    }
}
static void use_store(Bind *bind) {
    switch (bind->d->imm[1] == MS_LOCAL ? 0 : bind->d->size) {
    case 0: USE(bind, stl); break;
    case 4: USE(bind, st4); break;
    case 8: USE(bind, st8); break;
    case 16: USE(bind, st16); break;
    default: USE(bind, stpart); break;
    }
}

/* Fills the view mem; imm[1]: MemSpace. */
static bool bind_access(Bind *bind, MemSpace space, uint32_t sz, uint32_t e, bool desc, uint32_t stride,
                        bool store) {
    static const uint8_t shift[4] = {0, 2, 3, 4};
    Dec *dec = bind->d;
    bool narrow = space == MS_SHARED || space == MS_LOCAL;
    bind->width[0] = !narrow && (bind->in->src[0].mods & OPM_WIDE64) ? WIDTH_U64 : WIDTH_32;
    bind->width[1] = narrow ? WIDTH_32 : WIDTH_U64;
    bind->vector_slots = 1u << 1;
    bind_operands(bind);
    dec->size = (uint8_t)isa_access_bytes(bind->in);
    if (!dec->size)
        return bind_fail(bind, "undefined access size");
    dec->wide = !narrow && (bind->in->src[0].mods & OPM_WIDE64) != 0;
    const Operand *ur = bind->in->nsrc > 1 ? &bind->in->src[1] : NULL;
    bool has_ur = !desc && ur && ur->kind == OPK_REG && ur->value != REG_URZ;
    dec->mem.uniform = !has_ur ? 0 : e ? 2 : 1;
    dec->mem.wide = e;
    dec->mem.kind = sz;
    dec->mem.shift = shift[stride & 3];
    dec->target = (int64_t)(int32_t)dec->imm[0];
    dec->imm[1] = space;
    if (store)
        use_store(bind);
    else
        use_load(bind);
    return !bind->failed;
}
bool LV(bind_LDG)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return bind_access(bind, MS_GLOBAL, MGET(LDG, sz, m), MGET(LDG, e, m), MGET(LDG, desc, m), 0, false);
}
bool LV(bind_STG)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return bind_access(bind, MS_GLOBAL, MGET(STG, sz, m), MGET(STG, e, m), MGET(STG, desc, m), 0, true);
}
bool LV(bind_LD)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return bind_access(bind, MS_GENERIC, MGET(LD, sz, m), MGET(LD, e, m), MGET(LD, desc, m), 0, false);
}
bool LV(bind_ST)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return bind_access(bind, MS_GENERIC, MGET(ST, sz, m), MGET(ST, e, m), MGET(ST, desc, m), 0, true);
}
bool LV(bind_LDS)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return bind_access(bind, MS_SHARED, MGET(LDS, sz, m), 0, false, MGET(LDS, stride, m), false);
}
bool LV(bind_STS)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return bind_access(bind, MS_SHARED, MGET(STS, sz, m), 0, false, MGET(STS, stride, m), true);
}
bool LV(bind_LDL)(Bind *bind) {
    return bind_access(bind, MS_LOCAL, MGET(LDL, sz, bind->in->mods), 0, false, 0, false);
}
bool LV(bind_STL)(Bind *bind) {
    return bind_access(bind, MS_LOCAL, MGET(STL, sz, bind->in->mods), 0, false, 0, true);
}

/* ---- LDC, ULDC: target = offset ---- */
static int ldc(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t bank = dec->ldc.bank, limit = warp->run->bank_bytes[bank], size = dec->size;
    const uint8_t *base = warp->run->bank[bank];
    EACH_LANE(i, g) {
        uint32_t address = a[i] + (uint32_t)dec->target;
        if (address % size)
            return machine_trap_address(warp, dec, i, TRAP_MISALIGNED, address, "constant bank");
        if (limit < size || address > limit - size) {
            char text[64];
            snprintf(text, sizeof text, "outside constant bank %u of %u bytes", bank, limit);
            return machine_trap_address(warp, dec, i, TRAP_OUT_OF_RANGE, address, text);
        }
        if (size >= 4) {
            for (unsigned k = 0; k < size / 4u; k++)
                memcpy(&r[k * 32 + i], base + address + k * 4, 4);
            continue;
        }
        uint32_t v = base[address] | (size == 2 ? (uint32_t)base[address + 1] << 8 : 0);
        if (dec->ldc.kind == MemSz_S8)
            v = (uint32_t)(int32_t)(int8_t)v;
        if (dec->ldc.kind == MemSz_S16)
            v = (uint32_t)(int32_t)(int16_t)v;
        r[i] = v;
    }
    return RUN_OK;
}
static bool use_ldc(Bind *bind, Operand cb, uint32_t sz, bool indexed) {
    Dec *dec = bind->d;
    bind->raw_cmem = true;
    bind_operands(bind);
    dec->ldc.bank = op_cmem_bank(cb);
    dec->ldc.kind = sz;
    dec->size = (uint8_t)isa_access_bytes(bind->in);
    dec->target = indexed ? (int64_t)(int16_t)op_cmem_offset(cb) : (int64_t)op_cmem_offset(cb);
    dec->full = dec->part = ldc;
    if (!dec->size || cb.kind != OPK_CMEM || dec->ldc.bank >= NUM_CONST_BANKS)
        return bind_fail(bind, "undefined constant access");
    return !bind->failed;
}
static bool is_register(Operand o, uint32_t zero) { return o.kind == OPK_REG && o.value != zero; }
bool LV(bind_LDC)(Bind *bind) {
    if (MGET(LDC, mode, bind->in->mods) != LdcMode_NONE)
        return bind_not_simulated(bind);
    return use_ldc(bind, bind->in->src[LDC_cb], MGET(LDC, sz, bind->in->mods),
                   is_register(bind->in->src[LDC_ra], REG_RZ));
}
bool LV(bind_ULDC)(Bind *bind) {
    return use_ldc(bind, bind->in->src[ULDC_cb], MGET(ULDC, sz, bind->in->mods),
                   is_register(bind->in->src[ULDC_ura], REG_URZ)) &&
           uniform(bind);
}
