/* Finding the CUDA driver: see driver.h.
 * SPDX-License-Identifier: MIT */
#include "sim/gpu/driver.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* POSIX gives functions as object pointers; the copy is its own way to make a function pointer of one. */
static bool find(void *library, const char *name, void *function, char *why, size_t why_bytes) {
    void *symbol = dlsym(library, name);
    if (!symbol)
        snprintf(why, why_bytes, "libcuda.so.1 has no %s", name);
    else
        memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

bool cuda_driver_open(CudaDriver *driver, char *why, size_t why_bytes) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, why_bytes, "no CUDA driver: %s", dlerror());
        return false;
    }
#define F(member, name, params)                                                                              \
    if (!find(library, #name, &driver->member, why, why_bytes))                                              \
        return false;
#define NEWER(member, name, params)                                                                          \
    if (!find(library, #name, &driver->member, why, why_bytes))                                              \
        driver->member = NULL;
#include "sim/gpu/driver.def"
#undef F
#undef NEWER
    return true;
}
