/* The typed module: what the parser and the semantic checks make of a PTX file, and what lowering, the PTX
 * reference interpreter and the report tools read. Source: PTX ISA 9.x, sections 4, 5, 7, 9, 10, 11.
 *
 * Scoped blocks are resolved while parsing: a register, label or variable of an inner scope has its own
 * id. Everything lives in the module's arena. After ptx_check() has accepted a module, every instruction
 * has a legal modifier combination and operands of legal kinds and types, all names are resolved, and
 * defaulted modifiers are filled in (rounding, space, semantics, scope).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_AST_H
#define HEDDLE_FRONTEND_AST_H
#include "base/arena.h"
#include "base/diag.h"
#include "base/str.h"

typedef enum { /* fundamental types; .packed ones of an instruction included */
#define PTX_TYPE(name, ...) TY_##name,
#include "frontend/ptx_types.def"
#undef PTX_TYPE
               TY_COUNT
} PtxType;
typedef enum { TC_NONE, TC_BITS, TC_UNSIGNED, TC_SIGNED, TC_FLOAT, TC_PRED, TC_OPAQUE } PtxTypeClass;
unsigned ptx_type_bytes(PtxType t); /* 0 for TY_NONE, TY_PRED and opaque types */
PtxTypeClass ptx_type_class(PtxType t);
const char *ptx_type_name(PtxType t); /* "u32" */

// clang-format off
typedef enum { SP_NONE /* generic */, SP_REG, SP_SREG, SP_CONST, SP_GLOBAL, SP_LOCAL, SP_PARAM, SP_SHARED,
               SP_TEX, SP_SHARED_CLUSTER, SP_PARAM_FUNC, SP_PARAM_ENTRY /* of the kernel, in a function */, SP_COUNT } PtxSpace;
// clang-format on

/* Opcodes: one name for each base opcode of the instruction set: PTX_ADD, PTX_LD, PTX_BAR ... */
typedef enum {
    PTX_NOP_NONE,
#define PTX_OP(name, ...) PTX_##name,
#include "frontend/ptx_ops.def"
    PTX_OP_COUNT
} PtxOp;
const char *ptx_op_name(PtxOp op);                 /* "setp" */
PtxOp ptx_op_named(const char *text, size_t size); /* PTX_NOP_NONE: none is called so */
/* Where control goes when the statement has been executed; behind CALL: it does not come back. */
// clang-format off
typedef enum { PTX_GOES_ON, PTX_GOES_CALL, PTX_GOES_LABEL, PTX_GOES_TABLE, PTX_GOES_RETURN, PTX_GOES_EXIT,
               PTX_GOES_STOP } PtxGoes;
// clang-format on

/* Modifier values. 0 is always "not given / default". */
typedef enum {
    RND_NONE,
    RND_RN,
    RND_RZ,
    RND_RM,
    RND_RP,
    RND_RNI,
    RND_RZI,
    RND_RMI,
    RND_RPI,
    RND_RNA,
    RND_RS
} PtxRnd;
// clang-format off
typedef enum { CMP_NONE, CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_LO, CMP_LS, CMP_HI, CMP_HS,
               CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_GTU, CMP_GEU, CMP_NUM, CMP_NAN } PtxCmp;
// clang-format on
typedef enum { BOP_NONE, BOP_AND, BOP_OR, BOP_XOR, BOP_POPC } PtxBoolOp;
// clang-format off
typedef enum { SEM_NONE, SEM_WEAK, SEM_VOLATILE, SEM_RELAXED, SEM_ACQUIRE, SEM_RELEASE, SEM_ACQ_REL, SEM_SC,
               SEM_MMIO, SEM_NC } PtxSem;
// clang-format on
typedef enum { SCOPE_NONE, SCOPE_CTA, SCOPE_CLUSTER, SCOPE_GPU, SCOPE_SYS } PtxScope; /* .gl is GPU */
typedef enum { COP_NONE, COP_CA, COP_CG, COP_CS, COP_LU, COP_CV, COP_WB, COP_WT } PtxCacheOp;
// clang-format off
typedef enum { ATOM_NONE, ATOM_ADD, ATOM_MIN, ATOM_MAX, ATOM_INC, ATOM_DEC, ATOM_AND, ATOM_OR, ATOM_XOR,
               ATOM_EXCH, ATOM_CAS } PtxAtomOp;
// clang-format on
// clang-format off
typedef enum { SUB_NONE,
    SUB_LO, SUB_HI, SUB_WIDE,                                   /* mul, mad, mul24 (.lo .hi .wide) */
    SUB_UP, SUB_DOWN, SUB_BFLY, SUB_IDX,                        /* shfl */
    SUB_ALL, SUB_ANY, SUB_UNI, SUB_BALLOT,                      /* vote, match */
    SUB_SYNC, SUB_ARRIVE, SUB_RED, SUB_WARP,                    /* bar, barrier */
    SUB_L, SUB_R, SUB_CLAMP, SUB_WRAP,                          /* shf: dir in sub, clamp/wrap in sub2 */
    SUB_F4E, SUB_B4E, SUB_RC8, SUB_ECL, SUB_ECR, SUB_RC16,      /* prmt */
    SUB_FINITE, SUB_INFINITE, SUB_NUMBER, SUB_NOTANUMBER, SUB_NORMAL, SUB_SUBNORMAL, /* testp */
    SUB_TO,                                                     /* cvta.to */
    SUB_L1, SUB_L2,                                             /* prefetch */
    SUB_CLUSTER, SUB_WAIT,                                      /* barrier.cluster: sub2 CLUSTER; sub ARRIVE, WAIT */
    SUB_ASYNC, SUB_COMMIT_GROUP, SUB_WAIT_GROUP, SUB_WAIT_ALL, SUB_MMA_ASYNC, SUB_FENCE, SUB_BULK, /* cp.async: kind in sub2 */
    SUB_INIT, SUB_INVAL, SUB_TEST_WAIT, SUB_TRY_WAIT, SUB_EXPECT_TX, SUB_COMPLETE_TX, SUB_ARRIVE_DROP,
    SUB_ARRIVE_EXPECT_TX, SUB_PENDING_COUNT,                    /* mbarrier */
    SUB_LOAD, SUB_STORE, SUB_MMA, SUB_ROW, SUB_COL, SUB_A, SUB_B, SUB_C, SUB_D,   /* wmma: the matrix in sub2 */
    SUB_PACK,                                                   /* cvt.pack */
    SUB_LAUNCH_DEPENDENTS,                                      /* griddepcontrol (also SUB_WAIT) */
    SUB_1D, SUB_2D, SUB_3D, SUB_A1D, SUB_A2D, SUB_CUBE, SUB_ACUBE, /* textures, surfaces: geometry */
    SUB_BASE, SUB_LEVEL, SUB_GRAD, SUB_G,                       /* tex: sub2; of tld4 SUB_R, G, B, A */
    SUB_TRAP, SUB_ZERO,                                         /* suld, sust, sured: sub2 (also SUB_CLAMP) */
    SUB_WIDTH, SUB_HEIGHT, SUB_DEPTH, SUB_LEVELS,               /* txq, suq */
    SUB_ADDRESS_0, SUB_ADDRESS_1, SUB_ADDRESS_2, SUB_FILTER, SUB_NORMALIZED,
    SUB_GLOBAL_ADDRESS, SUB_RANK, SUB_BOX_DIM, SUB_GLOBAL_DIM, SUB_GLOBAL_STRIDE, SUB_ELEMENT_STRIDE, SUB_ELEMTYPE,
    SUB_INTERLEAVE_LAYOUT, SUB_SWIZZLE_MODE, SUB_SWIZZLE_ATOMICITY, SUB_FILL_MODE, /* tensormap.replace */
    SUB_SHR7, SUB_SHR15, SUB_PO,                                /* vmad: .po in sub2 */
    SUB_ACC_F32,                                                /* multimem */
    SUB_OTHER } PtxSub;
// clang-format on
// clang-format off
enum { /* PtxInsn.flags */
    PF_FTZ = 1 << 0, PF_SAT = 1 << 1, PF_APPROX = 1 << 2, PF_FULL = 1 << 3, PF_UNI = 1 << 4, PF_ALIGNED = 1 << 5,
    PF_NAN = 1 << 6, PF_XORSIGN_ABS = 1 << 7, PF_RELU = 1 << 8, PF_CC = 1 << 9 /* add.cc */, PF_SHIFTAMT = 1 << 10,
    PF_SYNC = 1 << 11 /* .sync form of shfl, vote, match */, PF_NOCOMPLETE = 1 << 12 /* mbarrier */,
    PF_SATFINITE = 1 << 13, PF_NOINC = 1 << 14, PF_ROW = 1 << 15 /* wmma: a layout that is not .col */,
    PF_UNIFIED = 1 << 16 /* behind an address */,
    PF_CACHE_HINT = 1 << 17 /* .L2::cache_hint: a 64-bit policy is the last operand */, PF_OOB = 1 << 18,
    PF_PROXY = 1 << 19 /* fence.proxy.*, membar.proxy.*: details in mods_text */, PF_TRANS = 1 << 20 /* .trans */,
    PF_ABS = 1 << 21 /* redux.abs */, PF_PARITY = 1 << 22 /* mbarrier wait */, PF_ALL_FORMS = 1 << 23 /* the form is
    known by name only: its operands are not checked (tex, tcgen05, wgmma, tensor copies ...) */,
    PF_COL_A = 1 << 24, PF_COL_B = 1 << 25, PF_COL_D = 1 << 26 /* mma, wmma: .col for a/the matrix, b, c or d */,
    PF_CONTRACT = 1 << 27 /* add, sub, mul: rnd is the default, so the compiler may fuse them */,
    PF_SPARSE = 1 << 28 /* mma.sp: of the matrix a only some elements are there */,
    PF_IM2COL = 1 << 29, PF_MULTICAST = 1 << 30 /* copies of tensors */
};
// clang-format on

typedef enum {
    PO_NONE,
    PO_REG, /* reg; `not` for !p */
    PO_IMM, /* imm, converted by ptx_check to the type of its place: integers truncated to it, then sign- (.s)
               or zero-extended (.u, .b) to 64 bits; IMM_F32 bits for .f32, IMM_F64 bits for .f64, whatever
               the literal was; 0f in .b32 and 0d in .b64 keep their bits; predicates 0 or 1 */
    PO_SREG,  /* special register sreg, component in `component` for vectors */
    PO_SYM,   /* variable or function symbol + offset, as a value (mov, cvta, call operands) */
    PO_ADDR,  /* [base + offset]: base is reg, or sym, or none (absolute address); further items inside the
                 brackets (texture and tensor coordinates) in vec[] */
    PO_VEC,   /* {a, b, ...}: elements in vec[] */
    PO_LABEL, /* label */
    PO_SINK   /* _ */
} PtxOperandKind;
typedef enum { IMM_INT, IMM_F32, IMM_F64 } PtxImmKind;

typedef struct PtxOperand {
    uint8_t kind;      /* PtxOperandKind */
    bool neg;          /* arithmetic minus before a register, where PTX allows it */
    bool not_;         /* !p */
    uint8_t imm_kind;  /* PtxImmKind */
    uint8_t component; /* special registers: 0 x, 1 y, 2 z, 3 w; register operand r.x of a .v4 register is
                          resolved; registers in the lists of calls: as PtxVar's */
    uint8_t nvec;      /* PO_VEC: 1..128 (more than 8 only for matrices) */
    uint8_t selector;  /* behind a register of a video instruction: how many bytes (.b3210: 4), or halves
                          with PTX_SELECTS_HALVES; 0 none, PTX_SELECTS_WHAT some other word (sym) */
    bool in_braces;    /* PO_REG: the only register of a vector */
    uint32_t reg;      /* PO_REG, PO_ADDR: register id (index into PtxFunc.regs), 0 none */
    uint32_t sym; /* PO_SYM, PO_ADDR: index + 1 into PtxModule.vars (bit 31 clear) or .funcs (bit 31 set), 0
                     none */
    union {
        uint32_t label; /* PO_LABEL: index into PtxFunc.labels */
        uint32_t sreg;  /* PO_SREG: PtxSreg */
    };
    SrcLoc loc;
    int64_t imm; /* PO_IMM: value; PO_ADDR, PO_SYM: byte offset; PO_REG: the selector's hexadecimal digits */
    struct PtxOperand *vec;
} PtxOperand;
#define PTX_SYM_FUNC 0x80000000u
enum { PTX_SELECTS_HALVES = 0x80, PTX_SELECTS_WHAT = 0xff };
/* How many parts of a register a video instruction works on: 2 of vadd2, 1 of vadd (frontend/types.c). */
unsigned ptx_video_parts(unsigned op);

typedef enum { /* special registers, 10.x; component: of a vector, or the number where there are several */
               SR_NONE,
#define PTX_SREG(name, ...) SR_##name,
#define PTX_SREG_MORE(...)
#include "frontend/ptx_sregs.def"
               SR_COUNT
} PtxSreg;

#define PTX_MAX_OPERANDS 10 /* of wgmma.mma_async.sp */
#define PTX_EMPTY_OPERANDS 3
typedef struct {
    uint16_t op; /* PtxOp */
    uint8_t noperands;
    uint8_t ndst;         /* leading operands that are written (0..2); `p|q` is two operands */
    PtxOperand *operands; /* destination(s) first, as in the text; optional ones absent, and behind the last
                             PTX_EMPTY_OPERANDS that are PO_NONE, so that who asks for one finds none */
    uint32_t guard_reg;   /* predicate register id, 0 = none */
    bool guard_not;
    uint8_t type[4]; /* PtxType in the order written: add.s32: [s32]; cvt.d.s: [d, s]; set.cmp.d.s;
                        mma: [d, a, b, c] */
    uint8_t ntypes;
    uint8_t vec;                                             /* .v2 .v4 .v8: 2, 4, 8; else 1 */
    uint8_t space, space2;                                   /* PtxSpace; cvta, cp.async: second one */
    uint8_t rnd, cmp, bop, sem, scope, cop, atom, sub, sub2; /* enumerations above */
    uint32_t flags;                                          /* PF_* */
    uint16_t shape[3];                  /* mma, wmma, ldmatrix: m, n, k of .m16n8k16 (.m8n8: 8, 8, 0) */
    uint16_t form;                      /* row of frontend/ptx_forms.def, from 1 */
    uint16_t gate_version, gate_target; /* rows of frontend/ptx_gates.def that ask for the most, 0 = none */
    StrId mods_text;                    /* the modifiers as written, ".rn.f32", for messages */
    uint32_t table; /* brx.idx: index + 1 into PtxFunc.branch_tables; indirect call: index + 1 into
                       PtxFunc.call_tables (.calltargets/.callprototype) */
    /* call only */
    uint32_t callee; /* function index + 1 in PtxModule.funcs, 0 = indirect (register in operands[0]) */
    PtxOperand *rets, *args; /* registers, immediates, or PO_SYM of a .param variable */
    uint8_t nrets, nargs;
    SrcLoc loc;    /* of the opcode (or of the guard) */
    uint32_t line; /* index + 1 into PtxFunc.lines: the `.loc` in force, 0 = none */
} PtxInsn;

typedef struct { /* one virtual register; ids start at 1 */
    StrId name;
    PtxType type;
    SrcLoc loc;
} PtxReg;

typedef struct { /* initialiser item: `size_bytes` at `offset_bytes`: constant, or address of a symbol */
    uint32_t offset_bytes;
    uint8_t size_bytes;
    uint32_t sym;  /* as PtxOperand.sym; 0 = constant */
    bool generic;  /* generic(sym) */
    uint8_t shift; /* 0xFF(sym) masks: byte selected, in bits */
    int64_t value; /* constant bits or addend */
} PtxInit;

typedef enum { LINK_NONE, LINK_EXTERN, LINK_VISIBLE, LINK_WEAK, LINK_COMMON } PtxLinkage;

typedef struct PtxVar { /* variable in a state space, at module or function level, and parameters */
    StrId name;
    PtxType type;
    uint8_t vec;       /* 1, 2, 4 */
    uint8_t component; /* register parameters: element of a vector register, else 0 */
    uint8_t linkage;
    PtxSpace space;
    uint32_t align_bytes;
    uint64_t size_bytes;                /* 0 for `extern .shared x[]` */
    bool is_array, unsized, is_pointer; /* .ptr attribute */
    bool managed;                       /* .attribute(.managed) */
    bool was_extern;                    /* an .extern declaration stood before this one */
    bool unified;                       /* .attribute(.unified(uuid[0], uuid[1])) */
    uint64_t uuid[2];
    PtxSpace pointee_space;
    PtxType
        pointee_type; /* of a handle in a parameter of 64 bits: .texref, .samplerref, .surfref; else none */
    uint32_t pointee_align_bytes; /* 0: not said */
    uint32_t func;                /* index + 1 of the function it is local to, 0 = module level */
    uint32_t nelems;              /* product of dimensions, 1 for scalars */
    PtxInit *inits;
    uint32_t ninits;             /* bytes not covered are zero; 0 inits = uninitialised */
    uint64_t param_offset_bytes; /* kernel parameters: offset by PTX alignment rules */
    SrcLoc loc;
} PtxVar;

typedef struct {
    StrId name;
    uint32_t insn; /* index of the instruction it stands before; ninsns at the end */
    SrcLoc loc;
} PtxLabel;

typedef struct { /* .branchtargets */
    StrId name;
    uint32_t *labels;
    uint32_t n;
} PtxBranchTable;

typedef struct { /* .calltargets (funcs) or .callprototype (signature) */
    StrId name;
    uint32_t *funcs; /* function indices; n = 0 for a prototype */
    uint32_t n;
    uint32_t *rets, *params; /* variable indices describing types, for .callprototype */
    uint32_t nrets, nparams;
    bool noreturn;
} PtxCallTable;

typedef struct { /* a .loc directive */
    uint32_t file, line, column;
    uint32_t inlined_at; /* index + 1 into lines, 0 = none */
    StrId function_name;
} PtxLine;

typedef struct PtxFunc {
    StrId name;
    bool is_entry, has_body, noreturn;
    bool broken; /* its body does not compile, and was dropped (ptx_parse_keep_going, cli_compile_most) */
    uint8_t linkage;
    uint32_t *rets,
        *params; /* indices into PtxModule.vars; register parameters have space SP_REG and reg set below */
    uint32_t nrets, nparams;
    uint32_t *ret_regs, *param_regs; /* register id when the parameter is a .reg, else 0; lengths as above */
    PtxReg *regs;                    /* regs[0] unused */
    uint32_t nregs;
    uint32_t *vars; /* indices of local variables (.local .shared .param .const) */
    uint32_t nvars;
    PtxInsn *insns;
    uint32_t ninsns;
    PtxLabel *labels;
    uint32_t nlabels;
    PtxBranchTable *branch_tables;
    uint32_t nbranch_tables;
    PtxCallTable *call_tables;
    uint32_t ncall_tables;
    PtxLine *lines;
    uint32_t nlines;
    uint32_t maxntid[3], reqntid[3], maxnreg, minnctapersm, maxnctapersm; /* 0 = not given */
    uint32_t reqnctapercluster[3], maxclusterrank;
    bool explicit_cluster, blocks_are_clusters;
    uint32_t alias_of; /* `.alias f, g;`: index + 1 of g, 0 = none */
    StrId *pragmas;
    uint32_t *pragma_insns; /* index of the instruction that each stands before; 0 for those of the head */
    uint32_t npragmas;
    SrcLoc loc;
} PtxFunc;

typedef struct { /* .section .debug_* kept as text, not interpreted */
    StrId name;
    const char *text;
    size_t size_bytes;
} PtxSection;

typedef struct PtxModule {
    Arena arena;
    StrTab strings;
    Source source;         /* name and a private copy of the text */
    uint32_t *line_starts; /* byte offset of each line, for ptx_line */
    uint32_t nsource_lines;
    uint32_t version_major, version_minor;
    uint32_t sm;       /* 80 for sm_80 */
    char sm_variant;   /* 'a', 'f' of sm_100a, sm_100f; else 0 */
    StrId target_text; /* "sm_80, debug" */
    uint32_t address_bits;
    bool nounroll; /* `.pragma "nounroll"` of the module */
    StrId *files;  /* files[number] of .file, 0 where undefined */
    uint32_t nfiles;
    PtxVar *vars;
    uint32_t nvars;
    PtxFunc *funcs;
    uint32_t nfuncs;
    PtxSection *sections;
    uint32_t nsections;
    struct PtxModule **parts; /* of a linked module: what it was made from, and owns */
    uint32_t nparts;
} PtxModule;

/* Parse PTX text. Ownership of the result goes to the caller (ptx_free). Returns NULL when errors were
 * reported; never a half-made module. `text` need not be NUL-terminated; it is copied. */
PtxModule *ptx_parse(const char *name, const char *text, size_t size_bytes, Diags *diags);
/* The same, but errors in the body of a function, all reported, cost only that body: the function is left
 * declared, and `broken`. NULL after other errors. */
PtxModule *ptx_parse_keep_going(const char *name, const char *text, size_t size_bytes, Diags *diags);
/* Names resolved, modifiers legal, types as the opcode table demands. ptx_parse calls it. */
bool ptx_check(PtxModule *module, Diags *diags);
bool ptx_check_func(PtxModule *module, PtxFunc *func, Diags *diags);
void ptx_free(PtxModule *module);
/* Index + 1 of the function or variable of that name, 0 if there is none. */
uint32_t ptx_find_func(const PtxModule *module, const char *name);
uint32_t ptx_find_var(const PtxModule *module, const char *name);
/* What the variable is called in memory and in files: FUNCTION$NAME where a function declares it. */
const char *ptx_var_symbol(const PtxModule *module, const PtxVar *var, Arena *arena);
/* Section of the PTX ISA document that describes the instruction's form: "9.7.6.2 setp". */
const char *ptx_section(const PtxInsn *i);
/* Control does not go on to the next statement where the guard is true: branches, returns, ends and traps. (A
 * call of a function that does not return is not known by itself.) */
bool ptx_leaves(const PtxInsn *i);
PtxGoes ptx_goes(const PtxInsn *i);
/* cp.async with ignore-src, a predicate where src-size may stand. */
bool ptx_has_ignore(const PtxFunc *f, const PtxInsn *i);
/* The first register in an operand, an address or a list of operands; NULL if there is none. */
const char *ptx_register_in(const PtxModule *module, const PtxFunc *f, const PtxOperand *operand);
/* What diagnostics about the instruction name: its section, its first register, its function. */
DiagPlace ptx_place(const PtxModule *module, const PtxFunc *f, const PtxInsn *i);
/* 1-based line of an instruction in the PTX text. */
uint32_t ptx_line(const PtxModule *module, const PtxInsn *i);
uint32_t ptx_loc_line(const PtxModule *module, SrcLoc loc); /* of any position in it */
/* "k.cu:12", where a `.loc` stands before the statement, else "". */
void ptx_source(const PtxModule *module, const PtxFunc *f, const PtxInsn *i, char *out, size_t out_bytes);
/* Print the module as PTX text that parses to an equal module (for --emit=ptx, reduction and tests). */
bool ptx_print(const PtxModule *module, char **text, size_t *size_bytes); /* malloc'ed */
#endif
