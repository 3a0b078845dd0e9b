/* The driver's functions, by name. They take parameters and give results as other functions do (abi.h), but
 * find the return address in ABI_SYSTEM_RETURN_REG, as ptxas calls them.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_MACHINE_SYSTEM_H
#define HEDDLE_ISA_MACHINE_SYSTEM_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum {
#define SYSTEM_FUNC(id, ...) SYSTEM_##id,
#include "isa/machine/system.def"
#undef SYSTEM_FUNC
    SYSTEM_COUNT
} SystemFunc;

enum { SYSTEM_MAX_PARAMS = 5 };
typedef struct {
    const char *name;
    bool returns;
    uint8_t result_bytes, param_bytes[SYSTEM_MAX_PARAMS]; /* 0: there is none */
} SystemInfo;

static inline const SystemInfo *system_info(SystemFunc func) {
    static const SystemInfo infos[] = {
#define SYSTEM_FUNC(id, name, returns, result, ...) {name, returns, result, {__VA_ARGS__}},
#include "isa/machine/system.def"
#undef SYSTEM_FUNC
    };
    return &infos[func];
}

/* SYSTEM_COUNT: the driver has no such function. */
static inline SystemFunc system_find(const char *name) {
    unsigned func = 0;
    while (func < SYSTEM_COUNT && strcmp(system_info((SystemFunc)func)->name, name) != 0)
        func++;
    return (SystemFunc)func;
}
#endif
