/* Tensor maps: what the 128 bytes of a map in guest memory say. The layout of NVIDIA's object is not public
 * but for the fields that tensormap.replace changes (isa/machine/tensormap.def), which lie where ptxas's code
 * has them; the rest is Heddle's own (docs/launch-files.md). Both executions read it; which bytes a copy
 * moves each says for itself. Dimension 0 is the innermost. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_TENSORMAP_H
#define HEDDLE_SIM_TENSORMAP_H
#include "isa/machine/tensormap.h"
#include <string.h>

enum { SIM_TENSOR_BYTES = 128, SIM_TENSOR_ALIGN = 64, SIM_TENSOR_DIMS = 5 };
#define SIM_TENSOR_MAGIC 0x4d544448u /* "HDTM" */

typedef enum {
    SIM_TENSOR_U8,
    SIM_TENSOR_U16,
    SIM_TENSOR_U32,
    SIM_TENSOR_S32,
    SIM_TENSOR_U64,
    SIM_TENSOR_S64,
    SIM_TENSOR_F16,
    SIM_TENSOR_BF16,
    SIM_TENSOR_F32,
    SIM_TENSOR_F64,
    SIM_TENSOR_TYPES
} SimTensorType;

typedef struct {
    uint64_t address;                     /* of the first element */
    uint64_t stride[SIM_TENSOR_DIMS - 1]; /* bytes from one to the next in dimensions 1 on */
    uint64_t size[SIM_TENSOR_DIMS];
    uint32_t magic;
    uint16_t box[SIM_TENSOR_DIMS]; /* tiles: elements of the tensor that one spans */
    uint8_t step[SIM_TENSOR_DIMS]; /* every how many-th of them is copied; of dimension 0 each */
    uint8_t type, rank, im2col;
    uint8_t swizzle;            /* 0, 1, 2, 3: none, in 32, 64, 128 bytes */
    uint8_t nan_fill;           /* elements that are not there: 1 NaN, else 0 */
    int16_t lower[3], upper[3]; /* im2col: corners of the pixels' box, from the first and the last pixel */
    uint16_t channels, pixels;  /* im2col: of each pixel; of a copy */
} SimTensorMap;
_Static_assert(TENSOR_WORDS * 4 == SIM_TENSOR_BYTES, "words of a map");

static inline unsigned sim_tensor_element_bytes(unsigned type) {
    static const uint8_t bytes[SIM_TENSOR_TYPES] = {1, 2, 4, 4, 8, 8, 2, 2, 4, 8};
    return type < SIM_TENSOR_TYPES ? bytes[type] : 0;
}

/* ---- the words in memory ---- */

/* What tensormap.replace does not know, behind all fields: the magic number, im2col's box. */
enum { SIM_TENSOR_OWN_WORD = 16, SIM_TENSOR_OWN_WORDS = 6 };

static inline uint64_t sim_tensor_get(const uint32_t *words, TensorField field, unsigned ordinal) {
    uint64_t value = 0;
    for (const TensorPart *part = tensor_parts; part < tensor_parts + TENSOR_PARTS; part++) {
        unsigned bit = part->at + part->each * ordinal;
        uint64_t word = words[bit / 32];
        if (part->field != field || part->from >= 63)
            continue;
        if (part->bits > 32)
            word |= (uint64_t)words[bit / 32 + 1] << 32;
        value |= (word >> bit % 32 & (part->bits == 64 ? ~0ull : (1ull << part->bits) - 1)) << part->from;
    }
    return value + tensor_fields[field].less;
}

static inline void sim_tensor_put(uint32_t *words, TensorField field, unsigned ordinal, uint64_t value) {
    value -= tensor_fields[field].less;
    for (const TensorPart *part = tensor_parts; part < tensor_parts + TENSOR_PARTS; part++) {
        unsigned bit = part->at + part->each * ordinal;
        uint64_t bits = part->from < 63 ? value >> part->from : 0;
        if (part->field != field)
            continue;
        for (unsigned k = 0; k < part->bits; k++, bit++)
            words[bit / 32] = (words[bit / 32] & ~(1u << bit % 32)) | (uint32_t)(bits >> k & 1) << bit % 32;
    }
}

/* PTX's numbers of element types; SIM_TENSOR_TYPES: this one is not modelled. */
static const uint8_t sim_tensor_types[] = {SIM_TENSOR_U8,    SIM_TENSOR_U16, SIM_TENSOR_U32, SIM_TENSOR_S32,
                                           SIM_TENSOR_U64,   SIM_TENSOR_S64, SIM_TENSOR_F16, SIM_TENSOR_F32,
                                           SIM_TENSOR_TYPES, SIM_TENSOR_F64, SIM_TENSOR_BF16};

static inline void sim_tensor_encode(const SimTensorMap *map, uint32_t *words) {
    uint32_t own[SIM_TENSOR_OWN_WORDS] = {map->magic,
                                          map->im2col | (uint32_t)map->channels << 16,
                                          map->pixels | (uint32_t)(uint16_t)map->lower[0] << 16,
                                          (uint16_t)map->lower[1] | (uint32_t)(uint16_t)map->lower[2] << 16,
                                          (uint16_t)map->upper[0] | (uint32_t)(uint16_t)map->upper[1] << 16,
                                          (uint16_t)map->upper[2]};
    memset(words, 0, SIM_TENSOR_BYTES);
    memcpy(words + SIM_TENSOR_OWN_WORD, own, sizeof own);
    sim_tensor_put(words, TENSOR_GLOBAL_ADDRESS, 0, map->address);
    sim_tensor_put(words, TENSOR_RANK, 0, map->rank - 1u);
    sim_tensor_put(words, TENSOR_SWIZZLE_MODE, 0, map->swizzle);
    sim_tensor_put(words, TENSOR_FILL_MODE, 0, map->nan_fill);
    for (uint32_t number = 0; number < sizeof sim_tensor_types; number++)
        if (sim_tensor_types[number] == map->type)
            sim_tensor_put(words, TENSOR_ELEMTYPE, 0, number);
    for (unsigned k = 0; k < map->rank; k++) {
        sim_tensor_put(words, TENSOR_GLOBAL_DIM, k, map->size[k]);
        sim_tensor_put(words, TENSOR_BOX_DIM, k, map->im2col ? 1 : map->box[k]);
        sim_tensor_put(words, TENSOR_ELEMENT_STRIDE, k, map->step[k]);
        if (k > 0)
            sim_tensor_put(words, TENSOR_GLOBAL_STRIDE, k - 1, map->stride[k - 1]);
    }
}

static inline SimTensorMap sim_tensor_decode(const uint32_t *words) {
    const uint32_t *own = words + SIM_TENSOR_OWN_WORD;
    SimTensorMap map = {.magic = own[0],
                        .im2col = own[1] & 1,
                        .channels = (uint16_t)(own[1] >> 16),
                        .pixels = (uint16_t)own[2],
                        .lower = {(int16_t)(own[2] >> 16), (int16_t)own[3], (int16_t)(own[3] >> 16)},
                        .upper = {(int16_t)own[4], (int16_t)(own[4] >> 16), (int16_t)own[5]}};
    uint64_t type = sim_tensor_get(words, TENSOR_ELEMTYPE, 0);
    bool known = type < sizeof sim_tensor_types && !sim_tensor_get(words, TENSOR_INTERLEAVE_LAYOUT, 0) &&
                 !sim_tensor_get(words, TENSOR_SWIZZLE_ATOMICITY, 0);
    map.type = known ? sim_tensor_types[type] : SIM_TENSOR_TYPES;
    map.address = sim_tensor_get(words, TENSOR_GLOBAL_ADDRESS, 0);
    bool own_is_zero = true;
    for (unsigned k = 0; k < SIM_TENSOR_OWN_WORDS; k++)
        own_is_zero &= own[k] == 0;
    if (own_is_zero && map.address) /* nobody encoded it: a kernel made it of zeros, as compilers do */
        map.magic = SIM_TENSOR_MAGIC;
    map.rank = (uint8_t)(sim_tensor_get(words, TENSOR_RANK, 0) + 1);
    map.swizzle = (uint8_t)sim_tensor_get(words, TENSOR_SWIZZLE_MODE, 0);
    map.nan_fill = (uint8_t)sim_tensor_get(words, TENSOR_FILL_MODE, 0);
    for (unsigned k = 0; k < SIM_TENSOR_DIMS; k++) {
        map.size[k] = sim_tensor_get(words, TENSOR_GLOBAL_DIM, k);
        map.box[k] = (uint16_t)sim_tensor_get(words, TENSOR_BOX_DIM, k);
        map.step[k] = (uint8_t)sim_tensor_get(words, TENSOR_ELEMENT_STRIDE, k);
        if (k > 0)
            map.stride[k - 1] = sim_tensor_get(words, TENSOR_GLOBAL_STRIDE, k - 1);
    }
    return map;
}
#endif
