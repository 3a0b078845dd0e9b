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
