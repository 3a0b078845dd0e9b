/* State shared by the parts of the parser: parse.c (tokens, names, scopes), parse_expr.c (constants),
 * parse_decl.c (registers, variables), parse_module.c (directives, functions), parse_insn.c.
 *
 * Functions that return bool return false when an error was reported; the statement loop then skips to
 * the next `;`. Names live in nested scopes: depth 0 special registers, 1 module, 2 function and its
 * parameters, 3 and more blocks. A register range `%r<10>` creates a register when it is first named.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_PARSE_H
#define HEDDLE_FRONTEND_PARSE_H
#include "frontend/ast.h"
#include "frontend/forms.h"
#include "frontend/gates.h"
#include "frontend/lex.h"

enum { MAX_SCOPES = 200, MAX_EXPR_DEPTH = 200, MAX_OPERAND_DEPTH = 3, MAX_DIMENSIONS = 16 };

typedef VEC(uint32_t) U32Vec;

typedef enum {
    B_NONE,
    B_REG,      /* value: register id */
    B_VREG,     /* value: id of the first component, count components */
    B_VAR,      /* value: variable index + 1 */
    B_FUNC,     /* value: function index + 1 */
    B_LABEL,    /* value: label index + 1 */
    B_BRANCHES, /* value: branch table index + 1 */
    B_CALLS,    /* value: call table index + 1 */
    B_SREG      /* value: row of ptx_sregs.def, count: component, or 255 for a vector */
} BindKind;

typedef struct {
    StrId name;
    uint8_t kind, count;
    uint16_t depth;
    uint32_t value, shadowed, next; /* binding of the same name outside; next of the same scope */
    uint32_t epoch;                 /* Parser.range_epoch at which it was last found to be innermost */
    SrcLoc loc;
} Bind;

typedef struct { /* .reg .b32 %r<10>; */
    StrId prefix;
    uint8_t type, vec;
    uint16_t depth;
    uint32_t count, shadowed, next;
    SrcLoc loc;
} RegRange;

typedef struct { /* use of a label or table name, resolved when its scope closes */
    StrId name;
    SrcLoc loc;
    enum { REF_LABEL, REF_BRANCHES, REF_CALLS, REF_TARGET } kind;
    uint32_t insn, slot; /* REF_TARGET: branch table and entry; else instruction and operand */
} PendingRef;

typedef struct {
    uint32_t first_bind, first_range, first_ref;
} Scope;

typedef struct { /* decoded opcode by spelling */
    PtxInsn insn;
    uint8_t ndst; /* 1 where a second destination is written as `p|q` */
} Template;

typedef struct {
    PtxModule *m;
    Arena *a;  /* the module's */
    Arena tmp; /* of the parser */
    Diags *d;
    uint32_t first_error; /* d->nerrors at the start, and the errors since that cost only a function's body */
    bool keep_going;
    Lexer lx;
    Token tok;
    StrId name_reg, name_underscore, name_warp_sz;
    /* names */
    VEC(Bind) binds;
    VEC(RegRange) ranges;
    U32Vec bind_of, range_of; /* by StrId: index + 1 */
    VEC(PendingRef) refs;
    VEC(Scope) scopes;
    uint32_t range_epoch;
    /* opcodes */
    VEC(Template) templates;
    U32Vec template_of; /* by StrId of the opcode with modifiers: index + 1 */
    /* module */
    VEC(PtxVar) vars;
    VEC(PtxFunc) funcs;
    U32Vec files; /* StrId by file number */
    VEC(PtxSection) sections;
    bool seen_version, seen_target, seen_statement; /* the last: other than .target */
    uint32_t met;                                   /* place of the directive that parse_at_dir found last */
    /* function under construction; func is index + 1, 0 outside of functions */
    uint32_t func;
    VEC(PtxReg) regs;
    U32Vec fvars;
    PtxOperand operands[PTX_MAX_OPERANDS + PTX_EMPTY_OPERANDS]; /* of the instruction being parsed */
    VEC(PtxInsn) insns, sums; /* sums: what goes in front of the instruction being parsed */
    bool takes_index;         /* the operand being parsed may be `array[%r1]` */
    VEC(PtxLabel) labels;
    VEC(PtxBranchTable) branch_tables;
    VEC(PtxCallTable) call_tables;
    VEC(PtxLine) lines;
    VEC(StrId) pragmas;
    U32Vec pragma_insns;
    uint32_t line;           /* `.loc` in force */
    uint32_t operand_braces; /* open braces of vectors in the statement being parsed */
} Parser;

/* parse.c: tokens */
static inline void next(Parser *parser) { lex_next(&parser->lx, &parser->tok); }
static inline bool at(const Parser *parser, unsigned kind) { return parser->tok.kind == kind; }
static inline SrcLoc here(const Parser *parser) { return tok_loc(&parser->tok); }
bool parse_accept(Parser *parser, unsigned kind);
bool parse_expect(Parser *parser, unsigned kind, const char *what);
bool parse_expected(Parser *parser, const char *what); /* E0102 at the current token; returns false */
/* The token is that directive; it is gated here (ptx_directives.def). */
bool parse_at_dir(Parser *parser, const char *name);
/* E0145 or E0146 if the module is too old for what ptx_directives.def calls `text`. */
bool parse_directive_met(Parser *parser, const char *text, SrcLoc loc);
bool parse_accept_dir(Parser *parser, const char *name);
/* The entry for `id` in a table by StrId, grown as needed; valid until it grows again. */
uint32_t *parse_slot_of(Parser *parser, U32Vec *table, StrId id);
bool parse_too_many_errors(const Parser *parser);
const char *parse_name_text(const Parser *parser, StrId id);
/* The first register between here and the end of the statement, for messages about what stands before it. */
const char *parse_register_ahead(const Parser *parser);
uint32_t parse_line_of(const Parser *parser, SrcLoc loc);
void parse_skip_statement(Parser *parser); /* behind the next `;`, or to a brace */
/* parse.c: names */
bool parse_open_scope(Parser *parser);
void parse_close_scope(Parser *parser);
/* Declare `name` in the innermost scope; E0110 and 0 if it is there already. Index + 1 of the binding. */
uint32_t parse_declare(Parser *parser, StrId name, BindKind kind, uint32_t value, SrcLoc loc);
void parse_declare_global(Parser *parser, StrId name, BindKind kind, uint32_t value,
                          SrcLoc loc); /* at module level */
bool parse_declare_range(Parser *parser, StrId prefix, PtxType type, unsigned vec, uint32_t count,
                         SrcLoc loc);
/* The innermost meaning of a name, NULL if it has none. Valid until the next declaration. */
Bind *parse_lookup(Parser *parser, StrId name);
uint32_t parse_new_reg(Parser *parser, StrId name, PtxType type, SrcLoc loc);
/* Registers of a vector register are v.x v.y v.z v.w. Returns the id of the first. */
uint32_t parse_new_vector_reg(Parser *parser, StrId name, PtxType type, unsigned vec, SrcLoc loc);
void parse_add_ref(Parser *parser, int kind, StrId name, SrcLoc loc, uint32_t insn, uint32_t slot);

/* parse.c: the special register of a B_SREG binding; E0145 or E0146 if the module is too old for it */
bool parse_sreg_met(Parser *parser, uint32_t row, const Token *name, PtxSreg *out);

/* parse_expr.c */
typedef struct {
    uint8_t kind; /* PtxImmKind */
    bool is_unsigned;
    uint64_t bits;
} ConstVal;
bool parse_const(Parser *parser, ConstVal *out); /* a whole constant expression */
bool parse_const_int(Parser *parser, int64_t *out, const char *what);
bool parse_const_u32(Parser *parser, uint32_t *out, const char *what);
/* Value as bits of .f32 or .f64; ints are not converted, and no IMM_F32 to .f64 (it is bits). */
uint32_t parse_f32_bits(const ConstVal *val);
uint64_t parse_f64_bits(const ConstVal *val);

/* parse_decl.c */
bool parse_reg_decl(Parser *parser);
bool parse_type(Parser *parser, PtxType *out);
typedef struct {
    bool is_param;  /* of a function or prototype: one name, no initialiser */
    bool is_kernel; /* of an entry */
    bool is_result; /* of a function or prototype */
    uint8_t linkage;
    bool allow_unnamed; /* `_` */
} VarContext;
/* At the state space directive (`.param`, `.global` ...). Returns index + 1 of the (last) variable in *out;
 * for `.reg` parameters *reg is the register. */
bool parse_var_decl(Parser *parser, const VarContext *context);
/* One parameter or result: index into Parser.vars and register id (0: in .param) to the ends of *vars and
 * *regs; of a vector register one of each for every element. */
bool parse_param(Parser *parser, const VarContext *context, U32Vec *vars, U32Vec *regs);

/* parse_module.c */
bool parse_module(Parser *parser);
bool parse_call_prototype(Parser *parser, StrId name, SrcLoc loc);
bool parse_call_targets(Parser *parser, StrId name, SrcLoc loc);
bool parse_pragma(Parser *parser);

/* parse_body.c: at the `{` of a function body, up to and including its `}` */
bool parse_body(Parser *parser);
bool parse_file(Parser *parser);
bool parse_section(Parser *parser);

/* parse_insn.c: at the opcode or guard */
bool parse_insn(Parser *parser);
#endif
