/* Tensor maps: what the 128 bytes of a map in guest memory say. The layout of NVIDIA's object is not public;
 * this one is Heddle's own (docs/launch-files.md). Both executions read it; which bytes a copy moves each
 * says for itself. Dimension 0 is the innermost.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_TENSORMAP_H
#define HEDDLE_SIM_TENSORMAP_H
#include <stdint.h>

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
    uint32_t magic, size[SIM_TENSOR_DIMS];
    uint16_t box[SIM_TENSOR_DIMS]; /* tiles: elements of the tensor that one spans */
    uint8_t step[SIM_TENSOR_DIMS]; /* every how many-th of them is copied; of dimension 0 each */
    uint8_t type, rank, im2col;
    uint8_t swizzle;            /* 0, 1, 2, 3: none, in 32, 64, 128 bytes */
    uint8_t nan_fill;           /* elements that are not there: 1 NaN, else 0 */
    int16_t lower[3], upper[3]; /* im2col: corners of the pixels' box, from the first and the last pixel */
    uint16_t channels, pixels;  /* im2col: of each pixel; of a copy */
    uint8_t unused[28];
} SimTensorMap;
_Static_assert(sizeof(SimTensorMap) == SIM_TENSOR_BYTES, "a map is 128 bytes");

static inline unsigned sim_tensor_element_bytes(unsigned type) {
    static const uint8_t bytes[SIM_TENSOR_TYPES] = {1, 2, 4, 4, 8, 8, 2, 2, 4, 8};
    return type < SIM_TENSOR_TYPES ? bytes[type] : 0;
}
#endif
