/* Tensor copies of the PTX interpreter (PTX ISA 9.7.9.25.5: cp.async.bulk.tensor,
 * cp.reduce.async.bulk.tensor; 5.5 for modes and swizzling) and reductions by bulk copies (9.7.9.25.4.2).
 * They are done at once.
 *
 * A place of a tile is a number for each dimension, taken apart from the element's number in the box; a pixel
 * of im2col is counted off in the box of pixels. In shared memory a line is 128 bytes and a chunk 16: chunk c
 * of line l is at chunk c ^ (l mod 2, 4, 8) when 32, 64, 128 bytes are swizzled.
 * SPDX-License-Identifier: MIT */
#include "frontend/texture.h"
#include "sim/interp/matrix.h"
#include "sim/interp/run.h"
#include "sim/tensormap.h"

enum { LINE_BYTES = 128, CHUNK_BYTES = 16, HALF_MAP = SIM_TENSOR_BYTES / 2, SMALL = 8 };

typedef struct { /* one copy */
    PtxRun *run;
    PtxThread *thread;
    const PtxCode *code;
    SimTensorMap map;
    int64_t first[SIM_TENSOR_DIMS]; /* the statement's coordinates */
    int64_t offset[3];              /* im2col */
    unsigned size;                  /* of an element, in bytes */
    uint32_t count[SIM_TENSOR_DIMS], n;
} Copy;

/* ---- the map ---- */

static bool read_map(Copy *copy) {
    const PtxCode *code = copy->code;
    uint64_t at = interp_arg(copy->run, copy->thread, &code->src[0]) + code->offset;
    uint32_t words[TENSOR_WORDS];
    for (unsigned half = 0; half < 2; half++) {
        const uint8_t *bytes =
            interp_memory(copy->run, copy->thread, code, SP_NONE, at + half * HALF_MAP, HALF_MAP, false);
        if (!bytes)
            return false;
        memcpy((uint8_t *)words + (size_t)half * HALF_MAP, bytes, HALF_MAP);
    }
    copy->map = sim_tensor_decode(words);
    const SimTensorMap *map = &copy->map;
    bool im2col = (code->insn->flags & PF_IM2COL) != 0;
    bool good = map->magic == SIM_TENSOR_MAGIC && map->type < SIM_TENSOR_TYPES && map->swizzle <= 3 &&
                map->rank == code->insn->vec && (map->im2col != 0) == im2col;
    for (unsigned k = 0; good && k < map->rank; k++)
        good = map->step[k] != 0;
    if (!good)
        interp_trap_at(copy->run, copy->thread, code, TRAP_OUT_OF_RANGE, at,
                       "no tensor map of this mode and number of dimensions");
    return good;
}

/* Copies that an H100 takes for illegal instructions, though PTX has no word of it. */
static bool first_is_legal(const Copy *copy, bool stores) {
    const SimTensorMap *map = &copy->map;
    const char *wrong =
        copy->first[0] * copy->size % CHUNK_BYTES ? "coordinate 0 is no multiple of 16 bytes" : NULL;
    for (unsigned k = 0; k < map->rank; k++) {
        if (stores && copy->first[k] < 0)
            wrong = "a coordinate of a store is negative";
        bool pixel = map->im2col && k && k + 1u < map->rank;
        if (pixel && (copy->first[k] < map->lower[k - 1] ||
                      copy->first[k] >= (int64_t)map->size[k] + map->upper[k - 1]))
            wrong = "the first pixel is not in the box";
    }
    if (wrong)
        interp_trap_at(copy->run, copy->thread, copy->code, TRAP_OUT_OF_RANGE, map->address, wrong);
    return !wrong;
}

static bool begin(Copy *copy, bool stores) {
    if (!read_map(copy))
        return false;
    const SimTensorMap *map = &copy->map;
    copy->size = sim_tensor_element_bytes(map->type);
    copy->n = map->im2col ? (uint32_t)map->channels * map->pixels : 1;
    for (unsigned k = 0; k < map->rank; k++) {
        copy->first[k] = (int32_t)interp_arg(copy->run, copy->thread, &copy->code->vec[k]);
        unsigned step = k ? map->step[k] : 1;
        copy->count[k] = (map->box[k] + step - 1) / step;
        if (!map->im2col)
            copy->n *= copy->count[k];
    }
    for (unsigned k = map->rank; k < copy->code->nread; k++)
        copy->offset[k - map->rank] = (uint16_t)interp_arg(copy->run, copy->thread, &copy->code->vec[k]);
    return first_is_legal(copy, stores);
}

/* ---- places ---- */

static void tile_place(const Copy *copy, uint32_t number, int64_t x[]) {
    for (unsigned k = 0; k < copy->map.rank; k++) {
        x[k] = copy->first[k] + (int64_t)(number % copy->count[k]) * (k ? copy->map.step[k] : 1);
        number /= copy->count[k];
    }
}

/* The pixel `number` steps behind the first: `w` runs to the end of its row in the box, then from the begin.
 */
static void pixel_place(const Copy *copy, uint32_t number, int64_t x[]) {
    const SimTensorMap *map = &copy->map;
    int64_t steps = number;
    for (unsigned k = 1; k + 1u < map->rank; k++) {
        int64_t low = map->lower[k - 1], high = (int64_t)map->size[k] - 1 + map->upper[k - 1],
                step = map->step[k], start = copy->first[k];
        int64_t here = start > high ? 1 : (high - start) / step + 1; /* of the first row */
        int64_t row = (high - low) / step + 1, carry = 0;
        if (steps >= here) {
            carry = 1 + (steps - here) / row;
            x[k] = low + (steps - here) % row * step;
        } else {
            x[k] = start + steps * step;
        }
        steps = carry;
    }
    x[map->rank - 1] = copy->first[map->rank - 1] + steps;
}

/* The element's address in global memory, 0 where the tensor has none. */
static uint64_t global_place(const Copy *copy, uint32_t number) {
    const SimTensorMap *map = &copy->map;
    int64_t x[SIM_TENSOR_DIMS] = {0};
    if (map->im2col) {
        pixel_place(copy, number / map->channels, x);
        x[0] = copy->first[0] + number % map->channels;
        for (unsigned k = 1; k + 1u < map->rank; k++)
            x[k] += copy->offset[k - 1];
    } else {
        tile_place(copy, number, x);
    }
    uint64_t at = map->address + (uint64_t)x[0] * copy->size;
    bool there = true;
    for (unsigned k = 0; k < map->rank; k++) {
        there &= x[k] >= 0 && x[k] < (int64_t)map->size[k];
        at += k ? (uint64_t)x[k] * map->stride[k - 1] : 0;
    }
    return there ? at : 0;
}

static uint64_t shared_place_of(const Copy *copy, uint64_t base, uint32_t number) {
    uint64_t at = base + (uint64_t)number * copy->size;
    uint64_t line = at / LINE_BYTES % (1u << copy->map.swizzle), chunk = at / CHUNK_BYTES % SMALL;
    return at - chunk * CHUNK_BYTES + (chunk ^ line) * CHUNK_BYTES;
}

static bool starts_well(const Copy *copy, uint64_t shared) {
    if (shared % LINE_BYTES)
        interp_trap_at(copy->run, copy->thread, copy->code, TRAP_MISALIGNED, shared,
                       "a tensor in shared memory");
    return shared % LINE_BYTES == 0;
}

/* ---- loads ---- */

static void missing(const Copy *copy, uint8_t bytes[SMALL]) {
    for (unsigned i = 0; i < SMALL; i += 2) { /* whatever the type: an H100's */
        bytes[i] = copy->map.nan_fill ? 0xf7 : 0;
        bytes[i + 1] = copy->map.nan_fill ? 0x7f : 0;
    }
}

static bool load_into(const Copy *copy, uint64_t base) {
    for (uint32_t i = 0; i < copy->n; i++) {
        uint8_t bytes[SMALL];
        uint64_t from = global_place(copy, i);
        missing(copy, bytes);
        if (from) {
            const uint8_t *source =
                interp_memory(copy->run, copy->thread, copy->code, SP_GLOBAL, from, copy->size, false);
            if (!source)
                return false;
            interp_race_load(copy->run, copy->thread, copy->code);
            memcpy(bytes, source, copy->size);
        }
        uint8_t *target = interp_memory(copy->run, copy->thread, copy->code, SP_SHARED_CLUSTER,
                                        shared_place_of(copy, base, i), copy->size, true);
        if (!target)
            return false;
        interp_race_store(copy->run, copy->thread, copy->code, target, bytes);
        memcpy(target, bytes, copy->size);
    }
    return true;
}

static PtxStep exec_load(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    Copy copy = {.run = run, .thread = thread, .code = code};
    uint64_t to = (uint32_t)(interp_arg(run, thread, &code->src[1]) + code->offset2),
             object = (uint32_t)(interp_arg(run, thread, &code->src[2]) + code->offset3);
    bool several = (code->insn->flags & PF_MULTICAST) != 0;
    uint32_t blocks = several ? (uint16_t)interp_arg(run, thread, &code->src[3]) : 1;
    if (!begin(&copy, false) || !starts_well(&copy, to))
        return STEP_STOP;
    for (unsigned rank = 0; blocks; rank++, blocks >>= 1) {
        uint64_t other = rank * SIM_WINDOW_BYTES;
        if (!(blocks & 1))
            continue;
        if (!load_into(&copy, several ? other + to % SIM_WINDOW_BYTES : to) ||
            !interp_complete_bytes(run, thread, code, several ? other + object % SIM_WINDOW_BYTES : object,
                                   copy.n * copy.size))
            return STEP_STOP;
    }
    return STEP_YIELD;
}

/* ---- stores and reductions ---- */

static const uint8_t ptx_types[SIM_TENSOR_TYPES] = {
    [SIM_TENSOR_U8] = TY_U8,   [SIM_TENSOR_U16] = TY_U16,   [SIM_TENSOR_U32] = TY_U32,
    [SIM_TENSOR_S32] = TY_S32, [SIM_TENSOR_U64] = TY_U64,   [SIM_TENSOR_S64] = TY_S64,
    [SIM_TENSOR_F16] = TY_F16, [SIM_TENSOR_BF16] = TY_BF16, [SIM_TENSOR_F32] = TY_F32,
    [SIM_TENSOR_F64] = TY_F64};

/* Which reductions of what: those that red has. */
static bool reduces(unsigned atom, unsigned type) {
    PtxTypeClass class = ptx_type_class((PtxType)type);
    if (ptx_type_bytes((PtxType)type) < 4 && class != TC_FLOAT)
        return false;
    return class == TC_FLOAT ? atom == ATOM_ADD : (atom != ATOM_INC && atom != ATOM_DEC) || type == TY_U32;
}

/* `size` bytes of memory are changed by those at `from`: as a copy, or as code's reduction of elements as
 * `element` has them: the code itself, or a copy of it with another type. */
static bool put(PtxRun *run, PtxThread *thread, const PtxCode *code, const PtxCode *element, unsigned space,
                uint64_t to, const uint8_t *from, unsigned size) {
    uint8_t *target = interp_memory(run, thread, code, space, to, size, true);
    uint64_t value = 0, old = 0;
    if (!target)
        return false;
    memcpy(&value, from, size);
    memcpy(&old, target, size);
    if (code->atom != ATOM_NONE) {
        interp_race_atomic(run, thread, code, target);
        value = interp_atomic_value(element, old, value, false);
    } else {
        interp_race_store(run, thread, code, target, from);
    }
    memcpy(target, &value, size);
    return true;
}

static PtxStep exec_store(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    Copy copy = {.run = run, .thread = thread, .code = code};
    uint64_t base = (uint32_t)(interp_arg(run, thread, &code->src[1]) + code->offset2);
    if (!begin(&copy, true) || !starts_well(&copy, base))
        return STEP_STOP;
    PtxCode typed = *code;
    typed.type = ptx_types[copy.map.type];
    typed.size_bytes = (uint8_t)copy.size;
    if (code->atom != ATOM_NONE && !reduces(code->atom, typed.type))
        return interp_trap_at(run, thread, code, TRAP_OUT_OF_RANGE, copy.map.address,
                              "this reduction has no such elements");
    for (uint32_t i = 0; i < copy.n; i++) {
        uint64_t to = global_place(&copy, i);
        uint8_t bytes[SMALL];
        if (!to)
            continue;
        const uint8_t *from =
            interp_memory(run, thread, code, SP_SHARED, shared_place_of(&copy, base, i), copy.size, false);
        if (!from)
            return STEP_STOP;
        interp_race_load(run, thread, code);
        memcpy(bytes, from, copy.size);
        if (!put(run, thread, code, &typed, SP_GLOBAL, to, bytes, copy.size))
            return STEP_STOP;
    }
    return STEP_YIELD;
}

/* cp.reduce.async.bulk: element after element of the statement's type */
static PtxStep exec_bulk_reduce(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    unsigned to_space = code->insn->space, each = code->size_bytes;
    uint64_t to = interp_address(run, thread, code, to_space),
             from = interp_arg(run, thread, &code->src[1]) + code->offset2;
    uint32_t size = (uint32_t)interp_arg(run, thread, &code->src[2]);
    if (size % CHUNK_BYTES || to % CHUNK_BYTES || from % CHUNK_BYTES)
        return interp_trap_at(run, thread, code, TRAP_MISALIGNED, to, "a copy of 16 bytes each");
    for (uint32_t at = 0; at < size; at += each) {
        uint8_t bytes[SMALL];
        const uint8_t *source = interp_memory(run, thread, code, SP_SHARED, from + at, each, false);
        if (!source)
            return STEP_STOP;
        interp_race_load(run, thread, code);
        memcpy(bytes, source, each);
        if (!put(run, thread, code, code, to_space, to + at, bytes, each))
            return STEP_STOP;
    }
    if (to_space == SP_GLOBAL)
        return STEP_YIELD;
    uint64_t object = (uint32_t)(interp_arg(run, thread, &code->src[3]) + code->offset3);
    return interp_complete_bytes(run, thread, code, object, size) ? STEP_YIELD : STEP_STOP;
}
BIND_EXEC(tensor_load, exec_load)
BIND_EXEC(tensor_store, exec_store)
BIND_EXEC(bulk_reduce, exec_bulk_reduce)

/* ---- tensormap ---- */

/* The field's bits that lie in a word, or in two for an address. */
static bool replace_part(PtxRun *run, PtxThread *thread, const PtxCode *code, const TensorPart *part,
                         uint64_t map, uint64_t value) {
    unsigned bit = part->at + (tensor_fields[part->field].dims ? part->each * (unsigned)code->src[1].imm : 0),
             bytes = part->bits > 32 ? 8 : 4;
    uint8_t *place = interp_memory(run, thread, code, code->space, map + bit / 32 * 4, bytes, true);
    uint64_t word = 0, mask = width_mask(bytes);
    if (!place)
        return false;
    memcpy(&word, place, bytes);
    if (part->bits < 32)
        mask = ((1ull << part->bits) - 1) << bit % 32;
    word = (word & ~mask) | ((part->from < 63 ? value >> part->from : 0) << bit % 32 & mask);
    interp_race_store(run, thread, code, place, (const uint8_t *)&word);
    memcpy(place, &word, bytes);
    return true;
}

static PtxStep exec_replace(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    uint64_t map = interp_address(run, thread, code, code->space);
    TensorField field = ptx_tensor_field(code->insn);
    uint64_t value = interp_arg(run, thread, &code->src[tensor_fields[field].dims ? 2 : 1]);
    value -= tensor_fields[field].less;
    if (field == TENSOR_ELEMTYPE)
        value = tensor_type_bits((uint32_t)value);
    for (const TensorPart *part = tensor_parts; part < tensor_parts + TENSOR_PARTS; part++)
        if (part->field == field && (!part->ones || value >> part->from))
            if (!replace_part(run, thread, code, part, map, value))
                return STEP_STOP;
    return STEP_GO;
}

bool interp_bind_tensormap_replace(PtxCode *code) { return interp_use_exec(code, exec_replace); }

static void copy_map(PtxWarp *warp, uint32_t lanes) {
    PtxRun *run = warp->block->run;
    if (!interp_is_whole(warp, lanes))
        return;
    for (unsigned lane = 0; lane < TENSOR_WORDS; lane++) {
        PtxThread *thread = &warp->threads[lane];
        const PtxCode *code = thread->wait;
        uint64_t to = interp_arg(run, thread, &code->src[0]) + code->offset,
                 from = interp_arg(run, thread, &code->src[1]) + code->offset2;
        uint32_t word;
        const uint8_t *source = interp_memory(run, thread, code, SP_SHARED, from + 4 * lane, 4, false);
        if (!source)
            return;
        interp_race_load(run, thread, code);
        memcpy(&word, source, 4);
        uint8_t *place = interp_memory(run, thread, code, SP_GLOBAL, to + 4 * lane, 4, true);
        if (!place)
            return;
        interp_race_atomic(run, thread, code, place);
        memcpy(place, &word, 4);
    }
}

bool interp_bind_tensormap_copy(PtxCode *code) {
    return interp_bind_whole(code, copy_map) && code->nsrc >= 2;
}
