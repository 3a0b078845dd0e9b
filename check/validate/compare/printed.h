/* What the threads of a launch print (sim/system.h), as memory that executions are compared by: a buffer of
 * u64 with a hash of each thread's text, all its calls one behind the other. Between threads the order of
 * calls is open. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_PRINTED_H
#define HEDDLE_CHECK_VALIDATE_PRINTED_H
#include "base/scope.h"
#include "check/validate/plan/plan.h"
#include "frontend/ast.h"
#include "sim/launch.h"
#include "sim/system.h"

#define PRINTED_BUFFER "printed text" /* one element a thread: block by block, as threads are counted */

/* Allocate the buffer in `mem`, where the module prints at all; false: the host has no memory. */
bool diff_printed_place(const PtxModule *module, const Plan *plan, SimMemory *mem);

typedef struct {
    uint8_t *hashes; /* NULL: nobody asked */
    uint64_t size_bytes;
    const PlanLaunch *launch;
    uint64_t watched; /* element whose text is wanted ... */
    TextStream *text; /* ... goes here, unless NULL */
} PrintedSink;
PrintedSink diff_printed_sink(const SimMemory *mem, const PlanLaunch *launch);
SimPrintFn diff_printed_add; /* user: a PrintedSink */

enum { PRINTED_SHOWN_BYTES = 120 };
/* The line in which two texts first differ, of each, with escapes as in C; cut. */
void diff_printed_show(const char *text, size_t bytes, const char *other, size_t other_bytes,
                       char shown[PRINTED_SHOWN_BYTES], char other_shown[PRINTED_SHOWN_BYTES]);
#endif
