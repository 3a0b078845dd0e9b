/* Finding libLLVM for the compiling engine. SPDX-License-Identifier: MIT */
#include "sim/jit/jit_api.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { OLDEST = 19, NEWEST = 40 };

static void *open_library(void) {
    static const char *const names[] = {"libLLVM.so.%u.1", "libLLVM-%u.so.1", "libLLVM-%u.so"};
    void *library = NULL;
    for (unsigned version = OLDEST; version <= NEWEST && !library; version++)
        for (unsigned k = 0; k < sizeof names / sizeof *names && !library; k++) {
            char name[32];
            snprintf(name, sizeof name, names[k], version);
            library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        }
    return library;
}

/* POSIX gives functions as object pointers; the copy is its own way to make a function pointer of one. */
static bool find_symbol(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

bool jit_api_open(JitApi *api, const char **path, char *why, size_t why_bytes) {
    const char *missing = NULL;
    Dl_info where;
    void *library = open_library();
    if (!library) {
        snprintf(why, why_bytes, "no libLLVM of version %d or later was found", OLDEST);
        return false;
    }
#define JIT_API(result, name, params)                                                                        \
    if (!find_symbol(library, "LLVM" #name, &api->name))                                                     \
        missing = "LLVM" #name;
#include "sim/jit/jit_api.def"
#undef JIT_API
    void *inside = dlsym(library, "LLVMContextCreate");
    *path = inside && dladdr(inside, &where) ? where.dli_fname : NULL;
    if (missing)
        snprintf(why, why_bytes, "libLLVM has no %s", missing);
    return !missing;
}
