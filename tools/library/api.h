/* Inside of the public library: what its objects are, and how its functions run their work. api.c: contexts,
 * modules, launches, checks; api_memory.c: device memory; api_kernels.c: what a module has.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_API_H
#define HEDDLE_TOOLS_API_H
#include "heddle.h"
#include "base/diag.h"
#include "check/validate/plan/plan.h"
#include "emit/elf/binary.h"
#include "frontend/ast.h"
#include "sim/machine/machine.h"
#include "tools/jobs/driver.h"

struct HdModule {
    HdContext *context;
    HdModule *next;
    PtxModule *ptx; /* PTX */
    Binary *binary; /* or a binary */
    void *image;
    size_t image_bytes;
    char *name;
};

struct HdContext {
    HdOptions options;
    HdModule *modules;
    HdMemory *memories;
    MachineThreads *threads; /* of its launches; NULL: none had several */
};

struct HdMemory {
    HdContext *context;
    HdMemory *next;
    SimMemory *mem;
};

/* What a function is asked, and what its work found. The function itself has checked the former. */
typedef struct {
    HdContext *context;
    HdModule *ptx, *binary;
    const char *name;
    const void *bytes;
    size_t size_bytes;
    const void *options;
    const HdLaunch *launch;
    const HdMemory *memory;
    SimMemory *after; /* what becomes of a launch's memory, or of `memory` */
    uint64_t seed;
    bool wants_report;
    HdStatus status;
    HdModule *module;
    char *text;
    size_t text_bytes;
} ApiCall;
typedef void ApiFn(ApiCall *call);

Diags hd_diags(HdContext *context);
/* Run the work in a scope; results leave it only when it is done. */
HdStatus hd_run(ApiFn *work, ApiCall *call);
/* `after` takes the place of the memory's bytes; outside of a scope. */
void hd_exchange(HdMemory *memory, SimMemory *after);
/* False: an option that there is not. Without the profile. */
bool hd_driver_options(const HdCompileOptions *options, DriverOptions *driver);
void hd_free_memories(HdContext *context);
/* Is it one that may be started? */
bool hd_launch_is_sound(const HdLaunch *launch, const HdContext *context);
/* The launch, on buffers that are its own; plan_free. */
void hd_make_plan(Plan *plan, const HdLaunch *hd_launch);
#endif
