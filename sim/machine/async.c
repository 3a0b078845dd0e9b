/* Asynchronous operations: objects of mbarrier (SYNCS, ARRIVES, ATOMS.ARRIVE before sm_90), copies and
 * reductions in bulk (UBLKCP, UBLKRED), stores that complete bytes (STAS, REDAS), and RPCMOV, which ptxas
 * computes tokens with.
 *
 * A copy is done when it is issued, one of the moments that the hardware may choose; then its bytes are
 * complete at the object. An object of sm_90 is (docs/ptx.md): parity of the phase in bit 63, 2^20 less the
 * pending arrivals from bit 43 on, bytes to come from bit 22 on, 2^20 less the arrivals of each phase from
 * bit 1 on. Shared memory is addressed in the cluster; a uniform operation happens once for the lanes that
 * execute it.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include <string.h>

enum { BULK_STEP = 16, OBJECT_BYTES = 8 };
#define COUNT_BITS 0xfffffull
#define BYTES_BITS 0x1fffffull

typedef struct { /* what one operation does to an object, all at once */
    uint32_t arrivals, dropped, bytes;
} Step;

static uint64_t stepped(uint64_t object, Step step) {
    uint64_t each = ((object >> 1) + step.dropped) & COUNT_BITS,
             left = ((object >> 43) + step.arrivals) & COUNT_BITS,
             bytes = ((object >> 22) + step.bytes) & BYTES_BITS, parity = object >> 63;
    if (left == 0 && bytes == 0) {
        parity ^= 1;
        left = each;
    }
    return parity << 63 | left << 43 | bytes << 22 | each << 1;
}

static void mark_written(const MemRef *ref, unsigned size_bytes) {
    if (ref->owner && ref->owner->shared_written)
        memset(ref->owner->shared_written + ref->offset, 1, size_bytes);
}

/* Write `size_bytes` at a place of shared or global memory. */
void machine_async_write(Warp *warp, unsigned lane, const MemRef *ref, unsigned size_bytes,
                         const void *data) {
    machine_mem_store(warp, lane, ref, size_bytes, data);
    mark_written(ref, size_bytes);
}

static int object_ref(Warp *warp, Dec *dec, unsigned lane, uint64_t address, MemRef *ref) {
    return machine_mem_ref(warp, dec, lane, MS_CLUSTER, address, OBJECT_BYTES, true, ref);
}

static int step_object(Warp *warp, Dec *dec, unsigned lane, uint64_t address, Step step, uint64_t *old) {
    MemRef ref;
    int status = object_ref(warp, dec, lane, address, &ref);
    if (status != RUN_OK)
        return status;
    machine_mem_load(warp, lane, &ref, OBJECT_BYTES, old);
    uint64_t now = stepped(*old, step);
    machine_async_write(warp, lane, &ref, OBJECT_BYTES, &now);
    return RUN_OK;
}

int machine_async_complete(Warp *warp, Dec *dec, unsigned lane, uint32_t object, uint32_t bytes) {
    uint64_t old;
    return step_object(warp, dec, lane, object, (Step){.bytes = 0 - bytes}, &old);
}

/* ---- SYNCS ---- */

/* Slots ra, urb, offset, and perhaps rb. */
static bool bind_object(Bind *bind, OpFn *fn) {
    Dec *dec = bind->d;
    bind_operands(bind);
    dec->size = OBJECT_BYTES;
    dec->mem.uniform = bind->in->src[1].kind == OPK_REG && bind->in->src[1].value != REG_URZ;
    dec->target = (int64_t)(int32_t)dec->imm[0];
    dec->imm[1] = MS_CLUSTER;
    dec->full = dec->part = fn;
    return !bind->failed;
}

static Step arrive_step(uint32_t count, uint32_t n, bool optout) {
    Step step = {.arrivals = count == SyncsCount_ART0                               ? n
                             : count == SyncsCount_A1TR || count == SyncsCount_A1T0 ? 1
                                                                                    : 0,
                 .bytes = count == SyncsCount_A1TR || count == SyncsCount_A0TR ? n
                          : count == SyncsCount_A0TX                           ? 0 - n
                                                                               : count == SyncsCount_A0T1};
    step.dropped = optout ? step.arrivals : 0;
    return step;
}

/* .TMASK: a lane gets the high word as it was before all lanes that arrive at the same object, and their
 * mask. */
static int op_arrive(Warp *warp, Dec *dec, uint32_t g) {
    uint64_t at[32], old[32];
    const uint32_t *n = dec_src(warp, dec, 2);
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        at[lane] = machine_mem_address(warp, dec, lane);
        Step step = arrive_step(dec->mem.op, n[lane], dec->mem.type);
        int status = step_object(warp, dec, lane, at[lane], step, &old[lane]);
        if (status != RUN_OK)
            return status;
    }
    uint32_t *r = dec_dst(warp, dec, 0);
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m), first = lane;
        uint32_t same = 0;
        for (uint32_t k = g; dec->mem.kind && k; k &= k - 1)
            same |= (uint32_t)(at[low_lane(k)] == at[lane]) << low_lane(k);
        if (same)
            first = low_lane(same);
        r[lane] = same ? same : (uint32_t)old[lane];
        r[32 + lane] = (uint32_t)(old[first] >> 32);
    }
    return RUN_OK;
}
bool bind_SYNCS_ARRIVE(Bind *bind) {
    uint32_t mods = bind->in->mods;
    bind->d->mem.op = MGET(SYNCS_ARRIVE, count, mods);
    bind->d->mem.type = MGET(SYNCS_ARRIVE, optout, mods);
    bind->d->mem.kind = MGET(SYNCS_ARRIVE, tmask, mods);
    return bind_object(bind, op_arrive);
}

/* Is the phase complete whose parity is the word's highest bit? */
static int op_phasechk(Warp *warp, Dec *dec, uint32_t g) {
    const uint32_t *phase = dec_src(warp, dec, 2);
    uint32_t complete = 0;
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        MemRef ref;
        uint64_t object;
        int status = machine_mem_ref(warp, dec, lane, MS_CLUSTER, machine_mem_address(warp, dec, lane),
                                     OBJECT_BYTES, false, &ref);
        if (status != RUN_OK)
            return status;
        machine_mem_load(warp, lane, &ref, OBJECT_BYTES, &object);
        complete |= ((uint32_t)(object >> 63) ^ phase[lane] >> 31) << lane;
    }
    set_pred(warp, dec->pd[0], g, complete);
    return RUN_OK;
}
bool bind_SYNCS_PHASECHK(Bind *bind) { return bind_object(bind, op_phasechk); }

static int op_exch(Warp *warp, Dec *dec, uint32_t g) {
    if (!g)
        return RUN_OK;
    unsigned lane = low_lane(g);
    const uint32_t *a = dec_src(warp, dec, 0), *v = dec_src(warp, dec, 1);
    uint64_t old, now = (uint64_t)v[32] << 32 | v[0];
    MemRef ref;
    int status = object_ref(warp, dec, lane, a[0] + dec->imm[0], &ref);
    if (status != RUN_OK)
        return status;
    machine_mem_load(warp, lane, &ref, OBJECT_BYTES, &old);
    machine_async_write(warp, lane, &ref, OBJECT_BYTES, &now);
    uint32_t *r = dec_dst(warp, dec, 0);
    for (unsigned i = 0; i < 32; i++) {
        r[i] = (uint32_t)old;
        r[32 + i] = (uint32_t)(old >> 32);
    }
    return RUN_OK;
}
bool bind_SYNCS_EXCH(Bind *bind) {
    bind->width[1] = WIDTH_U64;
    bind_operands(bind);
    bind->d->full = bind->d->part = op_exch;
    return !bind->failed;
}

static int op_arrives(Warp *warp, Dec *dec, uint32_t g) {
    machine_copies_finish(warp, g);
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        uint64_t old;
        Step step = {.arrivals = dec->mem.op == CopiesArrive_ARVCNT,
                     .bytes = dec->mem.op == CopiesArrive_TRANSCNT ? ~0u : 0};
        int status = step_object(warp, dec, lane, machine_mem_address(warp, dec, lane), step, &old);
        if (status != RUN_OK)
            return status;
    }
    return RUN_OK;
}
bool bind_ARRIVES(Bind *bind) {
    bind->d->mem.op = MGET(ARRIVES, count, bind->in->mods);
    return bind->d->mem.op == CopiesArrive_NONE ? bind_not_simulated(bind) : bind_object(bind, op_arrives);
}

/* ---- before sm_90 ----
 * What ptxas 13.0 stores for mbarrier.init with n arrivals is 2^30 - n in the low word and 2^31 - n in the
 * high one. An arrival adds one to the high word; bit 31 is the phase, and pending_count 2^31 less the bits
 * below it. The last arrival carries into the phase, and the count starts again from the low word, to which
 * arrive_drop adds one before it arrives (ATOMS.POPC.INC); .noComplete adds to the high word (ATOMS.ADD). */
static int op_arrive_old(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t rows[2][32], *r = dec_dst(warp, dec, 0);
    bool has_result = dec->mem.type;
    if (!has_result)
        machine_copies_finish(warp, g);
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        uint32_t words[2];
        MemRef ref;
        int status = machine_mem_ref(warp, dec, lane, (MemSpace)dec->imm[1],
                                     machine_mem_address(warp, dec, lane), OBJECT_BYTES, true, &ref);
        if (status != RUN_OK)
            return status;
        machine_mem_load(warp, lane, &ref, OBJECT_BYTES, words);
        rows[0][lane] = words[0];
        rows[1][lane] = words[1]++;
        if (!(words[1] & 0x7fffffff))
            words[1] |= (0x40000000 + words[0]) & 0x7fffffff;
        machine_async_write(warp, lane, &ref, OBJECT_BYTES, words);
    }
    for (uint32_t m = has_result ? g : 0; m; m &= m - 1) { /* which may lie where others have addresses */
        unsigned lane = low_lane(m);
        r[lane] = rows[0][lane];
        r[32 + lane] = rows[1][lane];
    }
    return RUN_OK;
}
bool bind_ARRIVES_ONE(Bind *bind) { return bind_object(bind, op_arrive_old); }
bool bind_ATOMS_ARRIVE(Bind *bind) {
    uint32_t stride = MGET(ATOMS_ARRIVE, stride, bind->in->mods);
    bind->d->mem.type = 1;
    bind->d->mem.shift = stride ? stride + 1 : 0; /* X4 X8 X16 */
    return bind_object(bind, op_arrive_old);
}

/* A count at a generic address; whether it was done, which the predicate says, it always is. */
static bool bind_generic(Bind *bind, OpFn *fn, unsigned size_bytes, bool e) {
    Dec *dec = bind->d;
    const Operand *src = bind->in->src, *done = &bind->in->dst[1];
    if (done->kind == OPK_REG && done->value != REG_PT)
        return bind_not_simulated(bind);
    bind->width[0] = src[0].mods & OPM_WIDE64 ? WIDTH_U64 : WIDTH_32;
    bind->width[1] = WIDTH_U64;
    bind->vector_slots = 1u << 1;
    bind_operands(bind);
    dec->size = (uint8_t)size_bytes;
    dec->wide = bind->width[0] == WIDTH_U64;
    dec->mem.uniform = src[1].kind != OPK_REG || src[1].value == REG_URZ ? 0 : e ? 2 : 1;
    dec->mem.wide = e;
    dec->target = (int64_t)(int32_t)dec->imm[0];
    dec->imm[1] = MS_GENERIC;
    dec->full = dec->part = fn;
    return !bind->failed;
}
bool bind_ATOM_ARRIVE(Bind *bind) {
    bind->d->mem.type = 1;
    return bind_generic(bind, op_arrive_old, OBJECT_BYTES, MGET(ATOM_ARRIVE, e, bind->in->mods));
}
static int op_generic_inc(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t *r = dec_dst(warp, dec, 0);
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        uint32_t word, more;
        MemRef ref;
        int status = machine_mem_ref(warp, dec, lane, MS_GENERIC, machine_mem_address(warp, dec, lane),
                                     sizeof word, true, &ref);
        if (status != RUN_OK)
            return status;
        machine_mem_load(warp, lane, &ref, sizeof word, &word);
        more = word + 1;
        machine_async_write(warp, lane, &ref, sizeof more, &more);
        r[lane] = word;
    }
    return RUN_OK;
}
bool bind_ATOM_POPC_INC(Bind *bind) {
    return bind_generic(bind, op_generic_inc, sizeof(uint32_t), MGET(ATOM_POPC_INC, e, bind->in->mods));
}

/* ---- STAS, REDAS: ra is the address of the data, the next register that of the object ---- */

static int op_async_store(Warp *warp, Dec *dec, uint32_t g) {
    const uint32_t *at = dec_src(warp, dec, 0), *u = dec_src(warp, dec, 1), *v = dec_src(warp, dec, 2);
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g), size = dec->size;
        uint32_t data[4] = {0}, address = at[lane] + u[0] + dec->imm[0];
        uint64_t old = 0;
        MemRef ref;
        int status = machine_mem_ref(warp, dec, lane, MS_CLUSTER, address, size, true, &ref);
        if (status != RUN_OK)
            return status;
        for (unsigned k = 0; 4 * k < size; k++)
            data[k] = v[32 * k + lane];
        if (dec->mem.kind) { /* a reduction */
            uint64_t x = size == 8 ? (uint64_t)data[1] << 32 | data[0] : data[0];
            machine_mem_load(warp, lane, &ref, size, &old);
            x = machine_atom_result(dec->mem.op, dec->mem.type, old, x, false);
            memcpy(data, &x, 8);
        }
        machine_async_write(warp, lane, &ref, size, data);
        status = step_object(warp, dec, lane, at[32 + lane], (Step){.bytes = 0 - size}, &old);
        if (status != RUN_OK)
            return status;
    }
    return RUN_OK;
}
static bool async_store(Bind *bind) {
    if (!(bind->in->src[0].mods & OPM_WIDE64))
        return bind_not_simulated(bind);
    bind->width[0] = WIDTH_U64;
    bind_operands(bind);
    bind->d->size = (uint8_t)isa_access_bytes(bind->in);
    bind->d->full = bind->d->part = op_async_store;
    return bind->d->size ? !bind->failed : bind_fail(bind, "undefined access size");
}
bool bind_STAS(Bind *bind) { return async_store(bind); }
bool bind_REDAS(Bind *bind) {
    static const uint8_t types[] = {AtomType_U32, AtomType_S32, AtomType_U64};
    uint32_t type = MGET(REDAS, type, bind->in->mods);
    bind->d->mem.kind = 1;
    bind->d->mem.op = MGET(REDAS, op, bind->in->mods);
    bind->d->mem.type = type < sizeof types ? types[type] : AtomType_U32;
    return async_store(bind);
}

/* ---- bulk ---- */

typedef struct {
    uint64_t to, from;
    MemSpace to_space, from_space;
    uint32_t bytes, red_op, red_type; /* red_type: BulkRedType + 1, 0: a copy */
} Bulk;

static const struct {
    uint8_t type, bytes;
} red_types[] = {[BulkRedType_U32] = {AtomType_U32, 4},     [BulkRedType_S32] = {AtomType_S32, 4},
                 [BulkRedType_U64] = {AtomType_U64, 8},     [BulkRedType_S64] = {AtomType_S64, 8},
                 [BulkRedType_F16] = {AtomType_F16x2, 4},   [BulkRedType_F32] = {AtomType_F32, 4},
                 [BulkRedType_F32_FTZ] = {AtomType_F32, 4}, [BulkRedType_F64] = {AtomType_F64, 8},
                 [BulkRedType_BF16] = {AtomType_BF16x2, 4}};

/* Sixteen bytes of memory become their reductions with these. */
static void reduce(Warp *warp, unsigned lane, const Bulk *bulk, MemRef to, const uint8_t data[BULK_STEP]) {
    unsigned size = red_types[bulk->red_type - 1].bytes;
    for (unsigned i = 0; i < BULK_STEP; i += size) {
        uint64_t x = 0;
        memcpy(&x, data + i, size);
        machine_atom_apply(warp, lane, &to, size, bulk->red_op, red_types[bulk->red_type - 1].type, x,
                           bulk->red_type - 1 == BulkRedType_F32_FTZ);
        to.bytes += size;
        to.offset += size;
    }
}

static int move_bulk(Warp *warp, Dec *dec, unsigned lane, const Bulk *bulk) {
    for (uint32_t i = 0; i < bulk->bytes; i += BULK_STEP) {
        MemRef from, to;
        uint8_t data[BULK_STEP];
        int status =
            machine_mem_ref(warp, dec, lane, bulk->from_space, bulk->from + i, BULK_STEP, false, &from);
        if (status == RUN_OK) {
            machine_mem_load(warp, lane, &from, BULK_STEP, data);
            status = machine_mem_ref(warp, dec, lane, bulk->to_space, bulk->to + i, BULK_STEP, true, &to);
        }
        if (status != RUN_OK)
            return status;
        if (bulk->red_type)
            reduce(warp, lane, bulk, to, data);
        else
            machine_async_write(warp, lane, &to, BULK_STEP, data);
    }
    return RUN_OK;
}

/* Move, then complete the bytes at the object behind the address, where the target is shared memory. */
static int move_and_complete(Warp *warp, Dec *dec, unsigned lane, const Bulk *bulk, uint32_t object) {
    int status = move_bulk(warp, dec, lane, bulk);
    if (status == RUN_OK && bulk->to_space == MS_CLUSTER)
        status = machine_async_complete(warp, dec, lane, object, bulk->bytes);
    return status;
}

static int op_bulk(Warp *warp, Dec *dec, uint32_t g) {
    if (!g)
        return RUN_OK;
    unsigned lane = low_lane(g);
    const uint32_t *to = dec_src(warp, dec, 0), *from = dec_src(warp, dec, 1), *size = dec_src(warp, dec, 2);
    bool to_shared = dec->mem.kind != BulkWay_G_S, from_shared = dec->mem.kind != BulkWay_S_G;
    Bulk bulk = {.to = to_shared ? to[0] : (uint64_t)to[32] << 32 | to[0],
                 .from = from_shared ? from[0] : (uint64_t)from[32] << 32 | from[0],
                 .to_space = to_shared ? MS_CLUSTER : MS_GLOBAL,
                 .from_space = from_shared ? MS_CLUSTER : MS_GLOBAL,
                 .bytes = (size[0] & 0xffff) * BULK_STEP,
                 .red_op = dec->mem.op,
                 .red_type = dec->mem.type};
    if (!dec->mem.shift)
        return move_and_complete(warp, dec, lane, &bulk, to[32]);
    for (uint32_t blocks = size[0] >> 16; blocks; blocks &= blocks - 1) { /* the same offsets in each */
        uint32_t base = low_lane(blocks) * (uint32_t)SIM_WINDOW_BYTES,
                 within = (uint32_t)SIM_WINDOW_BYTES - 1;
        bulk.to = base + (to[0] & within);
        int status = move_and_complete(warp, dec, lane, &bulk, base + (to[32] & within));
        if (status != RUN_OK)
            return status;
    }
    return RUN_OK;
}
static bool bulk(Bind *bind, uint32_t way) {
    if (way < BulkWay_S_G)
        return bind_not_simulated(bind);
    bind->width[0] = WIDTH_U64;
    bind->width[1] = way == BulkWay_S_G ? WIDTH_U64 : WIDTH_32;
    bind_operands(bind);
    bind->d->mem.kind = way;
    bind->d->full = bind->d->part = op_bulk;
    return !bind->failed;
}
bool bind_UBLKCP(Bind *bind) {
    uint32_t mods = bind->in->mods;
    bind->d->mem.shift = MGET(UBLKCP, multicast, mods);
    if (bind->d->mem.shift && MGET(UBLKCP, way, mods) != BulkWay_S_G)
        return bind_not_simulated(bind);
    return bulk(bind, MGET(UBLKCP, way, mods));
}
bool bind_UBLKRED(Bind *bind) {
    uint32_t type = MGET(UBLKRED, type, bind->in->mods), op = MGET(UBLKRED, op, bind->in->mods);
    bool half = type == BulkRedType_F16 || type == BulkRedType_BF16,
         counts = op == AtomOp_INC || op == AtomOp_DEC;
    if (MGET(UBLKRED, way, bind->in->mods) == BulkWay_S_G || type > BulkRedType_BF16 ||
        (half && op != AtomOp_ADD && op != AtomOp_MIN && op != AtomOp_MAX) ||
        (counts && type != BulkRedType_U32))
        return bind_not_simulated(bind);
    if ((type == BulkRedType_F32 || type == BulkRedType_F32_FTZ || type == BulkRedType_F64) &&
        op != AtomOp_ADD)
        return bind_not_simulated(bind);
    bind->d->mem.op = op;
    bind->d->mem.type = type + 1;
    return bulk(bind, MGET(UBLKRED, way, bind->in->mods));
}

static int op_nothing(Warp *warp, Dec *dec, uint32_t g) {
    (void)warp, (void)dec, (void)g;
    return RUN_OK;
}
static bool nothing(Bind *bind) {
    bind_operands(bind);
    bind->d->full = bind->d->part = op_nothing;
    return !bind->failed;
}
bool bind_UBLKPF(Bind *bind) { return nothing(bind); }
bool bind_UTMAPF(Bind *bind) { return nothing(bind); }
bool bind_UTMACCTL(Bind *bind) { return nothing(bind); }
bool bind_UTMACMDFLUSH(Bind *bind) { return nothing(bind); }
bool bind_SYNCS_CCTL(Bind *bind) { return nothing(bind); }

/* ---- RPCMOV ---- */

static int op_rpcmov(Warp *warp, Dec *dec, uint32_t g) {
    bool reads = dec->optype == OT_RPCMOV_FROM;
    uint32_t *word = warp->rpc_words[dec->mem.kind], *r = dec_dst(warp, dec, 0);
    warp->rpc_used = true;
    const uint32_t *v = dec_src(warp, dec, 0);
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        *(reads ? &r[lane] : &word[lane]) = reads ? word[lane] : v[lane];
    }
    return RUN_OK;
}
static bool rpcmov(Bind *bind, uint32_t half) {
    bind_operands(bind);
    bind->d->mem.kind = half == RpcHalf_HI;
    bind->d->full = bind->d->part = op_rpcmov;
    return !bind->failed;
}
bool bind_RPCMOV_TO(Bind *bind) { return rpcmov(bind, MGET(RPCMOV_TO, half, bind->in->mods)); }
bool bind_RPCMOV_FROM(Bind *bind) { return rpcmov(bind, MGET(RPCMOV_FROM, half, bind->in->mods)); }
