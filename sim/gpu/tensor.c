/* Tensor maps for a card: what Heddle's map in guest memory says, as the driver encodes it.
 * SPDX-License-Identifier: MIT */
#include "sim/gpu/card.h"
#include "sim/gpu/driver.h"
#include "sim/tensormap.h"

/* CUtensorMapDataType */
static const int driver_types[SIM_TENSOR_TYPES] = {
    [SIM_TENSOR_U8] = 0,  [SIM_TENSOR_U16] = 1, [SIM_TENSOR_U32] = 2, [SIM_TENSOR_S32] = 3,
    [SIM_TENSOR_U64] = 4, [SIM_TENSOR_S64] = 5, [SIM_TENSOR_F16] = 6, [SIM_TENSOR_F32] = 7,
    [SIM_TENSOR_F64] = 8, [SIM_TENSOR_BF16] = 9};

bool gpu_tensor_is_map(const void *bytes) {
    uint32_t words[TENSOR_WORDS];
    memcpy(words, bytes, sizeof words);
    return words[SIM_TENSOR_OWN_WORD] == SIM_TENSOR_MAGIC;
}

uint64_t gpu_tensor_address(const void *bytes) {
    uint32_t words[TENSOR_WORDS];
    memcpy(words, bytes, sizeof words);
    return sim_tensor_get(words, TENSOR_GLOBAL_ADDRESS, 0);
}

CudaResult gpu_tensor_encode(const CudaDriver *cuda, void *bytes, CudaAddress address) {
    uint32_t words[TENSOR_WORDS], box[SIM_TENSOR_DIMS], step[SIM_TENSOR_DIMS];
    _Alignas(SIM_TENSOR_ALIGN) uint8_t out[SIM_TENSOR_BYTES];
    int lower[3], upper[3];
    memcpy(words, bytes, sizeof words);
    SimTensorMap map = sim_tensor_decode(words);
    void *base = (void *)(uintptr_t)address; /* NOLINT: the card's, as the driver wants it */
    if (map.type >= SIM_TENSOR_TYPES || !cuda->encode_tiled || !cuda->encode_im2col)
        return CUDA_ERROR_NOT_SUPPORTED;
    for (unsigned k = 0; k < SIM_TENSOR_DIMS; k++) {
        box[k] = map.box[k];
        step[k] = map.step[k];
    }
    for (unsigned k = 0; k < 3; k++) {
        lower[k] = map.lower[k];
        upper[k] = map.upper[k];
    }
    CudaResult result =
        map.im2col
            ? cuda->encode_im2col(out, driver_types[map.type], map.rank, base, map.size, map.stride, lower,
                                  upper, map.channels, map.pixels, step, 0, map.swizzle, 0, map.nan_fill)
            : cuda->encode_tiled(out, driver_types[map.type], map.rank, base, map.size, map.stride, box, step,
                                 0, map.swizzle, 0, map.nan_fill);
    if (result == CUDA_SUCCESS)
        memcpy(bytes, out, sizeof out);
    return result;
}
