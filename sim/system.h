/* What the driver's functions do (isa/machine/system.def): text for the host, failed assertions. Both
 * executions call it: it is the host's part, no semantics of PTX or of the machine.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_SYSTEM_H
#define HEDDLE_SIM_SYSTEM_H
#include "isa/machine/system.h"
#include "sim/launch.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct { /* what one call of a thread printed; valid during the call */
    uint32_t block[3], thread[3];
    const char *text; /* not NUL-terminated; may hold NULs (%c) */
    size_t bytes;
} SimPrint;
typedef void SimPrintFn(void *user, const SimPrint *print);

typedef struct {
    SystemFunc func;
    uint64_t params[SYSTEM_MAX_PARAMS];
    uint32_t block[3], thread[3];
    /* Guest memory at a generic address; false: the thread has trapped. */
    bool (*read)(void *memory, uint64_t address, void *bytes, unsigned size_bytes);
    void *memory;
    SimMemory *heap;   /* guest memory that has the heap, or has none */
    SimPrintFn *print; /* NULL: nobody reads it */
    void *print_user;
    uint64_t result;
    char failed[160]; /* out: the assertion that failed, "file:line: function: ..." */
} SystemCall;
typedef enum {
    SYSTEM_RETURNS,
    SYSTEM_FAULT, /* `read` said so */
    SYSTEM_ASSERTION,
    SYSTEM_BAD_FREE /* of params[0] */
} SystemEnd;

SystemEnd sim_system_call(SystemCall *call);
#endif
