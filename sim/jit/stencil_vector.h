/* Where the number of a vector register is in an instruction: what stencil_table.c finds and stencil_copy.c
 * writes. The prefix is EVEX (62) or VEX of three bytes (c4). SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_STENCIL_VECTOR_H
#define HEDDLE_SIM_JIT_STENCIL_VECTOR_H
#include <stdbool.h>
#include <stdint.h>

/* ModRM's reg and rm, the prefix's vvvv, and the upper half of a byte behind it all. */
typedef enum { VECTOR_REG, VECTOR_RM, VECTOR_V, VECTOR_LAST, VECTOR_FIELDS } VectorField;
enum { VECTOR_EVEX = 0x62, VECTOR_VEX = 0xc4 };

typedef struct {
    uint8_t byte, bit; /* from the prefix on; of VECTOR_LAST the byte itself */
    bool inverted;
} VectorBit;
/* Bit i of the number; ModRM is where EVEX has it. */
static inline VectorBit vector_bit(VectorField field, unsigned i) {
    static const VectorBit bits[VECTOR_FIELDS][5] = {
        [VECTOR_REG] = {{5, 3, 0}, {5, 4, 0}, {5, 5, 0}, {1, 7, 1}, {1, 4, 1}},
        [VECTOR_RM] = {{5, 0, 0}, {5, 1, 0}, {5, 2, 0}, {1, 5, 1}, {1, 6, 1}},
        [VECTOR_V] = {{2, 3, 1}, {2, 4, 1}, {2, 5, 1}, {2, 6, 1}, {3, 3, 1}},
        [VECTOR_LAST] = {{0, 4, 0}, {0, 5, 0}, {0, 6, 0}, {0, 7, 0}, {0, 7, 0}},
    };
    return bits[field][i];
}
static inline unsigned vector_bits(const uint8_t *at, VectorField field) {
    return field != VECTOR_LAST && *at == VECTOR_EVEX ? 5 : 4;
}
/* Its byte. VEX has one less before the opcode. */
static inline unsigned vector_byte(const uint8_t *at, VectorBit bit) {
    return bit.byte == 5 && *at == VECTOR_VEX ? 4 : bit.byte;
}

static inline unsigned vector_number(const uint8_t *at, VectorField field) {
    unsigned number = 0;
    for (unsigned i = 0; i < vector_bits(at, field); i++) {
        VectorBit bit = vector_bit(field, i);
        number |= ((at[vector_byte(at, bit)] >> bit.bit & 1u) ^ bit.inverted) << i;
    }
    return number;
}
static inline void vector_write(uint8_t *at, VectorField field, unsigned number) {
#pragma GCC unroll 5
    for (unsigned i = 0; i < 5; i++) {
        VectorBit bit = vector_bit(field, i);
        uint8_t *byte = &at[vector_byte(at, bit)];
        unsigned value = (number >> i & 1u) ^ bit.inverted;
        if (i < vector_bits(at, field))
            *byte = (uint8_t)((*byte & ~(1u << bit.bit)) | value << bit.bit);
    }
}
/* A field at a time, so that its places are constants: code is full of such numbers. */
static inline void vector_renumber(uint8_t *at, VectorField field, unsigned number) {
    switch (field) {
    case VECTOR_REG: vector_write(at, VECTOR_REG, number); break;
    case VECTOR_RM: vector_write(at, VECTOR_RM, number); break;
    case VECTOR_V: vector_write(at, VECTOR_V, number); break;
    default: vector_write(at, VECTOR_LAST, number); break;
    }
}
#endif
