/* Instruction selection, internal: the state of one function's selection, SSA construction on the fly,
 * helpers that emit machine instructions, and the selection functions of each family.
 *
 * Registers: a PTX register is one SSA variable for each 32-bit part. Registers narrower than 32 bits live in
 * the low bits; what is above them is arbitrary, so every reader that cares extends (sel_src_ext).
 *
 * Guards: see SelGuard. A selection function for SG_COPY writes its results through sel_write*, which makes
 * the guarded form; everything before that runs in all lanes and so must not trap, store or branch.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_SELECT_ISEL_H
#define HEDDLE_LOWER_SELECT_ISEL_H
#include "isa/machine/luts.h"
#include "frontend/shared_layout.h"
#include "isa/machine/abi.h"
#include "isa/machine/banks.h"
#include "lower/lower.h"

/* ---- SSA construction (ssa_build.c) ---- */
typedef struct SsaPhi {
    BlockId block;
    uint32_t var;
    ValId value;
    uint32_t *ops; /* one for each predecessor, NULL until filled */
    uint32_t nops;
    bool dead, live;
} SsaPhi;
typedef struct {
    bool sealed;
    uint32_t loop;            /* in SsaLoops */
    VEC(uint32_t) incomplete; /* phi numbers */
} SsaBlock;
typedef struct {
    uint8_t file;      /* RegFile */
    uint8_t component; /* of ptx_reg */
    uint32_t ptx_reg;  /* 0 = the compiler's own */
} SsaVar;
/* A reducible loop; what is in it is numbered in .. out - 1. The block of a loop has only been reached
 * through the header, and since then only through statements of the loop. */
typedef struct {
    uint32_t parent, jump; /* the next one around it; another further out or the same */
    uint32_t depth, in, out;
    BlockId header;
    uint32_t ways_in; /* edges to the header from outside, 0 if selection collects them first */
} SsaLoop;
/* Filled by sel_find_loops. Empty: nothing is known, which is always right. */
typedef struct {
    SsaLoop *at; /* [0] the function itself */
    uint32_t n;
    uint32_t *writes_at; /* [PTX register] first of its entries in writes */
    uint32_t *writes;    /* numbers (`in`) of loops with a statement that writes it, ascending */
} SsaLoops;
typedef struct {
    Function *f;
    Arena *a;
    SsaLoops loops;
    BlockIds path; /* of reads under way */
    VEC(SsaVar) vars;
    VEC(SsaBlock) blocks; /* by BlockId */
    VEC(SsaPhi) phis;
    VEC(uint32_t) replaced; /* by ValId: another value that stands for it, 0 none */
    VEC(uint32_t) pending;  /* phis to fill */
    uint64_t *keys;         /* hash map (block, var) -> value */
    uint32_t *vals;
    uint32_t nslots, count;
    uint32_t depth;
    InstIds entry_undefs;
} Ssa;
void sel_ssa_init(Ssa *ssa, Function *f, Arena *arena);
uint32_t sel_ssa_var_new(Ssa *ssa, RegFile file, uint32_t ptx_reg, unsigned component);
void sel_ssa_write(Ssa *ssa, uint32_t var, BlockId b, ValId v);
ValId sel_ssa_read(Ssa *ssa, uint32_t var, BlockId b);
/* The block is in that loop. Until then it is in none, which is always right. */
void sel_ssa_place(Ssa *ssa, BlockId b, uint32_t loop);
void sel_ssa_seal(Ssa *ssa, BlockId b); /* all predecessors are known */
void sel_ssa_finish(Ssa *ssa); /* fill in, drop redundant phis, rewrite operands, put phis in place */

/* ---- module ---- */
typedef struct {     /* where a PTX variable lives */
    StrId name;      /* in the result's strings */
    uint64_t offset; /* .const */
} VarPlace;
typedef struct {
    const PtxModule *mod;
    uint32_t index; /* in mod->funcs */
    Function *f;
    bool builtin, selected;
    bool calls_unknown;    /* has an indirect call */
    uint8_t mark;          /* ordering */
    VEC(uint32_t) callees; /* indices into Lower.fns */
} LowerFn;
typedef struct {  /* of one module: what lowering knows of its functions and variables */
    uint32_t *fn; /* [func] index in Lower.fns + 1; 0: not there yet */
    uint32_t *param_var,
        *frame_offset; /* [var] Sel's of the same names: only a variable's own function has them */
} LowerTables;
typedef struct Lower {
    IrModule *m;
    const PtxModule *user;
    StrTab *strings;
    const Target *t;
    const TargetInfo *ti;
    Diags *d;
    Arena scratch;
    VEC(LowerFn) fns;
    VarPlace *places;       /* by variable of the user's module */
    SharedLayout shared;    /* of the user's module */
    bool *address_taken;    /* [func] of the user's module */
    PtxModule *lib[16];     /* parsed files of the built-in library */
    LowerTables tables[17]; /* of the user's module, of lib[n] at n + 1; made when first asked for */
} Lower;
/* Index into l->fns of a function, which is added when new. */
uint32_t lower_function(Lower *l, const PtxModule *mod, uint32_t index, bool builtin);
LowerTables *lower_tables(Lower *lower, const PtxModule *mod);
/* The same for a built-in by name; UINT32_MAX and an error if the library lacks it. */
uint32_t lower_builtin(Lower *lower, const char *name);
StrId lower_name(Lower *lower, const PtxModule *mod, StrId id);
/* Is the function called by the convention between objects? */
bool lower_is_open(const Lower *lower, const PtxModule *mod, const PtxFunc *func);
bool isel_function(Lower *lower, uint32_t fn); /* isel.c */

/* ---- one function ---- */
typedef struct Sel Sel;
/* false: form not compiled (reported by the driver unless already) */
typedef bool SelFn(Sel *sel, const PtxInsn *in);
typedef enum {
    SG_COPY,   /* pure: compute in all lanes, then guarded copies (or guard the one instruction) */
    SG_BRANCH, /* guard becomes a branch around */
    SG_SELF    /* the selection function applies s->guard itself */
} SelGuard;

typedef struct { /* a value of up to 128 bits in 32-bit parts, low part first */
    Operand w[4];
    unsigned n;
} Wide;

struct Sel {
    Lower *l;
    IrModule *m;
    Function *f;
    const PtxModule *ptx;
    const PtxFunc *pf;
    const TargetInfo *ti;
    const Target *t;
    Diags *d;
    Arena arena;
    Ssa ssa;
    uint32_t fn;            /* index in l->fns */
    uint32_t *reg_var;      /* PTX register -> first SSA variable */
    uint32_t *param_var;    /* variable index -> first SSA variable of its words + 1, 0 = none (.param) */
    uint32_t *frame_offset; /* variable index -> offset + 1 in the frame, 0 = not there */
    bool frame_params;      /* some parameters are there, because their address is taken */
    uint32_t cc_var;        /* carry flag: predicate */
    uint32_t stack_var;     /* lowest address of the stack, where it grows */
    BlockId cur;            /* {0} when what follows cannot be reached */
    BlockIds order;         /* blocks in the order they were begun */
    BlockId *block_at;      /* PTX statement index -> its block if it begins one */
    uint32_t *preds_at;     /* its expected number of predecessors */
    uint32_t *edge_from;    /* the last statement seen to lead there + 1, while blocks are found */
    uint32_t *edges_at;     /* made so far */
    BlockId *funnel_at;     /* current funnel block, when there are too many predecessors */
    bool *leader, *reached;
    uint32_t *loop_of; /* PTX statement index -> loop in ssa.loops; NULL without loops */
    uint32_t loop;     /* of the current statement */
    const PtxInsn *in;
    LocId loc;
    Operand guard; /* of the current statement; OPK_NONE when absent or turned into a branch */
    bool failed, reported;
    ValId ret_addr[2];     /* device functions */
    uint32_t ret_area_var; /* hidden pointer for results in memory, SSA variable + 1 */
    uint32_t undef[2];     /* cached */
};

static inline PtxType sel_type(const PtxInsn *in) { return (PtxType)in->type[0]; }

enum { FUNNEL_LIMIT = 200, FUNNEL_WIDTH = 128 }; /* phis have at most 255 sources */

/* What may run behind a statement: labels, and whether the next statement (isel.c). */
uint32_t sel_num_targets(const Sel *sel, const PtxInsn *in);
uint32_t sel_target_insn(const Sel *sel, const PtxInsn *in, uint32_t k);
bool sel_falls_through(const Sel *s, const PtxInsn *in);
/* Once blocks are found: ssa.loops and loop_of, and the places of the blocks (assigned.c). */
void sel_find_loops(Sel *sel);
/* Is the PTX register among the operands that the statement may write? What writes another is refused: reads
 * go past loops whose statements do not name the register. */
bool sel_is_result(const PtxInsn *in, uint32_t reg);

/* Number and count of a barrier both in registers, and no form that takes them so: one register holds both.
 * Native machines have the count in the upper half and a modifier for it, bru1's BAR_RED from bit 4 up. */
bool sel_bar_packs(const Target *target, unsigned op, Operand id, Operand count, unsigned *count_bit,
                   uint32_t *mods);
/* A trap instruction, unguarded; ends no block (flow.c). */
InstId sel_trap(Sel *sel, TrapCode code);

/* ---- emission (lower/select/emit.c) ---- */
#define SEL_COUNT(...) ((unsigned)(sizeof((Operand[]){__VA_ARGS__}) / sizeof(Operand)))
/* New instruction at the end of the current block; sources as given, destinations OPK_NONE. */
InstId sel_emit(Sel *sel, unsigned op, uint32_t mods, unsigned nsrc, const Operand *src);
Operand sel_emit_dst(Sel *sel, unsigned op, uint32_t mods, unsigned dst, RegFile file, unsigned count,
                     unsigned nsrc, const Operand *src);
/* with destination 0 a new R value, pair, or predicate */
#define EMIT_R(s, op, mods, ...)                                                                             \
    sel_emit_dst((s), (op), (mods), 0, RF_R, 1, SEL_COUNT(__VA_ARGS__), (Operand[]){__VA_ARGS__})
#define EMIT_R2(s, op, mods, ...)                                                                            \
    sel_emit_dst((s), (op), (mods), 0, RF_R, 2, SEL_COUNT(__VA_ARGS__), (Operand[]){__VA_ARGS__})
#define EMIT_P(s, op, mods, ...)                                                                             \
    sel_emit_dst((s), (op), (mods), 0, RF_P, 1, SEL_COUNT(__VA_ARGS__), (Operand[]){__VA_ARGS__})
#define EMIT0(s, op, mods, ...) sel_emit((s), (op), (mods), SEL_COUNT(__VA_ARGS__), (Operand[]){__VA_ARGS__})
/* Second destination (predicate `dst`) of an instruction just made. */
Operand sel_add_dst(Sel *sel, InstId i, unsigned dst, RegFile file);
Operand sel_add_dsts(Sel *sel, InstId i, unsigned dst, RegFile file, unsigned count); /* a vector */
/* An operation of the lanes in `mask` together (OPK_NONE: of those that happen to be), which is a source
 * behind those of the optype (warp.c). */
InstId sel_emit_sync(Sel *sel, unsigned op, uint32_t mods, unsigned nsrc, const Operand *src, Operand mask);
InstId sel_last(Sel *sel); /* last instruction of the current block */
Operand sel_new_r(Sel *sel);
Operand sel_undef(Sel *sel, RegFile file);
Operand sel_value(Sel *sel, Operand o);             /* in a register, no modifiers */
Operand sel_pair(Sel *sel, Operand lo, Operand hi); /* vector operand */
Operand sel_quad(Sel *sel, const Operand *operand, unsigned n);
Operand sel_part(Sel *sel, Operand o, unsigned c); /* scalar c of a vector operand */
Operand sel_pred(Sel *sel, Operand p);             /* predicate without NOT */
static inline Operand op_none(void) { return (Operand){0}; }
static inline Operand op_pf(void) { return op_with(op_pt(), OPM_NOT); }
static inline Operand op_not(Operand o) {
    o.mods ^= OPM_NOT;
    return o;
}
static inline Operand op_neg(Operand o) {
    o.mods ^= OPM_NEG;
    return o;
}
static inline bool op_is_imm(Operand o, uint32_t v) { return o.kind == OPK_IMM && o.value == v; }
/* integer */
Operand sel_mov(Sel *sel, Operand a);
Operand sel_iadd(Sel *sel, Operand a, Operand b);
Operand sel_isub(Sel *sel, Operand a, Operand b);
Operand sel_launch_word(Sel *sel, uint32_t offset); /* a word of constant bank 0 */
Wide sel_launch_pair(Sel *sel, uint32_t offset);    /* two words of it */
Operand sel_iadd_cc(Sel *sel, Operand a, Operand b, Operand *carry_out);
Operand sel_iadd_x(Sel *sel, Operand a, Operand b, Operand carry_in, Operand *carry_out);
Wide sel_add64(Sel *sel, Wide a, Wide b);
Wide sel_sub64(Sel *sel, Wide a, Wide b);
Wide sel_neg64(Sel *sel, Wide a);
Operand sel_imad(Sel *sel, Operand a, Operand b, Operand c);
Wide sel_imad_wide(Sel *sel, bool is_signed, Operand a, Operand b, Wide *wide); /* c may be NULL */
Operand sel_imad_hi(Sel *sel, bool is_signed, Operand a, Operand b); /* the high word of the product */
Operand sel_lop(Sel *sel, unsigned lut, Operand a, Operand b, Operand c);
Operand sel_and(Sel *sel, Operand a, Operand b);
Operand sel_or(Sel *sel, Operand a, Operand b);
Operand sel_xor(Sel *sel, Operand a, Operand b);
Wide sel_both(Sel *sel, Operand (*op)(Sel *, Operand, Operand), Wide a, Wide b); /* low words, then high */
Operand sel_shl(Sel *sel, Operand a, Operand n);
Operand sel_shr(Sel *sel, bool is_signed, Operand a, Operand n);
Wide sel_shl64(Sel *sel, Wide a, Operand n);
Wide sel_shr64(Sel *sel, bool is_signed, Wide a, Operand n);
Operand sel_prmt(Sel *s, Operand a, Operand sel, Operand b);
Operand sel_select(Sel *sel, Operand p, Operand a, Operand b); /* p ? a : b */
Wide sel_select64(Sel *sel, Operand p, Wide a, Wide b);
Operand sel_minmax(Sel *sel, bool is_signed, bool is_max, Operand a, Operand b);
Operand sel_isetp(Sel *sel, bool is_signed, unsigned icmp, Operand a, Operand b);
Operand sel_isetp64(Sel *sel, bool is_signed, unsigned icmp, Wide a, Wide b);
/* predicates; p, q may carry NOT */
Operand sel_plop(Sel *sel, unsigned lut, Operand p, Operand q, Operand r);
Operand sel_pmov(Sel *sel, Operand p);
Operand sel_pand(Sel *sel, Operand p, Operand q);
Operand sel_por(Sel *sel, Operand p, Operand q);
Operand sel_pxor(Sel *sel, Operand p, Operand q);
/* extension of a narrow value in the low bits of a register */
Operand sel_extend(Sel *sel, Operand a, unsigned bytes, bool is_signed);
/* float */
Operand sel_flush(Sel *sel, Operand a); /* f32: subnormal to zero, NaN canonical */
Operand sel_mufu(Sel *sel, unsigned func, Operand a);
/* f32, correctly rounded (rounded.c); rnd is of enumeration Rnd, an immediate is flushed already. Other
 * blocks follow. */
bool sel_div_rounded(Sel *sel, unsigned rnd, bool ftz, const Operand *operands, Operand *d);
bool sel_sqrt_rounded(Sel *sel, unsigned rnd, bool ftz, Operand operand, Operand *d);
/* The same of f64; a division has two operands. */
bool sel_div_rounded_wide(Sel *sel, unsigned rnd, const Wide *operands, Wide *d);
bool sel_sqrt_rounded_wide(Sel *sel, unsigned rnd, Wide operand, Wide *d);
/* both halves in bf16, one rounding (lower/select/half.c) */
Operand sel_bf16_fma(Sel *sel, bool sat, Operand a, Operand b, Operand c);
Operand sel_bf16_add(Sel *sel, bool sat, Operand a, Operand b);
bool sel_has_bf16(const Sel *sel);

/* ---- operands (isel.c) ---- */
static inline Wide wide1(Operand a) { return (Wide){.w = {a}, .n = 1}; }
static inline Wide wide2(Operand lo, Operand hi) { return (Wide){.w = {lo, hi}, .n = 2}; }
Wide sel_wide_pair(Sel *sel, Operand pair);
Operand sel_wide_vec(Sel *sel, Wide a); /* as one vector operand */
/* Operand number i of the statement as it is: `bytes` wide (1..8); 32-bit parts. */
Wide sel_src(Sel *sel, const PtxOperand *operand, unsigned bytes);
Operand sel_src32(Sel *sel, const PtxOperand *operand);
/* A value of type t extended to 32 bits (narrow types), or as it is. */
Operand sel_src_ext(Sel *sel, const PtxOperand *operand, PtxType t);
Operand sel_src_pred(Sel *sel, const PtxOperand *operand);
Operand sel_read_reg(Sel *sel, uint32_t reg, unsigned component);
/* Write the parts of a value of type t to the destination; extended when the register is wider. */
void sel_write(Sel *sel, const PtxOperand *dst, PtxType t, Wide v);
void sel_write32(Sel *sel, const PtxOperand *dst, PtxType t, Operand v);
void sel_write_pred(Sel *sel, const PtxOperand *dst, Operand p);
void sel_write_var(Sel *sel, uint32_t var, Operand v); /* unguarded or guarded */
unsigned sel_reg_bytes(const Sel *sel, const PtxOperand *operand);
bool sel_error(Sel *sel, const char *reason); /* "form: reason (section)"; returns false */
static inline bool type_signed(PtxType t) { return ptx_type_class(t) == TC_SIGNED; }

/* ---- control flow ---- */
void sel_begin(Sel *sel, BlockId b); /* continue at the end of b */
BlockId sel_block_new(Sel *sel);
void sel_jump(Sel *sel, BlockId to);                                /* ends the current block */
void sel_branch(Sel *sel, Operand p, BlockId yes, BlockId no);      /* likewise */
void sel_branch_rare(Sel *sel, Operand p, BlockId yes, BlockId no); /* where p is hardly ever true */
void sel_jump_label(Sel *sel, uint32_t insn);
void sel_branch_label(Sel *sel, Operand p, uint32_t insn, BlockId no, bool uniform);
BlockId
sel_label_target(Sel *sel,
                 uint32_t insn); /* block to name in an edge to the statement; call once for each edge */
void sel_seal(Sel *sel, BlockId b);

/* ---- calls (abi.c) ---- */
/* The start of the frame, for what calls by the convention between objects pass on the stack. */
void sel_abi_reserve(Sel *sel);
bool sel_abi_enter(Sel *sel);   /* IR_ENTRY, incoming parameters */
void sel_begin_stack(Sel *sel); /* behind it: the stack ends at the frame where something asks for its end */
bool sel_abi_return(Sel *sel);  /* RET of a device function */
bool sel_abi_call(Sel *sel, const PtxInsn *in);
/* Call a built-in: args and rets are 32-bit parts. */
bool sel_abi_call_builtin(Sel *sel, const char *name, unsigned nargs, const Operand *args, unsigned nrets,
                          Operand *rets);

/* ---- addresses (lower/select/mem.c) ---- */
Wide sel_symbol_address(Sel *sel, const PtxOperand *operand, bool generic);
Operand sel_own_shared(Sel *sel, Operand place); /* with the rank in the cluster, where there are any */
Wide sel_linked_address(Sel *sel, StrId name, int64_t offset); /* of a symbol, which the loader knows */
Wide sel_function_address(Sel *sel, uint32_t index, int64_t offset);
bool sel_param_access(Sel *sel, const PtxInsn *in, bool is_store);
typedef struct {  /* a memory operand, ready for an instruction */
    Operand base; /* register (pair for 64-bit addresses) or OPK_NONE */
    int32_t offset;
    PtxSpace space;
    bool wide64;
} Address;
bool sel_address(Sel *sel, const PtxInsn *in, const PtxOperand *operand, PtxSpace space, Address *address);
/* The same in shared memory, where a generic address is taken for one that lies there. */
bool sel_shared_address(Sel *sel, const PtxInsn *in, const PtxOperand *operand, Address *address);
/* What lies `bytes` behind an address of global memory. */
Address sel_address_behind(Sel *sel, const Address *address, unsigned bytes);
/* Addresses in shared memory of a cluster have the block's rank in their upper byte. */
enum { SEL_RANK_LOW_BIT = 24 };
static inline bool sel_has_ranks(const Sel *sel) { return sel->ti->cluster_offset_bytes != 0; }
static inline Wide sel_imm64(uint64_t v) { return wide2(op_imm((uint32_t)v), op_imm((uint32_t)(v >> 32))); }
/* Words of memory, without a guard: as an unsigned element of `bytes`, 1 to 16. */
Operand sel_load_words(Sel *sel, const PtxInsn *in, const Address *address, unsigned bytes);
void sel_store_words(Sel *sel, const PtxInsn *in, const Address *address, unsigned bytes, Operand data);
void sel_fence(Sel *sel, const PtxInsn *in, bool guarded); /* of the statement's scope; guarded as it is */
/* The fence behind an acquire: weak loads find nothing that was read before. */
void sel_acquire(Sel *sel, const PtxInsn *in, bool guarded);
void sel_forget_copies(Sel *sel, const PtxInsn *in); /* the latter alone */
/* AtomOp of a PtxAtomOp; false: the machine has none of it (.cas, none). */
bool sel_atom_op(unsigned atom, unsigned *op);
/* A word or pair in memory becomes what `update` makes of it, at once; *old is what it was (atom.c). The loop
 * that does it has `update` inside: values from before it are to be in registers. */
typedef bool SelUpdate(Sel *sel, const void *context, Wide old, Wide *now);
bool sel_atomic_update(Sel *sel, const PtxInsn *in, const Address *address, unsigned bytes, SelUpdate *update,
                       const void *context, Wide *old);
/* Of a texture, sampler or surface that the operand names: the low word, the other is 0. */
Operand sel_texture_handle(Sel *sel, const PtxOperand *operand);
/* The value of a texture's, sampler's or surface's name: with its kind (frontend/texture.h), for mov. */
Wide sel_named_handle(Sel *sel, const PtxOperand *operand);
uint32_t sel_mem_size(PtxType t, bool *ok); /* enumeration MemSz */
unsigned sel_mem_order(const PtxInsn *in);

/* Uniform registers from IR_FIXED_UR on take what one lane has: `turn` emits what it does with them, in a
 * loop that lets each lane do so in its turn (tensor.c). The values that it moves there are to be in
 * registers. */
typedef void SelTurn(Sel *sel, const void *context);
bool sel_in_turns(Sel *sel, SelTurn *turn, const void *context);
void sel_to_fixed_ur(Sel *sel, unsigned ur, Operand value);
/* A bulk copy of the statement by the machine's engine: its optype and modifiers (tensor.c). */
bool sel_bulk_engine(Sel *sel, const PtxInsn *in, unsigned op, unsigned mods);

/* ---- the forms' functions: those that frontend/ptx_forms.def names (isel_absent does not exist) ---- */
#define SELECT(name) isel_##name
#define isel_ABSENT(reason) isel_absent
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target)         \
    SelFn select;
#include "frontend/ptx_forms.def"
#undef SELECT
#undef isel_ABSENT
bool isel_hsetp_pred(Sel *sel, const PtxInsn *in, PtxType t, const PtxOperand *operand,
                     const PtxOperand *ptx_operand, Operand *p, Operand *q);
/* The predicate of a PTX comparison, all types. */
bool sel_compare(Sel *sel, const PtxInsn *in, PtxType t, const PtxOperand *a, const PtxOperand *operand,
                 Operand *p);
/* A special register as source, `parts` words of it; counters of 64 bits in one read. */
Wide sel_special_source(Sel *sel, const PtxOperand *operand, unsigned parts, bool *ok);
/* n / d, or n mod d, of 32 bits without sign (lower/select/divide.c). */
Operand sel_divided(Sel *s, bool rem, Operand n, Operand d);
#endif
