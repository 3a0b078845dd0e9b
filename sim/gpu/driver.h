/* The CUDA driver, found when the program runs: the few entry points that an engine needs, declared here so
 * that no CUDA header is wanted for building. Names and numbers: CUDA Driver API, cuda.h.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_GPU_DRIVER_H
#define HEDDLE_SIM_GPU_DRIVER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CudaResult;
typedef int CudaDevice;
typedef unsigned long long CudaAddress; /* CUdeviceptr */
typedef struct CudaContextObject *CudaContext;
typedef struct CudaModuleObject *CudaModule;
typedef struct CudaFunctionObject *CudaFunction;
typedef struct CudaStreamObject *CudaStream;
typedef struct CudaArrayObject *CudaArray;
typedef struct CudaMipmapObject *CudaMipmap;
typedef struct CudaTexRefObject *CudaTexRef;
typedef struct CudaSurfRefObject *CudaSurfRef;
typedef unsigned long long CudaHandle; /* CUtexObject, CUsurfObject: its low half is what code reads */

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_SUPPORTED = 801
};
enum { /* CUdevice_attribute, CUfunction_attribute, CUjit_option */
       CUDA_COMPUTE_CAPABILITY_MAJOR = 75,
       CUDA_COMPUTE_CAPABILITY_MINOR = 76,
       CUDA_MAX_DYNAMIC_SHARED_BYTES = 8,
       CUDA_ANY_CLUSTER_SIZE = 14, /* more blocks than every card of the kind takes */
       CUDA_JIT_ERROR_LOG = 5,
       CUDA_JIT_ERROR_LOG_BYTES = 6
};
enum { CUDA_PARAM_END, CUDA_PARAM_BUFFER, CUDA_PARAM_BUFFER_BYTES }; /* in cuLaunchKernel's `extra` */

enum { CUDA_CLUSTER_DIMENSION = 4 }; /* CUlaunchAttributeID */
typedef struct {                     /* CUlaunchAttribute */
    int id;
    _Alignas(8) unsigned value[16];
} CudaLaunchAttribute;
typedef struct { /* CUlaunchConfig */
    unsigned grid[3], block[3], shared_bytes;
    CudaStream stream;
    CudaLaunchAttribute *attributes;
    unsigned nattributes;
} CudaLaunchConfig;

enum { /* CUDA_ARRAY3D_*; CU_TRSF_*, CU_TRSA_*; CUmemorytype; CUresourcetype */
       CUDA_ARRAY_LAYERED = 1,
       CUDA_ARRAY_SURFACE = 2,
       CUDA_ARRAY_CUBE = 4,
       CUDA_ARRAY_GATHER = 8,
       CUDA_READ_AS_INTEGER = 1,
       CUDA_NORMALIZED = 2,
       CUDA_OVERRIDE_FORMAT = 1,
       CUDA_MEMORY_HOST = 1,
       CUDA_MEMORY_ARRAY = 3,
       CUDA_RESOURCE_ARRAY = 0,
       CUDA_RESOURCE_MIPMAP = 1
};
typedef struct { /* CUDA_ARRAY3D_DESCRIPTOR: what an array has not is 0; layers and faces are the depth */
    size_t width, height, depth;
    int format;
    unsigned nchannels, flags;
} CudaArrayShape;
typedef struct {
    size_t x_bytes, y, z, level;
    int memory;
    const void *host;
    CudaAddress device;
    CudaArray array;
    void *reserved;
    size_t pitch_bytes, height;
} CudaCopySide;
typedef struct { /* CUDA_MEMCPY3D */
    CudaCopySide from, to;
    size_t width_bytes, height, depth;
} CudaCopy;
typedef struct { /* CUDA_RESOURCE_DESC */
    int kind;
    _Alignas(8) union {
        CudaArray array;
        CudaMipmap mipmap;
        int reserved[32];
    } of;
    unsigned flags;
} CudaResource;
typedef struct { /* CUDA_TEXTURE_DESC */
    int address[3], filter;
    unsigned flags, anisotropy;
    int mip_filter;
    float bias, least, most, border[4];
    int reserved[12];
} CudaSampler;

#define NEWER F
typedef struct {
#define F(member, name, params) CudaResult(*member) params;
#include "sim/gpu/driver.def"
#undef F
} CudaDriver;
#undef NEWER

/* Open libcuda.so.1 where the host's loader finds it. False: why[why_bytes] says what is missing. The library
 * stays open as long as the process. */
bool cuda_driver_open(CudaDriver *driver, char *why, size_t why_bytes);
#endif
