/* Machine IR: what instruction selection makes, every pass rewrites, and emission encodes.
 *
 * One record from selection to encoding: virtual (SSA) operands first, physical ones after register
 * allocation, rewritten in place. An SSA value is one 32-bit register, or one predicate, of one register
 * file; a 64-bit quantity is two values, named together by one operand of count 2 when an instruction needs
 * them in consecutive registers.
 *
 * Control flow: a block ends with one of
 *     BRA to block                       (unconditional; layout removes it when the target is next)
 *     @P BRA to block; BRA to block      (two ways; @P may also be the second-last instruction only)
 *     BRX                                (targets = succs; their places stay, see BranchTable)
 *     EXIT, RET, BPT/TRAP, or a CALL that does not return, unguarded   (no successor)
 * `succs` lists the targets in that order. `@P EXIT` and `@P RET` may stand anywhere in a block: a guarded
 * one ends no block. The entry block has no predecessor. An instruction has at most 255 sources, so a block
 * with phis has at most 255 predecessors.
 *
 * Guards: an instruction with a guard other than PT that defines values carries, behind its sources, one
 * tied source for each destination: the value that remains in lanes whose guard is false (OPK_NONE for a
 * destination that is RZ/PT, or whose value no lane with a false guard needs). Register allocation gives both
 * the same register.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_IR_IR_H
#define HEDDLE_IR_IR_H
#include "base/arena.h"
#include "base/bitset.h"
#include "base/diag.h"
#include "base/str.h"
#include "isa/isa.h"

typedef struct {
    uint32_t i;
} ValId; /* 0 is none in all of these */
typedef struct {
    uint32_t i;
} InstId;
typedef struct {
    uint32_t i;
} BlockId;
typedef struct {
    uint32_t i;
} LocId;
typedef VEC(InstId) InstIds;
enum { IR_MOST_VECTOR = 128 }; /* registers of an operand: the result of a product by a warp group */
typedef VEC(BlockId) BlockIds;

/* Operations that are no machine instruction; gone when the pass named has run. */
enum IrOp {
    IR_PHI =
        OT_COUNT, /* dst v; srcs one for each predecessor, in the order of Block.preds   (phi elimination) */
    IR_COPY, /* dst a; src b: any files, becomes MOV, SEL, R2UR ... when coloured            (copy lowering)
              */
    IR_PARCOPY, /* dsts d1..dn; srcs s1..sn, at once; from the allocator then up to two scratch registers,
                 * one R and one P, that hold nothing before and behind it                     (copy lowering)
                 */
    IR_UNDEF,   /* dst v: any value, reported by the simulator if it matters                   (colouring) */
    IR_ENTRY,   /* first instruction of a function: defines the incoming fixed-register values (colouring) */
    IR_SPILL, /* src value, imm slot in bytes from the frame's spill area: STL               (frame layout) */
    IR_RELOAD, /* dst value, imm slot: LDL                                                    (frame layout)
                */
    IR_FRAME_ADDR, /* dst; src imm: R1 + offset in the frame's variable area                   (frame layout)
                    */
    IR_OP_COUNT
};

enum InstFlags {
    IF_TIED = 1, /* tied sources follow the sources (see Guards) */
    IF_SYNC = 2, /* collective: active lanes must be those of its mask; WARPSYNC inserted before it. The mask
                    is one more source behind the optype's (OPK_IMM or a value in R) until reconvergence takes
                    it away. WARPSYNC itself may be flagged: its mask is its own operand. BAR: no mask. */
    IF_OBSERVING =
        4, /* may observe another thread's progress: volatile/relaxed/acquire load, atomic (YIELD rule) */
    IF_UNIFORM = 8,      /* PTX promised a uniform branch (.uni) */
    IF_MEMORY = 16,      /* orders with other memory operations in the scheduler */
    IF_SIDE_EFFECT = 32, /* never removed as dead (stores, atomics, control, barriers) */
    IF_CONVERGENT = 64,  /* must not be made control-dependent on more (CALL, collectives, BAR) */
    IF_ALIGNED =
        128, /* PTX promised that all threads of the warp execute this very instruction (bar, .aligned) */
    IF_REWRITTEN = 256, /* a branch under another condition than its PTX statement: no profile speaks of it */
    IF_RARE = 512,      /* a branch that lanes hardly ever take: to what is slow in an operation */
    IF_MASKED = 1024,   /* a vote of which each lane takes what its own mask names: others may vote with it */
    IF_ASKS = 2048,     /* a branch that lanes take if all of their mask are here (lower/reconverge/ask.c) */
    IF_ALONE = 4096     /* volatile or strong in PTX: stays an access of its own, as wide as it is */
};

typedef struct Inst {
    uint16_t op; /* enum Optype or enum IrOp */
    uint8_t ndst, nsrc;
    uint32_t operand; /* first operand in Function.operands: dsts, srcs, tied sources */
    Operand guard;    /* predicate; OPK_NONE = always */
    uint32_t mods;    /* MSET fields of the optype */
    uint32_t sched;   /* packed Control: see ir_control */
    LocId loc;
    uint16_t flags; /* IF_* */
    uint16_t aux;   /* for the running pass; no meaning between passes */
} Inst;
_Static_assert(sizeof(Inst) == 32, "instructions are 32 bytes");

typedef struct {
    InstIds insts; /* phis first */
    BlockIds preds;
    BlockIds succs;
    uint32_t label;      /* PTX label index + 1, 0 = none */
    uint32_t ptx_insn;   /* PTX statement index + 1 that the block was made to begin with, 0 = none */
    uint32_t order;      /* position in Function.layout, set by ir_renumber */
    uint32_t loop_depth; /* set by cfg analyses */
    bool uniform_flow;   /* all valid lanes of the warp that do not exit come here together or not at all, as
                            far as   branches go (they need not be converged); set by uniformity, false when not
                            known */
    bool dead;           /* removed from the function */
} Block;

typedef struct {       /* one SSA value */
    uint8_t file;      /* RegFile */
    uint8_t component; /* 32-bit part of ptx_reg */
    int16_t fixed_reg; /* register demanded by the ABI, -1 = none */
    uint32_t ptx_reg;  /* PTX register id it is a version of, 0 = temporary */
    InstId def;        /* defining instruction */
    BlockId block;     /* where */
    bool uniform;      /* same in all valid lanes of the warp: set by uniformity analysis */
} Value;

typedef struct {                  /* position in the source */
    uint32_t ptx_insn;            /* PTX statement index + 1 in the function, 0 = made by the compiler */
    SrcLoc src;                   /* in the PTX text */
    uint32_t line;                /* `.loc`: index + 1 into PtxFunc.lines */
    const struct PtxBranch *odds; /* of a branch that was rewritten (lower/profile.h), or NULL */
} Loc;

// clang-format off
typedef enum { RELOC_NONE, RELOC_ABS32_LO, RELOC_ABS32_HI, RELOC_CALL_REL, RELOC_CALL_ABS,
               RELOC_SHARED_OFFSET32, RELOC_ABS64, RELOC_PCREL_LO, RELOC_GENERIC64,
               RELOC_TEXTURE /* a handle, whose word of constant memory the writer gives */,
               RELOC_CONST_OFFSET32 /* in constant bank 3; of objects for linkers */, RELOC_KIND_COUNT } RelocKind;
// clang-format on
/* A symbol that no file defines: the bytes from one texture to the next in the driver's table of what they
 * are, as ptxas names them. Loaders know the number. */
#define IR_TEXTURE_BYTES ".nv.unified.texrefDescSize"
typedef struct { /* what an OPK_SYM operand names */
    StrId symbol;
    int64_t addend;
    RelocKind kind;
} SymRef;

enum { IR_FIXED_UR = 48 };               /* the first that instructions with many take, a multiple of 8 */
enum { IR_FRAME_INCOMING = 0x40000000 }; /* in IR_FRAME_ADDR's offset: it counts from the caller's frame */

typedef struct {               /* interprocedural facts about a function after its allocation; IPRA */
    Bitset clobbers[RF_COUNT]; /* registers it or its callees write */
    uint32_t frame_bytes;      /* own frame */
    uint32_t stack_bytes;      /* deepest use of it and its callees; UINT32_MAX if recursive */
    uint32_t max_b;            /* convergence barriers used, base included */
} FuncSummary;

typedef struct { /* where a PTX register's value is to be found; never wrong, not always complete */
    uint32_t ptx_reg;
    uint8_t component, file;
    uint16_t reg;
    BlockId block;
    InstId from; /* valid behind this instruction, 0 = from the block's start */
    InstId to;   /* up to and with this one, 0 = to the block's end */
} IrVarRow;

typedef struct { /* jump table of a BRX: words in CONST_BANK_JUMPS that hold code offsets from the function's
                    start */
    uint32_t offset_bytes; /* in the function's part of the bank; operands c[2][...] count from there too */
    VEC(uint32_t) entries; /* positions in the succs of the block that ends with the BRX */
} BranchTable;

struct PtxModule;
struct PtxFunc;
typedef struct Function {
    struct IrModule *module;
    StrId name;
    uint32_t index;            /* in IrModule.funcs */
    const struct PtxFunc *ptx; /* NULL for IR loaded from text */
    bool is_entry, is_ssa, is_physical, noreturn;
    bool uniform_entry; /* called (or launched) with all valid lanes converged only */
    bool uses_sync;     /* contains, or calls something with, collectives or barriers */
    Arena *arena;
    VEC(Block) blocks; /* [0] unused */
    BlockId entry;
    BlockIds layout; /* emission order, live blocks only; entry first */
    VEC(Inst) insts; /* [0] unused; never compacted */
    VEC(Operand) operands;
    VEC(Value) values;       /* [0] unused */
    VEC(uint32_t) vectors;   /* ValIds of vector operands, `count` at a time */
    VEC(uint64_t) consts;    /* OPK_IMM64 */
    VEC(SymRef) symrefs;     /* OPK_SYM */
    VEC(Loc) locs;           /* [0] unused */
    VEC(BranchTable) tables; /* source `offset` of a BRX is OPK_IMM64: the index of its table */
    VEC(IrVarRow) var_rows;  /* made by colouring */
    uint32_t var_bytes;      /* frame: .local variables and stack-passed parameters */
    uint32_t spill_bytes;    /* frame: spill slots */
    uint32_t spill_store_bytes,
        spill_load_bytes;    /* what code for them stores and loads; known from frame on */
    uint32_t shared_bytes;   /* kernels: static shared memory */
    uint32_t nbarriers_used; /* highest named barrier + 1; 16 if held in a register */
    uint32_t b_base;         /* first convergence barrier register it may use */
    bool stack_grows;        /* below the frame, at addresses that the code computes */
    uint32_t
        link_at;  /* 1 + where in the frame the address of the link is; 0: it has none (regalloc/frame.c) */
    bool is_open; /* other objects call it, by the convention between objects (abi.h) */
    unsigned reg_limit; /* R registers it may use, 0 = what target and launch bounds allow; for tests */
    FuncSummary summary;
} Function;

typedef struct { /* module-level data */
    StrId name;
    uint8_t linkage; /* PtxLinkage */
    uint8_t space;   /* PtxSpace: SP_GLOBAL, SP_CONST, SP_SHARED */
    uint32_t align_bytes;
    uint64_t size_bytes;
    uint64_t offset_bytes; /* in constant bank 3; 0 of other spaces */
    const struct PtxVar *ptx;
    bool is_extern_shared; /* dynamic shared memory */
} IrVar;

// clang-format off
typedef enum { RJ_BARRIER, RJ_UNIFORM, RJ_PROMISED /* .uni */, RJ_NO_JOIN, RJ_JOIN_IS_EXIT, RJ_TOO_DEEP, RJ_RECURSIVE,
               RJ_EARLY, RJ_ROUNDS, RJ_ENTERED, RJ_OFF, RJ_ORDER, RJ_NO_PROFIT, RJ_COUNT } ReconvReason;
// clang-format on
typedef struct { /* what reconvergence did for one branch, for `compile -v` and reports */
    Function *func;
    BlockId branch, join; /* join 0: none */
    LocId loc;            /* of the branch */
    LocId join_loc;       /* of the first instruction of the join that has one */
    LocId loop_loc; /* lanes meet in every round of this loop: its first instruction that has one; or 0 */
    uint32_t loop_exits; /* edges out of that loop */
    float gain; /* auto mode: warp instructions that a warp is expected to save by the join, or (negative; see
                   IrModule.explain) would lose by a join that was refused; 0: not estimated */
    uint32_t barrier;    /* convergence barrier register, if reason is RJ_BARRIER, RJ_EARLY or RJ_ROUNDS */
    ReconvReason reason; /* RJ_EARLY: one more report of the branch, for a join before the one all paths
                            reach; RJ_ROUNDS: the same, for a join within a loop that waits for lanes of later
                            rounds; RJ_ENTERED: at the WARPSYNC of a mask, in a recursive function */
} ReconvReport;
const char *ir_reconv_reason(ReconvReason r); /* a phrase: "uniform branch" */
typedef enum {
    RECONV_AUTO /* where it makes a warp issue least, as far as can be told */,
    RECONV_IPDOM,
    RECONV_FRONTIER,
    RECONV_FRONTIER_ALL /* no profit test */,
    RECONV_NONE,
    RECONV_COUNT
} ReconvMode;
const char *ir_reconv_mode_name(ReconvMode m);           /* "ipdom", "frontier-all", ... */
bool ir_reconv_mode(const char *name, ReconvMode *mode); /* false: there is none of that name */

enum { /* what reconvergence may do beyond placing joins: `--reconverge-opt`, IrModule.reconv_opts */
       RO_GIVEN = 1, /* the others say it; without this they are as ir_reconv_opt has them by default */
       RO_MELD = 2,  /* similar sides of a branch are executed together (lower/opt/meld.c) */
       RO_SPECULATE = 4 /* lanes of several rounds of a loop wait for each other at a join within it */,
       RO_GATHER_ROUNDS =
           8 /* the same at the header of an inner loop: those done with it begin the next round */,
       RO_MEASURED = 16 /* these two only in loops that a profile has counts of */
};
bool ir_reconv_opt(unsigned opts, unsigned which); /* is it on? */
/* "meld,speculate,gather-rounds", "all", "none"; false: there is no such name. */
bool ir_reconv_opts(const char *names, unsigned *opts);

typedef enum {
    PREDICATE_AUTO /* where it pays */,
    PREDICATE_OFF,
    PREDICATE_MAX /* wherever it is allowed */
} PredicateMode;
typedef enum { PD_NONE, PD_TRIANGLE, PD_DIAMOND, PD_EXIT, PD_BRANCH, PD_LEAVE, PD_COUNT } PredicateShape;
// clang-format off
typedef enum { PR_CONVERTED, PR_LOOP, PR_SHARED, PR_INNER, PR_END, PR_NO_JOIN, PR_LONG, PR_CALL, PR_SYNC, PR_OPERATION,
               PR_OBSERVING, PR_PRESSURE, PR_NO_PROFIT, PR_UNLIKE, PR_COUNT } PredicateReason;
// clang-format on
typedef struct { /* what predication did with one branch, for `compile -v` and reports */
    Function *func;
    BlockId branch;
    LocId loc;    /* of the branch */
    InstId first; /* converted: the first instruction that came from its sides */
    PredicateShape shape;
    PredicateReason reason;
    uint32_t insts;           /* instructions of its sides */
    uint32_t selects, merges; /* instructions added: selects for phis, predicates combined */
    float branch_issues,
        guard_issues; /* expected warp instructions as branches, and predicated; 0: not estimated */
} PredicateReport;
typedef struct { /* what melding did with one divergent branch that has two sides */
    Function *func;
    BlockId branch;
    LocId loc;                          /* of the branch */
    PredicateReason reason;             /* PR_CONVERTED: melded */
    unsigned melded, alone, selects;    /* instructions of both sides at once, of one side, added */
    float branch_issues, melded_issues; /* expected warp instructions without and with; 0: not estimated */
} MeldReport;
typedef struct { /* two statements with effects that one instruction executes, in the place of one of them */
    const Function *func;
    LocId loc[2];
} MeldedPair;
const char *ir_predicate_reason(PredicateReason r);
const char *ir_predicate_shape(PredicateShape s);
const char *ir_predicate_mode_name(PredicateMode m);           /* "auto", "off", "max" */
bool ir_predicate_mode(const char *name, PredicateMode *mode); /* false: there is none of that name */

typedef struct IrModule {
    Arena arena;
    StrTab *strings;
    const Target *target;
    const struct PtxModule *ptx;
    const struct PtxProfile *profile; /* counts of its branches (lower/profile.h); NULL: there are none */
    VEC(Function *) funcs;            /* callees before callers where the call graph is acyclic */
    VEC(Function *) named;            /* in the order in which they were made, which nothing changes */
    StrMap
        by_name; /* place in `named` + 1: a symbol is looked up at once, however many functions there are */
    VEC(IrVar) vars;
    uint32_t const_bytes; /* bank 3 */
    bool fixed_ur;        /* uniform registers from IR_FIXED_UR on are not allocated */
    unsigned opt_level;   /* 0..3 */
    unsigned reg_limit;   /* as Function.reg_limit, for all functions */
    unsigned reg_bound;   /* least by launch bounds of the kernels among the first bounded_funcs (ra_limit) */
    unsigned bounded_funcs;
    ReconvMode reconverge;          /* where lanes are brought together */
    PredicateMode predicate;        /* which branches become guards */
    unsigned reconv_opts;           /* RO_*; 0: the default */
    Bitset open_clobbers[RF_COUNT]; /* registers that an open call may change, once one is asked for */
    const struct CallGraph *calls;  /* made by register allocation where functions recur */
    bool relocatable;               /* becomes an object that another linker joins with others: see abi.h */
    bool yield_breaks;              /* lanes leave all convergence barriers before YIELD */
    bool explain;                   /* reports also tell what the joins that were refused would have cost */
    uint64_t
        steps;   /* of the pass that runs, in units of its own, where it promises few; --time-passes, tests */
    bool verify; /* passes check their results; set by ir_run_passes */
    VEC(ReconvReport) reconv;     /* filled by reconvergence; callers before callees, else in layout order */
    VEC(MeldReport) melded;       /* filled by melding; function by function */
    VEC(MeldedPair) melded_pairs; /* of melding, and of stores that were joined */
    VEC(PredicateReport)
    predicated; /* filled by predication; function by function, in the order of the text */
} IrModule;

/* ---- access ---- */
static inline Inst *ir_inst(Function *f, InstId id) { return &f->insts.at[id.i]; }
static inline Block *ir_block(Function *f, BlockId id) { return &f->blocks.at[id.i]; }
static inline Value *ir_value(Function *f, ValId id) { return &f->values.at[id.i]; }
/* All its operands; NULL in a function that has none. */
static inline Operand *ir_operands(const Function *f, const Inst *i) {
    return f->operands.n ? &f->operands.at[i->operand] : NULL;
}
static inline Operand *ir_dst(const Function *f, const Inst *i, unsigned n) {
    return &f->operands.at[i->operand + n];
}
static inline Operand *ir_src(const Function *f, const Inst *i, unsigned n) {
    return &f->operands.at[i->operand + i->ndst + n];
}
static inline Operand *ir_tied(const Function *f, const Inst *i,
                               unsigned n) { /* tied source of destination n */
    return &f->operands.at[i->operand + i->ndst + i->nsrc + n];
}
static inline unsigned ir_num_operands(const Inst *i) {
    return i->ndst + i->nsrc + (i->flags & IF_TIED ? i->ndst : 0u);
}
/* Value number c (0..count-1) of an OPK_VAL operand; 0 where a vector has a hole (a register nobody names).
 */
static inline ValId ir_operand_value(const Function *f, Operand o, unsigned c) {
    return (ValId){o.count == 1 ? o.value : f->vectors.at[o.value + c]};
}

/* ---- walking ---- */
/* Loops with one body each; `break` and `continue` do what they say. AT(x) is the position of the loop's x:
 * in the layout, in the block, among the operands of its kind. A body that inserts or removes in what it
 * walks writes its own loop. Pointers live until the body makes an instruction.
 *   FOR_BLOCKS(f, b)         BlockId b, in layout order
 *   FOR_INST_IDS(f, b, id)   InstId id, in block b
 *   FOR_INSTS(f, b, i)       Inst *i, in block b
 *   FOR_PHIS(f, b, i)        Inst *i, the phis of block b; FOR_PHI_IDS(f, b, id) their ids
 *   FOR_DSTS(f, i, o)        Operand *o, destinations of i
 *   FOR_SRCS(f, i, o)        its sources
 *   FOR_TIED(f, i, o)        its tied sources
 *   FOR_USES(f, i, o)        its sources and tied sources
 *   FOR_OPERANDS(f, i, o)    all of these
 *   FOR_READS(f, i, o)       const Operand *o, its sources, tied sources and guard */
#define FOR_EACH_(T, x, more, value)                                                                         \
    for (uint32_t at_##x = 0, go_##x = 1; go_##x && (more); at_##x++)                                        \
        for (T x = (go_##x = 0, (value)); !go_##x; go_##x = 1)
#define AT(x) (at_##x + 0u)
#define FOR_BLOCKS(f, b) FOR_EACH_(BlockId, b, at_##b < (f)->layout.n, (f)->layout.at[at_##b])
#define FOR_INST_IDS(f, b, id) FOR_EACH_(InstId, id, at_##id < ir_num_insts(f, b), ir_inst_at(f, b, at_##id))
#define FOR_INSTS(f, b, inst)                                                                                \
    FOR_EACH_(Inst *, inst, at_##inst < ir_num_insts(f, b), &(f)->insts.at[ir_inst_at(f, b, at_##inst).i])
#define FOR_PHIS(f, b, inst)                                                                                 \
    FOR_EACH_(Inst *, inst, ir_is_phi_at(f, b, at_##inst), &(f)->insts.at[ir_inst_at(f, b, at_##inst).i])
#define FOR_PHI_IDS(f, b, id) FOR_EACH_(InstId, id, ir_is_phi_at(f, b, at_##id), ir_inst_at(f, b, at_##id))
#define FOR_DSTS(f, i, o) FOR_EACH_(Operand *, o, at_##o < (i)->ndst, ir_dst(f, i, at_##o))
#define FOR_SRCS(f, i, o) FOR_EACH_(Operand *, o, at_##o < (i)->nsrc, ir_src(f, i, at_##o))
#define FOR_TIED(f, i, o)                                                                                    \
    FOR_EACH_(Operand *, o, (i)->flags & IF_TIED && at_##o < (i)->ndst, ir_tied(f, i, at_##o))
#define FOR_OPERANDS(f, i, o)                                                                                \
    FOR_EACH_(Operand *, o, at_##o < ir_num_operands(i), &(f)->operands.at[(i)->operand + at_##o])
#define FOR_USES(f, i, o)                                                                                    \
    FOR_EACH_(Operand *, o, at_##o + (i)->ndst < ir_num_operands(i), ir_src(f, i, at_##o))
#define FOR_READS(f, i, o) FOR_EACH_(const Operand *, o, at_##o < ir_num_reads(i), ir_read(f, i, at_##o))
static inline unsigned ir_num_reads(const Inst *i) { return ir_num_operands(i) - i->ndst + 1; }
static inline const Operand *ir_read(const Function *f, const Inst *i, unsigned n) {
    return n + 1 == ir_num_reads(i) ? &i->guard : ir_src(f, i, n);
}
static inline uint32_t ir_num_insts(const Function *f, BlockId b) { return f->blocks.at[b.i].insts.n; }
static inline InstId ir_inst_at(const Function *f, BlockId b, uint32_t n) {
    return f->blocks.at[b.i].insts.at[n];
}
static inline bool ir_is_phi_at(const Function *f, BlockId b, uint32_t n) {
    return n < ir_num_insts(f, b) && f->insts.at[ir_inst_at(f, b, n).i].op == IR_PHI;
}

/* ---- building (ir/ir.c) ---- */
IrModule *ir_module_new(const Target *target, StrTab *strings);
void ir_module_free(IrModule *module);
Function *ir_function_new(IrModule *module, StrId name, bool is_entry);
BlockId ir_block_new(Function *f); /* appended to the layout */
ValId ir_value_new(Function *f, RegFile file);
Operand ir_val(const Function *f, ValId v);                   /* scalar operand */
Operand ir_vec(Function *f, const ValId *id, unsigned count); /* vector operand; count 1 is ir_val */
Operand ir_imm64(Function *f, uint64_t bits);
Operand ir_sym(Function *f, StrId symbol, int64_t addend, RelocKind kind);
Operand ir_target(BlockId b);
/* New instruction, not in a block. ndst and nsrc are those of the optype (isa_num_dst ...) except for IrOp
 * operations; operands start as OPK_NONE. Sets `def` of values when operands are set through ir_set_dst. */
InstId ir_inst_new(Function *f, unsigned op, unsigned ndst, unsigned nsrc);
void ir_set_dst(Function *f, InstId i, unsigned n, Operand o);
void ir_set_src(Function *f, InstId i, unsigned n, Operand o);
/* Give the instruction a guard; adds the (empty) tied sources if it has destinations. */
void ir_set_guard(Function *f, InstId i, Operand guard);
void ir_tie(Function *f, InstId i);                /* tied sources, OPK_NONE, unless it has some */
void ir_add_src(Function *f, InstId i, Operand o); /* one more source, behind the others */
void ir_remove_src(Function *f, InstId i, unsigned n);
uint16_t
ir_op_flags(unsigned op); /* IF_* that every instruction of the operation has; ir_inst_new sets them */
InstId ir_branch_new(Function *f, BlockId to);                        /* unguarded BRA */
const BranchTable *ir_branch_table(const Function *f, const Inst *i); /* of a BRX; NULL if it names none */
#define IR_BRA_TARGET_SLOT ((unsigned)BRA_offset)
void ir_append(Function *f, BlockId b, InstId i);
void ir_insert(Function *f, BlockId b, unsigned at, InstId i); /* before position `at` */
void ir_replace_at(Function *f, BlockId b, unsigned at, InstId i);
void ir_remove_at(Function *f, BlockId b, unsigned at);
void ir_add_edge(Function *f, BlockId from, BlockId to);
/* Redirect edge from->old to ->now; phis of `old` lose the operand, phis of `now` are the caller's task. */
void ir_replace_edge(Function *f, BlockId from, BlockId old, BlockId now);
void ir_remove_edge(Function *f, BlockId from, BlockId to);   /* the branch itself is the caller's task */
BlockId ir_split_edge(Function *f, BlockId from, BlockId to); /* new block with one BRA; phis stay right */
void ir_renumber(Function *f); /* layout order, drops dead blocks; Value.def and .block set anew */
Function *ir_find_function(const IrModule *module, StrId name); /* NULL if the module has none */
/* A call by the convention between objects (isa/machine/abi.h), which is the driver's, too: of what an
 * address names, to come back to the register of that convention. */
bool ir_call_is_open(const Function *f, const Inst *i);
const Function *ir_callee(const Function *f,
                          const Inst *i); /* of a CALL; NULL if indirect or not in the module */
bool ir_is_terminator(const Function *f, const Inst *i); /* unguarded control transfer, or guarded BRA */
static inline bool ir_is_pseudo(unsigned op) { return op >= OT_COUNT; }
const char *ir_op_name(unsigned op);
/* The operands of `i` become those of `out`, as many as its ndst and nsrc say; absent destinations stay as
 * they are. */
void ir_mach_operands(const Function *f, const Inst *i, MachInst *out);
Control ir_control(uint32_t sched); /* unpack and pack Inst.sched; 0 = CONTROL_DEFAULT */
uint32_t ir_control_pack(Control c);

/* ---- text (ir/print.c, ir/load.c) ---- */
/* The dump of a pass: readable, and loadable by ir_load as a test input; malloc'ed. */
char *ir_print(const IrModule *module, size_t *size_bytes);
char *ir_print_function(const Function *f, size_t *size_bytes);
/* Reports E06xx and returns NULL on bad text. */
IrModule *ir_load(const Source *text, StrTab *strings, Diags *diags);
/* Structure, SSA dominance, register files, slot kinds, edges/phi agreement. Reports E06xx; a failure after a
 * pass is an internal error that names the pass. */
bool ir_verify(const Function *f, Diags *diags, const char *after_pass);

/* ---- passes (ir/pass.c, ir/passes.def) ---- */
typedef bool PassFn(Function *f, Diags *d); /* false: reported */
typedef bool ModulePassFn(IrModule *m, Diags *d);
typedef struct {
    const char *dump, *stop_after; /* pass names or NULL; "all" dumps every pass */
    const char *without; /* a pass that -O0 does without, too, or NULL: it does not run (bench/quality) */
    bool time_passes, verify;
    void (*on_dump)(void *user, const char *pass, const char *text);
    void (*on_pass)(void *user, IrModule *m,
                    const char *pass); /* after each; may change the module, for experiments */
    void *user;
} PassOptions;
/* Run all passes of passes.def on the module. */
bool ir_run_passes(IrModule *module, const PassOptions *opt, Diags *diags);
#endif
