/* The SIMT machine: executes the decoded bytes of a loaded binary, warp by warp, with the mask semantics of
 * the branch-unit and barrier-unit specification as resolved for bru1 (state: Valid, Active, Yield, Sleep,
 * Switch masks, one PC, 16 B registers for a warp; a parked PC for each lane). It is told nothing about the
 * PTX.
 *
 * Blocks run one after another; a further block becomes resident when the resident ones can prove no progress
 * or take very long, so that programs in which blocks wait for each other run too. The order is fixed: same
 * inputs, same result. With several threads (MachineOptions.jobs) that holds for programs without data races
 * whose atomics give the same result in any order.
 *
 * BARState, the 32 bits that B2R and R2B move (the specification names no layout):
 *   0-5 arrived warps   6-12 expected count / 32   13-14 kind: 0 free, 1 SYNC/ARV, 2 RED   15-16 reduction
 *   17 AND so far   18 OR so far   19-29 number of true predicates so far
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_MACHINE_MACHINE_H
#define HEDDLE_SIM_MACHINE_MACHINE_H
#include "emit/elf/binary.h"
#include "sim/launch.h"
#include "sim/system.h"

/* Readings of the specification's text, one row of policy.def each; the first value is the default. */
typedef enum {
    MACHINE_LANE_LOWEST,
    MACHINE_LANE_HIGHEST,
    MACHINE_LANE_ROTATE,
    MACHINE_LANE_RANDOM
} MachineLaneChoice;
typedef enum { MACHINE_FALLTHROUGH_FIRST, MACHINE_TAKEN_FIRST } MachineBranchOrder;
typedef enum { MACHINE_JOIN_ALL, MACHINE_JOIN_CANDIDATES } MachineJoinScope;
typedef enum { MACHINE_NB_RELEASE, MACHINE_NB_BLOCKED, MACHINE_NB_LITERAL } MachineBsyncNb;
typedef enum {
    MACHINE_TURNS_TARGET,
    MACHINE_TURNS_OTHER,
    MACHINE_TURNS_NONE,
    MACHINE_TURNS_TRIED
} MachineWarpsyncTurns;
typedef enum { MACHINE_BSSY_TARGET, MACHINE_BSSY_OTHER, MACHINE_BSSY_OR, MACHINE_BSSY_ASSIGN } MachineBssy;
typedef enum { MACHINE_CLEAR_ARRIVED, MACHINE_CLEAR_ACTIVE } MachineBsyncClear;
typedef enum { MACHINE_SLEEP_AWAKE, MACHINE_SLEEP_SUBSET, MACHINE_SLEEP_LITERAL } MachineSleepTest;
typedef enum { MACHINE_YIELD_NEXT, MACHINE_YIELD_OWN } MachineYieldPc;
typedef enum { MACHINE_NANOSLEEP_SLEEPS, MACHINE_NANOSLEEP_LITERAL } MachineNanosleep;
typedef enum { MACHINE_MASKS_ARRIVED, MACHINE_MASKS_VALID } MachineWarpsyncMasks;
typedef enum { MACHINE_AGREE_WAIT, MACHINE_AGREE_ASSERT } MachineWarpsyncAgree;
typedef enum { MACHINE_EXITS_RELEASE, MACHINE_EXITS_MISSING } MachineBarExits;
typedef enum { MACHINE_WARPS_ASCENDING, MACHINE_WARPS_DESCENDING } MachineWarpOrder;
typedef enum { MACHINE_COPIES_AT_ONCE, MACHINE_COPIES_LATE } MachineCopies;
typedef enum { MACHINE_UNWRITTEN_AS_USED, MACHINE_UNWRITTEN_ZERO, MACHINE_UNWRITTEN_OTHER } MachineUnwritten;
typedef enum {
    MACHINE_MUFU_EXACT,
    MACHINE_MUFU_1_MORE,
    MACHINE_MUFU_1_LESS,
    MACHINE_MUFU_2_MORE,
    MACHINE_MUFU_2_LESS
} MachineMufuUlp;
typedef struct MachineJit MachineJit;
typedef struct MachineThreads MachineThreads;
typedef enum { MACHINE_MUFU_TARGET, MACHINE_MUFU_KEEPS, MACHINE_MUFU_FLUSHES } MachineMufuSubnormal;

#define POLICY(type, field, ...) type field;
typedef struct {
#include "sim/machine/policy.def"
} MachinePolicies;
#undef POLICY

typedef struct { /* one issued instruction */
    uint32_t block[3], warp;
    uint64_t pc_bytes;                /* in the binary's code address space */
    uint64_t func_pc_bytes;           /* from the start of its function */
    const BinFunc *func;              /* NULL outside every function */
    const BinLoc *loc;                /* NULL if unknown */
    uint32_t valid, active, executed; /* lane masks; executed = active lanes whose guard is true */
    const MachInst *inst;
    const char *text;  /* disassembly, "" with trace_no_text */
    const void *state; /* for machine_trace_reg and machine_trace_access */
} MachineTrace;
/* During a trace call: a register of a lane, as it is before the instruction. Predicates are 0 or 1. */
uint32_t machine_trace_reg(const MachineTrace *trace, RegFile file, unsigned reg, unsigned lane);
/* ... and the address that a global or generic memory operation accesses for a lane; 0 for other
 * instructions. */
uint64_t machine_trace_address(const MachineTrace *trace, unsigned lane);
typedef void MachineTraceFn(void *user, const MachineTrace *t);

/* A call to the host: what the program reports with TRAP (BPT on native targets), RTT or SYSCALL. */
typedef enum { MACHINE_CALL_TRAP, MACHINE_CALL_RTT, MACHINE_CALL_SYSCALL } MachineCallKind;
typedef struct {
    MachineCallKind kind;
    const char *name; /* "TRAP" */
    uint32_t block[3], warp;
    uint64_t pc_bytes;          /* in the binary's code address space */
    uint64_t func_pc_bytes;     /* from the start of its function */
    const BinFunc *func;        /* NULL outside every function */
    uint32_t ptx_line;          /* 0 unknown */
    uint32_t lanes;             /* that execute it: active, guard true; never 0 */
    bool has_value;             /* TRAP has an operand */
    uint32_t value[32];         /* it, in these lanes; 0 in the others */
    const uint32_t (*regs)[32]; /* R0 to R254 of all lanes, as long as the call lasts */
} MachineCall;
/* true: the lanes go on behind the instruction; false: the launch stops, as it does where there is no
 * handler. */
typedef bool MachineCallFn(void *user, const MachineCall *c);
typedef struct { /* what a lane is about to write */
    bool atomic;
    uint64_t address; /* generic */
    uint32_t size_bytes, element_bytes;
    uint8_t data[16]; /* of an atomic its operand, of compare-and-swap what is compared */
} MachineAccess;
/* Within a trace callback: the write of one executing lane. False if the instruction is no store and no
 * atomic, or one that does nothing for the lane (docs/native.md "Atomics at generic addresses"). */
bool machine_trace_access(const MachineTrace *trace, unsigned lane, MachineAccess *out);

/* A schedule: what control instructions do, in order of execution, instead of what data would make them do.
 * The model checker writes them (docs/check.md). One warp runs the kernel's control flow; memory of the block
 * and of the grid is not accessed, NANOSLEEP is a YIELD, a barrier of the block is passed. */
typedef enum { REPLAY_GUARD, REPLAY_TARGET, REPLAY_MASK, REPLAY_PICK } MachineReplayKind;
typedef struct {
    uint64_t pc_bytes;
    uint8_t kind; /* MachineReplayKind */
    uint32_t active,
        lanes; /* lanes whose guard is true; that go to target[]; WARPSYNC's mask; lane that is resumed */
    uint64_t target[4]; /* of the lanes in ascending order */
} MachineReplayStep;
typedef struct {
    uint32_t lanes; /* that the warp has */
    const MachineReplayStep *steps;
    uint32_t nsteps, loop; /* steps[loop ..] are repeated: the machine must come to the same state again */
    uint64_t end_pc_bytes; /* no loop: where something wrong must happen */
    bool violation;
} MachineReplay;

typedef struct {
    uint64_t seed; /* of MACHINE_LANE_RANDOM */
    union {        /* all at once, or each by its name */
        MachinePolicies policies;
        struct {
#define POLICY(type, field, ...) type field;
#include "sim/machine/policy.def"
#undef POLICY
        };
    };
    uint64_t max_issues;         /* warp instructions of the launch, 0: 4e9 */
    uint32_t quantum;            /* warp instructions before another warp runs, 0 = default */
    uint32_t max_resident;       /* blocks at a time, 0 = default; of each thread */
    uint32_t jobs;               /* threads that execute the blocks (crew.c), 0: one */
    MachineThreads *threads;     /* from one launch to the next; NULL: of this one alone */
    uint32_t ticks_per_us;       /* NANOSLEEP: warp instructions in a microsecond, 0 = 1000 */
    bool report_undefined;       /* follow undefined values; report uses that matter (slow) */
    bool check_control;          /* obey stall counts and scoreboards strictly (slow) */
    bool no_deadlock_proof;      /* leave endless loops to max_issues */
    const char *host_level;      /* "base", "v2", "v3", "v4"; NULL = the best this host has */
    uint8_t *reached;            /* NULL, or Binary.ncode bytes: 1 where an instruction was issued */
    const uint8_t *aligned;      /* NULL, or Binary.ncode bytes: 1 at barriers that need the whole warp, of
                                    machines      whose words do not say so */
    const MachineReplay *replay; /* NULL = none */
    MachineTraceFn *trace;       /* NULL = none */
    void *trace_user;
    MachineJit *jit;     /* NULL = interpret everything; else compile what runs often (machine_jit_open) */
    MachineCallFn *call; /* NULL = every call to the host stops the launch */
    void *call_user;
    SimPrintFn *print; /* what vprintf prints, as it happens; NULL = nobody reads it */
    void *print_user;
    bool trace_no_text;
} MachineOptions;

typedef enum {               /* things worth reporting that do not stop the launch */
               MF_UNDEFINED, /* an undefined value decided a branch, an address, a guard, or was stored */
               MF_HAZARD,    /* register read before its producer's stall count or scoreboard allows */
               MF_PARTIAL_BARRIER,  /* BAR with some valid lanes elsewhere */
               MF_COLLECTIVE,       /* SHFL from a lane that does not execute it */
               MF_UNIFORM_DIVERGED, /* uniform register written while some valid lanes are elsewhere */
               MF_BSYNC_HOPS,       /* more than 16 BSYNC switches in a row */
               /* with tracing or a checked mode only: */
               MF_LANE_LOST, /* a lane neither active nor parked */
               MF_RPC,       /* a lane parked outside the code */
               MF_STALE,     /* a B register holds a lane that is not in its region */
               MF_KIND_COUNT
} MachineFindingKind;
const char *machine_finding_name(MachineFindingKind k);

typedef struct { /* one kind at one instruction */
    MachineFindingKind kind;
    uint64_t pc_bytes, other_pc_bytes; /* code addresses; other: the producer, for MF_HAZARD */
    uint64_t count;
    uint32_t block[3], warp, lanes; /* of the first occurrence */
    const BinFunc *func;
    uint32_t ptx_line;
    char source[64]; /* as in SimTrap */
    char text[96];
} MachineFinding;

typedef struct {
    uint64_t issues, lane_issues;           /* all instructions: warp instructions, active lanes summed */
    uint64_t data_issues, data_lane_issues; /* without control, B and barrier operations */
    uint64_t true_lane_issues;              /* of the lanes, those whose guard is true */
    uint64_t data_true_lane_issues;         /* of data instructions */
    uint64_t b_issues;                      /* BSSY BSYNC BREAK BMOV WARPSYNC YIELD */
    uint64_t bsync_releases;                /* BSYNC passed while lanes were pending */
    uint64_t switches;                      /* of the active group */
    uint64_t bsync_hops;                    /* of those, the ones of a group that waits at a BSYNC */
    uint64_t divergences;                   /* branches that split a group */
    uint64_t barriers;                      /* completed phases */
    uint32_t max_resident;                  /* blocks at a time */
} MachineStats;

typedef struct {
    SimTrap trap; /* kind TRAP_NONE if the launch finished */
    MachineStats stats;
    MachineFinding *findings; /* sorted by first occurrence; at most MACHINE_MAX_FINDINGS */
    uint32_t nfindings;
    uint64_t findings_dropped;
} MachineResult;
#define MACHINE_MAX_FINDINGS 256u

/* Run one launch of `kernel`.
 *   mem   global memory; global variables of the binary get allocations of their names (kept if they exist
 * and have the right size, else initialised), as do .const variables (read-only) opt   NULL = defaults
 *   returns true if the launch finished. A trap is in res->trap and is reported as E0551; a launch that
 * cannot start is reported as E0550 and leaves trap.kind TRAP_NONE. */
bool machine_run(const Binary *binary, const char *kernel, const Launch *launch, SimMemory *mem,
                 const MachineOptions *opt, MachineResult *res, Diags *diags);
void machine_result_free(MachineResult *res);

/* What machine_run does first: allocate and initialise those variables that `mem` does not have. E0515. */
bool machine_place_variables(const Binary *b, SimMemory *mem, Diags *diags);

/* The same launch many times, for comparing policies: what is decoded and allocated once stays. `b`, `l` and
 * `mem` stay where they are until the session is closed; between runs the caller may change bytes of `mem`,
 * and nothing may be allocated in it. machine_run is one run of a session. */
typedef struct MachineSession MachineSession;
MachineSession *machine_open(const Binary *binary, const char *kernel, const Launch *launch, SimMemory *mem,
                             const char *host_level, Diags *diags); /* NULL: reported as E0550 */
bool machine_session_run(MachineSession *session, const MachineOptions *opt, MachineResult *res,
                         Diags *diags);
void machine_close(MachineSession *session);

/* Threads for launches one after the other: those that one with several jobs has started wait for the next.
 */
MachineThreads *machine_threads_open(void);
/* They end. NULL is fine. Between launches. */
void machine_threads_close(MachineThreads *threads);

/* The compiling engine: libLLVM, opened when the first region is hot, and what it made, for launches one
 * after the other. It changes nothing but the time they take. after: warp instructions in a loop
 * before it is compiled, 0 = when that pays. */
typedef struct {
    uint32_t regions, instructions; /* compiled */
    uint32_t found;                 /* regions whose code was on disk */
    uint32_t copied;                /* regions made of stencils */
    uint64_t executed;              /* warp instructions by compiled code */
    double seconds;                 /* of compiling, opening the library included */
    char failed[160];               /* why there is none, "" if nothing failed */
} MachineJitStats;
/* Prepared machine code is copied, which takes no time worth naming: never, instead of libLLVM, or before it.
 */
typedef enum { MACHINE_STENCILS_NEVER, MACHINE_STENCILS_ONLY, MACHINE_STENCILS_FIRST } MachineStencils;
typedef struct {
    uint32_t after;
    MachineStencils stencils;
    /* another thread compiles while the launch goes on, with after = 0 if this one has had a core to itself
     * until then; what it has compiled when the run ends is lost */
    bool background;
    bool quick; /* code that is made several times faster, and runs several times slower */
    /* a folder in which code is kept from one process to the next, with a bound to its size; NULL: none */
    const char *cache;
} MachineJitOptions;
MachineJit *machine_jit_open(const MachineJitOptions *options);
/* Wait for the thread that compiles. Between launches. */
void machine_jit_wait(MachineJit *jit);
/* NULL is fine. False: a thread still compiles, which takes up to seconds, and is left to end by itself.
 * Destructors of libLLVM must not run meanwhile: whoever ends the process before it has ended does so with
 * _exit. */
bool machine_jit_close(MachineJit *jit);
const MachineJitStats *machine_jit_stats(MachineJit *jit);

/* Text of the numbers, for --stats; returns the length needed. */
int machine_stats_print(const MachineStats *stats, char *out, size_t out_bytes);
const char *machine_best_level(void);
bool machine_has_level(const char *name); /* built, and this host can run it */
/* Can compiled code run beside this level's handlers? NULL: the best level's. */
bool machine_level_compiles(const char *name);
#endif
