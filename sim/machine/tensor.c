/* Copies of tensors (UTMALDG, UTMASTG, UTMAREDG): a box of a tensor in global memory, described by a map
 * (sim/tensormap.h), from or to shared memory, where it lies densely, its innermost dimension first.
 *
 * A copy is done when it is issued, element after element. An element that is outside of the tensor is loaded
 * as zero or NaN and not stored. Where the map swizzles, the 16 bytes at an address of shared memory lie at
 * that address with bits 4 to 4 + n - 1 changed by bits 7 to 7 + n - 1, n = 1, 2, 3 for 32, 64, 128 bytes.
 * im2col walks the pixels of the box between the map's corners, from the coordinates on, and looks at each
 * with the offsets added; every pixel gives its channels.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include "sim/tensormap.h"
#include <string.h>

typedef struct {
    SimTensorMap map;
    int64_t at[SIM_TENSOR_DIMS];      /* coordinates of the current element, offsets apart */
    int64_t from[SIM_TENSOR_DIMS];    /* where each dimension begins: tiles */
    uint32_t offset[SIM_TENSOR_DIMS]; /* im2col */
    uint32_t index[SIM_TENSOR_DIMS]; /* tiles: number of the element in each dimension; im2col: [0] channel */
    uint32_t shared;                 /* address of the next element, before swizzling */
    uint32_t elements;
    unsigned bytes; /* of an element */
} Walk;

static uint32_t tile_count(const SimTensorMap *map, unsigned dim) {
    return dim == 0 ? map->box[0] : ((uint32_t)map->box[dim] + map->step[dim] - 1u) / map->step[dim];
}

static const char *wrong_map(const SimTensorMap *map, unsigned rank, bool im2col) {
    if (map->magic != SIM_TENSOR_MAGIC || !sim_tensor_element_bytes(map->type) || map->swizzle > 3)
        return "is no tensor map";
    for (unsigned i = 0; i < rank; i++)
        if (!map->step[i])
            return "is no tensor map";
    if (map->rank != rank)
        return "is a tensor map of another number of dimensions";
    return !map->im2col == !im2col ? NULL : "is a tensor map of the other mode";
}

/* Of a parameter that of its place in the constant bank counts. */
static bool map_is_aligned(const Warp *warp, uint64_t address) {
    uint64_t offset = address - SIM_PARAM_WINDOW;
    if (offset < warp->run->launch->param_bytes)
        address = warp->run->kernel->param_base + offset;
    return address % SIM_TENSOR_ALIGN == 0;
}

static int read_map(Warp *warp, Dec *dec, unsigned lane, uint64_t address, SimTensorMap *map) {
    enum { PIECE = 16 };
    if (!map_is_aligned(warp, address))
        return machine_trap_address(warp, dec, lane, TRAP_MISALIGNED, address, "a tensor map");
    uint32_t words[TENSOR_WORDS];
    for (unsigned i = 0; i < SIM_TENSOR_BYTES; i += PIECE) {
        MemRef ref;
        int status = machine_mem_ref(warp, dec, lane, MS_GENERIC, address + i, PIECE, false, &ref);
        if (status != RUN_OK)
            return status;
        machine_mem_load(warp, lane, &ref, PIECE, (uint8_t *)words + i);
    }
    *map = sim_tensor_decode(words);
    return RUN_OK;
}

static void unpack_offsets(Walk *walk, uint32_t packed) {
    unsigned n = walk->map.rank - 2u, bits = n == 1 ? 16 : n == 2 ? 8 : 5;
    for (unsigned i = 0; i < n; i++)
        walk->offset[1 + i] = packed >> (bits * i) & ((1u << bits) - 1);
}

/* coordinates: one row of the warp's registers each */
static void begin(Walk *walk, const uint32_t *coordinates, uint32_t shared) {
    walk->bytes = sim_tensor_element_bytes(walk->map.type);
    walk->shared = shared;
    walk->elements = walk->map.im2col ? (uint32_t)walk->map.channels * walk->map.pixels : 1;
    for (unsigned i = 0; i < walk->map.rank; i++) {
        walk->at[i] = walk->from[i] = (int32_t)coordinates[(size_t)32 * i];
        if (!walk->map.im2col)
            walk->elements *= tile_count(&walk->map, i);
    }
}

static void next_pixel(Walk *walk) {
    unsigned rank = walk->map.rank;
    for (unsigned i = 1; i + 1 < rank; i++) {
        walk->at[i] += walk->map.step[i];
        if (walk->at[i] <= (int64_t)walk->map.size[i] - 1 + walk->map.upper[i - 1])
            return;
        walk->at[i] = walk->map.lower[i - 1];
    }
    walk->at[rank - 1]++;
}

static void next_element(Walk *walk) {
    walk->shared += walk->bytes;
    if (walk->map.im2col) {
        walk->at[0]++;
        if (++walk->index[0] < walk->map.channels)
            return;
        walk->index[0] = 0;
        walk->at[0] = walk->from[0];
        next_pixel(walk);
        return;
    }
    for (unsigned i = 0; i < walk->map.rank; i++) {
        walk->at[i] += i ? walk->map.step[i] : 1;
        if (++walk->index[i] < tile_count(&walk->map, i))
            return;
        walk->index[i] = 0;
        walk->at[i] = walk->from[i];
    }
}

static uint32_t swizzled(const Walk *walk) {
    uint32_t mask = (1u << walk->map.swizzle) - 1;
    return walk->shared ^ (walk->shared >> 7 & mask) << 4;
}

/* Where the element is in global memory; false: it is not of the tensor. */
static bool tensor_place(const Walk *walk, uint64_t *address) {
    *address = walk->map.address;
    for (unsigned i = 0; i < walk->map.rank; i++) {
        int64_t x = walk->at[i] + walk->offset[i];
        if (x < 0 || x >= (int64_t)walk->map.size[i])
            return false;
        *address += (uint64_t)x * (i ? walk->map.stride[i - 1] : walk->bytes);
    }
    return true;
}

static void fill(const Walk *walk, uint8_t data[8]) {
    uint64_t bits = walk->map.nan_fill ? 0x7ff77ff77ff77ff7 : 0; /* of all types, on an H100 */
    memcpy(data, &bits, 8);
}

/* What is wrong with where a copy begins: an H100 stops with an illegal instruction. */
static const char *wrong_begin(const Walk *walk, bool stores) {
    const SimTensorMap *map = &walk->map;
    if ((uint64_t)walk->from[0] * walk->bytes & 15)
        return "coordinate 0 is no multiple of 16 bytes";
    for (unsigned i = 0; stores && i < map->rank; i++)
        if (walk->from[i] < 0)
            return "a coordinate of a store is negative";
    for (unsigned i = 1; map->im2col && i + 1u < map->rank; i++) {
        int64_t last = (int64_t)map->size[i] - 1 + map->upper[i - 1];
        if (walk->from[i] < map->lower[i - 1] || walk->from[i] > last)
            return "the first pixel is not in the box";
    }
    return NULL;
}

static int load_box(Warp *warp, Dec *dec, unsigned lane, Walk walk) {
    for (uint32_t n = 0; n < walk.elements; n++, next_element(&walk)) {
        uint8_t data[8];
        uint64_t from;
        MemRef ref;
        int status = RUN_OK;
        if (tensor_place(&walk, &from)) {
            status = machine_mem_ref(warp, dec, lane, MS_GLOBAL, from, walk.bytes, false, &ref);
            if (status == RUN_OK)
                machine_mem_load(warp, lane, &ref, walk.bytes, data);
        } else {
            fill(&walk, data);
        }
        if (status == RUN_OK)
            status = machine_mem_ref(warp, dec, lane, MS_CLUSTER, swizzled(&walk), walk.bytes, true, &ref);
        if (status != RUN_OK)
            return status;
        machine_async_write(warp, lane, &ref, walk.bytes, data);
    }
    return RUN_OK;
}

/* Of floating point, f16 and bf16 are reduced in pairs, of which the other is nothing here. */
static void reduce_element(Warp *warp, unsigned lane, const MemRef *ref, const Walk *walk, unsigned op,
                           const uint8_t data[8]) {
    static const uint8_t types[SIM_TENSOR_TYPES] = {
        [SIM_TENSOR_U32] = AtomType_U32,   [SIM_TENSOR_S32] = AtomType_S32,
        [SIM_TENSOR_U64] = AtomType_U64,   [SIM_TENSOR_S64] = AtomType_S64,
        [SIM_TENSOR_F16] = AtomType_F16x2, [SIM_TENSOR_BF16] = AtomType_BF16x2,
        [SIM_TENSOR_F32] = AtomType_F32,   [SIM_TENSOR_F64] = AtomType_F64};
    uint64_t x = 0;
    memcpy(&x, data, walk->bytes);
    machine_atom_apply(warp, lane, ref, walk->bytes, op, types[walk->map.type], x, false);
}

static bool can_reduce(unsigned type, unsigned op) {
    bool is_float = type >= SIM_TENSOR_F16;
    return type >= SIM_TENSOR_U32 && (!is_float || op == AtomOp_ADD) &&
           ((op != AtomOp_INC && op != AtomOp_DEC) || type == SIM_TENSOR_U32);
}

static int store_box(Warp *warp, Dec *dec, unsigned lane, Walk walk, bool reduces) {
    for (uint32_t n = 0; n < walk.elements; n++, next_element(&walk)) {
        uint8_t data[8];
        uint64_t to;
        MemRef ref;
        if (!tensor_place(&walk, &to))
            continue;
        int status = machine_mem_ref(warp, dec, lane, MS_CLUSTER, swizzled(&walk), walk.bytes, false, &ref);
        if (status != RUN_OK)
            return status;
        machine_mem_load(warp, lane, &ref, walk.bytes, data);
        status = machine_mem_ref(warp, dec, lane, MS_GLOBAL, to, walk.bytes, true, &ref);
        if (status != RUN_OK)
            return status;
        if (reduces)
            reduce_element(warp, lane, &ref, &walk, dec->mem.op, data);
        else
            machine_async_write(warp, lane, &ref, walk.bytes, data);
    }
    return RUN_OK;
}

/* dec->mem.type: dimensions; shift: for several blocks; kind: im2col */
static int prepare(Warp *warp, Dec *dec, unsigned lane, Walk *walk, uint32_t shared) {
    enum { SHARED_ALIGN = 128 };
    const uint32_t *map = dec_src(warp, dec, 1);
    uint64_t address = (uint64_t)map[32] << 32 | map[0];
    int status = read_map(warp, dec, lane, address, &walk->map);
    if (status != RUN_OK)
        return status;
    const char *wrong = wrong_map(&walk->map, dec->mem.type, dec->mem.kind != 0);
    if (wrong)
        return machine_trap_address(warp, dec, lane, TRAP_OUT_OF_RANGE, address, wrong);
    if (shared % SHARED_ALIGN)
        return machine_trap_address(warp, dec, lane, TRAP_MISALIGNED, shared, "a tensor in shared memory");
    return RUN_OK;
}

static int op_load(Warp *warp, Dec *dec, uint32_t g) {
    if (!g)
        return RUN_OK;
    unsigned lane = low_lane(g);
    const uint32_t *to = dec_src(warp, dec, 0), *how = dec_src(warp, dec, 2);
    Walk walk = {0};
    int status = prepare(warp, dec, lane, &walk, to[0]);
    if (status != RUN_OK)
        return status;
    if (dec->mem.kind)
        unpack_offsets(&walk, how[0] & 0xffff);
    begin(&walk, to + 64, to[0]);
    const char *wrong = wrong_begin(&walk, false);
    if (wrong)
        return machine_trap_address(warp, dec, lane, TRAP_OUT_OF_RANGE, walk.map.address, wrong);
    uint32_t within = (uint32_t)SIM_WINDOW_BYTES - 1, blocks = dec->mem.shift ? how[0] >> 16 : 1;
    for (; status == RUN_OK && blocks; blocks &= blocks - 1) { /* the same offsets in each */
        uint32_t base = low_lane(blocks) * (uint32_t)SIM_WINDOW_BYTES, object = to[32];
        if (dec->mem.shift) {
            walk.shared = base + (to[0] & within);
            object = base + (to[32] & within);
        }
        status = load_box(warp, dec, lane, walk);
        if (status == RUN_OK)
            status = machine_async_complete(warp, dec, lane, object, walk.elements * walk.bytes);
    }
    return status;
}

static int op_store(Warp *warp, Dec *dec, uint32_t g) {
    if (!g)
        return RUN_OK;
    unsigned lane = low_lane(g);
    const uint32_t *from = dec_src(warp, dec, 0);
    Walk walk = {0};
    int status = prepare(warp, dec, lane, &walk, from[0]);
    if (status != RUN_OK)
        return status;
    bool reduces = dec->optype == OT_UTMAREDG;
    if (reduces && !can_reduce(walk.map.type, dec->mem.op))
        return machine_trap_address(warp, dec, lane, TRAP_OUT_OF_RANGE, walk.map.address,
                                    "this reduction has no such elements");
    begin(&walk, from + 32, from[0]);
    const char *wrong = wrong_begin(&walk, true);
    if (wrong)
        return machine_trap_address(warp, dec, lane, TRAP_OUT_OF_RANGE, walk.map.address, wrong);
    return store_box(warp, dec, lane, walk, reduces);
}

static bool copies(Bind *bind, OpFn *fn, uint32_t dims, uint32_t im2col) {
    bind->width[1] = WIDTH_U64;
    bind_operands(bind);
    bind->d->mem.type = dims + 1;
    bind->d->mem.kind = im2col;
    bind->d->full = bind->d->part = fn;
    return dims < SIM_TENSOR_DIMS && !(im2col && dims < 2) ? !bind->failed : bind_not_simulated(bind);
}
bool bind_UTMALDG(Bind *bind) {
    uint32_t mods = bind->in->mods;
    bind->d->mem.shift = MGET(UTMALDG, multicast, mods);
    return copies(bind, op_load, MGET(UTMALDG, dim, mods), MGET(UTMALDG, im2col, mods));
}
bool bind_UTMASTG(Bind *bind) {
    return copies(bind, op_store, MGET(UTMASTG, dim, bind->in->mods), MGET(UTMASTG, im2col, bind->in->mods));
}
bool bind_UTMAREDG(Bind *bind) {
    bind->d->mem.op = MGET(UTMAREDG, op, bind->in->mods);
    return copies(bind, op_store, MGET(UTMAREDG, dim, bind->in->mods),
                  MGET(UTMAREDG, im2col, bind->in->mods));
}
