/* isagen: reads *.isa, checks them, writes C tables. Shared declarations of its parts:
 *   isa/gen/lex.c     tokens with their positions
 *   isa/gen/targets.c targets, their properties and ranges
 *   isa/gen/parse.c   tokens -> definitions (IgDef ...), shorthands and operand forms expanded
 *   isa/gen/rows.c    definitions x targets -> encodings (IgRow), every refusal
 *   isa/gen/syntax.c  assembly syntax strings -> small programs
 *   isa/gen/traits.c  columns of a row: units, effects, lanes ...
 *   isa/gen/emit.c    isa_gen.h, isa_tables.c   isa/gen/docs.c  isa-*.md
 * Everything lives in one arena until the process ends.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_GEN_ISAGEN_H
#define HEDDLE_ISA_GEN_ISAGEN_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define IG_WORD_BITS 128
#define IG_MAX_TARGETS 16
#define IG_MAX_PROPS 64
#define IG_REG_FILES 5 /* RF_COUNT of isa/operand.h */
#define IG_FILE_UR 2   /* RF_UR */
#define IG_MAX_DST 4
#define IG_MAX_SRC 8
#define IG_SLOT_SRC IG_MAX_DST /* slot index of the first source */
#define IG_MAX_SLOTS (IG_MAX_DST + IG_MAX_SRC)

typedef struct {
    const char *file;
    unsigned line, col;
} IgLoc;

typedef enum { TK_EOF, TK_IDENT, TK_NUMBER, TK_STRING, TK_PUNCT, TK_PROSE } IgTokKind;
typedef struct {
    IgTokKind kind;
    const char *text; /* identifier, string contents, punctuation, number as written, lines of prose */
    int64_t number;
    IgLoc loc;
} IgTok;
typedef VEC(IgTok) IgToks;

/* How the value of a field is understood. The order is that of isa/tables.h. */
typedef enum {
    VT_NONE,
    VT_REG,
    VT_UREG,
    VT_PRED,
    VT_UPRED,
    VT_BREG,
    VT_UIMM,
    VT_SIMM,
    VT_F32,
    VT_F64,
    VT_H2,
    VT_CMEM,
    VT_SREG,
    VT_ENUM,
    VT_MODI, /* one bit of an operand: negation, reuse ... */
    VT_CTRL,
    VT_NUMBER /* opcode numbers */
} IgValue;

typedef struct {
    const char *name, *text; /* text: "" prints nothing */
    unsigned sem, enc;       /* value in the modifiers, value in the word */
    unsigned regs;           /* 32-bit registers that a slot of this width takes; 0 unknown */
    unsigned access;         /* bits of memory that an access of this width moves; 0 not said */
    bool zeroed;             /* the bits of the register above them are 0 */
} IgEnumVal;

typedef struct IgType {
    const char *name;
    unsigned width;
    IgValue value;
    struct IgType *maps; /* the type whose values these are other encodings of */
    VEC(IgEnumVal) vals;
    bool numbers; /* __DefNumbers: named opcode numbers */
    bool hint;    /* its modifiers change no value, no order and no access */
    bool flag;    /* made for a flag<> */
    unsigned index;
    IgLoc loc;
} IgType;

/* A condition over modifiers (and, in an Alias, operands) in postfix order. */
typedef enum { CO_EQ, CO_NE, CO_POW2, CO_AND, CO_OR } IgCondOp;
typedef struct {
    IgCondOp op;
    const char *name;
    IgTok value;
    IgLoc loc;
} IgCondItem;
typedef VEC(IgCondItem) IgCond;

typedef enum { FD_FIELD, FD_FIXED, FD_ZERO, FD_SPARE, FD_WIDE, FD_MODFIXED } IgFieldKind;
typedef struct {
    IgFieldKind kind;
    unsigned nparts, lo[3], w[3], width;
    const char *type_name;
    IgType *type; /* NULL for built-in types until resolved */
    IgValue value;
    const char *name, *attr; /* attr: "not", "neg" ... or NULL */
    const char *as;          /* slot, if it is not the name */
    bool has_default;
    IgTok def;
    bool reversed;
    bool implied; /* an immediate without bits, always `def` */
    unsigned scale;
    int bias;
    bool distance; /* AsmFormat: a branch distance, kept in MachInst.wide */
    IgCond when;
    IgLoc loc;
} IgField;

typedef struct {
    const char *name;
    VEC(const char *) aliases;
    IgLoc loc;
} IgSlot;

typedef struct {
    const char *slot, *mod; /* width by a modifier's value, or fixed `bits`, these under a condition */
    unsigned bits;
    IgCond when;
    IgLoc loc;
} IgBitwidth;

typedef struct {
    const char *field;
    unsigned shift;
    IgLoc loc;
} IgAsmFormat;

typedef struct {
    const char *text;
    IgCond cond;
    IgLoc loc;
} IgSyntaxDecl; /* an Alias, or an EncodingError */

typedef struct {
    const char *slot;
    bool neg, abs, half, bitnot;
    bool half_sel;  /* modifier `half` of type HalfSel where fp16 operands have their selector */
    bool part_sel;  /* modifier `part` there, of a byte or a half as `src` is; an immediate has none */
    bool half_bits; /* sits where fp16 operands have their modifiers, without a half selector */
} IgFormSlot;

typedef struct {
    bool uniform;
    unsigned base;
    IgToks names;
    IgFormSlot slot[3];
    const char *imm_type, *suffix;
    IgCond select;
    bool fallback;
    IgLoc loc;
} IgForms;

/* Columns of a row; isa/gen/traits.c has their words. */
typedef enum {
    IC_UNIT,
    IC_QUEUE,
    IC_EFFECTS,
    IC_SPACE,
    IC_ADDRESS,
    IC_ACCESS,
    IC_LANES,
    IC_UNIFORM,
    IC_EXACT,
    IC_GUARD,
    IC_ZERO,
    IC_GROUP,
    IC_FLOW,
    IC_PACE,
    IC_TIMING,
    IC_COMMUTES,
    IC_SECOND_GUARD,
    IC_COMBINES,
    IC_IN_PLACE,
    IC_SIMULATED,
    IC_COUNT
} IgColumn;
#define IG_TRAIT_NAMES 4
typedef struct {
    IgLoc loc;                  /* of the statement; line 0: none */
    uint32_t value;             /* number of its word, or bits; of Access: the number of bits */
    IgTok name[IG_TRAIT_NAMES]; /* slots that it names; the last is a modifier */
    unsigned nnames;
    const char *text; /* why it is absent */
} IgTrait;
typedef struct {
    IgTrait at[IC_COUNT];
} IgTraits;

/* What a definition says in words, for the generated pages. */
typedef struct {
    const char *heading, *text; /* "Semantics"; lines */
} IgProse;

typedef enum { DK_GROUP, DK_OPTYPE, DK_OPCODE } IgDefKind;
typedef struct IgDef {
    IgDefKind kind;
    const char *name;
    uint32_t targets; /* bit set of target indices */
    IgToks parents;
    VEC(IgField) fields;
    VEC(IgForms) forms;
    VEC(IgProse) prose;
    bool has_slots;
    VEC(IgSlot) dst, src;
    const char *syntax;
    IgLoc syntax_loc;
    VEC(IgSyntaxDecl) aliases, errors;
    VEC(IgBitwidth) widths;
    VEC(IgAsmFormat) formats;
    IgToks inlist, outlist, order;
    IgTraits traits;
    bool has_inlist, has_outlist, has_order;
    IgCond select;
    bool used;     /* an opcode names this optype */
    bool fallback; /* tried last: may share encodings with rows before it */
    IgLoc loc;
} IgDef;

typedef struct {
    unsigned number;
    const char *name, *text;
    unsigned varies; /* index of its word */
} IgSReg;

/* A row of isa/target.def: a number of at most `most`, or a value of the enumeration `choices`. */
typedef struct {
    const char *name, *meaning;
    uint64_t most;
    const char *choices; /* NULL for numbers */
} IgProp;

typedef struct {
    bool said;
    int64_t number;
    const char *choice;
} IgPropValue;

typedef struct {
    const char *name;
    int parent; /* index of the target it inherits from, -1 none */
    IgPropValue prop[IG_MAX_PROPS];
    bool has_num_regs;
    int64_t num_regs[IG_REG_FILES];
    VEC(IgSReg) sregs;
    VEC(unsigned) rows; /* indices into Ig.rows, grouped by optype */
    IgLoc loc;
} IgTarget;

typedef struct {
    const char *name;
    unsigned lo, width;
    int64_t def;
    IgType *type;
} IgMod;

/* One operation name, over all targets. */
typedef struct {
    const char *name;
    VEC(IgSlot) dst, src;
    bool has_slots;
    VEC(IgMod) mods;
    IgTraits traits;
    uint32_t targets;
    IgLoc loc;
} IgOptype;

/* Program of one syntax string; see isa/tables.h. */
typedef struct {
    unsigned op, a, b, c, flags;
    const char *text;
} IgSyn;
typedef VEC(IgSyn) IgSynVec;

typedef struct {
    unsigned first, count;
    IgCond cond;
} IgRowAlias;

/* One opcode on one target. */
typedef struct {
    unsigned target, opcode, optype;
    const char *name;
    IgDef *def;
    VEC(IgField) fields; /* with bits; resolved */
    uint64_t mask[2], value[2], zero[2];
    const char *syntax;
    IgLoc syntax_loc;
    VEC(IgSyntaxDecl) aliases, errors;
    VEC(IgBitwidth) widths;
    VEC(IgAsmFormat) formats;
    IgToks inlist, outlist, order;
    IgTraits traits;
    bool has_inlist, has_outlist, has_order;
    IgCond select;
    bool fallback;
    IgSynVec program;
    VEC(IgSynVec) alias_programs;
    IgLoc loc;
} IgRow;

typedef struct {
    Arena arena;
    unsigned nerrors;
    IgLoc last_error; /* one message a place, not one for each form and target */
    VEC(IgType *) types;
    VEC(IgDef *) defs;
    VEC(IgTarget *) targets;
    bool targets_named; /* a list of targets was read: no more may come */
    struct {
        const char *name;
        uint32_t set;
    } sets[32];
    unsigned nsets;
    VEC(IgOptype *) optypes;   /* index 0 is "none" */
    VEC(const char *) opcodes; /* index 0 is "none" */
    VEC(IgRow *) rows;
} Ig;

/* Report "file:line:col: error: text"; always returns false. */
bool ig_error(Ig *ig, IgLoc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The heading of a block of prose ("__Semantics": "Semantics"), NULL if the word begins none. */
const char *ig_prose_heading(const char *word);
bool ig_lex(Ig *ig, const char *file, const char *text, IgToks *out);
bool ig_parse(Ig *ig, const IgToks *toks);
bool ig_finish_parse(Ig *ig); /* forms and single opcodes */
/* A field of one part, not scaled, without default. */
IgField ig_field(unsigned lo, unsigned width, const char *type, const char *name, const char *attr,
                 IgLoc loc);
IgTok ig_name_token(const char *text, IgLoc loc);
IgType *ig_type(Ig *ig, const char *name);
IgType *ig_flag_type(Ig *ig, const char *text);
bool ig_builtin_type(const char *name, IgValue *value, unsigned *width);
bool ig_rows(Ig *ig);
int ig_slot_index(const IgOptype *optype, const char *name); /* 0..3 destinations, 4.. sources, -1 */
int ig_mod_index(const IgOptype *optype, const char *name);
bool ig_enum_value(const IgType *type, const char *name, unsigned *sem);
IgType *ig_sem_type(IgType *type); /* the type whose values the modifiers hold */
bool ig_syntax(Ig *ig, IgRow *row, const char *text, IgLoc loc, IgSynVec *out);
extern const char *const ig_varies_names[]; /* what a special register's value depends on; NULL-terminated */
bool ig_emit_header(Ig *ig, FILE *file);
bool ig_emit_tables(Ig *ig, FILE *file);
bool ig_emit_docs(Ig *ig, unsigned target, FILE *file);
/* "opcode field lo width default" of every field of a target, one a line; for tests. */
bool ig_emit_fields(Ig *ig, unsigned target, FILE *file);

extern const IgProp ig_props[]; /* ended by a name of NULL */
const IgPropValue *ig_prop(const IgTarget *target, const char *name);
bool ig_check_target(Ig *g, const IgTarget *target); /* it says all, and no other has its elf_flags */
#endif
