/* Inside of the SIMT machine: state of a warp, a block and a launch, and the predecoded instruction.
 *
 * Registers are rows of 32 lanes, 128 bytes. A warp's rows: R0..R254, a zero row (RZ), UR0..UR62 (all lanes
 * equal), a zero row (URZ), four rows that take what is written to RZ and URZ. Predicates are lane masks:
 * P0..P6, PT, UP0..UP6, UPT, a mask that takes what is written to PT.
 * A program counter is an index into Binary.code.
 *
 * Invariant: 0 != active, active subset of valid while the warp lives; for every valid lane outside active,
 * rpc[lane] is its program counter.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_MACHINE_INTERNAL_H
#define HEDDLE_SIM_MACHINE_INTERNAL_H
#include "base/arena.h"
#include "isa/lane/choose.h"
#include "sim/machine/machine.h"
#include "isa/machine/banks.h"
#include "isa/machine/windows.h"
#include <stddef.h>

enum {
    ROW_BYTES = 128,
    ROW_RZ = REG_RZ,
    ROW_UR = 256,
    ROW_URZ = ROW_UR + NUM_UR,
    ROW_SINK = ROW_URZ + 1,
    MOST_ROWS = 16, /* of an operand */
    ROW_COUNT = ROW_SINK + MOST_ROWS,
    PRED_UP = 8,
    PRED_SINK = 16,
    PRED_COUNT = 17,
    NUM_BARRIERS = 16,
    MAX_WARPS = 32,
    MAX_RUN = 64, /* instructions; where compilers do not make jumps of the calls, as deep is the stack */
    DEC_LINE_BYTES = 64 /* of a host's cache */
};

/* What a handler returns; anything but RUN_OK leaves the issue loop. */
typedef enum { RUN_OK, RUN_BLOCKED, RUN_ASLEEP, RUN_DONE, RUN_TRAP, RUN_PAUSE, RUN_AGAIN } RunStatus;

typedef struct Warp Warp;
typedef struct Dec Dec;
/* Execute one instruction for the lanes of `g`. w->pc is already the next instruction. */
typedef int OpFn(Warp *w, Dec *d, uint32_t g);

enum { CLS_DATA, CLS_OTHER, CLS_B, CLS_COUNT };

typedef struct { /* a source row: below ROW_COUNT * ROW_BYTES an offset in Warp.rows, else a host address */
    uintptr_t at;
} SrcRef;
typedef struct {
    uint32_t index; /* into Warp.p */
    uint32_t x;     /* 0 or ~0: negated */
} PredRef;

/* Data instructions in a row are a run: each handler calls the next one's (ops/issue.c), reading nothing of
 * it but its first cache line. */
struct Dec {
    _Alignas(DEC_LINE_BYTES) OpFn *go_all; /* as the instruction before calls it: executed by all 32 lanes; */
    OpFn *go_full, *go_part; /* for all lanes, less than all; all three machine_run_ends where a run begins or
                              * none is known */
    uint32_t gx;             /* guard negation */
    uint16_t dst[2];         /* byte offsets of destination rows in Warp.rows */
    uint8_t guard;           /* into Warp.p */
    uint8_t run;             /* instructions from here to the end of the run; 0: it is none, or not yet */
    uint8_t pd[2];           /* destination predicates, into Warp.p */
    uint8_t cls;             /* CLS_* */
    uint8_t size;            /* memory: bytes of an access */
    uint8_t wide;            /* memory: address register is a pair */
    uint8_t breg;
    SrcRef v[4];       /* vector sources, in slot order */
    PredRef q[3];      /* predicate sources, in slot order */
    OpFn *full, *part; /* all 32 lanes, some lanes */
    uint16_t optype;
    uint8_t nv, nq;
    uint8_t always; /* call `part` even when no lane's guard is true */
    uint8_t chains; /* the handlers go on with the next instruction: it may be part of a run */
    uint8_t last;   /* of its run, if it is in one: copied code calls its handler alone */
    uint8_t bound;  /* all of the longest compiled block that begins here is decoded: where this is 0 compiled
                     * code leaves */
    uint32_t mods;
    uint32_t xm[4]; /* sign or inversion masks of v[]: value = (bits & am) ^ xm */
    uint32_t am[4];
    uint32_t imm[2]; /* immediate-only slots, and what a binder keeps */
    // clang-format off
    union {                        /* what a binder made of the modifiers, for the family that it serves */
        struct {                   /* loads, stores, atomics, QSPC */
            uint32_t uniform;      /* 0 no uniform register, 1 one, 2 a pair */
            uint32_t wide;         /* the sum has 64 bits */
            uint32_t refused;      /* atom.c: places where an ATOM does nothing, and says so */
            uint32_t kind;         /* MemSz */
            uint32_t shift;        /* of the address register: its stride */
            uint32_t op;           /* AtomOp, or one of atom.c's; QSPC: the space asked for */
            uint32_t type;         /* AtomType of an element */
            uint32_t element_bytes;
        } mem;
        struct { uint32_t bank, unused_[2], kind /* MemSz */; } ldc;
        struct { uint32_t zfill, descriptor; } copy;       /* LDGSTS */
        struct { uint32_t count, transposed; } matrix;     /* LDSM, STSM */
        struct { /* textures: dim: TexDim, SurfDim; kind: MemSz, RedOp; out: SurfOut; uniform: register + 1 */
            uint8_t dim, mask, one_list, in_register, uniform, nextra, whole, out, kind, is_signed,
                texels /* x counts them */, by_header /* the sign */, offsets, gathers, comp, by_derivatives, halves;
        } tex;
        struct { /* op_tensor.c; kept, words, lanes: of a sparse A */
            uint32_t elem, m8, n, wide, sat;
            uint8_t elem_b, kept, words, lanes;
            uint8_t sum_bytes, sum_bits; /* of the target */
            uint8_t how, in_registers, adds; /* of warp groups: GmmaDesc; A is; D begins with C */
        } mma;
        struct { /* f32 and f64 arithmetic; flags are 0 or ~0, rnd: Rnd of an inner_ function */
            uint32_t ftz, sat, fmz, scale_lo, scale_hi, unused_[2], rnd;
        } flt;
        struct { uint32_t ftz, unused_[2], nan, xorsign; } fminmax;
        struct { uint32_t ftz, bop; } fset;                /* the relation is the function */
        struct { uint32_t cmp, bop; } dset;
        struct { uint32_t ftz, sat, fmz, relu, f32, bf16, op; } half;
        struct { uint32_t ftz, nan, xorsign, unused_, f32, bf16; } hminmax; /* ftz as in half */
        struct { uint32_t ftz, cmp, bop, flag /* .BF or .H_AND */, bf16; } hset;
        /* conversions: src, dst: SRC_*; bits: of the integer; whole: rounding of FRND; shift: bit of the
         * part read. What reads a float (src, ftz, shift)
         * and what writes one (dst, rnd) lie alike. */
        struct { uint32_t src, dst, rnd, ftz, whole, shift; } cvt;
        struct { uint32_t src, bits, rnd, ftz, is_signed, shift, ntz; } f2i;
        struct { uint32_t bits, dst, rnd, ftz, is_signed, shift, away, toward; } i2f; /* the last two as i2f_f32_directed has them */
        struct { uint32_t bf16, satfinite, rnd, relu, e4m3, shift; } f2fp;
        LaneMods lane;                                     /* integers: isa/lane/choose.h */
        uint32_t anf[8];                                   /* PLOP3: coefficients as masks */
        struct { uint32_t byte, first; } pack; /* P2R, R2P and the uniform ones: of p[] */
        struct { uint32_t mode; } prmt;
        struct { uint32_t is_signed, from_top; } flo;
        struct { uint32_t type, relu, three, sum /* the first two are added */; } minmax; /* VIMNMX */
        struct { uint32_t is_signed, sum; } absdiff;       /* VABSDIFF4 */
        struct { uint32_t func, shift, bf16; } mufu;
        struct { uint32_t mode; } shfl;
        struct { uint32_t op; } vote;
        struct { uint32_t op, wide; } match;
        struct { uint32_t op, is_signed; } redux;
        struct { uint32_t redop; } barrier;
        struct { uint32_t for_branch /* nobody else reads it */, keeps; } r2ur;
        struct { uint32_t kind, second /* of the next word, or SR_COUNT */, uniform, at /* SregPlace */; } sreg; /* SregKind */
    };
    // clang-format on
    int64_t target;                /* byte distance or absolute address of control transfers; memory offset */
    OpFn *inner_full, *inner_part; /* of a uniform operation */
    Dec *alone;      /* under a rounding mode other than nearest: a program of this instruction only */
    SimAlloc *alloc; /* last allocation that was hit */
    const MachInst *inst;
    OpFn *full_in_run, *part_in_run;  /* the same for the shape that this one has, in runs; NULL: no others */
    uint8_t odd_[DEC_LINE_BYTES - 8]; /* five lines: the first ones spread over all sets of a cache */
};

typedef struct {       /* one named barrier */
    uint32_t count;    /* threads arrived: 32 a warp */
    uint32_t expected; /* operand: 0 = all living warps */
    uint8_t kind;      /* 0 free, 1 SYNC/ARV, 2 RED */
    uint8_t redop;
    bool and_so_far, or_so_far;
    uint32_t popc;
    uint32_t waiting; /* warps blocked here */
    uint32_t arrived; /* warps; no part of BARState: R2B forgets them */
} Barrier;

/* WARP_STARTS: its first turn is to come, and brings the rest of its state; others look at `valid` and what
 * follows from that. */
typedef enum { WARP_READY, WARP_ASLEEP, WARP_AT_BARRIER, WARP_AT_CLUSTER, WARP_STARTS, WARP_DONE } WarpState;

typedef struct {                           /* blocks that run together and see each other's shared memory */
    struct Cta *block[SIM_CLUSTER_BLOCKS]; /* by rank; NULL: it has ended */
    uint32_t n, living;
} Cluster;

struct Launched;
typedef struct Program Program;
struct Run;
struct Cta;
struct Warp {
    /* What every launch of a warp looks at, in as few of the host's cache lines as can be. */
    _Alignas(DEC_LINE_BYTES) uint8_t *rows;
    struct Cta *cta;
    struct Run *run;
    Dec *prog;
    uint32_t *local;           /* word w of lane l at [w * 32 + l] */
    struct WarpShadow *shadow; /* checked modes */
    struct Copies *copies;     /* asynchronous ones that nobody has waited for; NULL: there were none */
    uint8_t *local_written;    /* report_undefined: one byte for each byte of local, same order */
    uint32_t pc;
    uint32_t valid, active;
    uint32_t index;              /* in the block */
    uint32_t first_valid;        /* lanes at launch */
    uint32_t local_lo, local_hi; /* words [lo, hi) were written since they were zeroed */
    bool members_used;           /* saves and companions are not all 0 */
    bool rpc_used;               /* rpc_words, which is RPCMOV's, is not */
    uint8_t state;               /* WarpState */
    uint8_t barrier;             /* where it waits */
    uint32_t cluster_pending;    /* of cluster_arrived those whose phase is not complete */
    /* Up to `rpc`, which is not, all is 0 when a warp starts, but predicates. */
    uint32_t yield, sleep;
    uint32_t blocked; /* lanes parked at BSYNC or WARPSYNC (policy "blocked") */
    uint32_t switch_mask;
    uint32_t tried; /* lanes that a WARPSYNC let run since one last passed (policy warpsync-turns) */
    uint32_t p[PRED_COUNT];
    uint32_t b[16];
    uint16_t saved; /* registers that any lane has saved: the others have no depths */
    bool timer_on;
    uint32_t red_copy;  /* WarpBARState */
    uint32_t pick_next; /* MACHINE_LANE_ROTATE */
    uint32_t hops;
    uint32_t cluster_arrived; /* lanes that have arrived at the cluster's barrier and not waited since */
    uint32_t rpc[32];
    uint32_t behind[32]; /* where lanes go on at ENDCOLLECTIVE */
    uint64_t deadline;   /* in ticks of the run */
    uint64_t last_hop;
    uint16_t saves[16][32];      /* how often a lane has saved and cleared a register and not given it back */
    uint32_t companions[16][32]; /* of each lane, in place of b where BSSY sets its register (members.c) */
    uint32_t rpc_words[2][32];
    uint32_t exit_pc[32];                         /* of lanes that ended before others of the warp */
    uint32_t trap_pc;                             /* of the instruction that trapped */
    void *local_block;                            /* `local` is in it */
    _Alignas(DEC_LINE_BYTES) uint32_t tid[3][32]; /* thread coordinates of the lanes */
};

typedef struct Cta {
    uint32_t id[3];
    uint32_t nwarps, ndone;
    Warp *warps;
    Barrier bar[NUM_BARRIERS];
    bool barriers_used; /* any of them, in the life of the block */
    bool cluster_used;  /* the cluster's one, or there is a cluster */
    bool borrowed;      /* another thread made it */
    uint64_t number;    /* in the grid */
    uint8_t *
        shared; /* with 64 bytes of slack, aligned as rows are: vectors of it are in one line of the host's */
    uint8_t *shared_written; /* checked mode: one byte a byte */
    bool live;
    Cluster *cluster; /* NULL: of this block alone */
    uint32_t rank;    /* in it */
} Cta;

enum { ROW_SET_WORDS = (ROW_SINK + 63) / 64 };
typedef struct { /* of a warp's rows those of registers, R and UR */
    uint64_t bits[ROW_SET_WORDS];
    uint32_t words; /* bit set of those that are not 0 */
} RowSet;
static inline void row_set_add_word(RowSet *set, unsigned word, uint64_t bits) {
    set->bits[word] |= bits;
    set->words |= (uint32_t)(bits != 0) << word;
}
static inline void row_set_add(RowSet *set, uint32_t row, uint32_t n) {
    for (; n--; row++)
        row_set_add_word(set, row / 64, (uint64_t)1 << row % 64);
}
static inline bool row_set_has(const RowSet *set, uint32_t row) {
    return set->bits[row / 64] >> row % 64 & 1;
}

typedef struct Level Level;
typedef struct { /* a function's address as a value, and its code */
    uint64_t address;
    uint32_t pc;
    const char *external; /* its name where it has no code: one of the driver's */
} FuncPlace;
typedef struct Run {
    const Binary *bin;
    const BinFunc *kernel;
    const Launch *launch;
    SimMemory *mem;
    MachineOptions opt;
    MachineResult *res;
    Arena arena; /* decoded instructions, literal rows */
    const uint64_t (*code)[2];
    uint32_t ncode;
    struct Program *program;
    Dec *prog;             /* ncode entries of it, decoded when first issued, and one at which runs end */
    VEC(uint32_t) decoded; /* of them, those that are, or could not be */
    const Level *level;
    const uint32_t *zero_rows; /* MOST_ROWS of zeros */
    const uint8_t *bank[NUM_CONST_BANKS];
    uint32_t bank_bytes[NUM_CONST_BANKS];
    const FuncPlace *func_places; /* ascending addresses */
    uint32_t nfunc_places;
    uint32_t shared_bytes, local_bytes;
    uint32_t
        fast_shared_end; /* shared_bytes; in clusters of several blocks shared_base: no address is simple */
    uint32_t cluster_blocks; /* in a cluster; 1: without the cluster's barrier */
    uint32_t cluster[3];     /* their numbers by dimension */
    bool has_clusters;       /* the launch says so */
    uint8_t *params;         /* of the launch, in constant bank 0 */
    uint32_t shared_base;    /* what lies before, in shared memory, is the system's */
    uint32_t lent_shared;    /* of which LENT_SHARED_BYTES from here on are lent; ~0: nothing */
    uint64_t workspace;      /* its address; 0: the launch is not cooperative */
    uint64_t texture_table;  /* 0: the code asks for none */
    uint32_t all_shared;     /* bytes with these, where they are behind the block's own */
    uint64_t ticks;          /* clock: warp instructions issued, and time when everybody slept */
    uint64_t slept;          /* part of ticks in which nothing issued */
    int64_t quota;           /* left for the running warp; within a run: as it is behind it */
    uint64_t mem_version;    /* counts stores that changed a byte of any memory */
    uint64_t clock_reads;
    uint64_t random;               /* MACHINE_LANE_RANDOM */
    uint32_t first_pc;             /* of the kernel */
    RowSet named;                  /* by decoded instructions */
    RowSet written_first, cleared; /* beginning.c; those named without these */
    uint32_t starts; /* blocks that found memory of another, up to those that pay for written_first */
    bool bssy_assigns, warpsync_turns, mufu_flushes;
    bool slow; /* a checked mode or tracing is on */
    bool trapped;
    struct Crew *crew; /* other threads execute blocks of the grid, too: crew.c; NULL: none does */
    uint64_t budget;   /* instructions that it may issue as yet; alone opt.max_issues */
    struct {
        uint64_t issues, lanes, off; /* off: of the lanes those whose guard is false */
        uint64_t all;                /* issues more, each by all 32 lanes */
    } cls[CLS_COUNT];
    struct Around *around; /* what is known of the kernels' barriers, kept as the decoded instructions are */
    struct Replay *replay; /* following a schedule */
    struct Jit *jit;       /* NULL: everything is interpreted */
} Run;

/* ---- operand access for handlers ---- */
static inline const uint32_t *dec_src(const Warp *warp, const Dec *dec, unsigned i) {
    uintptr_t at = dec->v[i].at;
    return (const uint32_t *)(at + (at < ROW_COUNT * ROW_BYTES ? (uintptr_t)warp->rows : 0));
}
/* A literal, or what is the same for all warps. */
static inline bool dec_src_is_constant(const Dec *dec, unsigned i) {
    return dec->v[i].at >= ROW_COUNT * ROW_BYTES;
}
/* Where that is none. */
static inline const uint32_t *dec_row(const Warp *warp, const Dec *dec, unsigned i) {
    return (const uint32_t *)(const void *)(warp->rows + dec->v[i].at);
}
static inline uint32_t *dec_dst(const Warp *warp, const Dec *dec, unsigned i) {
    return (uint32_t *)(void *)(warp->rows + dec->dst[i]);
}
static inline uint32_t dec_pred(const Warp *warp, const Dec *dec, unsigned i) {
    return warp->p[dec->q[i].index] ^ dec->q[i].x;
}
static inline bool dec_is_guarded(const Dec *dec) { return dec->guard != REG_PT || dec->gx; }
static inline void set_pred(Warp *warp, unsigned index, uint32_t g, uint32_t bits) {
    warp->p[index] = (warp->p[index] & ~g) | (bits & g);
}
_Static_assert(offsetof(Dec, v) + 3 * sizeof(SrcRef) <= DEC_LINE_BYTES, "what every data instruction reads");
_Static_assert(sizeof(Dec) / DEC_LINE_BYTES % 2, "an odd number of lines");

static inline void dec_go(Dec *dec, OpFn *fn) { dec->go_all = dec->go_full = dec->go_part = fn; }

/* Execute the instruction behind `dec` if it belongs to the same run. A handler returns what this returns, so
 * that compilers jump there. */
static inline int machine_next(Warp *warp, Dec *dec) {
    Dec *next = dec + 1;
    uint32_t g = warp->active & (warp->p[next->guard] ^ next->gx);
    return (g == ~0u ? next->go_full : next->go_part)(warp, next, g);
}
/* The same where all 32 lanes have executed `dec`. */
static inline int machine_next_all(Warp *warp, Dec *dec) { return dec[1].go_all(warp, dec + 1, ~0u); }
static inline unsigned low_lane(uint32_t m) { return (unsigned)__builtin_ctz(m); }
static inline uint64_t pc_address(const Run *run, uint32_t pc) {
    return run->bin->code_base + (uint64_t)pc * INST_BYTES;
}

/* ---- binding (bind.c): operands of `d->inst` into d ---- */
typedef struct Bind {
    Run *run;
    Dec *d;
    const MachInst *in;
    uint32_t pc;
    uint8_t width[4];     /* WIDTH_* of v[i], set before bind_operands */
    uint8_t vector_slots; /* source slots to count as v[] even if the target has no register form */
    bool raw_cmem;        /* a c[][] operand is the binder's business */
    bool failed;
    SimTrapKind kind; /* of the trap where it failed; TRAP_NONE is TRAP_ILLEGAL */
    char why[96];
} Bind;
/* How an immediate, c[][] or UR operand fills a source of two registers. */
enum { WIDTH_32, WIDTH_I64, WIDTH_U64, WIDTH_F64 };
/* Fill in everything that the slots say: v, q, dst, pd, imm in slot order. Float sources get am and xm for
 * abs and neg; integer binders read xm as ~0 for a negated source. */
void bind_operands(Bind *bind);
bool bind_fail(Bind *bind, const char *why);           /* false */
bool bind_plain(Bind *bind, OpFn *fn);                 /* the operands, and `fn` for any lanes */
bool bind_control(Bind *bind, OpFn *fn, unsigned cls); /* an instruction of the branch unit; its target */
const uint32_t *bind_literal(Run *run, uint32_t bits); /* a row with `bits` in every lane */
/* Position of the i-th vector source or predicate source that the slots have. */
typedef bool BindFn(Bind *b);
OpFn bind_decode; /* handler of an instruction that was not issued yet */
/* Decode it before it is issued: as if it were issued, or into a record of the caller's. False: it would
 * trap. */
bool bind_now(Run *run, uint32_t pc);
bool bind_ahead(Run *run, uint32_t pc, Dec *dec);
/* The instruction at which a lane stands, whether or not any has issued it yet; NULL: it would trap. Who
 * waits for whom follows from where lanes are, and may not depend on what has been decoded. */
const Dec *machine_dec_at(const Warp *warp, uint32_t pc);
OpFn machine_run_ends; /* w->pc is this instruction */
/* Handlers that go on with the next instruction, as all of ops/ do. */
static inline void bind_chained(Bind *bind, OpFn *full, OpFn *part) {
    bind->d->full = full;
    bind->d->part = part;
    bind->d->chains = true;
    bind->d->full_in_run = bind->d->part_in_run = NULL;
}

enum { LANE_PARTS = 3 };
typedef struct { /* of a lane function (isa/lane/lane.h) */
    OpFn *full, *part;
} LaneHandler;

/* One host level: every data operation and the issue loop, compiled for it. */
struct Level {
    const char *name;
    BindFn *const *bind;                        /* by optype */
    void (*clear)(Warp *w, const RowSet *rows); /* what a warp starts with: its state and these rows are 0 */
    int (*issue)(Warp *w);
    int (*issue_hot)(Warp *w);                        /* with what run->jit has compiled */
    int (*call)(Warp *w, uint32_t pc, uint32_t g);    /* one data instruction, not those behind it */
    int (*control)(Warp *w, uint32_t pc, uint32_t g); /* one other instruction, uncounted */
    OpFn *warp_row, *block_word;                      /* at sreg.at, for all lanes */
    const LaneHandler *lanes[LANE_PARTS];             /* of the parts of isa/lane/lanes.def */
};
extern const Level level_base;
const Level *machine_level_find(const char *name); /* NULL = best; NULL result if the host cannot run it */

/* ---- special registers (sreg.c) ---- */
typedef struct { /* bytes from the beginning of the warp, where it has a row, or of the block, where it has a
                    word */
    bool of_block;
    size_t at;
} SregPlace;
/* Where what S2R and the like read is, if it stays the same as long as the warp lives; false: nowhere. */
bool machine_sreg_place(const Dec *dec, SregPlace *out);

/* ---- control (branch.c, barrier.c) ---- */
void machine_barrier_warp_exited(Cta *cta);
/* Does the word say that the barrier needs the whole warp? */
bool machine_barrier_is_aligned(const Warp *warp, const Dec *dec);
/* Lanes that have ended and went around that barrier, which the others execute (around.c). */
uint32_t machine_went_around(Warp *warp, const Dec *dec);
bool machine_barrier_lacks_threads(const Cta *cta, unsigned *id);
#define DECLARE_BINDER(op) BindFn bind_##op;
ISA_SIMULATED_MACHINE_OPTYPES(DECLARE_BINDER)
#undef DECLARE_BINDER
BindFn bind_video_min_max; /* VIMNMX of other types than 32 bits */
BindFn bind_not_simulated;
/* What a warp does as a whole; false: it does not, and *status says that the machine trapped. */
bool machine_whole_warp(Warp *w, const Dec *dec, uint32_t g, int *status);

/* ---- asynchronous copies (copies.c) ---- */
void machine_copies_start(Warp *warp); /* a warp of a new block, which has some: none is under way */
void machine_copies_free(Warp *warp);
void machine_copies_finish(Warp *warp, uint32_t lanes); /* all of these lanes */

/* ---- memory (mem.c) ---- */
/* Host bytes of a guest access of one lane, or NULL after trapping. space: as below; *alloc is set for
 * global. */
typedef enum { MS_GENERIC, MS_GLOBAL, MS_SHARED, MS_LOCAL, MS_CLUSTER } MemSpace; /* MS_SHARED: own */
typedef struct {
    uint8_t *bytes;  /* NULL for local memory, which is not contiguous */
    SimAlloc *alloc; /* global */
    uint32_t offset; /* local: byte offset; shared: offset */
    MemSpace space;
    Cta *owner; /* shared: the block */
} MemRef;
int machine_mem_ref(Warp *warp, Dec *dec, unsigned lane, MemSpace space, uint64_t address,
                    unsigned size_bytes, bool write, MemRef *out);
/* Of shared [address]; what is to be written counts as written for the checked mode. */
int machine_shared_at(Warp *warp, Dec *dec, unsigned lane, uint32_t address, unsigned size_bytes, bool write,
                      MemRef *ref);
void machine_mem_load(const Warp *warp, unsigned lane, const MemRef *ref, unsigned size_bytes, void *out);
void machine_mem_store(Warp *warp, unsigned lane, const MemRef *ref, unsigned size_bytes, const void *data);
/* Read 2, 4 or 8 bytes of global memory that other threads may access too; replace them by `next` if they
 * are still *old, else *old is what they are now. */
uint64_t machine_mem_read_shared(const MemRef *ref, unsigned size_bytes);
/* Between the two no other thread of the crew is. */
void machine_crew_hold(struct Crew *crew);
void machine_crew_release(struct Crew *crew);
bool machine_mem_replace(Warp *warp, const MemRef *ref, unsigned size_bytes, uint64_t *old, uint64_t next);
uint64_t machine_mem_address(const Warp *warp, const Dec *dec,
                             unsigned lane); /* ra (pair) + urb + offset of the usual slots */
/* How an operation uses memory, where each lane has an address of its own in the usual slots. */
typedef enum { ACC_NONE, ACC_LOAD, ACC_STORE, ACC_ATOMIC } AccessKind;
AccessKind machine_mem_access_kind(unsigned optype);
/* Does an ATOM of this generic address do nothing, and say so in its predicate? */
/* Operands and elements of an atomic operation; what ops/multicast.c reads has them, too. */
bool machine_bind_atomic(struct Bind *bind, MemSpace space, uint32_t op, uint32_t type, uint32_t e, bool desc,
                         uint32_t stride);
bool machine_atom_refuses(const Warp *warp, const Dec *dec, uint64_t address);
/* What an atomic operation (AtomOp, AtomType) makes of the old value; global: it flushes .f32. */
uint64_t machine_atom_result(uint32_t op, uint32_t type, uint64_t old, uint64_t v, bool global);
/* Memory of a lane becomes what that makes of it and v: in one step, whichever threads of a crew do so. */
void machine_atom_apply(Warp *warp, unsigned lane, const MemRef *ref, unsigned size_bytes, uint32_t op,
                        uint32_t type, uint64_t v, bool global);
/* async.c: store at a place of shared or global memory; bytes are complete at an object of the cluster. */
void machine_async_write(Warp *warp, unsigned lane, const MemRef *ref, unsigned size_bytes, const void *data);
int machine_async_complete(Warp *warp, Dec *dec, unsigned lane, uint32_t object, uint32_t bytes);
/* cluster.c: blocks of one cluster, which started together; the first gets the cluster, the others join. */
void machine_cluster_join(Cta *cta, Cta *first, uint32_t rank);
void machine_cluster_leave(Cta *cta); /* it has ended */
/* Let those go that wait at the cluster's barrier, if all have arrived. */
void machine_cluster_complete(const Cta *cta);
/* The block that owns an address of the cluster's shared memory; NULL: there is none, or it has ended. */
Cta *machine_cluster_owner(const Cta *cta, uint32_t address);
/* Lane by lane, any addresses. */
OpFn machine_mem_load_slow, machine_mem_store_slow;

/* ---- traps and findings (machine.c) ---- */
void machine_thread(const Warp *warp, unsigned lane, uint32_t thread[3]); /* %tid of a lane */
int machine_trap(Warp *warp, const Dec *dec, unsigned lane, SimTrapKind kind, const char *fmt, ...)
    __attribute__((format(printf, 5, 6))); /* RUN_TRAP */
int machine_trap_address(Warp *warp, const Dec *dec, unsigned lane, SimTrapKind kind, uint64_t address,
                         const char *text);
void machine_finding(Warp *warp, const Dec *dec, MachineFindingKind kind, uint32_t lanes, uint64_t other_pc,
                     const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* members.c: B registers, one set of lanes or, where BSSY sets its register, a set for each lane */
void machine_b_join(Warp *warp, unsigned breg, uint32_t lanes);
void machine_b_leave(Warp *warp, unsigned breg, uint32_t lanes);
/* BMOV.CLEAR; if no register keeps the value, the lanes leave. */
void machine_b_clear(Warp *warp, unsigned breg, uint32_t lanes, bool saved);
/* What BMOV writes; value[32]: of each lane. */
void machine_b_give(Warp *warp, unsigned breg, uint32_t lanes, const uint32_t value[32]);
/* What BMOV reads. */
uint32_t machine_b_value(const Warp *warp, unsigned breg, unsigned lane);
/* A set for each lane: lanes of `here`, which are at a BSYNC of the register, whose set is complete;
 * *missing: lanes elsewhere that those here wait for which are furthest in; *come: the others that are at a
 * BSYNC of it. */
uint32_t machine_b_complete(const Warp *warp, unsigned breg, uint32_t here, uint32_t *missing,
                            uint32_t *come);
/* Those of `lanes` that wait at WARPSYNC for one of `here`, or for lanes that wait for one of them in turn.
 */
uint32_t machine_b_wait_for(const Warp *warp, uint32_t lanes, uint32_t here);
/* The lanes that a parked lane waits for at WARPSYNC; 0 if it is not at one. */
uint32_t machine_warpsync_lacks(const Warp *warp, unsigned lane);

/* ---- checked issue loop (shadow.c, mask_checks.c) ---- */
typedef struct {               /* which regions a lane is in, followed beside the B registers */
    uint16_t joined[32];       /* bit b: BSSY Bb, and not left since */
    uint32_t region[16][32];   /* code index behind that region */
    uint16_t saved[16][32];    /* how often BMOV.CLEAR took the lane out and BMOV did not give it back */
    uint32_t active, executed; /* before the instruction; of those, the lanes whose predicates are true */
    uint32_t here;             /* BSYNC: before it, active or parked at it */
} MaskShadow;
void machine_masks_before(Warp *warp, const Dec *dec, uint32_t g, MaskShadow *shadow);
void machine_masks_after(Warp *warp, const Dec *dec, MaskShadow *shadow);
/* ---- schedules (replay.c) ---- */
/* Before an instruction: *g becomes what the schedule says. RUN_OK: execute it; RUN_AGAIN: it was passed
 * over; RUN_TRAP. */
int machine_replay_before(Warp *warp, Dec *dec, uint32_t *g);
/* The schedule's next step, if it is of this kind and for this instruction; NULL without a schedule. */
const MachineReplayStep *machine_replay_take(Warp *warp, const Dec *dec, MachineReplayKind kind);
void machine_shadow_create(Run *run, Warp *warp);
void machine_shadow_reset(Warp *warp);
int machine_shadow_issue(Warp *warp);

/* Source lane of SHFL for `lane` with operands b (lane or distance) and c (clamp, segment << 8); -1 if out of
 * the segment: the lane keeps its own value. */
static inline int shfl_source_lane(uint32_t mode, uint32_t lane, uint32_t b, uint32_t c) {
    uint32_t clamp = c & 31, segment = c >> 8 & 31, n = b & 31;
    int max = (int)((lane & segment) | (clamp & ~segment)), min = (int)(lane & segment), j;
    switch (mode) {
    case ShflMode_UP: j = (int)lane - (int)n; return j >= max ? j : -1;
    case ShflMode_DOWN: j = (int)(lane + n); break;
    case ShflMode_BFLY: j = (int)(lane ^ n); break;
    default: j = min | (int)(n & ~segment); break;
    }
    return j <= max ? j : -1;
}

/* ---- beginning.c ---- */
/* Rows, from *row on, that an operand of so many registers names. */
uint32_t machine_operand_rows(Operand operand, unsigned regs, uint32_t *row);
void machine_name_rows(Run *run, uint32_t row, uint32_t n); /* run->named, and what follows */
/* Finds run->written_first: whatever is in these rows when a warp of 32 lanes starts, nobody reads it. */
void machine_find_written_first(Run *run);
/* ---- blocks (cta.c) ---- */
bool machine_cta_run_grid(Run *run);
/* ---- places of decoded instructions (program.c) ---- */
bool machine_take_program(Run *run, Diags *diags); /* none decoded; E0513 */
void machine_give_program(Run *run);               /* if it has one; bind.c has noted what is decoded in it */
/* The memory of a block of an earlier run, as new; NULL: there is none of this launch's shape, or a checked
 * mode has more. */
Cta *machine_take_block(Run *run);
/* For a later run, or to be freed; NULL is fine. */
void machine_give_block(Run *run, Cta *cta);
void machine_forget_runs(Run *run);
void machine_mark_reached(const Run *run); /* in opt.reached */
void machine_cta_free(Cta *cta);           /* NULL is fine */
/* What nobody has written, by the policy. */
void machine_fill_unwritten(const Run *run, void *memory, size_t bytes);
/* Bytes [offset, offset + size) of every lane's local memory may have been written. */
static inline void local_dirty(Warp *warp, uint32_t offset, uint32_t size_bytes) {
    uint32_t lo = offset / 4, hi = (offset + size_bytes + 3) / 4;
    warp->local_lo = lo < warp->local_lo ? lo : warp->local_lo;
    warp->local_hi = hi > warp->local_hi ? hi : warp->local_hi;
}
#endif
