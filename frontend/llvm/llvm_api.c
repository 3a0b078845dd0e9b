/* Finding libLLVM: see llvm_api.h.
 * SPDX-License-Identifier: MIT */
#include "frontend/llvm/llvm_api.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum {
    OLDEST = 14,
    NEWEST = 40
}; /* versions whose names are tried; of later ones the name without version */

static void *open_newest(void) {
    static const char *const names[] = {"libLLVM.so.%u.1", "libLLVM-%u.so.1", "libLLVM-%u.so"};
    void *library = NULL;
    for (unsigned version = NEWEST; version >= OLDEST && !library; version--)
        for (unsigned k = 0; k < sizeof names / sizeof *names && !library; k++) {
            char name[32];
            snprintf(name, sizeof name, names[k], version);
            library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        }
    return library ? library : dlopen("libLLVM.so", RTLD_NOW | RTLD_LOCAL);
}

/* POSIX gives functions as object pointers; the copy is its own way to make a function pointer of one. */
static bool find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

bool llvm_api_open(LlvmApi *api, const char *path, char *why, size_t why_bytes) {
    *api = (LlvmApi){0};
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : open_newest();
    if (!library) {
        snprintf(why, why_bytes, "%s", path ? dlerror() : "none was found");
        return false;
    }
    const char *missing = NULL;
#define LLVM_API(result, name, params)                                                                       \
    if (!find(library, "LLVM" #name, &api->name))                                                            \
        missing = "LLVM" #name;
#define LLVM_API_SINCE(version, result, name, params) find(library, "LLVM" #name, &api->name);
#include "frontend/llvm/llvm_api.def"
    if (missing)
        snprintf(why, why_bytes, "%s has no %s", path ? path : "the one that was found", missing);
    else if (api->GetVersion) {
        unsigned minor, patch;
        api->GetVersion(&api->major, &minor, &patch);
    }
    return !missing;
}

bool llvm_api_path(const LlvmApi *api, char *path, size_t path_bytes) {
    Dl_info info;
    void *symbol;
    memcpy(&symbol, &api->ContextCreate, sizeof symbol);
    return dladdr(symbol, &info) && (size_t)snprintf(path, path_bytes, "%s", info.dli_fname) < path_bytes;
}
