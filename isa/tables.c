/* Look-ups over isagen's tables: names, slots, modifiers, properties, special registers.
 * SPDX-License-Identifier: MIT */
#include "isa/tables.h"
#include <string.h>

const Target *isa_target(const char *name) {
    for (unsigned i = 0; isa_targets[i]; i++)
        if (!strcmp(isa_targets[i]->info.name, name))
            return isa_targets[i];
    return NULL;
}

const char *isa_target_name(const Target *t) { return t->info.name; }
const TargetInfo *isa_target_info(const Target *t) { return &t->info; }

const char *isa_optype_name(unsigned optype) {
    return optype < isa_noptypes ? isa_optypes[optype].name : "?";
}
const char *isa_opcode_name(unsigned opcode) {
    return opcode < isa_nopcodes ? isa_opcode_names[opcode] : "?";
}
uint32_t isa_optype_flags(unsigned optype) { return optype < isa_noptypes ? isa_optypes[optype].flags : 0; }

unsigned isa_optype_find(const char *name) {
    for (unsigned i = 1; i < isa_noptypes; i++)
        if (!strcmp(isa_optypes[i].name, name))
            return i;
    return 0;
}

bool isa_target_has(const Target *t, unsigned optype) {
    return optype < isa_noptypes && t->first[optype] < t->first[optype + 1];
}

const IsaRow *isa_row(const Target *t, unsigned opcode) {
    for (unsigned i = 0; i < t->nrows; i++)
        if (t->rows[i].opcode == opcode)
            return &t->rows[i];
    return NULL;
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

unsigned isa_num_dst(unsigned optype) { return optype < isa_noptypes ? isa_optypes[optype].ndst : 0; }
unsigned isa_num_src(unsigned optype) { return optype < isa_noptypes ? isa_optypes[optype].nsrc : 0; }

const IsaField *isa_slot_field(const IsaRow *r, unsigned slot) {
    unsigned n = r->operand_field[slot];
    return n ? &isa_fields[r->field0 + n - 1] : NULL;
}

Operand *isa_slot_operand(MachInst *in, unsigned slot) {
    return slot < SLOT_SRC ? &in->dst[slot] : &in->src[slot - SLOT_SRC];
}
const Operand *isa_slot_const(const MachInst *in, unsigned slot) {
    return slot < SLOT_SRC ? &in->dst[slot] : &in->src[slot - SLOT_SRC];
}

RegFile isa_value_file(unsigned type) {
    switch (type) {
    case VT_REG: return RF_R;
    case VT_UREG: return RF_UR;
    case VT_PRED: return RF_P;
    case VT_UPRED: return RF_UP;
    case VT_BREG: return RF_B;
    default: return RF_COUNT;
    }
}

unsigned isa_file_zero(RegFile f) {
    static const uint8_t zero[RF_COUNT] = {REG_RZ, REG_PT, REG_URZ, REG_UPT, 0xff};
    return f < RF_COUNT ? zero[f] : 0xff;
}

static unsigned value_kind(unsigned type, const IsaField *f) {
    if (isa_value_file(type) != RF_COUNT)
        return OPK_REG;
    if (type == VT_CMEM)
        return OPK_CMEM;
    if (type == VT_SREG)
        return OPK_SREG;
    return f->flags & FF_WIDE_VALUE ? OPK_IMM64 : OPK_IMM;
}

static IsaSlot slot_info(const Target *t, unsigned optype, unsigned slot, const char *name) {
    IsaSlot s = {.name = name, .file = RF_COUNT, .is_dst = slot < SLOT_SRC};
    for (unsigned i = t->first[optype]; i < t->first[optype + 1]; i++) {
        const IsaField *f = isa_slot_field(&t->rows[i], slot);
        if (!f)
            continue;
        RegFile file = isa_value_file(f->type);
        if (file != RF_COUNT && s.file == RF_COUNT)
            s.file = (uint8_t)file;
        unsigned kind = value_kind(f->type, f);
        s.kinds |= (uint8_t)(kind == OPK_SREG ? 0 : 1u << kind);
        s.mods |= t->rows[i].attrs[slot];
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

unsigned isa_mod_get(const IsaRow *r, unsigned mod, uint32_t mods) {
    const IsaMod *m = &isa_optypes[r->optype].mods[mod];
    return ((mods >> m->lo) & ((1u << m->width) - 1)) ^ m->def;
}

uint32_t isa_mod_put(const IsaRow *r, unsigned mod, uint32_t mods, unsigned value) {
    const IsaMod *m = &isa_optypes[r->optype].mods[mod];
    uint32_t mask = (1u << m->width) - 1;
    return (mods & ~(mask << m->lo)) | ((value ^ m->def) & mask) << m->lo;
}

unsigned isa_num_mods(unsigned optype) { return optype < isa_noptypes ? isa_optypes[optype].nmods : 0; }

IsaModInfo isa_mod_info(unsigned optype, unsigned i) {
    if (i >= isa_num_mods(optype))
        return (IsaModInfo){.name = "?"};
    const IsaMod *m = &isa_optypes[optype].mods[i];
    return (IsaModInfo){m->name, m->lo, m->width, m->def};
}

static const IsaEnum *mod_enum(unsigned optype, unsigned i) {
    if (i >= isa_num_mods(optype) || !isa_optypes[optype].mods[i].enum_type)
        return NULL;
    return &isa_enums[isa_optypes[optype].mods[i].enum_type - 1];
}

const char *isa_mod_value_name(unsigned optype, unsigned i, unsigned value) {
    const IsaEnum *e = mod_enum(optype, i);
    for (unsigned k = 0; e && k < e->nvals; k++)
        if (e->vals[k].sem == value)
            return e->vals[k].name;
    return NULL;
}

int isa_mod_value(unsigned optype, unsigned i, const char *value_name) {
    const IsaEnum *e = mod_enum(optype, i);
    for (unsigned k = 0; e && k < e->nvals; k++)
        if (!strcmp(e->vals[k].name, value_name))
            return e->vals[k].sem;
    return -1;
}

const char *isa_enum_text(const IsaEnum *e, unsigned sem) {
    for (unsigned k = 0; k < e->nvals; k++)
        if (e->vals[k].sem == sem)
            return e->vals[k].text;
    return NULL;
}

unsigned isa_slot_regs(const IsaRow *r, unsigned slot, const MachInst *in) {
    unsigned c = r->regs[slot];
    if (c & REGS_WIDE)
        return isa_slot_const(in, slot)->mods & OPM_WIDE64 ? 2 : 1;
    if (!(c & REGS_BY_MOD))
        return c;
    unsigned mod = c & 0x3f, v = isa_mod_get(r, mod, in->mods);
    const IsaEnum *e = mod_enum(r->optype, mod);
    for (unsigned k = 0; e && k < e->nvals; k++)
        if (e->vals[k].sem == v && e->vals[k].regs)
            return e->vals[k].regs;
    return 1;
}

static unsigned slot_regs(const Target *t, const MachInst *in, unsigned slot) {
    if (in->optype >= isa_noptypes)
        return 0;
    for (unsigned i = t->first[in->optype]; i < t->first[in->optype + 1]; i++) {
        unsigned n = isa_slot_field(&t->rows[i], slot) ? isa_slot_regs(&t->rows[i], slot, in) : 0;
        if (n)
            return n;
    }
    return 0;
}

unsigned isa_dst_regs(const Target *t, const MachInst *in, unsigned i) {
    return i < isa_num_dst(in->optype) ? slot_regs(t, in, i) : 0;
}
unsigned isa_src_regs(const Target *t, const MachInst *in, unsigned i) {
    return i < isa_num_src(in->optype) ? slot_regs(t, in, i + SLOT_SRC) : 0;
}

/* ---- conditions ---- */

static bool slot_test(const IsaCond *c, const MachInst *in) {
    const Operand *o = isa_slot_const(in, c->index);
    bool rz = o->kind == OPK_NONE ||
              (o->kind == OPK_REG && !o->mods && o->value == isa_file_zero((RegFile)o->file));
    switch (c->op) {
    case CO_SLOT_RZ: return rz;
    case CO_SLOT_NRZ: return !rz;
    case CO_SLOT_EQ: return o->kind == OPK_IMM && o->value == c->value;
    case CO_SLOT_UR:
    case CO_SLOT_NUR: return (o->kind == OPK_REG && o->file == RF_UR) == (c->op == CO_SLOT_UR);
    case CO_SLOT_NE: return o->kind != OPK_IMM || o->value != c->value;
    default: return o->kind == OPK_IMM && o->value && !(o->value & (o->value - 1));
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

int isa_sreg_number(const Target *t, const char *name) {
    for (unsigned i = 0; i < t->nsregs; i++)
        if (!strcmp(t->sregs[i].name, name))
            return t->sregs[i].number;
    return -1;
}

const char *isa_sreg_name(const Target *t, unsigned number) {
    for (unsigned i = 0; i < t->nsregs; i++)
        if (t->sregs[i].number == number)
            return t->sregs[i].name;
    return NULL;
}
