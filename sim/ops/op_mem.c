/* Loads and stores of a whole warp: the addresses of all lanes as differences from one of them, the extremes
 * checked once against the allocation, then a loop without checks. Lanes that do not take part get the
 * address of one that does, so that loads need no branch. What fails any check, and every trap, goes lane by
 * lane through sim/machine/mem.c.
 *
 * Slots of all: v[0] = ra (a pair when dec->wide), v[1] = urb, v[2] = data of a store; dec->target = offset.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/words.h"
#include "sim/ops/ops.h"
#include <stdio.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#if defined(__clang__)
#define LANES16 _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < 16; i++)
#else
#define LANES16 _Pragma("GCC ivdep") for (unsigned i = 0; i < 16; i++)
#endif

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
    return inside(lo - run->shared_base, need, run->fast_shared_end - run->shared_base);
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
 * equal, or consecutive. All lanes take part, and the allocation is the one of the last time. */
typedef struct {
    uint8_t *bytes[2];
    bool same;
    SimAlloc *alloc;
} Halves;

/* Are the addresses of each half those of its first lane and `step` bytes more from lane to lane? hi: NULL if
 * the address has one word. */
INLINE bool in_step(const uint32_t *lo, const uint32_t *hi, unsigned step) {
    uint32_t differs[16], low[2] = {lo[0], lo[16]};
    LANES16 { differs[i] = (lo[i] ^ (low[0] + step * i)) | (lo[i + 16] ^ (low[1] + step * i)); }
    if (hi) {
        uint32_t high[2] = {hi[0], hi[16]};
        LANES16 { differs[i] |= (hi[i] ^ high[0]) | (hi[i + 16] ^ high[1]); }
    }
    return all_zero(differs);
}

/* Host bytes of two ranges of guest memory. */
INLINE bool halves_at(Warp *warp, const Dec *dec, const uint64_t a[2], uint32_t bytes, bool write,
                      Halves *h) {
    const Run *run = warp->run;
    SimAlloc *al = dec->alloc;
    uint64_t start = run->shared_base, limit = run->fast_shared_end;
    uint8_t *data = warp->cta->shared + start;
    h->alloc = NULL;
    if (dec->imm[1] == MS_SHARED) {
        limit -= start;
    } else if (al && !(write && al->read_only)) {
        h->alloc = al;
        start = al->address;
        limit = al->size_bytes;
        data = al->data;
    } else {
        return false;
    }
    uint64_t first = a[0] - start, second = a[1] - start;
    if (!inside(first, bytes, limit) || !inside(second, bytes, limit))
        return false;
    h->bytes[0] = data + first;
    h->bytes[1] = data + second;
    return true;
}

INLINE bool halves(Warp *warp, const Dec *dec, unsigned size, bool write, Halves *h) {
    const uint32_t *lo = dec_src(warp, dec, 0), *hi = dec->wide ? lo + 32 : NULL;
    uint32_t scaled[32];
    bool same = false;
    if (dec->mem.shift) { /* of one word, then */
        LANES { scaled[i] = lo[i] << dec->mem.shift; }
        lo = scaled;
    }
    if (!in_step(lo, hi, size)) {
        if (write || !in_step(lo, hi, 0))
            return false;
        same = true;
    }
    uint64_t a[2] = {lo[0], lo[16]};
    uint32_t bytes = same ? size : 16 * size, last = 0u - bytes;
    if (a[0] > last || a[1] > last) /* no carry into the high words */
        return false;
    if (hi) {
        a[0] |= (uint64_t)hi[0] << 32;
        a[1] |= (uint64_t)hi[16] << 32;
    }
    a[0] = whole_address(warp, dec, a[0]);
    a[1] = whole_address(warp, dec, a[1]);
    h->same = same;
    return !((a[0] | a[1]) & (size - 1)) && halves_at(warp, dec, a, bytes, write, h);
}

/* Some lanes take part, and their addresses are those of a row: lane i's lies at bytes + 4 * i. That is
 * inside the allocation for these lanes; *whole: for all. */
INLINE bool row_of_words(Warp *warp, Dec *dec, uint32_t g, bool write, Places *p, bool *whole) {
    const uint32_t *lo = dec_src(warp, dec, 0), *hi = lo + 32;
    unsigned first = low_lane(g), last = 31u - (unsigned)__builtin_clz(g), shift = dec->mem.shift;
    uint32_t low = lo[first] << shift, start = low - 4 * first, high = dec->wide ? hi[first] : 0;
    MASK_OF_NONZERO(off, (lo[i] << shift) ^ (start + 4 * i))
    if (off & g || low > 0u - 4 * (last - first + 1))
        return false;
    if (dec->wide) {
        MASK_OF_NONZERO(above, hi[i] ^ high)
        if (above & g)
            return false;
    }
    p->address = whole_address(warp, dec, (uint64_t)high << 32 | low);
    p->min = 0;
    p->max = (int32_t)(4 * (last - first));
    if (p->address & 3 || !find_bytes(warp, dec, 4, write, p))
        return false;
    p->bytes -= 4 * first;
    *whole = p->alloc && (uint64_t)(p->bytes - p->alloc->data) <= p->alloc->size_bytes &&
             p->alloc->size_bytes - (uint64_t)(p->bytes - p->alloc->data) >= ROW_BYTES;
    return true;
}

/* ---- loads ---- */

INLINE void put_row(uint32_t *r, const uint32_t *v, uint32_t g, bool full) {
    if (full)
        memcpy(r, v, ROW_BYTES);
    else
        LANES { r[i] = blend(lane_mask(g, i), v[i], r[i]); }
}

/* Written in one piece: hosts are slow to read a vector back that was written word by word. */
typedef uint32_t HalfRow __attribute__((vector_size(64), aligned(4), may_alias));

/* What the host moves at once: wider vectors fall into pieces of 8 bytes. */
#if defined(__AVX512F__)
enum { MOVE_BYTES = 64 };
#elif defined(__AVX__)
enum { MOVE_BYTES = 32 };
#else
enum { MOVE_BYTES = 16 };
#endif
typedef uint32_t Move __attribute__((vector_size(MOVE_BYTES), aligned(4), may_alias));

/* n times 64 bytes of the guest's. */
INLINE void read_halves(uint32_t *to, const uint8_t *from, unsigned n) {
    if (GUEST_WORD_BY_WORD)
        for (unsigned i = 0; i < 16 * n; i++)
            to[i] = guest_word(from + (size_t)4 * i);
    else
        for (unsigned i = 0; i < 16 * n; i += MOVE_BYTES / 4)
            *(Move *)(void *)(to + i) = *(const volatile Move *)(const void *)(from + (size_t)4 * i);
}
INLINE void write_halves(uint8_t *to, const uint32_t *from, unsigned n) {
    if (GUEST_WORD_BY_WORD)
        for (unsigned i = 0; i < 16 * n; i++)
            guest_write(to + (size_t)4 * i, from + i, 4);
    else
        for (unsigned i = 0; i < 16 * n; i += MOVE_BYTES / 4)
            *(volatile Move *)(void *)(to + (size_t)4 * i) = *(const Move *)(const void *)(from + i);
}

/* 16 lanes of n rows. */
INLINE void load_half(uint32_t *r, const uint8_t *from, unsigned n, bool same) {
    uint32_t v[16 * 4];
    if (same) {
        guest_read(v, from, 4 * n);
        for (unsigned k = 0; k < n; k++)
            *(HalfRow *)(void *)(r + k * 32) = (HalfRow){0} + v[k];
    } else if (n == 1) {
        read_halves(r, from, 1);
    } else {
        read_halves(v, from, n);
        for (unsigned k = 0; k < n; k++)
            for (unsigned i = 0; i < 16; i++)
                r[k * 32 + i] = v[i * n + k];
    }
}
/* A word for each lane, at its offset. */
INLINE void gather_words(uint32_t *v, const uint8_t *from, const int32_t *off) {
#if defined(__AVX512F__)
    for (unsigned i = 0; i < 32; i += 16)
        _mm512_storeu_si512(v + i, _mm512_i32gather_epi32(_mm512_loadu_si512(off + i), from, 1));
#elif defined(__AVX2__)
    for (unsigned i = 0; i < 32; i += 8)
        _mm256_storeu_si256(
            (__m256i *)(void *)(v + i),
            _mm256_i32gather_epi32((const int *)(const void *)from,
                                   _mm256_loadu_si256((const __m256i *)(const void *)(off + i)), 1));
#else
    for (unsigned i = 0; i < 32; i++)
        v[i] = guest_word(from + off[i]);
#endif
}
/* Two words, or four, read at once. */
INLINE void gather_pairs(uint32_t v[2][32], const uint8_t *from, const int32_t *off) {
#if defined(__AVX512F__)
    for (unsigned i = 0; i < 32; i += 8) {
        __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)(off + i));
        __m512i pairs = _mm512_i32gather_epi64(at, from, 1);
        _mm256_storeu_si256((__m256i *)(void *)(v[0] + i), _mm512_cvtepi64_epi32(pairs));
        _mm256_storeu_si256((__m256i *)(void *)(v[1] + i),
                            _mm512_cvtepi64_epi32(_mm512_srli_epi64(pairs, 32)));
    }
#else
    for (unsigned i = 0; i < 32; i++) {
        uint64_t pair = guest_pair(from + off[i]);
        v[0][i] = (uint32_t)pair;
        v[1][i] = (uint32_t)(pair >> 32);
    }
#endif
}
INLINE void gather_quads(uint32_t v[4][32], const uint8_t *from, const int32_t *off) {
    uint32_t quads[32][4];
    for (unsigned i = 0; i < 32; i++)
        guest_read(quads[i], from + off[i], sizeof quads[i]);
    for (unsigned k = 0; k < 4; k++)
        for (unsigned i = 0; i < 32; i++)
            v[k][i] = quads[i][k];
}

/* The row at `from`, of which only the lanes of g are there unless it is whole. */
INLINE void load_row(uint32_t *r, const uint8_t *from, uint32_t g, bool whole) {
#if defined(__AVX512F__)
    (void)whole;
    for (unsigned i = 0; i < 32; i += 16)
        _mm512_storeu_si512(r + i, _mm512_mask_loadu_epi32(_mm512_loadu_si512(r + i), (__mmask16)(g >> i),
                                                           from + (size_t)4 * i));
#else
    if (whole) {
        uint32_t v[32];
        read_halves(v, from, 2);
        LANES { r[i] = blend(lane_mask(g, i), v[i], r[i]); }
        return;
    }
    EACH_LANE(i, g)
        r[i] = guest_word(from + (size_t)4 * i);
#endif
}

/* n words a lane, of any addresses. */
INLINE int load_any(Warp *warp, Dec *dec, uint32_t g, unsigned n, bool full) {
    Places p;
    uint32_t v[4][32], *r = dec_dst(warp, dec, 0);
    if (!locate(warp, dec, g, 4 * n, full, false, &p))
        return next_if(warp, dec, machine_mem_load_slow(warp, dec, g));
    if (!p.same) {
        uint32_t x[4];
        guest_read(x, p.bytes, 4 * n);
        for (unsigned k = 0; k < n; k++)
            LANES { v[k][i] = x[k]; }
    } else if (n == 1) {
        gather_words(v[0], p.bytes, p.off);
    } else if (n == 2) {
        gather_pairs(v, p.bytes, p.off);
    } else {
        gather_quads(v, p.bytes, p.off);
    }
    for (unsigned k = 0; k < n; k++)
        put_row(r + k * 32, v[k], g, full);
    return NEXT;
}
INLINE int load_words(Warp *warp, Dec *dec, uint32_t g, unsigned n, OpFn *any) {
    Halves h;
    uint32_t *r = dec_dst(warp, dec, 0);
    if (!halves(warp, dec, 4 * n, false, &h))
        return any(warp, dec, g);
    load_half(r, h.bytes[0], n, h.same);
    load_half(r + 16, h.bytes[1], n, h.same);
    return NEXT_ALL;
}
INLINE int load_row_of_words(Warp *warp, Dec *dec, uint32_t g, OpFn *any) {
    Places p;
    bool whole;
    if (!row_of_words(warp, dec, g, false, &p, &whole))
        return any(warp, dec, g);
    load_row(dec_dst(warp, dec, 0), p.bytes, g, whole);
    return NEXT;
}

/* 1 or 2 bytes, extended to 32 bits. */
INLINE int load_part(Warp *warp, Dec *dec, uint32_t g, bool full) {
    Places p;
    uint32_t v[32], size = dec->size, bits = 32 - 8 * size;
    bool sign = dec->mem.kind == MemSz_S8 || dec->mem.kind == MemSz_S16;
    if (!locate(warp, dec, g, size, full, false, &p))
        return next_if(warp, dec, machine_mem_load_slow(warp, dec, g));
    for (unsigned i = 0; i < 32; i++) {
        const uint8_t *q = p.bytes + p.off[i];
        uint32_t x = size == 1 ? guest_byte(q) : guest_half(q);
        v[i] = sign ? (uint32_t)((int32_t)(x << bits) >> bits) : x;
    }
    put_row(dec_dst(warp, dec, 0), v, g, full);
    return NEXT;
}

/* ---- stores: lanes in ascending order, so the highest one wins ---- */

INLINE void mark_lane(const Places *places, unsigned lane, unsigned size) {
    uint64_t o = (uint64_t)(places->bytes + places->off[lane] - places->alloc->data);
    uint8_t *at = places->alloc->written + o / 8;
    if (size < 8)
        simmem_mark_bits(at, (uint8_t)(((1u << size) - 1) << (o & 7)));
    else
        memset(at, 0xff, size / 8);
}

/* 16 consecutive lanes; are they other bytes than there were? */
INLINE bool store_half(const uint32_t *v, uint8_t *to, SimAlloc *al, unsigned n) {
    uint32_t data[16 * 4], was[16 * 4], differs[16] = {0};
    unsigned bytes = 64 * n;
    for (unsigned k = 0; k < n; k++)
        LANES16 { data[i * n + k] = v[k * 32 + i]; }
    read_halves(was, to, n);
    for (unsigned k = 0; k < n; k++)
        LANES16 { differs[i] |= was[16 * k + i] ^ data[16 * k + i]; }
    write_halves(to, data, n);
    if (al) {
        uint64_t o = (uint64_t)(to - al->data);
        if (o % 8 == 0)
            memset(al->written + o / 8, 0xff, bytes / 8);
        else
            simmem_mark_written(al, o, bytes);
    }
    return !all_zero(differs);
}

INLINE int store_any(Warp *warp, Dec *dec, uint32_t g, unsigned n, bool full) {
    Places p;
    uint32_t changed = 0;
    const uint32_t *v = dec_src(warp, dec, 2);
    if (!locate(warp, dec, g, 4 * n, full, true, &p))
        return next_if(warp, dec, machine_mem_store_slow(warp, dec, g));
    EACH_LANE(i, g) {
        uint8_t *q = p.bytes + p.off[i];
        uint32_t data[4], was[4];
        if (n ==
            2) { /* put together in a register: from memory, just written in halves, it would take longer */
            uint64_t now = pair(v[i], v[32 + i]);
            changed |= guest_pair(q) != now;
            guest_write(q, &now, sizeof now);
        } else {
            guest_read(was, q, 4 * n);
            for (unsigned k = 0; k < n; k++) {
                data[k] = v[k * 32 + i];
                changed |= was[k] ^ data[k];
            }
            guest_write(q, data, 4 * n);
        }
        if (p.alloc)
            mark_lane(&p, i, 4 * n);
    }
    warp->run->mem_version += changed != 0;
    return NEXT;
}
INLINE int store_words(Warp *warp, Dec *dec, uint32_t g, unsigned n, OpFn *any) {
    Halves h;
    const uint32_t *v = dec_src(warp, dec, 2);
    if (!halves(warp, dec, 4 * n, true, &h))
        return any(warp, dec, g);
    bool changed = store_half(v, h.bytes[0], h.alloc, n);
    changed |= store_half(v + 16, h.bytes[1], h.alloc, n);
    warp->run->mem_version += changed;
    return NEXT_ALL;
}

INLINE int store_part(Warp *warp, Dec *dec, uint32_t g, bool full) {
    Places p;
    uint32_t changed = 0, size = dec->size;
    const uint32_t *v = dec_src(warp, dec, 2);
    if (!locate(warp, dec, g, size, full, true, &p))
        return next_if(warp, dec, machine_mem_store_slow(warp, dec, g));
    EACH_LANE(i, g) {
        uint8_t *q = p.bytes + p.off[i];
        uint8_t byte = (uint8_t)v[i];
        uint16_t half = (uint16_t)v[i];
        if (size == 1) {
            changed |= (uint32_t)(guest_byte(q) ^ byte);
            guest_write(q, &byte, 1);
        } else {
            changed |= (uint32_t)(guest_half(q) ^ half);
            guest_write(q, &half, 2);
        }
        if (p.alloc)
            mark_lane(&p, i, size);
    }
    warp->run->mem_version += changed != 0;
    return NEXT;
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
        return next_if(warp, dec, machine_mem_load_slow(warp, dec, g));
    const uint32_t *from = warp->local + p.address / 4 * 32;
    for (unsigned k = 0; k < n; k++) {
        if (p.same)
            for (unsigned i = 0; i < 32; i++)
                v[k][i] = from[p.off[i] / 4 * 32 + (int)(k * 32 + i)];
        put_row(dec_dst(warp, dec, 0) + k * 32, p.same ? v[k] : from + k * 32, g, full);
    }
    return NEXT;
}
INLINE int store_local(Warp *warp, Dec *dec, uint32_t g, bool full) {
    Places p;
    uint32_t changed = 0;
    unsigned n = dec->size / 4u;
    const uint32_t *v = dec_src(warp, dec, 2);
    if (!locate_local(warp, dec, g, full, &p))
        return next_if(warp, dec, machine_mem_store_slow(warp, dec, g));
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
    return NEXT;
}

/* name_f for all lanes, name_p for the lanes of g. */
#define ACCESS(name, CALL_FULL, CALL_PART)                                                                   \
    static int name##_f(Warp *warp, Dec *dec, uint32_t g) { return CALL_FULL; }                              \
    static int name##_p(Warp *warp, Dec *dec, uint32_t g) { return CALL_PART; }
/* n words: the frequent shapes in functions that need no stack, the others behind them. */
#define ACCESS_WORDS(n, load_p)                                                                              \
    static NOINLINE int load##n##_any(Warp *warp, Dec *dec, uint32_t g) {                                    \
        return load_any(warp, dec, g, n, true);                                                              \
    }                                                                                                        \
    static NOINLINE int load##n##_any_p(Warp *warp, Dec *dec, uint32_t g) {                                  \
        return load_any(warp, dec, g, n, false);                                                             \
    }                                                                                                        \
    static NOINLINE int store##n##_any(Warp *warp, Dec *dec, uint32_t g) {                                   \
        return store_any(warp, dec, g, n, true);                                                             \
    }                                                                                                        \
    ACCESS(load##n, load_words(warp, dec, g, n, load##n##_any), load_p)                                      \
    ACCESS(store##n, store_words(warp, dec, g, n, store##n##_any), store_any(warp, dec, g, n, false))
/* Within runs: the most frequent shapes of addresses, of which the compiler then asks nothing. */
static bool is_of_shape(const Dec *dec, bool wide, MemSpace space) {
    return dec->wide == wide && (wide || !dec->mem.wide) && !dec->mem.shift && !dec->mem.uniform &&
           dec->imm[1] == space && !dec_src_is_constant(dec, 0);
}
#define KNOWN(fact)                                                                                          \
    if (!(fact))                                                                                             \
    __builtin_unreachable()
#define ACCESS_IN_RUNS(name, CALL)                                                                           \
    static int name##_shared(Warp *warp, Dec *dec, uint32_t g) {                                             \
        KNOWN(is_of_shape(dec, false, MS_SHARED));                                                           \
        return CALL;                                                                                         \
    }                                                                                                        \
    static int name##_global(Warp *warp, Dec *dec, uint32_t g) {                                             \
        KNOWN(is_of_shape(dec, true, MS_GLOBAL));                                                            \
        return CALL;                                                                                         \
    }
#define IN_RUNS(dec, name)                                                                                   \
    (is_of_shape(dec, false, MS_SHARED)  ? name##_shared                                                     \
     : is_of_shape(dec, true, MS_GLOBAL) ? name##_global                                                     \
                                         : NULL)
ACCESS_WORDS(1, load_row_of_words(warp, dec, g, load1_any_p))
ACCESS_WORDS(2, load2_any_p(warp, dec, g))
ACCESS_WORDS(4, load4_any_p(warp, dec, g))
ACCESS_IN_RUNS(load1, load_words(warp, dec, g, 1, load1_any))
ACCESS_IN_RUNS(load1_some, load_row_of_words(warp, dec, g, load1_any_p))
ACCESS_IN_RUNS(load4, load_words(warp, dec, g, 4, load4_any))
ACCESS_IN_RUNS(store1, store_words(warp, dec, g, 1, store1_any))
ACCESS(ldpart, load_part(warp, dec, g, true), load_part(warp, dec, g, false))
ACCESS(ldl, load_local(warp, dec, g, true), load_local(warp, dec, g, false))
ACCESS(stpart, store_part(warp, dec, g, true), store_part(warp, dec, g, false))
ACCESS(stl, store_local(warp, dec, g, true), store_local(warp, dec, g, false))

static void use_load(Bind *bind) {
    Dec *dec = bind->d;
    switch (dec->imm[1] == MS_LOCAL ? 0 : dec->size) {
    case 0: USE(bind, ldl); break;
    case 4:
        USE(bind, load1);
        dec->full_in_run = IN_RUNS(dec, load1);
        dec->part_in_run = IN_RUNS(dec, load1_some);
        break;
    case 8: USE(bind, load2); break;
    case 16:
        USE(bind, load4);
        dec->full_in_run = IN_RUNS(dec, load4);
        break;
    default: USE(bind, ldpart); break;
    }
}
static void use_store(Bind *bind) {
    Dec *dec = bind->d;
    switch (dec->imm[1] == MS_LOCAL ? 0 : dec->size) {
    case 0: USE(bind, stl); break;
    case 4:
        USE(bind, store1);
        dec->full_in_run = IN_RUNS(dec, store1);
        break;
    case 8: USE(bind, store2); break;
    case 16: USE(bind, store4); break;
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
    uint32_t others = 0, first = g ? a[low_lane(g)] : 0;
    LANES { others |= (a[i] ^ first) & lane_mask(g, i); }
    uint32_t read = others ? g : g & -g; /* the others get what the first one does */
    EACH_LANE(i, read) {
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
    for (unsigned k = 0; g & ~read && k < (size < 4 ? 1 : size / 4u); k++) {
        uint32_t value = r[k * 32 + low_lane(read)];
        LANES { r[k * 32 + i] = blend(lane_mask(g, i), value, r[k * 32 + i]); }
    }
    return NEXT;
}
static bool use_ldc(Bind *bind, Operand cb, uint32_t sz, bool indexed) {
    Dec *dec = bind->d;
    bind->raw_cmem = true;
    bind_operands(bind);
    dec->ldc.bank = op_cmem_bank(cb);
    dec->ldc.kind = sz;
    dec->size = (uint8_t)isa_access_bytes(bind->in);
    dec->target = indexed ? (int64_t)(int16_t)op_cmem_offset(cb) : (int64_t)op_cmem_offset(cb);
    bind_chained(bind, ldc, ldc);
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
