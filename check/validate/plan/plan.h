/* A launch plan: buffers, a sequence of launches, and what must hold afterwards. Comes from the command line
 * or from a JSON file (docs/launch-files.md); run, validate and the library execute it on any engine.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_PLAN_H
#define HEDDLE_CHECK_VALIDATE_PLAN_H
#include "base/arena.h"
#include "base/diag.h"
#include "check/validate/plan/fills.h"
#include "frontend/ast.h"
#include "isa/isa.h"
#include "sim/launch.h"
#include "sim/tensormap.h"

typedef struct {
    const char *name;
    const Scalar *type;
    uint64_t count;
    const char *init;     /* "zero", "ones", "iota", "nan", "value:V", "random:SEED", "random:SEED:LO:HI",
                             "edges:SEED:MEMBER:ONE_IN", "pointers:NAME+OFFSET:STRIDE",
                             "records:BYTES,OFFSET:TYPE:INIT,...",
                             "@file", or NULL where `bytes` is set */
    SrcLoc loc;           /* in Plan.source */
    const uint8_t *bytes; /* count * type->size_bytes, or NULL */
    bool is_output;       /* `out:` of the command line: shown after the run */
    uint64_t address;     /* set by plan_memory */
} PlanBuffer;

typedef struct {
    const char *name;
    uint32_t buffer; /* with its texels */
    SimTexture what;
    uint64_t handle; /* set by plan_memory */
    SrcLoc loc;      /* in Plan.source */
} PlanTexture;

typedef struct {
    const char *name;
    uint32_t buffer; /* with its elements */
    SimTensorMap map;
    uint32_t words[TENSOR_WORDS]; /* it in memory; set by plan_memory */
    uint64_t address;             /* of the map in an allocation of its own; set by plan_memory */
    SrcLoc loc;                   /* in Plan.source */
} PlanTensor;

typedef struct {
    const char *name;
    VEC(uint32_t) replicas; /* buffers of one size */
    uint64_t address;       /* set by plan_memory */
} PlanMulticast;

typedef struct PlanPart PlanPart;
typedef struct { /* one kernel argument */
    bool is_buffer, is_texture, is_tensor, is_multicast;
    uint32_t buffer;       /* of what is no buffer its number */
    uint64_t offset_bytes; /* into the buffer */
    const uint8_t *bytes;  /* value */
    uint32_t size_bytes;
    uint32_t uses; /* of a texture: SIM_USE_*; set by plan_note_uses */
    const PlanPart
        *parts; /* of a structure: what it holds that is no value, by rising place, over its bytes */
    uint32_t nparts;
} PlanArg;
struct PlanPart {
    uint32_t at_bytes;
    PlanArg arg; /* a buffer's address, a multicast object's, or a tensor map */
};

typedef struct { /* before a launch the buffer `to` gets what `from` holds, as far as both reach */
    uint32_t to, from;
} PlanCopy;

typedef struct {
    SrcLoc loc;         /* in Plan.source */
    const char *kernel; /* NULL: the only one */
    uint32_t grid[3], block[3], shared_bytes, repeat;
    uint32_t cluster[3]; /* 0: as the kernel says */
    bool cooperative;
    VEC(PlanArg) args;
    VEC(PlanCopy) copies;
    VEC(uint32_t) unordered; /* buffers whose contents may depend on the order of threads */
} PlanLaunch;

typedef struct {
    uint32_t buffer;
    const char *equals;    /* "@file" */
    const uint8_t *values; /* or values */
    uint64_t nvalues;
    const uint8_t *want; /* set by plan_read_expected */
    bool has_hash;
    uint64_t hash; /* or XXH64, seed 0, of the bytes */
    uint64_t ulp;
    double abs; /* a difference of up to this, or of `ulp` units, is no difference */
} PlanCheck;

typedef struct {
    Arena arena;
    const Source *source; /* the launch file, or NULL: positions in it are given with errors */
    SrcLoc loc;           /* what is being read of it */
    const char *module;   /* file name in the launch file, or NULL */
    const char *data_dir; /* where @file is; NULL: as written */
    VEC(PlanBuffer) buffers;
    VEC(PlanTexture) textures;
    VEC(PlanTensor) tensors;
    VEC(PlanMulticast) multicasts;
    VEC(PlanLaunch) launches;
    VEC(PlanCheck) checks;
    Fills *fills;          /* contents that are kept for further memories, or NULL */
    const Target *numbers; /* the PTX computes what a target leaves its mark on as this one; NULL: as bru1 */
} Plan;

void plan_free(Plan *plan);

/* The file's plan; the name and the characters of `text` must live as long as the plan. "module" and, unless
 * p->data_dir is set, data are relative to its directory. E0501, E0502. */
bool plan_read_json(Plan *p, const Source *text, Diags *diags);
/* The plan as a launch file, without checks; malloc'ed. */
char *plan_print_json(const Plan *plan);
/* One --arg: "u32:7", "f32[4]:1,2,3,4", "buf:f32[1024]=iota", "out:c:f32[1024]", appended to the last launch.
 */
bool plan_add_arg(Plan *plan, const char *text, Diags *diags);
/* The last launch's arguments from `first` on become one, a structure that has them one behind the other.
 * E0502. */
bool plan_join_args(Plan *plan, uint32_t first, Diags *diags);
/* The 8 bytes of an argument from `at` on, of buffers their addresses. Behind plan_memory. */
uint64_t plan_arg_word(const Plan *plan, const PlanArg *arg, uint32_t at);
bool plan_add_expect(Plan *plan, const char *text, Diags *diags); /* "c=@file" or "c=value,value" */
uint32_t plan_find_buffer(const Plan *plan, const char *name);    /* index + 1, or 0 */
/* "NAME" or "NAME+BYTES" of a buffer: index + 1, or 0. A name that has a plus comes first. */
uint32_t plan_find_place(Plan *plan, const char *text, uint64_t *offset_bytes);
/* The elements of the buffer at that address; NULL: no buffer's. */
const Scalar *plan_element_of(const Plan *plan, uint64_t address);
/* The element that has byte `offset` of it, which begins at byte *begin: a field of its records where they
 * say what is there. */
const Scalar *plan_element_at(const Plan *plan, uint64_t address, uint64_t offset, uint64_t *begin);

uint32_t plan_find_texture(const Plan *plan, const char *name); /* index + 1, or 0 */
uint32_t plan_find_tensor(const Plan *plan, const char *name);
uint32_t plan_find_multicast(const Plan *plan, const char *name);
/* The multicast objects of the plan in the memory that has its buffers; sets their addresses. E0504. */
bool plan_make_multicasts(Plan *plan, SimMemory *mem, Diags *diags);
/* Names of SimTensorType, of SimTensorMap.swizzle and .nan_fill; they end with NULL. */
extern const char *const plan_tensor_types[], *const plan_tensor_swizzles[], *const plan_tensor_fills[];

/* The path of the data that "@file" names. */
const char *plan_data_path(Plan *plan, const char *at_file);
/* The first file of data that cannot be read, as the launch file names it; NULL: all can. */
const char *plan_missing_data(Plan *plan);

/* Guest memory without buffers yet, which lays those that are large enough across borders of 4 GiB; NULL: the
 * host has no memory. */
SimMemory *plan_empty_memory(void);
/* Guest memory with all buffers allocated in order and initialised; sets their addresses. NULL: reported. */
SimMemory *plan_memory(Plan *plan, Diags *diags);

typedef struct {
    uint32_t offset_bytes, size_bytes;
    bool is_handle; /* a word behind the block: the lower half of a handle; of 0 bytes where no code reads it
                     */
} PlanParam;
/* The launch of a kernel with these parameters; what it refers to is in the plan's arena. E0503. */
bool plan_launch(Plan *plan, const PlanLaunch *launch, const char *kernel, const PlanParam *params,
                 uint32_t nparams, Launch *out, Diags *diags);

/* Does what the buffer holds follow from the addresses of buffers (plan_records.c)? */
bool plan_init_waits(const PlanBuffer *buffer);
bool plan_init_addresses(Plan *plan, const PlanBuffer *buffer, SimMemory *mem, Diags *diags);
/* E0504: what is wrong with a buffer; false. */
bool plan_buffer_fails(const Plan *plan, Diags *diags, const PlanBuffer *buffer, const char *what);

/* The copies before the launch, in its memory. E0504. */
bool plan_copy(const Plan *plan, const PlanLaunch *launch, SimMemory *mem, Diags *diags);

/* What each launch's kernel does with the textures among its arguments (plan_uses.c). */
void plan_note_uses(Plan *plan, const PtxModule *module);

/* Read what the checks compare with, so that a wrong file or size is found before anything runs. */
bool plan_read_expected(Plan *plan, Diags *diags);
/* Is what the checks say true of the memory? Each failure is reported as E0520 and counted. False: a check
 * could not be made (reported). */
bool plan_check(Plan *plan, const SimMemory *mem, uint32_t *failures, Diags *diags);
#endif
