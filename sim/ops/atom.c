/* Atomics: lanes in ascending order, each a read, a computation and a write without interruption; of vectors
 * each element. Float addition is rounded to nearest; f32 on global memory flushes subnormals in and out
 * (docs/numerics.md section 7). At generic addresses native targets do some of them in global memory only
 * (docs/native.md "Atomics at generic addresses"). Also QSPC, which asks for the space of a generic address.
 * SPDX-License-Identifier: MIT */
#define SIM_LEVEL base
#include "sim/ops/fp.h"
#include <string.h>

/* As in ops/op_mem.c: v[0] address, v[1] uniform register, v[2] operand, v[3] new value of compare-and-swap;
 * target, imm[1], size and the view mem as there. Compare and swap: mem.op is OP_CAS or OP_CAST_SPIN. */
enum { OP_CAS = 32, OP_CAST_SPIN = 33 };

static uint32_t add_f32(uint32_t x, uint32_t y, uint32_t ftz) {
    return f32_flush(f32_canon(as_f32(f32_flush(x, ftz)) + as_f32(f32_flush(y, ftz))), ftz);
}
static uint32_t add_halves(uint32_t x, uint32_t y, Fmt f) {
    uint32_t v = 0;
    for (unsigned h = 0; h < 32; h += 16)
        v |= fp_narrow(add_to_odd(fp_widen(x >> h & 0xffff, f), fp_widen(y >> h & 0xffff, f)), f, Rnd_RN)
             << h;
    return v;
}

/* The lesser or the greater of two halves, of which -0 is less than 0 and a NaN nothing beside a number. */
static uint32_t least_half(uint32_t x, uint32_t y, uint32_t infinity, bool max) {
    bool x_nan = (x & 0x7fff) > infinity, y_nan = (y & 0x7fff) > infinity;
    if (x_nan || y_nan)
        return x_nan && y_nan ? F16_NAN : x_nan ? y : x;
    bool below = (x ^ y) & 0x8000 ? x > y : (x < y) != (x >> 15);
    return below != max ? x : y;
}
static uint32_t least_halves(uint32_t x, uint32_t y, uint32_t infinity, bool max) {
    return least_half(x & 0xffff, y & 0xffff, infinity, max) | least_half(x >> 16, y >> 16, infinity, max)
                                                                   << 16;
}

static bool less(uint32_t type, uint64_t x, uint64_t y) {
    switch (type) {
    case AtomType_S32: return (int32_t)x < (int32_t)y;
    case AtomType_S64: return (int64_t)x < (int64_t)y;
    default: return x < y;
    }
}

/* New value of memory. */
uint64_t machine_atom_result(uint32_t op, uint32_t type, uint64_t old, uint64_t v, bool global) {
    switch (op) {
    case AtomOp_ADD:
        if (type == AtomType_F32)
            return add_f32((uint32_t)old, (uint32_t)v, global ? ~0u : 0);
        if (type == AtomType_F64)
            return f64_canon(as_f64(old) + as_f64(v));
        if (type == AtomType_F16x2)
            return add_halves((uint32_t)old, (uint32_t)v, fmt_f16);
        if (type == AtomType_BF16x2)
            return add_halves((uint32_t)old, (uint32_t)v, fmt_bf16);
        return old + v;
    case AtomOp_MIN:
    case AtomOp_MAX: {
        bool max = op == AtomOp_MAX;
        if (type == AtomType_F16x2 || type == AtomType_BF16x2)
            return least_halves((uint32_t)old, (uint32_t)v, type == AtomType_F16x2 ? 0x7c00 : 0x7f80, max);
        return (max ? less(type, old, v) : less(type, v, old)) ? v : old;
    }
    case AtomOp_INC: return old >= v ? 0 : old + 1;
    case AtomOp_DEC: return old == 0 || old > v ? v : old - 1;
    case AtomOp_AND: return old & v;
    case AtomOp_OR: return old | v;
    case AtomOp_XOR: return old ^ v;
    default: return v;
    }
}

/* Words `at` and following of the lane's operand. */
static uint64_t atom_operand(const uint32_t *row, unsigned lane, unsigned at, unsigned size) {
    row += 32 * at;
    return size == 8 ? pair(row[lane], row[32 + lane]) : row[lane];
}

/* What the lane's operation makes of the old value of `size` bytes, an element whose words are `at` and
 * following. */
static uint64_t atom_next(const Warp *warp, const Dec *dec, unsigned lane, unsigned at, unsigned size,
                          uint64_t old, bool global) {
    uint64_t x = atom_operand(dec_src(warp, dec, 2), lane, at, size);
    if (dec->mem.op < OP_CAS)
        return machine_atom_result(dec->mem.op, dec->mem.type, old, x, global);
    return old == x ? atom_operand(dec_src(warp, dec, 3), lane, at, size) : old;
}

/* The old value of 16 bytes. Hosts do not replace them in one step: one thread of a crew does at a time. */
static void atom_wide(Warp *warp, const Dec *dec, unsigned lane, const MemRef *ref, uint32_t old[4]) {
    enum { BYTES = 16, WORDS = 4 };
    uint32_t next[WORDS], same = 1;
    struct Crew *crew = ref->alloc ? warp->run->crew : NULL;
    const uint32_t *first = dec_src(warp, dec, 2);
    if (crew)
        machine_crew_hold(crew);
    machine_mem_load(warp, lane, ref, BYTES, old);
    if (dec->mem.op == OP_CAS) {
        for (unsigned k = 0; k < WORDS; k++)
            same &= old[k] == first[32 * k + lane];
        first = dec_src(warp, dec, 3);
    }
    for (unsigned k = 0; k < WORDS; k++)
        next[k] = same ? first[32 * k + lane] : old[k];
    machine_mem_store(warp, lane, ref, BYTES, next);
    if (crew)
        machine_crew_release(crew);
}

void machine_atom_apply(Warp *warp, unsigned lane, const MemRef *ref, unsigned size_bytes, uint32_t op,
                        uint32_t type, uint64_t v, bool global) {
    uint64_t old = 0, next;
    if (warp->run->crew && ref->alloc) {
        old = machine_mem_read_shared(ref, size_bytes);
        do
            next = machine_atom_result(op, type, old, v, global) & (~0ull >> (64 - 8 * size_bytes));
        while (!machine_mem_replace(warp, ref, size_bytes, &old, next));
        return;
    }
    machine_mem_load(warp, lane, ref, size_bytes, &old);
    next = machine_atom_result(op, type, old, v, global);
    machine_async_write(warp, lane, ref, size_bytes, &next);
}

/* The old value of an element. */
static uint64_t atom_element(Warp *warp, const Dec *dec, unsigned lane, unsigned at, unsigned size,
                             const MemRef *ref) {
    bool global = ref->space == MS_GLOBAL;
    uint64_t old = 0;
    if (warp->run->crew && ref->alloc) {
        old = machine_mem_read_shared(ref, size);
        while (!machine_mem_replace(warp, ref, size, &old, atom_next(warp, dec, lane, at, size, old, global)))
            ;
        return old;
    }
    machine_mem_load(warp, lane, ref, size, &old);
    uint64_t next = atom_next(warp, dec, lane, at, size, old, global);
    machine_mem_store(warp, lane, ref, size, &next);
    return old;
}

static OpFn op_atomic;

/* Where a generic ATOM does nothing: sets of places. */
enum { IN_LOCAL = 1, IN_OWN_SHARED = 2, IN_OTHERS_SHARED = 4 };

/* The predicate of ATOM is asked in ptxas 13.0's code where one of 64 bits or of floats may have met one of
 * these, and not for 32 and 128 bits; what stands where it is false says which. F32 and F64: loops for the
 * own block's shared memory, for others', else a load and a store that only memory of the thread's own bears.
 * The other operations but EXCH and CAS: no loop for other blocks' shared memory. EXCH and CAS: load and
 * store alone. */
static uint32_t refused_places(uint32_t op, uint32_t type) {
    if (op == OP_CAST_SPIN)
        return 0;
    if (op == OP_CAS)
        return type == AtomType_U64 ? IN_LOCAL : 0;
    switch (type) {
    case AtomType_U32:
    case AtomType_S32:
    case AtomType_B128: return 0;
    case AtomType_F32:
    case AtomType_F64: return IN_LOCAL | IN_OWN_SHARED | IN_OTHERS_SHARED;
    default: return op == AtomOp_EXCH ? IN_LOCAL : IN_LOCAL | IN_OWN_SHARED;
    }
}

bool machine_atom_refuses(const Warp *warp, const Dec *dec, uint64_t address) {
    if (dec->part != op_atomic || !dec->mem.refused)
        return false;
    uint64_t own = SIM_SHARED_WINDOW + warp->cta->rank * SIM_WINDOW_BYTES;
    uint32_t place = address - own < SIM_WINDOW_BYTES                  ? IN_OWN_SHARED
                     : address - SIM_SHARED_WINDOW < SIM_CLUSTER_BYTES ? IN_OTHERS_SHARED
                     : address - SIM_LOCAL_WINDOW < SIM_WINDOW_BYTES   ? IN_LOCAL
                                                                       : 0;
    return dec->mem.refused & place;
}

/* The lane's operation at one place; `old` gets what was there. */
static void atom_at(Warp *warp, const Dec *dec, unsigned lane, MemRef *ref, uint32_t olds[4]) {
    unsigned size = dec->size, element = dec->mem.element_bytes;
    if (element == 16)
        atom_wide(warp, dec, lane, ref, olds);
    for (unsigned at = 0; element < 16 && at < size / 4; at += element / 4) {
        uint64_t old = atom_element(warp, dec, lane, at, element, ref);
        if (dec->mem.op == OP_CAST_SPIN)
            old = old == atom_operand(dec_src(warp, dec, 2), lane, at, element);
        memcpy(&olds[at], &old, element);
        ref->offset += element;
        if (ref->bytes)
            ref->bytes += element;
    }
}

static int op_atomic(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t olds[32][4], done = 0;
    unsigned size = dec->size;
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        MemRef ref;
        uint64_t address = machine_mem_address(warp, dec, lane);
        const SimMulticast *object =
            dec->optype == OT_RED ? simmem_multicast(warp->run->mem, address, size) : NULL;
        for (uint32_t k = 0; k < (object ? object->nreplicas : 1); k++) {
            uint64_t at = object ? simmem_replica(object, k, address) : address;
            int status = machine_mem_ref(warp, dec, lane, (MemSpace)dec->imm[1], at, size, true, &ref);
            if (status != RUN_OK)
                return status;
            if (machine_atom_refuses(warp, dec,
                                     at)) { /* of the result nothing is known: it is not what was there */
                memset(olds[lane], 0xa5, sizeof olds[lane]);
                continue;
            }
            done |= 1u << lane;
            atom_at(warp, dec, lane, &ref, olds[lane]);
        }
    }
    if (dec->optype == OT_RED)
        return RUN_OK;
    uint32_t *r = dec_dst(warp, dec, 0);
    for (uint32_t m = g; m; m &= m - 1) /* .CAST.SPIN: all 64 bits of the 1, which ptxas compares */
        for (unsigned k = 0; k < size / 4; k++)
            r[32 * k + low_lane(m)] = olds[low_lane(m)][k];
    set_pred(warp, dec->pd[0], g, done);
    return RUN_OK;
}

/* Type and bytes of what one access replaces: of vectors a number or a pair of halves. */
static const struct {
    uint8_t type, bytes;
} elements[] = {[AtomType_U32] = {AtomType_U32, 4},       [AtomType_S32] = {AtomType_S32, 4},
                [AtomType_U64] = {AtomType_U64, 8},       [AtomType_F32] = {AtomType_F32, 4},
                [AtomType_F16x2] = {AtomType_F16x2, 4},   [AtomType_S64] = {AtomType_S64, 8},
                [AtomType_F64] = {AtomType_F64, 8},       [AtomType_BF16x2] = {AtomType_BF16x2, 4},
                [AtomType_F16x4] = {AtomType_F16x2, 4},   [AtomType_F16x8] = {AtomType_F16x2, 4},
                [AtomType_BF16x4] = {AtomType_BF16x2, 4}, [AtomType_BF16x8] = {AtomType_BF16x2, 4},
                [AtomType_F32x2] = {AtomType_F32, 4},     [AtomType_F32x4] = {AtomType_F32, 4},
                [AtomType_B128] = {AtomType_B128, 16}};

/* Whether the machine has the operation of elements of the type. */
static bool has_operation(uint32_t op, uint32_t type) {
    switch (type) {
    case AtomType_F16x2:
    case AtomType_BF16x2: return op == AtomOp_ADD || op == AtomOp_MIN || op == AtomOp_MAX;
    case AtomType_F32:
    case AtomType_F64: return op == AtomOp_ADD;
    case AtomType_B128: return op == AtomOp_EXCH;
    default: return op <= AtomOp_EXCH && ((op != AtomOp_INC && op != AtomOp_DEC) || type == AtomType_U32);
    }
}

bool machine_bind_atomic(Bind *bind, MemSpace space, uint32_t op, uint32_t type, uint32_t e, bool desc,
                         uint32_t stride) {
    static const uint8_t shift[4] = {0, 2, 3, 4};
    Dec *dec = bind->d;
    unsigned size = isa_access_bytes(bind->in);
    const Operand *src = bind->in->src;
    bind->width[0] = space != MS_SHARED && (src[0].mods & OPM_WIDE64) ? WIDTH_U64 : WIDTH_32;
    bind->width[1] = space == MS_SHARED ? WIDTH_32 : WIDTH_U64;
    bind->width[2] = bind->width[3] = size == 8 ? WIDTH_U64 : WIDTH_32;
    bind->vector_slots = 1u << 1;
    bind_operands(bind);
    bool has_ur = !desc && src[1].kind == OPK_REG && src[1].value != REG_URZ;
    dec->size = (uint8_t)size;
    dec->wide = bind->width[0] == WIDTH_U64;
    dec->mem.uniform = !has_ur ? 0 : e ? 2 : 1;
    dec->mem.wide = e;
    dec->mem.shift = shift[stride & 3];
    dec->mem.op = op;
    dec->mem.type = elements[type].type;
    dec->mem.element_bytes = elements[type].bytes;
    dec->mem.refused =
        space == MS_GENERIC && dec->optype != OT_RED && isa_target_info(bind->run->bin->target)->atom_refuses
            ? refused_places(op, type)
            : 0;
    dec->target = (int64_t)(int32_t)dec->imm[0];
    dec->imm[1] = space;
    dec->full = dec->part = op_atomic;
    if (op < OP_CAS && !has_operation(op, dec->mem.type))
        return bind_fail(bind, "no such atomic operation");
    return !bind->failed;
}
#define BIND_ATOM(name, space, E, DESC, STRIDE)                                                              \
    bool bind_##name(Bind *b) {                                                                              \
        uint32_t m = b->in->mods, type = MGET(name, type, m);                                                \
        return type >= sizeof elements / sizeof *elements                                                    \
                   ? bind_fail(b, "undefined type")                                                          \
                   : machine_bind_atomic(b, space, MGET(name, op, m), type, E, DESC, STRIDE);                \
    }
BIND_ATOM(ATOMG, MS_GLOBAL, MGET(ATOMG, e, m), MGET(ATOMG, desc, m), 0)
BIND_ATOM(ATOM, MS_GENERIC, MGET(ATOM, e, m), MGET(ATOM, desc, m), 0)
BIND_ATOM(RED, MS_GENERIC, MGET(RED, e, m), MGET(RED, desc, m), 0)
BIND_ATOM(ATOMS, MS_SHARED, 0, false, MGET(ATOMS, stride, m))

#define BIND_CAS(name, space, E, STRIDE, MODE)                                                               \
    bool bind_##name(Bind *b) {                                                                              \
        uint32_t m = b->in->mods, type = MGET(name, type, m);                                                \
        if (type != CasType_U32 && type != CasType_U64 && (type != CasType_B128 || (MODE) != OP_CAS))        \
            return bind_fail(b, "undefined type");                                                           \
        return machine_bind_atomic(b, space, MODE, type == CasType_B128 ? AtomType_B128 : type, E, false,    \
                                   STRIDE);                                                                  \
    }
BIND_CAS(ATOMG_CAS, MS_GLOBAL, MGET(ATOMG_CAS, e, m), 0, OP_CAS)
BIND_CAS(ATOM_CAS, MS_GENERIC, MGET(ATOM_CAS, e, m), 0,
         MGET(ATOM_CAS, mode, m) == CasMode_CAST_SPIN ? OP_CAST_SPIN : OP_CAS)
BIND_CAS(ATOMS_CAS, MS_SHARED, 0, MGET(ATOMS_CAS, stride, m),
         MGET(ATOMS_CAS, mode, m) == CasMode_CAST_SPIN ? OP_CAST_SPIN : OP_CAS)

static int qspc(Warp *warp, Dec *dec, uint32_t g) {
    /* D: shared memory of the cluster */
    uint32_t in = 0, *r = dec_dst(warp, dec, 0);
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        uint64_t a = machine_mem_address(warp, dec, lane);
        uint64_t own = SIM_SHARED_WINDOW + (warp->cta ? warp->cta->rank : 0) * SIM_WINDOW_BYTES;
        uint32_t space = a - own < SIM_WINDOW_BYTES                  ? QspcSpace_S
                         : a - SIM_SHARED_WINDOW < SIM_CLUSTER_BYTES ? QspcSpace_D
                         : a - SIM_LOCAL_WINDOW < SIM_WINDOW_BYTES   ? QspcSpace_L
                                                                     : QspcSpace_G;
        bool is = (space == dec->mem.op || (space == QspcSpace_S && dec->mem.op == QspcSpace_D)) &&
                  a - SIM_CONST_WINDOW >= SIM_WINDOW_BYTES;
        in |= (uint32_t)is << lane;
        r[lane] = is;
    }
    set_pred(warp, dec->pd[0], g, in);
    return RUN_OK;
}
bool bind_QSPC(Bind *bind) {
    Dec *dec = bind->d;
    uint32_t m = bind->in->mods;
    bind->width[0] = bind->in->src[0].mods & OPM_WIDE64 ? WIDTH_U64 : WIDTH_32;
    bind->width[1] = WIDTH_U64;
    bind->vector_slots = 1u << 1;
    bind_operands(bind);
    const Operand *ur = &bind->in->src[QSPC_urb];
    dec->wide = bind->width[0] == WIDTH_U64;
    dec->mem.uniform = ur->kind != OPK_REG || ur->value == REG_URZ ? 0 : MGET(QSPC, e, m) ? 2 : 1;
    dec->mem.wide = MGET(QSPC, e, m);
    dec->mem.op = MGET(QSPC, space, m);
    dec->target = (int64_t)(int32_t)dec->imm[0];
    dec->full = dec->part = qspc;
    return !bind->failed;
}
