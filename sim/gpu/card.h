/* The process that has the card: it keeps driver and context from launch to launch, because making a context
 * takes longer than most launches, and ends with the first launch that does not end well, because what is
 * wrong with a context afterwards is not known. gpu.c asks it over a socket; what both need to know of a
 * request and of its answer is here.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_GPU_CARD_H
#define HEDDLE_SIM_GPU_CARD_H
#include "sim/gpu/driver.h"
#include "sim/gpu/gpu.h"

enum { CARD_LOG_BYTES = 3072, CARD_WORD_BYTES = 8 };

typedef struct {
    const GpuModule *module; /* NULL: only the device is asked for, and nothing of the rest is there */
    const char *kernel;
    const Launch *launch;
    const SimMemory *mem;
} CardRequest;

/* How far the process came. ANSWER_NONE: it ended without a word. */
typedef enum {
    ANSWER_NONE,
    ANSWER_ABSENT,  /* no driver, no card */
    ANSWER_OTHER,   /* the code is for another card */
    ANSWER_REFUSED, /* the driver does not take it, or cannot */
    ANSWER_TRAP,
    ANSWER_DONE /* of a launch: a Changes is behind it */
} AnswerKind;

typedef struct {
    AnswerKind kind;
    GpuDevice device;
    GpuResult result;
    char text[CARD_LOG_BYTES + 512];
} Answer;

/* What became of an 8-byte word of memory. */
typedef enum { WORD_SAME, WORD_DATA, WORD_ADDRESS } WordFate;

/* What a launch left in memory: for every allocation its bytes, where they changed, and the fates of its
 * words. */
typedef struct {
    uint8_t *block;
    size_t size_bytes;
    uint8_t **data, **fate; /* by allocation, in the block */
} Changes;

/* Everything zero: WORD_SAME. False: no memory; to be closed too. */
bool gpu_changes_open(Changes *changes, const SimMemory *mem);
void gpu_changes_close(Changes *changes);
static inline uint64_t gpu_words(uint64_t size_bytes) {
    return (size_bytes + CARD_WORD_BYTES - 1) / CARD_WORD_BYTES;
}

/* False: the other side is gone, or no memory. */
bool gpu_ask(int socket, const CardRequest *request);
bool gpu_send(int socket, const void *bytes, size_t n);
/* What *out points to is in *held, which the caller frees. False: there is no more. */
bool gpu_take(int socket, CardRequest *out, void **held);
/* Bytes of guest memory (SIM_TENSOR_BYTES): are they a tensor map, of a tensor at which guest address; and in
 * its place the driver's, of the tensor at that address of the card. */
bool gpu_tensor_is_map(const void *bytes);
uint64_t gpu_tensor_address(const void *bytes);
CudaResult gpu_tensor_encode(const CudaDriver *cuda, void *bytes, CudaAddress address);
/* What a launch has of the driver for its textures and surfaces (texture.c); they hold what the allocations
 * of `mem` held when they were made. Errors: false, and *what is the call, *result its result (CUDA_SUCCESS:
 * what is all there is to say). */
typedef struct {
    const CudaDriver *cuda;
    const SimMemory *mem;
    struct GpuImage *images; /* arrays, by what is in them */
    uint32_t nimages;
    CudaHandle *textures, *surfaces; /* objects */
    uint32_t ntextures, nsurfaces;
    const char *what;
    CudaResult result;
} GpuImages;
bool gpu_images_open(GpuImages *images, const CudaDriver *cuda, const SimMemory *mem, const Launch *launch);
/* The driver's handle in place of a parameter's; `params`: the block. */
bool gpu_images_handle(GpuImages *images, const LaunchHandle *handle, uint8_t *params);
/* Variables that the kernel reads. */
bool gpu_images_bind(GpuImages *images, CudaModule loaded, const GpuModule *module);
/* What surfaces changed in an allocation: over `bytes` of it. */
bool gpu_images_out(GpuImages *images, const SimAlloc *alloc, uint8_t *bytes);
bool gpu_images_close(GpuImages *images);
/* The life of the process: answer requests until there are none, or one ends badly. */
_Noreturn void gpu_serve(int socket);
#endif
