/* The PTX reference interpreter: executes a typed module thread by thread, as the PTX ISA describes it. It
 * knows nothing of lowering or of the machine. Threads interleave under a seeded schedule; memory is
 * sequentially consistent. Numerics: docs/numerics.md.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_INTERP_INTERP_H
#define HEDDLE_SIM_INTERP_INTERP_H
#include "frontend/ast.h"
#include "sim/launch.h"
#include "sim/system.h"

typedef enum { PTX_ACCESS_NONE, PTX_ACCESS_STORE, PTX_ACCESS_ATOMIC } PtxAccessKind;
typedef enum {
#define PTX_VALUE(id, name, text) PTX_VALUE_##id,
#include "sim/interp/values.def"
#undef PTX_VALUE
    PTX_VALUE_COUNT
} PtxValue;
const char *interp_value_name(PtxValue value); /* "equal" */
const char *interp_value_text(PtxValue value); /* what was seen, and what it tells apart */
/* Bits 1 << PtxValue that operands of the statement may show. */
uint32_t interp_value_classes(const PtxInsn *insn);

/* Statements outside of any launch. */
typedef struct PtxConstants PtxConstants;
PtxConstants *interp_constants(const PtxModule *module, const PtxFunc *func, Arena *arena);
/* What a statement gives its only destination, a register, where all that it reads is known: regs has the
 * bits of each register that it reads, by number, and gets those of the destination. The guard is left aside.
 * False if it does more than compute, or reads more than registers and numbers; regs is untouched then. */
bool interp_constant(PtxConstants *constants, const PtxInsn *insn, uint64_t *regs);

/* What a module leaves to the compiler: bits. */
enum {
    PTX_LATITUDE_FUSE = 1,   /* sums of products, f32 of sums and products of f16 */
    PTX_LATITUDE_APPROX = 2, /* .approx, .full */
    PTX_LATITUDE_SIGN = 4    /* neg and abs of a NaN */
};
unsigned interp_latitude(const PtxModule *module);
typedef enum {
    PTX_APPROX_AS_IS,
    PTX_APPROX_STEPS,
    PTX_APPROX_UP,
    PTX_APPROX_DOWN,
    PTX_APPROX_MIXED
} PtxApprox;

typedef struct { /* what a statement wrote to global or shared memory; local memory and parameters are not
                    reported */
    uint8_t kind;
    uint8_t element_bytes; /* of an atomic of numbers; else 0 */
    uint32_t size_bytes;
    uint64_t address;    /* generic */
    const uint8_t *data; /* in memory; of an atomic of numbers what it is given, element by element */
} PtxAccess;

/* One executed thread instruction, after it was done (guard false: before it was skipped); what waits for
 * other threads and gives a value, when the thread goes on. Valid during the call. */
typedef struct {
    const PtxFunc *func;
    uint32_t insn; /* index in func->insns */
    uint32_t block[3], thread[3];
    uint32_t next;        /* bra, brx.idx: index of the statement with which the thread goes on */
    bool executed;        /* false: the guard was false */
    uint8_t access_bytes; /* global or shared memory was read or written at `address`; 0 none */
    bool shared, writes;  /* shared: `address` is the offset in the block's shared memory */
    uint64_t address;
    uint8_t ndst; /* registers written, elements of vectors included */
    uint32_t dst_reg[8];
    uint64_t dst_value[8];
    PtxAccess access;
} PtxEvent;

/* What a target leaves its mark on (docs/numerics.md 7): how many products of floats are added at once, in
 * bytes of a line of a factor (0: 16), how many bits of each are kept below the highest exponent (0: 24);
 * whether a sum of f16 is rounded behind each 8 of k. */
typedef struct {
    uint8_t bytes, bits;
    bool half;
} PtxSums;

/* What activemask gave the threads of a launch elsewhere, each in its order: those of thread t are
 * masks[first[t]] to masks[first[t + 1] - 1]; t is the number of the block times the threads of one, plus the
 * thread's. */
typedef struct {
    const uint32_t *masks, *first;
} PtxActive;

typedef struct {
    /* 0: fixed order, warps and lanes ascending, switching lanes at atomics; else a random schedule */
    uint64_t seed;
    uint64_t budget;           /* thread instructions, 0: 4e9 */
    uint32_t resident_blocks;  /* blocks that run at the same time, 0: 16 */
    bool report_uninitialised; /* registers, global and shared memory read before they were written */
    bool report_open;          /* operands for which the PTX document leaves the result open: bfe, bfi */
    bool lockstep;     /* seed 0: lanes of a warp that stand together execute each statement together */
    bool descending;   /* seed 0: the last warp of a block first */
    uint32_t turn;     /* seed 0: thread instructions of a warp before the next one's turn, 0: 32768 */
    uint32_t held;     /* seed 0, no lockstep: 1 + number of the warp of each block that goes on only where */
    uint64_t held_for; /* ... no other can, for so many of the first thread instructions of all */
    bool split_active; /* activemask gives a random part of the lanes that stand there */
    const PtxActive *active;       /* or NULL: it gives these, see PtxRunResult.nactive */
    bool allow_divergent_barriers; /* aligned barriers may be met at different instructions */
    /* Other things that a compiler may do (sim/interp/latitude.c): fuse products into sums, where both
     * operands are products the first (1) or the second (2); .approx and .full results at the ends of their
     * bounds; neg and abs that change the sign of a NaN and no other bit */
    uint8_t fuse;
    uint8_t approx; /* PtxApprox */
    bool sign_alone;
    PtxSums sums; /* of products of matrices */
    /* What PTX does not say (sim/interp/unwritten.c): random values of this seed, not 0, where nobody wrote,
     * in registers, local and shared memory, what malloc gives and what shuffles take from lanes that are not
     * there; and local and shared variables lie so much higher, a multiple of 1024, and shared ones so far
     * apart: between them is no memory */
    uint64_t fill;
    bool fill_word; /* or SIM_UNWRITTEN_WORD, as the machine has it in a comparison */
    uint32_t moved_bytes;
    bool late_copies; /* cp.async is done when it is waited for, not at once; find_races has it so, too */
    bool find_races;  /* of data, by happens-before: see sim/interp/race.c */
    uint8_t *const
        *reached; /* or NULL; by function: ninsns bytes that become 1 where execution came, or NULL */
    uint32_t *const *values; /* or NULL; by function: to the ninsns words bits 1 << PtxValue are added */
    void (*on_event)(void *user, const PtxEvent *e); /* or NULL */
    SimPrintFn *print;                               /* what vprintf prints, as it happens; or NULL */
    void *print_user;
    /* or NULL; at most one per instruction and kind. Always: TRAP_NOT_UNIFORM, `.uni` or the guard of an
     * aligned barrier is not uniform; TRAP_DIVERGENT_BARRIER, a part of a warp goes around an aligned barrier
     */
    void (*on_warning)(void *user, const SimTrap *w);
    void *user;
} PtxRunOptions;

typedef struct {
    uint32_t line;   /* of the PTX statement */
    char source[64]; /* as in SimTrap */
    uint32_t block[3], thread[3];
    char text[64]; /* "st.global.u32" */
} PtxRaceSide;
typedef struct {               /* two statements whose accesses of the same bytes nothing orders */
    PtxRaceSide first, second; /* of one occurrence, as executed */
    bool same_value; /* all occurrences: the store wrote what was there. No result depends on the order */
    bool shared;
    char name[64];         /* variable or buffer */
    uint64_t offset_bytes; /* of that occurrence */
    uint64_t count;
} PtxRace;

typedef struct {
    uint64_t thread_insns;  /* executed with a true guard */
    uint64_t skipped_insns; /* guard false */
    uint64_t stores;        /* bytes, words or elements of vectors stored to global memory, texts printed */
    uint32_t nwarnings;
    SimTrap first_warning;     /* kind TRAP_NONE if there was none */
    SimTrap trap;              /* kind TRAP_NONE if the grid finished */
    PtxRace *races;            /* of find_races, at most 64; for interp_races_free */
    uint32_t nraces, nharmful; /* harmful: not same_value */
    /* With PtxRunOptions.active: lanes that got the mask that was next for each lane of it, all of which
     * stood at one activemask; that got a later one in this way, or just those that stood there with them */
    uint64_t nactive, nactive_later, nactive_other;
    uint64_t nstrong; /* of find_races: strong operations, which may find memory in any order */
} PtxRunResult;
/* An atomic or a load or store that is volatile, relaxed or stronger (PTX ISA 8.5): unordered ones are no
 * races. */
bool interp_is_strong(const PtxInsn *insn);
void interp_races_free(PtxRunResult *res);
/* Three lines, the last without end; the length needed. */
int interp_race_print(const PtxRace *race, char *out, size_t out_bytes);

/* Place the module's .global and .const variables in `mem` under their names, initialised, where allocations
 * of these names are not yet there. Both engines call it first, so addresses agree. Needs no kernel. */
bool interp_place_variables(const PtxModule *module, SimMemory *mem, Diags *diags);

/* Run one launch. `opt` may be NULL. Returns false, having reported E05xx, if the launch cannot start:
 * unknown kernel, impossible launch, an instruction that is not supported anywhere in the code reachable from
 * the kernel. A trap while running is no such error: it returns true with res->trap set, memory as it was at
 * the trap. */
bool interp_run(const PtxModule *module, const char *kernel, const Launch *launch, SimMemory *mem,
                const PtxRunOptions *opt, PtxRunResult *res, Diags *diags);
#endif
