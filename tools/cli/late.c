/* libm and libcjson, opened at the first call of a function of theirs: to load both with the program takes a
 * tenth of a small compilation, which calls neither. Each function of late.def is defined here under its own
 * name, so that callers need not know; where one is missing in that list, the linker takes the library as it
 * always did (and a test, tests/tools/libraries.sh, says so). SPDX-License-Identifier: MIT */
#include "tools/cli/cli.h"
#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum { LIBM, LIBCJSON } LateLibrary;

/* The function of that name, as the library has it; what asks for it cannot go on without. */
static void *late_function(LateLibrary which, const char *name) {
    static const char *const names[] = {[LIBM] = "libm.so.6", [LIBCJSON] = "libcjson.so.1"};
    void *library = dlopen(names[which], RTLD_LAZY | RTLD_LOCAL),
         *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "heddle: %s\n", dlerror());
        exit(STATUS_INTERNAL);
    }
    return found;
}

/* Threads that come here at once find the same function, and each writes it. */
#define FIND_LATE(library, name)                                                                             \
    static void *found;                                                                                      \
    void *known = __atomic_load_n(&found, __ATOMIC_RELAXED);                                                 \
    if (!known) {                                                                                            \
        known = late_function(library, #name);                                                               \
        __atomic_store_n(&found, known, __ATOMIC_RELAXED);                                                   \
    }                                                                                                        \
    __typeof__(&name) function;                                                                              \
    __builtin_memcpy(&function, &known, sizeof known)

/* Linked with archives alone, the program has what is of libm in itself. */
#ifdef HEDDLE_ARCHIVES_ALONE
#define LATE_LIBM(library, result, name, parameters, arguments)
#else
#define LATE_LIBM LATE_LIBCJSON
#endif
#define LATE(library, result, name, parameters, arguments)                                                   \
    LATE_##library(library, result, name, parameters, arguments)
#define LATE_LIBCJSON(library, result, name, parameters, arguments)                                          \
    result name parameters {                                                                                 \
        FIND_LATE(library, name);                                                                            \
        return function arguments;                                                                           \
    }
#define LATE_VOID(library, name, parameters, arguments)                                                      \
    void name parameters {                                                                                   \
        FIND_LATE(library, name);                                                                            \
        function arguments;                                                                                  \
    }
#include "tools/cli/late.def"
