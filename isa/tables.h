/* Layout of the tables that isagen writes (isa_tables.c) and that encode.c, decode.c, print.c, parse.c and
 * random.c read. Internal to isa/. A slot index is 0..3 for destinations and 4..11 for sources.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_TABLES_H
#define HEDDLE_ISA_TABLES_H
#include "isa/isa.h"

enum { SLOT_SRC = MACH_MAX_DST, SLOT_COUNT = MACH_MAX_DST + MACH_MAX_SRC, SLOT_NONE = 255 };

/* The same order as IgValue in isagen.h. */
// clang-format off
typedef enum {
    VT_NONE, VT_REG, VT_UREG, VT_PRED, VT_UPRED, VT_BREG, VT_UIMM, VT_SIMM, VT_F32, VT_F64, VT_H2, VT_CMEM,
    VT_SREG, VT_ENUM, VT_MODI, VT_CTRL, VT_NUMBER
} ValueType;
// clang-format on

typedef enum {
    FK_GUARD,   /* number of the guard register */
    FK_OPERAND, /* value of slot `index` */
    FK_ATTR,    /* modifier bits `attr` of slot `index`, or of the guard (SLOT_NONE) */
    FK_MOD,     /* modifier `index` */
    FK_CTRL,    /* control value `index`: stall yield write_sb read_sb wait_mask */
    FK_WIDE,    /* no bits: slot `index` is a 64-bit pair if modifier `def` is not 0 */
    FK_MODFIXED /* no bits: modifier `index` has the value `def` */
} FieldKind;

enum { FF_REVERSED = 1, FF_DEFAULT = 2, FF_WIDE_VALUE = 4 /* value is MachInst.wide */, FF_INVERT = 8 };

typedef struct {
    uint8_t kind, type, index, attr;
    uint8_t nparts, lo[3], w[3], width;
    uint8_t flags;
    uint16_t scale;
    uint16_t enum_type; /* index + 1, or 0 */
    uint16_t when;      /* index + 1 of a condition, or 0 */
    int32_t bias;
    uint32_t def;
} IsaField;

/* Of a constant's field in two parts the first is the bank; in one, it is the low bits. The offset has 16
 * bits, or 17 with its sign. */
static inline unsigned isa_bank_bits(const IsaField *field) {
    return field->nparts > 1 ? field->w[0] : field->width - 16u;
}
static inline bool isa_has_long_offset(const IsaField *field) {
    return field->width > isa_bank_bits(field) + 16u;
}

typedef struct {
    const char *name, *text;
    uint16_t sem, enc;
    uint8_t regs;
    uint8_t access_bytes; /* 0: not said */
    bool zeroed;          /* a register's bits above them are 0 */
} IsaEnumVal;

typedef struct {
    const char *name;
    const IsaEnumVal *vals;
    uint16_t nvals;
    uint8_t width;
    uint8_t plain;  /* sem == enc for all */
    uint64_t legal; /* bit i: encoded value i exists (width <= 6) */
} IsaEnum;

/* May the text leave the index of a constant out? The register then is the field's default. */
static inline bool isa_may_lack(const IsaField *index) {
    return index->type != VT_UREG || index->flags & FF_DEFAULT;
}

/* Postfix condition; ended by CO_END. */
// clang-format off
enum { CO_END, CO_EQ, CO_NE, CO_AND, CO_OR, CO_SLOT_RZ, CO_SLOT_EQ, CO_SLOT_NE, CO_SLOT_POW2, CO_SLOT_NRZ,
       CO_SLOT_UR, CO_SLOT_NUR };
// clang-format on
typedef struct {
    uint8_t op, index;
    uint32_t value;
} IsaCond;

/* Syntax programs. */
typedef enum {
    SY_END,
    SY_TEXT,                  /* text as it is */
    SY_MOD,                   /* modifier a with the texts of enumeration b, a dot before */
    SY_SEP,                   /* a: 0 ", "  1 " " */
    SY_OPERAND,               /* slot a, format b */
    SY_MODNUM,                /* modifier a as a hexadecimal operand */
    SY_ADDRESS,               /* [a.64 + UR b + offset c], text: stride modifier index + 1 in flags >> 8 */
    SY_CMEM,                  /* constant operand a, indexed by register slot b */
    SY_MODCOPY = SY_CMEM + 2, /* reading gives modifier a the value of modifier b */
    SY_MODPAIR = SY_CMEM + 1  /* modifiers a and mod - 1, with the texts of mod_enum and mod_enum2 */
} SynOp;
enum { SF_OPTIONAL = 1, SF_IF_MOD = 2, SF_IF_SLOT = 4, SF_IF_NEXT = 8 };
typedef enum {
    SYF_PLAIN,
    SYF_TARGET,
    SYF_RELATIVE,
    SYF_ABSOLUTE,
    SYF_PAIR,
    SYF_HERE,
    SYF_GDESC,
    SYF_DESC,
    SYF_SET,
    SYF_NEXT,
    SYF_OWN,
    SYF_BEHIND
} SynFormat;
typedef struct {
    uint8_t op, a, b, c;
    uint8_t flags, cond; /* cond: modifier or slot index of SF_IF_* */
    uint8_t fmt, mod;    /* mod: index + 1 of a modifier printed behind the operand */
    uint16_t mod_enum;   /* index + 1 of its texts, and SY_MOD's */
    uint16_t mod_enum2;
    const char *text; /* SY_TEXT; or what follows an operand (".ROW"), else NULL */
} IsaSyn;

typedef struct {
    uint16_t syntax, cond;
} IsaAlias;
typedef struct {
    uint16_t cond;
    const char *text;
} IsaException;

/* How many registers a slot names: 0 none, 1..4, or REGS_BY_MOD | modifier, or REGS_WIDE (2 if OPM_WIDE64),
 * or REGS_BY_RULE | index into isa_widths << REGS_RULE_SHIFT, where the first whose condition holds counts.
 */
enum { REGS_BY_RULE = 0x20, REGS_BY_MOD = 0x40, REGS_WIDE = 0x80, REGS_RULE_SHIFT = 8 };
typedef struct {
    uint16_t when; /* index + 1 of a condition; 0: always, which ends the rules of a slot */
    uint8_t regs;
} IsaWidth;

typedef struct {
    uint64_t mask[2], value[2], zero[2];
    uint16_t opcode, optype;
    uint16_t field0, nfields;
    uint16_t syntax, select; /* select: condition index + 1 or 0 */
    uint16_t alias0, nalias, except0, nexcept;
    uint32_t mods_mask;              /* modifiers that this opcode has; the others must be their default */
    uint32_t fixed_mask, fixed_mods; /* modifiers (FK_MODFIXED) that have one value in it, and that value */
    uint8_t
        operand_field[SLOT_COUNT]; /* field0 + n - 1 of the slot's value, 0 if the opcode has no such slot */
    uint16_t regs[SLOT_COUNT];
    uint8_t attrs[SLOT_COUNT]; /* OPM_* that have bits */
} IsaRow;

typedef struct {
    const char *name;
    uint8_t lo, width;
    uint16_t def;       /* modifiers are stored XOR this */
    uint16_t enum_type; /* index + 1, or 0 */
} IsaMod;

typedef struct {
    const char *name;
    const char *const *slots; /* names, destinations then sources */
    const IsaMod *mods;
    uint8_t ndst, nsrc, nmods;
} IsaOptype;

typedef struct {
    uint8_t number, varies;
    const char *name, *text;
} IsaSReg;

struct Target {
    TargetInfo info;
    const IsaRow *rows;
    unsigned nrows;
    const uint16_t *first;  /* first[optype] .. first[optype + 1] are the rows of an optype */
    const uint16_t *decode; /* decode[low 12 bits]: index + 1 of a chain in `chain`, or 0 */
    const uint16_t *chain;  /* row index + 1 ..., 0 ends a chain */
    const IsaSReg *sregs;
    unsigned nsregs;
    uint32_t units; /* bit set of enum IsaUnit that its operations run on */
};

extern const IsaOptype isa_optypes[];
extern const char *const isa_opcode_names[];
extern const unsigned isa_noptypes, isa_nopcodes;
extern const IsaField isa_fields[];
extern const IsaEnum isa_enums[];
extern const IsaCond isa_conds[];
extern const uint16_t isa_cond_start[];
extern const IsaWidth isa_widths[];
extern const IsaSyn isa_syntax[];
extern const IsaAlias isa_aliases[];
extern const IsaException isa_exceptions[];

/* tables.c */
const IsaRow *isa_row(const Target *target, unsigned opcode);
/* NULL if the opcode lacks it */
static inline const IsaField *isa_slot_field(const IsaRow *row, unsigned slot) {
    unsigned n = row->operand_field[slot];
    return n ? &isa_fields[row->field0 + n - 1] : NULL;
}
Operand *isa_slot_operand(MachInst *in, unsigned slot);
static inline const Operand *isa_slot_const(const MachInst *in, unsigned slot) {
    return slot < SLOT_SRC ? &in->dst[slot] : &in->src[slot - SLOT_SRC];
}
bool isa_cond(unsigned cond, const IsaRow *row, const MachInst *in);
static inline unsigned isa_mod_get(const IsaRow *row, unsigned mod, uint32_t mods) {
    const IsaMod *isa_mod = &isa_optypes[row->optype].mods[mod];
    return ((mods >> isa_mod->lo) & ((1u << isa_mod->width) - 1)) ^ isa_mod->def;
}
/* The modifier of that name, -1: there is none. */
int isa_mod_find(const IsaRow *row, const char *name);
/* What the 32 bits of an immediate of `type` are: a conversion's follow from modifier `src`, MUFU's from its
 * function and from `fmt`. *half: what it is where the type is VT_H2 and there is one half only. */
typedef enum { IMM_WHOLE, IMM_F16, IMM_BF16 } ImmHalf;
ValueType isa_imm_type(const IsaRow *row, const MachInst *in, unsigned type, ImmHalf *half);
uint32_t isa_mod_put(const IsaRow *row, unsigned mod, uint32_t mods, unsigned value);
const char *isa_enum_text(const IsaEnum *isa_enum, unsigned sem);
unsigned isa_slot_regs_found(const IsaRow *row, unsigned slot, const MachInst *in); /* where it is not said */
static inline unsigned isa_slot_regs(const IsaRow *row, unsigned slot, const MachInst *in) {
    return row->regs[slot] < REGS_BY_RULE ? row->regs[slot] : isa_slot_regs_found(row, slot, in);
}
/* May an operand of n registers stand there? Several start at a multiple of their number, or are all RZ. */
/* The first of n registers of an operand of the operation is a multiple of it. */
unsigned isa_register_group(unsigned optype, unsigned n);
bool isa_is_aligned(unsigned optype, const Operand *operand, unsigned n);
const char *isa_aligned_text(unsigned optype, unsigned n); /* "must be an even register" */
const char *isa_slot_name(const IsaRow *row, unsigned slot);
/* RF_COUNT if it is no register */
static inline RegFile isa_value_file(unsigned type) {
    switch (type) {
    case VT_REG: return RF_R;
    case VT_UREG: return RF_UR;
    case VT_PRED: return RF_P;
    case VT_UPRED: return RF_UP;
    case VT_BREG: return RF_B;
    default: return RF_COUNT;
    }
}
/* RZ, PT ... */
static inline unsigned isa_file_zero(RegFile f) {
    static const uint8_t zero[RF_COUNT] = {REG_RZ, REG_PT, REG_URZ, REG_UPT, 0xff};
    return f < RF_COUNT ? zero[f] : 0xff;
}
const IsaRow *isa_select_row(const Target *target, const MachInst *in);
bool isa_encode_row(const Target *target, const IsaRow *row, const MachInst *in, uint64_t word[2],
                    char *error);
#endif
