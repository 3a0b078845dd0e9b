/* Look-ups over isagen's tables: names, slots, modifiers, properties, special registers.
 * SPDX-License-Identifier: MIT */
#include "isa/tables.h"
#include <string.h>

static const Target *target_called(const Target *const *targets, const char *name) {
    for (unsigned i = 0; targets[i]; i++)
        if (!strcmp(targets[i]->info.name, name))
            return targets[i];
    return NULL;
}

const Target *isa_target(const char *name) { return target_called(isa_targets, name); }
const Target *isa_any_target(const char *name) { return target_called(isa_all_targets, name); }

const char *isa_target_name(const Target *target) { return target->info.name; }
const TargetInfo *isa_target_info(const Target *target) { return &target->info; }

const char *isa_optype_name(unsigned optype) {
    return optype < isa_noptypes ? isa_optypes[optype].name : "?";
}
const char *isa_opcode_name(unsigned opcode) {
    return opcode < isa_nopcodes ? isa_opcode_names[opcode] : "?";
}
uint32_t isa_target_units(const Target *t) { return t->units; }

int isa_combine_op(unsigned optype, uint32_t mods) {
    const OpTraits *traits = isa_traits(optype);
    if (traits->combines_src == ISA_NO_SLOT)
        return -1;
    const IsaMod *mod = &isa_optypes[optype].mods[traits->combines_mod];
    return (int)((mods >> mod->lo & ((1u << mod->width) - 1)) ^ mod->def);
}

uint32_t isa_with_combine_op(unsigned optype, uint32_t mods, unsigned bool_op) {
    const IsaMod *mod = &isa_optypes[optype].mods[isa_traits(optype)->combines_mod];
    return (mods & ~(((1u << mod->width) - 1) << mod->lo)) | (bool_op ^ mod->def) << mod->lo;
}

unsigned isa_optype_find(const char *name) {
    for (unsigned i = 1; i < isa_noptypes; i++)
        if (!strcmp(isa_optypes[i].name, name))
            return i;
    return 0;
}

bool isa_target_has(const Target *target, unsigned optype) {
    return optype < isa_noptypes && target->first[optype] < target->first[optype + 1];
}

const IsaRow *isa_row(const Target *target, unsigned opcode) {
    for (unsigned i = 0; i < target->nrows; i++)
        if (target->rows[i].opcode == opcode)
            return &target->rows[i];
    return NULL;
}

int isa_mod_find(const IsaRow *row, const char *name) {
    const IsaOptype *isa_optype = &isa_optypes[row->optype];
    for (unsigned i = 0; i < isa_optype->nmods; i++)
        if (!strcmp(isa_optype->mods[i].name, name))
            return (int)i;
    return -1;
}

/* The name of a modifier's value, "" where the row has no such field. */
static const char *mod_value(const IsaRow *row, const MachInst *in, const char *name) {
    int mod = isa_mod_find(row, name);
    for (unsigned i = 0; mod >= 0 && i < row->nfields; i++) {
        const IsaField *field = &isa_fields[row->field0 + i];
        if (field->kind != FK_MOD || field->index != mod || !field->enum_type)
            continue;
        const IsaEnum *values = &isa_enums[field->enum_type - 1];
        uint32_t value = isa_mod_get(row, (unsigned)mod, in->mods);
        for (unsigned k = 0; k < values->nvals; k++)
            if (values->vals[k].sem == value)
                return values->vals[k].name;
    }
    return "";
}

ValueType isa_imm_type(const IsaRow *row, const MachInst *in, unsigned type, ImmHalf *half) {
    const char *src = mod_value(row, in, "src"), *func = mod_value(row, in, "func");
    *half = IMM_WHOLE;
    if (type != VT_F32)
        return (ValueType)type;
    if (!strcmp(src, "F64") || !strcmp(func, "RCP64H") || !strcmp(func, "RSQ64H"))
        return VT_F64;
    const char *of = *src ? src : mod_value(row, in, "fmt"); /* of a conversion; of MUFU */
    *half = !strcmp(of, "F16") ? IMM_F16 : !strcmp(of, "BF16") ? IMM_BF16 : IMM_WHOLE;
    return *half ? VT_H2 : VT_F32;
}

MachInst isa_inst(unsigned optype) {
    MachInst in = {.optype = (uint16_t)optype, .ctrl = CONTROL_DEFAULT};
    if (optype < isa_noptypes) {
        in.ndst = isa_optypes[optype].ndst;
        in.nsrc = isa_optypes[optype].nsrc;
    }
    in.guard = op_pt();
    return in;
}

/* ---- slots ---- */

Operand *isa_slot_operand(MachInst *in, unsigned slot) {
    return slot < SLOT_SRC ? &in->dst[slot] : &in->src[slot - SLOT_SRC];
}
static unsigned value_kind(unsigned type, const IsaField *field) {
    if (isa_value_file(type) != RF_COUNT)
        return OPK_REG;
    if (type == VT_CMEM)
        return OPK_CMEM;
    if (type == VT_SREG)
        return OPK_SREG;
    return field->flags & FF_WIDE_VALUE ? OPK_IMM64 : OPK_IMM;
}

static IsaSlot slot_info(const Target *target, unsigned optype, unsigned slot, const char *name) {
    IsaSlot s = {.name = name, .file = RF_COUNT, .is_dst = slot < SLOT_SRC};
    for (unsigned i = target->first[optype]; i < target->first[optype + 1]; i++) {
        const IsaField *field = isa_slot_field(&target->rows[i], slot);
        if (!field)
            continue;
        RegFile file = isa_value_file(field->type);
        if (file != RF_COUNT && s.file == RF_COUNT)
            s.file = (uint8_t)file;
        unsigned kind = value_kind(field->type, field);
        s.kinds |= (uint8_t)(kind == OPK_SREG ? 0 : 1u << kind);
        s.mods |= target->rows[i].attrs[slot];
    }
    return s;
}

IsaSlot isa_dst_slot(const Target *t, unsigned optype, unsigned i) {
    if (optype >= isa_noptypes || i >= isa_optypes[optype].ndst)
        return (IsaSlot){.name = "?", .file = RF_COUNT, .is_dst = true};
    return slot_info(t, optype, i, isa_optypes[optype].slots[i]);
}

IsaSlot isa_src_slot(const Target *t, unsigned optype, unsigned i) {
    if (optype >= isa_noptypes || i >= isa_optypes[optype].nsrc)
        return (IsaSlot){.name = "?", .file = RF_COUNT};
    return slot_info(t, optype, i + SLOT_SRC, isa_optypes[optype].slots[isa_optypes[optype].ndst + i]);
}

/* ---- modifiers ---- */

uint32_t isa_mod_put(const IsaRow *row, unsigned mod, uint32_t mods, unsigned value) {
    const IsaMod *isa_mod = &isa_optypes[row->optype].mods[mod];
    uint32_t mask = (1u << isa_mod->width) - 1;
    return (mods & ~(mask << isa_mod->lo)) | ((value ^ isa_mod->def) & mask) << isa_mod->lo;
}

unsigned isa_num_mods(unsigned optype) { return optype < isa_noptypes ? isa_optypes[optype].nmods : 0; }

IsaModInfo isa_mod_info(unsigned optype, unsigned i) {
    if (i >= isa_num_mods(optype))
        return (IsaModInfo){.name = "?"};
    const IsaMod *mod = &isa_optypes[optype].mods[i];
    return (IsaModInfo){mod->name, mod->lo, mod->width, mod->def};
}

static const IsaEnum *mod_enum(unsigned optype, unsigned i) {
    if (i >= isa_num_mods(optype) || !isa_optypes[optype].mods[i].enum_type)
        return NULL;
    return &isa_enums[isa_optypes[optype].mods[i].enum_type - 1];
}

const char *isa_mod_value_name(unsigned optype, unsigned i, unsigned value) {
    const IsaEnum *isa_enum = mod_enum(optype, i);
    for (unsigned k = 0; isa_enum && k < isa_enum->nvals; k++)
        if (isa_enum->vals[k].sem == value)
            return isa_enum->vals[k].name;
    return NULL;
}

int isa_mod_value(unsigned optype, unsigned i, const char *value_name) {
    const IsaEnum *isa_enum = mod_enum(optype, i);
    for (unsigned k = 0; isa_enum && k < isa_enum->nvals; k++)
        if (!strcmp(isa_enum->vals[k].name, value_name))
            return isa_enum->vals[k].sem;
    return -1;
}

const char *isa_enum_text(const IsaEnum *isa_enum, unsigned sem) {
    for (unsigned k = 0; k < isa_enum->nvals; k++)
        if (isa_enum->vals[k].sem == sem)
            return isa_enum->vals[k].text;
    return NULL;
}

unsigned isa_slot_regs_found(const IsaRow *row, unsigned slot, const MachInst *in) {
    unsigned c = row->regs[slot];
    if (c & REGS_WIDE)
        return isa_slot_const(in, slot)->mods & OPM_WIDE64 ? 2 : 1;
    if (c & REGS_BY_RULE && !(c & REGS_BY_MOD)) {
        const IsaWidth *rule = &isa_widths[c >> REGS_RULE_SHIFT];
        while (rule->when && !isa_cond(rule->when, row, in))
            rule++;
        return rule->regs;
    }
    unsigned mod = c & 0x3f, v = isa_mod_get(row, mod, in->mods);
    const IsaEnum *isa_enum = mod_enum(row->optype, mod);
    for (unsigned k = 0; isa_enum && k < isa_enum->nvals; k++)
        if (isa_enum->vals[k].sem == v && isa_enum->vals[k].regs)
            return isa_enum->vals[k].regs;
    return 1;
}

unsigned isa_modifier(const MachInst *in, const char *name, uint32_t *bits) {
    const IsaOptype *optype = &isa_optypes[in->optype];
    for (unsigned k = 0; k < optype->nmods; k++) {
        const IsaMod *mod = &optype->mods[k];
        uint32_t mask = (1u << mod->width) - 1;
        if (strcmp(mod->name, name) != 0)
            continue;
        *bits |= mask << mod->lo;
        return ((in->mods >> mod->lo) & mask) ^ mod->def;
    }
    return 0;
}

/* What the type of the modifier of column Access says of its value; NULL: nothing. */
static const IsaEnumVal *access_value(const OpTraits *traits, unsigned optype, uint32_t mods) {
    if (traits->access_mod == ISA_NO_MOD)
        return NULL;
    const IsaMod *mod = &isa_optypes[optype].mods[traits->access_mod];
    unsigned value = ((mods >> mod->lo) & ((1u << mod->width) - 1)) ^ mod->def;
    const IsaEnum *isa_enum = mod_enum(optype, traits->access_mod);
    for (unsigned k = 0; isa_enum && k < isa_enum->nvals; k++)
        if (isa_enum->vals[k].sem == value)
            return &isa_enum->vals[k];
    return NULL;
}

unsigned isa_access_bytes(const MachInst *in) {
    const OpTraits *traits = isa_traits(in->optype);
    const IsaEnumVal *value = access_value(traits, in->optype, in->mods);
    return value ? value->access_bytes : traits->access_mod == ISA_NO_MOD ? traits->access_bytes : 0;
}

uint32_t isa_loaded_zeros(unsigned optype, uint32_t mods) {
    const OpTraits *traits = isa_traits(optype);
    const IsaEnumVal *value = access_value(traits, optype, mods);
    return traits->effects == ISA_EFFECT_READ && value && value->zeroed ? ~0u << 8 * value->access_bytes : 0;
}

uint32_t isa_named_predicates(const MachInst *in, RegFile *file) {
    *file = isa_traits(in->optype)->lanes == ISA_LANES_WARP ? RF_UP : RF_P;
    if (!isa_has_effect(in->optype, ISA_EFFECT_READS_ALL_P | ISA_EFFECT_WRITES_ALL_P))
        return 0;
    Operand mask = in->src[in->nsrc - 1];
    return (mask.kind == OPK_IMM ? mask.value : ~0u) & ((1u << REG_PT) - 1);
}

unsigned isa_register_group(unsigned optype, unsigned n) {
    if (n < 3)
        return n + !n;
    return isa_traits(optype)->group == ISA_GROUP_NATURAL
               ? n
               : 4; /* ptxas 13.0: R36 for 8 of a warp group's, R44 for 16, R60 for 32 */
}

bool isa_is_aligned(unsigned optype, const Operand *operand, unsigned n) {
    return operand->value % isa_register_group(optype, n) == 0 ||
           operand->value == isa_file_zero((RegFile)operand->file);
}

const char *isa_aligned_text(unsigned optype, unsigned n) {
    switch (isa_register_group(optype, n)) {
    case 2: return "must be an even register";
    case 4: return "must be a register divisible by 4";
    case 8: return "must be a register divisible by 8";
    default: return "must be a register divisible by 16";
    }
}

const char *isa_slot_name(const IsaRow *row, unsigned slot) {
    const IsaOptype *isa_optype = &isa_optypes[row->optype];
    if (slot == SLOT_NONE)
        return "guard";
    return isa_optype->slots[slot < SLOT_SRC ? slot : slot - SLOT_SRC + isa_optype->ndst];
}

static unsigned slot_regs_in(const Target *target, const MachInst *in, unsigned slot, uint32_t opcode) {
    for (unsigned i = target->first[in->optype]; i < target->first[in->optype + 1]; i++) {
        const IsaRow *row = &target->rows[i];
        unsigned n = (!opcode || opcode == row->opcode) && isa_slot_field(row, slot)
                         ? isa_slot_regs(row, slot, in)
                         : 0;
        if (n)
            return n;
    }
    return 0;
}

/* Of a decoded instruction its own form says it (TEX with a handle in a register), of what is no register
 * there (a place in a constant bank) the form with one. */
static unsigned slot_regs(const Target *target, const MachInst *in, unsigned slot) {
    if (in->optype >= isa_noptypes)
        return 0;
    unsigned kind = isa_slot_const(in, slot)->kind, own = slot_regs_in(target, in, slot, in->opcode);
    return own || kind == OPK_REG || kind == OPK_NONE ? own : slot_regs_in(target, in, slot, 0);
}

unsigned isa_dst_regs(const Target *t, const MachInst *in, unsigned i) {
    return i < isa_num_dst(in->optype) ? slot_regs(t, in, i) : 0;
}
unsigned isa_src_regs(const Target *t, const MachInst *in, unsigned i) {
    return i < isa_num_src(in->optype) ? slot_regs(t, in, i + SLOT_SRC) : 0;
}

bool isa_control_exists(const Target *target, const MachInst *in) {
    unsigned most = isa_target_info(target)->stall_without_yield_cycles;
    bool reuses = false;
    if (in->ctrl.read_sb == 6 || in->ctrl.write_sb == 6)
        return false;
    for (unsigned i = 0; i < in->nsrc; i++)
        reuses |= in->src[i].kind == OPK_REG && in->src[i].mods & OPM_REUSE;
    return !most || (in->ctrl.stall_cycles ? in->ctrl.yield || in->ctrl.stall_cycles <= most
                                           : in->ctrl.yield && !reuses);
}

int isa_src_reuse_place(const Target *target, const MachInst *in, unsigned i) {
    enum { FIRST_BIT = 122 };
    const IsaRow *row = isa_select_row(target, in);
    for (unsigned k = 0; row && k < row->nfields; k++) {
        const IsaField *field = &isa_fields[row->field0 + k];
        if (field->kind == FK_ATTR && field->attr == OPM_REUSE && field->index == SLOT_SRC + i)
            return field->lo[0] - FIRST_BIT;
    }
    return -1;
}

/* ---- conditions ---- */

static bool slot_test(const IsaCond *cond, const MachInst *in) {
    const Operand *operand = isa_slot_const(in, cond->index);
    bool rz = operand->kind == OPK_NONE || (operand->kind == OPK_REG && !operand->mods &&
                                            operand->value == isa_file_zero((RegFile)operand->file));
    switch (cond->op) {
    case CO_SLOT_RZ: return rz;
    case CO_SLOT_NRZ: return !rz;
    case CO_SLOT_EQ: return operand->kind == OPK_IMM && operand->value == cond->value;
    case CO_SLOT_UR:
    case CO_SLOT_NUR: return (operand->kind == OPK_REG && operand->file == RF_UR) == (cond->op == CO_SLOT_UR);
    case CO_SLOT_NE: return operand->kind != OPK_IMM || operand->value != cond->value;
    default: return operand->kind == OPK_IMM && operand->value && !(operand->value & (operand->value - 1));
    }
}

bool isa_cond(unsigned cond, const IsaRow *r, const MachInst *in) {
    bool stack[16];
    unsigned n = 0;
    for (const IsaCond *c = &isa_conds[isa_cond_start[cond - 1]]; c->op != CO_END; c++) {
        if (c->op == CO_AND || c->op == CO_OR) {
            if (n < 2)
                return false;
            n--;
            stack[n - 1] = c->op == CO_AND ? stack[n - 1] && stack[n] : stack[n - 1] || stack[n];
            continue;
        }
        if (n == sizeof stack / sizeof *stack)
            return false;
        if (c->op == CO_EQ || c->op == CO_NE)
            stack[n++] = (isa_mod_get(r, c->index, in->mods) == c->value) == (c->op == CO_EQ);
        else
            stack[n++] = slot_test(c, in);
    }
    return n && stack[0];
}

/* ---- special registers ---- */

int isa_sreg_number(const Target *target, const char *name) {
    for (unsigned i = 0; i < target->nsregs; i++)
        if (!strcmp(target->sregs[i].name, name))
            return target->sregs[i].number;
    return -1;
}

enum IsaVaries isa_sreg_varies(const Target *target, unsigned number) {
    for (unsigned i = 0; i < target->nsregs; i++)
        if (target->sregs[i].number == number)
            return (enum IsaVaries)target->sregs[i].varies;
    return ISA_VARIES_TIME;
}

const char *isa_sreg_name(const Target *target, unsigned number) {
    for (unsigned i = 0; i < target->nsregs; i++)
        if (target->sregs[i].number == number)
            return target->sregs[i].name;
    return NULL;
}
