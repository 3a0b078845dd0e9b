/* The instruction sets as data: what isagen made of the .isa files, and look-ups over it.
 *
 * Words used throughout:
 *   optype   one operation, e.g. OT_IADD3. Machine IR, scheduling and simulator semantics know optypes.
 *   opcode   one encoding of an optype, e.g. IADD3_R, IADD3_I, IADD3_C. Chosen by the encoder from the
 *            operand kinds, found by the decoder from the fixed bits.
 *   slot     an operand position of an optype, equal in all its opcodes: destinations first, then
 *            sources, in the order of OutList and InList. Generated: IADD3_rd = 0, IADD3_pu = 1 ... index
 *            the destinations, IADD3_ra = 0, IADD3_rb = 1 ... the sources.
 *   mod      a modifier field that is not an operand (.cmp, .bop, .sz ...), packed in 32 bits in the same
 *            place for all opcodes of an optype. MSET(ISETP, cmp, ICmp_GE), MGET(ISETP, cmp, mods),
 *            MPUT(ISETP, cmp, mods, value). They are stored XOR their default: mods == 0 is "all defaults".
 * An optional operand that a form does not have, or that has its default, is OPK_NONE or the default
 * register (RZ, PT); both encode alike, the decoder gives the register.
 *
 * Branch targets are relative: the operand is OPK_IMM64 and MachInst.wide the signed byte distance from
 * the *next* instruction (text shows the absolute target, AsmFormat converts).
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_ISA_H
#define HEDDLE_ISA_ISA_H
#include "isa/operand.h"
#include "isa_gen.h" /* enum Optype (OT_*), enum Opcode (OC_*), slots, modifiers, enumerations */
#include <stddef.h>

#define INST_BYTES 16
#define MACH_MAX_DST 4
#define MACH_MAX_SRC 8

/* Control field, in the target's layout only in the encoded word. */
typedef struct {
    uint8_t stall_cycles; /* 0..15 */
    uint8_t yield;        /* 1 = the encoded bit is 0 and prints as Y */
    uint8_t write_sb;     /* scoreboard set when the result is there: 0..5, 7 none */
    uint8_t read_sb;      /* scoreboard set when the operands were read: 0..5, 7 none */
    uint8_t wait_mask;    /* bit i: wait for scoreboard i */
    /* reuse bits live in the operands (OPM_REUSE) */
} Control;
#define CONTROL_DEFAULT ((Control){.stall_cycles = 0, .yield = 0, .write_sb = 7, .read_sb = 7})

/* One instruction with physical operands: what decoding yields and encoding takes. */
typedef struct {
    uint16_t opcode; /* OC_*; the encoder ignores it unless non-zero, the decoder sets it */
    uint16_t optype; /* OT_* */
    uint32_t mods;
    Control ctrl;
    uint8_t ndst, nsrc;
    Operand guard;
    Operand dst[MACH_MAX_DST];
    Operand src[MACH_MAX_SRC];
    int64_t wide; /* value of the one OPK_IMM64 operand, if any */
} MachInst;

typedef struct Target Target; /* description of one machine; constant data */
/* Those that code is made for and run, NULL-terminated; the first is the default, bru1. */
extern const Target *const isa_targets[];
extern const char isa_target_names[];         /* "bru1, sm_75 ..." */
const Target *isa_target(const char *name);   /* of these; NULL if unknown */
extern const Target *const isa_all_targets[]; /* and those whose code is read and written only, likewise */
const Target *isa_any_target(const char *name);
const char *isa_target_name(const Target *target);

const char *isa_optype_name(unsigned optype);
const char *isa_opcode_name(unsigned opcode);
unsigned isa_optype_find(const char *name); /* 0 if unknown */
bool isa_target_has(const Target *target, unsigned optype);

/* What the row of an operation says beside its bits: the columns of docs/isa-language.md. The same on all
 * targets. Enumerations are in isa_gen.h, each with its meaning. */
enum { ISA_NO_SLOT = 255, ISA_NO_MOD = 255 };
typedef struct {
    uint32_t effects;  /* ISA_EFFECT_* */
    uint8_t unit;      /* enum IsaUnit */
    uint8_t queue;     /* enum IsaQueue */
    uint8_t space;     /* ISA_SPACE_*, bits; 0 if it has nothing to do with memory, or is a fence alone */
    uint8_t lanes;     /* enum IsaLanes */
    uint8_t uniform;   /* enum IsaUniform */
    uint8_t exact;     /* enum IsaExact */
    uint8_t guard;     /* enum IsaGuard */
    uint8_t zero;      /* enum IsaZero */
    uint8_t group;     /* enum IsaGroup */
    uint8_t flow;      /* enum IsaFlow */
    uint8_t pace;      /* enum IsaPace */
    uint16_t timing;   /* ISA_TIMING_*, bits */
    uint8_t simulated; /* enum IsaSimulated */
    uint8_t
        address[3]; /* sources that an address is the sum of: base, uniform part, offset; or ISA_NO_SLOT */
    uint8_t access_mod;   /* modifier that says how much of memory a lane reads or writes; or ISA_NO_MOD */
    uint8_t access_bytes; /* that, where no modifier says it; 0 without an access */
    uint8_t commutes[2];  /* sources that may change places; or ISA_NO_SLOT */
    uint8_t second_guard; /* predicate source that must be true beside the guard; or ISA_NO_SLOT */
    uint8_t combines_src; /* predicate source that is combined with the result of a test; or ISA_NO_SLOT */
    uint8_t combines_dst; /* destination that gets the complement of the test, combined likewise; or
                             ISA_NO_SLOT */
    uint8_t combines_mod; /* modifier of type BoolOp that says how */
    uint8_t in_place;     /* source whose registers the result gets; or ISA_NO_SLOT */
    uint8_t ndst, nsrc;   /* operands */
    uint32_t
        hints; /* bits of MachInst.mods that change no value, no order and no access: types that say hint */
    const char *absent; /* why it is not simulated, or NULL */
} OpTraits;
/* Of no operation (OT_NONE, operations of the machine IR alone): no effect, no memory. */
extern const OpTraits isa_optype_traits[OT_COUNT];
static inline const OpTraits *isa_traits(unsigned optype) {
    return &isa_optype_traits[optype < OT_COUNT ? optype : OT_NONE];
}
/* Bytes of memory that one lane reads, writes or changes (column Access); 0 if it accesses none, is a fence,
 * or its modifier has a value that does not exist. */
unsigned isa_access_bytes(const MachInst *in);
/* Bits of the first register that a load writes, that are 0 whatever memory holds. */
uint32_t isa_loaded_zeros(unsigned optype, uint32_t mods);
/* Value of the operation's modifier of that name, 0 if it has none; its bits of MachInst.mods are added to
 * *bits. For what operations have in common by name; MGET is for a known one. */
unsigned isa_modifier(const MachInst *in, const char *name, uint32_t *bits);
static inline bool isa_has_effect(unsigned optype, uint32_t effects) {
    return (isa_traits(optype)->effects & effects) != 0;
}
/* The predicates that an operation with ISA_EFFECT_READS_ALL_P or WRITES_ALL_P names by its last source, bit
 * n for predicate n of *file: uniform ones where it is executed once for the warp. All that there are if the
 * source is no number, none of another operation. */
uint32_t isa_named_predicates(const MachInst *in, RegFile *file);
/* It goes on elsewhere, where its guard is true: to a place that its word names, or a register or a table. */
static inline bool isa_is_jump(unsigned optype) {
    return isa_traits(optype)->flow == ISA_FLOW_BRANCH || isa_traits(optype)->flow == ISA_FLOW_INDIRECT;
}
/* It goes to an address; other jumps, calls and returns go a distance from the instruction behind them. */
bool isa_is_absolute(unsigned optype, uint32_t mods);
/* Bit set of the units (1 << ISA_UNIT_*) that the target's operations run on. */
uint32_t isa_target_units(const Target *t);
/* How these modifiers combine the operation's test with the predicate source combines_src: a BoolOp_*, or -1
 * if it combines nothing. */
int isa_combine_op(unsigned optype, uint32_t mods);
/* The modifiers of an operation that combines, with another BoolOp_*. */
uint32_t isa_with_combine_op(unsigned optype, uint32_t mods, unsigned bool_op);

/* An empty instruction of `optype`: all operands absent, all modifiers default, guard PT, no scoreboards. */
MachInst isa_inst(unsigned optype);

/* What liveness, the verifier and the legaliser need to know of one slot of an optype on a target. */
typedef struct {
    const char *name; /* "rb" */
    uint8_t file;     /* RegFile; RF_COUNT if the slot never holds a register */
    uint8_t kinds;    /* bit set of (1 << OperandKind) accepted by at least one opcode */
    uint8_t mods;     /* OPM_* accepted */
    bool is_dst;
} IsaSlot;
static inline unsigned isa_num_dst(unsigned optype) { return isa_traits(optype)->ndst; }
static inline unsigned isa_num_src(unsigned optype) { return isa_traits(optype)->nsrc; }
IsaSlot isa_dst_slot(const Target *target, unsigned optype, unsigned i);
IsaSlot isa_src_slot(const Target *target, unsigned optype, unsigned i);

/* 32-bit registers that slot i takes under these modifiers (and OPM_WIDE64): 1, 2 or 4; 0 if it never holds a
 * register. Physical vector registers must be a multiple of it. */
unsigned isa_dst_regs(const Target *target, const MachInst *in, unsigned i);
unsigned isa_src_regs(const Target *target, const MachInst *in, unsigned i);
/* Have the target's instructions such a stall count, Y and .reuse together, and such scoreboards (0 to 5, or
 * 7: none)? nvdisasm of CUDA 13 refuses a whole file with another count: without Y it is 1 to 11, and with
 * .reuse not 0. bru1 has them all. */
bool isa_control_exists(const Target *target, const MachInst *in);
/* The place in the operand cache of source `i`, 0 to 3, which is that of its .reuse bit; -1: it has none. */
int isa_src_reuse_place(const Target *target, const MachInst *in, unsigned i);

/* Modifiers by index, for printing and reading machine IR. `value_name` is NULL, and `value` -1, where there
 * is no such name (plain numbers); mods hold value ^ def at lo. */
typedef struct {
    const char *name;
    uint8_t lo, width;
    uint16_t def;
} IsaModInfo;
unsigned isa_num_mods(unsigned optype);
IsaModInfo isa_mod_info(unsigned optype, unsigned i);
const char *isa_mod_value_name(unsigned optype, unsigned i, unsigned value);
int isa_mod_value(unsigned optype, unsigned i, const char *value_name);

/* The opcode that encodes this combination of operand kinds (values are not looked at, except whether a
 * 32-bit immediate fits the field), or 0 if no opcode does: then the legaliser must move an operand into
 * a register. Register operands may be OPK_VAL. */
unsigned isa_select_opcode(const Target *target, const MachInst *in);

/* Encode one instruction.
 *   in    physical registers only
 *   word  out[2], little end first: bit n of the specification is word[n / 64] >> (n % 64)
 *   error out, a sentence, when false is returned (no such form, value out of range, EncodingError);
 *         static text or text in a caller's buffer of ISA_ERROR_BYTES bytes */
#define ISA_ERROR_BYTES 160
bool isa_encode(const Target *target, const MachInst *in, uint64_t word[2], char error[ISA_ERROR_BYTES]);

/* Decode one word, strictly: a set bit that no field claims, or an unknown opcode, is an error. */
bool isa_decode(const Target *target, const uint64_t word[2], MachInst *out, char error[ISA_ERROR_BYTES]);
/* May the word be an operation of which `is` is true? Its fixed bits alone are compared, which takes a tenth
 * of the time: what is not, isa_decode would not find either. */
bool isa_may_be(const Target *target, const uint64_t word[2], bool (*is)(unsigned optype));

/* Print and parse one instruction as text, without the control prefix and without the final ';'.
 *   pc_bytes  address of the instruction, for branch targets
 *   label     called for a branch target; returns its name, or NULL to print the address */
typedef struct {
    const char *(*label)(void *user, uint64_t target_bytes);
    void *user;
} IsaPrintOptions;
int isa_print(const Target *target, const MachInst *in, uint64_t pc_bytes, const IsaPrintOptions *opt,
              char *out, size_t out_bytes);
/* Symbols: resolve `(label) and .Label in expressions to an address; return false if unknown (the caller
 * may then treat it as a relocation). *end is where parsing stopped. */
typedef struct {
    bool (*resolve)(void *user, const char *name, size_t size_bytes, int64_t *value);
    void *user;
} IsaParseOptions;
bool isa_parse(const Target *target, const char *text, uint64_t pc_bytes, const IsaParseOptions *opt,
               MachInst *out, const char **end, char error[ISA_ERROR_BYTES]);

/* Fill `out` with a random legal instruction of `opcode`; *state: base/rng.h. For tests. */
void isa_random(const Target *target, unsigned opcode, uint64_t *state, MachInst *out);

/* Target properties that passes and the simulator read: isa/target.def says what each is, isa/targets.isa
 * what each target has. */
typedef struct {
    const char *name;
    uint32_t num_regs[RF_COUNT]; /* allocatable registers, without RZ/PT */
#define TARGET_PROPERTY(type, name, meaning) type name;
#define TARGET_CHOICE(enumeration, name, meaning) enum enumeration name;
#include "isa/target.def"
} TargetInfo;
const TargetInfo *isa_target_info(const Target *target);
/* Number of a special register by PTX-like name ("tid.x", "laneid", "clock.lo" ...), -1 if the target
 * has none, and the name for a number (NULL if unknown). */
int isa_sreg_number(const Target *target, const char *name);
const char *isa_sreg_name(const Target *target, unsigned number);
/* What its value depends on; ISA_VARIES_TIME, the worst, for a number that the target has not. */
enum IsaVaries isa_sreg_varies(const Target *target, unsigned number);
#endif
