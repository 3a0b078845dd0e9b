/* Memory of the PTX interpreter: address spaces, ld, st, atom, red, cvta, isspacep, cp.async (PTX
 * ISA 9.7.9, 9.7.13). Every access is checked for alignment and range; one is done at once, so memory is
 * sequentially consistent.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdlib.h>

/* ---- spaces ---- */

static bool in_window(uint64_t address, uint64_t base) { return address - base < SIM_WINDOW_BYTES; }

/* The space of a generic address; *address becomes an address of that space. */
static unsigned generic_space(uint64_t *address) {
    static const struct {
        uint64_t base;
        unsigned space;
    } windows[] = {
        {SIM_SHARED_WINDOW, SP_SHARED}, {SIM_LOCAL_WINDOW, SP_LOCAL}, {SIM_PARAM_WINDOW, SP_PARAM}};
    for (unsigned i = 0; i < 3; i++) {
        if (in_window(*address, windows[i].base)) {
            *address -= windows[i].base;
            return windows[i].space;
        }
    }
    return SP_GLOBAL;
}

bool ptx_local_reserve(PtxThread *t, uint32_t top) {
    if (top > LOCAL_MAX_BYTES)
        return false;
    if (top > t->local_cap) {
        uint32_t cap = t->local_cap ? t->local_cap : 2048;
        while (cap < top)
            cap *= 2;
        uint8_t *p = realloc(t->local, cap);
        if (!p)
            return false;
        memset(p + t->local_cap, 0, cap - t->local_cap);
        t->local = p;
        t->local_cap = cap;
    }
    return true;
}

static uint8_t *global_bytes(PtxRun *r, PtxThread *t, const PtxCode *c, uint64_t address, unsigned bytes,
                             bool write) {
    SimAlloc *a = r->last_alloc;
    if (!a || address - a->address >= a->size_bytes || address - a->address > a->size_bytes - bytes) {
        a = simmem_find(r->mem, address, bytes);
        if (!a) {
            ptx_trap_at(r, t, c, TRAP_OUT_OF_RANGE, address, "global memory");
            return NULL;
        }
        r->last_alloc = a;
    }
    uint64_t offset = address - a->address;
    if (write) {
        if (a->read_only) {
            ptx_trap_at(r, t, c, TRAP_READ_ONLY, address, a->name);
            return NULL;
        }
        simmem_mark_written(a, offset, bytes);
    } else if (r->opt.report_uninitialised && !simmem_is_written(a, offset, bytes)) {
        ptx_warn(r, t, c, TRAP_UNINITIALISED, "memory that was never written");
    }
    if (r->slow) {
        r->place.alloc = a, r->place.offset = offset, r->place.host = a->data + offset;
        r->place.bytes = (uint8_t)bytes, r->place.write = write;
    }
    return a->data + offset;
}

static uint8_t *shared_bytes(PtxRun *r, PtxThread *t, const PtxCode *c, uint64_t address, unsigned bytes,
                             bool write) {
    PtxBlock *b = t->warp->block;
    SimAlloc shadow = {.written = b->shared_written};
    if (shadow.written && write)
        simmem_mark_written(&shadow, address, bytes);
    else if (shadow.written && !simmem_is_written(&shadow, address, bytes))
        ptx_warn(r, t, c, TRAP_UNINITIALISED, "shared memory that was never written");
    if (r->slow) {
        r->place.alloc = NULL, r->place.offset = address, r->place.host = b->shared + address;
        r->place.bytes = (uint8_t)bytes, r->place.write = write;
    }
    return b->shared + address;
}

uint8_t *ptx_memory(PtxRun *r, PtxThread *t, const PtxCode *c, unsigned space, uint64_t address,
                    unsigned bytes, bool write) {
    uint64_t shown = address;
    if (address & (bytes - 1)) {
        ptx_trap_at(r, t, c, TRAP_MISALIGNED, address, NULL);
        return NULL;
    }
    if (space == SP_NONE)
        space = generic_space(&address);
    switch (space) {
    case SP_SHARED:
    case SP_SHARED_CLUSTER:
        if (address <= r->shared_bytes && bytes <= r->shared_bytes - address)
            return shared_bytes(r, t, c, address, bytes, write);
        ptx_trap_at(r, t, c, TRAP_OUT_OF_RANGE, shown, "shared memory");
        return NULL;
    case SP_LOCAL:
        if (address >= LOCAL_FIRST_BYTE && address <= t->local_top && bytes <= t->local_top - address)
            return t->local + address;
        ptx_trap_at(r, t, c, TRAP_OUT_OF_RANGE, shown, "local memory");
        return NULL;
    case SP_PARAM:
        if (write) {
            ptx_trap_at(r, t, c, TRAP_READ_ONLY, shown, "kernel parameters");
            return NULL;
        }
        if (address <= r->launch->param_bytes && bytes <= r->launch->param_bytes - address)
            return (uint8_t *)(uintptr_t)(r->launch->params + address);
        ptx_trap_at(r, t, c, TRAP_OUT_OF_RANGE, shown, "kernel parameters");
        return NULL;
    default: return global_bytes(r, t, c, address, bytes, write);
    }
}

static uint64_t load_bytes(const uint8_t *p, unsigned bytes) {
    uint64_t v = 0;
    memcpy(&v, p, bytes); /* guest and host are both little endian */
    return v;
}

static uint64_t load_typed(const uint8_t *p, unsigned type, unsigned bytes) {
    uint64_t v = load_bytes(p, bytes);
    if (ptx_type_class((PtxType)type) == TC_SIGNED) {
        unsigned shift = 64 - 8 * bytes;
        v = (uint64_t)((int64_t)(v << shift) >> shift);
    }
    return v;
}

/* For the event of this statement. */
static void note_access(PtxRun *r, unsigned kind, unsigned space, uint64_t address, unsigned bytes,
                        const uint8_t *p) {
    uint64_t within = address;
    unsigned real = space == SP_NONE ? generic_space(&within) : space;
    bool shared = real == SP_SHARED || real == SP_SHARED_CLUSTER;
    if (shared || real == SP_GLOBAL)
        r->access = (PtxAccess){(uint8_t)kind, bytes, shared ? within + SIM_SHARED_WINDOW : within, p};
}

/* ---- ld, st ---- */

static PtxStep exec_ld(PtxRun *r, PtxThread *t, const PtxCode *c) {
    uint64_t address = ptx_arg(r, t, &c->src[0]) + c->offset;
    const uint8_t *p = ptx_memory(r, t, c, c->space, address, c->size_bytes, false);
    if (!p)
        return STEP_STOP;
    race_load(r, t, c);
    ptx_put(t, c->dst[0], load_typed(p, c->type, c->size_bytes));
    return STEP_GO;
}

static PtxStep exec_ld_vector(PtxRun *r, PtxThread *t, const PtxCode *c) {
    uint64_t address = ptx_arg(r, t, &c->src[0]) + c->offset;
    const uint8_t *p = ptx_memory(r, t, c, c->space, address, (unsigned)c->size_bytes * c->nvec, false);
    if (!p)
        return STEP_STOP;
    race_load(r, t, c);
    for (unsigned i = 0; i < c->nvec; i++)
        ptx_put(t, c->vec_dst[i], load_typed(p + (size_t)i * c->size_bytes, c->type, c->size_bytes));
    return STEP_GO;
}

static PtxStep exec_st(PtxRun *r, PtxThread *t, const PtxCode *c) {
    uint64_t address = ptx_arg(r, t, &c->src[0]) + c->offset;
    uint8_t *p = ptx_memory(r, t, c, c->space, address, (unsigned)c->size_bytes * c->nvec, true);
    if (!p)
        return STEP_STOP;
    uint8_t now[64];
    for (unsigned i = 0; i < c->nvec; i++) {
        uint64_t v = ptx_arg(r, t, c->vec ? &c->vec[i] : &c->src[1]);
        memcpy(now + (size_t)i * c->size_bytes, &v, c->size_bytes);
    }
    race_store(r, t, c, p, now);
    memcpy(p, now, (size_t)c->size_bytes * c->nvec);
    if (r->slow)
        note_access(r, PTX_ACCESS_STORE, c->space, address, (unsigned)c->size_bytes * c->nvec, p);
    return STEP_GO;
}

/* ---- atom, red ---- */

static uint64_t atomic_int(const PtxCode *c, uint64_t old, uint64_t b) {
    unsigned bits = c->size_bytes * 8u;
    int64_t so = (int64_t)(old << (64 - bits)) >> (64 - bits),
            sb = (int64_t)(b << (64 - bits)) >> (64 - bits);
    bool is_signed = ptx_type_class((PtxType)c->type) == TC_SIGNED;
    uint64_t mask = width_mask(c->size_bytes);
    b &= mask;
    switch (c->atom) {
    case ATOM_ADD: return old + b;
    case ATOM_MIN: return (is_signed ? so < sb : old < b) ? old : b;
    case ATOM_MAX: return (is_signed ? so > sb : old > b) ? old : b;
    case ATOM_INC: return old >= b ? 0 : old + 1;
    case ATOM_DEC: return old == 0 || old > b ? b : old - 1;
    case ATOM_AND: return old & b;
    case ATOM_OR: return old | b;
    default: return old ^ b;
    }
}

static uint64_t atomic_float(const PtxCode *c, uint64_t old, uint64_t b, bool flush) {
    bool bf = c->type == TY_BF16 || c->type == TY_BF16X2;
    PtxFormat f = bf ? FMT_BF16 : FMT_F16;
    if (c->atom != ATOM_ADD)
        return ptx_float_minmax(c->type, c->atom == ATOM_MAX, old, b, false, false);
    switch (c->type) {
    case TY_F64: return ptx_f64_op(MATH_ADD, old, b, 0, RND_RN);
    case TY_F32:
        if (!flush)
            return ptx_f32_op(MATH_ADD, (uint32_t)old, (uint32_t)b, 0, RND_RN);
        return f32_flush(ptx_f32_op(MATH_ADD, f32_flush((uint32_t)old), f32_flush((uint32_t)b), 0, RND_RN));
    case TY_F16:
    case TY_BF16: return ptx_half_op(f, MATH_ADD, (uint16_t)old, (uint16_t)b, 0);
    default:
        return ptx_half_op(f, MATH_ADD, (uint16_t)old, (uint16_t)b, 0) |
               (uint64_t)ptx_half_op(f, MATH_ADD, (uint16_t)(old >> 16), (uint16_t)(b >> 16), 0) << 16;
    }
}

static PtxStep exec_atomic(PtxRun *r, PtxThread *t, const PtxCode *c) {
    uint64_t address = ptx_arg(r, t, &c->src[0]) + c->offset, b = ptx_arg(r, t, &c->src[1]);
    uint8_t *p = ptx_memory(r, t, c, c->space, address, c->size_bytes, true);
    if (!p)
        return STEP_STOP;
    race_atomic(r, t, c, p);
    uint64_t old = load_bytes(p, c->size_bytes), value;
    if (r->slow)
        note_access(r, PTX_ACCESS_ATOMIC, c->space, address, c->size_bytes, p);
    bool global = c->space == SP_GLOBAL || (c->space == SP_NONE && generic_space(&address) == SP_GLOBAL);
    if (c->atom == ATOM_EXCH)
        value = b;
    else if (c->atom == ATOM_CAS)
        value = old == (b & width_mask(c->size_bytes)) ? ptx_arg(r, t, &c->src[2]) : old;
    else if (ptx_type_class((PtxType)c->type) == TC_FLOAT)
        value = atomic_float(c, old, b, global);
    else
        value = atomic_int(c, old, b);
    memcpy(p, &value, c->size_bytes);
    if (c->ndst)
        ptx_put(t, c->dst[0], old);
    return STEP_YIELD; /* the fixed schedule takes lanes in ascending order at atomics */
}

/* ---- cvta, isspacep ---- */

static uint64_t window_of(const PtxCode *c) {
    switch (c->space) {
    case SP_SHARED:
    case SP_SHARED_CLUSTER: return SIM_SHARED_WINDOW;
    case SP_LOCAL: return SIM_LOCAL_WINDOW;
    case SP_PARAM: return SIM_PARAM_WINDOW;
    default: return 0;
    }
}
static uint64_t cvta_fn(uint64_t a, uint64_t b, uint64_t x, const PtxCode *c) {
    (void)b, (void)x;
    return c->sub == SUB_TO ? a - window_of(c) : a + window_of(c);
}

static PtxStep exec_isspacep(PtxRun *r, PtxThread *t, const PtxCode *c) {
    uint64_t a = ptx_arg(r, t, &c->src[0]), address = a;
    unsigned space = generic_space(&address), want = c->space == SP_SHARED_CLUSTER ? SP_SHARED : c->space;
    if (space == SP_GLOBAL) {
        const SimAlloc *m = simmem_find(r->mem, a, 1);
        if (m && m->read_only)
            space = SP_CONST;
    }
    ptx_put(t, c->dst[0], space == want);
    return STEP_GO;
}

/* Memory is sequentially consistent: fences matter to the search for races only. */
static PtxStep exec_fence(PtxRun *r, PtxThread *t, const PtxCode *c) {
    if (!(c->insn->flags & PF_PROXY))
        race_fence(r, t);
    return STEP_GO;
}

/* ---- cp.async: done at once, so commit and wait have nothing to do ---- */

static PtxStep exec_cp_async(PtxRun *r, PtxThread *t, const PtxCode *c) {
    uint64_t to = ptx_arg(r, t, &c->src[0]) + c->offset, from = ptx_arg(r, t, &c->src[1]) + c->offset2;
    unsigned bytes = c->size_bytes, given = bytes;
    if (c->nsrc > 3 && !(c->insn->flags & PF_CACHE_HINT && c->nsrc == 4)) {
        uint64_t n = (uint32_t)ptx_arg(r, t, &c->src[3]);
        given = n < bytes ? (unsigned)n : bytes;
    }
    uint8_t data[16] = {0}, *p = ptx_memory(r, t, c, SP_SHARED, to, bytes, true);
    if (!p)
        return STEP_STOP;
    if (from & (bytes - 1))
        return ptx_trap_at(r, t, c, TRAP_MISALIGNED, from, "cp.async source");
    for (unsigned i = 0; i < given; i++) { /* bytes past src-size are zero and not read */
        const uint8_t *q = ptx_memory(r, t, c, SP_GLOBAL, from + i, 1, false);
        if (!q)
            return STEP_STOP;
        data[i] = *q;
        race_load(r, t, c);
    }
    p = ptx_memory(r, t, c, SP_SHARED, to, bytes, true);
    race_store(r, t, c, p, data);
    memcpy(p, data, bytes);
    return STEP_GO;
}

static bool select_cp(PtxCode *c) {
    const PtxInsn *in = c->insn;
    if (in->sub != SUB_ASYNC)
        return false;
    if (in->sub2 == SUB_COMMIT_GROUP || in->sub2 == SUB_WAIT_GROUP || in->sub2 == SUB_WAIT_ALL) {
        c->exec = ptx_exec_nop;
        return true;
    }
    if (in->flags & PF_ALL_FORMS || c->nsrc < 3 || c->src[2].kind != ARG_IMM)
        return false;
    c->size_bytes = (uint8_t)c->src[2].imm;
    c->exec = exec_cp_async;
    return c->size_bytes == 4 || c->size_bytes == 8 || c->size_bytes == 16;
}

static bool select_atomic(PtxCode *c) {
    unsigned type = c->type;
    bool is_float = ptx_type_class((PtxType)type) == TC_FLOAT;
    if (c->insn->vec > 1 || c->atom == ATOM_NONE || c->size_bytes == 0 || c->size_bytes > 8)
        return false;
    if (is_float && c->atom != ATOM_ADD && c->atom != ATOM_EXCH && c->atom != ATOM_MIN && c->atom != ATOM_MAX)
        return false;
    if (is_float && (c->atom == ATOM_MIN || c->atom == ATOM_MAX) && type != TY_F32 && type != TY_F64)
        return false;
    c->exec = exec_atomic;
    return c->atom == ATOM_CAS ? c->nsrc >= 3 : c->nsrc >= 2;
}

bool ptx_select_mem(PtxRun *r, PtxCode *c) {
    const PtxInsn *in = c->insn;
    (void)r;
    c->size_bytes = (uint8_t)ptx_type_bytes((PtxType)c->type);
    switch (in->op) {
    case PTX_LD:
    case PTX_LDU:
        c->exec = c->vec_dst ? exec_ld_vector : exec_ld;
        return c->size_bytes >= 1 && c->size_bytes <= 8 && (!c->vec_dst || c->nvec == in->vec);
    case PTX_ST:
        c->exec = exec_st;
        c->nvec = c->vec ? c->nvec : 1;
        return in->sub2 == SUB_NONE && c->size_bytes >= 1 && c->size_bytes <= 8 &&
               (!c->vec || c->nvec == in->vec);
    case PTX_ATOM:
    case PTX_RED: return select_atomic(c);
    case PTX_CVTA:
        c->exec = ptx_exec_pure;
        c->pure = cvta_fn;
        return c->size_bytes == 8;
    case PTX_ISSPACEP: c->exec = exec_isspacep; return true;
    case PTX_CP: return select_cp(c);
    case PTX_MEMBAR:
    case PTX_FENCE: c->exec = exec_fence; return true;
    case PTX_PREFETCH:
    case PTX_PREFETCHU:
    case PTX_APPLYPRIORITY:
    case PTX_DISCARD: c->exec = ptx_exec_nop; return true;
    default: return false;
    }
}
