/* Inside the PTX interpreter: predecoded instructions, threads, warps, blocks. Not for other folders.
 *
 * A register is one 64-bit slot of its thread's frame; it holds the value zero-extended from the register's
 * width. Instructions that only compute are pure functions of up to three values (`PtxPure`); all others have
 * a handler (`PtxExec`) that may block the thread, move its pc or trap.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_INTERP_RUN_H
#define HEDDLE_SIM_INTERP_RUN_H
#include "base/rng.h"
#include "sim/interp/interp.h"
#include "sim/interp/math.h"
#include "sim/interp/race.h"

#define LOCAL_FIRST_BYTE 1024u         /* local offsets below are never valid: catches null pointers */
#define LOCAL_MAX_BYTES (512u * 1024u) /* local memory of a thread */
#define LOCAL_GAP_BYTES 32u            /* before and behind a .local variable */
#define MAX_CALL_DEPTH 4096u
#define PARAM_WINDOW SIM_PARAM_WINDOW

typedef struct {                          /* a .const variable */
    uint64_t offset, size_bytes, address; /* in its space; of its allocation in the guest's memory */
} PtxConstant;

typedef struct PtxCode PtxCode;
typedef struct PtxRun PtxRun;
typedef struct PtxThread PtxThread;
typedef struct PtxWarp PtxWarp;
typedef struct PtxBlock PtxBlock;
typedef struct PtxProc PtxProc;
typedef struct RaceThread RaceThread;

typedef enum {
    STEP_GO,    /* next instruction */
    STEP_YIELD, /* let another thread run */
    STEP_STOP   /* the thread is blocked, has ended, or the launch trapped */
} PtxStep;
typedef PtxStep PtxExec(PtxRun *r, PtxThread *t, const PtxCode *c);
typedef void PtxGather(PtxWarp *warp, uint32_t lanes);
typedef uint64_t PtxPure(uint64_t a, uint64_t b, uint64_t c, const PtxCode *k);

typedef enum {
    ARG_IMM,
    ARG_REG,
    ARG_NOT_REG,
    ARG_NEG_REG,
    ARG_SREG,
    ARG_LOCAL,         /* address in the frame's local memory */
    ARG_SHARED,        /* address of the block's shared memory in its cluster */
    ARG_DYNAMIC_SHARED /* address of the block's dynamic shared memory */
} ArgKind;
typedef struct {
    uint8_t kind;
    uint8_t bytes;     /* register width; 0 predicate */
    uint8_t component; /* special registers */
    uint32_t slot;     /* register, or PtxSreg */
    uint64_t imm;      /* immediate, or offset (ARG_LOCAL, ARG_DYNAMIC_SHARED) */
} PtxArg;

typedef struct { /* where a destination goes; slot 0 discards */
    uint32_t slot;
    uint64_t mask;
} PtxDst;

enum {
    PTX_FUSED_MINUS_PRODUCT = 1,
    PTX_FUSED_MINUS_ADDEND = 2,
    PTX_FUSED_QUOTIENT = 4,
    PTX_FUSED_FULL = 8,
    PTX_FUSED_WIDE_PRODUCT = 16
};
#define CODE_MAX_SRC 5
struct PtxCode {
    PtxExec *exec;
    PtxExec *watched; /* where watch != 0: what exec calls in the end */
    union {
        PtxPure *pure;     /* interp_exec_pure */
        PtxGather *gather; /* collectives of a warp: what its lanes do when they are all there */
    };
    PtxPure *inner;   /* what a pure function of sim/interp/latitude.c calls */
    int8_t direction; /* ... and which way it moves the result */
    uint8_t
        fused; /* PTX_FUSED_*: what a sum or cvt that has taken another operation in makes of its operands */
    uint32_t guard; /* slot of the guard predicate, 0 none */
    bool guard_not, ftz, sat;
    uint8_t nsrc, ndst, nvec;
    uint8_t type, type2, rnd, cmp, bop, sub, sub2, atom;
    uint32_t values;    /* interp_value_classes, with PtxRunOptions.values */
    uint8_t watch;      /* PTX_WATCH_*: sim/interp/promise.c */
    uint8_t space;      /* of the access; SP_PARAM is the kernel's parameters, a function's are SP_LOCAL */
    uint8_t size_bytes; /* of one memory element: type's, which of .b128 is that of its halves */
    PtxDst dst[2];
    PtxArg src[CODE_MAX_SRC];
    PtxArg *vec;              /* elements of a vector source; mma: of A, B, C, and the places of a sparse A */
    uint8_t fragment[4];      /* mma: registers of D, A, B, C */
    uint8_t nread, nwritten;  /* of vec, of vec_dst */
    PtxDst *vec_dst;          /* elements of a vector destination */
    uint64_t offset, offset2; /* added to the address in src[0]; cp.async: to the one in src[1] */
    uint64_t offset3;         /* cp.async.bulk: to that of the mbarrier object, src[3] */
    const PtxCode **targets;  /* bra: [0]; brx: the table */
    uint32_t ntargets;
    PtxProc *callee;   /* direct call */
    SystemFunc system; /* a call of the driver's function, SYSTEM_COUNT: of none */
    uint32_t key;      /* warp collectives match on it */
    PtxProc *proc;
    const PtxInsn *insn; /* NULL for the sentinel at the end */
    uint32_t *warned;    /* bit set of SimTrapKind already reported here */
};

struct PtxProc { /* a decoded function */
    const PtxFunc *func;
    uint32_t index;
    PtxCode *code; /* ninsns + 1; the last one is the implicit ret */
    uint32_t nslots;
    uint32_t frame_bytes; /* local memory of a frame, multiple of 32 */
    uint32_t gap_bytes;   /* of them around .local variables */
    uint32_t *owner;      /* of each byte of the frame, with gaps: index + 1 of the variable; 0 none */
    uint32_t *var_offset; /* by variable index: offset of .local/.param variables in the frame */
    bool decoded;
    uint32_t first_code; /* number of code[0] among all procs, for races */
    uint8_t *reached;    /* PtxRunOptions.reached of the function */
    uint32_t *values;    /* PtxRunOptions.values */
    uint32_t *looks;     /* how often that was asked for a statement */
};

typedef enum {
    TS_RUN,
    TS_COLLECTIVE, /* at a warp collective, waiting for its mask */
    TS_BARRIER,    /* at a barrier, waiting for the lanes of its warp */
    TS_BLOCK,      /* its warp has arrived; waiting for other warps */
    TS_CLUSTER,    /* at barrier.cluster.wait */
    TS_PRODUCTS,   /* at wgmma.wait_group, waiting for other warps of its group */
    TS_ACTIVE,     /* at activemask, waiting for the warp to gather */
    TS_EXITED
} PtxThreadState;

typedef struct {
    PtxProc *proc;
    const PtxCode *ret_pc; /* the call's next instruction, NULL for the kernel */
    const PtxCode *call;
    uint32_t slot_base, local_base;
    uint32_t gap_bytes; /* of this frame and all below */
} PtxFrame;

typedef struct { /* of cp.async, not written yet */
    const PtxCode *code;
    uint64_t to;    /* in shared memory */
    uint32_t group; /* groups that the thread had committed before */
    uint8_t data[16];
} PtxCopy;

struct PtxThread {
    const PtxCode *pc;
    uint64_t *regs; /* slots of the current frame */
    uint8_t *init;  /* report_uninitialised: slot was written; else NULL */
    PtxWarp *warp;
    uint8_t state, lane;
    bool cc; /* carry flag */
    uint32_t tid[3], linear;
    PtxProc *proc;
    uint64_t *slots;
    uint8_t *slot_init;
    uint32_t nslots, slots_cap;
    PtxFrame *frames;
    uint32_t nframes, frames_cap;
    uint8_t *local;
    uint32_t local_base, local_top, local_cap;
    const PtxCode *wait; /* the blocking instruction */
    const PtxCode *late; /* slow loop: it blocked, its event is not reported yet */
    uint32_t wait_mask;
    uint32_t nactive; /* masks of PtxRunOptions.active that it is past */
    uint64_t wait_value[4];
    uint64_t insns;
    uint64_t path;         /* of branches taken since the last barrier, as a hash; see sim/interp/promise.c */
    uint64_t nbarriers;    /* aligned barriers executed */
    const PtxCode *looked; /* the last strong load, where it looked and what it saw */
    uint64_t looked_at, saw;
    const PtxCode *last_barrier;
    VEC(PtxCopy) copies;    /* that are late */
    uint32_t groups;        /* of copies that it has committed */
    bool arrived;           /* at barrier.cluster, and has not waited since */
    uint64_t arrival_phase; /* of the cluster, then */
};

struct PtxWarp {
    PtxBlock *block;
    PtxThread *threads; /* 32, fewer in a last partial warp */
    uint32_t nlanes;
    uint32_t alive;                     /* lanes that have not ended; the next two are subsets */
    uint32_t at_collective, at_barrier; /* in TS_COLLECTIVE; in TS_BARRIER or TS_BLOCK */
    uint32_t index;
    uint32_t products;           /* groups of products that it has committed */
    struct PtxPromise *promises; /* what instructions that promise uniformity did so far */
    uint32_t spins;              /* instructions of full quanta used while lanes wait at activemask */
};

typedef struct {                           /* named barrier of a block */
    uint32_t arrived_warps, waiting_warps; /* masks */
    uint32_t arrived_threads, expected;    /* expected 0: all warps that have not ended */
    bool active;
    RaceGather gather;
    uint32_t red_true, red_lanes; /* bar.red: predicates that were true, and how many there were */
} PtxBarrier;

struct PtxBlock {
    PtxRun *run;
    uint32_t ctaid[3];
    PtxWarp *warps;
    PtxThread *threads;
    uint32_t nwarps, nthreads, nalive;
    uint32_t runnable[SIM_MAX_BLOCK_THREADS / 32]; /* lane masks by warp */
    PtxBarrier bars[16];
    uint8_t *shared;
    uint8_t *shared_written; /* a bit for each byte; NULL unless report_uninitialised */
    bool live;
    PtxBlock *first;   /* of its cluster; the others lie behind it */
    uint32_t rank;     /* in the cluster */
    uint64_t phase;    /* of the first block: how often the cluster's barrier was complete */
    uint64_t arrivals; /* of the first block: threads that have arrived in this phase and not ended */
    RaceGather coming, complete; /* of the first block: of this phase and of the one before it */
};

typedef struct { /* bytes [begin, end) */
    uint32_t begin, end;
} PtxExtent;

struct PtxRun {
    const PtxModule *module;
    const Launch *launch;
    SimMemory *mem;
    PtxRunOptions opt;
    PtxRunResult *res;
    Diags *d;
    Arena arena;
    uint64_t *call_values; /* scratch of a call: [ncall_values], the most arguments of one */
    uint32_t ncall_values;
    PtxProc **procs; /* by function index, NULL until needed */
    PtxProc **order; /* the same in the order of their discovery */
    uint32_t norder;
    PtxProc *kernel;
    uint32_t *shared_offset; /* by variable index, ~0: not placed */
    uint32_t shared_static, shared_bytes, dynamic_shared_base;
    uint8_t past_params[32];    /* what a load at a constant address finds there that reads past their end */
    uint32_t lent_shared;       /* the system's, of which LENT_SHARED_BYTES are lent */
    uint64_t workspace;         /* its address; 0: the launch is not cooperative */
    uint32_t shared_gaps;       /* bytes before and between the variables, where these are moved */
    VEC(PtxExtent) shared_vars; /* where these are moved: what has an address, ascending */
    uint64_t *var_address;      /* of .global and .const variables in their spaces, by index */
    PtxConstant *constants;     /* ascending offsets */
    uint32_t nconstants;
    uint64_t const_bytes;   /* of all .const variables */
    uint64_t *func_address; /* by function index */
    uint64_t rng, steps_left;
    uint64_t fill;      /* the state of PtxRunOptions.fill */
    uint64_t ticks;     /* thread instructions so far: what clocks show */
    uint64_t next_poll; /* of scope_poll, in ticks */
    SimAlloc *last_alloc;
    PtxBlock *blocks;
    uint32_t nresident;
    uint32_t cluster[3], cluster_blocks; /* of a cluster; has_clusters: the launch has them */
    bool has_clusters;
    struct PtxRaces *races; /* NULL: not looked for */
    struct {                /* slow loop: the last access to global or shared memory; bytes 0: none */
        SimAlloc *alloc;    /* NULL: shared */
        uint64_t offset;
        const uint8_t *host;
        uint8_t bytes;
        bool write;
    } place;
    bool trapped, slow;
    PtxAccess access;    /* of the statement being executed, for its event */
    uint8_t numbers[64]; /* its data, of an atomic */
};

/* Widths and access to operands. */
static inline bool interp_is_wide(const PtxCode *code) { return code->insn->type[0] == TY_B128; }
static inline uint64_t width_mask(unsigned bytes) {
    return bytes == 0 ? 1 : bytes >= 8 ? UINT64_MAX : (1ull << (8 * bytes)) - 1;
}
uint64_t interp_arg_slow(PtxRun *run, const PtxThread *thread, const PtxArg *arg);
static inline uint64_t interp_arg(PtxRun *r, const PtxThread *thread, const PtxArg *arg) {
    if (arg->kind == ARG_REG)
        return thread->regs[arg->slot];
    return arg->kind == ARG_IMM ? arg->imm : interp_arg_slow(r, thread, arg);
}
static inline void interp_put(PtxThread *thread, PtxDst d, uint64_t v) { thread->regs[d.slot] = v & d.mask; }

/* Trap or warn at instruction c of thread t; `text` a clause or NULL. interp_trap returns STEP_STOP. */
PtxStep interp_trap(PtxRun *run, const PtxThread *t, const PtxCode *c, SimTrapKind kind, const char *text);
PtxStep interp_trap_at(PtxRun *run, const PtxThread *thread, const PtxCode *code, SimTrapKind kind,
                       uint64_t address, const char *text);
void interp_warn(PtxRun *run, const PtxThread *thread, const PtxCode *code, SimTrapKind kind,
                 const char *text);
void interp_exit_thread(PtxRun *run, PtxThread *thread);
void interp_wake(PtxThread *thread);
void interp_block_thread(PtxThread *thread, PtxThreadState state, const PtxCode *code);

/* Addresses of the module's variables in r->mem (sim/interp/vars.c). */
void interp_find_variables(PtxRun *r);
uint64_t interp_func_address(const PtxModule *module, uint32_t index); /* an alias has that of its function */

/* Decoding (sim/interp/decode.c): procs reachable from the kernel. Reports and returns false. */
PtxProc *interp_decode_proc(PtxRun *run, uint32_t func_index);
bool interp_decode_all(PtxRun *run, uint32_t kernel); /* fills r->kernel */
/* One statement, of which code->insn and code->warned are set. Reports and returns false. */
bool interp_decode_insn(PtxRun *run, PtxProc *proc, PtxCode *code);

/* What frontend/ptx_forms.def names for a form: fills exec and pure, or exec and gather, from code->insn and
 * the decoded operands; false if it does not have these operands or modifiers. (interp_bind_absent does not
 * exist.) */
typedef bool PtxBind(PtxCode *code);
#define INTERP(name) interp_bind_##name
#define interp_bind_ABSENT(reason) interp_bind_absent
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target)         \
    PtxBind interp;
#include "frontend/ptx_forms.def"
#undef INTERP
#undef interp_bind_ABSENT
PtxExec interp_exec_pure, interp_exec_nop, interp_exec_ret;
static inline bool interp_use_exec(PtxCode *code, PtxExec *exec) {
    code->exec = exec;
    return true;
}
static inline bool interp_use_pure(PtxCode *code, PtxPure *fn) { /* false if there is none */
    code->exec = interp_exec_pure;
    code->pure = fn;
    return fn != NULL;
}
/* The binding of a form to a pure function (an expression in `code`) or a handler. */
#define BIND_PURE(name, fn)                                                                                  \
    bool interp_bind_##name(PtxCode *code) { return interp_use_pure(code, fn); }
bool interp_finish_copies(PtxRun *run,
                          PtxThread *thread); /* all of the thread's (copies.c); false after a trap */
#define BIND_EXEC(name, exec)                                                                                \
    bool interp_bind_##name(PtxCode *code) { return interp_use_exec(code, exec); }
uint64_t interp_atomic_int(const PtxCode *code, uint64_t old, uint64_t b); /* what memory holds then */
uint64_t interp_atomic_value(const PtxCode *code, uint64_t old, uint64_t b, bool flush); /* or of floats */
/* Bytes are complete at an object in the cluster's shared memory (mbarrier.c); false after a trap. */
bool interp_complete_bytes(PtxRun *run, PtxThread *thread, const PtxCode *code, uint64_t object,
                           uint32_t bytes);
PtxStep interp_atomic(PtxRun *run, PtxThread *thread, const PtxCode *code); /* atom, red */
uint64_t interp_float_minmax(unsigned type, bool max, uint64_t a, uint64_t b, bool nan, bool ftz);

/* The address in src[0] with its offset, of an access to `space`. Shared and local memory have addresses of
 * 32 bits: a base in a register of 32 bits may be below the window and come into it by the offset, as
 * compilers have it. */
uint64_t interp_address(PtxRun *run, PtxThread *thread, const PtxCode *code, unsigned space);
/* Memory (sim/interp/mem.c): the host bytes of an access, or NULL after a trap. */
uint8_t *interp_memory(PtxRun *run, PtxThread *thread, const PtxCode *c, unsigned space, uint64_t address,
                       unsigned bytes, bool write);
/* Grow local memory of a thread so that [0, top) exists; false if too large, gaps not counted. */
bool interp_local_reserve(PtxRun *run, PtxThread *thread, uint32_t top, uint32_t gap_bytes);
PtxStep interp_enter(PtxRun *run, PtxThread *thread, PtxProc *proc, const PtxCode *call); /* push a frame */

/* Of a float quotient of .full, or of .approx: *a becomes its dividend, *b the reciprocal of its divisor,
 * both scaled as they are multiplied. `code`: a statement with the quotient's .ftz. */
void interp_quotient(bool full, uint64_t *a, uint64_t *b, const PtxCode *code);
/* Change a decoded function to what PtxRunOptions.fuse and .approx ask for (sim/interp/latitude.c). */
void interp_take_latitude(PtxRun *run, PtxProc *proc);

/* Contents that nobody wrote (sim/interp/unwritten.c): of memory, of a frame's registers, of what malloc
 * gave. */
void interp_unwritten_bytes(PtxRun *run, uint8_t *bytes, uint64_t n);
void interp_unwritten_slots(PtxRun *run, const PtxProc *proc, uint64_t *slots);
void interp_unwritten_piece(PtxRun *run, uint64_t address, uint64_t n);
/* What a shuffle takes from a lane that is not there: with zeros the lane's own value. */
uint64_t interp_unwritten_lane(PtxRun *run, uint64_t own);

/* Classes that the operands of a statement show, which is not executed yet (sim/interp/values.c). */
uint32_t interp_values_seen(PtxRun *run, const PtxThread *thread, const PtxCode *code);

/* The result of a statement of which PTX does not say it. */
void interp_unwritten_result(PtxRun *run, const PtxProc *proc, PtxThread *thread, const PtxCode *code);

/* Checks and events of the slow loop (sim/interp/checks.c); `run`: the guard is true. True: PTX leaves the
 * result open. */
bool interp_check_before(PtxRun *ptx_run, PtxThread *thread, const PtxCode *c, bool run);
void interp_report_event(PtxRun *run, const PtxThread *thread, const PtxCode *code, bool executed,
                         const PtxProc *proc);

/* Promises of uniformity (sim/interp/promise.c). A watched instruction is also noted where its guard is
 * false. */
enum { PTX_WATCH_UNIFORM = 1, PTX_WATCH_BARRIER = 2, PTX_WATCH_MEET = 4 };
void interp_find_promises(PtxRun *run); /* after decoding */
void interp_watch(PtxRun *ptx_run, PtxThread *thread, const PtxCode *code, bool run);
void interp_end_promises(PtxRun *run, PtxWarp *warp); /* the warp has ended: warn */
static inline void interp_took(PtxThread *thread, const PtxCode *c, uint32_t way) {
    thread->path = (thread->path + (uintptr_t)c + way + 1) * RNG_STEP;
}

/* Clusters (sim/interp/cluster.c). */
void interp_cluster_ended(PtxRun *run, PtxThread *thread); /* the thread has, and is counted as ended */
/* No thread of the block's cluster can run. */
bool interp_cluster_stuck(PtxBlock *block);
static inline uint32_t interp_all_shared(const PtxRun *run) {
    return run->lent_shared + LENT_SHARED_BYTES + 16;
}
static inline uint64_t interp_shared_origin(const PtxBlock *block) { return block->rank * SIM_WINDOW_BYTES; }

/* Warp- and block-level matters (sim/interp/warp.c). */
/* Wait for the lanes of `mask` at a collective; `value` becomes wait_value[0]. */
PtxStep interp_meet(PtxRun *run, PtxThread *thread, const PtxCode *code, uint32_t mask, uint64_t value);
bool interp_release_for_ended(PtxBlock *b);
void interp_products_given(PtxWarp *warp); /* or the warp has ended: who waits for that at wgmma.wait_group */
void interp_lane_ended(PtxRun *run, PtxWarp *warp);
bool interp_release_active(PtxWarp *warp); /* let lanes at activemask go; true if there were any */
#endif
