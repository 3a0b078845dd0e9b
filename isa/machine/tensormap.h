/* The fields of a tensor map: where tensormap.def says that they are. Words are little-endian, as in memory.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_MACHINE_TENSORMAP_H
#define HEDDLE_ISA_MACHINE_TENSORMAP_H
#include <stdbool.h>
#include <stdint.h>

enum { TENSOR_WORDS = 32 };

typedef enum {
#define TENSOR_FIELD(name, dims, most, less) TENSOR_##name,
#include "isa/machine/tensormap.def"
    TENSOR_FIELDS
} TensorField;

typedef struct {
    uint8_t field;
    uint16_t at;
    uint8_t each, bits, from;
    bool ones; /* written only where it is not 0 */
} TensorPart;

/* Bits `from` to `from + bits - 1` of field `field` are in the map's bits from `at` on, `each` further on for
 * each ordinal. */
static const TensorPart tensor_parts[] = {
#define FIRST(n) n
#define EACH(n) n
#define BITS(n) n
#define FROM(n) n
#define WRITTEN(when) WRITTEN_##when
#define WRITTEN_ALWAYS false
#define WRITTEN_ONES true
#define TENSOR_PART(name, at, each, bits, from, written) {TENSOR_##name, at, each, bits, from, written},
#include "isa/machine/tensormap.def"
#undef FIRST
#undef EACH
#undef BITS
#undef FROM
#undef WRITTEN
#undef WRITTEN_ALWAYS
#undef WRITTEN_ONES
};
enum { TENSOR_PARTS = sizeof tensor_parts / sizeof *tensor_parts };

static const struct {
    uint8_t dims, most, less;
} tensor_fields[TENSOR_FIELDS] = {
#define DIMS(n) n
#define MOST(n) n
#define LESS(n) n
#define TENSOR_FIELD(name, dims, most, less) {dims, most, less},
#include "isa/machine/tensormap.def"
#undef DIMS
#undef MOST
#undef LESS
};

/* What the field holds of the number of an element type: ptxas 13.0 has .tf32 as .f32 with a bit beside it,
 * and what comes behind (sm_100a) two lower. */
static inline uint32_t tensor_type_bits(uint32_t number) {
    enum { TF32 = 11, LAST_TF32 = 12, TF32_BIT = 16 };
    return number < TF32 ? number : number <= LAST_TF32 ? (number - 4) | TF32_BIT : number - 2;
}
#endif
